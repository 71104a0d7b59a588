//! Who was served: readable as provider parameters, and printed when the provider is unloaded.

use std::{
    fmt::Write as _,
    fs::OpenOptions,
    io::Write as _,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use lookaside::{Op, plain_message};
use lookaside_drop_in::Paged;

use crate::{
    bulk::list::{SPECS, Spec},
    dispatch,
    error::Result,
    ffi::Param,
    hash, mac,
    param::Answers,
    provider::Provider,
    settings::{Policy, Report},
};

/// The parameters of a provider.
pub static GETTABLE: [Param; 14] = [
    Param::text_pointer(c"name"),
    Param::text_pointer(c"version"),
    Param::text_pointer(c"buildinfo"),
    Param::int(c"status"),
    Param::size(c"engines"),
    Param::text(c"policy"),
    Param::size(c"depth"),
    Param::size(c"synchronous"),
    Param::size(c"asynchronous"),
    Param::size(c"batches"),
    Param::text(c"cpu"),
    Param::text(c"left-to-default"),
    Param::text(c"statistics"),
    Param::END,
];

/// Counters of one operation.
#[derive(Default)]
pub struct Tally {
    /// Run at once on the caller's thread, outside of any job.
    pub synchronous: AtomicU64,
    /// Run at once inside a job: the operation does not pause, or the job was alone.
    pub direct: AtomicU64,
    /// Submitted by a job that paused.
    pub asynchronous: AtomicU64,
    /// Run at once because the ring was full or there was no file descriptor.
    pub fallback: AtomicU64,
    /// Answered with an error.
    pub errors: AtomicU64,
}

/// Counters of one algorithm that is used in bulk.
#[derive(Default)]
pub struct Bulk {
    /// Pieces of texts.
    pub pieces: AtomicU64,
    /// Their bytes.
    pub bytes: AtomicU64,
    /// How many of them were submitted by jobs that paused.
    pub paused: AtomicU64,
}

/// An algorithm with counters of its own.
pub trait Tallied {
    /// Its place among all of them: ciphers, then digests, then MACs.
    fn place(&self) -> usize;
}

impl Tallied for Spec {
    fn place(&self) -> usize {
        self.index
    }
}

/// Where digests begin.
pub const DIGESTS: usize = SPECS.len();
/// Where MACs begin.
pub const MACS: usize = DIGESTS + hash::list::SPECS.len();

/// The names of all of them.
fn names() -> Vec<&'static str> {
    let ciphers = SPECS.iter().map(Spec::name);
    let digests = hash::list::SPECS.iter().map(hash::list::Spec::name);
    ciphers.chain(digests).chain(mac::list::NAMES).collect()
}

/// The same counters in the page of the process, of all providers together.
static PAGED: Paged = Paged::new("openssl", ["pieces", "bytes", "asynchronous"], names);

/// What one text has counted by itself: a counter that all threads share costs more than a short
/// piece.
#[derive(Clone, Default)]
pub struct Count {
    pieces: u32,
    paused: u32,
    bytes: u64,
}

/// So many pieces are counted apart.
const APART: u32 = 256;

impl Count {
    /// Counts a piece.
    #[inline]
    pub fn add(&mut self, provider: &Provider, spec: &impl Tallied, bytes: usize) {
        self.pieces += 1;
        self.bytes += bytes as u64;
        if self.pieces >= APART {
            self.settle(provider, spec);
        }
    }

    /// Says of the last piece that its job pauses.
    pub fn pause(&mut self) {
        self.paused += 1;
    }

    /// Adds what was counted to the provider's counters.
    #[inline(never)]
    pub fn settle(&mut self, provider: &Provider, spec: &impl Tallied) {
        if self.pieces + self.paused > 0 {
            let Count { pieces, paused, bytes } = core::mem::take(self);
            let place = spec.place();
            PAGED.count(place, [pieces.into(), bytes, paused.into()]);
            let bulk = &provider.tallies.bulk[place];
            bulk.pieces.fetch_add(pieces.into(), Relaxed);
            if paused > 0 {
                bulk.paused.fetch_add(paused.into(), Relaxed);
            }
            bulk.bytes.fetch_add(bytes, Relaxed);
        }
    }
}

/// Counters of the provider.
pub struct Tallies {
    ops: [Tally; Op::ALL.len()],
    /// Algorithms, by their [place](Tallied::place).
    bulk: [Bulk; MACS + mac::list::NAMES.len()],
    /// How often a job paused.
    pub pauses: AtomicU64,
    /// Operations whose job or wait context went away before they were done.
    pub abandoned: AtomicU64,
    /// Whether they have been printed.
    reported: AtomicBool,
}

impl Default for Tallies {
    fn default() -> Tallies {
        Tallies {
            ops: core::array::from_fn(|_| Tally::default()),
            bulk: core::array::from_fn(|_| Bulk::default()),
            pauses: AtomicU64::new(0),
            abandoned: AtomicU64::new(0),
            reported: AtomicBool::new(false),
        }
    }
}

impl Tallies {
    /// The counters of one operation.
    pub fn of(&self, op: Op) -> &Tally {
        &self.ops[op.index()]
    }
}

/// Adds one.
pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// Answers with settings in effect and counters.
pub fn answer(provider: &Provider, answers: &mut Answers) -> Result<()> {
    let settings = &provider.settings;
    answers.int(c"engines", provider.lanes.engines() as i64)?;
    answers.int(c"depth", settings.depth as i64)?;
    let policy = match settings.policy {
        Policy::Wait => c"wait",
        Policy::Fallback => c"fallback",
        Policy::Fail => c"fail",
    };
    answers.text(c"policy", policy)?;
    answers.passing_text(c"cpu", lookaside_cpu::family().name())?;
    if answers.wants(c"left-to-default") {
        answers.passing_text(c"left-to-default", &provider.offer.left().join(" "))?;
    }
    let sum = |counter: fn(&Tally) -> &AtomicU64| -> i64 {
        provider.tallies.ops.iter().map(|tally| counter(tally).load(Relaxed)).sum::<u64>() as i64
    };
    answers
        .int(c"synchronous", sum(|t| &t.synchronous) + sum(|t| &t.direct) + sum(|t| &t.fallback))?;
    answers.int(c"asynchronous", sum(|t| &t.asynchronous))?;
    if answers.wants(c"batches") {
        let rows = provider.lanes.counters();
        let batches: u64 = rows.iter().flat_map(|c| &c.ops).map(|row| row.batches).sum();
        answers.int(c"batches", batches as i64)?;
    }
    if answers.wants(c"statistics") {
        answers.passing_text(c"statistics", &table(provider))?;
    }
    Ok(())
}

/// All counters as a table: per operation how it was run; per operation and device how many
/// requests and batches there were, and how many batches of which size (powers of two).
pub fn table(provider: &Provider) -> String {
    dispatch::kept::settle();
    let mut text = String::new();
    let tallies = &provider.tallies;
    let left = match provider.offer.left() {
        [] => "nothing".to_owned(),
        left => left.join(" "),
    };
    let family = lookaside_cpu::family();
    let _ = writeln!(text, "lookaside: CPU {family}; left to the default provider: {left}");
    if let Some(missing) = provider.lanes.engines_missing() {
        let _ = writeln!(text, "lookaside: {missing}");
    }
    let _ = writeln!(
        text,
        "lookaside: {:<14} {:>10} {:>10} {:>12} {:>10} {:>8}",
        "operation", "at once", "in a job", "asynchronous", "fallback", "errors"
    );
    for op in Op::ALL {
        let tally = tallies.of(op);
        let row = [
            &tally.synchronous,
            &tally.direct,
            &tally.asynchronous,
            &tally.fallback,
            &tally.errors,
        ]
        .map(|c| c.load(Relaxed));
        if row.iter().any(|&n| n > 0) {
            let _ = writeln!(
                text,
                "lookaside: {:<14} {:>10} {:>10} {:>12} {:>10} {:>8}",
                op.name(),
                row[0],
                row[1],
                row[2],
                row[3],
                row[4]
            );
        }
    }
    for (name, bulk) in names().into_iter().zip(&tallies.bulk) {
        let [pieces, bytes, paused] =
            [&bulk.pieces, &bulk.bytes, &bulk.paused].map(|c| c.load(Relaxed));
        if pieces > 0 {
            let _ = writeln!(
                text,
                "lookaside: {name}: {pieces} pieces, {bytes} bytes; {paused} of them asynchronous"
            );
        }
    }
    for row in provider.lanes.counters().iter().flat_map(|counters| &counters.ops) {
        if row.requests == 0 {
            continue;
        }
        let _ = write!(
            text,
            "lookaside: {} {}: {} requests in {} batches, of size",
            row.device, row.op, row.requests, row.batches
        );
        for (i, n) in row.lanes.buckets.iter().enumerate().filter(|(_, n)| **n > 0) {
            let (low, high) = (1u64 << i >> 1, (1u64 << i) - 1);
            let _ = match low == high {
                true => write!(text, " {low}: {n}"),
                false => write!(text, " {low}-{high}: {n}"),
            };
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "lookaside: {} pauses, {} abandoned",
        tallies.pauses.load(Relaxed),
        tallies.abandoned.load(Relaxed)
    );
    text
}

/// Prints the table where the settings say, once: the program exits, or unloads the provider.
pub fn report(provider: &Provider) {
    if provider.tallies.reported.swap(true, Relaxed) {
        return;
    }
    match &provider.settings.statistics {
        Report::None => {}
        Report::Stderr => eprint!("{}", table(provider)),
        Report::File(path) => {
            let text = format!("lookaside: process {}\n{}", std::process::id(), table(provider));
            let written = OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .and_then(|mut file| file.write_all(text.as_bytes()));
            if let Err(e) = written {
                eprintln!("lookaside: statistics: {}: {}", path.display(), plain_message(&e));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_a_place_of_its_own() {
        let names = names();
        assert_eq!(names.len(), Tallies::default().bulk.len());
        for spec in &SPECS {
            assert_eq!(names[spec.place()], spec.name());
        }
        for spec in &hash::list::SPECS {
            assert_eq!(names[spec.place()], spec.name());
        }
        assert_eq!(names[mac::list::Place::POLY1305.place()], "POLY1305");
        assert!(names.iter().all(|name| name.len() <= lookaside_drop_in::LONGEST_NAME));
    }
}
