//! The rivals: direct calls of ISA-L, libdeflate and stock zlib, as their users make them.

use core::mem::MaybeUninit;

/// ISA-L's igzip, level 1, one stateless call per chunk.
#[cfg(target_arch = "x86_64")]
pub struct Igzip {
    stream: Box<MaybeUninit<isal_sys::igzip_lib::isal_zstream>>,
    level_buffer: Vec<u8>,
}

#[cfg(target_arch = "x86_64")]
impl Igzip {
    /// With the level buffer that its documentation recommends.
    pub fn new() -> Igzip {
        let size = isal_sys::igzip_lib::ISAL_DEF_LVL1_DEFAULT as usize;
        Igzip { stream: Box::new(MaybeUninit::zeroed()), level_buffer: vec![0; size] }
    }

    /// Raw DEFLATE. Returns the compressed size.
    pub fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> usize {
        use isal_sys::igzip_lib::{isal_deflate_stateless, isal_deflate_stateless_init};
        // SAFETY: init sets every field that it documents; the pointers and lengths are those of
        // live slices for the time of the call.
        unsafe {
            let s = self.stream.as_mut_ptr();
            isal_deflate_stateless_init(s);
            (*s).level = 1;
            (*s).level_buf = self.level_buffer.as_mut_ptr();
            (*s).level_buf_size = self.level_buffer.len() as u32;
            (*s).end_of_stream = 1;
            (*s).next_in = src.as_ptr().cast_mut();
            (*s).avail_in = src.len() as u32;
            (*s).next_out = dst.as_mut_ptr();
            (*s).avail_out = dst.len() as u32;
            assert_eq!(isal_deflate_stateless(s), 0);
            (*s).total_out as usize
        }
    }
}

/// Without ISA-L, libdeflate level 1 is what the device uses and is measured against.
#[cfg(not(target_arch = "x86_64"))]
pub struct Igzip(*mut libdeflate_sys::libdeflate_compressor);

#[cfg(not(target_arch = "x86_64"))]
impl Igzip {
    /// Level 1.
    pub fn new() -> Igzip {
        // SAFETY: plain allocation.
        Igzip(unsafe { libdeflate_sys::libdeflate_alloc_compressor(1) })
    }

    /// Raw DEFLATE. Returns the compressed size.
    pub fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> usize {
        // SAFETY: the pointers and lengths are those of live slices.
        unsafe {
            libdeflate_sys::libdeflate_deflate_compress(
                self.0,
                src.as_ptr().cast(),
                src.len(),
                dst.as_mut_ptr().cast(),
                dst.len(),
            )
        }
    }
}

/// libdeflate's decompressor of gzip members.
pub struct Libdeflate(*mut libdeflate_sys::libdeflate_decompressor);

impl Libdeflate {
    pub fn new() -> Libdeflate {
        // SAFETY: plain allocation.
        Libdeflate(unsafe { libdeflate_sys::libdeflate_alloc_decompressor() })
    }

    /// One member. Returns the uncompressed size.
    pub fn gunzip(&mut self, src: &[u8], dst: &mut [u8]) -> usize {
        let mut n = 0;
        // SAFETY: the pointers and lengths are those of live slices.
        let r = unsafe {
            libdeflate_sys::libdeflate_gzip_decompress(
                self.0,
                src.as_ptr().cast(),
                src.len(),
                dst.as_mut_ptr().cast(),
                dst.len(),
                &mut n,
            )
        };
        assert_eq!(r, libdeflate_sys::libdeflate_result_LIBDEFLATE_SUCCESS);
        n
    }
}

/// Stock zlib, raw, one `deflate(Z_FINISH)` per chunk with a reset between.
pub struct Zlib(Box<MaybeUninit<libz_sys::z_stream>>);

impl Zlib {
    pub fn new(level: i32) -> Zlib {
        let mut z = Box::new(MaybeUninit::<libz_sys::z_stream>::zeroed());
        // SAFETY: all-zero is the initial state that zlib asks for; version and size are its own.
        let r = unsafe {
            let version = libz_sys::zlibVersion();
            let size = size_of::<libz_sys::z_stream>() as i32;
            libz_sys::deflateInit2_(z.as_mut_ptr(), level, 8, -15, 8, 0, version, size)
        };
        assert_eq!(r, libz_sys::Z_OK);
        Zlib(z)
    }

    /// Returns the compressed size.
    pub fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> usize {
        let z = self.0.as_mut_ptr();
        // SAFETY: initialised in `new`; the pointers and lengths are those of live slices.
        unsafe {
            (*z).next_in = src.as_ptr().cast_mut();
            (*z).avail_in = src.len() as u32;
            (*z).next_out = dst.as_mut_ptr();
            (*z).avail_out = dst.len() as u32;
            assert_eq!(libz_sys::deflate(z, libz_sys::Z_FINISH), libz_sys::Z_STREAM_END);
            let n = (*z).total_out as usize;
            assert_eq!(libz_sys::deflateReset(z), libz_sys::Z_OK);
            n
        }
    }
}
