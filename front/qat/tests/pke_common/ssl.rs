//! OpenSSL's arithmetic.

use core::{ffi::c_int, ptr};
use std::ffi::CString;

use openssl_sys as ssl;

unsafe extern "C" {
    fn EVP_Digest(
        data: *const u8,
        len: usize,
        out: *mut u8,
        out_len: *mut u32,
        kind: *const ssl::EVP_MD,
        engine: *mut core::ffi::c_void,
    ) -> c_int;
    fn EC_POINT_set_affine_coordinates(
        group: *const ssl::EC_GROUP,
        point: *mut ssl::EC_POINT,
        x: *const ssl::BIGNUM,
        y: *const ssl::BIGNUM,
        context: *mut ssl::BN_CTX,
    ) -> c_int;
    fn EC_POINT_get_affine_coordinates(
        group: *const ssl::EC_GROUP,
        point: *const ssl::EC_POINT,
        x: *mut ssl::BIGNUM,
        y: *mut ssl::BIGNUM,
        context: *mut ssl::BN_CTX,
    ) -> c_int;
    fn EC_GROUP_get_curve(
        group: *const ssl::EC_GROUP,
        p: *mut ssl::BIGNUM,
        a: *mut ssl::BIGNUM,
        b: *mut ssl::BIGNUM,
        context: *mut ssl::BN_CTX,
    ) -> c_int;
}

/// A number.
pub struct Number(pub *mut ssl::BIGNUM);

// SAFETY: used by one thread at a time.
unsafe impl Send for Number {}

impl Drop for Number {
    fn drop(&mut self) {
        unsafe { ssl::BN_free(self.0) };
    }
}

fn with<R>(work: impl FnOnce(*mut ssl::BN_CTX) -> R) -> R {
    unsafe {
        let context = ssl::BN_CTX_new();
        let result = work(context);
        ssl::BN_CTX_free(context);
        result
    }
}

impl Number {
    pub fn new(bytes: &[u8]) -> Number {
        Number(unsafe { ssl::BN_bin2bn(bytes.as_ptr(), bytes.len() as c_int, ptr::null_mut()) })
    }

    pub fn hex(digits: &str) -> Number {
        let digits = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.into() };
        Number::new(&super::hex(&digits))
    }

    pub fn word(word: u64) -> Number {
        Number::new(&word.to_be_bytes())
    }

    fn empty() -> Number {
        Number(unsafe { ssl::BN_new() })
    }

    /// On `len` bytes.
    pub fn bytes(&self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        unsafe {
            let own = (ssl::BN_num_bits(self.0) as usize).div_ceil(8);
            ssl::BN_bn2bin(self.0, bytes[len - own..].as_mut_ptr());
        }
        bytes
    }

    pub fn bits(&self) -> usize {
        unsafe { ssl::BN_num_bits(self.0) as usize }
    }

    pub fn power(&self, exponent: &Number, modulus: &Number) -> Number {
        let out = Number::empty();
        let done = with(|c| unsafe { ssl::BN_mod_exp(out.0, self.0, exponent.0, modulus.0, c) });
        assert_eq!(done, 1);
        out
    }

    pub fn inverse(&self, modulus: &Number) -> Option<Number> {
        let found = with(|c| unsafe { ssl::BN_mod_inverse(ptr::null_mut(), self.0, modulus.0, c) });
        (!found.is_null()).then_some(Number(found))
    }

    pub fn times(&self, other: &Number) -> Number {
        let out = Number::empty();
        assert_eq!(with(|c| unsafe { ssl::BN_mul(out.0, self.0, other.0, c) }), 1);
        out
    }

    pub fn plus(&self, other: &Number) -> Number {
        let out = Number::empty();
        assert_eq!(unsafe { ssl::BN_add(out.0, self.0, other.0) }, 1);
        out
    }

    pub fn minus(&self, other: &Number) -> Number {
        let out = Number::empty();
        assert_eq!(unsafe { ssl::BN_sub(out.0, self.0, other.0) }, 1);
        out
    }

    /// Quotient and remainder.
    pub fn divide(&self, other: &Number) -> (Number, Number) {
        let (quotient, rest) = (Number::empty(), Number::empty());
        let done = with(|c| unsafe { ssl::BN_div(quotient.0, rest.0, self.0, other.0, c) });
        assert_eq!(done, 1);
        (quotient, rest)
    }

    pub fn modulo(&self, other: &Number) -> Number {
        self.divide(other).1
    }

    /// A prime of so many bits, the two highest set.
    pub fn prime(bits: usize) -> Number {
        let out = Number::empty();
        let null = ptr::null_mut();
        unsafe {
            let done =
                ssl::BN_generate_prime_ex(out.0, bits as c_int, 0, ptr::null(), ptr::null(), null);
            assert_eq!(done, 1);
            assert!(ssl::BN_is_bit_set(out.0, bits as c_int - 1) == 1);
        }
        out
    }
}

/// An RSA key.
pub struct Rsa {
    pub n: Number,
    pub e: Number,
    pub d: Number,
    pub p: Number,
    pub q: Number,
    pub dp: Number,
    pub dq: Number,
    pub qinv: Number,
    pub len: usize,
}

impl Rsa {
    pub fn new(bits: usize, e: &Number) -> Rsa {
        let one = Number::word(1);
        loop {
            let (p, q) = (Number::prime(bits / 2), Number::prime(bits / 2));
            let n = p.times(&q);
            if n.bits() != bits {
                continue;
            }
            let (p1, q1) = (p.minus(&one), q.minus(&one));
            let Some(d) = e.inverse(&p1.times(&q1)) else { continue };
            let (dp, dq) = (d.modulo(&p1), d.modulo(&q1));
            let Some(qinv) = q.inverse(&p) else { continue };
            let e = e.plus(&Number::word(0));
            return Rsa { n, e, d, p, q, dp, dq, qinv, len: bits / 8 };
        }
    }
}

/// A curve of OpenSSL's.
pub struct Curve(pub *mut ssl::EC_GROUP);

impl Drop for Curve {
    fn drop(&mut self) {
        unsafe { ssl::EC_GROUP_free(self.0) };
    }
}

impl Curve {
    pub fn named(name: &str) -> Curve {
        let name = CString::new(name).unwrap();
        let group = unsafe { ssl::EC_GROUP_new_by_curve_name(ssl::OBJ_sn2nid(name.as_ptr())) };
        assert!(!group.is_null());
        Curve(group)
    }

    /// p, a, b.
    pub fn parameters(&self) -> [Number; 3] {
        let numbers = [(); 3].map(|()| Number::empty());
        let [p, a, b] = &numbers;
        let done = with(|c| unsafe { EC_GROUP_get_curve(self.0, p.0, a.0, b.0, c) });
        assert_eq!(done, 1);
        numbers
    }

    pub fn order(&self) -> Number {
        let order = Number::empty();
        assert_eq!(with(|c| unsafe { ssl::EC_GROUP_get_order(self.0, order.0, c) }), 1);
        order
    }

    pub fn cofactor(&self) -> Number {
        let cofactor = Number::empty();
        assert_eq!(with(|c| unsafe { ssl::EC_GROUP_get_cofactor(self.0, cofactor.0, c) }), 1);
        cofactor
    }

    /// Bytes of a coordinate.
    pub fn len(&self) -> usize {
        unsafe { (ssl::EC_GROUP_get_degree(self.0) as usize).div_ceil(8) }
    }

    /// k times a point, or the generator; `None` for infinity.
    pub fn multiply(&self, k: &Number, point: Option<[&Number; 2]>) -> Option<[Number; 2]> {
        with(|c| unsafe {
            let (from, out) = (ssl::EC_POINT_new(self.0), ssl::EC_POINT_new(self.0));
            let done = match point {
                None => ssl::EC_POINT_mul(self.0, out, k.0, ptr::null(), ptr::null(), c),
                Some([x, y]) => {
                    let set = EC_POINT_set_affine_coordinates(self.0, from, x.0, y.0, c);
                    assert_eq!(set, 1);
                    ssl::EC_POINT_mul(self.0, out, ptr::null(), from, k.0, c)
                }
            };
            assert_eq!(done, 1);
            let coordinates = [Number::empty(), Number::empty()];
            let [x, y] = &coordinates;
            let finite = EC_POINT_get_affine_coordinates(self.0, out, x.0, y.0, c) == 1;
            ssl::EC_POINT_free(from);
            ssl::EC_POINT_free(out);
            finite.then_some(coordinates)
        })
    }

    /// A private key and its point.
    pub fn pair(&self, seed: u64) -> (Number, [Number; 2]) {
        let k = Number::new(&super::noise(seed, self.len() + 8)).modulo(&self.order());
        let point = self.multiply(&k, None).unwrap();
        (k, point)
    }
}

/// A hash by OpenSSL's name.
pub fn digest(name: &str, parts: &[&[u8]]) -> Vec<u8> {
    let name = CString::new(name).unwrap();
    let message = parts.concat();
    let (mut out, mut len) = (vec![0; 64], 0);
    unsafe {
        let kind = ssl::EVP_get_digestbyname(name.as_ptr());
        assert!(!kind.is_null());
        let data = message.as_ptr();
        let done =
            EVP_Digest(data, message.len(), out.as_mut_ptr(), &mut len, kind, ptr::null_mut());
        assert_eq!(done, 1);
    }
    out.truncate(len as usize);
    out
}

/// RFC 2104.
pub fn hmac(name: &str, block: usize, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut padded = if key.len() > block { digest(name, &[key]) } else { key.to_vec() };
    padded.resize(block, 0);
    let with = |pad: u8| padded.iter().map(|byte| byte ^ pad).collect::<Vec<u8>>();
    let inner = digest(name, &[&with(0x36), &parts.concat()]);
    digest(name, &[&with(0x5c), &inner])
}
