//! Stage one: where names, values and text may end, and whether the bytes are characters of XML at all.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod index_avx2;
#[cfg(target_arch = "x86_64")]
mod index_avx512;
mod portable;
#[cfg(test)]
mod tests;

use lookaside_simd::{Avx2, Avx512, Cpu};

/// Bytes of a block: one bit each in a word.
pub const BLOCK: usize = 64;

/// Bit of ASCII that is no NameChar.
pub const NAME_END: u8 = 1;
/// Quotes, `<`, `&`, tab, line feed, carriage return.
pub const VALUE_STOP: u8 = 2;
/// `<`, `&`, carriage return.
pub const TEXT_STOP: u8 = 4;
/// `]`.
pub const BRACKET: u8 = 8;
/// `>`.
pub const GREATER: u8 = 16;
/// Control characters that production 2 excludes.
pub const FORBIDDEN: u8 = 32;

/// Classes of the 128 characters of ASCII.
pub const CLASSES: [u8; 128] = {
    let mut table = [0; 128];
    let mut at = 0;
    while at < 128 {
        let c = at as u8;
        let mut class = 0;
        if !(c.is_ascii_alphanumeric() || matches!(c, b'_' | b':' | b'-' | b'.')) {
            class |= NAME_END;
        }
        if matches!(c, b'"' | b'\'' | b'<' | b'&' | b'\t' | b'\n' | b'\r') {
            class |= VALUE_STOP;
        }
        if matches!(c, b'<' | b'&' | b'\r') {
            class |= TEXT_STOP;
        }
        if c == b']' {
            class |= BRACKET;
        }
        if c == b'>' {
            class |= GREATER;
        }
        if c < 0x20 && !matches!(c, b'\t' | b'\n' | b'\r') {
            class |= FORBIDDEN;
        }
        table[at] = class;
        at += 1;
    }
    table
};

/// The instructions in use.
#[derive(Clone, Copy, Debug)]
pub enum Isa {
    /// AVX-512.
    Avx512(Avx512),
    /// AVX2.
    Avx2(Avx2),
    /// None beyond the architecture's.
    Generic,
}

impl Isa {
    /// The best that the CPU has.
    pub fn new(cpu: &Cpu) -> Isa {
        match (cpu.avx512(), cpu.avx2()) {
            (Some(token), _) => Isa::Avx512(token),
            (None, Some(token)) => Isa::Avx2(token),
            (None, None) => Isa::Generic,
        }
    }
}

/// The three bitmaps of one block: ends of names, stops in values, stops in text. A stop in text is `<`, `&`, a
/// carriage return, or the `>` of `]]>`.
pub type Words = [u64; 3];

/// The word of [`Words`] for ends of names.
pub const NAME: usize = 0;
/// The word of [`Words`] for stops in values.
pub const VALUE: usize = 1;
/// The word of [`Words`] for stops in text.
pub const TEXT: usize = 2;

/// The bitmaps of a window.
#[derive(Clone, Debug, Default)]
pub struct Index {
    words: Vec<Words>,
    len: usize,
}

impl Index {
    /// Looks at `bytes`, which begin at a character's boundary. False: they are not UTF-8, or hold a character that
    /// production 2 excludes.
    pub fn fill(&mut self, isa: Isa, bytes: &[u8]) -> bool {
        let blocks = bytes.len() / BLOCK + 1;
        if self.words.len() < blocks {
            self.words.resize(blocks, [0; 3]);
        }
        self.len = bytes.len();
        let words = &mut self.words[..blocks];
        let valid = match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(token) => index_avx512::index(token, bytes, words),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(token) => index_avx2::index(token, bytes, words),
            _ => portable::index(bytes, words),
        };
        // Behind the end everything stops.
        let beyond = u64::MAX << (bytes.len() % BLOCK);
        for word in &mut words[blocks - 1] {
            *word |= beyond;
        }
        valid
    }

    /// The bytes of the window become fewer.
    pub fn cut(&mut self, len: usize) {
        self.len = len;
        for word in &mut self.words[len / BLOCK] {
            *word |= u64::MAX << (len % BLOCK);
        }
    }

    /// The first stop of bitmap `MAP` at `from` or behind it; the window's length if there is none.
    #[inline(always)]
    pub fn next<const MAP: usize>(&self, from: usize) -> usize {
        let mut block = from / BLOCK;
        let Some(words) = self.words.get(block) else { return self.len };
        let bits = words[MAP] >> (from % BLOCK);
        if bits != 0 {
            return from + bits.trailing_zeros() as usize;
        }
        loop {
            block += 1;
            let Some(words) = self.words.get(block) else { return self.len };
            if words[MAP] != 0 {
                return block * BLOCK + words[MAP].trailing_zeros() as usize;
            }
        }
    }

    /// The three bitmaps: for tests.
    #[cfg(test)]
    fn words(&self) -> &[Words] {
        &self.words[..self.len / BLOCK + 1]
    }
}

/// Line feeds in `bytes`, where the last one is, and whether there is a carriage return.
pub fn lines(isa: Isa, bytes: &[u8]) -> (u64, Option<usize>, bool) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(token) => index_avx512::lines(token, bytes),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(token) => index_avx2::lines(token, bytes),
        _ => portable::lines(bytes),
    }
}

/// Characters of `bytes`, which are UTF-8.
pub fn characters(isa: Isa, bytes: &[u8]) -> u64 {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(token) => index_avx512::characters(token, bytes),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(token) => index_avx2::characters(token, bytes),
        _ => portable::characters(bytes),
    }
}

/// The end of `bytes[from..end]`, without a character whose bytes are not all there.
pub fn boundary(bytes: &[u8], from: usize, end: usize) -> usize {
    for back in 1..=3.min(end - from) {
        let byte = bytes[end - back];
        let len = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => 1,
        };
        return if len > back { end - back } else { end };
    }
    end
}

/// Length of the prefix of `bytes` that is UTF-8 and characters of XML.
pub fn valid_up_to(bytes: &[u8]) -> usize {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or(""),
    };
    let forbidden = |c: char| {
        let control = c < ' ' && !matches!(c, '\t' | '\n' | '\r');
        control || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    text.find(forbidden).unwrap_or(text.len())
}
