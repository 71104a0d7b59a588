//! Exponentiation: fixed windows where the exponent is secret, bit by bit where it is public.

use zeroize::Zeroizing;

use super::Memory;
use super::digit::{Digit, lane_from_bytes, lane_to_bytes, strip_zeros, words_from_bytes};
use super::modulus::Modulus;
use super::montgomery::{Arithmetic, Moduli, below, canonical, wide_len};
use crate::lanes::declassify;
use crate::memory;

/// One exponentiation: out = base^exponent mod modulus.
pub struct Power<'a> {
    /// The modulus. All lanes of a batch have the same [`Modulus::digits`].
    pub modulus: &'a Modulus,
    /// Big-endian, no longer than the modulus, and below it.
    pub base: &'a [u8],
    /// Big-endian, of any length.
    pub exponent: &'a [u8],
    /// Takes the result: big-endian, exactly [`Modulus::len`] bytes.
    pub out: &'a mut [u8],
    /// Whether `out` holds the result. If not, a length was wrong or the base not below the
    /// modulus, and `out` is all zeros.
    pub ok: bool,
}

/// The window with the least work for an exponent of so many bits. One look-up reads 2^w entries
/// at about a quarter of a percent of a multiplication each (N loads against 4 N^2
/// multiplications in pairs, for N = 20 to 40).
fn window_bits(bits: usize, digits: usize) -> usize {
    let cost = |w: usize| {
        let multiplication = 4 * digits;
        (1 << w) * multiplication + bits.div_ceil(w) * (multiplication + (1 << w))
    };
    (1..=6).min_by_key(|w| cost(*w)).unwrap_or(1)
}

/// How many words exponents of so many bytes take. One more than needed, for windows that reach
/// past the end.
pub(super) const fn exponent_words(bytes: usize) -> usize {
    bytes.div_ceil(8) + 1
}

/// x = x^exponent in Montgomery's form, for exponents of `bits` bits in `words`. Time depends on
/// `bits` alone.
#[inline(always)]
pub(super) fn power_of<A: Arithmetic, const N: usize>(
    x: &mut [Digit; N],
    words: &[Digit],
    bits: usize,
    moduli: &Moduli<N>,
    wide: &mut [Digit],
    table: &mut memory::Memory<Digit>,
) {
    let w = window_bits(bits, N);
    let windows = bits.div_ceil(w);
    let index = |i: usize| {
        let (word, shift) = (i * w / 64, i * w % 64);
        let low = A::load(&words[word].0).shrv(A::splat(shift as u64));
        let high = A::load(&words[word + 1].0).shlv(A::splat(64 - shift as u64));
        low.or(high).and(A::splat((1 << w) - 1))
    };
    let mut table = table.lend(N << w);
    let (table, _) = table.as_chunks_mut();
    table[0] = moduli.r;
    table[1] = *x;
    let mut factor = Zeroizing::new([Digit::ZERO; N]);
    for i in 2..1 << w {
        *factor = table[i / 2];
        A::square(&mut factor, 1, moduli, wide);
        if i % 2 == 1 {
            A::multiply(&mut factor, x, moduli, wide);
        }
        table[i] = *factor;
    }
    *x = moduli.r;
    for i in (0..windows).rev() {
        if i + 1 == windows {
            A::look_up(x, table, index(i));
        } else {
            A::square(x, w, moduli, wide);
            A::look_up(&mut factor, table, index(i));
            A::multiply(x, &factor, moduli, wide);
        }
    }
}

/// The same, bit by bit, for public exponents: time depends on them. A lane whose bit is 0 drops
/// the product that another lane asked for.
#[inline(always)]
pub(super) fn power_of_public<A: Arithmetic, const N: usize>(
    x: &mut [Digit; N],
    exponents: [&[u8]; 8],
    moduli: &Moduli<N>,
    wide: &mut [Digit],
    (words, table): (&mut memory::Memory<Digit>, &mut memory::Memory<Digit>),
) {
    let exponents = exponents.map(strip_zeros);
    let bytes = exponents.iter().map(|exponent| exponent.len()).max().unwrap_or(0);
    let mut words = words.lend(exponent_words(bytes));
    for (lane, exponent) in exponents.into_iter().enumerate() {
        words_from_bytes(exponent, lane, &mut words);
    }
    let bit = |i: usize| words[i / 64].0.map(|word| word >> (i % 64) & 1 == 1);
    let asked = (0..8 * bytes).filter(|i| bit(*i).contains(&true)).count();
    // Past that, windows are faster.
    if asked > 16 + 8 * bytes / 4 {
        return power_of::<A, N>(x, &words, 8 * bytes, moduli, wide, table);
    }
    let base = Zeroizing::new(*x);
    let mut product = Zeroizing::new([Digit::ZERO; N]);
    *x = moduli.r;
    let mut started = false;
    for i in (0..8 * bytes).rev() {
        let bits = bit(i);
        if started {
            A::square(x, 1, moduli, wide);
        }
        if bits.contains(&true) {
            *product = if started { *x } else { *base };
            if started {
                A::multiply(&mut product, &base, moduli, wide);
            }
            for lane in (0..8).filter(|lane| bits[*lane]) {
                for (x, product) in x.iter_mut().zip(&*product) {
                    x.0[lane] = product.0[lane];
                }
            }
            started = true;
        }
    }
}

/// x = x / R mod n, proper and below n.
#[inline(always)]
pub(super) fn leave<A: Arithmetic, const N: usize>(
    x: &mut [Digit; N],
    moduli: &Moduli<N>,
    wide: &mut [Digit],
) {
    let (low, high) = wide[..2 * N].split_at_mut(N);
    low.copy_from_slice(&x[..]);
    high.fill(Digit::ZERO);
    // The upper bits of digits count here, where they are added to.
    super::montgomery::cut::<A>(low);
    A::reduce(x, moduli, wide);
    canonical::<A>(x, &moduli.n);
}

/// One batch, whatever the exponents are.
#[inline(always)]
fn run<A: Arithmetic, const N: usize>(
    Memory { wide, words, table }: &mut Memory,
    lanes: &mut [Power<'_>],
    public: bool,
) {
    assert!((1..=8).contains(&lanes.len()), "one to eight lanes");
    // Lanes that are not used repeat the first.
    let of = |lane: usize| if lane < lanes.len() { &lanes[lane] } else { &lanes[0] };
    let moduli = Moduli::<N>::new(core::array::from_fn(|lane| of(lane).modulus));
    let mut wide = wide.lend(wide_len(N));
    let mut x = Zeroizing::new([Digit::ZERO; N]);
    for lane in 0..8 {
        // What is too long is refused below.
        lane_from_bytes(of(lane).base, lane, &mut *x);
    }
    let fits = declassify(A::mask_bits(below::<A>(&*x, &moduli.n)));

    A::multiply(&mut x, &moduli.r2, &moduli, &mut wide);
    if public {
        let exponents = core::array::from_fn(|lane| of(lane).exponent);
        power_of_public::<A, N>(&mut x, exponents, &moduli, &mut wide, (words, table));
    } else {
        let bytes = lanes.iter().map(|power| power.exponent.len()).max().unwrap_or(0);
        let mut words = words.lend(exponent_words(bytes));
        for lane in 0..8 {
            words_from_bytes(of(lane).exponent, lane, &mut words);
        }
        power_of::<A, N>(&mut x, &words, 8 * bytes, &moduli, &mut wide, table);
    }
    leave::<A, N>(&mut x, &moduli, &mut wide);

    for (lane, power) in lanes.iter_mut().enumerate() {
        let len = power.modulus.len();
        power.ok = fits >> lane & 1 == 1 && power.base.len() <= len && power.out.len() == len;
        if power.ok {
            lane_to_bytes(&*x, lane, power.out);
        } else {
            power.out.fill(0);
        }
    }
}

/// Calls the kernel of the class of `lanes`.
#[inline(always)]
pub(super) fn dispatch<A: Arithmetic>(memory: &mut Memory, lanes: &mut [Power<'_>], public: bool) {
    match lanes.first().map_or(0, |power| power.modulus.digits()) {
        10 => run::<A, 10>(memory, lanes, public),
        15 => run::<A, 15>(memory, lanes, public),
        20 => run::<A, 20>(memory, lanes, public),
        30 => run::<A, 30>(memory, lanes, public),
        40 => run::<A, 40>(memory, lanes, public),
        60 => run::<A, 60>(memory, lanes, public),
        80 => run::<A, 80>(memory, lanes, public),
        _ => {}
    }
}
