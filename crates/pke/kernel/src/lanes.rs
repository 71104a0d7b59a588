//! Eight 64-bit lanes: what the kernels are written over.
//!
//! Two implementations. [`Portable`] is arrays of integers and works everywhere. `Wide` is one
//! AVX-512 register; its methods are `#[inline(always)]`, so that they end up within the entry
//! point that enables the features, and only entry points that take an `Avx512` token use it.
//!
//! No method branches on a lane's value or uses it as an address.

/// Eight unsigned 64-bit integers, and what IFMA can do with them.
pub(crate) trait Lanes: Copy {
    /// One truth value per lane.
    type Mask: Copy;

    /// The same value in every lane.
    fn splat(value: u64) -> Self;
    /// Lane `i` is `values[i]`.
    fn load(values: &[u64; 8]) -> Self;
    /// `values[i]` becomes lane `i`.
    fn store(self, values: &mut [u64; 8]);

    /// Sum modulo 2^64.
    fn add(self, other: Self) -> Self;
    /// Difference modulo 2^64.
    fn sub(self, other: Self) -> Self;
    /// Bitwise and.
    fn and(self, other: Self) -> Self;
    /// Bitwise or.
    fn or(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, other: Self) -> Self;
    /// Left by `BITS`, 0 to 63.
    fn shl<const BITS: u32>(self) -> Self;
    /// Right by `BITS`, zeros shifted in.
    fn shr<const BITS: u32>(self) -> Self;
    /// Right by `BITS`, the sign shifted in.
    fn sar<const BITS: u32>(self) -> Self;
    /// Left by a number of bits per lane; 64 and more give 0.
    fn shlv(self, bits: Self) -> Self;
    /// Right by a number of bits per lane; 64 and more give 0.
    fn shrv(self, bits: Self) -> Self;

    /// `self` plus the low 52 bits of the 104-bit product of the low 52 bits of `a` and `b`.
    fn madd_lo(self, a: Self, b: Self) -> Self;
    /// `self` plus the high 52 bits of the 104-bit product of the low 52 bits of `a` and `b`.
    fn madd_hi(self, a: Self, b: Self) -> Self;

    /// Where the lanes are equal.
    fn eq(self, other: Self) -> Self::Mask;
    /// Where `self` is less, unsigned.
    fn lt(self, other: Self) -> Self::Mask;
    /// `a` where the mask is set, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// Both.
    fn mask_and(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Either.
    fn mask_or(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Neither nor.
    fn mask_not(a: Self::Mask) -> Self::Mask;
    /// Bit `i` is lane `i`'s truth. The result is only to be branched on where it is public.
    fn mask_bits(a: Self::Mask) -> u8;
    /// The opposite of [`Lanes::mask_bits`].
    fn mask_from_bits(bits: u8) -> Self::Mask;

    /// Right by `BITS`, what falls out at the low end shifted in at the high end.
    fn ror<const BITS: i32>(self) -> Self;
    /// Lane `i` becomes `row[index[i] % 16]`. All of the row is read, whatever the index: on
    /// registers this is one shuffle.
    fn permute(row: &Row, index: Self) -> Self;
    /// Whether code is worth its size: long sequences are inlined only where this is true.
    const FAST: bool;
    /// Runs a piece of code that is not to be inlined, with the CPU features of this
    /// implementation.
    fn outline(piece: &mut impl Outline);
    /// Takes a step: vector code has it in line, portable code has it once and calls it.
    fn take<S: Step>(step: S) -> S::Output;
}

/// Sixteen numbers for [`Lanes::permute`].
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Row(pub(crate) [u64; 16]);

/// Code for [`Lanes::outline`], with its operands. `run` must be `#[inline(always)]`, or it is
/// compiled without the CPU features.
pub(crate) trait Outline {
    /// Does it.
    fn run(&mut self);
}

/// A large step that is taken at many places. Its portable code is eight times the size of the
/// vector code: too much to be in line everywhere. (A closure would not do: it would be compiled
/// without the features of the function around it.)
pub(crate) trait Step {
    /// What it results in.
    type Output;
    /// Takes the step: `#[inline(always)]` in every implementation.
    fn run(self) -> Self::Output;
}

/// Eight integers: the readable twin, on every CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable(pub(crate) [u64; 8]);

/// All ones where true. Not `bool`, on which a compiler likes to branch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortableMask([u64; 8]);

impl PortableMask {
    /// Hides from the compiler that these are all ones or 0: knowing that, it selects by a branch.
    #[inline(always)]
    fn opaque(mask: [u64; 8]) -> PortableMask {
        PortableMask(core::hint::black_box(mask))
    }
}

const LOW_52: u64 = (1 << 52) - 1;

// Not in line where tests are built: the eight copies of everything would take a minute to compile.
impl Portable {
    #[cfg_attr(debug_assertions, inline(never))]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn map(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Portable(core::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
    #[inline(always)]
    fn each(self, f: impl Fn(u64) -> u64) -> Self {
        self.map(self, |a, _| f(a))
    }
}

/// The same number, of which the compiler no longer knows anything. Where it sees that a mask is all
/// ones or all zeros, it makes a branch of what was an `and`.
#[inline(always)]
pub(crate) fn hide(mut number: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: the text is a comment.
    unsafe {
        core::arch::asm!(
            "/* {} */",
            inlateout(reg) number,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        number = core::hint::black_box(number);
    }
    number
}

/// All ones when `a` is 0: the sign of `!a & (a - 1)`.
#[inline(always)]
fn is_zero(a: u64) -> u64 {
    hide(((!a & a.wrapping_sub(1)) >> 63).wrapping_neg())
}

/// All ones when `a < b`: the borrow of `a - b`.
#[inline(always)]
fn is_less(a: u64, b: u64) -> u64 {
    hide((((!a & b) | ((!a | b) & a.wrapping_sub(b))) >> 63).wrapping_neg())
}

impl Lanes for Portable {
    type Mask = PortableMask;

    #[inline(always)]
    fn splat(value: u64) -> Self {
        Portable([value; 8])
    }
    #[inline(always)]
    fn load(values: &[u64; 8]) -> Self {
        Portable(*values)
    }
    #[inline(always)]
    fn store(self, values: &mut [u64; 8]) {
        *values = self.0;
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.map(other, u64::wrapping_add)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.map(other, u64::wrapping_sub)
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self.map(other, |a, b| a & b)
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self.map(other, |a, b| a | b)
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self.map(other, |a, b| a ^ b)
    }
    #[inline(always)]
    fn shl<const BITS: u32>(self) -> Self {
        self.each(|a| a << BITS)
    }
    #[inline(always)]
    fn shr<const BITS: u32>(self) -> Self {
        self.each(|a| a >> BITS)
    }
    #[inline(always)]
    fn sar<const BITS: u32>(self) -> Self {
        self.each(|a| (a.cast_signed() >> BITS).cast_unsigned())
    }
    #[inline(always)]
    fn shlv(self, bits: Self) -> Self {
        self.map(bits, |a, n| (a << (n & 63)) & is_less(n, 64))
    }
    #[inline(always)]
    fn shrv(self, bits: Self) -> Self {
        self.map(bits, |a, n| (a >> (n & 63)) & is_less(n, 64))
    }
    #[inline(always)]
    fn madd_lo(self, a: Self, b: Self) -> Self {
        self.add(a.map(b, |a, b| (a & LOW_52).wrapping_mul(b & LOW_52) & LOW_52))
    }
    #[inline(always)]
    fn madd_hi(self, a: Self, b: Self) -> Self {
        let high = |a: u64, b: u64| (u128::from(a & LOW_52) * u128::from(b & LOW_52)) >> 52;
        self.add(a.map(b, |a, b| high(a, b) as u64))
    }
    #[inline(always)]
    fn eq(self, other: Self) -> PortableMask {
        PortableMask::opaque(self.map(other, |a, b| is_zero(a ^ b)).0)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> PortableMask {
        PortableMask::opaque(self.map(other, is_less).0)
    }
    #[inline(always)]
    fn select(mask: PortableMask, a: Self, b: Self) -> Self {
        let mask = Portable(mask.0);
        a.and(mask).or(mask.map(b, |mask, b| b & !mask))
    }
    #[inline(always)]
    fn mask_and(a: PortableMask, b: PortableMask) -> PortableMask {
        PortableMask(core::array::from_fn(|i| a.0[i] & b.0[i]))
    }
    #[inline(always)]
    fn mask_or(a: PortableMask, b: PortableMask) -> PortableMask {
        PortableMask(core::array::from_fn(|i| a.0[i] | b.0[i]))
    }
    #[inline(always)]
    fn mask_not(a: PortableMask) -> PortableMask {
        PortableMask(a.0.map(|m| !m))
    }
    #[inline(always)]
    fn mask_bits(a: PortableMask) -> u8 {
        a.0.iter().enumerate().fold(0, |bits, (i, m)| bits | ((m & 1) as u8) << i)
    }
    #[inline(always)]
    fn mask_from_bits(bits: u8) -> PortableMask {
        PortableMask(core::array::from_fn(|i| u64::from(bits >> i & 1).wrapping_neg()))
    }
    #[inline(always)]
    fn ror<const BITS: i32>(self) -> Self {
        self.each(|a| a.rotate_right(BITS.cast_unsigned()))
    }
    #[inline(always)]
    fn permute(row: &Row, index: Self) -> Self {
        let index = index.and(Self::splat(15));
        let mut picked = Self::splat(0);
        for (i, &value) in row.0.iter().enumerate() {
            picked = Self::select(index.eq(Self::splat(i as u64)), Self::splat(value), picked);
        }
        picked
    }
    const FAST: bool = false;
    #[inline(never)]
    fn outline(piece: &mut impl Outline) {
        piece.run();
    }
    #[inline(never)]
    fn take<S: Step>(step: S) -> S::Output {
        step.run()
    }
}

/// Makes a verdict about secrets public: what comes back may be branched on. Whoever calls it says
/// that the verdict is no secret.
///
/// Secrets are proved to decide no branch and no address under valgrind, which is told that they
/// are undefined (`valgrind/main.rs`); this tells it that the verdict is defined.
#[inline(always)]
pub(crate) fn declassify(verdict: u8) -> u8 {
    #[cfg(all(feature = "twin", target_arch = "x86_64"))]
    let verdict = defined(verdict);
    verdict
}

/// The same value, defined: valgrind's request MAKE_MEM_DEFINED, which elsewhere is no operation.
#[cfg(all(feature = "twin", target_arch = "x86_64"))]
#[inline(never)]
fn defined(mut value: u8) -> u8 {
    let address = (&raw mut value).expose_provenance() as u64;
    // 'M', 'C' and the number of the request, of valgrind's memcheck.h; address and length.
    let request = [0x4d43_0002, address, 1, 0, 0, 0];
    // SAFETY: the rotations add up to 128 bits, the exchange is of a register with itself: nothing
    // changes. Valgrind takes the sequence for a request, and answers in rdx.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") request.as_ptr(),
            inout("rdx") 0u64 => _,
            out("rdi") _,
            options(nostack),
        );
    }
    value
}

#[cfg(target_arch = "x86_64")]
pub(crate) use wide::Wide;

#[cfg(target_arch = "x86_64")]
mod wide {
    use core::arch::x86_64::*;

    use super::{Lanes, Outline, Row, Step};

    /// One AVX-512 register. Whoever names it holds an `Avx512` token.
    #[derive(Clone, Copy)]
    pub(crate) struct Wide(pub(crate) __m512i);

    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
    fn outlined(piece: &mut impl Outline) {
        piece.run();
    }

    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
    fn taken<S: Step>(step: S) -> S::Output {
        step.run()
    }

    // SAFETY of every block below: entry points take an `Avx512` token, which proves the features
    // (F, BW, DQ, VL, IFMA); loads and stores are of arrays of exactly 64 bytes, unaligned.
    impl Lanes for Wide {
        type Mask = __mmask8;

        #[inline(always)]
        fn splat(value: u64) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_set1_epi64(value.cast_signed()) })
        }
        #[inline(always)]
        fn load(values: &[u64; 8]) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_loadu_si512(values.as_ptr().cast()) })
        }
        #[inline(always)]
        fn store(self, values: &mut [u64; 8]) {
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(values.as_mut_ptr().cast(), self.0) }
        }
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_add_epi64(self.0, other.0) })
        }
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_sub_epi64(self.0, other.0) })
        }
        #[inline(always)]
        fn and(self, other: Self) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_and_si512(self.0, other.0) })
        }
        #[inline(always)]
        fn or(self, other: Self) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_or_si512(self.0, other.0) })
        }
        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_xor_si512(self.0, other.0) })
        }
        #[inline(always)]
        fn shl<const BITS: u32>(self) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_slli_epi64::<BITS>(self.0) })
        }
        #[inline(always)]
        fn shr<const BITS: u32>(self) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_srli_epi64::<BITS>(self.0) })
        }
        #[inline(always)]
        fn sar<const BITS: u32>(self) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_srai_epi64::<BITS>(self.0) })
        }
        #[inline(always)]
        fn shlv(self, bits: Self) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_sllv_epi64(self.0, bits.0) })
        }
        #[inline(always)]
        fn shrv(self, bits: Self) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_srlv_epi64(self.0, bits.0) })
        }
        #[inline(always)]
        fn madd_lo(self, a: Self, b: Self) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_madd52lo_epu64(self.0, a.0, b.0) })
        }
        #[inline(always)]
        fn madd_hi(self, a: Self, b: Self) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_madd52hi_epu64(self.0, a.0, b.0) })
        }
        #[inline(always)]
        fn eq(self, other: Self) -> __mmask8 {
            // SAFETY: as above.
            unsafe { _mm512_cmpeq_epu64_mask(self.0, other.0) }
        }
        #[inline(always)]
        fn lt(self, other: Self) -> __mmask8 {
            // SAFETY: as above.
            unsafe { _mm512_cmplt_epu64_mask(self.0, other.0) }
        }
        #[inline(always)]
        fn select(mask: __mmask8, a: Self, b: Self) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_mask_blend_epi64(mask, b.0, a.0) })
        }
        #[inline(always)]
        fn mask_and(a: __mmask8, b: __mmask8) -> __mmask8 {
            a & b
        }
        #[inline(always)]
        fn mask_or(a: __mmask8, b: __mmask8) -> __mmask8 {
            a | b
        }
        #[inline(always)]
        fn mask_not(a: __mmask8) -> __mmask8 {
            !a
        }
        #[inline(always)]
        fn mask_bits(a: __mmask8) -> u8 {
            a
        }
        #[inline(always)]
        fn mask_from_bits(bits: u8) -> __mmask8 {
            bits
        }
        #[inline(always)]
        fn ror<const BITS: i32>(self) -> Self {
            // SAFETY: as above.
            Wide(unsafe { _mm512_ror_epi64::<BITS>(self.0) })
        }
        #[inline(always)]
        fn permute(row: &Row, index: Self) -> Self {
            let halves = row.0.as_ptr().cast::<__m512i>();
            // SAFETY: as above; a row is 128 bytes, aligned to 64.
            Wide(unsafe { _mm512_permutex2var_epi64(*halves, index.0, *halves.add(1)) })
        }
        // Without an optimiser, what is unrolled and inlined is slower and overflows the stack.
        const FAST: bool = !cfg!(debug_assertions);
        #[inline(always)]
        fn outline(piece: &mut impl Outline) {
            // SAFETY: as above.
            unsafe { outlined(piece) }
        }
        #[inline(always)]
        fn take<S: Step>(step: S) -> S::Output {
            if Self::FAST {
                return step.run();
            }
            // SAFETY: as above.
            unsafe { taken(step) }
        }
    }
}
