//! Random expressions: what both syntaxes share means the same as for the `regex-automata` crate.

mod common;

use common::cases;
use lookaside_scan::generate::{self, Choices, Kind};
use lookaside_scan::reference;
use lookaside_scan::syntax::{Flags, Pattern};
use regex_automata::hybrid::dfa::{DFA, OverlappingState};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind};

/// What means something else there, or nothing: `$` is `\z` there, `(?m)^` is after the last newline as well.
const OTHER: &[&str] = &[
    "\\h", "\\H", "\\v", "\\V", "\\Q", "\\c", "\\e", "\\y", "\\o", "\\0", "\\1", "\\8", "\\Z", "$",
    "(?m", "(?x", "(?#", "-x", "--", "[[", "a[", "b[", "c[", "[^[", "&&", "~~", "[-", "][", "-[",
];

#[test]
fn shared_syntax() {
    let (mut compared, mut matches) = (0, 0);
    let number = cases(4000);
    for seed in 0..number {
        let mut choices = Choices::seeded((7 << 32) + seed);
        let case =
            generate::case(&mut choices, Kind { assertions: seed % 2 == 1, ..Kind::default() });
        let Ok(text) = str::from_utf8(&case.expression) else {
            continue;
        };
        if OTHER.iter().any(|other| text.contains(other)) || case.flags.multi_line {
            continue;
        }
        let flags =
            Flags { single_match: false, som_leftmost: false, allow_empty: true, ..case.flags };
        let Ok(pattern) = Pattern::parse(1, &case.expression, flags, case.extended) else {
            continue;
        };
        let config = syntax::Config::new().unicode(false).utf8(false);
        let config = config.case_insensitive(flags.caseless).dot_matches_new_line(flags.dot_all);
        let dfa = DFA::builder()
            .configure(DFA::config().match_kind(MatchKind::All).cache_capacity(32 << 20))
            .thompson(thompson::Config::new().utf8(false))
            .syntax(config)
            .build(text);
        let Ok(dfa) = dfa else {
            continue;
        };
        let mut cache = dfa.create_cache();
        compared += 1;
        for _ in 0..4 {
            let data = generate::data(&mut choices, &pattern.node, false);
            let ours: Vec<usize> =
                reference::matches(&pattern, &data).iter().map(|found| found.end).collect();
            let mut theirs = Vec::new();
            let mut state = OverlappingState::start();
            loop {
                dfa.try_search_overlapping_fwd(&mut cache, &Input::new(&data), &mut state).unwrap();
                match state.get_match() {
                    Some(found) => theirs.push(found.offset()),
                    None => break,
                }
            }
            assert_eq!(ours, theirs, "seed {seed}: {case} in {}", data.escape_ascii());
            matches += ours.len();
        }
    }
    eprintln!("{compared} of {number} cases compared, {matches} matches");
    assert!(
        compared > number / 6 && matches > 0,
        "{compared} of {number} compared, {matches} matches"
    );
}
