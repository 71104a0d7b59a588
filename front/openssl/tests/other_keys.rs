//! Keys that Lookaside cannot hold, key derivation by `EVP_PKEY_derive`, and reasons of errors: as
//! without us.
#![allow(clippy::undocumented_unsafe_blocks, missing_docs)]

mod libcrypto;

use libcrypto::*;
use std::{
    collections::BTreeSet,
    ffi::{CStr, c_int},
    ptr::{null, null_mut},
};

const DIGEST: [u8; 32] = [7; 32];

fn both() -> (Lib, Lib) {
    (Lib::ours(&[]), Lib::plain())
}

/// A key signs, verifies and recovers on both sides.
fn signs(ours: &Lib, plain: &Lib, key: &Key, theirs: &Key, settings: &[(&str, &str)]) {
    let a = ours.sign(key, settings, &DIGEST).unwrap_or_else(|| panic!("{}", errors()));
    assert!(plain.verify(theirs, settings, &DIGEST, &a), "{settings:?} {}", errors());
    let b = plain.sign(theirs, settings, &DIGEST).unwrap();
    assert!(ours.verify(key, settings, &DIGEST, &b), "{settings:?} {}", errors());
    let mut wrong = b;
    wrong[12] ^= 1;
    assert!(!ours.verify(key, settings, &DIGEST, &wrong), "{settings:?}");
    errors();
}

#[test]
fn hkdf_and_tls_prf_by_pkey_derive() {
    let (ours, plain) = both();
    let derive = |lib: &Lib, name: &CStr, settings: &[(&str, &str)], len: usize| unsafe {
        let ctx = EVP_PKEY_CTX_new_from_name(lib.0, name.as_ptr(), null());
        assert_eq!(EVP_PKEY_derive_init(ctx), 1, "{}", errors());
        for (name, value) in settings {
            let (n, v) = (c(name), c(value));
            let set = EVP_PKEY_CTX_ctrl_str(ctx, n.as_ptr(), v.as_ptr());
            assert!(set > 0, "{name} = {value}: {}", errors());
        }
        let (mut out, mut len) = (vec![0; len], len);
        let done = EVP_PKEY_derive(ctx, out.as_mut_ptr(), &mut len);
        EVP_PKEY_CTX_free(ctx);
        out.truncate(len);
        (done == 1).then_some(out)
    };
    let key = ("hexkey", "0b0b");
    for (name, settings, len) in [
        (c"HKDF", &[("md", "SHA256"), key, ("hexsalt", "01"), ("hexinfo", "aa")][..], 16),
        (c"HKDF", &[("mode", "EXTRACT_ONLY"), ("md", "SHA256"), key, ("hexsalt", "01")], 64),
        (c"HKDF", &[("mode", "EXPAND_ONLY"), ("md", "SHA512"), key, ("info", "x")], 100),
        (c"TLS1-PRF", &[("md", "SHA256"), ("hexsecret", "0102"), ("hexseed", "03")], 77),
        (c"TLS1-PRF", &[("md", "MD5-SHA1"), ("secret", "s"), ("seed", "a"), ("seed", "b")], 5),
    ] {
        let expected = derive(&plain, name, settings, len);
        assert!(expected.is_some(), "{name:?} {}", errors());
        assert_eq!(derive(&ours, name, settings, len), expected, "{name:?} {}", errors());
    }
    // What does not fit, and what is missing.
    let extract = [("mode", "EXTRACT_ONLY"), ("md", "SHA256"), key];
    for lib in [&ours, &plain] {
        assert_eq!(derive(lib, c"HKDF", &extract, 31), None);
        assert!(errors().contains("output buffer too small"));
        assert_eq!(derive(lib, c"HKDF", &[key], 10), None);
        assert!(errors().contains("missing message digest"));
        assert_eq!(derive(lib, c"TLS1-PRF", &[("md", "SHA256"), ("secret", "s")], 10), None);
        assert!(errors().contains("missing seed"));
    }
}

#[test]
fn parameters_of_key_derivation() {
    let (ours, plain) = both();
    let answers = |lib: &Lib, name: &CStr| unsafe {
        let kdf = EVP_KDF_fetch(lib.0, name.as_ptr(), null());
        let ctx = EVP_KDF_CTX_new(kdf);
        let mut byte = 0u8;
        let unknown =
            Param { data: (&raw mut byte).cast(), data_size: 1, ..param(c"salt", false, &[]) };
        let answers = (
            EVP_KDF_CTX_get_kdf_size(ctx),
            EVP_KDF_CTX_get_params(ctx, null_mut()),
            EVP_KDF_CTX_get_params(ctx, [unknown, END].as_mut_ptr()),
        );
        EVP_KDF_CTX_free(ctx);
        EVP_KDF_free(kdf);
        answers
    };
    for name in [c"HKDF", c"TLS1-PRF"] {
        assert_eq!(answers(&ours, name).0, usize::MAX);
        assert_eq!(answers(&ours, name), answers(&plain, name), "{name:?}");
    }
}

#[test]
fn curves_of_other_providers() {
    let (ours, plain) = both();
    for curve in ["secp160r1", "secp192k1", "sect163r1", "sect239k1", "brainpoolP320t1"] {
        let settings = [("group", curve)];
        let key = ours.generate("EC", &settings);
        assert_eq!(key.provider(), "lookaside", "{curve}");
        let theirs = plain.import("EC", &key);
        signs(&ours, &plain, &key, &theirs, &[("digest", "SHA256")]);
        // And the other way round, with an exchange.
        let peer = plain.generate("EC", &settings);
        let ours_of_peer = ours.import("EC", &peer);
        unsafe { assert_eq!(EVP_PKEY_get_bits(ours_of_peer.0), EVP_PKEY_get_bits(peer.0)) };
        let secret = ours.derive(&key, &ours_of_peer).unwrap_or_else(|| panic!("{}", errors()));
        assert_eq!(Some(secret), plain.derive(&peer, &theirs), "{curve}");
        unsafe {
            assert_eq!(EVP_PKEY_eq(key.0, ours_of_peer.0), 0);
            assert_eq!(EVP_PKEY_eq(key.0, ours.import("EC", &theirs).0), 1, "{}", errors());
            let check = EVP_PKEY_CTX_new_from_pkey(ours.0, key.0, null());
            assert_eq!(EVP_PKEY_check(check), 1, "{}", errors());
            EVP_PKEY_CTX_free(check);
        }
        // Another curve's key is none of its peers.
        assert!(ours.derive(&key, &ours.generate("EC", &[("group", "P-256")])).is_none());
        errors();
    }
    assert!(ours.try_generate("EC", &[("group", "P-255")]).is_none());
    assert!(errors().contains("invalid"));
}

#[test]
fn curve_parameters_as_numbers() {
    let (ours, plain) = both();
    let key = ours.generate("EC", &[("group", "P-256"), ("encoding", "explicit")]);
    let theirs = plain.import("EC", &key);
    signs(&ours, &plain, &key, &theirs, &[("digest", "SHA256")]);
    // A key of ours that is to be written so, with one that is not.
    let named = ours.generate("EC", &[("group", "P-256")]);
    let other = ours.generate("EC", &[("group", "P-256")]);
    let expected = ours.derive(&other, &named).unwrap();
    let copy = ours.import("EC", &named);
    unsafe {
        let (name, value) = (c"encoding".as_ptr(), c"explicit".as_ptr());
        assert_eq!(EVP_PKEY_set_utf8_string_param(named.0, name, value), 1, "{}", errors());
        assert_eq!(EVP_PKEY_eq(copy.0, named.0), 1, "{}", errors());
        assert_eq!(EVP_PKEY_eq(named.0, copy.0), 1, "{}", errors());
        assert_eq!(EVP_PKEY_eq(named.0, other.0), 0);
    }
    assert_eq!(ours.derive(&other, &named), Some(expected.clone()), "{}", errors());
    assert_eq!(ours.derive(&named, &other), Some(expected), "{}", errors());
}

#[test]
fn rsa_keys_of_other_providers() {
    let (ours, plain) = both();
    let pkcs1 = [("rsa_padding_mode", "pkcs1"), ("digest", "SHA256")];
    let pss = [
        ("rsa_padding_mode", "pss"),
        ("digest", "SHA256"),
        ("rsa_mgf1_md", "SHA1"),
        ("rsa_pss_saltlen", "11"),
    ];
    let x931 = [("digest", "SHA256"), ("rsa_padding_mode", "x931")];
    let three = ours.generate("RSA", &[("bits", "2048"), ("primes", "3")]);
    let odd = ours.generate("RSA", &[("bits", "1025")]);
    let usual = ours.generate("RSA", &[("bits", "1024")]);
    // (X9.31's number has the modulus' whole bytes.)
    for (key, all, x) in [(&three, true, true), (&odd, true, false), (&usual, false, true)] {
        assert_eq!(key.provider(), "lookaside");
        let theirs = plain.import("RSA", key);
        if x {
            signs(&ours, &plain, key, &theirs, &x931);
        }
        if all {
            signs(&ours, &plain, key, &theirs, &pkcs1);
            signs(&ours, &plain, key, &theirs, &pss);
            unsafe { assert_eq!(EVP_PKEY_get_bits(key.0), EVP_PKEY_get_bits(theirs.0)) };
        }
    }
    // Encryption, with a label.
    let settings = [("rsa_padding_mode", "oaep"), ("rsa_oaep_label", "616263")];
    let o = ours.start(&three, EVP_PKEY_encrypt_init, &settings);
    let secret = b"secret";
    let sealed = o.collect(|out, len| unsafe {
        EVP_PKEY_encrypt(o.0, out, len, secret.as_ptr(), secret.len())
    });
    let sealed = sealed.unwrap_or_else(|| panic!("{}", errors()));
    for (lib, key) in [(&ours, &three), (&plain, &plain.import("RSA", &three))] {
        let o = lib.start(key, EVP_PKEY_decrypt_init, &settings);
        let opened = o.collect(|out, len| unsafe {
            EVP_PKEY_decrypt(o.0, out, len, sealed.as_ptr(), sealed.len())
        });
        assert_eq!(opened.as_deref(), Some(&secret[..]), "{}", errors());
    }
}

#[test]
fn long_rsa_keys() {
    let (ours, plain) = both();
    for bytes in [1025, 2048] {
        // No product of primes: the public operation does not ask.
        let n: Vec<u8> = (0..bytes).map(|i| (i * 7 + 1) as u8 | 1).collect();
        let number = |key: &'static CStr, value: &'static [u8]| Param {
            data_type: 2,
            ..param(key, false, value)
        };
        let params = [number(c"n", n.leak()), number(c"e", &[1, 0, 1]), END];
        let encrypted = [&ours, &plain].map(|lib| unsafe {
            let ctx = EVP_PKEY_CTX_new_from_name(lib.0, c"RSA".as_ptr(), null());
            assert_eq!(EVP_PKEY_fromdata_init(ctx), 1);
            let mut key = null_mut();
            let made = EVP_PKEY_fromdata(ctx, &mut key, 0x86, params.as_ptr().cast_mut());
            assert_eq!(made, 1, "{}", errors());
            EVP_PKEY_CTX_free(ctx);
            let key = Key(key);
            let o = lib.start(&key, EVP_PKEY_encrypt_init, &[("rsa_padding_mode", "none")]);
            let text = vec![0; bytes];
            let sealed =
                o.collect(|out, len| EVP_PKEY_encrypt(o.0, out, len, text.as_ptr(), text.len()));
            sealed.unwrap_or_else(|| panic!("{}", errors()))
        });
        assert_eq!(encrypted[0], encrypted[1]);
    }
}

#[test]
fn every_tls_group_of_the_default_provider() {
    unsafe extern "C" fn note(params: *const Param, names: Ptr) -> c_int {
        let names = unsafe { &mut *names.cast::<BTreeSet<(String, String)>>() };
        let mut at = params;
        let (mut name, mut algorithm) = (String::new(), String::new());
        unsafe {
            while !(*at).key.is_null() {
                let text = || CStr::from_ptr((*at).data.cast()).to_string_lossy().into_owned();
                match CStr::from_ptr((*at).key).to_bytes() {
                    b"tls-group-name" => name = text(),
                    b"tls-group-alg" => algorithm = text(),
                    _ => {}
                }
                at = at.add(1);
            }
        }
        names.insert((algorithm, name));
        1
    }
    let groups = |lib: &Lib, name: &CStr| unsafe {
        let provider = OSSL_PROVIDER_load(lib.0, name.as_ptr());
        let mut names = BTreeSet::<(String, String)>::new();
        let arg = (&raw mut names).cast();
        OSSL_PROVIDER_get_capabilities(provider, c"TLS-GROUP".as_ptr(), note, arg);
        OSSL_PROVIDER_unload(provider);
        names
    };
    let ours = Lib::ours(&[]);
    let theirs = groups(&ours, c"default");
    let ours = groups(&ours, c"lookaside");
    // Hybrids and the like have keys of their own, and so stay with the default provider.
    let lost: Vec<_> = theirs
        .difference(&ours)
        .filter(|(algorithm, _)| ["EC", "X25519", "X448", "DH"].contains(&algorithm.as_str()))
        .collect();
    assert!(theirs.len() > 30 && lost.is_empty(), "{lost:?}");
}

#[test]
fn errors_say_what_openssl_says() {
    let (ours, plain) = both();
    let first = |text: String| text.split(';').next().unwrap_or_default().to_owned();
    let rsa = plain.generate("RSA", &[("bits", "1024")]);
    let pss = plain.generate(
        "RSA-PSS",
        &[("bits", "1024"), ("rsa_pss_keygen_md", "SHA256"), ("rsa_pss_keygen_saltlen", "32")],
    );
    let ec = plain.generate("EC", &[("group", "P-256")]);
    let said = |lib: &Lib| -> Vec<String> {
        errors();
        let (rsa, pss, ec) =
            (lib.import("RSA", &rsa), lib.import("RSA-PSS", &pss), lib.import("EC", &ec));
        let mut said = Vec::new();
        let mut set = |key: &Key, init, settings: &[(&CStr, &CStr)]| unsafe {
            let o = lib.start(key, init, &[]);
            let done = settings
                .iter()
                .all(|(n, v)| EVP_PKEY_CTX_ctrl_str(o.0, n.as_ptr(), v.as_ptr()) > 0);
            // Who may ask for any salt differs between versions.
            assert!(!done || settings[0].1 == c"auto", "{settings:?}");
            said.push(format!("{settings:?}: {done} {}", first(errors())));
        };
        let (padding, salt) = (c"rsa_padding_mode", c"rsa_pss_saltlen");
        set(&rsa, EVP_PKEY_sign_init, &[(c"rsa_mgf1_md", c"sha1")]);
        set(&rsa, EVP_PKEY_sign_init, &[(salt, c"20")]);
        set(&rsa, EVP_PKEY_sign_init, &[(c"digest", c"SHA256"), (padding, c"none")]);
        set(&rsa, EVP_PKEY_sign_init, &[(padding, c"pss"), (salt, c"-5")]);
        set(&pss, EVP_PKEY_sign_init, &[(padding, c"pkcs1")]);
        set(&pss, EVP_PKEY_sign_init, &[(c"digest", c"SHA1")]);
        set(&pss, EVP_PKEY_sign_init, &[(salt, c"20")]);
        set(&pss, EVP_PKEY_verify_init, &[(salt, c"auto")]);
        set(&pss, EVP_PKEY_sign_init, &[(salt, c"auto")]);
        let digest = ("digest", "SHA256");
        for (key, settings, len) in [
            (&rsa, &[digest][..], 20),
            (&rsa, &[("rsa_padding_mode", "pkcs1")], 126),
            (&rsa, &[("rsa_padding_mode", "pss"), digest, ("rsa_pss_saltlen", "100")], 32),
        ] {
            assert!(lib.sign(key, settings, &vec![1; len]).is_none());
            said.push(format!("{settings:?} {len}: {}", first(errors())));
        }
        for (key, len) in [(&rsa, 127), (&ec, 70)] {
            assert!(!lib.verify(key, &[digest], &DIGEST, &vec![1; len]));
            said.push(format!("verify {len}: {}", first(errors())));
        }
        // OpenSSL's reason is the first byte of padding that is wrong, which is the
        // second one for every key where the signature is 0 (as is its power).
        assert!(!lib.verify(&rsa, &[digest], &DIGEST, &[0; 128]));
        let reason = first(errors());
        assert!(["bad signature", "block type is not 01"].contains(&reason.as_str()), "{reason}");
        let o = lib.start(&rsa, EVP_PKEY_encrypt_init, &[("rsa_padding_mode", "oaep")]);
        let long = [1; 128];
        let sealed =
            o.collect(|out, len| unsafe { EVP_PKEY_encrypt(o.0, out, len, long.as_ptr(), 128) });
        assert!(sealed.is_none());
        said.push(format!("encrypt: {}", first(errors())));
        let o = lib.start(&rsa, EVP_PKEY_decrypt_init, &[("rsa_padding_mode", "oaep")]);
        let opened =
            o.collect(|out, len| unsafe { EVP_PKEY_decrypt(o.0, out, len, long.as_ptr(), 128) });
        assert!(opened.is_none());
        said.push(format!("decrypt: {}", first(errors())));
        said
    };
    assert_eq!(said(&ours), said(&plain));
}

#[test]
fn a_salt_longer_than_the_key_is_refused_at_the_start() {
    let (ours, plain) = both();
    let settings =
        |salt| [("bits", "512"), ("rsa_pss_keygen_md", "SHA256"), ("rsa_pss_keygen_saltlen", salt)];
    for (salt, good) in [("32", true), ("33", false)] {
        let theirs = plain.generate("RSA-PSS", &settings(salt));
        for (lib, key) in [(&ours, ours.import("RSA-PSS", &theirs)), (&plain, theirs)] {
            unsafe {
                let ctx = EVP_PKEY_CTX_new_from_pkey(lib.0, key.0, null());
                assert_eq!(EVP_PKEY_verify_init(ctx) == 1, good, "{salt} {}", errors());
                EVP_PKEY_CTX_free(ctx);
            }
            assert_eq!(errors().contains("invalid salt length"), !good);
        }
    }
}

#[test]
fn rejection_of_bad_padding_is_a_choice() {
    let (ours, plain) = both();
    let theirs = plain.generate("RSA", &[("bits", "1024")]);
    let key = ours.import("RSA", &theirs);
    let bad = [3u8; 128];
    let open = |implicit: u32| unsafe {
        let o = ours.start(&key, EVP_PKEY_decrypt_init, &[("rsa_padding_mode", "pkcs1")]);
        let value = implicit.to_ne_bytes();
        let row = Param { data_type: 2, ..param(c"implicit-rejection", false, &value) };
        assert_eq!(EVP_PKEY_CTX_set_params(o.0, [row, END].as_ptr()), 1, "{}", errors());
        o.collect(|out, len| EVP_PKEY_decrypt(o.0, out, len, bad.as_ptr(), bad.len()))
    };
    assert!(open(1).is_some());
    assert!(open(0).is_none());
    errors();
}
