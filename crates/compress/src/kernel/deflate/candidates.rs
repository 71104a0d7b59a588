//! Pass 1: for every position the last one before it with the same hash, and whether a match is
//! likely there.

use std::arch::x86_64::*;

use super::{BLOCK, PLACES};

/// The most bits of a hash.
const MOST_BITS: u32 = 15;
/// Effort 1 has fewer: its table stays in a nearer cache, for 0.5 % of size.
const FAST_BITS: u32 = 14;
const PRIME: u32 = 0x9e37_79b1;
/// So many positions get their candidates together.
const STRIP: usize = 512;
/// Of a strip that repeats what is before it, so many positions are entered, the last ones.
const ENTERED: usize = 16;
/// Candidates are kept of two blocks: of all that a window of 32 KB reaches.
const RING: usize = 2 * BLOCK;
/// What a match reaches back.
pub(super) const WINDOW: usize = 32 * 1024;
/// Vectors read ahead of a strip, no farther than this.
const AHEAD: usize = 64;
/// Every so many positions, one is looked at to see whether there is anything to find.
const SAMPLED: usize = 32;
/// One match in so many samples is as good as none.
const RARE: usize = 512;
/// Shorter blocks are parsed in any case.
const LEAST_SAMPLED: usize = 4096;

/// What every position has: a distance back to where a match may be.
///
/// Where the hash tells none, that is 1, which can be looked at as well as any: so nobody has to ask
/// whether there is one. No candidate is the first byte of the text, but that of the second, so that a
/// candidate always has one itself. The first two bytes have none that may be looked at.
pub(super) struct Candidates {
    /// Of each hash the last position, modulo 2^16, and in the upper half the first two of its four
    /// bytes: with 15 bits of hash, these leave one bit of the other two open.
    table: Box<[u32; 1 << MOST_BITS]>,
    /// For each position modulo [`RING`], the distance less one.
    ring: Box<[u16; RING]>,
    /// A bit for each position of the block, and some more: whether a match of four bytes is likely.
    /// Without the bit, nobody looks for one. (There may be one, in rare cases after strips that
    /// repeat: an entry that is older than it seems has other bytes.)
    marks: Box<[u8; BLOCK / 8 + size_of::<u32>()]>,
    /// Of a strip: hashes, what the table is to have for them, and what it had.
    hashes: [u16; STRIP],
    entries: [u32; STRIP],
    lasts: [u32; STRIP],
    bits: u32,
    /// Where the text begins in the table's positions: behind every text that it has entries of.
    /// These are then too far back, so that it need not be cleared for each text.
    base: usize,
    /// Where the next may begin, and so many entries may be of texts before.
    next_base: usize,
    used: usize,
    /// The distance at which the last strip repeated what was before it, or 0.
    repeat: usize,
}

/// The four bytes at `at`.
#[inline(always)]
fn four(src: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([src[at], src[at + 1], src[at + 2], src[at + 3]])
}

/// May the candidate of `at` be so far back?
fn is_good(distance: usize, at: usize) -> bool {
    (1..=WINDOW).contains(&distance) && distance < at
}

fn zeros<T: Copy + Default, const N: usize>() -> Box<[T; N]> {
    vec![T::default(); N].into_boxed_slice().try_into().ok().expect("of this length")
}

impl Candidates {
    pub(super) fn new() -> Candidates {
        Candidates {
            table: zeros(),
            ring: zeros(),
            marks: zeros(),
            hashes: [0; STRIP],
            entries: [0; STRIP],
            lasts: [0; STRIP],
            bits: MOST_BITS,
            base: 0,
            next_base: BLOCK,
            used: 1 << MOST_BITS,
            repeat: 0,
        }
    }

    /// At the start of a text of `len` bytes. Short ones get a small table, which stays in the cache.
    pub(super) fn start(&mut self, len: usize, effort: u8) {
        let most = if effort == 1 { FAST_BITS } else { MOST_BITS };
        self.bits = (2 * len).clamp(1 << 12, 1 << most).ilog2();
        if self.next_base + len > BLOCK {
            self.table[..self.used].fill(0);
            (self.next_base, self.used) = (0, 0);
        }
        self.base = self.next_base;
        // Positions are entered four at a time: up to three that are not the text's.
        self.next_base = self.base + len.next_multiple_of(4);
        self.used = self.used.max(1 << self.bits);
        self.repeat = 0;
    }

    /// The hash of four bytes, and what the table has for them at `at`, counted from the base.
    #[inline(always)]
    fn entry(&self, bytes: u32, at: usize) -> (usize, u32) {
        let hash = bytes.wrapping_mul(PRIME) >> (32 - self.bits);
        (hash as usize, bytes << 16 | u32::from((self.base + at) as u16))
    }

    /// One bit for each position of the block, from the lowest on.
    pub(super) fn marks(&self) -> *const u8 {
        self.marks.as_ptr()
    }

    /// Is a match likely at `at`?
    pub(super) fn is_marked(&self, at: usize) -> bool {
        self.marks[at % BLOCK / 8] >> (at % 8) & 1 != 0
    }

    /// The distances less one, by position modulo 2^17.
    pub(super) fn ring(&self) -> *const u16 {
        self.ring.as_ptr()
    }

    /// How far back the candidate of `at` is.
    #[inline(always)]
    pub(super) fn distance(&self, at: usize) -> usize {
        usize::from(self.ring[at % RING]) + 1
    }

    /// Finds those of `from..to`. Blocks come one after the other. Returns how many bytes were
    /// found to repeat what is before them, strip by strip.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
    pub(super) fn find(&mut self, src: &[u8], from: usize, to: usize) -> usize {
        let mut at = from;
        let mut repeated = 0;
        while at + STRIP <= to && at + STRIP + AHEAD <= src.len() {
            if let Some(distance) = self.repeats(src, at) {
                self.repeat(src, at, distance);
                repeated += STRIP;
            } else {
                let text = src[at..].first_chunk().expect("within the text");
                self.strip(text, at, STRIP);
            }
            at += STRIP;
        }
        // What is left, with zeros behind it.
        while at < to {
            let mut text = [0; STRIP + AHEAD];
            let left = (src.len() - at).min(text.len());
            text[..left].copy_from_slice(&src[at..][..left]);
            let count = STRIP.min(to - at);
            self.strip(&text, at, count);
            at += count;
        }
        repeated
    }

    /// The distance at which the strip at `at` repeats what is before it.
    #[target_feature(enable = "avx512f,avx512bw")]
    fn repeats(&mut self, src: &[u8], at: usize) -> Option<usize> {
        let distance = match self.repeat {
            0 => {
                let (hash, _) = self.entry(four(src, at), at);
                (self.base + at).wrapping_sub(self.table[hash] as usize) & 0xffff
            }
            distance => distance,
        };
        self.repeat = 0;
        if !is_good(distance, at) {
            return None;
        }
        for start in (at..at + STRIP).step_by(64) {
            let here: &[u8; 64] = src[start..].first_chunk()?;
            let there: &[u8; 64] = src[start - distance..].first_chunk()?;
            // SAFETY: both have the vector's length.
            let (here, there) = unsafe {
                (
                    _mm512_loadu_si512(here.as_ptr().cast()),
                    _mm512_loadu_si512(there.as_ptr().cast()),
                )
            };
            if _mm512_cmpneq_epi8_mask(here, there) != 0 {
                return None;
            }
        }
        self.repeat = distance;
        Some(distance)
    }

    /// A strip that repeats what is `distance` before it.
    fn repeat(&mut self, src: &[u8], at: usize, distance: usize) {
        self.ring[at % RING..][..STRIP].fill((distance - 1) as u16);
        self.marks[at % BLOCK / 8..][..STRIP / 8].fill(0xff);
        for at in at + STRIP - ENTERED..at + STRIP {
            let (hash, entry) = self.entry(four(src, at), at);
            self.table[hash] = entry;
        }
    }

    /// Finds those of `count` positions from `at` on, whose bytes `text` begins with.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
    fn strip(&mut self, text: &[u8; STRIP + AHEAD], at: usize, count: usize) {
        // The upper two bytes of four, and the places of four bytes in lanes.
        const UPPER: u64 = 0xcccc_cccc_cccc_cccc;
        const SPREAD: [u8; 64] = {
            let mut spread = [0; 64];
            let mut lane = 0;
            while lane < 64 {
                spread[lane] = (lane / 4 + lane % 4) as u8;
                lane += 1;
            }
            spread
        };
        let Candidates { table, ring, marks, hashes, entries, lasts, bits, base, .. } = self;
        let (bits, base) = (*bits, *base);
        // SAFETY: the vectors read the array, at most `AHEAD` beyond the strip, and fill what is as long.
        unsafe {
            let spread = _mm512_loadu_si512(SPREAD.as_ptr().cast());
            let twos = _mm512_slli_epi32::<16>(spread);
            let prime = _mm512_set1_epi32(PRIME.cast_signed());
            let shift = _mm_cvtsi32_si128(32 - bits.cast_signed());
            let lanes = _mm512_cvtepu16_epi32(_mm256_loadu_si256(PLACES.as_ptr().cast()));
            let mut here =
                _mm512_add_epi32(_mm512_set1_epi32(((base + at) & 0xffff) as i32), lanes);
            for start in (0..STRIP).step_by(16) {
                let bytes = _mm256_loadu_si256(text.as_ptr().add(start).cast());
                let bytes = _mm512_castsi256_si512(bytes);
                let fours = _mm512_permutexvar_epi8(spread, bytes);
                let hash = _mm512_srl_epi32(_mm512_mullo_epi32(fours, prime), shift);
                let hash = _mm512_cvtepi32_epi16(hash);
                _mm256_storeu_si256(hashes.as_mut_ptr().add(start).cast(), hash);
                let entry = _mm512_maskz_permutexvar_epi8(UPPER, twos, bytes);
                let entry = _mm512_add_epi32(entry, here);
                _mm512_storeu_si512(entries.as_mut_ptr().add(start).cast(), entry);
                here = _mm512_add_epi32(here, _mm512_set1_epi32(16));
            }
        }
        // Four at a time, with few loads and stores: those are what a core has least of.
        for at in (0..count).step_by(4) {
            // SAFETY: the arrays have a multiple of four; the shift left no more bits than the table has.
            unsafe {
                let hashes = hashes.as_ptr().add(at).cast::<u64>().read_unaligned();
                let entries = entries.as_ptr().add(at).cast::<[u64; 2]>().read_unaligned();
                let mut take = |lane: usize| {
                    let hash = (hashes >> (16 * lane)) as u16;
                    debug_assert!(hash >> bits == 0);
                    let place = table.get_unchecked_mut(usize::from(hash));
                    std::mem::replace(place, (entries[lane / 2] >> (32 * (lane % 2))) as u32)
                        .cast_signed()
                };
                let four = _mm_cvtsi32_si128(take(0));
                let four = _mm_insert_epi32::<1>(four, take(1));
                let four = _mm_insert_epi32::<2>(four, take(2));
                let four = _mm_insert_epi32::<3>(four, take(3));
                _mm_storeu_si128(lasts.as_mut_ptr().add(at).cast(), four);
            }
        }
        // Positions become distances less one, and those that share four bytes get their bit.
        let ring: &mut [u16; STRIP] =
            (&mut ring[at % RING..][..STRIP]).try_into().expect("of this length");
        let marks: &mut [u8; STRIP / 8] =
            (&mut marks[at % BLOCK / 8..][..STRIP / 8]).try_into().expect("of this length");
        // SAFETY: whole vectors of the strip.
        unsafe {
            let order = _mm512_loadu_si512(PLACES.as_ptr().cast());
            let lower = _mm512_add_epi16(order, order);
            let one = _mm512_set1_epi16(1);
            let window = _mm512_set1_epi16((WINDOW as u16).cast_signed());
            let upper = _mm512_set1_epi32(!0xffff);
            // In the first window, a candidate is not before the second byte of the text.
            let first = |at: usize| {
                let at = _mm512_set1_epi16((at as u16).cast_signed());
                let less_one = _mm512_subs_epu16(_mm512_add_epi16(at, order), one);
                _mm512_min_epu16(window, less_one)
            };
            let parts = ring.as_chunks_mut::<32>().0.iter_mut().zip(marks.as_chunks_mut::<4>().0);
            for (start, (ring, marks)) in (0..STRIP).step_by(32).zip(parts) {
                let load = |all: &[u32; STRIP], at| _mm512_loadu_si512(all.as_ptr().add(at).cast());
                let lasts = [load(lasts, start), load(lasts, start + 16)];
                let same = |half: usize| {
                    let entry = load(entries, start + 16 * half);
                    let differ = _mm512_xor_si512(lasts[half], entry);
                    u32::from(_mm512_testn_epi32_mask(differ, upper))
                };
                let same = same(0) | same(1) << 16;
                let last = _mm512_permutex2var_epi16(lasts[0], lower, lasts[1]);
                let here = _mm512_set1_epi16(((base + at + start) as u16).cast_signed());
                let distance = _mm512_sub_epi16(_mm512_add_epi16(here, order), last);
                let less_one = _mm512_sub_epi16(distance, one);
                let most = if at <= WINDOW { first(at + start) } else { window };
                let good = _mm512_cmplt_epu16_mask(less_one, most);
                let less_one = _mm512_maskz_mov_epi16(good, less_one);
                _mm512_storeu_si512(ring.as_mut_ptr().cast(), less_one);
                *marks = (good & same).to_le_bytes();
            }
        }
    }

    /// Is there next to nothing to find in `from..to`? By the candidates of one position in 32.
    pub(super) fn are_rare(&self, src: &[u8], from: usize, to: usize) -> bool {
        if to - from < LEAST_SAMPLED {
            return false;
        }
        let samples = (from + SAMPLED..to - 4).step_by(SAMPLED);
        let most = samples.len() / RARE;
        let mut seen = 0;
        for at in samples {
            let distance = self.distance(at);
            seen += usize::from(four(src, at) == four(src, at - distance));
            if seen > most {
                return false;
            }
        }
        true
    }
}
