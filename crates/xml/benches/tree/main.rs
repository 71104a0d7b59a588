//! Documents to trees, one core, beside libxml2 and the crate `roxmltree`: `make bench-xml`.
//!
//! Every document of the folder `LOOKASIDE_XML_DOCUMENTS` (whatever ends in `.xml`): GB/s of CPU time, medians of interleaved
//! rounds, trees freed; ours keep their memory, as libxml2's allocator does. The numbers of elements and attributes are compared.

#[path = "../contest/mod.rs"]
mod contest;
#[macro_use]
#[path = "../loader/mod.rs"]
mod loader;

use std::ffi::{c_char, c_int};
use std::hint::black_box;
use std::ptr::null;

use contest::{documents, means, medians, turn};
use loader::P;
use lookaside_simd::Cpu;
use lookaside_xml::Session;
use lookaside_xml::tree::{Kind, Node, Tree, Trees};

functions! {
    xmlReadMemory: fn(*const u8, c_int, *const c_char, *const c_char, c_int) -> P;
    xmlFreeDoc: fn(P);
}

/// XML_PARSE_NOENT, XML_PARSE_HUGE.
const OPTIONS: c_int = 1 << 1 | 1 << 19;

impl Libxml2 {
    fn parse(&self, document: &[u8]) {
        // SAFETY: readable bytes; the tree is freed once.
        unsafe {
            let (start, len) = (document.as_ptr(), document.len() as c_int);
            let tree = (self.xmlReadMemory)(start, len, null(), null(), OPTIONS);
            assert!(!tree.is_null(), "libxml2");
            (self.xmlFreeDoc)(tree);
        }
    }
}

fn rival(document: &str) -> Result<roxmltree::Document<'_>, roxmltree::Error> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(document, options)
}

fn main() {
    let libxml2 = Libxml2::open();
    let session = Session::new(Cpu::host());
    println!("tier {}; GB/s of CPU time (and times the rival)", Cpu::host().tier());
    println!(
        "{:20} {:>9} {:>7} {:>7} {:>17} {:>17}",
        "document", "bytes", "B/node", "tree", "roxmltree", "libxml2"
    );
    let mut all = vec![];
    for (name, document) in documents() {
        let text = String::from_utf8(document).expect("UTF-8");
        let tree = Tree::parse(text.as_bytes(), &session).expect("a document");
        let count =
            |kind| tree.subtree(Node::DOCUMENT).filter(|node| tree.kind(*node) == kind).count();
        let ours = (count(Kind::Element), count(Kind::Attribute));
        match rival(&text) {
            Ok(theirs) => {
                let elements = theirs.descendants().filter(roxmltree::Node::is_element).count();
                let attributes = theirs.descendants().map(|it| it.attributes().len()).sum();
                // It adds no defaults of attributes.
                let attributes = if text.contains("<!ATTLIST") { ours.1 } else { attributes };
                assert_eq!((elements, attributes), ours, "roxmltree {name}");
            }
            Err(error) => eprintln!("bench-xml: roxmltree refuses {name}: {error}"),
        }
        let mut trees = Trees::new(&session);
        let mut turns = vec![
            turn("Lookaside", || {
                let tree = black_box(trees.parse(text.as_bytes())).expect("a document");
                trees.give_back(tree);
            }),
            turn("roxmltree", || {
                let _ = black_box(rival(&text));
            }),
        ];
        if let Some(it) = &libxml2 {
            turns.push(turn("libxml2", || it.parse(text.as_bytes())));
        }
        let times = medians("tree", &name, text.len(), turns);
        let rates: Vec<f64> = times.iter().map(|it| text.len() as f64 / it).collect();
        line(&name, text.len(), text.len() as f64 / tree.len() as f64, &rates);
        all.push(rates);
    }
    line("geometric mean", 0, 0.0, &means(&all));
}

fn line(name: &str, len: usize, node: f64, rates: &[f64]) {
    print!("{name:20} {len:9} {node:7.1} {:7.3}", rates[0]);
    for rival in &rates[1..] {
        print!(" {rival:8.3} ({:4.1} x)", rates[0] / rival);
    }
    println!();
}
