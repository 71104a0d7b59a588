//! AES-XTS, IEEE 1619: block `j` is hidden by the tweak times x^j before and after the cipher.
//!
//! Tweaks are bytes little-endian, so that "times x" is a shift to the left of a number of 128 bits
//! with x^128 = x^7 + x^2 + x + 1. Those of eight registers are kept ahead: the first eight blocks'
//! by shifts of one to seven bits, every other as that eight blocks before times x^8, which is a
//! shift by a byte and one multiplication without carries.

use core::arch::x86_64::{__m128i, __m256i, __m512i};

use super::blocks::{Blocks, cipher};
use super::modes::{load, store};
use super::{BLOCK, Schedule};

/// How many registers are under way.
const WIDTH: usize = 8;

/// The tweaks of the first `WIDTH` registers.
#[inline(always)]
fn first_tweaks<V: Blocks>(tweak: __m128i) -> [V; WIDTH] {
    let ahead = 8 / V::BLOCKS;
    let mut tweaks = [V::powers(tweak, 0); WIDTH];
    for i in 1..WIDTH {
        tweaks[i] = if i < ahead {
            V::powers(tweak, (i * V::BLOCKS) as u64)
        } else {
            tweaks[i - ahead].times_x8()
        };
    }
    tweaks
}

/// The tweaks of the `WIDTH` registers that follow.
#[inline(always)]
fn next_tweaks<V: Blocks>(tweaks: &mut [V; WIDTH]) {
    let ahead = 8 / V::BLOCKS;
    for i in 0..WIDTH {
        // The later ones are still those of before.
        tweaks[i] = tweaks[(i + WIDTH - ahead) % WIDTH].times_x8();
    }
}

/// # Safety
/// `N` registers are readable and writable at `src` and `dst`.
#[inline(always)]
unsafe fn group<V: Blocks, const N: usize, const ENCRYPT: bool>(
    schedule: &Schedule,
    tweaks: &[V; N],
    src: *const u8,
    dst: *mut u8,
) {
    // SAFETY: the caller's.
    let mut state: [V; N] = unsafe { load(src) };
    for (blocks, tweak) in state.iter_mut().zip(tweaks) {
        *blocks = blocks.xor(*tweak);
    }
    cipher::<V, N, ENCRYPT>(schedule, &mut state);
    for (blocks, tweak) in state.iter_mut().zip(tweaks) {
        *blocks = blocks.xor(*tweak);
    }
    // SAFETY: the caller's.
    unsafe { store(&state, dst) };
}

/// # Safety
/// `len` bytes, one block at least, are readable and writable, in place or apart.
#[inline(always)]
unsafe fn xts<V: Blocks, const ENCRYPT: bool>(
    schedule: &Schedule,
    tweak_schedule: &Schedule,
    tweak: &[u8; BLOCK],
    mut src: *const u8,
    mut dst: *mut u8,
    len: usize,
) {
    let mut tweak = [__m128i::splat(tweak)];
    cipher::<__m128i, 1, true>(tweak_schedule, &mut tweak);
    let stolen = len % BLOCK;
    // The last whole block is stolen from: it waits.
    let mut left = if stolen > 0 { len - stolen - BLOCK } else { len };
    let mut tweaks = first_tweaks::<V>(tweak[0]);
    while left >= WIDTH * V::LEN {
        // SAFETY: so many bytes are left.
        unsafe { group::<V, WIDTH, ENCRYPT>(schedule, &tweaks, src, dst) };
        next_tweaks(&mut tweaks);
        src = src.wrapping_add(WIDTH * V::LEN);
        dst = dst.wrapping_add(WIDTH * V::LEN);
        left -= WIDTH * V::LEN;
    }

    // Four registers, two, one; their tweaks leave at the front.
    let [a, b, c, d, others @ ..] = tweaks;
    let mut four = [a, b, c, d];
    macro_rules! rest {
        ($n:literal, $tweaks:expr) => {
            // SAFETY: so many bytes are left.
            unsafe { group::<V, $n, ENCRYPT>(schedule, $tweaks, src, dst) };
            src = src.wrapping_add($n * V::LEN);
            dst = dst.wrapping_add($n * V::LEN);
            left -= $n * V::LEN;
        };
    }
    if left >= 4 * V::LEN {
        rest!(4, &four);
        four = others;
    }
    let [a, b, mut tweak, next] = four;
    let mut two = [a, b];
    if left >= 2 * V::LEN {
        rest!(2, &two);
        two = [tweak, next];
    }
    [tweak, _] = two;
    if left >= V::LEN {
        rest!(1, &[tweak]);
        tweak = two[1];
    }

    // Up to three blocks in registers of their own (see `modes`).
    let first = tweak.first();
    let mut tweak = first;
    if V::BLOCKS > 1 {
        let blocks = left / BLOCK;
        tweak = __m128i::powers(first, blocks as u64);
        if blocks >= 2 {
            let two = [first, __m128i::powers(first, 1)];
            // SAFETY: so many bytes are left.
            unsafe { group::<__m128i, 2, ENCRYPT>(schedule, &two, src, dst) };
            src = src.wrapping_add(2 * BLOCK);
            dst = dst.wrapping_add(2 * BLOCK);
        }
        if !blocks.is_multiple_of(2) {
            let one = [if blocks == 1 { first } else { __m128i::powers(first, 2) }];
            // SAFETY: so many bytes are left.
            unsafe { group::<__m128i, 1, ENCRYPT>(schedule, &one, src, dst) };
            src = src.wrapping_add(BLOCK);
            dst = dst.wrapping_add(BLOCK);
        }
    }
    if stolen > 0 {
        // SAFETY: a block and `stolen` bytes of the text are left.
        unsafe { steal::<ENCRYPT>(schedule, tweak, src, dst, stolen) };
    }
}

/// The last whole block and the `stolen` bytes after it (IEEE 1619 section 5.3.2 and 5.4.2).
///
/// # Safety
/// So many bytes are readable and writable, in place or apart.
#[inline(always)]
unsafe fn steal<const ENCRYPT: bool>(
    schedule: &Schedule,
    here: __m128i,
    src: *const u8,
    dst: *mut u8,
    stolen: usize,
) {
    let after = __m128i::powers(here, 1);
    let (first, second) = if ENCRYPT { (here, after) } else { (after, here) };
    // SAFETY: the caller's.
    let mut state = [unsafe { __m128i::load(src) }.xor(first)];
    cipher::<__m128i, 1, ENCRYPT>(schedule, &mut state);
    let mut block = [0; BLOCK];
    let mut tail = [0; BLOCK];
    // SAFETY: an array of a block; the rest is the caller's. What is read at the source is read
    // before it is overwritten, which may be in place.
    unsafe {
        state[0].xor(first).store(block.as_mut_ptr());
        src.wrapping_add(BLOCK).copy_to_nonoverlapping(tail.as_mut_ptr(), stolen);
        block.as_ptr().copy_to_nonoverlapping(dst.wrapping_add(BLOCK), stolen);
        block[..stolen].copy_from_slice(&tail[..stolen]);
        state = [__m128i::load(block.as_ptr()).xor(second)];
    }
    cipher::<__m128i, 1, ENCRYPT>(schedule, &mut state);
    // SAFETY: the caller's.
    unsafe { state[0].xor(second).store(dst) };
}

macro_rules! entries {
    ($unit:ident, $V:ty, $features:literal) => {
        pub(super) mod $unit {
            use super::*;

            /// # Safety
            /// The CPU has the features; `len` bytes, one block at least, are readable and writable,
            /// in place or apart. The same for `decrypt`.
            #[target_feature(enable = $features)]
            pub unsafe fn encrypt(
                key: &Schedule,
                tweak_key: &Schedule,
                tweak: &[u8; BLOCK],
                src: *const u8,
                dst: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller's.
                unsafe { xts::<$V, true>(key, tweak_key, tweak, src, dst, len) }
            }

            #[target_feature(enable = $features)]
            pub unsafe fn decrypt(
                key: &Schedule,
                tweak_key: &Schedule,
                tweak: &[u8; BLOCK],
                src: *const u8,
                dst: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller's.
                unsafe { xts::<$V, false>(key, tweak_key, tweak, src, dst, len) }
            }
        }
    };
}

entries!(vaes, __m512i, "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq");
entries!(vaes_256, __m256i, "avx2,bmi1,bmi2,vaes,vpclmulqdq,aes,pclmulqdq");
entries!(aes_ni, __m128i, "avx2,aes,pclmulqdq");
