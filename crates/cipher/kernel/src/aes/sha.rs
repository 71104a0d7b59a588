//! SHA-1 and SHA-256 (FIPS 180-4), one message at once, by the SHA extensions of x86.
//!
//! Only the compression of whole blocks: paddings and lengths are the caller's.
//!
//! No branch and no address depends on a message or a state.

use lookaside_simd::Cpu;

/// Proof that the CPU has SHA-NI, and that the tier in force is one with vectors.
#[derive(Clone, Copy, Debug)]
pub struct ShaNi(Proof);

#[derive(Clone, Copy, Debug)]
enum Proof {
    #[cfg(target_arch = "x86_64")]
    Given,
}

impl ShaNi {
    /// The proof, where there is one.
    pub fn new(cpu: &Cpu) -> Option<ShaNi> {
        #[cfg(target_arch = "x86_64")]
        return cpu.sha().map(|_| ShaNi(Proof::Given));
        #[cfg(not(target_arch = "x86_64"))]
        return cpu.sha().and(None);
    }

    /// Continues SHA-1 or SHA-256 over the whole blocks of 64 bytes. What follows them does not count.
    pub fn compress<S: State>(self, state: &mut S, blocks: &[u8]) {
        match self.0 {
            // SAFETY: the proof is of the features that the function is compiled for.
            #[cfg(target_arch = "x86_64")]
            Proof::Given => unsafe { ni::compress::<S::Compression>(state, blocks) },
        }
    }
}

/// The state of a hash function: `[u32; 5]` is SHA-1's, `[u32; 8]` is SHA-256's and SHA-224's.
pub trait State: sealed::Sealed {}

impl State for [u32; 5] {}
impl State for [u32; 8] {}

pub(super) mod sealed {
    /// What computes on a state.
    pub trait Sealed: Sized {
        #[cfg(target_arch = "x86_64")]
        type Compression: super::ni::Compression<State = Self>;
    }

    impl Sealed for [u32; 5] {
        #[cfg(target_arch = "x86_64")]
        type Compression = super::ni::Sha1;
    }

    impl Sealed for [u32; 8] {
        #[cfg(target_arch = "x86_64")]
        type Compression = super::ni::Sha256;
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod ni;
