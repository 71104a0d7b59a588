//! Records of TLS 1.2 opened one at a time, beside OpenSSL's AES-CBC-HMAC: CPU time, rounds in turn,
//! the best of each. Both decrypt and verify in constant time.
//!
//! cargo bench -p lookaside-cipher --bench tls
#![allow(unsafe_code)]

use std::ffi::{CString, c_int, c_void};
use std::ptr::null_mut;

use lookaside_cipher::tls::{HEADER, Mac, State, sealed_len};
use lookaside_cipher_kernel::Text;
use lookaside_cipher_kernel::aes::sha::{self, ShaNi};
use lookaside_cipher_kernel::aes::{self, Key};
use lookaside_simd::Cpu;
use openssl_sys as ossl;

unsafe extern "C" {
    fn EVP_Cipher(
        state: *mut ossl::EVP_CIPHER_CTX,
        dst: *mut u8,
        src: *const u8,
        len: u32,
    ) -> c_int;
}

/// Numbers of OpenSSL's evp.h.
const AEAD_TLS1_AAD: c_int = 0x16;
const AEAD_SET_MAC_KEY: c_int = 0x17;

const SHA1: [u32; 5] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
const SHA256: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

fn main() {
    let cpu = Cpu::host();
    let Some(sha) = ShaNi::new(cpu) else {
        println!("tls: this CPU has no SHA-NI, nothing to show");
        return;
    };
    println!("TLS records opened: microseconds, and OpenSSL's as a multiple");
    open(cpu, sha, "AES-128-CBC-HMAC-SHA1", 16, SHA1);
    open(cpu, sha, "AES-128-CBC-HMAC-SHA256", 16, SHA256);
    open(cpu, sha, "AES-256-CBC-HMAC-SHA1", 32, SHA1);
    open(cpu, sha, "AES-256-CBC-HMAC-SHA256", 32, SHA256);
}

/// Nanoseconds of this thread's CPU time.
fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn open<S: State + sha::State>(cpu: &Cpu, sha: ShaNi, name: &str, key_len: usize, start: S) {
    let key_bytes = vec![0x42_u8; key_len];
    let mut mac_key = vec![0x17_u8; S::MAC];
    let key = Key::new(cpu, &key_bytes).expect("a key");
    let [inner, outer] = [0x36, 0x5c].map(|pad| {
        let mut block = vec![pad; S::BLOCK];
        block[..S::MAC].iter_mut().for_each(|byte| *byte ^= 0x17);
        let mut state = start;
        sha.compress(&mut state, &block);
        state
    });
    let compress = |state: &mut S, blocks: &[u8]| sha.compress(state, blocks);
    let mac = Mac { inner: &inner, outer: &outer, compress };
    let name_c = CString::new(name).unwrap();
    // SAFETY: the keys have the lengths of the cipher; it is freed below.
    let openssl = unsafe {
        let state = ossl::EVP_CIPHER_CTX_new();
        let kind = ossl::EVP_get_cipherbyname(name_c.as_ptr());
        let iv = [0; 16];
        assert_eq!(
            ossl::EVP_CipherInit_ex(state, kind, null_mut(), key_bytes.as_ptr(), iv.as_ptr(), 0),
            1
        );
        let start = mac_key.as_mut_ptr().cast::<c_void>();
        assert!(ossl::EVP_CIPHER_CTX_ctrl(state, AEAD_SET_MAC_KEY, S::MAC as c_int, start) > 0);
        state
    };

    print!("{name:24}");
    for payload in [16, 64, 256, 1024, 1408, 16384] {
        let header = [0, 0, 0, 0, 0, 0, 1, 9, 23, 3, 3, 0, 0];
        let iv = [9; 16];
        let mut record = vec![0x33; sealed_len(payload, S::MAC)];
        mac.seal(&header, &mut record, payload).unwrap();
        aes::cbc_encrypt(&key, &mut iv.clone(), Text::InPlace(&mut record));
        let mut theirs = [&iv, &record[..]].concat();
        let (sealed, sealed_theirs) = (record.clone(), theirs.clone());

        let mut best = [f64::MAX; 2];
        for round in 0..400 {
            record.copy_from_slice(&sealed);
            let begun = now_ns();
            aes::cbc_decrypt(&key, &mut iv.clone(), Text::InPlace(&mut record));
            let opened = mac.open(&header, &mut record);
            best[0] = best[0].min((now_ns() - begun) as f64);
            assert_eq!(opened, Ok(payload));

            theirs.copy_from_slice(&sealed_theirs);
            let mut aad = header;
            aad[11..].copy_from_slice(&(theirs.len() as u16).to_be_bytes());
            let begun = now_ns();
            // SAFETY: 13 bytes, and a record with its length.
            let done = unsafe {
                let aad = aad.as_mut_ptr().cast::<c_void>();
                assert!(
                    ossl::EVP_CIPHER_CTX_ctrl(openssl, AEAD_TLS1_AAD, HEADER as c_int, aad) > 0
                );
                EVP_Cipher(openssl, theirs.as_mut_ptr(), theirs.as_ptr(), theirs.len() as u32)
            };
            best[1] = best[1].min((now_ns() - begun) as f64);
            assert!(done > 0, "round {round}");
        }
        print!("  {payload:>5} B {:>6.2} {:>5.2}", best[0] / 1000.0, best[1] / best[0]);
    }
    println!();
    // SAFETY: made above.
    unsafe { ossl::EVP_CIPHER_CTX_free(openssl) };
}
