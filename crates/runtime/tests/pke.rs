//! Every typed session of the public-key and key-derivation services through the CPU device, with
//! 0 engines and with threads: what one operation makes another accepts, and damage is refused.

use std::time::Duration;

use lookaside::{
    Arithmetic, Buf, Curve, DhGroup, DsaDomain, EdCurve, Hash, HkdfMode, InstanceConfig, Nonce,
    OpError, PointStep, Request, RsaCrt, RsaPrivateKey, RsaPublicKey, RsaScheme, Runtime, SaltLen,
    SetupError, Sm2Role, WeierstrassParams, XdhCurve,
};

type Answer = Result<Vec<u8>, OpError>;

/// Runs requests side by side and returns what they wrote, in order.
fn all(runtime: &Runtime, requests: Vec<Request>) -> Vec<Answer> {
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let count = requests.len();
    for (tag, request) in requests.into_iter().enumerate() {
        instance.push(request.tag(tag as u64)).unwrap();
    }
    let mut answers: Vec<Option<Answer>> = vec![None; count];
    while instance.outstanding() > 0 {
        assert!(instance.wait(Duration::from_secs(60)), "no answer");
        for response in instance.poll() {
            let written = response.result.map(|done| {
                let mut bytes = Vec::new();
                response.dst.gather(&mut bytes);
                bytes.truncate(done.produced);
                bytes
            });
            answers[response.tag as usize] = Some(written);
        }
    }
    answers.into_iter().map(Option::unwrap).collect()
}

fn one(runtime: &Runtime, request: Request) -> Answer {
    all(runtime, vec![request]).remove(0)
}

fn src(parts: &[&[u8]]) -> Buf {
    Buf::secret(parts.concat())
}

fn dst(len: usize) -> Buf {
    Buf::zeroed(len)
}

fn runtimes() -> [Runtime; 2] {
    [0, 1].map(|n| Runtime::builder().device(lookaside_cpu::cpu()).engines(n).start().unwrap())
}

/// A key made by the device, cut into its parts.
fn rsa_key(runtime: &Runtime, bits: usize) -> (RsaPrivateKey, RsaPublicKey) {
    let e = vec![1, 0, 1];
    let session = runtime.rsa_generate(bits as u32).unwrap();
    let made = one(runtime, session.generate(Buf::from(&e[..]), dst(8 * bits / 8))).unwrap();
    let (k, half) = (bits / 8, bits / 16);
    let part = |at: usize, len: usize| made[at..at + len].to_vec();
    let (n, d) = (part(0, k), part(k, k));
    let crt = |i: usize| part(2 * k + i * half, half).into();
    let crt = RsaCrt { p: crt(0), q: crt(1), dp: crt(2), dq: crt(3), qinv: crt(4) };
    let public = RsaPublicKey { n: n.clone(), e: e.clone() };
    (RsaPrivateKey { n, e, d: d.into(), crt: Some(crt) }, public)
}

const PSS: RsaScheme =
    RsaScheme::Pss { hash: Hash::Sha256, mgf: Hash::Sha256, salt: SaltLen::Digest };
const OAEP: RsaScheme = RsaScheme::Oaep { hash: Hash::Sha256, mgf: Hash::Sha256, label_len: 0 };

#[test]
fn rsa() {
    for runtime in runtimes() {
        let keys = [rsa_key(&runtime, 1024), rsa_key(&runtime, 1024)];
        let digest = [7; 32];
        let sessions = keys.clone().map(|(private, public)| {
            (runtime.rsa_private(private).unwrap(), runtime.rsa_public(public).unwrap())
        });
        // Two keys, two schemes and one that fails, in one batch.
        let sign = Some(Hash::Sha256);
        let schemes = [RsaScheme::Pkcs1Sign(sign), PSS];
        let requests = (0..9).map(|i| {
            let digest = if i == 4 { &digest[..31] } else { &digest };
            sessions[i % 2].0.run(schemes[i / 2 % 2], src(&[digest]), dst(128))
        });
        let answers = all(&runtime, requests.collect());
        for (i, answer) in answers.iter().enumerate() {
            if i == 4 {
                assert!(matches!(answer, Err(OpError::BadInput { .. })), "{answer:?}");
                continue;
            }
            let signature = answer.as_ref().unwrap();
            let (public, scheme) = (&sessions[i % 2].1, schemes[i / 2 % 2]);
            let verify = |s: &[u8]| one(&runtime, public.run(scheme, src(&[s, &digest]), dst(0)));
            assert_eq!(verify(signature), Ok(vec![]), "{i}");
            let mut damaged = signature.clone();
            damaged[77] ^= 1;
            assert_eq!(verify(&damaged), Err(OpError::AuthFailed), "{i}");
        }
        let (private, public) = &sessions[0];
        let recovered = public.recover(schemes[0], src(&[answers[0].as_ref().unwrap()]), dst(64));
        assert_eq!(one(&runtime, recovered), Ok(digest.to_vec()));
        for scheme in [RsaScheme::Pkcs1Encrypt, OAEP] {
            let sealed = one(&runtime, public.run(scheme, src(&[b"a secret"]), dst(128))).unwrap();
            let opened = one(&runtime, private.run(scheme, src(&[&sealed]), dst(128)));
            assert_eq!(opened, Ok(b"a secret".to_vec()));
        }
        // One wrong part of the key: never a signature.
        let mut broken = keys[0].0.clone();
        let mut dp = broken.crt.as_ref().unwrap().dp.to_vec();
        dp[40] ^= 4;
        broken.crt.as_mut().unwrap().dp = dp.into();
        match runtime.rsa_private(broken) {
            Err(SetupError::Key { .. }) => {}
            Ok(session) => {
                let answers = (0..8).map(|_| session.run(PSS, src(&[&digest]), dst(128)));
                for answer in all(&runtime, answers.collect()) {
                    assert_eq!(answer, Err(OpError::Fault));
                }
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn curves() {
    for runtime in runtimes() {
        for curve in Curve::ALL {
            let ec = runtime.ec(curve).unwrap();
            let (o, point) = (curve.order_len(), curve.point_len());
            // Enough for a batch side by side.
            let pairs = all(&runtime, (0..8).map(|_| ec.generate(dst(o + point))).collect());
            let pairs: Vec<Vec<u8>> = pairs.into_iter().map(Result::unwrap).collect();
            let derive = |a: &[u8], b: &[u8]| {
                ec.derive(false, src(&[&a[..o], &b[o..]]), dst(curve.field_len()))
            };
            let there = (0..8).map(|i| derive(&pairs[i], &pairs[(i + 1) % 8])).collect();
            let back = (0..8).map(|i| derive(&pairs[(i + 1) % 8], &pairs[i])).collect();
            let (there, back) = (all(&runtime, there), all(&runtime, back));
            assert!(there == back && there.iter().all(Result::is_ok), "{curve:?}");
            let digest = [3; 32];
            let sign = |p: &Vec<u8>| ec.sign(Nonce::Hedged, src(&[&p[..o], &digest]), dst(2 * o));
            let signatures = all(&runtime, pairs.iter().map(sign).collect());
            let verify = |(i, s): (usize, &Answer)| {
                let mut s = s.clone().unwrap();
                s[o + 5] ^= u8::from(i == 2);
                ec.verify(src(&[&pairs[i][o..], &s, &digest]))
            };
            let verdicts = all(&runtime, signatures.iter().enumerate().map(verify).collect());
            for (i, verdict) in verdicts.into_iter().enumerate() {
                let expected = if i == 2 { Err(OpError::AuthFailed) } else { Ok(vec![]) };
                assert_eq!(verdict, expected, "{curve:?} {i}");
            }
            let nonce = Nonce::Deterministic(Hash::Sha256);
            let again = |_| ec.sign(nonce, src(&[&pairs[0][..o], &digest]), dst(2 * o));
            let same = all(&runtime, (0..2).map(again).collect());
            assert!(same[0].is_ok() && same[0] == same[1]);
            let mut off = pairs[1].clone();
            *off.last_mut().unwrap() ^= 1;
            let refused = one(&runtime, derive(&pairs[0], &off));
            assert!(matches!(refused, Err(OpError::BadInput { .. })), "{curve:?}");
        }
    }
}

#[test]
fn edwards_and_montgomery() {
    for runtime in runtimes() {
        for curve in [XdhCurve::X25519, XdhCurve::X448] {
            let (xdh, n) = (runtime.xdh(curve).unwrap(), curve.key_len());
            let pairs = all(&runtime, (0..8).map(|_| xdh.generate(dst(2 * n))).collect());
            let pairs: Vec<Vec<u8>> = pairs.into_iter().map(Result::unwrap).collect();
            let publics = pairs.iter().map(|p| xdh.public(src(&[&p[..n]]), dst(n))).collect();
            for (public, pair) in all(&runtime, publics).into_iter().zip(&pairs) {
                assert_eq!(public.unwrap(), pair[n..]);
            }
            let derive = |a: &[u8], b: &[u8]| xdh.derive(src(&[&a[..n], &b[n..]]), dst(n));
            let there = (0..8).map(|i| derive(&pairs[i], &pairs[(i + 1) % 8])).collect();
            let back = (0..8).map(|i| derive(&pairs[(i + 1) % 8], &pairs[i])).collect();
            let (there, back) = (all(&runtime, there), all(&runtime, back));
            assert!(there == back && there.iter().all(Result::is_ok), "{curve:?}");
            let zero = one(&runtime, derive(&pairs[0], &vec![0; 2 * n]));
            assert!(matches!(zero, Err(OpError::BadInput { .. })), "{zero:?}");
        }
        for curve in [EdCurve::Ed25519, EdCurve::Ed448] {
            let (ed, n) = (runtime.eddsa(curve).unwrap(), curve.key_len());
            let pairs = all(&runtime, (0..8).map(|_| ed.generate(dst(2 * n))).collect());
            let pairs: Vec<Vec<u8>> = pairs.into_iter().map(Result::unwrap).collect();
            let message = |i: usize| vec![i as u8; 50 * i];
            let sign = |i: usize| ed.sign(src(&[&pairs[i], &message(i)]), dst(2 * n));
            let signatures = all(&runtime, (0..8).map(sign).collect());
            let verify = |i: usize| {
                let mut signature = signatures[i].clone().unwrap();
                signature[3] ^= u8::from(i == 5);
                ed.verify(src(&[&pairs[i][n..], &signature, &message(i)]))
            };
            for (i, verdict) in all(&runtime, (0..8).map(verify).collect()).into_iter().enumerate()
            {
                let expected = if i == 5 { Err(OpError::AuthFailed) } else { Ok(vec![]) };
                assert_eq!(verdict, expected, "{curve:?} {i}");
            }
        }
    }
}

#[test]
fn sm2() {
    for runtime in runtimes() {
        let sm2 = runtime.sm2().unwrap();
        let pairs = all(&runtime, (0..4).map(|_| sm2.generate(dst(97))).collect());
        let p: Vec<Vec<u8>> = pairs.into_iter().map(Result::unwrap).collect();
        let e = [9; 32];
        let signature = one(&runtime, sm2.sign(src(&[&p[0][..32], &e]), dst(64))).unwrap();
        let verify = |i: usize| sm2.verify(src(&[&p[i][32..], &signature, &e]));
        let verdicts = all(&runtime, vec![verify(0), verify(1)]);
        assert_eq!(verdicts, [Ok(vec![]), Err(OpError::AuthFailed)]);
        let sealed = one(&runtime, sm2.encrypt(src(&[&p[0][32..], b"a message"]), dst(300)));
        let opened = sm2.decrypt(src(&[&p[0][..32], &sealed.unwrap()]), dst(300));
        assert_eq!(one(&runtime, opened), Ok(b"a message".to_vec()));
        let z = [0, 1].map(|i: usize| {
            one(&runtime, sm2.identity(src(&[&p[i][32..], b"1234567812345678"]), dst(32))).unwrap()
        });
        let side = |role, own: usize, peer: usize| {
            let keys: [&[u8]; 5] =
                [&p[own][..32], &p[own + 2], &p[peer][32..], &p[peer + 2][32..], &z[own]];
            let source = src(&[&keys.concat(), &z[peer]]);
            one(&runtime, sm2.exchange(role, source, dst(48 + 64))).unwrap()
        };
        assert_eq!(side(Sm2Role::Initiator, 0, 1), side(Sm2Role::Responder, 1, 0));
    }
}

#[test]
fn groups_and_numbers() {
    let [runtime, _] = runtimes();
    // RFC 2409 section 6.2, the smallest group of the list that every build has at hand.
    let p = hex(
        "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404\
         DDEF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406\
         B7EDEE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF",
    );
    let k = p.len();
    let dh = runtime.dh(DhGroup { p: p.clone(), g: vec![2], q: None }).unwrap();
    let pairs = all(&runtime, (0..2).map(|_| dh.generate(dst(2 * k))).collect());
    let pairs: Vec<Vec<u8>> = pairs.into_iter().map(Result::unwrap).collect();
    let split = pairs[0].len() - k;
    let derive = |a: &[u8], b: &[u8]| dh.derive(src(&[&a[..split], &b[split..]]), dst(k));
    let secrets = all(&runtime, vec![derive(&pairs[0], &pairs[1]), derive(&pairs[1], &pairs[0])]);
    assert!(secrets[0].is_ok() && secrets[0] == secrets[1]);
    let one_as_peer = [vec![0; split + k - 1], vec![1]].concat();
    assert!(matches!(
        one(&runtime, derive(&pairs[0], &one_as_peer)),
        Err(OpError::BadInput { .. })
    ));

    let made =
        one(&runtime, runtime.dsa_parameters(1024, 160).unwrap().generate(dst(276))).unwrap();
    let domain =
        DsaDomain { p: made[..128].to_vec(), q: made[128..148].to_vec(), g: made[148..].to_vec() };
    let dsa = runtime.dsa(domain).unwrap();
    let pair = one(&runtime, dsa.generate(dst(148))).unwrap();
    let digest = [5; 20];
    let signature =
        one(&runtime, dsa.sign(Nonce::Hedged, src(&[&pair[..20], &digest]), dst(40))).unwrap();
    let verify = |digest: &[u8]| dsa.verify(src(&[&pair[20..], &signature, digest]));
    assert_eq!(
        all(&runtime, vec![verify(&digest), verify(&[6; 20])]),
        [Ok(vec![]), Err(OpError::AuthFailed)]
    );

    // Modulo 1009: 2^10 = 15, 3 * 673 = 1 + 2 * 1009.
    let modular = runtime.modular(&[3, 0xf1]).unwrap();
    let step = |s, parts: &[&[u8]]| modular.arithmetic(s, src(parts), dst(2));
    let answers = all(
        &runtime,
        vec![
            step(Arithmetic::Power, &[&[0, 2], &[10]]),
            step(Arithmetic::Invert, &[&[0, 3]]),
            step(Arithmetic::Multiply, &[&[0, 3], &[2, 0xa1]]),
            step(Arithmetic::Subtract, &[&[0, 0], &[0, 1]]),
            step(Arithmetic::Power, &[&[1]]),
        ],
    );
    assert_eq!(
        answers[..4],
        [Ok(vec![0, 15]), Ok(vec![2, 0xa1]), Ok(vec![0, 1]), Ok(vec![3, 0xf0])]
    );
    assert!(matches!(answers[4], Err(OpError::BadInput { .. })));

    // The field of AES: 0x53 * 0xca = 1.
    let field = runtime.binary_field(&[1, 0x1b]).unwrap();
    let step = |s, parts: &[&[u8]]| field.arithmetic(s, src(parts), dst(1));
    let answers = all(
        &runtime,
        vec![
            step(Arithmetic::Multiply, &[&[0x53], &[0xca]]),
            step(Arithmetic::Invert, &[&[0x53]]),
            step(Arithmetic::Subtract, &[&[0x53], &[0xca]]),
        ],
    );
    assert_eq!(answers, [Ok(vec![1]), Ok(vec![0xca]), Ok(vec![0x99])]);

    let prime = runtime.prime().unwrap();
    let made = one(&runtime, prime.generate(256, false, dst(32))).unwrap();
    let verdicts = all(&runtime, vec![prime.check(src(&[&made])), prime.check(src(&[&[0xff; 9]]))]);
    assert_eq!(verdicts, [Ok(vec![]), Err(OpError::AuthFailed)]);
}

#[test]
fn points_by_parameters() {
    let [runtime, _] = runtimes();
    // SP 800-186: P-256.
    let params = WeierstrassParams {
        p: hex("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff"),
        a: hex("ffffffff00000001000000000000000000000000fffffffffffffffffffffffc"),
        b: hex("5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b"),
        g: (
            hex("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"),
            hex("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"),
        ),
        order: hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"),
        cofactor: vec![1],
        binary: false,
    };
    let g = [params.g.0.clone(), params.g.1.clone()].concat();
    let session = runtime.weierstrass(params).unwrap();
    let point = |step, parts: &[&[u8]]| session.point(step, src(parts), dst(64));
    let scalar = |n: u8| [vec![0; 31], vec![n]].concat();
    let twice = one(&runtime, point(PointStep::Double, &[&g])).unwrap();
    let answers = all(
        &runtime,
        vec![
            point(PointStep::Add, &[&twice, &g]),
            point(PointStep::Multiply, &[&scalar(3), &g]),
            point(PointStep::MultiplyGenerator, &[&scalar(3)]),
        ],
    );
    assert!(answers[0].is_ok() && answers.iter().all(|a| a == &answers[0]), "{answers:?}");
    // The same by the named curve.
    let named = runtime.ec(Curve::P256).unwrap();
    let public = one(&runtime, named.public(src(&[&scalar(3)]), dst(65))).unwrap();
    assert_eq!(public[1..], *answers[0].as_ref().unwrap());
    let mut off = g.clone();
    off[3] ^= 1;
    let refused = one(&runtime, point(PointStep::Verify, &[&off]));
    assert!(matches!(refused, Err(OpError::BadInput { .. })));
    assert_eq!(one(&runtime, point(PointStep::Verify, &[&g])), Ok(vec![]));
}

#[test]
fn key_derivation() {
    let [runtime, _] = runtimes();
    // RFC 5869 appendix A.1.
    let hkdf = runtime.hkdf(Hash::Sha256).unwrap();
    let key = [0x0b; 22];
    let (salt, info) = (hex("000102030405060708090a0b0c"), hex("f0f1f2f3f4f5f6f7f8f9"));
    let okm =
        hex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
    let mode = HkdfMode::ExtractAndExpand;
    let request = hkdf.derive(mode, 22, 13, src(&[&key, &salt, &info]), dst(42));
    assert_eq!(one(&runtime, request), Ok(okm.clone()));
    // Scattered buffers are gathered and filled.
    let pieces = |b: &[u8], n: usize| Buf::list(b.chunks(n).map(Buf::from).collect());
    let all_src = [&key[..], &salt, &info].concat();
    let request = hkdf.derive(mode, 22, 13, pieces(&all_src, 7), pieces(&[0; 42], 5));
    assert_eq!(one(&runtime, request), Ok(okm));
    let too_short = hkdf.derive(mode, 22, 130, src(&[&key, &salt, &info]), dst(42));
    assert!(matches!(one(&runtime, too_short), Err(OpError::BadInput { .. })));

    // A published vector for the TLS 1.2 function with SHA-256.
    let prf = runtime.tls_prf(Hash::Sha256).unwrap();
    let secret = hex("9bbe436ba940f017b17652849a71db35");
    let seed = hex("a0ba9f936cda311827a6f796ffd5198c");
    let request = prf.derive(16, src(&[&secret, b"test label", &seed]), dst(100));
    let expected = hex(
        "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a6b301791e90d35c9c9a46b4e14baf9\
         af0fa022f7077def17abfd3797c0564bab4fbc91666e9def9b97fce34f796789baa48082d122ee42c5a72e5a5110ff\
         f70187347b66",
    );
    assert_eq!(one(&runtime, request), Ok(expected));
}

#[test]
fn bad_keys_are_refused_at_set_up() {
    let [runtime, _] = runtimes();
    let even = RsaPublicKey { n: vec![0x80; 128], e: vec![3] };
    let refused = runtime.rsa_public(even).unwrap_err();
    assert!(matches!(refused, SetupError::Key { .. }), "{refused}");
    assert!(runtime.modular(&[0]).is_err());
    assert!(runtime.rsa_generate(100).is_err());
    assert!(runtime.dh(DhGroup { p: vec![0xff; 64], g: vec![1], q: None }).is_err());
}

#[test]
fn counters_show_batches() {
    let [runtime, _] = runtimes();
    let xdh = runtime.xdh(XdhCurve::X25519).unwrap();
    all(&runtime, (0..16).map(|_| xdh.generate(dst(64))).collect());
    let counters = runtime.counters();
    let row = counters.row("cpu", lookaside::Op::XdhGenerate).unwrap();
    let lanes = lookaside_simd::Cpu::host().avx512().is_some();
    assert_eq!((row.requests, row.batches), (16, if lanes { 2 } else { 16 }));
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let digit = |d: u8| (d as char).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
