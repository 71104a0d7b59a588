//! Curves of Montgomery and Edwards: `cpaCyEcMontEdwdsPointMultiply`.
//!
//! X25519 and X448 are RFC 7748's functions, with its clamped scalars, their numbers big-endian. On an Edwards curve
//! k is any number; the point is taken to the curve's short Weierstrass form and back:
//!
//! ```text
//! A = 2 (a + d) / (a - d)      B = 4 / (a - d)          of B v^2 = u^3 + A u^2 + u
//! u = (1 + y) / (1 - y)        v = u / x
//! X = (u + A/3) / B            Y = v / B
//! ```
#![allow(unsafe_code)]

use core::ffi::c_void;

use lookaside::{Buf, OpError, PointStep, Response, Weierstrass, WeierstrassParams, Xdh, XdhCurve};

use super::{
    cache::Cache,
    counters::Work,
    curves::bytes,
    ec::cardinality,
    number::{Out, Secret, bytes, compare, is_below, padded, push, stripped},
    request::{Callback, Caller, Outcome, place, refuse, run, written},
    steps::Residues,
};
use crate::{
    abi::*,
    process::Process,
    refusal::{Refusal, given},
};

const NO_OP: &str = "no operation data";
const LENGTH: &str =
    "k, or a coordinate, has another length than 32 bytes, or 64 of the curves of 448 bits";
const SCALAR: &str = "k is 0, or longer than the curve's field";
const OFF: &str = "a coordinate is not below the field's prime";

/// An Edwards curve: its Weierstrass form, and the constants of the map.
struct Twisted {
    cofactor: u8,
    p: &'static [u8],
    a: &'static [u8],
    b: &'static [u8],
    x: &'static [u8],
    y: &'static [u8],
    order: &'static [u8],
    third_a: &'static [u8],
    scale: &'static [u8],
    unscale: &'static [u8],
}

/// Of Ed25519.
static ED25519: Twisted = Twisted {
    cofactor: 8,
    p: bytes!("7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed"),
    a: bytes!("5d4eacd3a5b9bee63197e10d617b3dd66bb8b65d0ca52af7ac71e18ef8bc172d"),
    b: bytes!("1d11b29bcfd0b3e0550ddb06105780d5f54831976b9fbc329004ebc1f364b2a4"),
    x: bytes!("2a78dd0fd02c0339f00b8f02f1c20618a9c13fdf0d617c9aca55c89b025aef35"),
    y: bytes!("29c644a5c71da22ebe483ba563798323cf6fd061807131659b7830f3f62c1d14"),
    order: bytes!("1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed"),
    third_a: bytes!("2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad2451"),
    scale: bytes!("7ffffffffffffffffffffffffffffffffffffffffffffffffffffffffff892e5"),
    unscale: bytes!("6b7f24c4752400631cce2fe1a22185d9ffe3fd6cafaf89d522852c8d7b29a1c4"),
};

/// Of Ed448.
static ED448: Twisted = Twisted {
    cofactor: 4,
    p: bytes!(
        "fffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
    ),
    a: bytes!(
        "eaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa9bffffffffffffffffffffffffffffffffffffffffffffffffe1aa688"
    ),
    b: bytes!(
        "097b425ed097b425ed097b425ed097b425ed097b425ed097b425ed0971c71c71c71c71c71c71c71c71c71c71c71c71c71c71c72c8b0970fc"
    ),
    x: bytes!(
        "a705a92a12cf8458a96a736ee21c86d98b704610aed1312a0ad9e7171cb08ec152a5c6765fc199293516664911ee05c1bd0ec78f02593021"
    ),
    y: bytes!(
        "06406e6ba3e39a2ddd113da99dabc1aa5e5c6e4629eba8aeee8c7fbd3b8a7d7cbf11d14d26de9e415f984d8fbdf4ce3fd6232e4ef35b1355"
    ),
    order: bytes!(
        "3fffffffffffffffffffffffffffffffffffffffffffffffffffffff7cca23e9c44edb49aed63690216cc2728dc58f552378c292ab5844f3"
    ),
    third_a: bytes!(
        "c465780f0e99377244b0edc4abe5ebc38b7957b9f483dccd8a66556792234b0dbe1a8abc69e7de5b856e2322cef6d7b7290b5bb7bc9c3656"
    ),
    scale: bytes!(
        "4d30682d2bcba656ce12c94e03b1c34aa26c072ddd8b96689f330038b669e1293a4fa0353db79b12904a69686ce487257b22132735d4a306"
    ),
    unscale: bytes!(
        "7fffffffffffffffffffffffffffffffffffffffffffffffffffffff8000000000000000000000000000000000000000000000000000262a"
    ),
};

fn xdh(process: &'static Process, curve: XdhCurve) -> Result<Xdh, Refusal> {
    static KEPT: Cache<Xdh> = Cache::new();
    KEPT.get(&[&[curve as u8]], || Ok(process.runtime().xdh(curve)?))
}

impl Twisted {
    fn session(&self, process: &'static Process) -> Result<Weierstrass, Refusal> {
        static KEPT: Cache<Weierstrass> = Cache::new();
        KEPT.get(&[self.p], || {
            let params = WeierstrassParams {
                p: self.p.to_vec(),
                a: self.a.to_vec(),
                b: self.b.to_vec(),
                g: (self.x.to_vec(), self.y.to_vec()),
                order: self.order.to_vec(),
                cofactor: vec![self.cofactor],
                binary: false,
            };
            Ok(process.runtime().weierstrass(params)?)
        })
    }

    /// X || Y of (x, y).
    fn enter(&self, field: &Residues, [x, y]: [&[u8]; 2]) -> Result<Secret, OpError> {
        let one = field.reduce(&[1])?;
        let below = field.inverse(&field.difference(&one, y)?)?;
        let u = field.product(&field.sum(&one, y)?, &below)?;
        let v = field.product(&u, &field.inverse(x)?)?;
        let mut out = field.product(&field.sum(&u, self.third_a)?, self.unscale)?;
        out.extend_from_slice(&field.product(&v, self.unscale)?);
        Ok(out)
    }

    /// x and y of X || Y.
    fn leave(&self, field: &Residues, point: &[u8]) -> Result<[Secret; 2], OpError> {
        let (x, y) = point.split_at(point.len() / 2);
        let one = field.reduce(&[1])?;
        let u = field.difference(&field.product(x, self.scale)?, self.third_a)?;
        let v = field.product(y, self.scale)?;
        let above = field.difference(&u, &one)?;
        let below = field.inverse(&field.sum(&u, &one)?)?;
        Ok([field.product(&u, &field.inverse(&v)?)?, field.product(&above, &below)?])
    }
}

/// Little-endian, as RFC 7748 has it.
fn turned(number: &[u8], len: usize) -> Result<Secret, Refusal> {
    let mut number = padded(number, len, LENGTH)?;
    number.reverse();
    Ok(number)
}

unsafe fn montgomery(
    caller: &Caller,
    op: &CpaCyEcMontEdwdsPointMultiplyOpData,
    curve: XdhCurve,
    out: *mut CpaFlatBuffer,
) -> Result<CpaStatus, Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        run(caller, |process| {
            let len = curve.key_len();
            let wide = len.next_multiple_of(32);
            let exact = |flat: &CpaFlatBuffer| match bytes(flat, LENGTH)? {
                number if number.len() == wide => turned(number, len),
                _ => Err(Refusal::invalid(LENGTH)),
            };
            let k = exact(&op.k)?;
            let out = exactly(out, wide)?;
            let session = xdh(process, curve)?;
            let request = match op.generator {
                CPA_FALSE => {
                    let src = Buf::secret([&k[..], &exact(&op.x)?].concat());
                    session.derive(src, place(len))
                }
                _ => session.public(Buf::secret(k.to_vec()), place(len)),
            };
            Ok((request, move |response: Response| match written(&response) {
                Ok(u) => {
                    let mut u = Secret::new(u.to_vec());
                    u.reverse();
                    Outcome::when(out.put(&u))
                }
                Err(error) => Outcome::of(error),
            }))
        })
    }
}

unsafe fn exactly(out: *mut CpaFlatBuffer, len: usize) -> Result<Out, Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        let checked = Out::new(out, len, LENGTH)?;
        match (*out).dataLenInBytes as usize == len {
            true => Ok(checked),
            false => Err(Refusal::invalid(LENGTH)),
        }
    }
}

unsafe fn edwards(
    caller: &Caller,
    op: &CpaCyEcMontEdwdsPointMultiplyOpData,
    curve: &'static Twisted,
    outs: [*mut CpaFlatBuffer; 2],
) -> Result<CpaStatus, Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        run(caller, |process| {
            let len = curve.p.len();
            let wide = len.next_multiple_of(32);
            let exact = |flat: &CpaFlatBuffer| match bytes(flat, LENGTH)? {
                number if number.len() == wide => padded(number, len, LENGTH),
                _ => Err(Refusal::invalid(LENGTH)),
            };
            let outs = [exactly(outs[0], wide)?, exactly(outs[1], wide)?];
            let mut k = exact(&op.k)?;
            let all = cardinality(curve.order, curve.cofactor);
            if compare(&k, &all).is_ge() {
                // The same for every point.
                let reduced = Residues::kept(process, &all)?.reduce(&k);
                k = reduced.map_err(|_| Refusal::invalid(SCALAR))?;
            }
            if !is_below(&k, &all) {
                return Err(Refusal::invalid(SCALAR));
            }
            let mut src = Secret::new(Vec::with_capacity(3 * len));
            push(&mut src, &k, curve.order.len(), SCALAR)?;
            let field = Residues::kept(process, curve.p)?;
            let session = curve.session(process)?;
            let step = match op.generator {
                CPA_FALSE => {
                    let (x, y) = (exact(&op.x)?, exact(&op.y)?);
                    if [&x, &y].iter().any(|c| compare(c, curve.p).is_ge()) {
                        return Err(Refusal::invalid(OFF));
                    }
                    let point = curve.enter(&field, [&x, &y]);
                    // The neutral element, and the points that the map does not take along.
                    let point = point.map_err(|_| Refusal::unsupported(EXCEPTIONAL))?;
                    src.extend_from_slice(&point);
                    PointStep::Multiply
                }
                _ => PointStep::MultiplyGenerator,
            };
            let src = Buf::secret(core::mem::take(&mut *src));
            let request = session.point(step, src, place(2 * len));
            Ok((request, move |response: Response| {
                let left = written(&response).and_then(|point| curve.leave(&field, point));
                match left {
                    Ok([x, y]) => {
                        Outcome::when(outs[0].put(stripped(&x)) & outs[1].put(stripped(&y)))
                    }
                    Err(error) => Outcome::of(error),
                }
            }))
        })
    }
}

const EXCEPTIONAL: &str = "a point of order 1, 2 or 4 of an Edwards curve";

crate::api! {
    fn cpaCyEcMontEdwdsPointMultiply(
        handle: CpaInstanceHandle,
        callback: CpaCyEcPointMultiplyCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcMontEdwdsPointMultiplyOpData,
        valid: *mut CpaBoolean,
        x: *mut CpaFlatBuffer,
        y: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Two(call, [x, y]));
        let caller = Caller::new(handle, Work::EcMultiply, callback, tag, op).says(valid);
        let op = match given(op, NO_OP) {
            Ok(op) => op,
            Err(refusal) => return refuse(&caller, refusal),
        };
        match op.curveType {
            CPA_CY_EC_MONTEDWDS_CURVE25519_TYPE => montgomery(&caller, op, XdhCurve::X25519, x),
            CPA_CY_EC_MONTEDWDS_CURVE448_TYPE => montgomery(&caller, op, XdhCurve::X448, x),
            CPA_CY_EC_MONTEDWDS_ED25519_TYPE => edwards(&caller, op, &ED25519, [x, y]),
            CPA_CY_EC_MONTEDWDS_ED448_TYPE => edwards(&caller, op, &ED448, [x, y]),
            _ => refuse(&caller, Refusal::invalid("a curve that there is not")),
        }
    }
}
