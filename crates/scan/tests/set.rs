//! Sets of random patterns, built as nodes, against an oracle that tries every start: blocks, and streams cut anywhere.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use lookaside_scan::syntax::{Extended, Flags, Pattern};
use lookaside_scan::{Assertion, ByteSet, Match, Mode, Node, Scratch, Set};
use lookaside_simd::{Cpu, Tier};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// The ends of the matches of `node` that start at `at`.
fn ends(node: &Node, data: &[u8], at: usize) -> BTreeSet<usize> {
    match node {
        Node::Empty => [at].into(),
        Node::Class(class) => match data.get(at) {
            Some(&byte) if class.contains(byte) => [at + 1].into(),
            _ => [].into(),
        },
        Node::Concat(parts) => parts.iter().fold([at].into(), |from: BTreeSet<usize>, part| {
            from.iter().flat_map(|&at| ends(part, data, at)).collect()
        }),
        Node::Alternate(parts) => parts.iter().flat_map(|part| ends(part, data, at)).collect(),
        Node::Repeat { node, min, max } => {
            let mut now: BTreeSet<usize> = [at].into();
            let mut all = BTreeSet::new();
            for count in 0.. {
                if count >= *min {
                    let before = all.len();
                    all.extend(&now);
                    if max.is_none() && all.len() == before {
                        break;
                    }
                }
                if Some(count) == *max || now.is_empty() {
                    break;
                }
                now = now.iter().flat_map(|&at| ends(node, data, at)).collect();
            }
            all
        }
        Node::Assert(assertion) => {
            let rest = &data[at..];
            let holds = match assertion {
                Assertion::TextStart => at == 0,
                Assertion::TextEnd => rest.is_empty(),
                Assertion::TextEndOrNewline => rest.is_empty() || rest == b"\n",
                _ => unreachable!("not generated here"),
            };
            if holds { [at].into() } else { [].into() }
        }
    }
}

fn oracle(patterns: &[Pattern], data: &[u8]) -> Vec<Match> {
    let mut all = BTreeSet::new();
    for pattern in patterns {
        let mut seen = BTreeSet::new();
        for start in 0..=data.len() {
            for end in ends(&pattern.node, data, start) {
                if end > start && seen.insert(end) {
                    let start = if pattern.flags.som_leftmost { start as u64 } else { 0 };
                    all.insert(Match { end: end as u64, id: pattern.id, start });
                }
            }
        }
    }
    all.into_iter().collect()
}

const LETTERS: &[u8] = b"abAB1\n";

fn class(random: &mut Random) -> Node {
    Node::Class(match random.below(8) {
        0 => ByteSet::one(b'a').both_cases(),
        1 => ByteSet::one(b'b').both_cases(),
        2 => b"ab1".iter().copied().collect(),
        3 => ByteSet::one(b'\n').complement(),
        _ => ByteSet::one(LETTERS[random.below(6) as usize]),
    })
}

fn string(random: &mut Random) -> Vec<Node> {
    let caseless = random.one_in(2);
    (0..2 + random.below(4))
        .map(|_| {
            let one = ByteSet::one(LETTERS[random.below(6) as usize]);
            Node::Class(if caseless { one.both_cases() } else { one })
        })
        .collect()
}

fn bounded(random: &mut Random, depth: u64) -> Node {
    match random.below(if depth == 0 { 2 } else { 6 }) {
        0 | 1 => class(random),
        2 => Node::Concat((0..random.below(4)).map(|_| bounded(random, depth - 1)).collect()),
        3 => {
            Node::Alternate((0..1 + random.below(3)).map(|_| bounded(random, depth - 1)).collect())
        }
        _ => {
            let min = random.below(3) as u32;
            let max = Some(min + random.below(3) as u32);
            Node::Repeat { node: Box::new(bounded(random, depth - 1)), min, max }
        }
    }
}

fn expression(random: &mut Random) -> Node {
    let mut parts = vec![];
    if random.one_in(4) {
        parts.push(Node::Assert(Assertion::TextStart));
    }
    for piece in 0..1 + random.below(3) {
        if piece > 0 || random.one_in(6) {
            let class = match random.below(3) {
                0 => ByteSet::ALL,
                1 => ByteSet::one(b'\n').complement(),
                _ => b"\n1".iter().copied().collect::<ByteSet>().complement(),
            };
            let min = random.below(3) as u32;
            parts.push(Node::Repeat { node: Box::new(Node::Class(class)), min, max: None });
        }
        for _ in 0..random.below(3) {
            parts.push(bounded(random, 2));
        }
        parts.extend(string(random));
        for _ in 0..random.below(3) {
            parts.push(bounded(random, 2));
        }
    }
    match random.below(6) {
        0 => parts.push(Node::Assert(Assertion::TextEnd)),
        1 => parts.push(Node::Assert(Assertion::TextEndOrNewline)),
        _ => {}
    }
    let whole = Node::Concat(parts);
    match random.below(5) {
        0 => Node::Alternate(vec![whole, Node::Concat(string(random))]),
        _ => whole,
    }
}

/// A string that the node matches, more or less.
fn sample(node: &Node, random: &mut Random, out: &mut Vec<u8>) {
    match node {
        Node::Empty | Node::Assert(_) => {}
        Node::Class(class) => {
            let bytes: Vec<u8> = LETTERS.iter().copied().filter(|&b| class.contains(b)).collect();
            if !bytes.is_empty() {
                out.push(bytes[random.below(bytes.len() as u64) as usize]);
            }
        }
        Node::Concat(parts) => parts.iter().for_each(|part| sample(part, random, out)),
        Node::Alternate(parts) if parts.is_empty() => {}
        Node::Alternate(parts) => {
            sample(&parts[random.below(parts.len() as u64) as usize], random, out);
        }
        Node::Repeat { node, min, max } => {
            let most = max.unwrap_or(min + 6);
            for _ in 0..*min + random.below(u64::from(most - min) + 1) as u32 {
                sample(node, random, out);
            }
        }
    }
}

/// Strings of the patterns, whole and in part, with noise between them.
fn text(patterns: &[Pattern], random: &mut Random) -> Vec<u8> {
    let most = if random.one_in(16) { 400 } else { 80 };
    let len = random.below(most) as usize;
    let few = 2 + random.below(5);
    let mut data = vec![];
    while data.len() < len {
        let before = data.len();
        let pattern = &patterns[random.below(patterns.len() as u64) as usize];
        sample(&pattern.node, random, &mut data);
        if random.one_in(3) {
            let kept = random.below((data.len() - before) as u64 + 1) as usize;
            data.truncate(before + kept);
        }
        let noise = if random.one_in(2) { 0 } else { random.below(8) };
        data.extend((0..noise).map(|_| LETTERS[random.below(few) as usize]));
        if data.len() == before {
            data.push(b'a');
        }
    }
    data.truncate(len);
    data
}

fn collect(
    hit: impl FnOnce(&mut dyn FnMut(Match) -> ControlFlow<()>) -> ControlFlow<()>,
) -> Vec<Match> {
    let mut all = vec![];
    let flow = hit(&mut |found| {
        all.push(found);
        ControlFlow::Continue(())
    });
    assert!(flow.is_continue());
    all
}

fn sorted(mut all: Vec<Match>) -> Vec<Match> {
    assert!(all.is_sorted_by_key(|found| found.end));
    all.sort_unstable();
    all
}

#[test]
fn blocks_and_streams_agree_with_the_oracle() {
    let cases = std::env::var("LOOKASIDE_SCAN_CASES").map_or(3_000, |n| n.parse().unwrap());
    let seed = std::env::var("LOOKASIDE_SCAN_SEED").map_or(0, |n| n.parse().unwrap());
    let (mut sets, mut matches) = (0, 0);
    let mut scratch = Scratch::new();
    for case in seed..seed + cases {
        let mut random = Random(case);
        let count = 1 + random.below(4);
        let patterns: Vec<Pattern> = (0..count)
            .map(|id| Pattern {
                id: id as u32,
                flags: Flags { som_leftmost: random.one_in(4), ..Flags::default() },
                extended: Extended::default(),
                node: expression(&mut random),
                combination: None,
            })
            .collect();
        let cpu = Cpu::with_cap(Tier::ALL[random.below(Tier::ALL.len() as u64) as usize]);
        let block = Set::new(&patterns, Mode::Block, &cpu);
        let stream = Set::new(&patterns, Mode::Stream, &cpu);
        let data = text(&patterns, &mut random);
        let expected = oracle(&patterns, &data);
        let what = |how: &str| {
            format!("case {case}, {how}: {patterns:?} on {:?}", data.escape_ascii().to_string())
        };
        if let Ok(set) = block {
            let found = collect(|hit| set.scan(&mut scratch, &data, hit));
            assert_eq!(sorted(found), expected, "{}", what("block"));
            sets += 1;
            matches += expected.len();
        }
        let Ok(set) = stream else { continue };
        let mut state = vec![0xaa; set.state_len()];
        set.begin(&mut state);
        let most = if random.one_in(2) { 3 } else { 100 };
        let longest = 1 + random.below(most);
        let mut rest = &data[..];
        let mut found = vec![];
        while !rest.is_empty() {
            let (piece, later) =
                rest.split_at((random.below(longest + 1) as usize).min(rest.len()));
            // Now and then the scan is stopped after some matches, and goes on.
            let mut room = if random.one_in(3) { random.below(3) } else { u64::MAX };
            let mut at = 0;
            loop {
                let mut stopped = false;
                // After a stop, the rest may come in any pieces.
                let some = random.below((piece.len() - at) as u64 + 1) as usize;
                let to = if random.one_in(2) { piece.len() } else { at + some };
                at += set.scan_piece(&mut scratch, &mut state, &piece[at..to], &mut |one| {
                    if room == 0 {
                        (room, stopped) = (2, true);
                        return ControlFlow::Break(());
                    }
                    room -= 1;
                    found.push(one);
                    ControlFlow::Continue(())
                });
                if !stopped && at == piece.len() {
                    break;
                }
            }
            assert_eq!(at, piece.len());
            rest = later;
        }
        found.extend(collect(|hit| set.finish(&mut scratch, &mut state, hit)));
        found.sort_unstable();
        assert_eq!(found, expected, "{}", what("stream"));
        sets += 1;
    }
    assert!(sets as u64 > cases && matches as u64 > cases, "{sets} sets, {matches} matches");
}

/// Sets so large that the strided or the shift-or filter serves them, with windows that reach over the classes around short strings: wherever
/// pieces end, on every tier, matches are those of the definition.
#[test]
fn classes_around_short_strings_of_large_sets() {
    let mut random = Random(5);
    let mut scratch = Scratch::new();
    let (mut matches, mut by_pairs) = (0, 0);
    for round in 0..6 {
        let letters = [&b"abcdefgh"[..], b"abcdefghijklmnopqrstuvwxyz", b"aAbBcC01"][round % 3];
        let letter = |random: &mut Random| letters[random.below(letters.len() as u64) as usize];
        // Parts before the string, the string, and parts behind it, each with what it is in a sample.
        let patterns: Vec<(Pattern, Vec<u8>)> = (0..300)
            .map(|id| {
                let (mut text, mut sample) = (String::new(), vec![]);
                let around = |random: &mut Random, text: &mut String, sample: &mut Vec<u8>| {
                    for _ in 0..random.below(4) {
                        let of: Vec<u8> =
                            (0..1 + random.below(6)).map(|_| letter(random)).collect();
                        *text += &format!("[{}]", String::from_utf8(of.clone()).unwrap());
                        sample.push(of[random.below(of.len() as u64) as usize]);
                    }
                };
                around(&mut random, &mut text, &mut sample);
                for _ in 0..3 + random.below(4) {
                    let one = letter(&mut random);
                    text.push(char::from(one));
                    sample.push(one);
                }
                around(&mut random, &mut text, &mut sample);
                let caseless = random.one_in(3);
                let flags = Flags { caseless, ..Flags::default() };
                let pattern = Pattern::parse(id, text.as_bytes(), flags, Extended::default());
                (pattern.unwrap(), sample)
            })
            .collect();
        let (patterns, samples): (Vec<Pattern>, Vec<Vec<u8>>) = patterns.into_iter().unzip();
        let mut data = vec![];
        while data.len() < 1000 {
            let sample = &samples[random.below(300) as usize];
            let kept = if random.one_in(4) {
                random.below(sample.len() as u64) as usize
            } else {
                sample.len()
            };
            data.extend_from_slice(&sample[..kept]);
            data.extend((0..random.below(3)).map(|_| letter(&mut random)));
        }
        let expected = oracle(&patterns, &data);
        matches += expected.len();
        for tier in Tier::here() {
            let cpu = Cpu::with_cap(tier);
            let block = Set::new(&patterns, Mode::Block, &cpu).unwrap();
            let explained = block.explain();
            let filters = ["strided filter", "shift-or filter"];
            assert!(filters.iter().any(|filter| explained.contains(filter)), "{tier}: {explained}");
            by_pairs += usize::from(explained.contains(filters[1]));
            let found = collect(|hit| block.scan(&mut scratch, &data, hit));
            assert_eq!(sorted(found), expected, "round {round}, block, {tier}");
            let stream = Set::new(&patterns, Mode::Stream, &cpu).unwrap();
            for longest in [1, 7, 90] {
                let mut state = vec![0xaa; stream.state_len()];
                stream.begin(&mut state);
                let (mut rest, mut found) = (&data[..], vec![]);
                while !rest.is_empty() {
                    let len = (1 + random.below(longest) as usize).min(rest.len());
                    let (piece, later) = rest.split_at(len);
                    stream.scan_piece(&mut scratch, &mut state, piece, &mut |one| {
                        found.push(one);
                        ControlFlow::Continue(())
                    });
                    rest = later;
                }
                found.extend(collect(|hit| stream.finish(&mut scratch, &mut state, hit)));
                assert_eq!(sorted(found), expected, "round {round}, {tier}, pieces of {longest}");
            }
        }
    }
    assert!(matches > 500 && by_pairs > 2, "{matches} matches, {by_pairs} sets by shift-or");
}

#[test]
fn patterns_of_one_id_have_one_match_at_an_end() {
    let pattern = |id, text: &str, letters: &[u8]| {
        let flags = Flags::from_letters(letters).unwrap();
        Pattern::parse(id, text.as_bytes(), flags, Extended::default()).unwrap()
    };
    let of = |letters: &[u8]| {
        let texts = ["bc", "abc", "a.c", "x*bc"];
        let mut patterns: Vec<Pattern> =
            texts.iter().map(|text| pattern(7, text, letters)).collect();
        patterns.push(pattern(9, "c", b""));
        let set = Set::new(&patterns, Mode::Block, Cpu::host()).unwrap();
        let mut found = vec![];
        let flow = set.scan(&mut Scratch::new(), b"abc abc", &mut |one| {
            found.push((one.id, one.start, one.end));
            ControlFlow::Continue(())
        });
        assert!(flow.is_continue());
        found
    };
    assert_eq!(of(b""), [(7, 0, 3), (9, 0, 3), (7, 0, 7), (9, 0, 7)]);
    // The leftmost start of all of them.
    assert_eq!(of(b"L"), [(7, 0, 3), (9, 0, 3), (7, 4, 7), (9, 0, 7)]);
    assert_eq!(of(b"H"), [(7, 0, 3), (9, 0, 3), (9, 0, 7)]);
}

/// A combination that is true where nothing matches is reported at the end, of the shortest text too.
#[test]
fn what_is_true_without_a_match_is_reported() {
    let pattern = |id, text: &str, letters: &[u8]| {
        let flags = Flags::from_letters(letters).unwrap();
        Pattern::parse(id, text.as_bytes(), flags, Extended::default()).unwrap()
    };
    let patterns = [pattern(1, "abcd", b""), pattern(2, "!1", b"C")];
    for tier in Tier::here() {
        let set = Set::new(&patterns, Mode::Block, &Cpu::with_cap(tier)).unwrap();
        for (text, expected) in [("xyz", vec![(2, 3)]), ("xabcd", vec![(1, 5)])] {
            let found =
                collect(|hit| set.scan(&mut Scratch::new(), text.as_bytes(), &mut |one| hit(one)));
            let found: Vec<_> = found.iter().map(|one| (one.id, one.end)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}

/// A string that begins in one long piece and ends in the next, neither of which has anything else of the set.
#[test]
fn a_string_from_piece_to_piece() {
    let sets: [&[&str]; 4] =
        [&["abcdefgh"], &["(?i)abcdefgh"], &["abcdefgh", "wxyz"], &["[01]abcdefgh[01]"]];
    let occurrence = b"1abcdefgh0";
    for (tier, texts) in Tier::here().flat_map(|tier| sets.map(|texts| (tier, texts))) {
        let parsed = (0..).zip(texts).map(|(id, text)| {
            Pattern::parse(id, text.as_bytes(), Flags::default(), Extended::default()).unwrap()
        });
        let patterns: Vec<Pattern> = parsed.collect();
        let set = Set::new(&patterns, Mode::Stream, &Cpu::with_cap(tier)).unwrap();
        let (mut scratch, mut state) = (Scratch::new(), vec![0; set.state_len()]);
        let end = 9 + u64::from(texts[0].ends_with(']'));
        for size in [600, 1500] {
            for before in 0..=occurrence.len() {
                let at = size - before;
                let mut text = vec![b'-'; 2 * size];
                text[at..at + occurrence.len()].copy_from_slice(occurrence);
                set.begin(&mut state);
                let mut ends = vec![];
                for piece in text.chunks(size) {
                    set.scan_piece(&mut scratch, &mut state, piece, &mut |found| {
                        ends.push(found.end);
                        ControlFlow::Continue(())
                    });
                }
                assert_eq!(ends, [at as u64 + end], "{tier} {texts:?}, {before} of {size}");
            }
        }
    }
}

/// An empty match at the start of a stream whose first piece has nothing else of the set.
#[test]
fn an_empty_match_before_a_piece_that_is_passed_over() {
    let flags = Flags::from_letters(b"V").unwrap();
    let text = r"(?:^|[xX][0-9][yY][0-9]{1,9}[zZ])";
    let pattern = Pattern::parse(3, text.as_bytes(), flags, Extended::default()).unwrap();
    for tier in Tier::here() {
        let set =
            Set::new(std::slice::from_ref(&pattern), Mode::Stream, &Cpu::with_cap(tier)).unwrap();
        let (mut scratch, mut state) = (Scratch::new(), vec![0; set.state_len()]);
        set.begin(&mut state);
        let mut found = vec![];
        for piece in ["------", "-x7y12z-", "------"] {
            found.extend(collect(|hit| {
                assert_eq!(
                    set.scan_piece(&mut scratch, &mut state, piece.as_bytes(), hit),
                    piece.len()
                );
                ControlFlow::Continue(())
            }));
        }
        let ends: Vec<u64> = found.iter().map(|one| one.end).collect();
        assert_eq!(ends, [0, 13], "{tier}: {}", set.explain());
    }
}

/// A match that waits for the next byte keeps its place among those of its end, wherever the rest of a stopped piece is cut.
#[test]
fn a_stop_among_matches_that_wait() {
    let pattern = |id, text: &str| {
        Pattern::parse(id, text.as_bytes(), Flags::default(), Extended::default()).unwrap()
    };
    let patterns = [pattern(0, r"(?i)(?:a\B){3,}"), pattern(1, "[ac]"), pattern(2, "a{3}")];
    let set = Set::new(&patterns, Mode::Stream, Cpu::host()).unwrap();
    let text = b"xaaax";
    for stop in 0..8 {
        for (first, second) in (1..=text.len()).flat_map(|a| (1..=text.len()).map(move |b| (a, b)))
        {
            let (mut scratch, mut state) = (Scratch::new(), vec![0; set.state_len()]);
            set.begin(&mut state);
            let (mut found, mut room) = (vec![], stop);
            let mut at = set.scan_piece(&mut scratch, &mut state, &text[..first], &mut |one| {
                if room == 0 {
                    return ControlFlow::Break(());
                }
                room -= 1;
                found.push((one.end, one.id));
                ControlFlow::Continue(())
            });
            while at < text.len() {
                let to = text.len().min(at + second);
                at += set.scan_piece(&mut scratch, &mut state, &text[at..to], &mut |one| {
                    found.push((one.end, one.id));
                    ControlFlow::Continue(())
                });
            }
            let _ = set.finish(&mut scratch, &mut state, &mut |one| {
                found.push((one.end, one.id));
                ControlFlow::Continue(())
            });
            let all = [(2, 1), (3, 1), (4, 1), (4, 2), (4, 0)];
            assert_eq!(found, all, "stop {stop}, pieces of {first} and {second}");
        }
    }
}

/// Bounded gaps: distances around their bounds, other bytes in them, several beginnings; streams cut anywhere.
#[test]
fn gaps_end_where_they_must() {
    let texts = [
        "abcd.{0,20}efgh",
        "abcd[^\n]{3,30}efgh",
        "abcd[x-z]{2,25}efgh",
        "abcd.{1,20}bcda",
        "(?s)abcd.{0,20}efgh.{0,17}ijkl",
        "abcd.*efgh.{0,16}ijkl",
    ];
    let parsed = |id, text: &str| {
        Pattern::parse(id, text.as_bytes(), Flags::default(), Extended::default()).unwrap()
    };
    let patterns: Vec<Pattern> = (0..).zip(texts).map(|(id, text)| parsed(id, text)).collect();
    let fill = |n: usize| "xyz".chars().cycle().take(n).collect::<String>();
    let mut data = vec![];
    for n in [0, 1, 2, 3, 16, 17, 18, 19, 20, 21, 24, 25, 26, 30, 31] {
        data.push(format!("abcd{}efgh", fill(n)));
        data.push(format!("abcd{}abcd{}efgh{}ijkl", fill(n), fill(5), fill(n)));
        data.push(format!("abcd\n{}efgh\n{}ijkl", fill(n), fill(12)));
        data.push(format!("efghabcd{}bcda", fill(n)));
    }
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        let block = Set::new(&patterns, Mode::Block, &cpu).unwrap();
        let stream = Set::new(&patterns, Mode::Stream, &cpu).unwrap();
        let said = stream.explain();
        assert!(!said.contains("automat"), "these are to be gaps: {said}");
        let mut scratch = Scratch::new();
        for data in &data {
            let data = data.as_bytes();
            let expected = oracle(&patterns, data);
            let found = collect(|hit| block.scan(&mut scratch, data, hit));
            assert_eq!(sorted(found), expected, "{tier}: {}", data.escape_ascii());
            for cut in 0..=data.len() {
                for size in [1, 3, 7, data.len()] {
                    let mut state = vec![0x55; stream.state_len()];
                    stream.begin(&mut state);
                    let mut found = vec![];
                    let rest = data[cut..].chunks(size);
                    for piece in [&data[..cut]].into_iter().chain(rest) {
                        found.extend(collect(|hit| {
                            let taken = stream.scan_piece(&mut scratch, &mut state, piece, hit);
                            assert_eq!(taken, piece.len());
                            ControlFlow::Continue(())
                        }));
                    }
                    found.extend(collect(|hit| stream.finish(&mut scratch, &mut state, hit)));
                    let what = format!("{tier}, {cut} and {size}: {}", data.escape_ascii());
                    assert_eq!(sorted(found), expected, "{what}");
                }
            }
        }
    }
}

/// Automata around strings, in streams: what a match began with may be far behind the bytes that are kept. Together, and each alone,
/// for which pieces without anything of it are passed over.
#[test]
fn what_began_long_ago_is_known() {
    let texts = [
        r"a[^\n]*(xy)*foo",
        r"b(xy)*[^\n]*(xy)*foo",
        r"^c[^\n]*(xy)*bar",
        r"[de][^\n]*(xy)+bar",
        r"f[^\n]{0,9}(xy)*bar",
    ];
    let parsed = |id, text: &str| {
        Pattern::parse(id, text.as_bytes(), Flags::default(), Extended::default()).unwrap()
    };
    let patterns: Vec<Pattern> = (0..).zip(texts).map(|(id, text)| parsed(id, text)).collect();
    let (short, long) = ("-".repeat(90), "-".repeat(1500));
    let mut data = vec![];
    for first in ["a", "b", "c", "d", "bxy", "f", "-", "axyxy"] {
        for end in ["foo", "xyfoo", "xyxybar", "bar", "xybar-foo", "fo"] {
            data.push(format!("{first}{long}{end}"));
            data.push(format!("{long}{first}{long}{end}"));
            data.push(format!("{first}{short}{end}{long}{end}"));
            data.push(format!("{long}{first}{long}\n{short}{end}"));
            data.push(format!("{long}{first}{long}{first}{end}"));
            data.push(format!("{short}\n{first}{long}{end}"));
        }
    }
    let sets = || [&patterns[..]].into_iter().chain(patterns.chunks(1));
    for (tier, patterns) in Tier::here().flat_map(|tier| sets().map(move |set| (tier, set))) {
        let cpu = Cpu::with_cap(tier);
        let block = Set::new(patterns, Mode::Block, &cpu).unwrap();
        let stream = Set::new(patterns, Mode::Stream, &cpu).unwrap();
        let (said, count) = (stream.explain(), patterns.len());
        let automata = format!("around strings: {count} lazy DFAs");
        assert!(said.contains(&automata), "all are to be automata: {said}");
        let mut scratch = Scratch::new();
        for data in &data {
            let data = data.as_bytes();
            let expected = sorted(collect(|hit| block.scan(&mut scratch, data, hit)));
            for size in [1, 7, 64, 127, 600, 1000, data.len()] {
                let mut state = vec![0x55; stream.state_len()];
                stream.begin(&mut state);
                let mut found = vec![];
                for piece in data.chunks(size) {
                    found.extend(collect(|hit| {
                        let taken = stream.scan_piece(&mut scratch, &mut state, piece, hit);
                        assert_eq!(taken, piece.len());
                        ControlFlow::Continue(())
                    }));
                }
                let (id, text) = (patterns[0].id, data.escape_ascii());
                let what =
                    format!("{tier}, {count} from pattern {id} on, pieces of {size}: {text}");
                assert_eq!(sorted(found), expected, "{what}");
            }
        }
    }
}

/// Parts that are looked for byte by byte, alternatives with gaps, and strings in every text; with all matches, and the first alone.
#[test]
fn parts_behind_gaps_are_found_however_they_are_looked_for() {
    let texts = [
        // Alternatives with gaps, which are apart from others.
        "; ?(one|two[^;]{1,40}|(?:three|3).{0,30}) Build",
        "; ?(Ainol |)((?:NOVO|[Nn]ovo)[^;/]{1,60})(?: Build|\\) Web)",
        // Parts without a good string.
        "Mozilla.{1,40}GSA.{0,20}[ab]c?d",
        "abcd.*[xy]z?[^;]*q[rs]?t",
        "(?s)abcd.*[xy]{1,20}z.*q{1,3}",
        "abcd.{0,20}(?:[xy]{2,4}|q)z{0,3}[^;]{0,17}r",
        "^(?:[xy]{1,20}|)[^;]*[qr]t",
        // The gap begins at the start of the text.
        "^.{0,30}?([a-c]{0,20}|)[Bb]ot",
        "^.{0,40}([Ss]pider|[Ss]crape|(?i:crawl))[a-z]{0,20}[/ ]",
        "^[^;]{0,20}[xy]z[^;]*[qr]",
    ];
    let fragments = [
        "; one",
        "; two",
        ";three",
        ";3",
        "; Ainol ",
        "NOVO",
        "Novo",
        "nova",
        " Build",
        ") Web",
        "Mozilla",
        "GSA",
        "acd",
        "bd",
        "abcd",
        "x",
        "xyz",
        "yy",
        "q",
        "qrt",
        "qt",
        "zz",
        "r",
        "rt",
        "bot",
        "aBot",
        "Spider",
        "scrape/",
        "cRAWLabc ",
        ";",
        "\n",
        " ",
        "-----------",
        "xyxyxyxyxyxyxyxyxyxyxyxy",
    ];
    // What is to match, with something between its parts now and then.
    let templates: [&[&str]; 5] = [
        &["abcd", "x", ";", "yy", "qt"],
        &["; ", "Novo", "x", "yy", ") Web"],
        &["Mozilla", "x", "GSA", "x", "acd"],
        &["abcd", "xyz", "x", "qrt"],
        &["-", "cRAWLabc ", "bot"],
    ];
    let random = &mut Random(1);
    for single_match in [false, true] {
        let flags = Flags { single_match, ..Flags::default() };
        let parsed = |id, text: &str| {
            Pattern::parse(id, text.as_bytes(), flags, Extended::default()).unwrap()
        };
        let patterns: Vec<Pattern> = (0..).zip(texts).map(|(id, text)| parsed(id, text)).collect();
        let sets = Tier::here().map(|tier| {
            let cpu = Cpu::with_cap(tier);
            let [block, stream] =
                [Mode::Block, Mode::Stream].map(|mode| Set::new(&patterns, mode, &cpu).unwrap());
            let said = stream.explain();
            let swept = said.matches("byte by byte").count();
            assert!(swept >= 4 && said.matches(" gaps").count() >= 9, "sequences: {said}");
            (block, stream)
        });
        let sets: Vec<_> = sets.collect();
        let (mut scratch, mut matches) = (Scratch::new(), vec![0; texts.len()]);
        for round in 0..600 {
            let mut data = String::new();
            for part in templates[random.below(5) as usize] {
                data += part;
                if random.one_in(5) {
                    data += fragments[random.below(fragments.len() as u64) as usize];
                }
            }
            if random.one_in(2) {
                data.clear();
            }
            for _ in 0..1 + random.below(10) {
                data += fragments[random.below(fragments.len() as u64) as usize];
            }
            let data = data.as_bytes();
            let mut expected = oracle(&patterns, data);
            if single_match {
                let all = expected.clone();
                expected.retain(|it| !all.iter().any(|one| one.id == it.id && one.end < it.end));
            }
            expected.iter().for_each(|it| matches[it.id as usize] += 1);
            let (block, stream) = &sets[round % sets.len()];
            let found = collect(|hit| block.scan(&mut scratch, data, hit));
            assert_eq!(sorted(found), expected, "{}", data.escape_ascii());
            let mut state = vec![0x55; stream.state_len()];
            stream.begin(&mut state);
            let (mut found, mut rest) = (vec![], data);
            while !rest.is_empty() {
                let most = [3, 12, 60][random.below(3) as usize];
                let (piece, more) =
                    rest.split_at((1 + random.below(most) as usize).min(rest.len()));
                found.extend(collect(|hit| {
                    assert_eq!(
                        stream.scan_piece(&mut scratch, &mut state, piece, hit),
                        piece.len()
                    );
                    ControlFlow::Continue(())
                }));
                rest = more;
            }
            found.extend(collect(|hit| stream.finish(&mut scratch, &mut state, hit)));
            assert_eq!(sorted(found), expected, "in pieces: {}", data.escape_ascii());
        }
        assert!(matches.iter().all(|count| *count > 5), "{matches:?}");
    }
}
