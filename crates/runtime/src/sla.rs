//! What an instance is promised: weight, committed and peak rate, burst; and the token buckets
//! that keep the promise.

use lookaside_core::SetupError;

/// How late an engine may look at a rate-limited instance whose next request is admitted, in
/// nanoseconds. A bucket must hold what this earns on top of the largest request, or a late look would
/// lose tokens and the instance its rate.
pub const STEP_NS: u64 = 1_000_000;

/// The rate promised to one instance. Rates are in bytes of source per second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sla {
    /// Served before all instances without a commitment until this rate is reached; 0 for none.
    pub committed_bytes_per_s: u64,
    /// Never served faster than this; 0 for no limit.
    pub peak_bytes_per_s: u64,
    /// How much may be served at once after a pause: at least `max_request_bytes` plus what
    /// [`STEP_NS`] earns at the higher of the two rates.
    pub burst_bytes: u64,
    /// The largest source that this instance is going to push. A larger one is served all the
    /// same, and paid for by the time after it.
    pub max_request_bytes: u64,
}

impl Sla {
    /// A promise whose burst is the smallest allowed.
    pub fn new(committed_bytes_per_s: u64, peak_bytes_per_s: u64, max_request_bytes: u64) -> Sla {
        let mut sla =
            Sla { committed_bytes_per_s, peak_bytes_per_s, burst_bytes: 0, max_request_bytes };
        sla.burst_bytes = sla.least_burst();
        sla
    }

    fn least_burst(&self) -> u64 {
        let rate = self.committed_bytes_per_s.max(self.peak_bytes_per_s);
        self.max_request_bytes.max(MIN_COST).saturating_add(earned(rate, STEP_NS).saturating_add(1))
    }

    pub(crate) fn validate(&self) -> Result<(), SetupError> {
        // Beyond this, nanosecond arithmetic in 64 bits would lose precision; it is 1 PB/s.
        const MAX_RATE: u64 = 1_000_000_000_000_000;
        for (what, rate) in [
            ("committed rate in bytes/s", self.committed_bytes_per_s),
            ("peak rate in bytes/s", self.peak_bytes_per_s),
        ] {
            SetupError::check(what, rate, 0..=MAX_RATE)?;
        }
        if self.peak_bytes_per_s != 0 {
            let rates = self.committed_bytes_per_s..=MAX_RATE;
            SetupError::check("peak rate in bytes/s", self.peak_bytes_per_s, rates)?;
        }
        let most = i64::MAX.cast_unsigned() / 4;
        SetupError::check("burst in bytes", self.burst_bytes, self.least_burst()..=most)
    }
}

/// What a request costs at least, so that empty ones are not free.
pub(crate) const MIN_COST: u64 = 64;

fn earned(rate: u64, ns: u64) -> u64 {
    u64::try_from(u128::from(rate) * u128::from(ns) / 1_000_000_000).unwrap_or(u64::MAX)
}

/// A token bucket in bytes. It starts full, and may go into debt by one request.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    rate: u64,
    burst: i64,
    level: i64,
    /// Tokens are earned up to this time.
    paid_ns: u64,
}

impl Bucket {
    /// `rate` must not be 0.
    pub(crate) fn new(rate: u64, burst: u64, now: u64) -> Bucket {
        let burst = i64::try_from(burst).unwrap_or(i64::MAX);
        Bucket { rate, burst, level: burst, paid_ns: now }
    }

    fn refill(&mut self, now: u64) {
        let ns = now.saturating_sub(self.paid_ns);
        let whole = earned(self.rate, ns);
        let level = i128::from(self.level) + i128::from(whole);
        if level >= i128::from(self.burst) {
            self.level = self.burst;
            self.paid_ns = self.paid_ns.max(now);
        } else if whole > 0 {
            self.level = i64::try_from(level).unwrap_or(self.burst);
            // Only whole bytes are credited: the time of the fraction stays to be paid.
            self.paid_ns += ns_for(self.rate, whole).min(ns);
        }
    }

    /// Whether a request of this cost may be served now: it fits, or the bucket is full.
    pub(crate) fn admits(&mut self, cost: u64, now: u64) -> bool {
        self.refill(now);
        self.level >= i64::try_from(cost).unwrap_or(i64::MAX).min(self.burst)
    }

    /// Takes the cost of a served request.
    pub(crate) fn take(&mut self, cost: u64) {
        self.level = self.level.saturating_sub(i64::try_from(cost).unwrap_or(i64::MAX));
    }

    /// When a request of this cost will be admitted, if nothing is taken meanwhile.
    pub(crate) fn admits_at(&self, cost: u64) -> u64 {
        let need = i64::try_from(cost).unwrap_or(i64::MAX).min(self.burst);
        let missing = u64::try_from(need.saturating_sub(self.level)).unwrap_or(0);
        self.paid_ns.saturating_add(ns_for(self.rate, missing))
    }
}

/// The time that earns `bytes`, rounded up.
fn ns_for(rate: u64, bytes: u64) -> u64 {
    let ns = (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(rate));
    u64::try_from(ns).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_too_small_is_refused() {
        let good = Sla::new(1_000_000_000, 2_000_000_000, 65_536);
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(good.burst_bytes, 65_536 + 2_000_000 + 1);
        let small = Sla { burst_bytes: good.burst_bytes - 1, ..good.clone() };
        assert!(matches!(small.validate(), Err(SetupError::Limit { what: "burst in bytes", .. })));
        let crossed = Sla { peak_bytes_per_s: 1, ..good };
        assert!(crossed.validate().is_err());
    }

    /// Over any time, what is served is at most rate x time + burst, and a bucket that is asked at
    /// least every [`STEP_NS`] loses no tokens.
    #[test]
    fn the_rate_is_kept_exactly() {
        for (rate, cost, step) in
            [(1_000_000u64, 1500u64, 999_999u64), (7, 64, 1_000), (3_333_333_333, 65_536, 777)]
        {
            let sla = Sla::new(0, rate, cost);
            let mut b = Bucket::new(rate, sla.burst_bytes, 0);
            let (mut now, mut served) = (0u64, 0u64);
            for _ in 0..200_000 {
                now += step;
                while b.admits(cost, now) {
                    b.take(cost);
                    served += cost;
                }
            }
            let most = earned(rate, now) + sla.burst_bytes;
            assert!(served <= most, "{rate}: {served} > {most}");
            assert!(served + cost + sla.burst_bytes >= most, "{rate}: {served} << {most}");
        }
    }

    #[test]
    fn an_oversized_request_is_served_and_paid_for() {
        let mut b = Bucket::new(1000, 100, 0);
        assert!(b.admits(5000, 0));
        b.take(5000);
        assert!(!b.admits(1, 4_800_000_000));
        let at = b.admits_at(100);
        assert!(!b.admits(100, at - 1_000_000) && b.admits(100, at));
    }
}
