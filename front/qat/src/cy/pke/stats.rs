//! The interface's structures of statistics. Each is a row of numbers: for each operation how many requests were
//! accepted and refused, completed and failed, and of some how often the output was not valid.
#![allow(unsafe_code)]

use super::counters::Work;
use crate::{
    abi::*,
    instance::Service,
    process::Process,
    refusal::{Refusal, wanted},
};

/// How a structure counts outputs that are not valid.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Invalid {
    /// As errors.
    Error,
    /// By themselves, behind the four others.
    Apart,
}

const NO_PLACE: &str = "no place for the statistics";

/// Fills a structure: four or five numbers for each operation, then `tail`.
///
/// # Safety
/// `place` is null, or a structure that consists of numbers of `N` alone.
unsafe fn fill<T, N: TryFrom<u64> + Copy>(
    handle: CpaInstanceHandle,
    place: *mut T,
    works: &[Work],
    invalid: Invalid,
    tail: impl Fn(&[u64]) -> Vec<u64>,
) -> Result<CpaStatus, Refusal> {
    let process = Process::get()?;
    let instance = process.instance(handle, Service::Cy)?;
    // SAFETY: the caller's promise.
    let place = core::ptr::from_mut(unsafe { wanted(place, NO_PLACE) }?).cast::<N>();
    let mut numbers = Vec::new();
    let mut not_valid = Vec::new();
    for work in works {
        let [requests, refused, completed, failed, wrong] = instance.pke.read(*work);
        not_valid.push(wrong);
        match (invalid, work) {
            (Invalid::Apart, _) => numbers.extend([requests, refused, completed, failed, wrong]),
            // What was verified is completed, whatever came out.
            (Invalid::Error, Work::DsaVerify | Work::Prime) => {
                numbers.extend([requests, refused, completed + wrong, failed]);
            }
            (Invalid::Error, _) => numbers.extend([requests, refused, completed, failed + wrong]),
        }
    }
    numbers.extend(tail(&not_valid));
    assert_eq!(numbers.len() * size_of::<N>(), size_of::<T>(), "a structure of another length");
    for (index, number) in numbers.into_iter().enumerate() {
        // 32-bit numbers stay at their most.
        let most = if size_of::<N>() == 4 { u32::MAX.into() } else { u64::MAX };
        let Ok(number) = N::try_from(number.min(most)) else { continue };
        // SAFETY: within the structure, as asserted.
        unsafe { place.add(index).write(number) };
    }
    Ok(CPA_STATUS_SUCCESS)
}

const RSA: &[Work] = &[Work::RsaKeyGen, Work::RsaEncrypt, Work::RsaDecrypt];
const DH: &[Work] = &[Work::DhPhase1, Work::DhPhase2];
const DSA: &[Work] = &[
    Work::DsaP,
    Work::DsaG,
    Work::DsaY,
    Work::DsaSignR,
    Work::DsaSignS,
    Work::DsaSignRs,
    Work::DsaVerify,
];
const EC: &[Work] = &[Work::EcMultiply, Work::EcVerify];
const ECDH: &[Work] = &[Work::Ecdh];
const ECDSA: &[Work] = &[Work::EcdsaSignR, Work::EcdsaSignS, Work::EcdsaSignRs, Work::EcdsaVerify];
const SM2: &[Work] = &[
    Work::Sm2Multiply,
    Work::Sm2Generator,
    Work::Sm2PointVerify,
    Work::Sm2Sign,
    Work::Sm2Verify,
    Work::Sm2Encrypt,
    Work::Sm2Decrypt,
    Work::Sm2KeyExchange1,
    Work::Sm2KeyExchange2,
];
const KEY: &[Work] = &[Work::KeySsl, Work::KeyTls, Work::KeyMgf];
const LN: &[Work] = &[Work::ModExp, Work::ModInv];
const PRIME: &[Work] = &[Work::Prime];

fn nothing(_: &[u64]) -> Vec<u64> {
    Vec::new()
}

/// What failed its verification, of the last operation.
fn failures(invalid: &[u64]) -> Vec<u64> {
    invalid.last().copied().into_iter().collect()
}

crate::api! {
    fn cpaCyRsaQueryStats(handle: CpaInstanceHandle, stats: *mut CpaCyRsaStats) {
        fill::<_, u32>(handle, stats, RSA, Invalid::Error, nothing)
    }

    fn cpaCyRsaQueryStats64(handle: CpaInstanceHandle, stats: *mut CpaCyRsaStats64) {
        // Wrapped keys: none.
        fill::<_, u64>(handle, stats, RSA, Invalid::Error, |_| vec![0; 4])
    }

    fn cpaCyDhQueryStats(handle: CpaInstanceHandle, stats: *mut CpaCyDhStats) {
        fill::<_, u32>(handle, stats, DH, Invalid::Error, nothing)
    }

    fn cpaCyDhQueryStats64(handle: CpaInstanceHandle, stats: *mut CpaCyDhStats64) {
        fill::<_, u64>(handle, stats, DH, Invalid::Error, nothing)
    }

    fn cpaCyDsaQueryStats(handle: CpaInstanceHandle, stats: *mut CpaCyDsaStats) {
        fill::<_, u32>(handle, stats, DSA, Invalid::Error, failures)
    }

    fn cpaCyDsaQueryStats64(handle: CpaInstanceHandle, stats: *mut CpaCyDsaStats64) {
        fill::<_, u64>(handle, stats, DSA, Invalid::Error, failures)
    }

    fn cpaCyEcQueryStats64(handle: CpaInstanceHandle, stats: *mut CpaCyEcStats64) {
        fill::<_, u64>(handle, stats, EC, Invalid::Apart, nothing)
    }

    fn cpaCyEcdhQueryStats64(handle: CpaInstanceHandle, stats: *mut CpaCyEcdhStats64) {
        fill::<_, u64>(handle, stats, ECDH, Invalid::Apart, nothing)
    }

    fn cpaCyEcdsaQueryStats64(handle: CpaInstanceHandle, stats: *mut CpaCyEcdsaStats64) {
        // Wrapped keys: none.
        fill::<_, u64>(handle, stats, ECDSA, Invalid::Apart, |_| vec![0; 5])
    }

    fn cpaCyEcsm2QueryStats64(handle: CpaInstanceHandle, stats: *mut CpaCyEcsm2Stats64) {
        fill::<_, u64>(handle, stats, SM2, Invalid::Apart, nothing)
    }

    fn cpaCyKeyGenQueryStats(handle: CpaInstanceHandle, stats: *mut CpaCyKeyGenStats) {
        fill::<_, u32>(handle, stats, KEY, Invalid::Error, nothing)
    }

    fn cpaCyKeyGenQueryStats64(handle: CpaInstanceHandle, stats: *mut CpaCyKeyGenStats64) {
        fill::<_, u64>(handle, stats, KEY, Invalid::Error, nothing)
    }

    fn cpaCyLnStatsQuery(handle: CpaInstanceHandle, stats: *mut CpaCyLnStats) {
        fill::<_, u32>(handle, stats, LN, Invalid::Error, nothing)
    }

    fn cpaCyLnStatsQuery64(handle: CpaInstanceHandle, stats: *mut CpaCyLnStats64) {
        fill::<_, u64>(handle, stats, LN, Invalid::Error, nothing)
    }

    fn cpaCyPrimeQueryStats(handle: CpaInstanceHandle, stats: *mut CpaCyPrimeStats) {
        fill::<_, u32>(handle, stats, PRIME, Invalid::Error, failures)
    }

    fn cpaCyPrimeQueryStats64(handle: CpaInstanceHandle, stats: *mut CpaCyPrimeStats64) {
        fill::<_, u64>(handle, stats, PRIME, Invalid::Error, failures)
    }
}
