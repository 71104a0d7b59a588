//! Data compression: the service's codecs and streams as sessions.

use std::sync::Mutex;

use lookaside_compress as service;
use lookaside_core::{
    Capability, Compression, Done, Flush, Format, Op, OpError, Prepared, SessionSpec, SetupError,
};
use lookaside_simd::Cpu;

/// Kernel memory of one channel.
pub(crate) type Scratch = service::Scratch;

/// A stream's state. The runtime runs its requests one at a time, so the lock is always free; not
/// after a fork that happened while a request was running.
struct CompressStream(Mutex<service::CompressStream>);
struct DecompressStream(Mutex<service::DecompressStream>);

/// Side by side, requests gain nothing.
pub(crate) const BEST_BATCH: usize = 1;

pub(crate) fn capabilities(cpu: &Cpu) -> Vec<Capability> {
    let mut all = deflate(cpu);
    // The libraries' names say the level: what serves the lowest and the highest stands for all.
    let formats = [
        (Format::Lz4, "LZ4 frames; stateless and streams"),
        (Format::Lz4Blocks, "LZ4 blocks with and without their lengths; stateless, pieces"),
        (Format::Lz4s, "LZ4s; stateless"),
        (Format::Zstd, "Zstandard; stateless and streams"),
    ];
    for (format, name) in formats {
        let (least, most) = format.levels().into_inner();
        let codec = |level| service::Codec::new(&Compression::new(format).level(level), cpu);
        let (Ok(lowest), Ok(highest)) = (codec(least), codec(most)) else { continue };
        let (low, high) = (lowest.compress_kernel(), highest.compress_kernel());
        all.push(Capability {
            op: Op::Compress,
            algorithm: format!("{name}; levels {least}-{most}"),
            served_by: format!("{low} to {high}"),
            best_batch: BEST_BATCH,
            max_src: isize::MAX as usize,
        });
        all.push(Capability {
            op: Op::Decompress,
            algorithm: name.into(),
            served_by: lowest.decompress_kernel().into(),
            best_batch: BEST_BATCH,
            max_src: isize::MAX as usize,
        });
    }
    all
}

fn deflate(cpu: &Cpu) -> Vec<Capability> {
    let kernel = |level| {
        let spec = Compression::default().level(level);
        service::Codec::new(&spec, cpu).map_or("none", |c| c.compress_kernel())
    };
    // "0: stored, 1-3: ...": one entry for neighbours that the same kernel serves.
    let mut kernels: Vec<(u8, u8, &str)> = Vec::new();
    for level in 0..=Compression::MAX_LEVEL {
        match kernels.last_mut() {
            Some((_, last, name)) if *name == kernel(level) => *last = level,
            _ => kernels.push((level, level, kernel(level))),
        }
    }
    let kernels: Vec<String> = kernels
        .into_iter()
        .map(|(first, last, name)| match first == last {
            true => format!("{first}: {name}"),
            false => format!("{first}-{last}: {name}"),
        })
        .collect();
    let decompress = service::Codec::new(&Compression::default(), cpu)
        .map(|c| format!("{}; streams: {}", c.decompress_kernel(), c.decompress_stream_kernel()))
        .unwrap_or_default();
    let formats = "DEFLATE, zlib, gzip; stateless and streams";
    vec![
        Capability {
            op: Op::Compress,
            algorithm: format!("{formats}; levels 0-12, dynamic or static, windows 2^9-2^15"),
            served_by: format!("level {}", kernels.join(", ")),
            best_batch: BEST_BATCH,
            max_src: isize::MAX as usize,
        },
        Capability {
            op: Op::Decompress,
            algorithm: formats.into(),
            served_by: decompress,
            best_batch: BEST_BATCH,
            max_src: isize::MAX as usize,
        },
    ]
}

pub(crate) fn prepare(spec: &SessionSpec, cpu: &Cpu) -> Result<Prepared, SetupError> {
    match spec {
        SessionSpec::Compression(spec) => Ok(Prepared::new(service::Codec::new(spec, cpu)?)),
        SessionSpec::CompressStream { spec, dictionary } => {
            let codec = service::Codec::new(spec, cpu)?;
            let stream = service::CompressStream::new(&codec, dictionary.as_deref())?;
            Ok(Prepared::new(CompressStream(Mutex::new(stream))))
        }
        SessionSpec::DecompressStream { format, dictionary } => {
            let spec = Compression::new(*format);
            let codec = service::Codec::new(&spec, cpu)?;
            let stream = service::DecompressStream::new(&codec, dictionary.as_deref())?;
            Ok(Prepared::new(DecompressStream(Mutex::new(stream))))
        }
        _ => Err(SetupError::Unsupported {
            device: "cpu".into(),
            op: Op::Compress,
            what: "not a compression session",
        }),
    }
}

pub(crate) fn compress(
    prepared: &Prepared,
    scratch: &mut Scratch,
    src: &[u8],
    dst: &mut [u8],
    flush: Flush,
) -> Result<Done, OpError> {
    if let Some(codec) = prepared.get::<service::Codec>() {
        match (flush, codec.spec().format) {
            (Flush::Finish, _) => codec.compress(scratch, src, dst),
            // Pieces: of LZ4's blocks every request is one.
            (_, Format::Raw | Format::Lz4Blocks) => codec.compress_piece(scratch, src, dst),
            _ => Err(OpError::Unsupported),
        }
    } else {
        let stream = prepared.get::<CompressStream>().ok_or(OpError::Unsupported)?;
        stream
            .0
            .try_lock()
            .map_err(|_| OpError::DeviceLost(lookaside_core::Lost::Untouched))?
            .step(src, dst, flush)
    }
}

pub(crate) fn decompress(
    prepared: &Prepared,
    scratch: &mut Scratch,
    src: &[u8],
    dst: &mut [u8],
) -> Result<Done, OpError> {
    if let Some(codec) = prepared.get::<service::Codec>() {
        codec.decompress(scratch, src, dst)
    } else {
        let stream = prepared.get::<DecompressStream>().ok_or(OpError::Unsupported)?;
        stream
            .0
            .try_lock()
            .map_err(|_| OpError::DeviceLost(lookaside_core::Lost::Untouched))?
            .step(src, dst)
    }
}
