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
//! | MD5 | 2 x 16 lanes, 16 or 8 | 8 lanes | |
//! | SM3 | 16 lanes or 8 | 8 lanes | |
//! | SHA-1, SHA-256 | 16 lanes or 8 | 8 lanes | 2 messages interleaved |
//! | SHA-512, Keccak | 8 lanes or 4 | 4 lanes | |
//!
//! Everything but the last column is one source per algorithm, over the trait `lanes::Lanes`; on
//! other CPUs its portable form of one lane serves. All take constant time for messages of given
//! lengths.
//!
//! Tests: `tests/hash.rs`. Bench: `benches/hash.rs`.

use lookaside_simd::{Cpu, Tier};

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
mod two;
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
pub struct Message<'a, S> {
    /// The chaining value, replaced by the one after the blocks.
    pub state: &'a mut S,
    /// The blocks.
    pub parts: [&'a [u8]; 2],
}

impl<S> std::fmt::Debug for Message<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Under HMAC the chaining value is as good as the key.
        let lens = self.parts.map(<[u8]>::len);
        f.debug_struct("Message").field("lens", &lens).finish_non_exhaustive()
    }
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
    let bits = match cpu.tier() {
        Tier::Generic => return 1,
        Tier::Avx2 => 256,
        Tier::Avx512Bw | Tier::Avx512 => 512,
    };
    match algorithm {
        Algorithm::Md5 => bits / 16,
        Algorithm::Sha256 if bits == 256 && cpu.sha().is_some() => 2,
        Algorithm::Sha512 | Algorithm::Keccak => bits / 64,
        _ => bits / 32,
    }
}

/// The fewest busy lanes that are worth a run of all; with fewer, the next implementation takes over.
/// Measured on Sapphire Rapids.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
struct Floors {
    /// Vectors of 512 bits.
    avx512: usize,
    /// Vectors of 256 bits, instructions of AVX-512.
    avx512_256: usize,
    /// Vectors of 256 bits.
    avx2: usize,
}

/// Hands messages to one implementation after the other, the widest first: each works while its
/// floor of lanes are busy, and leaves the rest to the next.
macro_rules! serve {
    ($cpu:ident, $messages:ident, $block:expr, $name:ident, $word:ident, $floors:expr
        $(, two $two:ident if $when:expr)? $(, two_avx2 $two_avx2:ident)? $(, sha_ni $sha_ni:ident)? $(, with $more:ident)?) => {
        let mut left = $messages.len();
        // `$run` may assume that pointers and lengths are those of messages.
        macro_rules! stage {
            ($floor:expr, $run:expr) => {
                if left >= $floor {
                    left = feed($messages, $block, $floor, &|states, blocks| {
                        // SAFETY: `feed` hands out the states and blocks of its messages, and the
                        // token in `$run` proves its instructions.
                        unsafe { $run(states, blocks) }
                    });
                }
            };
        }
        let floors: Floors = $floors;
        #[cfg(target_arch = "x86_64")]
        {
            use x86_64::$name as tiers;
            if let Some(token) = $cpu.avx512bw() {
                $( if $when { stage!(17, |s, b| x86_64::$two(token, s, b)) } )?
                stage!(floors.avx512, |s, b| tiers::avx512(token, s, b $(, $more)?));
                stage!(floors.avx512_256, |s, b| tiers::avx512_256(token, s, b $(, $more)?));
            } else if let Some(token) = $cpu.avx2() {
                $( stage!(9, |s, b| x86_64::$two_avx2(token, s, b)); )?
                stage!(floors.avx2, |s, b| tiers::avx2(token, s, b $(, $more)?));
            }
            $(
                if let Some(token) = $cpu.sha() {
                    stage!(2, |s, b| sha_ni::$sha_ni::<2>(token, s, b));
                    stage!(1, |s, b| sha_ni::$sha_ni::<1>(token, s, b));
                }
            )?
            if let Some(token) = $cpu.avx2() {
                stage!(1, |s, b| tiers::one(token, s, b $(, $more)?));
            }
        }
        let _ = ($cpu, floors);
        stage!(1, |s, b| $name::run::<$word, 1>((), s, b $(, $more)?));
        debug_assert_eq!(left, 0);
    };
}

/// Whether two vectors that take turns are worth it where one does not have to wait for its own results
/// much: on a CPU with vector units to spare, for messages of `long` bytes and more (their chaining values
/// and first blocks take longer to arrange). Measured on Zen 5.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
fn worth_two<S>(cpu: &Cpu, messages: &[Message<'_, S>], long: usize) -> bool {
    let bytes =
        || messages.iter().flat_map(|message| message.parts).map(<[u8]>::len).sum::<usize>();
    cpu.wide() && messages.len() > 16 && bytes() >= long * messages.len()
}

/// Compresses blocks of 64 bytes by MD5.
pub fn md5(cpu: &Cpu, messages: &mut [Message<'_, [u32; 4]>]) {
    let floors = Floors { avx512: 9, avx512_256: 1, avx2: 2 };
    serve!(cpu, messages, 64, md5, u32, floors, two md5_two if true, two_avx2 md5_two_avx2);
}

/// Compresses blocks of 64 bytes by SHA-1.
pub fn sha1(cpu: &Cpu, messages: &mut [Message<'_, [u32; 5]>]) {
    let avx2 = if cpu.sha().is_some() { 5 } else { 3 };
    let floors = Floors { avx512: 10, avx512_256: 3, avx2 };
    serve!(cpu, messages, 64, sha1, u32, floors,
        two sha1_two if worth_two(cpu, messages, 4096), sha_ni sha1);
}

/// Compresses blocks of 64 bytes by SHA-256, which is SHA-224 too.
pub fn sha256(cpu: &Cpu, messages: &mut [Message<'_, [u32; 8]>]) {
    let avx2 = if cpu.sha().is_some() { usize::MAX } else { 3 };
    let floors = Floors { avx512: 11, avx512_256: 6, avx2 };
    serve!(cpu, messages, 64, sha256, u32, floors,
        two sha256_two if worth_two(cpu, messages, 640), sha_ni sha256);
}

/// Compresses blocks of 128 bytes by SHA-512, which is SHA-384 too.
pub fn sha512(cpu: &Cpu, messages: &mut [Message<'_, [u64; 8]>]) {
    serve!(cpu, messages, 128, sha512, u64, Floors { avx512: 5, avx512_256: 2, avx2: 3 });
}

/// Compresses blocks of 64 bytes by SM3.
pub fn sm3(cpu: &Cpu, messages: &mut [Message<'_, [u32; 8]>]) {
    let floors = Floors { avx512: 9, avx512_256: 2, avx2: 3 };
    serve!(cpu, messages, 64, sm3, u32, floors, two sm3_two if worth_two(cpu, messages, 640));
}

/// Absorbs blocks of `rate` bytes into Keccak-f\[1600\] sponges: SHA-3, SHAKE and their kin, whose
/// padding is the caller's. `rate` is a multiple of 8, from 8 to 200; with another nothing is done,
/// and debug builds panic.
pub fn keccak(cpu: &Cpu, rate: usize, messages: &mut [Message<'_, [u64; 25]>]) {
    let valid = rate.is_multiple_of(8) && (8..=200).contains(&rate);
    debug_assert!(valid, "a rate of {rate} bytes");
    if !valid {
        return;
    }
    let words = rate / 8;
    let floors = Floors { avx512: 5, avx512_256: 1, avx2: 2 };
    serve!(cpu, messages, rate, keccak, u64, floors, with words);
}
