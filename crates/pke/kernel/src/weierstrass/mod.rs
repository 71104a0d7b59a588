//! Elliptic curves in short Weierstrass form, eight operations side by side.
//!
//! ECDSA (FIPS 186-5), the signatures of GB/T 32918.2 (SM2), and scalar multiplication for key
//! agreement and key generation, over the curves of [`Curve`]. A lane of a 512-bit vector is one
//! operation, from its bytes to its bytes: residues in digits of 52 bits, Montgomery form,
//! Jacobian coordinates, inversion by division steps.
//!
//! Constant time in private keys, nonces and what follows from them, except that `ok` of a lane
//! becomes public. Verification takes the same paths, though nothing in it is secret.
//!
//! Byte strings are big-endian and as long as the field ([`Curve::len`]); points are X || Y. Any
//! number of lanes is taken, eight at a time; fewer than eight cost the same as eight. A string of
//! the wrong length makes its lane not ok.

mod bytes;
mod curves;
mod digits;
mod field;
#[cfg(test)]
mod field_bounds;
mod inverse;
mod multiply;
mod point;
mod sign;
mod table;

#[cfg(any(feature = "twin", not(target_arch = "x86_64")))]
use super::lanes::{Lanes, Portable};
use curves::Shape;

/// A curve y^2 = x^3 - 3 x + b of prime order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// NIST P-224.
    P224,
    /// NIST P-256.
    P256,
    /// NIST P-384.
    P384,
    /// NIST P-521.
    P521,
    /// The curve recommended in GB/T 32918.5; its signatures are SM2's, not ECDSA's.
    Sm2,
}

impl Curve {
    /// Every curve.
    pub const ALL: [Curve; 5] = [Curve::P224, Curve::P256, Curve::P384, Curve::P521, Curve::Sm2];

    /// Bytes of a coordinate, and of a scalar.
    #[allow(clippy::len_without_is_empty)]
    pub const fn len(self) -> usize {
        match self {
            Curve::P224 => 28,
            Curve::P256 | Curve::Sm2 => 32,
            Curve::P384 => 48,
            Curve::P521 => 66,
        }
    }
}

/// One signature to make.
#[derive(Debug)]
pub struct Sign<'a> {
    /// The private key, 1 to order - 1.
    pub private: &'a [u8],
    /// The number that is used once, 1 to order - 1, uniform and secret.
    pub nonce: &'a [u8],
    /// The digest as an integer: its leftmost bits, as many as the order has. Need not be below the
    /// order.
    pub digest: &'a [u8],
    /// Where r || s goes; zeros if not `ok`.
    pub signature: &'a mut [u8],
    /// Set: whether there is a signature. If not, a number is out of its range, or r or s came out
    /// 0 and another nonce will do.
    pub ok: bool,
}

/// One signature to check.
#[derive(Debug)]
pub struct Verify<'a> {
    /// The public key; must be on the curve, coordinates below p.
    pub public: &'a [u8],
    /// The digest, as for [`Sign`].
    pub digest: &'a [u8],
    /// r || s.
    pub signature: &'a [u8],
    /// Set: whether the signature is right.
    pub ok: bool,
}

/// One private key times one point.
#[derive(Debug)]
pub struct Derive<'a> {
    /// The private key, 1 to order - 1.
    pub private: &'a [u8],
    /// The point; must be on the curve, coordinates below p.
    pub peer: &'a [u8],
    /// Where the product goes; zeros if not `ok`.
    pub out: &'a mut [u8],
    /// Set: whether there is a product, which is so unless the key is out of its range.
    pub ok: bool,
}

/// One private key times the generator.
#[derive(Debug)]
pub struct Public<'a> {
    /// The private key, 1 to order - 1.
    pub private: &'a [u8],
    /// Where the public key goes; zeros if not `ok`.
    pub out: &'a mut [u8],
    /// Set: whether there is a public key, which is so unless the key is out of its range.
    pub ok: bool,
}

/// The two entries of an operation.
macro_rules! entries {
    ($(#[$doc:meta])* $operation:ident, $item:ident, $avx512:ident, $portable:ident) => {
        $(#[$doc])*
        ///
        /// With AVX-512 IFMA.
        #[cfg(target_arch = "x86_64")]
        pub fn $avx512(token: lookaside_simd::Avx512, curve: Curve, lanes: &mut [$item<'_>]) {
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
            fn run<C: Shape<N>, const N: usize>(lanes: &mut [$item<'_>]) {
                sign::$operation::<C, super::lanes::Wide, N>(lanes);
            }
            let _ = token;
            for lanes in lanes.chunks_mut(8) {
                // SAFETY: the token proves the features.
                unsafe {
                    match curve {
                        Curve::P224 => run::<curves::P224, 5>(lanes),
                        Curve::P256 => run::<curves::P256, 5>(lanes),
                        Curve::P384 => run::<curves::P384, 8>(lanes),
                        Curve::P521 => run::<curves::P521, 11>(lanes),
                        Curve::Sm2 => run::<curves::Sm2, 5>(lanes),
                    }
                }
            }
        }

        $(#[$doc])*
        ///
        /// On every CPU.
        #[cfg(any(feature = "twin", not(target_arch = "x86_64")))]
        pub fn $portable(curve: Curve, lanes: &mut [$item<'_>]) {
            fn run<C: Shape<N>, L: Lanes, const N: usize>(lanes: &mut [$item<'_>]) {
                sign::$operation::<C, L, N>(lanes);
            }
            for lanes in lanes.chunks_mut(8) {
                match curve {
                    Curve::P224 => run::<curves::P224, Portable, 5>(lanes),
                    Curve::P256 => run::<curves::P256, Portable, 5>(lanes),
                    Curve::P384 => run::<curves::P384, Portable, 8>(lanes),
                    Curve::P521 => run::<curves::P521, Portable, 11>(lanes),
                    Curve::Sm2 => run::<curves::Sm2, Portable, 5>(lanes),
                }
            }
        }
    };
}

entries!(
    /// Signs: ECDSA, or SM2 for [`Curve::Sm2`].
    sign, Sign, sign_avx512, sign_portable
);
entries!(
    /// Verifies signatures: ECDSA, or SM2 for [`Curve::Sm2`].
    verify, Verify, verify_avx512, verify_portable
);
entries!(
    /// Multiplies points by private keys, for key agreement.
    derive, Derive, derive_avx512, derive_portable
);
entries!(
    /// Multiplies the generator by private keys: the public keys.
    public, Public, public_avx512, public_portable
);
