//! ARC4, the stream cipher that is compatible with RC4 (draft-kaukonen-cipher-arcfour-03, RFC 6229).
//!
//! Each byte of the stream takes two look-ups whose addresses the one before determines, so that
//! one stream waits on memory; [`apply_many`] interleaves several. Broken as a cipher; here for
//! those who have to talk to old systems.
//!
//! Not constant time: the permutation is indexed by secrets, which is what the algorithm is.
//!
//! ```
//! use lookaside_cipher_kernel::{Text, arc4};
//!
//! let mut stream = arc4::Stream::new(b"Key");
//! let mut text = *b"Plaintext";
//! stream.apply(&mut Text::InPlace(&mut text));
//! assert_eq!(text, [0xbb, 0xf3, 0x16, 0xe8, 0xd9, 0x40, 0xaf, 0x0a, 0xd3]);
//! ```

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Text;

/// How many packets run side by side; more than the registers hold gains nothing.
const LANES: usize = 4;

/// A running stream: a call goes on where the last one ended. Wiped when dropped.
#[derive(Clone)]
pub struct Stream {
    /// The permutation, in words: with bytes one stream alone is a third slower (four together are
    /// a little quicker).
    s: [u32; 256],
    i: u8,
    j: u8,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.s.zeroize();
        self.i.zeroize();
        self.j.zeroize();
    }
}

impl ZeroizeOnDrop for Stream {}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("arc4::Stream")
    }
}

impl Stream {
    /// The beginning of a key's stream. A key has 1 to 256 bytes: bytes beyond are ignored, and no
    /// bytes count as a zero byte.
    pub fn new(key: &[u8]) -> Stream {
        debug_assert!((1..=256).contains(&key.len()), "a key has 1 to 256 bytes");
        let key = if key.is_empty() { &[0] } else { key };
        let mut s: [u32; 256] = std::array::from_fn(|i| i as u32);
        let mut j = 0u8;
        for (i, key) in (0..256).zip(key.iter().cycle()) {
            j = j.wrapping_add(s[i] as u8).wrapping_add(*key);
            s.swap(i, usize::from(j));
        }
        Stream { s, i: 0, j: 0 }
    }

    /// Encrypts or decrypts.
    pub fn apply(&mut self, text: &mut Text<'_>) {
        let (src, dst, left) = text.pointers();
        side_by_side([&mut Lane { stream: self, src, dst, left }]);
    }
}

/// How many packets [`apply_many`] should have, to be quicker than one after another.
pub const fn lanes() -> usize {
    LANES
}

/// Encrypts or decrypts packets, each with its own stream.
pub fn apply_many(packets: &mut [(&mut Stream, Text<'_>)]) {
    let mut rest = packets.iter_mut().map(|(stream, text)| {
        let (src, dst, left) = text.pointers();
        Lane { stream, src, dst, left }
    });
    let mut lanes: [Option<Lane<'_>>; LANES] = [const { None }; LANES];
    loop {
        for lane in &mut lanes {
            while lane.as_ref().is_none_or(|lane| lane.left == 0) {
                *lane = rest.next();
                if lane.is_none() {
                    break;
                }
            }
        }
        if let [Some(a), Some(b), Some(c), Some(d)] = &mut lanes {
            side_by_side([a, b, c, d]);
            continue;
        }
        // The last ones, by pairs.
        let mut last = lanes.iter_mut().flatten();
        match (last.next(), last.next(), last.next()) {
            (Some(a), Some(b), _) => side_by_side([a, b]),
            (Some(a), None, _) => side_by_side([a]),
            (None, ..) => return,
        }
    }
}

/// A packet on its way.
struct Lane<'a> {
    stream: &'a mut Stream,
    src: *const u8,
    dst: *mut u8,
    /// Bytes to do, at both pointers.
    left: usize,
}

/// The next byte of a stream.
macro_rules! step {
    ($s:expr, $i:expr, $j:expr) => {{
        $i = $i.wrapping_add(1);
        let a = $s[usize::from($i)];
        $j = $j.wrapping_add(a as u8);
        let b = $s[usize::from($j)];
        $s[usize::from($i)] = b;
        $s[usize::from($j)] = a;
        $s[usize::from(a.wrapping_add(b) as u8)] as u8
    }};
}

/// Runs all lanes until the first one ends.
fn side_by_side<const N: usize>(lanes: [&mut Lane<'_>; N]) {
    let steps = lanes.iter().map(|lane| lane.left).min().unwrap_or(0);
    let mut i: [u8; N] = std::array::from_fn(|n| lanes[n].stream.i);
    let mut j: [u8; N] = std::array::from_fn(|n| lanes[n].stream.j);
    let words = steps / 8;
    for word in 0..words {
        let mut stream = [0u64; N];
        for byte in 0..8 {
            for n in 0..N {
                let next = step!(lanes[n].stream.s, i[n], j[n]);
                stream[n] |= u64::from(next) << (8 * byte);
            }
        }
        for n in 0..N {
            // SAFETY: `8 * word + 8 <= steps <= left` bytes are at both pointers.
            unsafe {
                let src = lanes[n].src.cast::<u64>().add(word).read_unaligned();
                // The first byte of the stream is the lowest: as in memory.
                let out = src ^ stream[n].to_le();
                lanes[n].dst.cast::<u64>().add(word).write_unaligned(out);
            }
        }
    }
    for n in 0..N {
        for at in 8 * words..steps {
            let next = step!(lanes[n].stream.s, i[n], j[n]);
            // SAFETY: `at < steps <= left` bytes are at both pointers.
            unsafe { lanes[n].dst.add(at).write(lanes[n].src.add(at).read() ^ next) };
        }
        lanes[n].stream.i = i[n];
        lanes[n].stream.j = j[n];
        // SAFETY: as above.
        unsafe {
            lanes[n].src = lanes[n].src.add(steps);
            lanes[n].dst = lanes[n].dst.add(steps);
        }
        lanes[n].left -= steps;
    }
}
