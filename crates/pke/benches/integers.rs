//! Batches of the integer half as callers run them, paddings and all, against the same items one by
//! one without kernels; and key derivation against OpenSSL's.
//!
//! ```sh
//! cargo bench -p lookaside-pke --bench integers -- [--rounds N] [NAME...]
//! ```
//!
//! Rows: time per item of CPU time (the least of interleaved short rounds) alone, and the ratio
//! alone/batch for batches of 1 to 8: below 1 a batch would cost more than its items. NAME selects
//! rows that contain it. The answers of batches are tested in `tests/batches.rs`.

mod rows;

use std::ffi::c_int;
use std::ptr;

use lookaside_pke::dh::{self, Group, Name};
use lookaside_pke::kdf::{Hkdf, TlsPrf};
use lookaside_pke::modular::{Modulus, power};
use lookaside_pke::rsa::{PrivateKey, PublicKey, generate, private, public};
use lookaside_pke::{Engine, Hash, HkdfMode, Item, RsaScheme, SaltLen};
use lookaside_simd::Cpu;
use openssl_sys as ssl;
use rows::{Bench, race};

/// The pairs as a batch, each with the same key.
fn batch<K: Copy>(
    engine: &mut Engine,
    pairs: &mut [(&[u8], &mut [u8])],
    key: K,
    run: impl FnOnce(&mut Engine, &mut [Item<'_, K>]),
) {
    let mut items: Vec<_> =
        pairs.iter_mut().map(|(src, dst)| Item::new(src, dst).with(key)).collect();
    run(engine, &mut items);
    assert!(items.iter().all(|item| item.result.is_ok()));
}

type Pairs<'a, 'b> = [(&'a [u8], &'b mut [u8])];

fn rsa(bench: &Bench, bits: usize) {
    let names = ["sign", "decrypt", "verify", "encrypt"].map(|what| format!("RSA-{bits} {what}"));
    if !names.iter().any(|name| bench.wants(name)) {
        return;
    }
    let key = generate(bits, &[1, 0, 1]).expect("a key");
    let public_key = PublicKey::new(key.parts().n, key.parts().e).expect("a key");
    let key = PrivateKey::new(&key.parts()).expect("a key");
    let k = key.len();
    let salt = SaltLen::Exactly(20);
    let pss = RsaScheme::Pss { hash: Hash::Sha256, mgf: Hash::Sha256, salt };
    let run_private = |scheme| {
        let key = (&key, scheme);
        move |e: &mut Engine, pairs: &mut Pairs<'_, '_>| batch(e, pairs, key, private)
    };
    let run_public = |scheme| {
        let key = (&public_key, scheme, false);
        move |e: &mut Engine, pairs: &mut Pairs<'_, '_>| batch(e, pairs, key, public)
    };
    let engine = &mut Engine::new(Cpu::host());
    let digest = [7; 32];
    let (mut signature, mut ciphertext) = (vec![0; k], vec![0; k]);
    run_private(pss)(engine, &mut [(&digest, &mut signature)]);
    run_public(RsaScheme::Pkcs1Encrypt)(engine, &mut [(&digest, &mut ciphertext)]);
    let signed = [&signature[..], &digest].concat();
    for (name, index) in names.iter().zip(0..) {
        match index {
            _ if !bench.wants(name) => {}
            0 => bench.row(name, &digest, k, &run_private(pss)),
            1 => bench.row(name, &ciphertext, k, &run_private(RsaScheme::Pkcs1Encrypt)),
            2 => bench.row(name, &signed, 0, &run_public(pss)),
            _ => bench.row(name, &digest, k, &run_public(RsaScheme::Pkcs1Encrypt)),
        }
    }
}

fn diffie_hellman(bench: &Bench, name: Name) {
    let title = format!("{name:?} derive");
    if !bench.wants(&title) {
        return;
    }
    let group = Group::named(name).expect("a group");
    let mut pair = vec![0; group.private_len() + group.len()];
    let engine = &mut Engine::new(Cpu::host());
    dh::generate(engine, &mut [Item::new(&[], &mut pair).with(&group)]);
    bench.row(&title, &pair, group.len(), &|engine, pairs| {
        batch(engine, pairs, &group, dh::derive);
    });
}

/// A full-length exponent, also modulo numbers that do not fill the digits of their kernel.
fn exponentiation(bench: &Bench, bits: usize) {
    let title = format!("power {bits}");
    if !bench.wants(&title) {
        return;
    }
    let mut n = vec![0x9b; bits.div_ceil(8)];
    n[0] >>= (8 - bits % 8) % 8;
    let modulus = Modulus::new(&n).expect("odd");
    let src = [vec![0; n.len() / 2], vec![0x5a; n.len() / 2 + n.len()]].concat();
    bench.row(&title, &src, n.len(), &|engine, pairs| {
        batch(engine, pairs, (&modulus, modulus.len()), power);
    });
}

/// A derivation by EVP_KDF, its algorithm fetched once and its state kept, as a server would.
struct OpensslKdf {
    state: *mut ssl::EVP_KDF_CTX,
    names: Vec<(&'static std::ffi::CStr, Vec<u8>, bool)>,
}

unsafe extern "C" {
    fn OSSL_PARAM_construct_octet_string(
        key: *const libc::c_char,
        bytes: *mut libc::c_void,
        len: usize,
    ) -> ssl::OSSL_PARAM;
    fn OSSL_PARAM_construct_utf8_string(
        key: *const libc::c_char,
        bytes: *mut libc::c_char,
        len: usize,
    ) -> ssl::OSSL_PARAM;
    fn OSSL_PARAM_construct_end() -> ssl::OSSL_PARAM;
}

impl OpensslKdf {
    fn new(
        algorithm: &std::ffi::CStr,
        names: Vec<(&'static std::ffi::CStr, Vec<u8>, bool)>,
    ) -> OpensslKdf {
        // SAFETY: a string that ends in zero; the state keeps the algorithm.
        let state = unsafe {
            let kdf = ssl::EVP_KDF_fetch(ptr::null_mut(), algorithm.as_ptr(), ptr::null());
            assert!(!kdf.is_null());
            ssl::EVP_KDF_CTX_new(kdf)
        };
        OpensslKdf { state, names }
    }

    fn derive(&mut self, out: &mut [u8]) {
        // SAFETY: a valid state, and parameters that live to the end of the call.
        unsafe {
            // Or else each seed is added to the one before.
            ssl::EVP_KDF_CTX_reset(self.state);
            let mut parameters: Vec<ssl::OSSL_PARAM> = self
                .names
                .iter_mut()
                .map(|(name, value, text)| {
                    let at = value.as_mut_ptr();
                    if *text {
                        OSSL_PARAM_construct_utf8_string(name.as_ptr(), at.cast(), 0)
                    } else {
                        OSSL_PARAM_construct_octet_string(name.as_ptr(), at.cast(), value.len())
                    }
                })
                .collect();
            parameters.push(OSSL_PARAM_construct_end());
            let done: c_int =
                ssl::EVP_KDF_derive(self.state, out.as_mut_ptr(), out.len(), parameters.as_ptr());
            assert_eq!(done, 1);
        }
    }
}

fn derivation(bench: &Bench) {
    let (secret, seed) = ([1u8; 48], [2u8; 77]);
    let text = |name: &str| [name.as_bytes(), &[0]].concat();
    for (name, hash, rival) in [
        ("TLS 1.0 PRF 48", Hash::Md5Sha1, "MD5-SHA1"),
        ("TLS 1.2 PRF 48 SHA-256", Hash::Sha256, "SHA256"),
        ("TLS 1.2 PRF 48 SHA-384", Hash::Sha384, "SHA384"),
    ] {
        if !bench.wants(name) {
            continue;
        }
        let mut other = OpensslKdf::new(
            c"TLS1-PRF",
            vec![
                (c"digest", text(rival), true),
                (c"secret", secret.to_vec(), false),
                (c"seed", seed.to_vec(), false),
            ],
        );
        compare(bench, name, 48, &mut other, &|out| {
            TlsPrf { hash }.derive(&secret, &seed, out).expect("derived");
        });
    }
    for (name, mode, rival) in [
        ("HKDF 32 SHA-256", HkdfMode::ExtractAndExpand, "EXTRACT_AND_EXPAND"),
        ("HKDF-Expand 32 SHA-256", HkdfMode::Expand, "EXPAND_ONLY"),
    ] {
        if !bench.wants(name) {
            continue;
        }
        let salt: &[u8] = if mode == HkdfMode::Expand { &[] } else { &seed[..32] };
        let mut parameters = vec![
            (c"digest", text("SHA256"), true),
            (c"mode", text(rival), true),
            (c"key", secret.to_vec(), false),
            (c"info", seed.to_vec(), false),
        ];
        if !salt.is_empty() {
            parameters.push((c"salt", salt.to_vec(), false));
        }
        let mut other = OpensslKdf::new(c"HKDF", parameters);
        compare(bench, name, 32, &mut other, &|out| {
            let hkdf = Hkdf { hash: Hash::Sha256, mode };
            hkdf.derive(&secret, salt, &seed, out).expect("derived");
        });
    }
}

fn compare(
    bench: &Bench,
    name: &str,
    len: usize,
    other: &mut OpensslKdf,
    ours: &dyn Fn(&mut [u8]),
) {
    let (mut wanted, mut out) = (vec![0; len], vec![0; len]);
    other.derive(&mut wanted);
    ours(&mut out);
    assert!(wanted == out, "a wrong answer");
    let mut contenders: Vec<Box<dyn FnMut() + '_>> =
        vec![Box::new(|| ours(&mut out)), Box::new(|| other.derive(&mut wanted))];
    let times = race(bench.rounds, &mut contenders);
    println!(
        "{name:<24} {:>9.2} us  OpenSSL {:>6.2} us, {:.2} x",
        times[0] * 1e6,
        times[1] * 1e6,
        times[1] / times[0]
    );
}

fn main() {
    let bench = Bench::from_arguments();
    println!("{:<24} {:>12}   alone/batch for 1 to 8 items", "per item", "alone");
    for bits in [512, 1024, 1536, 2048, 3072, 4096] {
        rsa(&bench, bits);
    }
    for name in [Name::Modp1024, Name::Ffdhe2048, Name::Ffdhe3072, Name::Ffdhe4096] {
        diffie_hellman(&bench, name);
    }
    for bits in [256, 400, 520, 800, 1100, 1600, 2112, 3100] {
        exponentiation(&bench, bits);
    }
    derivation(&bench);
}
