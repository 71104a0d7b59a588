//! Names and characters: productions [2] to [7] of XML 1.0.

use crate::Rule;

/// NameStartChar [4].
pub(crate) fn is_name_start(c: char) -> bool {
    matches!(c, ':' | '_' | 'A'..='Z' | 'a'..='z'
        | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}'
        | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}'
        | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
}

/// NameChar [4a].
pub(crate) fn is_name_char(c: char) -> bool {
    is_name_start(c)
        || matches!(c, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

/// Char [2].
pub(crate) fn is_char(c: u32) -> bool {
    matches!(c, 9 | 10 | 13 | 0x20..=0xd7ff | 0xe000..=0xfffd | 0x10000..=0x10ffff)
}

/// S [3].
#[inline(always)]
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Of each byte: 1 if it is a NameStartChar below 128, 2 if a NameChar below 128.
const NAME_BYTES: [u8; 256] = {
    let mut all = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let b = byte as u8;
        let is_start = b.is_ascii_alphabetic() || b == b':' || b == b'_';
        let is_name = is_start || b.is_ascii_digit() || b == b'-' || b == b'.';
        all[byte] = if is_start { 3 } else { is_name as u8 * 2 };
        byte += 1;
    }
    all
};

/// Nmtoken [7].
pub(crate) fn is_nmtoken(bytes: &[u8]) -> bool {
    let all = bytes.iter().fold(2, |all, byte| all & NAME_BYTES[usize::from(*byte)]);
    if all & 2 != 0 {
        return !bytes.is_empty();
    }
    std::str::from_utf8(bytes).is_ok_and(|text| !text.is_empty() && text.chars().all(is_name_char))
}

/// Name [5].
pub(crate) fn is_name(bytes: &[u8]) -> bool {
    is_nmtoken(bytes)
        && match bytes[0] {
            byte @ ..128 => NAME_BYTES[usize::from(byte)] & 1 != 0,
            _ => std::str::from_utf8(bytes).is_ok_and(|text| text.starts_with(is_name_start)),
        }
}

/// The byte at which [`is_name`] becomes false.
pub(crate) fn name_fault(bytes: &[u8]) -> usize {
    let text = std::str::from_utf8(bytes).unwrap_or("");
    let mut chars = text.char_indices();
    match chars.next() {
        Some((_, c)) if is_name_start(c) => {
            chars.find(|(_, c)| !is_name_char(*c)).map_or(text.len(), |(at, _)| at)
        }
        _ => 0,
    }
}

/// The length of the prefix of a qualified name, 0 without one.
pub(crate) fn prefix_len(name: &[u8]) -> Result<usize, Rule> {
    match memchr::memchr(b':', name) {
        None => Ok(0),
        Some(at) if at > 0 && is_name(&name[at + 1..]) && !name[at + 1..].contains(&b':') => Ok(at),
        Some(_) => Err(Rule::NsQName),
    }
}

/// What a reference at the beginning of `bytes` is.
pub(crate) enum Reference {
    Char(char, usize),
    /// The entity's name, and the length with `&` and `;`.
    Entity(usize, usize),
    More,
}

/// `bytes` begin with `&`. An error has its distance.
pub(crate) fn reference(bytes: &[u8]) -> Result<Reference, (Rule, usize)> {
    let Some(&second) = bytes.get(1) else { return Ok(Reference::More) };
    if second != b'#' {
        let end = bytes[1..].iter().position(|&byte| byte < 128 && !ascii_name(byte));
        let Some(end) = end else { return Ok(Reference::More) };
        let name = &bytes[1..1 + end];
        if !is_name(name) {
            return Err((Rule::EntityRef, 1 + name_fault(name)));
        }
        if bytes[1 + end] != b';' {
            return Err((Rule::EntityRef, 1 + end));
        }
        return Ok(Reference::Entity(end, end + 2));
    }
    let hex = bytes.get(2) == Some(&b'x');
    let from = if hex { 3 } else { 2 };
    let (mut at, mut value) = (from, 0_u32);
    loop {
        let Some(&byte) = bytes.get(at) else { return Ok(Reference::More) };
        let digit = match char::from(byte).to_digit(if hex { 16 } else { 10 }) {
            Some(digit) => digit,
            None if byte == b';' && at > from => break,
            None => return Err((Rule::CharRef, at)),
        };
        value = (value * if hex { 16 } else { 10 } + digit).min(0x11_0000);
        at += 1;
    }
    match char::from_u32(value) {
        Some(c) if is_char(value) => Ok(Reference::Char(c, at + 1)),
        _ => Err((Rule::LegalCharacter, 0)),
    }
}

#[inline]
pub(crate) fn ascii_name(byte: u8) -> bool {
    NAME_BYTES[usize::from(byte)] & 2 != 0
}

#[inline]
pub(crate) fn ascii_name_start(byte: u8) -> bool {
    NAME_BYTES[usize::from(byte)] & 1 != 0
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
