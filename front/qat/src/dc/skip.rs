//! Regions of buffers that are left out.
//!
//! AT_START and AT_END leave out the first or last `skipLength` bytes of the whole list. STRIDE leaves out
//! `skipLength` bytes after the first `firstSkipOffset`, and again after each `strideLength`. Consumed and produced
//! count the bytes left out that lie before the last byte that was used.

use crate::{abi::*, refusal::Refusal};

/// Which bytes of a list are used: ranges in order, and where they end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip(Vec<(usize, usize)>);

impl Skip {
    /// The bytes that are used of a list of `len`; `None` for all of them.
    ///
    /// # Errors
    /// For a mode or lengths that make no sense.
    pub fn new(data: &CpaDcSkipData, len: usize) -> Result<Option<Skip>, Refusal> {
        let (skip, first) = (data.skipLength as usize, data.firstSkipOffset as usize);
        let ranges = match data.skipMode {
            CPA_DC_SKIP_DISABLED => return Ok(None),
            _ if skip > len => {
                return Err(Refusal::invalid("skipLength is more than the buffers have"));
            }
            CPA_DC_SKIP_AT_START => vec![(skip, len)],
            CPA_DC_SKIP_AT_END => vec![(0, len - skip)],
            CPA_DC_SKIP_STRIDE => {
                let stride = data.strideLength as usize;
                if stride == 0 {
                    return Err(Refusal::invalid("strideLength is 0"));
                }
                let mut ranges = vec![(0, first.min(len))];
                let mut at = first.saturating_add(skip);
                while at < len {
                    ranges.push((at, at.saturating_add(stride).min(len)));
                    at = at.saturating_add(stride).saturating_add(skip);
                }
                ranges
            }
            _ => return Err(Refusal::invalid("skipMode is none of the interface's")),
        };
        Ok(Some(Skip(ranges.into_iter().filter(|(start, end)| start < end).collect())))
    }

    /// The pieces of a list that are used.
    pub fn cut(&self, pieces: &[CpaFlatBuffer]) -> Vec<CpaFlatBuffer> {
        let mut used = Vec::new();
        let mut start = 0;
        for piece in pieces {
            let end = start + piece.dataLenInBytes as usize;
            for &(first, last) in &self.0 {
                let (first, last) = (first.max(start), last.min(end));
                if first < last {
                    used.push(CpaFlatBuffer {
                        dataLenInBytes: (last - first) as u32,
                        pData: piece.pData.wrapping_add(first - start),
                    });
                }
            }
            start = end;
        }
        used
    }

    /// How far into the list `used` bytes come.
    pub fn position(&self, mut used: usize) -> usize {
        let mut at = 0;
        for &(first, last) in &self.0 {
            if used == 0 {
                break;
            }
            let some = used.min(last - first);
            at = first + some;
            used -= some;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skip(mode: CpaDcSkipMode, skip: u32, stride: u32, first: u32) -> CpaDcSkipData {
        CpaDcSkipData {
            skipMode: mode,
            skipLength: skip,
            strideLength: stride,
            firstSkipOffset: first,
        }
    }

    #[test]
    fn ranges_are_cut_across_pieces() {
        let mut bytes: Vec<u8> = (0..20).collect();
        let base = bytes.as_mut_ptr();
        let piece =
            |at: usize, len| CpaFlatBuffer { dataLenInBytes: len, pData: base.wrapping_add(at) };
        let list = [piece(0, 7), piece(7, 0), piece(7, 13)];
        let used = |data: &CpaDcSkipData| {
            let skip = Skip::new(data, 20).ok().flatten().unwrap();
            let cut = skip.cut(&list);
            let places = cut.iter().flat_map(|p| {
                let start = p.pData.addr() - base.addr();
                start..start + p.dataLenInBytes as usize
            });
            (places.collect::<Vec<_>>(), skip)
        };
        assert_eq!(used(&skip(CPA_DC_SKIP_AT_START, 5, 0, 0)).0, (5..20).collect::<Vec<_>>());
        assert_eq!(used(&skip(CPA_DC_SKIP_AT_END, 15, 0, 0)).0, (0..5).collect::<Vec<_>>());
        let (places, stride) = used(&skip(CPA_DC_SKIP_STRIDE, 3, 4, 2));
        assert_eq!(places, [0, 1, 5, 6, 7, 8, 12, 13, 14, 15, 19]);
        assert_eq!([0, 1, 2, 3, 6, 7, 11].map(|n| stride.position(n)), [0, 1, 2, 6, 9, 13, 20]);
        assert!(Skip::new(&skip(CPA_DC_SKIP_STRIDE, 3, 0, 2), 20).is_err());
        assert!(Skip::new(&skip(CPA_DC_SKIP_AT_END, 21, 0, 2), 20).is_err());
        assert!(Skip::new(&skip(CpaDcSkipMode(9), 1, 1, 2), 20).is_err());
        assert_eq!(Skip::new(&skip(CPA_DC_SKIP_DISABLED, 99, 0, 0), 20).ok(), Some(None));
    }
}
