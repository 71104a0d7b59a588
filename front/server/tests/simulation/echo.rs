//! A device that takes virtual time and answers each request with what belongs to its sender alone.

use std::collections::VecDeque;

use lookaside::{
    Batch, Capability, Carried, Channel, Completed, Device, Done, EngineId, Lost, Op, Prepared,
    SessionSpec, SetupError, Wake, Work,
};

/// Who a byte belongs to: its upper half. 0 belongs to nobody.
pub fn owner(byte: u8) -> u8 {
    byte >> 4
}

/// A source byte of this tenant.
pub fn mine(tenant: u8, n: u64) -> u8 {
    tenant << 4 | (n % 8) as u8
}

/// What becomes of a source byte: it keeps its owner.
pub fn answer_of(byte: u8) -> u8 {
    byte ^ 8
}

/// What a tenant's destinations hold before they are written.
pub fn poison(tenant: u8) -> u8 {
    tenant << 4 | 0xf
}

/// What a request of `bytes` does to a destination.
pub fn apply(src: &[u8], dst: &mut [u8]) -> usize {
    let n = src.len().min(dst.len());
    dst.iter_mut().zip(src).for_each(|(to, from)| *to = answer_of(*from));
    n
}

/// The kinds of requests that are simulated.
pub const OPS: [Op; 4] = [Op::Copy, Op::Compress, Op::XdhDerive, Op::Encrypt];

pub struct Echo {
    name: &'static str,
    ns_per_kib: u64,
    rows: Vec<Capability>,
    /// Called while a request is executed: within a turn of the server where that executes it itself.
    meanwhile: fn(),
}

impl Echo {
    pub fn new(name: &'static str, ns_per_kib: u64, meanwhile: fn()) -> Echo {
        let row = |op| Capability {
            op,
            algorithm: "echo".into(),
            served_by: "simulation".into(),
            best_batch: if op == Op::XdhDerive { 4 } else { 1 },
            max_src: usize::MAX,
        };
        Echo { name, ns_per_kib, rows: OPS.map(row).into(), meanwhile }
    }
}

/// Nothing.
pub fn alone() {}

impl Device for Echo {
    fn name(&self) -> &str {
        self.name
    }

    fn capabilities(&self) -> &[Capability] {
        &self.rows
    }

    fn prepare(&self, spec: &SessionSpec) -> Result<Prepared, SetupError> {
        let row = self.rows.iter().find(|row| spec.ops().contains(&row.op));
        row.map(|row| Prepared::new(()).best_batch(row.best_batch)).ok_or_else(|| {
            let (device, what) = (self.name.into(), "not simulated");
            SetupError::Unsupported { device, op: Op::Random, what }
        })
    }

    fn open_channel(&self, _engine: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        Ok(Box::new(EchoChannel {
            ns_per_kib: self.ns_per_kib,
            meanwhile: self.meanwhile,
            until_ns: 0,
            held: VecDeque::new(),
        }))
    }
}

struct EchoChannel {
    ns_per_kib: u64,
    meanwhile: fn(),
    until_ns: u64,
    held: VecDeque<(u64, Work)>,
}

/// How many requests a channel holds.
const ROOM: usize = 4;

impl Channel for EchoChannel {
    fn submit(&mut self, now_ns: u64, batch: &mut Batch<'_>) -> usize {
        let mut taken = 0;
        while self.held.len() < ROOM
            && let Some(mut work) = batch.take()
        {
            taken += 1;
            (self.meanwhile)();
            let mut src = Vec::new();
            let request = work.request_mut();
            request.src.gather(&mut src);
            let bytes = src.len();
            let produced = bytes.min(request.dst.len());
            let made: Vec<u8> = src[..produced].iter().map(|byte| answer_of(*byte)).collect();
            request.dst.scatter(&made);
            if let Some(Carried::Packet(packet)) = request.carried.as_deref_mut() {
                packet.result = Ok(produced as u32);
            }
            work.finish(Ok(Done { consumed: bytes, produced, ..Done::default() }));
            self.until_ns = self.until_ns.max(now_ns) + bytes as u64 * self.ns_per_kib / 1024;
            self.held.push_back((self.until_ns, work));
        }
        taken
    }

    fn poll(&mut self, now_ns: u64, done: &mut Completed) -> usize {
        let mut n = 0;
        while self.held.front().is_some_and(|(due, _)| *due <= now_ns)
            && let Some((_, work)) = self.held.pop_front()
        {
            let result = *work.result();
            done.push(work, result);
            n += 1;
        }
        n
    }

    fn in_flight(&self) -> usize {
        self.held.len()
    }

    fn wake(&self) -> Wake {
        self.held.front().map_or(Wake::Never, |(due, _)| Wake::At(*due))
    }

    fn reset(&mut self, done: &mut Completed) {
        for (_, mut work) in self.held.drain(..) {
            work.lose(Lost::Touched);
            let result = *work.result();
            done.push(work, result);
        }
    }
}
