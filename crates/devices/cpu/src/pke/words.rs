//! Core's words as the service's.

use lookaside_core as core;
use lookaside_core::{OpError, SetupError};
use lookaside_pke::{
    Error, binary, ec, eddsa,
    hash::Hash,
    kdf::HkdfMode,
    modular,
    nonce::Nonce,
    rsa::{SaltLength, Scheme},
    sm2, xdh,
};

pub(super) fn error(e: Error) -> OpError {
    match e {
        Error::NotRun => OpError::Cancelled,
        Error::DstTooSmall => OpError::DstTooSmall,
        Error::BadInput(what) | Error::BadKey(what) => OpError::BadInput(what),
        Error::AuthFailed => OpError::AuthFailed,
        Error::Unsupported(_) => OpError::Unsupported,
        Error::Fault => OpError::Fault,
        Error::Library(what) => OpError::Library(what),
        _ => OpError::Cancelled,
    }
}

pub(super) fn setup_error(op: core::Op, e: Error) -> SetupError {
    match e {
        Error::BadInput(what) | Error::BadKey(what) => SetupError::Key { what },
        Error::Unsupported(what) => SetupError::Unsupported { device: "cpu".into(), op, what },
        _ => SetupError::Unsupported { device: "cpu".into(), op, what: "a library failed" },
    }
}

/// `None` for a hash that no library here has for these purposes.
pub(super) fn hash(h: core::Hash) -> Option<Hash> {
    Some(match h {
        core::Hash::Md5 => Hash::Md5,
        core::Hash::Sha1 => Hash::Sha1,
        core::Hash::Md5Sha1 => Hash::Md5Sha1,
        core::Hash::Ripemd160 => Hash::Ripemd160,
        core::Hash::Sha224 => Hash::Sha224,
        core::Hash::Sha256 => Hash::Sha256,
        core::Hash::Sha384 => Hash::Sha384,
        core::Hash::Sha512 => Hash::Sha512,
        core::Hash::Sha512_224 => Hash::Sha512_224,
        core::Hash::Sha512_256 => Hash::Sha512_256,
        core::Hash::Sha3_224 => Hash::Sha3_224,
        core::Hash::Sha3_256 => Hash::Sha3_256,
        core::Hash::Sha3_384 => Hash::Sha3_384,
        core::Hash::Sha3_512 => Hash::Sha3_512,
        _ => return None,
    })
}

pub(super) fn scheme(s: core::RsaScheme) -> Option<Scheme> {
    Some(match s {
        core::RsaScheme::Raw => Scheme::Raw,
        core::RsaScheme::Pkcs1Sign(None) => Scheme::Pkcs1Sign { hash: None },
        core::RsaScheme::Pkcs1Sign(Some(h)) => Scheme::Pkcs1Sign { hash: Some(hash(h)?) },
        core::RsaScheme::Pss { hash: h, mgf, salt } => {
            let salt = match salt {
                core::SaltLen::Digest => SaltLength::Digest,
                core::SaltLen::Max => SaltLength::Max,
                core::SaltLen::Auto => SaltLength::Auto,
                core::SaltLen::Exactly(n) => SaltLength::Exactly(n),
            };
            Scheme::Pss { hash: hash(h)?, mgf_hash: hash(mgf)?, salt }
        }
        core::RsaScheme::Pkcs1Encrypt => Scheme::Pkcs1Encrypt,
        core::RsaScheme::Pkcs1Tls { client_version, alternative } => {
            Scheme::Pkcs1Tls { client_version, alternative }
        }
        core::RsaScheme::Oaep { hash: h, mgf, label_len } => {
            Scheme::Oaep { hash: hash(h)?, mgf_hash: hash(mgf)?, label_len }
        }
    })
}

pub(super) fn nonce(n: core::Nonce) -> Option<Nonce> {
    Some(match n {
        core::Nonce::Hedged => Nonce::Hedged,
        core::Nonce::Deterministic(h) => Nonce::Deterministic(hash(h)?),
    })
}

pub(super) fn hkdf_mode(m: core::HkdfMode) -> HkdfMode {
    match m {
        core::HkdfMode::ExtractAndExpand => HkdfMode::ExtractAndExpand,
        core::HkdfMode::Extract => HkdfMode::Extract,
        core::HkdfMode::Expand => HkdfMode::Expand,
        core::HkdfMode::ExpandLabel => HkdfMode::ExpandLabel,
    }
}

/// `None` for exponentiation, which is a function of its own.
pub(super) fn modular(a: core::Arithmetic) -> Option<modular::Arithmetic> {
    Some(match a {
        core::Arithmetic::Add => modular::Arithmetic::Add,
        core::Arithmetic::Subtract => modular::Arithmetic::Subtract,
        core::Arithmetic::Multiply => modular::Arithmetic::Multiply,
        core::Arithmetic::Square => modular::Arithmetic::Square,
        core::Arithmetic::Reduce => modular::Arithmetic::Reduce,
        core::Arithmetic::Invert => modular::Arithmetic::Inverse,
        _ => return None,
    })
}

/// `None` for what GF(2^m) does not have apart: addition is subtraction.
pub(super) fn binary(a: core::Arithmetic) -> Option<binary::Arithmetic> {
    Some(match a {
        core::Arithmetic::Add | core::Arithmetic::Subtract => binary::Arithmetic::Add,
        core::Arithmetic::Multiply => binary::Arithmetic::Multiply,
        core::Arithmetic::Square => binary::Arithmetic::Square,
        core::Arithmetic::Reduce => binary::Arithmetic::Reduce,
        core::Arithmetic::Invert => binary::Arithmetic::Inverse,
        _ => return None,
    })
}

pub(super) fn curve(c: core::Curve) -> Option<ec::Curve> {
    Some(match c {
        core::Curve::P192 => ec::Curve::P192,
        core::Curve::P224 => ec::Curve::P224,
        core::Curve::P256 => ec::Curve::P256,
        core::Curve::P384 => ec::Curve::P384,
        core::Curve::P521 => ec::Curve::P521,
        core::Curve::Secp256k1 => ec::Curve::Secp256k1,
        core::Curve::B163 => ec::Curve::B163,
        core::Curve::B233 => ec::Curve::B233,
        core::Curve::B283 => ec::Curve::B283,
        core::Curve::B409 => ec::Curve::B409,
        core::Curve::B571 => ec::Curve::B571,
        core::Curve::K163 => ec::Curve::K163,
        core::Curve::K233 => ec::Curve::K233,
        core::Curve::K283 => ec::Curve::K283,
        core::Curve::K409 => ec::Curve::K409,
        core::Curve::K571 => ec::Curve::K571,
        core::Curve::BrainpoolP256r1 => ec::Curve::BrainpoolP256r1,
        core::Curve::BrainpoolP384r1 => ec::Curve::BrainpoolP384r1,
        core::Curve::BrainpoolP512r1 => ec::Curve::BrainpoolP512r1,
    })
}

pub(super) fn xdh(c: core::XdhCurve) -> xdh::Curve {
    match c {
        core::XdhCurve::X25519 => xdh::Curve::X25519,
        core::XdhCurve::X448 => xdh::Curve::X448,
    }
}

pub(super) fn eddsa(c: core::EdCurve) -> eddsa::Curve {
    match c {
        core::EdCurve::Ed25519 => eddsa::Curve::Ed25519,
        core::EdCurve::Ed448 => eddsa::Curve::Ed448,
    }
}

pub(super) fn role(r: core::Sm2Role) -> sm2::Role {
    match r {
        core::Sm2Role::Initiator => sm2::Role::Initiator,
        core::Sm2Role::Responder => sm2::Role::Responder,
    }
}
