//! The specification of a session as bytes.
//!
//! All services have a form but scanning and XML: their sets and resolvers are not sent.

use std::sync::Arc;

use lookaside_core::{Auth, Compression, Format, Hash, Kdf, Secret, SessionSpec, Sym};
use zeroize::Zeroizing;

use crate::{
    Malformed,
    bytes::{Reader, Writer},
    detail::hash,
    numbers::{self, AEADS, CHECKSUMS, CIPHERS, HUFFMAN, ORDERS},
    pke,
};

/// The bytes of a specification. They may contain a key: whoever keeps them keeps them as one.
///
/// # Errors
/// [`Malformed::Unsendable`] for sessions that have no form, or are larger than a message.
pub fn encode(spec: &SessionSpec) -> Result<Zeroizing<Vec<u8>>, Malformed> {
    let mut to = Writer::new();
    match spec {
        SessionSpec::Mover => to.u8(0)?,
        SessionSpec::Rng => to.u8(1)?,
        SessionSpec::Compression(spec) => {
            to.u8(2)?;
            compression(&mut to, spec)?;
        }
        SessionSpec::CompressStream { spec, dictionary } => {
            to.u8(3)?;
            compression(&mut to, spec)?;
            to.optional(dictionary.as_deref())?;
        }
        SessionSpec::DecompressStream { format, dictionary } => {
            to.u8(4)?;
            to.u8(numbers::of(&Format::ALL, format)?)?;
            to.optional(dictionary.as_deref())?;
        }
        SessionSpec::Pke(spec) => {
            to.u8(5)?;
            pke::encode(&mut to, spec)?;
        }
        SessionSpec::Kdf(kdf) => {
            let (kind, hash) = match kdf {
                Kdf::TlsPrf(hash) => (6, hash),
                Kdf::Hkdf(hash) => (7, hash),
            };
            to.u8(kind)?;
            to.u8(numbers::of(&Hash::ALL, hash)?)?;
        }
        SessionSpec::Sym(sym) => {
            to.u8(8)?;
            symmetric(&mut to, sym)?;
        }
        _ => return Err(Malformed::Unsendable("a session of this service")),
    }
    Ok(to.finish())
}

/// The specification of these bytes. It may be refused by a device still: values that belong together are
/// not looked at here.
///
/// # Errors
/// For bytes that [`encode`] does not make.
pub fn decode(bytes: &[u8]) -> Result<SessionSpec, Malformed> {
    let mut from = Reader::new(bytes);
    let spec = match from.u8()? {
        0 => SessionSpec::Mover,
        1 => SessionSpec::Rng,
        2 => SessionSpec::Compression(get_compression(&mut from)?),
        3 => SessionSpec::CompressStream {
            spec: get_compression(&mut from)?,
            dictionary: from.optional()?.map(Arc::from),
        },
        4 => SessionSpec::DecompressStream {
            format: numbers::get(&Format::ALL, from.u8()?, "format")?,
            dictionary: from.optional()?.map(Arc::from),
        },
        5 => SessionSpec::Pke(pke::decode(&mut from)?),
        6 => SessionSpec::Kdf(Kdf::TlsPrf(hash(from.u8()?)?)),
        7 => SessionSpec::Kdf(Kdf::Hkdf(hash(from.u8()?)?)),
        8 => SessionSpec::Sym(get_symmetric(&mut from)?),
        _ => return Err(Malformed::Number("kind of session")),
    };
    from.end()?;
    Ok(spec)
}

fn compression(to: &mut Writer, spec: &Compression) -> Result<(), Malformed> {
    to.raw(&[
        numbers::of(&Format::ALL, &spec.format)?,
        spec.level,
        numbers::of(&HUFFMAN, &spec.huffman)?,
        spec.window_bits,
        spec.block_bits,
        spec.min_match,
        numbers::of(&CHECKSUMS, &spec.checksum)?,
    ])
}

fn get_compression(from: &mut Reader<'_>) -> Result<Compression, Malformed> {
    let spec = Compression {
        format: numbers::get(&Format::ALL, from.u8()?, "format")?,
        level: from.u8()?,
        huffman: numbers::get(&HUFFMAN, from.u8()?, "Huffman code")?,
        window_bits: from.u8()?,
        block_bits: from.u8()?,
        min_match: from.u8()?,
        checksum: numbers::get(&CHECKSUMS, from.u8()?, "checksum")?,
    };
    match spec.validate() {
        Ok(()) => Ok(spec),
        Err(_) => Err(Malformed::Number("parameter of compression")),
    }
}

fn auth(to: &mut Writer, auth: &Auth) -> Result<(), Malformed> {
    let none = 0;
    let number = |hash| numbers::of(&Hash::ALL, hash);
    to.raw(&match auth {
        Auth::Plain(hash) => [0, number(hash)?, none],
        Auth::Crc32 => [1, none, none],
        Auth::Crc64 => [2, none, none],
        Auth::Hmac(hash) => [3, number(hash)?, none],
        Auth::Nested { inner, outer } => [4, number(inner)?, number(outer)?],
        Auth::AesXcbc => [5, none, none],
        Auth::AesCbcMac => [6, none, none],
        Auth::AesCmac => [7, none, none],
        Auth::AesGmac => [8, none, none],
        Auth::KasumiF9 => [9, none, none],
        Auth::Snow3gUia2 => [10, none, none],
        Auth::ZucEia3 => [11, none, none],
        Auth::Poly1305 => [12, none, none],
    })
}

fn get_auth(from: &mut Reader<'_>) -> Result<Auth, Malformed> {
    let (kind, first, second) = (from.u8()?, from.u8()?, from.u8()?);
    let used = match kind {
        0 | 3 => 1,
        4 => 2,
        _ => 0,
    };
    if (used < 2 && second != 0) || (used < 1 && first != 0) {
        return Err(Malformed::Number("hash"));
    }
    Ok(match kind {
        0 => Auth::Plain(hash(first)?),
        1 => Auth::Crc32,
        2 => Auth::Crc64,
        3 => Auth::Hmac(hash(first)?),
        4 => Auth::Nested { inner: hash(first)?, outer: hash(second)? },
        5 => Auth::AesXcbc,
        6 => Auth::AesCbcMac,
        7 => Auth::AesCmac,
        8 => Auth::AesGmac,
        9 => Auth::KasumiF9,
        10 => Auth::Snow3gUia2,
        11 => Auth::ZucEia3,
        12 => Auth::Poly1305,
        _ => return Err(Malformed::Number("MAC")),
    })
}

fn length(to: &mut Writer, len: usize) -> Result<(), Malformed> {
    to.u32(u32::try_from(len).map_err(|_| Malformed::Unsendable("a tag of 4 GiB"))?)
}

fn symmetric(to: &mut Writer, sym: &Sym) -> Result<(), Malformed> {
    match sym {
        Sym::Cipher { cipher, key } => {
            to.raw(&[0, numbers::of(&CIPHERS, cipher)?])?;
            to.bytes(key)
        }
        Sym::Auth { auth: algorithm, key, tag_len } => {
            to.u8(1)?;
            auth(to, algorithm)?;
            to.bytes(key)?;
            length(to, *tag_len)
        }
        Sym::Aead { aead, key, tag_len } => {
            to.raw(&[2, numbers::of(&AEADS, aead)?])?;
            to.bytes(key)?;
            length(to, *tag_len)
        }
        Sym::Chain { cipher, cipher_key, auth: algorithm, auth_key, tag_len, order } => {
            to.raw(&[3, numbers::of(&CIPHERS, cipher)?, numbers::of(&ORDERS, order)?])?;
            to.bytes(cipher_key)?;
            auth(to, algorithm)?;
            to.bytes(auth_key)?;
            length(to, *tag_len)
        }
        Sym::TlsCbc { key, hash, auth_key } => {
            to.raw(&[4, numbers::of(&Hash::ALL, hash)?])?;
            to.bytes(key)?;
            to.bytes(auth_key)
        }
    }
}

fn get_symmetric(from: &mut Reader<'_>) -> Result<Sym, Malformed> {
    let cipher = |n| numbers::get(&CIPHERS, n, "cipher");
    let key = |from: &mut Reader<'_>| from.bytes().map(Secret::new);
    Ok(match from.u8()? {
        0 => Sym::Cipher { cipher: cipher(from.u8()?)?, key: key(from)? },
        1 => Sym::Auth { auth: get_auth(from)?, key: key(from)?, tag_len: from.u32()? as usize },
        2 => Sym::Aead {
            aead: numbers::get(&AEADS, from.u8()?, "AEAD")?,
            key: key(from)?,
            tag_len: from.u32()? as usize,
        },
        3 => {
            let cipher = cipher(from.u8()?)?;
            let order = numbers::get(&ORDERS, from.u8()?, "order of a chain")?;
            Sym::Chain {
                cipher,
                order,
                cipher_key: key(from)?,
                auth: get_auth(from)?,
                auth_key: key(from)?,
                tag_len: from.u32()? as usize,
            }
        }
        4 => Sym::TlsCbc { hash: hash(from.u8()?)?, key: key(from)?, auth_key: key(from)? },
        _ => return Err(Malformed::Number("symmetric session")),
    })
}
