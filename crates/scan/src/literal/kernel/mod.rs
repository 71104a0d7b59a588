//! The loops over the haystack, and the only place of `unsafe` in this crate. Each turns bytes into candidates: positions
//! at which a gram of some literal may stand.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod alone_avx2;
#[cfg(target_arch = "x86_64")]
mod alone_avx512;
mod portable;
mod shift_or;
mod sift;
mod strided;
#[cfg(target_arch = "x86_64")]
mod strided_avx512;
#[cfg(target_arch = "x86_64")]
mod vector_avx2;
#[cfg(target_arch = "x86_64")]
mod vector_avx512;

use std::mem::MaybeUninit;

use super::gram::Grams;
pub(super) use crate::isa::Isa;

pub(super) use shift_or::{BUCKETS, KNOWN, Masks, SIZES, STEPS, shift_or, slot};
pub(super) use sift::Alignments;
pub(super) use strided::strided;

/// Candidates that one block can have. Strides are 32 at most: a position in a block has fewer than 23 bits.
pub(super) const CAPACITY: usize = 1024;

/// Elements behind [`CAPACITY`] that a kernel may write before it looks at how many count.
const SLACK: usize = 16;

/// The most sets of tables that the vector filter has.
pub(super) fn most_sets(isa: Isa) -> usize {
    if isa.nibbles() { 2 } else { 1 }
}

/// The candidates of one block: positions relative to its begin, ascending; of pairs, the first one.
pub(super) struct Candidates {
    at: [MaybeUninit<u32>; CAPACITY + SLACK],
    len: usize,
}

impl Candidates {
    #[inline(always)]
    pub(super) fn new() -> Candidates {
        Candidates { at: [const { MaybeUninit::uninit() }; CAPACITY + SLACK], len: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds `position` behind the first `len` candidates if `real`, without a branch. Returns how many they are then: for
    /// [`Candidates::len`].
    ///
    /// # Safety
    /// `len` is below [`CAPACITY`].
    #[inline(always)]
    unsafe fn put(&mut self, len: usize, position: u32, real: bool) -> usize {
        // SAFETY: within the array: the caller's.
        unsafe { self.at.get_unchecked_mut(len) }.write(position);
        len + usize::from(real)
    }

    /// Adds `base` plus the index of each bit of `bits` that is set.
    ///
    /// # Safety
    /// There are at most [`CAPACITY`] candidates then.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    #[inline(always)]
    unsafe fn push_bits(&mut self, base: u32, mut bits: u64) {
        let (mut at, end) = (self.len, self.len + bits.count_ones() as usize);
        loop {
            // Always 4: how many there are is hard to predict.
            for i in 0..4 {
                let position = base.wrapping_add(bits.trailing_zeros());
                // SAFETY: `at` is `len` or below `end`, so CAPACITY at most.
                unsafe { self.at.get_unchecked_mut(at + i) }.write(position);
                bits &= bits.wrapping_sub(1);
            }
            at += 4;
            if at >= end {
                break;
            }
        }
        self.len = end;
    }

    /// Adds `position` if there is room.
    pub(super) fn push_checked(&mut self, position: u32) {
        assert!(self.len < CAPACITY, "more candidates than a block has positions");
        // SAFETY: checked.
        self.len = unsafe { self.put(self.len, position, true) };
    }
}

/// A set of grams as bits: may contain a gram that is none of the set, and never lacks one that is.
///
/// The word is chosen by a hash, the bit in it by the low 5 bits of a byte, which a shift takes as they are. If probes are
/// of one position, the hash is of the gram, and the byte its first one. If they are of pairs of neighbours, the hash is of
/// the bytes that their grams share; the first position's byte is the one before these, the second one's the one behind them.
/// Every gram of a window has a bit for the first position. Only the gram that a window begins with has one for the second,
/// too: any other window at the second position is also at the first.
#[derive(Debug)]
pub(super) struct BitTable {
    /// `1 << bits` of them.
    words: Box<[u32]>,
    bits: u32,
    grams: Grams,
    /// What is hashed: the grams, or what neighbours share of them.
    hashed: Grams,
    stride: usize,
    pairs: bool,
    /// If the kernel with gathers serves the table: it hashes long grams in another way.
    #[cfg(target_arch = "x86_64")]
    lanes: Option<Box<strided_avx512::Lanes>>,
}

/// Grams that a probe of two positions may have: with one byte more they are 8.
pub(super) const PAIR_GRAMS: std::ops::RangeInclusive<usize> = 3..=7;

/// Probes of two positions are at most as far apart.
pub(super) const LONGEST_PAIR_STRIDE: usize = 8;

impl BitTable {
    /// An empty set of `1 << bits` words for probes every `stride` bytes, of one position or of pairs.
    pub(super) fn new(
        isa: Isa,
        grams: Grams,
        (stride, pairs): (usize, bool),
        bits: u32,
    ) -> BitTable {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = isa;
        assert!((1..32).contains(&bits) && (1..=8).contains(&grams.len) && stride > 0);
        assert!(!pairs || PAIR_GRAMS.contains(&grams.len) && stride <= LONGEST_PAIR_STRIDE);
        BitTable {
            words: vec![0; 1 << bits].into(),
            bits,
            grams,
            hashed: if pairs { Grams { len: grams.len - 1, ..grams } } else { grams },
            stride,
            pairs,
            #[cfg(target_arch = "x86_64")]
            lanes: gathers(isa, stride)
                .then(|| strided_avx512::Lanes::new(grams.len, stride, pairs).into()),
        }
    }

    /// The word of what is hashed. Above it is anything.
    fn word(&self, hashed: u64) -> usize {
        #[cfg(target_arch = "x86_64")]
        if self.lanes.is_some() {
            return self.hashed.split(hashed, self.bits);
        }
        self.hashed.first(hashed, self.bits)
    }

    /// Adds the gram at `place` of a window.
    pub(super) fn insert(&mut self, gram: u64, place: usize) {
        let word = self.word(if self.pairs { gram >> 8 } else { gram });
        self.words[word] |= 1 << (gram & 31);
        if self.pairs && place == 0 {
            let word = self.word(gram);
            self.words[word] |= 1 << (gram >> (8 * self.hashed.len) & 31);
        }
    }

    pub(super) fn contains(&self, gram: u64) -> bool {
        let word = self.word(if self.pairs { gram >> 8 } else { gram });
        self.words[word] >> (gram & 31) & 1 != 0
    }

    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.words)
    }
}

/// Whether the kernel with gathers serves a stride.
pub(super) fn gathers(isa: Isa, stride: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    return matches!(isa, Isa::Avx512(_)) && stride <= strided_avx512::LONGEST_STRIDE;
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (isa, stride);
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Positions that the vector filter looks at, at most.
pub(super) const MOST_TABLES: usize = 4;

/// The tables of the vector filter.
///
/// The windows of a group are spread over 8 buckets for each set of tables, of which there are one or two. Table `k` of a
/// set maps a byte to the buckets that have a window with this byte at position `k`. With nibbles the positions that pass a
/// bucket without having a window grow with about the eighth power of its windows, so that a second set is worth it where
/// there are dozens.
#[derive(Debug)]
pub(super) struct VectorTables {
    /// Set after set.
    exact: Box<[[u8; 256]]>,
    /// How many a set has: 1 to [`MOST_TABLES`].
    len: usize,
    /// Whether only bytes below 128 have buckets.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    ascii: bool,
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    alone: Option<Alone>,
    #[cfg(target_arch = "x86_64")]
    nibbles: Box<[vector_avx2::Nibbles]>,
}

/// A place of a window with one byte, or with two that differ in `fold` only.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    /// With the bits of `fold`.
    byte: u8,
    fold: u8,
}

impl Place {
    /// `None`: other bytes stand there.
    fn new(at: usize, table: &[u8; 256]) -> Option<Place> {
        let mut bytes = (0..=255).filter(|byte| table[usize::from(*byte)] != 0);
        let (first, second, none) = (bytes.next()?, bytes.next(), bytes.next());
        let fold = second.map_or(0, |second| first ^ second);
        (none.is_none() && matches!(fold, 0 | 0x20)).then_some(Place {
            at,
            byte: first | fold,
            fold,
        })
    }
}

/// The only window: what stands at its places.
#[derive(Debug)]
struct Alone {
    /// At the two least likely ones, which are the same in a window of one byte.
    rarest: [Place; 2],
    others: Box<[Place]>,
    /// The last place.
    last: usize,
}

/// Positions that are compared at once.
#[cfg(target_arch = "x86_64")]
const GROUP: usize = 256;

impl Alone {
    /// `None`: there is more than one window, or other bytes stand in it. How likely each byte is says `rate`.
    fn new(sets: &[Vec<[u8; 256]>], rate: impl Fn(u8) -> f32) -> Option<Alone> {
        let [set] = sets else { return None };
        if set[0].iter().any(|buckets| buckets.count_ones() > 1) {
            return None;
        }
        let places = set.iter().enumerate().map(|(at, table)| Place::new(at, table));
        let mut places = places.collect::<Option<Vec<Place>>>()?;
        let of = |place: &Place| rate(place.byte) + rate(place.byte ^ place.fold);
        places.sort_by(|a, b| of(a).total_cmp(&of(b)));
        let (last, others) = (places.len() - 1, places.split_off(2.min(places.len())));
        Some(Alone { rarest: [places[0], places[last.min(1)]], others: others.into(), last })
    }

    /// Panics if a place is not within `hay` for a position below `end`, or there is no such position.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn check(&self, hay: &[u8], end: usize) {
        assert!(end > 0 && self.last < MOST_TABLES && end + self.last <= hay.len());
    }
}

impl VectorTables {
    /// How likely each byte is says `rate`.
    pub(super) fn new(sets: &[Vec<[u8; 256]>], rate: impl Fn(u8) -> f32) -> VectorTables {
        let (len, exact) = (sets[0].len(), sets.concat());
        assert!((1..=MOST_TABLES).contains(&len) && exact.len() == sets.len() * len);
        VectorTables {
            len,
            ascii: exact.iter().all(|table| table[128..].iter().all(|buckets| *buckets == 0)),
            #[cfg(target_arch = "x86_64")]
            nibbles: exact
                .iter()
                .map(|table| {
                    let mut nibbles = [[0; 16]; 2];
                    for (byte, buckets) in table.iter().enumerate() {
                        nibbles[0][byte & 15] |= buckets;
                        nibbles[1][byte >> 4] |= buckets;
                    }
                    nibbles
                })
                .collect(),
            exact: exact.into(),
            alone: Alone::new(sets, rate),
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.exact.len() * (256 + 32)
            + self.alone.as_ref().map_or(0, |alone| size_of_val(&*alone.others))
    }
}

/// Asks for the first two kilobytes of a haystack.
#[inline]
pub(super) fn prefetch(hay: &[u8]) {
    let mut at = 0;
    while at < hay.len().min(2048) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: any address can be asked for; every CPU of 64 bits has the instruction.
        unsafe {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(hay.as_ptr().wrapping_add(at).cast());
        }
        at += 64;
    }
}

/// Whether there is surely no candidate: said of one window alone.
#[inline]
pub(super) fn has_none(isa: Isa, tables: &VectorTables, hay: &[u8]) -> bool {
    let end = (hay.len() + 1).saturating_sub(tables.len);
    if end == 0 {
        return true;
    }
    let Some(alone) = &tables.alone else { return false };
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(token) => !alone_avx512::any(token, alone, hay, end),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(token) => !alone_avx2::any(token, alone, hay, end),
        _ => false,
    }
}

/// Adds the candidates from `begin` on, relative to `begin`, as far as a window fits into the haystack and candidates have room.
/// Returns the position that was reached, `end` at most.
#[inline(always)]
pub(super) fn vector(
    isa: Isa,
    tables: &VectorTables,
    hay: &[u8],
    (begin, end): (usize, usize),
    out: &mut Candidates,
) -> usize {
    let fits = end.min((hay.len() + 1).saturating_sub(tables.len));
    if begin >= fits {
        return end;
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(alone) = &tables.alone {
        let reached = match isa {
            Isa::Avx512(token) => alone_avx512::compare(token, alone, hay, (begin, fits), out),
            Isa::Avx2(token) if fits - begin >= alone_avx2::LANES => {
                alone_avx2::compare(token, alone, hay, (begin, fits), out)
            }
            Isa::Avx2(_) | Isa::Generic => begin,
        };
        if reached > begin {
            return if reached == fits { end } else { reached };
        }
    }
    let stop = fits.min(begin + CAPACITY);
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(token) => {
            vector_avx512::vector(token, tables, hay, (begin, stop), out);
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(token) => vector_avx2::vector(token, tables, hay, (begin, stop), out),
        _ => portable::vector(&tables.exact, hay, (begin, stop), out),
    }
    if stop == fits { end } else { stop }
}
