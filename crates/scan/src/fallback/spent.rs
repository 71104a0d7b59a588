//! Expressions that leave a program with their first match.
//!
//! Of an expression whose first match is enough, all that is under way is of no use behind that one. Where several run together,
//! each leaves alone: a state also has a bit for each expression that has left, in words behind those of its positions. The state
//! behind one that reports is without the positions of what was reported, with these bits. So they are states like all others,
//! made once, and what has left costs neither states nor stops.
//!
//! The bits are a matter of one scan: at its beginning they are set from what is known of the stream ([`Spent::begin`]).
use super::fragment::Fragment;
use super::program::{Bits, set};

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Spent {
    /// Words of the positions.
    known: usize,
    /// The positions that report.
    accepting: Vec<u64>,
    /// By report, ascending.
    members: Vec<Member>,
}

/// What has one report.
#[derive(Clone, Debug)]
struct Member {
    positions: Vec<Bits>,
    accepting: Vec<Bits>,
}

/// Some positions, as bits of words.
fn bits(positions: impl Iterator<Item = usize>, words: usize) -> Vec<Bits> {
    let mut all = vec![0; words];
    positions.for_each(|at| set(&mut all, at));
    let words = (0..).zip(all).filter(|(_, bits)| *bits != 0);
    words.map(|(word, bits)| Bits { word, bits }).collect()
}

impl Spent {
    /// Of fragments whose positions are numbered from `first` on, in a program whose positions take `known` words.
    pub(super) fn new(fragments: &[&Fragment], first: usize, known: usize) -> Spent {
        let mut reports: Vec<u32> = fragments.iter().map(|it| it.report).collect();
        reports.sort_unstable();
        reports.dedup();
        let member = |report: &u32| {
            let (mut base, mut positions, mut accepting) = (first, Vec::new(), Vec::new());
            for fragment in fragments {
                let own = || base..base + fragment.positions.len();
                if fragment.report == *report {
                    positions.extend(own());
                    let accepts = own().zip(&fragment.positions).filter(|it| it.1.accept.is_some());
                    accepting.extend(accepts.map(|it| it.0));
                }
                base += fragment.positions.len();
            }
            Member {
                positions: bits(positions.into_iter(), known),
                accepting: bits(accepting.into_iter(), known),
            }
        };
        let members: Vec<Member> = reports.iter().map(member).collect();
        let mut accepting = vec![0; known];
        for bits in members.iter().flat_map(|it| &it.accepting) {
            accepting[bits.word as usize] |= bits.bits;
        }
        Spent { known, accepting, members }
    }

    /// Words of a state that it takes.
    pub(super) fn words(&self) -> usize {
        self.members.len().div_ceil(64)
    }

    /// Sets the bits of those that are `seen`, in the order of their reports, in a state that has none of these bits yet.
    pub(super) fn begin(&self, seen: &[bool], state: &mut [u64]) {
        for (number, (member, seen)) in self.members.iter().zip(seen).enumerate() {
            if *seen {
                self.remove(number, member, state);
            }
        }
        self.end(state);
    }

    /// Makes `next`, which has the positions behind `state`, the whole state behind it.
    pub(super) fn leave(&self, state: &[u64], next: &mut [u64]) {
        let reports = state.iter().zip(&self.accepting).any(|(bits, mask)| bits & mask != 0);
        if reports {
            for (number, member) in self.members.iter().enumerate() {
                if member.accepting.iter().any(|it| state[it.word as usize] & it.bits != 0) {
                    self.remove(number, member, next);
                }
            }
        }
        for (word, &left) in state[self.known..].iter().enumerate() {
            let mut left = left;
            while left != 0 {
                let number = word * 64 + left.trailing_zeros() as usize;
                self.remove(number, &self.members[number], next);
                left &= left - 1;
            }
        }
        self.end(next);
    }

    /// Where nothing is left: the state from which nothing matches is one alone.
    fn end(&self, state: &mut [u64]) {
        if state[..self.known].iter().all(|bits| *bits == 0) {
            state.fill(0);
        }
    }

    fn remove(&self, number: usize, member: &Member, state: &mut [u64]) {
        set(&mut state[self.known..], number);
        member.positions.iter().for_each(|it| state[it.word as usize] &= !it.bits);
    }

    pub(super) fn memory(&self) -> usize {
        let bits = |it: &Member| it.positions.len() + it.accepting.len();
        self.members.iter().map(bits).sum::<usize>() * size_of::<Bits>() + self.accepting.len() * 8
    }
}
