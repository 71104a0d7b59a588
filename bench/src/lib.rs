//! Benches that measure Lookaside beside its rivals: clocks, rounds, medians.
//!
//! Wall clock is noisy on shared machines, so what is compared is CPU time, the contenders take
//! turns round by round, and the verdict is the median of the ratios of each round.
#![deny(unsafe_code)]

use rustix::time::{ClockId, clock_gettime};

/// CPU time of the whole process, all threads, user and system, in nanoseconds.
pub fn cpu_ns() -> u64 {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    t.tv_sec.cast_unsigned() * 1_000_000_000 + t.tv_nsec.cast_unsigned()
}

/// Wall clock in nanoseconds.
pub fn wall_ns() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec.cast_unsigned() * 1_000_000_000 + t.tv_nsec.cast_unsigned()
}

/// The median; 0 of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// What one contender took in each round.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// CPU nanoseconds.
    pub cpu: Vec<f64>,
    /// Wall clock nanoseconds.
    pub wall: Vec<f64>,
}

impl Times {
    /// The median over the rounds of this contender's CPU time relative to another's.
    pub fn cpu_ratio(&self, other: &Times) -> f64 {
        median(&self.cpu.iter().zip(&other.cpu).map(|(a, b)| a / b).collect::<Vec<_>>())
    }

    /// The same in wall clock.
    pub fn wall_ratio(&self, other: &Times) -> f64 {
        median(&self.wall.iter().zip(&other.wall).map(|(a, b)| a / b).collect::<Vec<_>>())
    }

    /// "median (least-most)" of the CPU times, scaled.
    pub fn cpu_text(&self, scale: f64) -> String {
        text(&self.cpu, scale)
    }

    /// "median (least-most)" of the wall clock times, scaled.
    pub fn wall_text(&self, scale: f64) -> String {
        text(&self.wall, scale)
    }
}

fn text(values: &[f64], scale: f64) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    format!("{:.1} ({:.1}-{:.1})", median(values) * scale, least * scale, most * scale)
}

/// A contender: runs its whole share of one round.
pub type Contender<'a> = Box<dyn FnMut() + 'a>;

/// Runs the contenders in turn, `rounds` times after one round to warm up.
pub fn interleave(rounds: usize, contenders: &mut [Contender<'_>]) -> Vec<Times> {
    let mut times = vec![Times::default(); contenders.len()];
    for round in 0..=rounds {
        for (run, times) in contenders.iter_mut().zip(&mut times) {
            let (cpu, wall) = (cpu_ns(), wall_ns());
            run();
            if round > 0 {
                times.cpu.push((cpu_ns() - cpu) as f64);
                times.wall.push((wall_ns() - wall) as f64);
            }
        }
    }
    times
}
