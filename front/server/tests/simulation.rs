//! The server with its clients under a virtual clock, all on one thread, at random: every request that was accepted is
//! answered once, or its client is dead; no tenant sees a byte of another one; nobody honest is cut off, refused, or waits
//! for ever; and promises hold. Clients die between any two things that they do, or write garbage into their rings and
//! change their memory while the server works on it; the server is killed, hangs, and stops; time jumps.
//!
//! Each byte says whose it is: see `simulation/echo.rs`. `LOOKASIDE_SIM_SEEDS`, `LOOKASIDE_SIM_FIRST` and
//! `LOOKASIDE_SIM_SEED`: see `lookaside_testkit::each_seed`.

mod common;
#[path = "simulation/echo.rs"]
mod echo;
#[path = "simulation/hand.rs"]
mod hand;
#[path = "simulation/land.rs"]
mod land;
#[path = "simulation/promises.rs"]
mod promises;
#[path = "simulation/real.rs"]
mod real;

use std::path::Path;

use common::Folder;
use hand::{Did, Hand};
use lookaside::Clock;
use lookaside_server::{Config, FunctionConfig};
use lookaside_testkit::{Rng, VirtualClock, each_seed};
use real::Real;

/// The most tenants: what fits into half a byte.
const MOST: u8 = 14;

/// What is simulated.
struct World {
    rng: Rng,
    clock: VirtualClock,
    config: Config,
    ns_per_kib: u64,
    hands: Vec<Hand>,
    reals: Vec<Real>,
    next_tenant: u8,
    /// Time jumps, so that clients may take a server for dead.
    jumps: bool,
    /// A server hung, or died while somebody waited for it.
    unsure: bool,
}

impl World {
    fn new(seed: u64, folder: &Path) -> World {
        let mut rng = Rng::new(seed);
        let clock = VirtualClock::new();
        land::begin(folder, &clock, seed);
        let function = |rng: &mut Rng, name: &str| {
            let mut function = FunctionConfig::new(name);
            function.depth = 1 << rng.below(5);
            function.arena = 4096 << rng.below(3);
            function
        };
        let mut config = Config::new(folder);
        let names = ["a", "b", "c"];
        let n = 1 + rng.below(3) as usize;
        config.functions = names[..n].iter().map(|name| function(&mut rng, name)).collect();
        // Who floods has a function of its own.
        config.functions.push(FunctionConfig {
            memory: 200 << 10,
            connections: 6,
            sessions: 8,
            ..function(&mut rng, "flooded")
        });
        let ns_per_kib = rng.below(3000);
        land::with(|land| land.start(&config, ns_per_kib, Some(&mut rng)));
        let jumps = rng.chance(20);
        World {
            rng,
            clock,
            config,
            ns_per_kib,
            hands: Vec::new(),
            reals: Vec::new(),
            next_tenant: 1,
            jumps,
            unsure: false,
        }
    }

    fn path(&self, function: usize) -> std::path::PathBuf {
        self.config.folder.join(format!("{}.sock", self.config.functions[function].name))
    }

    /// A client more.
    fn open(&mut self) {
        if self.next_tenant > MOST {
            return;
        }
        let tenant = self.next_tenant;
        self.next_tenant += 1;
        let flooded = self.config.functions.len() - 1;
        let n = self.rng.below(flooded as u64) as usize;
        let path = self.path(n);
        let to_send = 1 + self.rng.below(40);
        match self.rng.below(10) {
            0..=4 => self.hands.push(Hand::new(tenant, &path, 0, to_send)),
            5 => self.hands.push(Hand::new(tenant, &path, 30, 1000)),
            6 => {
                let path = self.path(flooded);
                self.hands.push(Hand::new(tenant, &path, 50, 1000).that_floods());
            }
            _ => {
                self.reals.extend(Real::new(tenant, &path, &mut self.rng, &self.clock));
            }
        }
    }

    /// One thing that happens.
    fn step(&mut self) {
        let actors = self.hands.len() + self.reals.len();
        let n = self.rng.below(2 * actors.max(1) as u64) as usize;
        if n < self.hands.len() {
            self.step_hand(n);
        } else if n < actors {
            let lost = self.is_lost();
            self.reals[n - self.hands.len()].step(&mut self.rng, lost);
        } else {
            let n = self.rng.next_u64();
            land::with(|land| land.step_one(n));
        }
        self.clock.advance(self.rng.below(4_000));
        if self.jumps && self.rng.chance(1) {
            self.clock.advance(self.rng.below(20_000_000_000));
        }
    }

    /// Whether clients may have lost a server.
    fn is_lost(&self) -> bool {
        self.unsure || self.jumps || land::with(|land| land.deaths > 0)
    }

    fn step_hand(&mut self, n: usize) {
        let hand = &mut self.hands[n];
        if hand.step(&mut self.rng) == Did::CutOff {
            let deaths = land::with(|land| land.deaths);
            assert!(!hand.is_honest() || deaths > 0, "{} is cut off", hand.tenant);
            self.hands.swap_remove(n);
        } else if hand.is_honest() && self.rng.below(400) == 0
            || !hand.is_honest() && self.rng.below(60) == 0
        {
            self.hands.swap_remove(n).die(&mut self.rng);
        }
    }

    fn disturb(&mut self) {
        match self.rng.below(8) {
            0 if !self.reals.is_empty() => {
                let n = self.rng.below(self.reals.len() as u64) as usize;
                let real = self.reals.swap_remove(n);
                self.reals.extend(real.die().err());
            }
            1 => self.restart(),
            2 => {
                land::with(land::Land::die_soon);
                self.unsure = true;
            }
            _ => self.open(),
        }
    }

    /// Kills the server, and starts the next one a while later.
    fn restart(&mut self) {
        land::with(land::Land::kill);
        for _ in 0..self.rng.below(60) {
            self.step();
        }
        self.revive();
    }

    fn revive(&mut self) {
        if !land::with(|land| land.lives()) {
            land::with(|land| land.start(&self.config, self.ns_per_kib, Some(&mut self.rng)));
        }
    }

    /// Whoever is left has all answers, in a bounded time; then the server stops, and leaves nothing behind.
    fn end(mut self) {
        land::with(|land| land.hang(false));
        self.revive();
        let mut rounds = 0;
        let is_done = |world: &World| {
            world.hands.iter().all(|hand| !hand.is_honest() || hand.is_done())
                && world.reals.iter().all(Real::is_done)
        };
        while !is_done(&self) {
            rounds += 1;
            assert!(rounds < 50_000, "somebody is never answered");
            let mut moved = false;
            let mut n = 0;
            while n < self.hands.len() {
                let hand = &mut self.hands[n];
                match hand.step(&mut self.rng) {
                    Did::CutOff => {
                        let lost = land::with(|land| land.deaths > 0);
                        assert!(!hand.is_honest() || lost, "{} is cut off", hand.tenant);
                        self.hands.swap_remove(n);
                    }
                    did => {
                        moved |= did == Did::Something && hand.is_honest();
                        n += 1;
                    }
                }
            }
            let lost = self.is_lost();
            for real in &mut self.reals {
                moved |= real.step(&mut self.rng, lost);
            }
            moved |= land::with(land::Land::step);
            self.revive();
            self.clock.advance(if moved { 1_000 } else { 500_000 });
        }
        if !self.is_lost() {
            for real in &self.reals {
                assert_eq!(real.fallbacks(), 0, "the server served it");
            }
        }
        self.hands.iter().for_each(Hand::check_memory);
        land::with(land::Land::stop);
        let mut rounds = 0;
        while !land::with(land::Land::is_over) {
            rounds += 1;
            assert!(rounds < 50_000, "the server does not end");
            self.clock.advance(20_000);
        }
        let left = std::fs::read_dir(&self.config.folder).unwrap().count();
        assert_eq!(left, 0, "files of the server");
    }
}

fn run(seed: u64) {
    let folder = Folder::new();
    let mut world = World::new(seed, &folder.0);
    for _ in 0..1 + world.rng.below(5) {
        world.open();
    }
    // Half of the time, the server lives.
    let disturbed = world.rng.chance(50);
    for _ in 0..20 {
        (0..20).for_each(|_| world.step());
        if disturbed {
            world.disturb();
        } else if world.rng.chance(20) {
            world.open();
        }
        world.revive();
    }
    world.end();
}

#[test]
fn each_request_is_answered_once_and_no_tenant_sees_another() {
    each_seed(5, run);
}

/// A client dies before each thing that it does, one after the other; those beside it, in the same function and in another
/// one, have all their answers, and the function has back what the dead one had.
#[test]
fn clients_that_die_at_each_step_cost_nobody_anything() {
    let folder = Folder::new();
    let mut deaths = 0;
    for step in 0.. {
        let mut rng = Rng::new(step);
        let clock = VirtualClock::new();
        land::begin(&folder.0, &clock, step);
        let mut config = Config::new(&folder.0);
        // Three connections of two each, and what has gone may overlap with what comes.
        let all = |name: &str| FunctionConfig {
            depth: 4,
            arena: 4096,
            connections: 7,
            sessions: 16,
            ..FunctionConfig::new(name)
        };
        config.functions = vec![all("a"), all("b")];
        land::with(|land| land.start(&config, 500, Some(&mut rng)));
        let path = |name: &str| folder.0.join(name);
        let mut victim = Some(Hand::new(1, &path("a.sock"), 0, 12));
        let mut others =
            vec![Hand::new(2, &path("a.sock"), 0, 12), Hand::new(3, &path("b.sock"), 0, 12)];
        let mut rounds = 0;
        while victim.is_some() || !others.iter().all(Hand::is_done) {
            rounds += 1;
            assert!(rounds < 20_000, "death at step {step}: somebody is never answered");
            match &mut victim {
                Some(alive) if alive.steps < step && !alive.is_done() => {
                    assert_ne!(alive.step(&mut rng), Did::CutOff);
                }
                Some(alive) => {
                    deaths += u64::from(!alive.is_done());
                    victim.take().unwrap().die(&mut rng);
                    // Who comes next.
                    others.push(Hand::new(4, &path("a.sock"), 0, 12));
                    others.push(Hand::new(5, &path("b.sock"), 0, 12));
                }
                None => {}
            }
            for other in &mut others {
                assert_ne!(other.step(&mut rng), Did::CutOff, "death at step {step}");
            }
            land::with(land::Land::step);
            clock.advance(rng.below(20_000));
        }
        land::with(land::Land::stop);
        while !land::with(land::Land::is_over) {
            clock.advance(20_000);
        }
        if deaths + 20 < step {
            break;
        }
    }
    assert!(deaths > 60, "{deaths}");
}

/// A private key waits for those of others while they may come, not longer than until it has been quiet for 300 us, and
/// not at all where nobody else is there.
#[test]
fn private_keys_wait_for_company_that_may_come() {
    let folder = Folder::new();
    let mut rng = Rng::new(1);
    let clock = VirtualClock::new();
    land::begin(&folder.0, &clock, 1);
    let mut config = Config::new(&folder.0);
    config.functions = vec![FunctionConfig { depth: 4, arena: 4096, ..FunctionConfig::new("a") }];
    land::with(|land| land.start(&config, 1_000, None));
    let path = folder.0.join("a.sock");
    // One more of each of these clients, sent now, and how long it takes until all have their answers, in microseconds.
    let mut answered = |hands: &mut [&mut Hand]| {
        for hand in hands.iter_mut() {
            hand.to_send += 1;
        }
        let start_ns = clock.now_ns();
        while !hands.iter().all(|hand| hand.is_done()) {
            hands.iter_mut().for_each(|hand| _ = hand.step(&mut rng));
            land::with(land::Land::step);
            clock.advance(1_000);
            assert!(clock.now_ns() - start_ns < 20_000_000, "never answered");
        }
        (clock.now_ns() - start_ns) / 1_000
    };
    let (mut one, mut other) = (Hand::derives(1, &path, 0), Hand::derives(2, &path, 0));
    // They connect.
    answered(&mut [&mut one]);
    let alone: Vec<u64> = (0..20).map(|_| answered(&mut [&mut one])).collect();
    assert!(alone.iter().all(|us| *us < 150), "alone: {alone:?}");
    answered(&mut [&mut other]);
    let both: Vec<u64> = (0..20).map(|_| answered(&mut [&mut one, &mut other])).collect();
    assert!(both.iter().all(|us| *us < 150), "each has one: {both:?}");
    let left = answered(&mut [&mut one]);
    assert!((300..450).contains(&left), "the other one's may come: {left}");
    // The other one has had none for 5 ms.
    let forgotten: Vec<u64> = (0..20).map(|_| answered(&mut [&mut one])).collect();
    let waits = forgotten.iter().take_while(|us| **us >= 300).count();
    assert!((10..=17).contains(&waits), "for 5 ms: {forgotten:?}");
    assert!(forgotten[waits..].iter().all(|us| *us < 150), "and then no more: {forgotten:?}");
}
