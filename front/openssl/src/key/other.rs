//! Keys of another provider, by way of ours. OpenSSL gives all keys of an algorithm to one provider;
//! those that Lookaside cannot hold (curves that it has not, explicit curve parameters, RSA keys of
//! three primes) are held by the provider that OpenSSL finds without us, and it does their operations,
//! at once. What goes wrong there is in OpenSSL's error queue in that provider's words.
#![allow(unsafe_code)]

use core::{
    ffi::{CStr, c_char, c_int},
    ptr,
};

use zeroize::Zeroizing;

use crate::{
    dispatch::keymgmt::Selection,
    error::{Error, Reason, Result},
    ffi::{LibCtx, Param},
    param::{Answers, Export, Params},
    provider::Provider,
};

#[repr(C)]
struct Pkey {
    _opaque: [u8; 0],
}

#[repr(C)]
pub(crate) struct PkeyCtx {
    _opaque: [u8; 0],
}

#[link(name = "crypto")]
unsafe extern "C" {
    fn EVP_PKEY_free(key: *mut Pkey);
    fn EVP_PKEY_dup(key: *mut Pkey) -> *mut Pkey;
    fn EVP_PKEY_get_size(key: *const Pkey) -> c_int;
    fn EVP_PKEY_eq(a: *const Pkey, b: *const Pkey) -> c_int;
    fn EVP_PKEY_parameters_eq(a: *const Pkey, b: *const Pkey) -> c_int;
    fn EVP_PKEY_get_params(key: *const Pkey, params: *mut Param) -> c_int;
    fn EVP_PKEY_set_params(key: *mut Pkey, params: *const Param) -> c_int;
    fn EVP_PKEY_todata(key: *const Pkey, selection: c_int, params: *mut *mut Param) -> c_int;
    fn OSSL_PARAM_free(params: *mut Param);
    fn EVP_PKEY_CTX_new_from_name(
        ctx: *mut LibCtx,
        name: *const c_char,
        propq: *const c_char,
    ) -> *mut PkeyCtx;
    fn EVP_PKEY_CTX_new_from_pkey(
        ctx: *mut LibCtx,
        key: *mut Pkey,
        propq: *const c_char,
    ) -> *mut PkeyCtx;
    fn EVP_PKEY_CTX_free(ctx: *mut PkeyCtx);
    fn EVP_PKEY_CTX_set_params(ctx: *mut PkeyCtx, params: *const Param) -> c_int;
    fn EVP_PKEY_fromdata_init(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_fromdata(
        ctx: *mut PkeyCtx,
        key: *mut *mut Pkey,
        selection: c_int,
        params: *const Param,
    ) -> c_int;
    fn EVP_PKEY_keygen_init(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_paramgen_init(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_generate(ctx: *mut PkeyCtx, key: *mut *mut Pkey) -> c_int;
    fn EVP_PKEY_param_check(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_param_check_quick(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_public_check(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_public_check_quick(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_private_check(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_pairwise_check(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_sign_init(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_sign(
        ctx: *mut PkeyCtx,
        out: *mut u8,
        len: *mut usize,
        src: *const u8,
        n: usize,
    ) -> c_int;
    fn EVP_PKEY_verify_init(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_verify(
        ctx: *mut PkeyCtx,
        signature: *const u8,
        len: usize,
        src: *const u8,
        n: usize,
    ) -> c_int;
    fn EVP_PKEY_verify_recover_init(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_verify_recover(
        ctx: *mut PkeyCtx,
        out: *mut u8,
        len: *mut usize,
        src: *const u8,
        n: usize,
    ) -> c_int;
    fn EVP_PKEY_encrypt_init(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_encrypt(
        ctx: *mut PkeyCtx,
        out: *mut u8,
        len: *mut usize,
        src: *const u8,
        n: usize,
    ) -> c_int;
    fn EVP_PKEY_decrypt_init(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_decrypt(
        ctx: *mut PkeyCtx,
        out: *mut u8,
        len: *mut usize,
        src: *const u8,
        n: usize,
    ) -> c_int;
    fn EVP_PKEY_derive_init(ctx: *mut PkeyCtx) -> c_int;
    fn EVP_PKEY_derive_set_peer_ex(ctx: *mut PkeyCtx, peer: *mut Pkey, validate: c_int) -> c_int;
    fn EVP_PKEY_derive(ctx: *mut PkeyCtx, out: *mut u8, len: *mut usize) -> c_int;
}

type Start = unsafe extern "C" fn(*mut PkeyCtx) -> c_int;
type Run = unsafe extern "C" fn(*mut PkeyCtx, *mut u8, *mut usize, *const u8, usize) -> c_int;

/// Whichever provider OpenSSL finds without us.
const OTHERS: &CStr = c"provider!=lookaside";

/// Nothing more is said: the other provider has put into OpenSSL's queue what is wrong.
fn check(done: bool) -> Result<()> {
    if done { Ok(()) } else { Err(Error::from(Reason::Queued)) }
}

/// What [`OtherKey::run`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Signs a digest.
    Sign,
    /// Gives back what was signed.
    Recover,
    /// Encrypts.
    Encrypt,
    /// Decrypts.
    Decrypt,
}

/// A key; nobody changes it once it is made.
pub struct OtherKey {
    key: *mut Pkey,
    algorithm: &'static CStr,
    /// The library context of the provider that made it.
    libctx: *mut LibCtx,
}

// SAFETY: OpenSSL's keys may be used by all threads while nobody changes them.
unsafe impl Send for OtherKey {}
// SAFETY: as above.
unsafe impl Sync for OtherKey {}

/// An operation.
struct Ctx(*mut PkeyCtx);

impl Ctx {
    /// # Safety
    /// `libctx` is a library context.
    unsafe fn of_algorithm(libctx: *mut LibCtx, algorithm: &CStr) -> Result<Ctx> {
        // SAFETY: as required here; both strings end with NUL.
        let ctx =
            unsafe { EVP_PKEY_CTX_new_from_name(libctx, algorithm.as_ptr(), OTHERS.as_ptr()) };
        check(!ctx.is_null())?;
        Ok(Ctx(ctx))
    }

    fn of_key(key: &OtherKey) -> Result<Ctx> {
        // SAFETY: as above, and the key is valid.
        let ctx = unsafe { EVP_PKEY_CTX_new_from_pkey(key.libctx, key.key, OTHERS.as_ptr()) };
        check(!ctx.is_null())?;
        Ok(Ctx(ctx))
    }

    fn set(&self, params: &mut Export) -> Result<()> {
        if params.is_empty() {
            return Ok(());
        }
        // SAFETY: ours, and the array lives through the call.
        check(params.lend(|params| unsafe { EVP_PKEY_CTX_set_params(self.0, params) }) == 1)
    }
}

impl Drop for Ctx {
    fn drop(&mut self) {
        // SAFETY: ours, freed once.
        unsafe { EVP_PKEY_CTX_free(self.0) };
    }
}

impl OtherKey {
    /// # Safety
    /// `key` is null or a key that nobody else frees, and `libctx` the context of its provider.
    unsafe fn made(
        libctx: *mut LibCtx,
        algorithm: &'static CStr,
        key: *mut Pkey,
    ) -> Result<OtherKey> {
        check(!key.is_null())?;
        Ok(OtherKey { key, algorithm, libctx })
    }

    /// Takes over a key's content.
    pub fn import(
        provider: &Provider,
        algorithm: &'static CStr,
        selection: Selection,
        from: Params,
    ) -> Result<OtherKey> {
        // SAFETY: the library context is the one we were loaded into.
        unsafe { OtherKey::import_into(provider.core.libctx(), algorithm, selection, from) }
    }

    /// # Safety
    /// `libctx` is a library context.
    unsafe fn import_into(
        libctx: *mut LibCtx,
        algorithm: &'static CStr,
        selection: Selection,
        from: Params,
    ) -> Result<OtherKey> {
        // SAFETY: as required here.
        let ctx = unsafe { Ctx::of_algorithm(libctx, algorithm) }?;
        let mut key = ptr::null_mut();
        // SAFETY: ours; the array has its end behind it.
        let done = unsafe {
            EVP_PKEY_fromdata_init(ctx.0) == 1
                && EVP_PKEY_fromdata(ctx.0, &mut key, selection.bits(), from.as_ptr()) == 1
        };
        check(done)?;
        // SAFETY: a new key.
        unsafe { OtherKey::made(libctx, algorithm, key) }
    }

    /// Another key for the same provider.
    pub fn sibling(&self, selection: Selection, parts: &mut Export) -> Result<OtherKey> {
        // SAFETY: the library context lives as long as its keys.
        let import = |from: Params<'_>| unsafe {
            OtherKey::import_into(self.libctx, self.algorithm, selection, from)
        };
        parts.lend_params(import)
    }

    /// Whether it answers a number or bytes of this name.
    pub fn has(&self, key: &CStr) -> bool {
        // Not `EVP_PKEY_get_params` without room: of "priv", that fails in older versions, and in newer
        // ones it leaves errors in the queue.
        let mut parts = Export::default();
        self.export(Selection::ALL, &mut parts).is_ok()
            && parts.lend_params(|parts| parts.find(key).is_some())
    }

    /// Whether the selected parts are equal.
    pub fn matches(&self, other: &OtherKey, selection: Selection) -> bool {
        // SAFETY: both are valid.
        let same = unsafe {
            if selection.pair() {
                EVP_PKEY_eq(self.key, other.key)
            } else {
                EVP_PKEY_parameters_eq(self.key, other.key)
            }
        };
        same == 1
    }

    /// Whether the selected parts are valid.
    pub fn validate(&self, selection: Selection, quick: bool) -> Result<()> {
        let ctx = Ctx::of_key(self)?;
        // SAFETY: ours.
        let good = unsafe {
            let parameters = !selection.domain()
                || if quick { EVP_PKEY_param_check_quick } else { EVP_PKEY_param_check }(ctx.0)
                    == 1;
            parameters
                && match (selection.public(), selection.private()) {
                    (true, true) => EVP_PKEY_pairwise_check(ctx.0) == 1,
                    (true, false) if quick => EVP_PKEY_public_check_quick(ctx.0) == 1,
                    (true, false) => EVP_PKEY_public_check(ctx.0) == 1,
                    (false, true) => EVP_PKEY_private_check(ctx.0) == 1,
                    (false, false) => true,
                }
        };
        check(good)
    }

    /// Gives the content.
    pub fn export(&self, selection: Selection, to: &mut Export) -> Result<()> {
        let mut params = ptr::null_mut();
        // SAFETY: the key is valid; the array is ours to free, its names are its provider's.
        unsafe {
            check(EVP_PKEY_todata(self.key, selection.bits(), &mut params) == 1)?;
            to.pass_on(Params::new(params));
            OSSL_PARAM_free(params);
        }
        Ok(())
    }

    /// A copy with the selected parts.
    pub fn select(&self, selection: Selection) -> Result<OtherKey> {
        let mut parts = Export::default();
        self.export(selection, &mut parts)?;
        self.sibling(selection, &mut parts)
    }

    /// Answers about the key.
    pub fn answer(&self, answers: &mut Answers) -> Result<()> {
        // SAFETY: the array has its end behind it.
        check(unsafe { EVP_PKEY_get_params(self.key, answers.as_mut_ptr()) } == 1)
    }

    /// A copy with something changed.
    pub fn changed(&self, params: Params) -> Result<OtherKey> {
        // SAFETY: the key is valid, the copy new.
        let copy = unsafe { OtherKey::made(self.libctx, self.algorithm, EVP_PKEY_dup(self.key)) }?;
        // SAFETY: the copy is ours alone; the array has its end behind it.
        check(unsafe { EVP_PKEY_set_params(copy.key, params.as_ptr()) } == 1)?;
        Ok(copy)
    }

    /// The length of the longest result of an operation with it.
    pub fn max_len(&self) -> usize {
        // SAFETY: the key is valid.
        usize::try_from(unsafe { EVP_PKEY_get_size(self.key) }).unwrap_or(0)
    }

    /// An operation with a result.
    pub fn run(
        &self,
        operation: Operation,
        settings: &mut Export,
        src: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>> {
        let ctx = Ctx::of_key(self)?;
        let (start, run): (Start, Run) = match operation {
            Operation::Sign => (EVP_PKEY_sign_init, EVP_PKEY_sign),
            Operation::Recover => (EVP_PKEY_verify_recover_init, EVP_PKEY_verify_recover),
            Operation::Encrypt => (EVP_PKEY_encrypt_init, EVP_PKEY_encrypt),
            Operation::Decrypt => (EVP_PKEY_decrypt_init, EVP_PKEY_decrypt),
        };
        // SAFETY: ours.
        check(unsafe { start(ctx.0) } == 1)?;
        ctx.set(settings)?;
        let mut len = 0;
        // SAFETY: ours; the source is the slice's. Without room, the length is answered.
        let asked = unsafe { run(ctx.0, ptr::null_mut(), &mut len, src.as_ptr(), src.len()) };
        check(asked == 1)?;
        let mut out = Zeroizing::new(vec![0; len]);
        // SAFETY: as above, with room for the result.
        let done = unsafe { run(ctx.0, out.as_mut_ptr(), &mut len, src.as_ptr(), src.len()) };
        check(done == 1)?;
        out.truncate(len);
        Ok(out)
    }

    /// Whether a signature is this digest's.
    pub fn verify(&self, settings: &mut Export, digest: &[u8], signature: &[u8]) -> Result<()> {
        let ctx = Ctx::of_key(self)?;
        // SAFETY: ours.
        check(unsafe { EVP_PKEY_verify_init(ctx.0) } == 1)?;
        ctx.set(settings)?;
        // SAFETY: ours; the bytes are the slices'.
        let good = unsafe {
            EVP_PKEY_verify(
                ctx.0,
                signature.as_ptr(),
                signature.len(),
                digest.as_ptr(),
                digest.len(),
            )
        };
        check(good == 1)
    }

    /// How long the secret is that it shares with a peer.
    pub fn secret_len(&self, peer: &OtherKey) -> Result<usize> {
        self.start_derive(&mut Export::default(), peer).map(|(_, len)| len)
    }

    fn start_derive(&self, settings: &mut Export, peer: &OtherKey) -> Result<(Ctx, usize)> {
        let ctx = Ctx::of_key(self)?;
        // SAFETY: ours.
        check(unsafe { EVP_PKEY_derive_init(ctx.0) } == 1)?;
        ctx.set(settings)?;
        let mut len = 0;
        // The peer was validated, if that was wanted, when it came to us.
        // SAFETY: ours, and the peer is valid. Without room, the length is answered.
        let ready = unsafe {
            EVP_PKEY_derive_set_peer_ex(ctx.0, peer.key, 0) == 1
                && EVP_PKEY_derive(ctx.0, ptr::null_mut(), &mut len) == 1
        };
        check(ready)?;
        Ok((ctx, len))
    }

    /// The secret that it shares with a peer.
    pub fn derive(&self, settings: &mut Export, peer: &OtherKey) -> Result<Zeroizing<Vec<u8>>> {
        let (ctx, mut len) = self.start_derive(settings, peer)?;
        let mut out = Zeroizing::new(vec![0; len]);
        // SAFETY: as above, with room for the secret.
        check(unsafe { EVP_PKEY_derive(ctx.0, out.as_mut_ptr(), &mut len) } == 1)?;
        out.truncate(len);
        Ok(out)
    }
}

/// The making of a key, or of parameters alone.
pub struct OtherGeneration {
    ctx: Ctx,
    algorithm: &'static CStr,
    libctx: *mut LibCtx,
}

// SAFETY: OpenSSL's objects may be used from any thread, by one at a time.
unsafe impl Send for OtherGeneration {}

impl OtherGeneration {
    /// Starts, with the parameters of a key or without, and with these settings.
    pub fn start(
        provider: &Provider,
        algorithm: &'static CStr,
        template: Option<&OtherKey>,
        selection: Selection,
        settings: &mut Export,
    ) -> Result<OtherGeneration> {
        let libctx = provider.core.libctx();
        let ctx = match template {
            Some(key) => Ctx::of_key(key)?,
            // SAFETY: the library context is the one we were loaded into.
            None => unsafe { Ctx::of_algorithm(libctx, algorithm) }?,
        };
        let start = if selection.pair() { EVP_PKEY_keygen_init } else { EVP_PKEY_paramgen_init };
        // SAFETY: ours.
        check(unsafe { start(ctx.0) } == 1)?;
        ctx.set(settings)?;
        Ok(OtherGeneration { ctx, algorithm, libctx })
    }

    /// Takes parameters.
    pub fn set(&mut self, params: Params) -> Result<()> {
        let mut settings = Export::default();
        settings.copy(params);
        self.ctx.set(&mut settings)
    }

    /// Makes the key.
    pub fn run(&mut self) -> Result<OtherKey> {
        let mut key = ptr::null_mut();
        // SAFETY: ours.
        check(unsafe { EVP_PKEY_generate(self.ctx.0, &mut key) } == 1)?;
        // SAFETY: a new key.
        unsafe { OtherKey::made(self.libctx, self.algorithm, key) }
    }
}

impl Drop for OtherKey {
    fn drop(&mut self) {
        // SAFETY: ours, freed once.
        unsafe { EVP_PKEY_free(self.key) };
    }
}
