//! How large a result can be.

use crate::format;
use crate::kernel::stored;
use crate::spec::Format;

/// The size that [`Codec::compress`](crate::Codec::compress) never exceeds for `src_len` bytes:
/// the wrapper plus stored blocks (RFC 1951 section 3.2.4: 5 bytes for each 65,535).
///
/// With a `dst` at least so long, compression cannot fail. Saturates at `usize::MAX`.
///
/// ```
/// use lookaside_compress::{Format, bound};
/// assert_eq!(bound(Format::Raw, 0), 5);
/// assert_eq!(bound(Format::Gzip, 65_536), 65_536 + 2 * 5 + 18);
/// ```
pub fn bound(format: Format, src_len: usize) -> usize {
    stored::size(src_len).saturating_add(format::overhead(format))
}
