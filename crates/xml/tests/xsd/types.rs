//! Every built-in type and every facet.

use crate::{Case, check, compile, schema_text, validate};

/// Type, text, and why libxml2's verdict on it is another one.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    ("NMTOKENS", "", "3.3.5: minLength is 1"),
    ("NMTOKENS", " ", "3.3.5: minLength is 1"),
    ("IDREFS", "", "3.3.10: minLength is 1"),
    (
        "unsignedByte",
        "+1",
        "3.3.24: restricted by maxInclusive only, from a type whose literals have signs",
    ),
    ("float", "1e", "3.2.4.1: an exponent is an integer"),
    ("duration", "PT1.S", "3.2.6.1: a decimal point is followed by a digit"),
    ("QName", " p:a ", "4.3.6: white space is collapsed"),
];

/// Literals of a type, and texts that are none.
#[rustfmt::skip]
const LITERALS: &[(&str, &[&str], &[&str])] = &[
    ("anySimpleType", &["", " a  b "], &[]),
    ("string", &["", " a\tb\n", "\u{10ffff}"], &[]),
    ("normalizedString", &["", " a b "], &[]),
    ("token", &["", "a b", " a  b "], &[]),
    ("language", &["en", "en-GB", "x-klingon-1", " de "], &["", "e_n", "123", "abcdefghi", "en-", "-en", "en-abcdefghi"]),
    ("Name", &["a", "a:b", "_a-b.c", ":a", "\u{e4}"], &["", "1a", "-a", "a b"]),
    ("NCName", &["a", "_a", "\u{e4}-1"], &["", "a:b", "1", ".a"]),
    ("NMTOKEN", &["a", "1", "-a:b"], &["", "a b", "a,b"]),
    ("NMTOKENS", &["a", "1 b  c"], &["", " ", "a ,"]),
    ("boolean", &["true", "false", "1", "0", " true "], &["", "TRUE", "yes", "2"]),
    ("decimal", &["0", "-1.5", "+1", ".5", "5.", "00012.500", "1234567890123456789012", " 1 "],
        &["", ".", "+", "1e5", "1,5", "0x1", "--1", "INF", "1 2"]),
    ("integer", &["0", "-1", "+1", "007", "123456789012345678901234"], &["", "1.0", "1.", "a", "-"]),
    ("nonPositiveInteger", &["0", "-0", "-5", "+0"], &["1", "+5"]),
    ("negativeInteger", &["-1", "-99999999999999999999999"], &["0", "-0", "1"]),
    ("nonNegativeInteger", &["0", "-0", "5"], &["-1"]),
    ("positiveInteger", &["1", "+1"], &["0", "-1", "+0"]),
    ("long", &["9223372036854775807", "-9223372036854775808"], &["9223372036854775808", "-9223372036854775809", "1.0"]),
    ("int", &["2147483647", "-2147483648", "+0"], &["2147483648", "-2147483649", ""]),
    ("short", &["32767", "-32768"], &["32768", "-32769"]),
    ("byte", &["127", "-128", "000000127"], &["128", "-129"]),
    ("unsignedLong", &["18446744073709551615", "0"], &["18446744073709551616", "-1"]),
    ("unsignedInt", &["4294967295"], &["4294967296", "-1"]),
    ("unsignedShort", &["65535"], &["65536"]),
    ("unsignedByte", &["255", "+1"], &["256", "-1"]),
    ("float", &["0", "-1.5E10", "1e-40", "INF", "-INF", "NaN", ".5", "5.e1", "1e400"], &["", "+INF", "inf", "1e", "e1", "nan", "1e1.5", "."]),
    ("double", &["0", "-1.5E+10", "INF", "-INF", "NaN", "1E9999"], &["", "+INF", "Infinity", "1d", "0x1p3"]),
    ("duration", &["P1Y2M3DT4H5M6.7S", "-P1Y", "PT0S", "P0D", "PT36H", "P400D"],
        &["", "P", "PT", "1Y", "P1S", "P1YT", "P1M1Y", "PT1M1H", "P-1Y", "P1.5Y", "PT1.S"]),
    ("dateTime", &["2004-04-12T13:20:00", "2004-04-12T13:20:15.5", "2004-04-12T13:20:00-05:00", "2004-04-12T13:20:00Z",
            "-0044-03-15T00:00:00Z", "12004-04-12T13:20:00", "2004-02-29T00:00:00+14:00", "2004-04-12T24:00:00"],
        &["", "2004-04-12T13:00", "2004-04-1213:20:00", "99-04-12T13:00:00", "2004-04-12", "2003-02-29T00:00:00",
            "2004-13-01T00:00:00", "2004-04-12T25:00:00", "2004-04-12T13:60:00", "2004-04-12T13:20:60", "0000-01-01T00:00:00",
            "2004-04-12T24:00:01", "2004-04-12T13:20:00+15:00", "2004-04-12T13:20:00.", "2004-04-12t13:20:00"]),
    ("time", &["13:20:00", "13:20:30.5555", "13:20:00-05:00", "00:00:00Z", "24:00:00"],
        &["", "5:20:00", "13:20", "13:20.5:00", "13:65:00", "24:00:01"]),
    ("date", &["2004-04-12", "-0045-01-01", "12004-04-12", "2004-04-12-05:00", "2004-04-12Z"],
        &["", "99-04-12", "2004-4-2", "2004/04/02", "04-12-2004", "2004-04-31", "2004-04-12T"]),
    ("gYearMonth", &["2004-04", "2004-04-05:00", "-2004-04Z"], &["", "99-04", "2004", "2004-4", "2004-13"]),
    ("gYear", &["2004", "2004-05:00", "12004", "-0922", "2004Z"], &["", "99", "922", "0000", "02004"]),
    ("gMonthDay", &["--04-12", "--02-29", "--04-12Z"], &["", "04-12", "--4-6", "--04-31", "--02-30", "--13-01"]),
    ("gDay", &["---02", "---31", "---31+01:00"], &["", "---2", "---32", "02", "---00"]),
    ("gMonth", &["--04", "--04-05:00", "--12Z"], &["", "2004-04", "04", "--4", "--13"]),
    ("hexBinary", &["", "0FB8", "0fb8", " 0f "], &["F", "FB8", "G0", "0F B8"]),
    ("base64Binary", &["", "0FB80F+9", "0F+4", "0FB8 0F+9", "AA==", "AAA=", " A A = = ", "0F+40A=="],
        &["FB8=F", "FB8", "====", "A", "A=AA", "AB==", "AAB="]),
    ("anyURI", &["", "http://a.b/c?d#e", "../a", "a b", "urn:x:y", "#f", "\u{e4}"], &["a%zz", "a#b#c"]),
    ("QName", &["a", "p:a", " p:a "], &["", "q:a", ":a", "a:", "p:a:b", "1"]),
    ("ID", &["a"], &["", "1", "a:b"]),
    ("IDREF", &["x"], &["", "1"]),
    ("IDREFS", &["x x"], &["", "1"]),
];

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\t' | '\n' => out += &format!("&#{};", c as u32),
            c => out.push(c),
        }
    }
    out
}

#[test]
fn literals_of_built_in_types() {
    let mut different = Vec::new();
    for (name, literals, others) in LITERALS {
        let text = schema_text(&format!(
            "<xs:element name='e'><xs:complexType><xs:simpleContent><xs:extension base='xs:{name}'>
            <xs:attribute name='a' type='xs:{name}'/><xs:attribute name='i' type='xs:ID'/>
            </xs:extension></xs:simpleContent></xs:complexType></xs:element>"
        ));
        // The base type may be of type ID itself.
        let text = if *name == "ID" {
            text.replace("<xs:attribute name='i' type='xs:ID'/>", "")
        } else {
            text
        };
        let id = if *name == "ID" { "" } else { " i='x'" };
        let schema = compile(&text);
        for (is_literal, all) in [(true, literals), (false, others)] {
            for plain in *all {
                let literal = escaped(plain);
                let why = DIFFERENCES.iter().any(|it| it.0 == *name && it.1 == *plain);
                let content = format!("<e xmlns:p='urn:p'{id}>{literal}</e>");
                let attribute =
                    format!("<e xmlns:p='urn:p'{id} a='{literal}'>{}</e>", escaped(literals[0]));
                for document in [content, attribute] {
                    if *name == "ID" && document.contains("a='") && is_literal {
                        continue;
                    }
                    let errors = validate(&schema, &document);
                    assert_eq!(errors.is_empty(), is_literal, "{name}: {document} {errors:?}");
                    if crate::theirs(&text, &document).is_some_and(|it| (it != is_literal) != why) {
                        different.push(format!("{name} {plain:?} {document}"));
                    }
                }
            }
        }
    }
    assert_eq!(
        different, [""; 0],
        "libxml2 differs where it is not expected, or does not where it is"
    );
}

fn restricted(base: &str, facets: &str) -> String {
    format!(
        "<xs:element name='e'><xs:simpleType><xs:restriction base='xs:{base}'>{facets}</xs:restriction></xs:simpleType></xs:element>"
    )
}

/// A restriction of a built-in type: texts that it has, and texts that it lacks by a rule.
fn facets(base: &str, facets: &str, literals: &[&str], others: &[(&str, &str)]) {
    let wrap = |text: &&str| {
        format!("<e xmlns:p='urn:p' xmlns:q='urn:q' xmlns:r='urn:p'>{}</e>", escaped(text))
    };
    let all = literals.iter().map(|text| (wrap(text), Ok(())));
    let all: Vec<_> =
        all.chain(others.iter().map(|(text, rule)| (wrap(text), Err(*rule)))).collect();
    let cases: Vec<Case<'_>> = all
        .iter()
        .map(|(document, expected)| Case { document, expected: *expected, differs: None })
        .collect();
    check(&restricted(base, facets), &cases);
}

const LENGTH: &str = "cvc-length-valid";
const ENUMERATION: &str = "cvc-enumeration-valid";
const PATTERN: &str = "cvc-pattern-valid";

#[test]
fn lengths() {
    facets(
        "string",
        "<xs:length value='3'/>",
        &["abc", "\u{e4}\u{10000}c"],
        &[("ab", LENGTH), ("abcd", LENGTH)],
    );
    facets(
        "token",
        "<xs:length value='3'/>",
        &["abc", " a b ", "a  c"],
        &[("", LENGTH), ("ab", LENGTH)],
    );
    facets("string", "<xs:minLength value='2'/>", &["ab", "abc"], &[("a", "cvc-minLength-valid")]);
    facets("string", "<xs:maxLength value='2'/>", &["", "ab"], &[("abc", "cvc-maxLength-valid")]);
    facets("hexBinary", "<xs:length value='2'/>", &["0aFF"], &[("0a", LENGTH), ("0aff00", LENGTH)]);
    facets(
        "base64Binary",
        "<xs:length value='2'/>",
        &["AAA=", "A A A ="],
        &[("AAAA", LENGTH), ("AA==", LENGTH)],
    );
    facets(
        "anyURI",
        "<xs:maxLength value='5'/>",
        &["a:b", ""],
        &[("abcdef", "cvc-maxLength-valid")],
    );
    facets(
        "NMTOKENS",
        "<xs:length value='2'/>",
        &["a b", " a  b "],
        &[("a", LENGTH), ("a b c", LENGTH)],
    );
    facets(
        "NMTOKENS",
        "<xs:maxLength value='2'/>",
        &["a", "a b"],
        &[("a b c", "cvc-maxLength-valid")],
    );
    // Erratum E2-36: lengths of qualified names are not looked at.
    facets("QName", "<xs:length value='2'/>", &["a", "p:abc"], &[]);
}

#[test]
fn bounds() {
    let (min, max) = ("cvc-minInclusive-valid", "cvc-maxInclusive-valid");
    let (above, below) = ("cvc-minExclusive-valid", "cvc-maxExclusive-valid");
    facets(
        "decimal",
        "<xs:minInclusive value='-1.5'/><xs:maxExclusive value='100000000000000000000.1'/>",
        &["-1.5", "-1.50", "0", "100000000000000000000.09"],
        &[("-1.51", min), ("100000000000000000000.1", below), ("-2", min)],
    );
    facets(
        "integer",
        "<xs:minExclusive value='5'/><xs:maxInclusive value='7'/>",
        &["6", "7"],
        &[("5", above), ("8", max)],
    );
    facets(
        "float",
        "<xs:minInclusive value='-1e3'/><xs:maxInclusive value='INF'/>",
        &["-1000", "INF", "0"],
        &[("-1000.1", min), ("-INF", min)],
    );
    facets(
        "double",
        "<xs:maxExclusive value='1e1'/>",
        &["9.99", "-INF"],
        &[("10", below), ("INF", below), ("NaN", below)],
    );
    facets(
        "dateTime",
        "<xs:minInclusive value='2000-01-01T00:00:00Z'/>",
        &["2000-01-01T00:00:00Z", "1999-12-31T23:30:00-01:00", "2000-01-02T00:00:00"],
        &[
            ("1999-12-31T23:59:59Z", min),
            ("2000-01-01T00:30:00+01:00", min),
            ("2000-01-01T00:00:00", min),
        ],
    );
    facets(
        "date",
        "<xs:maxInclusive value='2000-06-30'/>",
        &["2000-06-30", "1999-12-31"],
        &[("2000-07-01", max)],
    );
    facets(
        "time",
        "<xs:minExclusive value='12:00:00'/>",
        &["12:00:01", "12:00:00.5"],
        &[("12:00:00", above), ("00:00:00", above)],
    );
    facets(
        "gYear",
        "<xs:minInclusive value='2000'/>",
        &["2000", "12000"],
        &[("1999", min), ("-3000", min)],
    );
    facets("gYearMonth", "<xs:maxExclusive value='2000-03'/>", &["2000-02"], &[("2000-03", below)]);
    facets("gMonthDay", "<xs:minInclusive value='--03-01'/>", &["--03-01"], &[("--02-29", min)]);
    facets("gMonth", "<xs:minInclusive value='--03'/>", &["--03", "--12"], &[("--02", min)]);
    facets("gDay", "<xs:maxInclusive value='---15'/>", &["---15", "---01"], &[("---16", max)]);
    facets(
        "duration",
        "<xs:minInclusive value='P1M'/><xs:maxInclusive value='P1Y'/>",
        &["P1M", "P32D", "P12M", "PT8000H"],
        &[("P27D", min), ("P31D", min), ("P13M", max)],
    );
}

#[test]
fn digits() {
    let (total, fraction) = ("cvc-totalDigits-valid", "cvc-fractionDigits-valid");
    facets(
        "decimal",
        "<xs:totalDigits value='3'/><xs:fractionDigits value='2'/>",
        &["123", "-1.23", "0001.2300", ".12", "0.12"],
        &[("1234", total), ("12.34", total), (".123", fraction), ("1.234", total)],
    );
    facets("integer", "<xs:totalDigits value='2'/>", &["99", "-099", "0"], &[("100", total)]);
    facets("decimal", "<xs:fractionDigits value='0'/>", &["1", "1.0", "1."], &[("1.5", fraction)]);
}

#[test]
fn enumerations_compare_values() {
    facets(
        "string",
        "<xs:enumeration value='a'/><xs:enumeration value=' b'/>",
        &["a", " b"],
        &[("b", ENUMERATION), ("A", ENUMERATION)],
    );
    facets("token", "<xs:enumeration value='a b'/>", &["a b", " a  b "], &[("ab", ENUMERATION)]);
    facets(
        "decimal",
        "<xs:enumeration value='1.50'/>",
        &["1.5", "+01.500"],
        &[("1.51", ENUMERATION)],
    );
    facets(
        "float",
        "<xs:enumeration value='1e1'/><xs:enumeration value='NaN'/>",
        &["10", "NaN", "1.0E1"],
        &[("11", ENUMERATION)],
    );
    facets(
        "dateTime",
        "<xs:enumeration value='2000-01-01T12:00:00Z'/>",
        &["2000-01-01T12:00:00Z", "2000-01-01T13:00:00+01:00"],
        &[("2000-01-01T12:00:00", ENUMERATION)],
    );
    facets(
        "duration",
        "<xs:enumeration value='P1Y'/>",
        &["P1Y", "P12M"],
        &[("P366D", ENUMERATION)],
    );
    facets("hexBinary", "<xs:enumeration value='0a'/>", &["0A"], &[("0b", ENUMERATION)]);
    facets("base64Binary", "<xs:enumeration value='AAAA'/>", &["A AAA"], &[("AAAB", ENUMERATION)]);
    facets("anyURI", "<xs:enumeration value='a:b'/>", &["a:b"], &[("a:B", ENUMERATION)]);
    facets("NMTOKENS", "<xs:enumeration value='a b'/>", &[" a  b "], &[("b a", ENUMERATION)]);
    // The prefix does not matter, its namespace does.
    let schema =
        "<xs:element name='e'><xs:simpleType><xs:restriction base='xs:QName' xmlns:x='urn:p'>
        <xs:enumeration value='x:a'/></xs:restriction></xs:simpleType></xs:element>";
    check(
        schema,
        &[
            crate::valid("<e xmlns:p='urn:p'>p:a</e>"),
            crate::invalid("<e xmlns:p='urn:q'>p:a</e>", ENUMERATION),
        ],
    );
}

#[test]
fn patterns() {
    facets(
        "string",
        "<xs:pattern value='[a-c]+'/><xs:pattern value='x'/>",
        &["abc", "x"],
        &[("", PATTERN), ("xa", PATTERN)],
    );
    facets(
        "string",
        r"<xs:pattern value='\d{2,3}-\D'/>",
        &["12-x", "123--"],
        &[("1-x", PATTERN), ("12-3", PATTERN)],
    );
    facets(
        "string",
        r"<xs:pattern value='[\w-[aeiou]]*'/>",
        &["xyz", ""],
        &[("xaz", PATTERN), ("-", PATTERN)],
    );
    facets(
        "string",
        r"<xs:pattern value='\p{Lu}\p{Ll}*'/>",
        &["Abc", "\u{c4}b"],
        &[("abc", PATTERN)],
    );
    facets("string", r"<xs:pattern value='[\p{IsGreek}\d]+'/>", &["\u{3b1}1"], &[("a", PATTERN)]);
    facets(
        "string",
        r"<xs:pattern value='\i\c*'/>",
        &["a-b", "_:"],
        &[("1a", PATTERN), ("", PATTERN)],
    );
    facets(
        "string",
        r"<xs:pattern value='\s\S\.\\'/>",
        &[r" a.\", "\tb.\\"],
        &[(r"aa.\", PATTERN)],
    );
    facets(
        "string",
        "<xs:pattern value='a.c'/>",
        &["abc", "a\u{e4}c"],
        &[("ac", PATTERN), ("a\nc", PATTERN)],
    );
    facets(
        "string",
        "<xs:pattern value='(a|b(c|d)?){2}'/>",
        &["aa", "bcbd", "ab"],
        &[("a", PATTERN), ("bcc", PATTERN)],
    );
    facets("string", "<xs:pattern value='^$'/>", &["^$"], &[("", PATTERN)]);
    facets(
        "int",
        "<xs:pattern value='0.*'/>",
        &["01", "0"],
        &[("1", PATTERN), ("0x", "cvc-datatype-valid.1.2.1")],
    );
    facets("NMTOKENS", "<xs:pattern value='a b?'/>", &["a b", "a  b"], &[("a", PATTERN)]);
}

#[test]
fn white_space() {
    facets(
        "string",
        "<xs:whiteSpace value='collapse'/><xs:length value='3'/>",
        &[" a  b "],
        &[("a bc", LENGTH)],
    );
    facets(
        "string",
        "<xs:whiteSpace value='replace'/><xs:pattern value='a b'/>",
        &["a\tb", "a\nb"],
        &[("a  b", PATTERN)],
    );
}

#[test]
fn lists_and_unions() {
    let list = "<xs:element name='e'><xs:simpleType><xs:restriction><xs:simpleType><xs:list itemType='xs:int'/></xs:simpleType>
        <xs:maxLength value='3'/></xs:restriction></xs:simpleType></xs:element>";
    check(
        list,
        &[
            crate::valid("<e>1 2  3</e>"),
            crate::valid("<e/>"),
            crate::invalid("<e>1 a</e>", "cvc-datatype-valid.1.2.2"),
            crate::invalid("<e>1 2 3 4</e>", "cvc-maxLength-valid"),
        ],
    );
    let union = "<xs:element name='e' type='u'/><xs:simpleType name='u'><xs:union memberTypes='xs:int xs:boolean'>
        <xs:simpleType><xs:restriction base='xs:string'><xs:enumeration value='none'/></xs:restriction></xs:simpleType>
        </xs:union></xs:simpleType>";
    check(
        union,
        &[
            crate::valid("<e>12</e>"),
            crate::valid("<e> true </e>"),
            crate::valid("<e>none</e>"),
            crate::invalid("<e> none </e>", "cvc-datatype-valid.1.2.3"),
            crate::invalid("<e>1.5</e>", "cvc-datatype-valid.1.2.3"),
        ],
    );
    let restricted =
        "<xs:element name='e'><xs:simpleType><xs:restriction base='u'><xs:enumeration value='1'/>
        <xs:enumeration value='a'/></xs:restriction></xs:simpleType></xs:element>
        <xs:simpleType name='u'><xs:union memberTypes='xs:int xs:string'/></xs:simpleType>";
    check(
        restricted,
        &[
            crate::valid("<e>1</e>"),
            crate::valid("<e>01</e>"),
            crate::valid("<e>a</e>"),
            crate::invalid("<e>2</e>", ENUMERATION),
            crate::invalid("<e>b</e>", ENUMERATION),
        ],
    );
    let of_unions = "<xs:element name='e'><xs:simpleType><xs:list><xs:simpleType><xs:union memberTypes='xs:int xs:boolean'/>
        </xs:simpleType></xs:list></xs:simpleType></xs:element>";
    check(
        of_unions,
        &[
            crate::valid("<e>1 true 3</e>"),
            crate::invalid("<e>1 x</e>", "cvc-datatype-valid.1.2.2"),
        ],
    );
}
