//! Which packets the lanes take. What they do not take goes to `single`, which serves it or says
//! what is wrong with it: so this only has to be quick, and on the safe side.

use super::{CipherLane, MacLane};
use crate::library::ipsec_mb_steps::{Algorithm, Mode};
use crate::{Aead, Direction, Packet, Span, Text};

/// The lanes count in 16 bits.
const MOST: u32 = u16::MAX as u32 - 15;

/// ZUC's lanes count bits so.
const MOST_ZUC_MAC: u32 = 8188;

/// Version 1.3 takes associated data of CCM that fits in three blocks with its length.
const MOST_CCM_AAD: u32 = 46;

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
    most_aad: u32,
    /// Lengths of the IV.
    iv: (u8, u8),
    /// A counter that is not carried beyond 32 bits.
    counter: bool,
    pub(super) tag_len: u32,
}

impl Limits {
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
        Limits { mac: true, most_mac: u32::MAX, iv: (1, u8::MAX), ..Limits::default() }
    }

    pub(super) fn aead(aead: Aead) -> Limits {
        let both = Limits { cipher: true, aad: true, least: 1, ..Limits::default() };
        match aead {
            Aead::AesCcm => Limits { most: MOST, most_aad: MOST_CCM_AAD, iv: (7, 13), ..both },
            _ => Limits { most: u32::MAX >> 1, most_aad: u32::MAX, iv: (12, 12), ..both },
        }
    }

    pub(super) fn set_cipher(&mut self, lane: CipherLane) {
        let (block, iv, most) = match lane.mode {
            Mode::Cbc => (16, (16, 16), MOST),
            Mode::Ecb => (16, (0, 0), MOST),
            Mode::Des | Mode::Des3 => (8, (8, 8), MOST),
            Mode::Ctr => (1, (12, 16), u32::MAX >> 1),
            _ => (1, (16, 16), MOST),
        };
        self.cipher = true;
        (self.most, self.least, self.partial, self.iv) = (most, 1, block - 1, iv);
        self.counter = lane.mode == Mode::Ctr;
    }

    pub(super) fn set_mac(&mut self, lane: MacLane) {
        self.mac = true;
        self.most_mac = match lane.algorithm {
            Algorithm::ZucEia3 => MOST_ZUC_MAC,
            _ => MOST,
        };
        if matches!(lane.algorithm, Algorithm::ZucEia3 | Algorithm::Snow3gUia2) {
            self.iv = (16, 16);
        }
    }

    /// Whether the lanes take it. Only then are its regions within its text.
    #[inline(always)]
    pub(crate) fn admit(&self, packet: &Packet<'_>) -> bool {
        let parts = &packet.parts;
        let (src, dst) = match &packet.text {
            Text::InPlace(bytes) => (bytes.len(), bytes.len()),
            Text::Apart { src, dst } => (src.len(), dst.len()),
        };
        let both = src.min(dst);
        let iv = packet.iv.len();
        let mut fits = iv >= usize::from(self.iv.0) && iv <= usize::from(self.iv.1);
        fits &= parts.spare_bits == 0;
        if self.cipher {
            let len = parts.cipher.len;
            fits &= end(parts.cipher) <= both;
            fits &= len >= self.least && len <= self.most && len & self.partial == 0;
        }
        if self.mac {
            // A chain may hash what it has written.
            let room = if self.cipher { both } else { src };
            let len = parts.auth.len;
            fits &= end(parts.auth) <= room && len >= 1 && len <= self.most_mac;
        }
        if self.aad {
            fits &= end(parts.aad) <= src && parts.aad.len <= self.most_aad;
        }
        if self.tag_len != 0 {
            let tag = Span { offset: parts.tag, len: self.tag_len };
            let room = if packet.direction == Direction::Seal { dst } else { src };
            fits &= end(tag) <= room;
            // A tag that is encrypted, or is overwritten: `single` knows the order of things.
            fits &= !self.cipher
                || end(tag) <= parts.cipher.offset as usize
                || tag.offset as usize >= end(parts.cipher);
        }
        if self.counter && fits {
            fits = counter_fits(packet.iv, parts.cipher.len);
        }
        fits
    }
}

#[inline(always)]
fn end(span: Span) -> usize {
    span.offset as usize + span.len as usize
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
