//! The wrappers of DEFLATE: zlib (RFC 1950) and gzip (RFC 1952) headers and trailers. Raw DEFLATE has none.

use crate::kernel::libdeflate::crc32;
use lookaside_spec::BadReason;
use lookaside_spec::dc::{Compression, Format};

/// CM of both formats: DEFLATE.
const DEFLATE: u8 = 8;

// FLG of gzip, RFC 1952 section 2.3.1. FTEXT (1) is a hint and ignored.
const FHCRC: u8 = 2;
const FEXTRA: u8 = 4;
const FNAME: u8 = 8;
const FCOMMENT: u8 = 16;
const RESERVED: u8 = 0xe0;

/// FDICT of zlib, RFC 1950 section 2.2.
const FDICT: u8 = 0x20;

/// gzip's OS field: unknown.
const OS_UNKNOWN: u8 = 255;

/// Header plus trailer, without a dictionary.
pub(crate) const fn overhead(format: Format) -> usize {
    match format {
        Format::Zlib => 2 + 4,
        Format::Gzip => 10 + 8,
        _ => 0,
    }
}

/// A few bytes of wrapper.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bytes {
    bytes: [u8; 10],
    len: usize,
}

impl Bytes {
    fn new(of: &[u8]) -> Bytes {
        let mut bytes = [0; 10];
        bytes[..of.len()].copy_from_slice(of);
        Bytes { bytes, len: of.len() }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The header that a compressor writes. `dictionary` is the Adler-32 of the preset dictionary.
pub(crate) fn header(spec: &Compression, dictionary: Option<u32>) -> Bytes {
    match spec.format {
        Format::Zlib => {
            let cmf = (spec.window_bits - 8) << 4 | DEFLATE;
            // FLEVEL is informative; these are zlib's steps.
            let flevel = match spec.level {
                0..=1 => 0,
                2..=5 => 1,
                6 => 2,
                _ => 3,
            };
            let flg = flevel << 6 | if dictionary.is_some() { FDICT } else { 0 };
            // FCHECK makes the two bytes, big-endian, a multiple of 31.
            let check = 31 - (u16::from(cmf) << 8 | u16::from(flg)) % 31;
            let flg = flg | (check % 31) as u8;
            match dictionary {
                None => Bytes::new(&[cmf, flg]),
                Some(id) => {
                    let [a, b, c, d] = id.to_be_bytes();
                    Bytes::new(&[cmf, flg, a, b, c, d])
                }
            }
        }
        Format::Gzip => {
            let xfl = match spec.level {
                0..=1 => 4,
                2..=8 => 0,
                _ => 2,
            };
            Bytes::new(&[0x1f, 0x8b, DEFLATE, 0, 0, 0, 0, 0, xfl, OS_UNKNOWN])
        }
        _ => Bytes::default(),
    }
}

/// The trailer for content with this checksum and length.
pub(crate) fn trailer(format: Format, checksum: u32, len: u64) -> Bytes {
    match format {
        Format::Zlib => Bytes::new(&checksum.to_be_bytes()),
        Format::Gzip => {
            let mut bytes = [0; 8];
            bytes[..4].copy_from_slice(&checksum.to_le_bytes());
            bytes[4..].copy_from_slice(&(len as u32).to_le_bytes());
            Bytes::new(&bytes)
        }
        _ => Bytes::default(),
    }
}

/// Compares a trailer with the content. The offset in an error is that of the field, from the
/// trailer's start.
pub(crate) fn check_trailer(
    format: Format,
    found: &[u8],
    checksum: u32,
    len: u64,
) -> Result<(), (usize, BadReason)> {
    let wanted = trailer(format, checksum, len);
    let wanted = wanted.as_slice();
    if found == wanted {
        Ok(())
    } else if found.get(..4) != wanted.get(..4) {
        Err((0, BadReason::Checksum))
    } else {
        Err((4, BadReason::Length))
    }
}

/// The length of a trailer.
pub(crate) const fn trailer_len(format: Format) -> usize {
    match format {
        Format::Zlib => 4,
        Format::Gzip => 8,
        _ => 0,
    }
}

/// Reads a header that arrives in pieces. Strict: method, window, FCHECK, reserved flags and the
/// header CRC are all checked.
#[derive(Clone, Debug)]
pub(crate) struct HeaderParser {
    format: Format,
    at: Field,
    /// Bytes of the current field so far.
    seen: u16,
    flags: u8,
    /// The number that the current field spells (CMF, XLEN, DICTID, CRC16).
    value: u32,
    crc: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    ZlibCmf,
    ZlibFlg,
    ZlibDictId,
    GzipFixed,
    GzipExtraLen,
    GzipExtra,
    GzipName,
    GzipComment,
    GzipCrc,
    End,
}

/// What a complete header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Bytes of the last piece that belong to it.
    pub(crate) consumed: usize,
    /// DICTID, if the stream needs a preset dictionary.
    pub(crate) dictionary: Option<u32>,
}

impl HeaderParser {
    pub(crate) fn new(format: Format) -> HeaderParser {
        let at = match format {
            Format::Zlib => Field::ZlibCmf,
            Format::Gzip => Field::GzipFixed,
            _ => Field::End,
        };
        HeaderParser { format, at, seen: 0, flags: 0, value: 0, crc: 0 }
    }

    /// Takes the next piece. `None`: all of it belongs to the header, and more is needed. An
    /// error has the offset in this piece of the byte that is wrong.
    pub(crate) fn push(&mut self, src: &[u8]) -> Result<Option<Header>, (usize, BadReason)> {
        let mut pos = 0;
        while self.at != Field::End {
            let Some(&byte) = src.get(pos) else { return Ok(None) };
            if self.flags & FHCRC != 0 && self.format == Format::Gzip && self.at != Field::GzipCrc {
                self.crc = crc32(self.crc, &[byte]);
            }
            self.byte(byte).map_err(|reason| (pos, reason))?;
            pos += 1;
        }
        let dictionary =
            (self.format == Format::Zlib && self.flags & FDICT != 0).then_some(self.value);
        Ok(Some(Header { consumed: pos, dictionary }))
    }

    fn byte(&mut self, byte: u8) -> Result<(), BadReason> {
        let bad = |wrong: bool| if wrong { Err(BadReason::Header) } else { Ok(()) };
        self.seen += 1;
        match self.at {
            Field::ZlibCmf => {
                bad(byte & 15 != DEFLATE || byte >> 4 > 7)?;
                self.value = byte.into();
                self.go(Field::ZlibFlg);
            }
            Field::ZlibFlg => {
                bad(!(self.value << 8 | u32::from(byte)).is_multiple_of(31))?;
                self.flags = byte;
                self.value = 0;
                self.go(if byte & FDICT != 0 { Field::ZlibDictId } else { Field::End });
            }
            Field::ZlibDictId => {
                self.value = self.value << 8 | u32::from(byte);
                if self.seen == 4 {
                    self.go(Field::End);
                }
            }
            Field::GzipFixed => match self.seen {
                1 => bad(byte != 0x1f)?,
                2 => bad(byte != 0x8b)?,
                3 => bad(byte != DEFLATE)?,
                4 => {
                    bad(byte & RESERVED != 0)?;
                    self.flags = byte;
                    // The bytes before were not counted, since nobody knew that they had to be.
                    self.crc = crc32(0, &[0x1f, 0x8b, DEFLATE, byte]);
                }
                // MTIME, XFL and OS: no value is wrong.
                5..=9 => {}
                _ => self.next(FEXTRA, Field::GzipExtraLen),
            },
            Field::GzipExtraLen => {
                self.value |= u32::from(byte) << (8 * (self.seen - 1));
                if self.seen == 2 {
                    if self.value == 0 {
                        self.next(FNAME, Field::GzipName);
                    } else {
                        self.go(Field::GzipExtra);
                    }
                }
            }
            Field::GzipExtra => {
                if u32::from(self.seen) == self.value {
                    self.next(FNAME, Field::GzipName);
                }
            }
            // Names have no limit: `seen` must not count them.
            Field::GzipName if byte != 0 => self.seen = 0,
            Field::GzipName => self.next(FCOMMENT, Field::GzipComment),
            Field::GzipComment if byte != 0 => self.seen = 0,
            Field::GzipComment => self.next(FHCRC, Field::GzipCrc),
            Field::GzipCrc => {
                let wanted = self.crc.to_le_bytes()[usize::from(self.seen - 1)];
                bad(byte != wanted)?;
                if self.seen == 2 {
                    self.go(Field::End);
                }
            }
            Field::End => {}
        }
        Ok(())
    }

    fn go(&mut self, field: Field) {
        self.at = field;
        self.seen = 0;
    }

    /// To `field` if the flag is set, else past it.
    fn next(&mut self, flag: u8, field: Field) {
        if self.flags & flag != 0 {
            self.value = 0;
            return self.go(field);
        }
        match field {
            Field::GzipExtraLen => self.next(FNAME, Field::GzipName),
            Field::GzipName => self.next(FCOMMENT, Field::GzipComment),
            Field::GzipComment => self.next(FHCRC, Field::GzipCrc),
            _ => self.go(Field::End),
        }
    }
}
