//! XPath beside libxml2: random expressions on random documents, and the constructs of the recommendation one by one.
//!
//! `LOOKASIDE_XML_SECONDS` bounds the random part (5 s, else), `LOOKASIDE_XML_START` is the first seed.

mod libxml2;
mod random;

use std::time::{Duration, Instant};

use libxml2::{Answer, Library, Place};
use lookaside_simd::Cpu;
use lookaside_xml::Session;
use lookaside_xml::tree::{Kind, Tree};
use lookaside_xml::xpath::{NodeRef, Reason, Scope, Value, XPath};
use random::{NAMESPACES, Random, document, expression, number};

/// Our value in the form of libxml2's.
fn answer(tree: &Tree<'_>, value: &Value) -> Answer {
    match value {
        Value::Number(number) => Answer::Number(*number),
        Value::String(text) => Answer::String(text.clone()),
        Value::Boolean(truth) => Answer::Boolean(*truth),
        Value::Nodes(nodes) => {
            assert!(nodes.is_sorted() && nodes.windows(2).all(|two| two[0] != two[1]));
            let mut places: Vec<Place> = nodes
                .iter()
                .map(|node| {
                    let prefix = node.is_namespace().then(|| node.local_name(tree).to_owned());
                    (node.node().index(), prefix)
                })
                .collect();
            places.sort();
            Answer::Nodes(places)
        }
    }
}

fn same(ours: &Answer, theirs: &Answer) -> bool {
    match (ours, theirs) {
        // libxml2 does not round to the nearest number when it reads one.
        (Answer::Number(a), Answer::Number(b)) => {
            a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= a.abs() * 1e-14
        }
        _ => ours == theirs,
    }
}

#[test]
fn random_expressions_beside_libxml2() {
    let Some(library) = Library::open() else { return };
    let end = Instant::now() + Duration::from_secs(number("LOOKASIDE_XML_SECONDS", 5));
    let (mut cases, mut kinds) = (0_u64, [0_u64; 4]);
    for seed in number("LOOKASIDE_XML_START", 0).. {
        if Instant::now() >= end {
            break;
        }
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (text, tree) = document(&mut random);
        let theirs = library.parse(&text).unwrap_or_else(|| panic!("seed {seed}: {text}"));
        assert_eq!(theirs.len(), tree.len(), "seed {seed}: {text}");
        for _ in 0..40 {
            let expression = expression(&mut random, 3);
            let elements: Vec<_> = tree
                .subtree(lookaside_xml::tree::Node::DOCUMENT)
                .filter(|node| !matches!(tree.kind(*node), Kind::Namespace | Kind::Attribute))
                .collect();
            let node = random.pick(&elements);
            let theirs = theirs.xpath(node.index(), &expression, &NAMESPACES);
            let ours = XPath::compile(&expression, &NAMESPACES);
            let place = || format!("seed {seed}: {expression}\nat {} of {text}", node.index());
            let (ours, theirs) = match (ours, theirs) {
                (Ok(ours), Some(theirs)) => (ours, theirs),
                // `1 = / or 2` has a step `or`.
                (Err(_), None) => continue,
                // That a node-set is needed is said there when it is evaluated, if it is.
                (Err(e), _) if e.reason == Reason::NotNodes => continue,
                (ours, theirs) => panic!("{}\n{ours:?}\n{theirs:?}", place()),
            };
            let scope = Scope { node: NodeRef::from(node), ..Scope::default() };
            let value = ours.evaluate(&tree, &scope).unwrap();
            let ours = answer(&tree, &value);
            assert!(same(&ours, &theirs), "{}\nours:   {ours:?}\ntheirs: {theirs:?}", place());
            cases += 1;
            kinds[match ours {
                Answer::Nodes(nodes) if !nodes.is_empty() => 0,
                Answer::Nodes(_) => 1,
                Answer::String(_) => 2,
                _ => 3,
            }] += 1;
        }
    }
    eprintln!("{cases} cases; nodes, no nodes, strings, others: {kinds:?}");
    assert!(cases > 0 && kinds[0] > 0);
}

/// The places of what an expression yields, as `name` or `#text` and so on, in document order; else the value as a string.
fn found(tree: &Tree<'_>, expression: &str) -> String {
    let namespaces = [("p", "urn:p"), ("xl", "urn:xl")];
    let xpath =
        XPath::compile(expression, &namespaces).unwrap_or_else(|e| panic!("{expression}: {e}"));
    let variables = [("v", Value::Number(2.0)), ("{urn:p}v", Value::String("b".to_owned()))];
    let scope = Scope { variables: &variables, ..Scope::default() };
    match xpath.evaluate(tree, &scope) {
        Ok(Value::Nodes(nodes)) => {
            let names = nodes.iter().map(|node| match node.kind(tree) {
                Kind::Document => "/".to_owned(),
                Kind::Text => format!("'{}'", node.string_value(tree)),
                Kind::Comment => format!("<!--{}-->", node.string_value(tree)),
                Kind::Attribute => format!("@{}={}", node.name(tree), node.string_value(tree)),
                Kind::Namespace => format!("xmlns:{}={}", node.name(tree), node.string_value(tree)),
                Kind::Instruction => format!("<?{} {}?>", node.name(tree), node.string_value(tree)),
                Kind::Element => {
                    let id = tree.attributes(node.node()).next().map(|one| tree.value(one));
                    format!(
                        "{}{}",
                        node.name(tree),
                        id.map_or(String::new(), |id| format!("#{id}"))
                    )
                }
            });
            names.collect::<Vec<_>>().join(" ")
        }
        Ok(value) => value.to_string(tree),
        Err(e) => format!("error: {e}"),
    }
}

const DOCUMENT: &str = "<!DOCTYPE r [<!ATTLIST b n ID #IMPLIED>]><!--top--><r xmlns:p='urn:p' xml:lang='en'>\
    <b n='b1'>one<i n='i1'/></b><b n='b2' k='2'><p:i n='i2'>two</p:i><?t d?><!--c--></b>\
    <d n='d1' xml:lang='de-AT'><b n='b3'/><f n='f1' xmlns='urn:d'><e xmlns='' n='e1'>3</e></f></d></r>";

/// Every axis (2.2), test (2.3), predicate (2.4), abbreviation (2.5), operator (3) and function (4).
#[test]
fn the_recommendation_case_by_case() {
    let tree = Tree::parse(DOCUMENT.as_bytes(), &Session::new(Cpu::host())).unwrap();
    let mut wrong = vec![];
    for (expression, expected) in [
        // 2.2
        ("/r/b[2]/ancestor::node()", "/ r#en"),
        ("//i/ancestor-or-self::*", "r#en b#b1 i#i1"),
        ("/r/b/attribute::*", "@n=b1 @n=b2 @k=2"),
        ("/r/b/child::node()", "'one' i#i1 p:i#i2 <?t d?> <!--c-->"),
        ("/r/descendant::i", "i#i1"),
        ("/r/b[1]/descendant-or-self::*", "b#b1 i#i1"),
        ("//i/following::*", "b#b2 p:i#i2 d#d1 b#b3 f#f1 e#e1"),
        // An attribute comes before the children of its element.
        ("/r/b[1]/@n/following::*", "i#i1 b#b2 p:i#i2 d#d1 b#b3 f#f1 e#e1"),
        ("/r/b[1]/following-sibling::*", "b#b2 d#d1"),
        ("/r/b[1]/@n/following-sibling::*", ""),
        ("//e/namespace::*", "xmlns:xml=http://www.w3.org/XML/1998/namespace xmlns:p=urn:p"),
        ("//*[@n = 'f1']/namespace::node()[name() = '']", "xmlns:=urn:d"),
        ("//d/namespace::p/..", "d#d1"),
        ("//p:i/parent::b", "b#b2"),
        ("//e/preceding::*", "b#b1 i#i1 b#b2 p:i#i2 b#b3"),
        ("//d/preceding-sibling::b[1]", "b#b2"),
        ("//e/self::e | //e/self::x", "e#e1"),
        // 2.3
        ("//p:*", "p:i#i2"),
        ("//processing-instruction('t') | //processing-instruction('u')", "<?t d?>"),
        ("//comment()", "<!--top--> <!--c-->"),
        ("//text()", "'one' 'two' '3'"),
        ("//@xml:lang", "@xml:lang=en @xml:lang=de-AT"),
        // 2.4: positions count along the axis; after parentheses in document order.
        ("//p:i/ancestor::*[1]", "b#b2"),
        ("(//p:i/ancestor::*)[1]", "r#en"),
        ("/r/*[position() = last()]", "d#d1"),
        ("/r/b[@k][1]", "b#b2"),
        ("/r/b[1][@k]", ""),
        ("//b[1]", "b#b1 b#b3"),
        ("/descendant::i[1]", "i#i1"),
        ("/r/*[$v]", "b#b2"),
        // 2.5
        ("/", "/"),
        ("/r/b/..", "r#en"),
        ("//b//.", "b#b1 'one' i#i1 b#b2 p:i#i2 'two' <?t d?> <!--c--> b#b3"),
        ("//b/@n//.", "@n=b1 @n=b2 @n=b3"),
        // 3
        ("//@n = //@k", "false"),
        ("//@n != //@n", "true"),
        ("//@k > 1", "true"),
        ("'a' < 'b'", "false"),
        ("true() = 'x'", "true"),
        ("//none = false()", "true"),
        ("//none != //none", "false"),
        ("7 mod -3", "1"),
        ("-7 mod 3", "-1"),
        ("1 div 0", "Infinity"),
        ("- - 2", "2"),
        ("2 - 1 - 1", "0"),
        ("1 or error", "true"),
        ("concat($p:v, $v)", "b2"),
        // 4
        ("count(//b | //b)", "3"),
        ("id('b2 none b1')", "b#b1 b#b2"),
        ("id(//b/@n)", "b#b1 b#b2 b#b3"),
        ("local-name(//p:i)", "i"),
        ("namespace-uri(//p:i)", "urn:p"),
        ("name(//p:i)", "p:i"),
        ("name(/)", ""),
        ("string(//none)", ""),
        ("string(/r/b[2])", "two"),
        ("starts-with('abc', '')", "true"),
        ("substring-before('1999/04/01', '/')", "1999"),
        ("substring-after('1999/04/01', '19')", "99/04/01"),
        ("substring('12345', 2, 3)", "234"),
        ("string-length('\u{e9}\u{1f600}')", "2"),
        ("normalize-space('\u{a0} a\t b ')", "\u{a0} a b"),
        ("translate('bar', 'abc', 'AB')", "BAr"),
        ("not(//none)", "true"),
        ("boolean(0 div 0)", "false"),
        ("count(//*[lang('de')])", "4"),
        ("count(//*[lang('DE-at')])", "4"),
        ("count(//*[lang('d')])", "0"),
        ("number('-')", "NaN"),
        ("sum(//@k | //e)", "5"),
        ("sum(//none)", "0"),
        ("floor(-1.5) + ceiling(-1.5)", "-3"),
        ("round(-2.5)", "-2"),
        ("error", ""),
        ("$w", "error: the variable $w has no value"),
        ("$v/a", "error: a variable is used as a node-set and is none"),
    ] {
        let found = found(&tree, expression);
        if found != expected {
            wrong.push(format!("{expression}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_no_expression() {
    let compile = |text: &str| XPath::compile(text, &[]).map(|_| ()).unwrap_err();
    for (text, offset, reason) in [
        ("", 0, Reason::Expected("a step")),
        ("a b", 2, Reason::Trailing),
        ("a[1", 3, Reason::Expected("a closing bracket")),
        ("(1", 2, Reason::Expected("a closing parenthesis")),
        ("a + ", 4, Reason::Expected("a step")),
        ("'a", 0, Reason::Unterminated),
        ("a#", 1, Reason::Character('#')),
        ("p:a", 0, Reason::Prefix("p".to_owned())),
        ("f(1)", 0, Reason::Function("f".to_owned())),
        ("p:f(1)", 0, Reason::Function("p:f".to_owned())),
        ("concat('a')", 0, Reason::Arguments("concat")),
        ("count(1)", 6, Reason::NotNodes),
        ("1 | a", 0, Reason::NotNodes),
        ("1[1]", 0, Reason::NotNodes),
        ("'a'/b", 0, Reason::NotNodes),
        ("up::a", 0, Reason::Axis("up".to_owned())),
        ("$", 0, Reason::Expected("the name of a variable")),
        ("concat('a' 'b')", 11, Reason::Expected("a comma or a closing parenthesis")),
        ("processing-instruction(1)", 23, Reason::Expected("a closing parenthesis")),
    ] {
        let error = compile(text);
        assert_eq!((error.offset, error.reason), (offset, reason), "{text}");
    }
    let deep = format!("{}1{}", "(".repeat(300), ")".repeat(300));
    assert_eq!(compile(&deep).reason, Reason::Depth);
    assert_eq!(compile(&format!("{}1", "1=".repeat(200))).reason, Reason::Depth);
    let predicates = format!("{}1{}", "a[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(compile(&predicates).reason, Reason::Depth);
    // Long, and not deep.
    assert!(XPath::compile(&format!("{}1", "-".repeat(100_000)), &[]).is_ok());
    assert!(XPath::compile(&format!("{}a", "a/".repeat(10_000)), &[]).is_ok());
    assert!(XPath::compile(&format!("{}1", "1+".repeat(200_000)), &[]).is_ok());
}

/// On the stack of a thread of 256 KB.
#[test]
fn deep_expressions_and_deep_documents() {
    let run = || {
        let text = format!("{}{}", "<a>".repeat(4000), "</a>".repeat(4000));
        let tree = Tree::parse(text.as_bytes(), &Session::new(Cpu::host())).unwrap();
        let nested = format!("{}1{}", "(1+".repeat(98), ")".repeat(98));
        assert_eq!(found(&tree, &nested), "99");
        assert_eq!(found(&tree, "count(//a//a)"), "3999");
        let xpath = XPath::compile("//*[count(//*[count(//*) > 0]) > 0]", &[]).unwrap();
        let scope = Scope { max_steps: 1_000_000, ..Scope::default() };
        assert_eq!(
            xpath.evaluate(&tree, &scope).unwrap_err().to_string(),
            "the evaluation visits more nodes than it may"
        );
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}
