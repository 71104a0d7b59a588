//! The kernels of the Weierstrass curves against OpenSSL, AWS-LC and published vectors.

mod openssl;

use lookaside_pke_kernel::weierstrass::*;
use openssl::Group;

/// Either implementation of every operation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Path {
    Portable,
    Avx512,
}

impl Path {
    /// Those that this CPU has. The absence of one is told.
    fn all() -> Vec<Path> {
        if lookaside_simd::Cpu::host().avx512().is_none() {
            eprintln!("no AVX-512 IFMA here: only the portable path is tested");
            return vec![Path::Portable];
        }
        vec![Path::Avx512, Path::Portable]
    }
}

macro_rules! operation {
    ($name:ident, $item:ident, $avx512:ident, $portable:ident) => {
        fn $name(path: Path, curve: Curve, lanes: &mut [$item<'_>]) {
            match path {
                Path::Portable => $portable(curve, lanes),
                #[cfg(target_arch = "x86_64")]
                Path::Avx512 => {
                    $avx512(lookaside_simd::Cpu::host().avx512().unwrap(), curve, lanes)
                }
                #[cfg(not(target_arch = "x86_64"))]
                Path::Avx512 => unreachable!(),
            }
        }
    };
}
operation!(sign, Sign, sign_avx512, sign_portable);
operation!(verify, Verify, verify_avx512, verify_portable);
operation!(derive, Derive, derive_avx512, derive_portable);
operation!(public, Public, public_avx512, public_portable);

/// SplitMix64 as bytes.
struct Random(u64);

impl Random {
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len)
            .map(|_| {
                self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = self.0;
                z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                (z ^ z >> 31) as u8
            })
            .collect()
    }

    /// A scalar: some bytes, reduced.
    fn scalar(&mut self, curve: Curve, group: &Group) -> Vec<u8> {
        group.multiply_add(&self.bytes(curve.len()), &[1], &[1])
    }

    /// A digest, as long as the order in bits.
    fn digest(&mut self, curve: Curve) -> Vec<u8> {
        let mut digest = self.bytes(curve.len());
        if curve == Curve::P521 {
            digest[0] &= 1;
        }
        digest
    }
}

/// A small number, or the order less one.
fn small(curve: Curve, group: &Group, n: i32) -> Vec<u8> {
    let len = curve.len();
    if n >= 0 {
        let mut bytes = vec![0; len];
        bytes[len - 4..].copy_from_slice(&n.to_be_bytes());
        bytes
    } else {
        // order - 1 times |n|
        let order = group.order();
        let mut minus_one = order.clone();
        minus_one[len - 1] -= 1; // the order is odd
        group.multiply_add(&minus_one, &n.unsigned_abs().to_be_bytes(), &[])
    }
}

/// Scalars at the edges: small, order minus small, single bits, long runs.
fn edges(curve: Curve, group: &Group) -> Vec<Vec<u8>> {
    let mut scalars: Vec<_> = (1..=40).map(|n| small(curve, group, n)).collect();
    scalars.extend((1..=40).map(|n| small(curve, group, -n)));
    let bits = match curve {
        Curve::P521 => 521,
        _ => 8 * curve.len(),
    };
    for bit in [4, 5, 6, 7, 51, 52, 53, 63, 64, 104, bits - 8, bits - 2, bits - 1] {
        let mut power = vec![0; curve.len()];
        power[curve.len() - 1 - bit / 8] = 1 << (bit % 8);
        scalars.push(group.multiply_add(&power, &[1], &[]));
        scalars.push(group.multiply_add(&power, &[1], &small(curve, group, -1)));
    }
    scalars
}

fn publics(path: Path, curve: Curve, scalars: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut outs = vec![vec![0xaa; 2 * curve.len()]; scalars.len()];
    let mut lanes: Vec<_> = scalars
        .iter()
        .zip(&mut outs)
        .map(|(private, out)| Public { private, out, ok: false })
        .collect();
    public(path, curve, &mut lanes);
    assert!(lanes.iter().all(|lane| lane.ok), "{path:?} {curve:?}");
    outs
}

fn derives(path: Path, curve: Curve, scalars: &[Vec<u8>], peers: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut outs = vec![vec![0xaa; 2 * curve.len()]; scalars.len()];
    let mut lanes: Vec<_> = scalars
        .iter()
        .zip(peers)
        .zip(&mut outs)
        .map(|((private, peer), out)| Derive { private, peer, out, ok: false })
        .collect();
    derive(path, curve, &mut lanes);
    assert!(lanes.iter().all(|lane| lane.ok), "{path:?} {curve:?}");
    outs
}

fn signs(
    path: Path,
    curve: Curve,
    privates: &[Vec<u8>],
    nonces: &[Vec<u8>],
    digests: &[Vec<u8>],
) -> Vec<(bool, Vec<u8>)> {
    let mut outs = vec![vec![0xaa; 2 * curve.len()]; privates.len()];
    let mut lanes: Vec<_> = outs
        .iter_mut()
        .enumerate()
        .map(|(i, signature)| Sign {
            private: &privates[i],
            nonce: &nonces[i],
            digest: &digests[i],
            signature,
            ok: false,
        })
        .collect();
    sign(path, curve, &mut lanes);
    let oks: Vec<_> = lanes.iter().map(|lane| lane.ok).collect();
    oks.into_iter().zip(outs).collect()
}

fn verifies(
    path: Path,
    curve: Curve,
    publics: &[Vec<u8>],
    digests: &[Vec<u8>],
    signatures: &[Vec<u8>],
) -> Vec<bool> {
    let mut lanes: Vec<_> = (0..publics.len())
        .map(|i| Verify {
            public: &publics[i],
            digest: &digests[i],
            signature: &signatures[i],
            ok: i % 2 == 0,
        })
        .collect();
    verify(path, curve, &mut lanes);
    lanes.iter().map(|lane| lane.ok).collect()
}

/// What the portable path is given: it takes a second for eight in a debug build.
fn few<T>(path: Path, all: Vec<T>) -> Vec<T> {
    let every = if path == Path::Portable { all.len().div_ceil(8) } else { 1 };
    all.into_iter().step_by(every).collect()
}

#[test]
fn public_keys_are_openssls() {
    let mut random = Random(1);
    for path in Path::all() {
        for curve in Curve::ALL {
            let group = Group::new(curve);
            let mut scalars = edges(curve, &group);
            scalars.extend((0..16).map(|_| random.scalar(curve, &group)));
            let scalars = few(path, scalars);
            for (k, got) in scalars.iter().zip(publics(path, curve, &scalars)) {
                let right = group.multiply(k, None).unwrap();
                assert!(got == right, "{path:?} {curve:?} {k:02x?}");
            }
        }
    }
}

#[test]
fn products_are_openssls() {
    let mut random = Random(2);
    for path in Path::all() {
        for curve in Curve::ALL {
            let group = Group::new(curve);
            let mut scalars = edges(curve, &group);
            scalars.extend((0..16).map(|_| random.scalar(curve, &group)));
            let scalars = few(path, scalars);
            // G, -G and others.
            let peers: Vec<_> = (0..scalars.len())
                .map(|i| {
                    let k = match i % 4 {
                        0 => small(curve, &group, 1),
                        1 => small(curve, &group, -1),
                        _ => random.scalar(curve, &group),
                    };
                    group.multiply(&k, None).unwrap()
                })
                .collect();
            let products = derives(path, curve, &scalars, &peers);
            for ((k, peer), got) in scalars.iter().zip(&peers).zip(products) {
                let right = group.multiply(&[], Some((k, peer))).unwrap();
                assert!(got == right, "{path:?} {curve:?} {k:02x?}");
            }
        }
    }
}

#[test]
fn signatures_are_right() {
    let mut random = Random(3);
    for path in Path::all() {
        for curve in Curve::ALL {
            let group = Group::new(curve);
            let count = if path == Path::Portable { 8 } else { 40 };
            let mut make =
                || -> Vec<_> { (0..count).map(|_| random.scalar(curve, &group)).collect() };
            let (mut privates, mut nonces) = (make(), make());
            let mut digests: Vec<_> = (0..count).map(|_| random.digest(curve)).collect();
            // u1 = 0; a digest above the order; edges of the scalars.
            digests[0].fill(0);
            digests[1] = group.order();
            digests[2].fill(0xff);
            if curve == Curve::P521 {
                digests[2][0] = 1;
            }
            nonces[3] = small(curve, &group, 1);
            nonces[4] = small(curve, &group, -1);
            privates[5] = small(curve, &group, 1);
            privates[6] = small(curve, &group, if curve == Curve::Sm2 { -2 } else { -1 });
            let publics = publics(path, curve, &privates);
            let signed = signs(path, curve, &privates, &nonces, &digests);
            assert!(signed.iter().all(|s| s.0), "{path:?} {curve:?}");
            let signatures: Vec<_> = signed.into_iter().map(|s| s.1).collect();
            for i in 0..count {
                let right = if curve == Curve::Sm2 {
                    sm2_verify(&group, &publics[i], &digests[i], &signatures[i])
                } else {
                    group.verify(&publics[i], &digests[i], &signatures[i])
                };
                assert!(right, "{path:?} {curve:?} {i}");
            }
            let ours = verifies(path, curve, &publics, &digests, &signatures);
            assert!(ours.iter().all(|&ok| ok), "{path:?} {curve:?} {ours:?}");
            // Any bit of any part.
            let spoil = |strings: &[Vec<u8>], i: usize| {
                let mut strings = strings.to_vec();
                for (lane, string) in strings.iter_mut().enumerate() {
                    let at = (i + 13 * lane) % string.len();
                    string[at] ^= 1 << (lane % 8);
                }
                strings
            };
            let n = curve.len();
            for at in [0, n / 2, n - 1] {
                let r = verifies(path, curve, &publics, &digests, &spoil(&signatures, at));
                assert!(r.iter().all(|&ok| !ok), "{path:?} {curve:?} {r:?}");
                if path == Path::Portable {
                    break;
                }
                let digests = spoil(&digests, at);
                let e = verifies(path, curve, &publics, &digests, &signatures);
                assert!(e.iter().all(|&ok| !ok), "{path:?} {curve:?} {e:?}");
            }
            // Another key's.
            let mut publics = publics;
            publics.rotate_left(1);
            let other = verifies(path, curve, &publics, &digests, &signatures);
            assert!(other.iter().all(|&ok| !ok), "{path:?} {curve:?} {other:?}");
        }
    }
}

/// Verification of GB/T 32918.2 by OpenSSL's points and numbers.
fn sm2_verify(group: &Group, public: &[u8], digest: &[u8], signature: &[u8]) -> bool {
    let (r, s) = signature.split_at(32);
    let t = group.multiply_add(r, &[1], s);
    let point = group.multiply(s, Some((&t, public))).unwrap();
    group.multiply_add(&point[..32], &[1], digest) == r
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// The example of GB/T 32918.5, A.2.
#[test]
fn sm2_example() {
    let private = hex("3945208f7b2144b13f36e38ac6d39f95889393692860b51a42fb81ef4df7c5b8");
    let public = hex("09f9df311e5421a150dd7d161e4bc5c672179fad1833fc076bb08ff356f35020\
         ccea490ce26775a52dc6ea718cc1aa600aed05fbf35e084a6632f6072da9ad13");
    let nonce = hex("59276e27d506861a16680f3ad9c02dccef3cc1fa3cdbe4ce6d54b80deac1bc21");
    let digest = hex("f0b43e94ba45accaace692ed534382eb17e6ab5a19ce7b31f4486fdfc0d28640");
    let signature = hex("f5a03b0648d2c4630eeac513e1bb81a15944da3827d5b74143ac7eaceee720b3\
         b1b6aa29df212fd8763182bc0d421ca1bb9038fd1f7f42d4840b69c485bbc1aa");
    for path in Path::all() {
        let one = std::slice::from_ref;
        assert_eq!(publics(path, Curve::Sm2, one(&private))[0], public);
        let signed = signs(path, Curve::Sm2, one(&private), one(&nonce), one(&digest));
        assert_eq!(signed[0], (true, signature.clone()));
        assert!(verifies(path, Curve::Sm2, one(&public), one(&digest), one(&signature))[0]);
    }
}

#[test]
fn openssls_signatures_are_accepted() {
    let mut random = Random(4);
    for path in Path::all() {
        for curve in Curve::ALL {
            if curve == Curve::Sm2 || path == Path::Portable && curve != Curve::P256 {
                continue;
            }
            let group = Group::new(curve);
            let privates: Vec<_> = (0..8).map(|_| random.scalar(curve, &group)).collect();
            let digests: Vec<_> = (0..8).map(|_| random.digest(curve)).collect();
            let shorter = if curve == Curve::P521 { 64 } else { curve.len() };
            let digests: Vec<_> = digests
                .into_iter()
                .map(|mut digest| {
                    digest[..curve.len() - shorter].fill(0);
                    digest
                })
                .collect();
            let signatures: Vec<_> = privates
                .iter()
                .zip(&digests)
                .map(|(private, digest)| group.sign(private, &digest[curve.len() - shorter..]))
                .collect();
            let publics = publics(path, curve, &privates);
            assert_eq!(verifies(path, curve, &publics, &digests, &signatures), [true; 8]);
        }
    }
}

/// Numbers out of range and strings of the wrong length are refused, leave zeros behind and do not
/// disturb the other lanes.
#[test]
fn what_is_wrong_is_refused() {
    let mut random = Random(5);
    for path in Path::all() {
        for curve in Curve::ALL {
            if path == Path::Portable && curve != Curve::Sm2 {
                continue;
            }
            let group = Group::new(curve);
            let n = curve.len();
            let good = random.scalar(curve, &group);
            let mut above = group.order();
            above[n - 1] += 2;
            let bad: [&[u8]; 6] =
                [&vec![0; n], &group.order(), &above, &vec![0xff; n], &good[1..], &[]];
            let digest = random.digest(curve);
            let public_key = group.multiply(&good, None).unwrap();

            // The good one is the last lane, and also the first where the bad ones follow.
            let mut privates: Vec<&[u8]> = bad.to_vec();
            privates.push(&good);
            let mut outs = vec![vec![0xaa; 2 * n]; 7];
            let mut lanes: Vec<_> = privates
                .iter()
                .zip(&mut outs)
                .map(|(private, out)| Derive { private, peer: &public_key, out, ok: true })
                .collect();
            derive(path, curve, &mut lanes);
            let oks: Vec<_> = lanes.iter().map(|lane| lane.ok).collect();
            assert_eq!(oks, [false, false, false, false, false, false, true]);
            assert!(outs[..6].iter().flatten().all(|&byte| byte == 0), "{path:?} {curve:?}");
            assert!(outs[6] == group.multiply(&[], Some((&good, &public_key))).unwrap());

            // Private key, nonce and digest in turn.
            for (i, wrong) in bad.iter().enumerate() {
                let nonce = random.scalar(curve, &group);
                let cases: [[&[u8]; 3]; 4] = [
                    [&good, &nonce, &digest],
                    [wrong, &nonce, &digest],
                    [&good, wrong, &digest],
                    [&good, &nonce, if i < 4 { &digest } else { wrong }],
                ];
                let mut outs = vec![vec![0xaa; 2 * n]; 4];
                let mut lanes: Vec<_> = cases
                    .iter()
                    .zip(&mut outs)
                    .map(|([private, nonce, digest], signature)| Sign {
                        private,
                        nonce,
                        digest,
                        signature,
                        ok: false,
                    })
                    .collect();
                sign(path, curve, &mut lanes);
                let oks: Vec<_> = lanes.iter().map(|lane| lane.ok).collect();
                assert_eq!(oks, [true, false, false, i < 4], "{path:?} {curve:?}");
                assert!(outs[1].iter().chain(&outs[2]).all(|&byte| byte == 0));
                assert!(i < 4 || outs[3].iter().all(|&byte| byte == 0));

                // r and s in turn.
                let right = &outs[0];
                let with = |at: usize| {
                    let mut signature = right.clone();
                    signature.splice(at..at + n, wrong.iter().copied());
                    signature
                };
                let signatures = [right.clone(), with(0), with(n)];
                let publics = vec![public_key.clone(); 3];
                let digests = vec![digest.clone(); 3];
                let oks = verifies(path, curve, &publics, &digests, &signatures);
                assert_eq!(oks, [true, false, false], "{path:?} {curve:?}");
                if path == Path::Portable {
                    break;
                }
            }
        }
    }
}

/// The key order - 1 has no SM2 signatures, and a nonce that r would give away is refused.
#[test]
fn sm2_refuses_what_it_must() {
    let group = Group::new(Curve::Sm2);
    let mut random = Random(6);
    let nonce = random.scalar(Curve::Sm2, &group);
    let last = small(Curve::Sm2, &group, -1);
    let good = random.scalar(Curve::Sm2, &group);
    let digest = random.digest(Curve::Sm2);
    // e = -x - k makes r + k = 0, e = -x makes r = 0.
    let x = group.multiply(&nonce, None).unwrap()[..32].to_vec();
    let minus_x = group.multiply_add(&x, &last, &[]);
    let minus_both = group.multiply_add(&nonce, &last, &minus_x);
    let privates = [last, good.clone(), good.clone(), good];
    let nonces = vec![nonce; 4];
    let digests = [digest.clone(), minus_both, minus_x, digest];
    for path in Path::all() {
        let signed = signs(path, Curve::Sm2, &privates, &nonces, &digests);
        let oks: Vec<_> = signed.iter().map(|s| s.0).collect();
        assert_eq!(oks, [false, false, false, true], "{path:?}");
    }
}

/// Where u1 G = u2 Q the sum is a doubling, where u1 G = -u2 Q it is infinity; with chosen r and s
/// these occur.
#[test]
fn verification_adds_equal_points() {
    for path in Path::all() {
        for curve in [Curve::P224, Curve::P256, Curve::P384, Curve::P521] {
            if path == Path::Portable && curve != Curve::P256 {
                continue;
            }
            let group = Group::new(curve);
            let (one, two) = (small(curve, &group, 1), small(curve, &group, 2));
            // Q = G, e = r: u1 = u2 = r / s. With r = x(2 G) and s = r: G + G = 2 G.
            let publics = vec![group.multiply(&one, None).unwrap(); 2];
            let r = group.multiply(&two, None).unwrap()[..curve.len()].to_vec();
            let r = group.multiply_add(&r, &[1], &[]);
            // And e = -r: G - G.
            let minus = group.multiply_add(&r, &small(curve, &group, -1), &[]);
            let digests = vec![r.clone(), minus];
            let signatures = vec![[r.clone(), r].concat(); 2];
            assert!(group.verify(&publics[0], &digests[0], &signatures[0]));
            assert_eq!(verifies(path, curve, &publics, &digests, &signatures), [true, false]);
        }
    }
}
