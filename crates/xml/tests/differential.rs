//! Random documents near the grammar, beside libexpat and libxml2. `LOOKASIDE_XML_SECONDS` says for how long,
//! `LOOKASIDE_XML_SEED` from which seed on.
//!
//! Where the others differ from us for a reason, the class has a name in [`explained`].

mod events;

use std::time::{Duration, Instant};

use events::{Expat, Feeding, Libxml2, WHOLE, number, ours, session};
use lookaside_xml::Rule;
use lookaside_xml::tree::{ParseError, Tree};

/// Documents where `LOOKASIDE_XML_SECONDS` says nothing.
const USUAL: u64 = 100_000;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 20
    }

    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

const NAMES: &[&str] = &["a", "b", "p:a", "q:b", "é", "a.1", "_", "xml:lang", "ab"];
const TEXTS: &[&str] = &[
    "x",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "]]",
    ">",
    "é€\u{10000}",
    "&amp;",
    "&lt;",
    "&#65;",
    "&#x3c;",
    "&#13;",
    "&e;",
    "&f;",
    "&g;",
    "&u;",
    "a longer run of text that fills some of a vector, and then a second one of them",
    "]",
    "\u{85}",
];
const VALUES: &[&str] = &[
    "x", " ", "\n", "\t", "\r\n", "é", "&amp;", "&#9;", "&#60;", "&e;", "&f;", "&g;", ">", "u",
    "v", "/", "=",
];
const BITS: &[&str] = &[
    "<",
    ">",
    "&",
    ";",
    "/",
    "'",
    "\"",
    "]]>",
    "<!--",
    "-->",
    "--",
    "<?",
    "?>",
    "<![CDATA[",
    "]",
    "[",
    "%",
    "#",
    "=",
    " ",
    "!",
    "<a>",
    "</a>",
    "xmlns:p='u'",
    "xmlns=''",
    "&e;",
    "%p;",
    "x",
    ":",
    "1",
    "-",
    "\u{1}",
    "\u{ffff}",
    "×",
    "·",
    "&#0;",
    "(",
    ")",
    "|",
    ",",
    "*",
    "NDATA",
    "SYSTEM",
    "CDATA",
    "<!ENTITY",
    "<?xml version='1.0'?>",
    "\r",
    "\n",
    "\u{300}",
];

fn value(r: &mut Random, text: &mut String) {
    let mark = r.of(&["'", "\""]);
    *text += mark;
    for _ in 0..r.below(4) {
        *text += r.of(VALUES);
    }
    *text += mark;
}

fn element(r: &mut Random, text: &mut String, depth: usize) {
    let name = r.of(NAMES);
    *text += &format!("<{name}");
    for _ in 0..r.below(4) {
        *text += r.of(&[" ", "\n", "  ", "\t"]);
        let attribute = match r.below(5) {
            0 => r.of(&["xmlns", "xmlns:p", "xmlns:q", "xmlns:xml"]),
            _ => r.of(NAMES),
        };
        *text += attribute;
        *text += r.of(&["=", "=", "=", " = "]);
        value(r, text);
    }
    if r.chance(20) {
        *text += r.of(&["/>", " />"]);
        return;
    }
    *text += r.of(&[">", ">", " >"]);
    for _ in 0..r.below(5) {
        match r.below(8) {
            0..3 if depth < 5 => element(r, text, depth + 1),
            3 => *text += r.of(&["<!--c-->", "<!-- - \r\n-->", "<?p d?>", "<?p?>"]),
            4 => *text += r.of(&["<![CDATA[x]]>", "<![CDATA[]]]>", "<![CDATA[<&>\r\n]]>"]),
            _ => *text += r.of(TEXTS),
        }
    }
    *text += &format!("</{name}{}", r.of(&[">", ">", ">", "\n>"]));
}

fn declarations(r: &mut Random, text: &mut String) {
    *text += "<!DOCTYPE a ";
    if r.chance(10) {
        *text += r.of(&["SYSTEM 's' ", "PUBLIC 'p' 's'"]);
    }
    *text += "[";
    for _ in 0..r.below(7) {
        *text += r.of(&[
            "<!ELEMENT a (b,(a|b)*)?>",
            "<!ELEMENT a (#PCDATA|b)*>",
            "<!ELEMENT b EMPTY>",
            "<!ELEMENT é ANY >",
            "<!ATTLIST a b CDATA 'd' ab NMTOKENS ' x  y '>",
            "<!ATTLIST b xml:lang NMTOKEN #IMPLIED é (x|y) 'x'>",
            "<!ATTLIST a ab ID #REQUIRED _ CDATA #FIXED '&#65;&amp;'>",
            "<!ATTLIST a xmlns:p CDATA 'u'>",
            "<!ENTITY e 'text'>",
            "<!ENTITY e '<b>x</b>'>",
            "<!ENTITY f '&e;&#38;e; &#13;\r\n'>",
            "<!ENTITY g 'x&f;y'>",
            "<!ENTITY g '&#60;b/>'>",
            "<!ENTITY u SYSTEM 'x' NDATA n>",
            "<!ENTITY g SYSTEM 'x'>",
            "<!NOTATION n PUBLIC 'p q'>",
            "<!NOTATION m SYSTEM \"s\" >",
            "<!ENTITY % p '<!ENTITY e \"from p\">'>",
            "<!ENTITY % p ' '>",
            "<!--c-->",
            "<?p d?>",
            " ",
            "\r\n",
            "%p;",
        ]);
    }
    if r.chance(10) {
        // Lengths of more than seven bits.
        let long = "x".repeat(100 + r.below(200));
        *text += &format!("<!ENTITY l '{long}'><!ATTLIST b long CDATA '{long}'>");
    }
    *text += "]>";
}

fn document(r: &mut Random) -> Vec<u8> {
    let mut text = String::new();
    if r.chance(20) {
        text += r.of(&[
            "<?xml version='1.0'?>",
            "<?xml version='1.0' encoding='utf-8'?>\n",
            "<?xml version=\"1.0\" standalone='yes' ?>",
        ]);
    }
    if r.chance(50) {
        declarations(r, &mut text);
    }
    element(r, &mut text, 0);
    if r.chance(10) {
        text += r.of(&["\n", "<!--c-->", "<?p d?>", "x", "<a/>"]);
    }
    // Near the grammar, and beside it.
    let mut chars: Vec<char> = text.chars().collect();
    if r.chance(60) {
        for _ in 0..1 + r.below(2) {
            let at = r.below(chars.len());
            match r.below(4) {
                0 => _ = chars.remove(at),
                1 => chars.truncate(at.max(1)),
                2 => {
                    let end = (at + r.below(6)).min(chars.len());
                    let piece = chars[at..end].to_vec();
                    let to = r.below(chars.len());
                    chars.splice(to..to, piece);
                }
                _ => _ = chars.splice(at..at, r.of(BITS).chars()),
            }
            if chars.is_empty() {
                chars.push('<');
            }
        }
    }
    let mut bytes = chars.into_iter().collect::<String>().into_bytes();
    if r.chance(3) {
        let at = r.below(bytes.len());
        bytes[at] = r.next() as u8;
    }
    bytes
}

fn contains(document: &[u8], text: &str) -> bool {
    document.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Why expat may answer otherwise.
fn explained(
    document: &[u8],
    rule: Option<Rule>,
    expat: &Result<(), (i32, i64)>,
) -> Option<&'static str> {
    let text = String::from_utf8_lossy(document);
    match (rule, expat) {
        // Its names are those of the fourth edition, which had fewer.
        (Some(Rule::Version), Ok(())) => Some("versions are not looked at"),
        (None, Err((18, _))) => Some("an encoding that expat does not know"),
        (None, Err((4, _))) if text.chars().any(|c| c > '\u{7f}') => {
            Some("names of the fourth edition")
        }
        // Values of entities that it does not keep are not looked at.
        (
            Some(
                Rule::NoLessThanInAttributes
                | Rule::EntityRef
                | Rule::CharRef
                | Rule::LegalCharacter
                | Rule::EntityValue
                | Rule::NsColon
                | Rule::PesInInternalSubset,
            ),
            Ok(()),
        ) if has_parameter_reference(document) => {
            Some("declarations behind an entity that was not read")
        }
        (Some(Rule::NsQName), Ok(()))
            if has_odd_name(document) && contains(document, "<!ATTLIST") =>
        {
            Some("names in attribute lists are not looked at")
        }
        _ => None,
    }
}

#[test]
fn random_documents() {
    let time = Duration::from_secs(number("LOOKASIDE_XML_SECONDS", 0));
    let first = number("LOOKASIDE_XML_SEED", 1);
    let (expat, libxml2) = (Expat::open(), Libxml2::open());
    let mut wrong: Vec<String> = vec![];
    let started = Instant::now();
    let (mut cases, mut accepted, mut classes) = (0_u64, 0_u64, std::collections::BTreeMap::new());
    let session = session();
    let plain = events::session().namespaces(false);
    for seed in first.. {
        let over = if time.is_zero() { cases >= USUAL } else { started.elapsed() >= time };
        if over || wrong.len() >= 12 {
            break;
        }
        let mut r = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let document = document(&mut r);
        let show = || format!("seed {seed}: {}", String::from_utf8_lossy(&document));
        cases += 1;
        // Cut somewhere, with few records.
        let mut cuts: Vec<usize> = (0..r.below(4)).map(|_| r.below(document.len() + 1)).collect();
        cuts.sort_unstable();
        let whole = ours(&session, &document, WHOLE, true);
        let feeding = Feeding { cuts: &cuts, records: 1 + r.below(5) };
        assert_eq!(ours(&session, &document, feeding, true), whole, "{feeding:?} {}", show());
        accepted += u64::from(whole.1.is_ok());
        let tree = Tree::parse(&document, &session).map(|tree| tree.len());
        assert_eq!(tree.err(), whole.1.err().map(ParseError::Document), "{}", show());
        for (namespaces, session) in [(true, &session), (false, &plain)] {
            let (lines, result) = ours(session, &document, WHOLE, false);
            let rule = result.err().map(|error| error.rule);
            if let Some(expat) = &expat {
                let (theirs, verdict) = expat.parse(&document, namespaces);
                if rule.is_some() != verdict.is_err() {
                    let Some(class) = explained(&document, rule, &verdict) else {
                        wrong.push(format!(
                            "namespaces {namespaces}: we {result:?}, expat {verdict:?}, {}",
                            show()
                        ));
                        continue;
                    };
                    *classes.entry(class).or_insert(0) += 1;
                } else if rule.is_none() && lines != theirs {
                    wrong.push(format!(
                        "namespaces {namespaces} {}\nwe\n{lines}expat\n{theirs}",
                        show()
                    ));
                }
            }
            if let (false, Some(libxml2)) = (namespaces, &libxml2) {
                let theirs = libxml2.accepts(&document);
                if theirs != rule.is_none() {
                    let class = explained_libxml2(&document, rule);
                    let Some(class) = class else {
                        wrong.push(format!("we {result:?}, libxml2 {theirs}, {}", show()));
                        continue;
                    };
                    *classes.entry(class).or_insert(0) += 1;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    println!("{cases} documents, {accepted} well-formed, explained differences: {classes:?}");
    assert!(accepted * 20 > cases, "too few are well-formed");
}

/// Whether there is a reference to a parameter entity.
fn has_parameter_reference(document: &[u8]) -> bool {
    let text = String::from_utf8_lossy(document);
    text.match_indices('%').any(|(at, _)| {
        let name = text[at + 1..].split(';').next().unwrap_or("");
        let fine = |c: char| c.is_alphanumeric() || "_.:-".contains(c);
        !name.is_empty() && name.len() < text.len() - at - 1 && name.chars().all(fine)
    })
}

/// Whether a colon stands before what no local part begins with.
fn has_odd_name(document: &[u8]) -> bool {
    let text = String::from_utf8_lossy(document);
    let behind = text.match_indices(':').filter_map(|(at, _)| text[at + 1..].chars().next());
    behind.into_iter().any(|c| !c.is_alphabetic() && !matches!(c, '_' | ' ' | '=' | '>' | '/'))
}

/// Whether a system identifier has what no URI has, or a fragment.
fn has_odd_system_identifier(document: &[u8]) -> bool {
    let text = String::from_utf8_lossy(document);
    text.match_indices("SYSTEM").any(|(at, _)| {
        let literal = text[at + 6..].trim_start();
        let Some(quote) = literal.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return false;
        };
        let literal = literal[1..].split(quote).next().unwrap_or("");
        !literal.chars().all(|c| c.is_ascii_alphanumeric() || "-._~:/?@!$&'()*+,;=%".contains(c))
    })
}

/// Whether what stands before the first zero is a document, which ends there for libxml2.
fn is_whole_before_zero(document: &[u8]) -> bool {
    let zero = document.iter().position(|byte| *byte == 0);
    let whole = |end: usize| Tree::parse(&document[..end], &session().namespaces(false)).is_ok();
    zero.is_some_and(whole)
}

fn explained_libxml2(document: &[u8], rule: Option<Rule>) -> Option<&'static str> {
    match rule {
        None if has_odd_name(document) => Some("prefixes are looked at in any case"),
        None if has_odd_system_identifier(document) => {
            Some("a system identifier that is no URI, or has a fragment")
        }
        None if contains(document, "SYSTEM ''") => Some("an entity without a system identifier"),
        Some(Rule::UnknownEncoding) if contains(document, "encoding='u") => {
            Some("hyphens in an encoding's name")
        }
        // [4.1]: not declared is an error of validity, once there is a reference to a parameter entity.
        None if contains(document, "%") => Some("an undeclared parameter entity"),
        // Within an entity it forgets that there is an external subset.
        None if contains(document, "<!DOCTYPE a SYSTEM")
            || contains(document, "<!DOCTYPE a PUBLIC") =>
        {
            Some("an undeclared entity within an entity")
        }
        Some(Rule::Name) if contains(document, "NDATA ") => Some("no name behind NDATA"),
        Some(Rule::Version) => Some("versions are looked at little"),
        // WFC: Entity Declared counts those outside parameter entities.
        Some(Rule::EntityDeclared) if contains(document, "yes") && contains(document, "%p;") => {
            Some("standalone, and declared in a parameter entity")
        }
        Some(Rule::Char) if is_whole_before_zero(document) => Some("a zero behind the document"),
        Some(Rule::Document) if contains(document, ">[") => Some("a subset behind the DOCTYPE"),
        Some(Rule::Space) if contains(document, "<!DOCTYPE") => {
            Some("no white space behind DOCTYPE")
        }
        Some(Rule::UniqueAttSpec) if contains(document, "xmlns") => {
            Some("a namespace declared twice")
        }
        _ => None,
    }
}

#[test]
fn contains_is_what_it_says() {
    assert!(contains(b"abc", "bc") && !contains(b"abc", "ac"));
}
