//! A session, as the server knows it by number.

use std::sync::{
    Arc,
    atomic::{
        AtomicU64,
        Ordering::{AcqRel, Acquire},
    },
};

use lookaside_core::{Op, Secret, SessionSpec, SetupError};
use lookaside_wire::{intern, session};

use crate::{
    Inner,
    connection::{Connection, Failure},
};

/// What is prepared of a session.
pub(crate) struct SharedSession {
    device: Arc<Inner>,
    /// The specification, for the next server and for children of a fork. In memory for keys.
    spec: Secret,
    /// The connection's epoch in the upper half, the session's number there in the lower one.
    number: AtomicU64,
}

fn unsupported(op: Op, what: &'static str) -> SetupError {
    SetupError::Unsupported { device: "shared".to_owned(), op, what }
}

fn packed(connection: &Connection, number: u32) -> u64 {
    u64::from(connection.epoch) << 32 | u64::from(number)
}

impl SharedSession {
    pub(crate) fn new(
        device: &Arc<Inner>,
        spec: &SessionSpec,
    ) -> Result<SharedSession, SetupError> {
        let op = spec.ops().first().copied().unwrap_or(Op::Copy);
        if spec.ordered() {
            return Err(unsupported(op, "streams"));
        }
        if !spec.ops().iter().any(|op| device.capabilities.iter().any(|row| row.op == *op)) {
            return Err(unsupported(op, "the operation is not offered"));
        }
        let bytes = session::encode(spec)
            .map_err(|_| unsupported(op, "a session that cannot be sent to the server"))?;
        let session = SharedSession {
            device: device.clone(),
            spec: Secret::new(&bytes),
            number: AtomicU64::new(0),
        };
        match device.connection().and_then(|connection| session.open(&connection)) {
            Err(Failure::Refused(true, why)) => Err(SetupError::Key { what: intern(&why) }),
            Err(Failure::Refused(false, why)) => Err(unsupported(op, intern(&why))),
            // Opened when there is a server again.
            Ok(_) | Err(_) => Ok(session),
        }
    }

    /// Its number for a ring of this connection, if it is known there.
    #[inline]
    pub(crate) fn known(&self, connection: &Connection) -> Option<u32> {
        let number = self.number.load(Acquire);
        ((number >> 32) as u32 == connection.epoch).then_some(number as u32)
    }

    /// Opens it on this connection.
    #[cold]
    pub(crate) fn open(&self, connection: &Connection) -> Result<u32, Failure> {
        let before = self.number.load(Acquire);
        let number = connection.open(&self.spec, &*self.device.world)?;
        match self.number.compare_exchange(before, packed(connection, number), AcqRel, Acquire) {
            Ok(_) => Ok(number),
            // Another thread was quicker.
            Err(now) if (now >> 32) as u32 == connection.epoch => {
                connection.close(number);
                Ok(now as u32)
            }
            Err(_) => {
                connection.close(number);
                Err(Failure::Absent)
            }
        }
    }
}

impl Drop for SharedSession {
    fn drop(&mut self) {
        // A child's copy of its parent's session is none of the child's connection.
        if let Some(connection) = self.device.known_connection()
            && let Some(number) = self.known(&connection)
        {
            connection.close(number);
        }
    }
}
