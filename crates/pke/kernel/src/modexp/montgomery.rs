//! Montgomery multiplication of eight pairs of numbers, side by side.
//!
//! Digits have 52 bits and R = 2^(52 N). A product is summed column by column in 64-bit lanes
//! without passing a carry: a column takes at most 2N low and high halves of products and as many
//! from the reduction, each below 2^52, doubled at most once, so that 6N * 2^52 < 2^61 for N = 80.
//! Carries pass once, at the end. There is no final subtraction: where n < R / 16, a product of
//! factors below 4n and 3n is reduced to less than 12 n^2 / R + 2n < 3n, the 2n being what the
//! reduction itself may leave (`columns` says why not n).
//!
//! Numbers of more than 20 digits are cut into blocks of 15 or 20.
//!
//! Constant time: loops run over public lengths only.

use super::columns::{
    MAX_BLOCK, ROWS, Rows, add_block, fold_block, load, multiply_one, reduce_block, reduce_one,
    square_block, store,
};
use super::digit::{BITS, Digit, MASK};
use super::modulus::Modulus;
use crate::lanes::{Lanes, Portable};

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

/// Digits of scratch for numbers of N digits: a product, and the quotient digits of a block.
pub(super) const fn wide_len(n: usize) -> usize {
    2 * n + MAX_BLOCK
}

/// The operations as calls, so that each is compiled once per class however often it is used.
/// `wide` is scratch for [`wide_len`] digits, the lower 2N of which are a product.
pub(super) trait Arithmetic: Rows {
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
    use crate::lanes::Wide;

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

/// Block `k` of a number.
#[inline(always)]
fn block<const B: usize>(x: &[Digit], k: usize) -> &[Digit; B] {
    x[k * B..(k + 1) * B].try_into().expect("B digits")
}

/// Calls `$function::<L, B, N>` with the length of block that suits N.
macro_rules! by_blocks {
    ($function:ident::<$lanes:ty, $n:ident>($($arg:expr),*)) => {
        match $n {
            10 => $function::<$lanes, 10, $n>($($arg),*),
            15 | 30 => $function::<$lanes, 15, $n>($($arg),*),
            _ => $function::<$lanes, 20, $n>($($arg),*),
        }
    };
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
fn multiply<L: Rows, const N: usize>(
    x: &mut [Digit; N],
    y: &[Digit; N],
    moduli: &Moduli<N>,
    wide: &mut [Digit],
) {
    by_blocks!(multiply_by_blocks::<L, N>(x, y, moduli, wide));
}

#[inline(always)]
fn multiply_by_blocks<L: Rows, const B: usize, const N: usize>(
    x: &mut [Digit; N],
    y: &[Digit; N],
    moduli: &Moduli<N>,
    wide: &mut [Digit],
) {
    if B == N {
        let k0 = L::load(&moduli.k0.0);
        let (folded, n) = (block::<B>(&moduli.folded, 0), block::<B>(&moduli.n, 0));
        let x: &mut [Digit; B] = (&mut x[..]).try_into().expect("one block");
        multiply_one::<L, B>(x, block::<B>(y, 0), folded, n, k0);
    } else {
        product_by_blocks::<L, B, N>(wide, x, y);
        reduce_by_blocks::<L, B, N>(x, moduli, wide);
    }
}

#[inline(always)]
fn square<L: Rows, const N: usize>(
    x: &mut [Digit; N],
    times: usize,
    moduli: &Moduli<N>,
    wide: &mut [Digit],
) {
    for _ in 0..times {
        by_blocks!(square_by_blocks::<L, N>(x, wide));
        by_blocks!(reduce_by_blocks::<L, N>(x, moduli, wide));
    }
}

/// wide = x^2: the products of different blocks, then doubled with the squares of blocks.
#[inline(always)]
fn square_by_blocks<L: Rows, const B: usize, const N: usize>(x: &[Digit; N], wide: &mut [Digit]) {
    let wide = &mut wide[..2 * N];
    if B == N {
        return square_block::<L, B, true>(wide, block(x, 0));
    }
    wide.fill(Digit::ZERO);
    for i in 0..N / B {
        for j in i + 1..N / B {
            add_block::<L, B>(&mut wide[(i + j) * B..], block(x, i), block(x, j));
        }
    }
    for i in 0..N / B {
        square_block::<L, B, false>(&mut wide[2 * i * B..], block(x, i));
    }
}

#[inline(always)]
fn reduce<L: Rows, const N: usize>(x: &mut [Digit; N], moduli: &Moduli<N>, wide: &mut [Digit]) {
    by_blocks!(reduce_by_blocks::<L, N>(x, moduli, wide));
}

#[inline(always)]
fn reduce_by_blocks<L: Rows, const B: usize, const N: usize>(
    x: &mut [Digit; N],
    moduli: &Moduli<N>,
    wide: &mut [Digit],
) {
    let k0 = L::load(&moduli.k0.0);
    let (wide, q) = wide[..2 * N + MAX_BLOCK].split_at_mut(2 * N);
    let q: &mut [Digit; B] = (&mut q[..B]).try_into().expect("B digits");
    let (folded, n) = (&moduli.folded, &moduli.n);
    if B == N {
        let x: &mut [Digit; B] = (&mut x[..]).try_into().expect("one block");
        return reduce_one::<L, B>(x, wide, block(folded, 0), block(n, 0), k0);
    }
    for k in 0..N / B {
        let last = k + 1 == N / B;
        // The folded modulus stands for n / 2^52 and adds one column higher.
        let (from, factor) = if last { (k * B, n) } else { (k * B + 1, folded) };
        if last {
            reduce_block::<L, B>(&mut wide[k * B..], q, block(n, 0), k0);
        } else {
            fold_block::<L, B>(&mut wide[k * B..], q, block(folded, 0));
        }
        for j in 1..N / B {
            add_block::<L, B>(&mut wide[from + j * B..], q, block(factor, j));
        }
    }
    finish::<L, N>(x, wide);
}

#[inline(always)]
fn product<L: Rows, const N: usize>(wide: &mut [Digit], x: &[Digit; N], y: &[Digit; N]) {
    by_blocks!(product_by_blocks::<L, N>(wide, x, y));
}

#[inline(always)]
fn product_by_blocks<L: Rows, const B: usize, const N: usize>(
    wide: &mut [Digit],
    x: &[Digit; N],
    y: &[Digit; N],
) {
    let wide = &mut wide[..2 * N];
    wide.fill(Digit::ZERO);
    for i in 0..N / B {
        for j in 0..N / B {
            add_block::<L, B>(&mut wide[(i + j) * B..], block(x, i), block(y, j));
        }
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
