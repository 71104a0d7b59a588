//! Tenants: instances that share weight, priority and rates.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use lookaside::{Buf, Clock, Instance, InstanceConfig, Priority, Runtime, Service, Sla, Unit};
use lookaside_testkit::{SimDevice, VirtualClock};

/// Seven instances of one tenant beside one of another: each tenant has half of the device.
#[test]
fn instances_of_a_tenant_count_as_one() {
    let clock = VirtualClock::new();
    let (runtime, mut engines) = Runtime::builder()
        .device(SimDevice::new("cpu", 1000, 4))
        .engines(1)
        .clock(Arc::new(clock.clone()))
        .start_stepped()
        .unwrap();
    let mover = runtime.mover().unwrap();
    let many = runtime.tenant(InstanceConfig::default()).unwrap();
    let mut all: Vec<(Instance, u64)> = (0..6).map(|_| (many.instance().unwrap(), 0)).collect();
    let seventh = all[0].0.another().unwrap();
    all.push((seventh, 0));
    all.push((runtime.instance(InstanceConfig::default()).unwrap(), 0));
    while clock.now_ns() < 300_000_000 {
        for (instance, bytes) in &mut all {
            while instance.free() > 0 {
                instance.push(mover.copy(vec![0; 4096].into(), Buf::zeroed(4096))).unwrap();
            }
            instance.doorbell();
            *bytes += instance.poll().map(|r| r.result.unwrap().consumed as u64).sum::<u64>();
        }
        if !engines[0].step(clock.now_ns()).progress {
            clock.advance(2_000);
        }
    }
    while all.iter().any(|(instance, _)| instance.outstanding() > 0) {
        all.iter_mut().for_each(|(instance, _)| _ = instance.poll().count());
        engines[0].step(clock.now_ns());
        clock.advance(2_000);
    }
    let got: Vec<_> = all.iter().map(|a| a.1).collect();
    let shares: u64 = got[..7].iter().sum();
    assert!((shares as f64 / got[7] as f64 - 1.0).abs() < 0.05, "{got:?}");
}

/// A rate holds for all instances of a tenant, also where each has an engine of its own; in operations,
/// and for the service that it names alone.
#[test]
fn a_rate_holds_for_all_instances() {
    for engines in [0, 2] {
        let builder = Runtime::builder().device(lookaside_cpu::cpu()).engines(engines);
        let runtime = builder.start().unwrap();
        let mover = runtime.mover().unwrap();
        let random = runtime.random().unwrap();
        let slas = vec![Sla::of(Unit::Operations, 0, 2000, 1).for_service(Service::Mv)];
        let tenant = runtime.tenant(InstanceConfig { slas, ..Default::default() }).unwrap();
        let begin = Instant::now();
        let time = Duration::from_millis(300);
        let copies: Vec<u64> = thread::scope(|scope| {
            let one = || {
                let mut instance = tenant.instance().unwrap();
                let mut copies = 0;
                while begin.elapsed() < time {
                    while instance.free() > 0 {
                        instance.push(mover.copy(vec![0; 64].into(), Buf::zeroed(64))).unwrap();
                    }
                    instance.wait(Duration::from_millis(20));
                    copies += instance.poll().filter(|r| r.result.is_ok()).count() as u64;
                }
                copies
            };
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let (all, s) = (copies.iter().sum::<u64>() as f64, begin.elapsed().as_secs_f64());
        // A burst of 3, and one more that each thread may have been served at the same moment.
        assert!(all <= 2000.0 * s + 3.0 + 3.0, "{engines} engines: {copies:?} in {s} s");
        assert!(all >= 2000.0 * 0.3 * 0.5, "{engines} engines: {copies:?} in {s} s");
        // Other services are not held back.
        let mut instance = tenant.instance().unwrap();
        let begin = Instant::now();
        for _ in 0..50 {
            for _ in 0..64 {
                instance.push(random.fill(Buf::zeroed(16))).unwrap();
            }
            while instance.outstanding() > 0 {
                instance.wait(Duration::from_secs(10));
                assert!(instance.poll().all(|r| r.result.is_ok()));
            }
        }
        assert!(
            begin.elapsed() < Duration::from_millis(1200),
            "3,200 of them: {:?}",
            begin.elapsed()
        );
    }
}

/// A quarter of an engine, whatever the requests cost: device time is measured, not guessed.
#[test]
fn a_rate_in_device_time_follows_what_requests_take() {
    let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap();
    let spec = lookaside::Compression { level: 9, ..Default::default() };
    let compression = runtime.compression(spec).unwrap();
    let slas = vec![Sla::of(Unit::DeviceTime, 0, 250_000_000, 5_000_000)];
    let config = InstanceConfig { slas, depth: 4, ..Default::default() };
    let mut instance = runtime.instance(config).unwrap();
    let text = lookaside_testkit::mixed(1, 64 << 10);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(600) {
        while instance.free() > 0 {
            let room = Buf::zeroed(compression.bound(text.len()));
            instance.push(compression.compress(text.clone().into(), room)).unwrap();
        }
        instance.wait(Duration::from_millis(50));
        assert!(instance.poll().all(|r| r.result.is_ok()));
    }
    let s = begin.elapsed().as_secs_f64();
    let busy: u64 = runtime.counters().ops.iter().map(|op| op.busy_ns).sum();
    let share = busy as f64 / 1e9 / s;
    assert!((0.1..0.35).contains(&share), "{share:.3} of an engine");
}

/// The engine for commitments serves what has high priority, while the only other engine is at work.
#[test]
fn high_priority_does_not_wait_for_a_long_request() {
    let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(1).start().unwrap();
    let slow = runtime.compression(lookaside::Compression { level: 12, ..Default::default() });
    let slow = slow.unwrap();
    let mover = runtime.mover().unwrap();
    let mut background = runtime
        .instance(InstanceConfig { priority: Priority::Background, ..Default::default() })
        .unwrap();
    let mut urgent = runtime
        .instance(InstanceConfig { priority: Priority::High, ..Default::default() })
        .unwrap();
    let text = lookaside_testkit::mixed(2, 4 << 20);
    let room = Buf::zeroed(slow.bound(text.len()));
    background.push(slow.compress(text.into(), room)).unwrap();
    background.doorbell();
    thread::sleep(Duration::from_millis(5));
    urgent.push(mover.copy(vec![0; 64].into(), Buf::zeroed(64))).unwrap();
    assert!(urgent.wait(Duration::from_secs(10)));
    assert_eq!(background.poll().count(), 0, "the long request was still running");
    assert!(background.wait(Duration::from_secs(60)));
}
