//! Output that waits for room at the caller's.

use std::collections::VecDeque;

use crate::pool::Pool;

/// Memory for results: all of it initialised.
pub(crate) type Memory = Vec<u8>;

static SPARE: Pool<Memory> = Pool::new();

/// Memory of at least `len` bytes, with any content. `None` if there is none.
pub(crate) fn memory(len: usize) -> Option<Memory> {
    let mut memory = SPARE.take().map_or_else(Memory::new, |spare| *spare);
    if memory.len() < len {
        memory.try_reserve_exact(len - memory.len()).ok()?;
        memory.resize(len, 0);
    }
    Some(memory)
}

/// Keeps memory for the next one who needs some.
pub(crate) fn spare(memory: Memory) {
    /// Nothing larger is kept: pieces and whole calls below the threshold need less.
    const LARGEST: usize = (1 << 20) + (64 << 10);
    /// Less is had from the allocator as quickly.
    const SMALLEST: usize = 4 << 10;
    if (SMALLEST..=LARGEST).contains(&memory.len()) {
        SPARE.put(Box::new(memory));
    }
}

struct Chunk {
    bytes: Memory,
    start: usize,
    end: usize,
}

/// What has been compressed and not yet taken, in order.
#[derive(Default)]
pub(crate) struct Outbox {
    chunks: VecDeque<Chunk>,
    len: usize,
}

impl Outbox {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a copy of a few bytes.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.len += bytes.len();
        if let Some(last) = self.chunks.back_mut()
            && let Some(room) = last.bytes.get_mut(last.end..last.end + bytes.len())
        {
            room.copy_from_slice(bytes);
            last.end += bytes.len();
            return;
        }
        let mut memory = vec![0; bytes.len().max(64)];
        memory[..bytes.len()].copy_from_slice(bytes);
        self.chunks.push_back(Chunk { bytes: memory, start: 0, end: bytes.len() });
    }

    /// Adds the first `len` bytes of `memory`.
    pub(crate) fn push(&mut self, memory: Memory, len: usize) {
        self.len += len;
        self.chunks.push_back(Chunk { bytes: memory, start: 0, end: len });
    }

    /// Moves what fits to `dst`.
    pub(crate) fn drain(&mut self, dst: &mut [u8]) -> usize {
        let mut done = 0;
        while let Some(chunk) = self.chunks.front_mut() {
            let waiting = &chunk.bytes[chunk.start..chunk.end];
            let count = waiting.len().min(dst.len() - done);
            dst[done..done + count].copy_from_slice(&waiting[..count]);
            done += count;
            chunk.start += count;
            if chunk.start < chunk.end {
                break;
            }
            if let Some(chunk) = self.chunks.pop_front() {
                spare(chunk.bytes);
            }
        }
        self.len -= done;
        done
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.chunks.drain(..).for_each(|chunk| spare(chunk.bytes));
    }

    /// A copy, for `deflateCopy`; `None` without memory for it.
    pub(crate) fn copy(&self) -> Option<Outbox> {
        let mut copy = Outbox::default();
        for chunk in &self.chunks {
            let from = &chunk.bytes[chunk.start..chunk.end];
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(from.len()).ok()?;
            bytes.extend_from_slice(from);
            copy.push(bytes, from.len());
        }
        Some(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_whatever_the_room() {
        let mut outbox = Outbox::default();
        outbox.put(b"ab");
        outbox.push(vec![b'c', b'd', 0, 0], 2);
        outbox.put(b"ef");
        outbox.put(&[b'g'; 70]);
        assert_eq!(outbox.len(), 76);
        let copy = outbox.copy().expect("memory");
        for mut outbox in [outbox, copy] {
            let mut all = Vec::new();
            while !outbox.is_empty() {
                let mut dst = [0; 5];
                let n = outbox.drain(&mut dst);
                all.extend_from_slice(&dst[..n]);
            }
            assert_eq!(&all[..6], b"abcdef");
            assert_eq!(&all[6..], [b'g'; 70]);
        }
    }
}
