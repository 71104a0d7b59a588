//! The compression functions by the SHA extensions, in quarters, so that something else can be done
//! between them.

use core::arch::x86_64::*;

/// The length of a block in bytes.
pub(crate) const BLOCK: usize = 64;

/// A compression under way.
///
/// Only functions compiled with SHA-NI and AVX2 may call the methods, which are inlined into them.
pub trait Compression {
    /// The state in words, as the standard has it.
    type State;

    /// Takes up a state.
    fn new(state: &Self::State) -> Self;
    /// Puts it down.
    fn save(&self, state: &mut Self::State);
    /// Reads a block.
    ///
    /// # Safety
    /// 64 bytes are readable.
    unsafe fn begin(&mut self, block: *const u8);
    /// Quarter `Q` of the rounds, in order, with something else between groups of four rounds.
    fn quarter<const Q: i32>(&mut self, other: &mut impl Other);
    /// After the last quarter.
    fn end(&mut self);
}

/// What is done between groups of rounds.
pub trait Other {
    /// Part `i` of `of`.
    fn part(&mut self, i: usize, of: usize);
}

/// Nothing else.
impl Other for () {
    #[inline(always)]
    fn part(&mut self, _: usize, _: usize) {}
}

/// Compresses one block, nothing else between.
///
/// # Safety
/// 64 bytes are readable.
#[inline(always)]
pub(crate) unsafe fn block(compression: &mut impl Compression, block: *const u8) {
    // SAFETY: the caller's.
    unsafe { compression.begin(block) };
    compression.quarter::<0>(&mut ());
    compression.quarter::<1>(&mut ());
    compression.quarter::<2>(&mut ());
    compression.quarter::<3>(&mut ());
    compression.end();
}

/// Compresses the whole blocks.
#[target_feature(enable = "avx2,sha")]
pub(super) fn compress<C: Compression>(state: &mut C::State, blocks: &[u8]) {
    let mut compression = C::new(state);
    for bytes in blocks.chunks_exact(BLOCK) {
        // SAFETY: it has 64 bytes.
        unsafe { block(&mut compression, bytes.as_ptr()) };
    }
    compression.save(state);
}

// SAFETY of every block below: see the trait for the features; loads and stores are within arrays or
// have the preconditions of `begin`.

/// The block in four registers, each with the order of its bytes changed.
#[inline(always)]
unsafe fn words(block: *const u8, order: __m128i) -> [__m128i; 4] {
    let block = block.cast::<__m128i>();
    // SAFETY: as above.
    unsafe {
        [
            _mm_shuffle_epi8(_mm_loadu_si128(block), order),
            _mm_shuffle_epi8(_mm_loadu_si128(block.add(1)), order),
            _mm_shuffle_epi8(_mm_loadu_si128(block.add(2)), order),
            _mm_shuffle_epi8(_mm_loadu_si128(block.add(3)), order),
        ]
    }
}

/// SHA-1.
pub struct Sha1 {
    abcd: __m128i,
    /// In its highest word.
    e: __m128i,
    /// `abcd` four rounds ago, whose `a` becomes the next `e`.
    before: __m128i,
    saved: __m128i,
    /// Sixteen words of the message schedule: group `g` of four words lies at `g % 4`.
    words: [__m128i; 4],
}

impl Compression for Sha1 {
    type State = [u32; 5];

    #[inline(always)]
    fn new(state: &[u32; 5]) -> Sha1 {
        // SAFETY: as above.
        unsafe {
            let abcd = _mm_shuffle_epi32::<0x1b>(_mm_loadu_si128(state.as_ptr().cast()));
            let e = _mm_set_epi32(state[4].cast_signed(), 0, 0, 0);
            Sha1 { abcd, e, before: abcd, saved: abcd, words: [abcd; 4] }
        }
    }

    #[inline(always)]
    fn save(&self, state: &mut [u32; 5]) {
        // SAFETY: as above.
        unsafe {
            let abcd = _mm_shuffle_epi32::<0x1b>(self.abcd);
            _mm_storeu_si128(state.as_mut_ptr().cast(), abcd);
            state[4] = _mm_extract_epi32::<3>(self.e).cast_unsigned();
        }
    }

    #[inline(always)]
    unsafe fn begin(&mut self, block: *const u8) {
        // SAFETY: as above.
        unsafe {
            let order = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
            self.words = words(block, order);
        }
        self.saved = self.abcd;
    }

    #[inline(always)]
    fn quarter<const Q: i32>(&mut self, other: &mut impl Other) {
        for i in 0..5 {
            other.part(i, 5);
            let group = 5 * Q as usize + i;
            let [now, next, third, last] = ring(group);
            // SAFETY: as above.
            unsafe {
                if group >= 4 {
                    let words = _mm_sha1msg1_epu32(self.words[now], self.words[next]);
                    let words = _mm_xor_si128(words, self.words[third]);
                    self.words[now] = _mm_sha1msg2_epu32(words, self.words[last]);
                }
                let words = self.words[now];
                let e_and_words = match group {
                    0 => _mm_add_epi32(self.e, words),
                    _ => _mm_sha1nexte_epu32(self.before, words),
                };
                self.before = self.abcd;
                self.abcd = _mm_sha1rnds4_epu32::<Q>(self.abcd, e_and_words);
            }
        }
    }

    #[inline(always)]
    fn end(&mut self) {
        // SAFETY: as above.
        unsafe {
            self.e = _mm_sha1nexte_epu32(self.before, self.e);
            self.abcd = _mm_add_epi32(self.abcd, self.saved);
        }
    }
}

/// SHA-256.
pub struct Sha256 {
    abef: __m128i,
    cdgh: __m128i,
    saved: [__m128i; 2],
    /// As in [`Sha1`].
    words: [__m128i; 4],
}

impl Compression for Sha256 {
    type State = [u32; 8];

    #[inline(always)]
    fn new(state: &[u32; 8]) -> Sha256 {
        // SAFETY: as above.
        unsafe {
            let dcba = _mm_loadu_si128(state.as_ptr().cast());
            let hgfe = _mm_loadu_si128(state.as_ptr().add(4).cast());
            let cdab = _mm_shuffle_epi32::<0xb1>(dcba);
            let efgh = _mm_shuffle_epi32::<0x1b>(hgfe);
            let abef = _mm_alignr_epi8::<8>(cdab, efgh);
            let cdgh = _mm_blend_epi16::<0xf0>(efgh, cdab);
            Sha256 { abef, cdgh, saved: [abef, cdgh], words: [abef; 4] }
        }
    }

    #[inline(always)]
    fn save(&self, state: &mut [u32; 8]) {
        // SAFETY: as above.
        unsafe {
            let feba = _mm_shuffle_epi32::<0x1b>(self.abef);
            let dchg = _mm_shuffle_epi32::<0xb1>(self.cdgh);
            let dcba = _mm_blend_epi16::<0xf0>(feba, dchg);
            let hgfe = _mm_alignr_epi8::<8>(dchg, feba);
            _mm_storeu_si128(state.as_mut_ptr().cast(), dcba);
            _mm_storeu_si128(state.as_mut_ptr().add(4).cast(), hgfe);
        }
    }

    #[inline(always)]
    unsafe fn begin(&mut self, block: *const u8) {
        // SAFETY: as above.
        unsafe {
            let order = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
            self.words = words(block, order);
        }
        self.saved = [self.abef, self.cdgh];
    }

    #[inline(always)]
    fn quarter<const Q: i32>(&mut self, other: &mut impl Other) {
        for i in 0..4 {
            other.part(i, 4);
            let group = 4 * Q as usize + i;
            let [now, next, third, last] = ring(group);
            // SAFETY: as above.
            unsafe {
                if group >= 4 {
                    let words = _mm_sha256msg1_epu32(self.words[now], self.words[next]);
                    let seven_ago = _mm_alignr_epi8::<4>(self.words[last], self.words[third]);
                    let words = _mm_add_epi32(words, seven_ago);
                    self.words[now] = _mm_sha256msg2_epu32(words, self.words[last]);
                }
                let constants = _mm_loadu_si128(CONSTANTS.as_ptr().add(4 * group).cast());
                let sums = _mm_add_epi32(self.words[now], constants);
                self.cdgh = _mm_sha256rnds2_epu32(self.cdgh, self.abef, sums);
                let sums = _mm_shuffle_epi32::<0x0e>(sums);
                self.abef = _mm_sha256rnds2_epu32(self.abef, self.cdgh, sums);
            }
        }
    }

    #[inline(always)]
    fn end(&mut self) {
        // SAFETY: as above.
        unsafe {
            self.abef = _mm_add_epi32(self.abef, self.saved[0]);
            self.cdgh = _mm_add_epi32(self.cdgh, self.saved[1]);
        }
    }
}

/// Where groups `group - 4` (whose place the group itself gets) to `group - 1` lie.
#[inline(always)]
fn ring(group: usize) -> [usize; 4] {
    [group % 4, (group + 1) % 4, (group + 2) % 4, (group + 3) % 4]
}

/// FIPS 180-4 section 4.2.2: the fractional parts of the cube roots of the first 64 primes.
const CONSTANTS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];
