//! Whether requests that gain by others beside them wait for more.
//!
//! A synchronous client has one private key under way at a time. While some of them wait for a batch, the others' are on
//! their way: those whose clients had requests a moment ago are worth waiting for. When each of them has one waiting, nothing
//! more comes, and the batch is to run at once; a lone client never waits.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// For how long a ring without requests is one that may have the next.
pub(crate) const WHILE: Duration = Duration::from_millis(5);

/// Counts of all rings of a server.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    /// Rings that had such a request a moment ago.
    lively: AtomicUsize,
    /// Rings that have one that is not answered.
    waiting: AtomicUsize,
}

impl Gathering {
    /// Whether each ring that may have a request has one.
    fn is_complete(&self) -> bool {
        self.waiting.load(Relaxed) >= self.lively.load(Relaxed)
    }
}

/// A ring's part in it.
#[derive(Debug)]
pub(crate) struct Member {
    all: Arc<Gathering>,
    /// Requests that are not answered.
    outstanding: usize,
    /// When the last one came or was answered, while that is a moment ago.
    last: Option<Instant>,
}

impl Member {
    pub(crate) fn new(all: &Arc<Gathering>) -> Member {
        Member { all: all.clone(), outstanding: 0, last: None }
    }

    /// A request has come.
    pub(crate) fn begin(&mut self) {
        if self.last.replace(Instant::now()).is_none() {
            self.all.lively.fetch_add(1, Relaxed);
        }
        self.outstanding += 1;
        if self.outstanding == 1 {
            self.all.waiting.fetch_add(1, Relaxed);
        }
    }

    /// A request is answered.
    pub(crate) fn end(&mut self) {
        self.outstanding -= 1;
        self.last = Some(Instant::now());
        if self.outstanding == 0 {
            self.all.waiting.fetch_sub(1, Relaxed);
        }
    }

    /// Whether its requests wait for more.
    pub(crate) fn waits(&self) -> bool {
        self.outstanding > 0 && !self.all.is_complete()
    }

    /// Counts it no more where its last request is long ago. Returns whether it is counted still.
    pub(crate) fn forget(&mut self, now: Instant) -> bool {
        if self.outstanding == 0
            && let Some(last) = self.last
            && now.saturating_duration_since(last) >= WHILE
        {
            self.last = None;
            self.all.lively.fetch_sub(1, Relaxed);
        }
        self.last.is_some()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if self.outstanding > 0 {
            self.all.waiting.fetch_sub(1, Relaxed);
        }
        if self.last.is_some() {
            self.all.lively.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_alone_never_waits_and_others_wait_for_each_other() {
        let all = Arc::new(Gathering::default());
        let mut members: Vec<Member> = (0..3).map(|_| Member::new(&all)).collect();
        members[0].begin();
        assert!(!members[0].waits(), "alone");
        members[1].begin();
        assert!(!members[1].waits(), "each has one");
        members[0].end();
        assert!(members[1].waits(), "the first one's next may come");
        members[0].begin();
        assert!(!members[0].waits() && !members[1].waits());
        members[0].end();
        let later = Instant::now() + WHILE;
        assert!(!members[0].forget(later), "nothing came of it");
        assert!(!members[1].waits());
        assert!(members[1].forget(later), "it has one");
        members[2].begin();
        drop(members);
        assert!(
            all.is_complete() && all.lively.load(Relaxed) == 0 && all.waiting.load(Relaxed) == 0
        );
    }
}
