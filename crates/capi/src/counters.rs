//! Counters as plain arrays.
#![allow(unsafe_code)]

use core::ffi::{c_char, c_int};

use lookaside::OpCounters;

use crate::{
    out,
    pointer::{Lent, Out},
    runtime::la_runtime,
    status::enter,
};

/// `LA_HISTOGRAM_BUCKETS`.
pub const BUCKETS: usize = 40;

/// See the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the header has them")]
pub struct la_counters {
    pub device: [c_char; 16],
    pub op: [c_char; 24],
    pub requests: u64,
    pub src_bytes: u64,
    pub dst_bytes: u64,
    pub batches: u64,
    pub errors: u64,
    pub busy: u64,
    pub rerouted: u64,
    pub busy_ns: u64,
    pub lanes: [u64; BUCKETS],
    pub queue_ns: [u64; BUCKETS],
    pub service_ns: [u64; BUCKETS],
}

impl From<&OpCounters> for la_counters {
    fn from(c: &OpCounters) -> la_counters {
        la_counters {
            device: out::text(&c.device),
            op: out::text(&c.op),
            requests: c.requests,
            src_bytes: c.src_bytes,
            dst_bytes: c.dst_bytes,
            batches: c.batches,
            errors: c.errors,
            busy: c.busy,
            rerouted: c.rerouted,
            busy_ns: c.busy_ns,
            lanes: c.lanes.buckets,
            queue_ns: c.queue_ns.buckets,
            service_ns: c.service_ns.buckets,
        }
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_counters_read(
    runtime: Lent<la_runtime>,
    rows: Out<la_counters>,
    n: usize,
    not_run: Out<u64>,
) -> c_int {
    enter(|| {
        rows.check(n)?;
        not_run.check(usize::from(!not_run.is_null()))?;
        // SAFETY: the header asks for an object that lives.
        let counters = unsafe { runtime.lent() }?.0.counters();
        for (i, row) in counters.ops.iter().take(n).enumerate() {
            // SAFETY: checked, and `i` is less than `n`.
            unsafe { rows.write(i, row.into()) };
        }
        if !not_run.is_null() {
            // SAFETY: checked.
            unsafe { not_run.write(0, counters.not_run) };
        }
        Ok(c_int::try_from(counters.ops.len()).unwrap_or(c_int::MAX))
    })
}
