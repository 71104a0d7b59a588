//! Single packets against OpenSSL: ciphers, hashes, MACs, chains.

mod single_common;

use lookaside_cipher::{Auth, ChainOrder, Cipher, Direction, Hash, OpError, Parts, Sym, Text};
use lookaside_simd::{Cpu, Tier};
use single_common::*;

#[test]
fn ciphers_agree_with_openssl() {
    let mut random = Random(1);
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        for &(cipher, key_len, iv_len, block, name) in CIPHERS {
            let key = random.bytes(key_len);
            let prepared = prepare(&cipher_spec(cipher, &key), &cpu).unwrap();
            let lengths = (0..=80).chain([127, 128, 129, 255, 256, 257, 1000, 1024, 4099, 8192]);
            for len in lengths.filter(|len| len % block == 0) {
                if cipher == Cipher::AesXts && len < 16 {
                    continue;
                }
                let (text, iv) = (random.bytes(len), random.bytes(iv_len));
                let sealed = prepared.cipher(Direction::Seal, &iv, &text).unwrap();
                assert_eq!(sealed, openssl_cipher(name, &key, &iv, true, &text), "{name} {len}");
                let opened = prepared.cipher(Direction::Open, &iv, &sealed).unwrap();
                assert_eq!(opened, text, "{name} {len}");
            }
        }
    }
}

#[test]
fn counters_carry() {
    let mut random = Random(2);
    let cpu = Cpu::host();
    for &(cipher, key_len, _, _, name) in CIPHERS {
        let iv: &[u8] = match cipher {
            Cipher::AesCtr | Cipher::Sm4Ctr => &[0xff; 16],
            Cipher::ChaCha20 => &[0xfe, 255, 255, 255, 1, 0, 0, 0, 9, 9, 9, 9, 7, 7, 7, 7],
            _ => continue,
        };
        let (key, text) = (random.bytes(key_len), random.bytes(1000));
        let prepared = prepare(&cipher_spec(cipher, &key), cpu).unwrap();
        let sealed = prepared.cipher(Direction::Seal, iv, &text).unwrap();
        assert_eq!(sealed, openssl_cipher(name, &key, iv, true, &text), "{name}");
        // RFC 3686: the nonce, and a counter that begins with 1.
        if cipher == Cipher::AesCtr {
            let sealed = prepared.cipher(Direction::Seal, &iv[..12], &text).unwrap();
            let block = [&iv[..12], &[0, 0, 0, 1]].concat();
            assert_eq!(sealed, openssl_cipher(name, &key, &block, true, &text), "{name}");
        }
    }
}

/// Triple DES in counter mode is ECB of a counter of 64 bits.
#[test]
fn triple_des_counts_in_64_bits() {
    let mut random = Random(3);
    for tier in Tier::here() {
        let key = random.bytes(24);
        let spec = cipher_spec(Cipher::TripleDesCtr, &key);
        let prepared = prepare(&spec, &Cpu::with_cap(tier)).unwrap();
        for start in [5_u64, u64::MAX - 2] {
            for len in [0, 1, 7, 8, 9, 100, 1000] {
                let text = random.bytes(len);
                let counters: Vec<u8> = (0..len.div_ceil(8) as u64)
                    .flat_map(|i| start.wrapping_add(i).to_be_bytes())
                    .collect();
                let pad = openssl_cipher("DES-EDE3", &key, &[], true, &counters);
                let expected: Vec<u8> = text.iter().zip(&pad).map(|(a, b)| a ^ b).collect();
                let iv = start.to_be_bytes();
                assert_eq!(prepared.cipher(Direction::Seal, &iv, &text).unwrap(), expected);
                assert_eq!(prepared.cipher(Direction::Open, &iv, &expected).unwrap(), text);
            }
        }
    }
}

#[test]
fn hashes_and_hmac_agree_with_openssl() {
    let mut random = Random(4);
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        for hash in HASHES {
            let name = digest_name(hash).unwrap();
            let plain = prepare(&auth_spec(Auth::Plain(hash), &[], hash.len()), &cpu).unwrap();
            for key_len in [0, 1, 20, hash.block_len(), hash.block_len() + 1, 200] {
                let key = random.bytes(key_len);
                let keyed = prepare(&auth_spec(Auth::Hmac(hash), &key, hash.len()), &cpu).unwrap();
                let lengths = (0..300).step_by(if key_len == 20 { 1 } else { 41 });
                for len in lengths.chain([1000, 4096]) {
                    let text = random.bytes(len);
                    let digest = openssl_digest(name, &text);
                    assert_eq!(plain.tag(&[], &text).unwrap(), digest, "{name} {len}");
                    let mac = openssl_hmac(hash, &key, &text);
                    assert_eq!(keyed.tag(&[], &text).unwrap(), mac, "{name} {key_len} {len}");
                    assert_eq!(keyed.compare(&[], &text, &mac), Ok(mac.len()));
                    let mut wrong = mac;
                    wrong[len % hash.len()] ^= 0x10;
                    assert_eq!(keyed.compare(&[], &text, &wrong), Err(OpError::AuthFailed));
                }
            }
        }
    }
}

#[test]
fn nested_hashes_are_two_hashes() {
    let mut random = Random(5);
    for (inner, outer) in [(Hash::Sha1, Hash::Sha1), (Hash::Sha512, Hash::Md5)] {
        for (before, behind) in [(0, 0), (5, 9), (64, 64), (100, 130)] {
            let (prefix, suffix) = (random.bytes(before), random.bytes(behind));
            let key = [&[before as u8][..], &prefix, &suffix].concat();
            let auth = Auth::Nested { inner, outer };
            let spec = auth_spec(auth, &key, outer.len() - 3);
            let text = random.bytes(77);
            let first =
                openssl_digest(digest_name(inner).unwrap(), &[prefix, text.clone()].concat());
            let second = openssl_digest(digest_name(outer).unwrap(), &[suffix, first].concat());
            let tag = prepare(&spec, Cpu::host()).unwrap().tag(&[], &text).unwrap();
            assert_eq!(tag, second[..outer.len() - 3]);
        }
    }
    let too_long = auth_spec(Auth::Nested { inner: Hash::Sha1, outer: Hash::Sha1 }, &[3, 1, 2], 20);
    assert!(matches!(prepare(&too_long, Cpu::host()), Err(OpError::BadInput(_))));
}

/// What a chain does, by OpenSSL, on a copy of the source.
fn chain_sealed(
    (name, key, iv): (&str, &[u8], &[u8]),
    (hash, auth_key): (Hash, &[u8]),
    order: ChainOrder,
    src: &[u8],
    parts: &Parts,
    tag_len: usize,
) -> Vec<u8> {
    let mut bytes = src.to_vec();
    let of = |s: lookaside_cipher::Span| s.offset as usize..(s.offset + s.len) as usize;
    let tag = parts.tag as usize..parts.tag as usize + tag_len;
    let encrypt = |bytes: &mut Vec<u8>| {
        let sealed = openssl_cipher(name, key, iv, true, &bytes[of(parts.cipher)]);
        bytes[of(parts.cipher)].copy_from_slice(&sealed);
    };
    let authenticate =
        |bytes: &Vec<u8>| openssl_hmac(hash, auth_key, &bytes[of(parts.auth)])[..tag_len].to_vec();
    match order {
        ChainOrder::CipherThenAuth => {
            encrypt(&mut bytes);
            let mac = authenticate(&bytes);
            bytes[tag].copy_from_slice(&mac);
        }
        ChainOrder::AuthThenCipher => {
            let mac = authenticate(&bytes);
            bytes[tag].copy_from_slice(&mac);
            encrypt(&mut bytes);
        }
    }
    bytes
}

#[test]
fn chains_are_their_parts() {
    let mut random = Random(6);
    let cpu = Cpu::host();
    for round in 0..1500 {
        let (cipher, key_len, iv_len, block, name) = CIPHERS[round % CIPHERS.len()];
        let hash = HASHES[random.below(HASHES.len())];
        let order = [ChainOrder::CipherThenAuth, ChainOrder::AuthThenCipher][random.below(2)];
        let (key, iv, auth_key) = (random.bytes(key_len), random.bytes(iv_len), random.bytes(20));
        let tag_len = 8 + random.below(hash.len() - 7);
        let spec = Sym::Chain {
            cipher,
            cipher_key: secret(&key),
            auth: Auth::Hmac(hash),
            auth_key: secret(&auth_key),
            tag_len,
            order,
        };
        let prepared = prepare(&spec, cpu).unwrap();
        let total = 200 + random.below(400);
        let src = random.bytes(total + tag_len);
        let mut region = |block: usize| {
            let offset = random.below(total);
            span(offset, random.below(total - offset + 1) / block * block)
        };
        let (mut crypted, hashed) = (region(block), region(1));
        if cipher == Cipher::AesXts && crypted.len < 16 {
            crypted = span(0, 100);
        }
        // Behind everything, or encrypted with the text.
        let inside = order == ChainOrder::AuthThenCipher
            && crypted.len as usize > tag_len
            && (hashed.offset + hashed.len <= crypted.offset
                || hashed.offset >= crypted.offset + tag_len as u32);
        let tag = if inside && random.below(2) == 0 { crypted.offset } else { total as u32 };
        let parts = Parts { cipher: crypted, auth: hashed, tag, ..Parts::default() };
        let what = format!("{name} {hash:?} {order:?} {parts:?} {tag_len}");

        let cipher_of = (name, &key[..], &iv[..]);
        let expected = chain_sealed(cipher_of, (hash, &auth_key), order, &src, &parts, tag_len);
        let mut bytes = src.clone();
        let result = prepared.run(Direction::Seal, &iv, parts, Text::InPlace(&mut bytes));
        assert_eq!(result, Ok(crypted.len as usize));
        assert_eq!(bytes, expected, "{what}");

        // Apart: only the two regions and the tag are written.
        let mut touched = vec![false; src.len()];
        for part in [crypted, hashed, span(tag as usize, tag_len)] {
            touched[part.offset as usize..(part.offset + part.len) as usize].fill(true);
        }
        let as_if = |done: &[u8], touched: &[bool]| -> Vec<u8> {
            done.iter().zip(touched).map(|(b, t)| if *t { *b } else { 0xee }).collect()
        };
        let mut dst = vec![0xee; src.len()];
        let text = Text::Apart { src: &src, dst: &mut dst };
        assert_eq!(prepared.run(Direction::Seal, &iv, parts, text), result);
        assert_eq!(dst, as_if(&expected, &touched), "apart, {what}");

        // And back. The tag is not among what opening writes, unless it is in a region.
        let tag_apart = !touched_by(&[crypted, hashed], tag as usize);
        if tag_apart {
            touched[tag as usize..tag as usize + tag_len].fill(false);
        }
        let mut opened = expected.clone();
        let result = prepared.run(Direction::Open, &iv, parts, Text::InPlace(&mut opened));
        assert_eq!(result, Ok(crypted.len as usize), "{what}");
        let mut dst = vec![0xee; src.len()];
        let text = Text::Apart { src: &expected, dst: &mut dst };
        assert_eq!(prepared.run(Direction::Open, &iv, parts, text), result, "apart, {what}");
        assert_eq!(dst, as_if(&opened, &touched), "apart, {what}");
        let mut plain = src.clone();
        plain[tag as usize..tag as usize + tag_len]
            .copy_from_slice(&opened[tag as usize..tag as usize + tag_len]);
        assert_eq!(opened, plain, "{what}");

        // A tag that does not match wipes the cipher's region, and no more.
        let mut wrong = expected.clone();
        wrong[tag as usize + random.below(tag_len)] ^= 4;
        let result = prepared.run(Direction::Open, &iv, parts, Text::InPlace(&mut wrong));
        // Encrypted with CBC or XTS, the tag and text before it may change with it.
        assert_eq!(result, Err(OpError::AuthFailed), "{what}");
        let region = crypted.offset as usize..(crypted.offset + crypted.len) as usize;
        assert!(wrong[region].iter().all(|byte| *byte == 0), "{what}");
    }
}

#[test]
fn hashes_without_a_kernel() {
    for hash in Hash::ALL {
        let spec = Sym::Auth { auth: Auth::Hmac(hash), key: secret(b"key"), tag_len: hash.len() };
        let made = lookaside_cipher::single::Keys::new(&spec, Cpu::host()).map(|_| ());
        let wanted = HASHES.contains(&hash).then_some(()).ok_or(OpError::Unsupported);
        assert_eq!(made, wanted, "{hash:?}");
    }
}

fn touched_by(parts: &[lookaside_cipher::Span], at: usize) -> bool {
    parts.iter().any(|part| (part.offset as usize..(part.offset + part.len) as usize).contains(&at))
}

#[test]
fn keys_that_there_are_not() {
    let cpu = Cpu::host();
    let bad = |spec: Sym| {
        let result = lookaside_cipher::single::Keys::new(&spec, cpu).map(|_| ());
        assert!(matches!(result, Err(OpError::BadInput(_))), "{spec:?}: {result:?}");
    };
    for (cipher, lengths) in [
        (Cipher::Null, &[1][..]),
        (Cipher::Arc4, &[0, 257]),
        (Cipher::AesCbc, &[0, 15, 17, 64]),
        (Cipher::AesXts, &[16, 48]),
        (Cipher::DesCbc, &[7, 16]),
        (Cipher::TripleDesEcb, &[8, 16]),
        (Cipher::KasumiF8, &[15]),
        (Cipher::Snow3gUea2, &[32]),
        (Cipher::ZucEea3, &[32]),
        (Cipher::ChaCha20, &[16]),
        (Cipher::Sm4Ctr, &[32]),
    ] {
        lengths.iter().for_each(|len| bad(cipher_spec(cipher, &vec![1; *len])));
    }
    for (auth, key_len, tag_len) in [
        (Auth::Plain(Hash::Sha1), 1, 20),
        (Auth::Plain(Hash::Sha1), 0, 0),
        (Auth::Plain(Hash::Sha1), 0, 21),
        (Auth::Crc32, 0, 5),
        (Auth::Hmac(Hash::Sha512), 8, 65),
        (Auth::AesXcbc, 32, 16),
        (Auth::AesCmac, 17, 16),
        (Auth::AesGmac, 16, 5),
        (Auth::AesGmac, 16, 17),
        (Auth::KasumiF9, 16, 5),
        (Auth::Poly1305, 16, 16),
    ] {
        bad(auth_spec(auth, &vec![0; key_len], tag_len));
    }
    use lookaside_cipher::Aead;
    for (aead, key_len, tag_len) in [
        (Aead::AesGcm, 20, 16),
        (Aead::AesGcm, 16, 3),
        (Aead::AesGcm, 16, 11),
        (Aead::AesCcm, 16, 5),
        (Aead::AesCcm, 16, 2),
        (Aead::ChaCha20Poly1305, 32, 12),
    ] {
        bad(aead_spec(aead, &vec![0; key_len], tag_len));
    }
    for auth in [Auth::AesGmac, Auth::Poly1305] {
        bad(Sym::Chain {
            cipher: Cipher::AesCbc,
            cipher_key: secret(&[0; 16]),
            auth,
            auth_key: secret(&[0; 32]),
            tag_len: 16,
            order: ChainOrder::CipherThenAuth,
        });
    }
    bad(Sym::TlsCbc { key: secret(&[0; 16]), hash: Hash::Md5, auth_key: secret(&[0; 16]) });
}
