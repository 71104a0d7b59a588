//! The exponentiation kernels against AWS-LC.

#[path = "oracle/mod.rs"]
mod oracle;

use lookaside_pke_kernel::modexp::{
    CrtKey, Memory, Modulus, Outcome, Power, Private, power_portable, power_public_portable,
    private_portable,
};
use oracle::{Rng, RsaKey};

/// Both kernels, or the one that this CPU has.
#[derive(Clone, Copy, Debug)]
enum Tier {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Wide(lookaside_simd::Avx512),
}

fn wide() -> Option<Tier> {
    #[cfg(target_arch = "x86_64")]
    return lookaside_simd::Cpu::host().avx512().map(Tier::Wide);
    #[cfg(not(target_arch = "x86_64"))]
    None
}

impl Tier {
    fn power(self, lanes: &mut [Power<'_>], public: bool) {
        match (self, public) {
            (Tier::Portable, false) => power_portable(&mut Memory::default(), lanes),
            (Tier::Portable, true) => power_public_portable(&mut Memory::default(), lanes),
            #[cfg(target_arch = "x86_64")]
            (Tier::Wide(token), false) => {
                lookaside_pke_kernel::modexp::power_avx512(token, &mut Memory::default(), lanes)
            }
            #[cfg(target_arch = "x86_64")]
            (Tier::Wide(token), true) => lookaside_pke_kernel::modexp::power_public_avx512(
                token,
                &mut Memory::default(),
                lanes,
            ),
        }
    }

    fn private(self, lanes: &mut [Private<'_>]) {
        match self {
            Tier::Portable => private_portable(&mut Memory::default(), lanes),
            #[cfg(target_arch = "x86_64")]
            Tier::Wide(token) => {
                lookaside_pke_kernel::modexp::private_avx512(token, &mut Memory::default(), lanes)
            }
        }
    }
}

/// modulus, base, exponent.
type Question = (Vec<u8>, Vec<u8>, Vec<u8>);

/// Runs up to eight questions as one batch and checks every answer.
fn check(tier: Tier, questions: &[Question], public: bool) {
    let moduli: Vec<Modulus> =
        questions.iter().map(|(n, _, _)| Modulus::new(n).expect("odd and not too long")).collect();
    let mut outs: Vec<Vec<u8>> = questions.iter().map(|(n, _, _)| vec![0xaa; n.len()]).collect();
    let mut lanes: Vec<Power<'_>> = questions
        .iter()
        .zip(&moduli)
        .zip(&mut outs)
        .map(|(((_, base, exponent), modulus), out)| Power {
            modulus,
            base,
            exponent,
            out,
            ok: false,
        })
        .collect();
    tier.power(&mut lanes, public);
    let oks: Vec<bool> = lanes.iter().map(|power| power.ok).collect();
    for (i, (n, base, exponent)) in questions.iter().enumerate() {
        let what = format!("{tier:?}, {} bytes, lane {i}, public {public}", n.len());
        assert!(oks[i], "{what}: refused");
        assert!(outs[i] == oracle::power(base, exponent, n), "{what}: wrong");
    }
}

fn odd(rng: &mut Rng, len: usize) -> Vec<u8> {
    let mut n = rng.bytes(len);
    n[0] |= 0x80;
    n[len - 1] |= 1;
    n
}

/// A number below `n`, whose top bit is set.
fn reduced(rng: &mut Rng, n: &[u8]) -> Vec<u8> {
    let mut base = rng.bytes(n.len());
    base[0] &= 0x7f;
    base
}

fn minus_one(n: &[u8]) -> Vec<u8> {
    let mut less = n.to_vec();
    *less.last_mut().unwrap() -= 1;
    less
}

#[test]
fn random_batches_of_every_class_and_width() {
    let Some(tier) = wide() else {
        return eprintln!("skipped: no AVX-512 IFMA here");
    };
    let mut rng = Rng(1);
    let classes =
        [(64, 512), (96, 768), (128, 1024), (192, 1536), (256, 2048), (384, 3072), (512, 4096)];
    for (i, (len, bits)) in classes.into_iter().enumerate() {
        let width = [1, 2, 3, 5, 6, 7, 8][i];
        let questions: Vec<Question> = (0..width)
            .map(|lane| {
                // Lengths that share the class, in bytes and in bits.
                let mut n = odd(&mut rng, len - lane % 2);
                n[0] >>= lane % 3;
                let mut base = reduced(&mut rng, &n);
                base[0] = 0;
                let exponent =
                    rng.bytes([bits / 8, 20, 33][lane % 3].min(if len > 256 { 40 } else { 512 }));
                (n, base, exponent)
            })
            .collect();
        check(tier, &questions, false);
        check(tier, &questions, true);
    }
}

#[test]
fn every_number_of_lanes() {
    let Some(tier) = wide() else {
        return eprintln!("skipped: no AVX-512 IFMA here");
    };
    let mut rng = Rng(2);
    for width in 1..=8 {
        let questions: Vec<Question> = (0..width)
            .map(|_| {
                let n = odd(&mut rng, 128);
                let base = reduced(&mut rng, &n);
                (n, base, rng.bytes(16))
            })
            .collect();
        check(tier, &questions, false);
    }
}

/// Bases 0, 1, 2, n - 1, exponents 0, 1, 2, all ones, moduli at the edges of their bit patterns.
fn edges(len: usize, exponent_len: usize) -> Vec<Question> {
    let mut rng = Rng(3);
    let mut sparse = vec![0; len];
    sparse[0] = 0x80;
    sparse[len - 1] = 1;
    let mut low = vec![0xff; len];
    low[0] = 0x80;
    let moduli = [vec![0xff; len], sparse, low, odd(&mut rng, len)];
    let mut questions = Vec::new();
    for n in moduli {
        let mut two = vec![0; len];
        two[len - 1] = 2;
        let bases = [vec![], vec![0; len], vec![1], two, minus_one(&n), reduced(&mut rng, &n)];
        for base in bases {
            for exponent in [
                vec![],
                vec![0],
                vec![1],
                vec![2],
                vec![0, 3],
                vec![1, 0, 1],
                vec![0xff; exponent_len],
            ] {
                questions.push((n.clone(), base.clone(), exponent));
            }
        }
    }
    questions
}

#[test]
fn edges_wide() {
    let Some(tier) = wide() else {
        return eprintln!("skipped: no AVX-512 IFMA here");
    };
    for len in [64, 128, 256] {
        for questions in edges(len, 9).chunks(8) {
            check(tier, questions, false);
            check(tier, questions, true);
        }
    }
}

#[test]
fn edges_portable() {
    for questions in edges(64, 3).chunks(8).step_by(3) {
        check(Tier::Portable, questions, false);
        check(Tier::Portable, questions, true);
    }
}

#[test]
fn portable_answers_like_aws_lc() {
    let mut rng = Rng(4);
    for len in [64, 96, 128] {
        let questions: Vec<Question> = (0..3)
            .map(|_| {
                let n = odd(&mut rng, len);
                let base = reduced(&mut rng, &n);
                (n, base, rng.bytes(4))
            })
            .collect();
        check(Tier::Portable, &questions, false);
        check(Tier::Portable, &questions, true);
    }
}

#[test]
fn what_is_out_of_range_is_refused_alone() {
    let n = [0xff; 64];
    let modulus = Modulus::new(&n).unwrap();
    let base = [7; 64];
    let (mut good, mut equal, mut above, mut short) =
        ([0xaa; 64], [0xaa; 64], [0xaa; 64], [0xaa; 63]);
    let long = [0; 65];
    let mut long_out = [0xaa; 64];
    let power = |base, out| Power { modulus: &modulus, base, exponent: &[5], out, ok: true };
    let mut lanes = [
        power(&n, &mut equal),
        power(&base, &mut good),
        power(&long, &mut above),
        power(&base, &mut short),
        power(&[0xff; 70], &mut long_out),
    ];
    power_portable(&mut Memory::default(), &mut lanes);
    assert_eq!(lanes.each_ref().map(|power| power.ok), [false, true, false, false, false]);
    assert!(good[..] == oracle::power(&base, &[5], &n));
    assert_eq!((equal, above, short), ([0; 64], [0; 64], [0; 63]));
}

fn crt(key: &RsaKey) -> Option<CrtKey> {
    CrtKey::new(&key.n, &key.e, &key.p, &key.q, &key.dp, &key.dq, &key.qinv)
}

/// All lanes with keys of their own; the answers by plain exponentiation.
fn check_private(tier: Tier, keys: &[RsaKey], rng: &mut Rng) {
    let prepared: Vec<CrtKey> = keys.iter().map(|key| crt(key).expect("served")).collect();
    let mut inputs: Vec<Vec<u8>> = keys.iter().map(|key| reduced(rng, &key.n)).collect();
    // A multiple of p: 0 modulo one of the primes.
    let first = inputs[0].len();
    inputs[0] = [vec![0; first - keys[0].p.len()], keys[0].p.clone()].concat();
    if let [_, one, zero, most, ..] = &mut inputs[..] {
        one.fill(0);
        *one.last_mut().unwrap() = 1;
        zero.fill(0);
        most.copy_from_slice(&minus_one(&keys[3].n));
    }
    let mut outs: Vec<Vec<u8>> = keys.iter().map(|key| vec![0xaa; key.n.len()]).collect();
    let mut lanes: Vec<Private<'_>> = prepared
        .iter()
        .zip(&inputs)
        .zip(&mut outs)
        .map(|((key, input), out)| Private { key, input, out, outcome: Outcome::Fault })
        .collect();
    tier.private(&mut lanes);
    for (i, lane) in lanes.iter().enumerate() {
        assert_eq!(lane.outcome, Outcome::Done, "{tier:?}, {} bytes, lane {i}", lane.out.len());
        let right = oracle::power(&inputs[i], &keys[i].d, &keys[i].n);
        assert!(lane.out[..] == right, "{tier:?}, {} bytes, lane {i}: wrong", lane.out.len());
    }
}

#[test]
fn private_operations_of_every_size() {
    let Some(tier) = wide() else {
        return eprintln!("skipped: no AVX-512 IFMA here");
    };
    let mut rng = Rng(5);
    for (bits, count) in [(1024, 8), (1536, 3), (2048, 4), (3072, 1), (4096, 1)] {
        // Several public exponents in one batch.
        let keys: Vec<RsaKey> =
            (0..count).map(|i| RsaKey::generate(bits, [65537, 3, 0xffff_fffb][i % 3])).collect();
        check_private(tier, &keys, &mut rng);
    }
}

#[test]
fn a_private_operation_portable() {
    let mut rng = Rng(6);
    let keys = [RsaKey::generate(512, 65537), RsaKey::generate(512, 3)];
    check_private(Tier::Portable, &keys, &mut rng);
}

/// Every part of the key that can be wrong, each in a lane beside right ones.
#[test]
fn a_key_with_a_wrong_part_faults_and_gives_nothing_away() {
    let (tier, bits) = wide().map_or((Tier::Portable, 512), |tier| (tier, 2048));
    let key = RsaKey::generate(bits, 65537);
    let flipped = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        bytes
    };
    let wrong_dp = RsaKey { dp: flipped(&key.dp), ..key.clone() };
    let wrong_dq = RsaKey { dq: flipped(&key.dq), ..key.clone() };
    let wrong_qinv = RsaKey { qinv: flipped(&key.qinv), ..key.clone() };
    let wrong_e = RsaKey { e: vec![1, 0, 3], ..key.clone() };
    let keys =
        [&key, &wrong_dp, &wrong_dq, &key, &wrong_qinv, &wrong_e].map(|key| crt(key).unwrap());
    let input = reduced(&mut Rng(7), &key.n);
    let mut outs = [(); 6].map(|()| vec![0xaa; key.n.len()]);
    let mut lanes: Vec<Private<'_>> = keys
        .iter()
        .zip(&mut outs)
        .map(|(key, out)| Private { key, input: &input, out, outcome: Outcome::Done })
        .collect();
    tier.private(&mut lanes);
    let right = oracle::power(&input, &key.d, &key.n);
    for (i, lane) in lanes.iter().enumerate() {
        if i == 0 || i == 3 {
            assert_eq!(lane.outcome, Outcome::Done);
            assert!(lane.out[..] == right);
        } else {
            assert_eq!(lane.outcome, Outcome::Fault, "lane {i}");
            assert!(lane.out.iter().all(|byte| *byte == 0), "lane {i} gives something away");
        }
    }
}

#[test]
fn inputs_of_a_private_operation_are_checked() {
    let key = RsaKey::generate(512, 65537);
    let prepared = crt(&key).unwrap();
    let good = reduced(&mut Rng(8), &key.n);
    let inputs = [&key.n[..], &good[1..], &good, &good, &[0xff; 64], &[0; 65]];
    let mut outs = [64, 64, 63, 64, 64, 64].map(|len| vec![0xaa; len]);
    let mut lanes: Vec<Private<'_>> = inputs
        .into_iter()
        .zip(&mut outs)
        .map(|(input, out)| Private { key: &prepared, input, out, outcome: Outcome::Fault })
        .collect();
    private_portable(&mut Memory::default(), &mut lanes);
    for (i, lane) in lanes.iter().enumerate() {
        let wanted = if i == 3 { Outcome::Done } else { Outcome::BadInput };
        assert_eq!(lane.outcome, wanted, "lane {i}");
    }
}

#[test]
fn keys_that_the_kernel_does_not_serve_are_refused() {
    let key = RsaKey::generate(512, 65537);
    assert!(crt(&key).is_some());
    let refused = |change: &dyn Fn(&mut RsaKey)| {
        let mut changed = key.clone();
        change(&mut changed);
        crt(&changed).is_none()
    };
    assert!(refused(&|key| key.n[10] ^= 1), "n is not p q");
    assert!(refused(&|key| key.n.clear()));
    assert!(refused(&|key| key.p.clear()));
    assert!(refused(&|key| *key.p.last_mut().unwrap() ^= 1), "p even");
    assert!(refused(&|key| _ = key.p.pop()), "primes of different lengths");
    assert!(refused(&|key| key.e = vec![1; 9]), "e over 64 bits");
    assert!(refused(&|key| key.e = vec![4]), "e even");
    assert!(refused(&|key| key.e.clear()));
    assert!(refused(&|key| key.dp = vec![1; 33]), "dp longer than p");
    assert!(refused(&|key| key.qinv = vec![1; 33]), "qinv longer than p");
    assert!(!refused(&|key| key.dp.insert(0, 0)), "leading zeros");
}
