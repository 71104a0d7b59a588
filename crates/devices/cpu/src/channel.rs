//! One engine's channel: executes each request at once, and keeps the answer until it is polled.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
};

use lookaside_core::{Batch, Buf, Channel, Completed, Done, Op, OpError, Request, Status, Work};

use crate::dc;

pub(crate) struct CpuChannel {
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
            finished: VecDeque::with_capacity(64),
            memory: Memory::default(),
            scratch: dc::Scratch::new(),
        }
    }

    fn execute(&mut self, work: &mut Work) -> Result<Done, OpError> {
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
        let mut taken = 0;
        while let Some(mut work) = batch.take() {
            // A panic in a kernel is a defect of ours. It costs this request, not the engine.
            let result = catch_unwind(AssertUnwindSafe(|| self.execute(&mut work)));
            let result = result.unwrap_or_else(|_| {
                self.scratch = dc::Scratch::new();
                Err(OpError::DeviceLost)
            });
            work.finish(result);
            self.finished.push_back(work);
            taken += 1;
        }
        taken
    }

    fn poll(&mut self, done: &mut Completed) -> usize {
        let n = self.finished.len();
        for work in self.finished.drain(..) {
            let result = work.result();
            done.push(work, result);
        }
        n
    }

    fn in_flight(&self) -> usize {
        self.finished.len()
    }
}
