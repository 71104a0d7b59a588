//! The grammar of XPath 1.0; its productions are named by their numbers.

use super::ast::{Axis, Comparison, Expr, Operator, Path, Start, Step, Test};
use super::functions::Function;
use super::lexer::{Token, tokens};
use super::{Reason, SyntaxError};
use crate::names::XML_NAMESPACE;

/// Levels of parentheses, predicates and arguments.
const MAX_DEPTH: usize = 100;

pub(super) fn parse(text: &str, namespaces: &[(&str, &str)]) -> Result<Expr, SyntaxError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, namespaces, depth: 0 };
    let expr = parser.expr()?;
    match parser.peek() {
        Token::End => Ok(expr),
        _ => Err(parser.error(Reason::Trailing)),
    }
}

struct Parser<'t> {
    tokens: Vec<(usize, Token<'t>)>,
    at: usize,
    namespaces: &'t [(&'t str, &'t str)],
    depth: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> &Token<'t> {
        &self.tokens[self.at].1
    }

    fn peek_at(&self, ahead: usize) -> &Token<'t> {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].1
    }

    fn error(&self, reason: Reason) -> SyntaxError {
        SyntaxError { offset: self.tokens[self.at].0, reason }
    }

    fn take(&mut self) -> Token<'t> {
        let token = self.peek().clone();
        if token != Token::End {
            self.at += 1;
        }
        token
    }

    fn eat(&mut self, token: &Token<'_>) -> bool {
        let found = self.peek() == token;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: &Token<'_>, what: &'static str) -> Result<(), SyntaxError> {
        if self.eat(token) { Ok(()) } else { Err(self.error(Reason::Expected(what))) }
    }

    fn uri(&self, prefix: &str) -> Result<String, SyntaxError> {
        let known = self.namespaces.iter().find(|(name, _)| *name == prefix);
        match known {
            Some((_, uri)) => Ok((*uri).to_owned()),
            None if prefix == "xml" => Ok(XML_NAMESPACE.to_owned()),
            None => Err(self.error(Reason::Prefix(prefix.to_owned()))),
        }
    }

    /// [14] and what is below it.
    fn expr(&mut self) -> Result<Expr, SyntaxError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(Reason::Depth));
        }
        let expr = self.binary(0)?;
        self.depth -= 1;
        Ok(expr)
    }

    /// [21] to [26]: operators that bind at least as tightly as `least` says; all group to the left.
    fn binary(&mut self, least: u8) -> Result<Expr, SyntaxError> {
        let mut left = self.unary()?;
        let mut comparisons = 0;
        while let Some((level, operator)) = operator(self.peek()).filter(|found| found.0 >= least) {
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = match operator {
                Binary::Or => match left {
                    Expr::Or(mut all) => {
                        all.push(right);
                        Expr::Or(all)
                    }
                    first => Expr::Or(vec![first, right]),
                },
                Binary::And => match left {
                    Expr::And(mut all) => {
                        all.push(right);
                        Expr::And(all)
                    }
                    first => Expr::And(vec![first, right]),
                },
                Binary::Compare(comparison) => {
                    // The only ones that nest.
                    comparisons += 1;
                    if self.depth + comparisons > MAX_DEPTH {
                        return Err(self.error(Reason::Depth));
                    }
                    Expr::Compare(comparison, Box::new(left), Box::new(right))
                }
                // What is on the left is calculated first in any case.
                Binary::Arithmetic(operator) => match left {
                    Expr::Arithmetic(first, mut rest) => {
                        rest.push((operator, right));
                        Expr::Arithmetic(first, rest)
                    }
                    first => Expr::Arithmetic(Box::new(first), vec![(operator, right)]),
                },
            };
        }
        Ok(left)
    }

    /// [27]
    fn unary(&mut self) -> Result<Expr, SyntaxError> {
        let mut signs = 0_usize;
        while self.eat(&Token::Minus) {
            signs += 1;
        }
        let inner = self.union()?;
        // Of two signs a number is left, and not what it was.
        Ok(match signs {
            0 => inner,
            n if n % 2 == 1 => Expr::Negate(Box::new(inner)),
            _ => Expr::Negate(Box::new(Expr::Negate(Box::new(inner)))),
        })
    }

    /// [18]
    fn union(&mut self) -> Result<Expr, SyntaxError> {
        let mut start = self.at;
        let first = self.path()?;
        if *self.peek() != Token::Pipe {
            return Ok(first);
        }
        self.nodes(start, &first)?;
        let mut all = vec![first];
        while self.eat(&Token::Pipe) {
            start = self.at;
            let next = self.path()?;
            self.nodes(start, &next)?;
            all.push(next);
        }
        Ok(Expr::Union(all))
    }

    /// Whether an expression can be a node-set; `start` is its first token.
    fn nodes(&self, start: usize, expr: &Expr) -> Result<(), SyntaxError> {
        match expr.is_nodes() {
            true => Ok(()),
            false => Err(SyntaxError { offset: self.tokens[start].0, reason: Reason::NotNodes }),
        }
    }

    /// [19]: a location path, or a primary expression with predicates and steps.
    fn path(&mut self) -> Result<Expr, SyntaxError> {
        if !self.begins_primary() {
            return Ok(Expr::Path(self.location_path()?));
        }
        let start = self.at;
        let mut expr = self.primary()?;
        let predicates = self.predicates()?;
        if !predicates.is_empty() {
            self.nodes(start, &expr)?;
            expr = Expr::Filter(Box::new(expr), predicates);
        }
        let mut steps = match self.peek() {
            Token::Slash => Vec::new(),
            Token::DoubleSlash => vec![descendants()],
            _ => return Ok(expr),
        };
        self.nodes(start, &expr)?;
        self.at += 1;
        self.relative_path(&mut steps)?;
        Ok(Expr::Path(Path { start: Start::Nodes(Box::new(expr)), steps: shorten(steps) }))
    }

    /// Whether a primary expression [15] comes, and not a step: a name before a parenthesis is a function's, unless it is a
    /// node type.
    fn begins_primary(&self) -> bool {
        match self.peek() {
            Token::Open | Token::Variable(..) | Token::Literal(_) | Token::Number(_) => true,
            Token::Name(prefix, local) => {
                let is_type = prefix.is_none()
                    && matches!(*local, "node" | "text" | "comment" | "processing-instruction");
                !is_type && *self.peek_at(1) == Token::Open
            }
            _ => false,
        }
    }

    /// [15], [16]
    fn primary(&mut self) -> Result<Expr, SyntaxError> {
        let start = self.at;
        match self.take() {
            Token::Open => {
                let inner = self.expr()?;
                self.expect(&Token::Close, "a closing parenthesis")?;
                Ok(inner)
            }
            Token::Literal(text) => Ok(Expr::Literal(text.to_owned())),
            Token::Number(number) => Ok(Expr::Number(number)),
            Token::Variable(prefix, local) => Ok(Expr::Variable(match prefix {
                None => local.to_owned(),
                Some(prefix) => {
                    self.at = start;
                    let uri = self.uri(prefix)?;
                    self.at += 1;
                    format!("{{{uri}}}{local}")
                }
            })),
            Token::Name(prefix, local) => {
                let at = |reason| SyntaxError { offset: self.tokens[start].0, reason };
                let unknown = || {
                    let name =
                        prefix.map_or(local.to_owned(), |prefix| format!("{prefix}:{local}"));
                    at(Reason::Function(name))
                };
                let function = Function::named(local).filter(|_| prefix.is_none());
                let (function, name) = function.ok_or_else(unknown)?;
                self.at += 1;
                let mut arguments = Vec::new();
                while !self.eat(&Token::Close) {
                    if !arguments.is_empty() {
                        self.expect(&Token::Comma, "a comma or a closing parenthesis")?;
                    }
                    let first = self.at;
                    let argument = self.expr()?;
                    if function.takes_nodes() {
                        self.nodes(first, &argument)?;
                    }
                    arguments.push(argument);
                }
                if !function.arguments().contains(&arguments.len()) {
                    let offset = self.tokens[start].0;
                    return Err(SyntaxError { offset, reason: Reason::Arguments(name) });
                }
                Ok(Expr::Call(function, arguments))
            }
            _ => {
                self.at = start;
                Err(self.error(Reason::Expected("an expression")))
            }
        }
    }

    /// [1], [2], [10]
    fn location_path(&mut self) -> Result<Path, SyntaxError> {
        let mut steps = Vec::new();
        let start = match self.peek() {
            Token::Slash => {
                self.at += 1;
                if !self.begins_step() {
                    return Ok(Path { start: Start::Document, steps });
                }
                Start::Document
            }
            Token::DoubleSlash => {
                self.at += 1;
                steps.push(descendants());
                Start::Document
            }
            _ => Start::Context,
        };
        self.relative_path(&mut steps)?;
        Ok(Path { start, steps: shorten(steps) })
    }

    fn begins_step(&self) -> bool {
        matches!(
            self.peek(),
            Token::Dot | Token::DotDot | Token::At | Token::Star | Token::Name(..)
        )
    }

    /// [3], [11]
    fn relative_path(&mut self, steps: &mut Vec<Step>) -> Result<(), SyntaxError> {
        loop {
            steps.push(self.step()?);
            match self.peek() {
                Token::Slash => {}
                Token::DoubleSlash => steps.push(descendants()),
                _ => return Ok(()),
            }
            self.at += 1;
        }
    }

    /// [4], [12]
    fn step(&mut self) -> Result<Step, SyntaxError> {
        let plain = |axis| Step { axis, test: Test::Node, predicates: Vec::new() };
        let axis = match self.peek() {
            Token::Dot => {
                self.at += 1;
                return Ok(plain(Axis::Self_));
            }
            Token::DotDot => {
                self.at += 1;
                return Ok(plain(Axis::Parent));
            }
            Token::At => {
                self.at += 1;
                Axis::Attribute
            }
            Token::Name(None, name) if *self.peek_at(1) == Token::Axis => {
                let found = Axis::ALL.iter().find(|(known, _)| known == name);
                let Some((_, axis)) = found else {
                    return Err(self.error(Reason::Axis((*name).to_owned())));
                };
                self.at += 2;
                *axis
            }
            _ => Axis::Child,
        };
        let test = self.node_test()?;
        Ok(Step { axis, test, predicates: self.predicates()? })
    }

    /// [7]
    fn node_test(&mut self) -> Result<Test, SyntaxError> {
        let test = match self.peek().clone() {
            Token::Star => Test::Any,
            Token::Name(None, kind) if *self.peek_at(1) == Token::Open => {
                let test = match kind {
                    "node" => Test::Node,
                    "text" => Test::Text,
                    "comment" => Test::Comment,
                    "processing-instruction" => Test::Instruction(None),
                    _ => return Err(self.error(Reason::Expected("a step"))),
                };
                self.at += 2;
                let test = match (test, self.peek().clone()) {
                    (Test::Instruction(_), Token::Literal(target)) => {
                        self.at += 1;
                        Test::Instruction(Some(target.to_owned()))
                    }
                    (test, _) => test,
                };
                self.expect(&Token::Close, "a closing parenthesis")?;
                return Ok(test);
            }
            Token::Name(Some(prefix), "*") => Test::Namespace(self.uri(prefix)?),
            Token::Name(Some(prefix), local) => {
                Test::Name { uri: self.uri(prefix)?, local: local.to_owned() }
            }
            Token::Name(None, local) => Test::Name { uri: String::new(), local: local.to_owned() },
            _ => return Err(self.error(Reason::Expected("a step"))),
        };
        self.at += 1;
        Ok(test)
    }

    /// [8]
    fn predicates(&mut self) -> Result<Vec<Expr>, SyntaxError> {
        let mut predicates = Vec::new();
        while self.eat(&Token::OpenSquare) {
            predicates.push(self.expr()?);
            self.expect(&Token::CloseSquare, "a closing bracket")?;
        }
        Ok(predicates)
    }
}

/// A binary operator.
enum Binary {
    Or,
    And,
    Compare(Comparison),
    Arithmetic(Operator),
}

/// The operator that a token is, and how tightly it binds.
fn operator(token: &Token<'_>) -> Option<(u8, Binary)> {
    Some(match token {
        Token::Or => (0, Binary::Or),
        Token::And => (1, Binary::And),
        Token::Equal => (2, Binary::Compare(Comparison::Equal)),
        Token::NotEqual => (2, Binary::Compare(Comparison::NotEqual)),
        Token::Less => (3, Binary::Compare(Comparison::Less)),
        Token::LessOrEqual => (3, Binary::Compare(Comparison::LessOrEqual)),
        Token::Greater => (3, Binary::Compare(Comparison::Greater)),
        Token::GreaterOrEqual => (3, Binary::Compare(Comparison::GreaterOrEqual)),
        Token::Plus => (4, Binary::Arithmetic(Operator::Add)),
        Token::Minus => (4, Binary::Arithmetic(Operator::Subtract)),
        Token::Multiply => (5, Binary::Arithmetic(Operator::Multiply)),
        Token::Div => (5, Binary::Arithmetic(Operator::Divide)),
        Token::Mod => (5, Binary::Arithmetic(Operator::Modulo)),
        _ => return None,
    })
}

/// What `//` stands for (2.5).
fn descendants() -> Step {
    Step { axis: Axis::DescendantOrSelf, test: Test::Node, predicates: Vec::new() }
}

/// `descendant-or-self::node()/child::x` is `descendant::x` where no predicate counts positions: each node once, and not all
/// nodes as a set first.
fn shorten(steps: Vec<Step>) -> Vec<Step> {
    let mut short: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        let free = !step.predicates.iter().any(Expr::is_positional);
        match short.last_mut() {
            Some(last) if step.axis == Axis::Child && free && *last == descendants() => {
                *last = Step { axis: Axis::Descendant, ..step };
            }
            _ => short.push(step),
        }
    }
    short
}
