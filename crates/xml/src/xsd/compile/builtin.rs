//! The built-in types (Datatypes, chapter 3).

use super::super::components::*;
use super::super::names::NONE;
use super::super::value::Value;
use super::super::value::{Primitive, decimal::DecimalRef};

const PRIMITIVES: [(&str, Primitive); 19] = [
    ("string", Primitive::String),
    ("boolean", Primitive::Boolean),
    ("decimal", Primitive::Decimal),
    ("float", Primitive::Float),
    ("double", Primitive::Double),
    ("duration", Primitive::Duration),
    ("dateTime", Primitive::DateTime),
    ("time", Primitive::Time),
    ("date", Primitive::Date),
    ("gYearMonth", Primitive::GYearMonth),
    ("gYear", Primitive::GYear),
    ("gMonthDay", Primitive::GMonthDay),
    ("gDay", Primitive::GDay),
    ("gMonth", Primitive::GMonth),
    ("hexBinary", Primitive::HexBinary),
    ("base64Binary", Primitive::Base64Binary),
    ("anyURI", Primitive::AnyUri),
    ("QName", Primitive::QName),
    ("NOTATION", Primitive::Notation),
];

/// Name, base, least and greatest value.
const INTEGERS: [(&str, &str, &str, &str); 13] = [
    ("integer", "decimal", "", ""),
    ("nonPositiveInteger", "integer", "", "0"),
    ("negativeInteger", "nonPositiveInteger", "", "-1"),
    ("long", "integer", "-9223372036854775808", "9223372036854775807"),
    ("int", "long", "-2147483648", "2147483647"),
    ("short", "int", "-32768", "32767"),
    ("byte", "short", "-128", "127"),
    ("nonNegativeInteger", "integer", "0", ""),
    ("unsignedLong", "nonNegativeInteger", "0", "18446744073709551615"),
    ("unsignedInt", "unsignedLong", "0", "4294967295"),
    ("unsignedShort", "unsignedInt", "0", "65535"),
    ("unsignedByte", "unsignedShort", "0", "255"),
    ("positiveInteger", "nonNegativeInteger", "1", ""),
];

const STRINGS: [(&str, &str, White, Lexical, Role); 9] = [
    ("normalizedString", "string", White::Replace, Lexical::Any, Role::None),
    ("token", "normalizedString", White::Collapse, Lexical::Any, Role::None),
    ("language", "token", White::Collapse, Lexical::Language, Role::None),
    ("NMTOKEN", "token", White::Collapse, Lexical::Nmtoken, Role::None),
    ("Name", "token", White::Collapse, Lexical::Name, Role::None),
    ("NCName", "Name", White::Collapse, Lexical::NcName, Role::None),
    ("ID", "NCName", White::Collapse, Lexical::NcName, Role::Id),
    ("IDREF", "NCName", White::Collapse, Lexical::NcName, Role::IdRef),
    ("ENTITY", "NCName", White::Collapse, Lexical::NcName, Role::Entity),
];

const LISTS: [(&str, &str); 3] =
    [("NMTOKENS", "NMTOKEN"), ("IDREFS", "IDREF"), ("ENTITIES", "ENTITY")];

/// All of them but the ur-types, by name, in an order in which bases come first.
pub(super) fn types(mut add: impl FnMut(&str, Type) -> TypeId) {
    let mut known: Vec<(&str, TypeId, SimpleType)> = Vec::new();
    let mut put = |name: &'static str,
                   base: TypeId,
                   method: u8,
                   mut simple: SimpleType,
                   known: &mut Vec<_>| {
        super::simple::complete(&mut simple);
        let definition = Definition::Simple(simple.clone());
        let id = add(name, Type { symbol: NONE, base, method, final_: 0, definition });
        known.push((name, id, simple));
    };
    let find = |name: &str, known: &[(&str, TypeId, SimpleType)]| {
        let found = known.iter().find(|it| it.0 == name);
        // The tables above have bases before what is derived from them.
        found.map_or(
            (ANY_SIMPLE_TYPE, SimpleType::new(Variety::Atomic(Primitive::String), White::Collapse)),
            |it| (it.1, it.2.clone()),
        )
    };
    for (name, primitive) in PRIMITIVES {
        let white = if primitive == Primitive::String { White::Preserve } else { White::Collapse };
        put(
            name,
            ANY_SIMPLE_TYPE,
            RESTRICTION,
            SimpleType::new(Variety::Atomic(primitive), white),
            &mut known,
        );
    }
    for (name, base, white, lexical, role) in STRINGS {
        let (base, simple) = find(base, &known);
        put(name, base, RESTRICTION, SimpleType { white, lexical, role, ..simple }, &mut known);
    }
    for (name, base, least, greatest) in INTEGERS {
        let (base, mut simple) = find(base, &known);
        simple.lexical = Lexical::Integer;
        simple.fraction_digits = Some(0);
        simple.fixed |= super::simple::FIXED_FRACTION_DIGITS;
        for (text, place) in [(least, &mut simple.min), (greatest, &mut simple.max)] {
            if let Some(value) = DecimalRef::parse(text.as_bytes()) {
                let value = Value::Decimal(value.to_owned());
                *place = Some(Bound { value, inclusive: true, text: text.into() });
            }
        }
        put(name, base, RESTRICTION, simple, &mut known);
    }
    for (name, item) in LISTS {
        let mut simple = SimpleType::new(Variety::List(find(item, &known).0), White::Collapse);
        simple.min_length = Some(1);
        put(name, ANY_SIMPLE_TYPE, LIST, simple, &mut known);
    }
}
