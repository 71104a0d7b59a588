//! A few bytes as one block with fixed codes (RFC 1951 section 3.2.6). The kernels store what is
//! shorter than their headers, which is twice what zlib makes of it, and for less than eight bytes
//! more than the bound allows with memLevel 9. For 100 bytes they take longer than zlib.

/// The most bytes that are coded here. Up to so many, codes made for a text seldom pay for their
/// description, and the kernels spend more time on their tables than on the text.
pub(crate) const MOST: usize = 128;

/// Up to so many bytes nothing else is tried.
const SURE: usize = 56;

/// The longest copy whose code has seven bits.
const LONGEST: usize = 114;

/// Room for them: 3 bits, 9 for each byte, 7 at the end.
pub(crate) const ROOM: usize = (3 + 9 * MOST + 7).div_ceil(8) + 8;

/// Bits, the first one lowest.
struct Bits<'a> {
    dst: &'a mut [u8; ROOM],
    len: usize,
    bits: u64,
    count: u32,
}

impl Bits<'_> {
    fn put(&mut self, value: usize, count: u32) {
        self.bits |= (value as u64) << self.count;
        self.count += count;
        while self.count >= 8 {
            self.dst[self.len] = self.bits as u8;
            self.len += 1;
            self.bits >>= 8;
            self.count -= 8;
        }
    }

    /// A Huffman code, whose first bit is its highest.
    fn put_code(&mut self, code: usize, count: u32) {
        self.put((code as u32).reverse_bits() as usize >> (32 - count), count);
    }

    fn literal(&mut self, byte: u8) {
        match byte {
            0..144 => self.put_code(0x30 + usize::from(byte), 8),
            _ => self.put_code(0x190 + usize::from(byte - 144), 9),
        }
    }

    /// Lengths to 114 and distances to 128: `(least, first code, extra bits)`, by steps of the RFC.
    fn copy(&mut self, len: usize, distance: usize) {
        const LENGTHS: [(usize, usize, u32); 5] =
            [(67, 21, 4), (35, 17, 3), (19, 13, 2), (11, 9, 1), (3, 1, 0)];
        const DISTANCES: [(usize, usize, u32); 6] =
            [(65, 12, 5), (33, 10, 4), (17, 8, 3), (9, 6, 2), (5, 4, 1), (1, 0, 0)];
        for (value, table, width) in [(len, &LENGTHS[..], 7), (distance, &DISTANCES[..], 5)] {
            let &(least, code, extra) =
                table.iter().find(|row| row.0 <= value).unwrap_or(&table[table.len() - 1]);
            let over = value - least;
            self.put_code(code + (over >> extra), width);
            self.put(over & ((1 << extra) - 1), extra);
        }
    }
}

/// Where three bytes were seen last, and before that.
struct Seen {
    last: [u8; 256],
    before: [u8; MOST],
}

impl Seen {
    const NEVER: u8 = 255;

    fn hash(three: &[u8; 3]) -> usize {
        let [a, b, c] = three.map(u32::from);
        ((a | b << 8 | c << 16).wrapping_mul(0x9e37_79b1) >> 24) as usize
    }

    /// Notes `at`. Returns where the same was seen before.
    fn note(&mut self, data: &[u8], at: usize) -> u8 {
        let Some(three) = data[at..].first_chunk() else { return Seen::NEVER };
        let place = &mut self.last[Seen::hash(three)];
        self.before[at] = std::mem::replace(place, at as u8);
        self.before[at]
    }

    /// The longest copy for `at` among the places from `candidate` on: its length and distance. Of
    /// equal ones the nearest, which is the shortest to write.
    fn search(&self, data: &[u8], at: usize, mut candidate: u8) -> (usize, usize) {
        /// Places looked at, and a length that is good enough.
        const PLACES: usize = 8;
        const GOOD: usize = 32;
        let rest = &data[at..];
        let mut best = (0, 0);
        for _ in 0..PLACES {
            if candidate == Seen::NEVER || best.0 >= GOOD {
                break;
            }
            let from = usize::from(candidate);
            let len = rest.iter().zip(&data[from..]).take_while(|(a, b)| a == b).count();
            if len > best.0 {
                best = (len.min(LONGEST), at - from);
            }
            candidate = self.before[from];
        }
        best
    }
}

/// Writes `data`, at most [`MOST`] bytes, as a whole stream to `dst`. Returns its length, unless
/// others may do better.
pub(crate) fn whole(data: &[u8], dst: &mut [u8; ROOM]) -> Option<usize> {
    let mut out = Bits { dst, len: 0, bits: 0, count: 0 };
    let mut seen = Seen { last: [Seen::NEVER; 256], before: [Seen::NEVER; MOST] };
    // The last block (1), fixed codes (01).
    out.put(0b011, 3);
    let mut at = 0;
    while at < data.len() {
        let candidate = seen.note(data, at);
        let (len, distance) = seen.search(data, at, candidate);
        if len < 3 {
            out.literal(data[at]);
            at += 1;
            continue;
        }
        out.copy(len, distance);
        for inside in at + 1..at + len {
            seen.note(data, inside);
        }
        at += len;
    }
    // The end of the block: seven zeros, and what fills the last byte.
    out.put(0, 7 + 7);
    let enough = if data.len() <= SURE { data.len() + 4 } else { data.len() - data.len() / 8 };
    (out.len <= enough).then_some(out.len)
}
