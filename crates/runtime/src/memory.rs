//! Memory for what set-up allocates in many pieces.

use core::hint::black_box;

use lookaside_core::SetupError;

/// Probe: if `bytes` can be reserved now, allocations of as much in all are assumed to succeed. What
/// allocates without asking would end the process. Another thread that allocates in between can still
/// cause that.
pub(crate) fn probe(what: &'static str, bytes: usize) -> Result<(), SetupError> {
    let mut probe = Vec::<u8>::new();
    let there = probe.try_reserve_exact(bytes).is_ok();
    // Or the compiler leaves the pair of allocation and release out.
    black_box(&probe);
    if there { Ok(()) } else { Err(SetupError::NoMemory { what }) }
}

/// For small allocations beside the ones that are counted.
pub(crate) const SPARE: usize = 1 << 20;

/// Appends `count` boxed values.
pub(crate) fn fill<T>(
    what: &'static str,
    values: &mut Vec<T>,
    count: usize,
    make: impl Fn() -> T,
) -> Result<(), SetupError> {
    /// What a small allocation takes at most: glibc maps single pages where a thread's arena cannot
    /// grow.
    const PAGE: usize = 4096;
    /// Few enough that a probe covers them even so.
    const CHUNK: usize = 256;
    values.try_reserve_exact(count).map_err(|_| SetupError::NoMemory { what })?;
    let mut left = count;
    while left > 0 {
        let n = CHUNK.min(left);
        probe(what, n * PAGE + SPARE)?;
        values.extend((0..n).map(|_| make()));
        left -= n;
    }
    Ok(())
}
