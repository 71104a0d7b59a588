//! A file that is written.

use std::ffi::{c_int, c_uint};
use std::ptr::{copy, null};

use libz_rs_sys::{
    Z_BLOCK, Z_BUF_ERROR, Z_DEFLATED, Z_FINISH, Z_MEM_ERROR, Z_NO_FLUSH, Z_OK, Z_STREAM_END,
    Z_STREAM_ERROR, z_off64_t, z_stream,
};

use super::memory::{Buffer, LARGEST_OUTPUT, LARGEST_PIECE, WAITING_PART};
use super::reader::{GZIP_WINDOW, MOST_AT_ONCE, new_stream};
use super::{Failed, Head};
use crate::deflate::{deflate, deflateEnd, deflateInit2_, deflateParams, deflateReset};

/// zlib's default of the parameter `memLevel`.
const MEMORY_LEVEL: c_int = 8;

#[repr(C)]
pub(super) struct Writer {
    pub(super) head: Head,
    stream: z_stream,
    /// There from the first write on.
    buffers: Option<Buffers>,
    settings: Settings,
    /// A gzip member is complete: what comes next begins another.
    between_members: bool,
    /// The first error that cost bytes which `gzwrite` was given: they will not come any more.
    pub(super) lost: Option<c_int>,
}

/// What the mode string and `gzsetparams` decide.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub(super) level: c_int,
    pub(super) strategy: c_int,
    /// What is written goes to the file as it is.
    pub(super) transparent: bool,
}

struct Buffers {
    /// Room for a piece, and a text of `gzprintf` behind it.
    input: Buffer,
    /// How much is collected before it is compressed: `want` bytes at first.
    piece: usize,
    /// None where nothing is compressed.
    output: Option<Output>,
}

struct Output {
    buffer: Buffer,
    /// The first byte that is not written to the file yet.
    next: *mut u8,
}

impl Writer {
    pub(super) fn new(head: Head, settings: Settings) -> Self {
        Writer {
            head,
            stream: new_stream(),
            buffers: None,
            settings,
            between_members: false,
            lost: None,
        }
    }

    pub(super) fn has_buffers(&self) -> bool {
        self.buffers.is_some()
    }

    pub(super) fn is_transparent(&self) -> bool {
        self.settings.transparent
    }

    /// Gets the buffers and the memory for compression, where they are not there yet.
    fn prepare(&mut self) -> Result<(), Failed> {
        if self.buffers.is_some() {
            return Ok(());
        }
        let want = self.head.want as usize;
        let Some(input) = Buffer::new(2 * want) else { return Err(self.head.fail_for_memory()) };
        let mut output = None;
        if !self.settings.transparent {
            // Into fewer than 7 bytes, deflate repeats the end of a flush for ever.
            let len = want.max(64);
            let Some(buffer) = Buffer::new(len) else { return Err(self.head.fail_for_memory()) };
            self.stream = new_stream();
            // SAFETY: the stream is new, and stays where it is until it is ended.
            let result = unsafe {
                deflateInit2_(
                    &mut self.stream,
                    self.settings.level,
                    Z_DEFLATED,
                    GZIP_WINDOW,
                    MEMORY_LEVEL,
                    self.settings.strategy,
                    libz_rs_sys::zlibVersion(),
                    size_of::<z_stream>() as c_int,
                )
            };
            if result != Z_OK {
                return Err(self.head.fail_for_memory());
            }
            self.stream.next_out = buffer.start();
            self.stream.avail_out = len as c_uint;
            output = Some(Output { next: buffer.start(), buffer });
        }
        self.buffers = Some(Buffers { input, piece: want, output });
        Ok(())
    }

    /// Compresses the input that the stream has, all of it, and does what `flush` says. What comes out
    /// is written when the buffer is full, when it is much, and when flushing.
    fn compress(&mut self, flush: c_int) -> Result<(), Failed> {
        self.prepare()?;
        if self.settings.transparent {
            return self.pass_through();
        }
        if self.between_members {
            // Another member only if there is something for it.
            if self.stream.avail_in == 0 {
                return Ok(());
            }
            // SAFETY: the stream is initialised.
            unsafe { deflateReset(&mut self.stream) };
            self.between_members = false;
        }
        self.enlarge_output();
        loop {
            // The last of a member waits until it is complete.
            let due = flush != Z_NO_FLUSH && flush != Z_FINISH;
            if due || self.stream.avail_out == 0 {
                self.write_out()?;
            }
            let before = (self.stream.avail_in, self.stream.avail_out);
            // SAFETY: the stream is initialised; input and room lie where it says.
            let result = unsafe { deflate(&mut self.stream, flush) };
            if result == Z_STREAM_END {
                self.write_out()?;
                break;
            }
            if result == Z_MEM_ERROR {
                return Err(self.head.fail_for_memory());
            }
            let idle = (self.stream.avail_in, self.stream.avail_out) == before;
            if result == Z_STREAM_ERROR || (idle && self.stream.avail_in > 0) {
                let text = c"internal error: deflate stream corrupt";
                return Err(self.head.fail(Z_STREAM_ERROR, text));
            }
            let taken = self.stream.avail_in == 0 && self.stream.avail_out > 0;
            if idle || (taken && flush == Z_NO_FLUSH) {
                break;
            }
        }
        self.between_members = flush == Z_FINISH;
        if self.unwritten() >= self.head.want as usize {
            self.write_out()?;
        }
        Ok(())
    }

    /// Writes the input to the file as it is.
    fn pass_through(&mut self) -> Result<(), Failed> {
        while self.stream.avail_in > 0 {
            let len = self.stream.avail_in as usize;
            // SAFETY: so much lies there.
            let written = unsafe { self.head.write_some(self.stream.next_in, len)? };
            self.stream.avail_in -= written as c_uint;
            self.stream.next_in = self.stream.next_in.wrapping_add(written);
        }
        Ok(())
    }

    /// Bytes that are compressed, but not written.
    fn unwritten(&self) -> usize {
        let next = self.buffers.as_ref().and_then(|buffers| buffers.output.as_ref());
        next.map_or(0, |output| self.stream.next_out as usize - output.next as usize)
    }

    /// Writes what is compressed, after which the buffer is empty.
    fn write_out(&mut self) -> Result<(), Failed> {
        let Some(Buffers { output: Some(output), .. }) = &mut self.buffers else {
            return Ok(());
        };
        while output.next < self.stream.next_out {
            let len = self.stream.next_out as usize - output.next as usize;
            // SAFETY: so much lies there.
            let written = unsafe { self.head.write_some(output.next, len)? };
            output.next = output.next.wrapping_add(written);
        }
        output.next = output.buffer.start();
        self.stream.next_out = output.next;
        self.stream.avail_out = output.buffer.len() as c_uint;
        Ok(())
    }

    /// Gets an output buffer as large as the input, within bounds, so that a large piece can be
    /// compressed in one go.
    fn enlarge_output(&mut self) {
        let Some(Buffers { output: Some(output), .. }) = &mut self.buffers else { return };
        let len = (self.stream.avail_in as usize).min(LARGEST_OUTPUT).next_power_of_two();
        if len < 2 * output.buffer.len() {
            return;
        }
        let Some(larger) = Buffer::surplus(len) else { return };
        let unwritten = self.stream.next_out as usize - output.next as usize;
        // SAFETY: the old buffer has so much, and the new one is larger than it.
        unsafe { copy(output.next, larger.start(), unwritten) };
        self.stream.next_out = larger.start().wrapping_add(unwritten);
        self.stream.avail_out = (len - unwritten) as c_uint;
        *output = Output { next: larger.start(), buffer: larger };
    }

    /// Compresses the piece that has come together, and collects a larger one next if the file has
    /// become large.
    fn compress_piece(&mut self) -> Result<(), Failed> {
        self.compress(Z_NO_FLUSH)?;
        let want = self.head.want as usize;
        let Some(buffers) = &mut self.buffers else { return Ok(()) };
        let part = usize::try_from(self.head.pos / WAITING_PART).unwrap_or(0);
        let part = part.min(LARGEST_PIECE);
        if part < 2 * buffers.piece || buffers.output.is_none() || self.stream.avail_in > 0 {
            return Ok(());
        }
        let piece = 1 << part.ilog2();
        if let Some(input) = Buffer::surplus(piece + want) {
            self.stream.next_in = input.start();
            buffers.input = input;
            buffers.piece = piece;
        }
        Ok(())
    }

    /// The place behind what is collected, and how much room a piece leaves there.
    fn free(&mut self) -> (*mut u8, usize) {
        let Some(buffers) = &self.buffers else { return (std::ptr::null_mut(), 0) };
        if self.stream.avail_in == 0 {
            self.stream.next_in = buffers.input.start();
        }
        let begun = self.stream.next_in as usize - buffers.input.start() as usize;
        let have = begun + self.stream.avail_in as usize;
        (buffers.input.start().wrapping_add(have), buffers.piece.saturating_sub(have))
    }

    /// Notes `len` bytes that were put behind what is collected.
    fn collected(&mut self, len: usize) {
        self.stream.avail_in += len as c_uint;
        self.head.pos += len as z_off64_t;
    }

    /// Does what `gzseek` has noted: writes zeros.
    pub(super) fn skip(&mut self) -> Result<(), Failed> {
        let Some(mut left) = self.head.skip.take() else { return Ok(()) };
        if self.stream.avail_in > 0 {
            self.compress(Z_NO_FLUSH)?;
        }
        self.prepare()?;
        while left > 0 {
            let (to, room) = self.free();
            let n = usize::try_from(left).unwrap_or(usize::MAX).min(room);
            // SAFETY: so much room is there: nothing is collected.
            unsafe { to.write_bytes(0, n) };
            self.collected(n);
            self.compress_piece()?;
            left -= n as z_off64_t;
        }
        Ok(())
    }

    /// Takes `len` bytes to compress. Returns 0 where an error is noted.
    ///
    /// # Safety
    ///
    /// `src` has `len` bytes.
    pub(super) unsafe fn write(&mut self, src: *const u8, len: usize) -> usize {
        // SAFETY: the caller guarantees the bytes.
        match unsafe { self.try_write(src, len) } {
            Ok(()) => len,
            Err(Failed) => 0,
        }
    }

    /// # Safety
    ///
    /// As for `write`.
    unsafe fn try_write(&mut self, src: *const u8, len: usize) -> Result<(), Failed> {
        if len == 0 {
            return Ok(());
        }
        self.prepare()?;
        self.skip()?;
        let piece = self.buffers.as_ref().map_or(0, |buffers| buffers.piece);
        if len >= piece {
            if self.stream.avail_in > 0 {
                self.compress(Z_NO_FLUSH)?;
            }
            // SAFETY: the caller guarantees the bytes.
            return unsafe { self.compress_in_place(src, len) };
        }
        let mut done = 0;
        loop {
            let (to, room) = self.free();
            let n = room.min(len - done);
            // SAFETY: so much is left of the source, and so much room is there.
            unsafe { copy(src.wrapping_add(done), to, n) };
            self.collected(n);
            done += n;
            if done == len {
                return Ok(());
            }
            self.compress_piece()?;
        }
    }

    /// Compresses the caller's bytes where they lie.
    ///
    /// # Safety
    ///
    /// As for `write`.
    unsafe fn compress_in_place(&mut self, src: *const u8, len: usize) -> Result<(), Failed> {
        let mut done = 0;
        while done < len {
            let n = c_uint::try_from(len - done).unwrap_or(c_uint::MAX);
            self.stream.next_in = src.wrapping_add(done);
            self.stream.avail_in = n;
            self.head.pos += z_off64_t::from(n);
            let result = self.compress(Z_NO_FLUSH);
            if result.is_err() {
                // The caller's memory is not ours after this call: nothing may point into it.
                if self.stream.avail_in > 0 || done + (n as usize) < len {
                    self.lost.get_or_insert(self.head.error);
                }
                self.stream.avail_in = 0;
                self.stream.next_in = null();
                return result;
            }
            done += n as usize;
        }
        Ok(())
    }

    /// Takes one byte, if there is room for it without compressing.
    pub(super) fn collect_byte(&mut self, byte: u8) -> bool {
        let (to, room) = self.free();
        if room == 0 {
            return false;
        }
        // SAFETY: there is room for one.
        unsafe { *to = byte };
        self.collected(1);
        true
    }

    /// Room for a text and its terminating zero: as much as the buffer's size.
    pub(super) fn room_for_text(&mut self) -> Result<(*mut u8, c_uint), Failed> {
        self.prepare()?;
        self.skip()?;
        let (to, _) = self.free();
        let want = self.head.want as usize;
        // After an error, what is left may begin anywhere in the buffer: a text needs `want` behind it.
        let end = self.buffers.as_ref().map_or(0, |b| b.input.start() as usize + b.input.len());
        if end - (to as usize) < want {
            self.compress(Z_NO_FLUSH)?;
            return Ok((self.free().0, self.head.want));
        }
        Ok((to, self.head.want))
    }

    /// Takes the text that was put into that room.
    pub(super) fn take_text(&mut self, len: c_uint) -> Result<(), Failed> {
        self.collected(len as usize);
        let piece = self.buffers.as_ref().map_or(0, |buffers| buffers.piece);
        if (self.stream.avail_in as usize) < piece { Ok(()) } else { self.compress_piece() }
    }

    /// Compresses what is collected and does what `flush` says.
    pub(super) fn flush(&mut self, flush: c_int) -> Result<(), Failed> {
        self.skip()?;
        self.compress(flush)
    }

    /// Compresses what is collected and ends the gzip member.
    pub(super) fn finish(&mut self) -> Result<(), Failed> {
        self.compress(Z_FINISH)
    }

    /// Compresses what comes from here on differently. As in zlib, nonsense is found out when the file
    /// is first written, and ignored after that.
    pub(super) fn change(&mut self, level: c_int, strategy: c_int) -> Result<(), Failed> {
        if (level, strategy) == (self.settings.level, self.settings.strategy) {
            return Ok(());
        }
        self.skip()?;
        if self.buffers.is_some() && !self.settings.transparent {
            if self.stream.avail_in > 0 {
                self.compress(Z_BLOCK)?;
            }
            // What the stream still holds comes out with the old settings, and needs room.
            loop {
                let room = self.stream.avail_out;
                // SAFETY: the stream is initialised; input and room lie where it says.
                let result = unsafe { deflateParams(&mut self.stream, level, strategy) };
                if result != Z_BUF_ERROR || (self.stream.avail_out == room && room > 0) {
                    break;
                }
                self.write_out()?;
            }
        }
        self.settings.level = level;
        self.settings.strategy = strategy;
        Ok(())
    }
}

impl Head {
    /// Writes up to `len` bytes to the file. Returns how many.
    ///
    /// # Safety
    ///
    /// `src` has `len` bytes.
    unsafe fn write_some(&mut self, src: *const u8, len: usize) -> Result<usize, Failed> {
        // SAFETY: the caller guarantees the bytes.
        let written = unsafe { libc::write(self.fd, src.cast(), len.min(MOST_AT_ONCE)) };
        usize::try_from(written).map_err(|_| self.fail_by_errno())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.buffers.is_some() && !self.settings.transparent {
            // SAFETY: initialised with the buffers, ended once.
            unsafe { deflateEnd(&mut self.stream) };
        }
    }
}
