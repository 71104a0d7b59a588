//! Data compression: DEFLATE with zlib's and gzip's wrappers, LZ4, LZ4s, Zstandard; checksums.

use core::{fmt, ops::RangeInclusive};

/// What compressed data looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// DEFLATE blocks alone (RFC 1951). Nothing guards the content: ask for a [`Checksum`] where
    /// needed.
    #[default]
    Raw,
    /// zlib (RFC 1950): two or six bytes before, Adler-32 after.
    Zlib,
    /// gzip (RFC 1952), one member: ten bytes before, CRC-32 and length after.
    Gzip,
    /// One LZ4 block (lz4_Block_format.md) of at most [`LZ4_MAX_BLOCK`] bytes, nothing around it.
    Lz4Raw,
    /// The data blocks of an LZ4 frame, without its header, end mark and checksum: before each block its length
    /// in four bytes (little endian, the highest bit set where it is stored). They may be joined in any
    /// number; this is what QuickAssist's sessions make. Decoding ends at an end mark or with the source.
    Lz4Blocks,
    /// One LZ4 frame (lz4_Frame_format.md): independent blocks, content size where it is known, xxHash-32
    /// of the content. Frames with linked blocks, block checksums and without content checksum are
    /// read too. A skippable frame is a frame of no content.
    Lz4,
    /// QuickAssist's LZ4s: the sequences of an LZ4 block in which the code m of a match means m + 2 bytes
    /// ([`Compression::min_match`] 4: m + 3), and 0 no match. Intermediate data: another program makes sequences
    /// of Zstandard from it, so no sequence has more than 65,535 literals or a longer match, which is what such
    /// programs keep in 16 bits.
    Lz4s,
    /// One Zstandard frame (RFC 8878) with content size and checksum (xxHash-64, its lower half). A
    /// skippable frame is a frame of no content.
    Zstd,
}

/// The most bytes that one LZ4 block may hold (`LZ4_MAX_INPUT_SIZE`).
pub const LZ4_MAX_BLOCK: usize = 0x7e00_0000;

impl Format {
    /// Every format.
    pub const ALL: [Format; 8] = [
        Format::Raw,
        Format::Zlib,
        Format::Gzip,
        Format::Lz4Raw,
        Format::Lz4Blocks,
        Format::Lz4,
        Format::Lz4s,
        Format::Zstd,
    ];

    /// The format's name, as in `gzip`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Raw => "raw DEFLATE",
            Format::Zlib => "zlib",
            Format::Gzip => "gzip",
            Format::Lz4Raw => "raw LZ4",
            Format::Lz4Blocks => "LZ4 blocks",
            Format::Lz4 => "LZ4",
            Format::Lz4s => "LZ4s",
            Format::Zstd => "Zstandard",
        }
    }

    /// Whether it is DEFLATE, with or without a wrapper.
    pub fn is_deflate(self) -> bool {
        matches!(self, Format::Raw | Format::Zlib | Format::Gzip)
    }

    /// The levels there are. DEFLATE: 0 is stored, 1 to 9 promise zlib's sizes, 12 is the smallest. LZ4 and
    /// LZ4s: liblz4's own (1 fast, 2 middle, 3 to 12 high compression). Zstandard: libzstd's own; from 20 on a
    /// large source takes hundreds of megabytes.
    pub fn levels(self) -> RangeInclusive<u8> {
        match self {
            Format::Raw | Format::Zlib | Format::Gzip => 0..=12,
            Format::Lz4Raw | Format::Lz4Blocks | Format::Lz4 | Format::Lz4s => 1..=12,
            Format::Zstd => 1..=22,
        }
    }

    /// Whether there are streams that arrive in pieces. LZ4 without a frame and LZ4s have none: nothing in
    /// them says where a block ends.
    pub fn has_streams(self) -> bool {
        self.is_deflate() || matches!(self, Format::Lz4 | Format::Zstd)
    }

    /// Whether its streams may have a preset dictionary.
    pub fn has_dictionary(self) -> bool {
        matches!(self, Format::Raw | Format::Zlib | Format::Zstd)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which Huffman codes a compressor may use (RFC 1951 section 3.2.3). Decompression ignores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Huffman {
    /// Codes made for the data of each block: smaller.
    #[default]
    Dynamic,
    /// The fixed codes of RFC 1951 section 3.2.6 alone (and stored blocks): the lowest latency for
    /// small buffers, and what devices without dynamic coding produce.
    Static,
}

/// A checksum of the uncompressed bytes, returned in [`Done::checksum`](crate::Done::checksum).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// None.
    #[default]
    None,
    /// CRC-32 as in gzip (RFC 1952 section 8).
    Crc32,
    /// Adler-32 as in zlib (RFC 1950 section 8).
    Adler32,
    /// xxHash-32 with seed 0, as in LZ4 frames.
    Xxh32,
    /// xxHash-64 with seed 0; the lower half of it is what Zstandard frames have.
    Xxh64,
}

/// What a piece of a stream asks for at its end (RFC 1951; the names are zlib's).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flush {
    /// Nothing: the compressor may hold data back.
    None,
    /// Everything given so far becomes decodable: the block ends (in DEFLATE an empty stored block
    /// aligns it to a byte).
    Sync,
    /// As [`Sync`](Flush::Sync), and the history is forgotten: decoding can start here. Zstandard
    /// cannot forget within a frame.
    Full,
    /// The stream or member ends here, trailer included. The default, and what stateless requests
    /// ask for; a stateless request in raw format that asks for another makes a piece without end
    /// (see `CompressSession::compress_piece` in the runtime).
    #[default]
    Finish,
}

/// The parameters of compression and decompression.
///
/// ```
/// use lookaside_spec::dc::{Compression, Format};
/// let spec = Compression { format: Format::Gzip, level: 6, ..Compression::default() };
/// assert_eq!(spec, Compression::new(Format::Gzip).level(6));
/// assert!(spec.validate().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Compression {
    /// The format.
    pub format: Format,
    /// One of [`Format::levels`]. DEFLATE: 0 (stored) to 12 (smallest); 1 to 9 are never larger than
    /// zlib's by more than 2 %.
    pub level: u8,
    /// Huffman codes of DEFLATE.
    pub huffman: Huffman,
    /// DEFLATE and LZ4s: binary logarithm of the window in bytes, 9 to 15: matches reach no further back, so a
    /// decoder with so small a window can read the result. Only compression heeds it.
    pub window_bits: u8,
    /// LZ4 blocks and frames: binary logarithm of the largest block in bytes: 16, 18, 20 or 22. A frame
    /// whose source is smaller announces the smallest that holds it. Only compression heeds it.
    pub block_bits: u8,
    /// LZ4s: the length of a match that has code 1, 3 or 4 bytes. Compression and decompression need the same.
    pub min_match: u8,
    /// The checksum to return. Gzip always returns CRC-32, zlib Adler-32 and LZ4 frames xxHash-32, which
    /// they contain.
    pub checksum: Checksum,
}

impl Default for Compression {
    /// Raw DEFLATE, level 1, dynamic codes, a window of 32 KB, LZ4 blocks of 4 MB, LZ4s matches of 3 bytes and
    /// more, no checksum.
    fn default() -> Compression {
        Compression {
            format: Format::Raw,
            level: 1,
            huffman: Huffman::Dynamic,
            window_bits: 15,
            block_bits: 22,
            min_match: 3,
            checksum: Checksum::None,
        }
    }
}

impl Compression {
    /// The highest level of DEFLATE.
    pub const MAX_LEVEL: u8 = 12;

    /// The default with another format.
    pub fn new(format: Format) -> Compression {
        Compression { format, ..Compression::default() }
    }

    /// The same with another level.
    pub fn level(self, level: u8) -> Compression {
        Compression { level, ..self }
    }

    /// The same with other Huffman codes.
    pub fn huffman(self, huffman: Huffman) -> Compression {
        Compression { huffman, ..self }
    }

    /// The same with another window.
    pub fn window_bits(self, window_bits: u8) -> Compression {
        Compression { window_bits, ..self }
    }

    /// The same with another largest LZ4 block.
    pub fn block_bits(self, block_bits: u8) -> Compression {
        Compression { block_bits, ..self }
    }

    /// The same with another shortest match of LZ4s.
    pub fn min_match(self, min_match: u8) -> Compression {
        Compression { min_match, ..self }
    }

    /// The same with another checksum.
    pub fn checksum(self, checksum: Checksum) -> Compression {
        Compression { checksum, ..self }
    }

    /// The checksum that is computed: the format's own, or the one asked for.
    pub fn checksum_in_force(&self) -> Checksum {
        match self.format {
            Format::Zlib => Checksum::Adler32,
            Format::Gzip => Checksum::Crc32,
            Format::Lz4 => Checksum::Xxh32,
            Format::Raw | Format::Lz4Raw | Format::Lz4Blocks | Format::Lz4s | Format::Zstd => {
                self.checksum
            }
        }
    }

    /// Whether the parameters are within their limits.
    ///
    /// # Errors
    /// The first parameter that is not.
    pub fn validate(&self) -> Result<(), CompressionError> {
        if !self.format.levels().contains(&self.level) {
            return Err(CompressionError::Level { level: self.level, format: self.format });
        }
        if !(9..=15).contains(&self.window_bits) {
            return Err(CompressionError::WindowBits(self.window_bits));
        }
        if !matches!(self.block_bits, 16 | 18 | 20 | 22) {
            return Err(CompressionError::BlockBits(self.block_bits));
        }
        if !matches!(self.min_match, 3 | 4) {
            return Err(CompressionError::MinMatch(self.min_match));
        }
        Ok(())
    }
}

/// Why a [`Compression`] (or a dictionary for it) is refused, before any data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompressionError {
    /// The level is none of the format's.
    Level {
        /// The level.
        level: u8,
        /// The format.
        format: Format,
    },
    /// The window is not 9 to 15 bits.
    WindowBits(u8),
    /// The largest LZ4 block is not 16, 18, 20 or 22 bits.
    BlockBits(u8),
    /// The shortest match of LZ4s is not 3 or 4 bytes.
    MinMatch(u8),
    /// The format has no preset dictionary.
    NoDictionary(Format),
    /// The format has no streams.
    NoStream(Format),
    /// The dictionary is not one of the format's, or there is no memory for it.
    Dictionary(Format),
    /// The kernel that was asked for by name does not have these parameters, or not on this CPU.
    Kernel(&'static str),
}

impl fmt::Display for CompressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompressionError::Level { level, format } => {
                let (least, most) = format.levels().into_inner();
                write!(f, "compression level {level} of {format} is not {least} to {most}")
            }
            CompressionError::WindowBits(n) => write!(f, "window of {n} bits is not 9 to 15"),
            CompressionError::BlockBits(n) => {
                write!(f, "largest LZ4 block of {n} bits is not 16, 18, 20 or 22")
            }
            CompressionError::MinMatch(n) => {
                write!(f, "shortest LZ4s match of {n} bytes is not 3 or 4")
            }
            CompressionError::NoDictionary(format) => {
                write!(f, "{format} has no preset dictionary")
            }
            CompressionError::NoStream(format) => write!(f, "{format} has no streams"),
            CompressionError::Dictionary(format) => {
                write!(f, "not a usable dictionary for {format}")
            }
            CompressionError::Kernel(name) => write!(f, "kernel {name} cannot do this here"),
        }
    }
}

impl core::error::Error for CompressionError {}

/// The largest size of `len` bytes compressed in one request at any level: a destination of this size
/// never overflows. Saturates at `usize::MAX`.
///
/// * DEFLATE: stored blocks hold at most 65,535 bytes and cost 5 each (RFC 1951 section 3.2.4); a gzip wrapper
///   costs 18 bytes, a zlib one 6.
/// * A raw LZ4 block: one byte for each 255 literals, and 16 (`LZ4_compressBound`); LZ4s: 3 more for each 65,535.
/// * LZ4 blocks: those that would grow are stored and cost 4 bytes each; a frame costs 15 bytes before and 8
///   after.
/// * Zstandard: `ZSTD_compressBound`.
///
/// ```
/// use lookaside_spec::dc::{Format, compress_bound};
/// assert_eq!(compress_bound(Format::Raw, 0), 5);
/// assert_eq!(compress_bound(Format::Gzip, 65_536), 65_536 + 2 * 5 + 18);
/// assert_eq!(compress_bound(Format::Lz4Raw, 65_536), 65_536 + 257 + 16);
/// ```
pub fn compress_bound(format: Format, len: usize) -> usize {
    let blocks = |each: usize, cost: usize| len.div_ceil(each).saturating_mul(cost);
    let more = match format {
        Format::Raw => blocks(65_535, 5).max(5),
        Format::Zlib => blocks(65_535, 5).max(5).saturating_add(6),
        Format::Gzip => blocks(65_535, 5).max(5).saturating_add(18),
        Format::Lz4Raw => len / 255 + 16,
        Format::Lz4s => len / 255 + 16 + len / 65_535 * 3,
        Format::Lz4Blocks => blocks(1 << 16, 4),
        Format::Lz4 => blocks(1 << 16, 4).saturating_add(15 + 8),
        // A margin of one byte in 256; for small sources up to 64 bytes more.
        Format::Zstd => (len >> 8) + ((128_usize << 10).saturating_sub(len) >> 11),
    };
    len.saturating_add(more)
}
