//! Streams: input and output in any pieces.

use crate::codec::{Codec, initial_checksum, update_checksum};
use crate::format::{self, HeaderParser};
use crate::kernel::StreamKernel;
use crate::kernel::inflate::{Inflate, Place, Until};
use crate::kernel::libdeflate::adler32;
use lookaside_spec::dc::{Compression, CompressionError, Flush, Format};
use lookaside_spec::{BadReason, Done, OpError, Status};

/// A kernel is only let at the caller's `dst` when it has this much room; below, it writes to
/// memory of ours. So no kernel meets a destination of a few bytes, and no flush marker is cut.
const MIN_DIRECT: usize = 512;

/// Output that did not fit yet.
#[derive(Default)]
struct Staging {
    bytes: Vec<u8>,
    start: usize,
}

impl Staging {
    const CAPACITY: usize = 4096;

    fn new() -> Staging {
        Staging { bytes: Vec::with_capacity(Self::CAPACITY), start: 0 }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.start = 0;
    }

    /// Moves what fits to `dst`.
    fn drain(&mut self, dst: &mut [u8]) -> usize {
        let waiting = &self.bytes[self.start..];
        let count = waiting.len().min(dst.len());
        dst[..count].copy_from_slice(&waiting[..count]);
        self.start += count;
        if self.start == self.bytes.len() {
            self.clear();
        }
        count
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Header,
    Body,
    Trailer,
    End,
}

/// Compresses a stream piece by piece.
///
/// ```
/// use lookaside_compress::{Codec, CompressStream, Flush, Format, Compression, Status};
/// use lookaside_simd::Cpu;
///
/// let codec = Codec::new(&Compression::new(Format::Gzip), Cpu::host())?;
/// let mut stream = CompressStream::new(&codec, None)?;
/// let mut dst = [0; 1024];
/// let first = stream.step(b"hello, ", &mut dst, Flush::Sync)?;
/// assert_eq!(first.status, Status::Complete);
/// let last = stream.step(b"world", &mut dst[first.produced..], Flush::Finish)?;
/// assert_eq!(last.status, Status::End);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CompressStream {
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
    checksum: u32,
    total_in: u64,
}

impl CompressStream {
    /// A stream of `codec`'s spec, by its streaming kernel. Allocates 0.2 to 0.4 MB.
    ///
    /// `dictionary` presets the history (the last 32 KB of it count). zlib announces it in the
    /// header (FDICT, DICTID); with raw DEFLATE the receiver just has to know;
    /// [`CompressionError::GzipDictionary`] with gzip.
    pub fn new(
        codec: &Codec,
        dictionary: Option<&[u8]>,
    ) -> Result<CompressStream, CompressionError> {
        let spec = codec.spec().clone();
        if dictionary.is_some() && spec.format == Format::Gzip {
            return Err(CompressionError::GzipDictionary);
        }
        let kernel = codec.stream_kernel();
        let mut stream = CompressStream {
            kernel: StreamKernel::new(kernel, spec.window_bits),
            kernel_name: kernel.name(),
            dictionary: dictionary.map(|bytes| (bytes.into(), adler32(1, bytes))),
            staging: Staging::new(),
            phase: Phase::Header,
            flushed: Flush::None,
            finishing: false,
            failed: false,
            checksum: initial_checksum(spec.checksum_in_force()),
            total_in: 0,
            spec,
        };
        stream.preset();
        Ok(stream)
    }

    /// The kernel that compresses, e.g. `igzip-1`.
    pub fn kernel(&self) -> &'static str {
        self.kernel_name
    }

    /// Back to the start, for the next stream or member, with the same dictionary. Keeps the
    /// memory.
    pub fn reset(&mut self) {
        self.kernel.reset();
        self.staging.clear();
        self.phase = Phase::Header;
        self.flushed = Flush::None;
        self.finishing = false;
        self.failed = false;
        self.checksum = initial_checksum(self.spec.checksum_in_force());
        self.total_in = 0;
        self.preset();
    }

    /// Back to the start with another dictionary, or with none. Keeps the kernel's memory.
    ///
    /// Errors: as with [`new`](CompressStream::new); then nothing has changed.
    pub fn reset_with(&mut self, dictionary: Option<&[u8]>) -> Result<(), CompressionError> {
        if dictionary.is_some() && self.spec.format == Format::Gzip {
            return Err(CompressionError::GzipDictionary);
        }
        self.dictionary = dictionary.map(|bytes| (bytes.into(), adler32(1, bytes)));
        self.reset();
        Ok(())
    }

    fn preset(&mut self) {
        if let Some((bytes, _)) = &self.dictionary {
            // No further back than the window: a match into the rest would be out of it.
            let window = 1usize << self.spec.window_bits;
            let tail = &bytes[bytes.len().saturating_sub(window)..];
            self.failed = !tail.is_empty() && !self.kernel.set_dictionary(tail);
        }
    }

    /// Takes from `src`, writes to `dst`, either of any length including 0. Does not allocate.
    ///
    /// [`Status::Complete`]: `src` is consumed and what `flush` asks for is written.
    /// [`Status::Overflow`]: `dst` is full; step again with the rest of `src`, the same flush and
    /// more room. A flush that was completed costs nothing when asked for again.
    /// [`Status::End`]: everything is written, after [`Flush::Finish`]; also when stepped again
    /// with nothing. The checksum covers the bytes consumed so far.
    ///
    /// Once a step with [`Flush::Finish`] has consumed its `src`, later steps finish too,
    /// whatever they ask for.
    ///
    /// Errors: [`OpError::StreamEnded`] for input after that; [`OpError::Library`].
    pub fn step(&mut self, src: &[u8], dst: &mut [u8], flush: Flush) -> Result<Done, OpError> {
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
                    let trailer = format::trailer(self.spec.format, self.checksum, self.total_in);
                    self.staging.bytes.extend_from_slice(trailer.as_slice());
                    self.phase = Phase::End;
                }
                Phase::End => break Status::End,
            }
        };
        Ok(Done { consumed, produced, checksum: self.checksum.into(), status })
    }

    fn took(&mut self, taken: &[u8]) {
        if !taken.is_empty() {
            self.flushed = Flush::None;
            self.total_in += taken.len() as u64;
            self.checksum = update_checksum(self.spec.checksum_in_force(), self.checksum, taken);
        }
    }
}

/// Decompresses a stream piece by piece.
///
/// ```
/// use lookaside_compress::{Codec, DecompressStream, Format, Scratch, Compression, Status};
/// use lookaside_simd::Cpu;
///
/// let codec = Codec::new(&Compression::new(Format::Zlib), Cpu::host())?;
/// let mut packed = [0; 64];
/// let len = codec.compress(&mut Scratch::new(), b"hello, world", &mut packed)?.produced;
///
/// let mut stream = DecompressStream::new(&codec, None)?;
/// let mut out = [0; 5];
/// let done = stream.step(&packed[..len], &mut out)?;
/// assert_eq!((&out, done.status), (b"hello", Status::Overflow));
/// let done = stream.step(&packed[done.consumed..len], &mut [0; 64])?;
/// assert_eq!((done.produced, done.status), (7, Status::End));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DecompressStream {
    spec: Compression,
    inflate: Box<Inflate>,
    dictionary: Option<(Box<[u8]>, u32)>,
    phase: Phase,
    header: HeaderParser,
    trailer: [u8; 8],
    trailer_len: usize,
    checksum: u32,
    total_in: usize,
    total_out: u64,
    failed: Option<OpError>,
}

impl DecompressStream {
    /// A stream in `codec`'s format, whatever its level, coding and window. Allocates 55 KB.
    ///
    /// `dictionary` is the preset history: used by zlib streams that ask for one (and must name
    /// this one), and by every raw one. [`CompressionError::GzipDictionary`] with gzip.
    pub fn new(
        codec: &Codec,
        dictionary: Option<&[u8]>,
    ) -> Result<DecompressStream, CompressionError> {
        let spec = codec.spec().clone();
        if dictionary.is_some() && spec.format == Format::Gzip {
            return Err(CompressionError::GzipDictionary);
        }
        let mut stream = DecompressStream {
            inflate: Inflate::boxed(15, codec.cpu()),
            dictionary: dictionary.map(|bytes| (bytes.into(), adler32(1, bytes))),
            phase: Phase::Header,
            header: HeaderParser::new(spec.format),
            trailer: [0; 8],
            trailer_len: 0,
            checksum: initial_checksum(spec.checksum_in_force()),
            total_in: 0,
            total_out: 0,
            failed: None,
            spec,
        };
        stream.preset_raw();
        Ok(stream)
    }

    /// Back to the start, for the next stream or member, with the same dictionary. Keeps the
    /// memory.
    pub fn reset(&mut self) {
        self.inflate.reset(15);
        self.phase = Phase::Header;
        self.header = HeaderParser::new(self.spec.format);
        self.trailer_len = 0;
        self.checksum = initial_checksum(self.spec.checksum_in_force());
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

    /// Takes from `src`, writes to `dst`, either of any length including 0. Does not allocate.
    ///
    /// [`Status::Complete`]: `src` is consumed, all that it decodes to is written, more must
    /// come. [`Status::Overflow`]: `dst` is full, so more output may be waiting: step again with
    /// the rest of `src` (even if that is nothing) and more room. [`Status::End`]: the stream or
    /// member ended, checksum and length are verified, and bytes after it were left in `src`;
    /// stepped again, it says so again and takes nothing. The checksum covers the bytes produced
    /// so far.
    ///
    /// Errors: [`OpError::BadData`], whose offset counts from the start of the stream; it stays
    /// until [`reset`](DecompressStream::reset). What earlier steps produced is good as far as it
    /// goes; what the failing step wrote is not counted.
    pub fn step(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Done, OpError> {
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
                    let kind = self.spec.checksum_in_force();
                    self.checksum = update_checksum(kind, self.checksum, output);
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
                    format::check_trailer(format, found, self.checksum, self.total_out)
                        .map_err(|(offset, reason)| reason.at(self.total_in - wanted + offset))?;
                    self.phase = Phase::End;
                }
                Phase::End => break Status::End,
            }
        };
        Ok(Done { consumed, produced, checksum: self.checksum.into(), status })
    }

    fn took(&mut self, count: usize) -> usize {
        self.total_in += count;
        count
    }
}
