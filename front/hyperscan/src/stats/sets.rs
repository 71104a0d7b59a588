//! The counters of this process's databases, for its report: which patterns matched most, and which had most candidates.

use std::{collections::BTreeSet, fmt::Write as _};

use lookaside::ForkMutex;
use lookaside_scan::{Counter, Counters, Patterns, Set};

/// Databases beyond so many are not counted one by one.
const MOST: usize = 64;
/// Rows of a table: so many by matches, and as many by candidates.
const ROWS: usize = 10;
/// How much of a pattern is shown.
const WIDTH: usize = 60;

type Known = Vec<(Counter, Patterns)>;

/// The databases.
static SETS: ForkMutex<Known> = ForkMutex::of_any(Vec::new());

/// The set with counters that the report has.
pub(super) fn register(set: Set) -> Set {
    let Some(mut sets) = SETS.lock().filter(|sets| sets.len() < MOST) else { return set };
    let set = set.counted();
    sets.extend(set.counter().map(|counter| (counter, set.patterns().clone())));
    set
}

/// Begins again with zeros.
pub(super) fn reset() {
    SETS.lock().iter().flat_map(|sets| sets.iter()).for_each(|(counter, _)| counter.reset());
}

/// The tables of all databases that were used.
pub(super) fn report(text: &mut String) {
    let Some(sets) = SETS.lock() else { return };
    for (counter, patterns) in sets.iter() {
        let counters = counter.read();
        if counters.scans > 0 {
            table(&counters, patterns, text);
        }
    }
}

fn table(counters: &Counters, patterns: &Patterns, text: &mut String) {
    let (matches, candidates) = (counters.matches(), counters.candidates());
    let _ = writeln!(
        text,
        "database of {} patterns: {} scans, {} bytes, {:.3} ms, {matches} matches, {candidates} \
         candidates ({:.3} per KB)",
        counters.patterns.len(),
        counters.scans,
        counters.bytes,
        counters.time_ns as f64 / 1e6,
        counters.candidates_per_kb(),
    );
    let mut order: Vec<usize> = (0..counters.patterns.len()).collect();
    order.sort_by_key(|&index| u64::MAX - counters.patterns[index].matches);
    let mut shown: BTreeSet<usize> = order.iter().take(ROWS).copied().collect();
    order.sort_by_key(|&index| u64::MAX - counters.patterns[index].candidates);
    shown.extend(order.iter().take(ROWS));
    let mut shown: Vec<_> =
        shown.into_iter().map(|index| (index, counters.patterns[index])).collect();
    shown.retain(|(_, one)| one.matches > 0 || one.candidates > 0);
    shown.sort_by_key(|(index, one)| (u64::MAX - one.matches, u64::MAX - one.candidates, *index));
    if shown.is_empty() {
        return;
    }
    let _ = writeln!(text, "{:>12} {:>12} {:>10}", "matches", "candidates", "id");
    for (index, one) in shown {
        let expression = patterns.expressions.get(index);
        let bytes = expression.map_or(&[][..], |expression| &expression.text);
        let start = bytes.escape_ascii().to_string();
        let start: String = start.chars().take(WIDTH).collect();
        let _ =
            writeln!(text, "{:>12} {:>12} {:>10}  {start}", one.matches, one.candidates, one.id);
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use lookaside_scan::{Expression, Mode, Scratch};
    use lookaside_simd::Cpu;

    use super::*;

    #[test]
    fn the_report_has_what_was_found_most() {
        let pattern = |id: u32| Expression {
            id,
            text: format!("word{id}[0-9]?").into_bytes(),
            ..Expression::default()
        };
        let expressions = (100..200).map(pattern).collect();
        let patterns = Patterns { expressions, mode: Mode::Block };
        let set = register(Set::compile(&patterns, Cpu::host()).unwrap());
        let text = "word123 word1234 word150 ".repeat(10);
        let _ = set.scan(&mut Scratch::new(), text.as_bytes(), &mut |_| ControlFlow::Continue(()));
        let mut out = String::new();
        report(&mut out);
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines[0].starts_with("database of 100 patterns: 1 scans, 250 bytes, "), "{out}");
        assert!(lines[0].contains(" 40 matches, 30 candidates (120.000 per KB)"), "{out}");
        let row = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(row(lines[2]), ["30", "20", "123", "word123[0-9]?"]);
        assert_eq!(row(lines[3]), ["10", "10", "150", "word150[0-9]?"]);
        assert_eq!(lines.len(), 4, "{out}");
        // The counters outlive the database, until a child begins anew.
        drop(set);
        reset();
        let mut out = String::new();
        report(&mut out);
        assert_eq!(out, "");
    }

    #[test]
    fn a_database_that_is_compiled_while_the_list_is_used_is_counted() {
        let expressions = [Expression { text: b"word".to_vec(), ..Expression::default() }];
        let patterns = Patterns { expressions: expressions.into(), mode: Mode::Block };
        let set = Set::compile(&patterns, Cpu::host()).unwrap();
        let used = SETS.lock();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| register(set).counter().is_some());
            std::thread::sleep(std::time::Duration::from_millis(10));
            drop(used);
            assert!(other.join().unwrap());
        });
    }
}
