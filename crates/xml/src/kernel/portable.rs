//! The index, byte by byte: the twin that the vector kernels are compared with.

use super::{
    BLOCK, BRACKET, CLASSES, GREATER, LINE_FEED, Maps, NAME_END, TEXT_STOP, VALUE_STOP, valid_up_to,
};

/// See [`super::Index::fill`].
pub(super) fn index(bytes: &[u8], maps: Maps<'_>, lines: bool) -> bool {
    if lines { run::<true>(bytes, maps) } else { run::<false>(bytes, maps) }
}

fn run<const LINES: bool>(bytes: &[u8], mut maps: Maps<'_>) -> bool {
    let mut brackets = 0;
    for block in 0..maps[0].len() {
        let mut words = [0_u64; 4];
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
            if LINES && class & LINE_FEED != 0 {
                words[3] |= bit;
            }
            brackets = if class & BRACKET != 0 { brackets + 1 } else { 0 };
        }
        words[3] |= words[2];
        for (map, word) in maps.iter_mut().zip(words).take(if LINES { 4 } else { 3 }) {
            map[block] = word.to_le();
        }
    }
    valid_up_to(bytes) == bytes.len()
}

/// See [`super::lines`].
pub(super) fn lines(bytes: &[u8], after_return: bool) -> u64 {
    let mut before = if after_return { b'\r' } else { 0 };
    let mut count = 0;
    for &byte in bytes {
        count += u64::from(byte == b'\r' || byte == b'\n' && before != b'\r');
        before = byte;
    }
    count
}

/// See [`super::characters`].
pub(super) fn characters(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(byte & 0xc0 != 0x80)).sum()
}
