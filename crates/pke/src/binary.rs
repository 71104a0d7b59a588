//! Arithmetic in GF(2^m): polynomials over GF(2) modulo an irreducible one of degree m.
//!
//! An element is a number of ceil(m/8) bytes, big-endian, whose bit i is the coefficient of x^i.
//! Everything takes a time that depends on the field only; the field is public.

use std::fmt;

use zeroize::Zeroize;

use crate::batch::{cut, room, stripped};
use crate::{Arithmetic, Item, OpError};

/// The largest degree m.
pub const MAX_DEGREE: usize = 1024;

const WORDS: usize = MAX_DEGREE.div_ceil(64);

/// A polynomial of degree below [`MAX_DEGREE`]; word 0 has the lowest coefficients.
struct Element([u64; WORDS]);

impl Drop for Element {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// A product before its reduction.
struct Wide([u64; 2 * WORDS + 1]);

impl Drop for Wide {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// GF(2^m) with a given polynomial basis.
#[derive(Clone)]
pub struct Field {
    degree: usize,
    /// Words of an element.
    words: usize,
    /// The exponents of the polynomial's terms below x^m, highest first.
    terms: Vec<usize>,
    /// How often the part above x^m is folded until nothing of it is left.
    folds: usize,
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field(x^{}", self.degree)?;
        self.terms.iter().try_for_each(|term| write!(f, " + x^{term}"))?;
        f.write_str(")")
    }
}

impl Field {
    /// The field modulo `polynomial`, big-endian, of a degree from 2 to [`MAX_DEGREE`], with a
    /// constant term. That it is irreducible is not checked; where it is not, some elements other
    /// than 0 have no inverse.
    ///
    /// The fewer terms, and the lower all but the first, the faster.
    pub fn new(polynomial: &[u8]) -> Result<Field, OpError> {
        let polynomial = stripped(polynomial);
        let Some((&top, &last)) = polynomial.first().zip(polynomial.last()) else {
            return Err(OpError::BadInput("no polynomial"));
        };
        let degree = 8 * polynomial.len() - 1 - top.leading_zeros() as usize;
        if !(2..=MAX_DEGREE).contains(&degree) {
            return Err(OpError::BadInput("a polynomial of degree 0 or 1, or above 1024"));
        }
        if last & 1 == 0 {
            return Err(OpError::BadInput("a polynomial that x divides"));
        }
        let is_set = |bit: &usize| polynomial[polynomial.len() - 1 - bit / 8] >> (bit % 8) & 1 == 1;
        let terms: Vec<usize> = (0..degree).rev().filter(is_set).collect();
        // What `reduce` is given has at most twice the bits of an element's bytes; so many of them
        // are from x^m up. A fold takes x^(m+i) to x^(t+i) and lower, t being the highest term
        // below x^m: m - t fewer each time.
        let excess = 2 * degree.next_multiple_of(8) - degree;
        let folds = excess.div_ceil(degree - terms[0]);
        Ok(Field { degree, words: degree.div_ceil(64), terms, folds })
    }

    /// m.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Bytes of an element.
    #[allow(clippy::len_without_is_empty)] // No element is empty.
    pub fn len(&self) -> usize {
        self.degree.div_ceil(8)
    }

    /// An element of exactly so many bytes, without coefficients from x^m up.
    fn element(&self, bytes: &[u8]) -> Result<Element, OpError> {
        let [bytes] = cut(bytes, [self.len()])?;
        if !self.degree.is_multiple_of(8) && bytes[0] >> (self.degree % 8) != 0 {
            return Err(OpError::BadInput("an operand is not below x^m"));
        }
        let mut element = Element([0; WORDS]);
        read(bytes, &mut element.0);
        Ok(element)
    }

    /// Reduces a polynomial of up to twice the bits of an element's bytes.
    fn reduce(&self, wide: &mut Wide) -> Element {
        let (words, bits) = (self.degree / 64, self.degree % 64);
        let top_mask = !(u64::MAX << bits);
        for _ in 0..self.folds {
            // high = wide >> m, wide = wide mod x^m, wide += high * (terms below x^m).
            let mut high = Wide([0; 2 * WORDS + 1]);
            let count = 2 * self.words + 1 - words;
            for i in 0..count.min(2 * WORDS + 1 - words) {
                let next = wide.0.get(words + i + 1).map_or(0, |word| (word << 1) << (63 - bits));
                high.0[i] = wide.0[words + i] >> bits | next;
            }
            wide.0[words] &= top_mask;
            wide.0[words + 1..].fill(0);
            for term in &self.terms {
                let (by, bits) = (term / 64, term % 64);
                let mut carry = 0;
                for (to, &from) in wide.0[by..].iter_mut().zip(&high.0[..count]) {
                    *to ^= from << bits | carry;
                    carry = (from >> 1) >> (63 - bits);
                }
            }
        }
        let mut element = Element([0; WORDS]);
        element.0.copy_from_slice(&wide.0[..WORDS]);
        element
    }

    fn multiply(&self, a: &Element, b: &Element) -> Element {
        let n = self.words;
        let mut wide = Wide([0; 2 * WORDS + 1]);
        // Horner's rule over the bits of a word, for all words of b at once.
        for bit in (0..64).rev() {
            let mut carry = 0;
            for word in &mut wide.0[..2 * n] {
                (*word, carry) = (*word << 1 | carry, *word >> 63);
            }
            for (j, word) in b.0[..n].iter().enumerate() {
                let mask = std::hint::black_box((word >> bit & 1).wrapping_neg());
                for (to, from) in wide.0[j..j + n].iter_mut().zip(&a.0[..n]) {
                    *to ^= from & mask;
                }
            }
        }
        self.reduce(&mut wide)
    }

    fn square(&self, a: &Element) -> Element {
        let mut wide = Wide([0; 2 * WORDS + 1]);
        for (i, word) in a.0[..self.words].iter().enumerate() {
            wide.0[2 * i] = spread(*word as u32);
            wide.0[2 * i + 1] = spread((word >> 32) as u32);
        }
        self.reduce(&mut wide)
    }

    /// a^-1 = a^(2^m - 2), by Itoh and Tsujii: from a^(2^i - 1), i squarings and one product lead
    /// to a^(2^(2 i) - 1), one more of each to the next odd index.
    fn inverse(&self, a: &Element) -> Result<Element, OpError> {
        let target = self.degree - 1;
        let mut power = Element(a.0);
        let mut index = 1;
        for bit in (0..target.ilog2()).rev() {
            let mut shifted = Element(power.0);
            for _ in 0..index {
                shifted = self.square(&shifted);
            }
            power = self.multiply(&shifted, &power);
            index *= 2;
            if target >> bit & 1 == 1 {
                power = self.multiply(&self.square(&power), a);
                index += 1;
            }
        }
        let inverse = self.square(&power);
        let mut product = self.multiply(&inverse, a);
        product.0[0] ^= 1;
        if std::hint::black_box(product.0.iter().fold(0, |sum, word| sum | word)) == 0 {
            Ok(inverse)
        } else {
            Err(OpError::BadInput("no inverse"))
        }
    }
}

/// Bit i to bit 2 i.
fn spread(word: u32) -> u64 {
    let mut x = u64::from(word);
    x = (x | x << 16) & 0x0000_ffff_0000_ffff;
    x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
    x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    x = (x | x << 2) & 0x3333_3333_3333_3333;
    (x | x << 1) & 0x5555_5555_5555_5555
}

fn read(bytes: &[u8], words: &mut [u64]) {
    for (i, &byte) in bytes.iter().rev().enumerate() {
        words[i / 8] |= u64::from(byte) << (8 * (i % 8));
    }
}

fn write(words: &[u64], bytes: &mut [u8]) {
    for (i, byte) in bytes.iter_mut().rev().enumerate() {
        *byte = (words[i / 8] >> (8 * (i % 8))) as u8;
    }
}

/// Arithmetic in GF(2^m), where addition is subtraction, each item in its field. Layout: see
/// [`Arithmetic`]. [`OpError::BadInput`] for the inverse of 0; [`OpError::Unsupported`] for
/// [`Arithmetic::Power`].
pub fn arithmetic(items: &mut [Item<'_, (&Field, Arithmetic)>]) {
    for item in items {
        let (field, operation) = item.key;
        item.run(|src, dst| {
            let dst = room(dst, field.len())?;
            write(&compute(field, operation, src)?.0, dst);
            Ok(dst.len())
        });
    }
}

fn compute(field: &Field, operation: Arithmetic, src: &[u8]) -> Result<Element, OpError> {
    let len = field.len();
    let two = || {
        let [a, b] = cut(src, [len, len])?;
        Ok((field.element(a)?, field.element(b)?))
    };
    match operation {
        Arithmetic::Add | Arithmetic::Subtract => {
            let (mut a, b) = two()?;
            a.0.iter_mut().zip(&b.0).for_each(|(a, b)| *a ^= b);
            Ok(a)
        }
        Arithmetic::Multiply => {
            let (a, b) = two()?;
            Ok(field.multiply(&a, &b))
        }
        Arithmetic::Square => Ok(field.square(&field.element(src)?)),
        Arithmetic::Reduce if src.len() > 2 * len => Err(OpError::BadInput("too long")),
        Arithmetic::Reduce => {
            let mut wide = Wide([0; 2 * WORDS + 1]);
            read(src, &mut wide.0);
            Ok(field.reduce(&mut wide))
        }
        Arithmetic::Invert => field.inverse(&field.element(src)?),
        Arithmetic::Power => Err(OpError::Unsupported),
    }
}
