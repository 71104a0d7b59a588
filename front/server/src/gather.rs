//! Whether requests that gain by others beside them wait for more.
//!
//! A synchronous client has one private key under way at a time. While some of them wait for a batch, the others' are on
//! their way: those whose clients had requests a moment ago are worth waiting for. When each of them has one for the batch that
//! gathers, nothing more comes, and it is to run at once; a lone client never waits. What runs already is of an earlier batch: its
//! clients are waited for.
//!
//! Where clients come one at a time, the way to the server costs more than company gains. So they are told whether there
//! is some ([`Company`]), and stay in their processes where there is none.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

/// For how long a ring without requests is one that may have the next.
pub(crate) const WHILE: Duration = Duration::from_millis(5);

const WHILE_NS: u64 = WHILE.as_nanos() as u64;

/// A batch for which nothing has come for so long runs with what it has.
const QUIET_NS: u64 = 300_000;
/// The same after a call, which those who have the CPU hear with their next request, and the others when they have it again.
const CALLED_NS: u64 = 1_000_000;

/// Counts of all rings of a server.
#[derive(Debug)]
pub(crate) struct Gathering {
    /// Rings that have had such a request.
    members: AtomicUsize,
    /// Those with some that are not answered.
    busy: AtomicUsize,
    company: Mutex<Company>,
    /// What `company` has found.
    found: AtomicBool,
    /// Clients were called together, and it is not known yet what came of it.
    called: AtomicBool,
    /// Rings that had such a request a moment ago.
    lively: AtomicUsize,
    /// The number of the batch that gathers, in the upper half; in the lower one, how many rings have a request for it.
    batch: AtomicU64,
    /// When a ring last had a request for it.
    joined_ns: AtomicU64,
}

/// What becomes of the batch that gathers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gathered {
    /// Nothing waits.
    Nothing,
    /// It runs in so many nanoseconds, unless something comes.
    In(u64),
    /// It is to run.
    Now,
}

/// Whether requests come while others are under way. Four lanes pay for the way to the server: requests that fill a batch
/// of four find 1 to 4 rings busy, themselves included.
#[derive(Debug)]
struct Company {
    found: bool,
    /// It was found by nobody: clients are called to see.
    called: bool,
    /// Since when requests are counted, how many have come, and how many rings each of them has found busy in all.
    since_ns: u64,
    requests: u32,
    busy: u32,
    /// Where there is none: when it is looked for again, and how long it was let be the last time.
    again_ns: u64,
    rest_ns: u64,
}

/// So many requests are judged together, or those of so long: but two at least.
const JUDGED: u32 = 16;
const JUDGED_NS: u64 = 10_000_000;
/// The mean of rings that are busy, in tenths: a little less than of four that come together.
const PAYS: u32 = 23;
/// Fewer rings are not called: they could not fill so many lanes.
const LEAST_MEMBERS: usize = 4;
/// Where clients were alone, each time twice as long until they are called together again.
const FIRST_REST_NS: u64 = 20_000_000;
const LAST_REST_NS: u64 = 1_280_000_000;

impl Company {
    fn new() -> Company {
        let rest_ns = FIRST_REST_NS;
        let (found, called) = (true, false);
        Company { found, called, since_ns: 0, requests: 0, busy: 0, again_ns: 0, rest_ns }
    }

    /// A request of one of so many rings has come, and so many are busy.
    fn request(&mut self, now_ns: u64, members: usize, busy: usize) {
        if !self.found && (now_ns < self.again_ns || members < LEAST_MEMBERS) {
            return;
        }
        if !self.found {
            (self.found, self.called, self.requests) = (true, true, 0);
        }
        if self.requests == 0 {
            (self.since_ns, self.busy) = (now_ns, 0);
        }
        self.requests += 1;
        self.busy = self.busy.saturating_add(busy.min(64) as u32);
        let long = self.requests > 1 && now_ns.saturating_sub(self.since_ns) >= JUDGED_NS;
        if self.requests < JUDGED && !long {
            return;
        }
        self.found = 10 * self.busy >= PAYS * self.requests;
        (self.called, self.requests) = (false, 0);
        if self.found {
            self.rest_ns = FIRST_REST_NS;
        } else {
            self.again_ns = now_ns.saturating_add(self.rest_ns);
            self.rest_ns = (2 * self.rest_ns).min(LAST_REST_NS);
        }
    }
}

impl Gathering {
    pub(crate) fn new() -> Gathering {
        Gathering {
            members: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            company: Mutex::new(Company::new()),
            found: AtomicBool::new(true),
            called: AtomicBool::new(false),
            lively: AtomicUsize::new(0),
            batch: AtomicU64::new(0),
            joined_ns: AtomicU64::new(0),
        }
    }

    /// Whether requests find others beside them.
    pub(crate) fn has_company(&self) -> bool {
        self.found.load(Relaxed)
    }

    fn request(&self, now_ns: u64) {
        let mut company = self.company.lock().unwrap_or_else(PoisonError::into_inner);
        company.request(now_ns, self.members.load(Relaxed), self.busy.load(Relaxed));
        self.found.store(company.found, Relaxed);
        self.called.store(company.called, Relaxed);
    }

    /// Where nothing has come for a while, the batch that gathers is to run with what it has.
    pub(crate) fn quiet(&self, now_ns: u64) -> Gathered {
        if self.batch.load(Relaxed) as u32 == 0 {
            return Gathered::Nothing;
        }
        let quiet_ns = now_ns.saturating_sub(self.joined_ns.load(Relaxed));
        let enough_ns = if self.called.load(Relaxed) { CALLED_NS } else { QUIET_NS };
        if quiet_ns < enough_ns {
            return Gathered::In(enough_ns - quiet_ns);
        }
        self.advance(1);
        Gathered::Now
    }

    /// The next batch gathers, if so many rings have a request for this one, and any has.
    fn advance(&self, least: usize) {
        let next = |now: u64| {
            let (number, ready) = (now >> 32, now as u32);
            (ready > 0 && ready as usize >= least).then(|| number.wrapping_add(1) << 32)
        };
        let _ = self.batch.fetch_update(Relaxed, Relaxed, next);
    }

    /// The number of the batch that gathers.
    fn number(&self) -> u32 {
        (self.batch.load(Relaxed) >> 32) as u32
    }

    /// A ring has a request for the batch that gathers: its number, before it is sent off if that completes it.
    fn join(&self, now_ns: u64) -> u32 {
        self.joined_ns.store(now_ns, Relaxed);
        let number = (self.batch.fetch_add(1, Relaxed) >> 32) as u32;
        self.complete();
        number
    }

    /// A ring's requests for the batch `number` were answered, or go with their client.
    fn leave(&self, number: u32) {
        let fewer = |now: u64| ((now >> 32) as u32 == number && now as u32 > 0).then(|| now - 1);
        let _ = self.batch.fetch_update(Relaxed, Relaxed, fewer);
    }

    /// Where each ring that may have a request has one: nothing more comes, the next batch gathers. After a call others may come.
    fn complete(&self) {
        if !self.called.load(Relaxed) {
            self.advance(self.lively.load(Relaxed));
        }
    }
}

/// A ring's part in it.
#[derive(Debug)]
pub(crate) struct Member {
    all: Arc<Gathering>,
    /// It has had a request.
    is_known: bool,
    /// Requests that are not answered.
    outstanding: usize,
    /// The batch that its latest request is for.
    joined: Option<u32>,
    /// When the last one came or was answered, while that is a moment ago.
    last_ns: Option<u64>,
}

impl Member {
    pub(crate) fn new(all: &Arc<Gathering>) -> Member {
        Member { all: all.clone(), is_known: false, outstanding: 0, joined: None, last_ns: None }
    }

    /// A request has come.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        if self.last_ns.replace(now_ns).is_none() {
            self.all.lively.fetch_add(1, Relaxed);
        }
        if !std::mem::replace(&mut self.is_known, true) {
            self.all.members.fetch_add(1, Relaxed);
        }
        if self.outstanding == 0 {
            self.all.busy.fetch_add(1, Relaxed);
        }
        self.outstanding += 1;
        self.all.request(now_ns);
        if self.joined != Some(self.all.number()) {
            self.joined = Some(self.all.join(now_ns));
        }
    }

    /// A request is answered.
    pub(crate) fn end(&mut self, now_ns: u64) {
        self.outstanding -= 1;
        self.last_ns = Some(now_ns);
        if self.outstanding == 0 {
            self.all.busy.fetch_sub(1, Relaxed);
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
        if self.is_known {
            self.all.members.fetch_sub(1, Relaxed);
        }
        if self.outstanding > 0 {
            self.all.busy.fetch_sub(1, Relaxed);
        }
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
        let all = Arc::new(Gathering::new());
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
        assert_eq!((all.members.load(Relaxed), all.busy.load(Relaxed)), (0, 0));
    }

    #[test]
    fn a_batch_that_nothing_comes_for_runs() {
        let all = Arc::new(Gathering::new());
        let mut members: Vec<Member> = (0..3).map(|_| Member::new(&all)).collect();
        assert_eq!(all.quiet(7), Gathered::Nothing);
        members[0].begin(7);
        assert!(!members[0].waits(), "alone");
        members[1].begin(4_007);
        members[2].begin(5_007);
        assert_eq!(all.quiet(6_007), Gathered::In(QUIET_NS - 1_000));
        assert!(members[1].waits() && members[2].waits(), "the first one's next may come");
        assert_eq!(all.quiet(5_007 + QUIET_NS), Gathered::Now);
        assert_eq!(all.quiet(5_007 + QUIET_NS), Gathered::Nothing);
        assert!(!members[1].waits() && !members[2].waits(), "it did not");
    }

    /// Requests every millisecond of so many rings at once, in rounds: whether company is found after each of them.
    fn rounds(all: &Arc<Gathering>, rings: usize, start_ns: u64, rounds: u64) -> Vec<bool> {
        let mut members: Vec<Member> = (0..rings).map(|_| Member::new(all)).collect();
        let round = |n: u64| {
            let now_ns = start_ns + n * 1_000_000;
            members.iter_mut().for_each(|member| member.begin(now_ns));
            members.iter_mut().for_each(|member| member.end(now_ns));
            all.has_company()
        };
        (0..rounds).map(round).collect()
    }

    /// A ring that had a request once.
    fn known(mut member: Member) -> Member {
        member.begin(0);
        member.end(0);
        member
    }

    #[test]
    fn company_is_found_and_lost() {
        const SECOND_NS: u64 = 1_000_000_000;
        let count = |of: Vec<bool>| of.iter().filter(|found| **found).count();
        let all = Arc::new(Gathering::new());
        assert!(all.has_company(), "until it is known");
        assert!(count(rounds(&all, 1, 0, 100)) < 20, "one is alone");
        assert_eq!(count(rounds(&all, 1, SECOND_NS, 10_000)), 0, "and nobody else is there");
        let idle: Vec<Member> = (0..4).map(|_| Member::new(&all)).map(known).collect();
        let called = count(rounds(&all, 1, 20 * SECOND_NS, 10_000));
        assert!((1..300).contains(&called), "called for {called} of 10,000 requests");
        drop(idle);
        assert!(count(rounds(&all, 3, 32 * SECOND_NS, 1_000)) < 100, "three do not pay");
        let four = rounds(&all, 4, 34 * SECOND_NS, 4_000);
        let from = four.iter().position(|found| *found);
        assert!(from.is_some_and(|from| from <= 1_300), "within the longest rest: {from:?}");
        assert!(four[from.unwrap_or(0)..].iter().all(|found| *found), "and it stays");
    }
}
