//! Hundreds of virtual functions at random: what is admitted fits, what is refused does not.

use lookaside::{InstanceConfig, Service, Unit};
use lookaside_shares::{Admission, Capacity, Measure, Rate, Refused, Vf};
use lookaside_testkit::{Rng, each_seed};

const SERVICES: [Service; 8] = [
    Service::Dc,
    Service::Sym,
    Service::Pke,
    Service::Kdf,
    Service::Scan,
    Service::Xml,
    Service::Mv,
    Service::Rng,
];

fn function(rng: &mut Rng, name: usize, most_per_s: u64) -> Vf {
    let mut services: Vec<_> = SERVICES.into_iter().filter(|_| rng.chance(50)).collect();
    if services.is_empty() {
        services.push(Service::Dc);
    }
    let mut vf = Vf::new(format!("vf-{name}"), services);
    vf.weight = 1 + rng.below(1000) as u32;
    vf.depth = 1 + rng.below(65_536) as usize;
    for measure in Measure::ALL {
        if !vf.services.contains(&measure.service()) {
            continue;
        }
        // Some of an even number of Mbit, some odd ones.
        let even = if rng.chance(50) { 1_000_000 } else { 1 };
        let bits = if measure.is_operations() { 1 } else { even };
        let most = if measure.is_operations() { most_per_s / 100_000 } else { most_per_s };
        let committed = (1 + rng.below(most.max(1))).next_multiple_of(bits);
        let has = rng.chance(60);
        if has {
            vf.committed.push(Rate { measure, per_s: committed });
        }
        if rng.chance(40) {
            let least = if has { committed } else { 1 };
            vf.peak.push(Rate { measure, per_s: least + rng.below(least) });
        }
    }
    vf
}

fn capacity(rng: &mut Rng) -> Capacity {
    let mut cost = |least: f64| least * (1.0 + rng.below(1000) as f64 / 100.0);
    Capacity::new(16)
        .cost(Measure::Rsa, cost(20_000.0))
        .cost(Measure::Chained, cost(0.01))
        .cost(Measure::Deflate, cost(0.1))
        .cost(Measure::Scan, cost(0.05))
        .cost(Measure::Xml, cost(0.05))
}

/// The part of all engines that a function is promised, by the totals alone.
fn part(capacity: &Capacity, vf: &Vf) -> f64 {
    let total = |m| capacity.total(m).map_or(0, |r| r.per_s) as f64;
    vf.committed.iter().map(|r| r.per_s as f64 / total(r.measure)).sum()
}

#[test]
fn what_is_admitted_fits() {
    each_seed(5, |seed| {
        let mut rng = Rng::new(seed);
        let capacity = capacity(&mut rng);
        let mut all = Admission::new(capacity);
        let untouched = Measure::ALL.map(|m| all.available(m));
        let mut here: Vec<Vf> = Vec::new();
        let (mut sum, mut refused) = (0.0, 0);
        for i in 0..400 {
            let vf = function(&mut rng, i, 1 << 28);
            let more = part(&capacity, &vf);
            // The totals are whole numbers: that is what the two may differ by.
            let near = 1e-3;
            match all.admit(&vf) {
                Ok(()) => {
                    assert!(sum + more <= 16.0 / 17.0 + near, "{sum} + {more}");
                    sum += more;
                    here.push(vf);
                }
                Err(Refused::TooMuch { asked, available, total, .. }) => {
                    assert!(sum + more >= 16.0 / 17.0 - near, "{sum} + {more}");
                    assert!(available.per_s <= asked.per_s && available.per_s <= total.per_s);
                    refused += 1;
                }
                Err(e) => panic!("{e}"),
            }
            if rng.chance(10) && !here.is_empty() {
                let gone = here.swap_remove(rng.below(here.len() as u64) as usize);
                assert!(all.release(&gone.name));
                sum -= part(&capacity, &gone);
            }
        }
        assert!(all.len() == here.len() && here.len() > 10 && refused > 0, "{}", here.len());
        // In each measure, all that is available may be had, and no more.
        for measure in Measure::ALL {
            let left = all.available(measure).unwrap();
            let mut last = Vf::new("last", [measure.service()]);
            last.committed.push(Rate { per_s: left.per_s.max(1), ..left });
            let mut next = all.clone();
            assert!(left.per_s == 0 || next.admit(&last).is_ok());
            last.committed[0].per_s = left.per_s + 1 + left.per_s / 1_000_000;
            assert!(all.clone().admit(&last).is_err());
        }
        for vf in &here {
            assert!(all.release(&vf.name));
        }
        assert_eq!(Measure::ALL.map(|m| all.available(m)), untouched);
    });
}

/// The runtime takes every configuration, and its rates are those that were promised.
#[test]
fn the_runtime_takes_them() {
    let device = lookaside_testkit::SimDevice::new("cpu", 1000, 4);
    let (runtime, _engines) =
        lookaside::Runtime::builder().device(device).engines(1).start_stepped().unwrap();
    each_seed(50, |seed| {
        let mut rng = Rng::new(seed);
        let all = Admission::new(capacity(&mut rng));
        for i in 0..50 {
            let vf = function(&mut rng, i, 1 << 30);
            let config = all.config(&vf);
            assert_eq!(config.slas.len(), vf.measures().count());
            for (sla, measure) in config.slas.iter().zip(vf.measures()) {
                assert_eq!((sla.service, sla.unit), (Some(measure.service()), Unit::DeviceTime));
                let total = all.capacity().total(measure).unwrap().per_s as f64;
                let part = vf.committed(measure).unwrap_or(0) as f64 / total * 16e9;
                assert!((sla.committed_per_s as f64 - part).abs() <= 1.0 + part / 1e3);
                assert!(sla.peak_per_s == 0 || sla.peak_per_s >= sla.committed_per_s);
            }
            let config = InstanceConfig { depth: 1, ..config };
            runtime.tenant(config).unwrap();
        }
    });
}
