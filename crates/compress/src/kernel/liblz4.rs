//! liblz4: LZ4 blocks of levels 1..=12, and their decoder.
//!
//! Computes: the block format of lz4_Block_format.md. Shapes: any lengths up to `LZ4_MAX_BLOCK`, no alignment,
//! `src` and `dst` disjoint. Preconditions: none. CPU features: none chosen at run time. Source: liblz4
//! 1.10.0, BSD-2-Clause, built by lz4-sys, which declares a part of the interface; the rest is declared here.
//! Covered by the tests `lz4`, `lz4_corrupt`; bench `formats`.
#![allow(unsafe_code)]

use core::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;

use lookaside_spec::dc::LZ4_MAX_BLOCK;
use lz4_sys as sys;

use super::source;

unsafe extern "C" {
    // lz4.h, version 1.10. `fastReset`: the state is one that was made by `LZ4_createStream` or used by one of
    // these functions.
    fn LZ4_compress_fast_extState_fastReset(
        state: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
        acceleration: c_int,
    ) -> c_int;
    fn LZ4_compress_fast_extState(
        state: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
        acceleration: c_int,
    ) -> c_int;
    fn LZ4_decompress_safe_usingDict(
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
        dict: *const c_char,
        dict_size: c_int,
    ) -> c_int;
    // lz4hc.h
    fn LZ4_createStreamHC() -> *mut c_void;
    fn LZ4_freeStreamHC(state: *mut c_void) -> c_int;
    fn LZ4_compress_HC_extStateHC_fastReset(
        state: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
        level: c_int,
    ) -> c_int;
}

/// How far back a match reaches at most.
pub(crate) const WINDOW: usize = 64 * 1024;

/// The library's only level below its high compression ones.
const FAST: u8 = 1;

/// The state of `LZ4_compress_fast`: 16 KB.
struct Fast {
    state: NonNull<c_void>,
    /// The last call failed: the state is to be made anew.
    dirty: bool,
}

/// The state of `LZ4_compress_HC`: 256 KB.
struct High(NonNull<c_void>);

/// Compressors of every level; their memory comes with the first use.
#[derive(Default)]
pub(crate) struct Compressor {
    fast: Option<Fast>,
    high: Option<High>,
}

// SAFETY: the library's states belong to no thread; `&mut self` keeps them to one at a time.
unsafe impl Send for Fast {}
// SAFETY: as above.
unsafe impl Send for High {}

impl Compressor {
    /// Compresses `src` (at most [`LZ4_MAX_BLOCK`] bytes) into one block. `None`: it does not fit in `dst` (the
    /// library wants up to some ten bytes more than it uses), or there is no memory for the state.
    pub(crate) fn compress(&mut self, level: u8, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        let len = c_int::try_from(src.len()).ok().filter(|_| src.len() <= LZ4_MAX_BLOCK)?;
        let room = c_int::try_from(dst.len()).unwrap_or(c_int::MAX);
        let produced = if level <= FAST {
            let fast = match &mut self.fast {
                Some(fast) => fast,
                none => none.insert(Fast::new()?),
            };
            let compress = match std::mem::take(&mut fast.dirty) {
                false => LZ4_compress_fast_extState_fastReset,
                true => LZ4_compress_fast_extState,
            };
            // SAFETY: the state is the library's own and borrowed exclusively, and was not left by a call that
            // failed unless this one makes it anew; both slices are valid for their lengths and, one being
            // `&mut`, disjoint.
            let produced = unsafe {
                compress(fast.state.as_ptr(), source(src), dst.as_mut_ptr().cast(), len, room, 1)
            };
            fast.dirty = produced <= 0;
            produced
        } else {
            let high = match &mut self.high {
                Some(high) => high,
                none => none.insert(High::new()?),
            };
            // SAFETY: as above; this state knows itself that the last call failed.
            unsafe {
                LZ4_compress_HC_extStateHC_fastReset(
                    high.0.as_ptr(),
                    source(src),
                    dst.as_mut_ptr().cast(),
                    len,
                    room,
                    level.into(),
                )
            }
        };
        usize::try_from(produced).ok().filter(|&produced| produced > 0)
    }
}

impl Fast {
    fn new() -> Option<Fast> {
        // SAFETY: null or a state that is ours.
        let state = NonNull::new(unsafe { sys::LZ4_createStream() }.cast())?;
        Some(Fast { state, dirty: false })
    }
}

impl Drop for Fast {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed once.
        unsafe { sys::LZ4_freeStream(self.state.as_ptr().cast()) };
    }
}

impl High {
    fn new() -> Option<High> {
        // SAFETY: null or a state that is ours.
        NonNull::new(unsafe { LZ4_createStreamHC() }).map(High)
    }
}

impl Drop for High {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed once.
        unsafe { LZ4_freeStreamHC(self.0.as_ptr()) };
    }
}

/// Decodes the block `src` to `memory[start..end]`; matches may reach back into `memory[..start]`. Returns how
/// many bytes it has. `None`: it is damaged, or does not fit, or ends otherwise than the library's
/// compressors end it; `memory[start..end]` then holds garbage.
pub(crate) fn decompress(src: &[u8], memory: &mut [u8], start: usize, end: usize) -> Option<usize> {
    let len = c_int::try_from(src.len()).ok()?;
    let before = start.min(WINDOW);
    let place = memory.get_mut(start - before..end)?;
    let room = c_int::try_from(place.len() - before).unwrap_or(c_int::MAX);
    let dict = place.as_mut_ptr();
    // SAFETY: `src` is valid for its length; `place` for `before` bytes of history, which are only read, and for
    // `room` bytes behind them; they do not overlap with `src`. The library checks every length and
    // distance.
    let produced = unsafe {
        LZ4_decompress_safe_usingDict(
            source(src),
            dict.add(before).cast(),
            len,
            room,
            dict.cast_const().cast(),
            before as c_int,
        )
    };
    usize::try_from(produced).ok()
}
