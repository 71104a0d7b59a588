//! What a request asks for, in one form for both interfaces, and where its parts lie.
#![allow(unsafe_code)]

use lookaside::{Buf, Span};

use crate::{abi::*, buffers, refusal::Refusal};

/// A request's pointers and lengths; its lists are beside it.
#[derive(Clone, Copy)]
pub struct Ask {
    /// The IV.
    pub iv: *mut Cpa8U,
    /// The length of it.
    pub iv_len: Cpa32U,
    /// What is encrypted or decrypted.
    pub cipher: Span,
    /// What is hashed.
    pub hash: Span,
    /// Where the digest lies that is not appended.
    pub digest: *mut Cpa8U,
    /// The associated data, or the IV of a MAC.
    pub aad: *mut Cpa8U,
}

impl From<&CpaCySymOpData> for Ask {
    #[inline]
    fn from(data: &CpaCySymOpData) -> Ask {
        Ask {
            iv: data.pIv,
            iv_len: data.ivLenInBytes,
            cipher: Span::new(data.cryptoStartSrcOffsetInBytes, data.messageLenToCipherInBytes),
            hash: Span::new(data.hashStartSrcOffsetInBytes, data.messageLenToHashInBytes),
            digest: data.pDigestResult,
            aad: data.pAdditionalAuthData,
        }
    }
}

impl From<&CpaCySymDpOpData> for Ask {
    #[inline]
    fn from(data: &CpaCySymDpOpData) -> Ask {
        let pointer =
            |address: CpaPhysicalAddr| core::ptr::with_exposed_provenance_mut(address as usize);
        // "Physical" addresses are the process's own; programs that fill in one of two mean both.
        let either = |virt: *mut Cpa8U, phys| if virt.is_null() { pointer(phys) } else { virt };
        Ask {
            iv: either(data.pIv, data.iv),
            iv_len: data.ivLenInBytes,
            cipher: Span::new(data.cryptoStartSrcOffsetInBytes, data.messageLenToCipherInBytes),
            hash: Span::new(data.hashStartSrcOffsetInBytes, data.messageLenToHashInBytes),
            digest: pointer(data.digestResult),
            aad: either(data.pAdditionalAuthData, data.additionalAuthData),
        }
    }
}

/// Where a span ends.
#[inline]
pub fn end(span: Span) -> u64 {
    u64::from(span.offset) + u64::from(span.len)
}

/// Source and destination of a request, checked.
#[derive(Clone, Copy)]
pub struct Lists<'a> {
    /// The source.
    pub src: &'a [CpaFlatBuffer],
    /// The destination.
    pub dst: &'a [CpaFlatBuffer],
    /// Whether they are the same memory. Then one of them may be longer.
    pub in_place: bool,
}

impl<'a> Lists<'a> {
    /// Finds out whether the two are the same.
    #[inline]
    pub fn new(src: &'a [CpaFlatBuffer], dst: &'a [CpaFlatBuffer]) -> Lists<'a> {
        let in_place = match (src, dst) {
            ([s], [d]) => s.pData == d.pData,
            _ => are_same(src, dst),
        };
        Lists { src, dst, in_place }
    }

    /// In place: the longer one.
    #[inline]
    pub fn both(&self) -> &'a [CpaFlatBuffer] {
        match (self.src, self.dst) {
            ([s], [d]) if s.dataLenInBytes > d.dataLenInBytes => self.src,
            _ => self.dst,
        }
    }
}

#[inline(never)]
fn are_same(src: &[CpaFlatBuffer], dst: &[CpaFlatBuffer]) -> bool {
    let same = |(s, d): (&CpaFlatBuffer, &CpaFlatBuffer)| {
        s.pData == d.pData && s.dataLenInBytes == d.dataLenInBytes
    };
    src.len() == dst.len() && (core::ptr::eq(src, dst) || src.iter().zip(dst).all(same))
}

/// A part of a list.
pub enum Cut {
    /// In one piece: where, and how long. Words, as registers hold them.
    One(*mut Cpa8U, usize),
    /// In several, or in none.
    Many(Vec<CpaFlatBuffer>),
}

const OUTSIDE: &str = "an offset or a length reaches beyond the buffer list";

impl Cut {
    /// The bytes `from..to` of a list.
    ///
    /// # Errors
    /// Where the list has no such bytes.
    #[inline(always)]
    pub fn new(list: &[CpaFlatBuffer], from: u64, to: u64) -> Result<Cut, Refusal> {
        match list {
            [one] if to <= u64::from(one.dataLenInBytes) => {
                // A start beyond the end is of no bytes.
                Ok(Cut::One(
                    one.pData.wrapping_add(from as usize),
                    to.saturating_sub(from) as usize,
                ))
            }
            _ => Cut::of_many(list, from, to),
        }
    }

    #[inline(never)]
    fn of_many(list: &[CpaFlatBuffer], from: u64, to: u64) -> Result<Cut, Refusal> {
        let mut cut = Vec::new();
        let mut at = 0;
        for piece in list {
            let (start, len) = (at, u64::from(piece.dataLenInBytes));
            at += len;
            let (first, last) = (from.max(start), to.min(at));
            if first < last {
                cut.push(CpaFlatBuffer {
                    dataLenInBytes: (last - first) as u32,
                    pData: piece.pData.wrapping_add((first - start) as usize),
                });
            }
        }
        if to > at {
            return Err(Refusal::invalid(OUTSIDE));
        }
        match cut[..] {
            [one] => Ok(Cut::One(one.pData, one.dataLenInBytes as usize)),
            _ => Ok(Cut::Many(cut)),
        }
    }

    /// Refuses a destination that shares bytes with a source, or with itself.
    ///
    /// # Errors
    /// When they do.
    #[inline]
    pub fn check_apart(src: &Cut, dst: &Cut) -> Result<(), Refusal> {
        buffers::check_apart(src.pieces(&mut { NONE }), dst.pieces(&mut { NONE }))
    }

    /// Its pieces.
    #[inline]
    fn pieces<'a>(&'a self, place: &'a mut [CpaFlatBuffer; 1]) -> &'a [CpaFlatBuffer] {
        match self {
            Cut::One(pData, len) => {
                place[0] = CpaFlatBuffer { dataLenInBytes: *len as u32, pData: *pData };
                place
            }
            Cut::Many(many) => many,
        }
    }

    /// To read.
    ///
    /// # Safety
    /// As [`buffers::source`].
    #[inline(always)]
    pub unsafe fn source(&self) -> Buf {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Cut::One(at, len) => Buf::foreign(*at, *len),
                Cut::Many(many) => buffers::source(many),
            }
        }
    }

    /// To write.
    ///
    /// # Safety
    /// As [`buffers::destination`].
    #[inline(always)]
    pub unsafe fn destination(&self) -> Buf {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Cut::One(at, len) => Buf::foreign_mut(*at, *len),
                Cut::Many(many) => buffers::destination(many),
            }
        }
    }

    /// A copy of its bytes, behind those of `out`.
    ///
    /// # Safety
    /// Nobody writes there meanwhile.
    pub unsafe fn append_to(&self, out: &mut Vec<u8>) {
        for piece in self.pieces(&mut { NONE }).iter().filter(|piece| piece.dataLenInBytes > 0) {
            // SAFETY: pieces with a length have an address; the caller's promise.
            let bytes =
                unsafe { core::slice::from_raw_parts(piece.pData, piece.dataLenInBytes as usize) };
            out.extend_from_slice(bytes);
        }
    }

    /// Writes as many bytes as it has.
    ///
    /// # Safety
    /// Nobody else accesses them meanwhile.
    pub unsafe fn write(&self, mut bytes: &[u8]) {
        for piece in self.pieces(&mut { NONE }).iter().filter(|piece| piece.dataLenInBytes > 0) {
            let len = bytes.len().min(piece.dataLenInBytes as usize);
            // SAFETY: pieces with a length have an address; the caller's promise.
            unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), piece.pData, len) };
            bytes = &bytes[len..];
        }
    }
}

const NONE: [CpaFlatBuffer; 1] =
    [CpaFlatBuffer { dataLenInBytes: 0, pData: core::ptr::null_mut() }];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_lists() {
        let mut bytes: Vec<u8> = (0..10).collect();
        let base = bytes.as_mut_ptr();
        let flat = |from: usize, len| CpaFlatBuffer {
            dataLenInBytes: len,
            pData: base.wrapping_add(from),
        };
        let list = [flat(0, 3), flat(3, 0), flat(3, 5), flat(8, 2)];
        for from in 0..=10 {
            for to in from..=10 {
                let cut = Cut::new(&list, from, to).ok().unwrap();
                let mut found = Vec::new();
                // SAFETY: memory of the test's.
                unsafe { cut.append_to(&mut found) };
                assert_eq!(found, (from as u8..to as u8).collect::<Vec<_>>());
                assert!(
                    from == to || cut.pieces(&mut { NONE }).iter().all(|p| p.dataLenInBytes > 0)
                );
            }
        }
        assert!(Cut::new(&list, 3, 11).is_err() && Cut::new(&list[..1], 3, 4).is_err());
        assert!(Cut::new(&[], 0, 0).is_ok() && Cut::new(&[], 0, 1).is_err());
        let cut = Cut::new(&list, 2, 9).ok().unwrap();
        // SAFETY: as above.
        unsafe { cut.write(&[77; 7]) };
        assert_eq!(bytes, [0, 1, 77, 77, 77, 77, 77, 77, 77, 9]);
    }

    #[test]
    fn the_same_memory_is_found() {
        let flat = |at: usize, len| CpaFlatBuffer {
            dataLenInBytes: len,
            pData: core::ptr::without_provenance_mut(at),
        };
        let lists = |s: &[CpaFlatBuffer], d: &[CpaFlatBuffer]| {
            let lists = Lists::new(s, d);
            (lists.in_place, buffers::length(lists.both()))
        };
        assert_eq!(lists(&[flat(8, 5)], &[flat(8, 9)]), (true, 9));
        assert_eq!(lists(&[flat(8, 9)], &[flat(8, 5)]), (true, 9));
        assert!(!lists(&[flat(8, 9)], &[flat(9, 9)]).0);
        let list = [flat(8, 1), flat(20, 1)];
        assert_eq!(lists(&list, &list.clone()), (true, 2));
        assert!(!lists(&list, &[flat(8, 1), flat(20, 2)]).0);
    }
}
