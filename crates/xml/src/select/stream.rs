//! A program driven by the parser.

use std::ops::Range;

use super::element::Tag;
use super::{Names, Program, Run, Selected};
use crate::feed::{Feed, Parsed};
use crate::{Error, Kind, Parser, Record, Session};

/// The parser's names by their numbers.
impl Names for Parser {
    fn name(&self, number: u32) -> (&str, &str) {
        let text = |id: u32| str(self.string(id));
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
    element: Element,
    qnames: Qnames,
    /// The characters of the text so far, if anything asks for them; and whether there are any.
    text: Vec<u8>,
    has_text: bool,
    in_doctype: bool,
    node: u64,
}

/// An element whose attributes matter, before they are all there.
#[derive(Default)]
struct Element {
    name: u32,
    tag: Option<Tag>,
    missing: u16,
    /// Name and value of those that matter; the values lie in `values`.
    attributes: Vec<(u32, Range<usize>)>,
    values: String,
}

/// Qualified names by their numbers, as text: empty until they are needed.
#[derive(Default)]
struct Qnames(Vec<Box<str>>);

impl Qnames {
    fn text(&mut self, number: u32, parser: &Parser) -> &str {
        let index = number as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, Box::default());
        }
        let text = &mut self.0[index];
        if text.is_empty() {
            *text = str(parser.qname(number)).into();
        }
        text
    }
}

impl<'p> Stream<'p> {
    /// Before a document.
    pub fn new(session: &Session, program: &'p Program) -> Stream<'p> {
        let selection = Selection {
            run: Run::new(program),
            element: Element::default(),
            qnames: Qnames::default(),
            text: Vec::new(),
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
            false => {
                selection.run.reset();
                selection.qnames.0.clear();
            }
        }
        selection.element.tag = None;
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
            for (at, record) in parsed.records.iter().enumerate() {
                selection.record(&parsed, at, record, found);
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
        parsed: &Parsed<'_>,
        at: usize,
        record: &Record,
        found: &mut impl FnMut(Found<'_>),
    ) {
        let parser = parsed.parser;
        match record.kind {
            Kind::StartElement => {
                self.end_text(found);
                let (name, node) = (record.name, self.node);
                let Selection { run, qnames, .. } = self;
                let tag = run.begin_element(name, parser, &mut |selected| {
                    let name = qnames.text(name, parser);
                    let expression = selected.expression;
                    found(Found { expression, kind: Kind::StartElement, name, value: "", node });
                });
                self.element.tag = tag;
                match tag {
                    None => self.node += 1,
                    Some(tag) => {
                        self.element.name = name;
                        self.element.missing = record.count;
                        self.element.attributes.clear();
                        self.element.values.clear();
                        if record.count == 0 {
                            self.tag(tag, parser, found);
                        }
                    }
                }
            }
            Kind::Attribute | Kind::Namespace => {
                let Some(tag) = self.element.tag else { return };
                self.element.missing -= 1;
                if record.kind == Kind::Attribute
                    && self.run.add_attribute(tag, record.name, parser)
                {
                    let from = self.element.values.len();
                    self.element.values.push_str(str(parsed.text(record)));
                    self.element.attributes.push((record.name, from..self.element.values.len()));
                }
                if self.element.missing == 0 {
                    self.tag(tag, parser, found);
                }
            }
            Kind::EndElement => {
                self.end_text(found);
                self.run.end_element();
            }
            Kind::Text if record.len > 0 => {
                if self.run.wants_texts() {
                    self.text(parsed.text(record), parsed.records.get(at + 1), found);
                } else {
                    self.has_text = true;
                }
            }
            Kind::Comment | Kind::Pi if !self.in_doctype => {
                self.end_text(found);
                self.leaf(parser, record, parsed.text(record), found);
            }
            Kind::DoctypeStart => self.in_doctype = true,
            Kind::DoctypeEnd => self.in_doctype = false,
            _ => {}
        }
    }

    fn tag(&mut self, tag: Tag, parser: &Parser, found: &mut impl FnMut(Found<'_>)) {
        let Selection { run, element, qnames, node, .. } = self;
        let Element { name, attributes, values, .. } = element;
        let value = |index: usize| &values[attributes[index].1.clone()];
        run.attributes_complete(tag, &value, &mut |selected| {
            let (kind, name, value) = match selected.attribute {
                None => (Kind::StartElement, *name, ""),
                Some(index) => {
                    let index = index as usize;
                    (Kind::Attribute, attributes[index].0, value(index))
                }
            };
            let (name, expression) = (qnames.text(name, parser), selected.expression);
            found(Found { expression, kind, name, value, node: *node });
        });
        element.tag = None;
        *node += 1;
    }

    /// Characters of a text that an expression may select. They are copied if more of it may come: `next` is the next record.
    fn text(&mut self, text: &[u8], next: Option<&Record>, found: &mut impl FnMut(Found<'_>)) {
        let ends = [Kind::StartElement, Kind::EndElement, Kind::Comment, Kind::Pi];
        if self.has_text || !next.is_some_and(|next| ends.contains(&next.kind)) {
            self.has_text = true;
            self.text.extend_from_slice(text);
            return;
        }
        let (value, node) = (str(text), self.node);
        self.run.text(value, &mut |selected: Selected| {
            let expression = selected.expression;
            found(Found { expression, kind: Kind::Text, name: "", value, node });
        });
        self.node += 1;
    }

    /// A text is whole when another node comes.
    fn end_text(&mut self, found: &mut impl FnMut(Found<'_>)) {
        if !self.has_text {
            return;
        }
        if !self.text.is_empty() {
            let (node, value) = (self.node, str(&self.text));
            self.run.text(value, &mut |selected: Selected| {
                let expression = selected.expression;
                found(Found { expression, kind: Kind::Text, name: "", value, node });
            });
            self.text.clear();
        }
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
        let is_instruction = record.kind == Kind::Pi;
        let wanted = match is_instruction {
            true => self.run.wants_instructions(),
            false => self.run.wants_comments(),
        };
        if !wanted {
            return;
        }
        let value = str(text);
        let name = if is_instruction { str(parser.string(record.name)) } else { "" };
        let mut selected = |selected: Selected| {
            let (expression, kind) = (selected.expression, record.kind);
            found(Found { expression, kind, name, value, node });
        };
        match is_instruction {
            true => self.run.instruction(name, value, &mut selected),
            false => self.run.comment(value, &mut selected),
        }
    }
}

/// The parser's texts and names are UTF-8.
fn str(bytes: &[u8]) -> &str {
    simdutf8::basic::from_utf8(bytes).unwrap_or("")
}
