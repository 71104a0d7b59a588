//! Headers and trailers, field by field, each of which may come in pieces.

use std::ffi::{CStr, c_int, c_uint, c_ulong};

use libz_rs_sys::{Z_NEED_DICT, z_stream};
use lookaside_compress::crc32;

use super::state::{GZIP, Stage, State, VERIFY, ZLIB};

const DEFLATED: u32 = 8;
const FHCRC: c_int = 0x0200;
const FEXTRA: c_int = 0x0400;
const FNAME: c_int = 0x0800;
const FCOMMENT: c_int = 0x1000;

/// What a field makes of the call.
pub(super) enum Next {
    /// The next stage.
    Go,
    /// More input.
    Wait,
    /// This code, at once.
    Return(c_int),
}

/// A field that may be stored for the caller: up to `max` bytes at `to`.
fn store(to: *mut u8, at: c_uint, max: c_uint, bytes: &[u8]) {
    if !to.is_null() && at < max {
        let count = bytes.len().min((max - at) as usize);
        // SAFETY: zlib.h has the caller guarantee `max` bytes there.
        unsafe { to.add(at as usize).copy_from_nonoverlapping(bytes.as_ptr(), count) };
    }
}

impl State {
    /// So many bits of the next field, not more than 32, if they have come.
    fn field(&mut self, strm: &mut z_stream, count: u32) -> Option<u32> {
        let (hold, bits) = self.raw.bits();
        while *bits < count {
            if strm.avail_in == 0 {
                return None;
            }
            // SAFETY: there is input.
            *hold |= u64::from(unsafe { *strm.next_in }) << *bits;
            strm.next_in = strm.next_in.wrapping_add(1);
            strm.avail_in -= 1;
            *bits += 8;
        }
        Some(*hold as u32)
    }

    /// The field is done with.
    fn taken(&mut self) {
        let (hold, bits) = self.raw.bits();
        *hold = 0;
        *bits = 0;
    }

    pub(super) fn bad(&mut self, strm: &mut z_stream, message: &'static CStr) -> Next {
        strm.msg = message.as_ptr().cast_mut();
        self.front.stage = Stage::Bad;
        Next::Go
    }

    /// Is there a checksum over the header?
    fn header_summed(&self) -> bool {
        self.front.flags & FHCRC != 0 && self.front.wrap & VERIFY != 0
    }

    fn sum(&mut self, bytes: &[u8]) {
        if self.header_summed() {
            self.front.check = crc32(self.front.check, bytes);
        }
    }

    /// A field that is not blocks: its stage, in zlib's way.
    ///
    /// # Safety
    /// `strm` is this state's, its input as zlib.h says, and the caller's gz_header is valid.
    pub(super) unsafe fn frame(&mut self, strm: &mut z_stream) -> Next {
        // SAFETY: null or the caller's.
        let mut head = unsafe { self.front.head.as_mut() };
        macro_rules! field {
            ($count:expr) => {
                match self.field(strm, $count) {
                    Some(value) => value,
                    None => return Next::Wait,
                }
            };
        }
        match self.front.stage {
            Stage::Head => {
                if self.front.wrap == 0 {
                    self.front.stage = Stage::Body;
                    return Next::Go;
                }
                let value = field!(16);
                if self.front.wrap & GZIP != 0 && value == 0x8b1f {
                    if self.front.window_bits == 0 {
                        self.set_window(15);
                    }
                    self.front.check = crc32(0, &[0x1f, 0x8b]);
                    self.taken();
                    self.front.stage = Stage::GzipFlags;
                    return Next::Go;
                }
                if let Some(head) = head {
                    head.done = -1;
                }
                let (cmf, flg) = (value & 0xff, value >> 8);
                if self.front.wrap & ZLIB == 0 || !((cmf << 8) + flg).is_multiple_of(31) {
                    return self.bad(strm, c"incorrect header check");
                }
                if cmf & 15 != DEFLATED {
                    return self.bad(strm, c"unknown compression method");
                }
                let window_bits = (cmf >> 4) as u8 + 8;
                // Stock has taken the method by now, which shows where the window is wrong.
                let (hold, bits) = self.raw.bits();
                *hold >>= 4;
                *bits -= 4;
                if self.front.window_bits == 0 {
                    self.front.window_bits = window_bits;
                    if window_bits <= 15 {
                        self.set_window(window_bits);
                    }
                }
                if window_bits > 15 || window_bits > self.front.window_bits {
                    return self.bad(strm, c"invalid window size");
                }
                self.front.flags = 0;
                self.front.check = 1;
                strm.adler = 1;
                self.taken();
                if flg & 0x20 != 0 {
                    self.front.stage = Stage::DictionaryId;
                } else {
                    self.blocks();
                }
            }
            Stage::GzipFlags => {
                let value = field!(16);
                self.front.flags = value as c_int;
                if value & 0xff != DEFLATED {
                    return self.bad(strm, c"unknown compression method");
                }
                if value & 0xe000 != 0 {
                    return self.bad(strm, c"unknown header flags set");
                }
                if let Some(head) = head {
                    head.text = (value >> 8 & 1) as c_int;
                }
                self.sum(&value.to_le_bytes()[..2]);
                self.taken();
                self.front.stage = Stage::GzipTime;
            }
            Stage::GzipTime => {
                let value = field!(32);
                if let Some(head) = head {
                    head.time = value.into();
                }
                self.sum(&value.to_le_bytes());
                self.taken();
                self.front.stage = Stage::GzipOs;
            }
            Stage::GzipOs => {
                let value = field!(16);
                if let Some(head) = head {
                    head.xflags = (value & 0xff) as c_int;
                    head.os = (value >> 8) as c_int;
                }
                self.sum(&value.to_le_bytes()[..2]);
                self.taken();
                self.front.stage = Stage::GzipExtraLen;
            }
            Stage::GzipExtraLen => {
                if self.front.flags & FEXTRA != 0 {
                    let value = field!(16);
                    self.front.length = value;
                    if let Some(head) = head {
                        head.extra_len = value;
                    }
                    self.sum(&value.to_le_bytes()[..2]);
                    self.taken();
                } else if let Some(head) = head {
                    head.extra = std::ptr::null_mut();
                }
                self.front.stage = Stage::GzipExtra;
            }
            Stage::GzipExtra => {
                if self.front.flags & FEXTRA != 0 {
                    let count = self.front.length.min(strm.avail_in);
                    let bytes = take(strm, count);
                    if let Some(head) = head {
                        let at = head.extra_len.wrapping_sub(self.front.length);
                        store(head.extra, at, head.extra_max, bytes);
                    }
                    self.sum(bytes);
                    self.front.length -= count;
                    if self.front.length != 0 {
                        return Next::Wait;
                    }
                }
                self.front.length = 0;
                self.front.stage = Stage::GzipName;
            }
            stage @ (Stage::GzipName | Stage::GzipComment) => {
                let is_name = stage == Stage::GzipName;
                if self.front.flags & if is_name { FNAME } else { FCOMMENT } != 0 {
                    if strm.avail_in == 0 {
                        return Next::Wait;
                    }
                    let rest = waiting(strm);
                    let end = rest.iter().position(|&byte| byte == 0);
                    let count = end.map_or(rest.len(), |end| end + 1) as c_uint;
                    let bytes = take(strm, count);
                    if let Some(head) = head {
                        let (to, max) = match is_name {
                            true => (head.name, head.name_max),
                            false => (head.comment, head.comm_max),
                        };
                        store(to, self.front.length, max, bytes);
                        if !to.is_null() {
                            self.front.length = (self.front.length.saturating_add(count)).min(max);
                        }
                    }
                    self.sum(bytes);
                    if end.is_none() {
                        return Next::Wait;
                    }
                } else if let Some(head) = head {
                    match is_name {
                        true => head.name = std::ptr::null_mut(),
                        false => head.comment = std::ptr::null_mut(),
                    }
                }
                self.front.length = 0;
                self.front.stage = if is_name { Stage::GzipComment } else { Stage::GzipCrc };
            }
            Stage::GzipCrc => {
                if self.front.flags & FHCRC != 0 {
                    let value = field!(16);
                    if self.front.wrap & VERIFY != 0 && value != self.front.check & 0xffff {
                        return self.bad(strm, c"header crc mismatch");
                    }
                    self.taken();
                }
                if let Some(head) = &mut head {
                    head.hcrc = self.front.flags >> 9 & 1;
                    head.done = 1;
                }
                self.front.check = 0;
                strm.adler = 0;
                self.blocks();
            }
            Stage::DictionaryId => {
                let value = field!(32).swap_bytes();
                self.front.check = value;
                strm.adler = value.into();
                self.taken();
                self.front.stage = Stage::Dictionary;
            }
            Stage::Dictionary => {
                if !self.front.have_dictionary {
                    return Next::Return(Z_NEED_DICT);
                }
                self.front.check = 1;
                strm.adler = 1;
                self.blocks();
            }
            Stage::Check => {
                if self.front.wrap != 0 {
                    let value = field!(32);
                    let value = if self.front.flags != 0 { value } else { value.swap_bytes() };
                    if self.front.wrap & VERIFY != 0 && value != self.front.check {
                        return self.bad(strm, c"incorrect data check");
                    }
                    self.taken();
                }
                self.front.stage = Stage::Length;
            }
            Stage::Length => {
                if self.front.wrap != 0 && self.front.flags != 0 {
                    let value = field!(32);
                    let total = self.front.total & 0xffff_ffff;
                    if self.front.wrap & VERIFY != 0 && c_ulong::from(value) != total {
                        return self.bad(strm, c"incorrect length check");
                    }
                    self.taken();
                }
                self.front.stage = Stage::Done;
            }
            Stage::Body | Stage::Done | Stage::Bad | Stage::Sync | Stage::Broken => {}
        }
        Next::Go
    }

    /// Blocks begin, where a call may be asked to stop.
    fn blocks(&mut self) {
        self.front.stage = Stage::Body;
        self.raw.at_block();
    }
}

/// The input that there is.
fn waiting<'a>(strm: &z_stream) -> &'a [u8] {
    if strm.avail_in == 0 {
        return &[];
    }
    // SAFETY: as zlib.h says of next_in and avail_in; the bytes stay for the call.
    unsafe { std::slice::from_raw_parts(strm.next_in, strm.avail_in as usize) }
}

/// Takes `count` bytes of it.
fn take<'a>(strm: &mut z_stream, count: c_uint) -> &'a [u8] {
    let bytes = &waiting(strm)[..count as usize];
    strm.next_in = strm.next_in.wrapping_add(count as usize);
    strm.avail_in -= count;
    bytes
}
