//! Sets of random expressions of the whole syntax against the reference: blocks, and streams cut anywhere, at every tier.

use std::ops::ControlFlow;

use lookaside_scan::generate::{Choices, Kind, case, data};
use lookaside_scan::syntax::Pattern;
use lookaside_scan::{Match, Mode, Scratch, Set, reference};
use lookaside_simd::{Cpu, Tier};

fn patterns(choices: &mut Choices<'_>) -> (Vec<Pattern>, Vec<String>) {
    let kind = Kind {
        unicode: choices.chance(20),
        assertions: choices.chance(40),
        broken: false,
        parameters: choices.chance(20),
    };
    let (mut patterns, mut texts) = (vec![], vec![]);
    for id in 0..1 + choices.below(4) as u32 {
        let case = case(choices, kind);
        if let Ok(pattern) = Pattern::parse(id, &case.expression, case.flags, case.extended) {
            texts.push(format!("{id}:{case}"));
            patterns.push(pattern);
        }
    }
    // Now and then a combination of the patterns that are there.
    if patterns.len() > 1 && choices.chance(10) {
        let text = choices.pick(&["0 & 1", "0 | !1", "!0", "!(0 & 1)"]).as_bytes();
        let flags = lookaside_scan::Flags { combination: true, ..Default::default() };
        let extended = lookaside_scan::Extended::default();
        patterns.extend(Pattern::parse(9, text, flags, extended));
        texts.push(String::from_utf8_lossy(text).into_owned());
    }
    (patterns, texts)
}

#[test]
fn sets_agree_with_the_reference() {
    let cases = std::env::var("LOOKASIDE_SCAN_CASES").map_or(2_000, |n| n.parse().unwrap());
    let seed = std::env::var("LOOKASIDE_SCAN_SEED").map_or(0, |n| n.parse().unwrap());
    let mut scratch = Scratch::new();
    let (mut sets, mut matches) = (0_u64, 0_u64);
    for number in seed..seed + cases {
        let choices = &mut Choices::seeded(number);
        let (patterns, texts) = patterns(choices);
        if patterns.is_empty() {
            continue;
        }
        let near = choices.below(patterns.len());
        let text = data(choices, &patterns[near].node, patterns[near].flags.utf8);
        let cpu = Cpu::with_cap(*choices.pick(&Tier::ALL));
        let what =
            |how: &str| format!("case {number}, {how}: {texts:?} on \"{}\"", text.escape_ascii());
        // Which start is the leftmost before a last newline may not be known in time: see `fallback`.
        let before_newline = text.ends_with(b"\n").then(|| text.len() as u64 - 1);
        let plain = |all: &mut Vec<Match>| {
            all.iter_mut()
                .filter(|one| Some(one.end) == before_newline)
                .for_each(|one| one.start = 0);
            all.sort_unstable();
        };
        let mut expected = reference::reports(&patterns, &text);
        plain(&mut expected);
        let Ok(set) = Set::new(&patterns, Mode::Block, &cpu) else { continue };
        let mut found = vec![];
        let _ = set.scan(&mut scratch, &text, &mut |one| {
            found.push(one);
            ControlFlow::Continue(())
        });
        assert!(found.is_sorted_by_key(|one| one.end), "{}", what("order"));
        plain(&mut found);
        assert_eq!(found, expected, "{}", what("block"));
        sets += 1;
        matches += expected.len() as u64;

        let set = Set::new(&patterns, Mode::Stream, &cpu).expect("a stream as well as a block");
        let mut state = vec![0; set.state_len()];
        set.begin(&mut state);
        let (mut rest, mut found) = (&text[..], vec![]);
        let longest = 1 + choices.below(40);
        let mut hit = |one| {
            found.push(one);
            ControlFlow::Continue(())
        };
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(choices.below(longest + 1).min(rest.len()));
            set.scan_piece(&mut scratch, &mut state, piece, &mut hit);
            rest = later;
        }
        let _ = set.finish(&mut scratch, &mut state, &mut hit);
        plain(&mut found);
        // Operands that match because the stream ends come after the combination was judged at that place.
        let late = |one: &Match| one.id == 9 && one.end + 1 >= text.len() as u64;
        let expected: Vec<Match> = expected.into_iter().filter(|one| !late(one)).collect();
        found.retain(|one| !late(one));
        assert_eq!(found, expected, "{}", what("stream"));
    }
    assert!(sets > cases / 2 && matches > cases, "{sets} sets, {matches} matches");
}
