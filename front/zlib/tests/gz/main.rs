//! The gz functions beside zlib's: the same calls on both, and all that can be seen is compared.
//!
//! `LOOKASIDE_GZ_SEEDS=N` runs N random sequences of each kind instead of some hundreds.

mod api;
mod reading;
mod writing;

use std::path::PathBuf;

/// Numbers that look random and come again for the same seed (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.number() % n as u64) as usize
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Mostly small, sometimes at the edges of buffers, seldom large.
    pub fn length(&mut self) -> usize {
        match self.below(12) {
            0..6 => self.below(40),
            6..9 => self.below(3000),
            9 => self.pick(&[8191, 8192, 8193, 16383, 16384, 16385]),
            10 => self.below(40_000),
            _ => self.below(200_000),
        }
    }

    /// Text-like bytes with lines.
    pub fn text(&mut self, len: usize) -> Vec<u8> {
        let mut text = Vec::with_capacity(len + 64);
        while text.len() < len {
            if text.len() > 100 && self.below(3) > 0 {
                let from = self.below(text.len());
                let to = (from + 4 + self.below(60)).min(text.len());
                text.extend_from_within(from..to);
            } else {
                let word = self.number().to_be_bytes();
                text.extend(word[..1 + self.below(7)].iter().map(|b| b'a' + b % 26));
                text.push(self.pick(b"     \n"));
            }
        }
        text.truncate(len);
        text
    }
}

/// How many sequences to run.
pub fn seeds(usual: u64) -> u64 {
    std::env::var("LOOKASIDE_GZ_SEEDS").ok().map_or(usual, |n| n.parse().expect("a number"))
}

/// A folder of its own, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    /// In the system's temporary folder.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lookaside-gz-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
