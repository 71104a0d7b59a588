//! The decoders of `lookaside-wire` on arbitrary bytes: what a client may send to a server, and the other way.
//!
//! What decodes encodes to the same bytes again: each request, answer, session and message has one form.
//!
//! Input: a byte that says what it is; then the bytes.
#![cfg_attr(fuzzing, no_main)]

use lookaside_fuzz::fuzz_target;
use lookaside_wire::{
    Answer, Entry, Record, WORDS,
    control::{ToClient, ToServer},
    session,
};

fn record(bytes: &[u8]) -> Record {
    let mut record = [0; WORDS];
    for (word, bytes) in record.iter_mut().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(whole);
    }
    record
}

fuzz_target!(|input: &[u8]| {
    let Some((kind, bytes)) = input.split_first() else { return };
    match kind % 5 {
        0 => {
            if let Ok(message) = ToServer::decode(bytes) {
                assert_eq!(&message.encode().expect("it was decoded")[..], bytes);
            }
        }
        1 => {
            if let Ok(message) = ToClient::decode(bytes) {
                assert_eq!(&message.encode().expect("it was decoded")[..], bytes);
            }
        }
        2 => {
            if let Ok(spec) = session::decode(bytes) {
                assert_eq!(&session::encode(&spec).expect("it was decoded")[..], bytes);
            }
        }
        3 => {
            let record = record(bytes);
            if let Ok(entry) = Entry::decode(&record) {
                assert_eq!(entry.encode().expect("it was decoded"), record);
            }
        }
        _ => {
            if let Ok(answer) = Answer::decode(&record(bytes)) {
                let again = Answer::decode(&answer.encode().expect("it was decoded"));
                assert_eq!(again, Ok(answer));
            }
        }
    }
});
