//! Bursts whose packets are of 32 sessions, beside bursts of one: an IPsec gateway's beside a tunnel's.

use std::fmt::Write;

use lookaside::{Buf, Carried, Instance, InstanceConfig, Request, Runtime, Set};

use crate::{
    Contender, Options, SIZES,
    algorithms::{ALL, Algorithm, Kind, ORDER},
    compete,
    ours::{self, wait_for_one},
    rivals::{PACKETS, key},
    save,
};

const NAMES: [&str; 6] = [
    "AES-128-GCM",
    "AES-256-GCM",
    "AES-128-CTR",
    "ChaCha20-Poly1305",
    "AES-128-CBC+HMAC-SHA1",
    "AES-128-CBC+HMAC-SHA256",
];

/// Seals a burst in place.
type Seal = Box<dyn Fn(Box<Carried>, Buf) -> Request>;

/// Of sessions with the keys that are numbered so.
fn seal(runtime: &Runtime, a: &Algorithm, keys: std::ops::Range<u8>) -> Seal {
    fn set<S: Set>(runtime: &Runtime, sessions: impl Iterator<Item = S>) -> S {
        let sessions: Vec<S> = sessions.collect();
        runtime.set(&sessions).expect("one class")
    }
    let keys = keys.map(|i| (key(a.key, i), key(a.auth_key, i)));
    match a.kind {
        Kind::Cipher(c) => {
            let s = set(runtime, keys.map(|(k, _)| runtime.cipher(c, &k).expect(a.name)));
            Box::new(move |packets, dst| s.encrypt(packets, Buf::empty(), dst))
        }
        Kind::Auth(h) => {
            let s = set(runtime, keys.map(|(_, m)| runtime.digest(h, &m, a.tag).expect(a.name)));
            Box::new(move |packets, dst| s.digest(packets, Buf::empty(), dst))
        }
        Kind::Aead(c) => {
            let s = set(runtime, keys.map(|(k, _)| runtime.aead(c, &k, a.tag).expect(a.name)));
            Box::new(move |packets, dst| s.seal(packets, Buf::empty(), dst))
        }
        Kind::Chain(c, h) => {
            let chain = |(k, m): (Vec<u8>, Vec<u8>)| runtime.chain((c, &k), (h, &m), a.tag, ORDER);
            let s = set(runtime, keys.map(|both| chain(both).expect(a.name)));
            Box::new(move |packets, dst| s.seal(packets, Buf::empty(), dst))
        }
    }
}

/// Bursts of one session, or of a set.
struct Bursts {
    instance: Instance,
    seal: Seal,
    spare: Option<(Box<Carried>, Buf)>,
}

impl Bursts {
    fn new(runtime: &Runtime, a: &Algorithm, len: usize, set: bool) -> Bursts {
        let seal = match set {
            true => seal(runtime, a, 0..PACKETS as u8),
            false => {
                let session = ours::Session::new(runtime, a);
                Box::new(move |packets, dst| session.seal(packets, dst))
            }
        };
        let (_, mut packets, memory) = ours::burst(a, len);
        for (i, packet) in packets.packets_mut().iter_mut().enumerate() {
            packet.session = i as u32;
        }
        let instance = runtime.instance(InstanceConfig::default()).expect("an instance");
        Bursts { instance, seal, spare: Some((packets, memory)) }
    }

    fn run(&mut self, packets: usize) {
        for _ in 0..packets.div_ceil(PACKETS) {
            let (packets, dst) = self.spare.take().expect("nothing is outstanding");
            self.instance.push((self.seal)(packets, dst)).expect("room");
            let r = wait_for_one(&mut self.instance);
            self.spare = Some((r.carried.expect("a burst"), r.dst));
        }
    }
}

pub fn measure(o: &Options, runtime: &Runtime) {
    let mut csv = String::from("algorithm,bytes,one_session_ns,sessions_32_ns,ratio\n");
    println!("\nbursts of 32 packets, of one session and of 32: ns a packet, and the ratio");
    for a in ALL.iter().filter(|a| NAMES.contains(&a.name)) {
        for len in SIZES {
            let (mut one, mut many) =
                (Bursts::new(runtime, a, len, false), Bursts::new(runtime, a, len, true));
            let mut contenders: [Option<Contender<'_>>; 2] =
                [Some(Box::new(|n| one.run(n))), Some(Box::new(|n| many.run(n)))];
            let ns = compete(&mut contenders, o);
            let (x, y) = (ns[0].unwrap_or(0.0), ns[1].unwrap_or(0.0));
            println!("  {:<24} {len:>6}  {x:>9.1}  {y:>9.1}  {:.2}", a.name, y / x);
            _ = writeln!(csv, "{},{len},{x:.1},{y:.1},{:.3}", a.name, y / x);
        }
    }
    save(o, "sets.csv", &csv);
}
