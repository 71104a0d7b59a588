//! What served the requests: counters per device and operation.
//!
//! Each engine writes its own shard, without atomic read-modify-write; [`Counters`] is the sum of
//! all shards at one moment.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use lookaside_core::{Done, Op, Work};

/// Power-of-two buckets of a [`Histogram`].
const BUCKETS: usize = 40;

/// A histogram with power-of-two buckets: bucket 0 counts zeros, bucket `i` counts values from
/// 2^(i-1) to 2^i - 1, the last one everything above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// The count of each bucket.
    pub buckets: [u64; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { buckets: [0; BUCKETS] }
    }
}

impl Histogram {
    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// An upper bound of the value below which the fraction `q` (0 to 1) of the values lies; 0
    /// without any. Exact to a factor of 2.
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = (self.count() as f64 * q).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (i, n) in self.buckets.iter().enumerate() {
            seen += n;
            if *n > 0 && seen >= rank {
                return (1u64 << i) - 1;
            }
        }
        0
    }
}

/// The counters of one operation on one device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpCounters {
    /// The device's name.
    pub device: String,
    /// The operation's name, with its service: `dc.compress`.
    pub op: String,
    /// Requests answered, errors included.
    pub requests: u64,
    /// Bytes consumed from sources.
    pub src_bytes: u64,
    /// Bytes produced in destinations.
    pub dst_bytes: u64,
    /// Batches submitted.
    pub batches: u64,
    /// Requests answered with an error.
    pub errors: u64,
    /// How often the device took fewer requests than it was offered.
    pub busy: u64,
    /// Requests that left this device for the next one of the route: it failed or stayed busy.
    pub rerouted: u64,
    /// Time that engines had requests of this operation in the device, summed over engines.
    pub busy_ns: u64,
    /// Requests per batch: the lanes that were used.
    pub lanes: Histogram,
    /// From push until an engine took the request, in nanoseconds.
    pub queue_ns: Histogram,
    /// From then until it was finished, in nanoseconds.
    pub service_ns: Histogram,
}

/// A snapshot of all counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// A row for each device and operation.
    pub ops: Vec<OpCounters>,
    /// Requests answered without reaching a device: cancelled, or no device could take them.
    pub not_run: u64,
    /// How often a channel that held requests and answered none was reset.
    pub resets: u64,
    /// Engine threads that were asked for and that the operating system refused
    /// ([`crate::Runtime::engines_refused`] says why).
    pub engines_missing: usize,
}

impl Counters {
    /// The row of this device and operation.
    pub fn row(&self, device: &str, op: Op) -> Option<&OpCounters> {
        let op = op.to_string();
        self.ops.iter().find(|r| r.device == device && r.op == op)
    }
}

#[derive(Default)]
struct Cell(AtomicU64);

impl Cell {
    /// Adds without a locked instruction: a shard has one writer.
    fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }
}

struct Buckets([Cell; BUCKETS]);

impl Default for Buckets {
    fn default() -> Self {
        Buckets(core::array::from_fn(|_| Cell::default()))
    }
}

impl Buckets {
    fn count(&self, value: u64) {
        self.0[((u64::BITS - value.leading_zeros()) as usize).min(BUCKETS - 1)].add(1);
    }

    fn add_to(&self, h: &mut Histogram) {
        for (sum, cell) in h.buckets.iter_mut().zip(&self.0) {
            *sum += cell.0.load(Relaxed);
        }
    }
}

#[derive(Default)]
struct Row {
    requests: Cell,
    src_bytes: Cell,
    dst_bytes: Cell,
    batches: Cell,
    errors: Cell,
    busy: Cell,
    rerouted: Cell,
    busy_ns: Cell,
    lanes: Buckets,
    queue_ns: Buckets,
    service_ns: Buckets,
}

/// One engine's counters.
pub(crate) struct Shard {
    /// A row for each device and operation, the device changing slowest.
    rows: Box<[Row]>,
    not_run: Cell,
    resets: Cell,
}

impl Shard {
    pub(crate) fn new(devices: usize) -> Shard {
        Shard {
            rows: (0..devices * Op::ALL.len()).map(|_| Row::default()).collect(),
            not_run: Cell::default(),
            resets: Cell::default(),
        }
    }

    fn row(&self, device: u16, op: Op) -> &Row {
        &self.rows[usize::from(device) * Op::ALL.len() + op.index()]
    }

    /// A device was offered `offered` requests and took `taken`.
    pub(crate) fn submitted(&self, device: u16, op: Op, offered: usize, taken: usize) {
        let row = self.row(device, op);
        if taken > 0 {
            row.batches.add(1);
            row.lanes.count(taken as u64);
        }
        if taken < offered {
            row.busy.add(1);
        }
    }

    /// A device kept requests of this operation for this long.
    pub(crate) fn busy(&self, device: u16, op: Op, ns: u64) {
        self.row(device, op).busy_ns.add(ns);
    }

    /// A device finished a request, which is now answered.
    pub(crate) fn answered(&self, work: &Work, now: u64) {
        let row = self.row(work.device, work.request().op);
        row.requests.add(1);
        match *work.result() {
            Ok(Done { consumed, produced, .. }) => {
                row.src_bytes.add(consumed as u64);
                row.dst_bytes.add(produced as u64);
            }
            Err(_) => row.errors.add(1),
        }
        row.queue_ns.count(work.taken_ns.saturating_sub(work.pushed_ns));
        row.service_ns.count(now.saturating_sub(work.taken_ns));
    }

    /// A request left this device for another.
    pub(crate) fn rerouted(&self, device: u16, op: Op) {
        self.row(device, op).rerouted.add(1);
    }

    /// A channel was reset.
    pub(crate) fn reset(&self) {
        self.resets.add(1);
    }

    /// A request was answered without a device.
    pub(crate) fn not_run(&self) {
        self.not_run.add(1);
    }

    fn add_to(&self, sum: &mut Counters) {
        for (row, out) in self.rows.iter().zip(&mut sum.ops) {
            let get = |c: &Cell| c.0.load(Relaxed);
            out.requests += get(&row.requests);
            out.src_bytes += get(&row.src_bytes);
            out.dst_bytes += get(&row.dst_bytes);
            out.batches += get(&row.batches);
            out.errors += get(&row.errors);
            out.busy += get(&row.busy);
            out.rerouted += get(&row.rerouted);
            out.busy_ns += get(&row.busy_ns);
            row.lanes.add_to(&mut out.lanes);
            row.queue_ns.add_to(&mut out.queue_ns);
            row.service_ns.add_to(&mut out.service_ns);
        }
        sum.not_run += self.not_run.0.load(Relaxed);
        sum.resets += self.resets.0.load(Relaxed);
    }
}

/// All shards of a runtime: those of living engines, and the sum of the others.
pub(crate) struct Ledger {
    devices: Vec<String>,
    shards: Mutex<(Vec<std::sync::Weak<Shard>>, Counters)>,
}

impl Ledger {
    pub(crate) fn new(devices: Vec<String>) -> Ledger {
        let mut zero = Counters::default();
        for device in &devices {
            zero.ops.extend(Op::ALL.into_iter().map(|op| OpCounters {
                device: device.clone(),
                op: op.to_string(),
                ..OpCounters::default()
            }));
        }
        Ledger { devices, shards: Mutex::new((Vec::new(), zero)) }
    }

    /// A shard for one more engine.
    pub(crate) fn open(&self) -> std::sync::Arc<Shard> {
        let shard = std::sync::Arc::new(Shard::new(self.devices.len()));
        if let Ok(mut s) = self.shards.lock() {
            s.0.push(std::sync::Arc::downgrade(&shard));
        }
        shard
    }

    /// An engine has ended: keeps what it counted.
    pub(crate) fn close(&self, shard: &std::sync::Arc<Shard>) {
        if let Ok(mut s) = self.shards.lock() {
            let (open, ended) = &mut *s;
            open.retain(|w| !core::ptr::eq(w.as_ptr(), std::sync::Arc::as_ptr(shard)));
            shard.add_to(ended);
        }
    }

    /// Requests were cancelled that no engine had seen.
    pub(crate) fn not_run(&self, count: u64) {
        if let Ok(mut s) = self.shards.lock() {
            s.1.not_run += count;
        }
    }

    pub(crate) fn snapshot(&self) -> Counters {
        let Ok(s) = self.shards.lock() else { return Counters::default() };
        let mut sum = s.1.clone();
        for shard in s.0.iter().filter_map(std::sync::Weak::upgrade) {
            shard.add_to(&mut sum);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_upper_bounds_within_a_factor_of_two() {
        let b = Buckets::default();
        for v in [0, 1, 5, 100, 1000] {
            b.count(v);
        }
        let mut h = Histogram::default();
        b.add_to(&mut h);
        assert_eq!(h.count(), 5);
        assert_eq!((h.quantile(0.2), h.quantile(0.5), h.quantile(1.0)), (0, 7, 1023));
        assert_eq!(Histogram::default().quantile(0.5), 0);
    }

    #[test]
    fn an_ended_engine_still_counts() {
        let ledger = Ledger::new(vec!["cpu".into()]);
        let (a, b) = (ledger.open(), ledger.open());
        a.submitted(0, Op::Copy, 4, 3);
        b.submitted(0, Op::Copy, 1, 1);
        ledger.close(&a);
        drop(a);
        let c = ledger.snapshot();
        let row = c.row("cpu", Op::Copy).unwrap();
        assert_eq!((row.batches, row.busy), (2, 1));
    }
}
