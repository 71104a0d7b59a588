//! TLS records of CBC suites, as libssl has them sealed and opened, beside OpenSSL's own.
#![allow(clippy::undocumented_unsafe_blocks, missing_docs)]

mod libcrypto;

use libcrypto::{cipher::*, *};
use std::ptr;

const STITCHED: [&str; 4] = [
    "AES-128-CBC-HMAC-SHA1",
    "AES-256-CBC-HMAC-SHA1",
    "AES-128-CBC-HMAC-SHA256",
    "AES-256-CBC-HMAC-SHA256",
];

fn fetch(ours: &Lib, plain: &Lib, name: &str) -> Option<[Alg; 2]> {
    let theirs = Alg::fetch(plain, name);
    errors();
    let ours = Alg::fetch(ours, name)?;
    assert_eq!(ours.provider(), "lookaside", "{name}");
    if theirs.is_none() {
        eprintln!("SKIPPED: OpenSSL has no {name} on this CPU");
    }
    Some([ours, theirs?])
}

fn header(number: u64, version: u16, len: usize) -> Vec<u8> {
    let mut header = number.to_be_bytes().to_vec();
    header.push(23);
    header.extend(version.to_be_bytes());
    header.extend((len as u16).to_be_bytes());
    header
}

/// The cipher takes padding and MAC off.
#[test]
fn padding_and_mac_are_taken_off() {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    let mut random = Random(21);
    for name in ["AES-128-CBC", "AES-256-CBC", "DES-EDE3-CBC"] {
        let algs = fetch(&ours, &plain, name).unwrap();
        let block = algs[0].block();
        for version in [0x300, 0x301, 0x302, 0x303, 0x100, 0xfeff, 0xfefd] {
            for mac_len in [0, 20, 32, 48, 64] {
                let (key, iv) = (random.bytes(algs[0].key_len()), random.bytes(block));
                let start = |alg: &Alg, enc| {
                    let text = Text::new();
                    assert!(text.init(Some(alg), &key, &iv, enc));
                    assert!(text.set_number(c"tls-version", version), "{}", errors());
                    assert!(text.set_number(c"tls-mac-size", mac_len));
                    text
                };
                let sealers = [start(&algs[0], 1), start(&algs[1], 1)];
                let openers = [start(&algs[0], 0), start(&algs[1], 0)];
                let raw = Text::new();
                assert!(raw.init(Some(&algs[1]), &key, &iv, 1));
                raw.pad(false);
                for round in 0..30 {
                    // Sealed: padded as short as can be.
                    let len = random.below(400);
                    let mut text = random.bytes(len);
                    text.resize(len + 64, 0);
                    let sealed = sealers.each_ref().map(|sealer| {
                        let mut record = text.clone();
                        let n = sealer.update_in_place(&mut record, len).unwrap();
                        record.truncate(n);
                        record
                    });
                    assert!(sealed[0] == sealed[1], "{name} {version:x}");
                    // Opened: with all kinds of padding, good and bad.
                    let before = if matches!(version, 0x300 | 0x301) { 0 } else { block };
                    let payload = random.below(300);
                    let mut text = random.bytes(before + payload + mac_len);
                    let least = block - text.len() % block;
                    let most = (256 - least) / block;
                    let padding = least + block * random.below(most + 1) * (round % 2);
                    text.extend(std::iter::repeat_n((padding - 1) as u8, padding));
                    let bad = round % 5 == 4;
                    if bad {
                        let at = text.len() - 1 - random.below(padding.min(3));
                        text[at] ^= 1 << random.below(8);
                    }
                    let record = raw.update(&text).unwrap();
                    let opened = openers.each_ref().map(|opener| {
                        let mut record = record.clone();
                        let n = record.len();
                        let len = opener.update_in_place(&mut record, n);
                        (len, record, (mac_len > 0).then(|| opener.tls_mac(mac_len)).flatten())
                    });
                    let [a, b] = &opened;
                    assert!((a.0, &a.1) == (b.0, &b.1), "{name} {version:x} {mac_len} {bad}");
                    let end = text.len() - padding;
                    if !bad && a.0 == Some(end - before - mac_len) && mac_len > 0 {
                        assert!(a.2.as_deref() == Some(&text[end - mac_len..end]), "{name}");
                        assert!(a.2 == b.2);
                    } else if bad && version != 0x300 && mac_len > 0 {
                        // Another MAC than any that is there.
                        assert!(a.2.as_deref() != Some(&text[end - mac_len..end]));
                    }
                    errors();
                }
            }
        }
    }
}

#[test]
fn sealed_and_opened_in_one() {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    let mut random = Random(22);
    for name in STITCHED {
        let Some(algs) = fetch(&ours, &plain, name) else { continue };
        let mac_len = if name.ends_with("SHA1") { 20 } else { 32 };
        for version in [0x301, 0x302, 0x303] {
            for told in [false, true] {
                let (key, iv) = (random.bytes(algs[0].key_len()), random.bytes(16));
                let mac_key = random.bytes(if told { mac_len } else { 100 });
                let start = |alg: &Alg, enc| {
                    let text = Text::new();
                    assert!(text.init(Some(alg), &key, &iv, enc));
                    let set = text.ctrl(SET_MAC_KEY, mac_key.len(), &mut mac_key.clone());
                    assert_eq!(set, 1, "{}", errors());
                    if told {
                        assert!(text.set_number(c"tls-version", version.into()));
                    }
                    text
                };
                let sealers = [start(&algs[0], 1), start(&algs[1], 1)];
                let openers = [start(&algs[0], 0), start(&algs[1], 0)];
                let before = if version > 0x301 { 16 } else { 0 };
                for number in 0..25 {
                    let len =
                        before + if number < 20 { number as usize * 7 } else { random.below(5000) };
                    let text = random.bytes(len);
                    let sealed = sealers.each_ref().map(|sealer| {
                        let pad = sealer.ctrl(TLS1_AAD, 13, &mut header(number, version, len));
                        assert!(pad as usize > mac_len, "{}", errors());
                        let mut record = text.clone();
                        record.resize(len + pad as usize, 0);
                        let all = record.len();
                        let n = sealer.update_in_place(&mut record, all);
                        assert_eq!(n, Some(all), "{}", errors());
                        record
                    });
                    assert!(sealed[0] == sealed[1], "{name} {version:x} {number}");
                    let payload = len - before;
                    // Of TLS 1.0, a wrong record makes those after it wrong as well.
                    for wrong in [true, false].into_iter().filter(|w| !w || version > 0x301) {
                        let mut record = sealed[0].clone();
                        if wrong {
                            let at = before + random.below(record.len() - before);
                            record[at] ^= 1 << random.below(8);
                        }
                        let opened = openers.each_ref().map(|opener| {
                            let all = record.len();
                            let aad = &mut header(number, version, all);
                            assert_eq!(opener.ctrl(TLS1_AAD, 13, aad) as usize, mac_len);
                            let mut text = record.clone();
                            let n = opener.update_in_place(&mut text, all);
                            (n, text)
                        });
                        assert_eq!(
                            opened[0].0,
                            opened[1].0,
                            "{name} {version:x} {wrong} {}",
                            errors()
                        );
                        assert_eq!(opened[0].0.is_some(), !wrong);
                        if !wrong {
                            let expect = if told { payload } else { sealed[0].len() };
                            assert_eq!(opened[0].0, Some(expect));
                            assert!(opened[0].1[before..len] == text[before..]);
                            // The block of the explicit IV, which SHA-256's cipher decrypts.
                            let first = opened.each_ref().map(|(_, text)| &text[..before]);
                            assert!(first[0] == first[1], "{name} {version:x} {number}");
                            // The padding is there to be found.
                            let last = sealed[0].len() - 1;
                            assert!(told || opened[0].1[last] == opened[1].1[last]);
                        } else if payload > 0 {
                            assert!(opened[0].1[before..len] != text[before..]);
                        }
                        errors();
                    }
                }
                // A record whose length is not what was said.
                for sealer in &sealers {
                    sealer.ctrl(TLS1_AAD, 13, &mut header(1, 0x303, 64));
                    assert_eq!(sealer.update_in_place(&mut [0; 256], 192), None);
                }
                errors();
            }
        }
    }
}

#[test]
fn without_associated_data() {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    let mut random = Random(23);
    for name in STITCHED {
        let Some(algs) = fetch(&ours, &plain, name) else { continue };
        for enc in [1, 0] {
            let (key, iv) = (random.bytes(algs[0].key_len()), random.bytes(16));
            let texts = algs.each_ref().map(|alg| {
                let text = Text::new();
                assert!(text.init(Some(alg), &key, &iv, enc));
                text
            });
            for len in [0, 16, 32, 48, 64, 96, 1024, 1984, 2000, 2032, 2048, 2064, 4096, 16384, 16]
            {
                let text = random.bytes(len);
                let [a, b] = texts.each_ref().map(|t| t.update(&text));
                assert!(a == b, "{name} {len} {}", errors());
                let [a, b] = texts.each_ref().map(|t| {
                    let mut text = text.clone();
                    text.push(0xee);
                    (t.update_in_place(&mut text, len), text)
                });
                assert!(a == b, "{name} {len} {}", errors());
                assert_eq!(texts[0].state(16), texts[1].state(16));
            }
            let [a, b] = texts.each_ref().map(|t| t.update(&[1; 15]));
            assert!(a.is_none() && b.is_none());
            let copies = texts.each_ref().map(Text::copy);
            let [a, b] = copies.each_ref().map(|t| (t.update(&[5; 64]), t.finish()));
            assert!(a == b);
            let [a, b] = texts
                .each_ref()
                .map(|t| (t.init(None, &[], &[], -1), t.state(16), t.update(&[5; 64])));
            assert!(a == b);
            errors();
        }
    }
}

#[test]
fn many_at_once() {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    let mut random = Random(24);
    for name in STITCHED {
        let Some(algs) = fetch(&ours, &plain, name) else { continue };
        let (key, mac_key) = (random.bytes(algs[0].key_len()), random.bytes(20));
        let start = |alg: &Alg, enc| {
            let text = Text::new();
            assert!(text.init(Some(alg), &key, &[9; 16], enc));
            assert_eq!(text.ctrl(SET_MAC_KEY, 20, &mut mac_key.clone()), 1);
            text
        };
        let sealers = [start(&algs[0], 1), start(&algs[1], 1)];
        let opener = start(&algs[1], 0);
        assert!(opener.set_number(c"tls-version", 0x303));
        for (interleave, len) in
            [(4, 16384), (4, 4 * 15872), (8, 8 * 15872), (8, 8191), (4, 1000), (8, 70_001)]
        {
            let text = random.bytes(len);
            let most = sealers.each_ref().map(|s| s.ctrl(MULTIBLOCK_MAX_BUFSIZE, 15872, &mut []));
            assert_eq!(most[0], most[1]);
            let number = u64::from(u32::MAX) - 2;
            let planned = sealers.each_ref().map(|sealer| {
                let aad = header(number, 0x303, 0);
                let mut param =
                    MultiblockParam { out: ptr::null_mut(), inp: aad.as_ptr(), len, interleave };
                let at = ptr::from_mut(&mut param).cast();
                let size = size_of::<MultiblockParam>() as i32;
                let packed = unsafe { EVP_CIPHER_CTX_ctrl(sealer.0, MULTIBLOCK_AAD, size, at) };
                (packed, param.interleave)
            });
            assert_eq!(planned[0], planned[1], "{}", errors());
            for (sealer, (packed, interleave)) in sealers.iter().zip(planned) {
                let mut out = vec![0xee; packed as usize + 1];
                let mut param =
                    MultiblockParam { out: out.as_mut_ptr(), inp: text.as_ptr(), len, interleave };
                let at = ptr::from_mut(&mut param).cast();
                let size = size_of::<MultiblockParam>() as i32;
                let n = unsafe { EVP_CIPHER_CTX_ctrl(sealer.0, MULTIBLOCK_ENCRYPT, size, at) };
                assert!(n > 0 && n <= packed, "{name} {len} {n} {packed} {}", errors());
                assert_eq!(out.pop(), Some(0xee));
                let (mut rest, mut opened) = (&mut out[..n as usize], Vec::<u8>::new());
                for i in 0..u64::from(interleave) {
                    let (head, more) = rest.split_at_mut(5);
                    assert_eq!(head[..3], [23, 3, 3]);
                    let len = usize::from(u16::from_be_bytes([head[3], head[4]]));
                    let (record, more) = more.split_at_mut(len);
                    opener.ctrl(TLS1_AAD, 13, &mut header(number + i, 0x303, len));
                    let n = opener.update_in_place(record, len).expect(name);
                    opened.extend(&record[16..16 + n]);
                    rest = more;
                }
                assert!(rest.is_empty() && opened == text, "{name} {len}");
            }
        }
        // What libssl does not ask for.
        let aad = header(0, 0x301, 0);
        let mut param =
            MultiblockParam { out: ptr::null_mut(), inp: aad.as_ptr(), len: 65536, interleave: 4 };
        for sealer in &sealers {
            let at = ptr::from_mut(&mut param).cast();
            let size = size_of::<MultiblockParam>() as i32;
            assert!(unsafe { EVP_CIPHER_CTX_ctrl(sealer.0, MULTIBLOCK_AAD, size, at) } <= 0);
        }
        errors();
    }
}
