//! Against regex-automata's overlapping lazy DFA.
use regex_automata::hybrid::dfa::{DFA, OverlappingState};
use regex_automata::{Input, MatchKind, util::syntax};

use super::parse::parse;
use super::*;

/// Every end of each pattern's matches, but those of empty ones.
fn theirs(patterns: &[String], text: &[u8]) -> BTreeMap<(u32, u64), u64> {
    let dfa = DFA::builder()
        .configure(DFA::config().match_kind(MatchKind::All).unicode_word_boundary(false))
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .thompson(regex_automata::nfa::thompson::Config::new().utf8(false))
        .build_many(patterns)
        .unwrap();
    let (mut cache, mut state, mut all) =
        (dfa.create_cache(), OverlappingState::start(), BTreeMap::new());
    let input = Input::new(text);
    loop {
        dfa.try_search_overlapping_fwd(&mut cache, &input, &mut state).unwrap();
        let Some(found) = state.get_match() else {
            return all;
        };
        all.insert((found.pattern().as_u32(), found.offset() as u64), 0);
    }
}

#[test]
fn the_same_ends_as_an_overlapping_search() {
    // None matches the empty string.
    const PARTS: [&str; 22] = [
        "[a-c]+",
        "a",
        "b",
        "ab?",
        "[^a]",
        "(?:ab|c*d)+",
        ".",
        "\\bb",
        "a\\B",
        "a\\b",
        "(?m:^)a",
        "b(?m:$)",
        "\\Aa",
        "c\\z",
        "[ab]{2,5}",
        "a{3}",
        "(?:a|bc|\\n)",
        "[^\\n]{4,9}",
        "c(?:a|b)*",
        "\\s\\w",
        "(?i:aB)",
        "(?:a(?:b(?:c)?)?)",
    ];
    for seed in 0..60 {
        let random = &mut Random::new(seed);
        let patterns: Vec<String> = (0..1 + random.below(12))
            .map(|_| (0..1 + random.below(4)).map(|_| PARTS[random.below(PARTS.len())]).collect())
            .collect();
        let nodes: Vec<Node> = patterns.iter().map(|pattern| parse(pattern)).collect();
        let expressions: Vec<Expression> =
            nodes.iter().zip(0..).map(|(node, report)| expression(report, node)).collect();
        let it = Automaton::new(&expressions, &Limits::default()).unwrap();
        let text: Vec<u8> = (0..3000).map(|_| b"aabbcd\n B\xff"[random.below(10)]).collect();
        let expected = theirs(&patterns, &text);
        let mut caches = [Cache::default()];
        for cuts in [vec![], vec![700, 701, 2100]] {
            let found = stream(&it, &mut caches, &text, &cuts);
            assert!(
                found == expected,
                "seed {seed}: {patterns:?}: {} and {} matches",
                found.len(),
                expected.len()
            );
        }
    }
}
