//! Services of libcrypto that keys and exchanges use: random bytes, and key derivation functions
//! by name.
#![allow(unsafe_code)]

use core::{
    ffi::{CStr, c_char, c_int, c_uint, c_ulong},
    ptr,
};

use zeroize::Zeroizing;

use crate::{
    error::{Error, Reason, Result},
    ffi::{LibCtx, Param},
    param::Export,
    provider::Provider,
};

#[repr(C)]
struct Kdf {
    _opaque: [u8; 0],
}

#[repr(C)]
struct KdfCtx {
    _opaque: [u8; 0],
}

#[link(name = "crypto")]
unsafe extern "C" {
    fn RAND_priv_bytes_ex(ctx: *mut LibCtx, buf: *mut u8, num: usize, strength: c_uint) -> c_int;
    fn EVP_KDF_fetch(ctx: *mut LibCtx, name: *const c_char, propq: *const c_char) -> *mut Kdf;
    fn EVP_KDF_free(kdf: *mut Kdf);
    fn EVP_KDF_CTX_new(kdf: *mut Kdf) -> *mut KdfCtx;
    fn EVP_KDF_CTX_free(ctx: *mut KdfCtx);
    fn EVP_KDF_derive(ctx: *mut KdfCtx, key: *mut u8, len: usize, params: *const Param) -> c_int;
    fn OpenSSL_version_num() -> c_ulong;
}

/// Libcrypto's version, as `0xMNN00PP0` (`OpenSSL_version_num`).
pub fn version() -> c_ulong {
    // SAFETY: no arguments.
    unsafe { OpenSSL_version_num() }
}

/// Random bytes for a secret, from the generator of the library context that loaded us.
pub fn random(provider: &Provider, out: &mut [u8]) -> Result<()> {
    // SAFETY: the context is the one we were loaded into; the room is the slice's. 0: the strength
    // that the generator has.
    let done =
        unsafe { RAND_priv_bytes_ex(provider.core.libctx(), out.as_mut_ptr(), out.len(), 0) };
    if done == 1 { Ok(()) } else { Err(Error::new(Reason::System, "no random bytes")) }
}

/// A random number of up to `bits` bits that is not 0, big-endian, as long as `bits` bits need.
pub fn random_bits(provider: &Provider, bits: usize) -> Result<Zeroizing<Vec<u8>>> {
    if bits == 0 {
        return Err(Reason::InvalidParameter.into());
    }
    let mut number = Zeroizing::new(vec![0; bits.div_ceil(8)]);
    loop {
        random(provider, &mut number)?;
        number[0] &= 0xff >> (8 * number.len() - bits);
        // One look at all of it: only the answer shows.
        if number.iter().fold(0, |sum, byte| sum | byte) != 0 {
            return Ok(number);
        }
    }
}

/// The result of a key derivation function that libcrypto finds by its name.
pub fn derive(
    provider: &Provider,
    name: &CStr,
    params: &mut Export,
    len: usize,
) -> Result<Zeroizing<Vec<u8>>> {
    let failed = || Error::new(Reason::NotSupported, format!("{} failed", name.to_string_lossy()));
    // SAFETY: the context is the one we were loaded into; the name ends with NUL.
    let kdf = unsafe { EVP_KDF_fetch(provider.core.libctx(), name.as_ptr(), ptr::null()) };
    if kdf.is_null() {
        return Err(failed());
    }
    // SAFETY: the function was found; its state holds it for itself.
    let state = unsafe {
        let state = EVP_KDF_CTX_new(kdf);
        EVP_KDF_free(kdf);
        state
    };
    if state.is_null() {
        return Err(failed());
    }
    let mut key = Zeroizing::new(vec![0; len]);
    // SAFETY: the state is ours, the room is the vector's, and the array lives through the call.
    let done =
        params.lend(|params| unsafe { EVP_KDF_derive(state, key.as_mut_ptr(), key.len(), params) });
    // SAFETY: ours, freed once.
    unsafe { EVP_KDF_CTX_free(state) };
    if done == 1 { Ok(key) } else { Err(failed()) }
}
