//! Running the points: rounds interleaved over all points, answers checked.

use std::time::{Duration, Instant};

use parcomp::Provider;
use rustix::time::{ClockId, clock_gettime};

use super::{
    corpus::{Corpus, Random},
    setting::{Setting, Who},
    stats::Spread,
};

/// What is to be measured. Points that several figures share are measured once.
#[derive(Default)]
pub struct Plan {
    points: Vec<(usize, Setting)>,
}

impl Plan {
    /// Adds a point unless it is there; returns its place.
    pub fn add(&mut self, corpus: usize, setting: Setting) -> usize {
        let point = (corpus, setting);
        self.points.iter().position(|p| *p == point).unwrap_or_else(|| {
            self.points.push(point);
            self.points.len() - 1
        })
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }
}

/// What one point gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub bytes_in: usize,
    pub bytes_out: usize,
    pub rounds: usize,
    /// Seconds.
    pub elapsed: Spread,
    /// Seconds of CPU time of the whole process, user and system, all threads.
    pub cpu: Spread,
}

impl Outcome {
    /// The compressed size in percent of the original: smaller is better.
    pub fn ratio_percent(&self) -> f64 {
        100.0 * self.bytes_out as f64 / self.bytes_in.max(1) as f64
    }

    /// Seconds per 10^9 bytes of input.
    pub fn elapsed_per_gb(&self) -> Spread {
        self.elapsed.scaled(1e9 / self.bytes_in.max(1) as f64)
    }

    /// CPU-seconds per 10^9 bytes of input.
    pub fn cpu_per_gb(&self) -> Spread {
        self.cpu.scaled(1e9 / self.bytes_in.max(1) as f64)
    }
}

/// One run of one point.
struct Sample {
    bytes_out: usize,
    elapsed_s: f64,
    cpu_s: f64,
}

/// Measures every point of the plan, `rounds` times, each time in another order, on about `size`
/// bytes.
/// `progress` hears what is measured next.
///
/// # Errors
/// A provider fails, or an answer does not decompress to what was compressed.
pub fn run(
    plan: &Plan,
    corpora: &[Corpus],
    size: usize,
    rounds: usize,
    progress: &mut dyn FnMut(usize, usize, &Setting),
) -> Result<Vec<Outcome>, String> {
    let sources: Vec<_> = corpora.iter().map(|c| c.repeated(size)).collect();
    let mut room = Room::new(plan, sources.iter().map(Vec::len).max().unwrap_or(0))?;
    let mut samples: Vec<Vec<Sample>> = plan.points.iter().map(|_| Vec::new()).collect();
    let mut random = Random::new(1);
    for round in 0..rounds {
        let mut order: Vec<_> = (0..plan.points.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i + 1));
        }
        for (nth, place) in order.into_iter().enumerate() {
            let (corpus, setting) = &plan.points[place];
            progress(round, nth, setting);
            samples[place].push(room.sample(setting, &sources[*corpus])?);
        }
    }
    let points = plan.points.iter().zip(&samples);
    Ok(points.map(|((corpus, _), s)| outcome(s, sources[*corpus].len())).collect())
}

fn outcome(samples: &[Sample], bytes_in: usize) -> Outcome {
    let of = |value: fn(&Sample) -> f64| Spread::of(&samples.iter().map(value).collect::<Vec<_>>());
    Outcome {
        bytes_in,
        bytes_out: samples.first().map_or(0, |s| s.bytes_out),
        rounds: samples.len(),
        elapsed: of(|s| s.elapsed_s),
        cpu: of(|s| s.cpu_s),
    }
}

/// Memory that all runs share: its pages are there before the first.
struct Room {
    packed: Vec<u8>,
    back: Vec<u8>,
}

impl Room {
    fn new(plan: &Plan, size: usize) -> Result<Room, String> {
        let mut largest = 0;
        for (_, setting) in &plan.points {
            let provider = provider(setting.who)?;
            largest = largest.max(parcomp::bound(&*provider, &setting.params(size), size));
        }
        Ok(Room { packed: vec![1; largest], back: vec![1; size] })
    }

    fn sample(&mut self, setting: &Setting, src: &[u8]) -> Result<Sample, String> {
        let fail = |e: parcomp::Error| format!("{setting:?}: {e}");
        let (params, provider) = (setting.params(src.len()), provider(setting.who)?);
        // Engines start at the first call, which is not timed.
        let first = &src[..src.len().min(4096)];
        parcomp::compress_buffer(&*provider, &params, first, &mut self.packed).map_err(fail)?;

        let (start, cpu) = (Instant::now(), cpu_time());
        let n = parcomp::compress_buffer(&*provider, &params, src, &mut self.packed);
        let (elapsed, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
        let n = n.map_err(fail)?;

        let decoder = other(setting.who)?;
        // Nothing that is left from the run before may pass for an answer.
        self.back.fill(0);
        let m = parcomp::decompress_buffer(&*decoder, &params, &self.packed[..n], &mut self.back);
        let back = self.back.get(..m.map_err(fail)?);
        if back != Some(src) {
            return Err(format!("{setting:?}: the output does not decompress to the input"));
        }
        Ok(Sample { bytes_out: n, elapsed_s: elapsed.as_secs_f64(), cpu_s: cpu.as_secs_f64() })
    }
}

fn provider(who: Who) -> Result<std::sync::Arc<dyn Provider>, String> {
    parcomp::provider(who.name()).map_err(|e| e.to_string())
}

/// The one that checks: what one provider compresses the other one has to read.
fn other(who: Who) -> Result<std::sync::Arc<dyn Provider>, String> {
    match who {
        Who::Zlib => provider(Who::Lookaside),
        Who::Lookaside => provider(Who::Zlib),
    }
}

/// CPU time of this process so far: user and system, all threads. The sum that getrusage(2) gives
/// as two, in nanoseconds.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{Plan, cpu_time};
    use crate::bench::setting::Setting;

    #[test]
    fn shared_points_are_measured_once() {
        let mut plan = Plan::default();
        let a = plan.add(0, Setting::zlib(1));
        let b = plan.add(0, Setting::device(1, 2));
        assert_eq!(plan.add(0, Setting::zlib(1)), a);
        assert_ne!(plan.add(1, Setting::zlib(1)), a);
        assert_ne!(a, b);
        assert_eq!(plan.len(), 3);
    }

    #[test]
    fn cpu_time_passes_while_we_work() {
        let before = cpu_time();
        let mut x = 1u64;
        while cpu_time() == before {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert!(cpu_time() > before);
    }
}
