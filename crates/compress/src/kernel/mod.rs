//! Who computes: every kernel, and the one place that chooses between them.

pub(crate) mod chains;
#[cfg(target_arch = "x86_64")]
pub(crate) mod deflate;
#[cfg(not(target_arch = "x86_64"))]
#[path = "deflate_absent.rs"]
pub(crate) mod deflate;
pub(crate) mod inflate;
#[cfg(target_arch = "x86_64")]
pub(crate) mod isal;
#[cfg(not(target_arch = "x86_64"))]
#[path = "isal_absent.rs"]
pub(crate) mod isal;
pub(crate) mod last_block;
pub(crate) mod libdeflate;
pub(crate) mod liblz4;
pub(crate) mod libzstd;
#[cfg(target_arch = "x86_64")]
mod place;
mod skip;
pub(crate) mod stored;
mod symbols;
pub(crate) mod zlib_rs;

use lookaside_simd::{Cpu, Tier};

use lookaside_spec::dc::Flush;
use lookaside_spec::dc::{Compression, Format, Huffman};

/// log2 of what is in 1..=2, to 0.0007: the coefficients of its powers, highest first.
const LOG2: [f32; 4] = [0.158_248_7, -1.051_876_5, 3.047_884_2, -2.153_620_7];

/// Where `slice` begins, for C. An empty slice may lie at address 1, below which a library looks that subtracts
/// before it compares (liblz4's levels 10 to 12 do): such a one is given a place with memory around.
pub(crate) fn source<T>(slice: &[u8]) -> *const T {
    static NOTHING: [u8; 64] = [0; 64];
    let slice = if slice.is_empty() { &NOTHING[32..32] } else { slice };
    slice.as_ptr().cast()
}

/// What one call of a streaming kernel did.
pub(crate) struct Step {
    pub(crate) consumed: usize,
    pub(crate) produced: usize,
    pub(crate) done: bool,
}

/// A compressor, with the level it runs at (its own scale, not the [`Compression`]'s).
///
/// [`Codec::new`](crate::Codec::new) chooses one; naming one is for benches and tests
/// ([`Codec::with_kernel`](crate::Codec::with_kernel)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Stored blocks.
    Stored,
    /// Our own, 1..=4. x86-64 from tier AVX-512 on. Whole buffers, 32 KB window.
    Own(u8),
    /// Our own, 3..=5. Whole buffers, 32 KB window.
    Chains(u8),
    /// igzip of ISA-L, 1..=3. x86-64 from tier AVX2 on.
    Igzip(u8),
    /// igzip with static codes.
    IgzipStatic,
    /// libdeflate, 1..=12. Whole buffers, 32 KB window.
    Libdeflate(u8),
    /// zlib-rs, 2..=9.
    ZlibRs(u8),
    /// zlib-rs with static codes, 2..=9.
    ZlibRsStatic(u8),
}

impl Kernel {
    /// Every kernel there is, at every level.
    pub const ALL: [Kernel; 40] = {
        let mut all = [Kernel::Stored; 40];
        all[36] = Kernel::Own(4);
        all[37] = Kernel::Chains(3);
        all[38] = Kernel::Chains(4);
        all[39] = Kernel::Chains(5);
        all[1] = Kernel::IgzipStatic;
        let mut level = 1;
        while level <= 12 {
            if level <= 3 {
                all[1 + level] = Kernel::Igzip(level as u8);
                all[32 + level] = Kernel::Own(level as u8);
            }
            all[4 + level] = Kernel::Libdeflate(level as u8);
            if 2 <= level && level <= 9 {
                all[15 + level] = Kernel::ZlibRs(level as u8);
                all[23 + level] = Kernel::ZlibRsStatic(level as u8);
            }
            level += 1;
        }
        all
    };

    /// Library and level, as `lookaside info` prints it.
    pub const fn name(self) -> &'static str {
        const OWN: [&str; 5] =
            ["lookaside-0", "lookaside-1", "lookaside-2", "lookaside-3", "lookaside-4"];
        const IGZIP: [&str; 4] = ["igzip-0", "igzip-1", "igzip-2", "igzip-3"];
        const LIBDEFLATE: [&str; 13] = [
            "libdeflate-0",
            "libdeflate-1",
            "libdeflate-2",
            "libdeflate-3",
            "libdeflate-4",
            "libdeflate-5",
            "libdeflate-6",
            "libdeflate-7",
            "libdeflate-8",
            "libdeflate-9",
            "libdeflate-10",
            "libdeflate-11",
            "libdeflate-12",
        ];
        const ZLIB_RS: [&str; 10] = [
            "zlib-rs-0",
            "zlib-rs-1",
            "zlib-rs-2",
            "zlib-rs-3",
            "zlib-rs-4",
            "zlib-rs-5",
            "zlib-rs-6",
            "zlib-rs-7",
            "zlib-rs-8",
            "zlib-rs-9",
        ];
        const ZLIB_RS_STATIC: [&str; 10] = [
            "zlib-rs-0-static",
            "zlib-rs-1-static",
            "zlib-rs-2-static",
            "zlib-rs-3-static",
            "zlib-rs-4-static",
            "zlib-rs-5-static",
            "zlib-rs-6-static",
            "zlib-rs-7-static",
            "zlib-rs-8-static",
            "zlib-rs-9-static",
        ];
        const fn pick(names: &[&'static str], level: u8) -> &'static str {
            if (level as usize) < names.len() { names[level as usize] } else { "none" }
        }
        match self {
            Kernel::Stored => "stored",
            Kernel::Own(effort) => pick(&OWN, effort),
            Kernel::Chains(3) => "lookaside-chains-3",
            Kernel::Chains(4) => "lookaside-chains-4",
            Kernel::Chains(5) => "lookaside-chains-5",
            Kernel::Chains(_) => "none",
            Kernel::IgzipStatic => "igzip-0-static",
            Kernel::Igzip(level) => pick(&IGZIP, level),
            Kernel::Libdeflate(level) => pick(&LIBDEFLATE, level),
            Kernel::ZlibRs(level) => pick(&ZLIB_RS, level),
            Kernel::ZlibRsStatic(level) => pick(&ZLIB_RS_STATIC, level),
        }
    }

    /// Does it exist, on this CPU?
    fn is_there(self, cpu: &Cpu) -> bool {
        match self {
            Kernel::Stored => true,
            Kernel::Own(1..=deflate::MOST_EFFORT) => has_own(cpu),
            Kernel::Chains(effort) => chains::EFFORTS.contains(&effort),
            Kernel::Igzip(1..=3) | Kernel::IgzipStatic => has_igzip(cpu),
            Kernel::Libdeflate(1..=12) => true,
            Kernel::ZlibRs(2..=9) | Kernel::ZlibRsStatic(2..=9) => true,
            _ => false,
        }
    }

    fn is_static(self) -> bool {
        matches!(self, Kernel::Stored | Kernel::IgzipStatic | Kernel::ZlibRsStatic(_))
    }
}

fn has_igzip(cpu: &Cpu) -> bool {
    cfg!(target_arch = "x86_64") && cpu.tier() >= Tier::Avx2
}

/// Is it faster than libdeflate there? (Measured on x86-64 only.)
fn has_fast_chains(cpu: &Cpu) -> bool {
    cfg!(target_arch = "x86_64") && cpu.tier() >= Tier::Avx2
}

fn has_own(cpu: &Cpu) -> bool {
    cfg!(target_arch = "x86_64") && cpu.tier() >= Tier::Avx512
}

/// The library and level of what is not DEFLATE; `None` for DEFLATE, whose kernels [`choose`] knows.
pub(crate) fn library(spec: &Compression) -> Option<&'static str> {
    const LZ4: [&str; 13] = [
        "none", "lz4-1", "lz4mid-2", "lz4hc-3", "lz4hc-4", "lz4hc-5", "lz4hc-6", "lz4hc-7",
        "lz4hc-8", "lz4hc-9", "lz4hc-10", "lz4hc-11", "lz4hc-12",
    ];
    const ZSTD: [&str; 23] = [
        "none", "zstd-1", "zstd-2", "zstd-3", "zstd-4", "zstd-5", "zstd-6", "zstd-7", "zstd-8",
        "zstd-9", "zstd-10", "zstd-11", "zstd-12", "zstd-13", "zstd-14", "zstd-15", "zstd-16",
        "zstd-17", "zstd-18", "zstd-19", "zstd-20", "zstd-21", "zstd-22",
    ];
    let names: &[&'static str] = match spec.format {
        Format::Raw | Format::Zlib | Format::Gzip => return None,
        Format::Zstd => &ZSTD,
        _ => &LZ4,
    };
    Some(names.get(usize::from(spec.level)).copied().unwrap_or("none"))
}

/// The kernels of one codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Whole buffers that fit in the window (or any, when the window is 32 KB).
    pub(crate) whole: Kernel,
    /// Whole buffers larger than the window, and streams.
    pub(crate) stream: Kernel,
}

/// The dispatch for DEFLATE: level, coding and CPU tier to kernels. The crate's documentation has the table
/// and the measurements behind it.
pub(crate) fn choose(spec: &Compression, cpu: &Cpu) -> Choice {
    let igzip = has_igzip(cpu) && spec.level <= 3;
    // The lowest zlib-rs level that keeps the promise against zlib at the spec's level.
    let zlib_rs = match spec.level {
        1..=3 => 2,
        4 => 3,
        5 => 5,
        6 | 7 => 6,
        _ => 7,
    };
    // And the lowest of libdeflate; 10 and up are its own.
    let libdeflate = match spec.level {
        1..=3 => 1,
        4 => 2,
        5 => 3,
        6 | 7 => 5,
        8 => 6,
        9 => 8,
        own => own,
    };
    // Ours: the least effort of those.
    let own = match spec.level {
        effort @ 1..=deflate::MOST_EFFORT if has_own(cpu) => Some(Kernel::Own(effort)),
        effort if chains::EFFORTS.contains(&effort) && has_fast_chains(cpu) => {
            Some(Kernel::Chains(effort))
        }
        _ => None,
    };
    let (whole, stream) = match (spec.level, spec.huffman) {
        (0, _) => (Kernel::Stored, Kernel::Stored),
        (_, Huffman::Static) if igzip => (Kernel::IgzipStatic, Kernel::IgzipStatic),
        (_, Huffman::Static) => (Kernel::ZlibRsStatic(zlib_rs), Kernel::ZlibRsStatic(zlib_rs)),
        (level, Huffman::Dynamic) if igzip => {
            (own.unwrap_or(Kernel::Igzip(level)), Kernel::Igzip(level))
        }
        (_, Huffman::Dynamic) => {
            (own.unwrap_or(Kernel::Libdeflate(libdeflate)), Kernel::ZlibRs(zlib_rs))
        }
    };
    Choice { whole, stream }
}

/// A named kernel for everything, if it can serve `spec` on `cpu`.
pub(crate) fn only(spec: &Compression, cpu: &Cpu, kernel: Kernel) -> Option<Choice> {
    let coding_fits =
        kernel == Kernel::Stored || kernel.is_static() == (spec.huffman == Huffman::Static);
    if !kernel.is_there(cpu) || !coding_fits {
        return None;
    }
    let stream = match kernel {
        // They have neither streams nor small windows.
        Kernel::Libdeflate(_) | Kernel::Own(_) | Kernel::Chains(_) => choose(spec, cpu).stream,
        other => other,
    };
    Some(Choice { whole: kernel, stream })
}

/// One raw compression stream of any kernel.
pub(crate) enum StreamKernel {
    Igzip(isal::Stream),
    ZlibRs(Box<zlib_rs::Compressor>),
}

impl StreamKernel {
    /// Allocates; see the kernel.
    pub(crate) fn new(kernel: Kernel, window_bits: u8) -> StreamKernel {
        let zlib_rs = |level, fixed| {
            StreamKernel::ZlibRs(Box::new(zlib_rs::Compressor::new(level, fixed, window_bits)))
        };
        match kernel {
            Kernel::Stored => zlib_rs(0, false),
            Kernel::Igzip(level) => {
                StreamKernel::Igzip(isal::Stream::new(level, false, window_bits))
            }
            Kernel::IgzipStatic => StreamKernel::Igzip(isal::Stream::new(0, true, window_bits)),
            Kernel::Libdeflate(level) | Kernel::ZlibRs(level) => zlib_rs(level, false),
            // Not chosen for streams.
            Kernel::Own(effort) | Kernel::Chains(effort) => zlib_rs(effort.max(2), false),
            Kernel::ZlibRsStatic(level) => zlib_rs(level, true),
        }
    }

    pub(crate) fn reset(&mut self) {
        match self {
            StreamKernel::Igzip(stream) => stream.reset(),
            StreamKernel::ZlibRs(stream) => stream.reset(),
        }
    }

    pub(crate) fn set_dictionary(&mut self, dictionary: &[u8]) -> bool {
        match self {
            StreamKernel::Igzip(stream) => stream.set_dictionary(dictionary),
            StreamKernel::ZlibRs(stream) => stream.set_dictionary(dictionary),
        }
    }

    /// See the kernels: `None` is a kernel that failed.
    pub(crate) fn step(&mut self, src: &[u8], dst: &mut [u8], flush: Flush) -> Option<Step> {
        match self {
            StreamKernel::Igzip(stream) => stream.step(src, dst, flush),
            StreamKernel::ZlibRs(stream) => stream.step(src, dst, flush),
        }
    }
}
