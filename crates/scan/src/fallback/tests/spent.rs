//! Expressions whose first match is enough, together, against the definition.
use std::collections::BTreeSet;

use super::super::fragment::Fragment;
use super::super::program::Program;
use super::oracle::matches;
use super::random::{node, text};
use super::*;

/// Scans `text` cut before the places `cuts`, some pieces a second time after a break; of expressions that match once, the reports
/// that come first.
fn stream(
    automaton: &Automaton,
    once: &[bool],
    caches: &mut [Cache],
    text: &[u8],
    cuts: &[usize],
    random: &mut Random,
) -> BTreeSet<(u32, u64)> {
    let mut found = BTreeSet::new();
    let mut state = vec![0xff; automaton.state_len()];
    automaton.begin(&mut state);
    let mut from = 0;
    let is_first = |found: &BTreeSet<(u32, u64)>, report: u32| {
        !once[report as usize] || found.range((report, 0)..=(report, u64::MAX)).next().is_none()
    };
    for &to in cuts.iter().chain([&text.len()]) {
        let cache = &mut caches[random.below(2)];
        let (offset, piece) = (from as u64, &text[from..to]);
        let known = found.clone();
        let spent = |report: u32| !is_first(&known, report);
        if random.chance(3) {
            let before = state.clone();
            let mut room = random.below(3);
            let flow = automaton.scan(cache, &mut state, offset, piece, &spent, &mut |_, _, _| {
                room = room.wrapping_sub(1);
                if room == usize::MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            match flow {
                ControlFlow::Break(()) => assert_eq!(state, before),
                ControlFlow::Continue(()) => state = before,
            }
        }
        let mut hit = |report, _, end| {
            if is_first(&found, report) {
                assert!(found.insert((report, end)), "twice: {report} at {end}");
            }
            ControlFlow::Continue(())
        };
        let flow = automaton.scan(cache, &mut state, offset, piece, &spent, &mut hit);
        assert!(flow.is_continue());
        from = to;
    }
    let _ = automaton.end(&mut caches[0], &state, text.len() as u64, &mut |report, _, end| {
        if is_first(&found, report) {
            assert!(found.insert((report, end)));
        }
        ControlFlow::Continue(())
    });
    found
}

/// One seed. Returns the most expressions that ran together.
fn case(seed: u64) -> usize {
    let random = &mut Random::new(seed);
    let nodes: Vec<Node> = (0..2 + random.below(5))
        .map(|_| {
            let (depth, assertions) = (random.below(4), random.chance(3));
            node(random, depth, assertions)
        })
        .collect();
    let once: Vec<bool> = nodes.iter().map(|_| !random.chance(6)).collect();
    let empty: Vec<bool> = nodes.iter().map(|_| random.chance(6)).collect();
    let expressions: Vec<Expression> = (0..)
        .zip(nodes.iter().zip(&once).zip(&empty))
        .map(|(report, ((node, &once), &empty))| Expression {
            empty,
            once,
            ..expression(report, node)
        })
        .collect();
    let joint_states = if random.chance(4) { random.below(20) } else { 1000 };
    let limits = Limits { joint_states, ..Limits::default() };
    let it = Automaton::new(&expressions, &limits).unwrap();
    let mut caches = match random.below(3) {
        0 => [Cache::with_bytes(0), Cache::with_bytes(2000)],
        _ => [Cache::default(), Cache::default()],
    };
    for _ in 0..6 {
        let len = [6, 24, 60][random.below(3)];
        let text = text(random, len);
        let mut expected = BTreeSet::new();
        for it in &expressions {
            let all = matches(it.node, &text, it.empty);
            let ends = all.keys().map(|end| (it.report, *end as u64));
            expected.extend(ends.take(if it.once { 1 } else { usize::MAX }));
        }
        let every: Vec<usize> = (0..=text.len()).collect();
        let mut some: Vec<usize> =
            (0..random.below(4)).map(|_| random.below(text.len() + 1)).collect();
        some.sort_unstable();
        for cuts in [&[][..], &every, &some] {
            let found = stream(&it, &once, &mut caches, &text, cuts, random);
            assert_eq!(
                found,
                expected,
                "seed {seed}, cut before {cuts:?}: {expressions:?} in {:?}",
                text.escape_ascii().to_string()
            );
        }
    }
    it.parts.iter().map(|part| part.once.len()).max().unwrap_or(0)
}

/// `FALLBACK_CASES` and `FALLBACK_SEED` widen the search.
#[test]
fn what_matches_once_leaves_the_others() {
    let number =
        |name, default| std::env::var(name).map_or(default, |value| value.parse().unwrap());
    let first: u64 = number("FALLBACK_SEED", 1);
    let joined = (first..first + number("FALLBACK_CASES", 1_000)).map(case).max();
    // Else this test shows nothing.
    assert!(joined > Some(2), "{joined:?}");
}

#[test]
fn what_has_left_has_no_positions() {
    let nodes = [b"ab", b"cd"].map(|it| Node::Concat(it.map(|byte| class(&[byte])).into()));
    let fragments: Vec<Fragment> = (0..)
        .zip(&nodes)
        .map(|(report, node)| Expression { once: true, ..expression(report, node) })
        .map(|it| Fragment::new(&it, &Limits::default()).unwrap())
        .collect();
    let program = Program::new(&fragments.iter().collect::<Vec<_>>(), false, true);
    // The start, a restart, then two positions each.
    let positions = |state: &[u64]| (state[0] >> 2 & 3, state[0] >> 4 & 3);
    let mut state = vec![0; program.words];
    state[0] = 1;
    let found: Vec<(u64, u64)> = b"cabacdca"
        .iter()
        .map(|byte| {
            let mut next = vec![0; program.words];
            program.step_on(&state, program.class[usize::from(*byte)], &mut next);
            state = next;
            positions(&state)
        })
        .collect();
    // Behind `ab` and behind `cd` there is neither an `a` nor a `c`.
    assert_eq!(found, [(0, 1), (1, 0), (2, 0), (0, 0), (0, 1), (0, 2), (0, 0), (0, 0)]);
}
