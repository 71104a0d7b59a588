//! The state of a stream being decoded: what `z_stream::state` points to.
//!
//! It is small and comes from the caller's allocator. The decoder, with its tables and history, is
//! of the process's, and goes from stream to stream ([`crate::pool`]): its memory is warm, and
//! programs that make a stream for every few bytes do not pay for its size.

use std::{
    alloc::{Layout, alloc},
    ffi::{c_int, c_uint, c_ulong, c_void},
    mem::MaybeUninit,
    ptr,
};

use libz_rs_sys::{
    Z_MEM_ERROR, Z_OK, Z_STREAM_ERROR, gz_header, internal_state, z_stream, z_streamp,
};
use lookaside_compress::Inflate;
use lookaside_simd::Cpu;

use crate::pool::Pool;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The header, of whatever kind.
    Head,
    GzipFlags,
    GzipTime,
    GzipOs,
    GzipExtraLen,
    GzipExtra,
    GzipName,
    GzipComment,
    GzipCrc,
    DictionaryId,
    Dictionary,
    /// The blocks.
    Body,
    Check,
    Length,
    Done,
    Bad,
    /// Looking for a flush marker.
    Sync,
    /// A panic left it half changed: it can only be ended or reset.
    Broken,
}

/// Bits of [`State::wrap`], in zlib's numbers.
pub(super) const ZLIB: u8 = 1;
pub(super) const GZIP: u8 = 2;
pub(super) const VERIFY: u8 = 4;

const MAGIC: u64 = u64::from_le_bytes(*b"LAinfl13");

/// All of it but the decoder.
#[derive(Clone)]
#[repr(C)]
pub(super) struct Front {
    pub(super) magic: u64,
    pub(super) strm: *mut z_stream,
    pub(super) stage: Stage,
    pub(super) wrap: u8,
    /// 0: the header says.
    pub(super) window_bits: u8,
    pub(super) have_dictionary: bool,
    /// gzip's flags and method; 0 in a zlib stream, -1 before the header.
    pub(super) flags: c_int,
    pub(super) check: u32,
    pub(super) total: c_ulong,
    pub(super) head: *mut gz_header,
    /// Of a field of a gzip header; how much of a flush marker was found.
    pub(super) length: c_uint,
}

/// See the module.
#[repr(C)]
pub(super) struct State {
    pub(super) front: Front,
    pub(super) raw: Box<Inflate>,
}

/// Idle decoders.
static SPARE: Pool<Inflate> = Pool::new();

/// Memory for a decoder, of any content. `None` if there is none.
fn memory() -> Option<Box<MaybeUninit<Inflate>>> {
    let layout = Layout::new::<Inflate>();
    // SAFETY: it has a size.
    let place = unsafe { alloc(layout) }.cast::<MaybeUninit<Inflate>>();
    // SAFETY: as a box would have it.
    (!place.is_null()).then(|| unsafe { Box::from_raw(place) })
}

/// A decoder at the start of a stream. `None` if there is no memory.
pub(super) fn decoder(window_bits: u8) -> Option<Box<Inflate>> {
    if let Some(mut idle) = SPARE.take() {
        idle.reset(window_bits);
        return Some(idle);
    }
    let mut place = memory()?;
    Inflate::place(&mut place, window_bits, Cpu::host());
    // SAFETY: just made.
    Some(unsafe { place.assume_init() })
}

/// Keeps it for the next stream.
pub(super) fn retire(decoder: Box<Inflate>) {
    SPARE.put(decoder);
}

/// `windowBits` of inflateInit2 and inflateReset2: wrap and window. `None`: refused.
fn shape(window_bits: c_int) -> Option<(u8, u8)> {
    let (wrap, window_bits) = match window_bits {
        ..-15 => return None,
        -15..0 => (0, -window_bits),
        0..48 => ((window_bits >> 4) as u8 + 5, window_bits & 15),
        _ => return None,
    };
    (window_bits == 0 || window_bits >= 8).then_some((wrap, window_bits as u8))
}

impl State {
    /// Makes the state of a stream.
    ///
    /// # Safety
    /// As zlib.h says of inflateInit2.
    pub(super) unsafe fn create(strm: &mut z_stream, window_bits: c_int) -> c_int {
        let Some((wrap, window_bits)) = shape(window_bits) else {
            strm.state = ptr::null_mut();
            return Z_STREAM_ERROR;
        };
        // SAFETY: as the caller guarantees.
        let Some(place) = (unsafe { allocate::<State>(strm) }) else { return Z_MEM_ERROR };
        let Some(raw) = decoder(decoder_window(window_bits)) else {
            // SAFETY: just allocated, of nobody else's.
            unsafe { free(strm, place) };
            return Z_MEM_ERROR;
        };
        let front = Front {
            magic: MAGIC,
            strm,
            stage: Stage::Head,
            wrap,
            window_bits,
            have_dictionary: false,
            flags: -1,
            check: 0,
            total: 0,
            head: ptr::null_mut(),
            length: 0,
        };
        // SAFETY: fresh memory of this size, aligned.
        let state = unsafe {
            place.write(State { front, raw });
            &mut *place
        };
        strm.state = place.cast::<internal_state>();
        state.clear_stream(strm);
        Z_OK
    }

    /// The stream and its state, if that is what they are: as stock's inflateStateCheck, with a
    /// number of ours in front.
    ///
    /// # Safety
    /// `strm` is null or a z_stream, whose state is null or one of zlib's; nobody else uses either
    /// during the call.
    pub(super) unsafe fn of<'a>(strm: *mut z_stream) -> Option<(&'a mut z_stream, &'a mut State)> {
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
        unsafe {
            if (*state).front.magic != MAGIC || (*state).front.strm != strm {
                return None;
            }
            Some((stream, &mut *state))
        }
    }

    /// Frees the state.
    ///
    /// # Safety
    /// `strm` is the stream of a state of ours.
    pub(super) unsafe fn destroy(strm: &mut z_stream) {
        let state = strm.state.cast::<State>();
        strm.state = ptr::null_mut();
        // SAFETY: made by `create` or `copy`, and unknown to the stream from here on.
        unsafe {
            (*state).front.magic = 0;
            retire(ptr::read(&raw const (*state).raw));
            free(strm, state);
        }
    }

    /// A copy of stream and state.
    ///
    /// # Safety
    /// `dest` is a z_stream, of any content.
    pub(super) unsafe fn copy(&self, strm: &z_stream, dest: z_streamp) -> c_int {
        // SAFETY: as the caller guarantees.
        let Some(place) = (unsafe { allocate::<State>(strm) }) else { return Z_MEM_ERROR };
        let Some(mut raw) = memory() else {
            // SAFETY: just allocated, of nobody else's.
            unsafe { free(strm, place) };
            return Z_MEM_ERROR;
        };
        self.raw.copy_to(&mut raw);
        // SAFETY: fresh memory of this size, aligned, and a decoder just copied; `dest` may be
        // `strm` itself.
        unsafe {
            let front = Front { strm: dest, ..self.front.clone() };
            place.write(State { front, raw: raw.assume_init() });
            ptr::copy(strm, dest, 1);
            (*dest).state = place.cast::<internal_state>();
        }
        Z_OK
    }

    /// inflateReset2, without the reset. `false`: refused.
    pub(super) fn reshape(&mut self, window_bits: c_int) -> bool {
        let Some((wrap, window_bits)) = shape(window_bits) else { return false };
        self.front.wrap = wrap;
        self.front.window_bits = window_bits;
        true
    }

    /// inflateReset, with the history gone.
    pub(super) fn reset(&mut self, strm: &mut z_stream) {
        self.raw.reset(decoder_window(self.front.window_bits));
        self.reset_keep(strm);
    }

    /// inflateResetKeep.
    pub(super) fn reset_keep(&mut self, strm: &mut z_stream) {
        self.raw.reset_keep();
        let front = &mut self.front;
        front.stage = Stage::Head;
        front.have_dictionary = false;
        front.flags = -1;
        front.total = 0;
        front.head = ptr::null_mut();
        self.clear_stream(strm);
    }

    fn clear_stream(&self, strm: &mut z_stream) {
        strm.total_in = 0;
        strm.total_out = 0;
        strm.msg = ptr::null_mut();
        strm.data_type = 0;
        if self.front.wrap != 0 {
            strm.adler = c_ulong::from(self.front.wrap & ZLIB);
        }
    }

    /// Before the first byte of history: the window's size is known now.
    pub(super) fn set_window(&mut self, window_bits: u8) {
        self.front.window_bits = window_bits;
        self.raw.set_window(window_bits);
    }
}

/// Where the header is to say it, 32 KB until it has.
fn decoder_window(window_bits: u8) -> u8 {
    if window_bits == 0 { 15 } else { window_bits }
}

/// Memory for a state, of either kind; `None` if there is none.
///
/// # Safety
/// The allocator keeps to zlib.h.
pub(super) unsafe fn allocate<S>(strm: &z_stream) -> Option<*mut S> {
    let zalloc = strm.zalloc?;
    // SAFETY: as the caller guarantees.
    let place = unsafe { zalloc(strm.opaque, 1, size_of::<S>() as c_uint) }.cast::<S>();
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

/// Gives it back.
///
/// # Safety
/// `place` came from `allocate` and holds nothing that must be dropped.
unsafe fn free(strm: &z_stream, place: *mut State) {
    if let Some(zfree) = strm.zfree {
        // SAFETY: as the caller guarantees.
        unsafe { zfree(strm.opaque, place.cast::<c_void>()) };
    }
}
