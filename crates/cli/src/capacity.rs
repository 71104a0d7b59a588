//! `lookaside capacity`: how much of the device there is, in the units that orchestrators account
//! with (paper 4 section 4.1.2).

use std::{error::Error, fmt::Write, path::Path, time::Duration};

use lookaside::{CompressSession, Compression, Op, Runtime};
use lookaside_simd::Cpu;
use serde_json::{Value, json};

use crate::{
    data::{Data, PACKET},
    load::{Failure, Load, Measured},
    machine::Machine,
    rsa::{Known, Rate},
    sym::{self, Unit},
    table::{columns, paragraph},
};

const UNITS: &str = "Gbit/s of uncompressed data: DEFLATE level 1, stateless, dynamic Huffman, \
                     64 KB packets";

/// One operation, measured with all engines and with one.
struct Row {
    op: Op,
    all: Measured,
    one: Measured,
}

const RSA_UNITS: &str = "operations per second: RSA private operation with the Chinese remainder \
                         theorem, 2048 bits";

/// RSA, measured with all engines and with one.
struct RsaRow {
    all: Rate,
    one: Rate,
}

const SYM_UNITS: &str = "Gbit/s of encrypted and authenticated data, packets in bursts of 32";

/// A symmetric unit, measured with all engines and with one.
struct SymRow {
    unit: Unit,
    all: sym::Rate,
    one: sym::Rate,
}

struct Report {
    engines: usize,
    sym: Vec<SymRow>,
    rsa: RsaRow,
    data: Data,
    /// Compressed by uncompressed size.
    ratio: f64,
    rows: Vec<Row>,
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

    let mut rows = Vec::new();
    for op in [Op::Compress, Op::Decompress] {
        let load = |session| match op {
            Op::Decompress => Load::decompress(session, &packed),
            _ => Load::compress(session, &data),
        };
        let all = load(&all_session).measure(&all, time)?;
        let one = load(&one_session).measure(&one, time)?;
        rows.push(Row { op, all, one });
    }
    let known = Known::new(&all)?;
    let rsa = RsaRow { all: known.measure(&all, time)?, one: known.measure(&one, time)? };
    let mut symmetric = Vec::new();
    for unit in [Unit::Chain, Unit::Gcm] {
        let (all, one) = (sym::measure(&all, unit, time)?, sym::measure(&one, unit, time)?);
        symmetric.push(SymRow { unit, all, one });
    }
    Ok(Report { engines: all.engines(), sym: symmetric, rsa, data, ratio, rows })
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

fn gbit(m: &Measured) -> f64 {
    m.bytes_per_s * 8.0 / 1e9
}

fn describe(report: &Report, machine: &Machine, time: Duration) -> Value {
    // Four digits are more than a measurement has.
    let short = |x: f64| (x * 1e4).round() / 1e4;
    let operation = |row: &Row| {
        let total = gbit(&row.all);
        json!({
            "op": row.op.to_string(),
            "total_gbit_s": short(total),
            // Nothing is reserved by anybody.
            "available_gbit_s": short(total),
            "per_engine_gbit_s": short(total / report.engines as f64),
            "one_engine_gbit_s": short(gbit(&row.one)),
            "ratio": short(report.ratio),
            "requests": row.all.counted.requests,
            "batches": row.all.counted.batches,
            "bytes": row.all.counted.requests * PACKET as u64,
            "busy_fraction": short(row.all.busy),
            "verified_packets": report.data.packets(),
        })
    };
    let symmetric = |row: &SymRow| {
        let total = row.all.bytes_per_s * 8.0 / 1e9;
        json!({
            "op": Op::Seal.to_string(),
            "algorithm": row.unit.describe(),
            "total_gbit_s": short(total),
            "available_gbit_s": short(total),
            "per_engine_gbit_s": short(total / report.engines as f64),
            "one_engine_gbit_s": short(row.one.bytes_per_s * 8.0 / 1e9),
            "packets": row.all.packets,
            "requests": row.all.requests,
        })
    };
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "machine": machine.json(),
        "tier": Cpu::host().tier().name(),
        "device": "cpu",
        "engines": report.engines,
        "seconds": time.as_secs_f64(),
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
                "total_per_s": report.rsa.all.per_s.round(),
                "available_per_s": report.rsa.all.per_s.round(),
                "per_engine_per_s": (report.rsa.all.per_s / report.engines as f64).round(),
                "one_engine_per_s": report.rsa.one.per_s.round(),
                "requests": report.rsa.all.requests,
                "batches": report.rsa.all.batches,
            }],
        }],
    })
}

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

    let header = ["", "total", "available", "per engine", "1 engine alone", "ratio"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for row in &report.rows {
        let total = gbit(&row.all);
        let numbers = [total, total, total / report.engines as f64, gbit(&row.one)];
        let mut cells = vec![row.op.to_string()];
        cells.extend(numbers.iter().map(|n| format!("{n:.2}")));
        cells.push(format!("{:.3}", report.ratio));
        rows.push(cells);
    }
    write!(out, "\n{}\n", columns(&rows))?;

    for row in &report.rows {
        let (c, busy) = (&row.all.counted, row.all.busy * 100.0);
        let counted = format!(
            "{} requests in {} batches, the engines busy {busy:.0} % of the time",
            c.requests, c.batches
        );
        out += &paragraph(&row.op.to_string(), 15, &counted);
    }
    let header = ["", "total", "available", "per engine", "1 engine alone"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for row in &report.sym {
        let total = row.all.bytes_per_s * 8.0 / 1e9;
        let one = row.one.bytes_per_s * 8.0 / 1e9;
        let mut cells = vec![row.unit.describe().to_owned()];
        let numbers = [total, total, total / report.engines as f64, one];
        cells.extend(numbers.iter().map(|n| format!("{n:.2}")));
        rows.push(cells);
    }
    out += &paragraph("units", INDENT, SYM_UNITS);
    write!(out, "\n{}\n", columns(&rows))?;
    let packets: u64 = report.sym.iter().map(|r| r.all.packets).sum();
    let requests: u64 = report.sym.iter().map(|r| r.all.requests).sum();
    let counted = format!("{packets} packets in {requests} requests, each result checked");
    out += &paragraph(&Op::Seal.to_string(), 17, &counted);

    let rsa = &report.rsa;
    let total = rsa.all.per_s;
    let numbers = [total, total, total / report.engines as f64, rsa.one.per_s];
    let mut cells = vec![Op::RsaPrivate.to_string()];
    cells.extend(numbers.iter().map(|n| format!("{n:.0}")));
    let header = ["", "total", "available", "per engine", "1 engine alone"];
    let rows = [header.map(str::to_owned).to_vec(), cells];
    out += &paragraph("units", INDENT, RSA_UNITS);
    write!(out, "\n{}\n", columns(&rows))?;
    let counted = format!(
        "{} requests in {} batches, every answer checked",
        rsa.all.requests, rsa.all.batches
    );
    out += &paragraph(&Op::RsaPrivate.to_string(), 17, &counted);
    out += &paragraph("SLAs", 17, "no limit to their number: software keeps them");
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lookaside::{
        Batch, Capability, Channel, Completed, Device, Done, EngineId, OpError, Prepared,
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
        fn submit(&mut self, batch: &mut Batch<'_>) -> usize {
            let before = self.1.len();
            self.1.extend(std::iter::from_fn(|| batch.take()));
            self.1.len() - before
        }
        fn poll(&mut self, done: &mut Completed) -> usize {
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
                done.push(work, if lost { Err(OpError::DeviceLost) } else { Ok(answer) });
            }
            n
        }
        fn in_flight(&self) -> usize {
            self.1.len()
        }
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
