//! Every `stride`-th gram looked up in a table of bits.
//!
//! ```text
//! for at in begin, begin + stride, ... while at < end:
//!     gram := load(hay, at) OR fold
//!     if words[gram * multiplier >> shift] >> (gram AND 31) AND 1: candidate at
//!
//! for at in begin, begin + stride, ... while at < end:                            if probes are of pairs
//!     shared := load(hay, at + 1) OR fold
//!     word := words[shared * multiplier >> shift]
//!     if (word >> (hay[at] AND 31) OR word >> (hay[at + length of a gram] AND 31)) AND 1: candidate at
//! ```
//!
//! Shapes: any bytes and any stride from 1. Preconditions: the loads of 4 or 8 bytes at each position are
//! within the haystack. CPU features: none needed; with BMI2 the shifts by a register take one instruction. Not constant time.
//! Source: the idea is S. Wu and U. Manber's ("A fast algorithm for multi-pattern searching", 1994), with the hashed
//! q-grams of L. Salmela, J. Tarhio and J. Kytojoki (2006) in place of a table of shifts: with all alignments in the
//! table, the distance to the next probe depends on nothing that was loaded, so that probes overlap.
//! Covered by the tests of `literal` and by the bench `literal`.
//!
//! 1. [`BATCH`] probes are ORed before one branch looks at them (`RARE`): a branch for each would cost more than the probe.
//! 2. Where candidates are not rare, a mispredicted branch costs more than a store for each probe: then each position is
//!    stored, and counts if its bit is set.
//! 3. What a probe takes is the load of a word from a table. One for two positions that are neighbours, of all but one byte of
//!    their grams, makes strides longer by one byte, which is a third or half of them where strings are short. It needs twice
//!    the bits. Our own idea, near to the masks by 2 to 7 bytes of Hyperscan's FDR.
//!    A probe takes 3.7 to 4.4 cycles in place of 2.3 to 2.8 on Zen 4; `RARE` would take 6 to 10.
//! 4. No gather: with vectors of 256 bits it takes as long. See `strided_avx512` for 512.

#[cfg(target_arch = "x86_64")]
use super::strided_avx512;
use super::{BitTable, CAPACITY, Candidates, Isa};

/// Probes before one branch.
const BATCH: usize = 8;

/// What the loop holds in registers.
#[derive(Clone, Copy)]
struct Probe {
    words: *const u32,
    shift: u32,
    multiplier: u64,
    fold: u64,
    /// Bytes before the one behind what is hashed.
    behind: usize,
}

impl Probe {
    fn new(table: &BitTable) -> Probe {
        let hashed = table.hashed;
        Probe {
            words: table.words.as_ptr(),
            shift: 8 * hashed.load_len() as u32 - table.bits,
            multiplier: hashed.multiplier(),
            fold: hashed.fold,
            behind: table.grams.len,
        }
    }

    /// Bit 0 is the answer; above it is anything.
    ///
    /// # Safety
    /// As many bytes as [`reach`] says can be read at `at`.
    #[inline(always)]
    unsafe fn at<const WIDE: bool, const FOLD: bool, const PAIRS: bool>(
        &self,
        at: *const u8,
    ) -> u32 {
        // SAFETY: the caller's.
        let from = unsafe { at.add(usize::from(PAIRS)) };
        let (word, low) = if WIDE {
            // SAFETY: the caller's.
            let mut hashed = unsafe { from.cast::<u64>().read_unaligned() };
            if FOLD {
                hashed |= self.fold;
            }
            let product = hashed.wrapping_mul(self.multiplier);
            ((product >> (self.shift & 63)) as usize, hashed as u32)
        } else {
            // SAFETY: the caller's.
            let mut hashed = unsafe { from.cast::<u32>().read_unaligned() };
            if FOLD {
                hashed |= self.fold as u32;
            }
            let product = hashed.wrapping_mul(self.multiplier as u32);
            ((product >> (self.shift & 31)) as usize, hashed)
        };
        // SAFETY: the shift leaves as many bits as the table's length has.
        let word = unsafe { *self.words.add(word) };
        if !PAIRS {
            return word.wrapping_shr(low);
        }
        // Loads, not shifts of one: of these there are more already.
        // SAFETY: the caller's.
        let [before, behind] = unsafe { [*at, *at.add(self.behind)] };
        word.wrapping_shr(before.into()) | word.wrapping_shr(behind.into())
    }
}

/// Bytes at a position that a probe of a table loads.
fn reach(table: &BitTable) -> usize {
    match table.pairs {
        true => (1 + table.hashed.load_len()).max(table.grams.len + 1),
        false => table.hashed.load_len(),
    }
}

/// Returns where it ended: the first probe at `end` or above.
///
/// # Safety
/// All probes below `end` can be made, and there are at most [`CAPACITY`] of them.
#[inline(always)]
unsafe fn run<
    const STRIDE: usize,
    const WIDE: bool,
    const FOLD: bool,
    const PAIRS: bool,
    const RARE: bool,
>(
    (table, hay, begin, end): Arguments<'_>,
    out: &mut Candidates,
) -> usize {
    let stride = if STRIDE == 0 { table.stride } else { STRIDE };
    let probe = Probe::new(table);
    let hay = hay.as_ptr();
    let mut at = begin;
    // In a register: what is stored might be `out.len`, as far as the compiler knows.
    let mut len = out.len;
    while at + (BATCH - 1) * stride < end {
        // SAFETY: the last probe of the batch is below `end`.
        let base = unsafe { hay.add(at) };
        if RARE {
            let mut any = 0;
            for i in 0..BATCH {
                // SAFETY: as above.
                any |= unsafe { probe.at::<WIDE, FOLD, PAIRS>(base.add(i * stride)) };
            }
            if any & 1 != 0 {
                let position = (at - begin) as u32;
                // SAFETY: as above.
                len = unsafe {
                    again::<WIDE, FOLD, PAIRS>(&probe, base, stride, position, (out, len))
                };
            }
        } else {
            for i in 0..BATCH {
                // SAFETY: as above.
                unsafe {
                    let real = probe.at::<WIDE, FOLD, PAIRS>(base.add(i * stride)) & 1 != 0;
                    len = out.put(len, (at - begin + i * stride) as u32, real);
                }
            }
        }
        at += BATCH * stride;
    }
    while at < end {
        // SAFETY: `at` is below `end`.
        unsafe {
            let real = probe.at::<WIDE, FOLD, PAIRS>(hay.add(at)) & 1 != 0;
            len = out.put(len, (at - begin) as u32, real);
        }
        at += stride;
    }
    out.len = len;
    at
}

/// A batch with a candidate, probe by probe. With how many candidates there are, and will be.
///
/// # Safety
/// As [`run`].
#[inline(never)]
unsafe fn again<const WIDE: bool, const FOLD: bool, const PAIRS: bool>(
    probe: &Probe,
    base: *const u8,
    stride: usize,
    at: u32,
    (out, mut len): (&mut Candidates, usize),
) -> usize {
    for i in 0..BATCH {
        // SAFETY: the caller's.
        unsafe {
            let real = probe.at::<WIDE, FOLD, PAIRS>(base.add(i * stride)) & 1 != 0;
            len = out.put(len, at + (i * stride) as u32, real);
        }
    }
    len
}

/// Calls `$run` with what is known of a group as constants.
macro_rules! choose {
    ($run:ident, $stride:literal, $all:ident, $out:ident, $what:ident) => {
        choose!(@ $run, $stride, $all, $out, $what: (false false) (false true) (true false) (true true))
    };
    (@ $run:ident, $stride:literal, $all:ident, $out:ident, $what:ident: $(($wide:tt $fold:tt))*) => {
        match $what {
            $(
                [$wide, $fold, false, false] => $run::<$stride, $wide, $fold, false, false>($all, $out),
                [$wide, $fold, false, true] => $run::<$stride, $wide, $fold, false, true>($all, $out),
                [$wide, $fold, true, _] => $run::<$stride, $wide, $fold, true, false>($all, $out),
            )*
        }
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! run_bmi2 {
    ($($argument:tt)*) => { choose!(run_bmi2, $($argument)*) };
}

/// The table, the haystack, and the begin and end of the positions.
type Arguments<'a> = (&'a BitTable, &'a [u8], usize, usize);

/// # Safety
/// As [`run`], and the CPU has the features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run_bmi2<
    const STRIDE: usize,
    const WIDE: bool,
    const FOLD: bool,
    const PAIRS: bool,
    const RARE: bool,
>(
    all: Arguments<'_>,
    out: &mut Candidates,
) -> usize {
    // SAFETY: the caller's.
    unsafe { run::<STRIDE, WIDE, FOLD, PAIRS, RARE>(all, out) }
}

/// Adds the candidates among the probes at `begin`, `begin + stride`, ... below `end`, relative to `begin`. Returns the first
/// of these positions at which none was made: it is `end` or above, or no gram can be loaded there.
#[inline(always)]
pub(crate) fn strided(
    isa: Isa,
    (table, rare): (&BitTable, bool),
    hay: &[u8],
    (begin, end): (usize, usize),
    out: &mut Candidates,
) -> usize {
    let stride = table.stride;
    #[cfg(target_arch = "x86_64")]
    if let (Isa::Avx512(token), Some(lanes)) = (isa, &table.lanes) {
        let end = end.min((hay.len() + 1).saturating_sub(table.grams.len));
        if begin >= end {
            return begin;
        }
        strided_avx512::strided(token, (table, lanes), hay, (begin, end), out);
        return begin + (end - begin).div_ceil(stride) * stride;
    }
    // What is loaded at `end - 1` ends with the haystack at the latest.
    let end = end.min((hay.len() + 1).saturating_sub(reach(table)));
    if begin >= end {
        return begin;
    }
    // Of probes there are CAPACITY at most. No division: it would take as long as twenty probes.
    assert!(end - begin <= (CAPACITY - out.len) * stride);
    let what = [table.hashed.wide(), table.grams.fold != 0, table.pairs, rare];
    let all = (table, hay, begin, end);
    match isa {
        // SAFETY: the token proves the features; `end` and the number of positions were checked above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(_) | Isa::Avx2(_) => unsafe {
            match stride {
                1 => run_bmi2!(1, all, out, what),
                2 => run_bmi2!(2, all, out, what),
                3 => run_bmi2!(3, all, out, what),
                4 => run_bmi2!(4, all, out, what),
                5 => run_bmi2!(5, all, out, what),
                6 => run_bmi2!(6, all, out, what),
                7 => run_bmi2!(7, all, out, what),
                8 => run_bmi2!(8, all, out, what),
                _ => run_bmi2!(0, all, out, what),
            }
        },
        // SAFETY: `end` and the number of positions were checked above.
        _ => unsafe { choose!(run, 0, all, out, what) },
    }
}
