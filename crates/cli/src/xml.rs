//! `lookaside xml`: documents checked, validated, searched, shown.
//!
//! Each thread has a document; what is printed is in the order of the command line. `check` and `events` are requests, as
//! is decompression. Trees, XPath and schemas are functions of `crates/xml`, called here.

mod external;
mod layout;
mod options;
mod show;
mod source;
mod task;
mod turns;

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use lookaside::Runtime;

pub use options::Options;

use crate::scan::Walk;
use source::Source;
use task::{Prepared, prepare};
use turns::{Printed, Turns};

/// Exit statuses, as xmllint's where it has them. The highest of a run counts, but that nothing was selected gives way.
pub(crate) mod status {
    pub(crate) const FAULT: u8 = 1;
    pub(crate) const INVALID: u8 = 3;
    pub(crate) const SCHEMA: u8 = 5;
    pub(crate) const WRITE: u8 = 6;
    pub(crate) const EXPRESSION: u8 = 10;
    pub(crate) const NOTHING: u8 = 11;
}

/// Does what the command line asks for.
pub fn run(options: &Options) -> ExitCode {
    let (prepared, runtime) = match prepare(options).and_then(|prepared| {
        let runtime = Runtime::builder().device(lookaside_cpu::cpu()).start();
        Ok((prepared, runtime.map_err(|e| (status::FAULT, e.to_string()))?))
    }) {
        Ok(both) => both,
        Err((status, message)) => {
            eprintln!("lookaside: {}", crate::plain(&message));
            return ExitCode::from(status);
        }
    };
    let all = All {
        options,
        prepared: &prepared,
        runtime: &runtime,
        walk: Mutex::new((Walk::new(&options.paths), 0)),
        turns: Turns::default(),
        status: AtomicU8::new(0),
        found: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        progress: Mutex::new(Progress::new()),
    };
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..runtime.engines().max(1) {
            scope.spawn(|| all.work());
        }
    });
    all.finish(begun.elapsed())
}

/// What the threads share.
struct All<'a> {
    options: &'a Options,
    prepared: &'a Prepared,
    runtime: &'a Runtime,
    /// With how many documents were taken.
    walk: Mutex<(Walk, usize)>,
    turns: Turns,
    status: AtomicU8,
    /// Nodes that were selected.
    found: AtomicU64,
    bytes: AtomicU64,
    progress: Mutex<Progress>,
}

impl All<'_> {
    /// Takes one document after the other.
    fn work(&self) {
        let mut worker = task::Worker::new(self.prepared, self.runtime, self.options);
        loop {
            let (next, mut printed) = {
                let mut walk = self.walk.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(next) = walk.0.next() else { return };
                walk.1 += 1;
                (next, self.turns.printed(walk.1 - 1))
            };
            match next {
                Err(message) => self.complain(&mut printed, status::FAULT, &message),
                Ok(input) => {
                    let mut source = Source::new(input, self.runtime);
                    let done = worker.document(self.options.json, &mut source, &mut printed);
                    self.bytes.fetch_add(source.bytes, Ordering::Relaxed);
                    match done {
                        Ok(done) => {
                            self.found.fetch_add(done.found, Ordering::Relaxed);
                            self.status.fetch_max(done.status, Ordering::Relaxed);
                        }
                        Err(e) => self.failed(source.name(), &e, &mut printed),
                    }
                }
            }
            if let Err(e) = printed.finish() {
                self.failed("standard output", &e, &mut self.turns.printed(0));
            }
            self.progress.lock().unwrap_or_else(PoisonError::into_inner).tell(self);
        }
    }

    fn complain(&self, printed: &mut Printed<'_>, status: u8, message: &str) {
        self.status.fetch_max(status, Ordering::Relaxed);
        printed.complaints += &format!("lookaside: {message}\n");
    }

    fn failed(&self, what: &str, e: &io::Error, printed: &mut Printed<'_>) {
        match e.kind() {
            // Who reads no further wants no more.
            io::ErrorKind::BrokenPipe => std::process::exit(0),
            io::ErrorKind::StorageFull | io::ErrorKind::WriteZero => {
                eprintln!("lookaside: {what}: {e}");
                std::process::exit(status::WRITE.into());
            }
            _ => self.complain(printed, status::FAULT, &format!("{what}: {e}")),
        }
    }

    fn finish(&self, took: Duration) -> ExitCode {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clear();
        if self.options.speed {
            eprint!("{}", self.speed(took));
        }
        let worst = self.status.load(Ordering::Relaxed);
        let selects = matches!(self.options.task, options::Task::Select { .. });
        let nothing = selects && worst == 0 && self.found.load(Ordering::Relaxed) == 0;
        ExitCode::from(if nothing { status::NOTHING } else { worst })
    }

    /// The rate, and who served it by the device's own counters.
    fn speed(&self, took: Duration) -> String {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let documents = self.walk.lock().unwrap_or_else(PoisonError::into_inner).1;
        let seconds = took.as_secs_f64().max(1e-9);
        let rate = bytes as f64 * 1e-6 / seconds;
        let mut out =
            format!("{documents} documents, {bytes} bytes in {seconds:.3} s: {rate:.0} MB/s\n");
        for row in self.runtime.counters().ops.iter().filter(|row| row.requests > 0) {
            let busy = row.busy_ns as f64 * 1e-9;
            let own = row.src_bytes as f64 * 1e-6 / busy.max(1e-9);
            out += &format!(
                "{} served by {}: {} requests, {} bytes, {own:.0} MB/s per engine\n",
                row.op, row.device, row.requests, row.src_bytes,
            );
        }
        out
    }
}

/// What was done so far, on a terminal.
struct Progress {
    is_shown: bool,
    last: Instant,
    written: bool,
}

impl Progress {
    fn new() -> Progress {
        let is_shown = io::stderr().is_terminal() && !io::stdout().is_terminal();
        Progress { is_shown, last: Instant::now(), written: false }
    }

    fn tell(&mut self, all: &All<'_>) {
        if self.is_shown && self.last.elapsed() > Duration::from_millis(200) {
            let documents = all.walk.lock().unwrap_or_else(PoisonError::into_inner).1;
            let mib = all.bytes.load(Ordering::Relaxed) >> 20;
            eprint!("\r{documents} documents, {mib} MiB ");
            (self.last, self.written) = (Instant::now(), true);
        }
    }

    fn clear(&mut self) {
        if self.written {
            eprint!("\r{:40}\r", "");
        }
    }
}
