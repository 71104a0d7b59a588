//! Montgomery multiplication of eight pairs of numbers, side by side.
//!
//! Digits have 52 bits and R = 2^(52 N). A product is summed column by column in 64-bit lanes
//! without passing a carry: a column takes at most 2N low and high halves of products and as many
//! from the reduction, each below 2^52, doubled at most once, so that 6N * 2^52 < 2^62 for N = 160.
//! Carries pass once, at the end. There is no final subtraction: operands below 2n give results
//! below 2n, since n < R / 16.
//!
//! The work is cut into panels of `ROWS` rows: `ROWS` digits of one factor times all of the other.
//! Within a panel, `ROWS` columns at a time stay in registers, where they take `2 * ROWS^2`
//! multiplications for `2 * ROWS` loads and `ROWS` stores. The reduction is of the same form, its
//! row factors the quotient digits.
//!
//! Constant time: loops run over public lengths only.

use super::digit::{BITS, Digit, MASK};
use super::modulus::Modulus;
use crate::kernel::lanes::{Lanes, Portable};

/// Rows of a panel. Divides every class. Registers: 5 row factors, 10 column factors, 5 sums.
const ROWS: usize = 5;

/// Eight moduli of `N` digits, lane by lane.
pub(super) struct Moduli<const N: usize> {
    pub(super) n: [Digit; N],
    pub(super) k0: Digit,
    pub(super) folded: [Digit; N],
    pub(super) r: [Digit; N],
    pub(super) r2: [Digit; N],
}

impl<const N: usize> Moduli<N> {
    /// Of `N` digits each.
    pub(super) fn new(moduli: [&Modulus; 8]) -> Moduli<N> {
        let zero = [Digit::ZERO; N];
        let mut all = Moduli { n: zero, k0: Digit::ZERO, folded: zero, r: zero, r2: zero };
        for (lane, modulus) in moduli.into_iter().enumerate() {
            assert_eq!(modulus.digits(), N, "a batch is of one class");
            super::digit::lane_from_digits(&modulus.n, lane, &mut all.n);
            super::digit::lane_from_digits(&modulus.folded, lane, &mut all.folded);
            super::digit::lane_from_digits(&modulus.r, lane, &mut all.r);
            super::digit::lane_from_digits(&modulus.r2, lane, &mut all.r2);
            all.k0.0[lane] = modulus.k0;
        }
        all
    }
}

impl<const N: usize> Drop for Moduli<N> {
    fn drop(&mut self) {
        use zeroize::Zeroize;
        self.n.zeroize();
        self.k0.zeroize();
        self.folded.zeroize();
        self.r.zeroize();
        self.r2.zeroize();
    }
}

/// The operations as calls, so that each is compiled once per class however often it is used.
/// `wide` has 2N digits of scratch.
pub(super) trait Arithmetic: Lanes {
    /// x = x * y / R mod n.
    fn multiply<const N: usize>(
        x: &mut [Digit; N],
        y: &[Digit; N],
        moduli: &Moduli<N>,
        wide: &mut [Digit],
    );
    /// x = x^2 / R mod n, `times` in a row.
    fn square<const N: usize>(
        x: &mut [Digit; N],
        times: usize,
        moduli: &Moduli<N>,
        wide: &mut [Digit],
    );
    /// x = wide / R mod n.
    fn reduce<const N: usize>(x: &mut [Digit; N], moduli: &Moduli<N>, wide: &mut [Digit]);
    /// wide = x * y, with carries not passed.
    fn product<const N: usize>(wide: &mut [Digit], x: &[Digit; N], y: &[Digit; N]);
    /// x = table[index], for every lane its own index. Reads the whole table.
    fn look_up<const N: usize>(x: &mut [Digit; N], table: &[[Digit; N]], index: Self);
}

impl Arithmetic for Portable {
    fn multiply<const N: usize>(
        x: &mut [Digit; N],
        y: &[Digit; N],
        moduli: &Moduli<N>,
        wide: &mut [Digit],
    ) {
        multiply::<Portable, N>(x, y, moduli, wide);
    }
    fn square<const N: usize>(
        x: &mut [Digit; N],
        times: usize,
        moduli: &Moduli<N>,
        wide: &mut [Digit],
    ) {
        square::<Portable, N>(x, times, moduli, wide);
    }
    fn reduce<const N: usize>(x: &mut [Digit; N], moduli: &Moduli<N>, wide: &mut [Digit]) {
        reduce::<Portable, N>(x, moduli, wide);
    }
    fn product<const N: usize>(wide: &mut [Digit], x: &[Digit; N], y: &[Digit; N]) {
        product::<Portable, N>(wide, x, y);
    }
    fn look_up<const N: usize>(x: &mut [Digit; N], table: &[[Digit; N]], index: Self) {
        look_up::<Portable, N>(x, table, index);
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Arithmetic, Digit, Moduli};
    use crate::kernel::lanes::Wide;

    /// One function that may use the registers, and the call of it.
    macro_rules! with_avx512 {
        ($(fn $name:ident($($arg:ident: $type:ty),*);)*) => {
            $(
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
                #[inline(never)]
                fn $name<const N: usize>($($arg: $type),*) {
                    super::$name::<Wide, N>($($arg),*);
                }
            )*
            impl Arithmetic for Wide {
                $(
                    #[inline(always)]
                    fn $name<const N: usize>($($arg: $type),*) {
                        // SAFETY: whoever names `Wide` holds an `Avx512` token.
                        unsafe { $name::<N>($($arg),*) }
                    }
                )*
            }
        };
    }

    with_avx512! {
        fn multiply(x: &mut [Digit; N], y: &[Digit; N], moduli: &Moduli<N>, wide: &mut [Digit]);
        fn square(x: &mut [Digit; N], times: usize, moduli: &Moduli<N>, wide: &mut [Digit]);
        fn reduce(x: &mut [Digit; N], moduli: &Moduli<N>, wide: &mut [Digit]);
        fn product(wide: &mut [Digit], x: &[Digit; N], y: &[Digit; N]);
        fn look_up(x: &mut [Digit; N], table: &[[Digit; N]], index: Wide);
    }
}

#[inline(always)]
fn load<L: Lanes>(from: &[Digit], at: usize) -> L {
    L::load(&from[at].0)
}

#[inline(always)]
fn store<L: Lanes>(value: L, to: &mut [Digit], at: usize) {
    value.store(&mut to[at].0);
}

#[inline(always)]
fn load_rows<L: Lanes>(from: &[Digit], at: usize) -> [L; ROWS] {
    let mut rows = [L::splat(0); ROWS];
    for (r, row) in rows.iter_mut().enumerate() {
        *row = load(from, at + r);
    }
    rows
}

/// sum[0 .. m + ROWS] += x * y, where y has m >= ROWS digits, a multiple of ROWS.
#[inline(always)]
fn add_panel<L: Lanes>(sum: &mut [Digit], x: &[L; ROWS], y: &[Digit]) {
    // The columns that not all rows reach.
    for j in 0..ROWS {
        let mut t: L = load(sum, j);
        for r in 0..ROWS {
            if r <= j {
                t = t.madd_lo(x[r], load(y, j - r));
            }
            if r < j {
                t = t.madd_hi(x[r], load(y, j - r - 1));
            }
        }
        store(t, sum, j);
    }
    add_upper_columns(sum, x, y);
}

/// The part of [`add_panel`] from column ROWS up.
#[inline(always)]
fn add_upper_columns<L: Lanes>(sum: &mut [Digit], x: &[L; ROWS], y: &[Digit]) {
    // To be loaded for every panel: kept from one to the next, the digits would be spilled.
    let m = y.len();
    let y = &core::hint::black_box(y)[..m];
    let sum = &mut sum[..m + ROWS];
    // The last ROWS digits of y below the current column.
    let mut before: [L; ROWS] = load_rows(y, 0);
    let mut j = ROWS;
    while j < m {
        let mut t: [L; ROWS] = load_rows(sum, j);
        let here: [L; ROWS] = load_rows(y, j);
        // Digit j + k of y, for -ROWS <= k < ROWS, counted from 0.
        let digit = |k: usize| if k < ROWS { before[k] } else { here[k - ROWS] };
        for r in 0..ROWS {
            for c in 0..ROWS {
                t[c] = t[c].madd_lo(x[r], digit(ROWS + c - r));
            }
            for c in 0..ROWS {
                t[c] = t[c].madd_hi(x[r], digit(ROWS + c - r - 1));
            }
        }
        for c in 0..ROWS {
            store(t[c], sum, j + c);
        }
        before = here;
        j += ROWS;
    }
    // The columns above y.
    for c in 0..ROWS {
        let mut t: L = load(sum, m + c);
        for r in 0..ROWS {
            if r > c {
                t = t.madd_lo(x[r], before[ROWS + c - r]);
            }
            if r >= c {
                t = t.madd_hi(x[r], before[ROWS + c - r - 1]);
            }
        }
        store(t, sum, m + c);
    }
}

/// Adds the multiple of n to sum[0 .. N + ROWS] that makes the lowest ROWS digits 0, and passes
/// their carry on.
#[inline(always)]
fn reduce_panel<L: Lanes>(sum: &mut [Digit], n: &[Digit], k0: L) {
    let zero = L::splat(0);
    let mut q = [zero; ROWS];
    let mut carry = zero;
    for r in 0..ROWS {
        let mut t: L = load(sum, r);
        for s in 0..r {
            t = t.madd_hi(q[s], load(n, r - s - 1));
            t = t.madd_lo(q[s], load(n, r - s));
        }
        t = t.add(carry);
        q[r] = zero.madd_lo(t, k0);
        carry = t.madd_lo(q[r], load(n, 0)).shr::<{ BITS as u32 }>();
    }
    store(load::<L>(sum, ROWS).add(carry), sum, ROWS);
    add_upper_columns(sum, &q, n);
}

/// [`reduce_panel`] with the folded modulus: the quotient digits are the digits themselves.
#[inline(always)]
fn fold_panel<L: Lanes>(sum: &mut [Digit], folded: &[Digit]) {
    let mut q = [L::splat(0); ROWS];
    q[0] = load(sum, 0);
    let mut carry = q[0].shr::<{ BITS as u32 }>();
    let sum = &mut sum[1..];
    for j in 0..ROWS {
        let mut t: L = load(sum, j);
        for r in 0..=j {
            if r < j {
                t = t.madd_hi(q[r], load(folded, j - r - 1));
            }
            t = t.madd_lo(q[r], load(folded, j - r));
        }
        t = t.add(carry);
        if j + 1 < ROWS {
            q[j + 1] = t;
            carry = t.shr::<{ BITS as u32 }>();
        } else {
            store(t, sum, j);
        }
    }
    add_upper_columns(sum, &q, folded);
}

/// The body for J = 0, 1, ... below a bound of up to 20, J a constant in each: the compiler then
/// keeps in registers what J indexes, which it does not where it would have to unroll a loop.
macro_rules! unrolled {
    ($bound:expr, $j:ident => $body:expr) => {
        unrolled!(@ $bound, $j => $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19)
    };
    (@ $bound:expr, $j:ident => $body:expr, $($index:literal)*) => {
        $({
            const $j: usize = $index;
            if $j < $bound {
                $body;
            }
        })*
    };
}

/// A sum of N + 1 columns in registers.
struct Columns<L, const N: usize> {
    low: [L; N],
    top: L,
}

impl<L: Lanes, const N: usize> Columns<L, N> {
    /// self += x * y.
    #[inline(always)]
    fn add_row(&mut self, x: L, y: &[Digit; N]) {
        // The digits are to be loaded for every row: kept, they would push the sums out.
        let y = core::hint::black_box(y);
        unrolled!(N, J => {
            let digit = load(y, J);
            self.low[J] = self.low[J].madd_lo(x, digit);
            if J + 1 < N {
                self.low[J + 1] = self.low[J + 1].madd_hi(x, digit);
            } else {
                self.top = self.top.madd_hi(x, digit);
            }
        });
    }

    /// Drops the lowest column, passing on its carry, and takes in `top`.
    #[inline(always)]
    fn shift(&mut self, top: L) {
        let carry = self.low[0].shr::<{ BITS as u32 }>();
        unrolled!(N - 1, J => self.low[J] = self.low[J + 1]);
        self.low[N - 1] = self.top;
        self.top = top;
        self.low[0] = self.low[0].add(carry);
    }

    /// Reduces by one digit with the folded modulus.
    #[inline(always)]
    fn fold(&mut self, top: L, moduli: &Moduli<N>) {
        let q = self.low[0];
        self.shift(top);
        self.add_row(q, &moduli.folded);
    }

    /// Reduces by the last digit.
    #[inline(always)]
    fn reduce(&mut self, moduli: &Moduli<N>) {
        let q = L::splat(0).madd_lo(self.low[0], L::load(&moduli.k0.0));
        self.add_row(q, &moduli.n);
        self.shift(L::splat(0));
    }

    /// Passes the carries. Nothing is above the low columns, as the number is below R.
    #[inline(always)]
    fn finish(self, x: &mut [Digit; N]) {
        let mut carry = L::splat(0);
        unrolled!(N, J => {
            let t = self.low[J].add(carry);
            store(t, x, J);
            carry = t.shr::<{ BITS as u32 }>();
        });
        let _ = carry;
    }
}

/// Classes up to this have a sum that fits in registers.
const IN_REGISTERS: usize = 20;

#[inline(always)]
fn reduce_in_registers<L: Lanes, const N: usize>(
    x: &mut [Digit; N],
    moduli: &Moduli<N>,
    wide: &[Digit],
) {
    let wide = &wide[..2 * N];
    let mut sum: Columns<L, N> = Columns { low: [L::splat(0); N], top: load(wide, N) };
    unrolled!(N, J => sum.low[J] = load(wide, J));
    unrolled!(N - 1, I => sum.fold(load(wide, N + 1 + I), moduli));
    sum.reduce(moduli);
    sum.finish(x);
}

#[inline(always)]
fn multiply_in_registers<L: Lanes, const N: usize>(
    x: &mut [Digit; N],
    y: &[Digit; N],
    moduli: &Moduli<N>,
) {
    let zero = L::splat(0);
    let mut sum: Columns<L, N> = Columns { low: [zero; N], top: zero };
    unrolled!(N - 1, I => {
        sum.add_row(load(x, I), y);
        sum.fold(zero, moduli);
    });
    sum.add_row(load(x, N - 1), y);
    sum.reduce(moduli);
    sum.finish(x);
}

/// wide = x^2 for the classes whose columns fit in registers.
#[inline(always)]
fn square_in_registers<L: Lanes, const N: usize>(x: &[Digit; N], wide: &mut [Digit]) {
    let wide = &mut wide[..2 * N];
    // From column 2i to i + N - 1 alive while row i runs.
    let mut sum = [L::splat(0); 2 * IN_REGISTERS + 1];
    unrolled!(N, I => {
        // As in `add_row`: else all of x would be kept.
        let x = core::hint::black_box(x);
        let row: L = load(x, I);
        unrolled!(N, J => {
            if J > I {
                let digit = load(x, J);
                sum[I + J] = sum[I + J].madd_lo(row, digit);
                sum[I + J + 1] = sum[I + J + 1].madd_hi(row, digit);
            }
        });
        let (low, high) = (sum[2 * I], sum[2 * I + 1]);
        store(low.add(low).madd_lo(row, row), wide, 2 * I);
        store(high.add(high).madd_hi(row, row), wide, 2 * I + 1);
    });
}

/// x = the upper N digits of wide, with carries passed.
#[inline(always)]
fn finish<L: Lanes, const N: usize>(x: &mut [Digit; N], wide: &[Digit]) {
    let mut carry = L::splat(0);
    for j in 0..N {
        let t = load::<L>(wide, N + j).add(carry);
        store(t, x, j);
        carry = t.shr::<{ BITS as u32 }>();
    }
}

#[inline(always)]
fn multiply<L: Lanes, const N: usize>(
    x: &mut [Digit; N],
    y: &[Digit; N],
    moduli: &Moduli<N>,
    wide: &mut [Digit],
) {
    if N <= IN_REGISTERS {
        return multiply_in_registers::<L, N>(x, y, moduli);
    }
    let k0 = L::load(&moduli.k0.0);
    let wide = &mut wide[..2 * N];
    wide.fill(Digit::ZERO);
    for i in (0..N).step_by(ROWS) {
        add_panel::<L>(&mut wide[i..i + N + ROWS], &load_rows(x, i), y);
        if i + ROWS < N {
            fold_panel::<L>(&mut wide[i..i + N + ROWS + 1], &moduli.folded);
        } else {
            reduce_panel::<L>(&mut wide[i..], &moduli.n, k0);
        }
    }
    finish::<L, N>(x, wide);
}

#[inline(always)]
fn square<L: Lanes, const N: usize>(
    x: &mut [Digit; N],
    times: usize,
    moduli: &Moduli<N>,
    wide: &mut [Digit],
) {
    for _ in 0..times {
        square_wide::<L, N>(x, wide);
        reduce::<L, N>(x, moduli, wide);
    }
}

/// wide = x^2: every product of two different digits once, doubled, plus the squares.
#[inline(always)]
fn square_wide<L: Lanes, const N: usize>(x: &[Digit; N], wide: &mut [Digit]) {
    if N <= IN_REGISTERS {
        return square_in_registers::<L, N>(x, wide);
    }
    let wide = &mut wide[..2 * N];
    wide.fill(Digit::ZERO);
    for i in (0..N).step_by(ROWS) {
        let rows: [L; ROWS] = load_rows(x, i);
        // Within the panel.
        let mut t = [L::splat(0); 2 * ROWS];
        for (k, t) in t.iter_mut().enumerate() {
            *t = load(wide, 2 * i + k);
        }
        for a in 0..ROWS {
            for b in 0..ROWS {
                if a < b {
                    t[a + b] = t[a + b].madd_lo(rows[a], rows[b]);
                    t[a + b + 1] = t[a + b + 1].madd_hi(rows[a], rows[b]);
                }
            }
        }
        for (k, t) in t.into_iter().enumerate() {
            store(t, wide, 2 * i + k);
        }
        if i + ROWS < N {
            add_panel::<L>(&mut wide[2 * i + ROWS..i + N + ROWS], &rows, &x[i + ROWS..]);
        }
        // Columns 2i to 2i + 2 ROWS get nothing from later panels.
        for (k, row) in rows.into_iter().enumerate() {
            let low = load::<L>(wide, 2 * (i + k));
            let high = load::<L>(wide, 2 * (i + k) + 1);
            store(low.add(low).madd_lo(row, row), wide, 2 * (i + k));
            store(high.add(high).madd_hi(row, row), wide, 2 * (i + k) + 1);
        }
    }
}

#[inline(always)]
fn reduce<L: Lanes, const N: usize>(x: &mut [Digit; N], moduli: &Moduli<N>, wide: &mut [Digit]) {
    if N <= IN_REGISTERS {
        return reduce_in_registers::<L, N>(x, moduli, wide);
    }
    let k0 = L::load(&moduli.k0.0);
    let wide = &mut wide[..2 * N];
    for i in (0..N - ROWS).step_by(ROWS) {
        fold_panel::<L>(&mut wide[i..i + N + ROWS + 1], &moduli.folded);
    }
    reduce_panel::<L>(&mut wide[N - ROWS..], &moduli.n, k0);
    finish::<L, N>(x, wide);
}

#[inline(always)]
fn product<L: Lanes, const N: usize>(wide: &mut [Digit], x: &[Digit; N], y: &[Digit; N]) {
    let wide = &mut wide[..2 * N];
    wide.fill(Digit::ZERO);
    for i in (0..N).step_by(ROWS) {
        add_panel::<L>(&mut wide[i..i + N + ROWS], &load_rows(x, i), y);
    }
}

/// Digits of an entry that are picked in registers at once.
const PICKED: usize = 20;

#[inline(always)]
fn look_up<L: Lanes, const N: usize>(x: &mut [Digit; N], table: &[[Digit; N]], index: L) {
    let mut from = 0;
    while from + PICKED <= N {
        look_up_part::<L, PICKED, N>(x, table, index, from);
        from += PICKED;
    }
    while from < N {
        look_up_part::<L, ROWS, N>(x, table, index, from);
        from += ROWS;
    }
}

#[inline(always)]
fn look_up_part<L: Lanes, const P: usize, const N: usize>(
    x: &mut [Digit; N],
    table: &[[Digit; N]],
    index: L,
    from: usize,
) {
    let mut picked = [L::splat(0); P];
    for (i, entry) in table.iter().enumerate() {
        let here = index.eq(L::splat(i as u64));
        let entry = &entry[from..from + P];
        for (k, picked) in picked.iter_mut().enumerate() {
            *picked = L::select(here, load(entry, k), *picked);
        }
    }
    for (k, picked) in picked.into_iter().enumerate() {
        store(picked, x, from + k);
    }
}

/// Cuts off what stands above the digits, the carries having been passed.
#[inline(always)]
pub(super) fn cut<L: Lanes>(x: &mut [Digit]) {
    for digit in x {
        L::load(&digit.0).and(L::splat(MASK)).store(&mut digit.0);
    }
}

/// x mod n for x < 3n; also cuts off what stands above the digits.
#[inline(always)]
pub(super) fn canonical<L: Lanes>(x: &mut [Digit], n: &[Digit]) {
    cut::<L>(x);
    for _ in 0..2 {
        let below = below::<L>(x, n);
        let mut carry = L::splat(0);
        for (x, n) in x.iter_mut().zip(n) {
            let subtract = L::select(below, L::splat(0), L::load(&n.0));
            let t = L::load(&x.0).sub(subtract).add(carry);
            carry = t.sar::<{ BITS as u32 }>();
            t.and(L::splat(MASK)).store(&mut x.0);
        }
    }
}

/// Where x < n, both with proper digits.
#[inline(always)]
pub(super) fn below<L: Lanes>(x: &[Digit], n: &[Digit]) -> L::Mask {
    let mut carry = L::splat(0);
    for (x, n) in x.iter().zip(n) {
        carry = L::load(&x.0).sub(L::load(&n.0)).add(carry).sar::<{ BITS as u32 }>();
    }
    L::mask_not(carry.eq(L::splat(0)))
}
