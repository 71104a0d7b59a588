//! Stock zlib as the oracle, and as the rival in the bench.
#![allow(dead_code)]

use std::ffi::CStr;
use std::mem::{self, MaybeUninit};

use libz_sys as z;

fn stream() -> z::z_stream {
    // SAFETY: zlib takes an all-zero stream as "use your own allocator"; its function pointers,
    // which are not nullable in Rust, are never called from here.
    unsafe {
        let mut stream = MaybeUninit::<z::z_stream>::zeroed();
        let raw = stream.as_mut_ptr();
        (&raw mut (*raw).zalloc).write(alloc);
        (&raw mut (*raw).zfree).write(free);
        stream.assume_init()
    }
}

extern "C" fn alloc(_: *mut libc::c_void, items: u32, size: u32) -> *mut libc::c_void {
    // SAFETY: any sizes may be passed; zlib checks for null.
    unsafe { libc::calloc(items as usize, size as usize) }
}

extern "C" fn free(_: *mut libc::c_void, memory: *mut libc::c_void) {
    // SAFETY: zlib frees what `alloc` gave, once.
    unsafe { libc::free(memory) }
}

pub fn version() -> &'static str {
    // SAFETY: a constant string.
    unsafe { CStr::from_ptr(z::zlibVersion()) }.to_str().expect("ASCII")
}

/// One deflate stream. `window_bits` as zlib has it: negative is raw, plus 16 is gzip.
pub struct Compressor(Box<z::z_stream>);

impl Compressor {
    pub fn new(level: i32, window_bits: i32) -> Compressor {
        Compressor::with_strategy(level, window_bits, z::Z_DEFAULT_STRATEGY)
    }

    pub fn with_strategy(level: i32, window_bits: i32, strategy: i32) -> Compressor {
        let mut stream = Box::new(stream());
        // SAFETY: a fresh stream; the version and size are those of these bindings.
        let result = unsafe {
            z::deflateInit2_(
                &mut *stream,
                level,
                z::Z_DEFLATED,
                window_bits,
                8,
                strategy,
                z::zlibVersion(),
                mem::size_of::<z::z_stream>() as i32,
            )
        };
        assert_eq!(result, z::Z_OK);
        Compressor(stream)
    }

    pub fn set_dictionary(&mut self, dictionary: &[u8]) {
        // SAFETY: an initialized stream and a valid slice.
        let result = unsafe {
            z::deflateSetDictionary(&mut *self.0, dictionary.as_ptr(), dictionary.len() as u32)
        };
        assert_eq!(result, z::Z_OK);
    }

    /// A whole stream, if it fits.
    pub fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        // SAFETY: an initialized stream.
        unsafe { z::deflateReset(&mut *self.0) };
        self.finish(src, dst)
    }

    /// The same without the reset before (which would drop a dictionary).
    pub fn finish(&mut self, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        self.0.next_in = src.as_ptr().cast_mut();
        self.0.avail_in = src.len() as u32;
        self.0.next_out = dst.as_mut_ptr();
        self.0.avail_out = dst.len() as u32;
        // SAFETY: an initialized stream, slices valid for their lengths.
        let result = unsafe { z::deflate(&mut *self.0, z::Z_FINISH) };
        (result == z::Z_STREAM_END).then(|| dst.len() - self.0.avail_out as usize)
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: initialized in the constructor, ended once.
        unsafe { z::deflateEnd(&mut *self.0) };
    }
}

/// One inflate stream.
pub struct Decompressor(Box<z::z_stream>);

impl Decompressor {
    pub fn new(window_bits: i32) -> Decompressor {
        let mut stream = Box::new(stream());
        // SAFETY: a fresh stream; the version and size are those of these bindings.
        let result = unsafe {
            z::inflateInit2_(
                &mut *stream,
                window_bits,
                z::zlibVersion(),
                mem::size_of::<z::z_stream>() as i32,
            )
        };
        assert_eq!(result, z::Z_OK);
        Decompressor(stream)
    }

    /// For raw streams, before the first byte.
    pub fn set_dictionary(&mut self, dictionary: &[u8]) {
        // SAFETY: an initialized stream and a valid slice.
        let result = unsafe {
            z::inflateSetDictionary(&mut *self.0, dictionary.as_ptr(), dictionary.len() as u32)
        };
        assert_eq!(result, z::Z_OK);
    }

    pub fn reset(&mut self) {
        // SAFETY: an initialized stream.
        unsafe { z::inflateReset(&mut *self.0) };
    }

    /// A whole stream: its length, or zlib's error code.
    pub fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, i32> {
        // SAFETY: an initialized stream.
        unsafe { z::inflateReset(&mut *self.0) };
        let (code, _, produced) = self.step(src, dst);
        if code == z::Z_STREAM_END { Ok(produced) } else { Err(code) }
    }

    /// One call: zlib's code, consumed, produced.
    pub fn step(&mut self, src: &[u8], dst: &mut [u8]) -> (i32, usize, usize) {
        self.0.next_in = src.as_ptr().cast_mut();
        self.0.avail_in = src.len() as u32;
        self.0.next_out = dst.as_mut_ptr();
        self.0.avail_out = dst.len() as u32;
        // SAFETY: an initialized stream, slices valid for their lengths.
        let code = unsafe { z::inflate(&mut *self.0, z::Z_NO_FLUSH) };
        (code, src.len() - self.0.avail_in as usize, dst.len() - self.0.avail_out as usize)
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: initialized in the constructor, ended once.
        unsafe { z::inflateEnd(&mut *self.0) };
    }
}

/// Decodes a whole stream of known length, all of `src`.
pub fn decompress(window_bits: i32, src: &[u8], len: usize) -> Result<Vec<u8>, i32> {
    let mut out = vec![0; len + 1];
    let mut stream = Decompressor::new(window_bits);
    let (code, consumed, produced) = stream.step(src, &mut out);
    if code != z::Z_STREAM_END {
        return Err(code);
    }
    assert_eq!(consumed, src.len(), "the oracle stopped early");
    out.truncate(produced);
    Ok(out)
}
