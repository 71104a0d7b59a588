//! `lookaside run`: a command with our zlib, Hyperscan and expat libraries in the place of the system's, with our QuickAssist
//! library, and what served it.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::{self, Write},
    os::unix::{fs::OpenOptionsExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus},
    thread,
};

use lookaside_drop_in::table::{self, Counts, Library};
use serde_json::Value;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM},
    iterator::Signals,
};

use crate::{
    openssl::Configuration,
    quickassist::{QuickAssist, Served},
};

/// The library's name, which the dynamic loader looks for.
const LIBRARY: &str = "libz.so.1";
/// The name of our Hyperscan library.
const HYPERSCAN: &str = "libhs.so.5";
/// The name of our expat library.
const EXPAT: &str = "libexpat.so.1";

/// What `lookaside run` was asked to do.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Run {
    /// The command and its arguments.
    pub(crate) command: Vec<OsString>,
    /// The folder of the library, where it is not beside this command.
    pub(crate) library: Option<PathBuf>,
    /// Load it ahead of everything else: for programs with a search path of their own.
    pub(crate) preload: bool,
    /// Let OpenSSL prefer our provider too.
    pub(crate) openssl: bool,
    /// Print one JSON object instead of a table.
    pub(crate) json: bool,
}

/// Runs the command; its exit status is ours. The counters go to standard error, so that the
/// command's output stays what it is.
pub(crate) fn run(run: &Run) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let library = match &run.library {
        Some(folder) => is_there(folder.join(LIBRARY)),
        None => beside_us(),
    }?;
    let folder = library.parent().unwrap_or(Path::new("/"));
    let counters = Counters::new()?;
    let quickassist = QuickAssist::beside_us(&counters.0);
    let openssl = run.openssl.then(|| Configuration::new(&counters.0)).transpose()?;

    let (program, arguments) = run.command.split_first().ok_or("a command is missing")?;
    let mut command = Command::new(program);
    command.args(arguments).env("LOOKASIDE_STATS", &counters.0);
    let mut put_first = |name: &str, what: &OsStr| {
        let mut value = what.to_owned();
        if let Some(rest) = env::var_os(name).filter(|rest| !rest.is_empty()) {
            value.push(":");
            value.push(rest);
        }
        command.env(name, value);
    };
    let mut folders = folder.as_os_str().to_owned();
    for other in [beside("hyperscan", HYPERSCAN), beside("expat", EXPAT)].into_iter().flatten() {
        folders.push(":");
        folders.push(other);
    }
    if let Some(quickassist) = &quickassist {
        folders.push(":");
        folders.push(&quickassist.folder);
    }
    put_first("LD_LIBRARY_PATH", &folders);
    if run.preload {
        put_first("LD_PRELOAD", library.as_os_str());
    }
    if let Some(quickassist) = &quickassist {
        command.env("LOOKASIDE_QAT_STATISTICS", &quickassist.counters);
    }
    if let Some(openssl) = &openssl {
        command.env("OPENSSL_CONF", &openssl.path);
    }

    // The terminal sends these two to the command as well, and we stay to print the counters; the
    // others are sent to us alone, and passed on.
    let mut signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP])?;
    let mut child = command.spawn().map_err(|e| format!("{}: {e}", program.to_string_lossy()))?;
    let pid = rustix::process::Pid::from_child(&child);
    let passing_on = signals.handle();
    let thread = thread::spawn(move || {
        for signal in signals.forever() {
            let signal = match signal {
                SIGTERM => rustix::process::Signal::TERM,
                SIGHUP => rustix::process::Signal::HUP,
                _ => continue,
            };
            // It may have ended meanwhile.
            let _ = rustix::process::kill_process(pid, signal);
        }
    });
    let status = child.wait();
    passing_on.close();
    let _ = thread.join();
    let status = status?;

    let provider = openssl.as_ref().map(Configuration::report).transpose()?;
    let served = quickassist.as_ref().map(QuickAssist::report).transpose()?.unwrap_or_default();
    eprint!("{}", counters.report(run.json, provider.as_deref(), &served)?);
    Ok(exit_code(status))
}

/// As a shell says it: the status, or 128 and the signal.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|n| 128 + n)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

fn is_there(library: PathBuf) -> Result<PathBuf, String> {
    match library.canonicalize() {
        Ok(path) => Ok(path),
        Err(e) => Err(format!("{}: {e}", library.display())),
    }
}

/// Where `make install` puts the library, or `scripts/build-zlib`, as seen from this command.
fn beside_us() -> Result<PathBuf, String> {
    let here = env::current_exe().and_then(fs::canonicalize).map_err(|e| e.to_string())?;
    let folder = here.parent().unwrap_or(Path::new("/"));
    ["../lib/lookaside/zlib", "zlib"]
        .into_iter()
        .find_map(|place| folder.join(place).join(LIBRARY).canonicalize().ok())
        .ok_or_else(|| {
            format!(
                "there is no {LIBRARY} of ours in {0}/../lib/lookaside/zlib nor in {0}/zlib \
                 (scripts/build-zlib makes it; --library FOLDER says where it is)",
                folder.display()
            )
        })
}

/// The folder of another library of ours, where it is installed.
fn beside(name: &str, library: &str) -> Option<PathBuf> {
    let here = env::current_exe().and_then(fs::canonicalize).ok()?;
    let folder = here.parent()?.join("../lib/lookaside").join(name).canonicalize().ok()?;
    folder.join(library).exists().then_some(folder)
}

/// The table that the libraries of each process add their counters to, removed at the end.
struct Counters(PathBuf);

impl Counters {
    fn new() -> io::Result<Counters> {
        let mut attempt = 0;
        loop {
            let name = format!("lookaside-run-{}-{attempt}", std::process::id());
            let path = env::temp_dir().join(name);
            // A file of that name that is not new could be anybody's, or of a process before us.
            let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
            match made {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => {
                    attempt += 1
                }
                made => {
                    let counters = made.map(|file| (Counters(path), file));
                    let (counters, mut file) = counters?;
                    return file.write_all(&table::empty()).map(|()| counters);
                }
            }
        }
    }

    /// The counters of zlib and QuickAssist, and what the OpenSSL provider has printed, where it was asked for.
    fn report(&self, json: bool, provider: Option<&str>, served: &Served) -> io::Result<String> {
        let table = fs::read(&self.0)?;
        let calls = table::read(&table, Library::Zlib);
        let scans = table::read(&table, Library::Hyperscan);
        let documents = table::read(&table, Library::Expat);
        if !json {
            let libraries = text("zlib", CALLS, &calls)
                + &if scans.processes > 0 {
                    text("hyperscan", SCANS, &scans)
                } else {
                    String::new()
                }
                + &if documents.processes > 0 {
                    text("expat", DOCUMENTS, &documents)
                } else {
                    String::new()
                };
            return Ok(libraries + &served.table() + provider.unwrap_or_default());
        }
        let mut object = json_of("served_by", CALLS, &calls);
        if scans.processes > 0 {
            object["hyperscan"] = json_of("what", SCANS, &scans);
        }
        if documents.processes > 0 {
            object["expat"] = json_of("what", DOCUMENTS, &documents);
        }
        if let Some(served) = served.json() {
            object["quickassist"] = served;
        }
        if let Some(provider) = provider {
            object["openssl"] = provider.lines().collect();
        }
        Ok(format!("{object}\n"))
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// What the counts of zlib's rows are, of Hyperscan's and of expat's.
const CALLS: [&str; 3] = ["calls", "bytes in", "bytes out"];
const SCANS: [&str; 3] = ["count", "bytes", "matches"];
const DOCUMENTS: [&str; 3] = ["count", "bytes", "-"];

/// The counts of a library, a line for each row.
fn text(library: &str, columns: [&str; 3], counts: &Counts) -> String {
    let mut text = match counts.processes {
        0 => format!("lookaside: no process called {library}\n"),
        1 => format!("lookaside: {library} in 1 process\n"),
        n => format!("lookaside: {library} in {n} processes\n"),
    };
    let [a, b, c] = columns;
    if !counts.rows.is_empty() {
        text += &format!("{:42} {a:>10} {b:>14} {c:>14}\n", "");
    }
    for (name, [a, b, c]) in &counts.rows {
        text += &format!("{name:42} {a:>10} {b:>14} {c:>14}\n");
    }
    text
}

/// The same as an object; `name` is the key of a row's name.
fn json_of(name: &str, columns: [&str; 3], counts: &Counts) -> Value {
    let rows = counts.rows.iter().map(|(row, numbers)| {
        let mut object = serde_json::json!({ name: row });
        for (column, number) in columns.iter().zip(numbers) {
            object[column.replace(' ', "_")] = (*number).into();
        }
        object
    });
    serde_json::json!({ "processes": counts.processes, "rows": rows.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_shown() {
        let none = Counts::default();
        assert_eq!(text("zlib", CALLS, &none), "lookaside: no process called zlib\n");
        let counts =
            Counts { processes: 2, rows: vec![("compress, whole calls".to_owned(), [3, 200, 80])] };
        let text = text("zlib", CALLS, &counts);
        assert!(text.starts_with("lookaside: zlib in 2 processes\n"));
        let words: Vec<_> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(words, ["compress,", "whole", "calls", "3", "200", "80"]);
        let object = json_of("served_by", CALLS, &counts);
        assert_eq!(object["rows"][0]["served_by"], "compress, whole calls");
        assert_eq!(object["rows"][0]["bytes_in"], 200);
        assert_eq!(json_of("what", SCANS, &counts)["rows"][0]["matches"], 80);
    }

    #[test]
    fn exit_statuses_are_a_shells() {
        for (raw, code) in [(0, 0), (3 << 8, 3), (9, 137)] {
            assert_eq!(exit_code(ExitStatus::from_raw(raw)), ExitCode::from(code));
        }
    }
}
