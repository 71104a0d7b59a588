//! provider-asym_cipher(7).

use core::ffi::{c_int, c_void};
use std::sync::Arc;

use super::{Object, Output, bytes, keymgmt::Keymgmt, keymgmt::state};
use crate::{
    error::Result,
    ffi::{Dispatch, Param},
    param::{Answers, Params},
    provider::Provider,
};

/// One asymmetric cipher; a value is one operation in progress.
pub trait Cipher: Clone + Send + 'static {
    /// Its keys.
    type Key: Keymgmt;

    /// What [`Cipher::answer`] knows.
    const GETTABLE: &'static [Param];
    /// What [`Cipher::set`] takes.
    const SETTABLE: &'static [Param];

    /// An operation without key.
    fn new() -> Self;

    /// Starts; without a key, the one from before stays.
    fn start(&mut self, key: Option<Arc<Self::Key>>, encrypt: bool) -> Result<()>;

    /// The length of the longest result for an input of this length.
    fn max_len(&self, input: &[u8]) -> Result<usize>;

    /// Encrypts or decrypts.
    fn run(&mut self, provider: &Provider, input: &[u8]) -> Result<Vec<u8>>;

    /// Answers about the operation.
    fn answer(&self, answers: &mut Answers) -> Result<()>;

    /// Takes parameters.
    fn set(&mut self, params: Params) -> Result<()>;
}

/// The functions of one algorithm.
pub struct Table<T>(core::marker::PhantomData<T>);

impl<T: Cipher> Table<T> {
    /// The dispatch table.
    pub const FUNCTIONS: &'static [Dispatch] = &[
        Dispatch::new(1, newctx::<T> as *const ()),
        Dispatch::new(2, encrypt_init::<T> as *const ()),
        Dispatch::new(3, run::<T> as *const ()),
        Dispatch::new(4, decrypt_init::<T> as *const ()),
        Dispatch::new(5, run::<T> as *const ()),
        Dispatch::new(6, freectx::<T> as *const ()),
        Dispatch::new(7, dupctx::<T> as *const ()),
        Dispatch::new(8, get_ctx_params::<T> as *const ()),
        Dispatch::new(9, gettable_ctx_params::<T> as *const ()),
        Dispatch::new(10, set_ctx_params::<T> as *const ()),
        Dispatch::new(11, settable_ctx_params::<T> as *const ()),
        Dispatch::END,
    ];
}

// Every function here has arguments as provider-asym_cipher(7) promises them: `object` is of
// `newctx`, `key` of the key type's table, buffers as long as said, arrays end with a null key.

unsafe extern "C" fn newctx<T: Cipher>(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: see above.
    unsafe { Object::make(provctx, |_| Ok(T::new())) }
}

unsafe extern "C" fn freectx<T: Cipher>(object: *mut c_void) {
    // SAFETY: see above; freed once.
    unsafe { Object::<T>::free(object) };
}

unsafe extern "C" fn dupctx<T: Cipher>(object: *mut c_void) -> *mut c_void {
    // SAFETY: see above.
    unsafe { Object::<T>::at(object) }.copy()
}

/// # Safety
/// As the functions that use it.
unsafe fn start<T: Cipher>(
    object: *mut c_void,
    key: *mut c_void,
    params: *const Param,
    encrypt: bool,
) -> c_int {
    // SAFETY: see above.
    let (object, key, params) =
        unsafe { (Object::<T>::at(object), state::<T::Key>(key), Params::new(params)) };
    object.run(|cipher, _| {
        cipher.start(key, encrypt)?;
        cipher.set(params)
    })
}

unsafe extern "C" fn encrypt_init<T: Cipher>(
    object: *mut c_void,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    unsafe { start::<T>(object, key, params, true) }
}

unsafe extern "C" fn decrypt_init<T: Cipher>(
    object: *mut c_void,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    unsafe { start::<T>(object, key, params, false) }
}

unsafe extern "C" fn run<T: Cipher>(
    object: *mut c_void,
    data: *mut u8,
    len: *mut usize,
    size: usize,
    input: *const u8,
    input_len: usize,
) -> c_int {
    // SAFETY: see above.
    let (object, input) = unsafe { (Object::<T>::at(object), bytes(input, input_len)) };
    let out = Output { data, len, size };
    object.run(|cipher, provider| {
        if out.asks_length(|| cipher.max_len(input))? {
            return Ok(());
        }
        out.write(&zeroize::Zeroizing::new(cipher.run(provider, input)?))
    })
}

unsafe extern "C" fn get_ctx_params<T: Cipher>(object: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: see above.
    let (object, mut answers) = unsafe { (Object::<T>::at(object), Answers::new(params)) };
    object.run(|cipher, _| cipher.answer(&mut answers))
}

unsafe extern "C" fn gettable_ctx_params<T: Cipher>(
    _object: *mut c_void,
    _provctx: *mut c_void,
) -> *const Param {
    T::GETTABLE.as_ptr()
}

unsafe extern "C" fn set_ctx_params<T: Cipher>(object: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: see above.
    let (object, params) = unsafe { (Object::<T>::at(object), Params::new(params)) };
    object.run(|cipher, _| cipher.set(params))
}

unsafe extern "C" fn settable_ctx_params<T: Cipher>(
    _object: *mut c_void,
    _provctx: *mut c_void,
) -> *const Param {
    T::SETTABLE.as_ptr()
}
