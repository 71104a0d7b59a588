//! Products and reductions of blocks of up to 20 digits, all sums in registers.
//!
//! A block is B digits of one factor times B digits of the other. It goes row by row: B + 1 columns
//! are in registers, a row adds a digit times B digits to them, then the lowest column is done and
//! the next one comes in. So two multiplications cost one load, and the columns are independent
//! chains, long enough for the latency of the multiplier.
//!
//! Reduction. With n folded = (n k0 + 1) / 2^52, where n k0 = -1 mod 2^52, a number t + 2^52 u is
//! congruent to 2^52 (u + t folded): the quotient digit is the lowest digit itself, and nothing has
//! to be multiplied before it is known. But each digit so reduced leaves up to 2^52 n, not n, so
//! that the last ones are reduced with n and k0 as Montgomery did.
//!
//! Constant time: loops run over public lengths only.

use super::digit::{BITS, Digit};
use crate::lanes::{Lanes, Portable};

/// Rows between two turns of a loop, where the columns change registers. Divides every block.
pub(super) const ROWS: usize = 5;

/// The longest block: 21 columns, a row factor and loaded digits fit in 32 registers.
pub(super) const MAX_BLOCK: usize = 20;

/// The body for J = 0, 1, ... below a bound of up to 20. Where `L::UNROLL`, J is a constant in each:
/// the compiler then keeps in registers what J indexes, which it does not where it would have to
/// unroll a loop.
macro_rules! unrolled {
    ($bound:expr, $j:ident => $body:expr) => {
        unrolled!(@ $bound, $j => $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19)
    };
    (@ $bound:expr, $j:ident => $body:expr, $($index:literal)*) => {
        if L::UNROLL {
            $({
                const $j: usize = $index;
                if $j < $bound {
                    $body;
                }
            })*
        } else {
            #[allow(non_snake_case)]
            for $j in 0..$bound {
                $body;
            }
        }
    };
}

#[inline(always)]
pub(super) fn load<L: Lanes>(from: &[Digit], at: usize) -> L {
    L::load(&from[at].0)
}

#[inline(always)]
pub(super) fn store<L: Lanes>(value: L, to: &mut [Digit], at: usize) {
    value.store(&mut to[at].0);
}

/// The one step of which everything is made, as a trait so that `Wide` can say in which order.
pub(super) trait Rows: Lanes {
    /// Whether there are registers to unroll loops for. Without optimisation there are none, and
    /// every copy of a body would take its own piece of the stack.
    const UNROLL: bool;

    /// Adds x * y to the columns `low` and `top`, lowest first.
    fn add_row<const B: usize>(low: &mut [Self; B], top: &mut Self, x: Self, y: &[Digit; B]);
}

impl Rows for Portable {
    const UNROLL: bool = false;

    #[inline(always)]
    fn add_row<const B: usize>(low: &mut [Self; B], top: &mut Self, x: Self, y: &[Digit; B]) {
        for j in 0..B {
            let digit = load(y, j);
            low[j] = low[j].madd_lo(x, digit);
            let next = low.get_mut(j + 1).unwrap_or(top);
            *next = next.madd_hi(x, digit);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use core::arch::asm;
    use core::arch::x86_64::__m512i;

    use super::{Digit, Rows};
    use crate::lanes::Wide;

    /// A function for one length, five columns at a time: a column's low and high halves are added
    /// five instructions apart, so that neither waits. Assembly, because the compiler gathers the
    /// loads of a row, and then has no registers left for the columns.
    macro_rules! row {
        ($name:ident, $b:literal: $($column:literal)*; $($j:literal $k:literal $l:literal $m:literal
         $n:literal $next:literal),*) => {
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
            #[inline]
            fn $name(low: &mut [Wide; $b], top: &mut Wide, x: Wide, y: &[Digit; $b]) {
                let scratch: [__m512i; 5];
                let (d0, d1, d2, d3, d4);
                // SAFETY: reads the digits of y, which are aligned, and changes the registers
                // named.
                unsafe {
                    asm!(
                        $(
                            concat!("vmovdqa64 {d0}, [{y} + 64 * ", $j, "]"),
                            concat!("vmovdqa64 {d1}, [{y} + 64 * ", $k, "]"),
                            concat!("vmovdqa64 {d2}, [{y} + 64 * ", $l, "]"),
                            concat!("vmovdqa64 {d3}, [{y} + 64 * ", $m, "]"),
                            concat!("vmovdqa64 {d4}, [{y} + 64 * ", $n, "]"),
                            concat!("vpmadd52luq {", $j, "}, {x}, {d0}"),
                            concat!("vpmadd52luq {", $k, "}, {x}, {d1}"),
                            concat!("vpmadd52luq {", $l, "}, {x}, {d2}"),
                            concat!("vpmadd52luq {", $m, "}, {x}, {d3}"),
                            concat!("vpmadd52luq {", $n, "}, {x}, {d4}"),
                            concat!("vpmadd52huq {", $k, "}, {x}, {d0}"),
                            concat!("vpmadd52huq {", $l, "}, {x}, {d1}"),
                            concat!("vpmadd52huq {", $m, "}, {x}, {d2}"),
                            concat!("vpmadd52huq {", $n, "}, {x}, {d3}"),
                            concat!("vpmadd52huq {", $next, "}, {x}, {d4}"),
                        )*
                        $(inout(zmm_reg) low[$column].0,)*
                        inout(zmm_reg) top.0,
                        x = in(zmm_reg) x.0,
                        y = in(reg) y,
                        d0 = out(zmm_reg) d0,
                        d1 = out(zmm_reg) d1,
                        d2 = out(zmm_reg) d2,
                        d3 = out(zmm_reg) d3,
                        d4 = out(zmm_reg) d4,
                        options(pure, readonly, nostack, preserves_flags),
                    );
                }
                scratch = [d0, d1, d2, d3, d4];
                let _ = scratch;
            }
        };
    }

    row!(row_10, 10: 0 1 2 3 4 5 6 7 8 9; 0 1 2 3 4 5, 5 6 7 8 9 10);
    row!(row_15, 15: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14;
         0 1 2 3 4 5, 5 6 7 8 9 10, 10 11 12 13 14 15);
    row!(row_20, 20: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19;
         0 1 2 3 4 5, 5 6 7 8 9 10, 10 11 12 13 14 15, 15 16 17 18 19 20);

    impl Rows for Wide {
        const UNROLL: bool = !cfg!(debug_assertions);

        #[inline(always)]
        fn add_row<const B: usize>(low: &mut [Self; B], top: &mut Self, x: Self, y: &[Digit; B]) {
            // The lengths differ by name only: B is what is matched.
            let (columns, digits) = (low.as_mut_slice(), y.as_slice());
            let fits = "B columns";
            // SAFETY: whoever names `Wide` holds an `Avx512` token.
            unsafe {
                match B {
                    10 => row_10(
                        columns.try_into().expect(fits),
                        top,
                        x,
                        digits.try_into().expect(fits),
                    ),
                    15 => row_15(
                        columns.try_into().expect(fits),
                        top,
                        x,
                        digits.try_into().expect(fits),
                    ),
                    20 => row_20(
                        columns.try_into().expect(fits),
                        top,
                        x,
                        digits.try_into().expect(fits),
                    ),
                    _ => unreachable!("no such block"),
                }
            }
        }
    }
}

/// B + 1 columns in registers.
struct Columns<L, const B: usize> {
    low: [L; B],
    top: L,
}

impl<L: Rows, const B: usize> Columns<L, B> {
    #[inline(always)]
    fn zero() -> Self {
        Columns { low: [L::splat(0); B], top: L::splat(0) }
    }

    #[inline(always)]
    fn load(from: &[Digit]) -> Self {
        let mut columns = Columns::zero();
        unrolled!(B, J => columns.low[J] = load(from, J));
        columns.top = load(from, B);
        columns
    }

    /// Adds x * y.
    #[inline(always)]
    fn add_row(&mut self, x: L, y: &[Digit; B]) {
        L::add_row(&mut self.low, &mut self.top, x, y);
    }

    /// Hands out the lowest column and takes in the one above the top.
    #[inline(always)]
    fn shift(&mut self, above: L) -> L {
        let lowest = self.low[0];
        unrolled!(B - 1, J => self.low[J] = self.low[J + 1]);
        self.low[B - 1] = self.top;
        self.top = above;
        lowest
    }

    /// Reduces by a digit with the folded modulus. Returns the quotient digit.
    #[inline(always)]
    fn fold(&mut self, above: L, folded: &[Digit; B]) -> L {
        let q = self.shift(above);
        self.low[0] = self.low[0].add(q.shr::<{ BITS as u32 }>());
        self.add_row(q, folded);
        q
    }

    /// Reduces by a digit with the modulus. Returns the quotient digit.
    #[inline(always)]
    fn reduce(&mut self, above: L, n: &[Digit; B], k0: L) -> L {
        let q = L::splat(0).madd_lo(self.low[0], k0);
        self.add_row(q, n);
        let lowest = self.shift(above);
        self.low[0] = self.low[0].add(lowest.shr::<{ BITS as u32 }>());
        q
    }

    /// x = the columns with carries passed. Nothing is above them, as the number is below R.
    #[inline(always)]
    fn finish(self, x: &mut [Digit; B]) {
        let mut carry = L::splat(0);
        unrolled!(B, J => {
            let t = self.low[J].add(carry);
            store(t, x, J);
            carry = t.shr::<{ BITS as u32 }>();
        });
        let _ = carry;
    }
}

/// sum[0 .. 2B] += x * y.
#[inline(always)]
pub(super) fn add_block<L: Rows, const B: usize>(
    sum: &mut [Digit],
    x: &[Digit; B],
    y: &[Digit; B],
) {
    let sum = &mut sum[..2 * B];
    let mut columns = Columns::<L, B>::load(sum);
    for i in (0..B - ROWS).step_by(ROWS) {
        unrolled!(ROWS, R => {
            columns.add_row(load(x, i + R), y);
            store(columns.shift(load(sum, i + R + 1 + B)), sum, i + R);
        });
    }
    unrolled!(ROWS, R => {
        columns.add_row(load(x, B - ROWS + R), y);
        // The column 2B stays zero.
        let above = if R + 1 < ROWS { load(sum, 2 * B - ROWS + R + 1) } else { L::splat(0) };
        store(columns.shift(above), sum, B - ROWS + R);
    });
    unrolled!(B, J => store(columns.low[J], sum, B + J));
}

/// sum[0 .. 2B] = 2 sum + x^2, or x^2 where the sum is `fresh`: products of two different digits
/// once, doubled with what was there before, plus the squares.
#[allow(clippy::absurd_extreme_comparisons)] // I and J are constants.
#[inline(always)]
pub(super) fn square_block<L: Rows, const B: usize, const FRESH: bool>(
    sum: &mut [Digit],
    x: &[Digit; B],
) {
    let sum = &mut sum[..2 * B];
    // Columns 2i to i + B are alive while row i runs.
    let mut columns = [L::splat(0); 2 * MAX_BLOCK];
    if !FRESH {
        unrolled!(B, J => columns[J] = load(sum, J));
    }
    unrolled!(B, I => {
        if !FRESH {
            columns[I + B] = load(sum, I + B);
        }
        // To be loaded for every row: kept, the digits would push the sums out.
        let x = core::hint::black_box(x);
        let row: L = load(x, I);
        unrolled!(B, J => {
            if J > I {
                let digit = load(x, J);
                columns[I + J] = columns[I + J].madd_lo(row, digit);
                columns[I + J + 1] = columns[I + J + 1].madd_hi(row, digit);
            }
        });
        let (low, high) = (columns[2 * I], columns[2 * I + 1]);
        store(low.add(low).madd_lo(row, row), sum, 2 * I);
        store(high.add(high).madd_hi(row, row), sum, 2 * I + 1);
    });
}

/// Reduces sum[0 .. 2B + 1] by its lower B digits, as far as the lowest block of the folded modulus
/// goes: column B + j also lacks the products of `q` with digit B + j - 1 - i of it.
#[inline(always)]
pub(super) fn fold_block<L: Rows, const B: usize>(
    sum: &mut [Digit],
    q: &mut [Digit; B],
    folded: &[Digit; B],
) {
    let sum = &mut sum[..2 * B + 1];
    let mut columns = Columns::<L, B>::load(sum);
    for i in (0..B).step_by(ROWS) {
        unrolled!(ROWS, R => {
            let digit = columns.fold(load(sum, i + R + 1 + B), folded);
            store(digit, q, i + R);
        });
    }
    unrolled!(B, J => store(columns.low[J], sum, B + J));
    store(columns.top, sum, 2 * B);
}

/// The same with the modulus: sum[0 .. 2B] and the products with digits B and up of n.
#[inline(always)]
pub(super) fn reduce_block<L: Rows, const B: usize>(
    sum: &mut [Digit],
    q: &mut [Digit; B],
    n: &[Digit; B],
    k0: L,
) {
    let sum = &mut sum[..2 * B];
    let mut columns = Columns::<L, B>::load(sum);
    for i in (0..B - ROWS).step_by(ROWS) {
        unrolled!(ROWS, R => {
            let digit = columns.reduce(load(sum, i + R + 1 + B), n, k0);
            store(digit, q, i + R);
        });
    }
    unrolled!(ROWS, R => {
        let above = if R + 1 < ROWS { load(sum, 2 * B - ROWS + R + 1) } else { L::splat(0) };
        let digit = columns.reduce(above, n, k0);
        store(digit, q, B - ROWS + R);
    });
    unrolled!(B, J => store(columns.low[J], sum, B + J));
}

/// x = wide / 2^(52 B) mod n, for a modulus of one block.
#[inline(always)]
pub(super) fn reduce_one<L: Rows, const B: usize>(
    x: &mut [Digit; B],
    wide: &[Digit],
    folded: &[Digit; B],
    n: &[Digit; B],
    k0: L,
) {
    let wide = &wide[..2 * B];
    let mut columns = Columns::<L, B>::load(wide);
    for i in (0..B - ROWS).step_by(ROWS) {
        unrolled!(ROWS, R => columns.fold(load(wide, i + R + 1 + B), folded));
    }
    unrolled!(ROWS - 1, R => columns.fold(load(wide, 2 * B - ROWS + 1 + R), folded));
    columns.reduce(L::splat(0), n, k0);
    columns.finish(x);
}

/// x = x * y / 2^(52 B) mod n, for a modulus of one block.
#[inline(always)]
pub(super) fn multiply_one<L: Rows, const B: usize>(
    x: &mut [Digit; B],
    y: &[Digit; B],
    folded: &[Digit; B],
    n: &[Digit; B],
    k0: L,
) {
    let zero = L::splat(0);
    let mut columns = Columns::<L, B>::zero();
    for i in (0..B - ROWS).step_by(ROWS) {
        unrolled!(ROWS, R => {
            columns.add_row(load(x, i + R), y);
            columns.fold(zero, folded)
        });
    }
    unrolled!(ROWS, R => {
        columns.add_row(load(x, B - ROWS + R), y);
        if R + 1 < ROWS { columns.fold(zero, folded) } else { columns.reduce(zero, n, k0) }
    });
    columns.finish(x);
}
