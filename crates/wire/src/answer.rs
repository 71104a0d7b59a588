//! An answer as a record.

use lookaside_core::{Done, Lost, OpError, xml::Rule};

use crate::{Malformed, Record, WORDS, intern, numbers};

/// Where the words of a text begin, and how many bytes of it fit.
const TEXT: usize = 8;
const TEXT_LEN: usize = (WORDS - TEXT) * 8;

/// The answer to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The request's number.
    pub number: u64,
    /// What happened.
    pub result: Result<Done, OpError>,
    /// Of a request with a packet: the packet's result, where it is a length.
    pub packet: Option<u32>,
}

impl Answer {
    /// The record.
    ///
    /// # Errors
    /// [`Malformed::Unsendable`] for an error that has no number.
    pub fn encode(&self) -> Result<Record, Malformed> {
        let mut record = [0; WORDS];
        record[0] = self.number;
        let (mut more, mut text) = (0, "");
        let kind = match self.result {
            Ok(done) => {
                more = numbers::of(&numbers::STATUSES, &done.status)?;
                record[2] = done.consumed as u64;
                record[3] = done.produced as u64;
                record[4] = done.checksum;
                0
            }
            Err(OpError::DstTooSmall) => 1,
            Err(OpError::BadData { offset, reason }) => {
                more = numbers::of(&numbers::REASONS, &reason)?;
                record[6] = offset;
                2
            }
            Err(OpError::BadDocument { offset, rule }) => {
                more = numbers::of(Rule::ALL, &rule)?;
                record[6] = offset;
                3
            }
            Err(OpError::AuthFailed) => 4,
            Err(OpError::BadInput(what)) => {
                text = what;
                5
            }
            Err(OpError::Fault) => 6,
            Err(OpError::Unsupported) => 7,
            Err(OpError::StreamEnded) => 8,
            Err(OpError::Library(what)) => {
                text = what;
                9
            }
            Err(OpError::NoMemory) => 10,
            Err(OpError::DeviceLost(Lost::Untouched)) => 11,
            Err(OpError::DeviceLost(Lost::Touched)) => 12,
            Err(OpError::Cancelled) => 13,
            Err(OpError::Expired) => 14,
            Err(_) => return Err(Malformed::Unsendable("an error without number")),
        };
        let text = &text[..text.floor_char_boundary_at(TEXT_LEN)];
        record[1] = kind
            | u64::from(more) << 8
            | u64::from(self.packet.is_some()) << 16
            | (text.len() as u64) << 24;
        record[5] = self.packet.unwrap_or(0).into();
        for (word, bytes) in record[TEXT..].iter_mut().zip(text.as_bytes().chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(padded);
        }
        Ok(record)
    }

    /// The answer of a record.
    ///
    /// # Errors
    /// For a record that [`Answer::encode`] does not make.
    pub fn decode(record: &Record) -> Result<Answer, Malformed> {
        let [kind, more, has_packet, text_len, ..] = record[1].to_le_bytes();
        let mut bytes = [0; TEXT_LEN];
        for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(&record[TEXT..]) {
            *bytes = word.to_le_bytes();
        }
        let text = || {
            let text = bytes.get(..text_len.into()).ok_or(Malformed::Short)?;
            let text = core::str::from_utf8(text).map_err(|_| Malformed::Number("character"))?;
            Ok(intern(text))
        };
        let size = |n: u64| usize::try_from(n).map_err(|_| Malformed::Number("length"));
        let result = match kind {
            0 => Ok(Done {
                consumed: size(record[2])?,
                produced: size(record[3])?,
                checksum: record[4],
                status: numbers::get(&numbers::STATUSES, more, "status")?,
            }),
            1 => Err(OpError::DstTooSmall),
            2 => {
                let reason = numbers::get(&numbers::REASONS, more, "reason")?;
                Err(OpError::BadData { offset: record[6], reason })
            }
            3 => {
                let rule = numbers::get(Rule::ALL, more, "rule")?;
                Err(OpError::BadDocument { offset: record[6], rule })
            }
            4 => Err(OpError::AuthFailed),
            5 => Err(OpError::BadInput(text()?)),
            6 => Err(OpError::Fault),
            7 => Err(OpError::Unsupported),
            8 => Err(OpError::StreamEnded),
            9 => Err(OpError::Library(text()?)),
            10 => Err(OpError::NoMemory),
            11 => Err(OpError::DeviceLost(Lost::Untouched)),
            12 => Err(OpError::DeviceLost(Lost::Touched)),
            13 => Err(OpError::Cancelled),
            14 => Err(OpError::Expired),
            _ => return Err(Malformed::Number("error")),
        };
        let packet = match has_packet {
            0 => None,
            1 => Some(u32::try_from(record[5]).map_err(|_| Malformed::Number("length"))?),
            _ => return Err(Malformed::Number("truth value")),
        };
        Ok(Answer { number: record[0], result, packet })
    }
}

/// [`str::floor_char_boundary`], which is younger than the oldest compiler that this is for.
trait FloorCharBoundary {
    fn floor_char_boundary_at(&self, most: usize) -> usize;
}

impl FloorCharBoundary for str {
    fn floor_char_boundary_at(&self, most: usize) -> usize {
        if most >= self.len() {
            return self.len();
        }
        (0..=most).rev().find(|&n| self.is_char_boundary(n)).unwrap_or(0)
    }
}
