//! The machine that is simulated: a server without threads, on a clock of its own. All on one thread.

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use lookaside::{Clock, Engine, Memory, Runtime};
use lookaside_server::{Config, Server, Stepped, Turn};
use lookaside_shared::World;
use lookaside_testkit::{FaultDevice, Faults, Rng, VirtualClock};
use lookaside_wire::Area;

use super::{
    common::scribble,
    echo::{Echo, owner},
};

/// The server, where it lives.
#[derive(Default)]
pub struct Land {
    server: Option<Server>,
    functions: Vec<Stepped>,
    engines: Vec<Engine>,
    clock: VirtualClock,
    folder: PathBuf,
    /// Nobody runs the server's threads.
    hangs: bool,
    /// The server is killed when the next client waits for an answer of it.
    dies: bool,
    /// How often it was killed.
    pub deaths: usize,
}

thread_local! {
    static LAND: RefCell<Land> = RefCell::default();
    static ADVERSARIES: RefCell<(Vec<Arc<Area>>, Rng)> = const {
        RefCell::new((Vec::new(), Rng::new(0)))
    };
}

/// Something with the land. No client may be stepped within it.
pub fn with<R>(f: impl FnOnce(&mut Land) -> R) -> R {
    LAND.with(|land| f(&mut land.borrow_mut()))
}

/// A new one.
pub fn begin(folder: &Path, clock: &VirtualClock, seed: u64) {
    let land = Land { folder: folder.into(), clock: clock.clone(), ..Land::default() };
    with(|old| *old = land);
    ADVERSARIES.with(|all| *all.borrow_mut() = (Vec::new(), Rng::new(seed)));
}

/// A client that writes into its memory whenever it likes: also while the server executes a request.
pub fn is_hostile(area: &Arc<Area>) {
    ADVERSARIES.with(|all| all.borrow_mut().0.push(area.clone()));
}

/// A word of garbage, somewhere before the arena: in an index or in a record.
pub fn scribble_somewhere(area: &Area, rng: &mut Rng) {
    let depth = u64::from(area.shape().depth);
    let before = area.memory().len() as u64 - u64::from(area.shape().arena);
    if rng.chance(50) {
        // Of a request, where its source or its destination lies: to somewhere else, in the arena or beyond.
        let record = 4096 + rng.below(depth) as usize * 128;
        let word =
            rng.below(2 * u64::from(area.shape().arena)) << [0, 0, 32][rng.below(3) as usize];
        return scribble(area, record + [16, 24, 32][rng.below(3) as usize], word);
    }
    let at = match rng.below(4) {
        0 => [0, 128, 256, 384, 512, 640][rng.below(6) as usize],
        _ => rng.below(before / 8) as usize * 8,
    };
    let word = match rng.below(3) {
        0 => rng.next_u64(),
        1 => rng.below(2 * depth),
        _ => 1 << rng.below(64),
    };
    scribble(area, at, word);
}

fn meanwhile() {
    ADVERSARIES.with(|all| {
        let (areas, rng) = &mut *all.borrow_mut();
        if !areas.is_empty() && rng.chance(50) {
            let n = rng.below(areas.len() as u64) as usize;
            scribble_somewhere(&areas[n], rng);
        }
    });
}

/// Whether memory of a client has bytes of another one.
pub fn sees_others(area: &Area, tenant: u8) -> bool {
    let mut arena = vec![0; area.shape().arena as usize];
    area.read(0..arena.len(), &mut arena);
    arena.iter().any(|byte| owner(*byte) != 0 && owner(*byte) != tenant)
}

impl Land {
    /// Starts the server. With `rng` its device is late, busy, and answers in any order; without, it has one engine.
    pub fn start(&mut self, config: &Config, ns_per_kib: u64, rng: Option<&mut Rng>) {
        let echo = Echo::new("echo", ns_per_kib, meanwhile);
        // It is busy as long as it likes: there is no other device.
        let stall = Duration::from_secs(1 << 30);
        let builder = Runtime::builder()
            .clock(Arc::new(self.clock.clone()))
            .stall(stall)
            .batch_deadline(Duration::from_micros(config.batch_us));
        let builder = match rng {
            None => builder.device(echo).engines(1),
            Some(rng) => {
                let faults = Faults {
                    busy: rng.below(40) as u32,
                    late: rng.below(50) as u32,
                    reorder: rng.below(100) as u32,
                    ..Faults::default()
                };
                let device = FaultDevice::new(echo, faults, rng.next_u64());
                builder.device(device).engines(1 + rng.below(2) as usize)
            }
        };
        let (runtime, engines): (Runtime, Vec<Engine>) = builder.start_stepped().unwrap();
        self.engines = engines;
        let mut server = Server::start_stepped(config, runtime).unwrap();
        self.functions = server.take_stepped();
        self.server = Some(server);
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        let Some(server) = self.server.take() else { return };
        // Its sockets stay in the file system.
        let sockets = std::fs::read_dir(&self.folder).unwrap().map(|one| one.unwrap().path());
        let sockets: Vec<_> = sockets.map(|one| (one.with_extension("kept"), one)).collect();
        sockets.iter().for_each(|(kept, socket)| std::fs::hard_link(socket, kept).unwrap());
        self.functions.clear();
        drop(server);
        self.engines.clear();
        sockets.iter().for_each(|(kept, socket)| std::fs::rename(kept, socket).unwrap());
        self.deaths += 1;
    }

    /// SIGTERM.
    pub fn stop(&mut self) {
        self.server = None;
    }

    pub fn lives(&self) -> bool {
        self.server.is_some()
    }

    pub fn hang(&mut self, hangs: bool) {
        self.hangs = hangs;
    }

    /// The next client that waits for an answer of the server waits for a dead one.
    pub fn die_soon(&mut self) {
        self.dies = true;
    }

    /// A turn of one function or engine. Returns whether it moved.
    pub fn step_one(&mut self, n: u64) -> bool {
        let now_ns = self.clock.now_ns();
        let all = self.functions.len() + self.engines.len();
        if all == 0 || self.hangs {
            return false;
        }
        let n = n as usize % all;
        match self.functions.get_mut(n) {
            Some(function) => function.step(now_ns) == Turn::Awake,
            None => self.engines[n - self.functions.len()].step(now_ns).progress,
        }
    }

    /// A turn of all. Returns whether any moved.
    pub fn step(&mut self) -> bool {
        let all = self.functions.len() + self.engines.len();
        (0..all as u64).fold(false, |moved, n| self.step_one(n) | moved)
    }

    /// A turn of all functions and of the first engine. Returns whether any moved.
    pub fn step_first(&mut self) -> bool {
        (0..=self.functions.len() as u64).fold(false, |moved, n| self.step_one(n) | moved)
    }

    /// A turn of all. Returns whether the functions of a server that stops are over.
    pub fn is_over(&mut self) -> bool {
        self.step();
        let now_ns = self.clock.now_ns();
        self.functions.retain_mut(|function| function.step(now_ns) != Turn::Over);
        self.functions.is_empty()
    }
}

/// The world as clients of the runtime see it.
pub struct Sim(pub VirtualClock);

impl World for Sim {
    fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }

    fn awaits(&self) {
        with(|land| {
            if land.dies {
                land.dies = false;
                land.kill();
            }
            // As many turns as a message takes that waits behind others.
            for _ in 0..40 {
                (0..land.functions.len() as u64).for_each(|n| _ = land.step_one(n));
                // It looks at its rings for a while before it hears who is new.
                self.0.advance(2_000);
            }
        });
    }
}
