//! Sets as bytes: their patterns ([`Patterns::to_bytes`]). To load a set is to compile it.

use std::fmt;

use lookaside_simd::Cpu;
use lookaside_spec::scan::{BadPattern, Patterns, SavedError};

use crate::Set;

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

impl From<SavedError> for LoadError {
    fn from(error: SavedError) -> LoadError {
        match error {
            SavedError::NotASet => LoadError::NotASet,
            SavedError::Version(version) => LoadError::Version(version),
            _ => LoadError::Damaged,
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::NotASet => SavedError::NotASet.fmt(f),
            LoadError::Version(version) => SavedError::Version(*version).fmt(f),
            LoadError::Damaged => SavedError::Damaged.fmt(f),
            LoadError::Patterns(bad) => match &bad[..] {
                [one] => one.fmt(f),
                _ => write!(f, "{} patterns are refused", bad.len()),
            },
        }
    }
}

impl std::error::Error for LoadError {}

impl Set {
    /// The set as bytes, for [`load`](Set::load).
    pub fn save(&self) -> Vec<u8> {
        self.patterns().to_bytes()
    }

    /// Compiles a saved set for a CPU. Any bytes may be given.
    ///
    /// # Errors
    /// The bytes are not what [`save`](Set::save) has made.
    pub fn load(bytes: &[u8], cpu: &Cpu) -> Result<Set, LoadError> {
        let patterns = Patterns::from_bytes(bytes)?;
        Set::compile(&patterns, cpu).map_err(LoadError::Patterns)
    }
}

#[cfg(test)]
mod tests {
    use lookaside_spec::scan::{Expression, Extended, Mode};

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
