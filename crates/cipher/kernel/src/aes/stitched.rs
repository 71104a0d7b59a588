//! AES-CBC encryption and SHA-1 or SHA-256 of the same bytes, stitched: for chains of one packet.
//!
//! Both are chains of dependent instructions: four blocks of AES-128 take 120 cycles at least, and so
//! does a block of SHA-1 on the CPUs with three cycles per AES round; SHA-256 takes 128. Neither fills
//! the CPU. A quarter of the hash's rounds stands after every AES block, so that the CPU finds both
//! within its reach, and two chains take the time of one.
//!
//! No branch and no address depends on a key, a text or a state.

use super::Key;
use super::sha::{ShaNi, State};
use crate::Text;

#[cfg(target_arch = "x86_64")]
mod x86;

/// Encrypts in CBC mode, hashing the plaintext: what MAC-then-encrypt wants (TLS).
///
/// The blocks of the hash begin at byte `from` of the text, which is where those of the MAC's header
/// leave off: with a header of 13 bytes, at 51. As many steps of 64 bytes are done as hash blocks are
/// whole: `n = (text.len() - from) / 64`. Then the first `64 n` bytes are ciphertext, the `64 n` bytes
/// from `from` on are hashed, and the rest of the text is as it was, in place too.
///
/// Returns `64 n`. `iv` becomes the last ciphertext block.
pub fn mac_then_encrypt<S: State>(
    sha: ShaNi,
    key: &Key,
    iv: &mut [u8; 16],
    mut text: Text<'_>,
    from: usize,
    state: &mut S,
) -> usize {
    let (src, dst, len) = text.pointers();
    let steps = len.saturating_sub(from) / 64;
    let _ = sha;
    match key.unit {
        // SAFETY: the key and `sha` prove AES-NI, AVX2 and SHA-NI; the pointers are of the text, of
        // which `64 steps` bytes are used, and as many from `from` on.
        #[cfg(target_arch = "x86_64")]
        super::Unit::Vaes | super::Unit::Vaes256 | super::Unit::AesNi => unsafe {
            x86::mac_then_encrypt::<S::Compression>(&key.encrypt, iv, src, dst, from, steps, state);
        },
    }
    64 * steps
}

/// Encrypts in CBC mode, hashing the ciphertext: what encrypt-then-MAC wants (IPsec).
///
/// All whole blocks of the text are encrypted. The blocks of the hash begin at byte `from` of the
/// result: `64 n` bytes are hashed, `n = (len - from) / 64`, where `len` is that of the whole blocks.
///
/// Returns `64 n`. `iv` becomes the last ciphertext block.
pub fn encrypt_then_mac<S: State>(
    sha: ShaNi,
    key: &Key,
    iv: &mut [u8; 16],
    mut text: Text<'_>,
    from: usize,
    state: &mut S,
) -> usize {
    let (src, dst, len) = text.pointers();
    let len = len & !15;
    let _ = sha;
    match key.unit {
        // SAFETY: the key and `sha` prove AES-NI, AVX2 and SHA-NI; the pointers are of the text, with
        // the length of its whole blocks.
        #[cfg(target_arch = "x86_64")]
        super::Unit::Vaes | super::Unit::Vaes256 | super::Unit::AesNi => unsafe {
            x86::encrypt_then_mac::<S::Compression>(&key.encrypt, iv, src, dst, len, from, state);
        },
    }
    len.saturating_sub(from) & !63
}
