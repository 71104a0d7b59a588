//! Records of TLS: OpenSSL's `AES-128-CBC-HMAC-SHA1` and `-SHA256` opens what we seal and the other way
//! round, and both say the same of damaged records. SHA-384, which OpenSSL does not have so, beside
//! AWS-LC's HMAC.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int, c_void};
use std::ptr::null_mut;

use aws_lc_sys as lc;
use lookaside_cipher::OpError;
use lookaside_cipher::tls::{HEADER, Mac, State, sealed_len};
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
const SHA384: [u64; 8] = [
    0xcbbb9d5dc1059ed8,
    0x629a292a367cd507,
    0x9159015a3070dd17,
    0x152fecd8f70e5939,
    0x67332667ffc00b31,
    0x8eb44a8768581511,
    0xdb0c2e0d64f98fa7,
    0x47b5481dbefa4fa4,
];

/// A hash of AWS-LC, as `Mac` wants it.
trait Hash: State + PartialEq + std::fmt::Debug {
    const START: Self;
    /// OpenSSL's cipher that has it.
    const CIPHER: Option<&'static str>;
    fn compress(&mut self, blocks: &[u8]);
    fn kind() -> *const lc::EVP_MD;
}

impl Hash for [u32; 5] {
    const START: Self = SHA1;
    const CIPHER: Option<&'static str> = Some("AES-128-CBC-HMAC-SHA1");
    fn compress(&mut self, blocks: &[u8]) {
        let (blocks, rest) = blocks.as_chunks::<64>();
        assert!(rest.is_empty());
        for block in blocks {
            // SAFETY: a structure of integers, which the function reads and writes; a block.
            unsafe {
                let mut state: lc::SHA_CTX = std::mem::zeroed();
                state.h = *self;
                lc::SHA1_Transform(&raw mut state, block.as_ptr());
                *self = state.h;
            }
        }
    }
    fn kind() -> *const lc::EVP_MD {
        // SAFETY: a table of AWS-LC's.
        unsafe { lc::EVP_sha1() }
    }
}

impl Hash for [u32; 8] {
    const START: Self = SHA256;
    const CIPHER: Option<&'static str> = Some("AES-128-CBC-HMAC-SHA256");
    fn compress(&mut self, blocks: &[u8]) {
        assert_eq!(blocks.len() % 64, 0);
        if blocks.is_empty() {
            // Of which AWS-LC's function would make 2^64.
            return;
        }
        // SAFETY: a state, and blocks with their number.
        unsafe {
            lc::SHA256_TransformBlocks(self.as_mut_ptr(), blocks.as_ptr(), blocks.len() / 64);
        }
    }
    fn kind() -> *const lc::EVP_MD {
        // SAFETY: a table of AWS-LC's.
        unsafe { lc::EVP_sha256() }
    }
}

impl Hash for [u64; 8] {
    const START: Self = SHA384;
    const CIPHER: Option<&'static str> = None;
    fn compress(&mut self, blocks: &[u8]) {
        let (blocks, rest) = blocks.as_chunks::<128>();
        assert!(rest.is_empty());
        for block in blocks {
            // SAFETY: a structure of integers, which the function reads and writes; a block.
            unsafe {
                let mut state: lc::SHA512_CTX = std::mem::zeroed();
                state.h = *self;
                lc::SHA512_Transform(&raw mut state, block.as_ptr());
                *self = state.h;
            }
        }
    }
    fn kind() -> *const lc::EVP_MD {
        // SAFETY: a table of AWS-LC's.
        unsafe { lc::EVP_sha384() }
    }
}

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

const KEY: [u8; 16] = [0x42; 16];

fn mac_key<H: Hash>() -> Vec<u8> {
    bytes(77, H::MAC)
}

/// The states of the MAC key.
fn states<H: Hash>() -> [H; 2] {
    [0x36, 0x5c].map(|pad| {
        let mut block = vec![pad; H::BLOCK];
        block.iter_mut().zip(mac_key::<H>()).for_each(|(byte, key)| *byte ^= key);
        let mut state = H::START;
        state.compress(&block);
        state
    })
}

fn mac<H: Hash>(states: &[H; 2]) -> Mac<'_, H, fn(&mut H, &[u8])> {
    Mac { inner: &states[0], outer: &states[1], compress: H::compress }
}

/// A header with the length that is not read.
fn header() -> [u8; HEADER] {
    [0, 0, 0, 0, 0, 0, 1, 9, 23, 3, 3, 0xff, 0xff]
}

/// The MAC by AWS-LC.
fn hmac<H: Hash>(payload: &[u8]) -> Vec<u8> {
    let mut message = header().to_vec();
    message[11..].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    message.extend(payload);
    let (key, mut mac) = (mac_key::<H>(), vec![0; 64]);
    let mut len = 0;
    // SAFETY: pointers with their lengths, and room for the longest MAC.
    unsafe {
        let key_start = key.as_ptr().cast::<c_void>();
        let (start, n) = (message.as_ptr(), message.len());
        lc::HMAC(H::kind(), key_start, key.len(), start, n, mac.as_mut_ptr(), &raw mut len);
    }
    mac.truncate(len as usize);
    assert_eq!(mac.len(), H::MAC);
    mac
}

/// AES-128-CBC by AWS-LC.
fn cbc(iv: &[u8; 16], encrypt: bool, text: &mut [u8]) {
    let mut iv = *iv;
    // SAFETY: a key of 128 bits; a text of whole blocks.
    unsafe {
        let mut key = std::mem::zeroed();
        match encrypt {
            true => lc::AES_set_encrypt_key(KEY.as_ptr(), 128, &raw mut key),
            false => lc::AES_set_decrypt_key(KEY.as_ptr(), 128, &raw mut key),
        };
        let (src, dst) = (text.as_ptr(), text.as_mut_ptr());
        lc::AES_cbc_encrypt(src, dst, text.len(), &raw const key, iv.as_mut_ptr(), encrypt.into());
    }
}

/// OpenSSL on a record in place, which begins with the explicit IV: whether it accepts it. Its header
/// has the length of IV and payload when it seals, of IV and ciphertext when it opens.
fn openssl<H: Hash>(encrypt: bool, len: usize, record: &mut [u8]) -> bool {
    let name = CString::new(H::CIPHER.expect("a cipher")).unwrap();
    let (mut mac_key, mut aad) = (mac_key::<H>(), header());
    aad[11..].copy_from_slice(&(len as u16).to_be_bytes());
    // SAFETY: pointers with their lengths; what is made is freed.
    unsafe {
        let state = ossl::EVP_CIPHER_CTX_new();
        let kind = ossl::EVP_get_cipherbyname(name.as_ptr());
        let iv = [0; 16];
        let (direction, key) = (c_int::from(encrypt), KEY.as_ptr());
        assert_eq!(
            ossl::EVP_CipherInit_ex(state, kind, null_mut(), key, iv.as_ptr(), direction),
            1
        );
        let key = mac_key.as_mut_ptr().cast::<c_void>();
        assert!(ossl::EVP_CIPHER_CTX_ctrl(state, AEAD_SET_MAC_KEY, H::MAC as c_int, key) > 0);
        let aad = aad.as_mut_ptr().cast::<c_void>();
        assert!(ossl::EVP_CIPHER_CTX_ctrl(state, AEAD_TLS1_AAD, HEADER as c_int, aad) > 0);
        let n = record.len() as u32;
        let done = EVP_Cipher(state, record.as_mut_ptr(), record.as_ptr(), n);
        ossl::EVP_CIPHER_CTX_free(state);
        done > 0
    }
}

/// A plaintext with any padding.
fn record_of<H: Hash>(payload: &[u8], padding: usize) -> Vec<u8> {
    let mut record = [payload, &hmac::<H>(payload)].concat();
    record.extend(std::iter::repeat_n((padding - 1) as u8, padding));
    assert_eq!(record.len() % 16, 0);
    record
}

/// The lengths of padding that make whole blocks.
fn paddings<H: Hash>(payload: usize) -> impl Iterator<Item = usize> {
    let least = sealed_len(payload, H::MAC) - payload - H::MAC;
    (least..=256).step_by(16)
}

/// What we say of a plaintext: the payload.
fn open<H: Hash>(record: &[u8]) -> Result<Vec<u8>, OpError> {
    let states = states::<H>();
    let mut copy = record.to_vec();
    let result = mac(&states).open(&header(), &mut copy);
    match result {
        Ok(_) => assert_eq!(copy, record),
        Err(OpError::AuthFailed) => assert!(copy.iter().all(|byte| *byte == 0), "not erased"),
        Err(_) => assert_eq!(copy, record),
    }
    Ok(copy[..result?].to_vec())
}

/// Whether OpenSSL accepts a plaintext, once encrypted; true without OpenSSL.
fn openssl_accepts<H: Hash>(record: &[u8]) -> Option<bool> {
    H::CIPHER?;
    let iv = [9; 16];
    let mut sealed = [&iv, record].concat();
    cbc(&iv, true, &mut sealed[16..]);
    let len = sealed.len();
    Some(openssl::<H>(false, len, &mut sealed))
}

fn every_length<H: Hash>() {
    let states = states::<H>();
    for len in (0..300).chain([1000, 1408, 16384, 16384 + 2048]) {
        let payload = bytes(len as u64, len);
        // The shortest padding, as everybody makes it.
        let mut record = payload.clone();
        record.resize(sealed_len(len, H::MAC), 0xee);
        mac(&states).seal(&header(), &mut record, len).unwrap();
        let padding = record.len() - len - H::MAC;
        assert!(record == record_of::<H>(&payload, padding), "{len}");
        if H::CIPHER.is_some() {
            let mut sealed = [&[0; 16], &record[..]].concat();
            sealed[16 + len..].fill(0);
            assert!(openssl::<H>(true, 16 + len, &mut sealed), "{len}");
            let iv: [u8; 16] = sealed[..16].try_into().unwrap();
            cbc(&iv, false, &mut sealed[16..]);
            assert!(sealed[16..] == record, "{len}: OpenSSL seals otherwise");
            assert_eq!(openssl_accepts::<H>(&record), Some(true), "{len}");
        }
        // Every padding there can be.
        for padding in paddings::<H>(len) {
            let record = record_of::<H>(&payload, padding);
            assert_eq!(open::<H>(&record).as_ref(), Ok(&payload), "{len} {padding}");
            let mut ours = payload.clone();
            ours.resize(record.len(), 0xee);
            mac(&states).seal(&header(), &mut ours, len).unwrap();
            assert!(ours == record, "{len} {padding}");
        }
    }
}

#[test]
fn every_length_with_sha_1() {
    every_length::<[u32; 5]>();
}

#[test]
fn every_length_with_sha_256() {
    every_length::<[u32; 8]>();
}

#[test]
fn every_length_with_sha_384() {
    every_length::<[u64; 8]>();
}

/// Each byte of records damaged in turn, by several values where it is the padding's length: never
/// accepted, and OpenSSL, which checks all of the padding too, agrees.
fn every_byte_damaged<H: Hash>() {
    for len in [0, 1, 11, 12, 43, 51, 52, 64, 100, 256, 300] {
        let payload = bytes(len as u64, len);
        let last_paddings = paddings::<H>(len).collect::<Vec<_>>();
        let some = [last_paddings[0], last_paddings[3], *last_paddings.last().unwrap()];
        for padding in some {
            let record = record_of::<H>(&payload, padding);
            for at in 0..record.len() {
                let is_last = at + 1 == record.len();
                let all: Vec<u8> = if is_last { (1..=255).collect() } else { vec![1, 0x80] };
                for flip in all {
                    let mut damaged = record.clone();
                    damaged[at] ^= flip;
                    let what = format!("{len} {padding} {at} {flip}");
                    assert_eq!(open::<H>(&damaged), Err(OpError::AuthFailed), "{what}");
                    if at % 16 == 0 || is_last {
                        assert_ne!(openssl_accepts::<H>(&damaged), Some(true), "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_byte_damaged_with_sha_1() {
    every_byte_damaged::<[u32; 5]>();
}

#[test]
fn every_byte_damaged_with_sha_256() {
    every_byte_damaged::<[u32; 8]>();
}

#[test]
fn every_byte_damaged_with_sha_384() {
    every_byte_damaged::<[u64; 8]>();
}

#[test]
fn lengths_that_no_record_has() {
    let states = states::<[u32; 5]>();
    let mac = mac(&states);
    for len in (0..32).chain((33..300).filter(|len| len % 16 != 0)).chain([0x10000, 0x20000]) {
        let mut record = vec![7; len];
        let result = mac.open(&header(), &mut record);
        assert_eq!(result, Err(OpError::BadInput("record")), "{len}");
        assert!(record.iter().all(|byte| *byte == 7));
    }
    // One byte of padding and no payload do not fit, but who knows what it decrypts to.
    assert_eq!(open::<[u32; 5]>(&[0; 32]), Err(OpError::AuthFailed));
    for padding in 0..=255 {
        assert_eq!(open::<[u32; 5]>(&[padding; 32]), Err(OpError::AuthFailed));
        assert_eq!(open::<[u64; 8]>(&[padding; 64]), Err(OpError::AuthFailed));
    }
    let seal = |len, payload| mac.seal(&header(), &mut vec![0; len], payload);
    assert_eq!(seal(32, 11), Ok(()));
    assert!(matches!(seal(32, 12), Err(OpError::BadInput(_))));
    assert!(matches!(seal(33, 11), Err(OpError::BadInput(_))));
    assert!(matches!(seal(16, 17), Err(OpError::BadInput(_))));
    assert!(matches!(seal(288, 11), Err(OpError::BadInput(_))));
    assert!(matches!(seal(0x10100, 0x10000), Err(OpError::BadInput(_))));
    assert_eq!(seal(272, 0), Ok(()));
}

/// Whole blocks hashed elsewhere between the beginning and the end.
#[test]
fn sealing_in_pieces() {
    let states = states::<[u32; 8]>();
    for len in 0..400 {
        let payload = bytes(len as u64, len);
        let mut record = payload.clone();
        record.resize(sealed_len(len, 32), 0);
        let expected = record_of::<[u32; 8]>(&payload, record.len() - len - 32);
        let mut sealing = mac(&states).begin(&header(), &payload).unwrap();
        if sealing.hashed > 0 {
            let blocks = (len - sealing.hashed) / 64 * 64;
            sealing.state.compress(&payload[sealing.hashed..][..blocks]);
            sealing.hashed += blocks;
        }
        // Encrypted meanwhile.
        let done = sealing.hashed;
        record[..done].fill(0xaa);
        mac(&states).finish(sealing, &mut record).unwrap();
        assert_eq!(record[done..], expected[done..], "{len}");
    }
}
