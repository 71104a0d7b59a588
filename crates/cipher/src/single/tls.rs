//! Records of TLS 1.1 and 1.2 with an AES-CBC suite (RFC 5246 section 6.2.3.2), opened in a time that
//! depends on the ciphertext's length only (Lucky Thirteen: AlFardan and Paterson, 2013).

use std::hint::black_box;

use lookaside_simd::Cpu;
use zeroize::Zeroizing;

use crate::library::aws_lc::equal;
use crate::{Direction, Error, Span, Text};

use super::hash::{HashState, MAX_BLOCK, MAX_DIGEST};
use super::regions::{read, region, wipe, write};
use super::{auth, cipher};

/// The keys of a record.
pub(crate) struct Key {
    /// AES-CBC.
    pub(crate) cipher: cipher::Key,
    /// HMAC.
    pub(crate) auth: auth::Key,
}

/// The header without its last two bytes, the length.
const HEADER: usize = 11;

/// Seals or opens a record.
pub(crate) fn record(
    key: &Key,
    direction: Direction,
    iv: &[u8],
    text: &mut Text<'_>,
    aad: Span,
    span: Span,
) -> Result<usize, Error> {
    let mut header = [0; HEADER];
    header.copy_from_slice(&read(text, aad)[..HEADER]);
    match direction {
        Direction::Seal => seal(key, iv, text, &header, span),
        Direction::Open => {
            let result = open(key, iv, text, &header, span);
            if result.is_err() {
                wipe(text, span);
            }
            result
        }
    }
}

fn nested(key: &auth::Key) -> Result<(&HashState, &HashState), Error> {
    match key.kind() {
        auth::Kind::Nested { inner, outer } => Ok((inner, outer)),
        _ => Err(Error::BadSpec("a record needs HMAC")),
    }
}

fn seal(
    key: &Key,
    iv: &[u8],
    text: &mut Text<'_>,
    header: &[u8; HEADER],
    span: Span,
) -> Result<usize, Error> {
    let len = span.len as usize;
    let (inner, _) = nested(&key.auth)?;
    let mac_len = inner.hash.len();
    let mut state = key.auth.begin(&[])?;
    key.auth.update(&mut state, header)?;
    key.auth.update(&mut state, &(span.len as u16).to_be_bytes())?;
    key.auth.update(&mut state, read(text, span))?;

    cipher::copy(&mut region(text, span));
    let sealed = (len + mac_len) / 16 * 16 + 16;
    let record = write(text, Span { len: sealed as u32, ..span });
    key.auth.finish(&mut state, &mut record[len..len + mac_len])?;
    let padding = sealed - len - mac_len;
    record[len + mac_len..].fill((padding - 1) as u8);
    let mut state = key.cipher.begin(iv);
    key.cipher.process(&mut state, Direction::Seal, &mut Text::InPlace(record));
    Ok(sealed)
}

/// All ones if `a < b`, both less than 2^31; else zero.
fn less(a: u32, b: u32) -> u32 {
    black_box(a.wrapping_sub(b) >> 31).wrapping_neg()
}

/// All ones if equal, both less than 2^31; else zero.
fn same(a: u32, b: u32) -> u32 {
    !(less(a, b) | less(b, a))
}

fn open(
    key: &Key,
    iv: &[u8],
    text: &mut Text<'_>,
    header: &[u8; HEADER],
    span: Span,
) -> Result<usize, Error> {
    let cpu = key.auth.cpu();
    let (inner, outer) = nested(&key.auth)?;
    let mac_len = inner.hash.len() as u32;
    let mut state = key.cipher.begin(iv);
    key.cipher.process(&mut state, Direction::Open, &mut region(text, span));
    let record: &[u8] = write(text, span);
    let total = span.len;

    // The padding: its last byte says how long the rest is, and every byte of it says the same.
    let last = u32::from(record[record.len() - 1]);
    let most = total - mac_len - 1;
    let mut good = !less(most, last);
    for back in 0..total.min(256) {
        let byte = u32::from(record[(total - 1 - back) as usize]);
        let is_padding = !less(last, back);
        good &= !is_padding | same(byte, last);
    }
    // With bad padding the MAC is computed as if there were none, and the record refused after it.
    let padding = (last + 1) & good;
    let len = total - mac_len - padding;

    let mut found = Zeroizing::new([0; MAX_DIGEST]);
    extract(record, len, mac_len, &mut found[..]);
    let mut digest = Zeroizing::new([0; MAX_DIGEST]);
    hash_prefix(cpu, inner, header, record, len, mac_len, &mut digest[..]);
    let mut outer = outer.clone();
    outer.update(cpu, &digest[..mac_len as usize]);
    let mut computed = [0; MAX_DIGEST];
    outer.finish(cpu, &mut computed[..mac_len as usize]);

    let mac_good = equal(&found[..mac_len as usize], &computed[..mac_len as usize]);
    let good = black_box(good) & u32::from(mac_good);
    if good == 0 { Err(Error::AuthFailed) } else { Ok(len as usize) }
}

/// Copies the MAC, which begins at the secret `start`, from a record's end: every byte that may
/// belong to it is read, into a ring that is then turned.
fn extract(record: &[u8], start: u32, mac_len: u32, mac: &mut [u8]) {
    let total = record.len() as u32;
    // The MAC and 256 bytes of padding at most.
    let first = total.saturating_sub(mac_len + 256);
    let mut ring = Zeroizing::new([0_u8; MAX_DIGEST]);
    let (mut at, mut turn) = (0, 0);
    for position in first..total {
        turn |= same(position, start) & at;
        let belongs = !less(position, start) & less(position, start + mac_len);
        ring[at as usize] |= record[position as usize] & belongs as u8;
        at += 1;
        if at == mac_len {
            at = 0;
        }
    }
    // The MAC's first byte lies at `turn`. Turned by 1, 2, 4 ... bytes, as the bits of it say.
    let mac_len = mac_len as usize;
    for bit in 0..6 {
        let mask = (turn >> bit & 1).wrapping_neg() as u8;
        let by = (1 << bit) % mac_len;
        for to in 0..mac_len {
            let from = if to + by < mac_len { to + by } else { to + by - mac_len };
            mac[to] = (ring[from] & mask) | (ring[to] & !mask);
        }
        ring[..mac_len].copy_from_slice(&mac[..mac_len]);
    }
}

/// The inner digest of header, length and the first `len` bytes of the record, `len` being secret:
/// every block that may be the last one is made up and compressed, and the right state kept.
fn hash_prefix(
    cpu: &Cpu,
    inner: &HashState,
    header: &[u8; HEADER],
    record: &[u8],
    len: u32,
    mac_len: u32,
    digest: &mut [u8],
) {
    let block_len = inner.hash.block_len() as u32;
    let length_len = if block_len == 128 { 16 } else { 8 };
    let mut state = inner.clone();
    let most = record.len() as u32 - mac_len;
    let least = (record.len() as u32).saturating_sub(mac_len + 256);

    // All the blocks that end before the text can: header and length are 13 bytes. `most` is meant
    // as the upper bound of the text, padding or not.
    let mut head = [0; HEADER + 2];
    head[..HEADER].copy_from_slice(header);
    head[HEADER..].copy_from_slice(&(len as u16).to_be_bytes());
    let public = (least + 13) / block_len * block_len;
    if public > 0 {
        state.update(cpu, &head);
        state.update(cpu, &record[..(public - 13) as usize]);
    }

    // From `public` on, byte i of the padded text is: the text's, the one bit, zero, or the length.
    let end = len + 13;
    let bits = u64::from(end).wrapping_add(inner.length).wrapping_mul(8).to_be_bytes();
    // A shift: the time of a division depends on the numbers.
    let last_block = (end + length_len) >> block_len.trailing_zeros();
    let blocks = (most + 13 + length_len) / block_len + 1;
    let mut kept = Zeroizing::new([0_u8; MAX_DIGEST]);
    let mut block = Zeroizing::new([0_u8; MAX_BLOCK]);
    for number in public / block_len..blocks {
        let is_last = same(number, last_block) as u8;
        for (i, byte) in block[..block_len as usize].iter_mut().enumerate() {
            let position = number * block_len + i as u32;
            let text = match position {
                0..13 => head[position as usize],
                _ => record.get(position as usize - 13).copied().unwrap_or(0),
            };
            *byte = (text & less(position, end) as u8) | (0x80 & same(position, end) as u8);
        }
        let tail = block_len as usize - 8;
        for (byte, bits) in block[tail..block_len as usize].iter_mut().zip(bits) {
            *byte |= bits & is_last;
        }
        state.words.compress(cpu, block_len as usize, &block[..block_len as usize]);
        let mut words = Zeroizing::new([0_u8; MAX_DIGEST]);
        state.words.write(&mut words[..]);
        for (kept, word) in kept.iter_mut().zip(words.iter()) {
            *kept |= word & is_last;
        }
    }
    digest[..mac_len as usize].copy_from_slice(&kept[..mac_len as usize]);
}
