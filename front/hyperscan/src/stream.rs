//! Streams: a header, then the set's state, flat bytes, in one piece of memory of the stream allocator.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::{self, null_mut};

use crate::abi::{
    HS_DB_MODE_ERROR, HS_INSUFFICIENT_SPACE, HS_INVALID, HS_MODE_STREAM, HS_SCAN_TERMINATED,
    HS_SUCCESS, OnMatch,
};
use crate::database::{self, Database, Tables};
use crate::guard;
use crate::memory::STREAM;
use crate::scan::Receiver;
use crate::scratch::{self, Scratch};
use crate::stats::{self, Kind};

mod compressed;

/// What a caller's pointer to a stream points to; the state follows.
#[repr(C)]
pub struct Stream {
    tables: *const Tables,
    /// A callback has ended it: nothing more is reported.
    terminated: bool,
}

/// Bytes before the state.
const HEADER: usize = size_of::<Stream>();

/// # Safety
/// Null, or the caller's pointer to a stream.
unsafe fn tables<'a>(stream: *const Stream) -> Result<&'a Tables, c_int> {
    // SAFETY: as the caller promises.
    unsafe { stream.as_ref().and_then(|stream| stream.tables.as_ref()).ok_or(HS_INVALID) }
}

/// # Safety
/// The stream's tables are these, and nobody else uses the state.
unsafe fn state<'a>(stream: *mut Stream, tables: &Tables) -> &'a mut [u8] {
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts_mut(stream.add(1).cast::<u8>(), tables.set.state_len()) }
}

/// The tables of a database for streams.
unsafe fn streaming<'a>(db: *const Database) -> Result<&'a Tables, c_int> {
    // SAFETY: null, or the caller's pointer to a database.
    match unsafe { database::tables(db) }? {
        tables if tables.mode == HS_MODE_STREAM => Ok(tables),
        _ => Err(HS_DB_MODE_ERROR),
    }
}

fn allocate(tables: &Tables) -> Result<*mut Stream, c_int> {
    let stream = STREAM.alloc(HEADER + tables.set.state_len())?.cast::<Stream>().as_ptr();
    // SAFETY: fresh memory of this size; all of it is written before it is read as bytes.
    unsafe {
        stream.cast::<u8>().write_bytes(0, HEADER + tables.set.state_len());
        stream.write(Stream { tables, terminated: false });
    }
    Ok(stream)
}

/// Makes a stream one at its beginning.
unsafe fn begin(stream: *mut Stream, tables: &Tables) {
    // SAFETY: the caller's stream.
    unsafe {
        (*stream).terminated = false;
        tables.set.begin(state(stream, tables));
    }
}

/// Opens a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_open_stream(
    db: *const Database,
    _flags: c_uint,
    stream: *mut *mut Stream,
) -> c_int {
    guard(|| {
        if stream.is_null() {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            *stream = null_mut();
            let opened = streaming(db).and_then(|tables| {
                let opened = allocate(tables)?;
                begin(opened, tables);
                Ok(opened)
            });
            match opened {
                Ok(opened) => *stream = opened,
                Err(e) => return e,
            }
        }
        HS_SUCCESS
    })
}

/// Scans the next piece of a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_scan_stream(
    stream: *mut Stream,
    data: *const c_char,
    length: c_uint,
    _flags: c_uint,
    scratch: *mut Scratch,
    on_event: Option<OnMatch>,
    pointer: *mut c_void,
) -> c_int {
    guard(|| {
        if stream.is_null() || scratch.is_null() || data.is_null() {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            let tables = match tables(stream) {
                Ok(tables) => tables,
                Err(e) => return e,
            };
            let mut taken = match scratch::take(scratch) {
                Ok(taken) => taken,
                Err(e) => return e,
            };
            if (*stream).terminated {
                return HS_SCAN_TERMINATED;
            }
            let piece = std::slice::from_raw_parts(data.cast::<u8>(), length as usize);
            let mut receiver = Receiver::new(on_event, pointer, tables);
            let mut stopped = false;
            let state = state(stream, tables);
            tables.set.scan_piece(taken.work(), state, piece, &mut |found| {
                let flow = receiver.hit(found);
                stopped = flow.is_break();
                flow
            });
            stats::count(Kind::Stream, [1, u64::from(length), receiver.matches]);
            (*stream).terminated = stopped;
            if stopped { HS_SCAN_TERMINATED } else { HS_SUCCESS }
        }
    })
}

/// Reports what matches at the end of a stream, to whom it is.
unsafe fn finish(
    stream: *mut Stream,
    scratch: *mut Scratch,
    on_event: Option<OnMatch>,
    pointer: *mut c_void,
) -> Result<(), c_int> {
    if on_event.is_none() {
        return Ok(());
    }
    // SAFETY: the caller's pointers.
    unsafe {
        let tables = tables(stream)?;
        let mut taken = scratch::take(scratch)?;
        if (*stream).terminated {
            return Ok(());
        }
        let mut receiver = Receiver::new(on_event, pointer, tables);
        let state = state(stream, tables);
        let _ = tables.set.finish(taken.work(), state, &mut |found| receiver.hit(found));
        stats::count(Kind::Stream, [0, 0, receiver.matches]);
    }
    Ok(())
}

/// Ends a stream, and frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_close_stream(
    stream: *mut Stream,
    scratch: *mut Scratch,
    on_event: Option<OnMatch>,
    pointer: *mut c_void,
) -> c_int {
    guard(|| {
        if stream.is_null() {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers; nobody uses the stream any more.
        unsafe {
            if let Err(e) = finish(stream, scratch, on_event, pointer) {
                return e;
            }
            STREAM.free(stream.cast());
        }
        HS_SUCCESS
    })
}

/// Ends a stream, and begins it anew.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_reset_stream(
    stream: *mut Stream,
    _flags: c_uint,
    scratch: *mut Scratch,
    on_event: Option<OnMatch>,
    pointer: *mut c_void,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's pointers.
        unsafe {
            let ended = tables(stream)
                .and_then(|tables| finish(stream, scratch, on_event, pointer).map(|()| tables));
            match ended {
                Ok(tables) => begin(stream, tables),
                Err(e) => return e,
            }
        }
        HS_SUCCESS
    })
}

/// Opens a stream that continues as another one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_copy_stream(to: *mut *mut Stream, from: *const Stream) -> c_int {
    guard(|| {
        if to.is_null() {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            *to = null_mut();
            let copied = tables(from).and_then(|tables| {
                let copied = allocate(tables)?;
                copy(from, copied, tables);
                Ok(copied)
            });
            match copied {
                Ok(copied) => *to = copied,
                Err(e) => return e,
            }
        }
        HS_SUCCESS
    })
}

/// # Safety
/// Both are streams of these tables, and not the same.
unsafe fn copy(from: *const Stream, to: *mut Stream, tables: &Tables) {
    let len = HEADER + tables.set.state_len();
    // SAFETY: as the caller promises.
    unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), len) };
}

/// Ends a stream, which then continues as another one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_reset_and_copy_stream(
    to: *mut Stream,
    from: *const Stream,
    scratch: *mut Scratch,
    on_event: Option<OnMatch>,
    pointer: *mut c_void,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's pointers.
        unsafe {
            let both = tables(from).and_then(|tables_from| {
                let same = ptr::eq(tables(to)?, tables_from) && !ptr::eq(to, from);
                if same { Ok(tables_from) } else { Err(HS_INVALID) }
            });
            let ended = both.and_then(|both| finish(to, scratch, on_event, pointer).map(|()| both));
            match ended {
                Ok(tables) => copy(from, to, tables),
                Err(e) => return e,
            }
        }
        HS_SUCCESS
    })
}

/// Tells the size of a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_stream_size(db: *const Database, size: *mut usize) -> c_int {
    guard(|| {
        if size.is_null() {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            match streaming(db) {
                Ok(tables) => *size = HEADER + tables.set.state_len(),
                Err(e) => return e,
            }
        }
        HS_SUCCESS
    })
}

/// Writes a stream in fewer bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_compress_stream(
    stream: *const Stream,
    buf: *mut c_char,
    buf_space: usize,
    used_space: *mut usize,
) -> c_int {
    guard(|| {
        if stream.is_null() || used_space.is_null() || (buf_space > 0 && buf.is_null()) {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            let tables = match tables(stream) {
                Ok(tables) => tables,
                Err(e) => return e,
            };
            let start = stream.add(1).cast::<u8>();
            let state = std::slice::from_raw_parts(start, tables.set.state_len());
            let bytes = compressed::compress(state, (*stream).terminated);
            *used_space = bytes.len();
            if buf_space < bytes.len() {
                return HS_INSUFFICIENT_SPACE;
            }
            ptr::copy_nonoverlapping(bytes.as_ptr(), buf.cast::<u8>(), bytes.len());
        }
        HS_SUCCESS
    })
}

/// Makes a stream what the bytes of one say.
///
/// # Safety
/// The caller's pointers.
unsafe fn expand_into(
    stream: *mut Stream,
    tables: &Tables,
    buf: *const c_char,
    size: usize,
) -> Result<(), c_int> {
    // SAFETY: as the caller promises.
    unsafe {
        let bytes = std::slice::from_raw_parts(buf.cast::<u8>(), size);
        let state = state(stream, tables);
        (*stream).terminated = compressed::expand(bytes, state).ok_or(HS_INVALID)?;
    }
    Ok(())
}

/// Opens a stream of the bytes of one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_expand_stream(
    db: *const Database,
    stream: *mut *mut Stream,
    buf: *const c_char,
    buf_size: usize,
) -> c_int {
    guard(|| {
        if stream.is_null() || buf.is_null() {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            *stream = null_mut();
            let expanded = streaming(db).and_then(|tables| {
                let made = allocate(tables)?;
                let expanded = expand_into(made, tables, buf, buf_size);
                if expanded.is_err() {
                    STREAM.free(made.cast());
                }
                expanded.map(|()| made)
            });
            match expanded {
                Ok(made) => *stream = made,
                Err(e) => return e,
            }
        }
        HS_SUCCESS
    })
}

/// Ends a stream, which then is what the bytes of one say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_reset_and_expand_stream(
    to: *mut Stream,
    buf: *const c_char,
    buf_size: usize,
    scratch: *mut Scratch,
    on_event: Option<OnMatch>,
    pointer: *mut c_void,
) -> c_int {
    guard(|| {
        if to.is_null() || buf.is_null() {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            let done = tables(to).and_then(|tables| {
                finish(to, scratch, on_event, pointer)?;
                expand_into(to, tables, buf, buf_size)
            });
            done.err().unwrap_or(HS_SUCCESS)
        }
    })
}
