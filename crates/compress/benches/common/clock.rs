//! The time that benches measure.
#![allow(dead_code)]

/// CPU time of this thread.
pub fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid; the clock exists on Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Cycles per second: a multiplication after the other takes three each, on every CPU of interest.
pub fn clock() -> f64 {
    const TURNS: u64 = 100_000_000;
    let measure = || {
        let start = cpu_seconds();
        let mut value = std::hint::black_box(3_u64);
        for _ in 0..TURNS {
            value = value.wrapping_mul(value);
        }
        std::hint::black_box(value);
        3.0 * TURNS as f64 / (cpu_seconds() - start)
    };
    (0..5).map(|_| measure()).fold(0.0, f64::max)
}
