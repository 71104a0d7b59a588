//! OpenSSL's tables of functions, made from safe traits: one file and one trait for each kind of
//! implementation. A type implements the trait; `Table::<Type>::FUNCTIONS` is its table. All
//! pointers that OpenSSL passes are turned into references here, each function's panic becomes an
//! error here, and every error is put into OpenSSL's queue here.
#![allow(unsafe_code)]

pub mod cipher;
pub mod digest;
pub mod exchange;
pub mod kdf;
pub mod kept;
pub mod keymgmt;
pub mod mac;
pub mod signature;
pub mod symcipher;

use core::{
    ffi::{CStr, c_char, c_int, c_void},
    panic::AssertUnwindSafe,
    slice,
};
use std::{panic::catch_unwind, sync::Arc};

use crate::{
    entry,
    error::{Error, Reason, Result},
    provider::Provider,
};

/// The wall that no panic passes: into C it would be undefined behaviour.
#[inline(always)]
pub fn wall<T>(f: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(f)).ok()
}

/// What OpenSSL calls a provider side context: a value and the provider that made it.
struct Object<T> {
    provider: Arc<Provider>,
    value: T,
}

impl<T> Object<T> {
    /// Makes one for a provider.
    ///
    /// # Safety
    /// `provctx` is a provider's, not torn down yet.
    unsafe fn make(
        provctx: *mut c_void,
        value: impl FnOnce(&Arc<Provider>) -> Result<T>,
    ) -> *mut c_void {
        // SAFETY: as required here.
        let provider = unsafe { entry::keep(provctx) };
        match guard(&provider, || value(&provider)) {
            Some(value) => Box::into_raw(Box::new(Object { provider, value })).cast(),
            None => core::ptr::null_mut(),
        }
    }

    /// The object behind a pointer.
    ///
    /// # Safety
    /// `object` was made by `make` with this type, is not freed yet, and nobody else uses it now,
    /// as OpenSSL promises for its contexts.
    unsafe fn at<'a>(object: *mut c_void) -> &'a mut Object<T> {
        // SAFETY: as required here.
        unsafe { &mut *object.cast::<Object<T>>() }
    }

    /// Frees it.
    ///
    /// # Safety
    /// As `at`; a null pointer is allowed; the pointer is not used again.
    unsafe fn free(object: *mut c_void) {
        if !object.is_null() {
            // SAFETY: as required here.
            let object = unsafe { Box::from_raw(object.cast::<Object<T>>()) };
            wall(|| drop(object));
        }
    }

    /// A copy of it.
    fn copy(&self) -> *mut c_void
    where
        T: Clone,
    {
        let value = wall(|| self.value.clone());
        let copy = value.map(|value| Object { provider: self.provider.clone(), value });
        copy.map_or(core::ptr::null_mut(), |copy| Box::into_raw(Box::new(copy)).cast())
    }

    /// A copy of it, made by this.
    fn copy_by(&self, f: impl FnOnce(&T) -> Result<T>) -> *mut c_void {
        let copy = guard(&self.provider, || f(&self.value));
        let copy = copy.map(|value| Object { provider: self.provider.clone(), value });
        copy.map_or(core::ptr::null_mut(), |copy| Box::into_raw(Box::new(copy)).cast())
    }

    /// Runs a function on it: 1, or 0 with an error in the queue.
    #[inline(always)]
    fn run(&mut self, f: impl FnOnce(&mut T, &Arc<Provider>) -> Result<()>) -> c_int {
        let Object { provider, value } = self;
        c_int::from(guard(provider, || f(value, provider)).is_some())
    }
}

/// Runs a function; its error or panic goes into OpenSSL's queue.
///
/// What passes the wall is small: a `Result` with an error in it is written in words and read back in
/// vectors, for which the CPU waits longer than AES takes for a block.
#[inline(always)]
fn guard<R>(provider: &Provider, f: impl FnOnce() -> Result<R>) -> Option<R> {
    let done = wall(|| match f() {
        Ok(result) => Some(result),
        Err(e) => {
            raise(provider, Some(e));
            None
        }
    });
    if done.is_none() {
        raise(provider, None);
    }
    done.flatten()
}

/// Puts an error into OpenSSL's queue; none stands for a panic. Apart, so that what goes well is
/// inlined with nothing else.
#[cold]
#[inline(never)]
fn raise(provider: &Provider, error: Option<Error>) {
    if error.as_ref().is_some_and(|e| e.reason.is_silent()) {
        return;
    }
    wall(|| provider.core.raise(&error.unwrap_or_else(|| Reason::Internal.into())));
}

/// The bytes of a caller.
///
/// # Safety
/// `data` is null or has `len` readable bytes for as long as `'a`.
unsafe fn bytes<'a>(data: *const u8, len: usize) -> &'a [u8] {
    if data.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: as required here.
    unsafe { slice::from_raw_parts(data, len) }
}

/// A string of a caller; `None` for null, and for what is not UTF-8.
///
/// # Safety
/// `text` is null or ends with NUL and lives as long as `'a`.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as required here.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// Where a result goes: a buffer with its size, and the length to report.
struct Output {
    data: *mut u8,
    len: *mut usize,
    size: usize,
}

impl Output {
    /// A caller that asks for the length alone passes no buffer: reports `most`, and is done.
    fn asks_length(&self, most: impl FnOnce() -> Result<usize>) -> Result<bool> {
        if !self.data.is_null() {
            return Ok(false);
        }
        self.report(most()?);
        Ok(true)
    }

    /// Checks that a result of this length fits.
    fn fits(&self, len: usize) -> Result<()> {
        if self.size < len {
            let detail = format!("{len} bytes are needed, there are {}", self.size);
            return Err(Error::new(Reason::OutputTooSmall, detail));
        }
        Ok(())
    }

    fn report(&self, len: usize) {
        if !self.len.is_null() {
            // SAFETY: OpenSSL's functions take the length by a valid pointer.
            unsafe { *self.len = len };
        }
    }

    /// Hands over the result.
    fn write(&self, result: &[u8]) -> Result<()> {
        self.fits(result.len())?;
        // SAFETY: the caller says that there is room for `size` bytes.
        unsafe { core::ptr::copy_nonoverlapping(result.as_ptr(), self.data, result.len()) };
        self.report(result.len());
        Ok(())
    }
}
