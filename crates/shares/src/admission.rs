//! Whether a device can keep what is promised, and how the runtime is to keep it.

use core::fmt;

use lookaside::{InstanceConfig, STEP_NS, Sla, Unit};

use crate::{
    function::Vf,
    measure::{Measure, Rate},
};

/// What a device can do: how many engines it has, and what one needs for each unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    engines: u32,
    /// Femtoseconds of one engine for an operation or a bit, by measure; 0: the device has no such service,
    /// or nobody has measured it.
    costs: [u64; Measure::ALL.len()],
}

/// Femtoseconds in a nanosecond: a bit of AES takes 10 picoseconds, which have to be told apart.
const FS: u64 = 1_000_000;

/// What commitments may take of each engine, of 17: one part is by weight whatever is committed, so that
/// nobody starves.
const COMMITTED: (u64, u64) = (16, 17);

impl Capacity {
    /// A device with so many engines that can do nothing yet.
    pub fn new(engines: u32) -> Capacity {
        Capacity { engines, costs: [0; Measure::ALL.len()] }
    }

    /// The same of so many engines.
    #[must_use]
    pub fn with_engines(self, engines: u32) -> Capacity {
        Capacity { engines, ..self }
    }

    /// With what an operation or a bit takes, in nanoseconds of one engine. One that is no time at all is the
    /// least that can be told apart.
    #[must_use]
    pub fn cost(mut self, measure: Measure, ns: f64) -> Capacity {
        self.costs[measure as usize] = (ns * FS as f64) as u64;
        if ns > 0.0 {
            self.costs[measure as usize] = self.costs[measure as usize].max(1);
        }
        self
    }

    /// How many engines there are.
    pub fn engines(&self) -> u32 {
        self.engines
    }

    /// All that the engines do in a second, when they do nothing else; `None`: nobody knows.
    pub fn total(&self, measure: Measure) -> Option<Rate> {
        self.rate(measure, self.ns())
    }

    fn ns(&self) -> u64 {
        u64::from(self.engines) * 1_000_000_000
    }

    /// How much so many nanoseconds of engines do.
    fn rate(&self, measure: Measure, ns: u64) -> Option<Rate> {
        let cost = self.costs[measure as usize];
        let per_s = (u128::from(ns) * u128::from(FS)).checked_div(u128::from(cost))?;
        Some(Rate { measure, per_s: u64::try_from(per_s).unwrap_or(u64::MAX) })
    }

    /// The nanoseconds of engines that a rate takes a second, rounded up.
    fn needs(&self, rate: Rate) -> u64 {
        let fs = u128::from(rate.per_s) * u128::from(self.costs[rate.measure as usize]);
        u64::try_from(fs.div_ceil(u128::from(FS))).unwrap_or(u64::MAX)
    }
}

/// Why a virtual function cannot have what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is not so much left.
    TooMuch {
        /// Which function.
        name: String,
        /// What it asks for.
        asked: Rate,
        /// How much of it there is, beside what others, and it, were promised before.
        available: Rate,
        /// How much of it there would be without promises.
        total: Rate,
    },
    /// The device has no such service, or what it takes was not measured.
    NoService {
        /// Which function.
        name: String,
        /// What it asks for.
        asked: Rate,
    },
    /// A name that there is already.
    Twice {
        /// Which function.
        name: String,
    },
    /// The function itself is wrong.
    Wrong {
        /// Which function.
        name: String,
        /// Which key, and why.
        what: String,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::TooMuch { name, asked, available, total } => {
                let (available, total) = (available.short(), total.short());
                write!(f, "{name}: {asked} are asked for, {available} of {total} are available")
            }
            Refused::NoService { name, asked } => {
                write!(f, "{name}: {asked} are asked for, and what that takes here is not known")
            }
            Refused::Twice { name } => {
                write!(f, "{name}: there is a virtual function of this name")
            }
            Refused::Wrong { name, what } => write!(f, "{name}: {what}"),
        }
    }
}

impl std::error::Error for Refused {}

/// The promises that a device has made.
#[derive(Clone, Debug)]
pub struct Admission {
    capacity: Capacity,
    /// Nanoseconds of engines that each function has of every second.
    promised: Vec<(String, u64)>,
    /// Their sum.
    taken_ns: u64,
}

impl Admission {
    /// A device that has promised nothing.
    pub fn new(capacity: Capacity) -> Admission {
        Admission { capacity, promised: Vec::new(), taken_ns: 0 }
    }

    /// What the device can do.
    pub fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    /// How many functions there are.
    pub fn len(&self) -> usize {
        self.promised.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.promised.is_empty()
    }

    /// What may still be promised, in one measure at the cost of all others; `None`: nobody knows.
    pub fn available(&self, measure: Measure) -> Option<Rate> {
        self.capacity.rate(measure, self.promisable_ns().saturating_sub(self.taken_ns))
    }

    /// All that may be promised together.
    fn promisable_ns(&self) -> u64 {
        self.capacity.ns() / COMMITTED.1 * COMMITTED.0
    }

    /// Promises a function what it asks for.
    ///
    /// # Errors
    /// What it asks for and how much of it there is. Nothing has changed then.
    pub fn admit(&mut self, vf: &Vf) -> Result<(), Refused> {
        let name = || vf.name.clone();
        vf.check()
            .map_err(|(key, why)| Refused::Wrong { name: name(), what: format!("{key}: {why}") })?;
        if self.promised.iter().any(|(known, _)| *known == vf.name) {
            return Err(Refused::Twice { name: name() });
        }
        let mut after = self.clone();
        for &asked in &vf.committed {
            let (Some(total), Some(available)) =
                (self.capacity.total(asked.measure), after.available(asked.measure))
            else {
                return Err(Refused::NoService { name: name(), asked });
            };
            let taken_ns = after.taken_ns.saturating_add(self.capacity.needs(asked));
            if taken_ns > self.promisable_ns() {
                return Err(Refused::TooMuch { name: name(), asked, available, total });
            }
            after.taken_ns = taken_ns;
        }
        for &asked in &vf.peak {
            if self.capacity.total(asked.measure).is_none() {
                return Err(Refused::NoService { name: name(), asked });
            }
        }
        self.promised.push((name(), after.taken_ns - self.taken_ns));
        self.taken_ns = after.taken_ns;
        Ok(())
    }

    /// A function goes. Returns whether there was one of this name.
    pub fn release(&mut self, name: &str) -> bool {
        let Some(at) = self.promised.iter().position(|(known, _)| known == name) else {
            return false;
        };
        self.taken_ns -= self.promised.swap_remove(at).1;
        true
    }

    /// A function gets other promises in place of those that it had.
    ///
    /// # Errors
    /// As [`Admission::admit`]: then it keeps those that it had.
    pub fn change(&mut self, vf: &Vf) -> Result<(), Refused> {
        let mut after = self.clone();
        after.release(&vf.name);
        after.admit(vf)?;
        *self = after;
        Ok(())
    }

    /// How the runtime keeps what a function was promised: weight, depth and rates. Rates count device
    /// time, so that they hold for any mix of operations, algorithms and sizes: 5,000 RSA/s are 2,500 of
    /// twice the time.
    pub fn config(&self, vf: &Vf) -> InstanceConfig {
        let sla = |measure: Measure| {
            let rate = |per_s: Option<u64>| {
                per_s.map_or(0, |per_s| self.capacity.needs(Rate { measure, per_s }))
            };
            let (committed, peak) = (rate(vf.committed(measure)), rate(vf.peak(measure)));
            // What a batch side by side takes.
            let units = (measure.request_bytes() * 8).max(1);
            let request = self.capacity.needs(Rate { measure, per_s: units });
            let largest = request.saturating_mul(8).clamp(STEP_NS, 1_000_000_000);
            // Rounding may have put it a nanosecond below.
            let peak = if peak == 0 { 0 } else { peak.max(committed) };
            let mut sla = Sla::of(Unit::DeviceTime, committed, peak, largest);
            // An engine that the system holds up looks at it as late as this.
            sla.burst += committed.max(peak) / 100;
            sla.for_service(measure.service())
        };
        InstanceConfig {
            depth: vf.depth,
            weight: vf.weight,
            slas: vf.measures().map(sla).collect(),
            ..InstanceConfig::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lookaside::Service;

    fn capacity() -> Capacity {
        Capacity::new(2).cost(Measure::Rsa, 50_000.0).cost(Measure::Deflate, 0.5)
    }

    fn vf(name: &str, rsa: u64, gbit: u64) -> Vf {
        let mut vf = Vf::new(name, [Service::Pke, Service::Dc]);
        let rate = |measure, per_s| Rate { measure, per_s };
        if rsa > 0 {
            vf.committed.push(rate(Measure::Rsa, rsa));
        }
        if gbit > 0 {
            vf.committed.push(rate(Measure::Deflate, gbit * 1_000_000_000));
        }
        vf
    }

    #[test]
    fn what_is_promised_is_taken_from_all_services() {
        let mut all = Admission::new(capacity());
        let total = |m| all.capacity().total(m).map(|r| r.per_s);
        assert_eq!(total(Measure::Rsa), Some(40_000));
        assert_eq!(total(Measure::Deflate), Some(4_000_000_000));
        assert_eq!(total(Measure::Xml), None);
        all.admit(&vf("a", 20_000, 0)).unwrap();
        let left = |all: &Admission, m| all.available(m).map(|r| r.per_s);
        assert_eq!(left(&all, Measure::Rsa), Some(40_000 * 16 / 17 - 20_000));
        let refused = all.admit(&vf("b", 1000, 2)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "b: 2 Gbit/s DEFLATE are asked for, 1.66 Gbit/s DEFLATE of 4.00 Gbit/s DEFLATE are available"
        );
        assert_eq!(left(&all, Measure::Rsa), Some(17_647), "nothing has changed");
        all.admit(&vf("b", 1000, 1)).unwrap();
        assert!(matches!(all.admit(&vf("b", 0, 0)), Err(Refused::Twice { .. })));
        assert!(all.release("a") && !all.release("a"));
        assert!(all.change(&vf("b", 40_000, 0)).is_err());
        all.change(&vf("b", 0, 3)).unwrap();
        assert_eq!(all.len(), 1);
        let mut xml = Vf::new("x", [Service::Xml]);
        xml.peak.push(Rate { measure: Measure::Xml, per_s: 8 });
        assert!(matches!(all.admit(&xml), Err(Refused::NoService { .. })));
        xml.weight = 0;
        assert!(matches!(all.admit(&xml), Err(Refused::Wrong { .. })));
    }

    #[test]
    fn rates_are_kept_in_device_time() {
        let mut vf = vf("a", 5000, 2);
        vf.peak.push(Rate { measure: Measure::Rsa, per_s: 5000 });
        (vf.weight, vf.depth) = (7, 9);
        let config = Admission::new(capacity()).config(&vf);
        assert_eq!((config.weight, config.depth, config.slas.len()), (7, 9, 2));
        let rsa = &config.slas[0];
        assert_eq!((rsa.service, rsa.unit), (Some(Service::Pke), Unit::DeviceTime));
        assert_eq!((rsa.committed_per_s, rsa.peak_per_s), (250_000_000, 250_000_000));
        let dc = &config.slas[1];
        assert_eq!((dc.service, dc.peak_per_s), (Some(Service::Dc), 0));
        assert_eq!(dc.committed_per_s, 1_000_000_000);
    }
}
