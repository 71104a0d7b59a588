//! The state of a stream that is scanned, shared by the requests for its pieces.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use crate::{Done, Lost, OpError, Status};

/// The state of a stream that is scanned for patterns. Its pieces' session is ordered, so at most one piece uses it.
#[derive(Clone, Debug)]
pub struct SharedFlow(Arc<Mutex<Flow>>);

#[derive(Debug)]
struct Flow {
    state: Vec<u8>,
    ended: bool,
}

impl SharedFlow {
    /// A flow with this state.
    pub fn new(state: Vec<u8>) -> SharedFlow {
        SharedFlow(Arc::new(Mutex::new(Flow { state, ended: false })))
    }

    /// The lock; `None` while another has it.
    ///
    /// # Errors
    /// A piece before has left the state half changed.
    fn lock(&self) -> Result<Option<MutexGuard<'_, Flow>>, OpError> {
        match self.0.try_lock() {
            Ok(flow) => Ok(Some(flow)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Poisoned(_)) => Err(OpError::DeviceLost(Lost::Touched)),
        }
    }

    /// A copy of the state, between two pieces; `None` while one is executed.
    ///
    /// # Errors
    /// `StreamEnded`; `DeviceLost` if a piece before has left the state half changed.
    pub fn state(&self) -> Result<Option<Vec<u8>>, OpError> {
        let Some(flow) = self.lock()? else { return Ok(None) };
        match flow.ended {
            true => Err(OpError::StreamEnded),
            false => Ok(Some(flow.state.clone())),
        }
    }

    /// Executes a piece, of which `last` says that none follows.
    ///
    /// # Errors
    /// Those of `scan`, and of [`state`](SharedFlow::state).
    pub fn piece(
        &self,
        last: bool,
        scan: impl FnOnce(&mut Vec<u8>) -> Result<Done, OpError>,
    ) -> Result<Done, OpError> {
        // Who copies the state has it for less than a microsecond while it runs. In a child of a fork the holder may not
        // exist.
        let mut left = 10_000;
        let mut flow = loop {
            match self.lock()? {
                Some(flow) => break flow,
                None if left == 0 => return Err(OpError::DeviceLost(Lost::Untouched)),
                None => std::thread::yield_now(),
            }
            left -= 1;
        };
        if flow.ended {
            return Err(OpError::StreamEnded);
        }
        let done = scan(&mut flow.state)?;
        flow.ended = last && done.status == Status::Complete;
        Ok(done)
    }
}
