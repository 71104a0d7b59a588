//! The providers `lz4` and `zstd`: the libraries as programs use them, one call per chunk. They are for their
//! formats what the provider `zlib` is for DEFLATE: what the device is compared with, and the other side that
//! reads what it has written.

mod ffi;

use crate::{
    error::{BadReason, Error},
    lz4,
    params::{Format, Params},
    provider::{Direction, Lane, LaneSpec, Own, Provider, TaskError},
    sync_lane::{Codec, SyncLane},
};

/// liblz4. Synchronous: `LZ4_compress_default` or `LZ4_compress_HC` is called once for each block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Liblz4;

/// libzstd. Synchronous: `ZSTD_compress2` is called once for each chunk.
#[derive(Clone, Copy, Debug, Default)]
pub struct Libzstd;

/// A provider for one format alone.
fn only(provider: &dyn Provider, format: Format, spec: LaneSpec) -> Result<(), Error> {
    if spec.format == format {
        return Ok(());
    }
    Err(Error::Unsupported { provider: provider.name().into(), what: "this format" })
}

impl Provider for Liblz4 {
    fn name(&self) -> &str {
        "lz4"
    }

    /// `LZ4_compressBound` of each block, and its length.
    fn bound(&self, _: &Params, len: usize) -> usize {
        len + len / 255 + (len.div_ceil(1 << 16) + 1) * 20
    }

    fn open<'a>(&self, params: &Params, spec: LaneSpec) -> Result<Box<dyn Lane<'a> + 'a>, Error> {
        only(self, Format::Lz4, spec)?;
        let block = 1 << lz4::block_bits(params.chunk_size);
        Ok(Box::new(SyncLane::new(Lz4 { level: params.level, block }, spec)))
    }

    fn borrows(&self, _: Own) -> bool {
        true
    }
}

struct Lz4 {
    level: u8,
    /// The largest block.
    block: usize,
}

impl Codec for Lz4 {
    fn compress(&mut self, src: &[u8], dst: &mut [u8], _: bool) -> Result<usize, TaskError> {
        let mut to = 0;
        for block in src.chunks(self.block) {
            let (head, body) = dst[to..].split_first_chunk_mut().ok_or(TaskError::DstTooSmall)?;
            let word = match ffi::lz4_compress(self.level, block, body) {
                Some(len) if len < block.len() => len as u32,
                _ => {
                    let place = body.get_mut(..block.len()).ok_or(TaskError::DstTooSmall)?;
                    place.copy_from_slice(block);
                    block.len() as u32 | lz4::STORED
                }
            };
            *head = word.to_le_bytes();
            to += 4 + (word & !lz4::STORED) as usize;
        }
        Ok(to)
    }

    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<(usize, usize), TaskError> {
        let bad = |offset: usize, reason| TaskError::BadData { offset: offset as u64, reason };
        let (head, rest) = src.split_first_chunk().ok_or(bad(src.len(), BadReason::Truncated))?;
        let word = u32::from_le_bytes(*head);
        let len = (word & !lz4::STORED) as usize;
        let block = rest.get(..len).ok_or(bad(src.len(), BadReason::Truncated))?;
        let produced = if word & lz4::STORED != 0 {
            dst.get_mut(..len).ok_or(TaskError::DstTooSmall)?.copy_from_slice(block);
            len
        } else {
            ffi::lz4_decompress(block, dst).ok_or(bad(4, BadReason::Block))?
        };
        Ok((4 + len, produced))
    }
}

impl Provider for Libzstd {
    fn name(&self) -> &str {
        "zstd"
    }

    /// `ZSTD_compressBound`, which adds at most 64 bytes and one in 256.
    fn bound(&self, _: &Params, len: usize) -> usize {
        len + len / 256 + 64
    }

    fn open<'a>(&self, params: &Params, spec: LaneSpec) -> Result<Box<dyn Lane<'a> + 'a>, Error> {
        only(self, Format::Zstd, spec)?;
        let no_memory = || Error::io("libzstd", std::io::ErrorKind::OutOfMemory.into());
        match spec.direction {
            Direction::Compress => {
                let codec = ffi::ZstdCompressor::new(params.level).ok_or_else(no_memory)?;
                Ok(Box::new(SyncLane::new(Zstd::Compress(codec), spec)))
            }
            Direction::Decompress => {
                let codec = ffi::ZstdDecompressor::new().ok_or_else(no_memory)?;
                Ok(Box::new(SyncLane::new(Zstd::Decompress(codec), spec)))
            }
        }
    }

    fn borrows(&self, _: Own) -> bool {
        true
    }
}

enum Zstd {
    Compress(ffi::ZstdCompressor),
    Decompress(ffi::ZstdDecompressor),
}

impl Codec for Zstd {
    fn compress(&mut self, src: &[u8], dst: &mut [u8], _: bool) -> Result<usize, TaskError> {
        match self {
            Zstd::Compress(codec) => codec.compress(src, dst).ok_or(TaskError::DstTooSmall),
            Zstd::Decompress(_) => Err(TaskError::Failed("this lane decompresses".into())),
        }
    }

    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<(usize, usize), TaskError> {
        match self {
            Zstd::Decompress(codec) => match codec.decompress(src, dst) {
                Some(produced) => Ok((src.len(), produced)),
                None => Err(TaskError::BadData { offset: 0, reason: BadReason::Block }),
            },
            Zstd::Compress(_) => Err(TaskError::Failed("this lane compresses".into())),
        }
    }
}
