//! What served the requests: counters per device and operation.
//!
//! Each engine writes its own shard, without atomic read-modify-write; [`Counters`] is the sum of
//! all shards at one moment. Shards lie in the page of the process where it has one.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use lookaside_core::{Done, Op, Work, probes};
use lookaside_page::{BUCKETS, Bank, Page, Shape, Words, operation};

use crate::fork;

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
    /// What `queue_ns` is a histogram of, summed. Over a time, that by this time is how many requests waited on average.
    pub queue_total_ns: u64,
    /// What `service_ns` is a histogram of, summed.
    pub service_total_ns: u64,
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

/// The words of one device and operation.
type Row = [AtomicU64; operation::WORDS];

/// Adds without a locked instruction: a shard has one writer.
fn add(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Counts a value in the histogram that begins at this word.
fn count(row: &Row, histogram: usize, value: u64) {
    let bucket = ((u64::BITS - value.leading_zeros()) as usize).min(BUCKETS - 1);
    add(&row[histogram + bucket], 1);
}

/// One engine's counters: a row for each device and operation, the device changing slowest, then [`TAIL`].
pub(crate) struct Shard {
    bank: Bank,
    rows: usize,
}

/// Behind the rows: requests that were answered without a device, and resets.
const TAIL: [usize; 2] = [0, 1];

impl Shard {
    fn new(devices: usize, bank: Bank) -> Shard {
        Shard { bank, rows: devices * Op::ALL.len() }
    }

    fn row(&self, device: u16, op: Op) -> &Row {
        let row = usize::from(device) * Op::ALL.len() + op.index();
        self.bank[row * operation::WORDS..].first_chunk().expect("a row of a device that there is")
    }

    fn tail(&self, n: usize) -> &AtomicU64 {
        &self.bank[self.rows * operation::WORDS + n]
    }

    /// A device was offered `offered` requests and took `taken`.
    pub(crate) fn submitted(&self, device: u16, op: Op, offered: usize, taken: usize) {
        let row = self.row(device, op);
        if taken > 0 {
            add(&row[operation::BATCHES], 1);
            count(row, operation::LANES, taken as u64);
        }
        if taken < offered {
            add(&row[operation::BUSY], 1);
        }
    }

    /// A device kept requests of this operation for this long.
    pub(crate) fn busy(&self, device: u16, op: Op, ns: u64) {
        add(&self.row(device, op)[operation::BUSY_NS], ns);
    }

    /// A device finished a request, which is now answered.
    pub(crate) fn answered(&self, work: &Work, now: u64) {
        let row = self.row(work.device, work.request().op);
        add(&row[operation::REQUESTS], 1);
        match *work.result() {
            Ok(Done { consumed, produced, status, .. }) => {
                probes::finished(work, status, consumed, produced);
                add(&row[operation::SRC_BYTES], consumed as u64);
                add(&row[operation::DST_BYTES], produced as u64);
            }
            Err(_) => {
                probes::failed(work);
                add(&row[operation::ERRORS], 1);
            }
        }
        let queued = work.taken_ns.saturating_sub(work.pushed_ns);
        let served = now.saturating_sub(work.taken_ns);
        count(row, operation::QUEUE_NS, queued);
        count(row, operation::SERVICE_NS, served);
        add(&row[operation::QUEUE_TOTAL_NS], queued);
        add(&row[operation::SERVICE_TOTAL_NS], served);
    }

    /// A request left this device for another.
    pub(crate) fn rerouted(&self, device: u16, op: Op) {
        add(&self.row(device, op)[operation::REROUTED], 1);
    }

    /// A channel was reset.
    pub(crate) fn reset(&self) {
        add(self.tail(TAIL[1]), 1);
    }

    /// A request is answered without a device; it has its result.
    pub(crate) fn not_run(&self, work: &Work) {
        probes::failed(work);
        add(self.tail(TAIL[0]), 1);
    }

    fn add_to(&self, sum: &mut Counters) {
        let rows = self.bank.chunks_exact(operation::WORDS).take(self.rows);
        for (row, out) in rows.zip(&mut sum.ops) {
            let get = |n: usize| row[n].load(Relaxed);
            out.requests += get(operation::REQUESTS);
            out.src_bytes += get(operation::SRC_BYTES);
            out.dst_bytes += get(operation::DST_BYTES);
            out.batches += get(operation::BATCHES);
            out.errors += get(operation::ERRORS);
            out.busy += get(operation::BUSY);
            out.rerouted += get(operation::REROUTED);
            out.busy_ns += get(operation::BUSY_NS);
            out.queue_total_ns = out.queue_total_ns.wrapping_add(get(operation::QUEUE_TOTAL_NS));
            out.service_total_ns =
                out.service_total_ns.wrapping_add(get(operation::SERVICE_TOTAL_NS));
            for (from, to) in [
                (operation::LANES, &mut out.lanes),
                (operation::QUEUE_NS, &mut out.queue_ns),
                (operation::SERVICE_NS, &mut out.service_ns),
            ] {
                for (n, sum) in to.buckets.iter_mut().enumerate() {
                    *sum += get(from + n);
                }
            }
        }
        sum.not_run += self.tail(TAIL[0]).load(Relaxed);
        sum.resets += self.tail(TAIL[1]).load(Relaxed);
    }
}

/// All shards of a runtime: those of living engines, and the sum of the others.
pub(crate) struct Ledger {
    devices: usize,
    shape: Shape,
    /// The page of this process, if it has one, and where that counts what no engine does.
    page: Option<(&'static Page, Words)>,
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
        let shape =
            Shape::operations(zero.ops.iter().map(|row| (row.device.clone(), row.op.clone())));
        let page = Page::of_process(fork::generation());
        let page = page.and_then(|page| Some((page, page.past(&shape)?)));
        Ledger { devices: devices.len(), shape, page, shards: Mutex::new((Vec::new(), zero)) }
    }

    /// A shard for one more engine.
    pub(crate) fn open(&self) -> std::sync::Arc<Shard> {
        let bank = self.page.as_ref().and_then(|(page, _)| page.bank(&self.shape));
        let bank = bank.unwrap_or_else(|| Bank::owned(&self.shape));
        let shard = std::sync::Arc::new(Shard::new(self.devices, bank));
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
        if let Some((_, words)) = &self.page {
            words[self.devices * Op::ALL.len() * operation::WORDS + TAIL[0]]
                .fetch_add(count, Relaxed);
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
        let row: Row = std::array::from_fn(|_| AtomicU64::new(0));
        for v in [0, 1, 5, 100, 1000] {
            count(&row, operation::QUEUE_NS, v);
        }
        let bucket = |n: usize| row[operation::QUEUE_NS + n].load(Relaxed);
        let h = Histogram { buckets: std::array::from_fn(bucket) };
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
