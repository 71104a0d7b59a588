//! A raw stream by zlib-rs, through its C interface: what has every one of zlib's ways.

use std::ffi::{c_int, c_uint};

use libz_rs_sys::{self as rs, Z_DEFLATED, Z_OK, z_stream};

use crate::pool::Pool;

/// What a stream is made for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// zlib-rs's own.
    pub(crate) level: u8,
    pub(crate) window_bits: u8,
    pub(crate) mem_level: u8,
    pub(crate) strategy: c_int,
}

pub(crate) struct Inner {
    stream: z_stream,
    shape: Shape,
    /// The parameters of its search are not those of its level.
    tuned: bool,
}

// SAFETY: the stream's pointers lead to memory of its own (and, during `step` alone, to slices);
// nothing in it belongs to a thread.
unsafe impl Send for Inner {}

static SPARE: Pool<Inner> = Pool::new();

/// What one step did.
pub(crate) struct Step {
    pub(crate) consumed: usize,
    pub(crate) produced: usize,
    pub(crate) code: c_int,
}

impl Inner {
    /// A fresh stream; `None` if there is no memory for it.
    pub(crate) fn new(shape: Shape) -> Option<Box<Inner>> {
        if let Some(mut inner) = SPARE.take()
            && (inner.shape.window_bits, inner.shape.mem_level)
                == (shape.window_bits, shape.mem_level)
            && inner.restart(shape)
        {
            return Some(inner);
        }
        let mut inner = Box::new(Inner { stream: z_stream::default(), shape, tuned: false });
        // SAFETY: a z_stream of ours, as this library lays it out; the version is its own.
        let code = unsafe {
            rs::deflateInit2_(
                &mut inner.stream,
                shape.level.into(),
                Z_DEFLATED,
                -c_int::from(shape.window_bits),
                shape.mem_level.into(),
                shape.strategy,
                rs::zlibVersion(),
                size_of::<z_stream>() as c_int,
            )
        };
        (code == Z_OK).then_some(inner)
    }

    fn restart(&mut self, shape: Shape) -> bool {
        if self.tuned {
            return false;
        }
        self.shape = shape;
        let level = shape.level.into();
        // SAFETY: an initialised stream; at its start new parameters flush nothing.
        unsafe {
            rs::deflateReset(&mut self.stream) == Z_OK
                && rs::deflateParams(&mut self.stream, level, shape.strategy) == Z_OK
        }
    }

    /// Keeps it for the next stream.
    ///
    /// Not with output that waits: deflateReset of zlib-rs 0.6.8 forgets the output, but not how far
    /// it had been taken, and then has too little room for a stored block (it panics).
    pub(crate) fn retire(mut self: Box<Inner>) {
        if self.pending().0 == 0 {
            SPARE.put(self);
        }
    }

    pub(crate) fn step(&mut self, src: &[u8], dst: &mut [u8], flush: c_int) -> Step {
        let room = dst.len().min(c_uint::MAX as usize);
        let given = src.len().min(c_uint::MAX as usize);
        self.stream.next_in = src.as_ptr();
        self.stream.avail_in = given as c_uint;
        self.stream.next_out = dst.as_mut_ptr();
        self.stream.avail_out = room as c_uint;
        // SAFETY: an initialised stream, between two slices that are valid for their lengths.
        let code = unsafe { rs::deflate(&mut self.stream, flush) };
        Step {
            consumed: given - self.stream.avail_in as usize,
            produced: room - self.stream.avail_out as usize,
            code,
        }
    }

    /// Has the next flush done even if the last call was one: something came in between.
    pub(crate) fn forget_flush(&mut self) {
        if self.pending().0 == 0 {
            // Nothing to do, and room: it remembers that there was no flush.
            self.step(&[], &mut [0; 1], libz_rs_sys::Z_NO_FLUSH);
        }
    }

    /// Bytes and bits that wait inside.
    pub(crate) fn pending(&mut self) -> (usize, c_int) {
        let (mut bytes, mut bits) = (0, 0);
        // SAFETY: an initialised stream, two places to write to.
        unsafe { rs::deflatePending(&mut self.stream, &mut bytes, &mut bits) };
        (bytes as usize, bits)
    }

    /// After a completed flush: other parameters. There is nothing left to flush for it.
    pub(crate) fn params(&mut self, level: u8, strategy: c_int) -> c_int {
        let mut nowhere = [0; 64];
        self.stream.avail_in = 0;
        self.stream.next_out = nowhere.as_mut_ptr();
        self.stream.avail_out = 0;
        self.shape.level = level;
        self.shape.strategy = strategy;
        // SAFETY: an initialised stream without input and without room.
        let code = unsafe { rs::deflateParams(&mut self.stream, level.into(), strategy) };
        self.stream.next_out = std::ptr::null_mut();
        code
    }

    pub(crate) fn tune(&mut self, tuning: [c_int; 4]) -> c_int {
        let [good_length, max_lazy, nice_length, max_chain] = tuning;
        self.tuned = true;
        // SAFETY: an initialised stream.
        unsafe { rs::deflateTune(&mut self.stream, good_length, max_lazy, nice_length, max_chain) }
    }

    pub(crate) fn prime(&mut self, bits: c_int, value: c_int) -> c_int {
        // SAFETY: an initialised stream.
        unsafe { rs::deflatePrime(&mut self.stream, bits, value) }
    }

    pub(crate) fn set_dictionary(&mut self, dictionary: &[u8]) -> c_int {
        // SAFETY: an initialised stream and a slice, of which 32 KB count.
        unsafe {
            rs::deflateSetDictionary(
                &mut self.stream,
                dictionary.as_ptr(),
                dictionary.len().min(c_uint::MAX as usize) as c_uint,
            )
        }
    }

    /// What a match may reach back to, written to `dst`, 32 KB. Returns its length.
    pub(crate) fn dictionary(&self, dst: &mut [u8; 32 << 10]) -> usize {
        let mut len = 0;
        // SAFETY: an initialised stream, and room for the largest window.
        unsafe { rs::deflateGetDictionary(&self.stream, dst.as_mut_ptr(), &mut len) };
        len as usize
    }

    pub(crate) fn data_type(&self) -> c_int {
        self.stream.data_type
    }

    /// A copy; `None` if there is no memory for it.
    pub(crate) fn copy(&mut self) -> Option<Box<Inner>> {
        let (shape, tuned) = (self.shape, self.tuned);
        let mut copy = Box::new(Inner { stream: z_stream::default(), shape, tuned });
        // SAFETY: an initialised stream, and a z_stream to write over.
        let code = unsafe { rs::deflateCopy(&mut copy.stream, &mut self.stream) };
        if code != Z_OK {
            // What was copied of it is the other one's.
            copy.stream = z_stream::default();
            return None;
        }
        Some(copy)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: initialised once, or without a state, which is refused.
        unsafe { rs::deflateEnd(&mut self.stream) };
    }
}
