//! Modular exponentiation, eight side by side: RSA, finite-field Diffie-Hellman, DSA.
//!
//! Montgomery multiplication in digits of 52 bits (`montgomery`), fixed windows over it (`power`)
//! and RSA by the Chinese remainder theorem with its result verified (`crt`). Moduli go to classes
//! by length; the lanes of a batch may differ in everything else.
//!
//! Constant time in bases, results, secret exponents and primes. What is public: lengths, public
//! exponents, whether an input is below its modulus, whether a verification failed.
//!
//! Checked against AWS-LC in `tests/modexp.rs`; measured in `benches/modexp.rs`.

mod columns;
mod crt;
mod digit;
mod modulus;
mod montgomery;
mod power;

pub use crt::{CrtKey, Outcome, Private};
pub use digit::Digit;
pub use modulus::Modulus;
pub use power::Power;

#[cfg(any(feature = "twin", not(target_arch = "x86_64")))]
use super::lanes::Portable;
use super::memory;
#[cfg(target_arch = "x86_64")]
use {super::lanes::Wide, lookaside_simd::Avx512};

/// What batches work in: at most 0.4 MiB for exponents as long as their moduli.
#[derive(Debug, Default)]
pub struct Memory {
    /// A product.
    wide: memory::Memory<Digit>,
    /// Exponents.
    words: memory::Memory<Digit>,
    /// Powers of the bases.
    table: memory::Memory<Digit>,
}

/// Runs one to eight exponentiations of one class on AVX-512 IFMA. Time depends on the class and
/// the length of the longest exponent in bytes.
///
/// # Panics
///
/// With more than eight lanes or lanes of several classes.
#[cfg(target_arch = "x86_64")]
pub fn power_avx512(_: Avx512, memory: &mut Memory, lanes: &mut [Power<'_>]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
    fn run(memory: &mut Memory, lanes: &mut [Power<'_>]) {
        power::dispatch::<Wide>(memory, lanes, false);
    }
    // SAFETY: the token proves the features.
    unsafe { run(memory, lanes) }
}

/// [`power_avx512`] on any CPU, slowly.
#[cfg(any(feature = "twin", not(target_arch = "x86_64")))]
pub fn power_portable(memory: &mut Memory, lanes: &mut [Power<'_>]) {
    power::dispatch::<Portable>(memory, lanes, false);
}

/// Like [`power_avx512`], but time depends on the exponents, which are public: a short or sparse
/// one is quick.
///
/// # Panics
///
/// With more than eight lanes or lanes of several classes.
#[cfg(target_arch = "x86_64")]
pub fn power_public_avx512(_: Avx512, memory: &mut Memory, lanes: &mut [Power<'_>]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
    fn run(memory: &mut Memory, lanes: &mut [Power<'_>]) {
        power::dispatch::<Wide>(memory, lanes, true);
    }
    // SAFETY: the token proves the features.
    unsafe { run(memory, lanes) }
}

/// [`power_public_avx512`] on any CPU, slowly.
#[cfg(any(feature = "twin", not(target_arch = "x86_64")))]
pub fn power_public_portable(memory: &mut Memory, lanes: &mut [Power<'_>]) {
    power::dispatch::<Portable>(memory, lanes, true);
}

/// Runs one to eight RSA private operations of one class on AVX-512 IFMA. Time depends on the
/// class, the length of the primes and the public exponents.
///
/// # Panics
///
/// With more than eight lanes or lanes of several classes.
#[cfg(target_arch = "x86_64")]
pub fn private_avx512(_: Avx512, memory: &mut Memory, lanes: &mut [Private<'_>]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
    fn run(memory: &mut Memory, lanes: &mut [Private<'_>]) {
        crt::dispatch::<Wide>(memory, lanes);
    }
    // SAFETY: the token proves the features.
    unsafe { run(memory, lanes) }
}

/// [`private_avx512`] on any CPU, slowly.
#[cfg(any(feature = "twin", not(target_arch = "x86_64")))]
pub fn private_portable(memory: &mut Memory, lanes: &mut [Private<'_>]) {
    crt::dispatch::<Portable>(memory, lanes);
}
