//! Which algorithms are offered, and which are left to OpenSSL's default provider, by the family of the CPU.
//!
//! An algorithm is offered where one operation alone, outside of any job, takes no longer than in OpenSSL at
//! every size from 16 bytes to 16 KB: whoever loads the provider loses nothing by it. What is faster only in
//! jobs, or only from some size on, is left to the default provider; the setting `algorithms` offers it all
//! the same, by name or with `all`.
//!
//! The table is a measurement, `make bench-speed`, of the rows of `openssl speed`; README.md has the figures.
//! CPUs of the same family differ by less than the rows here do from 1.

use core::ffi::c_int;

use lookaside_cpu::Family;

use crate::ffi::{OP_CIPHER, OP_DIGEST, OP_MAC};

/// A row: algorithms of one operation, by the first of their names, and the families of CPUs on which they
/// are left to the default provider.
struct Left {
    operation: c_int,
    names: &'static [&'static str],
    families: &'static [Family],
}

/// Everywhere.
const ALL: &[Family] = &Family::ALL;
/// Without VAES.
const NO_VAES: &[Family] = &[Family::Generic, Family::Avx2, Family::Avx2Sha, Family::Avx512Bw];
/// Below AVX-512 as Ice Lake has it.
const BELOW: &[Family] =
    &[Family::Generic, Family::Avx2, Family::Avx2Sha, Family::Avx2Vaes, Family::Avx512Bw];

/// OpenSSL's time relative to ours, from 16 bytes to 16 KB where two figures stand; measured on Sapphire and
/// Emerald Rapids, also as lesser CPUs, and on Zen 3, beside OpenSSL 3.0, 2026-11-23.
static LEFT: &[Left] = &[
    // AVX-512: 0.60 to 1.9, slower up to 256 bytes; AVX2: 0.65 to 1.1, slower up to 1 KB.
    Left {
        operation: OP_CIPHER,
        names: &["AES-128-ECB", "AES-192-ECB", "AES-256-ECB"],
        families: ALL,
    },
    // AVX-512: 0.75 to 0.99; AVX2: 0.73 to 0.92.
    Left {
        operation: OP_CIPHER,
        names: &["AES-128-CCM", "AES-192-CCM", "AES-256-CCM"],
        families: ALL,
    },
    // As `openssl speed` runs it 0.96 to 1.4; records of TLS 1.2, which it is for, 0.64 to 1.0 up to 8 KB.
    Left {
        operation: OP_CIPHER,
        names: &[
            "AES-128-CBC-HMAC-SHA1",
            "AES-256-CBC-HMAC-SHA1",
            "AES-128-CBC-HMAC-SHA256",
            "AES-256-CBC-HMAC-SHA256",
        ],
        families: ALL,
    },
    // AVX-512: 0.40 to 2.4, slower up to 256 bytes; AVX2: 0.45 to 1.05.
    Left { operation: OP_CIPHER, names: &["AES-128-XTS", "AES-256-XTS"], families: ALL },
    // AVX-512: 0.41 to 0.97; AVX2: 0.71 to 1.0.
    Left { operation: OP_CIPHER, names: &["ChaCha20"], families: ALL },
    // As Haswell and Zen 2: 1.0 to 1.6 up to 1 KB, but 0.87 to 1.1 from 8 KB on, as downloads are; VAES and
    // AVX-512: 1.0 to 2.3.
    Left {
        operation: OP_CIPHER,
        names: &["AES-128-GCM", "AES-192-GCM", "AES-256-GCM"],
        families: NO_VAES,
    },
    // AVX-512: 0.53 to 1.25, slower up to 256 bytes; AVX2: 0.59 to 0.87.
    Left { operation: OP_CIPHER, names: &["ChaCha20-Poly1305"], families: ALL },
    // AVX-512: CBC 0.52 to 0.87 (encryption), ECB and CTR 0.4 of 16 bytes, 20 from 1 KB on; AVX2: 0.04
    // to 1.2.
    Left { operation: OP_CIPHER, names: &["SM4-CBC", "SM4-CTR", "SM4-ECB"], families: ALL },
    // AVX2: 0.81 to 1.09.
    Left { operation: OP_CIPHER, names: &["DES-EDE3", "DES-EDE3-CBC"], families: BELOW },
    // These are the legacy provider's. 0.55 to 0.63, and 0.77 to 5.8 (Zen 3), slower up to 64 bytes.
    Left { operation: OP_CIPHER, names: &["RC4", "DES-ECB", "DES-CBC"], families: ALL },
    // A copy; the way there takes longer: 0.76 to 0.97.
    Left { operation: OP_CIPHER, names: &["NULL"], families: ALL },
    // AVX2: 0.81 to 0.99; HMAC with them, 0.84 to 0.93 (Zen 4 as AVX2, 2026-11-25), follows them.
    Left {
        operation: OP_DIGEST,
        names: &["SHA3-224", "SHA3-256", "SHA3-384", "SHA3-512"],
        families: BELOW,
    },
    // 0.41 to 1.1.
    Left { operation: OP_MAC, names: &["GMAC"], families: ALL },
    // 0.10 to 1.06.
    Left { operation: OP_MAC, names: &["POLY1305"], families: ALL },
];

/// Whether an algorithm is left to the default provider on CPUs of this family.
pub fn is_left(family: Family, operation: c_int, name: &str) -> bool {
    LEFT.iter().any(|row| {
        row.operation == operation && row.families.contains(&family) && row.names.contains(&name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bulk, hash, mac};

    /// A name that is misspelt would leave nothing.
    #[test]
    fn every_name_is_one_of_ours() {
        for row in LEFT {
            let names: Vec<&str> = match row.operation {
                OP_CIPHER => bulk::list::SPECS.iter().map(bulk::list::Spec::name).collect(),
                OP_DIGEST => hash::list::SPECS.iter().map(hash::list::Spec::name).collect(),
                OP_MAC => mac::list::rows().map(|(_, row, _)| row.name()).collect(),
                operation => panic!("no list of operation {operation}"),
            };
            for name in row.names {
                assert!(names.contains(name), "{name}");
            }
        }
    }
}
