//! A validator behind the parser.

use std::sync::Arc;

use super::{Invalid, Limits, Schema, Validator};
use crate::feed::{Feed, Parsed};
use crate::{Error, Kind, Record, Session, fields};

/// A document that arrives in chunks, and what is not valid in it.
pub struct Stream {
    feed: Feed,
    validation: Validation,
    is_finished: bool,
}

/// Records to be validated.
struct Validation {
    validator: Validator,
    tag: Tag,
    in_doctype: bool,
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
        let validator = Validator::new(schema);
        let validation = Validation { validator, tag: Tag::default(), in_doctype: false, place: 0 };
        Stream { feed: Feed::new(session), validation, is_finished: false }
    }

    /// With other limits.
    pub fn limits(mut self, limits: Limits) -> Stream {
        self.validation.validator = self.validation.validator.limits(limits);
        self
    }

    /// Before another document.
    pub fn reset(&mut self) {
        let Validation { validator, tag, in_doctype, place } = &mut self.validation;
        match self.feed.parser.reset() {
            true => validator.restart(),
            false => validator.reset(),
        }
        tag.missing = 0;
        (*in_doctype, *place, self.is_finished) = (false, 0, false);
    }

    /// Parses and validates the next bytes of the document; `last`: none follow. The error is that of a document that is not
    /// well-formed; what is not valid is in [`errors`](Self::errors).
    pub fn feed(&mut self, chunk: &[u8], last: bool) -> Result<(), Error> {
        let validation = &mut self.validation;
        let is_complete = self.feed.feed::<Error>(chunk, last, |parsed| {
            validation.look(parsed);
            Ok(())
        })?;
        if is_complete && !std::mem::replace(&mut self.is_finished, true) {
            validation.validator.end_document();
        }
        Ok(())
    }

    /// What is not valid so far.
    pub fn errors(&self) -> &[Invalid] {
        self.validation.validator.errors()
    }

    /// The same, which is forgotten here.
    pub fn take_errors(&mut self) -> Vec<Invalid> {
        self.validation.validator.take_errors()
    }

    /// Whether nothing was wrong so far.
    pub fn is_valid(&self) -> bool {
        self.validation.validator.is_valid()
    }
}

impl Validation {
    fn look(&mut self, parsed: Parsed<'_>) {
        let Parsed { parser, records, .. } = parsed;
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
                        && self.validator.leaf(record.name, parsed.text(text), place)
                    {
                        n += 2;
                        continue;
                    }
                    for one in owned.iter().filter(|it| it.kind == Kind::Namespace) {
                        self.validator.namespace(parser.string(one.name), parsed.text(one));
                    }
                    let attributes = owned.iter().filter(|it| it.kind == Kind::Attribute);
                    let attributes = attributes.map(|it| (it.name, parsed.text(it)));
                    self.validator.start_element(record.name, parser, attributes, place);
                    // Of an empty element the end is next.
                    if records.get(n).is_some_and(|next| next.kind == Kind::EndElement) {
                        self.validator.end_element();
                        n += 1;
                    }
                }
                Kind::EndElement => self.validator.end_element(),
                Kind::Text if !self.in_doctype => self.validator.text(parsed.text(record)),
                // Others are rare: few branches are cheaper than a jump over a table.
                _ => self.rare(&parsed, record),
            }
        }
    }

    #[inline(never)]
    fn rare(&mut self, parsed: &Parsed<'_>, record: &Record) {
        let parser = parsed.parser;
        match record.kind {
            Kind::Attribute | Kind::Namespace => {
                let text = parsed.text(record);
                self.tag.missing -= 1;
                if record.kind == Kind::Namespace {
                    self.validator.namespace(parser.string(record.name), text);
                } else {
                    let from = self.tag.values.len();
                    self.tag.values.extend_from_slice(text);
                    self.tag.attributes.push((record.name, from, self.tag.values.len()));
                }
                if self.tag.missing == 0 {
                    let Tag { name, attributes, values, .. } = &self.tag;
                    let attributes = attributes.iter().map(|it| (it.0, &values[it.1..it.2]));
                    let place = place(&mut self.place, self.tag.place);
                    self.validator.start_element(*name, parser, attributes, place);
                }
            }
            Kind::DoctypeStart => self.in_doctype = true,
            Kind::DoctypeEnd => self.in_doctype = false,
            Kind::EntityDecl => {
                let fields = fields(parsed.text(record));
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

/// The whole place whose low bits are known: places do not decrease.
fn place(last: &mut u64, low: u32) -> u64 {
    let mut whole = *last & !u64::from(u32::MAX) | u64::from(low);
    if whole < *last {
        whole += 1 << 32;
    }
    *last = whole;
    whole
}
