//! `lookaside metrics`: the counters of all processes as OpenMetrics, or in the older text format of Prometheus.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
    time::Duration,
};

use lookaside_page::{BUCKETS, operation, read::Content};
use lookaside_server::{Held, Listed, Served, Stat};

use super::{
    gather::{Places, Seen},
    row::Words,
    serve,
};
use crate::replace::replace;

/// Prints or serves the counters as OpenMetrics
///
/// The counters that `lookaside top` shows, for Prometheus and others. With --server also those of each virtual function
/// of the machine's device, as lookaside stat has them, with the label `function`.
#[derive(Debug, Default, PartialEq, clap::Args)]
pub(crate) struct Metrics {
    /// Write FILE instead, whole, then renamed
    ///
    /// In the format that the textfile collector of node_exporter reads
    #[arg(long, value_name = "FILE", conflicts_with = "listen")]
    pub(crate) textfile: Option<PathBuf>,
    /// Answer scrapes of http://ADDR/metrics
    ///
    /// PORT (of this machine alone) or HOST:PORT
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Ask the server too whose sockets lie in DIR
    ///
    /// As its user or root. lookaside_server_up is 0 while there is none
    #[arg(long, value_name = "DIR")]
    pub(crate) server: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// The two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// OpenMetrics 1.0.
    Open,
    /// Version 0.0.4 of the text format, which the textfile collector of node_exporter reads.
    Text,
}

pub(crate) fn run(metrics: &Metrics) -> Result<(), Box<dyn std::error::Error>> {
    match (&metrics.textfile, &metrics.listen) {
        (None, None) => {
            let text = metrics.text(Format::Open);
            match io::stdout().write_all(text.as_bytes()) {
                Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(e.into()),
                _ => Ok(()),
            }
        }
        (Some(path), _) => {
            let text = metrics.text(Format::Text);
            replace(path, &text, None).map_err(|e| format!("{}: {e}", path.display()).into())
        }
        (None, Some(address)) => serve::run(address, metrics),
    }
}

impl Metrics {
    /// All that there is now.
    pub(crate) fn text(&self, format: Format) -> String {
        let server = self.server.as_ref().map(|folder| lookaside_server::stat(folder).ok());
        text(&self.places.read(), server.as_ref().map(Option::as_ref), format)
    }
}

/// A counter of operations: name, unit, help, its word, and what its values are divided by.
type Counter = (&'static str, &'static str, &'static str, usize, f64);

const COUNTERS: [Counter; 8] = [
    ("requests", "", "Requests answered, errors included.", operation::REQUESTS, 1.0),
    ("src_bytes", "bytes", "Bytes consumed from sources.", operation::SRC_BYTES, 1.0),
    ("dst_bytes", "bytes", "Bytes produced in destinations.", operation::DST_BYTES, 1.0),
    ("batches", "", "Batches submitted.", operation::BATCHES, 1.0),
    ("errors", "", "Requests answered with an error.", operation::ERRORS, 1.0),
    ("busy", "", "How often the device took fewer requests than offered.", operation::BUSY, 1.0),
    ("rerouted", "", "Requests that left for the next device.", operation::REROUTED, 1.0),
    ("busy_seconds", "seconds", "Time with requests in the device.", operation::BUSY_NS, 1e9),
];

/// A histogram: name, unit, help, its first word, that of its sum, what values are divided by, and its buckets.
type Histogram = (&'static str, &'static str, &'static str, usize, usize, f64, &'static [usize]);

/// The upper bounds 2^n - 1 of lanes: 1 to 1023.
const FEW: &[usize] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/// The upper bounds 2^n - 1 of nanoseconds: 255 ns to 69 s.
const TIMES: &[usize] = &[8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36];

const HISTOGRAMS: [Histogram; 3] = [
    ("lanes", "", "Requests per batch.", operation::LANES, operation::REQUESTS, 1.0, FEW),
    (
        "queue_seconds",
        "seconds",
        "From push until an engine took the request.",
        operation::QUEUE_NS,
        operation::QUEUE_TOTAL_NS,
        1e9,
        TIMES,
    ),
    (
        "service_seconds",
        "seconds",
        "From then until it was finished.",
        operation::SERVICE_NS,
        operation::SERVICE_TOTAL_NS,
        1e9,
        TIMES,
    ),
];

/// What libraries count: name, unit, help, and which columns of theirs it is.
const CALLS: [(&str, &str, &str, &[&str]); 5] = [
    (
        "calls",
        "",
        "Calls that a library served on the caller's thread.",
        &["calls", "count", "pieces"],
    ),
    ("call_src_bytes", "bytes", "Bytes that these took.", &["bytes in", "bytes"]),
    ("call_dst_bytes", "bytes", "Bytes that these gave.", &["bytes out"]),
    ("call_matches", "", "Matches that these found.", &["matches"]),
    ("call_asynchronous", "", "Those of them that a job paused for.", &["asynchronous"]),
];

/// A number of something, and how it is told: name, kind, unit, help.
type Told<T, N> = (&'static str, &'static str, &'static str, &'static str, fn(&T) -> N);

/// What a virtual function has.
const HELD: [Told<Held, u64>; 7] = [
    ("clients", "gauge", "", "Processes that use it.", |held| held.clients),
    ("rings", "gauge", "", "Rings of these.", |held| held.rings),
    ("sessions", "gauge", "", "Sessions of these.", |held| held.sessions),
    ("memory_bytes", "gauge", "bytes", "Memory that rings have taken.", |held| held.memory_bytes),
    ("queue", "gauge", "", "Requests that are taken and not answered.", |held| held.queue),
    ("refused", "counter", "", "Connections, rings and sessions refused.", |held| held.refused),
    ("cut_off", "counter", "", "Connections ended since they broke the protocol.", |held| {
        held.cut_off
    }),
];

/// What it has answered of a service.
const SERVED: [Told<Served, u64>; 4] = [
    ("requests", "counter", "", "Requests answered, errors included.", |served| served.requests),
    ("errors", "counter", "", "Requests answered with an error.", |served| served.errors),
    ("src_bytes", "counter", "bytes", "Bytes consumed from sources.", |served| served.src_bytes),
    ("dst_bytes", "counter", "bytes", "Bytes produced in destinations.", |served| served.dst_bytes),
];

/// Its time.
const HAD: [Told<Listed, Duration>; 2] = [
    (
        "device_seconds",
        "counter",
        "seconds",
        "Time of engines while others had requests too.",
        |one| one.device_time,
    ),
    (
        "committed_seconds",
        "counter",
        "seconds",
        "Of that, what was served by commitments.",
        |one| one.committed_time,
    ),
];

struct Text {
    text: String,
    format: Format,
}

impl Text {
    /// The head of a family.
    fn family(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        let total = if kind == "counter" && self.format == Format::Text { "_total" } else { "" };
        let _ = writeln!(self.text, "# HELP lookaside_{name}{total} {help}");
        let _ = writeln!(self.text, "# TYPE lookaside_{name}{total} {kind}");
        if !unit.is_empty() && self.format == Format::Open {
            let _ = writeln!(self.text, "# UNIT lookaside_{name} {unit}");
        }
    }

    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        // Whole numbers as such: they are exact as far as a double is.
        let value = if value.fract() == 0.0 && value.abs() < 9e15 {
            format!("{value:.0}")
        } else {
            format!("{value:?}")
        };
        let _ = writeln!(self.text, "lookaside_{name}{{{labels}}} {value}");
    }
}

/// A label's value, as both formats want it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn process_labels(process: &Content) -> String {
    format!("pid=\"{}\",program=\"{}\"", process.process.pid, escaped(&process.program))
}

/// What a server counts of its virtual functions.
fn functions(out: &mut Text, server: Option<&Stat>) {
    out.family("server_up", "gauge", "", "Whether the server answers.");
    let _ = writeln!(out.text, "lookaside_server_up {}", u8::from(server.is_some()));
    let all = server.map_or(&[][..], |stat| &stat.functions);
    let labels = |one: &Listed| format!("function=\"{}\"", escaped(&one.config.name));
    for (name, kind, unit, help, value) in HELD {
        out.family(&format!("function_{name}"), kind, unit, help);
        let total = if kind == "counter" { "_total" } else { "" };
        for one in all {
            out.sample(&format!("function_{name}{total}"), &labels(one), value(&one.held) as f64);
        }
    }
    for (name, kind, unit, help, value) in SERVED {
        out.family(&format!("function_{name}"), kind, unit, help);
        for one in all {
            for (service, served) in &one.served {
                let labels = format!("{},service=\"{}\"", labels(one), service.name());
                out.sample(&format!("function_{name}_total"), &labels, value(served) as f64);
            }
        }
    }
    for (name, kind, unit, help, time) in HAD {
        out.family(&format!("function_{name}"), kind, unit, help);
        for one in all {
            out.sample(&format!("function_{name}_total"), &labels(one), time(one).as_secs_f64());
        }
    }
    out.family("function_weight", "gauge", "", "Weight.");
    for one in all {
        out.sample("function_weight", &labels(one), one.config.weight.into());
    }
    out.family(
        "function_promised",
        "gauge",
        "",
        "Rates by configuration: operations or bits a second.",
    );
    for one in all {
        for (kind, rates) in [("committed", &one.config.committed), ("peak", &one.config.peak)] {
            for rate in rates {
                let measure = rate.measure.name();
                let labels = format!("{},rate=\"{kind}\",measure=\"{measure}\"", labels(one));
                out.sample("function_promised", &labels, rate.per_s as f64);
            }
        }
    }
}

/// All counters of all processes; of a server, if it is asked, and if it answers.
pub(crate) fn text(seen: &Seen, server: Option<Option<&Stat>>, format: Format) -> String {
    let mut out = Text { text: String::new(), format };
    let mut operations: Vec<(String, &Words)> = Vec::new();
    for process in &seen.processes {
        for op in &process.operations {
            let (device, name) = (escaped(&op.device), escaped(&op.op));
            let labels = format!("{},device=\"{device}\",op=\"{name}\"", process_labels(process));
            operations.push((labels, &op.words));
        }
    }
    for (name, unit, help, word, scale) in COUNTERS {
        out.family(name, "counter", unit, help);
        for (labels, words) in &operations {
            out.sample(&format!("{name}_total"), labels, words[word] as f64 / scale);
        }
    }
    for (name, unit, help, first, sum, scale, bounds) in HISTOGRAMS {
        out.family(name, "histogram", unit, help);
        for (labels, words) in &operations {
            let buckets = &words[first..first + BUCKETS];
            let below = |n: usize| buckets[..=n].iter().fold(0_u64, |a, b| a.saturating_add(*b));
            for &n in bounds {
                let bound = ((1_u64 << n) - 1) as f64 / scale;
                let labels = format!("{labels},le=\"{bound:?}\"");
                out.sample(&format!("{name}_bucket"), &labels, below(n) as f64);
            }
            let all = below(BUCKETS - 1) as f64;
            out.sample(&format!("{name}_bucket"), &format!("{labels},le=\"+Inf\""), all);
            out.sample(&format!("{name}_sum"), labels, words[sum] as f64 / scale);
            out.sample(&format!("{name}_count"), labels, all);
        }
    }
    for (name, unit, help, columns) in CALLS {
        out.family(name, "counter", unit, help);
        for process in &seen.processes {
            for call in &process.calls {
                let Some(n) = call.columns.iter().position(|one| columns.contains(&&**one)) else {
                    continue;
                };
                let (library, what) = (escaped(&call.library), escaped(&call.name));
                let process = process_labels(process);
                let labels = format!("{process},library=\"{library}\",call=\"{what}\"");
                out.sample(&format!("{name}_total"), &labels, call.counts[n] as f64);
            }
        }
    }
    for (name, help) in [
        ("not_run", "Requests that reached no device."),
        ("resets", "Channels of devices that were reset."),
        ("no_room", "Engines whose counters found no room."),
    ] {
        out.family(name, "counter", "", help);
        for process in &seen.processes {
            let value = match name {
                "not_run" => process.not_run,
                "resets" => process.resets,
                _ => process.no_room,
            };
            out.sample(&format!("{name}_total"), &process_labels(process), value as f64);
        }
    }
    out.family("page_created_seconds", "gauge", "seconds", "When the page was made, since 1970.");
    for process in &seen.processes {
        out.sample("page_created_seconds", &process_labels(process), process.created as f64);
    }
    out.family("pages_unread", "gauge", "", "Pages and folders that could not be read.");
    let _ = writeln!(out.text, "lookaside_pages_unread {}", seen.notes.len());
    if let Some(server) = server {
        functions(&mut out, server);
    }
    if format == Format::Open {
        out.text += "# EOF\n";
    }
    out.text
}

#[cfg(test)]
mod tests {
    use lookaside_page::{
        Identity,
        read::{Call, Operation},
    };

    use super::*;

    fn seen() -> Seen {
        let mut words = [0; operation::WORDS];
        (words[operation::REQUESTS], words[operation::BATCHES]) = (6, 2);
        (words[operation::LANES + 1], words[operation::LANES + 3]) = (1, 1);
        (words[operation::QUEUE_NS + 9], words[operation::QUEUE_NS + 39]) = (5, 1);
        words[operation::QUEUE_TOTAL_NS] = 1_500_000_000;
        let content = Content {
            process: Identity { pid: 7, start: 1, namespace: 1 },
            program: "a \"b\\".into(),
            created: 1_700_000_000,
            no_room: 0,
            operations: vec![Operation { device: "cpu".into(), op: "dc.compress".into(), words }],
            calls: vec![Call {
                library: "hyperscan".into(),
                columns: ["count", "bytes", "matches"].map(String::from),
                name: "scan, block".into(),
                counts: [3, 77, 5],
            }],
            not_run: 0,
            resets: 2,
            unknown: 0,
            fault: None,
        };
        Seen { processes: vec![content], notes: vec!["x".into()], removed: 0 }
    }

    #[test]
    fn both_formats() {
        let open = text(&seen(), None, Format::Open);
        let has = |line: &str| assert!(open.lines().any(|one| one == line), "{line}:\n{open}");
        has("# TYPE lookaside_requests counter");
        has("# UNIT lookaside_src_bytes bytes");
        let labels = "pid=\"7\",program=\"a \\\"b\\\\\"";
        let op = format!("{labels},device=\"cpu\",op=\"dc.compress\"");
        has(&format!("lookaside_requests_total{{{op}}} 6"));
        has(&format!("lookaside_lanes_bucket{{{op},le=\"1.0\"}} 1"));
        has(&format!("lookaside_lanes_bucket{{{op},le=\"7.0\"}} 2"));
        has(&format!("lookaside_queue_seconds_bucket{{{op},le=\"2.55e-7\"}} 0"));
        has(&format!("lookaside_queue_seconds_bucket{{{op},le=\"1.023e-6\"}} 5"));
        has(&format!("lookaside_queue_seconds_bucket{{{op},le=\"+Inf\"}} 6"));
        has(&format!("lookaside_queue_seconds_sum{{{op}}} 1.5"));
        has(&format!("lookaside_queue_seconds_count{{{op}}} 6"));
        let call = format!("{labels},library=\"hyperscan\",call=\"scan, block\"");
        has(&format!("lookaside_calls_total{{{call}}} 3"));
        has(&format!("lookaside_call_src_bytes_total{{{call}}} 77"));
        has(&format!("lookaside_call_matches_total{{{call}}} 5"));
        assert!(!open.contains("lookaside_call_dst_bytes_total"));
        has(&format!("lookaside_resets_total{{{labels}}} 2"));
        has("lookaside_pages_unread 1");
        assert!(open.ends_with("# EOF\n"));

        let old = text(&seen(), None, Format::Text);
        assert!(old.contains("# TYPE lookaside_requests_total counter\n"));
        assert!(!old.contains("# UNIT") && !old.contains("# EOF"));
        let samples = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
        };
        assert_eq!(samples(&old), samples(&open));
    }
}
