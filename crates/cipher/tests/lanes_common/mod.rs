//! Packets for sessions of every kind, and what is expected of them.
// Not every test uses everything.
#![allow(dead_code)]

use lookaside_cipher::single::{Keys, run};
use lookaside_cipher::{
    Aead, Auth, Cipher, Direction, Engine, OpError, Packet, Parts, Session, Span, Sym, Text,
};

pub mod sessions;

use sessions::{block, iv_len, tag_len};
#[allow(unused_imports)]
pub use sessions::{candidates, sessions};

/// A small generator of test data (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }
}

/// A packet, its bytes and where they are to go.
pub struct Case {
    session: usize,
    direction: Direction,
    iv: Vec<u8>,
    parts: Parts,
    src: Vec<u8>,
    /// The destination before; none in place.
    dst: Option<Vec<u8>>,
    /// Bytes skipped at the start of the memory: alignment.
    skip: usize,
}

/// The result, and the destination's bytes.
type Outcome = (Result<usize, OpError>, Vec<u8>);

impl Case {
    fn with<T>(
        &self,
        sessions: &[Session],
        memory: &mut [Vec<u8>; 2],
        run: impl FnOnce(Packet<'_>) -> T,
    ) -> T {
        run(self.packet(sessions, memory))
    }

    fn memory(&self) -> [Vec<u8>; 2] {
        let skipped = |bytes: &[u8]| [vec![0; self.skip], bytes.to_vec()].concat();
        [skipped(&self.src), self.dst.as_deref().map(skipped).unwrap_or_default()]
    }

    fn packet<'a>(&'a self, sessions: &'a [Session], memory: &'a mut [Vec<u8>; 2]) -> Packet<'a> {
        let [src, dst] = memory;
        let text = if self.dst.is_some() {
            Text::Apart { src: &src[self.skip..], dst: &mut dst[self.skip..] }
        } else {
            Text::InPlace(&mut src[self.skip..])
        };
        Packet {
            session: &sessions[self.session],
            direction: self.direction,
            iv: &self.iv,
            parts: self.parts,
            text,
            result: Err(OpError::Cancelled),
        }
    }

    fn outcome(&self, result: Result<usize, OpError>, memory: [Vec<u8>; 2]) -> Outcome {
        let [src, dst] = memory;
        if self.dst.is_some() {
            assert_eq!(src[self.skip..], self.src, "the source has changed");
            (result, dst[self.skip..].to_vec())
        } else {
            (result, src[self.skip..].to_vec())
        }
    }

    /// What `single` makes of it.
    fn expected(&self, sessions: &[Session]) -> Outcome {
        let mut memory = self.memory();
        let session = &sessions[self.session];
        let keys = Keys::new(session.spec(), session.cpu()).unwrap();
        let result = self.with(sessions, &mut memory, |mut packet| {
            run(&keys, &mut packet);
            packet.result
        });
        self.outcome(result, memory)
    }

    fn compare(&self, sessions: &[Session], outcome: &Outcome) {
        let expected = self.expected(sessions);
        let name = format!(
            "{:?} by {}, {:?}, {:?}, IV of {}, {}",
            kind(sessions[self.session].spec()),
            sessions[self.session].served_by(),
            self.direction,
            self.parts,
            self.iv.len(),
            if self.dst.is_some() { "apart" } else { "in place" },
        );
        assert_eq!(outcome.0, expected.0, "{name}");
        if outcome.0.is_ok() {
            assert!(outcome.1 == expected.1, "{name}: other bytes");
            return;
        }
        let before = self.dst.as_ref().unwrap_or(&self.src);
        let Span { offset, len } = self.parts.cipher;
        let range = offset as usize..offset as usize + len as usize;
        if let (Some(now), Some(before)) = (outcome.1.get(range.clone()), before.get(range)) {
            assert!(now.iter().all(|byte| *byte == 0) || now == before, "{name}: plaintext");
        }
    }

    pub fn check_one(&mut self, engine: &mut Engine, sessions: &[Session]) {
        let mut memory = self.memory();
        let result = self.with(sessions, &mut memory, |packet| engine.run_one(packet));
        let outcome = self.outcome(result, memory);
        self.compare(sessions, &outcome);
    }
}

/// A specification without its keys.
pub fn kind(spec: &Sym) -> String {
    match spec {
        Sym::Cipher { cipher, key } => format!("{cipher:?} {}", key.len()),
        Sym::Auth { auth, key, tag_len } => format!("{auth:?} {} {tag_len}", key.len()),
        Sym::Aead { aead, key, tag_len } => format!("{aead:?} {} {tag_len}", key.len()),
        Sym::Chain { cipher, cipher_key, auth, order, tag_len, .. } => {
            format!("{cipher:?} {} {auth:?} {order:?} {tag_len}", cipher_key.len())
        }
        Sym::TlsCbc { key, hash, .. } => format!("TLS {} {hash:?}", key.len()),
    }
}

/// Runs the cases as one batch and compares each with what `single` makes of it.
pub fn check(engine: &mut Engine, sessions: &[Session], cases: &mut [Case]) {
    let mut memories: Vec<_> = cases.iter().map(Case::memory).collect();
    let mut packets: Vec<_> = cases
        .iter()
        .zip(&mut memories)
        .map(|(case, memory)| case.packet(sessions, memory))
        .collect();
    engine.run(&mut packets);
    let results: Vec<_> = packets.iter().map(|packet| packet.result).collect();
    drop(packets);
    for ((case, memory), result) in cases.iter().zip(memories).zip(results) {
        case.compare(sessions, &case.outcome(result, memory));
    }
}

/// Makes packets.
pub struct Cases<'a> {
    sessions: &'a [Session],
    random: &'a mut Random,
}

impl<'a> Cases<'a> {
    pub fn new(sessions: &'a [Session], random: &'a mut Random) -> Cases<'a> {
        Cases { sessions, random }
    }

    pub fn of(&mut self, session: usize, count: usize) -> Vec<Case> {
        (0..count)
            .map(|_| {
                let len = self.len();
                self.case(session, len)
            })
            .collect()
    }

    pub fn alike(&mut self, session: usize, count: usize, len: usize) -> Vec<Case> {
        (0..count).map(|_| self.sealed(session, len)).collect()
    }

    pub fn mixed(&mut self, count: usize) -> Vec<Case> {
        (0..count)
            .map(|_| {
                let session = self.random.below(self.sessions.len());
                let len = self.len();
                self.case(session, len)
            })
            .collect()
    }

    /// Around the limits of what the lanes count: so many of each length, well-formed, in an order in
    /// which some of one length are followed by as many of the next. All of a length go the same way,
    /// the next length's the other way, and all the other way round when `opened`.
    pub fn long(&mut self, session: usize, count: usize, opened: bool) -> Vec<Case> {
        let lens = [1408, 8188, 8189, 16384, 16385, 65520, 65521, 65535, 65536];
        // The last two are CCM's, with nonces of 13 bytes.
        let ccm = matches!(self.sessions[session].spec(), Sym::Aead { aead: Aead::AesCcm, .. });
        let mut cases = Vec::new();
        for (i, len) in lens[..if ccm { 9 } else { 7 }].iter().enumerate() {
            for _ in 0..count {
                let mut case = self.sealed(session, *len);
                if (i % 2 == 0) == opened {
                    self.turn(&mut case);
                }
                cases.push(case);
            }
        }
        cases
    }

    fn len(&mut self) -> usize {
        match self.random.below(12) {
            0 => 0,
            1..5 => self.random.below(70),
            5..11 => self.random.below(300),
            _ => self.random.below(3000),
        }
    }

    fn case(&mut self, session: usize, len: usize) -> Case {
        let mut case = self.sealed(session, len);
        if self.random.one_in(2) {
            self.turn(&mut case);
        }
        let random = &mut *self.random;
        match random.below(40) {
            0 => case.parts.cipher.len += random.below(200) as u32,
            1 => case.parts.auth.offset += random.below(200) as u32,
            2 => case.parts.tag = random.below(len + 1) as u32,
            3 => case.iv.push(0),
            4 => case.parts.aad.len = u32::MAX,
            // Associated data that are encrypted.
            5 | 6 => case.parts.aad.offset += random.below(len + 1) as u32,
            _ => {}
        }
        case
    }

    /// A well-formed packet to be sealed.
    fn sealed(&mut self, session: usize, len: usize) -> Case {
        let spec = self.sessions[session].spec();
        let random = &mut *self.random;
        let tls = matches!(spec, Sym::TlsCbc { .. });
        let mut len = len / block(spec) * block(spec);
        if tls {
            len = len.min(20000);
        }
        let head = if tls { 13 } else { [0, 8, 13, 20, 50, 222, 223][random.below(7)] };
        let gap = random.below(4);
        let after = random.below(20);
        let span = |offset: usize, len: usize| Span { offset: offset as u32, len: len as u32 };
        let start = gap + head;
        let mut auth = span(gap, head + len + if random.one_in(3) { after } else { 0 });
        if matches!(spec, Sym::Auth { auth: Auth::AesCbcMac, .. }) {
            auth.len = auth.len / 16 * 16;
        }
        if random.one_in(8) {
            auth = span(random.below(start + 1), random.below(len + after + 1));
        }
        let tag = start + len + after + random.below(3);
        let total = tag + tag_len(spec).max(if tls { 80 } else { 0 }) + random.below(3);
        let mut parts = Parts {
            aad: span(gap, head),
            cipher: span(start, len),
            auth,
            tag: tag as u32,
            spare_bits: 0,
        };
        let bits = matches!(
            spec,
            Sym::Cipher { cipher: Cipher::KasumiF8 | Cipher::Snow3gUea2 | Cipher::ZucEea3, .. }
                | Sym::Auth { auth: Auth::KasumiF9 | Auth::Snow3gUia2 | Auth::ZucEia3, .. }
        );
        if bits && random.one_in(3) {
            parts.spare_bits = random.below(8) as u8;
        }
        let iv_len = iv_len(spec, random);
        let mut iv = random.bytes(iv_len);
        if matches!(spec, Sym::Auth { auth: Auth::KasumiF9, .. }) {
            iv[8] &= 1;
        }
        if iv.len() == 16 && random.one_in(4) {
            // A counter about to overflow, 32 bits of it or all.
            iv[random.below(2) * 12..15].fill(255);
        }
        Case {
            session,
            direction: Direction::Seal,
            iv,
            parts,
            src: random.bytes(total),
            dst: random.one_in(2).then(|| random.bytes(total)),
            skip: random.below(20),
        }
    }

    /// Makes a packet to be opened of one to be sealed, sometimes a damaged one.
    fn turn(&mut self, case: &mut Case) {
        let (result, sealed) = case.expected(self.sessions);
        let Ok(len) = result else { return };
        let auth_only = matches!(self.sessions[case.session].spec(), Sym::Auth { .. });
        let tag = case.parts.tag as usize;
        if case.dst.is_some()
            && (auth_only || !matches!(self.sessions[case.session].spec(), Sym::Chain { .. }))
        {
            // What was not written is still in the source: the associated data, the text of a MAC.
            let Span { offset, len: old } = case.parts.cipher;
            let written = offset as usize..offset as usize + len.max(old as usize);
            if !auth_only {
                case.src[written.clone()].copy_from_slice(&sealed[written]);
            }
            case.src[tag..].copy_from_slice(&sealed[tag..]);
        } else {
            case.src = sealed;
        }
        case.direction = Direction::Open;
        if !auth_only {
            case.parts.cipher.len = len as u32;
        }
        if self.random.one_in(4) && !case.src.is_empty() {
            let at = match self.random.below(3) {
                0 => tag.min(case.src.len() - 1),
                _ => self.random.below(case.src.len()),
            };
            case.src[at] ^= 1 << self.random.below(8);
        }
    }
}
