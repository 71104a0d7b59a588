//! provider-signature(7).

use core::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use super::{Object, Output, bytes, keymgmt::Keymgmt, keymgmt::state, text};
use crate::{
    digest::Md,
    error::{Error, Reason, Result},
    ffi::{Dispatch, Param},
    param::{Answers, Params},
    provider::Provider,
};

/// What a signature operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Signs.
    Sign,
    /// Verifies.
    Verify,
    /// Gives back what was signed.
    Recover,
}

/// One signature algorithm; a value is one operation in progress.
pub trait Signature: Clone + Send + 'static {
    /// Its keys.
    type Key: Keymgmt;

    /// What [`Signature::answer`] knows.
    const GETTABLE: &'static [Param];
    /// What [`Signature::set`] takes.
    const SETTABLE: &'static [Param];

    /// An operation without key.
    fn new(propq: Option<&str>) -> Self;

    /// Starts on data that the caller has digested (or that is signed as it is). Without a key,
    /// the one from before stays.
    fn start(&mut self, provider: &Provider, key: Option<Arc<Self::Key>>, mode: Mode)
    -> Result<()>;

    /// Starts on a message, with the digest of this name or the key's default.
    fn start_message(
        &mut self,
        provider: &Provider,
        key: Option<Arc<Self::Key>>,
        mode: Mode,
        digest: Option<&str>,
    ) -> Result<()>;

    /// The state of the digest of the message; `None` where messages are not digested before they
    /// are signed, and then only whole messages are taken.
    fn message(&mut self) -> Result<Option<&mut Md>>;

    /// The length of the longest signature.
    fn max_len(&self) -> Result<usize>;

    /// Signs a digest (or, where there are none, a message).
    fn sign(&mut self, provider: &Provider, digest: &[u8]) -> Result<Vec<u8>>;

    /// Verifies.
    fn verify(&mut self, provider: &Provider, digest: &[u8], signature: &[u8]) -> Result<()>;

    /// A signature just made: with the setting `verify`, one that is not valid stays here.
    fn check_own(
        &mut self,
        provider: &Provider,
        digest: &[u8],
        signature: Vec<u8>,
    ) -> Result<Vec<u8>> {
        if provider.settings.verify {
            self.verify(provider, digest, &signature).map_err(|e| match e.reason {
                Reason::VerificationFailed => Reason::Fault.into(),
                _ => e,
            })?;
        }
        Ok(signature)
    }

    /// Gives back what was signed.
    fn recover(&mut self, _provider: &Provider, _signature: &[u8]) -> Result<Vec<u8>> {
        Err(Error::new(Reason::NotSupported, "recovering what was signed"))
    }

    /// Answers about the operation.
    fn answer(&self, answers: &mut Answers) -> Result<()>;

    /// Takes parameters.
    fn set(&mut self, params: Params) -> Result<()>;
}

/// The functions of one algorithm.
pub struct Table<T>(core::marker::PhantomData<T>);

impl<T: Signature> Table<T> {
    /// The dispatch table.
    pub const FUNCTIONS: &'static [Dispatch] = &[
        Dispatch::new(1, newctx::<T> as *const ()),
        Dispatch::new(2, sign_init::<T> as *const ()),
        Dispatch::new(3, sign::<T> as *const ()),
        Dispatch::new(4, verify_init::<T> as *const ()),
        Dispatch::new(5, verify::<T> as *const ()),
        Dispatch::new(6, recover_init::<T> as *const ()),
        Dispatch::new(7, recover::<T> as *const ()),
        Dispatch::new(8, digest_sign_init::<T> as *const ()),
        Dispatch::new(9, update::<T> as *const ()),
        Dispatch::new(10, digest_sign_final::<T> as *const ()),
        Dispatch::new(11, digest_sign::<T> as *const ()),
        Dispatch::new(12, digest_verify_init::<T> as *const ()),
        Dispatch::new(13, update::<T> as *const ()),
        Dispatch::new(14, digest_verify_final::<T> as *const ()),
        Dispatch::new(15, digest_verify::<T> as *const ()),
        Dispatch::new(16, freectx::<T> as *const ()),
        Dispatch::new(17, dupctx::<T> as *const ()),
        Dispatch::new(18, get_ctx_params::<T> as *const ()),
        Dispatch::new(19, gettable_ctx_params::<T> as *const ()),
        Dispatch::new(20, set_ctx_params::<T> as *const ()),
        Dispatch::new(21, settable_ctx_params::<T> as *const ()),
        Dispatch::END,
    ];

    /// The dispatch table of an algorithm that digests no messages (Ed25519): whole messages only.
    pub const WHOLE_MESSAGES: &'static [Dispatch] = &[
        Dispatch::new(1, newctx::<T> as *const ()),
        Dispatch::new(8, digest_sign_init::<T> as *const ()),
        Dispatch::new(11, digest_sign::<T> as *const ()),
        Dispatch::new(12, digest_verify_init::<T> as *const ()),
        Dispatch::new(15, digest_verify::<T> as *const ()),
        Dispatch::new(16, freectx::<T> as *const ()),
        Dispatch::new(17, dupctx::<T> as *const ()),
        Dispatch::new(18, get_ctx_params::<T> as *const ()),
        Dispatch::new(19, gettable_ctx_params::<T> as *const ()),
        Dispatch::END,
    ];
}

// Every function here has arguments as provider-signature(7) promises them: `object` is of
// `newctx`, `key` of the key type's table, buffers as long as said, arrays end with a null key.

unsafe extern "C" fn newctx<T: Signature>(
    provctx: *mut c_void,
    propq: *const c_char,
) -> *mut c_void {
    // SAFETY: see above.
    unsafe { Object::make(provctx, |_| Ok(T::new(text(propq)))) }
}

unsafe extern "C" fn freectx<T: Signature>(object: *mut c_void) {
    // SAFETY: see above; freed once.
    unsafe { Object::<T>::free(object) };
}

unsafe extern "C" fn dupctx<T: Signature>(object: *mut c_void) -> *mut c_void {
    // SAFETY: see above.
    unsafe { Object::<T>::at(object) }.copy()
}

/// # Safety
/// As the functions that use it.
unsafe fn start<T: Signature>(
    object: *mut c_void,
    key: *mut c_void,
    params: *const Param,
    mode: Mode,
) -> c_int {
    // SAFETY: see above.
    let (object, key, params) =
        unsafe { (Object::<T>::at(object), state::<T::Key>(key), Params::new(params)) };
    object.run(|signature, provider| {
        signature.start(provider, key, mode)?;
        signature.set(params)
    })
}

unsafe extern "C" fn sign_init<T: Signature>(
    object: *mut c_void,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    unsafe { start::<T>(object, key, params, Mode::Sign) }
}

unsafe extern "C" fn verify_init<T: Signature>(
    object: *mut c_void,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    unsafe { start::<T>(object, key, params, Mode::Verify) }
}

unsafe extern "C" fn recover_init<T: Signature>(
    object: *mut c_void,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    unsafe { start::<T>(object, key, params, Mode::Recover) }
}

unsafe extern "C" fn sign<T: Signature>(
    object: *mut c_void,
    sig: *mut u8,
    len: *mut usize,
    size: usize,
    tbs: *const u8,
    tbs_len: usize,
) -> c_int {
    // SAFETY: see above.
    let (object, tbs) = unsafe { (Object::<T>::at(object), bytes(tbs, tbs_len)) };
    let out = Output { data: sig, len, size };
    object.run(|signature, provider| {
        if out.asks_length(|| signature.max_len())? {
            return Ok(());
        }
        out.fits(signature.max_len()?)?;
        out.write(&signature.sign(provider, tbs)?)
    })
}

unsafe extern "C" fn verify<T: Signature>(
    object: *mut c_void,
    sig: *const u8,
    sig_len: usize,
    tbs: *const u8,
    tbs_len: usize,
) -> c_int {
    // SAFETY: see above.
    let (object, sig, tbs) =
        unsafe { (Object::<T>::at(object), bytes(sig, sig_len), bytes(tbs, tbs_len)) };
    object.run(|signature, provider| signature.verify(provider, tbs, sig))
}

unsafe extern "C" fn recover<T: Signature>(
    object: *mut c_void,
    data: *mut u8,
    len: *mut usize,
    size: usize,
    sig: *const u8,
    sig_len: usize,
) -> c_int {
    // SAFETY: see above.
    let (object, sig) = unsafe { (Object::<T>::at(object), bytes(sig, sig_len)) };
    let out = Output { data, len, size };
    object.run(|signature, provider| {
        if out.asks_length(|| signature.max_len())? {
            return Ok(());
        }
        out.write(&signature.recover(provider, sig)?)
    })
}

/// # Safety
/// As the functions that use it.
unsafe fn start_message<T: Signature>(
    object: *mut c_void,
    digest: *const c_char,
    key: *mut c_void,
    params: *const Param,
    mode: Mode,
) -> c_int {
    // SAFETY: see above.
    let (object, digest, key, params) = unsafe {
        (Object::<T>::at(object), text(digest), state::<T::Key>(key), Params::new(params))
    };
    let digest = digest.filter(|name| !name.is_empty());
    object.run(|signature, provider| {
        signature.start_message(provider, key, mode, digest)?;
        if params.is_empty() { Ok(()) } else { signature.set(params) }
    })
}

unsafe extern "C" fn digest_sign_init<T: Signature>(
    object: *mut c_void,
    digest: *const c_char,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    unsafe { start_message::<T>(object, digest, key, params, Mode::Sign) }
}

unsafe extern "C" fn digest_verify_init<T: Signature>(
    object: *mut c_void,
    digest: *const c_char,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    unsafe { start_message::<T>(object, digest, key, params, Mode::Verify) }
}

fn digest_of<T: Signature>(signature: &mut T) -> Result<&mut Md> {
    signature.message()?.ok_or_else(|| Reason::NotSupported.into())
}

unsafe extern "C" fn update<T: Signature>(
    object: *mut c_void,
    data: *const u8,
    len: usize,
) -> c_int {
    // SAFETY: see above.
    let (object, data) = unsafe { (Object::<T>::at(object), bytes(data, len)) };
    object.run(|signature, _| digest_of(signature)?.update(data))
}

unsafe extern "C" fn digest_sign_final<T: Signature>(
    object: *mut c_void,
    sig: *mut u8,
    len: *mut usize,
    size: usize,
) -> c_int {
    // SAFETY: see above.
    let object = unsafe { Object::<T>::at(object) };
    let out = Output { data: sig, len, size };
    object.run(|signature, provider| {
        if out.asks_length(|| signature.max_len())? {
            return Ok(());
        }
        out.fits(signature.max_len()?)?;
        let digest = digest_of(signature)?.finish()?;
        out.write(&signature.sign(provider, &digest)?)
    })
}

unsafe extern "C" fn digest_sign<T: Signature>(
    object: *mut c_void,
    sig: *mut u8,
    len: *mut usize,
    size: usize,
    tbs: *const u8,
    tbs_len: usize,
) -> c_int {
    // SAFETY: see above.
    let (object, tbs) = unsafe { (Object::<T>::at(object), bytes(tbs, tbs_len)) };
    let out = Output { data: sig, len, size };
    object.run(|signature, provider| {
        if out.asks_length(|| signature.max_len())? {
            return Ok(());
        }
        out.fits(signature.max_len()?)?;
        let Some(digest) = signature.message()? else {
            return out.write(&signature.sign(provider, tbs)?);
        };
        digest.update(tbs)?;
        let digest = digest.finish()?;
        out.write(&signature.sign(provider, &digest)?)
    })
}

unsafe extern "C" fn digest_verify_final<T: Signature>(
    object: *mut c_void,
    sig: *const u8,
    sig_len: usize,
) -> c_int {
    // SAFETY: see above.
    let (object, sig) = unsafe { (Object::<T>::at(object), bytes(sig, sig_len)) };
    object.run(|signature, provider| {
        let digest = digest_of(signature)?.finish()?;
        signature.verify(provider, &digest, sig)
    })
}

unsafe extern "C" fn digest_verify<T: Signature>(
    object: *mut c_void,
    sig: *const u8,
    sig_len: usize,
    tbs: *const u8,
    tbs_len: usize,
) -> c_int {
    // SAFETY: see above.
    let (object, sig, tbs) =
        unsafe { (Object::<T>::at(object), bytes(sig, sig_len), bytes(tbs, tbs_len)) };
    object.run(|signature, provider| {
        let Some(digest) = signature.message()? else {
            return signature.verify(provider, tbs, sig);
        };
        digest.update(tbs)?;
        let digest = digest.finish()?;
        signature.verify(provider, &digest, sig)
    })
}

unsafe extern "C" fn get_ctx_params<T: Signature>(
    object: *mut c_void,
    params: *mut Param,
) -> c_int {
    // SAFETY: see above.
    let (object, mut answers) = unsafe { (Object::<T>::at(object), Answers::new(params)) };
    object.run(|signature, _| signature.answer(&mut answers))
}

unsafe extern "C" fn gettable_ctx_params<T: Signature>(
    _object: *mut c_void,
    _provctx: *mut c_void,
) -> *const Param {
    T::GETTABLE.as_ptr()
}

unsafe extern "C" fn set_ctx_params<T: Signature>(
    object: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    let (object, params) = unsafe { (Object::<T>::at(object), Params::new(params)) };
    object.run(|signature, _| signature.set(params))
}

unsafe extern "C" fn settable_ctx_params<T: Signature>(
    _object: *mut c_void,
    _provctx: *mut c_void,
) -> *const Param {
    T::SETTABLE.as_ptr()
}
