//! Which strings announce a segment.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use crate::node::{ByteSet, Node, width};
use crate::starts::Beginning;

/// The most strings that one segment is looked for by.
const MAX_STRINGS: usize = 64;
/// The longest string, in bytes.
const MAX_LENGTH: usize = 32;
/// The shortest string.
const MIN_LENGTH: usize = 2;

/// A string, and whether ASCII letters match in either case (then they are stored in lower case).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Text {
    /// 2 to 32 bytes.
    pub bytes: Box<[u8]>,
    /// Letters match in either case.
    pub caseless: bool,
}

/// The strings, one of which occurs in each match.
pub(crate) type Choice = Vec<Text>;

/// A byte, or both cases of a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Letter {
    byte: u8,
    both_cases: bool,
}

type Language = Vec<Vec<Letter>>;

/// What many patterns of a set have in common: it is frequent in what they are for, and each occurrence is one of all of
/// them.
#[derive(Debug, Default)]
pub(crate) struct Common {
    /// Of three letters, in how many patterns they are; with [`FREQUENT`] if they are frequent anyway.
    counts: HashMap<u32, u32, BuildHasherDefault<Mix>>,
}

/// A hash of a number.
#[derive(Debug, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// Bits less that a string is worth for each doubling of the patterns that it is in.
const COMMON: f64 = 1.5;
/// In a count.
const FREQUENT: u32 = 1 << 31;
/// What is in most of what is scanned in practice, in lower case: requests, answers and documents of the web.
const FREQUENT_WORDS: [&str; 16] = [
    "mozilla/5.0 (",
    " applewebkit/",
    " (khtml, like gecko) ",
    " safari/",
    " chrome/",
    " mobile",
    " version/",
    "android ",
    "windows nt ",
    " linux",
    " http/1.1\r\n",
    "https://www.",
    "http://www.",
    "content-type: ",
    "content-length: ",
    "text/html",
];
/// What a part of that is worth at most: less than a string that is [rare](crate::required::Required::is_rare).
const FREQUENT_BITS: f64 = 15.0;

fn gram(letters: [u8; 3]) -> u32 {
    let [a, b, c] = letters.map(|letter| u32::from(letter.to_ascii_lowercase()));
    a | b << 8 | c << 16
}

impl Common {
    /// Of patterns that are no plain texts, which leave no choice.
    pub(crate) fn new<'a>(nodes: impl Iterator<Item = &'a Node>) -> Common {
        let mut all = Common::default();
        let mut own = HashSet::new();
        for node in nodes {
            let mut stack = vec![node];
            let mut nested = false;
            while let Some(node) = stack.pop() {
                match node {
                    Node::Empty | Node::Assert(_) | Node::Class(_) => {}
                    Node::Alternate(parts) => stack.extend(parts),
                    Node::Repeat { node, .. } => stack.push(node),
                    Node::Concat(parts) => {
                        let letters = parts.iter().map(one_letter);
                        let letters: Vec<Option<u8>> = letters.collect();
                        let grams =
                            letters.windows(3).filter_map(|it| Some([it[0]?, it[1]?, it[2]?]));
                        if !letters.iter().all(Option::is_some) {
                            stack.extend(parts);
                            own.extend(grams);
                        } else if nested {
                            own.extend(grams);
                        }
                    }
                }
                nested = true;
            }
            own.drain().for_each(|it| *all.counts.entry(gram(it)).or_default() += 1);
        }
        for word in FREQUENT_WORDS {
            for it in word.as_bytes().windows(3) {
                *all.counts.entry(gram([it[0], it[1], it[2]])).or_default() |= FREQUENT;
            }
        }
        all
    }

    /// In how many patterns three letters are, or 0; with [`FREQUENT`].
    fn count(&self, letters: [u8; 3]) -> u32 {
        self.counts.get(&gram(letters)).copied().unwrap_or(0)
    }
}

/// A string that grows, and what its worth is reckoned from.
#[derive(Clone, Debug)]
struct Growing {
    letters: Vec<Letter>,
    /// Bits of its letters.
    sum: f64,
    /// The least number of patterns that three letters of it are in.
    least: u32,
    /// All three letters are frequent.
    frequent: bool,
    /// Letters that match in either case, and whether there are letters that do not.
    both_cases: u32,
    one_case: bool,
}

impl Growing {
    const EMPTY: Growing = Growing {
        letters: vec![],
        sum: 0.0,
        least: u32::MAX,
        frequent: true,
        both_cases: 0,
        one_case: false,
    };

    fn push(&mut self, letter: Letter, common: &Common) {
        self.letters.push(letter);
        self.sum += match letter.byte {
            b' ' | b'\n' | 0 => 3.0,
            _ if letter.both_cases => 4.7,
            _ => 5.5,
        };
        self.both_cases += u32::from(letter.both_cases);
        self.one_case |= letter.byte.is_ascii_alphabetic() && !letter.both_cases;
        if let [.., a, b, c] = self.letters[..] {
            let count = common.count([a.byte, b.byte, c.byte]);
            self.least = self.least.min(count & !FREQUENT);
            self.frequent &= count & FREQUENT != 0;
        }
    }

    /// Whether it has letters that match in either case, and letters that do not.
    fn is_mixed(&self) -> bool {
        self.both_cases > 0 && self.one_case
    }

    /// Bits that it is worth. Above some 24 bits chance occurrences are no cost any more; longer strings still allow larger
    /// strides.
    fn worth(&self) -> f64 {
        let bits = self.sum.min(24.0) + 0.3 * (self.sum - 24.0).clamp(0.0, 50.0);
        let least = if self.letters.len() < 3 { 0 } else { self.least };
        let worth = bits - COMMON * f64::from(least.max(1)).log2();
        if self.frequent { worth.min(FREQUENT_BITS) } else { worth }
    }
}

/// Each string with each of `language` behind it. False: they are too many, or too long.
fn grow(strings: &mut Vec<Growing>, language: &Language, common: &Common) -> bool {
    let length = |all: &mut dyn Iterator<Item = usize>| all.max().unwrap_or(0);
    let longest = length(&mut strings.iter().map(|it| it.letters.len()))
        + length(&mut language.iter().map(Vec::len));
    if strings.len() * language.len() > MAX_STRINGS || longest > MAX_LENGTH {
        return false;
    }
    if let [one] = &language[..] {
        let push = |it: &mut Growing| one.iter().for_each(|letter| it.push(*letter, common));
        strings.iter_mut().for_each(push);
        return true;
    }
    let known = std::mem::take(strings);
    for string in &known {
        for more in language {
            let mut longer = string.clone();
            more.iter().for_each(|letter| longer.push(*letter, common));
            strings.push(longer);
        }
    }
    true
}

/// The byte of a class that has one, in lower case.
fn one_letter(node: &Node) -> Option<u8> {
    let Node::Class(class) = node else { return None };
    if class.len() > 2 {
        return None;
    }
    let first = class.iter().next()?.to_ascii_lowercase();
    class.iter().all(|byte| byte.to_ascii_lowercase() == first).then_some(first)
}

/// What announces a segment, and what stands on both sides.
pub(crate) struct Announcement {
    /// How rare they are, in bits, less what it costs to look for several.
    pub score: f64,
    /// The strings.
    pub strings: Choice,
    /// The parts of the segment before the string.
    pub before: Vec<Node>,
    /// The parts after it.
    pub after: Vec<Node>,
}

/// The run of parts whose strings are the best to look for. `None`: no run has strings of at least two bytes.
pub(crate) fn choose(parts: &[Node], common: &Common) -> Option<Announcement> {
    if let Some(whole) = one_text(parts, common) {
        return Some(whole);
    }
    // X{2,5}: XX and up to three X, in either order; a string may end with the XX or begin with it.
    let ways = split_ways(parts);
    let (run, parts) = ways
        .iter()
        .filter_map(|parts| Some((best_run(parts, common)?, parts)))
        .max_by(|(a, _), (b, _)| a.score.total_cmp(&b.score))?;
    let Run { score, range, strings } = run;
    let (before, after) = (parts[..range.start].to_vec(), parts[range.end..].to_vec());
    Some(Announcement { score, strings, before, after })
}

/// The announcement of a segment that is one text with one rule for case: its last bytes. There are many such, and all
/// runs of a long one are many.
fn one_text(parts: &[Node], common: &Common) -> Option<Announcement> {
    let letter = |part: &Node| match part {
        Node::Class(class) if class.len() <= 2 => match &letters(*class)?[..] {
            [one] => Some(one[0]),
            _ => None,
        },
        _ => None,
    };
    let all: Vec<Letter> = parts.iter().map(letter).collect::<Option<_>>()?;
    if is_mixed(&all) {
        return None;
    }
    let from = all.len().saturating_sub(MAX_LENGTH);
    let mut string = Growing::EMPTY;
    all[from..].iter().for_each(|letter| string.push(*letter, common));
    let (score, strings) = (score(&[string])?, texts(&vec![all[from..].to_vec()])?);
    Some(Announcement { score, strings, before: parts[..from].to_vec(), after: vec![] })
}

/// The parts with their repeats [divided](split_repeats) in both ways, if these differ.
pub(crate) fn split_ways(parts: &[Node]) -> Vec<Vec<Node>> {
    let mut ways: Vec<Vec<Node>> = [true, false].map(|first| split_repeats(parts, first)).into();
    ways.dedup();
    ways
}

/// Divides repeats that have both required and optional rounds.
fn split_repeats(parts: &[Node], required_first: bool) -> Vec<Node> {
    let mut out = vec![];
    for part in parts {
        match part {
            Node::Repeat { node, min, max: Some(max) }
                if (1..=MAX_LENGTH as u32).contains(min) && max > min =>
            {
                let optional = Node::Repeat { node: node.clone(), min: 0, max: Some(max - min) };
                let required = std::iter::repeat_n((**node).clone(), *min as usize);
                if required_first {
                    out.extend(required);
                    out.push(optional);
                } else {
                    out.push(optional);
                    out.extend(required);
                }
            }
            _ => out.push(part.clone()),
        }
    }
    out
}

/// Neighbours of which one of the strings occurs in each match.
pub(crate) struct Run {
    pub score: f64,
    pub range: Range<usize>,
    pub strings: Choice,
}

/// Whether a part is a few short strings.
pub(crate) fn is_language(node: &Node) -> bool {
    language(node).is_some()
}

pub(crate) fn best_run(parts: &[Node], common: &Common) -> Option<Run> {
    let languages: Vec<Option<Language>> = parts.iter().map(language).collect();
    let mut best: Option<(f64, Range<usize>)> = None;
    for start in 0..parts.len() {
        let mut strings = vec![Growing::EMPTY];
        for (end, language) in languages.iter().enumerate().skip(start) {
            let Some(language) = language else { break };
            if !grow(&mut strings, language, common) {
                break;
            }
            let Some(score) = score(&strings) else { continue };
            if best.as_ref().is_none_or(|best| score >= best.0)
                && (strings.iter().all(|it| !it.is_mixed()) || texts(&plain(&strings)).is_some())
            {
                best = Some((score, start..end + 1));
            }
        }
    }
    let (score, range) = best?;
    let mut strings = vec![Growing::EMPTY];
    for language in languages[range.clone()].iter().flatten() {
        grow(&mut strings, language, common);
    }
    Some(Run { score, range, strings: texts(&plain(&strings))? })
}

fn plain(strings: &[Growing]) -> Language {
    strings.iter().map(|it| it.letters.clone()).collect()
}

/// How rare matches of `parts` are where 64 bytes are equally frequent, in bits.
pub(crate) fn information(parts: &[Node]) -> f64 {
    parts.iter().map(information_of).sum()
}

fn information_of(node: &Node) -> f64 {
    match node {
        Node::Empty | Node::Assert(_) => 0.0,
        Node::Class(class) => 6.0 - (class.len().clamp(1, 64) as f64).log2(),
        Node::Concat(parts) => information(parts),
        Node::Alternate(parts) => parts.iter().map(information_of).fold(f64::INFINITY, f64::min),
        Node::Repeat { node, min, .. } => f64::from(*min) * information_of(node),
    }
}

/// The bytes that a match of `parts` may begin with; `None` if it may be empty.
pub(crate) fn first(parts: &[Node]) -> Option<ByteSet> {
    let mut set = ByteSet::EMPTY;
    for part in parts {
        set = set.union(first_of(part));
        if width(part).0 > 0 {
            return Some(set);
        }
    }
    None
}

/// The bytes that a match of `parts` begins with, as far as they are easily told.
pub(crate) fn beginning(parts: &[Node]) -> Beginning {
    let Some(first) = first(parts) else { return Beginning::Anything };
    let mut classes = vec![];
    for part in parts {
        match part {
            Node::Class(class) => classes.push(*class),
            Node::Repeat { node, min: 2.., .. } => match **node {
                Node::Class(class) => classes.extend([class; 2]),
                _ => break,
            },
            _ => break,
        }
    }
    match classes[..] {
        [first, second, ..] => Beginning::Pair(first, second),
        _ => Beginning::Byte(first),
    }
}

fn first_of(node: &Node) -> ByteSet {
    match node {
        Node::Empty | Node::Assert(_) => ByteSet::EMPTY,
        Node::Class(class) => *class,
        Node::Alternate(parts) => parts.iter().map(first_of).fold(ByteSet::EMPTY, ByteSet::union),
        Node::Concat(parts) => {
            let nullable = parts.iter().take_while(|part| width(part).0 == 0).count();
            let reached = parts.iter().take(nullable + 1);
            reached.map(first_of).fold(ByteSet::EMPTY, ByteSet::union)
        }
        Node::Repeat { max: Some(0), .. } => ByteSet::EMPTY,
        Node::Repeat { node, .. } => first_of(node),
    }
}

/// All strings of a node, if they are few and short.
fn language(node: &Node) -> Option<Language> {
    match node {
        Node::Empty => Some(vec![vec![]]),
        Node::Class(class) => letters(*class),
        Node::Concat(parts) => parts
            .iter()
            .try_fold(vec![vec![]], |strings: Language, part| product(&strings, &language(part)?)),
        Node::Alternate(parts) => {
            let mut all = vec![];
            for part in parts {
                for string in language(part)? {
                    if !all.contains(&string) {
                        all.push(string);
                    }
                }
            }
            (all.len() <= MAX_STRINGS).then_some(all)
        }
        Node::Repeat { node, min, max: Some(max) } if *max <= MAX_LENGTH as u32 => {
            let once = language(node)?;
            let mut power = vec![vec![]];
            let mut all: Language = vec![];
            for count in 0..=*max {
                if count >= *min {
                    power
                        .iter()
                        .filter(|s| !all.contains(s))
                        .cloned()
                        .collect::<Vec<_>>()
                        .into_iter()
                        .for_each(|s| all.push(s));
                }
                if all.len() > MAX_STRINGS {
                    return None;
                }
                if count < *max {
                    power = product(&power, &once)?;
                }
            }
            Some(all)
        }
        Node::Repeat { .. } | Node::Assert(_) => None,
    }
}

/// A letter for each byte of the class; the two cases of a letter are one.
fn letters(class: ByteSet) -> Option<Language> {
    let mut all = vec![];
    for byte in class.iter() {
        let other = byte ^ 0x20;
        let both_cases = byte.is_ascii_alphabetic() && class.contains(other);
        if both_cases && byte.is_ascii_uppercase() {
            continue;
        }
        all.push(vec![Letter { byte, both_cases }]);
        if all.len() > MAX_STRINGS {
            return None;
        }
    }
    (!all.is_empty()).then_some(all)
}

fn product(left: &Language, right: &Language) -> Option<Language> {
    if left.len() * right.len() > MAX_STRINGS {
        return None;
    }
    let mut all = vec![];
    for left in left {
        for right in right {
            if left.len() + right.len() > MAX_LENGTH {
                return None;
            }
            all.push([&left[..], &right[..]].concat());
        }
    }
    Some(all)
}

/// How rare the strings are, in bits, less what it costs to look for many. `None`: one is too short.
fn score(strings: &[Growing]) -> Option<f64> {
    let (mut least, mut spellings) = (f64::INFINITY, 0);
    for string in strings {
        if string.letters.len() < MIN_LENGTH {
            return None;
        }
        // What mixes letters of one case with others is worth less than a part of it that does not.
        spellings += if string.is_mixed() { 1 << (2 * string.both_cases).min(16) } else { 1 };
        least = least.min(string.worth());
    }
    // Twice the strings are twice the occurrences (a bit), and larger tables.
    Some(least - 2.0 * f64::from(spellings).log2())
}

/// The letters that match in either case.
fn both_cases(string: &[Letter]) -> u32 {
    string.iter().filter(|letter| letter.both_cases).count() as u32
}

/// Whether it has such letters and others.
fn is_mixed(string: &[Letter]) -> bool {
    let one_case = |letter: &Letter| letter.byte.is_ascii_alphabetic() && !letter.both_cases;
    both_cases(string) > 0 && string.iter().any(one_case)
}

/// Letters of which a string with others of one case has both, at most: each doubles the strings.
const BOTH_CASES: u32 = 3;

/// The strings with one rule for case each: one that mixes letters of one case with letters of both is as many as it has spellings.
/// `None`: those are too many.
fn texts(strings: &Language) -> Option<Choice> {
    let mut all = vec![];
    for string in strings {
        let both = both_cases(string);
        if !is_mixed(string) {
            let bytes = string.iter().map(|letter| letter.byte).collect();
            all.push(Text { bytes, caseless: both > 0 });
            continue;
        }
        if both > BOTH_CASES {
            return None;
        }
        for spelling in 0..1 << both {
            let mut number = 0;
            let bytes = string.iter().map(|letter| {
                number += u32::from(letter.both_cases);
                match letter.both_cases && spelling >> (number - 1) & 1 != 0 {
                    true => letter.byte ^ 0x20,
                    false => letter.byte,
                }
            });
            let text = Text { bytes: bytes.collect(), caseless: false };
            if !all.contains(&text) {
                all.push(text);
            }
        }
    }
    (all.len() <= MAX_STRINGS).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &[u8]) -> Vec<Node> {
        text.iter().map(|&byte| Node::Class(ByteSet::one(byte))).collect()
    }

    /// The strings, and how many parts stand before and after.
    fn chosen(parts: &[Node]) -> (usize, Vec<String>, usize) {
        let Announcement { strings, before, after, .. } =
            choose(parts, &Common::default()).unwrap();
        let text = |text: &Text| String::from_utf8(text.bytes.to_vec()).unwrap();
        (before.len(), strings.iter().map(text).collect(), after.len())
    }

    #[test]
    fn the_rarest_run_is_chosen() {
        let digit = Node::Class(ByteSet::range(b'0', b'9'));
        let parts = [run(b"a"), vec![digit], run(b"cdefg")].concat();
        assert_eq!(chosen(&parts), (2, vec!["cdefg".to_owned()], 0));
        assert_eq!(chosen(&parts[..3]).1.len(), 10);
        assert!(choose(&parts[1..2], &Common::default()).is_none());
    }

    #[test]
    fn a_long_text_is_announced_by_its_end() {
        let text: Vec<u8> = (0..100).map(|n| b'a' + n % 26).collect();
        let (before, strings, after) = chosen(&run(&text));
        assert_eq!((before, strings[0].as_bytes(), after), (68, &text[68..], 0));
    }

    #[test]
    fn a_string_may_end_or_begin_within_a_repeat() {
        let repeat =
            |byte| Node::Repeat { node: Box::new(run(&[byte]).remove(0)), min: 2, max: Some(40) };
        let parts = [run(b"ab"), vec![repeat(b'x')]].concat();
        assert_eq!(chosen(&parts), (0, vec!["abxx".to_owned()], 1));
        let parts = [vec![repeat(b'x')], run(b"ab")].concat();
        assert_eq!(chosen(&parts), (1, vec!["xxab".to_owned()], 0));
    }

    #[test]
    fn alternatives_become_strings_where_nothing_else_is_there() {
        let either = Node::Alternate(vec![Node::Concat(run(b"GET")), Node::Concat(run(b"POST"))]);
        let space = Node::Class(ByteSet::one(b' '));
        let strings = vec!["GET ".to_owned(), "POST ".to_owned()];
        assert_eq!(chosen(&[either, space]), (0, strings, 0));
    }

    #[test]
    fn letters_of_both_cases_do_not_mix_with_others() {
        let both = |byte| Node::Class(ByteSet::one(byte).both_cases());
        let parts = [vec![both(b'a'), both(b'b'), both(b'c')], run(b"1DE")].concat();
        let Announcement { strings, after, .. } = choose(&parts, &Common::default()).unwrap();
        let expected = [Text { bytes: (*b"abc1").into(), caseless: true }];
        assert_eq!((&strings[..], after.len()), (&expected[..], 2));
    }

    #[test]
    fn a_letter_of_both_cases_among_others_is_two_strings() {
        let both = |byte| Node::Class(ByteSet::one(byte).both_cases());
        let parts = [vec![both(b'n')], run(b"ovo")].concat();
        let strings = vec!["novo".to_owned(), "Novo".to_owned()];
        assert_eq!(chosen(&parts), (0, strings, 0));
        let parts: Vec<Node> =
            b"abcd".iter().flat_map(|&it| [both(it), run(b"X").remove(0)]).collect();
        assert!(chosen(&parts).1.len() <= 8);
    }

    #[test]
    fn what_is_in_every_request_announces_little() {
        let score =
            |text: &str, common: &Common| choose(&run(text.as_bytes()), common).unwrap().score;
        let (common, none) = (Common::new([].iter()), Common::default());
        for text in ["Mozilla", "lewebkit/", "HTTP/1.1", "droid"] {
            assert!(score(text, &common) <= FREQUENT_BITS && score(text, &none) > FREQUENT_BITS);
        }
        assert_eq!(score("Mozillas", &common), score("Mozillas", &none));
    }

    #[test]
    fn the_bytes_that_may_come_first() {
        let optional = Node::Repeat { node: Box::new(run(b"x").remove(0)), min: 0, max: Some(1) };
        let set = first(&[optional.clone(), run(b"y").remove(0)]).unwrap();
        assert_eq!(set, b"xy".iter().copied().collect());
        assert_eq!(first(&[optional]), None);
    }
}
