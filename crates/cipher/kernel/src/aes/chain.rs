//! CBC encryption and the CBC-MAC: each block waits for the one before.
//!
//! The chain is rounds times the latency of one AES instruction, and nothing else is on it: the
//! exclusive or with the next block and the first round key is done to the last round's key, off the
//! chain, as `last(s, k) ^ b ^ k0 = last(s, k ^ b ^ k0)`. The ciphertext is had back by the same
//! exclusive or, again off the chain.

use core::arch::x86_64::{
    __m128i, _mm_aesenc_si128, _mm_aesenclast_si128, _mm_loadu_si128, _mm_storeu_si128,
    _mm_xor_si128,
};

use super::{BLOCK, Schedule};

/// One chain under way.
pub(super) struct Chain {
    /// The state before the first round of a block, which is in it already.
    pub(super) state: __m128i,
    first: __m128i,
    last: __m128i,
}

impl Chain {
    /// Begins with a block.
    #[inline]
    #[target_feature(enable = "aes,avx2")]
    pub(super) fn new(schedule: &Schedule, iv: __m128i, block: __m128i) -> Chain {
        let (first, last) = (load(&schedule.keys[0]), load(&schedule.last));
        Chain { state: _mm_xor_si128(_mm_xor_si128(iv, block), first), first, last }
    }

    /// Part `i` of `of` of the rounds but the last.
    #[inline]
    #[target_feature(enable = "aes,avx2")]
    pub(super) fn rounds<const ROUNDS: usize>(&mut self, schedule: &Schedule, i: usize, of: usize) {
        for key in &schedule.keys[1 + (ROUNDS - 1) * i / of..1 + (ROUNDS - 1) * (i + 1) / of] {
            self.state = _mm_aesenc_si128(self.state, load(key));
        }
    }

    /// The last round of one block's encryption, and the next block in: returns the ciphertext.
    #[inline]
    #[target_feature(enable = "aes,avx2")]
    pub(super) fn turn(&mut self, next: __m128i) -> __m128i {
        let next = _mm_xor_si128(next, self.first);
        self.state = _mm_aesenclast_si128(self.state, _mm_xor_si128(self.last, next));
        _mm_xor_si128(self.state, next)
    }

    /// One block's encryption, and the next block in: returns the ciphertext.
    #[inline]
    #[target_feature(enable = "aes,avx2")]
    pub(super) fn step<const ROUNDS: usize>(
        &mut self,
        schedule: &Schedule,
        next: __m128i,
    ) -> __m128i {
        self.rounds::<ROUNDS>(schedule, 0, 1);
        self.turn(next)
    }

    /// The last block's encryption.
    #[inline]
    #[target_feature(enable = "aes,avx2")]
    pub(super) fn end<const ROUNDS: usize>(mut self, schedule: &Schedule) -> __m128i {
        self.rounds::<ROUNDS>(schedule, 0, 1);
        _mm_aesenclast_si128(self.state, self.last)
    }
}

#[inline]
#[target_feature(enable = "aes,avx2")]
pub(super) fn load(block: &[u8; BLOCK]) -> __m128i {
    // SAFETY: 16 bytes.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "aes,avx2")]
pub(super) fn store(block: &mut [u8; BLOCK], value: __m128i) {
    // SAFETY: 16 bytes.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), value) }
}

/// Runs a function for the number of rounds.
macro_rules! by_rounds {
    ($schedule:expr, $function:ident $(<$C:ident>)? ($($argument:expr),*)) => {
        match $schedule.rounds {
            10 => $function::<$($C,)? 10>($schedule, $($argument),*),
            12 => $function::<$($C,)? 12>($schedule, $($argument),*),
            _ => $function::<$($C,)? 14>($schedule, $($argument),*),
        }
    };
}
pub(super) use by_rounds;

/// # Safety
/// The CPU has the features; `blocks` blocks are readable and writable, in place or apart.
#[target_feature(enable = "aes,avx2")]
pub(super) unsafe fn cbc_encrypt(
    schedule: &Schedule,
    iv: &mut [u8; BLOCK],
    src: *const u8,
    dst: *mut u8,
    blocks: usize,
) {
    if blocks > 0 {
        // SAFETY: the caller's, with one block and more.
        unsafe { by_rounds!(schedule, encrypt(iv, src, dst, blocks)) }
    }
}

#[target_feature(enable = "aes,avx2")]
unsafe fn encrypt<const ROUNDS: usize>(
    schedule: &Schedule,
    iv: &mut [u8; BLOCK],
    src: *const u8,
    dst: *mut u8,
    blocks: usize,
) {
    let (src, dst) = (src.cast::<__m128i>(), dst.cast::<__m128i>());
    // SAFETY: there is a first block.
    let mut chain = Chain::new(schedule, load(iv), unsafe { _mm_loadu_si128(src) });
    for i in 0..blocks - 1 {
        // SAFETY: there are blocks `i` and `i + 1`. The latter is read before the former is written.
        unsafe {
            let next = _mm_loadu_si128(src.add(i + 1));
            _mm_storeu_si128(dst.add(i), chain.step::<ROUNDS>(schedule, next));
        }
    }
    let last = chain.end::<ROUNDS>(schedule);
    // SAFETY: the last block.
    unsafe { _mm_storeu_si128(dst.add(blocks - 1), last) };
    store(iv, last);
}

/// Continues a CBC-MAC over the whole blocks.
#[target_feature(enable = "aes,avx2")]
pub(super) fn cbc_mac(schedule: &Schedule, state: &mut [u8; BLOCK], blocks: &[u8]) {
    by_rounds!(schedule, mac(state, blocks.as_chunks().0));
}

#[target_feature(enable = "aes,avx2")]
fn mac<const ROUNDS: usize>(schedule: &Schedule, state: &mut [u8; BLOCK], blocks: &[[u8; BLOCK]]) {
    if let [first, others @ ..] = blocks {
        let mut chain = Chain::new(schedule, load(state), load(first));
        for block in others {
            chain.step::<ROUNDS>(schedule, load(block));
        }
        store(state, chain.end::<ROUNDS>(schedule));
    }
}
