//! Sets as bytes. What is saved are the patterns, not the tables: a file is small, is the same for every CPU, and cannot
//! bring a table that is wrong. To load it is to compile it.

use std::fmt;

use super::{Expression, Extended, Flags, Mode, Patterns};

/// `LKSCAN`, then the version of the format.
const MAGIC: &[u8; 8] = b"LKSCAN\0\x01";

/// Why bytes are no saved set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SavedError {
    /// They do not begin as a saved set does.
    NotASet,
    /// Another version of Lookaside saved it, in a format that this one does not know.
    Version(u8),
    /// They are cut short, changed, or followed by something else.
    Damaged,
}

impl fmt::Display for SavedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SavedError::NotASet => f.write_str("not a saved set of patterns"),
            SavedError::Version(version) => {
                let known = MAGIC[7];
                write!(
                    f,
                    "a set of patterns in format {version}; this version reads format {known}"
                )
            }
            SavedError::Damaged => f.write_str("a saved set of patterns, but damaged"),
        }
    }
}

impl std::error::Error for SavedError {}

impl Patterns {
    /// The patterns as bytes, for [`from_bytes`](Patterns::from_bytes): a header, the patterns, a checksum.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.push(u8::from(self.mode == Mode::Stream));
        put(&mut out, self.expressions.len() as u64);
        for expression in self.expressions.iter() {
            let Extended { min_offset, max_offset, min_length, edit_distance, hamming_distance } =
                expression.extended;
            out.extend(expression.id.to_le_bytes());
            out.extend(expression.flags.bits().to_le_bytes());
            out.push(u8::from(expression.literal));
            let distances = [edit_distance, hamming_distance].map(|n| n.map(u64::from));
            for number in [min_offset, max_offset, min_length].into_iter().chain(distances) {
                out.push(u8::from(number.is_some()));
                put(&mut out, number.unwrap_or(0));
            }
            put(&mut out, expression.text.len() as u64);
            out.extend(&expression.text);
        }
        let checksum = checksum(&out);
        put(&mut out, checksum);
        out
    }

    /// The patterns of a saved set. Any bytes may be given.
    ///
    /// # Errors
    /// The bytes are not what [`to_bytes`](Patterns::to_bytes) has made.
    pub fn from_bytes(bytes: &[u8]) -> Result<Patterns, SavedError> {
        let (magic, _) = bytes.split_first_chunk::<8>().ok_or(SavedError::NotASet)?;
        if magic[..7] != MAGIC[..7] {
            return Err(SavedError::NotASet);
        }
        if magic[7] != MAGIC[7] {
            return Err(SavedError::Version(magic[7]));
        }
        patterns(bytes).ok_or(SavedError::Damaged)
    }
}

fn put(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

/// FNV-1a of 64 bits: finds accidents, not forgeries, which can do no more than name other patterns.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn patterns(bytes: &[u8]) -> Option<Patterns> {
    let (body, sum) = bytes.split_last_chunk::<8>()?;
    if u64::from_le_bytes(*sum) != checksum(body) {
        return None;
    }
    let mut reader = Reader(body.get(8..)?);
    let mode = if reader.flag()? { Mode::Stream } else { Mode::Block };
    let count = reader.number()?;
    let mut expressions = vec![];
    for _ in 0..count {
        let id = reader.short()?;
        let flags = Flags::from_bits(reader.short()?)?;
        let literal = reader.flag()?;
        let mut numbers = [None; 5];
        for number in &mut numbers {
            let present = reader.flag()?;
            let value = reader.number()?;
            *number = present.then_some(value);
        }
        let [min_offset, max_offset, min_length, edit, hamming] = numbers;
        let distance = |n: Option<u64>| n.map(u32::try_from).transpose().ok();
        let (edit_distance, hamming_distance) = (distance(edit)?, distance(hamming)?);
        let extended =
            Extended { min_offset, max_offset, min_length, edit_distance, hamming_distance };
        let len = usize::try_from(reader.number()?).ok()?;
        let text = reader.bytes(len)?.to_vec();
        expressions.push(Expression { id, text, flags, extended, literal });
    }
    reader.0.is_empty().then(|| Patterns { expressions: expressions.into(), mode })
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.bytes(1)? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    fn short(&mut self) -> Option<u32> {
        self.bytes(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn number(&mut self) -> Option<u64> {
        self.bytes(8)?.try_into().ok().map(u64::from_le_bytes)
    }
}
