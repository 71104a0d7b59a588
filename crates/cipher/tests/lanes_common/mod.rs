//! Sessions of every kind, and packets for them.

use lookaside_cipher::single::{Keys, run};
use lookaside_cipher::{
    Aead, Auth, Cipher, Direction, Engine, Error, Hash, Order, Packet, Parts, Secret, Session,
    Span, Spec, Text,
};
use lookaside_simd::Cpu;

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

const HASHES: [Hash; 13] = [
    Hash::Md5,
    Hash::Sha1,
    Hash::Sha224,
    Hash::Sha256,
    Hash::Sha384,
    Hash::Sha512,
    Hash::Sha3_224,
    Hash::Sha3_256,
    Hash::Sha3_384,
    Hash::Sha3_512,
    Hash::Sm3,
    Hash::Crc32,
    Hash::Crc64,
];

/// Ciphers, and the lengths of their keys.
const CIPHERS: &[(Cipher, &[usize])] = &[
    (Cipher::Null, &[0]),
    (Cipher::Arc4, &[16]),
    (Cipher::AesEcb, &[16, 24, 32]),
    (Cipher::AesCbc, &[16, 24, 32]),
    (Cipher::AesCtr, &[16, 24, 32]),
    (Cipher::AesXts, &[32, 64]),
    (Cipher::DesEcb, &[8]),
    (Cipher::DesCbc, &[8]),
    (Cipher::TripleDesEcb, &[24]),
    (Cipher::TripleDesCbc, &[24]),
    (Cipher::TripleDesCtr, &[24]),
    (Cipher::KasumiF8, &[16]),
    (Cipher::Snow3gUea2, &[16]),
    (Cipher::ZucEea3, &[16]),
    (Cipher::ChaCha20, &[32]),
    (Cipher::Sm4Ecb, &[16]),
    (Cipher::Sm4Cbc, &[16]),
    (Cipher::Sm4Ctr, &[16]),
];

/// MACs that are no HMAC: the lengths of their keys, and of their tags.
const MACS: &[(Auth, &[usize], usize)] = &[
    (Auth::AesXcbc, &[16], 16),
    (Auth::AesCbcMac, &[16, 24, 32], 16),
    (Auth::AesCmac, &[16, 24, 32], 16),
    (Auth::AesGmac, &[16, 24, 32], 16),
    (Auth::KasumiF9, &[16], 4),
    (Auth::Snow3gUia2, &[16], 4),
    (Auth::ZucEia3, &[16], 4),
    (Auth::Poly1305, &[32], 16),
];

fn auths(random: &mut Random) -> Vec<(Auth, Vec<u8>, usize)> {
    let mut list = Vec::new();
    for hash in HASHES {
        list.push((Auth::Plain(hash), Vec::new(), hash.len()));
        for key_len in [0, 16, 20, 64, 65, 200] {
            list.push((Auth::Hmac(hash), random.bytes(key_len), hash.len()));
        }
    }
    for (inner, outer) in [(Hash::Md5, Hash::Md5), (Hash::Sha256, Hash::Sha1)] {
        for (prefix, suffix) in [(0, 0), (64, 64), (13, 40)] {
            let mut key = vec![prefix as u8];
            key.extend(random.bytes(prefix + suffix));
            list.push((Auth::Nested { inner, outer }, key, outer.len()));
        }
    }
    for (auth, key_lens, len) in MACS {
        list.extend(key_lens.iter().map(|key_len| (*auth, random.bytes(*key_len), *len)));
    }
    list
}

/// Sessions of every kind that there is, with random keys: those that there is no implementation of
/// are left out.
pub fn sessions(cpu: &Cpu) -> Vec<Session> {
    let random = &mut Random(42);
    let secret = |bytes: Vec<u8>| Secret::new(bytes);
    let mut specs = Vec::new();
    for (cipher, key_lens) in CIPHERS {
        for key_len in *key_lens {
            // Two of each, so that lanes hold different keys.
            for _ in 0..2 {
                specs.push(Spec::Cipher { cipher: *cipher, key: secret(random.bytes(*key_len)) });
            }
        }
    }
    let auths = auths(random);
    for (auth, key, len) in &auths {
        specs.push(Spec::Auth { auth: *auth, key: secret(key.clone()), tag_len: *len });
        let short = if *auth == Auth::AesGmac { 12 } else { 1 + random.below(*len) };
        specs.push(Spec::Auth { auth: *auth, key: secret(key.clone()), tag_len: short });
    }
    for key_len in [16, 24, 32] {
        for (aead, tag_lens) in [(Aead::AesGcm, [8, 12, 13, 16]), (Aead::AesCcm, [4, 8, 12, 16])] {
            for tag_len in tag_lens {
                specs.push(Spec::Aead { aead, key: secret(random.bytes(key_len)), tag_len });
            }
        }
    }
    for _ in 0..2 {
        let key = secret(random.bytes(32));
        specs.push(Spec::Aead { aead: Aead::ChaCha20Poly1305, key, tag_len: 16 });
    }
    for order in [Order::CipherThenAuth, Order::AuthThenCipher] {
        for (cipher, key_lens) in CIPHERS {
            for _ in 0..5 {
                let (auth, key, len) = &auths[random.below(auths.len())];
                let key_len = key_lens[random.below(key_lens.len())];
                specs.push(Spec::Chain {
                    cipher: *cipher,
                    cipher_key: secret(random.bytes(key_len)),
                    auth: *auth,
                    auth_key: secret(key.clone()),
                    tag_len: *len,
                    order,
                });
            }
        }
        for hash in [Hash::Sha1, Hash::Sha256, Hash::Sha384, Hash::Sha512, Hash::Md5] {
            for cipher in [Cipher::AesCbc, Cipher::AesCtr, Cipher::Null] {
                let key_len = if cipher == Cipher::Null { 0 } else { 16 };
                specs.push(Spec::Chain {
                    cipher,
                    cipher_key: secret(random.bytes(key_len)),
                    auth: Auth::Hmac(hash),
                    auth_key: secret(random.bytes(hash.len())),
                    tag_len: 12,
                    order,
                });
            }
        }
    }
    for hash in [Hash::Sha1, Hash::Sha256, Hash::Sha384] {
        for key_len in [16, 32] {
            let (key, auth_key) = (secret(random.bytes(key_len)), secret(random.bytes(hash.len())));
            specs.push(Spec::TlsCbc { key, hash, auth_key });
        }
    }
    specs.into_iter().filter_map(|spec| Session::new(spec, cpu).ok()).collect()
}

fn iv_len(spec: &Spec, random: &mut Random) -> usize {
    let of_cipher = |cipher: Cipher, random: &mut Random| match cipher {
        Cipher::Null | Cipher::Arc4 => 0,
        Cipher::AesEcb | Cipher::DesEcb | Cipher::TripleDesEcb | Cipher::Sm4Ecb => 0,
        Cipher::AesCtr | Cipher::Sm4Ctr => [12, 16][random.below(2)],
        Cipher::DesCbc | Cipher::TripleDesCbc | Cipher::TripleDesCtr | Cipher::KasumiF8 => 8,
        _ => 16,
    };
    match spec {
        Spec::Cipher { cipher, .. } | Spec::Chain { cipher, .. } => of_cipher(*cipher, random),
        Spec::Auth { auth: Auth::AesGmac, .. } | Spec::Aead { aead: Aead::AesGcm, .. } => {
            [12, 12, 12, 1, 16, 33][random.below(6)]
        }
        Spec::Auth { auth: Auth::KasumiF9, .. } => 9,
        Spec::Auth { auth: Auth::Snow3gUia2 | Auth::ZucEia3, .. } => 16,
        Spec::Auth { .. } => 0,
        Spec::Aead { aead: Aead::AesCcm, .. } => 7 + random.below(7),
        Spec::Aead { .. } => 12,
        Spec::TlsCbc { .. } => 16,
    }
}

fn block(spec: &Spec) -> usize {
    match spec {
        Spec::Cipher { cipher, .. } | Spec::Chain { cipher, .. } => match cipher {
            Cipher::AesEcb | Cipher::AesCbc | Cipher::Sm4Ecb | Cipher::Sm4Cbc => 16,
            Cipher::DesEcb | Cipher::DesCbc | Cipher::TripleDesEcb | Cipher::TripleDesCbc => 8,
            _ => 1,
        },
        _ => 1,
    }
}

fn tag_len(spec: &Spec) -> usize {
    match spec {
        Spec::Auth { tag_len, .. } | Spec::Aead { tag_len, .. } | Spec::Chain { tag_len, .. } => {
            *tag_len
        }
        _ => 0,
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
type Outcome = (Result<usize, Error>, Vec<u8>);

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
            result: Err(Error::NotRun),
        }
    }

    fn outcome(&self, result: Result<usize, Error>, memory: [Vec<u8>; 2]) -> Outcome {
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
fn kind(spec: &Spec) -> String {
    match spec {
        Spec::Cipher { cipher, key } => format!("{cipher:?} {}", key.len()),
        Spec::Auth { auth, key, tag_len } => format!("{auth:?} {} {tag_len}", key.len()),
        Spec::Aead { aead, key, tag_len } => format!("{aead:?} {} {tag_len}", key.len()),
        Spec::Chain { cipher, cipher_key, auth, order, tag_len, .. } => {
            format!("{cipher:?} {} {auth:?} {order:?} {tag_len}", cipher_key.len())
        }
        Spec::TlsCbc { key, hash, .. } => format!("TLS {} {hash:?}", key.len()),
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

    pub fn mixed(&mut self, count: usize) -> Vec<Case> {
        (0..count)
            .map(|_| {
                let session = self.random.below(self.sessions.len());
                let len = self.len();
                self.case(session, len)
            })
            .collect()
    }

    /// Around the limits of what the lanes count.
    pub fn long(&mut self, session: usize) -> Vec<Case> {
        let lens = [1408, 8188, 8189, 16384, 16385, 65520, 65521];
        lens.iter().map(|len| self.case(session, *len)).collect()
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
        let spec = self.sessions[session].spec();
        let random = &mut *self.random;
        let tls = matches!(spec, Spec::TlsCbc { .. });
        let mut len = len / block(spec) * block(spec);
        if tls {
            len = len.min(20000);
        }
        let head = if tls { 13 } else { [0, 8, 13, 20, 50][random.below(5)] };
        let gap = random.below(4);
        let after = random.below(20);
        let span = |offset: usize, len: usize| Span { offset: offset as u32, len: len as u32 };
        let start = gap + head;
        let mut auth = span(gap, head + len + if random.one_in(3) { after } else { 0 });
        if matches!(spec, Spec::Auth { auth: Auth::AesCbcMac, .. }) {
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
            Spec::Cipher { cipher: Cipher::KasumiF8 | Cipher::Snow3gUea2 | Cipher::ZucEea3, .. }
                | Spec::Auth { auth: Auth::KasumiF9 | Auth::Snow3gUia2 | Auth::ZucEia3, .. }
        );
        if bits && random.one_in(3) {
            parts.spare_bits = random.below(8) as u8;
        }
        let iv_len = iv_len(spec, random);
        let mut iv = random.bytes(iv_len);
        if matches!(spec, Spec::Auth { auth: Auth::KasumiF9, .. }) {
            iv[8] &= 1;
        }
        if iv.len() == 16 && random.one_in(4) {
            // A counter about to overflow, 32 bits of it or all.
            iv[random.below(2) * 12..15].fill(255);
        }
        let mut case = Case {
            session,
            direction: Direction::Seal,
            iv,
            parts,
            src: random.bytes(total),
            dst: random.one_in(2).then(|| random.bytes(total)),
            skip: random.below(20),
        };
        if random.one_in(2) {
            self.turn(&mut case);
        }
        let random = &mut *self.random;
        match random.below(40) {
            0 => case.parts.cipher.len += random.below(200) as u32,
            1 => case.parts.auth.offset += random.below(200) as u32,
            2 => case.parts.tag = random.below(len + 1) as u32,
            3 => case.iv.push(0),
            4 => case.parts.aad.len = u32::MAX,
            _ => {}
        }
        case
    }

    /// Makes a packet to be opened of one to be sealed, sometimes a damaged one.
    fn turn(&mut self, case: &mut Case) {
        let (result, sealed) = case.expected(self.sessions);
        let Ok(len) = result else { return };
        let auth_only = matches!(self.sessions[case.session].spec(), Spec::Auth { .. });
        let tag = case.parts.tag as usize;
        if case.dst.is_some()
            && (auth_only || !matches!(self.sessions[case.session].spec(), Spec::Chain { .. }))
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
