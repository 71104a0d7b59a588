//! The history: a ring of the last bytes of earlier output.

/// The largest window.
pub(super) const CAPACITY: usize = 1 << 15;
/// What may be read past its end.
pub(super) const SLACK: usize = 32;

/// Where the ring's content is. The bytes are beside it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    bits: u8,
    /// 0 until it is first used.
    pub(super) size: usize,
    pub(super) have: usize,
    pub(super) next: usize,
    /// No match that reaches into the history is longer ago than this.
    pub(super) reach: usize,
}

impl Window {
    pub(super) fn new(bits: u8) -> Window {
        Window { bits: bits.clamp(8, 15), size: 0, have: 0, next: 0, reach: usize::MAX }
    }

    /// Another size, if there is no history yet.
    pub(super) fn resize(&mut self, bits: u8) {
        self.bits = bits.clamp(8, 15);
    }

    /// Is this so far back that nothing is known of it: `distance`, of which `back` bytes before the
    /// end of the history?
    pub(super) fn lacks(&self, distance: usize, back: usize) -> bool {
        back > self.have || distance > self.reach
    }

    /// How many bytes of the memory were ever written.
    pub(super) fn filled(&self) -> usize {
        if self.have < self.size { self.next.max(self.have) } else { self.size }
    }

    /// Adds the `len` bytes before `end`.
    ///
    /// # Safety
    ///
    /// They are valid; `ring` is `CAPACITY` bytes of ours.
    pub(super) unsafe fn keep(&mut self, ring: *mut u8, end: *const u8, len: usize) {
        if self.size == 0 {
            self.size = 1 << self.bits;
        }
        if len >= self.size {
            // SAFETY: the last `size` of `len` valid bytes; `size` is at most the capacity.
            unsafe { ring.copy_from_nonoverlapping(end.sub(self.size), self.size) };
            self.next = 0;
            self.have = self.size;
            return;
        }
        let first = len.min(self.size - self.next);
        // SAFETY: `first` bytes from `next` on, then the rest from the start: both below `size`.
        unsafe {
            let start = end.wrapping_sub(len);
            ring.add(self.next).copy_from_nonoverlapping(start, first);
            ring.copy_from_nonoverlapping(start.wrapping_add(first), len - first);
        }
        self.next += len;
        if self.next >= self.size {
            self.next -= self.size;
        }
        self.have = (self.have + len).min(self.size);
    }

    /// Oldest first.
    ///
    /// # Safety
    ///
    /// `ring` is what `keep` wrote to.
    pub(super) unsafe fn parts<'a>(&self, ring: *const u8) -> (&'a [u8], &'a [u8]) {
        // SAFETY: `have` bytes before `next`, around the end of the ring.
        unsafe {
            if self.have <= self.next {
                (std::slice::from_raw_parts(ring.add(self.next - self.have), self.have), &[])
            } else {
                let old = self.have - self.next;
                (
                    std::slice::from_raw_parts(ring.add(self.size - old), old),
                    std::slice::from_raw_parts(ring, self.next),
                )
            }
        }
    }

    /// Where in the ring the byte is that is `back` bytes before the end.
    pub(super) fn place(&self, back: usize) -> usize {
        if back <= self.next { self.next - back } else { self.next + self.size - back }
    }

    /// Copies up to `len` bytes from `back` bytes before the end of the history to `dst`; how many
    /// there were before the history's end. `back` is at most `have`.
    ///
    /// # Safety
    ///
    /// `ring` is what `keep` wrote to; `dst` has room for `len` bytes and lies elsewhere.
    pub(super) unsafe fn copy(
        &self,
        ring: *const u8,
        back: usize,
        dst: *mut u8,
        len: usize,
    ) -> usize {
        debug_assert!(back <= self.have);
        let len = len.min(back);
        let start = self.place(back);
        let first = len.min(self.size - start);
        // SAFETY: as the assertion says, all within what was written.
        unsafe {
            dst.copy_from_nonoverlapping(ring.add(start), first);
            dst.add(first).copy_from_nonoverlapping(ring, len - first);
        }
        len
    }
}
