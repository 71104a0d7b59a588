//! The wrappers of DEFLATE, which a card does not make: zlib's (RFC 1950) and gzip's (RFC 1952).

use lookaside_core::Format;

/// Bytes before what the card makes.
pub(crate) fn header(format: Format, level: u8) -> &'static [u8] {
    match (format, level) {
        // FLEVEL and XFL inform; zlib's steps.
        (Format::Zlib, 0..=1) => &[0x78, 0x01],
        (Format::Zlib, 2..=5) => &[0x78, 0x5e],
        (Format::Zlib, 6) => &[0x78, 0x9c],
        (Format::Zlib, _) => &[0x78, 0xda],
        (Format::Gzip, 0..=1) => &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255],
        (Format::Gzip, 2..=8) => &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255],
        (Format::Gzip, _) => &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255],
        _ => &[],
    }
}

/// Bytes behind it: at most eight, and how many.
pub(crate) fn trailer(format: Format, checksum: u32, len: usize) -> ([u8; 8], usize) {
    let mut bytes = [0; 8];
    match format {
        Format::Zlib => {
            bytes[..4].copy_from_slice(&checksum.to_be_bytes());
            (bytes, 4)
        }
        Format::Gzip => {
            bytes[..4].copy_from_slice(&checksum.to_le_bytes());
            bytes[4..].copy_from_slice(&(len as u32).to_le_bytes());
            (bytes, 8)
        }
        _ => (bytes, 0),
    }
}

/// How long the header of what is decompressed is. `None` for one that is unusual or wrong: what there is to say of
/// it, another device says.
pub(crate) fn header_len(format: Format, src: &[u8]) -> Option<usize> {
    match format {
        Format::Raw => Some(0),
        Format::Zlib => {
            let &[cmf, flg] = src.first_chunk::<2>()?;
            let right = u16::from_be_bytes([cmf, flg]).is_multiple_of(31);
            (right && cmf & 15 == 8 && cmf >> 4 <= 7 && flg & 0x20 == 0).then_some(2)
        }
        Format::Gzip => {
            let &[0x1f, 0x8b, 8, flags, ..] = src.first_chunk::<10>()? else { return None };
            // A checksum of the header, and bits that mean nothing.
            if flags & (0xe0 | 2) != 0 {
                return None;
            }
            let mut len = 10;
            if flags & 4 != 0 {
                let &extra = src.get(len..)?.first_chunk::<2>()?;
                len += 2 + usize::from(u16::from_le_bytes(extra));
            }
            // A name, a comment.
            for _ in 0..(flags >> 3 & 3).count_ones() {
                len += src.get(len..)?.iter().position(|byte| *byte == 0)? + 1;
            }
            (len <= src.len()).then_some(len)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_back() {
        for format in [Format::Raw, Format::Zlib, Format::Gzip] {
            for level in 1..=12 {
                let header = header(format, level);
                assert_eq!(header_len(format, header), Some(header.len()), "{format}, {level}");
                for cut in 0..header.len() {
                    assert_eq!(header_len(format, &header[..cut]), None);
                }
            }
        }
        let named = b"\x1f\x8b\x08\x08\0\0\0\0\0\x03name\0rest";
        assert_eq!(header_len(Format::Gzip, named), Some(15));
        assert_eq!(header_len(Format::Gzip, &named[..14]), None, "a name without its end");
        let all = b"\x1f\x8b\x08\x1d\0\0\0\0\0\x03\x02\0abname\0\0rest";
        assert_eq!(header_len(Format::Gzip, all), Some(20));
        for cut in 0..20 {
            assert_eq!(header_len(Format::Gzip, &all[..cut]), None, "{cut}");
        }
        // A dictionary, a wrong check; a checksum of the header, a reserved bit.
        assert_eq!(header_len(Format::Zlib, &[0x78, 0xbb]), None);
        assert_eq!(header_len(Format::Zlib, &[0x78, 0x02]), None);
        for flags in [2, 0x20, 0x80] {
            let src = [0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0];
            assert_eq!(header_len(Format::Gzip, &src), None, "{flags}");
        }
    }
}
