//! A tree from events.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::{Kind, Name, NameId, Node, OWN, Record, Tree, TreeError, names::Names};

/// Builds a [`Tree`] from the events of a document, in their order.
#[derive(Debug)]
pub struct Builder<'d> {
    tree: Tree<'d>,
    /// The elements that are open, the document's node first.
    open: Vec<u32>,
    /// Whether the last node is a text that more characters would belong to.
    text: bool,
}

/// Where a value lies.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// In the document: its bytes from here to there.
    Document(Range<usize>),
    /// Elsewhere: it is copied.
    Other(&'a str),
}

impl<'d> Builder<'d> {
    /// An empty tree of a document with these characters.
    pub fn new(document: &'d str) -> Result<Builder<'d>, TreeError> {
        u32::try_from(document.len()).map_err(|_| TreeError::Bytes)?;
        // So that few copies are made while it grows: documents have a node for 8 bytes to 600. Memory that is not
        // touched costs nothing.
        let mut records = Vec::with_capacity(16.max(document.len() / 16));
        records.push(Record::new(Kind::Document, NameId(0), 0, 1, 0));
        let tree = Tree {
            document,
            own: vec![],
            records,
            names: Arc::new(Names::new()),
            ids: HashMap::new(),
        };
        Ok(Builder { tree, open: vec![0], text: false })
    }

    /// The number of a name, for the calls below.
    pub fn name(&mut self, name: Name<'_>) -> Result<NameId, TreeError> {
        Arc::make_mut(&mut self.tree.names).intern(name)
    }

    /// An element begins. Its namespaces come next, then its attributes.
    #[inline]
    pub fn start_element(&mut self, name: NameId) -> Result<Node, TreeError> {
        let node = self.push(Kind::Element, name, 0, 0)?;
        self.open.push(node.0);
        Ok(node)
    }

    /// The element declares a namespace; `prefix` is a name with this as its local part.
    pub fn namespace(&mut self, prefix: NameId, uri: Value<'_>) -> Result<Node, TreeError> {
        self.owned(Kind::Namespace, prefix, uri)
    }

    /// The element has an attribute. `is_id`: its type is ID.
    #[inline]
    pub fn attribute(
        &mut self,
        name: NameId,
        value: Value<'_>,
        is_id: bool,
    ) -> Result<Node, TreeError> {
        let node = self.owned(Kind::Attribute, name, value)?;
        if is_id {
            let (id, element) = (self.tree.value(node).to_owned(), self.innermost());
            // Of several, which only invalid documents have, the first.
            self.tree.ids.entry(id).or_insert(Node(element));
        }
        Ok(node)
    }

    #[inline]
    fn owned(&mut self, kind: Kind, name: NameId, value: Value<'_>) -> Result<Node, TreeError> {
        let (start, len) = self.place(value)?;
        let node = self.push(kind, name, start, len)?;
        let element = self.innermost() as usize;
        self.tree.records[element].len += 1;
        Ok(node)
    }

    /// The innermost element ends.
    pub fn end_element(&mut self) {
        if self.open.len() > 1 {
            let element = self.open.pop().unwrap_or(0);
            self.close(element);
        }
    }

    /// Characters. What follows characters without a node between belongs to the same text.
    #[inline]
    pub fn text(&mut self, value: Value<'_>) -> Result<(), TreeError> {
        if self.text {
            return self.append(value);
        }
        let (start, len) = self.place(value)?;
        if len & !OWN > 0 {
            self.push(Kind::Text, NameId(0), start, len)?;
            self.text = true;
        }
        Ok(())
    }

    /// A comment.
    pub fn comment(&mut self, value: Value<'_>) -> Result<Node, TreeError> {
        let (start, len) = self.place(value)?;
        self.push(Kind::Comment, NameId(0), start, len)
    }

    /// A processing instruction.
    pub fn instruction(&mut self, target: NameId, value: Value<'_>) -> Result<Node, TreeError> {
        let (start, len) = self.place(value)?;
        self.push(Kind::Instruction, target, start, len)
    }

    /// The document ends.
    pub fn finish(mut self) -> Tree<'d> {
        while let Some(open) = self.open.pop() {
            self.close(open);
        }
        if self.tree.records.len() < self.tree.records.capacity() / 2 {
            self.tree.records.shrink_to_fit();
        }
        self.tree
    }

    fn close(&mut self, element: u32) {
        self.text = false;
        let end = self.tree.records.len() as u32;
        self.tree.records[element as usize].start = end;
    }

    fn innermost(&self) -> u32 {
        self.open.last().copied().unwrap_or(0)
    }

    #[inline]
    fn push(&mut self, kind: Kind, name: NameId, start: u32, len: u32) -> Result<Node, TreeError> {
        let node = u32::try_from(self.tree.records.len()).map_err(|_| TreeError::Nodes)?;
        // So that the number behind the last one is a number, too.
        if node == u32::MAX {
            return Err(TreeError::Nodes);
        }
        self.text = false;
        self.tree.records.push(Record::new(kind, name, self.innermost(), start, len));
        Ok(Node(node))
    }

    #[inline]
    fn place(&mut self, value: Value<'_>) -> Result<(u32, u32), TreeError> {
        let short = |len: usize| u32::try_from(len).ok().filter(|len| len & OWN == 0);
        match value {
            Value::Document(range) => {
                let len = short(range.len()).ok_or(TreeError::Bytes)?;
                let start = u32::try_from(range.start).map_err(|_| TreeError::Bytes)?;
                Ok((start, len))
            }
            Value::Other(text) => {
                let len = short(text.len()).ok_or(TreeError::Bytes)?;
                let start = u32::try_from(self.tree.own.len()).map_err(|_| TreeError::Bytes)?;
                self.tree.own.extend(text.as_bytes());
                Ok((start, len | OWN))
            }
        }
    }

    /// More characters of the last text: without a copy where they follow it in the document, too.
    #[inline(never)]
    fn append(&mut self, value: Value<'_>) -> Result<(), TreeError> {
        let last = self.tree.records.len() - 1;
        let Record { start, len, .. } = self.tree.records[last];
        let (is_own, before) = (len & OWN != 0, len & !OWN);
        if let Value::Document(range) = &value
            && !is_own
            && range.start == (start + before) as usize
        {
            let whole = u32::try_from(range.len()).ok().and_then(|more| before.checked_add(more));
            let whole = whole.filter(|len| len & OWN == 0).ok_or(TreeError::Bytes)?;
            self.tree.records[last].len = whole;
            return Ok(());
        }
        if !is_own {
            let range = start as usize..(start + before) as usize;
            let document = self.tree.document;
            let (start, len) = self.place(Value::Other(&document[range]))?;
            (self.tree.records[last].start, self.tree.records[last].len) = (start, len);
        }
        // The last text's bytes are the last of the tree's own.
        let more = match value {
            Value::Document(range) => &self.tree.document[range],
            Value::Other(text) => text,
        };
        let whole = u32::try_from(more.len()).ok().and_then(|more| before.checked_add(more));
        let whole = whole.filter(|len| len & OWN == 0).ok_or(TreeError::Bytes)?;
        u32::try_from(self.tree.own.len() + more.len()).map_err(|_| TreeError::Bytes)?;
        self.tree.own.extend(more.as_bytes());
        self.tree.records[last].len = whole | OWN;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name<'a>(prefix: &'a str, local: &'a str, uri: &'a str) -> Name<'a> {
        Name { prefix, local, uri }
    }

    /// `<a xmlns:p="u" x="1">text &amp; more<p:b/><!--c--></a>`
    #[test]
    fn a_document_as_a_tree() -> Result<(), TreeError> {
        let document = r#"<a xmlns:p="u" x="1">text &amp; more<p:b/><!--c--></a>"#;
        let place = |part: &str| {
            let start = document.find(part).unwrap();
            Value::Document(start..start + part.len())
        };
        let mut builder = Builder::new(document)?;
        let a = builder.name(name("", "a", ""))?;
        let root = builder.start_element(a)?;
        let p = builder.name(name("", "p", ""))?;
        builder.namespace(p, Value::Other("u"))?;
        let x = builder.name(name("", "x", ""))?;
        let attribute = builder.attribute(x, place("1"), true)?;
        builder.text(place("text "))?;
        builder.text(Value::Other("&"))?;
        builder.text(place(" more"))?;
        let b = builder.name(name("p", "b", "u"))?;
        let inner = builder.start_element(b)?;
        builder.end_element();
        let comment = builder.comment(place("c-").clone())?;
        builder.end_element();
        let tree = builder.finish();

        assert_eq!(tree.children(Node::DOCUMENT).collect::<Vec<_>>(), [root]);
        assert_eq!(tree.attributes(root).collect::<Vec<_>>(), [attribute]);
        assert_eq!(tree.namespaces(root).map(|node| tree.value(node)).collect::<Vec<_>>(), ["u"]);
        let children: Vec<_> = tree.children(root).collect();
        assert_eq!(children[1..], [inner, comment]);
        assert_eq!((tree.kind(children[0]), tree.value(children[0])), (Kind::Text, "text & more"));
        assert_eq!(tree.name(inner), name("p", "b", "u"));
        assert_eq!(tree.find_name("u", "b"), Some(tree.expanded(tree.name_id(inner))));
        assert_eq!(tree.find_name("", "b"), None);
        assert_eq!(tree.parent(attribute), Some(root));
        assert_eq!(tree.parent(Node::DOCUMENT), None);
        assert_eq!((tree.next_sibling(attribute), tree.next_sibling(comment)), (None, None));
        assert_eq!((tree.first_child(inner), tree.end(root).index()), (None, tree.len()));
        assert_eq!(tree.element_by_id("1"), Some(root));
        Ok(())
    }

    #[test]
    fn characters_in_a_row_are_one_text() -> Result<(), TreeError> {
        let document = "<a>onetwo</a>";
        let mut builder = Builder::new(document)?;
        let a = builder.name(name("", "a", ""))?;
        builder.start_element(a)?;
        builder.text(Value::Other(""))?;
        builder.text(Value::Document(3..6))?;
        builder.text(Value::Document(6..9))?;
        let tree = builder.finish();
        let texts: Vec<_> = tree.subtree(Node::DOCUMENT).skip(2).collect();
        assert_eq!(texts.iter().map(|node| tree.value(*node)).collect::<Vec<_>>(), ["onetwo"]);
        assert_eq!(tree.own, b"");
        Ok(())
    }
}
