//! Diffie-Hellman, DSA, large numbers and primes, through the exported functions, against OpenSSL's numbers.
// Each block calls a function of the interface with what that asks for.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, missing_docs)]

mod pke_common;

use core::ptr;

use lookaside_qat::{
    abi::*,
    cy::pke::{dh::*, dsa::*, ln::*, prime::*, stats::*},
};
use pke_common::{
    Answer, Flat, NONE, both, flag, flat, noise, one,
    ssl::{Number, digest},
    two,
};

fn prime_of(bits: usize) -> Number {
    Number::prime(bits)
}

/// DSA parameters: P = 2 m Q + 1 of so many bits, by trial.
struct Domain {
    p: Number,
    q: Number,
    g: Number,
    p_len: usize,
    q_len: usize,
}

fn domain(p_bits: usize, q_bits: usize) -> Domain {
    let q = prime_of(q_bits);
    let one = Number::word(1);
    let double = q.times(&Number::word(2));
    let mut seed = 0;
    loop {
        seed += 1;
        let mut x = noise(seed, p_bits / 8);
        x[0] |= 0x80;
        let x = Number::new(&x);
        let p = x.minus(&x.modulo(&double)).plus(&one);
        if p.bits() != p_bits || !is_prime(&p) {
            continue;
        }
        let g = Number::word(2).power(&p.minus(&one).divide(&q).0, &p);
        return Domain { p, q, g, p_len: p_bits / 8, q_len: q_bits / 8 };
    }
}

/// Fermat's test of four bases: numbers that nobody has chosen.
fn is_prime(n: &Number) -> bool {
    let last = n.minus(&Number::word(1));
    [2, 3, 5, 7].into_iter().all(|base| {
        let power = Number::word(base).power(&last, n);
        power.bits() == 1
    })
}

#[track_caller]
fn dh1(p: &[u8], g: &[u8], x: &[u8], room: usize) -> Answer {
    let [p, g, x] = [p, g, x].map(Flat::new);
    let op = CpaCyDhPhase1KeyGenOpData { primeP: p.flat, baseG: g.flat, privateValueX: x.flat };
    both(&[room], |ask| unsafe {
        cpaCyDhKeyGenPhase1(ask.handle, ask.by(flat), ask.tag, &op, ask.outs[0])
    })
}

#[track_caller]
fn dh2(p: &[u8], y: &[u8], x: &[u8], room: usize) -> Answer {
    let [p, y, x] = [p, y, x].map(Flat::new);
    let op = CpaCyDhPhase2SecretKeyGenOpData {
        primeP: p.flat,
        remoteOctetStringPV: y.flat,
        privateValueX: x.flat,
    };
    both(&[room], |ask| unsafe {
        cpaCyDhKeyGenPhase2Secret(ask.handle, ask.by(flat), ask.tag, &op, ask.outs[0])
    })
}

#[test]
fn both_sides_of_diffie_hellman_agree() {
    for bits in [768, 1024, 2048] {
        let p = prime_of(bits);
        let (bytes, len) = (p.bytes(bits / 8), bits / 8);
        let (a, b) = (noise(1, len - 1), noise(2, 28));
        let big_a = dh1(&bytes, &[2], &a, len).only();
        assert_eq!(big_a, Number::word(2).power(&Number::new(&a), &p).bytes(len));
        let big_b = dh1(&bytes, &[0, 2], &b, len).only();
        let shared = dh2(&bytes, &big_b, &a, len).only();
        assert_eq!(shared, dh2(&bytes, &big_a, &b, len).only());
        assert_eq!(shared, Number::new(&big_b).power(&Number::new(&a), &p).bytes(len));
        assert_eq!(dh2(&bytes, &big_b, &a, len + 3).only()[3..], shared);
        for bad in [
            dh1(&bytes, &[0], &a, len),
            dh1(&bytes, &bytes, &a, len),
            dh1(&bytes, &[2], &[0], len),
            dh1(&bytes, &[2], &[], len),
            dh1(&bytes, &[2], &vec![1; len + 1], len),
            dh1(&bytes, &[2], &a, len - 1),
            dh1(&p.minus(&Number::word(1)).bytes(len), &[2], &a, len),
            dh1(&[], &[2], &a, len),
            dh2(&bytes, &[], &a, len),
            dh2(&bytes, &vec![0xff; len + 1], &a, len),
            dh2(&bytes, &[0; 9], &a, len),
        ] {
            assert!(bad.is_refused(), "{bad:?}");
        }
    }
    assert!(
        both(&[9], |ask| unsafe {
            cpaCyDhKeyGenPhase1(ask.handle, ask.by(flat), ask.tag, ptr::null(), ask.outs[0])
        })
        .is_refused()
    );
    let mut stats = unsafe { core::mem::zeroed::<CpaCyDhStats64>() };
    let mut short = unsafe { core::mem::zeroed::<CpaCyDhStats>() };
    unsafe {
        assert_eq!(cpaCyDhQueryStats64(ptr::null_mut(), &mut stats), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCyDhQueryStats(ptr::null_mut(), &mut short), CPA_STATUS_SUCCESS);
    }
}

struct Signing<'a>(&'a Domain);

impl Signing<'_> {
    #[track_caller]
    fn sign(&self, x: &[u8], k: &[u8], z: &[u8]) -> Answer {
        let Domain { p, q, g, p_len, q_len } = self.0;
        let [p, q, g] = [p.bytes(*p_len), q.bytes(*q_len), g.bytes(*p_len)].map(|n| Flat::new(&n));
        let [x, k, z] = [x, k, z].map(Flat::new);
        let op = CpaCyDsaRSSignOpData {
            P: p.flat,
            Q: q.flat,
            G: g.flat,
            X: x.flat,
            K: k.flat,
            Z: z.flat,
        };
        both(&[*q_len, *q_len], |ask| unsafe {
            let [r, s] = ask.outs[..] else { panic!() };
            cpaCyDsaSignRS(ask.handle, ask.by(two), ask.tag, &op, ask.valid, r, s)
        })
    }

    #[track_caller]
    fn apart(&self, x: &[u8], k: &[u8], z: &[u8]) -> [Answer; 2] {
        let Domain { p, q, g, p_len, q_len } = self.0;
        let [p, q, g] = [p.bytes(*p_len), q.bytes(*q_len), g.bytes(*p_len)].map(|n| Flat::new(&n));
        let [x, k, z] = [x, k, z].map(Flat::new);
        let op = CpaCyDsaRSignOpData { P: p.flat, Q: q.flat, G: g.flat, K: k.flat };
        let r = both(&[*q_len], |ask| unsafe {
            cpaCyDsaSignR(ask.handle, ask.by(one), ask.tag, &op, ask.valid, ask.outs[0])
        });
        let half = Flat::new(&r.outs[0]);
        let op = CpaCyDsaSSignOpData { Q: q.flat, X: x.flat, K: k.flat, R: half.flat, Z: z.flat };
        let s = both(&[*q_len], |ask| unsafe {
            cpaCyDsaSignS(ask.handle, ask.by(one), ask.tag, &op, ask.valid, ask.outs[0])
        });
        [r, s]
    }

    #[track_caller]
    fn verify(&self, y: &[u8], z: &[u8], r: &[u8], s: &[u8]) -> Answer {
        let Domain { p, q, g, p_len, q_len } = self.0;
        let [p, q, g] = [p.bytes(*p_len), q.bytes(*q_len), g.bytes(*p_len)].map(|n| Flat::new(&n));
        let [y, z, r, s] = [y, z, r, s].map(Flat::new);
        let op = CpaCyDsaVerifyOpData {
            P: p.flat,
            Q: q.flat,
            G: g.flat,
            Y: y.flat,
            Z: z.flat,
            R: r.flat,
            S: s.flat,
        };
        both(&[], |ask| unsafe {
            cpaCyDsaVerify(ask.handle, ask.by(flag), ask.tag, &op, ask.valid)
        })
    }
}

#[test]
fn dsa_signatures_are_those_of_the_formula() {
    for (p_bits, q_bits) in [(1024, 160), (2048, 256)] {
        let it = domain(p_bits, q_bits);
        let (q, len) = (&it.q, it.q_len);
        let (x, k) =
            (Number::new(&noise(1, len + 8)).modulo(q), Number::new(&noise(2, len + 8)).modulo(q));
        let y = it.g.power(&x, &it.p).bytes(it.p_len);
        let r = it.g.power(&k, &it.p).modulo(q);
        for z in [noise(3, len), vec![0xff; len], noise(4, len + 12), vec![1], vec![0]] {
            let sum = Number::new(&z).plus(&x.times(&r));
            let s = sum.times(&k.inverse(q).unwrap()).modulo(q);
            let wanted = [&r, &s].map(|half| half.bytes(len)).to_vec();
            let (xb, kb) = (x.bytes(len), k.bytes(len));
            let signing = Signing(&it);
            assert_eq!(signing.sign(&xb, &kb, &z).good(), wanted, "{p_bits} {}", z.len());
            let [r, s] = signing.apart(&xb, &kb, &z);
            assert_eq!([r.only(), s.only()].to_vec(), wanted);
            let [r, s] = &wanted[..] else { panic!() };
            assert!(signing.verify(&y, &z, r, s).valid, "{p_bits}");
            assert!(signing.verify(&y, &z, s, r).is_invalid());
            assert!(signing.verify(&y, &[9], r, s).is_invalid());
            assert!(signing.verify(&[1], &z, r, s).is_invalid());
            assert!(signing.verify(&y, &z, &q.bytes(len), s).is_invalid());
            assert!(signing.verify(&y, &z, r, &[0]).is_invalid());
        }
        let signing = Signing(&it);
        for bad in [vec![0; len], q.bytes(len), vec![0xff; len + 1], vec![]] {
            assert!(signing.sign(&bad, &[5], &[1]).is_refused());
            assert!(signing.sign(&[5], &bad, &[1]).is_refused());
        }
        assert!(signing.apart(&[5], &[0], &[1])[0].is_refused());
    }
}

#[test]
fn dsa_parameters_are_those_of_fips_186() {
    let it = domain(1024, 160);
    let [p, q, g] = [it.p.bytes(128), it.q.bytes(20), it.g.bytes(128)].map(|n| Flat::new(&n));
    // P from a candidate: the candidate less its rest modulo 2 Q, plus 1.
    let candidate = |x: &[u8], room: usize| {
        let x = Flat::new(x);
        let op = CpaCyDsaPParamGenOpData { X: x.flat, Q: q.flat };
        both(&[room], |ask| unsafe {
            cpaCyDsaGenPParam(ask.handle, ask.by(one), ask.tag, &op, ask.valid, ask.outs[0])
        })
    };
    let above = it.p.plus(&Number::word(77)).bytes(128);
    assert_eq!(candidate(&above, 128).only(), p.bytes);
    assert_eq!(candidate(&above, 130).only()[2..], p.bytes);
    let next = it.p.plus(&it.q.times(&Number::word(2))).bytes(128);
    let is_prime = is_prime(&Number::new(&next));
    assert_eq!(candidate(&next, 128).valid, is_prime);
    // A prime with fewer bits than its candidate: 32,713 of 32,769 and 29.
    let (x, q29) = (Flat::new(&[0x80, 1]), Flat::new(&[29]));
    let short = both(&[2], |ask| unsafe {
        let op = CpaCyDsaPParamGenOpData { X: x.flat, Q: q29.flat };
        let op = Box::leak(Box::new(op));
        cpaCyDsaGenPParam(ask.handle, ask.by(one), ask.tag, op, ask.valid, ask.outs[0])
    });
    assert!(short.is_invalid() && test_prime(&[0x7f, 0xc9], [true; 3], 0, 0).valid);
    assert!(candidate(&above, 127).is_refused() && candidate(&[5], 128).is_refused());
    // G = H^((P - 1) / Q); Q has to divide P - 1.
    let generator = |h: &[u8], q: &Flat| {
        let h = Flat::new(h);
        let op = CpaCyDsaGParamGenOpData { P: p.flat, Q: q.flat, H: h.flat };
        both(&[128], |ask| unsafe {
            cpaCyDsaGenGParam(ask.handle, ask.by(one), ask.tag, &op, ask.valid, ask.outs[0])
        })
    };
    assert_eq!(generator(&[2], &q).only(), g.bytes);
    assert!(generator(&[1], &q).is_invalid());
    assert!(generator(&[0], &q).is_refused() && generator(&p.bytes, &q).is_refused());
    // P is another one each time: a prime that does not divide P - 1.
    let rest = |of: u32| p.bytes.iter().fold(0, |rest, &byte| (rest << 8 | u32::from(byte)) % of);
    let other = [7, 11, 13, 17, 19, 23, 29, 31].into_iter().find(|&q| rest(q) != 1);
    let other = other.expect("one in 10 to the 8th has all of them") as u8;
    assert!(generator(&[2], &Flat::new(&[other])).is_refused());
    // Y = G^X.
    let public = |x: &[u8], base: CpaFlatBuffer| {
        let x = Flat::new(x);
        let op = CpaCyDsaYParamGenOpData { P: p.flat, G: base, X: x.flat };
        both(&[128], |ask| unsafe {
            cpaCyDsaGenYParam(ask.handle, ask.by(one), ask.tag, &op, ask.valid, ask.outs[0])
        })
    };
    let x = noise(8, 19);
    let wanted = it.g.power(&Number::new(&x), &it.p).bytes(128);
    assert_eq!(public(&x, g.flat).only(), wanted);
    assert!(public(&[0], g.flat).is_refused() && public(&x, NONE).is_refused());
    assert!(public(&x, p.flat).is_refused());
}

#[test]
fn an_order_that_is_no_prime_makes_no_signature() {
    let [q, x, k, r, z] = [[21], [5], [4], [8], [9]].map(|n| Flat::new(&n));
    let op = CpaCyDsaSSignOpData { Q: q.flat, X: x.flat, K: k.flat, R: r.flat, Z: z.flat };
    let answer = both(&[1], |ask| unsafe {
        cpaCyDsaSignS(ask.handle, ask.by(one), ask.tag, &op, ask.valid, ask.outs[0])
    });
    assert!(answer.is_invalid());
}

#[test]
fn dsa_counts_its_verifications() {
    let handle = *pke_common::instances().last().unwrap();
    let it = domain(1024, 160);
    let [p, q, g] = [it.p.bytes(128), it.q.bytes(20), it.g.bytes(128)].map(|n| Flat::new(&n));
    let z = Flat::new(&digest("SHA1", &[b"message"]));
    let half = Flat::new(&[5]);
    let op = CpaCyDsaVerifyOpData {
        P: p.flat,
        Q: q.flat,
        G: g.flat,
        Y: g.flat,
        Z: z.flat,
        R: half.flat,
        S: half.flat,
    };
    let read = || unsafe {
        let mut stats = core::mem::zeroed::<CpaCyDsaStats64>();
        let mut short = core::mem::zeroed::<CpaCyDsaStats>();
        assert_eq!(cpaCyDsaQueryStats64(handle, &mut stats), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCyDsaQueryStats(handle, &mut short), CPA_STATUS_SUCCESS);
        assert_eq!(u64::from(short.numDsaVerifyFailures), stats.numDsaVerifyFailures);
        [stats.numDsaVerifyRequests, stats.numDsaVerifyCompleted, stats.numDsaVerifyFailures]
    };
    let before = read();
    let mut valid = CPA_TRUE;
    let status = unsafe { cpaCyDsaVerify(handle, None, ptr::null_mut(), &op, &mut valid) };
    assert_eq!((status, valid), (CPA_STATUS_SUCCESS, CPA_FALSE));
    let grown: Vec<u64> = read().iter().zip(before).map(|(after, before)| after - before).collect();
    assert_eq!(grown, [1, 1, 1]);
}

#[track_caller]
fn mod_exp(modulus: &[u8], base: &[u8], exponent: &[u8], room: usize) -> Answer {
    let [modulus, base, exponent] = [modulus, base, exponent].map(Flat::new);
    let op =
        CpaCyLnModExpOpData { modulus: modulus.flat, base: base.flat, exponent: exponent.flat };
    both(&[room], |ask| unsafe {
        cpaCyLnModExp(ask.handle, ask.by(flat), ask.tag, &op, ask.outs[0])
    })
}

#[track_caller]
fn mod_inv(a: &[u8], b: &[u8], room: usize) -> Answer {
    let [a, b] = [a, b].map(Flat::new);
    let op = CpaCyLnModInvOpData { A: a.flat, B: b.flat };
    both(&[room], |ask| unsafe {
        cpaCyLnModInv(ask.handle, ask.by(flat), ask.tag, &op, ask.outs[0])
    })
}

#[test]
fn large_numbers_agree_with_openssl() {
    for len in [1, 7, 8, 20, 64, 65, 128, 256, 512, 1024] {
        for odd in [1, 0] {
            let mut modulus = noise(len as u64, len);
            modulus[0] |= 0x80;
            modulus[len - 1] = modulus[len - 1] & 0xfe | odd;
            // Below the modulus, above it, much longer.
            for base_len in [1, len, len + 1, 3 * len] {
                let base = noise(9, base_len);
                let exponent = noise(10, len.min(20));
                let n = Number::new(&modulus);
                let wanted = Number::new(&base).power(&Number::new(&exponent), &n).bytes(len);
                let power = mod_exp(&modulus, &base, &exponent, len).only();
                assert_eq!(power, wanted, "{len} {odd} {base_len}");
                match Number::new(&base).modulo(&n).inverse(&n) {
                    Some(inverse) => {
                        let ours = mod_inv(&base, &modulus, len + 1).only();
                        assert_eq!(ours[1..], inverse.bytes(len), "{len} {odd} {base_len}");
                    }
                    None => {
                        let none = mod_inv(&base, &modulus, len);
                        assert_eq!(none.status, CPA_STATUS_FAIL, "{len} {odd} {base_len}");
                    }
                }
            }
        }
    }
    // Extremes.
    assert_eq!(mod_exp(&[7], &[0], &[0], 1).only(), [1]);
    assert_eq!(mod_exp(&[7], &[3], &[0], 1).only(), [1]);
    assert_eq!(mod_exp(&[1], &[3], &[5], 1).only(), [0]);
    assert_eq!(mod_inv(&[1], &[2], 1).only(), [1]);
    assert_eq!(mod_inv(&[0], &[7], 1).status, CPA_STATUS_FAIL);
    assert_eq!(mod_inv(&[6], &[9], 1).status, CPA_STATUS_FAIL);
    for bad in [
        mod_exp(&[0], &[3], &[5], 1),
        mod_exp(&[], &[3], &[5], 1),
        mod_exp(&[7], &[], &[5], 1),
        mod_exp(&[7], &[3], &[], 1),
        mod_exp(&[1, 0, 7], &[3], &[5], 2),
        mod_exp(&vec![0x81; 1025], &[3], &[5], 1025),
        mod_inv(&[3], &[0], 1),
        mod_inv(&[], &[7], 1),
        mod_inv(&[3], &[1, 0, 7], 2),
    ] {
        assert!(bad.is_refused(), "{bad:?}");
    }
    let mut stats = unsafe { core::mem::zeroed::<CpaCyLnStats64>() };
    let mut short = unsafe { core::mem::zeroed::<CpaCyLnStats>() };
    unsafe {
        assert_eq!(cpaCyLnStatsQuery64(ptr::null_mut(), &mut stats), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCyLnStatsQuery(ptr::null_mut(), &mut short), CPA_STATUS_SUCCESS);
    }
}

#[track_caller]
fn test_prime(candidate: &[u8], tests: [bool; 3], rounds: u32, random: usize) -> Answer {
    let candidate = Flat::new(candidate);
    let random = Flat::new(&noise(1, random));
    let wanted = |test: bool| if test { CPA_TRUE } else { CPA_FALSE };
    let op = CpaCyPrimeTestOpData {
        primeCandidate: candidate.flat,
        performGcdTest: wanted(tests[0]),
        performFermatTest: wanted(tests[1]),
        numMillerRabinRounds: rounds,
        millerRabinRandomInput: random.flat,
        performLucasTest: wanted(tests[2]),
    };
    both(&[], |ask| unsafe { cpaCyPrimeTest(ask.handle, ask.by(flag), ask.tag, &op, ask.valid) })
}

#[test]
fn primes_are_told_from_other_numbers() {
    let all = [true; 3];
    for bits in [160, 512, 1024] {
        let p = prime_of(bits);
        let len = bits / 8;
        let bytes = p.bytes(len);
        assert!(test_prime(&bytes, all, 2, 2 * len).valid);
        assert!(test_prime(&[&[0; 5], &bytes[..]].concat(), all, 0, 0).valid);
        for tests in [[true, false, false], [false, true, false], [false, false, true]] {
            assert!(test_prime(&bytes, tests, 0, 0).valid);
        }
        let product = prime_of(bits / 2).times(&prime_of(bits / 2)).bytes(len);
        assert!(test_prime(&product, all, 1, len).is_invalid());
        assert!(test_prime(&p.plus(&Number::word(1)).bytes(len), all, 0, 0).is_invalid());
        assert!(test_prime(&bytes, all, 2, 2 * len - 1).is_refused());
    }
    // Carmichael numbers fool Fermat's test, and nobody here.
    for composite in [561_u32, 1105, 1729, 252_601, 3_215_031_751, 0, 1, 4] {
        let answer = test_prime(&composite.to_be_bytes(), [false, true, false], 0, 0);
        assert!(answer.is_invalid(), "{composite}");
    }
    for prime in [2_u32, 3, 5, 65_537, 4_294_967_291] {
        assert!(test_prime(&prime.to_be_bytes(), all, 0, 0).valid, "{prime}");
    }
    assert!(test_prime(&[7], [false; 3], 0, 0).is_refused());
    assert!(test_prime(&[7], all, 51, 51).is_refused());
    assert!(test_prime(&[], all, 0, 0).is_refused());
    assert!(test_prime(&[0x81; 1025], all, 0, 0).is_refused());
    let mut stats = unsafe { core::mem::zeroed::<CpaCyPrimeStats64>() };
    let mut short = unsafe { core::mem::zeroed::<CpaCyPrimeStats>() };
    unsafe {
        assert_eq!(cpaCyPrimeQueryStats64(ptr::null_mut(), &mut stats), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCyPrimeQueryStats(ptr::null_mut(), &mut short), CPA_STATUS_SUCCESS);
    }
}
