//! Pattern matching: random sets of the whole syntax on data near them, in blocks and in streams cut anywhere, against the
//! reference; any text as an expression; any bytes as a saved set, and any state of a stream.
#![cfg_attr(fuzzing, no_main)]

use std::ops::ControlFlow;

use lookaside_fuzz::fuzz_target;
use lookaside_scan::generate::{Choices, Kind, case, data};
use lookaside_scan::syntax::Pattern;
use lookaside_scan::{Extended, Flags, Match, Mode, Scratch, Set, reference};
use lookaside_simd::Cpu;

fuzz_target!(|input: &[u8]| {
    match input.split_first() {
        None => {}
        Some((0, bytes)) => _ = Set::load(bytes, Cpu::host()),
        Some((1, bytes)) => expression(bytes),
        Some((_, bytes)) => compare(&mut Choices::from_bytes(bytes)),
    }
});

/// Two bytes of flags, the expression.
fn expression(bytes: &[u8]) {
    let Some((flags, text)) = bytes.split_first_chunk::<2>() else { return };
    let Some(flags) = Flags::from_bits(u32::from(u16::from_le_bytes(*flags)) & 0x7ff) else {
        return;
    };
    // What one input may take is bounded; large expressions have tests of their own.
    let text = &text[..text.len().min(100)];
    let Ok(pattern) = Pattern::parse(1, text, flags, Extended::default()) else { return };
    let Ok(set) = Set::new(&[pattern], Mode::Stream, Cpu::host()) else { return };
    let (mut scratch, mut state) = (Scratch::new(), bytes.to_vec());
    state.resize(set.state_len(), 0xff);
    let mut hit = |_| ControlFlow::Continue(());
    let piece = &bytes[..bytes.len().min(1000)];
    set.scan_piece(&mut scratch, &mut state, piece, &mut hit);
    let _ = set.finish(&mut scratch, &mut state, &mut hit);
}

fn compare(choices: &mut Choices<'_>) {
    let kind = Kind {
        unicode: choices.chance(20),
        assertions: choices.chance(40),
        broken: false,
        parameters: choices.chance(20),
    };
    let mut patterns = vec![];
    for id in 0..1 + choices.below(3) as u32 {
        let case = case(choices, kind);
        patterns.extend(Pattern::parse(id, &case.expression, case.flags, case.extended));
    }
    if patterns.is_empty() {
        return;
    }
    let near = choices.below(patterns.len());
    let text = data(choices, &patterns[near].node, patterns[near].flags.utf8);
    let mut expected = reference::reports(&patterns, &text);
    let plain = |all: &mut Vec<Match>| reference::comparable(&patterns, &text, all);
    plain(&mut expected);

    let (mut scratch, mut found) = (Scratch::new(), vec![]);
    let mut hit = |one| {
        found.push(one);
        ControlFlow::Continue(())
    };
    let Ok(set) = Set::new(&patterns, Mode::Block, Cpu::host()) else { return };
    let _ = set.scan(&mut scratch, &text, &mut hit);
    plain(&mut found);
    assert_eq!(found, expected, "block");

    found.clear();
    let mut hit = |one| {
        found.push(one);
        ControlFlow::Continue(())
    };
    let set = Set::new(&patterns, Mode::Stream, Cpu::host()).expect("a stream as well as a block");
    let mut state = vec![0; set.state_len()];
    set.begin(&mut state);
    let mut rest = &text[..];
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(choices.below(20).max(1).min(rest.len()));
        set.scan_piece(&mut scratch, &mut state, piece, &mut hit);
        rest = later;
    }
    let _ = set.finish(&mut scratch, &mut state, &mut hit);
    plain(&mut found);
    assert_eq!(found, expected, "stream");
}
