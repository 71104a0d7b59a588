//! Sessions of keys that programs give with each request: found again by the key, compared in full.
//!
//! A cache has a bound. What is evicted is dropped when its last request is answered: keys, here and in the
//! session, lie in memory that is overwritten then.

use core::{
    mem,
    sync::atomic::{AtomicU64, Ordering},
};
use std::hash::{BuildHasher, RandomState};

use lookaside::Secret;

use crate::{lock::Lock, refusal::Refusal};

const SETS: usize = 128;
const WAYS: usize = 4;

/// How many sessions a cache keeps at most.
pub const BOUND: usize = SETS * WAYS;

struct Entry<V> {
    /// Of the key's parts, each behind its length.
    key: Secret,
    value: V,
    used: u64,
}

struct Sets<V> {
    sets: Vec<Vec<Entry<V>>>,
    clock: u64,
}

/// Sessions by keys.
pub struct Cache<V>(Lock<Option<Box<Sets<V>>>>);

/// Drawn once, without a `Once`: nobody can have keys made that fall into one set.
fn seed() -> u64 {
    static SEED: AtomicU64 = AtomicU64::new(0);
    let known = SEED.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let drawn = RandomState::new().hash_one(0) | 1;
    let other = SEED.compare_exchange(0, drawn, Ordering::Relaxed, Ordering::Relaxed);
    other.map_or_else(|known| known, |_| drawn)
}

fn hash(parts: &[&[u8]]) -> usize {
    let seed = seed();
    let mut hash = seed;
    let mut mix = |word: u64| {
        let product = u128::from(hash ^ word) * u128::from(seed ^ 0x9e37_79b9_7f4a_7c15);
        hash = (product >> 64) as u64 ^ product as u64 ^ word.rotate_left(32);
    };
    for part in parts {
        mix(part.len() as u64);
        let words = part.chunks_exact(8);
        let rest = words.remainder().iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        words.for_each(|word| mix(word.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))));
        mix(rest);
    }
    (hash ^ hash >> 32) as usize
}

fn packed(parts: &[&[u8]]) -> Secret {
    let mut key = Vec::with_capacity(parts.iter().map(|part| 8 + part.len()).sum());
    for part in parts {
        key.extend_from_slice(&(part.len() as u64).to_ne_bytes());
        key.extend_from_slice(part);
    }
    Secret::from(key)
}

/// Whether a key is of these parts; all bytes are looked at.
fn is_of(mut key: &[u8], parts: &[&[u8]]) -> bool {
    let mut differing = 0;
    for part in parts {
        let Some((len, rest)) = key.split_at_checked(8) else { return false };
        if len != (part.len() as u64).to_ne_bytes() || rest.len() < part.len() {
            return false;
        }
        let (mine, rest) = rest.split_at(part.len());
        differing |= mine.iter().zip(*part).fold(0, |bits, (a, b)| bits | (a ^ b));
        key = rest;
    }
    core::hint::black_box(differing) == 0 && key.is_empty()
}

impl<V: Clone> Cache<V> {
    /// An empty one.
    pub const fn new() -> Cache<V> {
        Cache(Lock::new(None))
    }

    fn with<R>(&self, work: impl FnOnce(&mut Sets<V>) -> R) -> R {
        let mut guard = self.0.lock();
        if guard.is_orphaned() {
            // A thread of the parent's was inside at a fork.
            mem::forget(guard.take());
        }
        let empty = || {
            let sets = (0..SETS).map(|_| Vec::new()).collect();
            Box::new(Sets { sets, clock: 0 })
        };
        work(guard.get_or_insert_with(empty))
    }

    /// The session of a key, made where there is none yet.
    ///
    /// # Errors
    /// What `make` answers; that is not kept.
    pub fn get(
        &self,
        parts: &[&[u8]],
        make: impl FnOnce() -> Result<V, Refusal>,
    ) -> Result<V, Refusal> {
        let set = hash(parts) % SETS;
        let found = self.with(|sets| {
            sets.clock += 1;
            let entry = sets.sets[set].iter_mut().find(|entry| is_of(&entry.key, parts))?;
            entry.used = sets.clock;
            Some(entry.value.clone())
        });
        if let Some(value) = found {
            return Ok(value);
        }
        let value = make()?;
        let entry = Entry { key: packed(parts), value: value.clone(), used: 0 };
        let evicted = self.with(|sets| {
            let used = sets.clock;
            let entries = &mut sets.sets[set];
            let oldest = entries.iter().enumerate().min_by_key(|(_, entry)| entry.used);
            let evicted = match oldest.map(|(index, _)| index) {
                Some(index) if entries.len() >= WAYS => Some(entries.swap_remove(index)),
                _ => None,
            };
            entries.push(Entry { used, ..entry });
            evicted
        });
        // Outside of the lock: what it has is overwritten.
        drop(evicted);
        Ok(value)
    }

    /// Forgets all of them. What no request uses is overwritten now.
    pub fn clear(&self) {
        let sets = {
            let mut guard = self.0.lock();
            let orphaned = guard.is_orphaned();
            let sets = guard.take();
            if orphaned {
                mem::forget(sets);
                return;
            }
            sets
        };
        drop(sets);
    }

    /// How many it has.
    pub fn len(&self) -> usize {
        self.with(|sets| sets.sets.iter().map(Vec::len).sum())
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<V: Clone> Default for Cache<V> {
    fn default() -> Cache<V> {
        Cache::new()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn keys_are_compared_in_full_and_the_bound_holds() {
        let cache = Cache::new();
        let made = |n: u32| move || Ok(Arc::new(n));
        for round in 0..3 {
            for n in 0..2000_u32 {
                let bytes = n.to_be_bytes();
                let value = cache.get(&[b"key", &bytes], made(n)).ok().unwrap();
                assert_eq!(*value, n, "{round}");
            }
            assert!(cache.len() <= BOUND && cache.len() > BOUND / 2);
        }
        // The same bytes, cut elsewhere.
        let one = cache.get(&[b"ab", b"c"], made(1)).ok().unwrap();
        let other = cache.get(&[b"a", b"bc"], made(2)).ok().unwrap();
        assert_eq!((*one, *other), (1, 2));
        let again = cache.get(&[b"ab", b"c"], made(3)).ok().unwrap();
        assert!(Arc::ptr_eq(&one, &again));
        assert!(cache.get(&[b"bad"], || Err(Refusal::RETRY)).is_err());
        assert!(cache.get(&[b"bad"], made(4)).is_ok());
    }

    #[test]
    fn what_is_cleared_is_dropped() {
        let cache = Cache::new();
        let first = cache.get(&[b"first"], || Ok(Arc::new(0))).ok().unwrap();
        cache.clear();
        assert_eq!((Arc::strong_count(&first), cache.len()), (1, 0));
        assert!(cache.get(&[b"first"], || Ok(Arc::new(1))).is_ok_and(|value| *value == 1));
    }

    #[test]
    fn what_is_evicted_is_dropped() {
        let cache = Cache::new();
        let first = cache.get(&[b"first"], || Ok(Arc::new(0))).ok().unwrap();
        for n in 0..20_000_u32 {
            let _ = cache.get(&[&n.to_be_bytes()], || Ok(Arc::new(n))).ok().unwrap();
        }
        assert_eq!(Arc::strong_count(&first), 1);
    }
}
