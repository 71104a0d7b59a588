//! DES and triple DES (FIPS 46-3, NIST SP 800-67): ECB, CBC and CTR.
//!
//! | tier | what runs | blocks at once |
//! |---|---|---|
//! | AVX-512 | one byte permutation for each S-box, GFNI for IP | 64, from one or many packets |
//! | AVX2 | four byte shuffles for each S-box | 32, likewise |
//! | others | tables of words | 1 |
//!
//! The vectors are constant time. Groups of fewer than four blocks run on the tables on every
//! tier, because a group costs as much with one block as with all; the tables' addresses depend on
//! secrets. Parity bits of keys are ignored, and weak keys are taken.
//!
//! ```
//! use lookaside_cipher_kernel::{Text, des};
//! use lookaside_simd::Cpu;
//!
//! let key = des::TripleKey::new(&[7; 24]);
//! let mut text = *b"whole blocks of eight bytes only";
//! let mut iv = [1; 8];
//! let packet = des::Cbc { key: &key, iv: &mut iv, text: Text::InPlace(&mut text) };
//! des::cbc_encrypt(Cpu::host(), &mut [packet]);
//! assert_eq!(iv, text[24..]);
//! ```

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;
mod tables;
#[cfg(target_arch = "x86_64")]
mod wiring;

use lookaside_simd::Cpu;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::modes;

/// A packet for cipher block chaining; `K` is [`Key`] or [`TripleKey`].
pub type Cbc<'a, K> = modes::Cbc<'a, K, 8>;
/// A packet for counter mode, with a counter block of 64 bits, big-endian.
pub type Ctr<'a, K> = modes::Ctr<'a, K, 8>;
/// A packet for the electronic code book.
pub type Ecb<'a, K> = modes::Ecb<'a, K>;

/// The round keys of one pass of sixteen rounds, for the S-boxes 1, 3, 5, 7 and 2, 4, 6, 8.
type Pass = [[u32; 2]; 16];

/// A key of single DES, expanded. Wiped when dropped.
#[derive(Clone)]
pub struct Key {
    rounds: [Pass; 1],
    #[cfg(target_arch = "x86_64")]
    rows: [[u8; 8]; 24],
}

/// A key of triple DES (encrypt, decrypt, encrypt), expanded. Wiped when dropped.
#[derive(Clone)]
pub struct TripleKey {
    rounds: [Pass; 3],
    #[cfg(target_arch = "x86_64")]
    rows: [[u8; 8]; 56],
}

impl Key {
    /// Expands a key; its parity bits are ignored.
    pub fn new(key: &[u8; 8]) -> Key {
        let mut schedule = [tables::key_schedule(key)];
        let expanded = Key {
            rounds: [words(&schedule[0])],
            #[cfg(target_arch = "x86_64")]
            rows: wiring::rows(&schedule),
        };
        schedule.zeroize();
        expanded
    }
}

impl TripleKey {
    /// Expands the keys of the three passes; their parity bits are ignored.
    ///
    /// For a key of two parts, repeat the first.
    pub fn new(key: &[u8; 24]) -> TripleKey {
        let part = |i: usize| std::array::from_fn(|k| key[8 * i + k]);
        let mut schedule = [0, 1, 2].map(|i| tables::key_schedule(&part(i)));
        schedule[1].reverse();
        let expanded = TripleKey {
            rounds: [words(&schedule[0]), words(&schedule[1]), words(&schedule[2])],
            #[cfg(target_arch = "x86_64")]
            rows: wiring::rows(&schedule),
        };
        schedule.zeroize();
        expanded
    }
}

/// A pass's round keys, six bits for each S-box, as [`Pass`] has them.
fn words(pass: &[[u8; 8]; 16]) -> Pass {
    pass.map(|six| {
        [0, 1].map(|odd| u32::from_be_bytes([six[odd], six[2 + odd], six[4 + odd], six[6 + odd]]))
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Encrypt,
    Decrypt,
}

mod sealed {
    /// What the kernels see of a key.
    pub trait Expanded {
        /// The round keys of each pass, in the order of encryption.
        fn rounds(&self) -> &[[[u32; 2]; 16]];
        /// The rows of the vector code, with some of padding: see `wiring`.
        #[cfg(target_arch = "x86_64")]
        fn rows(&self) -> &[[u8; 8]];
    }
}

/// [`Key`] or [`TripleKey`].
pub trait Cipher: sealed::Expanded {}

macro_rules! cipher {
    ($key:ty) => {
        impl sealed::Expanded for $key {
            fn rounds(&self) -> &[Pass] {
                &self.rounds
            }
            #[cfg(target_arch = "x86_64")]
            fn rows(&self) -> &[[u8; 8]] {
                &self.rows
            }
        }
        impl Cipher for $key {}

        impl Drop for $key {
            fn drop(&mut self) {
                self.rounds.zeroize();
                #[cfg(target_arch = "x86_64")]
                self.rows.zeroize();
            }
        }

        impl ZeroizeOnDrop for $key {}

        impl std::fmt::Debug for $key {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!("des::", stringify!($key)))
            }
        }
    };
}

cipher!(Key);
cipher!(TripleKey);

/// How many blocks run side by side: for CBC encryption, how many packets a call should have; for
/// the other modes, how many blocks altogether.
pub fn lanes(cpu: &Cpu) -> usize {
    #[cfg(target_arch = "x86_64")]
    if cpu.avx512().is_some() {
        return avx512::LANES;
    } else if cpu.avx2().is_some() {
        return avx2::LANES;
    }
    let _ = cpu;
    1
}

/// Runs `$mode` with the best engine of the tier.
macro_rules! with_engine {
    ($cpu:expr, $direction:expr, $packets:expr, $mode:path) => {{
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = $cpu.avx512() {
            return $mode(&mut avx512::Wide::new(token, $direction), $packets);
        } else if let Some(token) = $cpu.avx2() {
            return $mode(&mut avx2::Wide::new(token, $direction), $packets);
        }
        let _ = $cpu;
        $mode(&mut portable::Scalar::new($direction), $packets)
    }};
}

/// Encrypts by cipher block chaining. Serial within a packet: quick when there are
/// [`lanes`] packets.
pub fn cbc_encrypt<K: Cipher>(cpu: &Cpu, packets: &mut [Cbc<'_, K>]) {
    with_engine!(cpu, Direction::Encrypt, packets, modes::cbc_encrypt::<_, 8>)
}

/// Decrypts by cipher block chaining.
pub fn cbc_decrypt<K: Cipher>(cpu: &Cpu, packets: &mut [Cbc<'_, K>]) {
    with_engine!(cpu, Direction::Decrypt, packets, modes::cbc_decrypt::<_, 8>)
}

/// Encrypts or decrypts in counter mode. Texts have any length; a partial last block consumes a
/// whole counter.
pub fn ctr<K: Cipher>(cpu: &Cpu, packets: &mut [Ctr<'_, K>]) {
    with_engine!(cpu, Direction::Encrypt, packets, modes::ctr::<_, 8>)
}

/// Encrypts block by block.
pub fn ecb_encrypt<K: Cipher>(cpu: &Cpu, packets: &mut [Ecb<'_, K>]) {
    with_engine!(cpu, Direction::Encrypt, packets, modes::ecb::<_, 8>)
}

/// Decrypts block by block.
pub fn ecb_decrypt<K: Cipher>(cpu: &Cpu, packets: &mut [Ecb<'_, K>]) {
    with_engine!(cpu, Direction::Decrypt, packets, modes::ecb::<_, 8>)
}
