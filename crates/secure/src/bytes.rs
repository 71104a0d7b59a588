//! [`SecureBytes`].
#![allow(unsafe_code)]

use core::alloc::Layout;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::slice;

use crate::heap;

/// A boxed slice of bytes in the memory for keys. Overwritten when dropped.
///
/// Takes a lock, and rarely a system call, when it is made and when it is dropped.
pub struct SecureBytes {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: it owns its bytes, as a `Box<[u8]>` does.
unsafe impl Send for SecureBytes {}
// SAFETY: as above.
unsafe impl Sync for SecureBytes {}

fn layout(len: usize) -> Layout {
    Layout::array::<u8>(len).expect("a slice is no longer than this")
}

impl SecureBytes {
    /// A copy of `bytes`.
    pub fn new(bytes: &[u8]) -> SecureBytes {
        let len = bytes.len();
        let start = if len == 0 { NonNull::dangling() } else { heap::allocate(layout(len)) };
        let mut copy = SecureBytes { start, len };
        copy.copy_from_slice(bytes);
        copy
    }
}

impl Deref for SecureBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: so many bytes of ours, which were zeros at first; or none.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for SecureBytes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Clone for SecureBytes {
    fn clone(&self) -> SecureBytes {
        SecureBytes::new(self)
    }
}

impl Drop for SecureBytes {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: from `allocate` with this layout, and freed once.
            unsafe { heap::free(self.start, layout(self.len)) };
        }
    }
}

impl fmt::Debug for SecureBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecureBytes({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_any_length() {
        for len in [0, 1, 16, 255, 5000, 70_000] {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let secure = SecureBytes::new(&bytes);
            assert_eq!(*secure.clone(), bytes[..]);
            assert_eq!(format!("{secure:?}"), format!("SecureBytes({len} bytes)"));
        }
    }
}
