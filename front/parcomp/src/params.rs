//! The parameters of paper 1 section 8.2, and those that it leaves as future work.

use std::{fmt, ops::RangeInclusive, str::FromStr};

use crate::error::Error;

/// The layout of compressed data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// One gzip member (RFC 1952) per chunk, each with its lengths in the extra field, so that any
    /// gunzip reads it and this crate decompresses it in parallel.
    #[default]
    Gzip,
    /// One zlib stream (RFC 1950) of independent pieces.
    Zlib,
    /// One DEFLATE stream (RFC 1951) of independent pieces.
    Raw,
    /// The paper's: per chunk, four bytes length (little endian) and a DEFLATE stream.
    Cf,
    /// One LZ4 frame of independent blocks, each chunk a block.
    Lz4,
    /// One Zstandard frame (RFC 8878) per chunk, and a seek table behind them.
    Zstd,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 6] =
        [Format::Gzip, Format::Zlib, Format::Raw, Format::Cf, Format::Lz4, Format::Zstd];

    /// Whether it is made of DEFLATE.
    pub fn is_deflate(self) -> bool {
        !matches!(self, Format::Lz4 | Format::Zstd)
    }

    /// The levels there are: DEFLATE's (0 is stored), liblz4's, libzstd's.
    pub fn levels(self) -> RangeInclusive<u8> {
        match self {
            Format::Gzip | Format::Zlib | Format::Raw | Format::Cf => 0..=12,
            Format::Lz4 => 1..=12,
            Format::Zstd => 1..=22,
        }
    }

    /// The format's name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Format::Gzip => "gzip",
            Format::Zlib => "zlib",
            Format::Raw => "raw",
            Format::Cf => "cf",
            Format::Lz4 => "lz4",
            Format::Zstd => "zstd",
        }
    }

    /// The suffix that file names get.
    pub fn suffix(self) -> &'static str {
        match self {
            Format::Gzip => "gz",
            Format::Zlib => "zz",
            Format::Raw => "deflate",
            Format::Cf => "cf",
            Format::Lz4 => "lz4",
            Format::Zstd => "zst",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = ();

    fn from_str(s: &str) -> Result<Format, ()> {
        Format::ALL.into_iter().find(|f| f.name() == s).ok_or(())
    }
}

/// How the calling thread waits for responses of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Sleep until half of what is outstanding is there: few wake-ups.
    #[default]
    Block,
    /// Poll again and again, yielding the CPU in between: what the paper's program does.
    Poll,
    /// Sleep in poll(2) on the instance's event file descriptor.
    Event,
}

/// When the doorbell is rung.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Doorbell {
    /// Once for several requests.
    #[default]
    Batch,
    /// After each request.
    Request,
}

/// The parameters of one call. [`Default`] gives level 1 in chunks of 64 KB, as the paper has it,
/// but with as many requests outstanding as the engines want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Compression level: one of [`Format::levels`]; DEFLATE with `zlib`: to 9.
    pub level: u8,
    /// Binary logarithm of the DEFLATE window in bytes, 9 to 15.
    pub window_bits: u8,
    /// DEFLATE with static instead of dynamic Huffman codes.
    pub static_huffman: bool,
    /// Bytes per chunk, 1 to 2^30.
    pub chunk_size: usize,
    /// Requests outstanding at one time, from each thread: 1 to 256, or 0: chosen from the engines.
    /// Only asynchronous providers heed it.
    pub max_jobs_outstanding: usize,
    /// Say on standard error what is being done.
    pub debug: bool,
    /// Threads that the framework starts, 0 to 256. With 0, the calling thread does all.
    pub num_threads: usize,
    /// The cores for the threads that are started, as a bit mask; `None`: any.
    pub core_affinity: Option<u64>,
    /// The layout of compressed data.
    pub format: Format,
    /// [`crate::compress_buffer`]: decompress the result and compare it with the source.
    pub verify: bool,
    /// Copy the caller's buffer into buffers of the framework, as hardware without shared virtual
    /// memory needs it. Otherwise the device reads the caller's memory.
    pub copy: bool,
    /// Engines of the device; 0: the calling thread executes its own requests; `None`: one for each
    /// core.
    pub engines: Option<usize>,
    /// How to wait for responses.
    pub wait: Wait,
    /// When to ring the doorbell.
    pub doorbell: Doorbell,
    /// Decompression: the largest output, in bytes.
    pub limit: Option<u64>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            level: 1,
            window_bits: 15,
            static_huffman: false,
            chunk_size: 64 * 1024,
            max_jobs_outstanding: 0,
            debug: false,
            num_threads: 0,
            core_affinity: None,
            format: Format::Gzip,
            verify: false,
            copy: false,
            engines: None,
            wait: Wait::Block,
            doorbell: Doorbell::Batch,
            limit: None,
        }
    }
}

impl Params {
    /// The largest chunk, in bytes.
    pub const MAX_CHUNK: usize = 1 << 30;
    /// The most requests outstanding from one thread: the paper's limit.
    pub const MAX_JOBS: usize = 256;
    /// The most threads. (The paper's limit is 32.)
    pub const MAX_THREADS: usize = 256;

    /// Whether the parameters are within their limits.
    ///
    /// # Errors
    /// [`Error::Param`] with the first that is not.
    pub fn validate(&self) -> Result<(), Error> {
        let check = |what, given: usize, min: usize, max: usize| {
            if (min..=max).contains(&given) {
                return Ok(());
            }
            let i = |n| i64::try_from(n).unwrap_or(i64::MAX);
            Err(Error::Param { what, given: i(given), min: i(min), max: i(max) })
        };
        let (least, most) = self.format.levels().into_inner();
        check("compression level", self.level.into(), least.into(), most.into())?;
        check("window bits", self.window_bits.into(), 9, 15)?;
        check("chunk size in bytes", self.chunk_size, 1, Self::MAX_CHUNK)?;
        check("maximum of outstanding jobs", self.max_jobs_outstanding, 0, Self::MAX_JOBS)?;
        check("number of threads", self.num_threads, 0, Self::MAX_THREADS)?;
        check("number of engines", self.engines.unwrap_or(0), 0, 1024)?;
        if self.core_affinity == Some(0) {
            return Err(Error::Param { what: "core affinity", given: 0, min: 1, max: i64::MAX });
        }
        Ok(())
    }

    /// The engines: those asked for, or one for each core that may be used.
    pub fn engines(&self) -> usize {
        self.engines.unwrap_or_else(|| match self.cores().len() {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        })
    }

    /// The requests outstanding from one thread: those asked for, or its share of eight for each
    /// engine, at least 8. Half of them keeps the engines busy while the calling thread, which sleeps until the
    /// other half is done, takes those and brings new ones.
    pub fn jobs(&self) -> usize {
        match self.max_jobs_outstanding {
            0 => (8 * self.engines() / self.num_threads.max(1)).clamp(8, Self::MAX_JOBS),
            n => n,
        }
    }

    /// The cores of the affinity mask that this process may use, lowest first. Empty: any. (The
    /// paper's masks name the cores of its own machine.)
    pub fn cores(&self) -> Vec<usize> {
        let Some(mask) = self.core_affinity else { return Vec::new() };
        let allowed = rustix::thread::sched_getaffinity(None);
        let usable = |core: &usize| allowed.as_ref().map_or(true, |set| set.is_set(*core));
        (0..64).filter(|core| mask >> core & 1 == 1).filter(usable).collect()
    }

    /// Window bits from a `windowSize`: 0 to 5 is QuickAssist's enumeration (1 KB to 32 KB, so 5 is
    /// the paper's default of 32 KB); 9 to 15 are window bits.
    pub fn window_bits_of(size: i64) -> Option<u8> {
        match size {
            0..=5 => u8::try_from(size + 10).ok(),
            9..=15 => u8::try_from(size).ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_sizes() {
        let bits: Vec<_> = (-1..=16).map(Params::window_bits_of).collect();
        let some = |r: std::ops::RangeInclusive<u8>| r.map(Some).collect::<Vec<_>>();
        let none = |n: usize| vec![None; n];
        assert_eq!(bits, [none(1), some(10..=15), none(3), some(9..=15), none(1)].concat());
    }

    #[test]
    fn cores_that_are_not_here_do_not_count() {
        let own = Params::default().engines();
        assert_eq!(Params::default().cores(), []);
        let all = Params { core_affinity: Some(u64::MAX), ..Params::default() };
        assert_eq!((all.cores().len(), all.engines()), (own.min(64), own.min(64)));
        let one = Params { core_affinity: Some(1 << all.cores()[0]), ..Params::default() };
        assert_eq!((one.cores(), one.engines()), (vec![all.cores()[0]], 1));
        // None of them: any core, so as many engines as without a mask.
        if let Some(absent) = (0..64).find(|core| !all.cores().contains(core)) {
            let none = Params { core_affinity: Some(1 << absent), ..Params::default() };
            assert_eq!((none.cores(), none.engines()), (vec![], own));
        }
    }

    #[test]
    fn threads_share_the_default_of_requests() {
        let jobs = |num_threads, max_jobs_outstanding| {
            let engines = Some(16);
            Params { engines, num_threads, max_jobs_outstanding, ..Params::default() }.jobs()
        };
        assert_eq!([jobs(0, 0), jobs(1, 0), jobs(4, 0), jobs(200, 0)], [128, 128, 32, 8]);
        assert_eq!([jobs(0, 3), jobs(4, 3)], [3, 3]);
    }

    #[test]
    fn limits() {
        assert!(Params::default().validate().is_ok());
        let bad = [
            Params { level: 13, ..Params::default() },
            Params { level: 0, format: Format::Lz4, ..Params::default() },
            Params { level: 13, format: Format::Lz4, ..Params::default() },
            Params { level: 23, format: Format::Zstd, ..Params::default() },
            Params { window_bits: 8, ..Params::default() },
            Params { chunk_size: 0, ..Params::default() },
            Params { chunk_size: (1 << 30) + 1, ..Params::default() },
            Params { max_jobs_outstanding: 257, ..Params::default() },
            Params { num_threads: 257, ..Params::default() },
            Params { core_affinity: Some(0), ..Params::default() },
        ];
        for p in bad {
            assert!(matches!(p.validate(), Err(Error::Param { .. })), "{p:?}");
        }
    }
}
