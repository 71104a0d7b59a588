//! Puts nodes together, simplified: what matches is the same, what has to be compiled is less.

use crate::{ByteSet, Node};

/// Matches nothing.
pub(super) const NOTHING: Node = Node::Class(ByteSet::EMPTY);

/// One after the other, flattened.
pub(super) fn concat(nodes: Vec<Node>) -> Node {
    if nodes.contains(&NOTHING) {
        return NOTHING;
    }
    let mut flat = Vec::with_capacity(nodes.len());
    for node in nodes {
        match node {
            Node::Empty => {}
            Node::Concat(inner) if flat.is_empty() => flat = inner,
            Node::Concat(inner) => flat.extend(inner),
            node => flat.push(node),
        }
    }
    if flat.len() > 1 { Node::Concat(flat) } else { flat.pop().unwrap_or(Node::Empty) }
}

/// One of them, flattened; those that are one byte become one class.
pub(super) fn alternate(nodes: Vec<Node>) -> Node {
    let mut flat: Vec<Node> = Vec::with_capacity(nodes.len());
    let (mut class, mut empty) = (None, false);
    let mut push = |node: Node| match (node, class) {
        (Node::Class(set), _) if set.is_empty() => {}
        (Node::Class(set), Some(at)) => {
            if let Some(Node::Class(all)) = flat.get_mut(at) {
                *all = all.union(set);
            }
        }
        (Node::Class(set), None) => {
            class = Some(flat.len());
            flat.push(Node::Class(set));
        }
        (Node::Empty, _) if empty => {}
        (node, _) => {
            empty |= node == Node::Empty;
            flat.push(node);
        }
    };
    for node in nodes {
        match node {
            Node::Alternate(inner) => inner.into_iter().for_each(&mut push),
            node => push(node),
        }
    }
    if flat.len() > 1 { Node::Alternate(flat) } else { flat.pop().unwrap_or(NOTHING) }
}

/// `min` to `max` times.
pub(super) fn repeat(node: Node, min: u32, max: Option<u32>) -> Node {
    match (node, min, max) {
        (_, _, Some(0)) | (Node::Empty, _, _) => Node::Empty,
        (node, 1, Some(1)) => node,
        // An assertion that holds once holds any number of times.
        (NOTHING | Node::Assert(_), 0, _) => Node::Empty,
        (node @ (NOTHING | Node::Assert(_)), _, _) => node,
        // (x*){n,m} and (x?){n,} are x*; (x+){n,m} is x{n,}; (x?){n,m} is x{0,m}.
        (Node::Repeat { node, min: 0, max: None }, _, _)
        | (Node::Repeat { node, min: 0, max: Some(1) }, _, None) => {
            Node::Repeat { node, min: 0, max: None }
        }
        (Node::Repeat { node, min: 1, max: None }, min, _) => Node::Repeat { node, min, max: None },
        (Node::Repeat { node, min: 0, max: Some(1) }, _, max) => Node::Repeat { node, min: 0, max },
        (node, min, max) => Node::Repeat { node: Box::new(node), min, max },
    }
}
