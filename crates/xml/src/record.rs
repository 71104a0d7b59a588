//! Where the parser writes its events.

pub use lookaside_spec::xml::{CDATA, DEFAULTED, EMPTY, IN_BYTES, Kind, Record, fields};

/// Where records go.
#[derive(Debug)]
pub struct Output<'a> {
    /// Places for records.
    pub records: &'a mut [Record],
    /// How many are filled.
    pub len: usize,
    /// Text that is not as in the chunk. It grows; the caller clears it together with the records.
    pub bytes: &'a mut Vec<u8>,
}

impl<'a> Output<'a> {
    /// An empty output.
    pub fn new(records: &'a mut [Record], bytes: &'a mut Vec<u8>) -> Output<'a> {
        Output { records, len: 0, bytes }
    }

    /// The records so far.
    pub fn filled(&self) -> &[Record] {
        &self.records[..self.len]
    }

    /// The text of a record; `chunk` is what [`Parser::feed`](crate::Parser::feed) had.
    pub fn text<'t>(&'t self, record: &Record, chunk: &'t [u8]) -> &'t [u8] {
        record.text(chunk, self.bytes)
    }

    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.len >= self.records.len()
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, record: Record) {
        // Field by field: a copy may load 16 bytes that were just stored in parts, which stalls.
        let Record { kind, flags, count, name, offset, len } = record;
        let place = &mut self.records[self.len];
        (place.kind, place.flags, place.count) = (kind, flags, count);
        (place.name, place.offset, place.len) = (name, offset, len);
        self.len += 1;
    }
}

pub(crate) fn pack(parts: &[&[u8]]) -> Vec<u8> {
    let mut text = vec![];
    for part in parts {
        text.extend((part.len() as u32).to_le_bytes());
        text.extend(*part);
    }
    text
}
