//! AES-GCM (SP 800-38D) of whole texts with nonces of 12 bytes and little associated data.
//!
//! What counts for a short text is how few instructions it takes: with few, the processor works on
//! several texts of a batch at once, and hides how long each waits for its rounds. So up to 511 bytes,
//! with their associated data and lengths, are multiplied by as many powers of the hash key and reduced
//! once; longer texts begin with steps of 512 bytes.
//!
//! GHASH is computed as POLYVAL of the blocks with their bytes turned around (RFC 8452 appendix A),
//! whose reduction takes two carry-less products.
//!
//! No branch and no address depends on a key or a text. There is a [`Key`] only where there is
//! AVX-512: [`gcm`](super::gcm) serves the others. Tested against AWS-LC in
//! `tests/aes_gcm.rs`.

use core::arch::x86_64::*;

use lookaside_simd::Cpu;

use super::blocks::{Blocks, cipher, last_rounds, round, whiten};
use super::gcm::field::{reduce, times_x};
use super::modes::{load, store};
use super::{BLOCK, Schedule, schedule};
use crate::Text;
use crate::wipe::wipe;

/// The most associated data in bytes: three blocks, beside which the lengths lie in one register.
pub const MOST_AAD: usize = 48;

/// Blocks that are reduced together, at most.
const TOGETHER: usize = 32;

/// Registers of these.
const REGISTERS: usize = TOGETHER / 4;

/// Bytes of these.
const STEP: usize = TOGETHER * BLOCK;

/// The highest power of the hash key: of the first of three blocks of associated data before
/// [`TOGETHER`] blocks of text and the lengths.
const POWERS: usize = TOGETHER + 4;

/// An expanded key. Overwritten when dropped.
#[repr(C, align(64))]
pub struct Key {
    /// The powers of the hash key, the highest first; what is loaded beyond the last is not used.
    powers: [[u8; BLOCK]; POWERS + 4],
    encrypt: Schedule,
}

impl Drop for Key {
    fn drop(&mut self) {
        wipe(&mut self.powers);
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// Expands a key; none below AVX-512, and where the key has another length than 16, 24 or 32
    /// bytes.
    pub fn new(cpu: &Cpu, key: &[u8]) -> Option<Key> {
        cpu.avx512()?;
        if !matches!(key.len(), 16 | 24 | 32) {
            return None;
        }
        // SAFETY: the token proves the features.
        Some(unsafe { expand(key) })
    }

    /// Encrypts a text and gives the tag of it and its associated data, of at most [`MOST_AAD`] bytes.
    ///
    /// # Panics
    /// When there is more associated data, or the destination is shorter than its source.
    #[inline]
    pub fn seal(&self, nonce: &[u8; 12], aad: &[u8], mut text: Text<'_>) -> [u8; BLOCK] {
        assert!(aad.len() <= MOST_AAD, "too much associated data");
        let (src, dst, len) = text.pointers();
        // SAFETY: there is a key only with a token that proves the features; the pointers come from
        // the text, with its length.
        unsafe { run::<true>(self, nonce, aad, src, dst, len) }
    }

    /// Decrypts a text and gives the tag of the ciphertext and its associated data: the caller
    /// compares it, and releases nothing where it differs.
    ///
    /// # Panics
    /// As [`Key::seal`].
    #[inline]
    pub fn open(&self, nonce: &[u8; 12], aad: &[u8], mut text: Text<'_>) -> [u8; BLOCK] {
        assert!(aad.len() <= MOST_AAD, "too much associated data");
        let (src, dst, len) = text.pointers();
        // SAFETY: as above.
        unsafe { run::<false>(self, nonce, aad, src, dst, len) }
    }
}

/// # Safety
/// The CPU has the features.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq,avx2")]
unsafe fn expand(key: &[u8]) -> Key {
    let mut expanded = Key { powers: [[0; BLOCK]; POWERS + 4], encrypt: Schedule::EMPTY };
    schedule::expand(key, &mut expanded.encrypt);
    let mut hash_key = [__m128i::repeat(_mm_setzero_si128())];
    cipher::<__m128i, 1, true>(&expanded.encrypt, &mut hash_key);
    let first = times_x(hash_key[0].swap_bytes());
    let mut power = first;
    for place in expanded.powers[..POWERS].iter_mut().rev() {
        // SAFETY: a block.
        unsafe { power.store(place.as_mut_ptr()) };
        let (wide, first) = (_mm512_zextsi128_si512(power), _mm512_zextsi128_si512(first));
        power = Products::of(wide, first).reduced();
    }
    expanded
}

/// Sums of carry-less products of 128 by 128 bits, not yet reduced.
///
/// The methods are inlined into functions that have the features.
struct Products {
    low: __m512i,
    middle: __m512i,
    high: __m512i,
}

impl Products {
    #[inline(always)]
    fn of(a: __m512i, b: __m512i) -> Products {
        // SAFETY: as above.
        unsafe {
            Products {
                low: _mm512_clmulepi64_epi128::<0x00>(a, b),
                middle: _mm512_xor_si512(
                    _mm512_clmulepi64_epi128::<0x01>(a, b),
                    _mm512_clmulepi64_epi128::<0x10>(a, b),
                ),
                high: _mm512_clmulepi64_epi128::<0x11>(a, b),
            }
        }
    }

    #[inline(always)]
    fn add(&mut self, a: __m512i, b: __m512i) {
        // SAFETY: as above.
        unsafe {
            let low = _mm512_clmulepi64_epi128::<0x00>(a, b);
            let one = _mm512_clmulepi64_epi128::<0x01>(a, b);
            let other = _mm512_clmulepi64_epi128::<0x10>(a, b);
            let high = _mm512_clmulepi64_epi128::<0x11>(a, b);
            self.low = _mm512_xor_si512(self.low, low);
            // The exclusive or of all three.
            self.middle = _mm512_ternarylogic_epi64::<0x96>(self.middle, one, other);
            self.high = _mm512_xor_si512(self.high, high);
        }
    }

    /// The sum of the four products, times x^-128 modulo POLYVAL's polynomial.
    #[inline(always)]
    fn reduced(self) -> __m128i {
        #[inline(always)]
        fn folded(sum: __m512i) -> __m128i {
            // SAFETY: as above.
            unsafe {
                let halves = _mm256_xor_si256(
                    _mm512_castsi512_si256(sum),
                    _mm512_extracti64x4_epi64::<1>(sum),
                );
                _mm_xor_si128(_mm256_castsi256_si128(halves), _mm256_extracti128_si256::<1>(halves))
            }
        }
        reduce(folded(self.low), folded(self.middle), folded(self.high))
    }
}

/// Four powers of the hash key, from `first` downwards.
#[inline(always)]
fn powers(key: &Key, first: usize) -> __m512i {
    let from = key.powers[POWERS - first..].as_ptr();
    debug_assert!((1..=POWERS).contains(&first));
    // SAFETY: the table goes on for three more than the last power.
    unsafe { _mm512_loadu_si512(from.cast()) }
}

/// What is encrypted or decrypted next.
struct Next {
    /// Counters, with their bytes turned around.
    counters: __m512i,
    src: *const u8,
    dst: *mut u8,
}

/// `N` registers of text, of which the mask says what the last one has. `power` is that of the first
/// block's.
///
/// # Safety
/// So many bytes are readable and writable; inlined into a function that has the features.
#[inline(always)]
unsafe fn blocks<const N: usize, const SEAL: bool>(
    key: &Key,
    next: &mut Next,
    products: &mut Products,
    power: usize,
    mask: u64,
) {
    // SAFETY: the caller's.
    unsafe {
        let mut state = [next.counters; N];
        for register in &mut state {
            *register = next.counters.swap_bytes();
            next.counters = next.counters.add(4);
        }
        cipher::<__m512i, N, true>(&key.encrypt, &mut state);
        for (i, keystream) in state.into_iter().enumerate() {
            let (src, dst) = (next.src.wrapping_add(64 * i), next.dst.wrapping_add(64 * i));
            let ciphertext = if i + 1 < N {
                let given = <__m512i as Blocks>::load(src);
                let made = keystream.xor(given);
                made.store(dst);
                if SEAL { made } else { given }
            } else {
                let given = _mm512_maskz_loadu_epi8(mask, src.cast());
                let made = keystream.xor(given);
                _mm512_mask_storeu_epi8(dst.cast(), mask, made);
                if SEAL { _mm512_maskz_mov_epi8(mask, made) } else { given }
            };
            products.add(ciphertext.swap_bytes(), powers(key, power - 4 * i));
        }
    }
    next.src = next.src.wrapping_add(64 * N);
    next.dst = next.dst.wrapping_add(64 * N);
}

/// A whole step: encrypts or decrypts eight registers, and in the shade of that adds the products of
/// others of ciphertext: while they waited for their own rounds they would keep the next ones out.
/// Returns what it made.
///
/// # Safety
/// [`STEP`] bytes are readable and writable; inlined into a function that has the features.
#[inline(always)]
unsafe fn step<const SEAL: bool>(
    key: &Key,
    next: &mut Next,
    mut hashed: Option<(&mut Products, [__m512i; REGISTERS])>,
) -> [__m512i; REGISTERS] {
    let mut state = [next.counters; REGISTERS];
    for register in &mut state {
        *register = next.counters.swap_bytes();
        next.counters = next.counters.add(4);
    }
    whiten(&key.encrypt.keys[0], &mut state);
    for i in 0..REGISTERS {
        round::<__m512i, REGISTERS, true>(&key.encrypt.keys[i + 1], &mut state);
        if let Some((products, ciphertext)) = &mut hashed {
            products.add(ciphertext[i].swap_bytes(), powers(key, TOGETHER - 4 * i));
        }
    }
    round::<__m512i, REGISTERS, true>(&key.encrypt.keys[9], &mut state);
    last_rounds::<__m512i, REGISTERS, true>(&key.encrypt, &mut state);
    // SAFETY: the caller's.
    unsafe {
        let given: [__m512i; REGISTERS] = load(next.src);
        for (made, given) in state.iter_mut().zip(given) {
            *made = made.xor(given);
        }
        store(&state, next.dst);
    }
    next.src = next.src.wrapping_add(STEP);
    next.dst = next.dst.wrapping_add(STEP);
    state
}

/// Adds the products of a step's ciphertext.
#[inline(always)]
fn hash(key: &Key, products: &mut Products, ciphertext: &[__m512i; REGISTERS]) {
    for (i, register) in ciphertext.iter().enumerate() {
        products.add(register.swap_bytes(), powers(key, TOGETHER - 4 * i));
    }
}

/// # Safety
/// The CPU has the features; `len` bytes are readable and writable, in place or apart; `aad` has at most
/// [`MOST_AAD`] bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq,bmi2")]
unsafe fn run<const SEAL: bool>(
    key: &Key,
    nonce: &[u8; 12],
    aad: &[u8],
    src: *const u8,
    dst: *mut u8,
    len: usize,
) -> [u8; BLOCK] {
    // SAFETY: bytes that the masks leave out are not touched; the others are the caller's.
    unsafe {
        let nonce = _mm_maskz_loadu_epi8(0xfff, nonce.as_ptr().cast()).swap_bytes();
        // The first counter, 1, is the tag's.
        let counters = _mm512_set_epi64(0, 5, 0, 4, 0, 3, 0, 2);
        let counters = _mm512_or_si512(__m512i::repeat(nonce), counters);
        let mut next = Next { counters, src, dst };
        // What is hashed before a step's text: associated data, or what was reduced before.
        let mut before = _mm512_maskz_loadu_epi8(bits(aad.len()), aad.as_ptr().cast()).swap_bytes();
        let mut before_blocks = aad.len().div_ceil(BLOCK);
        let mut left = len;
        // Sealing hashes what the step before has made.
        let mut made = None;
        if SEAL && left >= STEP {
            made = Some(step::<SEAL>(key, &mut next, None));
            left -= STEP;
        }
        while left >= STEP {
            let mut products = Products::of(before, powers(key, before_blocks + TOGETHER));
            let ciphertext = match made {
                Some(made) => made,
                None => load(next.src),
            };
            let state = step::<SEAL>(key, &mut next, Some((&mut products, ciphertext)));
            made = SEAL.then_some(state);
            // It is added to the next block: it has no power of its own.
            (before, before_blocks) = (_mm512_zextsi128_si512(products.reduced()), 0);
            left -= STEP;
        }
        if let Some(made) = made {
            let mut products = Products::of(before, powers(key, before_blocks + TOGETHER));
            hash(key, &mut products, &made);
            (before, before_blocks) = (_mm512_zextsi128_si512(products.reduced()), 0);
        }
        let mut power = left.div_ceil(BLOCK) + 1;
        let lengths = _mm_set_epi64x(8 * aad.len() as i64, 8 * len as i64);
        let before = _mm512_inserti64x2::<3>(before, lengths);
        let first = __m128i::load(key.powers[POWERS - 1].as_ptr());
        let of_before = _mm512_inserti64x2::<3>(powers(key, before_blocks + power), first);
        let mut products = Products::of(before, of_before);
        if left > 256 {
            blocks::<4, SEAL>(key, &mut next, &mut products, power, u64::MAX);
            (left, power) = (left - 256, power - 16);
        }
        let mask = bits(left.wrapping_sub(1) % 64 + 1);
        match left.div_ceil(64) {
            0 => {}
            1 => blocks::<1, SEAL>(key, &mut next, &mut products, power, mask),
            2 => blocks::<2, SEAL>(key, &mut next, &mut products, power, mask),
            3 => blocks::<3, SEAL>(key, &mut next, &mut products, power, mask),
            _ => blocks::<4, SEAL>(key, &mut next, &mut products, power, mask),
        }
        let mut whitening = [_mm_or_si128(nonce, _mm_set_epi64x(0, 1)).swap_bytes()];
        cipher::<__m128i, 1, true>(&key.encrypt, &mut whitening);
        let mut tag = [0; BLOCK];
        whitening[0].xor(products.reduced().swap_bytes()).store(tag.as_mut_ptr());
        tag
    }
}

/// The lowest `n` bits, 0 to 64.
#[inline(always)]
fn bits(n: usize) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}
