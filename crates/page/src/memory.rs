//! Words that are counted in: of a mapped file, or in memory of their own.
#![allow(unsafe_code)]

use std::{
    ops::Deref,
    os::fd::{AsRawFd, BorrowedFd},
    ptr::NonNull,
    sync::atomic::{
        AtomicPtr, AtomicU64,
        Ordering::{AcqRel, Acquire},
    },
};

use rustix::io::Errno;

/// Words that threads count in.
pub struct Words {
    start: NonNull<AtomicU64>,
    len: usize,
    /// They are freed with this value; mapped ones stay for as long as the process lives.
    owned: bool,
}

// SAFETY: shared words are atomic, and owned ones are freed by whoever has the value.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// Zeros, in memory of their own.
    pub fn owned(len: usize) -> Words {
        let words: Box<[AtomicU64]> = (0..len).map(|_| AtomicU64::new(0)).collect();
        let start = Box::into_raw(words).cast::<AtomicU64>();
        // SAFETY: a box's pointer is not null.
        Words { start: unsafe { NonNull::new_unchecked(start) }, len, owned: true }
    }

    /// Words of a file that exist there, from a multiple of [`crate::layout::ALIGN`] on. They stay mapped.
    pub(crate) fn mapped(file: BorrowedFd<'_>, offset: usize, len: usize) -> Result<Words, Errno> {
        let offset = libc::off_t::try_from(offset).map_err(|_| Errno::INVAL)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let null = std::ptr::null_mut();
        // SAFETY: fresh memory wherever the kernel likes. That its bytes change under us, words of atomics allow.
        let start = unsafe {
            libc::mmap(null, 8 * len, access, libc::MAP_SHARED, file.as_raw_fd(), offset)
        };
        match NonNull::new(start.cast::<AtomicU64>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => {
                Ok(Words { start, len, owned: false })
            }
            _ => Err(Errno::from_raw_os_error(
                std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
            )),
        }
    }

    /// The words behind the first `from`, `len` of them, of words that stay mapped.
    pub(crate) fn part(&self, from: usize, len: usize) -> Words {
        assert!(!self.owned && from.checked_add(len).is_some_and(|end| end <= self.len));
        // SAFETY: within these words, as was just checked.
        Words { start: unsafe { self.start.add(from) }, len, owned: false }
    }
}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: a box's words, freed by `drop` alone, or of a mapping that stays.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        if self.owned {
            let words = std::ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.len);
            // SAFETY: made of a box by `owned`, and nobody else frees it.
            drop(unsafe { Box::from_raw(words) });
        }
    }
}

/// A value that is set now and then, and never freed.
pub struct Forever<T>(AtomicPtr<T>);

impl<T: Send + Sync + 'static> Forever<T> {
    /// No value yet.
    pub const fn new() -> Forever<T> {
        Forever(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// The value of now.
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: null, or of a box that is never freed.
        unsafe { self.0.load(Acquire).as_ref() }
    }

    /// Takes a value in the place of `old`.
    ///
    /// # Errors
    /// Another thread was first: the value.
    pub fn set(&self, old: Option<&'static T>, value: Box<T>) -> Result<(), Box<T>> {
        let old = old.map_or(std::ptr::null_mut(), |old| std::ptr::from_ref(old).cast_mut());
        let fresh = Box::into_raw(value);
        match self.0.compare_exchange(old, fresh, AcqRel, Acquire) {
            Ok(_) => Ok(()),
            // SAFETY: made by `into_raw` above, and nobody else has it.
            Err(_) => Err(unsafe { Box::from_raw(fresh) }),
        }
    }
}

impl<T: Send + Sync + 'static> Default for Forever<T> {
    fn default() -> Forever<T> {
        Forever::new()
    }
}

/// Has a function called when the process ends by `exit`, or the library is unloaded. Where that cannot be, it is not called.
pub fn at_exit(function: extern "C" fn()) {
    // SAFETY: a static function.
    unsafe { libc::atexit(function) };
}
