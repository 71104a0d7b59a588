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

use lookaside_simd::Avx2;

use super::Fault;

/// Longest code.
pub(super) const MAX_BITS: usize = 15;
/// What indexes the litlen table: fewer bits where there is less to decode, so that making the
/// table costs less.
pub(super) const LEAST_LITLEN_BITS: usize = 10;
pub(super) const MOST_LITLEN_BITS: usize = 12;
/// No two of the fixed codes fit in less than 14 bits: pairs would be rare.
pub(super) const FIXED_LITLEN_BITS: usize = 10;
/// What indexes the distance table.
pub(super) const DISTANCE_BITS: usize = 9;
pub(super) const LITLEN_ENTRIES: usize = 1 << MOST_LITLEN_BITS;
pub(super) const DISTANCE_ENTRIES: usize = 1 << DISTANCE_BITS;

pub(super) const LENGTH: u32 = 1 << 29;
/// The bits before its extra bits are too many for a pair.
pub(super) const RARE: u32 = LENGTH | 31 << 24 | 255 << 16;
const LITERAL: u32 = 1 << 30;

/// The most codes there are: fixed litlen codes, with the two that mean nothing.
pub(super) const LITLENS: usize = 288;
pub(super) const DISTANCES: usize = 32;

/// (base, extra bits) of length symbols 257..=285.
pub(super) const LENGTHS: [(u16, u8); 29] = {
    let mut table = [(0, 0); 29];
    let (mut symbol, mut base) = (0, 3);
    while symbol < 28 {
        let extra = if symbol < 8 { 0 } else { symbol as u8 / 4 - 1 };
        table[symbol] = (base, extra);
        base += 1 << extra;
        symbol += 1;
    }
    table[28] = (258, 0);
    table
};

/// (base, extra bits) of distance symbols 0..=29.
pub(super) const OFFSETS: [(u16, u8); 30] = {
    let mut table = [(0, 0); 30];
    let (mut symbol, mut base) = (0, 1);
    while symbol < 30 {
        let extra = if symbol < 4 { 0 } else { symbol as u8 / 2 - 1 };
        table[symbol] = (base, extra);
        base += 1 << extra;
        symbol += 1;
    }
    table
};

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
        // Four histograms: equal lengths stand together, and each count would wait for the last.
        let mut parts = [[0u16; MAX_BITS + 1]; 4];
        for (at, &length) in lengths.iter().enumerate() {
            parts[at & 3][usize::from(length & 15)] += 1;
        }
        let counts: [u16; MAX_BITS + 1] =
            std::array::from_fn(|length| parts.iter().map(|part| part[length]).sum());
        let mut starts = [0u16; MAX_BITS + 1];
        let (mut left, mut used, mut max) = (1i32, counts[0], 0);
        for length in 1..=MAX_BITS {
            left = (left << 1) - i32::from(counts[length]);
            if left < 0 {
                return false;
            }
            starts[length] = used;
            used += counts[length];
            if counts[length] != 0 {
                max = length;
            }
        }
        if left > 0 && max != 0 && !(lone && max == 1) {
            return false;
        }
        // Those without a code too: a branch on that is hard to foretell.
        for (symbol, &length) in lengths.iter().enumerate() {
            let start = &mut starts[usize::from(length & 15)];
            if let Some(slot) = self.symbols.get_mut(usize::from(*start)) {
                *slot = symbol as u16;
            }
            *start += 1;
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

/// Adds one to a code as the stream has it, the first bit lowest: the highest zero bit becomes one,
/// those above it zero. 0 after the last one.
fn next(code: usize, length: usize) -> usize {
    match code ^ ((1 << length) - 1) {
        0 => 0,
        zeros => {
            let bit = 1 << zeros.ilog2();
            code & (bit - 1) | bit
        }
    }
}

/// Fills what `root` bits index of `table` from `canon`. `entry` makes one of a symbol and how many
/// bits its code has; `rare` is that of all that is no code, or a longer one.
fn fill<const N: usize>(
    canon: &Canon<N>,
    table: &mut [u32],
    root: usize,
    rare: u32,
    entry: impl Fn(u16, u32) -> u32,
) {
    let symbols = canon.coded();
    let max = (1..=MAX_BITS).rev().find(|&length| canon.counts[length] != 0).unwrap_or(0);
    if max <= 1 && canon.counts[1] < 2 {
        // Nothing, or a single code: the rest means nothing.
        table[..1 << root].fill(rare);
        if let [only] = symbols {
            let only = entry(*only, 1);
            table[..1 << root].iter_mut().step_by(2).for_each(|slot| *slot = only);
        }
        return;
    }
    let mut symbols = symbols.iter();
    let mut code = 0usize;
    // The table grows by doubling: up to `length` bits, entries are all there is.
    let first = (1..=max).find(|&length| canon.counts[length] != 0).unwrap_or(max).min(root);
    for length in first..=root {
        if length > first {
            let (low, high) = table.split_at_mut(1 << (length - 1));
            high[..low.len()].copy_from_slice(low);
        }
        for &symbol in symbols.by_ref().take(canon.counts[length].into()) {
            table[code] = entry(symbol, length as u32);
            code = next(code, length);
        }
    }
    // The code being complete, what is left are the prefixes of longer ones.
    while max > root && code != 0 {
        table[code] = rare;
        code = next(code, root);
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

/// Puts a second symbol, a literal or a length, into entries of one literal where both codes fit.
pub(super) fn pair(table: &mut [u32; LITLEN_ENTRIES], root: usize, avx2: Option<Avx2>) {
    #[cfg(target_arch = "x86_64")]
    if avx2.is_some() {
        // SAFETY: the token proves the features.
        return unsafe { pair_avx2(table, root) };
    }
    let _ = avx2;
    // What follows is at a lower index, but for index 0, which is its own successor: going down,
    // successors still are single.
    for index in (0..1 << root).rev() {
        let first = table[index];
        let bits = first & 63;
        let second = table[index >> (bits & 15)];
        let code = if second & LENGTH != 0 { second >> 24 & 31 } else { second & 63 };
        if first & LENGTH == 0 && bits + code <= root as u32 {
            table[index] = if second & LENGTH != 0 {
                first + second + (bits << 24)
            } else {
                first + LITERAL + ((second & 0xff00) << 8) + (second & 63)
            };
        }
    }
}

/// The same for eight entries at a time: all are read before any is written.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn pair_avx2(table: &mut [u32; LITLEN_ENTRIES], root: usize) {
    use std::arch::x86_64::*;
    let all = |value: u32| _mm256_set1_epi32(value as i32);
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
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
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(place, paired) };
    }
}

/// What an entry is to one without a match before it: how many bits it takes (0..6), and how many
/// literals it has (6..8). 0 where there is more to it than literals.
pub(super) fn plain(
    table: &[u32; LITLEN_ENTRIES],
    plain: &mut [u8; LITLEN_ENTRIES],
    root: usize,
    avx2: Option<Avx2>,
) {
    #[cfg(target_arch = "x86_64")]
    if avx2.is_some() {
        // SAFETY: the token proves the features.
        return unsafe { plain_avx2(table, plain, root) };
    }
    let _ = avx2;
    plain_any(table, plain, root);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn plain_avx2(table: &[u32; LITLEN_ENTRIES], plain: &mut [u8; LITLEN_ENTRIES], root: usize) {
    plain_any(table, plain, root);
}

#[inline(always)]
fn plain_any(table: &[u32; LITLEN_ENTRIES], plain: &mut [u8; LITLEN_ENTRIES], root: usize) {
    for (entry, plain) in table[..1 << root].iter().zip(&mut plain[..1 << root]) {
        let all = (entry & 63 | entry >> 24 & 0xc0) as u8;
        *plain = if entry & LENGTH == 0 { all } else { 0 };
    }
}

/// A table of code length codes: the symbol above three bits for how many bits it takes.
pub(super) fn lengths(canon: &Canon<19>, table: &mut [u8; 128]) {
    let mut entries = [0; 128];
    // What means nothing reads as 0, with one bit: so zlib.
    fill(canon, &mut entries, 7, 1, |symbol, bits| u32::from(symbol) << 3 | bits);
    for (to, from) in table.iter_mut().zip(entries) {
        *to = from as u8;
    }
}

/// Bits that `zlib` would index a table of code length codes with, and the entries it would use:
/// the sum is what `inflateCodesUsed` tells.
pub(super) fn zlib_entries<const N: usize>(canon: &Canon<N>, root: usize) -> u32 {
    let max = (1..=MAX_BITS).rev().find(|&length| canon.counts[length] != 0);
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

/// The code lengths of RFC 1951 section 3.2.6.
pub(super) fn fixed_lengths() -> ([u8; LITLENS], [u8; DISTANCES]) {
    let mut lengths = [8; LITLENS];
    lengths[144..256].fill(9);
    lengths[256..280].fill(7);
    (lengths, [5; DISTANCES])
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
