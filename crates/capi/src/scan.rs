//! Pattern matching: sets as sessions, flows as streams.
#![allow(unsafe_code)]

use core::ffi::{c_char, c_int, c_void};

use lookaside::{
    Patterns, SetupError,
    scan::{BadPattern, Expression, Extended, Flags, Mode, SavedError},
};

use crate::{
    out,
    pointer::{In, Lent, Out, Owned},
    runtime::la_runtime,
    session::{la_session, la_stream, make},
    settings::reserved,
    status::{Refusal, enter},
};

/// See the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the header has them")]
pub struct la_pattern {
    pub text: *const c_char,
    pub text_len: usize,
    pub min_offset: u64,
    pub max_offset: u64,
    pub min_length: u64,
    pub id: u32,
    pub flags: u32,
    pub literal: i32,
    pub conditions: u32,
    pub reserved: [u64; 2],
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the header has them")]
pub struct la_bad_pattern {
    pub index: usize,
    pub offset: i64,
    pub id: u32,
    pub what: [c_char; 108],
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the header has them")]
pub struct la_match {
    pub end: u64,
    pub start: u64,
    pub id: u32,
    pub reserved: u32,
}

const _: () = assert!(size_of::<la_match>() == lookaside::Match::RECORD);

impl la_pattern {
    /// # Safety
    /// The text is null or valid for its length.
    unsafe fn expression(&self) -> Result<Expression, Refusal> {
        reserved(self.reserved == [0; 2])?;
        let flags = Flags::from_bits(self.flags).ok_or(Refusal::Invalid("a flag of a pattern"))?;
        let literal = match self.literal {
            0 => false,
            1 => true,
            _ => return Err(Refusal::Invalid("literal")),
        };
        if self.conditions > 7 {
            return Err(Refusal::Invalid("conditions"));
        }
        let condition = |bit: u32, value: u64| (self.conditions & bit != 0).then_some(value);
        let extended = Extended {
            min_offset: condition(1, self.min_offset),
            max_offset: condition(2, self.max_offset),
            min_length: condition(4, self.min_length),
            ..Extended::default()
        };
        let text = In::raw(self.text.cast::<u8>());
        // SAFETY: the caller's promise.
        let text = unsafe { text.many(self.text_len) }?.to_vec();
        Ok(Expression { id: self.id, text, flags, extended, literal })
    }
}

impl From<&BadPattern> for la_bad_pattern {
    fn from(bad: &BadPattern) -> la_bad_pattern {
        let offset = bad.offset.map_or(-1, |offset| i64::try_from(offset).unwrap_or(i64::MAX));
        la_bad_pattern { index: bad.index, offset, id: bad.id, what: out::text(&bad.what) }
    }
}

fn set(runtime: &la_runtime, patterns: Patterns) -> Result<la_session, Refusal> {
    Ok(la_session::Scan(runtime.0.scan(patterns.expressions, patterns.mode)?))
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_scan_session(
    runtime: Lent<la_runtime>,
    patterns: In<la_pattern>,
    count: usize,
    mode: i32,
    session: Out<Owned<la_session>>,
    bad: Out<la_bad_pattern>,
    bad_len: usize,
    bad_count: Out<usize>,
) -> c_int {
    let tell = |all: &[BadPattern]| {
        for (place, one) in all.iter().take(bad_len).enumerate() {
            // SAFETY: checked below; less than `bad_len`.
            unsafe { bad.write(place, one.into()) };
        }
        if !bad_count.is_null() {
            // SAFETY: checked below.
            unsafe { bad_count.write(0, all.len()) };
        }
    };
    let body = || {
        bad.check(bad_len)?;
        if !bad_count.is_null() {
            bad_count.check(1)?;
        }
        tell(&[]);
        // SAFETY: the header asks for an object that lives, and for as many patterns as it says.
        let (runtime, patterns) = unsafe { (runtime.lent()?, patterns.many(count)?) };
        let mode = match mode {
            0 => Mode::Block,
            1 => Mode::Stream,
            _ => return Err(Refusal::Invalid("mode")),
        };
        // SAFETY: the header asks for texts of the lengths given.
        let expressions = patterns.iter().map(|pattern| unsafe { pattern.expression() });
        let expressions = expressions.collect::<Result<Vec<_>, _>>()?;
        let made = set(runtime, Patterns { expressions: expressions.into(), mode });
        if let Err(Refusal::Setup(SetupError::Patterns(all))) = &made {
            tell(all);
        }
        made
    };
    // SAFETY: the header asks for a place for one pointer.
    enter(|| unsafe { make(&session, body) })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_scan_session_save(
    session: Lent<la_session>,
    dst: *mut c_void,
    dst_len: usize,
    len: Out<usize>,
) -> c_int {
    enter(|| {
        // SAFETY: the header asks for an object that lives.
        let la_session::Scan(scanner) = unsafe { session.lent() }? else {
            return Err(Refusal::Invalid("a session that is no set of patterns"));
        };
        // SAFETY: the header asks for such places.
        unsafe { out::bytes(&scanner.patterns().to_bytes(), dst, dst_len, &len) }
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_scan_session_load(
    runtime: Lent<la_runtime>,
    src: In<c_void>,
    src_len: usize,
    session: Out<Owned<la_session>>,
) -> c_int {
    let body = || {
        // SAFETY: the header asks for an object that lives.
        let runtime = unsafe { runtime.lent() }?;
        let src = In::raw(src.pointer().cast::<u8>());
        // SAFETY: the header asks for as many bytes as it says.
        let src = unsafe { src.many(src_len) }?;
        let patterns = Patterns::from_bytes(src).map_err(|e| match e {
            SavedError::Version(_) => Refusal::Unsupported("a set saved in another format"),
            _ => Refusal::Damaged("not a saved set, or damaged"),
        })?;
        set(runtime, patterns)
    };
    // SAFETY: the header asks for a place for one pointer.
    enter(|| unsafe { make(&session, body) })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_scan_stream(
    session: Lent<la_session>,
    state: In<c_void>,
    state_len: usize,
    stream: Out<Owned<la_stream>>,
) -> c_int {
    let body = || {
        // SAFETY: the header asks for an object that lives.
        let la_session::Scan(scanner) = unsafe { session.lent() }? else {
            return Err(Refusal::Invalid("a session that is no set of patterns"));
        };
        let state = In::raw(state.pointer().cast::<u8>());
        // SAFETY: the header asks for as many bytes as it says.
        let state = unsafe { state.many(state_len) }?;
        let state = (!state.is_empty()).then_some(state);
        Ok(la_stream::Scan(scanner.stream(state).map_err(|e| match e {
            lookaside::OpError::Unsupported => Refusal::Unsupported("a set for blocks alone"),
            _ => Refusal::Damaged("a state of another length than this set's"),
        })?))
    };
    // SAFETY: the header asks for a place for one pointer.
    enter(|| unsafe { make(&stream, body) })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_scan_stream_save(
    stream: Lent<la_stream>,
    dst: *mut c_void,
    dst_len: usize,
    len: Out<usize>,
) -> c_int {
    enter(|| {
        // SAFETY: the header asks for an object that lives.
        let la_stream::Scan(stream) = unsafe { stream.lent() }? else {
            return Err(Refusal::Invalid("a stream that is not scanned"));
        };
        let state = match stream.state() {
            Ok(Some(state)) => state,
            Ok(None) => return Err(Refusal::Busy),
            Err(e) => return Err(Refusal::Stream(e)),
        };
        // SAFETY: the header asks for such places.
        unsafe { out::bytes(&state, dst, dst_len, &len) }
    })
}
