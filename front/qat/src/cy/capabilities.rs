//! What an instance of cryptography can do.
#![allow(unsafe_code)]

use lookaside::Op;

use crate::{
    abi::*, discovery::serves, instance::Service, process::Process, refusal::wanted,
    unsupported::UNSUPPORTED,
};

crate::api! {
    fn cpaCyQueryCapabilities(handle: CpaInstanceHandle, info: *mut CpaCyCapabilitiesInfo) {
        Process::get()?.instance(handle, Service::Cy)?;
        let info = wanted(info, "no place for the capabilities")?;
        // Those whose functions are there, and are served.
        let flag = |function: &str, op: Option<Op>| {
            let is_there = !UNSUPPORTED.contains(&function);
            Ok::<_, crate::refusal::Refusal>(match is_there && op.map_or(Ok(true), serves)? {
                true => CPA_TRUE,
                false => CPA_FALSE,
            })
        };
        *info = CpaCyCapabilitiesInfo {
            symSupported: flag("cpaCySymPerformOp", Some(Op::Encrypt))?,
            symDpSupported: flag("cpaCySymDpEnqueueOp", Some(Op::Encrypt))?,
            dhSupported: flag("cpaCyDhKeyGenPhase1", None)?,
            dsaSupported: flag("cpaCyDsaSignRS", None)?,
            rsaSupported: flag("cpaCyRsaDecrypt", None)?,
            ecSupported: flag("cpaCyEcPointMultiply", None)?,
            ecdhSupported: flag("cpaCyEcdhPointMultiply", None)?,
            ecdsaSupported: flag("cpaCyEcdsaSignRS", None)?,
            keySupported: flag("cpaCyKeyGenTls2", None)?,
            lnSupported: flag("cpaCyLnModExp", None)?,
            primeSupported: flag("cpaCyPrimeTest", None)?,
            drbgSupported: flag("cpaCyDrbgGen", None)?,
            nrbgSupported: flag("cpaCyNrbgGetEntropy", None)?,
            // cpa_cy_rand.h is retired.
            randSupported: CPA_FALSE,
            kptSupported: flag("cpaCyKptRsaDecrypt", None)?,
            hkdfSupported: flag("cpaCyKeyGenTls3", None)?,
            // Ciphers with MACs of other families: SNOW 3G with EIA3, and so on.
            extAlgchainSupported: flag("cpaCySymPerformOp", Some(Op::Seal))?,
            ecEdMontSupported: flag("cpaCyEcMontEdwdsPointMultiply", None)?,
            ecSm2Supported: flag("cpaCyEcsm2Sign", None)?,
        };
        Ok(CPA_STATUS_SUCCESS)
    }
}
