//! provider-mac(7).

use core::{
    ffi::{c_int, c_void},
    marker::PhantomData,
    slice,
};

use super::{Object, bytes, wall};
use crate::{
    error::{Reason, Result},
    ffi::{Dispatch, Param},
    param::{Answers, Params},
    provider::Provider,
};

/// One MAC; a value is one text in progress, with its key.
pub trait Mac: Send + Sized + 'static {
    /// What [`Mac::answer`] knows.
    const GETTABLE: &'static [Param];
    /// What [`Mac::set`] takes.
    const SETTABLE: &'static [Param];

    /// A text without key.
    fn new() -> Self;

    /// A copy that goes its own way.
    fn duplicate(&self) -> Result<Self>;

    /// Starts a text; without a key, with the one from before.
    fn start(&mut self, provider: &Provider, key: Option<&[u8]>) -> Result<()>;

    /// More of the text.
    fn update(&mut self, provider: &Provider, text: &[u8]) -> Result<()>;

    /// The end of the text: the tag, into the start of the room. Returns its length.
    fn finish(&mut self, provider: &Provider, room: &mut [u8]) -> Result<usize>;

    /// Answers about the text.
    fn answer(&self, answers: &mut Answers) -> Result<()>;

    /// Takes parameters.
    fn set(&mut self, provider: &Provider, params: Params) -> Result<()>;

    /// Counts what was counted in the value alone.
    fn settle(&mut self, provider: &Provider);
}

/// The functions of one algorithm.
pub struct Table<T>(PhantomData<T>);

impl<T: Mac> Table<T> {
    /// The dispatch table.
    pub const FUNCTIONS: &'static [Dispatch] = &[
        Dispatch::new(1, newctx::<T> as *const ()),
        Dispatch::new(2, dupctx::<T> as *const ()),
        Dispatch::new(3, freectx::<T> as *const ()),
        Dispatch::new(4, init::<T> as *const ()),
        Dispatch::new(5, update::<T> as *const ()),
        Dispatch::new(6, finish::<T> as *const ()),
        Dispatch::new(8, get_ctx_params::<T> as *const ()),
        Dispatch::new(9, set_ctx_params::<T> as *const ()),
        Dispatch::new(11, gettable_ctx_params::<T> as *const ()),
        Dispatch::new(12, settable_ctx_params::<T> as *const ()),
        Dispatch::END,
    ];

    /// The same for one whose tags have 16 bytes whatever it is told: libcrypto may ask the
    /// algorithm rather than a text.
    pub const OF_16_BYTES: &'static [Dispatch] = &[
        Dispatch::new(1, newctx::<T> as *const ()),
        Dispatch::new(2, dupctx::<T> as *const ()),
        Dispatch::new(3, freectx::<T> as *const ()),
        Dispatch::new(4, init::<T> as *const ()),
        Dispatch::new(5, update::<T> as *const ()),
        Dispatch::new(6, finish::<T> as *const ()),
        Dispatch::new(7, get_params as *const ()),
        Dispatch::new(9, set_ctx_params::<T> as *const ()),
        Dispatch::new(10, gettable_params as *const ()),
        Dispatch::new(12, settable_ctx_params::<T> as *const ()),
        Dispatch::END,
    ];
}

// Every function here has arguments as provider-mac(7) promises them: `object` is of `newctx`,
// buffers as long as said, arrays end with a null key.

unsafe extern "C" fn newctx<T: Mac>(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: see above.
    unsafe { Object::make(provctx, |_| Ok(T::new())) }
}

unsafe extern "C" fn freectx<T: Mac>(object: *mut c_void) {
    if object.is_null() {
        return;
    }
    // SAFETY: see above; freed once.
    unsafe {
        let Object { provider, value } = Object::<T>::at(object);
        wall(|| value.settle(provider));
        Object::<T>::free(object);
    }
}

unsafe extern "C" fn dupctx<T: Mac>(object: *mut c_void) -> *mut c_void {
    // SAFETY: see above.
    unsafe { Object::<T>::at(object) }.copy_by(T::duplicate)
}

unsafe extern "C" fn init<T: Mac>(
    object: *mut c_void,
    key: *const u8,
    len: usize,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    let (object, params) = unsafe { (Object::<T>::at(object), Params::new(params)) };
    // SAFETY: see above. An empty key is one, null is none.
    let key = (!key.is_null()).then(|| unsafe { bytes(key, len) });
    object.run(|mac, provider| {
        if !params.is_empty() {
            mac.set(provider, params)?;
        }
        mac.start(provider, key)
    })
}

unsafe extern "C" fn update<T: Mac>(object: *mut c_void, text: *const u8, len: usize) -> c_int {
    // SAFETY: see above.
    let (object, text) = unsafe { (Object::<T>::at(object), bytes(text, len)) };
    object.run(|mac, provider| mac.update(provider, text))
}

unsafe extern "C" fn finish<T: Mac>(
    object: *mut c_void,
    out: *mut u8,
    out_len: *mut usize,
    size: usize,
) -> c_int {
    // SAFETY: see above.
    let object = unsafe { Object::<T>::at(object) };
    object.run(|mac, provider| {
        if out.is_null() {
            return Err(Reason::OutputTooSmall.into());
        }
        // SAFETY: see above.
        let len = mac.finish(provider, unsafe { slice::from_raw_parts_mut(out, size) })?;
        if !out_len.is_null() {
            // SAFETY: room for a length.
            unsafe { *out_len = len };
        }
        Ok(())
    })
}

unsafe extern "C" fn get_params(params: *mut Param) -> c_int {
    // SAFETY: see above.
    let mut answers = unsafe { Answers::new(params) };
    c_int::from(matches!(wall(|| answers.int(c"size", 16)), Some(Ok(()))))
}

unsafe extern "C" fn gettable_params(_provctx: *mut c_void) -> *const Param {
    static GETTABLE: [Param; 2] = [Param::size(c"size"), Param::END];
    GETTABLE.as_ptr()
}

unsafe extern "C" fn get_ctx_params<T: Mac>(object: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: see above.
    let (object, mut answers) = unsafe { (Object::<T>::at(object), Answers::new(params)) };
    object.run(|mac, _| mac.answer(&mut answers))
}

unsafe extern "C" fn gettable_ctx_params<T: Mac>(
    _object: *mut c_void,
    _provctx: *mut c_void,
) -> *const Param {
    T::GETTABLE.as_ptr()
}

unsafe extern "C" fn set_ctx_params<T: Mac>(object: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: see above.
    let (object, params) = unsafe { (Object::<T>::at(object), Params::new(params)) };
    object.run(|mac, provider| mac.set(provider, params))
}

unsafe extern "C" fn settable_ctx_params<T: Mac>(
    _object: *mut c_void,
    _provctx: *mut c_void,
) -> *const Param {
    T::SETTABLE.as_ptr()
}
