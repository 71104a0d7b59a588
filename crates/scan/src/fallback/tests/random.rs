//! Random expressions.
use super::oracle::matches;
use super::*;

const ASSERTIONS: [Assertion; 7] = [
    Assertion::TextStart,
    Assertion::TextEnd,
    Assertion::TextEndOrNewline,
    Assertion::LineStart,
    Assertion::LineEnd,
    Assertion::WordBoundary,
    Assertion::NotWordBoundary,
];
const BYTES: [u8; 5] = [b'a', b'b', b'\n', b' ', 0xff];

pub(crate) fn node(random: &mut Random, depth: usize, assertions: bool) -> Node {
    let deeper = depth.saturating_sub(1);
    let nodes = |random: &mut Random, most: usize| {
        let len = if random.chance(20) { 0 } else { 1 + random.below(most) };
        (0..len).map(|_| node(random, deeper, assertions)).collect()
    };
    match random.below(if depth == 0 { 5 } else { 12 }) {
        0 if assertions => Node::Assert(ASSERTIONS[random.below(ASSERTIONS.len())]),
        0 | 1 if random.chance(4) => Node::Empty,
        0 | 1 if random.chance(4) => Node::Class(ByteSet::ALL),
        0..5 => {
            let len = if random.chance(30) { 0 } else { 1 + random.below(2) };
            let set: ByteSet = (0..len).map(|_| BYTES[random.below(BYTES.len())]).collect();
            Node::Class(if random.chance(8) { set.complement() } else { set })
        }
        5..8 => Node::Concat(nodes(random, 4)),
        8..10 => Node::Alternate(nodes(random, 3)),
        _ => {
            let min = random.below(4) as u32;
            let max = if random.chance(2) { None } else { Some(min + random.below(4) as u32) };
            repeat(node(random, deeper, assertions), min, max)
        }
    }
}

pub(crate) fn text(random: &mut Random, most: usize) -> Vec<u8> {
    let alphabet = 1 + random.below(BYTES.len());
    (0..random.below(most + 1)).map(|_| BYTES[random.below(alphabet)]).collect()
}

fn contains(node: &Node, assertion: Assertion) -> bool {
    match node {
        Node::Assert(it) => *it == assertion,
        Node::Concat(nodes) | Node::Alternate(nodes) => {
            nodes.iter().any(|node| contains(node, assertion))
        }
        Node::Repeat { node, .. } => contains(node, assertion),
        Node::Empty | Node::Class(_) => false,
    }
}

/// One seed: a few expressions at once, in a block and in streams.
fn case(seed: u64) {
    let random = &mut Random::new(seed);
    let len = if random.chance(3) { 1 + random.below(4) } else { 1 };
    let nodes: Vec<Node> = (0..len)
        .map(|_| {
            let (depth, assertions) = (random.below(5), random.chance(2));
            node(random, depth, assertions)
        })
        .collect();
    let flags: Vec<(bool, bool)> =
        nodes.iter().map(|_| (random.chance(3), random.chance(3))).collect();
    let expressions: Vec<Expression> = nodes
        .iter()
        .zip(&flags)
        .enumerate()
        .map(|(index, (node, &(start_of_match, empty)))| Expression {
            report: index as u32,
            node,
            start_of_match,
            empty,
            once: false,
        })
        .collect();
    let limits = Limits { joint_states: random.below(20), ..Limits::default() };
    let it = Automaton::new(&expressions, &limits).unwrap();
    for _ in 0..6 {
        let text = text(random, 24);
        let mut expected = BTreeMap::new();
        for it in &expressions {
            for (end, start) in matches(it.node, &text, it.empty) {
                expected.insert(
                    (it.report, end as u64),
                    if it.start_of_match { start as u64 } else { 0 },
                );
            }
        }
        let check = |found: BTreeMap<(u32, u64), u64>, how: &str| {
            let same = found.len() == expected.len()
                && found.iter().zip(&expected).all(
                    |((at, start), (expected_at, expected_start))| {
                        let (report, end) = *at;
                        // The exception of the module's documentation.
                        let later = end + 1 == text.len() as u64
                            && text.ends_with(b"\n")
                            && contains(&nodes[report as usize], Assertion::TextEndOrNewline);
                        at == expected_at
                            && (start == expected_start || (later && start > expected_start))
                    },
                );
            assert!(
                same,
                "seed {seed}, {how}: {expressions:?} in {:?}:\nfound    {found:?}\nexpected {expected:?}",
                text.escape_ascii().to_string()
            );
        };
        check(block(&it, &text), "block");
        let every: Vec<usize> = (0..=text.len()).collect();
        check(stream(&it, &mut [Cache::default()], &text, &every), "each byte");
        let mut small = [Cache::with_bytes(0), Cache::with_bytes(2000)];
        check(stream(&it, &mut small, &text, &[]), "a small cache");
        let mut cuts: Vec<usize> =
            (0..random.below(4)).map(|_| random.below(text.len() + 1)).collect();
        cuts.sort_unstable();
        check(stream(&it, &mut small, &text, &cuts), "cuts and small caches");
    }
}

/// `FALLBACK_CASES` and `FALLBACK_SEED` widen the search.
#[test]
fn random_expressions_match_as_defined() {
    let number =
        |name, default| std::env::var(name).map_or(default, |value| value.parse().unwrap());
    let first: u64 = number("FALLBACK_SEED", 1);
    (first..first + number("FALLBACK_CASES", 2_500)).for_each(case);
}

/// Long data, in which lanes and skips are used, against the same data byte by byte.
#[test]
fn long_chunks_match_as_single_bytes_do() {
    let (mut laned, mut again) = (0, 0);
    for seed in 0..600 {
        let random = &mut Random::new(seed);
        let nodes: Vec<Node> =
            (0..1 + random.below(3)).map(|_| node(random, 4, seed % 3 == 0)).collect();
        let starts = random.chance(2);
        let expressions: Vec<Expression> = nodes
            .iter()
            .enumerate()
            .map(|(index, node)| Expression {
                start_of_match: starts,
                ..expression(index as u32, node)
            })
            .collect();
        let it = Automaton::new(&expressions, &Limits::default()).unwrap();
        let alphabet = 2 + random.below(BYTES.len() - 1);
        let rare = if random.chance(2) { 1 + random.below(20) } else { 20 + random.below(200) };
        let mut text: Vec<u8> = Vec::new();
        while text.len() < 12_000 {
            let byte =
                BYTES[if random.chance(rare) { random.below(alphabet) } else { random.below(2) }];
            text.push(byte);
        }
        let every: Vec<usize> = (0..text.len()).collect();
        let expected = stream(&it, &mut [Cache::default()], &text, &every);
        let mut caches = [if random.chance(4) {
            Cache::with_bytes(random.below(20_000))
        } else {
            Cache::default()
        }];
        let cuts: Vec<usize> = (0..6).map(|piece| piece * 2_000 + random.below(1_500)).collect();
        for _ in 0..2 {
            let found = stream(&it, &mut caches, &text, &cuts);
            if found != expected {
                let wrong = found.iter().find(|(at, start)| expected.get(at) != Some(start));
                let missing = expected.keys().find(|at| !found.contains_key(at));
                panic!(
                    "seed {seed}: {expressions:?}: {wrong:?} is wrong, or {missing:?} is missing"
                );
            }
        }
        let (one, two) = caches[0].laned();
        laned += one;
        again += two;
    }
    // Else this test shows nothing.
    assert!(laned > 300_000 && again > 500, "{laned} {again}");
}
