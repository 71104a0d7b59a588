//! A program driven by the parser.

use std::ops::Range;

use super::element::{Attributes, NO_ATTRIBUTE};
use super::values::Value;
use super::{Names, Program, Run, Selected};
use crate::feed::{Feed, Parsed};
use crate::kernel::checked;
use crate::{Error, Kind, Parser, Record, Session};

/// A name or a target as characters: asked for seldom, and so looked at.
fn name_text(name: &[u8]) -> &str {
    std::str::from_utf8(name).unwrap_or("")
}

/// The parser's names by their numbers.
impl Names for Parser {
    fn name(&self, number: u32) -> (&str, &str) {
        let text = |id: u32| name_text(self.string(id));
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

/// An element whose attributes are not all in the parser's output.
#[derive(Default)]
struct Element {
    name: u32,
    missing: u16,
    attributes: Vec<(u32, Range<usize>)>,
    values: Vec<u8>,
}

impl Attributes for Element {
    fn len(&self) -> usize {
        self.attributes.len()
    }

    fn name(&self, index: usize) -> u32 {
        self.attributes[index].0
    }

    fn value(&self, index: usize) -> &[u8] {
        &self.values[self.attributes[index].1.clone()]
    }

    fn key(&self, index: usize) -> Value<'_> {
        Value::new(self.value(index))
    }
}

/// The records of an element's attributes and namespaces.
struct Records<'a> {
    parsed: &'a Parsed<'a>,
    records: &'a [Record],
}

impl Attributes for Records<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.records.len()
    }

    #[inline]
    fn name(&self, index: usize) -> u32 {
        let record = &self.records[index];
        if record.kind == Kind::Attribute { record.name } else { NO_ATTRIBUTE }
    }

    #[inline]
    fn value(&self, index: usize) -> &[u8] {
        self.parsed.text(&self.records[index])
    }

    #[inline]
    fn key(&self, index: usize) -> Value<'_> {
        let record = &self.records[index];
        Value::within(self.parsed.buffer(record), record.offset as usize, record.len as usize)
    }
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
            *text = name_text(parser.qname(number)).into();
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
            selection.look(&parsed, found);
            Ok(())
        });
        done.map(|_| ())
    }
}

impl Selection<'_> {
    fn look(&mut self, parsed: &Parsed<'_>, found: &mut impl FnMut(Found<'_>)) {
        let Parsed { parser, records, .. } = *parsed;
        let mut n = 0;
        while let Some(record) = records.get(n) {
            n += 1;
            match record.kind {
                Kind::StartElement => {
                    self.end_text(found);
                    let count = usize::from(record.count);
                    let Some(owned) = records.get(n..n + count) else {
                        let Element { name, missing, attributes, values } = &mut self.element;
                        (*name, *missing) = (record.name, record.count);
                        attributes.clear();
                        values.clear();
                        continue;
                    };
                    n += count;
                    let attributes = Records { parsed, records: owned };
                    self.start_element(record.name, &attributes, parser, found);
                    // Many elements have one text and nothing else.
                    if let [text, end, ..] = &records[n..]
                        && (text.kind, end.kind) == (Kind::Text, Kind::EndElement)
                        && text.len > 0
                    {
                        if self.run.wants_texts() {
                            self.whole_text(parsed.text(text), found);
                        } else {
                            self.node += 1;
                        }
                        self.run.end_element();
                        n += 2;
                    }
                }
                Kind::EndElement => {
                    self.end_text(found);
                    self.run.end_element();
                }
                Kind::Text if record.len > 0 => {
                    if self.run.wants_texts() {
                        self.text(parsed.text(record), records.get(n), found);
                    } else {
                        self.has_text = true;
                    }
                }
                // Others are rare: few branches are cheaper than a jump over a table.
                _ => self.rare(parsed, record, found),
            }
        }
    }

    #[inline(never)]
    fn rare(&mut self, parsed: &Parsed<'_>, record: &Record, found: &mut impl FnMut(Found<'_>)) {
        let parser = parsed.parser;
        match record.kind {
            Kind::Attribute | Kind::Namespace => {
                let Element { missing, attributes, values, .. } = &mut self.element;
                *missing -= 1;
                if record.kind == Kind::Attribute {
                    let from = values.len();
                    values.extend_from_slice(parsed.text(record));
                    attributes.push((record.name, from..values.len()));
                }
                if *missing == 0 {
                    let element = std::mem::take(&mut self.element);
                    self.start_element(element.name, &element, parser, found);
                    self.element = element;
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

    #[inline]
    fn start_element(
        &mut self,
        name: u32,
        attributes: &impl Attributes,
        parser: &Parser,
        found: &mut impl FnMut(Found<'_>),
    ) {
        let Selection { run, qnames, node, .. } = self;
        let node = std::mem::replace(node, *node + 1);
        // Several expressions may select one attribute.
        let mut last = (NO_ATTRIBUTE, "");
        run.begin_element(name, attributes, parser, &mut |selected| {
            let expression = selected.expression;
            let Some(index) = selected.attribute else {
                let name = qnames.text(name, parser);
                found(Found { expression, kind: Kind::StartElement, name, value: "", node });
                return;
            };
            if last.0 != index {
                last = (index, checked(attributes.value(index as usize)));
            }
            let name = qnames.text(attributes.name(index as usize), parser);
            found(Found { expression, kind: Kind::Attribute, name, value: last.1, node });
        });
    }

    /// Characters of a text that an expression may select. They are copied if more of it may come: `next` is the next record.
    fn text(&mut self, text: &[u8], next: Option<&Record>, found: &mut impl FnMut(Found<'_>)) {
        let ends = [Kind::StartElement, Kind::EndElement, Kind::Comment, Kind::Pi];
        if self.has_text || !next.is_some_and(|next| ends.contains(&next.kind)) {
            self.has_text = true;
            self.text.extend_from_slice(text);
            return;
        }
        self.whole_text(text, found);
    }

    fn whole_text(&mut self, text: &[u8], found: &mut impl FnMut(Found<'_>)) {
        let (value, node) = (checked(text), self.node);
        self.run.text(value, &mut |selected: Selected| {
            let expression = selected.expression;
            found(Found { expression, kind: Kind::Text, name: "", value, node });
        });
        self.node += 1;
    }

    /// A text is whole when another node comes.
    #[inline]
    fn end_text(&mut self, found: &mut impl FnMut(Found<'_>)) {
        if self.has_text {
            self.take_text(found);
        }
    }

    fn take_text(&mut self, found: &mut impl FnMut(Found<'_>)) {
        if !self.text.is_empty() {
            let (node, value) = (self.node, checked(&self.text));
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
        let value = checked(text);
        let name = if is_instruction { name_text(parser.string(record.name)) } else { "" };
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
