//! All that a server counts, as one answer of its control socket.
//!
//! ```text
//! lookaside control 1          ok
//! stat                         :process = 71
//!                              :uptime_ns = 5
//!                              :engines = 2
//!                              :not_run = 0
//!                              :resets = 0
//!                              :op cpu dc.compress = 12 3000 ...
//!                              [web]
//! ```

use std::{path::Path, time::Duration};

use lookaside::{Counters, Histogram, OpCounters};

use crate::{
    Functions,
    control::{ControlError, Listed, PATIENCE, VERSION, question},
};

/// A server at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// The number of its process.
    pub process: u32,
    /// For how long it has run.
    pub uptime: Duration,
    /// Engines that serve.
    pub engines: usize,
    /// What the engines have served, of all functions: a row for each operation that they had.
    pub counters: Counters,
    /// Its virtual functions.
    pub functions: Vec<Listed>,
}

/// What is asked.
pub(crate) const QUESTION: &str = "stat";

/// The single numbers of a row, in the order of an answer.
fn numbers(row: &OpCounters) -> [u64; 10] {
    [
        row.requests,
        row.src_bytes,
        row.dst_bytes,
        row.batches,
        row.errors,
        row.busy,
        row.rerouted,
        row.busy_ns,
        row.queue_total_ns,
        row.service_total_ns,
    ]
}

fn op_text(row: &OpCounters) -> String {
    let histograms = [&row.lanes, &row.queue_ns, &row.service_ns];
    let buckets = histograms.into_iter().flat_map(|histogram| histogram.buckets);
    let values: Vec<String> =
        numbers(row).into_iter().chain(buckets).map(|n| n.to_string()).collect();
    format!(":op {} {} = {}\n", row.device, row.op, values.join(" "))
}

fn op_parse(name: &str, values: &str) -> Option<OpCounters> {
    let (device, op) = name.rsplit_once(' ')?;
    let mut values = values.split(' ').map(|n| n.parse::<u64>().ok());
    let mut next = || values.next().flatten();
    let mut row = OpCounters {
        device: device.to_owned(),
        op: op.to_owned(),
        requests: next()?,
        src_bytes: next()?,
        dst_bytes: next()?,
        batches: next()?,
        errors: next()?,
        busy: next()?,
        rerouted: next()?,
        busy_ns: next()?,
        queue_total_ns: next()?,
        service_total_ns: next()?,
        ..OpCounters::default()
    };
    let histogram = |histogram: &mut Histogram, next: &mut dyn FnMut() -> Option<u64>| {
        histogram.buckets.iter_mut().try_for_each(|bucket| next().map(|n| *bucket = n))
    };
    for one in [&mut row.lanes, &mut row.queue_ns, &mut row.service_ns] {
        histogram(one, &mut next)?;
    }
    next().is_none().then_some(row)
}

impl Stat {
    /// Of this server.
    pub(crate) fn of(functions: &Functions) -> Stat {
        let mut counters = functions.runtime.counters();
        counters.ops.retain(|row| numbers(row).iter().any(|n| *n > 0));
        Stat {
            process: std::process::id(),
            uptime: functions.since.elapsed(),
            engines: functions.runtime.engines(),
            counters,
            functions: functions.running.iter().map(crate::Running::listed).collect(),
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in [
            ("process", self.process.into()),
            ("uptime_ns", self.uptime.as_nanos()),
            ("engines", self.engines as u128),
            ("not_run", self.counters.not_run.into()),
            ("resets", self.counters.resets.into()),
        ] {
            text += &format!(":{name} = {value}\n");
        }
        text.extend(self.counters.ops.iter().map(op_text));
        text.extend(self.functions.iter().map(Listed::text));
        text
    }

    fn parse(text: &str) -> Option<Stat> {
        let mut stat = Stat::default();
        let begin =
            if text.starts_with('[') { 0 } else { text.find("\n[").map_or(text.len(), |n| n + 1) };
        let (head, functions) = text.split_at(begin);
        for line in head.lines() {
            let (name, value) = line.strip_prefix(':')?.split_once(" = ")?;
            match name {
                "process" => stat.process = value.parse().ok()?,
                "uptime_ns" => stat.uptime = Duration::from_nanos(value.parse().ok()?),
                "engines" => stat.engines = value.parse().ok()?,
                "not_run" => stat.counters.not_run = value.parse().ok()?,
                "resets" => stat.counters.resets = value.parse().ok()?,
                _ => stat.counters.ops.push(op_parse(name.strip_prefix("op ")?, value)?),
            }
        }
        stat.functions = Listed::parse_all(functions)?;
        Some(stat)
    }
}

/// What the server counts whose sockets lie in `folder`. Waits for it for 2 seconds.
///
/// # Errors
/// As [`crate::ask`].
pub fn stat(folder: &Path) -> Result<Stat, ControlError> {
    let answer = question(folder, &format!("{VERSION}\n{QUESTION}\n"), PATIENCE)?;
    Stat::parse(&answer).ok_or(ControlError::Version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionConfig;

    #[test]
    fn what_is_said_is_read_back() {
        let mut row =
            OpCounters { device: "cpu".into(), op: "dc.compress".into(), ..OpCounters::default() };
        (row.requests, row.service_total_ns) = (1, 10);
        (row.lanes.buckets[3], row.service_ns.buckets[39]) = (7, u64::MAX);
        let counters =
            Counters { ops: vec![row.clone(), row], not_run: 3, resets: 4, ..Counters::default() };
        let functions =
            vec![Listed::new(FunctionConfig::new("a")), Listed::new(FunctionConfig::new("b"))];
        let uptime = Duration::from_nanos(u64::MAX);
        let stat = Stat { process: 7, uptime, engines: 2, counters, functions };
        assert_eq!(Stat::parse(&stat.text()), Some(stat.clone()));
        let none = Stat { functions: Vec::new(), ..stat };
        assert_eq!(Stat::parse(&none.text()), Some(none.clone()));
        for wrong in [":op cpu a = 1\n", ":engines = x\n", "engines = 1\n", ":nonsense = 1\n"] {
            assert_eq!(Stat::parse(wrong), None, "{wrong}");
        }
    }
}
