//! Regular expressions of XML Schema (Datatypes, appendix F), as those of `regex-automata`.
//!
//! Sets of characters are computed here, subtraction included; an expression matches whole literals.

use std::sync::Arc;

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::meta::Regex;
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition};

use super::blocks::block;

/// Parentheses and subtractions within each other.
const MAX_DEPTH: u32 = 64;
/// Bytes of the compiled expression.
const MAX_SIZE: usize = 4 << 20;
/// Bytes of an automaton over bytes, and of the memory in which it is made: larger ones are made while they run.
const MAX_TABLE: usize = 256 << 10;
const MAX_WORK: usize = 1 << 20;

/// Why an expression is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PatternError {
    Syntax(&'static str),
    TooLarge,
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    row: Option<Row>,
    table: Option<Table>,
    regex: Regex,
    /// As it was written.
    pub(crate) text: Box<str>,
}

impl Pattern {
    /// Patterns of one derivation step are alternatives.
    pub(crate) fn compile(alternatives: &[String]) -> Result<Pattern, PatternError> {
        let mut all = Vec::new();
        for text in alternatives {
            let mut parser = Parser { rest: text.chars().collect(), at: 0, depth: 0 };
            let one = parser.expression()?;
            if parser.at < parser.rest.len() {
                return Err(PatternError::Syntax("an unmatched parenthesis"));
            }
            all.push(one);
        }
        let hir = Hir::alternation(all);
        let row = Row::new(&hir);
        let table = Table::new(&hir);
        let hir = Hir::concat(vec![Hir::look(Look::Start), hir, Hir::look(Look::End)]);
        let config = Regex::config()
            .nfa_size_limit(Some(MAX_SIZE))
            .which_captures(regex_automata::nfa::thompson::WhichCaptures::None);
        match Regex::builder().configure(config).build_from_hir(&hir) {
            Ok(regex) => Ok(Pattern { row, table, regex, text: alternatives.join("|").into() }),
            Err(_) => Err(PatternError::TooLarge),
        }
    }

    /// Whether a text is known to match, and not to have spaces or control characters.
    #[inline]
    pub(crate) fn matches_solid(&self, text: &[u8]) -> bool {
        self.row.as_ref().is_some_and(|row| row.is_solid && row.matches(text))
    }

    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        if self.row.as_ref().is_some_and(|row| row.matches(text)) {
            return true;
        }
        match &self.table {
            Some(table) => table.matches(text),
            None => self.regex.is_match(Input::new(text).anchored(Anchored::Yes)),
        }
    }
}

/// Sets of characters below 128, one for each place: what most patterns are. Texts that it does not match may match all the same.
#[derive(Clone, Debug)]
struct Row {
    sets: Vec<[u64; 4]>,
    /// No set has spaces or control characters.
    is_solid: bool,
    /// How many characters a text has; more than there are sets: all of the last one.
    min: usize,
    max: usize,
}

/// Spaces and control characters.
const LOW: u64 = (1 << 33) - 1;
/// Sets of a row.
const MAX_ROW: usize = 64;

impl Row {
    fn new(hir: &Hir) -> Option<Row> {
        let mut row = Row { sets: Vec::new(), is_solid: false, min: 0, max: 0 };
        row.add(hir)?;
        row.is_solid = row.sets.iter().all(|set| set[0] & LOW == 0);
        (!row.sets.is_empty()).then_some(row)
    }

    /// Behind what is there. `None`: not in this form.
    fn add(&mut self, hir: &Hir) -> Option<()> {
        let (set, min, max) = match hir.kind() {
            HirKind::Empty => return Some(()),
            HirKind::Concat(all) => return all.iter().try_for_each(|one| self.add(one)),
            HirKind::Literal(literal) => {
                return literal.0.iter().try_for_each(|byte| {
                    let mut set = [0; 4];
                    set[usize::from(*byte) / 64] |= 1 << (byte % 64);
                    if !byte.is_ascii() {
                        return None;
                    }
                    self.push(set, 1, 1)
                });
            }
            HirKind::Repetition(it) => {
                let max = it.max.map_or(usize::MAX, |max| max as usize);
                (low_set(&it.sub)?, it.min as usize, max)
            }
            _ => (low_set(hir)?, 1, 1),
        };
        self.push(set, min, max)
    }

    fn push(&mut self, set: [u64; 4], min: usize, max: usize) -> Option<()> {
        let len = if max == usize::MAX { min.max(1) } else { max };
        // Behind what varies nothing has a place.
        if self.min != self.max || len > MAX_ROW - self.sets.len().min(MAX_ROW) {
            return None;
        }
        self.sets.extend(std::iter::repeat_n(set, len));
        (self.min, self.max) = (self.min + min, self.max.saturating_add(max));
        Some(())
    }

    #[inline]
    fn matches(&self, text: &[u8]) -> bool {
        let has = |set: &[u64; 4], byte: &u8| set[usize::from(byte / 64)] >> (byte % 64) & 1 != 0;
        let (first, more) = text.split_at(text.len().min(self.sets.len()));
        (self.min..=self.max).contains(&text.len())
            && first.iter().zip(&self.sets).all(|(byte, set)| has(set, byte))
            && (more.is_empty()
                || self.sets.last().is_some_and(|set| more.iter().all(|it| has(set, it))))
    }
}

/// The characters below 128 of a class or a single character.
fn low_set(hir: &Hir) -> Option<[u64; 4]> {
    let mut set = [0; 4];
    match hir.kind() {
        HirKind::Literal(literal) => match *literal.0 {
            [byte @ ..128] => set[usize::from(byte / 64)] |= 1 << (byte % 64),
            _ => return None,
        },
        HirKind::Class(Class::Unicode(class)) => {
            for c in class.iter().flat_map(|it| it.start()..=it.end().min('\u{7f}')) {
                let byte = c as u8;
                set[usize::from(byte / 64)] |= 1 << (byte % 64);
            }
        }
        _ => return None,
    }
    Some(set)
}

/// An automaton with a transition for each state and byte.
#[derive(Clone, Debug)]
struct Table {
    dfa: Arc<dense::DFA<Vec<u32>>>,
    start: StateID,
}

impl Table {
    /// `None`: it would be too large.
    fn new(hir: &Hir) -> Option<Table> {
        let captures = thompson::WhichCaptures::None;
        let config =
            thompson::Config::new().nfa_size_limit(Some(MAX_SIZE)).which_captures(captures);
        let nfa = thompson::Compiler::new().configure(config).build_from_hir(hir).ok()?;
        // All ways are followed: which ones match is asked at the end.
        let config = dense::Config::new()
            .match_kind(MatchKind::All)
            .start_kind(StartKind::Anchored)
            .dfa_size_limit(Some(MAX_TABLE))
            .determinize_size_limit(Some(MAX_WORK));
        let dfa = dense::Builder::new().configure(config).build_from_nfa(&nfa).ok()?;
        let start = dfa.universal_start_state(Anchored::Yes)?;
        Some(Table { dfa: Arc::new(dfa), start })
    }

    #[inline]
    fn matches(&self, text: &[u8]) -> bool {
        let mut state = self.start;
        for byte in text {
            state = self.dfa.next_state(state, *byte);
            if self.dfa.is_dead_state(state) {
                return false;
            }
        }
        self.dfa.is_match_state(self.dfa.next_eoi_state(state))
    }
}

struct Parser {
    rest: Vec<char>,
    at: usize,
    depth: u32,
}

type Parsed<T> = Result<T, PatternError>;

fn fault<T>(text: &'static str) -> Parsed<T> {
    Err(PatternError::Syntax(text))
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn take(&mut self, c: char) -> bool {
        let is = self.peek() == Some(c);
        self.at += usize::from(is);
        is
    }

    fn next(&mut self) -> Parsed<char> {
        match self.peek() {
            None => fault("the expression ends too early"),
            Some(c) => {
                self.at += 1;
                Ok(c)
            }
        }
    }

    fn deeper(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(PatternError::TooLarge) } else { Ok(()) }
    }

    fn expression(&mut self) -> Parsed<Hir> {
        self.deeper()?;
        let mut all = vec![self.branch()?];
        while self.take('|') {
            all.push(self.branch()?);
        }
        self.depth -= 1;
        Ok(Hir::alternation(all))
    }

    fn branch(&mut self) -> Parsed<Hir> {
        let mut all = Vec::new();
        while !matches!(self.peek(), None | Some('|' | ')')) {
            let atom = self.atom()?;
            all.push(self.quantified(atom)?);
        }
        Ok(Hir::concat(all))
    }

    fn quantified(&mut self, atom: Hir) -> Parsed<Hir> {
        let (min, max) = match self.peek() {
            Some('?') => (0, Some(1)),
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('{') => {
                self.at += 1;
                let min = self.number()?;
                let max = match self.take(',') {
                    false => Some(min),
                    true if self.peek() == Some('}') => None,
                    true => Some(self.number()?),
                };
                if self.peek() != Some('}') || max.is_some_and(|max| max < min) {
                    return fault("not a quantity");
                }
                (min, max)
            }
            _ => return Ok(atom),
        };
        self.at += 1;
        // A repetition of what matches nothing but the empty string would be unrolled to no avail.
        if matches!(atom.kind(), HirKind::Empty) {
            return Ok(atom);
        }
        if min > 100_000 || max.is_some_and(|max| max > 100_000) {
            return Err(PatternError::TooLarge);
        }
        Ok(Hir::repetition(Repetition { min, max, greedy: true, sub: Box::new(atom) }))
    }

    fn number(&mut self) -> Parsed<u32> {
        let from = self.at;
        let mut value = 0_u32;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            value = value.saturating_mul(10).saturating_add(digit);
            self.at += 1;
        }
        if self.at == from { fault("a quantity without digits") } else { Ok(value) }
    }

    fn atom(&mut self) -> Parsed<Hir> {
        let class = match self.next()? {
            '(' => {
                let inner = self.expression()?;
                return if self.take(')') {
                    Ok(inner)
                } else {
                    fault("a parenthesis is not closed")
                };
            }
            '[' => self.class()?,
            '\\' => self.escape()?.0,
            '.' => negated(set(&[('\n', '\n'), ('\r', '\r')])),
            '?' | '*' | '+' | '{' | '}' | ']' => {
                return fault("a quantifier or bracket without an atom");
            }
            c => set(&[(c, c)]),
        };
        Ok(Hir::class(Class::Unicode(class)))
    }

    /// Behind `\`: the set, and the character if it is a single one.
    fn escape(&mut self) -> Parsed<(ClassUnicode, Option<char>)> {
        let c = self.next()?;
        let one = match c {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '\\' | '|' | '.' | '-' | '^' | '?' | '*' | '+' | '{' | '}' | '(' | ')' | '[' | ']' => c,
            _ => {
                let class = match c.to_ascii_lowercase() {
                    's' => set(&[(' ', ' '), ('\t', '\n'), ('\r', '\r')]),
                    'i' => names(crate::chars::is_name_start),
                    'c' => names(crate::chars::is_name_char),
                    'd' => category("Nd")?,
                    'w' => {
                        let mut not = category("P")?;
                        not.union(&category("Z")?);
                        not.union(&category("C")?);
                        negated(not)
                    }
                    'p' => self.property()?,
                    _ => return fault("an escape that is not known"),
                };
                return Ok((if c.is_ascii_uppercase() { negated(class) } else { class }, None));
            }
        };
        Ok((set(&[(one, one)]), Some(one)))
    }

    fn property(&mut self) -> Parsed<ClassUnicode> {
        if !self.take('{') {
            return fault("\\p without {");
        }
        let from = self.at;
        while self.next()? != '}' {}
        let name: String = self.rest[from..self.at - 1].iter().collect();
        if let Some(name) = name.strip_prefix("Is") {
            let Some((first, last)) = block(name) else {
                return fault("a block that is not known");
            };
            // Surrogates are no characters.
            let (Some(first), Some(last)) = (char::from_u32(first), char::from_u32(last)) else {
                return Ok(ClassUnicode::empty());
            };
            return Ok(set(&[(first, last)]));
        }
        category(&name)
    }

    /// Behind `[`, until its `]`.
    fn class(&mut self) -> Parsed<ClassUnicode> {
        self.deeper()?;
        let negative = self.take('^');
        let mut all = ClassUnicode::empty();
        let from = self.at;
        loop {
            let first = self.at == from;
            match self.next()? {
                ']' if !first => break,
                '-' if !first && self.peek() == Some('[') => {
                    self.at += 1;
                    let without = self.class()?;
                    if self.next()? != ']' {
                        return fault("a subtraction is the last part of a class");
                    }
                    if negative {
                        all.negate();
                    }
                    all.difference(&without);
                    self.depth -= 1;
                    return Ok(all);
                }
                // A hyphen is itself at the beginning and at the end.
                '-' if first || matches!(self.peek(), Some(']')) => all.union(&set(&[('-', '-')])),
                '-' if self.peek() == Some('-') => return fault("a hyphen within a class"),
                c => {
                    let (class, low) = match c {
                        '\\' => self.escape()?,
                        '[' | ']' => return fault("a bracket within a class"),
                        c => (set(&[(c, c)]), Some(c)),
                    };
                    let ahead = self.rest.get(self.at + 1).copied();
                    if self.peek() != Some('-') || matches!(ahead, Some(']' | '[') | None) {
                        all.union(&class);
                        continue;
                    }
                    self.at += 1;
                    let high = match self.next()? {
                        '\\' => self.escape()?.1,
                        '[' | ']' => None,
                        c => Some(c),
                    };
                    match (low, high) {
                        (Some(low), Some(high)) if low <= high => all.union(&set(&[(low, high)])),
                        _ => return fault("not a range"),
                    }
                }
            }
        }
        self.depth -= 1;
        Ok(if negative { negated(all) } else { all })
    }
}

fn set(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|(from, to)| ClassUnicodeRange::new(*from, *to)))
}

fn negated(mut class: ClassUnicode) -> ClassUnicode {
    class.negate();
    class
}

/// The characters for which `is` holds: all ranges of XML's productions begin and end below U+30000 or at U+EFFFF.
fn names(is: fn(char) -> bool) -> ClassUnicode {
    let mut ranges = Vec::new();
    let mut start = None;
    for c in ('\0'..='\u{10ffff}').take(0x1_1000) {
        match (start, is(c)) {
            (None, true) => start = Some(c),
            (Some(from), false) => {
                // The character before `c` exists: `from` is one.
                let before = char::from_u32(c as u32 - 1).unwrap_or('\u{d7ff}');
                ranges.push((from, before));
                start = None;
            }
            _ => {}
        }
    }
    if let Some(from) = start {
        ranges.push((from, '\u{effff}'));
    }
    set(&ranges)
}

const CATEGORIES: &str = " L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po Z Zs Zl Zp S Sm Sc Sk So C Cc Cf Co Cn ";

fn category(name: &str) -> Parsed<ClassUnicode> {
    if name.is_empty() || !CATEGORIES.contains(&format!(" {name} ")) {
        return fault("a category that is not known");
    }
    match regex_syntax::parse(&format!("\\p{{{name}}}")).map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => Ok(class),
        _ => fault("a category that is not known"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::compile(&[pattern.to_owned()]).unwrap().matches(text.as_bytes())
    }

    #[test]
    fn whole_literals_and_subtraction() {
        assert!(matches("a|bc", "bc") && !matches("a|bc", "abc") && !matches("a", "xa"));
        assert!(matches("[a-z-[aeiou]]+", "xyz") && !matches("[a-z-[aeiou]]+", "xaz"));
        assert!(matches("[^a-c-[x]]", "d") && !matches("[^a-c-[x]]", "x"));
        assert!(matches(r"\i\c*", "a-b") && !matches(r"\i\c*", "-b"));
        assert!(matches("^a$", "^a$") && matches("[-a]", "-") && matches("[a-]", "-"));
        assert!(matches(r"\p{IsBasicLatin}\P{Lu}\d{2,3}", "Aa12"));
        assert!(matches(".", "\u{10ffff}") && !matches(".", "\n"));
        assert!(matches("", "") && matches("(a?){3}", "aa") && matches(r"\w\W", "a-"));
    }

    #[test]
    fn what_is_no_expression() {
        for pattern in [
            "(", ")", "a**", "[", "[]", "[b-a]", "a{2,1}", "a{", r"\q", r"\p{Xx}", "[a--b]", "{",
            "]",
        ] {
            assert!(Pattern::compile(&[pattern.to_owned()]).is_err(), "{pattern}");
        }
        let nested = "(".repeat(10_000) + &")".repeat(10_000);
        assert_eq!(Pattern::compile(&[nested]).unwrap_err(), PatternError::TooLarge);
        let large = "((a{1000}){1000}){1000}".to_owned();
        assert_eq!(Pattern::compile(&[large]).unwrap_err(), PatternError::TooLarge);
    }
}
