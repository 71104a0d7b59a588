//! Random expressions of the whole syntax and data near them, for tests and fuzz targets.

use crate::syntax::{Extended, Flags};
use crate::{ByteSet, Node};

/// Where random choices come from: a seed, or bytes that a fuzzer varies.
pub struct Choices<'a> {
    bytes: Option<&'a [u8]>,
    state: u64,
}

impl<'a> Choices<'a> {
    /// Choices that follow from `seed` alone.
    pub fn seeded(seed: u64) -> Choices<'a> {
        Choices { bytes: None, state: seed }
    }

    /// Choices made by `bytes`; after the last, always the first choice.
    pub fn from_bytes(bytes: &'a [u8]) -> Choices<'a> {
        Choices { bytes: Some(bytes), state: 0 }
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        if let Some(bytes) = &mut self.bytes {
            let (low, high) = match n {
                ..=256 => (bytes.split_off_first(), None),
                _ => (bytes.split_off_first(), bytes.split_off_first()),
            };
            let number = usize::from(*low.unwrap_or(&0)) | usize::from(*high.unwrap_or(&0)) << 8;
            return number % n;
        }
        // splitmix64 (Steele, Lea, Flood 2014).
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 16) as usize % n
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        // The first choice is false.
        self.below(100) >= 100 - percent
    }

    /// One of `all`.
    pub fn pick<'b, T>(&mut self, all: &'b [T]) -> &'b T {
        &all[self.below(all.len())]
    }
}

/// What expressions are made of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kind {
    /// Flags that characters depend on are chosen as well: UTF-8, UCP.
    pub unicode: bool,
    /// `^`, `$`, `\b` and so on, anywhere.
    pub assertions: bool,
    /// Now and then something that is not supported or malformed.
    pub broken: bool,
    /// Extended parameters.
    pub parameters: bool,
}

/// An expression with its flags.
#[derive(Clone, Debug)]
pub struct Case {
    /// The expression.
    pub expression: Vec<u8>,
    /// Its flags.
    pub flags: Flags,
    /// Its parameters.
    pub extended: Extended,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "/{}/{}", self.expression.escape_ascii(), self.flags.letters())?;
        let Extended { min_offset, max_offset, min_length, .. } = self.extended;
        if (min_offset, max_offset, min_length) != (None, None, None) {
            write!(f, " {min_offset:?} to {max_offset:?}, length {min_length:?}")?;
        }
        Ok(())
    }
}

/// A random expression.
pub fn case(choices: &mut Choices<'_>, kind: Kind) -> Case {
    let flags = Flags {
        caseless: choices.chance(25),
        dot_all: choices.chance(40),
        multi_line: choices.chance(25),
        single_match: choices.chance(8),
        allow_empty: choices.chance(50),
        utf8: kind.unicode && choices.chance(70),
        ucp: kind.unicode && choices.chance(30),
        ..Flags::default()
    };
    let flags = Flags {
        som_leftmost: !flags.single_match && choices.chance(25),
        prefilter: kind.broken && choices.chance(15),
        ..flags
    };
    let mut writer = Writer { choices, kind, flags, out: Vec::new(), names: 0 };
    if kind.unicode && writer.choices.chance(3) {
        writer.out.extend(*writer.choices.pick(&[&b"(*UTF8)"[..], b"(*UCP)", b"(*UTF8)(*UCP)"]));
    }
    if kind.assertions && writer.choices.chance(15) {
        writer.out.extend(*writer.choices.pick(&[&b"^"[..], br"\A"]));
    }
    match writer.choices.chance(20) {
        true => writer.strings(),
        false => writer.alternatives(3),
    }
    if kind.assertions && writer.choices.chance(15) {
        writer.out.extend(*writer.choices.pick(&[&b"$"[..], br"\z", br"\Z"]));
    }
    let mut expression = writer.out;
    if kind.broken && choices.chance(40) {
        damage(choices, &mut expression);
    }
    let mut extended = Extended::default();
    if kind.parameters {
        let mut number =
            |percent, below| choices.chance(percent).then(|| choices.below(below) as u64);
        extended.min_offset = number(30, 20);
        extended.max_offset = number(30, 40);
        extended.min_length = number(30, 8);
    }
    Case { expression, flags, extended }
}

/// Replaces, removes or adds a few bytes.
fn damage(choices: &mut Choices<'_>, expression: &mut Vec<u8>) {
    const SPECIAL: &[u8] = br"()[]{}?*+|^$.\-:,=!<>#'PQExpk019ai";
    for _ in 0..=choices.below(3) {
        let at = choices.below(expression.len() + 1);
        let byte = *choices.pick(SPECIAL);
        match choices.below(3) {
            0 => expression.insert(at, byte),
            1 if at < expression.len() => expression[at] = byte,
            _ if at < expression.len() => drop(expression.remove(at)),
            _ => expression.push(byte),
        }
    }
}

struct Writer<'w, 'a> {
    choices: &'w mut Choices<'a>,
    kind: Kind,
    flags: Flags,
    out: Vec<u8>,
    names: u32,
}

impl Writer<'_, '_> {
    fn add(&mut self, all: &[&str]) {
        let text = *self.choices.pick(all);
        self.out.extend(text.as_bytes());
    }

    fn alternatives(&mut self, depth: usize) {
        self.sequence(depth);
        while self.choices.chance(if depth == 3 { 12 } else { 40 }) {
            self.out.push(b'|');
            if !self.choices.chance(4) {
                self.sequence(depth);
            }
        }
    }

    /// As rules are: strings, and strings of different lengths to choose from, with counted or unbounded repeats between them.
    /// Of several such expressions, many begin alike.
    fn strings(&mut self) {
        self.add(&["", "abc", "abc", "ab", "^abc"]);
        for _ in 0..=self.choices.below(2) {
            self.add(&[
                "abca",
                "bcb",
                "kab",
                "(?:ab|c|bcabc)",
                "(?:a|bc(?:a|cc)|)b",
                "(?:ba(?:\\.0|)|ca)",
            ]);
            let class =
                *self.choices.pick(&[".", ".", "[^b]", "[ab]", "[^\\n]", "\\w", "(?:a|bc)"]);
            let most = *self.choices.pick(&[1, 2, 5, 9, 20, 40, 70, 130]);
            let repeat = match self.choices.below(8) {
                0 => "*".to_owned(),
                1 => "+".to_owned(),
                2 => format!("{{{most}}}"),
                3 => format!("{{{},{most}}}", most / 2),
                4 => format!("{{1,{most}}}"),
                _ => format!("{{0,{most}}}"),
            };
            self.out.extend(class.as_bytes());
            self.out.extend(repeat.as_bytes());
        }
        self.add(&["cab", "bca", "ab", "c", "(?:a|bcb)", "[0-9]{1,3}"]);
    }

    fn sequence(&mut self, depth: usize) {
        for _ in 0..=self.choices.below(if depth == 3 { 6 } else { 3 }) {
            self.part(depth);
        }
    }

    fn part(&mut self, depth: usize) {
        match self.choices.below(100) {
            0..40 => self.character(),
            40..55 => self.class(),
            55..62 => self.out.push(b'.'),
            62..72 => {
                self.add(&[r"\d", r"\D", r"\s", r"\S", r"\w", r"\W", r"\h", r"\H", r"\v", r"\V"])
            }
            72..88 if depth > 0 => self.group(depth - 1),
            88..91 => {
                self.out.extend(br"\Q");
                self.add(&["a", "b.", "[a", "a|b", ""]);
                self.out.extend(br"\E");
                return;
            }
            91..93 => {
                self.add(&["(?i)", "(?-i)", "(?s)", "(?m)", "(?x)", "(?s-m)", "(?#a)", "(?-x)"]);
                return;
            }
            93..97 if self.kind.assertions => {
                self.add(&[r"\b", r"\B", "^", "$", r"\A", r"\z", r"\Z", r"\b"]);
                return;
            }
            97..99 if self.kind.broken => {
                self.add(&[
                    "(?=a)", "(?!a)", "(?<=a)", r"(a)\1", "(?>a)", "a++", "(?(1)a)", "(?R)", r"\K",
                    r"\R", r"\X", r"\G", r"\N", "(*F)", "[[.a.]]", "{2}", "*", ")", "(", "[",
                    r"\p{Foo}", r"\x{zz}", "[b-a]",
                ]);
                return;
            }
            99 if self.kind.unicode => self.property(),
            _ => self.character(),
        }
        if self.choices.chance(35) {
            self.quantifier();
        }
    }

    fn quantifier(&mut self) {
        match self.choices.below(10) {
            0..3 => self.out.push(b'*'),
            3..5 => self.out.push(b'+'),
            5..7 => self.out.push(b'?'),
            _ => {
                let min = self.choices.below(4);
                let max = min + 1 + self.choices.below(3);
                let text = match self.choices.below(5) {
                    0 => format!("{{{}}}", min + 1),
                    1 => format!("{{{min},}}"),
                    2 if self.choices.chance(20) => format!("{{{},{}}}", min * 5, max * 9),
                    _ => format!("{{{min},{max}}}"),
                };
                self.out.extend(text.as_bytes());
            }
        }
        if self.choices.chance(10) {
            self.out.push(b'?');
        }
    }

    fn group(&mut self, depth: usize) {
        match self.choices.below(8) {
            0..4 => self.out.push(b'('),
            4 | 5 => self.out.extend(b"(?:"),
            6 => self.add(&["(?i:", "(?s:", "(?-i:", "(?m-s:", "(?x:"]),
            _ => {
                self.names += 1;
                let name = format!("(?<n{}>", self.names);
                self.out.extend(name.as_bytes());
            }
        }
        self.alternatives(depth);
        self.out.push(b')');
    }

    fn character(&mut self) {
        match self.choices.below(20) {
            0..14 => self.add(&["a", "b", "c", "A", "B"]),
            14..17 => self.add(&["0", "_", " ", "-", "k", "s", "{", "]", ","]),
            17 | 18 if self.kind.unicode => {
                if self.flags.utf8 {
                    self.add(&[
                        "é", "É", "ß", "λ", "Λ", "я", "空", "\u{212a}", "😀", r"\x{e9}", r"\x{3bb}",
                    ]);
                } else {
                    self.add(&[r"\xe9", r"\xc9", r"\x{ff}", r"\200"]);
                }
            }
            _ => self.add(&[
                r"\n", r"\x61", r"\x{62}", r"\141", r"\t", r"\.", r"\\", r"\cA", r"\0", r"\o{101}",
                r"\r", r"\-", r"\y", r"\8", r"\12", r"\e", r"\a", r"\f",
            ]),
        }
    }

    fn class(&mut self) {
        self.out.push(b'[');
        if self.choices.chance(30) {
            self.out.push(b'^');
        }
        if self.choices.chance(5) {
            self.out.push(b']');
        }
        for _ in 0..=self.choices.below(3) {
            match self.choices.below(12) {
                0..5 => self.add(&["a", "b", "c", "A", "0", "k"]),
                5 | 6 => self.add(&["a-c", "b-z", "A-C", "0-9", "a-b", "j-l"]),
                7 => self.add(&[r"\d", r"\w", r"\s", r"\W", r"\D", r"\S", r"\h", r"\V"]),
                8 => self.add(&[
                    "[:alpha:]",
                    "[:digit:]",
                    "[:^upper:]",
                    "[:space:]",
                    "[:punct:]",
                    "[:lower:]",
                    "[:print:]",
                    "[:^graph:]",
                    "[:cntrl:]",
                    "[:word:]",
                    "[:xdigit:]",
                    "[:blank:]",
                    "[:alnum:]",
                    "[:ascii:]",
                ]),
                9 if self.kind.unicode && self.flags.utf8 => {
                    self.add(&[
                        "é",
                        "α-ω",
                        "À-ÿ",
                        "空",
                        r"\x{400}-\x{4ff}",
                        "\u{10000}-\u{10ffff}",
                    ]);
                }
                9 if self.kind.unicode => self.property(),
                _ => self.add(&[
                    r"\n", "-", r"\x41", r"\]", r"\b", r"\Qa-b\E", r"\101", "[", r"\-", "^", ".",
                    "$",
                ]),
            }
        }
        self.out.push(b']');
    }

    fn property(&mut self) {
        // Of code points that old and new versions of Unicode agree on, see `data`.
        self.add(&[
            r"\p{L}",
            r"\P{Lu}",
            r"\pN",
            r"\p{^Ll}",
            r"\p{Greek}",
            r"\p{Han}",
            r"\p{Xan}",
            r"\p{Zs}",
            r"\PP",
        ]);
    }
}

/// Data near `node`: matches and pieces of matches, one after the other, with noise between them.
pub fn data(choices: &mut Choices<'_>, node: &Node, utf8: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..choices.below(5) {
        match choices.below(6) {
            0..3 => {
                let mut sample = Vec::new();
                self::sample(choices, node, &mut sample);
                if sample.len() <= 600 {
                    out.extend(sample);
                }
            }
            3 => {
                let mut sample = Vec::new();
                self::sample(choices, node, &mut sample);
                let (from, to) = (choices.below(sample.len() + 1), choices.below(sample.len() + 1));
                let piece = sample.get(from..to).unwrap_or_default();
                if piece.len() <= 600 && (!utf8 || str::from_utf8(piece).is_ok()) {
                    out.extend(piece);
                }
            }
            _ => {
                for _ in 0..choices.below(6) {
                    let noise = match (utf8, choices.below(12)) {
                        (_, 0..9) => {
                            choices.pick(&["a", "b", "c", "A", "\n", " ", "0", "k", "_"]).as_bytes()
                        }
                        (true, _) => choices
                            .pick(&["é", "É", "λ", "Λ", "空", "\u{212a}", "ſ", "😀"])
                            .as_bytes(),
                        (false, _) => choices.pick(&[&b"\xe9"[..], b"\xc9", b"\0", b"\xff"]),
                    };
                    out.extend(noise);
                }
            }
        }
    }
    if choices.chance(15) {
        out.push(b'\n');
    }
    out
}

/// A string that `node` matches, but for its assertions.
pub fn sample(choices: &mut Choices<'_>, node: &Node, out: &mut Vec<u8>) {
    match node {
        Node::Empty | Node::Assert(_) => {}
        Node::Class(set) => {
            let near = set.intersection(ByteSet::from_iter(*b"abcABC019_ \n-kKsS"));
            // Rarely anything, so that the versions of Unicode agree on what it is.
            let set = if near.is_empty() || choices.chance(3) { *set } else { near };
            if !set.is_empty() {
                let index = choices.below(set.len());
                out.extend(set.iter().nth(index));
            }
        }
        Node::Concat(nodes) => nodes.iter().for_each(|node| sample(choices, node, out)),
        Node::Alternate(nodes) => {
            if !nodes.is_empty() {
                // The first one is ASCII, if any is.
                let most = if choices.chance(80) { 3.min(nodes.len()) } else { nodes.len() };
                let index = choices.below(most);
                sample(choices, &nodes[index], out);
            }
        }
        Node::Repeat { node, min, max } => {
            let most = max.unwrap_or(min.saturating_add(4)).min(min.saturating_add(6));
            let count = match max {
                Some(max) if *max > most && choices.chance(25) => *max as usize,
                _ => *min as usize + choices.below((most - min + 1) as usize),
            };
            for _ in 0..count {
                if out.len() > 2000 {
                    break;
                }
                sample(choices, node, out);
            }
        }
    }
}
