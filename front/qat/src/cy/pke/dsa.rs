//! DSA: `cpa_cy_dsa.h`.
#![allow(unsafe_code)]

use core::ffi::c_void;

use lookaside::{Arithmetic, Buf, Dsa, DsaDomain, Nonce, OpError, Request, Response};

use super::{
    cache::Cache,
    counters::Work,
    number::{Out, Secret, Whole, bits, compare, is_below, is_odd, number, padded, push, stripped},
    prime,
    request::{Callback, Caller, Outcome, place, run, written},
    rsa::to,
    steps::Residues,
};
use crate::{
    abi::*,
    process::Process,
    refusal::{Refusal, given},
};

const NO_OP: &str = "no operation data";
const P: &str = "P is missing, or even";
const Q: &str = "Q is missing, or even";
const G: &str = "G is not above 0 and below P";
const X: &str = "X is not above 0 and below its limit";
const K: &str = "K is not above 0 and below Q";
const R: &str = "R is not above 0 and below Q";
const Z: &str = "Z is missing";
const OUTPUT: &str = "no output, or one that is too short";

fn odd<'a>(number: &'a [u8], what: &'static str) -> Result<&'a [u8], Refusal> {
    if is_odd(number) { Ok(number) } else { Err(Refusal::invalid(what)) }
}

fn below<'a>(number: &'a [u8], limit: &[u8], what: &'static str) -> Result<&'a [u8], Refusal> {
    if is_below(number, limit) { Ok(number) } else { Err(Refusal::invalid(what)) }
}

/// The digest whose leftmost bits are a number, for an order of so many bits.
///
/// # Errors
/// For a number that is longer: `None` is for the caller to reduce it.
pub(super) fn digest_of(number: &[u8], order_bits: usize) -> Option<Secret> {
    let number = stripped(number);
    if bits(number) > order_bits {
        return None;
    }
    let len = order_bits.div_ceil(8);
    let surplus = 8 * len - order_bits;
    let mut digest = Secret::new(vec![0; len]);
    digest[len - number.len()..].copy_from_slice(number);
    if surplus > 0 {
        // The bits that are cut off again.
        let mut carry = 0;
        for byte in digest.iter_mut().rev() {
            (*byte, carry) = (*byte << surplus | carry, *byte >> (8 - surplus));
        }
    }
    Some(digest)
}

/// The digest of any number, which is reduced where it is longer than the order.
pub(super) fn reduced_digest(
    process: &'static Process,
    z: &[u8],
    order: &[u8],
) -> Result<Secret, Refusal> {
    if let Some(digest) = digest_of(z, bits(order)) {
        return Ok(digest);
    }
    let residue = Residues::kept(process, order)?.reduce(z);
    let residue = residue.map_err(|_| Refusal::invalid(Z))?;
    digest_of(&residue, bits(order)).ok_or(Refusal::invalid(Z))
}

/// Writes both halves of a signature.
///
/// # Safety
/// The outputs stay as they are until then.
pub(super) unsafe fn halves(outs: [Out; 2]) -> impl FnOnce(Response) -> Outcome + use<> {
    move |response| match written(&response) {
        Ok(both) => {
            let (r, s) = both.split_at(both.len() / 2);
            // SAFETY: the caller's promise.
            Outcome::when(unsafe { outs[0].put(r) & outs[1].put(s) })
        }
        Err(error) => Outcome::of(error),
    }
}

fn domain(process: &'static Process, p: &[u8], q: &[u8], g: &[u8]) -> Result<Dsa, Refusal> {
    static KEPT: Cache<Dsa> = Cache::new();
    KEPT.get(&[p, q, g], || {
        Ok(process.runtime().dsa(DsaDomain { p: p.to_vec(), q: q.to_vec(), g: g.to_vec() })?)
    })
}

fn power(process: &'static Process, [p, base, exponent]: [&[u8]; 3]) -> Result<Request, Refusal> {
    let base = padded(base, p.len(), G)?;
    Ok(Residues::kept(process, p)?.request(Arithmetic::Power, &[&base, exponent]))
}

type GenCallback = CpaCyDsaGenCbFunc;

crate::api! {
    fn cpaCyDsaGenPParam(
        handle: CpaInstanceHandle,
        callback: GenCallback,
        tag: *mut c_void,
        op: *const CpaCyDsaPParamGenOpData,
        valid: *mut CpaBoolean,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::One(call, out));
        let caller = Caller::new(handle, Work::DsaP, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let (x, q) = (number(&op.X, X)?, odd(number(&op.Q, Q)?, Q)?);
            if x.len() <= q.len() || x.len() > 1024 {
                return Err(Refusal::invalid(X));
            }
            let out = Out::new(out, x.len(), OUTPUT)?;
            // FIPS 186-4, A.1.1.2, steps 11.4 to 11.7.
            let whole = Whole::new(x);
            let (_, rest) = whole.divide(&Whole::new(q).times(&Whole::small(2)));
            let p = whole.plus(1).minus(&rest).bytes();
            let p = Secret::new(stripped(&p).to_vec());
            let long_enough = bits(&p) == bits(x);
            let request = prime::session(process)?.check(Buf::secret(p.to_vec()));
            Ok((request, move |response: Response| match prime::passed(&response) {
                Outcome::Done if long_enough => Outcome::when(out.put(&p)),
                Outcome::Done => Outcome::Invalid,
                other => other,
            }))
        })
    }

    fn cpaCyDsaGenGParam(
        handle: CpaInstanceHandle,
        callback: GenCallback,
        tag: *mut c_void,
        op: *const CpaCyDsaGParamGenOpData,
        valid: *mut CpaBoolean,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::One(call, out));
        let caller = Caller::new(handle, Work::DsaG, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let (p, q) = (odd(number(&op.P, P)?, P)?, odd(number(&op.Q, Q)?, Q)?);
            let h = below(number(&op.H, "no H")?, p, "H is not above 0 and below P")?;
            let out = Out::new(out, p.len(), OUTPUT)?;
            let (e, rest) = Whole::new(p).minus(&Whole::small(1)).divide(&Whole::new(q));
            if !rest.is_zero() {
                return Err(Refusal::invalid("Q does not divide P - 1"));
            }
            let e = e.bytes();
            let request = power(process, [p, h, stripped(&e)])?;
            Ok((request, move |response: Response| match written(&response) {
                Ok(g) => Outcome::when(stripped(g) != [1] && out.put(g)),
                Err(error) => Outcome::of(error),
            }))
        })
    }

    fn cpaCyDsaGenYParam(
        handle: CpaInstanceHandle,
        callback: GenCallback,
        tag: *mut c_void,
        op: *const CpaCyDsaYParamGenOpData,
        valid: *mut CpaBoolean,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::One(call, out));
        let caller = Caller::new(handle, Work::DsaY, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let p = odd(number(&op.P, P)?, P)?;
            let g = below(number(&op.G, G)?, p, G)?;
            let x = below(number(&op.X, X)?, p, X)?;
            let out = Out::new(out, p.len(), OUTPUT)?;
            Ok((power(process, [p, g, x])?, to(out)))
        })
    }

    fn cpaCyDsaSignR(
        handle: CpaInstanceHandle,
        callback: GenCallback,
        tag: *mut c_void,
        op: *const CpaCyDsaRSignOpData,
        valid: *mut CpaBoolean,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::One(call, out));
        let caller = Caller::new(handle, Work::DsaSignR, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let (p, q) = (odd(number(&op.P, P)?, P)?, odd(number(&op.Q, Q)?, Q)?);
            let g = below(number(&op.G, G)?, p, G)?;
            let k = below(number(&op.K, K)?, q, K)?;
            let out = Out::new(out, q.len(), OUTPUT)?;
            let (q, k) = (Residues::kept(process, q)?, padded(k, q.len(), K)?);
            let request = power(process, [p, g, &k])?;
            Ok((request, move |response: Response| {
                let r = written(&response).and_then(|power| q.reduce(power));
                match r {
                    Ok(r) => Outcome::when(!stripped(&r).is_empty() && out.put(&r)),
                    Err(error) => Outcome::of(error),
                }
            }))
        })
    }

    fn cpaCyDsaSignS(
        handle: CpaInstanceHandle,
        callback: GenCallback,
        tag: *mut c_void,
        op: *const CpaCyDsaSSignOpData,
        valid: *mut CpaBoolean,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::One(call, out));
        let caller = Caller::new(handle, Work::DsaSignS, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let q = odd(number(&op.Q, Q)?, Q)?;
            let x = below(number(&op.X, X)?, q, X)?;
            let k = below(number(&op.K, K)?, q, K)?;
            let r = below(number(&op.R, R)?, q, R)?;
            let z = number(&op.Z, Z)?;
            let out = Out::new(out, q.len(), OUTPUT)?;
            second_half_request(process, q, [z, x, r, k], out)
        })
    }

    fn cpaCyDsaSignRS(
        handle: CpaInstanceHandle,
        callback: CpaCyDsaRSSignCbFunc,
        tag: *mut c_void,
        op: *const CpaCyDsaRSSignOpData,
        valid: *mut CpaBoolean,
        out_r: *mut CpaFlatBuffer,
        out_s: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Two(call, [out_r, out_s]));
        let caller = Caller::new(handle, Work::DsaSignRs, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let (p, q) = (odd(number(&op.P, P)?, P)?, odd(number(&op.Q, Q)?, Q)?);
            let g = below(number(&op.G, G)?, p, G)?;
            let x = below(number(&op.X, X)?, q, X)?;
            let k = below(number(&op.K, K)?, q, K)?;
            let z = number(&op.Z, Z)?;
            let outs = [Out::new(out_r, q.len(), OUTPUT)?, Out::new(out_s, q.len(), OUTPUT)?];
            let session = domain(process, p, q, g)?;
            let mut src = Secret::new(Vec::with_capacity(3 * q.len()));
            push(&mut src, x, q.len(), X)?;
            push(&mut src, k, q.len(), K)?;
            src.extend_from_slice(&reduced_digest(process, z, q)?);
            let src = Buf::secret(core::mem::take(&mut *src));
            Ok((session.sign(Nonce::Given, src, place(2 * q.len())), halves(outs)))
        })
    }

    fn cpaCyDsaVerify(
        handle: CpaInstanceHandle,
        callback: CpaCyDsaVerifyCbFunc,
        tag: *mut c_void,
        op: *const CpaCyDsaVerifyOpData,
        valid: *mut CpaBoolean,
    ) {
        let callback = callback.map(Callback::Flag);
        let caller = Caller::new(handle, Work::DsaVerify, callback, tag, op).says(valid);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let (p, q) = (odd(number(&op.P, P)?, P)?, odd(number(&op.Q, Q)?, Q)?);
            let g = below(number(&op.G, G)?, p, G)?;
            let y = below(number(&op.Y, "no Y")?, p, "Y is not above 0 and below P")?;
            let z = number(&op.Z, Z)?;
            let (r, s) = (number(&op.R, R)?, number(&op.S, R)?);
            let session = domain(process, p, q, g)?;
            // Halves that are out of range are wrong, and no mistake of the caller's.
            let in_range = compare(r, q).is_lt() && compare(s, q).is_lt();
            let mut src = Secret::new(Vec::with_capacity(p.len() + 3 * q.len()));
            push(&mut src, y, p.len(), G)?;
            for half in [r, s] {
                push(&mut src, if in_range { half } else { &[] }, q.len(), R)?;
            }
            src.extend_from_slice(&reduced_digest(process, z, q)?);
            let src = Buf::secret(core::mem::take(&mut *src));
            Ok((session.verify(src), |response: Response| {
                Outcome::from(response.result.map(drop))
            }))
        })
    }
}

/// A request for the second half of a signature, (z + x r) / k modulo a prime order: the power that inverts k goes
/// through the ring.
///
/// # Safety
/// The output stays as it is until the answer.
pub(super) unsafe fn second_half_request(
    process: &'static Process,
    order: &[u8],
    [z, x, r, k]: [&[u8]; 4],
    out: Out,
) -> Result<(Request, impl FnOnce(Response) -> Outcome + use<>), Refusal> {
    let order = Residues::kept(process, order)?;
    let reduced = |number: &[u8]| order.reduce(number).map_err(|_| Refusal::invalid(Z));
    let parts = Box::new([reduced(z)?, reduced(x)?, reduced(r)?, reduced(k)?]);
    let exponent = Whole::new(order.modulus()).minus(&Whole::small(2)).bytes();
    let request = order.request(Arithmetic::Power, &[&parts[3], stripped(&exponent)]);
    Ok((request, move |response: Response| {
        let [z, x, r, k] = &*parts;
        let s = written(&response).and_then(|inverse| {
            // Where the order is no prime, that was no inverse.
            if stripped(&order.product(inverse, k)?) != [1] {
                return Err(OpError::BadInput("the order is not prime"));
            }
            let sum = order.sum(z, &order.product(x, r)?)?;
            order.product(inverse, &sum)
        });
        match s {
            // SAFETY: the caller's promise.
            Ok(s) => Outcome::when(!stripped(&s).is_empty() && unsafe { out.put(&s) }),
            Err(error) => Outcome::of(error),
        }
    }))
}
