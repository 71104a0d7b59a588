//! Logical combinations of patterns: `(1 | 2) & !3`.

use std::collections::HashMap;

use super::Pattern;
use super::error::{ErrorKind, SyntaxError};
use super::parser::Located;

/// A logical expression whose operands are the ids of other patterns.
///
/// An operand is true from the first match of its pattern on. The combination has a match at every offset at which one
/// of its operands has a match and the whole is true then, and at the end of the data if it is true without any match.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Combination {
    /// Operands before their operators.
    steps: Vec<Step>,
}

/// A step of the evaluation of a [`Combination`] with a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Push whether this pattern has matched.
    Operand(u32),
    /// Replace the last value by its opposite.
    Not,
    /// Replace the last two values by whether both are true.
    And,
    /// Replace the last two values by whether one is true.
    Or,
}

/// An operator that waits for its right operand, or an open parenthesis.
#[derive(Clone, Copy, PartialEq)]
enum Waiting {
    Open,
    Operator(Step),
}

impl Combination {
    /// Parses `text`: ids of at most 9 digits, `!` before `&` before `|`, parentheses, spaces.
    pub(super) fn parse(text: &[u8]) -> Located<Combination> {
        let mut steps = Vec::new();
        let mut waiting: Vec<(usize, Waiting)> = Vec::new();
        let mut operators = 0;
        // Whether the next thing must be an operand.
        let mut operand = true;
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            let start = at;
            at += 1;
            match byte {
                b' ' => {}
                b'0'..=b'9' => {
                    let len = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                    at = start + len;
                    let digits = str::from_utf8(&text[start..at]).unwrap_or_default();
                    let id = digits
                        .parse()
                        .ok()
                        .filter(|_| len <= 9)
                        .ok_or((start, ErrorKind::IdTooLarge))?;
                    if !operand {
                        return Err((start, ErrorKind::MissingOperator));
                    }
                    steps.push(Step::Operand(id));
                    operand = false;
                }
                b'(' | b'!' if !operand => return Err((start, ErrorKind::MissingOperator)),
                b'(' => waiting.push((start, Waiting::Open)),
                b'!' => {
                    operators += 1;
                    waiting.push((start, Waiting::Operator(Step::Not)));
                }
                b')' => {
                    if !waiting.iter().any(|(_, waiting)| *waiting == Waiting::Open) {
                        return Err((start, ErrorKind::UnmatchedParenthesis));
                    }
                    if operand {
                        return Err((start, ErrorKind::MissingOperand));
                    }
                    while let Some((_, Waiting::Operator(step))) = waiting.pop() {
                        steps.push(step);
                    }
                }
                b'&' | b'|' => {
                    if operand {
                        return Err((start, ErrorKind::MissingOperand));
                    }
                    let step = if byte == b'&' { Step::And } else { Step::Or };
                    while let Some(&(_, Waiting::Operator(before))) = waiting.last() {
                        if before == Step::Or && step == Step::And {
                            break;
                        }
                        steps.push(before);
                        waiting.pop();
                    }
                    operators += 1;
                    waiting.push((start, Waiting::Operator(step)));
                    operand = true;
                }
                _ => return Err((start, ErrorKind::CombinationCharacter)),
            }
        }
        if operand {
            return Err((at, ErrorKind::MissingOperand));
        }
        while let Some((start, waiting)) = waiting.pop() {
            match waiting {
                Waiting::Open => return Err((start, ErrorKind::MissingParenthesis)),
                Waiting::Operator(step) => steps.push(step),
            }
        }
        if operators == 0 {
            return Err((0, ErrorKind::NoOperation));
        }
        Ok(Combination { steps })
    }

    /// The steps that evaluate the combination: each operator after its operands.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The ids of the operands, each as often as it is written.
    pub fn operands(&self) -> impl Iterator<Item = u32> {
        self.steps.iter().filter_map(|step| match step {
            Step::Operand(id) => Some(*id),
            _ => None,
        })
    }

    /// The value of the combination if `matched` says which patterns have matched.
    pub fn evaluate(&self, mut matched: impl FnMut(u32) -> bool) -> bool {
        let mut stack = Vec::new();
        for step in &self.steps {
            let value = match step {
                Step::Operand(id) => matched(*id),
                Step::Not => !stack.pop().unwrap_or(false),
                Step::And | Step::Or => {
                    let (right, left) =
                        (stack.pop().unwrap_or(false), stack.pop().unwrap_or(false));
                    if *step == Step::And { left && right } else { left || right }
                }
            };
            stack.push(value);
        }
        stack.pop().unwrap_or(false)
    }
}

/// What is wrong with the combinations of a set: operands must be patterns of the set that are no combinations
/// themselves and have neither the flag `L` nor `P`.
pub fn check_combinations(patterns: &[Pattern]) -> Vec<SyntaxError> {
    let mut by_id: HashMap<u32, Vec<&Pattern>> = HashMap::new();
    patterns.iter().for_each(|pattern| by_id.entry(pattern.id).or_default().push(pattern));
    let mut errors = Vec::new();
    for pattern in patterns {
        for id in pattern.combination.iter().flat_map(Combination::operands) {
            let operands = by_id.get(&id).map_or(&[][..], Vec::as_slice);
            let has = |flag: fn(&Pattern) -> bool| operands.iter().any(|operand| flag(operand));
            let kind = if operands.is_empty() {
                ErrorKind::UnknownOperand(id)
            } else if has(|operand| operand.flags.combination) {
                ErrorKind::OperandFlag(id, 'C')
            } else if has(|operand| operand.flags.som_leftmost) {
                ErrorKind::OperandFlag(id, 'L')
            } else if has(|operand| operand.flags.prefilter) {
                ErrorKind::OperandFlag(id, 'P')
            } else {
                continue;
            };
            errors.push(SyntaxError { id: pattern.id, offset: 0, kind });
        }
    }
    errors
}
