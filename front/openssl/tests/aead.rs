//! AEADs beside OpenSSL's own: in pieces, with tags of all lengths, as TLS has them.
#![allow(clippy::undocumented_unsafe_blocks, missing_docs)]

mod libcrypto;

use libcrypto::{cipher::*, *};

struct Pair {
    name: &'static str,
    ours: Alg,
    theirs: Alg,
}

fn pairs(names: &[&'static str]) -> (Lib, Lib, Vec<Pair>) {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    let pair = |&name: &&'static str| {
        let [a, b] = [&ours, &plain].map(|lib| Alg::fetch(lib, name).expect(name));
        assert_eq!(a.provider(), "lookaside", "{name}");
        Pair { name, ours: a, theirs: b }
    };
    let pairs = names.iter().map(pair).collect();
    (ours, plain, pairs)
}

const GCM: [&str; 3] = ["AES-128-GCM", "AES-192-GCM", "AES-256-GCM"];
const CCM: [&str; 3] = ["AES-128-CCM", "AES-192-CCM", "AES-256-CCM"];
const CHACHA: [&str; 1] = ["ChaCha20-Poly1305"];

impl Pair {
    fn texts(&self, enc: i32, iv_len: usize) -> [Text; 2] {
        [&self.ours, &self.theirs].map(|alg| {
            let text = Text::new();
            assert!(text.init(Some(alg), &[], &[], enc), "{}", errors());
            if iv_len != 12 || self.name.ends_with("CCM") {
                assert_eq!(text.ctrl(SET_IV_LEN, iv_len, &mut []), 1, "{}", errors());
            }
            text
        })
    }
}

fn same<R: PartialEq + std::fmt::Debug>(
    texts: &[Text; 2],
    what: &str,
    f: impl Fn(&Text) -> R,
) -> R {
    let [a, b] = [f(&texts[0]), f(&texts[1])];
    assert!(a == b, "{what}: ours {a:?}, theirs {b:?}; {}", errors());
    a
}

fn in_pieces(random: &mut Random, len: usize) -> Vec<std::ops::Range<usize>> {
    let mut at = 0;
    let mut pieces = Vec::new();
    while at < len {
        let most = [1, 16, 17, 70, 1000][random.below(5)].min(len - at);
        let n = 1 + random.below(most);
        pieces.push(at..at + n);
        at += n;
    }
    pieces
}

#[test]
fn sealed_and_opened_in_pieces() {
    let (_a, _b, pairs) = pairs(&[GCM.as_slice(), &CHACHA].concat());
    let mut random = Random(11);
    for pair in &pairs {
        for round in 0..150 {
            let gcm = pair.name != CHACHA[0];
            let iv_len = if gcm && round % 5 == 0 { 1 + random.below(64) } else { 12 };
            let (key, iv) = (random.bytes(pair.theirs.key_len()), random.bytes(iv_len));
            let aad_len = random.below(40);
            let len = if round < 100 { round } else { random.below(6000) };
            let (aad, text) = (random.bytes(aad_len), random.bytes(len));
            let texts = pair.texts(1, iv_len);
            same(&texts, pair.name, |t| t.init(None, &key, &iv, 1));
            let feed = |texts: &[Text; 2], from: &[u8], random: &mut Random| {
                for piece in in_pieces(random, aad_len) {
                    assert!(same(texts, pair.name, |t| t.aad(&aad[piece.clone()])));
                }
                let mut out = Vec::new();
                for piece in in_pieces(random, len) {
                    let piece = &from[piece];
                    if random.below(10) == 0 {
                        let copies = [texts[0].copy(), texts[1].copy()];
                        same(&copies, pair.name, |t| (t.update(piece), t.finish().is_some()));
                        errors();
                    }
                    out.extend(same(texts, pair.name, |t| t.update(piece)).unwrap());
                }
                out
            };
            let sealed = feed(&texts, &text, &mut random);
            assert!(same(&texts, pair.name, |t| t.finish()).is_some());
            let tag_len = [16, 16, 12, 4, 1, 13][round % 6];
            let tag = same(&texts, pair.name, |t| t.tag(tag_len)).unwrap();
            same(&texts, pair.name, |t| t.tag(16));
            if gcm {
                same(&texts, pair.name, |t| t.state(iv_len));
                // The IV is used up.
                same(&texts, pair.name, |t| t.update(&[1]).is_some());
                errors();
            }
            for wrong in [false, true] {
                let texts = pair.texts(0, iv_len);
                same(&texts, pair.name, |t| t.init(None, &key, &iv, 0));
                let mut tag = tag.clone();
                if wrong {
                    tag[tag_len / 2] ^= 0x40;
                }
                let early = round % 2 == 0;
                if early {
                    assert!(same(&texts, pair.name, |t| t.set_tag(&tag)));
                }
                assert!(feed(&texts, &sealed, &mut random) == text, "{}", pair.name);
                if !early {
                    assert!(same(&texts, pair.name, |t| t.set_tag(&tag)));
                }
                let good = same(&texts, pair.name, |t| t.finish().is_some());
                assert_eq!(good, !wrong, "{} {tag_len}", pair.name);
                errors();
            }
        }
    }
}

#[test]
fn ccm() {
    let (_a, _b, pairs) = pairs(&CCM);
    let mut random = Random(12);
    for pair in &pairs {
        for round in 0..120 {
            let iv_len = 7 + random.below(7);
            let tag_len = 4 + 2 * random.below(7);
            let (key, iv) = (random.bytes(pair.theirs.key_len()), random.bytes(iv_len));
            let aad_len = random.below(40) * (round % 2);
            let len = if round < 60 { round } else { random.below(3000) };
            let (aad, text) = (random.bytes(aad_len), random.bytes(len));
            let start = |enc, tag: &[u8]| {
                let texts = pair.texts(enc, iv_len);
                let set = |t: &Text| match enc {
                    1 => t.ctrl(SET_TAG, tag_len, &mut []) == 1,
                    _ => t.set_tag(tag),
                };
                assert!(same(&texts, pair.name, set));
                assert!(same(&texts, pair.name, |t| t.init(None, &key, &iv, enc)));
                if aad_len > 0 {
                    assert!(same(&texts, pair.name, |t| t.length(len)));
                    assert!(same(&texts, pair.name, |t| t.aad(&aad)));
                }
                texts
            };
            let texts = start(1, &[]);
            let sealed = same(&texts, pair.name, |t| t.update(&text)).unwrap();
            same(&texts, pair.name, |t| t.finish());
            same(&texts, pair.name, |t| t.number(c"taglen"));
            let tag = same(&texts, pair.name, |t| t.tag(tag_len)).unwrap();
            same(&texts, pair.name, |t| t.tag(tag_len));
            for wrong in [false, true] {
                let mut tag = tag.clone();
                if wrong {
                    tag[0] ^= 1;
                }
                let texts = start(0, &tag);
                let opened = same(&texts, pair.name, |t| t.update(&sealed));
                assert_eq!(opened.is_some(), !wrong, "{}", errors());
                assert!(opened.is_none_or(|opened| opened == text));
                same(&texts, pair.name, |t| t.update(&sealed).is_some());
                errors();
            }
            // Another length than was told.
            if aad_len > 0 {
                let texts = start(1, &[]);
                same(&texts, pair.name, |t| t.update(&[0; 4000]).is_some());
                errors();
            }
        }
        // Without the length, no associated data.
        let texts = pair.texts(1, 8);
        assert!(same(&texts, pair.name, |t| t.init(
            None,
            &[1; 32][..pair.ours.key_len()],
            &[2; 8],
            1
        )));
        assert!(!same(&texts, pair.name, |t| t.aad(&[1])));
        errors();
    }
}

/// Sequence number, type, version, length.
fn header(number: u64, version: u16, len: usize) -> Vec<u8> {
    let mut header = number.to_be_bytes().to_vec();
    header.push(23);
    header.extend(version.to_be_bytes());
    header.extend((len as u16).to_be_bytes());
    header
}

#[test]
fn records_of_tls_1_2() {
    let all = [GCM.as_slice(), &CCM, &CHACHA].concat();
    let (_a, _b, pairs) = pairs(&all);
    let mut random = Random(13);
    for pair in &pairs {
        let chacha = pair.name == CHACHA[0];
        let (fixed, explicit) = if chacha { (12, 0) } else { (4, 8) };
        for round in 0..40 {
            let tag_len = if CCM.contains(&pair.name) && round % 2 == 0 { 8 } else { 16 };
            let key = random.bytes(pair.theirs.key_len());
            let iv = random.bytes(fixed);
            let setup = |alg: &Alg, enc| {
                let text = Text::new();
                assert!(text.init(Some(alg), &[], &[], enc));
                if CCM.contains(&pair.name) {
                    assert_eq!(text.ctrl(SET_IV_LEN, 12, &mut []), 1);
                    assert_eq!(text.ctrl(SET_TAG, tag_len, &mut []), 1, "{}", errors());
                }
                assert!(text.init(None, &key, &[], enc));
                assert_eq!(text.ctrl(SET_IV_FIXED, fixed, &mut iv.clone()), 1, "{}", errors());
                text
            };
            let sealers = [setup(&pair.ours, 1), setup(&pair.theirs, 1)];
            let openers = [setup(&pair.ours, 0), setup(&pair.theirs, 0)];
            for number in 0..3 {
                let len = if number == 2 { 0 } else { random.below(2000) };
                let payload = random.bytes(len);
                for (s, sealer) in sealers.iter().enumerate() {
                    let mut record = vec![0; explicit];
                    record.extend(&payload);
                    let said = record.len();
                    let pad = sealer.ctrl(TLS1_AAD, 13, &mut header(number, 0x303, said));
                    assert_eq!(pad, tag_len as i32, "{} {}", pair.name, errors());
                    record.resize(said + tag_len, 0);
                    let n = said + tag_len;
                    assert_eq!(sealer.update_in_place(&mut record, n), Some(n), "{}", errors());
                    for (o, opener) in openers.iter().enumerate() {
                        for wrong in [true, false] {
                            let mut record = record.clone();
                            if wrong {
                                let at = explicit + random.below(n - explicit);
                                record[at] ^= 1;
                            }
                            let pad = opener.ctrl(TLS1_AAD, 13, &mut header(number, 0x303, n));
                            assert_eq!(pad, tag_len as i32);
                            let opened = opener.update_in_place(&mut record, n);
                            assert_eq!(
                                opened.is_none(),
                                wrong,
                                "{} {s} {o} {}",
                                pair.name,
                                errors()
                            );
                            if !wrong {
                                assert_eq!(opened, Some(len));
                                assert!(record[explicit..explicit + len] == payload);
                            } else if len > 0 {
                                // Nothing of it is released.
                                assert!(record[explicit..explicit + len] != payload);
                            }
                        }
                        errors();
                    }
                }
            }
        }
    }
}

#[test]
fn gcm_ivs_that_count() {
    let (_a, _b, pairs) = pairs(&GCM);
    for pair in &pairs {
        let key = [3; 32];
        let key = &key[..pair.ours.key_len()];
        let texts = [&pair.ours, &pair.theirs].map(|alg| {
            let text = Text::new();
            assert!(text.init(Some(alg), key, &[], 1));
            // All of the IV.
            assert_eq!(text.ctrl(SET_IV_FIXED, usize::MAX, &mut [0xff; 12]), 1);
            text
        });
        for _ in 0..3 {
            same(&texts, pair.name, |t| {
                let mut iv = [0; 12];
                (t.ctrl(IV_GEN, 12, &mut iv), iv)
            });
            same(&texts, pair.name, |t| (t.update(b"text"), t.finish().is_some(), t.tag(16)));
        }
        let texts = [&pair.ours, &pair.theirs].map(|alg| {
            let text = Text::new();
            assert!(text.init(Some(alg), key, &[], 0));
            assert_eq!(text.ctrl(SET_IV_FIXED, 4, &mut [9; 4]), 1);
            assert_eq!(text.ctrl(SET_IV_INV, 8, &mut [7; 8]), 1);
            text
        });
        same(&texts, pair.name, |t| t.update(b"some ciphertext"));
        // An IV that nobody has given is made, and said.
        let text = Text::new();
        assert!(text.init(Some(&pair.ours), key, &[], 1));
        let (_, iv, _) = text.state(12);
        let sealed = text.update(b"text").unwrap();
        text.finish().unwrap();
        let other = Text::new();
        assert!(other.init(Some(&pair.theirs), key, &iv, 1));
        assert!(iv != [0; 12] && other.update(b"text").unwrap() == sealed);
        errors();
    }
}
