//! What a row of counters says: the names that all commands print.

use lookaside_page::{BUCKETS, operation, read::Operation};
use serde_json::{Value, json};

/// The counters of an operation with one number each, by their names in `OpCounters` and `la_counters`.
pub(crate) const COUNTERS: [(&str, usize); 8] = [
    ("requests", operation::REQUESTS),
    ("src_bytes", operation::SRC_BYTES),
    ("dst_bytes", operation::DST_BYTES),
    ("batches", operation::BATCHES),
    ("errors", operation::ERRORS),
    ("busy", operation::BUSY),
    ("rerouted", operation::REROUTED),
    ("busy_ns", operation::BUSY_NS),
];

/// The histograms: name, where it begins, where the sum of its values is; that of lanes is the requests themselves.
pub(crate) const HISTOGRAMS: [(&str, usize, usize); 3] = [
    ("lanes", operation::LANES, operation::REQUESTS),
    ("queue_ns", operation::QUEUE_NS, operation::QUEUE_TOTAL_NS),
    ("service_ns", operation::SERVICE_NS, operation::SERVICE_TOTAL_NS),
];

/// The words of an operation, or what was added to them between two readings.
pub(crate) type Words = [u64; operation::WORDS];

/// An upper bound of the value below which the fraction `q` of a histogram's values lies; 0 without any. As
/// `lookaside::Histogram::quantile`.
pub(crate) fn quantile(words: &Words, histogram: usize, q: f64) -> u64 {
    let buckets = &words[histogram..histogram + BUCKETS];
    let count = buckets.iter().fold(0_u64, |sum, n| sum.saturating_add(*n));
    let rank = (count as f64 * q).ceil().max(1.0) as u64;
    let mut seen = 0_u64;
    for (i, n) in buckets.iter().enumerate() {
        seen = seen.saturating_add(*n);
        if *n > 0 && seen >= rank {
            return (1 << i) - 1;
        }
    }
    0
}

/// The requests in a batch on average: the lanes that were filled.
pub(crate) fn lanes(words: &Words) -> f64 {
    match words[operation::BATCHES] {
        0 => 0.0,
        batches => words[operation::REQUESTS] as f64 / batches as f64,
    }
}

/// An operation as an object of JSON.
pub(crate) fn json_of(row: &Operation) -> Value {
    let mut object = json!({ "device": row.device, "op": row.op });
    for (name, word) in COUNTERS {
        object[name] = row.words[word].into();
    }
    object["lanes"] = lanes(&row.words).into();
    for (name, histogram, total) in &HISTOGRAMS[1..] {
        let [p50, p99] = [0.5, 0.99].map(|q| quantile(&row.words, *histogram, q));
        object[*name] = json!({ "total": row.words[*total], "p50": p50, "p99": p99 });
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_runtime() {
        let mut words = [0; operation::WORDS];
        let mut histogram = lookaside::Histogram::default();
        for (bucket, n) in [(0, 3), (5, 10), (20, 1), (39, 2)] {
            words[operation::QUEUE_NS + bucket] = n;
            histogram.buckets[bucket] = n;
        }
        for q in [0.0, 0.1, 0.5, 0.9, 0.99, 1.0] {
            assert_eq!(quantile(&words, operation::QUEUE_NS, q), histogram.quantile(q), "{q}");
        }
        assert_eq!(quantile(&words, operation::SERVICE_NS, 0.5), 0);
        words[operation::QUEUE_NS] = u64::MAX;
        assert_eq!(quantile(&words, operation::QUEUE_NS, 0.5), 0);
    }
}
