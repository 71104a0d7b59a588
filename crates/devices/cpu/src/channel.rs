//! One engine's channel: executes each request at once, and keeps the answer until it is polled.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
};

use lookaside_core::{Batch, Buf, Channel, Completed, Done, Op, OpError, Request, Status, Work};

use crate::dc;

pub(crate) struct CpuChannel {
    /// Outside the part of `submit` that may panic.
    current: Option<Work>,
    finished: VecDeque<Work>,
    memory: Memory,
    scratch: dc::Scratch,
}

/// Where scattered buffers are gathered; grows to the largest of them.
#[derive(Default)]
struct Memory {
    src: Vec<u8>,
    dst: Vec<u8>,
}

impl CpuChannel {
    pub(crate) fn new() -> CpuChannel {
        CpuChannel {
            current: None,
            finished: VecDeque::with_capacity(64),
            memory: Memory::default(),
            scratch: dc::Scratch::new(),
        }
    }

    /// Executes the current request.
    fn execute(&mut self) -> Result<Done, OpError> {
        let work = self.current.as_mut().ok_or(OpError::Cancelled)?;
        let device = usize::from(work.device);
        let Request { op, args, session, src, dst, .. } = work.request_mut();
        let prepared = session.prepared.get(device).and_then(Option::as_ref);
        let prepared = prepared.ok_or(OpError::Unsupported)?;
        let scratch = &mut self.scratch;
        on_slices(&mut self.memory, src, dst, |src, dst| match op {
            Op::Copy => copy(src, dst),
            Op::Compress => dc::compress(prepared, scratch, src, dst, args.flush),
            Op::Decompress => dc::decompress(prepared, scratch, src, dst),
            _ => Err(OpError::Unsupported),
        })
    }

    /// The current request has ended.
    fn end(&mut self, result: Result<Done, OpError>) {
        if let Some(mut work) = self.current.take() {
            work.finish(result);
            self.finished.push_back(work);
        }
    }
}

/// Calls `f` with the source and destination in one piece each. A list is gathered before, or
/// scattered after: one copy, which a kernel that needs contiguous memory cannot do without.
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
        staged.resize(len, 0);
    }
    let done = f(src, &mut staged[..len])?;
    dst.scatter(&staged[..done.produced]);
    Ok(done)
}

fn copy(src: &[u8], dst: &mut [u8]) -> Result<Done, OpError> {
    let n = src.len();
    dst.get_mut(..n).ok_or(OpError::DstTooSmall)?.copy_from_slice(src);
    Ok(Done { consumed: n, produced: n, checksum: 0, status: Status::Complete })
}

impl Channel for CpuChannel {
    fn submit(&mut self, batch: &mut Batch<'_>) -> usize {
        let before = self.finished.len();
        // A panic in a kernel is a defect of ours. It costs the one request, not the engine.
        while catch_unwind(AssertUnwindSafe(|| {
            while let Some(work) = batch.take() {
                self.current = Some(work);
                let result = self.execute();
                self.end(result);
            }
        }))
        .is_err()
        {
            self.scratch = dc::Scratch::new();
            self.end(Err(OpError::DeviceLost));
        }
        self.finished.len() - before
    }

    fn poll(&mut self, done: &mut Completed) -> usize {
        let n = self.finished.len();
        done.append(&mut self.finished);
        n
    }

    fn in_flight(&self) -> usize {
        self.finished.len()
    }
}
