//! `lookaside info`: what there is.

use std::{cmp::Reverse, error::Error};

use lookaside::{Capability, Route, RouteEntry, Runtime, Service};
use lookaside_qat_card::{LIBRARY_VARIABLE, QatDevice};
use lookaside_simd::{CAP_VARIABLE, Cpu};
use serde_json::{Value, json};

use crate::{
    machine::Machine,
    table::{TABLE_WIDTH, paragraph, wrapped},
};

/// Starts a runtime as programs do, and describes it.
///
/// Short: a row for each service and implementation; `verbose`: for each operation and algorithm.
pub fn run(json: bool, verbose: bool) -> Result<String, Box<dyn Error>> {
    let (card, why) = match QatDevice::of_environment() {
        Ok(Some(card)) => (Some(card), None),
        Ok(None) => (None, Some(format!("none: {LIBRARY_VARIABLE} names no library"))),
        Err(refusal) => (None, Some(refusal.to_string())),
    };
    let says = why.unwrap_or_else(|| card.as_ref().map_or("", |c| c.description()).to_owned());
    let builder = Runtime::builder();
    let builder = match card {
        Some(card) => builder.device(card),
        None => builder,
    };
    let runtime = builder.device(lookaside_cpu::cpu()).start()?;
    let (machine, cpu) = (Machine::here(), Cpu::host());
    if json {
        let object = describe(&runtime, &machine, cpu, &says);
        return Ok(serde_json::to_string_pretty(&object)? + "\n");
    }
    Ok(text(&runtime, &machine, cpu, verbose, &says))
}

fn describe(runtime: &Runtime, machine: &Machine, cpu: &Cpu, card: &str) -> Value {
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
        let entry =
            |e: &RouteEntry| json!({ "device": e.device, "min_bytes": e.min_bytes, "why": e.why });
        let entries: Vec<Value> = r.entries.iter().map(entry).collect();
        json!({ "op": r.op.to_string(), "entries": entries })
    };
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "machine": machine.json(),
        "simd": {
            "tier": cpu.tier().name(),
            "family": cpu.family().name(),
            "detected_tier": cpu.detected_tier().name(),
            "cap": cpu.cap().map(|c| c.name()),
            "cap_ignored": cpu.unknown_cap(),
            "features": cpu.features(),
        },
        "card": card,
        "engines": runtime.engines(),
        "devices": runtime.capabilities().map(device).collect::<Vec<_>>(),
        "routes": runtime.routes().iter().map(route).collect::<Vec<_>>(),
    })
}

/// The width of the indented labels.
const INDENT: usize = 12;

fn text(runtime: &Runtime, machine: &Machine, cpu: &Cpu, verbose: bool, card: &str) -> String {
    let mut out = format!("lookaside {}\n\n", env!("CARGO_PKG_VERSION"));
    out += &paragraph("machine", INDENT, &machine.to_string());
    let cap = match (cpu.cap(), cpu.unknown_cap()) {
        (Some(cap), _) => format!("capped by {CAP_VARIABLE}={cap}"),
        (None, Some(unknown)) => format!("not capped: {CAP_VARIABLE}={unknown} is unknown"),
        (None, None) => format!("not capped: {CAP_VARIABLE} is not set"),
    };
    let (tier, family, detected) = (cpu.tier(), cpu.family(), cpu.detected_tier());
    out += &paragraph("kernels", INDENT, &format!("tier {tier}, family {family}"));
    out += &paragraph("cap", INDENT, &format!("{cap}; the CPU has {detected}"));
    let features = match cpu.features() {
        [] => "none that matter here".to_owned(),
        found => found.join(" "),
    };
    out += &paragraph("features", INDENT, &features);
    let devices: Vec<&str> = runtime.capabilities().map(|(name, _)| name).collect();
    out += &paragraph("devices", INDENT, &devices.join(" "));
    out += &paragraph("card", INDENT, card);
    let engines = format!("{} by default: one for each CPU", runtime.engines());
    out += &paragraph("engines", INDENT, &engines);
    let routes = runtime.routes();
    match verbose {
        true => out += &every_route(routes),
        false => out += &routes_in_short(routes),
    }
    for (name, capabilities) in runtime.capabilities() {
        match verbose {
            true => out += &every_capability(name, capabilities),
            false => out += &capabilities_in_short(name, capabilities),
        }
    }
    if !verbose {
        out += "\n--verbose has a row for each operation and algorithm, and each route's reason.\n";
    }
    out
}

/// "from 4096 bytes", or nothing for any size.
fn smallest(bytes: usize) -> String {
    match bytes {
        0 => String::new(),
        n => format!(" from {n} bytes"),
    }
}

/// The devices that most operations go to, and the operations that go elsewhere.
fn routes_in_short(routes: &[Route]) -> String {
    let devices = |route: &Route| {
        let entry = |e: &RouteEntry| format!("{}{}", e.device, smallest(e.min_bytes));
        route.entries.iter().map(entry).collect::<Vec<_>>().join(", then ")
    };
    // Devices, and the operations that go to them; those with the most operations first.
    let mut ways: Vec<(String, Vec<String>)> = Vec::new();
    for route in routes {
        let way = devices(route);
        let known = ways.iter().position(|(known, _)| *known == way);
        let i = known.unwrap_or_else(|| {
            ways.push((way, Vec::new()));
            ways.len() - 1
        });
        ways[i].1.push(route.op.to_string());
    }
    ways.sort_by_key(|(_, ops)| Reverse(ops.len()));
    let mut out = String::new();
    for (i, (way, ops)) in ways.iter().enumerate() {
        let text = match (i, ways.len()) {
            (0, 1) => format!("all operations: {way}"),
            (0, _) => format!("all operations but these: {way}"),
            _ => format!("{}: {way}", ops.join(", ")),
        };
        out += &paragraph(if i == 0 { "routes" } else { "" }, INDENT, &text);
    }
    out
}

fn every_route(routes: &[Route]) -> String {
    let mut rows = vec![["operation", "device", "size", "why"].map(str::to_owned)];
    for route in routes {
        for (i, e) in route.entries.iter().enumerate() {
            let op = if i == 0 { route.op.to_string() } else { String::new() };
            let size = match e.min_bytes {
                0 => "any".to_owned(),
                n => format!("from {n} bytes"),
            };
            rows.push([op, e.device.clone(), size, e.why.to_string()]);
        }
    }
    format!("\nroutes, first to last\n{}", wrapped(&rows, [TABLE_WIDTH; 4]))
}

/// What serves which algorithms: a row for each service and each implementation.
fn capabilities_in_short(device: &str, capabilities: &[Capability]) -> String {
    /// What one implementation serves: algorithms, and of each the operations.
    type Served<'a> = Vec<(&'a str, Vec<&'a str>)>;
    let mut rows: Vec<(Service, &str, Served)> = Vec::new();
    for c in capabilities {
        let (service, by) = (c.op.service(), c.served_by.as_str());
        let known = rows.iter().position(|row| (row.0, row.1) == (service, by));
        let i = known.unwrap_or_else(|| {
            rows.push((service, by, Vec::new()));
            rows.len() - 1
        });
        let served = &mut rows[i].2;
        match served.iter_mut().find(|(algorithm, _)| *algorithm == c.algorithm) {
            Some((_, ops)) => ops.push(c.op.name()),
            None => served.push((&c.algorithm, vec![c.op.name()])),
        }
    }
    // By service, in the order in which they come; a service's implementations stay in their order.
    let mut order: Vec<Service> = Vec::new();
    for (service, ..) in &rows {
        if !order.contains(service) {
            order.push(*service);
        }
    }
    rows.sort_by_key(|(service, ..)| order.iter().position(|known| known == service));
    let mut table = vec![["service", "served by", "algorithms"].map(str::to_owned)];
    let mut last = None;
    for (service, by, served) in rows {
        let name = |(algorithm, ops): &(&str, Vec<&str>)| match service {
            // Only some operations of a key's algorithm have a kernel.
            Service::Pke => format!("{algorithm} ({})", in_short(ops)),
            _ => (*algorithm).to_owned(),
        };
        let algorithms: Vec<String> = served.iter().map(name).collect();
        let first = if last.replace(service) == Some(service) { "" } else { service.name() };
        table.push([first.to_owned(), by.to_owned(), algorithms.join("; ")]);
    }
    format!("\nwhat device {device} can do\n{}", wrapped(&table, [TABLE_WIDTH, 38, TABLE_WIDTH]))
}

/// Operations without the prefix that all of them have: "rsa-public", "rsa-private" is "public,
/// private".
fn in_short(ops: &[&str]) -> String {
    let prefix = ops[0].split_once('-').map_or("", |(prefix, _)| prefix);
    let short = |op: &&str| match op.strip_prefix(prefix).and_then(|op| op.strip_prefix('-')) {
        Some(rest) if !prefix.is_empty() => rest.to_owned(),
        _ => (*op).to_owned(),
    };
    ops.iter().map(short).collect::<Vec<_>>().join(", ")
}

fn every_capability(device: &str, capabilities: &[Capability]) -> String {
    let head = ["operation", "algorithm", "served by", "batch", "size"];
    let mut rows = vec![head.map(str::to_owned)];
    for c in capabilities {
        let largest = match c.max_src {
            n if n >= isize::MAX.cast_unsigned() => "any".to_owned(),
            n if n == u32::MAX as usize => "to 4 GB".to_owned(),
            n => format!("to {n} bytes"),
        };
        rows.push([
            c.op.to_string(),
            c.algorithm.clone(),
            c.served_by.clone(),
            c.best_batch.to_string(),
            largest,
        ]);
    }
    format!(
        "\nwhat device {device} can do\n{}",
        wrapped(&rows, [TABLE_WIDTH, 30, TABLE_WIDTH, TABLE_WIDTH, TABLE_WIDTH])
    )
}
