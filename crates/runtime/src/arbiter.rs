//! Which instance is served next: commitments first, then weighted round robin among all that
//! their peak rate allows.
//!
//! Weighted round robin is deficit round robin (M. Shreedhar and G. Varghese, 1995): an instance
//! on its turn earns its weight in device time and is served while it can pay, so weights hold for
//! any mix of services, sizes and contents. A request is paid for by its estimate
//! ([`lookaside_core::Costs`]); once it has run, the difference to the time that it took is settled
//! ([`Share::settle`]): an instance may go into debt. Rates are in bytes.

use crate::sla::{Bucket, MIN_COST, Sla};

/// What weight 1 earns in one turn, in nanoseconds: the least that a request costs. So even the largest
/// weight's turn, 64 us, is over before a rate-limited instance has lost tokens. Rounds in which
/// nobody can pay are skipped, so long requests cost no extra time here.
const QUANTUM: i64 = 64;

/// The most that an instance can owe or be owed, in nanoseconds.
const MOST: i64 = 1 << 40;

/// After this many picks in a row by commitment, one is by weight: too many commitments slow
/// everybody down, but nobody starves.
const COMMITTED_RUN: u32 = 16;

/// The arbiter's view of one instance.
pub(crate) struct Share {
    weight: i64,
    /// What it may spend, in nanoseconds; below 0, what it owes.
    deficit: i64,
    committed: Option<Bucket>,
    peak: Option<Bucket>,
}

impl Share {
    pub(crate) fn new(weight: u32, sla: Option<&Sla>, now: u64) -> Share {
        let bucket = |rate: fn(&Sla) -> u64| {
            let sla = sla.filter(|s| rate(s) != 0)?;
            Some(Bucket::new(rate(sla), sla.burst_bytes, now))
        };
        Share {
            weight: i64::from(weight.max(1)),
            deficit: 0,
            committed: bucket(|s| s.committed_bytes_per_s),
            peak: bucket(|s| s.peak_bytes_per_s),
        }
    }
}

impl Share {
    /// What it earns in one turn.
    fn earns(&self) -> i64 {
        self.weight * QUANTUM
    }

    /// A request that was charged less than it took, or more: the difference in nanoseconds.
    pub(crate) fn settle(&mut self, more_ns: i64) {
        self.deficit = self.deficit.saturating_sub(more_ns).clamp(-MOST, MOST);
    }

    /// Charges a request that goes with one that was picked, within its rates; the share may go into
    /// debt. Returns what it was charged.
    pub(crate) fn credit(&mut self, now: u64, cost: Cost, committed: bool) -> Option<u64> {
        let peak = self.peak.as_mut();
        if peak.is_some_and(|p| !p.admits(cost.bytes, now)) {
            return None;
        }
        if committed {
            return self.pay_committed(now, cost).then_some(0);
        }
        self.settle(cost.ns);
        self.take_peak(cost);
        Some(cost.ns.cast_unsigned())
    }

    /// Takes a request's bytes from the commitment, if that has them. Returns whether it had.
    fn pay_committed(&mut self, now: u64, cost: Cost) -> bool {
        let Some(committed) = &mut self.committed else { return false };
        if !committed.admits(cost.bytes, now) {
            return false;
        }
        committed.take(cost.bytes);
        self.take_peak(cost);
        true
    }

    fn take_peak(&mut self, cost: Cost) {
        if let Some(peak) = &mut self.peak {
            peak.take(cost.bytes);
        }
    }

    pub(crate) fn is_committed(&self) -> bool {
        self.committed.is_some()
    }

    /// Whether there is a rate to keep, promised by either side.
    pub(crate) fn is_promised(&self) -> bool {
        self.committed.is_some() || self.peak.is_some()
    }
}

/// What a request costs its instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Its expected device time in nanoseconds, which weights divide.
    pub(crate) ns: i64,
    /// Its bytes, which rates limit.
    pub(crate) bytes: u64,
}

impl Cost {
    pub(crate) fn new(ns: u64, bytes: usize) -> Cost {
        let ns = i64::try_from(ns).unwrap_or(MOST).clamp(QUANTUM, MOST);
        Cost { ns, bytes: (bytes as u64).max(MIN_COST) }
    }
}

/// One who may be picked: its share, and the cost of its next request, if it has one.
pub(crate) trait Contender {
    fn share(&mut self) -> &mut Share;
    fn next_cost(&mut self) -> Option<Cost>;

    /// Whether it has a request.
    fn has_next(&mut self) -> bool {
        self.next_cost().is_some()
    }

    /// Its owner is going: whatever it has left is let out, to be cancelled.
    fn is_closing(&self) -> bool {
        false
    }

    /// The cost of its next request, if its peak rate allows it now.
    fn allowed(&mut self, now: u64) -> Option<Cost> {
        let cost = self.next_cost()?;
        if self.is_closing() {
            return Some(cost);
        }
        let peak = self.share().peak.as_mut();
        peak.is_none_or(|p| p.admits(cost.bytes, now)).then_some(cost)
    }
}

/// Picks by commitment and weight.
#[derive(Default)]
pub(crate) struct Arbiter {
    /// How many contenders have a commitment; none is the usual case.
    pub(crate) commitments: usize,
    committed_turn: usize,
    turn: usize,
    /// The one whose turn it is has earned its weight in this turn.
    earned: bool,
    committed_run: u32,
}

impl Arbiter {
    /// The contender whose next request is to be served.
    pub(crate) fn pick<C: Contender>(&mut self, now: u64, all: &mut [Option<C>]) -> Option<Pick> {
        if self.commitments > 0
            && self.committed_run < COMMITTED_RUN
            && let Some(pick) = self.pick_committed(now, all)
        {
            self.committed_run += 1;
            return Some(pick);
        }
        self.committed_run = 0;
        self.pick_weighted(now, all)
    }

    /// When a contender that is held back by its peak rate may be served.
    pub(crate) fn next_allowed_ns<C: Contender>(all: &mut [Option<C>]) -> Option<u64> {
        all.iter_mut()
            .flatten()
            .filter_map(|c| {
                let cost = c.next_cost()?;
                c.share().peak.as_ref().map(|p| p.admits_at(cost.bytes))
            })
            .min()
    }

    /// When a contender with a commitment may be served by it.
    pub(crate) fn next_committed_ns<C: Contender>(all: &mut [Option<C>]) -> Option<u64> {
        let admitted = |c: &mut C| {
            let cost = c.next_cost()?;
            let share = c.share();
            let at = |b: &Option<Bucket>| b.as_ref().map(|b| b.admits_at(cost.bytes));
            Some(at(&share.committed)?.max(at(&share.peak).unwrap_or(0)))
        };
        all.iter_mut().flatten().filter_map(admitted).min()
    }

    /// The contender whose next request is to be served by its commitment.
    pub(crate) fn pick_committed<C: Contender>(
        &mut self,
        now: u64,
        all: &mut [Option<C>],
    ) -> Option<Pick> {
        let n = all.len();
        let i = (0..n).map(|k| (self.committed_turn + k) % n).find(|&i| {
            let Some(c) = &mut all[i] else { return false };
            if c.share().committed.is_none() {
                return false;
            }
            let Some(cost) = c.allowed(now) else { return false };
            c.share().pay_committed(now, cost)
        })?;
        // The next one with a commitment gets the next turn.
        self.committed_turn = (i + 1) % n;
        Some(Pick { index: i, charged_ns: 0, committed: true })
    }

    fn pick_weighted<C: Contender>(&mut self, now: u64, all: &mut [Option<C>]) -> Option<Pick> {
        let n = all.len();
        if let [Some(alone)] = all
            && alone.share().peak.is_none()
        {
            let pick = Pick { index: 0, charged_ns: 0, committed: false };
            return alone.has_next().then_some(pick);
        }
        loop {
            // Once around; in the end, how many more rounds the first one that can pay needs.
            let mut rounds = i64::MAX;
            for _ in 0..n {
                let i = self.turn % n;
                if let Some(c) = &mut all[i] {
                    let allowed = c.allowed(now);
                    let share = c.share();
                    if !core::mem::replace(&mut self.earned, true) {
                        share.deficit += share.earns();
                    }
                    match allowed {
                        Some(cost) if share.deficit >= cost.ns => {
                            share.deficit -= cost.ns;
                            share.take_peak(cost);
                            let charged_ns = cost.ns.cast_unsigned();
                            return Some(Pick { index: i, charged_ns, committed: false });
                        }
                        Some(cost) => {
                            let missing = (cost.ns - share.deficit).cast_unsigned();
                            let more = missing.div_ceil(share.earns().cast_unsigned());
                            rounds = rounds.min(more.cast_signed());
                        }
                        // Who has nothing to send saves nothing up, but pays off what it owes.
                        None => share.deficit = share.deficit.min(0),
                    }
                }
                self.turn = (i + 1) % n;
                self.earned = false;
            }
            if rounds == i64::MAX {
                return None;
            }
            // Nobody can pay before `rounds` more: let them pass at once.
            for c in all.iter_mut().flatten() {
                // One who arrived meanwhile was not reckoned with: it saves up for its next request,
                // and no more.
                let most = c.allowed(now).map_or(0, |cost| cost.ns);
                let share = c.share();
                let earned =
                    share.deficit.saturating_add((rounds - 1).saturating_mul(share.earns()));
                share.deficit = earned.min(most);
            }
        }
    }
}

/// What [`Arbiter::pick`] chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    /// Its place among the contenders.
    pub(crate) index: usize,
    /// What its share was charged, in nanoseconds.
    pub(crate) charged_ns: u64,
    /// Whether it is served by its commitment.
    pub(crate) committed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Endless(Share, Option<usize>, u64);

    impl Contender for Endless {
        fn share(&mut self) -> &mut Share {
            &mut self.0
        }
        fn next_cost(&mut self) -> Option<Cost> {
            self.1.map(|size| Cost::new(size as u64, size))
        }
    }

    fn contender(weight: u32, sla: Option<Sla>, size: usize) -> Option<Endless> {
        Some(Endless(Share::new(weight, sla.as_ref(), 0), Some(size), 0))
    }

    /// Serves for `seconds` at `rate` bytes/s and returns what each one got, in bytes.
    fn serve(all: &mut [Option<Endless>], rate: u64, seconds: u64) -> Vec<u64> {
        let committed = |c: &Endless| c.0.is_committed();
        let commitments = all.iter().flatten().filter(|c| committed(c)).count();
        let (mut arbiter, mut now) = (Arbiter { commitments, ..Arbiter::default() }, 0u64);
        while now < seconds * 1_000_000_000 {
            match arbiter.pick(now, all) {
                Some(Pick { index: i, .. }) => {
                    let size = all[i].as_ref().unwrap().1.unwrap() as u64;
                    all[i].as_mut().unwrap().2 += size;
                    now += size * 1_000_000_000 / rate;
                }
                None => now = Arbiter::next_allowed_ns(all).unwrap().max(now + 1),
            }
        }
        all.iter().map(|c| c.as_ref().unwrap().2).collect()
    }

    #[test]
    fn weights_hold_for_any_mix_of_sizes() {
        let mut all =
            [contender(1, None, 100), contender(3, None, 65_536), contender(2, None, 9_000_000)];
        let got = serve(&mut all, 1_000_000_000, 2);
        for (g, w) in got.iter().zip([1.0, 3.0, 2.0]) {
            let share = *g as f64 / got.iter().sum::<u64>() as f64;
            assert!((share / (w / 6.0) - 1.0).abs() < 0.05, "{got:?}");
        }
    }

    #[test]
    fn a_commitment_is_kept_against_any_weight_and_a_peak_is_never_passed() {
        let mut all = [
            contender(1, Some(Sla::new(300_000_000, 0, 65_536)), 65_536),
            contender(1000, None, 65_536),
            contender(1000, Some(Sla::new(0, 50_000_000, 65_536)), 65_536),
        ];
        let got = serve(&mut all, 1_000_000_000, 2);
        assert!(got[0] as f64 > 0.98 * 600e6, "{got:?}");
        assert!(got[2] as f64 <= 100e6 + 200e3 && got[2] as f64 > 0.97 * 100e6, "{got:?}");
    }

    #[test]
    fn too_many_commitments_starve_nobody() {
        let sla = || Some(Sla::new(1_000_000_000, 0, 65_536));
        let mut all =
            [contender(1, sla(), 65_536), contender(1, sla(), 65_536), contender(1, None, 65_536)];
        let got = serve(&mut all, 500_000_000, 2);
        // One pick in 17 goes by weight, and a third of those to the one without a commitment.
        assert!(got[2] > 1_000_000_000 / 17 / 3 * 9 / 10, "{got:?}");
        assert!((got[0] as f64 / got[1] as f64 - 1.0).abs() < 0.1, "{got:?}");
    }

    #[test]
    fn nobody_to_serve() {
        let mut arbiter = Arbiter::default();
        let mut idle = [None, contender(1, None, 1)];
        idle[1].as_mut().unwrap().1 = None;
        assert_eq!(arbiter.pick(0, &mut idle), None);
        assert_eq!(arbiter.pick::<Endless>(0, &mut []), None);
        assert_eq!(Arbiter::next_allowed_ns(&mut idle), None);
    }
}
