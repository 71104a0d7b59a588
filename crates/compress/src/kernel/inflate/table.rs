//! Code tables: what a set of code lengths decodes to (RFC 1951 section 3.2.2).
//!
//! Entries are 32 bits, so that one load tells everything about up to two symbols. Litlen:
//!
//! | bits | |
//! |---|---|
//! | 0..6 | bits to take: codes, and the extra bits of a length |
//! | 8..16 | the first literal |
//! | 16..24 | the second literal, or the length's base less 3 |
//! | 24..29 | bits before the extra bits; without a length 0 |
//! | 29 | [`LENGTH`]: a length, after the literal if there is one |
//! | 30..32 | how many literals: 0, 1 or 2 |
//!
//! Distance: bits to take (0..6), bits before the extra bits (8..13), base (16..31).
//!
//! What has no place in a table is [`RARE`], or of distances 0: a code longer than what indexes the
//! table, the end of the block, a code without meaning. The loop finds it by what it looks for
//! anyway: a length beyond any short copy, a distance shorter than the length.

use lookaside_simd::{Avx2, Avx512, Cpu};

use super::super::symbols::{LENGTHS, OFFSETS};

use super::Fault;

/// What making tables may use.
#[derive(Clone, Copy, Debug)]
pub(super) enum Simd {
    None,
    Avx2(Avx2),
    Avx512(Avx512),
}

impl Simd {
    pub(super) fn of(cpu: &Cpu) -> Simd {
        match (cpu.avx512(), cpu.avx2()) {
            (Some(token), _) => Simd::Avx512(token),
            (_, Some(token)) => Simd::Avx2(token),
            _ => Simd::None,
        }
    }

    /// At least AVX2, and BMI2 with it?
    pub(super) fn any(self) -> bool {
        !matches!(self, Simd::None)
    }
}

/// Longest code.
pub(super) const MAX_BITS: usize = 15;
/// What indexes the litlen table: fewer bits where there is less to decode, so that making the
/// table costs less (`fast::litlen_bits`; not even so many where all codes are short).
pub(super) const LEAST_LITLEN_BITS: usize = 8;
pub(super) const MOST_LITLEN_BITS: usize = 12;
/// All of the fixed codes; no two of them fit in less than 14 bits.
pub(super) const FIXED_LITLEN_BITS: usize = 9;
/// What indexes the distance table.
pub(super) const DISTANCE_BITS: usize = 9;
/// Some more: what making a table may write too much.
pub(super) const LITLEN_ENTRIES: usize = (1 << MOST_LITLEN_BITS) + 8;
pub(super) const DISTANCE_ENTRIES: usize = (1 << DISTANCE_BITS) + 8;

pub(super) const LENGTH: u32 = 1 << 29;
/// The bits before its extra bits are too many for a pair.
pub(super) const RARE: u32 = LENGTH | 31 << 24 | 255 << 16;
const LITERAL: u32 = 1 << 30;

/// The most codes there are: fixed litlen codes, with the two that mean nothing.
pub(super) const LITLENS: usize = 288;
pub(super) const DISTANCES: usize = 32;

/// The codes of one alphabet in canonical order: for one symbol at a time, bit by bit, and what
/// tables are made from.
#[derive(Clone, Copy)]
pub(super) struct Canon<const N: usize> {
    /// How many codes of each length.
    counts: [u16; MAX_BITS + 1],
    /// By length, then by value: first those without a code.
    symbols: [u16; N],
}

/// What [`Canon::find`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A symbol, and its bits.
    Symbol(u16, u32),
    /// No code starts with this bit: it is taken.
    Nothing,
    /// More bits are needed.
    Short,
}

impl<const N: usize> Canon<N> {
    pub(super) const fn empty() -> Canon<N> {
        Canon { counts: [0; MAX_BITS + 1], symbols: [0; N] }
    }

    /// Sorts the symbols by their code lengths. `false` if they are no code: more codes than there
    /// can be, or fewer, but for none at all and (`lone`) a single one of one bit.
    pub(super) fn set(&mut self, lengths: &[u8], lone: bool) -> bool {
        // Four runs side by side: equal lengths stand together, and each count waits for the last.
        let quarter = lengths.len().div_ceil(4);
        let runs: [&[u8]; 4] = std::array::from_fn(|run| {
            &lengths[(run * quarter).min(lengths.len())..((run + 1) * quarter).min(lengths.len())]
        });
        let mut parts = [[0u16; MAX_BITS + 1]; 4];
        let least = runs[3].len();
        for at in 0..least {
            for (part, run) in parts.iter_mut().zip(runs) {
                part[usize::from(run[at] & 15)] += 1;
            }
        }
        for (part, run) in parts.iter_mut().zip(runs) {
            for &length in &run[least..] {
                part[usize::from(length & 15)] += 1;
            }
        }
        let counts: [u16; MAX_BITS + 1] =
            std::array::from_fn(|length| parts.iter().map(|part| part[length]).sum());
        let (mut left, mut max) = (1i32, 0);
        for (length, &count) in counts.iter().enumerate().skip(1) {
            left = (left << 1) - i32::from(count);
            if left < 0 {
                return false;
            }
            if count != 0 {
                max = length;
            }
        }
        if left > 0 && max != 0 && !(lone && max == 1) {
            return false;
        }
        // Counts become places.
        let mut used = 0;
        for length in 0..=MAX_BITS {
            for part in &mut parts {
                used += std::mem::replace(&mut part[length], used);
            }
        }
        // Those without a code too: a branch on that is hard to foretell.
        let mut place = |part: &mut [u16; MAX_BITS + 1], length: u8, symbol: usize| {
            let start = &mut part[usize::from(length & 15)];
            if let Some(slot) = self.symbols.get_mut(usize::from(*start)) {
                *slot = symbol as u16;
            }
            *start += 1;
        };
        for at in 0..least {
            for (number, (part, run)) in parts.iter_mut().zip(runs).enumerate() {
                place(part, run[at], number * quarter + at);
            }
        }
        for (number, (part, run)) in parts.iter_mut().zip(runs).enumerate() {
            for (at, &length) in run.iter().enumerate().skip(least) {
                place(part, length, number * quarter + at);
            }
        }
        self.counts = counts;
        true
    }

    /// The symbols that have a code, by length, then by value.
    fn coded(&self) -> &[u16] {
        let without = usize::from(self.counts[0]);
        let with: usize = self.counts[1..].iter().map(|&count| usize::from(count)).sum();
        &self.symbols[without..][..with]
    }

    /// The length of the longest code, or 0.
    pub(super) fn longest(&self) -> usize {
        (1..=MAX_BITS).rev().find(|&length| self.counts[length] != 0).unwrap_or(0)
    }

    /// How much of the code space, of 1 << 15, have codes of up to so many bits; and how much have
    /// the literals of just so many bits.
    pub(super) fn shares(&self) -> ([u64; MAX_BITS + 1], [u64; MAX_BITS + 1]) {
        let mut codes = [0; MAX_BITS + 1];
        let mut literals = [0; MAX_BITS + 1];
        let mut symbols = self.coded();
        for length in 1..=MAX_BITS {
            let (these, others) = symbols.split_at(self.counts[length].into());
            symbols = others;
            let rest = these.iter().rev().take_while(|&&symbol| symbol > 255).count();
            codes[length] = codes[length - 1] + ((these.len() as u64) << (MAX_BITS - length));
            literals[length] = ((these.len() - rest) as u64) << (MAX_BITS - length);
        }
        (codes, literals)
    }

    /// The symbol at the start of `bits`, of which `have` are real.
    pub(super) fn find(&self, mut bits: u64, have: u32) -> Found {
        let (mut code, mut first, mut index) = (0u32, 0u32, 0u32);
        let without = u32::from(self.counts[0]);
        for length in 1..=MAX_BITS {
            if length as u32 > have {
                return Found::Short;
            }
            code |= (bits & 1) as u32;
            bits >>= 1;
            let count = u32::from(self.counts[length]);
            if code < first + count {
                let at = (without + index + code - first) as usize;
                return Found::Symbol(self.symbols[at % N], length as u32);
            }
            if length == 1 && index + count <= 1 && self.counts[2..].iter().all(|&c| c == 0) {
                return Found::Nothing;
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        Found::Nothing
    }
}

/// The entry of a litlen symbol whose code has `bits` bits.
pub(super) fn litlen_entry(symbol: u16, bits: u32) -> u32 {
    match symbol {
        0..=255 => bits | LITERAL | u32::from(symbol) << 8,
        257..=285 => {
            let (base, extra) = LENGTHS[usize::from(symbol) - 257];
            (bits + u32::from(extra)) | u32::from(base - 3) << 16 | bits << 24 | LENGTH
        }
        _ => RARE,
    }
}

pub(super) fn distance_entry(symbol: u16, bits: u32) -> u32 {
    match OFFSETS.get(usize::from(symbol)) {
        Some(&(base, extra)) => (bits + u32::from(extra)) | bits << 8 | u32::from(base) << 16,
        None => 0,
    }
}

/// A code as the stream has it: the first bit lowest.
fn reversed(code: usize, length: usize) -> usize {
    usize::from((code as u16).reverse_bits()) >> (16 - length)
}

/// Copies the first half of a table of `2 * half` entries to its second. Writes up to seven more.
fn double(table: &mut [u32], half: usize) {
    assert!(2 * half + 7 <= table.len());
    let (from, to) = (table.as_ptr(), table[half..].as_mut_ptr());
    let mut at = 0;
    while at < half {
        // SAFETY: as the assertion says. Where `half` is less than eight, what is read too much may
        // be of no use, but is initialised: who calls has filled eight entries before.
        unsafe { to.add(at).cast::<[u32; 8]>().write(from.add(at).cast::<[u32; 8]>().read()) };
        at += 8;
    }
}

/// Fills what `root` bits index of `table` from `canon`; room for seven more is needed. `entry`
/// makes one of a symbol and how many bits its code has; `rare` is that of all that is no code, or a
/// longer one.
fn fill<const N: usize>(
    canon: &Canon<N>,
    table: &mut [u32],
    root: usize,
    rare: u32,
    entry: impl Fn(u16, u32) -> u32,
) {
    let symbols = canon.coded();
    let max = canon.longest();
    if max <= 1 && canon.counts[1] < 2 {
        // Nothing, or a single code: the rest means nothing.
        table[..1 << root].fill(rare);
        if let [only] = symbols {
            let only = entry(*only, 1);
            table[..1 << root].iter_mut().step_by(2).for_each(|slot| *slot = only);
        }
        return;
    }
    table[..8].fill(rare);
    let mut symbols = symbols.iter();
    let mut code = 0usize;
    // The table grows by doubling: up to `length` bits, entries are all there is.
    for length in 1..=root {
        if code > 0 {
            double(table, 1 << (length - 1));
        }
        code <<= 1;
        for &symbol in symbols.by_ref().take(canon.counts[length].into()) {
            table[reversed(code, length)] = entry(symbol, length as u32);
            code += 1;
        }
    }
    // The code being complete, what is left are the prefixes of longer ones.
    for prefix in code..1 << root {
        table[reversed(prefix, root)] = rare;
    }
}

/// The litlen table of `canon`, one symbol in each entry.
pub(super) fn litlen(canon: &Canon<LITLENS>, table: &mut [u32; LITLEN_ENTRIES], bits: usize) {
    fill(canon, table, bits, RARE, litlen_entry);
}

/// The distance table of `canon`.
pub(super) fn distance(canon: &Canon<DISTANCES>, table: &mut [u32; DISTANCE_ENTRIES]) {
    fill(canon, table, DISTANCE_BITS, 0, distance_entry);
}

/// What an entry is to one without a match before it: how many bits it takes (0..6), and how many
/// literals it has (6..8). 0 where there is more to it than literals.
fn plain(entry: u32) -> u8 {
    if entry & LENGTH == 0 { (entry & 63 | entry >> 24 & 0xc0) as u8 } else { 0 }
}

/// Makes `plains` ([`plain`]) of the litlen table. Before that, where it `pairs`, puts a second
/// symbol, a literal or a length, into entries of one literal where both codes fit.
pub(super) fn finish(
    table: &mut [u32; LITLEN_ENTRIES],
    plains: &mut [u8; LITLEN_ENTRIES],
    root: usize,
    pairs: bool,
    simd: Simd,
) {
    #[cfg(target_arch = "x86_64")]
    match simd {
        // SAFETY: the tokens prove the features.
        Simd::Avx512(_) if pairs => return unsafe { finish_avx512(table, plains, root) },
        // SAFETY: as above.
        Simd::Avx2(_) if pairs => return unsafe { finish_avx2(table, plains, root) },
        _ => {}
    }
    let _ = simd;
    // What follows is at a lower index, but for index 0, which is its own successor: going down,
    // successors still are single.
    for index in (0..1 << root).rev() {
        let first = table[index];
        let bits = first & 63;
        let second = table[index >> (bits & 15)];
        let code = if second & LENGTH != 0 { second >> 24 & 31 } else { second & 63 };
        if pairs && first & LENGTH == 0 && bits + code <= root as u32 {
            table[index] = if second & LENGTH != 0 {
                first + second + (bits << 24)
            } else {
                first + LITERAL + ((second & 0xff00) << 8) + (second & 63)
            };
        }
        plains[index] = plain(table[index]);
    }
}

/// The same for eight entries at a time: all are read before any is written.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn finish_avx2(table: &mut [u32; LITLEN_ENTRIES], plains: &mut [u8; LITLEN_ENTRIES], root: usize) {
    use std::arch::x86_64::*;
    let all = |value: u32| _mm256_set1_epi32(value as i32);
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    // The lowest byte of each entry.
    let bytes = _mm256_set1_epi32(0x0c08_0400);
    for start in (0..1 << root).step_by(8).rev() {
        let place = table[start..start + 8].as_mut_ptr().cast::<__m256i>();
        // SAFETY: eight entries are there; indices are below `start + 8`.
        let (first, second) = unsafe {
            let first = _mm256_loadu_si256(place);
            let index = _mm256_add_epi32(lanes, all(start as u32));
            let index = _mm256_srlv_epi32(index, _mm256_and_si256(first, all(63)));
            (first, _mm256_i32gather_epi32::<4>(table.as_ptr().cast(), index))
        };
        let bits = _mm256_and_si256(first, all(63));
        let more = _mm256_and_si256(second, all(63));
        let is_length = _mm256_srai_epi32::<31>(_mm256_slli_epi32::<2>(second));
        let before_extra = _mm256_and_si256(_mm256_srli_epi32::<24>(second), all(31));
        let code = _mm256_add_epi32(bits, _mm256_blendv_epi8(more, before_extra, is_length));
        let with_length = _mm256_add_epi32(second, _mm256_slli_epi32::<24>(bits));
        let literal = _mm256_slli_epi32::<8>(_mm256_and_si256(second, all(0xff00)));
        let with_literal = _mm256_add_epi32(_mm256_or_si256(literal, all(LITERAL)), more);
        let added = _mm256_blendv_epi8(with_literal, with_length, is_length);
        // Where the first is a literal, and both fit.
        let too_long = _mm256_sub_epi32(all(root as u32), code);
        let refused = _mm256_or_si256(_mm256_slli_epi32::<2>(first), too_long);
        let refused = _mm256_srai_epi32::<31>(refused);
        let paired = _mm256_add_epi32(first, _mm256_andnot_si256(refused, added));
        let count = _mm256_srli_epi32::<24>(_mm256_and_si256(paired, all(3 << 30)));
        let alone = _mm256_or_si256(_mm256_and_si256(paired, all(63)), count);
        let has_length = _mm256_srai_epi32::<31>(_mm256_slli_epi32::<2>(paired));
        let alone = _mm256_shuffle_epi8(_mm256_andnot_si256(has_length, alone), bytes);
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(place, paired) };
        let halves = [_mm256_extract_epi32::<0>(alone), _mm256_extract_epi32::<4>(alone)];
        plains[start..start + 4].copy_from_slice(&halves[0].to_le_bytes());
        plains[start + 4..start + 8].copy_from_slice(&halves[1].to_le_bytes());
    }
}

/// The same for sixteen.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn finish_avx512(
    table: &mut [u32; LITLEN_ENTRIES],
    plains: &mut [u8; LITLEN_ENTRIES],
    root: usize,
) {
    use std::arch::x86_64::*;
    let all = |value: u32| _mm512_set1_epi32(value as i32);
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for start in (0..1 << root).step_by(16).rev() {
        let place = table[start..start + 16].as_mut_ptr().cast::<i32>();
        // SAFETY: sixteen entries are there; indices are below `start + 16`.
        let (first, second) = unsafe {
            let first = _mm512_loadu_si512(place.cast());
            let index = _mm512_add_epi32(lanes, all(start as u32));
            let index = _mm512_srlv_epi32(index, _mm512_and_si512(first, all(63)));
            (first, _mm512_i32gather_epi32::<4>(index, table.as_ptr().cast()))
        };
        let bits = _mm512_and_si512(first, all(63));
        let more = _mm512_and_si512(second, all(63));
        let is_length = _mm512_test_epi32_mask(second, all(LENGTH));
        let before_extra = _mm512_and_si512(_mm512_srli_epi32::<24>(second), all(31));
        let code = _mm512_add_epi32(bits, _mm512_mask_mov_epi32(more, is_length, before_extra));
        let with_length = _mm512_add_epi32(second, _mm512_slli_epi32::<24>(bits));
        let literal = _mm512_slli_epi32::<8>(_mm512_and_si512(second, all(0xff00)));
        let with_literal = _mm512_add_epi32(_mm512_or_si512(literal, all(LITERAL)), more);
        let added = _mm512_mask_mov_epi32(with_literal, is_length, with_length);
        // Where the first is a literal, and both fit.
        let fits = _mm512_cmple_epu32_mask(code, all(root as u32));
        let both = _mm512_mask_testn_epi32_mask(fits, first, all(LENGTH));
        let paired = _mm512_mask_add_epi32(first, both, first, added);
        let count = _mm512_srli_epi32::<24>(_mm512_and_si512(paired, all(3 << 30)));
        let alone = _mm512_or_si512(_mm512_and_si512(paired, all(63)), count);
        let literals = _mm512_testn_epi32_mask(paired, all(LENGTH));
        let alone = _mm512_cvtepi32_epi8(_mm512_maskz_mov_epi32(literals, alone));
        let alone_place = plains[start..start + 16].as_mut_ptr().cast::<__m128i>();
        // SAFETY: as above.
        unsafe {
            _mm512_storeu_si512(place.cast(), paired);
            _mm_storeu_si128(alone_place, alone);
        }
    }
}

/// A table of code length codes: the symbol above three bits for how many bits it takes.
pub(super) fn lengths(canon: &Canon<19>, table: &mut [u8; 128]) {
    let mut entries = [0; 128 + 8];
    // What means nothing reads as 0, with one bit: so zlib.
    fill(canon, &mut entries, 7, 1, |symbol, bits| u32::from(symbol) << 3 | bits);
    for (to, from) in table.iter_mut().zip(entries) {
        *to = from as u8;
    }
}

/// Bits that `zlib` would index a table of code length codes with, and the entries it would use:
/// the sum is what `inflateCodesUsed` tells.
pub(super) fn zlib_entries<const N: usize>(canon: &Canon<N>, root: usize) -> u32 {
    let max = Some(canon.longest()).filter(|&max| max > 0);
    let min = (1..=MAX_BITS).find(|&length| canon.counts[length] != 0);
    let (Some(max), Some(min)) = (max, min) else { return 2 };
    let root = root.clamp(min, max);
    let mut counts = canon.counts;
    let mut used = 1u32 << root;
    let (mut code, mut prefix) = (0usize, usize::MAX);
    for length in min..=max {
        for _ in 0..canon.counts[length] {
            // `code` counts in canonical order here: its top `root` bits are the prefix.
            if length > root && code >> (length - root) != prefix {
                prefix = code >> (length - root);
                let mut bits = length - root;
                let mut left = 1i32 << bits;
                while bits + root < max {
                    left -= i32::from(counts[bits + root]);
                    if left <= 0 {
                        break;
                    }
                    bits += 1;
                    left <<= 1;
                }
                used += 1 << bits;
            }
            counts[length] -= 1;
            code += 1;
        }
        code <<= 1;
    }
    used
}

/// Both alphabets of a block.
pub(super) fn read_sets(
    lengths: &[u8],
    litlens: usize,
    litlen: &mut Canon<LITLENS>,
    distance: &mut Canon<DISTANCES>,
) -> Result<(), Fault> {
    let (first, second) = lengths.split_at(litlens);
    if first.get(256).is_none_or(|&length| length == 0) {
        return Err(Fault::NoEndOfBlock);
    }
    if !litlen.set(first, true) {
        return Err(Fault::LitlenSet);
    }
    if !distance.set(second, true) {
        return Err(Fault::DistanceSet);
    }
    Ok(())
}
