//! Which windows share a bucket of the shift-or filter, and how many candidates that leaves.

use std::ops::Range;

use super::Bytes;
use super::buckets::cheapest;
use super::bytes::{ByteModel, TEXT_POWER, fold_of_range, members};
use super::gram::Crowd;
use super::kernel::{BUCKETS, KNOWN, Masks, STEPS, slot};
use super::set::Literals;

/// More literals than this are too many for 8 buckets.
pub(super) const MOST_ENDINGS: usize = 8192;

/// Neighbours that stay together when buckets are chosen: for the estimate, and for the tables.
const CHUNKS: [usize; 2] = [16, 48];

/// What the filter knows of a literal: up to [`KNOWN`] bytes that end with a window of it, which are confirmed. Classes cost
/// nothing: of a short literal all that stands around counts, however it is spelled.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    pub(super) literal: u32,
    /// Where its last byte is in the literal, or behind it.
    last: i32,
    /// Bytes of the longest window that ends there.
    window: usize,
    /// The bytes that may stand there, the last one first.
    sets: Vec<Bytes>,
}

impl Ending {
    /// Of the distinct literal `index`: the least likely one, each weighed by `crowd`.
    fn new(
        literals: &Literals,
        index: usize,
        model: &ByteModel,
        crowd: impl FnMut(&[u8]) -> f32,
    ) -> Ending {
        let (bytes, caseless) = (literals.bytes(index), literals.caseless(index));
        let window = literals.longest_window(index).min(KNOWN);
        // Up to `last`, and as far back as it is known.
        let ending = |last: i32| {
            let known = |len: usize| literals.window(index, last + 1 - len as i32, len);
            let longest = (window..=KNOWN).map_while(known).last().expect("the window is known");
            let mut sets = longest.0;
            sets.reverse();
            Ending { literal: index as u32, last, window, sets }
        };
        if bytes.len() >= KNOWN {
            let offset = model.best_window(bytes, (KNOWN, 3), caseless, crowd).0;
            return ending((offset + KNOWN) as i32 - 1);
        }
        let lasts = (window..=KNOWN).flat_map(|len| {
            literals.windows_around(index, len).map(move |(offset, _)| offset + len as i32 - 1)
        });
        let all = lasts.map(ending).map(|ending| (model.of_sets(&ending.sets), ending));
        all.min_by(|a, b| a.0.total_cmp(&b.0)).expect("its longest window").1
    }

    /// Where the window of `len` bytes begins in the literal, or how far before.
    pub(super) fn offset(&self, len: usize) -> i32 {
        self.last + 1 - len as i32
    }

    /// What they are sorted by: those of which much is known are apart from those of which little is, and neighbours share
    /// their last bytes.
    fn key(&self) -> (usize, usize, [u8; 3]) {
        let byte = |k: usize| {
            let set = self.sets.get(k);
            set.and_then(|set| members(set).next()).unwrap_or(0) | 0x20
        };
        (self.window, self.sets.len(), [byte(0), byte(1), byte(2)])
    }

    /// Calls `with` with each slot of the masks that this has `before` its last byte. False: it may have any.
    fn slots(&self, bits: u32, before: usize, mut with: impl FnMut(usize)) -> bool {
        let any: Bytes = [u64::MAX; 4];
        let first = self.sets.get(before);
        let second = before.checked_sub(1).and_then(|before| self.sets.get(before));
        if first.is_none() && second.is_none() {
            return false;
        }
        for first in members(first.unwrap_or(&any)) {
            members(second.unwrap_or(&any)).for_each(|second| with(slot(bits, first, second)));
        }
        true
    }
}

/// The ending of each of a range: the least likely one, and not one that many others have.
pub(super) fn of(literals: &Literals, range: Range<usize>, model: &ByteModel) -> Vec<Ending> {
    let mut crowd = Crowd::new(fold_of_range(literals, range.clone()));
    let ending = |index: usize| {
        let ending = Ending::new(literals, index, model, |window| crowd.of(window));
        let bytes = literals.bytes(index);
        let offset = usize::try_from(ending.offset(ending.sets.len())).ok();
        if let Some(window) = offset.and_then(|at| bytes.get(at..at + ending.sets.len())) {
            crowd.add(window);
        }
        ending
    };
    range.map(ending).collect()
}

/// The slots of some windows, for each distance from the last byte.
#[derive(Clone)]
struct Slots {
    bits: [Vec<u64>; KNOWN],
    /// At a distance they may have any.
    any: [bool; KNOWN],
}

impl Slots {
    fn new(size: u32) -> Slots {
        let bits = std::array::from_fn(|_| vec![0; (1 << size) / 64]);
        Slots { bits, any: [false; KNOWN] }
    }

    fn add(&mut self, size: u32, ending: &Ending) {
        for before in 0..KNOWN {
            let bits = &mut self.bits[before];
            let known = ending.slots(size, before, |slot| bits[slot / 64] |= 1 << (slot % 64));
            self.any[before] |= !known;
        }
    }
}

/// How likely each slot is to be looked up, in the two kinds of haystacks.
pub(super) struct Odds {
    size: u32,
    slots: Vec<[f32; 2]>,
}

impl Odds {
    /// For `1 << size` slots.
    pub(super) fn new(size: u32, model: &ByteModel) -> Odds {
        let mut slots = vec![[0.0; 2]; 1 << size];
        for first in 0..=u8::MAX {
            let of_first = model.of(first);
            for second in 0..=u8::MAX {
                let of_second = model.of(second);
                let sums = &mut slots[slot(size, first, second)];
                for kind in 0..2 {
                    sums[kind] += of_first[kind] * of_second[kind];
                }
            }
        }
        Odds { size, slots }
    }
}

/// The slots of neighbours, in which those of a bucket are added up.
struct Union<'a> {
    odds: &'a Odds,
    slots: Slots,
    /// For each distance: the probabilities that a pair of bytes objects to none of them.
    sums: [[f32; 2]; KNOWN],
}

impl<'a> Union<'a> {
    fn new(odds: &'a Odds) -> Union<'a> {
        Union { odds, slots: Slots::new(odds.size), sums: [[0.0; 2]; KNOWN] }
    }

    fn add(&mut self, chunk: &Slots) {
        for before in 0..KNOWN {
            if chunk.any[before] {
                self.slots.any[before] = true;
                self.sums[before] = [1.0; 2];
            }
            if self.slots.any[before] {
                continue;
            }
            let mine = self.slots.bits[before].iter_mut();
            for (word, (mine, theirs)) in mine.zip(&chunk.bits[before]).enumerate() {
                let mut new = theirs & !*mine;
                *mine |= new;
                while new != 0 {
                    let of = self.odds.slots[64 * word + new.trailing_zeros() as usize];
                    self.sums[before][0] += of[0];
                    self.sums[before][1] += of[1];
                    new &= new - 1;
                }
            }
        }
    }

    /// The probability that a position is a candidate, if pairs are looked up every `step` bytes: in the kind of haystack that has
    /// more of them. With hundreds of windows in a bucket there are many times as many in one kind as in the other.
    fn rate(&self, step: usize) -> f32 {
        let of = |kind: usize, first: usize, step: usize| -> f32 {
            (first..KNOWN).step_by(step).map(|before| self.sums[before][kind].min(1.0)).product()
        };
        let of_kind = |kind: usize| match step {
            // Pairs that share a byte say less than pairs that share none.
            1 => of(kind, 1, 2) * of(kind, 0, 2).sqrt(),
            _ => (0..step).map(|first| of(kind, first, step)).sum::<f32>() / step as f32,
        };
        of_kind(0).powf(TEXT_POWER).max(of_kind(1))
    }
}

/// Endings, sorted, and what their neighbours have together.
pub(super) struct Endings {
    all: Vec<Ending>,
    /// Ranges of `all`, each with its slots.
    chunks: Vec<(Range<usize>, Slots)>,
}

impl Endings {
    /// For masks of `1 << size` slots; for an estimate, or for tables.
    pub(super) fn new(mut all: Vec<Ending>, size: u32, estimate: bool) -> Endings {
        all.sort_by_key(Ending::key);
        let chunks = CHUNKS[usize::from(!estimate)];
        let len = all.len().div_ceil(chunks).max(1);
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (index, ending) in all.iter().enumerate() {
            match ranges.last_mut() {
                Some(range) if range.len() < len && all[range.start].window == ending.window => {
                    range.end += 1;
                }
                _ => ranges.push(index..index + 1),
            }
        }
        let chunk = |range: Range<usize>| {
            let mut slots = Slots::new(size);
            all[range.clone()].iter().for_each(|ending| slots.add(size, ending));
            (range, slots)
        };
        let chunks = ranges.into_iter().map(chunk).collect();
        Endings { all, chunks }
    }

    /// Buckets for the endings with windows of `least` bytes or more, so that the fewest candidates are expected with pairs
    /// every `step` bytes: ranges of the sorted endings, and the probability that a position is a candidate.
    fn split(&self, odds: &Odds, least: usize, steps: &[usize]) -> Vec<(f32, Vec<Range<usize>>)> {
        let first = self.chunks.partition_point(|(range, _)| self.all[range.start].window < least);
        let chunks = &self.chunks[first..];
        let count = chunks.len();
        // Of all chunks from the i-th to the i+j-th in one bucket, for each step.
        let costs: Vec<Vec<[f32; STEPS.len()]>> = (0..count)
            .map(|i| {
                let mut union = Union::new(odds);
                let with = |(_, slots): &(Range<usize>, Slots)| {
                    union.add(slots);
                    let mut rates = [0.0; STEPS.len()];
                    rates.iter_mut().zip(steps).for_each(|(rate, step)| *rate = union.rate(*step));
                    rates
                };
                chunks[i..].iter().map(with).collect()
            })
            .collect();
        let of_step = |step: usize| {
            let (rate, buckets) = cheapest(count, BUCKETS, |i, j| costs[i][j][step]);
            let of_chunks = |it: Range<usize>| chunks[it.start].0.start..chunks[it.end - 1].0.end;
            (rate, buckets.into_iter().map(of_chunks).collect())
        };
        (0..steps.len()).map(of_step).collect()
    }

    /// How many of the endings with windows of `least` bytes or more are expected at a position.
    pub(super) fn real(&self, model: &ByteModel, least: usize) -> f32 {
        let known = self.all.iter().filter(|ending| ending.window >= least);
        known.map(|ending| model.of_sets(&ending.sets)).sum()
    }

    /// About how likely a position is a candidate of the endings with windows of `least` bytes or more, for each of `steps`.
    pub(super) fn estimate(&self, odds: &Odds, least: usize, steps: &[usize]) -> Vec<f32> {
        self.split(odds, least, steps).into_iter().map(|(rate, _)| rate.min(1.0)).collect()
    }

    /// The masks for all of them.
    pub(super) fn masks(&self, odds: &Odds, step: usize) -> Masks {
        let (_, buckets) = self.split(odds, 0, &[step]).remove(0);
        let mut masks = Masks::new(odds.size, step);
        for (bucket, range) in buckets.into_iter().enumerate() {
            for ending in &self.all[range] {
                for before in 0..KNOWN {
                    let allow = |slot| masks.allow(slot, before, bucket);
                    if !ending.slots(odds.size, before, allow) {
                        (0..1 << odds.size).for_each(|slot| masks.allow(slot, before, bucket));
                    }
                }
            }
        }
        masks
    }
}
