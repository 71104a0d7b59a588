//! What a measurement is at, on a terminal.

use std::io::{self, IsTerminal, Write};

/// One line of standard error that says what goes on, if that is a terminal.
pub struct Progress {
    name: &'static str,
    shown: bool,
    here: bool,
}

impl Progress {
    /// Nothing is shown yet.
    pub fn new(name: &'static str) -> Progress {
        Progress { name, shown: false, here: io::stderr().is_terminal() }
    }

    /// Shows this instead of what was shown before; a part of it, where the terminal is narrow.
    pub fn show(&mut self, what: &str) {
        if !self.here {
            return;
        }
        let width = rustix::termios::tcgetwinsize(io::stderr()).map_or(80, |w| w.ws_col);
        let line: String = format!("{}: {what}", self.name);
        let fits: String = line.chars().take(usize::from(width.max(20)) - 1).collect();
        // A terminal that has gone is no reason to measure nothing.
        _ = write!(io::stderr(), "\r\x1b[K{fits}");
        _ = io::stderr().flush();
        self.shown = true;
    }

    /// The line is empty again.
    pub fn end(&mut self) {
        if core::mem::take(&mut self.shown) {
            _ = write!(io::stderr(), "\r\x1b[K");
            _ = io::stderr().flush();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
