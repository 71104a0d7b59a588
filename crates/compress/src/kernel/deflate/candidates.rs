//! Pass 1: for every position the last one before it with the same hash.

use std::arch::x86_64::*;

use super::{BLOCK, PLACES};

/// The most bits of a hash.
const MOST_BITS: u32 = 15;
const PRIME: u32 = 0x9e37_79b1;
/// So many positions get their candidates together.
const STRIP: usize = 512;
/// Of a strip that repeats what is before it, so many positions are entered, the last ones.
const ENTERED: usize = 16;
/// Candidates are kept of two blocks: of all that a window of 32 KB reaches.
const RING: usize = 2 * BLOCK;
/// What a match reaches back.
pub(super) const WINDOW: usize = 32 * 1024;
/// A strip of vectors reads ahead so far.
const AHEAD: usize = 64;
/// Every so many positions, one is looked at to see whether there is anything to find.
const SAMPLED: usize = 32;
/// One match in so many samples is as good as none.
const RARE: usize = 512;
/// Shorter blocks are parsed in any case.
const LEAST_SAMPLED: usize = 4096;

/// What every position has: a distance back to where a match may be.
///
/// Where the hash tells none, that is 1, which may be a match as well as any: so nobody has to look
/// whether there is one. No candidate is the first byte of the text, but that of the second, so that a
/// candidate always has one itself. The first two bytes have none that may be looked at.
pub(super) struct Candidates {
    /// The last position, modulo 2^16, of each hash.
    table: Box<[u16; 1 << MOST_BITS]>,
    /// For each position modulo [`RING`], the distance less one.
    ring: Box<[u16; RING]>,
    bits: u32,
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

impl Candidates {
    pub(super) fn new() -> Candidates {
        let zeros = |len| vec![0; len].into_boxed_slice();
        Candidates {
            table: zeros(1 << MOST_BITS).try_into().expect("of this length"),
            ring: zeros(RING).try_into().expect("of this length"),
            bits: MOST_BITS,
            repeat: 0,
        }
    }

    /// At the start of a text of `len` bytes. Short ones get a small table: it has to be cleared.
    pub(super) fn start(&mut self, len: usize) {
        self.bits = len.clamp(1 << 12, 1 << MOST_BITS).ilog2();
        self.table[..1 << self.bits].fill(0);
        self.repeat = 0;
    }

    #[inline(always)]
    fn hash(&self, bytes: u32) -> usize {
        (bytes.wrapping_mul(PRIME) >> (32 - self.bits)) as usize
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
                self.strip(src, at);
            }
            at += STRIP;
        }
        for at in at..to {
            self.one(src, at);
        }
        repeated
    }

    fn one(&mut self, src: &[u8], at: usize) {
        let mut less_one = 0;
        if at + 4 <= src.len() {
            let hash = self.hash(four(src, at));
            let last = std::mem::replace(&mut self.table[hash], at as u16);
            let distance = at.wrapping_sub(last.into()) & 0xffff;
            if is_good(distance, at) {
                less_one = distance - 1;
            }
        }
        self.ring[at % RING] = less_one as u16;
    }

    /// The distance at which the strip at `at` repeats what is before it.
    #[target_feature(enable = "avx512f,avx512bw")]
    fn repeats(&mut self, src: &[u8], at: usize) -> Option<usize> {
        let distance = match self.repeat {
            0 => at.wrapping_sub(self.table[self.hash(four(src, at))].into()) & 0xffff,
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
        for at in at + STRIP - ENTERED..at + STRIP {
            let hash = self.hash(four(src, at));
            self.table[hash] = at as u16;
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
    fn strip(&mut self, src: &[u8], at: usize) {
        const SPREAD: [u8; 64] = {
            let mut spread = [0; 64];
            let mut lane = 0;
            while lane < 64 {
                spread[lane] = (lane / 4 + lane % 4) as u8;
                lane += 1;
            }
            spread
        };
        let text = &src[at..at + STRIP + AHEAD];
        let mut hashes = [0u16; STRIP];
        // SAFETY: the vectors read the array, at most `AHEAD` beyond the strip, and fill `hashes`.
        unsafe {
            let spread = _mm512_loadu_si512(SPREAD.as_ptr().cast());
            let prime = _mm512_set1_epi32(PRIME.cast_signed());
            let shift = _mm_cvtsi32_si128(32 - self.bits.cast_signed());
            for start in (0..STRIP).step_by(16) {
                let bytes = _mm512_loadu_si512(text.as_ptr().add(start).cast());
                let fours = _mm512_permutexvar_epi8(spread, bytes);
                let hash = _mm512_srl_epi32(_mm512_mullo_epi32(fours, prime), shift);
                _mm256_storeu_si256(
                    hashes.as_mut_ptr().add(start).cast(),
                    _mm512_cvtepi32_epi16(hash),
                );
            }
        }
        let candidates: &mut [u16; STRIP] =
            (&mut self.ring[at % RING..][..STRIP]).try_into().expect("of this length");
        for (offset, (candidate, hash)) in candidates.iter_mut().zip(hashes).enumerate() {
            debug_assert!(hash >> self.bits == 0);
            // SAFETY: the shift left no more bits than the table has.
            let last = unsafe { self.table.get_unchecked_mut(usize::from(hash)) };
            *candidate = *last;
            *last = (at + offset) as u16;
        }
        // Positions become distances less one.
        // SAFETY: whole vectors of the strip.
        unsafe {
            let order = _mm512_loadu_si512(PLACES.as_ptr().cast());
            let one = _mm512_set1_epi16(1);
            let window = _mm512_set1_epi16((WINDOW as u16).cast_signed());
            for (start, part) in candidates.as_chunks_mut::<32>().0.iter_mut().enumerate() {
                let last = _mm512_loadu_si512(part.as_ptr().cast());
                let here = _mm512_set1_epi16(((at + 32 * start) as u16).cast_signed());
                let distance = _mm512_sub_epi16(_mm512_add_epi16(here, order), last);
                let less_one = _mm512_sub_epi16(distance, one);
                let mut good = _mm512_cmplt_epu16_mask(less_one, window);
                if at < BLOCK {
                    good &= _mm512_test_epi16_mask(last, last);
                }
                let less_one = _mm512_maskz_mov_epi16(good, less_one);
                _mm512_storeu_si512(part.as_mut_ptr().cast(), less_one);
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
