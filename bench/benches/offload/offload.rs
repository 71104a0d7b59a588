//! Compression and decompression through instance and engine, beside direct calls.

use core::time::Duration;
use std::{cell::RefCell, sync::Arc};

use lookaside::{
    Buf, CompressSession, Compression, Format, Instance, InstanceConfig, Op, Request, Runtime,
};
use lookaside_bench::{Contender, Times, interleave, median};
use lookaside_cpu::cpu;

use crate::bare::{Igzip, Libdeflate, Zlib};

const CHUNK: usize = 65_536;
const LONG: Duration = Duration::from_secs(60);

fn runtime(engines: usize) -> Runtime {
    Runtime::builder().device(cpu()).engines(engines).start().expect("the CPU device starts")
}

/// Keeps `depth` requests outstanding until all chunks are through. Calls `done` with each
/// answer's tag, source and destination. Returns the bytes produced.
struct Pump {
    instance: Instance,
    dst: Vec<Buf>,
    depth: usize,
}

impl Pump {
    fn new(runtime: &Runtime, depth: usize, room: usize) -> Pump {
        let config = InstanceConfig { depth, ..InstanceConfig::default() };
        let instance = runtime.instance(config).expect("an instance");
        Pump { instance, dst: (0..depth).map(|_| Buf::zeroed(room)).collect(), depth }
    }

    fn run(
        &mut self,
        count: usize,
        request: impl Fn(usize, Buf) -> Request,
        mut done: impl FnMut(u64, &[u8]),
    ) -> usize {
        let (mut next, mut answered, mut bytes) = (0, 0, 0);
        while answered < count {
            while next < count
                && self.instance.free() > 0
                && let Some(dst) = self.dst.pop()
            {
                let r = request(next, dst).tag(next as u64);
                self.instance.push(r).expect("there is room");
                next += 1;
            }
            self.instance.doorbell();
            self.instance.wait_many(self.depth.div_ceil(2), LONG);
            for r in self.instance.poll() {
                let n = r.result.expect("an answer").produced;
                done(r.tag, &r.dst.as_slice().unwrap_or_default()[..n]);
                self.dst.push(r.dst);
                bytes += n;
                answered += 1;
            }
        }
        bytes
    }
}

fn chunk(data: &[u8], i: usize, size: usize) -> core::ops::Range<usize> {
    i * size..((i + 1) * size).min(data.len())
}

fn lent(data: &Arc<Vec<u8>>, i: usize, size: usize) -> Buf {
    Buf::shared(data.clone(), chunk(data, i, size))
}

fn mbps(times: &Times, bytes: usize) -> f64 {
    bytes as f64 / median(&times.cpu) * 1e3
}

fn session(runtime: &Runtime, format: Format) -> CompressSession {
    let spec = Compression { format, ..Compression::default() };
    runtime.compression(spec).expect("a session")
}

pub fn compress(data: &[u8], rounds: usize) {
    println!("\ncompress, level 1, raw DEFLATE, 64 KB chunks");
    let data = Arc::new(data.to_vec());
    let count = data.len().div_ceil(CHUNK);
    let room = CHUNK + 1024;
    let runtimes = [runtime(0), runtime(1), runtime(2)];
    let sessions = runtimes.each_ref().map(|r| session(r, Format::Raw));
    let mut pumps = runtimes.each_ref().map(|r| Pump::new(r, 24, room));
    let sizes = RefCell::new([0; 5]);

    // Every answer decoded and compared once, before anything is timed.
    let mut inflate = vec![0; CHUNK];
    let check = runtime(0);
    let check_session = session(&check, Format::Raw);
    pumps[2].run(
        count,
        |i, dst| sessions[2].compress(lent(&data, i, CHUNK), dst),
        |tag, packed| {
            let out = core::mem::take(&mut inflate);
            let r = check.handle().call(check_session.decompress(packed.into(), out.into())).wait();
            let n = r.result.expect("it decodes").produced;
            inflate = r.dst.into_vec();
            assert!(inflate[..n] == data[chunk(&data, tag as usize, CHUNK)]);
        },
    );

    let (mut igzip, mut zlib) = (Igzip::new(), Zlib::new(1));
    let mut out = vec![0; room];
    let mut out2 = out.clone();
    let [own, one, two] = &mut pumps;
    let through = |pump: &mut Pump, s: &CompressSession| {
        pump.run(count, |i, dst| s.compress(lent(&data, i, CHUNK), dst), |_, _| {})
    };
    let mut contenders: [Contender<'_>; 5] = [
        Box::new(|| {
            let each = |i| igzip.compress(&data[chunk(&data, i, CHUNK)], &mut out);
            sizes.borrow_mut()[0] = (0..count).map(each).sum();
        }),
        Box::new(|| sizes.borrow_mut()[1] = through(own, &sessions[0])),
        Box::new(|| sizes.borrow_mut()[2] = through(one, &sessions[1])),
        Box::new(|| sizes.borrow_mut()[3] = through(two, &sessions[2])),
        Box::new(|| {
            let each = |i| zlib.compress(&data[chunk(&data, i, CHUNK)], &mut out2);
            sizes.borrow_mut()[4] = (0..count).map(each).sum();
        }),
    ];
    let t = interleave(rounds, &mut contenders);
    drop(contenders);
    let names = ["bare igzip -1", "own thread", "1 engine", "2 engines", "zlib -1"];
    for ((name, t), size) in names.iter().zip(&t).zip(sizes.into_inner()) {
        println!(
            "  {name:<14} {:>7.1} MB per CPU-second  {:>6.2} %  CPU ms {:<24} wall ms {}",
            mbps(t, data.len()),
            size as f64 * 100.0 / data.len() as f64,
            t.cpu_text(1e-6),
            t.wall_text(1e-6),
        );
    }
    println!(
        "  CPU time through instance and engine / bare igzip: own thread {:.3}, 1 engine {:.3}, 2 engines {:.3}  (bar: at most 1.03)",
        t[1].cpu_ratio(&t[0]),
        t[2].cpu_ratio(&t[0]),
        t[3].cpu_ratio(&t[0])
    );
    println!(
        "  throughput of 2 engines / 1 engine, wall clock: {:.2}  (bar: at least 1.85, on 2 idle cores)",
        t[2].wall_ratio(&t[3])
    );
    println!(
        "  bytes per CPU-second, 1 engine / zlib -1: {:.2}  (bar: at least 3.7)",
        t[4].cpu_ratio(&t[2])
    );
    let counters = runtimes[2].counters();
    let row = counters.row("cpu", Op::Compress).expect("the device counted");
    println!(
        "  served by cpu with 2 engines: {} requests in {} batches",
        row.requests, row.batches
    );
}

pub fn decompress(data: &[u8], rounds: usize) {
    println!("\ndecompress, gzip members of 64 KB");
    let data = Arc::new(data.to_vec());
    let count = data.len().div_ceil(CHUNK);
    let runtimes = [runtime(0), runtime(1)];
    let sessions = runtimes.each_ref().map(|r| session(r, Format::Gzip));
    let mut packed = vec![Vec::new(); count];
    Pump::new(&runtimes[0], 24, CHUNK + 1024).run(
        count,
        |i, dst| sessions[0].compress(lent(&data, i, CHUNK), dst),
        |tag, bytes| packed[tag as usize] = bytes.to_vec(),
    );
    let packed: Vec<Arc<Vec<u8>>> = packed.into_iter().map(Arc::new).collect();
    let lend = |i: usize| Buf::shared(packed[i].clone(), 0..packed[i].len());
    let mut pumps = runtimes.each_ref().map(|r| Pump::new(r, 24, CHUNK));
    for (pump, session) in pumps.iter_mut().zip(&sessions) {
        pump.run(
            count,
            |i, dst| session.decompress(lend(i), dst),
            |tag, bytes| assert!(bytes == &data[chunk(&data, tag as usize, CHUNK)]),
        );
    }
    let mut bare = Libdeflate::new();
    let mut out = vec![0; CHUNK];
    let [own, one] = &mut pumps;
    let through = |pump: &mut Pump, s: &CompressSession| {
        let n = pump.run(count, |i, dst| s.decompress(lend(i), dst), |_, _| {});
        assert_eq!(n, data.len());
    };
    let mut contenders: [Contender<'_>; 3] = [
        Box::new(|| {
            let n: usize = packed.iter().map(|p| bare.gunzip(p, &mut out)).sum();
            assert_eq!(n, data.len());
        }),
        Box::new(|| through(own, &sessions[0])),
        Box::new(|| through(one, &sessions[1])),
    ];
    let t = interleave(rounds, &mut contenders);
    drop(contenders);
    for (name, t) in ["bare libdeflate", "own thread", "1 engine"].iter().zip(&t) {
        let rate = mbps(t, data.len());
        println!("  {name:<15} {rate:>7.1} MB per CPU-second  CPU ms {}", t.cpu_text(1e-6));
    }
    println!(
        "  CPU time / bare libdeflate: own thread {:.3}, 1 engine {:.3}  (bar: at most 1.03)",
        t[1].cpu_ratio(&t[0]),
        t[2].cpu_ratio(&t[0])
    );
}

/// From which size on the device wins.
pub fn crossover(data: &[u8], rounds: usize) {
    println!("\nsmall requests, compress level 1: microseconds of wall clock and CPU per request");
    println!("  {:>8}  {:>16}  {:>16}  {:>16}", "bytes", "direct call", "own thread", "2 engines");
    let data = Arc::new(data[..data.len().min(8_000_000)].to_vec());
    let runtimes = [runtime(0), runtime(2)];
    let sessions = runtimes.each_ref().map(|r| session(r, Format::Raw));
    let mut crossed = None;
    for size in [64, 256, 1024, 4096, 16_384, 65_536] {
        let count = (data.len() / size).min(2000 + 40_000_000 / (size + 4000));
        let mut pumps = runtimes.each_ref().map(|r| Pump::new(r, 64, size + 1024));
        let mut igzip = Igzip::new();
        let mut out = vec![0; size + 1024];
        let [own, two] = &mut pumps;
        let through = |pump: &mut Pump, s: &CompressSession| {
            pump.run(count, |i, dst| s.compress(lent(&data, i, size), dst), |_, _| {});
        };
        let mut contenders: [Contender<'_>; 3] = [
            Box::new(|| {
                for i in 0..count {
                    igzip.compress(&data[chunk(&data, i, size)], &mut out);
                }
            }),
            Box::new(|| through(own, &sessions[0])),
            Box::new(|| through(two, &sessions[1])),
        ];
        let t = interleave(rounds, &mut contenders);
        drop(contenders);
        let per = |t: &Times| {
            let us = |v: &[f64]| median(v) / count as f64 / 1000.0;
            format!("{:.2} / {:.2}", us(&t.wall), us(&t.cpu))
        };
        println!("  {size:>8}  {:>16}  {:>16}  {:>16}", per(&t[0]), per(&t[1]), per(&t[2]));
        if crossed.is_none() && t[2].wall_ratio(&t[0]) < 1.0 {
            crossed = Some(size);
        }
    }
    match crossed {
        Some(64) => println!("  wall clock: 2 engines win at every size, with 64 outstanding"),
        Some(n) => println!("  wall clock: 2 engines win from {n} bytes on, a direct call below"),
        None => println!("  wall clock: a direct call wins at every size"),
    }
    println!("  CPU time: a direct call is the cheapest at every size; the difference is the way");
}
