//! Numbers in flat buffers of the caller, most significant byte first, and the little arithmetic that the runtime has
//! no operation for: products and quotients of whole numbers, when a key is put together.
#![allow(unsafe_code)]

use core::cmp::Ordering;

use zeroize::Zeroizing;

use crate::{abi::CpaFlatBuffer, refusal::Refusal};

/// The longest number that is looked at: 16,384 bits and some zeros in front.
const LONGEST: u32 = 4096;

/// Bytes that are overwritten when dropped.
pub type Secret = Zeroizing<Vec<u8>>;

/// The bytes of a flat buffer to read.
///
/// # Errors
/// For null, for none, and for more than 4096 bytes.
///
/// # Safety
/// The buffer is as the interface asks for, until the function returns.
pub unsafe fn bytes<'a>(flat: &CpaFlatBuffer, what: &'static str) -> Result<&'a [u8], Refusal> {
    if flat.pData.is_null() || flat.dataLenInBytes == 0 || flat.dataLenInBytes > LONGEST {
        return Err(Refusal::invalid(what));
    }
    // SAFETY: not null; the caller's promise.
    Ok(unsafe { core::slice::from_raw_parts(flat.pData, flat.dataLenInBytes as usize) })
}

/// The same without zeros in front.
///
/// # Errors
/// As [`bytes`].
///
/// # Safety
/// As [`bytes`].
pub unsafe fn number<'a>(flat: &CpaFlatBuffer, what: &'static str) -> Result<&'a [u8], Refusal> {
    // SAFETY: the caller's promise.
    Ok(stripped(unsafe { bytes(flat, what) }?))
}

/// Without zeros in front.
pub fn stripped(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    &bytes[zeros..]
}

/// Bits of a number without zeros in front.
pub fn bits(number: &[u8]) -> usize {
    number.first().map_or(0, |top| 8 * number.len() - top.leading_zeros() as usize)
}

/// Whether a number is odd.
pub fn is_odd(number: &[u8]) -> bool {
    number.last().is_some_and(|last| last & 1 == 1)
}

/// Compares numbers of any lengths, in a time that depends on their lengths alone.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let word = |chunk: Option<&[u8]>| match chunk {
        Some(chunk) if chunk.len() == 8 => {
            chunk.try_into().map_or(0, |chunk: [u8; 8]| u64::from_be_bytes(chunk))
        }
        Some(chunk) => chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        None => 0,
    };
    let (mut a_words, mut b_words) = (a.rchunks(8), b.rchunks(8));
    // a - b: whether it is below 0, and whether it is 0.
    let (mut borrow, mut differing) = (0, 0);
    loop {
        let (a, b) = (a_words.next(), b_words.next());
        if a.is_none() && b.is_none() {
            break;
        }
        let (a, b) = (word(a), word(b));
        let (first, under) = a.overflowing_sub(b);
        let (_, again) = first.overflowing_sub(borrow);
        borrow = u64::from(under) | u64::from(again);
        differing |= a ^ b;
    }
    let differs = u8::from(core::hint::black_box(differing) != 0);
    let less = core::hint::black_box(borrow) as u8;
    (differs & (less ^ 1)).cmp(&less)
}

/// Whether a number is above 0 and below `limit`.
pub fn is_below(number: &[u8], limit: &[u8]) -> bool {
    let any = core::hint::black_box(number.iter().fold(0, |any, byte| any | byte));
    any != 0 && compare(number, limit).is_lt()
}

/// A number on `len` bytes.
///
/// # Errors
/// For one that is longer.
pub fn push(
    src: &mut Vec<u8>,
    number: &[u8],
    len: usize,
    what: &'static str,
) -> Result<(), Refusal> {
    let extra = number.len().saturating_sub(len);
    let any = number[..extra].iter().fold(0, |any, byte| any | byte);
    if core::hint::black_box(any) != 0 {
        return Err(Refusal::invalid(what));
    }
    let number = &number[extra..];
    src.resize(src.len() + len - number.len(), 0);
    src.extend_from_slice(number);
    Ok(())
}

/// The same, alone.
///
/// # Errors
/// For one that is longer.
pub fn padded(number: &[u8], len: usize, what: &'static str) -> Result<Secret, Refusal> {
    let mut out = Zeroizing::new(Vec::with_capacity(len));
    push(&mut out, number, len, what)?;
    Ok(out)
}

/// Where a result goes: a flat buffer of the caller's.
#[derive(Clone, Copy)]
pub struct Out(*mut CpaFlatBuffer);

impl Out {
    /// A buffer with room for `least` bytes.
    ///
    /// # Errors
    /// For null, and for less room.
    ///
    /// # Safety
    /// As the interface asks for, until the result is written.
    pub unsafe fn new(
        flat: *mut CpaFlatBuffer,
        least: usize,
        what: &'static str,
    ) -> Result<Out, Refusal> {
        if flat.is_null() || !flat.is_aligned() {
            return Err(Refusal::invalid(what));
        }
        // SAFETY: checked; the caller's promise.
        let buffer = unsafe { &*flat };
        if buffer.pData.is_null()
            || buffer.dataLenInBytes == 0
            || (buffer.dataLenInBytes as usize) < least
        {
            return Err(Refusal::invalid(what));
        }
        Ok(Out(flat))
    }

    /// Writes a number over the whole buffer, with zeros in front. `false` where it is too long.
    ///
    /// # Safety
    /// The buffer is there as it was.
    pub unsafe fn put(self, number: &[u8]) -> bool {
        // SAFETY: checked in `new`; the caller's promise.
        let out = unsafe {
            let flat = &*self.0;
            core::slice::from_raw_parts_mut(flat.pData, flat.dataLenInBytes as usize)
        };
        let number = if number.len() > out.len() { stripped(number) } else { number };
        let Some(zeros) = out.len().checked_sub(number.len()) else { return false };
        out[..zeros].fill(0);
        out[zeros..].copy_from_slice(number);
        true
    }

    /// Writes bytes to the buffer's start, and how many they are to its length.
    ///
    /// # Safety
    /// The buffer is there as it was, with room for so many.
    pub unsafe fn put_bytes(self, bytes: &[u8]) {
        // SAFETY: checked in `new`; the caller's promise.
        unsafe {
            let flat = &mut *self.0;
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), flat.pData, bytes.len());
            flat.dataLenInBytes = bytes.len() as u32;
        }
    }
}

/// A whole number; word 0 has the lowest bits.
#[derive(Clone)]
pub struct Whole(Zeroizing<Vec<u64>>);

impl Whole {
    /// A big-endian number.
    pub fn new(bytes: &[u8]) -> Whole {
        let word = |chunk: &[u8]| chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        Whole(Zeroizing::new(bytes.rchunks(8).map(word).collect()))
    }

    /// One word.
    pub fn small(word: u64) -> Whole {
        Whole(Zeroizing::new(vec![word]))
    }

    /// All its words, big-endian.
    pub fn bytes(&self) -> Secret {
        let mut bytes = Zeroizing::new(Vec::with_capacity(8 * self.0.len()));
        self.0.iter().rev().for_each(|word| bytes.extend_from_slice(&word.to_be_bytes()));
        bytes
    }

    /// a b.
    pub fn times(&self, b: &Whole) -> Whole {
        let mut out = vec![0_u64; self.0.len() + b.0.len()];
        for (i, &x) in self.0.iter().enumerate() {
            let mut carry = 0_u128;
            for (j, &y) in b.0.iter().enumerate() {
                let sum = u128::from(x) * u128::from(y) + u128::from(out[i + j]) + carry;
                out[i + j] = sum as u64;
                carry = sum >> 64;
            }
            out[i + b.0.len()] = carry as u64;
        }
        Whole(Zeroizing::new(out))
    }

    /// a + word.
    pub fn plus(&self, word: u64) -> Whole {
        let mut out = Zeroizing::new(Vec::with_capacity(self.0.len() + 1));
        let mut carry = word;
        for &x in self.0.iter() {
            let (sum, over) = x.overflowing_add(carry);
            out.push(sum);
            carry = over.into();
        }
        out.push(carry);
        Whole(out)
    }

    /// a - b modulo 2^64 to the number of a's words.
    pub fn minus(&self, b: &Whole) -> Whole {
        let mut out = Zeroizing::new(Vec::with_capacity(self.0.len()));
        let mut borrow = false;
        for (i, &x) in self.0.iter().enumerate() {
            let (first, under) = x.overflowing_sub(b.0.get(i).copied().unwrap_or(0));
            let (second, again) = first.overflowing_sub(borrow.into());
            out.push(second);
            borrow = under || again;
        }
        Whole(out)
    }

    /// Quotient and remainder, in a time that depends on lengths alone. The divisor is not 0.
    pub fn divide(&self, divisor: &Whole) -> (Whole, Whole) {
        let words = divisor.0.len() + 1;
        let mut rest = Zeroizing::new(vec![0_u64; words]);
        let mut less = Zeroizing::new(vec![0_u64; words]);
        let mut quotient = Zeroizing::new(vec![0_u64; self.0.len()]);
        for (index, &word) in self.0.iter().enumerate().rev() {
            for bit in (0..64).rev() {
                let mut carry = word >> bit & 1;
                for place in rest.iter_mut() {
                    (*place, carry) = (*place << 1 | carry, *place >> 63);
                }
                let mut borrow = 0;
                for (i, place) in less.iter_mut().enumerate() {
                    let divisor = divisor.0.get(i).copied().unwrap_or(0);
                    let (first, under) = rest[i].overflowing_sub(divisor);
                    let (second, again) = first.overflowing_sub(borrow);
                    (*place, borrow) = (second, u64::from(under) | u64::from(again));
                }
                // All ones where the divisor fits.
                let fits = core::hint::black_box(borrow.wrapping_sub(1));
                for (place, less) in rest.iter_mut().zip(less.iter()) {
                    *place = *place & !fits | less & fits;
                }
                quotient[index] |= (fits & 1) << bit;
            }
        }
        (Whole(quotient), Whole(rest))
    }

    /// The remainder modulo a word below 2^32, not 0.
    pub fn modulo(&self, word: u64) -> u64 {
        self.0.iter().rev().fold(0, |rest, x| {
            let rest = ((rest << 32) + (x >> 32)) % word;
            ((rest << 32) + (x & 0xffff_ffff)) % word
        })
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        core::hint::black_box(self.0.iter().fold(0, |any, word| any | word)) == 0
    }

    /// Whether it is this word.
    pub fn is(&self, word: u64) -> bool {
        self.minus(&Whole::small(word)).is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_times_divisors_are_dividends() {
        let mut seed = 1_u64;
        let mut draw = |len: usize| -> Vec<u8> {
            let next = |_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 56) as u8
            };
            (0..len).map(next).collect()
        };
        for (a_len, b_len) in [(1, 1), (8, 8), (40, 17), (17, 40), (64, 64), (65, 33)] {
            let (a, mut b) = (draw(a_len), draw(b_len));
            b[0] |= 1;
            let (a, b) = (Whole::new(&a), Whole::new(&b));
            let (quotient, rest) = a.divide(&b);
            assert!(compare(&rest.bytes(), &b.bytes()).is_lt());
            let difference = Whole(Zeroizing::new([&a.0[..], &[0; 40]].concat()))
                .minus(&quotient.times(&b))
                .minus(&rest);
            assert!(difference.is_zero());
            assert_eq!(rest.bytes().len(), b.bytes().len() + 8);
            let (_, small) = a.divide(&Whole::small(65_537));
            assert!(small.is(a.modulo(65_537)));
            let (_, up) = a.plus(u64::MAX - 8).divide(&Whole::small(65_537));
            let expected = (a.modulo(65_537) + (u64::MAX - 8) % 65_537) % 65_537;
            assert!(up.is(expected));
        }
    }

    #[test]
    fn numbers_of_several_words_compare_by_value() {
        for len in 1..40 {
            for at in 0..len {
                let (mut a, b) = (vec![0x7f; len], vec![0x7f; len]);
                assert_eq!(compare(&a, &b), Ordering::Equal);
                a[at] = 0x80;
                a[at + 1..].fill(0);
                assert_eq!(compare(&a, &b), Ordering::Greater, "{len} {at}");
                assert_eq!(compare(&b, &a), Ordering::Less, "{len} {at}");
                assert_eq!(compare(&b[at..], &a[at..]), Ordering::Less, "{len} {at}");
                let long = [&[0; 9][..], &a].concat();
                assert_eq!(compare(&b, &long), Ordering::Less, "{len} {at}");
            }
        }
    }

    #[test]
    fn numbers_compare_by_value() {
        for (a, b, wanted) in [
            (&[][..], &[][..], Ordering::Equal),
            (&[0, 0, 1], &[1], Ordering::Equal),
            (&[1, 0], &[255], Ordering::Greater),
            (&[0, 255], &[1, 0], Ordering::Less),
            (&[2, 1], &[1, 2], Ordering::Greater),
        ] {
            assert_eq!(compare(a, b), wanted);
            assert_eq!(compare(b, a), wanted.reverse());
        }
        assert!(!is_below(&[0, 0], &[5]) && is_below(&[0, 4], &[5]) && !is_below(&[5], &[5]));
        assert!(padded(&[0, 1, 2], 2, "").is_ok() && padded(&[1, 2, 3], 2, "").is_err());
        assert_eq!(bits(&[1, 0]), 9);
    }
}
