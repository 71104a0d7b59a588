//! XML: documents as states that requests share, events as records in the destination.

use std::any::Any;

use lookaside_core::{
    Capability, Done, Flush, Op, OpError, Prepared, SetupError, SharedDocument, Status, Xml,
    xml::{self, IN_BYTES, Kind, Record},
};
use lookaside_simd::Cpu;
use lookaside_xml::{Output, Parser, Session};

/// Records that are parsed before they are written.
const STEP: usize = 1024;

/// Memory of one channel.
#[derive(Default)]
pub(crate) struct Memory {
    records: Vec<Record>,
    texts: Vec<u8>,
}

pub(crate) fn capabilities(cpu: &Cpu) -> Option<Capability> {
    Some(Capability {
        op: Op::Parse,
        algorithm: "XML 1.0 and namespaces, to events; whole documents, and pieces".into(),
        served_by: format!("own parser, {}", cpu.tier()),
        best_batch: 1,
        max_src: u32::MAX as usize,
    })
}

pub(crate) fn prepare(spec: &Xml, cpu: &Cpu) -> Result<Prepared, SetupError> {
    Ok(Prepared::new(Session::of(spec, cpu)).document_by(|prepared| {
        let parser = Parser::new(prepared.get::<Session>()?);
        Some(Box::new(Document { parser, left: Left::default() }))
    }))
}

/// A document between its pieces.
struct Document {
    parser: Parser,
    left: Left,
}

/// Events that the last destination had no room for. Their texts are all here.
#[derive(Default)]
struct Left {
    records: Vec<Record>,
    /// How many of them were written since.
    taken: usize,
    texts: Vec<u8>,
}

impl lookaside_core::Document for Document {
    fn name(&self, number: u32) -> Option<xml::Name> {
        self.parser.name(number).copied()
    }

    fn string(&self, number: u32) -> &[u8] {
        self.parser.string(number)
    }

    fn error(&self) -> Option<xml::Error> {
        self.parser.error()
    }

    fn restart(&mut self) -> bool {
        self.left = Left::default();
        self.parser.reset()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// Parses the source: the whole document, or the next piece, of which `Flush::Finish` says that it is the last.
pub(crate) fn parse(
    shared: &SharedDocument,
    is_whole: bool,
    memory: &mut Memory,
    src: &[u8],
    dst: &mut [u8],
    flush: Flush,
) -> Result<Done, OpError> {
    if u32::try_from(src.len()).is_err() {
        return Err(OpError::BadInput("4 GiB and more at once"));
    }
    if is_whole && shared.restart(|document| document.restart())?.is_none() {
        return Err(OpError::BadInput("another request works on this document"));
    }
    let last = is_whole || flush == Flush::Finish;
    shared.piece(last, |document| {
        let document = document.as_any().downcast_mut::<Document>().ok_or(OpError::Unsupported)?;
        let mut writer = Writer { dst, written: 0, texts: &mut memory.texts };
        writer.texts.clear();
        let result = document.piece(&mut memory.records, &mut writer, src, last);
        let done = writer.finish(result?)?;
        match is_whole && done.status == Status::Overflow {
            true => Err(OpError::DstTooSmall),
            false => Ok(done),
        }
    })
}

impl Document {
    /// Returns how many bytes are consumed, and how far that is.
    fn piece(
        &mut self,
        records: &mut Vec<Record>,
        writer: &mut Writer<'_>,
        src: &[u8],
        last: bool,
    ) -> Result<(usize, Status), OpError> {
        if !self.write_left(writer) {
            return Ok((0, Status::Overflow));
        }
        records.resize(STEP, Record::default());
        let mut consumed = 0;
        loop {
            // At least one: what has no room is kept.
            let most = writer.room().div_ceil(Record::BYTES).clamp(1, STEP);
            let rest = &src[consumed..];
            let before = writer.texts.len();
            let mut out = Output::new(&mut records[..most], writer.texts);
            let progress = self.parser.feed(rest, last, &mut out);
            let filled = out.len;
            let new = &records[..filled];
            let fitting = writer.write(new, consumed, before);
            if fitting < filled {
                self.keep(&new[fitting..], rest, writer.texts);
                writer.forget(&new[..fitting], before);
                return Ok((consumed + progress.consumed, Status::Overflow));
            }
            consumed += progress.consumed;
            match progress.status {
                lookaside_xml::Status::Full => {}
                lookaside_xml::Status::NeedInput => return Ok((consumed, Status::Complete)),
                lookaside_xml::Status::Finished => return Ok((consumed, Status::End)),
                lookaside_xml::Status::Failed(xml::Error { offset, rule, .. }) => {
                    return Err(OpError::BadDocument { offset, rule });
                }
            }
        }
    }

    /// Keeps what has no room.
    fn keep(&mut self, records: &[Record], chunk: &[u8], texts: &[u8]) {
        let left = &mut self.left;
        left.records.clear();
        left.texts.clear();
        left.taken = 0;
        for &record in records {
            let text = record.text(chunk, texts);
            let place = left.texts.len() as u32;
            left.texts.extend(text);
            left.records.push(match has_text(record.kind) {
                true => Record { flags: record.flags | IN_BYTES, offset: place, ..record },
                false => record,
            });
        }
    }

    /// Writes what was kept; false: not all of it has room.
    fn write_left(&mut self, writer: &mut Writer<'_>) -> bool {
        let left = &mut self.left;
        while let Some(&record) = left.records.get(left.taken) {
            let text = record.text(&[], &left.texts);
            if writer.room() < Record::BYTES + text.len() {
                return false;
            }
            let before = writer.texts.len();
            writer.texts.extend(text);
            let offset = if has_text(record.kind) { before as u32 } else { record.offset };
            writer.write(&[Record { offset, ..record }], 0, before);
            left.taken += 1;
        }
        left.records.clear();
        left.texts.clear();
        left.taken = 0;
        true
    }
}

/// Whether offset and length are those of a text.
fn has_text(kind: Kind) -> bool {
    !matches!(kind, Kind::StartElement | Kind::EndElement)
}

/// A destination: records from its start; texts go behind them when all are known.
struct Writer<'a> {
    dst: &'a mut [u8],
    written: usize,
    texts: &'a mut Vec<u8>,
}

impl Writer<'_> {
    /// Bytes that are free.
    fn room(&self) -> usize {
        self.dst.len().saturating_sub(self.written * Record::BYTES + self.texts.len())
    }

    /// Writes as many of the records as have room with their texts, which lie in `texts` from `before` on, or in a chunk
    /// that begins at `consumed` in the source.
    fn write(&mut self, records: &[Record], consumed: usize, before: usize) -> usize {
        let mut fitting = records.len();
        let all = (self.written + fitting) * Record::BYTES + self.texts.len();
        if all > self.dst.len() {
            let mut end = before;
            let mut used = self.written * Record::BYTES;
            fitting = 0;
            for record in records {
                end = end.max(own_end(record));
                used += Record::BYTES;
                if used + end > self.dst.len() {
                    break;
                }
                fitting += 1;
            }
        }
        let places = self.dst[self.written * Record::BYTES..].as_chunks_mut().0;
        for (place, &record) in places.iter_mut().zip(&records[..fitting]) {
            let refers = has_text(record.kind) && record.flags & IN_BYTES == 0;
            let offset = if refers { record.offset + consumed as u32 } else { record.offset };
            *place = Record { offset, ..record }.to_bytes();
        }
        self.written += fitting;
        fitting
    }

    /// Gives up the texts behind those of the last records that were written; before them there were `before` bytes.
    fn forget(&mut self, written: &[Record], before: usize) {
        self.texts.truncate(written.iter().map(own_end).fold(before, usize::max));
    }

    /// Puts the texts behind the records.
    fn finish(self, (consumed, status): (usize, Status)) -> Result<Done, OpError> {
        let records = self.written * Record::BYTES;
        let produced = records + self.texts.len();
        let place = self.dst.get_mut(records..produced).ok_or(OpError::DstTooSmall)?;
        place.copy_from_slice(self.texts);
        Ok(Done { consumed, produced, checksum: self.written as u64, status })
    }
}

/// Where the text of a record ends in `texts`; 0 if it lies in the chunk.
fn own_end(record: &Record) -> usize {
    let own = has_text(record.kind) && record.flags & IN_BYTES != 0;
    if own { record.offset as usize + record.len as usize } else { 0 }
}
