//! Inputs near those of a corpus, each known by its number.

use lookaside_testkit::Rng;

/// As long as libFuzzer makes them here.
const LONGEST: usize = 65_536;

/// Values at the ends of what counts, lengths and offsets can be.
const ENDS: [u64; 12] =
    [0, 1, 2, 7, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff, 0x7fff_ffff, u64::MAX];

/// Input `number` of the sequence `seed`: one of `corpus` (not empty), changed in one to eight places.
pub fn mutation(corpus: &[Vec<u8>], seed: u64, number: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed.rotate_left(32) ^ number);
    let mut input = corpus[index(&mut rng, corpus.len())].clone();
    for _ in 0..=rng.below(8) {
        change(&mut input, corpus, &mut rng);
    }
    input.truncate(LONGEST);
    input
}

fn index(rng: &mut Rng, len: usize) -> usize {
    rng.below(len as u64) as usize
}

/// Where something of at most 64 bytes lies in `len` bytes, or of any length, one time in eight.
fn range(rng: &mut Rng, len: usize) -> std::ops::Range<usize> {
    let from = index(rng, len + 1);
    let most = if rng.chance(12) { len - from } else { (len - from).min(64) };
    from..from + index(rng, most + 1)
}

fn change(input: &mut Vec<u8>, corpus: &[Vec<u8>], rng: &mut Rng) {
    let at = index(rng, input.len());
    match rng.below(9) {
        0 if !input.is_empty() => input[at] ^= 1 << rng.below(8),
        1 if !input.is_empty() => input[at] = rng.next_u64() as u8,
        2 if !input.is_empty() => {
            input[at] = input[at].wrapping_add(rng.below(33) as u8).wrapping_sub(16)
        }
        3 if !input.is_empty() => {
            // A number of 1, 2, 4 or 8 bytes, little-endian or big-endian.
            let value = ENDS[index(rng, ENDS.len())];
            let wide = 1 << rng.below(4);
            let bytes = if rng.chance(50) {
                value.to_le_bytes()
            } else {
                (value << (64 - 8 * wide)).to_be_bytes()
            };
            let end = input.len().min(at + wide);
            input[at..end].copy_from_slice(&bytes[..end - at]);
        }
        4 => drop(input.drain(range(rng, input.len()))),
        5 => {
            let copied = input[range(rng, input.len())].to_vec();
            input.splice(at..at, copied);
        }
        6 => {
            let new: Vec<u8> = (0..=rng.below(16)).map(|_| rng.next_u64() as u8).collect();
            input.splice(at..at, new);
        }
        7 => {
            let other = &corpus[index(rng, corpus.len())];
            input.splice(range(rng, input.len()), other[range(rng, other.len())].iter().copied());
        }
        _ => {
            // The beginning of this one, the end of another.
            let other = &corpus[index(rng, corpus.len())];
            input.truncate(at);
            input.extend_from_slice(&other[index(rng, other.len() + 1)..]);
        }
    }
}
