//! What is measured: each algorithm of papers 4 and 5, with its names at the rivals.

use lookaside::{Aead, Auth, ChainOrder, Cipher, Hash};

/// One row of the table.
pub struct Algorithm {
    pub name: &'static str,
    pub kind: Kind,
    pub key: usize,
    pub auth_key: usize,
    pub iv: usize,
    pub tag: usize,
    /// OpenSSL's names of cipher, MAC and digest.
    pub openssl: [&'static str; 3],
    /// The number of `enum kind` in `rivals.c`; 0 where intel-ipsec-mb has it not (its ChaCha20 always
    /// begins with block 1).
    pub bare: i32,
}

pub enum Kind {
    Cipher(Cipher),
    Auth(Auth),
    Aead(Aead),
    Chain(Cipher, Auth),
}

/// Chains here encrypt first, as IPsec does.
pub const ORDER: ChainOrder = ChainOrder::CipherThenAuth;

const fn cipher(
    name: &'static str,
    cipher: Cipher,
    key: usize,
    iv: usize,
    openssl: &'static str,
    bare: i32,
) -> Algorithm {
    let kind = Kind::Cipher(cipher);
    Algorithm { name, kind, key, auth_key: 0, iv, tag: 0, openssl: [openssl, "", ""], bare }
}

const fn hash(
    name: &'static str,
    hash: Hash,
    tag: usize,
    openssl: &'static str,
    bare: i32,
) -> Algorithm {
    let kind = Kind::Auth(Auth::Plain(hash));
    Algorithm { name, kind, key: 0, auth_key: 0, iv: 0, tag, openssl: ["", "", openssl], bare }
}

const fn mac(
    name: &'static str,
    auth: Auth,
    (auth_key, iv, tag): (usize, usize, usize),
    openssl: &'static str,
    bare: i32,
) -> Algorithm {
    let kind = Kind::Auth(auth);
    Algorithm { name, kind, key: 0, auth_key, iv, tag, openssl: ["", openssl, ""], bare }
}

const fn aead(
    name: &'static str,
    aead: Aead,
    key: usize,
    openssl: &'static str,
    bare: i32,
) -> Algorithm {
    let kind = Kind::Aead(aead);
    Algorithm { name, kind, key, auth_key: 0, iv: 12, tag: 16, openssl: [openssl, "", ""], bare }
}

const fn chain(
    name: &'static str,
    cipher: (Cipher, usize, usize),
    auth: Auth,
    tag: usize,
    openssl: [&'static str; 2],
    bare: i32,
) -> Algorithm {
    let kind = Kind::Chain(cipher.0, auth);
    let openssl = [openssl[0], openssl[1], ""];
    Algorithm { name, kind, key: cipher.1, auth_key: 20, iv: cipher.2, tag, openssl, bare }
}

const CBC: (Cipher, usize, usize) = (Cipher::AesCbc, 16, 16);
const CTR: (Cipher, usize, usize) = (Cipher::AesCtr, 16, 16);
const SHA1: Auth = Auth::Hmac(Hash::Sha1);
const SHA224: Auth = Auth::Hmac(Hash::Sha224);
const SHA256: Auth = Auth::Hmac(Hash::Sha256);
const SHA384: Auth = Auth::Hmac(Hash::Sha384);
const SHA512: Auth = Auth::Hmac(Hash::Sha512);
const NESTED: Auth = Auth::Nested { inner: Hash::Sha256, outer: Hash::Sha256 };

pub const ALL: &[Algorithm] = &[
    aead("AES-128-GCM", Aead::AesGcm, 16, "AES-128-GCM", 1),
    aead("AES-192-GCM", Aead::AesGcm, 24, "AES-192-GCM", 1),
    aead("AES-256-GCM", Aead::AesGcm, 32, "AES-256-GCM", 1),
    aead("AES-128-CCM", Aead::AesCcm, 16, "AES-128-CCM", 2),
    aead("AES-192-CCM", Aead::AesCcm, 24, "AES-192-CCM", 0),
    aead("AES-256-CCM", Aead::AesCcm, 32, "AES-256-CCM", 2),
    aead("ChaCha20-Poly1305", Aead::ChaCha20Poly1305, 32, "ChaCha20-Poly1305", 3),
    chain("AES-128-CBC+HMAC-SHA1", CBC, SHA1, 12, ["AES-128-CBC", "HMAC:SHA1"], 26),
    chain("AES-128-CBC+HMAC-SHA224", CBC, SHA224, 14, ["AES-128-CBC", "HMAC:SHA224"], 37),
    chain("AES-128-CBC+HMAC-SHA256", CBC, SHA256, 16, ["AES-128-CBC", "HMAC:SHA256"], 27),
    chain("AES-128-CBC+HMAC-SHA384", CBC, SHA384, 24, ["AES-128-CBC", "HMAC:SHA384"], 38),
    chain("AES-128-CBC+HMAC-SHA512", CBC, SHA512, 32, ["AES-128-CBC", "HMAC:SHA512"], 28),
    chain("AES-128-CTR+HMAC-SHA1", CTR, SHA1, 12, ["AES-128-CTR", "HMAC:SHA1"], 29),
    chain("AES-128-CTR+HMAC-SHA224", CTR, SHA224, 14, ["AES-128-CTR", "HMAC:SHA224"], 39),
    chain("AES-128-CTR+HMAC-SHA256", CTR, SHA256, 16, ["AES-128-CTR", "HMAC:SHA256"], 30),
    chain("AES-128-CTR+HMAC-SHA384", CTR, SHA384, 24, ["AES-128-CTR", "HMAC:SHA384"], 40),
    chain("AES-128-CTR+HMAC-SHA512", CTR, SHA512, 32, ["AES-128-CTR", "HMAC:SHA512"], 41),
    chain(
        "3DES-CBC+HMAC-SHA1",
        (Cipher::TripleDesCbc, 24, 8),
        SHA1,
        12,
        ["DES-EDE3-CBC", "HMAC:SHA1"],
        31,
    ),
    cipher("NULL", Cipher::Null, 0, 0, "", 32),
    cipher("AES-128-ECB", Cipher::AesEcb, 16, 0, "AES-128-ECB", 6),
    cipher("AES-192-ECB", Cipher::AesEcb, 24, 0, "AES-192-ECB", 6),
    cipher("AES-256-ECB", Cipher::AesEcb, 32, 0, "AES-256-ECB", 6),
    cipher("AES-128-CBC", Cipher::AesCbc, 16, 16, "AES-128-CBC", 4),
    cipher("AES-192-CBC", Cipher::AesCbc, 24, 16, "AES-192-CBC", 4),
    cipher("AES-256-CBC", Cipher::AesCbc, 32, 16, "AES-256-CBC", 4),
    cipher("AES-128-CTR", Cipher::AesCtr, 16, 16, "AES-128-CTR", 5),
    cipher("AES-192-CTR", Cipher::AesCtr, 24, 16, "AES-192-CTR", 5),
    cipher("AES-256-CTR", Cipher::AesCtr, 32, 16, "AES-256-CTR", 5),
    cipher("AES-128-XTS", Cipher::AesXts, 32, 16, "AES-128-XTS", 0),
    cipher("AES-256-XTS", Cipher::AesXts, 64, 16, "AES-256-XTS", 0),
    cipher("ARC4", Cipher::Arc4, 16, 0, "RC4", 0),
    cipher("DES-ECB", Cipher::DesEcb, 8, 0, "DES-ECB", 0),
    cipher("DES-CBC", Cipher::DesCbc, 8, 8, "DES-CBC", 7),
    cipher("3DES-ECB", Cipher::TripleDesEcb, 24, 0, "DES-EDE3-ECB", 0),
    cipher("3DES-CBC", Cipher::TripleDesCbc, 24, 8, "DES-EDE3-CBC", 8),
    cipher("3DES-CTR", Cipher::TripleDesCtr, 24, 8, "", 0),
    cipher("KASUMI-F8", Cipher::KasumiF8, 16, 8, "", 9),
    cipher("SNOW3G-UEA2", Cipher::Snow3gUea2, 16, 16, "", 10),
    cipher("ZUC-EEA3", Cipher::ZucEea3, 16, 16, "", 11),
    cipher("ChaCha20", Cipher::ChaCha20, 32, 16, "ChaCha20", 0),
    cipher("SM4-ECB", Cipher::Sm4Ecb, 16, 0, "SM4-ECB", 0),
    cipher("SM4-CBC", Cipher::Sm4Cbc, 16, 16, "SM4-CBC", 0),
    cipher("SM4-CTR", Cipher::Sm4Ctr, 16, 16, "SM4-CTR", 0),
    hash("MD5", Hash::Md5, 16, "MD5", 0),
    hash("SHA-1", Hash::Sha1, 20, "SHA1", 19),
    hash("SHA-224", Hash::Sha224, 28, "SHA224", 33),
    hash("SHA-256", Hash::Sha256, 32, "SHA256", 20),
    hash("SHA-384", Hash::Sha384, 48, "SHA384", 34),
    hash("SHA-512", Hash::Sha512, 64, "SHA512", 21),
    hash("SHA3-224", Hash::Sha3_224, 28, "SHA3-224", 0),
    hash("SHA3-256", Hash::Sha3_256, 32, "SHA3-256", 0),
    hash("SHA3-384", Hash::Sha3_384, 48, "SHA3-384", 0),
    hash("SHA3-512", Hash::Sha3_512, 64, "SHA3-512", 0),
    hash("SM3", Hash::Sm3, 32, "SM3", 0),
    // A key of 129 bytes: the first says that the inner prefix has 99, which leaves 29.
    Algorithm { openssl: ["", "", "SHA256"], ..mac("nested SHA-256", NESTED, (129, 0, 32), "", 0) },
    mac("CRC-32", Auth::Crc32, (0, 0, 4), "", 0),
    mac("CRC-64", Auth::Crc64, (0, 0, 8), "", 0),
    mac("HMAC-MD5", Auth::Hmac(Hash::Md5), (16, 0, 12), "HMAC:MD5", 13),
    mac("HMAC-SHA1", SHA1, (20, 0, 12), "HMAC:SHA1", 14),
    mac("HMAC-SHA224", SHA224, (28, 0, 14), "HMAC:SHA224", 35),
    mac("HMAC-SHA256", SHA256, (32, 0, 16), "HMAC:SHA256", 15),
    mac("HMAC-SHA384", SHA384, (48, 0, 24), "HMAC:SHA384", 36),
    mac("HMAC-SHA512", SHA512, (64, 0, 32), "HMAC:SHA512", 16),
    mac("HMAC-SHA3-224", Auth::Hmac(Hash::Sha3_224), (28, 0, 28), "HMAC:SHA3-224", 0),
    mac("HMAC-SHA3-256", Auth::Hmac(Hash::Sha3_256), (32, 0, 32), "HMAC:SHA3-256", 0),
    mac("HMAC-SHA3-384", Auth::Hmac(Hash::Sha3_384), (48, 0, 48), "HMAC:SHA3-384", 0),
    mac("HMAC-SHA3-512", Auth::Hmac(Hash::Sha3_512), (64, 0, 64), "HMAC:SHA3-512", 0),
    mac("HMAC-SM3", Auth::Hmac(Hash::Sm3), (32, 0, 32), "HMAC:SM3", 0),
    mac("AES-XCBC-MAC", Auth::AesXcbc, (16, 0, 12), "", 17),
    mac("AES-CBC-MAC", Auth::AesCbcMac, (16, 0, 16), "", 0),
    mac("AES-128-CMAC", Auth::AesCmac, (16, 0, 16), "CMAC:AES-128-CBC", 18),
    mac("AES-256-CMAC", Auth::AesCmac, (32, 0, 16), "CMAC:AES-256-CBC", 18),
    mac("AES-128-GMAC", Auth::AesGmac, (16, 12, 16), "GMAC:AES-128-GCM", 12),
    mac("AES-192-GMAC", Auth::AesGmac, (24, 12, 16), "GMAC:AES-192-GCM", 12),
    mac("AES-256-GMAC", Auth::AesGmac, (32, 12, 16), "GMAC:AES-256-GCM", 12),
    mac("KASUMI-F9", Auth::KasumiF9, (16, 9, 4), "", 22),
    mac("SNOW3G-UIA2", Auth::Snow3gUia2, (16, 16, 4), "", 23),
    mac("ZUC-EIA3", Auth::ZucEia3, (16, 16, 4), "", 24),
    mac("Poly1305", Auth::Poly1305, (32, 0, 16), "Poly1305", 25),
];
