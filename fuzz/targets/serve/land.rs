//! A server without threads, on a clock of its own, and what its device does meanwhile.

use std::{
    cell::RefCell,
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use lookaside::{Clock as _, Engine, Memory as _, Runtime};
use lookaside_server::{Config, FunctionConfig, Server, Stepped, Turn};
use lookaside_testkit::{Rng, VirtualClock};
use lookaside_wire::{Area, Shape};

use crate::echo::{Echo, owner};

const DEPTH: u32 = 8;
const ARENA: u32 = 16 << 10;

/// Rings of the honest client and of two more; what they leave is for the hostile one.
const RINGS: u64 = 3;

thread_local! {
    /// What the hostile client writes into its memory while the device executes the next requests.
    static MEANWHILE: RefCell<VecDeque<(Arc<Area>, usize, u64)>> = RefCell::default();
}

/// Writes a word as soon as the device executes a request.
pub fn write_meanwhile(area: &Arc<Area>, at: usize, word: u64) {
    MEANWHILE.with(|all| all.borrow_mut().push_back((area.clone(), at, word)));
}

fn meanwhile() {
    MEANWHILE.with(|all| {
        let mut all = all.borrow_mut();
        let n = all.len().min(2);
        all.drain(..n).for_each(|(area, at, word)| scribble(&area, at, word));
    });
}

/// Writes a word of shared memory as no good client does.
pub fn scribble(area: &Area, at: usize, word: u64) {
    assert!(at + 8 <= area.memory().len() && at.is_multiple_of(8));
    // SAFETY: within the memory; aligned.
    unsafe { std::ptr::write_volatile(area.memory().base().as_ptr().add(at).cast::<u64>(), word) }
}

/// Whether memory of a client has bytes of another one.
pub fn sees_others(area: &Area, tenant: u8) -> bool {
    let mut arena = vec![0; area.shape().arena as usize];
    area.read(0..arena.len(), &mut arena);
    arena.iter().any(|byte| owner(*byte) != 0 && owner(*byte) != tenant)
}

// Clients of `hand.rs` that misbehave at random; here they are all honest.
pub fn is_hostile(_: &Arc<Area>) {}
pub fn scribble_somewhere(_: &Area, _: &mut Rng) {}

/// A server with one virtual function, its engine, and its clock.
pub struct World {
    functions: Vec<Stepped>,
    engines: Vec<Engine>,
    clock: VirtualClock,
    folder: PathBuf,
    path: PathBuf,
    /// Last, as it was first.
    _server: Server,
}

impl World {
    pub fn new() -> World {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("lookaside-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        let mut config = Config::new(&folder);
        let shape = Shape::new(DEPTH, ARENA).expect("a shape");
        config.functions = vec![FunctionConfig {
            depth: DEPTH,
            arena: ARENA,
            memory: RINGS * (shape.bytes() as u64 + u64::from(ARENA)),
            connections: 2 * RINGS as usize,
            sessions: RINGS as usize * crate::echo::OPS.len(),
            ..FunctionConfig::new("f")
        }];
        let clock = VirtualClock::new();
        let builder = Runtime::builder().clock(Arc::new(clock.clone())).engines(1);
        let builder = builder.device(Echo::new("echo", 500, meanwhile));
        let (runtime, engines) = builder.start_stepped().expect("engines");
        let mut server = Server::start_stepped(&config, runtime).expect("a server");
        let path = server.socket("f").expect("a function");
        MEANWHILE.with(|all| all.borrow_mut().clear());
        World { functions: server.take_stepped(), engines, clock, folder, path, _server: server }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A turn of the function. Returns whether it is awake.
    pub fn step_function(&mut self) -> bool {
        self.clock.advance(1_000);
        let now_ns = self.clock.now_ns();
        self.functions
            .iter_mut()
            .fold(false, |awake, one| awake | (one.step(now_ns) == Turn::Awake))
    }

    /// A turn of the engine. Returns whether it moved.
    pub fn step_engine(&mut self) -> bool {
        let now_ns = self.clock.now_ns();
        self.engines.iter_mut().fold(false, |moved, one| moved | one.step(now_ns).progress)
    }

    /// A turn of both.
    pub fn step(&mut self) -> bool {
        let awake = self.step_function();
        self.step_engine() | awake
    }

    pub fn advance(&self, ns: u64) {
        self.clock.advance(ns);
    }

    /// Goes on until the server has nothing to do. It takes 16 of 128 connections that may wait at a time, and sleeps in
    /// between: who comes behind those of somebody who has gone is refused until then.
    pub fn settle(&mut self) {
        let mut rounds = 0;
        let mut silent = 0;
        while silent < 30 {
            rounds += 1;
            assert!(rounds < 20_000, "the server never sleeps");
            silent = if self.step() { 0 } else { silent + 1 };
            self.clock.advance(10_000);
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
