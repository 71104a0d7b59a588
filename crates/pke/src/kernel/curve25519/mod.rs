//! X25519 and Ed25519 (RFC 7748, RFC 8032), up to eight operations side by side.
//!
//! Every function takes a slice of requests, runs them eight at a time and is quickest when their
//! number is a multiple of eight; lanes without a request repeat another one. All but the
//! verification of signatures runs in constant time: no branch and no address depends on a key, a
//! shared secret or a nonce. Lengths of messages are public.
//!
//! [`field`] has the arithmetic and its bounds, [`montgomery`] the ladder.

use lookaside_simd::Avx512;

mod field;
mod montgomery;
pub(super) mod words;

/// A request for a shared secret: X25519.
#[derive(Debug)]
pub struct Derive<'a> {
    /// Our private key; any 32 bytes (they are clamped as RFC 7748 says).
    pub private: &'a [u8; 32],
    /// The peer's public key, a u coordinate; any 32 bytes, bit 255 is ignored.
    pub peer: &'a [u8; 32],
    /// The shared secret.
    pub out: &'a mut [u8; 32],
    /// False when the secret is all zeros, because the peer's point has a small order: such a
    /// secret must not be used.
    pub ok: bool,
}

/// Declares a kernel's two entry points: over AVX-512 and over arrays.
macro_rules! entry_points {
    ($(#[$doc:meta])* $avx512:ident, $portable:ident, $item:ident, $module:ident::$kernel:ident) => {
        $(#[$doc])*
        ///
        /// With AVX-512 IFMA.
        #[cfg(target_arch = "x86_64")]
        pub fn $avx512(_: Avx512, items: &mut [$item<'_>]) {
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
            fn run(items: &mut [$item<'_>]) {
                $module::$kernel::<$crate::kernel::lanes::Wide>(items);
            }
            for group in items.chunks_mut(8) {
                // SAFETY: the token proves the features.
                unsafe { run(group) }
            }
        }

        $(#[$doc])*
        ///
        /// On any CPU, with the same steps in the same order: to test and to prove, not for speed.
        pub fn $portable(items: &mut [$item<'_>]) {
            for group in items.chunks_mut(8) {
                $module::$kernel::<$crate::kernel::lanes::Portable>(group);
            }
        }
    };
}

entry_points! {
    /// Shared secrets: the u coordinate of the private key times the peer's point.
    x25519_avx512, x25519_portable, Derive, montgomery::derive
}
