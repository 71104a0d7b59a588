//! The rivals: OpenSSL's EVP, AWS-LC's RC4, and ipsec-mb's DES.

use std::ffi::c_void;
use std::ptr;

use aws_lc_sys as lc;
use openssl_sys as ossl;

use crate::Runner;

/// A cipher of OpenSSL, with a state for each packet's key.
pub struct OpenSsl {
    states: Vec<*mut ossl::EVP_CIPHER_CTX>,
    iv: Vec<u8>,
}

impl OpenSsl {
    pub fn new<const N: usize>(
        cipher: *const ossl::EVP_CIPHER,
        encrypt: bool,
        keys: &[[u8; N]],
        iv: &[u8],
    ) -> Self {
        let states = keys
            .iter()
            .map(|key| {
                // SAFETY: key and IV have the cipher's lengths.
                unsafe {
                    let state = ossl::EVP_CIPHER_CTX_new();
                    let init = ossl::EVP_CipherInit_ex(
                        state,
                        cipher,
                        ptr::null_mut(),
                        key.as_ptr(),
                        iv.as_ptr(),
                        encrypt.into(),
                    );
                    assert_eq!(init, 1, "OpenSSL lacks a cipher");
                    ossl::EVP_CIPHER_CTX_set_padding(state, 0);
                    state
                }
            })
            .collect();
        OpenSsl { states, iv: iv.to_vec() }
    }

    pub fn runner(self) -> Runner<'static> {
        Runner::new("OpenSSL", move |texts| {
            for (&state, text) in self.states.iter().zip(texts) {
                let mut n = 0;
                // SAFETY: a cipher in place, with an IV of its length.
                unsafe {
                    if !self.iv.is_empty() {
                        let (no_key, iv) = (ptr::null(), self.iv.as_ptr());
                        ossl::EVP_CipherInit_ex(
                            state,
                            ptr::null(),
                            ptr::null_mut(),
                            no_key,
                            iv,
                            -1,
                        );
                    }
                    let (at, len) = (text.as_mut_ptr(), text.len() as i32);
                    ossl::EVP_CipherUpdate(state, at, &mut n, at, len);
                }
            }
        })
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        for &state in &self.states {
            // SAFETY: from EVP_CIPHER_CTX_new, freed once.
            unsafe { ossl::EVP_CIPHER_CTX_free(state) };
        }
    }
}

/// AWS-LC's RC4.
pub struct AwsRc4(Vec<lc::RC4_KEY>);

impl AwsRc4 {
    pub fn new(keys: &[[u8; 16]]) -> Self {
        let expand = |key: &[u8; 16]| {
            // SAFETY: sixteen bytes of key.
            unsafe {
                let mut state = std::mem::zeroed();
                lc::RC4_set_key(&mut state, 16, key.as_ptr());
                state
            }
        };
        AwsRc4(keys.iter().map(expand).collect())
    }

    pub fn runner(mut self) -> Runner<'static> {
        Runner::new("AWS-LC", move |texts| {
            for (state, text) in self.0.iter_mut().zip(texts) {
                // SAFETY: in place.
                unsafe { lc::RC4(state, text.len(), text.as_ptr(), text.as_mut_ptr()) };
            }
        })
    }
}

/// The fields of ipsec-mb 1.3's IMB_JOB that DES-CBC takes, at their places.
#[cfg(target_arch = "x86_64")]
#[repr(C)]
struct Request {
    encrypt_keys: *const c_void,
    decrypt_keys: *const c_void,
    key_len: u64,
    src: *const u8,
    dst: *mut u8,
    src_offset: u64,
    cipher_len: u64,
    hash_offset: u64,
    hash_len: u64,
    iv: *const u8,
    iv_len: u64,
    unused: [u64; 5],
    status: u32,
    cipher_mode: u32,
    cipher_direction: u32,
    hash_algorithm: u32,
    chain_order: u32,
    unused_too: [u32; 13],
}

#[cfg(target_arch = "x86_64")]
#[link(name = "IPSec_MB", kind = "static")]
unsafe extern "C" {
    fn alloc_mb_mgr(flags: u64) -> *mut u8;
    fn init_mb_mgr_auto(state: *mut u8, arch: *mut u32);
    fn free_mb_mgr(state: *mut u8);
}

/// The function of ipsec-mb's IMB_MGR at a byte offset.
///
/// # Safety
/// `F` is its type.
#[cfg(target_arch = "x86_64")]
unsafe fn function<F>(state: *mut u8, offset: usize) -> F {
    // SAFETY: the structure has function pointers there.
    unsafe { state.add(offset).cast::<F>().read() }
}

/// DES-CBC or DES3-CBC of ipsec-mb, all packets in flight.
#[cfg(target_arch = "x86_64")]
pub struct IpsecMb {
    state: *mut u8,
    encrypt: bool,
    iv: [u8; 8],
    /// The schedules of each packet's parts of a key, and for DES3 pointers to them.
    schedules: Vec<[[u64; 16]; 3]>,
    pointers: Vec<[*const [u64; 16]; 3]>,
    parts: usize,
}

#[cfg(target_arch = "x86_64")]
impl IpsecMb {
    const NEXT: usize = 64;
    const SUBMIT: usize = 80;
    const FLUSH: usize = 96;
    const SCHEDULE: usize = 152;

    pub fn new<const N: usize>(encrypt: bool, keys: &[[u8; N]], iv: [u8; 8]) -> Self {
        // SAFETY: as ipsec-mb's documentation has it; the type of des_key_sched.
        let (state, schedule) = unsafe {
            let state = alloc_mb_mgr(0);
            init_mb_mgr_auto(state, ptr::null_mut());
            let schedule: unsafe extern "C" fn(*mut u64, *const u8) -> i32 =
                function(state, Self::SCHEDULE);
            (state, schedule)
        };
        let mut schedules = vec![[[0; 16]; 3]; keys.len()];
        for (key, schedules) in keys.iter().zip(&mut schedules) {
            for (part, to) in key.chunks_exact(8).zip(schedules) {
                // SAFETY: 16 words for 8 bytes of key.
                unsafe { schedule(to.as_mut_ptr(), part.as_ptr()) };
            }
        }
        let pointers = schedules.iter().map(|of_key| of_key.each_ref().map(ptr::from_ref));
        let pointers = pointers.collect();
        IpsecMb { state, encrypt, iv, schedules, pointers, parts: N / 8 }
    }

    pub fn runner(self) -> Runner<'static> {
        type Take = unsafe extern "C" fn(*mut u8) -> *mut Request;
        // SAFETY: the types of these functions.
        let (next, submit, flush): (Take, Take, Take) = unsafe {
            (
                function(self.state, Self::NEXT),
                function(self.state, Self::SUBMIT),
                function(self.state, Self::FLUSH),
            )
        };
        Runner::new("ipsec-mb", move |texts| {
            for (i, text) in texts.iter_mut().enumerate() {
                let keys: *const c_void = if self.parts == 3 {
                    self.pointers[i].as_ptr().cast()
                } else {
                    self.schedules[i][0].as_ptr().cast()
                };
                // SAFETY: a request in ipsec-mb's own memory; the texts live until the flush.
                unsafe {
                    let request = &mut *next(self.state);
                    request.encrypt_keys = keys;
                    request.decrypt_keys = keys;
                    request.key_len = 8 * self.parts as u64;
                    request.src = text.as_ptr();
                    request.dst = text.as_mut_ptr();
                    request.src_offset = 0;
                    request.cipher_len = text.len() as u64;
                    request.iv = self.iv.as_ptr();
                    request.iv_len = 8;
                    request.cipher_mode = if self.parts == 3 { 10 } else { 7 };
                    request.cipher_direction = if self.encrypt { 1 } else { 2 };
                    request.hash_algorithm = 8;
                    request.chain_order = if self.encrypt { 1 } else { 2 };
                    submit(self.state);
                }
            }
            // SAFETY: until nothing is in flight.
            unsafe { while !flush(self.state).is_null() {} }
        })
    }
}

#[cfg(target_arch = "x86_64")]
impl Drop for IpsecMb {
    fn drop(&mut self) {
        // SAFETY: from alloc_mb_mgr, freed once.
        unsafe { free_mb_mgr(self.state) };
    }
}
