//! Texts that are valid at a first look. Others are looked at whole: that finds what is wrong with them, if anything.

use super::components::{Bound, Lexical, SimpleType, Variety, White};
use super::simple::has_space;
use super::value::{Primitive, is_common_moment};
use crate::chars;
use crate::hash::word;

/// What a text of a type is mostly like.
#[derive(Clone, Debug)]
pub(crate) enum Fast {
    /// Nothing is known.
    None,
    /// All texts are valid.
    Any,
    /// A number without sign: its whole part within bounds, and so many digits behind the point.
    Number { min: u64, max: u64, fraction: usize },
    /// Characters below 128, of these lengths.
    Length { min: u64, max: u64 },
    /// A value of an enumeration: lengths of at most 8 bytes, and [`word`]s.
    Words(Box<[(usize, u64)]>),
    /// What the one pattern matches.
    Pattern,
    /// Names without colons or, if not `is_name`, tokens, of characters below 128; as a list with single spaces between them.
    Names { is_name: bool, is_list: bool },
    /// Dates and times.
    Moment(Primitive),
}

/// Bounds beyond are not compared here.
const LARGEST: i128 = u64::MAX as i128;
/// Digits of numbers that 64 bits hold.
const DIGITS: usize = 18;
/// Values of an enumeration that are compared one by one.
const WORDS: usize = 8;

impl Fast {
    pub(crate) fn of(simple: &SimpleType) -> Fast {
        let Variety::Atomic(primitive) = simple.variety else { return Fast::None };
        if let Some(is_name) = is_names_type(simple) {
            return Fast::Names { is_name, is_list: false };
        }
        let has_facets = simple.min.is_some() || simple.max.is_some();
        match primitive {
            Primitive::String if simple.lexical == Lexical::Any && simple.is_plain => Fast::Any,
            Primitive::String if simple.role == super::components::Role::None => text(simple),
            Primitive::Decimal if simple.is_plain && simple.total_digits.is_none() => {
                number(simple).unwrap_or(Fast::None)
            }
            Primitive::Date | Primitive::DateTime if simple.is_plain && !has_facets => {
                Fast::Moment(primitive)
            }
            _ => Fast::None,
        }
    }

    /// Of lists of a type.
    pub(crate) fn of_list(list: &SimpleType, item: &SimpleType) -> Fast {
        match is_names_type(item) {
            Some(is_name) if list.is_plain => Fast::Names { is_name, is_list: true },
            _ => Fast::None,
        }
    }

    /// Whether a text is valid, white space not yet taken away.
    #[inline(always)]
    pub(crate) fn accepts(&self, simple: &SimpleType, text: &[u8]) -> bool {
        match self {
            Fast::None => false,
            Fast::Any => true,
            Fast::Number { min, max, fraction } => is_number(text, *min, *max, *fraction),
            Fast::Length { min, max } => {
                text.is_ascii()
                    && (*min..=*max).contains(&(text.len() as u64))
                    && (simple.white == White::Preserve || !has_space(text))
            }
            Fast::Words(all) => {
                text.len() <= 8
                    && all.contains(&(text.len(), word(text)))
                    && (simple.white == White::Preserve || !has_space(text))
            }
            Fast::Pattern => {
                let pattern = &simple.patterns[0];
                pattern.matches_solid(text)
                    || (simple.white == White::Preserve || !has_space(text))
                        && pattern.matches(text)
            }
            Fast::Names { is_name, is_list } => is_names(text, *is_name, *is_list),
            Fast::Moment(primitive) => is_common_moment(*primitive, text),
        }
    }
}

/// Whether values are names without colons, or tokens of names' characters, and nothing else is asked of them.
fn is_names_type(simple: &SimpleType) -> Option<bool> {
    let is_plain = simple.is_plain && simple.variety == Variety::Atomic(Primitive::String);
    match simple.lexical {
        Lexical::NcName if is_plain => Some(true),
        Lexical::Nmtoken if is_plain => Some(false),
        _ => None,
    }
}

fn is_names(text: &[u8], is_name: bool, is_list: bool) -> bool {
    // Whether a character that begins a name is to follow, or one of a token.
    let mut is_first = true;
    for byte in text {
        let is_valid = match byte {
            b' ' => is_list && !is_first,
            b':' if is_name => false,
            byte if is_first && is_name => chars::ascii_name_start(*byte),
            byte => chars::ascii_name(*byte),
        };
        if !is_valid {
            return false;
        }
        is_first = *byte == b' ';
    }
    !is_first
}

/// Of strings.
fn text(simple: &SimpleType) -> Fast {
    let has_length =
        simple.length.is_some() || simple.min_length.is_some() || simple.max_length.is_some();
    match (simple.patterns.len(), &simple.enumeration, has_length) {
        (0, Some(keys), false) => {
            // A key is a tag and the value.
            let all = keys.iter().map(|key| &key[1..]).filter(|text| text.len() <= 8);
            let all: Box<[_]> = all.map(|text| (text.len(), word(text))).collect();
            if all.len() <= WORDS { Fast::Words(all) } else { Fast::None }
        }
        (1, None, false) if simple.lexical == Lexical::Any => Fast::Pattern,
        (0, None, true) if simple.lexical == Lexical::Any => {
            let (min, max) =
                (simple.min_length.unwrap_or(0), simple.max_length.unwrap_or(u64::MAX));
            match simple.length {
                Some(length) => Fast::Length { min: length.max(min), max: length.min(max) },
                None => Fast::Length { min, max },
            }
        }
        _ => Fast::None,
    }
}

/// `None`: bounds that are no whole numbers, or below zero.
fn number(simple: &SimpleType) -> Option<Fast> {
    let whole = |bound: &Bound| bound.text.parse::<i128>().ok().filter(|it| it.abs() <= LARGEST);
    let min = match &simple.min {
        None => 0,
        Some(bound) => (whole(bound)? + i128::from(!bound.inclusive)).max(0),
    };
    let max = match &simple.max {
        None => i128::from(u64::MAX),
        Some(bound) => whole(bound)? - i128::from(!bound.inclusive),
    };
    let fraction = match simple.lexical {
        Lexical::Integer => 0,
        _ => simple.fraction_digits.map_or(usize::MAX, |it| it as usize),
    };
    let (min, max) = (u64::try_from(min).ok()?, u64::try_from(max).ok()?);
    Some(Fast::Number { min, max, fraction })
}

#[inline]
fn is_number(text: &[u8], min: u64, max: u64, fraction: usize) -> bool {
    let (mut value, mut point) = (0_u64, 0);
    while let Some(digit) =
        text.get(point).map(|byte| byte.wrapping_sub(b'0')).filter(|it| *it <= 9)
    {
        if point == DIGITS {
            return false;
        }
        value = value * 10 + u64::from(digit);
        point += 1;
    }
    if point == 0 || value < min {
        return false;
    }
    match &text[point..] {
        [] => value <= max,
        // What is above `max - 1` may be above `max`.
        [b'.', rest @ ..] => {
            (1..=fraction).contains(&rest.len())
                && value < max
                && rest.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Schema;
    use super::super::components::Definition;
    use super::super::state::Bindings;

    /// Whatever is accepted here is valid; each kind accepts something.
    #[test]
    fn only_what_is_valid() {
        let types = [
            ("string", ""),
            ("decimal", "<xs:minInclusive value='2'/><xs:maxExclusive value='12'/>"),
            ("decimal", "<xs:fractionDigits value='2'/><xs:minExclusive value='-5'/>"),
            (
                "integer",
                "<xs:minExclusive value='3'/><xs:maxInclusive value='1000000000000000000000'/>",
            ),
            ("decimal", "<xs:maxInclusive value='7.5'/>"),
            ("integer", "<xs:maxInclusive value='-3'/>"),
            ("string", "<xs:minLength value='2'/><xs:maxLength value='3'/>"),
            ("token", "<xs:length value='2'/>"),
            (
                "token",
                "<xs:enumeration value='ab'/><xs:enumeration value='a b'/><xs:enumeration value='a&#246;'/>",
            ),
            (
                "string",
                "<xs:enumeration value=' a'/><xs:enumeration value=''/><xs:enumeration value='abcdefghi'/>",
            ),
            ("NMTOKEN", "<xs:enumeration value='1'/><xs:enumeration value='12'/>"),
            ("token", "<xs:pattern value='[a-b]{2,3}'/>"),
            ("string", "<xs:pattern value='\\s?a\\d*'/>"),
            ("string", "<xs:pattern value='a|b+'/>"),
            ("string", "<xs:whiteSpace value='collapse'/><xs:pattern value='[^b]+'/>"),
            ("date", ""),
            ("dateTime", ""),
            ("date", "<xs:minInclusive value='2024-01-01'/>"),
            ("NMTOKEN", ""),
            ("NCName", ""),
            ("ID", ""),
        ];
        let types: String = types
            .iter()
            .enumerate()
            .map(|(n, (base, facets))| {
                format!(
                    "<xs:simpleType name='t{n}'><xs:restriction base='xs:{base}'>{facets}</xs:restriction></xs:simpleType>
                    <xs:simpleType name='l{n}'><xs:list itemType='t{n}'/></xs:simpleType>"
                )
            })
            .collect();
        let text =
            format!("<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'>{types}</xs:schema>");
        let schema = Schema::compile(text.as_bytes(), |_, _| None).unwrap();
        let c = &schema.components;
        let parts = [
            "",
            "a",
            "ab",
            "b",
            "1",
            "12",
            "7",
            "0",
            "123456789012345678",
            "9",
            ".",
            ".5",
            "5",
            "-",
            "+",
            " ",
            "\n",
            "ö",
            ":",
            "2024-01-01",
            "2024-02-29",
            "T12:30:59",
            "Z",
            "T24:00:00",
            "-13-01",
            "abcdefghi",
        ];
        let mut texts: Vec<String> = Vec::new();
        for a in parts {
            for b in parts {
                texts.extend(parts.map(|third| [a, b, third].concat()));
            }
        }
        let mut accepting = 0;
        for (number, one) in c.types.iter().enumerate() {
            let Definition::Simple(simple) = &one.definition else { continue };
            let mut accepted = 0;
            for text in &texts {
                if simple.fast.accepts(simple, text.as_bytes()) {
                    accepted += 1;
                    let scope = Bindings::default();
                    let result =
                        c.check_whole(number as u32, text.as_bytes(), &scope, &mut |_, _| {});
                    assert!(
                        result.is_ok(),
                        "{text:?} of {}: {result:?}",
                        c.type_name(number as u32)
                    );
                }
            }
            accepting += usize::from(accepted > 0);
        }
        assert!(accepting > 30, "{accepting}");
    }
}
