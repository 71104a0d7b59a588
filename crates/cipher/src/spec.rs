//! What a session is for: the algorithms, their keys and how they are put together.

use zeroize::Zeroizing;

/// Bytes that are overwritten when dropped.
pub type Secret = Zeroizing<Vec<u8>>;

/// A cipher. *Weak* ones are there for compatibility only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cipher {
    /// None: the text stays as it is.
    Null,
    /// ARC4, keys of 1 to 256 bytes. Weak.
    Arc4,
    /// AES in ECB mode, keys of 16, 24 or 32 bytes; whole blocks. Weak for most purposes.
    AesEcb,
    /// AES in CBC mode, keys of 16, 24 or 32 bytes; whole blocks.
    AesCbc,
    /// AES in counter mode, keys of 16, 24 or 32 bytes: a big-endian counter of 128 bits, from the IV
    /// on (12 bytes of IV: then a counter of 32 bits that begins with 1).
    AesCtr,
    /// AES-XTS (IEEE 1619), keys of 32 or 64 bytes (the data key, then the tweak key); 16 bytes and
    /// more, with ciphertext stealing; the IV is the tweak.
    AesXts,
    /// DES in ECB mode; whole blocks. Weak.
    DesEcb,
    /// DES in CBC mode; whole blocks. Weak.
    DesCbc,
    /// Triple DES in ECB mode, keys of 24 bytes; whole blocks. Weak.
    TripleDesEcb,
    /// Triple DES in CBC mode, keys of 24 bytes; whole blocks. Weak.
    TripleDesCbc,
    /// Triple DES in counter mode, keys of 24 bytes: a big-endian counter of 64 bits. Weak.
    TripleDesCtr,
    /// KASUMI F8, UEA1 (3GPP TS 35.201); IV: COUNT, BEARER and DIRECTION as 8 bytes.
    KasumiF8,
    /// SNOW 3G, UEA2 (3GPP TS 35.215); IV of 16 bytes.
    Snow3gUea2,
    /// ZUC, 128-EEA3 (3GPP TS 35.221); IV of 16 bytes.
    ZucEea3,
    /// ChaCha20 (RFC 8439): IV of 16 bytes, the block counter (little-endian) and the nonce.
    ChaCha20,
    /// SM4 (GB/T 32907) in ECB mode; whole blocks.
    Sm4Ecb,
    /// SM4 in CBC mode; whole blocks.
    Sm4Cbc,
    /// SM4 in counter mode: a big-endian counter of 128 bits.
    Sm4Ctr,
}

/// A hash function or checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hash {
    /// MD5. Weak.
    Md5,
    /// SHA-1. Weak.
    Sha1,
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
    /// SHA3-224.
    Sha3_224,
    /// SHA3-256.
    Sha3_256,
    /// SHA3-384.
    Sha3_384,
    /// SHA3-512.
    Sha3_512,
    /// SM3 (GB/T 32905).
    Sm3,
    /// CRC-32 as in gzip and Ethernet, big-endian. A checksum, no protection.
    Crc32,
    /// CRC-64/XZ (ECMA-182, reflected), big-endian. A checksum, no protection.
    Crc64,
}

// No digest is empty.
#[allow(clippy::len_without_is_empty)]
impl Hash {
    /// The length of its digest in bytes.
    pub const fn len(self) -> usize {
        match self {
            Hash::Crc32 => 4,
            Hash::Crc64 => 8,
            Hash::Md5 => 16,
            Hash::Sha1 => 20,
            Hash::Sha224 | Hash::Sha3_224 => 28,
            Hash::Sha256 | Hash::Sha3_256 | Hash::Sm3 => 32,
            Hash::Sha384 | Hash::Sha3_384 => 48,
            Hash::Sha512 | Hash::Sha3_512 => 64,
        }
    }

    /// The length of the blocks it takes its input in: the block of HMAC (RFC 2104). 1 for checksums.
    #[inline]
    pub const fn block_len(self) -> usize {
        match self {
            Hash::Crc32 | Hash::Crc64 => 1,
            Hash::Md5 | Hash::Sha1 | Hash::Sha224 | Hash::Sha256 | Hash::Sm3 => 64,
            Hash::Sha384 | Hash::Sha512 => 128,
            Hash::Sha3_224 => 144,
            Hash::Sha3_256 => 136,
            Hash::Sha3_384 => 104,
            Hash::Sha3_512 => 72,
        }
    }
}

/// What protects a text's integrity, or digests it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Auth {
    /// A hash or checksum alone; no key.
    Plain(Hash),
    /// HMAC (RFC 2104), keys of any length; not over a checksum.
    Hmac(Hash),
    /// The keyed nested hash of QuickAssist: `outer(suffix key || inner(prefix key || text))`. The
    /// key of the session is one byte with the inner prefix's length, that prefix, the outer prefix.
    Nested {
        /// Hashes the inner prefix and the text.
        inner: Hash,
        /// Hashes the outer prefix and the inner digest.
        outer: Hash,
    },
    /// AES-XCBC-MAC (RFC 3566), keys of 16 bytes.
    AesXcbc,
    /// AES-CBC-MAC, keys of 16, 24 or 32 bytes; whole blocks. Weak where lengths vary.
    AesCbcMac,
    /// AES-CMAC (SP 800-38B), keys of 16, 24 or 32 bytes.
    AesCmac,
    /// AES-GMAC (SP 800-38D), keys of 16, 24 or 32 bytes; IV of 1 byte and more.
    AesGmac,
    /// KASUMI F9, UIA1; IV: COUNT, FRESH (4 bytes each), and one byte: DIRECTION, 0 or 1.
    KasumiF9,
    /// SNOW 3G, UIA2; IV of 16 bytes.
    Snow3gUia2,
    /// ZUC, 128-EIA3; IV of 16 bytes.
    ZucEia3,
    /// Poly1305 (RFC 8439), keys of 32 bytes, each for one text only.
    Poly1305,
}

/// Authenticated encryption with associated data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aead {
    /// AES-GCM (SP 800-38D): keys of 16, 24 or 32 bytes, tags of 4, 8, 12 to 16, IVs of 1 and more.
    AesGcm,
    /// AES-CCM (SP 800-38C): keys of 16, 24 or 32 bytes, tags of 4, 6, 8 ... 16, nonces of 7 to 13.
    AesCcm,
    /// ChaCha20-Poly1305 (RFC 8439): keys of 32 bytes, tags of 16, nonces of 12.
    ChaCha20Poly1305,
}

/// What a chain does first when it seals; opening goes the other way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Encrypt, then authenticate the ciphertext (IPsec).
    CipherThenAuth,
    /// Authenticate the plaintext, then encrypt.
    AuthThenCipher,
}

/// What a session is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// A cipher alone: seal encrypts, open decrypts.
    Cipher {
        /// The cipher.
        cipher: Cipher,
        /// Its key.
        key: Secret,
    },
    /// A hash or MAC alone: seal makes the tag, open compares it.
    Auth {
        /// The algorithm.
        auth: Auth,
        /// Its key; empty for a plain hash.
        key: Secret,
        /// The tag's length in bytes: the algorithm's, or less to cut it.
        tag_len: usize,
    },
    /// Authenticated encryption.
    Aead {
        /// The algorithm.
        aead: Aead,
        /// Its key.
        key: Secret,
        /// The tag's length in bytes.
        tag_len: usize,
    },
    /// A cipher and a hash or MAC over one text, each with its own region.
    Chain {
        /// The cipher.
        cipher: Cipher,
        /// Its key.
        cipher_key: Secret,
        /// The hash or MAC: one that needs no IV of its own.
        auth: Auth,
        /// Its key.
        auth_key: Secret,
        /// The tag's length in bytes.
        tag_len: usize,
        /// Which comes first.
        order: Order,
    },
    /// A record of TLS 1.1 or 1.2 with an AES-CBC suite (RFC 5246 section 6.2.3.2): HMAC over header
    /// and payload, padding, encryption; in constant time when opened.
    TlsCbc {
        /// AES key.
        key: Secret,
        /// The hash of HMAC: SHA-1, SHA-256 or SHA-384.
        hash: Hash,
        /// HMAC key.
        auth_key: Secret,
    },
}
