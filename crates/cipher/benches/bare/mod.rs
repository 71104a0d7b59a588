//! The library as a program would use it that has nothing above it.

use std::ffi::c_void;

use super::ffi::{self, Entry, GCM_KEY_LEN, GcmKey, State};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Gcm,
    CbcSha1,
    CbcSha256,
    Ctr,
}

impl What {
    pub const ALL: [What; 4] = [What::Gcm, What::CbcSha1, What::CbcSha256, What::Ctr];

    pub fn name(self) -> &'static str {
        match self {
            What::Gcm => "aes-128-gcm",
            What::CbcSha1 => "cbc-hmac-sha1",
            What::CbcSha256 => "cbc-hmac-sha256",
            What::Ctr => "aes-128-ctr",
        }
    }

    pub fn tag_len(self) -> usize {
        match self {
            What::Gcm | What::CbcSha256 => 16,
            What::CbcSha1 => 12,
            What::Ctr => 0,
        }
    }

    pub fn iv_len(self) -> usize {
        if self == What::Gcm { 12 } else { 16 }
    }
}

#[repr(align(64))]
struct Keys {
    encrypt: [u8; 256],
    decrypt: [u8; 256],
    inner: [u8; 64],
    outer: [u8; 64],
}

pub struct Bare {
    what: What,
    state: *mut State,
    functions: State,
    keys: Box<Keys>,
    gcm: Box<GcmKey>,
}

impl Bare {
    pub fn new(what: What, key: &[u8], auth_key: &[u8]) -> Bare {
        assert!((key.len(), auth_key.len()) == (16, 20));
        let mut keys =
            Box::new(Keys { encrypt: [0; 256], decrypt: [0; 256], inner: [0; 64], outer: [0; 64] });
        let mut gcm = Box::new(GcmKey { bytes: [0; GCM_KEY_LEN] });
        // SAFETY: a fresh state on a CPU with AVX-512; keys and blocks of the lengths wanted.
        let (state, functions) = unsafe {
            let state = ffi::allocate(0);
            ffi::init_avx512(state);
            let functions = *state;
            functions.key_expand[0].unwrap()(
                key.as_ptr().cast(),
                keys.encrypt.as_mut_ptr().cast(),
                keys.decrypt.as_mut_ptr().cast(),
            );
            functions.gcm_prepare[0].unwrap()(key.as_ptr().cast(), &raw mut *gcm);
            let one_block = functions.one_block[if what == What::CbcSha1 { 0 } else { 2 }].unwrap();
            for (pad, out) in [(0x36, &mut keys.inner), (0x5c, &mut keys.outer)] {
                let mut block = [pad; 64];
                block.iter_mut().zip(auth_key).for_each(|(byte, key)| *byte ^= key);
                one_block(block.as_ptr().cast(), out.as_mut_ptr().cast());
            }
            (state, functions)
        };
        Bare { what, state, functions, keys, gcm }
    }

    /// Submits one packet; its bytes are in use until the next flush.
    #[inline(always)]
    pub fn submit(&mut self, bytes: &mut [u8], len: usize, iv: &[u8]) {
        // SAFETY: the state is ours. The texts and keys outlive the measurement.
        unsafe {
            let entry = self.functions.get_next.unwrap()(self.state);
            self.fill(&mut *entry, bytes, len, iv);
            self.functions.submit_nocheck.unwrap()(self.state);
        }
    }

    #[inline(always)]
    fn fill(&self, entry: &mut Entry, bytes: &mut [u8], len: usize, iv: &[u8]) {
        let keys = &*self.keys;
        entry.enc_keys = keys.encrypt.as_ptr().cast();
        entry.dec_keys = keys.decrypt.as_ptr().cast();
        entry.key_len = 16;
        entry.src = bytes.as_ptr();
        entry.dst = bytes.as_mut_ptr();
        entry.cipher_offset = 0;
        entry.cipher_len = len as u64;
        entry.hash_offset = 0;
        entry.hash_len = len as u64;
        entry.iv = iv.as_ptr();
        entry.iv_len = iv.len() as u64;
        entry.tag = bytes[len..].as_mut_ptr();
        entry.tag_len = self.what.tag_len() as u64;
        entry.direction = ffi::ENCRYPT;
        entry.order = ffi::CIPHER_HASH;
        let none: *const c_void = std::ptr::null();
        let hmac = [keys.inner.as_ptr().cast(), keys.outer.as_ptr().cast(), none];
        // The numbers of the header: CBC, CNTR, GCM; HMAC-SHA-1 and SHA-256, none, GMAC.
        (entry.mode, entry.algorithm, entry.auth) = match self.what {
            What::Gcm => (5, 9, [none; 3]),
            What::CbcSha1 => (1, 1, hmac),
            What::CbcSha256 => (1, 3, hmac),
            What::Ctr => (2, 8, [none; 3]),
        };
        if self.what == What::Gcm {
            entry.enc_keys = (&raw const *self.gcm).cast();
            entry.dec_keys = entry.enc_keys;
        }
    }

    pub fn flush(&mut self) {
        // SAFETY: the state is ours; what is in flight points to texts that are still there.
        while !unsafe { self.functions.flush.unwrap()(self.state) }.is_null() {}
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`.
        unsafe { ffi::free(self.state) }
    }
}
