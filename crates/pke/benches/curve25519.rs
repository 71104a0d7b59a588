//! Curve25519 and Curve448, eight at a time, beside OpenSSL and AWS-LC, one at a time.
//!
//! Rounds of each take turns; CPU time; the best round of each counts. Answers are checked.
//!
//! cargo bench -p lookaside-pke --bench curve25519

use std::hint::black_box;

use aws_lc_sys as lc;
use lookaside_pke::kernel::curve25519::{self, Derive};
use lookaside_simd::{Avx512, Cpu};

const ROUNDS: usize = 15;

fn main() {
    let Some(token) = Cpu::host().avx512() else {
        println!("curve25519: this CPU has no AVX-512 IFMA, nothing to show");
        return;
    };
    x25519(token);
}

/// Nanoseconds of this thread's CPU time.
fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Prints operations per second and how many times as many `ours` makes as each other.
fn compare(what: &str, contestants: &mut [(&str, usize, &mut dyn FnMut())]) {
    let mut best = vec![f64::MAX; contestants.len()];
    for round in 0..=ROUNDS {
        for ((_, operations, run), best) in contestants.iter_mut().zip(&mut best) {
            let start = now_ns();
            run();
            let per_operation = (now_ns() - start) as f64 / *operations as f64;
            // The first round warms up.
            if round > 0 {
                *best = best.min(per_operation);
            }
        }
    }
    print!("{what:16}");
    for ((name, _, _), time) in contestants.iter().zip(&best) {
        print!("  {name} {:>8.0}/s ({:.2}x)", 1e9 / time, time / best[0]);
    }
    println!();
}

/// Bytes that look random.
fn bytes<const N: usize>(seed: u64) -> [u8; N] {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    std::array::from_fn(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
}

fn x25519(token: Avx512) {
    let private: [[u8; 32]; 8] = std::array::from_fn(|i| bytes(i as u64 + 1));
    let peer: [[u8; 32]; 8] = std::array::from_fn(|i| bytes(i as u64 + 100));
    let (mut ours, mut lc) = ([[0; 32]; 8], [[0; 32]; 8]);
    compare(
        "X25519",
        &mut [
            ("ours", 8 * 32, &mut || {
                for _ in 0..32 {
                    let inputs = private.iter().zip(&peer).zip(&mut ours);
                    let mut items: Vec<Derive<'_>> = inputs
                        .map(|((private, peer), out)| Derive { private, peer, out, ok: false })
                        .collect();
                    curve25519::x25519_avx512(token, black_box(&mut items));
                }
            }),
            ("AWS-LC", 64, &mut || {
                for i in 0..64 {
                    let i = i % 8;
                    // SAFETY: all are of 32 bytes.
                    unsafe {
                        lc::X25519(lc[i].as_mut_ptr(), private[i].as_ptr(), peer[i].as_ptr())
                    };
                }
            }),
        ],
    );
    assert_eq!(ours, lc);
}
