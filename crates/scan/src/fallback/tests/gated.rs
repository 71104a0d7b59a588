//! Expressions that have a gate, on every tier, over data in which matches are few, or are broken off.
use lookaside_simd::{Cpu, Tier};

use super::super::gate::Isa;
use super::oracle::matches;
use super::parse::parse;
use super::*;

const CLASSES: [&str; 9] =
    ["[0-9]", "[a-f]", "[a-z]", "-", "@", "x", "[^\\n]", "[ \\t]", "[0-9a-f]"];
const REPEATS: [&str; 9] = ["", "", "", "+", "{2,3}", "{3}", "?", "*", "{1,3}"];

fn expression_text(random: &mut Random) -> String {
    let mut text = String::new();
    if random.chance(6) {
        text += ["\\b", "\\B", "(?m:^)"][random.below(3)];
    }
    for _ in 0..1 + random.below(6) {
        let class = CLASSES[random.below(CLASSES.len())];
        let part = match random.below(8) {
            0 => format!("(?:{class}{}|x-)", CLASSES[random.below(CLASSES.len())]),
            1 => format!("(?:{class}y)"),
            _ => class.into(),
        };
        text += &(part + REPEATS[random.below(REPEATS.len())]);
    }
    if random.chance(8) {
        text += ["\\b", "$"][random.below(2)];
    }
    text
}

/// Bytes that `node` matches, but for its assertions.
fn sample(node: &Node, random: &mut Random, into: &mut Vec<u8>) {
    match node {
        Node::Empty | Node::Assert(_) => {}
        Node::Class(set) => into.extend(set.iter().nth(random.below(set.len().max(1)))),
        Node::Concat(nodes) => nodes.iter().for_each(|node| sample(node, random, into)),
        Node::Alternate(nodes) => sample(&nodes[random.below(nodes.len())], random, into),
        Node::Repeat { node, min, max } => {
            let most = max.unwrap_or(min + 3);
            let times = *min as usize + random.below((most - min) as usize + 1);
            (0..times).for_each(|_| sample(node, random, into));
        }
    }
}

fn text(nodes: &[Node], random: &mut Random) -> Vec<u8> {
    let background = [b'.', b'\n', 0xff, b'7', b'b', b' '][random.below(6)];
    let mut text = Vec::new();
    let len = 1 + random.below(350);
    while text.len() < len {
        let quiet = random.below(90);
        text.extend((0..quiet).map(|_| match random.chance(30) {
            true => b"-@x5f \n"[random.below(7)],
            false => background,
        }));
        for _ in 0..random.below(3) {
            let from = text.len();
            sample(&nodes[random.below(nodes.len())], random, &mut text);
            if random.chance(3) {
                text.truncate(from + random.below(text.len() - from + 1));
            }
        }
    }
    text
}

/// Returns whether there is a gate.
fn case(seed: u64, isa: Isa) -> bool {
    let random = &mut Random::new(seed);
    let len = if random.chance(4) { 2 + random.below(11) } else { 1 };
    let texts: Vec<String> = (0..len).map(|_| expression_text(random)).collect();
    let nodes: Vec<Node> = texts.iter().map(|text| parse(text)).collect();
    let start_of_match = random.chance(2);
    let expressions: Vec<Expression> = nodes
        .iter()
        .zip(0..)
        .map(|(node, report)| Expression { start_of_match, ..expression(report, node) })
        .collect();
    let it = Automaton::new(&expressions, &Limits { isa, ..Limits::default() }).unwrap();
    let mut caches = [Cache::default(), Cache::default()];
    for _ in 0..3 {
        let text = text(&nodes, random);
        let mut expected = BTreeMap::new();
        for it in &expressions {
            for (end, start) in matches(it.node, &text, false) {
                let start = if start_of_match { start as u64 } else { 0 };
                expected.insert((it.report, end as u64), start);
            }
        }
        let mut cuts: Vec<usize> =
            (0..random.below(4)).map(|_| random.below(text.len() + 1)).collect();
        cuts.sort_unstable();
        for cuts in [&[][..], &cuts] {
            let found = stream(&it, &mut caches, &text, cuts);
            assert!(
                found == expected,
                "seed {seed}, {isa:?}, cuts {cuts:?}: {texts:?} in {:?}:\nfound    {found:?}\nexpected {expected:?}",
                text.escape_ascii().to_string()
            );
        }
    }
    it.parts.iter().any(|part| part.program.gate.is_some())
}

/// `GATED_CASES` and `GATED_SEED` widen the search.
#[test]
fn expressions_with_a_gate_match_as_defined() {
    let number =
        |name, default| std::env::var(name).map_or(default, |value| value.parse().unwrap());
    let first: u64 = number("GATED_SEED", 1);
    let cases = number("GATED_CASES", 150);
    for isa in Tier::here().map(|tier| Isa::new(&Cpu::with_cap(tier))) {
        let gated = (first..first + cases).filter(|&seed| case(seed, isa)).count() as u64;
        // Else this test shows nothing.
        assert!(gated > cases / 3, "{gated} of {cases}");
    }
}
