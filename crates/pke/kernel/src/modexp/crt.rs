//! The RSA private operation by the Chinese remainder theorem, verified before it is released.
//!
//! For c < n = p q: m_p = c^dp mod p, m_q = c^dq mod q, m = m_q + q ((m_p - m_q) qinv mod p).
//! A fault in one of the two exponentiations would give away a factor (gcd(m^e - c, n)), so
//! m^e = c mod n is checked for each lane and m withheld where it does not hold.

use zeroize::{Zeroize, Zeroizing};

use super::Memory;
use super::digit::{
    BITS, Digit, MASK, digits_from_bytes, lane_from_bytes, lane_from_digits, lane_to_bytes,
    strip_zeros, words_from_bytes,
};
use super::modulus::{CLASSES, Modulus, SLACK};
use super::montgomery::{Arithmetic, Moduli, below, canonical, wide_len};
use super::power::{exponent_words, leave, power_of, power_of_public};
use crate::lanes::{Lanes, declassify};
use crate::memory;

#[cfg(test)]
#[path = "faults.rs"]
mod faults;

/// The longest prime: RSA-4096.
const MAX_PRIME_BITS: usize = 2048;

/// An RSA private key, prepared. Erased on drop.
pub struct CrtKey {
    n: Modulus,
    e: Vec<u8>,
    p: Prime,
    q: Prime,
    /// qinv R mod p.
    qinv: Vec<u64>,
}

/// One of the two primes.
struct Prime {
    modulus: Modulus,
    /// R^3 mod the prime: undoes a reduction and enters Montgomery's form in one multiplication.
    r3: Vec<u64>,
    /// The exponent, as long as the prime.
    exponent: Vec<u8>,
}

impl Prime {
    fn new(prime: &[u8], bits: usize, class: usize, exponent: &[u8]) -> Option<Prime> {
        let modulus = Modulus::of_class(prime, bits, class)?;
        let r3 = modulus.montgomery(&modulus.r2, &modulus.r2);
        let exponent = fit(exponent, modulus.len())?;
        Some(Prime { modulus, r3, exponent })
    }
}

impl Drop for Prime {
    fn drop(&mut self) {
        self.r3.zeroize();
        self.exponent.zeroize();
    }
}

impl Drop for CrtKey {
    fn drop(&mut self) {
        self.qinv.zeroize();
    }
}

/// `bytes` with as many leading zeros as `len` takes, or `None` when the number does not fit.
fn fit(bytes: &[u8], len: usize) -> Option<Vec<u8>> {
    let (above, low) = bytes.split_at(bytes.len().saturating_sub(len));
    if above.iter().fold(0, |any, byte| any | byte) != 0 {
        return None;
    }
    let mut fitted = vec![0; len];
    fitted[len - low.len()..].copy_from_slice(low);
    Some(fitted)
}

impl CrtKey {
    /// Prepares a key; all numbers big-endian, leading zeros are skipped.
    ///
    /// `None` when the kernel does not serve it: n is not p q, the primes differ in length or are
    /// longer than 2048 bits or shorter than 128, e is even or longer than 64 bits, an exponent is longer than its
    /// prime. Whether the exponents and qinv belong to the primes is not checked here: where they
    /// do not, every operation ends as [`Outcome::Fault`].
    pub fn new(
        n: &[u8],
        e: &[u8],
        p: &[u8],
        q: &[u8],
        dp: &[u8],
        dq: &[u8],
        qinv: &[u8],
    ) -> Option<CrtKey> {
        let bits = |number: &[u8]| {
            number.len() * 8 - number.first().map_or(0, |byte| byte.leading_zeros() as usize)
        };
        let (n, e, p, q) = (strip_zeros(n), strip_zeros(e), strip_zeros(p), strip_zeros(q));
        if bits(p) != bits(q)
            || !(128..=MAX_PRIME_BITS).contains(&bits(p))
            || e.len() > 8
            || e.last()? & 1 == 0
        {
            return None;
        }
        let class = CLASSES.into_iter().find(|digits| bits(p) + SLACK <= digits * BITS)?;
        let of_p = Prime::new(p, bits(p), class, dp)?;
        let of_q = Prime::new(q, bits(q), class, dq)?;
        let n = Modulus::of_class(n, bits(n), 2 * class)?;
        if !is_product(&n.n, &of_p.modulus.n, &of_q.modulus.n) {
            return None;
        }
        let mut digits = Zeroizing::new(vec![0; class]);
        digits_from_bytes(&Zeroizing::new(fit(qinv, of_p.modulus.len())?), &mut digits);
        let qinv = of_p.modulus.montgomery(&digits, &of_p.modulus.r2);
        Some(CrtKey { n, e: e.to_vec(), p: of_p, q: of_q, qinv })
    }

    /// Length of the modulus in bits.
    pub fn modulus_bits(&self) -> usize {
        self.n.bits()
    }

    /// How many digits the kernel for it works with, modulo a prime. A batch is of one such class.
    pub fn class(&self) -> usize {
        self.p.modulus.digits()
    }
}

/// n = p q.
fn is_product(n: &[u64], p: &[u64], q: &[u64]) -> bool {
    let mut sum = Zeroizing::new(vec![0u64; n.len()]);
    for (i, p) in p.iter().enumerate() {
        let mut carry = 0u64;
        for (j, q) in q.iter().enumerate() {
            let t = u128::from(*p) * u128::from(*q) + u128::from(sum[i + j].wrapping_add(carry));
            sum[i + j] = t as u64 & MASK;
            carry = (t >> BITS) as u64;
        }
        sum[i + q.len()] = carry;
    }
    let same = sum.iter().zip(n).fold(0, |any, (a, b)| any | (a ^ b)) == 0;
    declassify(u8::from(same)) == 1
}

/// How a private operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The result was verified and is there.
    Done,
    /// A length is wrong, or the input is not below the modulus.
    BadInput,
    /// The result failed its verification and was withheld.
    Fault,
}

/// One private operation: out = input^d mod n.
pub struct Private<'a> {
    /// The key. All lanes of a batch have the same [`CrtKey::class`].
    pub key: &'a CrtKey,
    /// Big-endian, as long as the modulus, and below it.
    pub input: &'a [u8],
    /// Takes the result: big-endian, as long as the modulus. All zeros unless
    /// [`Outcome::Done`].
    pub out: &'a mut [u8],
    /// How it ended.
    pub outcome: Outcome,
}

/// c^exponent modulo the primes that `choose` names, below them.
#[inline(always)]
fn half<A: Arithmetic, const N: usize>(
    c: &[Digit],
    moduli: &Moduli<N>,
    primes: [&Prime; 8],
    wide: &mut [Digit],
    (words, table): (&mut memory::Memory<Digit>, &mut memory::Memory<Digit>),
) -> Zeroizing<[Digit; N]> {
    let len = primes.iter().map(|prime| prime.exponent.len()).max().unwrap_or(0);
    let mut words = words.lend(exponent_words(len));
    let mut r3 = Zeroizing::new([Digit::ZERO; N]);
    for (lane, prime) in primes.into_iter().enumerate() {
        words_from_bytes(&prime.exponent, lane, &mut words);
        lane_from_digits(&prime.r3, lane, &mut *r3);
    }
    let mut x = Zeroizing::new([Digit::ZERO; N]);
    // c < p q < p R, as a reduction wants it.
    wide[..c.len()].copy_from_slice(c);
    A::reduce(&mut x, moduli, wide);
    A::multiply(&mut x, &r3, moduli, wide);
    power_of::<A, N>(&mut x, &words, 8 * len, moduli, wide, table);
    leave::<A, N>(&mut x, moduli, wide);
    x
}

/// x = x - y + 2p, for x < p and y < 2p, with proper digits.
#[inline(always)]
fn difference<L: Lanes>(x: &mut [Digit], y: &[Digit], p: &[Digit]) {
    let mut carry = L::splat(0);
    for ((x, y), p) in x.iter_mut().zip(y).zip(p) {
        let p = L::load(&p.0);
        let t = L::load(&x.0).sub(L::load(&y.0)).add(p).add(p).add(carry);
        carry = t.sar::<{ BITS as u32 }>();
        t.and(L::splat(MASK)).store(&mut x.0);
    }
}

/// wide = wide + x, with carries passed.
#[inline(always)]
fn add_to_product<L: Lanes>(wide: &mut [Digit], x: &[Digit]) {
    let mut carry = L::splat(0);
    for (k, sum) in wide.iter_mut().enumerate() {
        let mut t = L::load(&sum.0).add(carry);
        if let Some(x) = x.get(k) {
            t = t.add(L::load(&x.0));
        }
        carry = t.shr::<{ BITS as u32 }>();
        t.and(L::splat(MASK)).store(&mut sum.0);
    }
}

/// Where x = y.
#[inline(always)]
fn equal<L: Lanes>(x: &[Digit], y: &[Digit]) -> L::Mask {
    let mut any = L::splat(0);
    for (x, y) in x.iter().zip(y) {
        any = any.or(L::load(&x.0).xor(L::load(&y.0)));
    }
    any.eq(L::splat(0))
}

/// One batch. M = 2N, the digits of n.
#[inline(always)]
fn run<A: Arithmetic, const N: usize, const M: usize>(
    Memory { wide, words, table }: &mut Memory,
    lanes: &mut [Private<'_>],
) {
    const { assert!(M == 2 * N) };
    assert!((1..=8).contains(&lanes.len()), "one to eight lanes");
    // Lanes that are not used repeat the first.
    let keys: [&CrtKey; 8] =
        core::array::from_fn(|lane| lanes[if lane < lanes.len() { lane } else { 0 }].key);
    let of_n = Moduli::<M>::new(keys.map(|key| &key.n));
    let of_p = Moduli::<N>::new(keys.map(|key| &key.p.modulus));
    let of_q = Moduli::<N>::new(keys.map(|key| &key.q.modulus));
    let mut wide = wide.lend(wide_len(M));
    let mut c = Zeroizing::new([Digit::ZERO; M]);
    for lane in 0..8 {
        let private = &lanes[if lane < lanes.len() { lane } else { 0 }];
        lane_from_bytes(private.input, lane, &mut *c);
    }
    let fits = declassify(A::mask_bits(below::<A>(&*c, &of_n.n)));

    let m_q = half::<A, N>(&*c, &of_q, keys.map(|key| &key.q), &mut wide, (words, table));
    let mut h = half::<A, N>(&*c, &of_p, keys.map(|key| &key.p), &mut wide, (words, table));
    let mut qinv = Zeroizing::new([Digit::ZERO; N]);
    for (lane, key) in keys.into_iter().enumerate() {
        lane_from_digits(&key.qinv, lane, &mut *qinv);
    }
    // The primes are equally long, so that m_q < q < 2p.
    difference::<A>(&mut *h, &*m_q, &of_p.n);
    A::multiply(&mut h, &qinv, &of_p, &mut wide);
    canonical::<A>(&mut *h, &of_p.n);
    A::product(&mut wide[..M], &h, &of_q.n);
    add_to_product::<A>(&mut wide[..M], &*m_q);
    let mut m = Zeroizing::new([Digit::ZERO; M]);
    m.copy_from_slice(&wide[..M]);

    let mut check = Zeroizing::new(*m);
    A::multiply(&mut check, &of_n.r2, &of_n, &mut wide);
    let e = keys.map(|key| &key.e[..]);
    power_of_public::<A, M>(&mut check, e, &of_n, &mut wide, (words, table));
    leave::<A, M>(&mut check, &of_n, &mut wide);
    let right = declassify(A::mask_bits(equal::<A>(&*check, &*c)));

    for (lane, private) in lanes.iter_mut().enumerate() {
        let len = private.key.n.len();
        let lengths = private.input.len() == len && private.out.len() == len;
        private.outcome = match (lengths && fits >> lane & 1 == 1, right >> lane & 1 == 1) {
            (false, _) => Outcome::BadInput,
            (true, false) => Outcome::Fault,
            (true, true) => Outcome::Done,
        };
        if private.outcome == Outcome::Done {
            lane_to_bytes(&*m, lane, private.out);
        } else {
            private.out.fill(0);
        }
    }
}

/// Calls the kernel of the class of `lanes`.
#[inline(always)]
pub(super) fn dispatch<A: Arithmetic>(memory: &mut Memory, lanes: &mut [Private<'_>]) {
    match lanes.first().map_or(0, |private| private.key.class()) {
        10 => run::<A, 10, 20>(memory, lanes),
        15 => run::<A, 15, 30>(memory, lanes),
        20 => run::<A, 20, 40>(memory, lanes),
        30 => run::<A, 30, 60>(memory, lanes),
        40 => run::<A, 40, 80>(memory, lanes),
        _ => {}
    }
}
