//! A simulated device: takes time in proportion to bytes, on the clock of the runtime.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use lookaside_core::{
    Batch, Capability, Carried, Channel, Completed, Device, Done, EngineId, Lost, Op, OpError,
    Prepared, SessionSpec, SetupError, Status, Wake, Work,
};

/// The first byte of a source that takes long.
pub const SLOW: u8 = 0xff;

/// A device that copies, at a given rate of virtual time. A compression stream on it is a copy
/// too, which overflows when its destination is short, and which checks order: the first byte of
/// each piece must be one more than that of the piece before. A piece of a flow that is scanned has to begin with the
/// flow's state, a byte, which is one more afterwards. A copy of bytes [`SLOW`] takes a hundred times
/// as long: content that its size does not tell.
pub struct SimDevice {
    name: String,
    ns_per_kib: u64,
    best_batch: usize,
    capabilities: Vec<Capability>,
    executed: Arc<AtomicU64>,
}

impl SimDevice {
    /// A device with this name and speed. `best_batch` requests share one start-up time.
    pub fn new(name: &str, ns_per_kib: u64, best_batch: usize) -> SimDevice {
        let capability = |op| Capability {
            op,
            algorithm: "copy".into(),
            served_by: "simulation".into(),
            best_batch,
            max_src: usize::MAX,
        };
        SimDevice {
            name: name.into(),
            ns_per_kib,
            best_batch,
            capabilities: [Op::Copy, Op::Compress, Op::Scan].map(capability).into(),
            executed: Arc::default(),
        }
    }

    /// How many requests its channels have executed; lives on when the device has moved.
    pub fn executed(&self) -> Arc<AtomicU64> {
        self.executed.clone()
    }
}

struct Plain;

/// The first byte that the stream's next piece must have.
struct Stream(Mutex<u8>);

impl Device for SimDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> &[Capability] {
        &self.capabilities
    }

    fn prepare(&self, spec: &SessionSpec) -> Result<Prepared, SetupError> {
        match spec {
            SessionSpec::CompressStream { .. } => Ok(Prepared::new(Stream(Mutex::new(0)))),
            SessionSpec::Scan(_) => Ok(Prepared::new(Plain).flow([0])),
            SessionSpec::Mover | SessionSpec::Compression(_) => Ok(Prepared::new(Plain)),
            _ => Err(SetupError::Unsupported {
                device: self.name.clone(),
                op: Op::Decompress,
                what: "the simulation cannot",
            }),
        }
    }

    fn open_channel(&self, _engine: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        Ok(Box::new(SimChannel {
            ns_per_kib: self.ns_per_kib,
            room: self.best_batch,
            busy_until_ns: 0,
            held: VecDeque::new(),
            executed: self.executed.clone(),
        }))
    }
}

struct SimChannel {
    ns_per_kib: u64,
    room: usize,
    busy_until_ns: u64,
    held: VecDeque<(u64, Work)>,
    executed: Arc<AtomicU64>,
}

fn execute(work: &mut Work) -> Result<Done, OpError> {
    let mut src = Vec::new();
    work.request().src.gather(&mut src);
    if let Some(Carried::Flow(state)) = work.request_mut().carried.as_deref_mut() {
        let (Some(state), Some(first)) = (state.first_mut(), src.first()) else {
            return Err(OpError::BadInput("a piece without bytes"));
        };
        if *state != *first {
            // It has run before: the test will see this.
            return Err(OpError::AuthFailed);
        }
        *state = state.wrapping_add(1);
        return Ok(Done { consumed: src.len(), ..Done::default() });
    }
    let stream = work.prepared::<Stream>().map(|s| s.0.lock());
    let room = work.request().dst.len();
    let n = src.len().min(room);
    if n < src.len() && stream.is_none() {
        return Err(OpError::DstTooSmall);
    }
    if let (Some(Ok(mut next)), Some(first)) = (stream, src.first()) {
        if *first != *next {
            // Not this piece's turn: the runtime broke the order, and the test will see this.
            return Err(OpError::AuthFailed);
        }
        if n == src.len() {
            *next = next.wrapping_add(1);
        } else {
            // The caller submits the whole piece again: nothing is consumed.
            return Ok(Done { consumed: 0, produced: 0, checksum: 0, status: Status::Overflow });
        }
    }
    work.request_mut().dst.scatter(&src[..n]);
    Ok(Done { consumed: n, produced: n, checksum: 0, status: Status::Complete })
}

impl Channel for SimChannel {
    fn submit(&mut self, now_ns: u64, batch: &mut Batch<'_>) -> usize {
        let mut taken = 0;
        while self.held.len() < self.room
            && let Some(mut work) = batch.take()
        {
            self.executed.fetch_add(1, Ordering::Relaxed);
            let result = execute(&mut work);
            let src = &work.request().src;
            let slow = src.as_slice().and_then(|s| s.first()) == Some(&SLOW);
            let factor = if slow && work.request().op == Op::Copy { 100 } else { 1 };
            let cost = src.len() as u64 * self.ns_per_kib / 1024 * factor;
            self.busy_until_ns = self.busy_until_ns.max(now_ns) + cost;
            work.finish(result);
            self.held.push_back((self.busy_until_ns, work));
            taken += 1;
        }
        taken
    }

    fn poll(&mut self, now_ns: u64, done: &mut Completed) -> usize {
        let mut n = 0;
        while self.held.front().is_some_and(|(t, _)| *t <= now_ns)
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
        self.held.front().map_or(Wake::Never, |&(ns, _)| Wake::At(ns))
    }

    fn reset(&mut self, done: &mut Completed) {
        for (_, mut work) in self.held.drain(..) {
            work.lose(Lost::Touched);
            let result = *work.result();
            done.push(work, result);
        }
    }
}
