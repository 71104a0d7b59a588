//! AWS-LC's AEADs, whole ([`Aead`]) and AES-GCM in pieces ([`Gcm`]).

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

use aws_lc_sys as aws;
use lookaside_secure::SecureBox;

use crate::{OpError, Text};

/// A key of AES-GCM or ChaCha20-Poly1305, with its tags' length.
pub(crate) struct Aead(SecureBox<aws::EVP_AEAD_CTX>);

// SAFETY: once set up, the structure is only read.
unsafe impl Send for Aead {}
// SAFETY: as above.
unsafe impl Sync for Aead {}

impl Drop for Aead {
    fn drop(&mut self) {
        // SAFETY: set up by `EVP_AEAD_CTX_init`.
        unsafe { aws::EVP_AEAD_CTX_cleanup(&mut *self.0) };
    }
}

impl Aead {
    /// AES-GCM; `key`: 16, 24 or 32 bytes. `None` when memory ran out.
    pub(crate) fn gcm(key: &[u8], tag_len: usize) -> Option<Aead> {
        // SAFETY: these take nothing and return the address of a constant.
        let method = unsafe {
            match key.len() {
                16 => aws::EVP_aead_aes_128_gcm(),
                24 => aws::EVP_aead_aes_192_gcm(),
                _ => aws::EVP_aead_aes_256_gcm(),
            }
        };
        Aead::new(method, key, tag_len)
    }

    /// ChaCha20-Poly1305; `key`: 32 bytes.
    pub(crate) fn chacha20_poly1305(key: &[u8]) -> Option<Aead> {
        // SAFETY: takes nothing and returns the address of a constant.
        Aead::new(unsafe { aws::EVP_aead_chacha20_poly1305() }, key, 16)
    }

    fn new(method: *const aws::EVP_AEAD, key: &[u8], tag_len: usize) -> Option<Aead> {
        let mut state = SecureBox::<MaybeUninit<aws::EVP_AEAD_CTX>>::zeroed();
        let (at, engine) = (state.as_mut_ptr(), ptr::null_mut());
        // SAFETY: `key` is readable for its length, which the function compares with the method's. The
        // structure stays where it is set up; if that fails, it is as `EVP_AEAD_CTX_zero` leaves it.
        unsafe {
            let done = aws::EVP_AEAD_CTX_init(at, method, key.as_ptr(), key.len(), tag_len, engine);
            (done == 1).then(|| Aead(state.assume_init()))
        }
    }

    /// Encrypts `text` and makes the tag: as many of its bytes as the key was made for.
    pub(crate) fn seal(&self, iv: &[u8], aad: &[u8], text: &mut Text<'_>) -> Option<[u8; 16]> {
        let (src, dst, len) = text.pointers();
        let (mut tag, mut tag_len) = ([0; 16], 0);
        // SAFETY: `pointers` promises `len` bytes to read and to write, equal or apart; the other
        // slices are readable for their lengths and the tag writable for its own.
        let done = unsafe {
            aws::EVP_AEAD_CTX_seal_scatter(
                &*self.0,
                dst,
                tag.as_mut_ptr(),
                &mut tag_len,
                tag.len(),
                iv.as_ptr(),
                iv.len(),
                src,
                len,
                ptr::null(),
                0,
                aad.as_ptr(),
                aad.len(),
            )
        };
        (done == 1).then_some(tag)
    }

    /// Decrypts `text` and compares the tag. `false` if it does not match: then the destination is
    /// overwritten.
    pub(crate) fn open(&self, iv: &[u8], aad: &[u8], text: &mut Text<'_>, tag: &[u8]) -> bool {
        let (src, dst, len) = text.pointers();
        // SAFETY: as in `seal`.
        let done = unsafe {
            aws::EVP_AEAD_CTX_open_gather(
                &*self.0,
                dst,
                iv.as_ptr(),
                iv.len(),
                src,
                len,
                tag.as_ptr(),
                tag.len(),
                aad.as_ptr(),
                aad.len(),
            )
        };
        if done != 1 {
            // SAFETY: takes nothing; what it clears is this thread's own list of errors.
            unsafe { aws::ERR_clear_error() };
        }
        done == 1
    }
}

/// AES-GCM in pieces. Copied from one that holds the key schedule.
pub(crate) struct Gcm(*mut aws::EVP_CIPHER_CTX);

// SAFETY: only `&mut self` changes the structure, and copying it only reads.
unsafe impl Send for Gcm {}
// SAFETY: as above.
unsafe impl Sync for Gcm {}

impl Drop for Gcm {
    fn drop(&mut self) {
        // SAFETY: made by `EVP_CIPHER_CTX_new`, or null, which is allowed; freeing overwrites it.
        unsafe { aws::EVP_CIPHER_CTX_free(self.0) };
    }
}

impl Clone for Gcm {
    /// When memory runs out, a copy whose every call fails.
    fn clone(&self) -> Gcm {
        let none = Gcm(ptr::null_mut());
        if self.0.is_null() {
            return none;
        }
        // SAFETY: `EVP_CIPHER_CTX_copy` is given a fresh structure, and a source that has a cipher.
        unsafe {
            let copy = Gcm(aws::EVP_CIPHER_CTX_new());
            let done = !copy.0.is_null() && aws::EVP_CIPHER_CTX_copy(copy.0, self.0) == 1;
            if done { copy } else { none }
        }
    }
}

/// The longest piece for a function that takes its length as an `int`.
const MAX_PIECE: usize = 1 << 30;

fn done(done: bool) -> Result<(), OpError> {
    if done { Ok(()) } else { Err(OpError::Library("AES-GCM")) }
}

impl Gcm {
    /// `key`: 16, 24 or 32 bytes. `None` when memory ran out.
    pub(crate) fn new(key: &[u8]) -> Option<Gcm> {
        assert!(matches!(key.len(), 16 | 24 | 32), "an AES key is 16, 24 or 32 bytes long");
        // SAFETY: the methods take nothing and return the address of a constant; `key` is as long as
        // the method reads.
        unsafe {
            let method = match key.len() {
                16 => aws::EVP_aes_128_gcm(),
                24 => aws::EVP_aes_192_gcm(),
                _ => aws::EVP_aes_256_gcm(),
            };
            let gcm = Gcm(aws::EVP_CIPHER_CTX_new());
            let none = ptr::null_mut();
            let done = !gcm.0.is_null()
                && aws::EVP_CipherInit_ex(gcm.0, method, none, key.as_ptr(), ptr::null(), 1) == 1;
            done.then_some(gcm)
        }
    }

    /// A new text under the same key; `iv`: 1 byte and more.
    pub(crate) fn start(&mut self, iv: &[u8], seal: bool) -> Result<(), OpError> {
        let Ok(len) = c_int::try_from(iv.len()) else { return done(false) };
        let set_len = aws::EVP_CTRL_AEAD_SET_IVLEN;
        // SAFETY: the structure has a cipher, or the functions refuse it (null is asked for here);
        // `iv` is as long as has just been said.
        let fine = !self.0.is_null()
            && unsafe {
                aws::EVP_CIPHER_CTX_ctrl(self.0, set_len, len, ptr::null_mut()) == 1
                    && aws::EVP_CipherInit_ex(
                        self.0,
                        ptr::null(),
                        ptr::null_mut(),
                        ptr::null(),
                        iv.as_ptr(),
                        seal.into(),
                    ) == 1
            };
        done(fine)
    }

    /// Associated data, before the text.
    pub(crate) fn aad(&mut self, aad: &[u8]) -> Result<(), OpError> {
        let fine = !self.0.is_null()
            && aad.chunks(MAX_PIECE).all(|piece| {
                let mut len_done = 0;
                // SAFETY: the piece is readable for its length; a null destination means that it is
                // associated data.
                unsafe {
                    let (src, len) = (piece.as_ptr(), piece.len() as c_int);
                    aws::EVP_CipherUpdate(self.0, ptr::null_mut(), &mut len_done, src, len) == 1
                }
            });
        done(fine)
    }

    /// Encrypts or decrypts a piece.
    pub(crate) fn update(&mut self, text: &mut Text<'_>) -> Result<(), OpError> {
        let (src, dst, len) = text.pointers();
        let fine = !self.0.is_null()
            && (0..len).step_by(MAX_PIECE).all(|at| {
                let (piece, mut len_done) = ((len - at).min(MAX_PIECE) as c_int, 0);
                // SAFETY: `pointers` promises `len` bytes to read and to write, equal or apart; the
                // piece lies within them, and GCM writes as much as it reads.
                unsafe {
                    aws::EVP_CipherUpdate(self.0, dst.add(at), &mut len_done, src.add(at), piece)
                        == 1
                }
            });
        done(fine)
    }

    /// The tag of a text that was encrypted.
    pub(crate) fn tag(&mut self, tag: &mut [u8]) -> Result<(), OpError> {
        let (mut rest, mut len_done) = ([0; 16], 0);
        let get = aws::EVP_CTRL_AEAD_GET_TAG;
        assert!(tag.len() <= 16, "a GCM tag has 16 bytes at most");
        // SAFETY: GCM writes nothing into `rest`; `tag` is writable for its length.
        let fine = !self.0.is_null()
            && unsafe {
                aws::EVP_CipherFinal_ex(self.0, rest.as_mut_ptr(), &mut len_done) == 1
                    && aws::EVP_CIPHER_CTX_ctrl(
                        self.0,
                        get,
                        tag.len() as c_int,
                        tag.as_mut_ptr().cast(),
                    ) == 1
            };
        done(fine)
    }

    /// Whether the tag of a text that was decrypted is this.
    pub(crate) fn verify(&mut self, tag: &[u8]) -> bool {
        let (mut rest, mut done) = ([0; 16], 0);
        let mut tag: Vec<u8> = tag.to_vec();
        let set = aws::EVP_CTRL_AEAD_SET_TAG;
        // SAFETY: as in `tag`; the copy is readable for its length.
        let equal = !self.0.is_null()
            && unsafe {
                aws::EVP_CIPHER_CTX_ctrl(self.0, set, tag.len() as c_int, tag.as_mut_ptr().cast())
                    == 1
                    && aws::EVP_CipherFinal_ex(self.0, rest.as_mut_ptr(), &mut done) == 1
            };
        if !equal {
            // SAFETY: takes nothing; what it clears is this thread's own list of errors.
            unsafe { aws::ERR_clear_error() };
        }
        equal
    }
}
