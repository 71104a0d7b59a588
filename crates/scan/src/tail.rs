//! What stands before or after a string in a segment: checked byte by byte from the string on.

use crate::node::{ByteSet, Node, width};

/// More positions than this are refused: the fallback automaton takes such patterns.
const MAX_POSITIONS: usize = 1024;

/// The part of a segment on one side of its string, as an automaton over positions (Glushkov 1961). It is run from the
/// string outwards and told the next byte in its own direction: [`Tail::backward`] reverses the expression.
#[derive(Debug)]
pub(crate) enum Tail {
    /// A class for each byte.
    Fixed(Box<[ByteSet]>),
    /// Anything of bounded width.
    Automaton(Box<Positions>),
}

/// The positions of an expression: `first` may come first, `follow[p]` after position p, `last` may end a match.
#[derive(Debug)]
pub(crate) struct Positions {
    classes: Box<[ByteSet]>,
    /// Words of 64 positions in each set.
    words: usize,
    first: Box<[u64]>,
    /// `words` of them for each position.
    follow: Box<[u64]>,
    last: Box<[u64]>,
    nullable: bool,
}

/// Memory for [`Tail::run`], kept between calls.
#[derive(Debug, Default)]
pub(crate) struct Active {
    now: Vec<u64>,
    next: Vec<u64>,
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

    /// Calls `accept` with the length of each match, ascending. `byte(i)` is the byte `i` bytes away, `None` where the
    /// data end.
    #[inline]
    pub(crate) fn run(
        &self,
        active: &mut Active,
        byte: impl Fn(usize) -> Option<u8>,
        mut accept: impl FnMut(usize),
    ) {
        match self {
            Tail::Fixed(classes) => {
                let matched =
                    |(i, class): (usize, &ByteSet)| byte(i).is_some_and(|b| class.contains(b));
                if classes.iter().enumerate().all(matched) {
                    accept(classes.len());
                }
            }
            Tail::Automaton(positions) if positions.words == 1 => positions.run_one(byte, accept),
            Tail::Automaton(positions) => positions.run(active, byte, accept),
        }
    }

    /// Memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Tail::Fixed(classes) => size_of_val(&classes[..]),
            Tail::Automaton(p) => {
                size_of::<Positions>()
                    + size_of_val(&p.classes[..])
                    + 8 * (p.first.len() + p.follow.len() + p.last.len())
            }
        }
    }
}

impl Positions {
    fn nearest(&self, most: usize) -> Vec<ByteSet> {
        let (mut sets, mut now) = (vec![], self.first.to_vec());
        let mut may_end = self.nullable;
        while !may_end && sets.len() < most {
            let (mut set, mut next) = (ByteSet::EMPTY, vec![0; self.words]);
            for position in 0..self.classes.len() {
                let (word, bit) = (position / 64, 1 << (position % 64));
                if now[word] & bit == 0 {
                    continue;
                }
                set = set.union(self.classes[position]);
                may_end |= self.last[word] & bit != 0;
                let follow = &self.follow[position * self.words..][..self.words];
                next.iter_mut().zip(follow).for_each(|(next, follow)| *next |= follow);
            }
            sets.push(set);
            now = next;
        }
        sets
    }

    /// The same as [`run`](Positions::run), for up to 64 positions.
    #[inline]
    fn run_one(&self, byte: impl Fn(usize) -> Option<u8>, mut accept: impl FnMut(usize)) {
        if self.nullable {
            accept(0);
        }
        let mut now = self.first[0];
        for length in 1.. {
            let Some(byte) = byte(length - 1) else { return };
            let (mut taken, mut next) = (0, 0);
            while now != 0 {
                let position = now.trailing_zeros() as usize;
                if self.classes[position].contains(byte) {
                    taken |= now & now.wrapping_neg();
                    next |= self.follow[position];
                }
                now &= now - 1;
            }
            if taken & self.last[0] != 0 {
                accept(length);
            }
            if next == 0 {
                return;
            }
            now = next;
        }
    }

    fn run(
        &self,
        active: &mut Active,
        byte: impl Fn(usize) -> Option<u8>,
        mut accept: impl FnMut(usize),
    ) {
        if self.nullable {
            accept(0);
        }
        let Active { now, next } = active;
        now.clear();
        now.extend_from_slice(&self.first);
        next.clear();
        next.resize(self.words, 0);
        for length in 1.. {
            let Some(byte) = byte(length - 1) else { return };
            let (mut any, mut accepted) = (false, false);
            for (word, active) in now.iter_mut().enumerate() {
                let mut bits = std::mem::take(active);
                while bits != 0 {
                    let position = word * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    if self.classes[position].contains(byte) {
                        any = true;
                        accepted |= self.last[word] >> (position & 63) & 1 != 0;
                        let follow = &self.follow[position * self.words..][..self.words];
                        next.iter_mut().zip(follow).for_each(|(next, follow)| *next |= follow);
                    }
                }
            }
            if accepted {
                accept(length);
            }
            if !any {
                return;
            }
            std::mem::swap(now, next);
        }
    }
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
            Node::Repeat { node, .. } if width(node).1 == Some(0) => self.part(node),
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
            Node::Assert(_) => None,
        }
    }

    fn concat<'a>(&mut self, parts: impl Iterator<Item = &'a Node>) -> Option<Part> {
        let mut whole = Part { first: vec![], last: vec![], nullable: true };
        for part in parts {
            let part = self.part(part)?;
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
        Some(whole)
    }

    fn link(&mut self, from: &[u16], to: &[u16]) {
        for &from in from {
            self.follow[usize::from(from)].extend(to);
        }
    }

    fn finish(self, whole: Part) -> Positions {
        let words = self.classes.len().div_ceil(64);
        let set = |positions: &[u16]| {
            let mut set = vec![0; words];
            for &position in positions {
                set[usize::from(position >> 6)] |= 1u64 << (position & 63);
            }
            set
        };
        Positions {
            words,
            first: set(&whole.first).into(),
            follow: self.follow.iter().flat_map(|follow| set(follow)).collect(),
            last: set(&whole.last).into(),
            nullable: whole.nullable,
            classes: self.classes.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn byte(byte: u8) -> Node {
        Node::Class(ByteSet::one(byte))
    }

    fn lengths(tail: &Tail, data: &[u8]) -> Vec<usize> {
        let mut lengths = vec![];
        tail.run(&mut Active::default(), |i| data.get(i).copied(), |length| lengths.push(length));
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

    #[test]
    fn what_is_unbounded_or_too_large_is_refused() {
        let any = Box::new(Node::Class(ByteSet::ALL));
        assert!(Tail::forward(&[Node::Repeat { node: any.clone(), min: 0, max: None }]).is_none());
        assert!(Tail::forward(&[Node::Repeat { node: any, min: 0, max: Some(2000) }]).is_none());
    }
}
