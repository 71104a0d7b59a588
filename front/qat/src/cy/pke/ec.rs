//! Elliptic curves: `cpa_cy_ec.h` and `cpa_cy_ecdh.h`.
#![allow(unsafe_code)]

use core::ffi::c_void;

use lookaside::{Arithmetic, Buf, Ec, OpError, Request, Response};

use super::{
    cache::Cache,
    counters::Work,
    curves::{Given, Known},
    number::{Out, Secret, Whole, compare, number, padded, push, stripped},
    request::{Callback, Caller, Outcome, place, run, written},
    steps::Residues,
};
use crate::{
    abi::*,
    process::Process,
    refusal::{Refusal, given},
};

const NO_OP: &str = "no operation data";
const NO_CURVE: &str = "no curve, or one of a field type that there is not";
const FIELD: &str = "the field's prime or polynomial is missing";
const COEFFICIENT: &str = "a coefficient of the curve is missing";
const POINT: &str = "a coordinate is missing, or longer than the field";
const SCALAR: &str = "k is missing, or a multiple of the order";
const COFACTOR: &str = "h is neither missing, nor 1, nor the curve's cofactor";
const LONG_SCALAR: &str = "k is above the order, on a curve with a cofactor";
const OUTPUT: &str = "no output, or one shorter than the field";

/// The session of a curve.
pub(super) fn session(process: &'static Process, known: &Known) -> Result<Ec, Refusal> {
    static KEPT: Cache<Ec> = Cache::new();
    KEPT.get(&[&[known.curve as u8]], || Ok(process.runtime().ec(known.curve)?))
}

/// A curve as the interface's older structures have it.
pub(super) unsafe fn curve<'a>(
    field: CpaCyEcFieldType,
    [p, a, b]: [&CpaFlatBuffer; 3],
) -> Result<Given<'a>, Refusal> {
    let binary = match field {
        CPA_CY_EC_FIELD_TYPE_PRIME => false,
        CPA_CY_EC_FIELD_TYPE_BINARY => true,
        _ => return Err(Refusal::invalid(NO_CURVE)),
    };
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        let p = number(p, FIELD)?;
        let (a, b) = (number(a, COEFFICIENT)?, number(b, COEFFICIENT)?);
        if p.is_empty() || p[p.len() - 1] & 1 == 0 {
            return Err(Refusal::invalid(FIELD));
        }
        Ok(Given { binary, p, a, b })
    }
}

unsafe fn generic<'a>(curve: *const CpaCyEcCurve) -> Result<(Given<'a>, CpaFlatBuffer), Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for; the union has one member.
    unsafe {
        let curve = given(curve, NO_CURVE)?;
        if !matches!(
            curve.curveType,
            CPA_CY_EC_CURVE_TYPE_WEIERSTRASS_PRIME
                | CPA_CY_EC_CURVE_TYPE_WEIERSTRASS_BINARY
                | CPA_CY_EC_CURVE_TYPE_WEIERSTRASS_KOBLITZ_BINARY
        ) {
            return Err(Refusal::invalid(NO_CURVE));
        }
        let it = &curve.parameters.weierstrassParameters;
        Ok((self::curve(it.fieldType, [&it.p, &it.a, &it.b])?, it.h))
    }
}

/// Writes a point's coordinates.
///
/// # Safety
/// The outputs stay as they are until then.
pub(super) unsafe fn put_point(outs: [Out; 2], point: &[u8]) -> Outcome {
    let coordinates = if point.len() % 2 == 1 { &point[1..] } else { point };
    let (x, y) = coordinates.split_at(coordinates.len() / 2);
    // SAFETY: the caller's promise.
    Outcome::when(unsafe { outs[0].put(x) & outs[1].put(y) })
}

/// A point as the runtime's sessions of curves have it.
pub(super) fn encode(src: &mut Vec<u8>, [x, y]: [&[u8]; 2], len: usize) -> Result<(), Refusal> {
    src.push(4);
    push(src, x, len, POINT)?;
    push(src, y, len, POINT)
}

/// A scalar on as many bytes as the order has, from 1 to the order - 1.
pub(super) fn scalar(
    process: &'static Process,
    known: &Known,
    k: &[u8],
) -> Result<Secret, Refusal> {
    let len = known.n.len();
    let mut k = match compare(k, known.n).is_lt() {
        true => padded(k, len, SCALAR)?,
        false if known.h > 1 => return Err(Refusal::unsupported(LONG_SCALAR)),
        false => {
            let reduced = Residues::kept(process, known.n)?.reduce(k);
            reduced.map_err(|_| Refusal::invalid(SCALAR))?
        }
    };
    if core::hint::black_box(k.iter().fold(0, |any, byte| any | byte)) == 0 {
        return Err(Refusal::invalid(SCALAR));
    }
    // An order of fewer bytes than its curve says there are is none of ours.
    let wanted = known.curve.order_len();
    if k.len() != wanted {
        k = padded(&k, wanted, SCALAR)?;
    }
    Ok(k)
}

type Prepared<F> = Result<(Request, F), Refusal>;

/// k P, and h times that where h is given.
unsafe fn multiply(
    process: &'static Process,
    curve: &Given<'_>,
    k: &[u8],
    point: Option<[&[u8]; 2]>,
    h: &CpaFlatBuffer,
    outs: [*mut CpaFlatBuffer; 2],
) -> Prepared<impl FnOnce(Response) -> Outcome + use<>> {
    let known = Known::find(curve)?;
    let len = known.curve.field_len();
    // SAFETY: the exported function's caller promises what the interface asks for.
    let (outs, cofactor) = unsafe {
        let outs = [Out::new(outs[0], len, OUTPUT)?, Out::new(outs[1], len, OUTPUT)?];
        let cofactor = match h.pData.is_null() && h.dataLenInBytes == 0 {
            true => 1,
            false => match number(h, COFACTOR)? {
                [1] => 1,
                [h] if *h == known.h => *h,
                _ => return Err(Refusal::invalid(COFACTOR)),
            },
        };
        (outs, cofactor)
    };
    let session = session(process, known)?;
    let point = point.filter(|point| point.map(stripped) != known.g);
    let mut k = scalar(process, known, k)?;
    let dst = place(known.curve.point_len());
    let request = match point {
        None => session.public(Buf::secret(core::mem::take(&mut *k)), dst),
        Some(point) => {
            let mut src = Secret::new(Vec::with_capacity(k.len() + known.curve.point_len()));
            src.extend_from_slice(&k);
            encode(&mut src, point, len)?;
            session.multiply(Buf::secret(core::mem::take(&mut *src)), dst)
        }
    };
    Ok((request, move |response: Response| {
        let product = match written(&response) {
            Ok(product) => product,
            Err(error) => return Outcome::of(error),
        };
        if cofactor == 1 {
            // SAFETY: the caller keeps the outputs until the answer.
            return unsafe { put_point(outs, product) };
        }
        let mut src = vec![0; known.curve.order_len()];
        if let Some(last) = src.last_mut() {
            *last = cofactor;
        }
        src.extend_from_slice(product);
        let request = session.multiply(Buf::secret(src), place(known.curve.point_len()));
        let response = process.call(request);
        match written(&response) {
            // SAFETY: as above.
            Ok(product) => unsafe { put_point(outs, product) },
            Err(error) => Outcome::of(error),
        }
    }))
}

/// Whether a point is on a curve, whichever it is: y^2 = x^3 + a x + b, or y^2 + x y = x^3 + a x^2 + b.
fn verify(
    process: &'static Process,
    curve: &Given<'_>,
    [x, y]: [&[u8]; 2],
) -> Prepared<impl FnOnce(Response) -> Outcome + use<>> {
    let binary = curve.binary;
    let field = match binary {
        true => Residues::binary(process, curve.p)?,
        false => Residues::kept(process, curve.p)?,
    };
    // Elements are below the prime, or below x^m.
    let limit = match binary {
        true => {
            let mut bit = vec![0; field.modulus().len()];
            bit[0] = 0x80 >> field.modulus()[0].leading_zeros();
            bit
        }
        false => field.modulus().to_vec(),
    };
    let in_field = [x, y].iter().all(|element| compare(element, &limit).is_lt());
    if [curve.a, curve.b].iter().any(|element| !compare(element, &limit).is_lt()) {
        return Err(Refusal::invalid(COEFFICIENT));
    }
    // A coordinate that is none is no mistake of the caller's: the point is not on the curve.
    let element = |element: &[u8]| padded(if in_field { element } else { &[] }, field.len(), POINT);
    let parts = Box::new([element(x)?, element(y)?, element(curve.a)?, element(curve.b)?]);
    let request = field.request(Arithmetic::Square, &[&parts[0]]);
    Ok((request, move |response: Response| {
        let [x, y, a, b] = &*parts;
        let is_on = || -> Result<bool, OpError> {
            let square = written(&response)?;
            let cube = field.product(square, x)?;
            let linear = field.product(a, if binary { square } else { x })?;
            let right = field.sum(&field.sum(&cube, &linear)?, b)?;
            let mut left = field.product(y, y)?;
            if binary {
                left = field.sum(&left, &field.product(x, y)?)?;
            }
            Ok(*left == *right)
        };
        match is_on() {
            Ok(is_on) => Outcome::when(in_field && is_on),
            Err(error) => Outcome::of(error),
        }
    }))
}

/// Multiplication by a curve in the older structures.
unsafe fn older(
    caller: &Caller,
    op: impl FnOnce() -> Result<(CpaCyEcFieldType, [CpaFlatBuffer; 7]), Refusal>,
    outs: [*mut CpaFlatBuffer; 2],
) -> Result<CpaStatus, Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        run(caller, |process| {
            let (field, [k, x, y, p, a, b, h]) = op()?;
            let curve = curve(field, [&p, &a, &b])?;
            let point = [number(&x, POINT)?, number(&y, POINT)?];
            multiply(process, &curve, number(&k, SCALAR)?, Some(point), &h, outs)
        })
    }
}

unsafe fn multiply_generic(
    caller: &Caller,
    op: *const CpaCyEcGenericPointMultiplyOpData,
    outs: [*mut CpaFlatBuffer; 2],
) -> Result<CpaStatus, Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        run(caller, |process| {
            let op = given(op, NO_OP)?;
            let (curve, h) = generic(op.pCurve)?;
            let point = match op.generator {
                CPA_FALSE => Some([number(&op.xP, POINT)?, number(&op.yP, POINT)?]),
                _ => None,
            };
            multiply(process, &curve, number(&op.k, SCALAR)?, point, &h, outs)
        })
    }
}

/// The number of a curve's points: what a scalar may be reduced by for every point.
pub(super) fn cardinality(order: &[u8], cofactor: u8) -> Secret {
    let product = Whole::new(order).times(&Whole::small(cofactor.into()));
    Secret::new(stripped(&product.bytes()).to_vec())
}

crate::api! {
    fn cpaCyEcPointMultiply(
        handle: CpaInstanceHandle,
        callback: CpaCyEcPointMultiplyCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcPointMultiplyOpData,
        valid: *mut CpaBoolean,
        x: *mut CpaFlatBuffer,
        y: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Two(call, [x, y]));
        let caller = Caller::new(handle, Work::EcMultiply, callback, tag, op).says(valid);
        let parts = || {
            let op = given(op, NO_OP)?;
            Ok((op.fieldType, [op.k, op.xg, op.yg, op.q, op.a, op.b, op.h]))
        };
        older(&caller, parts, [x, y])
    }

    fn cpaCyEcdhPointMultiply(
        handle: CpaInstanceHandle,
        callback: CpaCyEcdhPointMultiplyCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcdhPointMultiplyOpData,
        valid: *mut CpaBoolean,
        x: *mut CpaFlatBuffer,
        y: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Two(call, [x, y]));
        let caller = Caller::new(handle, Work::Ecdh, callback, tag, op).says(valid);
        // Points are verified whether that is asked for or not.
        let parts = || {
            let op = given(op, NO_OP)?;
            Ok((op.fieldType, [op.k, op.xg, op.yg, op.q, op.a, op.b, op.h]))
        };
        older(&caller, parts, [x, y])
    }

    fn cpaCyEcGenericPointMultiply(
        handle: CpaInstanceHandle,
        callback: CpaCyEcPointMultiplyCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcGenericPointMultiplyOpData,
        valid: *mut CpaBoolean,
        x: *mut CpaFlatBuffer,
        y: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Two(call, [x, y]));
        let caller = Caller::new(handle, Work::EcMultiply, callback, tag, op).says(valid);
        multiply_generic(&caller, op, [x, y])
    }

    fn cpaCyEcDpaGenericPointMultiply(
        handle: CpaInstanceHandle,
        callback: CpaCyEcPointMultiplyCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcGenericPointMultiplyOpData,
        _random: *const CpaFlatBuffer,
        _create: CpaBoolean,
        valid: *mut CpaBoolean,
        x: *mut CpaFlatBuffer,
        y: *mut CpaFlatBuffer,
    ) {
        // Multiplication takes the same time and touches the same memory for every k, without random numbers.
        let callback = callback.map(|call| Callback::Two(call, [x, y]));
        let caller = Caller::new(handle, Work::EcMultiply, callback, tag, op).says(valid);
        multiply_generic(&caller, op, [x, y])
    }

    fn cpaCyEcPointVerify(
        handle: CpaInstanceHandle,
        callback: CpaCyEcPointVerifyCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcPointVerifyOpData,
        valid: *mut CpaBoolean,
    ) {
        let callback = callback.map(Callback::Flag);
        let caller = Caller::new(handle, Work::EcVerify, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let curve = curve(op.fieldType, [&op.q, &op.a, &op.b])?;
            verify(process, &curve, [number(&op.xq, POINT)?, number(&op.yq, POINT)?])
        })
    }

    fn cpaCyEcGenericPointVerify(
        handle: CpaInstanceHandle,
        callback: CpaCyEcPointVerifyCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcGenericPointVerifyOpData,
        valid: *mut CpaBoolean,
    ) {
        let callback = callback.map(Callback::Flag);
        let caller = Caller::new(handle, Work::EcVerify, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let (curve, _) = generic(op.pCurve)?;
            verify(process, &curve, [number(&op.xP, POINT)?, number(&op.yP, POINT)?])
        })
    }
}
