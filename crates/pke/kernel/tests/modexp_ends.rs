//! The exponentiation kernels where their bounds are tightest: the longest moduli of each number of
//! digits, those with a lowest highest digit, and residues next to the modulus.
#![cfg(target_arch = "x86_64")]

#[path = "oracle/mod.rs"]
mod oracle;

use lookaside_pke_kernel::modexp::{
    CrtKey, Memory, Modulus, Outcome, Power, Private, power_avx512, power_public_avx512,
    private_avx512,
};
use lookaside_simd::{Avx512, Cpu};
use oracle::{Rng, RsaKey};

fn token() -> Option<Avx512> {
    let token = Cpu::host().avx512();
    if token.is_none() {
        eprintln!("skipped: no AVX-512 IFMA here");
    }
    token
}

/// 2^bits - 1, less `less` (below 256).
fn ones(bits: usize, less: u8) -> Vec<u8> {
    let mut n = vec![0xff; bits.div_ceil(8)];
    n[0] >>= (8 - bits % 8) % 8;
    *n.last_mut().unwrap() -= less;
    n
}

/// 2^(bits - 1) + `low`.
fn power_of_two(bits: usize, low: u8) -> Vec<u8> {
    let mut n = vec![0; bits.div_ceil(8)];
    n[0] = 1 << ((bits - 1) % 8);
    *n.last_mut().unwrap() |= low;
    n
}

/// n - `less`, for an n whose last byte is that large.
fn minus(n: &[u8], less: u8) -> Vec<u8> {
    let mut n = n.to_vec();
    *n.last_mut().unwrap() -= less;
    n
}

/// A modulus, and what is below it.
fn lanes(n: Vec<u8>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let bits = 8 * n.len() - n[0].leading_zeros() as usize;
    let mut bases = vec![minus(&n, 1), vec![1], power_of_two(bits, 0), ones(bits - 1, 0)];
    if n.last().unwrap() > &1 {
        bases.push(minus(&n, 2));
    }
    bases.into_iter().map(|base| (n.clone(), base)).collect()
}

#[test]
fn moduli_at_the_ends_of_their_classes() {
    let Some(token) = token() else { return };
    for digits in [10usize, 15, 20, 30, 40, 60, 80] {
        // The longest that leaves four bits free, and the one with 1 as its highest digit.
        let most = (52 * digits - 4).min(4096);
        let least = 52 * (most / 52) + 1;
        let mut moduli = vec![ones(most, 0), ones(most, 2), ones(least.min(most), 0)];
        for bits in [most, least.min(most), most - 51] {
            moduli.extend([power_of_two(bits, 1), power_of_two(bits, 0xff)]);
        }
        let questions: Vec<_> = moduli.into_iter().flat_map(lanes).collect();
        for (exponent, group) in [&[0xff; 5][..], &[0x80, 1], &[0xfe], &[1], &[0]]
            .into_iter()
            .cycle()
            .zip(questions.chunks(8))
        {
            let moduli: Vec<Modulus> =
                group.iter().map(|(n, _)| Modulus::new(n).unwrap()).collect();
            for public in [false, true] {
                let mut outs: Vec<Vec<u8>> = group.iter().map(|(n, _)| vec![0; n.len()]).collect();
                let parts = group.iter().zip(&moduli).zip(&mut outs);
                let mut lanes: Vec<Power<'_>> = parts
                    .map(|(((_, base), modulus), out)| Power {
                        modulus,
                        base,
                        exponent,
                        out,
                        ok: false,
                    })
                    .collect();
                match public {
                    false => power_avx512(token, &mut Memory::default(), &mut lanes),
                    true => power_public_avx512(token, &mut Memory::default(), &mut lanes),
                }
                assert!(lanes.iter().all(|power| power.ok), "{digits} digits");
                for ((n, base), out) in group.iter().zip(&outs) {
                    let wanted = oracle::power(base, exponent, n);
                    assert!(*out == wanted, "{digits} digits: {base:x?} mod {n:x?}");
                }
            }
        }
    }
}

#[test]
fn keys_at_the_ends_of_their_classes() {
    let Some(token) = token() else { return };
    // Primes that leave as few bits free as AWS-LC draws them: 512 of 520, 1024 of 1040, and with
    // many to spare.
    let mut rng = Rng(11);
    for bits in [1024, 2048, 1152] {
        let key = RsaKey::generate(bits, 65537);
        let RsaKey { n, e, p, q, dp, dq, qinv, .. } = &key;
        // Either order of the primes.
        for prepared in
            [CrtKey::new(n, e, p, q, dp, dq, qinv), CrtKey::new(n, e, q, p, dq, dp, &inverse(p, q))]
        {
            let prepared = prepared.unwrap();
            let mut inputs =
                vec![minus(n, 1), vec![0; n.len()], ones(bits - 1, 0), rng.bytes(n.len())];
            inputs[3][0] &= 0x7f;
            // Multiples of the primes: one half is 0.
            for prime in [p, q] {
                let mut input = vec![0; n.len()];
                input[n.len() - prime.len()..].copy_from_slice(prime);
                inputs.push(input);
            }
            let mut outs = vec![vec![0; n.len()]; inputs.len()];
            let mut lanes: Vec<Private<'_>> = inputs
                .iter()
                .zip(&mut outs)
                .map(|(input, out)| Private { key: &prepared, input, out, outcome: Outcome::Fault })
                .collect();
            private_avx512(token, &mut Memory::default(), &mut lanes);
            assert!(lanes.iter().all(|lane| lane.outcome == Outcome::Done), "{bits}");
            for (input, out) in inputs.iter().zip(&outs) {
                assert!(*out == oracle::power(input, &key.d, n), "{bits}: {input:x?}");
            }
        }
    }
}

/// a^-1 modulo a prime: a^(prime - 2).
fn inverse(a: &[u8], prime: &[u8]) -> Vec<u8> {
    let last = prime.len() - 1;
    let (mut exponent, (low, borrow)) = (prime.to_vec(), prime[last].overflowing_sub(2));
    exponent[last] = low;
    if borrow {
        let at = (0..last).rev().find(|i| exponent[*i] != 0).expect("a long prime");
        exponent[at] -= 1;
        exponent[at + 1..last].fill(0xff);
    }
    oracle::power(&oracle::power(a, &[1], prime), &exponent, prime)
}
