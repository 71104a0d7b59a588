//! Whether compressed data decompresses to what it was made from.

use std::io::{self, Read, Write};

use crate::{
    decompress, error::Error, ffi::crc32, input::Source, params::Params, provider::Provider,
};

/// What was compressed.
pub enum Original<'a> {
    /// The data itself.
    Reader(&'a mut dyn Read),
    /// Its length and CRC-32, where it can be read only once.
    Digest {
        /// The length in bytes.
        len: u64,
        /// The CRC-32.
        crc: u32,
    },
}

/// Decompresses `packed` and compares the result with the original.
///
/// # Errors
/// [`Error::Verify`] when they differ or `packed` is damaged; and operating-system errors.
pub fn verify(
    provider: &dyn Provider,
    params: &Params,
    packed: Source<'_>,
    original: Original<'_>,
) -> Result<(), Error> {
    let mut compare = Compare { original, len: 0, crc: 0, buffer: Vec::new(), error: None };
    match decompress(provider, params, packed, &mut compare, &mut |_, _| ()) {
        Ok(summary) if !summary.trailing_garbage && compare.ends()? => Ok(()),
        Ok(_) | Err(Error::BadData { .. } | Error::NotThisFormat(_)) => Err(Error::Verify),
        Err(e) => Err(compare.error.unwrap_or(e)),
    }
}

struct Compare<'a> {
    original: Original<'a>,
    len: u64,
    crc: u32,
    buffer: Vec<u8>,
    /// Why writing failed.
    error: Option<Error>,
}

impl Compare<'_> {
    fn same(&mut self, bytes: &[u8]) -> Result<bool, Error> {
        self.len += bytes.len() as u64;
        match &mut self.original {
            Original::Reader(reader) => {
                if self.buffer.len() < bytes.len() {
                    self.buffer.resize(bytes.len(), 0);
                }
                let room = &mut self.buffer[..bytes.len()];
                match reader.read_exact(room) {
                    Ok(()) => Ok(room == bytes),
                    Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
                    Err(e) => Err(Error::io("read", e)),
                }
            }
            Original::Digest { len, .. } => {
                self.crc = crc32(self.crc, bytes);
                Ok(self.len <= *len)
            }
        }
    }

    /// Whether the original ends here too.
    fn ends(&mut self) -> Result<bool, Error> {
        match &mut self.original {
            Original::Reader(reader) => {
                let mut one = [0];
                match reader.read_exact(&mut one) {
                    Ok(()) => Ok(false),
                    Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
                    Err(e) => Err(Error::io("read", e)),
                }
            }
            Original::Digest { len, crc } => Ok((self.len, self.crc) == (*len, *crc)),
        }
    }
}

impl Write for Compare<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let error = match self.same(bytes) {
            Ok(true) => return Ok(bytes.len()),
            Ok(false) => Error::Verify,
            Err(e) => e,
        };
        self.error = Some(error);
        Err(io::ErrorKind::Other.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Zlib, compress_buffer};

    #[test]
    fn sees_every_difference() {
        let text = b"some text, again and again; ".repeat(5000);
        let params = Params::default();
        let mut packed = vec![0; 200_000];
        let n = compress_buffer(&Zlib, &params, &text, &mut packed).unwrap();
        let check = |original: &[u8]| {
            let mut reader = original;
            let packed = || Source::Slice(&packed[..n]);
            let read = verify(&Zlib, &params, packed(), Original::Reader(&mut reader));
            let digest = Original::Digest { len: original.len() as u64, crc: crc32(0, original) };
            let digest = verify(&Zlib, &params, packed(), digest);
            assert_eq!(read.is_ok(), digest.is_ok());
            assert!(read.is_ok() || matches!(read, Err(Error::Verify)));
            read.is_ok()
        };
        assert!(check(&text));
        assert!(!check(&text[1..]));
        assert!(!check(&text[..text.len() - 1]));
        assert!(!check(&[&text[..], b"x"].concat()));
        let mut other = text.clone();
        other[100_000] ^= 1;
        assert!(!check(&other));
        packed[500] ^= 1;
        let packed = Source::Slice(&packed[..n]);
        let damaged = verify(&Zlib, &params, packed, Original::Reader(&mut &text[..]));
        assert!(matches!(damaged, Err(Error::Verify)));
    }
}
