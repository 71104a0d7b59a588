//! Conditions on a place between two bytes, as bytes beside it.
//!
//! The literal finder's sequences know only the start and the end of the data. Every other condition on a place becomes a
//! class for the byte before it or behind it:
//!
//! | condition | becomes |
//! |---|---|
//! | `(?m)^foo` | `\Afoo`, and `\nfoo` |
//! | `\bfoo` | `\Afoo`, and `\Wfoo` |
//! | `foo\b` | `foo`, if `\W` or the end of the data follows ([`End::Before`]) |
//! | `(?m)foo$` | `foo`, if `\n` or the end of the data follows |
//! | `foo\b.` | `foo\W`: of a class between word bytes and others, what agrees with the other side |
//!
//! A byte before a match is added to it: its start is another then, its end is not. So beginnings are rewritten only
//! where starts are not asked for.

use crate::node::{Assertion, ByteSet, Node};
use crate::plan::{End, MAX_SEQUENCES};
use crate::strings::first;
use crate::tail::reverse;

/// The concatenations without conditions, but for `\A` at the beginning, that together match what `parts` matches, each
/// with what must follow. `None`: there are conditions that cannot be said so, or too many concatenations.
pub(crate) fn resolve(
    parts: Vec<Node>,
    start_of_match: bool,
    out: &mut Vec<(Vec<Node>, End)>,
) -> Option<()> {
    use Assertion::{LineEnd, LineStart, NotWordBoundary, TextEnd, TextEndOrNewline, WordBoundary};
    let beside =
        |part: &Node| matches!(part, Node::Assert(LineStart | WordBoundary | NotWordBoundary));
    let Some(at) = parts.iter().position(beside) else {
        out.push(with_end(parts));
        return (out.len() <= MAX_SEQUENCES).then_some(());
    };
    let Node::Assert(condition) = parts[at] else { return None };
    let (left, right) = (&parts[..at], &parts[at + 1..]);
    let mut preceded = |start: bool, bytes: ByteSet| {
        // Behind a start, a byte before is one too many.
        if start_of_match {
            return None;
        }
        if start {
            let start = [&[Node::Assert(Assertion::TextStart)], right].concat();
            resolve(start, start_of_match, out)?;
        }
        resolve([&[Node::Class(bytes)], right].concat(), start_of_match, out)
    };
    if condition == LineStart {
        // `(?m)^` does not hold at the end of the data: something follows.
        first(right)?;
        return if left.is_empty() { preceded(true, ByteSet::one(b'\n')) } else { None };
    }
    let boundary = condition == WordBoundary;
    let word = word();
    if right.is_empty() {
        let before = match is_word(last(left)?) {
            Some(before) => before,
            None => return split(&parts, at - 1, start_of_match, out),
        };
        let next = if before != boundary { word } else { word.complement() };
        let end = End::Before { next, text_end: before == boundary };
        out.push((left.to_vec(), end));
        return (out.len() <= MAX_SEQUENCES).then_some(());
    }
    let after = match right {
        // Nothing follows, or a newline.
        [Node::Assert(LineEnd | TextEnd | TextEndOrNewline)] => Some(false),
        _ => is_word(first(right)?),
    };
    let Some(after) = after else {
        return split(&parts, at + 1, start_of_match, out);
    };
    if left.is_empty() {
        // The start of the data counts as a non-word byte.
        return match after != boundary {
            true => preceded(false, word),
            false => preceded(true, word.complement()),
        };
    }
    match is_word(last(left)?) {
        None => split(&parts, at - 1, start_of_match, out),
        Some(before) if (before != after) == boundary => {
            resolve([left, right].concat(), start_of_match, out)
        }
        // It never holds.
        Some(_) => Some(()),
    }
}

/// Takes what must follow from the end.
fn with_end(mut parts: Vec<Node>) -> (Vec<Node>, End) {
    let end = match parts.last() {
        Some(Node::Assert(Assertion::TextEnd)) => End::Text,
        Some(Node::Assert(Assertion::TextEndOrNewline)) => End::TextOrNewline,
        Some(Node::Assert(Assertion::LineEnd)) => {
            End::Before { next: ByteSet::one(b'\n'), text_end: true }
        }
        _ => End::Anywhere,
    };
    if end != End::Anywhere {
        parts.pop();
    }
    (parts, end)
}

/// The bytes that a match of `parts` may end with; `None` if it may be empty.
fn last(parts: &[Node]) -> Option<ByteSet> {
    let reversed: Vec<Node> = parts.iter().rev().map(reverse).collect();
    first(&reversed)
}

fn word() -> ByteSet {
    (0..=255_u8).filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').collect()
}

/// Whether all of these are word bytes, or none; else `None`.
fn is_word(bytes: ByteSet) -> Option<bool> {
    match bytes.intersection(word()) {
        words if words == bytes => Some(true),
        words if words.is_empty() => Some(false),
        _ => None,
    }
}

/// Once with the word bytes of the class at `at`, once with its others.
fn split(
    parts: &[Node],
    at: usize,
    start_of_match: bool,
    out: &mut Vec<(Vec<Node>, End)>,
) -> Option<()> {
    let Some(Node::Class(class)) = parts.get(at) else { return None };
    for half in [word(), word().complement()] {
        let mut one = parts.to_vec();
        one[at] = Node::Class(class.intersection(half));
        resolve(one, start_of_match, out)?;
    }
    Some(())
}
