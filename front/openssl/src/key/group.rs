//! Named curves: their names, and points as bytes. The arithmetic of reading a point (is it on the
//! curve? which of two is meant by a compressed one?) is libcrypto's, which is loaded anyway; no
//! secret is involved.
#![allow(unsafe_code)]

use core::{ffi::CStr, ptr};

use lookaside::Curve;
use once_cell::race::OnceBox;

use crate::{
    error::{Error, Reason, Result},
    ffi::{
        EC_GROUP_get0_order, EC_GROUP_new_by_curve_name, EC_POINT_free, EC_POINT_is_at_infinity,
        EC_POINT_mul, EC_POINT_new, EC_POINT_oct2point, EC_POINT_point2oct, EcGroup, EcPoint,
    },
};

/// What is known of a curve.
struct Known {
    curve: Curve,
    /// As OpenSSL's default provider answers.
    name: &'static CStr,
    alias: &'static str,
    /// OpenSSL's number.
    nid: i32,
    /// Of the order.
    bits: u32,
    /// Whether there are points outside of the generator's group.
    cofactor: bool,
}

macro_rules! known {
    ($($curve:ident $name:literal $alias:literal $nid:literal $bits:literal $cofactor:literal)*) => {
        [$(Known {
            curve: Curve::$curve,
            name: $name,
            alias: $alias,
            nid: $nid,
            bits: $bits,
            cofactor: $cofactor,
        },)*]
    };
}

static KNOWN: [Known; 19] = known! {
    P192 c"prime192v1" "P-192" 409 192 false
    P224 c"secp224r1" "P-224" 713 224 false
    P256 c"prime256v1" "P-256" 415 256 false
    P384 c"secp384r1" "P-384" 715 384 false
    P521 c"secp521r1" "P-521" 716 521 false
    Secp256k1 c"secp256k1" "" 714 256 false
    B163 c"sect163r2" "B-163" 723 163 true
    B233 c"sect233r1" "B-233" 727 233 true
    B283 c"sect283r1" "B-283" 730 282 true
    B409 c"sect409r1" "B-409" 732 409 true
    B571 c"sect571r1" "B-571" 734 570 true
    K163 c"sect163k1" "K-163" 721 163 true
    K233 c"sect233k1" "K-233" 726 232 true
    K283 c"sect283k1" "K-283" 729 281 true
    K409 c"sect409k1" "K-409" 731 407 true
    K571 c"sect571k1" "K-571" 733 570 true
    BrainpoolP256r1 c"brainpoolP256r1" "" 927 256 false
    BrainpoolP384r1 c"brainpoolP384r1" "" 931 384 false
    BrainpoolP512r1 c"brainpoolP512r1" "" 933 512 false
};

/// The curve of this name.
pub fn curve(name: &str) -> Result<Curve> {
    let is = |known: &&Known| {
        known.name.to_str().is_ok_and(|n| n.eq_ignore_ascii_case(name))
            || known.alias.eq_ignore_ascii_case(name) && !name.is_empty()
    };
    // RFC 8422's names of the two curves that X9.62 named first.
    let other = match name {
        "secp192r1" => Some(Curve::P192),
        "secp256r1" => Some(Curve::P256),
        _ => None,
    };
    let found = other.or_else(|| KNOWN.iter().find(is).map(|known| known.curve));
    found.ok_or_else(|| Error::new(Reason::UnsupportedKey, format!("the curve {name}")))
}

fn known(curve: Curve) -> Result<&'static Known> {
    let known = KNOWN.iter().find(|known| known.curve == curve);
    known.ok_or_else(|| Reason::UnsupportedKey.into())
}

/// The name that OpenSSL's default provider gives it.
pub fn name(curve: Curve) -> &'static CStr {
    known(curve).map_or(c"", |known| known.name)
}

/// The order's length in bits.
pub fn bits(curve: Curve) -> u32 {
    known(curve).map_or(0, |known| known.bits)
}

/// How a point is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The sign of Y, X.
    Compressed = 2,
    /// 04, X, Y.
    Uncompressed = 4,
    /// The sign of Y, X, Y.
    Hybrid = 6,
}

impl Format {
    /// All, with OpenSSL's names.
    pub const ALL: [(Format, &'static CStr); 3] = [
        (Format::Uncompressed, c"uncompressed"),
        (Format::Compressed, c"compressed"),
        (Format::Hybrid, c"hybrid"),
    ];

    /// OpenSSL's name.
    pub fn name(self) -> &'static CStr {
        Format::ALL.iter().find(|(format, _)| *format == self).map_or(c"", |(_, name)| name)
    }

    /// The format of this name.
    pub fn find(name: &str) -> Result<Format> {
        let found = Format::ALL.iter().find(|(_, n)| n.to_str() == Ok(name));
        let unknown = || Error::new(Reason::InvalidParameter, format!("the point format {name}"));
        found.map(|(format, _)| *format).ok_or_else(unknown)
    }
}

/// OpenSSL's groups, made at first use and kept: they are constants.
struct Group(*mut EcGroup);

// SAFETY: a group that nobody changes may be read by all threads.
unsafe impl Send for Group {}
// SAFETY: as above.
unsafe impl Sync for Group {}

fn group(curve: Curve) -> Result<*const EcGroup> {
    static GROUPS: [OnceBox<Group>; 19] = [const { OnceBox::new() }; 19];
    let place = KNOWN.iter().position(|known| known.curve == curve).unwrap_or(0);
    // SAFETY: a number.
    let make = || Box::new(Group(unsafe { EC_GROUP_new_by_curve_name(KNOWN[place].nid) }));
    let group = GROUPS[place].get_or_init(make).0.cast_const();
    if group.is_null() {
        return Err(Error::new(Reason::UnsupportedKey, "libcrypto does not know the curve"));
    }
    Ok(group)
}

/// A point of libcrypto's.
struct Point {
    group: *const EcGroup,
    point: *mut EcPoint,
}

impl Point {
    fn read(curve: Curve, bytes: &[u8]) -> Result<Point> {
        let group = group(curve)?;
        // SAFETY: a group of libcrypto's.
        let point = Point { group, point: unsafe { EC_POINT_new(group) } };
        // SAFETY: as above; the bytes are the slice's.
        let read = unsafe {
            EC_POINT_oct2point(group, point.point, bytes.as_ptr(), bytes.len(), ptr::null_mut())
        };
        // Libcrypto has said what is wrong.
        if read == 1 { Ok(point) } else { Err(Reason::Queued.into()) }
    }

    fn write(&self, format: Format, len: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; len];
        let form = format as i32;
        // SAFETY: group and point are libcrypto's; there is room for `len` bytes.
        let len = unsafe {
            EC_POINT_point2oct(self.group, self.point, form, out.as_mut_ptr(), len, ptr::null_mut())
        };
        if len <= 1 {
            return Err(Error::new(Reason::InvalidKey, "the point at infinity"));
        }
        out.truncate(len);
        Ok(out)
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        // SAFETY: ours; null is allowed.
        unsafe { EC_POINT_free(self.point) };
    }
}

/// A point in whatever form, checked to be on the curve, as 04, X, Y.
pub fn read_point(curve: Curve, bytes: &[u8]) -> Result<Vec<u8>> {
    Point::read(curve, bytes)?.write(Format::Uncompressed, curve.point_len())
}

/// A point 04, X, Y in another form.
pub fn write_point(curve: Curve, point: &[u8], format: Format) -> Result<Vec<u8>> {
    if format == Format::Uncompressed {
        return Ok(point.to_vec());
    }
    Point::read(curve, point)?.write(format, curve.point_len())
}

/// Whether a point on the curve is in the generator's group. On curves without cofactor all are.
pub fn in_group(curve: Curve, point: &[u8]) -> Result<()> {
    if !known(curve)?.cofactor {
        return Ok(());
    }
    let q = Point::read(curve, point)?;
    // SAFETY: objects of libcrypto's.
    let neutral = unsafe {
        let product = Point { group: q.group, point: EC_POINT_new(q.group) };
        let order = EC_GROUP_get0_order(q.group);
        EC_POINT_mul(q.group, product.point, ptr::null(), q.point, order, ptr::null_mut()) == 1
            && EC_POINT_is_at_infinity(q.group, product.point) == 1
    };
    if neutral { Ok(()) } else { Err(Error::new(Reason::InvalidKey, "a point of wrong order")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_is_known() {
        for curve in Curve::ALL {
            let known = known(curve).unwrap();
            assert_eq!(super::curve(known.name.to_str().unwrap()).unwrap(), curve);
            assert_eq!((known.bits as usize).div_ceil(8), curve.order_len(), "{curve:?}");
            assert!(group(curve).is_ok(), "{curve:?}");
        }
        assert_eq!(curve("P-256").unwrap(), Curve::P256);
        assert!(curve("").is_err());
    }

    #[test]
    fn points_in_three_forms() {
        // The generator of P-256, compressed (SEC 2 section 2.4.2).
        let hex = "036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296";
        let byte = |i: usize| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap();
        let compressed: Vec<u8> = (0..33).map(byte).collect();
        let point = read_point(Curve::P256, &compressed).unwrap();
        assert_eq!((point[0], &point[1..33]), (4, &compressed[1..]));
        for (format, _) in Format::ALL {
            let written = write_point(Curve::P256, &point, format).unwrap();
            assert_eq!(read_point(Curve::P256, &written).unwrap(), point);
        }
        let mut wrong = point;
        wrong[64] ^= 1;
        assert!(read_point(Curve::P256, &wrong).is_err());
        assert!(read_point(Curve::P256, &[0]).is_err());
    }
}
