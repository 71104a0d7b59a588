//! [`Buf`]: the memory that a request works on.
//!
//! The one place of this crate with `unsafe`: memory of a foreign caller (the C interface, a
//! synchronous front end that lends its argument for the time of one call) enters here.
#![allow(unsafe_code)]

use core::{fmt, ops::Range, ptr::NonNull};
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::{OpError, Region, Segment};

/// Memory for a request's source or destination. It moves into the request and comes back in the
/// response, so nothing is borrowed while a device works.
///
/// * [`Buf::from`] a `Vec<u8>` or a boxed slice: owned; readable and writable.
/// * [`Buf::secret`]: owned, and overwritten when dropped.
/// * [`Buf::shared`]: a range of reference-counted memory; readable, many requests at once.
/// * [`Buf::list`]: scatter-gather: segments of any kind, in order.
/// * [`Region::buf`](crate::Region::buf): memory that processes or devices share (`unsafe`).
/// * [`Buf::foreign`] and [`Buf::foreign_mut`]: memory that somebody else keeps alive (`unsafe`). Closing an
///   instance waits for requests with such memory that run.
pub struct Buf(Kind);

enum Kind {
    Owned(Vec<u8>),
    Secret(Zeroizing<Vec<u8>>),
    Shared {
        memory: Arc<dyn AsRef<[u8]> + Send + Sync>,
        range: Range<usize>,
    },
    Foreign {
        ptr: NonNull<u8>,
        len: usize,
        writable: bool,
    },
    List(Box<[Buf]>),
    /// What a step of a chain has written, lent to the next.
    Part(Box<Part>),
    Region {
        region: Region,
        range: Range<usize>,
    },
}

/// A range of another buffer, to read.
#[derive(Debug, Default)]
pub(crate) struct Part {
    whole: Buf,
    range: Range<usize>,
}

// SAFETY: every variant but `Foreign` is `Send` by itself. `Foreign` is plain memory; its
// constructors demand that it may be accessed from any thread until the buffer is back.
unsafe impl Send for Buf {}

impl Buf {
    /// No bytes.
    #[inline]
    pub const fn empty() -> Buf {
        Buf(Kind::Owned(Vec::new()))
    }

    /// An owned buffer of `len` zero bytes. Allocates.
    pub fn zeroed(len: usize) -> Buf {
        Buf(Kind::Owned(vec![0; len]))
    }

    /// An owned buffer that is overwritten when dropped, wherever that happens.
    pub fn secret(bytes: Vec<u8>) -> Buf {
        Buf(Kind::Secret(Zeroizing::new(bytes)))
    }

    /// The bytes `range` of shared memory; the range is cut to what is there.
    pub fn shared(memory: Arc<dyn AsRef<[u8]> + Send + Sync>, range: Range<usize>) -> Buf {
        let len = (*memory).as_ref().len();
        let end = range.end.min(len);
        let start = range.start.min(end);
        Buf(Kind::Shared { memory, range: start..end })
    }

    /// A scatter-gather list: the segments one after the other. A list within a list is
    /// flattened.
    pub fn list(segments: Vec<Buf>) -> Buf {
        if !segments.iter().any(|b| matches!(b.0, Kind::List(_))) {
            return Buf(Kind::List(segments.into_boxed_slice()));
        }
        let flat = segments.into_iter().flat_map(|b| match b.0 {
            Kind::List(inner) => inner.into_vec(),
            other => vec![Buf(other)],
        });
        Buf(Kind::List(flat.collect()))
    }

    /// Read-only memory that somebody else keeps alive. A null `ptr` is allowed when `len` is 0.
    ///
    /// # Safety
    /// For as long as this buffer lives (in a request, at a device, in a response), `ptr` must be
    /// valid for reads of `len` bytes from any thread, and nobody may write there. It lives no
    /// longer than the instance that it was pushed to, unless its response was taken.
    pub unsafe fn foreign(ptr: *const u8, len: usize) -> Buf {
        match NonNull::new(ptr.cast_mut()) {
            Some(ptr) if len > 0 => Buf(Kind::Foreign { ptr, len, writable: false }),
            _ => Buf::empty(),
        }
    }

    /// Writable memory that somebody else keeps alive. A null `ptr` is allowed when `len` is 0.
    ///
    /// # Safety
    /// For as long as this buffer lives (in a request, at a device, in a response), `ptr` must be
    /// valid for reads and writes of `len` initialised bytes from any thread, and nobody else may
    /// access them. It lives no longer than the instance that it was pushed to, unless its response
    /// was taken.
    pub unsafe fn foreign_mut(ptr: *mut u8, len: usize) -> Buf {
        match NonNull::new(ptr) {
            Some(ptr) if len > 0 => Buf(Kind::Foreign { ptr, len, writable: true }),
            _ => Buf::empty(),
        }
    }

    /// [`Region::buf`], which has checked the range.
    pub(crate) fn in_region(region: Region, range: Range<usize>) -> Buf {
        Buf(Kind::Region { region, range })
    }

    /// The record that names it, for memory of a region; `None` for other memory, and for pieces of 4
    /// GiB and more.
    pub fn segment(&self) -> Option<Segment> {
        let Kind::Region { region, range } = &self.0 else { return None };
        let len = u32::try_from(range.len()).ok()?;
        Some(Segment { region: region.id(), len, offset: range.start as u64 })
    }

    /// Whether all of it lies in regions, which a device can reach that reaches nothing else. What has no
    /// bytes does.
    pub fn is_in_regions(&self) -> bool {
        match &self.0 {
            Kind::Region { .. } => true,
            Kind::Part(part) => part.whole.is_in_regions(),
            Kind::List(l) => l.iter().all(Buf::is_in_regions),
            _ => self.is_empty(),
        }
    }

    /// The length in bytes, of all segments together.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Owned(v) => v.len(),
            Kind::Secret(v) => v.len(),
            Kind::Shared { range, .. } => range.len(),
            Kind::Foreign { len, .. } => *len,
            Kind::List(l) => list_len(l),
            Kind::Part(part) => part.range.len(),
            Kind::Region { range, .. } => range.len(),
        }
    }

    /// Whether there are no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all of it can be written: shared and read-only foreign memory cannot.
    #[inline]
    pub fn is_writable(&self) -> bool {
        match &self.0 {
            Kind::Owned(_) | Kind::Secret(_) | Kind::Region { .. } => true,
            Kind::Shared { range, .. } => core::ops::Range::is_empty(range),
            Kind::Foreign { writable, .. } => *writable,
            Kind::List(l) => l.iter().all(Buf::is_writable),
            Kind::Part(_) => false,
        }
    }

    /// Whether somebody else keeps some of it alive ([`Buf::foreign`], [`Buf::foreign_mut`]).
    #[inline]
    pub fn is_lent(&self) -> bool {
        match &self.0 {
            Kind::Owned(_) | Kind::Secret(_) | Kind::Shared { .. } => false,
            // Its memory stays, but somebody reuses it.
            Kind::Foreign { .. } | Kind::Region { .. } => true,
            Kind::List(l) => list_is_lent(l),
            Kind::Part(part) => part.whole.is_lent(),
        }
    }

    /// The bytes, when they lie in one piece; `None` for a list of more than one segment.
    #[inline]
    pub fn as_slice(&self) -> Option<&[u8]> {
        match &self.0 {
            Kind::Owned(v) => Some(v),
            Kind::Secret(v) => Some(v),
            // A range that no longer fits means an `AsRef` that changes its answer.
            Kind::Shared { memory, range } => (**memory).as_ref().get(range.clone()),
            Kind::Foreign { ptr, len, .. } => {
                // SAFETY: `foreign` and `foreign_mut` demand validity for as long as the Buf lives.
                Some(unsafe { core::slice::from_raw_parts(ptr.as_ptr(), *len) })
            }
            Kind::List(l) => list_slice(l),
            Kind::Part(part) => part.as_slice(),
            Kind::Region { region, range } => {
                // SAFETY: `Memory` promises validity; `Region::buf` checked the range, and its caller
                // promises that nobody writes there.
                Some(unsafe {
                    core::slice::from_raw_parts(region.at(range.start).as_ptr(), range.len())
                })
            }
        }
    }

    /// The bytes for writing, when they lie in one piece and may be written.
    #[inline]
    pub fn as_mut_slice(&mut self) -> Option<&mut [u8]> {
        match &mut self.0 {
            Kind::Owned(v) => Some(v),
            Kind::Secret(v) => Some(v),
            Kind::Shared { range, .. } => core::ops::Range::is_empty(range).then_some(&mut []),
            Kind::Foreign { ptr, len, writable: true } => {
                // SAFETY: `foreign_mut` demands validity and exclusiveness for as long as the Buf
                // lives, and `&mut self` makes this the only slice made from it.
                Some(unsafe { core::slice::from_raw_parts_mut(ptr.as_ptr(), *len) })
            }
            Kind::Foreign { .. } | Kind::Part(_) => None,
            Kind::Region { region, range } => {
                // SAFETY: as in `as_slice`; nobody else accesses it, and `&mut self` makes this the only
                // slice made from it.
                Some(unsafe {
                    core::slice::from_raw_parts_mut(region.at(range.start).as_ptr(), range.len())
                })
            }
            Kind::List(l) => list_mut_slice(l),
        }
    }

    /// The segments: the list's, or the buffer itself as the only one.
    #[inline]
    pub fn segments(&self) -> &[Buf] {
        match &self.0 {
            Kind::List(l) => l,
            _ => core::slice::from_ref(self),
        }
    }

    /// The segments for writing.
    pub fn segments_mut(&mut self) -> &mut [Buf] {
        if let Kind::List(_) = self.0 {
            let Kind::List(l) = &mut self.0 else { unreachable!("checked above") };
            return l;
        }
        core::slice::from_mut(self)
    }

    /// Whether it shares a byte with `other`: possible with foreign memory alone. Compares every
    /// segment with every other one.
    pub fn overlaps(&self, other: &Buf) -> bool {
        let bytes = |b: &Buf| {
            b.as_slice().map_or(0..0, |s| {
                let start = s.as_ptr().addr();
                start..start + s.len()
            })
        };
        self.segments().iter().map(bytes).any(|a| {
            other.segments().iter().map(bytes).any(|b| a.start.max(b.start) < a.end.min(b.end))
        })
    }

    /// The bytes `range` of it, to read, until [`Buf::take_back`]: this buffer is empty meanwhile. Of a
    /// list it is a copy, and the list stays. `part` is memory for the note of it.
    ///
    /// # Errors
    /// `BadInput` for a range that is not there; `NoMemory`.
    pub(crate) fn lend(
        &mut self,
        range: Range<usize>,
        mut part: Box<Part>,
    ) -> Result<Buf, OpError> {
        if range.end > self.len() || range.start > range.end {
            return Err(OpError::BadInput("a step of a chain wrote beyond its destination"));
        }
        part.whole = match self.0 {
            Kind::List(_) => {
                let mut copy = Zeroizing::new(Vec::new());
                copy.try_reserve_exact(range.end).map_err(|_| OpError::NoMemory)?;
                self.gather_some(range.end, &mut copy);
                Buf(Kind::Secret(copy))
            }
            _ => core::mem::take(self),
        };
        part.range = range;
        Ok(Buf(Kind::Part(part)))
    }

    /// The end of what was lent.
    pub(crate) fn take_back(&mut self, lent: Buf) {
        match (&self.0, lent.0) {
            // That was a copy.
            (Kind::List(_), _) => {}
            (_, Kind::Part(part)) => *self = part.whole,
            _ => {}
        }
    }

    /// Appends the first `n` bytes to `out`.
    fn gather_some(&self, mut n: usize, out: &mut Vec<u8>) {
        for s in self.segments() {
            let s = s.as_slice().unwrap_or_default();
            let some = &s[..n.min(s.len())];
            out.extend_from_slice(some);
            n -= some.len();
        }
    }

    /// Appends all bytes to `out`.
    pub fn gather(&self, out: &mut Vec<u8>) {
        self.gather_some(self.len(), out);
    }

    /// Writes `bytes` from the start on, across the segments. Returns how many fitted.
    pub fn scatter(&mut self, mut bytes: &[u8]) -> usize {
        let all = bytes.len();
        for s in self.segments_mut() {
            let Some(s) = s.as_mut_slice() else { break };
            let (now, later) = bytes.split_at(s.len().min(bytes.len()));
            s[..now.len()].copy_from_slice(now);
            bytes = later;
        }
        all - bytes.len()
    }

    /// The bytes as a vector: the owned one itself, or a copy.
    pub fn into_vec(self) -> Vec<u8> {
        if let Kind::Owned(v) = self.0 {
            return v;
        }
        let mut v = Vec::with_capacity(self.len());
        self.gather(&mut v);
        v
    }
}

impl Part {
    #[inline(never)]
    fn as_slice(&self) -> Option<&[u8]> {
        self.whole.as_slice()?.get(self.range.clone())
    }
}

// The cases of lists, apart so that the other ones are inlined.

#[inline(never)]
fn list_len(l: &[Buf]) -> usize {
    l.iter().map(Buf::len).sum()
}

#[inline(never)]
fn list_is_lent(l: &[Buf]) -> bool {
    l.iter().any(Buf::is_lent)
}

#[inline(never)]
fn list_slice(l: &[Buf]) -> Option<&[u8]> {
    match l {
        [] => Some(&[]),
        [one] => one.as_slice(),
        _ => None,
    }
}

#[inline(never)]
fn list_mut_slice(l: &mut [Buf]) -> Option<&mut [u8]> {
    match l {
        [] => Some(&mut []),
        [one] => one.as_mut_slice(),
        _ => None,
    }
}

impl Default for Buf {
    fn default() -> Self {
        Buf::empty()
    }
}

impl From<Vec<u8>> for Buf {
    fn from(v: Vec<u8>) -> Buf {
        Buf(Kind::Owned(v))
    }
}

impl From<Box<[u8]>> for Buf {
    fn from(b: Box<[u8]>) -> Buf {
        Buf(Kind::Owned(b.into_vec()))
    }
}

impl From<&[u8]> for Buf {
    /// Copies.
    fn from(b: &[u8]) -> Buf {
        Buf(Kind::Owned(b.to_vec()))
    }
}

impl fmt::Debug for Buf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.0 {
            Kind::Owned(_) => "owned",
            Kind::Secret(_) => "secret",
            Kind::Shared { .. } => "shared",
            Kind::Foreign { .. } => "foreign",
            Kind::List(_) => "list",
            Kind::Part(_) => "part",
            Kind::Region { .. } => "region",
        };
        write!(f, "Buf({kind}, {} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        let mut owned = Buf::from(vec![1, 2, 3]);
        assert_eq!(owned.as_slice(), Some(&[1, 2, 3][..]));
        owned.as_mut_slice().unwrap()[0] = 9;
        assert_eq!(owned.into_vec(), [9, 2, 3]);

        let shared = Buf::shared(Arc::new(vec![0, 1, 2, 3]), 1..3);
        assert_eq!(shared.as_slice(), Some(&[1, 2][..]));
        assert!(!shared.is_writable());
        assert_eq!(Buf::shared(Arc::new(vec![0u8; 4]), 3..99).len(), 1);
        assert_eq!(Buf::shared(Arc::new(vec![0u8; 4]), 7..99).len(), 0);
    }

    #[test]
    fn lists_gather_and_scatter() {
        let inner = Buf::list(vec![Buf::from(vec![1]), Buf::from(vec![2, 3])]);
        let mut list = Buf::list(vec![inner, Buf::empty(), Buf::from(vec![4, 5])]);
        assert_eq!((list.len(), list.segments().len()), (5, 4));
        assert!(list.as_slice().is_none());
        assert_eq!(list.scatter(&[7, 8, 9, 10]), 4);
        let mut all = Vec::new();
        list.gather(&mut all);
        assert_eq!(all, [7, 8, 9, 10, 5]);
        assert_eq!(list.scatter(&[0; 9]), 5);
    }

    #[test]
    fn foreign_memory() {
        let mut bytes = [1u8, 2, 3];
        // SAFETY: `bytes` outlives both buffers, which are used one after the other.
        let mut b = unsafe { Buf::foreign_mut(bytes.as_mut_ptr(), 3) };
        b.as_mut_slice().unwrap()[1] = 7;
        drop(b);
        // SAFETY: as above.
        let mut r = unsafe { Buf::foreign(bytes.as_ptr(), 3) };
        assert_eq!(r.as_slice(), Some(&[1, 7, 3][..]));
        assert!(r.as_mut_slice().is_none() && !r.is_writable());
        let other = Buf::list(vec![Buf::empty(), Buf::from(vec![0; 3])]);
        assert!(!r.overlaps(&other) && !other.overlaps(&r));
        // SAFETY: as above; neither is written.
        let (head, last) =
            unsafe { (Buf::foreign(bytes.as_ptr(), 2), Buf::foreign(&raw const bytes[2], 1)) };
        assert!(r.overlaps(&head) && !last.overlaps(&head));
        let lent = Buf::list(vec![Buf::empty(), head, last]);
        assert!(lent.overlaps(&r) && lent.is_lent() && r.is_lent());
        assert!(!other.is_lent() && !Buf::shared(Arc::new(vec![0]), 0..1).is_lent());
        // SAFETY: no bytes.
        assert!(unsafe { Buf::foreign(core::ptr::null(), 0) }.is_empty());
    }
}
