//! What the tests of single packets share: OpenSSL as the other implementation, and packets of
//! regions within larger buffers.
#![allow(dead_code)]

use std::ffi::{CString, c_int};
use std::ptr;
use std::sync::Once;

use lookaside_cipher::{Aead, Auth, ChainOrder, Cipher, Hash, Secret, Span, Sym};
use openssl_sys as ossl;

mod prepared;

// Not every test uses everything.
#[allow(unused_imports)]
pub use prepared::{Prepared, Sample, prepare, prepare_all};

/// A small generator of test data (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

fn providers() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for name in [c"default", c"legacy"] {
            // SAFETY: the default library, and a name that ends in zero.
            let loaded = unsafe { ossl::OSSL_PROVIDER_load(ptr::null_mut(), name.as_ptr()) };
            assert!(!loaded.is_null(), "OpenSSL's {name:?} provider (package libssl3)");
        }
    });
}

/// OpenSSL's cipher `name` without padding.
pub fn openssl_cipher(name: &str, key: &[u8], iv: &[u8], seal: bool, text: &[u8]) -> Vec<u8> {
    providers();
    let c_name = CString::new(name).unwrap();
    let mut out = vec![0; text.len() + 32];
    // SAFETY: keys and IVs are as long as the cipher reads (`key_len` is set first where it
    // varies), `out` has room for more than a block above the text.
    unsafe {
        let cipher = ossl::EVP_CIPHER_fetch(ptr::null_mut(), c_name.as_ptr(), ptr::null());
        assert!(!cipher.is_null(), "OpenSSL has no {name}");
        let state = ossl::EVP_CIPHER_CTX_new();
        let enc = c_int::from(seal);
        let none = ptr::null_mut();
        assert_eq!(ossl::EVP_CipherInit_ex(state, cipher, none, ptr::null(), ptr::null(), enc), 1);
        assert_eq!(ossl::EVP_CIPHER_CTX_set_key_length(state, key.len() as c_int), 1);
        let iv = if iv.is_empty() { ptr::null() } else { iv.as_ptr() };
        let set = ossl::EVP_CipherInit_ex(state, ptr::null(), none, key.as_ptr(), iv, enc);
        assert_eq!(set, 1, "{name}");
        ossl::EVP_CIPHER_CTX_set_padding(state, 0);
        let (mut len, mut last) = (0, 0);
        let text_len = text.len() as c_int;
        let done =
            ossl::EVP_CipherUpdate(state, out.as_mut_ptr(), &mut len, text.as_ptr(), text_len);
        assert_eq!(done, 1, "{name}");
        let rest = out.as_mut_ptr().add(len as usize);
        assert_eq!(ossl::EVP_CipherFinal(state, rest, &mut last), 1, "{name}");
        ossl::EVP_CIPHER_CTX_free(state);
        ossl::EVP_CIPHER_free(cipher);
        out.truncate((len + last) as usize);
    }
    out
}

/// OpenSSL's digest `name`.
pub fn openssl_digest(name: &str, text: &[u8]) -> Vec<u8> {
    providers();
    let c_name = CString::new(name).unwrap();
    let (mut out, mut len) = (vec![0; 64], 0);
    // SAFETY: 64 bytes are the longest digest; the text is readable for its length.
    let done = unsafe {
        let data = text.as_ptr().cast();
        let null = ptr::null_mut();
        let name = c_name.as_ptr();
        ossl::EVP_Q_digest(null, name, ptr::null(), data, text.len(), out.as_mut_ptr(), &mut len)
    };
    assert_eq!(done, 1, "OpenSSL has no {name}");
    out.truncate(len);
    out
}

/// HMAC (RFC 2104) of OpenSSL's digest.
pub fn openssl_hmac(hash: Hash, key: &[u8], text: &[u8]) -> Vec<u8> {
    let name = digest_name(hash).unwrap();
    let mut block =
        if key.len() > hash.block_len() { openssl_digest(name, key) } else { key.to_vec() };
    block.resize(hash.block_len(), 0);
    let mut inner: Vec<u8> = block.iter().map(|byte| byte ^ 0x36).collect();
    inner.extend_from_slice(text);
    let mut outer: Vec<u8> = block.iter().map(|byte| byte ^ 0x5c).collect();
    outer.extend(openssl_digest(name, &inner));
    openssl_digest(name, &outer)
}

/// OpenSSL's name of a hash.
pub fn digest_name(hash: Hash) -> Option<&'static str> {
    Some(match hash {
        Hash::Md5 => "MD5",
        Hash::Sha1 => "SHA1",
        Hash::Sha224 => "SHA224",
        Hash::Sha256 => "SHA256",
        Hash::Sha384 => "SHA384",
        Hash::Sha512 => "SHA512",
        Hash::Sha3_224 => "SHA3-224",
        Hash::Sha3_256 => "SHA3-256",
        Hash::Sha3_384 => "SHA3-384",
        Hash::Sha3_512 => "SHA3-512",
        Hash::Sm3 => "SM3",
        _ => return None,
    })
}

/// Every hash that OpenSSL has, too.
pub const HASHES: [Hash; 11] = [
    Hash::Md5,
    Hash::Sha1,
    Hash::Sha224,
    Hash::Sha256,
    Hash::Sha384,
    Hash::Sha512,
    Hash::Sha3_224,
    Hash::Sha3_256,
    Hash::Sha3_384,
    Hash::Sha3_512,
    Hash::Sm3,
];

/// Ciphers that OpenSSL has, too: key and IV length, the blocks they take, OpenSSL's name.
pub const CIPHERS: &[(Cipher, usize, usize, usize, &str)] = &[
    (Cipher::Arc4, 5, 0, 1, "RC4"),
    (Cipher::Arc4, 16, 0, 1, "RC4"),
    (Cipher::Arc4, 61, 0, 1, "RC4"),
    (Cipher::AesEcb, 16, 0, 16, "AES-128-ECB"),
    (Cipher::AesEcb, 24, 0, 16, "AES-192-ECB"),
    (Cipher::AesEcb, 32, 0, 16, "AES-256-ECB"),
    (Cipher::AesCbc, 16, 16, 16, "AES-128-CBC"),
    (Cipher::AesCbc, 24, 16, 16, "AES-192-CBC"),
    (Cipher::AesCbc, 32, 16, 16, "AES-256-CBC"),
    (Cipher::AesCtr, 16, 16, 1, "AES-128-CTR"),
    (Cipher::AesCtr, 24, 16, 1, "AES-192-CTR"),
    (Cipher::AesCtr, 32, 16, 1, "AES-256-CTR"),
    (Cipher::AesXts, 32, 16, 1, "AES-128-XTS"),
    (Cipher::AesXts, 64, 16, 1, "AES-256-XTS"),
    (Cipher::DesEcb, 8, 0, 8, "DES-ECB"),
    (Cipher::DesCbc, 8, 8, 8, "DES-CBC"),
    (Cipher::TripleDesEcb, 24, 0, 8, "DES-EDE3"),
    (Cipher::TripleDesCbc, 24, 8, 8, "DES-EDE3-CBC"),
    (Cipher::ChaCha20, 32, 16, 1, "ChaCha20"),
    (Cipher::Sm4Ecb, 16, 0, 16, "SM4-ECB"),
    (Cipher::Sm4Cbc, 16, 16, 16, "SM4-CBC"),
    (Cipher::Sm4Ctr, 16, 16, 1, "SM4-CTR"),
];

pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

pub fn secret(bytes: &[u8]) -> Secret {
    Secret::new(bytes)
}

pub fn span(offset: usize, len: usize) -> Span {
    Span { offset: offset as u32, len: len as u32 }
}

pub fn cipher_spec(cipher: Cipher, key: &[u8]) -> Sym {
    Sym::Cipher { cipher, key: secret(key) }
}

pub fn auth_spec(auth: Auth, key: &[u8], tag_len: usize) -> Sym {
    Sym::Auth { auth, key: secret(key), tag_len }
}

pub fn aead_spec(aead: Aead, key: &[u8], tag_len: usize) -> Sym {
    Sym::Aead { aead, key: secret(key), tag_len }
}

/// One session of a test: its specification, IV, and the blocks its texts come in.
pub struct Case {
    pub spec: Sym,
    pub iv: Vec<u8>,
    pub block: usize,
    pub least: usize,
}

/// Sessions of every cipher, hash, MAC and AEAD, and chains of some, under random keys.
pub fn every_case(random: &mut Random) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut case = |spec, iv, block| {
        let least = if block == 17 { 16 } else { 0 };
        cases.push(Case { spec, iv, block: if block == 17 { 1 } else { block }, least });
    };
    let more = [
        (Cipher::Null, 0, 0, 1, ""),
        (Cipher::KasumiF8, 16, 8, 1, ""),
        (Cipher::Snow3gUea2, 16, 16, 1, ""),
        (Cipher::ZucEea3, 16, 16, 1, ""),
        (Cipher::AesCtr, 16, 12, 1, ""),
        (Cipher::TripleDesCtr, 24, 8, 1, ""),
    ];
    for &(cipher, key_len, iv_len, block, _) in CIPHERS.iter().chain(&more) {
        let key = random.bytes(key_len);
        let block = if cipher == Cipher::AesXts { 17 } else { block };
        case(cipher_spec(cipher, &key), random.bytes(iv_len), block);
        let auth = Auth::Hmac(HASHES[random.below(HASHES.len())]);
        for order in [ChainOrder::CipherThenAuth, ChainOrder::AuthThenCipher] {
            let (auth_key, iv) = (random.bytes(20), random.bytes(iv_len));
            let chain = Sym::Chain {
                cipher,
                cipher_key: secret(&key),
                auth,
                auth_key: secret(&auth_key),
                tag_len: 12,
                order,
            };
            case(chain, iv, block);
        }
    }
    for hash in HASHES {
        case(auth_spec(Auth::Plain(hash), &[], hash.len()), vec![], 1);
        case(auth_spec(Auth::Hmac(hash), &random.bytes(33), hash.len()), vec![], 1);
    }
    case(auth_spec(Auth::Crc32, &[], 4), vec![], 1);
    case(auth_spec(Auth::Crc64, &[], 8), vec![], 1);
    let nested = Auth::Nested { inner: Hash::Sha256, outer: Hash::Sha3_256 };
    case(auth_spec(nested, &[2, 1, 2, 3], 32), vec![], 1);
    for (auth, key_len, iv_len, tag_len, block) in [
        (Auth::AesXcbc, 16, 0, 12, 1),
        (Auth::AesCbcMac, 24, 0, 16, 16),
        (Auth::AesCmac, 32, 0, 16, 1),
        (Auth::AesGmac, 16, 12, 16, 1),
        (Auth::AesGmac, 32, 33, 12, 1),
        (Auth::KasumiF9, 16, 9, 4, 1),
        (Auth::Snow3gUia2, 16, 16, 4, 1),
        (Auth::ZucEia3, 16, 16, 4, 1),
        (Auth::Poly1305, 32, 0, 16, 1),
    ] {
        let mut iv = random.bytes(iv_len);
        if auth == Auth::KasumiF9 {
            iv[8] &= 1;
        }
        case(auth_spec(auth, &random.bytes(key_len), tag_len), iv, block);
    }
    for (aead, key_len, iv_len, tag_len) in [
        (Aead::AesGcm, 16, 12, 16),
        (Aead::AesGcm, 24, 1, 12),
        (Aead::AesGcm, 32, 60, 8),
        (Aead::AesCcm, 16, 13, 16),
        (Aead::AesCcm, 24, 7, 4),
        (Aead::AesCcm, 32, 12, 10),
        (Aead::ChaCha20Poly1305, 32, 12, 16),
    ] {
        case(aead_spec(aead, &random.bytes(key_len), tag_len), random.bytes(iv_len), 1);
    }
    cases
}
