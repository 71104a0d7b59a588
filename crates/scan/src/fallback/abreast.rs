//! Several automata over one chunk at once.
//!
//! A DFA waits for each entry before it can ask for the next one: five cycles a byte, in which the processor could take the steps of
//! others. So the parts of an automaton run side by side, each at its own place of the chunk: where one of them stops, at an entry
//! that needs more than a move, that is done for it alone, and all go on. One that has come to the end makes room for the next one.
use std::ops::ControlFlow;

use super::dfa::{Cursor, Dfa, Go, SKIPS, SPECIAL};
use super::{Engine, Once, Part, PartCache};

/// Automata side by side.
const LANES: usize = 4;
/// What lanes without an automaton run over: a table that leads nowhere.
const IDLE: (&[u32], &[u8; 256]) = (&[0; 1], &[0; 256]);

/// An automaton on its way through the chunk.
struct Lane<'a> {
    part: &'a Part,
    dfa: &'a mut Dfa,
    bits: &'a mut [u64],
    once: &'a mut Once,
    cursor: Cursor,
}

/// A match: end, report, start.
pub(super) type Hit = (u64, u32, u64);

/// The bytes to scan, and the offset of the first one.
#[derive(Clone, Copy)]
pub(super) struct Chunk<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) offset: u64,
}

impl<'a> Chunk<'a> {
    /// What is left of it behind so many bytes.
    fn behind(self, from: usize) -> Chunk<'a> {
        Chunk { bytes: &self.bytes[from..], offset: self.offset.wrapping_add(from as u64) }
    }
}

/// Scans `chunk` with each of `parts`, from the place that comes with it on.
pub(super) fn scan<'a>(
    mut parts: impl Iterator<Item = (&'a Part, &'a mut PartCache, usize)>,
    chunk: Chunk<'_>,
    hits: &mut Vec<Hit>,
) {
    let mut lanes = [const { None::<Lane<'a>> }; LANES];
    loop {
        for lane in &mut lanes {
            while lane.is_none()
                && let Some((part, cache, from)) = parts.next()
            {
                *lane = Lane::begin(part, cache, from, chunk, hits);
            }
        }
        let mut running = lanes.iter_mut().filter(|lane| lane.is_some());
        let Some(first) = running.next() else { return };
        if running.next().is_none() {
            if let Some(lane) = first.take() {
                lane.alone(chunk, hits);
            }
            continue;
        }
        let places = lanes.each_ref().map(|lane| lane.as_ref().map_or(0, |lane| lane.cursor.at));
        let count = chunk.bytes.len() - places.iter().max().unwrap_or(&0);
        let texts = places.map(|at| &chunk.bytes[at..][..count]);
        let tables = lanes.each_ref().map(|lane| {
            lane.as_ref().map_or(IDLE, |lane| (&lane.dfa.table[..], &*lane.part.program.class))
        });
        let mut states =
            lanes.each_ref().map(|lane| lane.as_ref().map_or(0, |lane| lane.cursor.state));
        let done = steps(tables, texts, &mut states);
        for (lane, state) in lanes.iter_mut().zip(states) {
            if let Some(it) = lane {
                it.cursor.state = state;
                it.cursor.at += done;
                if it.stops(chunk) && !it.go_on(chunk, hits) {
                    *lane = None;
                }
            }
        }
    }
}

impl<'a> Lane<'a> {
    /// Begins at `from`. `None`: nothing is left to do.
    fn begin(
        part: &'a Part,
        cache: &'a mut PartCache,
        from: usize,
        chunk: Chunk<'_>,
        hits: &mut Vec<Hit>,
    ) -> Option<Lane<'a>> {
        if from >= chunk.bytes.len() || cache.once.over || !cache.loaded {
            return None;
        }
        let rest = chunk.behind(from);
        match &mut cache.engine {
            Engine::Dfa(dfa) => {
                let (bits, once) = (&mut cache.bits[..], &mut cache.once);
                let cursor = Cursor { state: 0, at: from, counted: from };
                let mut lane = Lane { part, dfa, bits, once, cursor };
                let program = &part.program;
                let Some(state) = lane.dfa.enter(program, lane.bits, rest.bytes.len()) else {
                    lane.bit_by_bit(chunk, hits);
                    return None;
                };
                lane.dfa.set_skipping(true);
                lane.cursor.state = state;
                let state = &mut lane.cursor.state;
                lane.cursor.at = lane.dfa.skip(program, state, chunk.bytes, from);
                lane.go_on(chunk, hits).then_some(lane)
            }
            Engine::Starts(engine) => {
                let mut hit = |report, start, end| {
                    hits.push((end, report, start));
                    ControlFlow::Continue(())
                };
                let _ = engine.scan(&part.program, rest.offset, rest.bytes, &mut hit);
                None
            }
        }
    }

    /// Whether it is at the end, or at an entry that needs more than a move.
    fn stops(&self, chunk: Chunk<'_>) -> bool {
        let entry = chunk.bytes.get(self.cursor.at).map(|byte| self.entry(*byte));
        entry.is_none_or(|entry| entry & (SPECIAL | SKIPS) != 0)
    }

    fn entry(&self, byte: u8) -> u32 {
        self.dfa.table
            [self.cursor.state as usize + usize::from(self.part.program.class[usize::from(byte)])]
    }

    /// Takes the entry for the byte that it is at, and those behind it, as long as they need more than a move. Returns whether
    /// something is left to do.
    fn go_on(&mut self, chunk: Chunk<'_>, hits: &mut Vec<Hit>) -> bool {
        while let Some(&byte) = chunk.bytes.get(self.cursor.at) {
            let entry = self.entry(byte);
            if entry & (SPECIAL | SKIPS) == 0 {
                return true;
            }
            let (part, cursor, place) = (self.part, &mut self.cursor, (chunk.offset, chunk.bytes));
            let dfa = &mut self.dfa;
            let flow =
                dfa.turn(&part.program, cursor, entry, place, &mut into(hits, part, self.once));
            if !self.is_on(flow, chunk, hits) {
                return false;
            }
        }
        self.end();
        false
    }

    /// Leaves the automaton as it is here.
    fn end(&mut self) {
        self.dfa.walked(self.cursor.at - self.cursor.counted);
        self.dfa.leave(&self.part.program, self.cursor.state, self.bits);
    }

    /// The rest of the chunk, when no other automaton is left.
    fn alone(mut self, chunk: Chunk<'_>, hits: &mut Vec<Hit>) {
        self.dfa.walked(self.cursor.at - self.cursor.counted);
        let Cursor { state, at, .. } = &mut self.cursor;
        let (dfa, part, Chunk { bytes, offset }) = (&mut self.dfa, self.part, chunk);
        let program = &part.program;
        let flow = dfa.walk(program, state, offset, bytes, at, &mut into(hits, part, self.once));
        if self.is_on(flow, chunk, hits) {
            self.dfa.leave(program, self.cursor.state, self.bits);
        }
    }

    /// Whether it goes on state by state. If not, the chunk is done.
    fn is_on(&mut self, flow: ControlFlow<(), Go>, chunk: Chunk<'_>, hits: &mut Vec<Hit>) -> bool {
        match flow {
            ControlFlow::Continue(Go::On) => return true,
            ControlFlow::Continue(Go::Direct) => {
                self.dfa.take_current(self.bits);
                self.bit_by_bit(chunk, hits);
            }
            ControlFlow::Continue(Go::Over) => self.dfa.take_current(self.bits),
            ControlFlow::Break(()) => self.once.end(self.bits),
        }
        false
    }

    /// The rest of the chunk, from the positions `bits` on, which is to go bit by bit at first.
    fn bit_by_bit(&mut self, chunk: Chunk<'_>, hits: &mut Vec<Hit>) {
        let Chunk { bytes, offset } = chunk.behind(self.cursor.at);
        let (dfa, part) = (&mut self.dfa, self.part);
        let program = &part.program;
        let flow = dfa.scan(program, self.bits, offset, bytes, &mut into(hits, part, self.once));
        if flow.is_break() {
            self.once.end(self.bits);
        }
    }
}

/// Takes the matches that are asked for. Breaks behind the last one.
fn into<'a>(
    hits: &'a mut Vec<Hit>,
    part: &'a Part,
    once: &'a mut Once,
) -> impl FnMut(u32, u64, u64) -> ControlFlow<()> + 'a {
    move |report, start, end| {
        once.first(part, report, || {
            hits.push((end, report, start));
            ControlFlow::Continue(())
        })
    }
}

/// Moves all lanes on, up to an entry that one of them has to stop for. Returns how many bytes were passed.
///
/// A function of its own, so that the chains of steps are kept in registers.
#[inline(never)]
fn steps(
    tables: [(&[u32], &[u8; 256]); LANES],
    texts: [&[u8]; LANES],
    states: &mut [u32; LANES],
) -> usize {
    let [(table_a, class_a), (table_b, class_b), (table_c, class_c), (table_d, class_d)] = tables;
    let [mut a, mut b, mut c, mut d] = *states;
    let mut done = 0;
    let bytes = texts[0].iter().zip(texts[1]).zip(texts[2]).zip(texts[3]);
    for (((byte_a, byte_b), byte_c), byte_d) in bytes {
        let next_a = table_a[a as usize + usize::from(class_a[usize::from(*byte_a)])];
        let next_b = table_b[b as usize + usize::from(class_b[usize::from(*byte_b)])];
        let next_c = table_c[c as usize + usize::from(class_c[usize::from(*byte_c)])];
        let next_d = table_d[d as usize + usize::from(class_d[usize::from(*byte_d)])];
        if (next_a | next_b | next_c | next_d) & (SPECIAL | SKIPS) != 0 {
            break;
        }
        (a, b, c, d) = (next_a, next_b, next_c, next_d);
        done += 1;
    }
    *states = [a, b, c, d];
    done
}
