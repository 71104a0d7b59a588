//! [`Two`]: twice the lanes, by two vectors, for what waits for its own results otherwise.

use super::lanes::Lanes;

/// Two vectors that take turns. MD5 has hardly any work beside the chain from step to step, four
/// instructions long each: a second chain fills the gaps. The others keep two vector units busy by
/// themselves; there are CPUs with more ([`Cpu::wide`](lookaside_simd::Cpu::wide)).
#[derive(Clone, Copy)]
pub(super) struct Two<V>(V, V);

macro_rules! both {
    ($($name:ident($($argument:ident),*);)*) => { $(
        #[inline(always)]
        fn $name($($argument: Self),*) -> Self {
            Two(V::$name($($argument.0),*), V::$name($($argument.1),*))
        }
    )* };
}

macro_rules! twice {
    ($($half:literal makes $whole:literal;)*) => { $(
        impl<V: Lanes<$half>> Lanes<$whole> for Two<V> {
            type Word = V::Word;
            type Token = V::Token;

            #[inline(always)]
            fn splat(token: V::Token, word: V::Word) -> Self {
                Two(V::splat(token, word), V::splat(token, word))
            }

            #[inline(always)]
            unsafe fn load8(token: V::Token, from: &[*const u8; $whole], at: usize, words: usize) -> [Self; 8] {
                let (Some(low), Some(high)) = (from.first_chunk(), from.last_chunk()) else {
                    unreachable!("half of the lanes twice")
                };
                // SAFETY: the caller's.
                let low = unsafe { V::load8(token, low, at, words) };
                // SAFETY: the caller's.
                let high = unsafe { V::load8(token, high, at, words) };
                let mut both = [Two(low[0], high[0]); 8];
                for i in 1..8 {
                    both[i] = Two(low[i], high[i]);
                }
                both
            }

            #[inline(always)]
            unsafe fn store8(to: &[*mut u8; $whole], at: usize, words: usize, vectors: [Self; 8]) {
                let (Some(to_low), Some(to_high)) = (to.first_chunk(), to.last_chunk()) else {
                    unreachable!("half of the lanes twice")
                };
                let (mut low, mut high) = ([vectors[0].0; 8], [vectors[0].1; 8]);
                for i in 1..8 {
                    (low[i], high[i]) = (vectors[i].0, vectors[i].1);
                }
                // SAFETY: the caller's.
                unsafe {
                    V::store8(to_low, at, words, low);
                    V::store8(to_high, at, words, high);
                }
            }

            both! {
                xor3(a, b, c);
                select(mask, one, zero);
                majority(a, b, c);
                xor_or_not(a, b, c);
                xor_not_and(a, b, c);
            }

            #[inline(always)]
            fn big_endian(self) -> Self {
                Two(self.0.big_endian(), self.1.big_endian())
            }
            #[inline(always)]
            fn little_endian(self) -> Self {
                Two(self.0.little_endian(), self.1.little_endian())
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Two(self.0.add(other.0), self.1.add(other.1))
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                Two(self.0.xor(other.0), self.1.xor(other.1))
            }
            #[inline(always)]
            fn rotate_left(self, bits: u32) -> Self {
                Two(self.0.rotate_left(bits), self.1.rotate_left(bits))
            }
            #[inline(always)]
            fn shift_right(self, bits: u32) -> Self {
                Two(self.0.shift_right(bits), self.1.shift_right(bits))
            }
        }
    )* };
}

twice! {
    8 makes 16;
    16 makes 32;
}
