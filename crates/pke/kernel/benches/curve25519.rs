//! Curve25519 and Curve448, eight at a time, beside OpenSSL and AWS-LC, one at a time.
//!
//! Rounds of each take turns; CPU time; the best round of each counts. Answers are checked.
//!
//! cargo bench -p lookaside-pke --bench curve25519

use std::hint::black_box;

use aws_lc_sys as lc;
use lookaside_pke_kernel::curve448;
use lookaside_pke_kernel::curve25519::{self, Derive, Public, Sign, Verify};
use lookaside_simd::{Avx512, Cpu};
use openssl_sys as ossl;

const ROUNDS: usize = 15;

fn main() {
    let Some(token) = Cpu::host().avx512() else {
        println!("curve25519: this CPU has no AVX-512 IFMA, nothing to show");
        return;
    };
    x25519(token);
    ed25519(token);
    x448(token);
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

/// OpenSSL's keys, freed at the end.
struct Key(*mut ossl::EVP_PKEY);

impl Key {
    fn private(kind: i32, bytes: &[u8]) -> Key {
        let none = std::ptr::null_mut();
        // SAFETY: the pointer and the length are of one slice.
        Key(unsafe { ossl::EVP_PKEY_new_raw_private_key(kind, none, bytes.as_ptr(), bytes.len()) })
    }

    fn public(kind: i32, bytes: &[u8]) -> Key {
        let none = std::ptr::null_mut();
        // SAFETY: as above.
        Key(unsafe { ossl::EVP_PKEY_new_raw_public_key(kind, none, bytes.as_ptr(), bytes.len()) })
    }

    fn derive(&self, peer: &Key, out: &mut [u8]) {
        let mut length = out.len();
        // SAFETY: the keys are valid, `out` has `length` bytes.
        unsafe {
            let run = ossl::EVP_PKEY_CTX_new(self.0, std::ptr::null_mut());
            assert_eq!(ossl::EVP_PKEY_derive_init(run), 1);
            assert_eq!(ossl::EVP_PKEY_derive_set_peer(run, peer.0), 1);
            assert_eq!(ossl::EVP_PKEY_derive(run, out.as_mut_ptr(), &raw mut length), 1);
            ossl::EVP_PKEY_CTX_free(run);
        }
    }

    fn sign(&self, message: &[u8], out: &mut [u8; 64]) {
        let (mut length, none) = (64, std::ptr::null_mut());
        // SAFETY: the key is valid, the lengths are those of the slices.
        unsafe {
            let run = ossl::EVP_MD_CTX_new();
            let kind = std::ptr::null();
            assert_eq!(ossl::EVP_DigestSignInit(run, none, kind, std::ptr::null_mut(), self.0), 1);
            let (from, to) = (message.as_ptr(), out.as_mut_ptr());
            assert_eq!(ossl::EVP_DigestSign(run, to, &raw mut length, from, message.len()), 1);
            ossl::EVP_MD_CTX_free(run);
        }
    }

    fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let none = std::ptr::null_mut();
        // SAFETY: as above.
        unsafe {
            let run = ossl::EVP_MD_CTX_new();
            let kind = std::ptr::null();
            let key = self.0;
            assert_eq!(ossl::EVP_DigestVerifyInit(run, none, kind, std::ptr::null_mut(), key), 1);
            let (from, to) = (message.as_ptr(), signature.as_ptr());
            let ok = ossl::EVP_DigestVerify(run, to, 64, from, message.len()) == 1;
            ossl::EVP_MD_CTX_free(run);
            ok
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: a key of ours, freed once.
        unsafe { ossl::EVP_PKEY_free(self.0) }
    }
}

fn x25519(token: Avx512) {
    let private: [[u8; 32]; 8] = std::array::from_fn(|i| bytes(i as u64 + 1));
    let peer: [[u8; 32]; 8] = std::array::from_fn(|i| bytes(i as u64 + 100));
    let keys = private.map(|key| Key::private(ossl::EVP_PKEY_X25519, &key));
    let peers = peer.map(|key| Key::public(ossl::EVP_PKEY_X25519, &key));
    let (mut ours, mut aws, mut openssl) = ([[0; 32]; 8], [[0; 32]; 8], [[0; 32]; 8]);
    compare(
        "X25519",
        &mut [
            ("ours", 8 * 16, &mut || {
                for _ in 0..16 {
                    let inputs = private.iter().zip(&peer).zip(&mut ours);
                    let mut items: Vec<Derive<'_>> = inputs
                        .map(|((private, peer), out)| Derive { private, peer, out, ok: false })
                        .collect();
                    curve25519::x25519_avx512(token, black_box(&mut items));
                }
            }),
            ("OpenSSL", 32, &mut || {
                for i in 0..32 {
                    keys[i % 8].derive(&peers[i % 8], &mut openssl[i % 8]);
                }
            }),
            ("AWS-LC", 32, &mut || {
                for i in 0..32 {
                    let (to, private, peer) = (&mut aws[i % 8], &private[i % 8], &peer[i % 8]);
                    // SAFETY: all are of 32 bytes.
                    unsafe { lc::X25519(to.as_mut_ptr(), private.as_ptr(), peer.as_ptr()) };
                }
            }),
        ],
    );
    assert!(ours == aws && ours == openssl);

    compare(
        "X25519 public",
        &mut [
            ("ours", 8 * 32, &mut || {
                for _ in 0..32 {
                    let inputs = private.iter().zip(&mut ours);
                    let mut items: Vec<Public<'_>> =
                        inputs.map(|(private, out)| Public { private, out }).collect();
                    curve25519::x25519_public_avx512(token, black_box(&mut items));
                }
            }),
            ("AWS-LC", 32, &mut || {
                for i in 0..32 {
                    let (to, private) = (&mut aws[i % 8], &private[i % 8]);
                    // SAFETY: all are of 32 bytes.
                    unsafe { lc::X25519_public_from_private(to.as_mut_ptr(), private.as_ptr()) };
                }
            }),
        ],
    );
    assert_eq!(ours, aws);
}

fn ed25519(token: Avx512) {
    let seeds: [[u8; 32]; 8] = std::array::from_fn(|i| bytes(i as u64 + 1));
    let messages: [[u8; 64]; 8] = std::array::from_fn(|i| bytes(i as u64 + 100));
    let mut pairs = [[0; 64]; 8];
    let mut public = [[0; 32]; 8];
    for ((seed, pair), public) in seeds.iter().zip(&mut pairs).zip(&mut public) {
        let (public, pair) = (public.as_mut_ptr(), pair.as_mut_ptr());
        // SAFETY: 32, 64 and 32 bytes.
        unsafe { lc::ED25519_keypair_from_seed(public, pair, seed.as_ptr()) };
    }
    let keys = seeds.map(|key| Key::private(ossl::EVP_PKEY_ED25519, &key));
    let publics = public.map(|key| Key::public(ossl::EVP_PKEY_ED25519, &key));

    let mut ours = [[0; 64]; 8];
    let (mut aws, mut openssl) = (ours, ours);
    compare(
        "Ed25519 sign",
        &mut [
            ("ours", 8 * 32, &mut || {
                for _ in 0..32 {
                    let inputs = seeds.iter().zip(&public).zip(&messages).zip(&mut ours);
                    let mut items: Vec<Sign<'_>> = inputs
                        .map(|(((seed, public), message), signature)| Sign {
                            seed,
                            public,
                            message,
                            signature,
                        })
                        .collect();
                    curve25519::ed25519_sign_avx512(token, black_box(&mut items));
                }
            }),
            ("OpenSSL", 32, &mut || {
                for i in 0..32 {
                    keys[i % 8].sign(&messages[i % 8], &mut openssl[i % 8]);
                }
            }),
            ("AWS-LC", 64, &mut || {
                for i in 0..64 {
                    let (to, pair) = (&mut aws[i % 8], &pairs[i % 8]);
                    // SAFETY: a message of 64 bytes and a key of 64.
                    let ok = unsafe {
                        lc::ED25519_sign(
                            to.as_mut_ptr(),
                            messages[i % 8].as_ptr(),
                            64,
                            pair.as_ptr(),
                        )
                    };
                    assert_eq!(ok, 1);
                }
            }),
        ],
    );
    assert!(ours == aws && ours == openssl);

    let mut right = 0;
    compare(
        "Ed25519 verify",
        &mut [
            ("ours", 8 * 16, &mut || {
                for _ in 0..16 {
                    let inputs = public.iter().zip(&messages).zip(&aws);
                    let mut items: Vec<Verify<'_>> = inputs
                        .map(|((public, message), signature)| Verify {
                            public,
                            message,
                            signature,
                            ok: false,
                        })
                        .collect();
                    curve25519::ed25519_verify_avx512(token, black_box(&mut items));
                    right += items.iter().filter(|item| item.ok).count();
                }
            }),
            ("OpenSSL", 16, &mut || {
                for i in 0..16 {
                    assert!(publics[i % 8].verify(&messages[i % 8], &aws[i % 8]));
                }
            }),
            ("AWS-LC", 16, &mut || {
                for i in 0..16 {
                    let (message, signature) = (messages[i % 8].as_ptr(), aws[i % 8].as_ptr());
                    // SAFETY: as above.
                    let ok = unsafe {
                        lc::ED25519_verify(message, 64, signature, public[i % 8].as_ptr())
                    };
                    assert_eq!(ok, 1);
                }
            }),
        ],
    );
    assert_eq!(right, 8 * 16 * (ROUNDS + 1));
}

fn x448(token: Avx512) {
    let private: [[u8; 56]; 8] = std::array::from_fn(|i| bytes(i as u64 + 1));
    let peer: [[u8; 56]; 8] = std::array::from_fn(|i| bytes(i as u64 + 100));
    let keys = private.map(|key| Key::private(ossl::EVP_PKEY_X448, &key));
    let peers = peer.map(|key| Key::public(ossl::EVP_PKEY_X448, &key));
    let (mut ours, mut openssl) = ([[0; 56]; 8], [[0; 56]; 8]);
    compare(
        "X448",
        &mut [
            ("ours", 8 * 4, &mut || {
                for _ in 0..4 {
                    let inputs = private.iter().zip(&peer).zip(&mut ours);
                    let mut items: Vec<curve448::Derive<'_>> = inputs
                        .map(|((private, peer), out)| curve448::Derive {
                            private,
                            peer,
                            out,
                            ok: false,
                        })
                        .collect();
                    curve448::x448_avx512(token, black_box(&mut items));
                }
            }),
            ("OpenSSL", 8, &mut || {
                for i in 0..8 {
                    keys[i].derive(&peers[i], &mut openssl[i]);
                }
            }),
        ],
    );
    assert!(ours == openssl);
}
