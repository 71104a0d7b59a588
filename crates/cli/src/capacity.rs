//! `lookaside capacity`: how much of the device there is, in the units that orchestrators account
//! with (paper 4 section 4.1.2).

use std::{error::Error, fmt::Write, path::Path, time::Duration};

use lookaside::{CompressSession, Compression, Op, Runtime};
use lookaside_simd::Cpu;
use serde_json::{Value, json};

use crate::{
    data::{Data, PACKET},
    load::{Failure, Load, Measured},
    machine::{Machine, Usage},
    progress::Progress,
    rounds::{ROUNDS, Rounds, enough},
    rsa::{Known, Rate},
    sym::{self, Unit},
    table::{columns, paragraph},
};

const UNITS: &str = "Gbit/s of uncompressed data: DEFLATE level 1, stateless, dynamic Huffman, \
                     64 KB packets";

/// Something measured with all engines and with one, a rate for each round.
struct Row<K, M> {
    kind: K,
    all: Vec<M>,
    one: Vec<M>,
}

impl<K, M> Row<K, M> {
    fn new(kind: K) -> Row<K, M> {
        Row { kind, all: Vec::new(), one: Vec::new() }
    }

    /// The rates with all engines, and with one.
    fn rates(&self, rate: impl Fn(&M) -> f64) -> [Rounds; 2] {
        [&self.all, &self.one].map(|rounds| Rounds::of(rounds.iter().map(&rate)))
    }

    /// What was counted in all rounds with all engines.
    fn sum(&self, counted: impl Fn(&M) -> u64) -> u64 {
        self.all.iter().map(counted).sum()
    }
}

const RSA_UNITS: &str = "operations per second: RSA private operation with the Chinese remainder \
                         theorem, 2048 bits";

const SYM_UNITS: &str = "Gbit/s of encrypted and authenticated data, packets in bursts of 32";

struct Report {
    engines: usize,
    sym: Vec<Row<Unit, sym::Rate>>,
    rsa: Row<Op, Rate>,
    data: Data,
    /// Compressed by uncompressed size.
    ratio: f64,
    rows: Vec<Row<Op, Measured>>,
    /// How many rounds there were.
    rounds: u32,
    /// What else was at work on the machine, if that was much.
    busy: Option<String>,
}

/// Measures and reports.
pub fn run(json: bool, time: Duration, corpus: Option<&Path>) -> Result<String, Box<dyn Error>> {
    let data = match corpus {
        Some(dir) => Data::corpus(dir)?,
        None => Data::generated(),
    };
    let report = measure(data, time)?;
    let machine = Machine::here();
    if json {
        return Ok(serde_json::to_string_pretty(&describe(&report, &machine, time))? + "\n");
    }
    Ok(text(&report, &machine)?)
}

fn session(runtime: &Runtime) -> Result<CompressSession, Failure> {
    // The default is exactly the units': raw DEFLATE, level 1, dynamic codes.
    runtime.compression(Compression::default()).map_err(Failure::Setup)
}

fn measure(data: Data, time: Duration) -> Result<Report, Box<dyn Error>> {
    let all = Runtime::builder().device(lookaside_cpu::cpu()).start()?;
    let one = Runtime::builder().device(lookaside_cpu::cpu()).engines(1).start()?;
    let (all_session, one_session) = (session(&all)?, session(&one)?);

    // Before anything is measured; this also warms everything up.
    let packed = verified(&all, &all_session, &data)?;
    let ratio = packed.iter().map(Vec::len).sum::<usize>() as f64 / data.bytes.len() as f64;

    let known = Known::new(&all)?;
    let time = time / ROUNDS;
    let (usage, mut progress) = (Usage::now(), Progress::new("capacity"));
    let mut report = Report {
        engines: all.engines(),
        sym: [Unit::Chain, Unit::Gcm].map(Row::new).into(),
        rsa: Row::new(Op::RsaPrivate),
        data,
        ratio,
        rows: [Op::Compress, Op::Decompress].map(Row::new).into(),
        rounds: 0,
        busy: None,
    };
    while !enough(report.rounds, report.rates().into_iter().flat_map(|(_, rates)| rates)) {
        report.rounds += 1;
        let round = report.rounds;
        let mut now =
            |what: &dyn std::fmt::Display| progress.show(&format!("round {round}, {what}"));
        for row in &mut report.rows {
            now(&row.kind);
            let load = |session| match row.kind {
                Op::Decompress => Load::decompress(session, &packed),
                _ => Load::compress(session, &report.data),
            };
            row.all.push(load(&all_session).measure(&all, time)?);
            row.one.push(load(&one_session).measure(&one, time)?);
        }
        now(&report.rsa.kind);
        report.rsa.all.push(known.measure(&all, time)?);
        report.rsa.one.push(known.measure(&one, time)?);
        for row in &mut report.sym {
            now(&row.kind.describe());
            row.all.push(sym::measure(&all, row.kind, time)?);
            row.one.push(sym::measure(&one, row.kind, time)?);
        }
    }
    report.busy = usage.and_then(Usage::busy);
    Ok(report)
}

/// Every packet there and back. Returns the compressed ones.
fn verified(
    runtime: &Runtime,
    session: &CompressSession,
    data: &Data,
) -> Result<Vec<Vec<u8>>, Failure> {
    let packed = Load::compress(session, data).once(runtime)?;
    let back = Load::decompress(session, &packed).once(runtime)?;
    match (0..data.packets()).find(|&i| back[i] != data.packet(i)) {
        Some(i) => Err(Failure::Wrong(Op::Decompress, i)),
        None => Ok(packed),
    }
}

fn gbit(bytes_per_s: f64) -> f64 {
    bytes_per_s * 8.0 / 1e9
}

impl Report {
    /// What was measured, its name, and its rates with all engines and with one.
    fn rates(&self) -> Vec<(String, [Rounds; 2])> {
        let data =
            self.rows.iter().map(|row| (row.kind.to_string(), row.rates(|m| gbit(m.bytes_per_s))));
        let sym = self
            .sym
            .iter()
            .map(|row| (row.kind.describe().to_owned(), row.rates(|m| gbit(m.bytes_per_s))));
        let rsa = (self.rsa.kind.to_string(), self.rsa.rates(|m| m.per_s));
        data.chain(sym).chain([rsa]).collect()
    }

    /// What to say of rates that differ too much from round to round.
    fn doubts(&self) -> Option<String> {
        let wide: Vec<String> = self
            .rates()
            .into_iter()
            .filter(|(_, rates)| rates.iter().any(Rounds::is_wide))
            .map(|(name, [all, one])| {
                format!("{name} by {:.0} %", 100.0 * all.spread.max(one.spread))
            })
            .collect();
        let differ = (!wide.is_empty()).then(|| {
            format!(
                "the {ROUNDS} closest of {} rounds differ: {}. Something else ran on this machine, or its \
                 CPUs are shared: the figures are no capacity",
                self.rounds,
                wide.join("; ")
            )
        });
        let said: Vec<String> = differ.into_iter().chain(self.busy.clone()).collect();
        (!said.is_empty()).then(|| said.join(". "))
    }
}

fn describe(report: &Report, machine: &Machine, time: Duration) -> Value {
    // Four digits are more than a measurement has.
    let short = |x: f64| (x * 1e4).round() / 1e4;
    let operation = |row: &Row<Op, Measured>| {
        let [all, one] = row.rates(|m| gbit(m.bytes_per_s));
        let total = all.median;
        let requests = row.sum(|m| m.counted.requests);
        json!({
            "op": row.kind.to_string(),
            "total_gbit_s": short(total),
            // Nothing is reserved by anybody.
            "available_gbit_s": short(total),
            "per_engine_gbit_s": short(total / report.engines as f64),
            "one_engine_gbit_s": short(one.median),
            "spread": short(all.spread),
            "one_engine_spread": short(one.spread),
            "ratio": short(report.ratio),
            "requests": requests,
            "batches": row.sum(|m| m.counted.batches),
            "bytes": requests * PACKET as u64,
            "busy_fraction": short(busy(row)),
            "verified_packets": report.data.packets(),
        })
    };
    let symmetric = |row: &Row<Unit, sym::Rate>| {
        let [all, one] = row.rates(|m| gbit(m.bytes_per_s));
        let total = all.median;
        json!({
            "op": Op::Seal.to_string(),
            "algorithm": row.kind.describe(),
            "total_gbit_s": short(total),
            "available_gbit_s": short(total),
            "per_engine_gbit_s": short(total / report.engines as f64),
            "one_engine_gbit_s": short(one.median),
            "spread": short(all.spread),
            "one_engine_spread": short(one.spread),
            "packets": row.sum(|m| m.packets),
            "requests": row.sum(|m| m.requests),
        })
    };
    let [rsa, rsa_one] = report.rsa.rates(|m| m.per_s);
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "machine": machine.json(),
        "tier": Cpu::host().tier().name(),
        "device": "cpu",
        "engines": report.engines,
        "seconds": time.as_secs_f64(),
        "rounds": report.rounds,
        "warning": report.doubts(),
        "slas_available": null,
        "data": {
            "name": report.data.name,
            "source_bytes": report.data.source_bytes,
            "packets": report.data.packets(),
            "packet_bytes": PACKET,
        },
        "services": [{
            "service": "dc",
            "units": UNITS,
            "operations": report.rows.iter().map(operation).collect::<Vec<_>>(),
        }, {
            "service": "sym",
            "units": SYM_UNITS,
            "operations": report.sym.iter().map(symmetric).collect::<Vec<_>>(),
        }, {
            "service": "pke",
            "units": RSA_UNITS,
            "operations": [{
                "op": Op::RsaPrivate.to_string(),
                "total_per_s": rsa.median.round(),
                "available_per_s": rsa.median.round(),
                "per_engine_per_s": (rsa.median / report.engines as f64).round(),
                "one_engine_per_s": rsa_one.median.round(),
                "spread": short(rsa.spread),
                "one_engine_spread": short(rsa_one.spread),
                "requests": report.rsa.sum(|m| m.requests),
                "batches": report.rsa.sum(|m| m.batches),
            }],
        }],
    })
}

/// The part of the time that the engines were busy.
fn busy(row: &Row<Op, Measured>) -> f64 {
    row.all.iter().map(|m| m.busy).sum::<f64>() / row.all.len().max(1) as f64
}

/// The cells of a row: what it is, and its rates.
fn cells(name: String, [all, one]: [Rounds; 2], engines: usize, digits: usize) -> Vec<String> {
    let rates = [all.median, all.median, all.median / engines as f64, one.median];
    let mut cells = vec![name];
    cells.extend(rates.iter().map(|rate| format!("{rate:.digits$}")));
    cells.push(format!("{:.0} %", 100.0 * all.spread.max(one.spread)));
    cells
}

const HEADER: [&str; 6] = ["", "total", "available", "per engine", "1 engine", "spread"];

fn text(report: &Report, machine: &Machine) -> Result<String, std::fmt::Error> {
    const INDENT: usize = 10;
    let mut out = paragraph("machine", INDENT, &machine.to_string());
    let device = format!("cpu, {} engines, kernels {}", report.engines, Cpu::host().tier());
    out += &paragraph("device", INDENT, &device);
    let (packets, name) = (report.data.packets(), &report.data.name);
    let s = if packets == 1 { "" } else { "s" };
    out += &paragraph("data", INDENT, &format!("{packets} packet{s} of 64 KB, {name}"));
    out += &paragraph(
        "checked",
        INDENT,
        &format!("{packets} packet{s} compressed, decompressed, equal"),
    );
    out += &paragraph("units", INDENT, UNITS);

    let engines = report.engines;
    let mut rows = vec![HEADER.map(str::to_owned).to_vec()];
    rows[0].push("ratio".to_owned());
    for row in &report.rows {
        let rates = row.rates(|m| gbit(m.bytes_per_s));
        let mut cells = cells(row.kind.to_string(), rates, engines, 2);
        cells.push(format!("{:.3}", report.ratio));
        rows.push(cells);
    }
    write!(out, "\n{}\n", columns(&rows))?;

    for row in &report.rows {
        let counted = format!(
            "{} requests in {} batches, the engines busy {:.0} % of the time",
            row.sum(|m| m.counted.requests),
            row.sum(|m| m.counted.batches),
            busy(row) * 100.0
        );
        out += &paragraph(&row.kind.to_string(), 15, &counted);
    }
    let mut rows = vec![HEADER.map(str::to_owned).to_vec()];
    for row in &report.sym {
        let rates = row.rates(|m| gbit(m.bytes_per_s));
        rows.push(cells(row.kind.describe().to_owned(), rates, engines, 2));
    }
    out += &paragraph("units", INDENT, SYM_UNITS);
    write!(out, "\n{}\n", columns(&rows))?;
    let packets: u64 = report.sym.iter().map(|row| row.sum(|m| m.packets)).sum();
    let requests: u64 = report.sym.iter().map(|row| row.sum(|m| m.requests)).sum();
    let counted = format!("{packets} packets in {requests} requests, each result checked");
    out += &paragraph(&Op::Seal.to_string(), 17, &counted);

    let rsa = &report.rsa;
    let cells = cells(rsa.kind.to_string(), rsa.rates(|m| m.per_s), engines, 0);
    let rows = [HEADER.map(str::to_owned).to_vec(), cells];
    out += &paragraph("units", INDENT, RSA_UNITS);
    write!(out, "\n{}\n", columns(&rows))?;
    let counted = format!(
        "{} requests in {} batches, every answer checked",
        rsa.sum(|m| m.requests),
        rsa.sum(|m| m.batches)
    );
    out += &paragraph(&Op::RsaPrivate.to_string(), 17, &counted);
    let rounds = format!(
        "medians of the {ROUNDS} closest of {}; spread: highest less lowest of these, relative to that",
        report.rounds
    );
    out += &paragraph("rounds", 17, &rounds);
    if let Some(doubts) = report.doubts() {
        out += &paragraph("WARNING", 17, &doubts);
    }
    out += &paragraph("SLAs", 17, "no limit to their number: software keeps them");
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lookaside::{
        Batch, Capability, Channel, Completed, Device, Done, EngineId, Lost, OpError, Prepared,
        SessionSpec, SetupError, Status, Work,
    };

    /// Answers at once, with what it was told to do wrong.
    #[derive(Clone, Copy)]
    enum Liar {
        Content,
        Length,
        Error,
    }

    struct Mouth(Liar, Vec<Work>);

    impl Device for Liar {
        fn name(&self) -> &str {
            "liar"
        }
        fn capabilities(&self) -> &[Capability] {
            static BOTH: std::sync::OnceLock<Vec<Capability>> = std::sync::OnceLock::new();
            BOTH.get_or_init(|| {
                let row = |op| Capability {
                    op,
                    algorithm: String::new(),
                    served_by: String::new(),
                    best_batch: 1,
                    max_src: usize::MAX,
                };
                vec![row(Op::Compress), row(Op::Decompress)]
            })
        }
        fn prepare(&self, _: &SessionSpec) -> Result<Prepared, SetupError> {
            Ok(Prepared::new(()))
        }
        fn open_channel(&self, _: EngineId) -> Result<Box<dyn Channel>, SetupError> {
            Ok(Box::new(Mouth(*self, Vec::new())))
        }
    }

    impl Channel for Mouth {
        fn submit(&mut self, _: u64, batch: &mut Batch<'_>) -> usize {
            let before = self.1.len();
            self.1.extend(std::iter::from_fn(|| batch.take()));
            self.1.len() - before
        }
        fn poll(&mut self, _: u64, done: &mut Completed) -> usize {
            let n = self.1.len();
            for work in self.1.drain(..) {
                let produced = match (self.0, work.request().op) {
                    (Liar::Length, Op::Decompress) => PACKET - 1,
                    (_, Op::Decompress) => PACKET,
                    _ => 1,
                };
                let consumed = work.request().src.len();
                let answer = Done { consumed, produced, checksum: 0, status: Status::End };
                let lost = matches!(self.0, Liar::Error);
                done.push(
                    work,
                    if lost { Err(OpError::DeviceLost(Lost::Touched)) } else { Ok(answer) },
                );
            }
            n
        }
        fn in_flight(&self) -> usize {
            self.1.len()
        }
        fn reset(&mut self, done: &mut Completed) {
            self.poll(0, done);
        }
    }

    #[test]
    fn rounds_that_differ_are_warned_of() {
        let report = |slow: f64| {
            let measured = |bytes_per_s| Measured {
                bytes_per_s,
                counted: lookaside::OpCounters::default(),
                busy: 1.0,
            };
            let mut row = Row::new(Op::Compress);
            row.all = [1e9, 1e9, slow, 1e9, 1e9].map(measured).into();
            row.one = row.all.clone();
            let rates = vec![Rate { per_s: 1e4, requests: 1, batches: 1 }; 5];
            let rsa = Row { kind: Op::RsaPrivate, all: rates.clone(), one: rates };
            let data = Data::generated();
            let (rows, sym) = (vec![row], Vec::new());
            Report { engines: 1, sym, rsa, data, ratio: 0.5, rows, rounds: 5, busy: None }
        };
        let said = |slow| text(&report(slow), &Machine::here()).unwrap();
        assert!(!said(0.98e9).contains("WARNING"));
        let doubtful = said(0.4e9);
        assert!(doubtful.contains("WARNING") && doubtful.contains("dc.compress by 60 %"));
        assert!(doubtful.contains("8.00"), "the median: {doubtful}");
    }

    #[test]
    fn a_device_that_answers_wrong_is_found_out() {
        let data = Data::generated();
        for (liar, expected) in [
            (Liar::Content, "dc.decompress of packet 0: a wrong answer"),
            (Liar::Length, "a wrong answer"),
            (Liar::Error, "the device failed"),
        ] {
            let runtime = Runtime::builder().device(liar).engines(1).start().unwrap();
            let session = session(&runtime).unwrap();
            let failure = verified(&runtime, &session, &data).unwrap_err().to_string();
            assert!(failure.ends_with(expected), "{failure}");
        }
    }
}
