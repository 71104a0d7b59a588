//! Sets of characters: `[...]`, `.`, `\d`, POSIX names and properties, as bytes or as code points.

use regex_syntax::hir::ClassUnicode;

use super::error::ErrorKind;
use super::unicode;
use crate::{ByteSet, Node};

/// How characters are read: what flags and `(?imsx)` set.
#[derive(Clone, Copy, Default)]
pub(super) struct Mode {
    pub(super) caseless: bool,
    pub(super) dot_all: bool,
    pub(super) multi_line: bool,
    pub(super) extended: bool,
    pub(super) utf8: bool,
    pub(super) ucp: bool,
}

/// A set of characters with a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Alnum,
    Alpha,
    Ascii,
    Blank,
    Cntrl,
    Digit,
    Graph,
    Lower,
    Print,
    Punct,
    Space,
    Upper,
    Word,
    Xdigit,
    /// `\h`.
    Horizontal,
    /// `\v`.
    Vertical,
}

impl Named {
    /// The class of `[:name:]`.
    pub(super) fn posix(name: &[u8]) -> Option<Named> {
        Some(match name {
            b"alnum" => Named::Alnum,
            b"alpha" => Named::Alpha,
            b"ascii" => Named::Ascii,
            b"blank" => Named::Blank,
            b"cntrl" => Named::Cntrl,
            b"digit" => Named::Digit,
            b"graph" => Named::Graph,
            b"lower" => Named::Lower,
            b"print" => Named::Print,
            b"punct" => Named::Punct,
            b"space" => Named::Space,
            b"upper" => Named::Upper,
            b"word" => Named::Word,
            b"xdigit" => Named::Xdigit,
            _ => return None,
        })
    }

    /// The class of a letter after a backslash, and whether it is negated.
    pub(super) fn escape(letter: u8) -> Option<(Named, bool)> {
        let named = match letter.to_ascii_lowercase() {
            b'd' => Named::Digit,
            b's' => Named::Space,
            b'w' => Named::Word,
            b'h' => Named::Horizontal,
            b'v' => Named::Vertical,
            _ => return None,
        };
        Some((named, letter.is_ascii_uppercase()))
    }

    /// The class without properties of Unicode.
    fn bytes(self, mode: Mode) -> ByteSet {
        let is = |test: fn(&u8) -> bool| (0..=255).filter(test).collect();
        match self {
            Named::Alnum => is(u8::is_ascii_alphanumeric),
            Named::Alpha => is(u8::is_ascii_alphabetic),
            Named::Lower | Named::Upper if mode.caseless => is(u8::is_ascii_alphabetic),
            Named::Ascii => ByteSet::range(0, 127),
            Named::Blank => ByteSet::from_iter(*b"\t "),
            Named::Cntrl => is(u8::is_ascii_control),
            Named::Digit => is(u8::is_ascii_digit),
            Named::Graph => is(u8::is_ascii_graphic),
            Named::Lower => is(u8::is_ascii_lowercase),
            Named::Print => ByteSet::range(b' ', b'~'),
            Named::Punct => is(u8::is_ascii_punctuation),
            Named::Space => ByteSet::range(b'\t', b'\r').union(ByteSet::one(b' ')),
            Named::Upper => is(u8::is_ascii_uppercase),
            Named::Word => is(u8::is_ascii_alphanumeric).union(ByteSet::one(b'_')),
            Named::Xdigit => is(u8::is_ascii_hexdigit),
            Named::Horizontal => ByteSet::from_iter(*b"\t \xa0"),
            Named::Vertical => ByteSet::range(b'\n', b'\r').union(ByteSet::one(0x85)),
        }
    }

    /// The class with properties of Unicode; `None` where they make no difference.
    fn properties(self, mode: Mode) -> Option<ClassUnicode> {
        let name = match self {
            Named::Alnum => "Xan",
            Named::Alpha => "L",
            Named::Lower | Named::Upper if mode.caseless => "L",
            Named::Digit => "Nd",
            Named::Lower => "Ll",
            Named::Upper => "Lu",
            Named::Space => "Xps",
            Named::Word => "Xwd",
            Named::Blank => return Some(unicode::horizontal()),
            Named::Graph => return Some(unicode::graph()),
            Named::Print => return Some(unicode::print()),
            Named::Punct => return Some(unicode::punct()),
            Named::Ascii | Named::Cntrl | Named::Xdigit | Named::Horizontal | Named::Vertical => {
                return None;
            }
        };
        unicode::property(name)
    }

    /// The class as code points, in UTF-8 mode.
    fn points(self, mode: Mode) -> ClassUnicode {
        let properties = if mode.ucp { self.properties(mode) } else { None };
        properties.unwrap_or_else(|| match self {
            Named::Horizontal => unicode::horizontal(),
            Named::Vertical => unicode::vertical(),
            _ => unicode::points(self.bytes(mode)),
        })
    }

    /// The class alone, or all other characters.
    pub(super) fn set(self, negated: bool, mode: Mode) -> Set {
        let mut set = Set::new(mode);
        set.add_named(self, negated, mode);
        set
    }
}

/// A set of bytes, or in UTF-8 mode of code points.
#[derive(Clone)]
pub(super) enum Set {
    Bytes(ByteSet),
    Points(ClassUnicode),
}

impl Set {
    pub(super) fn new(mode: Mode) -> Set {
        if mode.utf8 { Set::Points(ClassUnicode::empty()) } else { Set::Bytes(ByteSet::EMPTY) }
    }

    /// `.`.
    pub(super) fn any(mode: Mode) -> Set {
        let mut set = Set::new(mode);
        if !mode.dot_all {
            set.add_range(u32::from(b'\n'), u32::from(b'\n'), Mode::default());
        }
        set.negate();
        set
    }

    /// One character, in both cases if the mode says so. Without UTF-8, `char` is below 256.
    pub(super) fn one(char: u32, mode: Mode) -> Set {
        let mut set = Set::new(mode);
        set.add_range(char, char, mode);
        set
    }

    fn add_range(&mut self, first: u32, last: u32, mode: Mode) {
        match self {
            Set::Bytes(set) => {
                let mut new = ByteSet::range(first as u8, last as u8);
                if mode.caseless {
                    new = new.both_cases();
                }
                *set = set.union(new);
            }
            Set::Points(set) => {
                let mut new = unicode::range(first, last);
                if mode.caseless {
                    new.case_fold_simple();
                }
                set.union(&new);
            }
        }
    }

    fn add_named(&mut self, named: Named, negated: bool, mode: Mode) {
        match self {
            Set::Bytes(set) => {
                let properties = if mode.ucp { named.properties(mode) } else { None };
                let new =
                    properties.map_or_else(|| named.bytes(mode), |points| unicode::latin1(&points));
                *set = set.union(if negated { new.complement() } else { new });
            }
            Set::Points(set) => {
                let mut new = named.points(mode);
                if negated {
                    new.negate();
                }
                set.union(&new);
            }
        }
    }

    /// Adds the characters of a property, or all others.
    pub(super) fn add_property(&mut self, property: &ClassUnicode, negated: bool) {
        match self {
            Set::Bytes(set) => {
                let new = unicode::latin1(property);
                *set = set.union(if negated { new.complement() } else { new });
            }
            Set::Points(set) => {
                let mut new = property.clone();
                if negated {
                    new.negate();
                }
                set.union(&new);
            }
        }
    }

    fn negate(&mut self) {
        match self {
            Set::Bytes(set) => *set = set.complement(),
            Set::Points(set) => set.negate(),
        }
    }

    /// One character of the set as a node.
    pub(super) fn into_node(self) -> Node {
        match self {
            Set::Bytes(set) => Node::Class(set),
            Set::Points(set) => unicode::encode(&set),
        }
    }
}

/// A class in brackets while it is read: its members, and whether a range may be open.
pub(super) struct Bracket {
    mode: Mode,
    set: Set,
    negated: bool,
    /// The last member, if it is a character that may begin a range.
    start: Option<u32>,
    /// A dash after `start` was read.
    dash: bool,
}

impl Bracket {
    pub(super) fn new(mode: Mode) -> Bracket {
        Bracket { mode, set: Set::new(mode), negated: false, start: None, dash: false }
    }

    /// `^` at the start; false if there was one already.
    pub(super) fn negate(&mut self) -> bool {
        !std::mem::replace(&mut self.negated, true)
    }

    /// A character, which may end a range.
    pub(super) fn add(&mut self, char: u32) -> Result<(), ErrorKind> {
        let first = match self.start {
            Some(first) if self.dash => first,
            _ => char,
        };
        if first > char {
            return Err(ErrorKind::RangeOrder);
        }
        self.set.add_range(first, char, self.mode);
        self.start = (!self.dash).then_some(char);
        self.dash = false;
        Ok(())
    }

    /// A dash that is not escaped: between two characters, the sign of a range.
    pub(super) fn add_dash(&mut self) -> Result<(), ErrorKind> {
        if self.dash || self.start.is_none() {
            return self.add(u32::from(b'-'));
        }
        self.dash = true;
        Ok(())
    }

    pub(super) fn add_named(&mut self, named: Named, negated: bool) -> Result<(), ErrorKind> {
        self.no_range()?;
        self.set.add_named(named, negated, self.mode);
        Ok(())
    }

    pub(super) fn add_property(
        &mut self,
        property: &ClassUnicode,
        negated: bool,
    ) -> Result<(), ErrorKind> {
        self.no_range()?;
        self.set.add_property(property, negated);
        Ok(())
    }

    fn no_range(&mut self) -> Result<(), ErrorKind> {
        self.start = None;
        if self.dash { Err(ErrorKind::InvalidRange) } else { Ok(()) }
    }

    /// The set of the whole class.
    pub(super) fn finish(mut self) -> Set {
        if self.dash {
            self.set.add_range(u32::from(b'-'), u32::from(b'-'), self.mode);
        }
        if self.negated {
            self.set.negate();
        }
        self.set
    }
}
