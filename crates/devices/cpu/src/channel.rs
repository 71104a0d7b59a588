//! One engine's channel: executes each request at once, and keeps the answer until it is polled.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
};

use lookaside_core::{
    Batch, Buf, Carried, Channel, Completed, Done, Flush, Lost, Op, OpError, Request, Service,
    Wake, Work, wipe_stack,
};
use lookaside_simd::Cpu;

use crate::{
    crypto::{self, SideBySide},
    dc, scan, xml,
};

pub(crate) struct CpuChannel {
    /// What is being executed side by side. Outside the part of `submit` that may panic.
    current: Vec<Work>,
    finished: VecDeque<Work>,
    /// Whether the last of `finished` is still being executed.
    runs_last: bool,
    kernels: Kernels,
    /// Whether cryptography was executed since the channel was last idle.
    stained: bool,
}

/// How much of the stack a batch takes at most, as the runtime documents it (`Builder::engines`; its test
/// `stack` measures it). Unoptimised frames are larger.
const STACK: usize = if cfg!(debug_assertions) { 768 << 10 } else { 192 << 10 };

/// What executes, and the memory that it needs.
struct Kernels {
    cpu: Cpu,
    memory: Memory,
    scratch: dc::Scratch,
    scans: scan::Memory,
    documents: xml::Memory,
    side_by_side: SideBySide,
}

/// Where scattered buffers are gathered. Between requests at most [`Memory::KEEP`] of each stays.
#[derive(Default)]
struct Memory {
    src: Vec<u8>,
    dst: Vec<u8>,
}

impl Memory {
    /// Above this, fetching memory from the system again (some 100 us for 1 MiB) is small beside the
    /// request itself: to gather as much, and to compress it at 1 GB/s, takes ten times as long.
    const KEEP: usize = 1 << 20;

    /// Releases what a large list took.
    fn trim(&mut self) {
        for memory in [&mut self.src, &mut self.dst] {
            if memory.capacity() > Self::KEEP {
                *memory = Vec::new();
            }
        }
    }
}

/// Room for `len` bytes in all.
fn reserve(memory: &mut Vec<u8>, len: usize) -> Result<(), OpError> {
    let more = len.saturating_sub(memory.len());
    memory.try_reserve_exact(more).map_err(|_| OpError::NoMemory)
}

impl CpuChannel {
    pub(crate) fn new(cpu: Cpu) -> CpuChannel {
        CpuChannel {
            current: Vec::with_capacity(SideBySide::MOST),
            finished: VecDeque::with_capacity(64),
            runs_last: false,
            kernels: Kernels::new(cpu),
            stained: false,
        }
    }

    /// Executes what is next of the batch: requests whose service has lanes side by side, others
    /// one by one.
    fn execute(&mut self, batch: &mut Batch<'_>) {
        let Some(service) = batch.op().map(Op::service) else { return };
        let most = SideBySide::lanes(service);
        if most == 1 {
            return self.execute_each(batch);
        }
        self.stained = true;
        while self.current.len() < most
            && let Some(work) = batch.take()
        {
            self.current.push(work);
        }
        self.kernels.execute(service, &mut self.current);
        self.finished.extend(self.current.drain(..));
    }

    /// Executes requests one by one, where they wait to be polled.
    fn execute_each(&mut self, batch: &mut Batch<'_>) {
        while let Some(work) = batch.take() {
            self.runs_last = true;
            self.finished.push_back(work);
            if let Some(work) = self.finished.back_mut() {
                self.kernels.execute_one(work);
            }
            self.runs_last = false;
        }
    }

    /// Whatever was being executed is lost.
    #[cold]
    fn lose_current(&mut self) {
        self.kernels.renew();
        if core::mem::take(&mut self.runs_last) {
            self.finished.back_mut().into_iter().for_each(lose);
        }
        self.current.iter_mut().for_each(lose);
        self.finished.extend(self.current.drain(..));
    }
}

impl Kernels {
    fn new(cpu: Cpu) -> Kernels {
        Kernels {
            side_by_side: SideBySide::new(&cpu),
            cpu,
            memory: Memory::default(),
            scratch: dc::Scratch::new(),
            scans: scan::Memory::default(),
            documents: xml::Memory::default(),
        }
    }

    /// Executes requests of one service, at most its lanes.
    fn execute(&mut self, service: Service, works: &mut [Work]) {
        match SideBySide::lanes(service) {
            1 => works.iter_mut().for_each(|work| self.execute_one(work)),
            _ => self.side_by_side.execute(service, works),
        }
    }

    fn execute_one(&mut self, work: &mut Work) {
        let device = usize::from(work.device);
        let Request { op, args, session, src, dst, carried, .. } = work.request_mut();
        let prepared = session.prepared.get(device).and_then(Option::as_ref);
        let (cpu, scratch) = (&self.cpu, &mut self.scratch);
        let result = match (*op, prepared) {
            (_, None) => Err(OpError::Unsupported),
            (Op::Compress, Some(prepared)) => on_slices(&mut self.memory, src, dst, |src, dst| {
                dc::compress(prepared, scratch, src, dst, args.flush)
            }),
            (Op::Decompress, Some(prepared)) => {
                on_slices(&mut self.memory, src, dst, |src, dst| {
                    dc::decompress(prepared, scratch, src, dst)
                })
            }
            (Op::Scan, Some(prepared)) => {
                let (scans, flush) = (&mut self.scans, args.flush);
                let mut scan = |flow: Option<&mut Vec<u8>>| {
                    on_slices(&mut self.memory, src, dst, |src, dst| {
                        scan::scan(prepared, scans, flow, src, dst, flush)
                    })
                };
                match carried.as_deref_mut() {
                    Some(Carried::Flow(state)) => scan(Some(state)),
                    Some(Carried::SharedFlow(flow)) => {
                        flow.piece(flush == Flush::Finish, |state| scan(Some(state)))
                    }
                    _ => scan(None),
                }
            }
            (Op::Parse, Some(_)) => match carried.as_deref() {
                Some(Carried::Document(document)) => {
                    let (memory, flush) = (&mut self.documents, args.flush);
                    let is_whole = session.order.is_none();
                    on_slices(&mut self.memory, src, dst, |src, dst| {
                        xml::parse(document, is_whole, memory, src, dst, flush)
                    })
                }
                _ => Err(OpError::Unsupported),
            },
            (op, _) => crypto::execute_one(cpu, op, src, dst).unwrap_or(Err(OpError::Unsupported)),
        };
        self.memory.trim();
        work.finish(result);
    }

    /// After a panic of one of them.
    fn renew(&mut self) {
        self.scratch = dc::Scratch::new();
        self.scans = scan::Memory::default();
        self.documents = xml::Memory::default();
        self.side_by_side = SideBySide::new(&self.cpu);
    }
}

/// A panic in a kernel is a defect of ours. It costs the requests that ran, not the engine.
fn lose(work: &mut Work) {
    work.lose(Lost::Touched);
}

/// Calls `f` with the source and destination in one piece each. A list is gathered before, or
/// scattered after: one copy, which a kernel that needs contiguous memory cannot do without.
///
/// # Errors
/// [`OpError::NoMemory`] where there is no memory for the copy.
fn on_slices(
    memory: &mut Memory,
    src: &Buf,
    dst: &mut Buf,
    f: impl FnOnce(&[u8], &mut [u8]) -> Result<Done, OpError>,
) -> Result<Done, OpError> {
    let Memory { src: gathered, dst: staged } = memory;
    let src = match src.as_slice() {
        Some(slice) => slice,
        None => {
            gathered.clear();
            reserve(gathered, src.len())?;
            src.gather(gathered);
            gathered
        }
    };
    if let Some(slice) = dst.as_mut_slice() {
        return f(src, slice);
    }
    if !dst.is_writable() {
        return Err(OpError::Unsupported);
    }
    let len = dst.len();
    if staged.len() < len {
        reserve(staged, len)?;
        staged.resize(len, 0);
    }
    let done = f(src, &mut staged[..len])?;
    dst.scatter(&staged[..done.produced]);
    Ok(done)
}

impl Channel for CpuChannel {
    fn submit(&mut self, _now_ns: u64, batch: &mut Batch<'_>) -> usize {
        let before = self.finished.len();
        while catch_unwind(AssertUnwindSafe(|| {
            while !batch.is_empty() {
                self.execute(batch);
            }
        }))
        .is_err()
        {
            self.lose_current();
        }
        self.finished.len() - before
    }

    fn run_now(&mut self, work: &mut Work) -> bool {
        let service = work.request().op.service();
        self.stained |= SideBySide::lanes(service) > 1;
        let execute = || self.kernels.execute(service, std::slice::from_mut(work));
        if catch_unwind(AssertUnwindSafe(execute)).is_err() {
            self.kernels.renew();
            lose(work);
        }
        true
    }

    fn poll(&mut self, _now_ns: u64, done: &mut Completed) -> usize {
        let n = self.finished.len();
        done.append(&mut self.finished);
        n
    }

    fn in_flight(&self) -> usize {
        self.finished.len()
    }

    fn wake(&self) -> Wake {
        match self.finished.is_empty() {
            true => Wake::Never,
            false => Wake::Now,
        }
    }

    /// Kernels leave keys on the stack, where the compiler puts what registers have no room for. To
    /// overwrite that takes microseconds: not after each batch, but before the engine sleeps.
    fn idle(&mut self) {
        if std::mem::take(&mut self.stained) {
            wipe_stack(STACK);
        }
    }

    fn reset(&mut self, done: &mut Completed) {
        done.append(&mut self.finished);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lookaside_core::{Args, Class, Compression, Device, Session, SessionSpec};

    use super::*;

    #[test]
    fn memory_of_a_large_list_does_not_stay() {
        let device = crate::cpu();
        let spec = SessionSpec::Compression(Compression::default());
        let prepared = Box::new([device.prepare(&spec).ok()]);
        let session =
            Arc::new(Session { ops: spec.ops(), class: Class::new(0), prepared, order: None });
        let mut kernels = Kernels::new(Cpu::host().clone());
        let mut run = |segment: usize| {
            let list = || Buf::list(vec![Buf::zeroed(segment), Buf::zeroed(segment)]);
            let mut work = Work::empty();
            let args = Args::default();
            work.fill(Request::new(Op::Compress, session.clone(), args, list(), list()));
            kernels.execute_one(&mut work);
            assert_eq!(work.result().map(|done| done.consumed), Ok(2 * segment));
            [kernels.memory.src.capacity(), kernels.memory.dst.capacity()]
        };
        let small = run(1000);
        assert!(small.iter().all(|&kept| kept >= 2000), "{small:?}");
        assert_eq!(run(Memory::KEEP), [0, 0]);
    }

    /// Memory that panics when it is looked at.
    struct Broken(std::sync::atomic::AtomicBool);

    impl AsRef<[u8]> for Broken {
        fn as_ref(&self) -> &[u8] {
            assert!(!self.0.load(std::sync::atomic::Ordering::Relaxed), "looked at");
            &[0; 8]
        }
    }

    #[test]
    fn a_panic_costs_the_request_that_ran() {
        let device = crate::cpu();
        let spec = SessionSpec::Compression(Compression::default());
        let prepared = Box::new([device.prepare(&spec).ok()]);
        let session =
            Arc::new(Session { ops: spec.ops(), class: Class::new(0), prepared, order: None });
        let broken = Arc::new(Broken(false.into()));
        let sources = [Buf::zeroed(8), Buf::shared(broken.clone(), 0..8), Buf::zeroed(8)];
        let mut works: VecDeque<Work> = sources
            .into_iter()
            .map(|src| {
                let mut work = Work::empty();
                let (session, dst) = (session.clone(), Buf::zeroed(64));
                work.fill(Request::new(Op::Compress, session, Args::default(), src, dst));
                work
            })
            .collect();
        broken.0.store(true, std::sync::atomic::Ordering::Relaxed);
        let mut channel = CpuChannel::new(Cpu::host().clone());
        assert_eq!(channel.submit(0, &mut Batch::new(&mut works)), 3);
        let mut done = Completed::default();
        assert_eq!((channel.poll(0, &mut done), channel.in_flight()), (3, 0));
        let results: Vec<_> = done.iter().map(|w| w.result().map(|d| d.consumed)).collect();
        assert_eq!(results, [Ok(8), Err(OpError::DeviceLost(Lost::Touched)), Ok(8)]);
    }
}
