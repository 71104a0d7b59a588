//! SM4 (GB/T 32907-2016, ISO/IEC 18033-3): ECB, CBC and CTR.
//!
//! | tier | what runs | blocks at once |
//! |---|---|---|
//! | AVX-512 | words of blocks side by side, the S-box by GFNI | 64, from one or many packets |
//! | others | bitsliced in 64-bit integers | 16, from one or many packets |
//!
//! Constant time on every tier: no table, no branch on a secret.
//!
//! ```
//! use lookaside_cipher_kernel::{Text, sm4};
//! use lookaside_simd::Cpu;
//!
//! let key = sm4::Key::new(&[7; 16]);
//! let mut text = *b"any number of bytes";
//! let mut counter = [0; 16];
//! let packet = sm4::Ctr { key: &key, counter: &mut counter, text: Text::InPlace(&mut text) };
//! sm4::ctr(Cpu::host(), &mut [packet]);
//! assert_eq!(counter[15], 2); // two blocks were used
//! ```

#[cfg(target_arch = "x86_64")]
mod avx512;
mod sliced;

use lookaside_simd::Cpu;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::modes;

/// A packet for cipher block chaining.
pub type Cbc<'a> = modes::Cbc<'a, Key, 16>;
/// A packet for counter mode, with a counter block of 128 bits, big-endian.
pub type Ctr<'a> = modes::Ctr<'a, Key, 16>;
/// A packet for the electronic code book.
pub type Ecb<'a> = modes::Ecb<'a, Key>;

/// An expanded key. Wiped when dropped.
#[derive(Clone)]
pub struct Key {
    /// The round keys, in the order of encryption.
    rounds: [u32; 32],
}

impl Drop for Key {
    fn drop(&mut self) {
        self.rounds.zeroize();
    }
}

impl ZeroizeOnDrop for Key {}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("sm4::Key")
    }
}

impl Key {
    /// Expands a key (GB/T 32907, section 7.3).
    pub fn new(key: &[u8; 16]) -> Key {
        /// The system parameter FK.
        const FK: [u32; 4] = [0xa3b1_bac6, 0x56aa_3350, 0x677d_9197, 0xb270_22dc];
        let mut k: [u32; 4] = std::array::from_fn(|i| {
            let word: [u8; 4] = std::array::from_fn(|j| key[4 * i + j]);
            u32::from_be_bytes(word) ^ FK[i]
        });
        let mut rounds = [0; 32];
        for (i, round) in rounds.iter_mut().enumerate() {
            // The fixed parameter CK: byte j of word i is 7 (4i + j) modulo 256.
            let ck = u32::from_be_bytes(std::array::from_fn(|j| (7 * (4 * i + j)) as u8));
            let b = sliced::substitute(k[1] ^ k[2] ^ k[3] ^ ck);
            *round = k[0] ^ b ^ b.rotate_left(13) ^ b.rotate_left(23);
            k = [k[1], k[2], k[3], *round];
        }
        k.zeroize();
        Key { rounds }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Encrypt,
    Decrypt,
}

impl Direction {
    /// Which round uses round key `i`: decryption takes them backwards.
    fn round(self, i: usize) -> usize {
        match self {
            Direction::Encrypt => i,
            Direction::Decrypt => 31 - i,
        }
    }
}

/// How many blocks run side by side: for CBC encryption, how many packets a call should have; for
/// the other modes, how many blocks altogether.
pub fn lanes(cpu: &Cpu) -> usize {
    #[cfg(target_arch = "x86_64")]
    if cpu.avx512().is_some() {
        return avx512::LANES;
    }
    let _ = cpu;
    sliced::LANES
}

/// Runs `$mode` with the best engine of the tier.
macro_rules! with_engine {
    ($cpu:expr, $direction:expr, $packets:expr, $mode:path) => {{
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = $cpu.avx512() {
            return $mode(&mut avx512::Wide::new(token, $direction), $packets);
        }
        let _ = $cpu;
        $mode(&mut sliced::Sliced::new($direction), $packets)
    }};
}

/// Encrypts by cipher block chaining. Serial within a packet: quick when there are
/// [`lanes`] packets.
pub fn cbc_encrypt(cpu: &Cpu, packets: &mut [Cbc<'_>]) {
    with_engine!(cpu, Direction::Encrypt, packets, modes::cbc_encrypt::<_, 16>)
}

/// Decrypts by cipher block chaining.
pub fn cbc_decrypt(cpu: &Cpu, packets: &mut [Cbc<'_>]) {
    with_engine!(cpu, Direction::Decrypt, packets, modes::cbc_decrypt::<_, 16>)
}

/// Encrypts or decrypts in counter mode. Texts have any length; a partial last block consumes a
/// whole counter.
pub fn ctr(cpu: &Cpu, packets: &mut [Ctr<'_>]) {
    with_engine!(cpu, Direction::Encrypt, packets, modes::ctr::<_, 16>)
}

/// Encrypts block by block.
pub fn ecb_encrypt(cpu: &Cpu, packets: &mut [Ecb<'_>]) {
    with_engine!(cpu, Direction::Encrypt, packets, modes::ecb::<_, 16>)
}

/// Decrypts block by block.
pub fn ecb_decrypt(cpu: &Cpu, packets: &mut [Ecb<'_>]) {
    with_engine!(cpu, Direction::Decrypt, packets, modes::ecb::<_, 16>)
}
