//! OpenSSL's numbers and RSA, as the rival of these tests.
#![allow(dead_code)] // Each test uses some of it.

use std::ffi::c_int;
use std::ptr;

use openssl_sys as ssl;

/// A number of OpenSSL's.
pub struct Number(pub *mut ssl::BIGNUM);

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: ours, freed once.
        unsafe { ssl::BN_free(self.0) };
    }
}

impl Number {
    pub fn new(bytes: &[u8]) -> Number {
        // SAFETY: readable for its length.
        Number(unsafe { ssl::BN_bin2bn(bytes.as_ptr(), bytes.len() as c_int, ptr::null_mut()) })
    }

    pub fn bytes(&self, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        // SAFETY: a valid number, writable for its length.
        let written = unsafe { ssl::BN_bn2binpad(self.0, out.as_mut_ptr(), len as c_int) };
        assert_eq!(written, len as c_int);
        out
    }

    pub fn stripped(&self) -> Vec<u8> {
        // SAFETY: a valid number.
        self.bytes((unsafe { ssl::BN_num_bits(self.0) } as usize).div_ceil(8))
    }
}

pub type Modular = unsafe extern "C" fn(
    *mut ssl::BIGNUM,
    *const ssl::BIGNUM,
    *const ssl::BIGNUM,
    *const ssl::BIGNUM,
    *mut ssl::BN_CTX,
) -> c_int;

/// An operation on two numbers and a modulus: `BN_mod_exp` and its like.
pub fn modular(operation: Modular, a: &[u8], b: &[u8], n: &[u8]) -> Vec<u8> {
    let (out, a, b, m) = (Number::new(&[]), Number::new(a), Number::new(b), Number::new(n));
    // SAFETY: valid numbers.
    unsafe {
        let scratch = ssl::BN_CTX_new();
        assert_eq!(operation(out.0, a.0, b.0, m.0, scratch), 1);
        ssl::BN_CTX_free(scratch);
    }
    let zeros = n.iter().take_while(|&&byte| byte == 0).count();
    out.bytes(n.len() - zeros)
}

/// a^-1 mod n.
pub fn inverse(a: &[u8], n: &[u8]) -> Option<Vec<u8>> {
    let (out, a, m) = (Number::new(&[]), Number::new(a), Number::new(n));
    // SAFETY: valid numbers.
    let found = unsafe {
        let scratch = ssl::BN_CTX_new();
        let found = ssl::BN_mod_inverse(out.0, a.0, m.0, scratch);
        ssl::BN_CTX_free(scratch);
        !found.is_null()
    };
    found.then(|| out.bytes(n.len()))
}

/// An RSA key of OpenSSL's.
pub struct Rsa(pub *mut ssl::RSA);

impl Drop for Rsa {
    fn drop(&mut self) {
        // SAFETY: ours, freed once.
        unsafe { ssl::RSA_free(self.0) };
    }
}

unsafe extern "C" {
    fn EVP_DecodeBlock(out: *mut u8, text: *const u8, len: c_int) -> c_int;
    pub fn RSA_verify_PKCS1_PSS_mgf1(
        key: *mut ssl::RSA,
        digest: *const u8,
        hash: *const ssl::EVP_MD,
        mgf_hash: *const ssl::EVP_MD,
        em: *const u8,
        salt: c_int,
    ) -> c_int;
    pub fn RSA_padding_add_PKCS1_PSS_mgf1(
        key: *mut ssl::RSA,
        em: *mut u8,
        digest: *const u8,
        hash: *const ssl::EVP_MD,
        mgf_hash: *const ssl::EVP_MD,
        salt: c_int,
    ) -> c_int;
    pub fn RSA_padding_add_PKCS1_OAEP_mgf1(
        to: *mut u8,
        to_len: c_int,
        from: *const u8,
        from_len: c_int,
        label: *const u8,
        label_len: c_int,
        hash: *const ssl::EVP_MD,
        mgf_hash: *const ssl::EVP_MD,
    ) -> c_int;
    pub fn RSA_padding_check_PKCS1_OAEP_mgf1(
        to: *mut u8,
        to_len: c_int,
        from: *const u8,
        from_len: c_int,
        k: c_int,
        label: *const u8,
        label_len: c_int,
        hash: *const ssl::EVP_MD,
        mgf_hash: *const ssl::EVP_MD,
    ) -> c_int;
}

pub const NO_PADDING: c_int = 3;
pub const PKCS1_PADDING: c_int = 1;

impl Rsa {
    pub fn generate(bits: usize) -> Rsa {
        let e = Number::new(&[1, 0, 1]);
        // SAFETY: valid objects.
        unsafe {
            let key = ssl::RSA_new();
            let done = ssl::RSA_generate_key_ex(key, bits as c_int, e.0, ptr::null_mut());
            assert_eq!(done, 1);
            Rsa(key)
        }
    }

    /// From a PKCS #1 structure in base64.
    pub fn from_base64(text: &str) -> Rsa {
        let text: String = text.split_whitespace().collect();
        let mut der = vec![0; text.len()];
        // SAFETY: the output is shorter than the text.
        unsafe {
            let len = EVP_DecodeBlock(der.as_mut_ptr(), text.as_ptr(), text.len() as c_int);
            assert!(len > 0);
            let mut at = der.as_ptr();
            let key = ssl::d2i_RSAPrivateKey(ptr::null_mut(), &mut at, len.into());
            assert!(!key.is_null());
            Rsa(key)
        }
    }

    /// n, e, d, p, q, dp, dq, qinv.
    pub fn parts(&self) -> [Vec<u8>; 8] {
        let mut parts = [ptr::null(); 8];
        let [n, e, d, p, q, dp, dq, qinv] = &mut parts;
        // SAFETY: a complete key.
        unsafe {
            ssl::RSA_get0_key(self.0, n, e, d);
            ssl::RSA_get0_factors(self.0, p, q);
            ssl::RSA_get0_crt_params(self.0, dp, dq, qinv);
            parts.map(|part| Number(ssl::BN_dup(part)).stripped())
        }
    }

    pub fn len(&self) -> usize {
        // SAFETY: a valid key.
        unsafe { ssl::RSA_size(self.0) as usize }
    }

    pub fn private(&self, input: &[u8], padding: c_int) -> Vec<u8> {
        let mut out = vec![0; self.len()];
        // SAFETY: the output is as long as the modulus.
        let len = unsafe {
            ssl::RSA_private_encrypt(
                input.len() as c_int,
                input.as_ptr(),
                out.as_mut_ptr(),
                self.0,
                padding,
            )
        };
        assert_eq!(len as usize, self.len());
        out
    }

    pub fn decrypt(&self, input: &[u8], padding: c_int) -> Vec<u8> {
        let mut out = vec![0; self.len()];
        // SAFETY: the output is as long as the modulus.
        let len = unsafe {
            ssl::RSA_private_decrypt(
                input.len() as c_int,
                input.as_ptr(),
                out.as_mut_ptr(),
                self.0,
                padding,
            )
        };
        out.truncate(usize::try_from(len).unwrap());
        out
    }

    pub fn public(&self, input: &[u8], padding: c_int) -> Vec<u8> {
        let mut out = vec![0; self.len()];
        // SAFETY: the output is as long as the modulus.
        let len = unsafe {
            ssl::RSA_public_encrypt(
                input.len() as c_int,
                input.as_ptr(),
                out.as_mut_ptr(),
                self.0,
                padding,
            )
        };
        assert_eq!(len as usize, self.len());
        out
    }

    pub fn open(&self, input: &[u8], padding: c_int) -> Vec<u8> {
        let mut out = vec![0; self.len()];
        // SAFETY: the output is as long as the modulus.
        let len = unsafe {
            ssl::RSA_public_decrypt(
                input.len() as c_int,
                input.as_ptr(),
                out.as_mut_ptr(),
                self.0,
                padding,
            )
        };
        out.truncate(usize::try_from(len).unwrap());
        out
    }
}
