//! Numbers in digits of 52 bits, eight numbers side by side, and the way from and to bytes.
//!
//! No function here branches on a digit or uses one as an address; lengths are public.

use zeroize::DefaultIsZeroes;

/// Bits of a digit: what the multiplier of IFMA takes.
pub(super) const BITS: usize = 52;
/// The largest digit.
pub(super) const MASK: u64 = (1 << BITS) - 1;

/// One digit of eight numbers. A number of `N` digits times eight is `[Digit; N]`, lowest first.
///
/// Between two multiplications the bits above the 52nd are without meaning: the carry has been
/// passed on but not cut off, since the multiplier does not see these bits.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Digit(pub(super) [u64; 8]);

impl DefaultIsZeroes for Digit {}

impl Digit {
    pub(super) const ZERO: Digit = Digit([0; 8]);
}

/// Digit `k` of a big-endian number.
#[inline(always)]
fn digit_of(bytes: &[u8], k: usize) -> u64 {
    // 104 bits are 13 bytes: an even digit starts on a byte, an odd one four bits into one.
    let (start, shift) =
        if k.is_multiple_of(2) { (13 * (k / 2), 0) } else { (13 * (k / 2) + 6, 4) };
    let Some(end) = bytes.len().checked_sub(start) else { return 0 };
    let word = match end.checked_sub(8) {
        Some(at) => u64::from_be_bytes(bytes[at..end].try_into().expect("eight bytes")),
        None => bytes[..end].iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    (word >> shift) & MASK
}

/// A big-endian number as digits. What does not fit is cut off.
pub(super) fn digits_from_bytes(bytes: &[u8], digits: &mut [u64]) {
    for (k, digit) in digits.iter_mut().enumerate() {
        *digit = digit_of(bytes, k);
    }
}

/// The same into one lane of eight numbers.
pub(super) fn lane_from_bytes(bytes: &[u8], lane: usize, digits: &mut [Digit]) {
    for (k, digit) in digits.iter_mut().enumerate() {
        digit.0[lane] = digit_of(bytes, k);
    }
}

/// One lane as a big-endian number that fills `bytes`. Every digit is below 2^52.
pub(super) fn lane_to_bytes(digits: &[Digit], lane: usize, bytes: &mut [u8]) {
    let mut end = bytes.len();
    for pair in digits.chunks(2) {
        let low = u128::from(pair[0].0[lane]);
        let high = pair.get(1).map_or(0, |digit| u128::from(digit.0[lane]));
        let text = (low | high << BITS).to_be_bytes();
        let take = end.min(13);
        bytes[end - take..end].copy_from_slice(&text[16 - take..]);
        end -= take;
    }
    bytes[..end].fill(0);
}

/// One lane from digits.
pub(super) fn lane_from_digits(from: &[u64], lane: usize, digits: &mut [Digit]) {
    for (digit, value) in digits.iter_mut().zip(from) {
        digit.0[lane] = *value;
    }
}

/// A big-endian number as words of 64 bits in one lane: an exponent.
pub(super) fn words_from_bytes(bytes: &[u8], lane: usize, words: &mut [Digit]) {
    for (word, chunk) in words.iter_mut().zip(bytes.rchunks(8)) {
        word.0[lane] = chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
}

/// `bytes` without its leading zeros. For public numbers.
pub(super) fn strip_zeros(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    &bytes[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip_at_every_length() {
        for len in 0..=70usize {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 37 + 11) as u8).collect();
            for count in [(len * 8).div_ceil(BITS), (len * 8).div_ceil(BITS) + 3] {
                let mut digits = vec![Digit::ZERO; count];
                lane_from_bytes(&bytes, 5, &mut digits);
                let mut back = vec![0xaa; len];
                lane_to_bytes(&digits, 5, &mut back);
                assert_eq!(back, bytes);
                // Bit by bit.
                for bit in 0..len * 8 {
                    let byte = bytes[len - 1 - bit / 8] >> (bit % 8) & 1;
                    assert_eq!(digits[bit / BITS].0[5] >> (bit % BITS) & 1, u64::from(byte));
                }
            }
        }
    }
}
