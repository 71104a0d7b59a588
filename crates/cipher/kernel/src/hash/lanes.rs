//! [`Lanes`]: what the compression functions are written over, and its portable form of one lane.

use std::mem::MaybeUninit;

/// `L` words, one of each message, and what the compression functions do with them. The portable
/// form has one lane and is a word.
///
/// A value of a vector type can only be made with the tier's token: so its methods are safe.
pub(super) trait Lanes<const L: usize>: Copy {
    /// One lane: `u32` or `u64`.
    type Word: Copy;
    /// Proof that the CPU has the instructions.
    type Token: Copy;

    /// The same word in every lane.
    fn splat(token: Self::Token, word: Self::Word) -> Self;

    /// The first `words` (at most 8) words at byte `at` of each of `from`, as the CPU stores them:
    /// word `i` of every lane in the vector `i`, and zeros beyond.
    ///
    /// # Safety
    /// Those words can be read from each pointer.
    unsafe fn load8(
        token: Self::Token,
        from: &[*const u8; L],
        at: usize,
        words: usize,
    ) -> [Self; 8];

    /// Copies the block of 64 bytes at byte `at` of one lane to the room, for [`ahead`](Lanes::ahead)
    /// of the next block. Lanes that gain nothing by it leave the room alone.
    ///
    /// # Safety
    /// The block can be read.
    #[inline(always)]
    unsafe fn copy_ahead(room: &mut Room, from: &[*const u8; L], at: usize, lane: usize) {
        let _ = (room, from, at, lane);
    }

    /// Sixteen big-endian words at byte `at` of each of `from`: by way of the room.
    ///
    /// # Safety
    /// They can be read, and [`copy_ahead`](Lanes::copy_ahead) has copied all of them.
    #[inline(always)]
    unsafe fn ahead(
        token: Self::Token,
        room: &Room,
        from: &[*const u8; L],
        at: usize,
    ) -> [Self; 16] {
        let _ = room;
        // SAFETY: by the caller, sixteen words are there.
        unsafe { big_endian16(token, from, at) }
    }

    /// The way back of [`load8`](Lanes::load8).
    ///
    /// # Safety
    /// Those words can be written at each pointer.
    unsafe fn store8(to: &[*mut u8; L], at: usize, words: usize, vectors: [Self; 8]);

    /// Words that were loaded as the CPU stores them, and are big-endian.
    fn big_endian(self) -> Self;
    /// Words that were loaded as the CPU stores them, and are little-endian.
    fn little_endian(self) -> Self;

    fn add(self, other: Self) -> Self;
    /// The same words, of which the compiler knows nothing: it leaves what was added up to here
    /// together, and does not make what comes last wait for all the rest.
    #[inline(always)]
    fn settled(self) -> Self {
        self
    }
    fn xor(self, other: Self) -> Self;
    fn rotate_left(self, bits: u32) -> Self;
    fn shift_right(self, bits: u32) -> Self;
    /// `a ^ b ^ c`
    fn xor3(a: Self, b: Self, c: Self) -> Self;
    /// Bits of `one` where `mask` is one, of `zero` elsewhere.
    fn select(mask: Self, one: Self, zero: Self) -> Self;
    /// What at least two of three say.
    fn majority(a: Self, b: Self, c: Self) -> Self;
    /// `a ^ (b | !c)`
    fn xor_or_not(a: Self, b: Self, c: Self) -> Self;
    /// `a ^ (!b & c)`
    fn xor_not_and(a: Self, b: Self, c: Self) -> Self;
}

/// Sixteen words at byte `at` of each of `from`: one block of most algorithms.
///
/// # Safety
/// They can be read.
#[inline(always)]
pub(super) unsafe fn load16<V: Lanes<L>, const L: usize>(
    token: V::Token,
    from: &[*const u8; L],
    at: usize,
) -> [V; 16] {
    // SAFETY: by the caller, sixteen words are there.
    let (low, high) = unsafe {
        (V::load8(token, from, at, 8), V::load8(token, from, at + 8 * size_of::<V::Word>(), 8))
    };
    [
        low[0], low[1], low[2], low[3], low[4], low[5], low[6], low[7], high[0], high[1], high[2],
        high[3], high[4], high[5], high[6], high[7],
    ]
}

/// The same of big-endian words.
///
/// # Safety
/// They can be read.
#[inline(always)]
pub(super) unsafe fn big_endian16<V: Lanes<L>, const L: usize>(
    token: V::Token,
    from: &[*const u8; L],
    at: usize,
) -> [V; 16] {
    // SAFETY: the caller's.
    let mut words = unsafe { load16::<V, L>(token, from, at) };
    for word in &mut words {
        *word = word.big_endian();
    }
    words
}

/// Room for the next block of each of sixteen messages: 16 bytes each of the messages `i`, `i + 4`,
/// `i + 8`, `i + 12` side by side, which one load takes up.
///
/// Sixteen lanes keep both vector ports busy with nothing but arithmetic. Loads and stores have
/// ports of their own: what they arrange during a block's rounds spares shuffles before the next.
#[repr(align(64))]
pub(super) struct Room(MaybeUninit<[u8; 1024]>);

impl Room {
    pub(super) fn new() -> Room {
        Room(MaybeUninit::uninit())
    }

    /// The same room, which the compiler no longer takes for registers: it would turn the copies
    /// into shuffles.
    pub(super) fn settled(&mut self) -> &mut Room {
        std::hint::black_box(self)
    }

    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
    pub(super) fn as_ptr(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }
}

/// Pointers to write at, as pointers to read from.
#[inline(always)]
pub(super) fn readable<const L: usize>(pointers: &[*mut u8; L]) -> &[*const u8; L] {
    // SAFETY: the two kinds of pointers differ in their type only.
    unsafe { &*std::ptr::from_ref(pointers).cast() }
}

macro_rules! one_lane {
    ($word:ident) => {
        impl Lanes<1> for $word {
            type Word = $word;
            type Token = ();

            #[inline(always)]
            fn splat(_: (), word: $word) -> $word {
                word
            }

            #[inline(always)]
            unsafe fn load8(_: (), from: &[*const u8; 1], at: usize, words: usize) -> [$word; 8] {
                let mut loaded = [0; 8];
                for (i, word) in loaded.iter_mut().enumerate().take(words) {
                    // SAFETY: by the caller, this word can be read.
                    *word = unsafe { from[0].add(at).cast::<$word>().add(i).read_unaligned() };
                }
                loaded
            }

            #[inline(always)]
            unsafe fn store8(to: &[*mut u8; 1], at: usize, words: usize, vectors: [$word; 8]) {
                for (i, word) in vectors.into_iter().enumerate().take(words) {
                    // SAFETY: by the caller, this word can be written.
                    unsafe { to[0].add(at).cast::<$word>().add(i).write_unaligned(word) };
                }
            }

            #[inline(always)]
            fn big_endian(self) -> $word {
                $word::from_be(self)
            }
            #[inline(always)]
            fn little_endian(self) -> $word {
                $word::from_le(self)
            }
            #[inline(always)]
            fn add(self, other: $word) -> $word {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn xor(self, other: $word) -> $word {
                self ^ other
            }
            #[inline(always)]
            fn rotate_left(self, bits: u32) -> $word {
                $word::rotate_left(self, bits)
            }
            #[inline(always)]
            fn shift_right(self, bits: u32) -> $word {
                self >> bits
            }
            #[inline(always)]
            fn xor3(a: $word, b: $word, c: $word) -> $word {
                a ^ b ^ c
            }
            #[inline(always)]
            fn select(mask: $word, one: $word, zero: $word) -> $word {
                zero ^ (mask & (one ^ zero))
            }
            #[inline(always)]
            fn majority(a: $word, b: $word, c: $word) -> $word {
                (a & b) | (c & (a | b))
            }
            #[inline(always)]
            fn xor_or_not(a: $word, b: $word, c: $word) -> $word {
                a ^ (b | !c)
            }
            #[inline(always)]
            fn xor_not_and(a: $word, b: $word, c: $word) -> $word {
                a ^ (!b & c)
            }
        }
    };
}

one_lane!(u32);
one_lane!(u64);
