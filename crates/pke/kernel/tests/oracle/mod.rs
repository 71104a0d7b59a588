//! What AWS-LC says: modular exponentiation and RSA keys as big-endian bytes.
#![allow(dead_code)] // Every user takes a part.

use std::ptr;

use aws_lc_sys as lc;

/// A number of AWS-LC, freed on drop.
pub struct Number(*mut lc::BIGNUM);

impl Number {
    pub fn new(bytes: &[u8]) -> Number {
        // SAFETY: the pointer and length are of one slice; a null result makes a new number.
        let number = unsafe { lc::BN_bin2bn(bytes.as_ptr(), bytes.len(), ptr::null_mut()) };
        assert!(!number.is_null());
        Number(number)
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: made by BN_bin2bn, freed once.
        unsafe { lc::BN_free(self.0) }
    }
}

/// base^exponent mod modulus, as long as the modulus.
pub fn power(base: &[u8], exponent: &[u8], modulus: &[u8]) -> Vec<u8> {
    let (a, e, n) = (Number::new(base), Number::new(exponent), Number::new(modulus));
    let result = Number::new(&[]);
    let mut out = vec![0; modulus.len()];
    // SAFETY: all numbers are live; `out` has the length given.
    unsafe {
        let scratch = lc::BN_CTX_new();
        assert_eq!(lc::BN_mod_exp(result.0, a.0, e.0, n.0, scratch), 1);
        lc::BN_CTX_free(scratch);
        assert_eq!(lc::BN_bn2bin_padded(out.as_mut_ptr(), out.len(), result.0), 1);
    }
    out
}

/// a b, as long as both together.
pub fn product(a: &[u8], b: &[u8]) -> Vec<u8> {
    two_numbers(a, b, a.len() + b.len(), |result, a, b, scratch| {
        // SAFETY: all are live.
        unsafe { lc::BN_mul(result, a, b, scratch) == 1 }
    })
}

/// 1 / a mod n, as long as n.
pub fn inverse(a: &[u8], n: &[u8]) -> Vec<u8> {
    two_numbers(a, n, n.len(), |result, a, n, scratch| {
        // SAFETY: all are live.
        unsafe { !lc::BN_mod_inverse(result, a, n, scratch).is_null() }
    })
}

/// Primes of RFC 3526 and RFC 7919 of so many bits; of lengths that are costly to generate only.
pub fn well_known_primes(bits: usize) -> Vec<Vec<u8>> {
    let bytes = |number: *const lc::BIGNUM| {
        let mut bytes = vec![0; bits / 8];
        // SAFETY: a live number; the buffer has the length given.
        unsafe { assert_eq!(lc::BN_bn2bin_padded(bytes.as_mut_ptr(), bytes.len(), number), 1) };
        bytes
    };
    let result = Number::new(&[]);
    // SAFETY: a live number; the group's prime is copied before it is freed.
    unsafe {
        match bits {
            3072 => vec![bytes(lc::BN_get_rfc3526_prime_3072(result.0))],
            4096 => {
                let group = lc::DH_get_rfc7919_4096();
                let of_group = bytes(lc::DH_get0_p(group));
                lc::DH_free(group);
                vec![bytes(lc::BN_get_rfc3526_prime_4096(result.0)), of_group]
            }
            _ => Vec::new(),
        }
    }
}

fn two_numbers(
    a: &[u8],
    b: &[u8],
    len: usize,
    operation: impl Fn(*mut lc::BIGNUM, *const lc::BIGNUM, *const lc::BIGNUM, *mut lc::BN_CTX) -> bool,
) -> Vec<u8> {
    let (a, b, result) = (Number::new(a), Number::new(b), Number::new(&[]));
    let mut out = vec![0; len];
    // SAFETY: all numbers are live; `out` has the length given.
    unsafe {
        let scratch = lc::BN_CTX_new();
        assert!(operation(result.0, a.0, b.0, scratch));
        lc::BN_CTX_free(scratch);
        assert_eq!(lc::BN_bn2bin_padded(out.as_mut_ptr(), len, result.0), 1);
    }
    out
}

/// An RSA key, all parts big-endian without leading zeros.
#[derive(Clone)]
pub struct RsaKey {
    pub n: Vec<u8>,
    pub e: Vec<u8>,
    pub d: Vec<u8>,
    pub p: Vec<u8>,
    pub q: Vec<u8>,
    pub dp: Vec<u8>,
    pub dq: Vec<u8>,
    pub qinv: Vec<u8>,
}

impl RsaKey {
    /// A fresh key.
    pub fn generate(bits: usize, e: u64) -> RsaKey {
        let bytes = |number: *const lc::BIGNUM| {
            // SAFETY: a live number of the key; the buffer has its length.
            unsafe {
                let mut bytes = vec![0; lc::BN_num_bytes(number) as usize];
                lc::BN_bn2bin(number, bytes.as_mut_ptr());
                bytes
            }
        };
        let e = Number::new(&e.to_be_bytes());
        // SAFETY: the key is live until RSA_free; its numbers are copied before.
        unsafe {
            let rsa = lc::RSA_new();
            assert_eq!(lc::RSA_generate_key_ex(rsa, bits as i32, e.0, ptr::null_mut()), 1);
            let key = RsaKey {
                n: bytes(lc::RSA_get0_n(rsa)),
                e: bytes(lc::RSA_get0_e(rsa)),
                d: bytes(lc::RSA_get0_d(rsa)),
                p: bytes(lc::RSA_get0_p(rsa)),
                q: bytes(lc::RSA_get0_q(rsa)),
                dp: bytes(lc::RSA_get0_dmp1(rsa)),
                dq: bytes(lc::RSA_get0_dmq1(rsa)),
                qinv: bytes(lc::RSA_get0_iqmp(rsa)),
            };
            lc::RSA_free(rsa);
            key
        }
    }
}

/// splitmix64: any seed is good.
pub struct Rng(pub u64);

impl Rng {
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next_u64() as u8).collect()
    }
}
