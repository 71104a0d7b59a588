//! A group of literals that one filter serves.

use std::ops::{ControlFlow, Range};

use super::Reach;
use super::buckets::{self, VectorWindow};
use super::bytes::{ByteModel, fold_of_range};
use super::confirm::{Confirm, Window, spellings};
use super::endings::{self, Endings, Odds};
use super::gram::{Crowd, Grams};
use super::kernel::{
    BitTable, CAPACITY, Candidates, Isa, Masks, VectorTables, has_none, shift_or, strided, vector,
};
use super::plan::{FilterKind, Shape};
use super::set::Literals;

#[derive(Debug)]
enum Filter {
    Strided { table: BitTable, rare: bool },
    Vector(VectorTables),
    ShiftOr(Masks),
}

#[derive(Debug)]
pub(super) struct Group {
    filter: Filter,
    confirm: Confirm,
    /// The most bytes from the begin of a window to the end of its literal.
    reach: usize,
    /// The same, or the literal's length, and how far windows go beyond literals.
    around: Reach,
    pub(super) literals: usize,
    pub(super) shape: Shape,
}

impl Group {
    pub(super) fn new(
        literals: &Literals,
        range: Range<usize>,
        shape: Shape,
        model: &ByteModel,
        isa: Isa,
    ) -> Group {
        let fold = fold_of_range(literals, range.clone());
        let grams = Grams { len: shape.gram, fold };
        let endings = match shape.kind {
            FilterKind::ShiftOr { .. } => endings::of(literals, range.clone(), model),
            FilterKind::Strided { .. } | FilterKind::Vector { .. } => Vec::new(),
        };
        let windows = match &endings[..] {
            [] => choose_windows(literals, range.clone(), &shape, fold, model),
            all => all.iter().map(|it| (it.literal, it.offset(shape.window()))).collect(),
        };
        let filter = match shape.kind {
            FilterKind::Strided { bits, rare, pairs } => {
                let mut table = BitTable::new(isa, grams, (shape.stride, pairs), bits);
                for &of in &windows {
                    for window in spellings(literals, of, shape.window(), fold) {
                        for place in 0..=window.len() - grams.len {
                            table.insert(grams.load(&window, place), place);
                        }
                    }
                }
                Filter::Strided { table, rare }
            }
            FilterKind::Vector { sets } => {
                let window = |&(literal, offset): &Window| {
                    let window = literals.window(literal as usize, offset, shape.gram);
                    VectorWindow::new(&window.expect("a window was chosen").0)
                };
                let mut windows: Vec<_> = windows.iter().map(window).collect();
                let tables = buckets::tables(&mut windows, sets, isa.nibbles(), model);
                let rate = |byte| model.of(byte).iter().sum();
                Filter::Vector(VectorTables::new(&tables, rate))
            }
            FilterKind::ShiftOr { bits, step } => {
                let odds = Odds::new(bits, model);
                Filter::ShiftOr(Endings::new(endings, bits, false).masks(&odds, step))
            }
        };
        let reach =
            |&(literal, offset): &Window| literals.bytes(literal as usize).len() as i32 - offset;
        let around = |of: &Window| {
            let (len, reach) = (literals.bytes(of.0 as usize).len(), reach(of));
            let behind = (shape.window() as i32 - reach).max(0) as usize;
            Reach { before: len.max(reach.max(0) as usize), behind }
        };
        Group {
            filter,
            reach: windows.iter().map(reach).max().unwrap_or(0) as usize,
            around: windows.iter().map(around).fold(Reach::default(), Reach::either),
            confirm: Confirm::new(literals, &windows, grams, &shape),
            literals: range.len(),
            shape,
        }
    }

    pub(super) fn memory(&self) -> usize {
        let filter = match &self.filter {
            Filter::Strided { table, .. } => table.memory(),
            Filter::Vector(tables) => tables.memory(),
            Filter::ShiftOr(masks) => masks.memory(),
        };
        size_of::<Group>() + filter + self.confirm.memory()
    }

    /// Cycles that a byte is expected to take.
    pub(super) fn cycles(&self) -> f32 {
        self.shape.cycles / 1000.0
    }

    /// How far from the end of an occurrence its literal and window are.
    pub(super) fn reach(&self) -> Reach {
        self.around
    }

    /// The first position to look at if only occurrences that end behind `from` count.
    pub(super) fn begin(&self, from: usize) -> usize {
        (from + 1).saturating_sub(self.reach)
    }

    /// Where candidates end: a gram must fit behind each.
    #[inline(always)]
    fn until(&self, hay: &[u8], until: usize) -> usize {
        until.min((hay.len() + 1).saturating_sub(self.confirm.grams.len))
    }

    /// Adds the candidates from `base` on, relative to it, while there is room, but not beyond `until`. Returns where to go on.
    #[inline(always)]
    fn candidates(
        &self,
        isa: Isa,
        hay: &[u8],
        (base, until): (usize, usize),
        candidates: &mut Candidates,
    ) -> usize {
        let (grams, stride) = (self.confirm.grams, self.shape.stride);
        let end = until.min(base + CAPACITY * stride);
        match &self.filter {
            Filter::Strided { table, rare } => {
                let mut at = strided(isa, (table, *rare), hay, (base, end), candidates);
                // Where a load would read behind the haystack.
                while at < end {
                    // Of pairs, the second gram may not fit. What is found of it then is no window.
                    let positions = at..at + self.shape.positions();
                    if positions.into_iter().any(|at| table.contains(grams.load(hay, at))) {
                        candidates.push_checked((at - base) as u32);
                    }
                    at += stride;
                }
                at
            }
            Filter::Vector(tables) => vector(isa, tables, hay, (base, until), candidates),
            Filter::ShiftOr(masks) => {
                // Where a window that begins at the position ends.
                let last = grams.len - 1;
                shift_or(isa, masks, hay, (base + last, end + last), candidates);
                end
            }
        }
    }

    /// Whether there is nothing of the group in a short text: the search is over then before it has begun.
    #[inline]
    pub(super) fn is_quiet(&self, isa: Isa, literals: &Literals, hay: &[u8]) -> bool {
        match &self.filter {
            Filter::Vector(tables) if has_none(isa, tables, hay) => true,
            _ => self.has_no_real(isa, literals, hay),
        }
    }

    #[inline(never)]
    fn has_no_real(&self, isa: Isa, literals: &Literals, hay: &[u8]) -> bool {
        let (mut at, until) = (0, self.until(hay, hay.len()));
        let mut candidates = Candidates::new();
        while at < until {
            let base = at;
            at = self.candidates_apart(isa, hay, (base, until), &mut candidates);
            if !candidates.is_empty() {
                if self.any_is_real(literals, hay, base, &mut candidates) {
                    return false;
                }
                candidates.clear();
            }
        }
        true
    }

    /// As [`Group::candidates`]. In a loop, the compiler would prepare for all filters before it.
    #[inline(never)]
    fn candidates_apart(
        &self,
        isa: Isa,
        hay: &[u8],
        range: (usize, usize),
        candidates: &mut Candidates,
    ) -> usize {
        self.candidates(isa, hay, range, candidates)
    }

    #[inline(never)]
    fn any_is_real(
        &self,
        literals: &Literals,
        hay: &[u8],
        base: usize,
        candidates: &mut Candidates,
    ) -> bool {
        let found = &mut |_, _| ControlFlow::Break(());
        self.confirm.run(literals, hay, base, candidates, 0, found).is_break()
    }

    /// Reports what is found from `at` on, up to candidates at `until`; returns where to go on.
    #[inline(always)]
    pub(super) fn scan(
        &self,
        isa: Isa,
        literals: &Literals,
        hay: &[u8],
        (mut at, until): (usize, usize),
        from: usize,
        hit: &mut impl FnMut(u32, usize) -> ControlFlow<()>,
    ) -> ControlFlow<(), usize> {
        let until = self.until(hay, until);
        let mut candidates = Candidates::new();
        while at < until {
            let base = at;
            candidates.clear();
            at = self.candidates(isa, hay, (base, until), &mut candidates);
            if !candidates.is_empty() {
                self.confirm.run(literals, hay, base, &mut candidates, from, hit)?;
            }
        }
        ControlFlow::Continue(at)
    }
}

/// The window of each literal: the least likely one, and not one that many other literals have.
fn choose_windows(
    literals: &Literals,
    range: Range<usize>,
    shape: &Shape,
    fold: u64,
    model: &ByteModel,
) -> Vec<Window> {
    let len = shape.window();
    let mut crowd = Crowd::new(fold);
    let window = |index: usize| {
        let bytes = literals.bytes(index);
        if bytes.len() == len {
            return (index as u32, 0);
        }
        if bytes.len() < len {
            let (offset, _) =
                model.best_around(literals, index, (len, shape.gram)).expect("planned for");
            return (index as u32, offset);
        }
        let folds = match shape.kind {
            FilterKind::Strided { .. } => fold != 0,
            FilterKind::Vector { .. } | FilterKind::ShiftOr { .. } => literals.caseless(index),
        };
        let (offset, _) =
            model.best_window(bytes, (len, shape.gram), folds, |window| crowd.of(window));
        crowd.add(&bytes[offset..][..len]);
        (index as u32, offset as i32)
    };
    range.map(window).collect()
}
