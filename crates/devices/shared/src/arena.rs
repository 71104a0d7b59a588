//! Which pieces of the arena are in use. Known to the client alone.

use core::ops::Range;

/// What is handed out.
const CHUNK: usize = 4096;

/// A bit for each chunk.
pub(crate) struct Arena {
    used: Box<[u64]>,
    chunks: usize,
    /// No chunk before it is free.
    first: usize,
    /// How many pieces are in use, those of no bytes too.
    pieces: usize,
}

impl Arena {
    pub(crate) fn new(bytes: usize) -> Arena {
        let chunks = bytes / CHUNK;
        Arena { used: vec![0; chunks.div_ceil(64)].into(), chunks, first: 0, pieces: 0 }
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
            self.pieces += 1;
            return Some(0..0);
        }
        // The first that fits: memory that was not needed so far stays untouched, and so is no memory at all; what was
        // used last is in the cache.
        let start = self.find(self.first..self.chunks, n)?;
        self.mark(start..start + n);
        self.pieces += 1;
        if start == self.first {
            self.first = start + n;
        }
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

    /// Whether nothing of it is in use.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces == 0
    }

    /// Takes a piece back.
    pub(crate) fn give_back(&mut self, piece: Range<usize>) {
        self.pieces -= 1;
        if !piece.is_empty() {
            self.first = self.first.min(piece.start / CHUNK);
        }
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
        arena.give_back(0..0);
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
        assert!(!arena.is_empty());
        held.into_iter().for_each(|piece| arena.give_back(piece));
        assert!(arena.is_empty());
        assert_eq!(arena.take(100 * CHUNK), Some(0..100 * CHUNK));
        assert_eq!(arena.take(1), None);
    }

    #[test]
    fn what_is_not_needed_stays_untouched() {
        let mut arena = Arena::new(100 * CHUNK);
        for _ in 0..1000 {
            let (a, b) = (arena.take(3 * CHUNK).unwrap(), arena.take(1).unwrap());
            assert!(a.end.max(b.end) <= 4 * CHUNK);
            arena.give_back(a);
            arena.give_back(b);
        }
    }
}
