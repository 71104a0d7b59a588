//! Which implementation serves what, for people to read.

use lookaside_simd::{Cpu, Tier};

use crate::choice::{self, Algorithm};
use crate::{Aead, Auth, Cipher, Hash, Sym};

const LIBRARY: &str = "AWS-LC";
const BOTH: &str = "kernels and AWS-LC";

fn kernel(cpu: &Cpu) -> &'static str {
    match cpu.tier() {
        Tier::Avx512Bw | Tier::Avx512 => "kernels, AVX-512",
        Tier::Avx2 => "kernels, AVX2",
        Tier::Generic => "kernels, portable",
    }
}

/// AES has a kernel only where there are instructions for it.
fn aes(cpu: &Cpu) -> &'static str {
    if cpu.avx2().is_some() { kernel(cpu) } else { LIBRARY }
}

/// Our kernel takes the lengths that it is quicker at.
fn chacha20(algorithm: Algorithm, cpu: &Cpu) -> &'static str {
    if choice::own_from(algorithm, cpu).is_some() { BOTH } else { LIBRARY }
}

fn cipher(cipher: Cipher, cpu: &Cpu) -> &'static str {
    match cipher {
        Cipher::Null => "a copy",
        Cipher::Arc4 => LIBRARY,
        Cipher::ChaCha20 => chacha20(Algorithm::Cipher(cipher), cpu),
        Cipher::AesEcb | Cipher::AesCbc | Cipher::AesCtr | Cipher::AesXts => aes(cpu),
        // Long texts go to the lanes.
        Cipher::DesEcb | Cipher::DesCbc => BOTH,
        Cipher::TripleDesEcb | Cipher::TripleDesCbc | Cipher::TripleDesCtr => BOTH,
        // These have vectors for many packets only.
        Cipher::Snow3gUea2 | Cipher::ZucEea3 => "kernels, portable",
        Cipher::KasumiF8 | Cipher::Sm4Ecb | Cipher::Sm4Cbc | Cipher::Sm4Ctr => kernel(cpu),
    }
}

fn hash(hash: Hash, cpu: &Cpu) -> &'static str {
    match hash {
        Hash::Sha3_224 | Hash::Sha3_256 | Hash::Sha3_384 | Hash::Sha3_512 | Hash::Sm3 => {
            kernel(cpu)
        }
        _ => LIBRARY,
    }
}

fn auth(auth: Auth, cpu: &Cpu) -> &'static str {
    match auth {
        Auth::Plain(algorithm) | Auth::Hmac(algorithm) => hash(algorithm, cpu),
        Auth::Nested { inner, outer } => either(hash(inner, cpu), hash(outer, cpu)),
        Auth::AesXcbc | Auth::AesCbcMac | Auth::AesCmac | Auth::AesGmac => aes(cpu),
        Auth::Crc32 | Auth::Crc64 | Auth::Poly1305 | Auth::KasumiF9 => kernel(cpu),
        Auth::Snow3gUia2 | Auth::ZucEia3 => "kernels, portable",
    }
}

fn either(one: &'static str, other: &'static str) -> &'static str {
    if one == other { one } else { BOTH }
}

/// What serves one packet of a session.
pub(crate) fn served_by(spec: &Sym, cpu: &Cpu) -> &'static str {
    match spec {
        Sym::Cipher { cipher: algorithm, .. } => cipher(*algorithm, cpu),
        Sym::Auth { auth: algorithm, .. } => auth(*algorithm, cpu),
        Sym::Aead { aead: Aead::AesCcm | Aead::AesGcm, .. } => aes(cpu),
        Sym::Aead { aead: aead @ Aead::ChaCha20Poly1305, .. } => {
            chacha20(Algorithm::Aead(*aead), cpu)
        }
        Sym::Chain { cipher: one, auth: other, .. } => either(cipher(*one, cpu), auth(*other, cpu)),
        Sym::TlsCbc { .. } => either(aes(cpu), LIBRARY),
    }
}

/// Names with the tier.
macro_rules! of_tier {
    ($tier:expr, $($name:expr),*) => {
        match $tier {
            Tier::Avx512Bw | Tier::Avx512 => concat!($($name,)* ", AVX-512"),
            Tier::Avx2 => concat!($($name,)* ", AVX2"),
            Tier::Generic => concat!($($name,)* ", portable"),
        }
    };
}

/// intel-ipsec-mb and its version.
macro_rules! ipsec_mb {
    () => {
        concat!("intel-ipsec-mb ", env!("LOOKASIDE_IPSEC_MB_VERSION"))
    };
}

/// What serves a session, by turns: our kernels for many packets, intel-ipsec-mb, and `single`, which
/// serves some lengths `alone` or all.
pub(crate) fn name(
    own: bool,
    library: bool,
    alone: bool,
    tier: Tier,
    single: &'static str,
) -> &'static str {
    let aws_lc = alone && single.contains(LIBRARY);
    match (own, library, aws_lc) {
        (false, false, _) => single,
        (true, false, false) => of_tier!(tier, "kernels"),
        (true, false, true) => BOTH,
        (false, true, false) => of_tier!(tier, ipsec_mb!()),
        (false, true, true) => of_tier!(tier, "AWS-LC and ", ipsec_mb!()),
        (true, true, false) => of_tier!(tier, "kernels and ", ipsec_mb!()),
        (true, true, true) => of_tier!(tier, "kernels, AWS-LC and ", ipsec_mb!()),
    }
}
