//! Zeros in place of secrets.

/// Overwrites secrets by the widest stores there are. (`Zeroize` writes element by element: that can take
/// longer than the work that left them there.)
#[inline]
pub(crate) fn wipe<T: Copy + Default>(secrets: &mut [T]) {
    secrets.fill(T::default());
    zeroize::optimization_barrier(secrets);
}

/// Overwrites what need not be a value.
#[cfg(target_arch = "x86_64")]
pub(crate) fn wipe_memory<T>(secret: &mut std::mem::MaybeUninit<T>) {
    // SAFETY: its own bytes.
    unsafe { secret.as_mut_ptr().write_bytes(0, 1) };
    zeroize::optimization_barrier(secret);
}
