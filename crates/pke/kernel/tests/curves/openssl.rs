//! OpenSSL's curves: what the kernels are compared with. Slices are big-endian, points X || Y.

use std::ffi::c_int;
use std::ptr;

use lookaside_pke_kernel::weierstrass::Curve;
use openssl_sys::*;

/// A number that is freed.
pub struct Number(*mut BIGNUM);

impl Number {
    pub fn new(bytes: &[u8]) -> Number {
        // SAFETY: the slice is read for its length.
        Number(unsafe { BN_bin2bn(bytes.as_ptr(), bytes.len() as c_int, ptr::null_mut()) })
    }

    fn write(&self, dst: &mut [u8]) {
        // SAFETY: the number is ours; it fits, checked by the assertion.
        unsafe {
            assert!((BN_num_bits(self.0) as usize).div_ceil(8) <= dst.len());
            let at = dst.len() - (BN_num_bits(self.0) as usize).div_ceil(8);
            dst.fill(0);
            BN_bn2bin(self.0, dst[at..].as_mut_ptr());
        }
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: ours, freed once.
        unsafe { BN_free(self.0) }
    }
}

/// A curve of OpenSSL's.
pub struct Group {
    group: *mut EC_GROUP,
    nid: c_int,
    len: usize,
}

impl Group {
    pub fn new(curve: Curve) -> Group {
        let nid = match curve {
            Curve::P224 => NID_secp224r1,
            Curve::P256 => NID_X9_62_prime256v1,
            Curve::P384 => NID_secp384r1,
            Curve::P521 => NID_secp521r1,
            Curve::Sm2 => NID_sm2,
        };
        // SAFETY: a constructor.
        let group = unsafe { EC_GROUP_new_by_curve_name(nid) };
        assert!(!group.is_null());
        Group { group, nid, len: curve.len() }
    }

    /// The order.
    pub fn order(&self) -> Vec<u8> {
        let order = Number::new(&[]);
        let mut bytes = vec![0; self.len];
        // SAFETY: both are ours.
        unsafe { assert_eq!(EC_GROUP_get_order(self.group, order.0, ptr::null_mut()), 1) };
        order.write(&mut bytes);
        bytes
    }

    /// a b + c modulo the order.
    pub fn multiply_add(&self, a: &[u8], b: &[u8], c: &[u8]) -> Vec<u8> {
        let (a, b, c) = (Number::new(a), Number::new(b), Number::new(c));
        let order = Number::new(&self.order());
        let mut bytes = vec![0; self.len];
        // SAFETY: all are ours.
        unsafe {
            let scratch = BN_CTX_new();
            assert_eq!(BN_mod_mul(a.0, a.0, b.0, order.0, scratch), 1);
            assert_eq!(BN_mod_add(a.0, a.0, c.0, order.0, scratch), 1);
            BN_CTX_free(scratch);
        }
        a.write(&mut bytes);
        bytes
    }

    /// g G + k P; `None` is infinity.
    pub fn multiply(&self, g: &[u8], product: Option<(&[u8], &[u8])>) -> Option<Vec<u8>> {
        let g = Number::new(g);
        // SAFETY: every object is made here and freed here; slices are read for their length.
        unsafe {
            let sum = EC_POINT_new(self.group);
            match product {
                None => {
                    let null = ptr::null();
                    let ok = EC_POINT_mul(self.group, sum, g.0, null, null.cast(), ptr::null_mut());
                    assert_eq!(ok, 1);
                }
                Some((k, point)) => {
                    let point = self.point(point);
                    let k = Number::new(k);
                    let ok = EC_POINT_mul(self.group, sum, g.0, point, k.0, ptr::null_mut());
                    assert_eq!(ok, 1);
                    EC_POINT_free(point);
                }
            }
            let infinity = EC_POINT_is_at_infinity(self.group, sum) == 1;
            let (x, y) = (Number::new(&[]), Number::new(&[]));
            let null = ptr::null_mut();
            let affine =
                !infinity && EC_POINT_get_affine_coordinates(self.group, sum, x.0, y.0, null) == 1;
            EC_POINT_free(sum);
            affine.then(|| {
                let mut bytes = vec![0; 2 * self.len];
                let (first, second) = bytes.split_at_mut(self.len);
                x.write(first);
                y.write(second);
                bytes
            })
        }
    }

    /// A point of OpenSSL's, which the caller frees.
    unsafe fn point(&self, bytes: &[u8]) -> *mut EC_POINT {
        let (x, y) = (Number::new(&bytes[..self.len]), Number::new(&bytes[self.len..]));
        // SAFETY: all are valid.
        unsafe {
            let point = EC_POINT_new(self.group);
            let null = ptr::null_mut();
            assert_eq!(EC_POINT_set_affine_coordinates(self.group, point, x.0, y.0, null), 1);
            point
        }
    }

    /// Whether r || s is the ECDSA signature of a digest, as long as the order in bits.
    pub fn verify(&self, public: &[u8], digest: &[u8], signature: &[u8]) -> bool {
        // OpenSSL takes the leftmost 521 bits of 66 bytes, ours are the rightmost.
        let mut digest = digest.to_vec();
        if self.len == 66 {
            for i in 0..66 {
                digest[i] = digest[i] << 7 | digest.get(i + 1).map_or(0, |next| next >> 1);
            }
        }
        // SAFETY: every object is made here and freed here; the signature takes its numbers over.
        unsafe {
            let key = EC_KEY_new_by_curve_name(self.nid);
            let point = self.point(public);
            assert_eq!(EC_KEY_set_public_key(key, point), 1);
            let pair = ECDSA_SIG_new();
            let (r, s) = signature.split_at(self.len);
            let number = |n: &[u8]| BN_bin2bn(n.as_ptr(), n.len() as c_int, ptr::null_mut());
            assert_eq!(ECDSA_SIG_set0(pair, number(r), number(s)), 1);
            let ok = ECDSA_do_verify(digest.as_ptr(), digest.len() as c_int, pair, key);
            ECDSA_SIG_free(pair);
            EC_POINT_free(point);
            EC_KEY_free(key);
            ok == 1
        }
    }

    /// An ECDSA signature r || s.
    pub fn sign(&self, private: &[u8], digest: &[u8]) -> Vec<u8> {
        // SAFETY: every object is made here and freed here; r and s belong to the signature.
        unsafe {
            let key = EC_KEY_new_by_curve_name(self.nid);
            let d = Number::new(private);
            assert_eq!(EC_KEY_set_private_key(key, d.0), 1);
            let pair = ECDSA_do_sign(digest.as_ptr(), digest.len() as c_int, key);
            let (mut r, mut s) = (ptr::null(), ptr::null());
            ECDSA_SIG_get0(pair, &mut r, &mut s);
            let mut bytes = vec![0; 2 * self.len];
            for (number, dst) in [r, s].into_iter().zip(bytes.chunks_mut(self.len)) {
                let at = dst.len() - (BN_num_bits(number) as usize).div_ceil(8);
                BN_bn2bin(number, dst[at..].as_mut_ptr());
            }
            ECDSA_SIG_free(pair);
            EC_KEY_free(key);
            bytes
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: ours, freed once.
        unsafe { EC_GROUP_free(self.group) }
    }
}
