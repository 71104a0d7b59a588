//! ECB, CBC decryption and CTR: blocks that do not depend on each other's results.
//!
//! A text is worked on in groups of eight registers; what remains in one group of six or four, of two,
//! of one, which overlap, because none waits for another's result. What fills no register goes through
//! the rounds as one more, but block by block from and to memory: a masked access of a whole register
//! would wait for what was just written beside the text.

use core::arch::x86_64::{__m128i, __m256i, __m512i};

use super::blocks::{Blocks, cipher};
use super::{BLOCK, Schedule};

/// Calls `$group::<V, N>` with each group of a text of `$len` bytes at `$src` and `$dst`, and moves
/// these on. What is left is less than a register.
macro_rules! groups {
    ($V:ty, $src:ident, $dst:ident, $len:ident, $group:ident $(<$encrypt:ident>)? ($($argument:expr),*)) => {
        while $len >= 8 * <$V>::LEN {
            groups!(@one $V, 8, $src, $dst, $len, $group $(<$encrypt>)? ($($argument),*));
        }
        // Six at once wait for their rounds' results once, four and two twice.
        if $len >= 6 * <$V>::LEN {
            groups!(@one $V, 6, $src, $dst, $len, $group $(<$encrypt>)? ($($argument),*));
        } else if $len >= 4 * <$V>::LEN {
            groups!(@one $V, 4, $src, $dst, $len, $group $(<$encrypt>)? ($($argument),*));
        }
        if $len >= 2 * <$V>::LEN {
            groups!(@one $V, 2, $src, $dst, $len, $group $(<$encrypt>)? ($($argument),*));
        }
        if $len >= <$V>::LEN {
            groups!(@one $V, 1, $src, $dst, $len, $group $(<$encrypt>)? ($($argument),*));
        }
    };
    (@one $V:ty, $n:literal, $src:ident, $dst:ident, $len:ident, $group:ident $(<$encrypt:ident>)? ($($argument:expr),*)) => {
        // SAFETY: so many bytes are left.
        unsafe { $group::<$V, $n $(, $encrypt)?>($($argument,)* $src, $dst) };
        $src = $src.wrapping_add($n * <$V>::LEN);
        $dst = $dst.wrapping_add($n * <$V>::LEN);
        $len -= $n * <$V>::LEN;
    };
}

/// Loads `N` registers.
///
/// # Safety
/// So many bytes are readable.
#[inline(always)]
pub(super) unsafe fn load<V: Blocks, const N: usize>(src: *const u8) -> [V; N] {
    // SAFETY: the caller's.
    let mut state = [unsafe { V::load(src) }; N];
    for (i, blocks) in state.iter_mut().enumerate().skip(1) {
        // SAFETY: as above.
        *blocks = unsafe { V::load(src.wrapping_add(i * V::LEN)) };
    }
    state
}

/// Stores `N` registers.
///
/// # Safety
/// So many bytes are writable.
#[inline(always)]
pub(super) unsafe fn store<V: Blocks, const N: usize>(state: &[V; N], dst: *mut u8) {
    for (i, blocks) in state.iter().enumerate() {
        // SAFETY: the caller's.
        unsafe { blocks.store(dst.wrapping_add(i * V::LEN)) };
    }
}

/// # Safety
/// `N` registers are readable and writable; the same for the groups below.
#[inline(always)]
unsafe fn ecb_group<V: Blocks, const N: usize, const ENCRYPT: bool>(
    schedule: &Schedule,
    src: *const u8,
    dst: *mut u8,
) {
    // SAFETY: the caller's.
    let mut state: [V; N] = unsafe { load(src) };
    cipher::<V, N, ENCRYPT>(schedule, &mut state);
    // SAFETY: the caller's.
    unsafe { store(&state, dst) };
}

/// # Safety
/// `len` bytes are readable and writable, in place or apart; whole blocks.
#[inline(always)]
unsafe fn ecb<V: Blocks, const ENCRYPT: bool>(
    schedule: &Schedule,
    mut src: *const u8,
    mut dst: *mut u8,
    mut len: usize,
) {
    groups!(V, src, dst, len, ecb_group<ENCRYPT>(schedule));
    if V::BLOCKS > 1 && len == BLOCK {
        // One block alone is what masks of headers are made of.
        // SAFETY: so many bytes are left.
        unsafe { ecb_group::<__m128i, 1, ENCRYPT>(schedule, src, dst) };
    } else if V::BLOCKS > 1 && len > 0 {
        // SAFETY: so many bytes are left.
        let mut state = [unsafe { V::load_part(src, len) }];
        cipher::<V, 1, ENCRYPT>(schedule, &mut state);
        // SAFETY: as above.
        unsafe { state[0].store_part(dst, len) };
    }
    debug_assert!(V::BLOCKS > 1 || len == 0, "whole blocks");
}

#[inline(always)]
unsafe fn cbc_decrypt_group<V: Blocks, const N: usize>(
    schedule: &Schedule,
    before: &mut V,
    src: *const u8,
    dst: *mut u8,
) {
    // SAFETY: the caller's.
    let ciphertext: [V; N] = unsafe { load(src) };
    let mut state = ciphertext;
    cipher::<V, N, false>(schedule, &mut state);
    for (blocks, ciphertext) in state.iter_mut().zip(ciphertext) {
        *blocks = blocks.xor(ciphertext.shift_in(*before));
        *before = ciphertext;
    }
    // SAFETY: the caller's.
    unsafe { store(&state, dst) };
}

/// # Safety
/// `len` bytes are readable and writable, in place or apart; whole blocks.
#[inline(always)]
unsafe fn decrypt_cbc<V: Blocks>(
    schedule: &Schedule,
    iv: &mut [u8; BLOCK],
    mut src: *const u8,
    mut dst: *mut u8,
    mut len: usize,
) {
    if len == 0 {
        return;
    }
    if V::BLOCKS > 1 && len < V::LEN {
        // A short one is done before wide registers are set up.
        // SAFETY: the caller's.
        return unsafe { decrypt_cbc::<__m128i>(schedule, iv, src, dst, len) };
    }
    let mut before = V::splat(iv);
    // SAFETY: there is a last block.
    *iv = unsafe { src.wrapping_add(len - BLOCK).cast::<[u8; BLOCK]>().read() };
    groups!(V, src, dst, len, cbc_decrypt_group(schedule, &mut before));
    if V::BLOCKS > 1 && len > 0 {
        // SAFETY: so many bytes are left.
        let ciphertext = unsafe { V::load_part(src, len) };
        let mut state = [ciphertext];
        cipher::<V, 1, false>(schedule, &mut state);
        // SAFETY: as above.
        unsafe { state[0].xor(ciphertext.shift_in(before)).store_part(dst, len) };
    }
    debug_assert!(V::BLOCKS > 1 || len == 0, "whole blocks");
}

/// `N` registers of counters, byte by byte as the mode has them, and the next one.
#[inline(always)]
fn counters<V: Blocks, const N: usize>(next: &mut V) -> [V; N] {
    let mut state = [*next; N];
    for blocks in &mut state {
        *blocks = next.swap_bytes();
        *next = next.add(V::BLOCKS as u64);
    }
    state
}

#[inline(always)]
unsafe fn ctr_group<V: Blocks, const N: usize>(
    schedule: &Schedule,
    next: &mut V,
    src: *const u8,
    dst: *mut u8,
) {
    let mut state: [V; N] = counters(next);
    cipher::<V, N, true>(schedule, &mut state);
    for (i, blocks) in state.iter_mut().enumerate() {
        // SAFETY: the caller's.
        *blocks = blocks.xor(unsafe { V::load(src.wrapping_add(i * V::LEN)) });
    }
    // SAFETY: the caller's.
    unsafe { store(&state, dst) };
}

/// # Safety
/// `len` bytes are readable and writable, in place or apart.
#[inline(always)]
unsafe fn count<V: Blocks>(
    schedule: &Schedule,
    counter: u128,
    mut src: *const u8,
    mut dst: *mut u8,
    mut len: usize,
) {
    if V::BLOCKS > 1 && len < V::LEN {
        // A short one is done before wide registers are set up.
        // SAFETY: the caller's.
        return unsafe { count::<__m128i>(schedule, counter, src, dst, len) };
    }
    let mut next = V::counters(counter);
    groups!(V, src, dst, len, ctr_group(schedule, &mut next));
    if len > 0 {
        let mut state: [V; 1] = counters(&mut next);
        cipher::<V, 1, true>(schedule, &mut state);
        // SAFETY: so many bytes are left.
        unsafe { state[0].xor(V::load_part(src, len)).store_part(dst, len) };
    }
}

macro_rules! entries {
    ($unit:ident, $V:ty, $features:literal) => {
        pub(super) mod $unit {
            use super::*;

            /// # Safety
            /// The CPU has the features; `len` bytes are readable and writable, in place or apart;
            /// whole blocks. The same for the others, but for the blocks with `ctr`.
            #[target_feature(enable = $features)]
            pub unsafe fn ecb_encrypt(key: &Schedule, src: *const u8, dst: *mut u8, len: usize) {
                // SAFETY: the caller's.
                unsafe { ecb::<$V, true>(key, src, dst, len) }
            }

            #[target_feature(enable = $features)]
            pub unsafe fn ecb_decrypt(key: &Schedule, src: *const u8, dst: *mut u8, len: usize) {
                // SAFETY: the caller's.
                unsafe { ecb::<$V, false>(key, src, dst, len) }
            }

            #[target_feature(enable = $features)]
            pub unsafe fn cbc_decrypt(
                key: &Schedule,
                iv: &mut [u8; BLOCK],
                src: *const u8,
                dst: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller's.
                unsafe { decrypt_cbc::<$V>(key, iv, src, dst, len) }
            }

            #[target_feature(enable = $features)]
            pub unsafe fn ctr(
                key: &Schedule,
                counter: u128,
                src: *const u8,
                dst: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller's.
                unsafe { count::<$V>(key, counter, src, dst, len) }
            }
        }
    };
}

entries!(vaes, __m512i, "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq");
entries!(vaes_256, __m256i, "avx2,bmi1,bmi2,vaes,vpclmulqdq,aes,pclmulqdq");
entries!(aes_ni, __m128i, "avx2,aes,pclmulqdq");
