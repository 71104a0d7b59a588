//! A load on the device: as many requests outstanding as keep all its engines busy, for a while.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use lookaside::{
    Buf, CompressSession, Done, InstanceConfig, Op, OpCounters, OpError, Request, Runtime,
};

use crate::data::{Data, PACKET};

/// Requests outstanding for each engine: milliseconds of work, so that none waits for this thread
/// even when it shares a CPU with an engine.
const PER_ENGINE: usize = 32;

/// Why there is no measurement.
#[derive(Debug)]
pub enum Failure {
    /// The device answered a request with an error.
    Answer(Op, usize, OpError),
    /// The device's answer is wrong.
    Wrong(Op, usize),
    /// No instance could be opened.
    Setup(lookaside::SetupError),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Answer(op, packet, e) => write!(f, "{op} of packet {packet}: {e}"),
            Failure::Wrong(op, packet) => write!(f, "{op} of packet {packet}: a wrong answer"),
            Failure::Setup(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

/// What one measurement saw.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Uncompressed bytes per second.
    pub bytes_per_s: f64,
    /// What the device counted meanwhile.
    pub counted: OpCounters,
    /// The part of the time that the engines were busy, 0 to 1.
    pub busy: f64,
}

/// One kind of request: for each packet, its source; and the session.
pub struct Load<'a> {
    op: Op,
    session: &'a CompressSession,
    sources: Vec<(Arc<Vec<u8>>, core::ops::Range<usize>)>,
    dst_len: usize,
}

impl<'a> Load<'a> {
    /// Compression of each packet.
    pub fn compress(session: &'a CompressSession, data: &Data) -> Load<'a> {
        let source = |i| (data.bytes.clone(), i * PACKET..(i + 1) * PACKET);
        let sources = (0..data.packets()).map(source).collect();
        Load { op: Op::Compress, session, sources, dst_len: session.bound(PACKET) }
    }

    /// Decompression of each of these, which were packets.
    pub fn decompress(session: &'a CompressSession, packed: &[Vec<u8>]) -> Load<'a> {
        let sources = packed.iter().map(|p| (Arc::new(p.clone()), 0..p.len())).collect();
        Load { op: Op::Decompress, session, sources, dst_len: PACKET }
    }

    fn request(&self, packet: usize, dst: Buf) -> Request {
        let (memory, range) = &self.sources[packet];
        let src = Buf::shared(memory.clone(), range.clone());
        let request = match self.op {
            Op::Decompress => self.session.decompress(src, dst),
            _ => self.session.compress(src, dst),
        };
        request.tag(packet as u64)
    }

    /// Whether the counts of an answer can be right.
    fn check(&self, packet: usize, result: Result<Done, OpError>) -> Result<Done, Failure> {
        let done = result.map_err(|e| Failure::Answer(self.op, packet, e))?;
        let whole = done.consumed == self.sources[packet].1.len();
        let sound = match self.op {
            Op::Decompress => done.produced == PACKET,
            _ => done.produced > 0,
        };
        if whole && sound { Ok(done) } else { Err(Failure::Wrong(self.op, packet)) }
    }

    /// Keeps the device busy: requests packet after packet, around and around, while `more` says so
    /// of the number already pushed. `answered` sees each packet and its result.
    fn run(
        &self,
        runtime: &Runtime,
        mut more: impl FnMut(usize) -> bool,
        mut answered: impl FnMut(usize, &[u8]),
    ) -> Result<(), Failure> {
        let depth = runtime.engines().max(1) * PER_ENGINE;
        let config = InstanceConfig { depth, ..InstanceConfig::default() };
        let mut instance = runtime.instance(config).map_err(Failure::Setup)?;
        let mut spare: Vec<Buf> = (0..depth).map(|_| Buf::zeroed(self.dst_len)).collect();
        let mut pushed = 0;
        loop {
            while !spare.is_empty() && more(pushed) {
                let Some(dst) = spare.pop() else { break };
                if instance.push(self.request(pushed % self.sources.len(), dst)).is_err() {
                    unreachable!("there are as many destinations as the ring is deep");
                }
                pushed += 1;
            }
            instance.doorbell();
            if instance.outstanding() == 0 {
                return Ok(());
            }
            instance.wait_many(depth / 4, Duration::from_secs(1));
            for response in instance.poll() {
                let packet = response.tag as usize;
                let done = self.check(packet, response.result)?;
                let dst = response.dst.as_slice().unwrap_or_default();
                answered(packet, dst.get(..done.produced).unwrap_or_default());
                spare.push(response.dst);
            }
        }
    }

    /// Each packet once; returns the results.
    pub fn once(&self, runtime: &Runtime) -> Result<Vec<Vec<u8>>, Failure> {
        let mut results = vec![Vec::new(); self.sources.len()];
        let all = self.sources.len();
        self.run(runtime, |pushed| pushed < all, |packet, dst| results[packet] = dst.to_vec())?;
        Ok(results)
    }

    /// As many as fit into `time`, counted.
    pub fn measure(&self, runtime: &Runtime, time: Duration) -> Result<Measured, Failure> {
        let before = self.counters(runtime);
        let mut answers = 0u64;
        let start = Instant::now();
        let more = |pushed| pushed == 0 || start.elapsed() < time;
        self.run(runtime, more, |_, _| answers += 1)?;
        let elapsed = start.elapsed();
        let after = self.counters(runtime);
        let counted = OpCounters {
            requests: after.requests - before.requests,
            batches: after.batches - before.batches,
            src_bytes: after.src_bytes - before.src_bytes,
            dst_bytes: after.dst_bytes - before.dst_bytes,
            busy_ns: after.busy_ns - before.busy_ns,
            ..after
        };
        let engine_ns = elapsed.as_nanos() as f64 * runtime.engines().max(1) as f64;
        Ok(Measured {
            bytes_per_s: (answers * PACKET as u64) as f64 / elapsed.as_secs_f64(),
            busy: (counted.busy_ns as f64 / engine_ns).min(1.0),
            counted,
        })
    }

    fn counters(&self, runtime: &Runtime) -> OpCounters {
        let counters = runtime.counters();
        counters.row("cpu", self.op).cloned().unwrap_or_default()
    }
}
