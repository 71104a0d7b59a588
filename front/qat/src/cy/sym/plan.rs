//! How a session's requests are asked of the runtime: one request for each whole packet, where it has one for
//! that.
//!
//! A request has the parts of its lists that count and no more, so that what lies beside them may be anybody's. A
//! digest elsewhere goes through memory of ours: it may lie anywhere, the source too.
#![allow(unsafe_code)]

use lookaside::{
    AeadSession, Aside, Buf, Carried, ChainSession, CipherSession, DigestSession, Iv, Op, Packet,
    Request, Span,
};

use crate::refusal::Refusal;

use super::{
    ask::{Ask, Cut, Lists, end},
    pool,
};

/// The session of the runtime.
pub enum Runner {
    /// For a cipher.
    Cipher(CipherSession),
    /// For a hash or MAC.
    Digest(DigestSession),
    /// For both in one.
    Aead(AeadSession),
    /// For both, one after the other.
    Chain(ChainSession),
    /// None: [`super::steps`] does it.
    InSteps,
}

/// Where an IV comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IvRule {
    /// There is none.
    None,
    /// `pIv`, of this length.
    Bytes(u8),
    /// `pIv` from its second byte on, 7 to 13 bytes.
    Ccm,
    /// `pIv`: 12 bytes, or the first counter block.
    Gcm,
    /// `pAdditionalAuthData`, 16 bytes.
    Aad,
    /// The first 8 bytes of what is hashed, and the bit behind the message.
    F9,
}

/// What all packets of a session have in common.
pub struct Plan {
    pub(super) runner: Runner,
    pub(super) op: Op,
    pub(super) iv: IvRule,
    pub(super) auth_iv: IvRule,
    pub(super) has_cipher: bool,
    pub(super) has_hash: bool,
    pub(super) is_ccm: bool,
    pub(super) block: u32,
    pub(super) least: u32,
    pub(super) tag_len: u32,
    pub(super) aad_len: u32,
    pub(super) appended: bool,
    pub(super) verify: bool,
}

/// What is left to do with the digest of an answer.
#[derive(Clone, Copy)]
pub enum After {
    /// Nothing.
    Done,
    /// It is copied to its place.
    Copy(*mut u8),
    /// It is compared with the one that is there.
    Compare(*const u8),
    /// All of the text is a copy: see [`Plan::copied`].
    CopyBack,
}

/// Where a request writes.
enum Place {
    /// To memory of the program's.
    Theirs(Cut),
    /// To memory of ours, for a digest.
    Digest,
    /// To a copy of the text.
    Copy(Vec<u8>),
}

/// What a request of the runtime has.
pub struct Shape {
    carried: Box<Carried>,
    src: Cut,
    dst: Place,
    /// What is left to do with its digest.
    pub after: After,
}

impl Shape {
    /// Keeps its memory for another one.
    pub fn discard(self) {
        pool::discard(self.carried);
    }
}

/// How a packet is worked on.
// Large, and moved once.
#[allow(clippy::large_enum_variant)]
pub enum Way {
    /// As one request.
    Request(Shape),
    /// By the thread that polls.
    InSteps,
}

/// Longer texts are not copied: they would leave the cache.
const MOST_COPIED: u64 = 16 << 10;

const NO_IV: &str = "the session's algorithm needs an IV, and pIv is null";
const IV_LEN: &str = "ivLenInBytes is not one that the session's algorithm has";
const NO_AAD: &str = "the session has associated data, and pAdditionalAuthData is null";
const NO_DIGEST: &str = "the session's digest is not appended, and pDigestResult is null";
const BLOCKS: &str = "messageLenToCipherInBytes is no multiple of the cipher's block";
const SHORT: &str = "messageLenToCipherInBytes is less than a block of XTS";
const F9: &str =
    "what KASUMI F9 hashes is COUNT, FRESH, the message, DIRECTION, a bit 1, and zeros to 8 bytes";

/// The nonce of AES-GCM: 12 bytes, or the first counter block, of 16. `false` for a counter block that is none of a
/// nonce of 12 bytes, whose counter begins with 1: the runtime does not take others.
///
/// # Errors
/// For null, and another length.
///
/// # Safety
/// As long as it says.
#[inline(always)]
pub unsafe fn gcm_nonce(iv: *const u8, len: u32) -> Result<(Iv, bool), Refusal> {
    if iv.is_null() {
        return Err(Refusal::invalid(NO_IV));
    }
    let mut bytes = [0; 16];
    let usual = match len {
        12 => {
            // SAFETY: the caller's promise.
            bytes[..12].copy_from_slice(&unsafe { iv.cast::<[u8; 12]>().read() });
            true
        }
        16 => {
            // SAFETY: as above.
            bytes = unsafe { iv.cast::<[u8; 16]>().read() };
            let usual = bytes[12..] == [0, 0, 0, 1];
            bytes[12..].fill(0);
            usual
        }
        _ => return Err(Refusal::invalid(IV_LEN)),
    };
    Ok((Iv::Here { bytes, len: 12 }, usual))
}

impl IvRule {
    /// The IV, to this place. `false` for a first counter block of GCM's, which the runtime does not take.
    ///
    /// # Errors
    /// For null, and a wrong length.
    ///
    /// # Safety
    /// Pointers as the interface asks for.
    #[inline(always)]
    pub unsafe fn fill(self, ask: &Ask, iv: &mut Iv) -> Result<bool, Refusal> {
        let (from, len) = match self {
            IvRule::Bytes(len) if ask.iv_len == u32::from(len) => (ask.iv, len),
            IvRule::None | IvRule::F9 => {
                *iv = Iv::Here { bytes: [0; 16], len: 0 };
                return Ok(true);
            }
            IvRule::Gcm => {
                // SAFETY: as long as it says.
                let (nonce, usual) = unsafe { gcm_nonce(ask.iv, ask.iv_len) }?;
                *iv = nonce;
                return Ok(usual);
            }
            // The first byte is for the library.
            IvRule::Ccm if (7..=13).contains(&ask.iv_len) && !ask.iv.is_null() => {
                (ask.iv.wrapping_add(1), ask.iv_len as u8)
            }
            IvRule::Aad => (ask.aad, 16),
            IvRule::Ccm | IvRule::Bytes(_) if ask.iv.is_null() => {
                return Err(Refusal::invalid(NO_IV));
            }
            _ => return Err(Refusal::invalid(IV_LEN)),
        };
        if from.is_null() {
            return Err(Refusal::invalid(if self == IvRule::Aad { NO_AAD } else { NO_IV }));
        }
        let mut bytes = [0; 16];
        // SAFETY: as long as it says, and at most 16.
        unsafe { core::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), len.into()) };
        *iv = Iv::Here { bytes, len };
        Ok(true)
    }

    /// The same as a value; `None` where [`IvRule::fill`] says `false`.
    ///
    /// # Errors
    /// As [`IvRule::fill`].
    ///
    /// # Safety
    /// As [`IvRule::fill`].
    pub unsafe fn iv(self, ask: &Ask) -> Result<Option<Iv>, Refusal> {
        let mut iv = Iv::default();
        // SAFETY: the caller's promise.
        let usual = unsafe { self.fill(ask, &mut iv) }?;
        Ok(usual.then_some(iv))
    }
}

/// Of a padded message for KASUMI F9: the IV, how many bits of the message's last byte do not count, and the message's
/// length (3GPP TS 35.201 section 4.5).
///
/// # Errors
/// For what is not padded like that.
pub fn f9(text: &[u8]) -> Result<(Iv, u8, usize), Refusal> {
    let refused = || Refusal::invalid(F9);
    if text.len() < 16 || !text.len().is_multiple_of(8) {
        return Err(refused());
    }
    let last = text.iter().rposition(|byte| *byte != 0).ok_or_else(refused)?;
    // The bit 1 behind DIRECTION, counted from the text's first one.
    let one = last * 8 + 7 - text[last].trailing_zeros() as usize;
    if one < 65 || text.len() * 8 - one > 64 {
        return Err(refused());
    }
    let direction = one - 1;
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&text[..8]);
    bytes[8] = text[direction / 8] >> (7 - direction % 8) & 1;
    let bits = direction - 64;
    let len = bits.div_ceil(8);
    Ok((Iv::Here { bytes, len: 9 }, (len * 8 - bits) as u8, len))
}

impl Plan {
    /// Whether the runtime has one request for the session's packets.
    pub fn is_in_steps(&self) -> bool {
        matches!(self.runner, Runner::InSteps)
    }

    /// Lengths that the lists have nothing to do with.
    ///
    /// # Errors
    /// For those that the session's algorithms do not take.
    #[inline(always)]
    pub fn check(&self, ask: &Ask, whole: bool) -> Result<(), Refusal> {
        if self.has_cipher {
            let len = ask.cipher.len;
            if len & (self.block - 1) != 0 {
                return Err(Refusal::invalid(BLOCKS));
            }
            if len < self.least {
                return Err(Refusal::invalid(SHORT));
            }
        }
        if whole && self.tag_len > 0 && !self.appended && ask.digest.is_null() {
            return Err(Refusal::invalid(NO_DIGEST));
        }
        if self.aad_len > 0 && !self.has_hash && ask.aad.is_null() {
            return Err(Refusal::invalid(NO_AAD));
        }
        Ok(())
    }

    /// The associated data of an AEAD.
    #[inline]
    pub fn aad(&self, ask: &Ask) -> (*const u8, usize) {
        // That of CCM lies behind its first block and a length.
        let at = if self.is_ccm { ask.aad.wrapping_add(18) } else { ask.aad };
        (at, self.aad_len as usize)
    }

    /// The request for a whole packet.
    ///
    /// # Errors
    /// For null where it is not allowed, and for lengths that cannot be.
    ///
    /// # Safety
    /// Pointers as the interface asks for, until the answer.
    #[inline(always)]
    pub unsafe fn shape(&self, ask: &Ask, lists: &Lists) -> Result<Way, Refusal> {
        self.check(ask, true)?;
        let rule = if self.has_cipher { self.iv } else { self.auth_iv };
        let mut carried = pool::packet();
        let Carried::Packet(packet) = &mut *carried else {
            return Err(Refusal::fail("a box of another kind"));
        };
        // SAFETY: the caller's promise.
        let usual = unsafe { rule.fill(ask, &mut packet.iv) }?;
        if !usual || self.is_in_steps() {
            // Everything is looked at before it is accepted.
            super::steps::check(self, ask, lists)?;
            return Ok(Way::InSteps);
        }
        // SAFETY: the caller's promise.
        unsafe {
            match &self.runner {
                Runner::Digest(_) => self.digest(ask, lists, carried),
                Runner::Chain(_) => self.text(ask, lists, ask.hash, carried),
                _ => self.text(ask, lists, ask.cipher, carried),
            }
        }
    }

    /// A hash or MAC: what is hashed is the source, and the destination is the digest's place or memory of ours.
    #[inline(always)]
    unsafe fn digest(
        &self,
        ask: &Ask,
        lists: &Lists,
        mut carried: Box<Carried>,
    ) -> Result<Way, Refusal> {
        let Span { offset, len } = ask.hash;
        let (from, to) = (u64::from(offset), end(ask.hash));
        let tag_end = to + u64::from(self.tag_len);
        let text = Cut::new(lists.src, from, to)?;
        let packet = of(&mut carried);
        (packet.cipher, packet.aad) = (Span::default(), Span::default());
        (packet.auth, packet.tag, packet.spare_bits) = (Span::new(0, len), 0, 0);
        if self.auth_iv == IvRule::F9 {
            let mut copy = Vec::new();
            // SAFETY: the caller's promise.
            unsafe { text.append_to(&mut copy) };
            let (iv, spare_bits, len) = f9(&copy)?;
            (packet.iv, packet.spare_bits) = (iv, spare_bits);
            packet.auth = Span::new(8, len as u32);
        }
        let after = match (self.verify, self.appended) {
            (true, false) => After::Compare(ask.digest),
            (false, false) => After::Copy(ask.digest),
            (verify, true) => {
                let list = if verify { lists.src } else { lists.dst };
                match Cut::new(list, to, tag_end)? {
                    Cut::One(at, _) if verify => After::Compare(at),
                    Cut::One(at, _) => After::Copy(at),
                    Cut::Many(_) => {
                        return Err(Refusal::invalid(
                            "an appended digest of a hash alone lies in one buffer of its list",
                        ));
                    }
                }
            }
        };
        Ok(Way::Request(Shape { carried, src: text, dst: Place::Digest, after }))
    }

    /// A cipher, an AEAD or a chain. `hash` is what lies before the digest that is appended.
    #[inline(always)]
    unsafe fn text(
        &self,
        ask: &Ask,
        lists: &Lists,
        hash: Span,
        mut carried: Box<Carried>,
    ) -> Result<Way, Refusal> {
        let (mut from, mut to) = (u64::from(ask.cipher.offset), end(ask.cipher));
        if self.has_hash {
            match (ask.cipher.len, hash.len) {
                // The place of what has no bytes does not count, but for the digest.
                (_, 0) => {}
                (0, _) => (from, to) = (u64::from(hash.offset), end(hash)),
                _ => (from, to) = (from.min(u64::from(hash.offset)), to.max(end(hash))),
            }
        }
        let tag_len = u64::from(self.tag_len);
        let mut after = After::Done;
        // Where the digest lies within the text.
        let tag = match (self.tag_len, self.appended) {
            (0, _) => None,
            (_, true) => Some(end(hash)),
            (_, false) => within(lists, ask.digest, tag_len),
        };
        let (mut src_to, mut dst_to) = (to, to);
        if let Some(tag) = tag {
            if tag < from {
                from = tag;
            }
            let tag_end = tag + tag_len;
            match self.verify {
                true => src_to = to.max(tag_end),
                false => dst_to = to.max(tag_end),
            }
        }
        let aad_at = match &self.runner {
            Runner::Aead(_) if self.aad_len > 0 => {
                let (aad, len) = self.aad(ask);
                let at = within(lists, aad, len as u64).filter(|at| at + len as u64 <= to);
                if let Some(at) = at {
                    from = from.min(at);
                }
                Some((at, aad, len))
            }
            _ => None,
        };
        let here = |offset: u32, len: u32| match len {
            0 => Span::default(),
            _ => Span::new((u64::from(offset) - from) as u32, len),
        };
        let packet = of(&mut carried);
        packet.spare_bits = 0;
        packet.cipher = here(ask.cipher.offset, ask.cipher.len);
        packet.auth = if self.has_hash { here(hash.offset, hash.len) } else { Span::default() };
        let mut aad = Buf::empty();
        match aad_at {
            Some((Some(at), _, len)) => packet.aad = Span::new((at - from) as u32, len as u32),
            // SAFETY: the caller's promise; it lies outside of what is written, or is copied.
            Some((None, at, len)) => aad = unsafe { outside(lists, at, len) },
            None => packet.aad = Span::default(),
        }
        let mut place = Buf::empty();
        match tag {
            Some(tag) => packet.tag = (tag - from) as u32,
            None if self.tag_len > 0 => {
                if let Runner::Chain(session) = &self.runner
                    && to - from <= MOST_COPIED
                    && session.side_by_side()
                {
                    // SAFETY: the caller's promise.
                    return unsafe { self.copied(ask, lists, carried, from, to) };
                }
                place = pool::digest();
                if self.verify {
                    let bytes = place.as_mut_slice().unwrap_or_default();
                    // SAFETY: as long as the session's digest; ours has 64 bytes.
                    unsafe {
                        core::ptr::copy_nonoverlapping(
                            ask.digest,
                            bytes.as_mut_ptr(),
                            self.tag_len as usize,
                        );
                    }
                } else {
                    after = After::Copy(ask.digest);
                }
            }
            None => {}
        }
        if !aad.is_empty() || !place.is_empty() {
            if !aad.is_empty() {
                packet.aad = Span::default();
            }
            let packet = *packet;
            *carried = Carried::Aside(Aside { packet, aad, tag: place });
        }
        if lists.in_place {
            let text = Cut::new(lists.both(), from, src_to.max(dst_to))?;
            let src = Cut::Many(Vec::new());
            return Ok(Way::Request(Shape { carried, src, dst: Place::Theirs(text), after }));
        }
        let src = Cut::new(lists.src, from, src_to)?;
        let dst = Cut::new(lists.dst, from, dst_to)?;
        Cut::check_apart(&src, &dst)?;
        Ok(Way::Request(Shape { carried, src, dst: Place::Theirs(dst), after }))
    }

    /// A chain whose digest lies elsewhere, on a copy of its text with the digest behind it. Side by side with
    /// others a packet takes a half to a fourth of the time, and there digests are part of the text.
    unsafe fn copied(
        &self,
        ask: &Ask,
        lists: &Lists,
        mut carried: Box<Carried>,
        from: u64,
        to: u64,
    ) -> Result<Way, Refusal> {
        of(&mut carried).tag = (to - from) as u32;
        let src = if lists.in_place { lists.both() } else { lists.src };
        let src = Cut::new(src, from, to)?;
        if !lists.in_place {
            Cut::check_apart(&src, &Cut::new(lists.dst, from, to)?)?;
        }
        let mut text = pool::text();
        // SAFETY: the caller's promise.
        unsafe { src.append_to(&mut text) };
        text.resize((to - from) as usize + self.tag_len as usize, 0);
        if self.verify {
            let place = &mut text[(to - from) as usize..];
            // SAFETY: as long as the session's digest.
            unsafe {
                core::ptr::copy_nonoverlapping(ask.digest, place.as_mut_ptr(), place.len());
            }
        }
        let (src, dst) = (Cut::Many(Vec::new()), Place::Copy(text));
        Ok(Way::Request(Shape { carried, src, dst, after: After::CopyBack }))
    }

    /// Writes what such a copy has become to where it belongs.
    ///
    /// # Safety
    /// As [`Plan::shape`]; `text` and `packet` are those of the answer.
    pub unsafe fn copy_back(
        &self,
        ask: &Ask,
        lists: &Lists,
        packet: &Packet,
        text: &[u8],
    ) -> Result<(), Refusal> {
        let hashed = if lists.in_place { Span::default() } else { ask.hash };
        let dst = if lists.in_place { lists.both() } else { lists.dst };
        for (to, from) in [(hashed, packet.auth), (ask.cipher, packet.cipher)] {
            let (at, len) = (from.offset as usize, to.len as usize);
            let cut = Cut::new(dst, to.offset.into(), end(to))?;
            if len > 0 {
                // SAFETY: the caller's promise.
                unsafe { cut.write(&text[at..at + len]) };
            }
        }
        if !self.verify {
            let tag = &text[packet.tag as usize..][..self.tag_len as usize];
            // SAFETY: as long as the session's digest.
            unsafe { core::ptr::copy_nonoverlapping(tag.as_ptr(), ask.digest, tag.len()) };
        }
        Ok(())
    }

    /// The runtime's request.
    ///
    /// # Safety
    /// What the shape was made of is there until the answer.
    #[inline(always)]
    pub unsafe fn request(&self, shape: Shape) -> Request {
        let Shape { carried, src, dst, .. } = shape;
        // SAFETY: the caller's promise; `shape` has looked that they share no byte. A digest goes to memory of ours
        // first, and to its place in the completion.
        let (src, dst) = unsafe {
            let dst = match dst {
                Place::Theirs(dst) => dst.destination(),
                Place::Digest => pool::digest(),
                Place::Copy(text) => Buf::from(text),
            };
            (src.source(), dst)
        };
        let seals = self.op == Op::Seal;
        match &self.runner {
            Runner::Cipher(session) if self.op == Op::Encrypt => session.encrypt(carried, src, dst),
            Runner::Cipher(session) => session.decrypt(carried, src, dst),
            Runner::Digest(session) => session.digest(carried, src, dst),
            Runner::Aead(session) if seals => session.seal(carried, src, dst),
            Runner::Aead(session) => session.open(carried, src, dst),
            Runner::Chain(session) if seals => session.seal(carried, src, dst),
            Runner::Chain(session) => session.open(carried, src, dst),
            // `shape` has said so.
            Runner::InSteps => unreachable!("packets in steps are no requests"),
        }
    }
}

/// The packet in a box of the pool's, which has one.
#[inline]
fn of(carried: &mut Carried) -> &mut Packet {
    match carried {
        Carried::Packet(packet) => packet,
        _ => unreachable!("the pool's boxes have packets"),
    }
}

/// The offset of memory within a list in place that is one piece. A digest there is part of the text.
#[inline]
fn within(lists: &Lists, pointer: *const u8, len: u64) -> Option<u64> {
    let [one] = lists.both() else { return None };
    if !lists.in_place {
        return None;
    }
    let offset = pointer.addr().checked_sub(one.pData.addr())? as u64;
    (offset + len <= u64::from(one.dataLenInBytes)).then_some(offset)
}

/// Associated data elsewhere: a copy, where the destination shares bytes with it.
#[inline]
unsafe fn outside(lists: &Lists, aad: *const u8, len: usize) -> Buf {
    let (start, end) = (aad.addr(), aad.addr() + len);
    let meets = |piece: &crate::abi::CpaFlatBuffer| {
        let at = piece.pData.addr();
        at < end && start < at + piece.dataLenInBytes as usize
    };
    if lists.dst.iter().any(meets) {
        // SAFETY: not null, and as long as the session's associated data.
        return Buf::from(unsafe { core::slice::from_raw_parts(aad, len) });
    }
    // SAFETY: as above; it stays as it is until the answer.
    unsafe { Buf::foreign(aad, len) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3GPP TS 35.203, test sets 1 (189 bits) and 5 (a message whose padding fills a block).
    #[test]
    fn padding_of_f9() {
        // 16 bytes of COUNT, FRESH and the message; 5 bits of the message's last byte, DIRECTION 1, 1, 0.
        let text = [1, 2, 3, 4, 5, 6, 7, 8, 0xaa, 0xb8 | 0b110, 0, 0, 0, 0, 0, 0];
        let (iv, spare, len) = f9(&text).ok().unwrap();
        assert_eq!((iv, spare, len), (Iv::new(&[1, 2, 3, 4, 5, 6, 7, 8, 1]).unwrap(), 3, 2));
        // Whole bytes: DIRECTION 0, then 1, in a byte of their own.
        let text = [1, 2, 3, 4, 5, 6, 7, 8, 0xaa, 0x40, 0, 0, 0, 0, 0, 0];
        assert_eq!(f9(&text).ok().unwrap(), (Iv::new(&[1, 2, 3, 4, 5, 6, 7, 8, 0]).unwrap(), 0, 1));
        assert!(f9(&[0; 16]).is_err() && f9(&text[..8]).is_err() && f9(&[9; 12]).is_err());
    }
}
