//! The core function library (4).

use std::ops::RangeInclusive;

use super::ast::Expr;
use super::evaluate::{Evaluation, Focus, in_order};
use super::value::SPACE;
use super::{EvaluationError, NodeRef, Value};
use crate::names::XML_NAMESPACE;
use crate::tree::Kind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Last,
    Position,
    Count,
    Id,
    LocalName,
    NamespaceUri,
    Name,
    String,
    Concat,
    StartsWith,
    Contains,
    SubstringBefore,
    SubstringAfter,
    Substring,
    StringLength,
    NormalizeSpace,
    Translate,
    Boolean,
    Not,
    True,
    False,
    Lang,
    Number,
    Sum,
    Floor,
    Ceiling,
    Round,
}

const NAMES: [(&str, Function); 27] = [
    ("last", Function::Last),
    ("position", Function::Position),
    ("count", Function::Count),
    ("id", Function::Id),
    ("local-name", Function::LocalName),
    ("namespace-uri", Function::NamespaceUri),
    ("name", Function::Name),
    ("string", Function::String),
    ("concat", Function::Concat),
    ("starts-with", Function::StartsWith),
    ("contains", Function::Contains),
    ("substring-before", Function::SubstringBefore),
    ("substring-after", Function::SubstringAfter),
    ("substring", Function::Substring),
    ("string-length", Function::StringLength),
    ("normalize-space", Function::NormalizeSpace),
    ("translate", Function::Translate),
    ("boolean", Function::Boolean),
    ("not", Function::Not),
    ("true", Function::True),
    ("false", Function::False),
    ("lang", Function::Lang),
    ("number", Function::Number),
    ("sum", Function::Sum),
    ("floor", Function::Floor),
    ("ceiling", Function::Ceiling),
    ("round", Function::Round),
];

impl Function {
    /// The function, and its name for messages.
    pub(crate) fn named(name: &str) -> Option<(Function, &'static str)> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(name, function)| (*function, *name))
    }

    /// How many arguments it takes.
    pub(crate) fn arguments(self) -> RangeInclusive<usize> {
        use Function::*;
        match self {
            Last | Position | True | False => 0..=0,
            LocalName | NamespaceUri | Name | String | StringLength | NormalizeSpace | Number => {
                0..=1
            }
            Count | Id | Boolean | Not | Lang | Sum | Floor | Ceiling | Round => 1..=1,
            StartsWith | Contains | SubstringBefore | SubstringAfter => 2..=2,
            Substring => 2..=3,
            Translate => 3..=3,
            Concat => 2..=usize::MAX,
        }
    }

    /// Whether its arguments are node-sets.
    pub(crate) fn takes_nodes(self) -> bool {
        use Function::*;
        matches!(self, Count | LocalName | NamespaceUri | Name | Sum)
    }

    /// Whether its value is a number.
    pub(crate) fn is_number(self) -> bool {
        use Function::*;
        matches!(
            self,
            Last | Position | Count | StringLength | Number | Sum | Floor | Ceiling | Round
        )
    }
}

type Result<T> = std::result::Result<T, EvaluationError>;

impl Evaluation<'_> {
    pub(crate) fn call(
        &self,
        function: Function,
        arguments: &[Expr],
        focus: Focus,
    ) -> Result<Value> {
        let tree = self.tree;
        let value = |n: usize| self.value(&arguments[n], focus);
        let text = |n: usize| Ok(value(n)?.to_string(tree));
        let number = |n: usize| Ok(value(n)?.to_number(tree));
        // Without an argument, the context node.
        let text_or_own = || match arguments.is_empty() {
            true => Ok(focus.node.string_value(tree)),
            false => text(0),
        };
        let first_or_own = || match arguments.is_empty() {
            true => Ok(Some(focus.node)),
            false => Ok(self.nodes(&arguments[0], focus)?.first().copied()),
        };
        let name = |of: fn(NodeRef, &crate::tree::Tree<'_>) -> String| {
            Ok::<_, EvaluationError>(Value::String(
                first_or_own()?.map_or(String::new(), |node| of(node, tree)),
            ))
        };
        Ok(match function {
            Function::Last => Value::Number(focus.size as f64),
            Function::Position => Value::Number(focus.position as f64),
            Function::Count => Value::Number(self.nodes(&arguments[0], focus)?.len() as f64),
            Function::Id => Value::Nodes(self.ids(&value(0)?)),
            Function::LocalName => name(|node, tree| node.local_name(tree).to_owned())?,
            Function::NamespaceUri => name(|node, tree| node.namespace_uri(tree).to_owned())?,
            Function::Name => name(NodeRef::name)?,
            Function::String => Value::String(text_or_own()?),
            Function::Concat => {
                let parts: Result<Vec<String>> = (0..arguments.len()).map(text).collect();
                Value::String(parts?.concat())
            }
            Function::StartsWith => Value::Boolean(text(0)?.starts_with(&text(1)?)),
            Function::Contains => Value::Boolean(text(0)?.contains(&text(1)?)),
            Function::SubstringBefore => {
                let (whole, part) = (text(0)?, text(1)?);
                let before = whole.find(&part).map_or("", |at| &whole[..at]);
                Value::String(before.to_owned())
            }
            Function::SubstringAfter => {
                let (whole, part) = (text(0)?, text(1)?);
                let after = whole.find(&part).map_or("", |at| &whole[at + part.len()..]);
                Value::String(after.to_owned())
            }
            Function::Substring => {
                let length = if arguments.len() == 3 { Some(number(2)?) } else { None };
                Value::String(substring(&text(0)?, number(1)?, length))
            }
            Function::StringLength => Value::Number(text_or_own()?.chars().count() as f64),
            Function::NormalizeSpace => {
                let text = text_or_own()?;
                let words = text.split(SPACE).filter(|word| !word.is_empty());
                Value::String(words.collect::<Vec<_>>().join(" "))
            }
            Function::Translate => Value::String(translate(&text(0)?, &text(1)?, &text(2)?)),
            Function::Boolean => Value::Boolean(value(0)?.to_boolean()),
            Function::Not => Value::Boolean(!value(0)?.to_boolean()),
            Function::True => Value::Boolean(true),
            Function::False => Value::Boolean(false),
            Function::Lang => Value::Boolean(self.is_language(focus.node, &text(0)?)),
            Function::Number => Value::Number(match arguments.is_empty() {
                true => Value::String(focus.node.string_value(tree)).to_number(tree),
                false => number(0)?,
            }),
            Function::Sum => {
                let nodes = self.nodes(&arguments[0], focus)?;
                self.visit(nodes.len() as u64)?;
                let numbers =
                    nodes.iter().map(|node| super::value::number_of(&node.string_value(tree)));
                // From 0, whose sign an empty sum has.
                Value::Number(numbers.fold(0.0, |sum, number| sum + number))
            }
            Function::Floor => Value::Number(number(0)?.floor()),
            Function::Ceiling => Value::Number(number(0)?.ceil()),
            Function::Round => Value::Number(round(number(0)?)),
        })
    }

    /// 4.1: the elements with these IDs, of a string separated by white space.
    fn ids(&self, of: &Value) -> Vec<NodeRef> {
        let texts = match of {
            Value::Nodes(nodes) => nodes.iter().map(|node| node.string_value(self.tree)).collect(),
            other => vec![other.to_string(self.tree)],
        };
        let ids = texts.iter().flat_map(|text| text.split(SPACE)).filter(|id| !id.is_empty());
        let found = ids.filter_map(|id| self.tree.element_by_id(id)).map(NodeRef::from);
        in_order(found.collect())
    }

    /// 4.3: whether the innermost `xml:lang` is this language or one below it.
    fn is_language(&self, node: NodeRef, language: &str) -> bool {
        let tree = self.tree;
        let Some(name) = tree.find_name(XML_NAMESPACE, "lang") else { return false };
        let mut elements = std::iter::successors(Some(node), |one| one.parent(tree));
        let value = elements.find_map(|one| {
            (one.kind(tree) == Kind::Element).then_some(())?;
            let mut attributes = tree.attributes(one.node());
            attributes.find(|attribute| tree.expanded(tree.name_id(*attribute)) == name)
        });
        let Some(value) = value.map(|attribute| tree.value(attribute)) else { return false };
        let head = value.get(..language.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(language))
            && matches!(value.as_bytes().get(language.len()), None | Some(b'-'))
    }
}

/// 4.2: the characters whose place is at least `from` and below `from + length`, all rounded.
fn substring(text: &str, from: f64, length: Option<f64>) -> String {
    let start = round(from);
    let end = length.map_or(f64::INFINITY, |length| start + round(length));
    let places = text.chars().zip(1_u64..);
    // With NaN no comparison holds.
    let inside = |place: f64| place >= start && place < end;
    places.filter(|(_, place)| inside(*place as f64)).map(|(c, _)| c).collect()
}

/// 4.4: to the nearest integer, of two the one towards positive infinity.
fn round(number: f64) -> f64 {
    let floor = number.floor();
    if number - floor >= 0.5 { floor + 1.0 } else { floor }
}

/// 4.2
fn translate(text: &str, from: &str, to: &str) -> String {
    let to: Vec<char> = to.chars().collect();
    let mut table = std::collections::HashMap::new();
    for (place, c) in from.chars().enumerate() {
        table.entry(c).or_insert_with(|| to.get(place).copied());
    }
    text.chars().filter_map(|c| table.get(&c).copied().unwrap_or(Some(c))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::value::string_of;
    use super::*;

    #[test]
    fn the_examples_of_the_recommendation() {
        for (from, length, part) in [
            (2.0, Some(3.0), "234"),
            (2.0, None, "2345"),
            (1.5, Some(2.6), "234"),
            (0.0, Some(3.0), "12"),
            (f64::NAN, Some(3.0), ""),
            (1.0, Some(f64::NAN), ""),
            (-42.0, Some(f64::INFINITY), "12345"),
            (f64::NEG_INFINITY, Some(f64::INFINITY), ""),
        ] {
            assert_eq!(substring("12345", from, length), part, "{from} {length:?}");
        }
        assert_eq!(translate("bar", "abc", "ABC"), "BAr");
        assert_eq!(translate("--aaa--", "abc-", "ABC"), "AAA");
        for (number, rounded) in [(2.5, 3.0), (-2.5, -2.0), (-0.2, 0.0), (1e300, 1e300)] {
            assert_eq!(round(number), rounded);
        }
        assert!(round(f64::NAN).is_nan());
        assert_eq!(string_of(round(f64::INFINITY)), "Infinity");
    }
}
