//! Typed sessions: what a program prepares once and makes requests from.

use std::sync::Arc;

use lookaside_core::{Args, Buf, Compression, Flush, Op, Request, Session, compress_bound};

/// The data mover (service `mv`). Buffers may be scatter-gather lists.
#[derive(Clone, Debug)]
pub struct Mover(pub(crate) Arc<Session>);

impl Mover {
    /// Copies `src` to the start of `dst`, which must be at least as long.
    pub fn copy(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::Copy, src, dst)
    }

    /// Copies, and returns the CRC-32 (as in gzip) of what was copied in `Done::checksum`.
    pub fn copy_crc32(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::CopyCrc32, src, dst)
    }

    /// Copies, and returns the CRC-64/XZ of what was copied in `Done::checksum`.
    pub fn copy_crc64(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::CopyCrc64, src, dst)
    }

    /// Fills `dst` with `pattern` (1 to 64 bytes) over and over, beginning with its first byte.
    pub fn fill(&self, pattern: Buf, dst: Buf) -> Request {
        self.request(Op::Fill, pattern, dst)
    }

    /// Compares `a` with `b`, of equal length. `Done::consumed` is how many bytes at the start are
    /// equal: all of them when the buffers are. Neither is written.
    pub fn compare(&self, a: Buf, b: Buf) -> Request {
        self.request(Op::Compare, a, b)
    }

    fn request(&self, op: Op, src: Buf, dst: Buf) -> Request {
        Request::new(op, self.0.clone(), Args::default(), src, dst)
    }
}

/// Random numbers (service `rng`): a DRBG that the operating system's generator seeds.
#[derive(Clone, Debug)]
pub struct Random(pub(crate) Arc<Session>);

impl Random {
    /// Fills `dst` with random bytes.
    pub fn fill(&self, dst: Buf) -> Request {
        Request::new(Op::Random, self.0.clone(), Args::default(), Buf::empty(), dst)
    }
}

/// Stateless compression: every request is a whole stream or member, independent of all others.
/// Cheap to clone; usable from any thread.
#[derive(Clone, Debug)]
pub struct CompressSession(pub(crate) Arc<Session>, pub(crate) Compression);

impl CompressSession {
    /// Compresses all of `src` into `dst`. With a destination of [`CompressSession::bound`] bytes
    /// it never answers `DstTooSmall`.
    pub fn compress(&self, src: Buf, dst: Buf) -> Request {
        Request::new(Op::Compress, self.0.clone(), Args::default(), src, dst)
    }

    /// Compresses all of `src` into a piece of a raw DEFLATE stream: independent of what comes
    /// before, not final, ending at a byte boundary. Pieces are joined in any number; an empty
    /// final block (bytes `03 00`) ends the stream. The bound holds for pieces too. LZ4 blocks are
    /// pieces of a frame likewise. Sessions of other formats answer `Unsupported`.
    pub fn compress_piece(&self, src: Buf, dst: Buf) -> Request {
        let mut request = self.compress(src, dst);
        request.args.flush = Flush::Full;
        request
    }

    /// Decompresses the stream, member or frame at the start of `src` into `dst`, whose length is the
    /// limit. `Done::consumed` tells where it ended.
    pub fn decompress(&self, src: Buf, dst: Buf) -> Request {
        Request::new(Op::Decompress, self.0.clone(), Args::default(), src, dst)
    }

    /// The parameters.
    pub fn spec(&self) -> &Compression {
        &self.1
    }

    /// The largest compressed size of `len` bytes.
    pub fn bound(&self, len: usize) -> usize {
        compress_bound(self.spec().format, len)
    }
}

/// One compression stream, submitted piece by piece. The runtime runs its requests one at a time
/// in the order they were pushed, also when several are outstanding, and answers them in that order;
/// they must all go to one instance while any is.
///
/// After an overflow the requests that were pushed behind it are answered `Cancelled`: submit the
/// unconsumed rest, then those again.
#[derive(Debug)]
pub struct CompressStream(pub(crate) Arc<Session>);

impl CompressStream {
    /// Compresses the next piece.
    pub fn compress(&self, src: Buf, dst: Buf, flush: Flush) -> Request {
        let mut args = Args::default();
        args.flush = flush;
        Request::new(Op::Compress, self.0.clone(), args, src, dst)
    }
}

/// One decompression stream, submitted piece by piece; as [`CompressStream`] in all else.
#[derive(Debug)]
pub struct DecompressStream(pub(crate) Arc<Session>);

impl DecompressStream {
    /// Decompresses the next piece.
    pub fn decompress(&self, src: Buf, dst: Buf) -> Request {
        Request::new(Op::Decompress, self.0.clone(), Args::default(), src, dst)
    }
}
