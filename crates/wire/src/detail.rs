//! The arguments of a request in three numbers.

use lookaside_core::{Detail, Hash, Nonce, RsaScheme, SaltLen};

use crate::{Malformed, numbers};

/// A kind and two words.
pub(crate) type Packed = (u8, [u64; 2]);

pub(crate) fn pack(detail: &Detail) -> Result<Packed, Malformed> {
    Ok(match *detail {
        Detail::None => (0, [0; 2]),
        Detail::Rsa(scheme) => (1, [rsa(scheme)?, 0]),
        Detail::RsaRecover(scheme) => (2, [rsa(scheme)?, 0]),
        Detail::Nonce(Nonce::Hedged) => (3, [0; 2]),
        Detail::Nonce(Nonce::Deterministic(hash)) => (4, [hash_number(hash)?, 0]),
        Detail::Nonce(Nonce::Given) => (5, [0; 2]),
        Detail::Cofactor(yes) => (6, [yes.into(), 0]),
        Detail::Arithmetic(step) => (7, [numbers::of(&numbers::ARITHMETIC, &step)?.into(), 0]),
        Detail::Point(step) => (8, [numbers::of(&numbers::POINT, &step)?.into(), 0]),
        Detail::Prime { bits, safe } => (9, [bits.into(), safe.into()]),
        Detail::Sm2Exchange(role) => (10, [numbers::of(&numbers::SM2, &role)?.into(), 0]),
        Detail::TlsPrf { secret_len } => (11, [secret_len.into(), 0]),
        Detail::Hkdf { mode, key_len, salt_len } => {
            let mode = numbers::of(&numbers::HKDF, &mode)?;
            (12, [mode.into(), u64::from(key_len) | u64::from(salt_len) << 32])
        }
    })
}

pub(crate) fn unpack((kind, [a, b]): Packed) -> Result<Detail, Malformed> {
    let detail = match kind {
        0 => Detail::None,
        1 => Detail::Rsa(rsa_scheme(a)?),
        2 => Detail::RsaRecover(rsa_scheme(a)?),
        3 => Detail::Nonce(Nonce::Hedged),
        4 => Detail::Nonce(Nonce::Deterministic(hash(byte(a)?)?)),
        5 => Detail::Nonce(Nonce::Given),
        6 => Detail::Cofactor(truth(a)?),
        7 => Detail::Arithmetic(numbers::get(&numbers::ARITHMETIC, byte(a)?, "arithmetic")?),
        8 => Detail::Point(numbers::get(&numbers::POINT, byte(a)?, "step on points")?),
        9 => Detail::Prime { bits: word(a)?, safe: truth(b)? },
        10 => Detail::Sm2Exchange(numbers::get(&numbers::SM2, byte(a)?, "side of an exchange")?),
        11 => Detail::TlsPrf { secret_len: word(a)? },
        12 => Detail::Hkdf {
            mode: numbers::get(&numbers::HKDF, byte(a)?, "half of HKDF")?,
            key_len: b as u32,
            salt_len: (b >> 32) as u32,
        },
        _ => return Err(Malformed::Number("kind of arguments")),
    };
    // What a kind does not use is 0.
    match pack(&detail)? == (kind, [a, b]) {
        true => Ok(detail),
        false => Err(Malformed::Number("argument")),
    }
}

fn byte(n: u64) -> Result<u8, Malformed> {
    u8::try_from(n).map_err(|_| Malformed::Number("argument"))
}

fn word(n: u64) -> Result<u32, Malformed> {
    u32::try_from(n).map_err(|_| Malformed::Number("argument"))
}

fn truth(n: u64) -> Result<bool, Malformed> {
    match n {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Malformed::Number("truth value")),
    }
}

fn hash_number(hash: Hash) -> Result<u64, Malformed> {
    numbers::of(&Hash::ALL, &hash).map(u64::from)
}

pub(crate) fn hash(n: u8) -> Result<Hash, Malformed> {
    numbers::get(&Hash::ALL, n, "hash")
}

/// Kind, two hashes or a flag, kind of the salt, two numbers of 16 bits.
fn rsa(scheme: RsaScheme) -> Result<u64, Malformed> {
    let hashes = |hash, mgf| Ok(hash_number(hash)? << 8 | hash_number(mgf)? << 16);
    Ok(match scheme {
        RsaScheme::Raw => 0,
        RsaScheme::Pkcs1Sign(None) => 1,
        RsaScheme::Pkcs1Sign(Some(hash)) => 2 | hash_number(hash)? << 8,
        RsaScheme::Pss { hash, mgf, salt } => {
            let (kind, len) = match salt {
                SaltLen::Digest => (0, 0),
                SaltLen::Max => (1, 0),
                SaltLen::UpToDigest => (2, 0),
                SaltLen::Auto => (3, 0),
                SaltLen::Exactly(len) => (4, u64::from(len)),
            };
            3 | hashes(hash, mgf)? | kind << 24 | len << 32
        }
        RsaScheme::Pkcs1Encrypt => 4,
        RsaScheme::Pkcs1Tls { client_version, alternative } => {
            let other = alternative.map_or(0, |version| 1 << 8 | u64::from(version) << 48);
            5 | u64::from(client_version) << 32 | other
        }
        RsaScheme::Oaep { hash, mgf, label_len } => {
            6 | hashes(hash, mgf)? | u64::from(label_len) << 32
        }
    })
}

fn rsa_scheme(n: u64) -> Result<RsaScheme, Malformed> {
    let [kind, first, second, salt, ..] = n.to_le_bytes();
    let (number, other) = ((n >> 32) as u16, (n >> 48) as u16);
    Ok(match kind {
        0 => RsaScheme::Raw,
        1 => RsaScheme::Pkcs1Sign(None),
        2 => RsaScheme::Pkcs1Sign(Some(hash(first)?)),
        3 => RsaScheme::Pss {
            hash: hash(first)?,
            mgf: hash(second)?,
            salt: match salt {
                0 => SaltLen::Digest,
                1 => SaltLen::Max,
                2 => SaltLen::UpToDigest,
                3 => SaltLen::Auto,
                4 => SaltLen::Exactly(number),
                _ => return Err(Malformed::Number("length of a salt")),
            },
        },
        4 => RsaScheme::Pkcs1Encrypt,
        5 => RsaScheme::Pkcs1Tls {
            client_version: number,
            alternative: truth(first.into())?.then_some(other),
        },
        6 => RsaScheme::Oaep { hash: hash(first)?, mgf: hash(second)?, label_len: number },
        _ => return Err(Malformed::Number("RSA scheme")),
    })
}
