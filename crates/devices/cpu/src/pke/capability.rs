//! What the public-key and key-derivation services can do, for the route table and for people.

use lookaside_core::{Capability, Op};
use lookaside_simd::Cpu;

use super::LANES;

/// Who does one item at a time.
const AWS_LC: &str = "AWS-LC";
const BOTH: &str = "AWS-LC, OpenSSL's libcrypto";
const OURS: &str = "portable";

const RSA: &str = "RSA 512-8192; PKCS#1 v1.5, PSS, OAEP, raw";
const DH: &str = "Diffie-Hellman 768-8192, named and custom groups";
const DSA: &str = "DSA 1024/160, 2048/224, 2048/256, 3072/256";
const EC: &str = "P-192 to P-521, secp256k1, brainpool; B- and K-163 to 571";
const XDH: &str = "X25519, X448";
const ED: &str = "Ed25519, Ed448";
const SM2: &str = "SM2";

/// Operation, algorithms, what has a kernel with lanes side by side (empty: nothing), who does the
/// rest.
const TABLE: [(Op, &str, &str, &str); 37] = [
    (Op::RsaPrivate, RSA, "by CRT", AWS_LC),
    (Op::RsaPublic, RSA, "up to 4096", AWS_LC),
    (Op::RsaGenerate, "RSA 512-8192", "", AWS_LC),
    (Op::DhGenerate, DH, "up to 4096", AWS_LC),
    (Op::DhPublic, DH, "up to 4096", AWS_LC),
    (Op::DhDerive, DH, "up to 4096", AWS_LC),
    (Op::DsaParameters, DSA, "", AWS_LC),
    (Op::DsaGenerate, DSA, "all", AWS_LC),
    (Op::DsaSign, DSA, "all", AWS_LC),
    (Op::DsaVerify, DSA, "all", AWS_LC),
    (Op::EcGenerate, EC, "P-224 to P-521", BOTH),
    (Op::EcPublic, EC, "P-224 to P-521", BOTH),
    (Op::EcDerive, EC, "P-224 to P-521", BOTH),
    (Op::EcSign, EC, "P-224 to P-521", BOTH),
    (Op::EcVerify, EC, "P-224 to P-521", BOTH),
    (Op::Point, "any Weierstrass curve by parameters", "", BOTH),
    (Op::XdhGenerate, XDH, "all", BOTH),
    (Op::XdhPublic, XDH, "all", BOTH),
    (Op::XdhDerive, XDH, "all", BOTH),
    (Op::EdGenerate, ED, "Ed25519", BOTH),
    (Op::EdPublic, ED, "Ed25519", BOTH),
    (Op::EdSign, ED, "Ed25519", BOTH),
    (Op::EdVerify, ED, "Ed25519", BOTH),
    (Op::Sm2Generate, SM2, "all", AWS_LC),
    (Op::Sm2Public, SM2, "all", AWS_LC),
    (Op::Sm2Sign, SM2, "all", AWS_LC),
    (Op::Sm2Verify, SM2, "all", AWS_LC),
    (Op::Sm2Encrypt, SM2, "", BOTH),
    (Op::Sm2Decrypt, SM2, "", BOTH),
    (Op::Sm2Exchange, SM2, "", BOTH),
    (Op::Sm2Identity, SM2, "", BOTH),
    (Op::Modular, "modulo 1-8192 bits", "powers, odd moduli up to 4096", AWS_LC),
    (Op::BinaryField, "GF(2^m)", "", OURS),
    (Op::PrimeGenerate, "primes, safe primes", "", AWS_LC),
    (Op::PrimeCheck, "primes", "", AWS_LC),
    (Op::TlsPrf, "TLS 1.0-1.2", "", AWS_LC),
    (Op::Hkdf, "extract, expand, TLS 1.3 labels", "", AWS_LC),
];

/// A session says how many it gains from; this is what an operation gains from at best.
fn best_batch_of(kernel: &str) -> usize {
    if kernel.is_empty() { 1 } else { LANES }
}

/// How many requests at once suit an operation; 0 for one that is not in the table.
pub(crate) fn best_batch(cpu: &Cpu, op: Op) -> usize {
    let row = TABLE.iter().find(|row| row.0 == op);
    row.map_or(0, |row| best_batch_of(if cpu.avx512().is_some() { row.2 } else { "" }))
}

pub(crate) fn capabilities(cpu: &Cpu) -> Vec<Capability> {
    let lanes = cpu.avx512().is_some();
    let row = |&(op, algorithm, kernel, alone): &(Op, &str, &str, &str)| {
        let kernel = if lanes { kernel } else { "" };
        Capability {
            op,
            algorithm: algorithm.into(),
            served_by: match kernel {
                "" => alone.into(),
                _ => format!("{LANES} side by side, AVX-512 IFMA ({kernel}); else {alone}"),
            },
            best_batch: best_batch_of(kernel),
            max_src: isize::MAX as usize,
        }
    };
    TABLE.iter().map(row).collect()
}
