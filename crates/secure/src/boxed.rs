//! [`SecureBox`].
#![allow(unsafe_code)]

use core::alloc::Layout;
use core::fmt;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::{Deref, DerefMut};
use core::ptr::{self, NonNull};

use crate::heap;

/// A `Box` in the memory for keys. Overwritten when dropped, after the value's own `drop`.
///
/// Takes a lock, and rarely a system call, when it is made and when it is dropped.
pub struct SecureBox<T>(NonNull<T>);

// SAFETY: it owns its value, as a `Box` does.
unsafe impl<T: Send> Send for SecureBox<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for SecureBox<T> {}

impl<T> SecureBox<T> {
    /// Moves `value` there. That leaves a copy where it was: pass one without secrets and fill it in
    /// afterwards, or [wipe the stack](crate::wipe_stack).
    pub fn new(value: T) -> SecureBox<T> {
        let start = heap::allocate(Layout::new::<T>()).cast::<T>();
        // SAFETY: fresh memory of the type's size and alignment.
        unsafe { start.write(value) };
        SecureBox(start)
    }
}

impl<T> SecureBox<T> {
    /// Moves there what `make` returns, in a frame of its own: of what that leaves on the stack, nothing
    /// gets into a value of the caller's, whose unused bytes would take it to the heap.
    #[inline(never)]
    pub fn make(make: impl FnOnce() -> T) -> SecureBox<T> {
        SecureBox::new(make())
    }

    /// As [`make`](SecureBox::make), where `make` may have nothing to return.
    #[inline(never)]
    pub fn try_make(make: impl FnOnce() -> Option<T>) -> Option<SecureBox<T>> {
        make().map(SecureBox::new)
    }
}

impl<T> SecureBox<MaybeUninit<T>> {
    /// Zeros to be filled in where they lie, without a way over the stack.
    pub fn zeroed() -> SecureBox<MaybeUninit<T>> {
        SecureBox(heap::allocate(Layout::new::<T>()).cast())
    }

    /// The value that is there now.
    ///
    /// # Safety
    /// What is there is a value of the type: zeros, or what was written.
    pub unsafe fn assume_init(self) -> SecureBox<T> {
        SecureBox(ManuallyDrop::new(self).0.cast())
    }
}

impl<T> Deref for SecureBox<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: a value of ours, from `new` on.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for SecureBox<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { self.0.as_mut() }
    }
}

impl<T: Copy> Clone for SecureBox<T> {
    /// Copies from place to place: nothing of it passes the stack.
    fn clone(&self) -> SecureBox<T> {
        let start = heap::allocate(Layout::new::<T>()).cast::<T>();
        // SAFETY: a value of ours, and fresh memory for another.
        unsafe { ptr::copy_nonoverlapping(self.0.as_ptr(), start.as_ptr(), 1) };
        SecureBox(start)
    }
}

impl<T> Drop for SecureBox<T> {
    fn drop(&mut self) {
        // SAFETY: the value is dropped once; its memory came from `allocate`, with this layout.
        unsafe {
            self.0.drop_in_place();
            heap::free(self.0.cast(), Layout::new::<T>());
        }
    }
}

impl<T> fmt::Debug for SecureBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecureBox(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_dropped_once_and_its_memory_overwritten() {
        struct Counted<'a>(&'a core::cell::Cell<u32>);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let drops = core::cell::Cell::new(0);
        drop(SecureBox::new(Counted(&drops)));
        assert_eq!(drops.get(), 1);

        let mut key = SecureBox::new([0u8; 2000]);
        key.fill(0xa5);
        let (copy, was) = (key.clone(), key.0);
        drop(key);
        assert_eq!(*copy, [0xa5; 2000]);
        // SAFETY: the memory stays mapped. The first bytes link free blocks.
        let left = if cfg!(miri) { [0; 1992] } else { unsafe { *was.as_ptr().byte_add(8).cast() } };
        assert_eq!(left, [0u8; 1992]);
    }
}
