//! The state of a stream: what `z_stream::state` points to.
//!
//! It is small and comes from the caller's allocator. The memory of kernels, of input and output
//! that waits does not: it is made when first needed, by the process's allocator, and shared by the
//! streams of the process one after the other ([`crate::pool`]).

use std::{
    ffi::{c_int, c_uint, c_ulong},
    ptr, slice,
};

use libz_rs_sys::{
    Z_BUF_ERROR, Z_MEM_ERROR, Z_OK, Z_STREAM_ERROR, Z_UNKNOWN, gz_header, internal_state, z_stream,
};
use lookaside_compress::CompressStream;

use super::{content::Meter, inner::Inner, input::Input, levels, outbox::Outbox};
use crate::{misc, pool::Pool, stats::Path};

/// Where a stream is. What is compressed comes from [`Body`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// The header is to be written.
    Header,
    /// The body.
    Busy,
    /// All input has been taken, after `Z_FINISH`.
    Finish,
    /// A panic left it half changed: it can only be ended.
    Broken,
}

/// Who compresses.
pub(crate) enum Body {
    /// Nobody yet, or nobody any more: the output so far ends at a byte, no kernel has anything.
    /// Input waits, and who will compress it is decided when there is more of it, or a flush. What
    /// is compressed from here are whole streams, or pieces that do not refer to the history.
    Deferred,
    /// igzip, with the level that it was made for.
    Igzip(Box<CompressStream>, u8),
    ZlibRs(Box<Inner>),
}

/// How input and output are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrap {
    Raw,
    Zlib,
    Gzip,
}

const MAGIC: u64 = u64::from_le_bytes(*b"LAdefl13");

/// See the module.
#[repr(C)]
pub(crate) struct State {
    magic: u64,
    strm: *mut z_stream,
    pub(crate) status: Status,
    pub(crate) wrap: Wrap,
    /// The trailer is written, or in the outbox.
    pub(crate) closed: bool,
    pub(crate) level: u8,
    pub(crate) window_bits: u8,
    pub(crate) mem_level: u8,
    pub(crate) strategy: c_int,
    /// The flush of the call before, in zlib's numbers: -2 at the start, -1 where the next call may
    /// repeat it.
    pub(crate) last_flush: c_int,
    pub(crate) head: *mut gz_header,
    pub(crate) tuning: Option<[c_int; 4]>,
    pub(crate) outbox: Outbox,
    pub(crate) input: Input,
    pub(crate) body: Body,
    /// A kernel has input whose output is not all out.
    pub(crate) unflushed: bool,
    /// The last block is out of the body.
    pub(crate) ended: bool,
    /// The last piece ends as a flush does, and no flush has made use of that.
    pub(crate) marked: bool,
    /// The history was given, or is worth more than speed: the next input is to refer to it.
    pub(crate) refers: bool,
    /// zlib-rs serves until the stream ends, because of bits or a flush that nobody else knows.
    pub(crate) sticky: bool,
    /// zlib-rs serves as long as the data repeats itself.
    pub(crate) meter: Option<Meter>,
    /// What came so far does not speak against that.
    pub(crate) may_repeat: bool,
    /// When so much input has been taken, it is looked at what it is, again.
    pub(crate) look_at: c_ulong,
    /// Who serves; `None` where it has been counted already.
    pub(crate) path: Option<Path>,
    /// What was compressed and has not been counted: bytes in, bytes out.
    pub(crate) tally: (usize, usize),
}

/// Idle streams of igzip, by level.
static SPARE: [Pool<CompressStream>; 3] = [const { Pool::new() }; 3];

/// A return code other than `Z_OK` and `Z_STREAM_END`, with its text in `msg`.
pub(crate) fn refuse(strm: &mut z_stream, code: c_int) -> c_int {
    strm.msg = misc::message(code);
    code
}

/// The caller's input.
///
/// The lifetime is the caller's of zlib: its memory is there during the call, and nobody writes
/// to it.
pub(crate) fn src<'a>(strm: &z_stream) -> &'a [u8] {
    if strm.avail_in == 0 {
        return &[];
    }
    // SAFETY: zlib.h has the caller guarantee avail_in bytes at next_in, which is not null
    // (`deflate` checks); see above for the lifetime.
    unsafe { slice::from_raw_parts(strm.next_in, strm.avail_in as usize) }
}

/// The caller's room for output. To be asked for anew when `next_out` has moved.
pub(crate) fn dst<'a>(strm: &z_stream) -> &'a mut [u8] {
    if strm.avail_out == 0 {
        return &mut [];
    }
    // SAFETY: zlib.h has the caller guarantee avail_out bytes at next_out, which is not null, apart
    // from the input; only one such slice is in use at a time.
    unsafe { slice::from_raw_parts_mut(strm.next_out, strm.avail_out as usize) }
}

/// So many bytes of output were written.
pub(crate) fn gave(strm: &mut z_stream, count: usize) {
    strm.next_out = strm.next_out.wrapping_add(count);
    strm.avail_out -= count as c_uint;
    strm.total_out = strm.total_out.wrapping_add(count as c_ulong);
}

/// So many bytes of input were taken; who calls this sees to the checksum.
pub(crate) fn skip(strm: &mut z_stream, count: usize) {
    strm.next_in = strm.next_in.wrapping_add(count);
    strm.avail_in -= count as c_uint;
    strm.total_in = strm.total_in.wrapping_add(count as c_ulong);
}

/// What `deflateInit2_` was asked for, checked.
pub(crate) struct Shape {
    pub(crate) wrap: Wrap,
    pub(crate) level: u8,
    pub(crate) window_bits: u8,
    pub(crate) mem_level: u8,
    pub(crate) strategy: c_int,
}

impl State {
    fn new(strm: *mut z_stream, shape: &Shape) -> State {
        State {
            magic: MAGIC,
            strm,
            status: Status::Header,
            wrap: shape.wrap,
            closed: false,
            level: shape.level,
            window_bits: shape.window_bits,
            mem_level: shape.mem_level,
            strategy: shape.strategy,
            last_flush: -2,
            head: ptr::null_mut(),
            tuning: None,
            outbox: Outbox::default(),
            input: Input::default(),
            body: Body::Deferred,
            unflushed: false,
            ended: false,
            marked: false,
            refers: false,
            sticky: false,
            meter: None,
            may_repeat: true,
            look_at: 0,
            path: None,
            tally: (0, 0),
        }
    }

    /// Makes the state of a stream, in memory of the caller's allocator, which is set.
    ///
    /// # Safety
    /// The allocator keeps to zlib.h.
    pub(crate) unsafe fn create(strm: &mut z_stream, shape: &Shape) -> c_int {
        // SAFETY: as the caller guarantees.
        let Some(place) = (unsafe { allocate(strm) }) else { return Z_MEM_ERROR };
        let mut state = State::new(strm, shape);
        state.reset(strm);
        // SAFETY: fresh memory of this size, aligned.
        unsafe { place.write(state) };
        strm.state = place.cast::<internal_state>();
        Z_OK
    }

    /// The stream and its state, if that is what they are: as stock's deflateStateCheck, with a
    /// number of ours in front.
    ///
    /// # Safety
    /// `strm` is null or a z_stream, whose state is null or one of zlib's; nobody else uses either
    /// during the call.
    pub(crate) unsafe fn of<'a>(strm: *mut z_stream) -> Option<(&'a mut z_stream, &'a mut State)> {
        // SAFETY: null or valid, as the caller guarantees.
        let stream = unsafe { strm.as_mut() }?;
        if stream.zalloc.is_none() || stream.zfree.is_none() {
            return None;
        }
        let state = stream.state.cast::<State>();
        if state.is_null() || !state.is_aligned() {
            return None;
        }
        // SAFETY: states begin with eight bytes that tell whose they are, and ours go on with the
        // pointer back.
        let (magic, back) = unsafe { ((*state).magic, &raw const (*state).strm) };
        // SAFETY: it is one of ours.
        if magic != MAGIC || unsafe { back.read() } != strm {
            return None;
        }
        // SAFETY: one of ours, made for this stream.
        Some((stream, unsafe { &mut *state }))
    }

    /// As [`State::of`], without those that a panic broke.
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn usable<'a>(
        strm: *mut z_stream,
    ) -> Option<(&'a mut z_stream, &'a mut State)> {
        // SAFETY: as the caller guarantees.
        unsafe { State::of(strm) }.filter(|(_, state)| state.status != Status::Broken)
    }

    /// Frees the state.
    ///
    /// # Safety
    /// `strm` is the stream of a state of ours.
    pub(crate) unsafe fn destroy(strm: &mut z_stream) {
        let state = strm.state.cast::<State>();
        strm.state = ptr::null_mut();
        // SAFETY: made by `create` or `copy`, and unknown to the stream from here on.
        unsafe {
            (*state).magic = 0;
            (*state).settle_body();
            state.drop_in_place();
            if let Some(zfree) = strm.zfree {
                zfree(strm.opaque, state.cast());
            }
        }
    }

    /// `deflateReset`, for parameters as they are.
    pub(crate) fn reset(&mut self, strm: &mut z_stream) {
        strm.total_in = 0;
        strm.total_out = 0;
        strm.msg = ptr::null_mut();
        strm.data_type = Z_UNKNOWN;
        strm.adler = self.initial_check();
        self.settle_body();
        self.outbox.clear();
        self.input.forget();
        self.status = Status::Header;
        self.closed = false;
        self.last_flush = -2;
        self.unflushed = false;
        self.ended = false;
        self.marked = false;
        self.refers = false;
        self.sticky = false;
        self.may_repeat = true;
        self.look_at = 0;
        self.input.wait_for_more(false);
        self.path = None;
        self.tally = (0, 0);
    }

    /// The checksum of nothing. Raw streams have Adler-32's too, as in stock.
    pub(crate) fn initial_check(&self) -> c_ulong {
        match self.wrap {
            Wrap::Gzip => 0,
            Wrap::Raw | Wrap::Zlib => 1,
        }
    }

    /// Has the kernel go, its memory kept for others.
    pub(crate) fn settle_body(&mut self) {
        match std::mem::replace(&mut self.body, Body::Deferred) {
            Body::Deferred => {}
            Body::Igzip(stream, level) => SPARE[usize::from(level.clamp(1, 3) - 1)].put(stream),
            Body::ZlibRs(inner) => inner.retire(),
        }
        self.unflushed = false;
        self.meter = None;
    }

    /// A stream of igzip's at this level, behind this history; `None` if igzip does not serve it.
    pub(crate) fn igzip(level: u8, history: &[u8]) -> Option<Box<CompressStream>> {
        let spec = levels::stream(level)?;
        let history = (!history.is_empty()).then_some(history);
        let mut stream = match SPARE[usize::from(level.clamp(1, 3) - 1)].take() {
            Some(stream) => stream,
            None => Box::new(CompressStream::new(&levels::codec(&spec)?, None).ok()?),
        };
        stream.reset_with(history).ok()?;
        Some(stream)
    }

    /// Whether some input has been taken whose output is not made: stock's lookahead.
    pub(crate) fn holds_input(&self) -> bool {
        self.unflushed || !self.input.waiting().is_empty()
    }

    /// A copy of the state for `dest`, a copy of its stream.
    ///
    /// # Safety
    /// The allocator keeps to zlib.h.
    pub(crate) unsafe fn copy(&mut self, dest: &mut z_stream) -> c_int {
        let body = match &mut self.body {
            Body::ZlibRs(inner) => match inner.copy() {
                Some(copy) => Body::ZlibRs(copy),
                None => return Z_MEM_ERROR,
            },
            // A stream of igzip's has no copy: `deflateCopy` has flushed it, so that another one
            // behind the same history goes on.
            Body::Igzip(..) | Body::Deferred => Body::Deferred,
        };
        let (Some(outbox), Some(input)) = (self.outbox.copy(), self.input.copy()) else {
            return Z_MEM_ERROR;
        };
        let parted = matches!(self.body, Body::Igzip(..));
        // SAFETY: as the caller guarantees.
        let Some(place) = (unsafe { allocate(dest) }) else { return Z_MEM_ERROR };
        let unflushed = self.unflushed && !parted;
        let copy = State {
            magic: MAGIC,
            strm: dest,
            outbox,
            input,
            body,
            unflushed,
            refers: self.refers || parted,
            tally: (0, 0),
            ..*self
        };
        // SAFETY: fresh memory of this size, aligned.
        unsafe { place.write(copy) };
        dest.state = place.cast::<internal_state>();
        Z_OK
    }
}

/// Memory for a state; `None` if there is none.
///
/// # Safety
/// The allocator keeps to zlib.h.
unsafe fn allocate(strm: &z_stream) -> Option<*mut State> {
    let zalloc = strm.zalloc?;
    // SAFETY: as the caller guarantees.
    let place = unsafe { zalloc(strm.opaque, 1, size_of::<State>() as c_uint) }.cast::<State>();
    if !place.is_null() && !place.is_aligned() {
        // Memory for any type is what zlib.h asks for.
        if let Some(zfree) = strm.zfree {
            // SAFETY: from the same allocator.
            unsafe { zfree(strm.opaque, place.cast()) };
        }
        return None;
    }
    (!place.is_null()).then_some(place)
}

/// What stock's `deflate` answers where no progress is possible.
pub(crate) const NO_PROGRESS: c_int = Z_BUF_ERROR;

/// What an impossible failure of a kernel is answered with.
pub(crate) const FAILED: c_int = Z_STREAM_ERROR;
