//! Rules of Snort and Suricata, as far as they say which bytes occur.
//!
//! Of a rule, its `content`s, its `pcre`s and its `sid` are read. What else restricts it (addresses, buffers such as
//! `http.uri`, `offset`, `distance`, `flow`, ...) is left out, and said to be: so a rule may be found where Snort does not
//! find it, not the other way round.

use lookaside::scan::{Expression, Flags};

/// What a rule searches for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Element {
    /// `content`: these bytes.
    Content {
        /// The bytes.
        bytes: Vec<u8>,
        /// `nocase`.
        caseless: bool,
    },
    /// `pcre`: an expression.
    Pcre {
        /// The expression.
        text: Vec<u8>,
        /// The bits of its flags.
        flags: u32,
    },
}

impl Element {
    /// The pattern that finds it: once, and silently if it is one of several.
    pub(crate) fn expression(&self, id: u32, quiet: bool) -> Expression {
        let (text, flags) = match self {
            Element::Content { bytes, caseless } => {
                (bytes.clone(), Flags { caseless: *caseless, ..Flags::default() })
            }
            Element::Pcre { text, flags } => {
                (text.clone(), Flags::from_bits(*flags).unwrap_or_default())
            }
        };
        let flags = Flags { quiet, single_match: true, ..flags };
        let literal = matches!(self, Element::Content { .. });
        // A string is never quiet, an expression may be.
        match literal && quiet {
            true => Expression { id, text: escaped(&text).into(), flags, ..Expression::default() },
            false => Expression { id, text, flags, literal, ..Expression::default() },
        }
    }
}

/// A string as an expression.
pub(crate) fn escaped(text: &[u8]) -> String {
    let byte = |&byte: &u8| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("\\x{byte:02x}"),
    };
    text.iter().map(byte).collect()
}

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// Its `sid`.
    pub id: u32,
    /// All of this has to occur.
    pub elements: Vec<Element>,
}

const ACTIONS: [&[u8]; 9] =
    [b"alert", b"block", b"config", b"drop", b"log", b"pass", b"reject", b"rejectsrc", b"sdrop"];

/// Options that restrict nothing.
const FREE: [&[u8]; 12] = [
    b"classtype",
    b"fast_pattern",
    b"gid",
    b"metadata",
    b"msg",
    b"nocase",
    b"priority",
    b"rawbytes",
    b"reference",
    b"rev",
    b"sid",
    b"target",
];

/// Whether a line is a rule: an action, and options in parentheses.
pub(crate) fn is_rule(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let end = line.iter().position(|byte| byte.is_ascii_whitespace()).unwrap_or(line.len());
    let whole = matches!(line.last(), Some(b')' | b'\\'));
    let arrow = line.windows(4).any(|four| matches!(four, b" -> " | b" <> "));
    let short = line[end..].trim_ascii_start().starts_with(b"(");
    ACTIONS.contains(&&line[..end]) && whole && (arrow || short)
}

impl Rule {
    /// Reads a rule, and what of it is left out.
    ///
    /// # Errors
    /// Why there is no rule.
    pub(crate) fn parse(line: &[u8]) -> Result<(Rule, Vec<String>), String> {
        let left_out = |what: &str| format!("rule left out: {what}");
        let open = line.iter().position(|&byte| byte == b'(');
        let open = open.ok_or_else(|| left_out("no options"))?;
        let options = line[open + 1..].trim_ascii_end();
        let options =
            options.strip_suffix(b")").ok_or_else(|| left_out("no closing parenthesis"))?;
        let mut rule = Rule { id: 0, elements: vec![] };
        let (mut id, mut ignored) = (None, Vec::new());
        let mut ignore = |what: String| {
            if !ignored.contains(&what) {
                ignored.push(what);
            }
        };
        for option in split(options, b';') {
            let option = option.trim_ascii();
            let colon = option.iter().position(|&byte| byte == b':').unwrap_or(option.len());
            let name = option[..colon].trim_ascii();
            let value = option.get(colon + 1..).unwrap_or_default().trim_ascii();
            match name {
                b"" => {}
                b"sid" => id = str::from_utf8(value).ok().and_then(|text| text.parse().ok()),
                b"content" | b"uricontent" => match content(value) {
                    Ok(Some(element)) => rule.elements.push(element),
                    Ok(None) => ignore("content:! ignored".into()),
                    Err(why) => return Err(left_out(why)),
                },
                b"pcre" => match pcre(value) {
                    Ok(Some((element, letters))) => {
                        for letter in letters {
                            ignore(format!("flag {letter} of pcre ignored"));
                        }
                        rule.elements.push(element);
                    }
                    Ok(None) => ignore("pcre:! ignored".into()),
                    Err(why) => ignore(format!("pcre left out: {why}")),
                },
                b"nocase" => {
                    let last = rule.elements.iter_mut().rev();
                    let mut contents = last.filter_map(|element| match element {
                        Element::Content { caseless, .. } => Some(caseless),
                        Element::Pcre { .. } => None,
                    });
                    match contents.next() {
                        Some(caseless) => *caseless = true,
                        None => return Err(left_out("nocase without content")),
                    }
                }
                name if FREE.contains(&name) => {}
                name => ignore(format!("{} ignored", String::from_utf8_lossy(name))),
            }
        }
        rule.id = id.ok_or_else(|| left_out("no sid"))?;
        Ok((rule, ignored))
    }
}

/// The parts of a text between separators that are neither in quotes nor behind a backslash.
fn split(text: &[u8], separator: u8) -> Vec<&[u8]> {
    let (mut parts, mut start, mut quoted, mut escaped) = (vec![], 0, false, false);
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            _ if byte == separator && !quoted => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The inside of `"..."`; whether `!` is before it; and what follows it.
fn quoted(value: &[u8]) -> Option<(bool, &[u8], &[u8])> {
    let (negated, value) = match value.strip_prefix(b"!") {
        Some(rest) => (true, rest.trim_ascii_start()),
        None => (false, value),
    };
    let inside = value.strip_prefix(b"\"")?;
    let mut escaped = false;
    let end = inside.iter().position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    Some((negated, &inside[..end], inside[end + 1..].trim_ascii()))
}

/// A content; `None` if it is negated.
fn content(value: &[u8]) -> Result<Option<Element>, &'static str> {
    let (negated, text, after) = quoted(value).ok_or("content without quotes")?;
    let (mut bytes, mut hex) = (Vec::new(), None::<Vec<u8>>);
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        match (&mut hex, byte) {
            (Some(digits), b'|') => {
                if digits.len() % 2 != 0 {
                    return Err("content with half a byte");
                }
                let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
                bytes.extend(digits.chunks(2).map(|two| value(two[0]) << 4 | value(two[1])));
                hex = None;
            }
            (Some(digits), digit) if digit.is_ascii_hexdigit() => digits.push(digit),
            (Some(_), b' ') => {}
            (Some(_), _) => return Err("content with a bad hexadecimal digit"),
            (None, b'|') => hex = Some(Vec::new()),
            (None, b'\\') => bytes.push(rest.next().ok_or("content with a backslash at its end")?),
            (None, byte) => bytes.push(byte),
        }
    }
    if hex.is_some() {
        return Err("content with an open |");
    }
    if bytes.is_empty() {
        return Err("empty content");
    }
    // Snort 3 writes the modifiers of a content behind it.
    let mut modifiers = after.split(|&byte| byte == b',' || byte == b' ');
    let caseless = modifiers.any(|word| word == b"nocase");
    Ok((!negated).then_some(Element::Content { bytes, caseless }))
}

/// An expression, and its letters that are ignored; `None` if it is negated.
fn pcre(value: &[u8]) -> Result<Option<(Element, Vec<char>)>, &'static str> {
    let (negated, text, _) = quoted(value).ok_or("no quotes")?;
    let rest = text.strip_prefix(b"/").ok_or("not between slashes")?;
    let slash = rest.iter().rposition(|&byte| byte == b'/').ok_or("not between slashes")?;
    let mut flags = Flags::default();
    let (mut prefix, mut ignored) = (&b""[..], Vec::new());
    for &letter in &rest[slash + 1..] {
        match letter {
            b'i' => flags.caseless = true,
            b's' => flags.dot_all = true,
            b'm' => flags.multi_line = true,
            b'x' => prefix = b"(?x)",
            // Which of several matches, where all are reported.
            b'G' => {}
            letter => ignored.push(char::from(letter)),
        }
    }
    // Within quotes, a semicolon and a quote have a backslash, which PCRE takes as the character.
    let text = [prefix, &rest[..slash]].concat();
    Ok((!negated).then_some((Element::Pcre { text, flags: flags.bits() }, ignored)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(bytes: &[u8], caseless: bool) -> Element {
        Element::Content { bytes: bytes.into(), caseless }
    }

    #[test]
    fn a_rule_of_suricata() {
        let line = br#"alert http $HOME_NET any -> any any (msg:"a; (b)"; flow:established; content:"GET |20 0d0A|x\"\;"; nocase; http_uri; content:!"no"; content:"|7c|"; depth:4; depth:5; pcre:"/a\/b[;]+/Ui"; pcre:!"/x/"; sid:42; rev:1;)"#;
        assert!(is_rule(line));
        let (rule, ignored) = Rule::parse(line).unwrap();
        assert_eq!(rule.id, 42);
        let pcre = Element::Pcre { text: b"a\\/b[;]+".into(), flags: 1 };
        assert_eq!(rule.elements, [bytes(b"GET  \r\nx\";", true), bytes(b"|", false), pcre]);
        assert_eq!(
            ignored,
            [
                "flow ignored",
                "http_uri ignored",
                "content:! ignored",
                "depth ignored",
                "flag U of pcre ignored",
                "pcre:! ignored"
            ]
        );
    }

    #[test]
    fn a_rule_of_snort_3() {
        let line = b"alert ( content:\"ab\", nocase, offset 3; sid:1; )";
        assert!(is_rule(line));
        assert_eq!(Rule::parse(line).unwrap().0.elements, [bytes(b"ab", true)]);
    }

    #[test]
    fn what_is_no_rule() {
        for line in ["alert (tcp|udp) x", "alert", "alerts a -> b (x)", "GET (a)"] {
            assert!(!is_rule(line.as_bytes()), "{line}");
        }
        let bad = [
            (r#"content:"a";"#, "no sid"),
            (r#"content:"|1|"; sid:1;"#, "content with half a byte"),
            (r#"content:"|1g|"; sid:1;"#, "content with a bad hexadecimal digit"),
            (r#"content:"|11"; sid:1;"#, "content with an open |"),
            (r#"content:""; sid:1;"#, "empty content"),
            (r#"content:a; sid:1;"#, "content without quotes"),
            (r#"nocase; sid:1;"#, "nocase without content"),
            (r#"content:"a"; sid:4294967296;"#, "no sid"),
        ];
        for (options, why) in bad {
            let line = format!("alert tcp any any -> any any ({options})");
            let refused = Rule::parse(line.as_bytes()).unwrap_err();
            assert_eq!(refused, format!("rule left out: {why}"), "{options}");
        }
        assert!(Rule::parse(b"alert tcp a b -> c d").is_err());
        let (rule, ignored) = Rule::parse(br#"alert (pcre:"a"; sid:1;)"#).unwrap();
        assert!(rule.elements.is_empty());
        assert_eq!(ignored, ["pcre left out: not between slashes"]);
    }
}
