//! The machine that the figures are of, and what a cap of ours leaves as it is.

use lookaside_simd::{CAP_VARIABLE, Cpu, Tier};

unsafe extern "C" {
    fn rival_tier(tier: std::ffi::c_int);
}

/// Lowers intel-ipsec-mb as the cap in force lowers our kernels.
pub fn limit_rivals() {
    // SAFETY: sets a number.
    unsafe { rival_tier(Cpu::host().tier() as std::ffi::c_int) }
}

/// Tier and family, and who is capped.
pub fn heading() -> String {
    let cpu = Cpu::host();
    let heading = format!("Tier {}, family {}", cpu.tier(), cpu.family());
    if let Ok(name) = std::env::var("CAP_CPU") {
        return format!("{heading}: as on a CPU like {name}, our kernels and all libraries");
    }
    if cpu.tier() == cpu.detected_tier() {
        return heading;
    }
    // Read by libcrypto, and by AWS-LC.
    let openssl = std::env::var_os("OPENSSL_ia32cap").is_some() && cpu.tier() == Tier::Avx2;
    let (capped, free) = match openssl {
        true => ("our kernels, intel-ipsec-mb, OpenSSL and AWS-LC are", "ISA-L is"),
        false => ("our kernels and intel-ipsec-mb are", "OpenSSL, AWS-LC and ISA-L are"),
    };
    format!(
        "{heading}, of a CPU with {}: by {CAP_VARIABLE}, {capped} capped; {free} NOT (all are by \
         scripts/bench-sym --cpu CPU)",
        cpu.detected_tier()
    )
}
