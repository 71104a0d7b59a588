//! Escapes that mean the same in and outside of a class, and classes in brackets.

use regex_syntax::hir::ClassUnicode;

use super::class::{Bracket, Named};
use super::error::{Construct, ErrorKind};
use super::parser::{Located, Parser};
use super::unicode;

/// What a backslash in or outside of a class stands for, where both agree.
pub(super) enum Escape {
    Char(u32),
    Named(Named, bool),
    Property(ClassUnicode, bool),
    /// Another letter or sign: this one.
    Other(u8),
}

impl<'p> Parser<'p> {
    /// Reads an escape that means the same in and outside of a class, but for digits after 0.
    pub(super) fn common_escape(&mut self) -> Located<Escape> {
        let start = self.at;
        let letter = self.peek(1).ok_or((start, ErrorKind::TrailingBackslash))?;
        self.at += 2;
        if let Some((named, negated)) = Named::escape(letter) {
            return Ok(Escape::Named(named, negated));
        }
        let char = match letter {
            b'a' => 7,
            b'e' => 27,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'0' => self.octal(2),
            b'o' => {
                let code = self.braced(8).ok_or((start, ErrorKind::InvalidOctal))?;
                self.limited(start, code)?
            }
            b'x' if self.peek(0) == Some(b'{') => {
                let code = self.braced(16).ok_or((start, ErrorKind::InvalidHex))?;
                self.limited(start, code)?
            }
            b'x' => {
                let len =
                    self.rest().iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
                let code = digits(&self.rest()[..len], 16);
                self.at += len;
                code
            }
            b'c' => {
                let raw =
                    self.peek(0).filter(u8::is_ascii).ok_or((start, ErrorKind::ControlEscape))?;
                self.at += 1;
                u32::from(raw.to_ascii_uppercase() ^ 0x40)
            }
            b'p' | b'P' => return self.property(start, letter == b'P'),
            _ => return Ok(Escape::Other(letter)),
        };
        Ok(Escape::Char(char))
    }

    /// Up to `most` octal digits.
    pub(super) fn octal(&mut self, most: usize) -> u32 {
        let len =
            self.rest().iter().take(most).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
        let code = digits(&self.rest()[..len], 8);
        self.at += len;
        code
    }

    /// `{digits}`; a value that is too large is larger than that of any character.
    fn braced(&mut self, radix: u32) -> Option<u32> {
        let inner = self.rest().strip_prefix(b"{")?;
        let len = inner.iter().position(|&byte| byte == b'}').filter(|&len| len > 0)?;
        if !inner[..len].iter().all(|&byte| char::from(byte).is_digit(radix)) {
            return None;
        }
        self.at += len + 2;
        Some(digits(&inner[..len], radix))
    }

    /// `code`, if a character can have it.
    pub(super) fn limited(&self, start: usize, code: u32) -> Located<u32> {
        let most = if self.mode.utf8 { 0x10ffff } else { 255 };
        if code > most { Err((start, ErrorKind::CharacterTooLarge)) } else { Ok(code) }
    }

    /// `\p{name}`, `\p{^name}`, `\pL`, from after the letter.
    fn property(&mut self, start: usize, negated: bool) -> Located<Escape> {
        let malformed = (start, ErrorKind::MalformedProperty);
        let first = self.peek(0).ok_or(malformed.clone())?;
        let (name, inverse) = if first == b'{' {
            let inner = &self.rest()[1..];
            let len = inner.iter().position(|&byte| byte == b'}').ok_or(malformed.clone())?;
            let inverse = inner[0] == b'^';
            self.at += 1 + usize::from(inverse);
            (&inner[usize::from(inverse)..len], inverse)
        } else {
            (&self.rest()[..1], false)
        };
        let at = self.at;
        let name = str::from_utf8(name).map_err(|_| malformed.clone())?;
        if first != b'{' && !"CLMNPSZ".contains(name) {
            return Err((at, ErrorKind::UnknownProperty));
        }
        if name.is_empty() {
            return Err(malformed);
        }
        self.at += name.len() + usize::from(first == b'{');
        let set = self.properties.entry(name).or_insert_with(|| unicode::property(name));
        match set {
            Some(set) => Ok(Escape::Property(set.clone(), negated != inverse)),
            None => Err((at, ErrorKind::UnknownProperty)),
        }
    }

    /// A class in brackets.
    pub(super) fn bracket(&mut self) -> Located<()> {
        let start = self.at;
        match self.special_bracket() {
            Some(Special::Posix(_)) => return Err((start, ErrorKind::PosixOutsideClass)),
            Some(Special::Collating) => return self.unsupported(start, Construct::Collating),
            None => {}
        }
        self.at += 1;
        let bracket = self.members(start)?;
        self.push_set(start, bracket.finish())
    }

    fn members(&mut self, start: usize) -> Located<Bracket> {
        let mut bracket = Bracket::new(self.mode);
        // At the start, `^` and `]` are special; `\Q\E` and `\E` do not end it.
        let mut early = true;
        while let Some(byte) = self.peek(0) {
            let at = self.at;
            let located = |kind| (at, kind);
            match byte {
                b'^' if early && bracket.negate() => {
                    self.at += 1;
                    continue;
                }
                b']' if !early => {
                    self.at += 1;
                    return Ok(bracket);
                }
                b'[' => match self.special_bracket() {
                    Some(Special::Posix(name)) => {
                        let negated = name.starts_with(b"^");
                        let named = Named::posix(&name[usize::from(negated)..]);
                        let named = named.ok_or((at, ErrorKind::InvalidPosixName))?;
                        bracket.add_named(named, negated).map_err(located)?;
                        self.at += name.len() + 4;
                    }
                    Some(Special::Collating) => return self.unsupported(at, Construct::Collating),
                    None => {
                        self.at += 1;
                        bracket.add(byte.into()).map_err(located)?;
                    }
                },
                b'-' => {
                    self.at += 1;
                    bracket.add_dash().map_err(located)?;
                }
                b'\\' => match self.peek(1) {
                    Some(b'Q') => {
                        self.at += 2;
                        while !self.rest().is_empty() && !self.rest().starts_with(b"\\E") {
                            let char = self.next_char().ok_or((at, ErrorKind::InvalidUtf8))?;
                            bracket.add(char).map_err(located)?;
                            early = false;
                        }
                        self.at = self.text.len().min(self.at + 2);
                        continue;
                    }
                    Some(b'E') => {
                        self.at += 2;
                        continue;
                    }
                    _ => self.member_escape(&mut bracket)?,
                },
                _ => {
                    let char = self.next_char().ok_or((at, ErrorKind::InvalidUtf8))?;
                    bracket.add(char).map_err(located)?;
                }
            }
            early = false;
        }
        Err((start, ErrorKind::UnterminatedClass))
    }

    /// Reads `[:name:]`, `[.x.]` or `[=x=]`; `\]` does not end it.
    fn special_bracket(&mut self) -> Option<Special<'p>> {
        let sign = self.peek(1).filter(|sign| b":.=".contains(sign))?;
        let inner = self.at + 2;
        if self.closing < inner {
            let places = inner..self.text.len();
            let closes =
                |&at: &usize| self.text[at] == b']' && (at == inner || self.text[at - 1] != b'\\');
            self.closing = places.clone().find(closes).unwrap_or(places.end);
        }
        self.text.get(self.closing)?;
        let name = self.text[inner..self.closing].strip_suffix(&[sign])?;
        Some(if sign == b':' { Special::Posix(name) } else { Special::Collating })
    }

    fn member_escape(&mut self, bracket: &mut Bracket) -> Located<()> {
        let at = self.at;
        let located = |kind| (at, kind);
        if matches!(self.peek(1), Some(b'1'..=b'7')) {
            self.at += 1;
            let code = self.octal(3);
            let code = self.limited(at, code)?;
            return bracket.add(code).map_err(located);
        }
        match self.common_escape()? {
            Escape::Char(char) => bracket.add(char),
            Escape::Named(named, negated) => bracket.add_named(named, negated),
            Escape::Property(property, negated) => bracket.add_property(&property, negated),
            Escape::Other(b'b') => bracket.add(8),
            Escape::Other(letter) if letter.is_ascii_alphabetic() => {
                Err(ErrorKind::ClassEscape(letter))
            }
            Escape::Other(_) => {
                self.at = at + 1;
                let char = self.next_char().ok_or((at, ErrorKind::InvalidUtf8))?;
                bracket.add(char)
            }
        }
        .map_err(located)
    }
}

/// What `[:`, `[.` and `[=` begin.
enum Special<'p> {
    Posix(&'p [u8]),
    Collating,
}

/// The value of digits, or `u32::MAX` if it is too large.
fn digits(digits: &[u8], radix: u32) -> u32 {
    digits.iter().fold(0u32, |value, &digit| {
        let digit = char::from(digit).to_digit(radix).unwrap_or(0);
        value.checked_mul(radix).and_then(|value| value.checked_add(digit)).unwrap_or(u32::MAX)
    })
}
