//! Packets that are TLS records: [`crate::tls`] with a cipher and a hash.

use crate::library::aws_lc::cleanse;
use crate::library::aws_lc_hash;
use crate::tls::{HEADER, Mac};
use crate::{Direction, OpError, Span, Text};

use super::hash::{HashState, MAX_DIGEST, Words};
use super::regions::{read, region, wipe, write};
use super::{auth, cipher};

/// The keys of a record.
pub(crate) struct Key {
    /// AES-CBC.
    pub(crate) cipher: cipher::Key,
    /// HMAC.
    pub(crate) auth: auth::Key,
}

/// Seals or opens a record.
pub(crate) fn record(
    key: &Key,
    direction: Direction,
    iv: &[u8],
    text: &mut Text<'_>,
    aad: Span,
    span: Span,
) -> Result<usize, OpError> {
    let mut header = [0; HEADER];
    header.copy_from_slice(read(text, aad));
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

fn nested(key: &auth::Key) -> Result<(&HashState, &HashState), OpError> {
    match key.kind() {
        auth::Kind::Nested(nested) => Ok((&nested.inner, &nested.outer)),
        _ => Err(OpError::Unsupported),
    }
}

fn seal(
    key: &Key,
    iv: &[u8],
    text: &mut Text<'_>,
    header: &[u8; HEADER],
    span: Span,
) -> Result<usize, OpError> {
    let len = span.len as usize;
    let cpu = key.auth.cpu();
    let (inner, outer) = nested(&key.auth)?;
    let mac_len = inner.hash.len();
    let mut state = inner.clone();
    state.update(cpu, &header[..HEADER - 2]);
    state.update(cpu, &(span.len as u16).to_be_bytes());

    cipher::copy(&mut region(text, span));
    let sealed = (len + mac_len) / 16 * 16 + 16;
    let record = write(text, Span { len: sealed as u32, ..span });
    let mut iv: [u8; 16] = iv.try_into().map_err(|_| OpError::BadInput("the length of the IV"))?;
    // What fills the hash's block, then as much of both as goes together.
    let first = len.min(inner.hash.block_len() - state.buffered);
    state.update(cpu, &record[..first]);
    let both = key.cipher.hash_and_encrypt(&mut iv, &mut record[..len], first, &mut state.words);
    state.length += both as u64;
    state.update(cpu, &record[first + both..len]);

    let mut digest = [0; MAX_DIGEST];
    state.finish(cpu, &mut digest[..mac_len]);
    outer.whole(cpu, &digest[..mac_len], &mut record[len..len + mac_len]);
    cleanse(&mut digest);
    let padding = sealed - len - mac_len;
    record[len + mac_len..].fill((padding - 1) as u8);
    let rest = &mut Text::InPlace(&mut record[both..]);
    key.cipher.process(&mut key.cipher.begin(&iv), Direction::Seal, rest);
    Ok(sealed)
}

fn open(
    key: &Key,
    iv: &[u8],
    text: &mut Text<'_>,
    header: &[u8; HEADER],
    span: Span,
) -> Result<usize, OpError> {
    let (inner, outer) = nested(&key.auth)?;
    let mut state = key.cipher.begin(iv);
    key.cipher.process(&mut state, Direction::Open, &mut region(text, span));
    let record = write(text, span);
    match (&inner.words, &outer.words) {
        (Words::Sha1(inner), Words::Sha1(outer)) => {
            Mac { inner, outer, compress: aws_lc_hash::sha1 }.open(header, record)
        }
        (Words::Sha256(inner), Words::Sha256(outer)) => {
            Mac { inner, outer, compress: aws_lc_hash::sha256 }.open(header, record)
        }
        (Words::Sha512(inner), Words::Sha512(outer)) => {
            Mac { inner, outer, compress: aws_lc_hash::sha512 }.open(header, record)
        }
        _ => Err(OpError::Unsupported),
    }
}
