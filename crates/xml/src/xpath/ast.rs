//! Expressions as trees.

use super::functions::Function;

/// An expression, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Or(Vec<Expr>),
    And(Vec<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// From left to right.
    Arithmetic(Box<Expr>, Vec<(Operator, Expr)>),
    Negate(Box<Expr>),
    Union(Vec<Expr>),
    Path(Path),
    /// A primary expression with predicates: they count in document order.
    Filter(Box<Expr>, Vec<Expr>),
    Literal(String),
    Number(f64),
    /// By the name that `Scope::variables` knows.
    Variable(String),
    Call(Function, Vec<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub(crate) fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Comparison::Equal => a == b,
            Comparison::NotEqual => a != b,
            Comparison::Less => a < b,
            Comparison::LessOrEqual => a <= b,
            Comparison::Greater => a > b,
            Comparison::GreaterOrEqual => a >= b,
        }
    }

    /// With the operands changed over.
    pub(crate) fn turned(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same => same,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// Steps, from where they start.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path {
    pub(crate) start: Start,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Start {
    /// `/`: the node above the document element.
    Document,
    /// The context node.
    Context,
    /// The nodes of an expression.
    Nodes(Box<Expr>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) axis: Axis,
    pub(crate) test: Test,
    pub(crate) predicates: Vec<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Following,
    FollowingSibling,
    Namespace,
    Parent,
    Preceding,
    PrecedingSibling,
    Self_,
}

impl Axis {
    pub(crate) const ALL: [(&str, Axis); 13] = [
        ("ancestor", Axis::Ancestor),
        ("ancestor-or-self", Axis::AncestorOrSelf),
        ("attribute", Axis::Attribute),
        ("child", Axis::Child),
        ("descendant", Axis::Descendant),
        ("descendant-or-self", Axis::DescendantOrSelf),
        ("following", Axis::Following),
        ("following-sibling", Axis::FollowingSibling),
        ("namespace", Axis::Namespace),
        ("parent", Axis::Parent),
        ("preceding", Axis::Preceding),
        ("preceding-sibling", Axis::PrecedingSibling),
        ("self", Axis::Self_),
    ];

    /// Whether `position()` counts against document order (2.4).
    pub(crate) fn is_reverse(self) -> bool {
        matches!(
            self,
            Axis::Ancestor | Axis::AncestorOrSelf | Axis::Preceding | Axis::PrecedingSibling
        )
    }
}

/// A node test (2.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// `*`
    Any,
    /// `prefix:*`, by its URI.
    Namespace(String),
    /// A name: URI and local part.
    Name { uri: String, local: String },
    /// `node()`
    Node,
    /// `text()`
    Text,
    /// `comment()`
    Comment,
    /// `processing-instruction()`, of this target if one is given.
    Instruction(Option<String>),
}

impl Expr {
    /// Whether the value is always a node-set; a variable's is not known.
    pub(crate) fn is_nodes(&self) -> bool {
        match self {
            Expr::Path(_) | Expr::Filter(..) | Expr::Union(..) | Expr::Variable(_) => true,
            Expr::Call(function, _) => *function == Function::Id,
            _ => false,
        }
    }

    /// Whether, as a predicate, its truth may depend on the position of the node among the others.
    pub(crate) fn is_positional(&self) -> bool {
        match self {
            // A number is compared with the position; a variable may be one.
            Expr::Arithmetic(..) | Expr::Negate(_) | Expr::Number(_) | Expr::Variable(_) => true,
            Expr::Call(function, arguments) => {
                function.is_number()
                    || arguments.iter().any(Expr::uses_position)
                    || matches!(function, Function::Position | Function::Last)
            }
            other => other.uses_position(),
        }
    }

    /// Whether `position()` or `last()` of the own node is asked for.
    fn uses_position(&self) -> bool {
        match self {
            Expr::Or(all) | Expr::And(all) | Expr::Union(all) => {
                all.iter().any(Expr::uses_position)
            }
            Expr::Compare(_, a, b) => a.uses_position() || b.uses_position(),
            Expr::Arithmetic(first, rest) => {
                first.uses_position() || rest.iter().any(|(_, one)| one.uses_position())
            }
            Expr::Negate(a) => a.uses_position(),
            // Predicates have positions of their own.
            Expr::Filter(a, _) => a.uses_position(),
            Expr::Path(path) => match &path.start {
                Start::Nodes(nodes) => nodes.uses_position(),
                Start::Document | Start::Context => false,
            },
            Expr::Literal(_) | Expr::Number(_) | Expr::Variable(_) => false,
            Expr::Call(function, arguments) => {
                matches!(function, Function::Position | Function::Last)
                    || arguments.iter().any(Expr::uses_position)
            }
        }
    }
}
