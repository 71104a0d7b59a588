//! How a pattern is searched: as segments of bounded width with gaps between them, or by the fallback automaton.
//!
//! A sequence is `[^] segment (gap segment)* [$]`, or ends before certain bytes. A gap is `X*` or, for a large n, `X{0,n}` for
//! a class X; a segment is anything of bounded width. In every segment (but one at the start of the text) a string, or one of a few, must occur: the literal finder looks
//! for these, and only where one occurs is the rest of the segment looked at.
//!
//! | pattern | sequence |
//! |---|---|
//! | `ab?cdef[0-9]` | one segment; `cdef` announces it, `ab?` is checked backwards, `[0-9]` forwards |
//! | `abc.*def` | segments `abc` and `def`, gap `.` |
//! | `abc.{1,200}def` | segments `abc.` and `def`, gap `.{0,199}` |
//! | `x*abc[^"]*"[0-9]def` | `abc`, gap `[^"]`, `"[0-9]def`; `x*` changes no end of a match |
//! | `GET|POST` | two sequences with a segment each |
//! | `port [0-9]+` | `port [0-9]`; and `port [0-9]`, gap `[0-9]`, `[0-9]` |
//! | `\bword\b` | `word` at the start of the data, and behind a non-word byte; both before a non-word byte or the end |
//! | `(ab)*cdef` | none: an automaton around `cdef` |
//! | `(ab)*c`, `[0-9]+x` | none: the fallback automaton |

use crate::conditions;
use crate::fallback::byte_weight;
use crate::node::{Assertion, ByteSet, Node, width, width_of};
use crate::starts::Beginning;
use crate::strings::{self, Choice, Common, Text};
use crate::tail::{Tail, reverse};

/// A pattern whose top-level alternatives are more than this is not divided at them.
pub(crate) const MAX_SEQUENCES: usize = 32;
/// The most sequences that a pattern becomes so that alternatives with gaps are apart.
const APART: usize = 8;
/// The widest segment, in bytes: what a candidate costs at most.
const MAX_WIDTH: usize = 512;

/// One alternative of a pattern in the form that the literal finder can serve.
#[derive(Debug)]
pub(crate) struct Sequence {
    /// What must follow the last segment.
    pub end: End,
    /// At least one.
    pub segments: Vec<Segment>,
    /// The gap before each segment but the first: one less than segments.
    pub gaps: Vec<Bytes>,
}

/// A gap: bytes of a class, as many as there are or a few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes {
    pub class: ByteSet,
    /// The most of them.
    pub most: Option<u16>,
}

impl Bytes {
    /// `X*`.
    fn all(class: ByteSet) -> Bytes {
        Bytes { class, most: None }
    }

    /// Whether nothing is asked of what stands in it.
    fn is_free(self) -> bool {
        self == Bytes::all(ByteSet::ALL)
    }
}

/// Where a sequence may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Anywhere.
    Anywhere,
    /// At the end of the text.
    Text,
    /// At the end of the text, or before a newline that is its last byte.
    TextOrNewline,
    /// Before one of these bytes; with `text_end` also at the end of the data.
    Before {
        /// The bytes that may follow.
        next: ByteSet,
        /// Whether the end of the text may.
        text_end: bool,
    },
}

/// A part of bounded width.
#[derive(Debug)]
pub(crate) struct Segment {
    /// The most bytes of a match.
    pub width: usize,
    /// What the literal finder looks for.
    pub announced: Announced,
}

impl Sequence {
    /// Whether parts of it are looked for byte by byte.
    pub(crate) fn is_weak(&self) -> bool {
        let weak =
            |it: &Announced| matches!(it, Announced::Swept { .. } | Announced::Behind { .. });
        self.segments.iter().any(|segment| weak(&segment.announced))
    }

    /// Expected cycles for a byte of what is to be looked at where its strings are.
    pub(crate) fn cost_of_strings(&self) -> f64 {
        let cycles = if self.gaps.is_empty() { ALONE } else { GAPS };
        let of = |segment: &Segment| match &segment.announced {
            Announced::By { strings, before, after } => {
                let beside = before.nearest(BESIDE).into_iter().chain(after.nearest(BESIDE));
                let weight = |bytes: ByteSet| bytes.iter().map(byte_weight).sum::<f64>();
                let odds = beside.map(|bytes| weight(bytes).min(1.0).sqrt()).product::<f64>();
                cost_of_strings(strings, cycles) * odds
            }
            Announced::Swept { .. } | Announced::Behind { .. } | Announced::Start { .. } => 0.0,
        };
        self.segments.iter().map(of).sum()
    }

    /// Whether its first part is at the start of the text.
    pub(crate) fn begins_the_text(&self) -> bool {
        self.segments.iter().any(|segment| matches!(segment.announced, Announced::Start { .. }))
    }

    /// Whether its first two parts are found by strings: what is looked for byte by byte behind them is so only where both are.
    pub(crate) fn begins_with_strings(&self) -> bool {
        let by = |segment: &&Segment| matches!(segment.announced, Announced::By { .. });
        self.segments.iter().take_while(by).count() > 1
    }
}

/// Expected cycles for a byte of what is to be looked at where one of these strings is, if that takes so many cycles.
fn cost_of_strings(strings: &Choice, cycles: f64) -> f64 {
    // Neighbours are not independent: `th` is more frequent than `t` and `h` are, and `//` or three spaces even more so.
    let frequency = |text: &Text| {
        let bytes = &text.bytes;
        let rarest = bytes.iter().map(|byte| byte_weight(*byte)).fold(1.0, f64::min);
        let alike = bytes.iter().all(|byte| *byte == bytes[0]);
        let more = (bytes.len() as f64 - 1.0) * if alike { 0.25 } else { 0.5 };
        rarest.powf(1.0 + more)
    };
    cycles * strings.iter().map(frequency).sum::<f64>()
}

/// The same of an automaton that runs around them.
pub(crate) fn cost_around(strings: &Choice) -> f64 {
    cost_of_strings(strings, AUTOMATON)
}

/// How the places to look at are found.
#[derive(Debug)]
pub(crate) enum Announced {
    /// By any of these strings, with what must stand before it (read backwards) and after it.
    By {
        /// The strings.
        strings: Choice,
        /// The part of the segment before the string.
        before: Tail,
        /// The part after it.
        after: Tail,
    },
    /// It is looked for byte by byte, but only while the gap before it is open: it follows a segment that is rare, and
    /// has no string that is.
    Swept {
        /// The segment.
        whole: Tail,
        /// The bytes that a match may begin with.
        first: ByteSet,
    },
    /// It is the first segment, so frequent that an occurrence is soon found: from the segment behind it, it is looked for
    /// backwards.
    Behind {
        /// The segment, read from its end.
        whole: Tail,
        /// The bytes that a match may end with.
        last: ByteSet,
    },
    /// It begins at the start of the text.
    Start {
        /// The segment.
        whole: Tail,
        /// The bytes that it begins with.
        beginning: Beginning,
    },
}

/// A string of a segment behind a gap is looked for everywhere if its score is at least this: three letters.
const RARE: f64 = 15.0;
/// The same where the gap is always open, so that each byte would be looked at.
const NOT_RARE: f64 = 8.0;
/// A first segment with less information than this, in bits, is looked for backwards where a rare one follows: on average
/// it is found within as many bytes as 2 to this power.
const FREQUENT: f64 = 8.0;

/// A repeat of a class between segments is a gap if it has so many rounds more than it must have.
const WIDE: u32 = 16;
/// A repeat that must have more rounds is part of a segment.
const MOST_ROUNDS: u32 = 32;

/// Cycles for an occurrence of a string: of a sequence that is one segment, of one with gaps, and of an automaton around it.
const ALONE: f64 = 40.0;
const GAPS: f64 = 200.0;
const AUTOMATON: f64 = 600.0;

/// Bytes on each side of a string that are looked at first.
const BESIDE: usize = 1;

/// Limits of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits<'a> {
    /// The most bytes of all segments of a sequence: what a stream keeps of its past.
    pub total_width: usize,
    /// Leftmost starts are asked for.
    pub start_of_match: bool,
    /// What the patterns of the set have in common.
    pub common: &'a Common,
}

/// The sequences that together match what `node` matches, or `None`: the fallback automaton must have it.
pub(crate) fn sequences(node: &Node, limits: Limits<'_>) -> Option<Vec<Sequence>> {
    let plan = divided(node, limits, false);
    if limits.start_of_match || !has_gap_in_alternative(node) {
        return plan;
    }
    // Alternatives with a gap apart from others, if that makes them none that is looked for byte by byte.
    let apart = divided(node, limits, true);
    let better = |apart: &Vec<Sequence>| match &plan {
        None => true,
        Some(plan) => {
            apart.len() > plan.len() && apart.len() <= APART && !apart.iter().any(Sequence::is_weak)
        }
    };
    match apart.filter(better) {
        None => plan,
        apart => apart,
    }
}

/// The same; with `wide`, alternatives that have a gap are apart from others.
fn divided(node: &Node, limits: Limits<'_>, wide: bool) -> Option<Vec<Sequence>> {
    let mut alternatives = vec![];
    divide(&[node], wide, &mut alternatives)?;
    if !limits.start_of_match {
        alternatives = alternatives.into_iter().flat_map(without_gap_at_end).collect();
    }
    let mut resolved = vec![];
    for parts in alternatives {
        conditions::resolve(parts, limits.start_of_match, &mut resolved)?;
    }
    let mut all = vec![];
    for (parts, end) in resolved {
        // Wide repeats are gaps, unless a segment that they leave has nothing to look for.
        let with_gaps =
            if limits.start_of_match { None } else { sequence(&parts, end, limits, true) };
        all.push(with_gaps.or_else(|| sequence(&parts, end, limits, false))?);
    }
    let one_time = one_time(all.iter().map(|sequence| &sequence.end));
    (one_time && !all.is_empty()).then_some(all)
}

/// The concatenations without conditions, but for the start of the text at the beginning, that together match what `node`
/// matches, each with what must follow; an end is reported by one rule: as soon as it is there, or with what follows. `None`: it
/// cannot be said so.
pub(crate) fn alternatives(node: &Node) -> Option<Vec<(Vec<Node>, End)>> {
    if !has_assertion(node) {
        return Some(vec![(vec![node.clone()], End::Anywhere)]);
    }
    let (mut all, mut resolved) = (vec![], vec![]);
    divide(&[node], false, &mut all)?;
    for parts in all {
        conditions::resolve(parts, false, &mut resolved)?;
    }
    one_time(resolved.iter().map(|(_, end)| end)).then_some(resolved)
}

/// Whether no end is reported when it is reached, and again with the byte behind it or at the end of the text.
fn one_time<'a>(ends: impl Iterator<Item = &'a End> + Clone) -> bool {
    let count = |of: fn(&&End) -> bool| ends.clone().filter(of).count();
    let anywhere = count(|end| **end == End::Anywhere);
    let before = count(|end| matches!(end, End::Before { .. }));
    let newline = count(|end| **end == End::TextOrNewline);
    [0, ends.clone().count()].contains(&anywhere) && (before == 0 || newline == 0)
}

/// Divides a concatenation at its first alternation that has an unbounded alternative or an assertion, or that is all
/// there is: one concatenation for each alternative.
/// With `wide`, also at one that has an alternative with a gap: such alternatives apart, and the others together.
fn divide(parts: &[&Node], wide: bool, out: &mut Vec<Vec<Node>>) -> Option<()> {
    let mut flat = vec![];
    parts.iter().for_each(|part| flatten(part, &mut flat));
    let divides = |node: &Node| match node {
        Node::Alternate(_) if flat.len() == 1 => true,
        Node::Alternate(parts) => {
            width(node).1.is_none()
                || has_assertion(node)
                || wide && parts.len() > 1 && parts.iter().any(has_gap)
        }
        _ => false,
    };
    let Some(at) = flat.iter().position(|node| divides(node)) else {
        out.push(flat.into_iter().cloned().collect());
        return (out.len() <= MAX_SEQUENCES).then_some(());
    };
    let Node::Alternate(alternatives) = flat[at] else { return None };
    let apart = |node: &&Node| width(node).1.is_none() || has_assertion(node) || has_gap(node);
    let all_apart = flat.len() == 1 || width(flat[at]).1.is_none() || has_assertion(flat[at]);
    let (apart, others): (Vec<&Node>, Vec<&Node>) =
        alternatives.iter().partition(|node| all_apart || apart(node));
    let others: Vec<Node> = others.into_iter().cloned().collect();
    let others = (!others.is_empty()).then_some(Node::Alternate(others));
    for alternative in apart.into_iter().chain(&others) {
        let mut one = flat.clone();
        one[at] = alternative;
        divide(&one, wide, out)?;
    }
    Some(())
}

/// Whether it has an alternation that may be divided for a gap.
fn has_gap_in_alternative(node: &Node) -> bool {
    match node {
        Node::Empty | Node::Class(_) | Node::Assert(_) => false,
        Node::Concat(parts) => parts.iter().any(has_gap_in_alternative),
        Node::Alternate(parts) => {
            parts.iter().any(|part| has_gap(part) || has_gap_in_alternative(part))
        }
        Node::Repeat { node, .. } => has_gap_in_alternative(node),
    }
}

/// Whether a wide repeat of a class is in it that may become a gap.
fn has_gap(node: &Node) -> bool {
    match node {
        Node::Concat(parts) => parts.iter().any(has_gap),
        Node::Repeat { node, min: 1, max: Some(1) } => has_gap(node),
        Node::Repeat { node, min, max: Some(max) } => {
            matches!(**node, Node::Class(_)) && max.saturating_sub(*min) >= WIDE
        }
        Node::Empty
        | Node::Class(_)
        | Node::Assert(_)
        | Node::Alternate(_)
        | Node::Repeat { .. } => false,
    }
}

/// Of a sequence whose last part is `X{n,}`, which may be empty behind a gap: `X{n}`, and `X{n} X* X`, whose last
/// segment is an X.
fn without_gap_at_end(parts: Vec<Node>) -> Vec<Vec<Node>> {
    let ends = |node: &Node| matches!(node, Node::Assert(_));
    let at = parts.len().saturating_sub(1 + usize::from(parts.last().is_some_and(ends)));
    let Some(Node::Repeat { node, min, max: None }) = parts.get(at) else { return vec![parts] };
    let few = *min as usize <= MAX_WIDTH;
    if !few || !matches!(**node, Node::Class(_)) || width_of(&parts[..at]).0 == 0 && *min == 0 {
        return vec![parts];
    }
    let once = vec![(**node).clone(); *min as usize];
    let more = Node::Repeat { node: node.clone(), min: 0, max: None };
    let again = [once.clone(), vec![more, (**node).clone()]].concat();
    let before_and_after = |middle| [&parts[..at], middle, &parts[at + 1..]].concat();
    vec![before_and_after(&once), before_and_after(&again)]
}

fn flatten<'a>(node: &'a Node, out: &mut Vec<&'a Node>) {
    match node {
        Node::Empty => {}
        Node::Concat(parts) => parts.iter().for_each(|part| flatten(part, out)),
        Node::Repeat { node, min: 1, max: Some(1) } => flatten(node, out),
        _ => out.push(node),
    }
}

fn has_assertion(node: &Node) -> bool {
    match node {
        Node::Empty | Node::Class(_) => false,
        Node::Assert(_) => true,
        Node::Concat(parts) | Node::Alternate(parts) => parts.iter().any(has_assertion),
        Node::Repeat { node, .. } => has_assertion(node),
    }
}

/// Parts between two gaps, and the gap before them.
struct Piece {
    gap: Option<Bytes>,
    parts: Vec<Node>,
}

fn sequence(parts: &[Node], end: End, limits: Limits<'_>, wide: bool) -> Option<Sequence> {
    let anchored = parts.first() == Some(&Node::Assert(Assertion::TextStart));
    let parts = &parts[usize::from(anchored)..];
    if parts.iter().any(has_assertion) {
        return None;
    }
    let pieces = pieces(parts.to_vec(), anchored || limits.start_of_match, wide)?;
    if limits.start_of_match && pieces.len() > 1 {
        return None;
    }
    let mut segments = vec![];
    let mut gaps = vec![];
    for (index, piece) in pieces.iter().enumerate() {
        gaps.extend(piece.gap);
        let rare = |piece: &Piece| {
            strings::choose(&piece.parts, limits.common).is_some_and(|it| it.score >= RARE)
        };
        let place = match index {
            0 if anchored => Place::Start,
            // What a narrow gap ends is not sought backwards: its pieces would be walked back for it.
            0 if !limits.start_of_match
                && pieces
                    .get(1)
                    .is_some_and(|it| it.gap.is_some_and(|gap| gap.most.is_none()) && rare(it)) =>
            {
                Place::BeforeRare
            }
            0 => Place::Alone,
            // The gap begins at the start of the text.
            1 if anchored && width_of(&pieces[0].parts).0 == 0 => Place::BehindStart,
            _ => Place::Behind,
        };
        segments.push(segment(&piece.parts, place, limits.common)?);
    }
    let total: usize = segments.iter().map(|segment| segment.width).sum();
    // A last segment that may be empty matches wherever its gap is open.
    let empty = pieces.last().is_some_and(|piece| width_of(&piece.parts).0 == 0);
    (total <= limits.total_width && !empty).then_some(Sequence { end, segments, gaps })
}

/// Divides at `X*`. With `whole`, the first piece begins where a match begins, which must be reported or is fixed;
/// without, what may be missing at its beginning is left out, since that changes no end of a match. With `wide`, also at
/// `X{m,n}` with many rounds, whose first m are left to the piece before.
fn pieces(parts: Vec<Node>, whole: bool, wide: bool) -> Option<Vec<Piece>> {
    let mut pieces = vec![Piece { gap: None, parts: vec![] }];
    let mut parts = std::collections::VecDeque::from(parts);
    while let Some(part) = parts.pop_front() {
        let last = pieces.last_mut()?;
        // After `.*` that any byte matches, a match may as well begin later.
        let free = last.parts.is_empty()
            && match last.gap {
                None => !whole,
                Some(gap) => gap.is_free(),
            };
        let more = parts.iter().any(|part| width(part).0 > 0);
        match part {
            // X? Y, X* Y: Y. X+ Y: X Y. X{2,5} Y: X{2} Y.
            ref part if free && width(part).0 == 0 => {}
            Node::Repeat { node, min, max } if free && max != Some(min) => {
                parts.push_front(Node::Repeat { node, min, max: Some(min) });
            }
            Node::Repeat { ref node, min, max: Some(max) }
                if wide
                    && more
                    && matches!(**node, Node::Class(_))
                    && min <= MOST_ROUNDS
                    && (WIDE..=u32::from(u16::MAX)).contains(&max.saturating_sub(min)) =>
            {
                let Node::Class(class) = **node else { return None };
                let mut most = (max - min) as u16;
                last.parts.extend((0..min).map(|_| Node::Class(class)));
                let start_of_text = pieces.len() == 1 && whole;
                if pieces.last()?.parts.is_empty() && !start_of_text {
                    // Behind another gap: together they are one, or that is as good as both.
                    let gap = pieces.last()?.gap?;
                    if gap.is_free() {
                        continue;
                    }
                    if gap.class != class {
                        return None;
                    }
                    if let Some(before) = gap.most {
                        most = most.checked_add(before)?;
                        pieces.last_mut()?.gap = Some(Bytes { class, most: Some(most) });
                    }
                    continue;
                }
                pieces.push(Piece { gap: Some(Bytes { class, most: Some(most) }), parts: vec![] });
            }
            Node::Repeat { node, min, max: None } => {
                let Node::Class(class) = *node else { return None };
                for _ in 0..min {
                    last.parts.push(Node::Class(class));
                }
                let start_of_text = pieces.len() == 1 && whole;
                if pieces.last()?.parts.is_empty() && !start_of_text {
                    // Two gaps meet: one of them is as good as both if it matches any byte.
                    let gap = pieces.last()?.gap?;
                    if gap.is_free() || gap == Bytes::all(class) {
                        continue;
                    }
                    if gap.class != class && class != ByteSet::ALL {
                        return None;
                    }
                    pieces.last_mut()?.gap = Some(Bytes::all(class));
                    continue;
                }
                pieces.push(Piece { gap: Some(Bytes::all(class)), parts: vec![] });
            }
            part => {
                width(&part).1?;
                last.parts.push(part);
            }
        }
    }
    Some(pieces)
}

/// Where a segment stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Alone, or first where no rare one follows.
    Alone,
    /// At the start of the text.
    Start,
    /// First, and the next one has a rare string.
    BeforeRare,
    /// Behind a gap.
    Behind,
    /// Behind a gap that begins at the start of the text.
    BehindStart,
}

fn segment(parts: &[Node], place: Place, common: &Common) -> Option<Segment> {
    let most = usize::try_from(width_of(parts).1?).ok();
    let width = most.filter(|&width| width <= MAX_WIDTH)?;
    let follows = matches!(place, Place::Behind | Place::BehindStart);
    let announced = if place == Place::Start {
        Announced::Start { whole: Tail::forward(parts)?, beginning: strings::beginning(parts) }
    } else {
        let least = match place {
            Place::Behind => RARE,
            Place::BehindStart => NOT_RARE,
            Place::BeforeRare if strings::information(parts) < FREQUENT => f64::INFINITY,
            _ => 0.0,
        };
        match strings::choose(parts, common) {
            Some(chosen) if chosen.score >= least => {
                let before = Tail::backward(&chosen.before)?;
                let after = Tail::forward(&chosen.after)?;
                Announced::By { strings: chosen.strings, before, after }
            }
            _ if follows => {
                let first = strings::first(parts).unwrap_or(ByteSet::ALL);
                Announced::Swept { whole: Tail::forward(parts)?, first }
            }
            _ if place == Place::BeforeRare => {
                let reversed: Vec<Node> = parts.iter().rev().map(reverse).collect();
                let last = strings::first(&reversed)?;
                Announced::Behind { whole: Tail::forward(&reversed)?, last }
            }
            _ => return None,
        }
    };
    Some(Segment { width, announced })
}
