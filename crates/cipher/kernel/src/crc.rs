//! CRC-32 (gzip, Ethernet: polynomial 0x04C11DB7) and CRC-64/XZ (ECMA-182: 0x42F0E1EBA9EA3693), both
//! reflected, with initial value and final complement; alone, or while the data are copied.
//!
//! A result continues: `crc32(cpu, crc32(cpu, 0, a), b)` is the checksum of `a` and `b` together.
//!
//! Vectors fold by carry-less multiplication; without them, and for less than 16 bytes, eight tables take
//! eight bytes at once. A checksum is no secret and keeps none: table addresses depend on the data.
//!
//! Tests: `tests/crc.rs`; bench: `benches/mover.rs`.

use lookaside_simd::Cpu;

#[cfg(target_arch = "x86_64")]
mod fold;
mod tables;

use tables::{Crc, ECMA_182, GZIP};

/// The CRC-32 of `data` after whatever has the CRC-32 `start`: 0 at the beginning.
///
/// ```
/// let cpu = lookaside_simd::Cpu::host();
/// assert_eq!(lookaside_cipher_kernel::crc::crc32(cpu, 0, b"123456789"), 0xcbf4_3926);
/// ```
pub fn crc32(cpu: &Cpu, start: u32, data: &[u8]) -> u32 {
    // SAFETY: without a copy the destination is not used.
    !unsafe { update::<false>(cpu, &GZIP, (!start).into(), data, std::ptr::null_mut()) } as u32
}

/// The CRC-64/XZ of `data` after whatever has the CRC-64 `start`: 0 at the beginning.
///
/// ```
/// let cpu = lookaside_simd::Cpu::host();
/// assert_eq!(lookaside_cipher_kernel::crc::crc64(cpu, 0, b"123456789"), 0x995d_c9bb_df19_39fa);
/// ```
pub fn crc64(cpu: &Cpu, start: u64, data: &[u8]) -> u64 {
    // SAFETY: without a copy the destination is not used.
    !unsafe { update::<false>(cpu, &ECMA_182, !start, data, std::ptr::null_mut()) }
}

/// [`crc32`] of `src`, which is copied to the start of `dst` on the way.
///
/// # Panics
/// When `dst` is shorter than `src`.
pub fn crc32_copy(cpu: &Cpu, start: u32, src: &[u8], dst: &mut [u8]) -> u32 {
    let dst = dst[..src.len()].as_mut_ptr();
    // SAFETY: a slice of the source's length, and apart from it.
    !unsafe { update::<true>(cpu, &GZIP, (!start).into(), src, dst) } as u32
}

/// [`crc64`] of `src`, which is copied to the start of `dst` on the way.
///
/// # Panics
/// When `dst` is shorter than `src`.
pub fn crc64_copy(cpu: &Cpu, start: u64, src: &[u8], dst: &mut [u8]) -> u64 {
    let dst = dst[..src.len()].as_mut_ptr();
    // SAFETY: a slice of the source's length, and apart from it.
    !unsafe { update::<true>(cpu, &ECMA_182, !start, src, dst) }
}

/// The remainder after `src`, without complements.
///
/// # Safety
/// If `COPY`, `dst` is valid for as many bytes as `src` has, and apart from it.
unsafe fn update<const COPY: bool>(
    cpu: &Cpu,
    crc: &Crc,
    start: u64,
    src: &[u8],
    dst: *mut u8,
) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if src.len() >= fold::LEAST
        && let Some(token) = cpu.avx2()
    {
        // SAFETY: the caller's.
        return unsafe {
            match (cpu.avx512(), cpu.vaes()) {
                (Some(wide), _) => fold::avx512::<COPY>((wide, token), crc, start, src, dst),
                (_, Some(wide)) => fold::vaes::<COPY>((wide, token), crc, start, src, dst),
                _ => fold::avx2::<COPY>(token, crc, start, src, dst),
            }
        };
    }
    let _ = cpu;
    if COPY {
        // SAFETY: the caller's.
        unsafe { src.as_ptr().copy_to_nonoverlapping(dst, src.len()) };
    }
    crc.update(start, src)
}
