//! What stands around the blocks: headers and trailers of zlib (RFC 1950) and gzip (RFC 1952), the
//! bound, and the guess at the kind of data.

use std::ffi::{CStr, c_int, c_ulong};

use libz_rs_sys::{Z_BINARY, Z_TEXT, gz_header, z_stream};
use lookaside_compress::crc32;

use super::state::{State, Wrap};

/// `Z_HUFFMAN_ONLY`: strategies from it on do without string matching, or nearly so.
const Z_HUFFMAN_ONLY: c_int = 2;

/// gzip's OS field: Unix.
const OS_UNIX: u8 = 3;

impl State {
    /// FLEVEL, as stock has it for the level that was asked for.
    fn flevel(&self) -> u16 {
        match self.level {
            _ if self.strategy >= Z_HUFFMAN_ONLY => 0,
            0..=1 => 0,
            2..=5 => 1,
            6 => 2,
            _ => 3,
        }
    }

    /// XFL.
    fn xfl(&self) -> u8 {
        match self.level {
            9 => 2,
            _ if self.strategy >= Z_HUFFMAN_ONLY => 4,
            0..=1 => 4,
            _ => 0,
        }
    }

    /// Puts the header into the outbox.
    ///
    /// # Safety
    /// A header given by `deflateSetHeader` is still as zlib.h asks for.
    pub(crate) unsafe fn header(&mut self, strm: &mut z_stream) {
        match self.wrap {
            Wrap::Raw => {}
            Wrap::Zlib => {
                let preset = !self.input.history().is_empty();
                let cmf = 8 + (u16::from(self.window_bits - 8) << 4);
                let header = cmf << 8 | self.flevel() << 6 | if preset { 0x20 } else { 0 };
                // FCHECK makes it a multiple of 31.
                let header = header + 31 - header % 31;
                self.outbox.put(&header.to_be_bytes());
                if preset {
                    self.outbox.put(&(strm.adler as u32).to_be_bytes());
                }
                strm.adler = self.initial_check();
            }
            Wrap::Gzip => {
                // SAFETY: as the caller guarantees; null is none.
                match unsafe { self.head.as_ref() } {
                    None => self.outbox.put(&[31, 139, 8, 0, 0, 0, 0, 0, self.xfl(), OS_UNIX]),
                    Some(head) => {
                        // SAFETY: as the caller guarantees.
                        let header = unsafe { gzip_header(head, self.xfl()) };
                        self.outbox.put(&header);
                    }
                }
                strm.adler = self.initial_check();
            }
        }
    }

    /// Puts the trailer into the outbox.
    pub(crate) fn trailer(&mut self, strm: &z_stream) {
        match self.wrap {
            Wrap::Raw => {}
            Wrap::Zlib => self.outbox.put(&(strm.adler as u32).to_be_bytes()),
            Wrap::Gzip => {
                self.outbox.put(&(strm.adler as u32).to_le_bytes());
                self.outbox.put(&(strm.total_in as u32).to_le_bytes());
            }
        }
        self.closed = true;
    }

    /// The length of header and trailer.
    ///
    /// # Safety
    /// As [`State::header`].
    unsafe fn overhead(&self) -> usize {
        match self.wrap {
            _ if self.closed => 6,
            Wrap::Raw => 0,
            Wrap::Zlib => 6 + if self.input.history().is_empty() { 0 } else { 4 },
            Wrap::Gzip => {
                // SAFETY: as the caller guarantees; null is none.
                let Some(head) = (unsafe { self.head.as_ref() }) else { return 18 };
                // SAFETY: as the caller guarantees.
                let texts = unsafe { [text(head.name), text(head.comment)] };
                let extra = match head.extra.is_null() {
                    true => 0,
                    false => 2 + head.extra_len as usize,
                };
                let hcrc = if head.hcrc != 0 { 2 } else { 0 };
                18 + extra + texts.iter().map(|t| t.len()).sum::<usize>() + hcrc
            }
        }
    }

    /// Stock's deflateBound for these parameters; at level 0 not less than zlib 1.3's, since
    /// 1.2.13's is too small for a few stored bytes with memLevel 9.
    ///
    /// # Safety
    /// As [`State::header`].
    pub(crate) unsafe fn bound(&self, len: usize) -> usize {
        // SAFETY: as the caller guarantees.
        let overhead = unsafe { self.overhead() };
        let body = match (self.window_bits, self.mem_level) {
            (15, 8) => {
                len.wrapping_add(len >> 12).wrapping_add(len >> 14).wrapping_add(len >> 25) + 7
            }
            // Stock has a hash of mem_level + 7 bits.
            (window, level) if window <= level + 7 => match self.level {
                0 => fixed_bound(len).max(stored_bound(len)),
                _ => fixed_bound(len),
            },
            _ => stored_bound(len),
        };
        body.wrapping_add(overhead)
    }
}

/// What stock says of blocks with fixed codes of 9 bits.
fn fixed_bound(len: usize) -> usize {
    len.wrapping_add(len >> 3).wrapping_add(len >> 8).wrapping_add(len >> 9).wrapping_add(4)
}

/// What stock says of stored blocks of 127 bytes.
fn stored_bound(len: usize) -> usize {
    len.wrapping_add(len >> 5).wrapping_add(len >> 7).wrapping_add(len >> 11).wrapping_add(7)
}

/// Stock's deflateBound without a stream.
pub(crate) fn bound_of_any(len: usize) -> usize {
    fixed_bound(len).max(stored_bound(len)).wrapping_add(6)
}

/// A C string with its zero, or nothing.
///
/// # Safety
/// Null or a C string.
unsafe fn text<'a>(text: *const u8) -> &'a [u8] {
    match text.is_null() {
        true => &[],
        // SAFETY: as the caller guarantees.
        false => unsafe { CStr::from_ptr(text.cast()) }.to_bytes_with_nul(),
    }
}

/// RFC 1952 section 2.3.1.
///
/// # Safety
/// The pointers are null or as zlib.h says.
unsafe fn gzip_header(head: &gz_header, xfl: u8) -> Vec<u8> {
    // SAFETY: as the caller guarantees.
    let (name, comment) = unsafe { (text(head.name), text(head.comment)) };
    let flags = u8::from(head.text != 0)
        | u8::from(head.hcrc != 0) << 1
        | u8::from(!head.extra.is_null()) << 2
        | u8::from(!head.name.is_null()) << 3
        | u8::from(!head.comment.is_null()) << 4;
    let mut header = vec![31, 139, 8, flags];
    header.extend_from_slice(&(head.time as u32).to_le_bytes());
    header.extend_from_slice(&[xfl, head.os as u8]);
    if !head.extra.is_null() {
        // The field has 16 bits, and so much is written.
        let len = head.extra_len as u16;
        header.extend_from_slice(&len.to_le_bytes());
        // SAFETY: as the caller guarantees.
        let extra = unsafe { std::slice::from_raw_parts(head.extra, len.into()) };
        header.extend_from_slice(extra);
    }
    header.extend_from_slice(name);
    header.extend_from_slice(comment);
    if head.hcrc != 0 {
        let check = crc32(0, &header) as u16;
        header.extend_from_slice(&check.to_le_bytes());
    }
    header
}

/// The length of compressBound.
pub(crate) fn compress_bound(len: c_ulong) -> c_ulong {
    len.wrapping_add(len >> 12).wrapping_add(len >> 14).wrapping_add(len >> 25).wrapping_add(13)
}

/// Text or binary, by stock's rule: binary with a byte that no text has; text with one that texts
/// have; binary otherwise. Stock looks at the literals of the first block; here at the first bytes.
pub(crate) fn kind_of(data: &[u8]) -> c_int {
    /// About what a first block of 16,383 symbols holds.
    const LOOK: usize = 32 << 10;
    /// 0..=6, 14..=25, 28..=31, as in stock.
    const NEVER: u32 = 0xf3ff_c07f;
    /// 9, 10 and 13.
    const MAYBE: u32 = 1 << 9 | 1 << 10 | 1 << 13;
    let look = &data[..data.len().min(LOOK)];
    let mut seen = 0u32;
    let mut text = false;
    for part in look.chunks(1024) {
        for &byte in part {
            // No branch: a byte of 32 or more adds no bit.
            let low = byte < 32;
            seen |= u32::from(low) << (byte & 31);
            text |= !low;
        }
        if seen & NEVER != 0 {
            return Z_BINARY;
        }
    }
    if text || seen & MAYBE != 0 { Z_TEXT } else { Z_BINARY }
}
