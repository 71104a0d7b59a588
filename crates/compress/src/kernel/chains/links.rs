//! Pass 1: for every position, the distance to the last one with the same four bytes.
//!
//! ```text
//! for p in from..to:
//!     h = hash of the 4 bytes at p, 32 bits, one to one
//!     mine = p << 16 | low 16 bits of h                       (p modulo 65,536)
//!     r = (mine - table[h >> shift]) rotated by 16            table[h >> shift] = mine
//!     distance[p] = if 1 <= r <= 32,768 { r } else { 0 }
//! ```
//!
//! With equal low halves `r` is the difference of the positions, otherwise more than 65,535: one
//! comparison tests both. A multiplication by an odd number is one to one, so with a table of 2^16
//! entries index and low half are all of the four bytes; smaller tables are for short inputs, where
//! `parse` compares the bytes anyway.
//!
//! With AVX2: eight hashes at a time to memory; table entries one after the other, three loads and
//! two stores each; distances and marks by vectors again.

use lookaside_simd::Avx2;

use super::{NEAR, WINDOW};

/// Distances of the last this many positions are kept: a window, a strip, and a power of two.
const RING: usize = 1 << 16;
/// The most entries of the table.
const TABLE: usize = 1 << 16;
const FACTOR: u32 = 0x9e37_79b1;
/// An entry that no position finds: it is too far from those before 32,767 (its distance is more
/// than the window), and at and behind them it stands for position 32,767, which is in the input.
const NOWHERE: u32 = 0x7fff_0000;

/// Distances to where the same `BYTES` bytes are, 3 or 4, and the table that finds them.
pub(super) struct Links<const BYTES: usize> {
    table: Box<[u32; TABLE]>,
    distances: Box<[u16; RING]>,
    /// A bit for each position that has a distance.
    marks: Box<[u64; RING / 64]>,
    shift: u32,
    #[cfg(target_arch = "x86_64")]
    lanes: Box<avx2::Lanes>,
}

impl<const BYTES: usize> Links<BYTES> {
    /// The most bits of an index: with 4 bytes, all of a hash that its low half does not have; with
    /// 3, twice the positions that are near enough.
    const MOST_BITS: u32 = if BYTES == 3 { 13 } else { 16 };
    /// The bits of the longest distance, which is a power of two.
    const FAR: u32 = if BYTES == 3 { NEAR } else { WINDOW }.ilog2();
    /// Where the bytes are in what is multiplied: at its upper end.
    const UP: u32 = 8 * (4 - BYTES as u32);

    pub(super) fn new() -> Links<BYTES> {
        Links {
            table: boxed(),
            distances: boxed(),
            marks: boxed(),
            shift: 32 - Self::MOST_BITS,
            #[cfg(target_arch = "x86_64")]
            lanes: Box::new(avx2::Lanes::new()),
        }
    }

    /// Forgets what was entered. The table is for an input of `len` bytes, with at most twice as many
    /// entries.
    pub(super) fn start(&mut self, len: usize) {
        let bits = (len.ilog2() + 1).clamp(8, Self::MOST_BITS);
        self.table[..1 << bits].fill(NOWHERE);
        self.shift = 32 - bits;
    }

    /// The distance of a position that is entered, or 0.
    #[inline(always)]
    pub(super) fn distance(&self, at: usize) -> usize {
        self.distances[at % RING].into()
    }

    /// Which of the 64 positions around `at` have a distance: bit `n` is that of `at - at % 64 + n`.
    #[inline(always)]
    pub(super) fn marks(&self, at: usize) -> u64 {
        self.marks[at / 64 % (RING / 64)]
    }

    /// The 64 positions around `at` are not entered: they have no distance.
    pub(super) fn skip(&mut self, at: usize) {
        self.marks[at / 64 % (RING / 64)] = 0;
    }

    /// Enters the positions from `from`, a multiple of 64, to `to`, which is at least 8 before the
    /// end of `src`.
    pub(super) fn enter(&mut self, cpu: Option<Avx2>, src: &[u8], from: usize, to: usize) {
        let mut at = from;
        #[cfg(target_arch = "x86_64")]
        if let Some(cpu) = cpu {
            while at + 64 <= to.min(src.len().saturating_sub(16)) {
                let some = (to.min(src.len() - 16) - at).min(avx2::GROUP) / 64 * 64;
                self.enter_avx2(cpu, src, at, some);
                at += some;
            }
        }
        let _ = cpu;
        for at in at..to {
            let four = *src[at..].first_chunk().expect("8 before the end");
            let hash = (u32::from_le_bytes(four) << Self::UP).wrapping_mul(FACTOR);
            let mine = (at as u32) << 16 | hash & 0xffff;
            let entry = &mut self.table[(hash >> self.shift) as usize % TABLE];
            let distance = mine.wrapping_sub(*entry).rotate_left(16);
            *entry = mine;
            let found = distance.wrapping_sub(1) >> Self::FAR == 0;
            self.distances[at % RING] = if found { distance as u16 } else { 0 };
            let marks = &mut self.marks[at / 64 % (RING / 64)];
            if at % 64 == 0 {
                *marks = 0;
            }
            *marks |= u64::from(found) << (at % 64);
        }
    }
}

/// Zeros on the heap.
fn boxed<T: Copy + Default + std::fmt::Debug, const N: usize>() -> Box<[T; N]> {
    vec![T::default(); N].try_into().expect("the same length")
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::*;

    /// The most positions at a time.
    pub(super) const GROUP: usize = 256;

    /// What lies between the steps, for each position of a group.
    #[repr(align(32))]
    pub(super) struct Lanes {
        indices: [u32; GROUP],
        mine: [u32; GROUP],
        last: [u32; GROUP],
    }

    impl Lanes {
        pub(super) const fn new() -> Lanes {
            Lanes { indices: [0; GROUP], mine: [0; GROUP], last: [0; GROUP] }
        }
    }

    impl<const BYTES: usize> Links<BYTES> {
        /// [`enter`](Links::enter) of `count` positions, a multiple of 64 up to [`GROUP`], with 16
        /// bytes behind them.
        pub(super) fn enter_avx2(&mut self, cpu: Avx2, src: &[u8], from: usize, count: usize) {
            let _ = cpu;
            let start = from % RING;
            assert!(count <= GROUP && start + count <= RING);
            assert!(count.is_multiple_of(64) && start.is_multiple_of(64));
            let src = &src[from..from + count + 16];
            // SAFETY: the token proves the features.
            unsafe { self.group(src, from, count) }
        }

        #[target_feature(enable = "avx2")]
        fn group(&mut self, src: &[u8], from: usize, count: usize) {
            let Lanes { indices, mine, last } = &mut *self.lanes;
            #[rustfmt::skip]
            let spread = _mm256_setr_epi8(
                0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6,
                4, 5, 6, 7, 5, 6, 7, 8, 6, 7, 8, 9, 7, 8, 9, 10,
            );
            let factor = _mm256_set1_epi32(FACTOR.cast_signed());
            let shift = _mm_cvtsi32_si128(self.shift.cast_signed());
            let up = _mm_cvtsi32_si128(Self::UP.cast_signed());
            let far = _mm_cvtsi32_si128(Self::FAR.cast_signed());
            let places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let mut place = _mm256_add_epi32(places, _mm256_set1_epi32(from as i32));
            place = _mm256_slli_epi32::<16>(place);
            for at in (0..count).step_by(8) {
                // SAFETY: 16 bytes of `src`, which is 16 longer than `count`; 8 lanes of arrays
                // that have `GROUP`, at multiples of 8, so aligned.
                unsafe {
                    let bytes = _mm_loadu_si128(src.as_ptr().add(at).cast());
                    let bytes = _mm256_broadcastsi128_si256(bytes);
                    let bytes = _mm256_sll_epi32(_mm256_shuffle_epi8(bytes, spread), up);
                    let hash = _mm256_mullo_epi32(bytes, factor);
                    let index = _mm256_srl_epi32(hash, shift);
                    _mm256_store_si256(indices.as_mut_ptr().add(at).cast(), index);
                    let entry = _mm256_blend_epi16::<0b1010_1010>(hash, place);
                    _mm256_store_si256(mine.as_mut_ptr().add(at).cast(), entry);
                }
                place = _mm256_add_epi32(place, _mm256_set1_epi32(8 << 16));
            }
            for at in 0..count {
                let entry = &mut self.table[indices[at] as usize % TABLE];
                last[at] = *entry;
                *entry = mine[at];
            }
            #[rustfmt::skip]
            let swap = _mm256_setr_epi8(
                2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13,
                2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13,
            );
            let start = from % RING;
            for at in (0..count).step_by(64) {
                let mut marks = 0;
                for part in 0..4 {
                    let place = at + 16 * part;
                    let half = |place: usize| {
                        // SAFETY: 8 lanes, aligned.
                        let difference = unsafe {
                            let mine = _mm256_load_si256(mine.as_ptr().add(place).cast());
                            let last = _mm256_load_si256(last.as_ptr().add(place).cast());
                            _mm256_sub_epi32(mine, last)
                        };
                        let distance = _mm256_shuffle_epi8(difference, swap);
                        let less = _mm256_sub_epi32(distance, _mm256_set1_epi32(1));
                        let beyond = _mm256_srl_epi32(less, far);
                        let found = _mm256_cmpeq_epi32(beyond, _mm256_setzero_si256());
                        let marks = _mm256_movemask_ps(_mm256_castsi256_ps(found));
                        (_mm256_and_si256(distance, found), u64::from(marks.cast_unsigned()))
                    };
                    let ((low, low_marks), (high, high_marks)) = (half(place), half(place + 8));
                    let both = _mm256_packus_epi32(low, high);
                    let both = _mm256_permute4x64_epi64::<0b11_01_10_00>(both);
                    let out = &mut self.distances[start + place..][..16];
                    // SAFETY: 16 lanes.
                    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), both) };
                    marks |= (low_marks | high_marks << 8) << (16 * part);
                }
                self.marks[(start + at) / 64] = marks;
            }
        }
    }
}
