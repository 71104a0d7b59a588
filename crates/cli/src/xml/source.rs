//! The bytes of documents: files as they are, or gzip'd.

use std::io;

use lookaside::{Buf, DecompressStream, Format, Handle, Runtime, Status};

use crate::scan::{Input, Piece};

/// Bytes that a piece has after decompression, at most.
const PIECE: usize = 256 << 10;

/// One document's bytes, in pieces.
pub(super) struct Source<'a> {
    input: Input,
    runtime: &'a Runtime,
    handle: Handle,
    /// What of the file is not decompressed.
    packed: Vec<u8>,
    members: Option<DecompressStream>,
    begun: bool,
    is_gzip: bool,
    ended: bool,
    /// Bytes that came.
    pub bytes: u64,
}

impl<'a> Source<'a> {
    pub(super) fn new(input: Input, runtime: &'a Runtime) -> Source<'a> {
        Source {
            input,
            runtime,
            handle: runtime.handle(),
            packed: vec![],
            members: None,
            begun: false,
            is_gzip: false,
            ended: false,
            bytes: 0,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.input.name
    }

    /// The next piece.
    pub(super) fn read(&mut self) -> io::Result<Piece> {
        let piece = match self.begun {
            true if self.is_gzip => return self.unpack(),
            true => self.input.read()?,
            false => {
                self.begun = true;
                let piece = self.input.read()?;
                if piece.data.starts_with(&[0x1f, 0x8b]) {
                    self.is_gzip = true;
                    self.packed = piece.data;
                    return self.unpack();
                }
                piece
            }
        };
        self.bytes += piece.data.len() as u64;
        Ok(piece)
    }

    /// All of it.
    pub(super) fn whole(&mut self) -> io::Result<Vec<u8>> {
        let mut all = vec![];
        loop {
            let piece = self.read()?;
            all.extend(piece.data);
            if piece.last {
                return Ok(all);
            }
        }
    }

    /// Decompresses on, member by member.
    fn unpack(&mut self) -> io::Result<Piece> {
        let bad = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
        loop {
            if self.packed.is_empty() && !self.input.has_ended() {
                self.packed = self.input.read()?.data;
            }
            let no_more = self.packed.is_empty() && self.input.has_ended();
            if self.ended || no_more && self.members.is_none() {
                return Ok(Piece { data: vec![], last: true });
            }
            if self.members.is_none() {
                let stream = self.runtime.decompress_stream(Format::Gzip, None);
                self.members = Some(stream.map_err(|e| io::Error::other(e.to_string()))?);
            }
            let Some(stream) = &self.members else { continue };
            let src = std::mem::take(&mut self.packed);
            let response =
                self.handle.call(stream.decompress(src.into(), Buf::zeroed(PIECE))).wait();
            let done = response.result.map_err(|e| bad(format!("gzip: {e}")))?;
            let mut data = vec![];
            response.src.gather(&mut self.packed);
            self.packed.drain(..done.consumed);
            response.dst.gather(&mut data);
            data.truncate(done.produced);
            match done.status {
                Status::End => self.members = None,
                _ if no_more && data.is_empty() => {
                    return Err(bad("gzip: unexpected end of data".into()));
                }
                _ => {}
            }
            if !data.is_empty() {
                self.bytes += data.len() as u64;
                return Ok(Piece { data, last: false });
            }
        }
    }
}
