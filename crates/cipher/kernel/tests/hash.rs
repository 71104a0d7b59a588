//! Hashes of many messages at once against OpenSSL and AWS-LC, on every tier.

use std::ffi::CString;
use std::ptr;

use lookaside_cipher_kernel::hash::{self, Algorithm, Message};
use lookaside_simd::{Cpu, Tier};

mod numbers;
use numbers::Numbers;

/// The digests tested: OpenSSL's name, the block, the digest's length.
const DIGESTS: [(&str, usize, usize); 12] = [
    ("MD5", 64, 16),
    ("SHA1", 64, 20),
    ("SHA2-224", 64, 28),
    ("SHA2-256", 64, 32),
    ("SHA2-384", 128, 48),
    ("SHA2-512", 128, 64),
    ("SM3", 64, 32),
    ("SHA3-224", 144, 28),
    ("SHA3-256", 136, 32),
    ("SHA3-384", 104, 48),
    ("SHA3-512", 72, 64),
    ("SHAKE-128", 168, 16),
];

/// The whole blocks of a message stay where they are; the rest and the padding go here.
fn tail(name: &str, block: usize, message: &[u8]) -> Vec<u8> {
    let mut tail = message[message.len() / block * block..].to_vec();
    if name.starts_with("SHA3") || name.starts_with("SHAKE") {
        tail.push(if name.starts_with("SHA3") { 0x06 } else { 0x1f });
        tail.resize(block, 0);
        tail[block - 1] |= 0x80;
        return tail;
    }
    tail.push(0x80);
    let length_bytes = block / 8;
    let len = (tail.len() + length_bytes).next_multiple_of(block);
    tail.resize(len - 8, 0);
    let bits = 8 * message.len() as u64;
    tail.extend(if name == "MD5" { bits.to_le_bytes() } else { bits.to_be_bytes() });
    tail
}

/// The digests of `inputs`, in one call.
fn ours(cpu: &Cpu, name: &str, block: usize, len: usize, inputs: &[&[u8]]) -> Vec<Vec<u8>> {
    let tails: Vec<Vec<u8>> = inputs.iter().map(|input| tail(name, block, input)).collect();
    macro_rules! digests {
        ($start:expr, $to_bytes:ident, $compress:expr) => {{
            let mut states = vec![$start; inputs.len()];
            let mut messages: Vec<_> = states
                .iter_mut()
                .zip(inputs.iter().zip(&tails))
                .map(|(state, (input, tail))| {
                    let whole = &input[..input.len() / block * block];
                    Message { state, parts: [whole, &tail[..]] }
                })
                .collect();
            $compress(&mut messages[..]);
            assert!(messages.iter().all(|message| message.parts == [&[][..]; 2]));
            let bytes = states.iter().map(|state| {
                let bytes: Vec<u8> = state.iter().flat_map(|word| word.$to_bytes()).collect();
                bytes[..len].to_vec()
            });
            bytes.collect()
        }};
    }
    match name {
        "MD5" => digests!(hash::MD5_START, to_le_bytes, |m: &mut [_]| hash::md5(cpu, m)),
        "SHA1" => digests!(hash::SHA1_START, to_be_bytes, |m: &mut [_]| hash::sha1(cpu, m)),
        "SHA2-224" => digests!(hash::SHA224_START, to_be_bytes, |m: &mut [_]| hash::sha256(cpu, m)),
        "SHA2-256" => digests!(hash::SHA256_START, to_be_bytes, |m: &mut [_]| hash::sha256(cpu, m)),
        "SHA2-384" => digests!(hash::SHA384_START, to_be_bytes, |m: &mut [_]| hash::sha512(cpu, m)),
        "SHA2-512" => digests!(hash::SHA512_START, to_be_bytes, |m: &mut [_]| hash::sha512(cpu, m)),
        "SM3" => digests!(hash::SM3_START, to_be_bytes, |m: &mut [_]| hash::sm3(cpu, m)),
        _ => digests!(hash::KECCAK_START, to_le_bytes, |m: &mut [_]| hash::keccak(cpu, block, m)),
    }
}

/// OpenSSL's digest.
fn openssl(name: &str, len: usize, input: &[u8]) -> Vec<u8> {
    // Since 3.4 these have no length of their own.
    let is_xof = name.starts_with("SHAKE");
    let name = CString::new(name).unwrap();
    let mut digest = vec![0; len];
    let mut written = len as u32;
    // SAFETY: `digest` is as long as this digest, and each pointer lives through its call.
    unsafe {
        let md = openssl_sys::EVP_MD_fetch(ptr::null_mut(), name.as_ptr(), ptr::null());
        assert!(!md.is_null(), "OpenSSL has {name:?}");
        let state = openssl_sys::EVP_MD_CTX_new();
        assert_eq!(openssl_sys::EVP_DigestInit_ex(state, md, ptr::null_mut()), 1);
        assert_eq!(openssl_sys::EVP_DigestUpdate(state, input.as_ptr().cast(), input.len()), 1);
        let out = digest.as_mut_ptr();
        let ok = match is_xof {
            true => openssl_sys::EVP_DigestFinalXOF(state, out, len),
            false => openssl_sys::EVP_DigestFinal_ex(state, out, &mut written),
        };
        assert_eq!((ok, written as usize), (1, len), "{name:?}");
        openssl_sys::EVP_MD_CTX_free(state);
        openssl_sys::EVP_MD_free(md);
    }
    digest
}

/// AWS-LC's digest, of those it has.
fn aws_lc(name: &str, len: usize, input: &[u8]) -> Option<Vec<u8>> {
    let mut digest = vec![0; len];
    let (data, size, out) = (input.as_ptr(), input.len(), digest.as_mut_ptr());
    // SAFETY: `out` has room for the digest of this name.
    let written = unsafe {
        match name {
            "MD5" => aws_lc_sys::MD5(data, size, out),
            "SHA1" => aws_lc_sys::SHA1(data, size, out),
            "SHA2-224" => aws_lc_sys::SHA224(data, size, out),
            "SHA2-256" => aws_lc_sys::SHA256(data, size, out),
            "SHA2-384" => aws_lc_sys::SHA384(data, size, out),
            "SHA2-512" => aws_lc_sys::SHA512(data, size, out),
            _ => return None,
        }
    };
    assert!(!written.is_null());
    Some(digest)
}

/// Digests of slices of `bytes`, on every tier, against the two libraries.
fn check(name: &str, block: usize, len: usize, inputs: &[&[u8]]) {
    let wanted: Vec<_> = inputs.iter().map(|input| openssl(name, len, input)).collect();
    for (input, wanted) in inputs.iter().zip(&wanted) {
        if let Some(digest) = aws_lc(name, len, input) {
            assert_eq!(digest, *wanted);
        }
    }
    for tier in Tier::here() {
        let digests = ours(&Cpu::with_cap(tier), name, block, len, inputs);
        for (i, (digest, wanted)) in digests.iter().zip(&wanted).enumerate() {
            let (bytes, batch) = (inputs[i].len(), inputs.len());
            assert_eq!(digest, wanted, "{name} of {bytes} bytes, {i} of {batch}, {tier}");
        }
    }
}

#[test]
fn every_length() {
    let bytes = Numbers(1).bytes(640);
    for (name, block, len) in DIGESTS {
        // Every alignment too; a batch of 8, 16, or the rest of a vector.
        let inputs: Vec<&[u8]> = (0..=600).map(|size| &bytes[size % 37..][..size]).collect();
        for batch in inputs.chunks(19) {
            check(name, block, len, batch);
        }
    }
}

#[test]
fn batches_of_every_size() {
    let mut random = Numbers(2);
    let bytes = random.bytes(12_000);
    for (name, block, len) in DIGESTS {
        for count in 1..=40 {
            let inputs: Vec<&[u8]> = (0..count)
                .map(|_| {
                    let size = match random.below(10) {
                        0 if count % 8 == 0 => 9_000 + random.below(2_000),
                        _ => random.below(600),
                    };
                    &bytes[random.below(64)..][..size]
                })
                .collect();
            check(name, block, len, &inputs);
        }
    }
}

/// More messages than are put in order at a time, and more than any vector has lanes.
#[test]
fn groups() {
    let mut random = Numbers(3);
    let bytes = random.bytes(700);
    for (name, block, len) in DIGESTS {
        for count in [64, 65, 150] {
            let inputs: Vec<&[u8]> = (0..count).map(|_| &bytes[..random.below(700)]).collect();
            check(name, block, len, &inputs);
        }
        let inputs = vec![&bytes[..100]; 48];
        check(name, block, len, &inputs);
    }
}

/// Messages of one length and different bytes, which take one run, before and between others.
#[test]
fn alike() {
    let bytes = Numbers(5).bytes(300 + 50);
    for (name, block, len) in DIGESTS {
        for (first, more) in [(1, 0), (3, 2), (8, 1), (16, 0), (17, 5), (33, 0), (32, 9)] {
            let inputs: Vec<&[u8]> = (0..first + more)
                .map(|i| &bytes[i..][..if i < first { 290 } else { 10 * i % 300 }])
                .collect();
            check(name, block, len, &inputs);
            let inputs: Vec<&[u8]> = inputs.into_iter().rev().collect();
            check(name, block, len, &inputs);
        }
    }
}

/// HMAC's calls: a chaining value of the caller's, one block in the first part only or in the
/// second only, and messages without a block, which stay as they are.
#[test]
fn parts_may_be_empty() {
    let bytes = Numbers(4).bytes(64 * 40);
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        for count in 1..=40 {
            let mut states: Vec<[u32; 8]> = (0..count).map(|i| [i; 8]).collect();
            let mut once = states.clone();
            let mut messages: Vec<_> = states
                .iter_mut()
                .zip(bytes.chunks(64))
                .enumerate()
                .map(|(i, (state, block))| match i % 3 {
                    0 => Message { state, parts: [block, &[]] },
                    1 => Message { state, parts: [&[], block] },
                    _ => Message { state, parts: [&[], &[]] },
                })
                .collect();
            hash::sha256(&cpu, &mut messages);
            for (i, state) in once.iter_mut().enumerate() {
                if i % 3 < 2 {
                    // AWS-LC's compression function, from the same chaining value.
                    // SAFETY: a state of eight words, and one block.
                    unsafe {
                        aws_lc_sys::SHA256_TransformBlocks(
                            state.as_mut_ptr(),
                            bytes[64 * i..].as_ptr(),
                            1,
                        );
                    }
                }
            }
            assert_eq!(states, once, "{count} messages, {tier}");
        }
    }
}

/// Bytes before a page that may not be touched.
struct Guarded {
    start: *mut u8,
    len: usize,
}

const PAGE: usize = 4096;

impl Guarded {
    fn new(len: usize) -> Guarded {
        let pages = len.next_multiple_of(PAGE);
        // SAFETY: a fresh mapping, whose last page is then locked.
        unsafe {
            let (protection, flags) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let mapping = libc::mmap(ptr::null_mut(), pages + PAGE, protection, flags, -1, 0);
            assert_ne!(mapping, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(mapping.byte_add(pages), PAGE, libc::PROT_NONE), 0);
            Guarded { start: mapping.cast::<u8>().add(pages - len), len }
        }
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: `len` bytes of the mapping, which is never unmapped, before the locked page.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }

    /// The bytes as one array of words at the very end.
    fn state<W, const N: usize>(&mut self) -> &mut [W; N] {
        assert_eq!(self.len, size_of::<[W; N]>());
        // SAFETY: as many bytes, zeros, that end at a page: aligned for words.
        unsafe { &mut *self.start.cast() }
    }
}

/// Neither blocks nor chaining values are read or written beyond their ends.
#[test]
fn ends_at_a_page() {
    macro_rules! check {
        ($word:ty, $n:literal, $block:expr, $cpu:ident, $compress:expr) => {
            for count in [1, 2, 3, 5, 8, 16, 17, 32] {
                let mut states: Vec<_> =
                    (0..count).map(|_| Guarded::new(size_of::<[$word; $n]>())).collect();
                let mut data: Vec<_> = (0..count).map(|_| Guarded::new(2 * $block)).collect();
                let mut messages: Vec<_> = states
                    .iter_mut()
                    .zip(&mut data)
                    .map(|(state, data)| Message {
                        state: state.state::<$word, $n>(),
                        parts: [&*data.bytes(), &[]],
                    })
                    .collect();
                $compress(&$cpu, &mut messages[..]);
                assert!(states.iter_mut().all(|state| *state.state::<$word, $n>() != [0; $n]));
            }
        };
    }
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        check!(u32, 4, 64, cpu, hash::md5);
        check!(u32, 5, 64, cpu, hash::sha1);
        check!(u32, 8, 64, cpu, hash::sha256);
        check!(u32, 8, 64, cpu, hash::sm3);
        check!(u64, 8, 128, cpu, hash::sha512);
        for rate in [8, 72, 136, 144, 200] {
            check!(u64, 25, rate, cpu, |cpu, messages| hash::keccak(cpu, rate, messages));
        }
    }
}

/// Every rate a sponge may have, against the portable code, whose rates of SHA-3 are checked above.
#[test]
fn every_rate() {
    let bytes = Numbers(5).bytes(600);
    for rate in (8..=200).step_by(8) {
        let digests = Tier::here().map(|tier| {
            let mut states = [hash::KECCAK_START; 11];
            let mut messages: Vec<_> = states
                .iter_mut()
                .enumerate()
                .map(|(i, state)| {
                    let blocks = &bytes[i..][..(600 - i) / rate * rate];
                    Message { state, parts: [blocks, &bytes[..rate]] }
                })
                .collect();
            hash::keccak(&Cpu::with_cap(tier), rate, &mut messages);
            states
        });
        let digests: Vec<_> = digests.collect();
        assert!(digests.iter().all(|states| *states == digests[0]), "rate {rate}");
        assert_ne!(digests[0][0], digests[0][1]);
    }
}

#[test]
fn lanes_by_tier() {
    use Algorithm::*;
    for algorithm in [Md5, Sha1, Sha256, Sha512, Sm3, Keccak] {
        assert_eq!(hash::lanes(&Cpu::with_cap(Tier::Generic), algorithm), 1);
        let tiers = Tier::here().map(Cpu::with_cap);
        let counts: Vec<usize> = tiers.map(|cpu| hash::lanes(&cpu, algorithm)).collect();
        assert!(counts.is_sorted(), "{algorithm:?}: {counts:?}");
    }
}
