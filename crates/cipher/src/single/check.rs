//! What a packet of a session must look like. The limits are worked out once, with the keys; a packet
//! is checked in a few nanoseconds.

use crate::{Aead, Auth, Cipher, Direction, OpError, Parts, Span, Sym};

/// The lengths that an IV may have.
#[derive(Clone, Copy)]
enum Iv {
    /// Those whose bit is set.
    Of(u32),
    /// One byte and more.
    Any,
}

impl Iv {
    const NONE: Iv = Iv::Of(1);

    fn of_cipher(cipher: Cipher) -> Iv {
        Iv::Of(match cipher {
            Cipher::Null | Cipher::Arc4 => 1,
            Cipher::AesEcb | Cipher::DesEcb | Cipher::TripleDesEcb | Cipher::Sm4Ecb => 1,
            Cipher::AesCbc | Cipher::AesXts | Cipher::Sm4Cbc => 1 << 16,
            Cipher::Snow3gUea2 | Cipher::ZucEea3 | Cipher::ChaCha20 => 1 << 16,
            Cipher::AesCtr | Cipher::Sm4Ctr => 1 << 12 | 1 << 16,
            Cipher::DesCbc | Cipher::TripleDesCbc | Cipher::TripleDesCtr => 1 << 8,
            Cipher::KasumiF8 => 1 << 8,
        })
    }

    fn of_auth(auth: Auth) -> Iv {
        match auth {
            Auth::AesGmac => Iv::Any,
            Auth::KasumiF9 => Iv::Of(1 << 9),
            Auth::Snow3gUia2 | Auth::ZucEia3 => Iv::Of(1 << 16),
            _ => Iv::NONE,
        }
    }
}

/// The length of the blocks a cipher wants whole; 1 if it takes any length.
pub(crate) fn block_len(cipher: Cipher) -> usize {
    match cipher {
        Cipher::AesEcb | Cipher::AesCbc | Cipher::Sm4Ecb | Cipher::Sm4Cbc => 16,
        Cipher::DesEcb | Cipher::DesCbc | Cipher::TripleDesEcb | Cipher::TripleDesCbc => 8,
        _ => 1,
    }
}

/// Whether an authentication needs an IV, or a key for each text: not for chains.
pub(crate) fn needs_iv(auth: Auth) -> bool {
    auth == Auth::Poly1305 || !matches!(Iv::of_auth(auth), Iv::Of(1))
}

fn takes_bits(cipher: Cipher) -> bool {
    matches!(cipher, Cipher::KasumiF8 | Cipher::Snow3gUea2 | Cipher::ZucEea3)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Cipher,
    Auth,
    Aead,
    Chain,
    Tls,
}

/// What a packet of a session must look like.
#[derive(Clone)]
pub(crate) struct Limits {
    kind: Kind,
    iv: Iv,
    /// A power of two.
    block: u32,
    min_len: u32,
    /// The first byte of a KASUMI F9 IV's last field is 0 or 1.
    f9: bool,
    ccm: bool,
    cbc_mac: bool,
    bits: bool,
    tag_len: u32,
    /// TLS: of the MAC.
    mac_len: u32,
    /// The order is authenticate, then encrypt: the tag may be encrypted with the text.
    tag_inside: bool,
    /// The key of XTS is twice the same.
    no_seal: bool,
}

impl Limits {
    /// The limits of a session whose specification has been checked.
    pub(crate) fn new(spec: &Sym) -> Limits {
        let mut limits = Limits {
            kind: Kind::Cipher,
            iv: Iv::NONE,
            block: 1,
            min_len: 0,
            f9: false,
            ccm: false,
            cbc_mac: false,
            bits: false,
            tag_len: 0,
            mac_len: 0,
            tag_inside: false,
            no_seal: false,
        };
        match spec {
            Sym::Cipher { cipher, key } => limits.cipher(*cipher, key),
            Sym::Auth { auth, tag_len, .. } => {
                limits.kind = Kind::Auth;
                limits.iv = Iv::of_auth(*auth);
                limits.tag_len = *tag_len as u32;
                limits.f9 = *auth == Auth::KasumiF9;
                limits.cbc_mac = *auth == Auth::AesCbcMac;
                limits.bits = matches!(auth, Auth::KasumiF9 | Auth::Snow3gUia2 | Auth::ZucEia3);
            }
            Sym::Aead { aead, tag_len, .. } => {
                limits.kind = Kind::Aead;
                limits.tag_len = *tag_len as u32;
                limits.ccm = *aead == Aead::AesCcm;
                limits.iv = match aead {
                    Aead::AesGcm => Iv::Any,
                    Aead::AesCcm => Iv::Of(0x7f << 7),
                    Aead::ChaCha20Poly1305 => Iv::Of(1 << 12),
                };
            }
            Sym::Chain { cipher, cipher_key, auth, tag_len, order, .. } => {
                limits.cipher(*cipher, cipher_key);
                limits.kind = Kind::Chain;
                limits.tag_len = *tag_len as u32;
                limits.cbc_mac = *auth == Auth::AesCbcMac;
                limits.tag_inside = *order == crate::ChainOrder::AuthThenCipher;
            }
            Sym::TlsCbc { hash, .. } => {
                limits.kind = Kind::Tls;
                limits.iv = Iv::Of(1 << 16);
                limits.mac_len = hash.len() as u32;
            }
        }
        limits
    }

    fn cipher(&mut self, cipher: Cipher, key: &[u8]) {
        self.iv = Iv::of_cipher(cipher);
        self.block = block_len(cipher) as u32;
        self.bits = takes_bits(cipher);
        if cipher == Cipher::AesXts {
            self.min_len = 16;
            let (data, tweak) = key.split_at(key.len() / 2);
            self.no_seal = crate::library::aws_lc::equal(data, tweak);
        }
    }

    /// Checks an IV, and that sealing is allowed.
    #[inline]
    pub(crate) fn start(&self, direction: Direction, iv: &[u8]) -> Result<(), OpError> {
        let fits = match self.iv {
            Iv::Of(lengths) => iv.len() < 32 && lengths >> iv.len() & 1 == 1,
            Iv::Any => !iv.is_empty(),
        };
        if !fits {
            return Err(OpError::BadInput("the length of the IV"));
        }
        if self.f9 && iv[8] > 1 {
            return Err(OpError::BadInput("a direction is 0 or 1"));
        }
        if self.no_seal && direction == Direction::Seal {
            // As OpenSSL has it, and FIPS 140 (IG A.9): refused before it encrypts.
            return Err(OpError::BadInput("the two keys of XTS are equal"));
        }
        Ok(())
    }

    /// Checks the length of what a cipher is to work on: all of it, or a piece.
    #[inline]
    pub(crate) fn text_len(&self, len: usize) -> Result<(), OpError> {
        if len & (self.block as usize - 1) != 0 {
            return Err(OpError::BadInput("whole blocks"));
        }
        if len < self.min_len as usize {
            return Err(OpError::BadInput("XTS takes 16 bytes and more"));
        }
        Ok(())
    }

    /// Checks a packet with `src_len` bytes of source and `dst_len` of destination.
    #[inline]
    pub(crate) fn packet(
        &self,
        direction: Direction,
        iv: &[u8],
        parts: &Parts,
        src_len: usize,
        dst_len: usize,
    ) -> Result<(), OpError> {
        self.but_tag(direction, iv, parts, src_len, dst_len)?;
        match self.kind {
            Kind::Cipher | Kind::Tls => Ok(()),
            _ => self.tag(direction, parts, src_len, dst_len),
        }
    }

    /// Checks a packet but for its tag.
    #[inline]
    pub(crate) fn but_tag(
        &self,
        direction: Direction,
        iv: &[u8],
        parts: &Parts,
        src_len: usize,
        dst_len: usize,
    ) -> Result<(), OpError> {
        self.start(direction, iv)?;
        let Parts { aad, cipher, auth, spare_bits, .. } = *parts;
        if self.kind != Kind::Auth {
            within(cipher, src_len)?;
            self.text_len(cipher.len as usize)?;
            if end(cipher) > dst_len as u64 {
                return Err(OpError::DstTooSmall);
            }
        }
        match self.kind {
            Kind::Cipher => {}
            Kind::Auth => within(auth, src_len)?,
            Kind::Chain => {
                within(auth, src_len)?;
                if end(auth) > dst_len as u64 {
                    return Err(OpError::DstTooSmall);
                }
            }
            Kind::Aead => {
                within(aad, src_len)?;
                if self.ccm {
                    ccm_len(iv.len(), u64::from(cipher.len))?;
                }
            }
            Kind::Tls => return self.record(direction, parts, src_len, dst_len),
        }
        if self.cbc_mac && (auth.len == 0 || !auth.len.is_multiple_of(16)) {
            return Err(OpError::BadInput("whole blocks"));
        }
        if spare_bits != 0 {
            let len = if self.kind == Kind::Auth { auth.len } else { cipher.len };
            if !self.bits || spare_bits > 7 || len == 0 {
                return Err(OpError::BadInput("spare bits"));
            }
        }
        Ok(())
    }

    /// Checks where a packet's tag lies.
    #[inline]
    pub(crate) fn tag(
        &self,
        direction: Direction,
        parts: &Parts,
        src_len: usize,
        dst_len: usize,
    ) -> Result<(), OpError> {
        let Parts { cipher, tag, .. } = *parts;
        let tag = Span { offset: tag, len: self.tag_len };
        match direction {
            Direction::Seal if end(tag) > dst_len as u64 => return Err(OpError::DstTooSmall),
            Direction::Seal => {}
            Direction::Open => within(tag, src_len)?,
        }
        if self.tag_inside && overlap(tag, cipher) && !inside(tag, cipher) {
            return Err(OpError::BadInput("a part of the tag is encrypted"));
        }
        Ok(())
    }

    /// Checks a TLS record.
    fn record(
        &self,
        direction: Direction,
        parts: &Parts,
        src_len: usize,
        dst_len: usize,
    ) -> Result<(), OpError> {
        let Parts { aad, cipher, spare_bits, .. } = *parts;
        within(aad, src_len)?;
        if aad.len != 13 {
            return Err(OpError::BadInput("13 bytes of sequence number and header"));
        }
        if spare_bits != 0 {
            return Err(OpError::BadInput("spare bits"));
        }
        if direction == Direction::Seal {
            // The length has two bytes in the header that is authenticated.
            let sealed = self.sealed_len(cipher.len as usize) as u64;
            if sealed > u64::from(MAX_RECORD) {
                return Err(OpError::BadInput("a record's length"));
            }
            let end = u64::from(cipher.offset) + sealed;
            if end > dst_len as u64 {
                return Err(OpError::DstTooSmall);
            }
        } else if !cipher.len.is_multiple_of(16)
            || cipher.len < self.mac_len + 1
            || cipher.len > MAX_RECORD
        {
            return Err(OpError::BadInput("a record's length"));
        }
        Ok(())
    }

    /// The length of a sealed TLS record: payload, MAC, and padding of 1 to 16 bytes.
    pub(crate) fn sealed_len(&self, payload: usize) -> usize {
        (payload + self.mac_len as usize) / 16 * 16 + 16
    }
}

/// The longest ciphertext of a TLS record: its length has two bytes. (RFC 5246 allows 2^14 + 2048;
/// that is the protocol's to refuse.)
const MAX_RECORD: u32 = 0xffff;

#[inline]
fn end(span: Span) -> u64 {
    u64::from(span.offset) + u64::from(span.len)
}

#[inline]
fn within(span: Span, len: usize) -> Result<(), OpError> {
    if end(span) > len as u64 {
        return Err(OpError::BadInput("a part lies outside of the packet"));
    }
    Ok(())
}

pub(crate) fn overlap(a: Span, b: Span) -> bool {
    a.len > 0 && b.len > 0 && u64::from(a.offset) < end(b) && u64::from(b.offset) < end(a)
}

pub(crate) fn inside(a: Span, b: Span) -> bool {
    a.offset >= b.offset && end(a) <= end(b)
}

/// CCM writes the text's length into as many bytes as the nonce leaves of 15 (SP 800-38C, A.2.1).
#[inline]
pub(crate) fn ccm_len(nonce_len: usize, len: u64) -> Result<(), OpError> {
    let bytes = 15 - nonce_len;
    if bytes < 8 && len >> (8 * bytes) != 0 {
        return Err(OpError::BadInput("a message too long for CCM with this nonce"));
    }
    Ok(())
}
