//! The parts of a stream's state: sets of bits, as bytes and as words of 64 while it is scanned, and copies of a few bytes.

/// Copies `from` to `to`, which is as long. A packet takes some 1,000 cycles, and a call of the C library for each part of a
/// state 50 of them.
#[inline]
pub(crate) fn copy(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len(), "as many bytes");
    // The first N bytes and the last N, which overlap.
    fn ends<const N: usize>(from: &[u8], to: &mut [u8]) -> bool {
        let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else {
            return false;
        };
        let place = to.len() - N;
        to[..N].copy_from_slice(first);
        to[place..].copy_from_slice(last);
        true
    }
    let _ = match from.len() {
        0 => true,
        1..=3 => ends::<2>(from, to) || ends::<1>(from, to),
        4..=15 => ends::<8>(from, to) || ends::<4>(from, to),
        16..=63 => ends::<32>(from, to) || ends::<16>(from, to),
        64..=128 => ends::<64>(from, to),
        _ => {
            to.copy_from_slice(from);
            true
        }
    };
}

/// Reads the first `len` bits of `bytes`, the lowest of a byte first. All others of `words` become 0: a state from elsewhere may have
/// some.
pub(crate) fn load(bytes: &[u8], len: usize, words: &mut [u64]) {
    let (whole, rest) = bytes.as_chunks::<8>();
    for (word, bytes) in words.iter_mut().zip(whole) {
        *word = u64::from_le_bytes(*bytes);
    }
    if let Some(word) = words.get_mut(whole.len()).filter(|_| !rest.is_empty()) {
        *word = rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    }
    let last = len % 64;
    if let Some(word) = words.last_mut().filter(|_| last != 0) {
        *word &= (1 << last) - 1;
    }
}

/// The inverse.
pub(crate) fn save(words: &[u64], bytes: &mut [u8]) {
    let (whole, rest) = bytes.as_chunks_mut::<8>();
    for (word, bytes) in words.iter().zip(&mut *whole) {
        *bytes = word.to_le_bytes();
    }
    if let Some(word) = words.get(whole.len()) {
        copy(&word.to_le_bytes()[..rest.len()], rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_whole_and_touch_nothing_else() {
        let from: Vec<u8> = (1..=200).collect();
        for len in 0..=from.len() {
            let mut to = vec![0; len + 2];
            copy(&from[..len], &mut to[1..=len]);
            assert_eq!((to[0], &to[1..=len], to[len + 1]), (0, &from[..len], 0));
        }
    }
}
