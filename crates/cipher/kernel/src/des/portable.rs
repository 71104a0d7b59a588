//! DES a block at a time, by eight tables of 64 words that hold an S-box and the permutation P.
//!
//! The addresses of the look-ups depend on the text and the key, as they do in the DES of OpenSSL
//! and AWS-LC; the tables are 2 KB, 32 lines of a cache. Test: `tests/des.rs`; bench: `blocks`.

use super::tables::SP;
use super::{Cipher, Direction};
use crate::modes::Engine;

/// One block at a time under a key.
pub(super) struct Scalar<'k, K> {
    direction: Direction,
    key: Option<&'k K>,
}

impl<K> Scalar<'_, K> {
    pub(super) fn new(direction: Direction) -> Self {
        Scalar { direction, key: None }
    }
}

impl<'k, K: Cipher> Engine<'k> for Scalar<'k, K> {
    type Key = K;
    const LANES: usize = 1;
    const ALONE: usize = 1;

    fn one_key(&mut self, key: &'k K) {
        self.key = Some(key);
    }

    fn lane_keys(&mut self, keys: &[&'k K], _: &[usize]) {
        self.key = keys.first().copied();
    }

    unsafe fn crypt(&self, count: usize, input: *const u8, mask: *const u8, output: *mut u8) {
        if let (Some(key), 1) = (self.key, count) {
            // SAFETY: a block each, as the caller promised.
            unsafe {
                let text = input.cast::<[u8; 8]>().read();
                let mask = mask.cast::<[u8; 8]>().read();
                let result = block(key, self.direction, u64::from_be_bytes(text));
                let result = result ^ u64::from_be_bytes(mask);
                output.cast::<[u8; 8]>().write(result.to_be_bytes());
            }
        }
    }
}

/// Exchanges the bits of `a` that `mask` selects with those of `b` that lie `shift` higher.
fn exchange(a: &mut u32, b: &mut u32, shift: u32, mask: u32) {
    let difference = (*b >> shift ^ *a) & mask;
    *a ^= difference;
    *b ^= difference << shift;
}

/// The initial permutation: a transposition of the 8 x 8 bits, in halvings.
fn initial(text: u64) -> (u32, u32) {
    let (mut l, mut r) = ((text >> 32) as u32, text as u32);
    exchange(&mut r, &mut l, 4, 0x0f0f_0f0f);
    exchange(&mut r, &mut l, 16, 0x0000_ffff);
    exchange(&mut l, &mut r, 2, 0x3333_3333);
    exchange(&mut l, &mut r, 8, 0x00ff_00ff);
    exchange(&mut r, &mut l, 1, 0x5555_5555);
    (l, r)
}

/// Its inverse.
fn last(mut l: u32, mut r: u32) -> u64 {
    exchange(&mut r, &mut l, 1, 0x5555_5555);
    exchange(&mut l, &mut r, 8, 0x00ff_00ff);
    exchange(&mut l, &mut r, 2, 0x3333_3333);
    exchange(&mut r, &mut l, 16, 0x0000_ffff);
    exchange(&mut r, &mut l, 4, 0x0f0f_0f0f);
    u64::from(l) << 32 | u64::from(r)
}

/// The function f: `even` and `odd` are the round key for the S-boxes 1, 3, 5, 7 and 2, 4, 6, 8,
/// the first in the highest byte.
#[inline(always)]
fn f(r: u32, [even, odd]: [u32; 2]) -> u32 {
    // S-box n (from 0) takes the bits 4n-1 to 4n+4 of the half, counted from 0 at the top: the low
    // six of each byte of these two.
    let [s0, s2, s4, s6] = (r.rotate_right(3) ^ even).to_be_bytes().map(|b| usize::from(b & 63));
    let [s1, s3, s5, s7] = (r.rotate_left(1) ^ odd).to_be_bytes().map(|b| usize::from(b & 63));
    (SP[0][s0] ^ SP[1][s1] ^ SP[2][s2] ^ SP[3][s3])
        ^ (SP[4][s4] ^ SP[5][s5] ^ SP[6][s6] ^ SP[7][s7])
}

/// A block through all passes. Between two of them, the last permutation of one and the initial
/// permutation of the next cancel, and the halves change places.
pub(super) fn block<K: Cipher>(key: &K, direction: Direction, text: u64) -> u64 {
    let (mut l, mut r) = initial(text);
    let mut pass = |round: &dyn Fn(usize) -> [u32; 2]| {
        for i in (0..16).step_by(2) {
            l ^= f(r, round(i));
            r ^= f(l, round(i + 1));
        }
        (l, r) = (r, l);
    };
    match direction {
        Direction::Encrypt => {
            for rounds in key.rounds() {
                pass(&|i| rounds[i]);
            }
        }
        Direction::Decrypt => {
            for rounds in key.rounds().iter().rev() {
                pass(&|i| rounds[15 - i]);
            }
        }
    }
    last(l, r)
}
