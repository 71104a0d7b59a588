//! Elliptic curves by their parameters: multiples, sums and membership of points.
//!
//! A [`Group`] is made once from [`Params`], which are validated then, and serves any number of
//! batches. Points are X || Y, 2 f bytes, f being the group's [`field_len`](Group::field_len);
//! scalars have its [`order_len`](Group::order_len) bytes, big-endian all. Multiplication takes a
//! time that does not depend on the scalar as long as that is below the order.

use std::fmt;

use zeroize::Zeroizing;

use crate::batch::{cut, room, stripped};
use crate::ec::check_order;
use crate::ec::group::{self, MAX_POINT};
use crate::library::bignum::{Bignum, Scratch};
use crate::library::ec::PrimeGroup;
use crate::library::openssl::AnyGroup;
use crate::{Item, OpError, PointStep};

#[cfg(target_arch = "x86_64")]
pub(crate) mod lanes;
pub(crate) mod named;

pub use crate::library::openssl::Field;

/// The longest field, in bits.
pub const MAX_BITS: usize = 571;

/// Parameters of a curve, big-endian numbers; leading zeros do not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params<'a> {
    /// What the coordinates are.
    pub field: Field,
    /// The prime of the field; for a binary field its polynomial, three or five bits set.
    pub p: &'a [u8],
    /// The coefficient a.
    pub a: &'a [u8],
    /// The coefficient b.
    pub b: &'a [u8],
    /// X of the generator.
    pub gx: &'a [u8],
    /// Y of the generator.
    pub gy: &'a [u8],
    /// The order of the generator: a prime.
    pub order: &'a [u8],
    /// How many times the order goes into the number of points.
    pub cofactor: &'a [u8],
}

/// A curve, ready to be computed on.
pub struct Group {
    arithmetic: Box<dyn group::Group>,
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Group({} bytes per coordinate)", self.field_len())
    }
}

const NO_CURVE: OpError = OpError::BadInput("the parameters are no curve");

impl Group {
    /// Validates the parameters: the field's prime and the order are prime, the curve is not
    /// singular, the generator is on it and has that order, and order times cofactor is a number of
    /// points that such a curve can have (Hasse). That a binary field's polynomial is irreducible
    /// is not checked, nor whether discrete logarithms are hard in the group.
    ///
    /// Takes milliseconds. [`OpError::Unsupported`] where libcrypto is not there and AWS-LC does not
    /// do: that takes prime fields of up to 528 bits and a cofactor of one.
    pub fn new(params: &Params<'_>) -> Result<Group, OpError> {
        let Params { field, p, a, b, gx, gy, order, cofactor } = *params;
        let [p, a, b, gx, gy, order, cofactor] = [p, a, b, gx, gy, order, cofactor].map(stripped);
        let limit = group::MAX_LEN;
        if [p, a, b, gx, gy, order, cofactor].iter().any(|number| number.len() > limit) {
            return Err(OpError::BadInput("a curve of more than 571 bits"));
        }
        let scratch = &mut Scratch::new()?;
        let points = Bignum::from_bytes(order)?;
        if !points.is_odd() || !scratch.is_prime(&points)? {
            return Err(OpError::BadInput("the order is not prime"));
        }
        let modulus = Bignum::from_bytes(p)?;
        // q, how many elements the field has: p, or 2^m where the polynomial has m + 1 bits.
        let q = match field {
            Field::Prime if !scratch.is_prime(&modulus)? => {
                return Err(OpError::BadInput("the field's modulus is not prime"));
            }
            Field::Prime => p.to_vec(),
            Field::Binary if modulus.bits() < 3 => return Err(NO_CURVE),
            Field::Binary => power_of_two(modulus.bits() - 1),
        };
        let bits = if field == Field::Prime { modulus.bits() } else { modulus.bits() - 1 };
        if bits > MAX_BITS {
            return Err(OpError::BadInput("a curve of more than 571 bits"));
        }
        let q = Bignum::from_bytes(&q)?;
        // Elements are below q: for a binary field, polynomials of a degree below m.
        for element in [a, b, gx, gy] {
            if Bignum::from_bytes(element)?.compare(&q).is_ge() {
                return Err(OpError::BadInput("a coefficient is not an element of the field"));
            }
        }
        // |q + 1 - h n| <= 2 sqrt(q).
        let points = scratch.multiply(&points, &Bignum::from_bytes(cofactor)?)?;
        let trace = q.duplicate()?.add_word(1)?.distance(&points)?;
        let four_q = scratch.multiply(&q, &Bignum::from_word(4)?)?;
        if scratch.multiply(&trace, &trace)?.compare(&four_q).is_gt() {
            return Err(OpError::BadInput("no curve over this field has so many points"));
        }
        let arithmetic: Box<dyn group::Group> =
            if field == Field::Prime && cofactor == [1] && p.len() <= 66 {
                match PrimeGroup::known([p, a, b, gx, gy, order]) {
                    Some(known) => return Ok(Group { arithmetic: Box::new(known) }),
                    None => Box::new(PrimeGroup::by_parameters(p, a, b, (gx, gy), order)?),
                }
            } else {
                let group = AnyGroup::by_parameters(field, p, a, b, (gx, gy), order, cofactor)?;
                Box::new(group)
            };
        let f = arithmetic.field_len();
        let mut generator = [0; MAX_POINT];
        let generator = encoded(&mut generator, f, &[gx, gy]);
        arithmetic.check(generator)?;
        check_order(&*arithmetic, generator)?;
        Ok(Group { arithmetic })
    }

    /// Bytes of a coordinate.
    pub fn field_len(&self) -> usize {
        self.arithmetic.field_len()
    }

    /// Bytes of the order, and of a scalar.
    pub fn order_len(&self) -> usize {
        self.arithmetic.order().len()
    }

    /// Runs an item of [`arithmetic`].
    fn step(&self, step: PointStep, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
        let (curve, f) = (&*self.arithmetic, self.field_len());
        let mut result = Zeroizing::new([0; MAX_POINT]);
        let result = &mut result[..1 + 2 * f];
        let point = |coordinates: &[u8]| {
            let mut point = [0; MAX_POINT];
            encoded(&mut point, f, &[&coordinates[..f], &coordinates[f..]]);
            point
        };
        let len = 1 + 2 * f;
        if step != PointStep::Verify {
            room(dst, 2 * f)?;
        }
        match step {
            PointStep::Multiply => {
                let [scalar, a] = cut(src, [self.order_len(), 2 * f])?;
                curve.multiply(scalar, &point(a)[..len], result)?;
            }
            PointStep::MultiplyGenerator => {
                let [scalar] = cut(src, [self.order_len()])?;
                curve.multiply_generator(scalar, result)?;
            }
            PointStep::Add => {
                let [a, b] = cut(src, [2 * f; 2])?;
                curve.add(&point(a)[..len], &point(b)[..len], result)?;
            }
            PointStep::Double => {
                let [a] = cut(src, [2 * f])?;
                curve.double(&point(a)[..len], result)?;
            }
            PointStep::Verify => {
                let [a] = cut(src, [2 * f])?;
                return curve.check(&point(a)[..len]).map(|()| 0);
            }
        }
        room(dst, 2 * f)?.copy_from_slice(&result[1..]);
        Ok(2 * f)
    }
}

/// 2^exponent, big-endian.
fn power_of_two(exponent: usize) -> Vec<u8> {
    let mut bytes = vec![0; exponent / 8 + 1];
    bytes[0] = 1 << (exponent % 8);
    bytes
}

/// 0x04 || X || Y, each coordinate padded to `f` bytes.
fn encoded<'a>(point: &'a mut [u8; MAX_POINT], f: usize, coordinates: &[&[u8]; 2]) -> &'a [u8] {
    point[0] = 4;
    for (place, coordinate) in point[1..].chunks_exact_mut(f).zip(coordinates) {
        let start = f - coordinate.len();
        place[..start].fill(0);
        place[start..].copy_from_slice(coordinate);
    }
    &point[..1 + 2 * f]
}

/// Steps on points, each on its curve: `src` = scalar || X || Y, or what else the [`PointStep`] takes,
/// `dst` = X || Y of the result.
///
/// [`OpError::BadInput`] for a point that is not on the curve, and where the result is the point at
/// infinity, which has no coordinates. [`PointStep::Verify`] does not use `dst`; whether a point on a
/// curve with a cofactor has the generator's order is another question, which a multiplication by the
/// order answers.
pub fn arithmetic(items: &mut [Item<'_, (&Group, PointStep)>]) {
    for item in items {
        let (group, step) = item.key;
        item.run(|src, dst| group.step(step, src, dst));
    }
}

/// Bytes from hexadecimal digits.
const fn hex<const N: usize>(digits: &str) -> [u8; N] {
    const fn value(digit: u8) -> u8 {
        match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => panic!("a hexadecimal digit"),
        }
    }
    let digits = digits.as_bytes();
    assert!(digits.len() == 2 * N, "two digits per byte");
    let mut bytes = [0; N];
    let mut at = 0;
    while at < N {
        bytes[at] = value(digits[2 * at]) << 4 | value(digits[2 * at + 1]);
        at += 1;
    }
    bytes
}

/// P-192 (FIPS 186-4, D.1.2.1).
pub const P192: Params<'static> = Params {
    field: Field::Prime,
    p: &hex::<24>("fffffffffffffffffffffffffffffffeffffffffffffffff"),
    a: &hex::<24>("fffffffffffffffffffffffffffffffefffffffffffffffc"),
    b: &hex::<24>("64210519e59c80e70fa7e9ab72243049feb8deecc146b9b1"),
    gx: &hex::<24>("188da80eb03090f67cbf20eb43a18800f4ff0afd82ff1012"),
    gy: &hex::<24>("07192b95ffc8da78631011ed6b24cdd573f977a11e794811"),
    order: &hex::<24>("ffffffffffffffffffffffff99def836146bc9b1b4d22831"),
    cofactor: &[1],
};

/// The curve of SM2 (GB/T 32918.5).
pub const SM2: Params<'static> = Params {
    field: Field::Prime,
    p: &hex::<32>("fffffffeffffffffffffffffffffffffffffffff00000000ffffffffffffffff"),
    a: &hex::<32>("fffffffeffffffffffffffffffffffffffffffff00000000fffffffffffffffc"),
    b: &hex::<32>("28e9fa9e9d9f5e344d5a9e4bcf6509a7f39789f515ab8f92ddbcbd414d940e93"),
    gx: &hex::<32>("32c4ae2c1f1981195f9904466a39c9948fe30bbff2660be1715a4589334c74c7"),
    gy: &hex::<32>("bc3736a2f4f6779c59bdcee36b692153d0a9877cc62a474002df32e52139f0a0"),
    order: &hex::<32>("fffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54123"),
    cofactor: &[1],
};

impl Params<'_> {
    /// The group of a curve of this file, which needs no validation.
    pub(crate) fn prime_group(&self) -> Result<PrimeGroup, OpError> {
        PrimeGroup::by_parameters(self.p, self.a, self.b, (self.gx, self.gy), self.order)
    }
}
