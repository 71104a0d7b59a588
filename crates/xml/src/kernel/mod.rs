//! Stage one: where names, values and text may end, and whether the bytes are characters of XML at all.

#![allow(unsafe_code)]

/// What a `Pass` does with blocks, the same for each instruction set: around its own `block`, `utf8`, `closing` and `close`.
#[cfg(target_arch = "x86_64")]
macro_rules! blocks {
    ($features:literal) => {
        impl Pass {
            /// A block with three bytes before it.
            ///
            /// # Safety
            /// `block` has its places in the maps.
            #[target_feature(enable = $features)]
            unsafe fn edge<const LINES: bool>(
                &mut self,
                bytes: &[u8; 3 + BLOCK],
                block: usize,
                maps: [*mut u64; 4],
            ) {
                let from = bytes.as_ptr().wrapping_add(3);
                // SAFETY: 64 bytes at `from` and three before it; the caller says the rest.
                unsafe {
                    let [others, closings] = self.block::<LINES>(from, block, maps);
                    if others {
                        self.utf8(from);
                    }
                    if closings {
                        close::<LINES>(maps, block, closing(from));
                    }
                }
            }

            /// At most 64 blocks. What only some of them need comes behind them, so that no branch depends on it.
            ///
            /// # Safety
            /// The blocks from `from` to `end` of `bytes` can be read, and three bytes before them; they have their places in the maps.
            #[target_feature(enable = $features)]
            #[inline]
            unsafe fn group<const LINES: bool>(
                &mut self,
                bytes: *const u8,
                from: usize,
                end: usize,
                maps: [*mut u64; 4],
            ) {
                // A copy that no store of a word may be to.
                let mut it = *self;
                let (mut others, mut closings) = (0_u64, 0_u64);
                for block in from..end {
                    // SAFETY: says the caller.
                    let flags = unsafe { it.block::<LINES>(bytes.add(block * BLOCK), block, maps) };
                    others |= u64::from(flags[0]) << (block - from);
                    closings |= u64::from(flags[1]) << (block - from);
                }
                while others != 0 {
                    let block = from + others.trailing_zeros() as usize;
                    // SAFETY: says the caller.
                    unsafe { it.utf8(bytes.add(block * BLOCK)) };
                    others &= others - 1;
                }
                while closings != 0 {
                    let block = from + closings.trailing_zeros() as usize;
                    // SAFETY: says the caller.
                    unsafe { close::<LINES>(maps, block, closing(bytes.add(block * BLOCK))) };
                    closings &= closings - 1;
                }
                *self = it;
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
use blocks;

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
/// Line feed.
pub const LINE_FEED: u8 = 64;

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
        if c == b'\n' {
            class |= LINE_FEED;
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

/// The bitmap for ends of names.
pub const NAME: usize = 0;
/// The bitmap for stops in values.
pub const VALUE: usize = 1;
/// The bitmap for stops in text: `<`, `&`, a carriage return, or the `>` of `]]>`.
pub const TEXT: usize = 2;
/// The bitmap for stops in text and line feeds, of an index [with lines](Index::with_lines).
pub const LINE: usize = 3;

/// Where a kernel writes: for each bitmap the words of all blocks, their bytes from low to high.
type Maps<'a> = [&'a mut [u64]; 4];

/// Notes stops in text of one block.
///
/// # Safety
/// The maps have a word for it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn close<const LINES: bool>(maps: [*mut u64; 4], block: usize, stops: u64) {
    // SAFETY: says the caller.
    unsafe {
        *maps[TEXT].add(block) |= stops;
        if LINES {
            *maps[LINE].add(block) |= stops;
        }
    }
}

/// The bitmaps of a window. A search takes a word from any byte on, so that the ends of blocks are none of the walk's concern.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// Two words or more behind those of all whole blocks; from bit `len` on ones.
    maps: [Vec<u64>; 4],
    len: usize,
    lines: bool,
}

impl Index {
    /// An index that has [`LINE`], too.
    pub fn with_lines() -> Index {
        Index { lines: true, ..Index::default() }
    }

    /// Looks at `bytes`, which begin at a character's boundary. False: they are not UTF-8, or hold a character that
    /// production 2 excludes.
    pub fn fill(&mut self, isa: Isa, bytes: &[u8]) -> bool {
        let blocks = bytes.len() / BLOCK + 1;
        for map in &mut self.maps {
            if map.len() < blocks + 1 {
                map.resize(blocks + 1, 0);
            }
        }
        self.len = bytes.len();
        let maps = self.maps.each_mut().map(|map| &mut map[..blocks]);
        let valid = match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(token) => index_avx512::index(token, bytes, maps, self.lines),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(token) => index_avx2::index(token, bytes, maps, self.lines),
            _ => portable::index(bytes, maps, self.lines),
        };
        self.end();
        valid
    }

    /// The bytes of the window become fewer.
    pub fn cut(&mut self, len: usize) {
        assert!(len <= self.len);
        self.len = len;
        self.end();
    }

    /// Behind the end everything stops.
    fn end(&mut self) {
        let beyond = u64::MAX << (self.len % BLOCK);
        for map in &mut self.maps {
            map[self.len / BLOCK] |= beyond.to_le();
            map[self.len / BLOCK + 1] = u64::MAX;
        }
    }

    /// The first stop of bitmap `MAP` at `from` or behind it; the window's length if there is none.
    #[inline(always)]
    pub fn next<const MAP: usize>(&self, from: usize) -> usize {
        debug_assert!(self.lines || MAP != LINE);
        if from >= self.len {
            return self.len;
        }
        let map = self.maps[MAP].as_ptr().cast::<u8>();
        let word = |at: usize| {
            debug_assert!(at + 8 <= self.maps[MAP].len() * 8);
            // SAFETY: `at` is `len / 8` at most, and a word begins there: `fill` was called, and there are two words from that of
            // bit `len` on.
            u64::from_le(unsafe { map.add(at).cast::<u64>().read_unaligned() })
        };
        let mut at = from / 8;
        let bits = word(at) >> (from % 8);
        if bits != 0 {
            return from + bits.trailing_zeros() as usize;
        }
        loop {
            // All bits of that word are 0, and bit `len` is 1: `len / 8` is not behind.
            at += 8;
            let bits = word(at);
            if bits != 0 {
                return at * 8 + bits.trailing_zeros() as usize;
            }
        }
    }

    /// The bitmaps, block by block: for tests.
    #[cfg(test)]
    fn words(&self) -> Vec<[u64; 4]> {
        let blocks = 0..=self.len / BLOCK;
        blocks.map(|block| self.maps.each_ref().map(|map| u64::from_le(map[block]))).collect()
    }
}

/// Two words from `from` on, if so many bytes are there.
#[inline(always)]
pub fn sixteen(bytes: &[u8], from: usize) -> Option<[u64; 2]> {
    (from < bytes.len().saturating_sub(15)).then(|| {
        let at = bytes.as_ptr().wrapping_add(from).cast::<u64>();
        // SAFETY: 16 bytes from `from` on are in `bytes`.
        unsafe { [at, at.add(1)].map(|at| u64::from_le(at.read_unaligned())) }
    })
}

/// Ends of lines in `bytes`, and where the last one is: line feeds and carriage returns, those of `\r\n` once. `after_return`: a
/// carriage return stands before `bytes`, and is counted.
pub fn lines(isa: Isa, bytes: &[u8], after_return: bool) -> (u64, Option<usize>) {
    let count = match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(token) => index_avx2::lines(token.into(), bytes, after_return),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(token) => index_avx2::lines(token, bytes, after_return),
        _ => portable::lines(bytes, after_return),
    };
    let any = count > 0 || after_return;
    (count, any.then(|| memchr::memrchr2(b'\n', b'\r', bytes)).flatten())
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

/// A text, a value or a name that the parser has written: it has found that these are characters of XML. To look at each once
/// more would take a third of the time in which a document is parsed, where most of it is selected.
#[inline(always)]
pub fn checked(bytes: &[u8]) -> &str {
    debug_assert!(std::str::from_utf8(bytes).is_ok(), "no characters: {bytes:?}");
    // SAFETY: the parser says that bytes are a text only where a `Pass` has found UTF-8, and cuts them between characters.
    unsafe { std::str::from_utf8_unchecked(bytes) }
}
