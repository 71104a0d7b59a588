//! The steps of a group of packets that one kernel serves: encrypt, authenticate, compare, in the
//! order that the direction asks for.

use super::{CipherLane, Group, MacLane, Tags};
use crate::library::ipsec_mb::{Lanes, Scratch};
use crate::library::ipsec_mb_steps::CipherStep;
use crate::{Direction, Error, Order, Packet, Span, Text};

/// AES-GCM, packet by packet.
#[inline]
pub(crate) fn gcm(scratch: &mut Scratch, packets: &mut [Packet<'_>], group: Group) {
    for place in group {
        gcm_one(scratch, &mut packets[place]);
    }
}

#[inline]
pub(crate) fn gcm_one(scratch: &mut Scratch, packet: &mut Packet<'_>) {
    let plan = packet.session.plan();
    let Some(gcm) = &plan.gcm else { return };
    let tag = gcm.run(scratch, packet.direction, packet.iv, &packet.parts, &mut packet.text);
    finish(packet, &tag, plan.tag_len);
}

/// AES-GMAC, packet by packet.
pub(crate) fn gmac(scratch: &mut Scratch, packets: &mut [Packet<'_>], group: Group) {
    for place in group {
        let packet = &mut packets[place];
        let plan = packet.session.plan();
        let Some(gcm) = &plan.gcm else { continue };
        let tag = gcm.mac(scratch, packet.iv, source(&packet.text, packet.parts.auth));
        finish_mac(packet, &tag, plan.tag_len);
    }
}

/// AEADs of intel-ipsec-mb. All packets go one way.
pub(crate) fn aead(
    lanes: &mut Lanes,
    step: CipherStep,
    direction: Direction,
    packets: &mut [Packet<'_>],
    group: Group,
    tags: &mut Tags,
) {
    lanes.aead(step, direction, packets, group, tags);
    for place in group {
        let packet = &mut packets[place];
        let tag_len = packet.session.plan().tag_len;
        finish(packet, &tags[place], tag_len);
    }
}

/// A cipher, a MAC or a chain of both. All packets go one way.
#[inline]
pub(crate) fn steps(
    lanes: &mut Lanes,
    (cipher, mac, order): (Option<CipherLane>, Option<MacLane>, Order),
    direction: Direction,
    packets: &mut [Packet<'_>],
    mut group: Group,
    tags: &mut Tags,
) {
    let Some(mac) = mac else {
        if let Some(cipher) = cipher {
            lanes.cipher(cipher, direction, packets, group);
        }
        for place in group {
            packets[place].result = Ok(packets[place].parts.cipher.len as usize);
        }
        return;
    };
    let Some(cipher) = cipher else {
        lanes.mac(mac, false, packets, group, tags);
        for place in group {
            let packet = &mut packets[place];
            let tag_len = packet.session.plan().tag_len;
            finish_mac(packet, &tags[place], tag_len);
        }
        return;
    };
    for place in group {
        carry(&mut packets[place]);
    }
    if (order == Order::AuthThenCipher) == (direction == Direction::Seal) {
        lanes.mac(mac, false, packets, group, tags);
        if direction == Direction::Open {
            for place in group {
                let packet = &mut packets[place];
                if !matches(packet, &tags[place]) {
                    packet.result = Err(Error::AuthFailed);
                    group.remove(place);
                }
            }
        }
        lanes.cipher(cipher, direction, packets, group);
        for place in group {
            let packet = &mut packets[place];
            if direction == Direction::Seal {
                write(packet, &tags[place]);
            }
            packet.result = Ok(packet.parts.cipher.len as usize);
        }
    } else {
        lanes.cipher(cipher, direction, packets, group);
        lanes.mac(mac, true, packets, group, tags);
        for place in group {
            let packet = &mut packets[place];
            let tag_len = packet.session.plan().tag_len;
            finish(packet, &tags[place], tag_len);
        }
    }
}

/// The end of what has a cipher: the tag goes to its place, or is compared; what was decrypted to a
/// tag that does not match is overwritten.
#[inline(always)]
fn finish(packet: &mut Packet<'_>, tag: &[u8], tag_len: usize) {
    packet.result = Ok(packet.parts.cipher.len as usize);
    let tag = &tag[..tag_len];
    let at = packet.parts.tag as usize..packet.parts.tag as usize + tag_len;
    if packet.direction == Direction::Seal {
        destination(&mut packet.text)[at].copy_from_slice(tag);
    } else if !equal(&whole_source(&packet.text)[at], tag) {
        let range = packet.parts.cipher.offset as usize
            ..packet.parts.cipher.offset as usize + packet.parts.cipher.len as usize;
        destination(&mut packet.text)[range].fill(0);
        packet.result = Err(Error::AuthFailed);
    }
}

/// The end of a hash or MAC alone.
#[inline(always)]
fn finish_mac(packet: &mut Packet<'_>, tag: &[u8], tag_len: usize) {
    packet.result = Ok(tag_len);
    if packet.direction == Direction::Seal {
        write(packet, tag);
    } else if !matches(packet, tag) {
        packet.result = Err(Error::AuthFailed);
    }
}

#[inline(always)]
fn write(packet: &mut Packet<'_>, tag: &[u8]) {
    let (at, len) = (packet.parts.tag as usize, packet.session.plan().tag_len);
    destination(&mut packet.text)[at..at + len].copy_from_slice(&tag[..len]);
}

#[inline(always)]
fn matches(packet: &Packet<'_>, tag: &[u8]) -> bool {
    let (at, len) = (packet.parts.tag as usize, packet.session.plan().tag_len);
    equal(&whole_source(&packet.text)[at..at + len], &tag[..len])
}

/// Compares tags in a time that depends on their length only.
#[inline(always)]
fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len()
        && std::hint::black_box(a.iter().zip(b).fold(0, |or, (a, b)| or | (a ^ b))) == 0
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
fn destination<'a>(text: &'a mut Text<'_>) -> &'a mut [u8] {
    match text {
        Text::InPlace(bytes) => bytes,
        Text::Apart { dst, .. } => dst,
    }
}

#[inline(always)]
fn whole_source<'a>(text: &'a Text<'_>) -> &'a [u8] {
    match text {
        Text::InPlace(bytes) => bytes,
        Text::Apart { src, .. } => src,
    }
}

#[inline(always)]
fn source<'a>(text: &'a Text<'_>, span: Span) -> &'a [u8] {
    &whole_source(text)[span.offset as usize..][..span.len as usize]
}
