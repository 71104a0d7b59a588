//! liblz4's and libzstd's calls as safe functions.
#![allow(unsafe_code)]

use core::ffi::c_int;
use std::ptr::NonNull;

use lz4_sys as lz4;
use zstd_sys as zstd;

/// Where `slice` begins. An empty one may lie at address 1, below which liblz4 looks.
fn source<T>(slice: &[u8]) -> *const T {
    static NOTHING: [u8; 64] = [0; 64];
    let slice = if slice.is_empty() { &NOTHING[32..32] } else { slice };
    slice.as_ptr().cast()
}

/// One LZ4 block; `None`: it does not fit.
pub(super) fn lz4_compress(level: u8, src: &[u8], dst: &mut [u8]) -> Option<usize> {
    let len = c_int::try_from(src.len()).ok()?;
    let room = c_int::try_from(dst.len()).unwrap_or(c_int::MAX);
    let (from, to) = (source(src), dst.as_mut_ptr().cast());
    // SAFETY: both slices are valid for their lengths and, one being `&mut`, disjoint.
    let produced = unsafe {
        match level {
            0 | 1 => lz4::LZ4_compress_default(from, to, len, room),
            _ => lz4::LZ4_compress_HC(from, to, len, room, level.into()),
        }
    };
    usize::try_from(produced).ok().filter(|&produced| produced > 0)
}

/// The content of one LZ4 block; `None`: it is damaged or does not fit.
pub(super) fn lz4_decompress(src: &[u8], dst: &mut [u8]) -> Option<usize> {
    let len = c_int::try_from(src.len()).ok()?;
    let room = c_int::try_from(dst.len()).unwrap_or(c_int::MAX);
    // SAFETY: as above; the library checks every length and distance.
    let produced =
        unsafe { lz4::LZ4_decompress_safe(source(src), dst.as_mut_ptr().cast(), len, room) };
    usize::try_from(produced).ok()
}

fn good(result: usize) -> Option<usize> {
    // SAFETY: a number in, a number out.
    (unsafe { zstd::ZSTD_isError(result) } == 0).then_some(result)
}

/// Makes frames with content size and checksum.
pub(super) struct ZstdCompressor(NonNull<zstd::ZSTD_CCtx>);

impl ZstdCompressor {
    pub(super) fn new(level: u8) -> Option<ZstdCompressor> {
        // SAFETY: null or a context that is ours.
        let context = ZstdCompressor(NonNull::new(unsafe { zstd::ZSTD_createCCtx() })?);
        let parameters = [
            (zstd::ZSTD_cParameter::ZSTD_c_compressionLevel, level.into()),
            (zstd::ZSTD_cParameter::ZSTD_c_checksumFlag, 1),
        ];
        for (parameter, value) in parameters {
            // SAFETY: the context is alive; the library checks the value.
            good(unsafe { zstd::ZSTD_CCtx_setParameter(context.0.as_ptr(), parameter, value) })?;
        }
        Some(context)
    }

    /// `None`: it does not fit.
    pub(super) fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        let (from, to) = (source(src), dst.as_mut_ptr().cast());
        // SAFETY: the context is alive and borrowed exclusively; both slices are valid for their lengths
        // and, one being `&mut`, disjoint.
        good(unsafe { zstd::ZSTD_compress2(self.0.as_ptr(), to, dst.len(), from, src.len()) })
    }
}

impl Drop for ZstdCompressor {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed once.
        unsafe { zstd::ZSTD_freeCCtx(self.0.as_ptr()) };
    }
}

/// Reads frames.
pub(super) struct ZstdDecompressor(NonNull<zstd::ZSTD_DCtx>);

impl ZstdDecompressor {
    pub(super) fn new() -> Option<ZstdDecompressor> {
        // SAFETY: null or a context that is ours.
        NonNull::new(unsafe { zstd::ZSTD_createDCtx() }).map(ZstdDecompressor)
    }

    /// `None`: damaged, or it does not fit.
    pub(super) fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        let (from, to) = (source(src), dst.as_mut_ptr().cast());
        // SAFETY: as above.
        good(unsafe { zstd::ZSTD_decompressDCtx(self.0.as_ptr(), to, dst.len(), from, src.len()) })
    }
}

impl Drop for ZstdDecompressor {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed once.
        unsafe { zstd::ZSTD_freeDCtx(self.0.as_ptr()) };
    }
}
