//! Which process, and whether it still is.

use std::io::{self, Read};
use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, os::unix::fs::MetadataExt};

/// A process, told apart from another one that gets its number later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// Its number.
    pub pid: u64,
    /// When it started, in clock ticks since boot; 0: not known.
    pub start: u64,
    /// The inode of its PID namespace; 0: not known.
    pub namespace: u64,
}

/// Whether a process still is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Running,
    /// It has ended, or waits for its parent to ask how.
    Ended,
    /// It has its number in another namespace, or `/proc` is not there: nothing is known.
    Unknown,
}

impl Identity {
    /// This process.
    pub fn own() -> Identity {
        let start = fs::read("/proc/self/stat").ok().and_then(|stat| started(&stat));
        Identity {
            pid: std::process::id().into(),
            start: start.map_or(0, |(start, _)| start),
            namespace: namespace(),
        }
    }

    /// Whether it still is.
    pub fn state(&self) -> State {
        let here = namespace();
        if here == 0 || (self.namespace != 0 && self.namespace != here) {
            return State::Unknown;
        }
        match stat(self.pid) {
            Ok(stat) => match started(&stat) {
                Some((start, running)) if self.start == 0 || start == self.start => {
                    match running || self.has_threads() {
                        true => State::Running,
                        false => State::Ended,
                    }
                }
                Some(_) => State::Ended,
                None => State::Unknown,
            },
            // Between the opening and the reading it may end.
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => State::Ended,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => State::Ended,
            Err(_) => State::Unknown,
        }
    }

    /// Whether others go on when the first thread has ended.
    fn has_threads(&self) -> bool {
        fs::read_dir(format!("/proc/{}/task", self.pid)).is_ok_and(|tasks| tasks.count() > 1)
    }
}

fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |about| about.ino())
}

/// `/proc/PID/stat`, which is given whole by one read: of a thousand processes, each second, the calls count.
fn stat(pid: u64) -> io::Result<Vec<u8>> {
    let mut stat = vec![0; 1024];
    let read = fs::File::open(format!("/proc/{pid}/stat"))?.read(&mut stat)?;
    stat.truncate(read);
    Ok(stat)
}

/// From `/proc/PID/stat`: when a process started, and whether it still runs. Its name stands in brackets and may hold any.
fn started(stat: &[u8]) -> Option<(u64, bool)> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let running = !matches!(fields.next()?, "Z" | "X" | "x");
    // The 22nd of all, of which the third was next.
    Some((fields.nth(18)?.parse().ok()?, running))
}

/// The name of this program, without its folder.
pub(crate) fn program() -> String {
    let name = fs::read("/proc/self/cmdline").unwrap_or_default();
    let first = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let path = std::path::Path::new(OsStr::from_bytes(first));
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start() {
        let own = Identity::own();
        assert!(own.start > 0 && own.namespace > 0, "{own:?}");
        assert_eq!(own.state(), State::Running);
        assert_eq!(Identity { start: own.start - 1, ..own }.state(), State::Ended);
        assert_eq!(Identity { namespace: own.namespace + 1, ..own }.state(), State::Unknown);
        assert_eq!(Identity { pid: u64::MAX, ..own }.state(), State::Ended);
        let stat = b"7 (a) b) (c) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 0 0";
        assert_eq!(started(stat), Some((4711, true)));
        assert_eq!(
            started(b"7 (a) Z 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12 0"),
            Some((12, false))
        );
        for bad in [&b""[..], b"7 (a", b"7 (a) S 1 2", b"7 (a) \xff"] {
            assert_eq!(started(bad), None);
        }
    }
}
