//! All tiers against each other and the definition; whole scans are compared in `fallback::tests`.
use lookaside_simd::{Cpu, Tier};

use super::kernel::{Isa, LANES, TESTS, Test, Tests};
use super::*;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }
}

/// Tests of random sets that are products of nibbles, so that all tiers accept the same.
fn tests(random: &mut Random) -> Tests {
    let len = 1 + random.below(TESTS);
    let mut offsets: Vec<isize> = (-1..DEPTH as isize).collect();
    let ascii = random.below(2) == 0;
    let one = |random: &mut Random, offset: isize| {
        let mut test = Test { offset, table: [0; 256], nibbles: [[0; 16]; 2] };
        for half in 0..2 {
            for nibble in 0..if half == 1 && ascii { 8 } else { 16 } {
                test.nibbles[half][nibble] = (random.below(256) | random.below(256)) as u8;
            }
        }
        for byte in 0..256 {
            test.table[byte] = test.nibbles[0][byte & 15] & test.nibbles[1][byte >> 4];
        }
        test
    };
    let tests: Vec<Test> = (0..len)
        .map(|_| {
            let offset = offsets.swap_remove(random.below(offsets.len()));
            one(random, offset)
        })
        .collect();
    Tests::new(tests, 1 + random.below(len))
}

fn is_candidate(tests: &Tests, hay: &[u8], at: usize) -> bool {
    let mut buckets = 255;
    for test in &tests.tests {
        let place = at as isize + test.offset;
        if (0..hay.len() as isize).contains(&place) {
            buckets &= test.table[usize::from(hay[place as usize])];
        }
    }
    buckets != 0
}

#[test]
fn every_tier_finds_the_same_candidates() {
    let random = &mut Random(88172645463325252);
    let tiers: Vec<Isa> = Tier::here().map(|tier| Isa::new(&Cpu::with_cap(tier))).collect();
    let (mut found, mut passed) = (0, 0);
    for round in 0..3000 {
        let tests = tests(random);
        let len = 1 + random.below(400);
        let common = random.below(256) as u8;
        // Mostly one byte, so that there are long stretches without a candidate.
        let rare = 1 + random.below(60);
        let hay: Vec<u8> = (0..len)
            .map(|_| if random.below(rare) == 0 { random.below(256) as u8 } else { common })
            .collect();
        let expected: Vec<bool> = (0..len).map(|at| is_candidate(&tests, &hay, at)).collect();
        for &isa in &tiers {
            for at in [0, random.below(len), random.below(len)] {
                let bits = tests.block(isa, &hay, at);
                for lane in 0..LANES {
                    let is = expected.get(at + lane).copied().unwrap_or(false);
                    assert_eq!(bits >> lane & 1 != 0, is, "{round} {isa:?} {at} {lane}");
                    found += usize::from(is);
                }
                let (to, bits) = tests.blocks(isa, &hay, at);
                assert!(
                    to >= at && expected[at..to.min(len)].iter().all(|is| !is),
                    "{round} {isa:?}"
                );
                passed += to - at;
                if bits != 0 {
                    let all = (0..LANES)
                        .fold(0, |all, lane| all | u64::from(expected[to + lane]) << lane);
                    assert_eq!(bits, all, "{round} {isa:?} {at}");
                }
            }
        }
    }
    assert!(found > 100_000 && passed > 100_000, "{found} {passed}");
}
