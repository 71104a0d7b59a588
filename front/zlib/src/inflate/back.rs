//! inflateBack: input by one callback, output by another, through a window of the caller's.
//!
//! The same decoder. It writes into the caller's window from the start on; whenever that is full it
//! is handed out, and becomes the history of what follows.

use std::{
    ffi::{c_char, c_int, c_uchar, c_uint, c_void},
    mem::MaybeUninit,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

use libz_rs_sys::{
    Z_BUF_ERROR, Z_DATA_ERROR, Z_MEM_ERROR, Z_OK, Z_STREAM_END, Z_STREAM_ERROR, Z_VERSION_ERROR,
    in_func, internal_state, out_func, z_stream, z_streamp,
};
use lookaside_compress::{Inflate, Place, Until};
use lookaside_simd::Cpu;

use super::same_interface;
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
    raw: MaybeUninit<Inflate>,
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
    let Some(zalloc) = strm.zalloc else { return Z_STREAM_ERROR };
    // SAFETY: the allocator keeps to zlib.h.
    let place = unsafe { zalloc(strm.opaque, 1, size_of::<State>() as c_uint) }.cast::<State>();
    if place.is_null() || !place.is_aligned() {
        return Z_MEM_ERROR;
    }
    // SAFETY: fresh memory of this size, aligned. The decoder is made by each call.
    unsafe {
        (&raw mut (*place).magic).write(MAGIC);
        (&raw mut (*place).window).write(window);
        (&raw mut (*place).window_bits).write(windowBits as u8);
    }
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
    // SAFETY: allocated by inflateBackInit, unknown to the stream from here on.
    unsafe { zfree(strm.opaque, (state as *mut State).cast::<c_void>()) };
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
    let raw = Inflate::place(&mut state.raw, state.window_bits, Cpu::host());
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
