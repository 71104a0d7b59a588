//! Random documents with declarations, entities and external entities; most are well-formed, some are damaged.

/// splitmix64 (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 16) as usize % n
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A document, and the entities that it may ask for.
pub struct Case {
    pub main: Vec<u8>,
    pub others: Vec<Vec<u8>>,
}

const NAMES: [&str; 8] = ["a", "b", "c", "p:a", "q:b", "dé", "x-1", "p:c"];
const ENTITIES: [&str; 6] = ["e", "f", "g", "ext", "not", "lt"];
const PARAMS: [&str; 4] = ["p", "q", "pext", "none"];
const TEXTS: [&str; 12] = [
    "text",
    "\n",
    " ",
    "\r\n",
    "\r",
    "é",
    "]",
    "]]",
    "&#65;",
    "&#x20AC;",
    "more text\nand more",
    "&amp;",
];

struct Writer<'r> {
    random: &'r mut Random,
    out: String,
}

impl Writer<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn space(&mut self) {
        let space = self.random.pick(&[" ", " ", " ", "\n", "  ", "\t", "\r\n"]);
        self.put(space);
    }

    fn maybe_space(&mut self) {
        if self.random.chance(20) {
            self.space();
        }
    }

    fn name(&mut self) {
        let name = self.random.pick(&NAMES);
        self.put(name);
    }

    fn literal(&mut self, texts: &[&str]) {
        let mark = self.random.pick(&["\"", "'"]);
        self.put(mark);
        for _ in 0..self.random.below(4) {
            let text = self.random.pick(texts);
            self.put(text);
        }
        self.put(mark);
    }

    fn value(&mut self) {
        self.literal(&["v", " ", "  ", "\n", "&lt;", "&e;", "&f;", "&#32;", "é", "\t", "w", "x y"]);
    }

    fn misc(&mut self) {
        if self.random.chance(2) {
            // What follows lies across the end of a window.
            let len = 16_250 + self.random.below(140);
            let filler = "x".repeat(len);
            return self.put(&format!("<!--{filler}-->"));
        }
        let misc = self.random.pick(&[
            "<!-- c -->",
            "<!---->",
            "<?pi data ?>",
            "<?pi?>",
            "\n",
            " ",
            "<?t \r\n x?>",
            "<!--\r-->",
        ]);
        self.put(misc);
    }

    fn element(&mut self, depth: usize) {
        let name = self.random.pick(&NAMES);
        self.put("<");
        self.put(name);
        let mut used = vec![];
        if depth == 0 && self.random.chance(80) {
            self.put(" xmlns:p='urn:p' xmlns:q='urn:q'");
            used.extend(["xmlns:p", "xmlns:q"]);
        }
        for _ in 0..self.random.below(4) {
            let name = match self.random.chance(12) {
                true => self.random.pick(&["xmlns", "xmlns:p", "xmlns:r"]),
                false => self.random.pick(&NAMES),
            };
            if used.contains(&name) && !self.random.chance(3) {
                continue;
            }
            used.push(name);
            self.space();
            self.put(name);
            self.maybe_space();
            self.put("=");
            self.maybe_space();
            match name.starts_with("xmlns") {
                true => self.literal(&["urn:p", "urn:q", "x"]),
                false => self.value(),
            }
        }
        self.maybe_space();
        if self.random.chance(25) {
            return self.put("/>");
        }
        self.put(">");
        self.content(depth + 1);
        self.put("</");
        self.put(name);
        self.maybe_space();
        self.put(">");
    }

    fn content(&mut self, depth: usize) {
        for _ in 0..self.random.below(5) {
            match self.random.below(12) {
                0..=3 if depth < 4 => self.element(depth),
                4 => self.misc(),
                5 => self.put("<![CDATA[x]]]y\n<&]]>"),
                6 | 7 => {
                    let entity = self.random.pick(&ENTITIES);
                    self.put(&format!("&{entity};"));
                }
                _ => {
                    let text = self.random.pick(&TEXTS);
                    self.put(text);
                }
            }
        }
    }

    fn model(&mut self, depth: usize) {
        self.put("(");
        let separator = self.random.pick(&[",", "|"]);
        for at in 0..1 + self.random.below(3) {
            if at > 0 {
                self.put(separator);
            }
            self.maybe_space();
            match depth < 3 && self.random.chance(25) {
                true => self.model(depth + 1),
                false => self.name(),
            }
            let quantifier = self.random.pick(&["", "", "?", "*", "+"]);
            self.put(quantifier);
            self.maybe_space();
        }
        self.put(")");
    }

    fn external(&mut self) {
        let number = self.random.below(4);
        match self.random.chance(30) {
            true => self.put(&format!("PUBLIC 'a  b' \"s{number}\"")),
            false => self.put(&format!("SYSTEM 's{number}'")),
        }
    }

    fn declaration(&mut self, inner: bool) {
        match self.random.below(12) {
            0 | 1 => {
                self.put("<!ELEMENT ");
                self.name();
                self.space();
                match self.random.below(4) {
                    0 => self.put("EMPTY"),
                    1 => self.put("ANY"),
                    2 => self.put("(#PCDATA | a|b )*"),
                    _ => self.model(0),
                }
                self.put(">");
            }
            2..=4 => {
                self.put("<!ATTLIST ");
                self.name();
                for _ in 0..self.random.below(3) {
                    self.space();
                    self.name();
                    self.space();
                    let kind = self.random.pick(&[
                        "CDATA",
                        "CDATA",
                        "ID",
                        "NMTOKENS",
                        "(a|b)",
                        "( x |y )",
                        "NOTATION (n)",
                        "IDREF",
                    ]);
                    self.put(kind);
                    self.space();
                    match self.random.below(4) {
                        0 => self.put("#REQUIRED"),
                        1 => self.put("#IMPLIED"),
                        2 => {
                            self.put("#FIXED ");
                            self.value();
                        }
                        _ => self.value(),
                    }
                }
                self.put(">");
            }
            5..=7 => {
                let param = self.random.chance(30);
                self.put("<!ENTITY ");
                let name = match param {
                    true => {
                        self.put("% ");
                        self.random.pick(&PARAMS[..3])
                    }
                    false => self.random.pick(&ENTITIES[..4]),
                };
                self.put(name);
                self.space();
                if name.ends_with("ext") || self.random.chance(15) {
                    self.external();
                    if !param && self.random.chance(20) {
                        self.put(" NDATA n");
                    }
                } else if param {
                    self.literal(&[
                        "<!ELEMENT a ANY>",
                        " ",
                        "<!--x-->",
                        "<!ATTLIST a b CDATA 'd'>",
                    ]);
                } else if inner && self.random.chance(30) {
                    self.literal(&["x", "%p;", "%pext;", "y"]);
                } else {
                    self.literal(&["x", "&#38;", "<b/>", "<a>t</a>", "&f;", "&#60;", "\r\n", "é"]);
                }
                self.maybe_space();
                self.put(">");
            }
            8 => {
                self.put("<!NOTATION n ");
                match self.random.chance(30) {
                    true => self.put("PUBLIC 'p'"),
                    false => self.external(),
                }
                self.put(">");
            }
            9 => {
                let param = self.random.pick(&PARAMS);
                self.put(&format!("%{param};"));
            }
            10 if inner => {
                let section = self.random.pick(&["INCLUDE", "IGNORE", "%p;"]);
                self.put(&format!("<![{section}["));
                self.declaration(true);
                self.put("]]>");
            }
            _ => self.misc(),
        }
    }

    fn document(&mut self) {
        if self.random.chance(50) {
            self.put("<?xml version='1.0'");
            if self.random.chance(30) {
                let encoding = self.random.pick(&["utf-8", "UTF-8", "us-ascii", "iso-8859-1", "x"]);
                self.put(&format!(" encoding='{encoding}'"));
            }
            if self.random.chance(20) {
                let standalone = self.random.pick(&["yes", "no"]);
                self.put(&format!(" standalone=\"{standalone}\""));
            }
            self.put("?>");
        }
        for _ in 0..self.random.below(2) {
            self.misc();
        }
        if self.random.chance(70) {
            self.put("<!DOCTYPE a");
            if self.random.chance(40) {
                self.put(" ");
                self.external();
            }
            if self.random.chance(85) {
                self.put(" [");
                for _ in 0..self.random.below(9) {
                    self.declaration(false);
                    self.maybe_space();
                }
                self.put("]");
            }
            self.put(">");
        }
        self.element(0);
        for _ in 0..self.random.below(3) {
            self.misc();
        }
    }
}

/// Damages a document.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..random.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        match random.below(3) {
            0 => {
                bytes.remove(at);
            }
            1 => bytes[at] = random.pick(b"<>&;'\"[]-?!%#:= \na/\x00\xff\xc3(|,)"),
            _ => bytes.insert(at, random.pick(b"<>&;'\"[]-?!%#:= \na/(|,)")),
        }
    }
}

/// A document.
pub fn document(random: &mut Random) -> Case {
    let mut writer = Writer { random, out: String::new() };
    writer.document();
    let mut main = writer.out.into_bytes();
    if random.chance(35) {
        damage(random, &mut main);
    }
    if random.chance(5) {
        let text = String::from_utf8_lossy(&main).into_owned();
        let big = random.chance(50);
        main = if big { vec![0xfe, 0xff] } else { vec![0xff, 0xfe] };
        let units = text.encode_utf16();
        main.extend(
            units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }),
        );
    }
    let others = (0..4).map(|_| {
        let mut writer = Writer { random, out: String::new() };
        if writer.random.chance(30) {
            writer.put("<?xml version='1.0' encoding='utf-8'?>");
        }
        match writer.random.chance(50) {
            true => writer.content(2),
            false => (0..writer.random.below(5)).for_each(|_| writer.declaration(true)),
        }
        let mut bytes = writer.out.into_bytes();
        if random.chance(15) {
            damage(random, &mut bytes);
        }
        bytes
    });
    let others = others.collect();
    Case { main, others }
}
