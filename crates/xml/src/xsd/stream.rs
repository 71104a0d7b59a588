//! A validator behind the parser.

use std::sync::Arc;

use super::{Invalid, Limits, Schema, Validator};
use crate::{Error, Kind, Output, Parser, Record, Session, Status, fields};

/// Records that the parser fills before they are looked at.
const RECORDS: usize = 512;

/// A document that arrives in chunks, and what is not valid in it.
pub struct Stream {
    parser: Parser,
    validator: Validator,
    records: Vec<Record>,
    bytes: Vec<u8>,
    tag: Tag,
    in_doctype: bool,
    is_finished: bool,
    /// The high bits of places, whose records have the low ones.
    place: u64,
}

/// A start-tag whose attributes are not all in the parser's output.
#[derive(Default)]
struct Tag {
    name: u32,
    missing: u16,
    place: u32,
    attributes: Vec<(u32, usize, usize)>,
    values: Vec<u8>,
}

impl Stream {
    /// Before a document.
    pub fn new(session: &Session, schema: &Arc<Schema>) -> Stream {
        Stream {
            parser: Parser::new(session),
            validator: Validator::new(schema),
            records: vec![Record::default(); RECORDS],
            bytes: Vec::new(),
            tag: Tag::default(),
            in_doctype: false,
            is_finished: false,
            place: 0,
        }
    }

    /// With other limits.
    pub fn limits(mut self, limits: Limits) -> Stream {
        self.validator = self.validator.limits(limits);
        self
    }

    /// Before another document.
    pub fn reset(&mut self) {
        match self.parser.reset() {
            true => self.validator.restart(),
            false => self.validator.reset(),
        }
        self.tag.missing = 0;
        (self.in_doctype, self.is_finished, self.place) = (false, false, 0);
    }

    /// Parses and validates the next bytes of the document; `last`: none follow. The error is that of a document that is not
    /// well-formed; what is not valid is in [`errors`](Self::errors).
    pub fn feed(&mut self, chunk: &[u8], last: bool) -> Result<(), Error> {
        let mut rest = chunk;
        loop {
            self.bytes.clear();
            let mut records = std::mem::take(&mut self.records);
            let mut bytes = std::mem::take(&mut self.bytes);
            let mut out = Output::new(&mut records, &mut bytes);
            let progress = self.parser.feed(rest, last, &mut out);
            self.look(out.filled(), rest, out.bytes);
            (self.records, self.bytes) = (records, bytes);
            rest = &rest[progress.consumed..];
            match progress.status {
                Status::Full => {}
                Status::NeedInput => return Ok(()),
                Status::Finished => {
                    if !std::mem::replace(&mut self.is_finished, true) {
                        self.validator.end_document();
                    }
                    return Ok(());
                }
                Status::Failed(e) => return Err(e),
            }
        }
    }

    /// What is not valid so far.
    pub fn errors(&self) -> &[Invalid] {
        self.validator.errors()
    }

    /// The same, which is forgotten here.
    pub fn take_errors(&mut self) -> Vec<Invalid> {
        self.validator.take_errors()
    }

    /// Whether nothing was wrong so far.
    pub fn is_valid(&self) -> bool {
        self.validator.is_valid()
    }

    fn look(&mut self, records: &[Record], chunk: &[u8], bytes: &[u8]) {
        let mut n = 0;
        while let Some(record) = records.get(n) {
            n += 1;
            match record.kind {
                Kind::StartElement => {
                    let count = usize::from(record.count);
                    let Some(owned) = records.get(n..n + count) else {
                        self.tag.name = record.name;
                        self.tag.missing = record.count;
                        self.tag.place = record.offset;
                        self.tag.attributes.clear();
                        self.tag.values.clear();
                        continue;
                    };
                    n += count;
                    let place = place(&mut self.place, record.offset);
                    let ahead = if count == 0 { &records[n..] } else { &[] };
                    if let [text, end, ..] = ahead
                        && (text.kind, end.kind) == (Kind::Text, Kind::EndElement)
                        && self.validator.leaf(record.name, text.text(chunk, bytes), place)
                    {
                        n += 2;
                        continue;
                    }
                    for one in owned.iter().filter(|it| it.kind == Kind::Namespace) {
                        self.validator
                            .namespace(self.parser.string(one.name), one.text(chunk, bytes));
                    }
                    let attributes = owned.iter().filter(|it| it.kind == Kind::Attribute);
                    let attributes = attributes.map(|it| (it.name, it.text(chunk, bytes)));
                    self.validator.start_element(record.name, &self.parser, attributes, place);
                }
                Kind::Attribute | Kind::Namespace => {
                    let text = record.text(chunk, bytes);
                    self.tag.missing -= 1;
                    if record.kind == Kind::Namespace {
                        self.validator.namespace(self.parser.string(record.name), text);
                    } else {
                        let from = self.tag.values.len();
                        self.tag.values.extend_from_slice(text);
                        self.tag.attributes.push((record.name, from, self.tag.values.len()));
                    }
                    if self.tag.missing == 0 {
                        let Tag { name, attributes, values, .. } = &self.tag;
                        let attributes = attributes.iter().map(|it| (it.0, &values[it.1..it.2]));
                        let place = place(&mut self.place, self.tag.place);
                        self.validator.start_element(*name, &self.parser, attributes, place);
                    }
                }
                Kind::EndElement => self.validator.end_element(),
                Kind::Text if !self.in_doctype => self.validator.text(record.text(chunk, bytes)),
                Kind::DoctypeStart => self.in_doctype = true,
                Kind::DoctypeEnd => self.in_doctype = false,
                Kind::EntityDecl => {
                    let fields = fields(record.text(chunk, bytes));
                    if let [kind, name, .., notation] = fields.as_slice()
                        && kind.is_empty()
                        && !notation.is_empty()
                    {
                        self.validator.unparsed_entity(name);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The whole place whose low bits are known: places do not decrease.
fn place(last: &mut u64, low: u32) -> u64 {
    let mut whole = *last & !u64::from(u32::MAX) | u64::from(low);
    if whole < *last {
        whole += 1 << 32;
    }
    *last = whole;
    whole
}
