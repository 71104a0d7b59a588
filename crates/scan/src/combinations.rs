//! Logical combinations: patterns that match where others do, if all of these together say so.

use std::collections::HashMap;
use std::ops::ControlFlow;

use lookaside_spec::scan::{BadPattern, Match};

use crate::counters::Tally;
use crate::report::{Rule, View};
use crate::syntax::{Combination, Pattern, SyntaxError, check_combinations};

/// The combinations of a set.
#[derive(Debug, Default)]
pub(crate) struct Combinations {
    /// Each with its place in the set.
    all: Vec<(usize, Combination)>,
    /// The bit of each operand, by its id.
    bits: HashMap<u32, u32>,
}

impl Combinations {
    /// The combinations of these patterns, and the number of their operands.
    pub(crate) fn new(patterns: &[Pattern]) -> Result<(u32, Combinations), Vec<BadPattern>> {
        let mut combinations = Combinations::default();
        for (pattern, one) in patterns.iter().enumerate() {
            let Some(combination) = &one.combination else { continue };
            for id in combination.operands() {
                let next = combinations.bits.len() as u32;
                combinations.bits.entry(id).or_insert(next);
            }
            combinations.all.push((pattern, combination.clone()));
        }
        let wrong = if combinations.any() { check_combinations(patterns) } else { vec![] };
        let bad = |error: SyntaxError| BadPattern {
            index: patterns.iter().position(|pattern| pattern.id == error.id).unwrap_or(0),
            id: error.id,
            offset: error.kind.has_place().then_some(error.offset),
            what: error.kind.to_string(),
        };
        if !wrong.is_empty() {
            return Err(wrong.into_iter().map(bad).collect());
        }
        Ok((combinations.bits.len() as u32, combinations))
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn any(&self) -> bool {
        !self.all.is_empty()
    }

    /// The bit of the operand with this id.
    pub(crate) fn operand(&self, id: u32) -> Option<u32> {
        self.bits.get(&id).copied()
    }

    /// Patterns have matched at one end, given by their ids: reports the combinations of any of them that are true now.
    pub(crate) fn report(
        &self,
        end: u64,
        matched: &[u32],
        rules: &[Rule],
        view: &mut View<'_>,
        tally: &mut Tally,
        hit: &mut dyn FnMut(Match) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.all.iter().enumerate().try_for_each(|(number, (pattern, combination))| {
            let concerned = combination.operands().any(|operand| matched.contains(&operand));
            let holds = concerned && self.holds(combination, view);
            match holds && rules[*pattern].allows(end, end) && view.note_end(number, end) {
                true => rules[*pattern].report(end, 0, view, tally, hit),
                false => ControlFlow::Continue(()),
            }
        })
    }

    /// The text has ended: reports the combinations that are true because nothing has matched.
    pub(crate) fn finish(
        &self,
        end: u64,
        rules: &[Rule],
        view: &mut View<'_>,
        tally: &mut Tally,
        hit: &mut dyn FnMut(Match) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.all.iter().try_for_each(|(pattern, combination)| {
            let silent = combination.operands().all(|id| !view.is_set(self.bits[&id]));
            match silent && self.holds(combination, view) && rules[*pattern].allows(end, end) {
                true => rules[*pattern].report(end, 0, view, tally, hit),
                false => ControlFlow::Continue(()),
            }
        })
    }

    fn holds(&self, combination: &Combination, view: &View<'_>) -> bool {
        combination.evaluate(|id| view.is_set(self.bits[&id]))
    }
}
