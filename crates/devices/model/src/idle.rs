//! The device for a model whose times alone matter.

use std::collections::VecDeque;

use lookaside_core::{
    Batch, Capability, Channel, Completed, Device, Done, EngineId, Lost, Op, Prepared, SessionSpec,
    SetupError, Status, Wake, Work,
};

/// A device that executes nothing: it answers every request at once, as if the whole source had been taken
/// and the whole destination been written. For a [`Model`](crate::Model) on a virtual clock; never for data.
#[derive(Debug)]
pub struct Idle(Vec<Capability>);

impl Idle {
    /// A device that claims to do everything.
    pub fn new() -> Idle {
        let capability = |op| Capability {
            op,
            algorithm: "any".into(),
            served_by: "nobody".into(),
            best_batch: 1,
            max_src: usize::MAX,
        };
        Idle(Op::ALL.map(capability).into())
    }
}

impl Default for Idle {
    fn default() -> Idle {
        Idle::new()
    }
}

impl Device for Idle {
    fn name(&self) -> &str {
        "idle"
    }

    fn capabilities(&self) -> &[Capability] {
        &self.0
    }

    fn prepare(&self, _: &SessionSpec) -> Result<Prepared, SetupError> {
        Ok(Prepared::new(()))
    }

    fn open_channel(&self, _: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        Ok(Box::new(IdleChannel::default()))
    }
}

#[derive(Default)]
struct IdleChannel {
    answered: VecDeque<Work>,
}

impl Channel for IdleChannel {
    fn submit(&mut self, _: u64, batch: &mut Batch<'_>) -> usize {
        let before = self.answered.len();
        while let Some(mut work) = batch.take() {
            let request = work.request();
            let (consumed, produced) = (request.src.len(), request.dst.len());
            work.finish(Ok(Done { consumed, produced, checksum: 0, status: Status::Complete }));
            self.answered.push_back(work);
        }
        self.answered.len() - before
    }

    fn poll(&mut self, _: u64, done: &mut Completed) -> usize {
        let n = self.answered.len();
        done.append(&mut self.answered);
        n
    }

    fn in_flight(&self) -> usize {
        self.answered.len()
    }

    fn wake(&self) -> Wake {
        if self.answered.is_empty() { Wake::Never } else { Wake::Now }
    }

    fn reset(&mut self, done: &mut Completed) {
        for mut work in self.answered.drain(..) {
            work.lose(Lost::Untouched);
            let result = *work.result();
            done.push(work, result);
        }
    }
}
