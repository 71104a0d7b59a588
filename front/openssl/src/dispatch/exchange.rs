//! provider-keyexch(7).

use core::ffi::{c_int, c_void};
use std::sync::Arc;

use super::{Object, Output, keymgmt::Keymgmt, keymgmt::state};
use crate::{
    error::{Reason, Result},
    ffi::{Dispatch, Param},
    param::{Answers, Params},
    provider::Provider,
};

/// One key exchange; a value is one operation in progress.
#[allow(clippy::len_without_is_empty, reason = "no secret is empty")]
pub trait Exchange: Clone + Send + 'static {
    /// Its keys.
    type Key: Keymgmt;

    /// What [`Exchange::answer`] knows.
    const GETTABLE: &'static [Param] = &[Param::END];
    /// What [`Exchange::set`] takes.
    const SETTABLE: &'static [Param] = &[Param::END];

    /// An operation without key.
    fn new() -> Self;

    /// Starts with our key.
    fn start(&mut self, key: Arc<Self::Key>) -> Result<()>;

    /// Takes the peer's public key.
    fn peer(&mut self, provider: &Provider, key: Arc<Self::Key>) -> Result<()>;

    /// How long the secret is.
    fn len(&self) -> Result<usize>;

    /// The secret. The caller has room for `room` bytes.
    fn derive(&mut self, provider: &Provider, room: usize) -> Result<Vec<u8>>;

    /// Answers about the operation.
    fn answer(&self, _answers: &mut Answers) -> Result<()> {
        Ok(())
    }

    /// Takes parameters.
    fn set(&mut self, _params: Params) -> Result<()> {
        Ok(())
    }
}

/// The functions of one algorithm.
pub struct Table<T>(core::marker::PhantomData<T>);

impl<T: Exchange> Table<T> {
    /// The dispatch table.
    pub const FUNCTIONS: &'static [Dispatch] = &[
        Dispatch::new(1, newctx::<T> as *const ()),
        Dispatch::new(2, init::<T> as *const ()),
        Dispatch::new(3, derive::<T> as *const ()),
        Dispatch::new(4, set_peer::<T> as *const ()),
        Dispatch::new(5, freectx::<T> as *const ()),
        Dispatch::new(6, dupctx::<T> as *const ()),
        Dispatch::new(7, set_ctx_params::<T> as *const ()),
        Dispatch::new(8, settable_ctx_params::<T> as *const ()),
        Dispatch::new(9, get_ctx_params::<T> as *const ()),
        Dispatch::new(10, gettable_ctx_params::<T> as *const ()),
        Dispatch::END,
    ];
}

// Every function here has arguments as provider-keyexch(7) promises them: `object` is of
// `newctx`, keys of the key type's table, buffers as long as said, arrays end with a null key.

unsafe extern "C" fn newctx<T: Exchange>(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: see above.
    unsafe { Object::make(provctx, |_| Ok(T::new())) }
}

unsafe extern "C" fn freectx<T: Exchange>(object: *mut c_void) {
    // SAFETY: see above; freed once.
    unsafe { Object::<T>::free(object) };
}

unsafe extern "C" fn dupctx<T: Exchange>(object: *mut c_void) -> *mut c_void {
    // SAFETY: see above.
    unsafe { Object::<T>::at(object) }.copy()
}

unsafe extern "C" fn init<T: Exchange>(
    object: *mut c_void,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    let (object, key, params) =
        unsafe { (Object::<T>::at(object), state::<T::Key>(key), Params::new(params)) };
    object.run(|exchange, _| {
        exchange.start(key.ok_or(Reason::MissingKey)?)?;
        exchange.set(params)
    })
}

unsafe extern "C" fn set_peer<T: Exchange>(object: *mut c_void, key: *mut c_void) -> c_int {
    // SAFETY: see above.
    let (object, key) = unsafe { (Object::<T>::at(object), state::<T::Key>(key)) };
    object.run(|exchange, provider| exchange.peer(provider, key.ok_or(Reason::MissingKey)?))
}

unsafe extern "C" fn derive<T: Exchange>(
    object: *mut c_void,
    data: *mut u8,
    len: *mut usize,
    size: usize,
) -> c_int {
    // SAFETY: see above.
    let object = unsafe { Object::<T>::at(object) };
    let out = Output { data, len, size };
    object.run(|exchange, provider| {
        if out.asks_length(|| exchange.len())? {
            return Ok(());
        }
        out.write(&zeroize::Zeroizing::new(exchange.derive(provider, size)?))
    })
}

unsafe extern "C" fn get_ctx_params<T: Exchange>(object: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: see above.
    let (object, mut answers) = unsafe { (Object::<T>::at(object), Answers::new(params)) };
    object.run(|exchange, _| exchange.answer(&mut answers))
}

unsafe extern "C" fn gettable_ctx_params<T: Exchange>(
    _object: *mut c_void,
    _provctx: *mut c_void,
) -> *const Param {
    T::GETTABLE.as_ptr()
}

unsafe extern "C" fn set_ctx_params<T: Exchange>(
    object: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    let (object, params) = unsafe { (Object::<T>::at(object), Params::new(params)) };
    object.run(|exchange, _| exchange.set(params))
}

unsafe extern "C" fn settable_ctx_params<T: Exchange>(
    _object: *mut c_void,
    _provctx: *mut c_void,
) -> *const Param {
    T::SETTABLE.as_ptr()
}
