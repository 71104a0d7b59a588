//! LZ4 and LZ4s of whole buffers: blocks by liblz4, the frame and LZ4s by our own code.
//!
//! What is valid is what the documents of the formats say, with one exception: a match at distance 0, which only
//! a damaged block has, is decoded as zeros (liblz4 does; to find it takes another pass over the block). The
//! checksum of a frame finds it.

pub(crate) mod frame;
pub(crate) mod sequences;
pub(crate) mod stream;

use lookaside_spec::dc::{Compression, Format, LZ4_MAX_BLOCK, compress_bound};
use lookaside_spec::{BadReason, Done, OpError, Status};

use crate::checksum::{RunningChecksum, checksum, xxh32};
use crate::kernel::liblz4;
use frame::{Descriptor, STORED, Start};
use sequences::{Fault, Lz4s};

/// The reusable memory of one thread: 16 KB after the first use of level 1, 256 KB more of others; LZ4s and tight
/// destinations also keep a block, up to [`KEEP`].
#[derive(Default)]
pub(crate) struct Scratch {
    compressor: liblz4::Compressor,
    spill: Vec<u8>,
}

/// As much of the memory for a block stays between calls.
const KEEP: usize = 5 << 20;

impl Scratch {
    /// Memory for a block that may not fit where it goes, with as many bytes.
    fn spill(&mut self, len: usize) -> Result<Vec<u8>, OpError> {
        let mut spill = std::mem::take(&mut self.spill);
        if spill.len() < len {
            let more = len - spill.len();
            spill.try_reserve_exact(more).map_err(|_| OpError::NoMemory)?;
            spill.resize(len, 0);
        }
        Ok(spill)
    }

    fn keep(&mut self, spill: Vec<u8>) {
        if spill.capacity() <= KEEP {
            self.spill = spill;
        }
    }

    /// One block, whatever it takes; at most `dst.len()` bytes.
    fn block(&mut self, level: u8, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
        let bound = compress_bound(Format::Lz4Raw, src.len());
        if let Some(produced) = self.compressor.compress(level, src, dst) {
            return Ok(produced);
        }
        if dst.len() >= bound {
            return Err(OpError::Library("liblz4"));
        }
        // The library wants some bytes more than it uses: find out in memory of our own.
        let mut spill = self.spill(bound)?;
        let produced = self.compressor.compress(level, src, &mut spill[..bound]);
        let result = match produced {
            None => Err(OpError::Library("liblz4")),
            Some(produced) => match dst.get_mut(..produced) {
                None => Err(OpError::DstTooSmall),
                Some(dst) => {
                    dst.copy_from_slice(&spill[..produced]);
                    Ok(produced)
                }
            },
        };
        self.keep(spill);
        result
    }

    /// One LZ4s block: liblz4's sequences with LZ4s' codes.
    fn lz4s(&mut self, spec: &Compression, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
        let bound = compress_bound(Format::Lz4Raw, src.len());
        let mut spill = self.spill(bound)?;
        let produced = self.compressor.compress(spec.level, src, &mut spill[..bound]);
        let of = Lz4s { window: 1 << spec.window_bits, more: usize::from(spec.min_match) - 1 };
        let result = match produced {
            None => Err(OpError::Library("liblz4")),
            Some(produced) => {
                let block = &spill[..produced];
                sequences::lz4s_of(block, src, of, dst).ok_or(OpError::DstTooSmall)
            }
        };
        self.keep(spill);
        result
    }

    /// A frame's blocks, each with its length before it.
    pub(crate) fn blocks(
        &mut self,
        level: u8,
        block_bits: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize, OpError> {
        let mut to = 0;
        for block in src.chunks(1 << block_bits) {
            let (head, body) = dst[to..].split_first_chunk_mut().ok_or(OpError::DstTooSmall)?;
            let word = match self.smaller(level, block, body)? {
                Some(produced) => produced as u32,
                None => {
                    let place = body.get_mut(..block.len()).ok_or(OpError::DstTooSmall)?;
                    place.copy_from_slice(block);
                    block.len() as u32 | STORED
                }
            };
            *head = word.to_le_bytes();
            to += 4 + (word & !STORED) as usize;
        }
        Ok(to)
    }

    /// A block that is smaller than what is in it. `None`: it is not, and is to be stored.
    fn smaller(&mut self, level: u8, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, OpError> {
        let most = src.len() - 1;
        if dst.len() >= most {
            return Ok(self.compressor.compress(level, src, &mut dst[..most]));
        }
        match self.block(level, src, dst) {
            Ok(produced) => Ok(Some(produced)),
            // Stored it is larger still.
            Err(error) => Err(error),
        }
    }
}

/// Compresses all of `src`, in any of LZ4's formats.
pub(crate) fn compress(
    spec: &Compression,
    scratch: &mut Scratch,
    src: &[u8],
    dst: &mut [u8],
) -> Result<Done, OpError> {
    let level = spec.level;
    let raw = matches!(spec.format, Format::Lz4Raw | Format::Lz4s);
    if raw && src.len() > LZ4_MAX_BLOCK {
        return Err(OpError::BadInput("an LZ4 block holds at most 2113929216 bytes"));
    }
    let sum = checksum(spec.checksum_in_force(), src);
    let produced = match spec.format {
        Format::Lz4Raw => scratch.block(level, src, dst)?,
        Format::Lz4s => scratch.lz4s(spec, src, dst)?,
        Format::Lz4Blocks => scratch.blocks(level, spec.block_bits, src, dst)?,
        _ => {
            let bits = block_bits(spec.block_bits, src.len());
            let (header, at) = Descriptor::own(bits, Some(src.len() as u64)).header();
            // End mark and checksum.
            let end = dst.len().checked_sub(8).ok_or(OpError::DstTooSmall)?;
            let place = dst.get_mut(at..end).ok_or(OpError::DstTooSmall)?;
            let to = at + scratch.blocks(level, bits, src, place)?;
            dst[..at].copy_from_slice(&header[..at]);
            dst[to..to + 4].fill(0);
            dst[to + 4..to + 8].copy_from_slice(&(sum as u32).to_le_bytes());
            to + 8
        }
    };
    Ok(Done { consumed: src.len(), produced, checksum: sum, status: Status::End })
}

/// The smallest of the four sizes of blocks that holds `len` bytes, at most `most`.
fn block_bits(most: u8, len: usize) -> u8 {
    [16, 18, 20].into_iter().find(|&bits| bits >= most || len <= 1 << bits).unwrap_or(most)
}

/// Decompresses what `src` begins with, in any of LZ4's formats.
pub(crate) fn decompress(spec: &Compression, src: &[u8], dst: &mut [u8]) -> Result<Done, OpError> {
    let kind = spec.checksum_in_force();
    let room = dst.len();
    let whole = |produced: usize| (src.len(), produced);
    let (consumed, produced) = match spec.format {
        Format::Lz4Raw => decode_block(src, dst, 0, room).map(whole).map_err(|f| refusal(f, 0))?,
        Format::Lz4s => match spec.min_match {
            3 => sequences::decode::<2>(src, dst, 0, room),
            _ => sequences::decode::<3>(src, dst, 0, room),
        }
        .map(whole)
        .map_err(|f| refusal(f, 0))?,
        Format::Lz4Blocks => blocks(src, 0, None, dst)?,
        _ => return frame(src, dst),
    };
    let checksum = checksum(kind, &dst[..produced]);
    Ok(Done { consumed, produced, checksum, status: Status::End })
}

/// One LZ4 block, to `memory[start..end]`, with what is before as history.
pub(crate) fn decode_block(
    src: &[u8],
    memory: &mut [u8],
    start: usize,
    end: usize,
) -> Result<usize, (usize, Fault)> {
    match liblz4::decompress(src, memory, start, end) {
        Some(produced) => Ok(produced),
        None => sequences::decode::<{ sequences::LZ4 }>(src, memory, start, end),
    }
}

/// The error for a fault of the block that begins at `base`.
pub(crate) fn refusal((offset, fault): (usize, Fault), base: usize) -> OpError {
    match fault {
        Fault::Room => OpError::DstTooSmall,
        Fault::Truncated => BadReason::Truncated.at(base + offset),
        Fault::Distance => BadReason::Block.at(base + offset),
    }
}

/// A block of a frame that is not what it should be: it is all there, so a block that ends too early is damaged.
pub(crate) fn refusal_within((offset, fault): (usize, Fault), base: usize, room: bool) -> OpError {
    match fault {
        Fault::Room if room => OpError::DstTooSmall,
        _ => BadReason::Block.at(base + offset),
    }
}

/// Blocks with lengths, from `at` on. Without a descriptor: until the source ends too, and matches may reach into
/// blocks before. Returns where it ended and how many bytes there were.
fn blocks(
    src: &[u8],
    mut at: usize,
    of: Option<&Descriptor>,
    dst: &mut [u8],
) -> Result<(usize, usize), OpError> {
    let truncated = BadReason::Truncated.at(src.len());
    let largest = of.map_or(1 << 22, Descriptor::block);
    let mut to = 0;
    loop {
        let Some(&head) = src[at..].first_chunk() else {
            return match of {
                None if at == src.len() => Ok((at, to)),
                _ => Err(truncated),
            };
        };
        let Some((len, stored)) = frame::block_of(head) else { return Ok((at + 4, to)) };
        if len > largest {
            return Err(BadReason::Block.at(at));
        }
        at += 4;
        let block = src[at..].get(..len).ok_or(truncated)?;
        let trailer = of.is_some_and(|d| d.block_checksum);
        let after = if trailer { at + len + 4 } else { at + len };
        if trailer {
            let sum = src.get(at + len..after).and_then(<[u8]>::first_chunk).ok_or(truncated)?;
            if xxh32(0, block) != u32::from_le_bytes(*sum) {
                return Err(BadReason::Checksum.at(at + len));
            }
        }
        let limit = dst.len().min(to + largest);
        to += if stored {
            let place = dst[to..].get_mut(..len).ok_or(OpError::DstTooSmall)?;
            place.copy_from_slice(block);
            len
        } else {
            let alone = of.is_some_and(|d| d.independent);
            let (memory, start) = match alone {
                true => (&mut dst[to..limit], 0),
                false => (&mut dst[..limit], to),
            };
            let end = memory.len();
            decode_block(block, memory, start, end)
                .map_err(|fault| refusal_within(fault, at, limit == dst.len()))?
        };
        at = after;
    }
}

/// One frame or skippable frame.
fn frame(src: &[u8], dst: &mut [u8]) -> Result<Done, OpError> {
    let truncated = BadReason::Truncated.at(src.len());
    let mut sum = RunningChecksum::new(lookaside_spec::dc::Checksum::Xxh32);
    let (descriptor, at) = match frame::start(src) {
        Ok(Start::Frame(descriptor, len)) => (descriptor, len),
        Ok(Start::Skippable(len)) => {
            let consumed = 8 + len as usize;
            if src.len() < consumed {
                return Err(truncated);
            }
            let checksum = sum.value();
            return Ok(Done { consumed, produced: 0, checksum, status: Status::End });
        }
        Ok(Start::More) => return Err(truncated),
        Err((offset, reason)) => return Err(reason.at(offset)),
    };
    if descriptor.dictionary.is_some() {
        return Err(BadReason::Dictionary.at(at));
    }
    let (mut at, produced) = blocks(src, at, Some(&descriptor), dst)?;
    sum.update(&dst[..produced]);
    let checksum = sum.value();
    if descriptor.content_size.is_some_and(|size| size != produced as u64) {
        return Err(BadReason::Length.at(at));
    }
    if descriptor.content_checksum {
        let found = src[at..].first_chunk().ok_or(truncated)?;
        if u64::from(u32::from_le_bytes(*found)) != checksum {
            return Err(BadReason::Checksum.at(at));
        }
        at += 4;
    }
    Ok(Done { consumed: at, produced, checksum, status: Status::End })
}
