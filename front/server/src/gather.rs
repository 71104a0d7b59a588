//! Whether requests that gain by others beside them wait for more.
//!
//! A synchronous client has one private key under way at a time. While some of them wait for a batch, the others' are on
//! their way: those whose clients had requests a moment ago are worth waiting for. When each of them has one for the batch that
//! gathers, nothing more comes, and it is to run at once; a lone client never waits. What runs already is of an earlier batch: its
//! clients are waited for.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

/// For how long a ring without requests is one that may have the next.
pub(crate) const WHILE: Duration = Duration::from_millis(5);

const WHILE_NS: u64 = WHILE.as_nanos() as u64;

/// Counts of all rings of a server.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    /// Rings that had such a request a moment ago.
    lively: AtomicUsize,
    /// The number of the batch that gathers, in the upper half; in the lower one, how many rings have a request for it.
    batch: AtomicU64,
}

impl Gathering {
    /// The number of the batch that gathers.
    fn number(&self) -> u32 {
        (self.batch.load(Relaxed) >> 32) as u32
    }

    /// A ring has a request for the batch that gathers: its number, before it is sent off if that completes it.
    fn join(&self) -> u32 {
        let number = (self.batch.fetch_add(1, Relaxed) >> 32) as u32;
        self.complete();
        number
    }

    /// A ring's requests for the batch `number` were answered, or go with their client.
    fn leave(&self, number: u32) {
        let fewer = |now: u64| ((now >> 32) as u32 == number && now as u32 > 0).then(|| now - 1);
        let _ = self.batch.fetch_update(Relaxed, Relaxed, fewer);
    }

    /// Where each ring that may have a request has one: nothing more comes, the next batch gathers.
    fn complete(&self) {
        let lively = self.lively.load(Relaxed);
        let next = |now: u64| {
            let (number, ready) = (now >> 32, now as u32);
            (ready > 0 && ready as usize >= lively).then(|| number.wrapping_add(1) << 32)
        };
        let _ = self.batch.fetch_update(Relaxed, Relaxed, next);
    }
}

/// A ring's part in it.
#[derive(Debug)]
pub(crate) struct Member {
    all: Arc<Gathering>,
    /// Requests that are not answered.
    outstanding: usize,
    /// The batch that its latest request is for.
    joined: Option<u32>,
    /// When the last one came or was answered, while that is a moment ago.
    last_ns: Option<u64>,
}

impl Member {
    pub(crate) fn new(all: &Arc<Gathering>) -> Member {
        Member { all: all.clone(), outstanding: 0, joined: None, last_ns: None }
    }

    /// A request has come.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        if self.last_ns.replace(now_ns).is_none() {
            self.all.lively.fetch_add(1, Relaxed);
        }
        self.outstanding += 1;
        if self.joined != Some(self.all.number()) {
            self.joined = Some(self.all.join());
        }
    }

    /// A request is answered.
    pub(crate) fn end(&mut self, now_ns: u64) {
        self.outstanding -= 1;
        self.last_ns = Some(now_ns);
        if self.outstanding == 0 {
            self.leave();
        }
    }

    fn leave(&mut self) {
        if let Some(number) = self.joined.take() {
            self.all.leave(number);
        }
    }

    /// Whether its requests wait for more.
    pub(crate) fn waits(&self) -> bool {
        self.outstanding > 0 && self.joined == Some(self.all.number())
    }

    /// Counts it no more where its last request is long ago. Returns whether it is counted still.
    pub(crate) fn forget(&mut self, now_ns: u64) -> bool {
        if self.outstanding == 0
            && let Some(last_ns) = self.last_ns
            && now_ns.saturating_sub(last_ns) >= WHILE_NS
        {
            self.last_ns = None;
            self.all.lively.fetch_sub(1, Relaxed);
            self.all.complete();
        }
        self.last_ns.is_some()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.leave();
        if self.last_ns.is_some() {
            self.all.lively.fetch_sub(1, Relaxed);
            self.all.complete();
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
        members[0].begin(7);
        assert!(!members[0].waits(), "alone");
        // While that one runs, the next batch gathers.
        members[1].begin(7);
        assert!(members[1].waits(), "the first one's next may come");
        members[0].end(7);
        assert!(members[1].waits(), "it still may");
        members[0].begin(7);
        assert!(!members[0].waits() && !members[1].waits(), "each has one");
        members[0].end(7);
        members[0].begin(7);
        assert!(members[0].waits());
        members[1].end(7);
        let later = 7 + WHILE_NS;
        assert!(!members[1].forget(later), "nothing came of it");
        assert!(!members[0].waits());
        assert!(members[0].forget(later), "it has one");
        members[2].begin(7);
        assert!(members[2].waits());
        drop(members);
        assert_eq!((all.lively.load(Relaxed), all.batch.load(Relaxed) as u32), (0, 0));
    }
}
