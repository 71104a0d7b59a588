//! Virtual functions: what each is promised, and held to.

use lookaside::Service;

use crate::measure::{Measure, Rate};

/// A virtual function: a part of the device that a process, container or pod is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vf {
    /// Its name, unique on a device.
    pub name: String,
    /// The services that it may use.
    pub services: Vec<Service>,
    /// Its share of what nobody is promised, 1 to 1,000.
    pub weight: u32,
    /// What it gets before all others; at most one rate for each measure.
    pub committed: Vec<Rate>,
    /// What it never gets more than; none for a measure that is not here.
    pub peak: Vec<Rate>,
    /// How many requests it may have outstanding, 1 to 65,536.
    pub depth: usize,
}

impl Vf {
    /// A function of this name, for these services, without promises.
    pub fn new(name: impl Into<String>, services: impl IntoIterator<Item = Service>) -> Vf {
        Vf {
            name: name.into(),
            services: services.into_iter().collect(),
            weight: 1,
            committed: Vec::new(),
            peak: Vec::new(),
            depth: 64,
        }
    }

    /// What is committed to it in this measure, a second.
    pub fn committed(&self, measure: Measure) -> Option<u64> {
        of(&self.committed, measure)
    }

    /// Its limit in this measure.
    pub fn peak(&self, measure: Measure) -> Option<u64> {
        of(&self.peak, measure)
    }

    /// What it is promised or held to in any way: the measures.
    pub fn measures(&self) -> impl Iterator<Item = Measure> {
        let has = |m: &Measure| self.committed(*m).is_some() || self.peak(*m).is_some();
        Measure::ALL.into_iter().filter(has)
    }

    /// What is wrong with it, if anything.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if self.services.is_empty() {
            return Err(("services", "a function without services is of no use".into()));
        }
        let twice = |(i, s): (usize, &Service)| self.services[..i].contains(s);
        if let Some((_, s)) = self.services.iter().enumerate().find(|&(i, s)| twice((i, s))) {
            return Err(("services", format!("{} occurs twice", s.name())));
        }
        within("weight", u64::from(self.weight), 1, 1000)?;
        within("depth", self.depth as u64, 1, 65_536)?;
        for (key, rates) in [("committed", &self.committed), ("peak", &self.peak)] {
            for (i, rate) in rates.iter().enumerate() {
                let name = rate.measure.name();
                if rates[..i].iter().any(|r| r.measure == rate.measure) {
                    return Err((key, format!("{name} occurs twice")));
                }
                if rate.per_s == 0 {
                    return Err((key, format!("{rate} is no rate")));
                }
                if !self.services.contains(&rate.measure.service()) {
                    let service = rate.measure.service().name();
                    return Err((key, format!("{rate} needs the service {service}")));
                }
            }
        }
        for peak in &self.peak {
            let committed = self.committed(peak.measure).unwrap_or(0);
            if committed > peak.per_s {
                let committed = Rate { per_s: committed, ..*peak };
                return Err((
                    "peak",
                    format!("{peak} is less than {committed}, which is committed"),
                ));
            }
        }
        Ok(())
    }
}

fn of(rates: &[Rate], measure: Measure) -> Option<u64> {
    rates.iter().find(|rate| rate.measure == measure).map(|rate| rate.per_s)
}

fn within(key: &'static str, n: u64, least: u64, most: u64) -> Result<(), (&'static str, String)> {
    match (least..=most).contains(&n) {
        true => Ok(()),
        false => Err((key, format!("{n} is not within {least} to {most}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_make_sense() {
        let rates = |text: &str| Rate::parse_list(text).unwrap();
        let vf = Vf { weight: 4, ..Vf::new("a", [Service::Pke, Service::Sym]) };
        let vf = Vf { committed: rates("5000 RSA/s, 2 Gbit/s AES-SHA256"), ..vf };
        let vf = Vf { peak: rates("5000 RSA/s"), ..vf };
        assert_eq!(vf.check(), Ok(()));
        assert_eq!(vf.committed(Measure::Chained), Some(2_000_000_000));
        assert_eq!((vf.peak(Measure::Rsa), vf.peak(Measure::Chained)), (Some(5000), None));
        assert_eq!(vf.measures().collect::<Vec<_>>(), [Measure::Rsa, Measure::Chained]);
        for (wrong, key) in [
            (Vf { services: vec![], ..vf.clone() }, "services"),
            (Vf { services: vec![Service::Pke; 2], ..vf.clone() }, "services"),
            (Vf { services: vec![Service::Pke], ..vf.clone() }, "committed"),
            (Vf { weight: 0, ..vf.clone() }, "weight"),
            (Vf { weight: 1001, ..vf.clone() }, "weight"),
            (Vf { depth: 0, ..vf.clone() }, "depth"),
            (Vf { committed: rates("5 RSA/s, 6 RSA/s"), ..vf.clone() }, "committed"),
            (Vf { committed: rates("0 RSA/s"), ..vf.clone() }, "committed"),
            (Vf { peak: rates("4999 RSA/s"), ..vf.clone() }, "peak"),
        ] {
            assert_eq!(wrong.check().map_err(|(key, _)| key), Err(key), "{wrong:?}");
        }
    }
}
