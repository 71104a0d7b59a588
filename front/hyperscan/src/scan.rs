//! Scans of whole texts, and of texts that lie in several places.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ops::ControlFlow;

use lookaside_scan::Match;

use crate::abi::{
    HS_DB_MODE_ERROR, HS_INVALID, HS_MODE_BLOCK, HS_MODE_VECTORED, HS_OFFSET_PAST_HORIZON,
    HS_SCAN_TERMINATED, HS_SUCCESS, OnMatch,
};
use crate::database::{self, Database, Tables};
use crate::guard;
use crate::scratch::{self, InUse, Scratch};
use crate::stats::{self, Kind};

/// Who is called with matches.
pub(crate) struct Receiver<'a> {
    on_event: Option<OnMatch>,
    pointer: *mut c_void,
    tables: &'a Tables,
    pub(crate) matches: u64,
}

impl<'a> Receiver<'a> {
    pub(crate) fn new(
        on_event: Option<OnMatch>,
        pointer: *mut c_void,
        tables: &'a Tables,
    ) -> Receiver<'a> {
        Receiver { on_event, pointer, tables, matches: 0 }
    }

    /// Calls the caller's function, which may stop the scan.
    #[inline]
    pub(crate) fn hit(&mut self, found: Match) -> ControlFlow<()> {
        self.matches += 1;
        let Some(on_event) = self.on_event else { return ControlFlow::Continue(()) };
        let far = found.end.wrapping_sub(found.start) > self.tables.horizon;
        let from = match far && self.tables.has_start(found.id) {
            true => HS_OFFSET_PAST_HORIZON,
            false => found.start,
        };
        // SAFETY: the caller's function with its own pointer.
        match unsafe { on_event(found.id, from, found.end, 0, self.pointer) } {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

/// Scans a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_scan(
    db: *const Database,
    data: *const c_char,
    length: c_uint,
    _flags: c_uint,
    scratch: *mut Scratch,
    on_event: Option<OnMatch>,
    pointer: *mut c_void,
) -> c_int {
    guard(|| {
        if scratch.is_null() || data.is_null() {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            let tables = match database::tables(db) {
                Ok(tables) if tables.mode == HS_MODE_BLOCK => tables,
                Ok(_) => return HS_DB_MODE_ERROR,
                Err(e) => return e,
            };
            let mut taken = match scratch::take(scratch) {
                Ok(taken) => taken,
                Err(e) => return e,
            };
            let text = std::slice::from_raw_parts(data.cast::<u8>(), length as usize);
            let mut receiver = Receiver::new(on_event, pointer, tables);
            let flow = tables.set.scan(taken.work(), text, &mut |found| receiver.hit(found));
            stats::count(Kind::Block, [1, u64::from(length), receiver.matches]);
            match flow {
                ControlFlow::Continue(()) => HS_SUCCESS,
                ControlFlow::Break(()) => HS_SCAN_TERMINATED,
            }
        }
    })
}

/// Scans texts one after the other as if they were one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_scan_vector(
    db: *const Database,
    data: *const *const c_char,
    length: *const c_uint,
    count: c_uint,
    _flags: c_uint,
    scratch: *mut Scratch,
    on_event: Option<OnMatch>,
    pointer: *mut c_void,
) -> c_int {
    guard(|| {
        if scratch.is_null() || data.is_null() || length.is_null() {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            let tables = match database::tables(db) {
                Ok(tables) if tables.mode == HS_MODE_VECTORED => tables,
                Ok(_) => return HS_DB_MODE_ERROR,
                Err(e) => return e,
            };
            let mut taken = match scratch::take(scratch) {
                Ok(taken) => taken,
                Err(e) => return e,
            };
            let mut receiver = Receiver::new(on_event, pointer, tables);
            let mut bytes = 0;
            let result = vector(tables, &mut taken, &mut receiver, &mut bytes, |at| {
                (at < count as usize).then(|| (*data.add(at), *length.add(at)))
            });
            stats::count(Kind::Vectored, [1, bytes, receiver.matches]);
            result
        }
    })
}

/// # Safety
/// The pieces' pointers are null or valid for their lengths.
unsafe fn vector(
    tables: &Tables,
    scratch: &mut InUse,
    receiver: &mut Receiver<'_>,
    bytes: &mut u64,
    piece: impl Fn(usize) -> Option<(*const c_char, c_uint)>,
) -> c_int {
    let (work, state) = scratch.parts();
    state.resize(tables.set.state_len(), 0);
    tables.set.begin(state);
    let mut at = 0;
    while let Some((data, length)) = piece(at) {
        at += 1;
        if data.is_null() {
            return HS_INVALID;
        }
        // SAFETY: as the caller promises.
        let text = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length as usize) };
        *bytes += text.len() as u64;
        let mut stopped = false;
        tables.set.scan_piece(work, state, text, &mut |found| {
            let flow = receiver.hit(found);
            stopped = flow.is_break();
            flow
        });
        if stopped {
            return HS_SCAN_TERMINATED;
        }
    }
    if receiver.on_event.is_some()
        && tables.set.finish(work, state, &mut |found| receiver.hit(found)).is_break()
    {
        return HS_SCAN_TERMINATED;
    }
    HS_SUCCESS
}
