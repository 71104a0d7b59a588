//! A schema document as nodes: elements without what stands in annotations.

use lookaside_simd::Cpu;

use super::value::Prefixes;
use crate::chars::is_space;
use crate::feed::Feed;
use crate::names::XML_NAMESPACE;
use crate::select::Names;
use crate::{Error, Kind, Limits, Parser, Session};

/// Elements within each other: what is compiled by functions that call themselves.
const MAX_DEPTH: u32 = 200;

#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) uri: String,
    pub(crate) local: String,
    /// URI, local part and value.
    pub(crate) attributes: Vec<(String, String, String)>,
    /// Prefixes and URIs.
    pub(crate) namespaces: Vec<(String, String)>,
    pub(crate) parent: usize,
    pub(crate) children: Vec<usize>,
    pub(crate) line: u64,
    /// Characters other than white space stand in it.
    pub(crate) has_text: bool,
}

#[derive(Debug)]
pub(crate) struct Dom {
    /// The first one is the root.
    pub(crate) nodes: Vec<Node>,
}

impl Dom {
    /// The error has a line and a message.
    pub(crate) fn parse(document: &[u8]) -> Result<Dom, (u64, String)> {
        let limits = Limits { depth: MAX_DEPTH, ..Limits::default() };
        let session = Session::new(Cpu::host()).limits(limits);
        let mut dom = Dom { nodes: Vec::new() };
        let mut open: Vec<usize> = Vec::new();
        // Elements within `appinfo` and `documentation`.
        let mut skipped = 0_usize;
        let (mut place, mut line) = (0, 1);
        let parsed = Feed::new(&session).feed::<Error>(document, true, |parsed| {
            let parser = parsed.parser;
            for record in parsed.records {
                let value = || text(parsed.text(record));
                match record.kind {
                    Kind::StartElement if skipped > 0 => skipped += 1,
                    Kind::StartElement => {
                        let at = (record.offset as usize).clamp(place, document.len());
                        line += document[place..at].iter().filter(|byte| **byte == b'\n').count()
                            as u64;
                        place = at;
                        let (uri, local) = name(parser, record.name);
                        let parent = open.last().copied().unwrap_or(0);
                        let number = dom.nodes.len();
                        if let Some(node) = dom.nodes.get_mut(parent) {
                            node.children.push(number);
                        }
                        if matches!(&*local, "appinfo" | "documentation") && uri == super::names::XS
                        {
                            skipped = 1;
                        }
                        dom.nodes.push(Node { uri, local, parent, line, ..Node::default() });
                        open.push(number);
                    }
                    Kind::EndElement if skipped > 1 => skipped -= 1,
                    Kind::EndElement => {
                        skipped = 0;
                        open.pop();
                    }
                    Kind::Attribute if skipped < 2 => {
                        let (uri, local) = name(parser, record.name);
                        if let Some(node) = dom.nodes.last_mut() {
                            node.attributes.push((uri, local, value()));
                        }
                    }
                    Kind::Namespace if skipped < 2 => {
                        let prefix = text(parser.string(record.name));
                        if let Some(node) = dom.nodes.last_mut() {
                            node.namespaces.push((prefix, value()));
                        }
                    }
                    Kind::Text if skipped == 0 => {
                        let is_space = parsed.text(record).iter().all(|byte| is_space(*byte));
                        if let (false, Some(node)) = (is_space, open.last()) {
                            dom.nodes[*node].has_text = true;
                        }
                    }
                    _ => {}
                }
            }
            Ok(())
        });
        parsed.map(|_| dom).map_err(|e| (e.line, e.to_string()))
    }

    /// The namespaces at a node.
    pub(crate) fn scope(&self, node: usize) -> Scope<'_> {
        Scope { dom: self, node }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn name(parser: &Parser, number: u32) -> (String, String) {
    let (uri, local) = Names::name(parser, number);
    (uri.to_owned(), local.to_owned())
}

impl Node {
    /// An attribute without namespace; its value without white space around it.
    pub(crate) fn attribute(&self, local: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|it| it.0.is_empty() && it.1 == local);
        found.map(|it| it.2.trim_matches([' ', '\t', '\r', '\n']))
    }

    /// An attribute's value as it was written.
    pub(crate) fn raw_attribute(&self, local: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|it| it.0.is_empty() && it.1 == local);
        found.map(|it| &*it.2)
    }
}

pub(crate) struct Scope<'d> {
    dom: &'d Dom,
    node: usize,
}

impl Prefixes for Scope<'_> {
    fn uri(&self, prefix: &[u8]) -> Option<&[u8]> {
        if prefix == b"xml" {
            return Some(XML_NAMESPACE.as_bytes());
        }
        let mut node = self.node;
        loop {
            let here = &self.dom.nodes[node];
            if let Some((_, uri)) = here.namespaces.iter().find(|it| it.0.as_bytes() == prefix) {
                return Some(uri.as_bytes());
            }
            if node == 0 {
                return None;
            }
            node = here.parent;
        }
    }
}
