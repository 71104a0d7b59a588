//! Packets one at a time, and among others in an engine: both must make the same of them.

use std::cell::RefCell;
use std::sync::Arc;

use lookaside_cipher::single::{Keys, run};
use lookaside_cipher::{Direction, Engine, OpError, Packet, Parts, Session, Sym, Text};
use lookaside_simd::{Cpu, Tier};

use super::span;

/// How many packets go side by side: more than a kernel of 16 lanes has, so that lanes are filled
/// again, and, without those that are shorter, more than any kernel's floor (SNOW 3G's is 14).
const BESIDE: usize = 18;

/// Every one of so many packets is shorter.
const SHORTER: usize = 6;

/// One packet: where its parts lie, its source, and its destination before (none in place).
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    pub direction: Direction,
    pub iv: &'a [u8],
    pub parts: Parts,
    pub src: &'a [u8],
    pub dst: Option<&'a [u8]>,
}

/// The result, and the destination's bytes.
type Outcome = (Result<usize, OpError>, Vec<u8>);

/// Prepared keys, and the session that a packet names.
pub struct Prepared {
    pub session: Session,
    pub keys: Arc<Keys>,
}

/// With the kernels of one tier.
pub fn prepare(spec: &Sym, cpu: &Cpu) -> Result<Prepared, OpError> {
    let keys = Arc::new(Keys::new(spec, cpu)?);
    Ok(Prepared { session: Session::new(spec.clone(), cpu)?, keys })
}

/// With the kernels of each tier that this CPU has.
pub fn prepare_all(spec: &Sym) -> Result<Vec<Prepared>, OpError> {
    let cpus = Tier::here().map(Cpu::with_cap);
    let all: Vec<_> = cpus.map(|cpu| prepare(spec, &cpu)).collect();
    let refused: Vec<_> = all.iter().map(|prepared| prepared.as_ref().err()).collect();
    assert!(refused.windows(2).all(|two| two[0] == two[1]), "the tiers differ: {refused:?}");
    all.into_iter().collect()
}

impl Prepared {
    /// One at a time, and nothing more.
    pub fn run(
        &self,
        direction: Direction,
        iv: &[u8],
        parts: Parts,
        text: Text<'_>,
    ) -> Result<usize, OpError> {
        let result = Err(OpError::Cancelled);
        let mut packet = Packet { session: &self.session, direction, iv, parts, text, result };
        run(&self.keys, &mut packet);
        packet.result
    }

    /// One at a time.
    pub fn run_alone(&self, sample: &Sample<'_>) -> Outcome {
        let Sample { direction, iv, parts, .. } = *sample;
        let mut src = sample.src.to_vec();
        let Some(dst) = sample.dst else {
            return (self.run(direction, iv, parts, Text::InPlace(&mut src)), src);
        };
        let mut dst = dst.to_vec();
        (self.run(direction, iv, parts, Text::Apart { src: &src, dst: &mut dst }), dst)
    }

    /// One at a time, and among others in an engine.
    pub fn check(&self, sample: &Sample<'_>) -> Outcome {
        let outcome = self.run_alone(sample);
        ENGINES.with_borrow_mut(|engines| {
            let cpu = self.session.cpu();
            let engine = engines[cpu.tier() as usize].get_or_insert_with(|| Engine::new(cpu));
            self.run_beside(engine, sample, &outcome);
            self.run_in_turn(engine, sample, &outcome);
        });
        outcome
    }

    /// Among copies of it, and shorter ones, each at another address.
    fn run_beside(&self, engine: &mut Engine, sample: &Sample<'_>, outcome: &Outcome) {
        let count = if self.session.side_by_side() { BESIDE } else { 2 };
        let short = sample.shorter();
        let short_outcome = self.run_alone(&short);
        let of = |place: usize| match place % SHORTER == SHORTER - 1 {
            true => (&short, &short_outcome),
            false => (sample, outcome),
        };
        let [src, dst] = [sample.src, sample.dst.unwrap_or_default()];
        // Any alignment: what lies before a text is from 1 to 64 bytes.
        let room = 64 + src.len() + dst.len();
        let mut memory = vec![0x77; count * room];
        let mut packets = Vec::with_capacity(count);
        for (place, memory) in memory.chunks_exact_mut(room).enumerate() {
            let memory = &mut memory[(place * 23 + src.len()) % 64 + 1..];
            let (in_src, memory) = memory.split_at_mut(src.len());
            in_src.copy_from_slice(src);
            let text = match sample.dst {
                None => Text::InPlace(in_src),
                Some(_) => {
                    let in_dst = &mut memory[..dst.len()];
                    in_dst.copy_from_slice(dst);
                    Text::Apart { src: in_src, dst: in_dst }
                }
            };
            let Sample { direction, iv, parts, .. } = *of(place).0;
            let result = Err(OpError::Cancelled);
            let session = &self.session;
            packets.push(Packet { session, direction, iv, parts, text, result });
        }
        engine.run(&mut packets);
        for (place, packet) in packets.iter().enumerate() {
            let after = match &packet.text {
                Text::InPlace(bytes) => &bytes[..],
                Text::Apart { src: after, dst } => {
                    assert_eq!(*after, src, "the source has changed");
                    &dst[..]
                }
            };
            let (sample, outcome) = of(place);
            self.compare_outcomes(sample, outcome, packet.result, after);
        }
    }

    /// Twice, at one address.
    fn run_in_turn(&self, engine: &mut Engine, sample: &Sample<'_>, outcome: &Outcome) {
        let Sample { direction, iv, parts, .. } = *sample;
        let mut src = [&[1, 2, 3], sample.src].concat();
        let mut dst = sample.dst.map(<[u8]>::to_vec);
        let mut text = match &mut dst {
            None => Text::InPlace(&mut src[3..]),
            Some(dst) => Text::Apart { src: &src[3..], dst },
        };
        // In place the second would work on what the first has made.
        let count = if sample.dst.is_some() { 2 } else { 1 };
        let mut told = [None; 2];
        let packets =
            told.iter_mut().take(count).map(|told| (iv, parts, |result| *told = Some(result)));
        engine.run_in_turn(&self.session, direction, &mut text, packets);
        let after = dst.as_deref().unwrap_or(&src[3..]);
        for told in &told[..count] {
            self.compare_outcomes(sample, outcome, told.expect("each is told"), after);
        }
    }

    fn compare_outcomes(
        &self,
        sample: &Sample<'_>,
        outcome: &Outcome,
        result: Result<usize, OpError>,
        after: &[u8],
    ) {
        let what = || {
            let (served_by, tier) = (self.session.served_by(), self.session.cpu().tier());
            let (iv_len, in_place) = (sample.iv.len(), sample.dst.is_none());
            let Sample { direction, parts, .. } = sample;
            format!("{served_by} ({tier}): {direction:?} {parts:?} IV {iv_len}, {in_place}")
        };
        assert_eq!(result, outcome.0, "{}", what());
        if result.is_ok() {
            assert!(after == outcome.1, "side by side are other bytes: {}", what());
            return;
        }
        // Zeros, or never touched.
        let before = sample.dst.unwrap_or(sample.src);
        let region = sample.parts.cipher;
        let region = region.offset as usize..region.offset as usize + region.len as usize;
        if let (Some(after), Some(before)) = (after.get(region.clone()), before.get(region)) {
            assert!(after == before || after.iter().all(|byte| *byte == 0), "{}", what());
        }
    }

    /// A cipher over all of `text`, in place and apart; both must agree.
    pub fn cipher(&self, direction: Direction, iv: &[u8], text: &[u8]) -> Result<Vec<u8>, OpError> {
        let parts = Parts { cipher: span(3, text.len()), ..Parts::default() };
        let src = &[&[1, 2, 3], text, &[4, 5]].concat()[..];
        let before = vec![0xee; src.len()];
        let sample = Sample { direction, iv, parts, src, dst: Some(&before) };
        let (apart, dst) = self.check(&sample);
        let (in_place, bytes) = self.check(&Sample { dst: None, ..sample });
        assert_eq!(apart, in_place);
        apart?;
        let end = 3 + text.len();
        assert_eq!(dst[3..end], bytes[3..end], "in place and apart");
        assert_eq!((&dst[..3], &dst[end..]), (&[0xee; 3][..], &[0xee; 2][..]), "only its region");
        assert_eq!((&bytes[..3], &bytes[end..]), (&src[..3], &src[end..]), "only its region");
        Ok(bytes[3..end].to_vec())
    }

    /// A tag over all of `text`, in place and apart.
    pub fn tag(&self, iv: &[u8], text: &[u8]) -> Result<Vec<u8>, OpError> {
        self.tag_of_bits(iv, text, 8 * text.len())
    }

    /// A tag over the first `bits` of `text`, in place and apart.
    pub fn tag_of_bits(&self, iv: &[u8], text: &[u8], bits: usize) -> Result<Vec<u8>, OpError> {
        let spare_bits = (8 * text.len() - bits) as u8;
        let parts = Parts { auth: span(0, text.len()), spare_bits, ..Parts::default() };
        let before = vec![0xee; self.keys.tag_len()];
        let (direction, dst) = (Direction::Seal, Some(&before[..]));
        let apart = self.check(&Sample { direction, iv, parts, src: text, dst });
        let src = &[text, &before].concat()[..];
        let parts = Parts { tag: text.len() as u32, ..parts };
        let in_place = self.check(&Sample { direction, iv, parts, src, dst: None });
        assert_eq!(apart.0, in_place.0);
        assert_eq!(apart.0?, apart.1.len());
        assert_eq!(in_place.1, [text, &apart.1].concat(), "in place and apart");
        Ok(apart.1)
    }

    /// Compares a tag over all of `text`.
    pub fn compare(&self, iv: &[u8], text: &[u8], tag: &[u8]) -> Result<usize, OpError> {
        let src = &[text, tag].concat()[..];
        let (auth, tag) = (span(0, text.len()), text.len() as u32);
        let parts = Parts { auth, tag, ..Parts::default() };
        let sample = Sample { direction: Direction::Open, iv, parts, src, dst: Some(&[]) };
        let apart = self.check(&sample).0;
        let (in_place, bytes) = self.check(&Sample { dst: None, ..sample });
        assert_eq!(apart, in_place);
        assert_eq!(bytes, src, "comparing writes nothing");
        apart
    }

    /// An AEAD in place and apart; text and tag together.
    pub fn aead(
        &self,
        direction: Direction,
        iv: &[u8],
        aad: &[u8],
        text: &[u8],
        tag: &[u8],
    ) -> Result<Vec<u8>, OpError> {
        let mut src = [aad, text, tag].concat();
        let tag_at = aad.len() + text.len();
        src.resize(tag_at + self.keys.tag_len(), 0);
        let parts = Parts {
            aad: span(0, aad.len()),
            cipher: span(aad.len(), text.len()),
            tag: tag_at as u32,
            ..Parts::default()
        };
        let before = vec![0xee; src.len()];
        let sample = Sample { direction, iv, parts, src: &src, dst: Some(&before) };
        let (apart, dst) = self.check(&sample);
        let (in_place, bytes) = self.check(&Sample { dst: None, ..sample });
        assert_eq!(apart, in_place);
        let region = aad.len()..if direction == Direction::Seal { src.len() } else { tag_at };
        if apart == Err(OpError::AuthFailed) {
            assert!(dst[region.clone()].iter().all(|byte| *byte == 0), "wiped");
            assert!(bytes[region].iter().all(|byte| *byte == 0), "wiped");
        } else if apart.is_err() {
            assert!(dst.iter().all(|byte| *byte == 0xee), "never touched");
            assert_eq!(bytes, src, "never touched");
        } else {
            assert_eq!(dst[region.clone()], bytes[region.clone()], "in place and apart");
            assert_eq!(bytes[..aad.len()], src[..aad.len()]);
            assert_eq!(dst[..aad.len()], vec![0xee; aad.len()]);
        }
        apart?;
        Ok(bytes[aad.len()..].to_vec())
    }

    /// Opens text and tag of an AEAD.
    pub fn aead_opened(
        &self,
        iv: &[u8],
        aad: &[u8],
        text: &[u8],
        tag: &[u8],
    ) -> Result<Vec<u8>, OpError> {
        if tag.len() != self.keys.tag_len() {
            return Err(OpError::AuthFailed);
        }
        let mut bytes = self.aead(Direction::Open, iv, aad, text, tag)?;
        bytes.truncate(text.len());
        Ok(bytes)
    }
}

impl Sample<'_> {
    /// The same packet with about half of its text, in whole blocks.
    fn shorter(&self) -> Self {
        let half = |len: u32| len / 32 * 16;
        let mut short = *self;
        (short.parts.cipher.len, short.parts.auth.len) =
            (half(self.parts.cipher.len), half(self.parts.auth.len));
        short.parts.spare_bits = 0;
        short
    }
}

thread_local! {
    /// One for each tier: the lanes of intel-ipsec-mb take half a millisecond to set up.
    static ENGINES: RefCell<[Option<Engine>; Tier::ALL.len()]> = const { RefCell::new([const { None }; Tier::ALL.len()]) };
}
