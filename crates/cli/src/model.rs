//! `lookaside model`: a modelled device on a virtual clock, beside what its source prints.

use std::{
    error::Error,
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use lookaside::{
    Buf, Clock, Compression, Engine, Instance, InstanceConfig, Op, OpError, Request, Runtime,
};
use lookaside_model::{Model, Section, Spec};

use crate::table;

const SIZES: [usize; 3] = [1024, 8192, 65_536];
const OUTSTANDING: [usize; 6] = [1, 4, 9, 16, 24, 64];

/// For `*` in a model's text: more than its engines, and no more than its queue.
const SATURATING: usize = 256;

/// Time that passes when nothing else is left to do.
#[derive(Clone, Default)]
struct Virtual(Arc<AtomicU64>);

impl Clock for Virtual {
    fn now_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn sleep_ns(&self, ns: u64) {
        self.0.fetch_add(ns, Ordering::Relaxed);
    }
}

/// What makes the requests of one operation.
type Make = Box<dyn Fn() -> Request>;

/// Requests of the operation with so many bytes; `None` for those that this command does not run.
fn requests(runtime: &Runtime, op: Op, size: usize) -> Result<Option<Make>, Box<dyn Error>> {
    let text: Vec<u8> = (0..size).map(|i| b"a line of text that repeats "[i % 28]).collect();
    let text = Arc::new(text);
    let shared = move || Buf::shared(text.clone(), 0..size);
    Ok(match op {
        Op::Compress => {
            let session =
                runtime.compression(Compression { level: 1, ..Compression::default() })?;
            Some(Box::new(move || session.compress(shared(), Buf::zeroed(session.bound(size)))))
        }
        Op::Decompress => {
            let cpu = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start()?;
            let session = cpu.compression(Compression::default())?;
            let request = session.compress(shared(), Buf::zeroed(session.bound(size)));
            let packed = cpu.handle().call(request).wait();
            let n = packed.result?.produced;
            let packed = Arc::new(packed.dst.into_vec());
            let session = runtime.compression(Compression::default())?;
            let packed = move || Buf::shared(packed.clone(), 0..n);
            Some(Box::new(move || session.decompress(packed(), Buf::zeroed(size))))
        }
        Op::Copy => {
            let mover = runtime.mover()?;
            Some(Box::new(move || mover.copy(shared(), Buf::zeroed(size))))
        }
        _ => None,
    })
}

/// Operations per second of virtual time, with so many requests outstanding.
fn rate(
    spec: &Spec,
    op: Op,
    size: usize,
    outstanding: usize,
) -> Result<Option<f64>, Box<dyn Error>> {
    let clock = Virtual::default();
    let builder = Runtime::builder().device(Model::new(lookaside_cpu::cpu(), spec.clone())?);
    let (runtime, mut engines) =
        builder.engines(1).clock(Arc::new(clock.clone())).start_stepped()?;
    let Some(make) = requests(&runtime, op, size)? else { return Ok(None) };
    let config = InstanceConfig { depth: outstanding, ..InstanceConfig::default() };
    let mut instance = runtime.instance(config)?;
    // The first ones fill the engines, and do not count.
    let (first, all) = (2 * outstanding, 2 * outstanding + 240);
    let (mut pushed, mut answered, mut begin) = (0, 0, 0);
    let mut failed = None;
    while answered < pushed || pushed < all && failed.is_none() {
        while failed.is_none() && pushed < all && instance.outstanding() < outstanding {
            instance.push(make()).map_err(|full| full.to_string())?;
            pushed += 1;
        }
        instance.doorbell();
        step(&mut engines, &clock, &mut instance, |result| {
            answered += 1;
            if answered == first {
                begin = clock.now_ns();
            }
            failed = failed.or(result.err());
        });
    }
    match failed {
        Some(e) => Err(format!("{op}: {e}").into()),
        None => Ok(Some((all - first) as f64 * 1e9 / (clock.now_ns() - begin) as f64)),
    }
}

/// Steps the engines until they wait, takes the answers, and if there was none lets time pass.
fn step(
    engines: &mut [Engine],
    clock: &Virtual,
    instance: &mut Instance,
    mut answer: impl FnMut(Result<(), OpError>),
) {
    let now = clock.now_ns();
    let mut next = u64::MAX;
    for engine in engines {
        let idle = loop {
            let step = engine.step(now);
            if !step.progress {
                break step;
            }
        };
        next = next.min(idle.until_ns.unwrap_or(u64::MAX));
    }
    let mut answers = 0;
    for response in instance.poll() {
        answers += 1;
        answer(response.result.map(drop));
    }
    if answers == 0 && next < u64::MAX {
        clock.sleep_ns(next.saturating_sub(now).max(1));
    }
}

/// In the section's unit: Gbit/s where it has a bandwidth.
fn figure(section: &Section, size: usize, rate: f64) -> f64 {
    if section.gbit_per_s.is_some() { rate * size as f64 * 8.0 / 1e9 } else { rate }
}

/// The report on a built-in model or one of a file.
pub fn run(name: &str) -> Result<String, Box<dyn Error>> {
    let spec = Spec::load(name)?;
    let mut out = format!("model  {}, a queue of {}\n", spec.name, spec.queue);
    for section in &spec.sections {
        for &op in &section.ops {
            write!(out, "{}", operation(&spec, section, op)?)?;
        }
    }
    Ok(out)
}

/// The table of one operation; nothing for those that this command does not run.
fn operation(spec: &Spec, section: &Section, op: Op) -> Result<String, Box<dyn Error>> {
    let mut rows = vec![vec!["bytes".to_owned()]];
    rows[0].extend(OUTSTANDING.map(|n| format!("{n} outst.")));
    for size in SIZES {
        let mut row = vec![size.to_string()];
        for outstanding in OUTSTANDING {
            let Some(rate) = rate(spec, op, size, outstanding)? else { return Ok(String::new()) };
            row.push(format!("{:.2}", figure(section, size, rate)));
        }
        rows.push(row);
    }
    let unit = if section.gbit_per_s.is_some() { "Gbit/s" } else { "operations/s" };
    let mut out = format!("\n{op}, {unit}\n{}", table::columns(&rows));
    for printed in &section.printed {
        let outstanding = printed.outstanding.unwrap_or(SATURATING.min(spec.queue));
        if let Some(rate) = rate(spec, op, printed.size, outstanding)? {
            let model = figure(section, printed.size, rate);
            let many = printed.outstanding.map_or("many".to_owned(), |n| n.to_string());
            writeln!(
                out,
                "  printed for {} bytes, {many} outstanding: {}; the model: {model:.2} ({:.2} x)",
                printed.size,
                printed.value,
                model / printed.value
            )?;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_stands_beside_the_model() {
        let report = run("card2015").unwrap();
        assert!(report.contains("printed for 65536 bytes, 1 outstanding: 1.36; the model: 1.36"));
        assert!(report.contains("dc.decompress, Gbit/s"), "{report}");
        assert!(run("no such model").unwrap_err().to_string().contains("card2015, chipset2019"));
    }
}
