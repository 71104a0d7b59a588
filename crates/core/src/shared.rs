//! States that the requests for pieces of one stream share.

use core::{any::Any, fmt};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use crate::{Done, Lost, OpError, Status, xml};

/// A state that requests share. At most one of them may use it at a time, which the order of their session sees to.
pub struct Shared<T>(Arc<Mutex<Held<T>>>);

/// The state of a stream that is scanned for patterns.
pub type SharedFlow = Shared<Vec<u8>>;

/// The state of an XML document.
pub type SharedDocument = Shared<Box<dyn Document>>;

struct Held<T> {
    state: T,
    ended: bool,
}

/// What a device keeps of an XML document between its pieces, and the names of its events.
pub trait Document: Send {
    /// The name with the number of an element's or an attribute's record.
    fn name(&self, number: u32) -> Option<xml::Name>;

    /// The string with this number, UTF-8; empty if there is none.
    fn string(&self, number: u32) -> &[u8];

    /// The qualified name with the number of an element's or an attribute's record, as it was written.
    fn qname(&self, number: u32) -> &[u8] {
        self.name(number).map_or(&[], |name| self.string(name.qname))
    }

    /// What was wrong with the document, and where.
    fn error(&self) -> Option<xml::Error>;

    /// Before another document. Names keep their numbers while they are few; false: they are counted anew.
    fn restart(&mut self) -> bool;

    /// For the device that made it.
    fn as_any(&mut self) -> &mut dyn Any;
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(self.0.clone())
    }
}

impl<T> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

impl<T> Shared<T> {
    /// A stream at its beginning.
    pub fn new(state: T) -> Shared<T> {
        Shared(Arc::new(Mutex::new(Held { state, ended: false })))
    }

    /// The lock; `None` while another has it.
    ///
    /// # Errors
    /// A piece before has left the state half changed.
    fn lock(&self) -> Result<Option<MutexGuard<'_, Held<T>>>, OpError> {
        match self.0.try_lock() {
            Ok(held) => Ok(Some(held)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Poisoned(_)) => Err(OpError::DeviceLost(Lost::Touched)),
        }
    }

    /// Looks at the state, between two pieces; `None` while one is executed.
    ///
    /// # Errors
    /// `DeviceLost` if a piece before has left the state half changed.
    pub fn look<R>(&self, look: impl FnOnce(&T) -> R) -> Result<Option<R>, OpError> {
        Ok(self.lock()?.map(|held| look(&held.state)))
    }

    /// Changes the state, between two pieces, so that another stream begins; `None` while a piece is executed.
    ///
    /// # Errors
    /// As [`look`](Shared::look).
    pub fn restart<R>(&self, restart: impl FnOnce(&mut T) -> R) -> Result<Option<R>, OpError> {
        let Some(mut held) = self.lock()? else { return Ok(None) };
        held.ended = false;
        Ok(Some(restart(&mut held.state)))
    }

    /// Executes a piece, of which `last` says that none follows.
    ///
    /// # Errors
    /// Those of `execute`; `StreamEnded`; `DeviceLost` as [`look`](Shared::look).
    pub fn piece(
        &self,
        last: bool,
        execute: impl FnOnce(&mut T) -> Result<Done, OpError>,
    ) -> Result<Done, OpError> {
        // Who looks at the state has it for less than a microsecond while it runs. In a child of a fork the holder may not
        // exist.
        let mut left = 10_000;
        let mut held = loop {
            match self.lock()? {
                Some(held) => break held,
                None if left == 0 => return Err(OpError::DeviceLost(Lost::Untouched)),
                None => std::thread::yield_now(),
            }
            left -= 1;
        };
        if held.ended {
            return Err(OpError::StreamEnded);
        }
        let done = execute(&mut held.state)?;
        held.ended = last && done.status != Status::Overflow;
        Ok(done)
    }
}

impl SharedDocument {
    /// Names of events, or what was wrong, between two pieces; `None` while one is executed.
    ///
    /// # Errors
    /// As [`look`](Shared::look).
    pub fn ask<R>(&self, ask: impl FnOnce(&dyn Document) -> R) -> Result<Option<R>, OpError> {
        self.look(|document| ask(&**document))
    }
}

impl SharedFlow {
    /// A copy of the state, between two pieces; `None` while one is executed.
    ///
    /// # Errors
    /// `StreamEnded`; `DeviceLost` if a piece before has left the state half changed.
    pub fn state(&self) -> Result<Option<Vec<u8>>, OpError> {
        let Some(held) = self.lock()? else { return Ok(None) };
        match held.ended {
            true => Err(OpError::StreamEnded),
            false => Ok(Some(held.state.clone())),
        }
    }
}
