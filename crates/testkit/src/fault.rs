//! A device that misbehaves within the contract of [`Channel`]: around any other device.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use lookaside_core::{
    Batch, Capability, Channel, Completed, Device, EngineId, OpError, Prepared, SessionSpec,
    SetupError, Work,
};

use crate::Rng;

/// What goes wrong, and how often, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// A submit is refused, wholly or in part.
    pub busy: u32,
    /// A request that was taken comes back as `DeviceLost`, not executed.
    pub lost: u32,
    /// A poll hands nothing back although something is finished.
    pub late: u32,
    /// Finished requests come back in another order.
    pub reorder: u32,
    /// After this many requests the device is gone: it takes nothing more, and what it holds comes
    /// back as `DeviceLost`. 0 for never.
    pub vanish_after: u64,
}

/// A device with faults, seeded.
pub struct FaultDevice<D> {
    inner: D,
    faults: Faults,
    seed: u64,
    taken: Arc<AtomicU64>,
}

impl<D: Device> FaultDevice<D> {
    /// Wraps a device; it keeps its name and capabilities.
    pub fn new(inner: D, faults: Faults, seed: u64) -> FaultDevice<D> {
        FaultDevice { inner, faults, seed, taken: Arc::default() }
    }
}

impl<D: Device> Device for FaultDevice<D> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capabilities(&self) -> &[Capability] {
        self.inner.capabilities()
    }

    fn prepare(&self, spec: &SessionSpec) -> Result<Prepared, SetupError> {
        self.inner.prepare(spec)
    }

    fn open_channel(&self, engine: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        Ok(Box::new(FaultChannel {
            inner: self.inner.open_channel(engine)?,
            faults: self.faults,
            rng: Rng::new(self.seed ^ u64::from(engine.0) << 32),
            taken: self.taken.clone(),
            taken_in: VecDeque::new(),
            lost: Vec::new(),
            finished: Vec::new(),
            collected: Completed::default(),
        }))
    }
}

struct FaultChannel {
    inner: Box<dyn Channel>,
    faults: Faults,
    rng: Rng,
    taken: Arc<AtomicU64>,
    /// Taken, but the device inside is busy.
    taken_in: VecDeque<Work>,
    lost: Vec<Work>,
    finished: Vec<Work>,
    collected: Completed,
}

impl FaultChannel {
    fn is_gone(&self) -> bool {
        let limit = self.faults.vanish_after;
        limit != 0 && self.taken.load(Ordering::Relaxed) >= limit
    }
}

impl Channel for FaultChannel {
    fn submit(&mut self, batch: &mut Batch<'_>) -> usize {
        let mut taken = 0;
        while !batch.is_empty() {
            if self.is_gone() || self.rng.chance(self.faults.busy) {
                break;
            }
            if self.rng.chance(self.faults.lost) {
                self.lost.extend(batch.take());
            } else {
                self.taken_in.extend(batch.take());
            }
            self.taken.fetch_add(1, Ordering::Relaxed);
            taken += 1;
        }
        self.inner.submit(&mut Batch::new(&mut self.taken_in));
        taken
    }

    fn run_now(&mut self, work: &mut Work) -> bool {
        let refused = self.is_gone() || self.rng.chance(self.faults.busy);
        if refused || self.in_flight() > 0 {
            return false;
        }
        if self.rng.chance(self.faults.lost) {
            work.finish(Err(OpError::DeviceLost));
        } else if !self.inner.run_now(work) {
            return false;
        }
        self.taken.fetch_add(1, Ordering::Relaxed);
        true
    }

    fn poll(&mut self, done: &mut Completed) -> usize {
        self.inner.submit(&mut Batch::new(&mut self.taken_in));
        self.inner.poll(&mut self.collected);
        while let Some(f) = self.collected.pop() {
            self.finished.push(f);
        }
        if !self.is_gone() && self.rng.chance(self.faults.late) {
            return 0;
        }
        if self.is_gone() {
            self.lost.append(&mut self.finished);
            self.lost.extend(self.taken_in.drain(..));
        }
        let mut n = 0;
        for work in self.lost.drain(..) {
            done.push(work, Err(OpError::DeviceLost));
            n += 1;
        }
        while !self.finished.is_empty() {
            let i = match self.rng.chance(self.faults.reorder) {
                true => self.rng.below(self.finished.len() as u64) as usize,
                false => 0,
            };
            let work = self.finished.remove(i);
            let result = *work.result();
            done.push(work, result);
            n += 1;
        }
        n
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.taken_in.len() + self.lost.len() + self.finished.len()
    }
}
