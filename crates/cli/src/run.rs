//! `lookaside run`: a command with our zlib and Hyperscan libraries in the place of the system's, with our QuickAssist
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
    if let Some(hyperscan) = hyperscan_beside_us() {
        folders.push(":");
        folders.push(hyperscan);
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

/// The folder of our Hyperscan library, where it is installed.
fn hyperscan_beside_us() -> Option<PathBuf> {
    let here = env::current_exe().and_then(fs::canonicalize).ok()?;
    let folder = here.parent()?.join("../lib/lookaside/hyperscan").canonicalize().ok()?;
    folder.join(HYPERSCAN).exists().then_some(folder)
}

/// The table that the libraries of each process add their counters to (`front/zlib/src/stats/shared.rs` has
/// its layout), removed at the end.
struct Counters(PathBuf);

/// The first bytes of a table.
const MAGIC: &[u8; 16] = b"lookaside table1";
/// The length of a table, of what stands before its rows, of a row, and of a row's name.
const SIZE: usize = 4096;
const HEAD: usize = 32;
const ROW: usize = 72;
const NAME: usize = 48;
/// The first row of the Hyperscan library.
const FIRST_OF_HYPERSCAN: usize = 32;

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
                    let mut table = MAGIC.to_vec();
                    table.resize(SIZE, 0);
                    return file.write_all(&table).map(|()| counters);
                }
            }
        }
    }

    /// The counters of zlib and QuickAssist, and what the OpenSSL provider has printed, where it was asked for.
    fn report(&self, json: bool, provider: Option<&str>, served: &Served) -> io::Result<String> {
        let table = fs::read(&self.0)?;
        let (sum, scans) = (Sum::of(&table), Scans::of(&table));
        if !json {
            let hyperscan = scans.table();
            return Ok(sum.table() + &hyperscan + &served.table() + provider.unwrap_or_default());
        }
        let mut object = sum.json();
        if scans.processes > 0 {
            object["hyperscan"] = scans.json();
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

/// What the processes of one command have counted, row by row.
#[derive(Debug, Default, PartialEq)]
struct Sum {
    processes: u64,
    /// Name; calls, bytes in, bytes out.
    rows: Vec<(String, [u64; 3])>,
}

/// The rows of a table that have a name, with their three counts.
fn rows(table: &[u8], places: std::ops::Range<usize>) -> Vec<(String, [u64; 3])> {
    let all = table.get(HEAD..SIZE).unwrap_or_default().chunks_exact(ROW);
    let rows = all.skip(places.start).take(places.end - places.start).filter(|row| row[0] != 0);
    rows.map(|row| {
        let name = row[..NAME].split(|byte| *byte == 0).next().unwrap_or_default();
        let counts = [0, 1, 2].map(|n| number(row, NAME + 8 * n));
        (String::from_utf8_lossy(name).into_owned(), counts)
    })
    .collect()
}

/// What the Hyperscan library of the processes of one command has counted.
#[derive(Debug, Default, PartialEq)]
struct Scans {
    processes: u64,
    /// Name; count, bytes, matches.
    rows: Vec<(String, [u64; 3])>,
}

impl Scans {
    /// Reads a table.
    fn of(table: &[u8]) -> Scans {
        let processes = number(table, MAGIC.len() + 8);
        Scans { processes, rows: rows(table, FIRST_OF_HYPERSCAN..SIZE / ROW) }
    }

    /// Nothing where no process called the library.
    fn table(&self) -> String {
        let mut text = match self.processes {
            0 => return String::new(),
            1 => "lookaside: hyperscan in 1 process\n".to_owned(),
            n => format!("lookaside: hyperscan in {n} processes\n"),
        };
        text += &format!("{:42} {:>10} {:>14} {:>14}\n", "", "count", "bytes", "matches");
        for (name, [count, bytes, matches]) in &self.rows {
            text += &format!("{name:42} {count:>10} {bytes:>14} {matches:>14}\n");
        }
        text
    }

    fn json(&self) -> Value {
        let rows = self.rows.iter().map(|(name, [count, bytes, matches])| {
            serde_json::json!({ "what": name, "count": count, "bytes": bytes, "matches": matches })
        });
        serde_json::json!({ "processes": self.processes, "rows": rows.collect::<Vec<_>>() })
    }
}

impl Sum {
    /// Reads a table.
    fn of(table: &[u8]) -> Sum {
        let rows = rows(table, 0..FIRST_OF_HYPERSCAN);
        Sum { processes: number(table, MAGIC.len()), rows }
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

/// The number at this place of a table; 0 where it has none.
fn number(table: &[u8], at: usize) -> u64 {
    let bytes = table.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read() {
        let mut table = MAGIC.to_vec();
        table.resize(SIZE, 0);
        assert_eq!(Sum::of(&table), Sum::default());
        assert_eq!(Sum::default().table(), "lookaside: no process called zlib\n");
        table[16] = 2;
        // The second row.
        table[HEAD + ROW..][..21].copy_from_slice(b"compress, whole calls");
        for (n, count) in [3_u64, 200, 80].into_iter().enumerate() {
            table[HEAD + ROW + NAME + 8 * n..][..8].copy_from_slice(&count.to_ne_bytes());
        }
        let sum = Sum::of(&table);
        assert_eq!(sum.processes, 2);
        assert_eq!(sum.rows, [("compress, whole calls".to_owned(), [3, 200, 80])]);
        assert!(sum.table().starts_with("lookaside: zlib in 2 processes\n"));
        assert_eq!(sum.json()["rows"][0]["bytes_in"], 200);
    }

    #[test]
    fn scans_have_rows_of_their_own() {
        let mut table = MAGIC.to_vec();
        table.resize(SIZE, 0);
        assert_eq!(Scans::of(&table).table(), "");
        table[24] = 1;
        let row = HEAD + FIRST_OF_HYPERSCAN * ROW;
        table[row..][..11].copy_from_slice(b"scan, block");
        for (n, count) in [3_u64, 200, 80].into_iter().enumerate() {
            table[row + NAME + 8 * n..][..8].copy_from_slice(&count.to_ne_bytes());
        }
        assert_eq!(Sum::of(&table), Sum::default());
        let scans = Scans::of(&table);
        assert_eq!(scans.rows, [("scan, block".to_owned(), [3, 200, 80])]);
        assert!(scans.table().starts_with("lookaside: hyperscan in 1 process\n"));
        assert_eq!(scans.json()["rows"][0]["matches"], 80);
    }

    #[test]
    fn exit_statuses_are_a_shells() {
        for (raw, code) in [(0, 0), (3 << 8, 3), (9, 137)] {
            assert_eq!(exit_code(ExitStatus::from_raw(raw)), ExitCode::from(code));
        }
    }
}
