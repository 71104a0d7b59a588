//! The processor's time-stamp counter, for [`crate::Monotonic`].
#![allow(unsafe_code)]

/// Whether the counter can be trusted to tell the time: the kernel does so itself, which it does
/// only where it counts at one rate, never stops, and agrees between all processors.
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
pub(crate) fn is_trusted() -> bool {
    use std::sync::atomic::{AtomicU8, Ordering};
    const CLOCK: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    const UNKNOWN: u8 = 2;
    // Threads that come here at once all look. A child of `fork` must not find one that is at it.
    static TRUSTED: AtomicU8 = AtomicU8::new(UNKNOWN);
    match TRUSTED.load(Ordering::Relaxed) {
        UNKNOWN => {
            let trusted = std::fs::read_to_string(CLOCK).is_ok_and(|name| name.trim() == "tsc");
            TRUSTED.store(trusted.into(), Ordering::Relaxed);
            trusted
        }
        known => known == 1,
    }
}

/// The counter. It does not wait for what comes before it in the program, as the kernel's reading
/// does: nothing here needs more than that one thread's readings do not go back.
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) fn read() -> u64 {
    // SAFETY: every x86-64 processor has the counter, and a kernel that forbade it would not serve
    // its own clock from it in user space.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", not(miri))))]
pub(crate) fn is_trusted() -> bool {
    false
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", not(miri))))]
pub(crate) fn read() -> u64 {
    0
}
