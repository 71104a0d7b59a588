//! What leads from an instance to what executes its requests.

use std::sync::Arc;

use lookaside_core::{SetupError, Ticket, Work, probes};

use crate::{
    clock::Clock,
    doorbell::Notice,
    engine::{Engine, Shared},
    memory,
    port::{Port, Sink},
    ring::{Producer, ReplyReceiver, reply_ring, request_ring},
    runtime::lock,
    scheduler::Scheduler,
    sla::Terms,
    tenant::Tenant,
};

/// The sending end of a port: stamps requests and puts them into the ring.
pub(crate) struct Outlet {
    pub(super) requests: Producer<Work>,
    port: Arc<Port>,
    place: u32,
    pub(super) generation: u32,
    /// The number of the next request.
    pub(super) seq: u64,
    /// The time for the stamps, read once per doorbell.
    stamp_ns: u64,
}

impl Outlet {
    /// Attaches a port to a scheduler.
    pub(crate) fn attach(
        scheduler: &mut Scheduler,
        sink: Sink,
        depth: usize,
        terms: &Arc<Terms>,
        clock: &dyn Clock,
    ) -> Outlet {
        let (requests, consumer) = request_ring(depth);
        let port = Arc::new(Port::new(sink));
        let (place, generation) = scheduler.attach(port.clone(), consumer, terms);
        Outlet { requests, port, place, generation, seq: 0, stamp_ns: clock.now_ns() }
    }

    /// Stamps a filled slot and puts it into the ring; hands it back when the ring is full.
    #[inline(never)]
    pub(crate) fn push(&mut self, mut work: Work, clock: &dyn Clock) -> Result<(), Work> {
        if self.requests.unpublished() == 0 {
            self.stamp_ns = clock.now_ns();
        }
        work.epoch = work.request().session.order.as_ref().map_or(0, |o| o.epoch());
        work.ticket = Ticket { port: self.place, generation: self.generation, seq: self.seq };
        work.pushed_ns = self.stamp_ns;
        probes::pushed(&work);
        self.requests.push(work)?;
        self.seq += 1;
        Ok(())
    }

    pub(crate) fn publish(&mut self) -> usize {
        self.requests.publish()
    }

    /// The number of the next request.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    pub(crate) fn port(&self) -> &Arc<Port> {
        &self.port
    }

    /// The port's place in its scheduler.
    pub(crate) fn place(&self) -> u32 {
        self.place
    }
}

/// What executes an instance's requests, in one process.
pub(super) struct Link {
    pub(super) outlet: Outlet,
    /// The slots that are not outstanding. As many as the instance is deep are here or out, and those that
    /// have spilled.
    pub(super) free: Vec<Work>,
    /// How many more may spill.
    pub(super) spare: usize,
    pub(super) executor: Executor,
}

/// Makes slots for requests that spill, if more may. Returns whether there is one.
#[cold]
pub(super) fn make_slots(free: &mut Vec<Work>, spare: &mut usize, most: usize) -> bool {
    const FEW: usize = 16;
    let n = FEW.min(*spare);
    // Room for all of them, so that one that comes back never allocates.
    let room = most.saturating_sub(free.len());
    if n == 0
        || free.try_reserve_exact(room).is_err()
        || memory::fill("slots that spill", free, n, Work::empty).is_err()
    {
        return false;
    }
    *spare -= n;
    true
}

pub(super) enum Executor {
    /// The engines that all instances share.
    Shared { shared: Arc<Shared>, replies: ReplyReceiver<Work> },
    /// With 0 engines, the instance's own.
    Own(Box<Engine>),
}

impl Executor {
    pub(super) fn cancel(&mut self, place: u32, tag: u64) -> usize {
        match self {
            Executor::Own(engine) => engine.cancel(place, tag),
            Executor::Shared { shared, .. } => shared.cancel(place, tag),
        }
    }
}

impl Link {
    pub(super) fn open(tenant: &Tenant) -> Result<Link, SetupError> {
        const WHAT: &str = "rings of an instance";
        /// Bytes of both rings for one request: two pointers, and the turn of a reply.
        const RING_SLOT: usize = 3 * size_of::<usize>();
        let (inner, most) = (tenant.inner(), tenant.most());
        let state = inner.state()?;
        let mut free = Vec::new();
        memory::fill(WHAT, &mut free, tenant.depth(), Work::empty)?;
        memory::probe(WHAT, most.next_power_of_two() * RING_SLOT + memory::SPARE)?;
        match state.shared_engines().filter(|_| !tenant.is_own()) {
            Some(shared) => {
                if tenant.is_committed() {
                    state.start_express(inner, &shared);
                }
                Ok(Link::shared(tenant, most, shared, free))
            }
            None => {
                let mut scheduler = inner.new_scheduler();
                let sink = Sink::Own(Notice::new());
                let terms = tenant.terms();
                let outlet = Outlet::attach(&mut scheduler, sink, most, &terms, &*inner.clock);
                let engine = Box::new(inner.own_engine(scheduler)?);
                let spare = most - tenant.depth();
                Ok(Link { outlet, free, spare, executor: Executor::Own(engine) })
            }
        }
    }

    fn shared(tenant: &Tenant, most: usize, shared: Arc<Shared>, free: Vec<Work>) -> Link {
        let (replies, receiver) = reply_ring(most);
        let sink = Sink::Ring { replies, notice: Notice::new() };
        let mut scheduler = lock(&shared.scheduler);
        // Under the lock, under which they change.
        let (terms, clock) = (tenant.terms(), &*tenant.inner().clock);
        let outlet = Outlet::attach(&mut scheduler, sink, most, &terms, clock);
        drop(scheduler);
        let spare = most.saturating_sub(tenant.depth());
        Link { outlet, free, spare, executor: Executor::Shared { shared, replies: receiver } }
    }

    /// The smallest rings, in which no request ever lies.
    pub(super) fn unserved(tenant: &Tenant) -> Link {
        Link::shared(tenant, 1, tenant.inner().new_shared(), Vec::new())
    }

    pub(super) fn notice<R>(&self, f: impl FnOnce(&Notice) -> R) -> Option<R> {
        match &self.outlet.port().sink {
            Sink::Ring { notice, .. } | Sink::Own(notice) => Some(f(notice)),
            Sink::Calls(_) => None,
        }
    }
}
