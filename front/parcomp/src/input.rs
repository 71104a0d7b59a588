//! Where the bytes come from: a slice that the caller lends, or a reader.

use std::io::{self, Read};

use crate::{
    error::Error,
    provider::{Chunk, Memory},
};

/// What to compress or decompress.
pub enum Source<'a> {
    /// The caller's memory. Providers of this crate read it in place, unless
    /// [`crate::Params::copy`] is set; registered ones get copies.
    Slice(&'a [u8]),
    /// A file or pipe.
    Reader {
        /// Read to its end.
        reader: &'a mut dyn Read,
        /// How much there is, if known: only used to choose chunks for threads.
        len: Option<u64>,
    },
}

impl Source<'_> {
    pub(crate) fn len(&self) -> Option<u64> {
        match self {
            Source::Slice(s) => Some(s.len() as u64),
            Source::Reader { len, .. } => *len,
        }
    }
}

enum Kind<'a> {
    Slice { all: &'a [u8], at: usize, copy: bool },
    Reader { reader: &'a mut dyn Read, buffer: Vec<u8>, start: usize, end: usize, eof: bool },
}

/// A source with look-ahead.
pub(crate) struct Input<'a> {
    kind: Kind<'a>,
    /// Bytes consumed so far.
    pub(crate) consumed: u64,
}

/// The look-ahead buffer of a reader; grows to what is asked for.
const BUFFER: usize = 256 * 1024;

impl<'a> Input<'a> {
    pub(crate) fn new(source: Source<'a>, copy: bool) -> Input<'a> {
        let kind = match source {
            Source::Slice(all) => Kind::Slice { all, at: 0, copy },
            Source::Reader { reader, .. } => {
                Kind::Reader { reader, buffer: Vec::new(), start: 0, end: 0, eof: false }
            }
        };
        Input { kind, consumed: 0 }
    }

    /// The next bytes without consuming them: at least `n`, or else all that are left.
    pub(crate) fn peek(&mut self, n: usize) -> Result<&[u8], Error> {
        match &mut self.kind {
            Kind::Slice { all, at, .. } => Ok(&all[*at..]),
            Kind::Reader { reader, buffer, start, end, eof } => {
                if *end - *start < n && !*eof {
                    if buffer.len() - *start < n {
                        buffer.copy_within(*start..*end, 0);
                        (*start, *end) = (0, *end - *start);
                        buffer.resize(buffer.len().max(n).max(BUFFER), 0);
                    }
                    while *end - *start < n && !*eof {
                        let got = read(*reader, &mut buffer[*end..])?;
                        *end += got;
                        *eof = got == 0;
                    }
                }
                Ok(&buffer[*start..*end])
            }
        }
    }

    /// Consumes bytes that were seen.
    pub(crate) fn consume(&mut self, n: usize) {
        match &mut self.kind {
            Kind::Slice { at, .. } => *at += n,
            Kind::Reader { start, end, .. } => *start = (*start + n).min(*end),
        }
        self.consumed += n as u64;
    }

    /// Consumes `n` bytes, or all that are left if fewer, as a chunk. `spare` is recycled for it
    /// where it needs memory of its own.
    pub(crate) fn take(&mut self, n: usize, mut spare: Vec<u8>) -> Result<Chunk<'a>, Error> {
        let chunk = match &mut self.kind {
            Kind::Slice { all, at, copy } => {
                let piece = &all[*at..*at + n.min(all.len() - *at)];
                *at += piece.len();
                if *copy {
                    spare.clear();
                    spare.extend_from_slice(piece);
                    Chunk(Memory::Owned(spare))
                } else {
                    Chunk(Memory::Lent(piece))
                }
            }
            Kind::Reader { reader, buffer, start, end, eof } => {
                let mut len = n.min(*end - *start);
                // Not cleared first: what is there is overwritten, so that a recycled buffer of
                // the same length costs nothing.
                grow(&mut spare, n.min(len.max(BUFFER)))?;
                spare.truncate(n);
                spare[..len].copy_from_slice(&buffer[*start..*start + len]);
                *start += len;
                while len < n && !*eof {
                    // Memory for what is there, not for what was asked: of a huge chunk, input
                    // may be only the beginning.
                    if len == spare.len() {
                        grow(&mut spare, n.min(2 * len))?;
                    }
                    let got = read(*reader, &mut spare[len..])?;
                    len += got;
                    *eof = got == 0;
                }
                spare.truncate(len);
                Chunk(Memory::Owned(spare))
            }
        };
        self.consumed += chunk.len() as u64;
        Ok(chunk)
    }

    /// As [`unread`](Input::unread) of chunks between which others were consumed that are not wanted back; the first
    /// one began at `start`.
    pub(crate) fn unread_from(&mut self, start: u64, parts: &[&[u8]]) {
        match &mut self.kind {
            // Consumed bytes and place are the same here.
            Kind::Slice { at, all, .. } => {
                *at = usize::try_from(start).unwrap_or(usize::MAX).min(all.len());
            }
            Kind::Reader { .. } => self.unread(parts),
        }
        self.consumed = start;
    }

    /// Takes back the last bytes that were consumed, oldest first.
    pub(crate) fn unread(&mut self, parts: &[&[u8]]) {
        let len: usize = parts.iter().map(|p| p.len()).sum();
        self.consumed -= len as u64;
        match &mut self.kind {
            Kind::Slice { at, .. } => *at -= len,
            Kind::Reader { buffer, start, end, .. } => {
                let mut all: Vec<u8> = Vec::with_capacity(len + (*end - *start));
                parts.iter().for_each(|p| all.extend_from_slice(p));
                all.extend_from_slice(&buffer[*start..*end]);
                (*start, *end) = (0, all.len());
                *buffer = all;
            }
        }
    }
}

/// Makes `v` at least `len` long.
fn grow(v: &mut Vec<u8>, len: usize) -> Result<(), Error> {
    if v.len() < len {
        v.try_reserve_exact(len - v.len()).map_err(|_| Error::memory(len))?;
        v.resize(len, 0);
    }
    Ok(())
}

fn read(reader: &mut dyn Read, buffer: &mut [u8]) -> Result<usize, Error> {
    loop {
        match reader.read(buffer) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other.map_err(|e| Error::io("read", e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one to seven bytes at a time.
    struct Dribble(Vec<u8>, usize);

    impl Read for Dribble {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = (self.1 % 7 + 1).min(buffer.len()).min(self.0.len() - self.1);
            buffer[..n].copy_from_slice(&self.0[self.1..self.1 + n]);
            self.1 += n;
            Ok(n)
        }
    }

    #[test]
    fn a_huge_chunk_takes_memory_for_what_is_there() {
        for (len, most) in [(0, BUFFER), (5000, BUFFER), (3 * BUFFER, 4 * BUFFER)] {
            let data = vec![7; len];
            let mut reader = &data[..];
            let source = Source::Reader { reader: &mut reader, len: Some(len as u64) };
            let mut input = Input::new(source, false);
            let Chunk(Memory::Owned(chunk)) = input.take(1 << 30, Vec::new()).unwrap() else {
                panic!("a reader lends nothing");
            };
            assert!(chunk == data && chunk.capacity() <= most, "{len}: {}", chunk.capacity());
        }
        // A recycled buffer may be longer than the next chunk.
        let mut reader = &[1; 50][..];
        let mut input = Input::new(Source::Reader { reader: &mut reader, len: None }, false);
        assert_eq!(input.take(20, vec![9; 90]).unwrap().len(), 20);
        assert_eq!(input.take(90, vec![9; 9]).unwrap().bytes(), [1; 30]);
    }

    #[test]
    fn slices_and_readers_agree() {
        let data: Vec<u8> = (0..5000u32).map(|i| ((i * 7) >> 3) as u8).collect();
        let mut dribble = Dribble(data.clone(), 0);
        let reader = Source::Reader { reader: &mut dribble, len: None };
        for source in [Source::Slice(&data), reader] {
            let mut input = Input::new(source, false);
            assert_eq!(input.peek(10).unwrap()[..10], data[..10]);
            input.consume(4);
            let a = input.take(100, Vec::new()).unwrap();
            assert_eq!(a.bytes(), &data[4..104]);
            let b = input.take(1000, vec![9; 50]).unwrap();
            assert_eq!(b.bytes(), &data[104..1104]);
            assert_eq!(input.peek(1).unwrap()[0], data[1104]);
            input.unread(&[a.bytes(), b.bytes()]);
            assert_eq!(input.consumed, 4);
            assert_eq!(input.peek(3000).unwrap()[..3000], data[4..3004]);
            assert_eq!(input.take(9000, Vec::new()).unwrap().bytes(), &data[4..]);
            assert_eq!(input.consumed, 5000);
            assert!(input.peek(1).unwrap().is_empty());
            assert!(input.take(5, Vec::new()).unwrap().is_empty());
        }
    }
}
