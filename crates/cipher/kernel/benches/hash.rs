//! Hashes of many messages in one call against OpenSSL in the same run (one reused EVP_MD_CTX, its
//! algorithm fetched once): CPU time of one thread, short rounds that take turns, the fastest round
//! of each. The padding of ours is made within its rounds. Prints bytes per second of OpenSSL and
//! ratios; digests are checked.
//!
//! `cargo bench -p lookaside-cipher-kernel --bench hash [NAME [TIER]]`

use std::ffi::CString;
use std::{env, ptr};

use lookaside_cipher_kernel::hash::*;
use lookaside_simd::{Cpu, Tier};

const NAMES: [&str; 6] = ["MD5", "SHA1", "SHA2-256", "SHA2-512", "SM3", "SHA3-256"];
/// Bytes per message; 0 stands for sizes of 64 to 1500 bytes, mixed.
const SIZES: [usize; 5] = [64, 256, 1024, 16384, 0];
const COUNTS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// The most messages in a call.
const MOST: usize = COUNTS[COUNTS.len() - 1];

/// Room for a padded tail: SHA-512's needs up to 16 + 128 bytes of padding.
const TAIL: usize = 256;

/// CPU time of this thread in nanoseconds.
fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is written.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Writes the rest of a message and its padding, and returns how many bytes these are.
fn tail(name: &str, block: usize, message: &[u8], tail: &mut [u8; TAIL]) -> usize {
    let rest = &message[message.len() / block * block..];
    let sponge = name.starts_with("SHA3");
    let room = if sponge { 1 } else { 1 + block / 8 };
    let len = (rest.len() + room).next_multiple_of(block);
    tail[..rest.len()].copy_from_slice(rest);
    tail[rest.len()..len].fill(0);
    tail[rest.len()] = if sponge { 0x06 } else { 0x80 };
    let bits = 8 * message.len() as u64;
    match name {
        "SHA3-256" => tail[len - 1] |= 0x80,
        "MD5" => tail[len - 8..len].copy_from_slice(&bits.to_le_bytes()),
        _ => tail[len - 8..len].copy_from_slice(&bits.to_be_bytes()),
    }
    len
}

/// Digests of all `inputs` by one call.
macro_rules! ours {
    ($name:ident, $block:literal, $start:expr, $to_bytes:ident, $inputs:ident, $tails:ident, $digests:ident,
        $messages:ident => $compress:expr) => {{
        let mut states = [$start; MOST];
        let mut $messages: Vec<_> = states[..$inputs.len()]
            .iter_mut()
            .zip($tails)
            .zip($inputs)
            .map(|((state, room), input)| {
                let len = tail($name, $block, input, room);
                let whole = &input[..input.len() / $block * $block];
                Message { state, parts: [whole, &room[..len]] }
            })
            .collect();
        let $messages = &mut $messages[..];
        $compress;
        for (digest, state) in $digests.iter_mut().zip(&states) {
            for (bytes, word) in digest.chunks_exact_mut(size_of_val(&state[0])).zip(state) {
                bytes.copy_from_slice(&word.$to_bytes());
            }
        }
    }};
}

fn ours(
    cpu: &Cpu,
    name: &str,
    inputs: &[&[u8]],
    tails: &mut [[u8; TAIL]; MOST],
    digests: &mut [[u8; 64]],
) {
    match name {
        "MD5" => ours!(name, 64, MD5_START, to_le_bytes, inputs, tails, digests, m => md5(cpu, m)),
        "SHA1" => {
            ours!(name, 64, SHA1_START, to_be_bytes, inputs, tails, digests, m => sha1(cpu, m))
        }
        "SHA2-256" => {
            ours!(name, 64, SHA256_START, to_be_bytes, inputs, tails, digests, m => sha256(cpu, m))
        }
        "SHA2-512" => {
            ours!(name, 128, SHA512_START, to_be_bytes, inputs, tails, digests, m => sha512(cpu, m))
        }
        "SM3" => ours!(name, 64, SM3_START, to_be_bytes, inputs, tails, digests, m => sm3(cpu, m)),
        _ => {
            ours!(name, 136, KECCAK_START, to_le_bytes, inputs, tails, digests, m => keccak(cpu, 136, m))
        }
    }
}

/// OpenSSL, one message after the other.
struct OpenSsl {
    md: *mut openssl_sys::EVP_MD,
    state: *mut openssl_sys::EVP_MD_CTX,
}

impl OpenSsl {
    fn new(name: &str) -> OpenSsl {
        let name = CString::new(name).unwrap();
        // SAFETY: the name is a C string. Never freed: a few of these per run.
        unsafe {
            let md = openssl_sys::EVP_MD_fetch(ptr::null_mut(), name.as_ptr(), ptr::null());
            assert!(!md.is_null());
            OpenSsl { md, state: openssl_sys::EVP_MD_CTX_new() }
        }
    }

    fn digests(&self, inputs: &[&[u8]], digests: &mut [[u8; 64]]) {
        for (input, digest) in inputs.iter().zip(digests) {
            // SAFETY: `digest` has room for any digest.
            let done = unsafe {
                openssl_sys::EVP_DigestInit_ex(self.state, self.md, ptr::null_mut())
                    & openssl_sys::EVP_DigestUpdate(self.state, input.as_ptr().cast(), input.len())
                    & openssl_sys::EVP_DigestFinal_ex(
                        self.state,
                        digest.as_mut_ptr(),
                        ptr::null_mut(),
                    )
            };
            assert_eq!(done, 1);
        }
    }
}

fn size_of_message(size: usize, i: usize) -> usize {
    if size == 0 { 64 + 397 * (i + 1) % 1437 } else { size }
}

fn main() {
    let mut wanted = env::args().skip(1).filter(|argument| argument != "--bench");
    let only = wanted.next();
    let tier = wanted.next().map(|name| name.parse::<Tier>().expect("generic, avx2 or avx512"));
    let cpu = tier.map_or_else(|| Cpu::host().clone(), Cpu::with_cap);
    println!("{} tier. OpenSSL in MB/s; ours in times that.", cpu.tier());
    let mut tails = [[0; TAIL]; MOST];
    let bytes: Vec<u8> = (0..SIZES[3] + 64 * MOST).map(|i| ((i * i) >> 7) as u8).collect();
    for name in NAMES.into_iter().filter(|name| only.as_ref().is_none_or(|only| only == name)) {
        let rival = OpenSsl::new(name);
        println!("{name:10}{:>10}{}", "OpenSSL", COUNTS.map(|n| format!("{n:>8} msg")).concat());
        for size in SIZES {
            let mut line = String::new();
            let mut rival_mb_per_s = 0.0;
            for count in COUNTS {
                let inputs: Vec<&[u8]> =
                    (0..count).map(|i| &bytes[64 * i..][..size_of_message(size, i)]).collect();
                let total: usize = inputs.iter().map(|input| input.len()).sum();
                let (mut own, mut other) = ([[0; 64]; MOST], [[0; 64]; MOST]);
                let calls = (200_000 / (total + 64 * count)).max(1);
                let (mut own_ns, mut other_ns) = (u64::MAX, u64::MAX);
                for _ in 0..25 {
                    let start = now_ns();
                    for _ in 0..calls {
                        ours(&cpu, name, &inputs, &mut tails, &mut own[..count]);
                    }
                    let middle = now_ns();
                    for _ in 0..calls {
                        rival.digests(&inputs, &mut other[..count]);
                    }
                    own_ns = own_ns.min(middle - start);
                    other_ns = other_ns.min(now_ns() - middle);
                }
                let len = match name {
                    "MD5" => 16,
                    "SHA1" => 20,
                    "SHA2-512" => 64,
                    _ => 32,
                };
                for (own, other) in own.iter().zip(&other) {
                    assert_eq!(own[..len], other[..len], "{name}, {count} x {size} bytes");
                }
                line += &format!("{:>12.2}", other_ns as f64 / own_ns as f64);
                rival_mb_per_s = (calls * total) as f64 * 1e3 / other_ns as f64;
            }
            let label = if size == 0 { "mixed".to_owned() } else { format!("{size} B") };
            println!("{label:>10}{rival_mb_per_s:>11.0}{line}");
        }
    }
}
