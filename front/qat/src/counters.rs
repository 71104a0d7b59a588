//! What an instance has counted. A counter is one word that any thread adds to.

use core::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($name:ident $text:literal;)*) => {
        /// What is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Counter {
            $(#[doc = $text] $name,)*
        }

        impl Counter {
            /// All of them, in their order.
            pub const ALL: &[Counter] = &[$(Counter::$name),*];

            /// Its name in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Counter::$name => $text,)*
                }
            }
        }
    };
}

counters! {
    DcCompress "compression requests";
    DcCompressRefused "compression requests refused";
    DcCompressed "compressions";
    DcCompressFailed "compressions failed";
    DcCompressedIn "bytes into compression";
    DcCompressedOut "bytes out of compression";
    DcVerified "compressions verified";
    DcRecovered "compressions recovered";
    DcDecompress "decompression requests";
    DcDecompressRefused "decompression requests refused";
    DcDecompressed "decompressions";
    DcDecompressFailed "decompressions failed";
    DcDecompressedIn "bytes into decompression";
    DcDecompressedOut "bytes out of decompression";
    SymSession "symmetric sessions";
    SymSessionRemoved "symmetric sessions removed";
    SymSessionFailed "symmetric sessions failed";
    SymRequest "symmetric requests";
    SymWaited "synchronous symmetric requests";
    SymRefused "symmetric requests refused";
    SymFailed "symmetric operations failed";
    SymVerifyFailed "digests that were wrong";
}

/// The counters of an instance.
pub struct Counters([AtomicU64; Counter::ALL.len()]);

impl Counters {
    /// All 0.
    pub const fn new() -> Counters {
        Counters([const { AtomicU64::new(0) }; Counter::ALL.len()])
    }

    /// Counts one.
    #[inline]
    pub fn count(&self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Counts one, where a lock keeps others from counting the same meanwhile: half as dear.
    #[inline]
    pub fn count_alone(&self, counter: Counter) {
        let place = &self.0[counter as usize];
        place.store(place.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Adds to one.
    #[inline]
    pub fn add(&self, counter: Counter, n: u64) {
        self.0[counter as usize].fetch_add(n, Ordering::Relaxed);
    }

    /// What was counted.
    pub fn read(&self, counter: Counter) -> u64 {
        self.0[counter as usize].load(Ordering::Relaxed)
    }

    /// Sets all to 0.
    pub fn clear(&self) {
        self.0.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}

impl Default for Counters {
    fn default() -> Counters {
        Counters::new()
    }
}
