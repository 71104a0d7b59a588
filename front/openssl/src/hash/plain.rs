//! Digests by libcrypto's own functions: what serves a message that does not run side by side.
//!
//! OpenSSL's default provider computes these digests by the same exported functions (`SHA256_Update` and
//! its kin, `sha.h` and `md5.h`), so that a message is as quick as there on every CPU. Measured before
//! (AWS-LC's block functions, Sapphire Rapids, 2026-11-23), time of OpenSSL relative to ours: SHA-512 0.90
//! from 256 bytes on, SHA-1 0.78 and SHA-256 0.91 of 16 bytes.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};

use lookaside::Hash;
use zeroize::Zeroize;

use crate::error::{Reason, Result};

/// libcrypto's functions for one digest.
#[derive(Debug)]
pub struct Functions {
    init: unsafe extern "C" fn(*mut c_void) -> c_int,
    update: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int,
    finish: unsafe extern "C" fn(*mut u8, *mut c_void) -> c_int,
    /// The size of the state in words of 8 bytes.
    words: usize,
    /// The length of the digest in bytes.
    len: usize,
}

#[link(name = "crypto")]
unsafe extern "C" {
    fn MD5_Init(state: *mut c_void) -> c_int;
    fn MD5_Update(state: *mut c_void, data: *const c_void, len: usize) -> c_int;
    fn MD5_Final(out: *mut u8, state: *mut c_void) -> c_int;
    fn SHA1_Init(state: *mut c_void) -> c_int;
    fn SHA1_Update(state: *mut c_void, data: *const c_void, len: usize) -> c_int;
    fn SHA1_Final(out: *mut u8, state: *mut c_void) -> c_int;
    fn SHA224_Init(state: *mut c_void) -> c_int;
    fn SHA256_Init(state: *mut c_void) -> c_int;
    fn SHA256_Update(state: *mut c_void, data: *const c_void, len: usize) -> c_int;
    fn SHA256_Final(out: *mut u8, state: *mut c_void) -> c_int;
    fn SHA384_Init(state: *mut c_void) -> c_int;
    fn SHA512_Init(state: *mut c_void) -> c_int;
    fn SHA512_Update(state: *mut c_void, data: *const c_void, len: usize) -> c_int;
    fn SHA512_Final(out: *mut u8, state: *mut c_void) -> c_int;
}

// The sizes of `MD5_CTX` (92 bytes), `SHA_CTX`, `SHA256_CTX` and `SHA512_CTX`, which are part of the ABI.
const MD5_WORDS: usize = 12;
const SHA1_WORDS: usize = 12;
const SHA256_WORDS: usize = 14;
const SHA512_WORDS: usize = 27;

// SHA-224 and SHA-384 differ by their `Init` alone: the state knows the digest's length.
static MD5: Functions =
    Functions { init: MD5_Init, update: MD5_Update, finish: MD5_Final, words: MD5_WORDS, len: 16 };
static SHA1: Functions = Functions {
    init: SHA1_Init,
    update: SHA1_Update,
    finish: SHA1_Final,
    words: SHA1_WORDS,
    len: 20,
};
static SHA224: Functions = Functions {
    init: SHA224_Init,
    update: SHA256_Update,
    finish: SHA256_Final,
    words: SHA256_WORDS,
    len: 28,
};
static SHA256: Functions = Functions { init: SHA256_Init, len: 32, ..SHA224 };
static SHA384: Functions = Functions {
    init: SHA384_Init,
    update: SHA512_Update,
    finish: SHA512_Final,
    words: SHA512_WORDS,
    len: 48,
};
static SHA512: Functions = Functions { init: SHA512_Init, len: 64, ..SHA384 };

/// libcrypto's functions for a digest, where it exports some.
pub const fn functions(hash: Hash) -> Option<&'static Functions> {
    match hash {
        Hash::Md5 => Some(&MD5),
        Hash::Sha1 => Some(&SHA1),
        Hash::Sha224 => Some(&SHA224),
        Hash::Sha256 => Some(&SHA256),
        Hash::Sha384 => Some(&SHA384),
        Hash::Sha512 => Some(&SHA512),
        _ => None,
    }
}

/// The state of a message, wiped when dropped.
pub struct State([u64; SHA512_WORDS]);

impl Drop for State {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Default for State {
    fn default() -> State {
        State::new()
    }
}

impl State {
    /// No message.
    #[inline]
    pub const fn new() -> State {
        State([0; SHA512_WORDS])
    }

    /// Starts a message.
    #[inline]
    pub fn start(&mut self, functions: &Functions) {
        // SAFETY: the state has room for the largest of libcrypto's, aligned as these are.
        unsafe { (functions.init)(self.0.as_mut_ptr().cast()) };
    }

    /// More of a message that was started with the same functions.
    #[inline]
    pub fn update(&mut self, functions: &Functions, text: &[u8]) {
        // SAFETY: the state is valid however it was filled (all of its fields are integers, and the number
        // of buffered bytes is written by libcrypto alone, 0 before); the bytes are the slice's.
        unsafe {
            (functions.update)(self.0.as_mut_ptr().cast(), text.as_ptr().cast(), text.len());
        }
    }

    /// The end of the message: the digest goes to the start of `digest`. The state is used up.
    #[inline]
    pub fn finish(&mut self, functions: &Functions, digest: &mut [u8]) -> Result<()> {
        if digest.len() < functions.len {
            return Err(Reason::OutputTooSmall.into());
        }
        // SAFETY: as above; there is room for the digest, whose length `Init` has put into the state, or
        // is 0 (nothing is written) where there was no `Init`.
        unsafe { (functions.finish)(digest.as_mut_ptr(), self.0.as_mut_ptr().cast()) };
        Ok(())
    }

    /// Becomes what `from` is, a state of the same functions.
    #[inline]
    pub fn copy_from(&mut self, functions: &Functions, from: &State) {
        fn copy<const N: usize>(to: &mut State, from: &State) {
            if let (Some(to), Some(from)) = (to.0.first_chunk_mut::<N>(), from.0.first_chunk()) {
                *to = *from;
            }
        }
        match functions.words {
            SHA1_WORDS => copy::<SHA1_WORDS>(self, from),
            SHA256_WORDS => copy::<SHA256_WORDS>(self, from),
            _ => self.0 = from.0,
        }
    }

    /// Nothing of a message stays.
    #[inline]
    pub fn wipe(&mut self, functions: &Functions) {
        self.0[..functions.words].zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// FIPS 180-4's and RFC 1321's examples for "abc".
    #[test]
    fn abc() {
        for (hash, digest) in [
            (Hash::Md5, "900150983cd24fb0d6963f7d28e17f72"),
            (Hash::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (Hash::Sha224, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
            (Hash::Sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                Hash::Sha384,
                "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed\
                 8086072ba1e7cc2358baeca134c825a7",
            ),
            (
                Hash::Sha512,
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                 2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            ),
        ] {
            let functions = functions(hash).expect("libcrypto has it");
            let mut state = State::new();
            state.start(functions);
            state.update(functions, b"a");
            let mut copy = State::new();
            copy.copy_from(functions, &state);
            let mut out = [0; 64];
            for mut state in [state, copy] {
                state.update(functions, b"bc");
                state.finish(functions, &mut out).unwrap();
                assert_eq!(hex(&out[..functions.len]), digest);
                state.wipe(functions);
                assert!(state.0.iter().all(|&word| word == 0), "{hash:?} leaves something");
            }
        }
    }

    #[test]
    fn no_room() {
        let functions = functions(Hash::Sha256).unwrap();
        let mut state = State::new();
        state.start(functions);
        assert!(state.finish(functions, &mut [0; 31]).is_err());
    }

    #[test]
    fn others_are_not_exported() {
        assert!(functions(Hash::Sm3).is_none() && functions(Hash::Sha3_256).is_none());
    }
}
