//! A file that is read.

use std::ffi::{c_int, c_uint};
use std::ptr::{copy, null, null_mut};

use libz_rs_sys::{
    Z_BUF_ERROR, Z_DATA_ERROR, Z_MEM_ERROR, Z_NO_FLUSH, Z_OK, Z_STREAM_END, Z_STREAM_ERROR,
    z_off64_t, z_stream,
};

use super::memory::{Buffer, LARGE_READ, SMALL_FILE};
use super::{Failed, Head};
use crate::inflate::{inflate, inflateEnd, inflateInit2_, inflateReset};

/// zlib's number for a gzip header, the largest window.
pub(super) const GZIP_WINDOW: c_int = 15 + 16;

/// What at most is read from or written to a file in one call.
pub(super) const MOST_AT_ONCE: usize = 1 << 30;

#[repr(C)]
pub(super) struct Reader {
    pub(super) head: Head,
    stream: z_stream,
    /// There from the first read on.
    buffers: Option<Buffers>,
    how: How,
    /// The end of the file was reached (there may be input left to decompress).
    eof: bool,
    /// Somebody wanted to read beyond the end.
    past: bool,
    /// No gzip header has been seen.
    transparent: bool,
    /// Where in the file reading began.
    start: z_off64_t,
    /// Bytes read from the file in all.
    loaded: u64,
    /// Whether larger pieces may be read than zlib reads: nobody else knows the descriptor.
    may_read_ahead: bool,
}

struct Buffers {
    /// `want` bytes at first.
    input: Buffer,
    /// Twice `want`.
    output: Buffer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// A gzip header may come.
    Look,
    /// There was none at the start: the file is read as it is.
    Copy,
    Gzip,
}

pub(super) fn new_stream() -> z_stream {
    z_stream {
        next_in: null(),
        avail_in: 0,
        total_in: 0,
        next_out: null_mut(),
        avail_out: 0,
        total_out: 0,
        msg: null_mut(),
        state: null_mut(),
        zalloc: None,
        zfree: None,
        opaque: null_mut(),
        data_type: 0,
        adler: 0,
        reserved: 0,
    }
}

impl Reader {
    pub(super) fn new(head: Head, by_path: bool) -> Self {
        // SAFETY: no memory is involved.
        let start = unsafe { libc::lseek64(head.fd, 0, libc::SEEK_CUR) };
        Reader {
            head,
            stream: new_stream(),
            buffers: None,
            how: How::Look,
            eof: false,
            past: false,
            transparent: true,
            start: start.max(0),
            loaded: 0,
            may_read_ahead: by_path,
        }
    }

    pub(super) fn has_buffers(&self) -> bool {
        self.buffers.is_some()
    }

    pub(super) fn past_end(&self) -> bool {
        self.past
    }

    pub(super) fn forget_end(&mut self) {
        self.eof = false;
        self.past = false;
    }

    pub(super) fn is_copying(&self) -> bool {
        self.how == How::Copy
    }

    /// Bytes read from the file that are not decompressed yet.
    pub(super) fn read_ahead(&self) -> z_off64_t {
        self.stream.avail_in.into()
    }

    /// The length of the output buffer.
    pub(super) fn room(&self) -> c_uint {
        self.head.want * 2
    }

    /// Back to the start. False where the file cannot.
    pub(super) fn rewind(&mut self) -> bool {
        // SAFETY: no memory is involved.
        if unsafe { libc::lseek64(self.head.fd, self.start, libc::SEEK_SET) } == -1 {
            return false;
        }
        self.head.have = 0;
        self.head.skip = None;
        self.head.clear();
        self.head.pos = 0;
        self.stream.avail_in = 0;
        self.forget_end();
        self.how = How::Look;
        true
    }

    /// Goes to another place of a file that is read as it is. False where the file cannot.
    pub(super) fn move_copy(&mut self, distance: z_off64_t) -> bool {
        let in_file = distance.wrapping_sub(self.head.have.into());
        // SAFETY: no memory is involved.
        if unsafe { libc::lseek64(self.head.fd, in_file, libc::SEEK_CUR) } == -1 {
            return false;
        }
        self.head.have = 0;
        self.head.skip = None;
        self.head.clear();
        self.head.pos += distance;
        self.stream.avail_in = 0;
        self.forget_end();
        true
    }

    /// Takes up to `most` of the bytes that wait. Returns how many.
    pub(super) fn drop_waiting(&mut self, most: z_off64_t) -> z_off64_t {
        let n = most.min(self.head.have.into());
        self.advance(n as c_uint);
        n
    }

    /// Moves past `n` of the bytes that wait.
    pub(super) fn advance(&mut self, n: c_uint) {
        self.head.have -= n;
        self.head.next = self.head.next.wrapping_add(n as usize);
        self.head.pos += z_off64_t::from(n);
    }

    /// Reads the file into `dst`, fewer than `len` bytes only at its end.
    ///
    /// # Safety
    ///
    /// `dst` has room for `len` bytes.
    unsafe fn load(&mut self, dst: *mut u8, len: usize) -> Result<usize, Failed> {
        let mut have = 0;
        while have < len {
            let most = (len - have).min(MOST_AT_ONCE);
            // SAFETY: `have + most` is within the room.
            let got = unsafe { libc::read(self.head.fd, dst.add(have).cast(), most) };
            match usize::try_from(got) {
                Ok(0) => {
                    self.eof = true;
                    break;
                }
                Ok(got) => have += got,
                Err(_) => return Err(self.head.fail_by_errno()),
            }
        }
        self.loaded += have as u64;
        Ok(have)
    }

    /// Fills the input buffer, behind what is left in it.
    fn refill(&mut self) -> Result<(), Failed> {
        if self.head.has_failed() {
            return Err(Failed);
        }
        if self.eof {
            return Ok(());
        }
        let larger = self.larger_input();
        let Some(buffers) = &mut self.buffers else { return Err(Failed) };
        let left = self.stream.avail_in as usize;
        let to = larger.as_ref().unwrap_or(&buffers.input).start();
        if left > 0 {
            // SAFETY: what is left lies in the input buffer, and the other one is not smaller.
            unsafe { copy(self.stream.next_in, to, left) };
        }
        if let Some(larger) = larger {
            buffers.input = larger;
        }
        self.stream.next_in = to;
        let room = buffers.input.len() - left;
        // SAFETY: `left + room` is the buffer's length.
        self.stream.avail_in += unsafe { self.load(to.add(left), room) }? as c_uint;
        Ok(())
    }

    /// A larger input buffer, once the file has proved large.
    fn larger_input(&mut self) -> Option<Buffer> {
        // What is read as it is passes through a buffer of its own size (see `look`).
        if !self.may_read_ahead || self.how != How::Gzip || self.loaded < SMALL_FILE {
            return None;
        }
        self.may_read_ahead = false;
        let worth = self.buffers.as_ref().is_some_and(|now| now.input.len() < LARGE_READ);
        // SAFETY: all zeros is a value of this structure, which fstat fills.
        let regular = unsafe {
            let mut about: libc::stat64 = std::mem::zeroed();
            libc::fstat64(self.head.fd, &mut about) == 0
                && about.st_mode & libc::S_IFMT == libc::S_IFREG
        };
        if worth && regular { Buffer::surplus(LARGE_READ) } else { None }
    }

    /// Gets the buffers and the memory for decompression.
    fn prepare(&mut self) -> Result<(), Failed> {
        let want = self.head.want as usize;
        let (Some(input), Some(output)) = (Buffer::new(want), Buffer::new(2 * want)) else {
            return Err(self.head.fail_for_memory());
        };
        self.stream = new_stream();
        let version = libz_rs_sys::zlibVersion();
        let size = size_of::<z_stream>() as c_int;
        // SAFETY: the stream is new, and stays where it is until it is ended.
        if unsafe { inflateInit2_(&mut self.stream, GZIP_WINDOW, version, size) } != Z_OK {
            return Err(self.head.fail_for_memory());
        }
        self.buffers = Some(Buffers { input, output });
        Ok(())
    }

    /// Looks what comes next, when nothing waits: a gzip header, something else at the start, which is
    /// then read as it is, or something else after a gzip member, which is ignored.
    pub(super) fn look(&mut self) -> Result<(), Failed> {
        if self.buffers.is_none() {
            self.prepare()?;
        }
        // A header comes in one piece, or it is none: a file of one byte is not gzip.
        if self.stream.avail_in < 2 {
            self.refill()?;
            if self.stream.avail_in == 0 {
                return Ok(());
            }
        }
        let (next, left) = (self.stream.next_in, self.stream.avail_in);
        // SAFETY: so many bytes lie there.
        if left > 1 && unsafe { (*next, *next.add(1)) } == (0x1f, 0x8b) {
            // SAFETY: the stream is initialised.
            unsafe { inflateReset(&mut self.stream) };
            self.how = How::Gzip;
            self.transparent = false;
            return Ok(());
        }
        self.stream.avail_in = 0;
        if !self.transparent {
            self.eof = true;
            self.head.have = 0;
            return Ok(());
        }
        let Some(buffers) = &self.buffers else { return Err(Failed) };
        self.head.next = buffers.output.start();
        // SAFETY: at the start the input buffer has its first length, half the output buffer's.
        unsafe { copy(next, self.head.next, left as usize) };
        self.head.have = left;
        self.how = How::Copy;
        Ok(())
    }

    /// Whether the file is read as it is, as far as is known; looks where nothing is known yet.
    pub(super) fn is_transparent(&mut self) -> bool {
        if self.how == How::Look && self.head.have == 0 {
            // An error stays noted, and the next read reports it.
            let _ = self.look();
        }
        self.transparent
    }

    /// Decompresses into `dst` until it is full, the gzip member ends, or the file does. Returns how
    /// many bytes.
    ///
    /// # Safety
    ///
    /// `dst` has room for `len` bytes.
    unsafe fn decompress(&mut self, dst: *mut u8, len: c_uint) -> Result<c_uint, Failed> {
        self.stream.next_out = dst;
        self.stream.avail_out = len;
        while self.stream.avail_out > 0 {
            if self.stream.avail_in == 0 {
                self.refill()?;
                if self.stream.avail_in == 0 {
                    self.head.fail(Z_BUF_ERROR, c"unexpected end of file");
                    break;
                }
            }
            // SAFETY: the stream is initialised; input and room lie where it says.
            match unsafe { inflate(&mut self.stream, Z_NO_FLUSH) } {
                Z_OK => {}
                Z_STREAM_END => {
                    self.how = How::Look;
                    break;
                }
                Z_MEM_ERROR => return Err(self.head.fail_for_memory()),
                Z_DATA_ERROR if self.stream.msg.is_null() => {
                    return Err(self.head.fail(Z_DATA_ERROR, c"compressed data error"));
                }
                Z_DATA_ERROR => {
                    // SAFETY: a message of inflate's is a string that lives for ever.
                    let text = unsafe { std::ffi::CStr::from_ptr(self.stream.msg) };
                    return Err(self.head.fail(Z_DATA_ERROR, text));
                }
                _ => {
                    let text = c"internal error: inflate stream corrupt";
                    return Err(self.head.fail(Z_STREAM_ERROR, text));
                }
            }
        }
        Ok(len - self.stream.avail_out)
    }

    /// Gets bytes to wait, when there are none. None come only at the end of the file.
    pub(super) fn fetch(&mut self) -> Result<(), Failed> {
        loop {
            match self.how {
                How::Look => {
                    self.look()?;
                    if self.how == How::Look {
                        return Ok(());
                    }
                }
                How::Copy | How::Gzip => {
                    let Some(buffers) = &self.buffers else { return Err(Failed) };
                    let to = buffers.output.start();
                    let room = self.room();
                    // SAFETY: so long is the output buffer.
                    self.head.have = unsafe {
                        match self.how {
                            How::Copy => self.load(to, room as usize)? as c_uint,
                            _ => self.decompress(to, room)?,
                        }
                    };
                    self.head.next = to;
                    if self.how == How::Copy {
                        return Ok(());
                    }
                }
            }
            if self.head.have > 0 || self.at_end() {
                return Ok(());
            }
        }
    }

    /// Whether the file is read and decompressed.
    fn at_end(&self) -> bool {
        self.eof && self.stream.avail_in == 0
    }

    /// Does what `gzseek` has noted, as far as the file goes.
    pub(super) fn skip(&mut self) -> Result<(), Failed> {
        let mut left = self.head.skip.take().unwrap_or(0);
        while left > 0 {
            if self.head.have > 0 {
                left -= self.drop_waiting(left);
            } else if self.at_end() {
                break;
            } else {
                self.fetch()?;
            }
        }
        Ok(())
    }

    /// Reads `len` bytes, fewer at the end of the file, and none where an error is noted.
    ///
    /// # Safety
    ///
    /// `dst` has room for `len` bytes.
    pub(super) unsafe fn read(&mut self, dst: *mut u8, len: usize) -> usize {
        // SAFETY: the caller guarantees the room.
        unsafe { self.try_read(dst, len) }.unwrap_or(0)
    }

    /// # Safety
    ///
    /// As for `read`.
    unsafe fn try_read(&mut self, dst: *mut u8, len: usize) -> Result<usize, Failed> {
        if len == 0 {
            return Ok(0);
        }
        self.skip()?;
        let mut got = 0;
        while got < len {
            let most = c_uint::try_from(len - got).unwrap_or(c_uint::MAX);
            let to = dst.wrapping_add(got);
            if self.head.have > 0 {
                let n = most.min(self.head.have);
                // SAFETY: `have` bytes wait at `next`, and `to` has room for `most`.
                unsafe { copy(self.head.next, to, n as usize) };
                self.advance(n);
                got += n as usize;
            } else if self.at_end() {
                self.past = true;
                break;
            } else if self.how == How::Look || most < self.room() {
                // This leaves room in the output buffer for gzungetc.
                self.fetch()?;
            } else {
                // SAFETY: `to` has room for `most`.
                let n = unsafe {
                    match self.how {
                        How::Copy => self.load(to, most as usize)?,
                        _ => self.decompress(to, most)? as usize,
                    }
                };
                self.head.pos += n as z_off64_t;
                got += n;
            }
        }
        Ok(got)
    }

    /// Puts a byte back, so that it is read next.
    pub(super) fn unread(&mut self, byte: u8) -> Result<(), Failed> {
        if self.buffers.is_none() {
            self.look()?;
        }
        let room = self.room();
        let Some(buffers) = &self.buffers else { return Err(Failed) };
        let start = buffers.output.start();
        let have = self.head.have;
        if have == room {
            return Err(self.head.fail(Z_DATA_ERROR, c"out of room to push characters"));
        }
        let end = start.wrapping_add(room as usize);
        if have == 0 {
            self.head.next = end;
        } else if self.head.next == start {
            // To the end, which makes room for more of it.
            let to = end.wrapping_sub(have as usize);
            // SAFETY: `have` bytes lie at the start, and as many places at the end of the buffer.
            unsafe { copy(start, to, have as usize) };
            self.head.next = to;
        }
        self.head.next = self.head.next.wrapping_sub(1);
        // SAFETY: within the buffer: it was not full, and `next` is not its start.
        unsafe { *self.head.next = byte };
        self.head.have += 1;
        self.head.pos -= 1;
        self.past = false;
        Ok(())
    }

    /// Notes that somebody wanted to read beyond the end.
    pub(super) fn note_past_end(&mut self) {
        self.past = true;
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.buffers.is_some() {
            // SAFETY: initialised with the buffers, ended once.
            unsafe { inflateEnd(&mut self.stream) };
        }
    }
}
