//! TLS multi-block: four or eight records of one write, sealed side by side. libssl (3.0) asks for
//! it when a program writes four records' worth or more at once; one request has all of them.
//!
//! The shares and the order of the bytes are OpenSSL's, which libssl sizes its buffer by.

use zeroize::Zeroizing;

use super::{
    aead::{self, TLS_AAD},
    cbc_hmac::{BLOCK, CbcHmac},
};
use crate::{
    dispatch::symcipher::Text,
    error::{Error, Reason, Result},
    library,
    provider::Provider,
};

/// A record's header: type, version, length.
const HEADER: usize = 5;
/// What comes before a record's payload.
const BEFORE: usize = HEADER + BLOCK;

/// What libssl has said, and what it was answered.
#[derive(Clone, Default)]
pub struct Multiblock {
    /// The longest payload of one record.
    pub fragment: usize,
    /// How many records.
    pub interleave: usize,
    /// How long all of them will be.
    pub packed: usize,
    /// How long they became.
    pub written: usize,
    /// The first one's sequence number, type and version.
    aad: [u8; TLS_AAD],
}

/// The payload's length in all records but the last, and in the last.
fn shares(len: usize, records: usize) -> (usize, usize) {
    let mut share = len / records;
    let mut last = len - share * (records - 1);
    // A last record that needs a block more than the others for a few bytes gives those to them: 13
    // bytes of header and 9 of the hash's own padding go with its payload.
    if last > share && (last + 13 + 9) % 64 < records - 1 {
        share += 1;
        last -= records - 1;
    }
    (share, last)
}

impl Multiblock {
    /// The most room that one record needs.
    pub fn most(&self, cipher: &CbcHmac) -> Option<usize> {
        (self.fragment > 0).then(|| BEFORE + cipher.sealed_len(self.fragment))
    }

    /// Plans records for a text of this length.
    pub fn plan(cipher: &CbcHmac, aad: &[u8], len: usize, interleave: usize) -> Result<Multiblock> {
        let refused = |what| Err(Error::new(Reason::InvalidParameter, what));
        let aad: [u8; TLS_AAD] = aad.try_into().map_err(|_| Reason::InvalidParameter)?;
        if !cipher.seals() || u16::from_be_bytes([aad[9], aad[10]]) < 0x0302 {
            return refused("multi-block seals records of TLS 1.1 and later");
        }
        // A length of 0 says: choose by the number of records.
        let said = usize::from(u16::from_be_bytes([aad[11], aad[12]]));
        let (len, records) = match said {
            0 if matches!(interleave / 4, 1 | 2) => (len, interleave / 4 * 4),
            8192.. => (said, 8),
            4096.. => (said, 4),
            _ => return refused("too short for multi-block"),
        };
        let (share, last) = shares(len, records);
        let packed =
            (BEFORE + cipher.sealed_len(share)) * (records - 1) + BEFORE + cipher.sealed_len(last);
        Ok(Multiblock { interleave: records, packed, aad, ..cipher.multiblock().clone() })
    }

    /// Seals the records. Returns how long all of them are.
    pub fn seal(
        cipher: &mut CbcHmac,
        provider: &Provider,
        text: &mut Text,
        interleave: usize,
    ) -> Result<usize> {
        let records = interleave / 4 * 4;
        if !matches!(records, 4 | 8) || text.len() < records * 64 {
            return Err(Error::new(Reason::InvalidParameter, "multi-block"));
        }
        let aad = cipher.multiblock().aad;
        let (share, last) = shares(text.len(), records);
        let step = BEFORE + cipher.sealed_len(share);
        let whole = step * (records - 1) + BEFORE + cipher.sealed_len(last);
        let mut ivs = Zeroizing::new(vec![0; records * BLOCK]);
        library::random(provider, &mut ivs)?;
        let (src, dst) = text.apart(whole)?;
        let number = aad.first_chunk().map_or(0, |number| u64::from_be_bytes(*number));
        let mut packets = Vec::with_capacity(records);
        for (i, iv) in ivs.as_chunks().0.iter().enumerate() {
            let payload = if i + 1 == records { last } else { share };
            let place = i * step;
            let record = &mut dst[place..];
            // What is authenticated of a header goes right before the payload, where the IV is later.
            let head = &mut record[BEFORE - TLS_AAD..BEFORE];
            head[..8].copy_from_slice(&number.wrapping_add(i as u64).to_be_bytes());
            head[8..].copy_from_slice(&aead::with_len(aad, payload)[8..]);
            record[BEFORE..BEFORE + payload].copy_from_slice(&src[i * share..][..payload]);
            packets.push(CbcHmac::chain_packet(iv, place + BEFORE, TLS_AAD, payload));
        }
        let session = cipher.chain_session(provider)?;
        let packets = provider
            .lanes
            .run_in_place(dst, |memory| session.seal(packets, lookaside::Buf::empty(), memory))?;
        for (i, (iv, packet)) in ivs.as_chunks().0.iter().zip(&packets).enumerate() {
            packet.result?;
            let payload = if i + 1 == records { last } else { share };
            let sealed = cipher.sealed_len(payload);
            let record = &mut dst[i * step..][..BEFORE + sealed];
            cipher.seal_end(provider, &mut record[BEFORE..], iv, payload)?;
            finish(record, &aad, iv);
        }
        Ok(whole)
    }
}

/// Writes header and IV before what is sealed.
fn finish(record: &mut [u8], aad: &[u8; TLS_AAD], iv: &[u8; BLOCK]) {
    let len = record.len() - HEADER;
    record[..3].copy_from_slice(&aad[8..11]);
    record[3..HEADER].copy_from_slice(&(len as u16).to_be_bytes());
    record[HEADER..BEFORE].copy_from_slice(iv);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        for records in [4, 8] {
            for len in 4096..70_000 {
                let (share, last) = shares(len, records);
                assert_eq!(share * (records - 1) + last, len);
                // libssl's room is for fragments of the longest kind.
                assert!(last < share + records);
            }
        }
    }
}
