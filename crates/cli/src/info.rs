//! `lookaside info`: what there is.

use std::{error::Error, fmt::Write};

use lookaside::{Capability, Route, Runtime};
use lookaside_simd::{CAP_VARIABLE, Cpu};
use serde_json::{Value, json};

use crate::{machine::Machine, table::paragraph};

/// Starts a runtime as programs do, and describes it.
pub fn run(json: bool) -> Result<String, Box<dyn Error>> {
    let runtime = Runtime::builder().device(lookaside_cpu::cpu()).start()?;
    let (machine, cpu) = (Machine::here(), Cpu::host());
    if json {
        let object = describe(&runtime, &machine, cpu);
        return Ok(serde_json::to_string_pretty(&object)? + "\n");
    }
    Ok(text(&runtime, &machine, cpu)?)
}

fn describe(runtime: &Runtime, machine: &Machine, cpu: &Cpu) -> Value {
    let capability = |c: &Capability| {
        json!({
            "op": c.op.to_string(),
            "algorithm": c.algorithm,
            "served_by": c.served_by,
            "best_batch": c.best_batch,
            "max_src_bytes": c.max_src,
        })
    };
    let device = |(name, capabilities): (&str, &[Capability])| {
        let capabilities: Vec<Value> = capabilities.iter().map(capability).collect();
        json!({ "name": name, "capabilities": capabilities })
    };
    let route = |r: &Route| {
        let entry = |e: &lookaside::RouteEntry| json!({ "device": e.device, "min_bytes": e.min_bytes, "why": e.why });
        let entries: Vec<Value> = r.entries.iter().map(entry).collect();
        json!({ "op": r.op.to_string(), "entries": entries })
    };
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "machine": machine.json(),
        "simd": {
            "tier": cpu.tier().name(),
            "detected_tier": cpu.detected_tier().name(),
            "cap": cpu.cap().map(|c| c.name()),
            "cap_ignored": cpu.unknown_cap(),
            "features": cpu.features(),
        },
        "engines": runtime.engines(),
        "devices": runtime.capabilities().map(device).collect::<Vec<_>>(),
        "routes": runtime.routes().iter().map(route).collect::<Vec<_>>(),
    })
}

fn text(runtime: &Runtime, machine: &Machine, cpu: &Cpu) -> Result<String, std::fmt::Error> {
    const INDENT: usize = 12;
    let mut out = format!("lookaside {}\n\n", env!("CARGO_PKG_VERSION"));
    out += &paragraph("machine", INDENT, &machine.to_string());
    let cap = match (cpu.cap(), cpu.unknown_cap()) {
        (Some(cap), _) => format!("capped by {CAP_VARIABLE}={cap}"),
        (None, Some(unknown)) => format!("not capped: {CAP_VARIABLE}={unknown} is unknown"),
        (None, None) => format!("not capped: {CAP_VARIABLE} is not set"),
    };
    let tier = format!("{}; the CPU has {}; {cap}", cpu.tier(), cpu.detected_tier());
    out += &paragraph("kernels", INDENT, &tier);
    let features = match cpu.features() {
        [] => "none that matter here".to_owned(),
        found => found.join(" "),
    };
    out += &paragraph("features", INDENT, &features);
    let devices: Vec<&str> = runtime.capabilities().map(|(name, _)| name).collect();
    out += &paragraph("devices", INDENT, &devices.join(" "));
    let engines = format!("{} by default: one for each CPU", runtime.engines());
    out += &paragraph("engines", INDENT, &engines);

    for (name, capabilities) in runtime.capabilities() {
        write!(out, "\nwhat device {name} can do\n")?;
        for c in capabilities {
            let largest = match c.max_src {
                n if n >= isize::MAX.cast_unsigned() => "any size".to_owned(),
                n if n == u32::MAX as usize => "up to 4 GB".to_owned(),
                n => format!("up to {n} bytes"),
            };
            let batch = match c.best_batch {
                1 => "one at a time".to_owned(),
                n => format!("best in batches of {n}"),
            };
            let what = format!("{}; {largest}; {batch}", c.algorithm);
            out += &paragraph(&format!("  {}", c.op), 17, &what);
            out += &paragraph("", 17, &format!("by {}", c.served_by));
        }
    }

    out += "\nwhich device serves what, first to last\n";
    for route in runtime.routes() {
        for (i, e) in route.entries.iter().enumerate() {
            let op = if i == 0 { format!("  {}", route.op) } else { String::new() };
            let size = match e.min_bytes {
                0 => "any size".to_owned(),
                n => format!("from {n} bytes"),
            };
            out += &paragraph(&op, 17, &format!("{}, {size}; {}", e.device, e.why));
        }
    }
    Ok(out)
}
