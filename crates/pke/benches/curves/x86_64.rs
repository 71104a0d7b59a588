use std::ffi::c_int;
use std::ptr::{null, null_mut};

use lookaside_pke::kernel::weierstrass::*;

const ROUNDS: usize = 30;

/// CPU time of this thread in nanoseconds.
fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The fastest of some rounds of each, in nanoseconds per operation; they take turns. A round is
/// eight operations, repeated to about a millisecond.
fn race<const M: usize>(mut runs: [&mut dyn FnMut(); M]) -> [f64; M] {
    let mut best = [f64::MAX; M];
    let mut repeats = [0u64; M];
    for (run, repeats) in runs.iter_mut().zip(&mut repeats) {
        run();
        let start = cpu_ns();
        run();
        *repeats = 1_000_000 / (cpu_ns() - start).max(1) + 1;
    }
    for _ in 0..ROUNDS {
        for i in 0..M {
            let start = cpu_ns();
            for _ in 0..repeats[i] {
                runs[i]();
            }
            best[i] = best[i].min((cpu_ns() - start) as f64 / (8 * repeats[i]) as f64);
        }
    }
    best
}

/// The same calls of either library.
macro_rules! library {
    ($name:ident, $lib:ident, $len:ty, $der:ty) => {
        mod $name {
            use super::*;
            use $lib::*;

            pub struct Key {
                key: *mut EC_KEY,
                peer: *mut EC_POINT,
                private: *mut BIGNUM,
            }

            impl Key {
                pub fn new(nid: c_int, private: &[u8], public: &[u8], peer: &[u8]) -> Key {
                    // SAFETY: constructors of the library, checked; leaked, as a bench may.
                    unsafe {
                        let key = EC_KEY_new_by_curve_name(nid);
                        let group = EC_KEY_get0_group(key);
                        let number = |b: &[u8]| BN_bin2bn(b.as_ptr(), b.len() as $len, null_mut());
                        let point = |b: &[u8]| {
                            let (x, y) = b.split_at(b.len() / 2);
                            let point = EC_POINT_new(group);
                            assert_eq!(
                                EC_POINT_set_affine_coordinates_GFp(
                                    group,
                                    point,
                                    number(x),
                                    number(y),
                                    null_mut()
                                ),
                                1
                            );
                            point
                        };
                        let private = number(private);
                        assert_eq!(EC_KEY_set_private_key(key, private), 1);
                        assert_eq!(EC_KEY_set_public_key(key, point(public)), 1);
                        Key { key, peer: point(peer), private }
                    }
                }

                pub fn sign(&self, digest: &[u8]) -> *mut ECDSA_SIG {
                    // SAFETY: the key is valid.
                    unsafe { ECDSA_do_sign(digest.as_ptr(), digest.len() as $der, self.key) }
                }

                pub fn verify(&self, digest: &[u8], pair: *mut ECDSA_SIG) -> bool {
                    // SAFETY: key and signature are valid.
                    unsafe {
                        ECDSA_do_verify(digest.as_ptr(), digest.len() as $der, pair, self.key) == 1
                    }
                }

                pub fn pair(signature: &[u8]) -> *mut ECDSA_SIG {
                    let (r, s) = signature.split_at(signature.len() / 2);
                    // SAFETY: the signature takes the numbers over.
                    unsafe {
                        let pair = ECDSA_SIG_new();
                        let number = |b: &[u8]| BN_bin2bn(b.as_ptr(), b.len() as $len, null_mut());
                        assert_eq!(ECDSA_SIG_set0(pair, number(r), number(s)), 1);
                        pair
                    }
                }

                pub fn free(pair: *mut ECDSA_SIG) {
                    // SAFETY: ours, freed once.
                    unsafe { ECDSA_SIG_free(pair) }
                }

                /// x of the product, as ECDH gives it.
                pub fn derive(&self, out: &mut [u8]) {
                    // SAFETY: key and point are valid; the buffer is as long as it says.
                    unsafe {
                        let n = ECDH_compute_key(
                            out.as_mut_ptr().cast(),
                            out.len() as _,
                            self.peer,
                            self.key,
                            None,
                        );
                        assert!(n as usize == out.len());
                    }
                }

                /// d G.
                pub fn public(&self) {
                    // SAFETY: all are valid.
                    unsafe {
                        let group = EC_KEY_get0_group(self.key);
                        let point = EC_POINT_new(group);
                        let none = null();
                        let ok = EC_POINT_mul(group, point, self.private, null(), none, null_mut());
                        assert_eq!(ok, 1);
                        EC_POINT_free(point);
                    }
                }
            }
        }
    };
}

// Absent from openssl-sys.
unsafe extern "C" {
    fn ECDH_compute_key(
        out: *mut std::ffi::c_void,
        len: usize,
        point: *const openssl_sys::EC_POINT,
        key: *const openssl_sys::EC_KEY,
        kdf: Option<extern "C" fn()>,
    ) -> c_int;
}

mod openssl_calls {
    pub use super::ECDH_compute_key;
    pub use openssl_sys::*;
}
mod aws_lc_calls {
    pub use aws_lc_sys::*;
}
use aws_lc_calls as aws_calls;
use openssl_calls as ossl_calls;

library!(openssl, ossl_calls, c_int, c_int);
library!(aws_lc, aws_calls, usize, usize);

fn nid(curve: Curve) -> (c_int, c_int) {
    match curve {
        Curve::P224 => (openssl_sys::NID_secp224r1, aws_lc_sys::NID_secp224r1 as c_int),
        Curve::P256 => {
            (openssl_sys::NID_X9_62_prime256v1, aws_lc_sys::NID_X9_62_prime256v1 as c_int)
        }
        Curve::P384 => (openssl_sys::NID_secp384r1, aws_lc_sys::NID_secp384r1 as c_int),
        Curve::P521 => (openssl_sys::NID_secp521r1, aws_lc_sys::NID_secp521r1 as c_int),
        Curve::Sm2 => (openssl_sys::NID_sm2, 0),
    }
}

pub fn main() {
    let Some(token) = lookaside_simd::Cpu::host().avx512() else {
        eprintln!("no AVX-512 IFMA here: nothing to measure");
        return;
    };
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    println!("operations/s of 1 thread, times ours: OpenSSL, AWS-LC");
    for curve in Curve::ALL {
        let name = format!("{curve:?}");
        if wanted.as_ref().is_none_or(|wanted| name.eq_ignore_ascii_case(wanted)) {
            measure(token, curve, &name);
        }
    }
}

fn show(name: &str, what: &str, ours: f64, rivals: &[f64]) {
    print!("{name} {what:7} {:9.0}/s", 1e9 / ours);
    for rival in rivals {
        print!("  {:6.2}x ({:.0}/s)", rival / ours, 1e9 / rival);
    }
    println!();
}

fn measure(token: lookaside_simd::Avx512, curve: Curve, name: &str) {
    let n = curve.len();
    // Numbers below the order, all different; the top byte is small for every curve.
    let number = |lane: usize, salt: usize| -> Vec<u8> {
        let mut bytes: Vec<_> =
            (0..n).map(|i| (i * i * 31 + lane * 97 + salt * 57 + 11) as u8).collect();
        bytes[0] = u8::from(curve != Curve::P521) * 0x5a;
        bytes
    };
    let privates: Vec<_> = (0..8).map(|l| number(l, 1)).collect();
    let nonces: Vec<_> = (0..8).map(|l| number(l, 2)).collect();
    let mut digests: Vec<_> = (0..8).map(|l| number(l, 3)).collect();
    // The libraries take the leftmost 521 bits of a digest; of 64 bytes that is all.
    let padding = if curve == Curve::P521 { 2 } else { 0 };
    digests.iter_mut().for_each(|digest| digest[..padding].fill(0));
    let mut publics = vec![vec![0; 2 * n]; 8];
    let mut make = || {
        let mut lanes: Vec<_> = privates
            .iter()
            .zip(&mut publics)
            .map(|(private, out)| Public { private, out, ok: false })
            .collect();
        public_avx512(token, curve, &mut lanes);
        assert!(lanes.iter().all(|lane| lane.ok));
    };
    make();
    let made = publics.clone();
    let peer = made[3].clone();
    let (open_nid, aws_nid) = nid(curve);
    let key = |l: usize| openssl::Key::new(open_nid, &privates[l], &made[l], &peer);
    let opens: Vec<_> = (0..8).map(key).collect();
    let key = |l: usize| aws_lc::Key::new(aws_nid, &privates[l], &made[l], &peer);
    let awss: Vec<_> = if aws_nid == 0 { Vec::new() } else { (0..8).map(key).collect() };

    let mut signatures = vec![vec![0; 2 * n]; 8];
    let mut sign = || {
        let mut lanes: Vec<_> = signatures
            .iter_mut()
            .enumerate()
            .map(|(l, signature)| Sign {
                private: &privates[l],
                nonce: &nonces[l],
                digest: &digests[l],
                signature,
                ok: false,
            })
            .collect();
        sign_avx512(token, curve, &mut lanes);
        assert!(lanes.iter().all(|lane| lane.ok));
    };
    sign();
    let signed = signatures.clone();
    let mut sign = || {
        let mut lanes: Vec<_> = signatures
            .iter_mut()
            .enumerate()
            .map(|(l, signature)| Sign {
                private: &privates[l],
                nonce: &nonces[l],
                digest: &digests[l],
                signature,
                ok: false,
            })
            .collect();
        sign_avx512(token, curve, &mut lanes);
    };
    let mut verify = || {
        let mut lanes: Vec<_> = (0..8)
            .map(|l| Verify {
                public: &made[l],
                digest: &digests[l],
                signature: &signed[l],
                ok: false,
            })
            .collect();
        verify_avx512(token, curve, &mut lanes);
        assert!(lanes.iter().all(|lane| lane.ok));
    };
    let mut outs = vec![vec![0; 2 * n]; 8];
    let mut derive = || {
        let mut lanes: Vec<_> = privates
            .iter()
            .zip(&mut outs)
            .map(|(private, out)| Derive { private, peer: &peer, out, ok: false })
            .collect();
        derive_avx512(token, curve, &mut lanes);
        assert!(lanes.iter().all(|lane| lane.ok));
    };
    derive();
    let mut secret = vec![0; n];

    macro_rules! rounds {
        ($($keys:ident: $lib:ident),*) => {{
            // Keys of another library sign as ours do, and theirs verify our signatures.
            $(let pairs: Vec<_> = signed.iter().map(|s| $lib::Key::pair(s)).collect();
            let $lib = ($keys, pairs);)*
            let ours_sign = &mut sign;
            show_all!(name, "public", &mut make, $($lib, |(keys, _)| for key in keys {
                key.public();
            }),*);
            show_all!(name, "sign", ours_sign, $($lib, |(keys, _)| for l in 0..8 {
                $lib::Key::free(keys[l].sign(&digests[l][padding..]));
            }),*);
            show_all!(name, "verify", &mut verify, $($lib, |(keys, pairs)| for l in 0..8 {
                let ok = keys[l].verify(&digests[l][padding..], pairs[l]);
                assert!(ok || curve == Curve::Sm2);
            }),*);
            show_all!(name, "derive", &mut derive, $($lib, |(keys, _)| for key in keys {
                key.derive(&mut secret);
            }),*);
        }};
    }
    macro_rules! show_all {
        ($name:expr, $what:expr, $ours:expr, $first:ident, |$a:pat_param| $run:expr) => {{
            let mut first = || {
                let $a = &$first;
                $run
            };
            let [ours, one] = race([$ours, &mut first]);
            show($name, $what, ours, &[one]);
        }};
        ($name:expr, $what:expr, $ours:expr, $first:ident, |$a:pat_param| $run:expr,
         $second:ident, |$b:pat_param| $other:expr) => {{
            // The secret's buffer is shared: one closure at a time.
            let secret = std::cell::RefCell::new(&mut secret);
            let _ = &secret;
            let [ours, one] = {
                let mut first = || {
                    let $a = &$first;
                    $run
                };
                race([$ours, &mut first])
            };
            let [again, two] = {
                let mut second = || {
                    let $b = &$second;
                    $other
                };
                race([$ours, &mut second])
            };
            show($name, $what, ours.min(again), &[one, two]);
        }};
    }
    if awss.is_empty() {
        rounds!(opens: openssl);
    } else {
        rounds!(opens: openssl, awss: aws_lc);
    }
    for out in &outs {
        assert!(!out.iter().all(|&byte| byte == 0));
    }
}
