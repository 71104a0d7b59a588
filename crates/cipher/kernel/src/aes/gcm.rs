//! AES-GCM and GMAC (SP 800-38D): whole messages and messages in pieces, with nonces and associated data
//! of any length. [`gcm_burst`](super::gcm_burst) is quicker where several short messages follow each
//! other.
//!
//! ```text
//! C[i] = P[i] ^ AES(K, J0 + 1 + i)          inc32 counters
//! T    = GHASH(H, A || C || lengths) ^ AES(K, J0),   H = AES(K, 0)
//! ```
//!
//! 1. Registers have two blocks with VAES and VPCLMULQDQ, one with AES-NI and PCLMULQDQ; with AVX-512 those
//!    of the steps of long plaintexts have four. A step is eight registers: their rounds, and beside each
//!    round the products of one register of ciphertext. A step that encrypts hashes what the step before
//!    made.
//! 2. A step's products are summed with eight registers of powers of the hash key and reduced once. What
//!    is left of a message after its last step, with the block of lengths, is one sum too; so is a
//!    short message with its associated data.
//! 3. What counts for a short message is how few instructions it takes: with few, the CPU works on
//!    several messages of a burst at once.
//!
//! No branch and no address depends on a key or a text. Tested against AWS-LC in `tests/aes_gcm.rs`,
//! the units against each other below.

pub(super) mod field;
mod pieces;
#[cfg(test)]
mod tests;

use core::arch::x86_64::*;
use core::fmt;
use core::mem::MaybeUninit;

use lookaside_secure::SecureBox;
use lookaside_simd::Cpu;

use self::field::{Field, Products, fill, times_x};
use self::pieces::{begin, end, more_aad, more_text};
use super::blocks::{Blocks, cipher, last_rounds, round, whiten};
use super::{BLOCK, Schedule, Unit, schedule};
use crate::Text;
use crate::wipe::wipe;

/// Registers of a step.
const REGISTERS: usize = 8;

/// The highest power of the hash key: a step of registers of four blocks.
const POWERS: usize = 32;

/// The highest power of narrower registers, of which a step has 16 blocks. A message is short when all of
/// it is one sum: its ciphertext, a few blocks of associated data, and the lengths.
const SHORT: usize = 20;

/// Bytes of plaintext from which on registers of four blocks are quicker than those of two. Measured on
/// Emerald Rapids.
const LONG: usize = 1024;

/// An expanded key. Overwritten when dropped.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct Key {
    /// The powers of the hash key, the highest first. What is loaded behind the last one is multiplied
    /// by zeros.
    powers: [[u8; BLOCK]; POWERS + 4],
    /// The sum of each power's halves, in both halves.
    sums: [[u8; BLOCK]; POWERS + 4],
    encrypt: Schedule,
    unit: Unit,
}

impl Drop for Key {
    fn drop(&mut self) {
        wipe(&mut self.powers);
        wipe(&mut self.sums);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// A message under way. Overwritten when dropped.
#[derive(Clone)]
pub struct Message {
    /// The next counter block, with its bytes in reverse order.
    counter: [u8; BLOCK],
    /// The hash of what came before the pending block.
    hash: [u8; BLOCK],
    /// What encrypts the tag.
    mask: [u8; BLOCK],
    /// The counter block encrypted that goes with the pending block, where that is ciphertext.
    keystream: [u8; BLOCK],
    /// A block of associated data or ciphertext that is not complete.
    pending: [u8; BLOCK],
    /// How many bytes of it there are, 0 to 15.
    used: usize,
    aad_len: u64,
    text_len: u64,
}

impl Message {
    /// Of no key.
    const EMPTY: Message = Message {
        counter: [0; BLOCK],
        hash: [0; BLOCK],
        mask: [0; BLOCK],
        keystream: [0; BLOCK],
        pending: [0; BLOCK],
        used: 0,
        aad_len: 0,
        text_len: 0,
    };
}

impl Drop for Message {
    fn drop(&mut self) {
        wipe(&mut self.hash);
        wipe(&mut self.mask);
        wipe(&mut self.keystream);
        wipe(&mut self.pending);
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Message(..)")
    }
}

/// Runs a function on the key's unit.
macro_rules! on_unit {
    ($key:ident, $name:ident($($argument:expr),*)) => {
        match $key.unit {
            // SAFETY: the unit is Vaes only where an `Avx512` token proved the features. Pointers come
            // from `Text::pointers` with the length that is passed.
            Unit::Vaes => unsafe { vaes::$name($key, $($argument),*) },
            // SAFETY: the same with a `Vaes` token.
            Unit::Vaes256 => unsafe { vaes_256::$name($key, $($argument),*) },
            // SAFETY: the same with an `Avx2` token.
            Unit::AesNi => unsafe { aes_ni::$name($key, $($argument),*) },
        }
    };
}

impl Key {
    /// Expands a key where it stays, in memory for keys. None below AVX2, and where the key has another
    /// length than 16, 24 or 32 bytes.
    pub fn boxed(cpu: &Cpu, key: &[u8]) -> Option<SecureBox<Key>> {
        let unit = match (cpu.avx512(), cpu.vaes(), cpu.avx2()) {
            (Some(_), ..) => Unit::Vaes,
            (None, Some(_), _) => Unit::Vaes256,
            (None, None, Some(_)) => Unit::AesNi,
            (None, None, None) => return None,
        };
        Key::on(unit, key)
    }

    fn on(unit: Unit, key: &[u8]) -> Option<SecureBox<Key>> {
        if !matches!(key.len(), 16 | 24 | 32) {
            return None;
        }
        // Where it stays: what is moved there takes the stack of a job, which is small.
        let mut expanded = SecureBox::<MaybeUninit<Key>>::zeroed();
        // SAFETY: all fields but the unit are numbers and arrays of these, zeros; the unit is written.
        let mut expanded = unsafe {
            (&raw mut (*expanded.as_mut_ptr()).unit).write(unit);
            expanded.assume_init()
        };
        // SAFETY: all units have AES-NI, PCLMULQDQ and AVX2.
        unsafe { expand(&mut expanded, key) };
        Some(expanded)
    }

    /// Encrypts a text and makes the tag of it and its associated data.
    ///
    /// # Panics
    /// When the destination is shorter than its source.
    #[inline]
    pub fn seal(&self, iv: &[u8], aad: &[u8], mut text: Text<'_>) -> [u8; BLOCK] {
        let (src, dst, len) = text.pointers();
        on_unit!(self, seal(iv, aad, src, dst, len))
    }

    /// Decrypts a text and makes the tag of the ciphertext and its associated data: the caller compares
    /// it, and releases nothing where it differs.
    ///
    /// # Panics
    /// As [`Key::seal`].
    #[inline]
    pub fn open(&self, iv: &[u8], aad: &[u8], mut text: Text<'_>) -> [u8; BLOCK] {
        let (src, dst, len) = text.pointers();
        on_unit!(self, open(iv, aad, src, dst, len))
    }

    /// The tag of data that are only authenticated: GMAC.
    #[inline]
    pub fn mac(&self, iv: &[u8], data: &[u8]) -> [u8; BLOCK] {
        on_unit!(self, mac(iv, data))
    }

    /// The beginning of a message in pieces.
    pub fn start(&self, iv: &[u8]) -> Message {
        let mut message = Message::EMPTY;
        self.restart(&mut message, iv);
        message
    }

    /// The beginning of another message in the memory of one.
    #[inline]
    pub fn restart(&self, message: &mut Message, iv: &[u8]) {
        on_unit!(self, restart(message, iv));
    }

    /// More associated data, before any plaintext or ciphertext.
    #[inline]
    pub fn aad(&self, message: &mut Message, aad: &[u8]) {
        on_unit!(self, aad(message, aad));
    }

    /// Encrypts more of a text.
    ///
    /// # Panics
    /// As [`Key::seal`].
    #[inline]
    pub fn encrypt(&self, message: &mut Message, mut text: Text<'_>) {
        let (src, dst, len) = text.pointers();
        on_unit!(self, encrypt(message, src, dst, len));
    }

    /// Decrypts more of a text.
    ///
    /// # Panics
    /// As [`Key::seal`].
    #[inline]
    pub fn decrypt(&self, message: &mut Message, mut text: Text<'_>) {
        let (src, dst, len) = text.pointers();
        on_unit!(self, decrypt(message, src, dst, len));
    }

    /// The tag of a message that is complete: nothing may follow.
    #[inline]
    pub fn tag(&self, message: &mut Message) -> [u8; BLOCK] {
        on_unit!(self, tag(message))
    }
}

/// # Safety
/// The CPU has the features.
#[target_feature(enable = "avx2,bmi1,bmi2,aes,pclmulqdq")]
unsafe fn expand(expanded: &mut Key, key: &[u8]) {
    schedule::expand(key, &mut expanded.encrypt);
    let mut hash_key = [_mm_setzero_si128()];
    cipher::<__m128i, 1, true>(&expanded.encrypt, &mut hash_key);
    let lowest = match expanded.unit {
        Unit::Vaes => 0..POWERS,
        Unit::Vaes256 | Unit::AesNi => POWERS - SHORT..POWERS,
    };
    let (powers, sums) = (&mut expanded.powers[lowest.clone()], &mut expanded.sums[lowest]);
    fill(powers, sums, times_x(hash_key[0].swap_bytes()));
}

// The functions below are inlined into the entries at the end, which have the features.

#[inline(always)]
fn zero() -> __m128i {
    // SAFETY: as above.
    unsafe { _mm_setzero_si128() }
}

/// The first block of a counter of 32 bits, which is the tag's: with its bytes in reverse order.
#[inline(always)]
fn first_counter<V: Field>(key: &Key, iv: &[u8]) -> __m128i {
    if let Some((iv, [])) = iv.split_first_chunk::<12>() {
        let [a, b, c] = *iv.as_chunks::<4>().0 else { unreachable!("12 bytes") };
        let [a, b, c] = [a, b, c].map(|word| u32::from_be_bytes(word).cast_signed());
        // SAFETY: as above.
        return unsafe { _mm_set_epi32(a, b, c, 1) };
    }
    let hash = absorb::<V>(key, zero(), iv);
    // SAFETY: as above.
    let lengths = unsafe { _mm_set_epi64x(0, 8 * iv.len() as i64) };
    one(key, hash.xor(lengths))
}

/// A block times the hash key.
#[inline(always)]
fn one(key: &Key, block: __m128i) -> __m128i {
    let mut products = Products::<__m128i>::none();
    products.add(key, block, 1);
    products.reduced()
}

/// A block encrypted, its bytes in reverse order before.
#[inline(always)]
fn encrypted(key: &Key, counter: __m128i) -> __m128i {
    let mut state = [counter.swap_bytes()];
    cipher::<__m128i, 1, true>(&key.encrypt, &mut state);
    state[0]
}

/// The hash after more data, the last block of which is filled up with zeros.
#[inline(always)]
fn absorb<V: Field>(key: &Key, mut hash: __m128i, data: &[u8]) -> __m128i {
    let mut src = data.as_ptr();
    let mut left = data.len();
    while left > 0 {
        let len = left.min(REGISTERS * V::LEN);
        let mut products = Products::none();
        // SAFETY: so many bytes are left.
        unsafe { add_data::<V>(key, &mut products, hash, src, len, len.div_ceil(BLOCK)) };
        hash = products.reduced();
        src = src.wrapping_add(len);
        left -= len;
    }
    hash
}

/// Adds the products of data with powers from `power` downwards; `before` is added to the first block.
///
/// # Safety
/// `len` bytes are readable.
#[inline(always)]
unsafe fn add_data<V: Field>(
    key: &Key,
    products: &mut Products<V>,
    before: __m128i,
    src: *const u8,
    len: usize,
    mut power: usize,
) {
    let (mut at, mut before) = (0, V::alone(before));
    while len - at >= V::LEN {
        // SAFETY: so many bytes are left.
        let blocks = unsafe { V::load(src.wrapping_add(at)) }.swap_bytes();
        products.add(key, blocks.xor(before), power);
        before = V::alone(zero());
        (at, power) = (at + V::LEN, power.wrapping_sub(V::BLOCKS));
    }
    if at < len {
        // SAFETY: so many bytes are left.
        let blocks = unsafe { V::load_part(src.wrapping_add(at), len - at) }.swap_bytes();
        products.add(key, blocks.xor(before), power);
    }
}

/// What is encrypted or decrypted next.
struct Next<V> {
    /// Counters, with their bytes in reverse order.
    counters: V,
    src: *const u8,
    dst: *mut u8,
}

impl<V: Field> Next<V> {
    /// The same for other registers.
    #[inline(always)]
    fn widened<W: Field>(&self) -> Next<W> {
        let Next { counters, src, dst } = *self;
        Next { counters: W::count_from(counters.first()), src, dst }
    }

    /// Counter blocks for `N` registers.
    #[inline(always)]
    fn count<const N: usize>(&mut self) -> [V; N] {
        let mut state = [self.counters; N];
        for register in &mut state {
            *register = self.counters.swap_bytes();
            self.counters = self.counters.add_32(V::BLOCKS as i32);
        }
        state
    }

    #[inline(always)]
    fn advance(&mut self, len: usize) {
        self.src = self.src.wrapping_add(len);
        self.dst = self.dst.wrapping_add(len);
    }
}

/// A step: encrypts or decrypts eight registers. Beside the rounds it adds the products of as many
/// registers of ciphertext at `hashed`, to whose first block a block is added.
///
/// # Safety
/// So many bytes are readable and writable, and readable at `hashed`.
#[inline(always)]
unsafe fn step<V: Field>(
    key: &Key,
    next: &mut Next<V>,
    mut hashed: Option<(&mut Products<V>, *const u8, __m128i)>,
) {
    let mut state: [V; REGISTERS] = next.count();
    whiten(&key.encrypt.keys[0], &mut state);
    for i in 0..REGISTERS {
        round::<V, REGISTERS, true>(&key.encrypt.keys[i + 1], &mut state);
        if let Some((products, src, before)) = &mut hashed {
            // SAFETY: the caller's.
            let mut blocks = unsafe { V::load(src.wrapping_add(i * V::LEN)) }.swap_bytes();
            if i == 0 {
                blocks = blocks.xor(V::alone(*before));
            }
            products.add(key, blocks, (REGISTERS - i) * V::BLOCKS);
        }
    }
    round::<V, REGISTERS, true>(&key.encrypt.keys[9], &mut state);
    last_rounds::<V, REGISTERS, true>(&key.encrypt, &mut state);
    for (i, keystream) in state.into_iter().enumerate() {
        let at = i * V::LEN;
        // SAFETY: the caller's.
        unsafe {
            keystream.xor(V::load(next.src.wrapping_add(at))).store(next.dst.wrapping_add(at))
        };
    }
    next.advance(REGISTERS * V::LEN);
}

/// `N` registers of text, the last one of `last` bytes, with powers from `power` downwards. `before` is
/// added to the first block.
///
/// # Safety
/// So many bytes are readable and writable.
#[inline(always)]
unsafe fn few<V: Field, const N: usize, const SEAL: bool>(
    key: &Key,
    next: &mut Next<V>,
    products: &mut Products<V>,
    before: __m128i,
    power: usize,
    last: usize,
) {
    let mut state: [V; N] = next.count();
    cipher::<V, N, true>(&key.encrypt, &mut state);
    for (i, keystream) in state.into_iter().enumerate() {
        let (src, dst) = (next.src.wrapping_add(i * V::LEN), next.dst.wrapping_add(i * V::LEN));
        let mut blocks;
        // SAFETY: the caller's.
        unsafe {
            if i + 1 < N || last == V::LEN {
                let given = V::load(src);
                let made = keystream.xor(given);
                made.store(dst);
                blocks = if SEAL { made } else { given };
            } else {
                let given = V::load_part(src, last);
                let made = keystream.xor(given);
                made.store_part(dst, last);
                // Bytes of the keystream after the last of the ciphertext do not count.
                blocks = if SEAL { V::load_part(dst, last) } else { given };
            }
        }
        blocks = blocks.swap_bytes();
        if i == 0 {
            blocks = blocks.xor(V::alone(before));
        }
        products.add(key, blocks, power.wrapping_sub(i * V::BLOCKS));
    }
    next.advance((N - 1) * V::LEN + last);
}

/// What remains of a text, with powers from `power` downwards: up to `POWERS` blocks.
///
/// # Safety
/// `left` bytes are readable and writable.
#[inline(always)]
unsafe fn remainder<V: Field, const SEAL: bool>(
    key: &Key,
    next: &mut Next<V>,
    products: &mut Products<V>,
    mut before: __m128i,
    mut power: usize,
    mut left: usize,
) {
    // SAFETY: so many bytes are left.
    unsafe {
        while left > 4 * V::LEN {
            few::<V, 4, SEAL>(key, next, products, before, power, V::LEN);
            before = zero();
            left -= 4 * V::LEN;
            power -= 4 * V::BLOCKS;
        }
        let last = left.wrapping_sub(1) % V::LEN + 1;
        match left.div_ceil(V::LEN) {
            0 => {}
            1 => few::<V, 1, SEAL>(key, next, products, before, power, last),
            2 => few::<V, 2, SEAL>(key, next, products, before, power, last),
            3 => few::<V, 3, SEAL>(key, next, products, before, power, last),
            _ => few::<V, 4, SEAL>(key, next, products, before, power, last),
        }
    }
}

/// All steps of a text, with registers `V`: returns the hash, and how many bytes are left, less than a
/// step.
///
/// # Safety
/// `left` bytes are readable and writable.
#[inline(always)]
unsafe fn steps<V: Field, const SEAL: bool>(
    key: &Key,
    next: &mut Next<V>,
    mut hash: __m128i,
    mut left: usize,
) -> (__m128i, usize) {
    let step_len = REGISTERS * V::LEN;
    if left < step_len {
        return (hash, left);
    }
    // SAFETY: so many bytes are left; sealing hashes what the step before has made.
    unsafe {
        if SEAL {
            step(key, next, None);
            left -= step_len;
        }
        while left >= step_len {
            let mut products = Products::none();
            let hashed = if SEAL { next.dst.wrapping_sub(step_len).cast_const() } else { next.src };
            step(key, next, Some((&mut products, hashed, hash)));
            hash = products.reduced();
            left -= step_len;
        }
        if SEAL {
            let mut products = Products::<V>::none();
            let made = next.dst.wrapping_sub(step_len).cast_const();
            add_data(key, &mut products, hash, made, step_len, REGISTERS * V::BLOCKS);
            hash = products.reduced();
        }
    }
    (hash, left)
}

/// The same, but the first steps of a long message have the wider registers `W`.
///
/// # Safety
/// The same.
#[inline(always)]
unsafe fn all_steps<V: Field, W: Field, const SEAL: bool>(
    key: &Key,
    next: &mut Next<V>,
    mut hash: __m128i,
    mut left: usize,
) -> (__m128i, usize) {
    // SAFETY: the caller's.
    unsafe {
        if W::BLOCKS > V::BLOCKS && left >= LONG {
            let mut wide = next.widened::<W>();
            (hash, left) = steps::<W, SEAL>(key, &mut wide, hash, left);
            *next = wide.widened();
        }
        steps::<V, SEAL>(key, next, hash, left)
    }
}

/// A whole message.
///
/// # Safety
/// `len` bytes are readable and writable, in place or apart.
#[inline(always)]
unsafe fn whole<V: Field, W: Field, const SEAL: bool>(
    key: &Key,
    iv: &[u8],
    aad: &[u8],
    src: *const u8,
    dst: *mut u8,
    len: usize,
) -> [u8; BLOCK] {
    let first = first_counter::<V>(key, iv);
    let mask = encrypted(key, first);
    let mut next = Next { counters: V::count_from(first.add_32(1)), src, dst };
    let (aad_blocks, blocks) = (aad.len().div_ceil(BLOCK), len.div_ceil(BLOCK));
    let mut products = Products::<V>::none();
    let (mut hash, mut left) = (zero(), len);
    // SAFETY: the caller's.
    unsafe {
        if aad_blocks + blocks < SHORT {
            let power = aad_blocks + blocks + 1;
            add_data(key, &mut products, hash, aad.as_ptr(), aad.len(), power);
        } else {
            hash = absorb::<V>(key, hash, aad);
            (hash, left) = all_steps::<V, W, SEAL>(key, &mut next, hash, left);
        }
        let power = left.div_ceil(BLOCK) + 1;
        let mut lengths = _mm_set_epi64x(8 * aad.len() as i64, 8 * len as i64);
        if left == 0 {
            lengths = lengths.xor(hash);
        }
        remainder::<V, SEAL>(key, &mut next, &mut products, hash, power, left);
        products.add(key, V::alone(lengths), 1);
        let mut tag = [0; BLOCK];
        mask.xor(products.reduced().swap_bytes()).store(tag.as_mut_ptr());
        tag
    }
}

#[inline(always)]
fn load(block: &[u8; BLOCK]) -> __m128i {
    __m128i::splat(block)
}

#[inline(always)]
fn store(block: &mut [u8; BLOCK], value: __m128i) {
    // SAFETY: a block.
    unsafe { value.store(block.as_mut_ptr()) };
}

macro_rules! entries {
    ($unit:ident, $V:ty, $W:ty, $features:literal) => {
        mod $unit {
            use super::*;

            /// # Safety
            /// The CPU has the features; `len` bytes are readable and writable, in place or apart. The
            /// same for the others.
            #[target_feature(enable = $features)]
            pub unsafe fn seal(
                key: &Key,
                iv: &[u8],
                aad: &[u8],
                src: *const u8,
                dst: *mut u8,
                len: usize,
            ) -> [u8; BLOCK] {
                // SAFETY: the caller's.
                unsafe { whole::<$V, $W, true>(key, iv, aad, src, dst, len) }
            }

            #[target_feature(enable = $features)]
            pub unsafe fn open(
                key: &Key,
                iv: &[u8],
                aad: &[u8],
                src: *const u8,
                dst: *mut u8,
                len: usize,
            ) -> [u8; BLOCK] {
                // SAFETY: the caller's.
                unsafe { whole::<$V, $W, false>(key, iv, aad, src, dst, len) }
            }

            #[target_feature(enable = $features)]
            pub unsafe fn mac(key: &Key, iv: &[u8], data: &[u8]) -> [u8; BLOCK] {
                let nothing: [u8; 0] = [];
                let dst = core::ptr::dangling_mut();
                // SAFETY: there is no text.
                unsafe { whole::<$V, $W, true>(key, iv, data, nothing.as_ptr(), dst, 0) }
            }

            #[target_feature(enable = $features)]
            pub unsafe fn restart(key: &Key, message: &mut Message, iv: &[u8]) {
                begin::<$V>(key, message, iv);
            }

            #[target_feature(enable = $features)]
            pub unsafe fn aad(key: &Key, message: &mut Message, aad: &[u8]) {
                more_aad::<$V>(key, message, aad);
            }

            #[target_feature(enable = $features)]
            pub unsafe fn encrypt(
                key: &Key,
                message: &mut Message,
                src: *const u8,
                dst: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller's.
                unsafe { more_text::<$V, $W, true>(key, message, src, dst, len) }
            }

            #[target_feature(enable = $features)]
            pub unsafe fn decrypt(
                key: &Key,
                message: &mut Message,
                src: *const u8,
                dst: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller's.
                unsafe { more_text::<$V, $W, false>(key, message, src, dst, len) }
            }

            #[target_feature(enable = $features)]
            pub unsafe fn tag(key: &Key, message: &mut Message) -> [u8; BLOCK] {
                end(key, message)
            }
        }
    };
}

entries!(
    vaes,
    __m256i,
    __m512i,
    "avx2,bmi1,bmi2,vaes,vpclmulqdq,aes,pclmulqdq,avx512f,avx512bw,avx512dq,avx512vl"
);
entries!(vaes_256, __m256i, __m256i, "avx2,bmi1,bmi2,vaes,vpclmulqdq,aes,pclmulqdq");
entries!(aes_ni, __m128i, __m128i, "avx2,bmi1,bmi2,aes,pclmulqdq");
