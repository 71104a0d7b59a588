//! Random expressions: what Hyperscan compiles is parsed, and matches the same by definition.

mod common;

use common::{Expression, Hyperscan, cases};
use lookaside_scan::generate::{self, Case, Choices, Kind};
use lookaside_scan::reference;
use lookaside_scan::syntax::{ErrorKind, Extended, Flags, Pattern, check_combinations};

/// How cases ended.
#[derive(Debug, Default)]
struct Tally {
    /// Parsed and compiled; the data were compared.
    compared: u64,
    /// Matches of them.
    matches: u64,
    /// Refused by both.
    refused: u64,
    /// Parsed by us alone, for a reason that is listed.
    more: u64,
}

/// What Hyperscan refuses and we parse.
const MORE: &[&str] = &[
    // Limits of its engines.
    "Pattern is too large",
    "Pattern too large",
    "Resource limit exceeded",
    "Bounded repeat is too large",
    "Unable to generate bytecode",
    "Pattern was not compiled",
    // A match that begins at an anchor in the middle is as good as any other.
    "Embedded start anchors not supported",
    "Embedded end anchors not supported",
    "Embedded anchors not supported",
    // That none satisfies them is found out without looking at assertions.
    "Expression has min_length",
    "Expression has max_offset",
    "Expression is anchored and cannot satisfy min_offset",
    "Extended parameter constraints can not be satisfied",
    // `a{0}` is nothing, a comment may end with the expression.
    "Invalid repeat",
    "Unterminated comment",
];

fn compare(library: &Hyperscan, case: &Case, choices: &mut Choices<'_>, tally: &mut Tally) {
    let Case { expression, flags, extended } = case;
    let (flags, extended) = (*flags, *extended);
    let ours = Pattern::parse(1, expression, flags, extended);
    let theirs = library.compile(&[Expression { id: 1, expression, flags, extended }]);
    let (pattern, database) = match (ours, theirs) {
        (Ok(pattern), Ok(database)) => (pattern, database),
        (Err(_), Err(_)) => {
            tally.refused += 1;
            return;
        }
        (Ok(_), Err(message)) => {
            let listed = MORE.iter().any(|more| message.starts_with(more));
            let listed = listed && (!message.starts_with("Invalid repeat") || zero(expression));
            // It reads the bytes of an escaped character one by one.
            let escaped = expression.windows(2).any(|pair| pair[0] == b'\\' && !pair[1].is_ascii());
            let listed = listed || escaped;
            assert!(listed, "{case}: only Hyperscan refuses it: {message}");
            tally.more += 1;
            return;
        }
        (Err(error), Ok(_)) if only_ours(&error.kind) => {
            tally.refused += 1;
            return;
        }
        (Err(error), Ok(_)) => panic!("{case}: Hyperscan compiles it: {error}"),
    };
    if flags.prefilter {
        prefilter(&pattern, case, choices);
        return;
    }
    tally.compared += 1;
    for _ in 0..3 {
        let data = generate::data(choices, &pattern.node, pattern.flags.utf8);
        if flags.utf8 && !data_of_old_unicode(&data) {
            continue;
        }
        let mut theirs: Vec<(u64, u64)> =
            database.scan(&data).iter().map(|found| (found.end, found.start)).collect();
        theirs.sort_unstable();
        theirs.dedup();
        let start = |start: usize| if flags.som_leftmost { start as u64 } else { 0 };
        let ours = |pattern: &Pattern| -> Vec<(u64, u64)> {
            let all = reference::matches(pattern, &data).into_iter();
            all.map(|found| (found.end as u64, start(found.start))).collect()
        };
        let mut ours = ours(&pattern);
        if flags.single_match {
            // It reports one of them, which is not always the first: `$` is after the newline for it.
            let all = Flags { single_match: false, ..pattern.flags };
            let all = reference::matches(&Pattern { flags: all, ..pattern.clone() }, &data);
            let one =
                theirs.first().filter(|one| all.iter().any(|found| found.end as u64 == one.0));
            ours = ours.iter().map(|first| *one.unwrap_or(first)).collect();
        }
        let shown = data.escape_ascii().to_string();
        assert_eq!(ours, theirs, "{case} in {shown} (ours, Hyperscan's, as end and start)");
        tally.matches += ours.len() as u64;
    }
}

/// A prefilter matches more, which differs; all that the expression itself matches is among it.
fn prefilter(pattern: &Pattern, case: &Case, choices: &mut Choices<'_>) {
    let flags = Flags { prefilter: false, ..case.flags };
    let Ok(exact) = Pattern::parse(1, &case.expression, flags, case.extended) else {
        return;
    };
    let data = generate::data(choices, &pattern.node, pattern.flags.utf8);
    let all = reference::matches(pattern, &data);
    let exact = reference::matches(&exact, &data);
    assert!(
        exact.iter().all(|one| all.iter().any(|found| found.end == one.end)),
        "{case}: {exact:?} {all:?}"
    );
}

/// Whether Hyperscan's tables, of Unicode 7 or older, say of all characters what ours say.
fn data_of_old_unicode(data: &[u8]) -> bool {
    str::from_utf8(data).unwrap().chars().all(|char| {
        matches!(char, '\0'..='\u{17f}' | 'Α'..='Ρ' | 'Σ'..='ώ' | '\u{400}'..='\u{4ff}' | '一'..='龥' | '\u{212a}' | '😀')
    })
}

/// Whether the expression has a repeat of no times.
fn zero(expression: &[u8]) -> bool {
    let has = |text: &[u8]| expression.windows(text.len()).any(|window| window == text);
    has(b"{0}") || has(b"{0,0}")
}

/// What we refuse and Hyperscan compiles.
fn only_ours(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::TooDeep)
}

fn run(seed: u64, usual: u64, kind: Kind) -> Tally {
    let mut tally = Tally::default();
    let Some(library) = Hyperscan::open() else {
        return tally;
    };
    for number in 0..cases(usual) {
        let mut choices = Choices::seeded(seed + number);
        let case = generate::case(&mut choices, kind);
        let outcome =
            std::panic::AssertUnwindSafe(|| compare(&library, &case, &mut choices, &mut tally));
        if let Err(panic) = std::panic::catch_unwind(outcome) {
            eprintln!("seed {seed}, case {number}: {case}");
            std::panic::resume_unwind(panic);
        }
    }
    eprintln!("{kind:?}: {tally:?}");
    assert!(tally.compared > cases(usual) / 4 && tally.matches > 0, "{tally:?}");
    tally
}

#[test]
fn plain_expressions() {
    run(1 << 32, 600, Kind::default());
}

#[test]
fn assertions() {
    run(2 << 32, 600, Kind { assertions: true, ..Kind::default() });
}

#[test]
fn unicode() {
    run(3 << 32, 250, Kind { unicode: true, assertions: true, ..Kind::default() });
}

#[test]
fn parameters() {
    run(4 << 32, 250, Kind { parameters: true, assertions: true, ..Kind::default() });
}

#[test]
fn broken_expressions() {
    run(5 << 32, 150, Kind { broken: true, assertions: true, unicode: true, parameters: false });
}

/// Sets of simple patterns with a combination of them.
#[test]
fn combinations() {
    let Some(library) = Hyperscan::open() else {
        return;
    };
    let (mut compared, mut matches) = (0, 0);
    for seed in 0..cases(300) {
        let mut choices = Choices::seeded((6 << 32) + seed);
        let operands = ["a", "b", "ab", "[ac]", "a.", "^c", "cb"];
        // Without H: where all operands have had their only match, Hyperscan reports `!1` at the end of the data
        // although 1 has matched.
        let letters = ["", "Q"];
        let mut set: Vec<(u32, Vec<u8>, Flags, Extended)> = Vec::new();
        for id in 1..=3 {
            let (expression, letters) = (choices.pick(&operands), choices.pick(&letters));
            let flags = Flags::from_letters(letters.as_bytes()).unwrap();
            set.push((id, expression.as_bytes().to_vec(), flags, Extended::default()));
        }
        let mut text = String::new();
        combination(&mut choices, 3, &mut text);
        // Hyperscan applies the first of two negations to the operand before it: `1 | !!2` is `!1 | !2`.
        let text = text.replace("!!", "!");
        let flags = Flags::from_letters(choices.pick(&["C", "C", "CH"]).as_bytes()).unwrap();
        let min_offset = choices.chance(20).then(|| choices.below(5) as u64);
        set.push((4, text.into_bytes(), flags, Extended { min_offset, ..Extended::default() }));
        let theirs: Vec<Expression<'_>> = set
            .iter()
            .map(|(id, expression, flags, extended)| Expression {
                id: *id,
                expression,
                flags: *flags,
                extended: *extended,
            })
            .collect();
        let parse =
            |one: &Expression<'_>| Pattern::parse(one.id, one.expression, one.flags, one.extended);
        let ours: Vec<Pattern> = theirs.iter().map(|one| parse(one).unwrap()).collect();
        assert!(check_combinations(&ours).is_empty());
        let theirs = library.compile(&theirs).unwrap();
        compared += 1;
        for _ in 0..4 {
            // In data too short for any operand, Hyperscan does not look at combinations.
            let data: Vec<u8> = (0..2 + choices.below(7)).map(|_| *choices.pick(b"abcd")).collect();
            let mut theirs: Vec<(u64, u32)> =
                theirs.scan(&data).iter().map(|found| (found.end, found.id)).collect();
            theirs.sort_unstable();
            let ours = reference::set_matches(&ours, &data);
            let ours: Vec<(u64, u32)> =
                ours.iter().map(|(id, found)| (found.end as u64, *id)).collect();
            let set: Vec<_> = set
                .iter()
                .map(|one| (one.1.escape_ascii().to_string(), one.2.letters(), one.3))
                .collect();
            assert_eq!(ours, theirs, "seed {seed}: {set:?} in {}", data.escape_ascii());
            matches += ours.len();
        }
    }
    eprintln!("{compared} combinations, {matches} matches");
    assert!(matches > 0);
}

fn combination(choices: &mut Choices<'_>, depth: usize, text: &mut String) {
    if depth < 3 && (depth == 0 || choices.chance(40)) {
        text.push_str(choices.pick::<&str>(&["1", "2", "3"]));
        return;
    }
    if choices.chance(30) {
        text.push_str("!(");
        combination(choices, depth - 1, text);
        text.push(')');
        return;
    }
    let open = choices.chance(60);
    text.push_str(if open { "(" } else { "" });
    combination(choices, depth - 1, text);
    text.push_str(choices.pick::<&str>(&[" & ", " | ", "&", "|", " & !", "|!"]));
    combination(choices, depth - 1, text);
    text.push_str(if open { ")" } else { "" });
}

/// Widths, order and matches at the end of data, as far as they can be known beforehand.
#[test]
fn information() {
    let Some(library) = Hyperscan::open() else {
        return;
    };
    let expressions = [
        "foo",
        "foo$",
        r"foo\z",
        r"foo\Z",
        r"foo\b",
        r"\bfoo",
        r"foo\B",
        "(foo|bar$)",
        "a*",
        "^a*",
        "^",
        "$",
        "a.*b",
        "a.{3,9}b",
        "foo\n?$",
        r"\bx\b",
        r"x-\b",
        r"a?\b",
        "^$",
        "foo\n$",
        r"a$|b\b",
        "é",
        r"\Ba*",
        "(a|bc){2,3}",
    ];
    let mut wrong = Vec::new();
    for expression in expressions {
        for letters in ["V", "mV", "8V"] {
            let flags = Flags::from_letters(letters.as_bytes()).unwrap();
            let theirs = library.info(expression.as_bytes(), flags).unwrap();
            let ours = Pattern::info(1, expression.as_bytes(), flags, Extended::default()).unwrap();
            let mut max_width = ours.max_width.map_or(u32::MAX, |width| width as u32);
            if flags.utf8 && ours.min_width == 0 && max_width > 0 {
                // Its bound is wider for an empty match that is not inside of a character.
                max_width = theirs.max_width;
            }
            let ours =
                (ours.min_width as u32, max_width, ours.unordered, ours.at_end, ours.only_at_end);
            let [unordered, at_end, only_at_end] =
                [theirs.unordered_matches, theirs.matches_at_eod, theirs.matches_only_at_eod]
                    .map(|flag| flag != 0);
            let theirs = (theirs.min_width, theirs.max_width, unordered, at_end, only_at_end);
            if ours != theirs {
                wrong
                    .push(format!("/{}/{letters}: {ours:?} {theirs:?}", expression.escape_debug()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn flags_have_their_values() {
    let Some(library) = Hyperscan::open() else {
        return;
    };
    let all =
        [("i", "A"), ("s", "\n"), ("m", "x\na"), ("V", ""), ("8", "é"), ("L", "a"), ("Q", "a")];
    for (letters, _) in all {
        let flags = Flags::from_letters(letters.as_bytes()).unwrap();
        let expression =
            Expression { id: 1, expression: b"a", flags, extended: Default::default() };
        assert!(library.compile(&[expression]).is_ok(), "{letters}");
    }
}

/// Each class on each byte, and in UTF-8 on each character of old versions of Unicode.
#[test]
fn classes_character_by_character() {
    let Some(library) = Hyperscan::open() else {
        return;
    };
    const POSIX: [&str; 14] = [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
        "space", "upper", "word", "xdigit",
    ];
    let mut classes: Vec<String> = POSIX.iter().map(|name| format!("[[:{name}:]]")).collect();
    classes.extend(POSIX.iter().map(|name| format!("[[:^{name}:]]")));
    classes.extend("dDsSwWhHvV".chars().map(|letter| format!("\\{letter}")));
    classes.extend("dDsSwWhHvV".chars().map(|letter| format!("[^\\{letter}a]")));
    for name in [
        "L", "L&", "Lu", "Ll", "Lt", "M", "N", "Nd", "Nl", "P", "Pc", "Pd", "Zs", "Sc", "Xan",
        "Xps", "Xsp", "Xwd",
    ] {
        classes.extend([format!("\\p{{{name}}}"), format!("[^\\P{{{name}}}b]")]);
    }
    classes.extend(
        [".", "[^k]", "[k-s]", "[^à-å]", "[Α-Ω]", "k", "ß", "µ", "[^\\n]"].map(String::from),
    );
    let points: Vec<char> = ('\0'..='\u{52f}')
        .filter(|char| data_of_old_unicode(char.to_string().as_bytes()))
        .collect();
    let mut wrong = Vec::new();
    for class in &classes {
        for letters in ["", "i", "W", "Wi", "8", "8i", "8Wi"] {
            let flags = Flags::from_letters(letters.as_bytes()).unwrap();
            let extended = Default::default();
            let data: Vec<u8> = if flags.utf8 {
                points.iter().collect::<String>().into()
            } else {
                (0..=255).collect()
            };
            let expression = Expression { id: 1, expression: class.as_bytes(), flags, extended };
            let (ours, theirs) = (
                Pattern::parse(1, class.as_bytes(), flags, extended),
                library.compile(&[expression]),
            );
            let (ours, theirs) = match (ours, theirs) {
                (Ok(ours), Ok(theirs)) => (ours, theirs),
                (Err(_), Err(_)) => continue,
                (ours, theirs) => panic!("{class} {letters}: {:?} {:?}", ours.err(), theirs.err()),
            };
            let mut theirs: Vec<usize> =
                theirs.scan(&data).iter().map(|found| found.end as usize).collect();
            theirs.sort_unstable();
            let ours: Vec<usize> =
                reference::matches(&ours, &data).iter().map(|found| found.end).collect();
            let only = |one: &[usize], other: &[usize]| -> Vec<String> {
                let only = one.iter().filter(|end| !other.contains(end));
                only.take(8)
                    .map(|end| {
                        data[..*end].utf8_chunks().last().map_or(String::new(), |chunk| {
                            if flags.utf8 {
                                chunk.valid().chars().last().unwrap().escape_unicode().to_string()
                            } else {
                                format!("{:x}", data[end - 1])
                            }
                        })
                    })
                    .collect()
            };
            if ours != theirs {
                wrong.push(format!(
                    "{class} {letters}: only ours {:?}, only Hyperscan's {:?}",
                    only(&ours, &theirs),
                    only(&theirs, &ours)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
