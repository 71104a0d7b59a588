//! A MAC of another provider: the one that OpenSSL finds under its name without us.
#![allow(unsafe_code)]

use core::{
    ffi::{CStr, c_char, c_int},
    ptr,
};

use crate::{
    error::{Error, Reason, Result},
    ffi::{LibCtx, Param},
    param::Export,
    provider::Provider,
};

#[repr(C)]
struct EvpMac {
    _opaque: [u8; 0],
}

#[repr(C)]
struct EvpMacCtx {
    _opaque: [u8; 0],
}

#[link(name = "crypto")]
unsafe extern "C" {
    fn EVP_MAC_fetch(ctx: *mut LibCtx, name: *const c_char, propq: *const c_char) -> *mut EvpMac;
    fn EVP_MAC_free(mac: *mut EvpMac);
    fn EVP_MAC_CTX_new(mac: *mut EvpMac) -> *mut EvpMacCtx;
    fn EVP_MAC_CTX_free(ctx: *mut EvpMacCtx);
    fn EVP_MAC_CTX_dup(ctx: *const EvpMacCtx) -> *mut EvpMacCtx;
    fn EVP_MAC_CTX_get_mac_size(ctx: *mut EvpMacCtx) -> usize;
    fn EVP_MAC_CTX_get_block_size(ctx: *mut EvpMacCtx) -> usize;
    fn EVP_MAC_CTX_set_params(ctx: *mut EvpMacCtx, params: *const Param) -> c_int;
    fn EVP_MAC_init(ctx: *mut EvpMacCtx, key: *const u8, len: usize, params: *const Param)
    -> c_int;
    fn EVP_MAC_update(ctx: *mut EvpMacCtx, data: *const u8, len: usize) -> c_int;
    fn EVP_MAC_final(ctx: *mut EvpMacCtx, out: *mut u8, len: *mut usize, size: usize) -> c_int;
}

/// A text in progress, with its key.
pub struct Other(*mut EvpMacCtx);

// SAFETY: OpenSSL's objects may be used from any thread, by one at a time.
unsafe impl Send for Other {}

fn check(done: bool) -> Result<()> {
    // The other provider has put into OpenSSL's queue what is wrong.
    if done { Ok(()) } else { Err(Error::new(Reason::NotSupported, "by another provider")) }
}

impl Other {
    /// The MAC of this name with these settings and key, a text started.
    pub fn new(
        provider: &Provider,
        name: &CStr,
        settings: &mut Export,
        key: &[u8],
    ) -> Result<Other> {
        // SAFETY: both strings end with NUL; the library context is the one we were loaded into.
        let ctx = unsafe {
            let others = c"provider!=lookaside".as_ptr();
            let mac = EVP_MAC_fetch(provider.core.libctx(), name.as_ptr(), others);
            check(!mac.is_null())?;
            let ctx = EVP_MAC_CTX_new(mac);
            EVP_MAC_free(mac);
            ctx
        };
        check(!ctx.is_null())?;
        let mut other = Other(ctx);
        other.set(settings)?;
        other.start(Some(key))?;
        Ok(other)
    }

    /// Gives it parameters.
    pub fn set(&mut self, params: &mut Export) -> Result<()> {
        // SAFETY: ours, and the array lives through the call.
        check(params.lend(|params| unsafe { EVP_MAC_CTX_set_params(self.0, params) }) == 1)
    }

    /// Starts a text; without a key, with the one from before.
    pub fn start(&mut self, key: Option<&[u8]>) -> Result<()> {
        let (at, len) = match key {
            // No key has no address of its own, an empty one has.
            Some([]) => (c"".as_ptr().cast(), 0),
            Some(key) => (key.as_ptr(), key.len()),
            None => (ptr::null(), 0),
        };
        // SAFETY: ours; the key is the slice's.
        check(unsafe { EVP_MAC_init(self.0, at, len, ptr::null()) } == 1)
    }

    /// More of the text.
    pub fn update(&mut self, text: &[u8]) -> Result<()> {
        // SAFETY: ours; the bytes are the slice's.
        check(unsafe { EVP_MAC_update(self.0, text.as_ptr(), text.len()) } == 1)
    }

    /// The end of the text. Returns the tag's length.
    pub fn finish(&mut self, room: &mut [u8]) -> Result<usize> {
        let mut len = 0;
        // SAFETY: ours; the room is the slice's.
        let done = unsafe { EVP_MAC_final(self.0, room.as_mut_ptr(), &mut len, room.len()) };
        check(done == 1)?;
        Ok(len)
    }

    /// The lengths of the tag and of a block.
    pub fn sizes(&self) -> (usize, usize) {
        // SAFETY: ours.
        unsafe { (EVP_MAC_CTX_get_mac_size(self.0), EVP_MAC_CTX_get_block_size(self.0)) }
    }

    /// A copy that goes its own way.
    pub fn duplicate(&self) -> Result<Other> {
        // SAFETY: ours.
        let copy = unsafe { EVP_MAC_CTX_dup(self.0) };
        check(!copy.is_null())?;
        Ok(Other(copy))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // SAFETY: ours, freed once.
        unsafe { EVP_MAC_CTX_free(self.0) };
    }
}
