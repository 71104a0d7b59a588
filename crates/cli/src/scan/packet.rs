//! What a packet carries: Ethernet with VLANs, raw IP, Linux's cooked frames; IPv4, IPv6; TCP, UDP.

use std::{fmt, net::IpAddr};

/// One direction of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Direction {
    /// Whether it is TCP, else UDP.
    pub tcp: bool,
    /// Who sends.
    pub source: (IpAddr, u16),
    /// Who receives.
    pub destination: (IpAddr, u16),
}

impl Direction {
    /// The other direction.
    pub(crate) fn reverse(self) -> Direction {
        Direction { source: self.destination, destination: self.source, ..self }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Direction { tcp, source, destination } = self;
        let protocol = if *tcp { "tcp" } else { "udp" };
        let ((from, from_port), (to, to_port)) = (source, destination);
        write!(f, "{protocol}/{from}.{from_port}>{to}.{to_port}")
    }
}

/// A segment of TCP, or a datagram of UDP, for which the numbers are 0.
#[derive(Debug, PartialEq)]
pub(crate) struct Segment<'a> {
    /// Of which flow, in which direction.
    pub direction: Direction,
    /// TCP's sequence number.
    pub sequence: u32,
    /// TCP: a connection begins.
    pub syn: bool,
    /// TCP: this side sends nothing after.
    pub fin: bool,
    /// TCP: the connection is broken off.
    pub reset: bool,
    /// The payload.
    pub data: &'a [u8],
}

/// Why a packet is not scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Skipped {
    /// Its link type is not read.
    Link(u32),
    /// It is neither IPv4 nor IPv6.
    NotIp,
    /// It is a fragment: these are not put together.
    Fragment,
    /// It is neither TCP nor UDP.
    Transport,
    /// A head in it is cut off, or says lengths that cannot be.
    Malformed,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Skipped::Link(link) => write!(f, "of link type {link}, which is not read"),
            Skipped::NotIp => f.write_str("neither IPv4 nor IPv6"),
            Skipped::Fragment => f.write_str("fragments of IP, which are not put together"),
            Skipped::Transport => f.write_str("neither TCP nor UDP"),
            Skipped::Malformed => f.write_str("malformed"),
        }
    }
}

const ETHERNET: u32 = 1;
/// BSD's loopback: four bytes before IP.
const NULL: u32 = 0;
const COOKED: u32 = 113;
const COOKED_2: u32 = 276;
/// Raw IP, with two numbers of old, IPv4 and IPv6.
const RAW: [u32; 5] = [101, 12, 14, 228, 229];

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Skipped> {
    let two = bytes.get(at..).and_then(|rest| rest.first_chunk());
    two.map(|two| u16::from_be_bytes(*two)).ok_or(Skipped::Malformed)
}

fn after(bytes: &[u8], len: usize) -> Result<&[u8], Skipped> {
    bytes.get(len..).ok_or(Skipped::Malformed)
}

/// What a frame of this link type carries.
pub(crate) fn parse(link: u32, frame: &[u8]) -> Result<Segment<'_>, Skipped> {
    let (mut ether_type, mut rest) = match link {
        ETHERNET => (u16_at(frame, 12)?, after(frame, 14)?),
        COOKED => (u16_at(frame, 14)?, after(frame, 16)?),
        COOKED_2 => (u16_at(frame, 0)?, after(frame, 20)?),
        NULL => (0, after(frame, 4)?),
        _ if RAW.contains(&link) => (0, frame),
        _ => return Err(Skipped::Link(link)),
    };
    // VLANs, also within VLANs.
    while matches!(ether_type, 0x8100 | 0x88a8 | 0x9100) {
        (ether_type, rest) = (u16_at(rest, 2)?, after(rest, 4)?);
    }
    let version = rest.first().ok_or(Skipped::Malformed)? >> 4;
    match (ether_type, version) {
        (0x0800 | 0, 4) => ipv4(rest),
        (0x86dd | 0, 6) => ipv6(rest),
        (0x0800 | 0x86dd, _) => Err(Skipped::Malformed),
        _ => Err(Skipped::NotIp),
    }
}

fn ipv4(packet: &[u8]) -> Result<Segment<'_>, Skipped> {
    let head = packet.first_chunk::<20>().ok_or(Skipped::Malformed)?;
    let len = usize::from(head[0] & 15) * 4;
    // 0: a segment that the card was to cut.
    let total = match usize::from(u16_at(head, 2)?) {
        0 => packet.len(),
        // Frames of the least length are padded.
        total => total.min(packet.len()),
    };
    if len < 20 || total < len {
        return Err(Skipped::Malformed);
    }
    // More fragments, or not the first.
    if u16_at(head, 6)? & 0x3fff != 0 {
        return Err(Skipped::Fragment);
    }
    let address = |at: usize| IpAddr::from([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    transport(head[9], [address(12), address(16)], &packet[len..total])
}

fn ipv6(packet: &[u8]) -> Result<Segment<'_>, Skipped> {
    let head = packet.first_chunk::<40>().ok_or(Skipped::Malformed)?;
    let there = &packet[40..];
    let mut rest = match usize::from(u16_at(head, 4)?) {
        0 => there,
        len => &there[..len.min(there.len())],
    };
    let mut next = head[6];
    loop {
        let len = match next {
            // Options, routing.
            0 | 43 | 60 => 8 + 8 * usize::from(*rest.get(1).ok_or(Skipped::Malformed)?),
            // Authentication.
            51 => 8 + 4 * usize::from(*rest.get(1).ok_or(Skipped::Malformed)?),
            44 => match u16_at(rest, 2)? & 0xfff9 {
                0 => 8,
                _ => return Err(Skipped::Fragment),
            },
            _ => break,
        };
        (next, rest) = (*rest.first().ok_or(Skipped::Malformed)?, after(rest, len)?);
    }
    let address = |at: usize| {
        let bytes: [u8; 16] = *head[at..].first_chunk().unwrap_or(&[0; 16]);
        IpAddr::from(bytes)
    };
    transport(next, [address(8), address(24)], rest)
}

fn transport(protocol: u8, [from, to]: [IpAddr; 2], bytes: &[u8]) -> Result<Segment<'_>, Skipped> {
    if protocol != 6 && protocol != 17 {
        return Err(Skipped::Transport);
    }
    let (source, destination) = ((from, u16_at(bytes, 0)?), (to, u16_at(bytes, 2)?));
    let direction = Direction { tcp: protocol == 6, source, destination };
    let mut segment =
        Segment { direction, sequence: 0, syn: false, fin: false, reset: false, data: &[] };
    if protocol == 17 {
        let len = usize::from(u16_at(bytes, 4)?);
        let data = after(bytes, 8)?;
        segment.data = match len {
            // A jumbogram, or a datagram that the card was to cut.
            0 => data,
            len => &data[..len.checked_sub(8).ok_or(Skipped::Malformed)?.min(data.len())],
        };
        return Ok(segment);
    }
    let head = bytes.first_chunk::<20>().ok_or(Skipped::Malformed)?;
    let len = usize::from(head[12] >> 4) * 4;
    if len < 20 {
        return Err(Skipped::Malformed);
    }
    segment.sequence = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
    [segment.fin, segment.syn, segment.reset] = [1, 2, 4].map(|bit| head[13] & bit != 0);
    segment.data = after(bytes, len)?;
    Ok(segment)
}
