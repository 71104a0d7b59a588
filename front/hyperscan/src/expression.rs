//! What can be said of an expression without compiling it.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::ptr::null_mut;

use lookaside_scan::syntax::{ErrorKind, Pattern};

use crate::abi::{CompileError, ExpressionExtended, ExpressionInfo, HS_COMPILER_ERROR, HS_SUCCESS};
use crate::compile::{self, Refusal};
use crate::error;
use crate::guard;
use crate::memory::MISC;
use crate::wording;

/// Tells what matches of an expression can be like.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_expression_info(
    expression: *const c_char,
    flags: c_uint,
    info: *mut *mut ExpressionInfo,
    error: *mut *mut CompileError,
) -> c_int {
    // SAFETY: the caller's pointers.
    unsafe { hs_expression_ext_info(expression, flags, std::ptr::null(), info, error) }
}

/// Tells what matches of an expression with conditions can be like.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_expression_ext_info(
    expression: *const c_char,
    flags: c_uint,
    extended: *const ExpressionExtended,
    info: *mut *mut ExpressionInfo,
    error: *mut *mut CompileError,
) -> c_int {
    guard(|| {
        if error.is_null() {
            return HS_COMPILER_ERROR;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            if info.is_null() {
                *error = error::new("Invalid parameter: info is NULL", -1);
                return HS_COMPILER_ERROR;
            }
            if expression.is_null() {
                *error = error::new("Invalid parameter: expression is NULL", -1);
                return HS_COMPILER_ERROR;
            }
            *info = null_mut();
            *error = null_mut();
            let text = CStr::from_ptr(expression).to_bytes().to_vec();
            match information(text, flags, extended.as_ref()) {
                // As in the original, nothing is said of its alignment.
                Ok(known) => match MISC.alloc_any(size_of::<ExpressionInfo>()) {
                    Ok(memory) => {
                        let place = memory.cast::<ExpressionInfo>();
                        place.write_unaligned(known);
                        *info = place.as_ptr();
                        HS_SUCCESS
                    }
                    Err(code) => {
                        *error = error::of_code(code);
                        HS_COMPILER_ERROR
                    }
                },
                Err((message, place)) => {
                    *error = error::new(&message, place);
                    HS_COMPILER_ERROR
                }
            }
        }
    })
}

fn information(
    text: Vec<u8>,
    flags: c_uint,
    extended: Option<&ExpressionExtended>,
) -> Result<ExpressionInfo, Refusal> {
    let mut expression =
        compile::expression(text, 0, flags, extended, false).map_err(|message| (message, -1))?;
    // What a compilation would refuse can be asked about.
    expression.flags.allow_empty = true;
    let pattern = match Pattern::of(&expression) {
        Err(e) if e.kind == ErrorKind::EmptyStart => {
            expression.flags.som_leftmost = false;
            Pattern::of(&expression)
        }
        parsed => parsed,
    };
    let pattern = pattern.map_err(|e| {
        // The original knows the expression's number where it refuses what it has parsed.
        let parsed = matches!(e.kind, ErrorKind::NeverMatches | ErrorKind::ParametersUnsatisfiable);
        (wording::of_error(&expression, &e), if parsed { 0 } else { -1 })
    })?;
    let shape = pattern.shape();
    let bound = |width: u64| c_uint::try_from(width).unwrap_or(c_uint::MAX);
    // As in the original, what may be empty stays so, whatever length is asked for.
    let least = match shape.min_width {
        0 => 0,
        least => least.max(pattern.extended.min_length.unwrap_or(0)),
    };
    let offset = pattern.extended.max_offset.unwrap_or(u64::MAX);
    // A byte more where the one after a match decides, as the original counts it.
    let offset = offset.saturating_add(shape.unordered.into());
    let most = shape.max_width.unwrap_or(u64::MAX).min(offset);
    Ok(ExpressionInfo {
        min_width: bound(least),
        max_width: bound(most),
        unordered_matches: c_char::from(shape.unordered),
        matches_at_eod: c_char::from(shape.at_end),
        matches_only_at_eod: c_char::from(shape.only_at_end),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY_AND_START: c_uint = 16 | 256;

    #[test]
    fn an_empty_match_with_a_start_can_be_asked_about() {
        let known = information(b"a*$".to_vec(), EMPTY_AND_START, None).unwrap();
        assert_eq!((known.min_width, known.max_width, known.matches_only_at_eod), (0, u32::MAX, 1));
        let (message, _) = information(b"a(*$".to_vec(), EMPTY_AND_START, None).unwrap_err();
        assert!(message.contains("index"), "{message}");
    }

    #[test]
    fn a_length_that_is_asked_for_is_the_least_of_what_is_never_empty() {
        let mut extended = ExpressionExtended::default();
        (extended.flags, extended.min_length) = (4, 5);
        let least = |text: &str| {
            information(text.into(), EMPTY_AND_START, Some(&extended)).unwrap().min_width
        };
        assert_eq!((least("a+"), least("a{7,}"), least("a*")), (5, 7, 0));
    }
}
