//! Sets as bytes. What is saved are the patterns, not the tables: a file is small, is the same for every CPU, and cannot
//! bring a table that is wrong. To load it is to compile it.

use std::fmt;

use lookaside_simd::Cpu;
use lookaside_spec::scan::{BadPattern, Expression, Extended, Flags, Mode, Patterns};

use crate::Set;

/// `LKSCAN`, then the version of the format.
const MAGIC: &[u8; 8] = b"LKSCAN\0\x01";

/// Why bytes are no set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// They do not begin as a saved set does.
    NotASet,
    /// Another version of Lookaside saved it, in a format that this one does not know.
    Version(u8),
    /// They are cut short, changed, or followed by something else.
    Damaged,
    /// This version refuses patterns that the one which saved the set has accepted.
    Patterns(Vec<BadPattern>),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::NotASet => f.write_str("not a saved set of patterns"),
            LoadError::Version(version) => {
                write!(
                    f,
                    "a set of patterns in format {version}; this version reads format {}",
                    MAGIC[7]
                )
            }
            LoadError::Damaged => f.write_str("a saved set of patterns, but damaged"),
            LoadError::Patterns(bad) => match &bad[..] {
                [one] => one.fmt(f),
                _ => write!(f, "{} patterns are refused", bad.len()),
            },
        }
    }
}

impl std::error::Error for LoadError {}

impl Set {
    /// The set as bytes, for [`load`](Set::load): a header, the patterns, a checksum.
    pub fn save(&self) -> Vec<u8> {
        let patterns = self.patterns();
        let mut out = MAGIC.to_vec();
        out.push(u8::from(patterns.mode == Mode::Stream));
        put(&mut out, patterns.expressions.len() as u64);
        for expression in patterns.expressions.iter() {
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

    /// Compiles a saved set for a CPU. Any bytes may be given.
    ///
    /// # Errors
    /// The bytes are not what [`save`](Set::save) has made.
    pub fn load(bytes: &[u8], cpu: &Cpu) -> Result<Set, LoadError> {
        let (magic, _) = bytes.split_first_chunk::<8>().ok_or(LoadError::NotASet)?;
        if magic[..7] != MAGIC[..7] {
            return Err(LoadError::NotASet);
        }
        if magic[7] != MAGIC[7] {
            return Err(LoadError::Version(magic[7]));
        }
        let patterns = patterns(bytes).ok_or(LoadError::Damaged)?;
        Set::compile(&patterns, cpu).map_err(LoadError::Patterns)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn saved() -> Vec<u8> {
        let pattern =
            |id, text: &str| Expression { id, text: text.into(), ..Expression::default() };
        let extended = Extended { min_offset: Some(5), ..Extended::default() };
        let second = Expression { extended, literal: true, ..pattern(9, "a.b") };
        let expressions = [pattern(7, "ab+c"), second].into();
        let patterns = Patterns { expressions, mode: Mode::Stream };
        Set::compile(&patterns, Cpu::host()).unwrap().save()
    }

    #[test]
    fn a_loaded_set_is_the_saved_one() {
        let bytes = saved();
        let set = Set::load(&bytes, Cpu::host()).unwrap();
        assert_eq!(set.save(), bytes);
        assert_eq!((set.patterns().expressions.len(), set.mode()), (2, Mode::Stream));
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let bytes = saved();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(Set::load(&changed, Cpu::host()).is_err(), "byte {at} changed");
            assert!(Set::load(&bytes[..at], Cpu::host()).is_err(), "cut after {at}");
        }
        assert_eq!(Set::load(b"GIF89a..", Cpu::host()).err(), Some(LoadError::NotASet));
        let mut newer = bytes.clone();
        newer[7] = 2;
        assert_eq!(Set::load(&newer, Cpu::host()).err(), Some(LoadError::Version(2)));
        let mut longer = bytes;
        longer.push(0);
        assert_eq!(Set::load(&longer, Cpu::host()).err(), Some(LoadError::Damaged));
    }
}
