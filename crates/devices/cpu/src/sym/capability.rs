//! What the device says of itself: a row for each family of algorithms, with what serves it here.

use lookaside_cipher::Session;
use lookaside_core::{Aead, Auth, Capability, ChainOrder, Cipher, Hash, Secret, Sym};
use lookaside_simd::Cpu;

use super::LANES;

/// A name for people, the session that tells what serves it, and the operations.
fn families() -> Vec<(&'static str, Sym)> {
    let key = |n: usize| Secret::from((1..=n as u8).collect::<Vec<_>>());
    let cipher = |cipher, n| Sym::Cipher { cipher, key: key(n) };
    let auth = |auth, n, tag_len| Sym::Auth { auth, key: key(n), tag_len };
    let aead = |aead, n| Sym::Aead { aead, key: key(n), tag_len: 16 };
    let chain = |cipher, n, auth, tag_len| Sym::Chain {
        cipher,
        cipher_key: key(n),
        auth,
        auth_key: key(20),
        tag_len,
        order: ChainOrder::CipherThenAuth,
    };
    let tls = |hash| Sym::TlsCbc { key: key(16), hash, auth_key: key(20) };
    vec![
        ("null", cipher(Cipher::Null, 0)),
        ("ARC4 (weak)", cipher(Cipher::Arc4, 16)),
        ("AES-ECB, 128 to 256 bits", cipher(Cipher::AesEcb, 16)),
        ("AES-CBC, 128 to 256 bits", cipher(Cipher::AesCbc, 16)),
        ("AES-CTR, 128 to 256 bits", cipher(Cipher::AesCtr, 16)),
        ("AES-XTS, 128 and 256 bits", cipher(Cipher::AesXts, 32)),
        ("DES-ECB, DES-CBC (weak)", cipher(Cipher::DesCbc, 8)),
        ("3DES-ECB, 3DES-CBC (weak)", cipher(Cipher::TripleDesCbc, 24)),
        ("3DES-CTR (weak)", cipher(Cipher::TripleDesCtr, 24)),
        ("KASUMI F8", cipher(Cipher::KasumiF8, 16)),
        ("SNOW 3G UEA2", cipher(Cipher::Snow3gUea2, 16)),
        ("ZUC EEA3", cipher(Cipher::ZucEea3, 16)),
        ("ChaCha20", cipher(Cipher::ChaCha20, 32)),
        ("SM4-ECB, SM4-CBC, SM4-CTR", cipher(Cipher::Sm4Cbc, 16)),
        ("MD5 (weak), plain, nested, HMAC", auth(Auth::Hmac(Hash::Md5), 16, 16)),
        ("SHA-1 (weak), plain, nested, HMAC", auth(Auth::Plain(Hash::Sha1), 0, 20)),
        ("SHA-224, SHA-256, plain, nested, HMAC", auth(Auth::Plain(Hash::Sha256), 0, 32)),
        ("SHA-384, SHA-512, plain, nested, HMAC", auth(Auth::Plain(Hash::Sha512), 0, 64)),
        ("SHA3-224 to SHA3-512, plain, nested, HMAC", auth(Auth::Plain(Hash::Sha3_256), 0, 32)),
        ("SM3, plain, nested, HMAC", auth(Auth::Plain(Hash::Sm3), 0, 32)),
        ("CRC-32, CRC-64", auth(Auth::Crc32, 0, 4)),
        ("HMAC-SHA1 (weak)", auth(Auth::Hmac(Hash::Sha1), 20, 20)),
        ("HMAC-SHA256", auth(Auth::Hmac(Hash::Sha256), 20, 32)),
        ("AES-XCBC-MAC", auth(Auth::AesXcbc, 16, 16)),
        ("AES-CBC-MAC, 128 to 256 bits", auth(Auth::AesCbcMac, 16, 16)),
        ("AES-CMAC, 128 to 256 bits", auth(Auth::AesCmac, 16, 16)),
        ("AES-GMAC, 128 to 256 bits", auth(Auth::AesGmac, 16, 16)),
        ("KASUMI F9", auth(Auth::KasumiF9, 16, 4)),
        ("SNOW 3G UIA2", auth(Auth::Snow3gUia2, 16, 4)),
        ("ZUC EIA3", auth(Auth::ZucEia3, 16, 4)),
        ("Poly1305", auth(Auth::Poly1305, 32, 16)),
        ("AES-GCM, 128 to 256 bits", aead(Aead::AesGcm, 16)),
        ("AES-CCM, 128 to 256 bits", aead(Aead::AesCcm, 16)),
        ("ChaCha20-Poly1305", aead(Aead::ChaCha20Poly1305, 32)),
        ("AES-CBC and HMAC-SHA1", chain(Cipher::AesCbc, 16, Auth::Hmac(Hash::Sha1), 12)),
        ("AES-CBC and HMAC-SHA2", chain(Cipher::AesCbc, 16, Auth::Hmac(Hash::Sha256), 16)),
        ("AES-CTR and HMAC", chain(Cipher::AesCtr, 16, Auth::Hmac(Hash::Sha256), 16)),
        ("3DES-CBC and HMAC (weak)", chain(Cipher::TripleDesCbc, 24, Auth::Hmac(Hash::Sha1), 12)),
        ("any other cipher and hash or MAC", chain(Cipher::Sm4Ctr, 16, Auth::AesCmac, 16)),
        ("TLS records of AES-CBC suites", tls(Hash::Sha1)),
    ]
}

/// A row per family and operation.
pub(crate) fn capabilities(cpu: &Cpu) -> Vec<Capability> {
    let mut rows = Vec::new();
    for (name, spec) in families() {
        let ops = spec.ops();
        let spec = match spec {
            // CMAC under a key of 16 bytes: the sample above has 20 for HMAC.
            Sym::Chain { cipher, cipher_key, auth: Auth::AesCmac, tag_len, order, .. } => {
                let auth_key = cipher_key.clone();
                Sym::Chain { cipher, cipher_key, auth: Auth::AesCmac, auth_key, tag_len, order }
            }
            other => other,
        };
        // What this machine cannot do has no row.
        let Ok(session) = Session::new(spec, cpu) else { continue };
        for &op in ops {
            rows.push(Capability {
                op,
                algorithm: name.into(),
                served_by: session.served_by().into(),
                best_batch: LANES,
                max_src: u32::MAX as usize,
            });
        }
    }
    rows
}
