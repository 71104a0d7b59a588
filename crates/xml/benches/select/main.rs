//! XPath expressions while a document is parsed, one core, beside the parse alone and libxml2's XPath: `make bench-xml`.
//!
//! Every document of the folder `LOOKASIDE_XML_DOCUMENTS` (whatever ends in `.xml`): CPU time, medians of interleaved rounds.
//! The expressions are made from the names of the documents: paths from the root, `//name`, texts, attributes, conditions on
//! attributes.
//!
//! ```text
//! own N   N expressions from the document itself, or as many as it gives: nearly all select something
//! all N   N expressions, drawn evenly from all documents: most select nothing here, as with subscriptions
//! ```
//!
//! libxml2 parses to a tree and evaluates `own 10`. The numbers of selected nodes are compared.

#[path = "../contest/mod.rs"]
mod contest;
#[macro_use]
#[path = "../loader/mod.rs"]
mod loader;
mod rivals;

use std::collections::BTreeSet;
use std::hint::black_box;

use contest::{documents, means, medians, turn};
use lookaside_simd::Cpu;
use lookaside_xml::select::{Program, Stream};
use lookaside_xml::tree::{Kind, Name, Node, Tree};
use lookaside_xml::xpath::XPath;
use lookaside_xml::{Output, Parser, Record, Session, Status};
use rivals::Libxml2;

const COUNTS: [usize; 4] = [1, 10, 100, 1000];
const CONTENDERS: [&str; 8] =
    ["own 1", "own 10", "own 100", "own 1000", "all 1", "all 10", "all 100", "all 1000"];

/// Prefixes of namespaces, numbered over all documents.
#[derive(Default)]
struct Namespaces(Vec<(String, String)>);

impl Namespaces {
    fn name(&mut self, name: Name<'_>) -> String {
        if name.uri.is_empty() {
            return name.local.to_owned();
        }
        let known = self.0.iter().position(|(_, uri)| uri == name.uri);
        let number = known.unwrap_or_else(|| {
            self.0.push((format!("n{}", self.0.len()), name.uri.to_owned()));
            self.0.len() - 1
        });
        format!("n{number}:{}", name.local)
    }
}

/// Expressions about a document, each once: one of every form about the first name, then the second one.
fn expressions(document: &[u8], session: &Session, namespaces: &mut Namespaces) -> Vec<String> {
    let tree = Tree::parse(document, session).expect("a document");
    let (mut seen, mut all) = (BTreeSet::new(), vec![]);
    for node in tree.subtree(Node::DOCUMENT).filter(|node| tree.kind(*node) == Kind::Element) {
        let name = namespaces.name(tree.name(node));
        let mut path = format!("/{name}");
        let mut place = node;
        while let Some(parent) = tree.parent(place).filter(|parent| *parent != Node::DOCUMENT) {
            path = format!("/{}{path}", namespaces.name(tree.name(parent)));
            place = parent;
        }
        let mut forms = vec![format!("//{name}"), path.clone(), format!("//{name}/text()")];
        for attribute in tree.attributes(node) {
            let (attribute, value) = (namespaces.name(tree.name(attribute)), tree.value(attribute));
            forms.push(format!("//{name}/@{attribute}"));
            forms.push(format!("{path}[@{attribute}]"));
            if !value.contains('\'') {
                forms.push(format!("//{name}[@{attribute} = '{value}']"));
            }
        }
        all.extend(forms.into_iter().filter(|form| seen.insert(form.clone())));
        if all.len() >= 1000 {
            break;
        }
    }
    // From all of the document, not from its beginning.
    let len = all.len();
    (0..len).map(|n| all[n * 7919 % len].clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

fn spread(all: &[String], count: usize) -> Vec<String> {
    let count = count.min(all.len());
    (0..count).map(|n| all[n * all.len() / count].clone()).collect()
}

fn program(texts: &[String], namespaces: &Namespaces) -> Program {
    let prefixes: Vec<(&str, &str)> =
        namespaces.0.iter().map(|(prefix, uri)| (prefix.as_str(), uri.as_str())).collect();
    let compiled: Vec<XPath> =
        texts.iter().map(|text| XPath::compile(text, &prefixes).expect(text)).collect();
    Program::compile(&compiled).expect("streamable expressions")
}

fn parse(parser: &mut Parser, records: &mut [Record], bytes: &mut Vec<u8>, document: &[u8]) {
    parser.reset();
    let mut rest = document;
    loop {
        bytes.clear();
        let mut out = Output::new(records, bytes);
        let progress = parser.feed(rest, true, &mut out);
        for record in out.filled() {
            black_box(record.kind);
        }
        rest = &rest[progress.consumed..];
        match progress.status {
            Status::Finished => return,
            Status::Full => {}
            other => panic!("{other:?}"),
        }
    }
}

fn select(stream: &mut Stream<'_>, document: &[u8]) -> u64 {
    let mut found = 0;
    stream.reset();
    stream.feed(document, true, &mut |one| found += u64::from(!one.name.is_empty()) | 1).unwrap();
    found
}

fn main() {
    let session = Session::new(Cpu::host());
    let libxml2 = Libxml2::open();
    let mut namespaces = Namespaces::default();
    let documents: Vec<_> = documents()
        .into_iter()
        .map(|(name, document)| {
            let own = expressions(&document, &session, &mut namespaces);
            (name, document, own)
        })
        .collect();
    let all = |count: usize| {
        let each = documents.iter().map(|(.., own)| spread(own, count.div_ceil(documents.len())));
        let texts: Vec<String> = each.flatten().collect();
        program(&spread(&texts, count), &namespaces)
    };
    let pooled = COUNTS.map(all);
    println!(
        "tier {}; the parse alone in GB/s of CPU time, the others as times it",
        Cpu::host().tier()
    );
    print!("{:20} {:>7}", "document", "parse");
    CONTENDERS.iter().for_each(|name| print!(" {name:>8}"));
    println!(" {:>22}", "libxml2, own 10");
    let mut rows = vec![];
    for (name, document, own) in &documents {
        let programs = COUNTS.map(|count| program(&spread(own, count), &namespaces));
        let mut parser = Parser::new(&session);
        let (mut records, mut bytes) = (vec![Record::default(); 2048], vec![]);
        let mut turns = vec![turn("the parse alone", || {
            parse(&mut parser, &mut records, &mut bytes, document)
        })];
        for (name, program) in CONTENDERS.iter().zip(programs.iter().chain(&pooled)) {
            let mut stream = Stream::new(&session, program);
            turns.push(turn(name, move || {
                black_box(select(&mut stream, document));
            }));
        }
        if let Some(libxml2) = &libxml2 {
            let texts = spread(own, 10);
            let theirs = libxml2.compile(&texts);
            let ours = select(&mut Stream::new(&session, &programs[1]), document);
            assert_eq!(theirs.run(document, &namespaces.0), ours, "{name}: {texts:?}");
            let namespaces = &namespaces;
            turns.push(turn("libxml2 own 10", move || {
                black_box(theirs.run(document, &namespaces.0));
            }));
        }
        let times = medians("select", name, document.len(), turns);
        let row: Vec<f64> = times.iter().map(|it| it / times[0]).collect();
        let rate = document.len() as f64 / times[0];
        line(name, &[&[rate], &row[1..]].concat());
        rows.push([&[rate], &row[1..]].concat());
    }
    line("geometric mean", &means(&rows));
}

fn line(name: &str, row: &[f64]) {
    print!("{name:20} {:7.2}", row[0]);
    for ratio in &row[1..row.len().min(9)] {
        print!(" {ratio:8.2}");
    }
    for rival in row.iter().skip(9) {
        print!(" {rival:9.1} ({:5.1} x)", rival / row[2]);
    }
    println!();
}
