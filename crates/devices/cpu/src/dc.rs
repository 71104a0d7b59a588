//! Data compression: maps core's words to those of the service, and back.

use std::sync::Mutex;

use lookaside_compress as service;
use lookaside_core::{
    BadReason, Capability, Checksum, Compression, CompressionError, Done, Flush, Format, Huffman,
    Op, OpError, Prepared, SessionSpec, SetupError, Status,
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
    let kernel = |level| {
        let spec = service::Spec::default().level(level);
        service::Codec::new(&spec, cpu).map_or("none", |c| c.compress_kernel())
    };
    // "0: stored, 1-3: ...": one entry for neighbours that the same kernel serves.
    let mut kernels: Vec<(u8, u8, &str)> = Vec::new();
    for level in 0..=service::Spec::MAX_LEVEL {
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
    let decompress = service::Codec::new(&service::Spec::default(), cpu)
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
    let refused = |e: service::SpecError| match e {
        service::SpecError::Level(n) => CompressionError::Level(n).into(),
        service::SpecError::WindowBits(n) => CompressionError::WindowBits(n).into(),
        service::SpecError::GzipDictionary => CompressionError::GzipDictionary.into(),
        _ => SetupError::Unsupported {
            device: "cpu".into(),
            op: Op::Compress,
            what: "no kernel has these parameters",
        },
    };
    match spec {
        SessionSpec::Compression(spec) => {
            Ok(Prepared::new(service::Codec::new(&to_service(spec), cpu).map_err(refused)?))
        }
        SessionSpec::CompressStream { spec, dictionary } => {
            let codec = service::Codec::new(&to_service(spec), cpu).map_err(refused)?;
            let stream = service::CompressStream::new(&codec, dictionary.as_deref());
            Ok(Prepared::new(CompressStream(Mutex::new(stream.map_err(refused)?))))
        }
        SessionSpec::DecompressStream { format, dictionary } => {
            let spec = Compression { format: *format, ..Compression::default() };
            let codec = service::Codec::new(&to_service(&spec), cpu).map_err(refused)?;
            let stream = service::DecompressStream::new(&codec, dictionary.as_deref());
            Ok(Prepared::new(DecompressStream(Mutex::new(stream.map_err(refused)?))))
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
    let flush = match flush {
        Flush::None => service::Flush::None,
        Flush::Sync => service::Flush::Sync,
        Flush::Full => service::Flush::Full,
        Flush::Finish => service::Flush::Finish,
    };
    let result = if let Some(codec) = prepared.get::<service::Codec>() {
        match (flush, codec.spec().format) {
            (service::Flush::Finish, _) => codec.compress(scratch, src, dst),
            (_, service::Format::Raw) => codec.compress_piece(scratch, src, dst),
            _ => return Err(OpError::Unsupported),
        }
    } else {
        let stream = prepared.get::<CompressStream>().ok_or(OpError::Unsupported)?;
        stream
            .0
            .try_lock()
            .map_err(|_| OpError::DeviceLost(lookaside_core::Lost::Touched))?
            .step(src, dst, flush)
    };
    result.map(to_done).map_err(to_error)
}

pub(crate) fn decompress(
    prepared: &Prepared,
    scratch: &mut Scratch,
    src: &[u8],
    dst: &mut [u8],
) -> Result<Done, OpError> {
    let result = if let Some(codec) = prepared.get::<service::Codec>() {
        codec.decompress(scratch, src, dst)
    } else {
        let stream = prepared.get::<DecompressStream>().ok_or(OpError::Unsupported)?;
        stream
            .0
            .try_lock()
            .map_err(|_| OpError::DeviceLost(lookaside_core::Lost::Touched))?
            .step(src, dst)
    };
    result.map(to_done).map_err(to_error)
}

fn to_service(spec: &Compression) -> service::Spec {
    service::Spec {
        format: match spec.format {
            Format::Raw => service::Format::Raw,
            Format::Zlib => service::Format::Zlib,
            Format::Gzip => service::Format::Gzip,
        },
        level: spec.level,
        huffman: match spec.huffman {
            Huffman::Dynamic => service::Huffman::Dynamic,
            Huffman::Static => service::Huffman::Static,
        },
        window_bits: spec.window_bits,
        checksum: match spec.checksum {
            Checksum::None => service::Checksum::None,
            Checksum::Crc32 => service::Checksum::Crc32,
            Checksum::Adler32 => service::Checksum::Adler32,
        },
    }
}

fn to_done(done: service::Done) -> Done {
    Done {
        consumed: done.consumed,
        produced: done.produced,
        checksum: done.checksum.into(),
        status: match done.status {
            service::Status::Complete => Status::Complete,
            service::Status::Overflow => Status::Overflow,
            service::Status::End => Status::End,
        },
    }
}

fn to_error(e: service::Error) -> OpError {
    match e {
        service::Error::DstTooSmall => OpError::DstTooSmall,
        service::Error::BadData { offset, reason } => OpError::BadData {
            offset: offset as u64,
            reason: match reason {
                service::BadReason::Truncated => BadReason::Truncated,
                service::BadReason::Header => BadReason::Header,
                service::BadReason::Block => BadReason::Block,
                service::BadReason::Checksum => BadReason::Checksum,
                service::BadReason::Length => BadReason::Length,
                service::BadReason::Dictionary => BadReason::Dictionary,
            },
        },
        service::Error::Ended => OpError::StreamEnded,
        service::Error::Kernel(_) => OpError::DeviceLost(lookaside_core::Lost::Touched),
    }
}
