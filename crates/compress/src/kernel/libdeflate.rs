//! libdeflate: one-shot DEFLATE of levels 1..=12, and both checksums.
//!
//! Computes: RFC 1951 of a whole buffer with a 32 KB window; CRC-32 (RFC 1952) and Adler-32
//! (RFC 1950). Shapes: any lengths, no alignment, `src` and `dst` disjoint. Preconditions: none.
//! CPU features: chosen inside the library at run time, for every architecture; it does not know
//! `LOOKASIDE_CPU`. Source: libdeflate 1.26, MIT, built by libdeflate-sys.
//! Covered by the tests `roundtrip`, `corrupt`, `limits`; bench `levels`.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use libdeflate_sys as sys;

/// A compressor of one level: 0.2 MB at level 1, 0.7 MB at 2..=9, 9 MB above.
pub(crate) struct Compressor(NonNull<sys::libdeflate_compressor>);

// SAFETY: the library's state belongs to no thread; `&mut self` keeps it to one at a time.
unsafe impl Send for Compressor {}

impl Compressor {
    /// Allocates. `None` if the level is not in 0..=12, or memory ran out.
    pub(crate) fn new(level: u8) -> Option<Compressor> {
        // SAFETY: any level may be passed; the result is null or owned by us.
        NonNull::new(unsafe { sys::libdeflate_alloc_compressor(level.into()) }).map(Compressor)
    }

    /// Compresses `src` into `dst`. `None` if it does not fit.
    pub(crate) fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        // SAFETY: the compressor is alive and borrowed exclusively; both slices are valid for
        // their lengths and, one being `&mut`, disjoint.
        let produced = unsafe {
            sys::libdeflate_deflate_compress(
                self.0.as_ptr(),
                src.as_ptr().cast(),
                src.len(),
                dst.as_mut_ptr().cast(),
                dst.len(),
            )
        };
        (produced != 0).then_some(produced)
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, freed once.
        unsafe { sys::libdeflate_free_compressor(self.0.as_ptr()) }
    }
}

/// CRC-32 of `data`, continuing from `seed` (0 to start).
pub(crate) fn crc32(seed: u32, data: &[u8]) -> u32 {
    // SAFETY: the slice is valid for its length; never null, which would mean "initial value".
    unsafe { sys::libdeflate_crc32(seed, data.as_ptr().cast(), data.len()) }
}

/// Adler-32 of `data`, continuing from `seed` (1 to start).
pub(crate) fn adler32(seed: u32, data: &[u8]) -> u32 {
    // SAFETY: as for `crc32`.
    unsafe { sys::libdeflate_adler32(seed, data.as_ptr().cast(), data.len()) }
}
