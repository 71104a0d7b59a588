//! As much DER as signatures need: SEQUENCEs of INTEGERs, and algorithm identifiers.

use lookaside::{EdCurve, Hash, SaltLen};

/// The length octets of a value.
fn length(len: usize, out: &mut Vec<u8>) {
    if len < 0x80 {
        out.push(len as u8);
    } else {
        let bytes = len.to_be_bytes();
        let skip = bytes.iter().take_while(|&&b| b == 0).count();
        out.push(0x80 | (bytes.len() - skip) as u8);
        out.extend_from_slice(&bytes[skip..]);
    }
}

/// A value with its tag and length.
pub fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    length(content.len(), &mut out);
    out.extend_from_slice(content);
    out
}

/// An INTEGER, from a number that is not negative, big-endian.
pub fn integer(big: &[u8]) -> Vec<u8> {
    let zeros = big.iter().take_while(|&&b| b == 0).count();
    let digits = &big[zeros..];
    let mut content = Vec::with_capacity(digits.len() + 1);
    if digits.first().is_none_or(|b| b >> 7 == 1) {
        content.push(0);
    }
    content.extend_from_slice(digits);
    wrap(0x02, &content)
}

/// `SEQUENCE { r INTEGER, s INTEGER }` from r, s of equal length.
pub fn signature(rs: &[u8]) -> Vec<u8> {
    let (r, s) = rs.split_at(rs.len() / 2);
    let mut content = integer(r);
    content.extend_from_slice(&integer(s));
    wrap(0x30, &content)
}

/// The length of a value with this much content, tag and length included.
fn wrapped_len(content: usize) -> usize {
    let mut out = Vec::new();
    length(content, &mut out);
    1 + out.len() + content
}

/// The most bytes that [`signature`] makes of two numbers of `bits` bits.
pub fn signature_len(bits: usize) -> usize {
    // With the bit for the sign.
    wrapped_len(2 * wrapped_len(bits / 8 + 1))
}

/// The most bytes of an SM2 ciphertext of a message of `len` bytes (GB/T 35276):
/// `SEQUENCE { x INTEGER, y INTEGER, digest OCTET STRING, message OCTET STRING }`.
pub fn sm2_ciphertext_len(len: usize) -> usize {
    wrapped_len(2 * wrapped_len(33) + wrapped_len(32) + wrapped_len(len))
}

/// How long the message in an SM2 ciphertext is; `None` for what is not one in DER.
pub fn sm2_plaintext_len(der: &[u8]) -> Option<usize> {
    let (content, after) = take(0x30, der)?;
    let (_x, rest) = take(0x02, content)?;
    let (_y, rest) = take(0x02, rest)?;
    let (_digest, rest) = take(0x04, rest)?;
    let (message, rest) = take(0x04, rest)?;
    (after.is_empty() && rest.is_empty()).then_some(message.len())
}

/// The content of a value with this tag, and what follows it. Lengths in their shortest form only.
fn take(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let len = if first < 0x80 {
        usize::from(first)
    } else {
        let n = usize::from(first & 0x7f);
        let (bytes, after) = rest.split_at_checked(n).filter(|_| (1..=4).contains(&n))?;
        rest = after;
        let len = bytes.iter().fold(0usize, |len, &b| len << 8 | usize::from(b));
        if bytes[0] == 0 || len < 0x80 {
            return None;
        }
        len
    };
    (found == tag).then_some(())?;
    rest.split_at_checked(len)
}

/// Two numbers of `len` bytes each from `SEQUENCE { r INTEGER, s INTEGER }`; `None` for whatever is
/// not exactly that, in DER, or a number that is negative or longer.
pub fn open_signature(der: &[u8], len: usize) -> Option<Vec<u8>> {
    let (content, after) = take(0x30, der)?;
    let (r, rest) = take(0x02, content)?;
    let (s, rest) = take(0x02, rest)?;
    if !after.is_empty() || !rest.is_empty() {
        return None;
    }
    let mut rs = Vec::with_capacity(2 * len);
    for number in [r, s] {
        let number = match number {
            [] | [128..=255, ..] => return None,
            [0, next, ..] if next >> 7 == 0 => return None,
            [0, digits @ ..] => digits,
            digits => digits,
        };
        rs.resize(rs.len() + len.checked_sub(number.len())?, 0);
        rs.extend_from_slice(number);
    }
    Some(rs)
}

/// An OBJECT IDENTIFIER from its content octets.
fn oid(content: &[u8]) -> Vec<u8> {
    wrap(0x06, content)
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    wrap(0x30, &parts.concat())
}

const NULL: &[u8] = &[0x05, 0];
/// 1.2.840.113549.1.1: PKCS #1.
const PKCS1: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
/// 2.16.840.1.101.3.4: NIST's algorithms.
const NIST: [u8; 8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0];

fn nist(arc: u8, number: u8) -> Vec<u8> {
    let mut content = NIST;
    content[7] = arc;
    oid(&[&content[..], &[number]].concat())
}

/// The algorithm identifier of RSA with PKCS#1 v1.5 padding and this hash; `None` where none is
/// registered.
pub fn rsa_pkcs1(hash: Hash) -> Option<Vec<u8>> {
    let pkcs1 = |n: u8| oid(&[&PKCS1[..], &[n]].concat());
    let id = match hash {
        Hash::Md5 => pkcs1(4),
        Hash::Sha1 => pkcs1(5),
        Hash::Sha224 => pkcs1(14),
        Hash::Sha256 => pkcs1(11),
        Hash::Sha384 => pkcs1(12),
        Hash::Sha512 => pkcs1(13),
        Hash::Sha512_224 => pkcs1(15),
        Hash::Sha512_256 => pkcs1(16),
        Hash::Sha3_224 => nist(3, 13),
        Hash::Sha3_256 => nist(3, 14),
        Hash::Sha3_384 => nist(3, 15),
        Hash::Sha3_512 => nist(3, 16),
        // 1.3.36.3.3.1.2, rsaSignatureWithripemd160.
        Hash::Ripemd160 => oid(&[0x2b, 0x24, 0x03, 0x03, 0x01, 0x02]),
        _ => return None,
    };
    Some(sequence(&[&id, NULL]))
}

/// The algorithm identifier of a hash, as it stands in the parameters of PSS.
fn hash_id(hash: Hash) -> Option<Vec<u8>> {
    let id = match hash {
        Hash::Sha1 => oid(&[0x2b, 0x0e, 0x03, 0x02, 0x1a]),
        Hash::Sha256 => nist(2, 1),
        Hash::Sha384 => nist(2, 2),
        Hash::Sha512 => nist(2, 3),
        Hash::Sha224 => nist(2, 4),
        Hash::Sha512_224 => nist(2, 5),
        Hash::Sha512_256 => nist(2, 6),
        _ => return None,
    };
    Some(sequence(&[&id, NULL]))
}

/// The algorithm identifier of RSA-PSS with these parameters (RFC 4055 section 3.1). What has its
/// default value is left out, as DER demands.
pub fn rsa_pss(hash: Hash, mgf: Hash, salt: usize) -> Option<Vec<u8>> {
    let mut params = Vec::new();
    if hash != Hash::Sha1 {
        params.extend(wrap(0xa0, &hash_id(hash)?));
    }
    if mgf != Hash::Sha1 {
        let mgf1 = oid(&[&PKCS1[..], &[8]].concat());
        params.extend(wrap(0xa1, &sequence(&[&mgf1, &hash_id(mgf)?])));
    }
    if salt != 20 {
        params.extend(wrap(0xa2, &integer(&salt.to_be_bytes())));
    }
    let id = oid(&[&PKCS1[..], &[10]].concat());
    Some(sequence(&[&id, &wrap(0x30, &params)]))
}

/// The algorithm identifier of ECDSA with this hash (RFC 5758).
pub fn ecdsa(hash: Hash) -> Option<Vec<u8>> {
    /// 1.2.840.10045.4
    const ANSI: [u8; 6] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
    let id = match hash {
        Hash::Sha1 => oid(&[&ANSI[..], &[1]].concat()),
        Hash::Sha224 => oid(&[&ANSI[..], &[3, 1]].concat()),
        Hash::Sha256 => oid(&[&ANSI[..], &[3, 2]].concat()),
        Hash::Sha384 => oid(&[&ANSI[..], &[3, 3]].concat()),
        Hash::Sha512 => oid(&[&ANSI[..], &[3, 4]].concat()),
        Hash::Sha3_224 => nist(3, 9),
        Hash::Sha3_256 => nist(3, 10),
        Hash::Sha3_384 => nist(3, 11),
        Hash::Sha3_512 => nist(3, 12),
        _ => return None,
    };
    Some(wrap(0x30, &id))
}

/// The algorithm identifier of DSA with this hash (RFC 3279, RFC 5758).
pub fn dsa(hash: Hash) -> Option<Vec<u8>> {
    let id = match hash {
        // 1.2.840.10040.4.3
        Hash::Sha1 => oid(&[0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x03]),
        Hash::Sha224 => nist(3, 1),
        Hash::Sha256 => nist(3, 2),
        Hash::Sha384 => nist(3, 3),
        Hash::Sha512 => nist(3, 4),
        Hash::Sha3_224 => nist(3, 5),
        Hash::Sha3_256 => nist(3, 6),
        Hash::Sha3_384 => nist(3, 7),
        Hash::Sha3_512 => nist(3, 8),
        _ => return None,
    };
    Some(wrap(0x30, &id))
}

/// The algorithm identifier of Ed25519 or Ed448 (RFC 8410).
pub fn eddsa(curve: EdCurve) -> Vec<u8> {
    let last = match curve {
        EdCurve::Ed25519 => 112,
        EdCurve::Ed448 => 113,
    };
    wrap(0x30, &oid(&[0x2b, 0x65, last]))
}

/// The algorithm identifier of SM2 with SM3, 1.2.156.10197.1.501 (GB/T 33560).
pub fn sm2() -> Vec<u8> {
    wrap(0x30, &oid(&[0x2a, 0x81, 0x1c, 0xcf, 0x55, 0x01, 0x83, 0x75]))
}

/// The salt's length in bytes for a modulus of `bits` bits (RFC 8017 section 9.1.1).
pub fn salt_len(salt: SaltLen, hash_len: usize, bits: usize) -> Option<usize> {
    let most = (bits - 1).div_ceil(8).checked_sub(hash_len + 2)?;
    match salt {
        SaltLen::Digest => Some(hash_len).filter(|&n| n <= most),
        SaltLen::Exactly(n) => Some(usize::from(n)).filter(|&n| n <= most),
        SaltLen::UpToDigest => Some(hash_len.min(most)),
        SaltLen::Max | SaltLen::Auto => Some(most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_there_and_back() {
        let rs = [&[0u8, 0, 0x80, 1][..], &[0, 0, 0, 0]].concat();
        let der = signature(&rs);
        assert_eq!(der, [0x30, 8, 2, 3, 0, 0x80, 1, 2, 1, 0]);
        assert_eq!(open_signature(&der, 4).unwrap(), rs);
        assert!(open_signature(&der, 1).is_none());
        let long = [0xffu8; 132];
        assert_eq!(signature(&long).len(), signature_len(528));
        // P-521: the top byte has one bit.
        let top = [&[1u8][..], &[0xff; 65]].concat().repeat(2);
        assert_eq!(signature(&top).len(), signature_len(521));
        assert_eq!(open_signature(&signature(&long), 66).unwrap(), long);
    }

    #[test]
    fn lengths_of_sm2_ciphertexts() {
        let parts = [integer(&[0xff; 32]), integer(&[0xff; 32]), wrap(4, &[1; 32]), wrap(4, b"m")];
        let der = wrap(0x30, &parts.concat());
        assert_eq!(sm2_ciphertext_len(1), der.len());
        assert_eq!(sm2_plaintext_len(&der), Some(1));
        assert_eq!(sm2_plaintext_len(&der[..der.len() - 1]), None);
    }

    #[test]
    fn only_der_is_opened() {
        for bad in [
            &[][..],
            &[0x30, 6, 2, 1, 1, 2, 1, 1, 0],
            &[0x30, 6, 2, 1, 0x80, 2, 1, 1],
            &[0x30, 7, 2, 2, 0, 1, 2, 1, 1],
            &[0x30, 0x81, 6, 2, 1, 1, 2, 1, 1],
            &[0x30, 7, 2, 1, 1, 2, 1, 1, 0],
            &[0x30, 5, 2, 1, 1, 2, 0],
            &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 2],
        ] {
            assert!(open_signature(bad, 4).is_none(), "{bad:?}");
        }
        assert!(open_signature(&[0x30, 6, 2, 1, 1, 2, 1, 1], 4).is_some());
    }
}
