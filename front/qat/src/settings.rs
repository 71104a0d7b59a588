//! Settings: the environment, then a file of lines `name = value`. Everything is optional; what is wrong in either is
//! said once, and what held before it holds.
//!
//! The file is `/etc/lookaside-qat.conf`, or the one that `LOOKASIDE_QAT_CONF` names. A setting's name there is that
//! of its variable, in small letters and without `LOOKASIDE_QAT_`. A program with more rights than its user (setuid,
//! file capabilities) ignores the environment.
#![allow(unsafe_code)]

use std::{
    ffi::{CString, OsStr, OsString},
    fs::File,
    io::{self, Read},
    ops::RangeInclusive,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    thread,
};

use lookaside::{plain_message, secure_variable};

/// Where the counters go when the process ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Nowhere.
    None,
    /// To the standard error output.
    Stderr,
    /// One JSON object, appended to a file.
    File(PathBuf),
}

/// What happens to a request when its ring is full, and when engines cannot be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// `CPA_STATUS_RETRY`, as with a card; the library does not start.
    Fail,
    /// It waits until there is room: engines, or with 0 of them this thread, execute what was submitted before.
    /// The library does not start.
    Wait,
    /// The thread that submits executes it; the library starts with 0 engines.
    Fallback,
}

/// The settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Instances of data compression.
    pub dc_instances: usize,
    /// Instances of cryptography.
    pub cy_instances: usize,
    /// Engine threads; with 0 the threads that poll execute.
    pub engines: usize,
    /// The most packages; 0 for one for each NUMA node.
    pub packages: usize,
    /// How many requests a ring takes.
    pub depth: usize,
    /// What happens when a ring is full.
    pub policy: Policy,
    /// Whether instances have a file descriptor from the start (event mode).
    pub events: bool,
    /// Where the counters go.
    pub report: Report,
    /// Whether refusals are printed.
    pub silent: bool,
}

/// Instances of a service, unless the settings say something else.
const MANY: usize = 64;

/// The bounds of the settings with a number.
const MOST_INSTANCES: usize = 1024;
const MOST_ENGINES: usize = 256;
const MOST_PACKAGES: usize = 1024;
const MOST_DEPTH: usize = 65_536;

/// As many requests as a ring of the hardware takes.
pub const DEPTH: usize = 512;

/// The settings' names in the file, and their variables.
const NAMES: [(&str, &str); 9] = [
    ("dc_instances", "LOOKASIDE_QAT_DC_INSTANCES"),
    ("cy_instances", "LOOKASIDE_QAT_CY_INSTANCES"),
    ("engines", "LOOKASIDE_QAT_ENGINES"),
    ("packages", "LOOKASIDE_QAT_PACKAGES"),
    ("depth", "LOOKASIDE_QAT_DEPTH"),
    ("policy", "LOOKASIDE_QAT_POLICY"),
    ("mode", "LOOKASIDE_QAT_MODE"),
    ("statistics", "LOOKASIDE_QAT_STATISTICS"),
    ("messages", "LOOKASIDE_QAT_MESSAGES"),
];

/// What names the file.
const FILE: &str = "LOOKASIDE_QAT_CONF";
const DEFAULT_FILE: &str = "/etc/lookaside-qat.conf";

/// No sensible file is larger; a device file would never end.
const LARGEST_FILE: u64 = 64 << 10;

/// Where something is wrong, and what.
type Complaint = (String, String);

impl Default for Settings {
    fn default() -> Settings {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        Settings {
            // A program's thread takes an instance for itself, and fails without one (QATzip does): an instance that
            // is not used costs nothing.
            dc_instances: MANY,
            cy_instances: cpus.clamp(8, MANY),
            engines: 0,
            packages: 0,
            depth: DEPTH,
            policy: Policy::Fail,
            events: false,
            report: Report::None,
            silent: false,
        }
    }
}

impl Settings {
    /// The settings of this process, and what is wrong with them: where, and what.
    pub fn read() -> (Settings, Vec<(String, String)>) {
        Settings::of(&secure_environment, DEFAULT_FILE.as_ref())
    }

    /// Reads the file, then the environment, which wins.
    fn of(
        variable: &dyn Fn(&str) -> Option<OsString>,
        default_file: &Path,
    ) -> (Settings, Vec<Complaint>) {
        let (mut settings, mut complaints) = (Settings::default(), Vec::new());
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        let named = variable(FILE);
        let file = named.as_ref().map_or(default_file, Path::new);
        match read_file(file) {
            Ok(text) => settings.read_text(&file.display().to_string(), &text, &mut complaints),
            // A file that nobody asked for may be missing, or out of reach in a container.
            Err(_) if named.is_none() => {}
            Err(e) => complaints.push((
                FILE.into(),
                format!(
                    "{}: {}; no file is read: correct the name, or unset it",
                    file.display(),
                    plain_message(&e)
                ),
            )),
        }
        for (name, its_variable) in NAMES {
            let Some(value) = variable(its_variable) else { continue };
            if let Err(what) = settings.set(name, &value) {
                complaints.push((its_variable.into(), what));
            }
        }
        (settings, complaints)
    }

    /// Adds what the text of a file says.
    fn read_text(&mut self, file: &str, text: &str, complaints: &mut Vec<Complaint>) {
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let done = match line.split_once('=') {
                Some((name, value)) => self.set(name.trim_end(), OsStr::new(value.trim_start())),
                None => Err(format!("{line:?} is ignored: a line is name = value")),
            };
            if let Err(what) = done {
                complaints.push((format!("{file}, line {}", number + 1), what));
            }
        }
    }

    /// Sets one. An error says what is wrong, what can be there, and what holds.
    fn set(&mut self, name: &str, value: &OsStr) -> Result<(), String> {
        let text = value.to_string_lossy();
        let number = |now: usize, range: RangeInclusive<usize>| match text.parse() {
            Ok(n) if range.contains(&n) => Ok(n),
            _ => {
                let (least, most) = range.into_inner();
                Err(format!("{text:?} is not {least} to {most}; {now} is used"))
            }
        };
        let switch = |now: bool, on: &str, off: &str| match &*text {
            text if text == on => Ok(true),
            text if text == off => Ok(false),
            text => {
                let now = if now { on } else { off };
                Err(format!("{text:?} is neither {on} nor {off}; {now} is used"))
            }
        };
        match name {
            "dc_instances" => self.dc_instances = number(self.dc_instances, 0..=MOST_INSTANCES)?,
            "cy_instances" => self.cy_instances = number(self.cy_instances, 0..=MOST_INSTANCES)?,
            "engines" => self.engines = number(self.engines, 0..=MOST_ENGINES)?,
            "packages" => self.packages = number(self.packages, 0..=MOST_PACKAGES)?,
            "depth" => self.depth = number(self.depth, 1..=MOST_DEPTH)?,
            "policy" => self.policy = self.policy.or(&text)?,
            "mode" => self.events = switch(self.events, "events", "polled")?,
            "messages" => self.silent = switch(self.silent, "off", "on")?,
            "statistics" => {
                self.report = match &*text {
                    "" | "none" => Report::None,
                    "stderr" => Report::Stderr,
                    _ => Report::File(value.into()),
                }
            }
            _ => {
                let names = NAMES.map(|(name, _)| name).join(", ");
                return Err(format!(
                    "{name:?} is ignored: there is no such setting; there are {names}"
                ));
            }
        }
        Ok(())
    }
}

impl Policy {
    const NAMES: [(&str, Policy); 3] =
        [("wait", Policy::Wait), ("fallback", Policy::Fallback), ("fail", Policy::Fail)];

    /// The policy of a name; where there is none the error says that this one is used.
    fn or(self, text: &str) -> Result<Policy, String> {
        let named = Policy::NAMES.iter().find(|(name, _)| *name == text);
        let now = Policy::NAMES.iter().find(|(_, policy)| *policy == self);
        named.map(|(_, policy)| *policy).ok_or_else(|| {
            let now = now.map_or("fail", |(name, _)| name);
            format!("{text:?} is none of wait, fallback and fail; {now} is used")
        })
    }
}

fn read_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LARGEST_FILE).read_to_string(&mut text)?;
    Ok(text)
}

/// A variable of the environment; none in a program with more rights than its user.
fn secure_environment(name: &str) -> Option<OsString> {
    let value = secure_variable(&CString::new(name).ok()?)?;
    Some(OsString::from_vec(value.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With these variables, and without a default file.
    fn of(variables: &[(&str, &str)]) -> (Settings, Vec<Complaint>) {
        let variable = |wanted: &str| {
            variables.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.into())
        };
        Settings::of(&variable, Path::new("/none"))
    }

    #[test]
    fn what_is_wrong_leaves_the_default() {
        let (none, complaints) = of(&[("LOOKASIDE_QAT_ENGINES", "")]);
        assert_eq!((&none, complaints.len()), (&Settings::default(), 0));
        assert_eq!((none.engines, none.depth, none.events), (0, 512, false));
        assert!(none.dc_instances >= 8 && none.report == Report::None);
        let (set, complaints) = of(&[
            ("LOOKASIDE_QAT_DC_INSTANCES", "3"),
            ("LOOKASIDE_QAT_CY_INSTANCES", "-1"),
            ("LOOKASIDE_QAT_DEPTH", "0"),
            ("LOOKASIDE_QAT_ENGINES", "2"),
            ("LOOKASIDE_QAT_PACKAGES", "1"),
            ("LOOKASIDE_QAT_MODE", "events"),
            ("LOOKASIDE_QAT_POLICY", "wait"),
            ("LOOKASIDE_QAT_STATISTICS", "/x"),
            ("LOOKASIDE_QAT_MESSAGES", "sometimes"),
        ]);
        assert_eq!((set.dc_instances, set.cy_instances), (3, none.cy_instances));
        assert_eq!((set.engines, set.depth, set.events), (2, 512, true));
        assert_eq!((none.packages, set.packages), (0, 1));
        assert_eq!((none.policy, set.policy), (Policy::Fail, Policy::Wait));
        assert_eq!((set.report, set.silent), (Report::File("/x".into()), false));
        let wrong: Vec<_> = complaints.iter().map(|(place, _)| &place[14..]).collect();
        assert_eq!(wrong, ["CY_INSTANCES", "DEPTH", "MESSAGES"]);
        assert_eq!(complaints[1].1, "\"0\" is not 1 to 65536; 512 is used");
        let (wrong, complaints) = of(&[("LOOKASIDE_QAT_POLICY", "x")]);
        assert_eq!((wrong, complaints.len()), (none, 1));
        assert!(complaints[0].1.ends_with("; fail is used"));
    }

    #[test]
    fn a_file_is_read_before_the_environment() {
        let file = std::env::temp_dir().join(format!("lookaside-qat-{}", std::process::id()));
        let text = "# all of it\ndc_instances=3\n\ncy_instances = 4 # and so on\nengines = 1\n\
            packages = 1\ndepth = 8\npolicy = wait\nmode = events\nstatistics = /a b\n\
            messages = off\nrate = 9\nwhat\n";
        std::fs::write(&file, text).unwrap();
        let path = file.to_str().unwrap();
        let (set, complaints) = of(&[
            ("LOOKASIDE_QAT_CONF", path),
            ("LOOKASIDE_QAT_ENGINES", "2"),
            ("LOOKASIDE_QAT_DEPTH", "much"),
            ("LOOKASIDE_QAT_POLICY", "x"),
        ]);
        let expected = Settings {
            dc_instances: 3,
            cy_instances: 4,
            engines: 2,
            packages: 1,
            depth: 8,
            policy: Policy::Wait,
            events: true,
            report: Report::File("/a b".into()),
            silent: true,
        };
        assert_eq!(set, expected);
        let complaints: Vec<_> = complaints.iter().map(|(a, b)| format!("{a}: {b}")).collect();
        assert!(complaints[0].starts_with(&format!("{path}, line 12: \"rate\" is ignored")));
        assert!(complaints[0].contains("there are dc_instances, ") && complaints.len() == 4);
        assert!(complaints[1].ends_with("line 13: \"what\" is ignored: a line is name = value"));
        assert!(complaints[2].ends_with("\"much\" is not 1 to 65536; 8 is used"));
        assert!(complaints[3].ends_with("; wait is used"));
        // The default file is as good, and may be missing; one that is named may not.
        let (set, _) = Settings::of(&|_| None, &file);
        assert_eq!(set, Settings { engines: 1, ..expected });
        std::fs::remove_file(&file).unwrap();
        assert_eq!(Settings::of(&|_| None, &file), (Settings::default(), Vec::new()));
        let (set, complaints) = of(&[("LOOKASIDE_QAT_CONF", path)]);
        assert_eq!((set, complaints.len()), (Settings::default(), 1));
        assert!(complaints[0].0 == FILE && complaints[0].1.contains("No such file"));
    }
}
