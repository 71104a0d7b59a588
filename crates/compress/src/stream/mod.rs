//! Streams: input and output in any pieces.

mod deflate;

use lookaside_spec::dc::{CompressionError, Flush, Format};
use lookaside_spec::{Done, OpError};

use crate::codec::Codec;
use crate::{lz4, zstd};

/// Output that did not fit yet.
#[derive(Default)]
pub(crate) struct Staging {
    pub(crate) bytes: Vec<u8>,
    start: usize,
}

impl Staging {
    const CAPACITY: usize = 4096;

    fn new() -> Staging {
        Staging { bytes: Vec::with_capacity(Self::CAPACITY), start: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.start = 0;
    }

    /// Moves what fits to `dst`.
    pub(crate) fn drain(&mut self, dst: &mut [u8]) -> usize {
        let waiting = &self.bytes[self.start..];
        let count = waiting.len().min(dst.len());
        dst[..count].copy_from_slice(&waiting[..count]);
        self.start += count;
        if self.start == self.bytes.len() {
            self.clear();
        }
        count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Whether a format has streams, with a preset dictionary if one is given.
fn check(format: Format, dictionary: Option<&[u8]>) -> Result<(), CompressionError> {
    match dictionary {
        _ if !format.has_streams() => Err(CompressionError::NoStream(format)),
        Some(_) if !format.has_dictionary() => Err(CompressionError::NoDictionary(format)),
        _ => Ok(()),
    }
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
    kind: Encoder,
    kernel: &'static str,
    format: Format,
}

/// The state of a format's stream.
#[expect(
    clippy::large_enum_variant,
    reason = "the one that is stepped most often lies here itself"
)]
enum Encoder {
    Deflate(deflate::Encoder),
    Lz4(Box<lz4::stream::Encoder>),
    Zstd(Box<zstd::Encoder>),
}

impl CompressStream {
    /// A stream of `codec`'s spec, by its streaming kernel. DEFLATE allocates 0.2 to 0.4 MB. An LZ4 stream holds
    /// up to one block of its source ([`Compression::block_bits`](crate::Compression)), and as much
    /// of its result; Zstandard takes a few MB, and hundreds from level 20 on.
    ///
    /// `dictionary` presets the history. DEFLATE: the last 32 KB of it count; zlib announces it in the
    /// header (FDICT, DICTID), with raw DEFLATE the receiver just has to know. Zstandard: a trained dictionary,
    /// which the frame names, or any bytes.
    ///
    /// Errors: [`CompressionError::NoStream`], [`CompressionError::NoDictionary`] where the format has none;
    /// [`CompressionError::Dictionary`].
    pub fn new(
        codec: &Codec,
        dictionary: Option<&[u8]>,
    ) -> Result<CompressStream, CompressionError> {
        let spec = codec.spec();
        check(spec.format, dictionary)?;
        let kind = match spec.format {
            Format::Zstd => Encoder::Zstd(Box::new(zstd::Encoder::new(spec, dictionary)?)),
            format if format.is_deflate() => {
                Encoder::Deflate(deflate::Encoder::new(codec, dictionary))
            }
            _ => Encoder::Lz4(Box::new(lz4::stream::Encoder::new(spec))),
        };
        let (kernel, format) = (codec.compress_stream_kernel(), spec.format);
        Ok(CompressStream { kind, kernel, format })
    }

    /// The kernel that compresses, e.g. `igzip-1`.
    pub fn kernel(&self) -> &'static str {
        self.kernel
    }

    /// Back to the start, for the next stream or member, with the same dictionary. Keeps the
    /// memory.
    pub fn reset(&mut self) {
        match &mut self.kind {
            Encoder::Deflate(stream) => stream.reset(),
            Encoder::Lz4(stream) => stream.reset(),
            Encoder::Zstd(stream) => stream.reset(),
        }
    }

    /// Back to the start with another dictionary, or with none. Keeps the kernel's memory.
    ///
    /// Errors: as with [`new`](CompressStream::new); then nothing has changed, but for a Zstandard stream, which
    /// has no dictionary afterwards.
    pub fn reset_with(&mut self, dictionary: Option<&[u8]>) -> Result<(), CompressionError> {
        check(self.format, dictionary)?;
        match &mut self.kind {
            Encoder::Deflate(stream) => stream.reset_with(dictionary),
            Encoder::Lz4(stream) => stream.reset(),
            Encoder::Zstd(stream) => stream.reset_with(dictionary)?,
        }
        Ok(())
    }

    /// Takes from `src`, writes to `dst`, either of any length including 0. DEFLATE does not allocate.
    ///
    /// [`Status::Complete`](crate::Status::Complete): `src` is consumed and what `flush` asks for is written.
    /// [`Status::Overflow`](crate::Status::Overflow): `dst` is full; step again with the rest of `src`, the
    /// same flush and more room. A flush that was completed costs nothing when asked for again.
    /// [`Status::End`](crate::Status::End): everything is written, after [`Flush::Finish`]; also when stepped
    /// again with nothing. The checksum covers the bytes consumed so far.
    ///
    /// Once a step with [`Flush::Finish`] has consumed its `src`, later steps finish too,
    /// whatever they ask for.
    ///
    /// Errors: [`OpError::StreamEnded`] for input after that; [`OpError::Unsupported`] for
    /// [`Flush::Full`] in a Zstandard frame; [`OpError::Library`].
    pub fn step(&mut self, src: &[u8], dst: &mut [u8], flush: Flush) -> Result<Done, OpError> {
        match &mut self.kind {
            Encoder::Deflate(stream) => stream.step(src, dst, flush),
            Encoder::Lz4(stream) => stream.step(src, dst, flush),
            Encoder::Zstd(stream) => stream.step(src, dst, flush),
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
pub struct DecompressStream(Decoder);

/// The state of a format's stream.
enum Decoder {
    Deflate(deflate::Decoder),
    Lz4(Box<lz4::stream::Decoder>),
    Zstd(Box<zstd::Decoder>),
}

impl DecompressStream {
    /// A stream in `codec`'s format, whatever its level, coding and window. DEFLATE allocates 55 KB. LZ4 takes
    /// twice the largest block that the frame announces and 64 KB (up to 8 MB), Zstandard its window (up to 128 MiB; what
    /// needs more is refused).
    ///
    /// `dictionary` is the preset history: used by zlib streams that ask for one (and must name
    /// this one), by every raw one, and by Zstandard frames.
    ///
    /// Errors: as with [`CompressStream::new`].
    pub fn new(
        codec: &Codec,
        dictionary: Option<&[u8]>,
    ) -> Result<DecompressStream, CompressionError> {
        let spec = codec.spec();
        check(spec.format, dictionary)?;
        Ok(DecompressStream(match spec.format {
            Format::Zstd => Decoder::Zstd(Box::new(zstd::Decoder::new(spec, dictionary)?)),
            format if format.is_deflate() => {
                Decoder::Deflate(deflate::Decoder::new(codec, dictionary))
            }
            _ => Decoder::Lz4(Box::new(lz4::stream::Decoder::new())),
        }))
    }

    /// Back to the start, for the next stream or member, with the same dictionary. Keeps the
    /// memory.
    pub fn reset(&mut self) {
        match &mut self.0 {
            Decoder::Deflate(stream) => stream.reset(),
            Decoder::Lz4(stream) => stream.reset(),
            Decoder::Zstd(stream) => stream.reset(),
        }
    }

    /// Takes from `src`, writes to `dst`, either of any length including 0. DEFLATE does not allocate.
    ///
    /// [`Status::Complete`](crate::Status::Complete): `src` is consumed, all that it decodes to is written, more
    /// must come. [`Status::Overflow`](crate::Status::Overflow): `dst` is full, so more output may be waiting:
    /// step again with the rest of `src` (even if that is nothing) and more room.
    /// [`Status::End`](crate::Status::End): the stream or member ended, checksum and length are verified, and
    /// bytes after it were left in `src`; stepped again, it says so again and takes nothing. The checksum
    /// covers the bytes produced so far.
    ///
    /// Errors: [`OpError::BadData`], whose offset counts from the start of the stream (Zstandard: to the last step
    /// that succeeded); it stays until [`reset`](DecompressStream::reset). What earlier steps produced is
    /// good as far as it goes; what the failing step wrote is not counted.
    pub fn step(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Done, OpError> {
        match &mut self.0 {
            Decoder::Deflate(stream) => stream.step(src, dst),
            Decoder::Lz4(stream) => stream.step(src, dst),
            Decoder::Zstd(stream) => stream.step(src, dst),
        }
    }
}
