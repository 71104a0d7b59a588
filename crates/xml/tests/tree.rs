//! Trees of parsed documents: beside those that a builder makes, and what of a document they hold.

mod random;

use lookaside_simd::Cpu;
use lookaside_xml::tree::{Kind, Name, Node, ParseError, Tree, Trees};
use lookaside_xml::{Limits, Rule, Session};
use random::{Random, document, number};

fn parse(text: &[u8]) -> Result<Tree<'_>, ParseError> {
    Tree::parse(text, &Session::new(Cpu::host()))
}

type Seen<'t> = (Kind, Name<'t>, &'t str, Option<usize>, usize);

fn nodes<'t>(tree: &'t Tree<'_>) -> Vec<Seen<'t>> {
    let all = tree.subtree(Node::DOCUMENT);
    all.map(|node| {
        let (parent, end) = (tree.parent(node).map(Node::index), tree.end(node).index());
        (tree.kind(node), tree.name(node), tree.value(node), parent, end)
    })
    .collect()
}

#[test]
fn random_documents_as_built() {
    let first = number("LOOKASIDE_XML_START", 0);
    for seed in first..first + 3000 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (text, built) = document(&mut random);
        let parsed = parse(text.as_bytes()).unwrap();
        assert_eq!(nodes(&parsed), nodes(&built), "seed {seed}: {text}");
        // In another encoding nothing refers to the document's bytes.
        let utf16: Vec<u8> = "\u{feff}"
            .encode_utf16()
            .chain(text.encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect();
        let parsed = parse(&utf16).unwrap();
        assert_eq!(nodes(&parsed), nodes(&built), "seed {seed}, UTF-16: {text}");
    }
}

/// The same bytes in what encodings say of them.
#[test]
fn values_are_in_the_encoding_of_the_document() {
    let texts = |encoding: &str, text: &[u8]| {
        let head = format!("<?xml version='1.0' encoding='{encoding}'?><a b='");
        let document = [head.as_bytes(), text, b"'>", text, b"</a>"].concat();
        let tree = parse(&document).unwrap();
        let values: Vec<_> =
            tree.subtree(Node::DOCUMENT).skip(2).map(|node| tree.value(node).to_owned()).collect();
        assert!(values.len() == 2 && values[0] == values[1], "{values:?}");
        values[0].clone()
    };
    assert_eq!(texts("utf-8", "é€".as_bytes()), "é€");
    assert_eq!(texts("iso-8859-1", "é".as_bytes()), "Ã©");
    assert_eq!(texts("windows-1252", "é".as_bytes()), "Ã©");
    assert_eq!(texts("us-ascii", b"e"), "e");
    assert_eq!(texts("koi8-r", &[0xc1]), "а");
    let tree = parse(b"\xef\xbb\xbf<a>\xc3\xa9</a>").unwrap();
    assert_eq!(tree.subtree(Node::DOCUMENT).map(|it| tree.value(it)).collect::<String>(), "é");
}

/// The lengths of what is declared are among the bytes that the parser writes, and need not be characters.
#[test]
fn declarations_of_any_length() {
    for len in (1..300).chain([32_768, 70_000]) {
        let (name, text) = ("n".repeat(len.min(1000)), "é".repeat(len));
        let document = format!(
            "<!DOCTYPE a SYSTEM 'http://x/{text}' [<!ELEMENT {name} (#PCDATA|{name}1)*>\
             <!ATTLIST a b CDATA '{text}' c ({name}|d) 'd'><!NOTATION n PUBLIC '{name}'>\
             <!ENTITY e '{text}'><!ENTITY u SYSTEM '{text}' NDATA n>]><a>&e;</a>"
        );
        let tree = parse(document.as_bytes()).unwrap_or_else(|e| panic!("{len}: {e}"));
        let values: Vec<&str> = tree.subtree(Node::DOCUMENT).map(|node| tree.value(node)).collect();
        assert_eq!(values, ["", "", &text, "d", &text], "{len}");
    }
}

#[test]
fn what_a_document_becomes() {
    let text = "<!DOCTYPE a [<!-- no --><?no ?><!ENTITY e 'x<b/>y'><!ATTLIST b id ID #IMPLIED c CDATA 'd'>]>\
                <a>1<![CDATA[<2>]]>\r\n&#51;&e;&amp;<b id='  i '/><?t  data?><!--c--></a>";
    let tree = parse(text.as_bytes()).unwrap();
    let seen: Vec<_> =
        nodes(&tree).into_iter().map(|(kind, name, value, ..)| (kind, name.local, value)).collect();
    let expected = [
        (Kind::Document, "", ""),
        (Kind::Element, "a", ""),
        (Kind::Text, "", "1<2>\n3x"),
        (Kind::Element, "b", ""),
        (Kind::Attribute, "c", "d"),
        (Kind::Text, "", "y&"),
        (Kind::Element, "b", ""),
        (Kind::Attribute, "id", "i"),
        (Kind::Attribute, "c", "d"),
        (Kind::Instruction, "t", "data"),
        (Kind::Comment, "", "c"),
    ];
    assert_eq!(seen, expected);
    assert_eq!(tree.element_by_id("i").map(Node::index), Some(6));
    assert_eq!(tree.element_by_id("j"), None);
}

#[test]
fn namespaces_come_before_attributes() {
    let tree = parse(b"<a x='1' xmlns:p='u' p:y='2' xmlns='v'><b z='3' xmlns=''/></a>").unwrap();
    let seen: Vec<_> =
        nodes(&tree).into_iter().map(|(kind, name, value, ..)| (kind, name.local, value)).collect();
    let expected = [
        (Kind::Document, "", ""),
        (Kind::Element, "a", ""),
        (Kind::Namespace, "p", "u"),
        (Kind::Namespace, "", "v"),
        (Kind::Attribute, "x", "1"),
        (Kind::Attribute, "y", "2"),
        (Kind::Element, "b", ""),
        (Kind::Namespace, "", ""),
        (Kind::Attribute, "z", "3"),
    ];
    assert_eq!(seen, expected);
}

/// More nodes and attributes than the parser gives at once.
#[test]
fn large_documents() {
    let attributes: String = (0..5000).map(|n| format!(" a{n}='{n}'")).collect();
    let text = format!("<r>{}<e{attributes}/></r>", "<x y='1'>t</x>".repeat(10_000));
    let tree = parse(text.as_bytes()).unwrap();
    assert_eq!(tree.len(), 1 + 1 + 10_000 * 3 + 1 + 5000);
    let last = tree.children(tree.first_child(Node::DOCUMENT).unwrap()).last().unwrap();
    assert_eq!(tree.attributes(last).count(), 5000);
    assert!(tree.memory() < 3_000_000, "{}", tree.memory());
}

#[test]
fn what_is_no_document() {
    let rule = |text: &str| match parse(text.as_bytes()) {
        Err(ParseError::Document(e)) => e.rule,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(rule("<a></b>"), Rule::ElementTypeMatch);
    assert_eq!(rule(""), Rule::UnexpectedEnd);
    assert_eq!(rule("<a/><a/>"), Rule::Document);
    let session = Session::new(Cpu::host()).limits(Limits { depth: 3, ..Limits::default() });
    let deep = Tree::parse(b"<a><a><a><a/></a></a></a>", &session);
    assert!(matches!(deep, Err(ParseError::Document(e)) if e.rule == Rule::LimitDepth));
}

/// Memory and names of one document do not show in the next one; trees that are kept stay as they are.
#[test]
fn one_document_after_the_other() {
    let mut trees = Trees::new(&Session::new(Cpu::host()));
    let many: String = (0..1500).map(|n| format!("<n{n}/>")).collect();
    let texts: Vec<String> = (0..60)
        .map(|n| match n % 5 {
            0 => format!("<a{n} x{n}='{n}&amp;'>&lt;{n}</a{n}>"),
            1 => "<a><b>".to_owned(),
            2 => format!("<m>{many}<o{n}/></m>"),
            3 => "<!DOCTYPE a [<!ATTLIST a id ID #IMPLIED>]><a id='i'/>".to_owned(),
            _ => "<p:a xmlns:p='u'>t</p:a>".to_owned(),
        })
        .collect();
    let mut kept = vec![];
    for (n, text) in texts.iter().enumerate() {
        let (once, again) = (parse(text.as_bytes()), trees.parse(text.as_bytes()));
        match (once, again) {
            (Ok(once), Ok(again)) => {
                assert_eq!(nodes(&again), nodes(&once), "{text}");
                let id = |tree: &Tree<'_>| tree.element_by_id("i").map(Node::index);
                assert_eq!((id(&again), id(&again).is_some()), (id(&once), n % 5 == 3), "{text}");
                match n % 3 {
                    0 => trees.give_back(again),
                    1 => kept.push((once, again)),
                    _ => {}
                }
            }
            (Err(once), Err(again)) => assert_eq!(once, again),
            (once, again) => panic!("{text}: {once:?}, {again:?}"),
        }
    }
    for (once, again) in kept {
        assert_eq!(nodes(&again), nodes(&once));
    }
}
