//! Data to compress.

use std::{fs, path::Path};

use crate::Rng;

/// `len` bytes that compress like a mix of text, tables and binaries (zlib -1: about 40 %),
/// different for every seed.
pub fn mixed(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let words: Vec<Vec<u8>> = (0..2000)
        .map(|_| (0..2 + rng.below(9)).map(|_| b'a' + rng.below(26) as u8).collect())
        .collect();
    let mut out = Vec::with_capacity(len + 64);
    while out.len() < len {
        match rng.below(40) {
            0 => out.extend((0..rng.below(200)).map(|_| rng.next_u64() as u8)),
            1 => {
                let row = rng.below(1 << 20);
                for i in 0..rng.below(30) {
                    out.extend_from_slice(&((row + i * 8) as u32).to_le_bytes());
                }
            }
            2 => out.extend(core::iter::repeat_n(b' ', rng.below(60) as usize)),
            _ => {
                // Frequent words come first: a rough Zipf law.
                let i = rng.below(2000) * rng.below(2000) / 2000;
                out.extend_from_slice(&words[i as usize]);
                out.push(if rng.chance(10) { b'\n' } else { b' ' });
            }
        }
    }
    out.truncate(len);
    out
}

/// `len` bytes of zeros with a short run of something else now and then.
pub fn zeros_and_runs(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut out = vec![0; len];
    for _ in 0..len / 4096 {
        let at = rng.below(len as u64) as usize;
        let end = (at + rng.below(40) as usize).min(len);
        out[at..end].fill(rng.next_u64() as u8);
    }
    out
}

/// The files of a corpus directory, by name; `None` when it is not there.
pub fn corpus(directory: &Path) -> Option<Vec<(String, Vec<u8>)>> {
    let mut files: Vec<_> = fs::read_dir(directory)
        .ok()?
        .filter_map(|e| {
            let e = e.ok().filter(|e| e.path().is_file())?;
            Some((e.file_name().to_string_lossy().into_owned(), fs::read(e.path()).ok()?))
        })
        .collect();
    files.sort();
    (!files.is_empty()).then_some(files)
}
