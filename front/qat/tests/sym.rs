//! Every algorithm of the symmetric service in every shape of request, against OpenSSL.

use lookaside_qat::abi::*;

mod sym_common;
use sym_common::{oracle, *};

/// A packet: what its parts are.
#[derive(Clone, Default)]
struct Packet {
    /// As it lies in memory, and the length that is said.
    iv: (Vec<u8>, usize),
    aad: Vec<u8>,
    cipher: (usize, usize),
    hash: (usize, usize),
}

/// Encrypts or decrypts with OpenSSL.
fn crypt(spec: &Spec, iv: &[u8], text: &[u8]) -> Vec<u8> {
    let (key, seal) = (&spec.cipher_key[..], spec.encrypt);
    let bits = key.len() * 8;
    let name = match spec.cipher {
        CPA_CY_SYM_CIPHER_NULL => return text.to_vec(),
        CPA_CY_SYM_CIPHER_ARC4 => "RC4",
        CPA_CY_SYM_CIPHER_AES_ECB => &format!("AES-{bits}-ECB"),
        CPA_CY_SYM_CIPHER_AES_CBC => &format!("AES-{bits}-CBC"),
        CPA_CY_SYM_CIPHER_AES_CTR => &format!("AES-{bits}-CTR"),
        CPA_CY_SYM_CIPHER_AES_XTS => &format!("AES-{}-XTS", bits / 2),
        CPA_CY_SYM_CIPHER_DES_ECB => "DES-ECB",
        CPA_CY_SYM_CIPHER_DES_CBC => "DES-CBC",
        CPA_CY_SYM_CIPHER_3DES_ECB => "DES-EDE3",
        CPA_CY_SYM_CIPHER_3DES_CBC => "DES-EDE3-CBC",
        CPA_CY_SYM_CIPHER_3DES_CTR => return oracle::triple_des_ctr(key, iv, text),
        CPA_CY_SYM_CIPHER_SM4_ECB => "SM4-ECB",
        CPA_CY_SYM_CIPHER_SM4_CBC => "SM4-CBC",
        CPA_CY_SYM_CIPHER_SM4_CTR => "SM4-CTR",
        other => panic!("{other:?}"),
    };
    oracle::openssl(name, key, iv, seal, text)
}

/// Hashes with OpenSSL.
fn hash(spec: &Spec, iv: &[u8], text: &[u8]) -> Vec<u8> {
    let key = &spec.hash_key[..];
    let mut digest = match (spec.hash, spec.mode) {
        (CPA_CY_SYM_HASH_AES_XCBC, _) => oracle::xcbc(key, text),
        (CPA_CY_SYM_HASH_AES_CMAC, _) => oracle::cmac(key, text),
        (CPA_CY_SYM_HASH_AES_CBC_MAC, _) => oracle::cbc_mac(key, text),
        (CPA_CY_SYM_HASH_AES_GMAC, _) => {
            let name = format!("AES-{}-GCM", spec.cipher_key.len() * 8);
            oracle::seal(&name, &spec.cipher_key, iv, text, &[], 16).1
        }
        (hash, mode) => {
            let name = oracle::hash_name(hash).unwrap();
            match mode {
                CPA_CY_SYM_HASH_MODE_PLAIN => oracle::digest(name.0, text),
                CPA_CY_SYM_HASH_MODE_AUTH => oracle::hmac(name, key, text),
                _ => {
                    let inner = oracle::digest(name.0, &[key, text].concat());
                    let outer = oracle::hash_name(spec.outer.0).unwrap();
                    oracle::digest(outer.0, &[&spec.outer.1, &inner[..]].concat())
                }
            }
        }
    };
    digest.truncate(spec.digest_len as usize);
    digest
}

fn aead_name(spec: &Spec) -> Option<String> {
    let bits = spec.cipher_key.len() * 8;
    match spec.hash {
        CPA_CY_SYM_HASH_AES_GCM => Some(format!("AES-{bits}-GCM")),
        CPA_CY_SYM_HASH_AES_CCM => Some(format!("AES-{bits}-CCM")),
        CPA_CY_SYM_HASH_POLY => Some("ChaCha20-Poly1305".into()),
        _ => None,
    }
}

/// What a request makes of its text: the destination in place, and the digest. What is verified comes out of
/// sealing, so this one is not asked.
fn model(spec: &Spec, packet: &Packet, text: &mut [u8]) -> Option<Vec<u8>> {
    let range = |(at, len): (usize, usize)| at..at + len;
    let (c, h) = (range(packet.cipher), range(packet.hash));
    let iv = match spec.cipher {
        CPA_CY_SYM_CIPHER_AES_CCM => &packet.iv.0[1..][..packet.iv.1],
        _ => &packet.iv.0[..packet.iv.1],
    };
    if let Some(name) = aead_name(spec) {
        let aad = match spec.cipher {
            CPA_CY_SYM_CIPHER_AES_CCM => packet.aad.get(18..).unwrap_or_default(),
            _ => &packet.aad[..],
        };
        let aad = &aad[..spec.aad_len as usize];
        let tag_len = spec.digest_len as usize;
        let (sealed, tag) =
            oracle::seal(&name, &spec.cipher_key, iv, aad, &text[c.clone()], tag_len);
        text[c].copy_from_slice(&sealed);
        return Some(tag);
    }
    let is_gmac = spec.hash == CPA_CY_SYM_HASH_AES_GMAC;
    let has_cipher = spec.op != CPA_CY_SYM_OP_HASH && !is_gmac;
    let mut digest = None;
    for cipher_now in [spec.cipher_first, !spec.cipher_first] {
        if cipher_now && has_cipher {
            let done = crypt(spec, iv, &text[c.clone()]);
            text[c.clone()].copy_from_slice(&done);
        }
        if !cipher_now && spec.op != CPA_CY_SYM_OP_CIPHER {
            let made = hash(spec, iv, &text[h.clone()]);
            if spec.appended && !cipher_now {
                let at = h.end;
                text[at..at + made.len()].copy_from_slice(&made);
            }
            digest = Some(made);
        }
    }
    digest
}

/// Where the two texts lie.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    InPlace,
    Apart,
    InPlaceScattered,
    ApartScattered,
}

const SHAPES: [Shape; 4] =
    [Shape::InPlace, Shape::Apart, Shape::InPlaceScattered, Shape::ApartScattered];
const PATHS: [Path; 3] = [Path::Callback, Path::Waiting, Path::DataPlane];

fn cuts(random: &mut Random, len: usize, keep: Option<(usize, usize)>) -> Vec<usize> {
    let mut cuts: Vec<_> = (0..random.below(4)).map(|_| random.below(len + 1)).collect();
    if let Some((from, to)) = keep {
        cuts.retain(|cut| *cut <= from || *cut >= to);
    }
    cuts.sort();
    cuts
}

/// Runs a packet of this session in every shape and compares all of the destination.
fn check(random: &mut Random, instance: CpaInstanceHandle, spec: &Spec, packet: &Packet) {
    let is_aead = aead_name(spec).is_some();
    let tag_len = spec.digest_len as usize;
    let (c, h) = (packet.cipher, packet.hash);
    let before_tag = if is_aead { c.0 + c.1 } else { h.0 + h.1 };
    let reach = (c.0 + c.1).max(h.0 + h.1).max(before_tag + tag_len) + random.below(5);
    let text = random.bytes(reach);
    let appended = spec.appended || spec.cipher == CPA_CY_SYM_CIPHER_AES_CCM;
    let is_gmac = spec.hash == CPA_CY_SYM_HASH_AES_GMAC;
    let uses_cipher = spec.op != CPA_CY_SYM_OP_HASH && !is_gmac;

    // What is written, of a text that is the source's.
    let mut done = text.clone();
    let digest = model(spec, packet, &mut done);
    if let (Some(digest), true, true) = (&digest, appended, is_aead) {
        done[before_tag..before_tag + tag_len].copy_from_slice(digest);
    }
    for shape in SHAPES {
        for path in PATHS {
            let session = Session::new(instance, path, spec);
            // A digest of a hash alone lies in one piece.
            let keep = (spec.op == CPA_CY_SYM_OP_HASH || is_gmac)
                .then_some((before_tag, before_tag + tag_len));
            let scattered = matches!(shape, Shape::InPlaceScattered | Shape::ApartScattered);
            let mut cuts = || if scattered { cuts(random, reach, keep) } else { Vec::new() };
            let (src_cuts, dst_cuts) = (cuts(), cuts());
            let shift = random.below(8);
            let in_place = matches!(shape, Shape::InPlace | Shape::InPlaceScattered);
            let src = Memory::new(&text, &src_cuts, shift);
            let before = if in_place { text.clone() } else { random.bytes(reach) };
            let apart = Memory::new(&before, &dst_cuts, shift + 1);
            let dst = if in_place { &src } else { &apart };
            let mut place = random.bytes(tag_len + 1);
            let (mut iv, mut aad) = (packet.iv.0.clone(), packet.aad.clone());
            let mut request = Request::new(&session)
                .cipher(c.0, c.1)
                .hash(h.0, h.1)
                .iv(&mut iv, packet.iv.1)
                .aad(&mut aad)
                .digest(&mut place);
            let outcome = request.run(&session, &src, dst);
            let what = || {
                format!(
                    "{:?} {:?} {:?} encrypt {} cipher first {} appended {appended} {shape:?} {path:?} {c:?} {h:?}",
                    spec.op, spec.cipher, spec.hash, spec.encrypt, spec.cipher_first
                )
            };
            let right = Outcome { status: CPA_STATUS_SUCCESS, verified: true };
            assert_eq!(outcome, Ok(right), "{}", what());
            // Of memory apart, only what belongs to a region is written.
            let mut expected = before;
            let mut write = |(at, len): (usize, usize)| {
                expected[at..at + len].copy_from_slice(&done[at..at + len]);
            };
            if uses_cipher {
                write(c);
                if !is_aead && spec.op != CPA_CY_SYM_OP_CIPHER {
                    write(h);
                }
            }
            if let Some(digest) = &digest {
                if appended {
                    write((before_tag, tag_len));
                } else {
                    assert_eq!(place[..tag_len], digest[..], "{}", what());
                }
            }
            assert_eq!(dst.bytes(), expected, "{}", what());
            if !in_place {
                assert_eq!(src.bytes(), text, "{}", what());
            }
            assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
            if is_gmac || !spec.encrypt {
                continue;
            }
            check_opened(random, instance, spec, packet, (shape, path), (&text, &done, &digest));
        }
    }
}

/// What was made, the other way: verified, decrypted, and refused when a bit is wrong.
fn check_opened(
    random: &mut Random,
    instance: CpaInstanceHandle,
    spec: &Spec,
    packet: &Packet,
    (shape, path): (Shape, Path),
    (text, done, digest): (&[u8], &[u8], &Option<Vec<u8>>),
) {
    let is_aead = aead_name(spec).is_some();
    let tag_len = spec.digest_len as usize;
    let (c, h) = (packet.cipher, packet.hash);
    let before_tag = if is_aead { c.0 + c.1 } else { h.0 + h.1 };
    let appended = spec.appended || spec.cipher == CPA_CY_SYM_CIPHER_AES_CCM;
    let opens = Spec {
        encrypt: spec.op == CPA_CY_SYM_OP_HASH,
        cipher_first: !spec.cipher_first,
        verify: digest.is_some(),
        ..spec.clone()
    };
    let session = Session::new(instance, path, &opens);
    let in_place = matches!(shape, Shape::InPlace | Shape::InPlaceScattered);
    let scattered = matches!(shape, Shape::InPlaceScattered | Shape::ApartScattered);
    let keep = (spec.op == CPA_CY_SYM_OP_HASH).then_some((before_tag, before_tag + tag_len));
    for damage in [false, true] {
        if damage && digest.is_none() {
            continue;
        }
        let mut sealed = done.to_vec();
        let mut place = digest.clone().unwrap_or_else(|| vec![0]);
        if damage {
            let bit = 1 << random.below(8);
            // Within the digest, or within what is hashed.
            let region = if is_aead { c } else { h };
            if random.below(2) == 0 || region.1 == 0 {
                let at = random.below(tag_len);
                place[at] ^= bit;
                if appended {
                    sealed[before_tag + at] ^= bit;
                }
            } else {
                sealed[region.0 + random.below(region.1)] ^= bit;
            }
        }
        let cuts = if scattered { cuts(random, sealed.len(), keep) } else { Vec::new() };
        let src = Memory::new(&sealed, &cuts, random.below(8));
        let before = if in_place { sealed.clone() } else { random.bytes(sealed.len()) };
        let apart = Memory::new(&before, &[], 3);
        let dst = if in_place { &src } else { &apart };
        let (mut iv, mut aad) = (packet.iv.0.clone(), packet.aad.clone());
        let mut request = Request::new(&session)
            .cipher(c.0, c.1)
            .hash(h.0, h.1)
            .iv(&mut iv, packet.iv.1)
            .aad(&mut aad)
            .digest(&mut place);
        let outcome = request.run(&session, &src, dst);
        let expected = Outcome { status: CPA_STATUS_SUCCESS, verified: !damage };
        let what = || {
            format!(
                "opened {:?} {:?} {:?} first {} {appended} {shape:?} {path:?} {c:?} {h:?} {damage}",
                spec.op, spec.cipher, spec.hash, opens.cipher_first
            )
        };
        assert_eq!(outcome, Ok(expected), "{}", what());
        let found = dst.bytes();
        if spec.op != CPA_CY_SYM_OP_HASH {
            let region = c.0..c.0 + c.1;
            if !damage {
                // An encrypted digest was not the source's.
                let end = if !opens.cipher_first || !appended {
                    c.1
                } else {
                    c.1.min(before_tag.saturating_sub(c.0))
                };
                let region = c.0..c.0 + end;
                assert_eq!(found[region.clone()], text[region], "{}", what());
            } else if c.1 >= 8 && spec.cipher != CPA_CY_SYM_CIPHER_NULL {
                // It was never touched, or is zeros.
                assert_ne!(found[region.clone()], text[region], "{}", what());
            }
        } else if in_place {
            assert_eq!(found, sealed, "{}", what());
        } else {
            assert_eq!(found, before, "{}", what());
        }
    }
    assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
}

/// Each cipher with its key lengths, IV length and block.
fn ciphers() -> Vec<(CpaCySymCipherAlgorithm, usize, usize, usize)> {
    vec![
        (CPA_CY_SYM_CIPHER_NULL, 0, 0, 1),
        (CPA_CY_SYM_CIPHER_ARC4, 16, 0, 1),
        (CPA_CY_SYM_CIPHER_ARC4, 5, 0, 1),
        (CPA_CY_SYM_CIPHER_AES_ECB, 16, 0, 16),
        (CPA_CY_SYM_CIPHER_AES_ECB, 32, 0, 16),
        (CPA_CY_SYM_CIPHER_AES_CBC, 16, 16, 16),
        (CPA_CY_SYM_CIPHER_AES_CBC, 24, 16, 16),
        (CPA_CY_SYM_CIPHER_AES_CBC, 32, 16, 16),
        (CPA_CY_SYM_CIPHER_AES_CTR, 16, 16, 1),
        (CPA_CY_SYM_CIPHER_AES_CTR, 32, 16, 1),
        (CPA_CY_SYM_CIPHER_AES_XTS, 32, 16, 16),
        (CPA_CY_SYM_CIPHER_AES_XTS, 64, 16, 16),
        (CPA_CY_SYM_CIPHER_DES_ECB, 8, 0, 8),
        (CPA_CY_SYM_CIPHER_DES_CBC, 8, 8, 8),
        (CPA_CY_SYM_CIPHER_3DES_ECB, 24, 0, 8),
        (CPA_CY_SYM_CIPHER_3DES_CBC, 24, 8, 8),
        (CPA_CY_SYM_CIPHER_3DES_CTR, 24, 8, 1),
        (CPA_CY_SYM_CIPHER_SM4_ECB, 16, 0, 16),
        (CPA_CY_SYM_CIPHER_SM4_CBC, 16, 16, 16),
        (CPA_CY_SYM_CIPHER_SM4_CTR, 16, 16, 1),
    ]
}

/// Each hash and MAC with its modes, key and digest lengths.
fn hashes(random: &mut Random) -> Vec<Spec> {
    let mut all = Vec::new();
    let plain = [
        (CPA_CY_SYM_HASH_MD5, 16),
        (CPA_CY_SYM_HASH_SHA1, 20),
        (CPA_CY_SYM_HASH_SHA224, 28),
        (CPA_CY_SYM_HASH_SHA256, 32),
        (CPA_CY_SYM_HASH_SHA384, 48),
        (CPA_CY_SYM_HASH_SHA512, 64),
        (CPA_CY_SYM_HASH_SHA3_224, 28),
        (CPA_CY_SYM_HASH_SHA3_256, 32),
        (CPA_CY_SYM_HASH_SHA3_384, 48),
        (CPA_CY_SYM_HASH_SHA3_512, 64),
        (CPA_CY_SYM_HASH_SM3, 32),
    ];
    for (n, (hash, len)) in plain.into_iter().enumerate() {
        let block = oracle::hash_name(hash).unwrap().1;
        all.push(Spec::hash(hash, CPA_CY_SYM_HASH_MODE_PLAIN, &[], len));
        let key = random.bytes(block);
        all.push(Spec::hash(hash, CPA_CY_SYM_HASH_MODE_AUTH, &key, len));
        let key = random.bytes(random.0 as usize % block);
        all.push(Spec::hash(hash, CPA_CY_SYM_HASH_MODE_AUTH, &key, 12));
        let (outer, outer_len) = plain[(n + 3) % plain.len()];
        let prefix = random.bytes(n * 20);
        all.push(Spec {
            outer: (outer, random.bytes(255 - n)),
            ..Spec::hash(hash, CPA_CY_SYM_HASH_MODE_NESTED, &prefix, outer_len)
        });
    }
    for (hash, key, len) in [
        (CPA_CY_SYM_HASH_AES_XCBC, 16, 12),
        (CPA_CY_SYM_HASH_AES_XCBC, 16, 16),
        (CPA_CY_SYM_HASH_AES_CMAC, 16, 16),
        (CPA_CY_SYM_HASH_AES_CMAC, 32, 4),
        (CPA_CY_SYM_HASH_AES_CBC_MAC, 16, 16),
    ] {
        all.push(Spec::hash(hash, CPA_CY_SYM_HASH_MODE_AUTH, &random.bytes(key), len));
    }
    all
}

fn hash_len(random: &mut Random, hash: &Spec) -> usize {
    let len = [0, 1, 63, 64, 129, 300][random.below(6)];
    if hash.hash == CPA_CY_SYM_HASH_AES_CBC_MAC { len / 16 * 16 + 16 } else { len }
}

#[test]
fn ciphers_of_all_kinds() {
    let (mut random, instance) = (Random(1), instance());
    for (cipher, key, iv, block) in ciphers() {
        for encrypt in [true, false] {
            for len in [0, 1, 3, 16, 40] {
                let len =
                    if cipher == CPA_CY_SYM_CIPHER_AES_XTS { len * 7 + 16 } else { len * block };
                let spec = Spec::cipher(cipher, &random.bytes(key), encrypt);
                let packet = Packet {
                    iv: (random.bytes(iv), iv),
                    cipher: (random.below(20), len),
                    ..Packet::default()
                };
                check(&mut random, instance, &spec, &packet);
            }
        }
    }
}

#[test]
fn hashes_of_all_kinds() {
    let (mut random, instance) = (Random(2), instance());
    for hash in hashes(&mut random) {
        for appended in [false, true] {
            for _ in 0..3 {
                let len = hash_len(&mut random, &hash);
                let spec = Spec { appended, ..hash.clone() };
                let packet = Packet { hash: (random.below(20), len), ..Packet::default() };
                check(&mut random, instance, &spec, &packet);
            }
        }
    }
}

#[test]
fn chains_in_both_orders() {
    let (mut random, instance) = (Random(3), instance());
    let hashes = hashes(&mut random);
    for (n, (cipher, key, iv, block)) in ciphers().into_iter().cycle().take(120).enumerate() {
        let (encrypt, cipher_first, appended) = (n % 2 == 0, n / 20 % 2 == 0, n / 40 % 2 == 0);
        let hash = &hashes[n * 7 % hashes.len()];
        let cipher = Spec::cipher(cipher, &random.bytes(key), encrypt);
        let spec = Spec { appended, ..Spec::chain(&cipher, hash, cipher_first) };
        let len = hash_len(&mut random, hash);
        let tag_len = spec.digest_len as usize;
        let (head, tail) = (random.below(20), random.below(9));
        let whole =
            |len: usize| (len / block * block).max(if key >= 32 && block == 16 { 16 } else { 0 });
        let layouts = match (cipher_first, appended) {
            // Cipher within what is hashed; both apart; the same.
            (true, _) | (false, false) => {
                let inner = whole(len);
                let pad = if hash.hash == CPA_CY_SYM_HASH_AES_CBC_MAC { 16 } else { 5 };
                let hashed = inner + pad;
                let hashed = if pad == 16 { hashed.next_multiple_of(16) } else { hashed };
                vec![
                    ((head + pad.min(hashed - inner), inner), (head, hashed)),
                    (
                        (head, inner),
                        (head, if pad == 16 { inner.max(16).next_multiple_of(16) } else { inner }),
                    ),
                ]
            }
            // As TLS has it: text, digest, and a tail, all encrypted.
            (false, true) => {
                let all = (len + tag_len + tail).next_multiple_of(block.max(16));
                vec![((head, all), (head, len)), ((head, whole(len)), (head, len))]
            }
        };
        for (cipher, hash) in layouts {
            // The digest lies behind what is encrypted, or within it.
            let tag = hash.0 + hash.1;
            let end = cipher.0 + cipher.1;
            let inside = tag >= cipher.0 && tag + tag_len <= end;
            if spec.appended && tag < end && (!inside || cipher_first) {
                continue;
            }
            let packet = Packet { iv: (random.bytes(iv), iv), cipher, hash, ..Packet::default() };
            check(&mut random, instance, &spec, &packet);
        }
    }
}

#[test]
fn aeads_of_all_kinds() {
    let (mut random, instance) = (Random(4), instance());
    for (cipher, hash, keys, iv_lens, tag_lens) in [
        (
            CPA_CY_SYM_CIPHER_AES_GCM,
            CPA_CY_SYM_HASH_AES_GCM,
            &[16, 24, 32][..],
            &[12][..],
            &[16, 12, 8, 4][..],
        ),
        (
            CPA_CY_SYM_CIPHER_AES_CCM,
            CPA_CY_SYM_HASH_AES_CCM,
            &[16, 24, 32],
            &[7, 12, 13],
            &[4, 6, 10, 16],
        ),
        (CPA_CY_SYM_CIPHER_CHACHA, CPA_CY_SYM_HASH_POLY, &[32], &[12], &[16]),
    ] {
        for n in 0..24 {
            let key = random.bytes(keys[n % keys.len()]);
            let iv_len = iv_lens[n / 2 % iv_lens.len()];
            let tag_len = tag_lens[n / 3 % tag_lens.len()];
            let aad_len = [0, 8, 13, 20, 64][random.below(5)];
            let spec = Spec {
                aad_len: aad_len as u32,
                appended: n % 2 == 0,
                ..Spec::chain(
                    &Spec::cipher(cipher, &key, true),
                    &Spec::hash(hash, CPA_CY_SYM_HASH_MODE_AUTH, &[], tag_len),
                    // Is not looked at.
                    n % 3 == 0,
                )
            };
            let len = [0, 1, 16, 63, 300][random.below(5)];
            let is_ccm = cipher == CPA_CY_SYM_CIPHER_AES_CCM;
            let packet = Packet {
                iv: (random.bytes(16), iv_len),
                aad: random.bytes(if is_ccm { 18 + aad_len } else { aad_len }),
                cipher: (random.below(20), len),
                // Is not looked at.
                hash: (0, 0),
            };
            check(&mut random, instance, &spec, &packet);
        }
    }
}

/// GMAC, set up as a chain; the digest is of a region of the source.
#[test]
fn gmac() {
    let (mut random, instance) = (Random(5), instance());
    for n in 0..12 {
        let key = random.bytes([16, 24, 32][n % 3]);
        let spec = Spec {
            appended: n % 2 == 0,
            ..Spec::chain(
                &Spec::cipher(CPA_CY_SYM_CIPHER_AES_GCM, &key, true),
                &Spec::hash(CPA_CY_SYM_HASH_AES_GMAC, CPA_CY_SYM_HASH_MODE_AUTH, &[], 16),
                true,
            )
        };
        let len = [0, 5, 64, 301][n % 4];
        let packet = Packet {
            iv: (random.bytes(12), 12),
            hash: (random.below(9), len),
            ..Packet::default()
        };
        check(&mut random, instance, &spec, &packet);
    }
}

/// With 16 bytes `pIv` is the first counter block: J0 of a longer nonce, which OpenSSL is given.
#[test]
fn gcm_from_its_first_counter_block() {
    let (mut random, instance) = (Random(6), instance());
    for n in 0..32 {
        let key = random.bytes([16, 24, 32][n % 3]);
        // The last 32 bits of the block overflow within the text, too.
        let nonce = random.bytes([1, 16, 60, 12][n % 4]);
        let mut block = match nonce.len() {
            12 => [&nonce[..], &[0, 0, 0, 1]].concat(),
            _ => oracle::first_block(&key, &nonce),
        };
        let (text, aad) = (random.bytes([0, 1, 64, 333][n / 4 % 4]), random.bytes(20));
        let name = format!("AES-{}-GCM", key.len() * 8);
        let (sealed, tag) = oracle::seal(&name, &key, &nonce, &aad, &text, 16);
        for encrypt in [true, false] {
            for path in PATHS {
                let spec = Spec {
                    aad_len: 20,
                    ..Spec::chain(
                        &Spec::cipher(CPA_CY_SYM_CIPHER_AES_GCM, &key, encrypt),
                        &Spec::hash(CPA_CY_SYM_HASH_AES_GCM, CPA_CY_SYM_HASH_MODE_AUTH, &[], 16),
                        true,
                    )
                };
                let session = Session::new(instance, path, &spec);
                let (from, to) = if encrypt { (&text, &sealed) } else { (&sealed, &text) };
                for damage in [false, true] {
                    let memory = Memory::new(from, &[], 1);
                    let (mut aad, mut place) = (aad.clone(), tag.clone());
                    if encrypt {
                        place.fill(0);
                    } else if damage {
                        place[n % 16] ^= 1;
                    }
                    let mut request = Request::new(&session)
                        .cipher(0, text.len())
                        .iv(&mut block, 16)
                        .aad(&mut aad)
                        .digest(&mut place);
                    let outcome = request.run(&session, &memory, &memory).unwrap();
                    assert_eq!(outcome.status, CPA_STATUS_SUCCESS);
                    assert_eq!(outcome.verified, encrypt || !damage, "{n}");
                    if encrypt || !damage {
                        assert_eq!(&memory.bytes(), to, "{n} {encrypt}");
                        assert_eq!(place, tag, "{n} {encrypt}");
                    } else {
                        assert_eq!(memory.bytes(), vec![0; text.len()]);
                    }
                }
                assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
            }
        }
        let spec = Spec::chain(
            &Spec::cipher(CPA_CY_SYM_CIPHER_AES_GCM, &key, true),
            &Spec::hash(CPA_CY_SYM_HASH_AES_GMAC, CPA_CY_SYM_HASH_MODE_AUTH, &[], 16),
            true,
        );
        let session = Session::new(instance, Path::Callback, &spec);
        let (memory, mut place) = (Memory::new(&aad, &[], 0), vec![0; 16]);
        let mut request = Request::new(&session).hash(0, 20).iv(&mut block, 16).digest(&mut place);
        request.run(&session, &memory, &memory).unwrap();
        assert_eq!(place, oracle::seal(&name, &key, &nonce, &aad, &[], 16).1, "{n}");
    }
}

/// The counter of GCM has 32 bits: it begins again within the text.
#[test]
fn gcm_beyond_the_end_of_its_counter() {
    let (mut random, instance) = (Random(7), instance());
    let (key, text) = (random.bytes(16), random.bytes(100));
    let mut block = random.bytes(16);
    block[12..].copy_from_slice(&[0xff, 0xff, 0xff, 0xfd]);
    let mut expected = text.clone();
    for (i, piece) in expected.chunks_mut(16).enumerate() {
        let mut counter = block.clone();
        counter[12..].copy_from_slice(&0xffff_fffe_u32.wrapping_add(i as u32).to_be_bytes());
        let mask = oracle::openssl("AES-128-ECB", &key, &[], true, &counter);
        piece.iter_mut().zip(mask).for_each(|(a, b)| *a ^= b);
    }
    let spec = Spec {
        appended: true,
        ..Spec::chain(
            &Spec::cipher(CPA_CY_SYM_CIPHER_AES_GCM, &key, true),
            &Spec::hash(CPA_CY_SYM_HASH_AES_GCM, CPA_CY_SYM_HASH_MODE_AUTH, &[], 16),
            true,
        )
    };
    let session = Session::new(instance, Path::Callback, &spec);
    let memory = Memory::new(&[&text[..], &[0; 16]].concat(), &[30], 0);
    let mut request = Request::new(&session).cipher(0, 100).iv(&mut block, 16);
    request.run(&session, &memory, &memory).unwrap();
    assert_eq!(memory.bytes()[..100], expected);
}
