//! The steps of a group of packets that one kernel serves: encrypt, authenticate, compare, in the
//! order that the direction asks for.

use lookaside_cipher_kernel::{snow3g, zuc};
use lookaside_simd::Cpu;

use super::hash::{self, Tails};
use super::{AeadLane, CipherLane, Group, MacLane, Tags, cbc_mac, own};
use crate::library::ipsec_mb::{Lanes, Scratch};
use crate::{ChainOrder, Direction, OpError, Packet, Span, Text};

/// What the steps of one thread need.
pub(crate) struct Machine {
    pub cpu: Cpu,
    /// Set up at the first packet that needs them; `Some(None)` where there are none.
    lanes: Option<Option<Lanes>>,
    pub(super) scratch: Scratch,
    tails: Box<Tails>,
    tags: Box<Tags>,
}

impl Machine {
    pub(crate) fn new(cpu: &Cpu) -> Machine {
        Machine {
            cpu: cpu.clone(),
            lanes: None,
            scratch: Scratch::default(),
            tails: Tails::new(),
            tags: Tags::new(),
        }
    }

    /// Whether there are lanes of intel-ipsec-mb: not on an engine of a lower tier than the
    /// session's, and not without memory.
    #[inline(always)]
    pub(crate) fn has_lanes(&mut self) -> bool {
        self.lanes.get_or_insert_with(|| Lanes::new(&self.cpu)).is_some()
    }

    #[inline(always)]
    fn lanes(&mut self) -> &mut Lanes {
        self.lanes.as_mut().and_then(Option::as_mut).expect("the caller has asked for them")
    }

    fn cipher(
        &mut self,
        lane: CipherLane,
        direction: Direction,
        packets: &mut [Packet<'_>],
        group: Group,
    ) {
        match lane {
            CipherLane::IpsecMb(step) => self.lanes().cipher(step, direction, packets, group),
            CipherLane::Own(cipher) => own::cipher(&self.cpu, cipher, direction, packets, group),
        }
    }

    fn mac(
        &mut self,
        lane: MacLane,
        of_destination: bool,
        packets: &mut [Packet<'_>],
        group: Group,
    ) {
        let Machine { cpu, lanes, tails, tags, .. } = self;
        match lane {
            MacLane::IpsecMb(step) => {
                if let Some(Some(lanes)) = lanes {
                    lanes.mac(step, of_destination, packets, group, tags);
                }
            }
            MacLane::Hash(lane) => {
                hash::run(cpu, lane, of_destination, packets, group, (tails, tags));
            }
            MacLane::CbcMac { .. } => cbc_mac::run(of_destination, packets, group, (tails, tags)),
            MacLane::Poly1305 => own::poly1305(cpu, of_destination, packets, group, tags),
            MacLane::Snow3gUia2 => {
                own::keystream_tags(cpu, packets, group, tags, snow3g::uia2_many)
            }
            MacLane::ZucEia3 => own::keystream_tags(cpu, packets, group, tags, zuc::eia3_many),
            MacLane::KasumiF9 => own::kasumi_f9(cpu, packets, group, tags),
        }
    }

    /// AEADs in lanes. All packets go one way.
    pub(crate) fn aead(
        &mut self,
        lane: AeadLane,
        direction: Direction,
        packets: &mut [Packet<'_>],
        group: Group,
    ) {
        let Machine { cpu, lanes, tails, tags, .. } = self;
        match lane {
            AeadLane::OwnCcm => cbc_mac::ccm(direction, packets, group, (tails, tags)),
            AeadLane::Ccm(step) => {
                if let Some(Some(lanes)) = lanes {
                    lanes.ccm(step, direction, packets, group, tags);
                }
            }
            AeadLane::ChaCha20Poly1305 => {
                own::chacha20_poly1305(cpu, direction, packets, group, tags);
            }
        }
        for place in group {
            finish(&mut packets[place], &tags[place]);
        }
    }

    /// A cipher, a MAC or a chain of both. All packets go one way.
    pub(crate) fn steps(
        &mut self,
        (cipher, mac, order): (Option<CipherLane>, Option<MacLane>, ChainOrder),
        direction: Direction,
        packets: &mut [Packet<'_>],
        mut group: Group,
    ) {
        let Some(mac) = mac else {
            if let Some(cipher) = cipher {
                self.cipher(cipher, direction, packets, group);
            }
            for place in group {
                packets[place].result = Ok(packets[place].parts.cipher.len as usize);
            }
            return;
        };
        let Some(cipher) = cipher else {
            self.mac(mac, false, packets, group);
            for place in group {
                finish_mac(&mut packets[place], &self.tags[place]);
            }
            return;
        };
        for place in group {
            carry(&mut packets[place]);
        }
        if (order == ChainOrder::AuthThenCipher) != (direction == Direction::Seal) {
            self.cipher(cipher, direction, packets, group);
            self.mac(mac, true, packets, group);
            for place in group {
                finish(&mut packets[place], &self.tags[place]);
            }
            return;
        }
        self.mac(mac, false, packets, group);
        if direction == Direction::Open {
            for place in group {
                let packet = &mut packets[place];
                let tag_len = packet.session.plan().tag_len;
                if !matches(&packet.text, packet.parts.tag, tag_len, &self.tags[place]) {
                    packet.result = Err(OpError::AuthFailed);
                    group.remove(place);
                }
            }
        }
        self.cipher(cipher, direction, packets, group);
        for place in group {
            let packet = &mut packets[place];
            if direction == Direction::Seal {
                let tag_len = packet.session.plan().tag_len;
                let place_of_tag = packet.text.destination();
                write(place_of_tag, packet.parts.tag, tag_len, &self.tags[place]);
            }
            packet.result = Ok(packet.parts.cipher.len as usize);
        }
    }
}

/// The end of what has a cipher: the tag goes to its place, or is compared; what was decrypted to a
/// tag that does not match is overwritten.
#[inline(always)]
fn finish(packet: &mut Packet<'_>, tag: &[u8; 64]) {
    let Packet { session, direction, parts, text, .. } = packet;
    let tag_len = session.plan().tag_len;
    packet.result = Ok(parts.cipher.len as usize);
    if *direction == Direction::Seal {
        write(text.destination(), parts.tag, tag_len, tag);
    } else if !matches(text, parts.tag, tag_len, tag) {
        packet.result = Err(refuse(text, parts.cipher));
    }
}

/// The end of a hash or MAC alone.
#[inline(always)]
fn finish_mac(packet: &mut Packet<'_>, tag: &[u8; 64]) {
    let Packet { session, direction, parts, text, .. } = packet;
    packet.result = tag_done(session.plan().tag_len, *direction, parts.tag, text, tag);
}

/// The tag of data that are only authenticated is written, or compared.
#[inline(always)]
pub(super) fn tag_done<const N: usize>(
    len: usize,
    direction: Direction,
    at: u32,
    text: &mut Text<'_>,
    tag: &[u8; N],
) -> Result<usize, OpError> {
    if direction == Direction::Seal {
        write(text.destination(), at, len, tag);
    } else if !matches(text, at, len, tag) {
        return Err(OpError::AuthFailed);
    }
    Ok(len)
}

/// A tag that does not match: the plaintext is overwritten.
#[cold]
pub(super) fn refuse(text: &mut Text<'_>, cipher: Span) -> OpError {
    text.destination()[cipher.offset as usize..][..cipher.len as usize].fill(0);
    OpError::AuthFailed
}

/// Writes the first bytes of a tag.
#[inline(always)]
pub(super) fn write<const N: usize>(destination: &mut [u8], at: u32, len: usize, tag: &[u8; N]) {
    let place = &mut destination[at as usize..at as usize + len];
    // Copies of a length that the compiler knows are a store or two, others are calls.
    match len {
        4 => place.copy_from_slice(&tag[..4]),
        8 => place.copy_from_slice(&tag[..8]),
        12 => place.copy_from_slice(&tag[..12]),
        16 => place.copy_from_slice(&tag[..16]),
        20 => place.copy_from_slice(&tag[..20]),
        32 => place.copy_from_slice(&tag[..32]),
        _ => place.copy_from_slice(&tag[..len]),
    }
}

/// Whether the source has this tag.
#[inline(always)]
pub(super) fn matches<const N: usize>(text: &Text<'_>, at: u32, len: usize, tag: &[u8; N]) -> bool {
    let given = &text.source()[at as usize..at as usize + len];
    match len {
        12 => equal(&given[..12], &tag[..12]),
        16 => equal(&given[..16], &tag[..16]),
        _ => equal(given, &tag[..len]),
    }
}

/// Compares tags in a time that depends on their length only.
#[inline(always)]
fn equal(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |or, (a, b)| or | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differences) == 0
}

/// The bytes of a chain's authenticated region that the cipher leaves alone, copied to a destination
/// that lies apart.
#[inline(always)]
fn carry(packet: &mut Packet<'_>) {
    if let Text::Apart { src, dst } = &mut packet.text {
        let range = |span: Span| (span.offset as usize, span.offset as usize + span.len as usize);
        let ((start, end), (inner, outer)) = (range(packet.parts.auth), range(packet.parts.cipher));
        let before = start..end.min(inner).max(start);
        let after = start.max(outer).min(end)..end;
        dst[before.clone()].copy_from_slice(&src[before]);
        dst[after.clone()].copy_from_slice(&src[after]);
    }
}

#[inline(always)]
pub(super) fn source<'a>(text: &'a Text<'_>, span: Span) -> &'a [u8] {
    &text.source()[span.offset as usize..][..span.len as usize]
}
