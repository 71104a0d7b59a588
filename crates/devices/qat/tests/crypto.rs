//! Symmetric and public-key requests by a card, sound or failing in every way at once: each is answered once, and right.
//! What is right, a runtime with the CPU alone says.

mod common;

use std::{
    collections::{BTreeMap, BTreeSet},
    thread,
    time::Duration,
};

use lookaside::{
    Aead, AeadSession, Auth, Buf, ChainOrder, ChainSession, Cipher, CipherSession, Curve,
    DigestSession, Ec, Hash, InstanceConfig, Nonce, Op, OpError, Packet, Request, Response,
    RsaPrivate, RsaPrivateKey, RsaPublic, RsaPublicKey, RsaScheme, Runtime, SaltLen, Span,
};
use lookaside_cpu::cpu;
use lookaside_qat_card::{QatDevice, Settings, Verify};
use lookaside_testkit::{Rng, mixed};

const CURVES: [Curve; 2] = [Curve::P256, Curve::P384];
const PSS: RsaScheme =
    RsaScheme::Pss { hash: Hash::Sha256, mgf: Hash::Sha256, salt: SaltLen::Digest };
const OAEP: RsaScheme = RsaScheme::Oaep { hash: Hash::Sha1, mgf: Hash::Sha1, label_len: 0 };

/// Sessions of one runtime: the one with the card, or the one without.
struct Sessions {
    runtime: Runtime,
    gcm: AeadSession,
    ccm: AeadSession,
    chacha: AeadSession,
    cbc: CipherSession,
    ctr: CipherSession,
    sha: DigestSession,
    hmac: DigestSession,
    chains: [ChainSession; 2],
    rsa: RsaPrivate,
    rsa_public: RsaPublic,
    ec: [Ec; 2],
}

impl Sessions {
    fn new(runtime: Runtime, key: &RsaPrivateKey) -> Sessions {
        let hmac = Auth::Hmac(Hash::Sha384);
        let public = RsaPublicKey { n: key.n.clone(), e: key.e.clone() };
        Sessions {
            gcm: runtime.aead(Aead::AesGcm, &[1; 32], 16).unwrap(),
            ccm: runtime.aead(Aead::AesCcm, &[2; 16], 8).unwrap(),
            chacha: runtime.aead(Aead::ChaCha20Poly1305, &[3; 32], 16).unwrap(),
            cbc: runtime.cipher(Cipher::AesCbc, &[4; 24]).unwrap(),
            ctr: runtime.cipher(Cipher::AesCtr, &[5; 16]).unwrap(),
            sha: runtime.digest(Auth::Plain(Hash::Sha256), &[], 32).unwrap(),
            hmac: runtime.digest(hmac, &[6; 40], 24).unwrap(),
            chains: [ChainOrder::CipherThenAuth, ChainOrder::AuthThenCipher].map(|order| {
                let (cipher, auth) =
                    ((Cipher::AesCbc, &[8; 16][..]), (Auth::Hmac(Hash::Sha256), &[9; 32][..]));
                runtime.chain(cipher, auth, 20, order).unwrap()
            }),
            rsa: runtime.rsa_private(key.clone()).unwrap(),
            rsa_public: runtime.rsa_public(public).unwrap(),
            ec: CURVES.map(|curve| runtime.ec(curve).unwrap()),
            runtime,
        }
    }
}

/// Requests for one round, each with what its response must be.
type Check = Box<dyn Fn(&Response) -> bool>;

struct Maker<'a> {
    cpu: &'a Sessions,
    rng: Rng,
}

impl Maker<'_> {
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        mixed(self.rng.next_u64(), len)
    }

    fn exactly(wanted: Vec<u8>) -> Check {
        Box::new(move |r| r.result.is_ok() && r.dst.as_slice() == Some(&wanted[..]))
    }

    fn cpu_makes(&self, request: Request) -> Vec<u8> {
        let response = self.cpu.runtime.handle().call(request).wait();
        assert!(response.result.is_ok(), "{response:?}");
        response.dst.into_vec()
    }

    /// The same request of both runtimes; the answers must be the same.
    fn same(&mut self, card: &Sessions, kind: u64) -> (Request, Check) {
        let len = 16 + 16 * (self.rng.next_u64() % 600) as usize;
        let data = self.bytes(len);
        let (sealed, aad) = (len + 32, (self.rng.next_u64() % 30) as u32);
        let iv: [u8; 16] = self.bytes(16).try_into().unwrap();
        let nonce: [u8; 12] = iv[..12].try_into().unwrap();
        // Associated data in front, the tag behind; in place.
        let mut whole = vec![7; 32];
        whole.extend_from_slice(&data);
        whole.resize(sealed + 32, 0);
        let packet = Packet {
            iv: nonce.into(),
            aad: Span::new(0, aad),
            cipher: Span::new(32, len as u32),
            tag: sealed as u32,
            ..Packet::default()
        };
        let aead = |of: &Sessions| [&of.gcm, &of.ccm, &of.chacha][kind as usize % 3].clone();
        let cipher = |of: &Sessions| [&of.cbc, &of.ctr][kind as usize % 2].clone();
        let digest = |of: &Sessions| [&of.sha, &of.hmac][kind as usize % 2].clone();
        let apart = Packet { iv: iv.into(), cipher: packet.cipher, ..Packet::default() };
        let hashed = Packet { auth: packet.cipher, ..Packet::default() };
        let make = |of: &Sessions, src: Vec<u8>| match kind {
            0..3 => aead(of).seal(packet, Buf::empty(), src.into()),
            3..5 => cipher(of).encrypt(apart, src.into(), Buf::zeroed(sealed)),
            5..7 => cipher(of).decrypt(apart, Buf::empty(), src.into()),
            _ => digest(of).digest(hashed, src.into(), Buf::zeroed(64)),
        };
        let wanted = self.cpu_makes(make(self.cpu, whole.clone()));
        (make(card, whole), Maker::exactly(wanted))
    }

    /// What was sealed is opened; a damaged one is not.
    fn open(&mut self, card: &Sessions, kind: u64) -> (Request, Check) {
        let len = 1 + (self.rng.next_u64() % 9_000) as usize;
        let data = self.bytes(len);
        let aead = |of: &Sessions| [&of.gcm, &of.ccm, &of.chacha][kind as usize % 3].clone();
        let packet = Packet {
            iv: [kind as u8; 12].into(),
            cipher: Span::new(0, len as u32),
            tag: len as u32,
            ..Packet::default()
        };
        let mut whole = data.clone();
        whole.resize(len + 16, 0);
        let request = aead(self.cpu).seal(packet, Buf::empty(), whole.into());
        let mut sealed = self.cpu_makes(request);
        if self.rng.next_u64().is_multiple_of(4) {
            sealed[len / 2] ^= 1;
            let request = aead(card).open(packet, sealed.into(), Buf::zeroed(len));
            return (
                request,
                Box::new(move |r| {
                    r.result == Err(OpError::AuthFailed)
                        && r.dst.as_slice() == Some(&vec![0; len][..])
                }),
            );
        }
        (aead(card).open(packet, sealed.into(), Buf::zeroed(len)), Maker::exactly(data))
    }

    /// A chain whose regions overlap, in place or apart; there and back.
    fn chain(&mut self, card: &Sessions, kind: u64) -> (Request, Check) {
        let blocks = 1 + (self.rng.next_u64() % 300) as u32;
        let len = 16 * blocks;
        let packet = Packet {
            iv: [kind as u8; 16].into(),
            cipher: Span::new(16, len),
            auth: Span::new(3, 13 + len - (self.rng.next_u64() % 16) as u32),
            tag: 16 + len,
            ..Packet::default()
        };
        let chain = |of: &Sessions| of.chains[kind as usize % 2].clone();
        let data = self.bytes(len as usize + 40);
        let make = |of: &Sessions, src: Vec<u8>, apart: bool| match apart {
            true => chain(of).seal(packet, src.into(), Buf::zeroed(len as usize + 40)),
            false => chain(of).seal(packet, Buf::empty(), src.into()),
        };
        let apart = self.rng.next_u64().is_multiple_of(2);
        let sealed = self.cpu_makes(make(self.cpu, data.clone(), apart));
        if kind < 2 {
            return (make(card, data, apart), Maker::exactly(sealed));
        }
        let open = |of: &Sessions| chain(of).open(packet, Buf::empty(), sealed.clone().into());
        let wanted = self.cpu_makes(open(self.cpu));
        (open(card), Maker::exactly(wanted))
    }

    fn verify(&mut self, card: &Sessions) -> (Request, Check) {
        let data = self.bytes(500);
        let packet = Packet { auth: Span::new(0, 500), tag: 500, ..Packet::default() };
        let mut whole = data;
        whole.resize(524, 0);
        let request = self.cpu.hmac.digest(packet, Buf::empty(), whole.into());
        let mut tagged = self.cpu_makes(request);
        let damaged = self.rng.next_u64().is_multiple_of(4);
        tagged[10] ^= u8::from(damaged);
        let request = card.hmac.verify(packet, tagged.into(), Buf::empty());
        (request, Box::new(move |r| r.result.is_ok() != damaged))
    }

    fn rsa(&mut self, card: &Sessions, kind: u64) -> (Request, Check) {
        let digest = self.bytes(32);
        let scheme = [RsaScheme::Pkcs1Sign(Some(Hash::Sha256)), PSS][kind as usize % 2];
        if kind < 2 {
            let request = card.rsa.run(scheme, digest.clone().into(), Buf::zeroed(256));
            let (public, handle) = (self.cpu.rsa_public.clone(), self.cpu.runtime.handle());
            return (
                request,
                Box::new(move |r| {
                    let all = [r.dst.as_slice().unwrap(), &digest].concat();
                    let request = public.run(scheme, all.into(), Buf::empty());
                    r.result.is_ok() && handle.call(request).wait().result.is_ok()
                }),
            );
        }
        let request = self.cpu.rsa_public.run(OAEP, digest.clone().into(), Buf::zeroed(256));
        let sealed = self.cpu_makes(request);
        let request = card.rsa.run(OAEP, sealed.into(), Buf::zeroed(32));
        (request, Maker::exactly(digest))
    }

    fn ec(&mut self, card: &Sessions, kind: u64) -> (Request, Check) {
        let curve = kind as usize % 2;
        let (len, ec) = (CURVES[curve].order_len(), self.cpu.ec[curve].clone());
        let pair = |this: &Self| this.cpu_makes(ec.generate(Buf::zeroed(3 * len + 1)));
        let (ours, theirs, digest) = (pair(self), pair(self), self.bytes(40));
        if kind < 2 {
            let src = [&ours[..len], &digest].concat();
            let request = card.ec[curve].sign(Nonce::Hedged, src.into(), Buf::zeroed(2 * len));
            let handle = self.cpu.runtime.handle();
            return (
                request,
                Box::new(move |r| {
                    let all = [&ours[len..], r.dst.as_slice().unwrap(), &digest].concat();
                    r.result.is_ok() && handle.call(ec.verify(all.into())).wait().result.is_ok()
                }),
            );
        }
        let src = |a: &[u8], b: &[u8]| Buf::from([&a[..len], &b[len..]].concat());
        let wanted = self.cpu_makes(ec.derive(false, src(&theirs, &ours), Buf::zeroed(len)));
        let request = card.ec[curve].derive(false, src(&ours, &theirs), Buf::zeroed(len));
        (request, Maker::exactly(wanted))
    }

    fn any(&mut self, card: &Sessions) -> (Request, Check) {
        match self.rng.next_u64() % 22 {
            kind @ 0..9 => self.same(card, kind),
            kind @ 9..12 => self.open(card, kind - 9),
            12 => self.verify(card),
            kind @ 13..16 => self.rsa(card, kind - 13),
            kind @ 16..20 => self.chain(card, kind - 16),
            _ => {
                let kind = self.rng.next_u64() % 4;
                self.ec(card, kind)
            }
        }
    }
}

const AT_ONCE: u64 = 40;

/// Returns how many answers were wrong.
fn one_thread(card: &Sessions, alone: &Sessions, seed: u64, rounds: u64) -> usize {
    let mut maker = Maker { cpu: alone, rng: Rng::new(seed) };
    let mut instance = card.runtime.instance(InstanceConfig::default()).unwrap();
    let mut wrong = 0;
    for _ in 0..rounds {
        let mut checks = Vec::new();
        for i in 0..AT_ONCE {
            let (request, check) = maker.any(card);
            instance.push(request.tag(i)).expect("room");
            checks.push(check);
        }
        let mut seen = BTreeSet::new();
        while instance.wait(Duration::from_secs(60)) {
            for r in instance.poll() {
                assert!(seen.insert(r.tag), "answered once");
                wrong += usize::from(!checks[r.tag as usize](&r));
            }
        }
        assert_eq!(seen.len() as u64, AT_ONCE, "each is answered");
    }
    wrong
}

/// How many requests each device has answered of each operation.
type Served = BTreeMap<(String, String), u64>;

fn storm(settings: Settings, engines: usize, seed: u64, rounds: u64) -> (usize, Served) {
    let alone = Runtime::builder().device(cpu()).engines(0).start().unwrap();
    let key = common::rsa_key(&alone);
    let alone = Sessions::new(alone, &key);
    let card = QatDevice::new(settings).unwrap();
    let builder = Runtime::builder().device(card).device(cpu()).engines(engines);
    let card = Sessions::new(builder.start().unwrap(), &key);
    let wrong = thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|n| {
                let (card, alone) = (&card, &alone);
                scope.spawn(move || one_thread(card, alone, 1000 * seed + n, rounds))
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    let rows = card.runtime.counters().ops.into_iter().filter(|row| row.requests > 0);
    (wrong, rows.map(|row| ((row.device, row.op), row.requests)).collect())
}

fn of(served: &Served, device: &str) -> u64 {
    served.iter().filter(|((name, _), _)| name == device).map(|(_, n)| n).sum()
}

/// The operations that a card has.
const OPS: [Op; 9] = [
    Op::Seal,
    Op::Open,
    Op::Encrypt,
    Op::Decrypt,
    Op::Digest,
    Op::Verify,
    Op::RsaPrivate,
    Op::EcSign,
    Op::EcDerive,
];

#[test]
fn a_sound_card_serves_all_of_it() {
    for (engines, verify) in [(0, Verify::Software), (2, Verify::Card)] {
        let library = common::loop_back(&format!("crypto-{engines}"));
        let (wrong, served) = storm(Settings { verify, ..Settings::new(library) }, engines, 1, 8);
        println!("{served:?}");
        assert_eq!(wrong, 0);
        for op in OPS {
            let row = ("qat".to_owned(), op.to_string());
            assert!(served.contains_key(&row), "{op}: {served:?}");
        }
        // What is left are damaged packets.
        assert!(of(&served, "cpu") * 8 < of(&served, "qat"), "{served:?}");
    }
}

#[test]
fn a_card_that_wants_contiguous_memory_gets_it() {
    let library = common::faulty("crypto-contiguous", &["SEED=1", "CONTIGUOUS=1"]);
    let (wrong, served) = storm(Settings::new(library), 0, 2, 4);
    assert_eq!(wrong, 0);
    assert!(of(&served, "qat") > 300, "{served:?}");
}

#[test]
fn nothing_is_lost_and_nothing_wrong() {
    let faults = ["BUSY=20", "REFUSE=5", "LATE=30", "FLIP=10", "ERROR=5", "RESTART=1"];
    for (seed, hang, engines) in [(3, 0, 0), (4, 1, 2)] {
        let (seeded, hang) = (format!("SEED={seed}"), format!("HANG={hang}"));
        let all: Vec<&str> = faults.into_iter().chain([&*seeded, &*hang]).collect();
        let library = common::faulty(&format!("crypto-storm-{seed}"), &all);
        let timeout = Duration::from_millis(30);
        let (wrong, served) =
            storm(Settings { timeout, ..Settings::new(library) }, engines, seed, 8);
        println!("seed {seed}: {served:?}");
        assert_eq!(wrong, 0, "seed {seed}");
        assert_eq!(of(&served, "qat") + of(&served, "cpu"), 3 * 8 * AT_ONCE);
        assert!(of(&served, "qat") > 20 && of(&served, "cpu") > 20, "{served:?}");
    }
}

/// The test above can fail: what is not verified comes through.
#[test]
fn bits_of_symmetric_results_that_flip_are_not_seen() {
    let library = common::faulty("crypto-flips", &["SEED=5", "FLIP_SYM=30"]);
    assert!(storm(Settings::new(library), 0, 5, 2).0 > 0);
}
