//! `lookaside capacity --stored`: what the device can do by the costs that were measured once, and what is
//! left of that beside the promises of virtual functions.

use std::{error::Error, fs, path::PathBuf, time::Duration};

use lookaside_server::Config;
use lookaside_shares::{Admission, Costs, Measure, Refused, Vf};
use serde_json::{Value, json};

use crate::{
    costs,
    machine::Machine,
    table::{columns, paragraph},
};

/// What is asked for.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Measure the costs anew
    #[arg(long, requires = "stored")]
    measure: bool,
    /// What is available beside the promises of FILE, as lookaside serve reads it; exit status 1 if it is not enough for one,
    /// which is named with the figures
    #[arg(long, requires = "stored", value_name = "FILE")]
    functions: Option<PathBuf>,
    /// A device of N engines (one for each CPU)
    #[arg(long, requires = "stored", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    engines: Option<u32>,
}

/// Reports, with what is refused; measures first, where nothing is stored or it is asked for.
pub(crate) fn run(
    json: bool,
    time: Duration,
    options: &Options,
) -> Result<(String, Vec<String>), Box<dyn Error>> {
    let functions = match &options.functions {
        Some(file) => {
            let name = file.display();
            let text = fs::read_to_string(file).map_err(|e| format!("{name}: {e}"))?;
            let config = Config::parse(&text).map_err(|e| format!("{name}: {e}"))?;
            config.functions.iter().map(|function| function.promises()).collect()
        }
        None => Vec::new(),
    };
    let place = costs::place().ok_or("no folder for costs: HOME is not set")?;
    let (costs, notes) = match costs::stored(&place) {
        Ok(costs) if !options.measure => (costs, Vec::new()),
        other => {
            let why = other.err().into_iter();
            let measured = costs::measure(time)?;
            costs::store(&place, &measured.costs)?;
            (measured.costs, why.chain(measured.doubts).collect())
        }
    };
    let machine = Machine::here();
    let engines = options.engines.unwrap_or(machine.cpus as u32);
    let mut all = Admission::new(costs.capacity(engines));
    let refused: Vec<Refused> = functions.iter().filter_map(|vf| all.admit(vf).err()).collect();
    let stored = place.display().to_string();
    let report = Report { costs, notes, stored, all, functions, refused };
    let out = match json {
        true => serde_json::to_string_pretty(&report.describe(&machine))? + "\n",
        false => report.text(&machine),
    };
    Ok((out, report.refused.iter().map(Refused::to_string).collect()))
}

struct Report {
    costs: Costs,
    notes: Vec<String>,
    stored: String,
    all: Admission,
    functions: Vec<Vf>,
    refused: Vec<Refused>,
}

/// What a measure's reference request is, for people.
fn reference(measure: Measure) -> String {
    let (op, algorithm, size) = measure.reference();
    format!("{op}, {algorithm}, {size} bytes")
}

impl Report {
    fn describe(&self, machine: &Machine) -> Value {
        let per_s = |rate: Option<lookaside_shares::Rate>| rate.map(|rate| rate.per_s);
        let unit = |m: Measure| if m.is_operations() { "operations/s" } else { "bit/s" };
        let service = |m: Measure| {
            json!({
                "service": m.service().name(),
                "measure": m.name(),
                "reference": reference(m),
                "unit": unit(m),
                "total": per_s(self.all.capacity().total(m)),
                "available": per_s(self.all.available(m)),
            })
        };
        let cost = |row: &lookaside_shares::Row| {
            let (op, ns) = (row.op.to_string(), row.ns);
            json!({ "op": op, "algorithm": row.algorithm, "size": row.size, "ns": ns })
        };
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "machine": machine.json(),
            "tier": self.costs.tier,
            "engines": self.all.capacity().engines(),
            "stored": self.stored,
            "notes": self.notes,
            "services": Measure::ALL.map(service),
            "costs": self.costs.rows().iter().map(cost).collect::<Vec<_>>(),
            "functions": self.functions.iter().map(|vf| &*vf.name).collect::<Vec<_>>(),
            "refused": self.refused.iter().map(Refused::to_string).collect::<Vec<_>>(),
        })
    }

    fn text(&self, machine: &Machine) -> String {
        const INDENT: usize = 11;
        let mut out = paragraph("machine", INDENT, &machine.to_string());
        let engines = self.all.capacity().engines();
        let s = if engines == 1 { "" } else { "s" };
        out += &paragraph(
            "device",
            INDENT,
            &format!("cpu, {engines} engine{s}, kernels {}", self.costs.tier),
        );
        out += &paragraph("costs", INDENT, &self.stored);
        for note in &self.notes {
            out += &paragraph("NOTE", INDENT, note);
        }
        let mut rows = vec![["", "total", "available", "one is"].map(str::to_owned).to_vec()];
        for measure in Measure::ALL {
            let short =
                |rate: Option<lookaside_shares::Rate>| rate.map_or("-".into(), |r| r.short());
            let (total, available) =
                (self.all.capacity().total(measure), self.all.available(measure));
            let name = measure.service().name().to_owned();
            rows.push(vec![name, short(total), short(available), reference(measure)]);
        }
        out += &format!("\n{}\n", columns(&rows));
        let mut rows = vec![["operation", "algorithm", "bytes", "ns"].map(str::to_owned).to_vec()];
        for row in self.costs.rows() {
            let (op, size) = (row.op.to_string(), row.size.to_string());
            rows.push(vec![op, row.algorithm.clone(), size, format!("{:.0}", row.ns)]);
        }
        out += &columns(&rows);
        let promised = self.all.len();
        if !self.functions.is_empty() {
            let counted =
                format!("{promised} of {} can have what they ask for", self.functions.len());
            out += &format!("\n{}", paragraph("functions", INDENT, &counted));
        }
        out
    }
}
