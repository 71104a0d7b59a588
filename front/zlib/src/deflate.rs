//! The deflate functions. `zlib.h` says what they do; [`state`] and [`body`], how.
//!
//! Control flow, return codes and counters are those of stock zlib 1.2.13. Framing is ours for
//! every body; who compresses is decided in [`body`], for large input in [`large`].

mod body;
mod content;
mod frame;
mod inner;
mod input;
mod large;
mod levels;
mod outbox;
mod state;
mod stored;
mod tiny;

use std::{
    ffi::{c_char, c_int, c_uchar, c_uint, c_ulong, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
};

use libz_rs_sys::{
    Bytef, Z_BLOCK, Z_BUF_ERROR, Z_DATA_ERROR, Z_DEFAULT_COMPRESSION, Z_DEFAULT_STRATEGY,
    Z_DEFLATED, Z_FINISH, Z_FIXED, Z_FULL_FLUSH, Z_MEM_ERROR, Z_NO_FLUSH, Z_OK, Z_PARTIAL_FLUSH,
    Z_STREAM_END, Z_STREAM_ERROR, Z_SYNC_FLUSH, Z_VERSION_ERROR, gz_headerp, uInt, z_stream,
    z_streamp,
};

pub(crate) use self::{body::with_inflate, frame::compress_bound};
use self::{
    body::{Ask, Reach},
    state::{Body, FAILED, NO_PROGRESS, Shape, State, Status, Wrap, refuse},
};
use crate::stats;

/// The default of `deflateInit_`.
const DEFAULT_MEM_LEVEL: c_int = 8;

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflateInit_(
    strm: z_streamp,
    level: c_int,
    version: *const c_char,
    stream_size: c_int,
) -> c_int {
    // SAFETY: as the caller guarantees.
    unsafe {
        deflateInit2_(
            strm,
            level,
            Z_DEFLATED,
            15,
            DEFAULT_MEM_LEVEL,
            Z_DEFAULT_STRATEGY,
            version,
            stream_size,
        )
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflateInit2_(
    strm: z_streamp,
    level: c_int,
    method: c_int,
    windowBits: c_int,
    memLevel: c_int,
    strategy: c_int,
    version: *const c_char,
    stream_size: c_int,
) -> c_int {
    // SAFETY: null or a C string.
    let major = unsafe { version.as_ref() };
    if major != Some(&(b'1' as c_char)) || stream_size != size_of::<z_stream>() as c_int {
        return Z_VERSION_ERROR;
    }
    // SAFETY: null or a z_stream whose allocator, input and output are set, as zlib.h says. The
    // rest may be anything, of which all values are valid.
    let Some(strm) = (unsafe { strm.as_mut() }) else { return Z_STREAM_ERROR };
    strm.msg = std::ptr::null_mut();
    if strm.zalloc.is_none() {
        strm.zalloc = Some(allocate);
        strm.opaque = std::ptr::null_mut();
    }
    if strm.zfree.is_none() {
        strm.zfree = Some(release);
    }
    let (wrap, window_bits) = match windowBits {
        ..-15 => return Z_STREAM_ERROR,
        -15..0 => (Wrap::Raw, -windowBits),
        0..=15 => (Wrap::Zlib, windowBits),
        _ => (Wrap::Gzip, windowBits - 16),
    };
    let level = match level {
        Z_DEFAULT_COMPRESSION => 6,
        level => level,
    };
    if !(1..=9).contains(&memLevel)
        || method != Z_DEFLATED
        || !(8..=15).contains(&window_bits)
        || !(0..=9).contains(&level)
        || !(0..=Z_FIXED).contains(&strategy)
        || (window_bits == 8 && wrap != Wrap::Zlib)
    {
        return Z_STREAM_ERROR;
    }
    let shape = Shape {
        wrap,
        level: level as u8,
        // As stock: a window of 256 bytes does not work with its search.
        window_bits: window_bits.max(9) as u8,
        mem_level: memLevel as u8,
        strategy,
    };
    // SAFETY: as the caller guarantees.
    unsafe { State::create(strm, &shape) }
}

/// The allocator of callers who have none.
pub(crate) unsafe extern "C" fn allocate(
    _: *mut c_void,
    items: c_uint,
    size: c_uint,
) -> *mut c_void {
    // SAFETY: no preconditions.
    unsafe { libc::calloc(items as usize, size as usize) }
}

/// Its other half.
pub(crate) unsafe extern "C" fn release(_: *mut c_void, address: *mut c_void) {
    // SAFETY: from `allocate`, or null.
    unsafe { libc::free(address) }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflate(strm: *mut z_stream, flush: c_int) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((strm, state)) = (unsafe { State::usable(strm) }) else { return Z_STREAM_ERROR };
    if !(0..=Z_BLOCK).contains(&flush) {
        return Z_STREAM_ERROR;
    }
    let ask = match flush {
        Z_NO_FLUSH => Ask::Nothing,
        Z_PARTIAL_FLUSH => Ask::Partial,
        Z_SYNC_FLUSH => Ask::Sync,
        Z_FULL_FLUSH => Ask::Full,
        Z_FINISH => Ask::Finish,
        _ => Ask::Block,
    };
    guarded(strm, state, |strm, state| state.deflate(strm, flush, ask))
}

/// Runs what must not panic into a caller of C. After a panic the stream is of no use any more.
fn guarded(
    strm: &mut z_stream,
    state: &mut State,
    run: impl FnOnce(&mut z_stream, &mut State) -> c_int,
) -> c_int {
    match catch_unwind(AssertUnwindSafe(|| run(strm, state))) {
        Ok(code) => code,
        Err(_) => {
            state.status = Status::Broken;
            refuse(strm, Z_STREAM_ERROR)
        }
    }
}

/// Stock's order of flushes: Z_BLOCK stands between none and Z_PARTIAL_FLUSH.
fn rank(flush: c_int) -> c_int {
    flush * 2 - if flush > 4 { 9 } else { 0 }
}

impl State {
    fn deflate(&mut self, strm: &mut z_stream, flush: c_int, ask: Ask) -> c_int {
        if strm.next_out.is_null()
            || (strm.avail_in != 0 && strm.next_in.is_null())
            || (self.status == Status::Finish && ask != Ask::Finish)
        {
            return refuse(strm, Z_STREAM_ERROR);
        }
        if strm.avail_out == 0 {
            return refuse(strm, Z_BUF_ERROR);
        }
        let code = self.flow(strm, flush, ask);
        // Only the flush that a piece was made for ends with the piece's own marker: a flush of a later
        // call writes one, as stock's does.
        self.marked &= matches!(ask, Ask::Sync | Ask::Full);
        self.count();
        code
    }

    /// Counts what the kernel of now has compressed since the last count.
    pub(crate) fn count(&mut self) {
        if let Some(path) = self.path
            && self.tally != (0, 0)
        {
            let (taken, made) = std::mem::take(&mut self.tally);
            stats::count(path, taken, made);
        }
    }

    fn flow(&mut self, strm: &mut z_stream, flush: c_int, ask: Ask) -> c_int {
        let old = std::mem::replace(&mut self.last_flush, flush);
        if self.pending() > 0 {
            self.drain(strm);
            if strm.avail_out == 0 {
                // The next call has nothing new to do and must not be refused for that.
                self.last_flush = -1;
                return Z_OK;
            }
        } else if strm.avail_in == 0 && rank(flush) <= rank(old) && ask != Ask::Finish {
            return refuse(strm, NO_PROGRESS);
        }
        if self.status == Status::Finish && strm.avail_in != 0 {
            return refuse(strm, Z_BUF_ERROR);
        }
        if self.status == Status::Header {
            // SAFETY: deflateSetHeader has the caller guarantee that its header is still there.
            unsafe { self.header(strm) };
            self.note(0, self.outbox.len());
            self.status = Status::Busy;
            if !self.drain(strm) {
                self.last_flush = -1;
                return Z_OK;
            }
        }
        let takes = strm.avail_in != 0 && !matches!(self.body, Body::ZlibRs(..));
        if takes && !self.input.reserve() {
            return refuse(strm, Z_MEM_ERROR);
        }
        let flushes = ask != Ask::Nothing && self.status != Status::Finish;
        if strm.avail_in != 0 || self.holds_input() || flushes {
            match self.advance(strm, ask) {
                Ok(Reach::Done) if self.outbox.is_empty() => {}
                Ok(_) => {
                    if strm.avail_out == 0 {
                        self.last_flush = -1;
                    }
                    return Z_OK;
                }
                Err(code) => {
                    if code == FAILED {
                        self.status = Status::Broken;
                    }
                    return refuse(strm, code);
                }
            }
            // Stock would have another call find out that a raw stream ended with the room.
            if strm.avail_out == 0 && !self.ended {
                self.last_flush = -1;
                return Z_OK;
            }
        }
        if ask != Ask::Finish {
            return Z_OK;
        }
        if self.wrap == Wrap::Raw || self.closed {
            return Z_STREAM_END;
        }
        let waiting = self.outbox.len();
        self.trailer(strm);
        self.note(0, self.outbox.len() - waiting);
        if self.drain(strm) { Z_STREAM_END } else { Z_OK }
    }

    /// Output that waits, here and in a kernel that tells.
    fn pending(&mut self) -> usize {
        let inner = match &mut self.body {
            Body::ZlibRs(inner) => inner.pending().0,
            _ => 0,
        };
        self.outbox.len() + inner
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflateEnd(strm: *mut z_stream) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((strm, state)) = (unsafe { State::of(strm) }) else { return Z_STREAM_ERROR };
    let busy = state.status == Status::Busy;
    // SAFETY: this is its state.
    let freed = catch_unwind(AssertUnwindSafe(|| unsafe { State::destroy(strm) }));
    if busy || freed.is_err() { Z_DATA_ERROR } else { Z_OK }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflateReset(strm: *mut z_stream) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((strm, state)) = (unsafe { State::usable(strm) }) else { return Z_STREAM_ERROR };
    state.reset(strm);
    Z_OK
}

/// Not in `zlib.h`. In stock, `deflateReset` without forgetting the history, which nothing may
/// refer to in a stream that starts anew; here the same as `deflateReset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflateResetKeep(strm: *mut z_stream) -> c_int {
    // SAFETY: as the caller guarantees.
    unsafe { deflateReset(strm) }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflateBound(strm: *mut z_stream, sourceLen: c_ulong) -> c_ulong {
    // SAFETY: as the caller guarantees.
    match unsafe { State::usable(strm) } {
        // SAFETY: a header that was given is still there.
        Some((_, state)) => unsafe { state.bound(sourceLen as usize) as c_ulong },
        None => frame::bound_of_any(sourceLen as usize) as c_ulong,
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflateCopy(dest: z_streamp, source: z_streamp) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((source, state)) = (unsafe { State::usable(source) }) else { return Z_STREAM_ERROR };
    // SAFETY: null or a z_stream, with any content.
    let Some(dest) = (unsafe { dest.as_mut() }) else { return Z_STREAM_ERROR };
    guarded(source, state, |source, state| {
        if let Err(code) = state.part() {
            return code;
        }
        *dest = *source;
        // SAFETY: the source's allocator is the caller's.
        unsafe { state.copy(dest) }
    })
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflateParams(strm: z_streamp, level: c_int, strategy: c_int) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((strm, state)) = (unsafe { State::usable(strm) }) else { return Z_STREAM_ERROR };
    let level = match level {
        Z_DEFAULT_COMPRESSION => 6,
        level => level,
    };
    if !(0..=9).contains(&level) || !(0..=Z_FIXED).contains(&strategy) {
        return Z_STREAM_ERROR;
    }
    guarded(strm, state, |strm, state| state.params(strm, level as u8, strategy))
}

/// Stock's ways to search: stored, greedy, lazy.
fn way(level: u8) -> u8 {
    match level {
        0 => 0,
        1..=3 => 1,
        _ => 2,
    }
}

impl State {
    fn params(&mut self, strm: &mut z_stream, level: u8, strategy: c_int) -> c_int {
        let other = strategy != self.strategy || way(level) != way(self.level);
        if other && self.last_flush != -2 {
            // The input so far is compressed as it was asked for.
            let code = self.deflate(strm, Z_BLOCK, Ask::Settle);
            if code == Z_STREAM_ERROR {
                return code;
            }
            if strm.avail_in != 0 || self.holds_input() {
                return Z_BUF_ERROR;
            }
        }
        let changed = level != self.level || strategy != self.strategy;
        self.level = level;
        self.strategy = strategy;
        // At level 0 it is left with the next call.
        if let Body::ZlibRs(inner) = &mut self.body
            && changed
            && level > 0
        {
            // Flushed above, or of a kind that needs no flush.
            inner.params(levels::zlib_rs(level), strategy);
        }
        Z_OK
    }

    /// Has igzip write out all that it holds, so that it can be parted with: to the outbox, since
    /// there is no caller's memory here.
    fn part(&mut self) -> Result<(), c_int> {
        if !self.unflushed || !matches!(self.body, Body::Igzip(..)) {
            return Ok(());
        }
        self.flush_to_outbox()
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflateTune(
    strm: z_streamp,
    good_length: c_int,
    max_lazy: c_int,
    nice_length: c_int,
    max_chain: c_int,
) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((_, state)) = (unsafe { State::usable(strm) }) else { return Z_STREAM_ERROR };
    let tuning = [good_length, max_lazy, nice_length, max_chain];
    state.tuning = Some(tuning);
    match &mut state.body {
        Body::ZlibRs(inner) => inner.tune(tuning),
        _ => Z_OK,
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflatePending(
    strm: z_streamp,
    pending: *mut c_uint,
    bits: *mut c_int,
) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((_, state)) = (unsafe { State::usable(strm) }) else { return Z_STREAM_ERROR };
    let (inner, inner_bits) = match &mut state.body {
        Body::ZlibRs(inner) => inner.pending(),
        _ => (0, 0),
    };
    let bytes = state.outbox.len() + inner;
    // SAFETY: null or a place to write to.
    unsafe {
        if let Some(pending) = pending.as_mut() {
            *pending = c_uint::try_from(bytes).unwrap_or(c_uint::MAX);
        }
        if let Some(bits) = bits.as_mut() {
            *bits = inner_bits + state.outbox.bit_count() as c_int;
        }
    }
    Z_OK
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflatePrime(strm: z_streamp, bits: c_int, value: c_int) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((strm, state)) = (unsafe { State::usable(strm) }) else { return Z_STREAM_ERROR };
    if !(0..=16).contains(&bits) {
        return Z_BUF_ERROR;
    }
    guarded(strm, state, |_, state| state.prime(bits, value))
}

impl State {
    fn prime(&mut self, bits: c_int, value: c_int) -> c_int {
        if self.ended {
            // Behind the last block, for whoever writes a trailer of his own.
            self.outbox.put_bits(value as u32, bits as u32);
            return Z_OK;
        }
        self.align();
        if !matches!(self.body, Body::ZlibRs(..)) {
            let started =
                self.flush_to_outbox().and_then(|()| self.start_zlib_rs(stats::Path::CompressBits));
            if let Err(code) = started {
                return code;
            }
        }
        self.sticky = true;
        // Whole bytes of them are output that waits, for which the next call is to ask zlib-rs.
        self.unflushed = true;
        match &mut self.body {
            Body::ZlibRs(inner) => inner.prime(bits, value),
            _ => Z_STREAM_ERROR,
        }
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflateSetHeader(strm: *mut z_stream, head: gz_headerp) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((_, state)) = (unsafe { State::usable(strm) }) else { return Z_STREAM_ERROR };
    if state.wrap != Wrap::Gzip || state.closed {
        return Z_STREAM_ERROR;
    }
    state.head = head;
    Z_OK
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflateSetDictionary(
    strm: z_streamp,
    dictionary: *const Bytef,
    dictLength: uInt,
) -> c_int {
    // SAFETY: as the caller guarantees.
    let Some((strm, state)) = (unsafe { State::usable(strm) }) else { return Z_STREAM_ERROR };
    if dictionary.is_null() {
        return Z_STREAM_ERROR;
    }
    // SAFETY: not null, and so many bytes, as the caller guarantees.
    let dictionary = unsafe { std::slice::from_raw_parts(dictionary, dictLength as usize) };
    guarded(strm, state, |strm, state| state.set_dictionary(strm, dictionary))
}

impl State {
    fn set_dictionary(&mut self, strm: &mut z_stream, dictionary: &[u8]) -> c_int {
        let refused = match self.wrap {
            Wrap::Gzip => !self.closed,
            Wrap::Zlib => !self.closed && self.status != Status::Header,
            Wrap::Raw => false,
        };
        if refused {
            return Z_STREAM_ERROR;
        }
        let holds_input = self.holds_input();
        match &mut self.body {
            Body::ZlibRs(inner) => {
                // It knows whether it holds input.
                let code = inner.set_dictionary(dictionary);
                if code != Z_OK {
                    return code;
                }
                inner.forget_flush();
            }
            _ if holds_input => return Z_STREAM_ERROR,
            _ if !self.input.reserve() => return Z_MEM_ERROR,
            _ => {
                // A kernel that is there has another history.
                self.settle_body();
                self.marked = false;
                self.input.passed(dictionary);
                self.refers = !self.input.history().is_empty();
            }
        }
        if self.wrap == Wrap::Zlib && !self.closed {
            strm.adler = lookaside_compress::adler32(strm.adler as u32, dictionary).into();
        }
        // Stock reads a dictionary as it reads input, and counts it.
        let counted = dictionary.len().min(1 << self.window_bits);
        strm.total_in = strm.total_in.wrapping_add(counted as c_ulong);
        Z_OK
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deflateGetDictionary(
    strm: *const z_stream,
    dictionary: *mut c_uchar,
    dictLength: *mut c_uint,
) -> c_int {
    // SAFETY: as the caller guarantees; nothing is changed.
    let Some((_, state)) = (unsafe { State::usable(strm.cast_mut()) }) else {
        return Z_STREAM_ERROR;
    };
    let mut window = [0; 32 << 10];
    let window = match &state.body {
        Body::ZlibRs(inner) => {
            let len = inner.dictionary(&mut window);
            &window[..len]
        }
        _ => {
            let all = state.input.all();
            &all[all.len().saturating_sub(1 << state.window_bits)..]
        }
    };
    // SAFETY: each is null or a place to write to; the caller has room for a window.
    unsafe {
        if !dictionary.is_null() {
            std::ptr::copy_nonoverlapping(window.as_ptr(), dictionary, window.len());
        }
        if let Some(len) = dictLength.as_mut() {
            *len = window.len() as c_uint;
        }
    }
    Z_OK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushes_rank_as_in_stock() {
        let order = [-2, -1, Z_NO_FLUSH, Z_BLOCK, Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH];
        assert!(order.windows(2).all(|pair| rank(pair[0]) < rank(pair[1])));
        assert!(rank(Z_FINISH) > rank(Z_FULL_FLUSH));
    }
}
