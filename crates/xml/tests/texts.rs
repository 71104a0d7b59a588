//! Texts that trees and selections get in one piece, beside the pieces that the parser gives: random references, line ends,
//! brackets, sections and entities, in chunks.

mod random;

use lookaside_simd::Cpu;
use lookaside_xml::select::{Program, Stream};
use lookaside_xml::tree::{Kind as Type, Node, ParseError, Tree, Trees};
use lookaside_xml::xpath::XPath;
use lookaside_xml::{Error, Kind, Output, Parser, Record, Session, Status};
use random::{Random, number};

const PIECES: [&str; 22] = [
    "a",
    "some words ",
    "]",
    "]]",
    "]>",
    ">",
    "&lt;",
    "&gt;",
    "&amp;",
    "&quot;",
    "&apos;",
    "&#65;",
    "&#x1F600;",
    "\r",
    "\n",
    "\r\n",
    "\u{e9}",
    "<![CDATA[ &x;\r]]]>",
    "<![CDATA[]]>",
    "&e;",
    "&f;",
    "\u{1f600}",
];
/// What no document has.
const FAULTS: [&str; 7] = ["]]>", "&", "&#0;", "&lt", "&#;", "&unknown;", "&#x110000;"];
const BETWEEN: [&str; 4] = ["<b/>", "<!--c\r\n-->", "<?p i?>", "<c>x</c>"];

fn document(random: &mut Random) -> String {
    let mut text =
        "<!DOCTYPE a [<!ENTITY e 'x&#38;amp;y&#13;'><!ENTITY f '<i>]]</i>&e;]'>]><a>".to_owned();
    for _ in 0..random.below(40) {
        let count = random.below(12);
        for _ in 0..count {
            let piece = random.pick(&PIECES);
            let times = if random.chance(5) { random.below(300) } else { 1 };
            text += &piece.repeat(times);
        }
        if random.chance(1) {
            text += random.pick(&FAULTS);
        }
        text += random.pick(&BETWEEN);
    }
    text + "</a>"
}

/// The texts of the parser's records: characters without a node between them are one.
fn pieces(session: &Session, document: &[u8]) -> Result<Vec<String>, Error> {
    let mut parser = Parser::new(session);
    let (mut records, mut bytes) = (vec![Record::default(); 64], vec![]);
    let (mut texts, mut last, mut rest) = (vec![], vec![], document);
    loop {
        bytes.clear();
        let mut out = Output::new(&mut records, &mut bytes);
        let progress = parser.feed(rest, true, &mut out);
        for record in out.filled() {
            match record.kind {
                Kind::Text => last.extend(out.text(record, rest)),
                Kind::StartElement | Kind::EndElement | Kind::Comment | Kind::Pi
                    if !last.is_empty() =>
                {
                    texts.push(String::from_utf8(std::mem::take(&mut last)).unwrap());
                }
                _ => {}
            }
        }
        rest = &rest[progress.consumed..];
        match progress.status {
            Status::Finished => return Ok(texts),
            Status::Failed(error) => return Err(error),
            _ => {}
        }
    }
}

fn of_tree(tree: &Tree<'_>) -> Vec<String> {
    let texts = tree.subtree(Node::DOCUMENT).filter(|node| tree.kind(*node) == Type::Text);
    texts.map(|node| tree.value(node).to_owned()).collect()
}

fn selected(
    stream: &mut Stream<'_>,
    document: &[u8],
    random: &mut Random,
) -> Result<Vec<String>, Error> {
    stream.reset();
    let (mut texts, mut rest) = (vec![], document);
    loop {
        let most = random.pick(&[1, 7, 100, 5000]);
        let (chunk, more) = rest.split_at(rest.len().min(1 + random.below(most)));
        rest = more;
        stream.feed(chunk, rest.is_empty(), &mut |found| texts.push(found.value.to_owned()))?;
        if rest.is_empty() {
            return Ok(texts);
        }
    }
}

#[test]
fn pieces_become_one_text() {
    let session = Session::new(Cpu::host());
    let every_text = [XPath::compile("//text()", &[]).unwrap()];
    let program = Program::compile(&every_text).unwrap();
    let (mut stream, mut trees) = (Stream::new(&session, &program), Trees::new(&session));
    let (mut faults, first) = (0, number("LOOKASIDE_XML_START", 0));
    for seed in first..first + 3000 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let text = document(&mut random);
        let expected = pieces(&session, text.as_bytes());
        faults += u64::from(expected.is_err());
        let tree = match trees.parse(text.as_bytes()) {
            Ok(tree) => {
                let texts = of_tree(&tree);
                if random.chance(70) {
                    trees.give_back(tree);
                }
                Ok(texts)
            }
            Err(ParseError::Document(error)) => Err(error),
            Err(other) => panic!("seed {seed}: {other}"),
        };
        assert_eq!(tree, expected, "seed {seed}: {text}");
        let streamed = selected(&mut stream, text.as_bytes(), &mut random);
        assert_eq!(streamed, expected, "seed {seed}, in chunks: {text}");
    }
    assert!((100..1500).contains(&faults), "{faults}");
}
