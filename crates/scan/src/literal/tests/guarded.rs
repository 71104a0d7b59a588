//! Memory between two pages that cannot be read.

#![allow(unsafe_code)]

use std::ptr;

const PAGE: usize = 4096;

pub(super) struct Pages(*mut u8);

impl Pages {
    pub(super) fn new() -> Pages {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, and one page in its middle opened.
        unsafe {
            let at = libc::mmap(ptr::null_mut(), 3 * PAGE, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            let open = at.cast::<u8>().add(PAGE);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            assert_eq!(libc::mprotect(open.cast(), PAGE, access), 0);
            Pages(open)
        }
    }

    pub(super) fn at_end(&self, bytes: &[u8]) -> &'static [u8] {
        self.copy(bytes, PAGE - bytes.len())
    }

    pub(super) fn at_begin(&self, bytes: &[u8]) -> &'static [u8] {
        self.copy(bytes, 0)
    }

    fn copy(&self, bytes: &[u8], at: usize) -> &'static [u8] {
        assert!(at + bytes.len() <= PAGE);
        // SAFETY: within the open page, which is never unmapped; no other copy is in use, or it is equal.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.add(at), bytes.len());
            std::slice::from_raw_parts(self.0.add(at), bytes.len())
        }
    }
}
