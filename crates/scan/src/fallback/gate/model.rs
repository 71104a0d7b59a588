//! How often a place passes tests, by a model of the bytes; which tests, and which beginnings share a bucket.
use super::kernel::TESTS;
use crate::node::ByteSet;

/// Buckets of a test.
const BUCKETS: usize = 8;
/// Buckets of which all pairs are compared.
const COMPARED: usize = 48;
/// A further test has to leave fewer places than this part.
const WORTH: f64 = 0.8;

/// What matches begin with: the bytes before it, and the sets of its bytes.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pub(super) before: ByteSet,
    pub(super) sets: Vec<ByteSet>,
}

/// The expected part of bytes that are `byte`: of text, and some others.
pub(crate) fn byte_weight(byte: u8) -> f64 {
    let text = match byte {
        b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 0.045,
        b'a'..=b'z' => 0.014,
        b' ' => 0.1,
        b'0'..=b'9' => 0.012,
        b'\n' | b'.' | b'/' | b'-' | b'"' | b':' | b',' => 0.012,
        b'A'..=b'Z' => 0.004,
        b'!'..=b'~' => 0.003,
        _ => 0.0004,
    };
    0.8 * text + 0.2 / 256.0
}

fn set_weight(set: ByteSet) -> f64 {
    if set == ByteSet::ALL { 1.0 } else { set.iter().map(byte_weight).sum::<f64>().min(1.0) }
}

impl Bucket {
    /// The bytes that are possible at `offset`.
    pub(super) fn at(&self, offset: isize) -> ByteSet {
        match usize::try_from(offset) {
            Ok(offset) => self.sets.get(offset).copied().unwrap_or(ByteSet::ALL),
            Err(_) => self.before,
        }
    }

    /// Adds the bytes that tables of nibbles cannot tell from those of the sets.
    pub(super) fn close_nibbles(&mut self) {
        for set in self.sets.iter_mut().chain([&mut self.before]) {
            let (mut low, mut high) = (0u16, 0u16);
            for byte in set.iter() {
                low |= 1 << (byte & 15);
                high |= 1 << (byte >> 4);
            }
            *set = (0..=255u8)
                .filter(|byte| low >> (byte & 15) & 1 != 0 && high >> (byte >> 4) & 1 != 0)
                .collect();
        }
    }

    fn join(&self, other: &Bucket) -> Bucket {
        let sets = self.sets.iter().zip(&other.sets).map(|(a, b)| a.union(*b)).collect();
        Bucket { before: self.before.union(other.before), sets }
    }

    fn rarity(&self) -> f64 {
        self.sets.iter().chain([&self.before]).map(|set| set_weight(*set)).product()
    }
}

/// The expected part of places that pass the tests at `offsets` by `bucket`.
pub(super) fn weight(bucket: &Bucket, offsets: &[isize]) -> f64 {
    offsets.iter().map(|&offset| set_weight(bucket.at(offset))).product()
}

/// Joins buckets until they are few enough, those first that lose the least.
pub(super) fn merge(mut buckets: Vec<Bucket>) -> Vec<Bucket> {
    buckets.sort_by_key(|it| it.sets.first().map(ByteSet::words));
    while buckets.len() > COMPARED {
        buckets = buckets
            .chunks(2)
            .map(|pair| match pair {
                [a, b] => a.join(b),
                [a, ..] => a.clone(),
                [] => unreachable!("chunks are not empty"),
            })
            .collect();
    }
    let mut rarities: Vec<f64> = buckets.iter().map(Bucket::rarity).collect();
    while buckets.len() > BUCKETS {
        let pairs = (0..buckets.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let loss = |&(a, b): &(usize, usize)| {
            buckets[a].join(&buckets[b]).rarity() - rarities[a] - rarities[b]
        };
        let best = pairs.map(|pair| (loss(&pair), pair)).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, (a, b))) = best else { break };
        buckets[a] = buckets[a].join(&buckets[b]);
        rarities[a] = buckets[a].rarity();
        buckets.swap_remove(b);
        rarities.swap_remove(b);
    }
    buckets
}

/// The offsets to test, the most selective one first.
pub(super) fn choose(buckets: &[Bucket]) -> Vec<isize> {
    let deepest = buckets.iter().map(|it| it.sets.len()).max().unwrap_or(0) as isize;
    let mut chosen: Vec<isize> = Vec::new();
    let mut left = buckets.len() as f64;
    while chosen.len() < TESTS {
        let rate = |offset: isize| -> f64 {
            let part = |it: &Bucket| weight(it, &chosen) * set_weight(it.at(offset));
            buckets.iter().map(part).sum()
        };
        let offsets = (-1..deepest).filter(|offset| !chosen.contains(offset));
        let best = offsets.map(|offset| (rate(offset), offset)).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((rate, offset)) = best.filter(|it| it.0 < left * WORTH) else { break };
        chosen.push(offset);
        left = rate;
    }
    chosen
}

/// Cycles for 64 places: of a test, and of a branch that is mispredicted.
const TEST: f64 = 3.0;
const MISS: f64 = 20.0;

/// After how many tests a block without a candidate is best left.
pub(super) fn early(buckets: &[Bucket], offsets: &[isize]) -> usize {
    let cost = |tests: usize| {
        let rate: f64 = buckets.iter().map(|it| weight(it, &offsets[..tests])).sum();
        // Neighbours are not independent: twice the rate.
        let goes_on = 1.0 - (-128.0 * rate).exp();
        let rest = (offsets.len() - tests) as f64 * TEST;
        // Behind all of them the branch is there anyhow.
        let miss = if rest > 0.0 { goes_on.min(1.0 - goes_on) * MISS } else { 0.0 };
        tests as f64 * TEST + goes_on * rest + miss
    };
    (1..=offsets.len()).min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap_or(1)
}
