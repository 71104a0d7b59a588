//! What was measured (paper 1 section 8.5): ratio, elapsed time, throughput, CPU time.

use std::{
    fmt::Write,
    time::{Duration, Instant},
};

use lookaside::Op;
use parcomp::{Params, Provider, Summary};

/// The times of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    pub(crate) elapsed: Duration,
    pub(crate) user: Duration,
    pub(crate) system: Duration,
}

impl Times {
    /// CPU time.
    pub(crate) fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// A running stop watch.
pub(crate) struct Watch(Instant, (Duration, Duration));

impl Watch {
    pub(crate) fn start() -> Watch {
        let cpu = parcomp::cpu_times();
        Watch(Instant::now(), cpu)
    }

    pub(crate) fn stop(&self) -> Times {
        let (elapsed, (user, system)) = (self.0.elapsed(), parcomp::cpu_times());
        Times {
            elapsed,
            user: user.saturating_sub(self.1.0),
            system: system.saturating_sub(self.1.1),
        }
    }
}

/// Everything that a report says.
pub(crate) struct Report<'a> {
    pub(crate) provider: &'a dyn Provider,
    pub(crate) params: &'a Params,
    pub(crate) decompress: bool,
    pub(crate) summary: Summary,
    /// The mean of all iterations.
    pub(crate) times: Times,
    pub(crate) iterations: u64,
    pub(crate) mhz: Option<f64>,
}

impl Report<'_> {
    /// The uncompressed and the compressed size.
    fn sizes(&self) -> (u64, u64) {
        let s = &self.summary;
        match self.decompress {
            true => (s.bytes_out, s.bytes_in),
            false => (s.bytes_in, s.bytes_out),
        }
    }

    /// Compressed size in percent of the uncompressed (section 8.5.1).
    fn ratio(&self) -> f64 {
        let (plain, packed) = self.sizes();
        if plain == 0 { 100.0 } else { packed as f64 * 100.0 / plain as f64 }
    }

    /// Uncompressed bytes per second (section 8.5.3).
    fn rate(&self) -> f64 {
        self.sizes().0 as f64 / self.times.elapsed.as_secs_f64().max(1e-9)
    }

    fn cycles_per_byte(&self) -> Option<f64> {
        let plain = self.sizes().0.max(1) as f64;
        self.mhz.map(|mhz| self.times.cpu().as_secs_f64() * mhz * 1e6 / plain)
    }

    fn device(&self) -> bool {
        self.provider.has_device()
    }

    /// Which model served, and the time that it takes at least.
    fn model(&self) -> Option<String> {
        let spec = self.provider.model()?;
        let op = if self.decompress { Op::Decompress } else { Op::Compress };
        let section = spec.section(op)?;
        let requests = self.summary.chunks.max(1);
        let least = Duration::from_nanos(section.least_ns(requests, self.sizes().0));
        let rate = |rate: Option<f64>, unit| rate.map(|rate| format!(", {rate} {unit}"));
        Some(format!(
            "device {}, a timed model executed by the device cpu: {} engines{}{}, {:.3} s at least\n",
            spec.name,
            section.engines,
            rate(section.gbit_per_s, "Gbit/s").unwrap_or_default(),
            rate(section.ops_per_s, "requests/s").unwrap_or_default(),
            least.as_secs_f64()
        ))
    }

    /// For people.
    pub(crate) fn text(&self, verbose: bool) -> String {
        let (plain, packed) = self.sizes();
        let (t, p) = (&self.times, self.params);
        let mut s = String::new();
        let done = if self.decompress { "decompressed" } else { "compressed" };
        let (from, to) = if self.decompress { (packed, plain) } else { (plain, packed) };
        let name = self.provider.name();
        _ = writeln!(s, "{done} with {name}: {from} to {to} bytes ({:.2} %)", self.ratio());
        s += &self.model().unwrap_or_default();
        let (elapsed, rate) = (t.elapsed.as_secs_f64(), self.rate());
        let (mb, gbps) = (rate / 1e6, rate * 8.0 / 1e9);
        _ = writeln!(s, "elapsed {elapsed:.3} s, {mb:.1} MB/s ({gbps:.2} Gbit/s)");
        let (cpu, user, system) = (t.cpu(), t.user.as_secs_f64(), t.system.as_secs_f64());
        let cpu = cpu.as_secs_f64();
        _ = write!(s, "CPU time {cpu:.3} s (user {user:.3} + system {system:.3})");
        if let Some(c) = self.cycles_per_byte() {
            _ = write!(s, ", {c:.2} cycles/byte");
        }
        s.push('\n');
        if verbose {
            let (chunk, chunks) = (p.chunk_size, self.summary.chunks);
            _ = writeln!(
                s,
                "format {}, level {}, window 2^{}, {} codes, chunks of {chunk} bytes ({chunks} done)",
                p.format,
                p.level,
                p.window_bits,
                if p.static_huffman { "static" } else { "dynamic" },
            );
            _ = write!(s, "{} threads", p.num_threads);
            if self.device() {
                _ = write!(s, ", {} jobs outstanding, {} engines", p.jobs(), p.engines());
                _ = write!(s, ", wait {:?}, doorbell per {:?}", p.wait, p.doorbell);
            }
            _ = writeln!(s, ", {} iterations", self.iterations);
        }
        s
    }

    /// What served the requests.
    pub(crate) fn counters_text(&self) -> String {
        let mut s = String::new();
        let Some(counters) = self.provider.counters() else {
            _ = writeln!(s, "provider {} has no device", self.provider.name());
            return s;
        };
        _ = writeln!(
            s,
            "device       operation      requests   batches     errors      bytes in     bytes out"
        );
        for row in &counters.ops {
            _ = writeln!(
                s,
                "{:<12} {:<13} {:>9} {:>9} {:>10} {:>13} {:>13}",
                row.device,
                row.op,
                row.requests,
                row.batches,
                row.errors,
                row.src_bytes,
                row.dst_bytes
            );
        }
        s
    }

    /// For spreadsheets: one line, or two with the header.
    pub(crate) fn csv(&self, lines: u64) -> String {
        let mut names = Vec::new();
        let mut values = Vec::new();
        for (name, value) in self.fields() {
            names.push(name);
            values.push(match value {
                // No name of ours has a comma or quote in it; a registered provider's may.
                Value::Text(t) if t.contains([',', '"', '\n']) => {
                    format!("\"{}\"", t.replace('"', "\"\""))
                }
                Value::Text(t) => t,
                Value::Number(n) => n,
                Value::Nothing => String::new(),
            });
        }
        let header = if lines == 2 { names.join(",") + "\n" } else { String::new() };
        header + &values.join(",") + "\n"
    }

    /// For programs: one object.
    pub(crate) fn json(&self) -> String {
        let mut s = String::from("{");
        for (name, value) in self.fields() {
            let value = match value {
                Value::Text(t) => quoted(&t),
                Value::Number(n) => n,
                Value::Nothing => "null".into(),
            };
            _ = write!(s, "\"{name}\": {value}, ");
        }
        s.push_str("\"served_by\": [");
        let rows = self.provider.counters().map(|c| c.ops).unwrap_or_default();
        for (i, row) in rows.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            let (device, op) = (quoted(&row.device), quoted(&row.op));
            _ = write!(
                s,
                "{comma}{{\"device\": {device}, \"operation\": {op}, \"requests\": {}, \
                 \"batches\": {}, \"errors\": {}, \"bytes_in\": {}, \"bytes_out\": {}, \
                 \"busy_s\": {:.6}}}",
                row.requests,
                row.batches,
                row.errors,
                row.src_bytes,
                row.dst_bytes,
                row.busy_ns as f64 / 1e9
            );
        }
        s.push_str("]}\n");
        s
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        let (p, t) = (self.params, &self.times);
        let (plain, packed) = self.sizes();
        let number = |n: u64| Value::Number(n.to_string());
        let count = |n: usize| Value::Number(n.to_string());
        let seconds = |d: Duration| Value::Number(format!("{:.6}", d.as_secs_f64()));
        let only_device = |n: usize| if self.device() { count(n) } else { Value::Nothing };
        let direction = if self.decompress { "decompress" } else { "compress" };
        vec![
            ("provider", Value::Text(self.provider.name().into())),
            ("direction", Value::Text(direction.into())),
            ("format", Value::Text(p.format.to_string())),
            ("level", number(p.level.into())),
            ("window_bits", number(p.window_bits.into())),
            ("static", number(p.static_huffman.into())),
            ("chunk_kb", Value::Number((p.chunk_size as f64 / 1024.0).to_string())),
            ("threads", count(p.num_threads)),
            ("jobs", only_device(p.jobs())),
            ("engines", only_device(p.engines())),
            ("affinity", p.core_affinity.map_or(Value::Nothing, number)),
            ("iterations", number(self.iterations)),
            ("uncompressed_bytes", number(plain)),
            ("compressed_bytes", number(packed)),
            ("ratio_percent", Value::Number(format!("{:.4}", self.ratio()))),
            ("elapsed_s", seconds(t.elapsed)),
            ("throughput_mbps", Value::Number(format!("{:.3}", self.rate() * 8.0 / 1e6))),
            ("cpu_s", seconds(t.cpu())),
            ("user_s", seconds(t.user)),
            ("system_s", seconds(t.system)),
            (
                "cycles_per_byte",
                self.cycles_per_byte().map_or(Value::Nothing, |c| Value::Number(format!("{c:.4}"))),
            ),
            (
                "model",
                self.provider.model().map_or(Value::Nothing, |m| Value::Text(m.name.clone())),
            ),
        ]
    }
}

enum Value {
    Text(String),
    Number(String),
    Nothing,
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut s = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => s.extend(['\\', c]),
            c if c < ' ' => _ = write!(s, "\\u{:04x}", u32::from(c)),
            c => s.push(c),
        }
    }
    s + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_and_json_have_the_same_fields() {
        let provider = parcomp::Zlib;
        let summary = Summary { bytes_in: 1000, bytes_out: 385, ..Summary::default() };
        let times = Times { elapsed: Duration::from_millis(2), ..Times::default() };
        let report = Report {
            provider: &provider,
            params: &Params::default(),
            decompress: false,
            summary,
            times,
            iterations: 1,
            mhz: Some(2000.0),
        };
        let csv = report.csv(2);
        let lines: Vec<_> = csv.lines().collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
        assert!(lines[1].contains(",38.5000,0.002000,4.000,"), "{csv}");
        let json = report.json();
        for name in lines[0].split(',') {
            assert!(json.contains(&format!("\"{name}\": ")), "{name}");
        }
        assert_eq!(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
    }
}
