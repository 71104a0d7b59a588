//! Lookaside: requests through an instance whose owner executes them (0 engines), or engines.

use std::time::Duration;

use lookaside::{
    AeadSession, Buf, Carried, ChainSession, CipherSession, DigestSession, Instance,
    InstanceConfig, Iv, Packet, Request, Response, Runtime, Span,
};

use crate::{
    algorithms::{Algorithm, Kind, ORDER},
    rivals::{PACKETS, key, shift},
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

/// A buffer with these bytes, and where they begin in it: as far from a cache line's start as the
/// rivals' texts do. A text that is not, pays for two lines with every load and store of 64 bytes.
fn placed(bytes: &[u8]) -> (usize, Buf) {
    const LINE: usize = 64;
    let mut room = vec![0; bytes.len() + LINE + shift()];
    let at = room.as_ptr().align_offset(LINE) + shift();
    room[at..][..bytes.len()].copy_from_slice(bytes);
    (at, Buf::from(room))
}

/// A burst of 32 packets in one piece of memory, and where the first one lies.
pub fn burst(a: &Algorithm, len: usize) -> (usize, Box<Carried>, Buf) {
    let texts: Vec<Vec<u8>> = (0..PACKETS).map(|i| text(i, len)).collect();
    let (at, memory) = placed(&texts.concat());
    let packets: Vec<_> = (0..PACKETS).map(|i| packet(a, i, at + i * stride(len), len)).collect();
    (at, packets.into(), memory)
}

/// The response to the only request that is outstanding.
pub fn wait_for_one(instance: &mut Instance) -> Response {
    loop {
        instance.wait(Duration::from_secs(10));
        if let Some(r) = instance.poll().next() {
            r.result.expect("sealed");
            return r;
        }
    }
}

/// 32 packets, one by one or in a burst.
pub struct Ours<'a> {
    algorithm: &'a Algorithm,
    session: Session,
    instance: Instance,
    len: usize,
    /// What is not outstanding.
    packets: Vec<(usize, Box<Carried>, Buf)>,
    burst: Option<(usize, Box<Carried>, Buf)>,
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
                .map(|(i, t)| {
                    let (at, memory) = placed(&t);
                    (i, packet(a, i, at, len).into(), memory)
                })
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
            let (at, carried, dst) = self.burst.take().expect("nothing is outstanding");
            self.instance.push(self.session.seal(carried, dst)).expect("room");
            let r = wait_for_one(&mut self.instance);
            self.burst = Some((at, r.carried.expect("a burst"), r.dst));
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
        let (at, dst) = match &self.burst {
            Some((at, _, dst)) => (at + i * stride(self.len), dst),
            None => {
                let found = self.packets.iter().find(|p| p.0 == i).expect("not outstanding");
                let [packet] = found.1.packets() else { panic!("one packet") };
                let region = if packet.cipher.len > 0 { packet.cipher } else { packet.auth };
                (region.offset as usize, &found.2)
            }
        };
        dst.as_slice().expect("one piece")[at..][..n].to_vec()
    }
}
