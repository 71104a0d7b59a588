//! XPath expressions side by side, evaluated while a document arrives (paper 5, section 8: in-line post-processing).
//!
//! A [`Program`] is any number of expressions compiled into one automaton. A [`Run`] is told the elements, texts, comments
//! and instructions of a document as the parser finds them, and answers which expressions select each. It keeps a number for
//! each open element, and nothing of what has passed.
//!
//! What can be decided when a node begins is streamable: unions of location paths from the document, of the axes `child`,
//! `descendant` and `attribute` (and what `//` and `.` abbreviate), with predicates on attributes of the element, or on the
//! value of the attribute or text itself. [`Program::compile`] says of every other expression what is not streamable in it;
//! [`XPath::evaluate`] has it on a tree.
//!
//! ```text
//! states: sets of (path, step): what is looked for among the children of an element
//! next:   (state, name) -> state of the element's children, what is selected, what depends on attributes
//! ```
//!
//! Where something depends on attributes (`element`), their names decide most of it; a value is looked up among those that
//! conditions ask for (`values`). Which conditions hold leads to the state and to what is selected. Values that no condition
//! asks for, and texts that no expression selects, are not looked at.
//!
//! States and transitions are made when a document first needs them. Of names only those matter that an expression has;
//! equal ones among the others share transitions.
//!
//! A [`Stream`] is a parser with a run behind it.
//!
//! ```
//! use lookaside_simd::Cpu;
//! use lookaside_xml::Session;
//! use lookaside_xml::select::{Program, Stream};
//! use lookaside_xml::xpath::XPath;
//!
//! let expressions = ["//item[@price > 10]/@id", "//item/text()"];
//! let expressions = expressions.map(|text| XPath::compile(text, &[]).unwrap());
//! let program = Program::compile(&expressions).unwrap();
//! let mut stream = Stream::new(&Session::new(Cpu::host()), &program);
//! let mut found = vec![];
//! for (chunk, last) in [("<shop><item id='a' price='12'>te", false), ("a</item></shop>", true)] {
//!     stream
//!         .feed(chunk.as_bytes(), last, &mut |one| found.push((one.expression, one.value.to_owned())))
//!         .unwrap();
//! }
//! assert_eq!(found, [(0, "a".to_owned()), (1, "tea".to_owned())]);
//! ```

mod automaton;
mod condition;
mod element;
mod path;
mod stream;
mod values;

use std::fmt;

pub use automaton::{Names, Run};
pub use stream::{Found, Stream};

use crate::xpath::XPath;
use crate::xpath::ast::Test;
use path::Path;

/// Expressions, compiled together.
#[derive(Clone, Debug)]
pub struct Program {
    /// All alternatives of all expressions.
    paths: Vec<Path>,
    /// What is asked of attributes' names.
    attribute_tests: Vec<Test>,
}

/// Why an expression cannot be evaluated while the document arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStreamable {
    /// It is no union of location paths.
    NoPath,
    /// A path begins with nodes of an expression.
    Start,
    /// An axis that leads back, sideways or to namespaces.
    Axis,
    /// A step after attributes or texts, or `.` with a test.
    Step,
    /// A predicate that counts positions.
    Position,
    /// A predicate that needs what comes later: children, texts of elements.
    Later,
    /// A predicate of functions or operators other than comparisons with constants, `and`, `or`, `not`, `contains` and
    /// `starts-with`.
    Predicate,
}

impl fmt::Display for NotStreamable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotStreamable::NoPath => "not a location path",
            NotStreamable::Start => "a path that begins with an expression in parentheses",
            NotStreamable::Axis => "an axis other than child, descendant and attribute",
            NotStreamable::Step => "a step below attributes or texts, or a test of the node itself",
            NotStreamable::Position => "a predicate that counts positions",
            NotStreamable::Later => "a predicate on what comes after the start of the element",
            NotStreamable::Predicate => {
                "a predicate that is not a comparison of attributes with constants"
            }
        })
    }
}

impl std::error::Error for NotStreamable {}

impl Program {
    /// Compiles expressions; selections name them by their index. The error has all that are not streamable.
    pub fn compile(expressions: &[XPath]) -> Result<Program, Vec<(usize, NotStreamable)>> {
        let (mut paths, mut errors) = (Vec::new(), Vec::new());
        let mut attribute_tests = Vec::new();
        for (index, expression) in expressions.iter().enumerate() {
            match path::paths(index as u32, expression.root(), &mut attribute_tests) {
                Ok(more) => paths.extend(more),
                Err(e) => errors.push((index, e)),
            }
        }
        if errors.is_empty() { Ok(Program { paths, attribute_tests }) } else { Err(errors) }
    }
}

/// A node that is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selected {
    /// The index of the expression.
    pub expression: u32,
    /// The index of the attribute; `None`: the element, text, comment or instruction itself.
    pub attribute: Option<u32>,
}
