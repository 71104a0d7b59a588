//! The runtime without engines, which executes on the threads that submit.

use core::time::Duration;
use std::sync::Arc;

use lookaside::{Builder, Op, Runtime};
use lookaside_qat_card::QatDevice;
use lookaside_shared::SharedDevice;
use once_cell::race::OnceBox;

use super::{fibre::Fibre, stack::Stack};
use crate::error::{Reason, Result};

/// Nothing in a lane is due before its jobs say so.
const NEVER: Duration = Duration::from_secs(1 << 30);

/// What every runtime of a provider has: the machine's device and the card, where the environment names them, and
/// the CPU.
pub(super) fn builder() -> Builder {
    let builder = Runtime::builder();
    let builder = match SharedDevice::drop_in() {
        Some(shared) => builder.device(shared),
        None => builder,
    };
    let builder = match QatDevice::drop_in() {
        Some(card) => builder.device(card),
        None => builder,
    };
    builder.device(lookaside_cpu::cpu())
}

/// A runtime that is started when it is first needed. Most programs that load a configuration end without a
/// single operation: they are spared the runtime's memory (200 KB) and the pages of its code.
#[derive(Default)]
pub(super) struct Local(OnceBox<Started>);

struct Started {
    runtime: Arc<Runtime>,
    /// The device's best batch of each operation, where a session has none of its own.
    batch: Vec<usize>,
}

impl Started {
    fn new() -> Result<Started> {
        // Sessions prepare their lanes when these are asked for, which may be on a job's stack.
        lookaside_cpu::set_up();
        let runtime = Arc::new(builder().engines(0).batch_deadline(NEVER).start()?);
        let batch = Op::ALL.iter().map(|&op| runtime.best_batch(op)).collect();
        Ok(Started { runtime, batch })
    }
}

impl Local {
    fn started(&self) -> Result<&Started> {
        // A job's own stack is too small for it.
        let start = || match Fibre::current() {
            Some(_) => Stack::new().ok_or(Reason::System)?.run(Started::new),
            None => Started::new(),
        };
        self.0.get_or_try_init(|| start().map(Box::new))
    }

    /// The runtime.
    pub(super) fn runtime(&self) -> Result<&Arc<Runtime>> {
        Ok(&self.started()?.runtime)
    }

    /// The runtime, if it was needed yet.
    pub(super) fn if_started(&self) -> Option<&Arc<Runtime>> {
        self.0.get().map(|started| &started.runtime)
    }

    /// How many operations at once suit the device, where a session does not say.
    pub(super) fn best_batch(&self, op: Op) -> Result<usize> {
        Ok(self.started()?.batch[op.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_when_it_is_needed() {
        let local = Local::default();
        assert!(local.if_started().is_none());
        let runtime = local.runtime().unwrap();
        assert_eq!((runtime.engines(), runtime.best_batch(Op::Encrypt)), (0, 32));
        assert_eq!(local.best_batch(Op::Encrypt).unwrap(), 32);
        assert!(Arc::ptr_eq(local.if_started().unwrap(), runtime));
    }
}
