//! Memory that is registered once and named by plain records: shared by processes, pinned for a device, a
//! packet pool.
//!
//! The one other place of this crate with `unsafe`: whoever hands in memory promises that it is there.
#![allow(unsafe_code)]

use core::{
    fmt,
    ops::Range,
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering},
};
use std::{os::fd::BorrowedFd, sync::Arc};

use crate::{Buf, SetupError};

/// Memory that more than one party can reach.
///
/// # Safety
/// [`base`](Memory::base) is valid for reads and writes of [`len`](Memory::len) initialised bytes from
/// any thread, and both stay the same, until the value is dropped.
pub unsafe trait Memory: Send + Sync {
    /// Where it begins.
    fn base(&self) -> NonNull<u8>;

    /// How many bytes it has.
    fn len(&self) -> usize;

    /// Whether it has none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The file by which another process maps the same memory; `None` where none can.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// The address by which a device on the bus reaches its first byte; `None` where it is not pinned.
    fn iova(&self) -> Option<u64> {
        None
    }
}

/// Memory that devices know. A clone is the same region; the memory stays until the last buffer in it has
/// gone.
#[derive(Clone)]
pub struct Region(Arc<Registered>);

struct Registered {
    id: u32,
    memory: Box<dyn Memory>,
}

/// A piece of a region, as rings that processes share carry it: plain data, of 16 bytes on every machine.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// [`Region::id`].
    pub region: u32,
    /// Bytes.
    pub len: u32,
    /// Bytes from the region's beginning.
    pub offset: u64,
}

impl Region {
    /// Numbers the memory. Devices learn of it through a runtime (`Runtime::region`).
    pub fn new(memory: impl Memory + 'static) -> Region {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Region(Arc::new(Registered { id, memory: Box::new(memory) }))
    }

    /// Its number, unique in this process; never 0.
    #[inline]
    pub fn id(&self) -> u32 {
        self.0.id
    }

    /// The memory.
    pub fn memory(&self) -> &dyn Memory {
        &*self.0.memory
    }

    /// The bytes `range` of it as a buffer for requests.
    ///
    /// # Errors
    /// [`SetupError::Limit`] for a range that is not there.
    ///
    /// # Safety
    /// For as long as the buffer lives, nobody else writes to these bytes, in this process or another;
    /// nor reads them while a request has the buffer as its destination.
    pub unsafe fn buf(&self, range: Range<usize>) -> Result<Buf, SetupError> {
        let len = self.0.memory.len() as u64;
        SetupError::check("end of a buffer in its region", range.end as u64, 0..=len)?;
        let end = range.end as u64;
        SetupError::check("beginning of a buffer in its region", range.start as u64, 0..=end)?;
        Ok(Buf::in_region(self.clone(), range))
    }

    /// The buffer that a record names.
    ///
    /// # Errors
    /// [`SetupError::Limit`] for a range that is not there, [`SetupError::Unknown`] for another region's.
    ///
    /// # Safety
    /// As [`Region::buf`].
    pub unsafe fn resolve(&self, segment: Segment) -> Result<Buf, SetupError> {
        if segment.region != self.id() {
            return Err(SetupError::Unknown { what: "region", name: segment.region.to_string() });
        }
        // A record of another process may say anything.
        let start = usize::try_from(segment.offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(segment.len as usize);
        // SAFETY: the caller's promise.
        unsafe { self.buf(start..end) }
    }

    /// A pointer to the byte at `offset`, which is within the region or its end.
    pub(crate) fn at(&self, offset: usize) -> NonNull<u8> {
        // SAFETY: as `Memory` promises; offsets were checked against its length.
        unsafe { self.0.memory.base().add(offset) }
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Region({}, {} bytes)", self.id(), self.0.memory.len())
    }
}
