//! AES (FIPS 197), one text at once on the caller's thread, in the modes of SP 800-38A and
//! SP 800-38E.
//!
//! The modes whose blocks do not depend on each other (ECB, CTR, CBC decryption, XTS) keep eight
//! registers under way: of four blocks each with VAES and AVX-512, of two with VAES alone, of one block
//! with AES-NI. CBC encryption and the CBC-MAC are one chain, as fast as AES-NI answers: three cycles
//! per round; [`stitched`] hashes in the shade of that chain.
//!
//! No branch and no address depends on a key or a text. The generic tier has no [`Key`]: there a
//! library's bit-sliced AES is faster than portable code would be.
//!
//! Tested against OpenSSL, AWS-LC and the vectors of the standards in `tests/aes.rs`; measured in
//! `benches/aes.rs`.
// Elsewhere there is no key to use anything with.
#![cfg_attr(not(target_arch = "x86_64"), allow(unused))]

pub mod sha;
pub mod stitched;

#[cfg(target_arch = "x86_64")]
mod blocks;
#[cfg(target_arch = "x86_64")]
mod chain;
#[cfg_attr(not(target_arch = "x86_64"), path = "aes/gcm_absent.rs")]
pub mod gcm;
#[cfg(target_arch = "x86_64")]
pub mod gcm_burst;
#[cfg(target_arch = "x86_64")]
pub mod lanes;
#[cfg(target_arch = "x86_64")]
mod modes;
#[cfg(target_arch = "x86_64")]
mod schedule;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
#[cfg(target_arch = "x86_64")]
mod xts;

use std::sync::atomic;
use std::{fmt, ptr};

use lookaside_secure::SecureBox;
use lookaside_simd::Cpu;

use crate::Text;

/// The length of a block in bytes.
const BLOCK: usize = 16;

/// What computes.
#[derive(Clone, Copy)]
enum Unit {
    /// VAES on registers of four blocks.
    #[cfg(target_arch = "x86_64")]
    Vaes,
    /// VAES on registers of two blocks.
    #[cfg(target_arch = "x86_64")]
    Vaes256,
    /// AES-NI on registers of one block.
    #[cfg(target_arch = "x86_64")]
    AesNi,
}

/// The round keys of one direction.
#[derive(Clone)]
#[repr(align(64))]
struct Schedule {
    /// The key before the first round, then those of the rounds but the last.
    keys: [[u8; BLOCK]; 14],
    /// That of the last round.
    last: [u8; BLOCK],
    /// 10, 12 or 14.
    rounds: usize,
}

/// An expanded key of 16, 24 or 32 bytes, for encryption and decryption. Overwritten when dropped.
#[derive(Clone)]
pub struct Key {
    encrypt: Schedule,
    decrypt: Schedule,
    unit: Unit,
}

impl Schedule {
    /// To be filled in where it lies: moving it would leave copies behind.
    const EMPTY: Schedule = Schedule { keys: [[0; BLOCK]; 14], last: [0; BLOCK], rounds: 0 };
}

impl Drop for Schedule {
    fn drop(&mut self) {
        // `zeroize` writes byte by byte, which took as long as to expand the key.
        // SAFETY: the fields are there to be written; volatile writes are not optimised away.
        unsafe {
            ptr::write_volatile(&mut self.keys, [[0; BLOCK]; 14]);
            ptr::write_volatile(&mut self.last, [0; BLOCK]);
        }
        atomic::compiler_fence(atomic::Ordering::SeqCst);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// Expands a key; none where the tier in force has no AES instructions, and where the key has
    /// another length than 16, 24 or 32 bytes.
    pub fn new(cpu: &Cpu, key: &[u8]) -> Option<Key> {
        let mut expanded = Key::unset(cpu, key)?;
        expanded.expand(key);
        Some(expanded)
    }

    /// As [`new`](Key::new), expanded where it stays, in memory for keys.
    pub fn boxed(cpu: &Cpu, key: &[u8]) -> Option<SecureBox<Key>> {
        let mut expanded = SecureBox::new(Key::unset(cpu, key)?);
        expanded.expand(key);
        Some(expanded)
    }

    fn unset(cpu: &Cpu, key: &[u8]) -> Option<Key> {
        let unit = unit(cpu)?;
        matches!(key.len(), 16 | 24 | 32).then_some(Key {
            encrypt: Schedule::EMPTY,
            decrypt: Schedule::EMPTY,
            unit,
        })
    }

    fn expand(&mut self, key: &[u8]) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: there is a unit only where the tier is AVX2 or higher, which has AES-NI.
        unsafe {
            schedule::expand(key, &mut self.encrypt);
            schedule::invert(&self.encrypt, &mut self.decrypt);
        }
        #[cfg(not(target_arch = "x86_64"))]
        match self.unit {}
    }
}

#[cfg(target_arch = "x86_64")]
fn unit(cpu: &Cpu) -> Option<Unit> {
    match (cpu.avx512(), cpu.vaes(), cpu.avx2()) {
        (Some(_), ..) => Some(Unit::Vaes),
        (None, Some(_), _) => Some(Unit::Vaes256),
        (None, None, Some(_)) => Some(Unit::AesNi),
        (None, None, None) => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn unit(_cpu: &Cpu) -> Option<Unit> {
    None
}

/// Runs a function of `$module::vaes` or `$module::aes_ni`.
macro_rules! on_unit {
    ($key:expr, $module:ident::$name:ident($($argument:expr),*)) => {
        match $key.unit {
            // SAFETY: the key's unit is Vaes only where an `Avx512` token proved VAES and the
            // AVX-512 that the function is compiled for. The pointers come from `Text::pointers`
            // with the length that is passed, which is of whole blocks where the mode has it so.
            #[cfg(target_arch = "x86_64")]
            Unit::Vaes => unsafe { $module::vaes::$name($($argument),*) },
            // SAFETY: the same with a `Vaes` token, which proves VAES, VPCLMULQDQ and AVX2.
            #[cfg(target_arch = "x86_64")]
            Unit::Vaes256 => unsafe { $module::vaes_256::$name($($argument),*) },
            // SAFETY: the same with an `Avx2` token, which proves AES-NI and AVX2.
            #[cfg(target_arch = "x86_64")]
            Unit::AesNi => unsafe { $module::aes_ni::$name($($argument),*) },
        }
    };
}

/// Encrypts in ECB mode. Bytes after the last whole block are left alone.
#[inline]
pub fn ecb_encrypt(key: &Key, mut text: Text<'_>) {
    let (src, dst, len) = text.pointers();
    on_unit!(key, modes::ecb_encrypt(&key.encrypt, src, dst, len & !15));
}

/// Decrypts in ECB mode. Bytes after the last whole block are left alone.
#[inline]
pub fn ecb_decrypt(key: &Key, mut text: Text<'_>) {
    let (src, dst, len) = text.pointers();
    on_unit!(key, modes::ecb_decrypt(&key.decrypt, src, dst, len & !15));
}

/// Encrypts in CBC mode; `iv` becomes the last ciphertext block. Bytes after the last whole block
/// are left alone.
#[inline]
pub fn cbc_encrypt(key: &Key, iv: &mut [u8; 16], mut text: Text<'_>) {
    let (src, dst, len) = text.pointers();
    match key.unit {
        // SAFETY: every unit is there only with AVX2 and AES-NI; the pointers come from the text,
        // with its length.
        #[cfg(target_arch = "x86_64")]
        Unit::Vaes | Unit::Vaes256 | Unit::AesNi => unsafe {
            chain::cbc_encrypt(&key.encrypt, iv, src, dst, len / BLOCK);
        },
    }
}

/// Decrypts in CBC mode; `iv` becomes the last ciphertext block. Bytes after the last whole block
/// are left alone.
#[inline(always)]
pub fn cbc_decrypt(key: &Key, iv: &mut [u8; 16], mut text: Text<'_>) {
    let (src, dst, len) = text.pointers();
    on_unit!(key, modes::cbc_decrypt(&key.decrypt, iv, src, dst, len & !15));
}

/// Continues a CBC-MAC: the state is encrypted with each block added to it. Bytes after the last
/// whole block do not count.
#[inline]
pub fn cbc_mac(key: &Key, state: &mut [u8; 16], blocks: &[u8]) {
    match key.unit {
        // SAFETY: every unit is there only with AVX2 and AES-NI.
        #[cfg(target_arch = "x86_64")]
        Unit::Vaes | Unit::Vaes256 | Unit::AesNi => unsafe {
            chain::cbc_mac(&key.encrypt, state, blocks)
        },
    }
}

/// Encrypts or decrypts in counter mode. The counter is a big-endian number of 128 bits; it goes up
/// by one for each block, a last partial one too.
#[inline]
pub fn ctr(key: &Key, counter: &mut [u8; 16], text: Text<'_>) {
    *counter = ctr_from(key, u128::from_be_bytes(*counter), text).to_be_bytes();
}

/// The same with the counter as a number; returns the one after the last.
#[inline(always)]
pub fn ctr_from(key: &Key, counter: u128, mut text: Text<'_>) -> u128 {
    let (src, dst, len) = text.pointers();
    let blocks = len.div_ceil(BLOCK) as u64;
    // The kernel adds to the low 64 bits alone.
    if (counter as u64).checked_add(blocks).is_none() {
        return ctr_wrapping(key, counter, text);
    }
    on_unit!(key, modes::ctr(&key.encrypt, counter, src, dst, len));
    counter + u128::from(blocks)
}

/// A text over whose blocks the low 64 bits of the counter wrap around: it is two.
#[cold]
fn ctr_wrapping(key: &Key, counter: u128, mut text: Text<'_>) -> u128 {
    let (src, dst, len) = text.pointers();
    let until_wrap = ((1u128 << 64) - u128::from(counter as u64)) as usize * BLOCK;
    let (before, after) = (until_wrap.min(len), len.saturating_sub(until_wrap));
    on_unit!(key, modes::ctr(&key.encrypt, counter, src, dst, before));
    let next = counter.wrapping_add(before.div_ceil(BLOCK) as u128);
    let (src, dst) = (src.wrapping_add(before), dst.wrapping_add(before));
    on_unit!(key, modes::ctr(&key.encrypt, next, src, dst, after));
    next.wrapping_add(after.div_ceil(BLOCK) as u128)
}

/// Encrypts in XTS mode (IEEE 1619) with ciphertext stealing. A text of less than 16 bytes, which
/// the mode does not have, is left alone.
#[inline]
pub fn xts_encrypt(data_key: &Key, tweak_key: &Key, tweak: &[u8; 16], mut text: Text<'_>) {
    let (src, dst, len) = text.pointers();
    if len >= BLOCK {
        on_unit!(
            data_key,
            xts::encrypt(&data_key.encrypt, &tweak_key.encrypt, tweak, src, dst, len)
        );
    }
}

/// Decrypts in XTS mode (IEEE 1619) with ciphertext stealing. A text of less than 16 bytes, which
/// the mode does not have, is left alone.
#[inline]
pub fn xts_decrypt(data_key: &Key, tweak_key: &Key, tweak: &[u8; 16], mut text: Text<'_>) {
    let (src, dst, len) = text.pointers();
    if len >= BLOCK {
        on_unit!(
            data_key,
            xts::decrypt(&data_key.decrypt, &tweak_key.encrypt, tweak, src, dst, len)
        );
    }
}
