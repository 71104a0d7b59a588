//! A parser with memory for its records: for who looks at them at once.

use crate::record::IN_BYTES;
use crate::{Error, Output, Parser, Record, Session, Status};

/// Records that the parser fills before they are looked at.
const RECORDS: usize = 2048;

/// Parses chunks, and shows the records of each as they come.
pub(crate) struct Feed {
    pub(crate) parser: Parser,
    records: Vec<Record>,
    bytes: Vec<u8>,
}

/// Records that were parsed at once, with what their texts lie in.
#[derive(Clone, Copy)]
pub(crate) struct Parsed<'a> {
    pub(crate) parser: &'a Parser,
    pub(crate) records: &'a [Record],
    /// The rest of the chunk, from where it was parsed.
    pub(crate) chunk: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> Parsed<'a> {
    /// The text of a record.
    #[inline(always)]
    pub(crate) fn text(&self, record: &Record) -> &'a [u8] {
        record.text(self.chunk, self.bytes)
    }

    /// The bytes that the range of a record's text is a range of.
    #[inline(always)]
    pub(crate) fn buffer(&self, record: &Record) -> &'a [u8] {
        if record.flags & IN_BYTES != 0 { self.bytes } else { self.chunk }
    }
}

impl Feed {
    pub(crate) fn new(session: &Session) -> Feed {
        let mut parser = Parser::new(session);
        parser.joins = true;
        Feed { parser, records: vec![Record::default(); RECORDS], bytes: Vec::new() }
    }

    /// Parses the next bytes of the document; `last`: none follow. Returns whether the document is complete.
    pub(crate) fn feed<E: From<Error>>(
        &mut self,
        chunk: &[u8],
        last: bool,
        mut look: impl FnMut(Parsed<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut chunk = chunk;
        loop {
            self.bytes.clear();
            let mut out = Output::new(&mut self.records, &mut self.bytes);
            let progress = self.parser.feed(chunk, last, &mut out);
            let filled = out.len;
            let (records, bytes) = (&self.records[..filled], self.bytes.as_slice());
            look(Parsed { parser: &self.parser, records, chunk, bytes })?;
            chunk = &chunk[progress.consumed..];
            match progress.status {
                Status::Full => {}
                Status::NeedInput => return Ok(false),
                Status::Finished => return Ok(true),
                Status::Failed(error) => return Err(error.into()),
            }
        }
    }
}
