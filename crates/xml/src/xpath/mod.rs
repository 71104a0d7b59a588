//! XPath 1.0 (W3C Recommendation of 16 November 1999), whole: all axes, functions, operators, predicates and variables,
//! on a [`Tree`].
//!
//! ```text
//! let expression = XPath::compile("//p:item[@price > 10]/name", &[("p", "urn:shop")])?;
//! let value = expression.evaluate(&tree, &Scope::default())?;
//! ```
//!
//! An expression is compiled once and evaluated on any number of trees. A node-set is sorted in document order and has no
//! node twice, so that each step costs at most the tree's size for each of its nodes. Where a hostile expression could
//! still take long (predicates within predicates), [`Scope::max_steps`] ends it with an error.

pub(crate) mod ast;
mod axes;
mod evaluate;
pub(crate) mod functions;
mod lexer;
mod parser;
pub(crate) mod value;

use std::fmt;

use crate::tree::Tree;

pub use value::{NodeRef, Value};

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct XPath {
    root: ast::Expr,
}

impl XPath {
    /// Compiles an expression. `namespaces` says what its prefixes mean; `xml` is known.
    pub fn compile(text: &str, namespaces: &[(&str, &str)]) -> Result<XPath, SyntaxError> {
        let root = parser::parse(text, namespaces)?;
        Ok(XPath { root })
    }

    pub(crate) fn root(&self) -> &ast::Expr {
        &self.root
    }

    /// The value of the expression at [`Scope::node`].
    pub fn evaluate(&self, tree: &Tree<'_>, scope: &Scope<'_>) -> Result<Value, EvaluationError> {
        evaluate::Evaluation::new(tree, scope).evaluate(&self.root)
    }
}

/// Where an expression is evaluated.
#[derive(Clone, Debug)]
pub struct Scope<'a> {
    /// The context node.
    pub node: NodeRef,
    /// The values of variables, by name; with a prefix the name is `{URI}local`.
    pub variables: &'a [(&'a str, Value)],
    /// How many nodes may be visited.
    pub max_steps: u64,
}

impl Default for Scope<'_> {
    /// At the document, without variables, at most 10^12 nodes.
    fn default() -> Self {
        Scope { node: NodeRef::DOCUMENT, variables: &[], max_steps: 1_000_000_000_000 }
    }
}

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where, in bytes from the start.
    pub offset: usize,
    /// What.
    pub reason: Reason,
}

/// The kinds of [`SyntaxError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A character that begins nothing.
    Character(char),
    /// A string without its closing quote.
    Unterminated,
    /// Something else was expected here.
    Expected(&'static str),
    /// The expression goes on after its end.
    Trailing,
    /// A prefix without a namespace.
    Prefix(String),
    /// No function of XPath 1.0 has this name.
    Function(String),
    /// The function takes another number of arguments.
    Arguments(&'static str),
    /// No axis has this name.
    Axis(String),
    /// A node-set is needed here, and this is none.
    NotNodes,
    /// More than 100 levels of parentheses, predicates, arguments and comparisons.
    Depth,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: ", self.offset)?;
        match &self.reason {
            Reason::Character(c) => write!(f, "unexpected character {c:?}"),
            Reason::Unterminated => f.write_str("a string without its closing quote"),
            Reason::Expected(what) => write!(f, "{what} expected"),
            Reason::Trailing => f.write_str("the expression ends here, but text follows"),
            Reason::Prefix(prefix) => write!(f, "no namespace is known for the prefix {prefix:?}"),
            Reason::Function(name) => write!(f, "XPath 1.0 has no function {name:?}"),
            Reason::Arguments(name) => write!(f, "wrong number of arguments for {name}()"),
            Reason::Axis(name) => write!(f, "XPath 1.0 has no axis {name:?}"),
            Reason::NotNodes => f.write_str("a node-set is needed here"),
            Reason::Depth => f.write_str("nested too deeply (100 levels)"),
        }
    }
}

impl std::error::Error for SyntaxError {}

/// Why an evaluation has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluationError {
    /// A variable without a value.
    Variable(String),
    /// A node-set is needed, and a variable has another value.
    NotNodes,
    /// More nodes would be visited than [`Scope::max_steps`] allows.
    Steps,
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvaluationError::Variable(name) => write!(f, "the variable ${name} has no value"),
            EvaluationError::NotNodes => {
                f.write_str("a variable is used as a node-set and is none")
            }
            EvaluationError::Steps => f.write_str("the evaluation visits more nodes than it may"),
        }
    }
}

impl std::error::Error for EvaluationError {}
