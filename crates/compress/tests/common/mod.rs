//! What the tests share: inputs, corpora, CPU tiers, guarded memory, oracles.
#![allow(dead_code)]

pub mod blocks;
pub mod tools;
pub mod zlib;

use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::ptr;

use lookaside_compress::{Codec, Compression, Format, Huffman, Kernel};
use lookaside_simd::{Cpu, Tier};

/// xorshift64*: small, seeded, the same everywhere.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 16) as usize % end
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// The kinds of content: how compressible, in what way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    Zeros,
    Random,
    Text,
    /// Runs and copies at all distances, with noise between.
    Mixed,
}

pub const CONTENTS: [Content; 4] = [Content::Zeros, Content::Random, Content::Text, Content::Mixed];

pub fn content(kind: Content, len: usize, seed: u64) -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "the",
        "ring",
        "of",
        "requests",
        "turns",
        "and",
        "every",
        "engine",
        "takes",
        "a",
        "batch",
        "when",
        "doorbell",
        "rings;",
        "responses",
        "return.\n",
    ];
    let mut rng = Rng::new(seed + 1);
    let mut data = Vec::with_capacity(len + 300);
    while data.len() < len {
        match kind {
            Content::Zeros => data.resize(len, 0),
            Content::Random => data.extend_from_slice(&rng.next().to_le_bytes()),
            Content::Text => {
                let word = (rng.below(16) * rng.below(17)) / 16;
                data.extend_from_slice(WORDS[word].as_bytes());
                data.push(b' ');
            }
            Content::Mixed => match rng.below(4) {
                0 => data.resize(data.len() + 1 + rng.below(400), rng.next() as u8),
                1 => (0..rng.below(60)).for_each(|_| data.push(rng.next() as u8)),
                _ if data.is_empty() => data.push(7),
                _ => {
                    let reach = rng.pick(&[1, 8, 300, 5000, 33_000, 70_000]);
                    let distance = 1 + rng.below(data.len().min(reach));
                    for _ in 0..3 + rng.below(280) {
                        data.push(data[data.len() - distance]);
                    }
                }
            },
        }
    }
    data.truncate(len);
    data
}

/// A name and what is in it.
pub type File = (String, Vec<u8>);

/// The files of the corpora, with their names: from `LOOKASIDE_CORPUS`, or `../shared/data` beside
/// the workspace. Empty, and says so, where there are none.
pub fn corpora() -> Vec<(String, Vec<File>)> {
    let root = std::env::var_os("LOOKASIDE_CORPUS").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"))
    });
    let mut corpora = Vec::new();
    for name in ["calgary", "canterbury"] {
        let Ok(entries) = fs::read_dir(root.join(name)) else {
            eprintln!("SKIPPED: no corpus {}", root.join(name).display());
            continue;
        };
        let mut files: Vec<_> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.is_file())
            .map(|path| {
                let file = path.file_name().expect("a name").to_string_lossy().into_owned();
                (format!("{name}/{file}"), fs::read(&path).expect("readable"))
            })
            .collect();
        files.sort();
        corpora.push((name.to_owned(), files));
    }
    corpora
}

/// One CPU for each tier that this machine has.
pub fn cpus() -> Vec<Cpu> {
    Tier::here().map(Cpu::with_cap).collect()
}

pub const FORMATS: [Format; 3] = [Format::Raw, Format::Zlib, Format::Gzip];

/// zlib's `windowBits` for a format.
pub fn window_bits(format: Format) -> i32 {
    match format {
        Format::Raw => -15,
        Format::Zlib => 15,
        Format::Gzip => 15 + 16,
        other => panic!("zlib has no {other}"),
    }
}

/// Every kernel that runs here, in a codec of this format.
pub fn kernels(format: Format) -> Vec<(Kernel, Codec)> {
    let codecs = |huffman| {
        Kernel::ALL.into_iter().filter_map(move |kernel| {
            let spec = Compression::new(format).huffman(huffman);
            Codec::with_kernel(&spec, Cpu::host(), kernel).ok().map(|codec| (kernel, codec))
        })
    };
    codecs(Huffman::Dynamic)
        .chain(codecs(Huffman::Static).filter(|(kernel, _)| *kernel != Kernel::Stored))
        .collect()
}

/// Memory that ends at a page which must not be touched: one byte too far is a crash.
pub struct Guarded {
    map: *mut u8,
    map_len: usize,
    start: *mut u8,
    len: usize,
}

impl Guarded {
    /// All bytes are 0xa5.
    pub fn new(len: usize) -> Guarded {
        const PAGE: usize = 4096;
        let pages = len.div_ceil(PAGE) * PAGE;
        let map_len = pages + PAGE;
        // SAFETY: a fresh anonymous mapping; its last page is made inaccessible.
        unsafe {
            let map = libc::mmap(
                ptr::null_mut(),
                map_len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(map, libc::MAP_FAILED);
            let map = map.cast::<u8>();
            assert_eq!(libc::mprotect(map.add(pages).cast(), PAGE, libc::PROT_NONE), 0);
            let start = map.add(pages - len);
            start.write_bytes(0xa5, len);
            Guarded { map, map_len, start, len }
        }
    }

    pub fn of(data: &[u8]) -> Guarded {
        let mut guarded = Guarded::new(data.len());
        guarded.copy_from_slice(data);
        guarded
    }
}

impl Deref for Guarded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` initialized bytes of our mapping.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl DerefMut for Guarded {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: `len` initialized bytes of our mapping, borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, unmapped once.
        unsafe { libc::munmap(self.map.cast(), self.map_len) };
    }
}
