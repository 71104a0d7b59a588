//! Decompression: members with our index or BGZF's, `cf` blocks, LZ4's independent blocks and Zstandard's frames in parallel,
//! all else as one stream.

use std::io::Write;

use crate::{
    Summary,
    error::{BadReason, Error},
    gzip::{self, Index},
    input::{Input, Source},
    lz4,
    params::{Format, Params},
    pipeline::{self, Feed, Item},
    provider::{Direction, LaneSpec, Own, Provider, Task, TaskError},
    serial::{Drain, Inflater, Serial},
    zlib, zstd,
};

/// The largest chunk (compressed or not) that is decompressed in one piece. Larger ones are
/// streamed, so what a length field says costs at most this much memory.
const LARGEST: usize = 16 << 20;
/// Buffers alive at one time in parallel decompression.
const BUDGET: usize = 48 << 20;
/// The most that DEFLATE can expand.
const MAX_EXPANSION: usize = 1032;

/// The format that data with this beginning (at least two bytes; four for LZ4 and Zstandard) is in: gzip, zlib,
/// LZ4 or Zstandard. The others cannot be told. A skippable frame, which LZ4 has too, is taken for Zstandard's.
pub fn detect(start: &[u8]) -> Option<Format> {
    match *start {
        [0x1f, 0x8b, ..] => Some(Format::Gzip),
        [a, b, c, d, ..] if [a, b, c, d] == lz4::MAGIC => Some(Format::Lz4),
        [a, b, c, d, ..] if [a, b, c, d] == zstd::MAGIC => Some(Format::Zstd),
        [a, b, c, d, ..] if zstd::is_skippable([a, b, c, d]) => Some(Format::Zstd),
        [cmf, flg, ..] if is_zlib(cmf, flg) => Some(Format::Zlib),
        _ => None,
    }
}

/// RFC 1950 section 2.2: DEFLATE, window at most 32 KB, the check.
fn is_zlib(cmf: u8, flg: u8) -> bool {
    cmf & 15 == 8 && cmf >> 4 <= 7 && (u16::from(cmf) << 8 | u16::from(flg)) % 31 == 0
}

/// Decompresses `source`, which is in [`Params::format`], to `sink`. `watch` is called now and then
/// with the bytes read and written so far.
///
/// Memory is bounded by a constant plus the requests outstanding, whatever the source says.
/// Zeros after the last gzip member, zlib stream or frame are ignored; other bytes there are ignored too
/// and reported in [`Summary::trailing_garbage`]. Frames of LZ4 and Zstandard that want a dictionary are refused,
/// and of Zstandard those that can only be streamed and want a window above 128 MiB.
///
/// # Errors
/// See [`Error`]. What is in `sink` is then of no use.
pub fn decompress(
    provider: &dyn Provider,
    params: &Params,
    source: Source<'_>,
    sink: &mut dyn Write,
    watch: &mut dyn FnMut(u64, u64),
) -> Result<Summary, Error> {
    params.validate()?;
    let out = Out { sink, written: 0, limit: params.limit, watch };
    let mut d = Decompression {
        provider,
        params,
        input: Input::new(source, params.copy || !provider.borrows(Own)),
        out,
        chunks: 0,
        parallel: true,
        serial: Serial::new(),
        inflater: None,
    };
    let trailing_garbage = match params.format {
        Format::Gzip => d.gzip()?,
        Format::Zlib | Format::Raw => d.single(params.format)?,
        Format::Cf => d.cf()?,
        Format::Lz4 | Format::Zstd => d.frames(params.format)?,
    };
    d.out.sink.flush().map_err(|e| Error::io("write", e))?;
    Ok(Summary {
        bytes_in: d.input.consumed,
        bytes_out: d.out.written,
        chunks: d.chunks,
        trailing_garbage,
    })
}

struct Out<'s> {
    sink: &'s mut dyn Write,
    written: u64,
    limit: Option<u64>,
    watch: &'s mut dyn FnMut(u64, u64),
}

impl Out<'_> {
    fn put(&mut self, bytes: &[u8], consumed: u64) -> Result<(), Error> {
        self.written += bytes.len() as u64;
        if let Some(limit) = self.limit
            && self.written > limit
        {
            return Err(Error::Limit(limit));
        }
        self.sink.write_all(bytes).map_err(|e| Error::io("write", e))?;
        (self.watch)(consumed, self.written);
        Ok(())
    }
}

impl Drain for Out<'_> {
    fn write(&mut self, bytes: &[u8], input: &Input<'_>) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.put(bytes, input.consumed)
    }
}

struct Decompression<'a, 's> {
    provider: &'s dyn Provider,
    params: &'s Params,
    input: Input<'a>,
    out: Out<'s>,
    chunks: u64,
    /// Until a chunk was not what its length said.
    parallel: bool,
    serial: Serial,
    inflater: Option<Box<dyn Inflater>>,
}

impl Decompression<'_, '_> {
    /// Members until the end. Returns whether there is trailing garbage.
    fn gzip(&mut self) -> Result<bool, Error> {
        let mut first = true;
        loop {
            let at = self.input.consumed;
            let start = self.input.peek(crate::gzip::HEADER)?;
            match start {
                [0x1f, 0x8b, ..] => {}
                [] | [0x1f] if first => return Err(truncated(at)),
                _ if first => return Err(Error::NotThisFormat(Format::Gzip)),
                // Too short to tell whether it would be a member: gunzip takes it for one.
                [1..=u8::MAX] => return Err(truncated(at)),
                _ => return self.trailing(),
            }
            let indexed = self.parallel && member(&mut self.input)?.is_some();
            if !(indexed && self.side_by_side(Format::Gzip)?) {
                self.stream(Format::Gzip, None)?;
            }
            first = false;
        }
    }

    /// One stream. Returns whether there is trailing garbage.
    fn single(&mut self, format: Format) -> Result<bool, Error> {
        if format == Format::Zlib
            && let [cmf, flg, ..] = *self.input.peek(2)?
            && !is_zlib(cmf, flg)
        {
            return Err(Error::NotThisFormat(format));
        }
        self.stream(format, None)?;
        self.trailing()
    }

    /// Blocks until the end.
    fn cf(&mut self) -> Result<bool, Error> {
        loop {
            let at = self.input.consumed;
            let start = self.input.peek(4)?;
            if start.is_empty() {
                return Ok(false);
            }
            let Some(len) = Lengths::block(start) else { return Err(truncated(at)) };
            if self.parallel && len <= LARGEST && self.side_by_side(Format::Cf)? {
                continue;
            }
            // Where it stopped is not where it began.
            let at = self.input.consumed;
            let start = self.input.peek(4)?;
            let Some(len) = Lengths::block(start) else { return Err(truncated(at)) };
            self.input.consume(4);
            self.stream(Format::Cf, Some(len))?;
        }
    }

    /// Frames of LZ4 or Zstandard until the end. Returns whether there is trailing garbage.
    fn frames(&mut self, format: Format) -> Result<bool, Error> {
        let magic = if format == Format::Lz4 { lz4::MAGIC } else { zstd::MAGIC };
        let mut first = true;
        loop {
            let at = self.input.consumed;
            let start = self.input.peek(8)?;
            let Some(found) = start.first_chunk::<4>() else {
                // The beginning of a frame is taken for a truncated one.
                return match magic.starts_with(start) {
                    true if first || !start.is_empty() => Err(truncated(at)),
                    true => Ok(false),
                    false if first => Err(Error::NotThisFormat(format)),
                    false => self.trailing(),
                };
            };
            if *found == magic {
                match format {
                    Format::Lz4 => self.lz4_frame()?,
                    _ => {
                        let whole = self.parallel && frame(&mut self.input)?.is_some();
                        if !(whole && self.side_by_side(format)?) {
                            self.stream(format, None)?;
                        }
                    }
                }
            } else if zstd::is_skippable(*found) {
                let Some(&len) = start[4..].first_chunk() else { return Err(truncated(at)) };
                self.input.consume(8);
                self.skip(u32::from_le_bytes(len).into())?;
            } else if first {
                return Err(Error::NotThisFormat(format));
            } else {
                return self.trailing();
            }
            first = false;
        }
    }

    /// Passes over so many bytes.
    fn skip(&mut self, mut left: u64) -> Result<(), Error> {
        while left > 0 {
            let here = self.input.peek(1)?.len();
            if here == 0 {
                return Err(truncated(self.input.consumed));
            }
            let step = usize::try_from(left).unwrap_or(usize::MAX).min(here);
            self.input.consume(step);
            left -= step as u64;
        }
        Ok(())
    }

    /// One LZ4 frame: its blocks side by side where they are independent, otherwise as a stream.
    fn lz4_frame(&mut self) -> Result<(), Error> {
        let header = lz4::Header::read(self.input.peek(lz4::MAX_HEADER)?);
        let Some(header) = header.filter(|header| header.side_by_side) else {
            return self.stream(Format::Lz4, None);
        };
        self.input.consume(header.len);
        let (out, chunks) = (&mut self.out, &mut self.chunks);
        let before = out.written;
        let mut at = self.input.consumed;
        let mut hash = lz4::ContentHash::default();
        let mut emit = |task: &Task<'_>| {
            let len = task.src.len();
            let outcome = match &task.outcome {
                Ok(outcome) if outcome.consumed == len => outcome,
                Err(TaskError::Failed(what)) => {
                    let provider = self.provider.name().into();
                    return Err(Error::Provider { provider, what: what.clone() });
                }
                // Damaged, or more in it than the frame's header allows.
                _ => return Err(Error::BadData { offset: at, reason: BadReason::Block }),
            };
            let data = &task.dst[..outcome.produced];
            if header.content_checksum {
                hash.update(data);
            }
            at += len as u64;
            *chunks += 1;
            out.put(data, at)?;
            Ok(true)
        };
        let mut feed = Blocks { input: &mut self.input, largest: header.block, ended: false };
        let spec = LaneSpec { direction: Direction::Decompress, format: Format::Lz4 };
        pipeline::run(self.provider, self.params, spec, BUDGET, &mut feed, &mut emit)?;
        let content = self.out.written - before;
        let offset = self.input.consumed;
        if header.content_size.is_some_and(|size| size != content) {
            return Err(Error::BadData { offset, reason: BadReason::Length });
        }
        if header.content_checksum {
            let found = self.input.peek(4)?.first_chunk().ok_or(truncated(offset))?;
            if u32::from_le_bytes(*found) != hash.value() {
                return Err(Error::BadData { offset, reason: BadReason::Checksum });
            }
            self.input.consume(4);
        }
        Ok(())
    }

    /// Decompresses in parallel from here on, as long as chunks come with lengths. Returns `false`
    /// when the chunk that the input is at now is not what its length said: then it is to be
    /// streamed, which decides the truth. The rest is streamed too, so that a hostile file
    /// cannot have us do things twice again and again.
    fn side_by_side(&mut self, format: Format) -> Result<bool, Error> {
        let (out, chunks) = (&mut self.out, &mut self.chunks);
        let mut consumed = self.input.consumed;
        let mut emitted = 0;
        let (chunk, starts) = (self.params.chunk_size, Vec::new());
        let mut feed = Lengths { input: &mut self.input, format, chunk, starts, short: false };
        let mut emit = |task: &Task<'_>| {
            let len = task.src.len();
            let outcome = match &task.outcome {
                Ok(outcome) => outcome,
                // Not the data's fault, so that another way would hide it.
                Err(TaskError::Failed(what)) => {
                    let provider = self.provider.name().into();
                    return Err(Error::Provider { provider, what: what.clone() });
                }
                Err(_) => return Ok(false),
            };
            let promised = match format {
                Format::Gzip => gzip::promised(task.src.bytes()).map(|data| data as usize),
                Format::Zstd => zstd::Header::read(task.src.bytes()).map(|h| h.content as usize),
                _ => Some(outcome.produced),
            };
            let good = outcome.consumed == len && Some(outcome.produced) == promised;
            let Some(data) = task.dst.get(..outcome.produced).filter(|_| good) else {
                return Ok(false);
            };
            consumed += (len + header(format, len).len()) as u64;
            *chunks += 1;
            emitted += 1;
            out.put(data, consumed)?;
            Ok(true)
        };
        let spec = LaneSpec { direction: Direction::Decompress, format };
        let rest = pipeline::run(self.provider, self.params, spec, BUDGET, &mut feed, &mut emit)?;
        let (short, starts) = (feed.short, feed.starts);
        if !rest.is_empty() {
            let headers: Vec<_> = rest.iter().map(|c| header(format, c.len())).collect();
            let parts = headers.iter().zip(&rest).flat_map(|(h, c)| [h.as_slice(), c.bytes()]);
            let parts = parts.collect::<Vec<_>>();
            match starts.get(emitted) {
                Some(&start) => self.input.unread_from(start, &parts),
                None => self.input.unread(&parts),
            }
        }
        self.parallel = !short && rest.is_empty();
        Ok(self.parallel)
    }

    /// Decompresses the stream that the input is at.
    fn stream(&mut self, format: Format, limit: Option<usize>) -> Result<(), Error> {
        let base = self.input.consumed;
        let inflater = match &mut self.inflater {
            Some(inflater) => {
                inflater.restart()?;
                inflater
            }
            none => {
                let own = self.provider.open_stream(self.params, format)?;
                none.insert(own.map_or_else(|| zlib::stream(format), Ok)?)
            }
        };
        self.serial.run(&mut **inflater, &mut self.input, limit, &mut self.out)?;
        self.chunks += 1;
        let used = self.input.consumed - base;
        match limit {
            Some(limit) if used != limit as u64 => {
                Err(Error::BadData { offset: base, reason: BadReason::Length })
            }
            _ => Ok(()),
        }
    }

    /// What comes after the end. Returns whether that is anything but zeros.
    fn trailing(&mut self) -> Result<bool, Error> {
        loop {
            let rest = self.input.peek(1)?;
            let len = rest.len();
            if rest.iter().any(|&b| b != 0) {
                return Ok(true);
            }
            if len == 0 {
                return Ok(false);
            }
            self.input.consume(len);
        }
    }
}

fn truncated(offset: u64) -> Error {
    Error::BadData { offset, reason: BadReason::Truncated }
}

/// The blocks of an LZ4 frame, each with its length before it.
struct Blocks<'i, 'a> {
    input: &'i mut Input<'a>,
    /// The largest that the frame may have.
    largest: usize,
    /// The end mark was there.
    ended: bool,
}

impl<'a> Feed<'a> for Blocks<'_, 'a> {
    fn next(&mut self, spare: Vec<u8>) -> Result<Option<Item<'a>>, Error> {
        if self.ended {
            return Ok(None);
        }
        let at = self.input.consumed;
        let head = *self.input.peek(4)?.first_chunk().ok_or(truncated(at))?;
        let word = u32::from_le_bytes(head);
        if word == 0 {
            self.input.consume(4);
            self.ended = true;
            return Ok(None);
        }
        let len = (word & !lz4::STORED) as usize;
        if len > self.largest {
            return Err(Error::BadData { offset: at, reason: BadReason::Block });
        }
        let src = self.input.take(4 + len, spare)?;
        if src.len() < 4 + len {
            return Err(truncated(self.input.consumed));
        }
        // A byte of a block becomes at most 255.
        let room = match word & lz4::STORED {
            0 => len.saturating_mul(255).min(self.largest),
            _ => len,
        };
        Ok(Some(Item { src, room, max_room: self.largest }))
    }
}

/// The chunks that come with their lengths: gzip members with our index or BGZF's, `cf` blocks, Zstandard's frames.
struct Lengths<'i, 'a> {
    input: &'i mut Input<'a>,
    format: Format,
    /// What a `cf` block is likely to decompress to.
    chunk: usize,
    /// Where each Zstandard frame began: skippable frames between them are passed over.
    starts: Vec<u64>,
    /// The input ended within a chunk.
    short: bool,
}

/// So many Zstandard frames go through one lane; where each began is remembered for so long.
const FRAMES: usize = 1 << 16;

/// The lengths of the gzip member that the input is at, packed and not, if it may be decompressed in one piece.
fn member(input: &mut Input<'_>) -> Result<Option<(usize, usize)>, Error> {
    let start = input.peek(gzip::HEADER)?;
    if let Some(index) = Index::read(start) {
        let (len, data) = (index.member as usize, index.data as usize);
        return Ok(Some((len, data)).filter(|_| len <= LARGEST && data <= LARGEST));
    }
    let Some(len) = gzip::bgzf(start) else { return Ok(None) };
    let whole = input.peek(len)?.get(..len);
    Ok(whole.and_then(gzip::promised).map(|data| (len, data as usize)))
}

/// The lengths of the Zstandard frame that the input is at, packed and not, if it may be decompressed in one piece.
fn frame(input: &mut Input<'_>) -> Result<Option<(usize, usize)>, Error> {
    let Some(header) = zstd::Header::read(input.peek(zstd::MAX_HEADER)?) else { return Ok(None) };
    let Some(data) = usize::try_from(header.content).ok().filter(|&data| data <= LARGEST) else {
        return Ok(None);
    };
    let mut len = header.len;
    loop {
        let start = input.peek(len + zstd::BLOCK_HEADER)?;
        let Some(&head) = start.get(len..).and_then(<[u8]>::first_chunk) else {
            return Ok(None);
        };
        let (size, last) = zstd::block(head);
        len += zstd::BLOCK_HEADER + size;
        if len > LARGEST {
            return Ok(None);
        }
        if last {
            return Ok(Some((if header.checksum { len + 4 } else { len }, data)));
        }
    }
}

/// What stands before a chunk of this length and is no part of it.
fn header(format: Format, len: usize) -> Vec<u8> {
    match format {
        Format::Cf => u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes().to_vec(),
        _ => Vec::new(),
    }
}

impl Lengths<'_, '_> {
    /// Passes over the skippable frames that the input is at, the small ones (`pzstd` has one before each frame).
    fn skip_small(&mut self) -> Result<(), Error> {
        /// Ours of a file of 32 MB in chunks of 64 KB is not longer.
        const SMALL: usize = 4096;
        loop {
            let start = self.input.peek(8)?;
            let (Some(magic), Some(len)) =
                (start.first_chunk(), start.get(4..).and_then(<[u8]>::first_chunk))
            else {
                return Ok(());
            };
            let len = u32::from_le_bytes(*len) as usize;
            if !zstd::is_skippable(*magic)
                || len > SMALL
                || self.input.peek(8 + len)?.len() < 8 + len
            {
                return Ok(());
            }
            self.input.consume(8 + len);
        }
    }

    /// The length of the block that begins here; `None` when the file ends within its header.
    fn block(start: &[u8]) -> Option<usize> {
        start.first_chunk().map(|h| u32::from_le_bytes(*h) as usize)
    }
}

impl<'a> Feed<'a> for Lengths<'_, 'a> {
    fn next(&mut self, spare: Vec<u8>) -> Result<Option<Item<'a>>, Error> {
        if self.short {
            return Ok(None);
        }
        let (len, room, max_room) = match self.format {
            Format::Gzip => match member(self.input)? {
                // Not one byte more than promised.
                Some((len, data)) => (len, data, data),
                None => return Ok(None),
            },
            Format::Zstd => {
                self.skip_small()?;
                match frame(self.input)?.filter(|_| self.starts.len() < FRAMES) {
                    Some((len, data)) => (len, data, data),
                    None => return Ok(None),
                }
            }
            _ => match Self::block(self.input.peek(4)?).filter(|&len| len <= LARGEST) {
                Some(len) => {
                    let most = len.saturating_mul(MAX_EXPANSION).min(LARGEST);
                    (len, len.saturating_mul(4).max(self.chunk).min(most), most)
                }
                None => return Ok(None),
            },
        };
        let before = header(self.format, len);
        let before = before.as_slice();
        if self.format == Format::Zstd {
            self.starts.push(self.input.consumed);
        }
        self.input.consume(before.len());
        let src = self.input.take(len, spare)?;
        if src.len() < len {
            self.short = true;
            self.input.unread(&[before, src.bytes()]);
            return Ok(None);
        }
        Ok(Some(Item { src, room, max_room }))
    }
}
