//! What a process has once: the runtime, the instances, and how often it was started.
#![allow(unsafe_code)]

use core::{
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering},
    time::Duration,
};
use std::cell::Cell;

use lookaside::{
    Instance, InstanceConfig, Lost, OpError, Request, Response, Runtime, fork_generation,
};

use crate::{
    abi::CpaInstanceHandle,
    cy::pke::rsa::forget_private_keys,
    instance::{QatInstance, Service},
    nodes::Nodes,
    refusal::{self, Refusal},
    ring::drain,
    settings::{Policy, Settings},
    statistics,
};

/// What a process has once. It is made at the first need, and stays.
pub struct Process {
    settings: Settings,
    runtime: Runtime,
    nodes: Nodes,
    dc: Box<[QatInstance]>,
    cy: Box<[QatInstance]>,
    /// How many times it was started and not stopped.
    started: AtomicU32,
    /// Whether the last stop has stopped the instances.
    stopped: AtomicBool,
    /// The process that the counters are of.
    generation: AtomicU32,
}

/// No `Once`: a child of a `fork` in the middle of one would wait for a thread that it does not have.
static PROCESS: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

impl Process {
    /// This process's.
    ///
    /// # Errors
    /// When the runtime does not start.
    #[inline]
    pub fn get() -> Result<&'static Process, Refusal> {
        let process = PROCESS.load(Ordering::Acquire);
        // SAFETY: null, or made by `make` and never freed.
        match unsafe { process.as_ref() } {
            Some(process) if process.generation.load(Ordering::Relaxed) == fork_generation() => {
                Ok(process)
            }
            Some(process) => {
                process.in_child();
                Ok(process)
            }
            None => Process::make(),
        }
    }

    #[cold]
    fn make() -> Result<&'static Process, Refusal> {
        let (mut settings, complaints) = Settings::read();
        refusal::SILENT.store(settings.silent, Ordering::Relaxed);
        for (place, what) in complaints {
            refusal::say(&place, &what);
        }
        let start =
            |engines| Runtime::builder().device(lookaside_cpu::cpu()).engines(engines).start();
        let runtime = match start(settings.engines) {
            Err(e) if settings.engines > 0 && settings.policy == Policy::Fallback => {
                refusal::say("LOOKASIDE_QAT_ENGINES", &format!("{e}; threads that poll execute"));
                settings.engines = 0;
                start(0)
            }
            started => started,
        }?;
        let nodes = Nodes::of_system().at_most(settings.packages);
        let instances = |service, count: usize| {
            let one = |n| QatInstance::new(service, n as u16, nodes.of(n), settings.events);
            (0..count).map(one).collect()
        };
        let process = Box::into_raw(Box::new(Process {
            dc: instances(Service::Dc, settings.dc_instances),
            cy: instances(Service::Cy, settings.cy_instances),
            settings,
            runtime,
            nodes,
            started: AtomicU32::new(0),
            stopped: AtomicBool::new(false),
            generation: AtomicU32::new(fork_generation()),
        }));
        let known =
            PROCESS.compare_exchange(ptr::null_mut(), process, Ordering::AcqRel, Ordering::Acquire);
        match known {
            Ok(_) => {
                // SAFETY: just made, and from here on never freed.
                let process = unsafe { &*process };
                statistics::at_exit(process);
                Ok(process)
            }
            Err(known) => {
                // SAFETY: made above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(process) });
                // SAFETY: another thread's, which is never freed.
                Ok(unsafe { &*known })
            }
        }
    }

    /// The first look in a child process: what the parent has counted is the parent's.
    #[cold]
    fn in_child(&self) {
        let before = self.generation.swap(fork_generation(), Ordering::Relaxed);
        if before != fork_generation() {
            self.all().for_each(QatInstance::in_child);
        }
    }

    /// The settings.
    #[inline]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The runtime.
    #[inline]
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The NUMA nodes: a package each.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// The instances of a service.
    #[inline]
    pub fn instances(&self, service: Service) -> &[QatInstance] {
        match service {
            Service::Dc => &self.dc,
            Service::Cy => &self.cy,
        }
    }

    /// All instances.
    pub fn all(&self) -> impl Iterator<Item = &QatInstance> {
        self.dc.iter().chain(&self.cy)
    }

    /// The instance of a handle; null is the first one of the service.
    ///
    /// # Errors
    /// For what is no handle of an instance of this service.
    #[inline]
    pub fn instance(
        &'static self,
        handle: CpaInstanceHandle,
        service: Service,
    ) -> Result<&'static QatInstance, Refusal> {
        let all = self.instances(service);
        let found = match handle.is_null() {
            true => all.first(),
            false => {
                let offset = handle.addr().wrapping_sub(all.as_ptr().addr());
                let aligned = offset.is_multiple_of(size_of::<QatInstance>());
                all.get(offset / size_of::<QatInstance>()).filter(|_| aligned)
            }
        };
        found.ok_or_else(|| self.no_instance(handle, service))
    }

    #[cold]
    fn no_instance(&self, handle: CpaInstanceHandle, service: Service) -> Refusal {
        Refusal::invalid(match (handle.is_null(), service) {
            (true, _) => "there is no instance: the settings ask for none of this service",
            (_, Service::Dc) => "not a handle of cpaDcGetInstances",
            (_, Service::Cy) => "not a handle of cpaCyGetInstances",
        })
    }

    /// The instance of a handle of either service; null is the first one of all.
    ///
    /// # Errors
    /// For what is no handle.
    pub fn any_instance(
        &'static self,
        handle: CpaInstanceHandle,
    ) -> Result<&'static QatInstance, Refusal> {
        match self.instance(handle, Service::Dc) {
            Ok(found) => Ok(found),
            Err(_) => self.instance(handle, Service::Cy),
        }
    }

    /// Counts a start. The first one after the last stop makes the instances new.
    pub fn start(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
        if self.stopped.swap(false, Ordering::Relaxed) {
            self.all().for_each(QatInstance::renew);
        }
    }

    /// Takes a start back. With the last one all instances are stopped; the program's functions are not called from
    /// then on, and its keys are forgotten.
    ///
    /// # Errors
    /// Without one.
    pub fn stop(&self) -> Result<(), Refusal> {
        let one_less = |n: u32| n.checked_sub(1);
        match self.started.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
            Ok(1) => self.end(),
            Ok(_) => Ok(()),
            Err(_) => Err(Refusal::fail("not started, so there is nothing to stop")),
        }
    }

    fn end(&self) -> Result<(), Refusal> {
        self.all().for_each(QatInstance::close);
        let rings: Vec<_> = self.all().flat_map(QatInstance::rings).collect();
        let drained = drain(&rings, self);
        self.all().for_each(QatInstance::forget_program);
        forget_private_keys();
        self.stopped.store(true, Ordering::Relaxed);
        drained
    }

    /// Forgets private keys if no instance is there that could use them.
    pub fn forget_unused_keys(&self) {
        if !self.cy.iter().any(QatInstance::is_up) {
            forget_private_keys();
        }
    }

    /// Executes requests on this thread, apart from all rings and all other threads: so many, which `next` makes.
    /// Each is answered, by the number that `next` was called with; what `answer` leaves of it is dropped.
    #[inline]
    pub fn execute(
        &self,
        count: usize,
        mut next: impl FnMut(usize) -> Request,
        mut answer: impl FnMut(usize, &mut Response),
    ) {
        // Nothing is there while a thread ends, nor within a call of this function.
        let kept = OWN.try_with(Cell::take).ok().flatten();
        let Some(mut instance) = kept.or_else(|| self.own_instance()) else {
            return (0..count).for_each(|n| answer(n, &mut lost(next(n))));
        };
        // Were this to panic, dropping the instance waits for what works on the caller's memory.
        let mut done = 0;
        if count == 1 {
            match instance.run(next(0).tag(0)) {
                Ok(Some(mut response)) => answer(0, &mut response),
                Ok(None) => {}
                Err(full) => answer(0, &mut lost(full.0)),
            }
            done = 1;
        }
        loop {
            let end = count.min(done + OWN_DEPTH);
            for n in done..end {
                if let Err(full) = instance.push(next(n).tag(n as u64)) {
                    answer(n, &mut lost(full.0));
                }
            }
            while instance.outstanding() > 0 {
                for mut response in instance.poll() {
                    answer(response.tag as usize, &mut response);
                }
                if instance.outstanding() > 0 {
                    instance.wait(Duration::MAX);
                }
            }
            done = end;
            if done == count {
                break;
            }
        }
        let _ = OWN.try_with(|own| own.set(Some(instance)));
    }

    #[cold]
    fn own_instance(&self) -> Option<Box<Instance>> {
        let config = InstanceConfig { depth: OWN_DEPTH, ..InstanceConfig::default() };
        let made = self.runtime.own_instance(config).map(Box::new);
        made.map_err(|e| refusal::say("a request", &format!("cannot be executed: {e}"))).ok()
    }

    /// Executes one request and waits for it, apart from all rings: the threads of a program do not wait for
    /// each other.
    #[inline]
    pub fn call(&self, request: Request) -> Response {
        let tag = request.tag;
        let (mut request, mut response) = (Some(request), None);
        let next = |_| request.take().unwrap_or_else(|| unreachable!("one request"));
        self.execute(1, next, |_, answer| response = Some(taken(answer)));
        Response { tag, ..response.unwrap_or_else(lost_response) }
    }
}

/// As many as a poll takes at once.
const OWN_DEPTH: usize = 32;

thread_local! {
    /// What a thread executes requests with. Boxed: it is taken out and put back each time.
    static OWN: Cell<Option<Box<Instance>>> = const { Cell::new(None) };
}

/// Moves an answer: each part goes from where it lies to where it stays.
#[inline]
pub(crate) fn taken(response: &mut Response) -> Response {
    Response {
        tag: response.tag,
        result: response.result,
        src: core::mem::take(&mut response.src),
        dst: core::mem::take(&mut response.dst),
        carried: response.carried.take(),
    }
}

/// The answer where the request could not be submitted.
fn lost(request: Request) -> Response {
    let Request { tag, src, dst, carried, .. } = request;
    Response { tag, src, dst, carried, ..lost_response() }
}

/// The answer of a request that was not executed.
pub(crate) fn lost_response() -> Response {
    let result = Err(OpError::DeviceLost(Lost::Untouched));
    let (src, dst) = (lookaside::Buf::empty(), lookaside::Buf::empty());
    Response { tag: 0, result, src, dst, carried: None }
}
