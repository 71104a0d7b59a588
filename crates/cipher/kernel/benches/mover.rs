//! Checksums, fused copies and the data mover against the C library's `memcpy`, `memset` and
//! `memcmp` and, where its shared library is installed (Debian: `libisal2`), ISA-L's CRCs.
//!
//! ```sh
//! cargo bench -p lookaside-cipher-kernel --bench mover -- [--rounds N]
//! ```
//!
//! Rows: our GB/s of CPU time (the least of interleaved short rounds) and the rival's time as a ratio
//! to ours: above 1 we are quicker. Two pairs of buffers take turns, so 64 KiB do not stay in the
//! first cache. ISA-L's checksums are compared with ours.

use std::ffi::c_void;
use std::hint::black_box;

use lookaside_cipher_kernel::copy::{compare, copy, fill};
use lookaside_cipher_kernel::crc::{crc32, crc32_copy, crc64, crc64_copy};
use lookaside_simd::{Cpu, Tier};

/// CPU time of this thread in seconds.
fn cpu_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The two pairs of buffers.
struct Pairs {
    pairs: [(Vec<u8>, Vec<u8>); 2],
    turn: usize,
}

impl Pairs {
    fn new(len: usize) -> Pairs {
        let src: Vec<u8> = (0..len).map(|i| ((i * i) >> 5) as u8).collect();
        Pairs { pairs: [(src.clone(), src.clone()), (src.clone(), src)], turn: 0 }
    }

    fn next(&mut self) -> (&[u8], &mut [u8]) {
        self.turn ^= 1;
        let (src, dst) = &mut self.pairs[self.turn];
        (src, dst)
    }
}

type Move<'a> = &'a dyn Fn(&[u8], &mut [u8]);

fn row(name: &str, rounds: usize, len: usize, ours: Move<'_>, rival: Move<'_>) {
    let mut pairs = Pairs::new(len);
    let mut best = [f64::INFINITY; 2];
    for _ in 0..rounds {
        for (best, contender) in best.iter_mut().zip([ours, rival]) {
            let (mut times, from) = (0, cpu_time());
            let taken = loop {
                for _ in 0..(1 << 17 >> len.ilog2()).max(2) {
                    let (src, dst) = pairs.next();
                    contender(black_box(src), black_box(dst));
                    times += 1;
                }
                let taken = cpu_time() - from;
                if taken > 1e-3 {
                    break taken;
                }
            };
            *best = best.min(taken / f64::from(times));
        }
    }
    let rate = len as f64 * 1e-9 / best[0];
    println!("{name:<28} {len:>7} {rate:>8.1} GB/s {:>6.2}", best[1] / best[0]);
}

type Crc32 = unsafe extern "C" fn(u32, *const u8, u64) -> u32;
type Crc64 = unsafe extern "C" fn(u64, *const u8, u64) -> u64;

fn isal() -> Option<(Crc32, Crc64)> {
    // SAFETY: symbols of the library with the types that its headers give them.
    unsafe {
        let library = libc::dlopen(c"libisal.so.2".as_ptr(), libc::RTLD_NOW);
        if library.is_null() {
            return None;
        }
        let (gzip, ecma) = (c"crc32_gzip_refl".as_ptr(), c"crc64_ecma_refl".as_ptr());
        let (gzip, ecma) = (libc::dlsym(library, gzip), libc::dlsym(library, ecma));
        let found = !gzip.is_null() && !ecma.is_null();
        found.then(|| {
            (
                std::mem::transmute::<*mut c_void, Crc32>(gzip),
                std::mem::transmute::<*mut c_void, Crc64>(ecma),
            )
        })
    }
}

fn main() {
    let rounds = std::env::args()
        .skip_while(|argument| argument != "--rounds")
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(7);
    let cpu = Cpu::host();
    let avx2 = Cpu::with_cap(Tier::Avx2);
    let memcpy: Move<'_> = &|src, dst| dst.copy_from_slice(src);
    println!("{:<28} {:>7} {:>13} {:>6}", "", "bytes", "ours", "rival");
    for len in [4096, 65536, 1 << 20] {
        let run32: Move<'_> = &|src, dst| {
            black_box(crc32_copy(cpu, 0, src, dst));
        };
        row("CRC-32 copy / memcpy", rounds, len, run32, memcpy);
        let run64: Move<'_> = &|src, dst| {
            black_box(crc64_copy(cpu, 0, src, dst));
        };
        row("CRC-64 copy / memcpy", rounds, len, run64, memcpy);
        let low: Move<'_> = &|src, dst| {
            black_box(crc32_copy(&avx2, 0, src, dst));
        };
        row("CRC-32 copy AVX2 / memcpy", rounds, len, low, memcpy);
        let plain: Move<'_> = &|src, dst| copy(&avx2, src, dst);
        row("copy AVX2 / memcpy", rounds, len, plain, memcpy);
    }
    match isal() {
        None => println!("ISA-L is not here (libisal2): no rows against it"),
        Some((gzip, ecma)) => {
            for len in [16, 64, 200, 256, 511, 1024, 4096, 65536, 1 << 20] {
                let run32: Move<'_> = &|src, _| {
                    black_box(crc32(cpu, 0, src));
                };
                let run64: Move<'_> = &|src, _| {
                    black_box(crc64(cpu, 0, src));
                };
                // SAFETY: the slice's pointer and length.
                let isal32 = |src: &[u8]| unsafe { gzip(0, src.as_ptr(), src.len() as u64) };
                // SAFETY: the slice's pointer and length.
                let isal64 = |src: &[u8]| unsafe { ecma(0, src.as_ptr(), src.len() as u64) };
                let data = Pairs::new(len).pairs[0].0.clone();
                assert_eq!(crc32(cpu, 0, &data), isal32(&data));
                assert_eq!(crc64(cpu, 0, &data), isal64(&data));
                let rival: Move<'_> = &|src, _| {
                    black_box(isal32(src));
                };
                row("CRC-32 / ISA-L", rounds, len, run32, rival);
                let rival: Move<'_> = &|src, _| {
                    black_box(isal64(src));
                };
                row("CRC-64 / ISA-L", rounds, len, run64, rival);
            }
        }
    }
    let pattern: Vec<u8> = (0..64).collect();
    for len in [256, 4096, 65536, 1 << 20] {
        let memset: Move<'_> = &|_, dst| dst.fill(0x55);
        for period in [8, 64, 3, 48] {
            let run: Move<'_> = &|_, dst| fill(cpu, dst, &pattern[..period]);
            row(&format!("fill by {period} / memset"), rounds, len, run, memset);
        }
        // The buffers of a pair are equal: both read to the end.
        let run: Move<'_> = &|src, dst| assert!(black_box(compare(cpu, src, dst)).is_none());
        let memcmp: Move<'_> = &|src, dst| assert!(black_box(*src == *dst));
        row("compare / memcmp", rounds, len, run, memcmp);
        let run: Move<'_> = &|src, dst| assert!(black_box(compare(&avx2, src, dst)).is_none());
        row("compare AVX2 / memcmp", rounds, len, run, memcmp);
    }
}
