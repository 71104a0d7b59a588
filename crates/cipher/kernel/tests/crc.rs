//! The checksums against a loop over bits, and the data mover against simple loops, on every tier.

use lookaside_cipher_kernel::copy::{compare, copy, fill};
use lookaside_cipher_kernel::crc::{crc32, crc32_copy, crc64, crc64_copy};
use lookaside_simd::{Cpu, Tier};

fn bytes(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect()
}

fn tiers() -> impl Iterator<Item = Cpu> {
    Tier::here().map(Cpu::with_cap)
}

/// The definition, bit by bit; `polynomial` reflected, in the low bits.
fn by_bits(polynomial: u64, ones: u64, data: &[u8]) -> u64 {
    let mut crc = ones;
    for byte in data {
        crc ^= u64::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ polynomial } else { crc >> 1 };
        }
    }
    crc ^ ones
}

fn crc32_by_bits(data: &[u8]) -> u32 {
    by_bits(0xedb8_8320, 0xffff_ffff, data) as u32
}

fn crc64_by_bits(data: &[u8]) -> u64 {
    by_bits(0xc96c_5795_d787_0f42, u64::MAX, data)
}

/// The check values of the catalogues.
#[test]
fn the_check_values() {
    for cpu in tiers() {
        assert_eq!(crc32(&cpu, 0, b"123456789"), 0xcbf4_3926);
        assert_eq!(crc64(&cpu, 0, b"123456789"), 0x995d_c9bb_df19_39fa);
        assert_eq!((crc32(&cpu, 0, b""), crc64(&cpu, 0, b"")), (0, 0));
        assert_eq!((crc32(&cpu, 5, b""), crc64(&cpu, 5, b"")), (5, 5));
    }
}

#[test]
fn checksums_of_every_length() {
    let data = bytes(9000);
    let lengths = (0..=600).chain([640, 1023, 1024, 1100, 2047, 2048, 4095, 4607, 8191]);
    for len in lengths {
        let src = &data[len % 67..][..len];
        let expected = (crc32_by_bits(src), crc64_by_bits(src));
        for cpu in tiers() {
            assert_eq!((crc32(&cpu, 0, src), crc64(&cpu, 0, src)), expected, "{len}");
            let mut dst = [vec![0xee; len + 2], vec![0xee; len + 2]];
            assert_eq!(crc32_copy(&cpu, 0, src, &mut dst[0][1..]), expected.0, "{len}");
            assert_eq!(crc64_copy(&cpu, 0, src, &mut dst[1][1..]), expected.1, "{len}");
            for dst in &dst {
                assert_eq!((dst[0], dst[len + 1]), (0xee, 0xee), "{len}");
                assert!(dst[1..=len] == *src, "{len}");
            }
        }
    }
}

#[test]
fn checksums_continue() {
    let data = bytes(3000);
    let expected = (crc32_by_bits(&data), crc64_by_bits(&data));
    for cpu in tiers() {
        for cut in (0..3000).step_by(41) {
            let (a, b) = data.split_at(cut);
            let mut dst = vec![0; b.len()];
            assert_eq!(crc32(&cpu, crc32(&cpu, 0, a), b), expected.0, "{cut}");
            assert_eq!(crc64_copy(&cpu, crc64(&cpu, 0, a), b, &mut dst), expected.1, "{cut}");
        }
    }
}

#[test]
fn fills_repeat_the_pattern() {
    let data = bytes(150);
    for cpu in tiers() {
        for period in (1..=64).chain([65, 100, 150]) {
            let pattern = &data[..period];
            for len in (0..300).step_by(if period % 7 == 1 { 1 } else { 13 }).chain([1000, 4097]) {
                let mut dst = vec![0xee; len + 2];
                fill(&cpu, &mut dst[1..=len], pattern);
                assert_eq!((dst[0], dst[len + 1]), (0xee, 0xee), "{period} {len}");
                let right = (1..=len).all(|i| dst[i] == pattern[(i - 1) % period]);
                assert!(right, "{period} {len}");
            }
        }
        fill(&cpu, &mut [], &[]);
    }
}

#[test]
fn comparisons_find_the_first_difference() {
    let data = bytes(400);
    for cpu in tiers() {
        for len in (0..300).chain([384]) {
            let a = &data[len % 5..][..len];
            let mut b = [&[1, 2, 3], a].concat();
            let b = &mut b[3..];
            assert_eq!(compare(&cpu, a, b), None, "{len}");
            for at in (0..len).rev() {
                b[at] ^= 0x80;
                assert_eq!(compare(&cpu, a, b), Some(at), "{len}");
                // Those behind it stay different where the length is odd.
                if len % 2 == 0 {
                    b[at] ^= 0x80;
                }
            }
            let (shorter, longer) = (&data[..len], &data[..len + 1]);
            assert_eq!(compare(&cpu, shorter, longer), Some(len));
            assert_eq!(compare(&cpu, longer, shorter), Some(len));
        }
    }
}

#[test]
fn copies_leave_the_rest_alone() {
    // Around the lengths from which and up to which a loop of our own copies.
    let (least, most) = (2048, 768 << 10);
    let lengths = (0..300).chain(least - 1..least + 300).chain(most - 2..most + 2).chain([70_000]);
    let data: Vec<u8> = (0..most + 64).map(|i| (i * 7 + (i >> 8) * 13) as u8).collect();
    let mut dst = vec![0; most + 100];
    for cpu in tiers() {
        for len in lengths.clone() {
            let (from, to) = (len % 33, len % 37);
            dst[..to + len + 50].fill(0xee);
            copy(&cpu, &data[from..from + len], &mut dst[to..]);
            let (head, rest) = dst.split_at(to);
            let (now, rest) = rest.split_at(len);
            assert!(now == &data[from..from + len], "{len}");
            assert!(head.iter().chain(&rest[..50]).all(|byte| *byte == 0xee), "{len}");
        }
    }
}
