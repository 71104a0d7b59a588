//! A progress bar on a terminal.

use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

/// Draws on standard error, at most ten times a second, and only if that is a terminal.
pub(crate) struct Progress {
    /// Bytes to come, if known. `None` without a terminal: nothing is drawn.
    on: Option<Option<u64>>,
    start: Instant,
    next: Duration,
    drawn: bool,
}

impl Progress {
    pub(crate) fn new(total: Option<u64>, quiet: bool) -> Progress {
        let on = (!quiet && std::io::stderr().is_terminal()).then_some(total);
        // A short run needs no bar.
        let next = Duration::from_millis(300);
        Progress { on, start: Instant::now(), next, drawn: false }
    }

    pub(crate) fn update(&mut self, done: u64) {
        let Some(total) = self.on else { return };
        let elapsed = self.start.elapsed();
        if elapsed < self.next {
            return;
        }
        self.next = elapsed + Duration::from_millis(100);
        self.drawn = true;
        let line = line(done, total, elapsed);
        _ = write!(std::io::stderr(), "\r\x1b[K{line}");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn {
            _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// `[#########           ]  45 %  450 MB  210 MB/s  ETA 0:03`
fn line(done: u64, total: Option<u64>, elapsed: Duration) -> String {
    const WIDTH: usize = 30;
    let mega = |bytes: u64| bytes as f64 / 1e6;
    let rate = done as f64 / elapsed.as_secs_f64().max(1e-9);
    let moved = format!("{:.0} MB  {:.0} MB/s", mega(done), rate / 1e6);
    match total.filter(|&t| t > 0) {
        None => moved,
        Some(total) => {
            let part = (done as f64 / total as f64).min(1.0);
            let bar = "#".repeat((part * WIDTH as f64) as usize);
            let left = (total.saturating_sub(done) as f64 / rate.max(1.0)) as u64;
            let percent = part * 100.0;
            let (minutes, seconds) = (left / 60, left % 60);
            format!("[{bar:<WIDTH$}] {percent:3.0} %  {moved}  ETA {minutes}:{seconds:02}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let s = Duration::from_secs(2);
        assert_eq!(line(200_000_000, None, s), "200 MB  100 MB/s");
        let half = line(200_000_000, Some(400_000_000), s);
        assert_eq!(half, "[###############               ]  50 %  200 MB  100 MB/s  ETA 0:02");
        assert!(line(500, Some(400), s).contains("100 %"));
        assert!(line(0, Some(0), Duration::ZERO).starts_with("0 MB"));
    }
}
