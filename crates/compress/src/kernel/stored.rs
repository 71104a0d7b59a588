//! Stored blocks.
//!
//! Computes: the RFC 1951 section 3.2.4 encoding of `src` as `ceil(len / 65535)` stored blocks
//! (one, if `src` is empty), the last one final. Level 0, and what takes over when a kernel's
//! result does not fit or is larger than this.
//! Shapes: any; `dst` at least [`size`] bytes. CPU features: none. Source: ours.
//! Covered by the tests `roundtrip` and `limits`; bench `levels`.

/// The most bytes that one stored block holds: LEN has 16 bits.
pub(crate) const MAX_BLOCK: usize = 65_535;

/// BFINAL and BTYPE in one byte (a stored block starts at a byte boundary here), LEN, NLEN.
const BLOCK_HEADER: usize = 5;

/// The size of `src_len` bytes as stored blocks.
pub(crate) fn size(src_len: usize) -> usize {
    let blocks = src_len.div_ceil(MAX_BLOCK).max(1);
    blocks.saturating_mul(BLOCK_HEADER).saturating_add(src_len)
}

/// Writes `src` as stored blocks, the last one final, to the start of `dst`. `None` if it does not
/// fit.
pub(crate) fn compress(src: &[u8], dst: &mut [u8]) -> Option<usize> {
    blocks(src, dst, true)
}

/// Writes `src` as stored blocks, none of them final.
pub(crate) fn compress_piece(src: &[u8], dst: &mut [u8]) -> Option<usize> {
    blocks(src, dst, false)
}

fn blocks(src: &[u8], dst: &mut [u8], last: bool) -> Option<usize> {
    let size = size(src.len());
    let mut out = dst.get_mut(..size)?;
    let mut rest = src;
    loop {
        let (block, tail) = rest.split_at(rest.len().min(MAX_BLOCK));
        let (header, body) = out.split_at_mut(BLOCK_HEADER);
        let len = block.len() as u16;
        header[0] = u8::from(last && tail.is_empty());
        header[1..3].copy_from_slice(&len.to_le_bytes());
        header[3..5].copy_from_slice(&(!len).to_le_bytes());
        let (body, after) = body.split_at_mut(block.len());
        body.copy_from_slice(block);
        if tail.is_empty() {
            return Some(size);
        }
        rest = tail;
        out = after;
    }
}
