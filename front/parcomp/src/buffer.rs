//! The synchronous consumer interface (paper 1 section 8.2): buffer to buffer.

use std::io::{self, Write};

use crate::{
    compress, decompress,
    error::Error,
    gzip::Index,
    input::Source,
    params::{Format, Params},
    provider::Provider,
    verify::{Original, verify},
};

/// Compresses `src` to `dst`; returns how many bytes of `dst` were written.
///
/// The device reads `src` in place (unless [`Params::copy`]); the output is assembled in `dst`.
///
/// # Errors
/// [`Error::DstTooSmall`] with the size that is needed, and all others. `dst` then holds nothing of
/// use.
pub fn compress_buffer(
    provider: &dyn Provider,
    params: &Params,
    src: &[u8],
    dst: &mut [u8],
) -> Result<usize, Error> {
    // The rest is compressed all the same when `dst` is full, to say how much is needed.
    let mut sink = SliceSink { dst, len: 0, count_on: true };
    compress(provider, params, Source::Slice(src), &mut sink, &mut |_, _| ())?;
    let len = sink.len;
    if len > sink.dst.len() {
        return Err(Error::DstTooSmall { needed: Some(len) });
    }
    if params.verify {
        let (packed, mut original) = (Source::Slice(&dst[..len]), src);
        verify(provider, params, packed, Original::Reader(&mut original))?;
    }
    Ok(len)
}

/// Decompresses `src`, which is in [`Params::format`], to `dst`; returns how many bytes of `dst`
/// were written. Bytes after the end of the last member or stream are ignored.
///
/// # Errors
/// [`Error::DstTooSmall`] (with the size that is needed where an index says so), and all others.
/// `dst` then holds nothing of use.
pub fn decompress_buffer(
    provider: &dyn Provider,
    params: &Params,
    src: &[u8],
    dst: &mut [u8],
) -> Result<usize, Error> {
    let mut sink = SliceSink { dst, len: 0, count_on: false };
    let result = decompress(provider, params, Source::Slice(src), &mut sink, &mut |_, _| ());
    if sink.len > sink.dst.len() {
        let needed = (params.format == Format::Gzip).then(|| indexed_len(src)).flatten();
        return Err(Error::DstTooSmall { needed });
    }
    result?;
    Ok(sink.len)
}

/// What all members say that they decompress to, if all have our index.
fn indexed_len(mut src: &[u8]) -> Option<usize> {
    let mut len = 0usize;
    while !src.is_empty() {
        let index = Index::read(src)?;
        len = len.checked_add(index.data as usize)?;
        src = src.get(index.member as usize..)?;
    }
    Some(len)
}

/// Writes to a slice.
struct SliceSink<'d> {
    dst: &'d mut [u8],
    /// What was written; more than the slice's length after an overflow.
    len: usize,
    /// After an overflow: drop the bytes and count them, instead of failing.
    count_on: bool,
}

impl Write for SliceSink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = self.len.saturating_add(bytes.len());
        if let Some(room) = self.dst.get_mut(self.len..end) {
            room.copy_from_slice(bytes);
        }
        self.len = end;
        match self.count_on || end <= self.dst.len() {
            true => Ok(bytes.len()),
            false => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
