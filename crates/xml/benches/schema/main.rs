//! Validation by XML Schema, one core, beside libxml2, which is loaded from the system: `make bench-xml`.
//!
//! The track of the folder `LOOKASIDE_XML_DOCUMENTS` by GPX 1.1, and orders with keys by a schema of every kind of facet: GB/s of CPU
//! time, medians of interleaved rounds. All contenders parse and validate, and must find the documents valid, and invalid after a
//! change.

#[path = "../contest/mod.rs"]
mod contest;
#[macro_use]
#[path = "../loader/mod.rs"]
mod loader;
mod rivals;

use std::sync::Arc;

use contest::{medians, turn};
use lookaside_simd::Cpu;
use lookaside_xml::Session;
use lookaside_xml::xsd::{Schema, Stream};
use rivals::Libxml2;

/// The track of the collection, which is of GPX 1.0, as GPX 1.1 has it.
fn track() -> Option<String> {
    let folder = std::env::var_os("LOOKASIDE_XML_DOCUMENTS")?;
    let text = std::fs::read_to_string(std::path::Path::new(&folder).join("track.gpx.xml")).ok()?;
    let text = text.replace("GPX/1/0", "GPX/1/1").replace("version=\"1.0\"\n", "version=\"1.1\"\n");
    let begin = text.find("<time>")?;
    let end = begin + text[begin..].find("<wpt")?;
    let mut text =
        format!("{}<metadata>\n{}</metadata>\n{}", &text[..begin], &text[begin..end], &text[end..]);
    // The type of a track follows its number.
    while let Some(at) = text.find("<trk>\n  <type>") {
        let from = at + "<trk>\n".len();
        let line = from + text[from..].find('\n')? + 1;
        let moved = text[from..line].to_owned();
        let to = line + text[line..].find("<trkseg>")?;
        text = format!("{}{}{moved}{}", &text[..from], &text[line..to], &text[to..]);
    }
    Some(text)
}

fn orders() -> String {
    use std::fmt::Write;
    let mut text = "<shop xmlns='urn:orders'>\n".to_owned();
    for n in 0..400 {
        let (day, cents) = (n % 28 + 1, n % 100);
        writeln!(
            text,
            "  <product sku='ABC-{n:04}' tags='red round'><title>Product number {n}</title><price>{n}.{cents:02}</price><since>2020-05-{day:02}</since></product>"
        )
        .unwrap();
    }
    for n in 0..800 {
        let state = ["open", "paid", "sent"][n % 3];
        writeln!(
            text,
            "  <order number='{n}' state='{state}'><placed>2021-03-04T05:06:{:02}Z</placed>",
            n % 60
        )
        .unwrap();
        for line in 0..3 {
            writeln!(
                text,
                "    <line product='ABC-{:04}' count='{}'/>",
                (n * 7 + line) % 400,
                line + 1
            )
            .unwrap();
        }
        text += "  </order>\n";
    }
    text + "</shop>\n"
}

fn main() {
    let gpx = include_str!("../../tests/data/gpx11.xsd");
    let keys = include_str!("../../tests/data/orders.xsd");
    let mut all = vec![("orders with keys", keys, orders(), ("state='paid'", "state='lost'"))];
    match track() {
        Some(track) => all.insert(0, ("track.gpx by GPX 1.1", gpx, track, ("<ele>7", "<ele>x"))),
        None => eprintln!("bench-xml: no track.gpx.xml in LOOKASIDE_XML_DOCUMENTS"),
    }
    let libxml2 = Libxml2::open().map(Libxml2::silent);
    let session = Session::new(Cpu::host());
    println!("tier {}; GB/s of CPU time (and times the rival)", Cpu::host().tier());
    println!(
        "{:24} {:>9} {:>7} {:>21} {:>21}",
        "document", "bytes", "ours", "libxml2 SAX plug", "libxml2 tree"
    );
    for (name, schema_text, document, (before, after)) in all {
        let schema =
            Arc::new(Schema::compile(schema_text.as_bytes(), |_, _| None).expect("a schema"));
        let mut stream = Stream::new(&session, &schema);
        let mut ours = |document: &str| {
            stream.reset();
            stream.feed(document.as_bytes(), true).expect("a document");
            stream.is_valid()
        };
        let wrong = document.replacen(before, after, 1);
        assert!(wrong != document && ours(&document) && !ours(&wrong), "{name}");
        let theirs = libxml2.as_ref().map(|it| it.schema(schema_text));
        let mut turns = vec![turn("Lookaside", || assert!(ours(&document)))];
        if let Some(theirs) = &theirs {
            assert!(theirs.plug(&document) && !theirs.plug(&wrong), "{name}: libxml2");
            assert!(theirs.tree(&document) && !theirs.tree(&wrong), "{name}: libxml2");
            turns.push(turn("libxml2 SAX plug", || assert!(theirs.plug(&document))));
            turns.push(turn("libxml2 tree", || assert!(theirs.tree(&document))));
        }
        let times = medians("schema", name, document.len(), turns);
        let rates: Vec<f64> = times.iter().map(|it| document.len() as f64 / it).collect();
        print!("{name:24} {:9} {:7.3}", document.len(), rates[0]);
        for rival in &rates[1..] {
            print!(" {rival:11.4} ({:5.1} x)", rates[0] / rival);
        }
        println!();
    }
}
