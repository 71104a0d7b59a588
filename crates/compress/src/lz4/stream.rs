//! LZ4 frames that come and go in pieces.

use lookaside_spec::dc::{Checksum, Compression, Flush};
use lookaside_spec::{BadReason, Done, OpError, Status};

use super::frame::{self, Descriptor, Start};
use super::{Scratch, decode_block, refusal_within};
use crate::checksum::{RunningChecksum, xxh32};
use crate::kernel::liblz4::WINDOW;
use crate::stream::Staging;

/// Where a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Header,
    Body,
    Trailer,
    End,
}

/// Makes one frame of independent blocks.
pub(crate) struct Encoder {
    level: u8,
    block_bits: u8,
    scratch: Scratch,
    /// Source of a block that is not full yet.
    pending: Vec<u8>,
    staging: Staging,
    phase: Phase,
    /// The last input was taken with [`Flush::Finish`].
    finishing: bool,
    sum: RunningChecksum,
}

impl Encoder {
    pub(crate) fn new(spec: &Compression) -> Encoder {
        Encoder {
            level: spec.level,
            block_bits: spec.block_bits,
            scratch: Scratch::default(),
            pending: Vec::new(),
            staging: Staging::default(),
            phase: Phase::Header,
            finishing: false,
            sum: RunningChecksum::new(Checksum::Xxh32),
        }
    }

    pub(crate) fn reset(&mut self) {
        self.pending.clear();
        self.staging.clear();
        self.phase = Phase::Header;
        self.finishing = false;
        self.sum = RunningChecksum::new(Checksum::Xxh32);
    }

    pub(crate) fn step(
        &mut self,
        src: &[u8],
        dst: &mut [u8],
        flush: Flush,
    ) -> Result<Done, OpError> {
        if self.finishing && !src.is_empty() {
            return Err(OpError::StreamEnded);
        }
        let flush = if self.finishing { Flush::Finish } else { flush };
        let block = 1usize << self.block_bits;
        let (mut consumed, mut produced) = (0, 0);
        let status = loop {
            produced += self.staging.drain(&mut dst[produced..]);
            if !self.staging.is_empty() {
                break Status::Overflow;
            }
            let rest = &src[consumed..];
            self.finishing |= flush == Flush::Finish && rest.is_empty();
            match self.phase {
                Phase::Header => {
                    let (header, len) = Descriptor::own(self.block_bits, None).header();
                    self.staging.bytes.extend_from_slice(&header[..len]);
                    self.phase = Phase::Body;
                }
                Phase::Body if rest.is_empty() => match flush {
                    Flush::None => break Status::Complete,
                    _ if !self.pending.is_empty() => self.flush_pending()?,
                    Flush::Finish => self.phase = Phase::Trailer,
                    Flush::Sync | Flush::Full => break Status::Complete,
                },
                Phase::Body => {
                    let take = rest.len().min(block - self.pending.len());
                    let part = &rest[..take];
                    self.sum.update(part);
                    consumed += take;
                    if take == block {
                        self.emit(part)?;
                    } else {
                        self.pending.extend_from_slice(part);
                        if self.pending.len() == block {
                            self.flush_pending()?;
                        }
                    }
                }
                Phase::Trailer => {
                    let sum = self.sum.value() as u32;
                    self.staging.bytes.extend_from_slice(&[0; 4]);
                    self.staging.bytes.extend_from_slice(&sum.to_le_bytes());
                    self.phase = Phase::End;
                }
                Phase::End => break Status::End,
            }
        };
        Ok(Done { consumed, produced, checksum: self.sum.value(), status })
    }

    fn flush_pending(&mut self) -> Result<(), OpError> {
        let mut pending = std::mem::take(&mut self.pending);
        let result = self.emit(&pending);
        pending.clear();
        self.pending = pending;
        result
    }

    /// A block with its length, to the staging memory, which is empty.
    fn emit(&mut self, block: &[u8]) -> Result<(), OpError> {
        let bytes = &mut self.staging.bytes;
        bytes.resize(4 + block.len(), 0);
        let len = self.scratch.blocks(self.level, self.block_bits, block, bytes)?;
        bytes.truncate(len);
        Ok(())
    }
}

/// What comes next in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Header,
    /// The rest of a skippable frame.
    Skip(u64),
    BlockHead,
    Block {
        len: usize,
        stored: bool,
    },
    Checksum,
    End,
}

/// Reads one frame, with independent or linked blocks.
pub(crate) struct Decoder {
    next: Next,
    /// Bytes of a field or block that is not whole yet.
    field: Vec<u8>,
    descriptor: Descriptor,
    /// History, and behind it the block that was decoded last.
    memory: Vec<u8>,
    /// How long the history is.
    history: usize,
    /// What of `memory` is still to be written to a destination.
    ready: core::ops::Range<usize>,
    sum: RunningChecksum,
    total_in: usize,
    total_out: u64,
    failed: Option<OpError>,
}

impl Decoder {
    pub(crate) fn new() -> Decoder {
        Decoder {
            next: Next::Header,
            field: Vec::new(),
            descriptor: Descriptor::own(16, None),
            memory: Vec::new(),
            history: 0,
            ready: 0..0,
            sum: RunningChecksum::new(Checksum::Xxh32),
            total_in: 0,
            total_out: 0,
            failed: None,
        }
    }

    pub(crate) fn reset(&mut self) {
        self.next = Next::Header;
        self.field.clear();
        self.history = 0;
        self.ready = 0..0;
        self.sum = RunningChecksum::new(Checksum::Xxh32);
        (self.total_in, self.total_out) = (0, 0);
        self.failed = None;
    }

    pub(crate) fn step(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Done, OpError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.run(src, dst).inspect_err(|&error| self.failed = Some(error))
    }

    fn run(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Done, OpError> {
        let (mut consumed, mut produced) = (0, 0);
        let status = loop {
            let part = self.ready.len().min(dst.len() - produced);
            if part > 0 {
                let from = self.ready.start;
                dst[produced..produced + part].copy_from_slice(&self.memory[from..from + part]);
                self.ready.start += part;
                produced += part;
            }
            if !self.ready.is_empty() {
                break Status::Overflow;
            }
            let rest = &src[consumed..];
            let taken = match self.next {
                Next::End => break Status::End,
                Next::Header => self.header(rest)?,
                Next::Skip(0) => {
                    self.next = Next::End;
                    0
                }
                Next::Skip(left) => {
                    let skipped = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                    self.next = Next::Skip(left - skipped as u64);
                    skipped
                }
                Next::BlockHead => self.block_head(rest)?,
                Next::Block { len, stored } => {
                    let (taken, written) = self.block(rest, len, stored, &mut dst[produced..])?;
                    produced += written;
                    taken
                }
                Next::Checksum => self.content_checksum(rest)?,
            };
            consumed += taken;
            self.total_in += taken;
            if taken == 0 && consumed == src.len() && self.ready.is_empty() && !self.is_at_end() {
                break Status::Complete;
            }
        };
        Ok(Done { consumed, produced, checksum: self.sum.value(), status })
    }

    /// Nothing more is needed to end.
    fn is_at_end(&self) -> bool {
        matches!(self.next, Next::End | Next::Skip(0))
    }

    fn header(&mut self, rest: &[u8]) -> Result<usize, OpError> {
        let before = self.field.len();
        let base = self.total_in - before;
        for (i, &byte) in rest.iter().enumerate() {
            self.field.push(byte);
            match frame::start(&self.field) {
                Ok(Start::More) => {}
                Ok(Start::Skippable(len)) => {
                    self.field.clear();
                    self.next = Next::Skip(len.into());
                    return Ok(i + 1);
                }
                Ok(Start::Frame(descriptor, len)) => {
                    self.field.clear();
                    if descriptor.dictionary.is_some() {
                        return Err(BadReason::Dictionary.at(base + len));
                    }
                    self.descriptor = descriptor;
                    self.next = Next::BlockHead;
                    return Ok(i + 1);
                }
                Err((offset, reason)) => return Err(reason.at(base + offset)),
            }
        }
        Ok(rest.len())
    }

    /// Four bytes that may come in pieces, and how many of `rest` they took.
    fn word(&mut self, rest: &[u8]) -> (Option<[u8; 4]>, usize) {
        let taken = rest.len().min(4 - self.field.len());
        self.field.extend_from_slice(&rest[..taken]);
        let word = self.field.first_chunk().copied();
        if word.is_some() {
            self.field.clear();
        }
        (word, taken)
    }

    fn block_head(&mut self, rest: &[u8]) -> Result<usize, OpError> {
        let (word, taken) = self.word(rest);
        let Some(head) = word else { return Ok(taken) };
        match frame::block_of(head) {
            Some((len, _)) if len > self.descriptor.block() => {
                return Err(BadReason::Block.at(self.total_in + taken - 4));
            }
            Some((len, stored)) => self.next = Next::Block { len, stored },
            None => {
                if self.descriptor.content_size.is_some_and(|size| size != self.total_out) {
                    return Err(BadReason::Length.at(self.total_in + taken));
                }
                self.next =
                    if self.descriptor.content_checksum { Next::Checksum } else { Next::End };
            }
        }
        Ok(taken)
    }

    fn content_checksum(&mut self, rest: &[u8]) -> Result<usize, OpError> {
        let (word, taken) = self.word(rest);
        if let Some(found) = word {
            if u64::from(u32::from_le_bytes(found)) != self.sum.value() {
                return Err(BadReason::Checksum.at(self.total_in + taken - 4));
            }
            self.next = Next::End;
        }
        Ok(taken)
    }

    /// A block and its checksum: whole in `rest`, or collected. Returns the bytes taken, and those written to
    /// `dst` directly.
    fn block(
        &mut self,
        rest: &[u8],
        len: usize,
        stored: bool,
        dst: &mut [u8],
    ) -> Result<(usize, usize), OpError> {
        let whole = len + if self.descriptor.block_checksum { 4 } else { 0 };
        if self.field.is_empty() && rest.len() >= whole {
            let written = self.decode(&rest[..whole], len, stored, dst, self.total_in)?;
            return Ok((whole, written));
        }
        let taken = rest.len().min(whole - self.field.len());
        self.field.extend_from_slice(&rest[..taken]);
        if self.field.len() < whole {
            return Ok((taken, 0));
        }
        let field = std::mem::take(&mut self.field);
        let base = self.total_in + taken - whole;
        let written = self.decode(&field, len, stored, dst, base)?;
        self.field = field;
        self.field.clear();
        Ok((taken, written))
    }

    fn decode(
        &mut self,
        block: &[u8],
        len: usize,
        stored: bool,
        dst: &mut [u8],
        base: usize,
    ) -> Result<usize, OpError> {
        let (data, sum) = block.split_at(len);
        if let Some(sum) = sum.first_chunk()
            && xxh32(0, data) != u32::from_le_bytes(*sum)
        {
            return Err(BadReason::Checksum.at(base + len));
        }
        self.next = Next::BlockHead;
        let largest = self.descriptor.block();
        if self.descriptor.independent && dst.len() >= largest {
            let written = one(data, stored, dst, 0, largest, base)?;
            self.sum.update(&dst[..written]);
            self.total_out += written as u64;
            return Ok(written);
        }
        self.history = match self.descriptor.independent {
            true => 0,
            false => {
                let end = self.ready.end.max(self.history);
                let kept = end.min(WINDOW);
                self.memory.copy_within(end - kept..end, 0);
                kept
            }
        };
        let end = self.history + largest;
        if self.memory.len() < end {
            let more = end - self.memory.len();
            self.memory.try_reserve_exact(more).map_err(|_| OpError::NoMemory)?;
            self.memory.resize(end, 0);
        }
        let start = self.history;
        let written = one(data, stored, &mut self.memory, start, end, base)?;
        self.ready = start..start + written;
        self.sum.update(&self.memory[start..start + written]);
        self.total_out += written as u64;
        Ok(0)
    }
}

/// One block to `memory[start..end]`, of which it may fill all.
fn one(
    data: &[u8],
    stored: bool,
    memory: &mut [u8],
    start: usize,
    end: usize,
    base: usize,
) -> Result<usize, OpError> {
    if stored {
        memory[start..start + data.len()].copy_from_slice(data);
        return Ok(data.len());
    }
    decode_block(data, memory, start, end).map_err(|fault| refusal_within(fault, base, false))
}
