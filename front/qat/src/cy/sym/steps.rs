//! Packets that are no one request of the runtime: step after step, by the thread that polls, on a copy of the text.
//!
//! These are partial packets; chains of a cipher with a MAC that has an IV; chains that encrypt and then compare a
//! digest, or decrypt and make one; GCM with a first counter block in place of a nonce.
#![allow(unsafe_code)]

use core::hint::black_box;

use lookaside::{
    AeadSession, Auth, Buf, Cipher, CipherSession, DigestSession, Iv, Op, OpError, Packet, Running,
    Runtime, Span, fork_generation,
};

use crate::{abi::*, refusal::Refusal};

use super::{
    ask::{Ask, Cut, Lists, end},
    plan::{IvRule, Plan, f9},
    setup::Setup,
};

/// The sessions of the runtime for single steps.
pub struct Steps {
    cipher: Option<(CipherSession, Op)>,
    digest: Option<DigestSession>,
    aead: Option<(AeadSession, Op)>,
    /// AES itself and its counter mode, under the key of GCM.
    gcm: Option<(CipherSession, CipherSession)>,
    /// Which IV partial packets get back.
    next_iv: NextIv,
    cipher_first: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum NextIv {
    Same,
    Chained,
    Counter,
}

/// What partial packets have left so far.
#[derive(Default)]
pub struct Partial {
    /// The process of the packet that is under way: there is one at a time.
    flies_in: Option<u32>,
    /// Whether the next one continues a text.
    begun: bool,
    cipher: Option<Box<dyn Running>>,
    digest: Option<Box<dyn Running>>,
    aead: Option<Box<dyn Running>>,
}

impl Partial {
    /// Whether a text is under way.
    pub fn is_open(&self) -> bool {
        self.begun || self.in_flight()
    }

    /// Whether a packet is under way.
    pub fn in_flight(&self) -> bool {
        self.flies_in.is_some()
    }

    /// A packet is under way, or no more.
    pub fn set_in_flight(&mut self, on: bool) {
        self.flies_in = on.then(fork_generation);
    }

    /// Whether a packet was under way in a parent: what came of it is known there alone.
    pub fn is_lost(&self) -> bool {
        self.flies_in.is_some_and(|generation| generation != fork_generation())
    }
}

/// Whether two digests are the same, in a time that depends on their length alone.
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
    a.len() == b.len() && differences == 0
}

/// The longest digest.
const DIGEST: usize = 64;

/// A region of the text, as a range within the copy.
#[derive(Clone, Copy)]
struct Extent {
    from: u64,
    src_to: u64,
    dst_to: u64,
}

impl Extent {
    fn of(plan: &Plan, ask: &Ask, last: bool) -> Extent {
        let spans = [
            (plan.has_cipher || plan.is_aead()).then_some(ask.cipher),
            plan.has_hash.then_some(ask.hash),
        ];
        let mut extent = Extent { from: u64::MAX, src_to: 0, dst_to: 0 };
        for span in spans.into_iter().flatten().filter(|span| span.len > 0) {
            extent.from = extent.from.min(span.offset.into());
            extent.src_to = extent.src_to.max(end(span));
        }
        extent.dst_to = extent.src_to;
        if last && plan.tag_len > 0 && plan.appended {
            let tag = end(plan.before_tag(ask));
            let tag_end = tag + u64::from(plan.tag_len);
            extent.from = extent.from.min(tag);
            match plan.verify {
                true => extent.src_to = extent.src_to.max(tag_end),
                false => extent.dst_to = extent.dst_to.max(tag_end),
            }
        }
        extent.from = extent.from.min(extent.src_to);
        extent
    }
}

impl Plan {
    /// Whether it is for an AEAD.
    pub(super) fn is_aead(&self) -> bool {
        matches!(self.runner, super::plan::Runner::Aead(_))
    }

    /// What an appended digest lies behind.
    fn before_tag(&self, ask: &Ask) -> Span {
        if self.is_aead() { ask.cipher } else { ask.hash }
    }
}

/// Where the parts of a packet lie, before it is accepted.
///
/// # Errors
/// For what reaches beyond its list.
pub fn check(plan: &Plan, ask: &Ask, lists: &Lists) -> Result<(), Refusal> {
    let extent = Extent::of(plan, ask, true);
    if plan.auth_iv == IvRule::Aad && ask.aad.is_null() {
        return Err(Refusal::invalid(
            "the session's MAC has an IV, and pAdditionalAuthData is null",
        ));
    }
    check_extent(extent, lists)
}

fn check_extent(extent: Extent, lists: &Lists) -> Result<(), Refusal> {
    let (src, dst) = match lists.in_place {
        true => (lists.both(), lists.both()),
        false => (lists.src, lists.dst),
    };
    let src = Cut::new(src, extent.from, extent.src_to)?;
    let dst = Cut::new(dst, extent.from, extent.dst_to)?;
    if !lists.in_place {
        Cut::check_apart(&src, &dst)?;
    }
    Ok(())
}

/// Whether a partial packet can be one, before it is accepted.
///
/// # Errors
/// For lengths that cannot be, and for algorithms that take their text at once.
pub fn check_piece(
    steps: &Steps,
    plan: &Plan,
    ask: &Ask,
    lists: &Lists,
    last: bool,
) -> Result<(), Refusal> {
    if plan.is_ccm || plan.least > 0 || plan.auth_iv == IvRule::F9 {
        return Err(Refusal::invalid(
            "CCM, XTS and KASUMI F9 take their text at once, not in partial packets",
        ));
    }
    plan.check(ask, last)?;
    if plan.auth_iv == IvRule::Aad && ask.aad.is_null() {
        return Err(Refusal::invalid(
            "the session's MAC has an IV, and pAdditionalAuthData is null",
        ));
    }
    // SAFETY: pointers as the interface asks for.
    if unsafe { steps.iv_rule(plan).iv(ask) }?.is_none() {
        return Err(Refusal::invalid("partial packets of GCM have an IV of 12 bytes"));
    }
    check_extent(Extent::of(plan, ask, last), lists)
}

impl Steps {
    /// The sessions of the runtime for this set-up.
    ///
    /// # Errors
    /// For keys and digests whose length the algorithm does not have.
    pub fn new(setup: &Setup, runtime: &Runtime) -> Result<Steps, Refusal> {
        let mut steps = Steps {
            cipher: None,
            digest: None,
            aead: None,
            gcm: None,
            next_iv: NextIv::Same,
            cipher_first: setup.cipher_first,
        };
        let tag_len = setup.hash.as_ref().map_or(0, |h| h.digest_len as usize);
        let auth = setup.hash.as_ref().and_then(|h| h.auth);
        if let Some(part) = &setup.cipher {
            if let Some(cipher) = part.cipher() {
                steps.cipher = Some((runtime.cipher(cipher, &part.key)?, part.op()));
                steps.next_iv = match cipher {
                    Cipher::AesCbc | Cipher::DesCbc | Cipher::TripleDesCbc | Cipher::Sm4Cbc => {
                        NextIv::Chained
                    }
                    Cipher::AesCtr | Cipher::TripleDesCtr | Cipher::Sm4Ctr => NextIv::Counter,
                    _ => NextIv::Same,
                };
            } else if auth.is_none()
                && let Some(aead) = part.aead()
            {
                let op = if part.encrypt { Op::Seal } else { Op::Open };
                steps.aead = Some((runtime.aead(aead, &part.key, tag_len)?, op));
            }
            if part.algorithm == CPA_CY_SYM_CIPHER_AES_GCM {
                let session = |cipher| runtime.cipher(cipher, &part.key);
                steps.gcm = Some((session(Cipher::AesEcb)?, session(Cipher::AesCtr)?));
            }
        }
        if let (Some(hash), Some(auth)) = (&setup.hash, auth) {
            let key = match (auth, &setup.cipher) {
                (Auth::AesGmac, Some(part)) => &part.key,
                _ => &hash.key,
            };
            steps.digest = Some(runtime.digest(auth, key, tag_len)?);
        }
        Ok(steps)
    }

    /// The IV of what begins a text in pieces.
    fn iv_rule(&self, plan: &Plan) -> IvRule {
        if self.cipher.is_some() || self.aead.is_some() { plan.iv } else { plan.auth_iv }
    }

    /// A whole packet. The answer is whether the digest was the right one, where it is compared.
    ///
    /// # Errors
    /// When it fails.
    ///
    /// # Safety
    /// What the request names is there, and nobody else accesses it.
    pub unsafe fn whole(&self, plan: &Plan, ask: &Ask, lists: &Lists) -> Result<bool, Refusal> {
        let aad = plan.aad(ask);
        let mut crypt = |text: &mut [u8]| match &self.cipher {
            Some((session, op)) => {
                // SAFETY: the caller's promise.
                let iv = unsafe { plan.iv.iv(ask) }?.unwrap_or_default();
                let cipher = Span::new(0, text.len() as u32);
                let mut packet = Packet { iv, cipher, ..Packet::default() };
                session.at_once(*op, &mut packet, None, text).map_err(failed)?;
                Ok(())
            }
            None => Ok(()),
        };
        let hash = |text: &[u8], tag: &mut [u8; DIGEST]| match &self.digest {
            Some(session) => {
                let (iv, spare_bits, auth) = match plan.auth_iv {
                    IvRule::F9 => {
                        let (iv, spare_bits, len) = f9(text)?;
                        (iv, spare_bits, Span::new(8, len as u32))
                    }
                    rule => {
                        // SAFETY: the caller's promise. A first counter block is put right below.
                        let iv = unsafe { rule.iv(ask) }?.unwrap_or(NONCE);
                        (iv, 0, Span::new(0, text.len() as u32))
                    }
                };
                let mut packet = Packet { iv, auth, spare_bits, ..Packet::default() };
                session.at_once(Op::Digest, &mut packet, Some(text), tag).map_err(failed)?;
                if plan.auth_iv == IvRule::Gcm {
                    // SAFETY: of 16 bytes, or `iv` would not be that.
                    unsafe { self.remask(ask, iv, tag) }?;
                }
                Ok(())
            }
            None => Ok(()),
        };
        if self.aead.is_some() {
            // SAFETY: the caller's promise.
            return unsafe { self.gcm(plan, ask, lists, aad) };
        }
        // SAFETY: the caller's promise.
        unsafe {
            self.run(plan, ask, lists, true, &mut crypt, &mut |text, tag| match tag {
                Some(tag) => hash(text, tag),
                None => Ok(()),
            })
        }
    }

    /// Of a tag under the nonce of zeros, that under the first counter block `pIv`.
    unsafe fn remask(&self, ask: &Ask, iv: Iv, tag: &mut [u8; DIGEST]) -> Result<(), Refusal> {
        let Some((aes, _)) = &self.gcm else { return Ok(()) };
        if iv != NONCE || ask.iv_len != 16 {
            return Ok(());
        }
        let mut blocks = [0; 32];
        blocks[15] = 1;
        // SAFETY: the caller's promise.
        unsafe { core::ptr::copy_nonoverlapping(ask.iv, blocks[16..].as_mut_ptr(), 16) };
        let mut packet = Packet { cipher: Span::new(0, 32), ..Packet::default() };
        aes.at_once(Op::Encrypt, &mut packet, None, &mut blocks).map_err(failed)?;
        for (i, byte) in tag[..16].iter_mut().enumerate() {
            *byte ^= blocks[i] ^ blocks[16 + i];
        }
        Ok(())
    }

    /// GCM from a first counter block on: the counter mode by itself, and the tag as GCM makes it of the same
    /// ciphertext under another nonce.
    unsafe fn gcm(
        &self,
        plan: &Plan,
        ask: &Ask,
        lists: &Lists,
        (aad, aad_len): (*const u8, usize),
    ) -> Result<bool, Refusal> {
        let (Some((session, op)), Some((_, counter))) = (&self.aead, &self.gcm) else {
            return Err(Refusal::fail("no session for this packet"));
        };
        let aad = match aad_len {
            0 => &[],
            // SAFETY: the caller's promise.
            _ => unsafe { core::slice::from_raw_parts(aad, aad_len) },
        };
        let seals = *op == Op::Seal;
        let count = |text: &mut [u8]| -> Result<(), Refusal> {
            // SAFETY: 16 bytes, as the caller has checked.
            let mut block = unsafe { ask.iv.cast::<[u8; 16]>().read() };
            let mut low = u32::from_be_bytes([block[12], block[13], block[14], block[15]]);
            let mut rest = text;
            while !rest.is_empty() {
                low = low.wrapping_add(1);
                block[12..].copy_from_slice(&low.to_be_bytes());
                // As far as the counter has 32 bits.
                let most = ((1_u64 << 32) - u64::from(low)).saturating_mul(16);
                let (now, later) = rest.split_at_mut(most.min(rest.len() as u64) as usize);
                let cipher = Span::new(0, now.len() as u32);
                let mut packet = Packet { iv: block.into(), cipher, ..Packet::default() };
                counter.at_once(Op::Encrypt, &mut packet, None, now).map_err(failed)?;
                low = low.wrapping_add((now.len() as u64).div_ceil(16) as u32).wrapping_sub(1);
                rest = later;
            }
            Ok(())
        };
        let tag_of = |ciphertext: &[u8], tag: &mut [u8; DIGEST]| -> Result<(), Refusal> {
            // The associated data, the text, a tag.
            let (at, len) = (aad.len(), ciphertext.len());
            let mut copy = aad.to_vec();
            copy.extend_from_slice(ciphertext);
            copy.resize(at + len + 16, 0);
            let mut copy = Buf::secret(copy);
            let bytes = copy.as_mut_slice().unwrap_or_default();
            for _ in 0..2 {
                // Sealing what was sealed gives the text back, and a tag of what it was.
                let mut packet = Packet {
                    iv: NONCE,
                    aad: Span::new(0, at as u32),
                    cipher: Span::new(at as u32, len as u32),
                    tag: (at + len) as u32,
                    ..Packet::default()
                };
                session.at_once(Op::Seal, &mut packet, None, bytes).map_err(failed)?;
            }
            tag[..16].copy_from_slice(&bytes[at + len..]);
            // SAFETY: as above.
            unsafe { self.remask(ask, NONCE, tag) }
        };
        let mut crypt = |text: &mut [u8]| count(text);
        let mut hash = |text: &[u8], tag: Option<&mut [u8; DIGEST]>| match tag {
            Some(tag) => tag_of(text, tag),
            None => Ok(()),
        };
        // SAFETY: the caller's promise.
        unsafe { self.run_in_order(seals, plan, ask, lists, true, &mut crypt, &mut hash) }
    }

    /// The next piece of a text.
    ///
    /// # Errors
    /// When it fails; the text is over then.
    ///
    /// # Safety
    /// As [`Steps::whole`].
    pub unsafe fn piece(
        &self,
        partial: &mut Partial,
        plan: &Plan,
        ask: &Ask,
        lists: &Lists,
        last: bool,
    ) -> Result<bool, Refusal> {
        // SAFETY: the caller's promise.
        let result = unsafe { self.next_piece(partial, plan, ask, lists, last) };
        partial.begun = !last && result.is_ok();
        result
    }

    unsafe fn next_piece(
        &self,
        partial: &mut Partial,
        plan: &Plan,
        ask: &Ask,
        lists: &Lists,
        last: bool,
    ) -> Result<bool, Refusal> {
        if !partial.begun {
            // SAFETY: the caller's promise.
            unsafe { self.begin(partial, plan, ask) }?;
            partial.begun = true;
        }
        let Partial { cipher, digest, aead, .. } = partial;
        if let Some((_, op)) = &self.aead {
            let running = aead.as_deref_mut();
            let running = running.ok_or_else(|| Refusal::fail("no text is under way"))?;
            // SAFETY: the caller's promise.
            return unsafe { aead_piece(running, *op == Op::Seal, plan, ask, lists, last) };
        }
        let next_iv = self.next_iv;
        let encrypts = self.cipher.as_ref().is_some_and(|(_, op)| *op == Op::Encrypt);
        let mut crypt = |text: &mut [u8]| match cipher.as_deref_mut() {
            Some(running) if !text.is_empty() => {
                let before = text.last_chunk::<16>().copied();
                let short = text.last_chunk::<8>().copied();
                running.update_in_place(text).map_err(failed)?;
                // SAFETY: the interface says that the IV is updated; `check_piece` has looked at it.
                unsafe { update_iv(next_iv, ask, encrypts, (before, short), text) };
                Ok(())
            }
            _ => Ok(()),
        };
        let mut hash = |text: &[u8], tag: Option<&mut [u8; DIGEST]>| {
            let Some(running) = digest.as_deref_mut() else { return Ok(()) };
            running.update(text, &mut []).map_err(failed)?;
            if let Some(tag) = tag {
                running.finish(tag).map_err(failed)?;
            }
            Ok(())
        };
        // SAFETY: the caller's promise.
        unsafe { self.run(plan, ask, lists, last, &mut crypt, &mut hash) }
    }

    unsafe fn begin(&self, partial: &mut Partial, plan: &Plan, ask: &Ask) -> Result<(), Refusal> {
        // SAFETY: the caller's promise.
        let iv = |rule: IvRule| unsafe { rule.iv(ask) }.map(Option::unwrap_or_default);
        let start = |slot: &mut Option<Box<dyn Running>>, op, iv: &Iv, new: Start| {
            let bytes = match iv {
                Iv::Here { bytes, len } => &bytes[..usize::from(*len)],
                Iv::At(_) => &[],
            };
            match slot {
                Some(running) => running.restart(op, bytes).map_err(failed),
                None => {
                    *slot = Some(new(bytes).map_err(failed)?);
                    Ok(())
                }
            }
        };
        if let Some((session, op)) = &self.cipher {
            start(&mut partial.cipher, *op, &iv(plan.iv)?, &|iv| session.start(*op, iv))?;
        }
        if let Some(session) = &self.digest {
            let op = Op::Digest;
            start(&mut partial.digest, op, &iv(plan.auth_iv)?, &|iv| session.start(op, iv))?;
        }
        if let Some((session, op)) = &self.aead {
            start(&mut partial.aead, *op, &iv(plan.iv)?, &|iv| session.start(*op, iv))?;
            let (aad, len) = plan.aad(ask);
            if let Some(running) = &mut partial.aead
                && len > 0
            {
                // SAFETY: the caller's promise; `check_piece` has looked for null.
                let aad = unsafe { core::slice::from_raw_parts(aad, len) };
                running.aad(aad).map_err(failed)?;
            }
        }
        Ok(())
    }

    unsafe fn run(
        &self,
        plan: &Plan,
        ask: &Ask,
        lists: &Lists,
        last: bool,
        crypt: Crypt,
        hash: Digest,
    ) -> Result<bool, Refusal> {
        // SAFETY: the caller's promise.
        unsafe { self.run_in_order(self.cipher_first, plan, ask, lists, last, crypt, hash) }
    }

    /// Both steps on a copy of the text, which is then written to the destination.
    #[allow(clippy::too_many_arguments)]
    unsafe fn run_in_order(
        &self,
        cipher_first: bool,
        plan: &Plan,
        ask: &Ask,
        lists: &Lists,
        last: bool,
        crypt: Crypt,
        hash: Digest,
    ) -> Result<bool, Refusal> {
        let Extent { from, src_to, dst_to } = Extent::of(plan, ask, last);
        let (src, dst) = match lists.in_place {
            true => (lists.both(), lists.both()),
            false => (lists.src, lists.dst),
        };
        let mut copy = Vec::with_capacity((src_to.max(dst_to) - from) as usize);
        // SAFETY: the caller's promise.
        unsafe { Cut::new(src, from, src_to)?.append_to(&mut copy) };
        copy.resize((src_to.max(dst_to) - from) as usize, 0);
        let mut copy = Buf::secret(copy);
        let text = copy.as_mut_slice().unwrap_or_default();
        let range = |span: Span| match span.len {
            0 => 0..0,
            _ => (u64::from(span.offset) - from) as usize..(end(span) - from) as usize,
        };
        let has_cipher = plan.has_cipher || plan.is_aead();
        let cipher = range(if has_cipher { ask.cipher } else { Span::default() });
        let hashed = range(plan.before_tag(ask));
        let has_tag = last && plan.tag_len > 0;
        let tag_len = plan.tag_len as usize;
        let tag_at = match plan.appended {
            true if has_tag => (end(plan.before_tag(ask)) - from) as usize,
            _ => 0,
        };
        let mut tag = [0; DIGEST];
        let mut expected = [0; DIGEST];
        if cipher_first {
            crypt(&mut text[cipher.clone()])?;
        }
        hash(&text[hashed.clone()], if has_tag { Some(&mut tag) } else { None })?;
        if has_tag && plan.verify {
            let place = match plan.appended {
                true => &text[tag_at..tag_at + tag_len],
                // SAFETY: as long as the session's digest.
                false => unsafe { core::slice::from_raw_parts(ask.digest, tag_len) },
            };
            expected[..tag_len].copy_from_slice(place);
        } else if has_tag && plan.appended {
            text[tag_at..tag_at + tag_len].copy_from_slice(&tag[..tag_len]);
        }
        if !cipher_first {
            crypt(&mut text[cipher.clone()])?;
        }
        let verified = !(has_tag && plan.verify) || equal(&tag[..tag_len], &expected[..tag_len]);
        if !verified && has_cipher {
            // Nothing of a text that is not authentic is released.
            text[cipher.clone()].fill(0);
        }
        let write = |part: core::ops::Range<usize>| -> Result<(), Refusal> {
            let cut = Cut::new(dst, from + part.start as u64, from + part.end as u64)?;
            // SAFETY: the caller's promise.
            unsafe { cut.write(&text[part]) };
            Ok(())
        };
        if has_cipher {
            write(cipher)?;
            if !lists.in_place && plan.has_hash {
                // As requests do: the destination has all that was hashed.
                write(hashed)?;
            }
        }
        if has_tag && !plan.verify {
            match plan.appended {
                true => write(tag_at..tag_at + tag_len)?,
                // SAFETY: as long as the session's digest.
                false => unsafe {
                    core::ptr::copy_nonoverlapping(tag.as_ptr(), ask.digest, tag_len);
                },
            }
        }
        Ok(verified)
    }
}

/// Begins a text in pieces, with an IV.
type Start<'a> = &'a dyn Fn(&[u8]) -> Result<Box<dyn Running>, OpError>;
/// Encrypts or decrypts.
type Crypt<'a> = &'a mut dyn FnMut(&mut [u8]) -> Result<(), Refusal>;
/// Hashes, and makes the digest where it is asked for.
type Digest<'a> = &'a mut dyn FnMut(&[u8], Option<&mut [u8; DIGEST]>) -> Result<(), Refusal>;

/// A nonce for which GCM's tag is known, but for its mask.
const NONCE: Iv = Iv::Here { bytes: [0; 16], len: 12 };

/// A piece of an AEAD's text.
unsafe fn aead_piece(
    running: &mut dyn Running,
    seals: bool,
    plan: &Plan,
    ask: &Ask,
    lists: &Lists,
    last: bool,
) -> Result<bool, Refusal> {
    let (from, to) = (u64::from(ask.cipher.offset), end(ask.cipher));
    let (src, dst) = match lists.in_place {
        true => (lists.both(), lists.both()),
        false => (lists.src, lists.dst),
    };
    let mut copy = Vec::with_capacity(ask.cipher.len as usize);
    // SAFETY: the caller's promise.
    unsafe { Cut::new(src, from, to)?.append_to(&mut copy) };
    let mut copy = Buf::secret(copy);
    let text = copy.as_mut_slice().unwrap_or_default();
    running.update_in_place(text).map_err(failed)?;
    let tag_len = plan.tag_len as usize;
    let tag_end = to + tag_len as u64;
    let mut verified = true;
    if last && seals {
        let mut tag = [0; DIGEST];
        running.finish(&mut tag).map_err(failed)?;
        match plan.appended {
            // SAFETY: the caller's promise.
            true => unsafe { Cut::new(dst, to, tag_end)?.write(&tag) },
            // SAFETY: as long as the session's digest.
            false => unsafe { core::ptr::copy_nonoverlapping(tag.as_ptr(), ask.digest, tag_len) },
        }
    } else if last {
        let mut tag = Vec::new();
        if plan.appended {
            // SAFETY: the caller's promise.
            unsafe { Cut::new(src, to, tag_end)?.append_to(&mut tag) };
        } else {
            // SAFETY: as long as the session's digest.
            tag.extend_from_slice(unsafe { core::slice::from_raw_parts(ask.digest, tag_len) });
        }
        match running.verify(&tag) {
            Ok(()) => {}
            Err(OpError::AuthFailed) => {
                verified = false;
                text.fill(0);
            }
            Err(e) => return Err(failed(e)),
        }
    }
    // SAFETY: the caller's promise.
    unsafe { Cut::new(dst, from, to)?.write(text) };
    Ok(verified)
}

/// Gives the IV for the next piece back to the caller, as the interface says.
unsafe fn update_iv(
    next: NextIv,
    ask: &Ask,
    encrypts: bool,
    (before, short): (Option<[u8; 16]>, Option<[u8; 8]>),
    text: &[u8],
) {
    let len = ask.iv_len as usize;
    if ask.iv.is_null() || !matches!(len, 8 | 16) {
        return;
    }
    // SAFETY: as long as it says, by the interface.
    let iv = unsafe { core::slice::from_raw_parts_mut(ask.iv, len) };
    match next {
        NextIv::Same => {}
        // The last block of ciphertext.
        NextIv::Chained => {
            let last = match (encrypts, len) {
                (true, _) => text.get(text.len() - len..),
                (false, 16) => before.as_ref().map(|b| &b[..]),
                (false, _) => short.as_ref().map(|b| &b[..]),
            };
            if let Some(last) = last {
                iv.copy_from_slice(last);
            }
        }
        NextIv::Counter => {
            let mut carry = (text.len() / len) as u64;
            for byte in iv.iter_mut().rev() {
                carry += u64::from(*byte);
                *byte = carry as u8;
                carry >>= 8;
            }
        }
    }
}

/// An error of the runtime's as a status. What a caller can put right was looked at before.
fn failed(error: OpError) -> Refusal {
    match error {
        OpError::BadInput(_) | OpError::DstTooSmall => Refusal::invalid(error.to_string()),
        OpError::Unsupported => Refusal::unsupported(error.to_string()),
        _ => Refusal::fail(error.to_string()),
    }
}
