//! XML Schema: a schema, a zero byte, and a document; any bytes. The schema is refused with its faults, or the document is validated,
//! whole and in chunks: the same faults, and the same error.
#![cfg_attr(fuzzing, no_main)]

use std::sync::Arc;

use lookaside_fuzz::fuzz_target;
use lookaside_simd::Cpu;
use lookaside_xml::xsd::{Rule, Schema, Stream};
use lookaside_xml::{Error, Session};

fuzz_target!(|input: &[u8]| {
    let Some(middle) = input.iter().position(|&byte| byte == 0) else { return };
    let (schema, document) = (&input[..middle], &input[middle + 1..]);
    let Ok(schema) = Schema::compile(schema, |_namespace, _location| None) else { return };
    let schema = Arc::new(schema);
    let whole = faults(&schema, document, document.len().max(1));
    assert_eq!(faults(&schema, document, 1), whole);
    assert_eq!(faults(&schema, document, 7), whole);
});

/// Rules, paths and places. (A message about characters between elements has those of the first chunk.)
type Faults = Vec<(Rule, String, u64)>;

fn faults(schema: &Arc<Schema>, document: &[u8], step: usize) -> (Faults, Option<Error>) {
    let mut stream = Stream::new(&Session::new(Cpu::host()), schema);
    let mut from = 0;
    loop {
        let end = document.len().min(from + step);
        if let Err(error) = stream.feed(&document[from..end], end == document.len()) {
            return (vec![], Some(error));
        }
        if end == document.len() {
            let faults = stream.take_errors().into_iter();
            return (faults.map(|it| (it.rule, it.path, it.offset)).collect(), None);
        }
        from = end;
    }
}
