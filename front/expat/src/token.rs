//! Tokens: where one ends, and what it is. The bytes are valid UTF-8 and characters of XML up to the end of a [`View`].

use lookaside_xml::kernel::{Index, LINE, NAME, VALUE};

use crate::dtd::word;
use crate::letters;
use crate::role::Tok;

/// What comes behind the bytes of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Nothing that has arrived.
    End,
    /// More of what has arrived.
    Window,
    /// A byte that cannot stand there.
    Bad,
    /// The beginning of a character.
    Char,
    /// Half a unit of UTF-16, at the very end.
    Half,
}

/// Bytes up to the end of a window, and the index of the window.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) index: &'a Index,
    /// Where the index begins.
    pub(crate) from: usize,
    pub(crate) stop: Stop,
    /// Colons in names separate prefixes.
    pub(crate) namespaces: bool,
    /// The document is in another encoding than UTF-8.
    pub(crate) converted: bool,
    /// The bytes are the text of an internal entity. A carriage return in them comes from a character reference, and does
    /// not end a line.
    pub(crate) entity: bool,
    /// The byte behind `bytes`, if it is there and begins a bad character.
    pub(crate) bad: u8,
}

/// A token and its end; where it is invalid, that place.
pub(crate) type Found = (Tok, usize);
type Part<T> = Result<T, Found>;

/// An attribute of a start-tag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Att {
    pub(crate) name: (usize, usize),
    pub(crate) value: (usize, usize),
    /// The value has no reference and no white space but spaces.
    pub(crate) plain: bool,
}

/// The upper bit of each byte.
const HIGH: u128 = u128::from_ne_bytes([0x80; 16]);

/// Whether a byte of a word of ASCII is a colon.
#[inline(always)]
fn has_colon(word: u128) -> bool {
    let other = word ^ u128::from_ne_bytes([b':'; 16]);
    // 0x7f + byte has the upper bit unless the byte is zero.
    (other + u128::from_ne_bytes([0x7f; 16])) & HIGH != HIGH
}

fn joined(part: Part<Found>) -> Found {
    part.unwrap_or_else(|found| found)
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn invalid<T>(at: usize) -> Part<T> {
    Err((Tok::Invalid, at))
}

fn name_start_char(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_alphabetic() || matches!(c, ':' | '_'),
        false => letters::starts_name(c),
    }
}

fn name_char(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-' | '.'),
        false => letters::in_name(c),
    }
}

/// The character at `at`, of valid UTF-8.
fn char_at(bytes: &[u8], at: usize) -> Option<char> {
    let end = bytes.len().min(at + 4);
    let part = &bytes[at..end];
    let part = match std::str::from_utf8(part) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&part[..error.valid_up_to()]).unwrap_or(""),
    };
    part.chars().next()
}

impl<'a> View<'a> {
    #[inline(always)]
    fn get(&self, at: usize) -> Part<u8> {
        match self.bytes.get(at) {
            Some(byte) => Ok(*byte),
            None => Err(self.ended()),
        }
    }

    /// The byte, where it must be one of ASCII: half a character is wrong.
    #[inline(always)]
    fn ascii(&self, at: usize) -> Part<u8> {
        match self.get(at) {
            Err((Tok::PartialChar, at)) => invalid(at),
            found => found,
        }
    }

    /// The byte; 0 for a bad character.
    fn soft(&self, at: usize) -> Part<u8> {
        match self.may_go_on() {
            true => self.get(at),
            false => Ok(self.bytes.get(at).copied().unwrap_or(0)),
        }
    }

    /// What it means that a token reaches the end.
    fn ended(&self) -> Found {
        let tok = match self.stop {
            Stop::End | Stop::Window | Stop::Half => Tok::Partial,
            Stop::Bad => Tok::Invalid,
            Stop::Char => Tok::PartialChar,
        };
        (tok, self.bytes.len())
    }

    /// No bad character follows.
    fn may_go_on(&self) -> bool {
        matches!(self.stop, Stop::End | Stop::Window | Stop::Half)
    }

    fn nothing(&self) -> Found {
        match self.stop {
            Stop::End | Stop::Window => (Tok::None, self.bytes.len()),
            _ => self.ended(),
        }
    }

    #[inline(always)]
    fn next<const MAP: usize>(&self, at: usize) -> usize {
        self.from + self.index.next::<MAP>(at - self.from)
    }

    fn starts_name(&self, at: usize) -> Part<bool> {
        let byte = self.get(at)?;
        if byte < 128 {
            return Ok(byte.is_ascii_alphabetic()
                || byte == b'_'
                || (byte == b':' && !self.namespaces));
        }
        Ok(char_at(self.bytes, at).is_some_and(name_start_char))
    }

    /// The end of name characters, colons excluded with namespaces. `first`: the first one must start a name.
    fn name(&self, from: usize, first: bool) -> Part<usize> {
        if first && !self.starts_name(from)? {
            return invalid(from);
        }
        let mut at = from;
        loop {
            let Some(&byte) = self.bytes.get(at) else { return Ok(at) };
            if byte < 128 {
                let fine = byte.is_ascii_alphanumeric()
                    || matches!(byte, b'_' | b'-' | b'.')
                    || (byte == b':' && !self.namespaces);
                if !fine {
                    return Ok(at);
                }
                at += 1;
                continue;
            }
            match char_at(self.bytes, at) {
                Some(c) if name_char(c) => at += c.len_utf8(),
                _ => return invalid(at),
            }
        }
    }

    /// The end of a name with at most one prefix. There is a byte behind it.
    #[inline(always)]
    fn qname(&self, from: usize) -> Part<usize> {
        let end = self.next::<NAME>(from);
        let byte = self.get(from)?;
        if end < self.bytes.len() && (byte.is_ascii_alphabetic() || byte == b'_') {
            if let Some(word) = word(self.bytes, from, end) {
                let high = word & HIGH;
                if high == 0 && !(self.namespaces && has_colon(word)) {
                    return Ok(end);
                }
                return self.qname_apart(from);
            }
            let text = &self.bytes[from..end];
            let (mut high, mut colon) = (0, false);
            for &byte in text {
                high |= byte;
                colon |= byte == b':';
            }
            if high < 128 && !(colon && self.namespaces) {
                return Ok(end);
            }
        }
        self.qname_apart(from)
    }

    #[inline(never)]
    fn qname_apart(&self, from: usize) -> Part<usize> {
        let mut end = self.name(from, true)?;
        if self.get(end)? == b':' && self.namespaces {
            if !self.starts_name(end + 1)? {
                return invalid(end + 1);
            }
            end = self.name(end + 1, true)?;
            if self.get(end)? == b':' {
                return invalid(end);
            }
        }
        Ok(end)
    }

    fn skip_space(&self, mut at: usize) -> Part<usize> {
        while is_space(self.get(at)?) {
            at += 1;
        }
        Ok(at)
    }

    // Content.

    /// A token of content. `name_end` and `atts` get the end of the name of a start-tag, and its attributes.
    #[inline(always)]
    pub(crate) fn content(&self, at: usize, name_end: &mut usize, atts: &mut Vec<Att>) -> Found {
        let Some(&byte) = self.bytes.get(at) else { return self.nothing() };
        match byte {
            b'<' => joined(self.less(at, name_end, atts)),
            b'&' => joined(self.reference(at)),
            _ => self.text(at, byte),
        }
    }

    #[inline(always)]
    fn text(&self, at: usize, byte: u8) -> Found {
        let len = self.bytes.len();
        match byte {
            b'\n' => return (Tok::Newline, at + 1),
            b'\r' if !self.entity => {
                return match self.bytes.get(at + 1) {
                    None if self.may_go_on() => (Tok::TrailingCr, at + 1),
                    Some(b'\n') => (Tok::Newline, at + 2),
                    _ => (Tok::Newline, at + 1),
                };
            }
            b']' => {
                let open = self.may_go_on();
                match (self.bytes.get(at + 1), self.bytes.get(at + 2)) {
                    (None, _) if open => return (Tok::TrailingBrackets, at),
                    (Some(b']'), None) if open => return (Tok::TrailingBrackets, at),
                    (Some(b']'), Some(b'>')) => return (Tok::Invalid, at + 2),
                    _ => {}
                }
            }
            _ => {}
        }
        let mut stop = self.next::<LINE>(at + 1).min(len);
        while self.entity && self.bytes.get(stop) == Some(&b'\r') {
            stop = self.next::<LINE>(stop + 1).min(len);
        }
        if self.bytes.get(stop) == Some(&b'>') {
            if stop - at >= 2 && &self.bytes[stop - 2..stop] == b"]]" && stop - 2 > at {
                return (Tok::Invalid, stop);
            }
            // Brackets before `at`: the text goes on.
            return self.text(stop, b'>');
        }
        let last = matches!(self.stop, Stop::End | Stop::Half);
        if stop == len && self.bytes[len - 1] == b']' && last {
            let brackets = if len - at > 2 && self.bytes[len - 2] == b']' { 2 } else { 1 };
            if len - brackets > at {
                stop = len - brackets;
            }
        }
        (Tok::DataChars, stop)
    }

    #[inline(always)]
    fn less(&self, at: usize, name_end: &mut usize, atts: &mut Vec<Att>) -> Part<Found> {
        match self.get(at + 1)? {
            b'/' => {
                let end = self.next::<NAME>(at + 2).min(self.bytes.len());
                let plain = self.bytes[(at + 2).min(end)..end].is_ascii();
                if self.bytes.get(end) == Some(&b'>') && end > at + 2 && plain {
                    let first = self.bytes[at + 2];
                    if first.is_ascii_alphabetic() || first == b'_' {
                        return Ok((Tok::EndTag, end + 1));
                    }
                }
                self.end_tag(at + 2)
            }
            b'!' => match self.ascii(at + 2)? {
                b'-' => self.comment(at + 3),
                b'[' => {
                    if self.bytes.len() < at + 9 {
                        return Err(self.ended());
                    }
                    for (by, want) in b"CDATA[".iter().enumerate() {
                        if self.ascii(at + 3 + by)? != *want {
                            return invalid(at + 3 + by);
                        }
                    }
                    Ok((Tok::CdataOpen, at + 9))
                }
                _ => invalid(at + 2),
            },
            b'?' => self.pi(at + 2),
            _ => self.start_tag(at, name_end, atts),
        }
    }

    #[inline(never)]
    fn end_tag(&self, from: usize) -> Part<Found> {
        let mut at = self.name(from, true)?;
        while self.get(at)? == b':' && self.namespaces {
            at = self.name(at + 1, false)?;
        }
        let end = self.skip_space(at)?;
        match self.ascii(end)? {
            b'>' => Ok((Tok::EndTag, end + 1)),
            _ => invalid(end),
        }
    }

    #[inline(always)]
    fn start_tag(&self, at: usize, name_end: &mut usize, atts: &mut Vec<Att>) -> Part<Found> {
        atts.clear();
        let mut at = self.qname(at + 1)?;
        *name_end = at;
        loop {
            match self.get(at)? {
                b'>' => return Ok((Tok::StartTag, at + 1)),
                b'/' => {
                    return match self.ascii(at + 1)? {
                        b'>' => Ok((Tok::EmptyTag, at + 2)),
                        _ => invalid(at + 1),
                    };
                }
                byte if !is_space(byte) => return invalid(at),
                _ => {}
            }
            at = self.skip_space(at + 1)?;
            if matches!(self.bytes[at], b'>' | b'/') {
                continue;
            }
            let end = self.qname(at)?;
            let name = (at, end);
            at = end;
            if self.bytes[at] != b'=' {
                at = self.skip_space(at)?;
                if self.bytes[at] != b'=' {
                    return invalid(at);
                }
            }
            at += 1;
            let mut quote = self.ascii(at)?;
            if is_space(quote) {
                at = self.skip_space(at)?;
                quote = self.bytes[at];
            }
            if quote != b'"' && quote != b'\'' {
                return invalid(at);
            }
            let from = at + 1;
            let mut plain = true;
            at = from;
            loop {
                at = self.next::<VALUE>(at);
                match self.get(at)? {
                    byte if byte == quote => break,
                    b'<' => return invalid(at),
                    b'&' => {
                        plain = false;
                        match joined(self.reference(at)) {
                            (Tok::CharRef | Tok::EntityRef, end) => at = end,
                            found => return Err(found),
                        }
                        continue;
                    }
                    b'"' | b'\'' => {}
                    _ => plain = false,
                }
                at += 1;
            }
            atts.push(Att { name, value: (from, at), plain });
            at += 1;
            match self.ascii(at)? {
                b'>' | b'/' => {}
                byte if is_space(byte) => {}
                _ => return invalid(at),
            }
        }
    }

    /// `&` stands at `at`.
    pub(crate) fn reference(&self, at: usize) -> Part<Found> {
        if self.get(at + 1)? != b'#' {
            let end = self.name(at + 1, true)?;
            return match self.get(end)? {
                b';' => Ok((Tok::EntityRef, end + 1)),
                _ => invalid(end),
            };
        }
        let hex = self.ascii(at + 2)? == b'x';
        let from = if hex { at + 3 } else { at + 2 };
        let digit = |byte: u8| if hex { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
        let mut end = from;
        loop {
            match self.ascii(end)? {
                b';' if end > from => return Ok((Tok::CharRef, end + 1)),
                byte if digit(byte) => end += 1,
                _ => return invalid(end),
            }
        }
    }

    /// Behind `<!-`.
    fn comment(&self, at: usize) -> Part<Found> {
        if self.ascii(at)? != b'-' {
            return invalid(at);
        }
        let mut at = at + 1;
        loop {
            if self.get(at)? != b'-' {
                at += 1;
            } else if self.get(at + 1)? != b'-' {
                at += 2;
            } else if self.ascii(at + 2)? == b'>' {
                return Ok((Tok::Comment, at + 3));
            } else {
                return invalid(at + 2);
            }
        }
    }

    /// Behind `<?`.
    fn pi(&self, from: usize) -> Part<Found> {
        let end = self.name(from, true)?;
        let byte = self.get(end)?;
        if !is_space(byte) && byte != b'?' {
            return invalid(end);
        }
        let target = &self.bytes[from..end];
        let tok = match target {
            b"xml" => Tok::XmlDecl,
            _ if target.eq_ignore_ascii_case(b"xml") => return invalid(end),
            _ => Tok::Pi,
        };
        if byte == b'?' {
            return match self.ascii(end + 1)? {
                b'>' => Ok((tok, end + 2)),
                _ => invalid(end + 1),
            };
        }
        let mut at = end + 1;
        loop {
            if self.get(at)? == b'?' && self.get(at + 1)? == b'>' {
                return Ok((tok, at + 2));
            }
            at += 1;
        }
    }

    /// A token of a CDATA section.
    pub(crate) fn cdata(&self, at: usize) -> Found {
        let Some(&byte) = self.bytes.get(at) else { return self.nothing() };
        joined(self.cdata_part(at, byte))
    }

    fn cdata_part(&self, at: usize, byte: u8) -> Part<Found> {
        match byte {
            b'\n' => return Ok((Tok::Newline, at + 1)),
            b'\r' if !self.entity => {
                return Ok(match self.get(at + 1) {
                    Ok(b'\n') => (Tok::Newline, at + 2),
                    Err(_) if self.may_go_on() => {
                        return Err(self.ended());
                    }
                    _ => (Tok::Newline, at + 1),
                });
            }
            b']' if self.soft(at + 1)? == b']' && self.soft(at + 2)? == b'>' => {
                return Ok((Tok::CdataClose, at + 3));
            }
            _ => {}
        }
        let rest = &self.bytes[at + 1..];
        let stops = |byte: &u8| matches!(byte, b'\n' | b']') || *byte == b'\r' && !self.entity;
        let len = rest.iter().position(stops);
        Ok((Tok::DataChars, at + 1 + len.unwrap_or(rest.len())))
    }

    /// The rest of an ignored section.
    pub(crate) fn ignored(&self, at: usize) -> Found {
        joined(self.ignored_part(at))
    }

    fn ignored_part(&self, mut at: usize) -> Part<Found> {
        let mut level = 0;
        loop {
            // As in expat, brackets are taken in pairs: `]]]>` ends nothing.
            match self.get(at)? {
                b'<' if self.get(at + 1)? == b'!' && self.get(at + 2)? == b'[' => {
                    level += 1;
                    at += 3;
                }
                b']' if self.get(at + 1)? == b']' => {
                    at += 2;
                    if self.get(at)? != b'>' {
                        continue;
                    }
                    at += 1;
                    if level == 0 {
                        return Ok((Tok::IgnoreSection, at));
                    }
                    level -= 1;
                }
                _ => at += 1,
            }
        }
    }

    // Prolog.

    /// A token of the prolog; true: it may go on with what arrives next.
    pub(crate) fn prolog(&self, at: usize) -> (Tok, usize, bool) {
        if at >= self.bytes.len() {
            let (tok, end) = self.nothing();
            return (tok, end, false);
        }
        match self.prolog_part(at) {
            Ok(((tok, end), open)) => (tok, end, open),
            Err((tok, end)) => (tok, end, false),
        }
    }

    fn open(&self, tok: Tok) -> Part<(Found, bool)> {
        match self.stop {
            _ if self.may_go_on() => Ok(((tok, self.bytes.len()), true)),
            Stop::Char if matches!(tok, Tok::Literal | Tok::CloseParen) => {
                invalid(self.bytes.len())
            }
            _ => Err(self.ended()),
        }
    }

    fn prolog_part(&self, at: usize) -> Part<(Found, bool)> {
        use Tok::*;
        let one = |tok| Ok(((tok, at + 1), false));
        let byte = self.bytes[at];
        match byte {
            b'"' | b'\'' => {
                let rest = &self.bytes[at + 1..];
                let Some(len) = rest.iter().position(|it| *it == byte) else {
                    return Err(self.ended());
                };
                let end = at + len + 2;
                let Some(&next) = self.bytes.get(end) else { return self.open(Literal) };
                match is_space(next) || matches!(next, b'>' | b'%' | b'[') {
                    true => Ok(((Literal, end), false)),
                    false => invalid(end),
                }
            }
            // A tag may begin with a character that turns out to be bad.
            b'<' if at + 1 == self.bytes.len() && matches!(self.bad, 0xc0..=0xf7) => {
                Ok(((InstanceStart, at), false))
            }
            b'<' => match self.get(at + 1)? {
                b'!' => Ok((self.declaration(at + 2)?, false)),
                b'?' => Ok((self.pi(at + 2)?, false)),
                _ if self.starts_name(at + 1)? || self.bytes[at + 1] >= 128 => {
                    Ok(((InstanceStart, at), false))
                }
                _ => invalid(at + 1),
            },
            b' ' | b'\t' | b'\n' | b'\r' => {
                let len = self.bytes.len();
                // Half the end of a line, maybe.
                let is_half =
                    |end: usize| self.bytes[end] == b'\r' && end + 1 == len && !self.entity;
                if is_half(at) {
                    return self.open(Space);
                }
                let mut end = at + 1;
                while end < len && is_space(self.bytes[end]) {
                    if is_half(end) && self.stop != Stop::Window {
                        break;
                    }
                    end += 1;
                }
                Ok(((Space, end), false))
            }
            b'%' => {
                let next = self.get(at + 1)?;
                if is_space(next) || next == b'%' {
                    return one(Percent);
                }
                let end = self.name(at + 1, true)?;
                match self.get(end)? {
                    b';' => Ok(((ParamEntityRef, end + 1), false)),
                    _ => invalid(end),
                }
            }
            b',' => one(Comma),
            b'[' => one(OpenBracket),
            b']' => match self.bytes.get(at + 1) {
                Option::None if self.may_go_on() => self.open(CloseBracket),
                Some(b']') if self.may_go_on() || self.bytes.len() > at + 2 => {
                    match self.get(at + 2)? {
                        b'>' => Ok(((CondClose, at + 3), false)),
                        _ => one(CloseBracket),
                    }
                }
                _ => one(CloseBracket),
            },
            b'(' => one(OpenParen),
            b')' => {
                let Some(&next) = self.bytes.get(at + 1) else { return self.open(CloseParen) };
                match next {
                    b'*' => Ok(((CloseParenAsterisk, at + 2), false)),
                    b'?' => Ok(((CloseParenQuestion, at + 2), false)),
                    b'+' => Ok(((CloseParenPlus, at + 2), false)),
                    b'>' | b',' | b'|' | b')' => one(CloseParen),
                    next if is_space(next) => one(CloseParen),
                    _ => invalid(at + 1),
                }
            }
            b'|' => one(Or),
            b'>' => one(DeclClose),
            b'#' => {
                let end = self.name(at + 1, true)?;
                let Some(&next) = self.bytes.get(end) else { return self.open(PoundName) };
                match is_space(next) || matches!(next, b')' | b'>' | b'%' | b'|') {
                    true => Ok(((PoundName, end), false)),
                    false => invalid(end),
                }
            }
            _ => self.prolog_name(at),
        }
    }

    fn prolog_name(&self, at: usize) -> Part<(Found, bool)> {
        let c = char_at(self.bytes, at).unwrap_or('\0');
        let mut tok = match c {
            ':' if self.namespaces => Tok::Nmtoken,
            c if name_start_char(c) => Tok::Name,
            c if name_char(c) => Tok::Nmtoken,
            _ => return invalid(at),
        };
        let mut end = at + c.len_utf8();
        loop {
            end = self.name(end, false)?;
            let Some(&byte) = self.bytes.get(end) else { return self.open(tok) };
            let quantified = match byte {
                b':' => {
                    end += 1;
                    tok = match tok {
                        Tok::Name => match self.get(end)? {
                            b'-' | b'.' | b'0'..=b'9' => Tok::PrefixedName,
                            byte if byte >= 128 || self.starts_name(end)? => Tok::PrefixedName,
                            _ => Tok::Nmtoken,
                        },
                        _ => Tok::Nmtoken,
                    };
                    continue;
                }
                b'+' => Tok::NamePlus,
                b'*' => Tok::NameAsterisk,
                b'?' => Tok::NameQuestion,
                b'>' | b')' | b',' | b'|' | b'[' | b'%' => return Ok(((tok, end), false)),
                byte if is_space(byte) => return Ok(((tok, end), false)),
                _ => return invalid(end),
            };
            return match tok {
                Tok::Nmtoken => invalid(end),
                _ => Ok(((quantified, end + 1), false)),
            };
        }
    }

    /// The length of the character at `at`, if it may stand in a keyword; else 0. Where bytes are converted, expat
    /// takes letters of ISO-8859-1 too.
    fn keyword_char(&self, at: usize) -> Part<usize> {
        let byte = self.ascii(at)?;
        if byte.is_ascii_alphabetic() || byte == b'_' || byte == b':' && !self.namespaces {
            return Ok(1);
        }
        let letter = |c: &char| matches!(c, '\u{80}'..='\u{ff}') && name_start_char(*c);
        match byte >= 128 && self.converted {
            true => Ok(char_at(self.bytes, at).filter(letter).map_or(0, char::len_utf8)),
            false => Ok(0),
        }
    }

    /// Behind `<!`.
    fn declaration(&self, at: usize) -> Part<Found> {
        match self.ascii(at)? {
            b'-' => return self.comment(at + 1),
            b'[' => return Ok((Tok::CondOpen, at + 1)),
            _ => {}
        }
        let mut at = match self.keyword_char(at)? {
            0 => return invalid(at),
            len => at + len,
        };
        loop {
            match self.ascii(at)? {
                b'%' => {
                    let next = self.get(at + 1)?;
                    if is_space(next) || next == b'%' {
                        return invalid(at);
                    }
                    return Ok((Tok::DeclOpen, at));
                }
                byte if is_space(byte) => return Ok((Tok::DeclOpen, at)),
                _ => match self.keyword_char(at)? {
                    0 => return invalid(at),
                    len => at += len,
                },
            }
        }
    }
}

/// The number of a character reference, of a token that is one.
pub(crate) fn char_number(text: &[u8]) -> Option<char> {
    let digits = &text[2..text.len() - 1];
    let (digits, radix) = match digits.strip_prefix(b"x") {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    let mut value = 0_u32;
    for &byte in digits {
        value = (value * radix + char::from(byte).to_digit(radix)?).min(0x11_0000);
    }
    match value {
        9 | 10 | 13 | 0x20..=0xd7ff | 0xe000..=0xfffd | 0x1_0000..=0x10_ffff => {
            char::from_u32(value)
        }
        _ => None,
    }
}

/// The character of a predefined entity.
pub(crate) fn predefined(name: &[u8]) -> Option<u8> {
    Some(match name {
        b"lt" => b'<',
        b"gt" => b'>',
        b"amp" => b'&',
        b"apos" => b'\'',
        b"quot" => b'"',
        _ => return None,
    })
}
