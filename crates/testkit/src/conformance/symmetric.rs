//! The symmetric service, the data mover and random numbers. That the algorithms are right is tested
//! with the service, beside other implementations; here: that every form of a request gives the same
//! result, and what happens to bad ones.

use core::time::Duration;

use lookaside::{AeadSession, ChainSession, DigestSession, InstanceConfig, Runtime};
use lookaside_core::{
    Aead, Auth, Buf, Carried, ChainOrder, Cipher, Hash, Iv, Op, OpError, Packet, Response, Running,
    Span,
};

use super::call;
use crate::mixed;

const TAG: usize = 16;

pub(super) fn mover(runtime: &Runtime) {
    let mover = runtime.mover().expect("a mover");
    let list = |d: &[u8], n| Buf::list(d.chunks(n).map(Buf::from).collect());
    for len in [0, 1, 9, 64, 1000, 70_000] {
        let data = mixed(len as u64, len);
        let whole = call(runtime, mover.copy_crc32(Buf::from(&*data), Buf::zeroed(len)));
        let crc = whole.result.expect("copied").checksum;
        assert_eq!(whole.dst.as_slice(), Some(&*data));
        let room = || Buf::list(vec![Buf::zeroed(len / 3), Buf::zeroed(len - len / 3)]);
        for op in 0..3 {
            let (src, dst) = (list(&data, 777), room());
            let r = match op {
                0 => call(runtime, mover.copy(src, dst)),
                1 => call(runtime, mover.copy_crc32(src, dst)),
                _ => call(runtime, mover.copy_crc64(src, dst)),
            };
            let done = r.result.expect("copied");
            assert_eq!((done.consumed, done.produced), (len, len));
            assert!(op != 1 || done.checksum == crc, "the pieces' CRC is the whole's");
            assert_eq!(r.dst.into_vec(), data);
        }
        let r = call(runtime, mover.fill(Buf::from(&b"abc"[..]), room()));
        r.result.expect("filled");
        assert!(r.dst.into_vec().iter().zip(b"abc".iter().cycle()).all(|(a, b)| a == b));
        let mut other = data.clone();
        let r = call(runtime, mover.compare(list(&data, 99), Buf::from(&*other)));
        assert_eq!(r.result.expect("compared").consumed, len);
        if let Some(byte) = other.get_mut(len / 2) {
            *byte ^= 1;
            let r = call(runtime, mover.compare(list(&data, 99), Buf::from(&*other)));
            assert_eq!(r.result.expect("compared").consumed, len / 2);
        }
    }
    // The check value of CRC-32, and CRC-64/XZ, in the catalogues: of the nine digits.
    let digits = || Buf::from(&b"123456789"[..]);
    let r = call(runtime, mover.copy_crc32(digits(), Buf::zeroed(9)));
    assert_eq!(r.result.expect("copied").checksum, 0xCBF4_3926);
    let r = call(runtime, mover.copy_crc64(digits(), Buf::zeroed(9)));
    assert_eq!(r.result.expect("copied").checksum, 0x995D_C9BB_DF19_39FA);
    for bad in [Buf::empty(), Buf::zeroed(65)] {
        let r = call(runtime, mover.fill(bad, Buf::zeroed(9)));
        assert!(matches!(r.result, Err(OpError::BadInput { .. })));
    }
    let r = call(runtime, mover.copy_crc64(digits(), Buf::zeroed(8)));
    assert_eq!(r.result, Err(OpError::DstTooSmall));
    let r = call(runtime, mover.compare(digits(), Buf::zeroed(8)));
    assert!(matches!(r.result, Err(OpError::BadInput { .. })));
}

pub(super) fn random(runtime: &Runtime) {
    let random = runtime.random().expect("random numbers");
    let draw = || {
        let dst = Buf::list(vec![Buf::zeroed(30), Buf::zeroed(34)]);
        let r = call(runtime, random.fill(dst));
        assert_eq!(r.result.expect("drawn").produced, 64);
        r.dst.into_vec()
    };
    let (a, b) = (draw(), draw());
    assert!(a != b && a[..32] != a[32..] && a != vec![0; 64]);
}

/// Layout of a packet here: 13 bytes of associated data, the text, room for the tag.
fn packet(len: usize, at: usize, iv: impl Into<Iv>) -> Packet {
    let (at, len) = (at as u32, len as u32);
    Packet {
        iv: iv.into(),
        aad: Span::new(at, 13),
        cipher: Span::new(at + 13, len),
        auth: Span::new(at, len + 13),
        tag: at + 13 + len,
        ..Packet::default()
    }
}

fn padded(len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = mixed(seed, 13 + len);
    bytes.resize(13 + len + TAG, 0);
    bytes
}

/// An AEAD and chains, behind one face.
enum Sealer {
    Aead(AeadSession, Aead),
    Chain(ChainSession),
}

impl Sealer {
    fn run(
        &self,
        runtime: &Runtime,
        op: Op,
        carried: impl Into<Box<Carried>>,
        src: Buf,
        dst: Buf,
    ) -> Response {
        call(
            runtime,
            match (self, op) {
                (Sealer::Aead(s, _), Op::Seal) => s.seal(carried, src, dst),
                (Sealer::Aead(s, _), _) => s.open(carried, src, dst),
                (Sealer::Chain(s), Op::Seal) => s.seal(carried, src, dst),
                (Sealer::Chain(s), _) => s.open(carried, src, dst),
            },
        )
    }

    /// AES-GCM does (SP 800-38D section 5.2.1.1).
    fn takes_any_iv(&self) -> bool {
        matches!(self, Sealer::Aead(_, Aead::AesGcm))
    }

    fn iv(&self, i: usize) -> Iv {
        match self {
            Sealer::Aead(..) => [i as u8; 12].into(),
            Sealer::Chain(_) => [i as u8; 16].into(),
        }
    }
}

fn sealers(runtime: &Runtime) -> Vec<Sealer> {
    let aead = |aead, n| Sealer::Aead(runtime.aead(aead, &vec![3; n], TAG).expect("an AEAD"), aead);
    let chain = |cipher, auth, order| {
        let session = runtime.chain((cipher, &[4; 16]), (auth, &[5; 20]), TAG, order);
        Sealer::Chain(session.expect("a chain"))
    };
    vec![
        aead(Aead::AesGcm, 16),
        aead(Aead::AesCcm, 24),
        aead(Aead::ChaCha20Poly1305, 32),
        chain(Cipher::AesCbc, Auth::Hmac(Hash::Sha1), ChainOrder::CipherThenAuth),
        chain(Cipher::AesCbc, Auth::Hmac(Hash::Sha256), ChainOrder::CipherThenAuth),
        chain(Cipher::AesCtr, Auth::Hmac(Hash::Sha512), ChainOrder::AuthThenCipher),
        chain(Cipher::Sm4Ctr, Auth::Hmac(Hash::Sm3), ChainOrder::CipherThenAuth),
    ]
}

/// One packet apart, in place, in scattered memory and at once; then a burst: all the same bytes.
pub(super) fn sealed(runtime: &Runtime) {
    for sealer in sealers(runtime) {
        for len in [0usize, 16, 48, 256, 1024, 1408] {
            let plain = padded(len, len as u64);
            let p = || packet(len, 0, sealer.iv(1));
            let scattered = |d: &[u8]| Buf::list(d.chunks(29).map(Buf::from).collect());
            let apart = sealer.run(runtime, Op::Seal, p(), Buf::from(&*plain), Buf::from(&*plain));
            assert_eq!(apart.result.expect("sealed").produced, len);
            let sealed = apart.dst.into_vec();
            let in_place = sealer.run(runtime, Op::Seal, p(), Buf::empty(), Buf::from(&*plain));
            in_place.result.expect("sealed");
            assert!(in_place.dst.into_vec() == sealed, "in place");
            let r = sealer.run(runtime, Op::Seal, p(), scattered(&plain), scattered(&plain));
            r.result.expect("sealed");
            assert!(r.dst.into_vec() == sealed, "scattered");

            let opened =
                sealer.run(runtime, Op::Open, p(), scattered(&sealed), Buf::zeroed(plain.len()));
            opened.result.expect("opened");
            let opened = opened.dst.into_vec();
            assert!(opened[13..13 + len] == plain[13..13 + len], "opened");
            refuses(runtime, &sealer, len, &sealed);
        }
        bursts(runtime, &sealer);
    }
}

/// Any damaged byte of associated data, text or tag; nothing of the text is released.
fn refuses(runtime: &Runtime, sealer: &Sealer, len: usize, sealed: &[u8]) {
    for at in [0, 12, 13, 13 + len / 2, 13 + len, 13 + len + TAG - 1] {
        let mut bad = sealed.to_vec();
        bad[at] ^= 0x40;
        let p = packet(len, 0, sealer.iv(1));
        let r = sealer.run(runtime, Op::Open, p, Buf::empty(), Buf::from(&*bad));
        assert_eq!(r.result, Err(OpError::AuthFailed));
        assert_eq!(r.packets()[0].result, Err(OpError::AuthFailed), "it comes back");
        let after = r.dst.into_vec();
        let text = &after[13..13 + len];
        assert!(text.iter().all(|&b| b == 0) || *text == bad[13..13 + len], "wiped or untouched");
    }
    let short_iv = Iv::new(&[1; 3]).expect("short");
    for wrong in [
        Packet { cipher: Span::new(13, len as u32 + 1000), ..packet(len, 0, sealer.iv(1)) },
        Packet { cipher: Span::new(u32::MAX, 16), ..packet(len, 0, sealer.iv(1)) },
        Packet { tag: u32::MAX, ..packet(len, 0, sealer.iv(1)) },
        packet(len, 0, short_iv),
    ] {
        if wrong.iv == short_iv && sealer.takes_any_iv() {
            continue;
        }
        for op in [Op::Seal, Op::Open] {
            let r = sealer.run(runtime, op, wrong, Buf::empty(), Buf::from(sealed));
            let e = r.result.expect_err("out of range");
            assert!(matches!(e, OpError::BadInput { .. } | OpError::DstTooSmall), "{e}");
            assert!(r.dst.into_vec() == sealed, "untouched");
        }
    }
}

/// A burst's packets are sealed as they are one by one, in each of its forms.
fn bursts(runtime: &Runtime, sealer: &Sealer) {
    let lens: Vec<usize> = (0..70).map(|i| i * 7 % 20 * 16).collect();
    let plain: Vec<Vec<u8>> =
        lens.iter().enumerate().map(|(i, &len)| padded(len, i as u64)).collect();
    let alone: Vec<Vec<u8>> = (0..lens.len())
        .map(|i| {
            let p = packet(lens[i], 0, sealer.iv(i));
            let r = sealer.run(runtime, Op::Seal, p, Buf::empty(), Buf::from(&*plain[i]));
            r.result.expect("sealed");
            r.dst.into_vec()
        })
        .collect();
    let mut at = 0;
    let in_memory: Vec<Packet> = (0..lens.len())
        .map(|i| {
            let p = packet(lens[i], at, sealer.iv(i));
            at += plain[i].len();
            p
        })
        .collect();
    let in_segments: Vec<Packet> =
        (0..lens.len()).map(|i| packet(lens[i], 0, sealer.iv(i))).collect();
    let list = |d: &[Vec<u8>]| Buf::list(d.iter().map(|d| Buf::from(&**d)).collect());
    let memory = || Buf::from(plain.concat());
    for (packets, src, dst) in [
        (&in_memory, Buf::empty(), memory()),
        (&in_memory, memory(), memory()),
        (&in_segments, Buf::empty(), list(&plain)),
        (&in_segments, list(&plain), list(&plain)),
    ] {
        let r = sealer.run(runtime, Op::Seal, packets.clone(), src, dst);
        r.result.expect("a burst");
        assert!(r.packets().iter().zip(&lens).all(|(p, &len)| p.result == Ok(len as u32)));
        assert!(r.dst.into_vec() == alone.concat());
    }
    // One damaged packet is found; the others are opened.
    let mut bad = alone.concat();
    let damaged = 33;
    bad[in_memory[damaged].tag as usize] ^= 1;
    let r = sealer.run(runtime, Op::Open, in_memory.clone(), Buf::empty(), Buf::from(bad));
    assert_eq!(r.result, Err(OpError::AuthFailed));
    let packets = r.packets().to_vec();
    let opened = r.dst.into_vec();
    for (i, p) in packets.iter().enumerate() {
        let text = p.cipher.offset as usize..(p.cipher.offset + p.cipher.len) as usize;
        match i == damaged {
            true => assert_eq!(p.result, Err(OpError::AuthFailed)),
            false => assert!(opened[text] == plain[i][13..13 + lens[i]], "packet {i}"),
        }
    }
}

/// Hashes: whole, in pieces that requests carry, and many at once.
pub(super) fn digests(runtime: &Runtime) {
    let mut instance = runtime.instance(InstanceConfig::default()).expect("an instance");
    for (auth, key, tag_len) in [
        (Auth::Plain(Hash::Sha256), &b""[..], 32),
        (Auth::Hmac(Hash::Sha1), b"key", 20),
        (Auth::Plain(Hash::Sha3_256), b"", 32),
        (Auth::AesCmac, &[1; 16], 16),
    ] {
        let session: DigestSession = runtime.digest(auth, key, tag_len).expect("a digest");
        let texts: Vec<Vec<u8>> = (0..40).map(|i| mixed(i, i as usize * 61)).collect();
        let all = |t: &[u8]| Packet { auth: Span::new(0, t.len() as u32), ..Packet::default() };
        for (i, text) in texts.iter().enumerate() {
            let r = session.digest(all(text), Buf::from(&**text), Buf::zeroed(tag_len));
            instance.push(r.tag(i as u64)).expect("room");
        }
        let mut tags = vec![Vec::new(); texts.len()];
        while instance.wait(Duration::from_secs(30)) {
            for r in instance.poll() {
                assert_eq!(r.result.expect("a digest").produced, tag_len);
                tags[r.tag as usize] = r.dst.into_vec();
            }
        }
        // In pieces of which no two texts have the same, all texts at once.
        let mut running: Vec<Option<Box<dyn Running>>> =
            texts.iter().map(|_| session.start(Op::Digest, &[]).ok()).collect();
        for from in (0..).step_by(100).take_while(|&from| from < 40 * 61) {
            for (i, text) in texts.iter().enumerate() {
                // The first piece of text i has 100 + i bytes, the others 100.
                let cut = |n: usize| if n == 0 { 0 } else { text.len().min(n + i) };
                let piece = &text[cut(from)..cut(from + 100)];
                let state = running[i].take().expect("it came back");
                let r = session.digest(state, Buf::from(piece), Buf::empty());
                instance.push(r.tag(i as u64)).expect("room");
            }
            while instance.wait(Duration::from_secs(30)) {
                for r in instance.poll() {
                    r.result.expect("a piece");
                    let Some(Carried::Running(back)) = r.carried.map(|c| *c) else {
                        panic!("the state comes back")
                    };
                    running[r.tag as usize] = Some(back);
                }
            }
        }
        for ((text, tag), running) in texts.iter().zip(&tags).zip(&mut running) {
            let mut pieces = vec![0; tag_len];
            running.as_mut().expect("it came back").finish(&mut pieces).expect("the end");
            assert_eq!(pieces, *tag);

            let signed = [&**text, tag].concat();
            let p = Packet { tag: text.len() as u32, ..all(text) };
            let r = call(runtime, session.verify(p, Buf::from(&*signed), Buf::empty()));
            r.result.expect("the tag matches");
            let mut bad = signed;
            *bad.last_mut().expect("a tag") ^= 1;
            let r = call(runtime, session.verify(p, Buf::from(bad), Buf::empty()));
            assert_eq!(r.result, Err(OpError::AuthFailed));
        }
    }
}
