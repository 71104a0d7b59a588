//! Requests and responses: memory of the caller in, numbers out.
#![allow(unsafe_code)]

use core::ffi::c_void;

use libc::iovec;
use lookaside::{Buf, Flush, Op, OpError, Request, Response};

use crate::{
    pointer::{In, Lent, check_extent},
    session::{la_session, la_stream},
    settings::reserved,
    status::{self, Refusal},
};

/// See the header.
#[repr(C)]
#[expect(missing_docs, reason = "the header has them")]
pub struct la_request {
    pub tag: u64,
    pub op: i32,
    pub flush: i32,
    pub session: Lent<la_session>,
    pub stream: Lent<la_stream>,
    pub src: *const c_void,
    pub src_len: usize,
    pub src_iov: *const iovec,
    pub src_iov_count: usize,
    pub dst: *mut c_void,
    pub dst_len: usize,
    pub dst_iov: *const iovec,
    pub dst_iov_count: usize,
    pub reserved: [u64; 2],
}

impl Default for la_request {
    /// All zero, as `{ 0 }` in C.
    fn default() -> Self {
        la_request {
            tag: 0,
            op: 0,
            flush: 0,
            session: Lent::NULL,
            stream: Lent::NULL,
            src: core::ptr::null(),
            src_len: 0,
            src_iov: core::ptr::null(),
            src_iov_count: 0,
            dst: core::ptr::null_mut(),
            dst_len: 0,
            dst_iov: core::ptr::null(),
            dst_iov_count: 0,
            reserved: [0; 2],
        }
    }
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "the header has them")]
pub struct la_response {
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

/// `LA_IOV_MAX`.
pub const IOV_MAX: usize = 1024;

fn op(number: i32) -> Result<Op, Refusal> {
    match number {
        1 => Ok(Op::Copy),
        2 => Ok(Op::Compress),
        3 => Ok(Op::Decompress),
        4 => Ok(Op::Scan),
        5 => Ok(Op::Parse),
        _ => Err(Refusal::Invalid("op")),
    }
}

fn flush(number: i32) -> Result<Flush, Refusal> {
    match number {
        0 => Ok(Flush::None),
        1 => Ok(Flush::Sync),
        2 => Ok(Flush::Full),
        3 => Ok(Flush::Finish),
        _ => Err(Refusal::Invalid("flush")),
    }
}

/// Of a stream of pieces that nothing is flushed from.
fn is_last(flush: Flush) -> Result<bool, Refusal> {
    match flush {
        Flush::None => Ok(false),
        Flush::Finish => Ok(true),
        _ => Err(Refusal::Invalid("flush")),
    }
}

/// The memory that one side of a request names: one piece, or a list.
enum Memory<'a> {
    Piece(usize, usize),
    List(&'a [iovec]),
}

impl<'a> Memory<'a> {
    fn new(
        base: *const c_void,
        len: usize,
        list: &'a In<iovec>,
        count: usize,
    ) -> Result<Memory<'a>, Refusal> {
        if count == 0 {
            if base.is_null() && len > 0 {
                return Err(Refusal::Invalid("a null buffer with a length"));
            }
            check_extent(base.cast::<u8>(), len)?;
            return Ok(Memory::Piece(base.addr(), len));
        }
        if !base.is_null() || len > 0 {
            return Err(Refusal::Invalid("a buffer given in one piece and as iovecs"));
        }
        if count > IOV_MAX {
            return Err(Refusal::Limit("more than LA_IOV_MAX iovecs"));
        }
        // SAFETY: the header asks for as many iovecs as the request says.
        let list = unsafe { list.many(count) }?;
        let mut all = 0usize;
        for v in list {
            if v.iov_base.is_null() && v.iov_len > 0 {
                return Err(Refusal::Invalid("a null iovec with a length"));
            }
            check_extent(v.iov_base.cast::<u8>(), v.iov_len)?;
            all = all.saturating_add(v.iov_len);
        }
        check_extent(core::ptr::null::<u8>(), all)?;
        Ok(Memory::List(list))
    }

    fn extents(&self) -> impl Iterator<Item = (usize, usize)> {
        let (one, list) = match *self {
            Memory::Piece(base, len) => (Some((base, len)), [].as_slice()),
            Memory::List(list) => (None, list),
        };
        one.into_iter().chain(list.iter().map(|v| (v.iov_base.addr(), v.iov_len)))
    }
}

/// Refuses a destination that overlaps the source or itself: a device reads the one while it
/// writes the other.
fn check_overlap(src: &Memory<'_>, dst: &Memory<'_>) -> Result<(), Refusal> {
    let overlap = match (src, dst) {
        (&Memory::Piece(s, s_len), &Memory::Piece(d, d_len)) => {
            s_len > 0 && d_len > 0 && s < d + d_len && d < s + s_len
        }
        _ => {
            let written = |written| move |(base, len)| (base, base + len, written);
            let mut all: Vec<(usize, usize, bool)> =
                src.extents().map(written(false)).chain(dst.extents().map(written(true))).collect();
            all.retain(|(start, end, _)| start < end);
            all.sort_unstable();
            // The furthest ends so far: of all, and of what is written.
            let (mut any_end, mut dst_end) = (0, 0);
            all.iter().any(|&(start, end, written)| {
                let clash = start < if written { any_end } else { dst_end };
                any_end = any_end.max(end);
                if written {
                    dst_end = dst_end.max(end);
                }
                clash
            })
        }
    };
    match overlap {
        true => Err(Refusal::Invalid("overlapping buffers")),
        false => Ok(()),
    }
}

impl la_request {
    /// The runtime's request. Allocates only for lists.
    ///
    /// # Safety
    /// What the header says of requests: the session or stream lives; the memory is valid, and is
    /// left alone until the response, or until the instance that this is pushed to is closed.
    pub(crate) unsafe fn request(&self) -> Result<Request, Refusal> {
        reserved(self.reserved == [0; 2])?;
        let (src_iov, dst_iov) = (In::raw(self.src_iov), In::raw(self.dst_iov));
        let src = Memory::new(self.src, self.src_len, &src_iov, self.src_iov_count)?;
        let dst = Memory::new(self.dst, self.dst_len, &dst_iov, self.dst_iov_count)?;
        check_overlap(&src, &dst)?;
        let (op, flush) = (op(self.op)?, flush(self.flush)?);
        let src = match src {
            // SAFETY: the caller's promise. The pointer keeps its provenance: it is not remade.
            Memory::Piece(..) => unsafe { Buf::foreign(self.src.cast(), self.src_len) },
            Memory::List(list) => {
                // SAFETY: as above.
                let piece = |v: &iovec| unsafe { Buf::foreign(v.iov_base.cast(), v.iov_len) };
                Buf::list(list.iter().map(piece).collect())
            }
        };
        let dst = match dst {
            // SAFETY: the caller's promise; C knows no uninitialised bytes, and `check_overlap` has
            // seen that nothing else of this request lies there.
            Memory::Piece(..) => unsafe { Buf::foreign_mut(self.dst.cast(), self.dst_len) },
            Memory::List(list) => {
                // SAFETY: as above.
                let piece = |v: &iovec| unsafe { Buf::foreign_mut(v.iov_base.cast(), v.iov_len) };
                Buf::list(list.iter().map(piece).collect())
            }
        };
        // SAFETY: the caller's promise.
        let request = unsafe { self.build(op, flush, src, dst) }?;
        Ok(request.tag(self.tag))
    }

    /// # Safety
    /// The session or stream lives.
    unsafe fn build(&self, op: Op, flush: Flush, src: Buf, dst: Buf) -> Result<Request, Refusal> {
        let lacking = Err(Refusal::Invalid("an operation that the session does not have"));
        match (self.session.is_null(), self.stream.is_null()) {
            // SAFETY: the caller's promise.
            (false, true) => match (unsafe { self.session.lent() }?, op) {
                (la_session::Copy(s), Op::Copy) => Ok(s.copy(src, dst)),
                (la_session::Compression(s), Op::Compress) => Ok(s.compress(src, dst)),
                (la_session::Compression(s), Op::Decompress) => Ok(s.decompress(src, dst)),
                (la_session::Scan(s), Op::Scan) => Ok(s.scan(src, dst)),
                _ => lacking,
            },
            // SAFETY: the caller's promise.
            (true, false) => match (unsafe { self.stream.lent() }?, op) {
                (la_stream::Compress(s), Op::Compress) => Ok(s.compress(src, dst, flush)),
                (la_stream::Decompress(s), Op::Decompress) => Ok(s.decompress(src, dst)),
                (la_stream::Scan(s), Op::Scan) => Ok(s.scan(src, dst, is_last(flush)?)),
                (la_stream::Document(s), Op::Parse) => Ok(s.parse(src, dst, is_last(flush)?)),
                _ => lacking,
            },
            _ => Err(Refusal::Invalid("not exactly one of session and stream")),
        }
    }
}

impl From<Response> for la_response {
    fn from(r: Response) -> la_response {
        let mut out = la_response { tag: r.tag, ..la_response::default() };
        match r.result {
            Ok(done) => {
                out.status = status::of_status(done.status);
                out.consumed = done.consumed;
                out.produced = done.produced;
                out.checksum = done.checksum as u32;
                out.checksum_high = (done.checksum >> 32) as u32;
            }
            Err(error) => {
                out.status = status::of_error(error);
                match error {
                    OpError::BadData { offset, reason } => {
                        out.bad_offset = offset;
                        out.bad_reason = status::of_reason(reason);
                    }
                    OpError::BadDocument { offset, .. } => out.bad_offset = offset,
                    _ => {}
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlap(src: &[(usize, usize)], dst: &[(usize, usize)]) -> bool {
        let list = |pieces: &[(usize, usize)]| -> Vec<iovec> {
            let piece = |&(base, iov_len): &(usize, usize)| iovec {
                iov_base: core::ptr::without_provenance_mut(base),
                iov_len,
            };
            pieces.iter().map(piece).collect()
        };
        let (s, d) = (list(src), list(dst));
        check_overlap(&Memory::List(&s), &Memory::List(&d)).is_err()
    }

    #[test]
    fn overlaps_are_found() {
        assert!(!overlap(&[(100, 10), (110, 5)], &[(90, 10), (115, 5)]));
        assert!(overlap(&[(100, 10)], &[(109, 1)]));
        assert!(overlap(&[(100, 100)], &[(150, 1)]));
        assert!(overlap(&[(150, 1)], &[(100, 100)]));
        assert!(overlap(&[], &[(100, 10), (105, 1)]));
        // Sources may: nobody writes there.
        assert!(!overlap(&[(100, 10), (100, 10), (105, 2)], &[(110, 10)]));
        assert!(!overlap(&[(105, 0)], &[(100, 10)]));
        let piece = |s, d| check_overlap(&Memory::Piece(s, 10), &Memory::Piece(d, 10)).is_err();
        assert!(piece(100, 109) && piece(109, 100) && piece(100, 100));
        assert!(!piece(100, 110) && !piece(110, 100));
    }
}
