//! Packet captures: the files of libpcap, and pcapng.

use std::io::{self, Read};

/// Bytes that say whether a file is a capture.
pub(crate) const MAGIC: usize = 4;
/// The longest packet, four times libpcap's largest snapshot length.
const MOST_PACKET: usize = 1 << 20;
/// The longest block of pcapng.
const MOST_BLOCK: usize = 16 << 20;

const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Microseconds, and nanoseconds.
const CLASSIC: [u32; 2] = [0xa1b2_c3d4, 0xa1b2_3c4d];

/// Whether a file that begins so is a capture.
pub(crate) fn is_one(first: &[u8]) -> bool {
    let Some(&magic) = first.first_chunk() else { return false };
    let (little, big) = (u32::from_le_bytes(magic), u32::from_be_bytes(magic));
    little == SECTION || CLASSIC.contains(&little) || CLASSIC.contains(&big)
}

/// A capture that is read from its beginning.
pub(crate) struct Capture<R> {
    from: R,
    /// How far it was read.
    at: u64,
    big: bool,
    /// The link type of each interface.
    links: Vec<u32>,
    kind: Kind,
    data: Vec<u8>,
}

enum Kind {
    Classic,
    Blocks,
}

/// A packet.
#[derive(Debug, PartialEq)]
pub(crate) struct Packet<'a> {
    /// The link type, as libpcap numbers them.
    pub link: u32,
    /// What was captured of it.
    pub data: &'a [u8],
}

/// What of a capture cannot be read: the rest is lost.
fn bad(at: u64, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("byte {at} of the capture: {what}"))
}

impl<R: Read> Capture<R> {
    /// Reads the head.
    pub(crate) fn new(from: R) -> io::Result<Capture<R>> {
        let (links, kind, data) = (vec![], Kind::Blocks, vec![]);
        let mut capture = Capture { from, at: 0, big: false, links, kind, data };
        let magic = capture.exactly::<4>()?.ok_or_else(|| bad(0, "empty"))?;
        if u32::from_le_bytes(magic) == SECTION {
            capture.section()?;
            return Ok(capture);
        }
        capture.big = CLASSIC.contains(&u32::from_be_bytes(magic));
        capture.kind = Kind::Classic;
        let head = capture.must::<20>()?;
        // The upper bits say whether frames end with a check sequence.
        let link = capture.u32(&head[16..]) & 0xffff;
        capture.links.push(link);
        Ok(capture)
    }

    fn u32(&self, bytes: &[u8]) -> u32 {
        let bytes = *bytes.first_chunk().unwrap_or(&[0; 4]);
        if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn u16(&self, bytes: &[u8]) -> u16 {
        let bytes = *bytes.first_chunk().unwrap_or(&[0; 2]);
        if self.big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    /// The next bytes; `None` where the file ends before them.
    fn exactly<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        let mut bytes = [0; N];
        let mut len = 0;
        while len < N {
            match self.from.read(&mut bytes[len..]) {
                Ok(0) if len == 0 => return Ok(None),
                Ok(0) => return Err(bad(self.at, "cut off")),
                Ok(n) => len += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.at += N as u64;
        Ok(Some(bytes))
    }

    fn must<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        self.exactly()?.ok_or_else(|| bad(self.at, "cut off"))
    }

    /// Reads `len` bytes into `data`.
    fn fill(&mut self, len: usize) -> io::Result<()> {
        self.data.clear();
        self.from.by_ref().take(len as u64).read_to_end(&mut self.data)?;
        if self.data.len() < len {
            return Err(bad(self.at, "cut off"));
        }
        self.at += len as u64;
        Ok(())
    }

    /// The rest of a section header, behind its type.
    fn section(&mut self) -> io::Result<()> {
        let head = self.must::<8>()?;
        let order: [u8; 4] = [head[4], head[5], head[6], head[7]];
        self.big = match (u32::from_le_bytes(order), u32::from_be_bytes(order)) {
            (BYTE_ORDER, _) => false,
            (_, BYTE_ORDER) => true,
            _ => return Err(bad(self.at, "a section of unknown byte order")),
        };
        let len = self.u32(&head) as usize;
        if !(28..=MOST_BLOCK).contains(&len) || !len.is_multiple_of(4) {
            return Err(bad(self.at, "a section header of impossible length"));
        }
        self.links.clear();
        self.fill(len - 12)
    }

    /// The next packet; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Packet<'_>>> {
        match self.kind {
            Kind::Classic => self.record(),
            Kind::Blocks => self.block(),
        }
    }

    fn record(&mut self) -> io::Result<Option<Packet<'_>>> {
        let Some(head) = self.exactly::<16>()? else { return Ok(None) };
        let len = self.u32(&head[8..]) as usize;
        if len > MOST_PACKET {
            return Err(bad(self.at, "a packet of impossible length"));
        }
        self.fill(len)?;
        Ok(Some(Packet { link: self.links[0], data: &self.data }))
    }

    fn block(&mut self) -> io::Result<Option<Packet<'_>>> {
        loop {
            let Some(kind) = self.exactly::<4>()? else { return Ok(None) };
            if u32::from_le_bytes(kind) == SECTION {
                self.section()?;
                continue;
            }
            let len = self.must::<4>()?;
            let len = self.u32(&len) as usize;
            if !(12..=MOST_BLOCK).contains(&len) || !len.is_multiple_of(4) {
                return Err(bad(self.at, "a block of impossible length"));
            }
            self.fill(len - 8)?;
            let body = self.data.len() - 4;
            // Interface, where its captured length is, and where the packet begins.
            let (interface, lengths, from) = match self.u32(&kind) {
                1 => {
                    if body < 8 {
                        return Err(bad(self.at, "an interface cut off"));
                    }
                    let link = self.u16(&self.data);
                    self.links.push(u32::from(link));
                    continue;
                }
                2 if body >= 20 => (usize::from(self.u16(&self.data)), 12, 20),
                // No captured length: the original one, up to what there is.
                3 if body >= 4 => (0, 0, 4),
                6 if body >= 20 => (self.u32(&self.data) as usize, 12, 20),
                2 | 3 | 6 => return Err(bad(self.at, "a packet block cut off")),
                _ => continue,
            };
            let Some(&link) = self.links.get(interface) else {
                return Err(bad(self.at, "a packet of an unknown interface"));
            };
            let captured = self.u32(&self.data[lengths..]) as usize;
            let there = body - from;
            if captured > there && lengths != 0 {
                return Err(bad(self.at, "a packet longer than its block"));
            }
            return Ok(Some(Packet { link, data: &self.data[from..from + captured.min(there)] }));
        }
    }
}
