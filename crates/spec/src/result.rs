//! What a successful operation answers.

/// How far a successful operation came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// The whole source was consumed, and everything that was asked for is in the destination.
    #[default]
    Complete,
    /// Streams only: the destination is full and more would come. Resumable: submit the
    /// unconsumed rest of the source (which may be empty) again with the same flush.
    Overflow,
    /// The stream (zlib), member (gzip) or last block (raw) ended. A decompressor may have consumed
    /// less than the whole source: the rest belongs to whatever follows.
    End,
}

/// The success part of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Bytes of the source that were consumed. Symmetric packets: the longer one of their cipher
    /// region and authenticated region.
    pub consumed: usize,
    /// Bytes at the start of the destination that were written. Symmetric packets lie at their
    /// offsets: the sum of their results.
    pub produced: usize,
    /// The checksum of the uncompressed bytes (of a stream: of all so far) that the session asked
    /// for, or of the bytes copied; 0 when none was asked for.
    pub checksum: u64,
    /// How far the operation came.
    pub status: Status,
}
