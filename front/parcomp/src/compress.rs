//! Compression: chunks through the pipeline, and the framing of each format around them.

use std::io::{self, IoSlice, Write};

use crate::{
    Summary,
    adler::adler32_combine,
    error::Error,
    ffi::crc32_combine,
    gzip,
    input::{Input, Source},
    lz4,
    params::{Format, Params},
    pipeline::{self, Feed, Item},
    provider::{Direction, LaneSpec, Outcome, Own, Provider, Task, TaskError},
    zstd,
};

/// A destination size into which `len` bytes fit when compressed in chunks, whatever they are: for
/// [`crate::compress_buffer`].
pub fn bound(provider: &dyn Provider, params: &Params, len: usize) -> usize {
    let chunk = chunk_size(params, Some(len as u64));
    let (whole, rest) = (len / chunk, len % chunk);
    // What other formats add to a file and to each chunk is less.
    let frame = gzip::HEADER + gzip::TRAILER;
    let each = |len| provider.bound(params, len) + frame;
    whole * each(chunk) + each(rest)
}

/// Compresses `source` to `sink`, in the calling thread and those that it starts. `watch` is called
/// after each chunk with the bytes read and written so far.
///
/// Memory: the chunks outstanding, twice (source and destination), and as many that wait for an
/// earlier one.
///
/// # Errors
/// See [`Error`]. What is in `sink` is then of no use.
pub fn compress(
    provider: &dyn Provider,
    params: &Params,
    source: Source<'_>,
    sink: &mut dyn Write,
    watch: &mut dyn FnMut(u64, u64),
) -> Result<Summary, Error> {
    chunks(provider, params, None, source, sink, watch)
}

/// Compresses `source` to one gzip member (RFC 1952), as other compressors write a file: one header, which
/// the caller makes, one DEFLATE stream of the chunks' pieces, one trailer. [`Params::format`] is not looked at. The rest is as
/// with [`compress()`].
///
/// # Errors
/// See [`Error`]. What is in `sink` is then of no use.
pub fn compress_member(
    provider: &dyn Provider,
    params: &Params,
    header: &[u8],
    source: Source<'_>,
    sink: &mut dyn Write,
    watch: &mut dyn FnMut(u64, u64),
) -> Result<Summary, Error> {
    let params = Params { format: Format::Raw, ..params.clone() };
    chunks(provider, &params, Some(header), source, sink, watch)
}

/// With `member`, the header of a gzip member, the raw stream is wrapped in that.
fn chunks(
    provider: &dyn Provider,
    params: &Params,
    member: Option<&[u8]>,
    source: Source<'_>,
    sink: &mut dyn Write,
    watch: &mut dyn FnMut(u64, u64),
) -> Result<Summary, Error> {
    params.validate()?;
    let format = params.format;
    let chunk = chunk_size(params, source.len());
    let mut chunks = Chunks {
        input: Input::new(source, params.copy || !provider.borrows(Own)),
        provider,
        params,
        chunk,
        // One empty member or frame: no bytes at all are not a file of these formats.
        empty: matches!(format, Format::Gzip | Format::Zstd),
    };
    let mut framer = Framer {
        params,
        sink,
        chunk,
        member,
        crc: 0,
        adler: 1,
        hash: lz4::ContentHash::default(),
        table: zstd::SeekTable::default(),
        bytes_in: 0,
        bytes_out: 0,
        chunks: 0,
    };
    framer.begin()?;
    let mut emit = |task: &Task<'_>| {
        let outcome = match &task.outcome {
            Ok(outcome) if outcome.consumed == task.src.len() => outcome,
            other => return Err(failed(provider, other)),
        };
        let packed = task.dst.get(..outcome.produced);
        let packed = packed.ok_or_else(|| failed(provider, &task.outcome))?;
        framer.chunk(task.src.bytes(), packed, outcome.checksum)?;
        watch(framer.bytes_in, framer.bytes_out);
        Ok(true)
    };
    let spec = LaneSpec { direction: Direction::Compress, format };
    pipeline::run(provider, params, spec, usize::MAX, &mut chunks, &mut emit)?;
    framer.finish()
}

fn failed(provider: &dyn Provider, outcome: &Result<Outcome, TaskError>) -> Error {
    let what = match outcome {
        Err(TaskError::Failed(what)) => what.clone(),
        Err(e) => format!("compression failed: {e:?}"),
        Ok(_) => "did not compress the whole chunk".into(),
    };
    Error::Provider { provider: provider.name().into(), what }
}

/// The chunk size: smaller than asked for when otherwise some thread would get no chunk.
fn chunk_size(params: &Params, len: Option<u64>) -> usize {
    /// Chunks are not made smaller than this.
    const LEAST: usize = 64 * 1024;
    let asked = params.chunk_size.max(1);
    match (len, params.num_threads) {
        (None, _) | (_, 0) => asked,
        (Some(len), threads) => {
            let share = usize::try_from(len.div_ceil(threads as u64)).unwrap_or(usize::MAX);
            asked.min(share.max(LEAST))
        }
    }
}

struct Chunks<'a, 'p> {
    input: Input<'a>,
    provider: &'p dyn Provider,
    params: &'p Params,
    chunk: usize,
    /// Whether an empty chunk is wanted if there is none.
    empty: bool,
}

impl<'a> Feed<'a> for Chunks<'a, '_> {
    fn next(&mut self, spare: Vec<u8>) -> Result<Option<Item<'a>>, Error> {
        let src = self.input.take(self.chunk, spare)?;
        if src.is_empty() && !self.empty {
            return Ok(None);
        }
        self.empty = false;
        // For what is there: the input may be far smaller than a chunk may be.
        let room = self.provider.bound(self.params, src.len());
        // A provider whose bound does not hold gets two more tries.
        let max_room = room.saturating_mul(16);
        Ok(Some(Item { src, room, max_room }))
    }
}

struct Framer<'s> {
    params: &'s Params,
    sink: &'s mut dyn Write,
    /// Bytes per chunk.
    chunk: usize,
    /// Raw: the header of the gzip member that it is to be.
    member: Option<&'s [u8]>,
    /// Of a member: of all so far.
    crc: u32,
    /// zlib: of all so far.
    adler: u32,
    /// LZ4: of all so far.
    hash: lz4::ContentHash,
    /// Zstandard: the frames so far.
    table: zstd::SeekTable,
    bytes_in: u64,
    bytes_out: u64,
    chunks: u64,
}

/// The last block of a stream of pieces: fixed codes, empty, final (RFC 1951 section 3.2.6).
const FINAL_BLOCK: [u8; 2] = [0x03, 0x00];

impl Framer<'_> {
    fn begin(&mut self) -> Result<(), Error> {
        match self.params.format {
            Format::Zlib => self.write([&zlib_header(self.params), &[], &[]]),
            Format::Lz4 => self.write([&lz4::header(self.chunk), &[], &[]]),
            Format::Raw => self.write([self.member.unwrap_or_default(), &[], &[]]),
            Format::Gzip | Format::Cf | Format::Zstd => Ok(()),
        }
    }

    fn chunk(&mut self, src: &[u8], packed: &[u8], checksum: u32) -> Result<(), Error> {
        let len = src.len();
        self.bytes_in += len as u64;
        self.chunks += 1;
        match self.params.format {
            Format::Gzip => {
                let header = gzip::header(self.params.level, packed.len(), len);
                self.write([&header, packed, &gzip::trailer(checksum, len)])
            }
            Format::Cf => {
                let header = u32::try_from(packed.len()).unwrap_or(u32::MAX).to_le_bytes();
                self.write([&header, packed, &[]])
            }
            Format::Zlib => {
                self.adler = adler32_combine(self.adler, checksum, len as u64);
                self.write([packed, &[], &[]])
            }
            Format::Raw => {
                if self.member.is_some() {
                    self.crc = crc32_combine(self.crc, checksum, len as u64);
                }
                self.write([packed, &[], &[]])
            }
            Format::Lz4 => {
                self.hash.update(src);
                self.write([packed, &[], &[]])
            }
            Format::Zstd => {
                self.table.push(packed.len(), len);
                self.write([packed, &[], &[]])
            }
        }
    }

    fn finish(mut self) -> Result<Summary, Error> {
        match self.params.format {
            Format::Gzip | Format::Cf => {}
            Format::Zlib => self.write([&FINAL_BLOCK, &self.adler.to_be_bytes(), &[]])?,
            Format::Raw => {
                // ISIZE is defined modulo 2^32.
                let trailer = gzip::trailer(self.crc, self.bytes_in as usize);
                let trailer = self.member.map_or(&[][..], |_| &trailer);
                self.write([&FINAL_BLOCK, trailer, &[]])?;
            }
            // The end mark, and the content's checksum.
            Format::Lz4 => {
                let hash = self.hash.value();
                self.write([&[0; 4], &hash.to_le_bytes(), &[]])?;
            }
            Format::Zstd => {
                let table = core::mem::take(&mut self.table);
                if table.is_there() {
                    let (head, entries, foot) = table.parts();
                    self.write([&head, entries, &foot])?;
                }
            }
        }
        self.sink.flush().map_err(|e| Error::io("write", e))?;
        Ok(Summary {
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            chunks: self.chunks,
            trailing_garbage: false,
        })
    }

    fn write(&mut self, parts: [&[u8]; 3]) -> Result<(), Error> {
        self.bytes_out += parts.iter().map(|p| p.len() as u64).sum::<u64>();
        write_parts(self.sink, parts).map_err(|e| Error::io("write", e))
    }
}

/// The two bytes that begin a zlib stream (RFC 1950 section 2.2).
fn zlib_header(params: &Params) -> [u8; 2] {
    let cmf = (params.window_bits - 8) << 4 | 8;
    let level = match params.level {
        0 | 1 => 0,
        2..=5 => 1,
        6 => 2,
        _ => 3,
    };
    let flg = level << 6;
    // FCHECK makes the two bytes, as a number, a multiple of 31.
    let check = 31 - (u16::from(cmf) << 8 | u16::from(flg)) % 31;
    [cmf, flg | check as u8]
}

/// One gathering write where the sink has it; no copy.
fn write_parts(sink: &mut dyn Write, parts: [&[u8]; 3]) -> io::Result<()> {
    let mut slices = parts.map(IoSlice::new);
    let mut left = &mut slices[..];
    IoSlice::advance_slices(&mut left, 0);
    while !left.is_empty() {
        match sink.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => IoSlice::advance_slices(&mut left, n),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zlib_headers_are_valid() {
        for window_bits in 9..=15 {
            for level in 0..=12 {
                let [cmf, flg] = zlib_header(&Params { window_bits, level, ..Params::default() });
                assert_eq!((u32::from(cmf) * 256 + u32::from(flg)) % 31, 0);
                assert_eq!((cmf & 15, (cmf >> 4) + 8, flg & 0x20), (8, window_bits, 0));
            }
        }
        assert_eq!(zlib_header(&Params { level: 6, ..Params::default() }), [0x78, 0x9c]);
    }

    #[test]
    fn chunks_shrink_only_for_threads() {
        let p = |num_threads, chunk_size| Params { num_threads, chunk_size, ..Params::default() };
        assert_eq!(chunk_size(&p(0, 1 << 30), Some(1 << 20)), 1 << 30);
        assert_eq!(chunk_size(&p(4, 1 << 30), Some(1 << 20)), 1 << 18);
        assert_eq!(chunk_size(&p(3, 1 << 30), Some(1 << 20)), 349_526);
        assert_eq!(chunk_size(&p(4, 1 << 30), Some(10)), 65_536);
        assert_eq!(chunk_size(&p(4, 4096), Some(10)), 4096);
        assert_eq!(chunk_size(&p(4, 1 << 30), None), 1 << 30);
    }
}
