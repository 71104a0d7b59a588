//! Settings: the environment, then a file of lines `name = value`; what is wrong in either is said
//! once on the standard error output, and the default is used.
//!
//! | environment | file | value | default |
//! |---|---|---|---|
//! | `LOOKASIDE_ENGINES` | `engines` | engine threads, 1 to 1,024; 0: no device | one for each CPU this process may use |
//! | `LOOKASIDE_THRESHOLD` | `threshold` | bytes in one call from which the device compresses, at least 131,072 | 524,288 |
//! | `LOOKASIDE_POLICY` | `policy` | `wait`, `fallback` or `fail` when the device is busy | `fallback` |
//! | `LOOKASIDE_CONF` | | the file | `/etc/lookaside.conf` |
//! | `LOOKASIDE_STATS` | | `1` or a file: [`crate::stats`] | off |
//! | `LOOKASIDE_COUNTERS` | | `1` or a folder: [`crate::stats`] | off |
//!
//! All this is read at the first call with [`SMALLEST_THRESHOLD`] bytes or more: a program in a
//! sandbox that compresses little never sees a file opened. A program with more rights than its
//! user (setuid, file capabilities) ignores the environment.

use std::{
    ffi::{CStr, OsStr},
    io::Write as _,
    os::unix::ffi::OsStrExt,
    path::Path,
};

use lookaside::{plain_message, secure_variable};
use lookaside_simd::Cpu;
use once_cell::race::OnceBox;

/// What a call does that finds the device full of other callers' work. (While one thread starts the
/// device, the others compress themselves.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Its pieces queue up.
    Wait,
    /// Its thread compresses itself, until the device has room.
    Fallback,
    /// It fails with `Z_MEM_ERROR` and takes no more input; the stream stays usable, and calling
    /// again tries again.
    Fail,
}

/// The settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Engine threads; `None` for one for each CPU.
    pub engines: Option<usize>,
    /// The device compresses what comes with at least so many bytes in one call.
    pub threshold: usize,
    /// When the device is busy.
    pub policy: Policy,
}

/// No threshold is lower: below, waking an engine costs more than it brings.
pub const SMALLEST_THRESHOLD: usize = 128 << 10;

impl Default for Settings {
    fn default() -> Settings {
        Settings { engines: None, threshold: 512 << 10, policy: Policy::Fallback }
    }
}

const NAMES: [(&str, &CStr); 3] = [
    ("engines", c"LOOKASIDE_ENGINES"),
    ("threshold", c"LOOKASIDE_THRESHOLD"),
    ("policy", c"LOOKASIDE_POLICY"),
];

const DEFAULT_FILE: &str = "/etc/lookaside.conf";

impl Settings {
    /// Sets one; an error says what was expected.
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = |range: std::ops::RangeInclusive<usize>| match value.parse() {
            Ok(n) if range.contains(&n) => Ok(n),
            _ => Err(format!("expected a number from {} to {}", range.start(), range.end())),
        };
        match name {
            "engines" => self.engines = Some(number(0..=1024)?),
            "threshold" => self.threshold = number(SMALLEST_THRESHOLD..=isize::MAX as usize)?,
            "policy" => {
                self.policy = match value {
                    "wait" => Policy::Wait,
                    "fallback" => Policy::Fallback,
                    "fail" => Policy::Fail,
                    _ => return Err("expected wait, fallback or fail".into()),
                }
            }
            _ => {
                let names = NAMES.map(|(name, _)| name).join(", ");
                return Err(format!("there is no such setting; there are: {names}"));
            }
        }
        Ok(())
    }

    /// Adds what the text of a file says.
    fn read_text(&mut self, file: &str, text: &str, complaints: &mut Vec<String>) {
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let done = match line.split_once('=') {
                Some((name, value)) => self.set(name.trim(), value.trim()),
                None => Err("expected name = value".into()),
            };
            if let Err(e) = done {
                complaints.push(format!("{file}, line {}: {line}: {e}", number + 1));
            }
        }
    }

    /// Reads the file, then the environment, which wins.
    fn read() -> (Settings, Vec<String>) {
        let mut settings = Settings::default();
        let mut complaints = Vec::new();
        let named = secure_variable(c"LOOKASIDE_CONF");
        let file = match &named {
            Some(name) => Path::new(OsStr::from_bytes(name.to_bytes())),
            None => Path::new(DEFAULT_FILE),
        };
        /// No sensible file is larger; a device file would never end.
        const LARGEST: u64 = 64 << 10;
        let read = || {
            let mut text = String::new();
            let file = std::fs::File::open(file)?;
            std::io::Read::read_to_string(&mut std::io::Read::take(file, LARGEST), &mut text)?;
            Ok::<_, std::io::Error>(text)
        };
        match read() {
            Ok(text) => {
                settings.read_text(&file.to_string_lossy(), &text, &mut complaints);
            }
            // A file that nobody asked for may be missing, or out of reach in a container.
            Err(_) if named.is_none() => {}
            Err(e) => {
                complaints.push(format!(
                    "LOOKASIDE_CONF={}: {}",
                    file.display(),
                    plain_message(&e)
                ));
            }
        }
        for (name, variable) in NAMES {
            let Some(value) = secure_variable(variable) else { continue };
            let value = value.to_string_lossy();
            if let Err(e) = settings.set(name, value.trim()) {
                complaints.push(format!("{}={value}: {e}", variable.to_string_lossy()));
            }
        }
        if let Some(cap) = Cpu::host().unknown_cap() {
            complaints.push(format!("LOOKASIDE_CPU={cap}: expected generic, avx2 or avx512"));
        }
        (settings, complaints)
    }
}

/// The settings of this process, read with the first call.
///
/// No lock: one that another thread holds during a `fork` would never be free in the child.
pub fn settings() -> &'static Settings {
    static SETTINGS: OnceBox<Settings> = OnceBox::new();
    SETTINGS.get().unwrap_or_else(|| {
        let (read, complaints) = Settings::read();
        if SETTINGS.set(Box::new(read)).is_ok() {
            for complaint in complaints {
                let _ = writeln!(std::io::stderr(), "lookaside: {complaint}; default used");
            }
        }
        SETTINGS.get().expect("set above, or by another thread")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_what_is_wrong_is_named() {
        let mut settings = Settings::default();
        let mut complaints = Vec::new();
        let text =
            "engines = 4 # of them\n\n# nothing\npolicy=wait\nthreshold = 5\nspeed = 9\nwhat";
        settings.read_text("f", text, &mut complaints);
        let read = Settings { engines: Some(4), policy: Policy::Wait, ..Settings::default() };
        assert_eq!(settings, read);
        assert_eq!(complaints.len(), 3);
        assert!(complaints[0].starts_with("f, line 5: threshold = 5: expected a number"));
        assert!(complaints[1].contains("no such setting"));
        assert!(complaints[2].contains("name = value"));
    }
}
