//! Against the definition: random expressions, pieces of all sizes, every tier.

use lookaside_simd::{Cpu, Tier};

use super::*;
use crate::fallback::tests::{Random, random};
use crate::node::{Assertion, Node, width};
use crate::reference::matches;
use crate::syntax::{Extended, Flags, Pattern};

fn pattern(node: &Node) -> Pattern {
    let (flags, extended) = (Flags::default(), Extended::default());
    Pattern { id: 0, flags, extended, node: node.clone(), combination: None }
}

/// What is reported of `text` in pieces of up to `most` bytes, as (pattern, end), in the order of reports.
fn scan(all: &Bitwise, random: &mut Random, text: &[u8], most: usize) -> Vec<(u32, u64)> {
    let (mut memory, mut found) = (Memory::default(), vec![]);
    let mut state = vec![0; all.state_len()];
    let mut at = 0;
    while at < text.len() {
        let piece = &text[at..text.len().min(at + 1 + random.below(most))];
        all.scan(&mut memory, &mut state, at as u64, piece, &|_| false, &mut found);
        at += piece.len();
    }
    all.end(&state, at as u64, &|_| false, &mut found);
    found.into_iter().map(|one| (one.pattern, one.end)).collect()
}

#[test]
fn ends_are_those_of_the_definition() {
    let (mut served, mut again, mut reported, mut quiet) = (0, 0, 0, 0);
    for seed in 0..1500 {
        let chance = &mut Random::new(seed);
        let nodes: Vec<Node> = (0..1 + chance.below(3))
            .map(|_| {
                let assertions = chance.chance(2);
                random::node(chance, 3, assertions)
            })
            .filter(|node| width(node).0 > 0)
            .collect();
        let mut sets = Sets::default();
        let added: Vec<(u32, &Node)> = (0..)
            .zip(&nodes)
            .filter(|(number, node)| sets.add(*number, node, false, f64::INFINITY))
            .collect();
        if added.is_empty() {
            continue;
        }
        served += added.len();
        again += usize::from(sets.again > 0);
        for tier in Tier::here() {
            let all = Bitwise::new(sets.clone(), &Cpu::with_cap(tier));
            for _ in 0..4 {
                let mut text = random::text(chance, 90);
                if chance.chance(8) {
                    // What is looked for lies apart.
                    text = [vec![b'~'; chance.below(3000)], text, vec![b'~'; chance.below(400)]]
                        .concat();
                }
                let most = [1, 3, 70, 5000][chance.below(4)];
                let mut found = scan(&all, chance, &text, most);
                let count = found.len();
                found.sort_unstable();
                found.dedup();
                assert_eq!(count, found.len(), "twice: {nodes:?} in {}", text.escape_ascii());
                let of = |&(number, node): &(u32, &Node)| {
                    let ends = matches(&pattern(node), &text).into_iter();
                    ends.map(move |one| (number, one.end as u64))
                };
                let expected: Vec<(u32, u64)> = added.iter().flat_map(of).collect();
                assert_eq!(
                    found,
                    expected,
                    "seed {seed}, {tier}: {nodes:?} in {} by {most}",
                    text.escape_ascii()
                );
                reported += found.len();
                let is_quiet = all.is_quiet(&text);
                assert!(expected.is_empty() || !is_quiet, "{nodes:?} in {}", text.escape_ascii());
                quiet += usize::from(is_quiet);
            }
        }
    }
    assert!(served > 1500 && again > 10 && reported > 100_000, "{served} {again} {reported}");
    assert!(quiet > 100, "{quiet}");
}

/// Runs of every length, from every place of a word to every other, over several blocks; with first bytes that are rare, so
/// that words without them are passed over, and that are not.
#[test]
fn runs_of_any_length_are_followed_to_their_ends() {
    let class = |bytes: &str| Node::Class(bytes.bytes().collect());
    let star = |node: Node| Node::Repeat { node: Box::new(node), min: 0, max: None };
    let run = || star(class("x"));
    let pairs = || star(Node::Concat(vec![class("x"), class("x")]));
    let runs = || star(Node::Concat(vec![class("y"), run()]));
    for first in ["<", "e"] {
        let begun = |inner: Node| Node::Concat(vec![class(first), inner, class("b")]);
        let start = Node::Concat(vec![Node::Assert(Assertion::TextStart), run(), class("b")]);
        let expressions = [begun(run()), begun(pairs()), begun(runs()), start];
        let mut sets = Sets::default();
        for (number, node) in (0..).zip(&expressions) {
            assert!(sets.add(number, node, false, f64::INFINITY));
        }
        assert_eq!((sets.again, sets.rare_firsts().is_some()), (4, first == "<"));
        for tier in Tier::here() {
            let all = Bitwise::new(sets.clone(), &Cpu::with_cap(tier));
            let chance = &mut Random::new(1);
            for length in (0..130).chain([900, 1020, 1024, 1025, 2100]) {
                let before = vec![b'-'; length % 67];
                let run = || vec![b'x'; length];
                let first = || first.as_bytes().to_vec();
                let texts = [
                    ([before.clone(), first(), run(), b"b".to_vec()].concat(), 0),
                    ([before, first(), b"y".to_vec(), run(), b"b".to_vec()].concat(), 2),
                    ([run(), b"b".to_vec()].concat(), 3),
                ];
                for (text, number) in texts {
                    let end = text.len() as u64;
                    let mut expected = vec![(number, end)];
                    match (number, length) {
                        (0, 0) => expected.extend([(1, end), (2, end)]),
                        (0, _) if length % 2 == 0 => expected.push((1, end)),
                        _ => {}
                    }
                    for most in [1, 100, 5000] {
                        let found = scan(&all, chance, &text, most);
                        assert_eq!(found, expected, "{length}, {number}, {tier}, {most}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_random_expressions_seldom_have() {
    let class = |bytes: &str| Node::Class(bytes.bytes().collect());
    let repeat = |node: Node, min, max| Node::Repeat { node: Box::new(node), min, max };
    let never = repeat(class("x"), 0, Some(0));
    let expressions = [
        // A run that is reported itself, far beyond its first byte.
        Node::Concat(vec![class("<"), repeat(class("x"), 0, None)]),
        // Rounds of nothing.
        Node::Concat(vec![class("<"), repeat(never, 0, None)]),
    ];
    let text = [b"-".repeat(100), b"<".to_vec(), b"x".repeat(3000), b"-<".to_vec()].concat();
    for (node, tier) in
        expressions.iter().flat_map(|node| Tier::here().map(move |tier| (node, tier)))
    {
        let mut sets = Sets::default();
        assert!(sets.add(0, node, false, f64::INFINITY));
        let all = Bitwise::new(sets, &Cpu::with_cap(tier));
        let expected = matches(&pattern(node), &text);
        let expected: Vec<_> = expected.iter().map(|one| (0, one.end as u64)).collect();
        for most in [1, 300, 5000] {
            assert_eq!(scan(&all, &mut Random::new(1), &text, most), expected, "{node:?} {tier}");
        }
    }
}

#[test]
fn what_is_not_for_this_is_refused_and_leaves_nothing() {
    let x = || Node::Class(ByteSet::one(b'x'));
    let repeat = |node: Node, min, max| Node::Repeat { node: Box::new(node), min, max };
    let a = || Node::Class(ByteSet::one(b'a'));
    let nested =
        repeat(Node::Concat(vec![x(), repeat(Node::Concat(vec![x(), a()]), 0, None)]), 0, None);
    let refused = [
        Node::Concat(vec![x(), Node::Assert(Assertion::TextStart), x()]),
        Node::Concat(vec![x(), repeat(x(), 100, Some(100))]),
        Node::Concat(vec![a(), nested, x()]),
        Node::Alternate(vec![]),
    ];
    let mut sets = Sets::default();
    assert!(sets.add(7, &x(), false, f64::INFINITY));
    let before = format!("{sets:?}");
    for node in &refused {
        assert!(!sets.add(8, node, false, f64::INFINITY), "{node:?}");
        assert_eq!(format!("{sets:?}"), before, "{node:?}");
    }
    // Nor what costs more than it may.
    assert!(!sets.add(8, &a(), false, 0.0));
    assert_eq!(format!("{sets:?}"), before);
}

#[test]
fn where_one_match_is_enough_others_need_not_be_told() {
    let node = Node::Class(ByteSet::one(b'x'));
    let mut sets = Sets::default();
    assert!(sets.add(3, &node, true, f64::INFINITY));
    let all = Bitwise::new(sets, Cpu::host());
    let (mut state, mut found) = (vec![0; all.state_len()], vec![]);
    all.scan(&mut Memory::default(), &mut state, 0, &[b'x'; 5000], &|_| false, &mut found);
    assert!(found.len() <= 64 && found[0].end == 1);
    let (mut state, mut found) = (vec![0; all.state_len()], vec![]);
    all.scan(
        &mut Memory::default(),
        &mut state,
        0,
        &[b'x'; 5000],
        &|pattern| pattern == 3,
        &mut found,
    );
    assert_eq!(found, []);
}
