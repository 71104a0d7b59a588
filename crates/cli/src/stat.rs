//! `lookaside stat`: what a server counts, at one moment or over a time.

use std::{error::Error, fmt::Write as _, thread, time::Duration};

use clap::Args;
use lookaside::OpCounters;
use lookaside_page::{operation, read::Operation};
use lookaside_server::{Held, Listed, Served, Stat, stat};
use serde_json::{Value, json};

use crate::{
    see::row::{self, Words},
    serve, vf,
};

/// Shows what the machine's device has served, and for whom
///
/// Asks the server (lookaside serve) on the socket `control` in its folder, as its user or root: its engines and operations,
/// and each virtual function: what it is promised, what it has, what it has answered of each service, and what was
/// refused. Sums since it began; with --interval also rates over that time.
#[derive(Debug, Args)]
#[command(after_long_help = JSON)]
pub(crate) struct Options {
    #[command(flatten)]
    place: serve::Place,
    /// Print one JSON object; its schema is json/stat.json in the documentation
    #[arg(long)]
    json: bool,
    /// Look twice, so many seconds apart, and print rates, too
    #[arg(long, value_name = "S", value_parser = crate::see::top::seconds)]
    interval: Option<Duration>,
}

const JSON: &str = "\
The JSON object. New keys may come; these stay:
  version; process; uptime_seconds; engines; not_run; resets;
  interval_seconds; operations[] as of lookaside top --once --json;
  functions[] {name, socket, settings, connections, device_seconds,
  committed_seconds: as of lookaside vf list --json; clients, rings,
  sessions, memory_bytes, queue, refused, cut_off; services[] {service,
  requests, errors, src_bytes, dst_bytes, requests_per_s,
  src_bytes_per_s, dst_bytes_per_s}}: rates are null without --interval";

/// The counters of an operation as they lie in a page, for what prints those.
pub(crate) fn as_in_a_page(row: &OpCounters) -> Operation {
    let mut words: Words = [0; operation::WORDS];
    for (word, n) in [
        (operation::REQUESTS, row.requests),
        (operation::SRC_BYTES, row.src_bytes),
        (operation::DST_BYTES, row.dst_bytes),
        (operation::BATCHES, row.batches),
        (operation::ERRORS, row.errors),
        (operation::BUSY, row.busy),
        (operation::REROUTED, row.rerouted),
        (operation::BUSY_NS, row.busy_ns),
        (operation::QUEUE_TOTAL_NS, row.queue_total_ns),
        (operation::SERVICE_TOTAL_NS, row.service_total_ns),
    ] {
        words[word] = n;
    }
    for (first, histogram) in [
        (operation::LANES, &row.lanes),
        (operation::QUEUE_NS, &row.queue_ns),
        (operation::SERVICE_NS, &row.service_ns),
    ] {
        words[first..first + histogram.buckets.len()].copy_from_slice(&histogram.buckets);
    }
    Operation { device: row.device.clone(), op: row.op.clone(), words }
}

/// What was added since `before`, of the same server: a second's. Of a function that was opened in between, all.
pub(crate) struct Rates<'a> {
    before: &'a Stat,
    seconds: f64,
}

impl<'a> Rates<'a> {
    /// By the server's clock: what lies between its answers.
    pub(crate) fn new(before: &'a Stat, now: &Stat) -> Rates<'a> {
        let seconds = now.uptime.saturating_sub(before.uptime).as_secs_f64().max(1e-9);
        Rates { before, seconds }
    }

    /// Of a number of [`Served::rows`].
    pub(crate) fn of(&self, function: &Listed, service: &str, n: usize) -> f64 {
        let rows = |served: &Served| served.rows()[n].1;
        let find = |one: &Listed| {
            let mut all = one.served.iter();
            all.find(|(its, _)| its.name() == service).map_or(0, |(_, served)| rows(served))
        };
        let old = self.before.functions.iter().find(|one| one.config.name == function.config.name);
        // One that was opened again under its name has begun anew.
        let (now, old) = (find(function), old.map_or(0, find));
        now.checked_sub(old).unwrap_or(now) as f64 / self.seconds
    }
}

pub(crate) fn run(options: &Options) -> Result<String, Box<dyn Error>> {
    let folder = vf::folder(&options.place)?;
    let mut now = stat(&folder)?;
    let mut before = None;
    if let Some(interval) = options.interval {
        thread::sleep(interval);
        let first = std::mem::replace(&mut now, stat(&folder)?);
        if first.process != now.process {
            return Err("the server was started again in between".into());
        }
        before = Some(first);
    }
    let rates = before.as_ref().map(|before| Rates::new(before, &now));
    if options.json {
        return Ok(serde_json::to_string_pretty(&object(&now, rates.as_ref()))? + "\n");
    }
    Ok(screen(&now, rates.as_ref()))
}

fn object(stat: &Stat, rates: Option<&Rates<'_>>) -> Value {
    let operations: Vec<Value> =
        stat.counters.ops.iter().map(|row| row::json_of(&as_in_a_page(row))).collect();
    let functions: Vec<Value> = stat.functions.iter().map(|one| function(one, rates)).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "process": stat.process,
        "uptime_seconds": stat.uptime.as_secs_f64(),
        "engines": stat.engines,
        "not_run": stat.counters.not_run,
        "resets": stat.counters.resets,
        "interval_seconds": rates.map(|rates| rates.seconds),
        "operations": operations,
        "functions": functions,
    })
}

pub(crate) fn function(one: &Listed, rates: Option<&Rates<'_>>) -> Value {
    let mut object = vf::object(&one.config, &one.socket, Some(one), None);
    // What a configuration's functions have instead of numbers.
    object.as_object_mut().map(|object| object.remove("offers"));
    for (name, value) in one.held.rows() {
        object[name] = value.into();
    }
    let service = |(service, served): &(lookaside::Service, Served)| {
        let mut object = json!({ "service": service.name() });
        for (n, (name, value)) in served.rows().into_iter().enumerate() {
            object[name] = value.into();
            if name != "errors" {
                let rate = rates.map(|rates| rates.of(one, service.name(), n));
                object[format!("{name}_per_s")] = rate.into();
            }
        }
        object
    };
    object["services"] = one.served.iter().map(service).collect();
    object
}

fn screen(stat: &Stat, rates: Option<&Rates<'_>>) -> String {
    let mut text = format!(
        "process {}, {} engines, {:.0} s\n",
        stat.process,
        stat.engines,
        stat.uptime.as_secs_f64()
    );
    for op in &stat.counters.ops {
        let words = as_in_a_page(op).words;
        let lanes = row::lanes(&words);
        let [wait, time] = [operation::QUEUE_NS, operation::SERVICE_NS]
            .map(|first| row::quantile(&words, first, 0.99));
        let (name, n, errors) = (format!("{} {}", op.device, op.op), op.requests, op.errors);
        let (wait, time) = (wait / 1000, time / 1000);
        let _ = writeln!(
            text,
            "{name:<24} {n} requests, {errors} errors, {lanes:.1} lanes, q99 {wait} us, p99 {time} us"
        );
    }
    for one in &stat.functions {
        let Held { clients, rings, sessions, memory_bytes, queue, refused, cut_off } = one.held;
        let (name, weight) = (&one.config.name, one.config.weight);
        let memory = memory_bytes >> 10;
        let _ = writeln!(
            text,
            "\n{name:<16} weight {weight}, {clients} clients, {rings} rings, {sessions} sessions, {memory} KiB"
        );
        text += &vf::rates(&one.config);
        let _ = writeln!(text, "{:<16} queue {queue}, refused {refused}, cut off {cut_off}", "");
        for (service, served) in &one.served {
            let Served { requests, errors, src_bytes, dst_bytes } = served;
            let name = service.name();
            let _ = writeln!(
                text,
                "{:<16} {name:<4} {requests} requests, {errors} errors, {src_bytes} bytes in, {dst_bytes} out",
                ""
            );
            if let Some(rates) = rates {
                let [per_s, src, dst] = [0, 2, 3].map(|n| rates.of(one, name, n));
                let (src, dst) = (src * 8e-6, dst * 8e-6);
                let _ = writeln!(
                    text,
                    "{:<21} {per_s:.0} requests/s, {src:.1} Mbit/s in, {dst:.1} Mbit/s out",
                    ""
                );
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_page() {
        let mut row = OpCounters { requests: 8, batches: 2, busy_ns: 5, ..OpCounters::default() };
        row.queue_ns.buckets[9] = 8;
        let value = row::json_of(&as_in_a_page(&row));
        assert_eq!((&value["requests"], &value["lanes"]), (&8.into(), &4.0.into()));
        assert_eq!((&value["busy_ns"], &value["queue_ns"]["p99"]), (&5.into(), &511.into()));
    }
}
