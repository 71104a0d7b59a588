//! Memory of the caller into [`Buf`]s, checked as far as it can be.
#![allow(unsafe_code)]

use lookaside::Buf;

use crate::{abi::*, refusal::Refusal};

/// The most pieces of a list.
pub const MOST_PIECES: u32 = 65_536;

const NO_LIST: &str = "a buffer list is null or misaligned";
const NO_PIECES: &str = "a buffer list has pieces, and no address of them";
const NO_DATA: &str = "a buffer has a length, and no address";
const MANY: &str = "more than 65,536 pieces in a buffer list";
const LONG: &str = "a buffer list of 4 GiB and more";
const OVERLAP: &str = "source and destination overlap";

/// The pieces of a list.
///
/// # Errors
/// For null where it is not allowed, and for more than 4 GiB.
///
/// # Safety
/// Null, or as the interface asks for.
#[inline]
pub unsafe fn pieces<'a>(list: *const CpaBufferList) -> Result<&'a [CpaFlatBuffer], Refusal> {
    if list.is_null() || !list.is_aligned() {
        return Err(Refusal::invalid(NO_LIST));
    }
    // SAFETY: checked; the caller's promise.
    let list = unsafe { &*list };
    if list.numBuffers == 0 {
        return Ok(&[]);
    }
    if list.pBuffers.is_null() || !list.pBuffers.is_aligned() {
        return Err(Refusal::invalid(NO_PIECES));
    }
    if list.numBuffers > MOST_PIECES {
        return Err(Refusal::invalid(MANY));
    }
    // SAFETY: checked; the caller's promise.
    let pieces = unsafe { core::slice::from_raw_parts(list.pBuffers, list.numBuffers as usize) };
    let mut all = 0_u64;
    for piece in pieces {
        if piece.pData.is_null() && piece.dataLenInBytes > 0 {
            return Err(Refusal::invalid(NO_DATA));
        }
        all += u64::from(piece.dataLenInBytes);
    }
    match all > u64::from(u32::MAX) {
        true => Err(Refusal::invalid(LONG)),
        false => Ok(pieces),
    }
}

/// How many bytes pieces have.
#[inline]
pub fn length(pieces: &[CpaFlatBuffer]) -> usize {
    pieces.iter().map(|piece| piece.dataLenInBytes as usize).sum()
}

/// Pieces to read.
///
/// # Safety
/// They were checked by [`pieces`], and stay as they are until the buffer is back.
#[inline]
pub unsafe fn source(pieces: &[CpaFlatBuffer]) -> Buf {
    // SAFETY: the caller's promise.
    let one =
        |piece: &CpaFlatBuffer| unsafe { Buf::foreign(piece.pData, piece.dataLenInBytes as usize) };
    match pieces {
        [] => Buf::empty(),
        [piece] => one(piece),
        _ => Buf::list(pieces.iter().map(one).collect()),
    }
}

/// Pieces to write.
///
/// # Safety
/// They were checked by [`pieces`], and nobody else accesses them until the buffer is back.
#[inline]
pub unsafe fn destination(pieces: &[CpaFlatBuffer]) -> Buf {
    // SAFETY: the caller's promise.
    let one = |piece: &CpaFlatBuffer| unsafe {
        Buf::foreign_mut(piece.pData, piece.dataLenInBytes as usize)
    };
    match pieces {
        [] => Buf::empty(),
        [piece] => one(piece),
        _ => Buf::list(pieces.iter().map(one).collect()),
    }
}

/// Refuses a destination that shares bytes with the source, or with itself.
///
/// # Errors
/// When they do.
#[inline]
pub fn check_apart(src: &[CpaFlatBuffer], dst: &[CpaFlatBuffer]) -> Result<(), Refusal> {
    let apart = match (src, dst) {
        ([s], [d]) => {
            let (s, s_len) = (s.pData.addr(), s.dataLenInBytes as usize);
            let (d, d_len) = (d.pData.addr(), d.dataLenInBytes as usize);
            s_len == 0 || d_len == 0 || s + s_len <= d || d + d_len <= s
        }
        _ => are_apart(src, dst),
    };
    if apart { Ok(()) } else { Err(Refusal::invalid(OVERLAP)) }
}

fn are_apart(src: &[CpaFlatBuffer], dst: &[CpaFlatBuffer]) -> bool {
    let extent = |written| {
        move |piece: &CpaFlatBuffer| {
            let start = piece.pData.addr();
            (start, start.saturating_add(piece.dataLenInBytes as usize), written)
        }
    };
    let mut all: Vec<(usize, usize, bool)> =
        src.iter().map(extent(false)).chain(dst.iter().map(extent(true))).collect();
    all.retain(|(start, end, _)| start < end);
    all.sort_unstable();
    // The furthest ends so far: of all, and of what is written.
    let (mut any_end, mut dst_end) = (0, 0);
    !all.iter().any(|&(start, end, written)| {
        let clash = start < if written { any_end } else { dst_end };
        any_end = any_end.max(end);
        if written {
            dst_end = dst_end.max(end);
        }
        clash
    })
}

/// The pieces of what the data plane names by "physical" addresses, which are the process's own: a flat buffer, or
/// with the length `CPA_DP_BUFLIST` a list.
///
/// # Errors
/// As [`pieces`].
///
/// # Safety
/// Null, or as the interface asks for.
pub unsafe fn physical(address: CpaPhysicalAddr, len: u32) -> Result<Vec<CpaFlatBuffer>, Refusal> {
    let pointer = |address: u64| core::ptr::with_exposed_provenance_mut::<u8>(address as usize);
    let flat =
        |address: u64, len: u32| CpaFlatBuffer { dataLenInBytes: len, pData: pointer(address) };
    if len != CPA_DP_BUFLIST {
        return match address == 0 && len > 0 {
            true => Err(Refusal::invalid(NO_DATA)),
            false => Ok(vec![flat(address, len)]),
        };
    }
    let list = pointer(address).cast::<CpaPhysBufferList>();
    if list.is_null() || !list.is_aligned() {
        return Err(Refusal::invalid(NO_LIST));
    }
    // SAFETY: checked; the caller's promise.
    let count = unsafe { (*list).numBuffers };
    if count > MOST_PIECES {
        return Err(Refusal::invalid(MANY));
    }
    // SAFETY: the pieces lie behind the head.
    let pieces = unsafe {
        let first = (&raw const (*list).flatBuffers).cast::<CpaPhysFlatBuffer>();
        core::slice::from_raw_parts(first, count as usize)
    };
    let pieces: Vec<_> =
        pieces.iter().map(|piece| flat(piece.bufferPhysAddr, piece.dataLenInBytes)).collect();
    let list = CpaBufferList {
        numBuffers: count,
        pBuffers: pieces.as_ptr().cast_mut(),
        pUserData: core::ptr::null_mut(),
        pPrivateMetaData: core::ptr::null_mut(),
    };
    // SAFETY: a list of this function's.
    unsafe { self::pieces(&list) }?;
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flats(extents: &[(usize, u32)]) -> Vec<CpaFlatBuffer> {
        let flat = |&(start, len): &(usize, u32)| CpaFlatBuffer {
            dataLenInBytes: len,
            pData: core::ptr::without_provenance_mut(start),
        };
        extents.iter().map(flat).collect()
    }

    #[test]
    fn overlaps_are_found() {
        let apart = |s: &[(usize, u32)], d: &[(usize, u32)]| {
            let found = check_apart(&flats(s), &flats(d)).is_ok();
            assert_eq!(found, are_apart(&flats(s), &flats(d)));
            found
        };
        assert!(apart(&[(100, 10)], &[(110, 10)]) && apart(&[(100, 10)], &[(90, 10)]));
        assert!(!apart(&[(100, 10)], &[(109, 1)]) && !apart(&[(100, 100)], &[(150, 1)]));
        assert!(apart(&[(100, 0)], &[(100, 10)]));
        assert!(apart(&[(100, 10), (100, 10)], &[(110, 10)]));
        assert!(!apart(&[], &[(100, 10), (105, 1)]));
    }
}
