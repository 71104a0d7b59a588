//! How long to look for something to do before sleeping.
//!
//! To look costs CPU time; to sleep costs a wake-up, which takes 5 microseconds on one machine and 40 on the
//! next (a virtual one). Two sides that give up too early sleep in turns: each is asleep while the other is being
//! woken. So an engine without work, and a caller that waits for responses, look for 5 microseconds, and for up
//! to 50 while that keeps saving wake-ups: Linux's KVM halts its virtual CPUs by the same rule.

use std::thread;

/// As long as this it pays everywhere, and nobody else gets the CPU meanwhile.
const SHORT_NS: u64 = 5_000;
/// As long as this where it has paid before.
const LONG_NS: u64 = 50_000;
/// Who slept for less than this may have been idle for less than [`LONG_NS`], and a wake-up for the rest.
const SOON_NS: u64 = 200_000;

/// This many short sleeps in a row make it look for longer.
const TRIES: i32 = 4;
/// One look in vain costs as much as this many wake-ups that were saved.
const MISS: i32 = 4;
/// What a trial begins with: two looks in vain.
const TRUST: i32 = 2 * MISS;
/// What it can have saved up.
const MOST: i32 = 4 * MISS;
/// The number of short sleeps after a trial that failed until the next one: it costs 1 or 2 in a hundred
/// of their time.
const PAUSE: i32 = 64;

/// Of one engine, or of one instance's caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Always this long.
    fixed_ns: Option<u64>,
    /// Looks for long while this is positive.
    credit: i32,
}

impl Patience {
    /// One that learns, unless it is to look for a fixed time.
    pub(crate) fn new(fixed_ns: Option<u64>) -> Patience {
        Patience { fixed_ns, credit: 1 - TRIES }
    }

    /// How long to look.
    pub(crate) fn look_ns(&self) -> u64 {
        let learned = if self.credit > 0 { LONG_NS } else { SHORT_NS };
        self.fixed_ns.unwrap_or(learned)
    }

    /// Between two looks, after so much time without anything.
    pub(crate) fn pause(idle_ns: u64) {
        match idle_ns < SHORT_NS {
            true => core::hint::spin_loop(),
            // Whoever else wants to run may be the one that is waited for.
            false => thread::yield_now(),
        }
    }

    /// There was something, after this time without anything, awake or asleep.
    pub(crate) fn found(&mut self, idle_ns: u64) {
        if idle_ns <= SHORT_NS {
            return;
        }
        match (self.credit > 0, idle_ns) {
            (true, ..=LONG_NS) => self.credit = MOST.min(self.credit + 1),
            (true, _) => {
                self.credit -= MISS;
                if self.credit <= 0 {
                    self.credit = -PAUSE;
                }
            }
            (false, ..SOON_NS) => {
                self.credit += 1;
                if self.credit > 0 {
                    self.credit = TRUST;
                }
            }
            (false, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(p: &mut Patience, times: usize, idle_ns: u64) -> u64 {
        (0..times).for_each(|_| p.found(idle_ns));
        p.look_ns()
    }

    #[test]
    fn two_sides_that_sleep_in_turns_stay_awake_soon() {
        let mut p = Patience::new(None);
        assert_eq!(after(&mut p, 3, 90_000), SHORT_NS);
        assert_eq!(after(&mut p, 1, 90_000), LONG_NS);
        // Saved wake-ups keep it so, also when one in five looks is in vain.
        for _ in 0..100 {
            assert_eq!(after(&mut p, 4, 8_000), LONG_NS);
            assert_eq!(after(&mut p, 1, 90_000), LONG_NS);
        }
        assert_eq!(after(&mut p, 1000, 100), LONG_NS);
    }

    #[test]
    fn what_does_not_pay_is_tried_seldom() {
        let (mut p, mut long) = (Patience::new(None), 0);
        for _ in 0..10_000 {
            p.found(100_000);
            long += usize::from(p.look_ns() == LONG_NS);
        }
        assert!((200..400).contains(&long), "{long} of 10,000");
        // Nobody comes soon: not even that.
        let mut p = Patience::new(None);
        assert_eq!(after(&mut p, 10_000, 10_000_000), SHORT_NS);
    }

    #[test]
    fn a_fixed_time_stays() {
        let mut p = Patience::new(Some(20_000));
        assert_eq!(after(&mut p, 100, 90_000), 20_000);
    }
}
