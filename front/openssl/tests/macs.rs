//! Every MAC beside OpenSSL's own: the same calls, the same bytes and answers.
#![allow(clippy::undocumented_unsafe_blocks, missing_docs)]

mod libcrypto;

use libcrypto::{cipher::Random, digest::Setting::*, digest::*, task::*, *};
use std::{cell::RefCell, ffi::CStr};

const DIGESTS: [&CStr; 11] = [
    c"MD5",
    c"SHA1",
    c"SHA224",
    c"SHA2-256",
    c"SHA384",
    c"SHA2-512",
    c"SHA3-224",
    c"SHA3-256",
    c"SHA3-384",
    c"SHA3-512",
    c"SM3",
];

/// Digests and ciphers that are not ours: somebody else's MAC.
const OTHER_DIGESTS: [&CStr; 3] = [c"SHA2-512/256", c"RIPEMD160", c"BLAKE2S-256"];

fn pair(ours: &Lib, plain: &Lib, name: &str) -> [Mac; 2] {
    let pair = [Mac::new(ours, name), Mac::new(plain, name)];
    assert_eq!((&*pair[0].provider, &*pair[1].provider), ("lookaside", "default"), "{name}");
    pair
}

/// The same call on both: the same result.
fn same<R: PartialEq + std::fmt::Debug>(pair: &[Mac; 2], f: impl Fn(&Mac) -> R) -> R {
    let [a, b] = [f(&pair[0]), f(&pair[1])];
    assert_eq!(a, b, "ours, theirs; {}", errors());
    a
}

fn pieces(random: &mut Random) -> Vec<Vec<u8>> {
    let n = random.below(6);
    let piece = |random: &mut Random| {
        let most = [1, 17, 65, 130, 300, 3000][random.below(6)];
        let len = random.below(most);
        random.bytes(len)
    };
    (0..n).map(|_| piece(random)).collect()
}

/// Texts one after the other with one object, copies on the way; `iv`: each needs its own.
fn texts(pair: &[Mac; 2], random: &mut Random, rounds: usize, iv: bool) {
    for round in 0..rounds {
        let (before, after) = (pieces(random), pieces(random));
        if round > 0 {
            let nonce = random.bytes(if round % 3 == 0 { 12 } else { 1 + round % 40 });
            let settings = if iv { vec![Bytes(c"iv", &nonce)] } else { Vec::new() };
            assert!(same(pair, |mac| mac.init(None, &settings)));
        }
        before.iter().for_each(|piece| assert!(same(pair, |mac| mac.update(piece))));
        let tags = same(pair, |mac| {
            let copy = mac.copy();
            after.iter().for_each(|piece| assert!(mac.update(piece)));
            let again = copy.copy();
            drop(copy);
            assert!(again.update(b"another end"));
            (mac.finish(), again.finish(), mac.sizes())
        });
        assert!(tags.0.is_some() && tags.1.is_some() && tags.0 != tags.1, "{}", errors());
    }
}

#[test]
fn hmac() {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    let mut random = Random(3);
    for digest in DIGESTS.iter().chain(&OTHER_DIGESTS) {
        for key_len in [0, 1, 20, 64, 65, 128, 136, 144, 145, 300] {
            let key = random.bytes(key_len);
            let pair = pair(&ours, &plain, "HMAC");
            same(&pair, Mac::sizes);
            assert!(same(&pair, |mac| mac.init(Some(&key), &[Text(c"digest", digest)])));
            texts(&pair, &mut random, 3, false);
            // Another key for the same object, set rather than passed.
            let key = random.bytes(33);
            assert!(same(&pair, |mac| mac.set(&[Bytes(c"key", &key)]) && mac.init(None, &[])));
            texts(&pair, &mut random, 2, false);
            // And another digest.
            let other = [Text(c"digest", c"SHA256")];
            assert!(same(&pair, |mac| mac.init(Some(&key), &other)));
            texts(&pair, &mut random, 1, false);
        }
    }
    assert!(served(&ours, "HMAC-SM3: ") > 0 && served(&ours, "HMAC-MD5: ") > 0);
}

/// A digest that OpenSSL computes faster on this CPU is left to it within HMAC as well.
#[test]
fn hmac_of_what_is_left() {
    for algorithms in ["fast", "all"] {
        let (ours, plain) = (Lib::ours(&[("algorithms", algorithms)]), Lib::plain());
        let left = ours.text("left-to-default");
        let pair = pair(&ours, &plain, "HMAC");
        let digest = [Text(c"digest", c"SHA3-256")];
        assert!(same(&pair, |mac| mac.init(Some(b"key"), &digest)));
        texts(&pair, &mut Random(9), 2, false);
        drop(pair);
        let is_left = left.split(' ').any(|name| name == "SHA3-256");
        assert_eq!(counted(&ours, "HMAC-SHA3-256: ").is_none(), is_left, "{}", ours.statistics());
    }
}

/// How many pieces the provider counts for the first algorithm whose line begins so.
fn served(lib: &Lib, name: &str) -> u64 {
    counted(lib, name).unwrap_or_else(|| panic!("no {name} in {}", lib.statistics()))
}

fn counted(lib: &Lib, name: &str) -> Option<u64> {
    let text = lib.statistics();
    let line = text.lines().find_map(|line| line.split(name).nth(1))?;
    line.split(' ').next()?.parse().ok()
}

#[test]
fn hmac_without_what_it_needs() {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    let pair = pair(&ours, &plain, "HMAC");
    assert!(!same(&pair, |mac| mac.init(None, &[Text(c"digest", c"SHA256")])));
    let nothing = [Mac::new(&ours, "HMAC"), Mac::new(&plain, "HMAC")];
    assert!(!same(&nothing, |mac| mac.init(Some(b"key"), &[])));
    for name in [c"SHA257", c"SHAKE128"] {
        let digest = [Text(c"digest", name)];
        assert!(!same(&nothing, |mac| mac.init(Some(b"key"), &digest)), "{name:?}");
    }
    // Properties that only the default provider has.
    let both = [Text(c"digest", c"SHA256"), Text(c"properties", c"provider=default")];
    assert!(same(&pair, |mac| mac.init(Some(b"key"), &both)));
    assert!(same(&pair, |mac| mac.update(b"text")));
    assert!(same(&pair, Mac::finish).is_some());
    errors();
}

/// The MAC of a TLS record of CBC suites, before its padding is known to be good.
#[test]
fn hmac_of_records() {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    let mut random = Random(4);
    for digest in [c"MD5", c"SHA1", c"SHA256", c"SHA384"] {
        let pair = pair(&ours, &plain, "HMAC");
        let key = random.bytes(20);
        assert!(same(&pair, |mac| mac.init(Some(&key), &[Text(c"digest", digest)])));
        for _ in 0..20 {
            let data = 1 + random.below(300);
            let size = data + random.below(255);
            let (mut header, text) = (random.bytes(13), random.bytes(size));
            header[11..].copy_from_slice(&(data as u16).to_be_bytes());
            // As libssl does for each record.
            let tag = same(&pair, |mac| {
                let mac = mac.copy();
                assert!(mac.set(&[Size(c"tls-data-size", &size)]), "{}", errors());
                assert!(mac.update(&header) && mac.update(&text[..data]), "{}", errors());
                mac.finish()
            });
            let whole = same(&pair, |mac| {
                let mac = mac.copy();
                assert!(mac.update(&header) && mac.update(&text[..data]));
                mac.finish()
            });
            assert!(tag.is_some() && tag == whole, "{digest:?}, {data} of {size}");
        }
    }
}

#[test]
fn cmac() {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    let mut random = Random(5);
    for (cipher, key_len) in [
        (c"AES-128-CBC", 16),
        (c"aes-192-cbc", 24),
        (c"AES256", 32),
        (c"2.16.840.1.101.3.4.1.2", 16),
        (c"DES-EDE3-CBC", 24),
        (c"CAMELLIA-128-CBC", 16),
    ] {
        let pair = pair(&ours, &plain, "CMAC");
        let key = random.bytes(key_len);
        assert!(same(&pair, |mac| mac.init(Some(&key), &[Text(c"cipher", cipher)])), "{cipher:?}");
        texts(&pair, &mut random, 30, false);
        let key = random.bytes(key_len);
        assert!(same(&pair, |mac| mac.init(Some(&key), &[])));
        texts(&pair, &mut random, 3, false);
        assert!(!same(&pair, |mac| mac.init(Some(&key[1..]), &[])));
        errors();
    }
    assert!(served(&ours, "CMAC: ") > 0);
}

#[test]
fn gmac() {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    let mut random = Random(6);
    for (cipher, key_len) in
        [(c"AES-128-GCM", 16), (c"id-aes192-GCM", 24), (c"AES-256-GCM", 32), (c"ARIA-128-GCM", 16)]
    {
        for iv_len in [1, 8, 12, 13, 16, 60, 128] {
            let pair = pair(&ours, &plain, "GMAC");
            let (key, iv) = (random.bytes(key_len), random.bytes(iv_len));
            let cipher = Text(c"cipher", cipher);
            if iv_len % 2 == 0 {
                assert!(same(&pair, |mac| mac.init(Some(&key), &[cipher, Bytes(c"iv", &iv)])));
            } else {
                // As `openssl mac` does: parameters first, and the key among them.
                let all = [cipher, Bytes(c"key", &key), Bytes(c"iv", &iv)];
                assert!(same(&pair, |mac| mac.set(&all) && mac.init(None, &[])));
            }
            texts(&pair, &mut random, 6, true);
            // A text needs an IV of its own.
            assert!(!same(&pair, |mac| mac.init(None, &[]) && mac.update(b"text")));
            assert!(!same(&pair, |mac| mac.init(Some(&key[1..]), &[])));
            errors();
        }
    }
    assert!(served(&ours, "GMAC: ") > 0);
}

#[test]
fn poly1305() {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    let mut random = Random(7);
    let pair = pair(&ours, &plain, "POLY1305");
    same(&pair, Mac::sizes);
    for round in 0..100 {
        let key = random.bytes(32);
        let set = round % 3 == 0;
        assert!(same(&pair, |mac| match set {
            true => mac.set(&[Bytes(c"key", &key)]) && mac.init(None, &[]),
            false => mac.init(Some(&key), &[]),
        }));
        texts(&pair, &mut random, 1, false);
        // Its key is for one text.
        assert!(!same(&pair, |mac| mac.init(None, &[])));
        errors();
    }
    assert!(!same(&pair, |mac| mac.init(Some(&[0; 31]), &[])));
    errors();
}

fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// What one connection authenticates.
fn work(lib: &Lib, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let mut all = Vec::new();
    for digest in DIGESTS {
        let key = random.bytes(20);
        let mac = Mac::new(lib, "HMAC");
        assert!(mac.init(Some(&key), &[Text(c"digest", digest)]), "{}", errors());
        for _ in 0..3 {
            let len = random.below(3000);
            let text = random.bytes(len);
            assert!(mac.update(&text) && mac.copy().update(&text), "{}", errors());
            assert!(mac.update(&text[len / 2..]), "{}", errors());
            all.extend(mac.finish().unwrap());
            assert!(mac.init(None, &[]));
        }
    }
    for (name, cipher, key_len) in [("CMAC", c"AES-128-CBC", 16), ("GMAC", c"AES-256-GCM", 32)] {
        let key = random.bytes(key_len);
        let mac = Mac::new(lib, name);
        let iv = (name == "GMAC").then(|| Bytes(c"iv", &key[..12]));
        let settings: Vec<_> = [Text(c"cipher", cipher)].into_iter().chain(iv).collect();
        assert!(mac.init(Some(&key), &settings), "{}", errors());
        assert!(mac.update(&random.bytes(5000)), "{}", errors());
        all.extend(mac.finish().unwrap());
    }
    all
}

#[test]
fn one_to_40_jobs() {
    let plain = Lib::plain();
    for settings in [&[("async-bytes", "100")][..], &[("engines", "2"), ("async-bytes", "700")]] {
        let lib = Lib::ours(settings);
        for jobs in [1, 3, 40] {
            let made: Vec<_> = (0..jobs).map(|_| RefCell::new(Vec::new())).collect();
            let mut all: Vec<Task> = (0..jobs)
                .map(|i| {
                    let (lib, made) = (&lib, &made[i]);
                    Task::new(move || {
                        *made.borrow_mut() = work(lib, i as u64);
                        true
                    })
                })
                .collect();
            run_all(&mut all);
            drop(all);
            for (i, made) in made.iter().enumerate() {
                let expect = work(&plain, i as u64);
                assert!(*made.borrow() == expect, "{settings:?}, {jobs} jobs: job {i}");
            }
        }
        let paused = lib.counter("asynchronous");
        // Where the CPU runs them side by side: tests/digests.rs has this at every cap.
        let capped = std::env::var_os("LOOKASIDE_CPU").is_some();
        assert!(paused > 100 || capped || !has_avx2(), "{settings:?}: {paused}");
    }
}
