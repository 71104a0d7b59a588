//! ZUC of up to 32 packets side by side: AVX-512 with VBMI, VBMI2, GFNI and VPCLMULQDQ.
//!
//! A register has one word of sixteen packets. Both boxes are looked up in registers (VPERMI2B); the
//! bytes of the two words for each box are put together first. So nothing depends on the key but data:
//! this is in constant time, unlike the portable code.
//!
//! EIA3 counts, for each bit of the message, the 32 bits of the keystream from there on. For 64 bits that
//! is bits 64 to 95 of the product of the polynomials `m` and `z`: `m` has a term `x^i` for bit `i` of the
//! message, and `z` has the first of 96 bits of the keystream at the top.
//!
//! Test: `tests/zuc.rs`; bench: `make bench-sym`.
#![allow(clippy::needless_range_loop)] // rounds and groups are places in several arrays

use std::arch::x86_64::*;

use lookaside_simd::Avx512;

use super::{D, Message, Packet, S0, S1};
use crate::chacha20::avx512::transpose;
use crate::keystream::avx512::{LANES, MOST, Rest, apply, by_length, wipe};

/// 2^31 - 1.
const PRIME: i32 = i32::MAX;

/// The odd bytes of a word: those of S0.
const ODD: i32 = 0xff00_ff00_u32 as i32;

/// What the rounds look up.
struct Lookup {
    s0: [__m512i; 4],
    s1: [__m512i; 4],
}

/// The registers and the two words of `16 G` packets.
struct State<const G: usize> {
    /// s0 to s15 of 31 bits, and behind them what comes. Zero is written 2^31 - 1.
    s: [[__m512i; G]; 32],
    /// The same, shifted left by one.
    twice: [[__m512i; G]; 32],
    r: [[__m512i; 2]; G],
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0x96>(a, b, c)
}

/// The bits of `a` where the mask has ones, those of `b` elsewhere.
#[inline]
#[target_feature(enable = "avx512f")]
fn select(mask: __m512i, a: __m512i, b: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0xca>(mask, a, b)
}

/// The bytes of a table.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn look(table: &[__m512i; 4], bytes: __m512i) -> __m512i {
    let low = _mm512_permutex2var_epi8(table[0], bytes, table[1]);
    let high = _mm512_permutex2var_epi8(table[2], bytes, table[3]);
    _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high)
}

/// A sum modulo 2^31 - 1 of two numbers up to it.
#[inline]
#[target_feature(enable = "avx512f")]
fn add(a: __m512i, b: __m512i) -> __m512i {
    let sum = _mm512_add_epi32(a, b);
    // Less the modulus, where that is not negative.
    _mm512_min_epu32(sum, _mm512_sub_epi32(sum, _mm512_set1_epi32(PRIME)))
}

impl Lookup {
    #[target_feature(enable = "avx512f")]
    fn new() -> Lookup {
        let load = |table: &[u8; 256]| {
            // SAFETY: the table has 256 bytes.
            [0, 64, 128, 192].map(|at| unsafe { _mm512_loadu_si512(table.as_ptr().add(at).cast()) })
        };
        Lookup { s0: load(&S0), s1: load(&S1) }
    }

    /// The boxes on both words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn substitute(&self, u: __m512i, v: __m512i) -> [__m512i; 2] {
        let odd = _mm512_set1_epi32(ODD);
        let first = look(&self.s0, select(odd, u, _mm512_srli_epi32::<8>(v)));
        let second = look(&self.s1, select(odd, _mm512_slli_epi32::<8>(v), u));
        [
            select(odd, first, second),
            select(odd, _mm512_slli_epi32::<8>(first), _mm512_srli_epi32::<8>(second)),
        ]
    }
}

impl<const G: usize> State<G> {
    /// Clauses 3.5 and 3.6.1, of up to `16 G` packets: their keys and initialisation vectors.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn new<'a>(
        lookup: &Lookup,
        packets: impl Iterator<Item = (&'a [u8; 16], &'a [u8; 16])>,
    ) -> State<G> {
        let zero = _mm512_setzero_si512();
        // SAFETY: sixteen words.
        let between = unsafe { _mm512_loadu_si512(D.as_ptr().cast()) };
        let between = _mm512_slli_epi32::<8>(between);
        let mut rows = [[zero; LANES]; G];
        for (row, (key, iv)) in rows.as_flattened_mut().iter_mut().zip(packets) {
            let words = |bytes: &[u8; 16]| {
                // SAFETY: sixteen bytes.
                _mm512_cvtepu8_epi32(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
            };
            let (key, iv) = (_mm512_slli_epi32::<23>(words(key)), words(iv));
            *row = _mm512_ternarylogic_epi32::<0xfe>(key, between, iv);
        }
        let mut state = State { s: [[zero; G]; 32], twice: [[zero; G]; 32], r: [[zero; 2]; G] };
        for (g, rows) in rows.iter().enumerate() {
            for (i, word) in transpose(rows).into_iter().enumerate() {
                state.s[i][g] = word;
                state.twice[i][g] = _mm512_add_epi32(word, word);
            }
        }
        wipe(rows.as_flattened_mut());
        let mut unused = [[zero; 16]; G];
        state.clock::<16, true>(lookup, &mut unused);
        state.clock::<16, true>(lookup, &mut unused);
        state.clock::<1, false>(lookup, &mut unused);
        wipe(unused.as_flattened_mut());
        state
    }

    /// Clause 3.6: so many words of the keystream. `FEED`: what they are made of goes into the register.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn clock<const ROUNDS: usize, const FEED: bool>(
        &mut self,
        lookup: &Lookup,
        out: &mut [[__m512i; 16]; G],
    ) {
        const { assert!(ROUNDS <= 16) }
        let prime = _mm512_set1_epi32(PRIME);
        let mut r = self.r;
        for n in 0..ROUNDS {
            for g in 0..G {
                let s = |i: usize| self.s[n + i][g];
                let twice = |i: usize| self.twice[n + i][g];
                // Clause 3.3: the upper 16 of the 31 bits of a word, the lower 16 of another.
                let halves = select(_mm512_set1_epi32(!0xffff), twice(15), s(14));
                let crossed =
                    |low: usize, high: usize| _mm512_shldi_epi32::<16>(s(low), twice(high));
                // Clause 3.4.
                let [r1, r2] = r[g];
                let w = _mm512_add_epi32(_mm512_xor_si512(halves, r1), r2);
                let w1 = _mm512_add_epi32(r1, crossed(11, 9));
                let w2 = _mm512_xor_si512(r2, crossed(7, 5));
                let u = _mm512_shldi_epi32::<16>(w1, w2);
                let v = _mm512_shldi_epi32::<16>(w2, w1);
                let u = xor3(
                    xor3(u, _mm512_rol_epi32::<2>(u), _mm512_rol_epi32::<10>(u)),
                    _mm512_rol_epi32::<18>(u),
                    _mm512_rol_epi32::<24>(u),
                );
                let v = xor3(
                    xor3(v, _mm512_rol_epi32::<8>(v), _mm512_rol_epi32::<14>(v)),
                    _mm512_rol_epi32::<22>(v),
                    _mm512_rol_epi32::<30>(v),
                );
                r[g] = lookup.substitute(u, v);
                out[g][n] = _mm512_xor_si512(w, crossed(2, 0));
                // Clause 3.2. A multiplication by a power of two is a rotation of 31 bits.
                macro_rules! times {
                    ($i:literal, $power:literal) => {
                        _mm512_and_si512(_mm512_shldi_epi32::<$power>(s($i), twice($i)), prime)
                    };
                }
                let mut sum =
                    add(add(times!(15, 15), times!(13, 17)), add(times!(10, 21), times!(4, 20)));
                sum = add(sum, times!(0, 8));
                if FEED {
                    sum = add(sum, _mm512_srli_epi32::<1>(w));
                }
                // The last number is not zero, and neither is this sum.
                let sum = _mm512_add_epi32(sum, s(0));
                let next =
                    _mm512_add_epi32(_mm512_and_si512(sum, prime), _mm512_srli_epi32::<31>(sum));
                self.s[n + 16][g] = next;
                self.twice[n + 16][g] = _mm512_add_epi32(next, next);
            }
        }
        self.r = r;
        self.s.copy_within(ROUNDS..ROUNDS + 16, 0);
        self.twice.copy_within(ROUNDS..ROUNDS + 16, 0);
    }
}

impl<const G: usize> Drop for State<G> {
    fn drop(&mut self) {
        wipe(self.s.as_flattened_mut());
        wipe(self.twice.as_flattened_mut());
        wipe(self.r.as_flattened_mut());
    }
}

/// Encrypts or decrypts packets.
pub(super) fn eea3(_: Avx512, packets: &mut [Packet<'_>]) {
    by_length(packets, |packets| {
        // SAFETY: the token proves the features.
        unsafe {
            if packets.len() > LANES {
                eea3_of::<2>(packets);
            } else {
                eea3_of::<1>(packets);
            }
        }
    });
}

/// Up to `16 G` packets, the longest first.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
fn eea3_of<const G: usize>(packets: &mut [Packet<'_>]) {
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
pub(super) fn eia3(_: Avx512, packets: &mut [Message<'_>]) {
    for packets in packets.chunks_mut(MOST) {
        // Together with what takes as long; the packets stay where they are.
        let mut order: [u8; MOST] = std::array::from_fn(|place| place as u8);
        let order = &mut order[..packets.len()];
        if !packets.is_sorted_by(|a, b| a.data.len() >= b.data.len()) {
            order.sort_unstable_by_key(|&place| {
                std::cmp::Reverse(packets[usize::from(place)].data.len())
            });
        }
        for order in order.chunks(2 * LANES) {
            // SAFETY: the token proves the features.
            unsafe {
                if order.len() > LANES {
                    eia3_of::<2>(packets, order);
                } else {
                    eia3_of::<1>(packets, order);
                }
            }
        }
    }
}

/// A message under way.
#[derive(Clone, Copy)]
struct Course {
    /// What has not been taken in.
    data: *const u8,
    len: usize,
    /// Whether the bit behind the message has been taken in.
    closed: bool,
    done: bool,
    /// The next word of the keystream.
    next: u32,
    tag: u32,
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,gfni,vpclmulqdq")]
fn eia3_of<const G: usize>(packets: &mut [Message<'_>], order: &[u8]) {
    let lookup = Lookup::new();
    let zero = _mm512_setzero_si512();
    let of = |place: &u8| &packets[usize::from(*place)];
    let mut state =
        State::<G>::new(&lookup, order.iter().map(|place| (of(place).key, &of(place).iv)));
    let mut words = [[zero; 16]; G];
    state.clock::<1, false>(&lookup, &mut words);
    let mut messages =
        [[Course { data: std::ptr::null(), len: 0, closed: false, done: true, next: 0, tag: 0 };
            LANES]; G];
    for (lane, (message, place)) in messages.as_flattened_mut().iter_mut().zip(order).enumerate() {
        let register: *const __m512i = &words[lane / LANES][0];
        // SAFETY: a register has sixteen words.
        let next = unsafe { register.cast::<u32>().add(lane % LANES).read() };
        let data = of(place).data;
        *message = Course { data: data.as_ptr(), len: data.len(), done: false, next, ..*message };
    }
    let mut sums = [[zero; LANES]; G];
    while messages.as_flattened().iter().any(|message| !message.done) {
        state.clock::<16, false>(&lookup, &mut words);
        for ((words, messages), sums) in words.iter().zip(&mut messages).zip(&mut sums) {
            for ((message, sum), row) in messages.iter_mut().zip(sums).zip(transpose(words)) {
                if !message.done {
                    // SAFETY: the message is borrowed, and has `len` bytes.
                    unsafe { take_in(message, sum, row) };
                }
            }
        }
    }
    for ((message, sum), place) in
        messages.as_flattened().iter().zip(sums.as_flattened()).zip(order)
    {
        // The lowest word of each quarter.
        let sum = _mm512_maskz_mov_epi32(0x1111, *sum);
        let half =
            _mm256_xor_si256(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum));
        let quarter =
            _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half));
        let tag = message.tag ^ _mm_cvtsi128_si32(quarter) as u32;
        packets[usize::from(*place)].tag = tag.to_be_bytes();
    }
    wipe(words.as_flattened_mut());
    wipe(sums.as_flattened_mut());
    for message in messages.as_flattened_mut() {
        // SAFETY: it is there to be written; volatile writes are not optimised away.
        unsafe { std::ptr::write_volatile(&mut message.next, 0) };
    }
}

/// Takes in the next 64 bytes, or what there is of them, with the word of the keystream that belongs
/// to the first of them and the sixteen after it. The lowest word of each quarter of the sum counts.
///
/// # Safety
/// `len` bytes can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni,vpclmulqdq")]
unsafe fn take_in(message: &mut Course, sum: &mut __m512i, row: __m512i) {
    let words: [u32; 16] = {
        // SAFETY: both are 64 bytes.
        unsafe { std::mem::transmute::<__m512i, [u32; 16]>(row) }
    };
    if message.closed {
        // The message ended with the last word of the block before.
        message.tag ^= words[0];
        message.done = true;
        return;
    }
    let len = message.len.min(64);
    // SAFETY: the caller's; the mask covers `len` bytes.
    let mut bytes = unsafe {
        match len {
            64 => _mm512_loadu_si512(message.data.cast()),
            0 => _mm512_setzero_si512(),
            _ => _mm512_maskz_loadu_epi8(!0 >> (64 - len), message.data.cast()),
        }
    };
    if len < 64 {
        // The length counts as one more bit.
        bytes = _mm512_mask_mov_epi8(bytes, 1 << len, _mm512_set1_epi8(-128));
        message.closed = true;
    }
    // The first bit of a byte becomes its lowest.
    let reversed = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
    let bits = _mm512_gf2p8affine_epi64_epi8::<0>(bytes, reversed);
    // For each 64 bits: the first word of the keystream for them (what is above it is of no account), and
    // the two after it.
    let first = _mm512_alignr_epi32::<15>(row, _mm512_set1_epi32(message.next as i32));
    let others = _mm512_ror_epi64::<32>(row);
    let low = _mm512_xor_si512(
        _mm512_clmulepi64_epi128::<0x00>(bits, first),
        _mm512_clmulepi64_epi128::<0x11>(bits, first),
    );
    let high = _mm512_xor_si512(
        _mm512_clmulepi64_epi128::<0x00>(bits, others),
        _mm512_clmulepi64_epi128::<0x11>(bits, others),
    );
    *sum = xor3(*sum, low, _mm512_bsrli_epi128::<8>(high));
    message.next = words[15];
    message.len -= len;
    message.data = message.data.wrapping_add(len);
    if len <= 60 {
        // The word after the two that the last bit may count.
        message.tag ^= words[len.div_ceil(4)];
        message.done = true;
    }
}
