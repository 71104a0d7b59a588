//! The memory that a client and the server share: two rings and an arena.
//!
//! The other side may write anything there at any time. So words are only read and written as atomics, records
//! are copied out before they are looked at, and bytes of the arena are only ever copied: nobody has a
//! reference to them. Indices of one's own are kept here, not read back.
#![allow(unsafe_code)]

use core::{
    ops::Range,
    ptr,
    sync::atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
        fence,
    },
};
use std::sync::Arc;

use lookaside_core::{Memory, SetupError, SharedMemory};
use rustix::fs::FallocateFlags;

use crate::{Malformed, Record, WORDS};

/// How much room there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Records in each ring: a power of two.
    pub depth: u32,
    /// Bytes of the arena: whole pages.
    pub arena: u32,
}

const PAGE: usize = 4096;
const RECORD: usize = WORDS * 8;

/// Where the words of the first page lie, each on a cache line of its own.
const REQUESTS: Ends = Ends { tail: 0, head: 128 };
const ANSWERS: Ends = Ends { tail: 256, head: 384 };
const SERVER_SLEEPS: usize = 512;
const CLIENT_SLEEPS: usize = 640;
/// Who has the arena: nobody, the client, or the server, which frees its pages.
const HOLDER: usize = 768;
/// Whether requests of several clients run side by side at present.
const COMPANY: usize = 896;
const NOBODY: u64 = 0;
const CLIENT: u64 = 1;
const SERVER: u64 = 2;

#[derive(Clone, Copy)]
struct Ends {
    tail: usize,
    head: usize,
}

impl Shape {
    /// The most records of a ring.
    pub const MAX_DEPTH: u32 = 4096;
    /// The most bytes of an arena.
    pub const MAX_ARENA: u32 = 1 << 30;

    /// A shape within the limits.
    ///
    /// # Errors
    /// [`Malformed::Number`] for another one.
    pub fn new(depth: u32, arena: u32) -> Result<Shape, Malformed> {
        let fits = depth.is_power_of_two()
            && depth <= Shape::MAX_DEPTH
            && (1..=Shape::MAX_ARENA).contains(&arena)
            && (arena as usize).is_multiple_of(PAGE);
        fits.then_some(Shape { depth, arena }).ok_or(Malformed::Number("shape of shared memory"))
    }

    fn ring(self) -> usize {
        (self.depth as usize * RECORD).next_multiple_of(PAGE)
    }

    /// Where the arena begins.
    fn arena_at(self) -> usize {
        PAGE + 2 * self.ring()
    }

    /// Bytes of all of it.
    pub fn bytes(self) -> usize {
        self.arena_at() + self.arena as usize
    }
}

/// The shared memory, cut into its parts.
pub struct Area {
    memory: SharedMemory,
    shape: Shape,
}

impl Area {
    /// Memory of this shape.
    ///
    /// # Errors
    /// [`SetupError::Limit`] where it is smaller.
    pub fn new(memory: SharedMemory, shape: Shape) -> Result<Arc<Area>, SetupError> {
        SetupError::check(
            "bytes of shared memory",
            memory.len() as u64,
            shape.bytes() as u64..=u64::MAX,
        )?;
        Ok(Arc::new(Area { memory, shape }))
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The memory.
    pub fn memory(&self) -> &SharedMemory {
        &self.memory
    }

    #[inline]
    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.shape.arena_at());
        // SAFETY: within the memory, which is as long as the shape says and stays mapped while `self` lives;
        // aligned, since a mapping begins at a page. Any value is one of an atomic.
        unsafe { &*self.memory.base().as_ptr().add(at).cast::<AtomicU64>() }
    }

    /// The bytes `range` of the arena, to copy from or to.
    #[inline]
    fn arena(&self, range: &Range<usize>, len: usize) -> *mut u8 {
        assert!(range.end <= self.shape.arena as usize && range.start <= range.end);
        assert_eq!(range.len(), len, "a copy of as many bytes");
        // SAFETY: within the memory, as was just checked.
        unsafe { self.memory.base().as_ptr().add(self.shape.arena_at() + range.start) }
    }

    /// Copies out of the arena.
    ///
    /// # Panics
    /// For a range that is not there, or as long as `to`.
    #[inline]
    pub fn read(&self, range: Range<usize>, to: &mut [u8]) {
        let from = self.arena(&range, to.len());
        // SAFETY: so many bytes are there, and `to` is memory of this process alone. What the other side writes
        // meanwhile may arrive or not: nobody relies on these bytes before they are here.
        unsafe { ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) }
    }

    /// Copies into the arena.
    ///
    /// # Panics
    /// For a range that is not there, or as long as `from`.
    #[inline]
    pub fn write(&self, range: Range<usize>, from: &[u8]) {
        let to = self.arena(&range, from.len());
        // SAFETY: as in `read`.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) }
    }

    /// Overwrites a piece of the arena with zeros.
    ///
    /// # Panics
    /// For a range that is not there.
    pub fn clear(&self, range: Range<usize>) {
        let to = self.arena(&range, range.len());
        // SAFETY: as in `read`. The other side may look: the compiler leaves it where it is.
        unsafe { ptr::write_bytes(to, 0, range.len()) }
    }

    /// The client is about to use the arena, of which it uses nothing now. Returns whether it may: not while the server
    /// frees the pages of the arena, which takes microseconds.
    #[inline]
    pub fn hold(&self) -> bool {
        self.word(HOLDER).compare_exchange(NOBODY, CLIENT, Acquire, Relaxed).is_ok()
    }

    /// The client uses nothing of the arena any more.
    #[inline]
    pub fn let_go(&self) {
        self.word(HOLDER).store(NOBODY, Release);
    }

    /// The server gives the memory of an arena that the client does not use back to the system; read again, it is
    /// zeros. Nothing happens while the client holds the arena: one that lies about that harms its own bytes.
    pub fn free_pages(&self) {
        let holder = self.word(HOLDER);
        if holder.compare_exchange(NOBODY, SERVER, Acquire, Relaxed).is_err() {
            return;
        }
        if let Some(fd) = self.memory.fd() {
            let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let (start, len) = (self.shape.arena_at() as u64, self.shape.arena.into());
            // Where the system cannot, the memory stays.
            let _ = rustix::fs::fallocate(fd, how, start, len);
        }
        // Whatever the client has written there meanwhile.
        holder.store(NOBODY, Release);
    }

    /// The server tells the client whether requests that gain by others beside them find some at present.
    #[inline]
    pub fn set_company(&self, found: bool) {
        self.word(COMPANY).store(found.into(), Relaxed);
    }

    /// What the server last said of it. A hint: whoever relies on it loses time at most.
    #[inline]
    pub fn has_company(&self) -> bool {
        self.word(COMPANY).load(Relaxed) != 0
    }

    /// The client's end of the requests.
    pub fn requests_to(self: &Arc<Area>) -> Producer {
        Producer::new(self, REQUESTS, PAGE)
    }

    /// The server's end of the requests.
    pub fn requests_from(self: &Arc<Area>) -> Consumer {
        Consumer::new(self, REQUESTS, PAGE)
    }

    /// The server's end of the answers.
    pub fn answers_to(self: &Arc<Area>) -> Producer {
        Producer::new(self, ANSWERS, PAGE + self.shape.ring())
    }

    /// The client's end of the answers.
    pub fn answers_from(self: &Arc<Area>) -> Consumer {
        Consumer::new(self, ANSWERS, PAGE + self.shape.ring())
    }

    /// Whether the server sleeps.
    pub fn server_bell(self: &Arc<Area>) -> Bell {
        Bell { area: self.clone(), at: SERVER_SLEEPS }
    }

    /// Whether the client sleeps.
    pub fn client_bell(self: &Arc<Area>) -> Bell {
        Bell { area: self.clone(), at: CLIENT_SLEEPS }
    }
}

/// A word that says whether a side sleeps and wants to be woken.
pub struct Bell {
    area: Arc<Area>,
    at: usize,
}

impl Bell {
    /// This side sleeps next, unless a look at its ring after this call finds something.
    pub fn announce(&self) {
        self.area.word(self.at).store(1, SeqCst);
        fence(SeqCst);
    }

    /// This side is awake.
    pub fn stay_awake(&self) {
        self.area.word(self.at).store(0, Relaxed);
    }

    /// After something was published: whether the other side is to be woken. It is said once.
    pub fn wants_ring(&self) -> bool {
        fence(SeqCst);
        let word = self.area.word(self.at);
        word.load(Relaxed) != 0 && word.swap(0, SeqCst) != 0
    }
}

/// The end of a ring that puts records in.
pub struct Producer {
    area: Arc<Area>,
    ends: Ends,
    start: usize,
    /// The next place; not seen by the other side before [`Producer::publish`].
    tail: u64,
    /// The place up to which the other side sees records.
    shown: u64,
}

impl Producer {
    fn new(area: &Arc<Area>, ends: Ends, start: usize) -> Producer {
        Producer { area: area.clone(), ends, start, tail: 0, shown: 0 }
    }

    /// How many records fit now.
    ///
    /// # Errors
    /// The other side says that it has taken more than there was.
    pub fn free(&self) -> Result<usize, Malformed> {
        let used = self.tail.wrapping_sub(self.area.word(self.ends.head).load(Acquire));
        let free = u64::from(self.area.shape.depth).checked_sub(used);
        free.map(|free| free as usize).ok_or(Malformed::Index)
    }

    /// Puts a record in. Returns whether there was room.
    ///
    /// # Errors
    /// As [`Producer::free`].
    pub fn push(&mut self, record: &Record) -> Result<bool, Malformed> {
        if self.free()? == 0 {
            return Ok(false);
        }
        let place = self.start + (self.tail % u64::from(self.area.shape.depth)) as usize * RECORD;
        for (i, &word) in record.iter().enumerate() {
            self.area.word(place + 8 * i).store(word, Relaxed);
        }
        self.tail = self.tail.wrapping_add(1);
        Ok(true)
    }

    /// Shows the other side what was put in. Returns whether that was anything.
    pub fn publish(&mut self) -> bool {
        self.area.word(self.ends.tail).store(self.tail, Release);
        std::mem::replace(&mut self.shown, self.tail) != self.tail
    }
}

/// The end of a ring that takes records out.
pub struct Consumer {
    area: Arc<Area>,
    ends: Ends,
    start: usize,
    head: u64,
    /// What the other side has put in, as far as this one knows.
    tail: u64,
}

impl Consumer {
    fn new(area: &Arc<Area>, ends: Ends, start: usize) -> Consumer {
        Consumer { area: area.clone(), ends, start, head: 0, tail: 0 }
    }

    /// Whether there is a record.
    ///
    /// # Errors
    /// The other side says that it has put in more than there is room for.
    pub fn is_ready(&mut self) -> Result<bool, Malformed> {
        if self.tail == self.head {
            self.tail = self.area.word(self.ends.tail).load(Acquire);
            if self.tail.wrapping_sub(self.head) > u64::from(self.area.shape.depth) {
                // Nothing of it is believed, now or later.
                self.tail = self.head;
                return Err(Malformed::Index);
            }
        }
        Ok(self.tail != self.head)
    }

    /// Whether a look finds a record, or nonsense that [`Consumer::pop`] will refuse.
    #[inline]
    pub fn looks_ready(&self) -> bool {
        self.area.word(self.ends.tail).load(Acquire) != self.head
    }

    /// Takes the oldest record: a copy of it, made once.
    ///
    /// # Errors
    /// As [`Consumer::is_ready`].
    pub fn pop(&mut self) -> Result<Option<Record>, Malformed> {
        if !self.is_ready()? {
            return Ok(None);
        }
        let place = self.start + (self.head % u64::from(self.area.shape.depth)) as usize * RECORD;
        let mut record = [0; WORDS];
        for (i, word) in record.iter_mut().enumerate() {
            *word = self.area.word(place + 8 * i).load(Relaxed);
        }
        self.head = self.head.wrapping_add(1);
        Ok(Some(record))
    }

    /// Gives the places of what was taken back to the other side.
    pub fn release(&mut self) {
        self.area.word(self.ends.head).store(self.head, Release);
    }
}
