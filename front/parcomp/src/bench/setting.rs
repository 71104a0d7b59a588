//! What is varied: the parameters of one measurement.

use parcomp::{Doorbell, Format, Params, Wait};

/// Who compresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Zlib,
    Lookaside,
}

impl Who {
    pub fn name(self) -> &'static str {
        match self {
            Who::Zlib => "zlib",
            Who::Lookaside => "lookaside",
        }
    }
}

/// One measurement's parameters. The level is always 1, as in the paper's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub who: Who,
    /// In bytes.
    pub chunk: usize,
    /// 0: the calling thread itself.
    pub threads: usize,
    /// Requests outstanding; 1 is synchronous.
    pub jobs: usize,
    /// Engine threads; 0: the calling thread executes the requests itself.
    pub engines: usize,
    /// Whether data is copied into and out of the device's buffers, as the paper does.
    pub copy: bool,
    /// How the caller waits for responses.
    pub wait: Wait,
    /// Whether every request gets a doorbell, or one covers all that were pushed.
    pub doorbell: Doorbell,
}

/// The paper's chunk for the device.
pub const CHUNK: usize = 64 << 10;
/// One chunk for all of a thread's data: the paper's `-c1000000`.
pub const ONE_CHUNK: usize = 1_000_000 << 10;
/// The paper's number of outstanding requests for an asynchronous caller.
pub const JOBS: usize = 24;

impl Setting {
    /// zlib with a single chunk per thread.
    pub fn zlib(threads: usize) -> Setting {
        Setting { who: Who::Zlib, chunk: ONE_CHUNK, threads, jobs: 1, ..Setting::device(1, 0) }
    }

    /// The device with 64 KB chunks.
    pub fn device(jobs: usize, engines: usize) -> Setting {
        Setting {
            who: Who::Lookaside,
            chunk: CHUNK,
            threads: 0,
            jobs,
            engines,
            copy: false,
            wait: Wait::Block,
            doorbell: Doorbell::Batch,
        }
    }

    /// As the framework takes it, for input of `len` bytes. The paper's format: a length before
    /// each DEFLATE stream.
    pub fn params(&self, len: usize) -> Params {
        Params {
            level: 1,
            // Buffers are as large as a chunk: not larger than what there is to compress.
            chunk_size: self.chunk.min(len.max(1)),
            max_jobs_outstanding: self.jobs,
            num_threads: self.threads,
            format: Format::Cf,
            copy: self.copy,
            engines: Some(self.engines),
            wait: self.wait,
            doorbell: self.doorbell,
            ..Params::default()
        }
    }

    pub fn wait_name(&self) -> &'static str {
        match self.wait {
            Wait::Block => "block",
            Wait::Poll => "poll",
            Wait::Event => "event",
        }
    }

    pub fn doorbell_name(&self) -> &'static str {
        match self.doorbell {
            Doorbell::Batch => "batch",
            Doorbell::Request => "request",
        }
    }
}

/// 4096 as "4 KB", 1048576 as "1 MB".
pub fn size_text(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 20 && b.is_multiple_of(1 << 20) => format!("{} MB", b >> 20),
        b if b >= 1 << 10 => format!("{} KB", b >> 10),
        b => format!("{b} B"),
    }
}
