//! Large numbers: `cpa_cy_ln.h`.
#![allow(unsafe_code)]

use core::ffi::c_void;

use lookaside::Arithmetic;

use super::{
    counters::Work,
    number::{Out, number},
    request::{Callback, Caller, run},
    rsa::to,
    steps::Residues,
};
use crate::{
    abi::*,
    refusal::{Refusal, given},
};

const NO_OP: &str = "no operation data";
const MODULUS: &str = "no modulus";
const BASE: &str = "no base";
const EXPONENT: &str = "no exponent";
const OUTPUT: &str = "no output, or one shorter than the modulus";

crate::api! {
    fn cpaCyLnModExp(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyLnModExpOpData,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out));
        let caller = Caller::new(handle, Work::ModExp, callback, tag, op);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let n = number(&op.modulus, MODULUS)?;
            let base = number(&op.base, BASE)?;
            let exponent = super::number::bytes(&op.exponent, EXPONENT)?;
            let out = Out::new(out, n.len(), OUTPUT)?;
            let modulus = Residues::kept(process, n)?;
            let base = modulus.reduce(base).map_err(|_| Refusal::invalid(BASE))?;
            Ok((modulus.request(Arithmetic::Power, &[&base, exponent]), to(out)))
        })
    }

    fn cpaCyLnModInv(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyLnModInvOpData,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out));
        let caller = Caller::new(handle, Work::ModInv, callback, tag, op);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let a = number(&op.A, "no number to invert")?;
            let n = number(&op.B, MODULUS)?;
            let out = Out::new(out, n.len(), OUTPUT)?;
            let modulus = Residues::kept(process, n)?;
            let a = modulus.reduce(a).map_err(|_| Refusal::invalid(BASE))?;
            Ok((modulus.request(Arithmetic::Invert, &[&a]), to(out)))
        })
    }
}
