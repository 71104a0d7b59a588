//! The header and trailer of gzip members as gzip writes them (RFC 1952).

/// FLG.
const HEADER_CRC: u8 = 2;
const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;
const ENCRYPTED: u8 = 32;
const RESERVED: u8 = 0xc0;

/// The length of a trailer: CRC-32, length.
pub(crate) const TRAILER: u64 = 8;

/// The header that gzip writes.
pub(crate) fn header(level: u8, time: u32, name: Option<&[u8]>) -> Vec<u8> {
    let mut h = vec![0x1f, 0x8b, 8, if name.is_some() { NAME } else { 0 }];
    h.extend_from_slice(&time.to_le_bytes());
    h.push(match level {
        1 => 4,
        9 => 2,
        _ => 0,
    });
    // OS: Unix.
    h.push(3);
    if let Some(name) = name {
        h.extend_from_slice(name);
        h.push(0);
    }
    h
}

/// An empty member with what `header` says, before others that have the framework's headers. The subfield says that those
/// have their lengths.
pub(crate) fn first_of_many(header: &[u8]) -> Vec<u8> {
    let (start, name) = header.split_at(10);
    let mut member = start.to_vec();
    member[3] |= EXTRA;
    member.extend_from_slice(b"\x04\0LA\0\0");
    member.extend_from_slice(name);
    // An empty block, and the CRC-32 and length of nothing.
    member.extend_from_slice(b"\x03\0\0\0\0\0\0\0\0\0");
    member
}

/// What a header says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    /// Bytes.
    pub(crate) len: usize,
    /// 0: none.
    pub(crate) time: u32,
    pub(crate) name: Option<Vec<u8>>,
    /// Whether the member's length is in it, BGZF's or ours: there may be many of them.
    pub(crate) lengths: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// There is more of it.
    Short,
    /// It is none.
    Other,
    Method(u8),
    Encrypted,
    Flags(u8),
}

impl Header {
    pub(crate) fn read(bytes: &[u8]) -> Result<Header, Wrong> {
        const MAGIC: [u8; 2] = [0x1f, 0x8b];
        let start = &bytes[..bytes.len().min(2)];
        if !MAGIC.starts_with(start) {
            return Err(Wrong::Other);
        }
        let [_, _, method, flags, time @ .., _, _] =
            *bytes.first_chunk::<10>().ok_or(Wrong::Short)?;
        if method != 8 {
            return Err(Wrong::Method(method));
        }
        if flags & ENCRYPTED != 0 {
            return Err(Wrong::Encrypted);
        }
        if flags & RESERVED != 0 {
            return Err(Wrong::Flags(flags));
        }
        let mut at = 10;
        let mut lengths = false;
        if flags & EXTRA != 0 {
            lengths = matches!(bytes.get(12..14), Some(b"BC" | b"LA"));
            let len = bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(Wrong::Short)?;
            at += 2 + usize::from(u16::from_le_bytes(*len));
        }
        let mut text = || {
            let rest = bytes.get(at..).ok_or(Wrong::Short)?;
            let len = rest.iter().position(|&b| b == 0).ok_or(Wrong::Short)?;
            at += len + 1;
            Ok(rest[..len].to_vec())
        };
        let name = if flags & NAME != 0 { Some(text()?) } else { None };
        if flags & COMMENT != 0 {
            text()?;
        }
        if flags & HEADER_CRC != 0 {
            at += 2;
        }
        if at > bytes.len() {
            return Err(Wrong::Short);
        }
        let name = name.filter(|name| !name.is_empty());
        Ok(Header { len: at, time: u32::from_le_bytes(time), name, lengths })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let h = header(9, 77, Some(b"name"));
        let len = h.len();
        let name = Some(b"name".to_vec());
        assert_eq!(Header::read(&h), Ok(Header { len, time: 77, name, lengths: false }));
        let many = first_of_many(&h);
        let name = Some(b"name".to_vec());
        let first = Header { len: many.len() - 10, time: 77, name, lengths: true };
        assert_eq!(Header::read(&many), Ok(first));
        for short in 0..len {
            assert_eq!(Header::read(&h[..short]), Err(Wrong::Short), "{short}");
        }
        assert_eq!(Header::read(b"hello"), Err(Wrong::Other));
        assert_eq!(Header::read(&[0x1f, 0x8b, 7, 0, 0, 0, 0, 0, 0, 0]), Err(Wrong::Method(7)));
        let full = b"\x1f\x8b\x08\x1e\x01\0\0\0\0\x03\x02\0ab\x6e\0comment\0\x11\x22rest";
        let header =
            Header { len: full.len() - 4, time: 1, name: Some(b"n".to_vec()), lengths: false };
        assert_eq!(Header::read(full), Ok(header));
        let bgzf = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0";
        assert_eq!(Header::read(bgzf), Ok(Header { len: 18, lengths: true, ..Header::default() }));
    }
}
