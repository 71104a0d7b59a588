//! XML to events, one core, beside libxml2's SAX2 and expat, which are loaded from the system, and the crate `quick-xml`:
//! `make bench-xml`.
//!
//! Every document of the folder `LOOKASIDE_XML_DOCUMENTS` (whatever ends in `.xml`): GB/s of CPU time, medians of interleaved
//! rounds, geometric means and ratios. Counts of elements and attributes, and a sum of the text's bytes, are compared.
//! `LOOKASIDE_CPU=avx2` caps our tier.

#[path = "../contest/mod.rs"]
mod contest;
mod rivals;

use std::hint::black_box;

use contest::{documents, means, medians, turn};
use lookaside_simd::Cpu;
use lookaside_xml::kernel::{Index, Isa};
use lookaside_xml::{Kind, Output, Parser, Record, Session, Status};
use rivals::{Expat, Libxml2, quick_xml};

/// What all parsers are to agree on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) elements: u64,
    pub(crate) attributes: u64,
    pub(crate) text_bytes: u64,
    pub(crate) text_sum: u64,
}

impl Sums {
    pub(crate) fn text(&mut self, text: &[u8]) {
        self.text_bytes += text.len() as u64;
        self.text_sum += text.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    }
}

fn parse(
    parser: &mut Parser,
    records: &mut [Record],
    bytes: &mut Vec<u8>,
    document: &[u8],
    mut each: impl FnMut(&Record, &[u8], &[u8]),
) {
    parser.reset();
    let mut rest = document;
    loop {
        bytes.clear();
        let mut out = Output::new(records, bytes);
        let progress = parser.feed(rest, true, &mut out);
        for record in out.filled() {
            each(record, rest, out.bytes);
        }
        rest = &rest[progress.consumed..];
        match progress.status {
            Status::Finished => return,
            Status::Full => {}
            other => panic!("{other:?}"),
        }
    }
}

fn sums(session: &Session, document: &[u8]) -> (Sums, u64) {
    let mut parser = Parser::new(session);
    let (mut records, mut bytes) = (vec![Record::default(); 4096], vec![]);
    let (mut sums, mut count) = (Sums::default(), 0);
    parse(&mut parser, &mut records, &mut bytes, document, |record, chunk, bytes| {
        count += 1;
        match record.kind {
            Kind::StartElement => sums.elements += 1,
            Kind::Attribute => sums.attributes += 1,
            Kind::Text => sums.text(record.text(chunk, bytes)),
            _ => {}
        }
    });
    (sums, count)
}

fn main() {
    let (libxml2, expat) = (Libxml2::open(), Expat::open());
    let session = Session::new(Cpu::host());
    println!("tier {}; GB/s of CPU time (and times the rival)", Cpu::host().tier());
    println!(
        "{:24} {:>9} {:>7} {:>7} {:>7} {:>15} {:>15} {:>15}",
        "document", "bytes", "B/rec", "index", "events", "quick-xml", "libxml2 SAX2", "expat, ns"
    );
    let mut all = vec![];
    for (name, document) in documents() {
        let (expected, count) = sums(&session, &document);
        for (who, theirs) in [
            ("libxml2", libxml2.as_ref().map(|it| it.sums(&document))),
            ("expat", expat.as_ref().map(|it| it.sums(&document))),
        ] {
            if let Some(theirs) = theirs {
                assert_eq!(theirs, expected, "{who} {name}");
            }
        }
        let (elements, attributes) = quick_xml(&document);
        // It adds no defaults of attributes.
        let declares = document.windows(9).any(|it| it == b"<!ATTLIST");
        assert_eq!(elements, expected.elements, "quick-xml {name}");
        assert!(declares || attributes >= expected.attributes, "quick-xml {name}");
        let isa = Isa::new(Cpu::host());
        let mut index = Index::default();
        let mut parser = Parser::new(&session);
        let (mut records, mut bytes) = (vec![Record::default(); 4096], vec![]);
        let mut turns = vec![
            turn("index alone", || {
                for window in document.chunks(16 << 10) {
                    black_box(index.fill(isa, window));
                }
            }),
            turn("Lookaside", || {
                parse(&mut parser, &mut records, &mut bytes, &document, |record, _, _| {
                    black_box(record.kind);
                })
            }),
            turn("quick-xml", || {
                black_box(quick_xml(&document));
            }),
        ];
        if let Some(it) = &libxml2 {
            turns.push(turn("libxml2 SAX2", || it.parse(&document)));
        }
        if let Some(it) = &expat {
            turns.push(turn("expat", || it.parse(&document)));
        }
        let times = medians("events", &name, document.len(), turns);
        let rates: Vec<f64> = times.iter().map(|it| document.len() as f64 / it).collect();
        line(&name, document.len(), document.len() as f64 / count as f64, &rates);
        if document.len() < 1000 {
            println!("{:24} {:.3} us a document", "", document.len() as f64 / rates[1] / 1e3);
        }
        all.push(rates);
    }
    line("geometric mean", 0, 0.0, &means(&all));
}

fn line(name: &str, len: usize, record: f64, rates: &[f64]) {
    print!("{name:24} {len:9} {record:7.1} {:7.2} {:7.2}", rates[0], rates[1]);
    for rival in &rates[2..] {
        print!(" {rival:7.3} ({:4.1} x)", rates[1] / rival);
    }
    println!();
}
