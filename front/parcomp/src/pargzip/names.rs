//! Names of compressed files, and of what is in them.

use std::path::{Path, PathBuf};
use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
};

/// The suffixes that gzip knows beside the one of `-S`.
const KNOWN: [&[u8]; 7] = [b".gz", b".z", b".taz", b".tgz", b"-gz", b"-z", b"_z"];

/// The suffix of a compressed file that a name has, as it is written there. Letters count in any case.
pub(crate) fn suffix_of<'n>(name: &'n [u8], own: &[u8]) -> Option<&'n [u8]> {
    let ends = |suffix: &[u8]| {
        let at = name.len().checked_sub(suffix.len()).filter(|&at| at > 0)?;
        let there = &name[at..];
        (there.eq_ignore_ascii_case(suffix) && name[at - 1] != b'/').then_some(there)
    };
    ends(own).or_else(|| KNOWN.iter().find_map(|suffix| ends(suffix)))
}

/// FILE for FILE.gz, FILE.tar for FILE.tgz.
pub(crate) fn without_suffix(path: &Path, own: &[u8]) -> Option<PathBuf> {
    let name = path.as_os_str().as_bytes();
    let suffix = suffix_of(name, own)?;
    let mut short = name[..name.len() - suffix.len()].to_vec();
    let is_tar = [&b".tgz"[..], b".taz"].iter().any(|tar| suffix.eq_ignore_ascii_case(tar));
    if is_tar && !suffix.eq_ignore_ascii_case(own) {
        short.extend_from_slice(b".tar");
    }
    Some(OsString::from_vec(short).into())
}

/// FILE.gz for FILE.
pub(crate) fn with_suffix(path: &Path, suffix: &[u8]) -> PathBuf {
    let mut name = path.as_os_str().as_bytes().to_vec();
    name.extend_from_slice(suffix);
    OsString::from_vec(name).into()
}

/// Names that a file may have which was asked for by a name without suffix.
pub(crate) fn candidates(path: &Path, own: &[u8]) -> Vec<PathBuf> {
    let mut all: Vec<&[u8]> = vec![own];
    all.extend([&b".gz"[..], b".z", b"-z"].iter().filter(|s| **s != own));
    all.iter().map(|suffix| with_suffix(path, suffix)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes() {
        let short = |name: &str| without_suffix(Path::new(name), b".gz");
        for (long, name) in [
            ("a.gz", "a"),
            ("d/a.GZ", "d/a"),
            ("a.tgz", "a.tar"),
            ("a.taz", "a.tar"),
            ("a-gz", "a"),
            ("a.b_z", "a.b"),
        ] {
            assert_eq!(short(long), Some(name.into()), "{long}");
        }
        for other in ["a", "gz", ".gz", "d/.gz", "a.gzip", "a.gz/"] {
            assert_eq!(short(other), None, "{other}");
        }
        assert_eq!(without_suffix(Path::new("a.tgz"), b"gz"), Some("a.t".into()));
    }
}
