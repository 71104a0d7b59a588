//! SNOW 3G of up to 32 packets side by side: AVX-512 with VBMI, VAES, GFNI and VPCLMULQDQ.
//!
//! A register has one word of sixteen packets. The first box and its MixColumn are a round of AES whose
//! ShiftRows is undone beforehand. The second box is looked up in registers (VPERMI2B), its MixColumn is a
//! doubling in the field (an affine map) and rotations. The multiplications of the shift register are
//! linear: the words for the upper four bits of a byte and for the lower four are looked up in registers
//! (VPERMD). So nothing depends on the key but data: this is in constant time, unlike the portable code.
//!
//! UIA2 is a polynomial over GF(2^64): 64 bytes of a message are taken in at once, the products of its
//! eight blocks with powers of P added up, and reduced once, at the end.
//!
//! Test: `tests/snow3g.rs`; bench: `make bench-sym`.
#![allow(clippy::needless_range_loop)] // rounds and groups are places in several arrays

use std::arch::x86_64::*;

use lookaside_simd::Avx512;

use super::{Message, Packet, TABLES, dickson_box};
use crate::keystream::avx512::{LANES, Rest, apply, by_length, wipe};

#[repr(C, align(64))]
struct Aligned<T>(T);

static BOX: Aligned<[u8; 256]> = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = dickson_box(i as u8);
        i += 1;
    }
    Aligned(table)
};

/// The words for the lower and the upper four bits of a byte: products, then quotients.
static HALVES: Aligned<[[u32; 16]; 4]> = {
    let mut halves = [[0; 16]; 4];
    let mut i = 0;
    while i < 16 {
        halves[0][i] = TABLES.multiply[i];
        halves[1][i] = TABLES.multiply[i << 4];
        halves[2][i] = TABLES.divide[i];
        halves[3][i] = TABLES.divide[i << 4];
        i += 1;
    }
    Aligned(halves)
};

/// What the rounds look up.
struct Lookup {
    square: [__m512i; 4],
    multiply: [__m512i; 2],
    divide: [__m512i; 2],
    /// The inverse of ShiftRows.
    unshift: __m512i,
    /// Doubling modulo x^8 + x^6 + x^5 + x^3 + 1.
    double: __m512i,
}

/// The registers and the machines of `16 G` packets.
struct State<const G: usize> {
    /// s0 to s15, and behind them what comes.
    s: [[__m512i; G]; 32],
    r: [[__m512i; 3]; G],
}

/// The matrix of doubling, as GF2P8AFFINEQB has it: the row of the highest bit in the lowest byte.
const DOUBLE: u64 = {
    let mut rows = 0;
    let mut out = 0;
    while out < 8 {
        // The bits of the argument that bit `out` of the result is the sum of.
        let mut row: u64 = 0;
        let mut bit = 0;
        while bit < 8 {
            let double = super::times_x(1 << bit, 0x69);
            row |= ((double >> out & 1) as u64) << bit;
            bit += 1;
        }
        rows |= row << (8 * (7 - out));
        out += 1;
    }
    rows
};

impl Lookup {
    #[target_feature(enable = "avx512f")]
    fn new() -> Lookup {
        // SAFETY: the tables have 256 bytes each.
        let load =
            |table: *const u8, i: usize| unsafe { _mm512_load_si512(table.add(64 * i).cast()) };
        let square = BOX.0.as_ptr();
        let halves = HALVES.0.as_ptr().cast();
        Lookup {
            square: [load(square, 0), load(square, 1), load(square, 2), load(square, 3)],
            multiply: [load(halves, 0), load(halves, 1)],
            divide: [load(halves, 2), load(halves, 3)],
            unshift: _mm512_broadcast_i32x4(_mm_set_epi8(
                3, 6, 9, 12, 15, 2, 5, 8, 11, 14, 1, 4, 7, 10, 13, 0,
            )),
            double: _mm512_set1_epi64(DOUBLE as i64),
        }
    }

    /// S1 (clause 3.3.1).
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vaes")]
    fn s1(&self, word: __m512i) -> __m512i {
        _mm512_aesenc_epi128(_mm512_shuffle_epi8(word, self.unshift), _mm512_setzero_si512())
    }

    /// S2 (clause 3.3.2).
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    fn s2(&self, word: __m512i) -> __m512i {
        let [a, b, c, d] = self.square;
        let low = _mm512_permutex2var_epi8(a, word, b);
        let high = _mm512_permutex2var_epi8(c, word, d);
        let x = _mm512_mask_blend_epi8(_mm512_movepi8_mask(word), low, high);
        let double = _mm512_gf2p8affine_epi64_epi8::<0>(x, self.double);
        let triple = _mm512_ror_epi32::<8>(_mm512_xor_si512(double, x));
        let others = _mm512_xor_si512(_mm512_ror_epi32::<16>(x), _mm512_ror_epi32::<24>(x));
        xor3(double, triple, others)
    }

    /// s0 multiplied by alpha, and s11 divided by it (clauses 3.4.2 and 3.4.3).
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn feedback(&self, s0: __m512i, s11: __m512i) -> __m512i {
        let look = |table: __m512i, bits: __m512i| _mm512_permutexvar_epi32(bits, table);
        let multiplied = xor3(
            _mm512_slli_epi32::<8>(s0),
            look(self.multiply[0], _mm512_srli_epi32::<24>(s0)),
            look(self.multiply[1], _mm512_srli_epi32::<28>(s0)),
        );
        let divided = xor3(
            _mm512_srli_epi32::<8>(s11),
            look(self.divide[0], s11),
            look(self.divide[1], _mm512_srli_epi32::<4>(s11)),
        );
        _mm512_xor_si512(multiplied, divided)
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0x96>(a, b, c)
}

impl<const G: usize> State<G> {
    /// Clause 4.1, of up to `16 G` packets: their keys and initialisation vectors.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,vaes,gfni")]
    fn new<'a>(
        lookup: &Lookup,
        packets: impl Iterator<Item = (&'a [u8; 16], &'a [u8; 16])>,
    ) -> State<G> {
        let mut words = [[_mm512_setzero_si512(); G]; 8];
        for (lane, (key, iv)) in packets.take(LANES * G).enumerate() {
            let (key, iv) = (key.as_chunks::<4>().0, iv.as_chunks::<4>().0);
            for (i, word) in key.iter().rev().chain(iv.iter().rev()).enumerate() {
                let register: *mut __m512i = &mut words[i][lane / LANES];
                let word = u32::from_be_bytes(*word);
                // SAFETY: a register has sixteen words.
                unsafe { register.cast::<u32>().add(lane % LANES).write(word) };
            }
        }
        let zero = _mm512_setzero_si512();
        let mut state = State { s: [[zero; G]; 32], r: [[zero; 3]; G] };
        for g in 0..G {
            let word = |i: usize| words[i][g];
            for i in 0..4 {
                let complement = _mm512_xor_si512(word(i), _mm512_set1_epi32(-1));
                state.s[i][g] = complement;
                state.s[4 + i][g] = word(i);
                state.s[8 + i][g] = complement;
                state.s[12 + i][g] = word(i);
            }
            for (i, place) in [15, 12, 10, 9].into_iter().enumerate() {
                state.s[place][g] = _mm512_xor_si512(state.s[place][g], word(4 + i));
            }
        }
        wipe(words.as_flattened_mut());
        let mut unused = [[zero; 16]; G];
        state.clock::<16, true>(lookup, &mut unused);
        state.clock::<16, true>(lookup, &mut unused);
        state.clock::<1, false>(lookup, &mut unused);
        wipe(unused.as_flattened_mut());
        state
    }

    /// Clauses 3.4.4 to 3.4.6: so many words of the keystream. `FEED`: they go into the register.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,vaes,gfni")]
    fn clock<const ROUNDS: usize, const FEED: bool>(
        &mut self,
        lookup: &Lookup,
        out: &mut [[__m512i; 16]; G],
    ) {
        const { assert!(ROUNDS <= 16) }
        let mut r = self.r;
        for n in 0..ROUNDS {
            for g in 0..G {
                let s = |i: usize| self.s[n + i][g];
                let [r1, r2, r3] = r[g];
                let f = _mm512_xor_si512(_mm512_add_epi32(s(15), r1), r2);
                out[g][n] = _mm512_xor_si512(f, s(0));
                let mut next = _mm512_xor_si512(lookup.feedback(s(0), s(11)), s(2));
                if FEED {
                    next = _mm512_xor_si512(next, f);
                }
                let sum = _mm512_add_epi32(r2, _mm512_xor_si512(r3, s(5)));
                r[g] = [sum, lookup.s1(r1), lookup.s2(r2)];
                self.s[n + 16][g] = next;
            }
        }
        self.r = r;
        self.s.copy_within(ROUNDS..ROUNDS + 16, 0);
    }
}

impl<const G: usize> Drop for State<G> {
    fn drop(&mut self) {
        wipe(self.s.as_flattened_mut());
        wipe(self.r.as_flattened_mut());
    }
}

/// Encrypts or decrypts packets.
pub(super) fn uea2(_: Avx512, packets: &mut [Packet<'_>]) {
    by_length(packets, |packets| {
        // SAFETY: the token proves the features.
        unsafe {
            if packets.len() > LANES {
                uea2_of::<2>(packets);
            } else {
                uea2_of::<1>(packets);
            }
        }
    });
}

/// Up to `16 G` packets, the longest first.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,vaes,gfni")]
fn uea2_of<const G: usize>(packets: &mut [Packet<'_>]) {
    let lookup = Lookup::new();
    let mut texts = [[Rest::EMPTY; LANES]; G];
    for (text, packet) in texts.as_flattened_mut().iter_mut().zip(&mut *packets) {
        *text = Rest::new(&mut packet.text);
    }
    let mut state = State::<G>::new(&lookup, packets.iter().map(|p| (p.key, &p.iv)));
    let mut words = [[_mm512_setzero_si512(); 16]; G];
    while !texts[0][0].is_empty() {
        state.clock::<16, false>(&lookup, &mut words);
        for (words, texts) in words.iter().zip(&mut texts) {
            // SAFETY: the packets' texts.
            unsafe { apply(words, texts) };
        }
    }
    wipe(words.as_flattened_mut());
}

/// Makes the tags of packets.
pub(super) fn uia2(_: Avx512, packets: &mut [Message<'_>]) {
    for packets in packets.chunks_mut(2 * LANES) {
        // SAFETY: the token proves the features.
        unsafe {
            if packets.len() > LANES {
                uia2_of::<2>(packets);
            } else {
                uia2_of::<1>(packets);
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,vaes,gfni,pclmulqdq,vpclmulqdq,sse4.1")]
fn uia2_of<const G: usize>(packets: &mut [Message<'_>]) {
    let lookup = Lookup::new();
    let mut state = State::<G>::new(&lookup, packets.iter().map(|p| (p.key, &p.iv)));
    let mut words = [[_mm512_setzero_si512(); 16]; G];
    state.clock::<5, false>(&lookup, &mut words);
    for (lane, packet) in packets.iter_mut().enumerate() {
        let word = |i: usize| {
            let words: *const __m512i = &words[lane / LANES][i];
            // SAFETY: a register has sixteen words.
            unsafe { words.cast::<u32>().add(lane % LANES).read() }
        };
        let pair = |i: usize| u64::from(word(i)) << 32 | u64::from(word(i + 1));
        let eval = evaluate(pair(0), packet.data) ^ (8 * packet.data.len() as u64);
        let eval = multiply(eval, pair(2));
        packet.tag = ((eval >> 32) as u32 ^ word(4)).to_be_bytes();
    }
    wipe(words.as_flattened_mut());
}

/// x^64 modulo x^64 + x^4 + x^3 + x + 1.
const FOLD: i64 = 0x1b;

/// The remainder of a product.
#[inline]
#[target_feature(enable = "pclmulqdq,sse2")]
fn reduce(product: __m128i) -> u64 {
    let fold = _mm_cvtsi64_si128(FOLD);
    let once = _mm_clmulepi64_si128::<0x01>(product, fold);
    let twice = _mm_clmulepi64_si128::<0x01>(once, fold);
    _mm_cvtsi128_si64(_mm_xor_si128(product, _mm_xor_si128(once, twice))) as u64
}

#[inline]
#[target_feature(enable = "pclmulqdq,sse2")]
fn multiply(a: u64, b: u64) -> u64 {
    let (a, b) = (_mm_cvtsi64_si128(a as i64), _mm_cvtsi64_si128(b as i64));
    reduce(_mm_clmulepi64_si128::<0x00>(a, b))
}

/// The first `len` bytes.
fn mask(len: usize) -> u64 {
    !0 >> (64 - len)
}

/// The sum of the message's blocks of eight bytes, the last of which is filled up with zeros, each times
/// a power of `p`: the first power for the last block, and so on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,pclmulqdq,vpclmulqdq,sse4.1")]
fn evaluate(p: u64, data: &[u8]) -> u64 {
    if data.is_empty() {
        return 0;
    }
    let p2 = multiply(p, p);
    let (p3, p4) = (multiply(p2, p), multiply(p2, p2));
    // In the lower halves: p to p^4, and these times p^4.
    let low = _mm512_set_epi64(0, p4 as i64, 0, p3 as i64, 0, p2 as i64, 0, p as i64);
    let product = _mm512_clmulepi64_epi128::<0x00>(low, _mm512_set1_epi64(p4 as i64));
    let fold = _mm512_set1_epi64(FOLD);
    let once = _mm512_clmulepi64_epi128::<0x01>(product, fold);
    let twice = _mm512_clmulepi64_epi128::<0x01>(once, fold);
    let high = xor3(product, once, twice);
    // p^8 to p.
    let order = _mm512_set_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    let powers = _mm512_permutex2var_epi64(low, order, high);
    let swapped =
        _mm512_broadcast_i32x4(_mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    let times = |blocks: __m512i| {
        let blocks = _mm512_shuffle_epi8(blocks, swapped);
        let even = _mm512_clmulepi64_epi128::<0x00>(blocks, powers);
        (even, _mm512_clmulepi64_epi128::<0x11>(blocks, powers))
    };
    // As many blocks first as leave a multiple of eight: at the end of a register.
    let first = (data.len().div_ceil(8) - 1) % 8 * 8 + 8;
    let before = 64 - first;
    let some = mask(first.min(data.len())) << before;
    // SAFETY: the mask covers what there is of the first blocks, which begin behind `before` bytes.
    let blocks =
        unsafe { _mm512_maskz_loadu_epi8(some, data.as_ptr().wrapping_sub(before).cast()) };
    let (even, odd) = times(blocks);
    let mut sum = _mm512_xor_si512(even, odd);
    let mut rest = data.get(first..).unwrap_or_default();
    if !rest.is_empty() {
        // p^8, and times x^64: what a sum of 128 bits is multiplied with.
        let p8 = multiply(p4, p4);
        let by =
            _mm512_broadcast_i32x4(_mm_set_epi64x(multiply(p8, FOLD as u64) as i64, p8 as i64));
        while !rest.is_empty() {
            let len = rest.len().min(64);
            let blocks = match rest.first_chunk::<64>() {
                // SAFETY: 64 bytes.
                Some(bytes) => unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) },
                // SAFETY: the mask covers `len` bytes.
                None => unsafe { _mm512_maskz_loadu_epi8(mask(len), rest.as_ptr().cast()) },
            };
            let (even, odd) = times(blocks);
            let low = _mm512_clmulepi64_epi128::<0x00>(sum, by);
            let high = _mm512_clmulepi64_epi128::<0x11>(sum, by);
            sum = xor3(_mm512_xor_si512(low, high), even, odd);
            rest = &rest[len..];
        }
    }
    let half = _mm256_xor_si256(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum));
    let quarter = _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half));
    reduce(quarter)
}
