mod guarded;

use std::ops::ControlFlow;

use lookaside_simd::{Cpu, Tier};

use super::plan::Forced;
use super::{Around, Finder, Literal};

/// SplitMix64: enough for tests, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn bytes(&mut self, len: usize, alphabet: &[u8]) -> Vec<u8> {
        (0..len).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }
}

fn literal(bytes: &[u8], caseless: bool) -> Literal {
    Literal { bytes: bytes.into(), caseless, around: Around::default() }
}

/// Every occurrence, found the obvious way: literal and end, sorted.
fn naive(literals: &[Literal], hay: &[u8], from: usize) -> Vec<(u32, usize)> {
    let mut found = Vec::new();
    for (index, Literal { bytes, caseless, .. }) in literals.iter().enumerate() {
        for end in (from + 1).max(bytes.len())..=hay.len() {
            let there = &hay[end - bytes.len()..end];
            let equal =
                if *caseless { there.eq_ignore_ascii_case(bytes) } else { there == &**bytes };
            if equal && !bytes.is_empty() {
                found.push((index as u32, end));
            }
        }
    }
    found.sort_unstable();
    found
}

fn found(finder: &Finder, hay: &[u8], from: usize) -> Vec<(u32, usize)> {
    let mut found = Vec::new();
    let flow = finder.find(hay, from, &mut |index, end| {
        found.push((index, end));
        ControlFlow::Continue(())
    });
    assert!(flow.is_continue());
    found.sort_unstable();
    found
}

/// Finders for one set: all tiers and all filters.
fn finders(literals: &[Literal]) -> Vec<(String, Finder)> {
    let mut all = Vec::new();
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        let mut add = |forced: Forced| {
            all.push((format!("{tier} {forced:?}"), Finder::forced(literals, &cpu, forced)));
        };
        add(Forced::default());
        add(Forced { split: true, ..Forced::default() });
        for gram in [1, 2, 3, 4, 5, 6, 8] {
            for rare in [false, true] {
                for pairs in [false, true] {
                    let split = gram == 3 && !pairs;
                    let (filter, gram) = (Some("strided"), Some(gram));
                    let (rare, pairs) = (Some(rare), Some(pairs));
                    add(Forced { filter, gram, rare, pairs, split, ..Forced::default() });
                }
            }
        }
        for (gram, sets) in [(1, 1), (2, 1), (3, 1), (4, 1), (1, 2), (2, 2), (3, 2), (4, 2)] {
            let (filter, split) = (Some("vector"), gram == 3);
            let (gram, sets) = (Some(gram), Some(sets));
            add(Forced { filter, gram, sets, split, ..Forced::default() });
        }
        for step in [1, 2, 4] {
            for bits in [12, 13] {
                for gram in [None, Some(3)] {
                    let (filter, split) = (Some("shift-or"), gram.is_some() && step == 2);
                    let (step, bits) = (Some(step), Some(bits));
                    add(Forced { filter, gram, step, bits, split, ..Forced::default() });
                }
            }
        }
    }
    all
}

/// All finders for `literals` say of `hays` what the naive search says.
fn check(literals: &[Literal], hays: &[(Vec<u8>, usize)]) -> usize {
    let finders = finders(literals);
    let mut occurrences = 0;
    for (hay, from) in hays {
        let expected = naive(literals, hay, *from);
        occurrences += expected.len();
        let none = naive(literals, hay, 0).is_empty();
        for (name, finder) in &finders {
            let found = found(finder, hay, *from);
            assert_eq!(found, expected, "{name}\n{literals:?}\nin {hay:?} from {from}");
            assert!(none || !finder.is_quiet(hay), "{name}\n{literals:?}\nin {hay:?}");
        }
    }
    occurrences
}

/// Sets of random literals over few and over all bytes, in haystacks of all short lengths.
#[test]
fn as_the_naive_search() {
    let alphabets: [&[u8]; 5] = [
        b"ab",
        b"abAB@`[{",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        &[0, 255, 128, 0x80 | b'a', b'a', b'A'],
        &std::array::from_fn::<u8, 256, _>(|byte| byte as u8),
    ];
    let random = &mut Random(1);
    let mut occurrences = 0;
    for round in 0..60 {
        let alphabet = alphabets[round % alphabets.len()];
        let count = [1, 2, 3, 9, 20, 300][random.below(6)];
        let (shortest, longest) =
            [(1, 3), (4, 9), (10, 10), (2, 20), (8, 8), (1, 40), (5, 5)][random.below(7)];
        let literals: Vec<_> = (0..count)
            .map(|_| {
                let len = shortest + random.below(longest - shortest + 1);
                literal(&random.bytes(len, alphabet), random.below(3) == 0)
            })
            .collect();
        let hays: Vec<_> = (0..12)
            .map(|_| {
                let len = random.below(300);
                let mut hay = random.bytes(len, alphabet);
                for _ in 0..len / 20 {
                    let literal = &literals[random.below(literals.len())].bytes;
                    let keep = literal.len() - random.below(3).min(literal.len() - 1);
                    let at = random.below(len);
                    let keep = keep.min(len - at);
                    hay[at..at + keep].copy_from_slice(&literal[..keep]);
                    if random.below(2) == 0 {
                        hay[at..at + keep].make_ascii_uppercase();
                    }
                }
                let from = if random.below(2) == 0 { 0 } else { random.below(len + 1) };
                (hay, from)
            })
            .collect();
        occurrences += check(&literals, &hays);
    }
    assert!(occurrences > 10_000, "{occurrences}");
}

/// One string, compared with many positions at once: in texts of all lengths up to some groups of 256 positions, with rare
/// occurrences, with nothing else, and more than candidates have room for.
#[test]
fn a_string_alone() {
    let random = &mut Random(11);
    let mut occurrences = 0;
    for round in 0..80 {
        let alphabet: &[u8] = [&b"ab"[..], b"aA@`", &[0, 0x80 | b'a', b'a', b'A', 0xff]][round % 3];
        let len = 1 + random.below(6);
        let one = literal(&random.bytes(len, alphabet), random.below(2) == 0);
        let mut hays = vec![(one.bytes.repeat(3000 / len), 0)];
        for _ in 0..6 {
            let len = random.below(1200);
            let mut hay = vec![b'.'; len];
            for _ in 0..[0, 1, 5, len][random.below(4)].min(len) {
                let at = random.below(len);
                let part = &one.bytes[..one.bytes.len().min(len - at)];
                hay[at..at + part.len()].copy_from_slice(part);
                if random.below(3) == 0 {
                    hay[random.below(len)] = alphabet[random.below(alphabet.len())];
                    hay[at..at + part.len()].make_ascii_uppercase();
                }
            }
            hays.push((hay, if random.below(3) == 0 { random.below(len + 1) } else { 0 }));
        }
        occurrences += check(&[one], &hays);
    }
    assert!(occurrences > 50_000, "{occurrences}");
}

/// What stands around short literals: each occurrence with it is found, and nothing but occurrences.
#[test]
fn occurrences_with_their_neighbours_are_found() {
    let random = &mut Random(6);
    let alphabets: [&[u8]; 3] = [b"abAB", b"ABCDabcd@`[{", b"abcdefghijklmnopqrstuvwxyz0123456789"];
    let (mut missing, mut required) = (0, 0);
    for round in 0..30 {
        let alphabet = alphabets[round % 3];
        let literals: Vec<_> = (0..[1, 5, 60][random.below(3)])
            .map(|_| {
                let len = 1 + random.below(5);
                let side = |random: &mut Random| -> Vec<super::Bytes> {
                    let set = |random: &mut Random| {
                        let mut set = [0; 4];
                        for byte in (0..1 + random.below(12))
                            .map(|_| alphabet[random.below(alphabet.len())])
                        {
                            set[usize::from(byte >> 6)] |= 1 << (byte & 63);
                        }
                        set
                    };
                    (0..random.below(4)).map(|_| set(random)).collect()
                };
                let around = Around { before: side(random), after: side(random) };
                Literal { around, ..literal(&random.bytes(len, alphabet), random.below(2) == 0) }
            })
            .collect();
        let with_neighbours = |hay: &[u8], &(index, end): &(u32, usize)| {
            let Literal { bytes, around, .. } = &literals[index as usize];
            let start = end - bytes.len();
            let has = |set: &super::Bytes, byte: Option<&u8>| {
                byte.is_some_and(|byte| set[usize::from(byte >> 6)] >> (byte & 63) & 1 != 0)
            };
            let mut before = hay[..start].iter().rev();
            let mut after = hay[end..].iter();
            around.before.iter().all(|set| has(set, before.next()))
                && around.after.iter().all(|set| has(set, after.next()))
        };
        let finders = finders(&literals);
        for _ in 0..10 {
            let len = random.below(200);
            let hay = random.bytes(len, alphabet);
            let from = if random.below(2) == 0 { 0 } else { random.below(len + 1) };
            let all = naive(&literals, &hay, from);
            for (name, finder) in &finders {
                let found = found(finder, &hay, from);
                assert!(found.windows(2).all(|two| two[0] != two[1]), "{name}: twice");
                assert!(found.iter().all(|one| all.binary_search(one).is_ok()), "{name}");
                for one in all.iter().filter(|one| with_neighbours(&hay, one)) {
                    assert!(
                        found.binary_search(one).is_ok(),
                        "{name}\n{literals:?}\nin {hay:?} from {from}: {one:?}"
                    );
                    required += 1;
                }
                missing += all.len() - found.len();
            }
        }
    }
    assert!(required > 10_000 && missing > 10_000, "{required} {missing}");
}

/// All lengths up to 4 vectors and one, each at the end of its memory and after a page that cannot be read.
#[test]
fn nothing_outside_is_read() {
    let random = &mut Random(2);
    let memory = guarded::Pages::new();
    let sets: Vec<Vec<Literal>> =
        [(1, 2, 3), (4, 4, 1), (1, 1, 1), (3, 4, 20), (10, 10, 30), (2, 14, 40), (33, 40, 3)]
            .map(|(shortest, longest, count)| {
                (0..count)
                    .map(|_| {
                        let len = shortest + random.below(longest - shortest + 1);
                        literal(&random.bytes(len, b"abc"), random.below(2) == 0)
                    })
                    .collect()
            })
            .into();
    for literals in sets {
        let finders = finders(&literals);
        for len in 0..=4 * 64 + 1 {
            let hay = random.bytes(len, b"abcABC");
            let from = random.below(len + 1);
            let expected = naive(&literals, &hay, from);
            for hay in [memory.at_end(&hay), memory.at_begin(&hay)] {
                for (name, finder) in &finders {
                    assert_eq!(found(finder, hay, from), expected, "{name} at {len}");
                }
            }
        }
    }
}

/// Haystacks of many blocks and segments.
#[test]
fn long_haystacks() {
    let random = &mut Random(3);
    let sets: [(&[u8], _); 3] = [
        (b"abcdefgh", [4, 5, 6, 12]),
        (b"abcdefghijklmnopqrstuvwxyz", [2, 3, 9, 9]),
        // What kernels put where nothing was loaded.
        (b"\0\0\0\x20ab", [4, 5, 7, 13]),
    ];
    for (alphabet, lens) in sets {
        let literals: Vec<_> =
            (0..200).map(|i| literal(&random.bytes(lens[i % 4], alphabet), i % 5 == 0)).collect();
        let hay = random.bytes(100_000, alphabet);
        assert!(check(&literals, &[(hay, 777)]) > 1000);
    }
}

/// Thousands of literals.
#[test]
fn large_sets() {
    let random = &mut Random(4);
    for count in [2000, 20_000] {
        let literals: Vec<_> = (0..count)
            .map(|i| {
                let len = 6 + random.below(8);
                literal(&random.bytes(len, b"abcdefghijklmnop"), i % 3 == 0)
            })
            .collect();
        let mut hay = random.bytes(3000, b"abcdefghijklmnop");
        for (i, at) in (0..2900).step_by(29).enumerate() {
            let bytes = &literals[i * count / 100].bytes;
            hay[at..at + bytes.len()].copy_from_slice(bytes);
        }
        let expected = naive(&literals, &hay, 0);
        assert!(expected.len() >= 100);
        for tier in Tier::here() {
            let finder = Finder::new(&literals, &Cpu::with_cap(tier));
            assert_eq!(found(&finder, &hay, 0), expected, "{count} {tier}");
        }
    }
}

#[test]
fn equal_literals_and_parts_of_each_other() {
    let literals: Vec<_> = [
        ("abcabc", false),
        ("abcabc", false),
        ("ABCabc", true),
        ("abc", false),
        ("bc", false),
        ("c", true),
        ("abcabcabcabcabcabcabcabcabcabcabcabcabcabc", false),
        ("cab", false),
        ("123", true),
        ("123", false),
        ("", false),
    ]
    .map(|(bytes, caseless)| literal(bytes.as_bytes(), caseless))
    .into();
    let hay = b"abcabcABCabc123".repeat(6);
    let other = b"abc".repeat(40);
    assert!(check(&literals, &[(hay, 0), (other.clone(), 0), (other, 100), (Vec::new(), 0)]) > 100);
}

/// Bytes that differ from each other as the two cases of a letter do are not equal.
#[test]
fn what_is_no_letter_has_no_case() {
    let literals = [
        literal(b"@[\\]^_", true),
        literal(b"`{|}~\x7f", true),
        literal(b"a@z[", true),
        literal(b"0123\x10\x11", true),
        literal(b"\xe0\xc0ab", true),
    ];
    let hay = b"@[\\]^_ `{|}~\x7f A@Z[ a`z{ A`z[ 0123\x10\x11 \x10\x11\x12\x13\x10\x11 0123\x30\x31 \xe0\xc0aB \xc0\xe0AB";
    assert_eq!(naive(&literals, hay, 0).len(), 5);
    check(&literals, &[(hay.to_vec(), 0)]);
}

#[test]
fn a_hit_stops_the_scan() {
    let literals = [literal(b"needle", false), literal(b"x", false)];
    for (name, finder) in finders(&literals) {
        let mut calls = 0;
        let flow = finder.find(&b"needlex".repeat(100), 0, &mut |_, _| {
            calls += 1;
            if calls == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(flow.is_break() && calls == 3, "{name}");
    }
}

#[test]
fn an_empty_set_finds_nothing() {
    let finder = Finder::new(&[], Cpu::host());
    assert!(found(&finder, b"anything", 0).is_empty());
    assert!(finder.describe().is_empty() && finder.memory() < 1000);
}

/// Texts of all lengths, without an occurrence, with a near miss and with an occurrence at each place.
#[test]
fn a_text_without_an_occurrence_is_quiet() {
    let pages = guarded::Pages::new();
    for (text, caseless) in [("q", false), ("Qz", true), ("qzxw", false), ("qzxw-validation", true)]
    {
        let literals = [literal(text.as_bytes(), caseless)];
        let miss = [&text.as_bytes()[..text.len() - 1], b"~"].concat();
        for tier in Tier::here() {
            let finder = Finder::new(&literals, &Cpu::with_cap(tier));
            for length in (0..140).chain([500, 1023, 1025, 2000]) {
                let mut hay = vec![b'.'; length];
                let places: Vec<usize> = (0..(length + 1).saturating_sub(text.len()))
                    .filter(|at| length < 140 || at % 61 == 0 || at + text.len() > length - 3)
                    .collect();
                for part in [text.as_bytes(), &miss] {
                    for &at in &places {
                        hay[at..at + text.len()].copy_from_slice(part);
                        let none = naive(&literals, &hay, 0).is_empty();
                        for hay in [pages.at_begin(&hay), pages.at_end(&hay)] {
                            let quiet = finder.is_quiet(hay);
                            let what = (tier, text, length, at);
                            assert!(none || !quiet, "{what:?}");
                            assert!(!none || quiet || length > finder.quiet, "{what:?}");
                        }
                        hay[at..at + text.len()].fill(b'.');
                    }
                }
                assert!(finder.is_quiet(pages.at_end(&hay)) || length > finder.quiet, "{length}");
            }
        }
    }
}
