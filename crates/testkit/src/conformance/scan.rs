//! Pattern matching: blocks, and flows in pieces. The oracle looks for strings at every offset.

use lookaside::Runtime;
use lookaside_core::{
    Buf, Match, OpError, SetupError, Status,
    scan::{Expression, Mode},
};

use super::call;
use crate::Rng;

const STRINGS: [&str; 4] = ["ab", "aba", "needle", "b\0a"];

fn patterns() -> Vec<Expression> {
    let pattern = |(id, text): (u32, &&str)| Expression {
        id,
        text: text.as_bytes().into(),
        literal: true,
        ..Expression::default()
    };
    (0..).zip(&STRINGS).map(pattern).collect()
}

/// All matches, ordered by their ends.
fn expected(text: &[u8]) -> Vec<(u64, u32)> {
    let mut all = Vec::new();
    for end in 0..=text.len() {
        for (id, string) in (0..).zip(STRINGS) {
            if text[..end].ends_with(string.as_bytes()) {
                all.push((end as u64, id));
            }
        }
    }
    all
}

fn text(rng: &mut Rng, len: usize) -> Vec<u8> {
    let parts = ["ab", "aba", "needle", "nee", "b", "\0", "a"];
    let mut text = Vec::new();
    while text.len() < len {
        text.extend(parts[rng.below(parts.len() as u64) as usize].bytes());
    }
    text.truncate(len);
    text
}

fn found(dst: &Buf, produced: usize) -> Vec<(u64, u32)> {
    let mut bytes = Vec::new();
    dst.gather(&mut bytes);
    assert!(produced.is_multiple_of(Match::RECORD), "whole records");
    let matches = Match::of_records(&bytes[..produced]);
    let mut found: Vec<_> = matches.map(|found| (found.end, found.id)).collect();
    assert!(found.is_sorted_by_key(|(end, _)| *end), "matches are ordered by their ends");
    found.sort_unstable();
    found
}

pub(super) fn blocks(runtime: &Runtime) {
    let scanner = runtime.scan(patterns(), Mode::Block).expect("a set of strings");
    let mut rng = Rng::new(1);
    for len in [0, 1, 2, 63, 64, 65, 1000, 70_000] {
        let text = text(&mut rng, len);
        let expected = expected(&text);
        let dst = Buf::zeroed(expected.len() * Match::RECORD);
        let r = call(runtime, scanner.scan(Buf::from(&*text), dst).tag(5));
        let done = r.result.expect("scanned");
        assert_eq!((r.tag, done.consumed, done.status), (5, len, Status::Complete));
        assert_eq!(done.checksum, expected.len() as u64, "the number of matches");
        assert_eq!(found(&r.dst, done.produced), expected);
        assert_eq!(r.src.as_slice(), Some(&*text), "the source comes back unchanged");
        if !expected.is_empty() {
            let r = call(runtime, scanner.scan(Buf::from(&*text), Buf::zeroed(Match::RECORD)));
            let done = r.result.expect("scanned");
            let overflow = (Match::RECORD, Status::Overflow, expected.len() as u64);
            let many = expected.len() > 1;
            assert!(!many || (done.produced, done.status, done.checksum) == overflow);
        }
    }
}

pub(super) fn flows(runtime: &Runtime) {
    let scanner = runtime.scan(patterns(), Mode::Stream).expect("a set of strings");
    let mut rng = Rng::new(2);
    for most in [1, 7, 1000] {
        let text = text(&mut rng, 3000);
        let (mut flow, mut all, mut at) = (scanner.flow().expect("a flow"), vec![], 0);
        let size = flow.len();
        while at < text.len() {
            let end = text.len().min(at + rng.below(200) as usize);
            let dst = Buf::zeroed(most * Match::RECORD);
            let last = end == text.len();
            let mut r =
                call(runtime, scanner.scan_piece(flow, Buf::from(&text[at..end]), dst, last));
            let done = r.result.expect("scanned");
            all.extend(found(&r.dst, done.produced));
            at += done.consumed;
            assert!(done.status == Status::Overflow || at == end, "all of it, or no room");
            flow = r.take_flow().expect("the state comes back");
            assert_eq!(flow.len(), size, "a state has a fixed size");
        }
        all.sort_unstable();
        assert_eq!(all, expected(&text), "room for {most}");
    }
}

pub(super) fn refused(runtime: &Runtime) {
    let scanner = runtime.scan(patterns(), Mode::Stream).expect("a set of strings");
    let mut short = scanner.flow().expect("a flow");
    short.pop();
    let r = call(runtime, scanner.scan_piece(short, Buf::zeroed(9), Buf::zeroed(99), true));
    assert!(matches!(r.result, Err(OpError::BadInput(_))), "{:?}", r.result);
    let bad = |id, text: &str| Expression { id, text: text.into(), ..Expression::default() };
    match runtime.scan([bad(3, "("), bad(4, "x"), bad(5, "[")], Mode::Block) {
        Err(SetupError::Patterns(bad)) => {
            let ids: Vec<u32> = bad.iter().map(|bad| bad.id).collect();
            assert_eq!(ids, [3, 5], "all bad patterns are named");
        }
        other => panic!("a set of bad patterns: {other:?}"),
    }
}
