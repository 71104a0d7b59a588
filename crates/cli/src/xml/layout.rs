//! `lookaside xml format`: white space between tags, and nothing else, is made anew.
//!
//! Works on the bytes of a document that is known to be well-formed: all that is not white space between tags is copied as
//! it is, declarations, references and quotes too.

/// One piece of markup, or characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Start,
    Empty,
    End,
    Text,
    Cdata,
    /// Declarations, comments, instructions.
    Other,
}

/// The tokens of a well-formed document.
struct Tokens<'a>(&'a [u8]);

impl<'a> Iterator for Tokens<'a> {
    type Item = (Token, &'a [u8]);

    fn next(&mut self) -> Option<(Token, &'a [u8])> {
        let text = self.0;
        let (token, len) = match text {
            [] => return None,
            [b'<', b'!', b'-', b'-', ..] => (Token::Other, until(text, 4, b"-->")),
            [b'<', b'!', b'[', ..] => (Token::Cdata, until(text, 9, b"]]>")),
            [b'<', b'?', ..] => (Token::Other, until(text, 2, b"?>")),
            [b'<', b'!', ..] => (Token::Other, doctype(text)),
            [b'<', b'/', ..] => (Token::End, until(text, 2, b">")),
            [b'<', ..] => {
                let len = tag(text);
                match text[..len].ends_with(b"/>") {
                    true => (Token::Empty, len),
                    false => (Token::Start, len),
                }
            }
            _ => (Token::Text, text.iter().position(|&b| b == b'<').unwrap_or(text.len())),
        };
        let (first, rest) = text.split_at(len);
        self.0 = rest;
        Some((token, first))
    }
}

/// The length up to and with `end`, from `from` on.
fn until(text: &[u8], from: usize, end: &[u8]) -> usize {
    let rest = text.get(from..).unwrap_or(&[]);
    let place = rest.windows(end.len()).position(|window| window == end);
    place.map_or(text.len(), |at| from + at + end.len())
}

/// The length of a tag, whose values may have a `>`.
fn tag(text: &[u8]) -> usize {
    let mut quote = None;
    for (at, &byte) in text.iter().enumerate() {
        match quote {
            Some(mark) if mark == byte => quote = None,
            Some(_) => {}
            None if byte == b'"' || byte == b'\'' => quote = Some(byte),
            None if byte == b'>' => return at + 1,
            None => {}
        }
    }
    text.len()
}

/// The length of a document type declaration with its internal subset.
fn doctype(text: &[u8]) -> usize {
    let (mut at, mut inside) = (2, false);
    while at < text.len() {
        match text[at] {
            b'[' => inside = true,
            b']' => inside = false,
            b'>' if !inside => return at + 1,
            b'"' | b'\'' => at = until(text, at + 1, &text[at..=at]) - 1,
            b'<' if text[at..].starts_with(b"<!--") => at = at + until(&text[at..], 4, b"-->") - 1,
            b'<' if text[at..].starts_with(b"<?") => at = at + until(&text[at..], 2, b"?>") - 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|byte| b" \t\r\n".contains(byte))
}

/// How the content of each element is written, in the order of the start-tags: whether as it stands.
fn verbatim(document: &[u8]) -> Vec<bool> {
    let (mut all, mut open) = (vec![], vec![]);
    for (token, text) in Tokens(document) {
        match token {
            Token::Start => {
                open.push(all.len());
                // xml:space says that white space matters.
                all.push(preserves(text));
            }
            Token::End => {
                open.pop();
            }
            Token::Text if is_blank(text) => {}
            Token::Text | Token::Cdata => {
                if let Some(&element) = open.last() {
                    all[element] = true;
                }
            }
            Token::Empty | Token::Other => {}
        }
    }
    all
}

fn preserves(tag: &[u8]) -> bool {
    let tag: Vec<u8> = tag.iter().copied().filter(|b| !b" \t\r\n".contains(b)).collect();
    let finds = |text: &[u8]| tag.windows(text.len()).any(|window| window == text);
    finds(b"xml:space=\"preserve\"") || finds(b"xml:space='preserve'")
}

/// The document with elements on lines of their own, two spaces for each level. Content with characters is left as it is.
pub(super) fn format(document: &[u8]) -> Vec<u8> {
    let kept = verbatim(document);
    let mut out = Vec::with_capacity(document.len() + document.len() / 4);
    // Of each open element, whether its content is left as it is; the depth at which that began.
    let (mut depth, mut seen, mut as_is) = (0usize, 0, None);
    // An element without content stands on one line with its end.
    let mut after_start = false;
    let mut first = true;
    for (token, text) in Tokens(document) {
        if as_is.is_none() {
            if token == Token::Text && is_blank(text) {
                continue;
            }
            let level = if token == Token::End { depth - 1 } else { depth };
            if !(first || after_start && token == Token::End) && token != Token::Text {
                out.push(b'\n');
                out.extend(std::iter::repeat_n(b' ', 2 * level));
            }
        }
        first = false;
        out.extend(text);
        after_start = token == Token::Start;
        match token {
            Token::Start => {
                if as_is.is_none() && kept.get(seen).copied().unwrap_or(false) {
                    as_is = Some(depth);
                }
                seen += 1;
                depth += 1;
            }
            Token::End => {
                depth -= 1;
                if as_is == Some(depth) {
                    as_is = None;
                }
            }
            _ => {}
        }
    }
    out.push(b'\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts() {
        for (text, expected) in [
            ("<a/>", "<a/>\n"),
            ("<a></a>", "<a></a>\n"),
            ("<a>  \n</a>", "<a></a>\n"),
            ("<a><b/> <c>d</c></a>", "<a>\n  <b/>\n  <c>d</c>\n</a>\n"),
            ("<a><b>x <c> <d/></c></b></a>", "<a>\n  <b>x <c> <d/></c></b>\n</a>\n"),
            ("<a><b> <![CDATA[ ]]></b></a>", "<a>\n  <b> <![CDATA[ ]]></b>\n</a>\n"),
            ("<a xml:space = 'preserve'> <b/></a>", "<a xml:space = 'preserve'> <b/></a>\n"),
            (
                "<a b='>'><!-- <c> --><?d <e> ?></a>",
                "<a b='>'>\n  <!-- <c> -->\n  <?d <e> ?>\n</a>\n",
            ),
            (
                "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b \"]>\"><!-- ' ]> -->]><a><b>&b;</b></a>",
                "<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY b \"]>\"><!-- ' ]> -->]>\n<a>\n  <b>&b;</b>\n</a>\n",
            ),
        ] {
            let out = String::from_utf8(format(text.as_bytes())).unwrap();
            assert_eq!(out, expected);
            assert_eq!(format(out.as_bytes()), out.as_bytes(), "once more");
        }
    }
}
