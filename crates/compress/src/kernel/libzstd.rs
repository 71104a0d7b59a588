//! libzstd: Zstandard frames of levels 1..=22, and their decoder; whole buffers and streams.
//!
//! Computes: RFC 8878. Shapes: any lengths, no alignment, `src` and `dst` disjoint. Preconditions: none. CPU
//! features: chosen inside the library at run time (BMI2); it does not know `LOOKASIDE_CPU`. Source:
//! libzstd 1.5.7, BSD-3-Clause, built by zstd-sys. Covered by the tests `zstd`, `formats`; bench `formats`.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use lookaside_spec::{BadReason, dc::Flush};
use zstd_sys as sys;

use super::{Step, source};

/// What the library refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    DstTooSmall,
    Bad(BadReason),
    /// Of a stream: nothing was given and nothing waits, again and again.
    Idle,
    /// Of a stream: there was no room, again and again.
    Full,
    /// Memory, or a defect.
    Failed,
}

/// The library's answer: a number, or why not.
fn answer(result: usize) -> Result<usize, Refusal> {
    use sys::ZSTD_ErrorCode as E;
    // SAFETY: a number in, a number out.
    let (is_error, code) =
        unsafe { (sys::ZSTD_isError(result) != 0, sys::ZSTD_getErrorCode(result)) };
    if !is_error {
        return Ok(result);
    }
    Err(match code {
        E::ZSTD_error_dstSize_tooSmall => Refusal::DstTooSmall,
        E::ZSTD_error_noForwardProgress_destFull => Refusal::Full,
        E::ZSTD_error_noForwardProgress_inputEmpty => Refusal::Idle,
        E::ZSTD_error_srcSize_wrong => Refusal::Bad(BadReason::Truncated),
        E::ZSTD_error_prefix_unknown
        | E::ZSTD_error_version_unsupported
        | E::ZSTD_error_frameParameter_unsupported => Refusal::Bad(BadReason::Header),
        E::ZSTD_error_frameParameter_windowTooLarge => Refusal::Bad(BadReason::Window),
        E::ZSTD_error_checksum_wrong => Refusal::Bad(BadReason::Checksum),
        E::ZSTD_error_dictionary_wrong | E::ZSTD_error_dictionary_corrupted => {
            Refusal::Bad(BadReason::Dictionary)
        }
        E::ZSTD_error_memory_allocation => Refusal::Failed,
        // The entropy decoders' own: tables that are too large, symbols that are not there.
        _ => Refusal::Bad(BadReason::Block),
    })
}

/// Of what is whole: the source of a decoder that has all of the frame is not truncated but damaged.
fn within(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Bad(BadReason::Truncated) => Refusal::Bad(BadReason::Block),
        other => other,
    }
}

/// A compressor: 1 to 10 MB at levels up to 9 for sources above 256 KB, less for small ones, and hundreds of MB
/// from 20 on.
pub(crate) struct Compressor {
    context: NonNull<sys::ZSTD_CCtx>,
    level: u8,
}

// SAFETY: the library's state belongs to no thread; `&mut self` keeps it to one at a time.
unsafe impl Send for Compressor {}

impl Compressor {
    /// Allocates a little; the rest comes with the first use. `None`: there is no memory.
    pub(crate) fn new(level: u8) -> Option<Compressor> {
        // SAFETY: null or a context that is ours.
        let context = NonNull::new(unsafe { sys::ZSTD_createCCtx() })?;
        let mut compressor = Compressor { context, level: 0 };
        // SAFETY: the context is alive and borrowed exclusively; 1 is in the parameter's bounds.
        let set = unsafe {
            let checksum = sys::ZSTD_cParameter::ZSTD_c_checksumFlag;
            sys::ZSTD_CCtx_setParameter(compressor.context.as_ptr(), checksum, 1)
        };
        answer(set).ok()?;
        compressor.set_level(level)?;
        Some(compressor)
    }

    /// Before a frame.
    pub(crate) fn set_level(&mut self, level: u8) -> Option<()> {
        if self.level != level {
            // SAFETY: the context is alive and borrowed exclusively; the library checks the value.
            let set = unsafe {
                let parameter = sys::ZSTD_cParameter::ZSTD_c_compressionLevel;
                sys::ZSTD_CCtx_setParameter(self.context.as_ptr(), parameter, level.into())
            };
            answer(set).ok()?;
            self.level = level;
        }
        Some(())
    }

    /// One whole frame, with its content size and checksum.
    pub(crate) fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, Refusal> {
        // SAFETY: the context is alive and borrowed exclusively; both slices are valid for their lengths
        // and, one being `&mut`, disjoint.
        let result = unsafe {
            sys::ZSTD_compress2(
                self.context.as_ptr(),
                dst.as_mut_ptr().cast(),
                dst.len(),
                source(src),
                src.len(),
            )
        };
        answer(result).inspect_err(|_| self.reset())
    }

    /// Bytes that it takes.
    pub(crate) fn memory(&self) -> usize {
        // SAFETY: the context is alive.
        unsafe { sys::ZSTD_sizeof_CCtx(self.context.as_ptr()) }
    }

    /// Forgets an unfinished frame; level and dictionary stay.
    pub(crate) fn reset(&mut self) {
        // SAFETY: the context is alive and borrowed exclusively. Between frames this cannot fail.
        unsafe {
            let session = sys::ZSTD_ResetDirective::ZSTD_reset_session_only;
            sys::ZSTD_CCtx_reset(self.context.as_ptr(), session);
        }
    }

    /// The dictionary of all frames to come: a trained one, or any bytes. Nothing: none. Between frames.
    pub(crate) fn set_dictionary(&mut self, dictionary: &[u8]) -> Option<()> {
        // SAFETY: the context is alive and borrowed exclusively; the slice is valid for its length, and copied.
        let set = unsafe {
            let bytes = source(dictionary);
            sys::ZSTD_CCtx_loadDictionary(self.context.as_ptr(), bytes, dictionary.len())
        };
        answer(set).ok()?;
        // The library looks at it when a frame begins.
        self.compress(&[], &mut [0; 64]).ok().map(|_| ())
    }

    /// A step of a stream. `done`: what `flush` asks for is written.
    pub(crate) fn step(
        &mut self,
        src: &[u8],
        dst: &mut [u8],
        flush: Flush,
    ) -> Result<Step, Refusal> {
        let end = match flush {
            Flush::None => sys::ZSTD_EndDirective::ZSTD_e_continue,
            Flush::Sync | Flush::Full => sys::ZSTD_EndDirective::ZSTD_e_flush,
            Flush::Finish => sys::ZSTD_EndDirective::ZSTD_e_end,
        };
        let (mut input, mut output) = (input(src), output(dst));
        // SAFETY: the context is alive and borrowed exclusively; the buffers describe slices that are valid for
        // their lengths and, one being `&mut`, disjoint.
        let result = unsafe {
            sys::ZSTD_compressStream2(self.context.as_ptr(), &mut output, &mut input, end)
        };
        let left = answer(result)?;
        let done = match flush {
            // The library holds back what it has not made blocks of.
            Flush::None => input.pos == src.len(),
            _ => left == 0,
        };
        Ok(Step { consumed: input.pos, produced: output.pos, done })
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed once.
        unsafe { sys::ZSTD_freeCCtx(self.context.as_ptr()) };
    }
}

/// A decompressor: 160 KB; streams take their window too, 128 MiB at most.
pub(crate) struct Decompressor(NonNull<sys::ZSTD_DCtx>);

// SAFETY: the library's state belongs to no thread; `&mut self` keeps it to one at a time.
unsafe impl Send for Decompressor {}

impl Decompressor {
    /// Allocates. `None`: there is no memory.
    pub(crate) fn new() -> Option<Decompressor> {
        // SAFETY: null or a context that is ours.
        NonNull::new(unsafe { sys::ZSTD_createDCtx() }).map(Decompressor)
    }

    /// Decodes `frame`, which is one whole frame.
    pub(crate) fn decompress(&mut self, frame: &[u8], dst: &mut [u8]) -> Result<usize, Refusal> {
        // SAFETY: the context is alive and borrowed exclusively; both slices are valid for their lengths
        // and, one being `&mut`, disjoint.
        let result = unsafe {
            sys::ZSTD_decompressDCtx(
                self.0.as_ptr(),
                dst.as_mut_ptr().cast(),
                dst.len(),
                source(frame),
                frame.len(),
            )
        };
        answer(result).map_err(within)
    }

    /// Forgets an unfinished frame; the dictionary stays.
    pub(crate) fn reset(&mut self) {
        // SAFETY: the context is alive and borrowed exclusively. This cannot fail.
        unsafe {
            let session = sys::ZSTD_ResetDirective::ZSTD_reset_session_only;
            sys::ZSTD_DCtx_reset(self.0.as_ptr(), session);
        }
    }

    /// The dictionary of all frames to come. Between frames.
    pub(crate) fn set_dictionary(&mut self, dictionary: &[u8]) -> Option<()> {
        // SAFETY: the context is alive and borrowed exclusively; the slice is valid for its length, and copied.
        let set = unsafe {
            let bytes = source(dictionary);
            sys::ZSTD_DCtx_loadDictionary(self.0.as_ptr(), bytes, dictionary.len())
        };
        answer(set).ok().map(|_| ())
    }

    /// A step of a stream. `done`: the frame has ended, and all of it is written.
    pub(crate) fn step(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Step, Refusal> {
        let (mut input, mut output) = (input(src), output(dst));
        // SAFETY: the context is alive and borrowed exclusively; the buffers describe slices that are valid for
        // their lengths and, one being `&mut`, disjoint.
        let result =
            unsafe { sys::ZSTD_decompressStream(self.0.as_ptr(), &mut output, &mut input) };
        let left = answer(result).map_err(|refusal| match within(refusal) {
            // Not ours: a block that becomes larger than blocks may be.
            Refusal::DstTooSmall => Refusal::Bad(BadReason::Block),
            other => other,
        })?;
        Ok(Step { consumed: input.pos, produced: output.pos, done: left == 0 })
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed once.
        unsafe { sys::ZSTD_freeDCtx(self.0.as_ptr()) };
    }
}

/// The length of the frame (or skippable frame) that `src` begins with, by its block headers.
pub(crate) fn frame_len(src: &[u8]) -> Result<usize, Refusal> {
    // SAFETY: the slice is valid for its length.
    answer(unsafe { sys::ZSTD_findFrameCompressedSize(source(src), src.len()) })
}

fn input(src: &[u8]) -> sys::ZSTD_inBuffer {
    sys::ZSTD_inBuffer { src: source(src), size: src.len(), pos: 0 }
}

fn output(dst: &mut [u8]) -> sys::ZSTD_outBuffer {
    sys::ZSTD_outBuffer { dst: dst.as_mut_ptr().cast(), size: dst.len(), pos: 0 }
}
