//! Against the definition, with random expressions, data, cuts and caches.
mod gated;
mod oracle;
mod overlapping;
pub(crate) mod parse;
pub(crate) mod random;
mod sizes;
mod spent;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::{Automaton, Cache, Expression, Limits};
use crate::node::{Assertion, ByteSet, Node};

/// A small generator (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

/// Collects hits as (report, end) -> start, and panics on one that is there already.
#[derive(Default)]
struct Hits(BTreeMap<(u32, u64), u64>);

impl Hits {
    fn add(&mut self, report: u32, start: u64, end: u64) -> ControlFlow<()> {
        assert_eq!(self.0.insert((report, end), start), None, "twice: {report} at {end}");
        ControlFlow::Continue(())
    }
}

/// Scans `text` cut before the places `cuts`; the ends ascend.
fn stream(
    automaton: &Automaton,
    caches: &mut [Cache],
    text: &[u8],
    cuts: &[usize],
) -> BTreeMap<(u32, u64), u64> {
    let mut hits = Hits::default();
    let mut state = vec![0xff; automaton.state_len()];
    automaton.begin(&mut state);
    let mut last = 0;
    let mut from = 0;
    for (index, &to) in cuts.iter().chain([&text.len()]).enumerate() {
        let cache = index % caches.len();
        let flow = automaton.scan(
            &mut caches[cache],
            &mut state,
            from as u64,
            &text[from..to],
            &|_| false,
            &mut |report, start, end| {
                assert!(end >= last && end <= to as u64, "order: {end} after {last}");
                last = end;
                hits.add(report, start, end)
            },
        );
        assert_eq!(flow, ControlFlow::Continue(()));
        // Flat bytes: a copy is as good.
        state = state.clone();
        from = to;
    }
    let _ = automaton.end(&mut caches[0], &state, text.len() as u64, &mut |report, start, end| {
        assert!(end <= text.len() as u64 && end + 1 >= text.len() as u64);
        hits.add(report, start, end)
    });
    hits.0
}

fn block(automaton: &Automaton, text: &[u8]) -> BTreeMap<(u32, u64), u64> {
    stream(automaton, &mut [Cache::default()], text, &[])
}

fn expression(report: u32, node: &Node) -> Expression<'_> {
    Expression { report, node, start_of_match: false, empty: false, once: false }
}

fn automaton(node: &Node) -> Automaton {
    Automaton::new(&[expression(7, node)], &Limits::default()).unwrap()
}

fn class(bytes: &[u8]) -> Node {
    Node::Class(bytes.iter().copied().collect())
}

fn repeat(node: Node, min: u32, max: Option<u32>) -> Node {
    Node::Repeat { node: Box::new(node), min, max }
}

#[test]
fn a_match_that_waits_for_the_next_byte_comes_with_the_next_chunk_or_at_the_end() {
    let node = Node::Concat(vec![class(b"a"), Node::Assert(Assertion::WordBoundary)]);
    let it = automaton(&node);
    let mut cache = Cache::default();
    let mut state = vec![0; it.state_len()];
    it.begin(&mut state);
    let mut hits = Vec::new();
    let mut hit = |_: u32, _: u64, end: u64| {
        hits.push(end);
        ControlFlow::Continue(())
    };
    let _ = it.scan(&mut cache, &mut state, 0, b"xa", &|_| false, &mut hit);
    let _ = it.scan(&mut cache, &mut state, 2, b"a", &|_| false, &mut hit);
    let _ = it.scan(&mut cache, &mut state, 3, b" a", &|_| false, &mut hit);
    assert_eq!(hits, [3]);
    let _ = it.end(&mut cache, &state, 5, &mut |_, _, end| {
        hits.push(end);
        ControlFlow::Continue(())
    });
    assert_eq!(hits, [3, 5]);
}

#[test]
fn a_break_leaves_the_state_as_it_was() {
    let it = automaton(&class(b"a"));
    let mut state = vec![0; it.state_len()];
    it.begin(&mut state);
    let before = state.clone();
    let flow =
        it.scan(&mut Cache::default(), &mut state, 0, b"xxaxxa", &|_| false, &mut |_, _, end| {
            assert_eq!(end, 3);
            ControlFlow::Break(())
        });
    assert_eq!((flow, state), (ControlFlow::Break(()), before));
}

#[test]
fn a_cache_serves_one_automaton_after_the_other() {
    let (a, b) = (automaton(&class(b"a")), automaton(&Node::Class(ByteSet::ALL)));
    let mut caches = [Cache::default()];
    for _ in 0..3 {
        assert_eq!(stream(&a, &mut caches, b"bab", &[]).len(), 1);
        assert_eq!(stream(&b, &mut caches, b"bab", &[1]).len(), 3);
    }
}

#[test]
fn what_is_anchored_costs_nothing_once_it_has_failed() {
    let node = Node::Concat(vec![Node::Assert(Assertion::TextStart), class(b"a"), class(b"b")]);
    let it = automaton(&node);
    let mut state = vec![0; it.state_len()];
    it.begin(&mut state);
    let _ = it.scan(
        &mut Cache::default(),
        &mut state,
        0,
        b"xab",
        &|_| false,
        &mut |_, _, _| unreachable!(),
    );
    assert!(state.iter().all(|byte| *byte == 0));
    assert_eq!(block(&it, b"abab").len(), 1);
}
