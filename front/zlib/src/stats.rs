//! What served the calls of this process, printed when it ends if `LOOKASIDE_STATS` asks for it:
//! `1` to the standard error output, a path to append to that file. Where the file is a table
//! ([`shared`]), as `lookaside run` makes one, every process adds to its rows as it counts, so that
//! those that end by `_exit` or a signal are in it too.
//!
//! The environment is looked at with the first count; but for tables, nothing is opened before the
//! end. A child of `fork` counts from zero and prints its own. Without the variable a count costs
//! one load.

mod shared;

use std::{
    ffi::{CStr, OsStr},
    fmt::Write as _,
    fs::OpenOptions,
    io::Write as _,
    os::unix::ffi::OsStrExt,
    sync::atomic::{
        AtomicPtr, AtomicU8, AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use lookaside::fork_generation;

use crate::{device, settings};

/// Who served a call, and why it was that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Path {
    /// A whole stream at once, on the caller's thread.
    CompressWhole,
    /// Pieces of large input that engines of the device compressed.
    CompressDevice,
    /// Pieces that the caller's thread compressed: flushed ones, or the device was not there or
    /// busy.
    CompressPiece,
    /// A stream at level 1, by igzip.
    CompressStream,
    /// A stream above level 1, by zlib-rs: flushed, or of what repeats itself.
    CompressLevel,
    /// By zlib-rs because of the strategy.
    CompressStrategy,
    /// By zlib-rs because of the window.
    CompressWindow,
    /// By zlib-rs because of `Z_PARTIAL_FLUSH` or `Z_BLOCK`.
    CompressFlush,
    /// By zlib-rs because of `deflatePrime` or `deflateTune`.
    CompressBits,
    /// A whole stream at once, on the caller's thread.
    DecompressWhole,
    /// A stream, by the resumable decoder.
    DecompressStream,
    /// A stream, by zlib-rs.
    DecompressOther,
    /// The CPU device's own count of what it did for [`CompressDevice`](Path::CompressDevice).
    Device,
    /// A card's.
    Card,
}

/// The row of each [`Path`].
const NAMES: [&str; 14] = [
    "compress, whole calls",
    "compress, pieces: device",
    "compress, pieces: own thread",
    "compress, stream: igzip",
    "compress, stream: zlib-rs, level",
    "compress, stream: zlib-rs, strategy",
    "compress, stream: zlib-rs, window",
    "compress, stream: zlib-rs, flush",
    "compress, stream: zlib-rs, bits or tuning",
    "decompress, whole calls",
    "decompress, stream",
    "decompress, stream: zlib-rs",
    "device cpu, dc.compress",
    "device qat, dc.compress",
];

#[derive(Default)]
struct Row {
    calls: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
}

static ROWS: [Row; NAMES.len()] = [const {
    Row { calls: AtomicU64::new(0), bytes_in: AtomicU64::new(0), bytes_out: AtomicU64::new(0) }
}; NAMES.len()];

/// Nobody has looked at the environment yet.
const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// The value of the variable, once it is on: a C string that lives as long as the process.
static DESTINATION: AtomicPtr<libc::c_char> = AtomicPtr::new(std::ptr::null_mut());

/// Counts a call that `path` served, with the bytes that it took and gave.
#[inline]
pub fn count(path: Path, bytes_in: usize, bytes_out: usize) {
    if STATE.load(Relaxed) != OFF {
        add(path, [1, bytes_in as u64, bytes_out as u64]);
    }
}

/// Whether anything is counted.
pub(crate) fn is_on() -> bool {
    STATE.load(Relaxed) != OFF
}

/// Counts calls of `path`, with the bytes that they took and gave.
pub(crate) fn count_many(path: Path, counts: [u64; 3]) {
    if is_on() && counts != [0; 3] {
        add(path, counts);
    }
}

#[inline(never)]
fn add(path: Path, counts: [u64; 3]) {
    if STATE.load(Relaxed) == UNKNOWN && !begin() {
        return;
    }
    if shared::count(path as usize, NAMES[path as usize], counts) {
        return;
    }
    begin_anew();
    let row = &ROWS[path as usize];
    for (count, more) in [&row.calls, &row.bytes_in, &row.bytes_out].into_iter().zip(counts) {
        count.fetch_add(more, Relaxed);
    }
}

/// Looks at the environment. Returns whether to count.
#[cold]
fn begin() -> bool {
    let value = settings::environment(c"LOOKASIDE_STATS");
    let Some(value) = value.filter(|v| !matches!(v.to_bytes(), b"" | b"0")) else {
        let _ = STATE.compare_exchange(UNKNOWN, OFF, Relaxed, Relaxed);
        return STATE.load(Relaxed) == ON;
    };
    if shared::begin(&value) {
        STATE.store(ON, Relaxed);
        return true;
    }
    let copy = value.into_raw();
    if DESTINATION.compare_exchange(std::ptr::null_mut(), copy, Release, Acquire).is_err() {
        // Another thread was first.
        // SAFETY: made by `into_raw` above and handed to nobody.
        drop(unsafe { std::ffi::CString::from_raw(copy) });
        return true;
    }
    // SAFETY: a static function. Where registration fails there is no report.
    unsafe { libc::atexit(at_exit) };
    STATE.store(ON, Relaxed);
    true
}

/// In a child of a fork: forgets what its parent has counted.
fn begin_anew() {
    static COUNTED: AtomicU32 = AtomicU32::new(0);
    let here = fork_generation();
    let there = COUNTED.load(Relaxed);
    if there != here && COUNTED.swap(here, Relaxed) == there && there != 0 {
        for count in ROWS.iter().flat_map(|row| [&row.calls, &row.bytes_in, &row.bytes_out]) {
            count.store(0, Relaxed);
        }
    }
}

extern "C" fn at_exit() {
    let _ = std::panic::catch_unwind(|| {
        let destination = DESTINATION.load(Acquire);
        if destination.is_null() {
            return;
        }
        // SAFETY: a C string that is never freed.
        let destination = unsafe { CStr::from_ptr(destination) };
        let report = report();
        match destination.to_bytes() {
            b"1" => {
                let _ = std::io::stderr().write_all(report.as_bytes());
            }
            path => {
                let file =
                    OpenOptions::new().create(true).append(true).open(OsStr::from_bytes(path));
                match file {
                    Ok(mut file) => {
                        let _ = file.write_all(report.as_bytes());
                    }
                    Err(e) => {
                        let path = String::from_utf8_lossy(path);
                        let _ =
                            writeln!(std::io::stderr(), "lookaside: LOOKASIDE_STATS={path}: {e}");
                    }
                }
            }
        }
    });
}

/// The counters as text, one line each.
pub fn report() -> String {
    begin_anew();
    let mut text = String::new();
    let name = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&name).file_name().unwrap_or_default().to_string_lossy();
    let _ = writeln!(text, "lookaside: libz in process {} ({name})", std::process::id());
    let _ = writeln!(text, "{:42} {:>10} {:>14} {:>14}", "", "calls", "bytes in", "bytes out");
    // The devices' rows come from their own counters.
    for (name, row) in NAMES.iter().zip(&ROWS).take(Path::Device as usize) {
        let calls = row.calls.load(Relaxed);
        if calls > 0 {
            let (bytes_in, bytes_out) = (row.bytes_in.load(Relaxed), row.bytes_out.load(Relaxed));
            let _ = writeln!(text, "{name:42} {calls:>10} {bytes_in:>14} {bytes_out:>14}");
        }
    }
    if let Some((engines, counters)) = device::counters() {
        if counters.engines_missing > 0 {
            let missing = counters.engines_missing;
            let _ = writeln!(text, "engine threads that the system refused: {missing}");
        }
        for op in counters.ops.iter().filter(|op| op.requests > 0) {
            let name = format!("device {}, {} ({engines} engines)", op.device, op.op);
            let (requests, src, dst) = (op.requests, op.src_bytes, op.dst_bytes);
            let _ = writeln!(text, "{name:42} {requests:>10} {src:>14} {dst:>14}");
        }
    }
    text
}
