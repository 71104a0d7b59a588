//! Sets of code points: properties, case, and their UTF-8 as a node over bytes.

use std::collections::HashMap;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};
use regex_syntax::utf8::{Utf8Range, Utf8Sequences};

use crate::{ByteSet, Node};

/// The general categories that PCRE names.
const CATEGORIES: [&str; 37] = [
    "C", "Cc", "Cf", "Cn", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn",
    "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm",
    "So", "Z", "Zl", "Zp", "Zs",
];

/// The scripts that PCRE 8.41 and Hyperscan name.
const SCRIPTS: [&str; 93] = [
    "Arabic",
    "Armenian",
    "Avestan",
    "Balinese",
    "Bamum",
    "Batak",
    "Bengali",
    "Bopomofo",
    "Brahmi",
    "Braille",
    "Buginese",
    "Buhid",
    "Canadian_Aboriginal",
    "Carian",
    "Cham",
    "Cherokee",
    "Common",
    "Coptic",
    "Cuneiform",
    "Cypriot",
    "Cyrillic",
    "Deseret",
    "Devanagari",
    "Egyptian_Hieroglyphs",
    "Ethiopic",
    "Georgian",
    "Glagolitic",
    "Gothic",
    "Greek",
    "Gujarati",
    "Gurmukhi",
    "Han",
    "Hangul",
    "Hanunoo",
    "Hebrew",
    "Hiragana",
    "Imperial_Aramaic",
    "Inherited",
    "Inscriptional_Pahlavi",
    "Inscriptional_Parthian",
    "Javanese",
    "Kaithi",
    "Kannada",
    "Katakana",
    "Kayah_Li",
    "Kharoshthi",
    "Khmer",
    "Lao",
    "Latin",
    "Lepcha",
    "Limbu",
    "Linear_B",
    "Lisu",
    "Lycian",
    "Lydian",
    "Malayalam",
    "Mandaic",
    "Meetei_Mayek",
    "Mongolian",
    "Myanmar",
    "New_Tai_Lue",
    "Nko",
    "Ogham",
    "Ol_Chiki",
    "Old_Italic",
    "Old_Persian",
    "Old_South_Arabian",
    "Old_Turkic",
    "Oriya",
    "Osmanya",
    "Phags_Pa",
    "Phoenician",
    "Rejang",
    "Runic",
    "Samaritan",
    "Saurashtra",
    "Shavian",
    "Sinhala",
    "Sundanese",
    "Syloti_Nagri",
    "Syriac",
    "Tagalog",
    "Tagbanwa",
    "Tai_Le",
    "Tai_Tham",
    "Tai_Viet",
    "Tamil",
    "Telugu",
    "Thaana",
    "Thai",
    "Tibetan",
    "Tifinagh",
    "Ugaritic",
];

/// The code points from `first` to `last`, without the surrogates.
pub(super) fn range(first: u32, last: u32) -> ClassUnicode {
    let parts = [(first, last.min(0xd7ff)), (first.max(0xe000), last.min(0x10ffff))];
    let parts = parts.into_iter().filter(|(first, last)| first <= last);
    ClassUnicode::new(parts.filter_map(|(first, last)| {
        Some(ClassUnicodeRange::new(char::from_u32(first)?, char::from_u32(last)?))
    }))
}

/// The bytes of `set` as code points.
pub(super) fn points(set: ByteSet) -> ClassUnicode {
    ClassUnicode::new(set.iter().map(|byte| ClassUnicodeRange::new(byte.into(), byte.into())))
}

/// The code points of `set` below 256 as bytes.
pub(super) fn latin1(set: &ClassUnicode) -> ByteSet {
    let ranges = set.ranges().iter().filter(|range| u32::from(range.start()) < 256);
    ranges
        .flat_map(|range| u32::from(range.start())..=u32::from(range.end()).min(255))
        .map(|point| point as u8)
        .collect()
}

/// The characters of the property `name` as PCRE spells it; `None` if it is unknown.
pub(super) fn property(name: &str) -> Option<ClassUnicode> {
    let union = |names: &[&str]| {
        let mut set = ClassUnicode::empty();
        names.iter().for_each(|name| set.union(&table(name)));
        set
    };
    Some(match name {
        "Any" => range(0, 0x10ffff),
        "L&" => union(&["Lu", "Ll", "Lt"]),
        "Xan" => union(&["L", "N"]),
        "Xwd" => {
            let mut set = union(&["L", "N"]);
            set.union(&range(u32::from('_'), u32::from('_')));
            set
        }
        "Xps" | "Xsp" => {
            let mut set = horizontal();
            set.union(&vertical());
            set
        }
        _ if CATEGORIES.contains(&name)
            || SCRIPTS.contains(&name)
            || matches!(name, "Vai" | "Yi") =>
        {
            table(name)
        }
        _ => return None,
    })
}

/// A category or script from the tables. Without an entry, as for the surrogates, no character has it.
fn table(name: &str) -> ClassUnicode {
    let Ok(hir) = regex_syntax::parse(&format!("\\p{{{name}}}")) else {
        return ClassUnicode::empty();
    };
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(set)) => set,
        // A set of one character.
        HirKind::Literal(literal) => {
            let text = str::from_utf8(&literal.0).unwrap_or_default();
            ClassUnicode::new(text.chars().map(|char| ClassUnicodeRange::new(char, char)))
        }
        _ => ClassUnicode::empty(),
    }
}

/// `\h`: horizontal white space.
pub(super) fn horizontal() -> ClassUnicode {
    let points = [
        ('\t', '\t'),
        (' ', ' '),
        ('\u{a0}', '\u{a0}'),
        ('\u{1680}', '\u{1680}'),
        ('\u{180e}', '\u{180e}'),
        ('\u{2000}', '\u{200a}'),
        ('\u{202f}', '\u{202f}'),
        ('\u{205f}', '\u{205f}'),
        ('\u{3000}', '\u{3000}'),
    ];
    ClassUnicode::new(points.map(|(first, last)| ClassUnicodeRange::new(first, last)))
}

/// `\v`: vertical white space.
pub(super) fn vertical() -> ClassUnicode {
    let points = [('\n', '\r'), ('\u{85}', '\u{85}'), ('\u{2028}', '\u{2029}')];
    ClassUnicode::new(points.map(|(first, last)| ClassUnicodeRange::new(first, last)))
}

/// `[:graph:]` with Unicode properties: all but separators, and of the others (C) only the format characters.
pub(super) fn graph() -> ClassUnicode {
    let mut set = table("Z");
    set.union(&table("C"));
    set.negate();
    let mut format = table("Cf");
    for (first, last) in [(0x61c, 0x61c), (0x180e, 0x180e), (0x2066, 0x2069)] {
        format.difference(&range(first, last));
    }
    set.union(&format);
    set
}

/// `[:print:]` with Unicode properties: [`graph`] and spaces.
pub(super) fn print() -> ClassUnicode {
    let mut set = graph();
    set.union(&table("Zs"));
    set.union(&range(0x180e, 0x180e));
    set
}

/// `[:punct:]` with Unicode properties: punctuation, and the symbols of ASCII.
pub(super) fn punct() -> ClassUnicode {
    let mut set = table("S");
    set.intersect(&range(0, 127));
    set.union(&table("P"));
    set
}

/// One character of `set` in UTF-8.
///
/// The sequences become a tree by their first bytes. Branches with equal tails are merged, so that for example all
/// lead bytes after which any two continuation bytes follow are one class.
pub(super) fn encode(set: &ClassUnicode) -> Node {
    let sequences: Vec<Vec<Utf8Range>> = set
        .ranges()
        .iter()
        .flat_map(|range| Utf8Sequences::new(range.start(), range.end()))
        .map(|sequence| sequence.as_slice().to_vec())
        .collect();
    let tails: Vec<&[Utf8Range]> = sequences.iter().map(Vec::as_slice).collect();
    branch(&tails)
}

/// The sequences as a node: they are sorted, and the first ranges of two of them are equal or disjoint.
fn branch(sequences: &[&[Utf8Range]]) -> Node {
    // In the order of their first appearance, so that equal expressions become equal nodes.
    let mut leads: Vec<(ByteSet, Node)> = Vec::new();
    let mut known: HashMap<Node, usize> = HashMap::new();
    for run in sequences.chunk_by(|one, next| one[0] == next[0]) {
        let lead = ByteSet::range(run[0][0].start, run[0][0].end);
        let tails: Vec<&[Utf8Range]> = run.iter().map(|sequence| &sequence[1..]).collect();
        let tail = if tails[0].is_empty() { Node::Empty } else { branch(&tails) };
        let index = *known.entry(tail.clone()).or_insert(leads.len());
        match leads.get_mut(index) {
            Some((set, _)) => *set = set.union(lead),
            None => leads.push((lead, tail)),
        }
    }
    let mut nodes = leads.into_iter().map(|(lead, tail)| match tail {
        Node::Empty => Node::Class(lead),
        Node::Concat(mut nodes) => {
            nodes.insert(0, Node::Class(lead));
            Node::Concat(nodes)
        }
        tail => Node::Concat(vec![Node::Class(lead), tail]),
    });
    match nodes.len() {
        0 => Node::Class(ByteSet::EMPTY),
        1 => nodes.next().unwrap_or(Node::Empty),
        _ => Node::Alternate(nodes.collect()),
    }
}
