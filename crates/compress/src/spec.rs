//! What a codec is asked to do, and why it may refuse.

use std::fmt;

/// The wrapper around the DEFLATE blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Bare blocks (RFC 1951). Nothing guards the content: ask for a [`Checksum`] where needed.
    #[default]
    Raw,
    /// Two or six bytes before, Adler-32 after (RFC 1950).
    Zlib,
    /// Ten bytes before, CRC-32 and length after (RFC 1952). One member.
    Gzip,
}

/// How the symbols of a compressed block are coded (RFC 1951 section 3.2.3). Decoding ignores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Huffman {
    /// Codes made for each block: smaller.
    #[default]
    Dynamic,
    /// The codes of RFC 1951 section 3.2.6 only (and stored blocks): the lowest latency for small
    /// buffers, and what devices without dynamic coding produce.
    Static,
}

/// A checksum of the uncompressed bytes, returned in [`Done::checksum`](crate::Done::checksum).
///
/// [`Format::Gzip`] implies [`Crc32`](Checksum::Crc32), [`Format::Zlib`] implies
/// [`Adler32`](Checksum::Adler32); what a [`Spec`] asks for counts for [`Format::Raw`] only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// None: [`Done::checksum`](crate::Done::checksum) is 0.
    #[default]
    None,
    /// CRC-32 as in RFC 1952 section 8.
    Crc32,
    /// Adler-32 as in RFC 1950 section 8.
    Adler32,
}

/// What a [`Codec`](crate::Codec) is asked to do. Plain data, comparable, usable as a key.
///
/// The default is raw DEFLATE, level 1, dynamic codes, the 32 KB window and no checksum.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    /// The wrapper.
    pub format: Format,
    /// 0 (stored) ..= 12 (smallest). 1..=9 promise zlib's size at the same level within 2 %; see
    /// the table in the crate's documentation.
    pub level: u8,
    /// Dynamic or static codes.
    pub huffman: Huffman,
    /// The base-2 logarithm of the window, 9..=15: matches reach no further back than that, so a
    /// decoder with so small a window can read the result. Decoding accepts every window.
    pub window_bits: u8,
    /// Asked for with [`Format::Raw`]; implied by the other formats.
    pub checksum: Checksum,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            format: Format::Raw,
            level: 1,
            huffman: Huffman::Dynamic,
            window_bits: 15,
            checksum: Checksum::None,
        }
    }
}

impl Spec {
    /// The highest level.
    pub const MAX_LEVEL: u8 = 12;

    /// The default with another format.
    pub fn new(format: Format) -> Spec {
        Spec { format, ..Spec::default() }
    }

    /// The same with another level.
    pub fn level(self, level: u8) -> Spec {
        Spec { level, ..self }
    }

    /// The same with another Huffman coding.
    pub fn huffman(self, huffman: Huffman) -> Spec {
        Spec { huffman, ..self }
    }

    /// The same with another window.
    pub fn window_bits(self, window_bits: u8) -> Spec {
        Spec { window_bits, ..self }
    }

    /// The same with another checksum.
    pub fn checksum(self, checksum: Checksum) -> Spec {
        Spec { checksum, ..self }
    }

    /// The checksum that is computed: the format's own, or the one asked for.
    pub fn checksum_in_force(&self) -> Checksum {
        match self.format {
            Format::Raw => self.checksum,
            Format::Zlib => Checksum::Adler32,
            Format::Gzip => Checksum::Crc32,
        }
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        if self.level > Spec::MAX_LEVEL {
            return Err(SpecError::Level(self.level));
        }
        if !(9..=15).contains(&self.window_bits) {
            return Err(SpecError::WindowBits(self.window_bits));
        }
        Ok(())
    }
}

/// Why a [`Spec`] (or a dictionary for it) is refused, before any data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpecError {
    /// The level is above [`Spec::MAX_LEVEL`].
    Level(u8),
    /// The window is outside 9..=15.
    WindowBits(u8),
    /// gzip has no field for a preset dictionary.
    GzipDictionary,
    /// This kernel cannot serve this spec, or not on this CPU
    /// (only [`Codec::with_kernel`](crate::Codec::with_kernel)).
    Kernel(&'static str),
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecError::Level(level) => write!(f, "compression level {level} is not in 0..=12"),
            SpecError::WindowBits(bits) => write!(f, "window bits {bits} are not in 9..=15"),
            SpecError::GzipDictionary => f.write_str("gzip has no preset dictionary"),
            SpecError::Kernel(name) => write!(f, "kernel {name} cannot do this here"),
        }
    }
}

impl std::error::Error for SpecError {}
