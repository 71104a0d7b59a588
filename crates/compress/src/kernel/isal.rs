//! igzip of ISA-L: one-shot and streaming DEFLATE of levels 1..=3, and static codes (its level 0).
//!
//! Computes: raw DEFLATE (RFC 1951), window of 2^9..=2^15 bytes. Shapes: any lengths, no
//! alignment, at most [`MAX_LEN`] bytes in one call; the level buffer is aligned to a cache line.
//! Preconditions: level 0..=3. CPU features: chosen inside the library at run time (SSE4.1, AVX2,
//! AVX-512); used from tier AVX2 on. x86-64 only here. Source: ISA-L 2.31 as vendored by
//! isal-sys, BSD-3-Clause.
//! Covered by the tests `roundtrip`, `streams`, `limits`; bench `levels`.
#![allow(unsafe_code)]

use std::ptr;

use isal_sys::igzip_lib as sys;

use super::place::Place;
use super::{Flush, Step};

/// The most that one call takes: the library counts in 32 bits, with sums inside.
pub(crate) const MAX_LEN: usize = 1 << 30;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "memory for the library")] [u8; 64]);

/// The library's state (82 KB) and its level buffer (hash tables and the tokens of one block).
struct State {
    stream: Place,
    level_buf: Vec<Line>,
}

// SAFETY: the pointers inside lead into the two allocations (which move along), to constants of
// the library, or are null between calls; nothing is tied to a thread.
unsafe impl Send for State {}

impl State {
    fn new() -> State {
        State { stream: Place::new(), level_buf: Vec::new() }
    }

    /// After the library's init, which forgets these.
    fn set(&mut self, level: u8, fixed: bool, window_bits: u8) {
        // The space for tokens decides where blocks end: after 16,384 of them, as zlib's do. The
        // library's default, four times as many, is no faster and adapts later to what changes:
        // Canterbury as one text at level 1: 31.03 % of its size, with this 30.30 % (zlib 30.86 %).
        let size = match level {
            0 => sys::ISAL_DEF_LVL0_DEFAULT,
            1 => sys::ISAL_DEF_LVL1_SMALL,
            2 => sys::ISAL_DEF_LVL2_SMALL,
            _ => sys::ISAL_DEF_LVL3_SMALL,
        };
        let lines = (size as usize).div_ceil(size_of::<Line>());
        if self.level_buf.len() < lines {
            self.level_buf.resize(lines, Line([0; 64]));
        }
        self.stream.level = u32::from(level.min(3));
        self.stream.level_buf = self.level_buf.as_mut_ptr().cast();
        self.stream.level_buf_size = size;
        self.stream.hist_bits = u16::from(window_bits);
        let tables = if fixed { sys::IGZIP_HUFFTABLE_STATIC } else { sys::IGZIP_HUFFTABLE_DEFAULT };
        // SAFETY: an initialized stream at its start; these table types take no table from us.
        unsafe {
            sys::isal_deflate_set_hufftables(
                &mut *self.stream,
                ptr::null_mut(),
                tables.cast_signed(),
            )
        };
    }

    fn attach(&mut self, src: &[u8], dst: &mut [u8]) {
        // The library reads through `next_in` only; the C type is just not const.
        self.stream.next_in = src.as_ptr().cast_mut();
        self.stream.avail_in = src.len() as u32;
        self.stream.next_out = dst.as_mut_ptr();
        self.stream.avail_out = dst.len() as u32;
    }

    /// What is left of `src` and `dst`.
    fn detach(&mut self) -> (usize, usize) {
        self.stream.next_in = ptr::null_mut();
        self.stream.next_out = ptr::null_mut();
        (self.stream.avail_in as usize, self.stream.avail_out as usize)
    }
}

/// The memory for one-shot compression at any level. Reused, it allocates nothing.
pub(crate) struct OneShot(State);

impl OneShot {
    /// Allocates 82 KB, and the level buffer (86 to 152 KB) at its first use.
    pub(crate) fn new() -> OneShot {
        OneShot(State::new())
    }

    /// Compresses `src` into `dst`. `None` if it does not fit (the library wants up to 8 bytes
    /// more than it uses), or `src` is longer than [`MAX_LEN`].
    pub(crate) fn compress(
        &mut self,
        level: u8,
        fixed: bool,
        window_bits: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Option<usize> {
        self.run(level, fixed, window_bits, src, dst, true)
    }

    /// The same with the dynamic codes, no final block, and up to a byte boundary: a piece of a
    /// stream. `src` must not be empty.
    pub(crate) fn compress_piece(
        &mut self,
        level: u8,
        window_bits: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Option<usize> {
        self.run(level, false, window_bits, src, dst, false)
    }

    fn run(
        &mut self,
        level: u8,
        fixed: bool,
        window_bits: u8,
        src: &[u8],
        dst: &mut [u8],
        last: bool,
    ) -> Option<usize> {
        if src.len() > MAX_LEN {
            return None;
        }
        if fixed
            && matches!(
                src.first_chunk(),
                Some([0, 0, 0, 0, 0, 0, 0, 0] | [255, 255, 255, 255, 255, 255, 255, 255])
            )
        {
            // The one-shot call has a ready-made dynamic block for runs of these two.
            return self.compress_fixed(window_bits, src, dst);
        }
        let room = dst.len().min(2 * MAX_LEN);
        let dst = &mut dst[..room];
        // SAFETY: the stream is ours; this only writes its fields.
        unsafe { sys::isal_deflate_stateless_init(&mut *self.0.stream) };
        self.0.set(level, fixed, window_bits);
        self.0.stream.end_of_stream = last.into();
        self.0.stream.flush = if last { sys::NO_FLUSH } else { sys::FULL_FLUSH } as u16;
        self.0.attach(src, dst);
        // SAFETY: the stream is initialized; `attach` gave it both slices, valid for their
        // lengths (which fit in 32 bits) and disjoint; the level buffer has the size it claims.
        let result = unsafe { sys::isal_deflate_stateless(&mut *self.0.stream) };
        let (left_in, left_out) = self.0.detach();
        (result == sys::COMP_OK.cast_signed() && left_in == 0).then(|| dst.len() - left_out)
    }
}

impl OneShot {
    /// The same by the streaming call, which keeps to the static codes whatever comes.
    fn compress_fixed(&mut self, window_bits: u8, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        let room = dst.len().min(MAX_LEN);
        let dst = &mut dst[..room];
        // SAFETY: the stream is ours; this only writes its fields.
        unsafe { sys::isal_deflate_init(&mut *self.0.stream) };
        self.0.set(0, true, window_bits);
        self.0.stream.end_of_stream = 1;
        self.0.attach(src, dst);
        // SAFETY: as in `compress`.
        let result = unsafe { sys::isal_deflate(&mut *self.0.stream) };
        let (left_in, left_out) = self.0.detach();
        let ended = self.0.stream.internal_state.state == sys::isal_zstate_state_ZSTATE_END;
        (result == sys::COMP_OK.cast_signed() && left_in == 0 && ended)
            .then(|| dst.len() - left_out)
    }
}

/// One raw compression stream.
pub(crate) struct Stream {
    state: State,
    level: u8,
    fixed: bool,
    window_bits: u8,
}

impl Stream {
    /// Allocates 170 to 240 KB.
    pub(crate) fn new(level: u8, fixed: bool, window_bits: u8) -> Stream {
        let state = State::new();
        let mut stream = Stream { state, level, fixed, window_bits };
        stream.reset();
        stream
    }

    /// Back to the start of a stream. Keeps the memory.
    pub(crate) fn reset(&mut self) {
        // SAFETY: the stream is ours; this only writes its fields.
        unsafe { sys::isal_deflate_init(&mut *self.state.stream) };
        self.state.set(self.level, self.fixed, self.window_bits);
    }

    /// Presets the history. At the start of a stream only.
    pub(crate) fn set_dictionary(&mut self, dictionary: &[u8]) -> bool {
        // Only the last 32 KB count; this also keeps the length within 32 bits.
        let tail = &dictionary[dictionary.len().saturating_sub(sys::IGZIP_HIST_SIZE as usize)..];
        // SAFETY: the stream is initialized; the library copies the dictionary out of the slice.
        let result = unsafe {
            sys::isal_deflate_set_dict(
                &mut *self.state.stream,
                tail.as_ptr().cast_mut(),
                tail.len() as u32,
            )
        };
        result == sys::COMP_OK.cast_signed()
    }

    /// Takes from `src`, writes to `dst`. `done` when `src` is consumed and what `flush` asks for
    /// is out; otherwise `dst` is full, or `src` is longer than [`MAX_LEN`].
    ///
    /// A flush whose marker `dst` cuts ends with a second marker in the next step: five bytes
    /// that mean nothing. Never a third, as long as `dst` has room for two.
    pub(crate) fn step(&mut self, src: &[u8], dst: &mut [u8], flush: Flush) -> Option<Step> {
        let piece = &src[..src.len().min(MAX_LEN)];
        let flush = if piece.len() == src.len() { flush } else { Flush::None };
        let room = dst.len().min(MAX_LEN);
        let dst = &mut dst[..room];
        let stream = &mut *self.state.stream;
        stream.end_of_stream = u16::from(flush == Flush::Finish);
        stream.flush = match flush {
            Flush::None | Flush::Finish => sys::NO_FLUSH,
            Flush::Sync => sys::SYNC_FLUSH,
            Flush::Full => sys::FULL_FLUSH,
        } as u16;
        self.state.attach(piece, dst);
        // SAFETY: the stream is initialized; `attach` gave it both slices, valid for their
        // lengths (which fit in 32 bits) and disjoint; the level buffer has the size it claims.
        let result = unsafe { sys::isal_deflate(&mut *self.state.stream) };
        let (left_in, left_out) = self.state.detach();
        if result != sys::COMP_OK.cast_signed() {
            return None;
        }
        let inner = &self.state.stream.internal_state;
        let done = match flush {
            Flush::None => left_in == 0,
            // The library's own sign that a flush is out; and that it kept no input back.
            Flush::Sync | Flush::Full => {
                left_in == 0
                    && inner.state == sys::isal_zstate_state_ZSTATE_NEW_HDR
                    && inner.b_bytes_valid == inner.b_bytes_processed
            }
            Flush::Finish => inner.state == sys::isal_zstate_state_ZSTATE_END,
        };
        let consumed = piece.len() - left_in;
        Some(Step { consumed, produced: dst.len() - left_out, done: done && consumed == src.len() })
    }
}
