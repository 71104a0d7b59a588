//! Texts and bytes of any length into places of the caller's.
#![allow(unsafe_code)]

use core::ffi::{c_char, c_int, c_void};

use crate::{
    pointer::Out,
    status::{LA_OK, Refusal},
};

/// The start of a text, between two characters, with a NUL behind it.
pub(crate) fn text<const N: usize>(text: &str) -> [c_char; N] {
    let mut out = [0; N];
    let mut end = text.len().min(N - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for (to, &from) in out.iter_mut().zip(&text.as_bytes()[..end]) {
        *to = from as c_char;
    }
    out
}

/// Writes bytes, if they fit, and their number in any case.
///
/// # Safety
/// The places are null or valid for `dst_len` bytes, and for a number.
pub(crate) unsafe fn bytes(
    bytes: &[u8],
    dst: *mut c_void,
    dst_len: usize,
    len: &Out<usize>,
) -> Result<c_int, Refusal> {
    len.check(1)?;
    let dst = Out::raw(dst.cast::<u8>());
    dst.check(dst_len)?;
    // SAFETY: checked.
    unsafe { len.write(0, bytes.len()) };
    if bytes.len() > dst_len {
        return Err(Refusal::Room);
    }
    for (place, &byte) in bytes.iter().enumerate() {
        // SAFETY: checked; less than `dst_len`.
        unsafe { dst.write(place, byte) };
    }
    Ok(LA_OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_ends() {
        for (long, kept) in [("", 0), ("abc", 3), (&"x".repeat(20), 7), (&"\u{e4}".repeat(60), 6)] {
            let cut = text::<8>(long).map(|c| c as u8);
            assert_eq!(&cut[..kept], &long.as_bytes()[..kept]);
            assert!(cut[kept..].iter().all(|&c| c == 0), "{kept}");
        }
    }
}
