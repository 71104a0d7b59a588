//! What the calls of this process did, printed when it ends if `LOOKASIDE_STATS` asks for it: `1` to the standard error
//! output, a path to append to that file. Where the file is a table ([`shared`]), as `lookaside run` makes one, every
//! process adds to its rows as it counts.
//!
//! The report of a process also has the patterns of each database that matched most and had most candidates ([`sets`]);
//! the shared table has no room for them.
//!
//! The environment is looked at with the first count. A child of `fork` counts from zero and prints its own. Without the
//! variable a count costs one load.

mod sets;
mod shared;

use std::{
    ffi::{CStr, CString, OsStr},
    fmt::Write as _,
    fs::OpenOptions,
    io::Write as _,
    os::unix::ffi::OsStrExt,
    sync::atomic::{
        AtomicPtr, AtomicU8, AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use lookaside::fork_generation;
use lookaside_scan::Set;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Row {
    /// Databases compiled, with the bytes of their tables.
    Databases,
    /// Their patterns, with the bytes of their text.
    Patterns,
    /// Compilations that were refused.
    Refused,
    /// Databases compiled again of saved patterns: deserialised, or mapped from elsewhere.
    Loaded,
    /// Scans of whole texts, with their bytes and matches.
    Block,
    /// Scans of pieces of streams.
    Stream,
    /// Scans of texts that lie in several places.
    Vectored,
}

/// The name of each [`Row`].
const NAMES: [&str; 7] = [
    "scan.compile, databases",
    "scan.compile, patterns",
    "scan.compile, refused",
    "scan.load, databases",
    "scan, block",
    "scan, stream",
    "scan, vectored",
];

static ROWS: [[AtomicU64; 3]; NAMES.len()] =
    [const { [const { AtomicU64::new(0) }; 3] }; NAMES.len()];

/// Nobody has looked at the environment yet.
const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// The value of the variable, once it is on: a C string that lives as long as the process.
static DESTINATION: AtomicPtr<libc::c_char> = AtomicPtr::new(std::ptr::null_mut());

/// Counts calls, bytes and matches.
#[inline]
pub fn count(row: Row, counts: [u64; 3]) {
    if STATE.load(Relaxed) != OFF {
        add(row, counts);
    }
}

#[inline(never)]
fn add(row: Row, counts: [u64; 3]) {
    if STATE.load(Relaxed) == UNKNOWN && !begin() {
        return;
    }
    if shared::count(row as usize, NAMES[row as usize], counts) {
        return;
    }
    begin_anew();
    for (count, more) in ROWS[row as usize].iter().zip(counts) {
        count.fetch_add(more, Relaxed);
    }
}

/// The set of a database, with counters if the report is going to have them.
pub fn counted(set: Set) -> Set {
    let on = match STATE.load(Relaxed) {
        UNKNOWN => begin(),
        state => state == ON,
    };
    // Without a destination there is a table.
    match on && !DESTINATION.load(Relaxed).is_null() {
        true => sets::register(set),
        false => set,
    }
}

/// The variable; `None` for a program with more rights than its user.
fn environment() -> Option<CString> {
    // SAFETY: reads the process's own flag, and the environment.
    unsafe {
        if libc::getauxval(libc::AT_SECURE) != 0 {
            return None;
        }
        let value = libc::getenv(c"LOOKASIDE_STATS".as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_owned())
    }
}

/// Looks at the environment. Returns whether to count.
#[cold]
fn begin() -> bool {
    let value = environment().filter(|v| !matches!(v.to_bytes(), b"" | b"0"));
    let Some(value) = value else {
        let _ = STATE.compare_exchange(UNKNOWN, OFF, Relaxed, Relaxed);
        return STATE.load(Relaxed) == ON;
    };
    if shared::begin(&value) {
        STATE.store(ON, Relaxed);
        return true;
    }
    let copy = value.into_raw();
    if DESTINATION.compare_exchange(std::ptr::null_mut(), copy, Release, Acquire).is_err() {
        // Another thread was first.
        // SAFETY: made by `into_raw` above and handed to nobody.
        drop(unsafe { CString::from_raw(copy) });
        return true;
    }
    // SAFETY: a static function. Where registration fails there is no report.
    unsafe { libc::atexit(at_exit) };
    STATE.store(ON, Relaxed);
    true
}

/// In a child of a fork: forgets what its parent has counted.
fn begin_anew() {
    static COUNTED: AtomicU32 = AtomicU32::new(0);
    let here = fork_generation();
    let there = COUNTED.load(Relaxed);
    if there != here && COUNTED.swap(here, Relaxed) == there && there != 0 {
        ROWS.iter().flatten().for_each(|count| count.store(0, Relaxed));
        sets::reset();
    }
}

extern "C" fn at_exit() {
    let _ = std::panic::catch_unwind(|| {
        let destination = DESTINATION.load(Acquire);
        if destination.is_null() {
            return;
        }
        // SAFETY: a C string that is never freed.
        let destination = unsafe { CStr::from_ptr(destination) };
        let report = report();
        if destination.to_bytes() == b"1" {
            let _ = std::io::stderr().write_all(report.as_bytes());
            return;
        }
        let path = OsStr::from_bytes(destination.to_bytes());
        match OpenOptions::new().create(true).append(true).open(path) {
            Ok(mut file) => {
                let _ = file.write_all(report.as_bytes());
            }
            Err(e) => {
                let path = path.to_string_lossy();
                let _ = writeln!(std::io::stderr(), "lookaside: LOOKASIDE_STATS={path}: {e}");
            }
        }
    });
}

/// The counters as text, one line each.
pub fn report() -> String {
    begin_anew();
    let mut text = String::new();
    let name = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&name).file_name().unwrap_or_default().to_string_lossy();
    let _ = writeln!(text, "lookaside: libhs in process {} ({name})", std::process::id());
    let _ = writeln!(text, "{:42} {:>10} {:>14} {:>14}", "", "count", "bytes", "matches");
    for (name, row) in NAMES.iter().zip(&ROWS) {
        let [calls, bytes, matches] = [0, 1, 2].map(|n: usize| row[n].load(Relaxed));
        if calls > 0 {
            let _ = writeln!(text, "{name:42} {calls:>10} {bytes:>14} {matches:>14}");
        }
    }
    sets::report(&mut text);
    text
}
