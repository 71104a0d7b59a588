//! Sets of bits, as bytes in a stream's state and as words of 64 while it is scanned.

/// Reads the first `len` bits of `bytes`, the lowest of a byte first. All others of `words` become 0: a state from elsewhere may have
/// some.
pub(crate) fn load(bytes: &[u8], len: usize, words: &mut [u64]) {
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(all);
    }
    let last = len % 64;
    if let Some(word) = words.last_mut().filter(|_| last != 0) {
        *word &= (1 << last) - 1;
    }
}

/// The inverse.
pub(crate) fn save(words: &[u64], bytes: &mut [u8]) {
    for (word, bytes) in words.iter().zip(bytes.chunks_mut(8)) {
        bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
    }
}
