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
    /// The first bits of the byte behind all that, lowest first, and how many there are (0 to 7).
    bits: u8,
    bit_count: u32,
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

    /// Adds the lowest `count` bits (at most 16) of `value`. What is less than a byte waits for more.
    pub(crate) fn put_bits(&mut self, value: u32, count: u32) {
        let mut bits = u32::from(self.bits) | (value & ((1 << count) - 1)) << self.bit_count;
        self.bit_count += count;
        while self.bit_count >= 8 {
            self.put(&[bits as u8]);
            bits >>= 8;
            self.bit_count -= 8;
        }
        self.bits = bits as u8;
    }

    /// Bits that are not a byte yet.
    pub(crate) fn bit_count(&self) -> u32 {
        self.bit_count
    }

    /// Adds an empty stored block, the last one or not, which ends at a byte.
    pub(crate) fn put_empty_stored(&mut self, last: bool) {
        self.put_bits(last.into(), 3);
        self.put_bits(0, (8 - self.bit_count) % 8);
        self.put(&[0, 0, 0xff, 0xff]);
    }

    /// What follows is a stored block that is not the last one. Its first byte is zero, and so are
    /// the bits that wait: they are in that byte.
    pub(crate) fn share_byte(&mut self) {
        debug_assert!(self.bits == 0 && self.bit_count <= 5);
        self.bit_count = 0;
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
        (self.len, self.bits, self.bit_count) = (0, 0, 0);
        self.chunks.drain(..).for_each(|chunk| spare(chunk.bytes));
    }

    /// A copy, for `deflateCopy`; `None` without memory for it.
    pub(crate) fn copy(&self) -> Option<Outbox> {
        let mut copy = Outbox { bits: self.bits, bit_count: self.bit_count, ..Outbox::default() };
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
    fn bits_become_bytes() {
        let mut outbox = Outbox::default();
        // An empty block with fixed codes: 010, and seven zeros.
        outbox.put_bits(0b010, 10);
        assert_eq!((outbox.len(), outbox.bit_count()), (1, 2));
        outbox.put_empty_stored(true);
        assert_eq!((outbox.len(), outbox.bit_count()), (6, 0));
        outbox.put_bits(0xffff_fabc, 12);
        outbox.put_bits(0x12345, 16);
        assert_eq!((outbox.len(), outbox.bit_count()), (9, 4));
        let mut copy = outbox.copy().expect("memory");
        copy.put_bits(0xd, 4);
        let mut all = [0; 12];
        assert_eq!(copy.drain(&mut all), 10);
        assert_eq!(all, [2, 4, 0, 0, 0xff, 0xff, 0xbc, 0x5a, 0x34, 0xd2, 0, 0]);
        outbox.clear();
        assert_eq!((outbox.len(), outbox.bit_count()), (0, 0));
    }

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
