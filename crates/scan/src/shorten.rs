//! What remains of a pattern that needs only its first end.
//!
//! A pattern that matches once (flag H) ends where its earliest match does. If T may be empty without a condition, each
//! end of `P T` is an end of P or lies behind one, and each end of P is one of `P T`: the earliest of both is the same. So
//! T goes, and with it what made many patterns of rules unbounded:
//!
//! | pattern | what remains |
//! |---|---|
//! | `Firefox/(\d+)\.(\d+)` | `Firefox/\d+\.\d` |
//! | `Darwin(?:/(\d+)(?:\.(\d+)|)|)` | `Darwin` |
//! | `select.{1,20}` | `select.` |
//! | `union\s+(all\s*|distinct.*)` | `union\s+(all|distinct)` |
//! | `a+$`, `\d*\b` | themselves: what stands at their end must hold |

use std::borrow::Cow;

use crate::node::{Node, width};

/// The pattern without what may be missing at its end. One that may match nothing stays as it is.
pub(crate) fn shorten(node: &Node) -> Cow<'_, Node> {
    match width(node).0 {
        0 => Cow::Borrowed(node),
        _ => Cow::Owned(cut(node)),
    }
}

/// Of a node that cannot match the empty string without a condition.
fn cut(node: &Node) -> Node {
    match node {
        Node::Empty | Node::Class(_) | Node::Assert(_) => node.clone(),
        Node::Concat(parts) => {
            let count = parts.iter().rposition(|part| !may_be_empty(part)).map_or(0, |at| at + 1);
            let mut parts = parts[..count].to_vec();
            match parts.pop().as_ref().map(cut) {
                Some(Node::Concat(last)) => parts.extend(last),
                last => parts.extend(last),
            }
            match parts.len() {
                1 => parts.remove(0),
                _ => Node::Concat(parts),
            }
        }
        Node::Alternate(parts) => Node::Alternate(parts.iter().map(cut).collect()),
        // Without a condition it can only be empty if its inside can.
        Node::Repeat { min: 0, .. } => node.clone(),
        Node::Repeat { node, min: 1, .. } => cut(node),
        Node::Repeat { node, min, .. } => {
            let most = Node::Repeat { node: node.clone(), min: min - 1, max: Some(min - 1) };
            Node::Concat(vec![most, cut(node)])
        }
    }
}

/// Whether the empty string matches wherever it stands.
fn may_be_empty(node: &Node) -> bool {
    match node {
        Node::Empty => true,
        Node::Class(_) | Node::Assert(_) => false,
        Node::Concat(parts) => parts.iter().all(may_be_empty),
        Node::Alternate(parts) => parts.iter().any(may_be_empty),
        Node::Repeat { node, min, .. } => *min == 0 || may_be_empty(node),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Extended, Flags, Pattern};

    fn node(text: &str) -> Node {
        Pattern::parse(1, text.as_bytes(), Flags::default(), Extended::default()).unwrap().node
    }

    #[test]
    fn what_may_be_missing_at_the_end_goes() {
        for (text, rest) in [
            (r"Firefox/(\d+)\.(\d+)", r"Firefox/\d+\.\d"),
            (r"Darwin(?:/(\d+)(?:\.(\d+)|)|)", "Darwin"),
            ("select.{1,20}", "select."),
            (r"union(all\s*|distinct.*)", "union(all|distinct)"),
            ("ab{3,5}", "ab{2}b"),
            ("(?:ab*){3}", "(?:ab*){2}a"),
            ("abc", "abc"),
        ] {
            assert_eq!(*shorten(&node(text)), node(rest), "{text}");
        }
    }

    #[test]
    fn what_must_hold_at_the_end_stays() {
        for text in ["a+$", r"ab\d*\b", r"x(?:a*\b)"] {
            assert_eq!(*shorten(&node(text)), node(text), "{text}");
        }
    }

    #[test]
    fn what_may_match_nothing_stays() {
        let anything = Node::Repeat { node: Box::new(node("a")), min: 0, max: None };
        assert_eq!(*shorten(&anything), anything);
    }
}
