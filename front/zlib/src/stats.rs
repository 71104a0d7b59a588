//! What served the calls of this process: `LOOKASIDE_STATS` and `LOOKASIDE_COUNTERS`, as [`Statistics`] says.

use std::fmt::Write as _;

use lookaside_drop_in::Statistics;

use crate::device;

/// Who served a call, and why it was that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Path {
    /// A whole stream at once, on the caller's thread.
    CompressWhole,
    /// Pieces of large input that engines of the device compressed.
    CompressDevice,
    /// Pieces that the caller's thread compressed: flushed ones, or the device was not there or
    /// busy.
    CompressPiece,
    /// A stream at level 1, by igzip.
    CompressStream,
    /// A stream above level 1, by zlib-rs: flushed, or of what repeats itself.
    CompressLevel,
    /// By zlib-rs because of the strategy.
    CompressStrategy,
    /// By zlib-rs because of the window.
    CompressWindow,
    /// By zlib-rs because of `Z_PARTIAL_FLUSH` or `Z_BLOCK`.
    CompressFlush,
    /// By zlib-rs because of `deflatePrime` or `deflateTune`.
    CompressBits,
    /// A whole stream at once, on the caller's thread.
    DecompressWhole,
    /// A stream, by the resumable decoder.
    DecompressStream,
    /// A stream, by zlib-rs.
    DecompressOther,
}

/// The row of each [`Path`].
static ROWS: [&str; 12] = [
    "compress, whole calls",
    "compress, pieces: device",
    "compress, pieces: own thread",
    "compress, stream: igzip",
    "compress, stream: zlib-rs, level",
    "compress, stream: zlib-rs, strategy",
    "compress, stream: zlib-rs, window",
    "compress, stream: zlib-rs, flush",
    "compress, stream: zlib-rs, bits or tuning",
    "decompress, whole calls",
    "decompress, stream",
    "decompress, stream: zlib-rs",
];

static STATISTICS: Statistics =
    Statistics::new("zlib", "libz", &ROWS, ["calls", "bytes in", "bytes out"], at_exit)
        .with(devices, || ());

extern "C" fn at_exit() {
    let _ = std::panic::catch_unwind(|| STATISTICS.print());
}

/// Counts a call that `path` served, with the bytes that it took and gave.
#[inline]
pub fn count(path: Path, bytes_in: usize, bytes_out: usize) {
    STATISTICS.count(path as usize, [1, bytes_in as u64, bytes_out as u64]);
}

/// The devices' own counters.
fn devices(text: &mut String) {
    let Some((engines, counters)) = device::counters() else { return };
    if counters.engines_missing > 0 {
        let missing = counters.engines_missing;
        let _ = writeln!(text, "engine threads that the system refused: {missing}");
    }
    for op in counters.ops.iter().filter(|op| op.requests > 0) {
        let name = format!("device {}, {} ({engines} engines)", op.device, op.op);
        let (requests, src, dst) = (op.requests, op.src_bytes, op.dst_bytes);
        let _ = writeln!(text, "{name:42} {requests:>10} {src:>14} {dst:>14}");
    }
}
