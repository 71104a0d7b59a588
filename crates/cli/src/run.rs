//! `lookaside run`: a command with our zlib, Hyperscan and expat libraries in the place of the system's, with our QuickAssist
//! library, and what served it.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus},
    sync::mpsc,
    thread,
    time::Duration,
};

use lookaside_page::{
    Fault, VARIABLE, operation,
    read::{Call, Operation},
};
use serde_json::{Value, json};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM},
    iterator::Signals,
};

use crate::{
    openssl::Configuration,
    quickassist::{QuickAssist, Served},
    see::{
        own::{Own, Sum},
        row,
    },
};

/// The library's name, which the dynamic loader looks for.
const LIBRARY: &str = "libz.so.1";
/// The name of our Hyperscan library.
const HYPERSCAN: &str = "libhs.so.5";
/// The name of our expat library.
const EXPAT: &str = "libexpat.so.1";

/// Runs a command with our libraries in the place of the system's
///
/// Our zlib, Hyperscan, expat and QuickAssist libraries, those that are installed, in the command and in every program
/// that it starts. Prints to standard error what served the calls. The exit status is the command's; 127 if
/// it could not be started.
#[derive(Debug, Default, PartialEq, clap::Args)]
pub(crate) struct Run {
    /// The folder of our libz.so.1, where it is not beside lookaside
    #[arg(long, value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
    /// Load libz.so.1 ahead of everything (LD_PRELOAD too): for programs that have a search path of their own
    #[arg(long)]
    pub(crate) preload: bool,
    /// Let OpenSSL programs prefer our provider (OPENSSL_CONF), and print its counters after zlib's
    #[arg(long)]
    pub(crate) openssl: bool,
    /// Print one JSON object instead of a table; its schema is json/run.json in the documentation
    #[arg(long)]
    pub(crate) json: bool,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_hint = clap::ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// Runs the command; its exit status is ours. The counters go to standard error, so that the
/// command's output stays what it is.
pub(crate) fn run(run: &Run) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let library = match &run.library {
        Some(folder) => Some(is_there(folder.join(LIBRARY))?),
        None => beside_us()?,
    };
    let own = Own::new()?;
    let quickassist = QuickAssist::beside_us(&own.file("run"));
    let openssl = run.openssl.then(|| Configuration::new(&own.file("run"))).transpose()?;
    let mut folders: Vec<&Path> = library.iter().filter_map(|library| library.parent()).collect();
    let others = [beside("hyperscan", HYPERSCAN), beside("expat", EXPAT)];
    folders.extend(others.iter().flatten().map(PathBuf::as_path));
    folders.extend(quickassist.as_ref().map(|quickassist| quickassist.folder.as_path()));
    if folders.is_empty() && openssl.is_none() {
        return Err(NOTHING.into());
    }

    let (program, arguments) = run.command.split_first().ok_or("a command is missing")?;
    let mut command = Command::new(program);
    let mut pages = OsString::from("keep:");
    pages.push(own.path());
    command.args(arguments).env(VARIABLE, pages);
    let mut put_first = |name: &str, what: &OsStr| {
        let mut value = what.to_owned();
        if let Some(rest) = env::var_os(name).filter(|rest| !rest.is_empty()) {
            value.push(":");
            value.push(rest);
        }
        command.env(name, value);
    };
    if !folders.is_empty() {
        let folders: Vec<&OsStr> = folders.into_iter().map(Path::as_os_str).collect();
        put_first("LD_LIBRARY_PATH", &folders.join(OsStr::new(":")));
    }
    match &library {
        Some(library) if run.preload => put_first("LD_PRELOAD", library.as_os_str()),
        None if run.preload => return Err(format!("--preload: {NO_ZLIB}").into()),
        _ => {}
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
    let (mut sum, status) = gathering(&own, || child.wait())?;
    passing_on.close();
    let _ = thread.join();
    let status = status?;

    let provider = openssl.as_ref().map(Configuration::report).transpose()?;
    let served = quickassist.as_ref().map(QuickAssist::report).transpose()?.unwrap_or_default();
    own.gather(&mut sum, true)?;
    eprint!("{}", report(&sum, run.json, library.is_some(), provider.as_deref(), &served));
    Ok(exit_code(status))
}

/// Sums the pages of processes that have ended until `what` is done: a command may start any number of them.
fn gathering<T>(own: &Own, what: impl FnOnce() -> T) -> Result<(Sum, T), Fault> {
    const TURN: Duration = Duration::from_secs(1);
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let sum = scope.spawn(move || -> Result<Sum, Fault> {
            let mut sum = Sum::default();
            while is_done.recv_timeout(TURN) == Err(mpsc::RecvTimeoutError::Timeout) {
                own.gather(&mut sum, false)?;
            }
            Ok(sum)
        });
        let answer = what();
        drop(done);
        let sum = sum.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((sum?, answer))
    })
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

const NO_ZLIB: &str = "our libz.so.1 is not installed beside this command: make install, or the package lookaside-zlib; or \
                       --library names its folder";
const NOTHING: &str = "no library of ours is installed beside this command: make install, or packages (lookaside-zlib, \
                       lookaside-expat, lookaside-hyperscan, lookaside-qat); or --library names the folder of libz.so.1";

/// Where `make install` puts the library, or `scripts/build-zlib`, as seen from this command; `None` where it is not installed.
fn beside_us() -> Result<Option<PathBuf>, String> {
    let here = env::current_exe().and_then(fs::canonicalize).map_err(|e| e.to_string())?;
    let folder = here.parent().unwrap_or(Path::new("/"));
    let mut places = ["../lib/lookaside/zlib", "zlib"].into_iter();
    Ok(places.find_map(|place| folder.join(place).join(LIBRARY).canonicalize().ok()))
}

/// The folder of another library of ours, where it is installed.
pub(crate) fn beside(name: &str, library: &str) -> Option<PathBuf> {
    let here = env::current_exe().and_then(fs::canonicalize).ok()?;
    let folder = here.parent()?.join("../lib/lookaside").join(name).canonicalize().ok()?;
    folder.join(library).exists().then_some(folder)
}

/// The libraries of the table, in its order: name, the key of a row's name in JSON, and what they count.
const LIBRARIES: [(&str, &str, [&str; 3]); 4] = [
    ("zlib", "served_by", ["calls", "bytes in", "bytes out"]),
    ("hyperscan", "what", ["count", "bytes", "matches"]),
    ("expat", "what", ["count", "bytes", "-"]),
    ("openssl", "what", ["pieces", "bytes", "asynchronous"]),
];

/// The heads of the rows of devices.
const REQUESTS: [&str; 3] = ["requests", "bytes in", "bytes out"];

/// What the libraries, the devices, QuickAssist and, where it was asked for, the OpenSSL provider have served. Of zlib, if
/// it was `in_place`, also that nobody used it.
fn report(
    sum: &Sum,
    json: bool,
    in_place: bool,
    provider: Option<&str>,
    served: &Served,
) -> String {
    let all = sum.content.as_ref();
    let calls = |library: &str| -> Vec<&Call> {
        let calls = all.map_or(&[][..], |all| &all.calls);
        let mut calls: Vec<_> = calls.iter().filter(|call| call.library == library).collect();
        calls.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        calls
    };
    let mut operations: Vec<_> = all.map_or(&[][..], |all| &all.operations).iter().collect();
    operations.sort_unstable_by_key(|row| (&row.device, &row.op));
    let processes = |library: &str| sum.libraries.get(library).copied().unwrap_or(0);
    if json {
        let mut object = json!({});
        for (library, key, columns) in LIBRARIES {
            let one = json_of(key, columns, processes(library), &calls(library));
            match library {
                "zlib" => object = one,
                // What the provider has printed is in `openssl`.
                "openssl" if processes(library) > 0 => object["openssl_counters"] = one,
                _ if processes(library) > 0 => object[library] = one,
                _ => {}
            }
        }
        if sum.devices > 0 {
            let rows: Vec<_> = operations.iter().map(|row| row::json_of(row)).collect();
            object["devices"] = json!({ "processes": sum.devices, "rows": rows });
        }
        if let Some((count, fault)) = &sum.faults {
            object["unread"] = json!({ "pages": count, "why": fault.to_string() });
        }
        if let Some(served) = served.json() {
            object["quickassist"] = served;
        }
        if let Some(provider) = provider {
            object["openssl"] = provider.lines().collect();
        }
        return format!("{object}\n");
    }
    let mut out = String::new();
    for (library, _, columns) in LIBRARIES {
        if library == "zlib" && in_place || processes(library) > 0 {
            let rows = calls(library).into_iter().map(|call| (call.name.clone(), call.counts));
            out += &text(library, columns, processes(library), rows.collect());
        }
    }
    if sum.devices > 0 {
        let rows = operations.iter().map(|row: &&Operation| {
            let counts = [operation::REQUESTS, operation::SRC_BYTES, operation::DST_BYTES];
            (format!("device {}, {}", row.device, row.op), counts.map(|word| row.words[word]))
        });
        out += &text("devices", REQUESTS, sum.devices, rows.collect());
    }
    if let Some((count, fault)) = &sum.faults {
        out += &format!("lookaside: pages of counters that could not be read: {count} ({fault})\n");
    }
    out += &(served.table() + provider.unwrap_or_default());
    if out.is_empty() { "lookaside: no process used a library of ours\n".into() } else { out }
}

/// The counts of a library, a line for each row.
fn text(
    library: &str,
    columns: [&str; 3],
    processes: u64,
    rows: Vec<(String, [u64; 3])>,
) -> String {
    let mut text = match processes {
        0 => format!("lookaside: no process used {library}\n"),
        1 => format!("lookaside: {library} in 1 process\n"),
        n => format!("lookaside: {library} in {n} processes\n"),
    };
    let [a, b, c] = columns;
    if !rows.is_empty() {
        text += &format!("{:42} {a:>10} {b:>14} {c:>14}\n", "");
    }
    for (name, [a, b, c]) in rows {
        text += &format!("{name:42} {a:>10} {b:>14} {c:>14}\n");
    }
    text
}

/// The same as an object; `name` is the key of a row's name.
fn json_of(name: &str, columns: [&str; 3], processes: u64, rows: &[&Call]) -> Value {
    let rows = rows.iter().map(|call| {
        let mut object = json!({ name: call.name });
        for (column, number) in
            columns.iter().zip(call.counts).filter(|(column, _)| **column != "-")
        {
            object[column.replace(' ', "_")] = number.into();
        }
        object
    });
    json!({ "processes": processes, "rows": rows.collect::<Vec<_>>() })
}

#[cfg(test)]
#[path = "../tests/schema/mod.rs"]
mod schema;

#[cfg(test)]
mod tests {
    use lookaside_page::{Identity, read::Content};

    use super::*;

    #[test]
    fn counts_are_shown() {
        let served = Served::default();
        let none = Sum::default();
        assert_eq!(report(&none, false, true, None, &served), "lookaside: no process used zlib\n");
        let text = report(&none, false, false, None, &served);
        assert_eq!(text, "lookaside: no process used a library of ours\n");
        assert_eq!(report(&none, false, false, Some("provider\n"), &served), "provider\n");
        let call = |library: &str, name: &str, counts| Call {
            library: library.into(),
            columns: Default::default(),
            name: name.into(),
            counts,
        };
        let mut words = [0; operation::WORDS];
        (words[operation::REQUESTS], words[operation::DST_BYTES]) = (4, 70);
        let content = Content {
            process: Identity::own(),
            program: String::new(),
            created: 0,
            no_room: 0,
            operations: vec![Operation { device: "cpu".into(), op: "dc.compress".into(), words }],
            calls: vec![
                call("zlib", "compress, whole calls", [3, 200, 80]),
                call("hyperscan", "scan, block", [1, 2, 9]),
                call("expat", "parse", [1, 2, 0]),
                call("openssl", "AES-128-GCM", [1, 2, 0]),
            ],
            not_run: 0,
            resets: 0,
            unknown: 0,
            fault: None,
        };
        let sum = Sum {
            content: Some(content),
            libraries: [("zlib", 2), ("hyperscan", 1), ("expat", 1), ("openssl", 1)]
                .map(|(name, count)| (name.to_owned(), count))
                .into(),
            devices: 1,
            faults: Some((1, Fault::NoPage)),
        };
        let text = report(&sum, false, true, None, &served);
        let lines: Vec<Vec<_>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(text.starts_with("lookaside: zlib in 2 processes\n"));
        assert_eq!(lines[2], ["compress,", "whole", "calls", "3", "200", "80"]);
        assert_eq!(lines[3][1..], ["hyperscan", "in", "1", "process"]);
        assert_eq!(lines[14], ["device", "cpu,", "dc.compress", "4", "0", "70"]);
        assert!(text.ends_with("that could not be read: 1 (it is no page of counters)\n"));
        let json = report(&sum, true, true, Some("provider\n"), &served);
        let object: Value = serde_json::from_str(&json).unwrap();
        let optional = ["hyperscan", "expat", "openssl_counters", "openssl", "devices", "unread"];
        schema::fits(&object, "run.json", &optional);
        assert_eq!(object["rows"][0]["served_by"], "compress, whole calls");
        assert_eq!(object["rows"][0]["bytes_in"], 200);
        assert_eq!(object["hyperscan"]["rows"][0]["matches"], 9);
        assert_eq!(object["devices"]["rows"][0]["dst_bytes"], 70);
        assert_eq!(object["unread"]["pages"], 1);
    }

    #[test]
    fn exit_statuses_are_a_shells() {
        for (raw, code) in [(0, 0), (3 << 8, 3), (9, 137)] {
            assert_eq!(exit_code(ExitStatus::from_raw(raw)), ExitCode::from(code));
        }
    }
}
