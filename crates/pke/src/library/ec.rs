//! Curves over prime fields by AWS-LC.
//!
//! Its P-224 (fiat-crypto), P-256 (nistz256), P-384 and P-521 (s2n-bignum) have code of their own;
//! secp256k1, Brainpool and curves by parameters run on its general Montgomery arithmetic. All
//! multiply in constant time.
//!
//! AWS-LC clears what it frees (`OPENSSL_free` does), so secrets do not stay in its heap blocks.

use std::ffi::c_int;
use std::ptr::{self, NonNull};

use aws_lc_sys as aws;

use crate::OpError;
use crate::batch::stripped;
use crate::ec::group::{BAD_POINT, Group, INFINITE, well_formed};

const NO_MEMORY: OpError = OpError::Library("AWS-LC's elliptic curve arithmetic");

/// A C object and how to free it.
struct Owned<T> {
    raw: NonNull<T>,
    free: unsafe extern "C" fn(*mut T),
}

impl<T> Owned<T> {
    /// Takes `raw` over; null is a failed allocation.
    ///
    /// # Safety
    ///
    /// `raw` is null or an object that nobody else owns and that `free` frees.
    unsafe fn new(raw: *mut T, free: unsafe extern "C" fn(*mut T)) -> Result<Owned<T>, OpError> {
        match NonNull::new(raw) {
            Some(raw) => Ok(Owned { raw, free }),
            None => Err(cleared(NO_MEMORY)),
        }
    }

    fn get(&self) -> *mut T {
        self.raw.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: owned, and `free` is its function (`new`).
        unsafe { (self.free)(self.raw.as_ptr()) }
    }
}

/// `error`, after AWS-LC's queue of errors of this thread has been emptied.
fn cleared(error: OpError) -> OpError {
    // SAFETY: no preconditions.
    unsafe { aws::ERR_clear_error() };
    error
}

fn check(ok: c_int, error: OpError) -> Result<(), OpError> {
    if ok == 1 { Ok(()) } else { Err(cleared(error)) }
}

/// What is absent is null in C.
fn or_null<T>(object: &Option<Owned<T>>) -> *mut T {
    object.as_ref().map_or(ptr::null_mut(), Owned::get)
}

type Number = Owned<aws::BIGNUM>;

/// A number from big-endian bytes. AWS-LC keeps the width of the bytes, leading zeros or not.
fn number(bytes: &[u8]) -> Result<Number, OpError> {
    // SAFETY: pointer and length are those of a slice; a null third argument asks for a new number.
    unsafe {
        Number::new(
            aws::BN_bin2bn(bytes.as_ptr(), bytes.len(), ptr::null_mut()),
            aws::BN_clear_free,
        )
    }
}

/// Writes `value` big-endian over all of `out`.
///
/// # Safety
///
/// `value` is a valid number.
unsafe fn write_number(value: *const aws::BIGNUM, out: &mut [u8]) -> Result<(), OpError> {
    // SAFETY: the caller's; pointer and length are those of a slice.
    check(unsafe { aws::BN_bn2bin_padded(out.as_mut_ptr(), out.len(), value) }, NO_MEMORY)
}

type Point = Owned<aws::EC_POINT>;

/// The curves that AWS-LC has.
const NAMES: [&str; 8] = [
    "secp224r1",
    "prime256v1",
    "secp384r1",
    "secp521r1",
    "secp256k1",
    "brainpoolP256r1",
    "brainpoolP384r1",
    "brainpoolP512r1",
];

/// A curve of AWS-LC.
pub(crate) struct PrimeGroup {
    raw: *const aws::EC_GROUP,
    /// Whether `raw` is to be freed: it is not one of AWS-LC's own.
    by_parameters: bool,
    field_len: usize,
    order: Vec<u8>,
}

// SAFETY: an EC_GROUP does not change once its generator is set, which `by_parameters` does before
// it hands the group out; AWS-LC reads a group from any number of threads.
unsafe impl Send for PrimeGroup {}
// SAFETY: as above.
unsafe impl Sync for PrimeGroup {}

impl Drop for PrimeGroup {
    fn drop(&mut self) {
        if self.by_parameters {
            // SAFETY: made by EC_GROUP_new_curve_GFp and owned by nobody else.
            unsafe { aws::EC_GROUP_free(self.raw.cast_mut()) }
        }
    }
}

impl PrimeGroup {
    /// The curve that AWS-LC has under this name, `None` for those it does not.
    pub(crate) fn named(name: &str) -> Option<PrimeGroup> {
        // SAFETY: no preconditions; each returns a group that lives as long as the process.
        let raw = unsafe {
            match name {
                "secp224r1" => aws::EC_group_p224(),
                "prime256v1" => aws::EC_group_p256(),
                "secp384r1" => aws::EC_group_p384(),
                "secp521r1" => aws::EC_group_p521(),
                "secp256k1" => aws::EC_group_secp256k1(),
                "brainpoolP256r1" => aws::EC_group_brainpoolP256r1(),
                "brainpoolP384r1" => aws::EC_group_brainpoolP384r1(),
                "brainpoolP512r1" => aws::EC_group_brainpoolP512r1(),
                _ => return None,
            }
        };
        PrimeGroup::of(raw).ok()
    }

    /// A curve `y^2 = x^3 + ax + b` over the integers modulo the prime `p`, whose points are the
    /// multiples of (`gx`, `gy`): AWS-LC takes curves of cofactor one only.
    ///
    /// The numbers are taken as they are: whether `p` and `order` are prime is not checked here.
    pub(crate) fn by_parameters(
        p: &[u8],
        a: &[u8],
        b: &[u8],
        generator: (&[u8], &[u8]),
        order: &[u8],
    ) -> Result<PrimeGroup, OpError> {
        const BAD: OpError = OpError::BadInput("the parameters are no curve");
        let (p, a, b, order) = (number(p)?, number(a)?, number(b)?, number(order)?);
        let (gx, gy, one) = (number(generator.0)?, number(generator.1)?, number(&[1])?);
        // SAFETY: valid numbers; a null BN_CTX is allowed.
        let raw =
            unsafe { aws::EC_GROUP_new_curve_GFp(p.get(), a.get(), b.get(), ptr::null_mut()) };
        if raw.is_null() {
            return Err(cleared(BAD));
        }
        let mut group = PrimeGroup { raw, by_parameters: true, field_len: 0, order: Vec::new() };
        let generator = group.point()?;
        // SAFETY: valid group, point of that group, and numbers. `raw` is not shared yet.
        unsafe {
            check(
                aws::EC_POINT_set_affine_coordinates(
                    raw,
                    generator.get(),
                    gx.get(),
                    gy.get(),
                    ptr::null_mut(),
                ),
                BAD_POINT,
            )?;
            check(aws::EC_GROUP_set_generator(raw, generator.get(), order.get(), one.get()), BAD)?;
        }
        group.measure()?;
        Ok(group)
    }

    /// The curve of AWS-LC's that has these parameters, which have no leading zeros: p, a, b, the
    /// generator and the order. On most of them it computes faster than on one by parameters.
    pub(crate) fn known(parameters: [&[u8]; 6]) -> Option<PrimeGroup> {
        let same = |group: &PrimeGroup| {
            let theirs = group.parameters().ok()?;
            let equal = |(a, b): (&Vec<u8>, &[u8])| stripped(a) == b;
            theirs.iter().zip(parameters).all(equal).then_some(())
        };
        NAMES.into_iter().filter_map(PrimeGroup::named).find(|group| same(group).is_some())
    }

    /// p, a, b, the generator and the order.
    fn parameters(&self) -> Result<[Vec<u8>; 6], OpError> {
        let new = || number(&[0]);
        let (p, a, b) = (new()?, new()?, new()?);
        // SAFETY: a valid group and numbers.
        let ok = unsafe {
            aws::EC_GROUP_get_curve_GFp(self.raw, p.get(), a.get(), b.get(), ptr::null_mut())
        };
        check(ok, NO_MEMORY)?;
        let f = self.field_len;
        let mut parameters = [const { Vec::new() }; 6];
        for (bytes, value) in parameters.iter_mut().zip([p, a, b]) {
            *bytes = vec![0; f];
            // SAFETY: a valid number.
            unsafe { write_number(value.get(), bytes) }?;
        }
        let mut generator = vec![0; 1 + 2 * f];
        self.multiply_generator(&[1], &mut generator)?;
        parameters[3] = generator[1..1 + f].to_vec();
        parameters[4] = generator[1 + f..].to_vec();
        parameters[5] = self.order.clone();
        Ok(parameters)
    }

    fn of(raw: *const aws::EC_GROUP) -> Result<PrimeGroup, OpError> {
        let mut group = PrimeGroup { raw, by_parameters: false, field_len: 0, order: Vec::new() };
        group.measure()?;
        Ok(group)
    }

    /// Fills in the lengths and the order.
    fn measure(&mut self) -> Result<(), OpError> {
        // SAFETY: a valid group with a generator, whose order lives as long as it.
        unsafe {
            self.field_len = (aws::EC_GROUP_get_degree(self.raw) as usize).div_ceil(8);
            self.order = vec![0; (aws::EC_GROUP_order_bits(self.raw) as usize).div_ceil(8)];
            write_number(aws::EC_GROUP_get0_order(self.raw), &mut self.order)
        }
    }

    fn point(&self) -> Result<Point, OpError> {
        // SAFETY: a valid group.
        unsafe { Point::new(aws::EC_POINT_new(self.raw), aws::EC_POINT_free) }
    }

    /// The point that `encoded` stands for: on the curve (EC_POINT_oct2point checks) and finite.
    fn decode(&self, encoded: &[u8]) -> Result<Point, OpError> {
        if !well_formed(encoded, self.field_len) {
            return Err(BAD_POINT);
        }
        let point = self.point()?;
        // SAFETY: a point of this group; pointer and length are those of a slice.
        let ok = unsafe {
            aws::EC_POINT_oct2point(
                self.raw,
                point.get(),
                encoded.as_ptr(),
                encoded.len(),
                ptr::null_mut(),
            )
        };
        check(ok, BAD_POINT)?;
        Ok(point)
    }

    fn encode(&self, point: &Point, out: &mut [u8]) -> Result<(), OpError> {
        debug_assert_eq!(out.len(), 1 + 2 * self.field_len);
        // SAFETY: a point of this group; pointer and length are those of a slice.
        let len = unsafe {
            aws::EC_POINT_point2oct(
                self.raw,
                point.get(),
                aws::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED,
                out.as_mut_ptr(),
                out.len(),
                ptr::null_mut(),
            )
        };
        // The point at infinity is the only one that has another length.
        if len == out.len() { Ok(()) } else { Err(cleared(INFINITE)) }
    }

    /// The uncompressed form of `point`, which is checked.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn decompress(&self, point: &[u8], out: &mut [u8]) -> Result<(), OpError> {
        self.encode(&self.decode(point)?, out)
    }

    /// `out = g * G + scalar * point`, without the half that is absent.
    fn multiply_into(
        &self,
        g: Option<&[u8]>,
        of_point: Option<(&[u8], &[u8])>,
        out: &mut [u8],
    ) -> Result<(), OpError> {
        let g = g.map(number).transpose()?;
        let (scalar, point) = match of_point {
            Some((scalar, point)) => (Some(number(scalar)?), Some(self.decode(point)?)),
            None => (None, None),
        };
        let sum = self.point()?;
        // SAFETY: points of this group and valid numbers, or null where EC_POINT_mul allows it.
        let ok = unsafe {
            aws::EC_POINT_mul(
                self.raw,
                sum.get(),
                or_null(&g),
                or_null(&point),
                or_null(&scalar),
                ptr::null_mut(),
            )
        };
        check(ok, NO_MEMORY)?;
        self.encode(&sum, out)
    }
}

impl Group for PrimeGroup {
    fn field_len(&self) -> usize {
        self.field_len
    }

    fn order(&self) -> &[u8] {
        &self.order
    }

    fn cofactor(&self) -> u8 {
        1
    }

    fn check(&self, point: &[u8]) -> Result<(), OpError> {
        self.decode(point).map(drop)
    }

    fn multiply_generator(&self, scalar: &[u8], out: &mut [u8]) -> Result<(), OpError> {
        self.multiply_into(Some(scalar), None, out)
    }

    fn multiply(&self, scalar: &[u8], point: &[u8], out: &mut [u8]) -> Result<(), OpError> {
        self.multiply_into(None, Some((scalar, point)), out)
    }

    fn multiply_add(
        &self,
        g: &[u8],
        scalar: &[u8],
        point: &[u8],
        out: &mut [u8],
    ) -> Result<(), OpError> {
        self.multiply_into(Some(g), Some((scalar, point)), out)
    }

    fn add(&self, a: &[u8], b: &[u8], out: &mut [u8]) -> Result<(), OpError> {
        let (a, b, sum) = (self.decode(a)?, self.decode(b)?, self.point()?);
        // SAFETY: points of this group.
        let ok =
            unsafe { aws::EC_POINT_add(self.raw, sum.get(), a.get(), b.get(), ptr::null_mut()) };
        check(ok, NO_MEMORY)?;
        self.encode(&sum, out)
    }

    fn double(&self, a: &[u8], out: &mut [u8]) -> Result<(), OpError> {
        let (a, sum) = (self.decode(a)?, self.point()?);
        // SAFETY: points of this group.
        let ok = unsafe { aws::EC_POINT_dbl(self.raw, sum.get(), a.get(), ptr::null_mut()) };
        check(ok, NO_MEMORY)?;
        self.encode(&sum, out)
    }
}

type Key = Owned<aws::EC_KEY>;
type Signature = Owned<aws::ECDSA_SIG>;

/// ECDSA. Digests of any length are cut to the order's bits as FIPS 186-5, 6.4.1 says.
impl PrimeGroup {
    fn key(&self) -> Result<Key, OpError> {
        // SAFETY: no preconditions; then a valid key and group.
        unsafe {
            let key = Key::new(aws::EC_KEY_new(), aws::EC_KEY_free)?;
            check(aws::EC_KEY_set_group(key.get(), self.raw), NO_MEMORY)?;
            Ok(key)
        }
    }

    /// Refuses a `private` that is zero or not below the order.
    fn private_key(&self, private: &[u8]) -> Result<Key, OpError> {
        let (key, private) = (self.key()?, number(private)?);
        // SAFETY: a valid key with a group, and a valid number.
        let ok = unsafe { aws::EC_KEY_set_private_key(key.get(), private.get()) };
        check(ok, OpError::BadInput("the private key is zero or not below the order"))?;
        Ok(key)
    }

    /// `out = r || s` by AWS-LC's own nonces: `ECDSA_do_sign` draws them from its generator with
    /// SHA-512(private key || digest) as additional input, so that two digests never share one
    /// even if entropy fails.
    pub(crate) fn sign(
        &self,
        private: &[u8],
        digest: &[u8],
        out: &mut [u8],
    ) -> Result<(), OpError> {
        let key = self.private_key(private)?;
        // SAFETY: pointer and length are those of a slice; a key with a private half.
        let signature = unsafe { aws::ECDSA_do_sign(digest.as_ptr(), digest.len(), key.get()) };
        self.write_signature(signature, out)
    }

    /// `out = r || s` by the given nonce, in `[1, order)`. `false`: the nonce gives no signature
    /// (r or s is zero), take another one.
    pub(crate) fn sign_with_nonce(
        &self,
        private: &[u8],
        digest: &[u8],
        nonce: &[u8],
        out: &mut [u8],
    ) -> Result<bool, OpError> {
        let key = self.private_key(private)?;
        // SAFETY: pointers and lengths are those of slices; a key with a private half. The name
        // warns of nonces that are known or used twice; this one is neither.
        let signature = unsafe {
            aws::ECDSA_sign_with_nonce_and_leak_private_key_for_testing(
                digest.as_ptr(),
                digest.len(),
                key.get(),
                nonce.as_ptr(),
                nonce.len(),
            )
        };
        if signature.is_null() {
            cleared(OpError::Fault);
            return Ok(false);
        }
        self.write_signature(signature, out).map(|()| true)
    }

    fn write_signature(&self, raw: *mut aws::ECDSA_SIG, out: &mut [u8]) -> Result<(), OpError> {
        // SAFETY: fresh from AWS-LC and ours alone; its halves live as long as it.
        unsafe {
            let signature = Signature::new(raw, aws::ECDSA_SIG_free)?;
            let (r, s) = out.split_at_mut(self.order.len());
            write_number(aws::ECDSA_SIG_get0_r(signature.get()), r)?;
            write_number(aws::ECDSA_SIG_get0_s(signature.get()), s)
        }
    }

    /// Whether `signature`, r || s, is that of `digest` by the owner of `point`.
    pub(crate) fn verify(
        &self,
        point: &[u8],
        signature: &[u8],
        digest: &[u8],
    ) -> Result<(), OpError> {
        let (key, point) = (self.key()?, self.decode(point)?);
        let (r, s) = signature.split_at(self.order.len());
        let (r, s) = (number(r)?, number(s)?);
        // SAFETY: valid objects; ECDSA_SIG_set0 takes both numbers over when it succeeds, so they
        // are forgotten then and freed by us otherwise.
        unsafe {
            check(aws::EC_KEY_set_public_key(key.get(), point.get()), NO_MEMORY)?;
            let signature = Signature::new(aws::ECDSA_SIG_new(), aws::ECDSA_SIG_free)?;
            check(aws::ECDSA_SIG_set0(signature.get(), r.get(), s.get()), NO_MEMORY)?;
            std::mem::forget((r, s));
            let ok =
                aws::ECDSA_do_verify(digest.as_ptr(), digest.len(), signature.get(), key.get());
            check(ok, OpError::AuthFailed)
        }
    }
}
