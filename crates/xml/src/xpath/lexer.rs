//! Tokens of an expression (3.7), with the rule that tells operators from names.

use super::{Reason, SyntaxError};
use crate::chars;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    Open,
    Close,
    OpenSquare,
    CloseSquare,
    Dot,
    DotDot,
    At,
    Comma,
    /// `::`
    Axis,
    Slash,
    DoubleSlash,
    Pipe,
    Plus,
    Minus,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
    Mod,
    Div,
    /// `*` between two operands.
    Multiply,
    /// `*` as a name.
    Star,
    /// A name with its prefix; the local part may be `*`.
    Name(Option<&'t str>, &'t str),
    Variable(Option<&'t str>, &'t str),
    Literal(&'t str),
    Number(f64),
    End,
}

/// The tokens, each with the byte where it begins; the last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token<'_>)>, SyntaxError> {
    let mut lexer = Lexer { text, at: 0, tokens: Vec::new() };
    while lexer.next()? {}
    Ok(lexer.tokens)
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<(usize, Token<'t>)>,
}

/// NCName (Namespaces 1.0, production 4): without the colon.
fn is_name_start(c: char) -> bool {
    c != ':' && chars::is_name_start(c)
}

fn is_name(c: char) -> bool {
    c != ':' && chars::is_name_char(c)
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Whether an operator may come: after an operand.
    fn after_operand(&self) -> bool {
        match self.tokens.last() {
            None => false,
            Some((_, token)) => matches!(
                token,
                Token::Close
                    | Token::CloseSquare
                    | Token::Dot
                    | Token::DotDot
                    | Token::Star
                    | Token::Name(..)
                    | Token::Variable(..)
                    | Token::Literal(_)
                    | Token::Number(_)
            ),
        }
    }

    fn name(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let mut characters = rest.char_indices();
        characters.next().filter(|(_, c)| is_name_start(*c))?;
        let len = characters.find(|(_, c)| !is_name(*c)).map_or(rest.len(), |(at, _)| at);
        self.at += len;
        Some(&rest[..len])
    }

    /// A name whose first part has been read, with what follows a colon.
    fn qualified(&mut self, first: &'t str, star: bool) -> (Option<&'t str>, &'t str) {
        let rest = self.rest();
        if !rest.starts_with(':') || rest.starts_with("::") {
            return (None, first);
        }
        if star && rest[1..].starts_with('*') {
            self.at += 2;
            return (Some(first), "*");
        }
        self.at += 1;
        match self.name() {
            Some(local) => (Some(first), local),
            None => {
                self.at -= 1;
                (None, first)
            }
        }
    }

    fn next(&mut self) -> Result<bool, SyntaxError> {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.at += rest.len() - trimmed.len();
        let start = self.at;
        let error = |reason| Err(SyntaxError { offset: start, reason });
        let mut characters = trimmed.chars();
        let Some(first) = characters.next() else {
            self.tokens.push((start, Token::End));
            return Ok(false);
        };
        let second = characters.next();
        let (token, len) = match (first, second) {
            ('(', _) => (Token::Open, 1),
            (')', _) => (Token::Close, 1),
            ('[', _) => (Token::OpenSquare, 1),
            (']', _) => (Token::CloseSquare, 1),
            ('.', Some('.')) => (Token::DotDot, 2),
            ('.', second) if !second.is_some_and(|c| c.is_ascii_digit()) => (Token::Dot, 1),
            ('@', _) => (Token::At, 1),
            (',', _) => (Token::Comma, 1),
            (':', Some(':')) => (Token::Axis, 2),
            ('/', Some('/')) => (Token::DoubleSlash, 2),
            ('/', _) => (Token::Slash, 1),
            ('|', _) => (Token::Pipe, 1),
            ('+', _) => (Token::Plus, 1),
            ('-', _) => (Token::Minus, 1),
            ('=', _) => (Token::Equal, 1),
            ('!', Some('=')) => (Token::NotEqual, 2),
            ('<', Some('=')) => (Token::LessOrEqual, 2),
            ('<', _) => (Token::Less, 1),
            ('>', Some('=')) => (Token::GreaterOrEqual, 2),
            ('>', _) => (Token::Greater, 1),
            ('*', _) if self.after_operand() => (Token::Multiply, 1),
            ('*', _) => (Token::Star, 1),
            ('"' | '\'', _) => {
                let Some(len) = trimmed[1..].find(first) else {
                    return error(Reason::Unterminated);
                };
                (Token::Literal(&trimmed[1..1 + len]), len + 2)
            }
            ('$', _) => {
                self.at += 1;
                let Some(name) = self.name() else {
                    return error(Reason::Expected("the name of a variable"));
                };
                let (prefix, local) = self.qualified(name, false);
                self.tokens.push((start, Token::Variable(prefix, local)));
                return Ok(true);
            }
            ('0'..='9' | '.', _) => {
                let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
                let mut len = digits(trimmed);
                if trimmed[len..].starts_with('.') {
                    len += 1;
                    len += digits(&trimmed[len..]);
                }
                // As many digits as there are: never an error.
                (Token::Number(trimmed[..len].parse().unwrap_or(f64::NAN)), len)
            }
            _ => {
                let operator = self.after_operand();
                let Some(name) = self.name() else {
                    return error(Reason::Character(first));
                };
                let token = match name {
                    "and" if operator => Token::And,
                    "or" if operator => Token::Or,
                    "mod" if operator => Token::Mod,
                    "div" if operator => Token::Div,
                    _ => {
                        let (prefix, local) = self.qualified(name, true);
                        Token::Name(prefix, local)
                    }
                };
                self.tokens.push((start, token));
                return Ok(true);
            }
        };
        self.at += len;
        self.tokens.push((start, token));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_told_from_names() {
        let kinds = |text| tokens(text).unwrap().into_iter().map(|(_, t)| t).collect::<Vec<_>>();
        let name = |local| Token::Name(None, local);
        let end = Token::End;
        assert_eq!(kinds("div div div"), [name("div"), Token::Div, name("div"), end.clone()]);
        assert_eq!(kinds("* * *"), [Token::Star, Token::Multiply, Token::Star, end.clone()]);
        assert_eq!(kinds("a-b"), [name("a-b"), end.clone()]);
        assert_eq!(kinds("p:*"), [Token::Name(Some("p"), "*"), end.clone()]);
        assert_eq!(kinds(".5.5"), [Token::Number(0.5), Token::Number(0.5), end.clone()]);
        let axis = [name("self"), Token::Axis, Token::Name(Some("p"), "x"), end.clone()];
        assert_eq!(kinds("self::p:x"), axis);
        assert_eq!(kinds("@and"), [Token::At, name("and"), end]);
        for (text, offset) in [("'open", 0), ("a # b", 2), ("$ ", 0)] {
            assert_eq!(tokens(text).unwrap_err().offset, offset, "{text}");
        }
    }
}
