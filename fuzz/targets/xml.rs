//! XML: any bytes, whole and in chunks with small outputs: the same events, and the same error. What stands behind a byte 255
//! lies outside of the document, under the name `1`, `2` and so on. A tree of it has the same verdict. Its values, and what XPath
//! expressions select, are characters.
#![cfg_attr(fuzzing, no_main)]

use std::sync::{Arc, LazyLock};

use lookaside_fuzz::fuzz_target;
use lookaside_simd::{Cpu, Tier};
use lookaside_xml::select::{Program, Stream};
use lookaside_xml::tree::{Node, ParseError, Tree};
use lookaside_xml::xpath::XPath;
use lookaside_xml::{
    Error, External, Kind, Limits, Output, Parser, Record, Resolver, Resource, Session, Status,
};

/// Selects all nodes.
static ALL: LazyLock<Program> = LazyLock::new(|| {
    let all = ["//node()", "//@*"].map(|text| XPath::compile(text, &[]).unwrap());
    Program::compile(&all).unwrap()
});

fuzz_target!(|input: &[u8]| {
    let Some((&options, input)) = input.split_first() else { return };
    let mut parts: Vec<Arc<[u8]>> = input.split(|byte| *byte == 255).map(Into::into).collect();
    let document = parts[0].clone();
    parts.truncate(8);
    let tier = Tier::ALL[usize::from(options & 3)];
    let limits = Limits { amplification_from: 1 << 20, ..Limits::default() };
    let mut session =
        Session::new(&Cpu::with_cap(tier)).namespaces(options & 4 == 0).limits(limits);
    if parts.len() > 1 {
        session = session.resolver(Resolver::new(move |wanted: &External<'_>| {
            let part: usize = wanted.system.parse().ok()?;
            Some(Resource { bytes: parts.get(part)?.clone(), base: wanted.system.into() })
        }));
    }
    let document = &document[..];
    let whole = events(&session, document, document.len().max(1), 4096);
    let step = 1 + usize::from(options >> 3 & 7);
    let records = 1 + usize::from(options >> 6);
    assert_eq!(events(&session, document, step, records), whole);
    let characters = |bytes: &str| assert!(std::str::from_utf8(bytes.as_bytes()).is_ok());
    match Tree::parse(document, &session) {
        Ok(tree) => {
            assert_eq!(whole.1, None);
            tree.subtree(Node::DOCUMENT).for_each(|node| characters(tree.value(node)));
        }
        Err(ParseError::Document(error)) => assert_eq!(whole.1, Some(error)),
        Err(ParseError::Tree(_)) => {}
    }
    let mut stream = Stream::new(&session, &ALL);
    for chunk in document.chunks(step) {
        let done = stream.feed(chunk, false, &mut |one| {
            characters(one.name);
            characters(one.value);
        });
        if done.is_err() {
            break;
        }
    }
});

/// Kinds, names and texts; texts that follow each other are one.
fn events(
    session: &Session,
    document: &[u8],
    step: usize,
    records: usize,
) -> (Vec<u8>, Option<Error>) {
    let mut parser = Parser::new(session);
    let (mut records, mut bytes) = (vec![Record::default(); records], vec![]);
    let (mut all, mut before) = (vec![], Kind::XmlDecl);
    let mut from = 0;
    loop {
        let end = document.len().min(from + step);
        let chunk = &document[from..end];
        let mut out = Output::new(&mut records, &mut bytes);
        let progress = parser.feed(chunk, end == document.len(), &mut out);
        for record in out.filled() {
            if record.kind != Kind::Text || before != Kind::Text {
                all.push(record.kind as u8);
            }
            before = record.kind;
            all.extend(out.text(record, chunk));
            if matches!(record.kind, Kind::StartElement | Kind::Attribute | Kind::EndElement) {
                all.extend(parser.qname(record.name));
            }
        }
        bytes.clear();
        from += progress.consumed;
        match progress.status {
            Status::NeedInput | Status::Full => {}
            Status::Finished => return (all, None),
            Status::Failed(error) => return (all, Some(error)),
        }
    }
}
