//! Values and their conversions (3.2 to 3.5, 4).

use crate::names::XML_NAMESPACE;
use crate::tree::{Kind, Node, Tree};

/// A node of XPath's data model (5): one of the tree, or a namespace that is in scope on an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeRef {
    node: Node,
    /// 0: the node itself. 1: the namespace `xml` on it. Else, the number of the declaration, and 1.
    namespace: u32,
}

impl From<Node> for NodeRef {
    fn from(node: Node) -> NodeRef {
        NodeRef { node, namespace: 0 }
    }
}

impl NodeRef {
    /// The document's own node.
    pub const DOCUMENT: NodeRef = NodeRef { node: Node::DOCUMENT, namespace: 0 };

    /// A namespace on an element, by its declaration; `None` is `xml`, which needs none.
    pub(crate) fn namespace(element: Node, declaration: Option<Node>) -> NodeRef {
        let namespace = declaration.map_or(1, |node| node.index() as u32 + 1);
        NodeRef { node: element, namespace }
    }

    /// The node of the tree; for a namespace, the element on which it is in scope.
    pub fn node(self) -> Node {
        self.node
    }

    /// Whether this is a namespace.
    pub fn is_namespace(self) -> bool {
        self.namespace != 0
    }

    fn declaration(self, tree: &Tree<'_>) -> Option<Node> {
        let index = self.namespace.checked_sub(2)? as usize + 1;
        tree.node(index)
    }

    /// What the node is.
    pub fn kind(self, tree: &Tree<'_>) -> Kind {
        if self.is_namespace() { Kind::Namespace } else { tree.kind(self.node) }
    }

    /// The local part of the name: of a namespace its prefix.
    pub fn local_name<'t>(self, tree: &'t Tree<'_>) -> &'t str {
        match (self.namespace, self.declaration(tree)) {
            (0, _) => tree.name(self.node).local,
            (_, Some(declaration)) => tree.name(declaration).local,
            _ => "xml",
        }
    }

    /// The namespace of the name.
    pub fn namespace_uri<'t>(self, tree: &'t Tree<'_>) -> &'t str {
        if self.is_namespace() { "" } else { tree.name(self.node).uri }
    }

    /// The name as the document has it.
    pub fn name(self, tree: &Tree<'_>) -> String {
        let local = self.local_name(tree);
        let prefix = if self.is_namespace() { "" } else { tree.name(self.node).prefix };
        if prefix.is_empty() { local.to_owned() } else { format!("{prefix}:{local}") }
    }

    /// The node above: of a namespace its element.
    pub fn parent(self, tree: &Tree<'_>) -> Option<NodeRef> {
        if self.is_namespace() {
            return Some(self.node.into());
        }
        tree.parent(self.node).map(NodeRef::from)
    }

    /// The string-value (5).
    pub fn string_value(self, tree: &Tree<'_>) -> String {
        match (self.namespace, self.kind(tree)) {
            (0, Kind::Document | Kind::Element) => {
                let texts = tree.subtree(self.node).filter(|node| tree.kind(*node) == Kind::Text);
                texts.map(|text| tree.value(text)).collect()
            }
            (0, _) => tree.value(self.node).to_owned(),
            _ => match self.declaration(tree) {
                Some(declaration) => tree.value(declaration).to_owned(),
                None => XML_NAMESPACE.to_owned(),
            },
        }
    }
}

/// What an expression yields.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nodes in document order, each once.
    Nodes(Vec<NodeRef>),
    /// A number.
    Number(f64),
    /// A string.
    String(String),
    /// A truth value.
    Boolean(bool),
}

impl Value {
    /// As `string()` converts it.
    pub fn to_string(&self, tree: &Tree<'_>) -> String {
        match self {
            Value::Nodes(nodes) => nodes.first().map_or(String::new(), |n| n.string_value(tree)),
            Value::Number(number) => string_of(*number),
            Value::String(text) => text.clone(),
            Value::Boolean(truth) => truth.to_string(),
        }
    }

    /// As `number()` converts it.
    pub fn to_number(&self, tree: &Tree<'_>) -> f64 {
        match self {
            Value::Number(number) => *number,
            Value::Boolean(truth) => f64::from(u8::from(*truth)),
            Value::String(text) => number_of(text),
            nodes => number_of(&nodes.to_string(tree)),
        }
    }

    /// As `boolean()` converts it.
    pub fn to_boolean(&self) -> bool {
        match self {
            Value::Nodes(nodes) => !nodes.is_empty(),
            Value::Number(number) => *number != 0.0 && !number.is_nan(),
            Value::String(text) => !text.is_empty(),
            Value::Boolean(truth) => *truth,
        }
    }
}

/// White space of XML (production 3).
pub(crate) const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// 4.4: a `Number` [30] with an optional sign, between white space; anything else is not a number.
pub(crate) fn number_of(text: &str) -> f64 {
    let trimmed = text.trim_matches(SPACE);
    let digits = trimmed.strip_prefix('-').unwrap_or(trimmed);
    let is_number = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && digits.bytes().filter(|b| *b == b'.').count() <= 1
        && digits.bytes().any(|b| b.is_ascii_digit());
    if is_number { trimmed.parse().unwrap_or(f64::NAN) } else { f64::NAN }
}

/// 4.2: decimal, without exponent, as many digits as tell the number from all others.
pub(crate) fn string_of(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else if number == 0.0 {
        // Both zeros.
        "0".to_owned()
    } else {
        number.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_strings() {
        for (text, number) in [("12", 12.0), (" -1.5\n", -1.5), (".5", 0.5), ("5.", 5.0)] {
            assert_eq!(number_of(text), number, "{text}");
        }
        for text in ["", ".", "-", "+1", "1e3", "1 2", "--1", "1.2.3", "inf", "NaN", "0x10"] {
            assert!(number_of(text).is_nan(), "{text}");
        }
        for (number, text) in [
            (-0.0, "0"),
            (1e21, "1000000000000000000000"),
            (1e-7, "0.0000001"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.1 + 0.2, "0.30000000000000004"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(string_of(number), text);
        }
    }
}
