//! Counters of a process, and their report at its end.
#![allow(unsafe_code)]

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

use lookaside::{fork_generation, secure_variable};

use crate::table::{Library, Mapped};

/// Three counters with a name.
pub struct Row {
    name: &'static str,
    counts: [AtomicU64; 3],
    listed: bool,
}

impl Row {
    /// A row of tables and reports. The name has at most 47 bytes.
    pub const fn new(name: &'static str) -> Row {
        assert!(Mapped::has_room(0, name.len()));
        Row { name, counts: [const { AtomicU64::new(0) }; 3], listed: true }
    }

    /// A row that the report of a process leaves out, because it has more precise counts ([`Statistics::with`]).
    pub const fn of_tables(name: &'static str) -> Row {
        Row { listed: false, ..Row::new(name) }
    }
}

/// The variable has not been read yet.
const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// The counters of one library in one process: a static value of the library.
pub struct Statistics {
    name: &'static str,
    rows: &'static [Row],
    columns: [&'static str; 3],
    at_exit: extern "C" fn(),
    more: fn(&mut String),
    reset: fn(),
    state: AtomicU8,
    /// The value of the variable, where it asks for a report: a C string that lives as long as the process.
    destination: AtomicPtr<libc::c_char>,
    table: Mapped,
    /// The generation of the process that has counted last.
    counted: AtomicU32,
}

impl Statistics {
    /// Counters of a library that the report calls `name`. `columns` says what the three counts of a row are;
    /// `at_exit` calls [`print`](Self::print) of this value. At most 28 rows.
    pub const fn new(
        library: Library,
        name: &'static str,
        rows: &'static [Row],
        columns: [&'static str; 3],
        at_exit: extern "C" fn(),
    ) -> Statistics {
        assert!(Mapped::has_room(rows.len(), 0));
        Statistics {
            name,
            rows,
            columns,
            at_exit,
            more: |_| (),
            reset: || (),
            state: AtomicU8::new(UNKNOWN),
            destination: AtomicPtr::new(std::ptr::null_mut()),
            table: Mapped::new(library),
            counted: AtomicU32::new(0),
        }
    }

    /// Counts of another kind, too: `more` appends them to a report, `reset` forgets them in a child of a fork.
    pub const fn with(self, more: fn(&mut String), reset: fn()) -> Statistics {
        Statistics { more, reset, ..self }
    }

    /// Adds to the counts of the row with this index.
    #[inline]
    pub fn count(&self, row: usize, counts: [u64; 3]) {
        if self.may_be_on() {
            self.add(row, counts);
        }
    }

    /// Whether counts may be wanted: before the first count it is not known.
    #[inline]
    pub fn may_be_on(&self) -> bool {
        self.state.load(Relaxed) != OFF
    }

    /// Whether this process prints a report. Reads the variable if nothing has been counted yet.
    pub fn reports(&self) -> bool {
        let on = match self.state.load(Relaxed) {
            UNKNOWN => self.begin(),
            state => state == ON,
        };
        // Without a destination there is a table.
        on && !self.destination.load(Relaxed).is_null()
    }

    #[inline(never)]
    fn add(&self, row: usize, counts: [u64; 3]) {
        if self.state.load(Relaxed) == UNKNOWN && !self.begin() {
            return;
        }
        let one = &self.rows[row];
        if self.table.count(row, one.name, counts) {
            return;
        }
        self.begin_anew();
        for (count, more) in one.counts.iter().zip(counts) {
            count.fetch_add(more, Relaxed);
        }
    }

    /// Reads the variable. Returns whether to count.
    #[cold]
    fn begin(&self) -> bool {
        let value = secure_variable(c"LOOKASIDE_STATS");
        let Some(value) = value.filter(|value| !matches!(value.to_bytes(), b"" | b"0")) else {
            let _ = self.state.compare_exchange(UNKNOWN, OFF, Relaxed, Relaxed);
            return self.state.load(Relaxed) == ON;
        };
        if self.table.begin(&value) {
            self.state.store(ON, Relaxed);
            return true;
        }
        let copy = value.into_raw();
        let null = std::ptr::null_mut();
        if self.destination.compare_exchange(null, copy, Release, Acquire).is_err() {
            // Another thread was first.
            // SAFETY: made by `into_raw` above and handed to nobody.
            drop(unsafe { CString::from_raw(copy) });
            return true;
        }
        // SAFETY: a static function. Where registration fails there is no report.
        unsafe { libc::atexit(self.at_exit) };
        self.state.store(ON, Relaxed);
        true
    }

    /// In a child of a fork: forgets what its parent has counted.
    fn begin_anew(&self) {
        let here = fork_generation();
        let there = self.counted.load(Relaxed);
        if there != here && self.counted.swap(here, Relaxed) == there && there != 0 {
            let counts = self.rows.iter().flat_map(|row| &row.counts);
            counts.for_each(|count| count.store(0, Relaxed));
            (self.reset)();
        }
    }

    /// Prints the report where the variable asks for it.
    pub fn print(&self) {
        let destination = self.destination.load(Acquire);
        if destination.is_null() {
            return;
        }
        // SAFETY: a C string that is never freed.
        let destination = unsafe { CStr::from_ptr(destination) };
        let report = self.report();
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
    }

    /// The counters as text, one line for each row that was counted in.
    pub fn report(&self) -> String {
        self.begin_anew();
        let mut text = String::new();
        let name = std::env::args_os().next().unwrap_or_default();
        let name = std::path::Path::new(&name).file_name().unwrap_or_default().to_string_lossy();
        let _ =
            writeln!(text, "lookaside: {} in process {} ({name})", self.name, std::process::id());
        let [a, b, c] = self.columns;
        let _ = writeln!(text, "{:42} {a:>10} {b:>14} {c:>14}", "");
        for row in self.rows.iter().filter(|row| row.listed) {
            let [a, b, c] = [0, 1, 2].map(|n: usize| row.counts[n].load(Relaxed));
            if a > 0 {
                let _ = writeln!(text, "{:42} {a:>10} {b:>14} {c:>14}", row.name);
            }
        }
        (self.more)(&mut text);
        text
    }
}
