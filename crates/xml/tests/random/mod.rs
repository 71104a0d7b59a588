//! Random documents, as text and as trees, and random expressions.
#![allow(dead_code, reason = "each test needs a part")]

use lookaside_xml::tree::{Builder, Name, NameId, Tree, Value as Text};

/// A value longer than what is compared at once.
pub const LONG: &str = "more than 16 characters";

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

pub const NAMESPACES: [(&str, &str); 2] = [("p", "urn:p"), ("q", "urn:q")];
const LOCALS: [&str; 4] = ["a", "b", "c", "div"];

/// A document as text, and the same by the builder's calls.
struct Writer<'r> {
    random: &'r mut Random,
    text: String,
    builder: Builder<'static>,
    budget: usize,
}

impl Writer<'_> {
    fn name(&mut self, prefix: &str, local: &str, uri: &str) -> NameId {
        self.builder.name(Name { prefix, local, uri }).unwrap()
    }

    /// `scope`: the prefixes that are declared, and the default namespace.
    fn element(&mut self, depth: usize, declared: &[&str], default: &str) {
        let mut declared = declared.to_vec();
        let mut default = default.to_owned();
        let mut declarations = vec![];
        for (prefix, uri) in NAMESPACES {
            if self.random.chance(if depth == 0 { 60 } else { 8 }) {
                declarations.push((prefix, uri));
                if !declared.contains(&prefix) {
                    declared.push(prefix);
                }
            }
        }
        if self.random.chance(10) {
            // Not `xmlns=""`: libxml2 makes a node of it, against 5.4.
            let uri = self.random.pick(&["urn:p", "urn:d"]);
            declarations.push(("", uri));
            default = uri.to_owned();
        }
        let prefix = if declared.is_empty() || self.random.chance(60) {
            ""
        } else {
            self.random.pick(&declared)
        };
        let uri = match prefix {
            "" => default.clone(),
            prefix => NAMESPACES.iter().find(|(known, _)| *known == prefix).unwrap().1.to_owned(),
        };
        let local = self.random.pick(&LOCALS);
        let tag = if prefix.is_empty() { local.to_owned() } else { format!("{prefix}:{local}") };
        self.text += &format!("<{tag}");
        let name = self.name(prefix, local, &uri);
        self.builder.start_element(name).unwrap();
        for (prefix, uri) in declarations {
            let colon = if prefix.is_empty() { "" } else { ":" };
            self.text += &format!(" xmlns{colon}{prefix}=\"{uri}\"");
            let name = self.name("", prefix, "");
            self.builder.namespace(name, Text::Other(uri)).unwrap();
        }
        for local in ["x", "y", "lang"] {
            if !self.random.chance(25) {
                continue;
            }
            let (prefix, uri) = match local {
                "lang" => ("xml", "http://www.w3.org/XML/1998/namespace"),
                "y" if !declared.is_empty() && self.random.chance(50) => {
                    let prefix = self.random.pick(&declared);
                    (prefix, NAMESPACES.iter().find(|(known, _)| *known == prefix).unwrap().1)
                }
                _ => ("", ""),
            };
            let value =
                self.random.pick(&["1", "2", "7", "en", "EN-us", "", "two words", "-1", LONG]);
            let tag =
                if prefix.is_empty() { local.to_owned() } else { format!("{prefix}:{local}") };
            self.text += &format!(" {tag}=\"{value}\"");
            let name = self.name(prefix, local, uri);
            self.builder.attribute(name, Text::Other(value), false).unwrap();
        }
        self.text += ">";
        let mut was_text = false;
        for _ in 0..self.random.below(5) {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            match self.random.below(8) {
                0 | 1 if !was_text => {
                    let text = self.random.pick(&["1", "2", " 10 ", "text", "\n", "ö", "7"]);
                    self.text += text;
                    self.builder.text(Text::Other(text)).unwrap();
                    was_text = true;
                    continue;
                }
                2 => self.comment(),
                3 => self.instruction(),
                _ if depth < 8 => self.element(depth + 1, &declared, &default),
                _ => continue,
            }
            was_text = false;
        }
        self.text += &format!("</{tag}>");
        self.builder.end_element();
    }

    fn comment(&mut self) {
        self.text += "<!--1-->";
        self.builder.comment(Text::Other("1")).unwrap();
    }

    fn instruction(&mut self) {
        let target = self.random.pick(&["a", "t"]);
        self.text += &format!("<?{target} 2?>");
        let name = self.name("", target, "");
        self.builder.instruction(name, Text::Other("2")).unwrap();
    }
}

pub fn document(random: &mut Random) -> (String, Tree<'static>) {
    let builder = Builder::new("").unwrap();
    let budget = random.below(60);
    let mut writer = Writer { random, text: String::new(), builder, budget };
    if writer.random.chance(20) {
        writer.comment();
    }
    writer.element(0, &[], "");
    if writer.random.chance(20) {
        writer.instruction();
    }
    (writer.text, writer.builder.finish())
}

const AXES: [&str; 13] = [
    "ancestor",
    "ancestor-or-self",
    "attribute",
    "child",
    "descendant",
    "descendant-or-self",
    "following",
    "following-sibling",
    "namespace",
    "parent",
    "preceding",
    "preceding-sibling",
    "self",
];

/// A step after `//`: of `//.` at a text libxml2 makes nothing, where 2.5 has the text itself.
pub fn step_below(random: &mut Random, depth: usize) -> String {
    loop {
        let step = step(random, depth);
        if !step.starts_with('.') && !step.contains("self") && !step.contains("parent") {
            return step;
        }
    }
}

pub fn step(random: &mut Random, depth: usize) -> String {
    if random.chance(10) {
        return random.pick(&[".", ".."]).to_owned();
    }
    let axis = match random.below(10) {
        0..=3 => String::new(),
        4 => "@".to_owned(),
        // For libxml2 the descendants of its element do not follow an attribute; after 2.2 they do.
        _ => match random.pick(&AXES) {
            axis @ ("following" | "preceding") => format!("self::*/{axis}::"),
            axis => format!("{axis}::"),
        },
    };
    let test = match random.below(12) {
        0..=2 => "*".to_owned(),
        3 => "node()".to_owned(),
        4 => "text()".to_owned(),
        5 => random
            .pick(&["comment()", "processing-instruction()", "processing-instruction('a')"])
            .to_owned(),
        6 => random.pick(&["p:*", "q:*", "p:a", "q:b", "p:y", "xml:lang"]).to_owned(),
        7 => random.pick(&["x", "y", "p", "xml"]).to_owned(),
        _ => random.pick(&LOCALS).to_owned(),
    };
    // libxml2 compares `p` with the prefix, which is the whole name (5.4).
    let test = if axis == "namespace::" && test.contains(':') { "*".to_owned() } else { test };
    let mut text = axis + &test;
    let depth = if leaves(&text) { 0 } else { depth };
    while depth > 0 && random.chance(20) {
        text += &match random.below(4) {
            0 => format!("[{}]", 1 + random.below(3)),
            1 => random
                .pick(&["[last()]", "[position() = 2]", "[position() < last()]", "[last() - 1]"])
                .to_owned(),
            _ => format!("[{}]", expression(random, depth - 1)),
        };
    }
    text
}

/// Whether a path may end at attributes or namespaces: libxml2 has no `descendant-or-self` of those, which after 2.2 is the
/// node itself.
fn leaves(path: &str) -> bool {
    path.contains('@') || path.contains("attribute") || path.contains("namespace")
}

pub fn path(random: &mut Random, depth: usize) -> String {
    let mut text = random.pick(&["", "", "/", "//", ".//"]).to_owned();
    if text == "/" && random.chance(10) {
        return text;
    }
    let mut below = text.ends_with("//");
    loop {
        text += &if below { step_below(random, depth) } else { step(random, depth) };
        if !random.chance(40) {
            return text;
        }
        below = !leaves(&text) && random.chance(33);
        text += if below { "//" } else { "/" };
    }
}

pub fn nodes(random: &mut Random, depth: usize) -> String {
    match random.below(8) {
        0 => format!("{} | {}", path(random, depth), path(random, depth)),
        // The order of namespaces is not defined (5.4).
        1 => match path(random, depth) {
            path if path.contains("namespace") => path,
            path => format!("({path})[{}]", 1 + random.below(3)),
        },
        2 if depth > 0 => {
            let first = path(random, depth);
            let below = if leaves(&first) { 0 } else { depth - 1 };
            format!("({first})[{}]/{}", expression(random, below), step(random, below))
        }
        3 => {
            let first = path(random, depth);
            match leaves(&first) {
                true => format!("({first})/{}", step(random, 0)),
                false => format!("({first})//{}", step_below(random, 0)),
            }
        }
        _ => path(random, depth),
    }
}

pub fn expression(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return match random.below(4) {
            0 => random
                .pick(&["1", "2", "0", "1.5", "'1'", "'en'", "''", "true()", "false()"])
                .to_owned(),
            _ => path(random, 0),
        };
    }
    let below = depth - 1;
    let any = |random: &mut Random| expression(random, below);
    match random.below(16) {
        0 => format!("{} = {}", any(random), any(random)),
        1 => format!("{} != {}", any(random), any(random)),
        2 => format!("{} {} {}", any(random), random.pick(&["<", "<=", ">", ">="]), any(random)),
        3 => format!(
            "{} {} {}",
            any(random),
            random.pick(&["+", "-", "*", "div 2 +", "mod"]),
            any(random)
        ),
        4 => format!("{} {} {}", any(random), random.pick(&["and", "or"]), any(random)),
        5 => format!("-({})", any(random)),
        6 => format!("({})", any(random)),
        7 => format!("count({})", nodes(random, below)),
        8 => format!("sum({})", nodes(random, below)),
        9 => {
            let function = random.pick(&["name", "local-name", "namespace-uri"]);
            if random.chance(30) {
                format!("{function}()")
            } else {
                format!("{function}({})", nodes(random, below))
            }
        }
        10 => {
            let function = random.pick(&[
                "string",
                "number",
                "string-length",
                "normalize-space",
                "boolean",
                "not",
                "floor",
                "ceiling",
                "round",
                "lang",
            ]);
            format!("{function}({})", any(random))
        }
        11 => {
            let function = random.pick(&[
                "concat",
                "starts-with",
                "contains",
                "substring-before",
                "substring-after",
                "substring",
            ]);
            format!("{function}({}, {})", any(random), any(random))
        }
        12 => {
            let function = random.pick(&["translate", "substring", "concat"]);
            format!("{function}({}, {}, {})", any(random), any(random), any(random))
        }
        _ => nodes(random, below),
    }
}

/// The number in a variable of the environment.
pub fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}
