use super::*;
use crate::Assertion;

fn flags(letters: &str) -> Flags {
    Flags::from_letters(letters.as_bytes()).unwrap()
}

fn parsed(expression: &str, letters: &str) -> Result<Pattern, SyntaxError> {
    Pattern::parse(7, expression.as_bytes(), flags(letters), Extended::default())
}

/// The node in a short form: `<...>` for a class, `(a b)` for a sequence, `{a b}` for alternatives.
fn shown(node: &Node) -> String {
    let all = |nodes: &[Node]| nodes.iter().map(shown).collect::<Vec<_>>().join(" ");
    match node {
        Node::Empty => "-".into(),
        Node::Class(set) if *set == ByteSet::ALL => "<all>".into(),
        Node::Class(set) if set.len() > 192 => format!("<^{}>", ranges(set.complement())),
        Node::Class(set) => format!("<{}>", ranges(*set)),
        Node::Concat(nodes) => format!("({})", all(nodes)),
        Node::Alternate(nodes) => format!("{{{}}}", all(nodes)),
        Node::Repeat { node, min, max } => {
            let max = max.map_or(String::new(), |max| max.to_string());
            format!("{}*{min}-{max}", shown(node))
        }
        Node::Assert(assertion) => match assertion {
            Assertion::TextStart => "A",
            Assertion::TextEnd => "z",
            Assertion::TextEndOrNewline => "Z",
            Assertion::LineStart => "^",
            Assertion::LineEnd => "$",
            Assertion::WordBoundary => "b",
            Assertion::NotWordBoundary => "B",
        }
        .into(),
    }
}

fn ranges(set: ByteSet) -> String {
    let mut text = String::new();
    let mut next = 0;
    while let Some(first) = (next..256).find(|&byte| set.contains(byte as u8)) {
        next = (first..256).find(|&byte| !set.contains(byte as u8)).unwrap_or(256);
        let escape = |byte: usize| std::ascii::escape_default(byte as u8).to_string();
        text += &escape(first);
        if next - first > 1 {
            text += &format!("-{}", escape(next - 1));
        }
    }
    text
}

#[track_caller]
fn is(expression: &str, letters: &str, expected: &str) {
    match parsed(expression, &format!("V{letters}")) {
        Ok(pattern) => assert_eq!(shown(&pattern.node), expected, "/{expression}/{letters}"),
        Err(error) => panic!("/{expression}/{letters}: {error}"),
    }
}

#[track_caller]
fn fails(expression: &str, letters: &str, offset: usize, kind: ErrorKind) {
    let error = parsed(expression, letters).expect_err(expression);
    assert_eq!((error.id, error.offset, error.kind), (7, offset, kind), "/{expression}/{letters}");
}

#[test]
fn literals_and_escapes() {
    is("ab", "", "(<a> <b>)");
    is("aB1", "i", "(<Aa> <Bb> <1>)");
    is(r"\a\e\f\n\r\t", "", r"(<\x07> <\x1b> <\x0c> <\n> <\r> <\t>)");
    is(r"\.\\\/\y", "", r"(<.> <\\> </> <y>)");
    is(r"\x\x4\x41B\x{7e}", "", r"(<\x00> <\x04> <A> <B> <~>)");
    is(r"\0\012\0123\o{101}", "", r"(<\x00> <\n> <\n> <3> <A>)");
    is(r"\8\9\12\1234\89", "", r"(<8> <9> <\n> <S> <4> <8> <9>)");
    is(r"\cA\cz\c[", "", r"(<\x01> <\x1a> <\x1b>)");
    is(r"a\Q.*\E+b\Ec\Q[", "", "(<a> <.> <*>*1- <b> <c> <[>)");
    is(
        r"x{ x{,3} x{2 {a}",
        "",
        "(<x> <{> < > <x> <{> <,> <3> <}> < > <x> <{> <2> < > <{> <a> <}>)",
    );
    is(r"]}", "", "(<]> <}>)");
}

#[test]
fn classes() {
    is("[abc]", "", "<a-c>");
    is("[^a]", "", "<^a>");
    is("[]a]", "", r"<]a>");
    is("[^]a]", "", r"<^]a>");
    is("[^^]", "", "<^^>");
    is("[a-]", "", "<-a>");
    is("[-a]", "", "<-a>");
    is("[a-c-e]", "", "<-a-ce>");
    is("[--/]", "", "<--/>");
    is(r"[\d-z]", "", "<-0-9z>");
    is(r"[a\-z]", "", "<-az>");
    is(r"[\b\n\101\x42\]]", "", r"<\x08\nA-B]>");
    is(r"[\Qa-]\Ez]", "", r"<-]az>");
    is(r"[\Q\E]a]", "", r"<]a>");
    is(r"[\E^]a]", "", r"<^]a>");
    is("[[:digit:][:^print:]]", "", r"<\x00-\x1f0-9\x7f-\xff>");
    is("[[:a]", "", "<:[a>");
    is("[[a]", "", "<[a>");
    is("[[:upper:]]", "i", "<A-Za-z>");
    is("[k-m]", "i", "<K-Mk-m>");
    is(r"\d\w\h\v", "", r"(<0-9> <0-9A-Z_a-z> <\t \xa0> <\n-\r\x85>)");
    is(r"\D\S", "", r"(<^0-9> <^\t-\r >)");
    is(".", "", r"<^\n>");
    is(".", "s", "<all>");
    is(r"\C", "", "<all>");
    is(r"[\D\d]", "", "<all>");
    is(
        r"\pL\P{^Lu}[\p{Nd}]",
        "",
        r"(<A-Za-z\xaa\xb5\xba\xc0-\xd6\xd8-\xf6\xf8-\xff> <A-Z\xc0-\xd6\xd8-\xde> <0-9>)",
    );
}

#[test]
fn repeats_and_alternatives() {
    is("a?b*c+d{2}e{3,}f{4,5}", "", "(<a>*0-1 <b>*0- <c>*1- <d>*2-2 <e>*3- <f>*4-5)");
    is("a??b*?c+?d{2}?", "", "(<a>*0-1 <b>*0- <c>*1- <d>*2-2)");
    is("a{1}b{0}c{0,0}", "", "<a>");
    is("(a*){3}(b+)*(c?){2}(d?)+(e+){2,3}", "", "(<a>*0- <b>*0- <c>*0-2 <d>*0- <e>*2-)");
    is("(ab)*", "", "(<a> <b>)*0-");
    is("a|b|cd|e", "", "{<a-be> (<c> <d>)}");
    is("(a|(b|c))d", "", "(<a-c> <d>)");
    is("a(b(c(d)))", "", "(<a> <b> <c> <d>)");
    is("|a||", "", "{- <a>}");
    is("()", "", "-");
    is(r"(\b)*(\B)+a", "", "(B <a>)");
    is("[^\\x00-\\xff]|a", "", "<a>");
    fails("a{2,1}", "", 1, ErrorKind::InvalidRepeat);
    fails("a{2}{3}", "", 4, ErrorKind::InvalidRepeat);
    fails("a**", "", 2, ErrorKind::InvalidRepeat);
    fails("*a", "", 0, ErrorKind::InvalidRepeat);
    fails("a|*", "", 2, ErrorKind::InvalidRepeat);
    fails("(+)", "", 1, ErrorKind::InvalidRepeat);
    fails("foo(*", "", 4, ErrorKind::InvalidRepeat);
    fails(r"\b+", "", 2, ErrorKind::InvalidRepeat);
    fails("^*", "", 1, ErrorKind::InvalidRepeat);
    fails("foo(?m)?bar", "", 7, ErrorKind::InvalidRepeat);
    fails(".(?)+", "", 4, ErrorKind::InvalidRepeat);
    fails("a{32768}", "", 1, ErrorKind::RepeatTooLarge);
    fails("a{99999999999}", "", 1, ErrorKind::NumberTooBig);
}

#[test]
fn groups_and_modifiers() {
    is("(?:a)(?<n>b)(?'m'c)(?P<o>d)", "", "(<a> <b> <c> <d>)");
    is("a(?i)b(?-i)c", "", "(<a> <Bb> <c>)");
    is("(a(?i)b|c)d", "", "({(<a> <Bb>) <Cc>} <d>)");
    is("(?i-s:a.)b.", "s", r"(<Aa> <^\n> <b> <all>)");
    is("(?s).(?-s).", "", r"(<all> <^\n>)");
    is("(?x) a b # c\n + [ d]\\ ", "", "(<a> <b>*1- < d> < >)");
    is("(?x)a#", "", "<a>");
    is("a(?#b)+", "", "<a>*1-");
    is("^a$", "", "(A <a> Z)");
    is("(?m)^a$", "", "(^ <a> $)");
    is(r"\Aa\Z\z\b", "m", "(A <a> Z z b)");
}

#[test]
fn utf8() {
    is("aé", "8", r"(<a> <\xc3> <\xa9>)");
    is(r"\xe9\x{20ac}", "8", r"(<\xc3> <\xa9> <\xe2> <\x82> <\xac>)");
    is("É", "8i", r"(<\xc3> <\x89\xa9>)");
    is("k", "8i", r"{<Kk> (<\xe2> <\x84> <\xaa>)}");
    is("[à-ÿ]", "8", r"(<\xc3> <\xa0-\xbf>)");
    let any = r"{<\x00-\t\x0b-\x7f> (<\xc2-\xdf> <\x80-\xbf>) (<\xe0> <\xa0-\xbf> <\x80-\xbf>) \
        (<\xe1-\xec\xee-\xef> <\x80-\xbf> <\x80-\xbf>) (<\xed> <\x80-\x9f> <\x80-\xbf>) \
        (<\xf0> <\x90-\xbf> <\x80-\xbf> <\x80-\xbf>) (<\xf1-\xf3> <\x80-\xbf> <\x80-\xbf> <\x80-\xbf>) \
        (<\xf4> <\x80-\x8f> <\x80-\xbf> <\x80-\xbf>)}";
    is(".", "8", &any.replace("\\\n        ", ""));
    is("(*UTF8)é+", "", r"(<\xc3> <\xa9>)*1-");
    is(r"\w", "8", "<0-9A-Z_a-z>");
    is("[[:upper:]]", "8i", "<A-Za-z>");
    is(r"\x{d800}|a", "8", "<a>");
    is(r"\w", "W", r"<0-9A-Z_a-z\xaa\xb2-\xb3\xb5\xb9-\xba\xbc-\xbe\xc0-\xd6\xd8-\xf6\xf8-\xff>");
    let pattern = parsed(r"(*UTF8)(*UCP)\d", "").unwrap();
    assert!(pattern.flags.utf8 && pattern.flags.ucp);
    fails(r"\b", "8W", 0, ErrorKind::Unsupported(Construct::UnicodeBoundary));
    let invalid = Pattern::parse(7, b"ab\xff", flags("8"), Extended::default()).unwrap_err();
    assert_eq!((invalid.offset, invalid.kind), (2, ErrorKind::InvalidUtf8));
    fails("foo(*UTF8)bar", "", 3, ErrorKind::MisplacedVerb);
    fails("(*@&", "", 0, ErrorKind::UnknownVerb);
    fails("(*UTF16)foo", "", 0, ErrorKind::Unsupported(Construct::Verb));
    fails("a+(*SKIP)b", "", 2, ErrorKind::Unsupported(Construct::Verb));
}

#[test]
fn what_is_not_supported_is_named_with_its_offset() {
    use Construct as C;
    for (expression, offset, construct) in [
        ("a(?=b)", 1, C::Lookaround),
        ("a(?!b)", 1, C::Lookaround),
        ("(?<=b)a", 0, C::Lookaround),
        ("(?<!b)a", 0, C::Lookaround),
        (r"(a)\1", 3, C::BackReference),
        (r"(a)\g1", 3, C::BackReference),
        (r"(a)\g{-1}", 3, C::BackReference),
        (r"(?<n>a)\k<n>", 7, C::BackReference),
        ("(?P<n>a)(?P=n)", 8, C::BackReference),
        ("x(?>a)", 1, C::AtomicGroup),
        ("ab*+", 2, C::Possessive),
        ("ab{2}+", 2, C::Possessive),
        ("(a)(?(1)b|c)", 3, C::Conditional),
        ("(?(?=a)b|c)", 0, C::Conditional),
        ("a(?R)", 1, C::Recursion),
        ("a(?1)", 1, C::Recursion),
        ("a(?-1)", 1, C::Recursion),
        ("a(?&n)", 1, C::Recursion),
        ("a(?P>n)", 1, C::Recursion),
        (r"a\g<1>", 1, C::Recursion),
        ("a(?C1)", 1, C::Callout),
        ("a(?{b})", 1, C::Code),
        ("a(??{b})", 1, C::Code),
        ("(?|a|b)", 0, C::BranchReset),
        (r"a\Kb", 1, C::StartReset),
        (r"\Ga", 0, C::ScanStart),
        (r"a\R", 1, C::NewlineSequence),
        (r"a\X", 1, C::GraphemeCluster),
        (r"a\N", 1, C::Escape(b'N')),
        (r"a\u", 1, C::Escape(b'u')),
        ("[[.a.]]", 1, C::Collating),
        ("[=a=]", 0, C::Collating),
    ] {
        fails(expression, "", offset, ErrorKind::Unsupported(construct));
    }
    fails(r"a\C", "8", 1, ErrorKind::Unsupported(Construct::SingleByte));
}

#[test]
fn errors_name_their_place() {
    use ErrorKind as E;
    for (expression, offset, kind) in [
        ("a)", 1, E::UnmatchedParenthesis),
        ("(a(b)", 0, E::MissingParenthesis),
        ("(?i", 0, E::UnknownGroup),
        ("(?i-)", 0, E::UnknownGroup),
        ("(?z)", 0, E::UnknownGroup),
        ("(?<n", 0, E::UnknownGroup),
        ("(?<1n>a)", 0, E::GroupNameDigit),
        ("(?<n>a)(?<n>b)", 7, E::DuplicateGroupName("n".into())),
        (r"\1", 0, E::InvalidReference),
        (r"a\g", 1, E::InvalidReference),
        ("a(?#", 1, E::UnterminatedComment),
        ("a[b", 1, E::UnterminatedClass),
        ("[]", 0, E::UnterminatedClass),
        (r"[\Qa]", 0, E::UnterminatedClass),
        ("[z-a]", 3, E::RangeOrder),
        (r"[A-\d]", 3, E::InvalidRange),
        ("[A-[:digit:]]", 3, E::InvalidRange),
        ("[[:foo:]]", 1, E::InvalidPosixName),
        ("[:digit:]", 0, E::PosixOutsideClass),
        (r"[:\]:]", 0, E::PosixOutsideClass),
        (r"[a\y]", 2, E::ClassEscape(b'y')),
        ("a\\", 1, E::TrailingBackslash),
        (r"a\c", 1, E::ControlEscape),
        (r"\cé", 0, E::ControlEscape),
        (r"a\x{zz}", 1, E::InvalidHex),
        (r"a\x{1", 1, E::InvalidHex),
        (r"a\o{19}", 1, E::InvalidOctal),
        (r"a\o1", 1, E::InvalidOctal),
        (r"a\x{100}", 1, E::CharacterTooLarge),
        (r"a\400", 1, E::CharacterTooLarge),
        (r"a\p", 1, E::MalformedProperty),
        (r"a\p{L", 1, E::MalformedProperty),
        (r"\p{greek}", 3, E::UnknownProperty),
        (r"\pl", 2, E::UnknownProperty),
        ("", 0, E::MatchesEmpty),
        ("a*", 0, E::MatchesEmpty),
        (r"(\b)?", 0, E::MatchesEmpty),
    ] {
        fails(expression, "", offset, kind);
    }
    fails(r"\x{110000}", "8", 0, ErrorKind::CharacterTooLarge);
    fails(r"\x{100000000000}", "8", 0, ErrorKind::CharacterTooLarge);
    let error = parsed("a(?=b)", "").unwrap_err();
    assert_eq!(error.to_string(), "pattern 7: Zero-width assertions are not supported at index 1");
}

#[test]
fn what_can_never_match_is_refused() {
    for (expression, letters) in [
        (r"[^\x00-\xff]foo", ""),
        (r"^\Bfoo", ""),
        (r"can't_match\b\B", ""),
        (r"^\b$", "m"),
        (r"mkdzo(x|u)(\b)kd", ""),
        (r"[^\D\d]", "8W"),
        ("foo^bar", ""),
        ("a$b", ""),
        (r"a(b|\n)*\Ac", ""),
    ] {
        fails(expression, letters, 0, ErrorKind::NeverMatches);
    }
    for expression in ["a\n^b", "(a|$)\nb", r"a\b-\B-", "(^a|b)c", "a*^b"] {
        assert!(parsed(expression, "m").is_ok(), "{expression}");
    }
}

#[test]
fn parameters_that_no_match_satisfies_are_refused() {
    let check = |expression: &str, extended: Extended| {
        Pattern::parse(7, expression.as_bytes(), Flags::default(), extended)
            .map_err(|error| error.kind)
    };
    let min_offset = |min| Extended { min_offset: Some(min), ..Extended::default() };
    let max_offset = |max| Extended { max_offset: Some(max), ..Extended::default() };
    let min_length = |min| Extended { min_length: Some(min), ..Extended::default() };
    assert_eq!(check("^foo", min_offset(5)), Err(ErrorKind::ParametersUnsatisfiable));
    assert!(check("^foo", min_offset(3)).is_ok());
    assert!(check("foo", min_offset(5)).is_ok());
    assert_eq!(check("foobar", min_length(20)), Err(ErrorKind::ParametersUnsatisfiable));
    assert!(check("fooba*r", min_length(20)).is_ok());
    assert_eq!(check("foobar", max_offset(3)), Err(ErrorKind::ParametersUnsatisfiable));
    assert!(check("foobar", max_offset(6)).is_ok());
    let both = Extended { max_offset: Some(5), ..min_length(3) };
    assert_eq!(check(r"(i{13,}|i\Z)", both), Err(ErrorKind::ParametersUnsatisfiable));
    let order = Extended { min_offset: Some(10), ..max_offset(9) };
    assert_eq!(check("a", order), Err(ErrorKind::ParametersOrder));
    let edit = Extended { edit_distance: Some(1), ..Extended::default() };
    assert_eq!(check("abc", edit), Err(ErrorKind::Unsupported(Construct::EditDistance)));
    let hamming = Extended { hamming_distance: Some(1), ..Extended::default() };
    assert_eq!(check("abc", hamming), Err(ErrorKind::Unsupported(Construct::HammingDistance)));
}

#[test]
fn flags_that_do_not_go_together() {
    fails("a", "LH", 0, ErrorKind::FlagsConflict('H', 'L'));
    fails("a", "LP", 0, ErrorKind::FlagsConflict('P', 'L'));
    fails("a?$", "L", 0, ErrorKind::EmptyStart);
    assert!(!ErrorKind::EmptyStart.has_place());
    assert!(parsed(r"\Bx?\b", "L").is_ok(), "no match of it is empty");
    assert!(parsed(r"\Bx?\b", "8L").is_ok());
    fails("1&2", "Ci", 0, ErrorKind::FlagsConflict('i', 'C'));
}

#[test]
fn prefilters_match_more() {
    is(r"a(?=b)c", "P", "(<a> <c>)");
    is(r"(a)\1b", "P", "(<a> <all>*0- <b>)");
    is("(?>a)b*+", "P", "(<a> <b>*0-)");
    is("(a)(?(1)b|cd)e", "P", "(<a> {<b> (<c> <d>)} <e>)");
    is("(?(?=a)b)e", "P", "({<b> -} <e>)");
    is(r"a\X", "P", "(<a> <all>*1-)");
    is(r"a\bb", "PW", "(<a> <b>)");
    is("(?(DEFINE)a)b", "P", "<b>");
    is(
        r"(?<n>a)\k{n}\g{-1}\g1(?P=n)(?(<n>)b)",
        "P",
        "(<a> <all>*0- <all>*0- <all>*0- <all>*0- {<b> -})",
    );
    fails(r"(abc)\2", "P", 5, ErrorKind::InvalidReference);
    fails(r"(abc)\g{-2}", "P", 5, ErrorKind::InvalidReference);
    fails(r"a\k<n>", "P", 1, ErrorKind::InvalidReference);
    fails("abc(?(1)def|ghi)", "P", 3, ErrorKind::InvalidReference);
    fails("abc(?(<blah>)def|ghi)", "P", 3, ErrorKind::InvalidReference);
    fails("(?(DEFINE)foo|bar)", "P", 0, ErrorKind::ConditionBranches);
    fails("(a)(?(1)b|c|d)", "P", 3, ErrorKind::ConditionBranches);
    fails("a(?1)", "P", 1, ErrorKind::Unsupported(Construct::Recursion));
}

#[test]
fn information_before_compiling() {
    let info = |expression: &str, letters: &str| {
        let info =
            Pattern::info(7, expression.as_bytes(), flags(letters), Extended::default()).unwrap();
        (info.min_width, info.max_width, info.unordered, info.at_end, info.only_at_end)
    };
    assert_eq!(info("a.{3,9}b", ""), (5, Some(11), false, false, false));
    assert_eq!(info("a*", "V8"), (0, None, false, false, false));
    assert_eq!(info("foo$", ""), (3, Some(3), true, true, true));
    assert_eq!(info("foo$", "m"), (3, Some(3), true, true, false));
    assert_eq!(info(r"foo\z", ""), (3, Some(3), false, true, true));
    assert_eq!(info(r"foo\B", ""), (3, Some(3), true, false, false));
    assert_eq!(info("(foo|bar$)", ""), (3, Some(3), true, true, false));
    assert_eq!(info(r"^\bfoo", ""), (3, Some(3), false, false, false));
}

#[test]
fn literals_are_bytes() {
    let pattern = Pattern::literal(3, b"a.\0[", flags("i")).unwrap();
    assert_eq!(shown(&pattern.node), r"(<Aa> <.> <\x00> <[>)");
    assert_eq!(Pattern::literal(3, b"", flags("")).unwrap_err().kind, ErrorKind::EmptyLiteral);
    assert_eq!(
        Pattern::literal(3, b"a", flags("s")).unwrap_err().kind,
        ErrorKind::LiteralFlag('s')
    );
}

#[test]
fn combinations() {
    let combined = |text: &str| parsed(text, "C").unwrap().combination.unwrap();
    let value = |text: &str, matched: &[u32]| combined(text).evaluate(|id| matched.contains(&id));
    assert!(value("1|2&3", &[1]));
    assert!(!value("(1|2)&3", &[1]));
    assert!(value("1 & !2", &[1]));
    assert!(!value("1 & !2", &[1, 2]));
    assert!(value("!!1", &[1]));
    assert!(value("!(1 & 2) | 3", &[1]));
    assert!(!value("!1 | 2", &[1]));
    assert!(value("((301 | 302) & 303) & (304 | !305)", &[301, 303]));
    for (text, offset, kind) in [
        ("141 | abc", 6, ErrorKind::CombinationCharacter),
        ("141 & | 142", 6, ErrorKind::MissingOperand),
        ("141 142 & 143", 4, ErrorKind::MissingOperator),
        ("141 !142", 4, ErrorKind::MissingOperator),
        ("141 & 142 |", 11, ErrorKind::MissingOperand),
        (")141 & 142 ", 0, ErrorKind::UnmatchedParenthesis),
        ("(141 & (142|!143) |144", 0, ErrorKind::MissingParenthesis),
        ("141 & (142|!143) )| 144", 17, ErrorKind::UnmatchedParenthesis),
        ("1234567890 & (142|!143 )", 0, ErrorKind::IdTooLarge),
        ("141 & (142|!143 )|", 18, ErrorKind::MissingOperand),
        ("141 & ()", 7, ErrorKind::MissingOperand),
        ("141", 0, ErrorKind::NoOperation),
        ("", 0, ErrorKind::MissingOperand),
    ] {
        fails(text, "C", offset, kind);
    }
    let set = [parsed("a", "").unwrap(), Pattern { id: 1, ..parsed("7 & 9", "C").unwrap() }];
    let errors = check_combinations(&set);
    assert_eq!(errors, [SyntaxError { id: 1, offset: 0, kind: ErrorKind::UnknownOperand(9) }]);
    let set = [parsed("a", "L").unwrap(), Pattern { id: 1, ..parsed("!7", "C").unwrap() }];
    assert_eq!(check_combinations(&set)[0].kind, ErrorKind::OperandFlag(7, 'L'));
}

/// 64 KB of anything are parsed or refused in a moment, without a deep stack.
#[test]
fn hostile_expressions() {
    let repeated = |text: &str, len: usize| text.repeat(len / text.len());
    let letters = ["V", "V8iW", "Vm8", "VP"];
    for text in [
        "a",
        "(",
        "((a)",
        "(a|",
        "[",
        "[[:",
        "[a-",
        "{",
        "a{1,",
        "a{9",
        "(?:",
        "(?i)",
        "(?<",
        r"\",
        r"\p{L}",
        r"\pN",
        r"\Q",
        r"[\p{Greek}]",
        "a?",
        "(a*)*",
        "(?#",
        "(*",
        ".",
        "[^a]|",
        "k",
        "a|",
        "|",
        r"\b",
        "^",
        "$",
        r"\1",
        r"\x{",
        "(?(",
        "(a{1000})",
        "é",
        "[k-ſ]",
        "[[:^alpha:]]",
    ] {
        for letters in letters {
            let start = std::time::Instant::now();
            // Classes of Unicode take longer, by the byte.
            let len = if letters.contains('8') { MAX_LENGTH / 8 } else { MAX_LENGTH };
            let _ = parsed(&repeated(text, len), letters);
            let seconds = start.elapsed().as_secs_f64();
            assert!(seconds < 10.0, "{text} {letters}: {seconds} s");
        }
    }
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), "b|c)*d".repeat(depth));
    assert!(parsed(&nested(MAX_DEPTH), "").is_ok());
    fails(&nested(MAX_DEPTH + 1), "", MAX_DEPTH, ErrorKind::TooDeep);
    fails(&"a".repeat(MAX_LENGTH + 1), "", MAX_LENGTH, ErrorKind::TooLong);
    let error = parsed(&r"\pL".repeat(MAX_LENGTH / 3), "8").unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooLarge);
}
