//! A program driven by the parser.

use std::ops::Range;

use super::{Names, Program, Run, Selected};
use crate::feed::{Feed, Parsed};
use crate::{Error, Kind, Parser, Record, Session};

/// The parser's names by their numbers.
impl Names for Parser {
    fn name(&self, number: u32) -> (&str, &str) {
        let text = |id: u32| std::str::from_utf8(self.string(id)).unwrap_or("");
        Parser::name(self, number).map_or(("", ""), |name| (text(name.uri), text(name.local)))
    }
}

/// A node that an expression selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// The index of the expression.
    pub expression: u32,
    /// [`Kind::StartElement`], [`Kind::Attribute`], [`Kind::Text`], [`Kind::Comment`] or [`Kind::Pi`].
    pub kind: Kind,
    /// The name as it was written; the target of an instruction; empty for texts and comments.
    pub name: &'a str,
    /// The value; empty for elements.
    pub value: &'a str,
    /// How many nodes of elements, texts, comments and instructions came before: what is selected at once has one number.
    pub node: u64,
}

/// A document that arrives in chunks, and what a program selects of it.
pub struct Stream<'p> {
    feed: Feed,
    selection: Selection<'p>,
}

/// What a program selects of records.
struct Selection<'p> {
    run: Run<'p>,
    element: Tag,
    /// The characters of the text so far, if anything asks for them; and whether there are any.
    text: String,
    has_text: bool,
    in_doctype: bool,
    node: u64,
}

/// A start-tag whose attributes are not all there.
#[derive(Default)]
struct Tag {
    name: u32,
    missing: u16,
    attributes: Vec<(u32, Range<usize>)>,
    values: String,
}

impl<'p> Stream<'p> {
    /// Before a document.
    pub fn new(session: &Session, program: &'p Program) -> Stream<'p> {
        let selection = Selection {
            run: Run::new(program),
            element: Tag::default(),
            text: String::new(),
            has_text: false,
            in_doctype: false,
            node: 0,
        };
        Stream { feed: Feed::new(session), selection }
    }

    /// Before another document.
    pub fn reset(&mut self) {
        let Stream { feed, selection } = self;
        match feed.parser.reset() {
            true => selection.run.restart(),
            false => selection.run.reset(),
        }
        selection.element.missing = 0;
        selection.text.clear();
        (selection.has_text, selection.in_doctype, selection.node) = (false, false, 0);
    }

    /// Parses the next bytes of the document; `last`: none follow. Calls `found` with what is selected, in document order.
    ///
    /// A document that ends with an error has selected nothing behind the place of the error.
    pub fn feed(
        &mut self,
        chunk: &[u8],
        last: bool,
        found: &mut impl FnMut(Found<'_>),
    ) -> Result<(), Error> {
        let Stream { feed, selection } = self;
        let done = feed.feed::<Error>(chunk, last, |parsed: Parsed<'_>| {
            for record in parsed.records {
                selection.record(parsed.parser, record, parsed.text(record), found);
            }
            Ok(())
        });
        done.map(|_| ())
    }
}

impl Selection<'_> {
    #[inline]
    fn record(
        &mut self,
        parser: &Parser,
        record: &Record,
        text: &[u8],
        found: &mut impl FnMut(Found<'_>),
    ) {
        match record.kind {
            Kind::StartElement => {
                self.end_text(found);
                self.element.name = record.name;
                self.element.missing = record.count;
                self.element.attributes.clear();
                self.element.values.clear();
                if record.count == 0 {
                    self.tag(parser, found);
                }
            }
            Kind::Attribute | Kind::Namespace => {
                self.element.missing -= 1;
                if record.kind == Kind::Attribute && self.run.asks_for(record.name, parser) {
                    let from = self.element.values.len();
                    self.element.values.push_str(&String::from_utf8_lossy(text));
                    self.element.attributes.push((record.name, from..self.element.values.len()));
                }
                if self.element.missing == 0 {
                    self.tag(parser, found);
                }
            }
            Kind::EndElement => {
                self.end_text(found);
                self.run.end_element();
            }
            Kind::Text if !text.is_empty() => {
                self.has_text = true;
                if self.run.wants_leaves() {
                    self.text.push_str(&String::from_utf8_lossy(text));
                }
            }
            Kind::Comment | Kind::Pi if !self.in_doctype => {
                self.end_text(found);
                self.leaf(parser, record, text, found);
            }
            Kind::DoctypeStart => self.in_doctype = true,
            Kind::DoctypeEnd => self.in_doctype = false,
            _ => {}
        }
    }

    fn tag(&mut self, parser: &Parser, found: &mut impl FnMut(Found<'_>)) {
        let Selection { run, element, node, .. } = self;
        let values = element.values.as_str();
        let attributes: Vec<(u32, &str)> = element
            .attributes
            .iter()
            .map(|(name, range)| (*name, &values[range.clone()]))
            .collect();
        run.start_element(element.name, &attributes, parser, &mut |selected| {
            let (kind, name, value) = match selected.attribute {
                None => (Kind::StartElement, element.name, ""),
                Some(index) => {
                    let (name, value) = attributes[index as usize];
                    (Kind::Attribute, name, value)
                }
            };
            let name = std::str::from_utf8(parser.qname(name)).unwrap_or("");
            let expression = selected.expression;
            found(Found { expression, kind, name, value, node: *node });
        });
        *node += 1;
    }

    /// A text is whole when another node comes.
    fn end_text(&mut self, found: &mut impl FnMut(Found<'_>)) {
        if !self.has_text {
            return;
        }
        let node = self.node;
        let value = self.text.as_str();
        self.run.text(value, &mut |selected: Selected| {
            let expression = selected.expression;
            found(Found { expression, kind: Kind::Text, name: "", value, node });
        });
        self.text.clear();
        self.has_text = false;
        self.node += 1;
    }

    fn leaf(
        &mut self,
        parser: &Parser,
        record: &Record,
        text: &[u8],
        found: &mut impl FnMut(Found<'_>),
    ) {
        let node = self.node;
        self.node += 1;
        if !self.run.wants_leaves() {
            return;
        }
        let value = String::from_utf8_lossy(text);
        let name = match record.kind {
            Kind::Pi => std::str::from_utf8(parser.string(record.name)).unwrap_or(""),
            _ => "",
        };
        let mut selected = |selected: Selected| {
            let (expression, kind) = (selected.expression, record.kind);
            found(Found { expression, kind, name, value: &value, node });
        };
        match record.kind {
            Kind::Pi => self.run.instruction(name, &value, &mut selected),
            _ => self.run.comment(&value, &mut selected),
        }
    }
}
