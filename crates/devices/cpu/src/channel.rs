//! One engine's channel: executes each request at once, and keeps the answer until it is polled.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
};

use lookaside_core::{
    Args, Batch, Buf, Channel, Completed, Done, Finished, Op, OpError, Status, Work,
};

use crate::{Mover, dc};

pub(crate) struct CpuChannel {
    finished: VecDeque<Finished>,
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
        // Taken out so that the session, which `work` owns, can be looked at meanwhile.
        let src = core::mem::take(&mut work.request.src);
        let mut dst = core::mem::take(&mut work.request.dst);
        let (session, scratch) = (&*work, &mut self.scratch);
        let result =
            on_slices(&mut self.memory, &src, &mut dst, |src, dst| run(session, scratch, src, dst));
        work.request.src = src;
        work.request.dst = dst;
        result
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
    if !dst.is_writable() {
        return Err(OpError::Unsupported);
    }
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
    let len = dst.len();
    if staged.len() < len {
        staged.resize(len, 0);
    }
    let done = f(src, &mut staged[..len])?;
    dst.scatter(&staged[..done.produced]);
    Ok(done)
}

fn run(
    work: &Work,
    scratch: &mut dc::Scratch,
    src: &[u8],
    dst: &mut [u8],
) -> Result<Done, OpError> {
    let Args { flush, .. } = work.request.args;
    match work.request.op {
        Op::Copy => {
            work.prepared::<Mover>().ok_or(OpError::Unsupported)?;
            let dst = dst.get_mut(..src.len()).ok_or(OpError::DstTooSmall)?;
            dst.copy_from_slice(src);
            let n = src.len();
            Ok(Done { consumed: n, produced: n, checksum: 0, status: Status::Complete })
        }
        Op::Compress => dc::compress(work, scratch, src, dst, flush),
        Op::Decompress => dc::decompress(work, scratch, src, dst),
        _ => Err(OpError::Unsupported),
    }
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
            self.finished.push_back(Finished { work, result });
            taken += 1;
        }
        taken
    }

    fn poll(&mut self, done: &mut Completed) -> usize {
        let n = self.finished.len();
        for Finished { work, result } in self.finished.drain(..) {
            done.push(work, result);
        }
        n
    }

    fn in_flight(&self) -> usize {
        self.finished.len()
    }
}
