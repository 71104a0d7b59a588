//! DEFLATE streams, with their wrappers.

use super::Staging;
use crate::checksum::RunningChecksum;
use crate::codec::Codec;
use crate::format::{self, HeaderParser};
use crate::kernel::StreamKernel;
use crate::kernel::inflate::{Inflate, Place, Until};
use crate::kernel::libdeflate::adler32;
use lookaside_spec::dc::{Compression, Flush, Format};
use lookaside_spec::{BadReason, Done, OpError, Status};

/// A kernel is only let at the caller's `dst` when it has this much room; below, it writes to
/// memory of ours. So no kernel meets a destination of a few bytes, and no flush marker is cut.
const MIN_DIRECT: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Header,
    Body,
    Trailer,
    End,
}

/// See [`crate::CompressStream`].
pub(crate) struct Encoder {
    spec: Compression,
    kernel_name: &'static str,
    kernel: StreamKernel,
    dictionary: Option<(Box<[u8]>, u32)>,
    staging: Staging,
    phase: Phase,
    /// The strongest flush that is out since the last input byte.
    flushed: Flush,
    /// The last input was taken with [`Flush::Finish`].
    finishing: bool,
    failed: bool,
    checksum: RunningChecksum,
    total_in: u64,
}

impl Encoder {
    pub(crate) fn new(codec: &Codec, dictionary: Option<&[u8]>) -> Encoder {
        let spec = codec.spec().clone();
        let kernel = codec.stream_kernel();
        let mut stream = Encoder {
            kernel: StreamKernel::new(kernel, spec.window_bits),
            kernel_name: kernel.name(),
            dictionary: dictionary.map(|bytes| (bytes.into(), adler32(1, bytes))),
            staging: Staging::new(),
            phase: Phase::Header,
            flushed: Flush::None,
            finishing: false,
            failed: false,
            checksum: RunningChecksum::new(spec.checksum_in_force()),
            total_in: 0,
            spec,
        };
        stream.preset();
        stream
    }

    pub(crate) fn reset(&mut self) {
        self.kernel.reset();
        self.staging.clear();
        self.phase = Phase::Header;
        self.flushed = Flush::None;
        self.finishing = false;
        self.failed = false;
        self.checksum = RunningChecksum::new(self.spec.checksum_in_force());
        self.total_in = 0;
        self.preset();
    }

    pub(crate) fn reset_with(&mut self, dictionary: Option<&[u8]>) {
        self.dictionary = dictionary.map(|bytes| (bytes.into(), adler32(1, bytes)));
        self.reset();
    }

    fn preset(&mut self) {
        if let Some((bytes, _)) = &self.dictionary {
            // No further back than the window: a match into the rest would be out of it.
            let window = 1usize << self.spec.window_bits;
            let tail = &bytes[bytes.len().saturating_sub(window)..];
            self.failed = !tail.is_empty() && !self.kernel.set_dictionary(tail);
        }
    }

    pub(crate) fn step(
        &mut self,
        src: &[u8],
        dst: &mut [u8],
        flush: Flush,
    ) -> Result<Done, OpError> {
        if self.failed {
            return Err(OpError::Library(self.kernel_name));
        }
        if self.finishing && !src.is_empty() {
            return Err(OpError::StreamEnded);
        }
        let flush = if self.finishing { Flush::Finish } else { flush };
        let (mut consumed, mut produced) = (0, 0);
        let status = loop {
            produced += self.staging.drain(&mut dst[produced..]);
            if !self.staging.is_empty() {
                break Status::Overflow;
            }
            let rest = &src[consumed..];
            match self.phase {
                Phase::Header => {
                    let id = self.dictionary.as_ref().map(|&(_, id)| id);
                    let header = format::header(&self.spec, id);
                    self.staging.bytes.extend_from_slice(header.as_slice());
                    self.phase = Phase::Body;
                }
                Phase::Body if rest.is_empty() && flush <= self.flushed => break Status::Complete,
                Phase::Body => {
                    let room = &mut dst[produced..];
                    let direct = room.len() >= MIN_DIRECT;
                    let step = if direct {
                        self.kernel.step(rest, room, flush)
                    } else {
                        self.staging.bytes.resize(Staging::CAPACITY, 0);
                        let step = self.kernel.step(rest, &mut self.staging.bytes, flush);
                        self.staging.bytes.truncate(step.as_ref().map_or(0, |s| s.produced));
                        step
                    };
                    let Some(step) = step else {
                        self.failed = true;
                        return Err(OpError::Library(self.kernel_name));
                    };
                    self.took(&rest[..step.consumed]);
                    consumed += step.consumed;
                    if direct {
                        produced += step.produced;
                    }
                    if flush == Flush::Finish && consumed == src.len() {
                        self.finishing = true;
                    }
                    if step.done {
                        match flush {
                            Flush::None => {}
                            Flush::Sync | Flush::Full => self.flushed = flush,
                            Flush::Finish => self.phase = Phase::Trailer,
                        }
                    } else if step.consumed == 0 && step.produced == 0 {
                        // With room for hundreds of bytes, a kernel has no reason to stop.
                        self.failed = true;
                        return Err(OpError::Library(self.kernel_name));
                    }
                }
                Phase::Trailer => {
                    let trailer = format::trailer(
                        self.spec.format,
                        self.checksum.value() as u32,
                        self.total_in,
                    );
                    self.staging.bytes.extend_from_slice(trailer.as_slice());
                    self.phase = Phase::End;
                }
                Phase::End => break Status::End,
            }
        };
        Ok(Done { consumed, produced, checksum: self.checksum.value(), status })
    }

    fn took(&mut self, taken: &[u8]) {
        if !taken.is_empty() {
            self.flushed = Flush::None;
            self.total_in += taken.len() as u64;
            self.checksum.update(taken);
        }
    }
}

/// See [`crate::DecompressStream`].
pub(crate) struct Decoder {
    spec: Compression,
    inflate: Box<Inflate>,
    dictionary: Option<(Box<[u8]>, u32)>,
    phase: Phase,
    header: HeaderParser,
    trailer: [u8; 8],
    trailer_len: usize,
    checksum: RunningChecksum,
    total_in: usize,
    total_out: u64,
    failed: Option<OpError>,
}

impl Decoder {
    pub(crate) fn new(codec: &Codec, dictionary: Option<&[u8]>) -> Decoder {
        let spec = codec.spec().clone();
        let mut stream = Decoder {
            inflate: Inflate::boxed(15, codec.cpu()),
            dictionary: dictionary.map(|bytes| (bytes.into(), adler32(1, bytes))),
            phase: Phase::Header,
            header: HeaderParser::new(spec.format),
            trailer: [0; 8],
            trailer_len: 0,
            checksum: RunningChecksum::new(spec.checksum_in_force()),
            total_in: 0,
            total_out: 0,
            failed: None,
            spec,
        };
        stream.preset_raw();
        stream
    }

    pub(crate) fn reset(&mut self) {
        self.inflate.reset(15);
        self.phase = Phase::Header;
        self.header = HeaderParser::new(self.spec.format);
        self.trailer_len = 0;
        self.checksum = RunningChecksum::new(self.spec.checksum_in_force());
        self.total_in = 0;
        self.total_out = 0;
        self.failed = None;
        self.preset_raw();
    }

    fn preset_raw(&mut self) {
        if self.spec.format == Format::Raw {
            self.preset();
        }
    }

    fn preset(&mut self) {
        if let Some((bytes, _)) = &self.dictionary {
            self.inflate.keep(bytes);
        }
    }

    pub(crate) fn step(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Done, OpError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.run(src, dst).inspect_err(|&error| self.failed = Some(error))
    }

    fn run(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Done, OpError> {
        let format = self.spec.format;
        let (mut consumed, mut produced) = (0, 0);
        let status = loop {
            let rest = &src[consumed..];
            match self.phase {
                Phase::Header => match self.header.push(rest) {
                    Ok(None) => {
                        consumed += self.took(rest.len());
                        break Status::Complete;
                    }
                    Ok(Some(header)) => {
                        consumed += self.took(header.consumed);
                        if let Some(wanted) = header.dictionary {
                            if self.dictionary.as_ref().is_none_or(|&(_, id)| id != wanted) {
                                return Err(BadReason::Dictionary.at(self.total_in));
                            }
                            self.preset();
                        }
                        self.phase = Phase::Body;
                    }
                    Err((offset, reason)) => return Err(reason.at(self.total_in + offset)),
                },
                Phase::Body => {
                    let room = &mut dst[produced..];
                    let step = match self.inflate.step(rest, room, Until::Ends) {
                        Ok(step) => step,
                        Err((more, _)) => {
                            return Err(BadReason::Block.at(self.total_in + more.consumed));
                        }
                    };
                    let output = &room[..step.produced];
                    self.checksum.update(output);
                    let ended = self.inflate.at() == Place::End;
                    if !ended {
                        self.inflate.keep(output);
                    }
                    consumed += self.took(step.consumed);
                    produced += step.produced;
                    self.total_out += step.produced as u64;
                    if ended {
                        self.phase = Phase::Trailer;
                    } else if produced == dst.len() {
                        break Status::Overflow;
                    } else {
                        break Status::Complete;
                    }
                }
                Phase::Trailer => {
                    let wanted = format::trailer_len(format);
                    let count = rest.len().min(wanted - self.trailer_len);
                    self.trailer[self.trailer_len..][..count].copy_from_slice(&rest[..count]);
                    self.trailer_len += count;
                    consumed += self.took(count);
                    if self.trailer_len < wanted {
                        break Status::Complete;
                    }
                    let found = &self.trailer[..wanted];
                    format::check_trailer(
                        format,
                        found,
                        self.checksum.value() as u32,
                        self.total_out,
                    )
                    .map_err(|(offset, reason)| reason.at(self.total_in - wanted + offset))?;
                    self.phase = Phase::End;
                }
                Phase::End => break Status::End,
            }
        };
        Ok(Done { consumed, produced, checksum: self.checksum.value(), status })
    }

    fn took(&mut self, count: usize) -> usize {
        self.total_in += count;
        count
    }
}
