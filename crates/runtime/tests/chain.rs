//! Chains: several steps in one request.

use std::time::Duration;

use lookaside::{
    Aead, AeadSession, Aside, Auth, Buf, Carried, CompressSession, Compression, DigestSession,
    Feed, Format, Hash, InstanceConfig, Op, OpError, Packet, Request, Response, Runtime, Span,
    Work,
};

const TAG: usize = 16;
const NONCE: [u8; 12] = [7; 12];

struct Sessions {
    runtime: Runtime,
    gzip: CompressSession,
    gcm: AeadSession,
    sha: DigestSession,
}

fn sessions(engines: usize) -> Sessions {
    let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(engines).start().unwrap();
    Sessions {
        gzip: runtime.compression(Compression::new(Format::Gzip)).unwrap(),
        gcm: runtime.aead(Aead::AesGcm, &[1; 16], TAG).unwrap(),
        sha: runtime.digest(Auth::Plain(Hash::Sha256), &[], 32).unwrap(),
        runtime,
    }
}

fn bytes(buf: &Buf) -> Vec<u8> {
    let mut bytes = Vec::new();
    buf.gather(&mut bytes);
    bytes
}

fn text(len: usize) -> Vec<u8> {
    (0..len).map(|i| ((i * i) >> 7) as u8 & 0x3f).collect()
}

/// All that was written before, with the tag behind it.
fn rest() -> Packet {
    let cipher = Span::new(0, Packet::REST);
    Packet { iv: NONCE.into(), cipher, tag: Packet::REST, ..Packet::default() }
}

impl Sessions {
    fn call(&self, request: Request) -> Response {
        self.runtime.handle().call(request).wait()
    }

    fn room(&self, len: usize) -> usize {
        self.gzip.bound(len) + TAG
    }

    /// Compressed and sealed, by two requests.
    fn by_two(&self, text: &[u8]) -> Vec<u8> {
        let r = self.call(self.gzip.compress(text.into(), Buf::zeroed(self.room(text.len()))));
        let n = r.result.unwrap().produced;
        let packet = Packet { cipher: Span::new(0, n as u32), tag: n as u32, ..rest() };
        let r = self.call(self.gcm.seal(packet, Buf::empty(), r.dst));
        assert_eq!(r.result.unwrap().produced, n);
        let mut bytes = bytes(&r.dst);
        bytes.truncate(n + TAG);
        bytes
    }

    fn compress_and_seal(&self, text: &[u8], feed: Feed, between: Buf) -> Request {
        let dst = match feed {
            Feed::InPlace => Buf::empty(),
            _ => Buf::zeroed(self.room(text.len())),
        };
        let seal = self.gcm.seal(rest(), Buf::empty(), dst);
        self.gzip.compress(text.into(), between).then(feed, seal).unwrap()
    }
}

#[test]
fn compressed_then_sealed_and_back() {
    for engines in [0, 1, 2] {
        let s = sessions(engines);
        for len in [0usize, 1, 1000, 65_536, 1_000_000] {
            let (text, room) = (text(len), s.room(len));
            let expected = s.by_two(&text);
            for feed in [Feed::InPlace, Feed::Written] {
                let halves =
                    || Buf::list(vec![Buf::zeroed(room / 2), Buf::zeroed(room - room / 2)]);
                for between in [Buf::zeroed(room), Buf::secret(vec![0; room]), halves()] {
                    let mut r = s.call(s.compress_and_seal(&text, feed, between));
                    let produced = r.result.unwrap().produced;
                    assert_eq!(produced + TAG, expected.len());
                    assert!(bytes(&r.dst)[..expected.len()] == expected);
                    let steps = r.take_chain().unwrap().into_steps();
                    assert_eq!(steps[0].result.unwrap().produced, produced);
                    assert!(
                        steps[0].request.src.as_slice() == Some(&text),
                        "the source comes back"
                    );
                    let back = if feed == Feed::InPlace { 0 } else { room };
                    assert_eq!(steps[0].request.dst.len(), back, "what was lent comes back whole");
                }
            }
            // Opened, with 9 bytes before it that are not, and decompressed.
            let sealed = [&[0xee; 9][..], &expected].concat();
            let n = expected.len() - TAG;
            let cipher = Span::new(9, n as u32);
            let packet = Packet { cipher, tag: 9 + n as u32, ..rest() };
            let open = |sealed: &[u8]| {
                let open = s.gcm.open(packet, sealed.into(), Buf::zeroed(9 + n));
                let decompress = s.gzip.decompress(Buf::empty(), Buf::zeroed(len));
                s.call(open.then(Feed::Written, decompress).unwrap())
            };
            let r = open(&sealed);
            assert_eq!(r.result.unwrap().produced, len);
            assert!(bytes(&r.dst) == text);
            // A bit of it changed: nothing is decompressed, and nothing of the plaintext is there.
            let mut bad = sealed;
            bad[9] ^= 1;
            let mut r = open(&bad);
            assert_eq!(r.result, Err(OpError::AuthFailed));
            let chain = r.take_chain().unwrap();
            assert_eq!((chain.done(), chain.steps()[0].result), (0, Err(OpError::Cancelled)));
            assert!(bytes(&r.dst).iter().all(|&b| b == 0));
        }
    }
}

#[test]
fn three_steps_two_of_one_source() {
    let s = sessions(0);
    let text = text(50_000);
    let alone = |request| s.call(request).dst.into_vec();
    let whole = Packet { auth: Span::new(0, 50_000), ..Packet::default() };
    let digest = alone(s.sha.digest(whole, Buf::from(&*text), Buf::zeroed(32)));
    let sealed = s.by_two(&text);

    let first = s.sha.digest(whole, Buf::from(&*text), Buf::zeroed(32));
    let compress = s.gzip.compress(Buf::empty(), Buf::zeroed(s.room(50_000)));
    let seal = s.gcm.seal(rest(), Buf::empty(), Buf::zeroed(s.room(50_000)));
    let chain = first.then(Feed::Same, compress).unwrap().then(Feed::Written, seal).unwrap();
    let mut r = s.call(chain.tag(9));
    assert_eq!((r.tag, r.result.unwrap().produced + TAG), (9, sealed.len()));
    assert!(bytes(&r.dst)[..sealed.len()] == sealed);
    let chain = r.take_chain().unwrap();
    assert_eq!(chain.done(), 2);
    assert_eq!(chain.steps()[0].request.dst.as_slice(), Some(&digest[..]));
    assert_eq!(chain.steps()[0].packets()[0].result, Ok(32));
    // The source was lent to the second step, and came back to the first.
    assert!(chain.steps()[0].request.src.as_slice() == Some(&text));
    assert!(chain.steps()[1].request.src.is_empty());
    // Each step is counted.
    for op in [Op::Digest, Op::Compress, Op::Seal] {
        let row = s.runtime.counters().row("cpu", op).map_or(0, |row| row.requests);
        assert_eq!(row, 2, "{op}: alone, and in the chain");
    }
}

#[test]
fn a_step_that_fails_ends_the_chain() {
    let s = sessions(1);
    let text = text(3000);
    // The first.
    let mut r = s.call(s.compress_and_seal(&text, Feed::InPlace, Buf::zeroed(10)));
    assert_eq!(r.result, Err(OpError::DstTooSmall));
    assert_eq!((r.dst.len(), r.src.len()), (10, 3000));
    let step = &r.take_chain().unwrap().into_steps()[0];
    assert_eq!(step.result, Err(OpError::Cancelled));
    assert_eq!(step.packets()[0].result, Err(OpError::Cancelled));
    // The second: no room for the tag.
    let compressed = s.by_two(&text).len() - TAG;
    let r = s.call(s.compress_and_seal(&text, Feed::InPlace, Buf::zeroed(compressed)));
    assert_eq!(r.result, Err(OpError::DstTooSmall));
    assert_eq!(r.packets()[0].result, Err(OpError::DstTooSmall));
    assert_eq!(r.chain().unwrap().steps()[0].result.unwrap().produced, compressed);
    // Sealed is not gzip.
    let whole = Packet { cipher: Span::new(0, 3000), tag: 3000, ..rest() };
    let seal = s.gcm.seal(whole, Buf::from(&*text), Buf::zeroed(3016));
    let decompress = s.gzip.decompress(Buf::empty(), Buf::zeroed(3000));
    let mut r = s.call(seal.then(Feed::Written, decompress).unwrap());
    assert!(matches!(r.result, Err(OpError::BadData { .. })), "{:?}", r.result);
    let first = &r.take_chain().unwrap().into_steps()[0];
    assert_eq!(
        (first.request.dst.len(), first.request.src.len()),
        (3016, 3000),
        "buffers come back"
    );
}

#[test]
fn what_is_no_chain() {
    let s = sessions(0);
    let compress = || s.gzip.compress(text(9).into(), Buf::zeroed(99));
    let seal = |dst| s.gcm.seal(rest(), Buf::empty(), dst);
    let refused = |r: Result<Request, OpError>| matches!(r, Err(OpError::BadInput(_)));
    assert!(refused(compress().then(Feed::InPlace, seal(Buf::zeroed(99)))));
    let with_source = s.gcm.seal(rest(), text(9).into(), Buf::zeroed(99));
    assert!(refused(compress().then(Feed::Written, with_source)));
    let inner = compress().then(Feed::InPlace, seal(Buf::empty())).unwrap();
    assert!(refused(compress().then(Feed::Written, inner)));
    let digest = s.sha.digest(Packet::default(), Buf::empty(), Buf::zeroed(32));
    assert!(refused(digest.then(Feed::Written, seal(Buf::zeroed(99)))));
    // The source of the step before is not there any more, or there was none.
    let in_place = s.sha.digest(Packet::default(), Buf::empty(), Buf::zeroed(32));
    assert!(refused(in_place.then(Feed::Same, s.gzip.compress(Buf::empty(), Buf::zeroed(9)))));
    let two = compress().then(Feed::Written, seal(Buf::zeroed(99))).unwrap();
    assert!(refused(two.then(Feed::Same, s.gzip.compress(Buf::empty(), Buf::zeroed(99)))));
    let stream = s.runtime.compress_stream(Compression::default(), None).unwrap();
    let piece = stream.compress(text(9).into(), Buf::zeroed(99), lookaside::Flush::Sync);
    assert!(refused(piece.then(Feed::InPlace, seal(Buf::empty()))));
    // A burst makes no single text.
    let burst = vec![Packet { cipher: Span::new(0, 9), tag: 9, ..rest() }; 2];
    let burst = s.gcm.seal(burst, Buf::empty(), Buf::zeroed(99));
    let r = s.call(burst.then(Feed::InPlace, seal(Buf::empty())).unwrap());
    assert!(matches!(r.result, Err(OpError::BadInput(_))), "{:?}", r.result);
    // A session whose device has no such operation.
    let mut wrong = seal(Buf::empty());
    wrong.op = Op::Encrypt;
    let r = s.call(compress().then(Feed::InPlace, wrong).unwrap());
    assert_eq!(r.result, Err(OpError::Unsupported));
    assert!(r.chain().unwrap().steps()[0].result.is_ok());
}

/// Many at once, among requests of one step, in memory that somebody else keeps.
#[test]
fn many_chains_are_answered_once() {
    const LEN: usize = 2000;
    for engines in [0, 1, 2] {
        let s = sessions(engines);
        let text = text(LEN);
        let expected = s.by_two(&text);
        let mut memory = vec![vec![0; s.room(LEN)]; 300];
        let mut instance = s.runtime.instance(InstanceConfig::default()).unwrap();
        let (mut pushed, mut answered) = (0, vec![0; memory.len()]);
        while answered.iter().sum::<i32>() < memory.len() as i32 {
            while pushed < memory.len() && instance.free() > 0 {
                let own = &mut memory[pushed];
                // SAFETY: it outlives the instance, and is looked at again when this has gone.
                let between = unsafe { Buf::foreign_mut(own.as_mut_ptr(), own.len()) };
                let request = match pushed % 3 {
                    0 => s.gzip.compress(Buf::from(&*text), between),
                    1 => s.compress_and_seal(&text, Feed::InPlace, between),
                    _ => s.compress_and_seal(&text, Feed::Written, between),
                };
                instance.push(request.tag(pushed as u64)).unwrap();
                pushed += 1;
            }
            instance.wait(Duration::from_secs(10));
            for r in instance.poll() {
                answered[r.tag as usize] += 1;
                r.result.unwrap();
                if r.tag % 3 == 2 {
                    assert!(bytes(&r.dst)[..expected.len()] == expected);
                }
            }
        }
        drop(instance);
        assert!(answered.iter().all(|&n| n == 1));
        for in_place in memory.iter().skip(1).step_by(3) {
            assert!(in_place[..expected.len()] == expected);
        }
    }
}

/// An instance that goes takes its chains along, wherever they are.
#[test]
fn chains_end_with_their_instance() {
    let s = sessions(1);
    let text = text(100_000);
    for _ in 0..20 {
        let mut instance = s.runtime.instance(InstanceConfig::default()).unwrap();
        for _ in 0..8 {
            let between = Buf::zeroed(s.room(text.len()));
            instance.push(s.compress_and_seal(&text, Feed::Written, between)).unwrap();
        }
        instance.doorbell();
    }
}

/// Whoever closes an instance waits for memory that is lent, wherever a request names it.
#[test]
fn lent_memory_is_found_in_all_steps() {
    let s = sessions(0);
    let mut memory = [0; 64];
    let mut lent = || {
        // SAFETY: it outlives every request here, and no device ever works on one.
        unsafe { Buf::foreign_mut(memory.as_mut_ptr(), 64) }
    };
    let is_lent = |request: Request| {
        let mut work = Work::empty();
        work.fill(request);
        work.is_lent()
    };
    let compress = |between| s.gzip.compress(text(9).into(), between);
    let seal = |carried: Box<Carried>, dst| s.gcm.seal(carried, Buf::empty(), dst);
    let written = |first: Request, next| first.then(Feed::Written, next).unwrap();
    let none = || Buf::zeroed(64);
    let aside = |aad, tag| -> Box<Carried> { Aside { packet: rest(), aad, tag }.into() };
    assert!(!is_lent(compress(none())));
    assert!(is_lent(compress(lent())));
    assert!(!is_lent(seal(aside(none(), none()), none())));
    assert!(is_lent(seal(aside(lent(), none()), none())));
    assert!(is_lent(seal(aside(none(), lent()), none())));
    assert!(!is_lent(written(compress(none()), seal(rest().into(), none()))));
    assert!(is_lent(written(compress(lent()), seal(rest().into(), none()))));
    assert!(is_lent(written(compress(none()), seal(rest().into(), lent()))));
    assert!(is_lent(written(compress(none()), seal(aside(none(), lent()), none()))));
}
