//! Lines for the journal.

use std::{fmt, io::Write as _, sync::OnceLock};

/// How much a line matters, in syslog's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Warning = 4,
    Info = 6,
}

/// Writes a line to the standard error output; where that is the journal, with its level before it.
pub(crate) fn line(level: Level, line: fmt::Arguments<'_>) {
    static JOURNAL: OnceLock<bool> = OnceLock::new();
    let journal = *JOURNAL.get_or_init(|| std::env::var_os("JOURNAL_STREAM").is_some());
    let mut to = std::io::stderr().lock();
    let _ = match journal {
        true => writeln!(to, "<{}>{line}", level as u8),
        false => writeln!(to, "lookaside serve: {line}"),
    };
}
