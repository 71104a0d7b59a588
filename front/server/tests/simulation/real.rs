//! A client as programs have it: a runtime with the shared device.

use std::{path::Path, sync::Arc, time::Duration};

use lookaside::{
    Args, Buf, Clock, Compression, Engine, Instance, InstanceConfig, Op, OpError, Pke, Request,
    Runtime, Session, SessionSpec, XdhCurve,
};
use lookaside_shared::{Policy, Settings, SharedDevice};
use lookaside_testkit::{Rng, VirtualClock};
use rustix::event::{PollFd, PollFlags, Timespec};

use super::{
    echo::{Echo, alone, apply, mine, poison},
    land::Sim,
};

/// Operations without packets.
const KINDS: [Op; 3] = [Op::Copy, Op::Compress, Op::XdhDerive];

pub struct Real {
    tenant: u8,
    policy: Policy,
    clock: VirtualClock,
    engines: Vec<Engine>,
    instance: Instance,
    sessions: Vec<Arc<Session>>,
    runtime: Runtime,
    /// It polls when its event fd says so, and not otherwise.
    sleepy: bool,
    asleep: bool,
    /// By tag: the source; `None` once answered.
    expected: Vec<Option<Vec<u8>>>,
    pub to_send: u64,
    pub answered: usize,
}

impl Real {
    /// Connects, if there is a server.
    pub fn new(tenant: u8, path: &Path, rng: &mut Rng, clock: &VirtualClock) -> Option<Real> {
        let policy = [Policy::Fallback, Policy::Wait, Policy::Fail][rng.below(3) as usize];
        // Timers of event fds are the system's: who waits for the next server is not woken by them in virtual time.
        let sleepy = policy != Policy::Wait && rng.chance(50);
        let settings = Settings { policy, timeout: Duration::from_secs(5), ..Settings::new(path) };
        let device = SharedDevice::within(settings, Arc::new(Sim(clock.clone()))).ok()?;
        let builder = Runtime::builder()
            .device(device)
            .device(Echo::new("cpu", 100, alone))
            .engines(usize::from(!sleepy))
            .clock(Arc::new(clock.clone()));
        let (runtime, engines) = match sleepy {
            true => (builder.start().unwrap(), Vec::new()),
            false => builder.start_stepped().unwrap(),
        };
        let specs = [
            SessionSpec::Mover,
            SessionSpec::Compression(Compression::default()),
            SessionSpec::Pke(Pke::Xdh(XdhCurve::X25519)),
        ];
        let sessions = specs.map(|spec| runtime.session(spec).unwrap()).into();
        let depth = 1 + rng.below(16) as usize;
        let instance = runtime.instance(InstanceConfig { depth, ..InstanceConfig::default() });
        let mut instance = instance.unwrap();
        if sleepy {
            instance.event_fd().unwrap();
        }
        Some(Real {
            tenant,
            policy,
            clock: clock.clone(),
            engines,
            instance,
            sessions,
            runtime,
            sleepy,
            asleep: false,
            expected: Vec::new(),
            to_send: 1 + rng.below(40),
            answered: 0,
        })
    }

    pub fn is_done(&self) -> bool {
        self.to_send == 0 && self.answered == self.expected.len()
    }

    /// How many requests its own device has served.
    pub fn fallbacks(&self) -> u64 {
        let rows = self.runtime.counters().ops;
        rows.iter().filter(|row| row.device == "cpu").map(|row| row.requests).sum()
    }

    /// Pushes, lets its engine go on, and takes what is answered. Returns whether anything moved. `lost`: a server was
    /// lost.
    pub fn step(&mut self, rng: &mut Rng, lost: bool) -> bool {
        let mut moved = false;
        while self.to_send > 0 && self.instance.free() > 0 && rng.chance(70) {
            self.push(rng);
            (moved, self.asleep) = (true, false);
        }
        self.instance.doorbell();
        for engine in &mut self.engines {
            moved |= engine.step(self.clock.now_ns()).progress;
        }
        if self.asleep && !self.is_woken() {
            return moved;
        }
        let answers: Vec<_> = self.instance.poll().collect();
        self.asleep = self.sleepy && answers.is_empty();
        moved |= !answers.is_empty();
        for response in answers {
            let place = self.expected.get_mut(response.tag as usize).expect("asked");
            let src = place.take().expect("answered once");
            self.answered += 1;
            let mut want = vec![poison(self.tenant); response.dst.len()];
            match response.result {
                Ok(done) => {
                    let produced = apply(&src, &mut want);
                    assert_eq!((done.consumed, done.produced), (src.len(), produced));
                }
                Err(OpError::Library(_)) if self.policy == Policy::Fail && lost => {}
                Err(e) => panic!("{e}"),
            }
            assert!(response.dst.as_slice() == Some(&*want), "other bytes for {}", self.tenant);
            assert!(response.src.as_slice() == Some(&*src), "the source is as it was");
        }
        moved
    }

    fn is_woken(&mut self) -> bool {
        let fd = self.instance.event_fd().unwrap();
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&zero)).unwrap() > 0
    }

    fn push(&mut self, rng: &mut Rng) {
        let kind = rng.below(KINDS.len() as u64) as usize;
        let len = rng.below(1500) as usize;
        let src: Vec<u8> = (0..len).map(|_| mine(self.tenant, rng.next_u64())).collect();
        let dst = vec![poison(self.tenant); len + rng.below(200) as usize];
        let session = self.sessions[kind].clone();
        let (from, to) = (Buf::from(&*src), Buf::from(dst));
        let request = Request::new(KINDS[kind], session, Args::default(), from, to);
        let tag = self.expected.len() as u64;
        self.instance.push(request.tag(tag)).expect("room");
        self.expected.push(Some(src));
        self.to_send -= 1;
    }

    /// Dies, as far as that can be had within a process: its engine and its rings first, in the middle of what they do.
    pub fn die(mut self) -> Result<(), Real> {
        if self.sleepy {
            return Err(self);
        }
        self.engines.clear();
        Ok(())
    }
}
