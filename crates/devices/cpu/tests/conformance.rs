//! The CPU device does what every device must, with the kernels of each tier that this CPU has.

use lookaside_cpu::CpuDevice;
use lookaside_simd::{Cpu, Tier};

#[test]
fn the_cpu_device_conforms_at_every_tier() {
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        lookaside_testkit::conformance(|| CpuDevice::new(cpu.clone()));
    }
}
