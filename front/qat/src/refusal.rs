//! Why a function does not do what it was called for: a status, and once for each reason a line on standard error.
#![allow(unsafe_code)]

use core::{
    ffi::c_char,
    sync::atomic::{AtomicBool, AtomicPtr, Ordering},
};
use std::{
    borrow::Cow,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
};

use lookaside::{OpError, SetupError};

use crate::{abi::*, stack::with_room};

/// A status other than success.
#[derive(Debug)]
pub struct Refusal {
    status: CpaStatus,
    /// What is wrong, and what to do about it. `None` for what is part of normal use.
    text: Option<Cow<'static, str>>,
}

impl Refusal {
    /// No room, or nothing there, at the moment: normal use.
    pub const RETRY: Refusal = Refusal { status: CPA_STATUS_RETRY, text: None };

    /// An argument that is not valid.
    pub fn invalid(text: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal { status: CPA_STATUS_INVALID_PARAM, text: Some(text.into()) }
    }

    /// A function, an algorithm or a parameter that is not served. The text says why.
    pub fn unsupported(text: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal { status: CPA_STATUS_UNSUPPORTED, text: Some(text.into()) }
    }

    /// The operation failed.
    pub fn fail(text: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal { status: CPA_STATUS_FAIL, text: Some(text.into()) }
    }

    /// Memory or something else of the system is lacking.
    pub fn resource(text: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal { status: CPA_STATUS_RESOURCE, text: Some(text.into()) }
    }

    /// Prints its line, where it has one.
    pub fn print(&self, function: &'static str) {
        if let Some(text) = &self.text {
            say(function, text);
        }
    }

    /// The status that the caller sees.
    pub fn status(&self) -> CpaStatus {
        self.status
    }
}

impl From<SetupError> for Refusal {
    fn from(error: SetupError) -> Refusal {
        let text = error.to_string();
        match error {
            SetupError::Unsupported { .. } => Refusal::unsupported(text),
            SetupError::NoMemory { .. } | SetupError::Os { .. } => Refusal::resource(text),
            _ => Refusal::invalid(text),
        }
    }
}

/// The status of an operation that a device has refused or failed.
pub fn status_of(error: OpError) -> CpaStatus {
    match error {
        OpError::Unsupported => CPA_STATUS_UNSUPPORTED,
        OpError::NoMemory => CPA_STATUS_RESOURCE,
        OpError::BadInput(_) => CPA_STATUS_INVALID_PARAM,
        _ => CPA_STATUS_FAIL,
    }
}

/// Runs the body of an exported function. A refusal becomes its status, a panic `CPA_STATUS_FATAL`.
#[inline]
pub fn enter(
    function: &'static str,
    body: impl FnOnce() -> Result<CpaStatus, Refusal>,
) -> CpaStatus {
    with_room(|| match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => status,
        Ok(Err(refusal)) => {
            refusal.print(function);
            refusal.status
        }
        Err(panic) => {
            say(function, "a defect in this library; please report it");
            // Dropping it could panic again.
            core::mem::forget(panic);
            CPA_STATUS_FATAL
        }
    })
}

/// Whether lines are wanted; see [`crate::settings`].
pub static SILENT: AtomicBool = AtomicBool::new(false);

/// How many different lines are kept in mind. What comes then is printed each time.
const KINDS: usize = 256;
/// The texts that have been printed, by a hash in place of an address.
static SAID: [AtomicPtr<()>; KINDS] = [const { AtomicPtr::new(core::ptr::null_mut()) }; KINDS];

/// Prints a line of this function and text, the first time only.
#[cold]
#[inline(never)]
pub fn say(function: &str, text: &str) {
    if SILENT.load(Ordering::Relaxed) || !is_new(hash(function, text)) {
        return;
    }
    let _ = writeln!(std::io::stderr(), "lookaside: {function}: {text}");
}

/// FNV-1a, never 0.
fn hash(function: &str, text: &str) -> usize {
    let bytes = function.bytes().chain([0]).chain(text.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash as usize | 1
}

fn is_new(hash: usize) -> bool {
    let mark = core::ptr::without_provenance_mut(hash);
    for place in &SAID {
        let found = place.compare_exchange(
            core::ptr::null_mut(),
            mark,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        match found {
            Ok(_) => return true,
            Err(known) if known == mark => return false,
            Err(_) => {}
        }
    }
    true
}

/// What a pointer of the caller's points at, to read.
///
/// # Safety
/// Null, or valid for reading one `T` until the exported function returns.
#[inline]
pub unsafe fn given<'a, T>(pointer: *const T, what: &'static str) -> Result<&'a T, Refusal> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Refusal::invalid(what));
    }
    // SAFETY: neither null nor misaligned, so valid by the caller's promise.
    Ok(unsafe { &*pointer })
}

/// Where the caller wants a value.
///
/// # Safety
/// Null, or valid for writing one `T` until the exported function returns.
#[inline]
pub unsafe fn wanted<'a, T>(pointer: *mut T, what: &'static str) -> Result<&'a mut T, Refusal> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Refusal::invalid(what));
    }
    // SAFETY: neither null nor misaligned, so valid by the caller's promise; C knows no uninitialised bytes.
    Ok(unsafe { &mut *pointer })
}

/// Copies `text` to a field of bytes, ended by a zero, and filled with zeros.
pub fn put_text(field: &mut [u8], text: &str) {
    field.fill(0);
    let len = text.len().min(field.len().saturating_sub(1));
    field[..len].copy_from_slice(&text.as_bytes()[..len]);
}

/// The text of a status, for `cpaDcGetStatusText` and `cpaCyGetStatusText`.
///
/// # Safety
/// `text` is null or has `CPA_STATUS_MAX_STR_LENGTH_IN_BYTES` bytes.
pub unsafe fn status_text(status: CpaStatus, text: *mut c_char) -> Result<CpaStatus, Refusal> {
    let known: &str = match status {
        CPA_STATUS_SUCCESS => "The operation succeeded",
        CPA_STATUS_FAIL => "The operation failed",
        CPA_STATUS_RETRY => "No room at the moment: poll and try again",
        CPA_STATUS_RESOURCE => "Memory or another resource is lacking",
        CPA_STATUS_INVALID_PARAM => "An argument is not valid",
        CPA_STATUS_FATAL => "A fatal error",
        CPA_STATUS_UNSUPPORTED => "This function or algorithm is not supported",
        CPA_STATUS_RESTARTING => "The instance is restarting",
        _ => return Err(Refusal::invalid("the status is none of the interface's")),
    };
    if text.is_null() {
        return Err(Refusal::invalid("no place for the text"));
    }
    // SAFETY: not null, and as long as the longest text by the caller's promise.
    unsafe {
        core::ptr::copy_nonoverlapping(known.as_ptr(), text.cast(), known.len());
        text.add(known.len()).write(0);
    }
    Ok(CPA_STATUS_SUCCESS)
}

/// Exports functions that answer a status. A body may use its arguments as the interface's documentation promises
/// them; it ends with `Ok(status)` or a [`Refusal`].
macro_rules! api {
    ($(fn $name:ident($($arg:ident: $kind:ty),* $(,)?) $body:block)*) => {
        $(
            /// See the header.
            ///
            /// # Safety
            /// As the header has it.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $kind),*) -> $crate::abi::CpaStatus {
                $crate::refusal::enter(stringify!($name), || {
                    // SAFETY: the caller keeps to what the interface's documentation asks for: pointers are null or valid
                    // until the function returns, those of a request until its answer.
                    #[allow(unused_unsafe)]
                    unsafe { $body }
                })
            }
        )*
    };
}

pub(crate) use api;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_new_once() {
        let first = hash("cpaTest", "only here");
        assert!(is_new(first) && !is_new(first));
        assert!(is_new(hash("cpaOther", "only here")));
    }

    #[test]
    fn panics_and_refusals_become_statuses() {
        SILENT.store(true, Ordering::Relaxed);
        assert_eq!(enter("cpaTest", || Err(Refusal::RETRY)), CPA_STATUS_RETRY);
        assert_eq!(enter("cpaTest", || Err(Refusal::invalid("x"))), CPA_STATUS_INVALID_PARAM);
        let fatal = enter("cpaTest", || std::panic::resume_unwind(Box::new(())));
        assert_eq!(fatal, CPA_STATUS_FATAL);
    }
}
