//! Where a match may begin late: a smaller expression with the same ends.
//!
//! If only ends are asked for, a match may as well begin later: `[a-z]*x` has the ends of `x`, `\d{1,3}\.` those of `\d\.`,
//! and `a+` those of `a`. What is left begins with fewer different bytes, and has fewer positions.
use std::borrow::Cow;

use crate::node::Node;

/// Nesting that is looked into.
const DEPTH: usize = 32;

/// Whether each match has a byte; false if it is not known.
fn has_byte(node: &Node, depth: usize) -> bool {
    match node {
        _ if depth == 0 => false,
        Node::Empty | Node::Assert(_) => false,
        Node::Class(_) => true,
        Node::Concat(nodes) => nodes.iter().any(|node| has_byte(node, depth - 1)),
        Node::Alternate(nodes) => nodes.iter().all(|node| has_byte(node, depth - 1)),
        Node::Repeat { node, min, .. } => *min > 0 && has_byte(node, depth - 1),
    }
}

/// An expression with the same ends of matches that are not empty.
pub(super) fn late(node: &Node) -> Cow<'_, Node> {
    begin_late(node, false, DEPTH)
}

/// `followed`: at least one byte follows in each match.
fn begin_late(node: &Node, followed: bool, depth: usize) -> Cow<'_, Node> {
    if depth == 0 {
        return Cow::Borrowed(node);
    }
    let depth = depth - 1;
    match node {
        Node::Empty | Node::Class(_) | Node::Assert(_) => Cow::Borrowed(node),
        Node::Repeat { min: 0, .. } if followed => Cow::Owned(Node::Empty),
        Node::Repeat { min: 0, .. } => Cow::Borrowed(node),
        Node::Repeat { node: inner, min, max } => {
            if !followed && !has_byte(inner, depth) {
                Cow::Borrowed(node)
            } else if *min == 1 {
                begin_late(inner, followed, depth)
            } else if *max == Some(*min) {
                Cow::Borrowed(node)
            } else {
                Cow::Owned(Node::Repeat { node: inner.clone(), min: *min, max: Some(*min) })
            }
        }
        Node::Alternate(nodes) => {
            let late: Vec<Cow<'_, Node>> =
                nodes.iter().map(|node| begin_late(node, followed, depth)).collect();
            if nodes.iter().zip(&late).all(|(node, late)| std::ptr::eq(node, &**late)) {
                return Cow::Borrowed(node);
            }
            Cow::Owned(Node::Alternate(late.into_iter().map(Cow::into_owned).collect()))
        }
        Node::Concat(nodes) => {
            let last = nodes.iter().rposition(|node| has_byte(node, depth));
            for (at, first) in nodes.iter().enumerate() {
                let behind = &nodes[at + 1..];
                let followed = followed || last.is_some_and(|last| last > at);
                let late = begin_late(first, followed, depth);
                match &*late {
                    Node::Empty => continue,
                    late if at == 0 && std::ptr::eq(first, late) => break,
                    _ => {
                        let late = [late.into_owned()].into_iter().chain(behind.iter().cloned());
                        return Cow::Owned(Node::Concat(late.collect()));
                    }
                }
            }
            Cow::Borrowed(node)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse::parse;
    use super::late;

    #[test]
    fn what_may_be_missing_at_the_beginning_is_left_out() {
        let cases = [
            ("[a-z]+@", "[a-z]@"),
            (r"\d{1,3}\.\d{1,3}", r"\d\.\d{1,3}"),
            ("a*b?(c|d+e)f*", "(c|de)f*"),
            ("(ab|c*d)+", "(ab|d)"),
            ("(a?){2,9}b", "(a?){2}b"),
            ("a{3,}", "a{3}"),
            // As they are: nothing follows, or it is not known that a byte does.
            ("a*", "a*"),
            ("a*b*", "a*b*"),
            (r"\ba+c", r"\ba+c"),
            ("(a*)+", "(a*)+"),
            ("^a+", "^a+"),
        ];
        for (from, to) in cases {
            // Both as they are parsed: a concatenation of one is the same as that one.
            let flat = |node| format!("{node:?}").replace("Concat([Class", "Class");
            let (found, wanted) = (flat(late(&parse(from)).into_owned()), flat(parse(to)));
            let plain = |text: String| text.replace("Concat", "").replace(['(', ')', '[', ']'], "");
            assert_eq!(plain(found), plain(wanted), "{from}");
        }
    }
}
