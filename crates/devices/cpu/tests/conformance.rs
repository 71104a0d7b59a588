//! The CPU device does what every device must, with the kernels of each tier that this CPU has.

use lookaside_cpu::CpuDevice;
use lookaside_simd::{Cpu, Tier};

#[test]
fn the_cpu_device_conforms_at_every_tier() {
    for tier in Tier::ALL {
        let cpu = Cpu::with_cap(tier);
        if cpu.tier() != tier {
            eprintln!("skipped: this CPU has no {}", tier.name());
            continue;
        }
        lookaside_testkit::conformance(|| CpuDevice::new(cpu.clone()));
    }
}
