//! `lookaside scan --counters`: what the scans did, and which patterns matched most and cost most.

use std::fmt::Write;

use lookaside::scan::{Counters, PatternCounters};
use serde_json::{Value, json};

use super::{report::printable, rules::Listed};

/// How many patterns a table has.
const ROWS: usize = 10;
/// How much of a pattern is shown.
const WIDTH: usize = 60;

/// The counters as text: the sums, then the patterns with most matches and those with most candidates.
pub(crate) fn table(counters: &Counters, listed: &Listed) -> String {
    let (candidates, ms) = (counters.candidates(), counters.time_ns as f64 / 1e6);
    let mut out = format!(
        "{} scans, {} bytes, {ms:.3} ms, {} matches, {candidates} candidates ({:.3} per KB)\n",
        counters.scans,
        counters.bytes,
        counters.matches(),
        counters.candidates_per_kb(),
    );
    for (name, by_matches) in [("matched most", true), ("most candidates", false)] {
        let key = |one: &PatternCounters| if by_matches { one.matches } else { one.candidates };
        let mut rows: Vec<_> = counters.patterns.iter().enumerate().collect();
        rows.retain(|(_, one)| key(one) > 0);
        rows.sort_by_key(|(index, one)| (u64::MAX - key(one), *index));
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(out, "{name}:\n{:>12} {:>12} {:>10}", "matches", "candidates", "id");
        for (index, one) in rows.iter().take(ROWS) {
            let PatternCounters { id, matches, candidates, .. } = one;
            let text = printable(&listed.expressions[*index].text);
            let place = listed.place(*index);
            let _ = write!(out, "{matches:>12} {candidates:>12} {id:>10}  {place}: ");
            out.extend(text.chars().take(WIDTH));
            out.push_str(if text.chars().nth(WIDTH).is_some() { "...\n" } else { "\n" });
        }
        if rows.len() > ROWS {
            let _ = writeln!(out, "{:>12} more patterns", rows.len() - ROWS);
        }
    }
    out
}

/// The counters as a JSON object, with all patterns that have any.
pub(crate) fn object(counters: &Counters, listed: &Listed) -> Value {
    let rows = counters.patterns.iter().enumerate();
    let rows = rows.filter(|(_, one)| one.matches > 0 || one.candidates > 0);
    let patterns: Vec<Value> = rows
        .map(|(index, one)| {
            json!({
                "id": one.id,
                "place": listed.place(index),
                "pattern": String::from_utf8_lossy(&listed.expressions[index].text),
                "matches": one.matches,
                "candidates": one.candidates,
            })
        })
        .collect();
    json!({
        "scans": counters.scans,
        "bytes": counters.bytes,
        "time_ns": counters.time_ns,
        "matches": counters.matches(),
        "candidates": counters.candidates(),
        "patterns": patterns,
    })
}
