//! Kernels that run eight operations side by side, one per 64-bit lane of a 512-bit vector.
//!
//! They are written over `Lanes`, a small private trait with two implementations: AVX-512
//! with IFMA, and arrays of eight integers. The second is the readable twin: the same source, so
//! what a tool finds in it (a branch or an address that depends on a secret) it finds in the first.
//! On x86-64 the feature `twin` adds it; elsewhere it is all there is.
//!
//! A crate of its own, because it takes long to compile and changes rarely.
#![allow(unsafe_code)]

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
                $module::$kernel::<$crate::lanes::Wide>(items);
            }
            for group in items.chunks_mut(8) {
                // SAFETY: the token proves the features.
                unsafe { run(group) }
            }
        }

        $(#[$doc])*
        ///
        /// On any CPU, with the same steps in the same order: to test and to prove, not for speed.
        #[cfg(any(feature = "twin", not(target_arch = "x86_64")))]
        pub fn $portable(items: &mut [$item<'_>]) {
            for group in items.chunks_mut(8) {
                $module::$kernel::<$crate::lanes::Portable>(group);
            }
        }
    };
}

pub mod curve25519;
pub mod curve448;
pub(crate) mod lanes;
pub mod memory;
pub mod modexp;
#[cfg(test)]
mod oracle;
pub mod weierstrass;
