//! Diffie-Hellman: `cpa_cy_dh.h`. Both phases are powers modulo the prime, eight side by side.
#![allow(unsafe_code)]

use core::ffi::c_void;

use lookaside::Arithmetic;

use super::{
    counters::Work,
    number::{Out, is_below, is_odd, number, padded},
    request::{Callback, Caller, run},
    rsa::to,
    steps::Residues,
};
use crate::{
    abi::*,
    refusal::{Refusal, given},
};

const NO_OP: &str = "no operation data";
const PRIME: &str = "the prime is missing, or even";
const BASE: &str = "the base or public value is not above 0 and below the prime";
const PRIVATE: &str = "the private value is missing, 0, or longer than the prime";
const OUTPUT: &str = "no output, or one shorter than the prime";

unsafe fn power(
    caller: &Caller,
    parts: impl FnOnce() -> Result<[CpaFlatBuffer; 3], Refusal>,
    out: *mut CpaFlatBuffer,
) -> Result<CpaStatus, Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        run(caller, |process| {
            let [prime, base, private] = parts()?;
            let prime = number(&prime, PRIME)?;
            let base = number(&base, BASE)?;
            let private = number(&private, PRIVATE)?;
            if !is_odd(prime) {
                return Err(Refusal::invalid(PRIME));
            }
            if !is_below(base, prime) {
                return Err(Refusal::invalid(BASE));
            }
            if private.is_empty() || private.len() > prime.len() {
                return Err(Refusal::invalid(PRIVATE));
            }
            let out = Out::new(out, prime.len(), OUTPUT)?;
            let modulus = Residues::kept(process, prime)?;
            let base = padded(base, prime.len(), BASE)?;
            Ok((modulus.request(Arithmetic::Power, &[&base, private]), to(out)))
        })
    }
}

crate::api! {
    fn cpaCyDhKeyGenPhase1(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyDhPhase1KeyGenOpData,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out));
        let caller = Caller::new(handle, Work::DhPhase1, callback, tag, op);
        let parts = || given(op, NO_OP).map(|op| [op.primeP, op.baseG, op.privateValueX]);
        power(&caller, parts, out)
    }

    fn cpaCyDhKeyGenPhase2Secret(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyDhPhase2SecretKeyGenOpData,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out));
        let caller = Caller::new(handle, Work::DhPhase2, callback, tag, op);
        let parts = || {
            given(op, NO_OP).map(|op| [op.primeP, op.remoteOctetStringPV, op.privateValueX])
        };
        power(&caller, parts, out)
    }
}
