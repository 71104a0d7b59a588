//! Kernels that run eight operations side by side, one per 64-bit lane of a 512-bit vector.
//!
//! They are written over [`lanes::Lanes`], a small private trait with two implementations: AVX-512
//! with IFMA, and arrays of eight integers. The second is the readable twin: the same source, so
//! what a tool finds in it (a branch or an address that depends on a secret) it finds in the first.

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

pub mod curve25519;
pub mod curve448;
pub(crate) mod lanes;
pub mod modexp;
pub mod weierstrass;
