//! `lookaside scan --bench`: the rate on the given data, beside Hyperscan's.
//!
//! Each file and each direction of a flow is a block. Both sides scan all blocks in turns, on one thread; the times are
//! that thread's CPU time.

use lookaside::{Buf, Instance, Runtime, Scanner, scan::Expression};
use std::{io::Read, sync::Arc, time::Duration};

use super::{
    Options, TROUBLE,
    capture::Capture,
    flows::{Event, Flows},
    hyperscan::Hyperscan,
    input::{Input, Walk},
    report::print,
};

/// The most bytes that are scanned: they lie in memory.
const MOST: usize = 1 << 30;
/// Rounds, in which both sides take turns.
const ROUNDS: usize = 7;
/// How long a round takes at least.
const LEAST: Duration = Duration::from_millis(100);

/// What is scanned.
#[derive(Default)]
struct Blocks {
    blocks: Vec<Arc<Vec<u8>>>,
    bytes: usize,
    /// Whether there was more than may be.
    cut: bool,
}

impl Blocks {
    fn push(&mut self, mut block: Vec<u8>) {
        let room = MOST - self.bytes;
        self.cut |= block.len() > room;
        block.truncate(room);
        self.bytes += block.len();
        if !block.is_empty() {
            self.blocks.push(Arc::new(block));
        }
    }

    fn read(&mut self, input: Input, raw: bool) -> std::io::Result<()> {
        if raw || !input.is_capture() {
            let mut block = Vec::new();
            input.into_reader().take(MOST as u64 + 1).read_to_end(&mut block)?;
            self.push(block);
            return Ok(());
        }
        let mut capture = Capture::new(input.into_reader())?;
        let (mut flows, mut texts) = (Flows::default(), Vec::<Vec<u8>>::new());
        let mut bytes = 0;
        while let Some(packet) = capture.next()?
            && bytes < MOST
        {
            flows.packet(&packet, &mut |number, _, event| {
                if number >= texts.len() {
                    texts.push(Vec::new());
                }
                if let Event::Data(data) = event {
                    bytes += data.len();
                    texts[number].extend_from_slice(data);
                }
            });
        }
        texts.into_iter().for_each(|text| self.push(text));
        Ok(())
    }
}

pub(super) fn run(
    options: &Options,
    runtime: &Runtime,
    scanner: &Scanner,
    patterns: &[Expression],
    mut instance: Instance,
) -> Result<u8, String> {
    let mut blocks = Blocks::default();
    let mut trouble = false;
    let mut walk = Walk::new(&options.paths);
    while let Some(input) = walk.next() {
        let read = input.and_then(|input| {
            let name = input.name.clone();
            blocks.read(input, options.raw).map_err(|e| format!("{name}: {e}"))
        });
        if let Err(message) = read {
            trouble = true;
            eprintln!("lookaside: {}", crate::plain(&message));
        }
    }
    if blocks.cut {
        eprintln!("lookaside: what is beyond {MOST} bytes is left out");
    }
    if blocks.bytes == 0 {
        return Err("there is nothing to scan".into());
    }
    let mut ours = || ours(scanner, &mut instance, &blocks.blocks);
    let rival = Hyperscan::open(patterns);
    let matches = ours()?;
    let theirs = || match &rival {
        Ok(rival) => {
            let counts = blocks.blocks.iter().map(|block| rival.scan(block));
            counts.sum::<Result<u64, String>>().map(Some)
        }
        Err(_) => Ok(None),
    };
    let their_matches = theirs()?;
    let mut times = [vec![], vec![]];
    let begun = cpu_time();
    let mut repeats = 0u32;
    while cpu_time() - begun < LEAST {
        ours()?;
        repeats += 1;
    }
    for _ in 0..ROUNDS {
        times[0].push(timed(|| (0..repeats).try_for_each(|_| ours().map(|_| ())))?);
        times[1].push(timed(|| (0..repeats).try_for_each(|_| theirs().map(|_| ())))?);
    }
    let [ours, theirs] = times.map(|mut times| {
        times.sort();
        let rate = |time: Duration| {
            blocks.bytes as f64 * f64::from(repeats) * 8e-9 / time.as_secs_f64().max(1e-9)
        };
        (rate(times[ROUNDS / 2]), rate(times[ROUNDS - 1]), rate(times[0]))
    });
    let row = |name: &str, (median, low, high): (f64, f64, f64), matches: u64| {
        format!("{name:12}{median:9.3} Gbit/s ({low:.3} to {high:.3}), {matches} matches\n")
    };
    let (count, bytes) = (blocks.blocks.len(), blocks.bytes);
    let mut out = format!(
        "{} patterns, {count} blocks, {bytes} bytes; one thread's CPU time, {ROUNDS} rounds\n",
        patterns.len()
    );
    out += &row("lookaside", ours, matches);
    match (&rival, their_matches) {
        (Ok(rival), Some(their_matches)) => {
            out += &row("hyperscan", theirs, their_matches);
            out += &format!("{:12}{:9.2}\n", "ratio", ours.0 / theirs.0.max(1e-9));
            out += &format!("{:12}version {}\n", "", rival.version());
            if matches != their_matches {
                trouble = true;
                eprintln!("lookaside: the numbers of matches differ");
            }
        }
        (Err(why), _) => out += &format!("hyperscan   none: {why}\n"),
        _ => {}
    }
    let served = runtime.counters();
    for row in served.ops.iter().filter(|row| row.requests > 0) {
        out += &format!("served by {}: {} x {}\n", row.device, row.requests, row.op);
    }
    print(&mut out.into_bytes()).map_err(|e| format!("standard output: {e}"))?;
    Ok(if trouble { TROUBLE } else { 0 })
}

/// Scans all blocks, and returns the number of matches.
fn ours(
    scanner: &Scanner,
    instance: &mut Instance,
    blocks: &[Arc<Vec<u8>>],
) -> Result<u64, String> {
    let (mut matches, mut next) = (0, blocks.iter());
    let mut left = blocks.len();
    while left > 0 {
        while instance.free() > 0
            && let Some(block) = next.next()
        {
            let src = Buf::shared(block.clone(), 0..block.len());
            // Matches are counted, where there is no room for them.
            instance.push(scanner.scan(src, Buf::empty())).map_err(|e| e.to_string())?;
        }
        instance.doorbell();
        instance.wait(Duration::from_secs(1));
        for response in instance.poll() {
            left -= 1;
            matches += response.result.map_err(|e| e.to_string())?.checksum;
        }
    }
    Ok(matches)
}

fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn timed(f: impl FnOnce() -> Result<(), String>) -> Result<Duration, String> {
    let begun = cpu_time();
    f()?;
    Ok(cpu_time() - begun)
}
