//! Random simple types and values, random keys and references: beside libxml2.
//!
//! `LOOKASIDE_XML_SECONDS` bounds each part (2 s, else), `LOOKASIDE_XML_START` is the first seed.

use std::cell::Cell;
use std::sync::Arc;

use lookaside_xml::xsd::Schema;

use crate::random::seeds;
use crate::random::source::Random;
use crate::{LIBXML2, compile, libxml2, schema_text, validate};

/// libxml2 refuses white space around numbers and dates, a sign before unsigned numbers, and decimals of more than 24 digits: there are
/// none here.
///
/// Base types, values that mostly are theirs, and whether facets of order, of length and of digits apply.
const BASES: [(&str, &[&str], bool, bool, bool); 14] = [
    ("string", TEXTS, false, true, false),
    ("normalizedString", TEXTS, false, true, false),
    ("token", TEXTS, false, true, false),
    ("NMTOKEN", TEXTS, false, true, false),
    ("NCName", TEXTS, false, true, false),
    ("decimal", NUMBERS, true, false, true),
    ("integer", NUMBERS, true, false, true),
    ("positiveInteger", NUMBERS, true, false, true),
    ("unsignedInt", NUMBERS, true, false, true),
    ("unsignedLong", NUMBERS, true, false, true),
    ("byte", NUMBERS, true, false, true),
    ("date", DATES, true, false, false),
    ("dateTime", MOMENTS, true, false, false),
    ("boolean", &["true", "false", "1", "0", "TRUE", "yes", ""], false, false, false),
];
const TEXTS: &[&str] = &[
    "",
    "a",
    "ab",
    "abc",
    "open",
    "paid",
    "a b",
    " a",
    "a  b",
    "ab-1",
    "abc-12",
    "AB-1",
    "1ab",
    "a:b",
    "ö",
    "aö",
    "\u{e0}\u{e0}",
    "abcdefgh",
    "abcdefghi",
    "a\tb",
    "-a",
    "a.b",
];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "9",
    "10",
    "12",
    "100",
    "127",
    "128",
    "255",
    "0.5",
    "1.5",
    "1.50",
    "12.25",
    "-1",
    "007",
    "1.",
    ".5",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "999999999999999999",
    "1000000000000000000",
    "",
    "x",
    "1x",
    "1.x",
    "1e3",
    "- 1",
];
const DATES: &[&str] = &[
    "2024-01-01",
    "2024-02-28",
    "2024-02-29",
    "2023-02-29",
    "2024-12-31",
    "2024-13-01",
    "2024-00-10",
    "2024-01-00",
    "2024-04-31",
    "24-01-01",
    "2024-01-01Z",
    "2024-1-01",
    "2024-01-01x",
    "",
    "2024/01/01",
];
const MOMENTS: &[&str] = &[
    "2024-01-01T00:00:00",
    "2024-02-28T23:59:59Z",
    "2024-01-01T24:00:01",
    "2024-01-01T12:60:00",
    "2024-01-01T12:00:60",
    "2024-01-01T12:00:00.5",
    "2024-01-01",
    "2024-01-01T1:00:00",
    "2024-01-01t00:00:00",
    "",
    "2024-01-01T00:00:00Zx",
    "2024-04-31T00:00:00",
];

fn facets(random: &mut Random, base: usize) -> String {
    let (_, values, is_ordered, has_length, has_digits) = BASES[base];
    let mut text = String::new();
    for _ in 0..random.below(3) {
        let number = random.below(4);
        let one = match random.below(6) {
            0 if is_ordered => {
                let name =
                    random.pick(&["minInclusive", "maxInclusive", "minExclusive", "maxExclusive"]);
                format!("<xs:{name} value='{}'/>", random.pick(values).trim())
            }
            1 if has_length => {
                format!(
                    "<xs:{} value='{number}'/>",
                    random.pick(&["length", "minLength", "maxLength"])
                )
            }
            2 if has_digits => {
                let name = random.pick(&["totalDigits", "fractionDigits"]);
                format!("<xs:{name} value='{}'/>", number + 1)
            }
            3 if values.len() > 7 => (0..1 + random.below(10))
                .map(|_| format!("<xs:enumeration value='{}'/>", random.pick(values)))
                .collect(),
            4 => {
                let patterns = [
                    "[a-z]+",
                    "[a-z]{2,3}",
                    "[a-z]{2}-\\d",
                    "[A-Z]{2}-\\d{1,3}",
                    "\\d+",
                    "\\d*",
                    "[0-9]{1,3}(\\.\\d+)?",
                    ".*",
                    "a|ab",
                    "\\w{2}",
                    "\\i\\c*",
                    "[^a]*",
                    "(ab)?c?",
                    "x{0}\\d{2}",
                    "-?\\d",
                ];
                format!("<xs:pattern value='{}'/>", random.pick(&patterns))
            }
            _ => continue,
        };
        // A facet appears once.
        let name = &one[..one.find(' ').unwrap()];
        if !text.contains(name) || name == "<xs:enumeration" {
            text += &one;
        }
    }
    text
}

/// Whether a document is valid by the schema `text`, as `theirs` says too where libxml2 is there.
fn is_valid(
    schema: &Arc<Schema>,
    theirs: &Option<libxml2::Schema<'_>>,
    document: &str,
    text: &str,
) -> bool {
    let errors = validate(schema, document);
    if let (Some(theirs), Some(library)) = (theirs, &*LIBXML2) {
        let parsed = library.parse(document).unwrap();
        assert_eq!(theirs.is_valid(&parsed), errors.is_empty(), "{document}\n{text}\n{errors:?}");
    }
    errors.is_empty()
}

#[test]
fn types_and_values() {
    let (values, valid) = (Cell::new(0), Cell::new(0));
    seeds(|random| {
        let base = random.below(BASES.len());
        let (name, texts, ..) = BASES[base];
        let facets = facets(random, base);
        let is_list = random.chance(15);
        let list = if is_list { "<xs:list itemType='t'/>" } else { "<xs:restriction base='t'/>" };
        let text = schema_text(&format!(
            "<xs:simpleType name='t'><xs:restriction base='xs:{name}'>{facets}</xs:restriction></xs:simpleType>
            <xs:simpleType name='u'>{list}</xs:simpleType>
            <xs:element name='e'><xs:complexType><xs:simpleContent><xs:extension base='u'><xs:attribute name='x' type='t'/>
            </xs:extension></xs:simpleContent></xs:complexType></xs:element>"
        ));
        // Facets may contradict each other.
        let Ok(schema) = lookaside_xml::xsd::Schema::compile(text.as_bytes(), |_, _| None) else {
            return;
        };
        let schema = std::sync::Arc::new(schema);
        let theirs = LIBXML2.as_ref().and_then(|it| it.schema(&text));
        for _ in 0..12 {
            let mut value = random.pick(texts).to_owned();
            if is_list {
                value += random.pick(&[" ", "  "]);
                value += random.pick(texts);
            }
            let attribute = random.pick(texts).replace('\t', "&#9;");
            let document = match random.chance(50) {
                true => format!("<e>{value}</e>"),
                false => format!("<e x='{attribute}'>{value}</e>"),
            };
            values.set(values.get() + 1);
            valid.set(valid.get() + usize::from(is_valid(&schema, &theirs, &document, &text)));
        }
    });
    let (values, valid) = (values.get(), valid.get());
    eprintln!("{valid} of {values} values valid");
    assert!(valid > values / 10 && valid < values);
}

/// `e` has `a` and `b`, which have attributes, a child `n` and further `a` and `b`.
/// Whether keys are those of elements below the one with the references, too.
fn keyed(random: &mut Random) -> (String, bool) {
    let selectors = ["a", "b", "a|b", ".//a", "a/b", "*", ".//b|a"];
    let fields = ["@x", "@y", "n", "@x|n", "@y"];
    let count = 1 + random.below(2);
    let own: Vec<&str> = (0..count).map(|_| random.pick(&fields)).collect();
    let constraint = |name: &str, more: &str, selector: &str, fields: &[&str]| {
        let fields: String = fields.iter().map(|it| format!("<xs:field xpath='{it}'/>")).collect();
        let kind = name.trim_end_matches(char::is_numeric);
        format!(
            "<xs:{kind} name='{name}'{more}><xs:selector xpath='{selector}'/>{fields}</xs:{kind}>"
        )
    };
    let kind = random.pick(&["key1", "unique1"]);
    let key = constraint(kind, "", random.pick(&selectors), &own);
    let others: Vec<&str> = (0..count).map(|_| random.pick(&fields)).collect();
    let refer = format!(" refer='{kind}'");
    let reference = constraint("keyref1", &refer, random.pick(&selectors), &others);
    let type_ = random.pick(&["xs:int", "xs:string", "xs:decimal", "xs:token"]);
    let (of_root, of_a) = match random.below(4) {
        0 => (key, String::new()),
        1 => (reference, key),
        _ => (key + &reference, String::new()),
    };
    let is_below = !of_a.is_empty();
    let text = schema_text(&format!(
        "<xs:complexType name='c'><xs:sequence><xs:element name='n' type='{type_}' minOccurs='0'/>
        <xs:choice minOccurs='0' maxOccurs='unbounded'><xs:element name='a' type='c'/><xs:element name='b' type='c'/></xs:choice>
        </xs:sequence><xs:attribute name='x' type='{type_}'/><xs:attribute name='y' type='{type_}' default='3'/></xs:complexType>
        <xs:element name='e'><xs:complexType><xs:sequence>
        <xs:element name='a' minOccurs='0' maxOccurs='unbounded'><xs:complexType><xs:complexContent><xs:extension base='c'/>
        </xs:complexContent></xs:complexType>{of_a}</xs:element>
        <xs:element name='b' type='c' minOccurs='0' maxOccurs='unbounded'/></xs:sequence></xs:complexType>{of_root}</xs:element>"
    ));
    (text, is_below)
}

fn keyed_element(random: &mut Random, name: &str, depth: usize, out: &mut String) {
    *out += &format!("<{name}");
    for attribute in ["x", "y"] {
        if random.chance(75) {
            *out += &format!(
                " {attribute}='{}'",
                random.pick(&["1", "2", "3", "4", "5", "6", "7", "01"])
            );
        }
    }
    *out += ">";
    if random.chance(50) {
        *out += &format!("<n>{}</n>", random.pick(&["1", "2", "3", "4", "5", "02"]));
    }
    if depth > 0 {
        for _ in 0..random.below(3) {
            let name = random.pick(&["a", "b"]);
            keyed_element(random, name, depth - 1, out);
        }
    }
    *out += &format!("</{name}>");
}

#[test]
fn keys_and_references() {
    let (all, valid) = (Cell::new(0), Cell::new(0));
    seeds(|random| {
        let (text, is_below) = keyed(random);
        let schema = compile(&text);
        let theirs =
            LIBXML2.as_ref().map(|it| it.schema(&text).unwrap_or_else(|| panic!("{text}")));
        for _ in 0..6 {
            let mut document = "<e>".to_owned();
            for name in ["a", "b"] {
                // Of keys that several elements below have, libxml2 sometimes forgets others, too: here is one at most.
                let most = if name == "a" && is_below { 2 } else { 3 };
                for _ in 0..random.below(most) {
                    keyed_element(random, name, 2, &mut document);
                }
            }
            document += "</e>";
            all.set(all.get() + 1);
            valid.set(valid.get() + usize::from(is_valid(&schema, &theirs, &document, &text)));
        }
    });
    let (all, valid) = (all.get(), valid.get());
    eprintln!("{valid} of {all} documents valid");
    assert!(valid > all / 20 && valid < all);
}
