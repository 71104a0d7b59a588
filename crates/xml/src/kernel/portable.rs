//! The index, byte by byte: the twin that the vector kernels are compared with.

use super::{
    BLOCK, BRACKET, CLASSES, GREATER, NAME_END, TEXT_STOP, VALUE_STOP, Words, valid_up_to,
};

/// See [`super::Index::fill`].
pub(super) fn index(bytes: &[u8], words: &mut [Words]) -> bool {
    let mut brackets = 0;
    for (block, words) in words.iter_mut().enumerate() {
        *words = [0; 3];
        let from = block * BLOCK;
        let end = bytes.len().min(from + BLOCK);
        for (lane, &byte) in bytes[from..end].iter().enumerate() {
            let class = CLASSES.get(usize::from(byte)).copied().unwrap_or(0);
            let bit = 1 << lane;
            if class & NAME_END != 0 {
                words[0] |= bit;
            }
            if class & VALUE_STOP != 0 {
                words[1] |= bit;
            }
            if class & TEXT_STOP != 0 || class & GREATER != 0 && brackets >= 2 {
                words[2] |= bit;
            }
            brackets = if class & BRACKET != 0 { brackets + 1 } else { 0 };
        }
    }
    valid_up_to(bytes) == bytes.len()
}

/// See [`super::lines`].
pub(super) fn lines(bytes: &[u8]) -> (u64, Option<usize>, bool) {
    let count = |wanted| bytes.iter().filter(|&&byte| byte == wanted).count();
    (count(b'\n') as u64, memchr::memrchr(b'\n', bytes), memchr::memchr(b'\r', bytes).is_some())
}

/// See [`super::characters`].
pub(super) fn characters(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(byte & 0xc0 != 0x80)).sum()
}
