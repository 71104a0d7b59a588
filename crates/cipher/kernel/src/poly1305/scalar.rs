//! Poly1305 a block at a time, in words of 64 bits; and the limbs of 44, 44 and 42 bits that the vectors'
//! code works with.

#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "the vectors' code takes them"))]

use zeroize::Zeroize;

/// 44 bits, and the 42 of the highest limb.
pub(super) const MASK_44: u64 = (1 << 44) - 1;
pub(super) const MASK_42: u64 = (1 << 42) - 1;

/// A number modulo `2^130 - 5`: limbs of 44, 44 and 42 bits, the lowest a little larger at times.
pub(super) type Limbs = [u64; 3];

/// A number modulo `2^130 - 5`: words of 64 bits, the highest below 8.
pub(crate) type Words = [u64; 3];

/// `r`, `s`, and the value so far.
#[derive(Clone)]
pub(crate) struct State {
    r: [u64; 2],
    h: Words,
    s: u128,
}

/// The limbs of words.
#[inline(always)]
pub(super) fn to_limbs([a, b, c]: Words) -> Limbs {
    [a & MASK_44, (a >> 44 | b << 20) & MASK_44, b >> 24 | c << 40]
}

/// The words of limbs of which the higher two may be a little larger than they should be.
#[inline(always)]
pub(super) fn to_words([a, b, c]: Limbs) -> Words {
    let low = u128::from(a) + (u128::from(b) << 44);
    let middle = (low >> 64) + (u128::from(c) << 24);
    [low as u64, middle as u64, (middle >> 64) as u64]
}

/// `r` of a key: RFC 8439, 2.5, clears the top four bits of every word and the low two bits of every
/// word but the first.
#[inline]
fn clamped(key: &[u8; 32]) -> u128 {
    const CLAMP: u128 = 0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff;
    let (r, _) = key.split_first_chunk::<16>().expect("16 of 32 bytes");
    u128::from_le_bytes(*r) & CLAMP
}

/// The product modulo `2^130 - 5`. Factors below `2^46` in each limb give sums below `2^98`.
#[inline(always)]
pub(super) fn multiply(a: Limbs, b: Limbs) -> Limbs {
    let product = |i: usize, j: usize| u128::from(a[i]) * u128::from(b[j]);
    let wrapped = |i: usize, j: usize| u128::from(a[i]) * u128::from(20 * b[j]);
    let d0 = product(0, 0) + wrapped(1, 2) + wrapped(2, 1);
    let d1 = product(0, 1) + product(1, 0) + wrapped(2, 2);
    let d2 = product(0, 2) + product(1, 1) + product(2, 0);
    let d1 = d1 + (d0 >> 44);
    let d2 = d2 + (d1 >> 44);
    let h0 = (d0 as u64 & MASK_44) + 5 * (d2 >> 42) as u64;
    let h1 = (d1 as u64 & MASK_44) + (h0 >> 44);
    [h0 & MASK_44, h1, d2 as u64 & MASK_42]
}

/// The tag of value `h` under the key half `s`: `h` fully reduced, plus `s`, modulo `2^128`.
#[inline]
fn tag(h: Words, s: u128) -> [u8; 16] {
    // The bits from 2^130 on are 5 each; what is left is below 2^130 + 5.
    let low = u128::from(h[0]) | u128::from(h[1]) << 64;
    let (low, carry) = low.overflowing_add(5 * u128::from(h[2] >> 2));
    let high = (h[2] & 3) + u64::from(carry);
    // h + 5 reaches 2^130 exactly when h is not below 2^130 - 5, and then its low bits are h - p.
    let (sum, carry) = low.overflowing_add(5);
    let take = u128::from((high + u64::from(carry)) >> 2).wrapping_neg();
    let reduced = low & !take | sum & take;
    reduced.wrapping_add(s).to_le_bytes()
}

/// `(h + 2^128 pad + block) r`, partly reduced.
///
/// ```text
/// (h0 + h1 2^64 + h2 2^128) (r0 + r1 2^64)
///     = h0 r0 + h1 s1  +  (h0 r1 + h1 r0 + h2 s1) 2^64  +  h2 r0 2^128      s1 = r1 + r1/4
/// ```
///
/// because `r1` is a multiple of 4 and `2^130` is 5: what passes `2^128` by `r1` is `5/4 r1`, exactly.
/// `h2` stays below 8 and `r` below `2^60`, so that every sum fits 128 bits and the carries of the last
/// two lines leave no room for another.
#[inline(always)]
pub(crate) fn step(h: Words, [r0, r1]: [u64; 2], block: &[u8; 16], pad: u64) -> Words {
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let s1 = r1 + (r1 >> 2);
    let block = u128::from_le_bytes(*block);
    let (h0, carry) = h[0].overflowing_add(block as u64);
    let (h1, carry_a) = h[1].overflowing_add((block >> 64) as u64);
    let (h1, carry_b) = h1.overflowing_add(u64::from(carry));
    let h2 = h[2] + pad + u64::from(carry_a) + u64::from(carry_b);
    let d0 = product(h0, r0) + product(h1, s1);
    // The high word of d0 is added last: it comes late.
    let d1 = product(h0, r1) + product(h1, r0) + u128::from(h2.wrapping_mul(s1)) + (d0 >> 64);
    let d2 = h2.wrapping_mul(r0).wrapping_add((d1 >> 64) as u64);
    // 2^130 of d2's bits above the low two is 5: four times and once.
    let (h0, carry) = (d0 as u64).overflowing_add((d2 >> 2) + (d2 & !3));
    let (h1, carry) = (d1 as u64).overflowing_add(u64::from(carry));
    [h0, h1, (d2 & 3) + u64::from(carry)]
}

impl State {
    pub fn new(key: &[u8; 32]) -> State {
        let (_, s) = key.split_last_chunk::<16>().expect("16 of 32 bytes");
        let r = clamped(key);
        State { r: [r as u64, (r >> 64) as u64], h: [0; 3], s: u128::from_le_bytes(*s) }
    }

    /// The value so far and `r`, for [`step`].
    #[inline]
    pub fn words(&self) -> (Words, [u64; 2]) {
        (self.h, self.r)
    }

    /// Another value, of [`step`].
    #[inline]
    pub fn set_words(&mut self, h: Words) {
        self.h = h;
    }

    /// `r`.
    #[inline]
    pub(super) fn r(&self) -> Limbs {
        to_limbs([self.r[0], self.r[1], 0])
    }

    /// The value so far.
    #[inline]
    pub(super) fn h(&self) -> Limbs {
        to_limbs(self.h)
    }

    /// Another value, of limbs as [`multiply`] gives them.
    #[inline]
    pub(super) fn set_h(&mut self, h: Limbs) {
        self.h = to_words(h);
    }

    /// One block, with the bit above it if `pad` is 1.
    #[inline]
    pub fn block(&mut self, block: &[u8; 16], pad: u64) {
        self.h = step(self.h, self.r, block, pad);
    }

    /// The whole blocks of `data`; returns the rest.
    #[inline(always)]
    pub fn blocks<'a>(&mut self, data: &'a [u8]) -> &'a [u8] {
        let (blocks, tail) = data.as_chunks();
        let (mut h, r) = (self.h, self.r);
        for block in blocks {
            h = step(h, r, block, 1);
        }
        self.h = h;
        tail
    }

    /// The last bytes of a message, less than a block.
    pub fn last(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            let mut block = [0; 16];
            block[..bytes.len()].copy_from_slice(bytes);
            block[bytes.len()] = 1;
            self.block(&block, 0);
        }
    }

    #[inline]
    pub fn tag(&self) -> [u8; 16] {
        tag(self.h, self.s)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.r.zeroize();
        self.h.zeroize();
        self.s.zeroize();
    }
}
