//! XML Schema 1.0: own cases for every type, facet and construct, beside libxml2.
//!
//! A case has a schema, documents that are valid, and documents with the rule that each breaks first. libxml2's verdict is compared,
//! but where a case says why it is another one.

mod constructs;
mod documents;
mod identity;
#[path = "../libxml2/mod.rs"]
mod libxml2;
mod random;
mod schemas;
mod types;
mod values;

use std::sync::{Arc, LazyLock};

use libxml2::Library;
use lookaside_simd::Cpu;
use lookaside_xml::Session;
use lookaside_xml::xsd::{Invalid, Schema, Stream};

static LIBXML2: LazyLock<Option<Library>> = LazyLock::new(Library::open);

/// A schema document without target namespace, around some components.
fn schema_text(components: &str) -> String {
    format!("<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'>{components}</xs:schema>")
}

fn compile(text: &str) -> Arc<Schema> {
    match Schema::compile(text.as_bytes(), |_, _| None) {
        Ok(schema) => Arc::new(schema),
        Err(errors) => panic!("{}\n{text}", errors[0]),
    }
}

/// The errors of a document that arrives whole, after a comparison with the same in small parts.
fn validate(schema: &Arc<Schema>, document: &str) -> Vec<Invalid> {
    let session = Session::new(Cpu::host());
    let mut stream = Stream::new(&session, schema);
    stream.feed(document.as_bytes(), true).unwrap_or_else(|e| panic!("{e}\n{document}"));
    let whole = stream.take_errors();
    stream.reset();
    let bytes = document.as_bytes();
    for (n, chunk) in bytes.chunks(7).enumerate() {
        stream.feed(chunk, (n + 1) * 7 >= bytes.len()).unwrap();
    }
    assert_eq!(stream.take_errors(), whole, "{document}");
    whole
}

/// What libxml2 says of a document, if it is there.
fn theirs(schema: &str, document: &str) -> Option<bool> {
    let library = LIBXML2.as_ref()?;
    let schema = library.schema(schema).unwrap_or_else(|| panic!("libxml2 refuses\n{schema}"));
    let parsed = library.parse(document).unwrap_or_else(|| panic!("libxml2 refuses\n{document}"));
    Some(schema.is_valid(&parsed))
}

/// Documents of a schema: `Ok`, or the rule of the first error. `differs`: libxml2 says otherwise, and why it is wrong.
struct Case<'a> {
    document: &'a str,
    expected: Result<(), &'a str>,
    differs: Option<&'a str>,
}

fn valid(document: &str) -> Case<'_> {
    Case { document, expected: Ok(()), differs: None }
}

fn invalid<'a>(document: &'a str, rule: &'a str) -> Case<'a> {
    Case { document, expected: Err(rule), differs: None }
}

impl<'a> Case<'a> {
    fn differs(self, why: &'a str) -> Case<'a> {
        Case { differs: Some(why), ..self }
    }
}

fn check(components: &str, cases: &[Case<'_>]) {
    check_whole(&schema_text(components), cases);
}

fn check_whole(text: &str, cases: &[Case<'_>]) {
    let schema = compile(text);
    for Case { document, expected, differs } in cases {
        let errors = validate(&schema, document);
        let first = errors.first().map_or(Ok(()), |it| Err(it.rule.name()));
        assert_eq!(first, *expected, "{document}\n{text}\n{errors:?}");
        if let Some(theirs) = theirs(text, document) {
            let same = theirs == expected.is_ok();
            match differs {
                None => assert!(same, "libxml2 says {theirs}: {document}\n{text}\n{errors:?}"),
                Some(why) => assert!(!same, "libxml2 agrees: {document}: {why}"),
            }
        }
    }
}
