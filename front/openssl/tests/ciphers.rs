//! Every cipher beside OpenSSL's own: the same calls, the same bytes and answers.
#![allow(clippy::undocumented_unsafe_blocks, missing_docs)]

mod libcrypto;

use libcrypto::{cipher::*, *};

/// OpenSSL's own, with its legacy provider where there is one.
fn plain() -> Lib {
    let lib = Lib::plain();
    unsafe { OSSL_PROVIDER_load(lib.0, c"legacy".as_ptr()) };
    errors();
    lib
}

const BLOCKS: [&str; 14] = [
    "AES-128-ECB",
    "AES-192-ECB",
    "AES-256-ECB",
    "AES-128-CBC",
    "AES-192-CBC",
    "AES-256-CBC",
    "DES-EDE3-ECB",
    "DES-EDE3-CBC",
    "SM4-ECB",
    "SM4-CBC",
    "DES-ECB",
    "DES-CBC",
    "AES128",
    "DES3",
];
const STREAMS: [&str; 6] =
    ["AES-128-CTR", "AES-192-CTR", "AES-256-CTR", "SM4-CTR", "ChaCha20", "RC4"];
const AEADS: [&str; 7] = [
    "AES-128-GCM",
    "AES-192-GCM",
    "AES-256-GCM",
    "AES-128-CCM",
    "AES-192-CCM",
    "AES-256-CCM",
    "ChaCha20-Poly1305",
];
const OTHERS: [&str; 7] = [
    "NULL",
    "AES-128-XTS",
    "AES-256-XTS",
    "AES-128-CBC-HMAC-SHA1",
    "AES-256-CBC-HMAC-SHA1",
    "AES-128-CBC-HMAC-SHA256",
    "AES-256-CBC-HMAC-SHA256",
];

/// Both libraries' algorithm of a name. `None` where OpenSSL has not got it.
struct Pair {
    ours: Alg,
    theirs: Alg,
}

fn pair(ours: &Lib, plain: &Lib, name: &str) -> Option<Pair> {
    let theirs = Alg::fetch(plain, name);
    errors();
    let Some(theirs) = theirs else {
        eprintln!("SKIPPED: OpenSSL has no {name} here");
        return None;
    };
    let ours = Alg::fetch(ours, name).unwrap_or_else(|| panic!("{name}: {}", errors()));
    assert_eq!(ours.provider(), "lookaside", "{name}");
    Some(Pair { ours, theirs })
}

impl Pair {
    /// Texts of both, started alike.
    fn start(&self, key: &[u8], iv: &[u8], enc: i32) -> [Text; 2] {
        [&self.ours, &self.theirs].map(|alg| {
            let text = Text::new();
            assert!(text.init(Some(alg), key, iv, enc), "{}", errors());
            text
        })
    }
}

/// The same call on both: the same result.
fn same<R: PartialEq + std::fmt::Debug>(
    texts: &[Text; 2],
    what: &str,
    f: impl Fn(&Text) -> R,
) -> R {
    let [a, b] = [f(&texts[0]), f(&texts[1])];
    assert!(a == b, "{what}: ours {a:?}, theirs {b:?}; {}", errors());
    a
}

#[test]
fn the_library_is_told_the_same() {
    let (ours, plain) = (Lib::ours(&[]), plain());
    for name in BLOCKS.iter().chain(&STREAMS).chain(&AEADS).chain(&OTHERS) {
        if let Some(pair) = pair(&ours, &plain, name) {
            assert_eq!(pair.ours.constants(), pair.theirs.constants(), "{name}");
        }
    }
    // And by number.
    let aes = Alg::fetch(&ours, "2.16.840.1.101.3.4.1.6").unwrap();
    assert_eq!(aes.provider(), "lookaside");
}

#[test]
fn only_what_the_settings_allow() {
    let ours = Lib::ours(&[("algorithms", "AES-128-GCM")]);
    assert_eq!(Alg::fetch(&ours, "id-aes128-GCM").unwrap().provider(), "lookaside");
    assert_eq!(Alg::fetch(&ours, "AES-256-GCM").unwrap().provider(), "default");
}

/// What OpenSSL does faster on this CPU is its own, unless the settings say otherwise.
#[test]
fn what_is_left_to_the_default_provider() {
    let fast = Lib::ours(&[("algorithms", "fast")]);
    let left = fast.text("left-to-default");
    assert!(fast.statistics().contains(&format!("left to the default provider: {left}")));
    assert!(!fast.text("cpu").is_empty());
    // A copy: on no CPU is the way to ours shorter.
    assert!(left.split(' ').any(|name| name == "NULL"), "{left}");
    for name in BLOCKS.iter().chain(&STREAMS).chain(&AEADS).chain(&OTHERS) {
        // The list has the first of an algorithm's names.
        let alias = matches!(*name, "AES128" | "DES3" | "DES-EDE3-ECB");
        let Some(alg) = Alg::fetch(&fast, name).filter(|_| !alias) else { continue };
        let is_left = left.split(' ').any(|left| left.eq_ignore_ascii_case(name));
        assert_eq!(alg.provider() == "default", is_left, "{name}: {}", alg.provider());
    }
    let all = Lib::ours(&[("algorithms", "all")]);
    assert_eq!(all.text("left-to-default"), "");
    assert_eq!(Alg::fetch(&all, "NULL").unwrap().provider(), "lookaside");
    let named = Lib::ours(&[("algorithms", "AES-128-ECB")]);
    assert_eq!(Alg::fetch(&named, "AES-128-ECB").unwrap().provider(), "lookaside");
}

/// Lengths of pieces that make up a text.
fn pieces(random: &mut Random, len: usize) -> Vec<usize> {
    let mut left = len;
    let mut pieces = Vec::new();
    while left > 0 {
        let most = [1, 16, 17, 40, left][random.below(5)].min(left);
        let n = 1 + random.below(most);
        pieces.push(n);
        left -= n;
    }
    pieces
}

#[test]
fn blocks_and_streams_in_pieces() {
    let (ours, plain) = (Lib::ours(&[]), plain());
    let mut random = Random(1);
    for name in BLOCKS.iter().chain(&STREAMS) {
        let Some(pair) = pair(&ours, &plain, name) else { continue };
        let (key_len, iv_len) = (pair.theirs.key_len(), pair.theirs.iv_len());
        for round in 0..160 {
            let key = random.bytes(key_len);
            let mut iv = random.bytes(iv_len);
            if round % 8 == 0 {
                // Counters that carry.
                iv.iter_mut().for_each(|b| *b = 0xff);
            }
            if *name == "ChaCha20" {
                // OpenSSL's own code carries to the nonce in one call, not in pieces.
                iv[3] &= 0x7f;
            }
            let len = if round < 100 { round } else { random.below(5000) };
            let enc = (round % 2) as i32;
            let pad = round % 3 > 0;
            let texts = pair.start(&key, &iv, enc);
            texts.iter().for_each(|t| t.pad(pad));
            let text = random.bytes(len);
            let mut at = 0;
            for n in pieces(&mut random, len) {
                let piece = &text[at..at + n];
                at += n;
                same(&texts, name, |t| t.update(piece));
                if *name != "ChaCha20" {
                    // OpenSSL 3.0 does not answer this one.
                    same(&texts, name, |t| t.state(iv_len));
                }
                if random.below(8) == 0 {
                    // A copy goes its own way, and so does what it was copied from.
                    let copies = [texts[0].copy(), texts[1].copy()];
                    same(&copies, name, |t| t.update(piece));
                    same(&copies, name, |t| t.finish());
                    errors();
                }
            }
            same(&texts, name, |t| t.finish());
            errors();
            // Again, with the key and perhaps the IV from before.
            let next = if round % 4 < 2 { random.bytes(iv_len) } else { Vec::new() };
            same(&texts, name, |t| t.init(None, &[], &next, -1));
            if *name != "ChaCha20" {
                same(&texts, name, |t| t.state(iv_len));
            }
            same(&texts, name, |t| t.update(&text));
            same(&texts, name, |t| t.finish());
            errors();
        }
    }
}

#[test]
fn there_and_back_with_padding() {
    let (ours, plain) = (Lib::ours(&[]), plain());
    let mut random = Random(2);
    for name in BLOCKS {
        let Some(pair) = pair(&ours, &plain, name) else { continue };
        for len in 0..70 {
            let key = random.bytes(pair.theirs.key_len());
            let iv = random.bytes(pair.theirs.iv_len());
            let text = random.bytes(len);
            let texts = pair.start(&key, &iv, 1);
            let mut sealed = same(&texts, name, |t| t.update(&text)).unwrap();
            sealed.extend(same(&texts, name, |t| t.finish()).unwrap());
            let texts = pair.start(&key, &iv, 0);
            let mut opened = same(&texts, name, |t| t.update(&sealed)).unwrap();
            opened.extend(same(&texts, name, |t| t.finish()).unwrap());
            assert_eq!(opened, text, "{name}");
            // Wrong padding, and a text cut short.
            let last = sealed.len() - 1;
            sealed[last] ^= 1;
            let texts = pair.start(&key, &iv, 0);
            same(&texts, name, |t| t.update(&sealed).is_some());
            same(&texts, name, |t| t.finish());
            let texts = pair.start(&key, &iv, 0);
            same(&texts, name, |t| t.update(&sealed[..last]));
            same(&texts, name, |t| t.finish());
            errors();
        }
    }
}

#[test]
fn in_place() {
    let (ours, plain) = (Lib::ours(&[]), plain());
    let mut random = Random(3);
    for name in BLOCKS.iter().chain(&STREAMS).chain(&["AES-128-GCM", "ChaCha20-Poly1305"]) {
        let Some(pair) = pair(&ours, &plain, name) else { continue };
        for len in [16, 32, 48, 64, 80, 128, 1024, 4000 & !15] {
            for enc in [0, 1] {
                let key = random.bytes(pair.theirs.key_len());
                let iv = random.bytes(pair.theirs.iv_len());
                let text = random.bytes(len);
                let texts = pair.start(&key, &iv, enc);
                texts.iter().for_each(|t| t.pad(false));
                same(&texts, name, |t| {
                    let mut buffer = text.clone();
                    buffer.resize(len + 16, 0xee);
                    let n = t.update_in_place(&mut buffer, len).unwrap();
                    // And in place behind it.
                    let more = t.update_in_place(&mut buffer, len).unwrap();
                    (n, more, buffer)
                });
            }
        }
        // Out of step: what overlaps comes out as if it did not.
        let key = random.bytes(pair.theirs.key_len());
        let iv = random.bytes(pair.theirs.iv_len());
        let text = random.bytes(200);
        let [mine, _] = pair.start(&key, &iv, 1);
        let [apart, _] = pair.start(&key, &iv, 1);
        let mut buffer = text.clone();
        buffer.resize(264, 0);
        let n = mine.update_in_place(&mut buffer, 5).unwrap();
        assert_eq!(buffer[..n], apart.update(&text[..5]).unwrap());
        let mut len = 0;
        let (to, from) = (buffer.as_mut_ptr(), buffer[5..].as_ptr());
        let rest = apart.update(&text[5..]).unwrap();
        assert_eq!(unsafe { EVP_CipherUpdate(mine.0, to, &mut len, from, 195) }, 1);
        assert!(buffer[..len as usize] == rest, "{name}");
    }
}

#[test]
fn whole_blocks_by_evp_cipher() {
    let (ours, plain) = (Lib::ours(&[]), plain());
    let mut random = Random(4);
    for name in BLOCKS.iter().chain(&STREAMS) {
        let Some(pair) = pair(&ours, &plain, name) else { continue };
        for len in [0, 8, 16, 17, 32, 160] {
            let (key, iv) =
                (random.bytes(pair.theirs.key_len()), random.bytes(pair.theirs.iv_len()));
            let text = random.bytes(len);
            if len % pair.theirs.block() != 0 || len == 0 && pair.theirs.block() > 1 {
                continue;
            }
            let texts = pair.start(&key, &iv, 1);
            for _ in 0..2 {
                same(&texts, name, |t| {
                    let mut out = vec![0; len + 16];
                    let n = unsafe { EVP_Cipher(t.0, out.as_mut_ptr(), text.as_ptr(), len as u32) };
                    (n, out)
                });
            }
        }
    }
}

#[test]
fn xts() {
    let (ours, plain) = (Lib::ours(&[]), plain());
    let mut random = Random(5);
    for name in ["AES-128-XTS", "AES-256-XTS"] {
        let Some(pair) = pair(&ours, &plain, name) else { continue };
        for len in (0..120).chain([1000, 4096, 5001]) {
            for enc in [0, 1] {
                let (key, iv) = (random.bytes(pair.theirs.key_len()), random.bytes(16));
                let text = random.bytes(len);
                let texts = pair.start(&key, &iv, enc);
                for _ in 0..2 {
                    same(&texts, name, |t| t.update(&text));
                    same(&texts, name, |t| t.state(16));
                }
                same(&texts, name, |t| t.finish());
                let copies = [texts[0].copy(), texts[1].copy()];
                same(&copies, name, |t| t.update(&text));
                errors();
            }
        }
        // Halves that are alike.
        let key = vec![7; pair.theirs.key_len()];
        for enc in [0, 1] {
            let [a, b] = [&pair.ours, &pair.theirs]
                .map(|alg| Text::new().init(Some(alg), &key, &[1; 16], enc));
            assert_eq!(a, b);
        }
        errors();
    }
}

#[test]
fn nothing_is_encrypted_by_null() {
    let (ours, plain) = (Lib::ours(&[]), plain());
    let pair = pair(&ours, &plain, "NULL").unwrap();
    let texts = pair.start(&[], &[], 0);
    same(&texts, "NULL", |t| t.update(b"some text"));
    assert!(texts.iter().all(|t| t.set_number(c"tls-mac-size", 4)));
    same(&texts, "NULL", |t| {
        let mut text = *b"some text";
        (t.update_in_place(&mut text, 9), t.tls_mac(4), text)
    });
    same(&texts, "NULL", |t| t.finish());
}

#[test]
fn keys_of_other_lengths_and_of_des() {
    let (ours, plain) = (Lib::ours(&[]), plain());
    let mut random = Random(6);
    if let Some(pair) = pair(&ours, &plain, "RC4") {
        for len in [1, 5, 16, 77, 256] {
            let key = random.bytes(len);
            let text = random.bytes(300);
            let texts = [&pair.ours, &pair.theirs].map(|alg| {
                let text = Text::new();
                assert!(text.init(Some(alg), &[], &[], 1));
                assert_eq!(unsafe { EVP_CIPHER_CTX_set_key_length(text.0, len as i32) }, 1);
                assert!(text.init(None, &key, &[], 1), "{}", errors());
                text
            });
            same(&texts, "RC4", |t| t.update(&text));
        }
    }
    let alg = Alg::fetch(&ours, "DES-EDE3-CBC").unwrap();
    let text = Text::new();
    assert!(text.init(Some(&alg), &[], &[], 1));
    let mut key = [0; 24];
    assert_eq!(unsafe { EVP_CIPHER_CTX_rand_key(text.0, key.as_mut_ptr()) }, 1, "{}", errors());
    assert!(key.iter().all(|b| b.count_ones() % 2 == 1) && key[..8] != key[8..16]);
}

#[test]
fn keys_and_ivs_that_are_none() {
    let (ours, plain) = (Lib::ours(&[]), plain());
    // OpenSSL's ChaCha20-Poly1305 takes a key of zeros for none; ours refuses.
    for name in ["AES-128-CBC", "AES-128-CTR", "AES-128-GCM", "AES-128-CCM"] {
        let pair = pair(&ours, &plain, name).unwrap();
        // Without key.
        let texts = pair.start(&[], &[], 1);
        same(&texts, name, |t| t.update(&[1; 16]).is_some());
        same(&texts, name, |t| t.finish().is_some());
        // With a key and no IV.
        let texts = pair.start(&[1; 32][..pair.theirs.key_len()], &[], 0);
        same(&texts, name, |t| t.update(&[1; 16]).is_some());
        errors();
    }
}
