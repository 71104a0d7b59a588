//! Lookaside: requests through an instance whose owner executes them (0 engines), or engines.

use std::time::Duration;

use lookaside::{
    AeadSession, Buf, Carried, ChainSession, CipherSession, DigestSession, Instance,
    InstanceConfig, Iv, Packet, Request, Runtime, Span,
};

use crate::{
    algorithms::{Algorithm, Kind, ORDER},
    rivals::{PACKETS, key},
};

/// Room behind a text: the tag, then the associated data.
const TAG_ROOM: usize = 64;
const AAD: usize = 12;

pub enum Session {
    Cipher(CipherSession),
    Digest(DigestSession),
    Aead(AeadSession),
    Chain(ChainSession),
}

impl Session {
    pub fn new(runtime: &Runtime, a: &Algorithm) -> Session {
        let (k, m) = (key(a.key, 1), key(a.auth_key, 99));
        match a.kind {
            Kind::Cipher(c) => Session::Cipher(runtime.cipher(c, &k).expect(a.name)),
            Kind::Auth(h) => Session::Digest(runtime.digest(h, &m, a.tag).expect(a.name)),
            Kind::Aead(c) => Session::Aead(runtime.aead(c, &k, a.tag).expect(a.name)),
            Kind::Chain(c, h) => {
                Session::Chain(runtime.chain((c, &k), (h, &m), a.tag, ORDER).expect(a.name))
            }
        }
    }

    pub fn seal(&self, carried: impl Into<Box<Carried>>, dst: Buf) -> Request {
        match self {
            Session::Cipher(s) => s.encrypt(carried, Buf::empty(), dst),
            Session::Digest(s) => s.digest(carried, Buf::empty(), dst),
            Session::Aead(s) => s.seal(carried, Buf::empty(), dst),
            Session::Chain(s) => s.seal(carried, Buf::empty(), dst),
        }
    }
}

fn stride(len: usize) -> usize {
    (len + TAG_ROOM + AAD).next_multiple_of(64)
}

fn packet(a: &Algorithm, i: usize, at: usize, len: usize) -> Packet {
    let mut iv = [i as u8 + 1; 16];
    if a.name == "KASUMI-F9" {
        iv[8] = 1;
    }
    let text = Span::new(at as u32, len as u32);
    let tag = text.offset + text.len;
    let iv = Iv::new(&iv[..a.iv]).expect("short");
    let aad = match a.kind {
        Kind::Aead(_) => Span::new(tag + TAG_ROOM as u32, AAD as u32),
        _ => Span::default(),
    };
    Packet { iv, aad, cipher: text, auth: text, tag, ..Packet::default() }
}

fn text(i: usize, len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len).map(|k| (((k * 31) >> 3) + i) as u8).collect();
    bytes.resize(len + TAG_ROOM, 0);
    bytes.resize(len + TAG_ROOM + AAD, 7);
    bytes.resize(stride(len), 0);
    bytes
}

/// A burst of 32 packets in one piece of memory.
pub fn burst(a: &Algorithm, len: usize) -> (Box<Carried>, Buf) {
    let packets: Vec<_> = (0..PACKETS).map(|i| packet(a, i, i * stride(len), len)).collect();
    let texts: Vec<Vec<u8>> = (0..PACKETS).map(|i| text(i, len)).collect();
    (packets.into(), Buf::from(texts.concat()))
}

/// 32 packets, one by one or in a burst.
pub struct Ours<'a> {
    algorithm: &'a Algorithm,
    session: Session,
    instance: Instance,
    len: usize,
    /// What is not outstanding.
    packets: Vec<(usize, Box<Carried>, Buf)>,
    burst: Option<(Box<Carried>, Buf)>,
}

impl<'a> Ours<'a> {
    pub fn new(runtime: &Runtime, a: &'a Algorithm, len: usize, burst: bool) -> Ours<'a> {
        let config = InstanceConfig { depth: PACKETS, ..InstanceConfig::default() };
        let all = || (0..PACKETS).map(|i| text(i, len));
        Ours {
            algorithm: a,
            session: Session::new(runtime, a),
            instance: runtime.instance(config).expect("an instance"),
            len,
            packets: all()
                .enumerate()
                .map(|(i, t)| (i, packet(a, i, 0, len).into(), Buf::from(t)))
                .rev()
                .collect(),
            burst: burst.then(|| self::burst(a, len)),
        }
    }

    /// Works on this many packets, 32 in flight.
    pub fn run(&mut self, packets: usize) {
        match self.burst.is_some() {
            true => self.run_bursts(packets),
            false => self.run_single(packets),
        }
    }

    fn run_bursts(&mut self, packets: usize) {
        for _ in 0..packets.div_ceil(PACKETS) {
            let (carried, dst) = self.burst.take().expect("nothing is outstanding");
            self.instance.push(self.session.seal(carried, dst)).expect("room");
            while self.burst.is_none() {
                self.instance.wait(Duration::from_secs(10));
                for r in self.instance.poll() {
                    r.result.expect("sealed");
                    self.burst = Some((r.carried.expect("a burst"), r.dst));
                }
            }
        }
    }

    fn run_single(&mut self, packets: usize) {
        let mut left = packets;
        while left > 0 || self.instance.outstanding() > 0 {
            while left > 0
                && let Some((i, carried, dst)) = self.packets.pop()
            {
                let request = self.session.seal(carried, dst).tag(i as u64);
                self.instance.push(request).expect("room");
                left -= 1;
            }
            self.instance.doorbell();
            for r in self.instance.poll() {
                r.result.expect("sealed");
                let carried = r.carried.expect("a packet");
                self.packets.push((r.tag as usize, carried, r.dst));
            }
            if self.instance.outstanding() > 0 {
                self.instance.wait(Duration::from_secs(10));
            }
        }
    }

    /// What packet `i` is now: text, then tag.
    pub fn packet(&self, i: usize) -> Vec<u8> {
        let n = self.len + self.algorithm.tag;
        match &self.burst {
            Some((_, dst)) => {
                dst.as_slice().expect("one piece")[i * stride(self.len)..][..n].to_vec()
            }
            None => {
                let (_, _, dst) = self.packets.iter().find(|p| p.0 == i).expect("not outstanding");
                dst.as_slice().expect("one piece")[..n].to_vec()
            }
        }
    }
}
