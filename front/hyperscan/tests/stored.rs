//! A stream is written to a file in the middle, and goes on in another process: the matches are those of one scan.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::path::Path;
use std::process::Command;
use std::ptr::{null, null_mut};

use lookaside_hs::abi::{
    HS_INSUFFICIENT_SPACE, HS_INVALID, HS_MODE_STREAM, HS_SCAN_TERMINATED, HS_SUCCESS,
};
use lookaside_hs::compile::hs_compile_multi;
use lookaside_hs::database::{Database, hs_free_database};
use lookaside_hs::scratch::{Scratch, hs_alloc_scratch, hs_free_scratch};
use lookaside_hs::stream::{
    Stream, hs_close_stream, hs_compress_stream, hs_expand_stream, hs_open_stream, hs_scan_stream,
};

const FOLDER: &str = "LOOKASIDE_TEST_STREAM_FOLDER";
const TEXT: &[u8] =
    b"abbc needle, later (more than a state keeps, so that it is forgotten) needle abbbc 12-34";

type Found = Vec<(u64, u32)>;

unsafe extern "C" fn note(
    id: c_uint,
    _: c_ulonglong,
    end: c_ulonglong,
    _: c_uint,
    all: *mut c_void,
) -> c_int {
    // SAFETY: the vector of the calls below.
    unsafe { (*all.cast::<Found>()).push((end, id)) };
    0
}

/// The patterns, compiled; a scratch for them.
struct Library {
    db: *mut Database,
    scratch: *mut Scratch,
}

impl Library {
    fn new() -> Library {
        let texts: [&CStr; 4] = [c"ab+c", c"abbc.*needle", c"[0-9]+-[0-9]+", c"needle\\b"];
        let texts = texts.map(CStr::as_ptr);
        let (flags, ids) = ([0; 4], [1, 2, 3, 4]);
        let (mut db, mut error, mut scratch) = (null_mut(), null_mut(), null_mut());
        // SAFETY: arrays of four, which outlive the call.
        unsafe {
            let (texts, flags, ids) = (texts.as_ptr(), flags.as_ptr(), ids.as_ptr());
            let status =
                hs_compile_multi(texts, flags, ids, 4, HS_MODE_STREAM, null(), &mut db, &mut error);
            assert_eq!(status, HS_SUCCESS);
            assert_eq!(hs_alloc_scratch(db, &mut scratch), HS_SUCCESS);
        }
        Library { db, scratch }
    }

    fn open(&self) -> *mut Stream {
        let mut stream = null_mut();
        // SAFETY: the database above.
        assert_eq!(unsafe { hs_open_stream(self.db, 0, &mut stream) }, HS_SUCCESS);
        stream
    }

    fn scan(&self, stream: *mut Stream, text: &[u8], found: &mut Found) {
        let (data, len) = (text.as_ptr().cast::<c_char>(), text.len() as c_uint);
        let to = (&raw mut *found).cast();
        // SAFETY: a stream of the database above, with its scratch.
        let status = unsafe { hs_scan_stream(stream, data, len, 0, self.scratch, Some(note), to) };
        // A changed byte may say that a callback has ended the stream.
        assert!([HS_SUCCESS, HS_SCAN_TERMINATED].contains(&status), "{status}");
    }

    fn close(&self, stream: *mut Stream, found: &mut Found) {
        // SAFETY: as above; it is closed once.
        let status =
            unsafe { hs_close_stream(stream, self.scratch, Some(note), (&raw mut *found).cast()) };
        assert_eq!(status, HS_SUCCESS);
    }

    fn expand(&self, bytes: &[u8]) -> Result<*mut Stream, c_int> {
        let mut stream = null_mut();
        // SAFETY: the database above, and bytes that are there.
        let status =
            unsafe { hs_expand_stream(self.db, &mut stream, bytes.as_ptr().cast(), bytes.len()) };
        if status == HS_SUCCESS { Ok(stream) } else { Err(status) }
    }

    fn compress(&self, stream: *const Stream) -> Vec<u8> {
        let mut bytes = vec![0_u8; 65_536];
        let mut used = 0;
        // SAFETY: a stream of the database above, and as much room as is said.
        unsafe {
            assert_eq!(hs_compress_stream(stream, null_mut(), 0, &mut used), HS_INSUFFICIENT_SPACE);
            let needed = used;
            for room in [0, 1, needed - 1] {
                let status = hs_compress_stream(stream, bytes.as_mut_ptr().cast(), room, &mut used);
                assert_eq!((status, used), (HS_INSUFFICIENT_SPACE, needed));
            }
            assert!(bytes.iter().all(|&byte| byte == 0), "too little room, yet written");
            let status = hs_compress_stream(stream, bytes.as_mut_ptr().cast(), needed, &mut used);
            assert_eq!((status, used), (HS_SUCCESS, needed));
        }
        bytes.truncate(used);
        bytes
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: both are freed once.
        unsafe {
            hs_free_scratch(self.scratch);
            hs_free_database(self.db);
        }
    }
}

#[test]
fn a_stream_goes_on_in_another_process() {
    let library = Library::new();
    let mut found = vec![];
    if let Some(folder) = std::env::var_os(FOLDER) {
        let folder = Path::new(&folder);
        let cut: usize = std::fs::read_to_string(folder.join("cut")).unwrap().parse().unwrap();
        let stream = library.expand(&std::fs::read(folder.join("state")).unwrap()).unwrap();
        library.scan(stream, &TEXT[cut..], &mut found);
        library.close(stream, &mut found);
        let lines: String = found.iter().map(|(end, id)| format!("{end} {id}\n")).collect();
        std::fs::write(folder.join("found"), lines).unwrap();
        return;
    }
    let mut whole = vec![];
    let stream = library.open();
    library.scan(stream, TEXT, &mut whole);
    library.close(stream, &mut whole);
    whole.sort_unstable();
    assert_eq!(whole.len(), 8, "{whole:?}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stored-stream");
    std::fs::create_dir_all(&folder).unwrap();
    // In a string, behind one that waits for the next byte, in a gap, in a number.
    for cut in [8, 11, 50, TEXT.len() - 1] {
        let stream = library.open();
        found.clear();
        library.scan(stream, &TEXT[..cut], &mut found);
        std::fs::write(folder.join("state"), library.compress(stream)).unwrap();
        std::fs::write(folder.join("cut"), cut.to_string()).unwrap();
        library.close(stream, &mut vec![]);
        let _ = std::fs::remove_file(folder.join("found"));
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_stream_goes_on_in_another_process"])
            .env(FOLDER, &folder)
            .status();
        assert!(child.unwrap().success());
        for line in std::fs::read_to_string(folder.join("found")).unwrap().lines() {
            let (end, id) = line.split_once(' ').unwrap();
            found.push((end.parse().unwrap(), id.parse().unwrap()));
        }
        found.sort_unstable();
        assert_eq!(found, whole, "cut at {cut}");
    }
}

/// The bytes of a stream may be any: they are refused, or are a state that can be scanned with.
#[test]
fn damaged_bytes_are_refused_or_harmless() {
    let library = Library::new();
    let stream = library.open();
    library.scan(stream, &TEXT[..50], &mut vec![]);
    let bytes = library.compress(stream);
    library.close(stream, &mut vec![]);
    for cut in 0..bytes.len() {
        assert_eq!(library.expand(&bytes[..cut]).err(), Some(HS_INVALID), "cut at {cut}");
    }
    assert_eq!(library.expand(&[&bytes[..], b"\0\0\x01\0a"].concat()).err(), Some(HS_INVALID));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            if let Ok(stream) = library.expand(&changed) {
                library.scan(stream, TEXT, &mut vec![]);
                library.close(stream, &mut vec![]);
            }
        }
    }
}
