//! Nobody spins while the model's time passes, whoever executes.

use std::time::{Duration, Instant};

use lookaside::{Buf, InstanceConfig, Runtime};
use lookaside_cpu::cpu;
use lookaside_model::{Model, Spec};

const LATENCY: Duration = Duration::from_millis(30);

const SLOW: &str = "
    name = slow
    queue = 8
    [mv.copy]
    engines = 1
    latency_us = 30000
    ops_per_s = 1000000
";

/// The CPU time of this process.
fn cpu_time() -> Duration {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

#[test]
fn nobody_spins_while_the_model_waits() {
    for engines in [0, 1, 2] {
        let device = Model::new(cpu(), Spec::parse(SLOW).unwrap()).unwrap();
        let runtime = Runtime::builder().device(device).engines(engines).start().unwrap();
        let mover = runtime.mover().unwrap();
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        let (start, before) = (Instant::now(), cpu_time());
        for tag in 0..4 {
            let request = mover.copy(Buf::from(vec![tag; 100]), Buf::zeroed(100));
            instance.push(request).unwrap();
            assert!(instance.wait(Duration::from_secs(30)));
            let response = instance.poll().next().unwrap();
            assert_eq!(response.dst.into_vec(), vec![tag; 100]);
            let request = mover.copy(Buf::from(vec![tag; 100]), Buf::zeroed(100));
            let response = runtime.handle().call(request).wait();
            assert_eq!(response.dst.into_vec(), vec![tag; 100]);
        }
        let (took, cpu) = (start.elapsed(), cpu_time() - before);
        assert!(took >= 8 * LATENCY, "{engines} engines: {took:?}");
        assert!(cpu < took / 4, "{engines} engines: {cpu:?} of CPU time in {took:?}");
    }
}
