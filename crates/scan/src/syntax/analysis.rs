//! What can be said of a node without data: whether it matches the empty string, how long matches are, whether any
//! place can have one.

use super::build;
use crate::node::width;
use crate::{Assertion, ByteSet, Node};

/// Whether the empty string matches at every place: without an assertion.
pub(super) fn matches_empty(node: &Node) -> bool {
    match node {
        Node::Empty => true,
        Node::Class(_) | Node::Assert(_) => false,
        Node::Concat(nodes) => nodes.iter().all(matches_empty),
        Node::Alternate(nodes) => nodes.iter().any(matches_empty),
        Node::Repeat { node, min, .. } => *min == 0 || matches_empty(node),
    }
}

/// Where in data a node can match.
pub(super) struct Places {
    /// Somewhere.
    pub(super) any: bool,
    /// Only at the first byte.
    pub(super) start_only: bool,
}

/// Finds out where `node` can match, exactly. Without an assertion, a node from [`build`] that is not
/// [`NOTHING`](build::NOTHING) matches somewhere.
///
/// All that assertions see of a place is the byte before it and what follows it: 4 times 5 cases. A node is a relation
/// between the cases of the place where it begins and of the place where it ends; sequences compose relations.
pub(super) fn places(node: &Node) -> Places {
    if !has_assertion(node) {
        return Places { any: *node != build::NOTHING, start_only: false };
    }
    let relation = relate(node);
    let begins = |place: &usize| relation[*place] != 0;
    let any = (0..PLACES).any(|place| begins(&place));
    let elsewhere = (0..PLACES).filter(|place| BEFORE[place / AFTER.len()] != Before::Start);
    Places { any, start_only: any && !elsewhere.into_iter().any(|place| begins(&place)) }
}

/// What follows the ends of matches.
#[derive(Default)]
pub(super) struct Endings {
    /// Some end depends on the byte after it, or on there being one.
    pub(super) looks_ahead: bool,
    /// Some end depends on being the end of the data, or on what follows.
    pub(super) at_end: bool,
    /// Some end may be elsewhere than at the end of the data or before its last newline.
    pub(super) elsewhere: bool,
}

/// Finds out what matches of `node` need after their ends.
pub(super) fn endings(node: &Node) -> Endings {
    let mut endings = Endings::default();
    if has_assertion(node) {
        collect_endings(node, identity(), &mut endings);
    } else {
        endings.elsewhere = true;
    }
    endings
}

/// Adds the endings of `node` after `before`: of the last part of a sequence, of each alternative.
fn collect_endings(node: &Node, before: Relation, endings: &mut Endings) {
    match node {
        Node::Concat(nodes) => {
            let Some((last, nodes)) = nodes.split_last() else {
                return;
            };
            let before = nodes.iter().map(relate).fold(before, compose);
            collect_endings(last, before, endings);
        }
        Node::Alternate(nodes) => {
            nodes.iter().for_each(|node| collect_endings(node, before, endings))
        }
        _ => {
            const END: u32 = 1 << After::End as u32;
            const LAST: u32 = 1 << After::LastNewline as u32;
            const ALL: u32 = (1 << AFTER.len()) - 1;
            // Where nothing is consumed, what follows the end follows the start: all cases of it count together.
            for starts in compose(before, relate(node)).chunks(AFTER.len()) {
                let ends = starts.iter().fold(0, |all, ends| all | ends);
                let cases = (0..BEFORE.len()).map(|before| ends >> (before * AFTER.len()) & ALL);
                for after in cases.filter(|after| *after != 0) {
                    endings.looks_ahead |= after != ALL && after != END;
                    endings.at_end |= after != ALL && after & END != 0;
                    endings.elsewhere |= after & !(END | LAST) != 0;
                }
            }
        }
    }
}

/// The least and the largest number of bytes of a match; `None`: unbounded. What assertions exclude does not count:
/// `\Bx?\b` has one byte, `(\ba.?){3}` at most five if `.` is a letter.
pub(super) fn exact_width(node: &Node) -> (u64, Option<u64>) {
    if !has_assertion(node) {
        return width(node);
    }
    let exact = |choice: Choice| {
        let mut rows = [[0; PLACES]];
        choice.advance(&mut rows, node);
        rows[0].into_iter().fold(NOWHERE, |one, other| choice.of(one, other))
    };
    let (least, most) = (exact(Choice::Least), exact(Choice::Most));
    (if least == NOWHERE { 0 } else { least }, Some(most).filter(|most| *most < UNBOUNDED))
}

/// Whether there may be an empty match between two bytes none of which is a newline.
pub(super) fn empty_inside(node: &Node) -> bool {
    let mut rows = nothing_yet();
    Choice::Least.advance(&mut rows, node);
    (0..PLACES).any(|place| {
        let (before, after) = (BEFORE[place / AFTER.len()], AFTER[place % AFTER.len()]);
        rows[place][place] == 0
            && matches!(before, Before::Word | Before::Other)
            && matches!(after, After::Word | After::Other)
    })
}

fn nothing_yet() -> [Distances; PLACES] {
    std::array::from_fn(|from| std::array::from_fn(|to| if from == to { 0 } else { NOWHERE }))
}

/// How many bytes lead to each place: [`UNBOUNDED`], or [`NOWHERE`] if none do.
type Distances = [u64; PLACES];

const NOWHERE: u64 = u64::MAX;
const UNBOUNDED: u64 = NOWHERE - 1;

/// Which of two ways to a place counts.
#[derive(Clone, Copy)]
enum Choice {
    Least,
    Most,
}

impl Choice {
    fn of(self, one: u64, other: u64) -> u64 {
        match (self, one, other) {
            (_, NOWHERE, len) | (_, len, NOWHERE) => len,
            (Choice::Least, ..) => one.min(other),
            (Choice::Most, ..) => one.max(other),
        }
    }

    /// Goes on from each row's places over `node`.
    fn advance(self, rows: &mut [Distances], node: &Node) {
        match node {
            Node::Empty => {}
            Node::Class(_) | Node::Assert(_) => {
                let (relation, len) = (relate(node), u64::from(matches!(node, Node::Class(_))));
                let step = relation.map(|ends| {
                    std::array::from_fn(|end| if ends >> end & 1 != 0 { len } else { NOWHERE })
                });
                self.go_on(rows, &step);
            }
            Node::Concat(nodes) => nodes.iter().for_each(|node| self.advance(rows, node)),
            Node::Alternate(nodes) => {
                let mut all = vec![[NOWHERE; PLACES]; rows.len()];
                for node in nodes {
                    let mut one = rows.to_vec();
                    self.advance(&mut one, node);
                    let pairs = all.as_flattened_mut().iter_mut().zip(one.as_flattened());
                    pairs.for_each(|(all, one)| *all = self.of(*all, *one));
                }
                rows.copy_from_slice(&all);
            }
            Node::Repeat { node, min, max } => {
                let mut once = nothing_yet();
                self.advance(&mut once, node);
                let mut optional = once;
                (0..PLACES).for_each(|place| {
                    optional[place][place] = self.of(optional[place][place], 0);
                });
                self.go_on_often(rows, once, *min);
                if let Some(max) = max {
                    self.go_on_often(rows, optional, max.saturating_sub(*min));
                    return;
                }
                // As many times as there are places lead everywhere; what still grows then has no end.
                let mut any = optional;
                self.go_on_often(&mut any, optional, PLACES as u32);
                let mut further = any;
                self.go_on(&mut further, &any);
                let pairs = any.as_flattened_mut().iter_mut().zip(further.as_flattened());
                pairs.filter(|(any, more)| any != more).for_each(|(any, _)| *any = UNBOUNDED);
                self.go_on(rows, &any);
            }
        }
    }

    fn go_on_often(self, rows: &mut [Distances], mut step: [Distances; PLACES], mut times: u32) {
        while times > 0 {
            if times & 1 != 0 {
                self.go_on(rows, &step);
            }
            let square = step;
            self.go_on(&mut step, &square);
            times >>= 1;
        }
    }

    fn go_on(self, rows: &mut [Distances], step: &[Distances; PLACES]) {
        for row in rows {
            let mut all = [NOWHERE; PLACES];
            for (from, step) in row.iter().zip(step).filter(|(from, _)| **from != NOWHERE) {
                for (all, more) in all.iter_mut().zip(step).filter(|(_, more)| **more != NOWHERE) {
                    *all = self.of(*all, from.saturating_add(*more).min(UNBOUNDED));
                }
            }
            *row = all;
        }
    }
}

fn has_assertion(node: &Node) -> bool {
    match node {
        Node::Empty | Node::Class(_) => false,
        Node::Assert(_) => true,
        Node::Concat(nodes) | Node::Alternate(nodes) => nodes.iter().any(has_assertion),
        Node::Repeat { node, .. } => has_assertion(node),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Before {
    Start,
    Word,
    Newline,
    Other,
}

#[derive(Clone, Copy, PartialEq)]
enum After {
    End,
    Word,
    /// A newline that is the last byte.
    LastNewline,
    Newline,
    Other,
}

const BEFORE: [Before; 4] = [Before::Start, Before::Word, Before::Newline, Before::Other];
const AFTER: [After; 5] =
    [After::End, After::Word, After::LastNewline, After::Newline, After::Other];
const PLACES: usize = BEFORE.len() * AFTER.len();

/// For each place where a match begins, the bits of those where it may end.
type Relation = [u32; PLACES];

fn relate(node: &Node) -> Relation {
    match node {
        Node::Empty => identity(),
        Node::Class(set) => class(*set),
        Node::Concat(nodes) => nodes.iter().map(relate).fold(identity(), compose),
        Node::Alternate(nodes) => nodes.iter().map(relate).fold([0; PLACES], union),
        Node::Assert(assertion) => {
            std::array::from_fn(|place| u32::from(holds(*assertion, place)) << place)
        }
        Node::Repeat { node, min, max } => {
            let once = relate(node);
            let optional = union(identity(), once);
            // As many as there are places are as good as any number.
            let more = max.map_or(PLACES as u32, |max| max.saturating_sub(*min));
            compose(power(once, *min), power(optional, more))
        }
    }
}

fn identity() -> Relation {
    std::array::from_fn(|place| 1 << place)
}

fn union(one: Relation, other: Relation) -> Relation {
    std::array::from_fn(|place| one[place] | other[place])
}

fn compose(first: Relation, second: Relation) -> Relation {
    first.map(|mut ends| {
        let mut all = 0;
        while ends != 0 {
            all |= second[ends.trailing_zeros() as usize];
            ends &= ends - 1;
        }
        all
    })
}

fn power(mut relation: Relation, mut exponent: u32) -> Relation {
    let mut result = identity();
    while exponent > 0 {
        if exponent & 1 != 0 {
            result = compose(result, relation);
        }
        relation = compose(relation, relation);
        exponent >>= 1;
    }
    result
}

fn class(set: ByteSet) -> Relation {
    let newline = set.contains(b'\n');
    let words = set.intersection(word_bytes()).len();
    let (word, other) = (words > 0, set.len() > words + usize::from(newline));
    // The places after a byte of a kind; `AFTER` begins with the end of the data.
    let after = |before: Before| 0b11111 << (before as usize * AFTER.len());
    let at_end = 0b00001 << (Before::Newline as usize * AFTER.len());
    std::array::from_fn(|place| match AFTER[place % AFTER.len()] {
        After::Word if word => after(Before::Word),
        After::Other if other => after(Before::Other),
        After::LastNewline if newline => at_end,
        After::Newline if newline => after(Before::Newline) & !at_end,
        _ => 0,
    })
}

fn holds(assertion: Assertion, place: usize) -> bool {
    let (before, after) = (BEFORE[place / AFTER.len()], AFTER[place % AFTER.len()]);
    let boundary = (before == Before::Word) != (after == After::Word);
    match assertion {
        Assertion::TextStart => before == Before::Start,
        Assertion::TextEnd => after == After::End,
        Assertion::TextEndOrNewline => matches!(after, After::End | After::LastNewline),
        Assertion::LineStart => {
            before == Before::Start || before == Before::Newline && after != After::End
        }
        Assertion::LineEnd => matches!(after, After::End | After::LastNewline | After::Newline),
        Assertion::WordBoundary => boundary,
        Assertion::NotWordBoundary => !boundary,
    }
}

fn word_bytes() -> ByteSet {
    let letters = ByteSet::range(b'a', b'z').union(ByteSet::range(b'A', b'Z'));
    letters.union(ByteSet::range(b'0', b'9')).union(ByteSet::one(b'_'))
}
