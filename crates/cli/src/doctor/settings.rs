//! Names of settings and variables, and what is said of one that is none.

use std::{env, ffi::OsString, path::Path};

use super::target::{Reader, text_of};
use crate::plain;

/// What a variable may be.
#[derive(Clone, Copy, Debug)]
enum Value {
    Any,
    Number(u64, u64),
    Words(&'static [&'static str]),
}

use Value::{Any, Number, Words};

/// What the names of our variables begin with.
const BEGIN: &str = concat!("LOOKASIDE", "_");

/// The variables of docs/environment.md.
const VARIABLES: [(&str, Value); 22] = [
    ("LOOKASIDE_CPU", Words(&["generic", "avx2", "avx512"])),
    ("LOOKASIDE_ENGINES", Number(0, 1024)),
    ("LOOKASIDE_THRESHOLD", Number(131_072, u64::MAX)),
    ("LOOKASIDE_POLICY", Words(&["wait", "fallback", "fail"])),
    ("LOOKASIDE_CONF", Any),
    ("LOOKASIDE_DEVICE", Any),
    ("LOOKASIDE_DEVICE_POLICY", Words(&["wait", "fallback", "fail"])),
    ("LOOKASIDE_STATS", Any),
    ("LOOKASIDE_COUNTERS", Any),
    ("LOOKASIDE_QAT_DC_INSTANCES", Number(0, 1024)),
    ("LOOKASIDE_QAT_CY_INSTANCES", Number(0, 1024)),
    ("LOOKASIDE_QAT_ENGINES", Number(0, 256)),
    ("LOOKASIDE_QAT_PACKAGES", Any),
    ("LOOKASIDE_QAT_DEPTH", Number(1, 65_536)),
    ("LOOKASIDE_QAT_POLICY", Words(&["wait", "fallback", "fail"])),
    ("LOOKASIDE_QAT_MODE", Words(&["events", "polled"])),
    ("LOOKASIDE_QAT_STATISTICS", Any),
    ("LOOKASIDE_QAT_MESSAGES", Words(&["on", "off"])),
    ("LOOKASIDE_QAT_CONF", Any),
    ("LOOKASIDE_CARD_LIBRARY", Any),
    ("LOOKASIDE_CARD_SECTION", Any),
    ("LOOKASIDE_CARD_TIMEOUT_MS", Number(1, 600_000)),
];
/// Those of docs/environment.md with a value that is checked, and the rest.
const MORE: [(&str, Value); 2] =
    [("LOOKASIDE_CARD_VERIFY", Words(&["software", "card"])), ("LOOKASIDE_IPSEC_MB_DIR", Any)];

/// The settings of the provider's section of openssl.cnf (front/openssl/README.md).
pub(super) const PROVIDER: [&str; 10] = [
    "engines",
    "algorithms",
    "async",
    "async-bytes",
    "async-rsa-bits",
    "policy",
    "depth",
    "rsa-blinding",
    "verify",
    "statistics",
];

const ZLIB: [&str; 3] = ["engines", "threshold", "policy"];
const QUICKASSIST: [&str; 9] = [
    "dc_instances",
    "cy_instances",
    "engines",
    "packages",
    "depth",
    "policy",
    "mode",
    "statistics",
    "messages",
];

/// The name among `known` that somebody may have meant.
pub(super) fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far = |other: &&str| strsim::damerau_levenshtein(name, other);
    let near = known.into_iter().min_by_key(far)?;
    (far(&near) <= 1 + name.len() / 4).then_some(near)
}

/// ": is it X?", if there is such.
pub(super) fn question<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    meant(name, known).map_or(String::new(), |right| format!(": is it {right}?"))
}

/// What of the environment is wrong, of the names that begin as ours do.
pub(super) fn environment(
    variables: impl Iterator<Item = (OsString, OsString)>,
    secure: Option<&str>,
) -> Vec<String> {
    let known = || VARIABLES.iter().chain(&MORE);
    let mut said = Vec::new();
    for (name, value) in variables {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        if !name.starts_with(BEGIN) {
            continue;
        }
        let Some((_, wanted)) = known().find(|(one, _)| *one == name) else {
            let right = question(&name, known().map(|(name, _)| *name));
            said.push(format!("{name} is no variable of Lookaside{right}"));
            continue;
        };
        if let Some(why) = secure.filter(|_| name != "LOOKASIDE_CPU") {
            said.push(format!("{name} is ignored by a program with more rights ({why})"));
            continue;
        }
        let number = |least, most| value.parse().is_ok_and(|n: u64| (least..=most).contains(&n));
        match *wanted {
            Number(least, u64::MAX) if !number(least, u64::MAX) => {
                said.push(format!("{name}={value}: a number from {least} on is wanted"));
            }
            Number(least, most) if !number(least, most) => {
                said.push(format!("{name}={value}: a number from {least} to {most} is wanted"));
            }
            Words(words) if !words.contains(&&*value) => {
                said.push(format!("{name}={value}: one of {} is wanted", words.join(", ")));
            }
            _ => {}
        }
    }
    said.sort();
    said
}

/// Which variables of Lookaside are set, and which of OpenSSL and of the loader.
pub(crate) fn in_force() -> Vec<String> {
    let mut set: Vec<String> = env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value))
        .filter(|(name, _)| name.starts_with(BEGIN) || name == "OPENSSL_CONF")
        .map(|(name, value)| format!("{name}={}", value.to_string_lossy()))
        .collect();
    set.sort();
    set
}

/// What of a file of `name = value` is wrong.
pub(super) fn file(path: &Path, reader: Reader) -> Result<Vec<String>, String> {
    let text = text_of(path).map_err(|e| format!("{}: {}", path.display(), plain(&e)))?;
    let known: &[&str] = match reader {
        Reader::Zlib => &ZLIB,
        Reader::QuickAssist => &QUICKASSIST,
    };
    let mut said = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let place = format!("{}:{}", path.display(), n + 1);
        let Some((name, value)) = line.split_once('=') else {
            said.push(format!("{place}: name = value is wanted"));
            continue;
        };
        let (name, value) = (name.trim(), value.trim());
        if !known.contains(&name) {
            let right = question(name, known.iter().copied());
            said.push(format!("{place}: {name} is no setting{right}"));
            continue;
        }
        // The same values as the variables.
        let more = if reader == Reader::Zlib { "" } else { "QAT_" };
        let variable = format!("{BEGIN}{more}{}", name.to_uppercase());
        let pair = (OsString::from(variable), OsString::from(value));
        let wrong = environment(std::iter::once(pair), None);
        said.extend(wrong.iter().filter_map(|text| {
            text.split_once(": ").map(|(_, what)| format!("{place}: {name} = {value}: {what}"))
        }));
    }
    Ok(said)
}

/// A path, short if it is in this folder.
pub(super) fn place(path: &Path, line: usize) -> String {
    format!("{}:{line}", path.display())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn document(path: &str) -> String {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
    }

    /// The names in backquotes of a table's first column.
    fn first_column(text: &str, begins: &str) -> Vec<String> {
        let rows = text.lines().filter(|line| line.starts_with(&format!("| `{begins}")));
        let cells = rows.map(|row| row.split('|').nth(1).unwrap_or_default().to_owned());
        cells
            .flat_map(|c| c.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn the_documents_have_the_same_names() {
        let mut documented = first_column(&document("docs/environment.md"), BEGIN);
        let mut known: Vec<_> =
            VARIABLES.iter().chain(&MORE).map(|(n, _)| (*n).to_owned()).collect();
        documented.sort();
        known.sort();
        assert_eq!(known, documented);
        let readme = document("front/openssl/README.md");
        let (_, settings) = readme.split_once("| setting | values | meaning |").unwrap();
        let (settings, _) = settings.split_once("\n\n").unwrap();
        assert_eq!(first_column(settings, ""), PROVIDER);
        let text = document("docs/environment.md");
        for name in QUICKASSIST.iter().chain(&ZLIB) {
            assert!(text.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn what_is_near_is_asked_for() {
        assert_eq!(meant("enginess", PROVIDER), Some("engines"));
        assert_eq!(meant("async_bytes", PROVIDER), Some("async-bytes"));
        assert_eq!(meant("colour", PROVIDER), None);
    }

    #[test]
    fn the_environment_is_judged() {
        let judged = |name: &str, value: &str, secure| {
            environment([(name.into(), value.into())].into_iter(), secure).join("; ")
        };
        assert_eq!(judged("LOOKASIDE_ENGINES", "4", None), "");
        assert_eq!(judged("PATH", "x", Some("setuid")), "");
        assert!(judged(&format!("{BEGIN}ENGINE"), "4", None).contains("is it LOOKASIDE_ENGINES?"));
        assert!(judged("LOOKASIDE_ENGINES", "four", None).contains("from 0 to 1024"));
        assert!(judged("LOOKASIDE_THRESHOLD", "1", None).contains("from 131072 on"));
        assert!(judged("LOOKASIDE_CPU", "avx1024", None).contains("avx2, avx512"));
        assert!(judged("LOOKASIDE_STATS", "1", Some("setuid")).contains("setuid"));
        assert_eq!(judged("LOOKASIDE_CPU", "avx2", Some("setuid")), "");
    }

    #[test]
    fn files_of_settings() {
        let folder = env::temp_dir().join(format!("lookaside-settings-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("lookaside.conf");
        fs::write(&path, "# one\nengines = 2\nenginess = 2\npolicy = hope\nx\n").unwrap();
        let said = file(&path, Reader::Zlib).unwrap();
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].contains(":3: enginess is no setting: is it engines?"), "{said:?}");
        assert!(said[1].contains("policy = hope: one of wait"), "{said:?}");
        fs::remove_dir_all(folder).unwrap();
        assert!(!file(&path, Reader::Zlib).unwrap_err().contains("os error"));
    }
}
