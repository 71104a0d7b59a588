//! Rows of a table: a batch against its items one by one without kernels.

use lookaside_pke::Engine;
use lookaside_simd::{Cpu, Tier};

/// CPU time of this thread in seconds.
fn cpu_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The least time of a run of each contender, rounds interleaved.
pub fn race(rounds: usize, contenders: &mut [Box<dyn FnMut() + '_>]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; contenders.len()];
    for _ in 0..rounds {
        for (best, contender) in best.iter_mut().zip(contenders.iter_mut()) {
            let (mut times, from) = (0, cpu_time());
            let taken = loop {
                contender();
                times += 1;
                let taken = cpu_time() - from;
                if taken > 2e-3 {
                    break taken;
                }
            };
            *best = best.min(taken / f64::from(times));
        }
    }
    best
}

/// Does one item for each pair of source and destination.
pub type Run<'a> = dyn Fn(&mut Engine, &mut [(&[u8], &mut [u8])]) + 'a;

pub struct Bench {
    pub rounds: usize,
    names: Vec<String>,
}

impl Bench {
    /// From `--rounds N` and parts of names.
    pub fn from_arguments() -> Bench {
        let mut bench = Bench { rounds: 5, names: Vec::new() };
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        while let Some(argument) = arguments.next() {
            if argument == "--rounds" {
                bench.rounds = arguments.next().and_then(|n| n.parse().ok()).expect("--rounds N");
            } else {
                bench.names.push(argument);
            }
        }
        bench
    }

    pub fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|part| name.contains(part))
    }

    pub fn row(&self, name: &str, src: &[u8], dst_len: usize, run: &Run<'_>) {
        const COUNTS: [usize; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
        let mut alone = Engine::new(&Cpu::with_cap(Tier::Generic));
        let mut one: Vec<u8> = vec![0; dst_len];
        let mut buffers = COUNTS.map(|count| vec![vec![0; dst_len]; count]);
        let mut contenders: Vec<Box<dyn FnMut() + '_>> = vec![Box::new({
            let (alone, one) = (&mut alone, &mut one);
            move || run(alone, &mut [(src, one)])
        })];
        for buffers in &mut buffers {
            let mut engine = Engine::new(Cpu::host());
            contenders.push(Box::new(move || {
                let mut items: Vec<(&[u8], &mut [u8])> =
                    buffers.iter_mut().map(|dst| (src, &mut dst[..])).collect();
                run(&mut engine, &mut items);
            }));
        }
        let times = race(self.rounds, &mut contenders);
        print!("{name:<24} {:>9.2} us ", times[0] * 1e6);
        for (count, time) in COUNTS.iter().zip(&times[1..]) {
            print!(" {:>5.2}", times[0] * *count as f64 / time);
        }
        println!();
    }
}
