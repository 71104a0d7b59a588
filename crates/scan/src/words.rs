//! Sets of bits, as bytes in a stream's state and as words of 64 while it is scanned.

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
        rest.iter_mut().zip(word.to_le_bytes()).for_each(|(byte, of_word)| *byte = of_word);
    }
}
