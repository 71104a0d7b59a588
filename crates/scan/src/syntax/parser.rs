//! The parser of expressions: one pass over the bytes, with the open groups on a stack of its own.

use std::collections::{HashMap, HashSet};

use regex_syntax::hir::ClassUnicode;

use super::build;
use super::class::{Mode, Set};
use super::error::{Construct, ErrorKind};
use super::escape::Escape;
use super::unicode;
use super::{MAX_DEPTH, MAX_NODES, MAX_REPEAT};
use crate::{Assertion, ByteSet, Node};

/// An error at an offset.
pub(super) type Located<T> = Result<T, (usize, ErrorKind)>;

/// A part of a sequence.
struct Item {
    node: Node,
    /// Whether a quantifier may follow: not after an assertion, a quantifier or `(?i)`.
    repeatable: bool,
}

/// What becomes of a group when it is closed.
#[derive(Clone, Copy, PartialEq)]
enum Group {
    Plain,
    /// A lookaround, in prefilter mode: replaced by the empty string.
    Lookaround,
    /// `(?(condition)yes|no)`, in prefilter mode: replaced by either.
    Conditional,
    /// `(?(DEFINE)...)`, in prefilter mode: replaced by the empty string.
    Define,
}

/// A group that is open, or the whole expression.
struct Frame {
    group: Group,
    /// The mode outside of the group.
    mode: Mode,
    /// Where the group began.
    start: usize,
    alternatives: Vec<Node>,
    items: Vec<Item>,
}

impl Frame {
    fn new(group: Group, mode: Mode, start: usize) -> Frame {
        Frame { group, mode, start, alternatives: Vec::new(), items: Vec::new() }
    }

    fn end_alternative(&mut self) {
        let nodes = self.items.drain(..).map(|item| item.node).collect();
        self.alternatives.push(build::concat(nodes));
    }

    fn finish(mut self) -> Node {
        self.end_alternative();
        if self.group == Group::Conditional && self.alternatives.len() == 1 {
            self.alternatives.push(Node::Empty);
        }
        match self.group {
            Group::Lookaround | Group::Define => Node::Empty,
            _ => build::alternate(self.alternatives),
        }
    }
}

pub(super) struct Parser<'p> {
    pub(super) text: &'p [u8],
    pub(super) at: usize,
    pub(super) mode: Mode,
    prefilter: bool,
    open: Vec<Frame>,
    frame: Frame,
    /// The groups that capture so far.
    groups: u32,
    names: HashSet<&'p [u8]>,
    /// Where groups are referred to, in prefilter mode: such a group must exist.
    references: Vec<(usize, Reference<'p>)>,
    pub(super) properties: HashMap<&'p str, Option<ClassUnicode>>,
    /// Sets of code points in UTF-8, so that each is encoded once.
    encoded: HashMap<Vec<(char, char)>, Node>,
    nodes: usize,
    /// The next `]` without a backslash before it, for every place before it; the length of the text if there is none.
    pub(super) closing: usize,
}

/// A group that something refers to.
#[derive(Clone, Copy)]
enum Reference<'p> {
    Number(u32),
    Name(&'p [u8]),
}

/// Parses `text` from `at`, which is after the control verbs.
pub(super) fn parse(text: &[u8], at: usize, mode: Mode, prefilter: bool) -> Located<Node> {
    let frame = Frame::new(Group::Plain, mode, at);
    Parser {
        text,
        at,
        mode,
        prefilter,
        open: Vec::new(),
        frame,
        groups: 0,
        names: HashSet::new(),
        references: Vec::new(),
        properties: HashMap::new(),
        encoded: HashMap::new(),
        nodes: 0,
        closing: 0,
    }
    .run()
}

/// Reads `(*UTF8)` and `(*UCP)` at the start; returns the offset after them.
pub(super) fn verbs(text: &[u8], mode: &mut Mode) -> Located<usize> {
    let mut at = 0;
    while let Some(name) = verb(&text[at..]) {
        match name {
            b"UTF8" | b"UTF" => mode.utf8 = true,
            b"UCP" => mode.ucp = true,
            _ => return Err((at, unknown_verb(name))),
        }
        at += name.len() + 3;
    }
    Ok(at)
}

/// The name of the control verb at the start of `text`.
fn verb(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(b"(*")?;
    let end = rest.iter().position(|&byte| byte == b')')?;
    (end > 0).then(|| &rest[..end])
}

fn unknown_verb(name: &[u8]) -> ErrorKind {
    let until = name.iter().position(|byte| b":=".contains(byte)).unwrap_or(name.len());
    match &name[..until] {
        b"LIMIT_MATCH" | b"LIMIT_RECURSION" | b"LIMIT_HEAP" | b"LIMIT_DEPTH"
        | b"NO_AUTO_POSSESS" | b"NO_START_OPT" | b"UTF16" | b"UTF32" | b"CR" | b"LF" | b"CRLF"
        | b"ANYCRLF" | b"ANY" | b"BSR_ANYCRLF" | b"BSR_UNICODE" | b"ACCEPT" | b"F" | b"FAIL"
        | b"MARK" | b"" | b"COMMIT" | b"PRUNE" | b"SKIP" | b"THEN" | b"NOTEMPTY"
        | b"NOTEMPTY_ATSTART" | b"NUL" | b"NO_JIT" | b"NO_DOTSTAR_ANCHOR" => {
            ErrorKind::Unsupported(Construct::Verb)
        }
        b"UTF8" | b"UTF" | b"UCP" => ErrorKind::MisplacedVerb,
        _ => ErrorKind::UnknownVerb,
    }
}

impl<'p> Parser<'p> {
    fn run(mut self) -> Located<Node> {
        while let Some(byte) = self.peek(0) {
            let start = self.at;
            match byte {
                b'\\' => self.escape()?,
                b'[' => self.bracket()?,
                b'(' => self.group()?,
                b')' => self.close()?,
                b'|' => {
                    self.at += 1;
                    self.frame.end_alternative();
                }
                b'.' => {
                    self.at += 1;
                    self.push_set(start, Set::any(self.mode))?;
                }
                b'^' | b'$' => {
                    self.at += 1;
                    self.push_assertion(match (byte, self.mode.multi_line) {
                        (b'^', false) => Assertion::TextStart,
                        (b'^', true) => Assertion::LineStart,
                        (_, false) => Assertion::TextEndOrNewline,
                        (_, true) => Assertion::LineEnd,
                    });
                }
                b'*' | b'+' | b'?' | b'{' => self.quantifier()?,
                b'#' if self.mode.extended => {
                    let rest = &self.text[self.at..];
                    self.at +=
                        rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len() - 1) + 1;
                }
                b'\t'..=b'\r' | b' ' if self.mode.extended => self.at += 1,
                _ => self.literal()?,
            }
        }
        if !self.open.is_empty() {
            return Err((self.frame.start, ErrorKind::MissingParenthesis));
        }
        for (offset, reference) in &self.references {
            let known = match reference {
                Reference::Number(number) => (1..=self.groups).contains(number),
                Reference::Name(name) => self.names.contains(name),
            };
            if !known {
                return Err((*offset, ErrorKind::InvalidReference));
            }
        }
        Ok(self.frame.finish())
    }

    /// The byte `ahead` of the next one.
    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    pub(super) fn rest(&self) -> &'p [u8] {
        &self.text[self.at..]
    }

    fn push(&mut self, start: usize, node: Node, repeatable: bool) -> Located<()> {
        self.nodes += size(&node);
        if self.nodes > MAX_NODES {
            return Err((start, ErrorKind::TooLarge));
        }
        self.frame.items.push(Item { node, repeatable });
        Ok(())
    }

    fn push_assertion(&mut self, assertion: Assertion) {
        self.frame.items.push(Item { node: Node::Assert(assertion), repeatable: false });
    }

    pub(super) fn push_set(&mut self, start: usize, set: Set) -> Located<()> {
        let node = match &set {
            Set::Bytes(set) => Node::Class(*set),
            Set::Points(points) => {
                let ranges = points.ranges().iter();
                let ranges: Vec<(char, char)> =
                    ranges.map(|range| (range.start(), range.end())).collect();
                self.encoded.entry(ranges).or_insert_with(|| unicode::encode(points)).clone()
            }
        };
        self.push(start, node, true)
    }

    /// A character that stands for itself.
    fn push_char(&mut self, start: usize, char: u32) -> Located<()> {
        let byte = u8::try_from(char)
            .ok()
            .filter(|byte| !self.mode.utf8 || byte.is_ascii() && !self.mode.caseless);
        if let Some(byte) = byte {
            let mut set = ByteSet::one(byte);
            if self.mode.caseless {
                set.insert(byte.to_ascii_lowercase());
                set.insert(byte.to_ascii_uppercase());
            }
            return self.push(start, Node::Class(set), true);
        }
        self.push_set(start, Set::one(char, self.mode))
    }

    /// The next character, which is a byte without UTF-8.
    pub(super) fn next_char(&mut self) -> Option<u32> {
        let first = self.peek(0)?;
        let len = match first {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0.. => 4,
            _ => 1,
        };
        if !self.mode.utf8 || len == 1 {
            self.at += 1;
            return Some(first.into());
        }
        // The whole expression is valid, and tokens end between characters.
        let bytes = self.text.get(self.at..self.at + len)?;
        self.at += len;
        str::from_utf8(bytes).ok()?.chars().next().map(u32::from)
    }

    fn literal(&mut self) -> Located<()> {
        let start = self.at;
        let char = self.next_char().ok_or((start, ErrorKind::InvalidUtf8))?;
        self.push_char(start, char)
    }

    pub(super) fn unsupported<T>(&self, start: usize, construct: Construct) -> Located<T> {
        Err((start, ErrorKind::Unsupported(construct)))
    }

    // Quantifiers.

    fn quantifier(&mut self) -> Located<()> {
        let start = self.at;
        let (min, max) = match self.text[start] {
            b'*' => (0, None),
            b'+' => (1, None),
            b'?' => (0, Some(1)),
            _ => match self.bounds()? {
                Some(bounds) => bounds,
                None => return self.literal(),
            },
        };
        self.at += 1;
        match self.peek(0) {
            Some(b'?') => self.at += 1,
            Some(b'+') => {
                if !self.prefilter {
                    return self.unsupported(start, Construct::Possessive);
                }
                self.at += 1;
            }
            _ => {}
        }
        if max.is_some_and(|max| max < min) {
            return Err((start, ErrorKind::InvalidRepeat));
        }
        let item = self.frame.items.pop().filter(|item| item.repeatable);
        let Some(item) = item else {
            return Err((start, ErrorKind::InvalidRepeat));
        };
        if max.unwrap_or(min) > MAX_REPEAT {
            return Err((start, ErrorKind::RepeatTooLarge));
        }
        self.frame.items.push(Item { node: build::repeat(item.node, min, max), repeatable: false });
        Ok(())
    }

    /// Reads `{n}`, `{n,}` or `{n,m}`; anything else is not a quantifier.
    fn bounds(&mut self) -> Located<Option<(u32, Option<u32>)>> {
        let start = self.at;
        let rest = self.rest();
        let end =
            1 + rest[1..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b',').count();
        if rest.get(end) != Some(&b'}') {
            return Ok(None);
        }
        let (first, second) = match rest[..end].iter().position(|&byte| byte == b',') {
            Some(comma) => (&rest[1..comma], Some(&rest[comma + 1..end])),
            None => (&rest[1..end], None),
        };
        if first.is_empty() || second.is_some_and(|second| second.contains(&b',')) {
            return Ok(None);
        }
        let number = |digits: &[u8]| number(digits).ok_or((start, ErrorKind::NumberTooBig));
        let min = number(first)?;
        let max = match second {
            None => Some(min),
            Some(b"") => None,
            Some(second) => Some(number(second)?),
        };
        self.at += end;
        Ok(Some((min, max)))
    }

    // Groups.

    fn group(&mut self) -> Located<()> {
        let start = self.at;
        if self.peek(1) == Some(b'*') && self.peek(2).is_some_and(|byte| byte != b')') {
            let kind = verb(self.rest()).map_or(ErrorKind::UnknownVerb, unknown_verb);
            return Err((start, kind));
        }
        if self.peek(1) != Some(b'?') {
            self.at += 1;
            self.groups += 1;
            return self.enter(start, Group::Plain);
        }
        let rest = &self.rest()[2..];
        match rest {
            [b'#', ..] => {
                let end = rest.iter().position(|&byte| byte == b')');
                self.at += end.ok_or((start, ErrorKind::UnterminatedComment))? + 3;
                Ok(())
            }
            [b'=' | b'!', ..] => self.lookaround(start, 3),
            [b'<', b'=' | b'!', ..] => self.lookaround(start, 4),
            [b'>', ..] if self.prefilter => {
                self.at += 3;
                self.enter(start, Group::Plain)
            }
            [b'>', ..] => self.unsupported(start, Construct::AtomicGroup),
            [b'<', rest @ ..] => self.named_group(start, 3, rest, b'>'),
            [b'\'', rest @ ..] => self.named_group(start, 3, rest, b'\''),
            [b'P', b'<', rest @ ..] => self.named_group(start, 4, rest, b'>'),
            [b'P', b'=', rest @ ..] => match name(rest, b')') {
                Some(name) => {
                    self.at += 5 + name.len();
                    self.back_reference(start, Reference::Name(name))
                }
                None => Err((start, ErrorKind::UnknownGroup)),
            },
            [b'P', b'>', ..] | [b'&' | b'R' | b'0'..=b'9', ..] | [b'+' | b'-', b'0'..=b'9', ..] => {
                self.unsupported(start, Construct::Recursion)
            }
            [b'{', ..] | [b'?', b'{', ..] => self.unsupported(start, Construct::Code),
            [b'C', ..] => self.unsupported(start, Construct::Callout),
            [b'|', ..] => self.unsupported(start, Construct::BranchReset),
            [b'(', ..] => self.conditional(start),
            _ => self.modifiers(start),
        }
    }

    fn enter(&mut self, start: usize, group: Group) -> Located<()> {
        if self.open.len() == MAX_DEPTH {
            return Err((start, ErrorKind::TooDeep));
        }
        let frame = Frame::new(group, self.mode, start);
        self.open.push(std::mem::replace(&mut self.frame, frame));
        Ok(())
    }

    fn close(&mut self) -> Located<()> {
        let start = self.at;
        let outer = self.open.pop().ok_or((start, ErrorKind::UnmatchedParenthesis))?;
        let frame = std::mem::replace(&mut self.frame, outer);
        let most = match frame.group {
            Group::Conditional => 2,
            Group::Define => 1,
            Group::Plain | Group::Lookaround => usize::MAX,
        };
        // The last one is not ended yet.
        if frame.alternatives.len() >= most {
            return Err((frame.start, ErrorKind::ConditionBranches));
        }
        self.mode = frame.mode;
        self.at += 1;
        self.frame.items.push(Item { node: frame.finish(), repeatable: true });
        Ok(())
    }

    fn lookaround(&mut self, start: usize, len: usize) -> Located<()> {
        if !self.prefilter {
            return self.unsupported(start, Construct::Lookaround);
        }
        self.at += len;
        self.enter(start, Group::Lookaround)
    }

    fn named_group(&mut self, start: usize, len: usize, rest: &'p [u8], end: u8) -> Located<()> {
        let name = name(rest, end).ok_or((start, ErrorKind::UnknownGroup))?;
        if name[0].is_ascii_digit() {
            return Err((start, ErrorKind::GroupNameDigit));
        }
        if !self.names.insert(name) {
            let name = String::from_utf8_lossy(name).into_owned();
            return Err((start, ErrorKind::DuplicateGroupName(name)));
        }
        self.at += len + name.len() + 1;
        self.groups += 1;
        self.enter(start, Group::Plain)
    }

    /// `(?(`: in prefilter mode a group whose condition is ignored.
    fn conditional(&mut self, start: usize) -> Located<()> {
        if !self.prefilter {
            return self.unsupported(start, Construct::Conditional);
        }
        self.at += 2;
        if self.peek(1) == Some(b'?') {
            // The condition is a lookaround, which is the next group.
            return self.enter(start, Group::Conditional);
        }
        let rest = self.rest();
        let end = rest
            .iter()
            .position(|&byte| byte == b')')
            .ok_or((start, ErrorKind::MissingParenthesis))?;
        let condition = &rest[1..end];
        match condition {
            b"DEFINE" => {}
            [b'R', ..] => return self.unsupported(start, Construct::Recursion),
            [b'0'..=b'9' | b'+' | b'-', ..] => {
                let number = number(condition).ok_or((start, ErrorKind::InvalidReference))?;
                self.references.push((start, Reference::Number(number)));
            }
            [b'<', name @ .., b'>'] | [b'\'', name @ .., b'\''] | name => {
                self.references.push((start, Reference::Name(name)));
            }
        }
        self.at += end + 1;
        self.enter(start, if condition == b"DEFINE" { Group::Define } else { Group::Conditional })
    }

    /// `(?imsx-imsx)` and `(?imsx-imsx:...)`.
    fn modifiers(&mut self, start: usize) -> Located<()> {
        let (mut mode, mut on, mut after_dash) = (self.mode, true, false);
        for (len, &byte) in self.rest()[2..].iter().enumerate() {
            let field = match byte {
                b'i' => &mut mode.caseless,
                b'm' => &mut mode.multi_line,
                b's' => &mut mode.dot_all,
                b'x' => &mut mode.extended,
                b'-' if on => {
                    (on, after_dash) = (false, true);
                    continue;
                }
                b':' | b')' if !after_dash => {
                    self.at += 3 + len;
                    if byte == b':' {
                        self.enter(start, Group::Plain)?;
                    } else {
                        self.frame.items.push(Item { node: Node::Empty, repeatable: false });
                    }
                    self.mode = mode;
                    return Ok(());
                }
                _ => break,
            };
            *field = on;
            after_dash = false;
        }
        Err((start, ErrorKind::UnknownGroup))
    }

    // Escapes.

    fn escape(&mut self) -> Located<()> {
        let start = self.at;
        let letter = self.peek(1).ok_or((start, ErrorKind::TrailingBackslash))?;
        match letter {
            b'Q' => return self.quoted(),
            b'E' => {
                self.at += 2;
                return Ok(());
            }
            b'1'..=b'9' => return self.digits(start),
            _ => {}
        }
        match self.common_escape()? {
            Escape::Char(char) => return self.push_char(start, char),
            Escape::Named(named, negated) => {
                return self.push_set(start, named.set(negated, self.mode));
            }
            Escape::Property(property, negated) => {
                let mut set = Set::new(self.mode);
                set.add_property(&property, negated);
                return self.push_set(start, set);
            }
            Escape::Other(_) => {}
        }
        match letter {
            b'A' => self.push_assertion(Assertion::TextStart),
            b'Z' => self.push_assertion(Assertion::TextEndOrNewline),
            b'z' => self.push_assertion(Assertion::TextEnd),
            b'b' | b'B' if self.mode.ucp && self.prefilter => {
                self.push(start, Node::Empty, false)?
            }
            b'b' | b'B' if self.mode.ucp => {
                return self.unsupported(start, Construct::UnicodeBoundary);
            }
            b'b' => self.push_assertion(Assertion::WordBoundary),
            b'B' => self.push_assertion(Assertion::NotWordBoundary),
            b'C' if self.mode.utf8 => return self.unsupported(start, Construct::SingleByte),
            b'C' => self.push(start, Node::Class(ByteSet::ALL), true)?,
            b'R' => return self.unsupported(start, Construct::NewlineSequence),
            b'X' if self.prefilter => {
                let any = Set::any(Mode { dot_all: true, ..self.mode }).into_node();
                self.push(start, build::repeat(any, 1, None), true)?;
            }
            b'X' => return self.unsupported(start, Construct::GraphemeCluster),
            b'K' => return self.unsupported(start, Construct::StartReset),
            b'G' => return self.unsupported(start, Construct::ScanStart),
            b'g' | b'k' => return self.reference(start, letter),
            b'N' | b'l' | b'u' | b'L' | b'U' => {
                return self.unsupported(start, Construct::Escape(letter));
            }
            _ => {
                self.at = start + 1;
                return self.literal();
            }
        }
        Ok(())
    }

    /// `\Q...\E`, or to the end.
    fn quoted(&mut self) -> Located<()> {
        self.at += 2;
        while !self.rest().is_empty() {
            if self.rest().starts_with(b"\\E") {
                self.at += 2;
                break;
            }
            self.literal()?;
        }
        Ok(())
    }

    /// `\1` and following: a reference back, or octal if there are not that many groups.
    fn digits(&mut self, start: usize) -> Located<()> {
        let rest = &self.rest()[1..];
        let len = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        let octal = rest
            .iter()
            .take(3)
            .position(|byte| !matches!(byte, b'0'..=b'7'))
            .unwrap_or(rest.len().min(3));
        if len == 1 && matches!(rest[0], b'8' | b'9') {
            self.at += 2;
            return self.push_char(start, rest[0].into());
        }
        let group = number(&rest[..len]).ok_or((start, ErrorKind::NumberTooBig))?;
        if len == 1 || group <= self.groups {
            self.at += 1 + len;
            if group > self.groups && !self.prefilter {
                return Err((start, ErrorKind::InvalidReference));
            }
            return self.back_reference(start, Reference::Number(group));
        }
        self.at += 1 + octal;
        if octal > 0 {
            let code =
                rest[..octal].iter().fold(0, |code, digit| code << 3 | u32::from(digit - b'0'));
            let code = self.limited(start, code)?;
            self.push_char(start, code)?;
        }
        // What follows are digits as literals, which the main loop reads.
        Ok(())
    }

    /// `\g` and `\k`.
    fn reference(&mut self, start: usize, letter: u8) -> Located<()> {
        let (open, rest) = self.rest().split_first().unwrap_or((&0, &[]));
        let (end, inner) = match open {
            b'{' => (b'}', rest),
            b'<' => (b'>', rest),
            b'\'' => (b'\'', rest),
            _ if letter == b'g' => {
                let digits = self.rest().strip_prefix(b"-").unwrap_or(self.rest());
                let len = digits.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
                let back = self.rest().len() - digits.len();
                self.at += back + len;
                let group = self.group_number(start, &digits[..len], back > 0)?;
                return self.back_reference(start, group);
            }
            _ => return self.unsupported(start, Construct::Escape(letter)),
        };
        if letter == b'g' && end != b'}' {
            return self.unsupported(start, Construct::Recursion);
        }
        let unsigned = inner.strip_prefix(b"-").unwrap_or(inner);
        let Some(name) = name(unsigned, end) else {
            return Err((start, ErrorKind::InvalidReference));
        };
        let back = inner.len() - unsigned.len();
        self.at += 2 + back + name.len();
        let group = if letter == b'g' && (back > 0 || name.iter().all(u8::is_ascii_digit)) {
            self.group_number(start, name, back > 0)?
        } else {
            Reference::Name(name)
        };
        self.back_reference(start, group)
    }

    /// A group by its number, or by its distance back from here.
    fn group_number(&self, start: usize, digits: &[u8], back: bool) -> Located<Reference<'p>> {
        let invalid = (start, ErrorKind::InvalidReference);
        let number = number(digits).filter(|number| *number > 0).ok_or(invalid.clone())?;
        let number =
            if back { (self.groups + 1).checked_sub(number).ok_or(invalid)? } else { number };
        Ok(Reference::Number(number))
    }

    /// A reference back: in prefilter mode, anything.
    fn back_reference(&mut self, start: usize, group: Reference<'p>) -> Located<()> {
        if !self.prefilter {
            return self.unsupported(start, Construct::BackReference);
        }
        self.references.push((start, group));
        let any = build::repeat(Node::Class(ByteSet::ALL), 0, None);
        self.push(start, any, true)
    }
}

/// The name of a group at the start of `text`, before `end`.
fn name(text: &[u8], end: u8) -> Option<&[u8]> {
    let len = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
    (len > 0 && text[len] == end).then(|| &text[..len])
}

/// A decimal number below 2^31.
fn number(digits: &[u8]) -> Option<u32> {
    let number: u32 = str::from_utf8(digits).ok()?.parse().ok()?;
    (number < 1 << 31).then_some(number)
}

/// The number of nodes.
fn size(node: &Node) -> usize {
    match node {
        Node::Concat(nodes) | Node::Alternate(nodes) => 1 + nodes.iter().map(size).sum::<usize>(),
        Node::Repeat { node, .. } => 1 + size(node),
        Node::Empty | Node::Class(_) | Node::Assert(_) => 1,
    }
}
