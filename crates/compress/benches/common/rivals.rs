//! Rivals that no kernel of ours is: zlib-ng, both ways, and ISA-L's decoder.
#![allow(dead_code)]

use std::mem::{self, MaybeUninit};

use libz_ng_sys as ng;

extern "C" fn alloc(_: *mut libc::c_void, items: u32, size: u32) -> *mut libc::c_void {
    // SAFETY: any sizes may be passed; zlib-ng checks for null.
    unsafe { libc::calloc(items as usize, size as usize) }
}

extern "C" fn free(_: *mut libc::c_void, memory: *mut libc::c_void) {
    // SAFETY: zlib-ng frees what `alloc` gave, once.
    unsafe { libc::free(memory) }
}

/// Raw streams by zlib-ng, with its zlib's interface.
pub struct ZlibNg {
    stream: Box<ng::z_stream>,
    compresses: bool,
}

impl ZlibNg {
    fn new(compresses: bool, init: impl FnOnce(&mut ng::z_stream) -> i32) -> ZlibNg {
        let mut stream = MaybeUninit::<ng::z_stream>::zeroed();
        let raw = stream.as_mut_ptr();
        // SAFETY: all zeros are a stream, but for its functions, which are no null.
        let mut stream = Box::new(unsafe {
            (&raw mut (*raw).zalloc).write(alloc);
            (&raw mut (*raw).zfree).write(free);
            stream.assume_init()
        });
        assert_eq!(init(&mut stream), ng::Z_OK);
        ZlibNg { stream, compresses }
    }

    pub fn compressor(level: i32) -> ZlibNg {
        ZlibNg::new(true, |stream| {
            // SAFETY: a fresh stream; the version and size are those of these bindings.
            unsafe {
                ng::deflateInit2_(
                    stream,
                    level,
                    ng::Z_DEFLATED,
                    -15,
                    8,
                    ng::Z_DEFAULT_STRATEGY,
                    ng::zlibVersion(),
                    mem::size_of::<ng::z_stream>() as i32,
                )
            }
        })
    }

    pub fn decompressor() -> ZlibNg {
        ZlibNg::new(false, |stream| {
            // SAFETY: as above.
            unsafe {
                let size = mem::size_of::<ng::z_stream>() as i32;
                ng::inflateInit2_(stream, -15, ng::zlibVersion(), size)
            }
        })
    }

    /// A whole stream, in one call. `None` if it does not fit.
    pub fn run(&mut self, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        let stream = &mut *self.stream;
        // SAFETY: an initialized stream, slices valid for their lengths.
        let result = unsafe {
            if self.compresses {
                ng::deflateReset(stream)
            } else {
                ng::inflateReset(stream)
            };
            stream.next_in = src.as_ptr().cast_mut();
            stream.avail_in = src.len() as u32;
            stream.next_out = dst.as_mut_ptr();
            stream.avail_out = dst.len() as u32;
            if self.compresses {
                ng::deflate(stream, ng::Z_FINISH)
            } else {
                ng::inflate(stream, ng::Z_FINISH)
            }
        };
        (result == ng::Z_STREAM_END).then(|| dst.len() - stream.avail_out as usize)
    }
}

impl Drop for ZlibNg {
    fn drop(&mut self) {
        // SAFETY: initialized in the constructor, ended once.
        unsafe {
            if self.compresses {
                ng::deflateEnd(&mut *self.stream);
            } else {
                ng::inflateEnd(&mut *self.stream);
            }
        }
    }
}

/// Raw streams decoded by ISA-L.
#[cfg(target_arch = "x86_64")]
pub struct Isal(Box<isal_sys::igzip_lib::inflate_state>);

#[cfg(target_arch = "x86_64")]
impl Isal {
    pub fn new() -> Isal {
        // SAFETY: all zeros are a value of this structure of numbers and pointers.
        Isal(Box::new(unsafe { mem::zeroed() }))
    }

    /// A whole stream, in one call. `None` if it does not fit.
    pub fn run(&mut self, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        use isal_sys::igzip_lib as isal;
        let state = &mut *self.0;
        // SAFETY: slices valid for their lengths; what is read through `next_in` is not written.
        let result = unsafe {
            isal::isal_inflate_init(state);
            state.next_in = src.as_ptr().cast_mut();
            state.avail_in = src.len() as u32;
            state.next_out = dst.as_mut_ptr();
            state.avail_out = dst.len() as u32;
            isal::isal_inflate_stateless(state)
        };
        (result == 0).then_some(state.total_out as usize)
    }
}
