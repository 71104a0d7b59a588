//! OpenSSL's EVP functions, linked: the independent implementation that the tests compare with.
#![allow(dead_code)] // Each test uses some of it.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{self, null, null_mut};

use openssl_sys as ssl;

unsafe extern "C" {
    fn OBJ_sn2nid(name: *const c_char) -> c_int;
    fn EVP_PKEY_CTX_set_ecdh_cofactor_mode(operation: *mut ssl::EVP_PKEY_CTX, mode: c_int)
    -> c_int;
    fn EVP_PKEY_set_type(key: *mut ssl::EVP_PKEY, kind: c_int) -> c_int;
    fn EVP_PKEY_new_raw_private_key_ex(
        library: *mut c_void,
        kind: *const c_char,
        properties: *const c_char,
        bytes: *const u8,
        len: usize,
    ) -> *mut ssl::EVP_PKEY;
    fn EVP_PKEY_new_raw_public_key_ex(
        library: *mut c_void,
        kind: *const c_char,
        properties: *const c_char,
        bytes: *const u8,
        len: usize,
    ) -> *mut ssl::EVP_PKEY;
    fn BN_bn2binpad(number: *const ssl::BIGNUM, out: *mut u8, len: c_int) -> c_int;
    fn EC_KEY_oct2key(
        key: *mut ssl::EC_KEY,
        bytes: *const u8,
        len: usize,
        scratch: *mut ssl::BN_CTX,
    ) -> c_int;
    fn EC_KEY_oct2priv(key: *mut ssl::EC_KEY, bytes: *const u8, len: usize) -> c_int;
    fn EVP_PKEY_get_raw_public_key(
        key: *const ssl::EVP_PKEY,
        out: *mut u8,
        len: *mut usize,
    ) -> c_int;
    fn EVP_PKEY_CTX_set1_id(operation: *mut ssl::EVP_PKEY_CTX, id: *const u8, len: c_int) -> c_int;
    fn EVP_sm3() -> *const ssl::EVP_MD;
    fn EVP_DigestSign(
        digest: *mut ssl::EVP_MD_CTX,
        out: *mut u8,
        len: *mut usize,
        text: *const u8,
        text_len: usize,
    ) -> c_int;
    fn EVP_DigestVerify(
        digest: *mut ssl::EVP_MD_CTX,
        signature: *const u8,
        len: usize,
        text: *const u8,
        text_len: usize,
    ) -> c_int;
    fn EVP_MD_CTX_set_pkey_ctx(digest: *mut ssl::EVP_MD_CTX, operation: *mut ssl::EVP_PKEY_CTX);
}

/// A key of OpenSSL.
pub struct Key(*mut ssl::EVP_PKEY);

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { ssl::EVP_PKEY_free(self.0) }
    }
}

struct Operation(*mut ssl::EVP_PKEY_CTX);

impl Drop for Operation {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { ssl::EVP_PKEY_CTX_free(self.0) }
    }
}

impl Key {
    /// A key on the curve with this short name; `None` where OpenSSL refuses it.
    pub fn on_curve(name: &str, private: Option<&[u8]>, point: &[u8]) -> Option<Key> {
        let name = CString::new(name).unwrap();
        // SAFETY: valid objects; pointers and lengths are those of slices.
        unsafe {
            let nid = OBJ_sn2nid(name.as_ptr());
            let ec = ssl::EC_KEY_new_by_curve_name(nid);
            assert!(!ec.is_null(), "{name:?}");
            let ok = EC_KEY_oct2key(ec, point.as_ptr(), point.len(), null_mut()) == 1
                && private.is_none_or(|d| EC_KEY_oct2priv(ec, d.as_ptr(), d.len()) == 1);
            if !ok {
                ssl::EC_KEY_free(ec);
                return None;
            }
            let key = ssl::EVP_PKEY_new();
            assert_eq!(ssl::EVP_PKEY_set1_EC_KEY(key, ec), 1);
            ssl::EC_KEY_free(ec);
            Some(Key(key))
        }
    }

    /// A private key of X25519, X448, ED25519 or ED448.
    pub fn raw_private(kind: &str, private: &[u8]) -> Key {
        let kind = CString::new(kind).unwrap();
        // SAFETY: a name that ends in a zero; pointer and length are those of a slice.
        let key = unsafe {
            EVP_PKEY_new_raw_private_key_ex(
                null_mut(),
                kind.as_ptr(),
                null(),
                private.as_ptr(),
                private.len(),
            )
        };
        assert!(!key.is_null());
        Key(key)
    }

    /// A public key of X25519, X448, ED25519 or ED448.
    pub fn raw_public(kind: &str, public: &[u8]) -> Key {
        let kind = CString::new(kind).unwrap();
        // SAFETY: a name that ends in a zero; pointer and length are those of a slice.
        let key = unsafe {
            EVP_PKEY_new_raw_public_key_ex(
                null_mut(),
                kind.as_ptr(),
                null(),
                public.as_ptr(),
                public.len(),
            )
        };
        assert!(!key.is_null());
        Key(key)
    }

    /// The public half of a raw key.
    pub fn public(&self) -> Vec<u8> {
        let (mut out, mut len) = ([0; 64], 64);
        // SAFETY: a valid key; pointer and length are those of an array.
        let ok = unsafe { EVP_PKEY_get_raw_public_key(self.0, out.as_mut_ptr(), &mut len) };
        assert_eq!(ok, 1);
        out[..len].to_vec()
    }

    fn operation(&self) -> Operation {
        // SAFETY: a valid key.
        let operation = unsafe { ssl::EVP_PKEY_CTX_new(self.0, null_mut()) };
        assert!(!operation.is_null());
        Operation(operation)
    }

    /// The shared secret with `peer`; `cofactor` is 0 or 1, or -1 for what the key says.
    pub fn derive(&self, peer: &Key, cofactor: i32) -> Option<Vec<u8>> {
        let operation = self.operation();
        let (mut out, mut len) = (vec![0; 80], 80);
        // SAFETY: valid objects; pointer and length are those of a vector.
        unsafe {
            assert_eq!(ssl::EVP_PKEY_derive_init(operation.0), 1);
            if cofactor >= 0 {
                assert_eq!(EVP_PKEY_CTX_set_ecdh_cofactor_mode(operation.0, cofactor), 1);
            }
            let ok = ssl::EVP_PKEY_derive_set_peer(operation.0, peer.0) == 1
                && ssl::EVP_PKEY_derive(operation.0, out.as_mut_ptr(), &mut len) == 1;
            out.truncate(len);
            ok.then_some(out)
        }
    }

    /// ECDSA of a digest: r || s, `order_len` bytes each.
    pub fn sign(&self, digest: &[u8], order_len: usize) -> Vec<u8> {
        let operation = self.operation();
        let (mut der, mut len) = ([0; 200], 200);
        // SAFETY: valid objects; pointers and lengths are those of slices.
        unsafe {
            assert_eq!(ssl::EVP_PKEY_sign_init(operation.0), 1);
            let ok = ssl::EVP_PKEY_sign(
                operation.0,
                der.as_mut_ptr(),
                &mut len,
                digest.as_ptr(),
                digest.len(),
            );
            assert_eq!(ok, 1);
        }
        from_der(&der[..len], order_len)
    }

    /// Whether r || s is the ECDSA signature of a digest.
    pub fn verify(&self, signature: &[u8], digest: &[u8]) -> bool {
        let operation = self.operation();
        let der = to_der(signature);
        // SAFETY: valid objects; pointers and lengths are those of slices.
        unsafe {
            assert_eq!(ssl::EVP_PKEY_verify_init(operation.0), 1);
            ssl::EVP_PKEY_verify(
                operation.0,
                der.as_ptr(),
                der.len(),
                digest.as_ptr(),
                digest.len(),
            ) == 1
        }
    }

    /// Signs a message: Ed25519, Ed448.
    pub fn sign_message(&self, message: &[u8]) -> Vec<u8> {
        let (mut out, mut len) = (vec![0; 200], 200);
        // SAFETY: valid objects; pointers and lengths are those of slices.
        unsafe {
            let digest = ssl::EVP_MD_CTX_new();
            let init = ssl::EVP_DigestSignInit(digest, null_mut(), null(), null_mut(), self.0);
            assert_eq!(init, 1);
            let ok =
                EVP_DigestSign(digest, out.as_mut_ptr(), &mut len, message.as_ptr(), message.len());
            assert_eq!(ok, 1);
            ssl::EVP_MD_CTX_free(digest);
        }
        out.truncate(len);
        out
    }

    /// SM2 with SM3 under an identity: r || s.
    pub fn sm2_sign(&self, id: &[u8], message: &[u8]) -> Vec<u8> {
        let operation = self.operation();
        let (mut out, mut len) = ([0; 200], 200);
        // SAFETY: valid objects; pointers and lengths are those of slices.
        unsafe {
            assert_eq!(EVP_PKEY_CTX_set1_id(operation.0, id.as_ptr(), id.len() as c_int), 1);
            let digest = ssl::EVP_MD_CTX_new();
            EVP_MD_CTX_set_pkey_ctx(digest, operation.0);
            let init = ssl::EVP_DigestSignInit(digest, null_mut(), EVP_sm3(), null_mut(), self.0);
            assert_eq!(init, 1);
            let ok =
                EVP_DigestSign(digest, out.as_mut_ptr(), &mut len, message.as_ptr(), message.len());
            assert_eq!(ok, 1);
            ssl::EVP_MD_CTX_free(digest);
        }
        from_der(&out[..len], 32)
    }

    /// Whether r || s is the SM2 signature of a message.
    pub fn sm2_verify(&self, id: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let operation = self.operation();
        let der = to_der(signature);
        // SAFETY: valid objects; pointers and lengths are those of slices.
        unsafe {
            assert_eq!(EVP_PKEY_CTX_set1_id(operation.0, id.as_ptr(), id.len() as c_int), 1);
            let digest = ssl::EVP_MD_CTX_new();
            EVP_MD_CTX_set_pkey_ctx(digest, operation.0);
            let init = ssl::EVP_DigestVerifyInit(digest, null_mut(), EVP_sm3(), null_mut(), self.0);
            assert_eq!(init, 1);
            let ok =
                EVP_DigestVerify(digest, der.as_ptr(), der.len(), message.as_ptr(), message.len());
            ssl::EVP_MD_CTX_free(digest);
            ok == 1
        }
    }

    /// SM2 encryption: DER.
    pub fn encrypt(&self, message: &[u8]) -> Vec<u8> {
        let operation = self.operation();
        let mut out = vec![0; message.len() + 200];
        let mut len = out.len();
        // SAFETY: valid objects; pointers and lengths are those of slices.
        unsafe {
            assert_eq!(ssl::EVP_PKEY_encrypt_init(operation.0), 1);
            let ok = ssl::EVP_PKEY_encrypt(
                operation.0,
                out.as_mut_ptr(),
                &mut len,
                message.as_ptr(),
                message.len(),
            );
            assert_eq!(ok, 1);
        }
        out.truncate(len);
        out
    }

    /// SM2 decryption of DER.
    pub fn decrypt(&self, ciphertext: &[u8]) -> Option<Vec<u8>> {
        let operation = self.operation();
        let mut out = vec![0; ciphertext.len() + 64];
        let mut len = out.len();
        // SAFETY: valid objects; pointers and lengths are those of slices.
        unsafe {
            assert_eq!(ssl::EVP_PKEY_decrypt_init(operation.0), 1);
            let ok = ssl::EVP_PKEY_decrypt(
                operation.0,
                out.as_mut_ptr(),
                &mut len,
                ciphertext.as_ptr(),
                ciphertext.len(),
            );
            out.truncate(len);
            (ok == 1).then_some(out)
        }
    }
}

fn to_der(signature: &[u8]) -> Vec<u8> {
    let half = signature.len() / 2;
    // SAFETY: valid numbers, which the signature takes over; the DER is copied.
    unsafe {
        let number =
            |bytes: &[u8]| ssl::BN_bin2bn(bytes.as_ptr(), bytes.len() as c_int, null_mut());
        let parts = ssl::ECDSA_SIG_new();
        let set =
            ssl::ECDSA_SIG_set0(parts, number(&signature[..half]), number(&signature[half..]));
        assert_eq!(set, 1);
        let mut der = ptr::null_mut();
        let len = ssl::i2d_ECDSA_SIG(parts, &mut der);
        let bytes = std::slice::from_raw_parts(der, len as usize).to_vec();
        ssl::OPENSSL_free(der.cast());
        ssl::ECDSA_SIG_free(parts);
        bytes
    }
}

fn from_der(der: &[u8], len: usize) -> Vec<u8> {
    // SAFETY: pointers and lengths are those of slices; the halves live as long as the signature.
    unsafe {
        let mut at = der.as_ptr();
        let parts = ssl::d2i_ECDSA_SIG(null_mut(), &mut at, der.len() as _);
        assert!(!parts.is_null());
        let (mut r, mut s) = (null(), null());
        ssl::ECDSA_SIG_get0(parts, &mut r, &mut s);
        let mut signature = vec![0; 2 * len];
        for (number, out) in [r, s].into_iter().zip(signature.chunks_exact_mut(len)) {
            assert_eq!(BN_bn2binpad(number, out.as_mut_ptr(), len as c_int), len as c_int);
        }
        ssl::ECDSA_SIG_free(parts);
        signature
    }
}

/// Bytes from hexadecimal digits.
pub fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        digits.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// A number of `len` bytes from hexadecimal digits, as many as it needs.
pub fn number(digits: &str, len: usize) -> Vec<u8> {
    let bytes = hex(&format!("{}{digits}", if digits.len() % 2 == 1 { "0" } else { "" }));
    padded(&bytes, len)
}

/// A number of `len` bytes from one of more or fewer, the difference being zeros.
pub fn padded(bytes: &[u8], len: usize) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = &bytes[zeros..];
    let mut out = vec![0; len - digits.len()];
    out.extend(digits);
    out
}
