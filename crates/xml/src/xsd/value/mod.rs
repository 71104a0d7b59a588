//! Literals and values of the primitive types (Datatypes, 3.2).

mod blocks;
pub(crate) mod decimal;
pub(crate) mod regex;
mod time;

use std::cmp::Ordering;

use decimal::{Decimal, DecimalRef};
pub(crate) use time::is_common as is_common_moment;
use time::{Duration, Moment};

/// The primitive types, and the simple ur-type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Primitive {
    AnySimple,
    String,
    Boolean,
    Decimal,
    Float,
    Double,
    Duration,
    DateTime,
    Time,
    Date,
    GYearMonth,
    GYear,
    GMonthDay,
    GDay,
    GMonth,
    HexBinary,
    Base64Binary,
    AnyUri,
    QName,
    Notation,
}

/// Namespaces in scope.
pub(crate) trait Prefixes {
    /// The URI of a prefix; empty for no namespace. `None`: not declared.
    fn uri(&self, prefix: &[u8]) -> Option<&[u8]>;
}

/// A value with an order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Decimal(Decimal),
    Float(f64),
    Moment(Moment),
    Duration(Duration),
}

impl Primitive {
    pub(crate) fn is_ordered(self) -> bool {
        use Primitive::*;
        matches!(
            self,
            Decimal
                | Float
                | Double
                | Duration
                | DateTime
                | Time
                | Date
                | GYearMonth
                | GYear
                | GMonthDay
                | GDay
                | GMonth
        )
    }

    /// Whether length facets apply; those of QName and NOTATION never fail (erratum E2-36).
    pub(crate) fn has_length(self) -> bool {
        use Primitive::*;
        matches!(self, String | HexBinary | Base64Binary | AnyUri | QName | Notation)
    }

    /// Whether the text, without white space around it, is a literal.
    #[inline]
    pub(crate) fn accepts(self, text: &[u8], prefixes: &dyn Prefixes) -> bool {
        use Primitive::*;
        match self {
            AnySimple | String => true,
            Boolean => matches!(text, b"true" | b"false" | b"1" | b"0"),
            Decimal => DecimalRef::parse(text).is_some(),
            Float | Double => is_float(text),
            Duration => time::Duration::parse(text).is_some(),
            DateTime | Time | Date | GYearMonth | GYear | GMonthDay | GDay | GMonth => {
                time::is_common(self, text) || Moment::parse(self, text).is_some()
            }
            HexBinary => text.len().is_multiple_of(2) && text.iter().all(u8::is_ascii_hexdigit),
            Base64Binary => base64(text, &mut |_| {}),
            AnyUri => is_uri(text),
            QName | Notation => qname(text, prefixes).is_some(),
        }
    }

    /// Of literals of ordered types.
    pub(crate) fn value(self, text: &[u8]) -> Option<Value> {
        use Primitive::*;
        match self {
            Decimal => Some(Value::Decimal(DecimalRef::parse(text)?.to_owned())),
            Float | Double => Some(Value::Float(self.float(text)?)),
            Duration => Some(Value::Duration(time::Duration::parse(text)?)),
            _ if self.is_ordered() => Some(Value::Moment(Moment::parse(self, text)?)),
            _ => None,
        }
    }

    /// How a literal compares with a value of the type. `None`: not determined, or no literal.
    #[inline]
    pub(crate) fn compare(self, text: &[u8], value: &Value) -> Option<Ordering> {
        match value {
            Value::Decimal(value) => Some(DecimalRef::parse(text)?.compare(&value.as_ref())),
            Value::Float(value) => match (self.float(text)?, *value) {
                (a, b) if a.is_nan() && b.is_nan() => Some(Ordering::Equal),
                (a, b) => a.partial_cmp(&b),
            },
            Value::Moment(value) => Moment::parse(self, text)?.compare(value),
            Value::Duration(value) => Duration::parse(text)?.compare(value),
        }
    }

    fn float(self, text: &[u8]) -> Option<f64> {
        if !is_float(text) {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        match (text, self) {
            ("INF", _) => Some(f64::INFINITY),
            ("-INF", _) => Some(f64::NEG_INFINITY),
            ("NaN", _) => Some(f64::NAN),
            (_, Primitive::Float) => text.parse::<f32>().ok().map(f64::from),
            _ => text.parse().ok(),
        }
    }

    /// What keys of the type begin with.
    pub(crate) fn tag(self) -> u8 {
        if self == Primitive::AnySimple { Primitive::String as u8 } else { self as u8 }
    }

    /// Whether a key is the tag and the text itself.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Primitive::AnySimple | Primitive::String | Primitive::AnyUri)
    }

    /// Appends bytes that are equal for equal values only, whatever the types. The text is a literal.
    pub(crate) fn key(self, text: &[u8], prefixes: &dyn Prefixes, key: &mut Vec<u8>) {
        use Primitive::*;
        key.push(self.tag());
        match self {
            AnySimple | String | AnyUri => key.extend_from_slice(text),
            Boolean => key.push(u8::from(matches!(text, b"true" | b"1"))),
            Decimal => {
                if let Some(value) = DecimalRef::parse(text) {
                    value.key(key);
                }
            }
            Float | Double => {
                // Both zeros are equal, all that is no number too.
                let value = self.float(text).unwrap_or(f64::NAN);
                let value = if value == 0.0 { 0.0 } else { value };
                key.extend(if value.is_nan() { u64::MAX } else { value.to_bits() }.to_be_bytes());
            }
            Duration => {
                if let Some(value) = time::Duration::parse(text) {
                    value.key(key);
                }
            }
            DateTime | Time | Date | GYearMonth | GYear | GMonthDay | GDay | GMonth => {
                if let Some(value) = Moment::parse(self, text) {
                    value.key(key);
                }
            }
            HexBinary => {
                let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
                key.extend(
                    text.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[pair.len() - 1])),
                );
            }
            Base64Binary => {
                base64(text, &mut |byte| key.push(byte));
            }
            QName | Notation => {
                if let Some((uri, local)) = qname(text, prefixes) {
                    key.extend(uri);
                    key.push(0);
                    key.extend(local);
                }
            }
        }
    }

    /// The length that facets count: characters or bytes.
    pub(crate) fn length(self, text: &[u8]) -> u64 {
        match self {
            Primitive::HexBinary => text.len() as u64 / 2,
            Primitive::Base64Binary => {
                let mut count = 0;
                base64(text, &mut |_| count += 1);
                count
            }
            _ => text.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64,
        }
    }
}

/// `INF`, `-INF`, `NaN`, or a number as of `decimal` with an exponent.
fn is_float(text: &[u8]) -> bool {
    if matches!(text, b"INF" | b"-INF" | b"NaN") {
        return true;
    }
    let e = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (mantissa, exponent) = match e {
        None => (text, None),
        Some(at) => (&text[..at], Some(&text[at + 1..])),
    };
    DecimalRef::parse(mantissa).is_some() && exponent.is_none_or(is_integer)
}

/// `[+-]? digits`.
#[inline]
pub(crate) fn is_integer(text: &[u8]) -> bool {
    let digits = match text {
        [b'+' | b'-', digits @ ..] => digits,
        digits => digits,
    };
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Whether the text is base64 as of Datatypes, 3.2.16: spaces may separate characters, and unused bits are zeros.
fn base64(text: &[u8], out: &mut dyn FnMut(u8)) -> bool {
    let (mut bits, mut count, mut padding) = (0_u32, 0_usize, 0);
    for (at, byte) in text.iter().enumerate() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                padding += 1;
                continue;
            }
            b' ' if at > 0 && text[at - 1] != b' ' => continue,
            _ => return false,
        };
        if padding > 0 {
            return false;
        }
        bits = bits << 6 | u32::from(value);
        count += 1;
        if count.is_multiple_of(4) {
            bits.to_be_bytes()[1..].iter().for_each(|byte| out(*byte));
            bits = 0;
        }
    }
    match (count % 4, padding) {
        (0, 0) => true,
        (2, 2) if bits & 0xf == 0 => {
            out((bits >> 4) as u8);
            true
        }
        (3, 1) if bits & 3 == 0 => {
            out((bits >> 10) as u8);
            out((bits >> 2) as u8);
            true
        }
        _ => false,
    }
}

/// A URI reference after the escaping of XLink 5.4, which allows nearly every character: what is left are the rules of the scheme,
/// of `%`, and of a single `#`.
fn is_uri(text: &[u8]) -> bool {
    let mut fragments = 0;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'%' => {
                let digits = text.get(at + 1..at + 3);
                if !digits.is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit)) {
                    return false;
                }
            }
            b'#' => fragments += 1,
            _ => {}
        }
    }
    let end = text.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(text.len());
    let scheme = text[..end].iter().position(|byte| *byte == b':');
    fragments <= 1
        && scheme.is_none_or(|at| {
            text[..at].first().is_some_and(u8::is_ascii_alphabetic)
                && text[..at]
                    .iter()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
        })
}

pub(crate) fn is_ncname(text: &[u8]) -> bool {
    crate::chars::is_name(text) && !text.contains(&b':')
}

/// The URI and the local part of a qualified name whose prefix is declared.
pub(crate) fn qname<'a>(
    text: &'a [u8],
    prefixes: &'a dyn Prefixes,
) -> Option<(&'a [u8], &'a [u8])> {
    let (prefix, local) = match text.iter().position(|byte| *byte == b':') {
        None => (&text[..0], text),
        Some(0) => return None,
        Some(at) => (&text[..at], &text[at + 1..]),
    };
    if !is_ncname(local) || !prefix.is_empty() && !is_ncname(prefix) {
        return None;
    }
    match prefixes.uri(prefix) {
        Some(uri) => Some((uri, local)),
        None if prefix.is_empty() => Some((b"", local)),
        None => None,
    }
}
