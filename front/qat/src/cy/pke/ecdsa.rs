//! ECDSA: `cpa_cy_ecdsa.h`. Nonces are the caller's.
#![allow(unsafe_code)]

use core::ffi::c_void;

use lookaside::{Buf, Nonce, Response};

use super::{
    counters::Work,
    curves::Known,
    dsa::{halves, reduced_digest, second_half_request},
    ec::{curve, encode, session},
    number::{Out, Secret, compare, is_below, number, padded, push, stripped},
    request::{Callback, Caller, Outcome, place, run, written},
    steps::Residues,
};
use crate::{
    abi::*,
    refusal::{Refusal, given},
};

const NO_OP: &str = "no operation data";
const GENERATOR: &str = "a coordinate of the generator, or its order, is missing";
const NONCE: &str = "k is not above 0 and below the order";
const KEY: &str = "d is not above 0 and below the order";
const DIGEST: &str = "m is missing";
const HALF: &str = "r or s is missing";
const POINT: &str = "a coordinate of the public key is missing, or longer than the field";
const OUTPUT: &str = "no output, or one shorter than the order";

fn below<'a>(number: &'a [u8], limit: &[u8], what: &'static str) -> Result<&'a [u8], Refusal> {
    if is_below(number, limit) { Ok(number) } else { Err(Refusal::invalid(what)) }
}

/// The curve of a request, with its own generator and order.
unsafe fn known(
    field: CpaCyEcFieldType,
    parameters: [&CpaFlatBuffer; 3],
    [x, y, n]: [&CpaFlatBuffer; 3],
) -> Result<&'static Known, Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        let known = Known::find(&curve(field, parameters)?)?;
        let g = [number(x, GENERATOR)?, number(y, GENERATOR)?];
        known.check_generator(g, number(n, GENERATOR)?)?;
        Ok(known)
    }
}

unsafe fn sign(
    caller: &Caller,
    op: *const CpaCyEcdsaSignRSOpData,
    outs: [*mut CpaFlatBuffer; 2],
) -> Result<CpaStatus, Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        run(caller, |process| {
            let op = given(op, NO_OP)?;
            let known = known(op.fieldType, [&op.q, &op.a, &op.b], [&op.xg, &op.yg, &op.n])?;
            let (n, len) = (known.n, known.n.len());
            let d = below(number(&op.d, KEY)?, n, KEY)?;
            let k = below(number(&op.k, NONCE)?, n, NONCE)?;
            let m = number(&op.m, DIGEST)?;
            let outs = [Out::new(outs[0], len, OUTPUT)?, Out::new(outs[1], len, OUTPUT)?];
            let session = session(process, known)?;
            let mut src = Secret::new(Vec::with_capacity(3 * len));
            push(&mut src, d, len, KEY)?;
            push(&mut src, k, len, NONCE)?;
            src.extend_from_slice(&reduced_digest(process, m, n)?);
            let src = Buf::secret(core::mem::take(&mut *src));
            Ok((session.sign(Nonce::Given, src, place(2 * len)), halves(outs)))
        })
    }
}

crate::api! {
    fn cpaCyEcdsaSignR(
        handle: CpaInstanceHandle,
        callback: CpaCyEcdsaGenSignCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcdsaSignROpData,
        valid: *mut CpaBoolean,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::One(call, out));
        let caller = Caller::new(handle, Work::EcdsaSignR, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let known =
                known(op.fieldType, [&op.q, &op.a, &op.b], [&op.xg, &op.yg, &op.n])?;
            let k = below(number(&op.k, NONCE)?, known.n, NONCE)?;
            let out = Out::new(out, known.n.len(), OUTPUT)?;
            let order = Residues::kept(process, known.n)?;
            let mut src = padded(k, known.n.len(), NONCE)?;
            let src = Buf::secret(core::mem::take(&mut *src));
            let request = session(process, known)?.public(src, place(known.curve.point_len()));
            let len = known.curve.field_len();
            Ok((request, move |response: Response| {
                match written(&response).and_then(|point| order.reduce(&point[1..1 + len])) {
                    Ok(r) => Outcome::when(!stripped(&r).is_empty() && out.put(&r)),
                    Err(error) => Outcome::of(error),
                }
            }))
        })
    }

    fn cpaCyEcdsaSignS(
        handle: CpaInstanceHandle,
        callback: CpaCyEcdsaGenSignCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcdsaSignSOpData,
        valid: *mut CpaBoolean,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::One(call, out));
        let caller = Caller::new(handle, Work::EcdsaSignS, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let n = number(&op.n, GENERATOR)?;
            if n.last().is_none_or(|last| last & 1 == 0) {
                return Err(Refusal::invalid(GENERATOR));
            }
            let d = below(number(&op.d, KEY)?, n, KEY)?;
            let k = below(number(&op.k, NONCE)?, n, NONCE)?;
            let r = below(number(&op.r, HALF)?, n, HALF)?;
            let m = number(&op.m, DIGEST)?;
            let out = Out::new(out, n.len(), OUTPUT)?;
            second_half_request(process, n, [m, d, r, k], out)
        })
    }

    fn cpaCyEcdsaSignRS(
        handle: CpaInstanceHandle,
        callback: CpaCyEcdsaSignRSCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcdsaSignRSOpData,
        valid: *mut CpaBoolean,
        r: *mut CpaFlatBuffer,
        s: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Two(call, [r, s]));
        let caller = Caller::new(handle, Work::EcdsaSignRs, callback, tag, op).says(valid);
        sign(&caller, op, [r, s])
    }

    fn cpaCyEcdsaDpaSignRS(
        handle: CpaInstanceHandle,
        callback: CpaCyEcdsaSignRSCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcdsaSignRSOpData,
        _random: *const CpaFlatBuffer,
        _create: CpaBoolean,
        valid: *mut CpaBoolean,
        r: *mut CpaFlatBuffer,
        s: *mut CpaFlatBuffer,
    ) {
        // A signature takes the same time and touches the same memory for every d and k, without random numbers.
        let callback = callback.map(|call| Callback::Two(call, [r, s]));
        let caller = Caller::new(handle, Work::EcdsaSignRs, callback, tag, op).says(valid);
        sign(&caller, op, [r, s])
    }

    fn cpaCyEcdsaVerify(
        handle: CpaInstanceHandle,
        callback: CpaCyEcdsaVerifyCbFunc,
        tag: *mut c_void,
        op: *const CpaCyEcdsaVerifyOpData,
        valid: *mut CpaBoolean,
    ) {
        let callback = callback.map(Callback::Flag);
        let caller = Caller::new(handle, Work::EcdsaVerify, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let known =
                known(op.fieldType, [&op.q, &op.a, &op.b], [&op.xg, &op.yg, &op.n])?;
            let (n, len) = (known.n, known.n.len());
            let point = [number(&op.xp, POINT)?, number(&op.yp, POINT)?];
            let (r, s, m) = (number(&op.r, HALF)?, number(&op.s, HALF)?, number(&op.m, DIGEST)?);
            // Halves that are out of range are wrong, and no mistake of the caller's.
            let in_range = compare(r, n).is_lt() && compare(s, n).is_lt();
            let mut src = Secret::new(Vec::with_capacity(known.curve.point_len() + 3 * len));
            encode(&mut src, point, known.curve.field_len())?;
            for half in [r, s] {
                push(&mut src, if in_range { half } else { &[] }, len, HALF)?;
            }
            src.extend_from_slice(&reduced_digest(process, m, n)?);
            let src = Buf::secret(core::mem::take(&mut *src));
            Ok((session(process, known)?.verify(src), |response: Response| {
                Outcome::from(response.result.map(drop))
            }))
        })
    }
}
