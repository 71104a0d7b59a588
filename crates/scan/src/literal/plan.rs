//! Which filters serve a set: the cheapest ones by a model of their cost.
//!
//! The cost is cycles for a scan of [`SCAN`] bytes: those of the probes, which depend on the filter and on the cache that
//! its table fits, and of the candidates: the expected number of true grams by the model of bytes ([`ByteModel`]) and of
//! false ones by how full the tables are. All splits of the set by the lengths of windows into up to [`MOST_GROUPS`] groups are compared,
//! each group with the cheapest shape for it.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;

use super::Bytes;
use super::buckets::{self, VectorWindow};
use super::bytes::{ByteModel, fold_of_range};
use super::confirm::alignment_bits;
use super::endings::{self, Endings, MOST_ENDINGS, Odds};
use super::gram::fold_of;
use super::kernel::{
    Isa, KNOWN, LONGEST_PAIR_STRIDE, MOST_TABLES, PAIR_GRAMS, SIZES, STEPS, gathers, most_sets,
};
use super::set::{Literals, spelled};

/// Bytes of the scan that is computed.
const SCAN: f32 = 1000.0;

/// The most groups of a set.
pub(super) const MOST_GROUPS: usize = 3;

/// Longer windows than this make the stride no longer: one probe in 25 bytes costs next to nothing.
const LONGEST_WINDOW: usize = 32;

/// Literals of a length that stand for all of that length.
const SAMPLES: usize = 32;

/// More windows than this are too many for 8 buckets.
const MOST_VECTOR_WINDOWS: usize = 256;

/// Cycles, measured by the bench `literal` on Zen 4; what a probe without gathers takes of tables from 32 to 128 KB by whole
/// sets on Cascade Lake (docs/scan.md): the bench alone leaves more of the caches to a table.
mod cycles {
    /// One more group.
    pub const GROUP: f32 = 180.0;
    /// A probe, by the logarithm of the table's bytes: the first is that of 1 KB. With gathers, and without.
    pub const GATHER: [f32; 14] =
        [1.85, 1.85, 1.85, 1.85, 1.85, 2.1, 2.5, 2.6, 2.75, 3.5, 5.0, 6.5, 8.0, 10.0];
    pub const PROBE: [f32; 14] =
        [2.1, 2.1, 2.1, 2.1, 2.1, 2.13, 2.2, 2.45, 2.8, 3.5, 5.0, 6.5, 8.0, 10.0];
    /// One that folds case.
    pub const FOLD: f32 = 0.15;
    /// One of more than 4 bytes, with gathers.
    pub const WIDE: f32 = 0.15;
    /// One of two positions, with gathers and without.
    pub const PAIR_GATHER: f32 = 0.3;
    pub const PAIR_PROBE: f32 = 1.4;
    /// One that is stored whether it is a candidate or not.
    pub const STORE: f32 = 0.6;
    /// A branch that is not predicted, and a batch of probes to be made once more.
    pub const MISS: f32 = 40.0;
    /// The second look at a candidate, and at a pair of them: with AVX-512, and without.
    pub const SIFT: [f32; 2] = [15.0, 25.0];
    pub const SIFT_AVX2: [f32; 2] = [10.0, 20.0];
    /// What a candidate takes that has no gram of a literal, and passes the second look.
    pub const FALSE: f32 = 50.0;
    /// What a candidate takes that has a gram of a literal, and a pair of them.
    pub const TRUE: f32 = 35.0;
    pub const TRUE_PAIR: f32 = 55.0;
    /// 64 positions of the vector filter: without a table, and for each table.
    pub const VECTOR: [f32; 2] = [4.0, 2.2];
    pub const VECTOR_AVX2: [f32; 2] = [6.0, 3.0];
    pub const VECTOR_PORTABLE: [f32; 2] = [100.0, 50.0];
    /// A pair of the shift-or filter, by the size of its table, and a position.
    pub const SHIFT_OR: [f32; 2] = [1.8, 1.95];
    pub const STATE: f32 = 0.17;
}

/// What looks at the bytes of a group first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FilterKind {
    /// A table of `1 << bits` words of 32 bits; whether candidates are rare, and whether a probe is of two positions.
    Strided { bits: u32, rare: bool, pairs: bool },
    /// As many sets of tables.
    Vector { sets: usize },
    /// A table of `1 << bits` masks, looked up every `step` bytes.
    ShiftOr { bits: u32, step: usize },
}

/// A filter with its numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) kind: FilterKind,
    /// Bytes of a gram.
    pub(super) gram: usize,
    /// Bytes between probes.
    pub(super) stride: usize,
    /// Candidates expected in [`SCAN`] bytes.
    pub(super) candidates: f32,
    /// Cycles expected for [`SCAN`] bytes.
    pub(super) cycles: f32,
}

impl Shape {
    /// Neighbouring positions that a probe is of.
    pub(super) fn positions(&self) -> usize {
        match self.kind {
            FilterKind::Strided { pairs: true, .. } => 2,
            FilterKind::Strided { .. } | FilterKind::Vector { .. } | FilterKind::ShiftOr { .. } => {
                1
            }
        }
    }

    /// Bytes of a window: at one of the positions there is a gram of it, whatever its alignment.
    pub(super) fn window(&self) -> usize {
        self.gram + self.stride - self.positions()
    }

    /// Bytes that the filter looks at in one go, those that it knows of a window, and those from one look to the next.
    pub(super) fn looked_at(&self) -> (usize, usize, usize) {
        match self.kind {
            FilterKind::ShiftOr { step, .. } => (2, KNOWN, step),
            FilterKind::Strided { .. } | FilterKind::Vector { .. } => {
                (self.gram, self.window(), self.stride)
            }
        }
    }
}

/// What tests and benches force on the choice.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Forced {
    /// One group with this filter, `strided`, `vector` or `shift-or`, as far as it can serve the set.
    pub filter: Option<&'static str>,
    /// The gram's length, at most.
    pub gram: Option<usize>,
    /// The sets of tables of the vector filter, as far as it can have them.
    pub sets: Option<usize>,
    /// The logarithm of the words of a table.
    pub bits: Option<u32>,
    /// Bytes from one pair of the shift-or filter to the next.
    pub step: Option<usize>,
    /// Whether the strided filter takes candidates for rare.
    pub rare: Option<bool>,
    /// Whether a probe of the strided filter is of two positions, as far as it can be.
    pub pairs: Option<bool>,
    /// As many groups as there may be.
    pub split: bool,
}

/// The literals with one longest window, or with all from [`LONGEST_WINDOW`].
struct Class {
    window: usize,
    range: Range<usize>,
}

/// What a strided filter has of some literals.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    /// Grams in its table.
    grams: f32,
    /// Those at a position that are true.
    real: f32,
}

struct Planner<'a> {
    literals: &'a Literals,
    model: &'a ByteModel,
    isa: Isa,
    forced: Forced,
    classes: Vec<Class>,
    /// For grams of 1, 2, ... bytes, the least likely one of each literal: see [`least_likely`].
    windows: [Vec<Option<Box<Likely>>>; MOST_TABLES],
    /// By class, window, gram and fold: see [`Planner::expected`].
    known: RefCell<HashMap<(usize, usize, usize, bool), Expected>>,
    /// What the shift-or filter would have, by the size of its table.
    endings: OnceCell<Vec<(Endings, Odds)>>,
}

/// The groups of a set, as ranges of its distinct literals, each with its shape.
pub(super) fn plan(
    literals: &Literals,
    model: &ByteModel,
    isa: Isa,
    forced: Forced,
) -> Vec<(Range<usize>, Shape)> {
    let mut classes: Vec<Class> = Vec::new();
    for index in 0..literals.len() {
        let window = literals.longest_window(index).min(LONGEST_WINDOW);
        match classes.last_mut() {
            Some(class) if class.window == window => class.range.end = index + 1,
            _ => classes.push(Class { window, range: index..index + 1 }),
        }
    }
    let windows = std::array::from_fn(|gram| {
        let mut windows = Vec::with_capacity(literals.len());
        for class in &classes {
            let range = class.range.clone();
            // A group with a class of more literals than the vector filter can have has another filter.
            let few = class.range.len() <= MOST_VECTOR_WINDOWS;
            let of = |index| few.then(|| least_likely(literals, model, index, gram + 1)).flatten();
            windows.extend(range.map(of));
        }
        windows
    });
    let (known, endings) = (RefCell::default(), OnceCell::new());
    Planner { literals, model, isa, forced, classes, windows, known, endings }.split()
}

/// A window, and how likely it is.
struct Likely {
    window: VectorWindow,
    rate: f32,
}

/// The least likely window of `gram` bytes: in a literal, or around it if it is shorter. `None`: there is none.
fn least_likely(
    literals: &Literals,
    model: &ByteModel,
    index: usize,
    gram: usize,
) -> Option<Box<Likely>> {
    let (bytes, caseless) = (literals.bytes(index), literals.caseless(index));
    let (offset, rate) = if bytes.len() < gram {
        model.best_around(literals, index, (gram, gram))?
    } else {
        let (offset, rate) = model.best_window(bytes, (gram, gram), caseless, |_| 1.0);
        (offset as i32, rate)
    };
    let (sets, _) = literals.window(index, offset, gram)?;
    Some(Box::new(Likely { window: VectorWindow::new(&sets), rate }))
}

impl Planner<'_> {
    /// The cheapest split of the classes into neighbours: `best[j]` of the first `j` classes.
    fn split(&self) -> Vec<(Range<usize>, Shape)> {
        type Split = (f32, Vec<(Range<usize>, Shape)>);
        let count = self.classes.len();
        if count == 0 {
            return Vec::new();
        }
        let mut shapes = vec![vec![]; count];
        for (i, shapes) in shapes.iter_mut().enumerate() {
            *shapes = (i + 1..=count).map(|j| self.best_shape(i..j)).collect();
        }
        let mut best: Vec<Split> = vec![(f32::INFINITY, Vec::new()); count + 1];
        best[0].0 = 0.0;
        let mut result: Option<Split> = None;
        for round in 0..MOST_GROUPS {
            let mut next: Vec<Split> = vec![(f32::INFINITY, Vec::new()); count + 1];
            for j in 1..=count {
                for i in 0..j {
                    let shape = shapes[i][j - i - 1];
                    let cost = best[i].0 + shape.cycles + cycles::GROUP;
                    if cost < next[j].0 {
                        let range = self.classes[i].range.start..self.classes[j - 1].range.end;
                        next[j] = (cost, best[i].1.clone());
                        next[j].1.push((range, shape));
                    }
                }
            }
            best = next;
            let whole = &best[count];
            let forced = self.forced.split && round < count;
            let one = self.forced.filter.is_some() && !self.forced.split && round > 0;
            if whole.0 < f32::INFINITY
                && !one
                && (forced || result.as_ref().is_none_or(|result| whole.0 < result.0))
            {
                result = Some(whole.clone());
            }
        }
        result.expect("one group is always possible").1
    }

    fn best_shape(&self, classes: Range<usize>) -> Shape {
        let shortest = self.classes[classes.start].window;
        let range =
            self.classes[classes.start].range.start..self.classes[classes.end - 1].range.end;
        let fold = fold_of_range(self.literals, range.clone()) != 0;
        let most = self.forced.gram.unwrap_or(8).min(shortest);
        let vector_fits = range.len() <= MOST_VECTOR_WINDOWS;
        // Of which endings there are is known for those from a length on.
        let to_the_end = classes.end == self.classes.len();
        let from_a_length = shortest <= KNOWN || classes.start == 0;
        let shift_or_fits = to_the_end && from_a_length && self.literals.len() <= MOST_ENDINGS;
        // With gathers the strided filter is faster for the same sets, by 5 to 10 % on Emerald Rapids.
        let gathers = gathers(self.isa, 1);
        let (strided, vector, shift_or) = match self.forced.filter {
            Some("strided") => (true, false, false),
            Some("vector") => (!vector_fits, vector_fits, false),
            Some("shift-or") => (!shift_or_fits, false, shift_or_fits),
            _ => (true, vector_fits, shift_or_fits && !gathers),
        };
        let mut shapes = Vec::new();
        for gram in 1..=most {
            // Less than 3 bytes say too little, if there are more.
            if strided && (gram >= self.forced.gram.unwrap_or(3).min(most)) {
                let expected = self.expected(&classes, (shortest, gram), fold);
                let stride = shortest - gram + 1;
                let can = PAIR_GRAMS.contains(&gram) && stride < LONGEST_PAIR_STRIDE;
                if can && self.forced.pairs != Some(false) {
                    self.strided(&mut shapes, (gram, stride + 1, true), expected, fold);
                }
                if !(can && self.forced.pairs == Some(true)) {
                    self.strided(&mut shapes, (gram, stride, false), expected, fold);
                }
            }
        }
        if vector {
            let least = self.forced.gram.unwrap_or(2).min(most);
            for gram in least..=self.forced.gram.unwrap_or(8).min(MOST_TABLES) {
                self.vector(&mut shapes, range.clone(), gram);
            }
        }
        // What it takes without a candidate says whether an estimate of them is worth it.
        let least = SCAN * (cycles::SHIFT_OR[0] / STEPS[2] as f32 + cycles::STATE);
        if shift_or && shapes.iter().all(|shape| shape.cycles > least) {
            self.shift_or(&mut shapes, range, most);
        }
        let cheapest = shapes.into_iter().min_by(|a, b| a.cycles.total_cmp(&b.cycles));
        cheapest.expect("a literal has a gram")
    }

    /// What a strided filter has of some classes.
    fn expected(&self, classes: &Range<usize>, window: (usize, usize), fold: bool) -> Expected {
        let of_class = |index: usize| {
            let class = &self.classes[index];
            let step = class.range.len().div_ceil(SAMPLES);
            let samples = class.range.clone().step_by(step);
            let each = class.range.len() as f32 / samples.len() as f32;
            let mut all = Expected::default();
            for index in samples {
                let of_one = self.expected_of(index, window, fold);
                all.grams += each * of_one.grams;
                all.real += each * of_one.real;
            }
            all
        };
        let mut known = self.known.borrow_mut();
        let mut all = Expected::default();
        for class in classes.clone() {
            let key = (class, window.0, window.1, fold);
            let of_class = known.entry(key).or_insert_with(|| of_class(class));
            all.grams += of_class.grams;
            all.real += of_class.real;
        }
        Expected { real: all.real.min(1.0), ..all }
    }

    fn expected_of(&self, index: usize, (len, gram): (usize, usize), fold: bool) -> Expected {
        let bytes = self.literals.bytes(index);
        if bytes.len() >= len {
            let (_, real) = self.model.best_window(bytes, (len, gram), fold, |_| 1.0);
            return Expected { grams: (len - gram + 1) as f32, real };
        }
        let best = self.model.best_around(self.literals, index, (len, gram));
        let (offset, real) = best.expect("a part of its longest window");
        let (sets, _) = self.literals.window(index, offset, len).expect("it was chosen");
        let spelled = |gram: &[Bytes]| {
            gram.iter().map(|set| spelled(set, fold_of(fold)) as f32).product::<f32>()
        };
        Expected { grams: sets.windows(gram).map(spelled).sum(), real }
    }

    fn strided(
        &self,
        shapes: &mut Vec<Shape>,
        (gram, stride, pairs): (usize, usize, bool),
        Expected { grams, real }: Expected,
        fold: bool,
    ) {
        let probes = SCAN / stride as f32;
        // Windows begin with one of so many grams. Only that one is also looked for at the second position of a pair.
        let begins = if pairs { 1.0 / (stride - 1) as f32 } else { 0.0 };
        let second = if pairs { 1.0 } else { 0.0 };
        let gather = gathers(self.isa, stride);
        let table = if gather { cycles::GATHER } else { cycles::PROBE };
        let pair = if gather { cycles::PAIR_GATHER } else { cycles::PAIR_PROBE };
        for (size, &probe) in table.iter().enumerate() {
            let bits = size as u32 + 8;
            if self.forced.bits.is_some_and(|forced| forced != bits) {
                continue;
            }
            let full = 1.0 - (-grams * (1.0 + begins) / (32 << bits) as f32).exp();
            let real = real * (1.0 + begins);
            let each = (real + full * (1.0 + second)).min(1.0 + second);
            let candidates = probes * each;
            let of_candidate = match pairs {
                true => self.sift()[1] + 2.0 * of_false(grams),
                false => self.sift()[0] + of_false(grams),
            };
            let of_real = if pairs { cycles::TRUE_PAIR } else { cycles::TRUE };
            let of_candidates = (candidates * of_candidate + probes * real * of_real) * far(grams);
            let probe = probe
                + if fold { cycles::FOLD } else { 0.0 }
                + if pairs { pair } else { 0.0 }
                + if gather && gram > 4 { cycles::WIDE } else { 0.0 };
            for rare in [true, false] {
                // Of pairs, a batch to be made once more takes too long. With gathers, it makes no difference.
                let left_out = match pairs {
                    true => rare,
                    false => self.forced.rare.is_some_and(|forced| forced != rare),
                };
                if left_out {
                    continue;
                }
                let of_probes = match rare {
                    _ if gather => probe,
                    true => probe + (1.0 - (-8.0 * each).exp()) / 8.0 * cycles::MISS,
                    false => probe + cycles::STORE,
                };
                let kind = FilterKind::Strided { bits, rare, pairs };
                let cycles = probes * of_probes + of_candidates;
                shapes.push(Shape { kind, gram, stride, candidates, cycles });
            }
        }
    }

    /// Cycles for the second look at a candidate, and at a pair of them.
    fn sift(&self) -> [f32; 2] {
        match self.isa {
            Isa::Avx512(_) => cycles::SIFT,
            Isa::Avx2(_) | Isa::Generic => cycles::SIFT_AVX2,
        }
    }

    /// For the literals of a range, to the end of all, with windows of `gram` bytes to be confirmed.
    fn shift_or(&self, shapes: &mut Vec<Shape>, range: Range<usize>, gram: usize) {
        let known = self.endings.get_or_init(|| {
            let all = endings::of(self.literals, 0..self.literals.len(), self.model);
            let of_size =
                |size| (Endings::new(all.clone(), size, true), Odds::new(size, self.model));
            SIZES.into_iter().map(of_size).collect()
        });
        let least = self.literals.longest_window(range.start).min(KNOWN);
        let steps: Vec<usize> = match self.forced.step {
            Some(step) => vec![step],
            None => STEPS.into(),
        };
        for ((bits, of_pair), (endings, odds)) in SIZES.into_iter().zip(cycles::SHIFT_OR).zip(known)
        {
            let other = self
                .forced
                .bits
                .filter(|bits| SIZES.contains(bits))
                .is_some_and(|forced| forced != bits);
            if other {
                continue;
            }
            let real = endings.real(self.model, least).min(1.0);
            for (&step, rate) in steps.iter().zip(endings.estimate(odds, least, &steps)) {
                let candidates = SCAN * rate.max(real);
                let cycles = SCAN / step as f32 * of_pair
                    + SCAN * cycles::STATE
                    + candidates * (self.sift()[0] + of_false(range.len() as f32))
                    + SCAN * real * cycles::TRUE;
                let kind = FilterKind::ShiftOr { bits, step };
                shapes.push(Shape { kind, gram, stride: 1, candidates, cycles });
            }
        }
    }

    /// None, if a literal has no window of `gram` bytes.
    fn vector(&self, shapes: &mut Vec<Shape>, range: Range<usize>, gram: usize) {
        let all: Option<Vec<_>> =
            self.windows[gram - 1][range].iter().map(Option::as_ref).collect();
        let Some(all) = all else { return };
        let real = all.iter().map(|one| one.rate).sum::<f32>().min(1.0);
        let mut windows: Vec<_> = all.iter().map(|one| one.window).collect();
        let grams = windows.len() as f32;
        let [base, table] = match self.isa {
            Isa::Avx512(_) => cycles::VECTOR,
            Isa::Avx2(_) => cycles::VECTOR_AVX2,
            Isa::Generic => cycles::VECTOR_PORTABLE,
        };
        let vectors = SCAN / 64.0;
        let (nibbles, most) = (self.isa.nibbles(), most_sets(self.isa));
        let sets = self.forced.sets.map_or(1..=most, |sets| sets.min(most)..=sets.min(most));
        for sets in sets {
            let rate = buckets::estimate(&mut windows, sets, nibbles, self.model).min(1.0);
            let candidates = SCAN * rate;
            let cycles = vectors * (base + table * (sets * gram) as f32)
                + candidates * (self.sift()[0] + of_false(grams))
                + SCAN * real * cycles::TRUE;
            let kind = FilterKind::Vector { sets };
            shapes.push(Shape { kind, gram, stride: 1, candidates, cycles });
        }
    }
}

/// How much longer it takes to look at candidates where what they are looked up in is large: 100,000 grams, with their windows
/// and literals, are not in the caches next to the CPU.
fn far(grams: f32) -> f32 {
    1.0 + (grams / 65_536.0).log2().clamp(0.0, 4.0) / 2.0
}

/// Cycles behind the second look for a candidate that is none, by the number of grams.
fn of_false(grams: f32) -> f32 {
    let full = 1.0 - (-grams / (1 << alignment_bits(grams as usize)) as f32).exp();
    full * cycles::FALSE
}
