//! The one module of this crate with `unsafe`: stock zlib, the caller's memory lent to the device,
//! the time stamp counter, and the signals that remove an unfinished file.
#![allow(unsafe_code)]

use core::{ffi::c_int, mem::MaybeUninit, ptr};
use std::{
    ffi::CString,
    sync::atomic::{AtomicPtr, Ordering},
    time::{Duration, Instant},
};

use libz_sys as z;
use lookaside::{Buf, Completions, CompressSession, Instance, Request};

use crate::provider::Direction;

// ---- zlib ------------------------------------------------------------------------------------

/// What one call of zlib did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) consumed: usize,
    pub(crate) produced: usize,
    pub(crate) end: bool,
}

/// What zlib said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZlibError {
    Init(c_int),
    Data,
    Dictionary,
    Other(c_int),
}

/// How zlib ends a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// `Z_FINISH`.
    Finish,
    /// `Z_FULL_FLUSH`.
    Full,
}

/// The state behind a zlib stream. zlib keeps a pointer to it, so it lives in a box.
struct Stream(Box<MaybeUninit<z::z_stream>>);

impl Stream {
    /// Zeros: zlib's own allocator (`Z_NULL` functions), no input, no output.
    fn zeroed() -> Stream {
        Stream(Box::new(MaybeUninit::zeroed()))
    }

    fn ptr(&mut self) -> *mut z::z_stream {
        self.0.as_mut_ptr()
    }

    /// Lends the slices to the stream, runs `f`, and says what moved.
    fn run(
        &mut self,
        src: &[u8],
        dst: &mut [u8],
        f: impl FnOnce(*mut z::z_stream) -> c_int,
    ) -> (c_int, usize, usize) {
        let len = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (room_in, room_out) = (len(src.len()), len(dst.len()));
        let s = self.ptr();
        // SAFETY: `s` points to a z_stream that deflateInit2_ or inflateInit2_ has set up (the only
        // constructors do so). Fields are written through the pointer, because zeroed function
        // pointers forbid a reference to the whole. The slices outlive the call; zlib reads at
        // most avail_in and writes at most avail_out bytes there.
        unsafe {
            (*s).next_in = src.as_ptr().cast_mut();
            (*s).avail_in = room_in;
            (*s).next_out = dst.as_mut_ptr();
            (*s).avail_out = room_out;
            let code = f(s);
            let moved = (room_in - (*s).avail_in, room_out - (*s).avail_out);
            (*s).next_in = ptr::null_mut();
            (*s).next_out = ptr::null_mut();
            (code, moved.0 as usize, moved.1 as usize)
        }
    }
}

const STREAM_SIZE: c_int = size_of::<z::z_stream>() as c_int;

/// The version that this program was compiled against; zlib compares its first character.
fn version() -> *const core::ffi::c_char {
    c"1.2.8".as_ptr()
}

/// A raw DEFLATE compressor of stock zlib.
pub(crate) struct Deflate(Stream);

impl Deflate {
    pub(crate) fn new(level: u8, window_bits: u8, fixed: bool) -> Result<Deflate, ZlibError> {
        let mut stream = Stream::zeroed();
        let strategy = if fixed { z::Z_FIXED } else { z::Z_DEFAULT_STRATEGY };
        let bits = -c_int::from(window_bits);
        // SAFETY: a zeroed z_stream is what deflateInit2_ wants; it lives in a box as long as
        // the compressor.
        let code = unsafe {
            let (method, memory) = (z::Z_DEFLATED, 8);
            let (v, size) = (version(), STREAM_SIZE);
            z::deflateInit2_(stream.ptr(), level.into(), method, bits, memory, strategy, v, size)
        };
        match code {
            z::Z_OK => Ok(Deflate(stream)),
            code => Err(ZlibError::Init(code)),
        }
    }

    /// Compresses all of `src` from a fresh state. `end` of the result tells whether all of it
    /// fitted.
    pub(crate) fn chunk(&mut self, src: &[u8], dst: &mut [u8], end: End) -> Step {
        // SAFETY: the stream is initialised.
        unsafe { z::deflateReset(self.0.ptr()) };
        let flush = if end == End::Finish { z::Z_FINISH } else { z::Z_FULL_FLUSH };
        let room = dst.len();
        // SAFETY: `run` passes the initialised stream with valid buffers.
        let (code, consumed, produced) = self.0.run(src, dst, |s| unsafe { z::deflate(s, flush) });
        let end = match end {
            End::Finish => code == z::Z_STREAM_END,
            // A flush is complete when there was room left over (zlib.h).
            End::Full => code == z::Z_OK && consumed == src.len() && produced < room,
        };
        Step { consumed, produced, end }
    }
}

impl Drop for Deflate {
    fn drop(&mut self) {
        // SAFETY: the stream is initialised, and not used after this.
        unsafe { z::deflateEnd(self.0.ptr()) };
    }
}

/// A decompressor of stock zlib.
pub(crate) struct Inflate(Stream);

impl Inflate {
    /// `bits`: as `windowBits` of inflateInit2: -15 raw, 15 zlib, 31 gzip.
    pub(crate) fn new(bits: c_int) -> Result<Inflate, ZlibError> {
        let mut stream = Stream::zeroed();
        // SAFETY: a zeroed z_stream is what inflateInit2_ wants; it lives in a box as long as
        // the decompressor.
        let code = unsafe { z::inflateInit2_(stream.ptr(), bits, version(), STREAM_SIZE) };
        match code {
            z::Z_OK => Ok(Inflate(stream)),
            code => Err(ZlibError::Init(code)),
        }
    }

    /// Back to the start of a stream.
    pub(crate) fn reset(&mut self) {
        // SAFETY: the stream is initialised.
        unsafe { z::inflateReset(self.0.ptr()) };
    }

    /// Decompresses as far as source or destination go.
    pub(crate) fn step(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Step, ZlibError> {
        // SAFETY: `run` passes the initialised stream with valid buffers.
        let (code, consumed, produced) =
            self.0.run(src, dst, |s| unsafe { z::inflate(s, z::Z_NO_FLUSH) });
        match code {
            z::Z_OK | z::Z_BUF_ERROR => Ok(Step { consumed, produced, end: false }),
            z::Z_STREAM_END => Ok(Step { consumed, produced, end: true }),
            z::Z_DATA_ERROR => Err(ZlibError::Data),
            z::Z_NEED_DICT => Err(ZlibError::Dictionary),
            code => Err(ZlibError::Other(code)),
        }
    }

    /// zlib's own words for the last error, empty if it has none.
    pub(crate) fn message(&mut self) -> &str {
        // SAFETY: the stream is initialised; zlib's messages are static strings.
        unsafe {
            let msg = (*self.0.ptr()).msg;
            match msg.is_null() {
                true => "",
                false => core::ffi::CStr::from_ptr(msg).to_str().unwrap_or(""),
            }
        }
    }
}

impl Drop for Inflate {
    fn drop(&mut self) {
        // SAFETY: the stream is initialised, and not used after this.
        unsafe { z::inflateEnd(self.0.ptr()) };
    }
}

/// The CRC-32 (RFC 1952 section 8) of `bytes`, continuing from `crc`; 0 at the start.
pub fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    bytes.chunks(1 << 30).fold(crc, |crc, piece| {
        // SAFETY: the slice is valid for its length, which fits 32 bits.
        unsafe { z::crc32(crc.into(), piece.as_ptr(), piece.len() as u32) as u32 }
    })
}

/// The CRC-32 of two pieces joined, from the checksum of each and the length of the second.
pub fn crc32_combine(first: u32, second: u32, second_len: u64) -> u32 {
    let len = second_len.min(i64::MAX as u64) as z::z_off_t;
    // SAFETY: numbers alone.
    unsafe { z::crc32_combine(first.into(), second.into(), len) as u32 }
}

/// The Adler-32 (RFC 1950 section 8) of `bytes`, continuing from `adler`; 1 at the start.
pub(crate) fn adler32(adler: u32, bytes: &[u8]) -> u32 {
    bytes.chunks(1 << 30).fold(adler, |adler, piece| {
        // SAFETY: as in `crc32`.
        unsafe { z::adler32(adler.into(), piece.as_ptr(), piece.len() as u32) as u32 }
    })
}

/// zlib's own combination, the oracle of ours.
#[cfg(test)]
pub(crate) fn zlib_adler32_combine(first: u32, second: u32, second_len: u64) -> u32 {
    let len = i64::try_from(second_len).expect("a test's length");
    // SAFETY: a pure function.
    unsafe { z::adler32_combine(first.into(), second.into(), len as z::z_off_t) as u32 }
}

// ---- lent memory -----------------------------------------------------------------------------

/// An instance that may be given memory that lives for `'a`.
///
/// Dropping it cancels and waits until no request is running, so nothing touches that memory
/// after `'a`. That holds as long as nobody *forgets* a `Lending`: it is private to this crate,
/// inside a lane, and memory is lent only by this crate's pipeline, to lanes of this crate's
/// providers (`Provider::borrows`), which it drops.
pub(crate) struct Lending<'a> {
    instance: Instance,
    _lent: core::marker::PhantomData<&'a [u8]>,
}

impl<'a> Lending<'a> {
    pub(crate) fn new(instance: Instance) -> Lending<'a> {
        Lending { instance, _lent: core::marker::PhantomData }
    }

    /// A source over the caller's memory, for a request to this instance.
    pub(crate) fn request(
        &self,
        session: &CompressSession,
        direction: Direction,
        src: &'a [u8],
        dst: Buf,
    ) -> Request {
        // SAFETY: `src` is readable and unchanged for 'a, and this instance is dropped within 'a
        // (the type's `Drop` demands it), which ends all use; see the type.
        let src = unsafe { Buf::foreign(src.as_ptr(), src.len()) };
        match direction {
            Direction::Compress => session.compress(src, dst),
            Direction::Decompress => session.decompress(src, dst),
        }
    }

    pub(crate) fn instance(&mut self) -> &mut Instance {
        &mut self.instance
    }

    pub(crate) fn poll(&mut self) -> Completions<'_> {
        self.instance.poll()
    }
}

impl Drop for Lending<'_> {
    /// Nothing by itself: it makes the compiler demand that 'a outlives the instance's own drop.
    fn drop(&mut self) {}
}

// ---- time stamp counter ----------------------------------------------------------------------

/// Measures the frequency of the CPU's time stamp counter, in MHz; takes 0.1 seconds. `None` where
/// there is no such counter.
pub fn clock_mhz() -> Option<f64> {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 has rdtsc; Linux lets user space read it.
        #[allow(unused_unsafe)]
        let count = || unsafe { core::arch::x86_64::_rdtsc() };
        let (start, c0) = (Instant::now(), count());
        std::thread::sleep(Duration::from_millis(100));
        let (c1, elapsed) = (count(), start.elapsed());
        Some((c1.wrapping_sub(c0)) as f64 / elapsed.as_secs_f64() / 1e6)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (Instant::now(), Duration::ZERO);
        None
    }
}

// ---- signals ---------------------------------------------------------------------------------

/// The file to remove when the process is interrupted; null: none. The string is leaked once set:
/// the signal may be reading it at any time.
static UNFINISHED: AtomicPtr<core::ffi::c_char> = AtomicPtr::new(ptr::null_mut());

extern "C" fn interrupted(signal: c_int) {
    let path = UNFINISHED.swap(ptr::null_mut(), Ordering::AcqRel);
    // SAFETY: unlink, signal and raise are async-signal-safe; a non-null path is a leaked C string.
    unsafe {
        if !path.is_null() {
            libc::unlink(path);
        }
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Has this file removed on SIGINT, SIGTERM and SIGHUP, until `None` is set. One file at a time.
/// Leaks a few bytes for each file.
pub(crate) fn unfinished(path: Option<CString>) {
    let set = path.is_some();
    UNFINISHED.store(path.map_or(ptr::null_mut(), CString::into_raw), Ordering::Release);
    if set {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: installs a function of the right type that only makes async-signal-safe
            // calls. A signal that was ignored (nohup) stays so.
            unsafe {
                let function = interrupted as extern "C" fn(c_int);
                let before = libc::signal(signal, function as libc::sighandler_t);
                if before == libc::SIG_IGN {
                    libc::signal(signal, libc::SIG_IGN);
                }
            }
        }
    }
}

/// Has a write to a pipe that nobody reads end the process by SIGPIPE, as it ends programs in C. (Rust
/// ignores the signal at its start.)
pub fn broken_pipes_end_the_process() {
    // SAFETY: no handler is installed; the default action is.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

// ---- the time of day ---------------------------------------------------------------------------

/// Seconds since 1970 as month (0 to 11), day, hour and minute of the time zone that the environment sets. `None`: out of
/// the range of years.
pub fn local_time(seconds: i64) -> Option<[u32; 4]> {
    let mut tm = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both point to valid memory; null is a failure, and zeros are valid where it failed.
    let (tm, done) = unsafe {
        let done = !libc::localtime_r(&seconds, tm.as_mut_ptr()).is_null();
        (tm.assume_init(), done)
    };
    let part = |n: c_int| u32::try_from(n).ok();
    let parts = [part(tm.tm_mon)?, part(tm.tm_mday)?, part(tm.tm_hour)?, part(tm.tm_min)?];
    done.then_some(parts)
}

// ---- what this process used --------------------------------------------------------------------

/// User and system time of this process so far, all its threads (getrusage).
pub fn cpu_times() -> (Duration, Duration) {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage fills the structure; zeros are valid too, should it fail.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let duration = |t: libc::timeval| {
        let micros = u32::try_from(t.tv_usec).unwrap_or(0);
        Duration::new(u64::try_from(t.tv_sec).unwrap_or(0), micros * 1000)
    };
    (duration(usage.ru_utime), duration(usage.ru_stime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_pieces_have_the_checksum_of_the_whole() {
        let data: Vec<u8> = (0..70_000u32).map(|i| (i.wrapping_mul(i) >> 5) as u8).collect();
        for len in [0, 1, 2, 9, 255, 4096, 65_521, data.len()] {
            for cut in [0, len / 3, len / 2, len] {
                let (a, b) = data[..len].split_at(cut);
                let joined = crc32_combine(crc32(0, a), crc32(0, b), b.len() as u64);
                assert_eq!(joined, crc32(0, &data[..len]), "{len} at {cut}");
            }
        }
    }
}
