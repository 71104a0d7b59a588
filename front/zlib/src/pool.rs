//! Memory that calls leave for the next ones: kernels' state is large, and most calls are small.
//!
//! Without a lock: whoever finds a slot empty makes a new one, whoever finds none free drops his.
//! So a `fork` in the middle of a call of another thread costs the child at most what that thread
//! had in its hands. What lies idle is bounded by the slots.

use std::{
    ptr,
    sync::atomic::{
        AtomicPtr,
        Ordering::{AcqRel, Acquire, Relaxed},
    },
};

/// Idle values that are kept.
const SLOTS: usize = 16;

pub(crate) struct Pool<T> {
    slots: [AtomicPtr<T>; SLOTS],
    /// What it owns, for the auto traits.
    _owns: std::marker::PhantomData<fn() -> T>,
}

impl<T: Send> Pool<T> {
    pub(crate) const fn new() -> Pool<T> {
        Pool {
            slots: [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS],
            _owns: std::marker::PhantomData,
        }
    }

    /// An idle value: the one that this thread used last, if it is still there.
    pub(crate) fn take(&self) -> Option<Box<T>> {
        let home = home();
        (0..SLOTS).find_map(|i| {
            let slot = &self.slots[(home + i) % SLOTS];
            if slot.load(Relaxed).is_null() {
                return None;
            }
            let value = slot.swap(ptr::null_mut(), Acquire);
            // SAFETY: put there by `put`, out of a box; the swap made it ours alone.
            (!value.is_null()).then(|| unsafe { Box::from_raw(value) })
        })
    }

    /// Keeps a value for the next call, or drops it where enough lie idle.
    pub(crate) fn put(&self, value: Box<T>) {
        let home = home();
        let value = Box::into_raw(value);
        for i in 0..SLOTS {
            let slot = &self.slots[(home + i) % SLOTS];
            if slot.load(Relaxed).is_null()
                && slot.compare_exchange(ptr::null_mut(), value, AcqRel, Relaxed).is_ok()
            {
                return;
            }
        }
        // SAFETY: out of the box above, and no slot took it.
        drop(unsafe { Box::from_raw(value) });
    }
}

/// Where this thread looks first.
fn home() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    // Each thread has its own byte, so the address tells threads apart.
    let address = PLACE.with(|place| ptr::from_ref(place) as usize);
    (address >> 12 ^ address >> 17) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_some_and_drops_the_rest() {
        static POOL: Pool<u64> = Pool::new();
        assert!(POOL.take().is_none());
        for n in 0..20 {
            POOL.put(Box::new(n));
        }
        assert_eq!(POOL.take().as_deref(), Some(&0));
        assert_eq!(std::iter::from_fn(|| POOL.take()).count(), SLOTS - 1);
    }
}
