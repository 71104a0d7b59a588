//! Texts that are one byte over and over. Their blocks need none of the passes.

use super::super::symbols::{LENGTHS, ORDER};
use super::parse::LONGEST;

/// Shorter ones are texts like others.
const LEAST: usize = 512;

/// How long the codes of code lengths are, in each such block: those that one may have.
const CODE_LENGTHS: [u32; 19] = {
    let mut lengths = [0; 19];
    (lengths[1], lengths[2], lengths[18]) = (2, 2, 2);
    (lengths[3], lengths[0], lengths[17]) = (3, 4, 4);
    lengths
};
/// These codes, first bit lowest (RFC 1951 section 3.2.2).
const CODES: [u64; 19] = {
    let mut codes = [0; 19];
    let (mut next, mut length) = (0u32, 1);
    while length <= 4 {
        next <<= 1;
        let mut symbol = 0;
        while symbol < codes.len() {
            if CODE_LENGTHS[symbol] == length {
                codes[symbol] = (next.reverse_bits() >> (32 - length)) as u64;
                next += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    codes
};
/// So many of their lengths are told: up to that of a code length of 1.
const TOLD: usize = 18;
const _: () = assert!(ORDER[TOLD - 1] == 1 && CODE_LENGTHS[ORDER[TOLD]] == 0);

/// The byte that a text consists of.
pub(super) fn byte(src: &[u8]) -> Option<u8> {
    // The first eight tell of nearly every text that it is none.
    let first: &[u8; 8] = src.first_chunk()?;
    let is_run = *first == [first[0]; 8] && src.len() >= LEAST && src[1..] == src[..src.len() - 1];
    is_run.then_some(first[0])
}

/// A block of `len` times `byte`, as values and their bits: that byte, matches with it as long as
/// can be, and one of what is left.
pub(super) fn block(byte: u8, len: usize, last: bool, put: &mut impl FnMut(u64, u32)) {
    let (matches, left) = ((len - 1) / LONGEST, (len - 1) % LONGEST);
    // Its symbol less 257. One or two bytes that are left are literals.
    let symbol = LENGTHS.iter().rposition(|&(base, _)| usize::from(base) <= left);

    // Dynamic codes: 286 of literals and lengths, one distance.
    put(u64::from(last) | 2 << 1, 3);
    put((286 - 257) | (TOLD as u64 - 4) << 10, 14);
    ORDER[..TOLD].iter().for_each(|&symbol| put(CODE_LENGTHS[symbol].into(), 3));
    // Those in use are the byte's, the end's, and that of 258; that of what is left, if there is one.
    let (byte_code, byte_bits) = if symbol.is_some() { (0b011, 3) } else { (0b01, 2) };
    let end = if symbol.is_some() { 0b01 } else { 0b11 };
    unused(byte.into(), put);
    code_length(byte_bits, put);
    unused(255 - usize::from(byte), put);
    code_length(2, put);
    unused(symbol.unwrap_or(28), put);
    if let Some(symbol) = symbol {
        code_length(3, put);
        unused(27 - symbol, put);
    }
    code_length(1, put);
    code_length(1, put);

    put(byte_code, byte_bits as u32);
    // 258 and the distance: a 0 each.
    (0..matches / 16).for_each(|_| put(0, 32));
    put(0, 2 * (matches % 16) as u32);
    match symbol {
        Some(symbol) => {
            let (base, extra) = LENGTHS[symbol];
            put(0b111 | (left as u64 - u64::from(base)) << 3, 3 + u32::from(extra));
            put(0, 1);
        }
        None => (0..left).for_each(|_| put(byte_code, byte_bits as u32)),
    }
    put(end, 2);
}

/// The code of a code length.
fn code_length(length: usize, put: &mut impl FnMut(u64, u32)) {
    put(CODES[length], CODE_LENGTHS[length]);
}

/// So many symbols without a code.
fn unused(mut count: usize, put: &mut impl FnMut(u64, u32)) {
    while count > 0 {
        let (symbol, least, most, bits) = match count {
            11.. => (18, 11, 138, 7),
            3.. => (17, 3, 10, 3),
            _ => (0, 1, 1, 0),
        };
        let part = count.min(most);
        code_length(symbol, put);
        put((part - least) as u64, bits);
        count -= part;
    }
}
