//! Curves of every kind by OpenSSL: binary ones, and those with a cofactor.
//!
//! Multiplication by one scalar is OpenSSL's Montgomery ladder, with the scalar padded to the
//! length of the order times the cofactor and the coordinates blinded.

use std::ffi::CString;
use std::ptr;

use super::{BIGNUM, BN_CTX, EC_GROUP, EC_POINT, FAILED, Owned, Quiet, check, int};
use crate::OpError;
use crate::ec::group::{BAD_POINT, Group, INFINITE, well_formed};

/// `BN_FLG_CONSTTIME`.
const CONSTANT_TIME: i32 = 4;
/// `POINT_CONVERSION_UNCOMPRESSED`.
const UNCOMPRESSED: u32 = 4;

/// The kind of field a curve is over, and its equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Integers modulo an odd prime: `y^2 = x^3 + ax + b`.
    Prime,
    /// Polynomials over GF(2) modulo an irreducible one: `y^2 + xy = x^3 + ax^2 + b`.
    Binary,
}

/// A curve of OpenSSL.
pub(crate) struct AnyGroup {
    raw: Owned<EC_GROUP>,
    field_len: usize,
    order: Vec<u8>,
    cofactor: u8,
}

// SAFETY: the group does not change once made, and OpenSSL reads a group from any number of
// threads.
unsafe impl Send for AnyGroup {}
// SAFETY: as above.
unsafe impl Sync for AnyGroup {}

/// What is absent is null in C.
fn or_null<T>(object: &Option<Owned<T>>) -> *mut T {
    object.as_ref().map_or(ptr::null_mut(), Owned::get)
}

type Number = Owned<BIGNUM>;
type Point = Owned<EC_POINT>;

impl Quiet {
    fn number(&self, bytes: &[u8]) -> Result<Number, OpError> {
        let len = int(bytes.len())?;
        // SAFETY: pointer and length are those of a slice; the flag is set on a fresh number.
        unsafe {
            let number = Number::new(
                (self.BN_bin2bn)(bytes.as_ptr(), len, ptr::null_mut()),
                self.BN_clear_free,
            )?;
            (self.BN_set_flags)(number.get(), CONSTANT_TIME);
            Ok(number)
        }
    }

    /// Room for temporaries, and the way to tell OpenSSL the library context.
    fn scratch(&self) -> Result<Owned<BN_CTX>, OpError> {
        // SAFETY: a valid library context.
        unsafe { Owned::new((self.BN_CTX_new_ex)(self.library), self.BN_CTX_free) }
    }

    /// # Safety
    ///
    /// `value` is a valid number.
    unsafe fn bytes(&self, value: *const BIGNUM) -> Result<Vec<u8>, OpError> {
        // SAFETY: the caller's; pointer and length are those of the vector.
        unsafe {
            let mut bytes = vec![0; ((self.BN_num_bits)(value) as usize).div_ceil(8)];
            let len = int(bytes.len())?;
            if (self.BN_bn2binpad)(value, bytes.as_mut_ptr(), len) == len {
                Ok(bytes)
            } else {
                Err(FAILED)
            }
        }
    }
}

impl AnyGroup {
    /// The curve with OpenSSL's short name `name`.
    pub(crate) fn named(name: &str) -> Result<AnyGroup, OpError> {
        let openssl = Quiet::new()?;
        let name = CString::new(name).map_err(|_| FAILED)?;
        // SAFETY: a name that ends in a zero, a valid library context, no property query.
        let raw = unsafe {
            let nid = (openssl.OBJ_sn2nid)(name.as_ptr());
            let raw = (openssl.EC_GROUP_new_by_curve_name_ex)(openssl.library, ptr::null(), nid);
            Owned::new(raw, openssl.EC_GROUP_free)
        };
        // Distributions leave curves out.
        let raw = raw.map_err(|_| OpError::Unsupported)?;
        AnyGroup::of(&openssl, raw)
    }

    /// A curve by its parameters: `p` is the prime, or the polynomial, of its field.
    ///
    /// The discriminant and the generator are checked; whether `p` and `order` are prime is not.
    pub(crate) fn by_parameters(
        field: Field,
        p: &[u8],
        a: &[u8],
        b: &[u8],
        generator: (&[u8], &[u8]),
        order: &[u8],
        cofactor: &[u8],
    ) -> Result<AnyGroup, OpError> {
        const BAD: OpError = OpError::BadInput("the parameters are no curve");
        let openssl = Quiet::new()?;
        let new = match field {
            Field::Prime => openssl.EC_GROUP_new_curve_GFp,
            Field::Binary => openssl.EC_GROUP_new_curve_GF2m.ok_or(OpError::Unsupported)?,
        };
        let number = |bytes| openssl.number(bytes);
        let (p, a, b) = (number(p)?, number(a)?, number(b)?);
        let (order, cofactor) = (number(order)?, number(cofactor)?);
        let (gx, gy) = (number(generator.0)?, number(generator.1)?);
        let scratch = openssl.scratch()?;
        // SAFETY: valid objects; the group is not shared yet.
        let raw = unsafe {
            let raw =
                Owned::new(new(p.get(), a.get(), b.get(), scratch.get()), openssl.EC_GROUP_free)
                    .map_err(|_| BAD)?;
            check((openssl.EC_GROUP_check_discriminant)(raw.get(), scratch.get()), BAD)?;
            let generator =
                Point::new((openssl.EC_POINT_new)(raw.get()), openssl.EC_POINT_clear_free)?;
            let set = (openssl.EC_POINT_set_affine_coordinates)(
                raw.get(),
                generator.get(),
                gx.get(),
                gy.get(),
                scratch.get(),
            );
            check(set, BAD_POINT)?;
            let set = (openssl.EC_GROUP_set_generator)(
                raw.get(),
                generator.get(),
                order.get(),
                cofactor.get(),
            );
            check(set, BAD)?;
            raw
        };
        AnyGroup::of(&openssl, raw)
    }

    fn of(openssl: &Quiet, raw: Owned<EC_GROUP>) -> Result<AnyGroup, OpError> {
        // SAFETY: a valid group with a generator, whose order and cofactor live as long as it.
        unsafe {
            let field_len = ((openssl.EC_GROUP_get_degree)(raw.get()) as usize).div_ceil(8);
            let order = openssl.bytes((openssl.EC_GROUP_get0_order)(raw.get()))?;
            let cofactor = openssl.bytes((openssl.EC_GROUP_get0_cofactor)(raw.get()))?;
            // Zero stands for a cofactor that does not fit; `Group` has no use for it then.
            let cofactor = if let [cofactor] = cofactor[..] { cofactor } else { 0 };
            Ok(AnyGroup { raw, field_len, order, cofactor })
        }
    }

    fn point(&self, openssl: &Quiet) -> Result<Point, OpError> {
        // SAFETY: a valid group.
        unsafe { Point::new((openssl.EC_POINT_new)(self.raw.get()), openssl.EC_POINT_clear_free) }
    }

    /// The point that `encoded` stands for: on the curve (EC_POINT_oct2point checks) and finite.
    fn decode(
        &self,
        openssl: &Quiet,
        encoded: &[u8],
        scratch: &Owned<BN_CTX>,
    ) -> Result<Point, OpError> {
        if !well_formed(encoded, self.field_len) {
            return Err(BAD_POINT);
        }
        let point = self.point(openssl)?;
        // SAFETY: a point of this group; pointer and length are those of a slice.
        let ok = unsafe {
            (openssl.EC_POINT_oct2point)(
                self.raw.get(),
                point.get(),
                encoded.as_ptr(),
                encoded.len(),
                scratch.get(),
            )
        };
        check(ok, BAD_POINT)?;
        Ok(point)
    }

    fn encode(
        &self,
        openssl: &Quiet,
        point: &Point,
        out: &mut [u8],
        scratch: &Owned<BN_CTX>,
    ) -> Result<(), OpError> {
        debug_assert_eq!(out.len(), 1 + 2 * self.field_len);
        // SAFETY: a point of this group; pointer and length are those of a slice.
        let len = unsafe {
            (openssl.EC_POINT_point2oct)(
                self.raw.get(),
                point.get(),
                UNCOMPRESSED,
                out.as_mut_ptr(),
                out.len(),
                scratch.get(),
            )
        };
        // The point at infinity is the only one that has another length.
        if len == out.len() { Ok(()) } else { Err(INFINITE) }
    }

    /// `out = g * G + scalar * point`, without the half that is absent.
    fn multiply_into(
        &self,
        g: Option<&[u8]>,
        of_point: Option<(&[u8], &[u8])>,
        out: &mut [u8],
    ) -> Result<(), OpError> {
        let openssl = Quiet::new()?;
        let scratch = openssl.scratch()?;
        let g = g.map(|g| openssl.number(g)).transpose()?;
        let (scalar, point) = match of_point {
            Some((scalar, point)) => {
                (Some(openssl.number(scalar)?), Some(self.decode(&openssl, point, &scratch)?))
            }
            None => (None, None),
        };
        let sum = self.point(&openssl)?;
        // SAFETY: points of this group and valid numbers, or null where EC_POINT_mul allows it.
        let ok = unsafe {
            (openssl.EC_POINT_mul)(
                self.raw.get(),
                sum.get(),
                or_null(&g),
                or_null(&point),
                or_null(&scalar),
                scratch.get(),
            )
        };
        check(ok, FAILED)?;
        self.encode(&openssl, &sum, out, &scratch)
    }
}

impl Group for AnyGroup {
    fn field_len(&self) -> usize {
        self.field_len
    }

    fn order(&self) -> &[u8] {
        &self.order
    }

    fn cofactor(&self) -> u8 {
        self.cofactor
    }

    fn check(&self, point: &[u8]) -> Result<(), OpError> {
        let openssl = Quiet::new()?;
        let scratch = openssl.scratch()?;
        self.decode(&openssl, point, &scratch).map(drop)
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
        let openssl = Quiet::new()?;
        let scratch = openssl.scratch()?;
        let decode = |point| self.decode(&openssl, point, &scratch);
        let (a, b, sum) = (decode(a)?, decode(b)?, self.point(&openssl)?);
        // SAFETY: points of this group.
        let ok = unsafe {
            (openssl.EC_POINT_add)(self.raw.get(), sum.get(), a.get(), b.get(), scratch.get())
        };
        check(ok, FAILED)?;
        self.encode(&openssl, &sum, out, &scratch)
    }

    fn double(&self, a: &[u8], out: &mut [u8]) -> Result<(), OpError> {
        let openssl = Quiet::new()?;
        let scratch = openssl.scratch()?;
        let (a, sum) = (self.decode(&openssl, a, &scratch)?, self.point(&openssl)?);
        // SAFETY: points of this group.
        let ok =
            unsafe { (openssl.EC_POINT_dbl)(self.raw.get(), sum.get(), a.get(), scratch.get()) };
        check(ok, FAILED)?;
        self.encode(&openssl, &sum, out, &scratch)
    }
}
