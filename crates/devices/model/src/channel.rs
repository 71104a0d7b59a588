//! One engine's channel: executes at once by the device inside, and holds each answer until its time.

use std::{
    collections::VecDeque,
    os::fd::BorrowedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lookaside_core::{Batch, Channel, Completed, Lost, Op, OpError, Wake, Work};

use crate::Spec;

/// What all channels of one device share. A lock of a few instructions guards it, which other devices do
/// without: the engines of a modelled device are one for all channels, and their order decides when an answer
/// is due.
pub(crate) struct Shared {
    spec: Spec,
    state: Mutex<State>,
}

struct State {
    /// Requests in the device, of all channels.
    outstanding: usize,
    /// Per section: until when each of its engines is occupied, in nanoseconds.
    occupied_ns: Vec<Vec<u64>>,
}

impl Shared {
    pub(crate) fn new(spec: Spec) -> Shared {
        let occupied_ns = spec.sections.iter().map(|section| vec![0; section.engines]).collect();
        Shared { spec, state: Mutex::new(State { outstanding: 0, occupied_ns }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for at most `wanted` requests, which are outstanding from here on.
    fn admit(&self, wanted: usize) -> usize {
        let mut state = self.lock();
        let admitted = wanted.min(self.spec.queue - state.outstanding);
        state.outstanding += admitted;
        admitted
    }

    fn release(&self, n: usize) {
        if n > 0 {
            self.lock().outstanding -= n;
        }
    }

    /// Occupies the engine that is free first, from `now_ns` on. Returns when the answer is due.
    fn occupy(&self, now_ns: u64, work: &Work) -> u64 {
        // Nothing else is admitted: capabilities are those of the sections.
        let Some(i) = self.spec.place(work.request().op) else { return now_ns };
        let section = &self.spec.sections[i];
        let service_ns = section.service_ns(bytes(work));
        let mut state = self.lock();
        let Some(engine) = state.occupied_ns[i].iter_mut().min() else { return now_ns };
        *engine = now_ns.max(*engine).saturating_add(service_ns);
        engine.saturating_add(section.latency_ns)
    }
}

/// The bytes that a bandwidth counts: uncompressed ones. Known once the request is executed.
fn bytes(work: &Work) -> usize {
    let request = work.request();
    match (request.op, work.result()) {
        (Op::Decompress | Op::Fill | Op::Random, Ok(done)) => done.produced,
        // In place, the source is empty.
        (_, Ok(done)) => request.src.len().max(done.consumed),
        (_, Err(_)) => request.src.len(),
    }
}

pub(crate) struct ModelChannel {
    inner: Box<dyn Channel>,
    shared: Arc<Shared>,
    /// Taken, but refused by the device inside: requests of one batch.
    waiting: VecDeque<Work>,
    /// What the device inside has answered.
    executed: Completed,
    /// When each answer is due, in nanoseconds; the first one first.
    held: VecDeque<(u64, Work)>,
}

impl ModelChannel {
    pub(crate) fn new(inner: Box<dyn Channel>, shared: Arc<Shared>) -> ModelChannel {
        ModelChannel {
            inner,
            shared,
            waiting: VecDeque::new(),
            executed: Completed::default(),
            held: VecDeque::new(),
        }
    }

    /// Gives the device inside what waits, and takes its answers.
    fn execute(&mut self, now_ns: u64) {
        if !self.waiting.is_empty() {
            self.inner.submit(now_ns, &mut Batch::new(&mut self.waiting));
        }
        if self.inner.in_flight() > 0 {
            self.inner.poll(now_ns, &mut self.executed);
        }
        while let Some(work) = self.executed.pop() {
            let due_ns = self.shared.occupy(now_ns, &work);
            let place = self.held.partition_point(|(ns, _)| *ns <= due_ns);
            self.held.insert(place, (due_ns, work));
        }
    }
}

fn hand_back(done: &mut Completed, work: Work) {
    let result = *work.result();
    done.push(work, result);
}

impl Channel for ModelChannel {
    fn submit(&mut self, now_ns: u64, batch: &mut Batch<'_>) -> usize {
        self.execute(now_ns);
        if !self.waiting.is_empty() {
            // They are of another operation, perhaps: no batch for the device inside.
            return 0;
        }
        let admitted = self.shared.admit(batch.len());
        self.waiting.extend((0..admitted).map_while(|_| batch.take()));
        self.execute(now_ns);
        admitted
    }

    fn poll(&mut self, now_ns: u64, done: &mut Completed) -> usize {
        self.execute(now_ns);
        let due = self.held.partition_point(|(ns, _)| *ns <= now_ns);
        self.held.drain(..due).for_each(|(_, work)| hand_back(done, work));
        self.shared.release(due);
        due
    }

    fn in_flight(&self) -> usize {
        self.waiting.len() + self.inner.in_flight() + self.held.len()
    }

    fn wake(&self) -> Wake {
        let own = self.held.front().map(|&(ns, _)| ns);
        let inner = match (self.inner.in_flight(), self.waiting.len()) {
            (0, 0) => Wake::Never,
            // It refuses, and does not say until when.
            (0, _) => Wake::Now,
            _ => self.inner.wake(),
        };
        match (inner, own) {
            (Wake::At(inner), Some(own)) => Wake::At(inner.min(own)),
            (Wake::Never, Some(own)) => Wake::At(own),
            // There is no way to say both.
            (Wake::Event, Some(_)) => Wake::Now,
            (inner, _) => inner,
        }
    }

    fn idle(&mut self) {
        self.inner.idle();
    }

    fn event_fd(&self) -> Option<BorrowedFd<'_>> {
        self.inner.event_fd()
    }

    fn reset(&mut self, done: &mut Completed) {
        self.shared.release(self.in_flight());
        for mut work in self.waiting.drain(..) {
            work.lose(Lost::Untouched);
            hand_back(done, work);
        }
        self.inner.reset(&mut self.executed);
        let inside = core::iter::from_fn(|| self.executed.pop());
        for mut work in self.held.drain(..).map(|(_, work)| work).chain(inside) {
            if !matches!(work.result(), Err(OpError::DeviceLost(_))) {
                work.lose(Lost::Touched);
            }
            hand_back(done, work);
        }
    }
}

impl Drop for ModelChannel {
    fn drop(&mut self) {
        self.shared.release(self.in_flight());
    }
}
