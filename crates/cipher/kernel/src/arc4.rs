//! ARC4, the stream cipher that is compatible with RC4 (draft-kaukonen-cipher-arcfour-03, RFC 6229).
//!
//! Broken as a cipher; here for those who have to talk to old systems.
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

/// A running stream: a call goes on where the last one ended. Wiped when dropped.
#[derive(Clone)]
pub struct Stream {
    /// The permutation, in words: with bytes a stream was a third slower.
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
        let (src, dst, len) = text.pointers();
        let (s, mut i, mut j) = (&mut self.s, self.i, self.j);
        // The entry after `i`, read before a step's entries are written: so no step waits for
        // stores whose addresses the CPU does not know yet.
        let mut next = s[usize::from(i.wrapping_add(1))];
        let mut step = || {
            let a = next;
            i = i.wrapping_add(1);
            j = j.wrapping_add(a as u8);
            let after = i.wrapping_add(1);
            next = s[usize::from(after)];
            let b = s[usize::from(j)];
            s[usize::from(i)] = b;
            s[usize::from(j)] = a;
            if after == j {
                next = a;
            }
            s[usize::from(a.wrapping_add(b) as u8)] as u8
        };
        let words = len / 8;
        for word in 0..words {
            // The first byte of the stream is the lowest: as in memory.
            let stream = (0..8).fold(0, |stream, k| stream | u64::from(step()) << (8 * k));
            // SAFETY: `8 * word + 8 <= len` bytes are at both pointers.
            unsafe {
                let text = src.cast::<u64>().add(word).read_unaligned();
                dst.cast::<u64>().add(word).write_unaligned(text ^ stream.to_le());
            }
        }
        for at in 8 * words..len {
            // SAFETY: `at < len` bytes are at both pointers.
            unsafe { dst.add(at).write(src.add(at).read() ^ step()) };
        }
        (self.i, self.j) = (i, j);
    }
}

/// Encrypts or decrypts packets, each with its own stream, one after another: two or four streams
/// interleaved were no quicker than one that reads ahead.
pub fn apply_many(packets: &mut [(&mut Stream, Text<'_>)]) {
    for (stream, text) in packets {
        stream.apply(text);
    }
}
