//! Errors as people read them.

use std::fmt::Display;

/// A message without the numbers that the standard library adds to the system's words: "No such file or directory (os
/// error 2)". For a line to people; a program that has the error has its number.
///
/// ```
/// let e = std::fs::read("/nowhere").unwrap_err();
/// assert_eq!(lookaside_secure::plain_message(&e), "No such file or directory");
/// ```
pub fn plain_message(error: &(impl Display + ?Sized)) -> String {
    let text = error.to_string();
    let mut parts = text.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once(')') {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => text + rest,
        _ => text + " (os error " + part,
    })
}

#[cfg(test)]
mod tests {
    use super::plain_message;

    #[test]
    fn numbers_go_and_nothing_else() {
        let e = std::fs::read("/nowhere").unwrap_err();
        assert_eq!(
            plain_message(&format!("/nowhere: {e}, twice: {e}.")),
            "/nowhere: No such file or directory, twice: No such file or directory."
        );
        assert_eq!(plain_message("an (os error x)"), "an (os error x)");
    }
}
