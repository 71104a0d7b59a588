//! What openssl.cnf says in the provider's section. Everything is checked when the provider loads;
//! what is wrong keeps it from loading, with an error that says what.
//!
//! OpenSSL tells a provider the values of names that it asks for, never which names there are. So a
//! misspelt name cannot be seen, except for those that come to mind first (`NEAR_MISSES`) and slips of
//! the finger (`slips`), which are asked for to be refused; `lookaside doctor FILE` names all others,
//! and `openssl list -providers -verbose` shows the settings in effect.

use std::{ffi::CString, path::PathBuf};

use lookaside::{Op, Service};

use crate::error::{Error, Reason, Result};

/// What happens to an asynchronous operation when the ring is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// What is in the ring is executed (or awaited), then there is room.
    Wait,
    /// The operation runs at once, alone.
    Fallback,
    /// The operation fails.
    Fail,
}

/// Where statistics go when the provider is unloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Nowhere.
    None,
    /// To the standard error output.
    Stderr,
    /// Appended to a file.
    File(PathBuf),
}

/// Which algorithms to offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Algorithms {
    /// Those that are no slower than in the default provider ([`crate::choice`]).
    Fast,
    /// All.
    All,
    /// Those of these names.
    Named(Vec<String>),
}

/// The settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Engine threads for asynchronous operations; with 0 the threads that submit execute.
    pub engines: usize,
    /// Which algorithms to offer.
    pub algorithms: Algorithms,
    /// Which operations pause the job that they run in, by [`Op::index`].
    pub pausing: Vec<bool>,
    /// Whether they pause also where nothing is gained by it: `async = all`.
    pub always: bool,
    /// The smallest piece of a symmetric operation, in bytes, that pauses; `None` for the measured
    /// thresholds ([`crate::bulk::offload`]).
    pub async_bytes: Option<usize>,
    /// The smallest RSA modulus, in bits, whose private operations pause.
    pub rsa_bits: u64,
    /// What to do when the ring is full.
    pub policy: Policy,
    /// How many asynchronous operations of one thread may be outstanding.
    pub depth: usize,
    /// Whether private RSA operations are blinded also where they run side by side.
    pub rsa_blinding: bool,
    /// Whether signatures other than RSA's, which always are, are verified before they leave.
    pub verify: bool,
    /// Where statistics go.
    pub statistics: Report,
}

/// The names of the settings.
pub const NAMES: [&str; 10] = [
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

/// Names that somebody may write instead.
const NEAR_MISSES: [(&str, &str); 14] = [
    ("engine", "engines"),
    ("algorithm", "algorithms"),
    ("asynchronous", "async"),
    ("async_bytes", "async-bytes"),
    ("async-size", "async-bytes"),
    ("async_rsa_bits", "async-rsa-bits"),
    ("rsa-async-bits", "async-rsa-bits"),
    ("policies", "policy"),
    ("ring", "depth"),
    ("blinding", "rsa-blinding"),
    ("rsa_blinding", "rsa-blinding"),
    ("statistic", "statistics"),
    ("stats", "statistics"),
    ("threads", "engines"),
];

/// The operations that pause by default: those where a share of a full batch and the way through
/// a pause (about 0.5 µs in OpenSSL, and 3 to 6 µs in the event loop of a server) cost less than
/// the operation alone. README.md has the measurements. Key generation on a named curve or on
/// X25519 is a multiplication of a fixed point, 12 to 25 µs alone: it pays in HAProxy only because
/// the connection is about to pause for its next operation anyway.
const PAUSING: [Op; 25] = [
    Op::RsaPrivate,
    Op::RsaGenerate,
    Op::DhGenerate,
    Op::DhPublic,
    Op::DhDerive,
    Op::DsaSign,
    Op::DsaVerify,
    Op::EcGenerate,
    Op::EcDerive,
    Op::EcSign,
    Op::EcVerify,
    Op::XdhGenerate,
    Op::XdhPublic,
    Op::XdhDerive,
    Op::EdSign,
    Op::EdVerify,
    Op::Sm2Generate,
    Op::Sm2Sign,
    Op::Sm2Verify,
    Op::Sm2Encrypt,
    Op::Sm2Decrypt,
    // Of these, what gains by company, from a size on: `bulk/offload.rs`.
    Op::Digest,
    Op::Encrypt,
    Op::Seal,
    Op::Open,
];

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            engines: 0,
            algorithms: Algorithms::Fast,
            pausing: Op::ALL.iter().map(|op| PAUSING.contains(op)).collect(),
            always: false,
            async_bytes: None,
            rsa_bits: 1024,
            policy: Policy::Wait,
            depth: 256,
            rsa_blinding: false,
            verify: false,
            statistics: Report::None,
        }
    }
}

impl Settings {
    /// Reads the settings; `get` has the text of each name, where there is one.
    pub fn read(get: impl Fn(&[CString]) -> Vec<Option<String>>) -> Result<Settings> {
        let strings = |names: &mut dyn Iterator<Item = &str>| -> Vec<CString> {
            names.map(|name| CString::new(name).unwrap_or_default()).collect()
        };
        let slips = NAMES.iter().flat_map(|&right| slips(right).map(move |slip| (slip, right)));
        let misses = NEAR_MISSES.iter().map(|&(wrong, right)| (wrong.to_owned(), right));
        let misses: Vec<(String, &str)> = misses.chain(slips).collect();
        let wrong = get(&strings(&mut misses.iter().map(|(wrong, _)| wrong.as_str())));
        for ((wrong, right), value) in misses.iter().zip(wrong) {
            if value.is_some() {
                return Err(bad(wrong, format!("there is no such setting; is it {right}?")));
            }
        }
        let mut settings = Settings::default();
        for (name, value) in NAMES.iter().zip(get(&strings(&mut NAMES.iter().copied()))) {
            if let Some(value) = value {
                settings.set(name, value.trim())?;
            }
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let number = |min: u64, max: u64| {
            let n = value.parse().ok().filter(|n| (min..=max).contains(n));
            n.ok_or_else(|| bad(name, format!("\"{value}\" is not a number from {min} to {max}")))
        };
        let is_not = |what: &str| bad(name, format!("\"{value}\" is not {what}"));
        match name {
            "engines" if value == "auto" => {
                self.engines = std::thread::available_parallelism().map_or(1, |n| n.get());
            }
            "engines" => self.engines = number(0, 1024)? as usize,
            "algorithms" if value.eq_ignore_ascii_case("all") => self.algorithms = Algorithms::All,
            "algorithms" if value.eq_ignore_ascii_case("fast") => {
                self.algorithms = Algorithms::Fast;
            }
            "algorithms" => {
                let names: Vec<String> = items(value).map(str::to_ascii_uppercase).collect();
                for name in &names {
                    if !crate::algorithms::exists(name) {
                        return Err(bad("algorithms", format!("there is no algorithm {name}")));
                    }
                }
                self.algorithms = Algorithms::Named(names);
            }
            "async" => {
                self.pausing = pausing(value)?;
                self.always = items(value).any(|item| item == "all");
            }
            "async-bytes" => self.async_bytes = Some(number(0, u32::MAX.into())? as usize),
            "async-rsa-bits" => self.rsa_bits = number(512, 16_384)?,
            "policy" => {
                self.policy = match value {
                    "wait" => Policy::Wait,
                    "fallback" => Policy::Fallback,
                    "fail" => Policy::Fail,
                    _ => return Err(is_not("wait, fallback or fail")),
                }
            }
            "rsa-blinding" => self.rsa_blinding = flag(name, value)?,
            "verify" => self.verify = flag(name, value)?,
            "depth" => self.depth = number(1, 65_536)? as usize,
            "statistics" => {
                self.statistics = match value {
                    "none" => Report::None,
                    "stderr" => Report::Stderr,
                    path if path.starts_with('/') => Report::File(path.into()),
                    _ => return Err(is_not("none, stderr or the full path of a file")),
                }
            }
            _ => return Err(bad(name, "there is no such setting")),
        }
        Ok(())
    }
}

/// What a slip of the finger makes of a name: a letter is missing, doubled, or in the place of its neighbour.
/// About 260 for all names, for which OpenSSL goes through the section's few lines.
fn slips(name: &str) -> impl Iterator<Item = String> {
    (0..name.len()).flat_map(move |at| {
        let (before, letter, after) = (&name[..at], &name[at..=at], &name[at + 1..]);
        let swapped = after
            .get(..1)
            .filter(|next| *next != letter)
            .map(|next| format!("{before}{next}{letter}{}", &after[1..]));
        let missing = format!("{before}{after}");
        [Some(missing), Some(format!("{before}{letter}{letter}{after}")), swapped]
            .into_iter()
            .flatten()
    })
}

/// The words of a list, separated by commas, colons or spaces.
fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split([',', ':', ' ', '\t']).filter(|item| !item.is_empty())
}

/// A list of operations. `default` and `all` start it, `-name` takes one away. Who says `all` means
/// it: the operations pause also where nothing is gained by it.
fn pausing(list: &str) -> Result<Vec<bool>> {
    let ours = |op: &Op| matches!(op.service(), Service::Pke | Service::Sym);
    let mut pausing = vec![false; Op::ALL.len()];
    for item in items(list) {
        let (name, on) = match item.strip_prefix('-') {
            Some(name) => (name, false),
            None => (item, true),
        };
        let mut found = false;
        for (i, op) in Op::ALL.iter().enumerate() {
            let meant = match name {
                "all" => ours(op),
                "default" => PAUSING.contains(op),
                "none" => continue,
                name => ours(op) && op.name() == name,
            };
            if meant {
                pausing[i] = on;
                found = true;
            }
        }
        if !found && name != "none" {
            return Err(bad("async", format!("there is no operation {name}")));
        }
    }
    Ok(pausing)
}

fn flag(name: &str, value: &str) -> Result<bool> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(bad(name, format!("\"{value}\" is not yes or no"))),
    }
}

fn bad(name: &str, what: impl core::fmt::Display) -> Error {
    Error::new(Reason::BadSetting, format!("{name}: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings> {
        Settings::read(|keys| {
            let find = |key: &CString| {
                let pair = pairs.iter().find(|(name, _)| key.to_str() == Ok(*name));
                pair.map(|(_, value)| (*value).to_owned())
            };
            keys.iter().map(find).collect()
        })
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        assert_eq!(read(&[]).unwrap(), Settings::default());
    }

    #[test]
    fn values() {
        let all = [
            ("engines", "3"),
            ("algorithms", "rsa, EC"),
            ("async", "default -ec-verify"),
            ("async-bytes", "512"),
            ("async-rsa-bits", "3072"),
            ("policy", "fallback"),
            ("depth", "8"),
            ("rsa-blinding", "yes"),
            ("verify", "yes"),
            ("statistics", "/tmp/x"),
        ];
        let settings = read(&all).unwrap();
        assert_eq!(settings.engines, 3);
        assert_eq!(settings.algorithms, Algorithms::Named(vec!["RSA".into(), "EC".into()]));
        assert_eq!(read(&[("algorithms", "ALL")]).unwrap().algorithms, Algorithms::All);
        assert_eq!(read(&[("algorithms", "fast")]).unwrap().algorithms, Algorithms::Fast);
        assert_eq!(settings.async_bytes, Some(512));
        assert!(settings.pausing[Op::EcSign.index()] && !settings.pausing[Op::EcVerify.index()]);
        assert!(settings.rsa_blinding && settings.verify);
        assert_eq!((settings.rsa_bits, settings.policy), (3072, Policy::Fallback));
        assert_eq!((settings.depth, settings.statistics), (8, Report::File("/tmp/x".into())));
        assert!(read(&[("async", "none")]).unwrap().pausing.iter().all(|on| !on));
        let most = read(&[("async", "all -ec-verify")]).unwrap();
        assert!(most.always && most.pausing[Op::RsaPublic.index()]);
        assert!(!most.pausing[Op::EcVerify.index()] && !settings.always);
    }

    #[test]
    fn no_slip_is_a_name() {
        let all: Vec<String> = NAMES.iter().flat_map(|name| slips(name)).collect();
        assert!((200..300).contains(&all.len()), "{}", all.len());
        assert!(all.iter().all(|slip| !NAMES.contains(&slip.as_str())), "{all:?}");
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for (name, value, says) in [
            ("engines", "many", "0 to 1024"),
            ("engine", "1", "is it engines?"),
            ("algorithms", "RSA ROT13", "ROT13"),
            ("async", "rsa-privat", "rsa-privat"),
            ("async", "compress", "compress"),
            ("policy", "hope", "\"hope\" is not wait, fallback or fail"),
            ("depth", "0", "1 to 65536"),
            ("rsa-blinding", "1", "yes or no"),
            ("verify", "sometimes", "\"sometimes\" is not yes or no"),
            ("blinding", "yes", "is it rsa-blinding?"),
            ("enginess", "2", "is it engines?"),
            ("polcy", "wait", "is it policy?"),
            ("stattistics", "none", "is it statistics?"),
            ("asycn-bytes", "512", "is it async-bytes?"),
            ("statistics", "here", "\"here\" is not none, stderr or the full path"),
        ] {
            let e = read(&[(name, value)]).unwrap_err();
            assert_eq!(e.reason, Reason::BadSetting);
            assert!(e.detail.contains(says), "{name} = {value}: {}", e.detail);
        }
    }
}
