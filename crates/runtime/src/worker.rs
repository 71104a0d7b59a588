//! Engine threads: the one place where engines meet the clock and sleep.

use core::time::Duration;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use lookaside_core::SetupError;

use crate::{
    clock::Clock,
    cpus,
    doorbell::Doorbell,
    engine::{Engine, Shared},
    memory,
    patience::Patience,
    signals,
};

/// Engine threads, stopped and joined on drop.
pub(crate) struct Workers {
    threads: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    shared: Arc<Shared>,
    bell: Bell,
    /// The process that the threads live in.
    generation: u32,
}

/// Which bell wakes the threads.
type Bell = fn(&Shared) -> &Doorbell;

/// How the threads behave.
#[derive(Clone, Debug)]
pub(crate) struct WorkerConfig {
    /// How long an engine without work looks for some before it sleeps, if not as long as it learns.
    pub(crate) spin_ns: Option<u64>,
    /// The CPUs to run on, one for each engine in turn; empty: all CPUs of the process.
    pub(crate) cpus: Vec<usize>,
}

impl Workers {
    /// Starts a thread for each engine, until the system refuses one: why it did comes back too.
    pub(crate) fn start(
        engines: Vec<Engine>,
        shared: Arc<Shared>,
        clock: &Arc<dyn Clock>,
        config: &WorkerConfig,
        generation: u32,
        (name, bell): (&str, Bell),
    ) -> (Workers, Option<SetupError>) {
        let stop = Arc::new(AtomicBool::new(false));
        let mut workers = Workers { threads: Vec::new(), stop, shared, bell, generation };
        // Not asked without need: the sandbox of sshd's children kills who asks for CPUs.
        let everywhere = if engines.is_empty() { None } else { cpus::of_process() };
        for (i, engine) in engines.into_iter().enumerate() {
            // The standard library ends the process where a thread that has its stack already gets no
            // memory for what else it begins with.
            if let Err(refused) = memory::probe("engine thread", 4 * memory::SPARE) {
                return (workers, Some(refused));
            }
            let (clock, shared) = (clock.clone(), workers.shared.clone());
            let (stop, config) = (workers.stop.clone(), config.clone());
            let cpu = config.cpus.get(i % config.cpus.len().max(1)).copied();
            let thread = thread::Builder::new().name(format!("lookaside-{name}{i}"));
            let serve = move || {
                match (cpu, &everywhere) {
                    (Some(cpu), _) => cpus::pin(cpu),
                    (None, Some(all)) => cpus::spread(all),
                    (None, None) => {}
                }
                run(engine, bell(&shared), &*clock, Patience::new(config.spin_ns), &stop);
            };
            match signals::blocked(|| thread.spawn(serve)) {
                Ok(thread) => workers.threads.push(thread),
                Err(e) => {
                    let errno = e.raw_os_error().unwrap_or(libc::EAGAIN);
                    return (workers, Some(SetupError::Os { what: "engine thread", errno }));
                }
            }
        }
        (workers, None)
    }

    /// How many threads there are.
    pub(crate) fn count(&self) -> usize {
        self.threads.len()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if crate::fork::generation() != self.generation {
            // The threads live in the parent. Dropping the handles would detach whatever threads of
            // this process got the same numbers.
            core::mem::forget(core::mem::take(&mut self.threads));
            return;
        }
        self.stop.store(true, Ordering::Release);
        let bell = (self.bell)(&self.shared);
        bell.ring_all();
        let me = thread::current().id();
        for t in self.threads.drain(..).filter(|t| t.thread().id() != me) {
            while !t.is_finished() {
                // One that was about to sleep when `stop` was set.
                bell.ring_all();
                thread::yield_now();
            }
            let _ = t.join();
        }
    }
}

fn run(
    mut engine: Engine,
    bell: &Doorbell,
    clock: &dyn Clock,
    mut patience: Patience,
    stop: &AtomicBool,
) {
    let mut idle_since = None;
    let mut now = clock.now_ns();
    loop {
        let step = engine.step(now);
        let began = core::mem::replace(&mut now, clock.now_ns());
        if step.progress {
            if let Some(since) = idle_since.take() {
                patience.found(began.saturating_sub(since));
            }
            continue;
        }
        if step.spin {
            // A device is at work that does not say for how long. Leave the core to it, should it
            // need one.
            thread::yield_now();
            now = clock.now_ns();
            continue;
        }
        if step.in_flight == 0 && stop.load(Ordering::Acquire) {
            return engine.idle();
        }
        let idle_ns = now.saturating_sub(*idle_since.get_or_insert(now));
        if idle_ns < patience.look_ns() {
            Patience::pause(idle_ns);
            now = clock.now_ns();
            continue;
        }
        // Before it is announced, and so before anybody pays for a wake-up.
        engine.idle();
        bell.announce();
        let last = engine.step(now);
        if last.progress
            && let Some(since) = idle_since.take()
        {
            patience.found(now.saturating_sub(since));
        }
        let stopped = last.in_flight == 0 && stop.load(Ordering::Acquire);
        if last.progress || last.spin || stopped {
            bell.stay_awake();
        } else {
            let timeout = last.until_ns.map(|t| Duration::from_nanos(t.saturating_sub(now)));
            let mut fds = engine.event_fds().peekable();
            match last.in_flight > 0 && fds.peek().is_some() {
                true => bell.sleep_with(fds, timeout),
                false => bell.sleep(timeout),
            }
        }
        now = clock.now_ns();
    }
}
