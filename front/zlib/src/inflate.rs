//! The inflate functions.
//!
//! Blocks are decoded by [`lookaside_compress::Inflate`], straight from the caller's input into the
//! caller's room; header and trailer are in `frame`, the state in `state`. Return codes, messages,
//! counts and `data_type` are stock's (1.2.13) in every call, so are its oddities: a call that ends
//! in `Z_NEED_DICT` is not counted in `total_in`.

pub mod back;
mod frame;
mod state;

use std::{
    ffi::{c_char, c_int, c_long, c_uchar, c_uint, c_ulong},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr, slice,
};

use libz_rs_sys::{
    Bytef, Z_BLOCK, Z_BUF_ERROR, Z_DATA_ERROR, Z_FINISH, Z_OK, Z_STREAM_END, Z_STREAM_ERROR,
    Z_TREES, Z_VERSION_ERROR, gz_headerp, z_stream, z_streamp,
};
use lookaside_compress::{Place, Until, adler32, crc32};

use self::{
    frame::Next,
    state::{GZIP, Stage, State, VERIFY},
};
use crate::{
    deflate::{allocate, release},
    stats::{self, Path},
};

/// So much is decoded before its checksum is taken: what is in the cache still.
const SUMMED_AT_ONCE: usize = 128 * 1024;

/// Was the caller built for this interface?
///
/// # Safety
/// `version` is null or a C string.
unsafe fn same_interface(version: *const c_char, stream_size: c_int) -> bool {
    // SAFETY: as the caller guarantees.
    let version = unsafe { version.as_ref() };
    version == Some(&(b'1' as c_char)) && stream_size == size_of::<z_stream>() as c_int
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateInit_(
    strm: z_streamp,
    version: *const c_char,
    stream_size: c_int,
) -> c_int {
    // SAFETY: as the caller guarantees.
    unsafe { inflateInit2_(strm, 15, version, stream_size) }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateInit2_(
    strm: z_streamp,
    windowBits: c_int,
    version: *const c_char,
    stream_size: c_int,
) -> c_int {
    // SAFETY: as the caller guarantees.
    if !unsafe { same_interface(version, stream_size) } {
        return Z_VERSION_ERROR;
    }
    // SAFETY: null or a z_stream whose allocator is set, as zlib.h says. The rest may be anything,
    // of which all values are valid.
    let Some(strm) = (unsafe { strm.as_mut() }) else { return Z_STREAM_ERROR };
    strm.msg = ptr::null_mut();
    if strm.zalloc.is_none() {
        strm.zalloc = Some(allocate);
        strm.opaque = ptr::null_mut();
    }
    if strm.zfree.is_none() {
        strm.zfree = Some(release);
    }
    // SAFETY: as the caller guarantees.
    unsafe { State::create(strm, windowBits) }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateEnd(strm: z_streamp) -> c_int {
    // SAFETY: as the caller guarantees.
    unsafe {
        let Some((strm, _)) = State::of(strm) else { return Z_STREAM_ERROR };
        State::destroy(strm);
    }
    Z_OK
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateReset(strm: z_streamp) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((strm, state)) = (unsafe { State::of(strm) }) else { return Z_STREAM_ERROR };
    state.reset(strm);
    Z_OK
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateReset2(strm: z_streamp, windowBits: c_int) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((strm, state)) = (unsafe { State::of(strm) }) else { return Z_STREAM_ERROR };
    if !state.reshape(windowBits) {
        return Z_STREAM_ERROR;
    }
    state.reset(strm);
    Z_OK
}

/// Not in `zlib.h`: a reset that keeps the history.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateResetKeep(strm: z_streamp) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((strm, state)) = (unsafe { State::of(strm) }) else { return Z_STREAM_ERROR };
    state.reset_keep(strm);
    Z_OK
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflate(strm: z_streamp, flush: c_int) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((strm, state)) = (unsafe { State::of(strm) }) else { return Z_STREAM_ERROR };
    if strm.next_out.is_null() || (strm.next_in.is_null() && strm.avail_in != 0) {
        return Z_STREAM_ERROR;
    }
    // SAFETY: as the caller guarantees.
    let run = catch_unwind(AssertUnwindSafe(|| unsafe { state.inflate(strm, flush) }));
    run.unwrap_or_else(|_| {
        state.front.stage = Stage::Broken;
        Z_STREAM_ERROR
    })
}

impl State {
    /// # Safety
    /// `strm` is this state's, its input and room as zlib.h says.
    unsafe fn inflate(&mut self, strm: &mut z_stream, flush: c_int) -> c_int {
        let (given, room) = (strm.avail_in, strm.avail_out);
        let until = match flush {
            Z_BLOCK => Until::Block,
            Z_TREES => Until::Header,
            _ => Until::Ends,
        };
        self.raw.go();
        let mut code = Z_OK;
        // Where output begins that the history may have to keep: with a trailer, not before it.
        let mut kept = room;
        loop {
            match self.front.stage {
                Stage::Body => {
                    // SAFETY: as the caller guarantees.
                    if !unsafe { self.blocks_step(strm, room, until) } {
                        break;
                    }
                }
                Stage::Done => {
                    code = Z_STREAM_END;
                    break;
                }
                Stage::Bad => {
                    code = Z_DATA_ERROR;
                    break;
                }
                Stage::Sync | Stage::Broken => return Z_STREAM_ERROR,
                // SAFETY: as the caller guarantees.
                stage => match unsafe { self.frame(strm) } {
                    Next::Go if stage == Stage::Check && self.front.wrap != 0 => {
                        kept = strm.avail_out;
                    }
                    Next::Go => {}
                    Next::Wait => break,
                    Next::Return(code) => return code,
                },
            }
        }
        let consumed = given - strm.avail_in;
        let produced = room - strm.avail_out;
        strm.total_in = strm.total_in.wrapping_add(consumed.into());
        strm.total_out = strm.total_out.wrapping_add(produced.into());
        let ended = matches!(self.front.stage, Stage::Check | Stage::Length | Stage::Done);
        let alive = self.front.stage != Stage::Bad && (!ended || flush != Z_FINISH);
        let kept = kept - strm.avail_out;
        if kept != 0 && (self.raw.keeps() || alive) {
            // SAFETY: so many bytes were written before next_out.
            unsafe { self.raw.keep_raw(strm.next_out, kept as usize) };
        }
        let before = match self.raw.at() {
            _ if self.front.stage != Stage::Body => 0,
            Place::BeforeBlock => 128,
            Place::AfterHeader => 256,
            _ => 0,
        };
        let last = if self.raw.in_last_block() { 64 } else { 0 };
        strm.data_type = self.raw.unused_bits() as c_int + last + before;
        stats::count(Path::DecompressStream, consumed as usize, produced as usize);
        if ((consumed == 0 && produced == 0) || flush == Z_FINISH) && code == Z_OK {
            return Z_BUF_ERROR;
        }
        code
    }

    /// Blocks, and the checksum of what they become. `false` where more has to come, or the caller
    /// wants to stop.
    ///
    /// # Safety
    /// As `inflate`; `room` is `avail_out` at the call's start.
    unsafe fn blocks_step(&mut self, strm: &mut z_stream, room: c_uint, until: Until) -> bool {
        loop {
            let part = (strm.avail_out as usize).min(SUMMED_AT_ONCE);
            let before = (room - strm.avail_out) as usize;
            // SAFETY: the caller's memory; what came before in this call is before next_out.
            let taken = unsafe {
                let src = (strm.next_in, strm.avail_in as usize);
                self.raw.step_raw(src, before, (strm.next_out, part), until)
            };
            if taken.produced > 0 {
                // SAFETY: just written.
                let output = unsafe { slice::from_raw_parts(strm.next_out, taken.produced) };
                self.sum_output(strm, output);
            }
            strm.next_in = strm.next_in.wrapping_add(taken.consumed);
            strm.avail_in -= taken.consumed as c_uint;
            strm.next_out = strm.next_out.wrapping_add(taken.produced);
            strm.avail_out -= taken.produced as c_uint;
            match self.raw.at() {
                Place::End => {
                    self.front.stage = Stage::Check;
                    return true;
                }
                Place::Failed => {
                    if let Some(fault) = self.raw.fault() {
                        self.bad(strm, fault.message());
                    }
                    return true;
                }
                Place::BeforeBlock if until != Until::Ends => return false,
                Place::AfterHeader if until == Until::Header => return false,
                _ if taken.produced == part && strm.avail_out > 0 => {}
                _ => return false,
            }
        }
    }

    fn sum_output(&mut self, strm: &mut z_stream, output: &[u8]) {
        self.front.total = self.front.total.wrapping_add(output.len() as c_ulong);
        if self.front.wrap & VERIFY == 0 {
            return;
        }
        let check = self.front.check;
        self.front.check =
            if self.front.flags != 0 { crc32(check, output) } else { adler32(check, output) };
        strm.adler = self.front.check.into();
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflatePrime(strm: z_streamp, bits: c_int, value: c_int) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((_, state)) = (unsafe { State::of(strm) }) else { return Z_STREAM_ERROR };
    let (hold, held) = state.raw.bits();
    match bits {
        0 => {}
        ..0 => {
            *hold = 0;
            *held = 0;
        }
        17.. => return Z_STREAM_ERROR,
        _ if *held + bits as u32 > 32 => return Z_STREAM_ERROR,
        _ => {
            *hold |= (value as u64 & ((1 << bits) - 1)) << *held;
            *held += bits as u32;
        }
    }
    Z_OK
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateMark(strm: *const z_stream) -> c_long {
    // SAFETY: as the caller guarantees; nothing is changed.
    let Some((_, state)) = (unsafe { State::of(strm.cast_mut()) }) else { return -(1 << 16) };
    let within = match state.raw.at() {
        _ if state.front.stage != Stage::Body => 0,
        Place::Copy(left) => left,
        Place::Match(written) => written,
        _ => 0,
    };
    (c_long::from(state.raw.back()) << 16) + c_long::from(within)
}

/// Not in `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateCodesUsed(strm: z_streamp) -> c_ulong {
    // SAFETY: as the caller guarantees.
    match unsafe { State::of(strm) } {
        Some((_, state)) => state.raw.zlib_codes_used().into(),
        None => c_ulong::MAX,
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateGetDictionary(
    strm: *const z_stream,
    dictionary: *mut c_uchar,
    dictLength: *mut c_uint,
) -> c_int {
    // SAFETY: as the caller guarantees; nothing is changed.
    let found = unsafe { State::of(strm.cast_mut()) };
    let Some((_, state)) = found else { return Z_STREAM_ERROR };
    let (old, new) = state.raw.history();
    // SAFETY: null, or room for a window and for a number.
    unsafe {
        if !dictionary.is_null() {
            dictionary.copy_from_nonoverlapping(old.as_ptr(), old.len());
            dictionary.add(old.len()).copy_from_nonoverlapping(new.as_ptr(), new.len());
        }
        if let Some(len) = dictLength.as_mut() {
            *len = (old.len() + new.len()) as c_uint;
        }
    }
    Z_OK
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateSetDictionary(
    strm: z_streamp,
    dictionary: *const Bytef,
    dictLength: c_uint,
) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((_, state)) = (unsafe { State::of(strm) }) else { return Z_STREAM_ERROR };
    let front = &mut state.front;
    if front.wrap != 0 && front.stage != Stage::Dictionary {
        return Z_STREAM_ERROR;
    }
    let bytes = match dictionary.is_null() || dictLength == 0 {
        true => &[][..],
        // SAFETY: so many bytes, as zlib.h says.
        false => unsafe { slice::from_raw_parts(dictionary, dictLength as usize) },
    };
    // Stock's Adler-32 of a null pointer is 1, as is that of nothing.
    if front.stage == Stage::Dictionary && adler32(1, bytes) != front.check {
        return Z_DATA_ERROR;
    }
    front.have_dictionary = true;
    state.raw.keep(bytes);
    Z_OK
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateGetHeader(strm: z_streamp, head: gz_headerp) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((_, state)) = (unsafe { State::of(strm) }) else { return Z_STREAM_ERROR };
    if state.front.wrap & GZIP == 0 {
        return Z_STREAM_ERROR;
    }
    state.front.head = head;
    // SAFETY: a gz_header that lives as long as the header is read, as zlib.h says.
    if let Some(head) = unsafe { head.as_mut() } {
        head.done = 0;
    }
    Z_OK
}

/// Looks for 00 00 FF FF, of which `found` bytes were there already: how many bytes it took.
fn search(found: &mut c_uint, bytes: &[u8]) -> usize {
    let mut taken = 0;
    for &byte in bytes {
        if *found == 4 {
            break;
        }
        *found = match (byte, *found) {
            (0, 0 | 1) | (0xff, 2 | 3) => *found + 1,
            (0, found) => 4 - found,
            _ => 0,
        };
        taken += 1;
    }
    taken
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateSync(strm: z_streamp) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((strm, state)) = (unsafe { State::of(strm) }) else { return Z_STREAM_ERROR };
    if strm.avail_in == 0 && state.raw.unused_bits() < 8 {
        return Z_BUF_ERROR;
    }
    if state.front.stage != Stage::Sync {
        state.front.stage = Stage::Sync;
        state.front.length = 0;
        let (hold, bits) = state.raw.bits();
        // As 1.2.13: shifted up, where later versions drop the bits.
        let held = (*hold << (*bits & 7)).to_le_bytes();
        let count = (*bits / 8) as usize;
        *hold = 0;
        *bits = 0;
        search(&mut state.front.length, &held[..count]);
    }
    let bytes = match strm.avail_in {
        0 => &[][..],
        // SAFETY: as zlib.h says of the input.
        count => unsafe { slice::from_raw_parts(strm.next_in, count as usize) },
    };
    let taken = search(&mut state.front.length, bytes);
    strm.next_in = strm.next_in.wrapping_add(taken);
    strm.avail_in -= taken as c_uint;
    strm.total_in = strm.total_in.wrapping_add(taken as c_ulong);
    if state.front.length != 4 {
        return Z_DATA_ERROR;
    }
    if state.front.flags == -1 {
        // No header yet: raw.
        state.front.wrap = 0;
    } else {
        // The checksum cannot be right any more.
        state.front.wrap &= !VERIFY;
    }
    let (flags, total_in, total_out) = (state.front.flags, strm.total_in, strm.total_out);
    state.reset(strm);
    (strm.total_in, strm.total_out) = (total_in, total_out);
    state.front.flags = flags;
    state.front.stage = Stage::Body;
    state.raw.at_block();
    Z_OK
}

/// See `zlib.h`: does a flush marker's length come next?
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateSyncPoint(strm: z_streamp) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((_, state)) = (unsafe { State::of(strm) }) else { return Z_STREAM_ERROR };
    let stored = state.front.stage == Stage::Body && state.raw.at() == Place::Stored;
    c_int::from(stored && state.raw.unused_bits() == 0)
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateCopy(dest: z_streamp, source: *const z_stream) -> c_int {
    // SAFETY: as the caller guarantees; the source is not changed.
    let Some((strm, state)) = (unsafe { State::of(source.cast_mut()) }) else {
        return Z_STREAM_ERROR;
    };
    if dest.is_null() {
        return Z_STREAM_ERROR;
    }
    // SAFETY: a z_stream, as the caller guarantees.
    unsafe { state.copy(strm, dest) }
}

/// Not in `zlib.h`: stock refuses it, in the way that it is built.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateUndermine(strm: z_streamp, _subvert: c_int) -> c_int {
    // SAFETY: as the caller guarantees.
    match unsafe { State::of(strm) } {
        Some(_) => Z_DATA_ERROR,
        None => Z_STREAM_ERROR,
    }
}

/// Not in `zlib.h`: whether the checksum counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inflateValidate(strm: z_streamp, check: c_int) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((_, state)) = (unsafe { State::of(strm) }) else { return Z_STREAM_ERROR };
    if check != 0 && state.front.wrap != 0 {
        state.front.wrap |= VERIFY;
    } else {
        state.front.wrap &= !VERIFY;
    }
    Z_OK
}
