//! What stands before or after a string in a segment: checked byte by byte from the string on.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use crate::node::{ByteSet, Node, width};
use crate::stretch::Stretch;

/// More positions than this are refused: the fallback automaton takes such patterns.
const MAX_POSITIONS: usize = 64 * MAX_WORDS;
const MAX_WORDS: usize = 16;

/// The part of a segment on one side of its string, as an automaton over positions (Glushkov 1961). It is run from the
/// string outwards and told the next byte in its own direction: [`Tail::backward`] reverses the expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tail {
    /// A class for each byte.
    Fixed(Box<[ByteSet]>),
    /// Anything of bounded width.
    Automaton(Box<Positions>),
}

/// The positions of an expression as bits: `first` may come first, `last` may end a match. What follows a position is mostly the next
/// one (Glushkov 1961 as Navarro and Raffinot ran it, 2001); edges to others are kept by what they lead to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Positions {
    /// The number of each byte's class: bytes of one class occur in the same positions.
    class: Box<[u8; 256]>,
    /// Words of 64 positions in each set.
    words: usize,
    /// The positions that take a byte of each class: `words` of them.
    takes: Box<[u64]>,
    first: Box<[u64]>,
    /// The positions that the next one may follow.
    next: Box<[u64]>,
    /// Sets of positions with what else may follow each of them: twice `words` for a pair. Of all pairs, the first sets together come
    /// before them.
    others: Box<[u64]>,
    last: Box<[u64]>,
    nullable: bool,
}

impl Tail {
    /// For the parts that follow the string. `None`: too many positions, or a part is unbounded or has an assertion.
    pub(crate) fn forward(parts: &[Node]) -> Option<Tail> {
        if let Some(classes) = fixed(parts) {
            return Some(Tail::Fixed(classes));
        }
        let mut builder = Builder::default();
        let whole = builder.concat(parts.iter())?;
        Some(Tail::Automaton(Box::new(builder.finish(whole))))
    }

    /// What a match of these parts may be, and perhaps more: assertions are taken for true, and parts may be unbounded. `None`: too many
    /// positions.
    pub(crate) fn roughly(parts: &[Node]) -> Option<Tail> {
        let mut builder = Builder { rough: true, ..Builder::default() };
        let whole = builder.concat(parts.iter())?;
        Some(Tail::Automaton(Box::new(builder.finish(whole))))
    }

    /// For the parts before the string, which are read from the last byte to the first.
    pub(crate) fn backward(parts: &[Node]) -> Option<Tail> {
        let reversed: Vec<Node> = parts.iter().rev().map(reverse).collect();
        Tail::forward(&reversed)
    }

    /// The bytes that may stand at the nearest places, at most `most`, as far as every match has a byte there.
    pub(crate) fn nearest(&self, most: usize) -> Vec<ByteSet> {
        match self {
            Tail::Fixed(classes) => classes.iter().take(most).copied().collect(),
            Tail::Automaton(positions) => positions.nearest(most),
        }
    }

    /// Calls `accept` with the length of each match, ascending, until it breaks. `byte(i)` is the byte `i` bytes away,
    /// `None` where the data end.
    #[inline]
    pub(crate) fn run(
        &self,
        byte: impl Fn(usize) -> Option<u8>,
        mut accept: impl FnMut(usize) -> ControlFlow<()>,
    ) {
        match self {
            Tail::Fixed(classes) => {
                let matched =
                    |(i, class): (usize, &ByteSet)| byte(i).is_some_and(|b| class.contains(b));
                if classes.iter().enumerate().all(matched) {
                    let _ = accept(classes.len());
                }
            }
            Tail::Automaton(positions) => match positions.words {
                1 => positions.run::<1>(byte, accept),
                2 => positions.run::<2>(byte, accept),
                4 => positions.run::<4>(byte, accept),
                8 => positions.run::<8>(byte, accept),
                _ => positions.run::<MAX_WORDS>(byte, accept),
            },
        }
    }

    /// Calls `accept` with the ends of matches, ascending, that begin in one of `ranges`, until it breaks. The ranges, from a
    /// first place to a last one, ascend, and may overlap; all `others` are bytes that no match begins with.
    pub(crate) fn sweep(
        &self,
        data: &[u8],
        ranges: impl Iterator<Item = (usize, usize)>,
        others: &Stretch,
        accept: impl FnMut(usize) -> ControlFlow<()>,
    ) {
        match self {
            Tail::Fixed(classes) => sweep_fixed(classes, data, ranges, others, accept),
            Tail::Automaton(positions) => match positions.words {
                1 => positions.sweep::<1>(data, ranges, others, accept),
                2 => positions.sweep::<2>(data, ranges, others, accept),
                4 => positions.sweep::<4>(data, ranges, others, accept),
                8 => positions.sweep::<8>(data, ranges, others, accept),
                _ => positions.sweep::<MAX_WORDS>(data, ranges, others, accept),
            },
        }
    }

    /// Memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Tail::Fixed(classes) => size_of_val(&classes[..]),
            Tail::Automaton(p) => {
                let sets = [&p.takes, &p.first, &p.next, &p.others, &p.last];
                size_of::<Positions>() + 256 + 8 * sets.iter().map(|it| it.len()).sum::<usize>()
            }
        }
    }
}

impl Positions {
    fn nearest(&self, most: usize) -> Vec<ByteSet> {
        match self.words {
            1 => self.nearest_in::<1>(most),
            2 => self.nearest_in::<2>(most),
            4 => self.nearest_in::<4>(most),
            8 => self.nearest_in::<8>(most),
            _ => self.nearest_in::<MAX_WORDS>(most),
        }
    }

    fn nearest_in<const W: usize>(&self, most: usize) -> Vec<ByteSet> {
        let mut sets = vec![];
        let mut now: [u64; W] = *self.set(&self.first);
        let mut may_end = self.nullable;
        while !may_end && sets.len() < most {
            let taken = |byte: &u8| meet::<W>(&now, self.takes(*byte));
            sets.push(
                (0..=255).filter(taken).map(ByteSet::one).fold(ByteSet::EMPTY, ByteSet::union),
            );
            may_end = meet::<W>(&now, self.set(&self.last));
            now = self.follow(&now);
        }
        sets
    }

    /// The words of a set.
    #[inline]
    fn set<'a, const W: usize>(&'a self, words: &'a [u64]) -> &'a [u64; W] {
        words.first_chunk().expect("sets have as many words as they say")
    }

    /// The positions that take `byte`.
    #[inline]
    fn takes<const W: usize>(&self, byte: u8) -> &[u64; W] {
        self.set(&self.takes[usize::from(self.class[usize::from(byte)]) * W..])
    }

    /// What may follow these positions.
    #[inline]
    fn follow<const W: usize>(&self, taken: &[u64; W]) -> [u64; W] {
        let (mut after, mut carry) = ([0; W], 0);
        for ((after, taken), next) in after.iter_mut().zip(taken).zip(self.set::<W>(&self.next)) {
            let from = taken & next;
            *after = from << 1 | carry;
            carry = from >> 63;
        }
        let (any, pairs) = self.others.split_at(W);
        if meet(taken, self.set(any)) {
            for pair in pairs.chunks_exact(2 * W) {
                if meet(taken, self.set(pair)) {
                    let to: &[u64; W] = self.set(&pair[W..]);
                    after.iter_mut().zip(to).for_each(|(after, to)| *after |= to);
                }
            }
        }
        after
    }

    #[inline]
    fn run<const W: usize>(
        &self,
        byte: impl Fn(usize) -> Option<u8>,
        mut accept: impl FnMut(usize) -> ControlFlow<()>,
    ) {
        if self.nullable && accept(0).is_break() {
            return;
        }
        let mut now: [u64; W] = *self.set(&self.first);
        for length in 1.. {
            let Some(byte) = byte(length - 1) else { return };
            now.iter_mut().zip(self.takes::<W>(byte)).for_each(|(now, takes)| *now &= takes);
            if now == [0; W] {
                return;
            }
            if meet(&now, self.set(&self.last)) && accept(length).is_break() {
                return;
            }
            now = self.follow(&now);
        }
    }
}

impl Positions {
    /// See [`Tail::sweep`]: all matches at once, whatever their beginnings.
    fn sweep<const W: usize>(
        &self,
        data: &[u8],
        mut ranges: impl Iterator<Item = (usize, usize)>,
        others: &Stretch,
        mut accept: impl FnMut(usize) -> ControlFlow<()>,
    ) {
        let mut now = [0; W];
        let (mut at, mut range) = (0, ranges.next());
        while at < data.len() {
            while range.is_some_and(|(_, last)| last < at) {
                range = ranges.next();
            }
            if now == [0; W] {
                // Nothing is under way.
                let Some((first, last)) = range else { return };
                at = at.max(first);
                let upto = data.len().min(last + 1);
                if at >= upto {
                    return;
                }
                match others.first_outside(&data[at..upto]) {
                    Some(more) => at += more,
                    None => {
                        at = upto;
                        continue;
                    }
                }
            }
            if range.is_some_and(|(first, _)| first <= at) {
                if self.nullable && accept(at).is_break() {
                    return;
                }
                now.iter_mut()
                    .zip(self.set::<W>(&self.first))
                    .for_each(|(now, first)| *now |= first);
            }
            now.iter_mut().zip(self.takes::<W>(data[at])).for_each(|(now, takes)| *now &= takes);
            at += 1;
            if now != [0; W] {
                if meet(&now, self.set(&self.last)) && accept(at).is_break() {
                    return;
                }
                now = self.follow(&now);
            }
        }
    }
}

/// See [`Tail::sweep`].
fn sweep_fixed(
    classes: &[ByteSet],
    data: &[u8],
    ranges: impl Iterator<Item = (usize, usize)>,
    others: &Stretch,
    mut accept: impl FnMut(usize) -> ControlFlow<()>,
) {
    let mut at = 0;
    for (first, last) in ranges {
        at = at.max(first);
        let upto = data.len().min(last + 1);
        while at < upto {
            let Some(more) = others.first_outside(&data[at..upto]) else { break };
            at += more;
            let matches = data[at..].len() >= classes.len()
                && classes.iter().zip(&data[at..]).all(|(class, byte)| class.contains(*byte));
            if matches && accept(at + classes.len()).is_break() {
                return;
            }
            at += 1;
        }
        at = at.max(upto);
    }
}

/// Whether two sets have a position in common.
#[inline]
fn meet<const W: usize>(a: &[u64; W], b: &[u64; W]) -> bool {
    a.iter().zip(b).fold(0, |all, (a, b)| all | a & b) != 0
}

/// The classes of `parts` if every match has one width and one class for each place.
fn fixed(parts: &[Node]) -> Option<Box<[ByteSet]>> {
    let mut classes = Vec::new();
    parts.iter().all(|part| push_fixed(part, &mut classes)).then(|| classes.into())
}

fn push_fixed(node: &Node, classes: &mut Vec<ByteSet>) -> bool {
    match node {
        Node::Empty => true,
        Node::Class(class) => {
            classes.push(*class);
            true
        }
        Node::Concat(parts) => parts.iter().all(|part| push_fixed(part, classes)),
        Node::Repeat { node, min, max } => {
            *max == Some(*min) && *min <= 64 && (0..*min).all(|_| push_fixed(node, classes))
        }
        Node::Alternate(_) | Node::Assert(_) => false,
    }
}

/// The expression that matches each string of `node` from its last byte to its first.
pub(crate) fn reverse(node: &Node) -> Node {
    match node {
        Node::Empty | Node::Class(_) | Node::Assert(_) => node.clone(),
        Node::Concat(parts) => Node::Concat(parts.iter().rev().map(reverse).collect()),
        Node::Alternate(parts) => Node::Alternate(parts.iter().map(reverse).collect()),
        Node::Repeat { node, min, max } => {
            Node::Repeat { node: Box::new(reverse(node)), min: *min, max: *max }
        }
    }
}

/// The sets of an expression under construction.
struct Part {
    first: Vec<u16>,
    last: Vec<u16>,
    nullable: bool,
}

#[derive(Default)]
struct Builder {
    classes: Vec<ByteSet>,
    follow: Vec<Vec<u16>>,
    /// See [`Tail::roughly`].
    rough: bool,
}

impl Builder {
    fn part(&mut self, node: &Node) -> Option<Part> {
        match node {
            Node::Empty => Some(Part { first: vec![], last: vec![], nullable: true }),
            Node::Class(class) => {
                let position = u16::try_from(self.classes.len()).ok()?;
                if usize::from(position) >= MAX_POSITIONS {
                    return None;
                }
                self.classes.push(*class);
                self.follow.push(vec![]);
                Some(Part { first: vec![position], last: vec![position], nullable: false })
            }
            Node::Concat(parts) => self.concat(parts.iter()),
            Node::Alternate(parts) => {
                let mut whole = Part { first: vec![], last: vec![], nullable: false };
                for part in parts {
                    let part = self.part(part)?;
                    whole.first.extend(part.first);
                    whole.last.extend(part.last);
                    whole.nullable |= part.nullable;
                }
                Some(whole)
            }
            Node::Repeat { node, min, .. } if width(node).1 == Some(0) => {
                let mut part = self.part(node)?;
                part.nullable |= *min == 0;
                Some(part)
            }
            // X{n,}: n - 1 times X, then X+; and as many times (X+)? for none.
            Node::Repeat { node, min, max: None } if self.rough => {
                let before = min.saturating_sub(1) as usize;
                let mut whole = self.concat(std::iter::repeat_n(&**node, before))?;
                let mut last = self.part(node)?;
                self.link(&last.last, &last.first);
                last.nullable |= *min == 0;
                self.join(&mut whole, last);
                Some(whole)
            }
            // X{n,m}: n times X, then m - n times X?, each of which may be the last: (X(X(X)?)?)?.
            Node::Repeat { node, min, max } => {
                let mut whole = self.concat(std::iter::repeat_n(&**node, *min as usize))?;
                let (mut ends, mut optional) = (whole.last.clone(), whole.nullable);
                let mut before = whole.last.clone();
                for _ in *min..(*max)? {
                    let part = self.part(node)?;
                    self.link(&before, &part.first);
                    if optional {
                        whole.first.extend(&part.first);
                    }
                    optional &= part.nullable;
                    if part.nullable {
                        before.extend(&part.last);
                    } else {
                        before.clone_from(&part.last);
                    }
                    ends.extend(&part.last);
                }
                whole.nullable |= *min == 0;
                whole.last = ends;
                Some(whole)
            }
            Node::Assert(_) if self.rough => self.part(&Node::Empty),
            Node::Assert(_) => None,
        }
    }

    fn concat<'a>(&mut self, parts: impl Iterator<Item = &'a Node>) -> Option<Part> {
        let mut whole = Part { first: vec![], last: vec![], nullable: true };
        for part in parts {
            let part = self.part(part)?;
            self.join(&mut whole, part);
        }
        Some(whole)
    }

    /// Puts a part behind another one.
    fn join(&mut self, whole: &mut Part, part: Part) {
        self.link(&whole.last, &part.first);
        if whole.nullable {
            whole.first.extend(&part.first);
        }
        if part.nullable {
            whole.last.extend(&part.last);
        } else {
            whole.last = part.last;
        }
        whole.nullable &= part.nullable;
    }

    fn link(&mut self, from: &[u16], to: &[u16]) {
        for &from in from {
            self.follow[usize::from(from)].extend(to);
        }
    }

    fn finish(self, whole: Part) -> Positions {
        let words = match self.classes.len().div_ceil(64) {
            0 | 1 => 1,
            2 => 2,
            3 | 4 => 4,
            5..=8 => 8,
            _ => MAX_WORDS,
        };
        let set = |positions: &[u16]| {
            let mut set = vec![0; words];
            for &position in positions {
                set[usize::from(position >> 6)] |= 1u64 << (position & 63);
            }
            set
        };
        let (mut class, mut takes, mut numbers) = (Box::new([0; 256]), vec![], HashMap::new());
        for byte in 0..=255 {
            let of_byte: Vec<u16> = (0..self.classes.len() as u16)
                .filter(|&position| self.classes[usize::from(position)].contains(byte))
                .collect();
            let of_byte = set(&of_byte);
            let next = numbers.len() as u8;
            class[usize::from(byte)] = *numbers.entry(of_byte).or_insert_with_key(|set| {
                takes.extend_from_slice(set);
                next
            });
        }
        let (mut next, mut from_sets) = (vec![], BTreeMap::<Vec<u16>, Vec<u16>>::new());
        for (position, mut follow) in (0..).zip(self.follow) {
            follow.sort_unstable();
            follow.dedup();
            if let Ok(at) = follow.binary_search(&(position + 1)) {
                follow.remove(at);
                next.push(position);
            }
            if !follow.is_empty() {
                from_sets.entry(follow).or_default().push(position);
            }
        }
        let mut others = vec![0; words];
        for (to, from) in &from_sets {
            let from = set(from);
            others[..words].iter_mut().zip(&from).for_each(|(any, from)| *any |= from);
            others.extend(from);
            others.extend(set(to));
        }
        Positions {
            class,
            words,
            takes: takes.into(),
            first: set(&whole.first).into(),
            next: set(&next).into(),
            others: others.into(),
            last: set(&whole.last).into(),
            nullable: whole.nullable,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn byte(byte: u8) -> Node {
        Node::Class(ByteSet::one(byte))
    }

    fn lengths(tail: &Tail, data: &[u8]) -> Vec<usize> {
        let mut lengths = vec![];
        tail.run(
            |i| data.get(i).copied(),
            |length| {
                lengths.push(length);
                ControlFlow::Continue(())
            },
        );
        lengths
    }

    #[test]
    fn a_repeat_accepts_each_of_its_lengths() {
        let repeat = Node::Repeat { node: Box::new(byte(b'a')), min: 2, max: Some(4) };
        let tail = Tail::forward(&[repeat.clone(), byte(b'b')]).unwrap();
        assert_eq!(lengths(&tail, b"aab"), [3]);
        assert_eq!(lengths(&tail, b"aaaabb"), [5]);
        assert_eq!(lengths(&tail, b"aaaaab"), []);
        assert_eq!(lengths(&Tail::forward(&[repeat]).unwrap(), b"aaaaa"), [2, 3, 4]);
    }

    #[test]
    fn repeats_of_what_may_be_empty() {
        let inner = Node::Repeat { node: Box::new(byte(b'a')), min: 0, max: Some(2) };
        let outer = Node::Repeat { node: Box::new(inner), min: 1, max: Some(2) };
        let tail = Tail::forward(&[outer, byte(b'b')]).unwrap();
        assert_eq!(lengths(&tail, b"b"), [1]);
        assert_eq!(lengths(&tail, b"aaaab"), [5]);
        assert_eq!(lengths(&tail, b"aaaaab"), []);
    }

    #[test]
    fn backward_reads_the_last_byte_first() {
        let either = Node::Alternate(vec![Node::Concat(vec![byte(b'x'), byte(b'y')]), byte(b'z')]);
        let tail = Tail::backward(&[either, byte(b'!')]).unwrap();
        assert_eq!(lengths(&tail, b"!yx"), [3]);
        assert_eq!(lengths(&tail, b"!z"), [2]);
        assert_eq!(lengths(&tail, b"!xy"), []);
    }

    #[test]
    fn the_nearest_bytes_are_those_that_each_match_has() {
        let optional = |node| Node::Repeat { node: Box::new(node), min: 0, max: Some(1) };
        let either = Node::Alternate(vec![Node::Concat(vec![byte(b'x'), byte(b'y')]), byte(b'z')]);
        let nearest = |parts: &[Node]| -> Vec<Vec<u8>> {
            let sets = Tail::forward(parts).unwrap().nearest(3);
            sets.into_iter().map(|set| set.iter().collect()).collect()
        };
        assert_eq!(nearest(&[byte(b'a'), byte(b'b')]), [b"a", b"b"]);
        assert_eq!(nearest(&[1, 2, 3, 4].map(byte)), [[1], [2], [3]]);
        assert_eq!(nearest(&[optional(byte(b'a')), byte(b'b')]), [&b"ab"[..]]);
        // Behind `z` the match may be over.
        assert_eq!(nearest(&[byte(b'a'), either.clone()]), [&b"a"[..], b"xz"]);
        assert_eq!(nearest(&[either, byte(b'b')]), [&b"xz"[..], b"by"]);
        assert!(nearest(&[optional(byte(b'a'))]).is_empty() && nearest(&[]).is_empty());
    }

    /// The lengths of the matches that begin at the beginning, by the definition.
    fn naive(node: &Node, text: &[u8]) -> BTreeSet<usize> {
        let then = |lengths: BTreeSet<usize>, node: &Node| {
            let more = |at: &usize| {
                naive(node, &text[*at..]).into_iter().map(|len| len + at).collect::<Vec<_>>()
            };
            lengths.iter().flat_map(more).collect()
        };
        match node {
            Node::Empty | Node::Assert(_) => BTreeSet::from([0]),
            Node::Class(class) => {
                text.first().filter(|byte| class.contains(**byte)).map(|_| 1).into_iter().collect()
            }
            Node::Concat(parts) => parts.iter().fold(BTreeSet::from([0]), then),
            Node::Alternate(parts) => parts.iter().flat_map(|part| naive(part, text)).collect(),
            Node::Repeat { node, min, max } => {
                let (mut all, mut now) = (BTreeSet::new(), BTreeSet::from([0]));
                for count in 0..=max.unwrap_or(0) {
                    if count >= *min {
                        all.extend(&now);
                    }
                    now = then(now, node);
                }
                all
            }
        }
    }

    #[test]
    fn it_matches_what_the_expression_does_whatever_its_size() {
        let mut random = 1u64;
        let mut below = |limit: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % limit
        };
        fn node(depth: usize, below: &mut impl FnMut(usize) -> usize) -> Node {
            let kinds = if depth == 0 { 2 } else { 6 };
            let parts = |below: &mut dyn FnMut(usize) -> usize| 1 + below(3);
            match below(kinds) {
                0 => byte(b'a' + below(2) as u8),
                1 => Node::Class((b'a'..=b'c').filter(|_| below(2) == 0).collect()),
                2 | 3 => Node::Concat((0..parts(below)).map(|_| node(depth - 1, below)).collect()),
                4 => Node::Alternate((0..parts(below)).map(|_| node(depth - 1, below)).collect()),
                _ => {
                    let min = below(3) as u32;
                    let max = min + below(6) as u32;
                    Node::Repeat { node: Box::new(node(depth - 1, below)), min, max: Some(max) }
                }
            }
        }
        let mut sizes = BTreeSet::new();
        for _ in 0..4_000 {
            let node = node(5, &mut below);
            let Some(Tail::Automaton(positions)) = Tail::forward(std::slice::from_ref(&node))
            else {
                continue;
            };
            sizes.insert(positions.words);
            let text: Vec<u8> = (0..below(40)).map(|_| b'a' + below(3) as u8).collect();
            let tail = Tail::Automaton(positions);
            let expected: Vec<usize> = naive(&node, &text).into_iter().collect();
            assert_eq!(
                lengths(&tail, &text),
                expected,
                "{node:?} in {:?}",
                text.escape_ascii().to_string()
            );
        }
        assert_eq!(sizes, BTreeSet::from([1, 2, 4, 8, MAX_WORDS]));
    }

    #[test]
    fn a_sweep_finds_the_ends_of_all_that_begins_in_a_range() {
        let mut random = 3u64;
        let mut below = |limit: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % limit
        };
        let (mut fixed, mut stopped) = (0, 0);
        for _ in 0..3_000 {
            let one = |below: &mut dyn FnMut(usize) -> usize| {
                Node::Class((b'a'..=b'c').filter(|_| below(2) == 0).collect())
            };
            let parts: Vec<Node> = (0..1 + below(4))
                .map(|_| match below(3) {
                    0 => {
                        let most = if below(5) == 0 { 150 } else { 4 };
                        let (min, more) = (below(3) as u32, below(most));
                        let max = Some(min + more as u32);
                        Node::Repeat { node: Box::new(one(&mut below)), min, max }
                    }
                    _ => one(&mut below),
                })
                .collect();
            let tail = Tail::forward(&parts).unwrap();
            fixed += usize::from(matches!(tail, Tail::Fixed(_)));
            let data: Vec<u8> = (0..below(60)).map(|_| b'a' + below(3) as u8).collect();
            let mut ranges: Vec<(usize, usize)> = (0..below(4))
                .map(|_| (below(data.len() + 1), below(20)))
                .map(|(first, more)| (first, (first + more).min(data.len())))
                .collect();
            ranges.sort_unstable();
            ranges.iter_mut().fold(0, |last, range| {
                range.1 = range.1.max(last);
                range.1
            });
            let first = crate::strings::first(&parts).unwrap_or(ByteSet::ALL);
            let others = Stretch::new(first.complement());
            let mut expected = BTreeSet::new();
            for start in
                (0..data.len()).filter(|at| ranges.iter().any(|it| (it.0..=it.1).contains(at)))
            {
                expected.extend(lengths(&tail, &data[start..]).iter().map(|length| start + length));
            }
            let most = if below(3) == 0 { 1 + below(3) } else { usize::MAX };
            let mut found = BTreeSet::new();
            tail.sweep(&data, ranges.iter().copied(), &others, |end| {
                assert!(found.last().is_none_or(|last| *last <= end));
                found.insert(end);
                if found.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            stopped += usize::from(found.len() < expected.len());
            let expected: BTreeSet<usize> = expected.into_iter().take(most).collect();
            assert_eq!(found, expected, "{parts:?} in {data:?} from {ranges:?}");
        }
        assert!(fixed > 100 && stopped > 100, "{fixed}, {stopped}");
    }

    #[test]
    fn what_is_unbounded_or_too_large_is_refused() {
        let any = Box::new(Node::Class(ByteSet::ALL));
        assert!(Tail::forward(&[Node::Repeat { node: any.clone(), min: 0, max: None }]).is_none());
        assert!(Tail::forward(&[Node::Repeat { node: any, min: 0, max: Some(2000) }]).is_none());
    }
}
