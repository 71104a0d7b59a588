//! One expression as positions (Glushkov's construction) whose edges have no conditions.
//!
//! An assertion is a condition on the bytes before and after a place. Only the kind of each byte matters: newline,
//! word byte, or other. A position next to an assertion is split by kind, and then each condition is true or false for
//! good on each edge. Three things remain:
//!
//! - Before the data and before the first byte of a match: the program's *restart* positions stand for the kind of the
//!   byte before (see `program.rs`), so an expression has one list of first positions per kind.
//! - A match whose last place has a condition on the next byte is reported by a *pending* position which consumes that
//!   byte: its reports have `late` 1, as their match ends one byte earlier.
//! - `$` before a newline that is the last byte: the positions that consume this newline report only at the end.
use std::borrow::Cow;

use super::late::late;
use super::thompson::{Edge, FIRST, LAST, Thompson};
use super::{Expression, Limit, Limits, gate};
use crate::node::{Assertion, ByteSet};

/// What is before a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Before {
    Start,
    Kind(Kind),
}

/// The kinds of bytes that assertions distinguish.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Newline,
    Word,
    Other,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Newline, Kind::Word, Kind::Other];

    pub(super) fn bytes(self) -> ByteSet {
        let word = || (0..=255).filter(|byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_');
        match self {
            Kind::Newline => ByteSet::one(b'\n'),
            Kind::Word => word().collect(),
            Kind::Other => word().chain([b'\n']).collect::<ByteSet>().complement(),
        }
    }
}

/// What is after a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum After {
    Kind(Kind),
    /// A newline, which is the last byte.
    LastNewline,
    End,
}

fn holds(assertion: Assertion, before: Before, after: After) -> bool {
    let word = (before == Before::Kind(Kind::Word)) != (after == After::Kind(Kind::Word));
    match assertion {
        Assertion::TextStart => before == Before::Start,
        Assertion::TextEnd => after == After::End,
        Assertion::TextEndOrNewline => matches!(after, After::End | After::LastNewline),
        Assertion::LineStart => {
            before == Before::Start || before == Before::Kind(Kind::Newline) && after != After::End
        }
        Assertion::LineEnd => {
            matches!(after, After::End | After::LastNewline | After::Kind(Kind::Newline))
        }
        Assertion::WordBoundary => word,
        Assertion::NotWordBoundary => !word,
    }
}

/// The number of bytes from the start of a match to behind a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Depth {
    Unreached,
    Fixed(u32),
    Varies,
}

impl Depth {
    fn join(self, other: Depth) -> Depth {
        match (self, other) {
            (Depth::Unreached, depth) | (depth, Depth::Unreached) => depth,
            (a, b) if a == b => a,
            _ => Depth::Varies,
        }
    }
}

/// A position of a fragment.
#[derive(Clone, Debug)]
pub(super) struct Position {
    pub(super) bytes: ByteSet,
    pub(super) follow: Vec<u32>,
    /// Reports when it is active; the match ended so many bytes ago.
    pub(super) accept: Option<u8>,
    /// Reports when it is active at the end of the data.
    pub(super) accept_end: Option<u8>,
    pub(super) depth: Depth,
}

/// What begins after a kind of byte, or at the start of the data.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// The first positions.
    pub(super) follow: Vec<u32>,
    /// The empty match: at once, and at the end of the data.
    pub(super) accept: bool,
    pub(super) accept_end: bool,
}

/// One expression.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    pub(super) report: u32,
    pub(super) start_of_match: bool,
    pub(super) once: bool,
    pub(super) positions: Vec<Position>,
    /// After the start of the data, a newline, a word byte, another byte.
    pub(super) entries: [Entry; 4],
}

/// What a closure from a state finds, per [`After`].
#[derive(Default)]
struct Found {
    /// Positions (before splitting).
    positions: [Vec<u32>; 5],
    accept: [bool; 5],
    /// Nothing depends on what is after: only the first list of positions is filled.
    even: bool,
}

const NEWLINE: usize = 0;
const LAST_NEWLINE: usize = 3;
const END: usize = 4;
const AFTER: [After; 5] = [
    After::Kind(Kind::Newline),
    After::Kind(Kind::Word),
    After::Kind(Kind::Other),
    After::LastNewline,
    After::End,
];

struct Build<'a> {
    states: &'a Thompson,
    limits: &'a Limits,
    /// Steps and edges so far.
    work: usize,
    visited: Vec<u32>,
    round: u32,
    /// Positions of the fragment for each position of `states`: of each kind (equal where it is not split).
    split: Vec<[Option<u32>; 3]>,
    /// Its copy that consumes the last newline.
    last_newline: Vec<Option<u32>>,
    positions: Vec<Position>,
    /// Of the copies: the position of `states`.
    copies: Vec<(u32, u32)>,
    /// Pending positions by kind and for the last newline.
    pending: [Option<u32>; 4],
}

impl Build<'_> {
    fn spend(&mut self, work: usize) -> Result<(), Limit> {
        self.work += work;
        if self.work > self.limits.edges { Err(Limit::Edges) } else { Ok(()) }
    }

    /// Positions and acceptance reached from `state` without a byte. Returns whether an assertion was met.
    fn closure(
        &mut self,
        state: u32,
        pass: impl Fn(Assertion) -> bool,
        positions: &mut Vec<u32>,
        accept: &mut bool,
    ) -> Result<bool, Limit> {
        self.round += 1;
        let mut met = false;
        let mut stack = vec![state];
        self.visited[state as usize] = self.round;
        while let Some(state) = stack.pop() {
            let states = self.states;
            let edges = &states.edges[state as usize];
            self.spend(edges.len() + 1)?;
            *accept |= state == LAST;
            for edge in edges {
                let to = match *edge {
                    Edge::Empty(to) => to,
                    Edge::Unless { unless, .. } if self.visited[unless as usize] == self.round => {
                        continue;
                    }
                    Edge::Unless { to, .. } => to,
                    Edge::Assert(assertion, to) => {
                        met = true;
                        if !pass(assertion) {
                            continue;
                        }
                        to
                    }
                    Edge::Byte(position) => {
                        positions.push(position);
                        continue;
                    }
                };
                if self.visited[to as usize] != self.round {
                    self.visited[to as usize] = self.round;
                    stack.push(to);
                }
            }
        }
        Ok(met)
    }

    fn find(&mut self, state: u32, before: Before) -> Result<Found, Limit> {
        let mut found = Found::default();
        for (index, after) in AFTER.into_iter().enumerate() {
            let (positions, accept) = (&mut found.positions[index], &mut found.accept[index]);
            let met = self.closure(
                state,
                |assertion| holds(assertion, before, after),
                positions,
                accept,
            )?;
            if !met {
                found.accept = [found.accept[0]; 5];
                found.even = true;
                break;
            }
        }
        Ok(found)
    }

    fn position(&mut self, bytes: ByteSet) -> Result<u32, Limit> {
        if self.positions.len() >= self.limits.positions {
            return Err(Limit::Positions);
        }
        self.positions.push(Position {
            bytes,
            follow: Vec::new(),
            accept: None,
            accept_end: None,
            depth: Depth::Unreached,
        });
        Ok(self.positions.len() as u32 - 1)
    }

    /// Marks the positions that are next to an assertion, and makes the fragment's positions.
    fn split(&mut self) -> Result<(), Limit> {
        let states = self.states;
        let mut near = vec![false; states.positions.len()];
        if states.asserts {
            let mut reached = Vec::new();
            for edge in states.edges.iter().flatten() {
                if let Edge::Assert(_, to) = *edge {
                    self.closure(to, |_| true, &mut reached, &mut false)?;
                    reached.drain(..).for_each(|position| near[position as usize] = true);
                }
            }
            for (position, near) in near.iter_mut().enumerate() {
                *near |=
                    self.closure(states.positions[position].1, |_| true, &mut reached, &mut false)?;
                reached.clear();
            }
        }
        for (&(bytes, _), near) in states.positions.iter().zip(near) {
            let mut parts = [None; 3];
            if near {
                for (part, kind) in parts.iter_mut().zip(Kind::ALL) {
                    let bytes = bytes.intersection(kind.bytes());
                    if !bytes.is_empty() {
                        *part = Some(self.position(bytes)?);
                    }
                }
            } else {
                parts = [Some(self.position(bytes)?); 3];
            }
            self.split.push(parts);
        }
        Ok(())
    }

    /// The edges to the positions found, and to the pending positions for what is accepted.
    fn follow(&mut self, found: &Found, pending: bool) -> Result<Vec<u32>, Limit> {
        let mut follow = Vec::new();
        for kind in 0..3 {
            let reached = &found.positions[if found.even { 0 } else { kind }];
            follow
                .extend(reached.iter().filter_map(|&position| self.split[position as usize][kind]));
            if pending && found.accept[kind] {
                follow.push(self.pending(kind)?);
            }
        }
        let states = self.states;
        let mut sorted = found.positions[NEWLINE].clone();
        sorted.sort_unstable();
        for &position in &found.positions[LAST_NEWLINE] {
            let (bytes, _) = states.positions[position as usize];
            if bytes.contains(b'\n') && sorted.binary_search(&position).is_err() {
                follow.push(self.last_newline(position)?);
            }
        }
        if found.accept[LAST_NEWLINE] && !found.accept[NEWLINE] {
            follow.push(self.pending(LAST_NEWLINE)?);
        }
        follow.sort_unstable();
        follow.dedup();
        self.spend(follow.len())?;
        Ok(follow)
    }

    fn pending(&mut self, index: usize) -> Result<u32, Limit> {
        if let Some(position) = self.pending[index] {
            return Ok(position);
        }
        let kind = if index == LAST_NEWLINE { Kind::Newline } else { Kind::ALL[index] };
        let position = self.position(kind.bytes())?;
        let it = &mut self.positions[position as usize];
        if index == LAST_NEWLINE {
            it.accept_end = Some(1);
        } else {
            it.accept = Some(1);
        }
        self.pending[index] = Some(position);
        Ok(position)
    }

    fn last_newline(&mut self, of: u32) -> Result<u32, Limit> {
        if let Some(position) = self.last_newline[of as usize] {
            return Ok(position);
        }
        let position = self.position(ByteSet::one(b'\n'))?;
        self.last_newline[of as usize] = Some(position);
        self.copies.push((of, position));
        Ok(position)
    }
}

impl Fragment {
    pub(super) fn new(expression: &Expression<'_>, limits: &Limits) -> Result<Fragment, Limit> {
        let node = match expression.start_of_match || expression.empty {
            true => Cow::Borrowed(expression.node),
            false => late(expression.node),
        };
        let states = &Thompson::new(&node, limits)?;
        let mut build = Build {
            states,
            limits,
            work: 0,
            visited: vec![0; states.edges.len()],
            round: 0,
            split: Vec::with_capacity(states.positions.len()),
            last_newline: vec![None; states.positions.len()],
            positions: Vec::new(),
            copies: Vec::new(),
            pending: [None; 4],
        };
        build.split()?;
        // What is behind each position and at the start, before it is known whether reports must wait.
        let mut behind: Vec<(u32, Found)> = Vec::new();
        for position in 0..states.positions.len() {
            let parts = build.split[position];
            for (index, part) in parts.iter().enumerate() {
                if let Some(part) = *part {
                    if behind.last().is_some_and(|&(last, _)| last == part) {
                        continue;
                    }
                    let found =
                        build.find(states.positions[position].1, Before::Kind(Kind::ALL[index]))?;
                    build.spend(found.positions.iter().map(Vec::len).sum())?;
                    behind.push((part, found));
                }
            }
        }
        let befores = [Before::Start].into_iter().chain(Kind::ALL.map(Before::Kind));
        let mut starts = Vec::new();
        for before in befores {
            let mut found = build.find(FIRST, before)?;
            if !expression.empty {
                found.accept = [false; 5];
            }
            starts.push(found);
        }
        // A report waits for the next byte if any does: else a match that is reported at once might be reported again.
        let all = || behind.iter().map(|(_, found)| found).chain(&starts).map(|found| found.accept);
        let uneven = all().any(|accept| {
            accept[0] != accept[1] || accept[1] != accept[2] || accept[NEWLINE] && !accept[END]
        });
        let last = all().any(|accept| accept[LAST_NEWLINE] && !accept[NEWLINE]);
        // The same for an earlier start that only the end of the data tells.
        let is_end = |edge: &Edge| {
            matches!(edge, Edge::Assert(Assertion::TextEnd | Assertion::TextEndOrNewline, _))
        };
        let ends = || states.asserts && states.edges.iter().flatten().any(is_end);
        let earlier = expression.start_of_match && ends();
        let pending = uneven || ((last || earlier) && all().any(|accept| accept[NEWLINE]));
        for (position, found) in behind {
            let follow = build.follow(&found, pending)?;
            let it = &mut build.positions[position as usize];
            it.follow = follow;
            it.accept = (!pending && found.accept[NEWLINE]).then_some(0);
            it.accept_end = (found.accept[END] && it.accept.is_none()).then_some(0);
        }
        let mut entries: [Entry; 4] = Default::default();
        for (entry, found) in entries.iter_mut().zip(&starts) {
            entry.follow = build.follow(found, pending)?;
            entry.accept = !pending && found.accept[NEWLINE];
            entry.accept_end = found.accept[END] && !entry.accept;
        }
        while let Some((of, position)) = build.copies.pop() {
            let mut accept = false;
            let pass = |assertion| holds(assertion, Before::Kind(Kind::Newline), After::End);
            build.closure(states.positions[of as usize].1, pass, &mut Vec::new(), &mut accept)?;
            build.positions[position as usize].accept_end = accept.then_some(0);
        }
        let mut it = Fragment {
            report: expression.report,
            start_of_match: expression.start_of_match,
            once: expression.once,
            positions: build.positions,
            entries,
        };
        if !it.start_of_match {
            it.begin_late();
        }
        it.measure();
        it.prune();
        Ok(it)
    }

    /// Drops edges to positions that a match may as well begin with, where its start is not asked for.
    fn begin_late(&mut self) {
        let kinds = gate::first_kinds(self);
        for position in &mut self.positions {
            let bytes = position.bytes;
            position.follow.retain(|&to| !gate::begins_anew(bytes, kinds[to as usize]));
        }
    }

    /// Sets each position's depth.
    fn measure(&mut self) {
        let mut work = Vec::new();
        // A position that follows itself has more than one depth, and so its depth varies.
        let join = |positions: &mut Vec<Position>, at: u32, depth: Depth, work: &mut Vec<u32>| {
            let old = positions[at as usize].depth;
            let new = old.join(depth);
            if new != old {
                positions[at as usize].depth = new;
                work.push(at);
            }
        };
        for entry in &self.entries {
            for &at in &entry.follow {
                join(&mut self.positions, at, Depth::Fixed(1), &mut work);
            }
        }
        while let Some(at) = work.pop() {
            let depth = match self.positions[at as usize].depth {
                Depth::Fixed(depth) => Depth::Fixed(depth + 1),
                depth => depth,
            };
            let follow = std::mem::take(&mut self.positions[at as usize].follow);
            for &to in &follow {
                join(&mut self.positions, to, depth, &mut work);
            }
            self.positions[at as usize].follow = follow;
        }
    }

    /// Drops positions that no data reaches, and those behind which nothing matches.
    fn prune(&mut self) {
        let len = self.positions.len();
        let mut back: Vec<Vec<u32>> = vec![Vec::new(); len];
        for (at, position) in self.positions.iter().enumerate() {
            if !position.bytes.is_empty() {
                position.follow.iter().for_each(|&to| back[to as usize].push(at as u32));
            }
        }
        let alive =
            |position: &Position| !position.bytes.is_empty() && position.depth != Depth::Unreached;
        let mut keep = vec![false; len];
        let accepts = |position: &Position| position.accept.or(position.accept_end).is_some();
        let mut work: Vec<u32> = (0..len as u32)
            .filter(|&at| {
                alive(&self.positions[at as usize]) && accepts(&self.positions[at as usize])
            })
            .collect();
        work.iter().for_each(|&at| keep[at as usize] = true);
        while let Some(at) = work.pop() {
            for &from in &back[at as usize] {
                if !keep[from as usize] && alive(&self.positions[from as usize]) {
                    keep[from as usize] = true;
                    work.push(from);
                }
            }
        }
        let mut next = 0;
        let new: Vec<Option<u32>> = keep
            .iter()
            .map(|&keep| {
                next += u32::from(keep);
                keep.then(|| next - 1)
            })
            .collect();
        let renumber = |follow: &mut Vec<u32>| {
            *follow = follow.iter().filter_map(|&to| new[to as usize]).collect()
        };
        let mut at = 0;
        self.positions.retain(|_| {
            at += 1;
            keep[at - 1]
        });
        self.positions.iter_mut().for_each(|position| renumber(&mut position.follow));
        self.entries.iter_mut().for_each(|entry| renumber(&mut entry.follow));
    }

    /// Whether every match's length is known from the position that reports it.
    pub(super) fn lengths_known(&self) -> bool {
        self.positions.iter().all(|position| {
            position.accept.or(position.accept_end).is_none() || position.depth != Depth::Varies
        })
    }
}
