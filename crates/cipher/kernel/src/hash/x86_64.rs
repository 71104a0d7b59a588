//! The compression functions compiled for each tier of x86-64.

use lookaside_simd::{Avx2, Avx512Bw};

use super::feed::Blocks;
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
                token: Avx512Bw,
                states: &[*mut u8; $avx512],
                blocks: &Blocks<$avx512>,
                $($more: usize,)?
            ) {
                // SAFETY: the caller's.
                unsafe {
                    run::<avx512::$words, $avx512>(token, states, blocks $(, $more)?);
                }
            }

            /// # Safety
            /// That of `run`.
            #[target_feature(enable = "avx2,bmi1,bmi2")]
            pub(in crate::hash) unsafe fn avx2(
                token: Avx2,
                states: &[*mut u8; $avx2],
                blocks: &Blocks<$avx2>,
                $($more: usize,)?
            ) {
                // SAFETY: the caller's.
                unsafe { run::<avx2::$words<Avx2>, $avx2>(token, states, blocks $(, $more)?) }
            }

            /// # Safety
            /// That of `run`.
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
            pub(in crate::hash) unsafe fn avx512_256(
                token: Avx512Bw,
                states: &[*mut u8; $avx2],
                blocks: &Blocks<$avx2>,
                $($more: usize,)?
            ) {
                // SAFETY: the caller's.
                unsafe { run::<avx2::$words<Avx512Bw>, $avx2>(token, states, blocks $(, $more)?) }
            }

            /// # Safety
            /// That of `run`.
            #[target_feature(enable = "bmi1,bmi2")]
            pub(in crate::hash) unsafe fn one(
                _: Avx2,
                states: &[*mut u8; 1],
                blocks: &Blocks<1>,
                $($more: usize,)?
            ) {
                // SAFETY: the caller's.
                unsafe { run::<$word, 1>((), states, blocks $(, $more)?) }
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

/// Functions for 32 messages.
macro_rules! two {
    ($($name:ident: $of:ident;)*) => { $(
        /// # Safety
        /// That of the algorithm's `run`.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
        pub(super) unsafe fn $name(token: Avx512Bw, states: &[*mut u8; 32], blocks: &Blocks<32>) {
            // SAFETY: the caller's.
            unsafe { super::$of::run::<Two<avx512::Words32>, 32>(token, states, blocks) }
        }
    )* };
}

/// MD5 of 16 messages in two vectors of 256 bits.
///
/// # Safety
/// That of the algorithm's `run`.
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) unsafe fn md5_two_avx2(token: Avx2, states: &[*mut u8; 16], blocks: &Blocks<16>) {
    // SAFETY: the caller's.
    unsafe { super::md5::run::<Two<avx2::Words32<Avx2>>, 16>(token, states, blocks) }
}

two! {
    md5_two: md5;
    sha1_two: sha1;
    sha256_two: sha256;
    sm3_two: sm3;
}

#[cfg(test)]
mod tests {
    use lookaside_simd::{Cpu, Tier};

    use super::super::feed::feed;
    use super::super::sha_ni;
    use super::super::{self as hash, Message};
    use super::*;

    /// Two parts of up to 4 blocks for each of 40 messages, and chaining values, all different.
    fn inputs<W: Copy + From<u8>, const N: usize>(
        block: usize,
    ) -> (Vec<[W; N]>, Vec<[Vec<u8>; 2]>) {
        let mut byte = 0u8;
        let mut next = || {
            byte = byte.wrapping_mul(29).wrapping_add(17);
            byte
        };
        let states = (0..40).map(|_| [(); N].map(|()| W::from(next()))).collect();
        let parts = (0..40usize).map(|i| {
            [i % 5, i / 5 % 4].map(|blocks| (0..blocks * block).map(|_| next() ^ i as u8).collect())
        });
        (states, parts.collect())
    }

    /// Every implementation by itself, down to its last busy lane, against the portable one: so also
    /// those that the rules for this CPU never choose.
    macro_rules! agree {
        ($word:ty, $n:literal, $block:literal, $portable:expr,
            $($name:literal: $token:expr, $run:path $(, $more:literal)?;)*) => {
            let (starts, parts) = inputs::<$word, $n>($block);
            let messages = |states: &mut [[$word; $n]], use_them: &mut dyn FnMut(&mut [Message<'_, [$word; $n]>])| {
                let mut messages: Vec<_> = states
                    .iter_mut()
                    .zip(&parts)
                    .map(|(state, [a, b])| Message { state, parts: [a, b] })
                    .collect();
                use_them(&mut messages);
            };
            let mut expected = starts.clone();
            messages(&mut expected, &mut |messages| $portable(&Cpu::with_cap(Tier::Generic), messages));
            assert_ne!(expected, starts);
            $(
                if let Some(token) = $token {
                    let mut states = starts.clone();
                    messages(&mut states, &mut |messages| {
                        // SAFETY: `feed` hands out states and blocks, the token proves the tier.
                        let left = feed(messages, $block, 1, &|s, b| unsafe {
                            $run(token, s, b $(, $more)?)
                        });
                        assert_eq!(left, 0);
                    });
                    assert_eq!(states, expected, "{}", $name);
                } else {
                    eprintln!("skipped: this CPU cannot run {}", $name);
                }
            )*
        };
    }

    #[test]
    fn every_implementation_agrees() {
        let cpu = Cpu::host();
        let (avx512, avx2, ni) = (cpu.avx512bw(), cpu.avx2(), cpu.sha());
        agree!(u32, 4, 64, hash::md5,
            "MD5, 32 lanes": avx512, md5_two;
            "MD5, 16 lanes": avx512, md5::avx512;
            "MD5, 8 lanes": avx512, md5::avx512_256;
            "MD5, AVX2, 16 lanes": avx2, md5_two_avx2;
            "MD5, AVX2": avx2, md5::avx2;
            "MD5, one": avx2, md5::one;
        );
        agree!(u32, 5, 64, hash::sha1,
            "SHA-1, 32 lanes": avx512, sha1_two;
            "SHA-1, 16 lanes": avx512, sha1::avx512;
            "SHA-1, 8 lanes": avx512, sha1::avx512_256;
            "SHA-1, AVX2": avx2, sha1::avx2;
            "SHA-1, one": avx2, sha1::one;
            "SHA-1, two": ni, sha_ni::sha1::<2>;
            "SHA-1, instructions": ni, sha_ni::sha1::<1>;
        );
        agree!(u32, 8, 64, hash::sha256,
            "SHA-256, 32 lanes": avx512, sha256_two;
            "SHA-256, 16 lanes": avx512, sha256::avx512;
            "SHA-256, 8 lanes": avx512, sha256::avx512_256;
            "SHA-256, AVX2": avx2, sha256::avx2;
            "SHA-256, one": avx2, sha256::one;
            "SHA-256, two": ni, sha_ni::sha256::<2>;
            "SHA-256, instructions": ni, sha_ni::sha256::<1>;
        );
        agree!(u64, 8, 128, hash::sha512,
            "SHA-512, 8 lanes": avx512, sha512::avx512;
            "SHA-512, 4 lanes": avx512, sha512::avx512_256;
            "SHA-512, AVX2": avx2, sha512::avx2;
            "SHA-512, one": avx2, sha512::one;
        );
        agree!(u32, 8, 64, hash::sm3,
            "SM3, 32 lanes": avx512, sm3_two;
            "SM3, 16 lanes": avx512, sm3::avx512;
            "SM3, 8 lanes": avx512, sm3::avx512_256;
            "SM3, AVX2": avx2, sm3::avx2;
            "SM3, one": avx2, sm3::one;
        );
        agree!(u64, 25, 136, |cpu, messages| hash::keccak(cpu, 136, messages),
            "Keccak, 8 lanes": avx512, keccak::avx512, 17;
            "Keccak, 4 lanes": avx512, keccak::avx512_256, 17;
            "Keccak, AVX2": avx2, keccak::avx2, 17;
            "Keccak, one": avx2, keccak::one, 17;
        );
    }
}
