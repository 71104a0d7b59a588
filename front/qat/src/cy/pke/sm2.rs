//! SM2: `cpa_cy_ecsm2.h`. Encryption, decryption and key exchange are their multiplications; programs derive keys from
//! the points themselves.
#![allow(unsafe_code)]

use core::ffi::c_void;

use lookaside::{
    Buf, Nonce, OpError, PointStep, Request, Response, Sm2, Weierstrass, WeierstrassParams,
};

use super::{
    cache::Cache,
    counters::Work,
    curves::bytes,
    dsa::halves,
    ec::{encode, put_point},
    number::{Out, Secret, compare, is_below, number, padded, push},
    request::{Callback, Caller, Outcome, place, run, written},
    steps::Residues,
};
use crate::{
    abi::*,
    process::Process,
    refusal::{Refusal, given},
};

const NO_OP: &str = "no operation data";
const FIELD: &str = "a field other than that of a prime";
const SCALAR: &str = "k, r or d is missing, 0, or not below the order";
const POINT: &str = "a coordinate is missing, or longer than 32 bytes";
const DIGEST: &str = "e is missing, or longer than 32 bytes";
const HALF: &str = "r or s is missing";
const OUTPUT: &str = "no output, or one shorter than 32 bytes";

/// Bytes of all numbers.
const LEN: usize = 32;

/// GB/T 32918.5.
const P: &[u8] = bytes!("fffffffeffffffffffffffffffffffffffffffff00000000ffffffffffffffff");
const A: &[u8] = bytes!("fffffffeffffffffffffffffffffffffffffffff00000000fffffffffffffffc");
const B: &[u8] = bytes!("28e9fa9e9d9f5e344d5a9e4bcf6509a7f39789f515ab8f92ddbcbd414d940e93");
const X: &[u8] = bytes!("32c4ae2c1f1981195f9904466a39c9948fe30bbff2660be1715a4589334c74c7");
const Y: &[u8] = bytes!("bc3736a2f4f6779c59bdcee36b692153d0a9877cc62a474002df32e52139f0a0");
const N: &[u8] = bytes!("fffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54123");
/// The order less 1, which no private key is.
const LIMIT: &[u8] = bytes!("fffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54122");

fn sm2(process: &'static Process) -> Result<Sm2, Refusal> {
    static KEPT: Cache<Sm2> = Cache::new();
    KEPT.get(&[], || Ok(process.runtime().sm2()?))
}

fn points(process: &'static Process) -> Result<Weierstrass, Refusal> {
    static KEPT: Cache<Weierstrass> = Cache::new();
    KEPT.get(&[], || {
        let params = WeierstrassParams {
            p: P.to_vec(),
            a: A.to_vec(),
            b: B.to_vec(),
            g: (X.to_vec(), Y.to_vec()),
            order: N.to_vec(),
            cofactor: vec![1],
            binary: false,
        };
        Ok(process.runtime().weierstrass(params)?)
    })
}

fn prime_field(field: CpaCyEcFieldType) -> Result<(), Refusal> {
    if field == CPA_CY_EC_FIELD_TYPE_PRIME { Ok(()) } else { Err(Refusal::invalid(FIELD)) }
}

/// A scalar of 32 bytes, above 0 and below the order.
unsafe fn scalar(flat: &CpaFlatBuffer, limit: &[u8]) -> Result<Secret, Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for.
    let k = unsafe { number(flat, SCALAR) }?;
    if is_below(k, limit) { padded(k, LEN, SCALAR) } else { Err(Refusal::invalid(SCALAR)) }
}

/// X || Y.
unsafe fn point([x, y]: [&CpaFlatBuffer; 2]) -> Result<Secret, Refusal> {
    let mut point = Secret::new(Vec::with_capacity(2 * LEN));
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        push(&mut point, number(x, POINT)?, LEN, POINT)?;
        push(&mut point, number(y, POINT)?, LEN, POINT)?;
    }
    Ok(point)
}

unsafe fn outs([x, y]: [*mut CpaFlatBuffer; 2]) -> Result<[Out; 2], Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe { Ok([Out::new(x, LEN, OUTPUT)?, Out::new(y, LEN, OUTPUT)?]) }
}

fn step(session: &Weierstrass, step: PointStep, parts: &[&[u8]]) -> Request {
    session.point(step, Buf::secret(parts.concat()), place(2 * LEN))
}

/// A step that waits.
fn point_of(
    process: &'static Process,
    session: &Weierstrass,
    kind: PointStep,
    parts: &[&[u8]],
) -> Result<Secret, OpError> {
    let response = process.call(step(session, kind, parts));
    written(&response).map(|point| Secret::new(point.to_vec()))
}

/// Writes the point that a request answers.
unsafe fn to(outs: [Out; 2]) -> impl FnOnce(Response) -> Outcome + use<> {
    move |response| match written(&response) {
        // SAFETY: the caller keeps the outputs until the answer.
        Ok(point) => unsafe { put_point(outs, point) },
        Err(error) => Outcome::of(error),
    }
}

/// k G: side by side where k is a private key, as all but one are.
fn generator(process: &'static Process, mut k: Secret) -> Result<Request, Refusal> {
    if compare(&k, LIMIT).is_lt() {
        let src = Buf::secret(core::mem::take(&mut *k));
        return Ok(sm2(process)?.public(src, place(1 + 2 * LEN)));
    }
    Ok(step(&points(process)?, PointStep::MultiplyGenerator, &[&k]))
}

/// 2^127 and the lower 127 bits of x.
fn x_bar(x: &[u8]) -> Secret {
    let mut bar = Secret::new(vec![0; LEN]);
    bar[16..].copy_from_slice(&x[16..]);
    bar[16] |= 0x80;
    bar
}

fn pair(flat: &CpaFlatBuffer) -> *mut CpaFlatBuffer {
    core::ptr::from_ref(flat).cast_mut()
}

crate::api! {
    fn cpaCyEcsm2PointMultiply(
        handle: CpaInstanceHandle,
        callback: CpaCyEcPointMultiplyCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcsm2PointMultiplyOpData,
        valid: *mut CpaBoolean,
        x: *mut CpaFlatBuffer,
        y: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Two(call, [x, y]));
        let caller = Caller::new(handle, Work::Sm2Multiply, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            prime_field(op.fieldType)?;
            let (k, point) = (scalar(&op.k, N)?, point([&op.x, &op.y])?);
            let outs = outs([x, y])?;
            Ok((step(&points(process)?, PointStep::Multiply, &[&k, &point]), to(outs)))
        })
    }

    fn cpaCyEcsm2GeneratorMultiply(
        handle: CpaInstanceHandle,
        callback: CpaCyEcPointMultiplyCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcsm2GeneratorMultiplyOpData,
        valid: *mut CpaBoolean,
        x: *mut CpaFlatBuffer,
        y: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Two(call, [x, y]));
        let caller = Caller::new(handle, Work::Sm2Generator, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            prime_field(op.fieldType)?;
            let k = scalar(&op.k, N)?;
            let outs = outs([x, y])?;
            Ok((generator(process, k)?, to(outs)))
        })
    }

    fn cpaCyEcsm2PointVerify(
        handle: CpaInstanceHandle,
        callback: CpaCyEcPointVerifyCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcsm2PointVerifyOpData,
        valid: *mut CpaBoolean,
    ) {
        let callback = callback.map(Callback::Flag);
        let caller = Caller::new(handle, Work::Sm2PointVerify, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            prime_field(op.fieldType)?;
            let point = point([&op.x, &op.y])?;
            let src = Buf::secret(point.to_vec());
            let request = points(process)?.point(PointStep::Verify, src, Buf::empty());
            Ok((request, |response: Response| Outcome::from(response.result.map(drop))))
        })
    }

    fn cpaCyEcsm2Sign(
        handle: CpaInstanceHandle,
        callback: CpaCyEcsm2SignCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcsm2SignOpData,
        valid: *mut CpaBoolean,
        r: *mut CpaFlatBuffer,
        s: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Two(call, [r, s]));
        let caller = Caller::new(handle, Work::Sm2Sign, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            prime_field(op.fieldType)?;
            let (k, d) = (scalar(&op.k, N)?, scalar(&op.d, LIMIT)?);
            let mut src = Secret::new(Vec::with_capacity(3 * LEN));
            src.extend_from_slice(&d);
            src.extend_from_slice(&k);
            push(&mut src, number(&op.e, DIGEST)?, LEN, DIGEST)?;
            let outs = outs([r, s])?;
            let src = Buf::secret(core::mem::take(&mut *src));
            Ok((sm2(process)?.sign_with(Nonce::Given, src, place(2 * LEN)), halves(outs)))
        })
    }

    fn cpaCyEcsm2Verify(
        handle: CpaInstanceHandle,
        callback: CpaCyEcsm2VerifyCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcsm2VerifyOpData,
        valid: *mut CpaBoolean,
    ) {
        let callback = callback.map(Callback::Flag);
        let caller = Caller::new(handle, Work::Sm2Verify, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            prime_field(op.fieldType)?;
            let mut src = Secret::new(Vec::with_capacity(1 + 5 * LEN));
            encode(&mut src, [number(&op.xP, POINT)?, number(&op.yP, POINT)?], LEN)?;
            let (r, s) = (number(&op.r, HALF)?, number(&op.s, HALF)?);
            // Halves that are out of range are wrong, and no mistake of the caller's.
            let in_range = compare(r, N).is_lt() && compare(s, N).is_lt();
            for half in [r, s] {
                push(&mut src, if in_range { half } else { &[] }, LEN, HALF)?;
            }
            push(&mut src, number(&op.e, DIGEST)?, LEN, DIGEST)?;
            let src = Buf::secret(core::mem::take(&mut *src));
            Ok((sm2(process)?.verify(src), |response: Response| {
                Outcome::from(response.result.map(drop))
            }))
        })
    }

    fn cpaCyEcsm2Encrypt(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcsm2EncryptOpData,
        out: *mut CpaCyEcsm2EncryptOutputData,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out.cast()));
        let caller = Caller::new(handle, Work::Sm2Encrypt, callback, tag, op);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            prime_field(op.fieldType)?;
            let (k, point) = (scalar(&op.k, N)?, point([&op.xP, &op.yP])?);
            let out = given(out, OUTPUT)?;
            let first = outs([pair(&out.x1), pair(&out.y1)])?;
            let second = outs([pair(&out.x2), pair(&out.y2)])?;
            let session = points(process)?;
            let request = step(&session, PointStep::Multiply, &[&k, &point]);
            let rest = Box::new((first, second, k, session));
            Ok((request, move |response: Response| {
                let (first, second, k, session) = *rest;
                let ours = point_of(process, &session, PointStep::MultiplyGenerator, &[&k]);
                match written(&response).and_then(|theirs| Ok((theirs, ours?))) {
                    Ok((theirs, ours)) => match put_point(second, theirs) {
                        Outcome::Done => put_point(first, &ours),
                        other => other,
                    },
                    Err(error) => Outcome::of(error),
                }
            }))
        })
    }

    fn cpaCyEcsm2Decrypt(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcsm2DecryptOpData,
        out: *mut CpaCyEcsm2DecryptOutputData,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out.cast()));
        let caller = Caller::new(handle, Work::Sm2Decrypt, callback, tag, op);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            prime_field(op.fieldType)?;
            let (d, point) = (scalar(&op.d, N)?, point([&op.x1, &op.y1])?);
            let out = given(out, OUTPUT)?;
            let outs = outs([pair(&out.x2), pair(&out.y2)])?;
            Ok((step(&points(process)?, PointStep::Multiply, &[&d, &point]), to(outs)))
        })
    }

    fn cpaCyEcsm2KeyExPhase1(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcsm2KeyExPhase1OpData,
        out: *mut CpaCyEcsm2KeyExOutputData,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out.cast()));
        let caller = Caller::new(handle, Work::Sm2KeyExchange1, callback, tag, op);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            prime_field(op.fieldType)?;
            let r = scalar(&op.r, N)?;
            let out = given(out, OUTPUT)?;
            let outs = outs([pair(&out.x), pair(&out.y)])?;
            Ok((generator(process, r)?, to(outs)))
        })
    }

    fn cpaCyEcsm2KeyExPhase2(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcsm2KeyExPhase2OpData,
        out: *mut CpaCyEcsm2KeyExOutputData,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out.cast()));
        let caller = Caller::new(handle, Work::Sm2KeyExchange2, callback, tag, op);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            prime_field(op.fieldType)?;
            let (r, d) = (scalar(&op.r, N)?, scalar(&op.d, N)?);
            let x1 = padded(number(&op.x1, POINT)?, LEN, POINT)?;
            let (theirs, key) = (point([&op.x2, &op.y2])?, point([&op.xP, &op.yP])?);
            let out = given(out, OUTPUT)?;
            let outs = outs([pair(&out.x), pair(&out.y)])?;
            let session = points(process)?;
            // GB/T 32918.3, 6.1: t = d + x1' r, U = t (P + x2' R).
            let request =
                step(&session, PointStep::Multiply, &[&x_bar(&theirs[..LEN]), &theirs]);
            let order = Residues::kept(process, N)?;
            let rest = Box::new((outs, r, d, x1, key, session, order));
            Ok((request, move |response: Response| {
                let (outs, r, d, x1, key, session, order) = *rest;
                let shared = written(&response).and_then(|theirs| {
                    let t = order.sum(&d, &order.product(&x_bar(&x1), &r)?)?;
                    let sum = point_of(process, &session, PointStep::Add, &[&key, theirs])?;
                    point_of(process, &session, PointStep::Multiply, &[&t, &sum])
                });
                match shared {
                    Ok(point) => put_point(outs, &point),
                    Err(error) => Outcome::of(error),
                }
            }))
        })
    }
}
