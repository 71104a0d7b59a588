//! What the library has served, when the process ends: by `LOOKASIDE_QAT_STATISTICS`.
#![allow(unsafe_code)]

use core::{
    fmt::Write as _,
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};
use std::{fs::OpenOptions, io::Write as _, path::Path};

use lookaside::plain_message;

use crate::{
    counters::Counter, cy::pke::counters::Work, instance::QatInstance, process::Process,
    refusal::say, settings::Report,
};

static WHOSE: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

/// Has the counters reported at the end, where the settings ask for it.
pub fn at_exit(process: &'static Process) {
    if process.settings().report != Report::None {
        WHOSE.store(ptr::from_ref(process).cast_mut(), Ordering::Release);
        // SAFETY: a static function. Where registration fails there is no report.
        unsafe { libc::atexit(report) };
    }
}

extern "C" fn report() {
    let _ = std::panic::catch_unwind(|| {
        // SAFETY: null, or a process that lives as long as the program.
        let Some(process) = (unsafe { WHOSE.load(Ordering::Acquire).as_ref() }) else { return };
        match &process.settings().report {
            Report::None => {}
            Report::Stderr => {
                let _ = std::io::stderr().write_all(table(process).as_bytes());
            }
            Report::File(path) => append(path, &json(process)),
        }
    });
}

fn append(path: &Path, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(path);
    // One write: lines of processes do not mix.
    if let Err(e) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        say("LOOKASIDE_QAT_STATISTICS", &format!("{}: {}", path.display(), plain_message(&e)));
    }
}

/// The sums over all instances, by their names: those of [`Counter`], then what was completed of each [`Work`].
pub fn sums(process: &Process) -> Vec<(&'static str, u64)> {
    let sum = |counter| process.all().map(|instance| instance.counters.read(counter)).sum();
    let done = |work| {
        let of = |instance: &QatInstance| {
            let [_, _, completed, _, invalid] = instance.pke.read(work);
            completed + invalid
        };
        process.all().map(of).sum()
    };
    let counters = Counter::ALL.iter().map(|&counter| (counter.name(), sum(counter)));
    counters.chain(Work::ALL.iter().map(|&work| (work.name(), done(work)))).collect()
}

fn program() -> String {
    let name = std::env::args_os().next().unwrap_or_default();
    Path::new(&name).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The counters that are not 0, one line each.
pub fn table(process: &Process) -> String {
    let mut text = format!("lookaside: libqat in process {} ({})\n", std::process::id(), program());
    for (name, n) in sums(process) {
        if n > 0 {
            let _ = writeln!(text, "{name:42} {n:>16}");
        }
    }
    text
}

/// The same as one JSON object on a line.
pub fn json(process: &Process) -> String {
    let name: String =
        program().chars().filter(|c| !c.is_control() && !"\"\\".contains(*c)).collect();
    let mut text = format!("{{\"pid\": {}, \"program\": \"{name}\"", std::process::id());
    for (name, n) in sums(process) {
        if n > 0 {
            let _ = write!(text, ", \"{name}\": {n}");
        }
    }
    text + "}\n"
}
