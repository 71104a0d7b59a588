//! Counters of a set's scans.
//!
//! Each [`Scratch`](crate::Scratch) counts in a shard of its own, which nobody else writes: a count is a load and a store,
//! without a locked instruction. Readers add the shards up. A shard whose scratch is gone keeps its counts and goes to
//! the next scratch.

use std::sync::{
    Arc,
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed},
        fence,
    },
};
use std::time::Instant;

use lookaside_secure::ForkMutex;
use lookaside_spec::scan::{Counters, PatternCounters};

/// From how many bytes on each scan's cost is measured: its time, by two readings of a clock of 25 ns each, and its
/// candidates, at 1 to 2 ns each.
const LONG: usize = 16 << 10;
/// Of shorter scans, the cost of each of the first ones and then of one of as many is measured, and counts for all of those.
const SAMPLE: u64 = 32;

/// What one scratch has counted of one set.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    /// The number of the set's [`Counting`].
    set: u64,
    scans: AtomicU64,
    /// Scans of less than [`LONG`] bytes.
    short: AtomicU64,
    bytes: AtomicU64,
    time_ns: AtomicU64,
    /// Matches and candidates of each pattern.
    patterns: Box<[[AtomicU64; 2]]>,
}

/// Adds to a counter that no other thread writes.
#[inline]
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

impl Shard {
    fn counters(&self) -> impl Iterator<Item = &AtomicU64> {
        let scans = [&self.scans, &self.short, &self.bytes, &self.time_ns];
        scans.into_iter().chain(self.patterns.iter().flatten())
    }
}

/// The counters of a set.
#[derive(Debug)]
pub(crate) struct Counting {
    number: u64,
    ids: Box<[u32]>,
    /// Without its holder, nothing is counted.
    shards: ForkMutex<Vec<Arc<Shard>>>,
}

impl Counting {
    pub(crate) fn new(ids: impl Iterator<Item = u32>) -> Counting {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Relaxed);
        Counting { number, ids: ids.collect(), shards: ForkMutex::new(vec![]) }
    }

    /// A shard for a scratch.
    fn shard(&self) -> Option<Arc<Shard>> {
        let mut shards = self.shards.lock()?;
        if let Some(left) = shards.iter().find(|shard| Arc::strong_count(shard) == 1) {
            // Pairs with the release by which its scratch gave it up.
            fence(Acquire);
            return Some(left.clone());
        }
        let patterns = self.ids.iter().map(|_| <[AtomicU64; 2]>::default()).collect();
        let shard = Arc::new(Shard { set: self.number, patterns, ..Shard::default() });
        shards.push(shard.clone());
        Some(shard)
    }
}

/// A handle on the counters of a set, which they outlive.
#[derive(Clone, Debug)]
pub struct Counter(pub(crate) Arc<Counting>);

impl Counter {
    /// What was counted up to now.
    pub fn read(&self) -> Counters {
        let pattern = |&id: &u32| PatternCounters { id, ..PatternCounters::default() };
        let patterns = self.0.ids.iter().map(pattern).collect();
        let mut sum = Counters { patterns, ..Counters::default() };
        let Some(shards) = self.0.shards.lock() else { return sum };
        for shard in shards.iter() {
            sum.scans += shard.scans.load(Relaxed);
            sum.bytes += shard.bytes.load(Relaxed);
            sum.time_ns += shard.time_ns.load(Relaxed);
            for (sum, [matches, candidates]) in sum.patterns.iter_mut().zip(&shard.patterns) {
                sum.matches += matches.load(Relaxed);
                sum.candidates += candidates.load(Relaxed);
            }
        }
        sum
    }

    /// Begins again with zeros. A scan that runs meanwhile may keep its counts.
    pub fn reset(&self) {
        let shards = self.0.shards.lock();
        let shards = shards.iter().flat_map(|shards| shards.iter());
        shards.flat_map(|shard| shard.counters()).for_each(|counter| counter.store(0, Relaxed));
    }
}

/// Where a scratch counts.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Of the set that is scanned for, if it is counted.
    current: Option<Arc<Shard>>,
    /// Of the sets that were scanned for last, the latest first.
    kept: Vec<Arc<Shard>>,
    /// A match at which the receiver stops is not counted: it comes again.
    pub resumable: bool,
    /// How many matches come that were counted before.
    pub skip: u32,
    /// For how many scans this one's cost stands; 0 if it is not measured.
    weight: u64,
}

/// When a scan began, if its cost is measured.
pub(crate) struct Timer(Option<Instant>);

impl Tally {
    /// A scan of `bytes` bytes begins, for a set with these counters.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        counting: Option<&Counting>,
        bytes: usize,
        resumable: bool,
    ) -> Timer {
        let Some(counting) = counting else {
            (self.current, self.weight) = (None, 0);
            return Timer(None);
        };
        if self.current.as_ref().is_none_or(|shard| shard.set != counting.number) {
            self.find(counting);
        }
        (self.resumable, self.skip, self.weight) = (resumable, 0, 0);
        let Some(shard) = &self.current else { return Timer(None) };
        self.weight = match bytes >= LONG {
            true => 1,
            false => {
                let number = shard.short.load(Relaxed);
                add(&shard.short, 1);
                match number {
                    0..SAMPLE => 1,
                    _ if number % SAMPLE == 0 => SAMPLE,
                    _ => return Timer(None),
                }
            }
        };
        Timer(Some(Instant::now()))
    }

    #[inline(never)]
    fn find(&mut self, counting: &Counting) {
        /// A thread may scan for as many sets in turn without looking for its shard.
        const KEPT: usize = 8;
        let place = self.kept.iter().position(|shard| shard.set == counting.number);
        let shard = match place {
            Some(place) => Some(self.kept.remove(place)),
            None => counting.shard(),
        };
        self.current.clone_from(&shard);
        if let Some(shard) = shard {
            self.kept.truncate(KEPT - 1);
            self.kept.insert(0, shard);
        }
    }

    /// The scan is over; `bytes` of its text were scanned, in this many scans.
    #[inline]
    pub(crate) fn end(&mut self, timer: Timer, scans: u64, bytes: usize) {
        let Some(shard) = &self.current else { return };
        add(&shard.scans, scans);
        add(&shard.bytes, bytes as u64);
        if let Some(begun) = timer.0 {
            let ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            add(&shard.time_ns, ns.saturating_mul(self.weight));
        }
    }

    /// A string of this pattern was found.
    #[inline]
    pub(crate) fn candidate(&self, pattern: u32) {
        if self.weight > 0
            && let Some(shard) = &self.current
        {
            add(&shard.patterns[pattern as usize][1], self.weight);
        }
    }

    /// A match of this pattern was reported, to a receiver that stopped there or not.
    #[inline]
    pub(crate) fn matched(&mut self, pattern: u32, stopped: bool) {
        let Some(shard) = &self.current else { return };
        if self.skip > 0 {
            self.skip -= 1;
        } else if !(stopped && self.resumable) {
            add(&shard.patterns[pattern as usize][0], 1);
        }
    }
}
