//! Records of TLS 1.1 and 1.2 with CBC suites (RFC 5246 section 6.2.3.2), around the cipher:
//!
//! ```text
//! plaintext = payload || HMAC(header || payload) || padding
//! ```
//!
//! where the header has 13 bytes, the sequence number, type, version and the payload's length, and the
//! padding is 1 to 256 bytes that all have the value of their number less one. The explicit IV in front
//! is the caller's, and so are the cipher and the compression of HMAC's hash.
//!
//! # Constant time
//!
//! Whoever learns whether the padding or the MAC of a forged record was wrong learns the plaintext
//! (Vaudenay 2002; Lucky Thirteen, AlFardan and Paterson 2013). So [`Mac::open`] takes time, and reads and
//! writes addresses, by the record's length alone: it looks at 256 bytes of padding, collects the MAC
//! from wherever it may begin, and hashes to the end of the longest payload that there can be, where
//! the message and its own padding are masked in and the state after the right block is kept. Whether
//! the record is genuine, and then how long its payload is, is for everybody to see, and nothing more.
//! `scripts/secrets` proves it of what the compiler makes of it.

use std::hint::black_box;

use zeroize::Zeroize;

use crate::OpError;

/// The length of the header that is authenticated.
pub const HEADER: usize = 13;
/// The block of AES.
const CIPHER_BLOCK: usize = 16;
/// The longest padding, with the byte that tells its length.
const MOST_PADDING: usize = 256;
/// The longest block of a hash, and the longest MAC.
const MOST_BLOCK: usize = 128;
const MOST_MAC: usize = 64;

/// The state of a hash function that HMAC is made of: `[u32; 5]` of SHA-1, `[u32; 8]` of SHA-256,
/// `[u64; 8]` of SHA-384.
pub trait State: Copy + Zeroize {
    /// The length of a block in bytes, a power of two. The message's length in bits takes up the last
    /// eighth of the last block.
    const BLOCK: usize;
    /// The length of the MAC in bytes.
    const MAC: usize;
    /// Writes the state down, big-endian, as much as there is room for.
    fn write(&self, out: &mut [u8]);
}

impl State for [u32; 5] {
    const BLOCK: usize = 64;
    const MAC: usize = 20;
    fn write(&self, out: &mut [u8]) {
        write(out, self.map(u32::to_be_bytes));
    }
}

impl State for [u32; 8] {
    const BLOCK: usize = 64;
    const MAC: usize = 32;
    fn write(&self, out: &mut [u8]) {
        write(out, self.map(u32::to_be_bytes));
    }
}

impl State for [u64; 8] {
    const BLOCK: usize = 128;
    const MAC: usize = 48;
    fn write(&self, out: &mut [u8]) {
        write(out, self.map(u64::to_be_bytes));
    }
}

fn write<const N: usize, const WORDS: usize>(out: &mut [u8], words: [[u8; N]; WORDS]) {
    for (out, word) in out.chunks_exact_mut(N).zip(words) {
        out.copy_from_slice(&word);
    }
}

/// HMAC (RFC 2104) with one key: the states after the blocks of its inner and outer key, and the
/// compression function, which takes whole blocks.
#[derive(Clone, Copy)]
pub struct Mac<'a, S, F> {
    /// After the key xor 0x36...
    pub inner: &'a S,
    /// After the key xor 0x5c...
    pub outer: &'a S,
    /// Continues a state over whole blocks, one at least; its time is by their number alone.
    pub compress: F,
}

/// The length of payload, MAC and the shortest padding.
pub const fn sealed_len(payload: usize, mac: usize) -> usize {
    (payload + mac + 1).next_multiple_of(CIPHER_BLOCK)
}

/// What there is to know of a decrypted record.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// All bits set, or none.
    pub genuine: u32,
    /// The payload's length, which is no secret once the record is genuine.
    pub payload: u32,
}

/// The HMAC of a record whose payload is known, in pieces, so that whole blocks of it can be hashed
/// while they are encrypted.
pub struct Sealing<S: Zeroize> {
    /// The inner state.
    pub state: S,
    /// How many bytes of the payload are in it: after [`Mac::begin`], none or those of the first block.
    /// Whoever hashes whole blocks more adds them.
    pub hashed: usize,
    header: [u8; HEADER],
    /// Whether the header is in it.
    begun: bool,
    payload: usize,
}

impl<S: Zeroize> Drop for Sealing<S> {
    fn drop(&mut self) {
        self.state.zeroize();
    }
}

impl<S: State, F: Fn(&mut S, &[u8])> Mac<'_, S, F> {
    /// Hashes the header and the payload's beginning, where that makes a block. The header's last two
    /// bytes are replaced by the payload's length.
    ///
    /// # Errors
    /// [`OpError::BadInput`] for a payload whose length has more than 16 bits.
    pub fn begin(&self, header: &[u8; HEADER], payload: &[u8]) -> Result<Sealing<S>, OpError> {
        let Ok(len) = u16::try_from(payload.len()) else {
            return Err(OpError::BadInput("payload"));
        };
        let mut header = *header;
        header[HEADER - 2..].copy_from_slice(&len.to_be_bytes());
        let (state, payload_len) = (*self.inner, payload.len());
        let mut sealing = Sealing { state, hashed: 0, header, begun: false, payload: payload_len };
        if let Some(first) = payload.get(..S::BLOCK - HEADER) {
            let mut block = [0; MOST_BLOCK];
            block[..HEADER].copy_from_slice(&header);
            block[HEADER..S::BLOCK].copy_from_slice(first);
            self.run(&mut sealing.state, &block[..S::BLOCK]);
            block.zeroize();
            sealing.hashed = first.len();
            sealing.begun = true;
        }
        Ok(sealing)
    }

    /// Hashes the rest of the payload and writes MAC and padding after it. In the record what is
    /// before `sealing.hashed` is not read.
    ///
    /// # Errors
    /// [`OpError::BadInput`] when the record's length is not the payload's with its MAC and a padding of
    /// 1 to 256 bytes, and whole blocks of the cipher.
    pub fn finish(&self, mut sealing: Sealing<S>, record: &mut [u8]) -> Result<(), OpError> {
        let payload = sealing.payload;
        let padding = record.len().saturating_sub(payload + S::MAC);
        if padding == 0 || padding > MOST_PADDING || !record.len().is_multiple_of(CIPHER_BLOCK) {
            return Err(OpError::BadInput("record"));
        }
        let (text, tail) = record.split_at_mut(payload);
        let Some(rest) = text.get(sealing.hashed..) else {
            return Err(OpError::BadInput("record"));
        };
        let (blocks, rest) = match sealing.begun {
            true => rest.split_at(rest.len() / S::BLOCK * S::BLOCK),
            false => rest.split_at(0),
        };
        self.run(&mut sealing.state, blocks);

        // The last of the message, and its padding: one block or two.
        let mut last = [0; 2 * MOST_BLOCK];
        let header = if sealing.begun { &[][..] } else { &sealing.header[..] };
        let used = header.len() + rest.len();
        last[..header.len()].copy_from_slice(header);
        last[header.len()..used].copy_from_slice(rest);
        last[used] = 0x80;
        let end = (used + 1 + S::BLOCK / 8).next_multiple_of(S::BLOCK);
        last[end - 8..end].copy_from_slice(&bits::<S>(HEADER + payload).to_be_bytes());
        self.run(&mut sealing.state, &last[..end]);
        last.zeroize();

        let (mac, fill) = tail.split_at_mut(S::MAC);
        let mut digest = [0; MOST_MAC];
        sealing.state.write(&mut digest);
        mac.copy_from_slice(&self.outer(&mut digest)[..S::MAC]);
        fill.fill((padding - 1) as u8);
        Ok(())
    }

    /// Writes MAC and padding after the payload, which the record begins with: all at once.
    ///
    /// # Errors
    /// As [`Mac::begin`] and [`Mac::finish`].
    pub fn seal(
        &self,
        header: &[u8; HEADER],
        record: &mut [u8],
        payload: usize,
    ) -> Result<(), OpError> {
        let text = record.get(..payload).ok_or(OpError::BadInput("record"))?;
        self.finish(self.begin(header, text)?, record)
    }

    /// Compresses blocks, if there are any: their number is public.
    fn run(&self, state: &mut S, blocks: &[u8]) {
        if !blocks.is_empty() {
            (self.compress)(state, blocks);
        }
    }

    /// The outer hash of the inner digest, which is overwritten.
    fn outer(&self, digest: &mut [u8; MOST_MAC]) -> [u8; MOST_MAC] {
        let mut block = [0; MOST_BLOCK];
        block[..S::MAC].copy_from_slice(&digest[..S::MAC]);
        block[S::MAC] = 0x80;
        block[S::BLOCK - 8..S::BLOCK].copy_from_slice(&bits::<S>(S::MAC).to_be_bytes());
        let mut state = *self.outer;
        self.run(&mut state, &block[..S::BLOCK]);
        let mut mac = [0; MOST_MAC];
        state.write(&mut mac);
        digest.zeroize();
        block.zeroize();
        state.zeroize();
        mac
    }

    /// Verifies a decrypted record, and returns its payload's length. After an error the record is
    /// zeros, or was not touched where its length alone is wrong. The header's last two bytes are not
    /// read.
    ///
    /// Constant time: see the module.
    ///
    /// # Errors
    /// [`OpError::BadInput`] for a length that no record has; [`OpError::AuthFailed`] for a wrong MAC or
    /// padding, and nothing tells which.
    pub fn open(&self, header: &[u8; HEADER], record: &mut [u8]) -> Result<usize, OpError> {
        let verdict = self.judge(header, record)?;
        if black_box(verdict.genuine) != 0 {
            Ok(verdict.payload as usize)
        } else {
            record.zeroize();
            Err(OpError::AuthFailed)
        }
    }

    /// What [`Mac::open`] decides by, still secret.
    ///
    /// # Errors
    /// [`OpError::BadInput`] for a length that no record has.
    pub fn judge(&self, header: &[u8; HEADER], record: &[u8]) -> Result<Verdict, OpError> {
        let len = record.len();
        if len <= S::MAC || !len.is_multiple_of(CIPHER_BLOCK) || len > usize::from(u16::MAX) {
            return Err(OpError::BadInput("record"));
        }
        let (padding, padding_good) = padding::<S>(record);
        // (A check for overflow would branch by it.)
        let payload = (len as u32 - S::MAC as u32).wrapping_sub(padding);
        let mut found = mac_at::<S>(record, payload);
        let mut expected = self.mac_of(header, record, payload);
        let difference =
            (found.iter().zip(&expected).take(S::MAC)).fold(0, |all, (a, b)| all | (a ^ b));
        found.zeroize();
        expected.zeroize();
        Ok(Verdict { genuine: padding_good & !lt(0, u32::from(difference)), payload })
    }

    /// The MAC over the header and as much of the record as the payload is, which is secret.
    fn mac_of(&self, header: &[u8; HEADER], record: &[u8], payload: u32) -> [u8; MOST_MAC] {
        let mut header = *header;
        header[HEADER - 2..].copy_from_slice(&(payload as u16).to_be_bytes());
        let len = payload.wrapping_add(HEADER as u32);
        // What is public of that length: its limits. A padding that is not good counts as none.
        let most = HEADER + record.len() - S::MAC;
        let least = HEADER + (record.len() - S::MAC).saturating_sub(MOST_PADDING);

        // Blocks that the message fills for certain.
        let mut state = *self.inner;
        let certain = least / S::BLOCK;
        let mut block = [0; MOST_BLOCK];
        if certain > 0 {
            block[..HEADER].copy_from_slice(&header);
            block[HEADER..S::BLOCK].copy_from_slice(&record[..S::BLOCK - HEADER]);
            self.run(&mut state, &block[..S::BLOCK]);
            let whole = &record[S::BLOCK - HEADER..certain * S::BLOCK - HEADER];
            self.run(&mut state, whole);
        }

        // From here on each block may be the last: that into which the length goes.
        let field = S::BLOCK / 8;
        let last = len.wrapping_add(field as u32) / S::BLOCK as u32;
        let bits = bits::<S>(len as usize).to_be_bytes();
        let mut digest = [0; MOST_MAC];
        for index in certain..=(most + field) / S::BLOCK {
            let start = index * S::BLOCK;
            block.fill(0);
            let in_header = HEADER.saturating_sub(start);
            if in_header > 0 {
                block[..in_header].copy_from_slice(&header);
            }
            let from = (start + in_header - HEADER).min(record.len());
            let to = (start + S::BLOCK - HEADER).min(record.len());
            block[in_header..in_header + to - from].copy_from_slice(&record[from..to]);

            for (i, byte) in block[..S::BLOCK].iter_mut().enumerate() {
                let at = (start + i) as u32;
                *byte = (*byte & lt(at, len) as u8) | (0x80 & eq(at, len) as u8);
            }
            let is_last = black_box(eq(index as u32, last) as u8);
            for (byte, bits) in block[S::BLOCK - 8..S::BLOCK].iter_mut().zip(bits) {
                *byte |= bits & is_last;
            }
            self.run(&mut state, &block[..S::BLOCK]);
            let mut bytes = [0; MOST_MAC];
            state.write(&mut bytes);
            for (digest, byte) in digest.iter_mut().zip(bytes) {
                *digest |= byte & is_last;
            }
        }
        block.zeroize();
        state.zeroize();

        self.outer(&mut digest)
    }
}

/// The length in bits of the key's block and `len` bytes: what goes into the hash's last block. It is
/// less than 2^64, so that a field of 128 bits begins with zeros.
fn bits<S: State>(len: usize) -> u64 {
    8 * (S::BLOCK + len) as u64
}

/// The padding's length with its last byte, and a mask that tells whether it is good; if not, the
/// length is 0, as RFC 5246 has it.
fn padding<S: State>(record: &[u8]) -> (u32, u32) {
    let (&last, _) = record.split_last().expect("longer than a MAC");
    let padding = u32::from(last);
    let mut bad = 0;
    for (i, byte) in record.iter().rev().take(MOST_PADDING).enumerate() {
        // Byte `i` from the end belongs to it where `i <= padding`.
        bad |= (byte ^ last) & !lt(padding, i as u32) as u8;
    }
    let fits = !lt(record.len() as u32, padding + 1 + S::MAC as u32);
    let good = black_box(fits & !lt(0, u32::from(bad)));
    ((padding + 1) & good, good)
}

/// The MAC that begins at a secret place, at most 256 bytes before the last at which it could.
fn mac_at<S: State>(record: &[u8], start: u32) -> [u8; MOST_MAC] {
    let first = (record.len() - S::MAC).saturating_sub(MOST_PADDING);
    // Each of its bytes goes to its place modulo the MAC's length: it is there, but rotated.
    let mut mac = [0; MOST_MAC];
    let mut rotation = 0;
    for (chunk, bytes) in record[first..].chunks(S::MAC).enumerate() {
        let at = (first + chunk * S::MAC) as u32;
        for (i, (mac, byte)) in mac.iter_mut().zip(bytes).enumerate() {
            let at = at + i as u32;
            let within = !lt(at, start) & lt(at, start.wrapping_add(S::MAC as u32));
            *mac |= byte & within as u8;
            rotation |= i as u32 & eq(at, start);
        }
    }
    // Back, by the powers of two that the rotation is made of.
    for power in 0..S::MAC.ilog2() + 1 {
        let turned = mac;
        let set = black_box(0u8.wrapping_sub(((rotation >> power) & 1) as u8));
        for (i, byte) in mac[..S::MAC].iter_mut().enumerate() {
            // Public: the places, not what lies there.
            let other = turned[(i + (1 << power)) % S::MAC];
            *byte = (*byte & !set) | (other & set);
        }
    }
    mac
}

/// All bits where `a < b`; both have at most 31 bits.
fn lt(a: u32, b: u32) -> u32 {
    0u32.wrapping_sub(a.wrapping_sub(b) >> 31)
}

/// All bits where `a == b`; both have at most 31 bits.
fn eq(a: u32, b: u32) -> u32 {
    lt(a ^ b, 1)
}
