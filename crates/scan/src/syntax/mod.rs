//! Expressions: what Hyperscan accepts of the syntax of Perl and PCRE, with its flags.
//!
//! [`Pattern::parse`] reads one expression. Flags, case, UTF-8 and Unicode are resolved then: its [`Node`] is over
//! bytes. Lookarounds, references back, atomic groups, possessive quantifiers, conditions, recursion, callouts and most
//! control verbs are refused with their offset; in prefilter mode the first five are replaced by what matches more.
//!
//! More is accepted than Hyperscan does, with the meaning that PCRE gives it: `a{0}`, anchors in the middle (`a\n^b`),
//! `#` comments to the end of the expression, expressions that are too large for its engines. Three things differ on
//! purpose: tables are of the newest Unicode; `!!1` in a combination is `1`; a combination that is true without any
//! match is reported in data that are too short for its operands as well.

mod analysis;
mod build;
mod class;
mod combination;
mod error;
mod escape;
mod parser;
mod shape;
#[cfg(test)]
mod tests;
mod unicode;

pub use combination::{Combination, Step, check_combinations};
pub use error::{Construct, ErrorKind, SyntaxError};
pub use lookaside_spec::scan::{Extended, Flags, Line, LineError, parse_line};
pub use shape::Shape;

use std::borrow::Cow;

use lookaside_spec::scan::Expression;

use crate::node::width;
use crate::{Assertion, ByteSet, Node};

/// The largest number of bytes of an expression.
pub const MAX_LENGTH: usize = 1 << 16;
/// The largest number of groups in one another, that of PCRE. A [`Node`] is at most about three times as deep.
pub const MAX_DEPTH: usize = 250;
/// The largest finite bound of a repeat, that of Hyperscan.
pub const MAX_REPEAT: u32 = 32767;
/// The largest number of nodes that the characters and classes of an expression become.
const MAX_NODES: usize = 1 << 20;

/// What can be said of the matches of an expression beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// The least number of bytes of a match.
    pub min_width: u64,
    /// The largest number of bytes of a match; `None`: unbounded.
    pub max_width: Option<u64>,
    /// Whether a match may be known only after the byte that follows it, so later than another one.
    pub unordered: bool,
    /// Whether a match may be known only at the end of the data.
    pub at_end: bool,
    /// Whether all matches are known only at the end of the data.
    pub only_at_end: bool,
}

/// An expression with its flags, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The id that matches are reported with; several patterns may have the same.
    pub id: u32,
    /// The flags, with those that `(*UTF8)` and `(*UCP)` set.
    pub flags: Flags,
    /// Conditions on the offsets and the length of matches.
    pub extended: Extended,
    /// What matches. Of a combination: nothing.
    pub node: Node,
    /// The combination, of a pattern with that flag.
    pub combination: Option<Combination>,
}

impl Pattern {
    /// Parses a pattern as it stands in a set.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn of(expression: &Expression) -> Result<Pattern, SyntaxError> {
        let Expression { id, ref text, flags, extended, literal } = *expression;
        match literal {
            false => Pattern::parse(id, text, flags, extended),
            true => {
                check_order(extended).map_err(|kind| SyntaxError { id, offset: 0, kind })?;
                Ok(Pattern { extended, ..Pattern::literal(id, text, flags)? })
            }
        }
    }

    /// Parses an expression.
    pub fn parse(
        id: u32,
        expression: &[u8],
        flags: Flags,
        extended: Extended,
    ) -> Result<Pattern, SyntaxError> {
        parse(id, expression, flags, extended).map_err(|(offset, kind)| SyntaxError {
            id,
            offset,
            kind,
        })
    }

    /// What can be said of the matches of an expression, with the same errors as [`parse`](Pattern::parse).
    ///
    /// Of a combination, nothing is known.
    pub fn info(
        id: u32,
        expression: &[u8],
        flags: Flags,
        extended: Extended,
    ) -> Result<Info, SyntaxError> {
        let parsed = parse_node(expression, flags, extended);
        let (node, _) = parsed.map_err(|(offset, kind)| SyntaxError { id, offset, kind })?;
        let Parsed::Node(node) = node else {
            return Ok(Info {
                min_width: 0,
                max_width: None,
                unordered: true,
                at_end: true,
                only_at_end: false,
            });
        };
        let (least, max_width) = analysis::exact_width(&node);
        let endings = analysis::endings(&node);
        Ok(Info {
            min_width: least.max(extended.min_length.unwrap_or(0)),
            max_width,
            unordered: endings.looks_ahead,
            at_end: endings.at_end,
            only_at_end: endings.at_end && !endings.elsewhere,
        })
    }

    /// The pattern of one string, of which no byte is special. Only the flags `i`, `H` and `L` are allowed.
    pub fn literal(id: u32, bytes: &[u8], flags: Flags) -> Result<Pattern, SyntaxError> {
        let error = |kind| SyntaxError { id, offset: 0, kind };
        let allowed = Flags {
            caseless: flags.caseless,
            single_match: flags.single_match,
            som_leftmost: flags.som_leftmost,
            ..Flags::default()
        };
        let other = Flags::from_bits(flags.bits() & !allowed.bits()).unwrap_or_default();
        if let Some(letter) = other.letters().chars().next() {
            return Err(error(ErrorKind::LiteralFlag(letter)));
        }
        check_flags(flags).map_err(error)?;
        if bytes.is_empty() {
            return Err(error(ErrorKind::EmptyLiteral));
        }
        let class = |&byte: &u8| {
            let set = ByteSet::one(byte);
            Node::Class(if flags.caseless { set.both_cases() } else { set })
        };
        let node = build::concat(bytes.iter().map(class).collect());
        Ok(Pattern { id, flags, extended: Extended::default(), node, combination: None })
    }
}

fn parse(id: u32, expression: &[u8], flags: Flags, extended: Extended) -> parser::Located<Pattern> {
    let (parsed, flags) = parse_node(expression, flags, extended)?;
    let (node, combination) = match parsed {
        Parsed::Node(node) => (between_characters(node, flags, extended), None),
        Parsed::Combination(combination) => (build::NOTHING, Some(combination)),
    };
    Ok(Pattern { id, flags, extended, node, combination })
}

enum Parsed {
    Node(Node),
    Combination(Combination),
}

/// Parses and checks an expression; returns its flags with those that control verbs set.
fn parse_node(
    expression: &[u8],
    mut flags: Flags,
    extended: Extended,
) -> parser::Located<(Parsed, Flags)> {
    let located = |kind| (0, kind);
    check_flags(flags).map_err(located)?;
    check_order(extended).map_err(located)?;
    if expression.len() > MAX_LENGTH {
        return Err((MAX_LENGTH, ErrorKind::TooLong));
    }
    if flags.combination {
        if extended.min_length.is_some() {
            return Err((0, ErrorKind::ParametersUnsatisfiable));
        }
        return Ok((Parsed::Combination(Combination::parse(expression)?), flags));
    }
    let mut mode = class::Mode {
        caseless: flags.caseless,
        dot_all: flags.dot_all,
        multi_line: flags.multi_line,
        extended: false,
        utf8: flags.utf8,
        ucp: flags.ucp,
    };
    let start = parser::verbs(expression, &mut mode)?;
    (flags.utf8, flags.ucp) = (mode.utf8, mode.ucp);
    if let Some(error) = str::from_utf8(expression).err().filter(|_| mode.utf8) {
        return Err((error.valid_up_to(), ErrorKind::InvalidUtf8));
    }
    let node = parser::parse(expression, start, mode, flags.prefilter)?;
    check_node(&node, flags, extended).map_err(located)?;
    Ok((Parsed::Node(node), flags))
}

fn check_flags(flags: Flags) -> Result<(), ErrorKind> {
    if flags.som_leftmost && flags.single_match {
        return Err(ErrorKind::FlagsConflict('H', 'L'));
    }
    if flags.som_leftmost && flags.prefilter {
        return Err(ErrorKind::FlagsConflict('P', 'L'));
    }
    if flags.combination {
        let others = Flags { combination: false, quiet: false, single_match: false, ..flags };
        if let Some(letter) = others.letters().chars().next() {
            return Err(ErrorKind::FlagsConflict(letter, 'C'));
        }
    }
    Ok(())
}

fn check_order(extended: Extended) -> Result<(), ErrorKind> {
    if extended.edit_distance.is_some_and(|distance| distance > 0) {
        return Err(ErrorKind::Unsupported(Construct::EditDistance));
    }
    if extended.hamming_distance.is_some_and(|distance| distance > 0) {
        return Err(ErrorKind::Unsupported(Construct::HammingDistance));
    }
    let most = extended.max_offset.unwrap_or(u64::MAX);
    if extended.min_offset.is_some_and(|min| min > most)
        || extended.min_length.is_some_and(|min| min > most)
    {
        return Err(ErrorKind::ParametersOrder);
    }
    Ok(())
}

fn check_node(node: &Node, flags: Flags, extended: Extended) -> Result<(), ErrorKind> {
    if analysis::matches_empty(node) && !flags.allow_empty {
        return Err(ErrorKind::MatchesEmpty);
    }
    let places = analysis::places(node);
    if !places.any {
        return Err(ErrorKind::NeverMatches);
    }
    if flags.som_leftmost && analysis::exact_width(node).0 == 0 {
        return Err(ErrorKind::EmptyStart);
    }
    // One alternative that can satisfy them is enough.
    let alternatives =
        if let Node::Alternate(nodes) = node { &nodes[..] } else { std::slice::from_ref(node) };
    if !alternatives.iter().any(|node| satisfies(node, extended)) {
        return Err(ErrorKind::ParametersUnsatisfiable);
    }
    Ok(())
}

/// Whether a match of `node` may satisfy the parameters.
fn satisfies(node: &Node, extended: Extended) -> bool {
    let (least, most) = width(node);
    let reaches =
        |bound: Option<u64>| bound.is_none_or(|bound| most.is_none_or(|most| most >= bound));
    reaches(extended.min_length)
        && extended.max_offset.is_none_or(|max| max >= least)
        && (reaches(extended.min_offset) || !analysis::places(node).start_only)
}

/// In UTF-8, empty matches are not inside of characters: the pattern begins after a character or at the start. No
/// other match changes, as it begins with a character, but for its start, which is not reported for such a pattern.
fn between_characters(node: Node, flags: Flags, extended: Extended) -> Node {
    let empty = || extended.min_length.unwrap_or(0) == 0 && analysis::exact_width(&node).0 == 0;
    if !flags.utf8 || !empty() || analysis::places(&node).start_only {
        return node;
    }
    build::concat(vec![start_or_character(), node])
}

fn start_or_character() -> Node {
    let any = class::Set::any(class::Mode { utf8: true, dot_all: true, ..class::Mode::default() })
        .into_node();
    build::alternate(vec![Node::Assert(Assertion::TextStart), any])
}

/// The node of a pattern without what [`between_characters`] puts before it.
fn without_character(pattern: &Pattern) -> Cow<'_, Node> {
    let node = &pattern.node;
    let may = pattern.flags.utf8 && pattern.extended.min_length.unwrap_or(0) == 0;
    match node {
        Node::Concat(parts) if may && parts.first() == Some(&start_or_character()) => {
            let rest = build::concat(parts[1..].to_vec());
            // What is never empty has its own.
            if analysis::exact_width(&rest).0 == 0 { Cow::Owned(rest) } else { Cow::Borrowed(node) }
        }
        node if may && *node == start_or_character() => Cow::Owned(Node::Empty),
        node => Cow::Borrowed(node),
    }
}
