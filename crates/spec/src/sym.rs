//! Symmetric cryptography: ciphers, hashes, MACs, AEADs and chains of them.

use crate::{Hash, Op, OpError, Secret};

/// A cipher. The ones marked *weak* are there for compatibility; nothing chooses them by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cipher {
    /// None: the plaintext stays as it is.
    Null,
    /// ARC4, keys of 1 to 256 bytes. Weak.
    Arc4,
    /// AES in ECB mode; whole blocks of 16 bytes. AES keys have 16, 24 or 32 bytes. Weak for messages
    /// of more than a block.
    AesEcb,
    /// AES in CBC mode; whole blocks.
    AesCbc,
    /// AES in counter mode. An IV of 16 bytes is the first counter block (128 bits, big-endian); of
    /// 12 bytes, its start: the counter has 32 bits and begins with 1.
    AesCtr,
    /// AES-XTS (IEEE 1619): keys of 32 or 64 bytes, the data key before the tweak key; messages of 16
    /// bytes and more; the IV is the tweak. Where the two keys are equal it decrypts only (FIPS 140-2
    /// IG A.9).
    AesXts,
    /// DES in ECB mode; whole blocks of 8 bytes. Weak.
    DesEcb,
    /// DES in CBC mode. Weak.
    DesCbc,
    /// Triple DES in ECB mode, keys of 24 bytes. Weak.
    TripleDesEcb,
    /// Triple DES in CBC mode. Weak.
    TripleDesCbc,
    /// Triple DES in counter mode: 64 bits, big-endian. Weak.
    TripleDesCtr,
    /// KASUMI F8 (UEA1); the IV is COUNT, BEARER and DIRECTION in 8 bytes (3GPP TS 35.201).
    KasumiF8,
    /// SNOW 3G UEA2; IV of 16 bytes (3GPP TS 35.215).
    Snow3gUea2,
    /// ZUC 128-EEA3; IV of 16 bytes (3GPP TS 35.221).
    ZucEea3,
    /// ChaCha20 (RFC 8439): the IV is the block counter (little-endian) and the nonce, 16 bytes.
    ChaCha20,
    /// SM4 (GB/T 32907) in ECB mode.
    Sm4Ecb,
    /// SM4 in CBC mode.
    Sm4Cbc,
    /// SM4 in counter mode: 128 bits, big-endian.
    Sm4Ctr,
}

/// A hash, checksum or MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Auth {
    /// A hash alone; no key. MD5 and SHA-1 are weak.
    Plain(Hash),
    /// CRC-32 as in gzip and Ethernet, big-endian; no key, no protection.
    Crc32,
    /// CRC-64/XZ, big-endian; no key, no protection.
    Crc64,
    /// HMAC (RFC 2104).
    Hmac(Hash),
    /// QuickAssist's nested hash: outer(outer prefix, inner(inner prefix, message)). The key is one byte
    /// with the inner prefix's length, the inner prefix, the outer prefix.
    Nested {
        /// Hashes the message.
        inner: Hash,
        /// Hashes the inner digest.
        outer: Hash,
    },
    /// AES-XCBC-MAC (RFC 3566).
    AesXcbc,
    /// AES-CBC-MAC; whole blocks. Weak where lengths vary.
    AesCbcMac,
    /// AES-CMAC (SP 800-38B).
    AesCmac,
    /// AES-GMAC (SP 800-38D); with an IV.
    AesGmac,
    /// KASUMI F9 (UIA1); the IV is COUNT, FRESH and one byte, DIRECTION.
    KasumiF9,
    /// SNOW 3G UIA2; IV of 16 bytes.
    Snow3gUia2,
    /// ZUC 128-EIA3; IV of 16 bytes.
    ZucEia3,
    /// Poly1305 (RFC 8439): a key for each message.
    Poly1305,
}

/// Authenticated encryption with associated data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aead {
    /// AES-GCM: tags of 4, 8 or 12 to 16 bytes, IVs of 1 byte and more.
    AesGcm,
    /// AES-CCM: tags of 4, 6, ... 16 bytes, nonces of 7 to 13.
    AesCcm,
    /// ChaCha20-Poly1305 (RFC 8439): tags of 16 bytes, nonces of 12.
    ChaCha20Poly1305,
}

/// What a chain does first when it seals; opening goes the other way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChainOrder {
    /// Encrypt, then authenticate the ciphertext (IPsec).
    CipherThenAuth,
    /// Authenticate the plaintext, then encrypt it.
    AuthThenCipher,
}

/// What a symmetric session is for. One session has one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sym {
    /// A cipher alone: [`Op::Encrypt`], [`Op::Decrypt`].
    Cipher {
        /// The cipher.
        cipher: Cipher,
        /// Its key.
        key: Secret,
    },
    /// A hash or MAC alone: [`Op::Digest`], [`Op::Verify`].
    Auth {
        /// The algorithm.
        auth: Auth,
        /// Its key; empty for a plain hash.
        key: Secret,
        /// The tag's length in bytes.
        tag_len: usize,
    },
    /// Authenticated encryption: [`Op::Seal`], [`Op::Open`].
    Aead {
        /// The algorithm.
        aead: Aead,
        /// Its key.
        key: Secret,
        /// The tag's length in bytes.
        tag_len: usize,
    },
    /// A cipher and a hash or MAC in one request, each with its own region: [`Op::Seal`],
    /// [`Op::Open`].
    Chain {
        /// The cipher.
        cipher: Cipher,
        /// Its key.
        cipher_key: Secret,
        /// The hash or MAC; one without an IV of its own.
        auth: Auth,
        /// Its key.
        auth_key: Secret,
        /// The tag's length in bytes.
        tag_len: usize,
        /// Which comes first.
        order: ChainOrder,
    },
    /// Records of TLS 1.1 and 1.2 with an AES-CBC suite (RFC 5246 section 6.2.3.2): HMAC, padding,
    /// encryption; opened in constant time. [`Op::Seal`], [`Op::Open`].
    TlsCbc {
        /// The AES key.
        key: Secret,
        /// HMAC's hash: SHA-1, SHA-256 or SHA-384.
        hash: Hash,
        /// HMAC's key.
        auth_key: Secret,
    },
}

impl Sym {
    /// The two operations of a session of this kind.
    pub fn ops(&self) -> &'static [Op] {
        match self {
            Sym::Cipher { .. } => &[Op::Encrypt, Op::Decrypt],
            Sym::Auth { .. } => &[Op::Digest, Op::Verify],
            Sym::Aead { .. } | Sym::Chain { .. } | Sym::TlsCbc { .. } => &[Op::Seal, Op::Open],
        }
    }
}

/// A part of a packet, in bytes from the start of its message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Where it begins.
    pub offset: u32,
    /// How long it is.
    pub len: u32,
}

impl Span {
    /// The `len` bytes from `offset` on.
    #[inline]
    pub const fn new(offset: u32, len: u32) -> Span {
        Span { offset, len }
    }
}

/// An IV, nonce, counter block or tweak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Iv {
    /// Up to 16 bytes, here.
    Here {
        /// The bytes.
        bytes: [u8; 16],
        /// How many of them.
        len: u8,
    },
    /// Bytes of the source: for the nonces of AES-GCM that are longer than 16. Not in a burst whose
    /// packets are in place.
    At(Span),
}

impl Iv {
    /// These bytes, at most 16.
    #[inline]
    pub fn new(iv: &[u8]) -> Option<Iv> {
        let mut bytes = [0; 16];
        bytes.get_mut(..iv.len())?.copy_from_slice(iv);
        Some(Iv::Here { bytes, len: iv.len() as u8 })
    }
}

impl Default for Iv {
    /// None.
    fn default() -> Iv {
        Iv::Here { bytes: [0; 16], len: 0 }
    }
}

macro_rules! iv_from {
    ($($n:literal)*) => { $(impl From<[u8; $n]> for Iv {
        #[inline]
        fn from(iv: [u8; $n]) -> Iv {
            let mut bytes = [0; 16];
            bytes[..$n].copy_from_slice(&iv);
            Iv::Here { bytes, len: $n }
        }
    })* };
}
iv_from!(8 9 12 13 16);

/// Where the parts of one packet lie. Offsets are the same in source and destination: a
/// destination that lies apart has the source's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The IV, nonce, counter block or tweak.
    pub iv: Iv,
    /// AEADs: the associated data. TLS records: sequence number and header, 13 bytes, of which the
    /// last two, the length, are not read.
    pub aad: Span,
    /// What is encrypted or decrypted. TLS records: sealing, the payload; opening, the ciphertext
    /// without the explicit IV.
    pub cipher: Span,
    /// Hashes, MACs and chains: what is hashed.
    pub auth: Span,
    /// Where the tag begins: made, in the destination; verified, in the source.
    pub tag: u32,
    /// The 3GPP algorithms: how many bits of the last byte do not count, 0 to 7.
    pub spare_bits: u8,
    /// Which session of a set is its own, from 0; without a set, it is not read.
    pub session: u32,
    /// Set in the response: the length of the cipher region's result, of a hash or MAC that of the
    /// tag (also of one that was only compared); or what went wrong with this packet.
    pub result: Result<u32, OpError>,
}

impl Packet {
    /// In a step of a chain: a length to the end of what the step before wrote; an offset of the tag
    /// right behind the text.
    pub const REST: u32 = u32::MAX;
}

impl Default for Packet {
    fn default() -> Packet {
        Packet {
            iv: Iv::default(),
            aad: Span::default(),
            cipher: Span::default(),
            auth: Span::default(),
            tag: 0,
            spare_bits: 0,
            session: 0,
            result: Err(OpError::Cancelled),
        }
    }
}
