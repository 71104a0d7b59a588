use std::ffi::c_int;
use std::ptr::{null, null_mut};

use lookaside_pke_kernel::weierstrass::*;

const ROUNDS: usize = 30;

/// CPU time of this thread in nanoseconds.
fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The fastest of some rounds of each, in nanoseconds per operation; they take turns. A run is eight
/// operations, repeated to about a millisecond.
fn race(runs: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut best = vec![f64::MAX; runs.len()];
    let repeats: Vec<_> = runs
        .iter_mut()
        .map(|run| {
            run();
            let start = cpu_ns();
            run();
            1_000_000 / (cpu_ns() - start).max(1) + 1
        })
        .collect();
    for _ in 0..ROUNDS {
        for ((run, best), &repeats) in runs.iter_mut().zip(&mut best).zip(&repeats) {
            let start = cpu_ns();
            (0..repeats).for_each(|_| run());
            *best = best.min((cpu_ns() - start) as f64 / (8 * repeats) as f64);
        }
    }
    best
}

/// One key in another library.
trait Rival {
    fn public(&self) -> Vec<u8>;
    fn derive(&self) -> Vec<u8>;
    fn sign(&self, digest: &[u8]);
    /// Of the signature that the key was made with.
    fn verify(&self, digest: &[u8]) -> bool;
}

/// Either library has the same calls.
macro_rules! rival {
    ($module:ident, $library:ident, $len:ty) => {
        mod $module {
            use super::*;
            use $library::*;

            pub struct Key {
                key: *mut EC_KEY,
                peer: *mut EC_POINT,
                private: *mut BIGNUM,
                pair: *mut ECDSA_SIG,
                len: usize,
            }

            unsafe fn number(bytes: &[u8]) -> *mut BIGNUM {
                // SAFETY: reads the slice.
                unsafe { BN_bin2bn(bytes.as_ptr(), bytes.len() as $len, null_mut()) }
            }

            impl Key {
                /// A key; what it points to is never freed, as a bench may.
                pub fn new(nid: c_int, keys: [&[u8]; 2], peer: &[u8], signature: &[u8]) -> Key {
                    // SAFETY: objects of the library, made here.
                    unsafe {
                        let key = EC_KEY_new_by_curve_name(nid);
                        let group = EC_KEY_get0_group(key);
                        let point = |bytes: &[u8]| {
                            let (x, y) = bytes.split_at(bytes.len() / 2);
                            let (x, y, point) = (number(x), number(y), EC_POINT_new(group));
                            let null = null_mut();
                            let ok = EC_POINT_set_affine_coordinates_GFp(group, point, x, y, null);
                            assert_eq!(ok, 1);
                            point
                        };
                        let (private, pair) = (number(keys[0]), ECDSA_SIG_new());
                        assert_eq!(EC_KEY_set_private_key(key, private), 1);
                        assert_eq!(EC_KEY_set_public_key(key, point(keys[1])), 1);
                        let (r, s) = signature.split_at(signature.len() / 2);
                        assert_eq!(ECDSA_SIG_set0(pair, number(r), number(s)), 1);
                        Key { key, peer: point(peer), private, pair, len: r.len() }
                    }
                }

                /// g G + k P, affine.
                unsafe fn multiply(
                    &self,
                    g: *const BIGNUM,
                    point: *const EC_POINT,
                    k: *const BIGNUM,
                ) -> Vec<u8> {
                    // SAFETY: the key's objects are valid, the others are made and freed here.
                    unsafe {
                        let group = EC_KEY_get0_group(self.key);
                        let (product, x, y) = (EC_POINT_new(group), BN_new(), BN_new());
                        let null = null_mut();
                        assert_eq!(EC_POINT_mul(group, product, g, point, k, null), 1);
                        assert_eq!(
                            EC_POINT_get_affine_coordinates_GFp(group, product, x, y, null),
                            1
                        );
                        let mut bytes = vec![0; 2 * self.len];
                        for (number, dst) in [x, y].into_iter().zip(bytes.chunks_mut(self.len)) {
                            let used = (BN_num_bits(number) as usize).div_ceil(8);
                            BN_bn2bin(number, dst[self.len - used..].as_mut_ptr());
                            BN_free(number);
                        }
                        EC_POINT_free(product);
                        bytes
                    }
                }
            }

            impl Rival for Key {
                fn public(&self) -> Vec<u8> {
                    // SAFETY: valid; null stands for no second product.
                    unsafe { self.multiply(self.private, null(), null()) }
                }
                fn derive(&self) -> Vec<u8> {
                    // SAFETY: valid; null stands for no first product.
                    unsafe { self.multiply(null(), self.peer, self.private) }
                }
                fn sign(&self, digest: &[u8]) {
                    // SAFETY: the key is valid; the signature is freed.
                    unsafe {
                        let len = digest.len() as $len;
                        ECDSA_SIG_free(ECDSA_do_sign(digest.as_ptr(), len, self.key));
                    }
                }
                fn verify(&self, digest: &[u8]) -> bool {
                    // SAFETY: key and signature are valid.
                    unsafe {
                        let len = digest.len() as $len;
                        ECDSA_do_verify(digest.as_ptr(), len, self.pair, self.key) == 1
                    }
                }
            }
        }
    };
}

rival!(openssl, openssl_sys, c_int);
rival!(aws_lc, aws_lc_sys, usize);

/// The curve's numbers in OpenSSL and AWS-LC; the second has no SM2.
fn nids(curve: Curve) -> (c_int, Option<c_int>) {
    use {aws_lc_sys as aws, openssl_sys as ossl};
    match curve {
        Curve::P224 => (ossl::NID_secp224r1, Some(aws::NID_secp224r1 as c_int)),
        Curve::P256 => (ossl::NID_X9_62_prime256v1, Some(aws::NID_X9_62_prime256v1 as c_int)),
        Curve::P384 => (ossl::NID_secp384r1, Some(aws::NID_secp384r1 as c_int)),
        Curve::P521 => (ossl::NID_secp521r1, Some(aws::NID_secp521r1 as c_int)),
        Curve::Sm2 => (ossl::NID_sm2, None),
    }
}

pub fn main() {
    let Some(token) = lookaside_simd::Cpu::host().avx512() else {
        eprintln!("no AVX-512 IFMA here: nothing to measure");
        return;
    };
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    println!("operations per second of one thread: ours, OpenSSL's, AWS-LC's, and the ratios");
    println!("(no library here signs with SM2: there it is ECDSA over the same curve)");
    for curve in Curve::ALL {
        let name = format!("{curve:?}");
        if wanted.as_ref().is_none_or(|wanted| name.eq_ignore_ascii_case(wanted)) {
            measure(token, curve, &name);
        }
    }
}

/// Ours against the same operation of every key of every rival.
fn compare(
    name: &str,
    ours: &mut dyn FnMut(),
    rivals: &[Vec<Box<dyn Rival>>],
    op: &dyn Fn(&dyn Rival, usize),
) {
    let mut loops: Vec<_> = rivals
        .iter()
        .map(|keys| move || keys.iter().enumerate().for_each(|(l, key)| op(&**key, l)))
        .collect();
    let mut runs: Vec<&mut dyn FnMut()> = vec![ours];
    runs.extend(loops.iter_mut().map(|run| run as &mut dyn FnMut()));
    let times = race(&mut runs);
    print!("{name}");
    times.iter().for_each(|ns| print!("{:10.0}", 1e9 / ns));
    times[1..].iter().for_each(|ns| print!("{:8.1}x", ns / times[0]));
    println!();
}

fn measure(token: lookaside_simd::Avx512, curve: Curve, name: &str) {
    let n = curve.len();
    // Numbers below the order, all different.
    let number = |lane: usize, salt: usize| -> Vec<u8> {
        let mut bytes: Vec<_> =
            (0..n).map(|i| (i * i * 31 + lane * 97 + salt * 57 + 11) as u8).collect();
        bytes[0] = if curve == Curve::P521 { 0 } else { 0x5a };
        bytes
    };
    let numbers = |salt| -> Vec<Vec<u8>> { (0..8).map(|lane| number(lane, salt)).collect() };
    let (privates, nonces, mut digests) = (numbers(1), numbers(2), numbers(3));
    // The libraries take the leftmost 521 bits of a digest; of 64 bytes that is all.
    let padding = if curve == Curve::P521 { 2 } else { 0 };
    digests.iter_mut().for_each(|digest| digest[..padding].fill(0));

    let publics = || -> Vec<Vec<u8>> {
        let mut outs = vec![vec![0; 2 * n]; 8];
        let pairs = privates.iter().zip(&mut outs);
        let mut lanes: Vec<_> =
            pairs.map(|(private, out)| Public { private, out, ok: false }).collect();
        public_avx512(token, curve, &mut lanes);
        assert!(lanes.iter().all(|lane| lane.ok));
        outs
    };
    let points = publics();
    let peer = &points[3];
    let signs = || -> Vec<Vec<u8>> {
        let mut outs = vec![vec![0; 2 * n]; 8];
        let mut lanes: Vec<_> = outs
            .iter_mut()
            .enumerate()
            .map(|(l, signature)| {
                let (private, nonce, digest) = (&privates[l], &nonces[l], &digests[l]);
                Sign { private, nonce, digest, signature, ok: false }
            })
            .collect();
        sign_avx512(token, curve, &mut lanes);
        assert!(lanes.iter().all(|lane| lane.ok));
        outs
    };
    let signatures = signs();
    let verifies = || {
        let mut lanes: Vec<_> = (0..8)
            .map(|l| Verify {
                public: &points[l],
                digest: &digests[l],
                signature: &signatures[l],
                ok: false,
            })
            .collect();
        verify_avx512(token, curve, &mut lanes);
        assert!(lanes.iter().all(|lane| lane.ok));
    };
    let derives = || -> Vec<Vec<u8>> {
        let mut outs = vec![vec![0; 2 * n]; 8];
        let pairs = privates.iter().zip(&mut outs);
        let mut lanes: Vec<_> =
            pairs.map(|(private, out)| Derive { private, peer, out, ok: false }).collect();
        derive_avx512(token, curve, &mut lanes);
        assert!(lanes.iter().all(|lane| lane.ok));
        outs
    };
    let products = derives();

    let (ossl, aws) = nids(curve);
    let keys = |l: usize| [&privates[l][..], &points[l][..]];
    let mut rivals: Vec<Vec<Box<dyn Rival>>> = vec![
        (0..8)
            .map(|l| Box::new(openssl::Key::new(ossl, keys(l), peer, &signatures[l])) as _)
            .collect(),
    ];
    rivals.extend(aws.map(|aws| -> Vec<Box<dyn Rival>> {
        (0..8)
            .map(|l| Box::new(aws_lc::Key::new(aws, keys(l), peer, &signatures[l])) as _)
            .collect()
    }));

    compare(&format!("{name} public "), &mut || drop(publics()), &rivals, &|key, l| {
        assert!(key.public() == points[l]);
    });
    compare(&format!("{name} sign   "), &mut || drop(signs()), &rivals, &|key, l| {
        key.sign(&digests[l][padding..]);
    });
    compare(&format!("{name} verify "), &mut || verifies(), &rivals, &|key, l| {
        assert!(key.verify(&digests[l][padding..]) || curve == Curve::Sm2);
    });
    compare(&format!("{name} derive "), &mut || drop(derives()), &rivals, &|key, l| {
        assert!(key.derive() == products[l]);
    });
}
