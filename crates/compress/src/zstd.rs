//! Zstandard: whole buffers and streams, by libzstd.

use lookaside_spec::dc::{Compression, CompressionError, Flush, Format, compress_bound};
use lookaside_spec::{BadReason, Done, OpError, Status};

use crate::checksum::{RunningChecksum, checksum};
use crate::kernel::libzstd::{self, Refusal};

/// The reusable memory of one thread. A compressor that took more than [`KEEP`] is freed after the call.
#[derive(Default)]
pub(crate) struct Scratch {
    compressor: Option<libzstd::Compressor>,
    decompressor: Option<libzstd::Decompressor>,
    spill: Vec<u8>,
}

/// As much stays between calls: all that levels up to 15 take for sources of 1 MB.
const KEEP: usize = 32 << 20;

/// The library failed for no reason of the input's.
const FAILED: OpError = OpError::Library("libzstd");

fn refused(refusal: Refusal, offset: usize) -> OpError {
    match refusal {
        Refusal::DstTooSmall => OpError::DstTooSmall,
        Refusal::Bad(reason) => reason.at(offset),
        Refusal::Failed | Refusal::Idle | Refusal::Full => FAILED,
    }
}

/// Compresses all of `src` into one frame.
pub(crate) fn compress(
    spec: &Compression,
    scratch: &mut Scratch,
    src: &[u8],
    dst: &mut [u8],
) -> Result<Done, OpError> {
    let compressor = match &mut scratch.compressor {
        Some(compressor) => compressor,
        none => none.insert(libzstd::Compressor::new(spec.level).ok_or(OpError::NoMemory)?),
    };
    compressor.set_level(spec.level).ok_or(FAILED)?;
    let bound = compress_bound(Format::Zstd, src.len());
    let produced = match compressor.compress(src, dst) {
        Ok(produced) => Ok(produced),
        Err(Refusal::DstTooSmall) if dst.len() < bound => {
            // The library wants some bytes more than it uses: find out in memory of our own.
            let spill = &mut scratch.spill;
            if spill.len() < bound {
                let more = bound - spill.len();
                spill.try_reserve_exact(more).map_err(|_| OpError::NoMemory)?;
                spill.resize(bound, 0);
            }
            let produced = compressor.compress(src, &mut spill[..bound]).map_err(|_| FAILED)?;
            let place = dst.get_mut(..produced).ok_or(OpError::DstTooSmall);
            place.map(|place| {
                place.copy_from_slice(&spill[..produced]);
                produced
            })
        }
        Err(_) => Err(FAILED),
    };
    if compressor.memory() > KEEP {
        scratch.compressor = None;
    }
    if scratch.spill.capacity() > KEEP {
        scratch.spill = Vec::new();
    }
    let checksum = checksum(spec.checksum_in_force(), src);
    Ok(Done { consumed: src.len(), produced: produced?, checksum, status: Status::End })
}

/// Decompresses the frame that `src` begins with. The library does not say where a frame is damaged: the offset
/// is that of its start, of its checksum, or of the end of a source that is truncated.
pub(crate) fn decompress(
    spec: &Compression,
    scratch: &mut Scratch,
    src: &[u8],
    dst: &mut [u8],
) -> Result<Done, OpError> {
    let consumed = libzstd::frame_len(src).map_err(|refusal| match refusal {
        Refusal::Bad(BadReason::Truncated) => BadReason::Truncated.at(src.len()),
        other => refused(other, 0),
    })?;
    let decompressor = match &mut scratch.decompressor {
        Some(decompressor) => decompressor,
        none => none.insert(libzstd::Decompressor::new().ok_or(OpError::NoMemory)?),
    };
    let frame = src.get(..consumed).ok_or(FAILED)?;
    let produced = decompressor.decompress(frame, dst).map_err(|refusal| match refusal {
        Refusal::Bad(BadReason::Checksum) => BadReason::Checksum.at(consumed.saturating_sub(4)),
        other => refused(other, 0),
    })?;
    let checksum = checksum(spec.checksum_in_force(), &dst[..produced]);
    Ok(Done { consumed, produced, checksum, status: Status::End })
}

/// Makes one frame piece by piece.
pub(crate) struct Encoder {
    compressor: libzstd::Compressor,
    kind: lookaside_spec::dc::Checksum,
    sum: RunningChecksum,
    finishing: bool,
    ended: bool,
    failed: bool,
}

impl Encoder {
    pub(crate) fn new(
        spec: &Compression,
        dictionary: Option<&[u8]>,
    ) -> Result<Encoder, CompressionError> {
        let wrong = CompressionError::Dictionary(Format::Zstd);
        let mut compressor = libzstd::Compressor::new(spec.level)
            .ok_or(CompressionError::Kernel("libzstd (no memory)"))?;
        if let Some(dictionary) = dictionary {
            compressor.set_dictionary(dictionary).ok_or(wrong)?;
        }
        let kind = spec.checksum_in_force();
        let sum = RunningChecksum::new(kind);
        Ok(Encoder { compressor, kind, sum, finishing: false, ended: false, failed: false })
    }

    pub(crate) fn reset(&mut self) {
        self.compressor.reset();
        self.sum = RunningChecksum::new(self.kind);
        (self.finishing, self.ended, self.failed) = (false, false, false);
    }

    /// Back to the start with another dictionary, or none.
    pub(crate) fn reset_with(&mut self, dictionary: Option<&[u8]>) -> Result<(), CompressionError> {
        self.reset();
        let set = self.compressor.set_dictionary(dictionary.unwrap_or_default());
        set.ok_or(CompressionError::Dictionary(Format::Zstd))
    }

    pub(crate) fn step(
        &mut self,
        src: &[u8],
        dst: &mut [u8],
        flush: Flush,
    ) -> Result<Done, OpError> {
        if self.failed {
            return Err(FAILED);
        }
        if self.finishing && !src.is_empty() {
            return Err(OpError::StreamEnded);
        }
        if flush == Flush::Full {
            return Err(OpError::Unsupported);
        }
        let flush = if self.finishing { Flush::Finish } else { flush };
        let (mut consumed, mut produced) = (0, 0);
        let status = loop {
            if self.ended {
                break Status::End;
            }
            let step = self
                .compressor
                .step(&src[consumed..], &mut dst[produced..], flush)
                .inspect_err(|_| self.failed = true)
                .map_err(|_| FAILED)?;
            self.sum.update(&src[consumed..consumed + step.consumed]);
            consumed += step.consumed;
            produced += step.produced;
            self.finishing |= flush == Flush::Finish && consumed == src.len();
            if step.done {
                self.ended = flush == Flush::Finish;
                if !self.ended {
                    break Status::Complete;
                }
            } else if produced == dst.len() {
                break Status::Overflow;
            } else if step.consumed == 0 && step.produced == 0 {
                self.failed = true;
                return Err(FAILED);
            }
        };
        Ok(Done { consumed, produced, checksum: self.sum.value(), status })
    }
}

/// The longest header of a frame, magic included.
const MAX_HEADER: usize = 18;

/// The content size in the header that `head` begins with (RFC 8878 section 3.1.1.1); `None` where there is none.
fn content_size(head: &[u8]) -> Option<u64> {
    let (&magic, rest) = head.split_first_chunk::<4>()?;
    let (&descriptor, rest) = rest.split_first()?;
    let single = descriptor & 0x20 != 0;
    let len = match descriptor >> 6 {
        0 => usize::from(single),
        n => 1 << n,
    };
    if magic != [0x28, 0xb5, 0x2f, 0xfd] || len == 0 {
        return None;
    }
    let window = usize::from(!single);
    let at = window + [0, 1, 2, 4][usize::from(descriptor & 3)];
    let mut bytes = [0; 8];
    bytes[..len].copy_from_slice(rest.get(at..at + len)?);
    // Two bytes count from 256 on.
    u64::from_le_bytes(bytes).checked_add(if len == 2 { 256 } else { 0 })
}

/// Reads one frame piece by piece.
pub(crate) struct Decoder {
    decompressor: libzstd::Decompressor,
    kind: lookaside_spec::dc::Checksum,
    sum: RunningChecksum,
    total_in: usize,
    total_out: u64,
    /// The first bytes, for what the frame says its content is.
    head: Vec<u8>,
    ended: bool,
    failed: Option<OpError>,
}

impl Decoder {
    pub(crate) fn new(
        spec: &Compression,
        dictionary: Option<&[u8]>,
    ) -> Result<Decoder, CompressionError> {
        let mut decompressor =
            libzstd::Decompressor::new().ok_or(CompressionError::Kernel("libzstd (no memory)"))?;
        if let Some(dictionary) = dictionary {
            let wrong = CompressionError::Dictionary(Format::Zstd);
            decompressor.set_dictionary(dictionary).ok_or(wrong)?;
        }
        let kind = spec.checksum_in_force();
        let sum = RunningChecksum::new(kind);
        let (total_in, total_out, head) = (0, 0, Vec::with_capacity(MAX_HEADER));
        let (ended, failed) = (false, None);
        Ok(Decoder { decompressor, kind, sum, total_in, total_out, head, ended, failed })
    }

    pub(crate) fn reset(&mut self) {
        self.decompressor.reset();
        self.sum = RunningChecksum::new(self.kind);
        (self.total_in, self.total_out, self.ended, self.failed) = (0, 0, false, None);
        self.head.clear();
    }

    pub(crate) fn step(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Done, OpError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let (mut consumed, mut produced) = (0, 0);
        let status = loop {
            if self.ended {
                break Status::End;
            }
            let rest = &src[consumed..];
            let step = match self.decompressor.step(rest, &mut dst[produced..]) {
                Ok(step) => step,
                // What the library says of the 16th call that brings nothing on.
                Err(Refusal::Full) => break Status::Overflow,
                Err(Refusal::Idle) => break Status::Complete,
                Err(refusal) => {
                    // The library has taken some of `rest`, and does not say how much.
                    let error = refused(refusal, self.total_in);
                    self.failed = Some(error);
                    return Err(error);
                }
            };
            self.sum.update(&dst[produced..produced + step.produced]);
            let missing = MAX_HEADER - self.head.len();
            self.head.extend_from_slice(&rest[..step.consumed.min(missing)]);
            consumed += step.consumed;
            produced += step.produced;
            self.total_in += step.consumed;
            self.total_out += step.produced as u64;
            self.ended = step.done;
            // The library does not compare it where the last block is empty.
            if self.ended && content_size(&self.head).is_some_and(|size| size != self.total_out) {
                let error = BadReason::Length.at(self.total_in);
                self.failed = Some(error);
                return Err(error);
            }
            if self.ended {
                continue;
            }
            if produced == dst.len() {
                break Status::Overflow;
            }
            if step.consumed == 0 && step.produced == 0 {
                break Status::Complete;
            }
        };
        Ok(Done { consumed, produced, checksum: self.sum.value(), status })
    }
}
