//! What counting costs: scans of one set without counters, with them, and without them again (the noise).
//!
//! ```text
//! cargo bench -p lookaside-scan --bench counters
//! ```
//!
//! Prints, for texts of different lengths, the CPU time of a scan in ns and the ratios to it: medians of interleaved rounds.

use std::ops::ControlFlow;
use std::time::Duration;

use lookaside_scan::{Expression, Patterns, Scratch, Set};
use lookaside_simd::Cpu;

const ROUNDS: usize = 15;
const WORDS: [&str; 8] =
    ["session", "request", "header", "content", "length", "cookie", "agent", "accept"];

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a clock that Linux has.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Pairs of words with a number, which the text has now and then.
fn patterns(count: u32) -> Patterns {
    let word = |n: u32| WORDS[n as usize % WORDS.len()];
    let text = |id: u32| format!("{}{}[0-9]+{}", word(id), id / 8, word(id / 8));
    let expression = |id| Expression { id, text: text(id).into(), ..Expression::default() };
    Patterns { expressions: (0..count).map(expression).collect(), ..Patterns::default() }
}

fn text(len: usize, rare: usize) -> Vec<u8> {
    let mut seed = 1u32;
    let mut out = vec![];
    while out.len() < len {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let n = seed >> 16;
        let word = |n: u32| WORDS[n as usize % WORDS.len()];
        out.extend_from_slice(word(n).as_bytes());
        if (n as usize).is_multiple_of(rare) {
            out.extend_from_slice(format!("{}7{}", n % 64, word(n % 64)).as_bytes());
        }
        out.push(b' ');
    }
    out.truncate(len);
    out
}

fn main() {
    println!(
        "{:>9} {:>7} {:>9} {:>9} {:>8} {:>8}",
        "patterns", "bytes", "matches", "ns", "counted", "again"
    );
    for count in [10, 1000] {
        let compile = || Set::compile(&patterns(count), Cpu::host()).expect("patterns");
        let (plain, counted) = (compile(), compile().counted());
        for (len, rare) in [(64, 64), (1000, 64), (1000, 4), (16_000, 64), (64_000, 4)] {
            let text = text(len, rare);
            let repeats = 5_000_000 / (len + 500);
            let mut scratches = [Scratch::new(), Scratch::new(), Scratch::new()];
            let mut times = [vec![], vec![], vec![]];
            let mut matches = [0u64; 3];
            for round in 0..ROUNDS {
                for turn in 0..3 {
                    let which = (turn + round) % 3;
                    let set = if which == 1 { &counted } else { &plain };
                    let begun = cpu_time();
                    for _ in 0..repeats {
                        let _ = set.scan(&mut scratches[which], &text, &mut |_| {
                            matches[which] += 1;
                            ControlFlow::Continue(())
                        });
                    }
                    times[which].push((cpu_time() - begun).as_secs_f64() * 1e9 / repeats as f64);
                }
            }
            assert!(matches[0] == matches[1] && matches[1] == matches[2], "the matches differ");
            let mut ratios = [1, 2].map(|which| -> Vec<f64> {
                times[which].iter().zip(&times[0]).map(|(own, plain)| own / plain).collect()
            });
            let median = |times: &mut Vec<f64>| {
                times.sort_by(f64::total_cmp);
                times[ROUNDS / 2]
            };
            let ns = median(&mut times[0]);
            let [counted, again] = ratios.each_mut().map(median);
            let matches = matches[0] / (ROUNDS * repeats) as u64;
            println!("{count:>9} {len:>7} {matches:>9} {ns:>9.0} {counted:>8.3} {again:>8.3}");
        }
    }
}
