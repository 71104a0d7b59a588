//! CPU time of turns.

/// A turn of one contender takes about so long.
const TURN_NS: f64 = 8e6;

/// A contender: each call runs it for one turn, and returns the CPU time of one run in nanoseconds.
pub fn time(mut run: impl FnMut()) -> impl FnMut() -> f64 {
    let start = cpu_ns();
    run();
    let repeats = (TURN_NS / (cpu_ns() - start).max(100) as f64).ceil().max(1.0) as usize;
    move || {
        let start = cpu_ns();
        for _ in 0..repeats {
            run();
        }
        (cpu_ns() - start) as f64 / repeats as f64
    }
}

/// CPU time of this thread.
fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is this function's.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
