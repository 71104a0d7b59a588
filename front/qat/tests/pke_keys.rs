//! Key derivation, through the exported functions, against the RFCs' formulas over OpenSSL's hashes.
// Each block calls a function of the interface with what that asks for.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, missing_docs)]

mod pke_common;

use core::ptr;

use lookaside_qat::{
    abi::*,
    cy::pke::{key::*, stats::*},
};
use pke_common::{
    Answer, Flat, NONE, both, flat, hex, noise,
    ssl::{digest, hmac},
};

/// A hash: OpenSSL's name, bytes of a block.
type Hash = (&'static str, usize);

const MD5: Hash = ("MD5", 64);
const SHA1: Hash = ("SHA1", 64);
const SHA256: Hash = ("SHA256", 64);
const SHA384: Hash = ("SHA384", 128);
const SHA512: Hash = ("SHA512", 128);

/// P_hash of RFC 5246, 5.
fn p_hash((name, block): Hash, secret: &[u8], seed: &[u8], len: usize) -> Vec<u8> {
    let (mut out, mut a) = (Vec::new(), seed.to_vec());
    while out.len() < len {
        a = hmac(name, block, secret, &[&a]);
        out.extend(hmac(name, block, secret, &[&a, seed]));
    }
    out.truncate(len);
    out
}

/// RFC 2246, 5.
fn old_prf(secret: &[u8], seed: &[u8], len: usize) -> Vec<u8> {
    let half = secret.len().div_ceil(2);
    let a = p_hash(MD5, &secret[..half], seed, len);
    let b = p_hash(SHA1, &secret[secret.len() - half..], seed, len);
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

struct Tls<'a> {
    op: CpaCyKeyTlsOp,
    secret: &'a [u8],
    seed: &'a [u8],
    label: Option<&'a [u8]>,
    len: u32,
}

impl Tls<'_> {
    /// With TLS 1.2's function over a hash, or the older one.
    #[track_caller]
    fn derive(&self, hash: Option<CpaCySymHashAlgorithm>, room: usize) -> Answer {
        let [secret, seed] = [self.secret, self.seed].map(Flat::new);
        let label = self.label.map(Flat::new);
        let op = CpaCyKeyGenTlsOpData {
            tlsOp: self.op,
            secret: secret.flat,
            seed: seed.flat,
            generatedKeyLenInBytes: self.len,
            userLabel: label.as_ref().map_or(NONE, |label| label.flat),
        };
        both(&[room], |ask| unsafe {
            match hash {
                None => cpaCyKeyGenTls(ask.handle, ask.by(flat), ask.tag, &op, ask.outs[0]),
                Some(hash) => {
                    cpaCyKeyGenTls2(ask.handle, ask.by(flat), ask.tag, &op, hash, ask.outs[0])
                }
            }
        })
    }
}

#[test]
fn tls_keys_follow_the_rfcs() {
    let (secret, seed) = (noise(1, 48), noise(2, 64));
    for (op, label) in [
        (CPA_CY_KEY_TLS_OP_MASTER_SECRET_DERIVE, "master secret"),
        (CPA_CY_KEY_TLS_OP_KEY_MATERIAL_DERIVE, "key expansion"),
        (CPA_CY_KEY_TLS_OP_CLIENT_FINISHED_DERIVE, "client finished"),
        (CPA_CY_KEY_TLS_OP_SERVER_FINISHED_DERIVE, "server finished"),
        (CPA_CY_KEY_TLS_OP_USER_DEFINED, "extended master secret"),
    ] {
        for len in [1, 12, 48, 104, 200] {
            let own = (op == CPA_CY_KEY_TLS_OP_USER_DEFINED).then_some(label.as_bytes());
            let tls = Tls { op, secret: &secret, seed: &seed, label: own, len };
            let all = [label.as_bytes(), &seed].concat();
            let n = len as usize;
            // The buffer's length becomes the key's.
            let answer = tls.derive(None, n + 5);
            assert_eq!(answer.lens, [len]);
            assert_eq!(answer.only()[..n], old_prf(&secret, &all, n), "{label} {len}");
            for (hash, ours) in [
                (CPA_CY_SYM_HASH_SHA256, SHA256),
                (CPA_CY_SYM_HASH_SHA384, SHA384),
                (CPA_CY_SYM_HASH_SHA512, SHA512),
            ] {
                let key = tls.derive(Some(hash), n).only();
                assert_eq!(key, p_hash(ours, &secret, &all, n), "{label} {len}");
            }
            assert!(tls.derive(None, n - 1).is_refused());
        }
    }
}

#[test]
fn a_published_vector_of_tls_1_2() {
    let tls = Tls {
        op: CPA_CY_KEY_TLS_OP_USER_DEFINED,
        secret: &hex("9bbe436ba940f017b17652849a71db35"),
        seed: &hex("a0ba9f936cda311827a6f796ffd5198c"),
        label: Some(b"test label"),
        len: 32,
    };
    let wanted = hex("e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a");
    assert_eq!(tls.derive(Some(CPA_CY_SYM_HASH_SHA256), 32).only(), wanted);
}

#[test]
fn what_is_no_tls_key_is_refused() {
    let (secret, seed) = (noise(1, 48), noise(2, 64));
    let good = || Tls {
        op: CPA_CY_KEY_TLS_OP_MASTER_SECRET_DERIVE,
        secret: &secret,
        seed: &seed,
        label: None,
        len: 48,
    };
    let refused = |tls: Tls<'_>| {
        assert!(tls.derive(None, 48).is_refused());
        assert!(tls.derive(Some(CPA_CY_SYM_HASH_SHA256), 48).is_refused());
    };
    refused(Tls { seed: &seed[1..], ..good() });
    refused(Tls { seed: &[&seed[..], &[0]].concat(), ..good() });
    refused(Tls { len: 0, ..good() });
    refused(Tls { op: CpaCyKeyTlsOp(6), ..good() });
    refused(Tls { op: CpaCyKeyTlsOp(0), ..good() });
    refused(Tls { op: CPA_CY_KEY_TLS_OP_USER_DEFINED, ..good() });
    let algorithm = CPA_CY_SYM_HASH_AES_CMAC;
    assert!(good().derive(Some(algorithm), 48).is_refused());
    assert!(
        both(&[48], |ask| unsafe {
            cpaCyKeyGenTls(ask.handle, ask.by(flat), ask.tag, ptr::null(), ask.outs[0])
        })
        .is_refused()
    );
    // No secret at all is one.
    let none = Tls { secret: &[], ..good() };
    let all = [b"master secret", &seed[..]].concat();
    let key = none.derive(Some(CPA_CY_SYM_HASH_SHA256), 48).only();
    assert_eq!(key, p_hash(SHA256, &[], &all, 48));
}

fn extract((name, block): Hash, salt: &[u8], secret: &[u8]) -> Vec<u8> {
    hmac(name, block, salt, &[secret])
}

fn expand((name, block): Hash, key: &[u8], info: &[u8], len: usize) -> Vec<u8> {
    let (mut out, mut t) = (Vec::new(), Vec::new());
    for counter in 1_u8.. {
        if out.len() >= len {
            break;
        }
        t = hmac(name, block, key, &[&t, info, &[counter]]);
        out.extend_from_slice(&t);
    }
    out.truncate(len);
    out
}

/// HkdfLabel of RFC 8446, 7.1.
fn hkdf_label(len: usize, label: &[u8], context: &[u8]) -> Vec<u8> {
    let label = [b"tls13 ", label].concat();
    let head = [(len as u16).to_be_bytes().as_slice(), &[label.len() as u8]].concat();
    [&head, &label[..], &[context.len() as u8], context].concat()
}

type Suite = (CpaCyKeyHKDFCipherSuite, Hash, usize, usize);

/// Suite, hash, bytes of a digest and of a key.
const SUITES: [Suite; 5] = [
    (CPA_CY_HKDF_TLS_AES_128_GCM_SHA256, SHA256, 32, 16),
    (CPA_CY_HKDF_TLS_AES_256_GCM_SHA384, SHA384, 48, 32),
    (CPA_CY_HKDF_TLS_CHACHA20_POLY1305_SHA256, SHA256, 32, 32),
    (CPA_CY_HKDF_TLS_AES_128_CCM_SHA256, SHA256, 32, 16),
    (CPA_CY_HKDF_TLS_AES_128_CCM_8_SHA256, SHA256, 32, 16),
];

fn hkdf_op(op: CpaCyKeyHKDFOp, secret: &[u8], seed: &[u8], info: &[u8]) -> CpaCyKeyGenHKDFOpData {
    // SAFETY: bytes and numbers.
    let mut data = unsafe { core::mem::zeroed::<CpaCyKeyGenHKDFOpData>() };
    data.hkdfKeyOp = op;
    data.secretLen = secret.len() as u8;
    data.secret[..secret.len()].copy_from_slice(secret);
    data.seedLen = seed.len() as u16;
    data.seed[..seed.len()].copy_from_slice(seed);
    data.infoLen = info.len() as u16;
    data.info[..info.len()].copy_from_slice(info);
    data
}

fn with_labels(mut data: CpaCyKeyGenHKDFOpData, labels: &[(&[u8], u32)]) -> CpaCyKeyGenHKDFOpData {
    data.numLabels = labels.len() as u16;
    for (place, (label, flags)) in data.label.iter_mut().zip(labels) {
        place.label[..label.len()].copy_from_slice(label);
        place.labelLen = label.len() as u8;
        place.sublabelFlag = *flags as u8;
    }
    data
}

#[track_caller]
fn hkdf(op: &CpaCyKeyGenHKDFOpData, suite: CpaCyKeyHKDFCipherSuite, room: usize) -> Answer {
    both(&[room], |ask| unsafe {
        cpaCyKeyGenTls3(ask.handle, ask.by(flat), ask.tag, op, suite, ask.outs[0])
    })
}

#[test]
fn hkdf_of_rfc_5869() {
    let (secret, salt) = ([0x0b; 22], hex("000102030405060708090a0b0c"));
    let info = hex("f0f1f2f3f4f5f6f7f8f9");
    let prk = hex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5");
    let okm = hex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
    let suite = CPA_CY_HKDF_TLS_AES_128_GCM_SHA256;
    let op = hkdf_op(CPA_CY_HKDF_KEY_EXTRACT, &secret, &salt, &[]);
    assert_eq!(hkdf(&op, suite, 32).only(), prk);
    let op = hkdf_op(CPA_CY_HKDF_KEY_EXPAND, &prk, &[], &info);
    assert_eq!(hkdf(&op, suite, 32).only(), okm);
    let op = hkdf_op(CPA_CY_HKDF_KEY_EXTRACT_EXPAND, &secret, &salt, &info);
    assert_eq!(hkdf(&op, suite, 64).only(), [prk, okm].concat());
}

#[test]
fn hkdf_with_labels_follows_rfc_8446() {
    let flags = [
        CPA_CY_HKDF_SUBLABEL_KEY,
        CPA_CY_HKDF_SUBLABEL_IV,
        CPA_CY_HKDF_SUBLABEL_RESUMPTION,
        CPA_CY_HKDF_SUBLABEL_FINISHED,
    ];
    for (suite, hash, len, key_len) in SUITES {
        let (secret, salt) = (noise(3, len), noise(4, len));
        let labels = [b"c hs traffic".as_slice(), b"s hs traffic", b"derived", b"x"]
            .map(|label| hkdf_label(len, label, &noise(5, if label == b"x" { 0 } else { 32 })));
        let sub = |secret: &[u8], all: u32| -> Vec<u8> {
            let names = [b"key".as_slice(), b"iv", b"resumption", b"finished"];
            let lens = [key_len, 12, len, len];
            let each = flags.iter().zip(names).zip(lens).filter(|((flag, _), _)| all & **flag != 0);
            each.flat_map(|((_, name), n)| expand(hash, secret, &hkdf_label(n, name, &[]), n))
                .collect()
        };
        for count in 1..=4 {
            for all in [0, 1, 3, 4, 8, 10, 15] {
                let chosen: Vec<(&[u8], u32)> = labels[..count]
                    .iter()
                    .enumerate()
                    .map(|(index, label)| (&label[..], if index % 2 == 0 { all } else { 0 }))
                    .collect();
                let results = |key: &[u8]| -> Vec<u8> {
                    let each = chosen.iter().map(|(label, flags)| {
                        let secret = expand(hash, key, label, len);
                        [secret.clone(), sub(&secret, *flags)].concat()
                    });
                    each.flatten().collect()
                };
                let op = hkdf_op(CPA_CY_HKDF_KEY_EXPAND_LABEL, &secret, &[], &[]);
                let wanted = results(&secret);
                let answer = hkdf(&with_labels(op, &chosen), suite, wanted.len());
                assert_eq!(answer.only(), wanted, "{suite:?} {count} {all}");
                let op = hkdf_op(CPA_CY_HKDF_KEY_EXTRACT_EXPAND_LABEL, &secret, &salt, &[]);
                let prk = extract(hash, &salt, &secret);
                let wanted = [prk.clone(), results(&prk)].concat();
                let answer = hkdf(&with_labels(op, &chosen), suite, wanted.len() + 3);
                assert_eq!(answer.lens, [wanted.len() as u32]);
                assert_eq!(answer.only()[..wanted.len()], wanted);
                let short = hkdf(&with_labels(op, &chosen), suite, wanted.len() - 1);
                assert!(short.is_refused());
            }
        }
    }
}

#[test]
fn what_is_no_hkdf_is_refused() {
    let suite = CPA_CY_HKDF_TLS_AES_128_GCM_SHA256;
    let good = hkdf_op(CPA_CY_HKDF_KEY_EXTRACT_EXPAND, &[1; 32], &[2; 32], &[3; 9]);
    assert!(hkdf(&good, suite, 64).valid && hkdf(&good, suite, 63).is_refused());
    let refused = |change: fn(&mut CpaCyKeyGenHKDFOpData)| {
        let mut op = good;
        change(&mut op);
        assert!(hkdf(&op, suite, 256).is_refused());
    };
    refused(|op| op.hkdfKeyOp = CpaCyKeyHKDFOp(11));
    refused(|op| op.secretLen = 81);
    refused(|op| op.seedLen = 33);
    refused(|op| op.seedLen = 60_000);
    refused(|op| op.infoLen = 81);
    refused(|op| op.hkdfKeyOp = CPA_CY_HKDF_KEY_EXPAND_LABEL);
    refused(|op| (op.hkdfKeyOp, op.secretLen) = (CPA_CY_HKDF_KEY_EXPAND, 33));
    refused(|op| (op.hkdfKeyOp, op.numLabels) = (CPA_CY_HKDF_KEY_EXPAND_LABEL, 5));
    refused(|op| {
        (op.hkdfKeyOp, op.numLabels) = (CPA_CY_HKDF_KEY_EXPAND_LABEL, 1);
        op.label[0].labelLen = 79;
    });
    refused(|op| {
        (op.hkdfKeyOp, op.numLabels) = (CPA_CY_HKDF_KEY_EXPAND_LABEL, 1);
        op.label[0].sublabelFlag = 16;
    });
    assert!(hkdf(&good, CpaCyKeyHKDFCipherSuite(6), 64).is_refused());
    assert!(hkdf(&good, CpaCyKeyHKDFCipherSuite(0), 64).is_refused());
}

/// MGF1 of RFC 8017, B.2.1.
fn mgf1((name, _): Hash, seed: &[u8], len: usize) -> Vec<u8> {
    let mut mask = Vec::new();
    for counter in 0_u32.. {
        if mask.len() >= len {
            break;
        }
        mask.extend(digest(name, &[seed, &counter.to_be_bytes()]));
    }
    mask.truncate(len);
    mask
}

#[test]
fn masks_follow_rfc_8017() {
    let seed = noise(6, 20);
    let flat_seed = Flat::new(&seed);
    for len in [1, 20, 21, 64, 235, 1000] {
        let base = CpaCyKeyGenMgfOpData { seedBuffer: flat_seed.flat, maskLenInBytes: len };
        let n = len as usize;
        let usual = |op: &CpaCyKeyGenMgfOpData, room: usize| {
            both(&[room], |ask| unsafe {
                cpaCyKeyGenMgf(ask.handle, ask.by(flat), ask.tag, op, ask.outs[0])
            })
        };
        assert_eq!(usual(&base, n).only(), mgf1(SHA1, &seed, n));
        assert!(usual(&base, n - 1).is_refused());
        assert!(usual(&CpaCyKeyGenMgfOpData { maskLenInBytes: 0, ..base }, n).is_refused());
        assert!(usual(&CpaCyKeyGenMgfOpData { seedBuffer: NONE, ..base }, n).is_refused());
        for (algorithm, hash) in [
            (CPA_CY_SYM_HASH_MD5, MD5),
            (CPA_CY_SYM_HASH_SHA256, SHA256),
            (CPA_CY_SYM_HASH_SHA384, SHA384),
            (CPA_CY_SYM_HASH_SHA512, SHA512),
        ] {
            let op = CpaCyKeyGenMgfOpDataExt { baseOpData: base, hashAlgorithm: algorithm };
            let mask = both(&[n], |ask| unsafe {
                cpaCyKeyGenMgfExt(ask.handle, ask.by(flat), ask.tag, &op, ask.outs[0])
            });
            assert_eq!(mask.only(), mgf1(hash, &seed, n));
        }
        let op =
            CpaCyKeyGenMgfOpDataExt { baseOpData: base, hashAlgorithm: CPA_CY_SYM_HASH_AES_GCM };
        assert!(
            both(&[n], |ask| unsafe {
                cpaCyKeyGenMgfExt(ask.handle, ask.by(flat), ask.tag, &op, ask.outs[0])
            })
            .is_refused()
        );
    }
}

#[track_caller]
fn ssl(kind: CpaCyKeySslOp, seed: &[u8], label: Option<&[u8]>, len: u32, room: usize) -> Answer {
    let (secret, seed) = (Flat::new(&noise(7, 48)), Flat::new(seed));
    let label = label.map(Flat::new);
    let op = CpaCyKeyGenSslOpData {
        sslOp: kind,
        secret: secret.flat,
        seed: seed.flat,
        info: NONE,
        generatedKeyLenInBytes: len,
        userLabel: label.as_ref().map_or(NONE, |label| label.flat),
    };
    both(&[room], |ask| unsafe {
        cpaCyKeyGenSsl(ask.handle, ask.by(flat), ask.tag, &op, ask.outs[0])
    })
}

#[test]
fn ssl_keys_follow_rfc_6101() {
    let (secret, seed) = (noise(7, 48), noise(8, 64));
    let wanted = |len: usize| {
        let labels = (b'A'..=b'Z').enumerate().map(|(index, letter)| vec![letter; index + 1]);
        let block =
            |label: Vec<u8>| digest("MD5", &[&secret, &digest("SHA1", &[&label, &secret, &seed])]);
        let mut key: Vec<u8> = labels.flat_map(block).collect();
        key.truncate(len);
        key
    };
    for len in [1_u32, 16, 48, 104, 136, 416] {
        for kind in [CPA_CY_KEY_SSL_OP_MASTER_SECRET_DERIVE, CPA_CY_KEY_SSL_OP_KEY_MATERIAL_DERIVE]
        {
            let n = len as usize;
            assert_eq!(ssl(kind, &seed, None, len, n).only(), wanted(n), "{len}");
            assert!(ssl(kind, &seed, None, len, n - 1).is_refused());
        }
    }
    let user = CPA_CY_KEY_SSL_OP_USER_DEFINED;
    assert_eq!(ssl(user, &seed, Some(b"ABBCCC"), 48, 48).only(), wanted(48));
    assert!(ssl(user, &seed, Some(b"ABBCC"), 48, 48).is_refused());
    assert!(ssl(user, &seed, None, 48, 48).is_refused());
    let usual = CPA_CY_KEY_SSL_OP_MASTER_SECRET_DERIVE;
    assert!(ssl(usual, &seed[1..], None, 48, 48).is_refused());
    assert!(ssl(usual, &seed, None, 417, 417).is_refused());
    assert!(ssl(CpaCyKeySslOp(4), &seed, None, 48, 48).is_refused());
}

#[test]
fn derivations_are_counted() {
    let handle = *pke_common::instances().last().unwrap();
    let seed = Flat::new(&[1; 20]);
    let op = CpaCyKeyGenMgfOpData { seedBuffer: seed.flat, maskLenInBytes: 9 };
    let mut out = Flat::new(&[0; 9]);
    let read = || unsafe {
        let mut stats = core::mem::zeroed::<CpaCyKeyGenStats64>();
        let mut short = core::mem::zeroed::<CpaCyKeyGenStats>();
        assert_eq!(cpaCyKeyGenQueryStats64(handle, &mut stats), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCyKeyGenQueryStats(handle, &mut short), CPA_STATUS_SUCCESS);
        [stats.numMgfKeyGenRequests, stats.numMgfKeyGenRequestErrors, stats.numMgfKeyGenCompleted]
    };
    let before = read();
    unsafe {
        let null = ptr::null_mut();
        assert_eq!(cpaCyKeyGenMgf(handle, None, null, &op, &mut out.flat), CPA_STATUS_SUCCESS);
        let status = cpaCyKeyGenMgf(handle, None, null, ptr::null(), &mut out.flat);
        assert_eq!(status, CPA_STATUS_INVALID_PARAM);
    }
    let grown: Vec<u64> = read().iter().zip(before).map(|(after, before)| after - before).collect();
    assert_eq!(grown, [1, 1, 1]);
}
