//! The runtime: devices, engines, route table; and its builder.

use core::time::Duration;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use lookaside_core::{
    Capability, Class, Compression, CompressionError, Device, EngineId, Format, Memory, Op, Order,
    Region, Session, SessionClass, SessionSpec, SetupError,
};
use once_cell::race::OnceBox;

use crate::{
    calls::{Calls, Handle, Hub},
    clock::{Clock, Monotonic},
    counters::{Counters, Ledger},
    cpus,
    doorbell::Doorbell,
    engine::{Engine, OpenChannel, Shared},
    fork,
    instance::{Instance, InstanceConfig, Outlet},
    memory,
    patience::Patience,
    port::Sink,
    route::{Route, Routes},
    scheduler::Scheduler,
    session::{CompressSession, CompressStream, DecompressStream, Mover},
    sla::Terms,
    tenant::Tenant,
    worker::{WorkerConfig, Workers},
};

/// Calls of handles that may be outstanding at once, all handles together.
const CALLS: usize = 1024;

/// Settings of a runtime.
pub struct Builder {
    devices: Vec<Arc<dyn Device>>,
    engines: Option<usize>,
    routes: Vec<Route>,
    batch_deadline: Duration,
    stall: Duration,
    worker: WorkerConfig,
    clock: Arc<dyn Clock>,
}

impl Builder {
    fn new() -> Builder {
        Builder {
            devices: Vec::new(),
            engines: None,
            routes: Vec::new(),
            batch_deadline: Duration::from_micros(50),
            stall: Duration::from_millis(10),
            worker: WorkerConfig { spin_ns: None, cpus: Vec::new() },
            clock: Arc::new(Monotonic),
        }
    }

    /// Adds a device; the order given is the order of preference. At most 64.
    #[must_use]
    pub fn device(mut self, device: impl Device + 'static) -> Builder {
        self.devices.push(Arc::new(device));
        self
    }

    /// The number of engine threads, 0 to 1,024; by default one for each CPU that this process
    /// may use. With 0, the thread that polls or waits executes the requests.
    ///
    /// Such a thread needs room on its stack, with the CPU device: 32 KB for compression, 64 KB for any
    /// service with one request at a time, 192 KB for batches (32 requests of triple DES take 117 KB;
    /// the test `stack` measures it). The same holds where the system refuses engines. What kernels leave of
    /// keys on an engine's stack is overwritten before the engine sleeps; on such a thread it stays until
    /// other functions use that part of the stack, or the program calls
    /// [`wipe_stack`](crate::wipe_stack).
    #[must_use]
    pub fn engines(mut self, n: usize) -> Builder {
        self.engines = Some(n);
        self
    }

    /// Replaces the route of one operation.
    #[must_use]
    pub fn route(mut self, route: Route) -> Builder {
        self.routes.push(route);
        self
    }

    /// How long a request waits for others to fill its batch, at most; 50 microseconds by default. A
    /// device may have a deadline of its own ([`lookaside_core::Limits`]). A caller that waits, or polls
    /// and finds nothing, never waits for this.
    #[must_use]
    pub fn batch_deadline(mut self, deadline: Duration) -> Builder {
        self.batch_deadline = deadline;
        self
    }

    /// How long a device may refuse requests before they go to the next device of the route; 10
    /// milliseconds by default.
    #[must_use]
    pub fn stall(mut self, stall: Duration) -> Builder {
        self.stall = stall;
        self
    }

    /// How long an engine without work looks for some, and a waiting caller for responses, before
    /// it sleeps. By default 5 microseconds, and 50 for as long as that saves wake-ups: each engine and
    /// each instance learns it. Behind the first 5, whoever else wants the CPU has it.
    #[must_use]
    pub fn spin(mut self, spin: Duration) -> Builder {
        self.worker.spin_ns = Some(u64::try_from(spin.as_nanos()).unwrap_or(u64::MAX));
        self
    }

    /// The CPUs to pin engine threads to, one for each engine in turn. [`Builder::start`] refuses
    /// CPUs that this process cannot have.
    ///
    /// By default engines run on all CPUs that the process's main thread or the starting thread may
    /// use: a thread that is pinned to one CPU may start a runtime, and what `taskset` or `numactl`
    /// set for the program holds.
    #[must_use]
    pub fn pin_to(mut self, cpus: &[usize]) -> Builder {
        self.worker.cpus = cpus.to_vec();
        self
    }

    /// Replaces the clock; for simulation.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Builder {
        self.clock = clock;
        self
    }

    /// Starts the runtime.
    ///
    /// Where the operating system refuses threads (a limit on processes, a sandbox), the runtime goes
    /// on with the engines that it got; with none of them, callers execute their own requests, as
    /// with 0 engines. The same holds in a child of `fork`, which starts engines of its own.
    /// [`Runtime::engines`] says how many run in this process, [`Runtime::engines_refused`] why not
    /// more.
    ///
    /// # Errors
    /// A device or setting is missing, wrong or refused by the operating system.
    pub fn start(self) -> Result<Runtime, SetupError> {
        let inner = Arc::new(self.build()?);
        // Engines start now, not with the first request: errors belong to set-up.
        inner.state()?;
        Ok(Runtime(inner))
    }

    /// Starts a runtime whose engines the caller steps, for simulation with a virtual clock. Its
    /// instances never execute anything themselves. Behind the engines that were asked for comes the one
    /// that serves commitments alone ([`crate::Sla`]). Take all responses before an instance is
    /// dropped, which waits for what is outstanding. A child of `fork` has engines of its own
    /// ([`Runtime::take_engines`]); its copies of the parent's must not be stepped.
    ///
    /// # Errors
    /// As [`Builder::start`].
    pub fn start_stepped(self) -> Result<(Runtime, Vec<Engine>), SetupError> {
        let mut inner = self.build()?;
        inner.config.threads = false;
        let runtime = Runtime(Arc::new(inner));
        let engines = runtime.take_engines()?;
        Ok((runtime, engines))
    }

    fn build(self) -> Result<Inner, SetupError> {
        if self.devices.is_empty() {
            return Err(SetupError::NoDevice);
        }
        SetupError::check("number of devices", self.devices.len() as u64, 0..=64)?;
        for (i, device) in self.devices.iter().enumerate() {
            if self.devices[..i].iter().any(|d| d.name() == device.name()) {
                return Err(SetupError::Duplicate { device: device.name().to_owned() });
            }
        }
        let engines = self.engines.unwrap_or_else(cpus::count);
        SetupError::check("number of engines", engines as u64, 0..=1024)?;
        cpus::check(&self.worker.cpus)?;
        let ns = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = ns(self.batch_deadline);
        let routes = Arc::new(Routes::resolve(&self.devices, &self.routes, deadline_ns)?);
        Ok(Inner {
            devices: self.devices,
            routes,
            clock: self.clock,
            config: Config {
                engines,
                threads: true,
                stall_ns: ns(self.stall),
                worker: self.worker,
            },
            state: Node::new(fork::generation()),
        })
    }
}

struct Config {
    engines: usize,
    /// Whether engines get threads; otherwise the caller of `start_stepped` has them.
    threads: bool,
    stall_ns: u64,
    worker: WorkerConfig,
}

/// What a runtime consists of. Instances, handles and calls keep it alive.
pub(crate) struct Inner {
    devices: Vec<Arc<dyn Device>>,
    routes: Arc<Routes>,
    pub(crate) clock: Arc<dyn Clock>,
    config: Config,
    state: Node,
}

/// The states of this process and of the ones it was forked from, oldest first.
struct Node {
    /// The process that it belongs to; no other one looks at its `state`, which a fork may have left locked.
    generation: u32,
    state: OnceLock<Result<Arc<State>, SetupError>>,
    next: OnceBox<Node>,
}

impl Node {
    fn new(generation: u32) -> Node {
        Node { generation, state: OnceLock::new(), next: OnceBox::new() }
    }
}

impl Drop for Inner {
    /// What belongs to a parent process may be half changed here: it is left alone, not freed.
    fn drop(&mut self) {
        let mut node = Some(&self.state);
        while let Some(n) = node {
            if n.generation != fork::generation()
                && let Some(Ok(state)) = n.state.get()
            {
                core::mem::forget(state.clone());
            }
            node = n.next.get();
        }
    }
}

/// The part of a runtime that belongs to one process: a fork's child makes a new one.
pub(crate) struct State {
    /// The scheduler that all instances share; `None` with 0 engines.
    shared: Option<Arc<Shared>>,
    pub(crate) ledger: Ledger,
    /// The parameter classes of sessions made in this process.
    classes: Mutex<Classes>,
    hub: Hub,
    unstarted: Mutex<Vec<Engine>>,
    /// How many engines serve, and why not as many as were asked for.
    engines: usize,
    refused: Option<SetupError>,
    _workers: Option<Workers>,
    /// The engine for commitments.
    express: OnceLock<Option<Workers>>,
}

/// The names of engine threads, and what wakes them.
const ENGINES: (&str, fn(&Shared) -> &Doorbell) = ("", |shared| &shared.doorbell);

/// A lock whose data is valid whenever it is free, also after a panic of its holder.
pub(crate) fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    /// This process's state, made at the first call after a fork.
    pub(crate) fn state(&self) -> Result<Arc<State>, SetupError> {
        let generation = fork::generation();
        let mut node = &self.state;
        while node.generation != generation {
            node = node.next.get_or_init(|| Box::new(Node::new(generation)));
        }
        // What failed in the parent may work here, but is not tried again in one process.
        node.state.get_or_init(|| State::new(self, generation).map(Arc::new)).clone()
    }

    /// How long a caller looks for responses before it sleeps.
    pub(crate) fn patience(&self) -> Patience {
        Patience::new(self.config.worker.spin_ns)
    }

    pub(crate) fn new_scheduler(&self) -> Scheduler {
        static KEY: AtomicU64 = AtomicU64::new(1);
        let key = KEY.fetch_add(1, Ordering::Relaxed) | u64::from(fork::generation()) << 48;
        Scheduler::new(key, self.routes.clone())
    }

    pub(crate) fn new_shared(&self) -> Arc<Shared> {
        Arc::new(Shared::new(self.new_scheduler()))
    }

    fn open_channels(&self) -> Result<Vec<OpenChannel>, SetupError> {
        static ID: AtomicU32 = AtomicU32::new(0);
        // The CPU device's channel takes a fraction of this.
        memory::probe("engine", 4 * memory::SPARE)?;
        let id = EngineId(ID.fetch_add(1, Ordering::Relaxed));
        let open =
            |(i, d): (usize, &Arc<dyn Device>)| Ok((d.open_channel(id)?, self.routes.limits(i)));
        self.devices.iter().enumerate().map(open).collect()
    }

    fn new_engine(&self, shared: &Arc<Shared>, ledger: &Ledger) -> Result<Engine, SetupError> {
        let channels = self.open_channels()?;
        Ok(Engine::new(shared.clone(), channels, ledger.open(), self.config.stall_ns))
    }

    /// An engine for one instance alone, which its scheduler has already.
    pub(crate) fn own_engine(&self, scheduler: Scheduler) -> Result<Engine, SetupError> {
        let (channels, stall_ns) = (self.open_channels()?, self.config.stall_ns);
        let ledger = &self.state()?.ledger;
        Ok(Engine::own(scheduler, channels, ledger.open(), stall_ns))
    }

    pub(crate) fn session(&self, spec: SessionSpec) -> Result<Arc<Session>, SetupError> {
        let mut refused = None;
        let mut prepare = |d: &Arc<dyn Device>| match d.prepare(&spec) {
            Ok(prepared) => Some(prepared),
            Err(e) => {
                refused = Some(e);
                None
            }
        };
        let prepared: Box<[_]> = self.devices.iter().map(&mut prepare).collect();
        if prepared.iter().all(Option::is_none) {
            return Err(refused.unwrap_or(SetupError::NoDevice));
        }
        /// Requests of one stream that wait for their turn before the line grows.
        const ROOM: usize = 16;
        let order = spec.ordered().then(|| Order::new(ROOM));
        let class = lock(&self.state()?.classes).class(spec.class());
        Ok(Arc::new(Session { ops: spec.ops(), class, prepared, order }))
    }
}

impl Inner {
    /// A session whose packets are of these, each of that which it names.
    pub(crate) fn session_set(
        &self,
        sessions: &[&Arc<Session>],
    ) -> Result<Arc<Session>, SetupError> {
        let (first, others) = sessions.split_first().ok_or(SetupError::Limit {
            what: "sessions of a set",
            given: 0,
            min: 1,
            max: u64::from(u32::MAX),
        })?;
        if !others.iter().all(|s| s.class.is(&first.class)) {
            let what = "sessions of a set differ in their algorithm, key length or tag length";
            return Err(SetupError::Key { what });
        }
        let mut refused = None;
        let mut prepare = |(device, d): (usize, &Arc<dyn Device>)| {
            let all: Option<Vec<_>> =
                sessions.iter().map(|s| s.prepared[device].as_ref()).collect();
            d.prepare_set(&all?).map_err(|e| refused = Some(e)).ok()
        };
        let prepared: Box<[_]> = self.devices.iter().enumerate().map(&mut prepare).collect();
        if prepared.iter().all(Option::is_none) {
            return Err(refused.unwrap_or(SetupError::NoDevice));
        }
        let (ops, class) = (first.ops, first.class.clone());
        Ok(Arc::new(Session { ops, class, prepared, order: None }))
    }
}

/// The parameter classes that sessions have: the same for equal specifications.
#[derive(Default)]
struct Classes {
    classes: HashMap<SessionClass, Class>,
    /// From this number on, classes whose sessions have gone are forgotten.
    many: usize,
}

impl Classes {
    fn class(&mut self, spec: SessionClass) -> Class {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        const FEW: usize = 64;
        if self.classes.len() >= self.many.max(FEW) {
            self.classes.retain(|_, class| class.is_shared());
            self.many = 2 * self.classes.len();
        }
        let fresh = || Class::new(NEXT.fetch_add(1, Ordering::Relaxed));
        self.classes.entry(spec).or_insert_with(fresh).clone()
    }
}

impl State {
    fn new(inner: &Inner, generation: u32) -> Result<State, SetupError> {
        let names = inner.devices.iter().map(|d| d.name().to_owned()).collect();
        let ledger = Ledger::new(names);
        let shared = inner.new_shared();
        let engine = || inner.new_engine(&shared, &ledger);
        let count = inner.config.engines;
        let mut engines: Vec<_> = (0..count.max(1)).map(|_| engine()).collect::<Result<_, _>>()?;
        let sink = Sink::Calls(Calls::new(CALLS));
        let terms = Terms::new(&InstanceConfig::default(), inner.clock.now_ns());
        let mut scheduler = lock(&shared.scheduler);
        let outlet = Outlet::attach(&mut scheduler, sink, CALLS, &terms, &*inner.clock);
        drop(scheduler);
        let outlet = Mutex::new(outlet);
        let port = lock(&outlet).port().clone();
        let mut own = if count == 0 { engines.pop() } else { None };
        if !inner.config.threads {
            engines.push(engine()?.express());
        }
        let (mut running, mut refused, mut workers) = (count, None, None);
        if inner.config.threads {
            let engines = core::mem::take(&mut engines);
            let worker = &inner.config.worker;
            let (started, why) =
                Workers::start(engines, shared.clone(), &inner.clock, worker, generation, ENGINES);
            (running, refused) = (started.count(), why);
            if running == 0 {
                // None was wanted, or none can be had: callers execute their own requests.
                own = own.map_or_else(|| engine().map(Some), |own| Ok(Some(own)))?;
            }
            workers = Some(started);
        }
        Ok(State {
            hub: Hub { outlet, port, engine: own.map(Mutex::new), shared: shared.clone() },
            shared: (running > 0).then_some(shared),
            engines: running,
            refused,
            ledger,
            classes: Mutex::default(),
            unstarted: Mutex::new(engines),
            express: OnceLock::new(),
            _workers: workers,
        })
    }

    /// Starts the engine for commitments, at the first instance that has one: other runtimes have no
    /// use for its thread. Where the system refuses it, the other engines serve commitments first.
    pub(crate) fn start_express(&self, inner: &Inner, shared: &Arc<Shared>) {
        const EXPRESS: (&str, fn(&Shared) -> &Doorbell) = ("express", |shared| &shared.express);
        if !inner.config.threads {
            return;
        }
        self.express.get_or_init(|| {
            let engine = inner.new_engine(shared, &self.ledger).ok()?.express();
            let (worker, generation) = (&inner.config.worker, fork::generation());
            let clock = &inner.clock;
            let shared = shared.clone();
            let (started, _) =
                Workers::start(vec![engine], shared, clock, worker, generation, EXPRESS);
            Some(started)
        });
    }

    /// The scheduler that instances attach to; `None` when each has its own engine.
    pub(crate) fn shared_engines(&self) -> Option<Arc<Shared>> {
        self.shared.clone()
    }

    /// What handles use.
    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }
}

/// Devices, engines and a route table. `Send + Sync`; wrap it in an `Arc` or pass [`Handle`]s.
///
/// Engines stop when the runtime and all its instances, handles and calls have been dropped. The last of these
/// drops waits for them: each engine finishes the batch that it is at, closed instances' requests included,
/// and what it has collected for a batch; what is still in rings was cancelled when its instance closed.
pub struct Runtime(pub(crate) Arc<Inner>);

impl Runtime {
    /// Settings to start a runtime with.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// A session of the data mover.
    ///
    /// # Errors
    /// When no device has it.
    pub fn mover(&self) -> Result<Mover, SetupError> {
        Ok(Mover(self.0.session(SessionSpec::Mover)?))
    }

    /// A session for stateless compression and decompression. Allocates; requests do not.
    ///
    /// # Errors
    /// Parameters outside their limits, or no device that supports them.
    pub fn compression(&self, spec: Compression) -> Result<CompressSession, SetupError> {
        spec.validate()?;
        let session = self.0.session(SessionSpec::Compression(spec.clone()))?;
        Ok(CompressSession(session, spec))
    }

    /// One compression stream, with a preset dictionary if given ([`Format::has_streams`],
    /// [`Format::has_dictionary`]).
    ///
    /// # Errors
    /// As [`Runtime::compression`].
    pub fn compress_stream(
        &self,
        spec: Compression,
        dictionary: Option<&[u8]>,
    ) -> Result<CompressStream, SetupError> {
        spec.validate()?;
        let dictionary = checked(spec.format, dictionary)?;
        Ok(CompressStream(self.0.session(SessionSpec::CompressStream { spec, dictionary })?))
    }

    /// One decompression stream, with a preset dictionary if given ([`Format::has_streams`],
    /// [`Format::has_dictionary`]).
    ///
    /// # Errors
    /// As [`Runtime::compression`].
    pub fn decompress_stream(
        &self,
        format: Format,
        dictionary: Option<&[u8]>,
    ) -> Result<DecompressStream, SetupError> {
        let dictionary = checked(format, dictionary)?;
        Ok(DecompressStream(self.0.session(SessionSpec::DecompressStream { format, dictionary })?))
    }

    /// A session of whatever kind a specification asks for: for those who build requests themselves
    /// ([`lookaside_core::Request::new`]), as a server of other processes does. A typed session makes requests that fit it.
    ///
    /// # Errors
    /// When no device has it.
    pub fn session(&self, spec: SessionSpec) -> Result<Arc<Session>, SetupError> {
        self.0.session(spec)
    }

    /// Opens an instance. Allocates its rings.
    ///
    /// # Errors
    /// A setting outside its limits, an SLA whose burst is too small for its rate, or too little memory.
    pub fn instance(&self, config: InstanceConfig) -> Result<Instance, SetupError> {
        Tenant::new(&self.0, config)?.instance()
    }

    /// A handle, for callers without an instance.
    pub fn handle(&self) -> Handle {
        Handle(self.0.clone())
    }

    /// Registers memory that others reach too ([`SharedMemory`](crate::SharedMemory), a packet pool, what is pinned for a card)
    /// with every device, once. Buffers of requests may lie in it then ([`Region::buf`]). A device that
    /// reaches nothing else ([`Reach::Regions`](crate::Reach)) gets requests whose memory all lies in
    /// regions; others go to the next device of their route.
    ///
    /// # Errors
    /// A device's, that cannot reach the memory.
    pub fn region(&self, memory: impl Memory + 'static) -> Result<Region, SetupError> {
        let region = Region::new(memory);
        self.0.devices.iter().try_for_each(|d| d.attach(&region))?;
        Ok(region)
    }

    /// The engines of this process that the caller steps ([`Builder::start_stepped`]): in a child of `fork`, the
    /// child's. None once they were taken, and of a runtime whose engines have threads.
    ///
    /// # Errors
    /// Those of [`Builder::start`], when the child can have none.
    pub fn take_engines(&self) -> Result<Vec<Engine>, SetupError> {
        Ok(core::mem::take(&mut *lock(&self.0.state()?.unstarted)))
    }

    /// How many engine threads serve this process; 0 when callers execute their own requests.
    pub fn engines(&self) -> usize {
        self.0.state().map_or(0, |state| state.engines)
    }

    /// Why fewer engine threads serve this process than were asked for, if so.
    pub fn engines_refused(&self) -> Option<SetupError> {
        self.0.state().map_or_else(Some, |state| state.refused.clone())
    }

    /// What each device can do.
    pub fn capabilities(&self) -> impl Iterator<Item = (&str, &[Capability])> {
        self.0.devices.iter().map(|d| (d.name(), d.capabilities()))
    }

    /// How many requests of one operation at once suit the device that likes most; 0 where no device has it.
    pub fn best_batch(&self, op: Op) -> usize {
        self.0.devices.iter().map(|d| d.best_batch(op)).max().unwrap_or(0)
    }

    /// The route table.
    pub fn routes(&self) -> &[Route] {
        &self.0.routes.printable
    }

    /// What has served requests so far, in this process. Engines add to it without locks, so a
    /// snapshot under load may be a few requests behind.
    pub fn counters(&self) -> Counters {
        let Ok(state) = self.0.state() else { return Counters::default() };
        let engines_missing = self.0.config.engines - state.engines;
        Counters { engines_missing, ..state.ledger.snapshot() }
    }
}

fn checked(format: Format, dictionary: Option<&[u8]>) -> Result<Option<Arc<[u8]>>, SetupError> {
    match dictionary {
        _ if !format.has_streams() => Err(CompressionError::NoStream(format).into()),
        Some(_) if !format.has_dictionary() => Err(CompressionError::NoDictionary(format).into()),
        d => Ok(d.map(Arc::from)),
    }
}
