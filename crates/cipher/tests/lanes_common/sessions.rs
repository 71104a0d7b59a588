//! Sessions of every kind, and what their packets must be like.

use lookaside_cipher::choice::By;
use lookaside_cipher::{Aead, Auth, ChainOrder, Cipher, Hash, Secret, Session, Sym};
use lookaside_simd::Cpu;

use super::Random;

const HASHES: [Hash; 11] = [
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

/// Ciphers, and the lengths of their keys.
const CIPHERS: &[(Cipher, &[usize])] = &[
    (Cipher::Null, &[0]),
    (Cipher::Arc4, &[16]),
    (Cipher::AesEcb, &[16, 24, 32]),
    (Cipher::AesCbc, &[16, 24, 32]),
    (Cipher::AesCtr, &[16, 24, 32]),
    (Cipher::AesXts, &[32, 64]),
    (Cipher::DesEcb, &[8]),
    (Cipher::DesCbc, &[8]),
    (Cipher::TripleDesEcb, &[24]),
    (Cipher::TripleDesCbc, &[24]),
    (Cipher::TripleDesCtr, &[24]),
    (Cipher::KasumiF8, &[16]),
    (Cipher::Snow3gUea2, &[16]),
    (Cipher::ZucEea3, &[16]),
    (Cipher::ChaCha20, &[32]),
    (Cipher::Sm4Ecb, &[16]),
    (Cipher::Sm4Cbc, &[16]),
    (Cipher::Sm4Ctr, &[16]),
];

/// MACs that are no HMAC: the lengths of their keys, and of their tags.
const MACS: &[(Auth, &[usize], usize)] = &[
    (Auth::AesXcbc, &[16], 16),
    (Auth::AesCbcMac, &[16, 24, 32], 16),
    (Auth::AesCmac, &[16, 24, 32], 16),
    (Auth::AesGmac, &[16, 24, 32], 16),
    (Auth::KasumiF9, &[16], 4),
    (Auth::Snow3gUia2, &[16], 4),
    (Auth::ZucEia3, &[16], 4),
    (Auth::Poly1305, &[32], 16),
    (Auth::Crc32, &[0], 4),
    (Auth::Crc64, &[0], 8),
];

fn auths(random: &mut Random) -> Vec<(Auth, Vec<u8>, usize)> {
    let mut list = Vec::new();
    for hash in HASHES {
        list.push((Auth::Plain(hash), Vec::new(), hash.len()));
        for key_len in [0, 16, 20, 64, 65, 200] {
            list.push((Auth::Hmac(hash), random.bytes(key_len), hash.len()));
        }
    }
    for (inner, outer) in [(Hash::Md5, Hash::Md5), (Hash::Sha256, Hash::Sha1)] {
        for (prefix, suffix) in [(0, 0), (64, 64), (13, 40)] {
            let mut key = vec![prefix as u8];
            key.extend(random.bytes(prefix + suffix));
            list.push((Auth::Nested { inner, outer }, key, outer.len()));
        }
    }
    for (auth, key_lens, len) in MACS {
        list.extend(key_lens.iter().map(|key_len| (*auth, random.bytes(*key_len), *len)));
    }
    list
}

/// Sessions of every kind that there is, with random keys: those that there is no implementation of
/// are left out.
pub fn sessions(cpu: &Cpu) -> Vec<Session> {
    let random = &mut Random(42);
    let secret = |bytes: Vec<u8>| Secret::from(bytes);
    let mut specs = Vec::new();
    for (cipher, key_lens) in CIPHERS {
        for key_len in *key_lens {
            // Two of each, so that lanes hold different keys.
            for _ in 0..2 {
                specs.push(Sym::Cipher { cipher: *cipher, key: secret(random.bytes(*key_len)) });
            }
        }
    }
    let auths = auths(random);
    for (auth, key, len) in &auths {
        specs.push(Sym::Auth { auth: *auth, key: secret(key.clone()), tag_len: *len });
        let short = if *auth == Auth::AesGmac { 12 } else { 1 + random.below(*len) };
        specs.push(Sym::Auth { auth: *auth, key: secret(key.clone()), tag_len: short });
    }
    for key_len in [16, 24, 32] {
        for (aead, tag_lens) in [(Aead::AesGcm, [8, 12, 13, 16]), (Aead::AesCcm, [4, 8, 12, 16])] {
            for tag_len in tag_lens {
                specs.push(Sym::Aead { aead, key: secret(random.bytes(key_len)), tag_len });
            }
        }
    }
    for _ in 0..2 {
        let key = secret(random.bytes(32));
        specs.push(Sym::Aead { aead: Aead::ChaCha20Poly1305, key, tag_len: 16 });
    }
    for order in [ChainOrder::CipherThenAuth, ChainOrder::AuthThenCipher] {
        for (cipher, key_lens) in CIPHERS {
            for _ in 0..5 {
                let (auth, key, len) = &auths[random.below(auths.len())];
                let key_len = key_lens[random.below(key_lens.len())];
                specs.push(Sym::Chain {
                    cipher: *cipher,
                    cipher_key: secret(random.bytes(key_len)),
                    auth: *auth,
                    auth_key: secret(key.clone()),
                    tag_len: *len,
                    order,
                });
            }
        }
        for hash in [Hash::Sha1, Hash::Sha256, Hash::Sha384, Hash::Sha512, Hash::Md5] {
            for cipher in [Cipher::AesCbc, Cipher::AesCtr, Cipher::Null] {
                let key_len = if cipher == Cipher::Null { 0 } else { 16 };
                specs.push(Sym::Chain {
                    cipher,
                    cipher_key: secret(random.bytes(key_len)),
                    auth: Auth::Hmac(hash),
                    auth_key: secret(random.bytes(hash.len())),
                    tag_len: 12,
                    order,
                });
            }
        }
    }
    for hash in [Hash::Sha1, Hash::Sha256, Hash::Sha384] {
        for key_len in [16, 32] {
            let (key, auth_key) = (secret(random.bytes(key_len)), secret(random.bytes(hash.len())));
            specs.push(Sym::TlsCbc { key, hash, auth_key });
        }
    }
    specs.into_iter().filter_map(|spec| Session::new(spec, cpu).ok()).collect()
}

/// Those that have a candidate, served by it alone: packets of all lengths, and any number of them.
pub fn candidates(cpu: &Cpu, by: By) -> Vec<Session> {
    let only = |session: &Session| Session::only(session.spec().clone(), cpu, by).ok().flatten();
    sessions(cpu).iter().filter_map(only).collect()
}

pub fn iv_len(spec: &Sym, random: &mut Random) -> usize {
    let of_cipher = |cipher: Cipher, random: &mut Random| match cipher {
        Cipher::Null | Cipher::Arc4 => 0,
        Cipher::AesEcb | Cipher::DesEcb | Cipher::TripleDesEcb | Cipher::Sm4Ecb => 0,
        Cipher::AesCtr | Cipher::Sm4Ctr => [12, 16][random.below(2)],
        Cipher::DesCbc | Cipher::TripleDesCbc | Cipher::TripleDesCtr | Cipher::KasumiF8 => 8,
        _ => 16,
    };
    match spec {
        Sym::Cipher { cipher, .. } | Sym::Chain { cipher, .. } => of_cipher(*cipher, random),
        Sym::Auth { auth: Auth::AesGmac, .. } | Sym::Aead { aead: Aead::AesGcm, .. } => {
            [12, 12, 12, 1, 16, 33][random.below(6)]
        }
        Sym::Auth { auth: Auth::KasumiF9, .. } => 9,
        Sym::Auth { auth: Auth::Snow3gUia2 | Auth::ZucEia3, .. } => 16,
        Sym::Auth { .. } => 0,
        Sym::Aead { aead: Aead::AesCcm, .. } => 7 + random.below(7),
        Sym::Aead { .. } => 12,
        Sym::TlsCbc { .. } => 16,
    }
}

pub fn block(spec: &Sym) -> usize {
    match spec {
        Sym::Cipher { cipher, .. } | Sym::Chain { cipher, .. } => match cipher {
            Cipher::AesEcb | Cipher::AesCbc | Cipher::Sm4Ecb | Cipher::Sm4Cbc => 16,
            Cipher::DesEcb | Cipher::DesCbc | Cipher::TripleDesEcb | Cipher::TripleDesCbc => 8,
            _ => 1,
        },
        _ => 1,
    }
}

pub fn tag_len(spec: &Sym) -> usize {
    match spec {
        Sym::Auth { tag_len, .. } | Sym::Aead { tag_len, .. } | Sym::Chain { tag_len, .. } => {
            *tag_len
        }
        _ => 0,
    }
}
