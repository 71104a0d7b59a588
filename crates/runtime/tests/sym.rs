//! Symmetric sessions: what every form of a request promises.

use std::time::Duration;

use lookaside::{
    Aead, AeadSession, Auth, Buf, Carried, ChainOrder, ChainSession, Cipher, DigestSession, Hash,
    InstanceConfig, Iv, Op, OpError, Packet, Request, Response, Runtime, SetupError, Span,
};
use lookaside_cpu::cpu;

fn runtime() -> Runtime {
    Runtime::builder().device(cpu()).engines(0).start().unwrap()
}

fn call(runtime: &Runtime, request: Request) -> Response {
    runtime.handle().call(request).wait()
}

#[test]
fn operations_of_other_sessions_are_refused() {
    let runtime = runtime();
    let cipher = runtime.cipher(Cipher::AesCtr, &[1; 16]).unwrap();
    let digest = runtime.digest(Auth::Hmac(Hash::Sha256), &[1; 16], 32).unwrap();
    let aead = runtime.aead(Aead::AesGcm, &[1; 16], 16).unwrap();
    let p = || Packet { iv: [0; 12].into(), ..Packet::default() };
    let ops = [Op::Encrypt, Op::Decrypt, Op::Digest, Op::Verify, Op::Seal, Op::Open, Op::Copy];
    for (i, op) in ops.into_iter().enumerate() {
        let own = |kind: usize| i / 2 == kind && op != Op::Copy;
        let refused = |e: Option<OpError>| e == Some(OpError::Unsupported);
        let dst = &mut [0; 64];
        assert_eq!(refused(cipher.at_once(op, &mut p(), None, dst).err()), !own(0), "{op:?}");
        assert_eq!(refused(digest.at_once(op, &mut p(), None, dst).err()), !own(1), "{op:?}");
        assert_eq!(refused(aead.at_once(op, &mut p(), None, dst).err()), !own(2), "{op:?}");
        assert_eq!(refused(cipher.start(op, &[0; 12]).err()), !own(0), "{op:?}");
        assert_eq!(refused(digest.start(op, &[]).err()), !own(1), "{op:?}");
        assert_eq!(refused(aead.start(op, &[0; 12]).err()), !own(2), "{op:?}");
        let mut running = aead.start(Op::Seal, &[0; 12]).unwrap();
        assert_eq!(refused(running.restart(op, &[0; 12]).err()), !own(2), "{op:?}");
    }
}

/// An empty source means in place, also when it is a list.
#[test]
fn a_list_of_nothing_is_no_source() {
    let runtime = runtime();
    let cipher = runtime.cipher(Cipher::AesCtr, &[1; 16]).unwrap();
    let p = Packet { iv: [0; 16].into(), cipher: Span::new(0, 20), ..Packet::default() };
    let expected = call(&runtime, cipher.encrypt(p, Buf::empty(), Buf::zeroed(20)));
    let expected = expected.dst.into_vec();
    for segments in 0..3 {
        let src = Buf::list((0..segments).map(|_| Buf::empty()).collect());
        let r = call(&runtime, cipher.encrypt(p, src, Buf::zeroed(20)));
        assert_eq!(r.packets()[0].result, Ok(20), "{segments} segments");
        assert_eq!(r.dst.into_vec(), expected);
    }
}

/// A box that comes from an earlier response holds no results of that.
#[test]
fn packets_of_a_request_that_does_not_run_say_so() {
    let runtime = runtime();
    let cipher = runtime.cipher(Cipher::AesCtr, &[1; 16]).unwrap();
    let p = Packet { iv: [0; 16].into(), cipher: Span::new(0, 20), ..Packet::default() };
    for carried in [Box::<Carried>::from(p), vec![p; 1].into(), vec![p; 3].into()] {
        let first = cipher.encrypt(carried, Buf::empty(), Buf::zeroed(20));
        let r = call(&runtime, first);
        assert!(r.packets().iter().all(|p| p.result == Ok(20)));
        let mut second = cipher.encrypt(r.carried.unwrap(), Buf::empty(), Buf::zeroed(20));
        second.op = Op::Seal;
        let r = call(&runtime, second);
        assert_eq!(r.result, Err(OpError::Unsupported));
        assert!(r.packets().iter().all(|p| p.result == Err(OpError::Unsupported)));
    }
}

/// Where packets of a burst lie, and how many they are, is the caller's choice.
#[test]
fn bursts_of_any_number() {
    let runtime = runtime();
    let gcm = runtime.aead(Aead::AesGcm, &[1; 16], 16).unwrap();
    let ccm = runtime.aead(Aead::AesCcm, &[1; 16], 16).unwrap();
    let chacha = runtime.aead(Aead::ChaCha20Poly1305, &[1; 32], 16).unwrap();
    for session in [gcm, ccm, chacha] {
        for n in [1usize, 2, 31, 32, 33, 64, 65, 10_000] {
            let packet = |i: usize| {
                let mut iv = [0; 12];
                iv[..8].copy_from_slice(&i.to_le_bytes());
                let cipher = Span::new(i as u32 * 146, 130);
                let tag = cipher.offset + 130;
                Packet { iv: iv.into(), cipher, tag, ..Packet::default() }
            };
            let packets: Vec<Packet> = (0..n).map(packet).collect();
            let r =
                call(&runtime, session.seal(packets.clone(), Buf::empty(), Buf::zeroed(n * 146)));
            assert_eq!(r.result.unwrap().produced, n * 130);
            let sealed = r.dst.into_vec();
            let last = n - 1;
            let alone = call(
                &runtime,
                session.seal(
                    Packet { cipher: Span::new(0, 130), tag: 130, ..packet(last) },
                    Buf::empty(),
                    Buf::zeroed(146),
                ),
            );
            assert!(alone.dst.into_vec() == sealed[last * 146..]);
            let mut bad = sealed.clone();
            bad[last * 146] ^= 1;
            let r = call(&runtime, session.open(packets, Buf::from(bad), Buf::zeroed(n * 146)));
            assert_eq!(r.result, Err(OpError::AuthFailed));
            let failed = r.packets().iter().filter(|p| p.result.is_err()).count();
            assert_eq!(failed, 1);
            assert!(r.dst.into_vec()[last * 146..].iter().all(|b| *b == 0));
        }
        let r = call(&runtime, session.seal(Vec::new(), Buf::empty(), Buf::zeroed(100)));
        assert!(matches!(r.result, Err(OpError::BadInput { .. })));
    }
}

/// The digests of texts that lie one after the other, in an array of their own.
#[test]
fn digests_of_a_burst_lie_together() {
    let runtime = runtime();
    let session = runtime.digest(Auth::Plain(Hash::Sha256), &[], 32).unwrap();
    let text: Vec<u8> = (0..4000u32).map(|i| (i * 7) as u8).collect();
    let packets: Vec<Packet> = (0..40)
        .map(|i| Packet { auth: Span::new(i * 100, 100), tag: i * 32, ..Packet::default() })
        .collect();
    let r = call(&runtime, session.digest(packets, Buf::from(&*text), Buf::zeroed(40 * 32)));
    assert_eq!(r.result.unwrap().produced, 40 * 32);
    let digests = r.dst.into_vec();
    for (text, digest) in text.chunks(100).zip(digests.chunks(32)) {
        let p = Packet { auth: Span::new(0, 100), ..Packet::default() };
        let r = call(&runtime, session.digest(p, Buf::from(text), Buf::zeroed(32)));
        assert_eq!(r.dst.into_vec(), digest);
    }
}

/// The last packet first.
#[test]
fn a_burst_may_lie_backwards() {
    let runtime = runtime();
    let session = runtime.aead(Aead::ChaCha20Poly1305, &[1; 32], 16).unwrap();
    let packet = |at: u32| Packet {
        iv: [0; 12].into(),
        cipher: Span::new(at, 84),
        tag: at + 84,
        ..Packet::default()
    };
    let forth: Vec<Packet> = (0..40).map(|i| packet(i * 100)).collect();
    let back: Vec<Packet> = forth.iter().rev().copied().collect();
    for apart in [true, false] {
        let src = || if apart { Buf::zeroed(4000) } else { Buf::empty() };
        let expected = call(&runtime, session.seal(forth.clone(), src(), Buf::zeroed(4000)));
        expected.result.unwrap();
        let r = call(&runtime, session.seal(back.clone(), src(), Buf::zeroed(4000)));
        r.result.unwrap();
        assert!(r.dst.into_vec() == expected.dst.into_vec());
    }
}

/// Offsets and lengths whose sums do not fit 32 bits. They do no harm to other packets.
#[test]
fn offsets_at_the_end_of_numbers() {
    let runtime = runtime();
    let sessions = [
        runtime.aead(Aead::AesGcm, &[1; 16], 16).unwrap(),
        runtime.aead(Aead::ChaCha20Poly1305, &[1; 32], 16).unwrap(),
    ];
    let edges = [0, 1, 50, u32::MAX - 16, u32::MAX - 1, u32::MAX];
    for session in &sessions {
        let good = |at| Packet {
            iv: [0; 12].into(),
            cipher: Span::new(at, 20),
            tag: at + 20,
            ..Packet::default()
        };
        for a in edges {
            for b in edges {
                for c in edges {
                    let bad = Packet {
                        iv: [0; 12].into(),
                        aad: Span::new(a, b),
                        cipher: Span::new(c, a),
                        tag: b,
                        ..Packet::default()
                    };
                    for apart in [true, false] {
                        for op in [Op::Seal, Op::Open] {
                            let src = if apart { Buf::zeroed(100) } else { Buf::empty() };
                            let packets = vec![good(0), bad, good(50)];
                            let mut request = session.seal(packets, src, Buf::zeroed(100));
                            request.op = op;
                            let r = call(&runtime, request);
                            let good = match op {
                                Op::Seal => Ok(20),
                                _ => Err(OpError::AuthFailed),
                            };
                            let results: Vec<_> = r.packets().iter().map(|p| p.result).collect();
                            assert_eq!((results[0], results[2]), (good, good), "{bad:?}");
                            assert!(!matches!(results[1], Err(OpError::DeviceLost(_))), "{bad:?}");
                        }
                    }
                }
            }
        }
    }
}

/// Packets of a burst have the session that they name, wherever they lie.
#[test]
fn bursts_of_many_sessions() {
    const LEN: usize = 80;
    const STRIDE: usize = 128;
    let runtime = runtime();
    let key = |i: usize| [i as u8 + 1; 16];
    let chain = |i: usize| {
        let (cipher, auth) = ((Cipher::AesCbc, &key(i)[..]), (Auth::Hmac(Hash::Sha1), &key(i)[..]));
        runtime.chain(cipher, auth, 16, ChainOrder::CipherThenAuth).unwrap()
    };
    type Seal = Box<dyn Fn(Box<Carried>, Buf, Buf) -> Request>;
    let aead = |aead, long: bool| -> (Vec<Seal>, Seal, usize) {
        let make = |i| runtime.aead(aead, &key(i).repeat(1 + usize::from(long)), 16).unwrap();
        let all: Vec<_> = (0..40).map(make).collect();
        let set = runtime.set(&all).unwrap();
        let each = |s: AeadSession| -> Seal { Box::new(move |p, src, dst| s.seal(p, src, dst)) };
        (all.into_iter().map(each).collect(), each(set), 12)
    };
    let chains: Vec<_> = (0..40).map(chain).collect();
    let chain_set = runtime.set(&chains).unwrap();
    let each = |s: ChainSession| -> Seal { Box::new(move |p, src, dst| s.seal(p, src, dst)) };
    let chains = (chains.into_iter().map(each).collect(), each(chain_set), 16);
    let digest = |i| runtime.digest(Auth::Hmac(Hash::Sha256), &key(i), 32).unwrap();
    let digests: Vec<_> = (0..40).map(digest).collect();
    let digest_set = runtime.set(&digests).unwrap();
    let each = |s: DigestSession| -> Seal { Box::new(move |p, src, dst| s.digest(p, src, dst)) };
    let digests = (digests.into_iter().map(each).collect(), each(digest_set), 0);
    for (one, set, iv) in [
        aead(Aead::AesGcm, false),
        aead(Aead::AesCcm, false),
        aead(Aead::ChaCha20Poly1305, true),
        chains,
        digests,
    ] {
        for n in [1usize, 2, 5, 32, 40, 100] {
            let session = |i: usize| (i * 7 + n) % 40;
            let packet = |i: usize, at: usize| {
                let text = Span::new(at as u32, LEN as u32);
                let iv = Iv::new(&[i as u8; 16][..iv]).unwrap();
                let (session, tag) = (session(i) as u32, text.offset + text.len);
                Packet { iv, cipher: text, auth: text, tag, session, ..Packet::default() }
            };
            let text = |i: usize| -> Vec<u8> { (0..STRIDE).map(|k| (k * 3 + i) as u8).collect() };
            let expected: Vec<u8> = (0..n)
                .flat_map(|i| {
                    let p = packet(i, 0);
                    let r = call(&runtime, one[session(i)](p.into(), Buf::empty(), text(i).into()));
                    r.result.unwrap();
                    r.dst.into_vec()
                })
                .collect();
            let all: Vec<u8> = (0..n).flat_map(text).collect();
            let packets: Vec<_> = (0..n).map(|i| packet(i, i * STRIDE)).collect();
            let list = |bytes: &[u8]| Buf::list(bytes.chunks(STRIDE).map(Buf::from).collect());
            let in_segments: Vec<_> = (0..n).map(|i| packet(i, 0)).collect();
            let backwards: Vec<_> = packets.iter().rev().copied().collect();
            let cases = [
                ("in place", packets.clone(), Buf::empty(), Buf::from(&*all)),
                ("apart", packets.clone(), Buf::from(&*all), Buf::from(&*all)),
                ("backwards", backwards, Buf::empty(), Buf::from(&*all)),
                ("segments in place", in_segments.clone(), Buf::empty(), list(&all)),
                ("segments apart", in_segments.clone(), list(&all), list(&all)),
            ];
            for (what, packets, src, dst) in cases {
                let r = call(&runtime, set(packets.into(), src, dst));
                assert!(r.result.is_ok(), "{what}, {n}: {:?}", r.result);
                assert!(r.dst.into_vec() == expected, "{what}, {n}");
            }
            // One packet names a session that is not there: the others are served.
            let mut packets = packets;
            packets[n / 2].session = 40;
            let r = call(&runtime, set(packets.into(), Buf::empty(), Buf::from(&*all)));
            assert!(matches!(r.result, Err(OpError::BadInput(_))), "{:?}", r.result);
            assert_eq!(r.packets().iter().filter(|p| p.result.is_err()).count(), 1);
            let bytes = r.dst.into_vec();
            for (i, (a, b)) in bytes.chunks(STRIDE).zip(expected.chunks(STRIDE)).enumerate() {
                let expected = if i == n / 2 { text(i) } else { b.to_vec() };
                assert!(a == expected, "packet {i} of {n}");
            }
            // Requests of one packet each name theirs too.
            let r = call(&runtime, set(packet(n - 1, 0).into(), Buf::empty(), text(n - 1).into()));
            assert!(r.dst.into_vec() == expected[(n - 1) * STRIDE..]);
        }
    }
}

#[test]
fn what_no_set_is_made_of() {
    let runtime = runtime();
    let gcm = |key: &[u8], tag| runtime.aead(Aead::AesGcm, key, tag).unwrap();
    assert!(matches!(runtime.set::<AeadSession>(&[]), Err(SetupError::Limit { .. })));
    let refused = |sessions: &[AeadSession]| match runtime.set(sessions) {
        Err(SetupError::Key { .. }) => true,
        other => panic!("{other:?}"),
    };
    assert!(refused(&[gcm(&[1; 16], 16), gcm(&[1; 32], 16)]));
    assert!(refused(&[gcm(&[1; 16], 16), gcm(&[1; 16], 12)]));
    let ccm = runtime.aead(Aead::AesCcm, &[1; 16], 16).unwrap();
    assert!(refused(&[gcm(&[1; 16], 16), ccm]));
    let elsewhere = self::runtime().aead(Aead::AesGcm, &[1; 16], 16).unwrap();
    assert!(refused(&[gcm(&[1; 16], 16), elsewhere]));
    let set = runtime.set(&[gcm(&[1; 16], 16), gcm(&[2; 16], 16)]).unwrap();
    assert!(matches!(runtime.set(std::slice::from_ref(&set)), Err(SetupError::Unsupported { .. })));
    assert!(matches!(set.start(Op::Seal, &[0; 12]), Err(OpError::Unsupported)));
    // At once, as requests.
    let mut packet = Packet { iv: [1; 12].into(), tag: 0, session: 1, ..Packet::default() };
    let (mut a, mut b) = ([0; 16], [0; 16]);
    set.at_once(Op::Seal, &mut packet, None, &mut a).unwrap();
    gcm(&[2; 16], 16).at_once(Op::Seal, &mut packet, None, &mut b).unwrap();
    assert_eq!(a, b);
    packet.session = 2;
    let refused = set.at_once(Op::Seal, &mut packet, None, &mut a);
    assert!(matches!(refused, Err(OpError::BadInput(_))));
}

/// A source that ends with its text, and a destination of an opened one that has no room for a tag.
#[test]
fn memory_apart_that_is_just_long_enough() {
    let runtime = runtime();
    type Call = Box<dyn Fn(bool, Packet, Buf, Buf) -> Request>;
    let sealer = |s: AeadSession| -> Call {
        Box::new(
            move |seal, p, src, dst| if seal { s.seal(p, src, dst) } else { s.open(p, src, dst) },
        )
    };
    let chain = |cipher, key: &[u8], auth| -> Call {
        let order = ChainOrder::CipherThenAuth;
        let s = runtime.chain((cipher, key), (auth, &[5; 20]), 16, order).unwrap();
        Box::new(
            move |seal, p, src, dst| if seal { s.seal(p, src, dst) } else { s.open(p, src, dst) },
        )
    };
    let aead = |aead, key: usize| sealer(runtime.aead(aead, &vec![3; key], 16).unwrap());
    let calls = [
        (12, aead(Aead::AesGcm, 16)),
        (12, aead(Aead::AesGcm, 32)),
        (16, aead(Aead::AesGcm, 16)),
        (12, aead(Aead::AesCcm, 16)),
        (12, aead(Aead::ChaCha20Poly1305, 32)),
        (16, chain(Cipher::AesCbc, &[4; 16], Auth::Hmac(Hash::Sha1))),
        (16, chain(Cipher::AesCtr, &[4; 16], Auth::Hmac(Hash::Sha256))),
        (8, chain(Cipher::TripleDesCbc, &[4; 24], Auth::Hmac(Hash::Sha512))),
    ];
    for (which, (iv, request)) in calls.iter().enumerate() {
        for len in [16usize, 64, 256, 1024, 2000, 16_384] {
            let plain: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let text = Span::new(0, len as u32);
            let iv = Iv::new(&[9; 16][..*iv]).unwrap();
            let p = Packet { iv, cipher: text, auth: text, tag: text.len, ..Packet::default() };
            for n in [1, 40] {
                let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
                let mut run = |seal, src: &[u8], room: usize| -> Vec<Vec<u8>> {
                    for _ in 0..n {
                        instance.push(request(seal, p, src.into(), Buf::zeroed(room))).unwrap();
                    }
                    let mut bytes = Vec::new();
                    while bytes.len() < n {
                        instance.wait(Duration::from_secs(10));
                        bytes.extend(instance.poll().map(|r| {
                            assert_eq!(
                                r.result.map(|d| d.produced),
                                Ok(len),
                                "{which}, {len}, {n}"
                            );
                            r.dst.into_vec()
                        }));
                    }
                    bytes
                };
                let sealed = run(true, &plain, len + 16);
                assert!(sealed.iter().all(|s| *s == sealed[0] && s[..len] != plain));
                let opened = run(false, &sealed[0], len);
                assert!(opened.iter().all(|o| *o == plain));
            }
        }
    }
}
