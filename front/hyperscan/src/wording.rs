//! Why a pattern is refused, in the original's words where it refuses the same.

use lookaside_scan::syntax::{Construct, ErrorKind, Extended, Pattern, SyntaxError};
use lookaside_scan::{BadPattern, Expression};

/// The message for a combination with an operand that is no pattern.
pub(crate) const UNKNOWN_OPERAND: &str = "Unknown sub-expression id.";

/// The message for a pattern that a set refuses.
pub(crate) fn of(expression: &Expression, bad: &BadPattern) -> String {
    match Pattern::of(expression) {
        Err(error) => of_error(expression, &error),
        // Refused because of the others, or in the end.
        Ok(_) if bad.what.starts_with("Unknown sub-expression") => UNKNOWN_OPERAND.into(),
        Ok(_) if bad.what == "too large" => "Pattern is too large.".into(),
        Ok(_) => format!("{}.", bad.what),
    }
}

/// The message for a pattern that cannot be parsed.
pub(crate) fn of_error(expression: &Expression, error: &SyntaxError) -> String {
    let text = &expression.text;
    let rest = text.get(error.offset..).unwrap_or_default();
    let at = |what: &str| format!("{what} at index {}.", error.offset);
    let combination = expression.flags.combination;
    if let Some(later) = broken(expression, error) {
        return of_error(expression, &later);
    }
    match &error.kind {
        ErrorKind::ClassEscape(_) => {
            format!(
                "'{}' at index {} not supported in a character class.",
                first(rest, 2),
                error.offset
            )
        }
        ErrorKind::Unsupported(Construct::Escape(b'k')) => {
            format!("\\k at index {} not supported.", error.offset)
        }
        ErrorKind::Unsupported(Construct::Recursion) if rest.starts_with(b"\\g") => {
            format!("Onigiruma subroutine call at index {} not supported.", error.offset)
        }
        ErrorKind::InvalidReference => reference(rest, error.offset),
        ErrorKind::CharacterTooLarge if !expression.flags.utf8 => match rest {
            [b'\\', b'x', digits @ ..] if beyond_unicode(digits) => {
                at("Value in \\x{...} sequence is too large")
            }
            [b'\\', b'x', ..] => at("Hexadecimal value is greater than \\xFF"),
            [b'\\', b'o', ..] => at("Value in \\o{...} sequence is too large"),
            _ => at("Octal value is greater than \\377"),
        },
        ErrorKind::Unsupported(Construct::UnicodeBoundary) => {
            at(&format!("{} unsupported in UCP mode", first(rest, 2)))
        }
        ErrorKind::Unsupported(
            kind @ (Construct::Lookaround
            | Construct::BackReference
            | Construct::AtomicGroup
            | Construct::Possessive),
        ) => format!("{kind}."),
        ErrorKind::Unsupported(Construct::Conditional) => {
            "Conditional references are not supported.".into()
        }
        ErrorKind::Unsupported(
            Construct::StartReset
            | Construct::ScanStart
            | Construct::NewlineSequence
            | Construct::Callout
            | Construct::Escape(_),
        ) => {
            let what = error.kind.to_string();
            let what = what.strip_suffix(" not supported").unwrap_or(&what);
            format!("{what} at index {} not supported.", error.offset)
        }
        ErrorKind::TrailingBackslash => format!("{}, index {}.", error.kind, error.offset),
        ErrorKind::UnterminatedComment => format!("{}.", error.kind),
        ErrorKind::Unsupported(Construct::Recursion) if rest.starts_with(b"(?(") => {
            at("Pattern recursion not supported")
        }
        ErrorKind::Unsupported(Construct::Verb) | ErrorKind::UnknownVerb => verb(rest, error),
        ErrorKind::MisplacedVerb => {
            let len = rest.iter().position(|&byte| byte == b')').map_or(rest.len(), |at| at + 1);
            format!(
                "{} must be at start of expression, encountered at index {}.",
                first(rest, len),
                error.offset + 2
            )
        }
        ErrorKind::CharacterTooLarge => match rest {
            [b'\\', b'x', ..] => at("Value in \\x{...} sequence is too large"),
            [b'\\', b'o', ..] => at("Value in \\o{...} sequence is too large"),
            _ => at(&error.kind.to_string()),
        },
        ErrorKind::MissingOperator => format!("{} at index {}.", error.kind, text.len()),
        ErrorKind::IdTooLarge => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            format!("{} at index {}.", error.kind, error.offset + digits)
        }
        ErrorKind::UnmatchedParenthesis if combination => at("Not enough left parentheses"),
        ErrorKind::MissingParenthesis if combination => {
            format!("Not enough right parentheses at index {}.", text.len())
        }
        ErrorKind::ParametersUnsatisfiable => unsatisfiable(expression),
        kind if kind.has_place() => at(&kind.to_string()),
        kind => format!("{kind}."),
    }
}

/// What is wrong with the syntax behind a construct that is not supported: the original reads an expression to its end before
/// it refuses those that it knows.
fn broken(expression: &Expression, error: &SyntaxError) -> Option<SyntaxError> {
    let ErrorKind::Unsupported(
        Construct::Lookaround
        | Construct::BackReference
        | Construct::AtomicGroup
        | Construct::Possessive
        | Construct::Conditional,
    ) = error.kind
    else {
        return None;
    };
    if expression.flags.prefilter {
        return None;
    }
    let mut expression = expression.clone();
    (expression.flags.prefilter, expression.flags.som_leftmost) = (true, false);
    let later = Pattern::of(&expression).err();
    later.filter(|later| {
        let unsupported = matches!(later.kind, ErrorKind::Unsupported(_));
        !unsupported && later.kind.has_place() || later.kind == ErrorKind::InvalidReference
    })
}

/// A reference to a group that is not there.
fn reference(rest: &[u8], offset: usize) -> String {
    let (what, name) = match rest {
        [b'(', b'?', b'(', name @ ..] => ("conditional", name),
        [b'(', b'?', b'P', b'=', name @ ..] | [b'\\', b'g' | b'k', name @ ..] => ("back", name),
        _ => ("back", rest.get(1..).unwrap_or_default()),
    };
    let name = name.strip_prefix(b"{").unwrap_or(name);
    let name = name.strip_prefix(b"<").or(name.strip_prefix(b"'")).unwrap_or(name);
    let len = name.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    match &name[..len] {
        [] if name.starts_with(b"-") => format!("Invalid reference at index {offset}."),
        [] => format!("Invalid reference after \\g at index {offset}."),
        name if name.iter().all(u8::is_ascii_digit) => {
            format!("Invalid {what} reference to expression {}.", first(name, len))
        }
        name => format!("Invalid {what} reference to label '{}'.", first(name, len)),
    }
}

/// Whether `{digits}` is more than any character.
fn beyond_unicode(digits: &[u8]) -> bool {
    let hex =
        digits.get(1..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_hexdigit());
    let value = hex.fold(0u64, |value, digit| {
        (value << 4 | u64::from(char::from(*digit).to_digit(16).unwrap_or(0))).min(1 << 32)
    });
    value > 0x10ffff
}

/// The first bytes as text.
fn first(bytes: &[u8], len: usize) -> String {
    String::from_utf8_lossy(&bytes[..len.min(bytes.len())]).into_owned()
}

/// A control verb: known ones that are not supported, and others.
fn verb(rest: &[u8], error: &SyntaxError) -> String {
    const KNOWN: [&str; 13] = [
        "ANY",
        "ANYCRLF",
        "BSR_ANYCRLF",
        "BSR_UNICODE",
        "CR",
        "CRLF",
        "LF",
        "LIMIT_MATCH",
        "LIMIT_RECURSION",
        "NO_AUTO_POSSESS",
        "NO_START_OPT",
        "UTF16",
        "UTF32",
    ];
    let len = rest.iter().position(|&byte| byte == b')').map(|at| at + 1);
    let Some(len) = len else {
        return format!("Unknown control verb at index {}.", error.offset + 2);
    };
    let verb = first(rest, len);
    let name = verb.trim_start_matches("(*").split(['=', ')']).next().unwrap_or_default();
    let what = if KNOWN.contains(&name) { "Unsupported" } else { "Unknown" };
    format!("{what} control verb {verb} at index {}.", error.offset)
}

/// Which of the conditions no match can satisfy.
fn unsatisfiable(expression: &Expression) -> String {
    let Extended { min_offset, max_offset, min_length, .. } = expression.extended;
    let free = Expression { extended: Extended::default(), ..expression.clone() };
    let Ok(pattern) = Pattern::of(&free) else { return format!("{}.", ErrorKind::NeverMatches) };
    let shape = pattern.shape();
    if let Some((min, most)) = min_length.zip(shape.max_width).filter(|(min, most)| most < min) {
        return format!(
            "Expression has min_length={min} but can only produce matches of length {most} bytes at \
             most."
        );
    }
    if let Some(max) = max_offset.filter(|max| *max < shape.min_width) {
        let least = shape.min_width;
        return format!("Expression has max_offset={max} but requires {least} bytes to match.");
    }
    match min_offset.zip(shape.max_width).filter(|(min, most)| most < min) {
        Some((min, most)) => format!(
            "Expression is anchored and cannot satisfy min_offset={min} as it can only produce \
             matches of length {most} bytes at most."
        ),
        None => format!("{}.", ErrorKind::ParametersUnsatisfiable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_original() {
        for (text, message) in [
            (r"a\x{100}", "Hexadecimal value is greater than \\xFF at index 1."),
            (r"\x{110000}", "Value in \\x{...} sequence is too large at index 0."),
            (r"(a)\2", "Invalid back reference to expression 2."),
            (r"\k<name>", "Invalid back reference to label 'name'."),
            (r"(a)\g{-2}", "Invalid reference at index 3."),
            ("(?(3)a)", "Invalid conditional reference to expression 3."),
            (r"\400", "Octal value is greater than \\377 at index 0."),
            (r"a\ka", "\\k at index 1 not supported."),
            (r"(a)\g<1>", "Onigiruma subroutine call at index 3 not supported."),
            (r"[\u0041]", "'\\u' at index 1 not supported in a character class."),
            // What is broken comes before what is not supported.
            ("(?=a)(b", "Missing close parenthesis for group started at index 5."),
            ("a*+[b", "Unterminated character class starting at index 3."),
            (r"(a)\1(?=b)", "Back-references are unsupported."),
            (r"(?=c)\pX", "Unknown property at index 7."),
            ("a*+b", "Possessive quantifiers are not supported."),
        ] {
            let expression = Expression { text: text.into(), ..Expression::default() };
            let error = Pattern::of(&expression).unwrap_err();
            assert_eq!(of_error(&expression, &error), message, "{text}");
        }
    }
}
