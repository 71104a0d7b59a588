//! A device that misbehaves within the contract of [`Channel`]: around any other device.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use lookaside_core::{
    Batch, Capability, Channel, Completed, Device, EngineId, Limits, Lost, Prepared, Region,
    Request, SessionSpec, SetupError, Wake, Work,
};

use crate::Rng;

/// What goes wrong, and how often, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// A submit is refused, wholly or in part.
    pub busy: u32,
    /// A request that was taken is lost before it is executed: untouched.
    pub lost: u32,
    /// A request is lost while it is executed: touched, its destination half written.
    pub half: u32,
    /// A request is lost after it was executed: touched, and nobody can tell that it was done.
    pub undelivered: u32,
    /// A poll hands nothing back although something is finished.
    pub late: u32,
    /// Finished requests come back in another order.
    pub reorder: u32,
    /// After this many requests the device is gone: it takes nothing more, and what it holds is lost.
    /// 0 for never.
    pub vanish_after: u64,
    /// After each so many requests, a channel answers nothing until it is reset. 0 for never.
    pub hang_after: u64,
}

/// A device with faults, seeded.
pub struct FaultDevice<D> {
    inner: D,
    faults: Faults,
    seed: u64,
    taken: Arc<AtomicU64>,
    /// How many channels were opened.
    opened: AtomicU64,
    name: Option<String>,
    timeout_ns: Option<u64>,
}

impl<D: Device> FaultDevice<D> {
    /// Wraps a device; it keeps its name and capabilities.
    pub fn new(inner: D, faults: Faults, seed: u64) -> FaultDevice<D> {
        let (taken, opened) = (Arc::default(), AtomicU64::new(0));
        FaultDevice { inner, faults, seed, taken, opened, name: None, timeout_ns: None }
    }

    /// The same device with another name.
    #[must_use]
    pub fn named(mut self, name: &str) -> FaultDevice<D> {
        self.name = Some(name.to_owned());
        self
    }

    /// The same device, whose channels are to be reset when they have not answered for so long.
    #[must_use]
    pub fn timeout_ns(mut self, timeout_ns: u64) -> FaultDevice<D> {
        self.timeout_ns = Some(timeout_ns);
        self
    }
}

impl<D: Device> Device for FaultDevice<D> {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.inner.name())
    }

    fn limits(&self) -> Limits {
        let inner = self.inner.limits();
        Limits { timeout_ns: self.timeout_ns.or(inner.timeout_ns), ..inner }
    }

    fn capabilities(&self) -> &[Capability] {
        self.inner.capabilities()
    }

    fn prepare(&self, spec: &SessionSpec) -> Result<Prepared, SetupError> {
        self.inner.prepare(spec)
    }

    fn prepare_set(&self, sessions: &[&Prepared]) -> Result<Prepared, SetupError> {
        self.inner.prepare_set(sessions)
    }

    fn attach(&self, region: &Region) -> Result<(), SetupError> {
        self.inner.attach(region)
    }

    fn open_channel(&self, engine: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        // Not the engine's number, which depends on what else the process has started.
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(FaultChannel {
            inner: self.inner.open_channel(engine)?,
            faults: self.faults,
            rng: Rng::new(self.seed ^ number << 32),
            taken: self.taken.clone(),
            waiting: VecDeque::new(),
            lost: Vec::new(),
            finished: Vec::new(),
            collected: Completed::default(),
            since_reset: 0,
        }))
    }
}

struct FaultChannel {
    inner: Box<dyn Channel>,
    faults: Faults,
    rng: Rng,
    taken: Arc<AtomicU64>,
    /// Taken, but the device inside is busy.
    waiting: VecDeque<Work>,
    /// Lost, with their results.
    lost: Vec<Work>,
    /// Executed.
    finished: Vec<Work>,
    collected: Completed,
    /// Requests taken since the last reset.
    since_reset: u64,
}

impl FaultChannel {
    fn is_gone(&self) -> bool {
        let limit = self.faults.vanish_after;
        limit != 0 && self.taken.load(Ordering::Relaxed) >= limit
    }

    fn is_hanging(&self) -> bool {
        let limit = self.faults.hang_after;
        limit != 0 && self.since_reset >= limit
    }

    fn count(&mut self) {
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.since_reset += 1;
    }

    fn lose(&mut self, mut work: Work, lost: Lost) {
        work.lose(lost);
        self.lost.push(work);
    }

    /// Loses a request that was executed, if that is what goes wrong. Returns whether it did.
    fn spoil(&mut self, work: &mut Work) -> bool {
        let half = self.rng.chance(self.faults.half);
        if !half && !self.rng.chance(self.faults.undelivered) {
            return false;
        }
        if half {
            let Request { dst, .. } = work.request_mut();
            let noise = vec![0xa5; dst.len() / 2];
            dst.scatter(&noise);
        }
        work.lose(Lost::Touched);
        true
    }

    /// Takes what the device inside has finished.
    fn collect(&mut self) {
        while let Some(mut work) = self.collected.pop() {
            match self.spoil(&mut work) {
                true => self.lost.push(work),
                false => self.finished.push(work),
            }
        }
    }

    fn lose_all(&mut self) {
        while let Some(work) = self.finished.pop() {
            self.lose(work, Lost::Touched);
        }
        while let Some(work) = self.waiting.pop_front() {
            self.lose(work, Lost::Untouched);
        }
    }

    fn hand_back(done: &mut Completed, work: Work) {
        let result = *work.result();
        done.push(work, result);
    }
}

impl Channel for FaultChannel {
    fn submit(&mut self, now_ns: u64, batch: &mut Batch<'_>) -> usize {
        let mut taken = 0;
        while !batch.is_empty() {
            if self.is_gone() || self.is_hanging() || self.rng.chance(self.faults.busy) {
                break;
            }
            let Some(work) = batch.take() else { break };
            match self.rng.chance(self.faults.lost) {
                true => self.lose(work, Lost::Untouched),
                false => self.waiting.push_back(work),
            }
            self.count();
            taken += 1;
        }
        self.inner.submit(now_ns, &mut Batch::new(&mut self.waiting));
        taken
    }

    fn run_now(&mut self, work: &mut Work) -> bool {
        let refused = self.is_gone() || self.is_hanging() || self.rng.chance(self.faults.busy);
        if refused || self.in_flight() > 0 {
            return false;
        }
        if self.rng.chance(self.faults.lost) {
            work.lose(Lost::Untouched);
        } else if !self.inner.run_now(work) {
            return false;
        } else {
            self.spoil(work);
        }
        self.count();
        true
    }

    fn poll(&mut self, now_ns: u64, done: &mut Completed) -> usize {
        self.inner.submit(now_ns, &mut Batch::new(&mut self.waiting));
        self.inner.poll(now_ns, &mut self.collected);
        self.collect();
        if self.is_hanging() || !self.is_gone() && self.rng.chance(self.faults.late) {
            return 0;
        }
        if self.is_gone() {
            self.lose_all();
        }
        let mut n = self.lost.len();
        self.lost.drain(..).for_each(|work| Self::hand_back(done, work));
        while !self.finished.is_empty() {
            let i = match self.rng.chance(self.faults.reorder) {
                true => self.rng.below(self.finished.len() as u64) as usize,
                false => 0,
            };
            Self::hand_back(done, self.finished.remove(i));
            n += 1;
        }
        n
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.waiting.len() + self.lost.len() + self.finished.len()
    }

    fn wake(&self) -> Wake {
        let own = self.waiting.len() + self.lost.len() + self.finished.len();
        match (self.is_hanging(), own) {
            (true, _) => Wake::Never,
            (false, 0) => self.inner.wake(),
            (false, _) => Wake::Now,
        }
    }

    fn reset(&mut self, done: &mut Completed) {
        self.inner.reset(&mut self.collected);
        self.collect();
        self.lose_all();
        self.lost.drain(..).for_each(|work| Self::hand_back(done, work));
        self.since_reset = 0;
    }
}
