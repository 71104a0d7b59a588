//! Eight exponentiations side by side, beside the same ones by OpenSSL and AWS-LC in this run.
//!
//! ```sh
//! cargo bench -p lookaside-pke --bench modexp -- [--rounds N] [NAME...]
//! ```
//!
//! For each row: operations a second of CPU time (the best of interleaved short rounds) of ours
//! with eight lanes in use, of OpenSSL's and of AWS-LC's, and the ratios. `cycles` is CPU time per
//! operation times the clock rate as a chain of dependent instructions in the same rounds tells it;
//! `bound` is the share of the time that the multiply-and-add instructions of the exponentiation
//! itself take at the rate at which the CPU starts them, which is measured in the same rounds. NAME selects rows that contain it.
//!
//! Every answer is compared with AWS-LC's before anything is timed. Private operations of ours
//! include the verification of each result; OpenSSL and AWS-LC verify too. Blinding stays on in
//! both, as everyone runs them.

#[path = "../tests/oracle/mod.rs"]
mod oracle;

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    println!("nothing to measure: the kernels are for AVX-512 IFMA");
}

#[cfg(target_arch = "x86_64")]
fn main() {
    x86_64::main();
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::asm;
    use std::ptr;

    use aws_lc_sys as lc;
    use lookaside_pke_kernel::modexp::{
        CrtKey, Memory, Modulus, Outcome, Power, Private, power_avx512, power_public_avx512,
        private_avx512,
    };
    use lookaside_simd::{Avx512, Cpu};
    use openssl_sys as ossl;

    use super::oracle::{self, Rng, RsaKey};

    /// CPU time of this thread in seconds.
    fn cpu_time() -> f64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a live timespec.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    }

    /// 30,000 cycles: each multiplication waits for the one before, which takes three.
    fn wait_cycles() {
        let mut x = 3u64;
        for _ in 0..2_500 {
            // SAFETY: register arithmetic.
            unsafe {
                asm!("imul {0}, {0}", "imul {0}, {0}", "imul {0}, {0}", "imul {0}, {0}",
                     inout(reg) x, options(nomem, nostack));
            }
        }
        std::hint::black_box(x);
    }

    /// 100,000 multiply-and-adds of which none waits.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn multiply_freely() {
        for _ in 0..10_000 {
            // SAFETY: register arithmetic; the features are enabled here.
            unsafe {
                asm!("vpmadd52luq zmm2, zmm0, zmm1", "vpmadd52luq zmm3, zmm0, zmm1",
                     "vpmadd52luq zmm4, zmm0, zmm1", "vpmadd52luq zmm5, zmm0, zmm1",
                     "vpmadd52luq zmm6, zmm0, zmm1", "vpmadd52luq zmm7, zmm0, zmm1",
                     "vpmadd52luq zmm8, zmm0, zmm1", "vpmadd52luq zmm9, zmm0, zmm1",
                     "vpmadd52luq zmm10, zmm0, zmm1", "vpmadd52luq zmm11, zmm0, zmm1",
                     out("zmm2") _, out("zmm3") _, out("zmm4") _, out("zmm5") _,
                     out("zmm6") _, out("zmm7") _, out("zmm8") _, out("zmm9") _,
                     out("zmm10") _, out("zmm11") _, options(nomem, nostack));
            }
        }
    }

    /// The least time of a run of each contender, in seconds, rounds interleaved.
    fn race<const N: usize>(rounds: usize, contenders: [&mut dyn FnMut(); N]) -> [f64; N] {
        let mut best = [f64::INFINITY; N];
        let mut contenders = contenders;
        for _ in 0..rounds {
            for (best, contender) in best.iter_mut().zip(&mut contenders) {
                // As often as fills two milliseconds.
                let (mut times, from) = (0, cpu_time());
                let taken = loop {
                    contender();
                    times += 1;
                    let taken = cpu_time() - from;
                    if taken > 2e-3 {
                        break taken;
                    }
                };
                *best = best.min(taken / f64::from(times));
            }
        }
        best
    }

    struct Rounds {
        token: Avx512,
        rounds: usize,
    }

    impl Rounds {
        /// Races eight operations of ours and one of each rival, and prints the row. `work` is
        /// multiply-and-adds of eight operations.
        fn row(
            &self,
            name: &str,
            work: f64,
            ours: &mut dyn FnMut(),
            openssl: &mut dyn FnMut(),
            aws_lc: &mut dyn FnMut(),
        ) {
            let _ = self.token;
            // SAFETY: the token proves the features.
            let mut freely = || unsafe { multiply_freely() };
            let times = race(self.rounds, [ours, openssl, aws_lc, &mut wait_cycles, &mut freely]);
            let [ours, openssl, aws_lc] = [times[0] / 8.0, times[1], times[2]];
            let (clock, multiplier) = (3e4 / times[3], 1e5 / times[4]);
            println!(
                "{name:<22} {:>9.0} {:>9.0} {:>9.0}  {:>6.2} {:>6.2}  {:>10.0} {:>5.0} %",
                1.0 / ours,
                1.0 / openssl,
                1.0 / aws_lc,
                openssl / ours,
                aws_lc / ours,
                ours * clock,
                100.0 * work / multiplier / times[0],
            );
        }
    }

    /// Multiply-and-adds of a squaring and of a multiplication of `n` digits.
    fn work(n: f64) -> (f64, f64) {
        (n * (n - 1.0) + 2.0 * n + 2.0 * n * n, 4.0 * n * n)
    }

    /// Of an exponentiation with windows of five bits.
    fn work_of_power(n: f64, bits: f64) -> f64 {
        let (square, multiply) = work(n);
        bits * square + bits / 5.0 * multiply + 15.0 * (square + multiply)
    }

    /// An RSA key of OpenSSL's.
    fn openssl_key(key: &RsaKey) -> *mut ossl::RSA {
        let number = |bytes: &[u8]| {
            // SAFETY: pointer and length of one slice; a null result makes a new number.
            unsafe { ossl::BN_bin2bn(bytes.as_ptr(), bytes.len() as i32, ptr::null_mut()) }
        };
        // SAFETY: the numbers are fresh, and the key takes them over.
        unsafe {
            let rsa = ossl::RSA_new();
            assert_eq!(ossl::RSA_set0_key(rsa, number(&key.n), number(&key.e), number(&key.d)), 1);
            assert_eq!(ossl::RSA_set0_factors(rsa, number(&key.p), number(&key.q)), 1);
            let (dp, dq, qinv) = (number(&key.dp), number(&key.dq), number(&key.qinv));
            assert_eq!(ossl::RSA_set0_crt_params(rsa, dp, dq, qinv), 1);
            rsa
        }
    }

    /// An RSA key of AWS-LC's.
    fn aws_lc_key(key: &RsaKey) -> *mut lc::RSA {
        let number = |bytes: &[u8]| {
            // SAFETY: pointer and length of one slice; a null result makes a new number.
            unsafe { lc::BN_bin2bn(bytes.as_ptr(), bytes.len(), ptr::null_mut()) }
        };
        // SAFETY: the numbers are fresh, and the key takes them over.
        unsafe {
            let rsa = lc::RSA_new();
            assert_eq!(lc::RSA_set0_key(rsa, number(&key.n), number(&key.e), number(&key.d)), 1);
            assert_eq!(lc::RSA_set0_factors(rsa, number(&key.p), number(&key.q)), 1);
            let (dp, dq, qinv) = (number(&key.dp), number(&key.dq), number(&key.qinv));
            assert_eq!(lc::RSA_set0_crt_params(rsa, dp, dq, qinv), 1);
            rsa
        }
    }

    const NO_PADDING: i32 = 3;

    /// A signature and its verification, without padding.
    fn rsa(token: Avx512, rounds: &Rounds, bits: usize, wanted: &dyn Fn(&str) -> bool) {
        let (private, public) = (format!("RSA-{bits} private"), format!("RSA-{bits} public"));
        if !wanted(&private) && !wanted(&public) {
            return;
        }
        let key = RsaKey::generate(bits, 65537);
        let (of_openssl, of_aws_lc) = (openssl_key(&key), aws_lc_key(&key));
        let prepared = CrtKey::new(&key.n, &key.e, &key.p, &key.q, &key.dp, &key.dq, &key.qinv)
            .expect("a key of ours");
        let len = bits / 8;
        let mut rng = Rng(bits as u64);
        let inputs: [Vec<u8>; 8] = std::array::from_fn(|_| {
            let mut input = rng.bytes(len);
            input[0] &= 0x7f;
            input
        });
        let mut outs = [(); 8].map(|()| vec![0; len]);
        let mut out = vec![0; len];
        let (from, size) = (inputs[0].as_ptr(), len as i32);

        if wanted(&private) {
            let mut memory = Memory::default();
            let mut sign = || {
                let mut left = outs.iter_mut();
                let mut lanes = inputs.each_ref().map(|input| Private {
                    key: &prepared,
                    input,
                    out: left.next().expect("eight"),
                    outcome: Outcome::Fault,
                });
                private_avx512(token, &mut memory, &mut lanes);
                assert!(lanes.iter().all(|lane| lane.outcome == Outcome::Done));
            };
            sign();
            let mut openssl = || {
                // SAFETY: input and output are of the key's length.
                let done = unsafe {
                    ossl::RSA_private_encrypt(size, from, out.as_mut_ptr(), of_openssl, NO_PADDING)
                };
                assert_eq!(done, size);
            };
            openssl();
            let mut other = vec![0; len];
            let mut aws_lc = || {
                // SAFETY: input and output are of the key's length.
                let done = unsafe {
                    lc::RSA_private_encrypt(len, from, other.as_mut_ptr(), of_aws_lc, NO_PADDING)
                };
                assert_eq!(done, size);
            };
            aws_lc();
            let work = 2.0 * work_of_power(prepared.class() as f64, bits as f64 / 2.0);
            rounds.row(&private, work, &mut sign, &mut openssl, &mut aws_lc);
            for (input, out) in inputs.iter().zip(&outs) {
                assert!(*out == oracle::power(input, &key.d, &key.n), "a wrong answer");
            }
            assert!(out == outs[0] && other == outs[0], "a wrong answer");
        }

        if wanted(&public) {
            let modulus = Modulus::new(&key.n).expect("odd");
            let mut outs = [(); 8].map(|()| vec![0; len]);
            let mut memory = Memory::default();
            let mut verify = || {
                let mut left = outs.iter_mut();
                let mut lanes = inputs.each_ref().map(|base| Power {
                    modulus: &modulus,
                    base,
                    exponent: &key.e,
                    out: left.next().expect("eight"),
                    ok: false,
                });
                power_public_avx512(token, &mut memory, &mut lanes);
            };
            verify();
            let (mut out, mut other) = (vec![0; len], vec![0; len]);
            let mut openssl = || {
                // SAFETY: input and output are of the key's length.
                unsafe {
                    ossl::RSA_public_decrypt(size, from, out.as_mut_ptr(), of_openssl, NO_PADDING)
                };
            };
            let mut aws_lc = || {
                // SAFETY: input and output are of the key's length.
                unsafe {
                    lc::RSA_public_decrypt(len, from, other.as_mut_ptr(), of_aws_lc, NO_PADDING)
                };
            };
            let (square, multiply) = work(modulus.digits() as f64);
            let work = 16.0 * square + 2.0 * multiply;
            rounds.row(&public, work, &mut verify, &mut openssl, &mut aws_lc);
            for (input, out) in inputs.iter().zip(&outs) {
                assert!(*out == oracle::power(input, &key.e, &key.n), "a wrong answer");
            }
            assert!(out == outs[0] && other == outs[0], "a wrong answer");
        }
        // SAFETY: made above, freed once.
        unsafe {
            ossl::RSA_free(of_openssl);
            lc::RSA_free(of_aws_lc);
        }
    }

    /// A secret exponent as long as the modulus: what Diffie-Hellman does.
    fn full(token: Avx512, rounds: &Rounds, bits: usize, wanted: &dyn Fn(&str) -> bool) {
        let name = format!("power {bits}");
        if !wanted(&name) {
            return;
        }
        let mut rng = Rng(bits as u64);
        let len = bits / 8;
        let mut n = rng.bytes(len);
        n[0] |= 0x80;
        n[len - 1] |= 1;
        let modulus = Modulus::new(&n).expect("odd");
        let bases: [Vec<u8>; 8] = std::array::from_fn(|_| {
            let mut base = rng.bytes(len);
            base[0] &= 0x7f;
            base
        });
        let exponents: [Vec<u8>; 8] = std::array::from_fn(|_| {
            let mut exponent = rng.bytes(len);
            exponent[0] |= 0x80;
            exponent
        });
        let mut outs = [(); 8].map(|()| vec![0; len]);
        let mut memory = Memory::default();
        let mut ours = || {
            let (mut left, mut exponents) = (outs.iter_mut(), exponents.iter());
            let mut lanes = bases.each_ref().map(|base| Power {
                modulus: &modulus,
                base,
                exponent: exponents.next().expect("eight"),
                out: left.next().expect("eight"),
                ok: false,
            });
            power_avx512(token, &mut memory, &mut lanes);
        };
        // SAFETY: numbers of the bytes given, live to the end of the function; Montgomery contexts
        // of an odd modulus; freed once.
        unsafe {
            let number =
                |bytes: &[u8]| ossl::BN_bin2bn(bytes.as_ptr(), bytes.len() as i32, ptr::null_mut());
            let [b, e, m] = [number(&bases[0]), number(&exponents[0]), number(&n)];
            ossl::BN_set_flags(e, ossl::BN_FLG_CONSTTIME);
            let (result, scratch) = (ossl::BN_new(), ossl::BN_CTX_new());
            let mut openssl = || assert_eq!(ossl::BN_mod_exp(result, b, e, m, scratch), 1);

            let number = |bytes: &[u8]| lc::BN_bin2bn(bytes.as_ptr(), bytes.len(), ptr::null_mut());
            let [b, e, m] = [number(&bases[0]), number(&exponents[0]), number(&n)];
            let (other, others) = (lc::BN_new(), lc::BN_CTX_new());
            let montgomery = lc::BN_MONT_CTX_new_for_modulus(m, others);
            let mut aws_lc = || {
                let done = lc::BN_mod_exp_mont_consttime(other, b, e, m, others, montgomery);
                assert_eq!(done, 1);
            };
            let work = work_of_power(modulus.digits() as f64, bits as f64);
            rounds.row(&name, work, &mut ours, &mut openssl, &mut aws_lc);
            for i in 0..8 {
                assert!(outs[i] == oracle::power(&bases[i], &exponents[i], &n), "a wrong answer");
            }
        }
    }

    pub fn main() {
        let Some(token) = Cpu::host().avx512() else {
            return println!("nothing to measure: no AVX-512 IFMA here");
        };
        let (mut rounds, mut names) = (7, Vec::new());
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        while let Some(argument) = arguments.next() {
            if argument == "--rounds" {
                rounds = arguments.next().and_then(|n| n.parse().ok()).expect("--rounds N");
            } else {
                names.push(argument);
            }
        }
        let wanted = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(part));
        let rounds = Rounds { token, rounds };
        println!(
            "{:<22} {:>9} {:>9} {:>9}  {:>6} {:>6}  {:>10} {:>7}",
            "operations a second", "ours", "OpenSSL", "AWS-LC", "x OSSL", "x LC", "cycles", "bound"
        );
        for bits in [1024, 2048, 3072, 4096] {
            rsa(token, &rounds, bits, &wanted);
        }
        for bits in [1024, 2048, 3072, 4096] {
            full(token, &rounds, bits, &wanted);
        }
    }
}
