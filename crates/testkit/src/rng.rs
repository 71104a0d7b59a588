//! A small seeded generator, so that a failing test's seed reproduces it anywhere, and a test's seeds.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// splitmix64 (Steele, Lea, Flood 2014): any seed is good, 0 included.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator with this seed.
    pub const fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 when `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// True with a probability of `percent` in 100.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }
}

/// Runs a simulation with 500 seeds, or with one in `divisor` of them: one that takes longer. Of the
/// environment, `LOOKASIDE_SIM_SEEDS` is another number, `LOOKASIDE_SIM_FIRST` the first seed, so that a run can
/// be divided, and `LOOKASIDE_SIM_SEED` a single one. Says which seed failed.
///
/// # Panics
/// With the simulation.
pub fn each_seed(divisor: u64, run: impl Fn(u64)) {
    let number = |name| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seeds = match number("LOOKASIDE_SIM_SEED") {
        Some(one) => one..one + 1,
        None => {
            let first = number("LOOKASIDE_SIM_FIRST").unwrap_or(0);
            first..first + number("LOOKASIDE_SIM_SEEDS").unwrap_or(500) / divisor
        }
    };
    for seed in seeds {
        if let Err(e) = catch_unwind(AssertUnwindSafe(|| run(seed))) {
            eprintln!("reproduce with LOOKASIDE_SIM_SEED={seed}");
            resume_unwind(e);
        }
    }
}
