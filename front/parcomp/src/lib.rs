//! The parallel compression framework of "Programming Intel QuickAssist Technology Hardware
//! Accelerators for Optimal Performance" (2015), section 8.2: a synchronous interface that takes
//! arbitrarily long input, cuts it into chunks, and lets a [`Provider`] compress many chunks at
//! once under the hood.
//!
//! Two providers are there: `zlib` (stock zlib, one call per chunk) and `lookaside` (also known as
//! `qat`: up to `maxJobsOutstanding` requests in flight from one thread). `lz4` and `zstd` are for those
//! formats what `zlib` is for DEFLATE: the library, one call per chunk. More can be [`register`]ed.
//!
//! ```
//! # fn main() -> Result<(), parcomp::Error> {
//! let provider = parcomp::provider("lookaside")?;
//! let params = parcomp::Params { level: 6, ..Default::default() };
//! let text = b"the quick brown fox jumps over the lazy dog ".repeat(5000);
//!
//! let mut packed = vec![0; parcomp::bound(&*provider, &params, text.len())];
//! let n = parcomp::compress_buffer(&*provider, &params, &text, &mut packed)?;
//!
//! let mut back = vec![0; text.len()];
//! let m = parcomp::decompress_buffer(&*provider, &params, &packed[..n], &mut back)?;
//! assert_eq!(&back[..m], text);
//! # Ok(())
//! # }
//! ```
//!
//! # One pipeline
//!
//! Everything ([`compress_buffer`], [`compress()`] from a file or pipe, the command, the C
//! interface) runs through one pipeline: the calling thread reads chunks, submits them to a
//! [`Lane`], takes what is finished, and writes it in order. Chunk buffers are recycled. Memory is
//! bounded by twice the outstanding chunks (one set in flight, one that waits for an earlier
//! chunk), for input of any length.
//!
//! With [`Params::num_threads`] > 0 that many threads are started, each with its own lane (its own
//! device instance); the calling thread deals chunks to whichever has the fewest and reassembles
//! the output in order. The paper gives each thread one contiguous segment instead; dealing keeps
//! the same threads busy with bounded memory and with input of unknown length. When the length is
//! known and would give some thread no chunk at all, chunks are made smaller, which for one chunk
//! per thread is exactly the paper's segments.
#![deny(unsafe_code)]

mod adler;
mod buffer;
mod compress;
mod crew;
mod decompress;
mod device;
mod error;
mod ffi;
mod gzip;
mod input;
mod libraries;
mod lz4;
pub mod output;
mod params;
mod pipeline;
mod provider;
mod serial;
mod sync_lane;
mod verify;
mod zlib;
mod zstd;

pub use adler::adler32_combine;
pub use buffer::{compress_buffer, decompress_buffer};
pub use compress::{bound, compress, compress_member};
pub use decompress::{decompress, detect};
pub use device::Lookaside;
pub use error::{BadReason, Error};
pub use ffi::{
    broken_pipes_end_the_process, clock_mhz, cpu_times, crc32, crc32_combine, local_time,
};
pub use input::Source;
pub use libraries::{Liblz4, Libzstd};
pub use params::{Doorbell, Format, Params, Wait};
pub use provider::{
    Chunk, Direction, Lane, LaneSpec, Outcome, Provider, Task, TaskError, provider, providers,
    register,
};
pub use serial::{Inflater, Piece};
pub use sync_lane::{Codec, SyncLane};
pub use verify::{Original, verify};
pub use zlib::Zlib;

/// What [`compress()`] or [`decompress()`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Chunks, blocks or members.
    pub chunks: u64,
    /// Decompression: after the last member or frame came bytes that are neither one nor zeros. They
    /// were ignored.
    pub trailing_garbage: bool,
}
