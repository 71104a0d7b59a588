//! `lookaside.h` as a program in C sees it: declared again, so that a mistake in the library's own
//! declarations shows.

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;

/// An object of the library: only ever pointed at.
#[repr(C)]
pub struct Opaque<const KIND: char> {
    _opaque: [u8; 0],
    _not_send: PhantomData<*mut u8>,
}

pub type Runtime = *mut Opaque<'r'>;
pub type Session = *mut Opaque<'s'>;
pub type Stream = *mut Opaque<'t'>;
pub type Instance = *mut Opaque<'i'>;

pub const LA_OK: c_int = 0;
pub const LA_END: c_int = 2;
pub const LA_E_INVALID: c_int = -1;
pub const LA_E_FULL: c_int = -3;
pub const LA_E_UNSUPPORTED: c_int = -5;
pub const LA_E_LIMIT: c_int = -6;
pub const LA_E_BAD_DATA: c_int = -17;
pub const LA_E_CANCELLED: c_int = -20;
pub const LA_E_EXPIRED: c_int = -25;
/// Every status that a response may have, save `LA_E_INTERNAL`.
pub const RESPONSES: [c_int; 15] =
    [0, 1, 2, -5, -8, -16, -17, -18, -19, -20, -21, -22, -23, -24, -25];

pub const COPY: i32 = 1;
pub const COMPRESS: i32 = 2;
pub const DECOMPRESS: i32 = 3;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct RuntimeOptions {
    pub size: usize,
    pub cpus: *const i32,
    pub cpu_count: usize,
    pub batch_deadline_ns: u64,
    pub engines: i32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Compression {
    pub size: usize,
    pub format: i32,
    pub level: i32,
    pub huffman: i32,
    pub window_bits: i32,
    pub checksum: i32,
    pub block_bits: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct InstanceOptions {
    pub size: usize,
    pub depth: u32,
    pub weight: u32,
    pub committed_per_s: u64,
    pub peak_per_s: u64,
    pub burst: u64,
    pub max_request: u64,
    pub unit: i32,
    pub priority: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct IoVec {
    pub base: *mut c_void,
    pub len: usize,
}

#[repr(C)]
pub struct Request {
    pub tag: u64,
    pub op: i32,
    pub flush: i32,
    pub session: Session,
    pub stream: Stream,
    pub src: *const c_void,
    pub src_len: usize,
    pub src_iov: *const IoVec,
    pub src_iov_count: usize,
    pub dst: *mut c_void,
    pub dst_len: usize,
    pub dst_iov: *const IoVec,
    pub dst_iov_count: usize,
    pub reserved: [u64; 2],
}

#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Response {
    pub tag: u64,
    pub consumed: usize,
    pub produced: usize,
    pub bad_offset: u64,
    pub status: i32,
    pub bad_reason: i32,
    pub checksum: u32,
    pub checksum_high: u32,
    pub reserved: [u32; 2],
}

/// `la_counters`: 16 + 24 characters, 8 numbers, 3 histograms of 40.
pub const COUNTERS_BYTES: usize = 16 + 24 + 8 * 8 + 3 * 40 * 8;

unsafe extern "C" {
    pub fn la_strerror(status: c_int) -> *const c_char;
    pub fn la_last_error() -> *const c_char;
    pub fn la_runtime_start(options: *const RuntimeOptions, runtime: *mut Runtime) -> c_int;
    pub fn la_runtime_engines(runtime: Runtime) -> c_int;
    pub fn la_runtime_stop(runtime: Runtime) -> c_int;
    pub fn la_compression_session(
        runtime: Runtime,
        compression: *const Compression,
        session: *mut Session,
    ) -> c_int;
    pub fn la_copy_session(runtime: Runtime, session: *mut Session) -> c_int;
    pub fn la_session_bound(session: Session, len: usize) -> usize;
    pub fn la_session_free(session: Session) -> c_int;
    pub fn la_compress_stream(
        runtime: Runtime,
        compression: *const Compression,
        dictionary: *const c_void,
        dictionary_len: usize,
        stream: *mut Stream,
    ) -> c_int;
    pub fn la_decompress_stream(
        runtime: Runtime,
        format: i32,
        dictionary: *const c_void,
        dictionary_len: usize,
        stream: *mut Stream,
    ) -> c_int;
    pub fn la_stream_free(stream: Stream) -> c_int;
    pub fn la_instance_open(
        runtime: Runtime,
        options: *const InstanceOptions,
        instance: *mut Instance,
    ) -> c_int;
    pub fn la_instance_free_slots(instance: Instance) -> c_int;
    pub fn la_instance_outstanding(instance: Instance) -> c_int;
    pub fn la_instance_push(instance: Instance, request: *const Request) -> c_int;
    pub fn la_instance_push_within(
        instance: Instance,
        request: *const Request,
        time_ns: u64,
    ) -> c_int;
    pub fn la_instance_cancel(instance: Instance, tag: u64) -> c_int;
    pub fn la_instance_doorbell(instance: Instance) -> c_int;
    pub fn la_instance_poll(instance: Instance, responses: *mut Response, n: usize) -> c_int;
    pub fn la_instance_wait(instance: Instance, count: usize, timeout_ns: u64) -> c_int;
    pub fn la_instance_event_fd(instance: Instance) -> c_int;
    pub fn la_instance_close(instance: Instance) -> c_int;
    pub fn la_call(runtime: Runtime, request: *const Request, response: *mut Response) -> c_int;
    pub fn la_counters_read(
        runtime: Runtime,
        rows: *mut c_void,
        n: usize,
        not_run: *mut u64,
    ) -> c_int;
}
