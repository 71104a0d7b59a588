//! Which packets the lanes take. What they do not take goes to `single`, which serves it or says
//! what is wrong with it: so this only has to be quick, and on the safe side.

use super::own::OwnCipher;
use super::{AeadLane, CipherLane, MacLane, cbc_mac};
use crate::library::ipsec_mb_steps::{Algorithm, Mode};
use crate::{Cipher, Direction, Parts, Span, Text};

/// The lanes count in 16 bits.
const MOST: u32 = u16::MAX as u32 - 15;

/// ZUC's lanes fail on texts twice as long: half of what they count is kept away from.
const MOST_ZUC: u32 = 16384;

/// The lanes of its MAC count bits.
const MOST_ZUC_MAC: u32 = 8188;

/// What a nonce of 13 bytes leaves room for in CCM.
const MOST_CCM: u32 = u16::MAX as u32;

/// intel-ipsec-mb takes associated data of CCM that fits in three blocks with its length.
const MOST_CCM_AAD: u32 = 46;

/// What admission looks at in most packets. Those of a burst often have the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    iv_len: usize,
    lens: (usize, usize),
    parts: Parts,
}

impl Shape {
    #[inline(always)]
    pub(crate) fn of(iv: &[u8], parts: &Parts, text: &Text<'_>) -> Shape {
        Shape { iv_len: iv.len(), lens: lens(text), parts: *parts }
    }
}

#[inline(always)]
fn lens(text: &Text<'_>) -> (usize, usize) {
    match text {
        Text::InPlace(bytes) => (bytes.len(), bytes.len()),
        Text::Apart { src, dst } => (src.len(), dst.len()),
    }
}

/// What a packet of a session may be like for the lanes to take it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Whether there is a cipher region, and whether an authenticated region.
    cipher: bool,
    mac: bool,
    aad: bool,
    /// The cipher region: the most bytes, the fewest, and the length of blocks less one.
    most: u32,
    least: u32,
    partial: u32,
    most_mac: u32,
    least_mac: u32,
    partial_mac: u32,
    most_aad: u32,
    /// Bits of the last byte may not count.
    bits: bool,
    /// The IV ends with a direction of one bit.
    f9: bool,
    /// Lengths of the IV.
    iv: (u8, u8),
    /// A counter that is not carried beyond 32 bits.
    counter: bool,
    chacha: bool,
    /// A last block that is not whole is read as if it were.
    reads_blocks: bool,
    pub(crate) tag_len: u32,
}

/// Of what there is not.
const NONE: Limits = Limits {
    cipher: false,
    mac: false,
    aad: false,
    most: 0,
    least: 0,
    partial: 0,
    most_mac: 0,
    least_mac: 0,
    partial_mac: 0,
    most_aad: 0,
    bits: false,
    f9: false,
    iv: (0, 0),
    counter: false,
    chacha: false,
    reads_blocks: false,
    tag_len: 0,
};

impl Limits {
    #[inline(always)]
    fn ctr() -> Limits {
        let (most, iv) = (u32::MAX, (12, 16));
        Limits { cipher: true, most, iv, ..NONE }
    }

    #[inline(always)]
    fn ecb() -> Limits {
        Limits { cipher: true, most: u32::MAX, partial: 15, ..NONE }
    }

    #[inline(always)]
    fn null() -> Limits {
        Limits { cipher: true, most: u32::MAX, ..NONE }
    }

    /// Nothing yet but the length of the tag.
    pub(super) fn of_tag(len: usize) -> Limits {
        Limits { tag_len: len as u32, ..NONE }
    }

    /// A hash without a key.
    #[inline(always)]
    fn hash() -> Limits {
        Limits { mac: true, most_mac: u32::MAX, ..NONE }
    }

    #[inline(always)]
    pub(super) fn gcm() -> Limits {
        // SP 800-38D section 5.2.1.1 allows more than there ever is.
        let most = u32::MAX;
        Limits {
            cipher: true,
            aad: true,
            most,
            most_aad: most,
            iv: (1, u8::MAX),
            ..Limits::default()
        }
    }

    pub(super) fn gmac() -> Limits {
        Limits { mac: true, most_mac: u32::MAX, iv: (1, u8::MAX), ..NONE }
    }

    pub(super) fn aead(lane: AeadLane) -> Limits {
        let both = Limits { cipher: true, aad: true, least: 1, ..NONE };
        match lane {
            AeadLane::Ccm(_) => Limits { most: MOST, most_aad: MOST_CCM_AAD, iv: (7, 13), ..both },
            AeadLane::OwnCcm => {
                Limits { most: MOST_CCM, most_aad: cbc_mac::MOST_CCM_AAD, iv: (7, 13), ..both }
            }
            AeadLane::ChaCha20Poly1305 => {
                // RFC 8439 counts blocks in 32 bits.
                Limits { most: u32::MAX, most_aad: u32::MAX, iv: (12, 12), ..both }
            }
        }
    }

    pub(super) fn set_cipher(&mut self, lane: CipherLane) {
        let (block, iv, most) = match lane {
            CipherLane::IpsecMb(step) => match step.mode {
                Mode::Cbc => (16, (16, 16), MOST),
                Mode::Des | Mode::Des3 => (8, (8, 8), MOST),
                Mode::ZucEea3 => (1, (16, 16), MOST_ZUC),
                _ => (1, (16, 16), MOST),
            },
            CipherLane::Own(own) => match own.0 {
                Cipher::DesEcb | Cipher::TripleDesEcb => (8, (0, 0), u32::MAX),
                Cipher::DesCbc | Cipher::TripleDesCbc => (8, (8, 8), u32::MAX),
                Cipher::TripleDesCtr | Cipher::KasumiF8 => (1, (8, 8), u32::MAX),
                Cipher::AesEcb | Cipher::Sm4Ecb => (16, (0, 0), u32::MAX),
                Cipher::AesCbc | Cipher::Sm4Cbc => (16, (16, 16), u32::MAX),
                Cipher::AesCtr | Cipher::Sm4Ctr => (1, (12, 16), u32::MAX),
                Cipher::Arc4 => (1, (0, 0), u32::MAX),
                _ => (1, (16, 16), u32::MAX),
            },
        };
        self.cipher = true;
        (self.most, self.least, self.partial, self.iv) = (most, 1, block - 1, iv);
        self.counter = iv.0 == 12;
        self.chacha = lane == CipherLane::Own(OwnCipher(Cipher::ChaCha20));
        self.bits = lane == CipherLane::Own(OwnCipher(Cipher::KasumiF8));
    }

    pub(super) fn set_mac(&mut self, lane: MacLane) {
        self.mac = true;
        self.most_mac = match lane {
            MacLane::IpsecMb(step) if step.algorithm == Algorithm::ZucEia3 => MOST_ZUC_MAC,
            MacLane::IpsecMb(_) => MOST,
            _ => u32::MAX,
        };
        match lane {
            MacLane::IpsecMb(step)
                if matches!(step.algorithm, Algorithm::ZucEia3 | Algorithm::Snow3gUia2) =>
            {
                self.iv = (16, 16);
            }
            MacLane::Snow3gUia2 | MacLane::ZucEia3 => self.iv = (16, 16),
            MacLane::KasumiF9 => (self.iv, self.bits, self.f9) = ((9, 9), true, true),
            // intel-ipsec-mb 1.3 does so with AVX-512. What it reads too much does not change the tag.
            MacLane::IpsecMb(step) => {
                self.reads_blocks = matches!(step.algorithm, Algorithm::Cmac | Algorithm::Cmac256);
            }
            MacLane::CbcMac { whole_blocks } => {
                self.partial_mac = if whole_blocks { 15 } else { 0 }
            }
            MacLane::Hash(_) | MacLane::Poly1305 => {}
        }
        self.least_mac = match lane {
            MacLane::Hash(_)
            | MacLane::Poly1305
            | MacLane::Snow3gUia2
            | MacLane::ZucEia3
            | MacLane::CbcMac { whole_blocks: false } => 0,
            _ => 1,
        };
    }

    /// Whether the lanes take it. Only then are its regions within its text.
    #[inline(always)]
    pub(crate) fn admit(
        &self,
        direction: Direction,
        iv: &[u8],
        parts: &Parts,
        text: &Text<'_>,
    ) -> bool {
        self.check(direction, iv, parts, lens(text))
            && (!self.reads_blocks || blocks_readable(text, parts.auth))
    }

    /// Whether nothing but a packet's [`Shape`] decides.
    #[inline(always)]
    pub(crate) fn by_shape(&self) -> bool {
        !(self.f9 || self.counter || self.chacha || self.reads_blocks)
    }

    /// [`admit`](Limits::admit) where it is known to be AES-GCM: what does not concern it is not
    /// looked at.
    #[inline(always)]
    pub(crate) fn admit_gcm(
        &self,
        direction: Direction,
        iv: &[u8],
        parts: &Parts,
        text: &Text<'_>,
    ) -> bool {
        Limits { tag_len: self.tag_len, ..Limits::gcm() }.admit(direction, iv, parts, text)
    }

    /// The same for AES-CTR.
    #[inline(always)]
    pub(crate) fn admit_ctr(&self, iv: &[u8], parts: &Parts, text: &Text<'_>) -> bool {
        Limits::ctr().admit(Direction::Seal, iv, parts, text)
    }

    /// The same for AES-ECB.
    #[inline(always)]
    pub(crate) fn admit_ecb(&self, iv: &[u8], parts: &Parts, text: &Text<'_>) -> bool {
        Limits::ecb().admit(Direction::Seal, iv, parts, text)
    }

    /// The same for the cipher that changes nothing.
    #[inline(always)]
    pub(crate) fn admit_null(&self, iv: &[u8], parts: &Parts, text: &Text<'_>) -> bool {
        Limits::null().admit(Direction::Seal, iv, parts, text)
    }

    /// The same for a hash without a key.
    #[inline(always)]
    pub(crate) fn admit_hash(
        &self,
        direction: Direction,
        iv: &[u8],
        parts: &Parts,
        text: &Text<'_>,
    ) -> bool {
        Limits { tag_len: self.tag_len, ..Limits::hash() }.admit(direction, iv, parts, text)
    }

    #[inline(always)]
    fn check(
        &self,
        direction: Direction,
        iv: &[u8],
        parts: &Parts,
        (src, dst): (usize, usize),
    ) -> bool {
        let both = src.min(dst);
        let mut fits = iv.len() >= usize::from(self.iv.0) && iv.len() <= usize::from(self.iv.1);
        fits &= parts.spare_bits == 0 || (self.bits && parts.spare_bits < 8);
        fits &= !self.f9 || iv.get(8).is_some_and(|direction| *direction < 2);
        if self.cipher {
            let len = parts.cipher.len;
            fits &= end(parts.cipher) <= both;
            fits &= len >= self.least && len <= self.most && len & self.partial == 0;
        }
        if self.mac {
            // A chain may hash what it has written.
            let room = if self.cipher { both } else { src };
            let len = parts.auth.len;
            fits &= end(parts.auth) <= room && len >= self.least_mac && len <= self.most_mac;
            fits &= len & self.partial_mac == 0;
        }
        if self.aad {
            fits &= end(parts.aad) <= src && parts.aad.len <= self.most_aad;
            // Associated data that is encrypted: intel-ipsec-mb 2.0 hashes what it has written.
            fits &= end(parts.aad) <= parts.cipher.offset as usize
                || end(parts.cipher) <= parts.aad.offset as usize;
        }
        if self.tag_len != 0 {
            let tag = Span { offset: parts.tag, len: self.tag_len };
            let room = if direction == Direction::Seal { dst } else { src };
            fits &= end(tag) <= room;
            // A tag that is encrypted, or is overwritten: `single` knows the order of things.
            fits &= !self.cipher
                || end(tag) <= parts.cipher.offset as usize
                || tag.offset as usize >= end(parts.cipher);
        }
        if self.counter && fits {
            fits = counter_fits(iv, parts.cipher.len);
        }
        if self.chacha && fits {
            // What comes after the last of 2^32 blocks, RFC 8439 does not say.
            let first = u32::from_le_bytes([iv[0], iv[1], iv[2], iv[3]]);
            fits = first.checked_add(parts.cipher.len.div_ceil(64)).is_some();
        }
        fits
    }
}

#[inline(always)]
fn end(span: Span) -> usize {
    span.offset as usize + span.len as usize
}

/// Whether the last block of a region within its text could be read whole, even if it is not: it
/// lies in one page, so that nothing is touched that the text's end may not be followed by.
fn blocks_readable(text: &Text<'_>, span: Span) -> bool {
    // The smallest page there is on x86-64.
    const PAGE: usize = 4096;
    let partial = span.len as usize % 16;
    let last = end(span) - partial;
    let fits = |bytes: &[u8]| bytes.as_ptr().wrapping_add(last).addr() % PAGE <= PAGE - 16;
    partial == 0
        || match text {
            Text::InPlace(bytes) => fits(bytes),
            // Which of them is read, the order of a chain's steps says.
            Text::Apart { src, dst } => fits(src) && fits(dst),
        }
}

/// Whether the lowest 32 bits of the counter do not overflow.
#[inline(always)]
fn counter_fits(iv: &[u8], len: u32) -> bool {
    let blocks = len.div_ceil(16);
    let first = match iv.first_chunk::<16>() {
        Some([.., a, b, c, d]) => u32::from_be_bytes([*a, *b, *c, *d]),
        None if iv.len() == 12 => 1,
        None => return false,
    };
    first.checked_add(blocks).is_some()
}
