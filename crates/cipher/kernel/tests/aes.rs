//! AES and its modes, and the stitched chains, against the standards' vectors, OpenSSL and AWS-LC.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int};
use std::ptr::null_mut;

use aws_lc_sys as lc;
use lookaside_cipher_kernel::Text;
use lookaside_cipher_kernel::aes::sha::{ShaNi, State};
use lookaside_cipher_kernel::aes::{self, Key, stitched};
use lookaside_simd::{Cpu, Tier};
use openssl_sys as ossl;

/// Bytes that look random.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(next).collect()
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the length")
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let value = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(value).collect()
}

/// Every CPU tier that has AES instructions here.
fn cpus() -> Vec<Cpu> {
    let cpus: Vec<Cpu> = [Tier::Avx2, Tier::Avx512]
        .map(Cpu::with_cap)
        .into_iter()
        .filter(|cpu| cpu.tier() > Tier::Generic)
        .collect();
    if cpus.is_empty() {
        println!("SKIPPED: this CPU has no AES instructions that the kernel knows");
    }
    cpus
}

/// OpenSSL's answer.
fn openssl(cipher: &str, key: &[u8], iv: &[u8], encrypt: bool, src: &[u8]) -> Vec<u8> {
    let name = CString::new(cipher).unwrap();
    let mut dst = vec![0; src.len() + 16];
    let mut len: c_int = 0;
    // SAFETY: key and IV are as long as the cipher wants, the destination is a block longer than the
    // source; what is made is freed.
    unsafe {
        let kind = ossl::EVP_get_cipherbyname(name.as_ptr());
        assert!(!kind.is_null(), "{cipher}");
        let state = ossl::EVP_CIPHER_CTX_new();
        let direction = c_int::from(encrypt);
        let (key, iv) = (key.as_ptr(), iv.as_ptr());
        assert_eq!(ossl::EVP_CipherInit_ex(state, kind, null_mut(), key, iv, direction), 1);
        ossl::EVP_CIPHER_CTX_set_padding(state, 0);
        let (src, n) = (src.as_ptr(), src.len() as c_int);
        assert_eq!(ossl::EVP_CipherUpdate(state, dst.as_mut_ptr(), &raw mut len, src, n), 1);
        ossl::EVP_CIPHER_CTX_free(state);
    }
    dst.truncate(len as usize);
    assert_eq!(dst.len(), src.len(), "{cipher}");
    dst
}

/// AWS-LC's answer.
fn aws_lc(
    kind: *const lc::EVP_CIPHER,
    key: &[u8],
    iv: &[u8],
    encrypt: bool,
    src: &[u8],
) -> Vec<u8> {
    let mut dst = vec![0; src.len() + 16];
    let mut len: c_int = 0;
    // SAFETY: as above.
    unsafe {
        let state = lc::EVP_CIPHER_CTX_new();
        let direction = c_int::from(encrypt);
        let (key, iv) = (key.as_ptr(), iv.as_ptr());
        assert_eq!(lc::EVP_CipherInit_ex(state, kind, null_mut(), key, iv, direction), 1);
        lc::EVP_CIPHER_CTX_set_padding(state, 0);
        let (src, n) = (src.as_ptr(), src.len() as c_int);
        assert_eq!(lc::EVP_CipherUpdate(state, dst.as_mut_ptr(), &raw mut len, src, n), 1);
        lc::EVP_CIPHER_CTX_free(state);
    }
    dst.truncate(len as usize);
    dst
}

/// A mode, as one function of key bytes, IV and text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Ecb,
    Cbc,
    Ctr,
    Xts,
}

impl Mode {
    /// Runs it; the IV is changed where the mode changes it.
    fn run(self, cpu: &Cpu, key: &[u8], iv: &mut [u8; 16], encrypt: bool, text: Text<'_>) {
        let (data_key, tweak_key) = match self {
            Mode::Xts => key.split_at(key.len() / 2),
            _ => (key, key),
        };
        let data_key = Key::new(cpu, data_key).expect("a key");
        let tweak_key = Key::new(cpu, tweak_key).expect("a key");
        match (self, encrypt) {
            (Mode::Ecb, true) => aes::ecb_encrypt(&data_key, text),
            (Mode::Ecb, false) => aes::ecb_decrypt(&data_key, text),
            (Mode::Cbc, true) => aes::cbc_encrypt(&data_key, iv, text),
            (Mode::Cbc, false) => aes::cbc_decrypt(&data_key, iv, text),
            (Mode::Ctr, _) => aes::ctr(&data_key, iv, text),
            (Mode::Xts, true) => aes::xts_encrypt(&data_key, &tweak_key, iv, text),
            (Mode::Xts, false) => aes::xts_decrypt(&data_key, &tweak_key, iv, text),
        }
    }
}

/// Both directions on every tier, in place and apart, unaligned, nothing written beyond.
fn check(mode: Mode, key: &[u8], iv: &[u8; 16], plaintext: &[u8], ciphertext: &[u8]) {
    for cpu in cpus() {
        for (encrypt, from, to) in [(true, plaintext, ciphertext), (false, ciphertext, plaintext)] {
            let len = from.len();
            let what = format!("{mode:?} {} {len} {encrypt} {}", key.len(), cpu.tier());

            let mut apart = vec![0xa5; len + 80];
            let mut iv_apart = *iv;
            let text = Text::Apart { src: from, dst: &mut apart[1..1 + len] };
            mode.run(&cpu, key, &mut iv_apart, encrypt, text);
            assert!(apart[1..1 + len] == *to, "{what}, apart");
            assert!(apart[1 + len..].iter().all(|byte| *byte == 0xa5), "{what}, beyond");

            let mut in_place = [&[0xa5; 3], from, &[0xa5; 80]].concat();
            let mut iv_in_place = *iv;
            let text = Text::InPlace(&mut in_place[3..3 + len]);
            mode.run(&cpu, key, &mut iv_in_place, encrypt, text);
            assert!(in_place[3..3 + len] == *to, "{what}, in place");
            assert!(in_place[3 + len..].iter().all(|byte| *byte == 0xa5), "{what}, beyond");

            let blocks = len.div_ceil(16) as u128;
            let expected = match mode {
                Mode::Ecb | Mode::Xts => *iv,
                Mode::Cbc if len == 0 => *iv,
                Mode::Cbc => array(&ciphertext[len - 16..]),
                Mode::Ctr => u128::from_be_bytes(*iv).wrapping_add(blocks).to_be_bytes(),
            };
            assert_eq!((iv_apart, iv_in_place), (expected, expected), "{what}, IV");
        }
    }
}

/// The plaintext of SP 800-38A appendix F.
const PLAINTEXT: &str = "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
    30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710";

#[test]
fn sp_800_38a() {
    let key_128 = "2b7e151628aed2a6abf7158809cf4f3c";
    let key_192 = "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b";
    let key_256 = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
    let iv = "000102030405060708090a0b0c0d0e0f";
    let counter = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
    let vectors = [
        // F.1.1, F.1.3, F.1.5
        (
            Mode::Ecb,
            key_128,
            iv,
            "3ad77bb40d7a3660a89ecaf32466ef97 f5d3d58503b9699de785895a96fdbaaf
            43b1cd7f598ece23881b00e3ed030688 7b0c785e27e8ad3f8223207104725dd4",
        ),
        (
            Mode::Ecb,
            key_192,
            iv,
            "bd334f1d6e45f25ff712a214571fa5cc 974104846d0ad3ad7734ecb3ecee4eef
            ef7afd2270e2e60adce0ba2face6444e 9a4b41ba738d6c72fb16691603c18e0e",
        ),
        (
            Mode::Ecb,
            key_256,
            iv,
            "f3eed1bdb5d2a03c064b5a7e3db181f8 591ccb10d410ed26dc5ba74a31362870
            b6ed21b99ca6f4f9f153e7b1beafed1d 23304b7a39f9f3ff067d8d8f9e24ecc7",
        ),
        // F.2.1, F.2.3, F.2.5
        (
            Mode::Cbc,
            key_128,
            iv,
            "7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2
            73bed6b8e3c1743b7116e69e22229516 3ff1caa1681fac09120eca307586e1a7",
        ),
        (
            Mode::Cbc,
            key_192,
            iv,
            "4f021db243bc633d7178183a9fa071e8 b4d9ada9ad7dedf4e5e738763f69145a
            571b242012fb7ae07fa9baac3df102e0 08b0e27988598881d920a9e64f5615cd",
        ),
        (
            Mode::Cbc,
            key_256,
            iv,
            "f58c4c04d6e5f1ba779eabfb5f7bfbd6 9cfc4e967edb808d679f777bc6702c7d
            39f23369a9d9bacfa530e26304231461 b2eb05e2c39be9fcda6c19078c6a9d1b",
        ),
        // F.5.1, F.5.3, F.5.5
        (
            Mode::Ctr,
            key_128,
            counter,
            "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
            5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee",
        ),
        (
            Mode::Ctr,
            key_192,
            counter,
            "1abc932417521ca24f2b0459fe7e6e0b 090339ec0aa6faefd5ccc2c6f4ce8e94
            1e36b26bd1ebc670d1bd1d665620abf7 4f78a7f6d29809585a97daec58c6b050",
        ),
        (
            Mode::Ctr,
            key_256,
            counter,
            "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5
            2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6",
        ),
    ];
    for (mode, key, iv, ciphertext) in vectors {
        check(mode, &hex(key), &array(&hex(iv)), &hex(PLAINTEXT), &hex(ciphertext));
    }
}

/// IEEE 1619-2007, annex B: vectors 2 and 15 (17 bytes: the last block is stolen from).
#[test]
fn ieee_1619() {
    let key = [vec![0x11; 16], vec![0x22; 16]].concat();
    let mut tweak = [0; 16];
    tweak[..5].copy_from_slice(&[0x33; 5]);
    let ciphertext = hex("c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0");
    check(Mode::Xts, &key, &tweak, &[0x44; 32], &ciphertext);

    let key = hex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0 bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0");
    let mut tweak = [0; 16];
    tweak[..5].copy_from_slice(&hex("9a78563412"));
    let plaintext: Vec<u8> = (0..17).collect();
    check(Mode::Xts, &key, &tweak, &plaintext, &hex("6c1625db4671522d3d7599601de7ca09ed"));
}

#[test]
fn modes_as_openssl_and_aws_lc_have_them() {
    type Kind = unsafe extern "C" fn() -> *const lc::EVP_CIPHER;
    let modes: [(Mode, usize, &str, Kind); 10] = [
        (Mode::Ecb, 16, "AES-128-ECB", lc::EVP_aes_128_ecb),
        (Mode::Ecb, 24, "AES-192-ECB", lc::EVP_aes_192_ecb),
        (Mode::Ecb, 32, "AES-256-ECB", lc::EVP_aes_256_ecb),
        (Mode::Cbc, 16, "AES-128-CBC", lc::EVP_aes_128_cbc),
        (Mode::Cbc, 24, "AES-192-CBC", lc::EVP_aes_192_cbc),
        (Mode::Cbc, 32, "AES-256-CBC", lc::EVP_aes_256_cbc),
        (Mode::Ctr, 16, "AES-128-CTR", lc::EVP_aes_128_ctr),
        (Mode::Ctr, 24, "AES-192-CTR", lc::EVP_aes_192_ctr),
        (Mode::Ctr, 32, "AES-256-CTR", lc::EVP_aes_256_ctr),
        // AWS-LC has no other XTS; OpenSSL's AES-128-XTS is below.
        (Mode::Xts, 64, "AES-256-XTS", lc::EVP_aes_256_xts),
    ];
    for (i, (mode, key_len, name, kind)) in modes.into_iter().enumerate() {
        let key = bytes(i as u64, key_len);
        let iv = array(&bytes(100 + i as u64, 16));
        // Two groups of eight registers of four blocks, and all that can remain.
        let most = 4 * 16 * 17;
        let lens: Vec<usize> = match mode {
            Mode::Ecb | Mode::Cbc => (0..=most).step_by(16).collect(),
            Mode::Ctr => (0..=most).filter(|len| len % 3 == 0 || *len < 200).collect(),
            Mode::Xts => (16..=most).filter(|len| len % 3 == 0 || *len < 200).collect(),
        };
        for len in lens {
            let plaintext = bytes(len as u64, len);
            let ciphertext = openssl(name, &key, &iv, true, &plaintext);
            // SAFETY: a table of AWS-LC's.
            let kind = unsafe { kind() };
            assert!(
                ciphertext == aws_lc(kind, &key, &iv, true, &plaintext),
                "the libraries differ"
            );
            check(mode, &key, &iv, &plaintext, &ciphertext);
        }
    }
    for len in (16..600).chain(4000..4020) {
        let (key, iv) = (bytes(7, 32), array(&bytes(8, 16)));
        let plaintext = bytes(len as u64, len);
        let ciphertext = openssl("AES-128-XTS", &key, &iv, true, &plaintext);
        check(Mode::Xts, &key, &iv, &plaintext, &ciphertext);
    }
}

#[test]
fn counters_wrap_around() {
    let key = bytes(1, 16);
    for high in [0u128, 5, u128::from(u64::MAX)] {
        for before in [0, 1, 3, 4, 5, 31, 32, 33, 40] {
            let iv = (high << 64 | u128::from(u64::MAX - before)).to_be_bytes();
            for len in [0, 1, 16, 63, 64, 65, 100, 700, 1500] {
                let plaintext = bytes(len as u64, len);
                let ciphertext = openssl("AES-128-CTR", &key, &iv, true, &plaintext);
                check(Mode::Ctr, &key, &iv, &plaintext, &ciphertext);
            }
        }
    }
}

#[test]
fn bytes_after_the_last_block_are_left_alone() {
    for cpu in cpus() {
        let key = Key::new(&cpu, &bytes(1, 16)).unwrap();
        for len in [0, 1, 15, 17, 31, 100, 600] {
            let text = bytes(2, len);
            let whole = len & !15;
            let runs: [fn(&Key, &mut [u8]); 4] = [
                |key, text| aes::ecb_encrypt(key, Text::InPlace(text)),
                |key, text| aes::ecb_decrypt(key, Text::InPlace(text)),
                |key, text| aes::cbc_encrypt(key, &mut [1; 16], Text::InPlace(text)),
                |key, text| aes::cbc_decrypt(key, &mut [1; 16], Text::InPlace(text)),
            ];
            for run in runs {
                let (mut all, mut blocks) = (text.clone(), text[..whole].to_vec());
                run(&key, &mut all);
                run(&key, &mut blocks);
                assert_eq!((&all[..whole], &all[whole..]), (&blocks[..], &text[whole..]));
            }
        }
        let mut short = bytes(3, 15);
        aes::xts_encrypt(&key, &key, &[0; 16], Text::InPlace(&mut short));
        aes::xts_decrypt(&key, &key, &[0; 16], Text::InPlace(&mut short));
        assert_eq!(short, bytes(3, 15));
    }
}

#[test]
fn keys_of_other_lengths_and_the_generic_tier_have_no_key() {
    for cpu in cpus() {
        for len in (0..64).filter(|len| ![16, 24, 32].contains(len)) {
            assert!(Key::new(&cpu, &bytes(1, len)).is_none());
        }
    }
    assert!(Key::new(&Cpu::with_cap(Tier::Generic), &[0; 16]).is_none());
    assert!(ShaNi::new(&Cpu::with_cap(Tier::Generic)).is_none());
}

#[test]
fn cbc_mac_is_the_last_block_of_cbc() {
    for cpu in cpus() {
        for (key_len, name) in [(16, "AES-128-CBC"), (24, "AES-192-CBC"), (32, "AES-256-CBC")] {
            let key_bytes = bytes(3, key_len);
            let key = Key::new(&cpu, &key_bytes).unwrap();
            for blocks in 0..20 {
                let text = bytes(4, 16 * blocks + 5);
                let iv: [u8; 16] = array(&bytes(5, 16));
                let mut state = iv;
                aes::cbc_mac(&key, &mut state, &text);
                let cbc = openssl(name, &key_bytes, &iv, true, &text[..16 * blocks]);
                assert_eq!(state, cbc.last_chunk().copied().unwrap_or(iv));
            }
        }
    }
}

const SHA1: [u32; 5] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
const SHA256: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// Every tier with AES and SHA instructions.
fn sha_cpus() -> Vec<(Cpu, ShaNi)> {
    let cpus = cpus();
    let with_sha: Vec<_> =
        cpus.into_iter().filter_map(|cpu| ShaNi::new(&cpu).map(|sha| (cpu, sha))).collect();
    if with_sha.is_empty() {
        println!("SKIPPED: this CPU has no SHA-NI");
    }
    with_sha
}

#[test]
fn sha_of_padded_messages() {
    for (_, sha) in sha_cpus() {
        for len in (0..300).chain([1000, 5000]) {
            let message = bytes(6, len);
            let mut padded = [&message[..], &[0x80]].concat();
            padded.resize((len + 9).next_multiple_of(64) - 8, 0);
            padded.extend((8 * len as u64).to_be_bytes());

            let (mut sha1, mut sha256) = (SHA1, SHA256);
            // In two calls, and with bytes after the last block.
            let (first, second) = padded.split_at(padded.len() / 128 * 64);
            for part in [first, &[second, &[1; 63]].concat()] {
                sha.compress(&mut sha1, part);
                sha.compress(&mut sha256, part);
            }

            let (mut digest_1, mut digest_256) = ([0; 20], [0; 32]);
            // SAFETY: a message with its length, and places for the digests.
            unsafe {
                lc::SHA1(message.as_ptr(), len, digest_1.as_mut_ptr());
                lc::SHA256(message.as_ptr(), len, digest_256.as_mut_ptr());
            }
            assert_eq!(sha1.map(u32::to_be_bytes).concat(), digest_1);
            assert_eq!(sha256.map(u32::to_be_bytes).concat(), digest_256);
        }
    }
}

/// The stitched functions do what cipher and hash do one after the other.
fn check_stitched<S: State + Copy + PartialEq + std::fmt::Debug>(start: S) {
    let lens = (0..400).step_by(7).chain((0..900).step_by(16)).chain([1408, 1409]);
    for ((cpu, sha), len) in
        sha_cpus().into_iter().flat_map(|cpu| lens.clone().map(move |len| (cpu.clone(), len)))
    {
        for key_len in [16, 24, 32] {
            let key = Key::new(&cpu, &bytes(7, key_len)).unwrap();
            let iv: [u8; 16] = array(&bytes(8, 16));
            let text = bytes(len as u64, len);
            for from in [0, 1, 16, 24, 40, 51, 63, 64, 65, 130, usize::MAX] {
                let what = format!("{key_len} {len} {from}");
                let tail = text.get(from..).unwrap_or_default();
                let hashed = tail.len() & !63;

                // The plaintext's hash: as much of the one as of the other.
                let (mut expected, mut expected_iv, mut expected_state) = (text.clone(), iv, start);
                sha.compress(&mut expected_state, tail);
                aes::cbc_encrypt(&key, &mut expected_iv, Text::InPlace(&mut expected[..hashed]));
                let mut results = [text.clone(), text.clone()];
                let [in_place, apart] = &mut results;
                for text in [Text::InPlace(in_place), Text::Apart { src: &text, dst: apart }] {
                    let (mut iv, mut state) = (iv, start);
                    let done =
                        stitched::mac_then_encrypt(sha, &key, &mut iv, text, from, &mut state);
                    assert_eq!((done, iv, state), (hashed, expected_iv, expected_state), "{what}");
                }
                assert!(results.iter().all(|result| *result == expected), "{what}");

                // The ciphertext's.
                let (mut expected, mut expected_iv, mut expected_state) = (text.clone(), iv, start);
                aes::cbc_encrypt(&key, &mut expected_iv, Text::InPlace(&mut expected));
                let tail = expected[..len & !15].get(from..).unwrap_or_default();
                sha.compress(&mut expected_state, tail);
                let hashed = tail.len() & !63;
                let mut results = [text.clone(), text.clone()];
                let [in_place, apart] = &mut results;
                for text in [Text::InPlace(in_place), Text::Apart { src: &text, dst: apart }] {
                    let (mut iv, mut state) = (iv, start);
                    let done =
                        stitched::encrypt_then_mac(sha, &key, &mut iv, text, from, &mut state);
                    assert_eq!((done, iv, state), (hashed, expected_iv, expected_state), "{what}");
                }
                assert!(results.iter().all(|result| *result == expected), "{what}");
            }
        }
    }
}

#[test]
fn stitched_with_sha_1() {
    check_stitched(SHA1);
}

#[test]
fn stitched_with_sha_256() {
    check_stitched(SHA256);
}
