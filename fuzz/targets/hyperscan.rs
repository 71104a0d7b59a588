//! Hyperscan's interface under arbitrary sequences of calls.
//!
//! The input is a program: a byte names a call, the next ones its arguments. Whatever the program does,
//!
//! * the matches of a stream are those of the bytes that were written to it, however these were cut, and whether the stream
//!   was copied, compressed and expanded, or reset meanwhile, and whether its database was serialised before;
//! * the matches of a block and of several pieces are those of the bytes;
//! * a callback that ends a scan is not called again;
//! * changed bytes of a database or a stream are refused, or are one that can be used and freed;
//! * what is not valid is refused with its error, and `free` gets what `alloc` gave.
#![cfg_attr(fuzzing, no_main)]

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void},
    ptr::{null, null_mut},
};

use lookaside_fuzz::fuzz_target;
use lookaside_hs::{abi::*, compile::*, database::*, error::*, scan::*, scratch::*, stream::*};
use lookaside_scan::generate::{Choices, Kind, case, data};
use lookaside_scan::syntax::Pattern;
use lookaside_scan::{Match, reference};

const STREAMS: usize = 4;

fuzz_target!(|input: &[u8]| {
    let mut choices = Choices::from_bytes(input);
    let Some(mut caller) = Caller::start(&mut choices) else { return };
    for _ in 0..1 + choices.below(48) {
        caller.step(&mut choices);
    }
    caller.finish();
});

/// A stream, with what was written to it and reported of it.
struct Stream {
    stream: *mut lookaside_hs::stream::Stream,
    text: Vec<u8>,
    found: Found,
}

/// The matches that were reported.
#[derive(Clone, Default)]
struct Found {
    matches: Vec<Match>,
    /// So many more may come; then the callback ends the scan.
    room: Option<usize>,
    ended: bool,
}

unsafe extern "C" fn on_match(
    id: c_uint,
    start: c_ulonglong,
    end: c_ulonglong,
    flags: c_uint,
    found: *mut c_void,
) -> c_int {
    // SAFETY: the pointer that the calls below give.
    let found = unsafe { &mut *found.cast::<Found>() };
    assert!(!found.ended && flags == 0, "called again");
    found.matches.push(Match { end, id, start });
    match &mut found.room {
        Some(0) => found.ended = true,
        Some(room) => *room -= 1,
        None => {}
    }
    c_int::from(found.ended)
}

struct Caller {
    patterns: Vec<Pattern>,
    /// The same patterns for blocks, streams and several pieces.
    databases: [*mut Database; 3],
    scratch: *mut Scratch,
    streams: Vec<Stream>,
}

impl Caller {
    fn start(choices: &mut Choices<'_>) -> Option<Caller> {
        let kind = Kind {
            unicode: choices.chance(20),
            assertions: choices.chance(40),
            broken: choices.chance(10),
            parameters: choices.chance(20),
        };
        let (mut texts, mut flags, mut extended, mut patterns) = (vec![], vec![], vec![], vec![]);
        for id in 0..1 + choices.below(3) as u32 {
            let case = case(choices, kind);
            if case.expression.contains(&0) {
                continue;
            }
            patterns.push(Pattern::parse(id, &case.expression, case.flags, case.extended));
            texts.push([&case.expression[..], &[0]].concat());
            flags.push(case.flags.bits());
            extended.push(extended_of(&case.extended));
        }
        let ids: Vec<c_uint> = patterns.iter().flatten().map(|pattern| pattern.id).collect();
        let all_parse = !texts.is_empty() && ids.len() == texts.len();
        let texts: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr().cast()).collect();
        let extended: Vec<*const ExpressionExtended> =
            extended.iter().map(|e| e as *const _).collect();
        let modes = [HS_MODE_BLOCK, HS_MODE_STREAM | HS_MODE_SOM_HORIZON_LARGE, HS_MODE_VECTORED];
        let mut databases = [null_mut(); 3];
        let ids_for_c: Vec<c_uint> = (0..texts.len() as c_uint).collect();
        let ids = if all_parse { &ids } else { &ids_for_c };
        for (mode, database) in modes.into_iter().zip(&mut databases) {
            let mut error = null_mut::<CompileError>();
            // SAFETY: arrays of equal lengths.
            let result = unsafe {
                hs_compile_ext_multi(
                    texts.as_ptr(),
                    flags.as_ptr(),
                    ids.as_ptr(),
                    extended.as_ptr(),
                    texts.len() as c_uint,
                    mode,
                    null(),
                    database,
                    &mut error,
                )
            };
            if result != HS_SUCCESS {
                assert!(database.is_null() && !error.is_null());
                // SAFETY: an error that was given just now.
                unsafe {
                    assert!(!CStr::from_ptr((*error).message).is_empty());
                    assert_eq!(hs_free_compile_error(error), HS_SUCCESS);
                }
            }
        }
        let usable = all_parse && databases.iter().all(|database| !database.is_null());
        let mut scratch = null_mut();
        for database in databases {
            // SAFETY: a database, or null.
            unsafe {
                if usable {
                    assert_eq!(hs_alloc_scratch(database, &mut scratch), HS_SUCCESS);
                } else {
                    assert_eq!(hs_free_database(database), HS_SUCCESS);
                }
            }
        }
        let patterns = patterns.into_iter().flatten().collect();
        usable.then_some(Caller { patterns, databases, scratch, streams: vec![] })
    }

    /// Whether all that there is to be found has been found.
    fn check(&self, text: &[u8], found: &Found) {
        let mut expected = reference::reports(&self.patterns, text);
        let mut found_matches = found.matches.clone();
        for all in [&mut expected, &mut found_matches] {
            reference::comparable(&self.patterns, text, all);
        }
        if found.ended {
            let all_expected = found_matches.iter().all(|one| expected.contains(one));
            assert!(all_expected, "{:?} on {}", self.patterns, text.escape_ascii());
        } else {
            assert_eq!(found_matches, expected, "{:?} on {}", self.patterns, text.escape_ascii());
        }
    }

    fn text(&self, choices: &mut Choices<'_>) -> Vec<u8> {
        let near = &self.patterns[choices.below(self.patterns.len())];
        let utf8 = self.patterns.iter().any(|one| one.flags.utf8);
        let mut text = data(choices, &near.node, utf8);
        text.truncate(2000);
        text
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        match choices.below(12) {
            0 => self.open(),
            1..=3 => self.write(choices),
            4 => self.copy(choices),
            5 => self.compress(choices),
            6 => self.reset(choices),
            7 => {
                if let Some(stream) = (!self.streams.is_empty()).then(|| self.streams.remove(0)) {
                    self.close(stream);
                }
            }
            8 => self.blocks(choices),
            9 => self.serialise(choices),
            10 => self.scratches(),
            _ => self.refusals(),
        }
    }

    fn open(&mut self) {
        let mut stream = null_mut();
        // SAFETY: a database.
        let result = unsafe { hs_open_stream(self.databases[1], 0, &mut stream) };
        assert_eq!(result, HS_SUCCESS);
        self.keep(Stream { stream, text: vec![], found: Found::default() });
    }

    fn keep(&mut self, stream: Stream) {
        self.streams.push(stream);
        if self.streams.len() > STREAMS {
            let oldest = self.streams.remove(0);
            self.close(oldest);
        }
    }

    fn write(&mut self, choices: &mut Choices<'_>) {
        if self.streams.is_empty() {
            return self.open();
        }
        let piece = self.text(choices);
        let index = choices.below(self.streams.len());
        let stream = &mut self.streams[index];
        if choices.chance(10) {
            stream.found.room = Some(choices.below(4));
        }
        let ended = stream.found.ended;
        // SAFETY: a stream, a scratch of its database, readable bytes.
        let result = unsafe {
            hs_scan_stream(
                stream.stream,
                piece.as_ptr().cast(),
                piece.len() as c_uint,
                0,
                self.scratch,
                Some(on_match),
                (&raw mut stream.found).cast(),
            )
        };
        assert_eq!(result, if stream.found.ended { HS_SCAN_TERMINATED } else { HS_SUCCESS });
        if !ended {
            stream.text.extend(piece);
        }
    }

    fn close(&self, mut stream: Stream) {
        // SAFETY: a stream that nobody uses any more.
        let result = unsafe {
            hs_close_stream(
                stream.stream,
                self.scratch,
                Some(on_match),
                (&raw mut stream.found).cast(),
            )
        };
        assert!(result == HS_SUCCESS || stream.found.ended && result == HS_SCAN_TERMINATED);
        self.check(&stream.text, &stream.found);
    }

    fn copy(&mut self, choices: &mut Choices<'_>) {
        if self.streams.is_empty() {
            return;
        }
        let from = choices.below(self.streams.len());
        let to = choices.below(self.streams.len());
        let (text, found) = (self.streams[from].text.clone(), self.streams[from].found.clone());
        let source = self.streams[from].stream;
        if choices.chance(50) {
            let stream = &mut self.streams[to];
            let into = stream.stream;
            // SAFETY: two streams of one database.
            let result = unsafe {
                hs_reset_and_copy_stream(
                    into,
                    source,
                    self.scratch,
                    Some(on_match),
                    (&raw mut stream.found).cast(),
                )
            };
            if from == to {
                return assert_eq!(result, HS_INVALID);
            }
            let before = std::mem::replace(&mut stream.found, found);
            let written = std::mem::replace(&mut stream.text, text);
            assert!(result == HS_SUCCESS || before.ended && result == HS_SCAN_TERMINATED);
            return self.check(&written, &before);
        }
        let mut stream = null_mut();
        // SAFETY: a stream.
        assert_eq!(unsafe { hs_copy_stream(&mut stream, source) }, HS_SUCCESS);
        self.keep(Stream { stream, text, found });
    }

    fn reset(&mut self, choices: &mut Choices<'_>) {
        if self.streams.is_empty() {
            return;
        }
        let index = choices.below(self.streams.len());
        let stream = &mut self.streams[index];
        // SAFETY: a stream.
        let result = unsafe {
            hs_reset_stream(
                stream.stream,
                0,
                self.scratch,
                Some(on_match),
                (&raw mut stream.found).cast(),
            )
        };
        let before = std::mem::take(&mut stream.found);
        let written = std::mem::take(&mut stream.text);
        assert!(result == HS_SUCCESS || before.ended && result == HS_SCAN_TERMINATED);
        self.check(&written, &before);
    }

    fn compress(&mut self, choices: &mut Choices<'_>) {
        if self.streams.is_empty() {
            return;
        }
        let index = choices.below(self.streams.len());
        let source = &self.streams[index];
        let (text, found, mut used) = (source.text.clone(), source.found.clone(), 0);
        // SAFETY: a stream, and as much room as is said.
        let mut bytes = unsafe {
            let none = hs_compress_stream(source.stream, null_mut(), 0, &mut used);
            assert_eq!(none, HS_INSUFFICIENT_SPACE);
            let mut bytes = vec![0_u8; used];
            let into = bytes.as_mut_ptr().cast();
            assert_eq!(hs_compress_stream(source.stream, into, used, &mut used), HS_SUCCESS);
            bytes
        };
        let changed = choices.chance(30) && !bytes.is_empty();
        if changed {
            let at = choices.below(bytes.len());
            bytes[at] ^= 1 << choices.below(8);
            bytes.truncate(bytes.len() - choices.below(3).min(bytes.len() - 1));
        }
        let mut stream = null_mut();
        // SAFETY: readable bytes.
        let result = unsafe {
            hs_expand_stream(self.databases[1], &mut stream, bytes.as_ptr().cast(), bytes.len())
        };
        if !changed {
            assert_eq!(result, HS_SUCCESS);
            return self.keep(Stream { stream, text, found });
        }
        if result != HS_SUCCESS {
            return assert!(stream.is_null());
        }
        let piece = self.text(choices);
        // SAFETY: a stream in some state.
        unsafe {
            hs_scan_stream(
                stream,
                piece.as_ptr().cast(),
                piece.len() as c_uint,
                0,
                self.scratch,
                Some(ignore),
                null_mut(),
            );
            hs_close_stream(stream, self.scratch, Some(ignore), null_mut());
        }
    }

    fn blocks(&mut self, choices: &mut Choices<'_>) {
        let text = self.text(choices);
        let room = choices.chance(20).then(|| choices.below(4));
        let mut found = Found { room, ..Found::default() };
        let mut cuts = [choices.below(text.len() + 1), choices.below(text.len() + 1)];
        cuts.sort_unstable();
        let pieces = [&text[..cuts[0]], &text[cuts[0]..cuts[1]], &text[cuts[1]..]];
        let starts = pieces.map(|piece| piece.as_ptr().cast::<c_char>());
        let lengths = pieces.map(|piece| piece.len() as c_uint);
        let several = choices.chance(50);
        let into = (&raw mut found).cast();
        // SAFETY: databases of their modes, readable bytes.
        let result = unsafe {
            if several {
                hs_scan_vector(
                    self.databases[2],
                    starts.as_ptr(),
                    lengths.as_ptr(),
                    3,
                    0,
                    self.scratch,
                    Some(on_match),
                    into,
                )
            } else {
                let (start, length) = (text.as_ptr().cast(), text.len() as c_uint);
                hs_scan(self.databases[0], start, length, 0, self.scratch, Some(on_match), into)
            }
        };
        assert_eq!(result, if found.ended { HS_SCAN_TERMINATED } else { HS_SUCCESS });
        self.check(&text, &found);
    }

    /// A database becomes what its bytes say; changed ones are refused, or give one that works.
    fn serialise(&mut self, choices: &mut Choices<'_>) {
        let index = choices.below(3);
        let (mut bytes, mut length) = (null_mut::<c_char>(), 0);
        // SAFETY: a database.
        let mut copy = unsafe {
            let result = hs_serialize_database(self.databases[index], &mut bytes, &mut length);
            assert_eq!(result, HS_SUCCESS);
            let copy = std::slice::from_raw_parts(bytes.cast::<u8>(), length).to_vec();
            libc::free(bytes.cast());
            copy
        };
        let changed = choices.chance(60);
        if changed {
            let at = choices.below(copy.len());
            copy[at] ^= 1 << choices.below(8);
            copy.truncate(copy.len() - choices.below(3));
        }
        let mut database = null_mut();
        // SAFETY: readable bytes.
        let result =
            unsafe { hs_deserialize_database(copy.as_ptr().cast(), copy.len(), &mut database) };
        if result != HS_SUCCESS {
            assert!(changed && database.is_null());
            return;
        }
        // Streams belong to the database that they were opened with.
        let unused = index != 1 || self.streams.is_empty();
        let (keep, drop) = match !changed && unused {
            true => (database, self.databases[index]),
            false => (self.databases[index], database),
        };
        self.databases[index] = keep;
        // SAFETY: databases that nobody uses.
        unsafe {
            assert_eq!(hs_alloc_scratch(database, &mut self.scratch), HS_SUCCESS);
            assert_eq!(hs_free_database(drop), HS_SUCCESS);
        }
    }

    fn scratches(&mut self) {
        let (mut copy, mut size) = (null_mut(), 0);
        // SAFETY: a scratch.
        unsafe {
            assert_eq!(hs_clone_scratch(self.scratch, &mut copy), HS_SUCCESS);
            assert_eq!(hs_scratch_size(copy, &mut size), HS_SUCCESS);
            assert_eq!(hs_free_scratch(std::mem::replace(&mut self.scratch, copy)), HS_SUCCESS);
        }
        assert!(size > 0);
    }

    fn refusals(&self) {
        let text = c"text".as_ptr();
        let [block, stream, vectored] = self.databases;
        let (scratch, none) = (self.scratch, null_mut::<c_void>());
        // SAFETY: what is not valid is looked at, and not used.
        unsafe {
            assert_eq!(hs_scan(stream, text, 4, 0, scratch, None, none), HS_DB_MODE_ERROR);
            assert_eq!(hs_scan(block, null(), 4, 0, scratch, None, none), HS_INVALID);
            assert_eq!(hs_scan(block, text, 4, 0, null_mut(), None, none), HS_INVALID);
            assert_eq!(hs_scan(null(), text, 4, 0, scratch, None, none), HS_INVALID);
            let mut opened = null_mut();
            assert_eq!(hs_open_stream(block, 0, &mut opened), HS_DB_MODE_ERROR);
            assert_eq!(hs_open_stream(vectored, 0, &mut opened), HS_DB_MODE_ERROR);
            assert_eq!(hs_open_stream(null(), 0, &mut opened), HS_INVALID);
            assert_eq!(hs_close_stream(null_mut(), scratch, None, none), HS_INVALID);
            assert_eq!(hs_clone_scratch(null(), null_mut()), HS_INVALID);
            assert_eq!(hs_free_scratch(null_mut()), HS_SUCCESS);
        }
    }

    fn finish(mut self) {
        for stream in std::mem::take(&mut self.streams) {
            self.close(stream);
        }
        for database in self.databases {
            // SAFETY: nobody uses it any more.
            assert_eq!(unsafe { hs_free_database(database) }, HS_SUCCESS);
        }
        // SAFETY: nobody uses it any more.
        assert_eq!(unsafe { hs_free_scratch(self.scratch) }, HS_SUCCESS);
    }
}

unsafe extern "C" fn ignore(
    _: c_uint,
    _: c_ulonglong,
    _: c_ulonglong,
    _: c_uint,
    _: *mut c_void,
) -> c_int {
    0
}

fn extended_of(from: &lookaside_scan::Extended) -> ExpressionExtended {
    let given = |value: Option<u64>, flag| if value.is_some() { flag } else { 0 };
    ExpressionExtended {
        flags: given(from.min_offset, HS_EXT_FLAG_MIN_OFFSET)
            | given(from.max_offset, HS_EXT_FLAG_MAX_OFFSET)
            | given(from.min_length, HS_EXT_FLAG_MIN_LENGTH),
        min_offset: from.min_offset.unwrap_or(0),
        max_offset: from.max_offset.unwrap_or(0),
        min_length: from.min_length.unwrap_or(0),
        edit_distance: 0,
        hamming_distance: 0,
    }
}
