//! States that are passed without being made.
//!
//! To make a state takes as long as some twenty steps bit by bit, and it takes the room of others. Many come once and never again. So
//! where room is scarce, a state that comes first is noted by its hash alone, and passed bit by bit, up to one that is known or
//! comes again.

use std::ops::ControlFlow;

use super::dfa::{Cursor, Dfa, Go, emit};
use super::program::Program;

/// When states are passed that come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Spare {
    /// They are all made.
    Never,
    /// With half of the budget in use.
    #[default]
    Half,
    Always,
}

/// Notes of states, the latest of each place.
const NOTES: usize = 512;
/// Where so many bytes passed come with each state made, states do not pay: without them it is faster.
const A_STATE: usize = 6;

/// What is known of states that are not made.
#[derive(Default)]
pub(super) struct Passing {
    pub(super) spare: Spare,
    /// The hashes of those that came, without the bits that are their place.
    notes: Box<[u32]>,
    /// Bytes passed bit by bit since the cache was empty.
    bytes: usize,
}

impl Passing {
    /// As how many states what was passed counts.
    pub(super) fn states(&self) -> usize {
        self.bytes / A_STATE
    }

    /// All states were thrown away.
    pub(super) fn clear(&mut self) {
        self.bytes = 0;
    }

    /// Whether a state with this hash came before, as far as that is noted. It is noted now.
    fn comes_again(&mut self, hash: usize) -> bool {
        if self.notes.is_empty() {
            self.notes = vec![0; NOTES].into();
        }
        let tag = (hash / NOTES) as u32 | 1;
        std::mem::replace(&mut self.notes[hash % NOTES], tag) == tag
    }

    pub(super) fn memory(&self) -> usize {
        size_of_val(&self.notes[..])
    }
}

impl Dfa {
    /// Whether the state of the positions `self.next`, which is not known, is to be made.
    pub(super) fn is_wanted(&mut self) -> bool {
        let spares = match self.passing.spare {
            Spare::Never => false,
            Spare::Half => {
                self.short = self.memory() > self.budget / 2;
                self.short
            }
            Spare::Always => true,
        };
        !spares || self.passing.comes_again(Self::hash(&self.next))
    }

    /// Passes the byte that the cursor is at, behind which the positions are `self.next`, and those behind it up to a state that is
    /// known or wanted. At the end of the chunk, the positions are `self.current`.
    pub(super) fn pass(
        &mut self,
        program: &Program,
        cursor: &mut Cursor,
        (offset, chunk): (u64, &[u8]),
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<(), Go> {
        loop {
            cursor.at += 1;
            self.passing.bytes += 1;
            if self.next.iter().zip(&program.accepting).any(|(bits, mask)| bits & mask != 0) {
                let mut list = std::mem::take(&mut self.list);
                program.reports(&self.next, &mut list);
                emit(&list, offset.wrapping_add(cursor.at as u64), hit)?;
                self.list = list;
            }
            std::mem::swap(&mut self.current, &mut self.next);
            let Some(&byte) = chunk.get(cursor.at) else {
                self.walked(cursor.at - cursor.counted);
                return ControlFlow::Continue(Go::Over);
            };
            program.step_on(&self.current, program.class[usize::from(byte)], &mut self.next);
            let entry = match self.known(program) {
                Some(entry) => entry,
                None if self.is_wanted() => {
                    if self.full(program) {
                        self.walked(cursor.at - cursor.counted);
                        cursor.counted = cursor.at;
                        self.current.copy_from_slice(&self.next);
                        self.throw_away(program);
                        self.next.copy_from_slice(&self.current);
                    }
                    self.intern(program)
                }
                None => continue,
            };
            return self.arrive(program, cursor, entry, (offset, chunk), hit);
        }
    }
}
