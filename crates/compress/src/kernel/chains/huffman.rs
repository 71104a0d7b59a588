//! Code lengths and codes.
//!
//! Lengths: Moffat and Katajainen, "In-Place Calculation of Minimum-Redundancy Codes" (1995), on the
//! sorted counts; codes that are longer than the limit are shortened to it, and then the longest of
//! the shorter codes are lengthened until Kraft's sum is 1 again.

/// The most symbols of an alphabet.
const MOST: usize = 288;

/// The length of a code for each symbol that occurs, 0 for the others; at least two symbols get one.
/// At most `limit`, which is at most 15, and not less than what so many symbols need. Counts are
/// less than 2^23.
pub(super) fn lengths(counts: &[u32], limit: usize, lengths: &mut [u8]) {
    lengths.fill(0);
    let mut sorted = [0_u32; MOST];
    let mut used = 0;
    for (symbol, &count) in (0..).zip(counts) {
        if count != 0 {
            sorted[used] = count << 9 | symbol;
            used += 1;
        }
    }
    let sorted = &mut sorted[..used];
    if used < 2 {
        // A lone symbol gets a partner.
        let only = sorted.first().map_or(0, |&entry| entry as usize % 512);
        lengths[only] = 1;
        lengths[usize::from(only == 0)] = 1;
        return;
    }
    sorted.sort_unstable();
    let mut weights = [0_u32; MOST];
    weights.iter_mut().zip(&*sorted).for_each(|(weight, &entry)| *weight = entry >> 9);
    let mut numbers = numbers_of_lengths(&mut weights[..used]);
    shorten(&mut numbers, limit);
    let mut symbols = sorted.iter().map(|&entry| entry as usize % 512);
    for length in (1..=limit).rev() {
        for symbol in symbols.by_ref().take(numbers[length]) {
            lengths[symbol] = length as u8;
        }
    }
}

/// How many codes have each length, the last for all longer ones. `weights`, ascending, are lost.
fn numbers_of_lengths(weights: &mut [u32]) -> [usize; 33] {
    let count = weights.len();
    // Left to right: each pair's sum, and in place of what was added its parent.
    weights[0] += weights[1];
    let (mut root, mut leaf) = (0, 2);
    for next in 1..count - 1 {
        let mut least = |next: usize| {
            if leaf >= count || root < next && weights[root] < weights[leaf] {
                root += 1;
                std::mem::replace(&mut weights[root - 1], next as u32)
            } else {
                leaf += 1;
                weights[leaf - 1]
            }
        };
        let first = least(next);
        let sum = first + least(next);
        weights[next] = sum;
    }
    // Right to left: depths of inner nodes; then how many leaves there are at each depth.
    weights[count - 2] = 0;
    for next in (0..count - 2).rev() {
        weights[next] = weights[weights[next] as usize] + 1;
    }
    let mut numbers = [0; 33];
    let (mut available, mut depth) = (1, 0);
    let mut inner = weights[..count - 1].iter().rev().peekable();
    while available > 0 {
        let mut used = 0;
        while inner.next_if(|&&at| at as usize == depth).is_some() {
            used += 1;
        }
        numbers[depth.min(32)] += available - used;
        available = 2 * used;
        depth += 1;
    }
    numbers
}

/// Lets no code be longer than `limit`.
fn shorten(numbers: &mut [usize; 33], limit: usize) {
    let over: usize = numbers[limit + 1..].iter().sum();
    if over == 0 {
        return;
    }
    numbers[limit] += over;
    // Kraft's sum in units of the longest code.
    let sum = |numbers: &[usize; 33]| -> usize {
        (1..=limit).map(|length| numbers[length] << (limit - length)).sum()
    };
    for _ in 1 << limit..sum(numbers) {
        // A code becomes a bit longer, and one of the longest takes the other half of its place.
        let length = (1..limit).rev().find(|&length| numbers[length] > 0).expect("one is shorter");
        numbers[length] -= 1;
        numbers[length + 1] += 2;
        numbers[limit] -= 1;
    }
}

/// A code, first bit lowest, and above it how many bits it has: `code | bits << 24`. No bits: 0.
pub(super) type Code = u32;

/// The canonical codes (RFC 1951 section 3.2.2) of these lengths, at most 15.
pub(super) fn codes(lengths: &[u8], codes: &mut [Code]) {
    let mut numbers = [0_u32; 16];
    lengths.iter().for_each(|&length| numbers[usize::from(length) % 16] += 1);
    numbers[0] = 0;
    let mut next = [0_u32; 16];
    for length in 1..16 {
        next[length] = (next[length - 1] + numbers[length - 1]) << 1;
    }
    for (code, &length) in codes.iter_mut().zip(lengths) {
        *code = 0;
        if length > 0 {
            let next = &mut next[usize::from(length) % 16];
            let reversed = (*next as u16).reverse_bits() >> (16 - u32::from(length));
            *code = u32::from(reversed) | u32::from(length) << 24;
            *next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Complete, within the limit, and where that does not matter as short as a heap makes them.
    #[test]
    fn lengths_are_complete_and_minimal() {
        use std::cmp::Reverse;
        use std::collections::BinaryHeap;
        let mut state = 7_u64;
        for round in 0..3000 {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 40) as u32
            };
            let symbols = 1 + next() as usize % 286;
            let shift = next() % 23;
            let mut counts: Vec<u32> =
                (0..symbols).map(|_| next() >> shift >> (next() % 24)).collect();
            if round % 50 == 0 {
                // Fibonacci numbers make the longest codes.
                counts = vec![1, 1];
                (2..30).for_each(|n| counts.push(counts[n - 1] + counts[n - 2]));
            }
            counts.resize(288, 0);
            let used = counts.iter().filter(|&&count| count > 0).count();
            for limit in [9, 14, 15] {
                let mut found = [0; 288];
                lengths(&counts, limit, &mut found);
                let full = 1_u64 << limit;
                let kraft: u64 = found.iter().filter(|&&l| l > 0).map(|&l| full >> l).sum();
                assert_eq!(kraft, full);
                assert!(found.iter().all(|&l| usize::from(l) <= limit));
                if used < 2 {
                    continue;
                }
                assert!(counts.iter().zip(&found).all(|(&count, &l)| (count > 0) == (l > 0)));
                let cost: u64 =
                    counts.iter().zip(&found).map(|(&c, &l)| u64::from(c) * u64::from(l)).sum();
                let mut heap: BinaryHeap<_> =
                    counts.iter().filter(|&&c| c > 0).map(|&c| Reverse(u64::from(c))).collect();
                let mut least = 0;
                while let (Some(Reverse(one)), Some(Reverse(two))) = (heap.pop(), heap.pop()) {
                    least += one + two;
                    heap.push(Reverse(one + two));
                    if heap.len() == 1 {
                        break;
                    }
                }
                let longest = *found.iter().max().expect("some");
                assert!(usize::from(longest) == limit || cost == least, "{cost} {least}");
                assert!(cost >= least);
            }
        }
    }
}
