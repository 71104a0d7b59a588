//! Random sets of the whole syntax on data near them, against the reference: blocks, and streams cut anywhere, on every
//! tier of the CPU. A case is one set on one input, in one mode, on one tier, with all of its matches compared.
//!
//! `LOOKASIDE_SCAN_SECONDS` bounds the time (10 s, else), `LOOKASIDE_SCAN_DEEP` the number of cases, and
//! `LOOKASIDE_SCAN_START` says where the sets begin: each number is a set with its inputs. `make test-deep` runs it for
//! longer, from a seed that is the time.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use lookaside_scan::generate::{Choices, Kind, case, data};
use lookaside_scan::syntax::{Extended, Flags, Pattern, check_combinations};
use lookaside_scan::{Match, Mode, Scratch, Set, reference};
use lookaside_simd::{Cpu, Tier};

/// How many inputs a set is tried on.
const INPUTS: usize = 64;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

/// Up to four patterns, and now and then a combination of them.
fn patterns(choices: &mut Choices<'_>) -> Vec<Pattern> {
    let kind = Kind {
        unicode: choices.chance(20),
        assertions: choices.chance(40),
        broken: false,
        parameters: choices.chance(20),
    };
    let mut all: Vec<Pattern> = vec![];
    for id in 0..1 + choices.below(4) as u32 {
        let case = case(choices, kind);
        all.extend(Pattern::parse(id, &case.expression, case.flags, case.extended));
    }
    // In a stream, a combination does not know yet what matches because the stream ends.
    if !kind.assertions && all.len() > 1 && choices.chance(30) {
        let (a, b) = (all[0].id, all[all.len() - 1].id);
        let text = match choices.below(4) {
            0 => format!("{a} & {b}"),
            1 => format!("{a} | !{b}"),
            2 => format!("!({a} & {b})"),
            _ => format!("{a} & !{b}"),
        };
        let flags = Flags { combination: true, ..Flags::default() };
        all.extend(Pattern::parse(90, text.as_bytes(), flags, Extended::default()));
        all[0].flags.quiet = choices.chance(30);
        if !check_combinations(&all).is_empty() {
            all.pop();
        }
    }
    all
}

/// The matches of a block.
fn block(set: &Set, scratch: &mut Scratch, text: &[u8]) -> Vec<Match> {
    let mut found = vec![];
    let _ = set.scan(scratch, text, &mut |one| {
        found.push(one);
        ControlFlow::Continue(())
    });
    found
}

/// The matches of a stream in pieces, some of them interrupted.
fn stream(
    set: &Set,
    scratch: &mut Scratch,
    text: &[u8],
    most: usize,
    choices: &mut Choices<'_>,
) -> Vec<Match> {
    let mut state = vec![0x55; set.state_len()];
    set.begin(&mut state);
    let (mut rest, mut found) = (text, vec![]);
    let mut room = if choices.chance(30) { choices.below(3) } else { usize::MAX };
    while !rest.is_empty() {
        let piece = (choices.below(most) + 1).min(rest.len());
        let done = set.scan_piece(scratch, &mut state, &rest[..piece], &mut |one| {
            if room == 0 {
                return ControlFlow::Break(());
            }
            room -= 1;
            found.push(one);
            ControlFlow::Continue(())
        });
        assert!(done == piece || room == 0);
        if done < piece {
            room = 1 + choices.below(3);
        }
        rest = &rest[done..];
    }
    let flow = set.finish(scratch, &mut state, &mut |one| {
        found.push(one);
        ControlFlow::Continue(())
    });
    assert!(flow.is_continue());
    found
}

#[test]
fn every_mode_and_tier_agrees_with_the_reference() {
    let end = Instant::now() + Duration::from_secs(number("LOOKASIDE_SCAN_SECONDS", 10));
    let most = number("LOOKASIDE_SCAN_DEEP", 1_000_000);
    let first = number("LOOKASIDE_SCAN_START", 0);
    let cpus: Vec<Cpu> = Tier::here().map(Cpu::with_cap).collect();
    let (mut cases, mut matches, mut sets) = (0, 0, 0);
    let mut scratch = Scratch::new();
    for seed in first.. {
        if cases >= most || Instant::now() >= end {
            break;
        }
        let mut choices = Choices::seeded(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let patterns = patterns(&mut choices);
        if patterns.is_empty() {
            continue;
        }
        let compile =
            |mode| cpus.iter().map(|cpu| Set::new(&patterns, mode, cpu).ok()).collect::<Vec<_>>();
        let (blocks, streams) = (compile(Mode::Block), compile(Mode::Stream));
        sets += 1;
        // To compile takes longer than to scan.
        for _ in 0..INPUTS {
            let near = choices.below(patterns.len());
            let utf8 = patterns.iter().any(|one| one.flags.utf8);
            let mut text = data(&mut choices, &patterns[near].node, utf8);
            if !text.is_empty() && choices.chance(10) {
                // Nor is all that is called UTF-8 well-formed.
                let at = choices.below(text.len());
                text[at] = choices.below(256) as u8;
            }
            let plain = |mut all: Vec<Match>| {
                reference::comparable(&patterns, &text, &mut all);
                all
            };
            let expected = plain(reference::reports(&patterns, &text));
            for (tier, set) in Tier::here().zip(&blocks) {
                let Some(set) = set else { continue };
                assert_eq!(
                    plain(block(set, &mut scratch, &text)),
                    expected,
                    "seed {seed}, block, {tier}: {patterns:?} on {}",
                    text.escape_ascii()
                );
                (cases, matches) = (cases + 1, matches + expected.len());
            }
            for (tier, set) in Tier::here().zip(&streams) {
                let Some(set) = set else { continue };
                let most = *choices.pick(&[1, 3, 20, 2000]);
                let found = stream(set, &mut scratch, &text, most, &mut choices);
                assert_eq!(
                    plain(found),
                    expected,
                    "seed {seed}, stream, {tier}: {patterns:?} on {}",
                    text.escape_ascii()
                );
                (cases, matches) = (cases + 1, matches + expected.len());
            }
        }
    }
    eprintln!("{cases} cases of {sets} sets from seed {first}, {matches} matches");
    assert!(cases > 0 && matches > 0);
}

/// Long pieces are scanned where they are, apart from their past. The text is made of many samples, so that matches of every kind are near
/// the begins and ends of pieces.
#[test]
fn streams_of_long_pieces_have_the_matches_of_blocks() {
    let end = Instant::now() + Duration::from_secs(number("LOOKASIDE_SCAN_SECONDS", 10));
    let most = number("LOOKASIDE_SCAN_DEEP", 1_000_000);
    let first = number("LOOKASIDE_SCAN_START", 0);
    let cpus: Vec<Cpu> = Tier::here().map(Cpu::with_cap).collect();
    let (mut cases, mut matches) = (0, 0);
    let mut scratch = Scratch::new();
    for seed in first.. {
        if cases >= most || Instant::now() >= end {
            break;
        }
        let mut choices = Choices::seeded(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let patterns = patterns(&mut choices);
        if patterns.is_empty() {
            continue;
        }
        let utf8 = patterns.iter().any(|one| one.flags.utf8);
        let mut text = vec![];
        let length = 2000 + choices.below(4000);
        while text.len() < length {
            let near = choices.below(patterns.len());
            text.extend(data(&mut choices, &patterns[near].node, utf8));
            if choices.chance(30) {
                text.extend(vec![b'~'; choices.below(200)]);
            }
        }
        let plain = |mut all: Vec<Match>| {
            reference::comparable(&patterns, &text, &mut all);
            all
        };
        for (tier, cpu) in Tier::here().zip(&cpus) {
            let compile = |mode| Set::new(&patterns, mode, cpu).ok();
            let (Some(whole), Some(set)) = (compile(Mode::Block), compile(Mode::Stream)) else {
                continue;
            };
            let expected = plain(block(&whole, &mut scratch, &text));
            let found = plain(stream(&set, &mut scratch, &text, 1500, &mut choices));
            let first = found.iter().zip(&expected).find(|(one, other)| one != other);
            assert!(found == expected, "seed {seed}, {tier}: {patterns:?}: {first:?}");
            (cases, matches) = (cases + 1, matches + expected.len());
        }
    }
    eprintln!("{cases} cases, {matches} matches");
    assert!(cases > 0 && matches > 0);
}
