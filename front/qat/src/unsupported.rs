//! Functions that answer `CPA_STATUS_UNSUPPORTED`, and why. To implement one: remove its line, write the function.
//! `README.md` has the reasons for programs' authors.
#![allow(unsafe_code)]

use crate::{
    abi::CpaStatus,
    refusal::{Refusal, enter},
};

/// A caller in C passes the arguments that the header asks for; nobody looks at them.
macro_rules! unsupported {
    ($($why:literal: $($name:ident)*;)*) => {
        $($(
            /// Answers `CPA_STATUS_UNSUPPORTED`.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> CpaStatus {
                enter(stringify!($name), || Err(Refusal::unsupported($why)))
            }
        )*)*

        /// The functions of this file.
        pub const UNSUPPORTED: &[&str] = &[$($(stringify!($name),)*)*];
    };
}

unsupported! {
    "dynamic instances are retired: use the instances of and ":
        cpaAllocInstance cpaFreeInstance
        icp_sal_userCyGetAvailableNumDynInstances icp_sal_userDcGetAvailableNumDynInstances
        icp_sal_userCyGetAvailableNumDynInstancesByDevPkg
        icp_sal_userCyGetAvailableNumDynInstancesByPkgAccel
        icp_sal_userDcGetAvailableNumDynInstancesByDevPkg icp_sal_userCyInstancesAlloc
        icp_sal_userCyInstancesAllocByDevPkg icp_sal_userCyInstancesAllocByPkgAccel
        icp_sal_userCyFreeInstances icp_sal_userDcInstancesAlloc
        icp_sal_userDcInstancesAllocByDevPkg icp_sal_userDcFreeInstances;
    "there is no card whose rates could be limited: the operating system shares the CPU":
        cpaGetDevRlPropertiesHandle cpaRlPropGetNumInterfaces cpaGetDevRlPropSlaCir
        cpaGetDevRlPropSlaPir cpaGetInstanceRlSlaPir cpaGetInstanceRlSlaCir cpaRlGetQpNumHandles
        cpaRlGetQpHandles cpaSetRlSla cpaDeleteRlSla cpaGetRlSla cpaEnableRateLimiting
        cpaDisableRateLimiting;
    "errors of hardware are not simulated":
        icp_sal_dc_simulate_error icp_sal_heartbeat_simulate_failure;
    "there is no IOMMU between the library and memory":
        icp_sal_iommu_map icp_sal_iommu_unmap;
    "reading a part of a buffer and padding with zeros were for hardware before 2013":
        cpaDcDpEnqueueOpWithPartRead cpaDcDpEnqueueOpWithZeroPad
        cpaDcDpEnqueueOpWithPartReadBatch cpaDcDpEnqueueOpWithZeroPadBatch
        cpaDcDpIsPartReadSupported cpaDcDpIsZeroPadSupported;
    "random numbers are not served, as in Intel's library; use getrandom":
        cpaCyDrbgGen cpaCyDrbgInitSession cpaCyDrbgQueryStats64 cpaCyDrbgRemoveSession
        cpaCyDrbgReseed cpaCyDrbgSessionGetSize cpaCyNrbgGetEntropy;
    "keys wrapped for one card's hardware cannot be unwrapped":
        cpaCyKptDeleteKey cpaCyKptEcdsaSignRS cpaCyKptLoadKey cpaCyKptQueryDeviceCredentials
        cpaCyKptQueryIssuingKeys cpaCyKptRsaDecrypt;
}
