//! How events, nodes and faults are printed.

use std::io;

use lookaside::xml::{Events, Kind};
use lookaside::{Document, xml};
use lookaside_xml::{
    select::Found,
    tree::{self, Node, Tree},
    xpath::NodeRef,
    xsd::Invalid,
};
use serde_json::{Map, Value, json};

use super::turns::Printed;

/// One JSON value on a line.
pub(super) fn line(out: &mut Vec<u8>, value: &Value) {
    out.extend(value.to_string().bytes());
    out.push(b'\n');
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

// Events.

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::XmlDecl => "xml-declaration",
        Kind::DoctypeStart => "doctype",
        Kind::DoctypeEnd => "end-doctype",
        Kind::ElementDecl => "element-declaration",
        Kind::AttributeDecl => "attribute-declaration",
        Kind::EntityDecl => "entity-declaration",
        Kind::NotationDecl => "notation-declaration",
        Kind::StartElement => "element",
        Kind::Attribute => "attribute",
        Kind::Namespace => "namespace",
        Kind::EndElement => "end",
        Kind::Text => "text",
        Kind::CdataStart => "cdata",
        Kind::CdataEnd => "end-cdata",
        Kind::Comment => "comment",
        Kind::Pi => "instruction",
        Kind::EntityStart => "entity",
        Kind::EntityEnd => "end-entity",
        Kind::SkippedEntity => "skipped-entity",
        _ => "event",
    }
}

/// A line for each event.
pub(super) fn events(out: &mut Vec<u8>, document: &dyn Document, events: Events<'_>, json: bool) {
    for (event, value) in events {
        let name = document.name(event.name);
        let (name, uri) = match event.kind {
            Kind::StartElement | Kind::Attribute | Kind::EndElement => {
                (document.qname(event.name), name.map_or(&[][..], |name| document.string(name.uri)))
            }
            Kind::Namespace
            | Kind::Pi
            | Kind::EntityStart
            | Kind::EntityEnd
            | Kind::SkippedEntity => (document.string(event.name), &[][..]),
            _ => (&[][..], &[][..]),
        };
        let fields = match event.kind {
            Kind::DoctypeStart
            | Kind::ElementDecl
            | Kind::AttributeDecl
            | Kind::EntityDecl
            | Kind::NotationDecl => Some(xml::fields(value)),
            _ => None,
        };
        let has_text = !matches!(
            event.kind,
            Kind::StartElement
                | Kind::EndElement
                | Kind::DoctypeEnd
                | Kind::CdataStart
                | Kind::CdataEnd
                | Kind::EntityStart
                | Kind::EntityEnd
                | Kind::SkippedEntity
        );
        let value = match fields {
            Some(fields) => Value::from(fields.into_iter().map(text).collect::<Vec<_>>()),
            None => Value::from(text(value)),
        };
        let kind = kind_name(event.kind);
        if json {
            let mut object = Map::new();
            object.insert("kind".into(), kind.into());
            if !name.is_empty() {
                object.insert("name".into(), text(name).into());
            }
            if !uri.is_empty() {
                object.insert("uri".into(), text(uri).into());
            }
            if has_text {
                object.insert("text".into(), value);
            }
            line(out, &Value::Object(object));
            continue;
        }
        out.extend(kind.bytes());
        if !name.is_empty() {
            out.push(b' ');
            out.extend(name);
        }
        if has_text {
            out.push(b' ');
            out.extend(value.to_string().bytes());
        }
        out.push(b'\n');
    }
}

// Nodes.

/// What is printed of a node or value.
pub(super) struct Shown {
    pub kind: &'static str,
    pub name: String,
    pub value: String,
}

impl From<Found<'_>> for Shown {
    fn from(found: Found<'_>) -> Shown {
        let (kind, name) = (kind_name(found.kind), found.name.to_owned());
        Shown { kind, name, value: found.value.to_owned() }
    }
}

/// A node of a tree: an element as XML.
pub(super) fn node(tree: &Tree<'_>, node: NodeRef) -> Shown {
    let kind = match node.kind(tree) {
        tree::Kind::Document => "document",
        tree::Kind::Element => "element",
        tree::Kind::Namespace => "namespace",
        tree::Kind::Attribute => "attribute",
        tree::Kind::Text => "text",
        tree::Kind::Comment => "comment",
        tree::Kind::Instruction => "instruction",
    };
    let value = match node.kind(tree) {
        tree::Kind::Document | tree::Kind::Element => markup(tree, node.node()),
        _ => node.string_value(tree),
    };
    Shown { kind, name: node.name(tree), value }
}

/// One selected node.
pub(super) fn selected(out: &mut Vec<u8>, file: &str, expression: u32, shown: &Shown, json: bool) {
    let Shown { kind, name, value } = shown;
    if json {
        let object = json!({
            "file": file, "expression": expression, "kind": kind, "name": name, "value": value,
        });
        return line(out, &object);
    }
    // While a document arrives, of an element the name is known.
    let printed = if *kind == "element" && value.is_empty() { name } else { value };
    out.extend(printed.bytes());
    out.push(b'\n');
}

/// An element, or a document, as XML. Namespaces that are in scope from above are declared on it.
fn markup(tree: &Tree<'_>, top: Node) -> String {
    let mut out = String::new();
    let mut open: Vec<Node> = vec![];
    let end = |out: &mut String, node: Node| {
        if tree.first_child(node).is_some() {
            *out += &format!("</{}>", NodeRef::from(node).name(tree));
        }
    };
    for node in tree.subtree(top) {
        while let Some(&last) = open.last()
            && tree.end(last) <= node
        {
            end(&mut out, last);
            open.pop();
        }
        match tree.kind(node) {
            tree::Kind::Document | tree::Kind::Namespace | tree::Kind::Attribute => {}
            tree::Kind::Element => {
                out.push('<');
                out += &NodeRef::from(node).name(tree);
                let declared = match node == top {
                    true => in_scope(tree, node),
                    false => tree.namespaces(node).collect(),
                };
                for namespace in declared {
                    let (prefix, uri) = (tree.name(namespace).local, tree.value(namespace));
                    match prefix {
                        "" => out += " xmlns=\"",
                        prefix => out += &format!(" xmlns:{prefix}=\""),
                    }
                    escape(&mut out, uri, true);
                    out.push('"');
                }
                for attribute in tree.attributes(node) {
                    out += &format!(" {}=\"", NodeRef::from(attribute).name(tree));
                    escape(&mut out, tree.value(attribute), true);
                    out.push('"');
                }
                out += if tree.first_child(node).is_some() { ">" } else { "/>" };
                open.push(node);
            }
            tree::Kind::Text => escape(&mut out, tree.value(node), false),
            tree::Kind::Comment => out += &format!("<!--{}-->", tree.value(node)),
            tree::Kind::Instruction => {
                let (target, data) = (NodeRef::from(node).name(tree), tree.value(node));
                let space = if data.is_empty() { "" } else { " " };
                out += &format!("<?{target}{space}{data}?>");
            }
        }
    }
    open.into_iter().rev().for_each(|node| end(&mut out, node));
    out
}

/// The declarations of namespaces that hold on an element: of each prefix the nearest.
fn in_scope(tree: &Tree<'_>, element: Node) -> Vec<Node> {
    let mut all: Vec<Node> = vec![];
    let mut next = Some(element);
    while let Some(node) = next {
        for namespace in tree.namespaces(node) {
            let prefix = tree.name(namespace).local;
            if !all.iter().any(|known| tree.name(*known).local == prefix) {
                all.push(namespace);
            }
        }
        next = tree.parent(node);
    }
    // That none holds need not be said at the top.
    all.retain(|namespace| !tree.value(*namespace).is_empty());
    all
}

fn escape(out: &mut String, text: &str, is_attribute: bool) {
    for c in text.chars() {
        match c {
            '<' => *out += "&lt;",
            '>' => *out += "&gt;",
            '&' => *out += "&amp;",
            '"' if is_attribute => *out += "&quot;",
            '\r' => *out += "&#13;",
            '\n' if is_attribute => *out += "&#10;",
            '\t' if is_attribute => *out += "&#9;",
            c => out.push(c),
        }
    }
}

/// A line for each node, indented.
pub(super) fn tree(printed: &mut Printed<'_>, tree: &Tree<'_>, json: bool) -> io::Result<()> {
    let mut open: Vec<Node> = vec![];
    for place in tree.subtree(Node::DOCUMENT).skip(1) {
        while open.last().is_some_and(|last| tree.end(*last) <= place) {
            open.pop();
        }
        let reference = NodeRef::from(place);
        let shown = match tree.kind(place) {
            tree::Kind::Element => {
                Shown { kind: "element", name: reference.name(tree), value: String::new() }
            }
            _ => node(tree, reference),
        };
        let Shown { kind, name, value } = shown;
        let is_element = kind == "element";
        if json {
            let mut object = json!({ "depth": open.len(), "kind": kind });
            if !name.is_empty() {
                object["name"] = name.into();
                let uri = reference.namespace_uri(tree);
                if !uri.is_empty() {
                    object["uri"] = uri.into();
                }
            }
            if !is_element {
                object["text"] = value.into();
            }
            line(&mut printed.out, &object);
        } else {
            let out = &mut printed.out;
            out.extend(std::iter::repeat_n(b' ', 2 * open.len()));
            out.extend(kind.bytes());
            if !name.is_empty() {
                out.push(b' ');
                out.extend(name.bytes());
            }
            if !is_element {
                out.push(b' ');
                out.extend(Value::from(value).to_string().bytes());
            }
            out.push(b'\n');
        }
        if is_element {
            open.push(place);
        }
        printed.spill()?;
    }
    Ok(())
}

// Faults.

/// What is not valid.
pub(super) fn invalid(
    printed: &mut Printed<'_>,
    file: &str,
    at: Option<u64>,
    invalid: &Invalid,
    json: bool,
) {
    let Invalid { rule, path, offset, message } = invalid;
    if json {
        let object = json!({
            "file": file, "line": at, "byte": offset, "rule": rule.name(), "path": path, "message": message,
        });
        return line(&mut printed.out, &object);
    }
    let place = at.map_or(String::new(), |line| format!("{line}:"));
    let name = rule.name();
    printed.complaints += &format!("{file}:{place} error: {path}: {name}: {message}\n");
}

/// The lines of a document in UTF-8 that arrives in pieces: of the last two pieces.
#[derive(Default)]
pub(super) struct Lines {
    /// The byte and the line at which each begins.
    pieces: Vec<(u64, u64, Vec<u8>)>,
}

impl Lines {
    pub(super) fn next(&mut self, piece: Vec<u8>) {
        let (at, line) = self
            .pieces
            .last()
            .map_or((0, 1), |(at, line, before)| (at + before.len() as u64, line + feeds(before)));
        self.pieces.drain(..self.pieces.len().saturating_sub(1));
        self.pieces.push((at, line, piece));
    }

    /// The last piece.
    pub(super) fn piece(&self) -> &[u8] {
        self.pieces.last().map_or(&[], |(_, _, piece)| piece)
    }

    /// The line of a byte; `None` if it is long past.
    pub(super) fn line(&self, offset: u64) -> Option<u64> {
        let (at, line, piece) = self.pieces.iter().rev().find(|(at, _, _)| *at <= offset)?;
        let inside = usize::try_from(offset - at).ok()?.min(piece.len());
        Some(line + feeds(&piece[..inside]))
    }
}

fn feeds(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte == b'\n')).sum()
}

/// Whether markup of the document is found by its ASCII bytes.
pub(super) fn contains_ascii(document: &[u8]) -> bool {
    let begin = &document[..document.len().min(200)];
    if begin.starts_with(&[0xfe, 0xff]) || begin.starts_with(&[0xff, 0xfe]) || begin.contains(&0) {
        return false;
    }
    let declaration = String::from_utf8_lossy(begin).to_ascii_lowercase();
    let declaration = declaration.split("?>").next().unwrap_or("");
    let single = ["iso-8859", "windows-125", "koi8"];
    single.iter().any(|name| declaration.contains(name)) || std::str::from_utf8(document).is_ok()
}

#[cfg(test)]
mod tests {
    use lookaside_simd::Cpu;
    use lookaside_xml::Session;

    use super::*;

    #[test]
    fn markup_is_read_as_what_it_was() {
        let text = "<a xmlns:p=\"urn:p\" xmlns=\"urn:d\"><p:b c=\"&lt;&quot;&#10;\">x&amp;<!--y--><?z w?></p:b><e xmlns=\"\"/></a>";
        let document = Tree::parse(text.as_bytes(), &Session::new(Cpu::host())).unwrap();
        assert_eq!(markup(&document, Node::DOCUMENT), text);
        let inside = document.children(document.first_child(Node::DOCUMENT).unwrap());
        let inside: Vec<_> = inside.map(|node| markup(&document, node)).collect();
        let first = "<p:b xmlns:p=\"urn:p\" xmlns=\"urn:d\" c=\"&lt;&quot;&#10;\">x&amp;<!--y--><?z w?></p:b>";
        assert_eq!(inside, [first, "<e xmlns:p=\"urn:p\"/>"]);
    }

    #[test]
    fn lines_of_pieces() {
        let mut lines = Lines::default();
        lines.next(b"a\nb".to_vec());
        assert_eq!((lines.line(0), lines.line(2)), (Some(1), Some(2)));
        lines.next(b"c\n\nd".to_vec());
        assert_eq!(lines.piece(), b"c\n\nd");
        assert_eq!((lines.line(0), lines.line(3), lines.line(6)), (Some(1), Some(2), Some(4)));
        lines.next(vec![]);
        assert_eq!((lines.line(0), lines.line(3), lines.line(7)), (None, Some(2), Some(4)));
    }
}
