//! Texts of the symmetric service in lists that are cut anywhere, and IVs that lie in the text: the
//! bytes are those of a text in one piece.

use lookaside::{AeadSession, ChainSession, CipherSession, DigestSession, Runtime, TlsCbcSession};
use lookaside_core::{
    Aead, Auth, Buf, ChainOrder, Cipher, Hash, Iv, OpError, Packet, Request, Span,
};

use super::call;
use crate::{Rng, mixed};

const TAG: usize = 16;
const AAD: usize = 13;
/// Before the IV, and the room behind a text: for a tag, or the MAC and padding of a record.
const BEFORE: usize = 3;
const ROOM: usize = 80;

/// The sessions of each kind, behind one face.
enum Keyed {
    Cipher(CipherSession),
    Digest(DigestSession),
    Aead(AeadSession),
    Chain(ChainSession),
    Tls(TlsCbcSession),
}

struct Sealer {
    keyed: Keyed,
    name: String,
    iv: Vec<u8>,
    /// The IV lies in the text.
    at: bool,
    /// What texts come in, and the least of it.
    block: usize,
    least: usize,
}

impl Sealer {
    fn request(&self, seals: bool, packet: Packet, src: Buf, dst: Buf) -> Request {
        match (&self.keyed, seals) {
            (Keyed::Cipher(s), true) => s.encrypt(packet, src, dst),
            (Keyed::Cipher(s), false) => s.decrypt(packet, src, dst),
            (Keyed::Digest(s), true) => s.digest(packet, src, dst),
            (Keyed::Digest(s), false) => s.verify(packet, src, dst),
            (Keyed::Aead(s), true) => s.seal(packet, src, dst),
            (Keyed::Aead(s), false) => s.open(packet, src, dst),
            (Keyed::Chain(s), true) => s.seal(packet, src, dst),
            (Keyed::Chain(s), false) => s.open(packet, src, dst),
            (Keyed::Tls(s), true) => s.seal(packet, src, dst),
            (Keyed::Tls(s), false) => s.open(packet, src, dst),
        }
    }

    fn run(&self, runtime: &Runtime, seals: bool, packet: Packet, src: Buf, dst: Buf) -> Outcome {
        let source = src.segments().iter().flat_map(|s| s.as_slice().unwrap_or(&[]).to_vec());
        let source: Vec<u8> = source.collect();
        let r = call(runtime, self.request(seals, packet, src, dst));
        assert_eq!(r.packets()[0].result.is_ok(), r.result.is_ok(), "{}", self.name);
        let result = r.result.map(|done| (done.consumed, done.produced));
        assert!(r.src.into_vec() == source, "{}: the source has changed", self.name);
        (result, r.dst.into_vec())
    }

    /// Three bytes, the IV, the associated data, the text, room: the same for all.
    fn packet(&self, len: usize) -> Packet {
        let aad = (BEFORE + self.iv.len()) as u32;
        let (text, len) = (aad + AAD as u32, len as u32);
        let here = Iv::new(&self.iv).unwrap_or_default();
        let at = Iv::At(Span::new(BEFORE as u32, self.iv.len() as u32));
        Packet {
            iv: if self.at { at } else { here },
            aad: Span::new(aad, AAD as u32),
            cipher: Span::new(text, len),
            auth: Span::new(aad, AAD as u32 + len),
            tag: text + len,
            ..Packet::default()
        }
    }

    fn memory(&self, len: usize) -> Vec<u8> {
        let mut memory = mixed(len as u64 + 5, BEFORE + self.iv.len() + AAD + len + ROOM);
        memory[BEFORE..][..self.iv.len()].copy_from_slice(&self.iv);
        memory
    }

    /// What there is, of the bytes that a packet writes: its text and its tag.
    fn written(&self, packet: &Packet, produced: usize, dst: &[u8]) -> Vec<u8> {
        let text = &dst[packet.cipher.offset as usize..];
        let tag = &dst[packet.tag as usize..];
        match self.keyed {
            Keyed::Digest(_) => tag[..produced].to_vec(),
            Keyed::Cipher(_) | Keyed::Tls(_) => text[..produced].to_vec(),
            Keyed::Aead(_) | Keyed::Chain(_) => [&text[..produced], &tag[..TAG]].concat(),
        }
    }
}

/// What it consumed and produced, and the destination.
type Outcome = (Result<(usize, usize), OpError>, Vec<u8>);

/// A list of segments of any length, with one that is empty and one of a byte among them.
fn cut(rng: &mut Rng, mut bytes: &[u8]) -> Buf {
    let (mut segments, mut forced) = (Vec::new(), vec![0, 1]);
    while !bytes.is_empty() {
        let len = match rng.below(5) {
            0 | 1 => forced.pop().unwrap_or_default(),
            2 => rng.below(3) as usize,
            3 => rng.below(40) as usize,
            _ => rng.below(bytes.len() as u64 + 1) as usize,
        };
        let (segment, rest) = bytes.split_at(len.min(bytes.len()));
        segments.push(Buf::from(segment));
        bytes = rest;
    }
    segments.extend(forced.into_iter().map(Buf::zeroed).take(1));
    Buf::list(segments)
}

fn sealers(runtime: &Runtime) -> Vec<Sealer> {
    let sealer = |keyed, name: String, iv_len: usize, at, block, least| {
        let iv = mixed(77, iv_len);
        Sealer { keyed, name, iv, at, block, least }
    };
    let mut all = Vec::new();
    for (cipher, key_len, iv_len, block, least) in [
        (Cipher::AesEcb, 16, 0, 16, 16),
        (Cipher::AesCbc, 32, 16, 16, 16),
        (Cipher::AesCtr, 24, 16, 1, 1),
        (Cipher::AesXts, 64, 16, 1, 16),
        (Cipher::TripleDesCbc, 24, 8, 8, 8),
        (Cipher::Sm4Cbc, 16, 16, 16, 16),
        (Cipher::ZucEea3, 16, 16, 1, 1),
        (Cipher::ChaCha20, 32, 16, 1, 1),
    ] {
        let session = runtime.cipher(cipher, &mixed(6, key_len)).expect("a cipher");
        let at = cipher == Cipher::AesCtr;
        all.push(sealer(Keyed::Cipher(session), format!("{cipher:?}"), iv_len, at, block, least));
    }
    for (auth, key_len, iv_len, tag_len) in [
        (Auth::Plain(Hash::Sha256), 0, 0, 32),
        (Auth::Hmac(Hash::Sha1), 20, 0, 20),
        (Auth::AesCmac, 16, 0, 16),
        (Auth::AesGmac, 16, 33, 16),
    ] {
        let session = runtime.digest(auth, &mixed(6, key_len), tag_len).expect("a digest");
        let (keyed, at) = (Keyed::Digest(session), iv_len > 16);
        all.push(sealer(keyed, format!("{auth:?}"), iv_len, at, 1, 0));
    }
    for (aead, key_len, iv_len, at) in [
        (Aead::AesGcm, 16, 12, false),
        (Aead::AesGcm, 16, 12, true),
        (Aead::AesGcm, 32, 60, true),
        (Aead::AesCcm, 16, 13, true),
        (Aead::ChaCha20Poly1305, 32, 12, true),
    ] {
        let session = runtime.aead(aead, &mixed(6, key_len), TAG).expect("an AEAD");
        let name = format!("{aead:?}, IV of {iv_len}{}", if at { " in the text" } else { "" });
        all.push(sealer(Keyed::Aead(session), name, iv_len, at, 1, 0));
    }
    for (hash, order) in
        [(Hash::Sha256, ChainOrder::CipherThenAuth), (Hash::Sha1, ChainOrder::AuthThenCipher)]
    {
        let (cipher, auth) = ((Cipher::AesCbc, &[4; 16][..]), (Auth::Hmac(hash), &[5; 20][..]));
        let session = runtime.chain(cipher, auth, TAG, order).expect("a chain");
        let (keyed, name) = (Keyed::Chain(session), format!("{hash:?} {order:?}"));
        all.push(sealer(keyed, name, 16, false, 16, 16));
    }
    let session = runtime.tls_cbc(&[8; 16], Hash::Sha1, &[9; 20]).expect("a record");
    all.push(sealer(Keyed::Tls(session), "a TLS record".into(), 16, false, 1, 0));
    all
}

/// Any list is a text in one piece: sealed and opened, in place and apart, whole and damaged.
pub(super) fn lists(runtime: &Runtime) {
    for sealer in sealers(runtime) {
        for len in [0, 1, 15, 16, 17, 48, 100, 256, 257, 1408] {
            let len = (len / sealer.block * sealer.block).max(sealer.least);
            let (packet, memory) = (sealer.packet(len), sealer.memory(len));
            let (sealed_len, sealed) = agree(runtime, &sealer, true, packet, &memory);
            let sealed_len = sealed_len.expect("sealed").1;

            let tls = matches!(sealer.keyed, Keyed::Tls(_));
            let cipher = packet.cipher;
            let opens = Span::new(cipher.offset, if tls { sealed_len as u32 } else { cipher.len });
            let packet = Packet { cipher: opens, ..packet };
            let (opened_len, opened) = agree(runtime, &sealer, false, packet, &sealed);
            opened_len.expect("opened");
            let text = cipher.offset as usize..(cipher.offset + cipher.len) as usize;
            assert!(opened[text.clone()] == memory[text], "{}: {len}", sealer.name);

            if !matches!(sealer.keyed, Keyed::Cipher(_)) {
                let mut bad = sealed;
                let last = if tls { opens.offset + opens.len - 1 } else { packet.tag };
                bad[last as usize] ^= 0x10;
                let (result, _) = agree(runtime, &sealer, false, packet, &bad);
                assert_eq!(result, Err(OpError::AuthFailed), "{}: {len}", sealer.name);
            }
        }
    }
}

/// A packet in one piece and in lists, each in place and apart. Returns what it did in place.
fn agree(
    runtime: &Runtime,
    sealer: &Sealer,
    seals: bool,
    packet: Packet,
    memory: &[u8],
) -> Outcome {
    let mut rng = Rng::new(memory.len() as u64);
    let before = mixed(9, memory.len());
    let what = format!("{}: {seals}, {} bytes", sealer.name, packet.cipher.len);
    let run = |src, dst| sealer.run(runtime, seals, packet, src, dst);
    let apart = run(Buf::from(memory), Buf::from(&*before));
    let in_place = run(Buf::empty(), Buf::from(memory));
    assert_eq!(apart.0, in_place.0, "{what}");
    if let Ok((_, produced)) = apart.0
        && seals
    {
        let written = |dst: &[u8]| sealer.written(&packet, produced, dst);
        assert!(written(&apart.1) == written(&in_place.1), "{what}: in place and apart");
    }
    for _ in 0..2 {
        let lists = run(cut(&mut rng, memory), cut(&mut rng, &before));
        assert!(lists == apart, "{what}: lists apart");
        let one = run(Buf::from(memory), cut(&mut rng, &before));
        assert!(one == apart, "{what}: a list as destination");
        let one = run(cut(&mut rng, memory), Buf::from(&*before));
        assert!(one == apart, "{what}: a list as source");
        let list = run(Buf::empty(), cut(&mut rng, memory));
        assert!(list == in_place, "{what}: a list in place");
    }
    in_place
}

/// Test case 6 of McGrew and Viega's specification of GCM, whose IV of 60 bytes lies in the text; and
/// where one may not lie.
pub(super) fn iv_in_the_text(runtime: &Runtime) {
    let hex = |text: &str| -> Vec<u8> {
        let digit = |d: u8| (d as char).to_digit(16).expect("a digit") as u8;
        text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
    };
    let iv = hex("9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728c3c0c951\
         56809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b");
    let aad = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
    let text = hex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95\
         956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39");
    let sealed = hex("8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca701e4a9a4\
         fba43c90ccdcb281d48c7c6fd62875d2aca417034c34aee5619cc5aefffe0bfa462af43c1699d050");
    let key = hex("feffe9928665731c6d6a8f9467308308");
    let session = runtime.aead(Aead::AesGcm, &key, TAG).expect("an AEAD");
    let packet = |iv: Span| Packet {
        iv: Iv::At(iv),
        aad: Span::new(60, 20),
        cipher: Span::new(80, 60),
        tag: 140,
        ..Packet::default()
    };
    let there = packet(Span::new(0, 60));
    let memory = [&*iv, &aad, &text, &[0; TAG]].concat();
    let rng = &mut Rng::new(60);
    for (src, dst) in [
        (Buf::from(&*memory), Buf::zeroed(156)),
        (Buf::empty(), Buf::from(&*memory)),
        (cut(rng, &memory), cut(rng, &[0; 156])),
        (Buf::from(&*memory), cut(rng, &[0; 156])),
        (Buf::empty(), cut(rng, &memory)),
    ] {
        let r = call(runtime, session.seal(there, src, dst));
        r.result.expect("sealed");
        assert!(r.dst.into_vec()[80..] == sealed);
    }
    let memory = [&*iv, &aad, &sealed].concat();
    for (src, dst) in [
        (Buf::from(&*memory), Buf::zeroed(156)),
        (Buf::empty(), Buf::from(&*memory)),
        (cut(rng, &memory), cut(rng, &[0; 156])),
        (Buf::empty(), cut(rng, &memory)),
    ] {
        let r = call(runtime, session.open(there, src, dst));
        r.result.expect("opened");
        assert!(r.dst.into_vec()[80..140] == text);
    }
    // Not outside of the source.
    for iv in [Span::new(100, 57), Span::new(u32::MAX, u32::MAX)] {
        for src in [Buf::from(&*memory), Buf::empty()] {
            let r = call(runtime, session.open(packet(iv), src, Buf::from(&*memory)));
            assert!(matches!(r.result, Err(OpError::BadInput { .. })), "{:?}", r.result);
            assert!(r.dst.into_vec() == memory, "untouched");
        }
    }
    // Not where a burst is written; apart, each packet of one may have its own.
    let shift = |span: Span| Span::new(span.offset + 156, span.len);
    let mut next = packet(Span::new(156, 60));
    (next.aad, next.cipher, next.tag) = (shift(next.aad), shift(next.cipher), next.tag + 156);
    let (burst, memory) = (vec![there, next], memory.repeat(2));
    let r = call(runtime, session.open(burst.clone(), Buf::empty(), Buf::from(&*memory)));
    assert!(matches!(r.result, Err(OpError::BadInput { .. })), "{:?}", r.result);
    assert!(r.dst.into_vec() == memory, "untouched");
    let r = call(runtime, session.open(burst, Buf::from(&*memory), Buf::zeroed(312)));
    r.result.expect("opened");
    let opened = r.dst.into_vec();
    assert!(opened[80..140] == text && opened[236..296] == text);
}
