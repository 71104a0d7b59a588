//! The tree format: a whole document as flat records, navigated without building objects.
//!
//! A node is a record of 16 bytes, and its number is its place in document order:
//!
//! ```text
//!  kind and name   u32   3 bits, 29 bits
//!  parent          u32
//!  start           u32   element, document: the number behind its last descendant. Others: where the value starts
//!  len             u32   element: how many namespace and attribute nodes follow. Others: the value's length; the upper
//!                        bit says that the value lies in the tree's own memory, not in the document's bytes
//! ```
//!
//! An element is followed by a node for each namespace that it declares, then its attributes, then its children. Values
//! that the document has as they are refer to it; only others (references, normalised line ends and attributes, other
//! encodings) are copied. Names are numbers: the two names of a comparison are looked up once.

mod builder;
mod names;
mod parse;

pub use builder::{Builder, Value};
pub use names::{Name, NameId};
pub use parse::{ParseError, Trees};

use std::collections::HashMap;
use std::sync::Arc;

use names::Names;

use crate::kernel::checked;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The node above the document element.
    Document,
    /// An element.
    Element,
    /// The declaration of a namespace, on its element. The name is the prefix, the value the URI.
    Namespace,
    /// An attribute other than those that declare namespaces.
    Attribute,
    /// Characters between tags; as long as can be: never two in a row.
    Text,
    /// A comment.
    Comment,
    /// A processing instruction. The name is its target, the value what follows.
    Instruction,
}

const KINDS: [Kind; 7] = [
    Kind::Document,
    Kind::Element,
    Kind::Namespace,
    Kind::Attribute,
    Kind::Text,
    Kind::Comment,
    Kind::Instruction,
];

/// The number of a node: its place in document order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(u32);

impl Node {
    /// The document's own node.
    pub const DOCUMENT: Node = Node(0);

    /// The place in document order.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug)]
struct Record {
    kind_name: u32,
    parent: u32,
    start: u32,
    len: u32,
}

const OWN: u32 = 1 << 31;
const NAME_BITS: u32 = 29;

impl Record {
    fn new(kind: Kind, name: NameId, parent: u32, start: u32, len: u32) -> Record {
        Record { kind_name: (kind as u32) << NAME_BITS | name.0, parent, start, len }
    }

    fn kind(&self) -> Kind {
        KINDS[(self.kind_name >> NAME_BITS) as usize]
    }

    fn name(&self) -> NameId {
        NameId(self.kind_name & ((1 << NAME_BITS) - 1))
    }
}

/// Why a tree could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeError {
    /// More than 2^32 - 1 nodes.
    Nodes,
    /// More than 2^29 names.
    Names,
    /// A document of 4 GB or more, or values of so many bytes in the tree's own memory, or one of 2 GB.
    Bytes,
}

impl std::fmt::Display for TreeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TreeError::Nodes => "a tree holds at most 4,294,967,295 nodes",
            TreeError::Names => "a tree holds at most 536,870,912 different names",
            TreeError::Bytes => "a tree holds documents below 4 GiB, and values below 2 GiB",
        })
    }
}

impl std::error::Error for TreeError {}

/// A document. `'d` is how long its bytes live.
#[derive(Debug)]
pub struct Tree<'d> {
    document: &'d str,
    /// Values, and between them what the parser has written of declarations, which is no text.
    own: Vec<u8>,
    records: Vec<Record>,
    /// Those of other trees may be among them.
    names: Arc<Names>,
    ids: HashMap<String, Node>,
}

impl Tree<'_> {
    /// What the node is.
    pub fn kind(&self, node: Node) -> Kind {
        self.record(node).kind()
    }

    /// The name of an element, an attribute, an instruction (its target) or a namespace (its prefix); that of others is
    /// empty.
    pub fn name(&self, node: Node) -> Name<'_> {
        self.names.name(self.name_id(node))
    }

    /// The number of the name.
    pub fn name_id(&self, node: Node) -> NameId {
        self.record(node).name()
    }

    /// The number of a name that the document has; equal URIs and local parts have equal numbers, whatever the prefix.
    pub fn expanded(&self, name: NameId) -> NameId {
        self.names.expanded(name)
    }

    /// The number of the name with this URI and local part, if the document has it: what [`expanded`](Self::expanded)
    /// returns for it.
    pub fn find_name(&self, uri: &str, local: &str) -> Option<NameId> {
        self.names.find(uri, local)
    }

    pub(crate) fn uri_and_local(&self, number: u32) -> (&str, &str) {
        let name = self.names.name(NameId(number));
        (name.uri, name.local)
    }

    /// The value of an attribute, a namespace (its URI), a text, a comment or an instruction; empty for others.
    pub fn value(&self, node: Node) -> &str {
        let record = self.record(node);
        match record.kind() {
            Kind::Document | Kind::Element => "",
            _ => {
                let len = (record.len & !OWN) as usize;
                let start = record.start as usize;
                match record.len & OWN != 0 {
                    true => checked(&self.own[start..start + len]),
                    false => &self.document[start..start + len],
                }
            }
        }
    }

    /// The node above; `None` for the document. That of an attribute or a namespace is its element.
    pub fn parent(&self, node: Node) -> Option<Node> {
        (node != Node::DOCUMENT).then(|| Node(self.record(node).parent))
    }

    /// The first child: an element, a text, a comment or an instruction.
    pub fn first_child(&self, node: Node) -> Option<Node> {
        let first = match self.kind(node) {
            Kind::Document => 1,
            Kind::Element => node.0 + 1 + self.record(node).len,
            _ => return None,
        };
        (first < self.end(node).0).then_some(Node(first))
    }

    /// The next child of the same parent. An attribute or a namespace has none.
    pub fn next_sibling(&self, node: Node) -> Option<Node> {
        if matches!(self.kind(node), Kind::Attribute | Kind::Namespace) {
            return None;
        }
        let next = self.end(node);
        (next < self.end(self.parent(node)?)).then_some(next)
    }

    /// The children.
    pub fn children(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        std::iter::successors(self.first_child(node), |child| self.next_sibling(*child))
    }

    /// The attributes of an element, in the order of the document.
    pub fn attributes(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        self.owned(node).filter(|one| self.kind(*one) == Kind::Attribute)
    }

    /// The namespaces that an element declares.
    pub fn namespaces(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        self.owned(node).take_while(|one| self.kind(*one) == Kind::Namespace)
    }

    fn owned(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        let count = if self.kind(node) == Kind::Element { self.record(node).len } else { 0 };
        (node.0 + 1..node.0 + 1 + count).map(Node)
    }

    /// The number behind the last node of this one's subtree: in between are its descendants with their attributes
    /// and namespaces.
    pub fn end(&self, node: Node) -> Node {
        match self.kind(node) {
            Kind::Document | Kind::Element => Node(self.record(node).start),
            _ => Node(node.0 + 1),
        }
    }

    /// All nodes from this one to [`end`](Self::end), in document order.
    pub fn subtree(
        &self,
        node: Node,
    ) -> impl DoubleEndedIterator<Item = Node> + ExactSizeIterator + use<> {
        (node.0..self.end(node).0).map(Node)
    }

    /// The node with this number, if there is one.
    pub fn node(&self, index: usize) -> Option<Node> {
        (index < self.records.len()).then_some(Node(index as u32))
    }

    /// The element whose attribute of type ID has this value (XML 1.0, 3.3.1).
    pub fn element_by_id(&self, id: &str) -> Option<Node> {
        self.ids.get(id).copied()
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Never: there is the document's own node.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Bytes of memory beside the document.
    pub fn memory(&self) -> usize {
        self.records.capacity() * size_of::<Record>() + self.own.capacity() + self.names.memory()
    }

    fn record(&self, node: Node) -> &Record {
        &self.records[node.index()]
    }
}
