//! How much memory a document takes while it is parsed to events: hardly any, and the same however long it is. In a process of its own: it
//! counts what is allocated. `LOOKASIDE_XML_MB` says how long the document is.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use lookaside_simd::Cpu;
use lookaside_xml::{Output, Parser, Record, Session, Status};

/// Megabytes where nothing is said.
const USUAL: u64 = 40;
/// Beside the chunk, the records and the texts, which are the caller's.
const MOST: usize = 2 << 20;
const CHUNK: usize = 64 << 10;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counted;

// SAFETY: the system's allocator, and sums.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller's.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

/// Entries of a document, the `number`th chunk of them: names that come again, values that do not.
fn entries(number: u64, chunk: &mut Vec<u8>) {
    chunk.clear();
    for entry in 0.. {
        let id = number * 1_000_003 + entry;
        let text = format!(
            "<entry xml:id=\"e{id}\" kind=\"{}\"><name>Entry &#{};{id} &amp; more &brand;</name>\r\n<empty/><!-- {id} -->\
             <p:text xmlns:p=\"urn:text\"><![CDATA[<{id}>]]> \u{e4}{}</p:text><?mark {id}?></entry>\n",
            id % 7,
            65 + id % 26,
            &"words and words again "[..(id % 22) as usize]
        );
        if chunk.len() + text.len() > CHUNK {
            return;
        }
        chunk.extend(text.as_bytes());
    }
}

#[test]
fn a_document_of_any_length_takes_no_more_memory() {
    let megabytes = std::env::var("LOOKASIDE_XML_MB").ok().and_then(|it| it.parse().ok());
    let length = megabytes.unwrap_or(USUAL) << 20;
    let mut chunk = Vec::with_capacity(CHUNK);
    let (mut records, mut texts) = (vec![Record::default(); 1024], Vec::with_capacity(CHUNK));
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);

    let session = Session::new(Cpu::host());
    let mut parser = Parser::new(&session);
    let (mut fed, mut events, mut number) = (0, 0_u64, 0);
    chunk.extend(
        b"<!DOCTYPE list [<!ENTITY brand 'a &lt; b'><!ATTLIST empty given CDATA 'yes'>]><list>",
    );
    loop {
        let last = fed > length;
        if last {
            chunk.clear();
            chunk.extend(b"</list>");
        }
        let mut rest = &chunk[..];
        let status = loop {
            texts.clear();
            let mut out = Output::new(&mut records, &mut texts);
            let progress = parser.feed(rest, last, &mut out);
            events += out.len as u64;
            rest = &rest[progress.consumed..];
            if progress.status != Status::Full {
                break progress.status;
            }
        };
        fed += chunk.len() as u64;
        match status {
            Status::Finished => break,
            Status::NeedInput => entries(number, &mut chunk),
            other => panic!("{other:?}"),
        }
        number += 1;
    }
    // `format!` is in it, too.
    let most = PEAK.load(Relaxed) - before;
    println!("{fed} bytes, {events} events: at most {most} bytes at one time");
    assert!(most <= MOST, "{most} bytes");
}
