//! Every operation beside OpenSSL's own provider: what one makes, the other accepts.
#![allow(clippy::undocumented_unsafe_blocks, missing_docs)]

mod libcrypto;

use libcrypto::*;
use std::{
    process::Command,
    ptr::{null, null_mut},
};

const DIGEST: [u8; 32] = [7; 32];

fn both() -> (Lib, Lib) {
    (Lib::ours(&[]), Lib::plain())
}

#[test]
fn the_provider_is_chosen_and_says_what_it_is() {
    let (ours, plain) = both();
    let key = ours.generate("EC", &[("group", "P-256")]);
    assert_eq!(key.provider(), "lookaside");
    let other = plain.generate("EC", &[("group", "P-256")]);
    assert_eq!(other.provider(), "default");
    assert!(ours.counter("synchronous") > 0);
    assert_eq!(ours.counter("asynchronous"), 0);
}

#[test]
fn wrong_settings_keep_it_from_loading() {
    for (name, value, says) in [
        ("policy", "hope", "wait, fallback or fail"),
        ("engine", "1", "is it engines?"),
        ("algorithms", "RSA ROT13", "ROT13"),
        ("async", "ec-sing", "ec-sing"),
    ] {
        // OpenSSL goes on without a provider that does not load, and drops its error.
        let file = config(&[(name, value)]);
        let run = Command::new("openssl")
            .args(["list", "-providers"])
            .env("OPENSSL_CONF", &file)
            .output()
            .expect("Debian's package openssl");
        std::fs::remove_file(file).unwrap();
        let text = String::from_utf8_lossy(&run.stderr);
        assert!(text.contains(says), "{name} = {value}: {text}");
        assert!(!String::from_utf8_lossy(&run.stdout).contains("lookaside"));
    }
}

#[test]
fn only_the_algorithms_of_the_settings_are_offered() {
    let ours = Lib::ours(&[("algorithms", "X25519")]);
    assert_eq!(ours.generate("X25519", &[]).provider(), "lookaside");
    assert_eq!(ours.generate("EC", &[("group", "P-256")]).provider(), "default");
}

#[test]
fn rsa_signatures() {
    let (ours, plain) = both();
    for bits in ["1024", "2048", "3072"] {
        let theirs = plain.generate("RSA", &[("bits", bits)]);
        let key = ours.import("RSA", &theirs);
        assert_eq!(key.provider(), "lookaside");
        unsafe {
            assert_eq!(EVP_PKEY_get_bits(key.0), EVP_PKEY_get_bits(theirs.0));
            assert_eq!(EVP_PKEY_get_size(key.0), EVP_PKEY_get_size(theirs.0));
            assert_eq!(EVP_PKEY_get_security_bits(key.0), EVP_PKEY_get_security_bits(theirs.0));
        }
        let pss = [("rsa_padding_mode", "pss"), ("digest", "SHA256")];
        for settings in [
            &[("rsa_padding_mode", "pkcs1"), ("digest", "SHA256")][..],
            &[("rsa_padding_mode", "pkcs1")],
            &pss,
            &[pss[0], pss[1], ("rsa_pss_saltlen", "digest")],
            &[pss[0], pss[1], ("rsa_pss_saltlen", "max")],
            &[pss[0], pss[1], ("rsa_pss_saltlen", "11"), ("rsa_mgf1_md", "SHA1")],
        ] {
            let a = ours.sign(&key, settings, &DIGEST).unwrap_or_else(|| panic!("{}", errors()));
            let b = plain.sign(&theirs, settings, &DIGEST).unwrap();
            assert!(plain.verify(&theirs, settings, &DIGEST, &a), "{bits} {settings:?}");
            assert!(ours.verify(&key, settings, &DIGEST, &b), "{bits} {settings:?} {}", errors());
            let mut wrong = b.clone();
            wrong[20] ^= 1;
            assert!(!ours.verify(&key, settings, &DIGEST, &wrong));
            assert!(!ours.verify(&key, settings, &[8; 32], &b));
            errors();
        }
        // The default salt: as long as fits before OpenSSL 3.1, at most as long as the digest since.
        let [a, b] = [(&ours, &key), (&plain, &theirs)].map(|(lib, key)| {
            let signature = lib.sign(key, &pss, &DIGEST).unwrap();
            ["digest", "max"].map(|salt| {
                let settings = [pss[0], pss[1], ("rsa_pss_saltlen", salt)];
                plain.verify(&theirs, &settings, &DIGEST, &signature)
            })
        });
        errors();
        assert!(a == b && a != [false; 2], "{bits}: {a:?}, {b:?}");
        let recover = |lib: &Lib, key: &Key, sig: &[u8]| {
            let settings = [("rsa_padding_mode", "pkcs1"), ("digest", "SHA256")];
            let o = lib.start(key, EVP_PKEY_verify_recover_init, &settings);
            let (s, n) = (sig.as_ptr(), sig.len());
            o.collect(|out, len| unsafe { EVP_PKEY_verify_recover(o.0, out, len, s, n) })
        };
        let settings = [("rsa_padding_mode", "pkcs1"), ("digest", "SHA256")];
        let sig = plain.sign(&theirs, &settings, &DIGEST).unwrap();
        assert_eq!(recover(&ours, &key, &sig).unwrap(), DIGEST);
    }
}

#[test]
fn rsa_signature_errors() {
    let ours = Lib::ours(&[]);
    let key = ours.generate("RSA", &[("bits", "1024")]);
    // A digest of the wrong length.
    assert!(ours.sign(&key, &[("digest", "SHA256")], &[1; 20]).is_none());
    assert!(errors().contains("invalid digest length"));
    // Too long for the modulus.
    assert!(ours.sign(&key, &[], &[1; 126]).is_none());
    assert!(errors().contains("data too large for key size"));
    assert!(ours.try_generate("RSA", &[("bits", "100")]).is_none());
    assert!(errors().contains("key size too small"));
}

#[test]
fn rsa_pss_keys_keep_to_what_they_prescribe() {
    let (ours, plain) = both();
    let settings = [
        ("bits", "1024"),
        ("rsa_pss_keygen_md", "SHA256"),
        ("rsa_pss_keygen_mgf1_md", "SHA256"),
        ("rsa_pss_keygen_saltlen", "32"),
    ];
    let theirs = plain.generate("RSA-PSS", &settings);
    let key = ours.import("RSA-PSS", &theirs);
    let sig = ours.sign(&key, &[], &DIGEST).unwrap();
    assert!(plain.verify(&theirs, &[], &DIGEST, &sig));
    let own = ours.generate("RSA-PSS", &settings);
    assert_eq!(own.provider(), "lookaside");
    let sig = ours.sign(&own, &[], &DIGEST).unwrap();
    let o = ours.start(&own, EVP_PKEY_verify_init, &[]);
    for (name, value) in
        [(c"digest", c"SHA1"), (c"rsa_pss_saltlen", c"20"), (c"rsa_padding_mode", c"pkcs1")]
    {
        let set = unsafe { EVP_PKEY_CTX_ctrl_str(o.0, name.as_ptr(), value.as_ptr()) };
        assert!(set <= 0, "{name:?}");
    }
    errors();
    let copy = plain.import("RSA-PSS", &own);
    assert!(plain.verify(&copy, &[], &DIGEST, &sig));
}

#[test]
fn rsa_encryption() {
    let (ours, plain) = both();
    let theirs = plain.generate("RSA", &[("bits", "2048")]);
    let key = ours.import("RSA", &theirs);
    let crypt = |lib: &Lib, key: &Key, encrypt: bool, settings: &[(&str, &str)], data: &[u8]| {
        let (d, n) = (data.as_ptr(), data.len());
        if encrypt {
            let o = lib.start(key, EVP_PKEY_encrypt_init, settings);
            o.collect(|out, len| unsafe { EVP_PKEY_encrypt(o.0, out, len, d, n) })
        } else {
            let o = lib.start(key, EVP_PKEY_decrypt_init, settings);
            o.collect(|out, len| unsafe { EVP_PKEY_decrypt(o.0, out, len, d, n) })
        }
    };
    let oaep = ("rsa_padding_mode", "oaep");
    for settings in [
        &[("rsa_padding_mode", "pkcs1")][..],
        &[oaep],
        &[oaep, ("rsa_oaep_md", "SHA256"), ("rsa_mgf1_md", "SHA1"), ("rsa_oaep_label", "616263")],
    ] {
        let a = crypt(&ours, &key, true, settings, b"secret").unwrap();
        let b = crypt(&plain, &theirs, true, settings, b"secret").unwrap();
        assert_eq!(crypt(&plain, &theirs, false, settings, &a).unwrap(), b"secret");
        assert_eq!(crypt(&ours, &key, false, settings, &b).unwrap(), b"secret", "{settings:?}");
        // One that lost its leading zero on the way, which OpenSSL takes.
        let short = core::iter::repeat_with(|| crypt(&plain, &theirs, true, settings, b"secret"));
        let short = short.flatten().find(|c| c[0] == 0).unwrap();
        assert_eq!(crypt(&ours, &key, false, settings, &short[1..]).unwrap(), b"secret");
    }
    // Implicit rejection: another text, no error, and the same one each time.
    let bad = [3u8; 256];
    let pkcs1 = [("rsa_padding_mode", "pkcs1")];
    let first = crypt(&ours, &key, false, &pkcs1, &bad).unwrap();
    assert_eq!(crypt(&ours, &key, false, &pkcs1, &bad).unwrap(), first);
    assert!(crypt(&ours, &key, false, &[oaep], &bad).is_none());
    errors();
}

#[test]
fn generated_keys_are_keys_for_others_too() {
    let (ours, plain) = both();
    for (algorithm, settings) in [
        ("RSA", &[("bits", "2048")][..]),
        ("EC", &[("group", "P-256")]),
        ("EC", &[("group", "P-384")]),
        ("EC", &[("group", "secp521r1")]),
        ("EC", &[("group", "sect233k1")]),
        ("EC", &[("group", "brainpoolP256r1")]),
        ("X25519", &[]),
        ("X448", &[]),
    ] {
        let key = ours.generate(algorithm, settings);
        assert_eq!(key.provider(), "lookaside");
        let copy = plain.import(algorithm, &key);
        let back = ours.import(algorithm, &copy);
        unsafe {
            assert_eq!(EVP_PKEY_eq(key.0, back.0), 1, "{algorithm}");
            assert_eq!(EVP_PKEY_get_bits(key.0), EVP_PKEY_get_bits(copy.0));
            assert_eq!(EVP_PKEY_get_size(key.0), EVP_PKEY_get_size(copy.0));
            assert_eq!(EVP_PKEY_get_security_bits(key.0), EVP_PKEY_get_security_bits(copy.0));
            for (lib, key) in [(&ours, &key), (&plain, &copy)] {
                let ctx = EVP_PKEY_CTX_new_from_pkey(lib.0, key.0, null());
                assert_eq!(EVP_PKEY_pairwise_check(ctx), 1, "{algorithm}: {}", errors());
                EVP_PKEY_CTX_free(ctx);
            }
        }
    }
}

/// Signed with a public key of another seed, Ed25519 gives the private key away.
#[test]
fn halves_of_different_keys_are_refused() {
    let (ours, _) = both();
    for (algorithm, len) in [("ED25519", 32), ("ED448", 57)] {
        let name = c(algorithm);
        let (seed, public) = (vec![1; len], vec![2; len]);
        let mut params = [param(c"priv", false, &seed), param(c"pub", false, &public), END];
        let make = |params: &mut [Param]| unsafe {
            let ctx = EVP_PKEY_CTX_new_from_name(ours.0, name.as_ptr(), null());
            assert_eq!(EVP_PKEY_fromdata_init(ctx), 1, "{}", errors());
            let mut key = null_mut();
            let made = EVP_PKEY_fromdata(ctx, &mut key, 0x87, params.as_mut_ptr());
            EVP_PKEY_CTX_free(ctx);
            EVP_PKEY_free(key);
            made
        };
        assert_ne!(make(&mut params), 1, "{algorithm}");
        params[1] = END;
        assert_eq!(make(&mut params), 1, "{algorithm}: {}", errors());
    }
}

#[test]
fn ecdsa() {
    let (ours, plain) = both();
    for group in ["P-224", "P-256", "P-384", "P-521", "secp256k1", "sect283r1", "brainpoolP384r1"] {
        let theirs = plain.generate("EC", &[("group", group)]);
        let key = ours.import("EC", &theirs);
        for digest in [&DIGEST[..], &[5; 64], &[5; 20]] {
            let a = ours.sign(&key, &[], digest).unwrap_or_else(|| panic!("{group} {}", errors()));
            let b = plain.sign(&theirs, &[], digest).unwrap();
            assert!(plain.verify(&theirs, &[], digest, &a), "{group}");
            assert!(ours.verify(&key, &[], digest, &b), "{group}");
            let mut wrong = b.clone();
            *wrong.last_mut().unwrap() ^= 1;
            assert!(!ours.verify(&key, &[], digest, &wrong));
            assert!(!ours.verify(&key, &[], digest, &b[1..]));
        }
        errors();
    }
}

#[test]
fn key_exchange() {
    let (ours, plain) = both();
    for (algorithm, settings) in [
        ("EC", &[("group", "P-256")][..]),
        ("EC", &[("group", "P-384")]),
        ("EC", &[("group", "P-521")]),
        ("EC", &[("group", "sect283k1")]),
        ("X25519", &[]),
        ("X448", &[]),
    ] {
        let (a, b) = (plain.generate(algorithm, settings), plain.generate(algorithm, settings));
        let (ia, ib) = (ours.import(algorithm, &a), ours.import(algorithm, &b));
        let secret = plain.derive(&a, &b).unwrap();
        assert_eq!(ours.derive(&ia, &ib).unwrap(), secret, "{algorithm} {settings:?}");
        assert_eq!(ours.derive(&ib, &ia).unwrap(), secret, "{algorithm} {settings:?}");
        // Too little room: OpenSSL cuts what ECDH gives, and refuses the rest.
        let cut = |lib: &Lib, key: &Key, peer: &Key| {
            let operation = lib.start(key, EVP_PKEY_derive_init, &[]);
            let (mut out, mut len) = (vec![0; secret.len()], secret.len() - 3);
            let done = unsafe {
                assert_eq!(EVP_PKEY_derive_set_peer(operation.0, peer.0), 1);
                EVP_PKEY_derive(operation.0, out.as_mut_ptr(), &mut len)
            };
            (done == 1).then_some((len, out))
        };
        let expected = cut(&plain, &a, &b);
        assert_eq!(cut(&ours, &ia, &ib), expected, "{algorithm} {settings:?}");
    }
    let (a, b) =
        (ours.generate("EC", &[("group", "P-256")]), ours.generate("EC", &[("group", "P-384")]));
    assert!(ours.derive(&a, &b).is_none());
    errors();
}

#[test]
fn messages() {
    let (ours, plain) = both();
    let message = vec![9u8; 1000];
    for (algorithm, settings) in [("RSA", &[("bits", "2048")][..]), ("EC", &[("group", "P-256")])] {
        let theirs = plain.generate(algorithm, settings);
        let key = ours.import(algorithm, &theirs);
        for (digest, _) in [(c"SHA256", 0), (c"SHA512", 0), (c"SHA3-256", 0), (c"SHA1", 0)] {
            let sign = |lib: &Lib, key: &Key| unsafe {
                let ctx = EVP_MD_CTX_new();
                let d = digest.as_ptr();
                assert_eq!(
                    EVP_DigestSignInit_ex(ctx, null_mut(), d, lib.0, null(), key.0, null()),
                    1,
                    "{}",
                    errors()
                );
                let sig =
                    collect(|o, l| EVP_DigestSign(ctx, o, l, message.as_ptr(), message.len()));
                EVP_MD_CTX_free(ctx);
                sig.unwrap()
            };
            let verify = |lib: &Lib, key: &Key, sig: &[u8]| unsafe {
                let ctx = EVP_MD_CTX_new();
                let d = digest.as_ptr();
                let init =
                    EVP_DigestVerifyInit_ex(ctx, null_mut(), d, lib.0, null(), key.0, null());
                assert_eq!(init, 1);
                let (m, n) = (message.as_ptr(), message.len());
                let good = EVP_DigestVerify(ctx, sig.as_ptr(), sig.len(), m, n);
                EVP_MD_CTX_free(ctx);
                good == 1
            };
            assert!(verify(&plain, &theirs, &sign(&ours, &key)), "{algorithm} {digest:?}");
            assert!(verify(&ours, &key, &sign(&plain, &theirs)), "{algorithm} {digest:?}");
        }
    }
}

#[test]
fn key_derivation() {
    let (ours, plain) = both();
    let derive = |lib: &Lib, name: &str, params: &[Param], len: usize| unsafe {
        let name = c(name);
        let kdf = EVP_KDF_fetch(lib.0, name.as_ptr(), null());
        let ctx = EVP_KDF_CTX_new(kdf);
        let mut all = params.to_vec();
        all.push(END);
        let mut key = vec![0; len];
        let good = EVP_KDF_derive(ctx, key.as_mut_ptr(), len, all.as_ptr());
        EVP_KDF_CTX_free(ctx);
        EVP_KDF_free(kdf);
        (good == 1).then_some(key)
    };
    let text = |key, value: &'static std::ffi::CStr| param(key, true, value.to_bytes_with_nul());
    let data = |key, value: &'static [u8]| param(key, false, value);
    for (name, params, len) in [
        (
            "TLS1-PRF",
            vec![
                text(c"digest", c"SHA256"),
                data(c"secret", &[1; 48]),
                data(c"seed", b"master secret"),
                data(c"seed", &[2; 64]),
            ],
            48,
        ),
        (
            "TLS1-PRF",
            vec![text(c"digest", c"MD5-SHA1"), data(c"secret", &[1; 47]), data(c"seed", &[2; 64])],
            104,
        ),
        (
            "HKDF",
            vec![text(c"digest", c"SHA384"), data(c"key", &[1; 32]), data(c"info", b"i")],
            100,
        ),
        (
            "HKDF",
            vec![
                text(c"digest", c"SHA256"),
                text(c"mode", c"EXTRACT_ONLY"),
                data(c"key", &[1; 32]),
                data(c"salt", &[4; 9]),
            ],
            32,
        ),
        (
            "TLS13-KDF",
            vec![
                text(c"digest", c"SHA256"),
                text(c"mode", c"EXPAND_ONLY"),
                data(c"key", &[1; 32]),
                data(c"prefix", b"tls13 "),
                data(c"label", b"c hs traffic"),
                data(c"data", &[3; 32]),
            ],
            32,
        ),
        (
            "TLS13-KDF",
            vec![
                text(c"digest", c"SHA384"),
                text(c"mode", c"EXTRACT_ONLY"),
                data(c"key", &[1; 32]),
                data(c"salt", &[8; 48]),
                data(c"prefix", b"tls13 "),
                data(c"label", b"derived"),
            ],
            48,
        ),
        (
            "TLS13-KDF",
            vec![
                text(c"digest", c"SHA256"),
                text(c"mode", c"EXTRACT_ONLY"),
                data(c"prefix", b"tls13 "),
                data(c"label", b"derived"),
            ],
            32,
        ),
    ] {
        let expected = derive(&plain, name, &params, len);
        assert!(expected.is_some(), "{name}: {}", errors());
        assert_eq!(derive(&ours, name, &params, len), expected, "{name}: {}", errors());
    }
    assert!(derive(&ours, "HKDF", &[text(c"digest", c"SHA256")], 10).is_none());
    assert!(errors().contains("missing key"));
}
