//! The counters of sets, beside what receivers have counted.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Barrier;

use lookaside_scan::{Counters, Expression, Flags, Mode, Patterns, Scratch, Set};
use lookaside_simd::Cpu;

fn set(texts: &[(u32, &str, &str)], mode: Mode) -> Set {
    let expressions = texts.iter().map(|&(id, text, flags)| Expression {
        id,
        text: text.into(),
        flags: Flags::from_letters(flags.as_bytes()).unwrap(),
        ..Expression::default()
    });
    Set::compile(&Patterns { expressions: expressions.collect(), mode }, Cpu::host()).unwrap()
}

/// A string, an automaton, one match of many, a start, gaps, a combination, and an operand that nobody is told of.
const PATTERNS: [(u32, &str, &str); 7] = [
    (10, "abc[0-9]", ""),
    (11, "[0-9]+x", ""),
    (12, "abc", "H"),
    (13, "b?c[0-9]", "L"),
    (14, "abc.*9x", "s"),
    (15, "10 & 16", "C"),
    (16, "c9", "Q"),
];

fn text(len: usize) -> Vec<u8> {
    let words = [&b"abc1 "[..], b"abcx ", b"77x ", b"abc9x", b" quite something else "];
    let picked = (0..len).flat_map(|i| words[(i * 7 + i / 3) % 5]);
    picked.copied().take(len).collect()
}

fn matches(counters: &Counters) -> BTreeMap<u32, u64> {
    let all = counters.patterns.iter().map(|pattern| (pattern.id, pattern.matches));
    all.filter(|&(_, matches)| matches > 0).collect()
}

#[test]
fn counts_are_those_of_the_receiver() {
    let set = set(&PATTERNS, Mode::Block).counted();
    let texts: Vec<Vec<u8>> = [0, 1, 50, 1000, 40_000, 200_000].map(text).into();
    let mut seen = BTreeMap::<u32, u64>::new();
    std::thread::scope(|scope| {
        let scan = || {
            let (mut scratch, mut seen) = (Scratch::new(), vec![]);
            for text in &texts {
                let _ = set.scan(&mut scratch, text, &mut |found| {
                    seen.push(found.id);
                    ControlFlow::Continue(())
                });
            }
            seen
        };
        for thread in [scope.spawn(scan), scope.spawn(scan)] {
            thread.join().unwrap().into_iter().for_each(|id| *seen.entry(id).or_default() += 1);
        }
    });
    let counters = set.counter().unwrap().read();
    assert_eq!(matches(&counters), seen);
    assert!((10..16).all(|id| seen.contains_key(&id)) && seen[&12] == 8, "{seen:?}");
    assert_eq!(counters.scans, 12);
    assert_eq!(counters.bytes, 2 * 241_051);
    assert!(counters.time_ns > 0);
}

/// Threads whose first scans begin at the same moment each get a shard; scratches are kept, so that each needs a new one.
#[test]
fn scans_that_begin_together_are_all_counted() {
    const THREADS: usize = 4;
    const ROUNDS: u64 = 500;
    let set = set(&[(1, "abc", "")], Mode::Block).counted();
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut scratches: Vec<_> = (0..ROUNDS).map(|_| Scratch::new()).collect();
                for scratch in &mut scratches {
                    barrier.wait();
                    let _ = set.scan(scratch, b"abc", &mut |_| ControlFlow::Continue(()));
                }
            });
        }
    });
    let counters = set.counter().unwrap().read();
    let all = THREADS as u64 * ROUNDS;
    assert_eq!((counters.scans, counters.matches()), (all, all));
}

#[test]
fn a_candidate_is_an_occurrence_of_a_string() {
    // Nearly every byte is in the class behind the string. Some filters would look for a smaller class together with the
    // string, and have fewer candidates.
    let set = set(&[(1, "abcdefgh[^x]", ""), (2, "(7|8)+", "")], Mode::Block).counted();
    let mut scratch = Scratch::new();
    let text = b"abcdefgh1 abcdefghx abcdefgh2 77x abcdefgh";
    let _ = set.scan(&mut scratch, text, &mut |_| ControlFlow::Continue(()));
    let counters = set.counter().unwrap().read();
    let rows: Vec<_> = counters.patterns.iter().map(|p| (p.id, p.matches, p.candidates)).collect();
    assert_eq!(rows, [(1, 2, 4), (2, 2, 0)]);
    assert_eq!((counters.matches(), counters.candidates()), (4, 4));
    assert!((counters.candidates_per_kb() - 4e3 / 42.0).abs() < 1e-9);
    set.counter().unwrap().reset();
    assert_eq!(set.counter().unwrap().read().candidates(), 0);
}

/// A receiver that stops at each match gets each again, and each is counted once.
#[test]
fn what_comes_again_is_counted_once() {
    let set = set(&PATTERNS, Mode::Stream).counted();
    let text = text(70_000);
    let scan = |room: usize| {
        set.counter().unwrap().reset();
        let (mut scratch, mut state, mut seen) = (Scratch::new(), vec![0; set.state_len()], 0);
        set.begin(&mut state);
        let mut done = 0;
        let mut over = false;
        while !over {
            let mut free = room;
            let mut take = |_| match free {
                0 => ControlFlow::Break(()),
                _ => {
                    free -= 1;
                    seen += 1;
                    ControlFlow::Continue(())
                }
            };
            done += set.scan_piece(&mut scratch, &mut state, &text[done..], &mut take);
            over =
                done == text.len() && set.finish(&mut scratch, &mut state, &mut take).is_continue();
        }
        let counters = set.counter().unwrap().read();
        assert_eq!((counters.matches(), counters.bytes), (seen, 70_000));
        matches(&counters)
    };
    let whole = scan(usize::MAX);
    assert!(whole.len() >= 6);
    assert_eq!(scan(997), whole);
    assert_eq!(scan(4000), whole);
}

#[test]
fn a_block_that_is_stopped_has_had_its_match() {
    let set = set(&[(1, "abc", "")], Mode::Block).counted();
    let _ = set.scan(&mut Scratch::new(), b"abc abc", &mut |_| ControlFlow::Break(()));
    assert_eq!(set.counter().unwrap().read().matches(), 1);
}

/// A scratch serves sets in turn, more than it remembers, and such that are not counted.
#[test]
fn each_set_has_its_own() {
    let sets: Vec<Set> =
        (0..12).map(|id| set(&PATTERNS[..1 + id % 5], Mode::Block).counted()).collect();
    let silent = set(&[(1, "abc", "")], Mode::Block);
    assert!(silent.counter().is_none());
    let mut scratch = Scratch::new();
    for round in 1..=3 {
        for (number, set) in sets.iter().enumerate() {
            let text =
                &b"abc1 abc2 abc3 abc4 abc5 abc6 abc7 abc8 abc9 abc0 abc1 abc2 "[..5 * number];
            for set in [set, &silent] {
                let _ = set.scan(&mut scratch, text, &mut |_| ControlFlow::Continue(()));
            }
            let counters = set.counter().unwrap().read();
            assert_eq!(counters.patterns[0].matches, round * number as u64);
            assert_eq!(counters.scans, round);
        }
    }
    // What a scratch that is gone has counted stays.
    drop(scratch);
    let _ = sets[3].scan(&mut Scratch::new(), b"abc1", &mut |_| ControlFlow::Continue(()));
    assert_eq!(sets[3].counter().unwrap().read().patterns[0].matches, 10);
}

/// Short scans beyond the first ones stand for others: of equal ones, the sum is exact.
#[test]
fn candidates_of_short_scans_are_sampled() {
    let set = set(&[(1, "abcdefgh[^x]", "")], Mode::Block).counted();
    let mut scratch = Scratch::new();
    for _ in 0..32 * 10 {
        let _ = set.scan(&mut scratch, b"abcdefgh1 abcdefghx", &mut |_| ControlFlow::Continue(()));
    }
    let counters = set.counter().unwrap().read();
    assert_eq!((counters.scans, counters.matches(), counters.candidates()), (320, 320, 640));
    let one = set.scan(&mut scratch, b"abcdefgh1 abcdefghx", &mut |_| ControlFlow::Continue(()));
    assert!(one.is_continue());
    assert_eq!(set.counter().unwrap().read().candidates(), 640 + 32 * 2);
}
