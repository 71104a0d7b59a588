//! A lane for providers that do one chunk per call: zlib, and those registered through cf.h.

use std::collections::VecDeque;

use crate::{
    error::{BadReason, Error},
    ffi,
    gzip::{TRAILER, header_len},
    params::Format,
    provider::{Direction, Lane, LaneSpec, Outcome, Task, TaskError},
};

/// Raw DEFLATE, one call per chunk. Checksums and wrappers are [`SyncLane`]'s. (Of LZ4 and Zstandard: what
/// [`LaneSpec::format`] says.)
pub trait Codec {
    /// Compresses all of `src` to `dst`; returns the bytes written. With `piece`, to a
    /// byte-aligned piece without a final block; otherwise to a whole DEFLATE stream.
    ///
    /// # Errors
    /// What went wrong.
    fn compress(&mut self, src: &[u8], dst: &mut [u8], piece: bool) -> Result<usize, TaskError>;

    /// Decompresses the DEFLATE stream at the start of `src` to `dst`; returns the bytes consumed
    /// and written.
    ///
    /// # Errors
    /// What went wrong.
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<(usize, usize), TaskError>;
}

/// Executes each task as it is submitted.
pub struct SyncLane<'a, C> {
    codec: C,
    spec: LaneSpec,
    finished: VecDeque<Task<'a>>,
}

impl<C: Codec> SyncLane<'_, C> {
    /// A lane for tasks of this kind.
    pub fn new(codec: C, spec: LaneSpec) -> Self {
        SyncLane { codec, spec, finished: VecDeque::new() }
    }

    fn execute(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Outcome, TaskError> {
        let format = self.spec.format;
        match (self.spec.direction, format) {
            (Direction::Compress, _) => {
                let piece = matches!(format, Format::Zlib | Format::Raw);
                let produced = self.codec.compress(src, dst, piece)?;
                let checksum = match format {
                    Format::Gzip | Format::Raw => ffi::crc32(0, src),
                    Format::Zlib => ffi::adler32(1, src),
                    Format::Cf | Format::Lz4 | Format::Zstd => 0,
                };
                Ok(Outcome { consumed: src.len(), produced, checksum })
            }
            (Direction::Decompress, Format::Gzip) => self.member(src, dst),
            (Direction::Decompress, _) => {
                let (consumed, produced) = self.codec.decompress(src, dst)?;
                Ok(Outcome { consumed, produced, checksum: 0 })
            }
        }
    }

    /// A gzip member with a header of [`crate::gzip`].
    fn member(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Outcome, TaskError> {
        let bad = |offset: usize, reason| TaskError::BadData { offset: offset as u64, reason };
        let header = header_len(src);
        let body = src.get(header..).ok_or(bad(src.len(), BadReason::Truncated))?;
        let (consumed, produced) = self.codec.decompress(body, dst)?;
        let at = header + consumed;
        let trailer: &[u8; TRAILER] = src
            .get(at..)
            .and_then(<[u8]>::first_chunk)
            .ok_or(bad(src.len(), BadReason::Truncated))?;
        let [c0, c1, c2, c3, n0, n1, n2, n3] = *trailer;
        let checksum = ffi::crc32(0, &dst[..produced]);
        if checksum != u32::from_le_bytes([c0, c1, c2, c3]) {
            return Err(bad(at, BadReason::Checksum));
        }
        if produced as u32 != u32::from_le_bytes([n0, n1, n2, n3]) {
            return Err(bad(at + 4, BadReason::Length));
        }
        Ok(Outcome { consumed: at + TRAILER, produced, checksum })
    }
}

impl<'a, C: Codec> Lane<'a> for SyncLane<'a, C> {
    fn submit(&mut self, mut task: Task<'a>) -> Result<(), Error> {
        let mut dst = core::mem::take(&mut task.dst);
        task.outcome = self.execute(task.src.bytes(), &mut dst);
        task.dst = dst;
        self.finished.push_back(task);
        Ok(())
    }

    fn complete(&mut self, done: &mut Vec<Task<'a>>) -> Result<(), Error> {
        done.extend(self.finished.drain(..));
        Ok(())
    }
}
