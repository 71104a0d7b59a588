//! Scalars as bytes: their range, random ones, and small multiples.

use crate::{OpError, random};

/// Whether `scalar` is in `[1, order)`. Both have the same length. Constant time, save that the
/// answer is told.
pub fn in_range(scalar: &[u8], order: &[u8]) -> bool {
    let any = scalar.iter().fold(0, |any, byte| any | byte);
    is_below(scalar, order) & (std::hint::black_box(any) != 0)
}

/// Whether `number` is below `bound`. Both have the same length. Constant time, save that the answer
/// is told.
pub(crate) fn is_below(number: &[u8], bound: &[u8]) -> bool {
    debug_assert_eq!(number.len(), bound.len());
    // The borrow of number - bound, from the last byte on.
    let mut borrow = 0u16;
    for (&a, &b) in number.iter().zip(bound).rev() {
        borrow = (u16::from(a).wrapping_sub(u16::from(b)).wrapping_sub(borrow) >> 8) & 1;
    }
    std::hint::black_box(borrow) == 1
}

/// `number` modulo `bound`. Both have the same length, and `number` is below twice the bound.
/// Constant time.
pub(crate) fn reduce_once(number: &mut [u8], bound: &[u8]) {
    let mask = u16::from(is_below(number, bound)).wrapping_sub(1);
    let mut borrow = 0u16;
    for (a, &b) in number.iter_mut().zip(bound).rev() {
        let difference = u16::from(*a).wrapping_sub(u16::from(b) & mask).wrapping_sub(borrow);
        (*a, borrow) = (difference as u8, (difference >> 8) & 1);
    }
}

/// Fills `scalar` with one drawn from `[1, order)`: candidates of the order's bits are drawn until
/// one is in range (FIPS 186-5, A.2.2), at most a few times for the orders of curves.
pub(crate) fn draw(order: &[u8], scalar: &mut [u8]) -> Result<(), OpError> {
    let mask = 0xff >> order[0].leading_zeros();
    loop {
        random::fill(scalar)?;
        scalar[0] &= mask;
        if in_range(scalar, order) {
            return Ok(());
        }
    }
}

/// `scalar * factor` into `out`, one byte longer. Constant time.
pub(crate) fn multiply_small(scalar: &[u8], factor: u8, out: &mut [u8]) {
    debug_assert_eq!(out.len(), scalar.len() + 1);
    let mut carry = 0u16;
    for (out, &byte) in out[1..].iter_mut().zip(scalar).rev() {
        carry += u16::from(byte) * u16::from(factor);
        *out = carry as u8;
        carry >>= 8;
    }
    out[0] = carry as u8;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_has_both_its_ends() {
        let order = [0x12, 0x00, 0x34];
        let value = |n: u32| [(n >> 16) as u8, (n >> 8) as u8, n as u8];
        for (n, inside) in [
            (0, false),
            (1, true),
            (0x100, true),
            (0x11ffff, true),
            (0x120033, true),
            (0x120034, false),
            (0x120035, false),
            (0x120133, false),
            (0xffffff, false),
        ] {
            assert_eq!(in_range(&value(n), &order), inside, "{n:x}");
        }
    }

    #[test]
    fn one_subtraction_reduces() {
        let bound = 0x80ffu32;
        for number in [0, 1, 0x7fff, 0x80fe, 0x80ff, 0x8100, 0xffff] {
            let mut bytes = (number as u16).to_be_bytes();
            reduce_once(&mut bytes, &[0x80, 0xff]);
            assert_eq!(u32::from(u16::from_be_bytes(bytes)), number % bound, "{number:x}");
        }
    }

    #[test]
    fn drawn_scalars_reach_every_bit() {
        let order = [0x03, 0xff, 0xff];
        let (mut ones, mut zeros) = ([0; 3], [0xff; 3]);
        for _ in 0..64 {
            let mut scalar = [0; 3];
            draw(&order, &mut scalar).unwrap();
            assert!(in_range(&scalar, &order));
            ones.iter_mut().zip(scalar).for_each(|(seen, byte)| *seen |= byte);
            zeros.iter_mut().zip(scalar).for_each(|(seen, byte)| *seen &= byte);
        }
        assert_eq!((ones, zeros), ([0x03, 0xff, 0xff], [0; 3]));
    }

    #[test]
    fn small_products_carry() {
        let mut out = [0; 3];
        multiply_small(&[0xff, 0xff], 4, &mut out);
        assert_eq!(out, [0x03, 0xff, 0xfc]);
    }
}
