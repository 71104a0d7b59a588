//! Identity constraints (Structures, 3.11): their XPath subset as bits of positions.
//!
//! ```text
//! passed' = (passed & fits(name)) << 1 | passed & repeats
//! ```
//!
//! Bit n: the steps before n have been passed on the way to the element. A path that begins with `.//` stays at its start.

use super::names::NONE;
use super::value::Prefixes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConstraintKind {
    Unique,
    Key,
    /// The number of the key.
    KeyRef(u32),
}

#[derive(Debug)]
pub(crate) struct Constraint {
    pub(crate) kind: ConstraintKind,
    pub(crate) name: Box<str>,
    pub(crate) selector: Path,
    pub(crate) fields: Vec<Path>,
    /// If all fields are attributes of the selected elements: their names.
    pub(crate) direct: Vec<u32>,
    /// Whether a keyref refers to it.
    pub(crate) is_referred: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Any,
    /// All names of a namespace.
    Namespace(u32),
    Name(u32),
    /// The end of an alternative.
    End,
}

impl Test {
    fn fits(self, symbol: u32, namespace: u32) -> bool {
        match self {
            Test::Any => true,
            Test::Namespace(it) => it == namespace && namespace != NONE,
            Test::Name(it) => it == symbol && symbol != NONE,
            Test::End => false,
        }
    }
}

/// Alternatives of steps.
#[derive(Debug, Default)]
pub(crate) struct Path {
    /// The steps of all alternatives, each followed by an [`Test::End`].
    tests: Vec<Test>,
    /// Where alternatives begin; those that end behind their steps with an element.
    start: u64,
    repeats: u64,
    /// Bits from which a child may be reached.
    continues: u64,
    element_ends: u64,
    /// Attributes behind the ends of other alternatives: bit and test.
    attributes: Vec<(u32, Test)>,
}

/// Steps of one expression: as many as a word has bits.
const MAX_STEPS: usize = 64;

impl Path {
    /// What has been passed at the element at which the expression is evaluated.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Whether children matter.
    #[inline]
    pub(crate) fn continues(&self, passed: u64) -> bool {
        passed & self.continues != 0
    }

    /// The same for a child.
    #[inline]
    pub(crate) fn step(&self, passed: u64, symbol: u32, namespace: u32) -> u64 {
        let (mut rest, mut next) = (passed, passed & self.repeats);
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            if self.tests[bit as usize].fits(symbol, namespace) {
                next |= 2 << bit;
            }
        }
        next
    }

    /// Whether an element is selected.
    #[inline]
    pub(crate) fn selects(&self, passed: u64) -> bool {
        passed & self.element_ends != 0
    }

    /// Whether an attribute of an element is selected.
    #[inline]
    pub(crate) fn selects_attribute(&self, passed: u64, symbol: u32, namespace: u32) -> bool {
        self.attributes
            .iter()
            .any(|(bit, test)| passed >> bit & 1 != 0 && test.fits(symbol, namespace))
    }

    pub(crate) fn has_attributes(&self) -> bool {
        !self.attributes.is_empty()
    }

    /// The name, if the expression is that of an attribute of the element itself.
    pub(crate) fn own_attribute(&self) -> Option<u32> {
        match (self.tests.as_slice(), self.attributes.as_slice()) {
            ([Test::End], [(0, Test::Name(name))]) if self.repeats == 0 => Some(*name),
            _ => None,
        }
    }

    /// Parses an expression of the subset; `names` are symbols for names and namespaces.
    pub(crate) fn parse(
        text: &str,
        is_field: bool,
        scope: &dyn Prefixes,
        names: &mut dyn FnMut(&str, Option<&str>) -> u32,
    ) -> Option<Path> {
        let mut path = Path::default();
        for alternative in text.split('|') {
            let mut rest: String = tokens(alternative)?;
            let begin = path.tests.len();
            let is_anywhere = rest.starts_with(".//");
            if is_anywhere {
                rest.drain(..3);
            }
            let mut attribute = None;
            let steps: Vec<&str> = rest.split('/').collect();
            for (n, step) in steps.iter().enumerate() {
                let (step, is_attribute) =
                    match (step.strip_prefix('@'), step.strip_prefix("attribute::")) {
                        (Some(name), _) | (_, Some(name)) => (name, true),
                        _ => (step.strip_prefix("child::").unwrap_or(step), false),
                    };
                if step == "." && steps[n] == "." {
                    continue;
                }
                let test = test(step, scope, names)?;
                if is_attribute {
                    if !is_field || n + 1 < steps.len() {
                        return None;
                    }
                    attribute = Some(test);
                } else {
                    path.tests.push(test);
                }
            }
            path.tests.push(Test::End);
            if path.tests.len() > MAX_STEPS {
                return None;
            }
            let end = path.tests.len() as u32 - 1;
            path.start |= 1 << begin;
            if is_anywhere {
                path.repeats |= 1 << begin;
            }
            match attribute {
                Some(test) => path.attributes.push((end, test)),
                None => path.element_ends |= 1 << end,
            }
        }
        let steps = path.tests.iter().enumerate().filter(|it| *it.1 != Test::End);
        path.continues = path.repeats | steps.fold(0, |bits, (bit, _)| bits | 1 << bit);
        Some(path)
    }
}

/// The alternative without white space, which may stand between tokens only.
fn tokens(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut space_after_name = false;
    for c in text.chars() {
        if matches!(c, ' ' | '\t' | '\r' | '\n') {
            space_after_name |= out.chars().last().is_some_and(crate::chars::is_name_char);
            continue;
        }
        let is_name = crate::chars::is_name_char(c) && c != ':';
        if space_after_name && is_name && out.chars().last().is_some_and(|it| it != ':') {
            return None;
        }
        space_after_name = false;
        out.push(c);
    }
    Some(out)
}

fn test(
    text: &str,
    scope: &dyn Prefixes,
    names: &mut dyn FnMut(&str, Option<&str>) -> u32,
) -> Option<Test> {
    if text == "*" {
        return Some(Test::Any);
    }
    let (prefix, local) = text.split_once(':').unwrap_or(("", text));
    if !prefix.is_empty() && !super::value::is_ncname(prefix.as_bytes()) || text.starts_with(':') {
        return None;
    }
    // Without prefix there is no namespace, whatever the default one.
    let uri = match prefix {
        "" => String::new(),
        prefix => String::from_utf8_lossy(scope.uri(prefix.as_bytes())?).into_owned(),
    };
    if local == "*" {
        return Some(Test::Namespace(names(&uri, None)));
    }
    super::value::is_ncname(local.as_bytes()).then(|| Test::Name(names(&uri, Some(local))))
}
