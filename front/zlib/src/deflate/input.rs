//! Input that has been taken and not yet compressed, behind the history that it may refer to.

use std::{
    alloc::{Layout, alloc_zeroed},
    ptr::NonNull,
};

use crate::pool::Pool;

/// What a match may reach back.
pub(crate) const HISTORY: usize = 32 << 10;

/// The most input that waits. Streams up to so long end as whole ones: the same as in one call,
/// whatever the pieces (programs' tests count on that). Longer ones mostly become pieces of this
/// length, faster and smaller than by a streaming kernel. A kernel is never called for a hundred
/// bytes. As much memory as zlib's own state takes.
pub(crate) const WAITING: usize = 256 << 10;

/// The most that waits in a stream that has been compressed well so far: what a piece does not know
/// of the one before (some 500 bytes) counts more there.
pub(crate) const WAITING_MORE: usize = 1 << 20;

/// The most that waits if it came in one call, before anything else: the program that has it in one
/// buffer can spare another, and mostly ends the stream with its next call. Then what it gets is what
/// one call would have given, which some count on (CPython's tests do).
pub(crate) const HELD: usize = 512 << 10;

/// Of the usual length, or longer for what is held.
type Memory = [u8];

static SPARE: Pool<[u8; HISTORY + WAITING]> = Pool::new();

/// `base <= start <= end`: history, then what waits.
#[derive(Default)]
pub(crate) struct Input {
    memory: Option<Box<Memory>>,
    base: usize,
    start: usize,
    end: usize,
    /// More than the usual length may wait.
    more: bool,
}

impl Input {
    /// How much may wait.
    pub(crate) fn most(&self) -> usize {
        if self.more { WAITING_MORE } else { WAITING }
    }

    /// Whether more may wait from now on, if there is memory for it. Nothing does now.
    pub(crate) fn wait_for_more(&mut self, more: bool) {
        self.more = more && self.memory.is_some();
        if self.more
            && let len = HISTORY + WAITING_MORE
            && self.memory.as_ref().is_some_and(|memory| memory.len() < len)
        {
            let memory = zeros(len);
            if memory.is_none() {
                self.more = false;
                return;
            }
            let old = std::mem::take(self);
            (self.memory, self.more) = (memory, true);
            self.passed(old.history());
        }
    }

    /// Sees to memory for what will wait, and for history. Returns whether there is some.
    pub(crate) fn reserve(&mut self) -> bool {
        let wanted = HISTORY + self.most();
        if self.memory.is_none() {
            let spare = if wanted == HISTORY + WAITING { SPARE.take() } else { None };
            self.memory = match spare {
                Some(spare) => Some(spare),
                None => zeros(wanted),
            };
        }
        self.memory.is_some()
    }

    /// Gives the memory to others. Nothing waits, and there is no history.
    pub(crate) fn give_up(&mut self) {
        drop(std::mem::take(self));
    }

    /// What waits.
    pub(crate) fn waiting(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], |m| &m[self.start..self.end])
    }

    /// What comes before it: 32 KB at most.
    pub(crate) fn history(&self) -> &[u8] {
        let base = self.base.max(self.start.saturating_sub(HISTORY));
        self.memory.as_ref().map_or(&[], |m| &m[base..self.start])
    }

    /// History and what waits: what the decoder's window will hold.
    pub(crate) fn all(&self) -> &[u8] {
        let base = self.base.max(self.start.saturating_sub(HISTORY));
        self.memory.as_ref().map_or(&[], |m| &m[base..self.end])
    }

    /// Appends what there is room for, and says how much that was: nothing without memory, which
    /// [`reserve`](Input::reserve) tells beforehand.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.most().saturating_sub(self.end - self.start));
        if count == 0 || !self.reserve() {
            return 0;
        }
        let Some(memory) = &mut self.memory else { return 0 };
        // Sooner than need be where that is little: memory that nobody has touched costs nothing.
        let soon = self.start >= 3 * HISTORY && self.end - self.start <= HISTORY / 2;
        if soon || self.end + count > memory.len() {
            // No more than 32 KB of history and the most that may wait: there is room.
            let base = self.base.max(self.start.saturating_sub(HISTORY));
            memory.copy_within(base..self.end, 0);
            self.start -= base;
            self.end -= base;
            self.base = 0;
        }
        memory[self.end..self.end + count].copy_from_slice(&bytes[..count]);
        self.end += count;
        count
    }

    /// Has all these bytes wait. There is no history, and nothing waits. Returns whether there is
    /// memory for them.
    pub(crate) fn hold(&mut self, bytes: &[u8]) -> bool {
        self.forget();
        if bytes.len() > WAITING {
            let Some(mut memory) = zeros(HISTORY + bytes.len()) else { return false };
            memory[..bytes.len()].copy_from_slice(bytes);
            self.memory = Some(memory);
            self.end = bytes.len();
            return true;
        }
        self.append(bytes) == bytes.len()
    }

    /// The first `count` bytes that wait have been compressed.
    pub(crate) fn compressed(&mut self, count: usize) {
        self.start += count;
    }

    /// These bytes, which follow, were compressed where they lay. Nothing waits. Without memory there is
    /// no history of them.
    pub(crate) fn passed(&mut self, bytes: &[u8]) {
        let tail = &bytes[bytes.len().saturating_sub(HISTORY)..];
        if tail.len() == HISTORY {
            self.forget();
        }
        let count = self.append(tail);
        self.compressed(count);
        if count < tail.len() {
            self.forget();
        }
    }

    /// No history any more, and nothing waits.
    pub(crate) fn forget(&mut self) {
        (self.base, self.start, self.end) = (0, 0, 0);
    }

    /// A copy, for `deflateCopy`; `None` without memory for it.
    pub(crate) fn copy(&self) -> Option<Input> {
        let mut copy = Input::default();
        copy.more = self.more;
        if self.waiting().len() > self.most() {
            // Held: there is no history.
            return copy.hold(self.waiting()).then_some(copy);
        }
        if !self.all().is_empty() {
            copy.reserve().then_some(())?;
            copy.passed(self.history());
            copy.append(self.waiting());
        }
        Some(copy)
    }
}

/// Memory of this length; `None` if there is none.
fn zeros(len: usize) -> Option<Box<Memory>> {
    let layout = Layout::array::<u8>(len).ok()?;
    // SAFETY: it has a size.
    let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
    // SAFETY: fresh memory of this length, initialised, as a box would have it.
    Some(unsafe { Box::from_raw(NonNull::slice_from_raw_parts(start, len).as_ptr()) })
}

impl Drop for Input {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take()
            && let Ok(memory) = memory.try_into()
        {
            SPARE.put(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a model that keeps everything.
    #[test]
    fn agrees_with_a_model() {
        let (mut input, mut all, mut done) = (Input::default(), Vec::new(), 0);
        let mut changed = 0;
        let mut seed = 1u32;
        for _ in 0..2000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let n = (seed >> 8) as usize % if seed.is_multiple_of(7) { 400_000 } else { 9_000 };
            let bytes: Vec<u8> = (0..n).map(|i| (i as u32 ^ seed) as u8).collect();
            if input.waiting().is_empty() && seed.is_multiple_of(5) {
                input.wait_for_more(seed.is_multiple_of(2));
                changed += 1;
            }
            if seed.is_multiple_of(3) {
                let count = input.waiting().len() / 2 + (seed % 2) as usize;
                let count = count.min(input.waiting().len());
                input.compressed(count);
                done += count;
            } else if input.waiting().is_empty() {
                input.passed(&bytes);
                all.extend_from_slice(&bytes);
                done = all.len();
            } else {
                let count = input.append(&bytes);
                assert!(count == n || input.waiting().len() == input.most());
                all.extend_from_slice(&bytes[..count]);
            }
            assert_eq!(input.waiting(), &all[done..]);
            assert_eq!(input.history(), &all[done.saturating_sub(HISTORY)..done]);
            if seed.is_multiple_of(11) {
                let copy = input.copy().expect("memory");
                assert_eq!((copy.waiting(), copy.history()), (input.waiting(), input.history()));
                input = copy;
            }
        }
        assert!(all.len() > 10 * WAITING_MORE && changed > 10);
    }
}
