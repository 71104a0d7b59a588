//! `lookaside run`: a command with our zlib library in the place of the system's, and what served it.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::{fs::OpenOptionsExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus},
    thread,
};

use serde_json::Value;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM},
    iterator::Signals,
};

/// The library's name, which the dynamic loader looks for.
const LIBRARY: &str = "libz.so.1";

/// What `lookaside run` was asked to do.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Run {
    /// The command and its arguments.
    pub(crate) command: Vec<OsString>,
    /// The folder of the library, where it is not beside this command.
    pub(crate) library: Option<PathBuf>,
    /// Load it ahead of everything else: for programs with a search path of their own.
    pub(crate) preload: bool,
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
    put_first("LD_LIBRARY_PATH", folder.as_os_str());
    if run.preload {
        put_first("LD_PRELOAD", library.as_os_str());
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

    eprint!("{}", counters.report(run.json)?);
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

/// The file that the library of each process appends its counters to, removed at the end.
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
                made => return made.map(|_| Counters(path)),
            }
        }
    }

    fn report(&self, json: bool) -> io::Result<String> {
        let sum = Sum::of(&String::from_utf8_lossy(&fs::read(&self.0)?));
        Ok(if json { format!("{}\n", sum.json()) } else { sum.table() })
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// What the processes of one command have counted, row by row.
#[derive(Debug, Default, PartialEq)]
struct Sum {
    processes: u64,
    /// Name; calls, bytes in, bytes out.
    rows: Vec<(String, [u64; 3])>,
}

impl Sum {
    /// Reads reports of the library: a line that names the process, a heading, rows of a name and
    /// three numbers.
    fn of(reports: &str) -> Sum {
        let mut sum = Sum::default();
        for line in reports.lines() {
            if line.starts_with("lookaside: ") {
                sum.processes += 1;
                continue;
            }
            let Some((name, numbers)) = row(line) else { continue };
            match sum.rows.iter_mut().find(|(known, _)| *known == name) {
                Some((_, total)) => {
                    for (total, n) in total.iter_mut().zip(numbers) {
                        *total += n;
                    }
                }
                None => sum.rows.push((name.to_owned(), numbers)),
            }
        }
        sum
    }

    fn table(&self) -> String {
        let mut text = match self.processes {
            0 => "lookaside: no process called zlib\n".to_owned(),
            1 => "lookaside: zlib in 1 process\n".to_owned(),
            n => format!("lookaside: zlib in {n} processes\n"),
        };
        if !self.rows.is_empty() {
            text += &format!("{:42} {:>10} {:>14} {:>14}\n", "", "calls", "bytes in", "bytes out");
        }
        for (name, [calls, bytes_in, bytes_out]) in &self.rows {
            text += &format!("{name:42} {calls:>10} {bytes_in:>14} {bytes_out:>14}\n");
        }
        text
    }

    fn json(&self) -> Value {
        let rows = self.rows.iter().map(|(name, [calls, bytes_in, bytes_out])| {
            serde_json::json!({
                "served_by": name, "calls": calls, "bytes_in": bytes_in, "bytes_out": bytes_out,
            })
        });
        serde_json::json!({ "processes": self.processes, "rows": rows.collect::<Vec<_>>() })
    }
}

/// A row of a report: its name, and the three numbers at its end.
fn row(line: &str) -> Option<(&str, [u64; 3])> {
    let mut rest = line.trim_end();
    let mut numbers = [0; 3];
    for number in numbers.iter_mut().rev() {
        let (before, word) = rest.rsplit_once(char::is_whitespace)?;
        *number = word.parse().ok()?;
        rest = before.trim_end();
    }
    (!rest.is_empty()).then_some((rest, numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_several_processes_are_summed() {
        let report = |calls: u64| {
            format!(
                "lookaside: libz in process {calls} (python3)\n\
                 {:42} {:>10} {:>14} {:>14}\n{:42} {calls:>10} {:>14} {:>14}\n",
                "", "calls", "bytes in", "bytes out", "compress, whole calls", 100, 40
            )
        };
        let sum = Sum::of(&(report(1) + &report(2)));
        assert_eq!(sum.processes, 2);
        assert_eq!(sum.rows, [("compress, whole calls".to_owned(), [3, 200, 80])]);
        assert!(sum.table().starts_with("lookaside: zlib in 2 processes\n"));
        assert_eq!(sum.json()["rows"][0]["bytes_in"], 200);
    }

    #[test]
    fn exit_statuses_are_a_shells() {
        for (raw, code) in [(0, 0), (3 << 8, 3), (9, 137)] {
            assert_eq!(exit_code(ExitStatus::from_raw(raw)), ExitCode::from(code));
        }
    }
}
