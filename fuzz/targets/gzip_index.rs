//! Decompression of files by `parcomp`: gzip with and without the index, `cf`, zlib, raw, LZ4, Zstandard.
//!
//! An index says where members end and how large they become, so that they can be decompressed in
//! parallel. It may lie, as may the lengths of blocks and frames of LZ4 and Zstandard. Whatever the file, both providers must give what a plain sequential
//! decoder gives, or an error where that gives one; and memory stays below a constant, however much
//! the index promises.
//!
//! Input: format, how it is read, requests outstanding, limit; then either the file itself or
//! pieces to build it from, so that checksums are right while the index is not.
#![cfg_attr(fuzzing, no_main)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use lookaside_compress::{
    Codec, Compression, DecompressStream, Format as Wrapper, Scratch, Status,
};
use lookaside_fuzz::fuzz_target;
use lookaside_simd::Cpu;
use parcomp::{Format, Params, Provider, Source};

/// Buffers of parallel decompression are bounded by 48 MB, a stream takes less than 1 MB; the
/// output and the input of a run are in it too.
const MOST_MEMORY: usize = 64 << 20;

fuzz_target!(|input: &[u8]| {
    let &[format, reading, jobs, limit, ref rest @ ..] = input else { return };
    let built = format >= 128;
    let format = match format & 0x7f {
        64..96 => Format::Lz4,
        96.. => Format::Zstd,
        other => match other % 8 {
            5 => Format::Zlib,
            6 => Format::Raw,
            7 => Format::Cf,
            _ => Format::Gzip,
        },
    };
    let file = if built { build(rest, format) } else { rest.to_vec() };
    let params = Params {
        format,
        copy: reading & 2 != 0,
        max_jobs_outstanding: 1 + usize::from(jobs % 8),
        // The calling thread executes: a run depends on its input alone.
        engines: Some(0),
        limit: Some(u64::from(limit) << 12),
        ..Params::default()
    };
    let wanted = oracle(format, &file, params.limit.unwrap_or(u64::MAX));
    TOOLS.with_borrow(|tools| {
        for provider in &tools.providers {
            if provider.name() == "zlib" && !format.is_deflate() {
                continue;
            }
            let before = Counted::restart();
            let found = decompress(&**provider, &params, &file, reading);
            let most = Counted::peak() - before;
            assert!(most <= MOST_MEMORY, "{}: {most} bytes of memory", provider.name());
            assert!(
                found == wanted,
                "{}: {}, a sequential decoder: {}",
                provider.name(),
                describe(&found),
                describe(&wanted)
            );
        }
    });
});

struct Tools {
    providers: [Arc<dyn Provider>; 2],
}

thread_local! {
    static TOOLS: RefCell<Tools> = RefCell::new(Tools {
        providers: ["lookaside", "zlib"].map(|name| parcomp::provider(name).expect("built in")),
    });
}

fn decompress(
    provider: &dyn Provider,
    params: &Params,
    file: &[u8],
    reading: u8,
) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    let mut trickle = Trickle { rest: file, most: 1 + usize::from(reading >> 2) * 97 };
    let source = match reading & 1 {
        0 => Source::Slice(file),
        _ => Source::Reader { reader: &mut trickle, len: None },
    };
    let summary = parcomp::decompress(provider, params, source, &mut data, &mut |_, _| ()).ok()?;
    assert_eq!(summary.bytes_out, data.len() as u64);
    assert!(summary.bytes_in <= file.len() as u64);
    Some(data)
}

/// A pipe that gives a few bytes at a time.
struct Trickle<'a> {
    rest: &'a [u8],
    most: usize,
}

impl Read for Trickle<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = self.most.min(into.len());
        self.rest.read(&mut into[..most])
    }
}

/// A file of pieces: kind, length, content; members get an index that is right or a little wrong.
fn build(mut plan: &[u8], format: Format) -> Vec<u8> {
    let provider = parcomp::provider("lookaside").expect("built in");
    let mut file = Vec::new();
    while let &[kind, len, ref rest @ ..] = plan {
        let (content, rest) = rest.split_at(usize::from(len).min(rest.len()));
        plan = rest;
        let start = file.len();
        let params = Params {
            format,
            // Several members of each piece.
            chunk_size: 1 + usize::from(kind) * 8,
            engines: Some(0),
            ..Params::default()
        };
        let content = content.repeat(1 + usize::from(kind % 16));
        match kind % 8 {
            0 => file.extend_from_slice(&content),
            1 => file.resize(start + usize::from(len), 0),
            _ => {
                let content = Source::Slice(&content);
                parcomp::compress(&*provider, &params, content, &mut file, &mut |_, _| ())
                    .expect("compressing");
            }
        }
        // The two lengths of the index are at 16 and 20, that of a `cf` block at 0, of an LZ4 block at 7, the
        // content size of a Zstandard frame at 5.
        let field = match format {
            Format::Cf => 0,
            Format::Lz4 => 7,
            Format::Zstd => 5,
            _ => 16 + usize::from(kind % 2) * 4,
        };
        let lie = match kind % 8 {
            4 => 1u32,
            5 => u32::MAX,
            6 => 1 << (len % 32),
            _ => 0,
        };
        if let Some(number) = file[start..].get_mut(field..).and_then(|f| f.first_chunk_mut()) {
            *number = u32::from_le_bytes(*number).wrapping_add(lie).to_le_bytes();
        }
    }
    file
}

/// One member after the other, by the stream decoder, as gunzip does it.
fn oracle(format: Format, file: &[u8], limit: u64) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    let mut rest = file;
    match format {
        Format::Zlib => drop(one(Wrapper::Zlib, file, &mut data, limit)?),
        Format::Raw => drop(one(Wrapper::Raw, file, &mut data, limit)?),
        // What else comes after the first member is no part of the file; but one byte alone might
        // have begun another, so that gunzip objects.
        Format::Gzip => loop {
            rest = &rest[one(Wrapper::Gzip, rest, &mut data, limit)?..];
            match rest {
                [0x1f, 0x8b, ..] => {}
                [1..=255] => return None,
                _ => break,
            }
        },
        // Frames, skippable ones among them; behind the first, the beginning of another is one that was cut.
        Format::Lz4 | Format::Zstd => {
            let (wrapper, magic) = match format {
                Format::Lz4 => (Wrapper::Lz4, [0x04, 0x22, 0x4d, 0x18]),
                _ => (Wrapper::Zstd, [0x28, 0xb5, 0x2f, 0xfd]),
            };
            loop {
                let before = data.len();
                let len = one(wrapper, rest, &mut data, limit).or_else(|| {
                    // A stream is not granted every window; a frame in one piece needs none.
                    data.truncate(before);
                    at_once(wrapper, rest, &mut data, limit)
                });
                rest = &rest[len?..];
                match *rest {
                    [a, b, c, d, ..] if [a, b, c, d] == magic => {}
                    [0x50..0x60, 0x2a, 0x4d, 0x18, ..] => {}
                    [_, _, _, _, ..] | [] => break,
                    _ if magic.starts_with(rest) => return None,
                    _ => break,
                }
            }
        }
        Format::Cf => {
            while !rest.is_empty() {
                let (len, blocks) = rest.split_first_chunk()?;
                let (block, after) = blocks.split_at_checked(u32::from_le_bytes(*len) as usize)?;
                if one(Wrapper::Raw, block, &mut data, limit)? != block.len() {
                    return None;
                }
                rest = after;
            }
        }
    }
    Some(data)
}

/// The same of a frame that is decoded in one piece.
fn at_once(wrapper: Wrapper, src: &[u8], data: &mut Vec<u8>, limit: u64) -> Option<usize> {
    let codec = Codec::new(&Compression::new(wrapper), Cpu::host()).expect("a valid spec");
    let mut dst = vec![0; limit as usize];
    let done = codec.decompress(&mut Scratch::new(), src, &mut dst).ok()?;
    data.extend_from_slice(&dst[..done.produced]);
    (data.len() as u64 <= limit).then_some(done.consumed)
}

/// Appends what one stream or member holds; returns its length.
fn one(wrapper: Wrapper, src: &[u8], data: &mut Vec<u8>, limit: u64) -> Option<usize> {
    let codec = Codec::new(&Compression::new(wrapper), Cpu::host()).expect("a valid spec");
    let mut stream = DecompressStream::new(&codec, None).expect("a valid spec");
    let mut consumed = 0;
    let mut dst = [0; 16 << 10];
    loop {
        let done = stream.step(&src[consumed..], &mut dst).ok()?;
        consumed += done.consumed;
        data.extend_from_slice(&dst[..done.produced]);
        if data.len() as u64 > limit {
            return None;
        }
        match done.status {
            Status::End => return Some(consumed),
            Status::Complete => return None,
            Status::Overflow => {}
        }
    }
}

fn describe(data: &Option<Vec<u8>>) -> String {
    data.as_ref().map_or("an error".to_owned(), |data| format!("{} bytes", data.len()))
}

/// The system's allocator, counting.
struct Counted;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counted = Counted;

impl Counted {
    /// Begins a measurement; returns what is allocated now.
    fn restart() -> usize {
        let now = NOW.load(Relaxed);
        PEAK.store(now, Relaxed);
        now
    }

    /// The most since then.
    fn peak() -> usize {
        PEAK.load(Relaxed)
    }
}

// SAFETY: the system's allocator does everything; the numbers only watch.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}
