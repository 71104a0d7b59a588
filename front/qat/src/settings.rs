//! What the environment says. Everything is optional; what is wrong is said once, and the default holds.

use std::{env, path::PathBuf, thread};

use crate::refusal::say;

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

impl Settings {
    /// What the environment of this process says.
    pub fn of_environment() -> Settings {
        Settings::of(&|name| env::var(name).ok())
    }

    fn of(variable: &dyn Fn(&str) -> Option<String>) -> Settings {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        // A program's thread takes an instance for itself, and fails without one (QATzip does): an instance that is not
        // used costs nothing.
        let (dc, cy) = (MANY, cpus.clamp(8, MANY));
        let number = |name: &'static str, default: usize, least: usize, most: usize| {
            let Some(text) = variable(name).filter(|text| !text.is_empty()) else { return default };
            match text.parse() {
                Ok(n) if (least..=most).contains(&n) => n,
                _ => {
                    let what = format!("{text:?} is not {least} to {most}; {default} is used");
                    say(name, &what);
                    default
                }
            }
        };
        let switch = |name: &'static str, on: &str, off: &str| match variable(name).as_deref() {
            None | Some("") => false,
            Some(text) if text == on => true,
            Some(text) if text == off => false,
            Some(text) => {
                say(name, &format!("{text:?} is neither {on} nor {off}; {off} is used"));
                false
            }
        };
        let policy = match variable("LOOKASIDE_QAT_POLICY").as_deref() {
            None | Some("" | "fail") => Policy::Fail,
            Some("wait") => Policy::Wait,
            Some("fallback") => Policy::Fallback,
            Some(text) => {
                let what = format!("{text:?} is none of wait, fallback and fail; fail is used");
                say("LOOKASIDE_QAT_POLICY", &what);
                Policy::Fail
            }
        };
        let report = match variable("LOOKASIDE_QAT_STATISTICS").as_deref() {
            None | Some("" | "none") => Report::None,
            Some("stderr") => Report::Stderr,
            Some(path) => Report::File(path.into()),
        };
        Settings {
            dc_instances: number("LOOKASIDE_QAT_DC_INSTANCES", dc, 0, MOST_INSTANCES),
            cy_instances: number("LOOKASIDE_QAT_CY_INSTANCES", cy, 0, MOST_INSTANCES),
            engines: number("LOOKASIDE_QAT_ENGINES", 0, 0, MOST_ENGINES),
            packages: number("LOOKASIDE_QAT_PACKAGES", 0, 0, MOST_PACKAGES),
            depth: number("LOOKASIDE_QAT_DEPTH", DEPTH, 1, MOST_DEPTH),
            policy,
            events: switch("LOOKASIDE_QAT_MODE", "events", "polled"),
            report,
            silent: switch("LOOKASIDE_QAT_MESSAGES", "off", "on"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_leaves_the_default() {
        let none = Settings::of(&|_| None);
        assert_eq!((none.engines, none.depth, none.events), (0, 512, false));
        assert!(none.dc_instances >= 8 && none.report == Report::None);
        let set = Settings::of(&|name| {
            Some(
                match name {
                    "LOOKASIDE_QAT_DC_INSTANCES" => "3",
                    "LOOKASIDE_QAT_CY_INSTANCES" => "-1",
                    "LOOKASIDE_QAT_DEPTH" => "0",
                    "LOOKASIDE_QAT_ENGINES" => "2",
                    "LOOKASIDE_QAT_PACKAGES" => "1",
                    "LOOKASIDE_QAT_MODE" => "events",
                    "LOOKASIDE_QAT_POLICY" => "wait",
                    "LOOKASIDE_QAT_STATISTICS" => "/x",
                    _ => "sometimes",
                }
                .into(),
            )
        });
        assert_eq!((set.dc_instances, set.cy_instances), (3, none.cy_instances));
        assert_eq!((set.engines, set.depth, set.events), (2, 512, true));
        assert_eq!((none.packages, set.packages), (0, 1));
        assert_eq!((none.policy, set.policy), (Policy::Fail, Policy::Wait));
        let wrong = Settings::of(&|name| (name == "LOOKASIDE_QAT_POLICY").then(|| "x".into()));
        assert_eq!(wrong, none);
        assert_eq!((set.report, set.silent), (Report::File("/x".into()), false));
    }
}
