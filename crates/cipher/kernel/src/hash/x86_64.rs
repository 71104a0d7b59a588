//! The compression functions compiled for each tier of x86-64.

use lookaside_simd::{Avx2, Avx512};

use super::two::Two;
use super::{avx2, avx512};

/// A module per algorithm: `avx512`, `avx2`, `avx512_256` (vectors of AVX2's width, instructions of
/// AVX-512), and `one`, the portable code with the bit
/// manipulation instructions (`!b & c` and rotations to another register) that AVX2 implies.
///
/// Their contract is that of the algorithm's `run`; the token proves the instructions.
macro_rules! tiers {
    ($($name:ident: $word:ident as $words:ident, $avx512:literal, $avx2:literal
        $(, $more:ident)?;)*) => { $(
        pub(super) mod $name {
            use super::*;
            use crate::hash::$name::run;

            /// # Safety
            /// That of `run`.
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
            pub(in crate::hash) unsafe fn avx512(
                token: Avx512,
                states: &[*mut u8; $avx512],
                data: &[*const u8; $avx512],
                blocks: usize,
                $($more: usize,)?
            ) {
                // SAFETY: the caller's.
                unsafe {
                    run::<avx512::$words, $avx512>(token, states, data, blocks $(, $more)?);
                }
            }

            /// # Safety
            /// That of `run`.
            #[target_feature(enable = "avx2,bmi1,bmi2")]
            pub(in crate::hash) unsafe fn avx2(
                token: Avx2,
                states: &[*mut u8; $avx2],
                data: &[*const u8; $avx2],
                blocks: usize,
                $($more: usize,)?
            ) {
                // SAFETY: the caller's.
                unsafe { run::<avx2::$words<Avx2>, $avx2>(token, states, data, blocks $(, $more)?) }
            }

            /// # Safety
            /// That of `run`.
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
            pub(in crate::hash) unsafe fn avx512_256(
                token: Avx512,
                states: &[*mut u8; $avx2],
                data: &[*const u8; $avx2],
                blocks: usize,
                $($more: usize,)?
            ) {
                // SAFETY: the caller's.
                unsafe { run::<avx2::$words<Avx512>, $avx2>(token, states, data, blocks $(, $more)?) }
            }

            /// # Safety
            /// That of `run`.
            #[target_feature(enable = "bmi1,bmi2")]
            pub(in crate::hash) unsafe fn one(
                _: Avx2,
                states: &[*mut u8; 1],
                data: &[*const u8; 1],
                blocks: usize,
                $($more: usize,)?
            ) {
                // SAFETY: the caller's.
                unsafe { run::<$word, 1>((), states, data, blocks $(, $more)?) }
            }
        }
    )* };
}

tiers! {
    md5: u32 as Words32, 16, 8;
    sha1: u32 as Words32, 16, 8;
    sha256: u32 as Words32, 16, 8;
    sha512: u64 as Words64, 8, 4;
    sm3: u32 as Words32, 16, 8;
    keccak: u64 as Words64, 8, 4, words;
}

/// MD5 of 32 messages.
///
/// # Safety
/// That of [`md5::run`](super::md5::run).
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
pub(super) unsafe fn md5_two(
    token: Avx512,
    states: &[*mut u8; 32],
    data: &[*const u8; 32],
    blocks: usize,
) {
    // SAFETY: the caller's.
    unsafe { super::md5::run::<Two<avx512::Words32>, 32>(token, states, data, blocks) }
}
