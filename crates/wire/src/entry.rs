//! A request as a record.

use lookaside_core::{Args, Iv, Op, Packet, Span};

use crate::{Malformed, Record, WORDS, detail, numbers};

/// A piece of the arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Bytes from the arena's beginning.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
}

impl Piece {
    /// The range, if it lies within `arena` bytes.
    pub fn within(self, arena: usize) -> Option<core::ops::Range<usize>> {
        let start = usize::try_from(self.offset).ok()?;
        let end = start.checked_add(self.len as usize)?;
        (end <= arena).then_some(start..end)
    }
}

/// A request in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The client's number for it, which the answer has too.
    pub number: u64,
    /// The number of its session.
    pub session: u32,
    /// The operation.
    pub op: Op,
    /// Its arguments.
    pub args: Args,
    /// The source.
    pub src: Piece,
    /// The destination.
    pub dst: Piece,
    /// Of a symmetric operation, its packet.
    pub packet: Option<Packet>,
}

impl Entry {
    /// The record.
    ///
    /// # Errors
    /// [`Malformed::Unsendable`] for arguments that have no numbers.
    pub fn encode(&self) -> Result<Record, Malformed> {
        let mut record = [0; WORDS];
        let (kind, words) = detail::pack(&self.args.detail)?;
        let flush = numbers::of(&numbers::FLUSHES, &self.args.flush)?;
        record[0] = self.op.index() as u64
            | u64::from(flush) << 8
            | u64::from(kind) << 16
            | u64::from(self.packet.is_some()) << 24
            | u64::from(self.session) << 32;
        record[1] = self.number;
        record[2] = self.src.offset;
        record[3] = u64::from(self.src.len) | u64::from(self.dst.len) << 32;
        record[4] = self.dst.offset;
        record[5..7].copy_from_slice(&words);
        if let Some(packet) = &self.packet {
            let (kind, len) = match packet.iv {
                Iv::Here { bytes, len } => {
                    let (words, _) = bytes.as_chunks::<8>();
                    record[8] = u64::from_le_bytes(words[0]);
                    record[9] = u64::from_le_bytes(words[1]);
                    (0, len)
                }
                Iv::At(at) => {
                    record[8] = span(at);
                    (1, 0)
                }
            };
            record[10] = kind
                | u64::from(len) << 8
                | u64::from(packet.spare_bits) << 16
                | u64::from(packet.tag) << 32;
            record[11] = span(packet.aad);
            record[12] = span(packet.cipher);
            record[13] = span(packet.auth);
        }
        Ok(record)
    }

    /// The request of a record.
    ///
    /// # Errors
    /// For a record that [`Entry::encode`] does not make.
    pub fn decode(record: &Record) -> Result<Entry, Malformed> {
        let [op, flush, kind, has_packet, ..] = record[0].to_le_bytes();
        let mut args = Args::from(detail::unpack((kind, [record[5], record[6]]))?);
        args.flush = numbers::get(&numbers::FLUSHES, flush, "flush")?;
        let packet = match has_packet {
            0 => None,
            1 => Some(packet(record)?),
            _ => return Err(Malformed::Number("truth value")),
        };
        if record[7] != 0 || record[if packet.is_some() { 14 } else { 8 }..].iter().any(|&w| w != 0)
        {
            return Err(Malformed::Long);
        }
        Ok(Entry {
            number: record[1],
            session: (record[0] >> 32) as u32,
            op: numbers::op(op)?,
            args,
            src: Piece { offset: record[2], len: record[3] as u32 },
            dst: Piece { offset: record[4], len: (record[3] >> 32) as u32 },
            packet,
        })
    }
}

fn span(span: Span) -> u64 {
    u64::from(span.offset) | u64::from(span.len) << 32
}

fn get_span(word: u64) -> Span {
    Span::new(word as u32, (word >> 32) as u32)
}

fn packet(record: &Record) -> Result<Packet, Malformed> {
    let [kind, len, spare_bits, zero, ..] = record[10].to_le_bytes();
    let iv = match (kind, len) {
        (0, 0..=16) => {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&record[8].to_le_bytes());
            bytes[8..].copy_from_slice(&record[9].to_le_bytes());
            Iv::Here { bytes, len }
        }
        (1, 0) if record[9] == 0 => Iv::At(get_span(record[8])),
        _ => return Err(Malformed::Number("form of an IV")),
    };
    if zero != 0 || spare_bits > 7 {
        return Err(Malformed::Number("bits to spare"));
    }
    Ok(Packet {
        iv,
        aad: get_span(record[11]),
        cipher: get_span(record[12]),
        auth: get_span(record[13]),
        tag: (record[10] >> 32) as u32,
        spare_bits,
        ..Packet::default()
    })
}
