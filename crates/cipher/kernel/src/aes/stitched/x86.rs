//! The two chains by AES-NI and SHA-NI.

use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_storeu_si128};

use crate::aes::chain::{self, Chain};
use crate::aes::sha::ni::{self, Compression, Other};
use crate::aes::{BLOCK, Schedule};

/// AES blocks in the time of one block of the hash, and bytes of either.
const BLOCKS: usize = 4;
const STEP: usize = BLOCKS * BLOCK;

/// One chain of AES, from block to block of a text.
struct Cursor<'a> {
    schedule: &'a Schedule,
    chain: Chain,
    src: *const __m128i,
    dst: *mut __m128i,
    /// How many blocks are left, one at least.
    left: usize,
    /// The last ciphertext.
    block: __m128i,
}

/// The rounds of a cursor's block but the last.
struct Rounds<'a, 'b, const ROUNDS: usize>(&'a mut Cursor<'b>);

impl<const ROUNDS: usize> Other for Rounds<'_, '_, ROUNDS> {
    #[inline(always)]
    fn part(&mut self, i: usize, of: usize) {
        // SAFETY: only functions with the features make a cursor.
        unsafe { self.0.chain.rounds::<ROUNDS>(self.0.schedule, i, of) };
    }
}

// Inlined always, so that both chains stay in registers. Were they in memory, the compiler might move
// them in pairs by registers of 256 bits: the SHA instructions have no VEX encoding, and are slower
// by a factor of 100 while upper halves are in use.
impl Cursor<'_> {
    /// The last round of a block, and on to the next.
    ///
    /// # Safety
    /// One is left, readable at `src` and writable at `dst`, as all that are left.
    #[inline(always)]
    unsafe fn turn(&mut self) {
        self.left -= 1;
        // After the last block the chain takes it in again, which is without effect.
        self.src = self.src.wrapping_add(usize::from(self.left > 0));
        // SAFETY: the next block where there is one, else this one. In place, it is read before
        // anything is written to it.
        unsafe {
            let next = _mm_loadu_si128(self.src);
            self.block = self.chain.turn(next);
            _mm_storeu_si128(self.dst, self.block);
        }
        self.dst = self.dst.wrapping_add(1);
    }

    /// Encrypts a block.
    ///
    /// # Safety
    /// As `turn`.
    #[inline(always)]
    unsafe fn step<const ROUNDS: usize>(&mut self) {
        Rounds::<ROUNDS>(self).part(0, 1);
        // SAFETY: the caller's.
        unsafe { self.turn() };
    }

    /// Encrypts four blocks, one block of the hash meanwhile.
    ///
    /// # Safety
    /// As `turn`, four times; 64 bytes are readable at `hashed`.
    #[inline(always)]
    unsafe fn stitch<C: Compression, const ROUNDS: usize>(
        &mut self,
        compression: &mut C,
        hashed: *const u8,
    ) {
        // SAFETY: the caller's. In place, what is hashed is read before anything is written.
        unsafe {
            compression.begin(hashed);
            compression.quarter::<0>(&mut Rounds::<ROUNDS>(self));
            self.turn();
            compression.quarter::<1>(&mut Rounds::<ROUNDS>(self));
            self.turn();
            compression.quarter::<2>(&mut Rounds::<ROUNDS>(self));
            self.turn();
            compression.quarter::<3>(&mut Rounds::<ROUNDS>(self));
            self.turn();
            compression.end();
        }
    }
}

/// A cursor at the first of `blocks` blocks.
///
/// # Safety
/// There is one, at least.
#[inline]
#[target_feature(enable = "aes,avx2")]
unsafe fn cursor<'a>(
    schedule: &'a Schedule,
    iv: &[u8; BLOCK],
    src: *const u8,
    dst: *mut u8,
    blocks: usize,
) -> Cursor<'a> {
    let (src, dst) = (src.cast::<__m128i>(), dst.cast::<__m128i>());
    let iv = chain::load(iv);
    // SAFETY: the caller's.
    let chain = Chain::new(schedule, iv, unsafe { _mm_loadu_si128(src) });
    Cursor { schedule, chain, src, dst, left: blocks, block: iv }
}

/// # Safety
/// The CPU has the features; `64 steps` bytes are readable at `src`, and from byte `from` of it on,
/// and writable at `dst`, in place or apart.
#[target_feature(enable = "aes,avx2,sha")]
pub(super) unsafe fn mac_then_encrypt<C: Compression>(
    schedule: &Schedule,
    iv: &mut [u8; BLOCK],
    src: *const u8,
    dst: *mut u8,
    from: usize,
    steps: usize,
    state: &mut C::State,
) {
    if steps > 0 {
        // SAFETY: the caller's, with one step and more.
        unsafe { chain::by_rounds!(schedule, source<C>(iv, src, dst, from, steps, state)) }
    }
}

#[target_feature(enable = "aes,avx2,sha")]
unsafe fn source<C: Compression, const ROUNDS: usize>(
    schedule: &Schedule,
    iv: &mut [u8; BLOCK],
    src: *const u8,
    dst: *mut u8,
    from: usize,
    steps: usize,
    state: &mut C::State,
) {
    let mut compression = C::new(state);
    // SAFETY: the caller's: there are so many blocks, one at least.
    let mut cursor = unsafe { cursor(schedule, iv, src, dst, BLOCKS * steps) };
    for i in 0..steps {
        // SAFETY: the caller's. The hash reads ahead of what is written, or at the same place.
        unsafe { cursor.stitch::<C, ROUNDS>(&mut compression, src.add(from + i * STEP)) };
    }
    compression.save(state);
    chain::store(iv, cursor.block);
}

/// # Safety
/// The CPU has the features; `len` bytes are readable at `src` and writable at `dst`, in place or
/// apart; whole blocks.
#[target_feature(enable = "aes,avx2,sha")]
pub(super) unsafe fn encrypt_then_mac<C: Compression>(
    schedule: &Schedule,
    iv: &mut [u8; BLOCK],
    src: *const u8,
    dst: *mut u8,
    len: usize,
    from: usize,
    state: &mut C::State,
) {
    if len > 0 {
        // SAFETY: the caller's, with one block and more.
        unsafe { chain::by_rounds!(schedule, result<C>(iv, src, dst, len, from, state)) }
    }
}

#[target_feature(enable = "aes,avx2,sha")]
unsafe fn result<C: Compression, const ROUNDS: usize>(
    schedule: &Schedule,
    iv: &mut [u8; BLOCK],
    src: *const u8,
    dst: *mut u8,
    len: usize,
    from: usize,
    state: &mut C::State,
) {
    let mut compression = C::new(state);
    // SAFETY: the caller's: there are so many blocks, one at least.
    let mut cursor = unsafe { cursor(schedule, iv, src, dst, len / BLOCK) };
    let hashes = len.saturating_sub(from) / STEP;
    // A block of the hash needs all of its bytes encrypted.
    let (mut encrypted, mut hashed) = (0, 0);
    while encrypted + STEP <= len {
        // SAFETY: so many blocks are left; what is hashed was written before.
        unsafe {
            if hashed < hashes && from + (hashed + 1) * STEP <= encrypted {
                cursor.stitch::<C, ROUNDS>(&mut compression, dst.add(from + hashed * STEP));
                hashed += 1;
            } else {
                for _ in 0..BLOCKS {
                    cursor.step::<ROUNDS>();
                }
            }
        }
        encrypted += STEP;
    }
    while cursor.left > 0 {
        // SAFETY: one is left.
        unsafe { cursor.step::<ROUNDS>() };
    }
    for i in hashed..hashes {
        // SAFETY: it lies within the text, which is encrypted.
        unsafe { ni::block(&mut compression, dst.add(from + i * STEP)) };
    }
    compression.save(state);
    chain::store(iv, cursor.block);
}
