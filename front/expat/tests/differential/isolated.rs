//! Traces from a child process, which may crash or hang.

use std::fs::File;
use std::io::{Read, Write};
use std::ops::Range;
use std::os::fd::{FromRawFd, IntoRawFd};

/// Seconds of CPU time that one document may take.
const LIMIT: libc::time_t = 2;

/// A child that sends the trace of each seed in turn; after a crash another one goes on behind that seed.
pub struct Isolated<F> {
    seeds: Range<u64>,
    trace: F,
    child: Option<(libc::pid_t, File)>,
}

impl<F: Fn(u64) -> String> Isolated<F> {
    pub fn new(seeds: Range<u64>, trace: F) -> Isolated<F> {
        Isolated { seeds, trace, child: None }
    }

    /// The trace of the next seed; none if the child died of it.
    pub fn next(&mut self) -> Option<String> {
        let (_, pipe) = self.child.get_or_insert_with(|| spawn(self.seeds.clone(), &self.trace));
        self.seeds.next();
        let mut len = [0; 8];
        let mut text = vec![];
        let whole = pipe.read_exact(&mut len).and_then(|()| {
            text.resize(usize::from_ne_bytes(len), 0);
            pipe.read_exact(&mut text)
        });
        if whole.is_err() {
            self.stop();
            return None;
        }
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn stop(&mut self) {
        if let Some((pid, pipe)) = self.child.take() {
            drop(pipe);
            // SAFETY: our own child, which a closed pipe or a signal has ended or ends.
            unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
        }
    }
}

impl<F> Drop for Isolated<F> {
    fn drop(&mut self) {
        if let Some((pid, pipe)) = self.child.take() {
            drop(pipe);
            // SAFETY: our own child: it ends when its pipe is closed.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, std::ptr::null_mut(), 0);
            }
        }
    }
}

fn spawn(seeds: Range<u64>, trace: &impl Fn(u64) -> String) -> (libc::pid_t, File) {
    let (from, to) = std::io::pipe().expect("a pipe");
    // SAFETY: the child calls the closure and `_exit`; glibc keeps its allocator usable over `fork`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork");
    // SAFETY: a file of our own.
    let reader = unsafe { File::from_raw_fd(from.into_raw_fd()) };
    if pid > 0 {
        return (pid, reader);
    }
    drop(reader);
    let mut to = to;
    for seed in seeds {
        let limit = libc::itimerval {
            it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 },
            it_value: libc::timeval { tv_sec: LIMIT, tv_usec: 0 },
        };
        // SAFETY: a signal that ends this process, unless the next seed comes before it.
        unsafe { libc::setitimer(libc::ITIMER_VIRTUAL, &raw const limit, std::ptr::null_mut()) };
        let text = trace(seed);
        let sent =
            to.write_all(&text.len().to_ne_bytes()).and_then(|()| to.write_all(text.as_bytes()));
        if sent.is_err() {
            break;
        }
    }
    // SAFETY: no destructor of the parent's runs here.
    unsafe { libc::_exit(0) }
}
