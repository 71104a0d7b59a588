//! What a pattern means: its matches by definition, slow and simple.
//!
//! Nothing is compiled: the [`Node`] is applied to all places of the data at once, and each place keeps the leftmost
//! start from which it is reached. Engines are tested against this; it shares no code with any of them.

use crate::syntax::Pattern;
use crate::{Assertion, Match as Report, Node};

/// A match: `end` is reported once for each pattern, with the leftmost `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Match {
    /// The offset of the first byte.
    pub start: usize,
    /// The offset after the last byte.
    pub end: usize,
}

/// For each place in the data, the leftmost start of a match that can have come that far.
type Reached = Vec<Option<usize>>;

/// All matches of `pattern` in `data`, by their ends.
///
/// - Every end at which some match ends is reported once, the empty matches included.
/// - With single match, only the first end.
/// - `min_offset` and `max_offset` bound the ends; `min_length` the length of the longest match of an end.
///
/// Of a combination, there is none: it depends on other patterns.
pub fn matches(pattern: &Pattern, data: &[u8]) -> Vec<Match> {
    let bounds = pattern.extended;
    let starts = (0..=data.len()).map(Some).collect();
    let ends = advance(&pattern.node, data, starts).into_iter().enumerate();
    let all = ends.filter_map(|(end, start)| start.map(|start| Match { start, end }));
    let all = all.filter(|found| {
        let end = found.end as u64;
        end >= bounds.min_offset.unwrap_or(0)
            && end <= bounds.max_offset.unwrap_or(u64::MAX)
            && end - found.start as u64 >= bounds.min_length.unwrap_or(0)
    });
    all.take(if pattern.flags.single_match { 1 } else { usize::MAX }).collect()
}

/// All matches of a set in `data`, combinations included, quiet patterns left out; by their ends, then by id.
///
/// A combination has a match at each end of a match of its operands, if it is true then: all operands that match up to
/// and at this end have matched. If none of them matches, it has one match at the end of the data, if it is
/// true then. The offsets of its parameters hold for it; its start is its end.
pub fn set_matches(patterns: &[Pattern], data: &[u8]) -> Vec<(u32, Match)> {
    let plain = |pattern: &&Pattern| pattern.combination.is_none();
    let mut events: Vec<(usize, u32)> = Vec::new();
    let mut found = Vec::new();
    for pattern in patterns.iter().filter(plain) {
        for one in matches(pattern, data) {
            events.push((one.end, pattern.id));
            if !pattern.flags.quiet {
                found.push((pattern.id, one));
            }
        }
    }
    events.sort_unstable();
    for pattern in patterns {
        let Some(combination) = pattern.combination.as_ref().filter(|_| !pattern.flags.quiet)
        else {
            continue;
        };
        let operands: Vec<u32> = combination.operands().collect();
        let own = events.iter().filter(|(_, id)| operands.contains(id));
        let mut ends: Vec<usize> = own.map(|(end, _)| *end).collect();
        if ends.is_empty() {
            ends.push(data.len());
        }
        ends.dedup();
        let value = |end: usize| {
            combination.evaluate(|id| events.iter().any(|event| event.0 <= end && event.1 == id))
        };
        let bounds = pattern.extended;
        let allowed = bounds.min_offset.unwrap_or(0)..=bounds.max_offset.unwrap_or(u64::MAX);
        let ends = ends.into_iter().filter(|&end| value(end) && allowed.contains(&(end as u64)));
        let most = if pattern.flags.single_match { 1 } else { usize::MAX };
        found.extend(ends.take(most).map(|end| (pattern.id, Match { start: end, end })));
    }
    found.sort_unstable_by_key(|(id, one)| (one.end, *id, one.start));
    found.dedup();
    found
}

/// What a set reports of `data`, sorted: [`set_matches`], with the starts that are asked for and 0 for others.
pub fn reports(patterns: &[Pattern], data: &[u8]) -> Vec<Report> {
    let asked = |id| patterns.iter().any(|one| one.id == id && one.flags.som_leftmost);
    let all = set_matches(patterns, data).into_iter().map(|(id, one)| {
        let start = if asked(id) { one.start as u64 } else { 0 };
        Report { end: one.end as u64, id, start }
    });
    let mut all: Vec<Report> = all.collect();
    all.sort_unstable();
    all
}

/// Brings reports of `data` into the form in which an engine's and [`reports`] are compared: sorted, and without what is
/// not known in time before a newline that is the last byte (`fallback` documents it): the leftmost start, and so whether
/// a match has the least length.
pub fn comparable(patterns: &[Pattern], data: &[u8], all: &mut Vec<Report>) {
    let open = data.ends_with(b"\n").then(|| data.len() as u64 - 1);
    let has_length =
        |id| patterns.iter().any(|one| one.id == id && one.extended.min_length.is_some());
    all.retain(|one| Some(one.end) != open || !has_length(one.id));
    all.iter_mut().filter(|one| Some(one.end) == open).for_each(|one| one.start = 0);
    all.sort_unstable();
}

/// The places after one match of `node` from the places `from`.
fn advance(node: &Node, data: &[u8], from: Reached) -> Reached {
    match node {
        Node::Empty => from,
        Node::Class(set) => {
            let mut to = vec![None; from.len()];
            for (at, &byte) in data.iter().enumerate() {
                to[at + 1] = from[at].filter(|_| set.contains(byte));
            }
            to
        }
        Node::Concat(nodes) => nodes.iter().fold(from, |from, node| advance(node, data, from)),
        Node::Alternate(nodes) => {
            let none = vec![None; from.len()];
            nodes.iter().fold(none, |all, node| either(all, &advance(node, data, from.clone())))
        }
        Node::Repeat { node, min, max } => repeat(node, *min, *max, data, from),
        Node::Assert(assertion) => {
            let holds = from.into_iter().enumerate();
            holds.map(|(at, start)| start.filter(|_| holds_at(*assertion, data, at))).collect()
        }
    }
}

fn repeat(node: &Node, min: u32, max: Option<u32>, data: &[u8], from: Reached) -> Reached {
    let mut last = from;
    for _ in 0..min {
        let next = advance(node, data, last.clone());
        // From here on every round gives the same.
        if next == last {
            break;
        }
        last = next;
    }
    let mut all = last.clone();
    for _ in min..max.unwrap_or(u32::MAX) {
        last = advance(node, data, last);
        let more = either(all.clone(), &last);
        // Nothing new: neither will later rounds, which start from places and starts that `all` has.
        if more == all {
            break;
        }
        all = more;
    }
    all
}

/// The places of both, with the smaller start.
fn either(mut one: Reached, other: &Reached) -> Reached {
    for (one, other) in one.iter_mut().zip(other) {
        *one = [*one, *other].into_iter().flatten().min();
    }
    one
}

fn holds_at(assertion: Assertion, data: &[u8], at: usize) -> bool {
    let (before, after) = data.split_at(at);
    let word =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let boundary = word(before.last()) != word(after.first());
    match assertion {
        Assertion::TextStart => before.is_empty(),
        Assertion::TextEnd => after.is_empty(),
        Assertion::TextEndOrNewline => after.is_empty() || after == b"\n",
        Assertion::LineStart => before.is_empty() || before.ends_with(b"\n") && !after.is_empty(),
        Assertion::LineEnd => after.is_empty() || after.starts_with(b"\n"),
        Assertion::WordBoundary => boundary,
        Assertion::NotWordBoundary => !boundary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Extended, Flags};

    fn found(
        expression: &str,
        letters: &str,
        extended: Extended,
        data: &str,
    ) -> Vec<(usize, usize)> {
        let flags = Flags::from_letters(letters.as_bytes()).unwrap();
        let pattern = Pattern::parse(0, expression.as_bytes(), flags, extended).unwrap();
        matches(&pattern, data.as_bytes())
            .into_iter()
            .map(|found| (found.start, found.end))
            .collect()
    }

    /// What Hyperscan 5.4.0 reports for these.
    #[test]
    fn the_examples() {
        let ends = |expression: &str, letters: &str, data: &str| -> Vec<usize> {
            let all = found(expression, letters, Extended::default(), data);
            all.into_iter().map(|(_, end)| end).collect()
        };
        assert_eq!(ends("a*", "V", "baab"), [0, 1, 2, 3, 4]);
        assert_eq!(ends("a*", "HV", "aab"), [0]);
        assert_eq!(ends("$", "", "ab\n"), [2, 3]);
        assert_eq!(ends("foo$", "", "foo\n"), [3]);
        assert_eq!(ends(r"foo\z", "", "foo\n"), [0; 0]);
        assert_eq!(ends("^", "m", "a\nb\n"), [0, 2]);
        assert_eq!(ends("^$", "m", "\n\n"), [0, 1]);
        assert_eq!(ends("^$", "", "\n"), [0]);
        assert_eq!(ends(r"\b", "", "ab cd"), [0, 2, 3, 5]);
        assert_eq!(ends(r"\B", "", "ab cd"), [1, 4]);
        assert_eq!(ends("^a*", "", "aab"), [0, 1, 2]);
        assert_eq!(ends(r"\Ba*", "", "abcabcd\n"), [1, 2, 3, 4, 5, 6, 8]);
        assert_eq!(ends("a+?", "H", "xaaab"), [2]);
        assert_eq!(ends("[^a]", "8", "aé空"), [3, 6]);
        assert_eq!(ends("(a{2}){3}", "", "aaaaaaaa"), [6, 7, 8]);
        assert_eq!(ends("(ab|c){2,3}d", "", "ababd ccccd cd"), [5, 11]);
    }

    #[test]
    fn starts_are_leftmost() {
        let found = |expression, data| found(expression, "L", Extended::default(), data);
        assert_eq!(found("a|ba|cba", "cba cba"), [(0, 3), (4, 7)]);
        assert_eq!(found("x{2,}|a", "xxxa"), [(0, 2), (0, 3), (3, 4)]);
        assert_eq!(found("a.*b", "aabxb"), [(0, 3), (0, 5)]);
    }

    #[test]
    fn parameters_bound_matches() {
        let extended = Extended {
            min_offset: Some(2),
            max_offset: Some(3),
            min_length: None,
            ..Extended::default()
        };
        assert_eq!(found("a", "", extended, "aaaa"), [(1, 2), (2, 3)]);
        assert_eq!(found("a", "H", extended, "aaaa"), [(1, 2)]);
        let extended = Extended { min_length: Some(3), ..Extended::default() };
        assert_eq!(found("a+", "L", extended, "aaaaa"), [(0, 3), (0, 4), (0, 5)]);
        assert_eq!(
            found("a*", "V", Extended { min_length: Some(2), ..extended }, "baaab"),
            [(1, 3), (1, 4)]
        );
    }
}
