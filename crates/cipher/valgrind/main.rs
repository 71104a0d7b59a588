//! Proves under valgrind that no branch and no address of opening a TLS record, and of AES-GCM by our
//! kernel, depends on a secret.
//!
//! How is said in `crates/pke/kernel/valgrind/main.rs`, which does the same for public-key kernels: keys,
//! payloads, MACs and paddings are marked as undefined, and memcheck must not complain. With `--leaky`
//! the same is done to an opening that asks too early, where it has to.
//!
//! Run by `scripts/secrets`.

// What marks and asks is that of the other program.
#[allow(dead_code)]
#[path = "../../pke/kernel/valgrind/memcheck.rs"]
mod memcheck;
// What the OpenSSL provider does with a record whose MAC libssl checks: it needs nothing but `core`.
#[allow(dead_code)]
#[path = "../../../front/openssl/src/bulk/record.rs"]
mod record;
mod sha;

use std::process::exit;

use lookaside_cipher::Text;
use lookaside_cipher::tls::{HEADER, Mac};
use lookaside_cipher_kernel::aes::gcm;
use lookaside_simd::Cpu;
use sha::Hash;

fn main() {
    if !memcheck::is_here() {
        eprintln!("secrets: proves nothing without valgrind: see scripts/secrets");
        exit(2);
    }
    if std::env::args().any(|argument| argument == "--leaky") {
        report("a record whose padding is told", leaky);
    } else {
        report("TLS record, SHA-1", opening::<[u32; 5]>);
        report("TLS record, SHA-256", opening::<[u32; 8]>);
        report("TLS record, SHA-384", opening::<[u64; 8]>);
        report("TLS record, the MAC for libssl", taking_off);
        report("AES-GCM", gcm);
    }
    exit(i32::from(memcheck::errors() > 0));
}

/// Runs one operation, and says whether valgrind complained. With a text as argument, only those
/// with it in their names.
fn report(name: &str, operation: impl FnOnce()) {
    if std::env::args().skip(1).any(|text| !text.starts_with("--") && !name.contains(&text)) {
        return;
    }
    let before = memcheck::errors();
    operation();
    match memcheck::errors() - before {
        0 => println!("secrets: {name}: no branch, no address"),
        errors => println!("secrets: {name}: LEAKS in {errors} places"),
    }
}

const HEADER_BYTES: [u8; HEADER] = [0, 0, 0, 0, 0, 0, 1, 9, 23, 3, 3, 0, 0];

/// HMAC's states of a key that is secret.
fn states<H: Hash>() -> [H; 2] {
    [0x36, 0x5c].map(|pad| {
        let mut block = vec![pad; H::BLOCK];
        block[..H::MAC].fill(0x42 ^ pad);
        memcheck::make_undefined(&mut block);
        let mut state = H::START;
        state.compress(&block);
        state
    })
}

/// Genuine records and others, short and long, with short and long padding.
fn opening<H: Hash>() {
    let states = states::<H>();
    let mac = Mac { inner: &states[0], outer: &states[1], compress: H::compress };
    for (len, payload) in [(64, 0), (64, 5), (320, 100), (512, 400), (768, 500), (1040, 990)] {
        for damaged in [None, Some(0), Some(payload), Some(payload + H::MAC), Some(len - 1)] {
            let mut record = vec![0x5a; len];
            mac.seal(&HEADER_BYTES, &mut record, payload).expect("lengths that fit");
            if let Some(at) = damaged {
                record[at] ^= 1;
            }
            memcheck::make_undefined(&mut record);
            let verdict = mac.judge(&HEADER_BYTES, &record).expect("a length that records have");
            // What everybody sees in the end.
            let mut genuine = verdict.genuine.to_le_bytes();
            assert!(memcheck::is_undefined(&mut genuine), "the verdict depends on no secret");
            memcheck::make_defined(&mut genuine);
            assert_eq!(genuine == [0xff; 4], damaged.is_none(), "{len} {payload} {damaged:?}");
            let mut found = verdict.payload.to_le_bytes();
            memcheck::make_defined(&mut found);
            if damaged.is_none() {
                assert_eq!(u32::from_le_bytes(found) as usize, payload);
            }
        }
    }
}

/// Padding and MAC taken off: the same records, and the two kinds of padding.
fn taking_off() {
    const OTHERWISE: u8 = 0xee;
    for (version, mac_len) in [(0x300, 20), (0x301, 20), (0x303, 32), (0x303, 48)] {
        let version = record::Version::new(version).expect("a version");
        for (len, payload) in [(64, 0), (64, 9), (320, 250), (320, 30), (1040, 980), (1040, 800)] {
            let padding = len - payload - mac_len - 1;
            if payload + mac_len >= len || padding > 255 {
                continue;
            }
            for damaged in [None, Some(payload + mac_len), Some(len - 1)] {
                let mut record = vec![0x5a; len];
                record[payload..][..mac_len].fill(0xa5);
                record[payload + mac_len..].fill(padding as u8);
                if let Some(at) = damaged {
                    record[at] ^= 0x80;
                }
                let mut mac = vec![0; mac_len];
                let mut otherwise = [OTHERWISE; record::MAX_MAC];
                memcheck::make_undefined(&mut record);
                memcheck::make_undefined(&mut otherwise);
                let found = record::open(version, &record, 16, &mut mac, &otherwise);
                let mut found = found.expect("a length that records have").to_le_bytes();
                assert!(memcheck::is_undefined(&mut mac), "the MAC depends on no secret");
                memcheck::make_defined(&mut found);
                memcheck::make_defined(&mut mac);
                memcheck::make_defined(&mut record);
                let fits = match version.is_ssl3() {
                    true => record[len - 1] < 16,
                    false => damaged.is_none(),
                };
                if fits {
                    assert_eq!(usize::from_le_bytes(found), payload, "{len} {payload} {damaged:?}");
                }
                let wanted = if fits { 0xa5 } else { OTHERWISE };
                assert!(mac.iter().all(|&byte| byte == wanted), "{len} {payload} {damaged:?}");
            }
        }
    }
}

/// Key, text and so the tag are secret. Valgrind shows a CPU without VAES: AES-NI's code, which is written
/// over the same steps.
fn gcm() {
    for (key_len, len) in [(16, 0), (16, 5), (24, 16), (32, 100), (16, 300), (32, 1003)] {
        let mut key = vec![7; key_len];
        memcheck::make_undefined(&mut key);
        let Some(key) = gcm::Key::boxed(Cpu::host(), &key) else {
            eprintln!("secrets: AES-GCM: no AES instructions here: nothing is proved");
            std::process::exit(2);
        };
        let mut text = vec![1; len];
        memcheck::make_undefined(&mut text);
        let mut tag = key.seal(&[1; 12], &[2; 13], Text::InPlace(&mut text));
        let mut message = key.start(&[1; 12]);
        key.aad(&mut message, &[2; 13]);
        let (first, second) = text.split_at_mut(len / 3);
        key.decrypt(&mut message, Text::InPlace(first));
        key.decrypt(&mut message, Text::InPlace(second));
        let mut other = key.tag(&mut message);
        assert!(memcheck::is_undefined(&mut tag), "the tag depends on no secret");
        for bytes in [&mut tag[..], &mut other[..], &mut text[..]] {
            memcheck::make_defined(bytes);
        }
        assert_eq!(tag, other);
        assert!(text.iter().all(|byte| *byte == 1));
    }
}

/// Tells whether the padding is good before the MAC is looked at.
fn leaky() {
    let mut record = [7; 64];
    memcheck::make_undefined(&mut record);
    let padding = usize::from(std::hint::black_box(record)[63]);
    if padding < 64 {
        println!("secrets: the padding fits");
    }
}
