//! inflateBack: input by one callback, output by another, through a window of the caller's.
//!
//! The same decoder. It writes into the caller's window from the start on; whenever that is full it
//! is handed out, and becomes the history of what follows.
//!
//! Matches from before the first byte, or further back than the window, are refused wherever they
//! are; stock takes some of them, and hands out what happened to be in the window.

use std::{
    ffi::{c_char, c_int, c_uchar, c_uint, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

use libz_rs_sys::{
    Z_BUF_ERROR, Z_DATA_ERROR, Z_MEM_ERROR, Z_OK, Z_STREAM_END, Z_STREAM_ERROR, Z_VERSION_ERROR,
    in_func, internal_state, out_func, z_stream, z_streamp,
};
use lookaside_compress::{Inflate, Place, Until};

use super::{
    same_interface,
    state::{decoder, retire},
};
use crate::{
    deflate::{allocate, release},
    stats::{self, Path},
};

const MAGIC: u64 = u64::from_le_bytes(*b"LAback13");

/// What `z_stream::state` points to.
#[repr(C)]
struct State {
    magic: u64,
    window: *mut u8,
    window_bits: u8,
    raw: Box<Inflate>,
}

/// The stream and its state, if it is one of these.
///
/// # Safety
/// `strm` is null or a z_stream, whose state is null or one of zlib's.
unsafe fn state_of<'a>(strm: z_streamp) -> Option<(&'a mut z_stream, &'a mut State)> {
    // SAFETY: as the caller guarantees; states begin with eight bytes that tell whose they are.
    unsafe {
        let strm = strm.as_mut()?;
        let state = strm.state.cast::<State>();
        if state.is_null() || !state.is_aligned() || (*state).magic != MAGIC {
            return None;
        }
        Some((strm, &mut *state))
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateBackInit_(
    strm: z_streamp,
    windowBits: c_int,
    window: *mut c_uchar,
    version: *const c_char,
    stream_size: c_int,
) -> c_int {
    // SAFETY: as the caller guarantees.
    if !unsafe { same_interface(version, stream_size) } {
        return Z_VERSION_ERROR;
    }
    // SAFETY: null or a z_stream whose allocator is set, as zlib.h says.
    let Some(strm) = (unsafe { strm.as_mut() }) else { return Z_STREAM_ERROR };
    if window.is_null() || !(8..=15).contains(&windowBits) {
        return Z_STREAM_ERROR;
    }
    strm.msg = ptr::null_mut();
    if strm.zalloc.is_none() {
        strm.zalloc = Some(allocate);
        strm.opaque = ptr::null_mut();
    }
    if strm.zfree.is_none() {
        strm.zfree = Some(release);
    }
    // SAFETY: the allocator keeps to zlib.h.
    let Some(place) = (unsafe { super::state::allocate::<State>(strm) }) else {
        return Z_MEM_ERROR;
    };
    let window_bits = windowBits as u8;
    let Some(raw) = decoder(window_bits) else {
        if let Some(zfree) = strm.zfree {
            // SAFETY: just allocated, of nobody else's.
            unsafe { zfree(strm.opaque, place.cast::<c_void>()) };
        }
        return Z_MEM_ERROR;
    };
    // SAFETY: fresh memory of this size, aligned.
    unsafe { place.write(State { magic: MAGIC, window, window_bits, raw }) };
    strm.state = place.cast::<internal_state>();
    Z_OK
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateBackEnd(strm: z_streamp) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((strm, state)) = (unsafe { state_of(strm) }) else { return Z_STREAM_ERROR };
    let Some(zfree) = strm.zfree else { return Z_STREAM_ERROR };
    state.magic = 0;
    strm.state = ptr::null_mut();
    let state = ptr::from_mut(state);
    // SAFETY: made by inflateBackInit, unknown to the stream from here on.
    unsafe {
        retire(ptr::read(&raw const (*state).raw));
        zfree(strm.opaque, state.cast::<c_void>());
    }
    Z_OK
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateBack(
    strm: z_streamp,
    in_: Option<in_func>,
    in_desc: *mut c_void,
    out: Option<out_func>,
    out_desc: *mut c_void,
) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((strm, state)) = (unsafe { state_of(strm) }) else { return Z_STREAM_ERROR };
    let (Some(in_), Some(out)) = (in_, out) else { return Z_STREAM_ERROR };
    strm.msg = ptr::null_mut();
    let raw = &mut *state.raw;
    raw.reset(state.window_bits);
    raw.limit_reach(state.window_bits);
    let mut run = Run {
        raw,
        window: state.window,
        size: 1 << state.window_bits,
        filled: 0,
        next: strm.next_in,
        have: if strm.next_in.is_null() { 0 } else { strm.avail_in },
        taken: 0,
        given: 0,
    };
    // SAFETY: as zlib.h has the caller guarantee of both functions.
    let input = |next: &mut *const u8| unsafe { in_(in_desc, next) };
    // SAFETY: likewise.
    let output = |from: *mut u8, len| unsafe { out(out_desc, from, len) != 0 };
    // SAFETY: the window was given for this; input is what the caller's function gave.
    let code = catch_unwind(AssertUnwindSafe(|| unsafe { run.decode(input, output) }))
        .unwrap_or(Z_STREAM_ERROR);
    if let Some(fault) = run.raw.fault() {
        strm.msg = fault.message().as_ptr().cast_mut();
    }
    strm.next_in = run.next;
    strm.avail_in = run.have;
    stats::count(Path::DecompressStream, run.taken, run.given);
    code
}

/// One call.
struct Run<'a> {
    raw: &'a mut Inflate,
    window: *mut u8,
    size: usize,
    /// What of the window is written and not handed out.
    filled: usize,
    next: *const u8,
    have: c_uint,
    taken: usize,
    given: usize,
}

impl Run<'_> {
    /// # Safety
    /// The window has its size; `next` points to `have` bytes, and what `input` gives likewise.
    unsafe fn decode(
        &mut self,
        mut input: impl FnMut(&mut *const u8) -> c_uint,
        mut output: impl FnMut(*mut u8, c_uint) -> bool,
    ) -> c_int {
        let code = loop {
            // SAFETY: as the caller guarantees.
            let step = unsafe {
                let room = (self.window.add(self.filled), self.size - self.filled);
                let src = (self.next, self.have as usize);
                self.raw.step_raw(src, self.filled, room, Until::Ends)
            };
            self.next = self.next.wrapping_add(step.consumed);
            self.have -= step.consumed as c_uint;
            self.filled += step.produced;
            self.taken += step.consumed;
            self.given += step.produced;
            match self.raw.at() {
                Place::End => break Z_STREAM_END,
                Place::Failed => break Z_DATA_ERROR,
                at => {
                    let stored = matches!(at, Place::Copy(_)) && self.have > 0;
                    if self.filled == self.size && (self.raw.wants_room() || stored) {
                        self.filled = 0;
                        // SAFETY: the whole window is written. It is kept before anybody can
                        // change it.
                        unsafe { self.raw.keep_raw(self.window.add(self.size), self.size) };
                        if output(self.window, self.size as c_uint) {
                            break Z_BUF_ERROR;
                        }
                    } else {
                        self.have = input(&mut self.next);
                        if self.have == 0 {
                            self.next = ptr::null();
                            break Z_BUF_ERROR;
                        }
                    }
                }
            }
        };
        let rest = self.filled as c_uint;
        if rest > 0 && output(self.window, rest) && code == Z_STREAM_END {
            return Z_BUF_ERROR;
        }
        code
    }
}
