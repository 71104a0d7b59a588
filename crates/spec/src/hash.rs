//! Hash functions.

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hash {
    /// MD5 (RFC 1321). Broken; old certificates and TLS 1.0 still ask for it.
    Md5,
    /// SHA-1 (FIPS 180-4). Collisions are known.
    Sha1,
    /// MD5 and SHA-1 of the same input, one after the other, as TLS before 1.2 signs. Broken.
    Md5Sha1,
    /// RIPEMD-160. Too short for new signatures.
    Ripemd160,
    /// SHA-224 (FIPS 180-4).
    Sha224,
    /// SHA-256 (FIPS 180-4).
    Sha256,
    /// SHA-384 (FIPS 180-4).
    Sha384,
    /// SHA-512 (FIPS 180-4).
    Sha512,
    /// SHA-512/224 (FIPS 180-4).
    Sha512_224,
    /// SHA-512/256 (FIPS 180-4).
    Sha512_256,
    /// SHA3-224 (FIPS 202).
    Sha3_224,
    /// SHA3-256 (FIPS 202).
    Sha3_256,
    /// SHA3-384 (FIPS 202).
    Sha3_384,
    /// SHA3-512 (FIPS 202).
    Sha3_512,
    /// SM3 (GB/T 32905).
    Sm3,
}

// No digest is empty.
#[allow(clippy::len_without_is_empty)]
impl Hash {
    /// Every hash function.
    pub const ALL: [Hash; 15] = [
        Hash::Md5,
        Hash::Sha1,
        Hash::Md5Sha1,
        Hash::Ripemd160,
        Hash::Sha224,
        Hash::Sha256,
        Hash::Sha384,
        Hash::Sha512,
        Hash::Sha512_224,
        Hash::Sha512_256,
        Hash::Sha3_224,
        Hash::Sha3_256,
        Hash::Sha3_384,
        Hash::Sha3_512,
        Hash::Sm3,
    ];

    /// Bytes of a digest.
    pub const fn len(self) -> usize {
        match self {
            Hash::Md5 => 16,
            Hash::Sha1 | Hash::Ripemd160 => 20,
            Hash::Sha224 | Hash::Sha512_224 | Hash::Sha3_224 => 28,
            Hash::Sha256 | Hash::Sha512_256 | Hash::Sha3_256 | Hash::Sm3 => 32,
            Hash::Md5Sha1 => 36,
            Hash::Sha384 | Hash::Sha3_384 => 48,
            Hash::Sha512 | Hash::Sha3_512 => 64,
        }
    }

    /// Bytes of the blocks that it takes its input in: the block of HMAC (RFC 2104).
    #[inline]
    pub const fn block_len(self) -> usize {
        match self {
            Hash::Sha384 | Hash::Sha512 | Hash::Sha512_224 | Hash::Sha512_256 => 128,
            Hash::Sha3_224 => 144,
            Hash::Sha3_256 => 136,
            Hash::Sha3_384 => 104,
            Hash::Sha3_512 => 72,
            _ => 64,
        }
    }
}
