//! Poly1305 a block at a time: limbs of 44, 44 and 42 bits, products of 128.

use zeroize::Zeroize;

/// 44 bits, and the 42 of the highest limb.
pub(super) const MASK_44: u64 = (1 << 44) - 1;
pub(super) const MASK_42: u64 = (1 << 42) - 1;

/// A number modulo `2^130 - 5`: limbs of 44, 44 and 42 bits, the lowest a little larger at times.
pub(super) type Limbs = [u64; 3];

/// `r`, `s`, and the value so far.
#[derive(Clone)]
pub(super) struct State {
    pub r: Limbs,
    pub h: Limbs,
    s: u128,
}

/// The limbs of `2^128 pad + block`.
#[inline]
pub(super) fn limbs(block: &[u8; 16], pad: u64) -> Limbs {
    let value = u128::from_le_bytes(*block);
    let (low, high) = (value as u64, (value >> 64) as u64);
    [low & MASK_44, ((low >> 44) | (high << 20)) & MASK_44, (high >> 24) | (pad << 40)]
}

/// `r` of a key: RFC 8439, 2.5, clears the top four bits of every word and the low two bits of every
/// word but the first.
#[inline]
pub(super) fn r(key: &[u8; 32]) -> Limbs {
    const CLAMP: u128 = 0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff;
    let (r, _) = key.split_first_chunk::<16>().expect("16 of 32 bytes");
    limbs(&(u128::from_le_bytes(*r) & CLAMP).to_le_bytes(), 0)
}

/// The product modulo `2^130 - 5`. Factors below `2^46` in each limb give sums below `2^98`.
#[inline]
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
pub(super) fn tag(h: Limbs, s: u128) -> [u8; 16] {
    let carry = |mut h: Limbs| {
        h[1] += h[0] >> 44;
        h[2] += h[1] >> 44;
        let top = h[2] >> 42;
        [(h[0] & MASK_44) + 5 * top, h[1] & MASK_44, h[2] & MASK_42]
    };
    // Twice: the first pass may leave the lowest limb above 44 bits; after the second the number is
    // below 2^130, but for a lowest limb that the third carries without a wrap.
    let h = carry(carry(carry(h)));
    // h + 5 reaches 2^130 exactly when h is not below 2^130 - 5, and then its low bits are h - p.
    let g0 = h[0] + 5;
    let g1 = h[1] + (g0 >> 44);
    let g2 = h[2] + (g1 >> 44);
    let take = (g2 >> 42).wrapping_neg();
    let pick = |h: u64, g: u64, mask: u64| (h & !take) | (g & mask & take);
    let h = [pick(h[0], g0, MASK_44), pick(h[1], g1, MASK_44), pick(h[2], g2, MASK_42)];
    let value = u128::from(h[0]) | (u128::from(h[1]) << 44) | (u128::from(h[2]) << 88);
    value.wrapping_add(s).to_le_bytes()
}

impl State {
    pub fn new(key: &[u8; 32]) -> State {
        let (_, s) = key.split_last_chunk::<16>().expect("16 of 32 bytes");
        State { r: r(key), h: [0; 3], s: u128::from_le_bytes(*s) }
    }

    /// One block, with the bit above it if `pad` is 1.
    #[inline]
    pub fn block(&mut self, block: &[u8; 16], pad: u64) {
        let m = limbs(block, pad);
        let h = [self.h[0] + m[0], self.h[1] + m[1], self.h[2] + m[2]];
        self.h = multiply(h, self.r);
    }

    /// The whole blocks of `data`; returns the rest.
    pub fn blocks<'a>(&mut self, data: &'a [u8]) -> &'a [u8] {
        let (blocks, tail) = data.as_chunks();
        for block in blocks {
            self.block(block, 1);
        }
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
