//! The frozen numbers, what they come from, and the wall that no panic passes.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_int};
use std::{
    cell::RefCell,
    ffi::CString,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use lookaside::{BadReason, CompressionError, OpError, SetupError, Status};

macro_rules! numbers {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        $(#[doc = $text] pub const $name: c_int = $value;)*

        /// Every number with its name and phrase, in the header's order.
        pub const ALL: &[(&str, c_int, &CStr)] = &[$((
            stringify!($name),
            $value,
            // A literal with a NUL at its end; checked when compiled.
            match CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) {
                Ok(text) => text,
                Err(_) => panic!("a NUL in a phrase"),
            },
        )),*];
    };
}

numbers! {
    LA_OK = 0, "done";
    LA_OVERFLOW = 1, "the destination is full and more would come";
    LA_END = 2, "the stream ended";
    LA_E_INVALID = -1, "invalid argument";
    LA_E_INTERNAL = -2, "a defect in the library";
    LA_E_FULL = -3, "the ring is full";
    LA_E_BUSY = -4, "another thread is using the instance";
    LA_E_UNSUPPORTED = -5, "not supported";
    LA_E_LIMIT = -6, "a setting is outside its limits";
    LA_E_SYSTEM = -7, "the operating system refused";
    LA_E_NOMEM = -8, "not enough memory";
    LA_E_DST_TOO_SMALL = -16, "the destination is too small";
    LA_E_BAD_DATA = -17, "the source is not valid";
    LA_E_AUTH_FAILED = -18, "authentication failed";
    LA_E_DEVICE_LOST = -19, "the device failed";
    LA_E_CANCELLED = -20, "cancelled before it ran";
    LA_E_STREAM_ENDED = -21, "the stream has already ended";
    LA_E_BAD_INPUT = -22, "the source of a public-key request is not valid";
    LA_E_FAULT = -23, "the result failed its verification and was withheld";
    LA_E_LIBRARY = -24, "a library that does the work failed; the result was withheld";
    LA_E_EXPIRED = -25, "its deadline passed before it ran";
    LA_E_BAD_PATTERN = -26, "a pattern is refused";
    LA_E_BAD_DOCUMENT = -27, "an XML document is refused";
}

/// Why a function does not do what it was called for.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// An argument makes no sense.
    Invalid(&'static str),
    /// A pointer to something else than this type.
    NotA(&'static str),
    /// A setting outside its limits.
    Limit(&'static str),
    /// What this version or session cannot do.
    Unsupported(&'static str),
    /// Saved bytes that are none.
    Damaged(&'static str),
    /// A destination that is too small.
    Room,
    /// A stream that cannot go on.
    Stream(OpError),
    Full,
    Busy,
    /// A panic has left the object half changed.
    Broken,
    Setup(SetupError),
}

impl From<SetupError> for Refusal {
    fn from(e: SetupError) -> Refusal {
        Refusal::Setup(e)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Invalid(what) => write!(f, "invalid argument: {what}"),
            Refusal::NotA(kind) => write!(f, "invalid argument: not a pointer to an {kind}"),
            Refusal::Limit(what) | Refusal::Unsupported(what) | Refusal::Damaged(what) => {
                f.write_str(what)
            }
            Refusal::Room => f.write_str("the destination is too small"),
            Refusal::Stream(e) => e.fmt(f),
            Refusal::Full => f.write_str("the ring is full"),
            Refusal::Busy => f.write_str("another thread is using the instance"),
            Refusal::Broken => f.write_str("unusable after a defect in the library"),
            Refusal::Setup(e) => e.fmt(f),
        }
    }
}

impl Refusal {
    fn number(&self) -> c_int {
        match self {
            Refusal::Invalid(_) | Refusal::NotA(_) => LA_E_INVALID,
            Refusal::Limit(_) => LA_E_LIMIT,
            Refusal::Unsupported(_) => LA_E_UNSUPPORTED,
            Refusal::Damaged(_) => LA_E_BAD_DATA,
            Refusal::Room => LA_E_DST_TOO_SMALL,
            Refusal::Stream(e) => of_error(*e),
            Refusal::Full => LA_E_FULL,
            Refusal::Busy => LA_E_BUSY,
            Refusal::Broken => LA_E_INTERNAL,
            Refusal::Setup(e) => match e {
                SetupError::Limit { .. } => LA_E_LIMIT,
                SetupError::Compression(
                    CompressionError::NoDictionary(_) | CompressionError::NoStream(_),
                ) => LA_E_UNSUPPORTED,
                SetupError::Compression(_) => LA_E_LIMIT,
                SetupError::Patterns(_) => LA_E_BAD_PATTERN,
                SetupError::Unsupported { .. } => LA_E_UNSUPPORTED,
                SetupError::Os { .. } => LA_E_SYSTEM,
                SetupError::NoMemory { .. } => LA_E_NOMEM,
                SetupError::Unknown { .. } | SetupError::Key { .. } => LA_E_INVALID,
                // The devices are this library's choice.
                _ => LA_E_INTERNAL,
            },
        }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

fn remember(text: String) {
    let text = CString::new(text).unwrap_or_default();
    // While a thread ends there may be nothing left to write to.
    let _ = LAST.try_with(|last| *last.borrow_mut() = text);
}

/// Runs the body of an exported function: a refusal becomes its number, a panic `LA_E_INTERNAL`.
pub(crate) fn enter(body: impl FnOnce() -> Result<c_int, Refusal>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(n)) => n,
        // Normal flow, and frequent: no text.
        Ok(Err(Refusal::Full)) => LA_E_FULL,
        Ok(Err(refusal)) => {
            remember(refusal.to_string());
            refusal.number()
        }
        Err(panic) => {
            // Dropping it could panic again.
            core::mem::forget(panic);
            LA_E_INTERNAL
        }
    }
}

/// Ends the process if it is dropped: put before code that must not be left by a panic, because
/// memory of the caller would stay in use; forgotten after it.
pub(crate) struct NoWayBack;

impl Drop for NoWayBack {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// The number of a successful response.
pub(crate) fn of_status(status: Status) -> c_int {
    match status {
        Status::Complete => LA_OK,
        Status::Overflow => LA_OVERFLOW,
        Status::End => LA_END,
    }
}

/// The number of a failed response.
pub(crate) fn of_error(error: OpError) -> c_int {
    match error {
        OpError::DstTooSmall => LA_E_DST_TOO_SMALL,
        OpError::BadData { .. } => LA_E_BAD_DATA,
        OpError::AuthFailed => LA_E_AUTH_FAILED,
        OpError::Unsupported => LA_E_UNSUPPORTED,
        OpError::NoMemory => LA_E_NOMEM,
        OpError::DeviceLost(_) => LA_E_DEVICE_LOST,
        OpError::Cancelled => LA_E_CANCELLED,
        OpError::Expired => LA_E_EXPIRED,
        OpError::StreamEnded => LA_E_STREAM_ENDED,
        OpError::BadInput { .. } => LA_E_BAD_INPUT,
        OpError::Fault => LA_E_FAULT,
        OpError::Library(_) => LA_E_LIBRARY,
        OpError::BadDocument { .. } => LA_E_BAD_DOCUMENT,
        _ => LA_E_INTERNAL,
    }
}

/// The `LA_BAD_...` number.
pub(crate) fn of_reason(reason: BadReason) -> i32 {
    match reason {
        BadReason::Truncated => 1,
        BadReason::Header => 2,
        BadReason::Block => 3,
        BadReason::Checksum => 4,
        BadReason::Length => 5,
        BadReason::Dictionary => 6,
        BadReason::Window => 7,
        _ => 0,
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn la_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn la_strerror(status: c_int) -> *const c_char {
    let known = ALL.iter().find(|(_, number, _)| *number == status);
    known.map_or(c"unknown status", |(_, _, text)| text).as_ptr()
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn la_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lookaside::xml::Rule;

    #[test]
    fn a_panic_stops_at_the_wall() {
        assert_eq!(enter(|| std::panic::resume_unwind(Box::new("on purpose"))), LA_E_INTERNAL);
        assert_eq!(enter(|| Ok(3)), 3);
    }

    #[test]
    fn the_last_error_is_of_this_thread_and_full_is_none() {
        assert_eq!(enter(|| Err(Refusal::Invalid("first"))), LA_E_INVALID);
        assert_eq!(enter(|| Err(Refusal::Full)), LA_E_FULL);
        let text = || {
            // SAFETY: a string of this thread, valid until its next failing call.
            unsafe { CStr::from_ptr(la_last_error()) }.to_str().unwrap().to_owned()
        };
        assert_eq!(text(), "invalid argument: first");
        assert_eq!(std::thread::spawn(text).join().unwrap(), "");
    }

    #[test]
    fn errors_keep_apart_and_tracers_have_their_numbers() {
        let bad = OpError::BadData { offset: 1, reason: BadReason::Block };
        let all = [
            OpError::DstTooSmall,
            bad,
            OpError::AuthFailed,
            OpError::Unsupported,
            OpError::DeviceLost(lookaside::Lost::Touched),
            OpError::Cancelled,
            OpError::Expired,
            OpError::StreamEnded,
            OpError::BadInput(""),
            OpError::Fault,
            OpError::NoMemory,
            OpError::Library(""),
            OpError::BadDocument { offset: 1, rule: Rule::Char },
        ];
        for error in all {
            assert_eq!(lookaside::probes::status(&Err(error)), of_error(error), "{error}");
        }
        for status in [Status::Complete, Status::Overflow, Status::End] {
            let done = Ok(lookaside::Done { status, ..lookaside::Done::default() });
            assert_eq!(lookaside::probes::status(&done), of_status(status));
        }
        let mut numbers: Vec<_> = all.into_iter().map(of_error).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert!(numbers.len() == all.len() && !numbers.contains(&LA_E_INTERNAL));
    }
}
