//! Time, as nanoseconds since an arbitrary start. The scheduler and the engines take it as an
//! argument; only the callers of `Engine::step` (workers, instances, handles) read a clock.

use core::{cell::Cell, time::Duration};
use std::thread;

use crate::tsc;

/// A monotonic clock in nanoseconds. Tests give the runtime a virtual one.
pub trait Clock: Send + Sync {
    /// Nanoseconds since the clock's start; never decreases.
    fn now_ns(&self) -> u64;
    /// Lets this much time pass.
    fn sleep_ns(&self, ns: u64);
}

/// The operating system's monotonic clock. Where the kernel tells the time by the processor's
/// counter, so does this: a reading of the former is 20 ns and waits for all instructions before
/// it, one of the latter 9 (Sapphire Rapids), and a short request needs three. Each thread measures
/// the counter's rate in its first hundredth of a second, and sets its clock right several times a
/// second.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

thread_local! {
    static READING: Cell<Reading> = const { Cell::new(Reading::UNSET) };
    static LAST_NS: Cell<u64> = const { Cell::new(0) };
}

impl Clock for Monotonic {
    #[inline]
    fn now_ns(&self) -> u64 {
        let ns = READING.get().now(tsc::read).unwrap_or_else(set_right);
        // Two settings may differ by a microsecond: then time stands still for so long.
        let ns = ns.max(LAST_NS.get());
        LAST_NS.set(ns);
        ns
    }

    fn sleep_ns(&self, ns: u64) {
        thread::sleep(Duration::from_nanos(ns));
    }
}

fn system_ns() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(t.tv_nsec.cast_unsigned())
}

/// The operating system's time; sets this thread's reading right by it.
#[cold]
fn set_right() -> u64 {
    if !tsc::is_trusted() {
        return system_ns();
    }
    let before = tsc::read();
    let ns = system_ns();
    // Preempted in between: the two do not belong together.
    if tsc::read().wrapping_sub(before) < 1 << 12 {
        let mut reading = READING.get();
        reading.set(before, ns);
        READING.set(reading);
    }
    ns
}

/// How a thread reads the time off the counter.
#[derive(Clone, Copy)]
struct Reading {
    /// A moment in ticks and in nanoseconds.
    ticks: u64,
    ns: u64,
    /// For so many ticks after it, the rate is good; 0 while that is not known.
    good_for: u64,
    /// Nanoseconds of a tick, times 2^32.
    rate: u64,
    /// The moment since when the rate is measured.
    since: Option<(u64, u64)>,
}

impl Reading {
    const UNSET: Reading = Reading { ticks: 0, ns: 0, good_for: 0, rate: 0, since: None };

    /// The least time that a rate is measured over. The moments are some 30 ns uncertain: 3
    /// millionths of it.
    const MEASURE_NS: u64 = 10_000_000;

    /// A quarter of a second or less: the product with a rate below 1 fits in 64 bits.
    const GOOD_FOR: u64 = 1 << 29;

    /// The time, by the counter. A counter whose rate is not known is not read: it may not be
    /// trusted, and a process may forbid itself to read it.
    #[inline(always)]
    fn now(&self, counter: impl FnOnce() -> u64) -> Option<u64> {
        if self.good_for == 0 { None } else { self.at(counter()) }
    }

    #[inline(always)]
    fn at(&self, ticks: u64) -> Option<u64> {
        let passed = ticks.wrapping_sub(self.ticks);
        (passed < self.good_for).then(|| self.ns + ((passed * self.rate) >> 32))
    }

    /// This moment is both.
    fn set(&mut self, ticks: u64, ns: u64) {
        let (ticks_then, ns_then) = *self.since.get_or_insert((ticks, ns));
        let (ticks_passed, ns_passed) =
            (ticks.wrapping_sub(ticks_then), ns.saturating_sub(ns_then));
        if ns_passed < Self::MEASURE_NS {
            self.good_for = 0;
            return;
        }
        let rate = (u128::from(ns_passed) << 32) / u128::from(ticks_passed.max(1));
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        let off = self.rate != 0 && rate.abs_diff(self.rate) > self.rate >> 10;
        if off || rate > u64::from(u32::MAX) {
            // The counter was set (by a machine that slept, or was moved), or ticks slower than
            // the product above allows: all over again.
            *self = Reading { since: Some((ticks, ns)), ..Reading::UNSET };
            return;
        }
        (self.ticks, self.ns, self.rate, self.good_for) = (ticks, ns, rate, Self::GOOD_FOR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_lie_between_those_of_the_system_and_never_go_back() {
        /// The rate's error over a period between anchors, and more.
        const TOLERANCE_NS: u64 = 50_000;
        let (start, mut last) = (system_ns(), 0);
        loop {
            let before = system_ns();
            let now = Monotonic.now_ns();
            let after = system_ns();
            assert!(now >= last && now + TOLERANCE_NS > before && now < after + TOLERANCE_NS);
            last = now;
            if after - start > 3 * Reading::MEASURE_NS {
                break;
            }
            thread::sleep(Duration::from_micros(50));
        }
        assert_eq!(READING.get().good_for > 0, tsc::is_trusted());
    }

    #[test]
    fn the_counter_is_not_read_before_it_is_trusted() {
        assert_eq!(Reading::UNSET.now(|| unreachable!("read")), None);
        let mut r = Reading::UNSET;
        r.set(0, 0);
        assert_eq!(r.now(|| unreachable!("read")), None);
        r.set(25_000_000, 10_000_000);
        assert_eq!(r.now(|| 25_000_000), Some(10_000_000));
    }

    #[test]
    fn a_rate_is_measured_and_followed() {
        // 2.5 ticks a nanosecond.
        let mut r = Reading::UNSET;
        r.set(1000, 7);
        assert_eq!(r.at(1001), None);
        r.set(1000 + 25_000_000, 7 + 10_000_000);
        assert_eq!(r.at(25_001_000 + 2500).map(|ns| ns.abs_diff(10_001_007) <= 1), Some(true));
        assert_eq!(r.at(25_001_000 - 1), None, "before the anchor");
        assert_eq!(r.at(25_001_000 + Reading::GOOD_FOR), None, "long after it");
    }

    #[test]
    fn a_counter_that_was_set_is_measured_again() {
        let mut r = Reading::UNSET;
        r.set(5_000_000_000, 0);
        r.set(5_025_000_000, 10_000_000);
        assert!(r.at(5_025_000_001).is_some());
        // The machine slept: time went on, the counter began anew.
        r.set(1_000, 90_000_000_000);
        assert_eq!(r.at(1_001), None);
        r.set(25_001_000, 90_010_000_000);
        assert_eq!(r.at(25_001_250).map(|ns| ns.abs_diff(90_010_000_100) <= 1), Some(true));
    }
}
