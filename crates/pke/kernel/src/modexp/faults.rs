//! Faults in RSA: a number of a prepared key is damaged in one lane of eight. That lane ends as
//! [`Outcome::Fault`] and gives nothing away, the others are right; in every class of sizes.
//!
//! Here and not in `tests/`, because a fault strikes what has been checked: [`CrtKey::new`] refuses
//! primes that do not belong to the modulus.

#[path = "../../tests/oracle/mod.rs"]
mod oracle;

use oracle::{Rng, RsaKey};

use super::{CrtKey, Outcome, Private};

const LANES: usize = 8;

/// Runs a batch on the kernel of this CPU. False where it has none.
fn run(lanes: &mut [Private<'_>]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = lookaside_simd::Cpu::host().avx512() {
        crate::modexp::private_avx512(token, &mut Default::default(), lanes);
        return true;
    }
    #[cfg(any(feature = "twin", not(target_arch = "x86_64")))]
    if lanes[0].key.class() == 10 {
        crate::modexp::private_portable(&mut Default::default(), lanes);
        return true;
    }
    false
}

/// A modulus of so many bits and d, which undoes raising to 65537. Where there is a well-known prime
/// of that length it is taken; else the modulus of an RSA key, which is found sooner than a prime.
fn half_of_key(bits: usize, which: usize) -> (Vec<u8>, Vec<u8>) {
    let Some(prime) = oracle::well_known_primes(bits).into_iter().nth(which) else {
        let key = RsaKey::generate(bits, 65537);
        return (key.n, key.d);
    };
    let mut order = prime.clone();
    *order.last_mut().expect("a prime") -= 1;
    let d = oracle::inverse(&[1, 0, 1], &order);
    (prime, d)
}

/// A key of twice as many bits: its modulus, and what prepares it.
fn key(half: usize) -> (Vec<u8>, impl Fn() -> CrtKey) {
    let [(p, dp), (q, dq)] = [0, 1].map(|which| half_of_key(half, which));
    let (n, qinv) = (oracle::product(&p, &q), oracle::inverse(&q, &p));
    let modulus = n.clone();
    let prepare = move || {
        CrtKey::new(&n, &[1, 0, 1], &p, &q, &dp, &dq, &qinv).expect("a key that the kernel serves")
    };
    (modulus, prepare)
}

/// One bit in the middle of a number.
fn flip(digits: &mut [u64]) {
    let middle = digits.len() / 2;
    digits[middle] ^= 1 << 20;
}

/// What can be damaged: a name, and how.
type Damage = (&'static str, fn(&mut CrtKey));

const DAMAGES: [Damage; 9] = [
    ("dp", |key| key.p.exponent[7] ^= 4),
    ("dq", |key| key.q.exponent[9] ^= 4),
    ("qinv", |key| flip(&mut key.qinv)),
    ("p", |key| flip(&mut key.p.modulus.n)),
    ("q", |key| flip(&mut key.q.modulus.n)),
    ("R^3 mod p", |key| flip(&mut key.p.r3)),
    ("R mod q", |key| flip(&mut key.q.modulus.r)),
    ("1/p mod 2^52", |key| key.p.modulus.k0 ^= 2),
    ("n", |key| flip(&mut key.n.n)),
];

/// Runs eight lanes, of which some have a damaged key.
fn check(half: usize, damaged: &[(usize, Damage)], prepare: &dyn Fn() -> CrtKey, n: &[u8]) {
    let good = prepare();
    let mut bad: [Option<CrtKey>; LANES] = Default::default();
    for (lane, (_, damage)) in damaged {
        damage(bad[*lane].insert(prepare()));
    }
    let names: Vec<String> =
        damaged.iter().map(|(lane, (name, _))| format!("{name} in lane {lane}")).collect();
    let what = format!("{} bits, damaged: {}", 2 * half, names.join(", "));
    let mut rng = Rng(half as u64);
    let inputs: [Vec<u8>; LANES] = std::array::from_fn(|_| {
        let mut input = rng.bytes(n.len());
        // Below n.
        input[0] = 0;
        input
    });
    let mut outs: [Vec<u8>; LANES] = std::array::from_fn(|_| vec![0xaa; n.len()]);
    let mut lanes: Vec<Private<'_>> = (bad.iter().zip(&inputs).zip(&mut outs))
        .map(|((bad, input), out)| {
            let key = bad.as_ref().unwrap_or(&good);
            Private { key, input, out, outcome: Outcome::Done }
        })
        .collect();
    assert!(run(&mut lanes));
    let outcomes: Vec<Outcome> = lanes.iter().map(|lane| lane.outcome).collect();
    for (i, outcome) in outcomes.into_iter().enumerate() {
        // R mod q stands for a window of zeros: an exponent of a few hundred windows may have none,
        // and then what is wrong is never looked at.
        let untouched = outcome == Outcome::Done
            && damaged.iter().any(|(lane, (name, _))| *lane == i && *name == "R mod q");
        if bad[i].is_some() && !untouched {
            assert_eq!(outcome, Outcome::Fault, "{what}; lane {i}");
            assert!(outs[i].iter().all(|byte| *byte == 0), "{what}; lane {i} gives away");
        } else {
            assert_eq!(outcome, Outcome::Done, "{what}; lane {i}");
            let back = oracle::power(&outs[i], &[1, 0, 1], n);
            assert!(back == inputs[i], "{what}; lane {i} is wrong");
        }
    }
}

#[test]
fn a_fault_in_one_lane_is_withheld_and_stays_there() {
    let wide = lookaside_simd::Cpu::host().avx512().is_some();
    if !wide && !cfg!(any(feature = "twin", not(target_arch = "x86_64"))) {
        return eprintln!("skipped: no AVX-512 IFMA here, and built without the twin");
    }
    // Every class; over arrays only the smallest.
    let halves = [512, 768, 1024, 1536, 2048];
    for half in halves.into_iter().take(if wide { halves.len() } else { 1 }) {
        let (n, prepare) = key(half);
        let at = |(i, damage)| ((i + half / 512) % LANES, damage);
        if half <= 1024 {
            for damage in DAMAGES.into_iter().enumerate() {
                check(half, &[at(damage)], &prepare, &n);
            }
        } else {
            // The large ones take long: the parts of the key in one batch, which leaves three
            // lanes to be right.
            let damaged: Vec<_> = DAMAGES.into_iter().take(5).enumerate().map(at).collect();
            check(half, &damaged, &prepare, &n);
        }
    }
}
