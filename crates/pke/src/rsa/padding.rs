//! The encodings of PKCS #1 (RFC 8017): what is done to a message before the private or public
//! operation, and undone after it.
//!
//! A block has k bytes, the length of the modulus. Decoding after a private operation takes the
//! same time and touches the same memory whatever is in the block, up to the one bit that says
//! whether it was good and the length that is returned.

use arrayvec::ArrayVec;
use zeroize::Zeroizing;

use super::keys::MAX_BITS;
use crate::hash::{digest as digest_of, digest_into, equal};
use crate::{Hash, OpError, SaltLen, random};

const TOO_LONG: OpError = OpError::BadInput("too long for the modulus");

/// All ones if a = 0, else 0.
pub(super) fn mask_zero(a: usize) -> usize {
    // Only 0 has neither a nor a - 1 ... below 2^63: the highest bit of !a & (a - 1) says it.
    std::hint::black_box((((!a & a.wrapping_sub(1)) >> (usize::BITS - 1)) as isize).wrapping_neg())
        as usize
}

/// All ones if a < b, else 0, for a and b below 2^63.
pub(super) fn mask_less(a: usize, b: usize) -> usize {
    std::hint::black_box(((a.wrapping_sub(b) >> (usize::BITS - 1)) as isize).wrapping_neg())
        as usize
}

/// a where the mask is all ones, b where it is 0.
pub(super) fn select(mask: usize, a: usize, b: usize) -> usize {
    b ^ (mask & (a ^ b))
}

/// The DER encoding of a DigestInfo up to the digest.
fn digest_info(hash: Hash) -> Result<ArrayVec<u8, 19>, OpError> {
    /// Of 2.16.840.1.101.3.4.2.`number`.
    fn nist(number: u8, len: usize) -> ArrayVec<u8, 19> {
        let len = len as u8;
        [0x30, 17 + len, 0x30, 13, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, number, 5, 0, 4, len]
            .into()
    }
    let len = hash.len();
    Ok(match hash {
        Hash::Md5 => {
            [0x30, 32, 0x30, 12, 6, 8, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 2, 5, 5, 0, 4, 16]
                .into_iter()
                .collect()
        }
        Hash::Sha1 => {
            [0x30, 33, 0x30, 9, 6, 5, 0x2b, 14, 3, 2, 0x1a, 5, 0, 4, 20].into_iter().collect()
        }
        Hash::Ripemd160 => {
            [0x30, 33, 0x30, 9, 6, 5, 0x2b, 0x24, 3, 2, 1, 5, 0, 4, 20].into_iter().collect()
        }
        // TLS 1.0 signs the two digests bare.
        Hash::Md5Sha1 => ArrayVec::new(),
        Hash::Sha256 => nist(1, len),
        Hash::Sha384 => nist(2, len),
        Hash::Sha512 => nist(3, len),
        Hash::Sha224 => nist(4, len),
        Hash::Sha512_224 => nist(5, len),
        Hash::Sha512_256 => nist(6, len),
        Hash::Sha3_224 => nist(7, len),
        Hash::Sha3_256 => nist(8, len),
        Hash::Sha3_384 => nist(9, len),
        Hash::Sha3_512 => nist(10, len),
        Hash::Sm3 => return Err(OpError::Unsupported),
    })
}

fn check_digest(hash: Hash, digest: &[u8]) -> Result<(), OpError> {
    if digest.len() == hash.len() {
        Ok(())
    } else {
        Err(OpError::BadInput("the digest is not as long as the hash function's"))
    }
}

/// EMSA-PKCS1-v1_5: 0 1 ff .. ff 0 DigestInfo.
pub(super) fn pkcs1_sign(
    block: &mut [u8],
    hash: Option<Hash>,
    digest: &[u8],
) -> Result<(), OpError> {
    let mut info = ArrayVec::new();
    if let Some(hash) = hash {
        check_digest(hash, digest)?;
        info = digest_info(hash)?;
    }
    let len = info.len() + digest.len();
    let zero = block.len().checked_sub(len + 1).filter(|&zero| zero >= 10).ok_or(TOO_LONG)?;
    block[..2].copy_from_slice(&[0, 1]);
    block[2..zero].fill(0xff);
    block[zero] = 0;
    block[zero + 1..][..info.len()].copy_from_slice(&info);
    block[zero + 1 + info.len()..].copy_from_slice(digest);
    Ok(())
}

/// Whether the block is what [`pkcs1_sign`] makes of the digest: made again and compared, so
/// nothing is parsed.
pub(super) fn pkcs1_verify(block: &[u8], hash: Option<Hash>, digest: &[u8]) -> Result<(), OpError> {
    let mut wanted = [0; MAX_BITS / 8];
    let wanted = &mut wanted[..block.len()];
    pkcs1_sign(wanted, hash, digest)?;
    if wanted == block { Ok(()) } else { Err(OpError::AuthFailed) }
}

/// The digest (without a hash function: everything after the padding) in a block that a signature
/// opened to.
pub(super) fn pkcs1_recover(block: &[u8], hash: Option<Hash>) -> Result<&[u8], OpError> {
    let end = match block.strip_prefix(&[0, 1]) {
        Some(rest) => 2 + rest.iter().take_while(|&&byte| byte == 0xff).count(),
        None => return Err(OpError::AuthFailed),
    };
    if end < 10 || block.get(end) != Some(&0) {
        return Err(OpError::AuthFailed);
    }
    let data = &block[end + 1..];
    let Some(hash) = hash else { return Ok(data) };
    data.strip_prefix(&digest_info(hash)?[..])
        .filter(|digest| digest.len() == hash.len())
        .ok_or(OpError::AuthFailed)
}

/// RSAES-PKCS1-v1_5: 0 2 random bytes 0 message.
pub(super) fn pkcs1_encrypt(block: &mut [u8], message: &[u8]) -> Result<(), OpError> {
    let zero =
        block.len().checked_sub(message.len() + 1).filter(|&zero| zero >= 10).ok_or(TOO_LONG)?;
    block[..2].copy_from_slice(&[0, 2]);
    random::fill(&mut block[2..zero])?;
    for byte in &mut block[2..zero] {
        while *byte == 0 {
            random::fill(std::slice::from_mut(byte))?;
        }
    }
    block[zero] = 0;
    block[zero + 1..].copy_from_slice(message);
    Ok(())
}

/// A block of RSAES-PKCS1-v1_5 seen without branches: whether it is good (a mask), and where the
/// first zero after the padding stands.
pub(super) fn pkcs1_scan(block: &[u8]) -> (usize, usize) {
    let mut good = mask_zero(block[0].into()) & mask_zero((block[1] ^ 2).into());
    let (mut searching, mut zero) = (usize::MAX, 0);
    for (index, &byte) in block.iter().enumerate().skip(2) {
        let here = mask_zero(byte.into());
        zero = select(searching & here, index, zero);
        searching &= !here;
    }
    good &= !searching & !mask_less(zero, 10);
    (good, zero)
}

/// The 48 bytes of a TLS premaster secret (RFC 5246, 7.4.7.1), or random ones where the padding,
/// the length or the version in the first two bytes is wrong: the handshake fails later.
pub(super) fn tls_premaster(
    block: &[u8],
    version: u16,
    alternative: Option<u16>,
    out: &mut [u8; 48],
) -> Result<(), OpError> {
    let mut random: Zeroizing<[u8; 48]> = Zeroizing::new(random::bytes()?);
    let secret = &block[block.len() - 48..];
    let (mut good, zero) = pkcs1_scan(block);
    good &= mask_zero(zero ^ (block.len() - 49));
    let [high, low] = [0, 1].map(|index| usize::from(secret[index]));
    let found = high << 8 | low;
    let mut matches = mask_zero(found ^ usize::from(version));
    if let Some(alternative) = alternative {
        matches |= mask_zero(found ^ usize::from(alternative));
    }
    good &= matches;
    for (random, secret) in random.iter_mut().zip(secret) {
        *random = select(good, (*secret).into(), (*random).into()) as u8;
    }
    out.copy_from_slice(&*random);
    Ok(())
}

/// `out` ^= MGF1(seed) (RFC 8017, B.2.1).
fn mask_by(hash: Hash, seed: &[u8], out: &mut [u8]) -> Result<(), OpError> {
    for (counter, chunk) in (0u32..).zip(out.chunks_mut(hash.len())) {
        let mask = digest_of(hash, &[seed, &counter.to_be_bytes()])?;
        chunk.iter_mut().zip(&*mask).for_each(|(byte, mask)| *byte ^= mask);
    }
    Ok(())
}

/// EME-OAEP: 0 maskedSeed maskedDB.
pub(super) fn oaep_encrypt(
    block: &mut [u8],
    (hash, mgf): (Hash, Hash),
    label: &[u8],
    message: &[u8],
) -> Result<(), OpError> {
    let len = hash.len();
    let one = block.len().checked_sub(message.len() + 1).ok_or(TOO_LONG)?;
    if one < 2 * len + 1 {
        return Err(TOO_LONG);
    }
    block.fill(0);
    block[one] = 1;
    block[one + 1..].copy_from_slice(message);
    let (seed, db) = block[1..].split_at_mut(len);
    digest_into(hash, &[label], &mut db[..len])?;
    random::fill(seed)?;
    mask_by(mgf, seed, db)?;
    mask_by(mgf, db, seed)?;
    Ok(())
}

/// The message in a block of EME-OAEP, which is unmasked in place.
pub(super) fn oaep_decrypt<'a>(
    block: &'a mut [u8],
    (hash, mgf): (Hash, Hash),
    label: &[u8],
) -> Result<&'a [u8], OpError> {
    let len = hash.len();
    if block.len() < 2 * len + 2 {
        return Err(OpError::BadInput("the modulus is too short for the hash function"));
    }
    let (first, rest) = block.split_at_mut(1);
    let (seed, db) = rest.split_at_mut(len);
    mask_by(mgf, db, seed)?;
    mask_by(mgf, seed, db)?;
    let wanted = digest_of(hash, &[label])?;
    let differing = db.iter().zip(&*wanted).fold(first[0], |sum, (a, b)| sum | (a ^ b));
    let mut good = mask_zero(differing.into());
    let (mut searching, mut one) = (usize::MAX, 0);
    for (index, &byte) in db.iter().enumerate().skip(len) {
        let is_one = mask_zero((byte ^ 1).into());
        one = select(searching & is_one, index, one);
        // A byte that is neither 0 nor the first 1 spoils it.
        good &= !searching | is_one | mask_zero(byte.into());
        searching &= !is_one;
    }
    if std::hint::black_box(good & !searching) == 0 {
        return Err(OpError::AuthFailed);
    }
    Ok(&db[one + 1..])
}

/// Where the parts of an EMSA-PSS block of `bits` - 1 bits lie: (the length of an empty byte in
/// front, the mask of the highest byte, the length of DB).
fn pss_shape(bits: usize, hash: Hash) -> Result<(usize, u8, usize), OpError> {
    let em_bits = bits - 1;
    let em_len = em_bits.div_ceil(8);
    let empty = bits.div_ceil(8) - em_len;
    let db_len = em_len
        .checked_sub(hash.len() + 1)
        .filter(|&len| len > 0)
        .ok_or(OpError::BadInput("the modulus is too short for the hash function"))?;
    Ok((empty, 0xff >> (8 * em_len - em_bits), db_len))
}

/// EMSA-PSS for a modulus of `bits` bits.
pub(super) fn pss_sign(
    block: &mut [u8],
    bits: usize,
    (hash, mgf): (Hash, Hash),
    salt_length: SaltLen,
    digest: &[u8],
) -> Result<(), OpError> {
    check_digest(hash, digest)?;
    let (empty, top, db_len) = pss_shape(bits, hash)?;
    let salt_len = match salt_length {
        SaltLen::Digest => hash.len(),
        SaltLen::Max => db_len - 1,
        SaltLen::UpToDigest => hash.len().min(db_len - 1),
        SaltLen::Exactly(len) => len.into(),
        SaltLen::Auto => return Err(OpError::BadInput("a signature needs a salt length")),
    };
    let one = db_len.checked_sub(salt_len + 1).ok_or(TOO_LONG)?;
    block.fill(0);
    let (db, rest) = block[empty..].split_at_mut(db_len);
    db[one] = 1;
    let salt = &mut db[one + 1..];
    random::fill(salt)?;
    let (seed, trailer) = rest.split_at_mut(hash.len());
    digest_into(hash, &[&[0; 8], digest, salt], seed)?;
    mask_by(mgf, seed, db)?;
    db[0] &= top;
    trailer[0] = 0xbc;
    Ok(())
}

/// Whether a block that a signature opened to is EMSA-PSS of the digest. The block is unmasked in
/// place.
pub(super) fn pss_verify(
    block: &mut [u8],
    bits: usize,
    (hash, mgf): (Hash, Hash),
    salt_length: SaltLen,
    digest: &[u8],
) -> Result<(), OpError> {
    check_digest(hash, digest)?;
    let (empty, top, db_len) = pss_shape(bits, hash)?;
    let (front, em) = block.split_at_mut(empty);
    let (db, rest) = em.split_at_mut(db_len);
    let (seed, trailer) = rest.split_at(hash.len());
    if front.iter().any(|&byte| byte != 0) || trailer != [0xbc] || db[0] & !top != 0 {
        return Err(OpError::AuthFailed);
    }
    mask_by(mgf, seed, db)?;
    db[0] &= top;
    let one = db.iter().position(|&byte| byte != 0).filter(|&one| db[one] == 1);
    let salt = &db[one.ok_or(OpError::AuthFailed)? + 1..];
    let fits = match salt_length {
        SaltLen::Digest => salt.len() == hash.len(),
        SaltLen::Max => salt.len() == db_len - 1,
        SaltLen::Exactly(len) => salt.len() == usize::from(len),
        SaltLen::Auto | SaltLen::UpToDigest => true,
    };
    if fits && equal(&digest_of(hash, &[&[0; 8], digest, salt])?, seed) {
        Ok(())
    } else {
        Err(OpError::AuthFailed)
    }
}
