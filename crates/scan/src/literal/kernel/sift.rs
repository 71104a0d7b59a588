//! The second look at each candidate.
//!
//! ```text
//! for at in candidates:
//!     set := bytes[gram at at * multiplier >> shift]
//!     begin := 0 IN bytes[gram at (at + 1) * multiplier >> shift]                     if candidates are pairs
//!     keep at, with set and begin, if set != 0 or begin
//! ```
//!
//! Shapes: any bytes. Preconditions: none; a gram that does not fit is read with zeros behind the haystack. CPU features:
//! none. Not constant time. Source: ours. Covered by the tests of `literal` and by the bench `literal`.
//!
//! 1. What is kept is stored over what was looked at, each time, and counts if `set` is not empty: no branch.
//! 2. All candidates of a block are looked at before the first is confirmed, so that the loads overlap.
//! 3. With gathers, 16 at once, a scan of a packet takes 1.07 times as long on Zen 4.

use super::super::gram::Grams;
use super::Candidates;

/// Of each value of a hash: at which offsets in a window a gram with that hash stands, modulo 8, as a set.
#[derive(Debug)]
pub(crate) struct Alignments {
    /// `1 << bits` of them.
    bytes: Box<[u8]>,
    bits: u32,
    grams: Grams,
}

/// What stands above a position: whether a window may begin at the next one, and the set of offsets. Strides are 32 at most:
/// a position in a block has fewer than 23 bits.
const BEGIN_SHIFT: u32 = 23;
const SET_SHIFT: u32 = 24;

impl Alignments {
    /// Without a gram, with `1 << bits` bytes.
    pub(crate) fn new(grams: Grams, bits: u32) -> Alignments {
        assert!((1..32).contains(&bits) && (1..=8).contains(&grams.len));
        Alignments { bytes: vec![0; 1 << bits].into(), bits, grams }
    }

    /// Adds a gram at `offset` of its window.
    pub(crate) fn insert(&mut self, gram: u64, offset: usize) {
        self.bytes[self.grams.second(gram, self.bits)] |= 1 << (offset % 8);
    }

    pub(crate) fn memory(&self) -> usize {
        self.bytes.len()
    }

    /// The offsets at which the gram at `at` may stand.
    #[inline(always)]
    fn at(&self, hay: &[u8], at: usize) -> u8 {
        let hash = self.grams.second(self.grams.load(hay, at), self.bits);
        // SAFETY: the hash has as many bits as the table's length.
        unsafe { *self.bytes.get_unchecked(hash) }
    }

    /// Drops the candidates of a block at `base` without an offset, and of `pairs` without a window that may begin at the
    /// second position. Returns the others, for [`Alignments::unpack`].
    #[inline(always)]
    pub(crate) fn sift<'a>(
        &self,
        hay: &[u8],
        base: usize,
        pairs: bool,
        candidates: &'a mut Candidates,
    ) -> &'a [u32] {
        match pairs {
            true => self.sift_in::<true>(hay, base, candidates),
            false => self.sift_in::<false>(hay, base, candidates),
        }
    }

    #[inline(always)]
    fn sift_in<'a, const PAIRS: bool>(
        &self,
        hay: &[u8],
        base: usize,
        candidates: &'a mut Candidates,
    ) -> &'a [u32] {
        let (mut kept, len) = (0, candidates.len);
        // SAFETY: `push` and the like alone raise `len`, and have written what is below it.
        let positions = unsafe {
            std::slice::from_raw_parts_mut(candidates.at.as_mut_ptr().cast::<u32>(), len)
        };
        for i in 0..len {
            let position = positions[i];
            let at = base + position as usize;
            let set = u32::from(self.at(hay, at)) << SET_SHIFT;
            let begin = if PAIRS { u32::from(self.at(hay, at + 1) & 1) << BEGIN_SHIFT } else { 0 };
            // SAFETY: `kept` is `i` at most.
            unsafe { *positions.get_unchecked_mut(kept) = position | begin | set };
            kept += usize::from(begin | set != 0);
        }
        &positions[..kept]
    }

    /// The position, the offsets of the gram there, and whether a window may begin at the next position.
    #[inline(always)]
    pub(crate) fn unpack(kept: u32) -> (usize, u8, bool) {
        let position = kept & ((1 << BEGIN_SHIFT) - 1);
        (position as usize, (kept >> SET_SHIFT) as u8, kept >> BEGIN_SHIFT & 1 != 0)
    }
}
