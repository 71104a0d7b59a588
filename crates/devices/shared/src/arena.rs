//! Which pieces of the arena are in use. Known to the client alone.

use core::ops::Range;

/// What is handed out.
const CHUNK: usize = 4096;

/// A bit for each chunk.
pub(crate) struct Arena {
    used: Box<[u64]>,
    chunks: usize,
    /// Where the search goes on.
    next: usize,
}

impl Arena {
    pub(crate) fn new(bytes: usize) -> Arena {
        let chunks = bytes / CHUNK;
        Arena { used: vec![0; chunks.div_ceil(64)].into(), chunks, next: 0 }
    }

    /// The most bytes that it ever has in one piece.
    pub(crate) fn len(&self) -> usize {
        self.chunks * CHUNK
    }

    fn is_used(&self, chunk: usize) -> bool {
        self.used[chunk / 64] >> (chunk % 64) & 1 != 0
    }

    fn mark(&mut self, chunks: Range<usize>) {
        for chunk in chunks {
            self.used[chunk / 64] ^= 1 << (chunk % 64);
        }
    }

    /// A piece of so many bytes; `None` where there is none at the moment.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<Range<usize>> {
        let n = bytes.div_ceil(CHUNK);
        if n == 0 {
            return Some(0..0);
        }
        let start = self.find(self.next..self.chunks, n).or_else(|| {
            let end = (self.next + n).min(self.chunks);
            self.find(0..end, n)
        })?;
        self.mark(start..start + n);
        self.next = start + n;
        Some(start * CHUNK..(start + n) * CHUNK)
    }

    /// The first `n` free chunks in a row.
    fn find(&self, within: Range<usize>, n: usize) -> Option<usize> {
        let (mut chunk, mut run) = (within.start, 0);
        while chunk < within.end {
            if chunk.is_multiple_of(64) && self.used[chunk / 64] == u64::MAX {
                (chunk, run) = (chunk + 64, 0);
                continue;
            }
            run = if self.is_used(chunk) { 0 } else { run + 1 };
            chunk += 1;
            if run == n {
                return Some(chunk - n);
            }
        }
        None
    }

    /// Takes a piece back.
    pub(crate) fn give_back(&mut self, piece: Range<usize>) {
        self.mark(piece.start / CHUNK..piece.end / CHUNK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_apart_and_come_back() {
        let mut arena = Arena::new(100 * CHUNK);
        assert_eq!((arena.len(), arena.take(0)), (100 * CHUNK, Some(0..0)));
        let mut held: Vec<Range<usize>> = Vec::new();
        let mut seed = 7_u64;
        for round in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bytes = (seed >> 33) as usize % (9 * CHUNK) + 1;
            match arena.take(bytes) {
                Some(piece) => {
                    assert!(piece.len() >= bytes && piece.end <= arena.len());
                    assert!(held.iter().all(|h| h.end <= piece.start || piece.end <= h.start));
                    held.push(piece);
                }
                None => assert!(!held.is_empty(), "room in an empty arena, round {round}"),
            }
            if held.len() > 12 || seed & 3 == 0 && !held.is_empty() {
                let piece = held.swap_remove(seed as usize % held.len());
                arena.give_back(piece);
            }
        }
        held.into_iter().for_each(|piece| arena.give_back(piece));
        assert_eq!(arena.take(100 * CHUNK), Some(0..100 * CHUNK));
        assert_eq!(arena.take(1), None);
    }
}
