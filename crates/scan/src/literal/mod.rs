//! Finds all occurrences of 1 to 100,000 and more strings.
//!
//! A set is split by the length of windows into one to three groups ([`plan`]). In each group a window of fixed length is chosen in
//! each literal, and one of three filters looks for windows:
//!
//! - **strided**: every `s`-th position alone is looked at. A window of `q + s - 1` bytes has a gram of `q` bytes at one of
//!   these, whatever its alignment; the grams at all `s` places are in one table of bits. Or two neighbouring positions are
//!   looked at with one load from the table: then windows of `q + s - 2` bytes will do.
//! - **vector**: 64 positions at once, for few or short literals: whether the 1 to 4 bytes there belong to one of 8 buckets
//!   of windows. If one window is all there is, its bytes are compared instead, 256 positions at once, which takes a third of
//!   what the plan has for tables.
//! - **shift-or**: a pair of bytes every 1, 2 or 4 bytes, for hundreds of literals of all lengths: each says for 8 positions near it
//!   which of 8 buckets may have windows that end there.
//!
//! What passes is confirmed by a second hash, the hash of the whole window and all bytes ([`confirm`]). Which filter
//! serves, with which numbers, is computed from a model of the bytes and of the cost ([`plan`]), not by thresholds.
//!
//! Worst case: a haystack made for the set, in which every probe is a candidate and every window nearly an occurrence,
//! costs 10 to 15 cycles a byte with the strided filter and up to 40 with the others, 30 to 90 times what random
//! bytes cost. The number of literals does not matter, with two exceptions: literals that share a window, because all
//! windows of theirs are equal, are compared one by one where it occurs; and each occurrence costs a call. The hashes have
//! no secret.
//!
//! ```text
//! set -> distinct literals -> byte model -> plan -> groups: filter, alignments, windows
//! haystack -> filter -> candidates -> second hash -> window -> literal -> hit(index, end)
//! ```

// What the matcher does not call is called by the bench.

mod buckets;
mod bytes;
mod confirm;
mod endings;
mod gram;
mod group;
mod kernel;
mod plan;
mod set;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::ControlFlow;

use lookaside_simd::Cpu;

use bytes::ByteModel;
use group::Group;
use kernel::Isa;
pub(crate) use plan::Forced;
use plan::{FilterKind, MOST_GROUPS};
use set::Literals;

/// A string to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    /// Its bytes. An empty one is found nowhere.
    pub bytes: Box<[u8]>,
    /// Whether ASCII letters match in both cases.
    pub caseless: bool,
    /// What stands on both sides wherever it is of use. Of an occurrence without that it is open whether it is found.
    pub around: Around,
}

/// A set of bytes: 256 bits.
pub(crate) type Bytes = [u64; 4];

/// The bytes that may stand on both sides of a literal, the nearest first. At each of these places there is a byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Around {
    pub before: Vec<Bytes>,
    pub after: Vec<Bytes>,
}

impl Around {
    /// What stands around a literal in either of two places.
    pub(crate) fn either(&mut self, other: &Around) {
        let side = |mine: &mut Vec<Bytes>, other: &[Bytes]| {
            mine.truncate(other.len());
            mine.iter_mut().flatten().zip(other.iter().flatten()).for_each(|(a, b)| *a |= b);
        };
        side(&mut self.before, &other.before);
        side(&mut self.after, &other.after);
    }
}

/// Finds a set of literals. Immutable; memory as [`Finder::memory`] says, a scan allocates nothing.
#[derive(Debug)]
pub(crate) struct Finder {
    literals: Literals,
    groups: Vec<Group>,
    isa: Isa,
    reach: Reach,
    /// Texts of up to so many bytes seldom have an occurrence.
    quiet: usize,
    /// What looks through these for the only literal, if that is another filter: comparisons, which have no table to read.
    lone: Option<Group>,
}

/// How far from the end of an occurrence the bytes are that are looked at for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    pub before: usize,
    pub behind: usize,
}

impl Reach {
    fn either(self, other: Reach) -> Reach {
        Reach { before: self.before.max(other.before), behind: self.behind.max(other.behind) }
    }
}

/// Asks for the first bytes of what is to be scanned: a packet is over before the CPU has noticed that its bytes are read in
/// order.
pub(crate) fn prefetch(hay: &[u8]) {
    kernel::prefetch(hay);
}

/// Cycles that [`Finder::is_quiet`] saves in a text without an occurrence. A text with one is searched a second time.
const SAVED: f32 = 50.0;

/// In longer texts the way to the search is next to nothing.
const LONGEST_QUIET: usize = 2048;

/// Bytes that one group scans before the next one does: they are in the first level cache then.
const SEGMENT: usize = 16 << 10;

impl Finder {
    /// The tables for `literals`. Literals may be equal, or parts of each other.
    pub(crate) fn new(literals: &[Literal], cpu: &Cpu) -> Finder {
        Finder::forced(literals, cpu, Forced::default())
    }

    /// As [`Finder::new`], with a part of the choice forced.
    pub(crate) fn forced(literals: &[Literal], cpu: &Cpu, forced: Forced) -> Finder {
        let isa = Isa::new(cpu);
        let mut literals = Literals::new(literals);
        let model = ByteModel::new(&literals);
        let groups = |forced| -> Vec<Group> {
            plan::plan(&literals, &model, isa, forced)
                .into_iter()
                .map(|(range, shape)| Group::new(&literals, range, shape, &model, isa))
                .collect()
        };
        let all = groups(forced);
        let vector = |group: &Group| matches!(group.shape.kind, FilterKind::Vector { .. });
        // Byte by byte, comparisons take longer than the table.
        let other = literals.len() == 1 && !all.iter().all(vector) && !matches!(isa, Isa::Generic);
        let lone = match other {
            true => groups(Forced { filter: Some("vector"), ..Forced::default() }).pop(),
            false => None,
        };
        let of = |index| model.of_literal(literals.bytes(index), literals.caseless(index));
        let occurrences: f32 = (0..literals.len()).map(of).sum();
        // So long that the search for nothing would cost what it saves.
        let cycles: f32 =
            lone.as_ref().map_or(&all[..], std::slice::from_ref).iter().map(Group::cycles).sum();
        let quiet = ((SAVED / (occurrences * cycles)).sqrt() as usize).min(LONGEST_QUIET);
        literals.forget_around();
        let reaches = all.iter().chain(&lone).map(Group::reach);
        let reach = reaches.fold(Reach::default(), Reach::either);
        Finder { literals, groups: all, isa, reach, quiet, lone }
    }

    /// Whether a text surely has no occurrence. Short ones that seldom have one are looked through; of others it is not said.
    /// (The way to [`Finder::find`] and through it takes as long as the search of a packet.)
    #[inline]
    pub(crate) fn is_quiet(&self, hay: &[u8]) -> bool {
        self.has_none(hay, self.quiet)
    }

    #[inline]
    fn has_none(&self, hay: &[u8], longest: usize) -> bool {
        let nothing_of = |group: &Group| group.is_quiet(self.isa, &self.literals, hay);
        hay.len() <= longest
            && match &self.lone {
                Some(lone) => nothing_of(lone),
                None => self.groups.iter().all(nothing_of),
            }
    }

    /// The same of a piece of a stream. The way to its search is longer: 2.5 times [`SAVED`], so 1.6 times the bytes.
    #[inline]
    pub(crate) fn is_quiet_piece(&self, hay: &[u8]) -> bool {
        self.has_none(hay, self.quiet * 8 / 5)
    }

    /// How many filters look at each byte.
    pub(crate) fn parts(&self) -> usize {
        self.groups.len()
    }

    /// How far from the end of an occurrence [`Finder::find`] looks for it.
    pub(crate) fn reach(&self) -> Reach {
        self.reach
    }

    /// Reports each occurrence whose end is above `from`, an index in `hay`, once: the index of the literal and the end.
    /// The order is nearly ascending. Breaks off when `hit` does.
    pub(crate) fn find(
        &self,
        hay: &[u8],
        from: usize,
        hit: &mut impl FnMut(u32, usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if let [group] = &*self.groups {
            let whole = (group.begin(from), hay.len());
            group.scan(self.isa, &self.literals, hay, whole, from, hit)?;
            return ControlFlow::Continue(());
        }
        let mut at = [0; MOST_GROUPS];
        for (at, group) in at.iter_mut().zip(&self.groups) {
            *at = group.begin(from);
        }
        let mut until = at.iter().copied().max().unwrap_or(0);
        while until < hay.len() {
            until = hay.len().min(until + SEGMENT);
            for (at, group) in at.iter_mut().zip(&self.groups) {
                *at = group.scan(self.isa, &self.literals, hay, (*at, until), from, hit)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Bytes of all tables.
    pub(crate) fn memory(&self) -> usize {
        let groups = self.groups.iter().chain(&self.lone).map(Group::memory);
        size_of::<Finder>() + self.literals.memory() + groups.sum::<usize>()
    }

    /// What serves the set, and what that is expected to cost.
    pub(crate) fn describe(&self) -> Vec<Description> {
        let describe = |group: &Group| Description {
            filter: match group.shape.kind {
                FilterKind::Strided { pairs: false, .. } => "strided",
                FilterKind::Strided { pairs: true, .. } => "paired strided",
                FilterKind::Vector { sets: 1 } => "vector",
                FilterKind::Vector { .. } => "16-bucket vector",
                FilterKind::ShiftOr { .. } => "shift-or",
            },
            literals: group.literals,
            window: group.shape.looked_at().1,
            gram: group.shape.looked_at().0,
            stride: group.shape.looked_at().2,
            memory: group.memory(),
            candidates_per_kb: group.shape.candidates,
            cycles_per_byte: group.shape.cycles / 1000.0,
        };
        self.groups.iter().map(describe).collect()
    }
}

/// How one group of literals is found.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    /// `strided`, `paired strided`, `vector`, `16-bucket vector`, or `shift-or`.
    pub filter: &'static str,
    /// Its distinct literals.
    pub literals: usize,
    /// Bytes of each literal that the filter knows, at most.
    pub window: usize,
    /// Bytes that one probe looks at.
    pub gram: usize,
    /// Bytes between probes.
    pub stride: usize,
    /// Bytes of its tables.
    pub memory: usize,
    /// Expected positions that pass the filter.
    pub candidates_per_kb: f32,
    /// Expected cost.
    pub cycles_per_byte: f32,
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} literals: {} filter, {} bytes every {} of windows of {}, {} KB, {:.2} candidates per KB, {:.2} cycles per byte",
            self.literals,
            self.filter,
            self.gram,
            self.stride,
            self.window,
            self.memory.div_ceil(1024),
            self.candidates_per_kb,
            self.cycles_per_byte
        )
    }
}
