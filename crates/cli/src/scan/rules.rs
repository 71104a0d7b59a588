//! What is searched for: expressions of the command line and of rule files.
//!
//! A line of a rule file is Hyperscan's `id:/regex/flags{parameters}`, a rule of Snort or Suricata ([`super::snort`]), or a
//! regular expression whose id is the number of its line.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use lookaside::scan::{BadPattern, Expression, Flags, parse_line};

use super::snort::{self, Element, Rule};

/// Where patterns come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// `-e`: an expression.
    Expression(Vec<u8>),
    /// `-f`: a file of them.
    File(PathBuf),
}

/// How lines that are plain expressions are read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// Flags that all patterns but rules' get.
    pub flags: Flags,
    /// Plain lines are strings.
    pub literal: bool,
}

/// Where a pattern is written.
#[derive(Clone, Debug)]
struct Origin {
    /// `rules.txt:12`, or `-e`.
    place: String,
    /// The rule that it is a part of.
    rule: Option<usize>,
}

/// All that is searched for.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    plain: Vec<(Expression, Origin)>,
    rules: Vec<(Rule, String)>,
    /// What of rules is not supported, how often.
    ignored: BTreeMap<String, usize>,
    /// Elements of rules that the engine has refused.
    refused: BTreeSet<Element>,
    wrong: Vec<String>,
}

/// The patterns of a set, with where each is written.
#[derive(Debug)]
pub(crate) struct Listed {
    pub expressions: Vec<Expression>,
    origins: Vec<Origin>,
    elements: Vec<Option<Element>>,
}

impl Rules {
    /// Reads all sources; what is wrong in lines is said by [`Rules::wrong`].
    pub(crate) fn read(sources: &[Source], reading: Reading) -> Result<Rules, String> {
        let mut rules = Rules::default();
        let mut id = 0;
        for source in sources {
            match source {
                Source::Expression(text) => {
                    id += 1;
                    rules.plain(text, id, reading, "-e".into());
                }
                Source::File(path) => {
                    let text = read(path).map_err(|e| format!("{}: {e}", path.display()))?;
                    rules.lines(&text, path, reading);
                }
            }
        }
        Ok(rules)
    }

    fn lines(&mut self, text: &[u8], path: &Path, reading: Reading) {
        let mut lines = text.split(|&byte| byte == b'\n').zip(1u32..);
        while let Some((line, number)) = lines.next() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let place = format!("{}:{number}", path.display());
            if line.trim_ascii().is_empty() || line.starts_with(b"#") {
                continue;
            }
            if snort::is_rule(line) {
                let mut whole = line.to_vec();
                // A rule may go on in the next line.
                while let Some(b'\\') = whole.trim_ascii_end().last().copied() {
                    whole.truncate(whole.trim_ascii_end().len() - 1);
                    match lines.next() {
                        Some((more, _)) => whole.extend_from_slice(more),
                        None => break,
                    }
                }
                match Rule::parse(&whole) {
                    Ok((rule, ignored)) => {
                        for what in ignored {
                            *self.ignored.entry(what).or_default() += 1;
                        }
                        self.rules.push((rule, place));
                    }
                    Err(why) => *self.ignored.entry(why).or_default() += 1,
                }
            } else if is_pattern_line(line) {
                match parse_line(line) {
                    Ok(Some(line)) => {
                        let mut expression = line.to_expression();
                        expression.flags = with(expression.flags, reading.flags);
                        self.plain.push((expression, Origin { place, rule: None }));
                    }
                    Ok(None) => {}
                    Err(e) => self.wrong.push(format!("{place}: {e}")),
                }
            } else {
                self.plain(line, number, reading, place);
            }
        }
    }

    fn plain(&mut self, text: &[u8], id: u32, reading: Reading, place: String) {
        let Reading { flags, literal } = reading;
        let expression =
            Expression { id, text: text.into(), flags, literal, ..Expression::default() };
        self.plain.push((expression, Origin { place, rule: None }));
    }

    /// Lines that cannot be read.
    pub(crate) fn wrong(&self) -> &[String] {
        &self.wrong
    }

    /// What of rules is not supported, for people; a line for each kind.
    pub(crate) fn ignored(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.ignored.iter().map(|(what, count)| format!("{count} x {what}")).collect();
        let without = self.rules.iter().filter(|(rule, _)| self.elements(rule).next().is_none());
        match without.count() {
            0 => {}
            count => lines.push(format!("{count} x rule left out: nothing to search for is left")),
        }
        lines
    }

    fn elements<'a>(&'a self, rule: &'a Rule) -> impl Iterator<Item = &'a Element> {
        rule.elements.iter().filter(|element| !self.refused.contains(element))
    }

    /// The patterns. A rule of one element is a pattern; one of several is a combination of patterns that are not reported,
    /// each of which all rules that have it share. A rule is reported once for a file or flow.
    pub(crate) fn list(&self) -> Listed {
        let (expressions, origins) = self.plain.iter().cloned().unzip();
        let elements = vec![None; self.plain.len()];
        let mut listed = Listed { expressions, origins, elements };
        let ids = self.plain.iter().map(|(expression, _)| expression.id);
        let used: BTreeSet<u32> = ids.chain(self.rules.iter().map(|(rule, _)| rule.id)).collect();
        // A combination names its operands by at most nine digits.
        let mut free = (0..=999_999_999).rev().filter(|id| !used.contains(id));
        let mut shared: HashMap<&Element, u32> = HashMap::new();
        for (number, (rule, place)) in self.rules.iter().enumerate() {
            let origin = Origin { place: place.clone(), rule: Some(number) };
            let elements: Vec<&Element> = self.elements(rule).collect();
            if let [element] = elements[..] {
                listed.push(element.expression(rule.id, false), origin, Some(element.clone()));
                continue;
            }
            let mut operands = Vec::new();
            for element in elements {
                let id = *shared.entry(element).or_insert_with(|| {
                    let id = free.next().unwrap_or_default();
                    listed.push(
                        element.expression(id, true),
                        origin.clone(),
                        Some(element.clone()),
                    );
                    id
                });
                if !operands.contains(&id) {
                    operands.push(id);
                }
            }
            if operands.is_empty() {
                continue;
            }
            let operands: Vec<String> = operands.iter().map(u32::to_string).collect();
            let flags = Flags { combination: true, single_match: true, ..Flags::default() };
            let text = operands.join(" & ").into_bytes();
            let expression = Expression { id: rule.id, text, flags, ..Expression::default() };
            listed.push(expression, origin, None);
        }
        listed
    }

    /// Takes refused elements out of rules. Returns what cannot be left out: messages, each with a caret below the
    /// offset.
    pub(crate) fn refuse(&mut self, listed: &Listed, bad: &[BadPattern]) -> Vec<String> {
        let mut fatal = Vec::new();
        for bad in bad {
            let Some(expression) = listed.expressions.get(bad.index) else { continue };
            let origin = &listed.origins[bad.index];
            match &listed.elements[bad.index] {
                Some(element) => {
                    if self.refused.insert(element.clone()) {
                        let kind = match element {
                            Element::Content { .. } => "content",
                            Element::Pcre { .. } => "pcre",
                        };
                        let what = format!("{kind} left out: {}", bad.what);
                        *self.ignored.entry(what).or_default() += 1;
                    }
                }
                None => fatal.push(message(bad, expression, origin)),
            }
        }
        fatal
    }
}

impl Listed {
    fn push(&mut self, expression: Expression, origin: Origin, element: Option<Element>) {
        self.expressions.push(expression);
        self.origins.push(origin);
        self.elements.push(element);
    }

    /// Where the pattern with this place in the set is written.
    pub(crate) fn place(&self, index: usize) -> &str {
        self.origins.get(index).map_or("", |origin| &origin.place)
    }

    /// How many rules are in it.
    pub(crate) fn rules(&self) -> usize {
        let rules: BTreeSet<usize> = self.origins.iter().filter_map(|origin| origin.rule).collect();
        rules.len()
    }
}

fn with(flags: Flags, more: Flags) -> Flags {
    Flags::from_bits(flags.bits() | more.bits()).unwrap_or(flags)
}

/// Whether the line begins with a number, a colon and a slash.
fn is_pattern_line(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && line[digits..].starts_with(b":/")
}

/// What is wrong with a pattern, the pattern, and a caret below the place.
fn message(bad: &BadPattern, expression: &Expression, origin: &Origin) -> String {
    /// How much of a long pattern is shown on each side.
    const AROUND: usize = 60;
    let mut out = format!("{}: {bad}", origin.place);
    let offset = bad.offset.unwrap_or(0).min(expression.text.len());
    let from = offset.saturating_sub(AROUND);
    let until = expression.text.len().min(offset + AROUND);
    let shown = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.chars().map(|c| if c.is_control() { '.' } else { c }).collect::<String>()
    };
    let before = shown(&expression.text[from..offset]);
    let cut = |is: bool| if is { "..." } else { "" };
    let (head, tail) = (cut(from > 0), cut(until < expression.text.len()));
    out += &format!("\n  {head}{before}{}{tail}", shown(&expression.text[offset..until]));
    if bad.offset.is_some() {
        out += &format!("\n  {}^", " ".repeat(head.len() + before.chars().count()));
    }
    out
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if path.as_os_str() == "-" {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut text)?;
        return Ok(text);
    }
    std::fs::read(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Rules {
        let mut rules = Rules::default();
        rules.lines(text.as_bytes(), Path::new("f"), Reading::default());
        rules
    }

    #[test]
    fn each_kind_of_line() {
        let rules = rules("# c\n\n7:/a+/i\nplain [x]\r\n9:/b/Z\n");
        let listed = rules.list();
        let all: Vec<_> =
            listed.expressions.iter().map(|e| (e.id, &e.text[..], e.flags.caseless)).collect();
        assert_eq!(all, [(7, &b"a+"[..], true), (4, b"plain [x]", false)]);
        assert_eq!(rules.wrong(), ["f:5: unknown flag Z"]);
    }

    #[test]
    fn rules_share_their_contents() {
        let head = "alert tcp any any -> any any";
        let rules = rules(&format!(
            "{head} (msg:\"m\"; content:\"GET\"; content:\"evil\"; nocase; sid:10;)\n\
             {head} (content:\"GET\"; \\\n content:\"bad\"; sid:11;)\n\
             {head} (content:\"GET\"; sid:12;)\n"
        ));
        let listed = rules.list();
        assert_eq!(listed.rules(), 3);
        let all: Vec<_> = listed
            .expressions
            .iter()
            .map(|e| (e.id, String::from_utf8_lossy(&e.text), e.flags.letters()))
            .collect();
        let operand = 999_999_999;
        let expected = [
            (operand, "GET", "HQ"),
            (operand - 1, "evil", "iHQ"),
            (10, "999999999 & 999999998", "HC"),
            (operand - 2, "bad", "HQ"),
            (11, "999999999 & 999999997", "HC"),
            (12, "GET", "H"),
        ];
        let expected = expected.map(|(id, text, flags)| (id, text.into(), flags.to_owned()));
        assert_eq!(all, expected);
    }

    #[test]
    fn a_message_points_at_the_place() {
        let bad = BadPattern { index: 0, id: 3, offset: Some(4), what: "w".into() };
        let expression = Expression { id: 3, text: "ab\tü(c".into(), ..Expression::default() };
        let origin = Origin { place: "f:3".into(), rule: None };
        // Byte 4 is within a character.
        let bad = BadPattern { offset: Some(5), ..bad };
        assert_eq!(
            message(&bad, &expression, &origin),
            "f:3: pattern 3 at byte 5: w\n  ab.ü(c\n      ^"
        );
        let long = Expression { text: vec![b'x'; 1000], ..expression };
        let bad = BadPattern { offset: Some(500), ..bad };
        let text = message(&bad, &long, &origin);
        let caret = text.lines().last().unwrap();
        assert_eq!((caret.len(), caret.trim()), (2 + 3 + 60 + 1, "^"));
    }
}
