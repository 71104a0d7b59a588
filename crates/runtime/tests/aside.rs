//! Packets whose associated data or tag lie in memory of their own.

use lookaside::{
    Aead, AeadSession, Aside, Auth, Buf, Carried, ChainOrder, Cipher, Hash, Iv, OpError, Packet,
    Request, Response, Runtime, Span,
};

const AAD: usize = 13;

fn runtime() -> Runtime {
    Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap()
}

type Call = Box<dyn Fn(bool, Box<Carried>, Buf, Buf) -> Request>;

struct Algorithm {
    name: &'static str,
    iv: usize,
    tag: usize,
    aad: bool,
    request: Call,
}

fn algorithms(runtime: &Runtime) -> Vec<Algorithm> {
    let aead = |name, aead, key: usize, tag: usize| {
        let s = runtime.aead(aead, &vec![3; key], tag).unwrap();
        let request: Call = Box::new(move |seal, p, src, dst| match seal {
            true => s.seal(p, src, dst),
            false => s.open(p, src, dst),
        });
        Algorithm { name, iv: 12, tag, aad: true, request }
    };
    let chain = |name, cipher, auth, order, tag: usize| {
        let s = runtime.chain((cipher, &[4; 16]), (auth, &[5; 20]), tag, order).unwrap();
        let request: Call = Box::new(move |seal, p, src, dst| match seal {
            true => s.seal(p, src, dst),
            false => s.open(p, src, dst),
        });
        Algorithm { name, iv: 16, tag, aad: false, request }
    };
    let auth = |name, auth, key: usize, tag: usize| {
        let s = runtime.digest(auth, &vec![6; key], tag).unwrap();
        let request: Call = Box::new(move |make, p, src, dst| match make {
            true => s.digest(p, src, dst),
            false => s.verify(p, src, dst),
        });
        Algorithm { name, iv: 0, tag, aad: false, request }
    };
    use ChainOrder::*;
    vec![
        aead("AES-128-GCM", Aead::AesGcm, 16, 16),
        aead("AES-256-GCM", Aead::AesGcm, 32, 12),
        aead("AES-CCM", Aead::AesCcm, 16, 8),
        aead("ChaCha20-Poly1305", Aead::ChaCha20Poly1305, 32, 16),
        chain("CBC, SHA-1", Cipher::AesCbc, Auth::Hmac(Hash::Sha1), CipherThenAuth, 12),
        chain("CTR, SHA-512", Cipher::AesCtr, Auth::Hmac(Hash::Sha512), AuthThenCipher, 64),
        auth("SHA-256", Auth::Plain(Hash::Sha256), 0, 32),
        auth("HMAC-SHA1", Auth::Hmac(Hash::Sha1), 20, 12),
        auth("CMAC", Auth::AesCmac, 16, 16),
    ]
}

fn call(runtime: &Runtime, request: Request) -> Response {
    runtime.handle().call(request).wait()
}

/// Associated data of 13 bytes, `len` bytes of text, room for the tag.
fn message(len: usize, tag: usize) -> (Vec<u8>, Span) {
    let mut bytes: Vec<u8> = (0..AAD + len).map(|i| ((i * 7) >> 1) as u8).collect();
    bytes.resize(AAD + len + tag, 0);
    (bytes, Span::new(AAD as u32, len as u32))
}

fn aside_of(r: Response) -> (Buf, Buf, Aside) {
    let Some(Carried::Aside(aside)) = r.carried.map(|carried| *carried) else {
        panic!("what was carried comes back")
    };
    (r.src, r.dst, aside)
}

#[test]
fn the_same_bytes_as_in_one_piece() {
    let runtime = runtime();
    for a in algorithms(&runtime) {
        for len in [16usize, 48, 1024, 16_384] {
            let (plain, text) = message(len, a.tag);
            let packet = Packet {
                iv: Iv::new(&[8; 16][..a.iv]).unwrap(),
                aad: if a.aad { Span::new(0, AAD as u32) } else { Span::default() },
                cipher: text,
                auth: text,
                tag: (AAD + len) as u32,
                ..Packet::default()
            };
            let whole =
                call(&runtime, (a.request)(true, packet.into(), Buf::empty(), (&*plain).into()));
            let produced = whole.result.unwrap().produced;
            let sealed = whole.dst.into_vec();
            let (body, tag) = sealed.split_at(AAD + len);
            // Without the associated data in the text: it begins with it.
            let moved = Packet {
                cipher: Span::new(0, len as u32),
                auth: Span::new(0, len as u32),
                ..packet
            };
            for in_place in [true, false] {
                let buffers = |bytes: &[u8]| match in_place {
                    true => (Buf::empty(), Buf::from(bytes)),
                    false => (Buf::from(bytes), Buf::zeroed(bytes.len())),
                };
                let aad = || if a.aad { Buf::from(&plain[..AAD]) } else { Buf::empty() };
                let what = format!("{}, {len}, in place: {in_place}", a.name);

                // Both apart, and the tag's memory longer than it.
                let aside = Aside { packet: moved, aad: aad(), tag: Buf::zeroed(a.tag + 3) };
                let (src, dst) = buffers(&plain[AAD..AAD + len]);
                let r = call(&runtime, (a.request)(true, aside.into(), src, dst));
                assert_eq!(r.result.map(|d| d.produced), Ok(produced), "{what}");
                assert_eq!(r.packets()[0].result, Ok(produced as u32));
                let (_, dst, aside) = aside_of(r);
                assert!(aside.tag.into_vec() == [tag, &[0; 3]].concat(), "{what}");
                if a.iv > 0 {
                    assert!(dst.into_vec() == body[AAD..], "{what}");
                }

                // The tag alone; what carries a long nonce in the text among them.
                let aside = Aside { packet, aad: Buf::empty(), tag: Buf::zeroed(a.tag) };
                let (src, dst) = buffers(&plain[..AAD + len]);
                let r = call(&runtime, (a.request)(true, aside.into(), src, dst));
                assert_eq!(r.result.map(|d| d.produced), Ok(produced), "{what}");
                let (_, dst, aside) = aside_of(r);
                assert!(aside.tag.into_vec() == tag, "{what}");
                if a.iv > 0 {
                    assert!(dst.into_vec()[AAD..] == body[AAD..], "{what}");
                }

                // Back, with the right tag, which nobody may write, and with a wrong one.
                for wrong in [false, true] {
                    let mut tag = tag.to_vec();
                    tag[0] ^= u8::from(wrong);
                    let tag = Buf::shared(std::sync::Arc::new(tag), 0..a.tag);
                    let aside = Aside { packet: moved, aad: aad(), tag };
                    let body = if a.iv > 0 { &body[AAD..] } else { &plain[AAD..AAD + len] };
                    let (src, dst) = buffers(body);
                    let r = call(&runtime, (a.request)(false, aside.into(), src, dst));
                    assert_eq!(r.result.is_ok(), !wrong, "{what}: {:?}", r.result);
                    let (_, dst, aside) = aside_of(r);
                    let expected =
                        if wrong { Err(OpError::AuthFailed) } else { Ok(produced as u32) };
                    assert_eq!(aside.packet.result, expected, "{what}");
                    let dst = dst.into_vec();
                    match (a.iv > 0, wrong) {
                        (true, false) => assert!(dst == plain[AAD..AAD + len], "{what}"),
                        (true, true) => {
                            let wiped = dst.iter().all(|&b| b == 0);
                            assert!(wiped || in_place && dst == body, "{what}: wiped or as it was");
                        }
                        (false, _) => {}
                    }
                }
            }
        }
    }
}

/// The associated data of a TLS record are a header that is not sent with it.
#[test]
fn tls_records() {
    let runtime = runtime();
    let session = runtime.tls_cbc(&[1; 16], Hash::Sha1, &[2; 20]).unwrap();
    let (plain, text) = message(100, 0);
    let room = |bytes: &[u8]| [bytes, &[0; 48]].concat();
    let packet = Packet {
        iv: [5; 16].into(),
        aad: Span::new(0, AAD as u32),
        cipher: text,
        ..Packet::default()
    };
    let whole = call(&runtime, session.seal(packet, Buf::empty(), room(&plain).into()));
    let n = whole.packets()[0].result.unwrap();
    let sealed = whole.dst.into_vec()[AAD..AAD + n as usize].to_vec();

    let aside = |len| {
        let packet = Packet { cipher: Span::new(0, len), aad: Span::default(), ..packet };
        Aside { packet, aad: Buf::from(&plain[..AAD]), tag: Buf::empty() }
    };
    let r = call(&runtime, session.seal(aside(100), Buf::empty(), room(&plain[AAD..]).into()));
    assert_eq!(r.packets()[0].result, Ok(n));
    assert!(r.dst.into_vec()[..n as usize] == sealed);
    let r = call(&runtime, session.open(aside(n), Buf::from(&*sealed), Buf::zeroed(n as usize)));
    assert_eq!(r.packets()[0].result, Ok(100));
    assert!(r.dst.into_vec()[..100] == plain[AAD..]);
}

#[test]
fn what_is_refused() {
    let runtime = runtime();
    let gcm: AeadSession = runtime.aead(Aead::AesGcm, &[1; 16], 16).unwrap();
    let cbc = (Cipher::AesCbc, &[1; 16][..]);
    let auth = (Auth::Hmac(Hash::Sha1), &[2; 20][..]);
    let chain = runtime.chain(cbc, auth, 20, ChainOrder::CipherThenAuth).unwrap();
    let text = Span::new(0, 64);
    let packet =
        Packet { iv: [1; 12].into(), cipher: text, auth: text, tag: 64, ..Packet::default() };
    let aside = |aad: Buf, tag: Buf| Aside { packet, aad, tag };
    let read_only = || Buf::shared(std::sync::Arc::new(vec![0u8; 32]), 0..32);
    let list = || Buf::list(vec![Buf::zeroed(8), Buf::zeroed(8)]);
    let seal = |aside: Aside, src, dst| call(&runtime, gcm.seal(aside, src, dst)).result;
    let zeroed = || Buf::zeroed(64);
    let bad = |r: Result<_, OpError>| matches!(r, Err(OpError::BadInput(_)));
    assert!(seal(aside(zeroed(), Buf::zeroed(16)), Buf::empty(), zeroed()).is_ok());
    let short = seal(aside(zeroed(), Buf::zeroed(15)), Buf::empty(), zeroed());
    assert_eq!(short, Err(OpError::DstTooSmall));
    // The packet says where the tag is, and there is no room.
    assert_eq!(
        seal(aside(zeroed(), Buf::empty()), Buf::empty(), zeroed()),
        Err(OpError::DstTooSmall)
    );
    assert!(bad(seal(aside(zeroed(), read_only()), Buf::empty(), zeroed())));
    assert!(bad(seal(aside(list(), Buf::zeroed(16)), Buf::empty(), zeroed())));
    let short_dst = seal(aside(zeroed(), Buf::zeroed(16)), zeroed(), Buf::zeroed(63));
    assert_eq!(short_dst, Err(OpError::DstTooSmall));
    assert!(bad(seal(aside(zeroed(), Buf::zeroed(16)), Buf::zeroed(63), zeroed())));
    assert!(bad(seal(aside(zeroed(), Buf::zeroed(16)), Buf::empty(), Buf::zeroed(63))));

    let chained = |packet, aad: Buf, tag: Buf, src, dst| {
        let aside = Aside { packet, aad, tag };
        call(&runtime, chain.seal(aside, src, dst)).result
    };
    let packet = Packet { iv: [1; 16].into(), ..packet };
    let tag = || Buf::zeroed(20);
    assert!(chained(packet, Buf::empty(), tag(), Buf::empty(), zeroed()).is_ok());
    assert!(bad(chained(packet, zeroed(), tag(), Buf::empty(), zeroed())));
    assert!(bad(chained(packet, Buf::empty(), read_only(), Buf::empty(), zeroed())));
    let r = chained(packet, Buf::empty(), Buf::zeroed(19), Buf::empty(), zeroed());
    assert_eq!(r, Err(OpError::DstTooSmall));
    assert!(bad(chained(packet, Buf::empty(), tag(), Buf::zeroed(63), zeroed())));
    let r = chained(packet, Buf::empty(), tag(), zeroed(), Buf::zeroed(63));
    assert_eq!(r, Err(OpError::DstTooSmall));
    let far = Packet { cipher: Span::new(u32::MAX, 64), ..packet };
    assert!(bad(chained(far, Buf::empty(), tag(), Buf::empty(), zeroed())));
    let odd = Packet { cipher: Span::new(0, 63), ..packet };
    assert!(bad(chained(odd, Buf::empty(), tag(), Buf::empty(), zeroed())));
}
