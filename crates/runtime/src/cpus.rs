//! Which CPUs engines may run on.

use std::thread;

use lookaside_core::SetupError;
use rustix::{
    process::{Pid, getpid},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

use crate::signals;

/// The CPUs that the process may use: those of its main thread and those of the calling one. `None`
/// where the system does not say.
///
/// A thread that a program pins to one CPU may start a runtime: its engines are not for that CPU alone.
/// A program that pins its main thread may start one from an unpinned thread. What `taskset` or
/// `numactl` sets for a whole program holds for both of them.
pub(crate) fn of_process() -> Option<CpuSet> {
    let mut set = of(None)?;
    if let Some(main) = of(Some(getpid())) {
        numbers(&main).for_each(|cpu| set.set(cpu));
    }
    Some(set)
}

/// How many engines keep the CPUs of the process busy: one for each, or as many as its control group
/// has time for.
pub(crate) fn count() -> usize {
    // The standard library looks at the calling thread's CPUs.
    let count = || thread::available_parallelism().map_or(1, |n| n.get());
    match of_process() {
        Some(set) if of(None) != Some(set) => {
            let on_all = move || {
                spread(&set);
                count()
            };
            apart(on_all).unwrap_or_else(count)
        }
        _ => count(),
    }
}

/// Whether a thread of this process can be pinned to each of these CPUs.
///
/// # Errors
/// [`SetupError::Limit`] for a number beyond the last CPU, [`SetupError::Os`] for a CPU that does not
/// exist or that the system keeps from this process.
pub(crate) fn check(cpus: &[usize]) -> Result<(), SetupError> {
    if cpus.is_empty() {
        return Ok(());
    }
    // The kernel cuts the widest set to what is there and allowed, in a thread that ends with it.
    let widest = || {
        let mut set = CpuSet::new();
        (0..CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu));
        sched_setaffinity(None, &set).ok()?;
        of(None)
    };
    // Without a thread there will be no engines either.
    let Some(allowed) = apart(widest).flatten() else { return Ok(()) };
    let last = numbers(&allowed).max().unwrap_or(0);
    for &cpu in cpus {
        SetupError::check("CPU to pin an engine to", cpu as u64, 0..=last as u64)?;
        if !allowed.is_set(cpu) {
            let what = "pinning an engine to a CPU that is offline or not this process's";
            return Err(SetupError::Os { what, errno: libc::EINVAL });
        }
    }
    Ok(())
}

/// Moves this thread to one CPU.
pub(crate) fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    if cpu < CpuSet::MAX_CPU {
        set.set(cpu);
        // `check` found it allowed; one that has gone since leaves the thread where it is.
        let _ = sched_setaffinity(None, &set);
    }
}

/// Lets this thread run on these CPUs.
pub(crate) fn spread(set: &CpuSet) {
    let _ = sched_setaffinity(None, set);
}

/// Calls `f` on a thread of its own; `None` where the system refuses one.
fn apart<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    signals::blocked(|| thread::Builder::new().spawn(f)).ok()?.join().ok()
}

fn of(thread: Option<Pid>) -> Option<CpuSet> {
    sched_getaffinity(thread).ok()
}

fn numbers(set: &CpuSet) -> impl Iterator<Item = usize> {
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu))
}
