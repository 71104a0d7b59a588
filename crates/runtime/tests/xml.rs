//! XML documents as requests: whole, in pieces, many at once, behind decompression, and refused ones.

use std::time::Duration;

use lookaside::{
    Buf, Compression, Document, DocumentStream, Feed, Format, Handle, InstanceConfig, Match,
    OpError, Response, Runtime, SharedDocument, Status, Xml,
    scan::{Expression, Mode},
    xml::{Events, Kind, Limits, Rule},
};
use lookaside_testkit::Rng;

fn runtime(engines: usize) -> Runtime {
    Runtime::builder().device(lookaside_cpu::cpu()).engines(engines).start().unwrap()
}

fn buf(bytes: &[u8]) -> Buf {
    Buf::from(bytes.to_vec())
}

/// An event, told with names instead of numbers.
type Event = (Kind, String, String);

/// Adds the events of a response; texts that follow each other are one.
fn collect(events: &mut Vec<Event>, document: &SharedDocument, response: &Response) {
    let done = response.result.unwrap();
    let (mut dst, mut src) = (vec![], vec![]);
    response.dst.gather(&mut dst);
    response.src.gather(&mut src);
    let mut named = |document: &dyn Document| {
        for (event, text) in Events::new(&dst[..done.produced], done.checksum, &src) {
            let name = match event.kind {
                Kind::StartElement | Kind::Attribute | Kind::EndElement => {
                    let name = document.name(event.name).unwrap();
                    [document.string(name.uri), document.qname(event.name)].join(&b' ')
                }
                Kind::Namespace | Kind::Pi | Kind::EntityStart | Kind::EntityEnd => {
                    document.string(event.name).to_vec()
                }
                _ => vec![],
            };
            let (name, text) = (String::from_utf8(name), String::from_utf8(text.to_vec()));
            let (name, text) = (name.unwrap(), text.unwrap());
            match events.last_mut() {
                Some((Kind::Text, _, before)) if event.kind == Kind::Text => before.push_str(&text),
                _ => events.push((event.kind, name, text)),
            }
        }
    };
    // The next piece may be executed meanwhile.
    while document.ask(&mut named).unwrap().is_none() {
        std::thread::yield_now();
    }
}

fn whole(handle: &Handle, runtime: &Runtime, text: &[u8]) -> Vec<Event> {
    let documents = runtime.xml(Xml::default()).unwrap();
    let document = documents.document().unwrap();
    let room = Buf::zeroed(text.len() * 32 + 100_000);
    let response = handle.call(documents.parse(&document, buf(text), room)).wait();
    assert_eq!(response.result.unwrap().status, Status::End);
    let mut events = vec![];
    collect(&mut events, &document, &response);
    events
}

/// Parses a piece with destinations of the sizes that `room` says, however often they overflow.
fn piece(
    handle: &Handle,
    stream: &DocumentStream,
    piece: &[u8],
    last: bool,
    mut room: impl FnMut() -> usize,
    events: &mut Vec<Event>,
) -> Result<Status, OpError> {
    let (mut rest, mut more) = (piece, 0);
    loop {
        let dst = Buf::zeroed(room() + more);
        let response = handle.call(stream.parse(buf(rest), dst, last)).wait();
        let done = response.result?;
        collect(events, stream.document(), &response);
        rest = &rest[done.consumed..];
        // The longest value must fit.
        more = if done.produced == 0 { 64 + 2 * more } else { 0 };
        if done.status != Status::Overflow {
            return Ok(done.status);
        }
    }
}

const PARTS: [&str; 14] = [
    "<a/>",
    "<b c='1' d=\"x&amp;y\">",
    "</b>",
    "text",
    "\r\n",
    "&lt;",
    "&e;",
    "<![CDATA[<&]]>",
    "<!-- c -->",
    "<?pi data?>",
    "<p:q xmlns:p='urn:p' p:r='&e;'/>",
    "\u{e4}\u{1f600}",
    "long text of many words. ",
    "<with-a-longer-name-than-sixteen-bytes attribute=' a\tb '/>",
];

fn random_document(rng: &mut Rng, parts: u64) -> String {
    let mut text = String::from("<!DOCTYPE r [<!ENTITY e 'some <x>replacement</x> text'>");
    text.push_str("<!ENTITY f 'no elements'><!ATTLIST a deflt CDATA 'v'>]><r>");
    let mut open = 0;
    for _ in 0..rng.below(parts) {
        let part = PARTS[rng.below(PARTS.len() as u64) as usize];
        match part {
            "</b>" if open == 0 => continue,
            "</b>" => open -= 1,
            part if part.starts_with("<b") => open += 1,
            _ => {}
        }
        // An attribute may have no entity with markup.
        text.push_str(&match part.starts_with("<p") {
            true => part.replace("&e;", "&f;"),
            false => part.to_owned(),
        });
    }
    text.push_str(&"</b>".repeat(open));
    text.push_str("</r><!-- behind -->\n");
    text
}

#[test]
fn pieces_are_as_the_whole() {
    for engines in [0, 1] {
        let runtime = runtime(engines);
        let handle = runtime.handle();
        let documents = runtime.xml(Xml::default()).unwrap();
        let stream = documents.stream().unwrap();
        let mut rng = Rng::new(7);
        for round in 0..300 {
            let text = random_document(&mut rng, 60);
            let expected = whole(&handle, &runtime, text.as_bytes());
            let mut events = vec![];
            let mut rest = text.as_bytes();
            let size = [1, 7, 100, 5000][round % 4];
            loop {
                let (next, behind) = rest.split_at(rest.len().min(1 + rng.below(size) as usize));
                rest = behind;
                let last = rest.is_empty();
                let room = || [0, 16, 50, 300, 10_000][rng.below(5) as usize];
                let status = piece(&handle, &stream, next, last, room, &mut events).unwrap();
                assert_eq!(status == Status::End, last, "{text}");
                if last {
                    break;
                }
            }
            assert_eq!(events, expected, "{text}");
            let ended = handle.call(stream.parse(buf(b"<a/>"), Buf::zeroed(99), true)).wait();
            assert_eq!(ended.result, Err(OpError::StreamEnded));
            assert_eq!(stream.restart(), Ok(Some(true)));
        }
    }
}

#[test]
fn pieces_that_are_submitted_ahead_run_in_their_order() {
    let runtime = runtime(2);
    let config = InstanceConfig { depth: 128, ..InstanceConfig::default() };
    let mut instance = runtime.instance(config).unwrap();
    let documents = runtime.xml(Xml::default()).unwrap();
    let mut rng = Rng::new(8);
    let texts: Vec<String> = (0..40).map(|_| random_document(&mut rng, 200)).collect();
    let streams: Vec<_> = texts.iter().map(|_| documents.stream().unwrap()).collect();
    let mut expected = vec![];
    for text in &texts {
        expected.push(whole(&runtime.handle(), &runtime, text.as_bytes()));
    }
    let mut pieces: Vec<_> = texts.iter().map(|text| text.as_bytes().chunks(97)).collect();
    let mut events = vec![vec![]; texts.len()];
    let (mut sent, mut answered) = (0, 0);
    // Two of each document in flight.
    loop {
        let before = sent;
        for (number, pieces) in pieces.iter_mut().enumerate() {
            for _ in 0..2 {
                let Some(next) = pieces.next() else { break };
                let last = pieces.len() == 0;
                let request = streams[number].parse(buf(next), Buf::zeroed(8000), last);
                instance.push(request.tag(number as u64)).unwrap();
                sent += 1;
            }
        }
        instance.doorbell();
        if sent == before {
            break;
        }
        while answered < sent {
            assert!(instance.wait(Duration::from_secs(20)));
            for response in instance.poll() {
                let number = response.tag as usize;
                collect(&mut events[number], streams[number].document(), &response);
                answered += 1;
            }
        }
    }
    assert_eq!(events, expected);
}

#[test]
fn a_compressed_document_is_one_request_and_may_be_scanned_beside() {
    let runtime = runtime(1);
    let handle = runtime.handle();
    let text = random_document(&mut Rng::new(9), 3000) + "<!-- needle -->";
    let gzip = runtime.compression(Compression::new(Format::Gzip)).unwrap();
    let packed = handle.call(gzip.compress(buf(text.as_bytes()), Buf::zeroed(1 << 20))).wait();
    let packed = packed.dst.as_slice().unwrap()[..packed.result.unwrap().produced].to_vec();
    let documents = runtime.xml(Xml::default()).unwrap();
    let document = documents.document().unwrap();
    let events = |written: &[u8], src: &[u8], count| {
        Events::new(written, count, src).filter(|(event, _)| event.kind == Kind::EndElement).count()
    };
    let expected = whole(&handle, &runtime, text.as_bytes());
    let expected = expected.iter().filter(|event| event.0 == Kind::EndElement).count();
    let needle = Expression { id: 5, text: b"needle".to_vec(), ..Expression::default() };
    let scanner = runtime.scan([needle], Mode::Block).unwrap();
    let room = || Buf::zeroed(1 << 20);
    let request = gzip
        .decompress(buf(&packed), room())
        .then(Feed::Written, documents.parse(&document, Buf::empty(), room()));
    let mut response = handle.call(request.unwrap()).wait();
    let steps = response.take_chain().unwrap().into_steps();
    let (src, done) = (steps[0].request.dst.as_slice().unwrap(), response.result.unwrap());
    assert_eq!((done.consumed, done.status), (text.len(), Status::End));
    let written = &response.dst.as_slice().unwrap()[..done.produced];
    assert_eq!(events(written, src, done.checksum), expected);

    let request = documents
        .parse(&document, buf(text.as_bytes()), room())
        .then(Feed::Same, scanner.scan(Buf::empty(), Buf::zeroed(240)));
    let mut response = handle.call(request.unwrap()).wait();
    let found = Match::of_records(response.dst.as_slice().unwrap()).next().unwrap();
    assert_eq!((response.result.unwrap().produced, found.id), (Match::RECORD, 5));
    let steps = response.take_chain().unwrap().into_steps();
    let done = steps[0].result.unwrap();
    let written = &steps[0].request.dst.as_slice().unwrap()[..done.produced];
    assert_eq!(events(written, text.as_bytes(), done.checksum), expected);
}

#[test]
fn what_is_not_well_formed_is_refused_with_its_place() {
    let runtime = runtime(0);
    let handle = runtime.handle();
    let documents = runtime.xml(Xml::default()).unwrap();
    let document = documents.document().unwrap();
    let parse = |text: &str, room| {
        let request = documents.parse(&document, buf(text.as_bytes()), Buf::zeroed(room));
        handle.call(request).wait().result
    };
    let wrong = OpError::BadDocument { offset: 11, rule: Rule::ElementTypeMatch };
    assert_eq!(parse("<a>\n  <b></a>", 999), Err(wrong));
    assert!(wrong.to_string().ends_with("(byte 11)"), "{wrong}");
    let error = document.ask(|document| document.error()).unwrap().unwrap().unwrap();
    assert_eq!((error.line, error.column, error.rule), (2, 8, Rule::ElementTypeMatch));
    for (text, rule) in [
        ("", Rule::UnexpectedEnd),
        ("<a>", Rule::UnexpectedEnd),
        ("<a b='1' b='2'/>", Rule::UniqueAttSpec),
        ("<p:a/>", Rule::NsPrefixDeclared),
        ("<a/>x", Rule::Document),
        ("<a>\u{1}</a>", Rule::Char),
    ] {
        match parse(text, 999) {
            Err(OpError::BadDocument { rule: found, .. }) => assert_eq!(found, rule, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    // The next document is not concerned.
    assert_eq!(parse("<a/>", 999).unwrap().checksum, 2);
    assert_eq!(parse("<a/>", 31), Err(OpError::DstTooSmall));
    // In a stream the error stays until another document begins.
    let stream = documents.stream().unwrap();
    let feed =
        |text: &str| handle.call(stream.parse(buf(text.as_bytes()), Buf::zeroed(99), false)).wait();
    assert_eq!(feed("<a>").result.unwrap().status, Status::Complete);
    let bad = feed("</b>").result.unwrap_err();
    assert_eq!(feed("</a>").result.unwrap_err(), bad);
    assert!(stream.restart().unwrap().is_some());
    assert_eq!(feed("<abc>").result.unwrap().checksum, 1);
}

#[test]
fn a_session_says_how_documents_are_read() {
    let runtime = runtime(0);
    let handle = runtime.handle();
    let parse = |spec: Xml, text: &[u8]| {
        let documents = runtime.xml(spec).unwrap();
        let document = documents.document().unwrap();
        let response = handle.call(documents.parse(&document, buf(text), Buf::zeroed(999))).wait();
        response.result.map(|_| {
            let mut events = vec![];
            collect(&mut events, &document, &response);
            events
        })
    };
    let plain = Xml { namespaces: false, ..Xml::default() };
    assert_eq!(parse(plain, b"<p:a/>").unwrap()[0].1, " p:a");
    let latin = Xml { encoding: Some("ISO-8859-1".into()), ..Xml::default() };
    assert_eq!(parse(latin, b"<a>\xe4</a>").unwrap()[1].2, "\u{e4}");
    let limits = Limits { depth: 3, ..Limits::default() };
    let shallow = Xml { limits, ..Xml::default() };
    let deep = parse(shallow, b"<a><a><a><a/></a></a></a>");
    assert!(matches!(deep, Err(OpError::BadDocument { rule: Rule::LimitDepth, .. })), "{deep:?}");
    // A list is gathered, and the texts of events lie in all of it.
    let documents = runtime.xml(Xml::default()).unwrap();
    let document = documents.document().unwrap();
    let src = Buf::list(vec![buf(b"<a>te"), buf(b"xt</a>")]);
    let dst = Buf::list(vec![Buf::zeroed(20), Buf::zeroed(200)]);
    let response = handle.call(documents.parse(&document, src, dst)).wait();
    let mut events = vec![];
    collect(&mut events, &document, &response);
    assert_eq!(events[1], (Kind::Text, String::new(), "text".into()));
}
