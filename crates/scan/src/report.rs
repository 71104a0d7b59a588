//! What is reported of the matches that were found, and what a state knows of earlier ones.

use std::ops::{ControlFlow, Range};

use lookaside_spec::scan::Match;

use crate::counters::Tally;

/// What decides whether a match is reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// The pattern's place in the set.
    pub pattern: u32,
    pub id: u32,
    pub start_of_match: bool,
    /// The bit in a stream's state that says that its one match was reported.
    pub single: Option<u32>,
    /// The bit that says that it has matched, for the combinations that it is an operand of.
    pub operand: Option<u32>,
    pub quiet: bool,
    /// In a stream, its matches are known only with the byte behind them, and come after others of their end: the order
    /// is the same then wherever a piece ends.
    pub late: bool,
    pub min_offset: u64,
    pub max_offset: u64,
    pub min_length: u64,
}

impl Rule {
    /// Whether the parameters of the pattern allow a match.
    pub(crate) fn allows(&self, end: u64, start: u64) -> bool {
        (self.min_offset..=self.max_offset).contains(&end)
            && end.wrapping_sub(start) >= self.min_length
    }

    /// Whether all matches are reported.
    pub(crate) fn is_plain(&self) -> bool {
        let any = (self.min_offset, self.max_offset, self.min_length) == (0, u64::MAX, 0);
        any && !self.quiet && self.single.is_none() && self.operand.is_none()
    }

    /// Whether the one match that is reported has been.
    pub(crate) fn is_spent(&self, view: &View<'_>) -> bool {
        self.single.is_some_and(|bit| view.is_set(bit))
    }

    /// Reports a match, unless nobody is to know, or knows of an earlier one.
    pub(crate) fn report(
        &self,
        end: u64,
        start: u64,
        view: &mut View<'_>,
        tally: &mut Tally,
        hit: &mut dyn FnMut(Match) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.is_spent(view) {
            return ControlFlow::Continue(());
        }
        if let Some(bit) = self.single {
            view.set(bit);
        }
        if self.quiet {
            return ControlFlow::Continue(());
        }
        let flow = hit(Match { end, id: self.id, start });
        tally.matched(self.pattern, flow.is_break());
        flow
    }
}

/// What a state begins with: the offset behind all bytes so far, and how many matches of the next window were taken before the scan was
/// stopped.
const OFFSET: usize = 8;
const TAKEN: usize = 4;

/// The offset of the next byte.
#[inline]
pub(crate) fn offset(fixed: &[u8]) -> u64 {
    u64::from_le_bytes(*fixed.first_chunk().expect("a state has an offset"))
}

#[inline]
pub(crate) fn set_offset(fixed: &mut [u8], offset: u64) {
    fixed[..OFFSET].copy_from_slice(&offset.to_le_bytes());
}

/// The parts of a state, but for the bytes of the past, which are the last ones.
#[derive(Default)]
pub(crate) struct View<'a> {
    /// How many matches of the next window were taken before the scan was stopped.
    taken: &'a mut [u8],
    /// What is known of patterns: which have matched.
    bits: &'a mut [u8],
    /// For each combination, one more than the end at which it was reported last.
    ends: &'a mut [u8],
    /// Which gaps are open, a bit each.
    pub live: &'a mut [u8],
    /// Of each open gap that is bounded: the bytes between its beginning and the place that its bit describes, as u16.
    pub ages: &'a mut [u8],
    /// What is carried from one byte to the next of expressions that are looked for bit by bit.
    pub bitwise: &'a mut [u8],
    /// The state of the automata around strings.
    pub around: &'a mut [u8],
    /// The state of the fallback automaton.
    pub fallback: &'a mut [u8],
}

/// How long the parts of a state are that differ from set to set, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Layout {
    pub bits: usize,
    pub ends: usize,
    pub live: usize,
    pub ages: usize,
    pub bitwise: usize,
    pub around: usize,
    pub fallback: usize,
}

impl Layout {
    /// Bytes of all parts but the past.
    pub(crate) fn len(&self) -> usize {
        let apart = self.bits + self.ends + self.live + self.ages + self.bitwise;
        OFFSET + TAKEN + apart + self.around + self.fallback
    }

    /// Where in a state the bits of open gaps are.
    pub(crate) fn place_of_live(&self) -> Range<usize> {
        let start = OFFSET + TAKEN + self.bits + self.ends;
        start..start + self.live
    }

    /// Where in a state the part of what is looked for bit by bit is.
    pub(crate) fn place_of_bitwise(&self) -> Range<usize> {
        let start = self.place_of_live().end + self.ages;
        start..start + self.bitwise
    }

    /// Where in a state the part of automata around strings is.
    pub(crate) fn place_of_around(&self) -> Range<usize> {
        let start = self.len() - self.around - self.fallback;
        start..start + self.around
    }

    /// Where in a state the part of the fallback automaton is.
    pub(crate) fn place_of_fallback(&self) -> Range<usize> {
        let start = self.place_of_around().end;
        start..start + self.fallback
    }

    /// The parts of a state without its past.
    #[inline(always)]
    pub(crate) fn view<'a>(&self, fixed: &'a mut [u8]) -> View<'a> {
        let (_, rest) = fixed.split_at_mut(OFFSET);
        let (taken, rest) = rest.split_at_mut(TAKEN);
        let (bits, rest) = rest.split_at_mut(self.bits);
        let (ends, rest) = rest.split_at_mut(self.ends);
        let (live, rest) = rest.split_at_mut(self.live);
        let (ages, rest) = rest.split_at_mut(self.ages);
        let (bitwise, rest) = rest.split_at_mut(self.bitwise);
        let (around, fallback) = rest.split_at_mut(self.around);
        View { taken, bits, ends, live, ages, bitwise, around, fallback }
    }
}

impl View<'_> {
    pub(crate) fn is_set(&self, bit: u32) -> bool {
        self.bits[bit as usize / 8] >> (bit % 8) & 1 != 0
    }

    pub(crate) fn set(&mut self, bit: u32) {
        self.bits[bit as usize / 8] |= 1 << (bit % 8);
    }

    /// Notes that the combination with this number has a match that ends here. False if that is known already: a piece
    /// of a stream may end where an operand matches, and another one because the stream ends.
    pub(crate) fn note_end(&mut self, combination: usize, end: u64) -> bool {
        let noted = end.wrapping_add(1).to_le_bytes();
        let place = &mut self.ends[8 * combination..][..8];
        let new = *place != noted;
        place.copy_from_slice(&noted);
        new
    }

    pub(crate) fn take_taken(&mut self) -> u32 {
        let taken = u32::from_le_bytes(self.taken[..].try_into().expect("four bytes"));
        self.set_taken(0);
        taken
    }

    pub(crate) fn set_taken(&mut self, taken: u32) {
        self.taken.copy_from_slice(&taken.to_le_bytes());
    }
}
