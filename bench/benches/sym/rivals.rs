//! The rivals, as `rivals.c` drives them.

use std::{
    ffi::{CString, c_char, c_int},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use crate::algorithms::Algorithm;

pub const PACKETS: usize = 32;

/// How many bytes behind the start of a cache line all contenders' texts begin.
static SHIFT: AtomicUsize = AtomicUsize::new(0);

/// That number.
pub fn shift() -> usize {
    SHIFT.load(Relaxed)
}

/// For what is set up from now on: 0 to 63.
pub fn set_shift(bytes: usize) {
    SHIFT.store(bytes % 64, Relaxed);
    // SAFETY: sets a number.
    unsafe { rival_shift(bytes % 64) }
}

#[repr(C)]
struct Opaque([u8; 0]);

/// A checksum so far, and more of its text.
type Crc = unsafe extern "C" fn(u64, *const u8, u64) -> u64;

/// ISA-L's.
#[cfg(target_arch = "x86_64")]
mod isal {
    use isal_sys as _;

    unsafe extern "C" {
        pub fn crc64_ecma_refl(sum: u64, text: *const u8, len: u64) -> u64;
        fn crc32_gzip_refl(sum: u32, text: *const u8, len: u64) -> u32;
    }

    pub unsafe extern "C" fn crc32(sum: u64, text: *const u8, len: u64) -> u64 {
        // SAFETY: the caller's promise: `len` bytes are there.
        unsafe { crc32_gzip_refl(sum as u32, text, len).into() }
    }
}

unsafe extern "C" {
    fn openssl_new(
        cipher: *const c_char,
        mac: *const c_char,
        digest: *const c_char,
        key: *const u8,
        key_len: usize,
        mac_key: *const u8,
        mac_key_len: usize,
        iv_len: usize,
        tag_len: usize,
        len: usize,
    ) -> *mut Opaque;
    fn openssl_run(r: *mut Opaque, packets: usize);
    fn bare_new(
        kind: c_int,
        key: *const u8,
        key_len: usize,
        mac_key: *const u8,
        mac_key_len: usize,
        iv_len: usize,
        tag_len: usize,
        len: usize,
    ) -> *mut Opaque;
    fn bare_run(r: *mut Opaque, packets: usize);
    fn crc_new(crc: Crc, tag_len: usize, len: usize) -> *mut Opaque;
    fn crc_run(r: *mut Opaque, packets: usize);
    fn rival_text(r: *const Opaque, i: c_int) -> *const u8;
    fn rival_tag(r: *const Opaque, i: c_int) -> *const u8;
    fn rival_free(r: *mut Opaque);
    fn rival_shift(bytes: usize);
}

/// One rival, with its 32 packets.
pub struct Rival {
    inner: *mut Opaque,
    run: unsafe extern "C" fn(*mut Opaque, usize),
    len: usize,
    tag: usize,
}

pub fn key(n: usize, first: u8) -> Vec<u8> {
    (0..n).map(|i| first.wrapping_add(i as u8 * 37)).collect()
}

impl Rival {
    pub fn openssl(a: &Algorithm, len: usize) -> Option<Rival> {
        let names = a.openssl.map(|n| CString::new(n).expect("no zero byte"));
        if names.iter().all(|n| n.is_empty()) {
            return None;
        }
        let [cipher, mac, digest] =
            names.each_ref().map(|n| if n.is_empty() { std::ptr::null() } else { n.as_ptr() });
        let (k, m) = (key(a.key, 1), key(a.auth_key, 99));
        // SAFETY: names and keys live through the call, which copies them.
        let inner = unsafe {
            openssl_new(
                cipher,
                mac,
                digest,
                k.as_ptr(),
                k.len(),
                m.as_ptr(),
                m.len(),
                a.iv,
                a.tag,
                len,
            )
        };
        (!inner.is_null()).then_some(Rival { inner, run: openssl_run, len, tag: a.tag })
    }

    /// A library of the processor's maker: intel-ipsec-mb, or of checksums ISA-L.
    pub fn bare(a: &Algorithm, len: usize) -> Option<Rival> {
        #[cfg(target_arch = "x86_64")]
        if let Some(crc) = match a.name {
            "CRC-32" => Some(isal::crc32 as Crc),
            "CRC-64" => Some(isal::crc64_ecma_refl as Crc),
            _ => None,
        } {
            // SAFETY: the function reads what it is given to read.
            let inner = unsafe { crc_new(crc, a.tag, len) };
            return Some(Rival { inner, run: crc_run, len, tag: a.tag });
        }
        // It takes 20,000 bits of KASUMI and 65,504 of EIA3 at most, and says nothing above.
        let most = if a.name.starts_with("KASUMI") { 2500 } else { 8188 };
        let short = a.name.starts_with("KASUMI") || a.name == "ZUC-EIA3";
        if a.bare == 0 || (short && len > most) {
            return None;
        }
        let (k, m) = (key(a.key, 1), key(a.auth_key, 99));
        // SAFETY: as above.
        let inner =
            unsafe { bare_new(a.bare, k.as_ptr(), k.len(), m.as_ptr(), m.len(), a.iv, a.tag, len) };
        (!inner.is_null()).then_some(Rival { inner, run: bare_run, len, tag: a.tag })
    }

    /// Works on this many packets, in turn.
    pub fn run(&mut self, packets: usize) {
        // SAFETY: `inner` came from the function that belongs to `run`.
        unsafe { (self.run)(self.inner, packets) }
    }

    /// What packet `i` is now: text, then tag.
    pub fn packet(&self, i: usize) -> Vec<u8> {
        // SAFETY: the rival has 32 packets with texts of `len` and tags of up to 64 bytes.
        unsafe {
            let text = std::slice::from_raw_parts(rival_text(self.inner, i as c_int), self.len);
            let tag = std::slice::from_raw_parts(rival_tag(self.inner, i as c_int), self.tag);
            [text, tag].concat()
        }
    }
}

impl Drop for Rival {
    fn drop(&mut self) {
        // SAFETY: made by one of the two, and freed once.
        unsafe { rival_free(self.inner) }
    }
}
