//! Core's words to the service's, and back.

use lookaside_cipher as service;
use lookaside_core::{Aead, Auth, ChainOrder, Cipher, Hash, Op, OpError, Secret, SetupError, Sym};

/// What the service makes a session from.
pub(super) fn spec(sym: &Sym) -> Result<service::Spec, SetupError> {
    use service::Spec;
    Ok(match sym {
        Sym::Cipher { cipher: c, key } => Spec::Cipher { cipher: cipher(*c)?, key: secret(key) },
        Sym::Auth { auth: a, key, tag_len } => {
            Spec::Auth { auth: auth(*a)?, key: secret(key), tag_len: *tag_len }
        }
        Sym::Aead { aead: a, key, tag_len } => {
            Spec::Aead { aead: aead(*a)?, key: secret(key), tag_len: *tag_len }
        }
        Sym::Chain { cipher: c, cipher_key, auth: a, auth_key, tag_len, order } => Spec::Chain {
            cipher: cipher(*c)?,
            cipher_key: secret(cipher_key),
            auth: auth(*a)?,
            auth_key: secret(auth_key),
            tag_len: *tag_len,
            order: match order {
                ChainOrder::CipherThenAuth => service::Order::CipherThenAuth,
                ChainOrder::AuthThenCipher => service::Order::AuthThenCipher,
            },
        },
        Sym::TlsCbc { key, hash: h, auth_key } => {
            Spec::TlsCbc { key: secret(key), hash: hash(*h)?, auth_key: secret(auth_key) }
        }
    })
}

fn unknown() -> SetupError {
    unsupported("this algorithm")
}

fn unsupported(what: &'static str) -> SetupError {
    SetupError::Unsupported { device: "cpu".into(), op: Op::Encrypt, what }
}

fn secret(secret: &Secret) -> service::Secret {
    service::Secret::new(secret.to_vec())
}

/// Declares a mapping between enums whose variants have equal names.
macro_rules! same {
    ($function:ident $core:ident => $service:ty { $($variant:ident)* }) => {
        fn $function(of: $core) -> Result<$service, SetupError> {
            Ok(match of {
                $($core::$variant => <$service>::$variant,)*
                #[allow(unreachable_patterns)]
                _ => return Err(unknown()),
            })
        }
    };
}

same! { cipher Cipher => service::Cipher {
    Null Arc4 AesEcb AesCbc AesCtr AesXts DesEcb DesCbc TripleDesEcb TripleDesCbc TripleDesCtr KasumiF8
    Snow3gUea2 ZucEea3 ChaCha20 Sm4Ecb Sm4Cbc Sm4Ctr
} }

same! { hash Hash => service::Hash {
    Md5 Sha1 Sha224 Sha256 Sha384 Sha512 Sha3_224 Sha3_256 Sha3_384 Sha3_512 Sm3
} }

same! { aead Aead => service::Aead { AesGcm AesCcm ChaCha20Poly1305 } }

fn auth(of: Auth) -> Result<service::Auth, SetupError> {
    Ok(match of {
        Auth::Plain(h) => service::Auth::Plain(hash(h)?),
        Auth::Crc32 => service::Auth::Plain(service::Hash::Crc32),
        Auth::Crc64 => service::Auth::Plain(service::Hash::Crc64),
        Auth::Hmac(h) => service::Auth::Hmac(hash(h)?),
        Auth::Nested { inner, outer } => {
            service::Auth::Nested { inner: hash(inner)?, outer: hash(outer)? }
        }
        Auth::AesXcbc => service::Auth::AesXcbc,
        Auth::AesCbcMac => service::Auth::AesCbcMac,
        Auth::AesCmac => service::Auth::AesCmac,
        Auth::AesGmac => service::Auth::AesGmac,
        Auth::KasumiF9 => service::Auth::KasumiF9,
        Auth::Snow3gUia2 => service::Auth::Snow3gUia2,
        Auth::ZucEia3 => service::Auth::ZucEia3,
        Auth::Poly1305 => service::Auth::Poly1305,
    })
}

/// What went wrong with a session.
pub(super) fn setup_error(e: service::Error) -> SetupError {
    match e {
        service::Error::BadSpec(what) => SetupError::Key { what },
        service::Error::BadInput(what) | service::Error::Library(what) => unsupported(what),
        _ => unknown(),
    }
}

/// What went wrong with a packet.
#[cold]
pub(super) fn error(e: service::Error) -> OpError {
    match e {
        service::Error::DstTooSmall => OpError::DstTooSmall,
        service::Error::BadInput(what) => OpError::BadInput(what),
        service::Error::AuthFailed => OpError::AuthFailed,
        service::Error::BadSpec(_) => OpError::Unsupported,
        service::Error::Library(what) => OpError::Library(what),
        _ => OpError::Cancelled,
    }
}

/// Which way an operation goes.
#[inline]
pub(super) fn direction(op: Op) -> service::Direction {
    match op {
        Op::Encrypt | Op::Digest | Op::Seal => service::Direction::Seal,
        _ => service::Direction::Open,
    }
}
