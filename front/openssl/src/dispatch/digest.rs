//! provider-digest(7).

use core::{
    ffi::{c_int, c_void},
    marker::PhantomData,
    slice,
};
use std::sync::Arc;

use super::{
    Object, bytes, guard,
    kept::{self, Kept},
    wall,
};
use crate::{
    entry,
    error::{Reason, Result},
    ffi::{Dispatch, Param},
    hash::list::{SPECS, Spec},
    param::{Answers, Params},
    provider::Provider,
};

/// A message in progress.
pub trait Message: Send + Sized + 'static {
    /// None yet.
    fn new(spec: &'static Spec) -> Self;

    /// A copy that goes its own way.
    fn duplicate(&self) -> Self;

    /// Starts a message.
    fn start(&mut self, provider: &Provider) -> Result<()>;

    /// More of it.
    fn update(&mut self, provider: &Provider, text: &[u8]) -> Result<()>;

    /// Its end; the digest is as long as it should be.
    fn finish(&mut self, provider: &Provider, digest: &mut [u8]) -> Result<()>;

    /// What [`Message::set`] takes.
    fn settable(spec: &Spec) -> &'static [Param];

    /// Takes parameters.
    fn set(&mut self, provider: &Provider, params: Params) -> Result<()>;

    /// Counts what was counted in the value alone.
    fn settle(&mut self, provider: &Provider);

    /// Its user is done with it: nothing of the message is to stay in it. Whether it can serve for
    /// another one.
    fn rest(&mut self) -> bool;
}

/// The functions of one algorithm, by its place in the list.
pub struct Table<T, const SPEC: usize>(PhantomData<T>);

impl<T: Message, const SPEC: usize> Table<T, SPEC> {
    /// The dispatch table.
    pub const FUNCTIONS: &'static [Dispatch] = &[
        Dispatch::new(1, newctx::<T, SPEC> as *const ()),
        Dispatch::new(2, init::<T> as *const ()),
        Dispatch::new(3, update::<T> as *const ()),
        Dispatch::new(4, finish::<T, SPEC> as *const ()),
        Dispatch::new(5, digest::<T, SPEC> as *const ()),
        Dispatch::new(6, freectx::<T, SPEC> as *const ()),
        Dispatch::new(7, dupctx::<T> as *const ()),
        Dispatch::new(8, get_params::<SPEC> as *const ()),
        Dispatch::new(9, set_ctx_params::<T> as *const ()),
        Dispatch::new(11, gettable_params as *const ()),
        Dispatch::new(12, settable_ctx_params::<T, SPEC> as *const ()),
        Dispatch::END,
    ];
}

// Every function here has arguments as provider-digest(7) promises them: `object` is of `newctx`,
// buffers as long as said, arrays end with a null key.

unsafe extern "C" fn newctx<T: Message, const SPEC: usize>(provctx: *mut c_void) -> *mut c_void {
    if let Some(object) = kept::take(SPEC, provctx) {
        return object;
    }
    // SAFETY: see above.
    unsafe { Object::make(provctx, |_| Ok(T::new(&SPECS[SPEC]))) }
}

unsafe extern "C" fn freectx<T: Message, const SPEC: usize>(object: *mut c_void) {
    if object.is_null() {
        return;
    }
    // SAFETY: see above.
    let Object { provider, value } = unsafe { Object::<T>::at(object) };
    let provctx = Arc::as_ptr(provider).cast_mut().cast();
    // SAFETY: see above: nobody uses it any more, and these functions take objects of this type.
    let entry = unsafe { Kept::new(provctx, object, settle::<T>, free::<T>) };
    if wall(|| value.rest()) == Some(true) {
        kept::keep(SPEC, entry);
    }
}

/// # Safety
/// As [`Object::at`].
unsafe fn settle<T: Message>(object: *mut c_void) {
    // SAFETY: as required here.
    let Object { provider, value } = unsafe { Object::<T>::at(object) };
    wall(|| value.settle(provider));
}

/// # Safety
/// As [`Object::free`].
unsafe fn free<T: Message>(object: *mut c_void) {
    // SAFETY: as required here.
    unsafe {
        settle::<T>(object);
        Object::<T>::free(object);
    }
}

unsafe extern "C" fn dupctx<T: Message>(object: *mut c_void) -> *mut c_void {
    // SAFETY: see above.
    unsafe { Object::<T>::at(object) }.copy_by(|message| Ok(message.duplicate()))
}

unsafe extern "C" fn init<T: Message>(object: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: see above.
    let (object, params) = unsafe { (Object::<T>::at(object), Params::new(params)) };
    object.run(|message, provider| {
        message.start(provider)?;
        if params.is_empty() { Ok(()) } else { message.set(provider, params) }
    })
}

unsafe extern "C" fn update<T: Message>(object: *mut c_void, text: *const u8, len: usize) -> c_int {
    // SAFETY: see above.
    let (object, text) = unsafe { (Object::<T>::at(object), bytes(text, len)) };
    object.run(|message, provider| message.update(provider, text))
}

/// The room for a digest.
///
/// # Safety
/// There are `size` bytes at `out`, nobody else's for as long as `'a`.
unsafe fn room<'a>(spec: &Spec, out: *mut u8, size: usize) -> Result<&'a mut [u8]> {
    if out.is_null() || size < spec.len {
        return Err(Reason::OutputTooSmall.into());
    }
    // SAFETY: as required here.
    Ok(unsafe { slice::from_raw_parts_mut(out, spec.len) })
}

unsafe extern "C" fn finish<T: Message, const SPEC: usize>(
    object: *mut c_void,
    out: *mut u8,
    out_len: *mut usize,
    size: usize,
) -> c_int {
    // SAFETY: see above.
    let object = unsafe { Object::<T>::at(object) };
    object.run(|message, provider| {
        // SAFETY: see above.
        message.finish(provider, unsafe { room(&SPECS[SPEC], out, size)? })?;
        if !out_len.is_null() {
            // SAFETY: room for a length.
            unsafe { *out_len = SPECS[SPEC].len };
        }
        Ok(())
    })
}

unsafe extern "C" fn digest<T: Message, const SPEC: usize>(
    provctx: *mut c_void,
    text: *const u8,
    len: usize,
    out: *mut u8,
    out_len: *mut usize,
    size: usize,
) -> c_int {
    // SAFETY: see above.
    let (provider, text) = unsafe { (entry::provider(provctx), bytes(text, len)) };
    let done = guard(provider, || {
        let mut message = T::new(&SPECS[SPEC]);
        // SAFETY: see above.
        let room = unsafe { room(&SPECS[SPEC], out, size)? };
        message.start(provider)?;
        message.update(provider, text)?;
        message.finish(provider, room)?;
        message.settle(provider);
        if !out_len.is_null() {
            // SAFETY: room for a length.
            unsafe { *out_len = SPECS[SPEC].len };
        }
        Ok(())
    });
    c_int::from(done.is_some())
}

unsafe extern "C" fn get_params<const SPEC: usize>(params: *mut Param) -> c_int {
    // SAFETY: see above.
    let mut answers = unsafe { Answers::new(params) };
    let answered = wall(|| -> Result<()> {
        let spec = &SPECS[SPEC];
        answers.int(c"blocksize", spec.block_len as i64)?;
        answers.int(c"size", spec.len as i64)?;
        answers.int(c"xof", 0)?;
        answers.int(c"algid-absent", i64::from(spec.bare))
    });
    c_int::from(matches!(answered, Some(Ok(()))))
}

unsafe extern "C" fn gettable_params(_provctx: *mut c_void) -> *const Param {
    static GETTABLE: [Param; 5] = [
        Param::size(c"blocksize"),
        Param::size(c"size"),
        Param::int(c"xof"),
        Param::int(c"algid-absent"),
        Param::END,
    ];
    GETTABLE.as_ptr()
}

unsafe extern "C" fn set_ctx_params<T: Message>(
    object: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    let (object, params) = unsafe { (Object::<T>::at(object), Params::new(params)) };
    object.run(|message, provider| message.set(provider, params))
}

unsafe extern "C" fn settable_ctx_params<T: Message, const SPEC: usize>(
    _object: *mut c_void,
    _provctx: *mut c_void,
) -> *const Param {
    T::settable(&SPECS[SPEC]).as_ptr()
}
