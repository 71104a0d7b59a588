//! Pass 4: blocks into bits.

use std::arch::x86_64::*;

use lookaside_simd::Avx512;

use super::super::stored;
use super::super::symbols::LENGTHS;
use super::huffman::LANES;
use super::parse::{MATCH, Tokens, distance_parts, lanes, load, splat};
use super::plan::{Kind, Plan};
use super::{Short, run};

/// Of a length less 3: its symbol less 257, and the number of extra bits in the lowest three.
const LENGTH_SYMBOLS: [u8; 256] = {
    let mut table = [0; 256];
    let mut symbol = 0;
    while symbol < LENGTHS.len() {
        let (base, extra) = LENGTHS[symbol];
        let mut at = base as usize - 3;
        while at < base as usize - 3 + (1 << extra) && at < 256 {
            table[at] = (symbol as u8) << 3 | extra;
            at += 1;
        }
        symbol += 1;
    }
    table
};

/// The end of a stream so far.
pub(super) struct Writer {
    /// Whole bytes.
    at: usize,
    /// The bits after those.
    rest: u64,
    /// How many: fewer than eight.
    count: u32,
}

/// Where bits go: `Writer` with the memory.
struct Sink {
    out: *mut u8,
    rest: u64,
    count: u32,
}

impl Sink {
    /// # Safety
    ///
    /// Eight bytes are there at `out`; `value` has `bits` bits, at most 56.
    #[inline(always)]
    unsafe fn put(&mut self, value: u64, bits: u32) {
        self.rest |= value << self.count;
        self.count += bits;
        // SAFETY: the caller's promise.
        unsafe {
            self.out.cast::<[u8; 8]>().write_unaligned(self.rest.to_le_bytes());
            self.out = self.out.add(self.count as usize / 8);
        }
        self.rest >>= self.count & 56;
        self.count %= 8;
    }
}

impl Writer {
    pub(super) fn new() -> Writer {
        Writer { at: 0, rest: 0, count: 0 }
    }

    /// Whole bytes so far.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Bits after those.
    pub(super) fn bits(&self) -> usize {
        self.count as usize
    }

    /// `bytes` as stored blocks. `dst` has room for [`stored::size`] from [`at`](Writer::at) on,
    /// the bits so far included.
    ///
    /// # Panics
    ///
    /// If it has not.
    pub(super) fn stored(&mut self, bytes: &[u8], last: bool, dst: &mut [u8]) {
        // Three bits that do not fit in the byte that is begun lead into the next one.
        let begun = usize::from(self.count > 5);
        let rest = &mut dst[self.at..];
        let len = match last {
            true => stored::compress(bytes, &mut rest[begun..]),
            false => stored::compress_piece(bytes, &mut rest[begun..]),
        };
        let head = u16::from(rest[begun]) << self.count | self.rest as u16;
        let [low, high] = head.to_le_bytes();
        rest[begun] = high;
        rest[0] = low;
        self.at += begun + len.expect("room was made sure of");
        (self.rest, self.count) = (0, 0);
    }

    /// The block as `plan` has it, which is not stored.
    ///
    /// # Safety
    ///
    /// `dst` has room for it and for [`SLACK`](super::SLACK) bytes.
    pub(super) unsafe fn block(
        &mut self,
        cpu: Avx512,
        plan: &Plan,
        tokens: &Tokens,
        bytes: &[u8],
        last: bool,
        dst: &mut [u8],
    ) {
        let _ = cpu;
        debug_assert!(plan.kind != Kind::Stored);
        // SAFETY: within `dst`, by the caller's promise.
        unsafe {
            let start = dst.as_mut_ptr();
            let mut sink = Sink { out: start.add(self.at), rest: self.rest, count: self.count };
            plan.header(last, |value, bits| sink.put(value, bits));
            sink = if tokens.are_bytes() {
                literals(sink, plan, bytes)
            } else {
                symbols(sink, plan, tokens)
            };
            let end = plan.end_of_block();
            sink.put(u64::from(end & 0xfff), u32::from(end >> 12));
            self.at = sink.out.offset_from_unsigned(start);
            (self.rest, self.count) = (sink.rest, sink.count);
        }
    }

    /// A block of `len` times `byte`.
    pub(super) fn run(
        &mut self,
        byte: u8,
        len: usize,
        last: bool,
        dst: &mut [u8],
    ) -> Result<(), Short> {
        let mut all = self.bits();
        run::block(byte, len, last, &mut |_, bits| all += bits as usize);
        Short::check(self.at + all.div_ceil(8), dst)?;
        // SAFETY: the room is there.
        unsafe {
            let start = dst.as_mut_ptr();
            let mut sink = Sink { out: start.add(self.at), rest: self.rest, count: self.count };
            run::block(byte, len, last, &mut |value, bits| sink.put(value, bits));
            self.at = sink.out.offset_from_unsigned(start);
            (self.rest, self.count) = (sink.rest, sink.count);
        }
        Ok(())
    }

    /// The last byte; before that, an empty stored block if more is to follow. The length of all,
    /// `None` if it does not fit.
    pub(super) fn finish(mut self, dst: &mut [u8], last: bool) -> Option<usize> {
        if !last {
            // The three bits of the block, all zero, and what is left of their byte.
            let end = self.at + (self.count as usize + 3).div_ceil(8);
            let rest = dst.get_mut(self.at..end + 4)?;
            let (head, tail) = rest.split_at_mut(end - self.at);
            head.fill(0);
            head[0] = self.rest as u8;
            tail.copy_from_slice(&[0, 0, 0xff, 0xff]);
            self.at = end + 4;
        } else if self.count > 0 {
            *dst.get_mut(self.at)? = self.rest as u8;
            self.at += 1;
        }
        Some(self.at)
    }
}

/// Eight values, each with its bits: at most 56. `up` is [`up`].
///
/// # Safety
///
/// The room is there; the features are.
#[inline(always)]
unsafe fn put_eight(sink: &mut Sink, up: [__m512i; 3], values: __m512i, bits: __m512i) {
    // SAFETY: the caller's promise.
    unsafe {
        // Where each begins: the sum of the bits before it.
        let by_one = _mm512_maskz_permutexvar_epi64(0xfe, up[0], bits);
        let sums = _mm512_add_epi64(bits, by_one);
        let by_two = _mm512_maskz_permutexvar_epi64(0xfc, up[1], sums);
        let sums = _mm512_add_epi64(sums, by_two);
        let by_four = _mm512_maskz_permutexvar_epi64(0xf0, up[2], sums);
        let sums = _mm512_add_epi64(sums, by_four);
        let total = _mm_extract_epi64::<1>(_mm512_extracti64x2_epi64::<3>(sums)) as usize;
        let before = _mm512_set1_epi64(sink.count.into());
        let begin = _mm512_add_epi64(_mm512_sub_epi64(sums, bits), before);
        let bit = _mm512_and_si512(begin, _mm512_set1_epi64(7));
        let ends = _mm512_add_epi64(bit, bits);
        let lanes = |vector: __m512i| std::mem::transmute::<__m512i, [u64; 8]>(vector);
        let shifted = lanes(_mm512_sllv_epi64(values, bit));
        let bytes = lanes(_mm512_srli_epi64::<3>(begin));
        let whole = lanes(_mm512_and_si512(ends, _mm512_set1_epi64(56)));
        for lane in 0..8 {
            sink.rest |= shifted[lane];
            let to = sink.out.add(bytes[lane] as usize);
            to.cast::<[u8; 8]>().write_unaligned(sink.rest.to_le_bytes());
            sink.rest >>= whole[lane] & 56;
        }
        let end = sink.count as usize + total;
        sink.out = sink.out.add(end / 8);
        sink.count = (end % 8) as u32;
    }
}

/// Lanes of a permutation.
struct Lanes([u64; 8]);

impl Lanes {
    #[inline(always)]
    fn get(&self) -> __m512i {
        // SAFETY: a whole vector; inlined where the features are.
        unsafe { _mm512_loadu_si512(self.0.as_ptr().cast()) }
    }
}

/// One, two and four lanes up.
#[inline(always)]
fn up() -> [__m512i; 3] {
    [[0, 0, 1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 2, 3, 4, 5], [0, 0, 0, 0, 0, 1, 2, 3]]
        .map(|lanes| Lanes(lanes).get())
}

/// Two vectors of codes as one table of 64.
#[inline(always)]
unsafe fn codes(table: &[[u16; LANES]], at: usize) -> __m512i {
    // SAFETY: a whole vector of the table; the features are the caller's promise.
    unsafe { _mm512_loadu_si512(table[at].as_ptr().cast()) }
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,lzcnt,popcnt"
)]
unsafe fn symbols(mut sink: Sink, plan: &Plan, tokens: &Tokens) -> Sink {
    // SAFETY: tables have the vectors that are read; room is the caller's promise.
    unsafe {
        let literals: [__m512i; 8] = std::array::from_fn(|at| codes(&plan.litlen, at));
        let mut length_codes = [0; LANES];
        length_codes[..29].copy_from_slice(&plan.litlen.as_flattened()[257..286]);
        let length_codes = _mm512_loadu_si512(length_codes.as_ptr().cast());
        let length_symbols: [__m512i; 4] = std::array::from_fn(|at| {
            _mm512_loadu_si512(LENGTH_SYMBOLS.as_ptr().add(64 * at).cast())
        });
        let distance_codes = codes(&plan.distance, 0);
        let up = up();
        let (low8, low12, low16) = (splat(0xff), splat(0xfff), splat(0xffff));
        let low32 = _mm512_set1_epi64(0xffff_ffff);
        for segment in tokens.segments() {
            for part in segment.chunks(16) {
                let there = lanes(part.len());
                let tokens = load(part);
                let matches = _mm512_test_epi32_mask(tokens, splat(MATCH));
                let index = _mm512_and_si512(tokens, low8);
                let (bit6, bit7) = (
                    _mm512_test_epi32_mask(tokens, splat(64)),
                    _mm512_test_epi32_mask(tokens, splat(128)),
                );
                // The code of a literal is in one of four tables of 64.
                let quarter = [0, 2, 4, 6]
                    .map(|at| _mm512_permutex2var_epi16(literals[at], index, literals[at + 1]));
                let low = _mm512_mask_mov_epi32(quarter[0], bit6, quarter[1]);
                let high = _mm512_mask_mov_epi32(quarter[2], bit6, quarter[3]);
                let literal = _mm512_mask_mov_epi32(low, bit7, high);
                // The symbol of a length in one of two tables of 128, its code in one of 32.
                let low = _mm512_permutex2var_epi8(length_symbols[0], index, length_symbols[1]);
                let high = _mm512_permutex2var_epi8(length_symbols[2], index, length_symbols[3]);
                let symbol = _mm512_mask_mov_epi32(low, bit7, high);
                let extra_bits = _mm512_maskz_and_epi32(matches, symbol, splat(7));
                let symbol = _mm512_srli_epi32::<3>(_mm512_and_si512(symbol, low8));
                let ones = splat(u32::MAX);
                let extra = _mm512_andnot_si512(_mm512_sllv_epi32(ones, extra_bits), index);
                let length = _mm512_permutexvar_epi16(symbol, length_codes);
                let code = _mm512_mask_mov_epi32(literal, matches, length);
                let code = _mm512_maskz_and_epi32(there, code, low16);
                let code_bits = _mm512_srli_epi32::<12>(code);
                let litlen = _mm512_or_si512(
                    _mm512_and_si512(code, low12),
                    _mm512_sllv_epi32(extra, code_bits),
                );
                let litlen_bits = _mm512_add_epi32(code_bits, extra_bits);
                // Distances: nothing for literals.
                let parts = distance_parts(tokens);
                let code = _mm512_permutexvar_epi16(parts.symbol, distance_codes);
                let code = _mm512_maskz_and_epi32(matches, code, low16);
                let code_bits = _mm512_srli_epi32::<12>(code);
                let distance = _mm512_maskz_or_epi32(
                    matches,
                    _mm512_and_si512(code, low12),
                    _mm512_sllv_epi32(parts.extra, code_bits),
                );
                let bits = _mm512_maskz_add_epi32(matches, code_bits, parts.extra_bits);
                let bits = _mm512_add_epi32(litlen_bits, bits);
                // Tokens with even and with odd places, then both.
                let high32 = |value| _mm512_srli_epi64::<32>(value);
                let even = _mm512_or_si512(
                    _mm512_and_si512(litlen, low32),
                    _mm512_sllv_epi64(
                        _mm512_and_si512(distance, low32),
                        _mm512_and_si512(litlen_bits, low32),
                    ),
                );
                let odd = _mm512_or_si512(
                    high32(litlen),
                    _mm512_sllv_epi64(high32(distance), high32(litlen_bits)),
                );
                let (even_bits, odd_bits) = (_mm512_and_si512(bits, low32), high32(bits));
                let both_bits = _mm512_add_epi64(even_bits, odd_bits);
                if _mm512_cmpgt_epu64_mask(both_bits, _mm512_set1_epi64(56)) == 0 {
                    let both = _mm512_or_si512(even, _mm512_sllv_epi64(odd, even_bits));
                    put_eight(&mut sink, up, both, both_bits);
                } else {
                    // Alternating: 0 8 1 9 2 10 3 11, then the others.
                    for half in 0..2 {
                        let order = [[0, 8, 1, 9, 2, 10, 3, 11], [4, 12, 5, 13, 6, 14, 7, 15]];
                        let order = Lanes(order[half]).get();
                        let values = _mm512_permutex2var_epi64(even, order, odd);
                        let bits = _mm512_permutex2var_epi64(even_bits, order, odd_bits);
                        put_eight(&mut sink, up, values, bits);
                    }
                }
            }
        }
    }
    sink
}

/// Bytes, each a literal.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn literals(mut sink: Sink, plan: &Plan, bytes: &[u8]) -> Sink {
    let (parts, rest) = bytes.as_chunks::<32>();
    // SAFETY: tables and parts have the vectors that are read; room is the caller's promise.
    unsafe {
        let literals: [__m512i; 8] = std::array::from_fn(|at| codes(&plan.litlen, at));
        let low12 = _mm512_set1_epi16(0xfff);
        let up = up();
        for part in parts {
            let index = _mm512_cvtepu8_epi16(_mm256_loadu_si256(part.as_ptr().cast()));
            let bit6 = _mm512_test_epi16_mask(index, _mm512_set1_epi16(64));
            let bit7 = _mm512_test_epi16_mask(index, _mm512_set1_epi16(128));
            let quarter = [0, 2, 4, 6]
                .map(|at| _mm512_permutex2var_epi16(literals[at], index, literals[at + 1]));
            let low = _mm512_mask_mov_epi16(quarter[0], bit6, quarter[1]);
            let high = _mm512_mask_mov_epi16(quarter[2], bit6, quarter[3]);
            let code = _mm512_mask_mov_epi16(low, bit7, high);
            let (value, bits) = (_mm512_and_si512(code, low12), _mm512_srli_epi16::<12>(code));
            // Two, then four together: at most 48 bits.
            let low16 = splat(0xffff);
            let even_bits = _mm512_and_si512(bits, low16);
            let odd = _mm512_sllv_epi32(_mm512_srli_epi32::<16>(value), even_bits);
            let value = _mm512_or_si512(_mm512_and_si512(value, low16), odd);
            let bits = _mm512_add_epi32(even_bits, _mm512_srli_epi32::<16>(bits));
            let low32 = _mm512_set1_epi64(0xffff_ffff);
            let even_bits = _mm512_and_si512(bits, low32);
            let odd = _mm512_sllv_epi64(_mm512_srli_epi64::<32>(value), even_bits);
            let value = _mm512_or_si512(_mm512_and_si512(value, low32), odd);
            let bits = _mm512_add_epi64(even_bits, _mm512_srli_epi64::<32>(bits));
            put_eight(&mut sink, up, value, bits);
        }
        let codes = plan.litlen.as_flattened();
        for &byte in rest {
            let code = codes[usize::from(byte)];
            sink.put(u64::from(code & 0xfff), u32::from(code >> 12));
        }
    }
    sink
}
