//! Lines of pattern files: `id:/regex/flags{parameters}`, as Hyperscan's tools read them.

use super::{Expression, Extended, Flags};

/// What a line of a pattern file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The id of the pattern.
    pub id: u32,
    /// The expression, between the slashes.
    pub expression: &'a [u8],
    /// The flags after the second slash.
    pub flags: Flags,
    /// The parameters in braces after the flags.
    pub extended: Extended,
}

impl Line<'_> {
    /// The pattern.
    pub fn to_expression(self) -> Expression {
        let Line { id, expression, flags, extended } = self;
        Expression { id, text: expression.into(), flags, extended, literal: false }
    }
}

/// Why a line of a pattern file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineError {
    /// The line does not begin with a number of 32 bits and a colon.
    Id,
    /// The expression is not between two slashes.
    Slashes,
    /// A letter that is no flag.
    Flag(u8),
    /// The parameters are not `{name=number,...}` with known names.
    Parameters,
}

impl std::fmt::Display for LineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LineError::Id => f.write_str("the line does not begin with a number and a colon"),
            LineError::Slashes => f.write_str("the expression is not between two slashes"),
            LineError::Flag(letter) => write!(f, "unknown flag {}", letter.escape_ascii()),
            LineError::Parameters => f.write_str("the parameters are not {name=number,...}"),
        }
    }
}

impl std::error::Error for LineError {}

/// Reads a line `id:/regex/flags{parameters}`; `None` for an empty line and one that begins with `#`.
///
/// The regex ends at the last slash that is followed by flags and parameters alone.
pub fn parse_line(line: &[u8]) -> Result<Option<Line<'_>>, LineError> {
    let line = line.trim_ascii();
    if line.is_empty() || line[0] == b'#' {
        return Ok(None);
    }
    let colon = line.iter().position(|&byte| byte == b':').ok_or(LineError::Id)?;
    let digits = &line[..colon];
    let id = number(digits).and_then(|id| u32::try_from(id).ok()).ok_or(LineError::Id)?;
    let rest = line[colon + 1..].strip_prefix(b"/").ok_or(LineError::Slashes)?;
    let slash = rest.iter().rposition(|&byte| byte == b'/').ok_or(LineError::Slashes)?;
    let (expression, tail) = (&rest[..slash], &rest[slash + 1..]);
    let brace = tail.iter().position(|&byte| byte == b'{');
    let letters = &tail[..brace.unwrap_or(tail.len())];
    let flags = Flags::from_letters(letters).map_err(LineError::Flag)?;
    let extended = match brace {
        Some(brace) => parameters(&tail[brace..]).ok_or(LineError::Parameters)?,
        None => Extended::default(),
    };
    Ok(Some(Line { id, expression, flags, extended }))
}

fn number(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn parameters(braced: &[u8]) -> Option<Extended> {
    let inner = braced.strip_prefix(b"{")?.strip_suffix(b"}")?;
    let mut extended = Extended::default();
    for parameter in inner.split(|&byte| byte == b',') {
        let equals = parameter.iter().position(|&byte| byte == b'=')?;
        let value = number(parameter[equals + 1..].trim_ascii())?;
        match parameter[..equals].trim_ascii() {
            b"min_offset" => extended.min_offset = Some(value),
            b"max_offset" => extended.max_offset = Some(value),
            b"min_length" => extended.min_length = Some(value),
            b"edit_distance" => extended.edit_distance = Some(u32::try_from(value).ok()?),
            b"hamming_distance" => extended.hamming_distance = Some(u32::try_from(value).ok()?),
            _ => return None,
        }
    }
    Some(extended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_an_id_an_expression_flags_and_parameters() {
        let line =
            parse_line(b"17:/a/b\\/c{2}/iL{min_offset=3, max_offset=40}\r\n").unwrap().unwrap();
        assert_eq!((line.id, line.expression), (17, &b"a/b\\/c{2}"[..]));
        assert_eq!(line.flags.letters(), "iL");
        let expected =
            Extended { min_offset: Some(3), max_offset: Some(40), ..Extended::default() };
        assert_eq!(line.extended, expected);
        assert_eq!(parse_line(b"# 1:/a/"), Ok(None));
        assert_eq!(parse_line(b"  "), Ok(None));
    }

    #[test]
    fn what_is_no_line_is_refused() {
        assert_eq!(parse_line(b"/a/"), Err(LineError::Id));
        assert_eq!(parse_line(b":/a/"), Err(LineError::Id));
        assert_eq!(parse_line(b"-1:/a/"), Err(LineError::Id));
        assert_eq!(parse_line(b"4294967296:/a/"), Err(LineError::Id));
        assert_eq!(parse_line(b"1:a"), Err(LineError::Slashes));
        assert_eq!(parse_line(b"1:/a"), Err(LineError::Slashes));
        assert_eq!(parse_line(b"1:/a/iz"), Err(LineError::Flag(b'z')));
        for bad in [
            "{",
            "{}",
            "{min_offset}",
            "{min_offset=x}",
            "{offset=1}",
            "{edit_distance=4294967296}",
        ] {
            let line = format!("1:/a/i{bad}");
            assert_eq!(parse_line(line.as_bytes()), Err(LineError::Parameters), "{line}");
        }
    }

    #[test]
    fn flags_have_the_bits_and_letters_of_hyperscan() {
        for (bit, letter) in b"ismHV8WPLCQ".iter().enumerate() {
            let flags = Flags::from_letters(&[*letter]).unwrap();
            assert_eq!(flags.bits(), 1 << bit);
            assert_eq!(Flags::from_bits(1 << bit), Some(flags));
            assert_eq!(flags.letters().as_bytes(), [*letter]);
        }
        assert_eq!(Flags::from_bits(2047).unwrap().bits(), 2047);
        assert_eq!(Flags::from_bits(2048), None);
    }
}
