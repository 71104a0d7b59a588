//! Data compression: DEFLATE, zlib, gzip.

use core::fmt;

/// The wrapper around DEFLATE data.
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
}

/// What a piece of a stream asks for at its end (RFC 1951; the names are zlib's).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flush {
    /// Nothing: the compressor may hold data back.
    None,
    /// Everything given so far becomes decodable: the block ends, and an empty stored block aligns
    /// it to a byte.
    Sync,
    /// As [`Sync`](Flush::Sync), and the history is forgotten: decoding can start here.
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
    /// The wrapper.
    pub format: Format,
    /// 0 (stored) to 12 (smallest); 1 to 9 are never larger than zlib's by more than 2 %.
    pub level: u8,
    /// Huffman codes.
    pub huffman: Huffman,
    /// Binary logarithm of the window in bytes, 9 to 15: matches reach no further back, so a
    /// decoder with so small a window can read the result. Only compression heeds it.
    pub window_bits: u8,
    /// The checksum to return of raw DEFLATE. Gzip always returns CRC-32 and zlib Adler-32.
    pub checksum: Checksum,
}

impl Default for Compression {
    /// Raw DEFLATE, level 1, dynamic codes, a window of 32 KB, no checksum.
    fn default() -> Compression {
        Compression {
            format: Format::Raw,
            level: 1,
            huffman: Huffman::Dynamic,
            window_bits: 15,
            checksum: Checksum::None,
        }
    }
}

impl Compression {
    /// The highest level.
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

    /// The same with another checksum.
    pub fn checksum(self, checksum: Checksum) -> Compression {
        Compression { checksum, ..self }
    }

    /// The checksum that is computed: the format's own, or the one asked for.
    pub fn checksum_in_force(&self) -> Checksum {
        match self.format {
            Format::Raw => self.checksum,
            Format::Zlib => Checksum::Adler32,
            Format::Gzip => Checksum::Crc32,
        }
    }

    /// Whether the parameters are within their limits.
    ///
    /// # Errors
    /// The first parameter that is not.
    pub fn validate(&self) -> Result<(), CompressionError> {
        if self.level > Compression::MAX_LEVEL {
            return Err(CompressionError::Level(self.level));
        }
        if !(9..=15).contains(&self.window_bits) {
            return Err(CompressionError::WindowBits(self.window_bits));
        }
        Ok(())
    }
}

/// Why a [`Compression`] (or a dictionary for it) is refused, before any data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompressionError {
    /// The level is not 0 to 12.
    Level(u8),
    /// The window is not 9 to 15 bits.
    WindowBits(u8),
    /// gzip has no preset dictionary.
    GzipDictionary,
    /// The kernel that was asked for by name does not have these parameters, or not on this CPU.
    Kernel(&'static str),
}

impl fmt::Display for CompressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompressionError::Level(n) => write!(f, "compression level {n} is not 0 to 12"),
            CompressionError::WindowBits(n) => write!(f, "window of {n} bits is not 9 to 15"),
            CompressionError::GzipDictionary => f.write_str("gzip has no preset dictionary"),
            CompressionError::Kernel(name) => write!(f, "kernel {name} cannot do this here"),
        }
    }
}

impl core::error::Error for CompressionError {}

/// The largest size of `len` bytes compressed in one request, in any format and at any level: a
/// destination of this size never overflows. Stored blocks hold at most 65,535 bytes and cost 5
/// each (RFC 1951 section 3.2.4); a gzip wrapper costs 18 bytes, a zlib one 6. Saturates at
/// `usize::MAX`.
///
/// ```
/// use lookaside_spec::dc::{Format, compress_bound};
/// assert_eq!(compress_bound(Format::Raw, 0), 5);
/// assert_eq!(compress_bound(Format::Gzip, 65_536), 65_536 + 2 * 5 + 18);
/// ```
pub fn compress_bound(format: Format, len: usize) -> usize {
    let wrapper = match format {
        Format::Raw => 0,
        Format::Zlib => 6,
        Format::Gzip => 18,
    };
    len.saturating_add(len.div_ceil(65_535).max(1).saturating_mul(5)).saturating_add(wrapper)
}
