//! Numbers in digits of 52 bits, eight numbers side by side.
//!
//! A number is `[L; N]`: digit `i` has weight 2^(52 i), lane `l` of every digit belongs to number
//! `l`. Digits come in two states. *Carried*: every digit is in `0..2^52`, which is what a
//! multiplication needs, because IFMA reads 52 bits and no more. *Raw*: digits are signed 64-bit
//! integers of any size that a few sums of products reach; sums, differences and small multiples
//! of raw numbers are digit-wise, and [`carry`] makes them carried again.

use crate::lanes::Lanes;

/// The bits of a digit.
pub(super) const BITS: usize = 52;
/// The largest carried digit.
pub(super) const MASK: u64 = (1 << BITS) - 1;
/// Digits of the product of two of the longest numbers, 11 digits each.
pub(super) const COLUMNS: usize = 22;

/// Runs the block for `$i` = 0 up to `$n`, at most 11. Where `L` is fast it is unrolled in the
/// source: arrays indexed by `$i` are then registers, whatever an optimiser thinks of the size of
/// the loop. Elsewhere it is a loop, which compiles sooner.
macro_rules! each {
    ($i:ident < $n:expr => $body:block) => {
        if <L as $crate::lanes::Lanes>::FAST {
            $crate::weierstrass::digits::each!(@ $i $n, $body, 0 1 2 3 4 5 6 7 8 9 10);
        } else {
            let mut next = 0;
            while next < $n {
                let $i = next;
                next += 1;
                $body
            }
        }
    };
    (@ $i:ident $n:expr, $body:block, $($v:literal)*) => {
        $({ let $i: usize = $v; if $i < $n $body })*
    };
}
pub(super) use each;

/// The number that hexadecimal digits write.
pub(super) const fn parse<const N: usize>(text: &str) -> [u64; N] {
    let text = text.as_bytes();
    let mut digits = [0; N];
    let mut at = 0;
    while at < text.len() {
        let nibble = match text[text.len() - 1 - at] {
            c @ b'0'..=b'9' => c - b'0',
            c @ b'a'..=b'f' => c - b'a' + 10,
            _ => panic!("not a hexadecimal digit"),
        };
        // 52 is a multiple of 4: no nibble straddles two digits.
        if nibble != 0 {
            digits[4 * at / BITS] |= (nibble as u64) << (4 * at % BITS);
        }
        at += 1;
    }
    digits
}

/// 2^`exponent` modulo `p`.
pub(super) const fn power_of_two<const N: usize>(exponent: usize, p: &[u64; N]) -> [u64; N] {
    let mut x = [0; N];
    x[0] = 1;
    let mut done = 0;
    while done < exponent {
        // 2x, and 2x - p next to it; the difference is taken unless it is negative.
        let mut difference = [0; N];
        let (mut carry, mut borrow) = (0, 0);
        let mut i = 0;
        while i < N {
            let doubled = 2 * x[i] + carry;
            x[i] = doubled & MASK;
            carry = doubled >> BITS;
            let d = x[i].wrapping_sub(p[i]).wrapping_sub(borrow);
            difference[i] = d & MASK;
            borrow = d >> 63;
            i += 1;
        }
        if borrow == 0 {
            x = difference;
        }
        done += 1;
    }
    x
}

/// -1/p modulo 2^52, for odd p: Newton's iteration doubles the correct bits each time, from 3.
pub(super) const fn negated_inverse(p: u64) -> u64 {
    let mut x = p;
    let mut bits = 3;
    while bits < BITS {
        x = x.wrapping_mul(2u64.wrapping_sub(p.wrapping_mul(x)));
        bits *= 2;
    }
    x.wrapping_neg() & MASK
}

/// A constant in every lane.
#[inline(always)]
pub(super) fn splat<L: Lanes, const N: usize>(digits: &[u64; N]) -> [L; N] {
    let mut a = zero::<L, N>();
    each!(i < N => { a[i] = L::splat(digits[i]); });
    a
}

/// Zero.
#[inline(always)]
pub(super) fn zero<L: Lanes, const N: usize>() -> [L; N] {
    [L::splat(0); N]
}

/// Overwrites a number that was secret.
#[inline(always)]
pub(super) fn wipe<L: Lanes, const N: usize>(a: &mut [L; N]) {
    for digit in a {
        // SAFETY: a valid, aligned place of a type without a destructor; volatile, so that the
        // store is not dropped as dead.
        unsafe { core::ptr::write_volatile(digit, L::splat(0)) };
    }
}

/// a + b, raw.
#[inline(always)]
pub(super) fn add<L: Lanes, const N: usize>(a: [L; N], b: [L; N]) -> [L; N] {
    let mut sum = a;
    each!(i < N => { sum[i] = a[i].add(b[i]); });
    sum
}

/// a - b, raw.
#[inline(always)]
pub(super) fn sub<L: Lanes, const N: usize>(a: [L; N], b: [L; N]) -> [L; N] {
    let mut difference = a;
    each!(i < N => { difference[i] = a[i].sub(b[i]); });
    difference
}

/// 2a, raw.
#[inline(always)]
pub(super) fn double<L: Lanes, const N: usize>(a: [L; N]) -> [L; N] {
    add(a, a)
}

/// a where the mask is set, else b.
#[inline(always)]
pub(super) fn select<L: Lanes, const N: usize>(mask: L::Mask, a: [L; N], b: [L; N]) -> [L; N] {
    let mut chosen = a;
    each!(i < N => { chosen[i] = L::select(mask, a[i], b[i]); });
    chosen
}

/// Raw to carried. The number must be in `0..2^(52 N)`; if it is negative, the last digit is
/// negative and the others are carried.
#[inline(always)]
pub(super) fn carry<L: Lanes, const N: usize>(mut a: [L; N]) -> [L; N] {
    let mask = L::splat(MASK);
    each!(i < N - 1 => {
        a[i + 1] = a[i + 1].add(a[i].sar::<52>());
        a[i] = a[i].and(mask);
    });
    a
}

/// Where a carried number is zero.
#[inline(always)]
pub(super) fn is_zero<L: Lanes, const N: usize>(a: [L; N]) -> L::Mask {
    let mut any = a[0];
    each!(i < N => { any = any.or(a[i]); });
    any.eq(L::splat(0))
}

/// Where the carried number a is less than b. Also the difference a - b, carried where it is not
/// negative.
#[inline(always)]
pub(super) fn less<L: Lanes, const N: usize>(a: [L; N], b: [L; N]) -> (L::Mask, [L; N]) {
    let difference = carry(sub(a, b));
    (L::splat(i64::MAX.cast_unsigned()).lt(difference[N - 1]), difference)
}

/// a - b where that is not negative, else a. Both carried.
#[inline(always)]
pub(super) fn reduce_once<L: Lanes, const N: usize>(a: [L; N], b: [L; N]) -> [L; N] {
    let (less, difference) = less(a, b);
    select::<L, N>(less, a, difference)
}

/// Adds a b to the columns.
#[inline(always)]
pub(super) fn add_product<L: Lanes, const N: usize>(t: &mut [L; COLUMNS], a: &[L; N], b: &[L; N]) {
    each!(i < N => {
        each!(j < N => { t[i + j] = t[i + j].madd_lo(a[i], b[j]); });
        each!(j < N => { t[i + j + 1] = t[i + j + 1].madd_hi(a[i], b[j]); });
    });
}

/// The columns of a^2: the products of different digits once, doubled, then the squares.
#[inline(always)]
pub(super) fn square<L: Lanes, const N: usize>(a: &[L; N]) -> [L; COLUMNS] {
    let mut t = zero::<L, COLUMNS>();
    each!(i < N => {
        each!(j < N => {
            if i < j {
                t[i + j] = t[i + j].madd_lo(a[i], a[j]);
                t[i + j + 1] = t[i + j + 1].madd_hi(a[i], a[j]);
            }
        });
    });
    each!(i < N => {
        if i > 0 {
            t[2 * i - 1] = t[2 * i - 1].add(t[2 * i - 1]);
            t[2 * i] = t[2 * i].add(t[2 * i]);
        }
    });
    each!(i < N => {
        t[2 * i] = t[2 * i].madd_lo(a[i], a[i]);
        t[2 * i + 1] = t[2 * i + 1].madd_hi(a[i], a[i]);
    });
    t
}
