//! RSA, through the exported functions, against OpenSSL's numbers.
// Each block calls a function of the interface with what that asks for.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, missing_docs)]

mod pke_common;

use core::ptr;

use lookaside_qat::{abi::*, cy::pke::rsa::*, cy::pke::stats::*};
use pke_common::{
    Answer, Flat, NONE, both, flat, keys, noise,
    ssl::{Number, Rsa},
};

/// A key's buffers, kept as long as requests with it.
struct Key {
    _parts: Vec<Flat>,
    public: CpaCyRsaPublicKey,
    one: CpaCyRsaPrivateKey,
    two: CpaCyRsaPrivateKey,
}

impl Key {
    fn new(rsa: &Rsa) -> Key {
        let half = rsa.len / 2;
        let parts = [
            rsa.n.bytes(rsa.len),
            rsa.e.bytes(rsa.e.bits().div_ceil(8)),
            rsa.d.bytes(rsa.len),
            rsa.p.bytes(half),
            rsa.q.bytes(half),
            rsa.dp.bytes(half),
            rsa.dq.bytes(half),
            rsa.qinv.bytes(half),
        ];
        Key::of(parts.map(|part| Flat::new(&part)))
    }

    fn of(parts: [Flat; 8]) -> Key {
        let [n, e, d, p, q, dp, dq, qinv] = parts.each_ref().map(|part| part.flat);
        let key = |kind| CpaCyRsaPrivateKey {
            version: CPA_CY_RSA_VERSION_TWO_PRIME,
            privateKeyRepType: kind,
            privateKeyRep1: CpaCyRsaPrivateKeyRep1 { modulusN: n, privateExponentD: d },
            privateKeyRep2: CpaCyRsaPrivateKeyRep2 {
                prime1P: p,
                prime2Q: q,
                exponent1Dp: dp,
                exponent2Dq: dq,
                coefficientQInv: qinv,
            },
        };
        Key {
            _parts: parts.into(),
            public: CpaCyRsaPublicKey { modulusN: n, publicExponentE: e },
            one: key(CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_1),
            two: key(CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_2),
        }
    }
}

#[track_caller]
fn decrypt(mut key: CpaCyRsaPrivateKey, input: &[u8], room: usize) -> Answer {
    let input = Flat::new(input);
    let op = CpaCyRsaDecryptOpData { pRecipientPrivateKey: &mut key, inputData: input.flat };
    both(&[room], |ask| unsafe {
        cpaCyRsaDecrypt(ask.handle, ask.by(flat), ask.tag, &op, ask.outs[0])
    })
}

#[track_caller]
fn encrypt(mut key: CpaCyRsaPublicKey, input: &[u8], room: usize) -> Answer {
    let input = Flat::new(input);
    let op = CpaCyRsaEncryptOpData { pPublicKey: &mut key, inputData: input.flat };
    both(&[room], |ask| unsafe {
        cpaCyRsaEncrypt(ask.handle, ask.by(flat), ask.tag, &op, ask.outs[0])
    })
}

fn usual(bits: usize) -> Rsa {
    Rsa::new(bits, &Number::word(65_537))
}

#[test]
fn both_operations_are_powers() {
    for bits in [512, 1024, 1536, 2048, 3072, 4096] {
        let rsa = usual(bits);
        let (key, len) = (Key::new(&rsa), rsa.len);
        let mut input = noise(bits as u64, len);
        input[0] = 0;
        let number = Number::new(&input);
        let public = number.power(&rsa.e, &rsa.n).bytes(len);
        let private = number.power(&rsa.d, &rsa.n).bytes(len);
        assert_eq!(encrypt(key.public, &input, len).only(), public, "{bits}");
        for key in [key.one, key.two] {
            assert_eq!(decrypt(key, &input, len).only(), private, "{bits}");
            // An output that is longer begins with zeros.
            let wide = decrypt(key, &input, len + 9).only();
            assert_eq!(wide, [&[0; 9][..], &private].concat());
        }
        // An input that is shorter, and one with zeros in front.
        let short = &input[len - 20..];
        let private = Number::new(short).power(&rsa.d, &rsa.n).bytes(len);
        for short in [short, &[&[0; 7], short].concat()] {
            assert_eq!(decrypt(key.two, short, len).only(), private);
            assert_eq!(decrypt(key.one, short, len).only(), private);
        }
        for one in [&[1][..], &[0, 0, 1]] {
            assert_eq!(decrypt(key.two, one, len).only(), Number::word(1).bytes(len));
            assert_eq!(encrypt(key.public, one, len).only(), Number::word(1).bytes(len));
        }
        let last = rsa.n.minus(&Number::word(1)).bytes(len);
        assert_eq!(decrypt(key.two, &last, len).only(), last);
    }
}

#[test]
fn unusual_exponents_are_found() {
    for e in [3_u64, 37, 65_539, 0xffff_fffb, 0x1_0000_000f] {
        let rsa = Rsa::new(1024, &Number::word(e));
        let key = Key::new(&rsa);
        let input = noise(e, rsa.len - 1);
        let wanted = Number::new(&input).power(&rsa.d, &rsa.n).bytes(rsa.len);
        assert_eq!(decrypt(key.two, &input, rsa.len).only(), wanted, "{e}");
        assert_eq!(encrypt(key.public, &wanted, rsa.len).only()[1..], input, "{e}");
    }
}

#[test]
fn what_is_wrong_is_refused() {
    let rsa = usual(1024);
    let (key, len) = (Key::new(&rsa), rsa.len);
    let input = noise(1, len - 1);
    let refused = |answer: Answer| assert!(answer.is_refused(), "{answer:?}");
    for input in [&[0][..], &[0; 128], &rsa.n.bytes(len), &[0xff; 128], &[0xff; 129], &[]] {
        refused(encrypt(key.public, input, len));
        refused(decrypt(key.one, input, len));
    }
    refused(decrypt(key.two, &[0; 128], len));
    refused(decrypt(key.two, &[0xff; 129], len));
    // Too large for the modulus: known after the key's modulus is.
    assert_eq!(decrypt(key.two, &[0xff; 128], len).status, CPA_STATUS_FAIL);
    for room in [0, 1, len - 1] {
        refused(encrypt(key.public, &input, room));
        refused(decrypt(key.one, &input, room));
        refused(decrypt(key.two, &input, room));
    }
    // Keys.
    let even = Flat::new(&rsa.n.minus(&Number::word(1)).bytes(len));
    refused(encrypt(CpaCyRsaPublicKey { modulusN: even.flat, ..key.public }, &input, len));
    refused(encrypt(CpaCyRsaPublicKey { publicExponentE: NONE, ..key.public }, &input, len));
    let two = Flat::new(&[2]);
    refused(encrypt(CpaCyRsaPublicKey { publicExponentE: two.flat, ..key.public }, &input, len));
    let parts = key.two.privateKeyRep2;
    for (what, parts) in [
        ("p", CpaCyRsaPrivateKeyRep2 { prime1P: even.flat, ..parts }),
        ("q", CpaCyRsaPrivateKeyRep2 { prime2Q: NONE, ..parts }),
        ("dp", CpaCyRsaPrivateKeyRep2 { exponent1Dp: two.flat, ..parts }),
        ("dq", CpaCyRsaPrivateKeyRep2 { exponent2Dq: parts.exponent1Dp, ..parts }),
    ] {
        let answer = decrypt(CpaCyRsaPrivateKey { privateKeyRep2: parts, ..key.two }, &input, len);
        assert!(answer.is_refused(), "{what}");
    }
    // A wrong coefficient: the result is withheld.
    let wrong = CpaCyRsaPrivateKeyRep2 { coefficientQInv: parts.exponent1Dp, ..parts };
    let answer = decrypt(CpaCyRsaPrivateKey { privateKeyRep2: wrong, ..key.two }, &input, len);
    assert_eq!((answer.status, answer.valid), (CPA_STATUS_FAIL, false));
    assert!(answer.outs[0].iter().all(|byte| *byte == 0xaa));
    let kind = CpaCyRsaPrivateKeyRepType(3);
    refused(decrypt(CpaCyRsaPrivateKey { privateKeyRepType: kind, ..key.two }, &input, len));
    let version = CpaCyRsaVersion(2);
    refused(decrypt(CpaCyRsaPrivateKey { version, ..key.two }, &input, len));
    // Null.
    refused(both(&[len], |ask| unsafe {
        cpaCyRsaDecrypt(ask.handle, ask.by(flat), ask.tag, ptr::null(), ask.outs[0])
    }));
    refused(both(&[len], |ask| unsafe {
        let op = CpaCyRsaDecryptOpData { pRecipientPrivateKey: ptr::null_mut(), inputData: NONE };
        cpaCyRsaDecrypt(ask.handle, ask.by(flat), ask.tag, &op, ask.outs[0])
    }));
    let mut whole = key.two;
    let input = Flat::new(&input);
    refused(both(&[len], |ask| unsafe {
        let op = CpaCyRsaDecryptOpData {
            pRecipientPrivateKey: &raw const whole as *mut _,
            inputData: input.flat,
        };
        cpaCyRsaDecrypt(ask.handle, ask.by(flat), ask.tag, &op, ptr::null_mut())
    }));
    let op = CpaCyRsaDecryptOpData { pRecipientPrivateKey: &mut whole, inputData: input.flat };
    let mut out = Flat::new(&[0; 128]);
    let wrong = ptr::without_provenance_mut(4096);
    let status = unsafe { cpaCyRsaDecrypt(wrong, None, ptr::null_mut(), &op, &mut out.flat) };
    assert_eq!(status, CPA_STATUS_INVALID_PARAM);
}

#[test]
fn outputs_may_be_inputs() {
    let rsa = usual(1024);
    let mut key = Key::new(&rsa);
    let mut message = Flat::new(&[&[0], &noise(5, 127)[..]].concat());
    let wanted = Number::new(&message.bytes).power(&rsa.d, &rsa.n).bytes(128);
    let op = CpaCyRsaDecryptOpData { pRecipientPrivateKey: &mut key.two, inputData: message.flat };
    let status =
        unsafe { cpaCyRsaDecrypt(ptr::null_mut(), None, ptr::null_mut(), &op, &mut message.flat) };
    assert_eq!((status, message.bytes), (CPA_STATUS_SUCCESS, wanted));
}

fn hardened(mut key: CpaCyRsaPrivateKey, rsa: &Rsa, input: &[u8]) -> Answer {
    let half = rsa.len / 2;
    let mut parts =
        [Flat::new(&rsa.p.bytes(half)), Flat::new(&rsa.q.bytes(half)), Flat::new(&rsa.e.bytes(8))];
    let [p, q, e] = parts.each_mut().map(|part| &raw mut part.flat);
    let dpa = CpaCyRsaDpaOpData {
        pRsaPrimeP: p,
        pRsaPrimeQ: q,
        pRsaPublicE: e,
        pRandom: ptr::null_mut(),
        createRandomData: CPA_TRUE,
    };
    let input = Flat::new(input);
    let op = CpaCyRsaDecryptOpData { pRecipientPrivateKey: &mut key, inputData: input.flat };
    both(&[rsa.len], |ask| unsafe {
        cpaCyRsaDpaDecrypt(ask.handle, ask.by(flat), ask.tag, &op, &dpa, ask.outs[0])
    })
}

#[test]
fn hardened_operations_are_the_same() {
    let (rsa, other) = (usual(1024), usual(1024));
    let key = Key::new(&rsa);
    let input = noise(9, 127);
    let wanted = Number::new(&input).power(&rsa.d, &rsa.n).bytes(128);
    for key in [key.one, key.two] {
        assert_eq!(hardened(key, &rsa, &input).only(), wanted);
    }
    assert!(hardened(key.one, &other, &input).is_refused());
    let mut one = key.one;
    let input = Flat::new(&input);
    let op = CpaCyRsaDecryptOpData { pRecipientPrivateKey: &mut one, inputData: input.flat };
    assert!(
        both(&[128], |ask| unsafe {
            cpaCyRsaDpaDecrypt(ask.handle, ask.by(flat), ask.tag, &op, ptr::null(), ask.outs[0])
        })
        .is_refused()
    );
}

#[test]
fn keys_are_made_of_primes() {
    for (bits, e) in [(512, 65_537_u64), (1024, 3), (2048, 65_537), (1024, 0x1_0000_000f)] {
        let rsa = Rsa::new(bits, &Number::word(e));
        let (len, half) = (rsa.len, rsa.len / 2);
        let parts = [rsa.p.bytes(half), rsa.q.bytes(half), rsa.e.bytes(8)];
        let [p, q, e] = parts.map(|part| Flat::new(&part));
        for kind in [CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_1, CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_2] {
            let op = CpaCyRsaKeyGenOpData {
                prime1P: p.flat,
                prime2Q: q.flat,
                modulusLenInBytes: len as u32,
                version: CPA_CY_RSA_VERSION_TWO_PRIME,
                privateKeyRepType: kind,
                publicExponentE: e.flat,
            };
            let lens = [len, 8, len, len, half, half, half, half, half];
            let generate = |ask: &pke_common::Ask, op: &CpaCyRsaKeyGenOpData| unsafe {
                let at = |index: usize| *ask.outs[index];
                let public = CpaCyRsaPublicKey { modulusN: at(0), publicExponentE: at(1) };
                let private = CpaCyRsaPrivateKey {
                    version: CPA_CY_RSA_VERSION_TWO_PRIME,
                    privateKeyRepType: op.privateKeyRepType,
                    privateKeyRep1: CpaCyRsaPrivateKeyRep1 {
                        modulusN: at(2),
                        privateExponentD: at(3),
                    },
                    privateKeyRep2: CpaCyRsaPrivateKeyRep2 {
                        prime1P: at(4),
                        prime2Q: at(5),
                        exponent1Dp: at(6),
                        exponent2Dq: at(7),
                        coefficientQInv: at(8),
                    },
                };
                // They have to live until the callback: given back by nobody.
                let (private, public) = (Box::leak(private.into()), Box::leak(public.into()));
                cpaCyRsaGenKey(ask.handle, ask.by(keys), ask.tag, op, private, public)
            };
            let outs = both(&lens, |ask| generate(ask, &op)).good();
            assert_eq!(outs[0], rsa.n.bytes(len));
            assert_eq!(outs[1], rsa.e.bytes(8));
            assert_eq!(outs[2], outs[0]);
            assert_eq!(outs[3], rsa.d.bytes(len), "d modulo (p - 1)(q - 1)");
            if kind == CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_2 {
                let parts = [&rsa.p, &rsa.q, &rsa.dp, &rsa.dq, &rsa.qinv];
                assert!(outs[4..].iter().zip(parts).all(|(out, part)| *out == part.bytes(half)));
            } else {
                assert!(outs[4..].concat().iter().all(|byte| *byte == 0xaa));
            }
            // What is wrong.
            let refused = |op: CpaCyRsaKeyGenOpData| {
                assert!(both(&lens, |ask| generate(ask, &op)).is_refused());
            };
            refused(CpaCyRsaKeyGenOpData { prime2Q: p.flat, ..op });
            refused(CpaCyRsaKeyGenOpData { prime2Q: NONE, ..op });
            refused(CpaCyRsaKeyGenOpData { modulusLenInBytes: len as u32 - 1, ..op });
            let [even, one, short] =
                [Flat::new(&[4]), Flat::new(&[1]), Flat::new(&rsa.p.bytes(half)[1..])];
            refused(CpaCyRsaKeyGenOpData { publicExponentE: even.flat, ..op });
            refused(CpaCyRsaKeyGenOpData { publicExponentE: one.flat, ..op });
            refused(CpaCyRsaKeyGenOpData { prime1P: short.flat, ..op });
            let kind = CpaCyRsaPrivateKeyRepType(3);
            refused(CpaCyRsaKeyGenOpData { privateKeyRepType: kind, ..op });
            // The key's version is two primes.
            refused(CpaCyRsaKeyGenOpData { version: CpaCyRsaVersion(2), ..op });
            for short in 2..4 {
                let mut lens = lens;
                lens[short] -= 1;
                assert!(both(&lens, |ask| generate(ask, &op)).is_refused());
            }
        }
    }
}

#[test]
fn an_exponent_with_a_common_factor_makes_no_key() {
    // 3 divides one of the primes less 1.
    let (p, q) = loop {
        let (p, q) = (Number::prime(256), Number::prime(256));
        if p.minus(&Number::word(1)).modulo(&Number::word(3)).bits() == 0 {
            break (Flat::new(&p.bytes(32)), Flat::new(&q.bytes(32)));
        }
    };
    let e = Flat::new(&[3]);
    let op = CpaCyRsaKeyGenOpData {
        prime1P: p.flat,
        prime2Q: q.flat,
        modulusLenInBytes: 64,
        version: CPA_CY_RSA_VERSION_TWO_PRIME,
        privateKeyRepType: CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_1,
        publicExponentE: e.flat,
    };
    let answer = both(&[64, 64, 64], |ask| unsafe {
        let at = |index: usize| *ask.outs[index];
        let mut public = CpaCyRsaPublicKey { modulusN: at(0), publicExponentE: NONE };
        let mut private = CpaCyRsaPrivateKey {
            version: CPA_CY_RSA_VERSION_TWO_PRIME,
            privateKeyRepType: CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_1,
            privateKeyRep1: CpaCyRsaPrivateKeyRep1 { modulusN: at(1), privateExponentD: at(2) },
            privateKeyRep2: CpaCyRsaPrivateKeyRep2 {
                prime1P: NONE,
                prime2Q: NONE,
                exponent1Dp: NONE,
                exponent2Dq: NONE,
                coefficientQInv: NONE,
            },
        };
        cpaCyRsaGenKey(ask.handle, ask.by(keys), ask.tag, &op, &mut private, &mut public)
    });
    assert!(answer.is_refused());
}

#[test]
fn requests_are_counted() {
    let handle = *pke_common::instances().last().unwrap();
    let rsa = usual(512);
    let mut key = Key::new(&rsa);
    let mut out = Flat::new(&[0; 64]);
    let [good, bad] = [Flat::new(&noise(3, 63)), Flat::new(&[0])];
    let mut call = |input: &Flat| unsafe {
        let op = CpaCyRsaEncryptOpData { pPublicKey: &mut key.public, inputData: input.flat };
        cpaCyRsaEncrypt(handle, None, ptr::null_mut(), &op, &mut out.flat)
    };
    let read = || unsafe {
        let mut stats = core::mem::zeroed::<CpaCyRsaStats64>();
        let mut short = core::mem::zeroed::<CpaCyRsaStats>();
        assert_eq!(cpaCyRsaQueryStats64(handle, &mut stats), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCyRsaQueryStats(handle, &mut short), CPA_STATUS_SUCCESS);
        let counts = [
            stats.numRsaEncryptRequests,
            stats.numRsaEncryptRequestErrors,
            stats.numRsaEncryptCompleted,
            stats.numRsaEncryptCompletedErrors,
        ];
        assert_eq!(u64::from(short.numRsaEncryptCompleted), counts[2]);
        assert_eq!(stats.numKptRsaDecryptRequests, 0);
        counts
    };
    let before = read();
    for _ in 0..3 {
        assert_eq!(call(&good), CPA_STATUS_SUCCESS);
    }
    assert_eq!(call(&bad), CPA_STATUS_INVALID_PARAM);
    let after = read();
    let grown: Vec<u64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    assert_eq!(grown, [3, 1, 3, 0]);
    unsafe { assert_eq!(cpaCyRsaQueryStats64(handle, ptr::null_mut()), CPA_STATUS_INVALID_PARAM) };
}
