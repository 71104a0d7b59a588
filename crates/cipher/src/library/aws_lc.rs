//! AWS-LC's block and stream ciphers. Their key schedules live in memory for keys: moving one would leave
//! copies behind.

use std::mem::MaybeUninit;

use aws_lc_sys as aws;
use lookaside_secure::SecureBox;
use zeroize::Zeroize;

use crate::Text;

/// A block of AES or SM4.
pub(crate) type Block = [u8; 16];

/// Whether `a` and `b` are equal, in a time that depends on their length only.
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    // SAFETY: both are readable for the length, which is equal.
    a.len() == b.len()
        && unsafe { aws::CRYPTO_memcmp(a.as_ptr().cast(), b.as_ptr().cast(), a.len()) == 0 }
}

/// Overwrites what may be secret. `zeroize` does so byte by byte, which a packet would feel.
pub(crate) fn cleanse(bytes: &mut [u8]) {
    // SAFETY: writable for the length.
    unsafe { aws::OPENSSL_cleanse(bytes.as_mut_ptr().cast(), bytes.len()) };
}

/// A structure in memory for keys, all zeros: plain data that AWS-LC fills in.
fn zeroed<T>() -> SecureBox<T> {
    // SAFETY: called below for key schedules and states only, integers all, which zero is valid for.
    unsafe { SecureBox::<MaybeUninit<T>>::zeroed().assume_init() }
}

/// AES, the schedule that encrypts.
pub(crate) struct AesEncrypt(SecureBox<aws::AES_KEY>);

/// AES, the schedule that decrypts.
pub(crate) struct AesDecrypt(SecureBox<aws::AES_KEY>);

impl Drop for AesEncrypt {
    fn drop(&mut self) {
        self.0.rd_key.zeroize();
    }
}

impl Drop for AesDecrypt {
    fn drop(&mut self) {
        self.0.rd_key.zeroize();
    }
}

/// The bits of an AES key. Anything but a legal length would leave the schedule unset.
fn aes_bits(key: &[u8]) -> u32 {
    assert!(matches!(key.len(), 16 | 24 | 32), "an AES key is 16, 24 or 32 bytes long");
    8 * key.len() as u32
}

impl AesEncrypt {
    /// `key`: 16, 24 or 32 bytes.
    pub(crate) fn new(key: &[u8]) -> AesEncrypt {
        let mut schedule = zeroed::<aws::AES_KEY>();
        // SAFETY: `key` is readable for as many bits; `schedule` is of the right type.
        unsafe { aws::AES_set_encrypt_key(key.as_ptr(), aes_bits(key), &mut *schedule) };
        AesEncrypt(schedule)
    }

    /// One block.
    pub(crate) fn block(&self, block: &mut Block) {
        let bytes = block.as_mut_ptr();
        // SAFETY: 16 bytes to read and write, which may be the same.
        unsafe { aws::AES_encrypt(bytes, bytes, &*self.0) };
    }

    /// CBC; whole blocks. `iv` becomes the last block of ciphertext.
    pub(crate) fn cbc(&self, iv: &mut Block, text: &mut Text<'_>) {
        let (src, dst, len) = text.pointers();
        assert_eq!(len % 16, 0, "whole blocks");
        // SAFETY: `pointers` promises `len` bytes to read and to write, equal or apart.
        unsafe { aws::AES_cbc_encrypt(src, dst, len, &*self.0, iv.as_mut_ptr(), aws::AES_ENCRYPT) };
    }

    /// Counter mode, any length: `used` bytes of `pad` have been used.
    pub(crate) fn ctr(&self, state: &mut Counter, text: &mut Text<'_>) {
        let (src, dst, len) = text.pointers();
        let Counter { next, pad, used } = state;
        assert!(*used < 16, "a position within the block");
        // SAFETY: as above; the counter and the pad are blocks, `used` a position within one.
        unsafe {
            let (next, pad) = (next.as_mut_ptr(), pad.as_mut_ptr());
            aws::AES_ctr128_encrypt(src, dst, len, &*self.0, next, pad, used);
        }
    }
}

impl AesDecrypt {
    /// `key`: 16, 24 or 32 bytes.
    pub(crate) fn new(key: &[u8]) -> AesDecrypt {
        let mut schedule = zeroed::<aws::AES_KEY>();
        // SAFETY: as in `AesEncrypt::new`.
        unsafe { aws::AES_set_decrypt_key(key.as_ptr(), aes_bits(key), &mut *schedule) };
        AesDecrypt(schedule)
    }

    /// One block.
    pub(crate) fn block(&self, block: &mut Block) {
        let bytes = block.as_mut_ptr();
        // SAFETY: 16 bytes to read and write, which may be the same.
        unsafe { aws::AES_decrypt(bytes, bytes, &*self.0) };
    }

    /// CBC; whole blocks. `iv` becomes the last block of ciphertext.
    pub(crate) fn cbc(&self, iv: &mut Block, text: &mut Text<'_>) {
        let (src, dst, len) = text.pointers();
        assert_eq!(len % 16, 0, "whole blocks");
        // SAFETY: as in `AesEncrypt::cbc`.
        unsafe { aws::AES_cbc_encrypt(src, dst, len, &*self.0, iv.as_mut_ptr(), aws::AES_DECRYPT) };
    }
}

/// Where a counter mode stands.
#[derive(Clone, Default)]
pub(crate) struct Counter {
    /// The next counter block, big-endian.
    pub(crate) next: Block,
    /// The last block of key stream.
    pub(crate) pad: Block,
    /// How many bytes of `pad` are used up, less than a block; 0: all of it.
    pub(crate) used: u32,
}

impl Drop for Counter {
    fn drop(&mut self) {
        if self.used > 0 {
            cleanse(&mut self.pad);
        }
    }
}

/// One to three DES keys: DES, or triple DES (encrypt, decrypt, encrypt).
pub(crate) struct Des(SecureBox<[aws::DES_key_schedule; 3]>, bool);

impl Drop for Des {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|key| key.subkeys.zeroize());
    }
}

impl Des {
    /// `key`: 8 bytes, or 24 for triple DES. Parity bits are not read; weak keys are not refused.
    pub(crate) fn new(key: &[u8]) -> Des {
        assert!(matches!(key.len(), 8 | 24), "a DES key is 8 or 24 bytes long");
        let mut schedules = zeroed::<[aws::DES_key_schedule; 3]>();
        for (schedule, key) in schedules.iter_mut().zip(key.chunks_exact(8)) {
            // SAFETY: `key` is 8 bytes, as a `DES_cblock` is; `schedule` is of the right type.
            unsafe { aws::DES_set_key_unchecked(key.as_ptr().cast(), schedule) };
        }
        Des(schedules, key.len() == 24)
    }

    /// One block.
    pub(crate) fn block(&self, block: &mut [u8; 8], encrypt: bool) {
        let bytes: *mut aws::DES_cblock = block.as_mut_ptr().cast();
        let [one, two, three] = &*self.0;
        // SAFETY: a block to read and write, which may be the same.
        unsafe {
            match self.1 {
                true => aws::DES_ecb3_encrypt(bytes, bytes, one, two, three, encrypt.into()),
                false => aws::DES_ecb_encrypt(bytes, bytes, one, encrypt.into()),
            }
        }
    }

    /// CBC; whole blocks. `iv` becomes the last block of ciphertext.
    pub(crate) fn cbc(&self, iv: &mut [u8; 8], text: &mut Text<'_>, encrypt: bool) {
        let (src, dst, len) = text.pointers();
        assert_eq!(len % 8, 0, "whole blocks");
        let iv: *mut aws::DES_cblock = iv.as_mut_ptr().cast();
        let [one, two, three] = &*self.0;
        let encrypt = encrypt.into();
        // SAFETY: `pointers` promises `len` bytes to read and to write, equal or apart; `iv` is a
        // block.
        unsafe {
            match self.1 {
                true => aws::DES_ede3_cbc_encrypt(src, dst, len, one, two, three, iv, encrypt),
                false => aws::DES_ncbc_encrypt(src, dst, len, one, iv, encrypt),
            }
        }
    }
}

/// ARC4: the permutation as it stands. Its table look-ups depend on the key, as the algorithm has it.
#[derive(Clone)]
pub(crate) struct Arc4(SecureBox<aws::RC4_KEY>);

impl Drop for Arc4 {
    fn drop(&mut self) {
        self.0.data.zeroize();
    }
}

impl Arc4 {
    /// `key`: 1 to 256 bytes.
    pub(crate) fn new(key: &[u8]) -> Arc4 {
        assert!((1..=256).contains(&key.len()), "an ARC4 key is 1 to 256 bytes long");
        let mut state = zeroed::<aws::RC4_KEY>();
        // SAFETY: `key` is readable for its length; `state` is of the right type.
        unsafe { aws::RC4_set_key(&mut *state, key.len() as u32, key.as_ptr()) };
        Arc4(state)
    }

    /// Copies another's state without new memory.
    pub(crate) fn reset(&mut self, from: &Arc4) {
        *self.0 = *from.0;
    }

    /// Any length.
    pub(crate) fn process(&mut self, text: &mut Text<'_>) {
        let (src, dst, len) = text.pointers();
        // SAFETY: `pointers` promises `len` bytes to read and to write, equal or apart.
        unsafe { aws::RC4(&mut *self.0, len, src, dst) };
    }
}

/// ChaCha20 from block `counter` on, which must not wrap within the text.
pub(crate) fn chacha20(key: &[u8; 32], nonce: &[u8; 12], counter: u32, text: &mut Text<'_>) {
    let (src, dst, len) = text.pointers();
    // SAFETY: `pointers` promises `len` bytes to read and to write, equal or apart; key and nonce
    // are of the lengths that the function reads.
    unsafe { aws::CRYPTO_chacha_20(dst, src, len, key.as_ptr(), nonce.as_ptr(), counter) };
}
