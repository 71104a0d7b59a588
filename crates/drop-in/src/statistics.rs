//! Counters of a process, and their report at its end.

use std::{
    ffi::{CStr, CString, OsStr},
    fmt::Write as _,
    fs::OpenOptions,
    io::Write as _,
    os::unix::ffi::OsStrExt,
    sync::atomic::{AtomicU8, Ordering::Relaxed},
};

use lookaside::{fork_generation, plain_message, secure_variable};
use lookaside_page::{Forever, LONGEST_NAME, Page, Shape, at_exit};

use crate::paged::{Counts, Place};

/// The variables have not been read yet.
const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// The counters of one library in one process: a static value of the library.
pub struct Statistics {
    library: &'static str,
    file: &'static str,
    rows: &'static [&'static str],
    columns: [&'static str; 3],
    at_exit: extern "C" fn(),
    more: fn(&mut String),
    reset: fn(),
    state: AtomicU8,
    /// The value of the variable, where it asks for a report.
    destination: Forever<CString>,
    place: Place,
}

impl Statistics {
    /// Counters of a library that pages call `library` and reports `file`. `rows` are names; `columns` says what the three
    /// counts of a row are; `at_exit` calls [`print`](Self::print) of this value.
    pub const fn new(
        library: &'static str,
        file: &'static str,
        rows: &'static [&'static str],
        columns: [&'static str; 3],
        at_exit: extern "C" fn(),
    ) -> Statistics {
        let mut n = 0;
        while n < rows.len() {
            assert!(rows[n].len() <= LONGEST_NAME);
            n += 1;
        }
        Statistics {
            library,
            file,
            rows,
            columns,
            at_exit,
            more: |_| (),
            reset: || (),
            state: AtomicU8::new(UNKNOWN),
            destination: Forever::new(),
            place: Place::new(),
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
    fn may_be_on(&self) -> bool {
        self.state.load(Relaxed) != OFF
    }

    /// Whether this process prints a report. Reads the variables if nothing has been counted yet.
    pub fn reports(&self) -> bool {
        let on = match self.state.load(Relaxed) {
            UNKNOWN => self.begin(),
            state => state == ON,
        };
        on && self.destination.get().is_some()
    }

    #[inline(never)]
    fn add(&self, row: usize, counts: [u64; 3]) {
        if self.state.load(Relaxed) == UNKNOWN && !self.begin() {
            return;
        }
        self.here().add(row, counts);
    }

    /// Reads the variables. Returns whether to count.
    #[cold]
    fn begin(&self) -> bool {
        let value = secure_variable(c"LOOKASIDE_STATS");
        let value = value.filter(|value| !matches!(value.to_bytes(), b"" | b"0"));
        let reports = value.is_some();
        if let Some(value) = value
            && self.destination.set(None, Box::new(value)).is_ok()
        {
            at_exit(self.at_exit);
        }
        let state = match reports || Page::of_process(fork_generation()).is_some() {
            true => ON,
            false => OFF,
        };
        self.state.store(state, Relaxed);
        state == ON
    }

    /// What this process has counted.
    fn here(&self) -> &'static Counts {
        let shape = || Shape::calls(self.library, self.columns, self.rows.iter().copied());
        self.place.here(shape, self.reset)
    }

    /// Prints the report where the variable asks for it.
    pub fn print(&self) {
        let Some(destination) = self.destination.get() else { return };
        let destination: &CStr = destination;
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
                let e = plain_message(&e);
                let _ = writeln!(std::io::stderr(), "lookaside: LOOKASIDE_STATS={path}: {e}");
            }
        }
    }

    /// The counters as text, one line for each row that was counted in.
    pub fn report(&self) -> String {
        let mut text = String::new();
        let name = std::env::args_os().next().unwrap_or_default();
        let name = std::path::Path::new(&name).file_name().unwrap_or_default().to_string_lossy();
        let (library, process) = (self.file, std::process::id());
        let _ = writeln!(text, "lookaside: {library} in process {process} ({name})");
        let [a, b, c] = self.columns;
        let _ = writeln!(text, "{:42} {a:>10} {b:>14} {c:>14}", "");
        for (row, [a, b, c]) in self.rows.iter().zip(self.here().rows()) {
            if a > 0 {
                let _ = writeln!(text, "{row:42} {a:>10} {b:>14} {c:>14}");
            }
        }
        (self.more)(&mut text);
        text
    }
}
