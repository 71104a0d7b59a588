//! What a tenant is promised: weight, priority, committed and peak rates; and the buckets that keep the
//! promise.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

use lookaside_core::{Request, Service, SetupError};

use crate::instance::InstanceConfig;

/// How late an engine may look at a rate-limited instance whose next request is admitted, in
/// nanoseconds. A bucket must hold what this earns on top of the largest request, or a late look would
/// lose tokens and the instance its rate.
pub const STEP_NS: u64 = 1_000_000;

/// What a rate counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Bytes of source; of the destination where a request works on it in place or fills it. A request
    /// counts at least 64.
    #[default]
    Bytes,
    /// Requests, and each packet of a burst.
    Operations,
    /// Nanoseconds of one engine: what requests of the class took before, corrected by what they took.
    /// A committed rate of 250,000,000 is a quarter of an engine.
    DeviceTime,
}

impl Unit {
    /// What a request counts at least, so that empty ones are not free.
    fn least(self) -> u64 {
        match self {
            Unit::Bytes => 64,
            Unit::Operations => 1,
            Unit::DeviceTime => LEAST_NS.cast_unsigned(),
        }
    }
}

/// A promised rate. An instance or a [tenant](crate::Tenant) has one for each service at most, and one
/// for all others. Rates hold within a process: after a fork the child has its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sla {
    /// The requests that it is for: those of one service, or of all that have no rate of their own.
    pub service: Option<Service>,
    /// What it counts.
    pub unit: Unit,
    /// Served before all instances without a commitment until so much a second is reached; 0 for none.
    pub committed_per_s: u64,
    /// Never served faster than so much a second; 0 for no limit. In device time, requests that share a
    /// batch may go as a whole and are paid for afterwards; in operations and bytes the peak may split
    /// batches, whose requests then take more device time each.
    pub peak_per_s: u64,
    /// How much may be served at once after a pause: at least `max_request` plus what [`STEP_NS`]
    /// earns at the higher of the two rates.
    pub burst: u64,
    /// The largest request that is going to be pushed. A larger one is served all the same, and paid
    /// for by the time after it.
    pub max_request: u64,
}

impl Sla {
    /// A promise in bytes a second, for all services, whose burst is the smallest allowed.
    pub fn new(committed_per_s: u64, peak_per_s: u64, max_request: u64) -> Sla {
        Sla::of(Unit::Bytes, committed_per_s, peak_per_s, max_request)
    }

    /// A promise in this unit, for all services, whose burst is the smallest allowed.
    pub fn of(unit: Unit, committed_per_s: u64, peak_per_s: u64, max_request: u64) -> Sla {
        let (service, burst) = (None, 0);
        let mut sla = Sla { service, unit, committed_per_s, peak_per_s, burst, max_request };
        sla.burst = sla.least_burst();
        sla
    }

    /// The same for requests of this service alone.
    #[must_use]
    pub fn for_service(self, service: Service) -> Sla {
        Sla { service: Some(service), ..self }
    }

    fn least_burst(&self) -> u64 {
        let rate = self.committed_per_s.max(self.peak_per_s);
        let earned = u128::from(rate) * u128::from(STEP_NS) / 1_000_000_000;
        let earned = u64::try_from(earned).unwrap_or(u64::MAX).saturating_add(1);
        self.max_request.max(self.unit.least()).saturating_add(earned)
    }

    fn validate(&self) -> Result<(), SetupError> {
        /// 1 PB/s; buckets, which round to a 64th of a nanosecond, tell rates apart up to some TB/s.
        const MAX_RATE: u64 = 1_000_000_000_000_000;
        let peak_least = if self.peak_per_s == 0 { 0 } else { self.committed_per_s };
        SetupError::check("committed rate per second", self.committed_per_s, 0..=MAX_RATE)?;
        SetupError::check("peak rate per second", self.peak_per_s, peak_least..=MAX_RATE)?;
        let most = i64::MAX.cast_unsigned() / 4;
        SetupError::check("burst of a rate", self.burst, self.least_burst()..=most)
    }

    /// [`Sla::validate`] for all promises of one tenant.
    pub(crate) fn validate_all(slas: &[Sla]) -> Result<(), SetupError> {
        slas.iter().try_for_each(Sla::validate)?;
        let twice = |(i, s): (usize, &Sla)| slas[..i].iter().any(|t| t.service == s.service);
        let most = slas.iter().enumerate().map(|(i, s)| u64::from(twice((i, s)))).max();
        SetupError::check("further rates for the same service", most.unwrap_or(0), 0..=0)
    }
}

/// Who is served first where there is more to do than engines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// As if all of its rate were committed, behind what is, and by the engine for commitments too. A 17th
    /// of the device time is for others, so that nobody starves.
    High,
    /// By weight, behind what is committed.
    #[default]
    Normal,
    /// Only when nobody else has anything to run, and for a 17th of the device time.
    Background,
}

/// In which order commitments are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// At this time the committed rate would have served it.
    At(u64),
    /// Beyond the committed rate, by high priority.
    Late,
}

/// The least that a request costs, in nanoseconds.
pub(crate) const LEAST_NS: i64 = 64;

/// The most that a request costs, in nanoseconds, and that a share may owe.
pub(crate) const MOST_NS: i64 = 1 << 40;

/// What a request costs its tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    service: Service,
    /// Its expected device time in nanoseconds, which weights divide.
    pub(crate) ns: i64,
    bytes: u64,
    operations: u64,
}

impl Cost {
    pub(crate) fn of(request: &Request) -> Cost {
        let (ns, bytes) = (request.cost_ns(), request.size());
        Cost::new(request.op.service(), ns, bytes, request.weight())
    }

    pub(crate) fn new(service: Service, ns: u64, bytes: usize, operations: usize) -> Cost {
        let ns = i64::try_from(ns).unwrap_or(MOST_NS).clamp(LEAST_NS, MOST_NS);
        Cost { service, ns, bytes: bytes as u64, operations: operations as u64 }
    }

    fn count(&self, unit: Unit) -> u64 {
        let count = match unit {
            Unit::Bytes => self.bytes,
            Unit::Operations => self.operations,
            Unit::DeviceTime => self.ns.cast_unsigned(),
        };
        count.max(unit.least())
    }
}

/// Weight, priority and rates of one tenant, as long as an instance of it is open. Schedulers share it:
/// with 0 engines each instance has its own.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) weight: u32,
    pub(crate) priority: Priority,
    rates: Box<[Rate]>,
    /// The device time that its requests have taken, and of that, what was served by commitments.
    device_ns: AtomicU64,
    committed_ns: AtomicU64,
}

#[derive(Debug)]
struct Rate {
    service: Option<Service>,
    unit: Unit,
    committed: Option<Bucket>,
    peak: Option<Bucket>,
}

impl Terms {
    pub(crate) fn new(config: &InstanceConfig, now: u64) -> Arc<Terms> {
        let rate = |sla: &Sla| {
            let bucket = |rate| (rate > 0).then(|| Bucket::new(rate, sla.burst, now));
            let (committed, peak) = (bucket(sla.committed_per_s), bucket(sla.peak_per_s));
            Rate { service: sla.service, unit: sla.unit, committed, peak }
        };
        let rates = config.slas.iter().map(rate).collect();
        let (weight, priority) = (config.weight, config.priority);
        let (device_ns, committed_ns) = Default::default();
        Arc::new(Terms { weight, priority, rates, device_ns, committed_ns })
    }

    /// Other terms in place of these. What was used of a rate that stays, whatever it is now, is used still.
    pub(crate) fn changed(&self, config: &InstanceConfig, now: u64) -> Arc<Terms> {
        let terms = Terms::new(config, now);
        terms.device_ns.store(self.device_ns(), Relaxed);
        terms.committed_ns.store(self.committed_ns(), Relaxed);
        for rate in &terms.rates {
            let same = |old: &&Rate| old.service == rate.service && old.unit == rate.unit;
            let Some(old) = self.rates.iter().find(same) else { continue };
            for (new, old) in [(&rate.committed, &old.committed), (&rate.peak, &old.peak)] {
                if let (Some(new), Some(old)) = (new, old) {
                    new.continue_from(old, now);
                }
            }
        }
        terms
    }

    /// Its requests have taken so much device time more.
    pub(crate) fn add_device_ns(&self, ns: u64, committed: bool) {
        self.device_ns.fetch_add(ns, Relaxed);
        if committed {
            self.committed_ns.fetch_add(ns, Relaxed);
        }
    }

    /// Of [`Terms::device_ns`], what was served by commitments.
    pub(crate) fn committed_ns(&self) -> u64 {
        self.committed_ns.load(Relaxed)
    }

    /// The device time that its requests have taken.
    pub(crate) fn device_ns(&self) -> u64 {
        self.device_ns.load(Relaxed)
    }

    fn rate(&self, service: Service) -> Option<&Rate> {
        let of = |wanted| self.rates.iter().find(move |rate| rate.service == wanted);
        of(Some(service)).or_else(|| of(None))
    }

    /// The buckets of such a request, with what it counts in their unit: committed and peak rate.
    #[inline]
    fn buckets(&self, cost: &Cost) -> (Option<&Bucket>, Option<&Bucket>, u64) {
        if self.rates.is_empty() {
            return (None, None, 0);
        }
        match self.rate(cost.service) {
            Some(rate) => (rate.committed.as_ref(), rate.peak.as_ref(), cost.count(rate.unit)),
            None => (None, None, 0),
        }
    }

    /// Whether some of its requests are served before those of others.
    pub(crate) fn is_committed(&self) -> bool {
        self.priority == Priority::High || self.rates.iter().any(|r| r.committed.is_some())
    }

    /// Whether time alone may let a request run.
    pub(crate) fn has_peak(&self) -> bool {
        self.rates.iter().any(|r| r.peak.is_some())
    }

    /// Whether there is a rate to keep, promised by either side.
    pub(crate) fn has_rates(&self) -> bool {
        !self.rates.is_empty()
    }

    /// Whether a rate counts device time.
    pub(crate) fn meters(&self) -> bool {
        self.rates.iter().any(|r| r.unit == Unit::DeviceTime)
    }

    /// Whether the peak rate allows a request now.
    #[inline]
    pub(crate) fn allows(&self, cost: &Cost, now: u64) -> bool {
        let (_, peak, count) = self.buckets(cost);
        peak.is_none_or(|p| p.admits(count, now))
    }

    /// Whether a request may go in a batch with one that the peak rate allowed. In device time a batch takes
    /// little more than that one: what it took is charged when it is known.
    #[inline]
    pub(crate) fn lets_along(&self, cost: &Cost, now: u64) -> bool {
        let device_time = |rate: &Rate| rate.unit == Unit::DeviceTime;
        self.allows(cost, now) || self.rate(cost.service).is_some_and(device_time)
    }

    /// When the peak rate will allow a request, if it is limited.
    pub(crate) fn allows_at(&self, cost: &Cost) -> Option<u64> {
        let (_, peak, count) = self.buckets(cost);
        peak.map(|p| p.admits_at(count))
    }

    /// When the commitment will admit a request, if it has one.
    pub(crate) fn commits_at(&self, cost: &Cost) -> Option<u64> {
        let (committed, peak, count) = self.buckets(cost);
        let admitted = match committed {
            Some(committed) => committed.admits_at(count),
            None if self.priority == Priority::High => 0,
            None => return None,
        };
        Some(admitted.max(peak.map_or(0, |p| p.admits_at(count))))
    }

    /// Charges the peak rate.
    pub(crate) fn pay(&self, cost: &Cost, now: u64) {
        if let (_, Some(peak), count) = self.buckets(cost) {
            peak.take(count, now);
        }
    }

    /// When a request that was pushed at `pushed_ns` is due, if commitment and peak rate admit it now.
    #[inline]
    pub(crate) fn due(&self, cost: &Cost, pushed_ns: u64, now: u64) -> Option<Due> {
        let (committed, peak, count) = self.buckets(cost);
        if peak.is_some_and(|peak| !peak.admits(count, now)) {
            return None;
        }
        match committed {
            Some(c) if c.admits(count, now) => Some(Due::At(c.due_at(count, pushed_ns))),
            _ => (self.priority == Priority::High).then_some(Due::Late),
        }
    }

    /// Charges a request that is due.
    pub(crate) fn pay_due(&self, cost: &Cost, due: Due, now: u64) {
        let (committed, peak, count) = self.buckets(cost);
        let committed = committed.filter(|_| due != Due::Late);
        committed.into_iter().chain(peak).for_each(|bucket| bucket.take(count, now));
    }

    /// Charges a request to the commitment before that admits it.
    pub(crate) fn pay_ahead(&self, cost: &Cost, now: u64) {
        let (committed, ..) = self.buckets(cost);
        self.pay_due(cost, if committed.is_some() { Due::At(0) } else { Due::Late }, now);
    }

    /// A request took so much more device time than it was charged, or less: rates that count it are
    /// put right.
    pub(crate) fn correct(&self, service: Service, committed: bool, more_ns: i64) {
        let Some(rate) = self.rate(service).filter(|r| r.unit == Unit::DeviceTime) else { return };
        let paid = rate.committed.iter().filter(|_| committed);
        paid.chain(&rate.peak).for_each(|bucket| bucket.correct(more_ns));
    }
}

/// A bucket counts time in 64ths of a nanosecond.
const TICKS: u64 = 64;

/// A token bucket, told by one number: when it will be full again (the generic cell rate algorithm, ITU-T
/// I.371). It starts full, and may go into debt by one request. Several schedulers may use it at once:
/// each may then serve one request before it sees what another one took.
#[derive(Debug)]
struct Bucket {
    rate: u64,
    /// What fills an empty bucket.
    burst: u64,
    /// The time at which it is full.
    full_at: AtomicU64,
}

impl Bucket {
    /// `rate` must not be 0.
    fn new(rate: u64, burst: u64, now: u64) -> Bucket {
        let mut bucket = Bucket { rate, burst: 0, full_at: AtomicU64::new(ticks(now)) };
        bucket.burst = bucket.earns_in(burst);
        bucket
    }

    /// The time that earns so much, rounded up.
    fn earns_in(&self, count: u64) -> u64 {
        let ticks = u128::from(count) * u128::from(1_000_000_000 * TICKS);
        u64::try_from(ticks.div_ceil(u128::from(self.rate))).unwrap_or(u64::MAX)
    }

    /// Whether a request that counts so much may be served now: it fits, or the bucket is full.
    fn admits(&self, count: u64, now: u64) -> bool {
        let missing = self.full_at.load(Relaxed).saturating_sub(ticks(now));
        missing == 0 || missing.saturating_add(self.earns_in(count)) <= self.burst
    }

    /// Takes what a served request counts.
    fn take(&self, count: u64, now: u64) {
        let (now, time) = (ticks(now), self.earns_in(count));
        let after = |full_at: u64| Some(full_at.max(now).saturating_add(time));
        let _ = self.full_at.fetch_update(Relaxed, Relaxed, after);
    }

    /// It is as full as another one was, but for what that owes beyond this one's burst.
    fn continue_from(&self, old: &Bucket, now: u64) {
        let most = ticks(now).saturating_add(self.burst);
        self.full_at.store(old.full_at.load(Relaxed).min(most), Relaxed);
    }

    /// Takes so much more, or gives so much back.
    fn correct(&self, more: i64) {
        let time = self.earns_in(more.unsigned_abs());
        let after = |full_at: u64| match more > 0 {
            true => Some(full_at.saturating_add(time)),
            false => Some(full_at.saturating_sub(time)),
        };
        let _ = self.full_at.fetch_update(Relaxed, Relaxed, after);
    }

    /// When the rate alone would have served a request that came at `pushed_ns`, behind all that was
    /// served before.
    fn due_at(&self, count: u64, pushed_ns: u64) -> u64 {
        let begin = self.full_at.load(Relaxed).max(ticks(pushed_ns));
        begin.saturating_add(self.earns_in(count)) / TICKS
    }

    /// When a request that counts so much will be admitted, if nothing is taken meanwhile.
    fn admits_at(&self, count: u64) -> u64 {
        let need = self.earns_in(count).min(self.burst);
        self.full_at.load(Relaxed).saturating_sub(self.burst - need).div_ceil(TICKS)
    }
}

fn ticks(ns: u64) -> u64 {
    ns.saturating_mul(TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_too_small_is_refused() {
        let good = Sla::new(1_000_000_000, 2_000_000_000, 65_536);
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(good.burst, 65_536 + 2_000_000 + 1);
        let small = Sla { burst: good.burst - 1, ..good.clone() };
        assert!(matches!(small.validate(), Err(SetupError::Limit { what: "burst of a rate", .. })));
        let crossed = Sla { peak_per_s: 1, ..good.clone() };
        assert!(crossed.validate().is_err());
        let sym = || good.clone().for_service(Service::Sym);
        assert_eq!(Sla::validate_all(&[good.clone(), sym()]), Ok(()));
        assert!(Sla::validate_all(&[sym(), good.clone(), sym()]).is_err());
    }

    /// Over any time, what is served is at most rate x time + burst, and a bucket that is asked at
    /// least every [`STEP_NS`] loses no tokens.
    #[test]
    fn the_rate_is_kept_exactly() {
        for (rate, count, step) in
            [(1_000_000u64, 1500u64, 999_999u64), (7, 64, 1_000), (3_333_333_333, 65_536, 777)]
        {
            let sla = Sla::new(0, rate, count);
            let b = Bucket::new(rate, sla.burst, 0);
            let (mut now, mut served) = (0u64, 0u64);
            for _ in 0..200_000 {
                now += step;
                while b.admits(count, now) {
                    b.take(count, now);
                    served += count;
                }
            }
            let earned = (u128::from(rate) * u128::from(now) / 1_000_000_000) as u64;
            let most = earned + sla.burst;
            assert!(served <= most, "{rate}: {served} > {most}");
            assert!(served + count + sla.burst >= most, "{rate}: {served} << {most}");
        }
    }

    #[test]
    fn an_oversized_request_is_served_and_paid_for() {
        let b = Bucket::new(1000, 100, 0);
        assert!(b.admits(5000, 0));
        b.take(5000, 0);
        assert!(!b.admits(1, 4_800_000_000));
        let at = b.admits_at(100);
        assert!(!b.admits(100, at - 1_000_000) && b.admits(100, at));
    }

    /// What was charged too little is taken later, what was charged too much is given back.
    #[test]
    fn device_time_is_put_right() {
        let config = InstanceConfig {
            slas: vec![Sla::of(Unit::DeviceTime, 0, 500_000_000, 1000).for_service(Service::Dc)],
            ..InstanceConfig::default()
        };
        let terms = Terms::new(&config, 0);
        let cost = Cost::new(Service::Dc, 1000, 1, 1);
        let other = Cost::new(Service::Sym, 1000, 1, 1);
        terms.pay(&cost, 0);
        terms.correct(Service::Dc, false, 10_000_000);
        assert!(!terms.allows(&cost, 0) && terms.allows(&other, 0));
        // 10 ms of half an engine, less what fits into the burst of a bit over half a millisecond.
        let at = terms.allows_at(&cost).unwrap();
        assert!((18_900_000..20_000_000).contains(&at), "{at}");
        assert_eq!(terms.allows_at(&other), None);
        terms.correct(Service::Dc, false, -10_000_000);
        assert!(terms.allows(&cost, 1000));
    }
}
