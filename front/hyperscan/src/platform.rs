//! The library's version, and the platform.

use std::ffi::{CStr, c_char, c_int, c_uint};

use lookaside_simd::{Cpu, Tier};

use crate::abi::{
    HS_CPU_FEATURES_AVX2, HS_CPU_FEATURES_AVX512, HS_CPU_FEATURES_AVX512VBMI, HS_INVALID,
    HS_SUCCESS, HS_TUNE_FAMILY_GENERIC, HS_TUNE_FAMILY_ICX, HS_TUNE_FAMILY_SKX, PlatformInfo,
};

/// The version whose interface this is, then whose library.
const TEXT: &str = concat!("5.4.0 Lookaside ", env!("CARGO_PKG_VERSION"), "\0");
const VERSION: &CStr = match CStr::from_bytes_with_nul(TEXT.as_bytes()) {
    Ok(version) => version,
    Err(_) => c"5.4.0",
};

/// The version as text.
#[unsafe(no_mangle)]
pub extern "C" fn hs_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Whether the CPU is supported: every one is, the kernels have portable twins.
#[unsafe(no_mangle)]
pub extern "C" fn hs_valid_platform() -> c_int {
    HS_SUCCESS
}

/// What this CPU has.
pub(crate) fn here() -> PlatformInfo {
    let (tune, cpu_features) = match Cpu::host().tier() {
        Tier::Avx512 => (
            HS_TUNE_FAMILY_ICX,
            HS_CPU_FEATURES_AVX2 | HS_CPU_FEATURES_AVX512 | HS_CPU_FEATURES_AVX512VBMI,
        ),
        Tier::Avx512Bw => (HS_TUNE_FAMILY_SKX, HS_CPU_FEATURES_AVX2 | HS_CPU_FEATURES_AVX512),
        Tier::Avx2 => (HS_TUNE_FAMILY_GENERIC, HS_CPU_FEATURES_AVX2),
        Tier::Generic => (HS_TUNE_FAMILY_GENERIC, 0),
    };
    PlatformInfo { tune: tune as c_uint, cpu_features, ..PlatformInfo::default() }
}

/// Tells what this CPU has. A database is compiled for no CPU in particular; the kernels are chosen where it runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_populate_platform(platform: *mut PlatformInfo) -> c_int {
    if platform.is_null() {
        return HS_INVALID;
    }
    // SAFETY: the caller's pointer.
    unsafe { platform.write(here()) };
    HS_SUCCESS
}
