//! Pattern matching: expressions, the sets that they form, and the matches.

mod counters;
mod line;
mod save;

use core::fmt;
use std::sync::Arc;

pub use counters::{Counters, PatternCounters};
pub use line::{Line, LineError, parse_line};
pub use save::SavedError;

/// The flags of an expression.
///
/// As bits they have Hyperscan's values (`HS_FLAG_*`), as letters those of its tools' `id:/regex/flags` files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// `i`, 1: letters match both cases.
    pub caseless: bool,
    /// `s`, 2: `.` matches a newline as well.
    pub dot_all: bool,
    /// `m`, 4: `^` and `$` match at newlines as well.
    pub multi_line: bool,
    /// `H`, 8: only the first match of a scan or stream is reported.
    pub single_match: bool,
    /// `V`, 16: the expression may match the empty string everywhere.
    pub allow_empty: bool,
    /// `8`, 32: the expression and the data are UTF-8, characters are code points.
    pub utf8: bool,
    /// `W`, 64: classes such as `\w` and `[:alpha:]` follow the properties of Unicode.
    pub ucp: bool,
    /// `P`, 128: constructs that cannot be matched are replaced by ones that match more.
    pub prefilter: bool,
    /// `L`, 256: each end is reported with the leftmost start.
    pub som_leftmost: bool,
    /// `C`, 512: the expression combines other ones: `1 & (2 | !3)`.
    pub combination: bool,
    /// `Q`, 1024: matches are not reported; for the operands of combinations.
    pub quiet: bool,
}

impl Flags {
    fn fields(&mut self) -> [(&mut bool, u8); 11] {
        [
            (&mut self.caseless, b'i'),
            (&mut self.dot_all, b's'),
            (&mut self.multi_line, b'm'),
            (&mut self.single_match, b'H'),
            (&mut self.allow_empty, b'V'),
            (&mut self.utf8, b'8'),
            (&mut self.ucp, b'W'),
            (&mut self.prefilter, b'P'),
            (&mut self.som_leftmost, b'L'),
            (&mut self.combination, b'C'),
            (&mut self.quiet, b'Q'),
        ]
    }

    /// The flags of Hyperscan's bits; `None` if one is unknown.
    pub fn from_bits(bits: u32) -> Option<Flags> {
        let mut flags = Flags::default();
        let fields = flags.fields();
        if bits >> fields.len() != 0 {
            return None;
        }
        for (bit, (field, _)) in fields.into_iter().enumerate() {
            *field = bits >> bit & 1 != 0;
        }
        Some(flags)
    }

    /// The flags as Hyperscan's bits.
    pub fn bits(mut self) -> u32 {
        let fields = self.fields().into_iter().enumerate();
        fields.fold(0, |bits, (bit, (field, _))| bits | u32::from(*field) << bit)
    }

    /// The flags of the letters of an `id:/regex/flags` line; the unknown letter otherwise.
    pub fn from_letters(letters: &[u8]) -> Result<Flags, u8> {
        let mut flags = Flags::default();
        for &letter in letters {
            let mut fields = flags.fields().into_iter();
            let (field, _) = fields.find(|(_, own)| *own == letter).ok_or(letter)?;
            *field = true;
        }
        Ok(flags)
    }

    /// The flags as letters, in the order of their bits.
    pub fn letters(mut self) -> String {
        let fields = self.fields().into_iter();
        fields.filter(|(field, _)| **field).map(|(_, letter)| char::from(letter)).collect()
    }
}

/// Conditions on the matches of an expression beside what it matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extended {
    /// The least offset at which a match may end.
    pub min_offset: Option<u64>,
    /// The largest offset at which a match may end.
    pub max_offset: Option<u64>,
    /// The least number of bytes from the start of a match to its end.
    pub min_length: Option<u64>,
    /// Matches within this Levenshtein distance: refused, as not supported.
    pub edit_distance: Option<u32>,
    /// Matches with at most this many bytes replaced: refused, as not supported.
    pub hamming_distance: Option<u32>,
}

/// One pattern of a set, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Expression {
    /// What its matches are reported with. Patterns may share an id.
    pub id: u32,
    /// The regular expression, in the syntax of Hyperscan; or, of a literal, the bytes to find.
    pub text: Vec<u8>,
    /// Its flags.
    pub flags: Flags,
    /// Further conditions.
    pub extended: Extended,
    /// No character of `text` has a special meaning.
    pub literal: bool,
}

/// A pattern that is refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BadPattern {
    /// Its place in the set, from 0.
    pub index: usize,
    /// Its id.
    pub id: u32,
    /// Where in its text, in bytes; `None` where the pattern as a whole is refused.
    pub offset: Option<usize>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pattern {}", self.id)?;
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset}")?;
        }
        write!(f, ": {}", self.what)
    }
}

/// What a set is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Texts that lie in memory whole.
    #[default]
    Block,
    /// Texts that arrive in pieces; also whole ones. The state of a stream has a fixed size.
    Stream,
}

/// A set of patterns: what is searched for at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Patterns {
    /// The patterns.
    pub expressions: Arc<[Expression]>,
    /// What the set is for.
    pub mode: Mode,
}

/// A match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Match {
    /// Offset of the byte after the last one of the match, in its text or stream.
    pub end: u64,
    /// The pattern's id.
    pub id: u32,
    /// Offset of the first byte of the longest match with this end, where the pattern asks for it
    /// ([`Flags::som_leftmost`]); else 0.
    pub start: u64,
}

impl Match {
    /// Bytes of a match as a record in a destination: the end and the start as 64-bit numbers, the id as a 32-bit
    /// number, four bytes that are 0; all little-endian.
    pub const RECORD: usize = 24;

    /// The match as a record.
    pub fn to_record(self) -> [u8; Match::RECORD] {
        let mut record = [0; Match::RECORD];
        record[..8].copy_from_slice(&self.end.to_le_bytes());
        record[8..16].copy_from_slice(&self.start.to_le_bytes());
        record[16..20].copy_from_slice(&self.id.to_le_bytes());
        record
    }

    /// The match of a record.
    pub fn from_record(record: &[u8; Match::RECORD]) -> Match {
        let number = |at: usize| {
            let bytes: &[u8; 8] = record[at..].first_chunk().expect("a record is longer");
            u64::from_le_bytes(*bytes)
        };
        Match { end: number(0), start: number(8), id: number(16) as u32 }
    }

    /// The matches of what a request has written: [`Done::produced`](crate::Done::produced) bytes.
    pub fn of_records(records: &[u8]) -> impl Iterator<Item = Match> {
        records.as_chunks().0.iter().map(Match::from_record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_its_match() {
        let one = Match { end: 1 << 40, id: u32::MAX, start: 7 };
        let two = Match { end: 5, ..Match::default() };
        let records = [one.to_record(), two.to_record()].concat();
        assert_eq!(Match::of_records(&records).collect::<Vec<_>>(), [one, two]);
    }
}
