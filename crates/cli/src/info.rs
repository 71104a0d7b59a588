//! `lookaside info`: what there is.

use std::{cmp::Reverse, error::Error};

use lookaside::{Capability, Route, RouteEntry, Runtime, Service};
use lookaside_qat_card::{LIBRARY_VARIABLE, QatDevice};
use lookaside_simd::{CAP_VARIABLE, Cpu};
use serde_json::{Value, json};

use crate::{
    doctor::in_force,
    expect::expected,
    machine::Machine,
    table::{TABLE_WIDTH, columns, paragraph, wrapped},
};

/// Starts a runtime as programs do, and describes it.
///
/// Short: one screen, a row for each service; `all`: a row for each operation and algorithm.
pub fn run(json: bool, all: bool) -> Result<String, Box<dyn Error>> {
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
    Ok(match all {
        true => everything(&runtime, &machine, cpu, &says),
        false => screen(&runtime, &machine, cpu, &says),
    })
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
        "settings": in_force(),
        "expect": expected(cpu.tier(), |_| true),
    })
}

/// The width of the indented labels.
const INDENT: usize = 12;

/// What caps the tier, if anything does.
fn cap(cpu: &Cpu) -> String {
    match (cpu.cap(), cpu.unknown_cap()) {
        (Some(cap), _) => format!("capped by {CAP_VARIABLE}={cap}"),
        (None, Some(unknown)) => format!("not capped: {CAP_VARIABLE}={unknown} is unknown"),
        (None, None) => format!("not capped by {CAP_VARIABLE}"),
    }
}

/// What fits a screen of 24 lines and 80 columns with the prompt, where there is one device.
fn screen(runtime: &Runtime, machine: &Machine, cpu: &Cpu, card: &str) -> String {
    let mut out =
        paragraph("lookaside", INDENT, &format!("{} on {machine}", env!("CARGO_PKG_VERSION")));
    let (tier, family) = (cpu.tier(), cpu.family());
    out += &paragraph("kernels", INDENT, &format!("tier {tier}, family {family}; {}", cap(cpu)));
    let names: Vec<&str> = runtime.capabilities().map(|(name, _)| name).collect();
    let engines = format!("{}; {} engines by default", names.join(", "), runtime.engines());
    match (card.starts_with("none: "), names.len()) {
        (true, 1) => {
            out += &paragraph("devices", INDENT, &format!("{engines}; no QuickAssist card"))
        }
        _ => {
            out += &paragraph("devices", INDENT, &engines);
            out += &paragraph("card", INDENT, card);
            out += &routes_in_short(runtime.routes());
        }
    }
    let settings = in_force();
    if !settings.is_empty() {
        out += &paragraph("settings", INDENT, &settings.join(" "));
    }
    for (name, capabilities) in runtime.capabilities() {
        out += &format!(
            "\nserved by {name}: in how many algorithms, and whose code\n{}",
            columns(&services(capabilities))
        );
    }
    let figures = expected(tier, |_| true);
    match figures.is_empty() {
        true => {
            out += &format!(
                "\nfor tier {tier} nothing was measured: docs/performance.md has the others\n"
            )
        }
        false => {
            let rows: Vec<Vec<String>> = figures.iter().map(|f| f.row().to_vec()).collect();
            out += &format!(
                "\nto expect at {tier}, beside what programs use otherwise\n{}",
                columns(&rows)
            );
        }
    }
    out + "\n--all: every algorithm, and who serves it; --json\n"
}

/// What the services are called by people.
fn called(service: Service) -> &'static str {
    match service {
        Service::Dc => "compression",
        Service::Mv => "moving data",
        Service::Pke => "public keys",
        Service::Kdf => "key derivation",
        Service::Sym => "symmetric",
        Service::Rng => "random numbers",
        Service::Scan => "patterns",
        Service::Xml => "XML",
        other => other.name(),
    }
}

/// Whose code serves: words of what capabilities say, and what they stand for.
const WHOSE: [(&str, &str); 16] = [
    ("lookaside", "own kernels"),
    ("kernel", "own kernels"),
    ("own ", "own kernels"),
    ("side by side", "own kernels"),
    ("inflate", "own kernels"),
    ("portable", "own kernels"),
    ("igzip", "ISA-L"),
    ("ISA-L", "ISA-L"),
    ("libdeflate", "libdeflate"),
    ("lz4", "liblz4"),
    ("zstd", "libzstd"),
    ("intel-ipsec-mb", "intel-ipsec-mb"),
    ("AWS-LC", "AWS-LC"),
    ("libcrypto", "libcrypto"),
    ("memcpy", "memcpy"),
    ("QuickAssist", "the card"),
];

/// A row for each service: its name, how many algorithms it has, whose code serves them.
fn services(capabilities: &[Capability]) -> Vec<Vec<String>> {
    let mut rows: Vec<(Service, Vec<&str>, Vec<&str>)> = Vec::new();
    for c in capabilities {
        let service = c.op.service();
        let at = rows.iter().position(|row| row.0 == service).unwrap_or_else(|| {
            rows.push((service, vec![], vec![]));
            rows.len() - 1
        });
        let (_, algorithms, by) = &mut rows[at];
        if !algorithms.contains(&&*c.algorithm) {
            algorithms.push(&c.algorithm);
        }
        for (word, whose) in WHOSE {
            if c.served_by.contains(word) && !by.contains(&whose) {
                by.push(whose);
            }
        }
    }
    let row = |(service, algorithms, by): (Service, Vec<&str>, Vec<&str>)| {
        let by = if by.is_empty() { "other code".to_owned() } else { by.join(", ") };
        let count = format!("{:2}", algorithms.len());
        vec![service.name().to_owned(), called(service).to_owned(), count, by]
    };
    rows.into_iter().map(row).collect()
}

/// All that there is to say.
fn everything(runtime: &Runtime, machine: &Machine, cpu: &Cpu, card: &str) -> String {
    let mut out = format!("lookaside {}\n\n", env!("CARGO_PKG_VERSION"));
    out += &paragraph("machine", INDENT, &machine.to_string());
    let (tier, family, detected) = (cpu.tier(), cpu.family(), cpu.detected_tier());
    out += &paragraph("kernels", INDENT, &format!("tier {tier}, family {family}"));
    out += &paragraph("cap", INDENT, &format!("{}; the CPU has {detected}", cap(cpu)));
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
    out += &routes_in_short(runtime.routes());
    out += &every_route(runtime.routes());
    for (name, capabilities) in runtime.capabilities() {
        out += &capabilities_in_short(name, capabilities);
        out += &every_capability(name, capabilities);
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

/// The reasons of all routes; operations with the same ones together.
fn every_route(routes: &[Route]) -> String {
    let mut groups: Vec<(Vec<[String; 3]>, Vec<String>)> = Vec::new();
    for route in routes {
        let entry = |e: &RouteEntry| {
            let size = match e.min_bytes {
                0 => "any".to_owned(),
                n => format!("from {n} bytes"),
            };
            [e.device.clone(), size, e.why.to_string()]
        };
        let entries: Vec<[String; 3]> = route.entries.iter().map(entry).collect();
        match groups.iter_mut().find(|(known, _)| *known == entries) {
            Some((_, ops)) => ops.push(route.op.to_string()),
            None => groups.push((entries, vec![route.op.to_string()])),
        }
    }
    let mut rows = vec![["operations", "device", "size", "why"].map(str::to_owned)];
    for (entries, ops) in groups {
        for (i, [device, size, why]) in entries.into_iter().enumerate() {
            let ops = if i == 0 { ops.join(" ") } else { String::new() };
            rows.push([ops, device, size, why]);
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
    format!("\nby whom device {device} serves\n{}", wrapped(&table, [TABLE_WIDTH, 38, TABLE_WIDTH]))
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
