//! A tree from a document's bytes.

use std::collections::HashSet;

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
        let characters = simdutf8::basic::from_utf8(document).ok();
        let mut reader = Reader {
            builder: Builder::new(characters.unwrap_or(""))?,
            is_referred: characters.is_some(),
            names: Vec::new(),
            strings: Vec::new(),
            is_mixed: false,
            in_doctype: false,
            ids: HashSet::new(),
            element: 0,
        };
        Feed::sized(session, document.len()).feed::<ParseError>(document, true, |parsed| {
            let base = document.len() - parsed.chunk.len();
            for record in parsed.records {
                reader.record(parsed.parser, record, parsed.text(record), base)?;
            }
            Ok(())
        })?;
        Ok(reader.builder.finish())
    }
}

struct Reader<'d> {
    builder: Builder<'d>,
    /// Whether values may refer to the document.
    is_referred: bool,
    /// The tree's numbers of the parser's names and strings.
    names: Vec<Option<NameId>>,
    strings: Vec<Option<NameId>>,
    /// The parser's number of the name of the element that began last.
    element: u32,
    /// It declares a namespace behind an attribute.
    is_mixed: bool,
    in_doctype: bool,
    /// Element and attribute of each attribute of type ID, by their names as written.
    ids: HashSet<(Vec<u8>, Vec<u8>)>,
}

impl Reader<'_> {
    #[inline]
    fn record(
        &mut self,
        parser: &Parser,
        record: &Record,
        text: &[u8],
        base: usize,
    ) -> Result<(), TreeError> {
        let value = if self.is_referred && record.flags & IN_BYTES == 0 {
            let start = base + record.offset as usize;
            Value::Document(start..start + text.len())
        } else {
            // The parser's texts are UTF-8.
            Value::Other(simdutf8::basic::from_utf8(text).unwrap_or(""))
        };
        if self.is_mixed && !matches!(record.kind, Kind::Attribute | Kind::Namespace) {
            self.is_mixed = false;
            self.builder.sort_owned();
        }
        match record.kind {
            Kind::StartElement => {
                self.element = record.name;
                let name = self.name(parser, record.name)?;
                self.builder.start_element(name)?;
            }
            Kind::Attribute => {
                let name = self.name(parser, record.name)?;
                let is_id = !self.ids.is_empty() && self.is_id(parser, record.name);
                self.builder.attribute(name, value, is_id)?;
            }
            Kind::Namespace => {
                let prefix = self.string(parser, record.name)?;
                self.is_mixed |= self.builder.is_behind_attribute();
                self.builder.namespace(prefix, value)?;
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

    /// Whether an attribute of the element is of type ID.
    fn is_id(&self, parser: &Parser, attribute: u32) -> bool {
        let names = [self.element, attribute].map(|name| parser.qname(name).to_vec());
        self.ids.contains(&names.into())
    }

    #[inline]
    fn name(&mut self, parser: &Parser, number: u32) -> Result<NameId, TreeError> {
        let index = number as usize;
        if let Some(Some(known)) = self.names.get(index) {
            return Ok(*known);
        }
        self.new_name(parser, number)
    }

    #[cold]
    fn new_name(&mut self, parser: &Parser, number: u32) -> Result<NameId, TreeError> {
        let index = number as usize;
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
