//! A tree from a document's bytes.

use std::collections::HashSet;
use std::ops::Range;

use super::{Builder, Name, NameId, Tree, TreeError, Value};
use crate::feed::Feed;
use crate::{Error, IN_BYTES, Kind, Parser, Record, Session, fields};

/// Why a document has no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// It is not well-formed, or beyond a limit of the session.
    Document(Error),
    /// It is too large for a tree.
    Tree(TreeError),
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ParseError::Document(e) => e.fmt(f),
            ParseError::Tree(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for ParseError {}

impl From<TreeError> for ParseError {
    fn from(e: TreeError) -> ParseError {
        ParseError::Tree(e)
    }
}

impl From<Error> for ParseError {
    fn from(e: Error) -> ParseError {
        ParseError::Document(e)
    }
}

impl<'d> Tree<'d> {
    /// Parses a whole document. Entities outside of the document are not read; a reference to one that is declared leaves
    /// nothing.
    pub fn parse(document: &'d [u8], session: &Session) -> Result<Tree<'d>, ParseError> {
        // What is not UTF-8 is copied.
        let characters = std::str::from_utf8(document).ok();
        let mut reader = Reader {
            builder: Builder::new(characters.unwrap_or(""))?,
            is_referred: characters.is_some(),
            names: Vec::new(),
            strings: Vec::new(),
            tag: Vec::new(),
            tag_bytes: String::new(),
            missing: 0,
            in_doctype: false,
            ids: HashSet::new(),
            element: 0,
        };
        Feed::new(session).feed::<ParseError>(document, true, |parsed| {
            let base = document.len() - parsed.chunk.len();
            for record in parsed.records {
                reader.record(parsed.parser, record, parsed.text(record), base)?;
            }
            Ok(())
        })?;
        Ok(reader.builder.finish())
    }
}

/// An attribute or a namespace of the element that begins, with its value.
struct Owned {
    kind: Kind,
    name: u32,
    value: Place,
}

enum Place {
    Document(Range<usize>),
    /// In `tag_bytes`.
    Bytes(Range<usize>),
}

struct Reader<'d> {
    builder: Builder<'d>,
    /// Whether values may refer to the document.
    is_referred: bool,
    /// The tree's numbers of the parser's names and strings.
    names: Vec<Option<NameId>>,
    strings: Vec<Option<NameId>>,
    /// The element that begins: what is known of its attributes, and how many are missing.
    element: u32,
    tag: Vec<Owned>,
    tag_bytes: String,
    missing: u16,
    in_doctype: bool,
    /// Element and attribute of each attribute of type ID, by their names as written.
    ids: HashSet<(Vec<u8>, Vec<u8>)>,
}

impl Reader<'_> {
    fn record(
        &mut self,
        parser: &Parser,
        record: &Record,
        text: &[u8],
        base: usize,
    ) -> Result<(), TreeError> {
        let copy;
        let value = if self.is_referred && record.flags & IN_BYTES == 0 {
            let start = base + record.offset as usize;
            Value::Document(start..start + text.len())
        } else {
            copy = String::from_utf8_lossy(text);
            Value::Other(&copy)
        };
        match record.kind {
            Kind::StartElement => {
                self.element = record.name;
                self.missing = record.count;
                self.tag.clear();
                self.tag_bytes.clear();
                if self.missing == 0 {
                    self.tag(parser)?;
                }
            }
            Kind::Attribute | Kind::Namespace => {
                let value = match value {
                    Value::Document(place) => Place::Document(place),
                    Value::Other(text) => {
                        let from = self.tag_bytes.len();
                        self.tag_bytes.push_str(text);
                        Place::Bytes(from..self.tag_bytes.len())
                    }
                };
                self.tag.push(Owned { kind: record.kind, name: record.name, value });
                self.missing -= 1;
                if self.missing == 0 {
                    self.tag(parser)?;
                }
            }
            Kind::EndElement => self.builder.end_element(),
            Kind::Text => self.builder.text(value)?,
            Kind::Comment if !self.in_doctype => {
                self.builder.comment(value)?;
            }
            Kind::Pi if !self.in_doctype => {
                let target = self.string(parser, record.name)?;
                self.builder.instruction(target, value)?;
            }
            Kind::DoctypeStart => self.in_doctype = true,
            Kind::DoctypeEnd => self.in_doctype = false,
            Kind::AttributeDecl => {
                if let [element, attribute, b"ID", ..] = fields(text).as_slice() {
                    self.ids.insert((element.to_vec(), attribute.to_vec()));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The start-tag is complete.
    fn tag(&mut self, parser: &Parser) -> Result<(), TreeError> {
        let element = self.name(parser, self.element)?;
        self.builder.start_element(element)?;
        let tag = std::mem::take(&mut self.tag);
        let bytes = std::mem::take(&mut self.tag_bytes);
        let value = |place: &Place| match place {
            Place::Document(range) => Value::Document(range.clone()),
            Place::Bytes(range) => Value::Other(&bytes[range.clone()]),
        };
        for one in tag.iter().filter(|one| one.kind == Kind::Namespace) {
            let prefix = self.string(parser, one.name)?;
            self.builder.namespace(prefix, value(&one.value))?;
        }
        for one in tag.iter().filter(|one| one.kind == Kind::Attribute) {
            let name = self.name(parser, one.name)?;
            let is_id = !self.ids.is_empty() && {
                let names = [self.element, one.name].map(|name| parser.qname(name).to_vec());
                self.ids.contains(&names.into())
            };
            self.builder.attribute(name, value(&one.value), is_id)?;
        }
        (self.tag, self.tag_bytes) = (tag, bytes);
        Ok(())
    }

    fn name(&mut self, parser: &Parser, number: u32) -> Result<NameId, TreeError> {
        let index = number as usize;
        if let Some(Some(known)) = self.names.get(index) {
            return Ok(*known);
        }
        let text = |id: u32| std::str::from_utf8(parser.string(id)).unwrap_or("");
        let parts = parser.name(number).map(|name| Name {
            prefix: text(name.prefix),
            local: text(name.local),
            uri: text(name.uri),
        });
        let id = self.builder.name(parts.unwrap_or(Name { prefix: "", local: "", uri: "" }))?;
        if self.names.len() <= index {
            self.names.resize(index + 1, None);
        }
        self.names[index] = Some(id);
        Ok(id)
    }

    /// A name of a string: a target or a prefix.
    fn string(&mut self, parser: &Parser, number: u32) -> Result<NameId, TreeError> {
        let index = number as usize;
        if let Some(Some(known)) = self.strings.get(index) {
            return Ok(*known);
        }
        let local = std::str::from_utf8(parser.string(number)).unwrap_or("");
        let id = self.builder.name(Name { prefix: "", local, uri: "" })?;
        if self.strings.len() <= index {
            self.strings.resize(index + 1, None);
        }
        self.strings[index] = Some(id);
        Ok(id)
    }
}
