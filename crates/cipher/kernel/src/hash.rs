//! Hash functions: compression of many messages side by side.
//!
//! A function here takes messages whose chaining values and padded blocks the caller prepares, and
//! advances each chaining value over its blocks. Messages of different lengths share the lanes of a
//! vector: a lane whose message ends takes the next one. With few messages (left), those are done
//! one at a time, or two at a time by the SHA instructions where the CPU has them: [`lanes`] tells
//! how many at a time serve best.
//!
//! | | AVX-512 | AVX2 | SHA instructions |
//! |---|---|---|---|
//! | MD5, SM3 | 16 lanes | 8 lanes | |
//! | SHA-1, SHA-256 | 16 lanes | 8 lanes | 2 messages interleaved |
//! | SHA-512, Keccak | 8 lanes | 4 lanes | |
//!
//! Everything but the last column is one source per algorithm, over the trait `lanes::Lanes`; on
//! other CPUs its portable form of one lane serves. All take constant time for messages of given
//! lengths.
//!
//! Tests: `tests/hash.rs`. Bench: `benches/hash.rs`.

use lookaside_simd::Cpu;

use feed::feed;

mod feed;
mod keccak;
mod lanes;
mod md5;
mod sha1;
mod sha256;
mod sha512;
mod sm3;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod sha_ni;
#[cfg(target_arch = "x86_64")]
mod x86_64;

/// The initial chaining value of MD5 (RFC 1321, section 3.3).
pub const MD5_START: [u32; 4] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];

/// The initial chaining value of SHA-1 (FIPS 180-4, section 5.3.1).
pub const SHA1_START: [u32; 5] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];

/// The initial chaining value of SHA-224 (FIPS 180-4, section 5.3.2).
pub const SHA224_START: [u32; 8] = [
    0xc1059ed8, 0x367cd507, 0x3070dd17, 0xf70e5939, 0xffc00b31, 0x68581511, 0x64f98fa7, 0xbefa4fa4,
];

/// The initial chaining value of SHA-256 (FIPS 180-4, section 5.3.3).
pub const SHA256_START: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// The initial chaining value of SHA-384 (FIPS 180-4, section 5.3.4).
pub const SHA384_START: [u64; 8] = [
    0xcbbb9d5dc1059ed8,
    0x629a292a367cd507,
    0x9159015a3070dd17,
    0x152fecd8f70e5939,
    0x67332667ffc00b31,
    0x8eb44a8768581511,
    0xdb0c2e0d64f98fa7,
    0x47b5481dbefa4fa4,
];

/// The initial chaining value of SHA-512 (FIPS 180-4, section 5.3.5).
pub const SHA512_START: [u64; 8] = [
    0x6a09e667f3bcc908,
    0xbb67ae8584caa73b,
    0x3c6ef372fe94f82b,
    0xa54ff53a5f1d36f1,
    0x510e527fade682d1,
    0x9b05688c2b3e6c1f,
    0x1f83d9abfb41bd6b,
    0x5be0cd19137e2179,
];

/// The initial chaining value of SM3 (GB/T 32905-2016, section 4.1).
pub const SM3_START: [u32; 8] = [
    0x7380166f, 0x4914b2b9, 0x172442d7, 0xda8a0600, 0xa96f30bc, 0x163138aa, 0xe38dee4d, 0xb0fb0e4e,
];

/// The initial state of every Keccak-f\[1600\] sponge.
pub const KECCAK_START: [u64; 25] = [0; 25];

/// One message: its chaining value, and whole blocks to compress: first those of `parts[0]`, then
/// those of `parts[1]` (the padded tail, usually). What is left of a part after its last whole block
/// is ignored; debug builds panic on it. When a function here returns, the parts are empty.
#[derive(Debug)]
pub struct Message<'a, S> {
    /// The chaining value, replaced by the one after the blocks.
    pub state: &'a mut S,
    /// The blocks.
    pub parts: [&'a [u8]; 2],
}

/// What [`lanes`] asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// [`md5()`]
    Md5,
    /// [`sha1()`]
    Sha1,
    /// [`sha256()`], which is SHA-224 too.
    Sha256,
    /// [`sha512()`], which is SHA-384 too.
    Sha512,
    /// [`sm3()`]
    Sm3,
    /// [`keccak()`]
    Keccak,
}

/// How many messages side by side serve best, in this algorithm on this CPU: 1 where lanes gain
/// nothing.
pub fn lanes(cpu: &Cpu, algorithm: Algorithm) -> usize {
    use Algorithm::*;
    #[cfg(target_arch = "x86_64")]
    {
        let sha_ni = sha_ni::ShaNi::of(cpu).is_some();
        let bits_64 = matches!(algorithm, Sha512 | Keccak);
        if cpu.avx512().is_some() {
            return if bits_64 { 8 } else { 16 };
        }
        if sha_ni && matches!(algorithm, Sha1 | Sha256) {
            return 2;
        }
        if cpu.avx2().is_some() {
            return if bits_64 { 4 } else { 8 };
        }
    }
    let _ = (cpu, algorithm);
    1
}

/// Lanes, then one message at a time. `$avx512` and `$avx2` are the fewest busy lanes that are worth
/// a run of all; measured on Sapphire Rapids.
macro_rules! serve {
    ($cpu:ident, $messages:ident, $block:expr, $name:ident, $word:ident,
        $avx512:literal, $avx2:literal $(, $more:ident)?) => {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = $cpu.avx2() {
            use x86_64::$name as tiers;
            let left = if let Some(token) = $cpu.avx512() {
                feed($messages, $block, $avx512, &|states, data, blocks| {
                    // SAFETY: `feed` hands out states and blocks of its messages.
                    unsafe { tiers::avx512(token, states, data, blocks $(, $more)?) }
                })
            } else {
                feed($messages, $block, $avx2, &|states, data, blocks| {
                    // SAFETY: `feed` hands out states and blocks of its messages.
                    unsafe { tiers::avx2(avx2, states, data, blocks $(, $more)?) }
                })
            };
            if left > 0 {
                feed($messages, $block, 1, &|states, data, blocks| {
                    // SAFETY: `feed` hands out states and blocks of its messages.
                    unsafe { tiers::one(avx2, states, data, blocks $(, $more)?) }
                });
            }
            return;
        }
        let _ = $cpu;
        feed($messages, $block, 1, &|states, data, blocks| {
            // SAFETY: `feed` hands out states and blocks of its messages.
            unsafe { $name::run::<$word, 1>((), states, data, blocks $(, $more)?) }
        });
    };
}

/// The SHA instructions, where they are, with AVX-512 lanes before them. AVX2 lanes never win.
macro_rules! serve_sha_ni {
    ($cpu:ident, $messages:ident, $name:ident, $avx512:literal) => {
        #[cfg(target_arch = "x86_64")]
        if let Some(sha_ni) = sha_ni::ShaNi::of($cpu) {
            let mut left = $messages.len();
            if let Some(token) = $cpu.avx512() {
                left = feed($messages, 64, $avx512, &|states, data, blocks| {
                    // SAFETY: `feed` hands out states and blocks of its messages.
                    unsafe { x86_64::$name::avx512(token, states, data, blocks) }
                });
            }
            if left > 1 {
                left = feed($messages, 64, 2, &|states, data, blocks| {
                    // SAFETY: `feed` hands out states and blocks of its messages.
                    unsafe { sha_ni::$name::<2>(sha_ni, states, data, blocks) }
                });
            }
            if left > 0 {
                feed($messages, 64, 1, &|states, data, blocks| {
                    // SAFETY: `feed` hands out states and blocks of its messages.
                    unsafe { sha_ni::$name::<1>(sha_ni, states, data, blocks) }
                });
            }
            return;
        }
    };
}

/// Compresses blocks of 64 bytes by MD5.
pub fn md5(cpu: &Cpu, messages: &mut [Message<'_, [u32; 4]>]) {
    serve!(cpu, messages, 64, md5, u32, 2, 2);
}

/// Compresses blocks of 64 bytes by SHA-1.
pub fn sha1(cpu: &Cpu, messages: &mut [Message<'_, [u32; 5]>]) {
    serve_sha_ni!(cpu, messages, sha1, 8);
    serve!(cpu, messages, 64, sha1, u32, 3, 3);
}

/// Compresses blocks of 64 bytes by SHA-256, which is SHA-224 too.
pub fn sha256(cpu: &Cpu, messages: &mut [Message<'_, [u32; 8]>]) {
    serve_sha_ni!(cpu, messages, sha256, 8);
    serve!(cpu, messages, 64, sha256, u32, 3, 3);
}

/// Compresses blocks of 128 bytes by SHA-512, which is SHA-384 too.
pub fn sha512(cpu: &Cpu, messages: &mut [Message<'_, [u64; 8]>]) {
    serve!(cpu, messages, 128, sha512, u64, 3, 3);
}

/// Compresses blocks of 64 bytes by SM3.
pub fn sm3(cpu: &Cpu, messages: &mut [Message<'_, [u32; 8]>]) {
    serve!(cpu, messages, 64, sm3, u32, 2, 2);
}

/// Absorbs blocks of `rate` bytes into Keccak-f\[1600\] sponges: SHA-3, SHAKE and their kin, whose
/// padding is the caller's. `rate` is a multiple of 8, from 8 to 200; with another nothing is done,
/// and debug builds panic.
pub fn keccak(cpu: &Cpu, rate: usize, messages: &mut [Message<'_, [u64; 25]>]) {
    let valid = rate % 8 == 0 && (8..=200).contains(&rate);
    debug_assert!(valid, "a rate of {rate} bytes");
    if !valid {
        return;
    }
    let words = rate / 8;
    serve!(cpu, messages, rate, keccak, u64, 2, 2, words);
}
