//! Nothing runs twice: what a device lost goes to another one only if that cannot be noticed. Real
//! ciphers, AEADs, chains, messages in pieces, public-key operations and streams on two CPU devices, one
//! of which loses requests before, while and after it executes them, hangs, and vanishes. There is not always
//! memory to gather a list.
//!
//! `LOOKASIDE_SIM_SEEDS`, `LOOKASIDE_SIM_FIRST` and `LOOKASIDE_SIM_SEED`: see `each_seed`.

mod scarce;

use std::{
    mem::ManuallyDrop,
    sync::{Arc, LazyLock},
};

use lookaside::{
    Aead, AeadSession, Auth, Buf, Carried, ChainOrder, ChainSession, Cipher, CipherSession, Clock,
    CompressStream, Compression, Curve, Ec, Feed, Flush, Hash, InstanceConfig, Lost, Nonce, Op,
    OpError, Packet, Request, Response, Route, RouteEntry, RsaCrt, RsaPrivate, RsaPrivateKey,
    RsaScheme, Runtime, Span, Xdh, XdhCurve,
};
use lookaside_cpu::cpu;
use lookaside_testkit::{FaultDevice, Faults, Rng, VirtualClock, each_seed};
use scarce::{Scarce, scarce};

/// The length of lists: no other allocation is as large.
const LISTED: usize = 4243;

#[global_allocator]
static MEMORY: Scarce = Scarce(|size| size == LISTED);

/// An RSA key, made once: n, d, p, q, dp, dq, qinv.
static RSA: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let runtime = Runtime::builder().device(cpu()).engines(0).start().unwrap();
    let session = runtime.rsa_generate(8 * MODULUS as u32).unwrap();
    let request = session.generate(vec![1, 0, 1].into(), Buf::zeroed(9 * MODULUS / 2));
    let response = runtime.handle().call(request).wait();
    response.result.unwrap();
    response.dst.into_vec()
});
/// Bytes of the modulus.
const MODULUS: usize = 128;

fn rsa_key() -> RsaPrivateKey {
    let (n, rest) = RSA.split_at(MODULUS);
    let (d, rest) = rest.split_at(MODULUS);
    let part = |i: usize| rest[i * MODULUS / 2..][..MODULUS / 2].to_vec().into();
    let crt = RsaCrt { p: part(0), q: part(1), dp: part(2), dq: part(3), qinv: part(4) };
    RsaPrivateKey { n: n.to_vec(), e: vec![1, 0, 1], d: d.to_vec().into(), crt: Some(crt) }
}

/// The sessions of one runtime.
struct Sessions {
    cipher: CipherSession,
    aead: AeadSession,
    chain: ChainSession,
    xdh: Xdh,
    rsa: RsaPrivate,
    ec: Ec,
    set: AeadSession,
    stream: CompressStream,
}

impl Sessions {
    fn of(runtime: &Runtime) -> Sessions {
        let chain = runtime.chain(
            (Cipher::AesCtr, &[1; 16]),
            (Auth::Hmac(Hash::Sha256), &[2; 32]),
            16,
            ChainOrder::CipherThenAuth,
        );
        let aead = |key| runtime.aead(Aead::AesGcm, &[key; 16], 16).unwrap();
        Sessions {
            set: runtime.set(&[aead(5), aead(6)]).unwrap(),
            cipher: runtime.cipher(Cipher::AesCtr, &[3; 16]).unwrap(),
            aead: aead(4),
            chain: chain.unwrap(),
            xdh: runtime.xdh(XdhCurve::X25519).unwrap(),
            rsa: runtime.rsa_private(rsa_key()).unwrap(),
            ec: runtime.ec(Curve::P256).unwrap(),
            stream: runtime.compress_stream(Compression::default(), None).unwrap(),
        }
    }

    /// A request of one of the kinds, the same for the same arguments.
    fn request(&self, kind: u64, len: usize, byte: u8) -> Request {
        let text = vec![byte; len + 16];
        let whole = Span::new(0, len as u32);
        let packet = |iv: &[u8]| {
            let iv = match iv.len() {
                12 => <[u8; 12]>::try_from(iv).unwrap().into(),
                _ => [byte; 16].into(),
            };
            Packet { iv, cipher: whole, auth: whole, tag: len as u32, ..Packet::default() }
        };
        let (ctr, gcm) = (packet(&[byte; 16]), packet(&[byte; 12]));
        match kind {
            0 => self.cipher.encrypt(ctr, Buf::empty(), text.into()),
            1 => self.cipher.encrypt(ctr, text.into(), Buf::zeroed(len + 16)),
            2 => self.aead.seal(gcm, Buf::empty(), text.into()),
            3 => self.aead.seal(gcm, text.into(), Buf::zeroed(len + 16)),
            4 => self.chain.seal(ctr, Buf::empty(), text.into()),
            5 => {
                let half = Span::new(0, (len / 2) as u32);
                let packets = vec![
                    Packet { cipher: half, tag: (len / 2) as u32, ..gcm },
                    Packet { cipher: Span::new(len as u32, 0), tag: len as u32, ..gcm },
                ];
                self.aead.seal(packets, Buf::empty(), text.into())
            }
            6 => {
                let running = self.cipher.start(Op::Decrypt, &[byte; 16]).unwrap();
                self.cipher.decrypt(running, Buf::empty(), text.into())
            }
            7 => self.xdh.public(vec![byte; 32].into(), Buf::zeroed(32)),
            8 => {
                // Encrypted apart, then sealed in place.
                let first = self.cipher.encrypt(ctr, text.into(), Buf::zeroed(len + 16));
                let rest = Packet { cipher: Span::new(0, Packet::REST), tag: Packet::REST, ..gcm };
                first.then(Feed::InPlace, self.aead.seal(rest, Buf::empty(), Buf::empty())).unwrap()
            }
            9 => {
                // Encrypted in place, that encrypted apart.
                let first = self.cipher.encrypt(ctr, Buf::empty(), text.into());
                let rest = Packet { cipher: Span::new(0, Packet::REST), ..ctr };
                let second = self.cipher.encrypt(rest, Buf::empty(), Buf::zeroed(len));
                first.then(Feed::Written, second).unwrap()
            }
            10 => {
                let half = Span::new(0, (len / 2) as u32);
                let one = Packet { cipher: half, tag: (len / 2) as u32, session: 1, ..gcm };
                let other = Packet { cipher: Span::new(len as u32, 0), tag: len as u32, ..gcm };
                self.set.seal(vec![one, other], Buf::empty(), text.into())
            }
            RSA_SIGN => {
                let scheme = RsaScheme::Pkcs1Sign(Some(Hash::Sha256));
                self.rsa.run(scheme, vec![byte; 32].into(), Buf::zeroed(MODULUS))
            }
            EC_SIGN => {
                let nonce = Nonce::Deterministic(Hash::Sha256);
                self.ec.sign(nonce, vec![byte & 0x7f | 1; 64].into(), Buf::zeroed(64))
            }
            LIST => {
                let list = Buf::list(vec![vec![byte; 43].into(), vec![byte; LISTED - 43].into()]);
                let whole = Span::new(0, LISTED as u32);
                let packet = Packet { cipher: whole, ..ctr };
                self.cipher.encrypt(packet, list, Buf::zeroed(LISTED + 16))
            }
            _ => self.stream.compress(text.into(), Buf::zeroed(len + 200), Flush::Sync),
        }
    }
}

const RSA_SIGN: u64 = 11;
const EC_SIGN: u64 = 12;
const LIST: u64 = 13;
const KINDS: u64 = 15;
const STREAM: u64 = KINDS - 1;

fn run(seed: u64) {
    let mut rng = Rng::new(seed);
    let clock = VirtualClock::new();
    let faults = Faults {
        busy: rng.below(30) as u32,
        lost: rng.below(20) as u32,
        half: rng.below(20) as u32,
        undelivered: rng.below(20) as u32,
        late: rng.below(50) as u32,
        reorder: rng.below(100) as u32,
        vanish_after: if rng.chance(20) { 1 + rng.below(100) } else { 0 },
        hang_after: if rng.chance(30) { 1 + rng.below(60) } else { 0 },
    };
    let card = FaultDevice::new(cpu(), faults, seed).named("card").timeout_ns(2_000_000);
    let threshold = rng.below(300) as usize;
    let route = |op| Route {
        op,
        entries: [("card", threshold), ("cpu", 0)]
            .map(|(device, min_bytes)| RouteEntry {
                device: device.into(),
                min_bytes,
                why: "simulation".into(),
            })
            .into(),
    };
    let builder = Runtime::builder()
        .device(card)
        .device(cpu())
        .engines(1 + rng.below(2) as usize)
        .clock(Arc::new(clock.clone()))
        .route(route(Op::Encrypt))
        .route(route(Op::Decrypt))
        .route(route(Op::Compress));
    let (runtime, mut engines) = builder.start_stepped().unwrap();
    let sessions = Sessions::of(&runtime);
    let reference = Runtime::builder().device(cpu()).engines(0).start().unwrap();
    let expect = Sessions::of(&reference);
    let right = |kind, len, byte| {
        let response = reference.handle().call(expect.request(kind, len, byte)).wait();
        assert!(response.result.is_ok());
        response.dst.into_vec()
    };

    // Not dropped when an assertion fails: an instance waits for its requests, and nobody would step
    // the engines.
    let config = InstanceConfig { depth: 16, ..InstanceConfig::default() };
    let mut instance = ManuallyDrop::new(runtime.instance(config).unwrap());
    let mut asked: Vec<(u64, usize, u8)> = Vec::new();
    let (mut answered, mut refused, mut stream_lost) = (0, 0, false);
    let percent = if rng.chance(50) { rng.below(100) as u32 } else { 0 };
    let mut check = |asked: &[(u64, usize, u8)], r: Response| {
        let (kind, len, byte) = asked[r.tag as usize];
        answered += 1;
        for packet in r.packets() {
            assert!(packet.result.is_ok() || packet.result.err() == r.result.err());
        }
        let bound = kind == 6 || kind == STREAM;
        match r.result {
            Ok(done) if kind == STREAM => {
                // What a stream makes depends on what came before.
                assert!(!stream_lost, "a stream went on without a piece");
                assert_eq!(done.consumed, len + 16);
            }
            Ok(_) => {
                // A cipher writes no tag; what a lost device left there does not count.
                let written = |mut dst: Vec<u8>| {
                    dst.truncate(match kind {
                        1 => len,
                        LIST => LISTED,
                        _ => usize::MAX,
                    });
                    dst
                };
                let same = written(r.dst.into_vec()) == written(right(kind, len, byte));
                assert!(same, "kind {kind}");
            }
            Err(OpError::DeviceLost(Lost::Untouched)) => {
                assert!(bound, "kind {kind}: not given to the other device");
                if kind == 6 {
                    assert!(r.dst.into_vec().iter().all(|&b| b == byte), "it is as it was");
                    assert!(matches!(r.carried.as_deref(), Some(Carried::Running(_))));
                }
            }
            Err(OpError::DeviceLost(Lost::Touched)) => {
                let apart = matches!(kind, 1 | 3 | 7 | RSA_SIGN | EC_SIGN | LIST);
                assert!(!apart, "kind {kind}: not given to the other device");
            }
            Err(OpError::Cancelled) if kind == STREAM => {}
            Err(OpError::NoMemory) if kind == LIST => {
                refused += 1;
                assert_eq!(r.src.segments().len(), 2);
                let mut src = Vec::new();
                r.src.gather(&mut src);
                assert_eq!(src, vec![byte; LISTED], "it is as it was");
            }
            Err(e) => panic!("kind {kind}: {e}"),
        }
        // The pieces behind a lost one are Cancelled, and later ones would be made from a hole.
        stream_lost |= kind == STREAM && r.result.is_err();
    };
    let mut stream = true;
    for _ in 0..60 {
        for _ in 0..rng.below(6) {
            let (kind, len, byte) =
                (rng.below(KINDS), 2 * rng.below(400) as usize, rng.below(256) as u8);
            if kind == STREAM && !stream {
                continue;
            }
            let request = sessions.request(kind, len, byte);
            if instance.push(request.tag(asked.len() as u64)).is_ok() {
                asked.push((kind, len, byte));
            }
        }
        instance.doorbell();
        scarce(percent, rng.next_u64(), || {
            engines.iter_mut().for_each(|engine| _ = engine.step(clock.now_ns()));
        });
        clock.advance(rng.below(100_000));
        for r in instance.poll() {
            stream &= asked[r.tag as usize].0 != STREAM || r.result.is_ok();
            check(&asked, r);
        }
    }
    let mut rounds = 0;
    while instance.outstanding() > 0 {
        rounds += 1;
        assert!(rounds < 100_000, "requests are never answered");
        for engine in &mut engines {
            if !engine.step(clock.now_ns()).progress {
                clock.advance(20_000);
            }
        }
        instance.poll().for_each(|r| check(&asked, r));
    }
    assert_eq!(answered, asked.len());
    assert!(percent > 0 || refused == 0);
    // Streams and messages in pieces stay with the device that has their state, whatever their size.
    for op in [Op::Decrypt, Op::Compress] {
        assert_eq!(runtime.counters().row("cpu", op).map_or(0, |row| row.requests), 0, "{op}");
    }
    drop(ManuallyDrop::into_inner(instance));
}

#[test]
fn nothing_runs_twice() {
    each_seed(5, run);
}
