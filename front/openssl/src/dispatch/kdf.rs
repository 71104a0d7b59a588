//! provider-kdf(7).

use core::ffi::{c_int, c_void};

use super::Object;
use crate::{
    error::{Error, Reason, Result},
    ffi::{Dispatch, Param},
    library,
    param::{Answers, Params},
    provider::Provider,
};

/// One key derivation function; a value is one derivation in progress.
pub trait Derivation: Clone + Send + 'static {
    /// What [`Derivation::set`] takes.
    const SETTABLE: &'static [Param];
    /// What [`Derivation::answer`] knows.
    const GETTABLE: &'static [Param] = &[Param::size(c"size"), Param::END];

    /// A derivation without parameters.
    fn new() -> Self;

    /// Takes parameters.
    fn set(&mut self, params: Params) -> Result<()>;

    /// Fills the key.
    fn derive(&self, provider: &Provider, len: usize) -> Result<Vec<u8>>;

    /// How long the result is, where that does not depend on the caller.
    fn size(&self) -> Result<Option<usize>> {
        Ok(None)
    }

    /// Answers about the derivation. Returns whether anything was asked that it knows.
    fn answer(&self, answers: &mut Answers) -> Result<bool> {
        answer_size(self, answers)
    }
}

/// Answers how long the result is, if asked. Any length is `SIZE_MAX`, which libcrypto's
/// `EVP_PKEY_derive` compares with.
pub fn answer_size<T: Derivation>(derivation: &T, answers: &mut Answers) -> Result<bool> {
    if !answers.wants(c"size") {
        return Ok(false);
    }
    answers.size(c"size", derivation.size()?.unwrap_or(usize::MAX))?;
    Ok(true)
}

/// What OpenSSL's derivations return when nothing is asked that they know: -2 before OpenSSL 3.4.
fn nothing_known() -> c_int {
    if library::version() < 0x3040_0000 { -2 } else { 1 }
}

/// The functions of one algorithm.
pub struct Table<T>(core::marker::PhantomData<T>);

impl<T: Derivation> Table<T> {
    /// The dispatch table.
    pub const FUNCTIONS: &'static [Dispatch] = &[
        Dispatch::new(1, newctx::<T> as *const ()),
        Dispatch::new(2, dupctx::<T> as *const ()),
        Dispatch::new(3, freectx::<T> as *const ()),
        Dispatch::new(4, reset::<T> as *const ()),
        Dispatch::new(5, derive::<T> as *const ()),
        Dispatch::new(7, gettable_ctx_params::<T> as *const ()),
        Dispatch::new(8, settable_ctx_params::<T> as *const ()),
        Dispatch::new(10, get_ctx_params::<T> as *const ()),
        Dispatch::new(11, set_ctx_params::<T> as *const ()),
        Dispatch::END,
    ];
}

// Every function here has arguments as provider-kdf(7) promises them: `object` is of `newctx`,
// buffers as long as said, arrays end with a null key.

unsafe extern "C" fn newctx<T: Derivation>(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: see above.
    unsafe { Object::make(provctx, |_| Ok(T::new())) }
}

unsafe extern "C" fn freectx<T: Derivation>(object: *mut c_void) {
    // SAFETY: see above; freed once.
    unsafe { Object::<T>::free(object) };
}

unsafe extern "C" fn dupctx<T: Derivation>(object: *mut c_void) -> *mut c_void {
    // SAFETY: see above.
    unsafe { Object::<T>::at(object) }.copy()
}

unsafe extern "C" fn reset<T: Derivation>(object: *mut c_void) {
    // SAFETY: see above.
    let object = unsafe { Object::<T>::at(object) };
    object.run(|derivation, _| {
        *derivation = T::new();
        Ok(())
    });
}

unsafe extern "C" fn derive<T: Derivation>(
    object: *mut c_void,
    key: *mut u8,
    len: usize,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    let (object, params) = unsafe { (Object::<T>::at(object), Params::new(params)) };
    object.run(|derivation, provider| {
        derivation.set(params)?;
        if len == 0 {
            return Err(Error::from(Reason::InvalidLength));
        }
        let result = zeroize::Zeroizing::new(derivation.derive(provider, len)?);
        if result.len() != len {
            return Err(Error::from(Reason::InvalidLength));
        }
        // SAFETY: the caller has room for `len` bytes.
        unsafe { core::ptr::copy_nonoverlapping(result.as_ptr(), key, len) };
        Ok(())
    })
}

unsafe extern "C" fn get_ctx_params<T: Derivation>(
    object: *mut c_void,
    params: *mut Param,
) -> c_int {
    // SAFETY: see above.
    let (object, mut answers) = unsafe { (Object::<T>::at(object), Answers::new(params)) };
    let mut known = true;
    let answered = object.run(|derivation, _| {
        known = derivation.answer(&mut answers)?;
        Ok(())
    });
    if known { answered } else { nothing_known() }
}

unsafe extern "C" fn gettable_ctx_params<T: Derivation>(
    _object: *mut c_void,
    _provctx: *mut c_void,
) -> *const Param {
    T::GETTABLE.as_ptr()
}

unsafe extern "C" fn set_ctx_params<T: Derivation>(
    object: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    let (object, params) = unsafe { (Object::<T>::at(object), Params::new(params)) };
    object.run(|derivation, _| derivation.set(params))
}

unsafe extern "C" fn settable_ctx_params<T: Derivation>(
    _object: *mut c_void,
    _provctx: *mut c_void,
) -> *const Param {
    T::SETTABLE.as_ptr()
}
