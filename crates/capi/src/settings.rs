//! Structures that begin with their size, so that programs and libraries of different versions
//! understand each other: what a program does not know has its default; what the library does not
//! know must be zero.
#![allow(unsafe_code)]

use core::ptr;

use crate::{pointer::In, status::Refusal};

/// A structure that begins with its size.
///
/// # Safety
/// `repr(C)`; the first field is a `usize`; every field is an integer or a pointer, so that any
/// bytes are a value.
pub unsafe trait Settings: Copy {
    /// The value of what is not given.
    const DEFAULT: Self;
}

/// No structure of ours is ever going to be larger; a larger size is a mistake.
const LARGEST: usize = 4096;

impl<T: Settings> In<T> {
    /// The settings: the defaults where the pointer is null or the caller's structure ends.
    ///
    /// # Safety
    /// The pointer is null, misaligned, or valid for reading as many bytes as the `usize` that it
    /// points at says.
    pub(crate) unsafe fn settings(&self) -> Result<T, Refusal> {
        let mut settings = T::DEFAULT;
        let p = self.pointer();
        if p.is_null() {
            return Ok(settings);
        }
        if !p.is_aligned() {
            return Err(Refusal::Invalid("a misaligned pointer to settings"));
        }
        // SAFETY: neither null nor misaligned, so valid for the size at least.
        let size = unsafe { p.cast::<usize>().read() };
        if !(size_of::<usize>()..=LARGEST).contains(&size) {
            return Err(Refusal::Invalid("the size member of a settings structure"));
        }
        let known = size.min(size_of::<T>());
        // SAFETY: valid for `size` bytes, of which these are the first; any bytes are a value.
        unsafe { ptr::copy_nonoverlapping(p.cast::<u8>(), (&raw mut settings).cast(), known) };
        for i in known..size {
            // SAFETY: within `size` bytes.
            if unsafe { p.cast::<u8>().add(i).read() } != 0 {
                return Err(Refusal::Invalid("a setting that this version does not know"));
            }
        }
        Ok(settings)
    }
}

/// An unused field that a later version may give a meaning.
pub(crate) fn reserved(zero: bool) -> Result<(), Refusal> {
    match zero {
        true => Ok(()),
        false => Err(Refusal::Invalid("a reserved member is not zero")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Two {
        size: usize,
        a: u64,
        b: u64,
    }
    // SAFETY: repr(C), usize first, integers.
    unsafe impl Settings for Two {
        const DEFAULT: Two = Two { size: 0, a: 1, b: 2 };
    }

    fn read(words: &[u64]) -> Result<(u64, u64), Refusal> {
        // SAFETY: `words` are as many as the first one says, or the size is refused.
        unsafe { In::raw(words.as_ptr().cast::<Two>()).settings() }.map(|t| (t.a, t.b))
    }

    #[test]
    fn older_and_newer_programs_are_understood() {
        // SAFETY: null.
        assert_eq!(unsafe { In::<Two>::NULL.settings() }.ok(), Some(Two::DEFAULT));
        assert_eq!(read(&[24, 7, 8]).ok(), Some((7, 8)));
        assert_eq!(read(&[16, 7]).ok(), Some((7, 2)));
        assert_eq!(read(&[8]).ok(), Some((1, 2)));
        assert_eq!(read(&[32, 7, 8, 0]).ok(), Some((7, 8)));
        assert!(read(&[32, 7, 8, 1 << 63]).is_err());
        for size in [0, 7, 4097, u64::MAX] {
            assert!(read(&[size, 0, 0]).is_err(), "{size}");
        }
    }
}
