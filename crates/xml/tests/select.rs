//! Expressions evaluated while a document arrives, beside the same on its tree.
//!
//! `LOOKASIDE_XML_SECONDS` bounds the random part (5 s, else), `LOOKASIDE_XML_START` is the first seed.

mod random;

use std::time::{Duration, Instant};

use lookaside_simd::Cpu;
use lookaside_xml::select::{Found, NotStreamable, Program, Run, Selected, Stream};
use lookaside_xml::tree::{Kind, Node, Tree};
use lookaside_xml::xpath::{Scope, Value, XPath};
use lookaside_xml::{Rule, Session};
use random::{NAMESPACES, Random, document, nodes, number};

/// A path that is mostly streamable.
fn streamable(random: &mut Random) -> String {
    let mut text = random.pick(&["", "/", "//", ".//"]).to_owned();
    loop {
        text += random.pick(&["", "", "", "child::", "descendant::"]);
        text += random.pick(&["a", "b", "c", "div", "*", "*", "p:*", "p:a", "q:b", "node()"]);
        for _ in 0..random.below(3) {
            text += random.pick(&[
                "",
                "",
                "[@x]",
                "[@x = '1']",
                "[@x = '2']",
                "[@x = '']",
                "[@* = '1']",
                "[@x != '1']",
                "[2 > @x]",
                "[@x >= '1.5' or @xml:lang]",
                "[not(@x) and @*]",
                "[contains(@xml:lang, 'n')]",
                "[starts-with(@p:y, '')]",
                "[string(@x) or @y | @x]",
                "[boolean(@*[1])]",
                "[true()]",
                "[@x = '1' and @y]",
                "[@x = '1' or @x = 'two words']",
                "[@x = '7'][@y = '1']",
                "[@y and (@x = '7' and @x != '1')]",
                "[not(@x = '1')]",
                "[contains(@y, '')]",
                "[@x = 'more than 16 characters']",
                "[@* = 'more than 17 characters']",
                "[@p:* = 'en']",
            ]);
        }
        if !random.chance(60) {
            break;
        }
        text += random.pick(&["/", "/", "//"]);
    }
    text + random.pick(&[
        "",
        "",
        "/@x",
        "//@*",
        "/@p:y[. = 'en']",
        "/text()",
        "//text()[. > 1]",
        "//comment()",
        "/processing-instruction('a')",
        "//node()",
        "/node()[not(@x)]",
    ])
}

/// Tells a run the document, and returns what each expression selects.
fn run(run: &mut Run<'_>, tree: &Tree<'_>, expressions: usize) -> Vec<Vec<Node>> {
    let mut all = vec![vec![]; expressions];
    run.reset();
    walk(run, tree, Node::DOCUMENT, &mut all);
    all
}

fn walk(run: &mut Run<'_>, tree: &Tree<'_>, parent: Node, all: &mut Vec<Vec<Node>>) {
    for node in tree.children(parent) {
        let nodes: Vec<Node> = tree.attributes(node).collect();
        let mut selected = |one: Selected| {
            let node = one.attribute.map_or(node, |index| nodes[index as usize]);
            all[one.expression as usize].push(node);
        };
        let value = tree.value(node);
        match tree.kind(node) {
            Kind::Element => {
                let name = |node| tree.expanded(tree.name_id(node)).number();
                let attributes: Vec<_> =
                    nodes.iter().map(|one| (name(*one), tree.value(*one))).collect();
                run.start_element(name(node), &attributes, tree, &mut selected);
                walk(run, tree, node, all);
                run.end_element();
            }
            Kind::Text => run.text(value, &mut selected),
            Kind::Comment => run.comment(value, &mut selected),
            _ => run.instruction(tree.name(node).local, value, &mut selected),
        }
    }
}

#[test]
fn random_expressions_beside_the_tree() {
    let end = Instant::now() + Duration::from_secs(number("LOOKASIDE_XML_SECONDS", 5));
    let (mut cases, mut refused, mut found) = (0_u64, 0_u64, 0_u64);
    for seed in number("LOOKASIDE_XML_START", 0).. {
        if Instant::now() >= end {
            break;
        }
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut texts = vec![];
        let mut compiled = vec![];
        for _ in 0..random.below(30) {
            let text = match random.below(4) {
                0 => nodes(&mut random, 1),
                1 => format!("{} | {}", streamable(&mut random), streamable(&mut random)),
                _ => streamable(&mut random),
            };
            let Ok(xpath) = XPath::compile(&text, &NAMESPACES) else { continue };
            if Program::compile(std::slice::from_ref(&xpath)).is_err() {
                refused += 1;
                continue;
            }
            texts.push(text);
            compiled.push(xpath);
        }
        let program = Program::compile(&compiled).unwrap();
        let mut running = Run::new(&program);
        for _ in 0..3 {
            let (text, tree) = document(&mut random);
            let all = run(&mut running, &tree, compiled.len());
            for ((xpath, expression), mut nodes) in compiled.iter().zip(&texts).zip(all) {
                let expected = match xpath.evaluate(&tree, &Scope::default()).unwrap() {
                    Value::Nodes(nodes) => nodes,
                    other => panic!("{other:?}"),
                };
                let expected: Vec<Node> = expected.into_iter().map(|node| node.node()).collect();
                nodes.sort();
                assert_eq!(nodes, expected, "seed {seed}: {expression}\non {text}");
                found += nodes.len() as u64;
                cases += 1;
            }
        }
    }
    eprintln!("{cases} cases, {refused} expressions not streamable, {found} nodes selected");
    assert!(cases > 0 && found > 0);
}

/// What a stream finds is what the tree has, wherever the document is cut.
#[test]
fn streams_cut_anywhere() {
    let session = Session::new(Cpu::host());
    let (mut found, first) = (0, number("LOOKASIDE_XML_START", 0));
    for seed in first..first + 1500 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let texts: Vec<String> =
            (0..1 + random.below(10)).map(|_| streamable(&mut random)).collect();
        let compiled = texts.iter().map(|text| XPath::compile(text, &NAMESPACES).unwrap());
        let compiled: Vec<XPath> = compiled
            .filter(|xpath| Program::compile(std::slice::from_ref(xpath)).is_ok())
            .collect();
        let program = Program::compile(&compiled).unwrap();
        let mut stream = Stream::new(&session, &program);
        for _ in 0..2 {
            let (text, tree) = document(&mut random);
            let places: Vec<Node> = tree
                .subtree(Node::DOCUMENT)
                .skip(1)
                .filter(|node| !matches!(tree.kind(*node), Kind::Attribute | Kind::Namespace))
                .collect();
            let mut expected = vec![];
            for (index, xpath) in (0..).zip(&compiled) {
                let Ok(Value::Nodes(nodes)) = xpath.evaluate(&tree, &Scope::default()) else {
                    panic!()
                };
                for node in nodes.iter().map(|node| node.node()) {
                    let is_attribute = tree.kind(node) == Kind::Attribute;
                    let owner = if is_attribute { tree.parent(node).unwrap() } else { node };
                    let place = places.binary_search(&owner).unwrap() as u64;
                    let name = tree.name(node);
                    let colon = if name.prefix.is_empty() { "" } else { ":" };
                    let name = format!("{}{colon}{}", name.prefix, name.local);
                    expected.push((place, index, name, tree.value(node).to_owned()));
                }
            }
            expected.sort();
            let most = random.pick(&[1, 5, 1000]);
            let (mut rest, mut all) = (text.as_bytes(), vec![]);
            while !rest.is_empty() {
                let (piece, more) = rest.split_at((1 + random.below(most)).min(rest.len()));
                rest = more;
                stream
                    .feed(piece, rest.is_empty(), &mut |one: Found<'_>| {
                        let (name, value) = (one.name.to_owned(), one.value.to_owned());
                        all.push((one.node, one.expression, name, value));
                    })
                    .unwrap();
            }
            assert!(all.is_sorted_by_key(|one| one.0));
            all.sort();
            assert_eq!(all, expected, "seed {seed}: {texts:?} on {text}");
            found += all.len();
            stream.reset();
        }
    }
    assert!(found > 0);
}

/// Names and values are characters, whatever bytes a document has: the parser's word is taken for it, and `checked` says where
/// it is wrong.
#[test]
fn damaged_documents_select_characters() {
    let expressions = ["//node()", "//@*", "//*[@* != 'é']", "//text()[. != 'é']"];
    let compiled = expressions.map(|text| XPath::compile(text, &[]).unwrap());
    let program = Program::compile(&compiled).unwrap();
    let mut stream = Stream::new(&Session::new(Cpu::host()), &program);
    let (mut whole, mut damaged, mut found) = (0, 0, 0);
    for seed in 0..4000_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (text, _) = document(&mut random);
        let text = text.replace("more", "mör€").replace("div", "dív");
        let mut bytes = match random.below(3) {
            0 => [b"<?xml version='1.0' encoding='ISO-8859-1'?>", text.as_bytes()].concat(),
            _ => text.into_bytes(),
        };
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => drop(bytes.splice(at..at, "é€\u{1d11e}".bytes())),
                1 => bytes.insert(at, random.pick(b"\x80\xc3\xe2\xed\xa0\xf0\xff<>&'")),
                _ => drop(bytes.remove(at)),
            }
        }
        let most = random.pick(&[1, 5, 1000]);
        let mut rest = &bytes[..];
        let ended = loop {
            let (piece, more) = rest.split_at((1 + random.below(most)).min(rest.len()));
            rest = more;
            let fed = stream.feed(piece, rest.is_empty(), &mut |one: Found<'_>| {
                for text in [one.name, one.value] {
                    assert!(std::str::from_utf8(text.as_bytes()).is_ok(), "seed {seed}: {text:?}");
                }
                found += 1;
            });
            if fed.is_err() || rest.is_empty() {
                break fed;
            }
        };
        if ended.is_ok() {
            whole += 1
        } else {
            damaged += 1
        }
        stream.reset();
    }
    assert!(whole > 100 && damaged > 100 && found > 10_000, "{whole} {damaged} {found}");
}

#[test]
fn what_is_not_well_formed_is_said() {
    let xpath = XPath::compile("//a", &[]).unwrap();
    let program = Program::compile(&[xpath]).unwrap();
    let mut stream = Stream::new(&Session::new(Cpu::host()), &program);
    let mut found = 0;
    let error = stream.feed(b"<a><a/></b>", true, &mut |_| found += 1).unwrap_err();
    assert_eq!((found, error.rule), (2, Rule::ElementTypeMatch));
}

/// Programs with more states than are kept.
#[test]
fn many_states() {
    // Which of 14 conditions held on the way down is part of a state: 2^14 of them.
    let texts: Vec<String> = (0..14).map(|n| format!("//a[@x{n}]//b")).collect();
    let compiled: Vec<XPath> =
        texts.iter().map(|text| XPath::compile(text, &[]).unwrap()).collect();
    let program = Program::compile(&compiled).unwrap();
    let mut text = "<r>".to_owned();
    let mut expected = 0;
    for n in 0..1_u32 << 14 {
        let attributes = (0..14).filter(|bit| n >> bit & 1 != 0);
        text += "<a";
        attributes.for_each(|bit| text += &format!(" x{bit}=''"));
        text += "><b/></a>";
        expected += n.count_ones();
    }
    text += "</r>";
    let mut stream = Stream::new(&Session::new(Cpu::host()), &program);
    let mut found = 0;
    stream.feed(text.as_bytes(), true, &mut |_| found += 1).unwrap();
    assert_eq!(found, expected);
}

/// Conditions that are looked up by the value, and more of them than bits in a word.
#[test]
fn many_equal_conditions() {
    let mut texts: Vec<String> = (0..100).map(|n| format!("//a[@x = '{}']/@y", n % 90)).collect();
    texts.push("//a[@* = '7']".into());
    texts.push("//a[@x = '7'][@y]/b".into());
    let compiled: Vec<XPath> =
        texts.iter().map(|text| XPath::compile(text, &[]).unwrap()).collect();
    let program = Program::compile(&compiled).unwrap();
    let mut stream = Stream::new(&Session::new(Cpu::host()), &program);
    let text =
        "<r><a x='7' y='q'><b/></a><a x='95' y='7'/><a y='s' x='89'/><a/><a x='7'><b/></a></r>";
    let mut found = vec![];
    stream
        .feed(text.as_bytes(), true, &mut |one| {
            found.push((one.node, one.expression, one.value.to_owned()))
        })
        .unwrap();
    let found: Vec<_> =
        found.iter().map(|(node, at, value)| (*node, *at, value.as_str())).collect();
    let expected = [
        (1, 7, "q"),
        (1, 97, "q"),
        (1, 100, ""),
        (2, 101, ""),
        (3, 100, ""),
        (4, 89, "s"),
        (6, 100, ""),
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_is_not_streamable_is_named() {
    for (text, reason) in [
        ("1 + 1", NotStreamable::NoPath),
        ("(//a)[1]", NotStreamable::NoPath),
        ("(//a)/b", NotStreamable::Start),
        ("a/..", NotStreamable::Axis),
        ("a/following::b", NotStreamable::Axis),
        ("namespace::p", NotStreamable::Axis),
        ("a/@x/.//b", NotStreamable::Step),
        ("a/self::b", NotStreamable::Step),
        ("/", NotStreamable::Step),
        ("a//.", NotStreamable::Step),
        ("a[1]", NotStreamable::Position),
        ("a[@x][last()]", NotStreamable::Position),
        ("a[position() > 1]", NotStreamable::Position),
        ("a[b]", NotStreamable::Later),
        ("a[. = '1']", NotStreamable::Later),
        ("a[@x = @y]", NotStreamable::Predicate),
        ("a[name() = 'a']", NotStreamable::Predicate),
    ] {
        let xpath = XPath::compile(text, &[]).unwrap();
        assert_eq!(Program::compile(&[xpath]).unwrap_err(), [(0, reason)], "{text}");
    }
}
