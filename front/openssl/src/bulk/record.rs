//! The end of a TLS record of a CBC suite whose MAC libssl checks: libssl 3 leaves it to the cipher
//! to take padding and MAC off (RFC 5246 section 6.2.3.2; RFC 6101 section 5.2.3.2 for SSL 3.0).
//!
//! Which of the last 256 bytes are padding is secret until the MAC has been checked. So every record
//! of one length takes the same steps here, on the same addresses; only lengths of records and MACs
//! are branched on. (What depends on the padding is computed by wrapping operations: a check for
//! overflow branches.) A record with bad padding gets a MAC that nobody can have foreseen.

use core::hint::black_box;

/// The longest MAC.
pub const MAX_MAC: usize = 64;

/// All ones if `a < b`, for numbers below 2^63.
#[inline]
fn less(a: usize, b: usize) -> usize {
    let borrow = black_box(a.wrapping_sub(b)) >> (usize::BITS - 1);
    0usize.wrapping_sub(borrow)
}

#[inline]
fn at_least(a: usize, b: usize) -> usize {
    !less(a, b)
}

#[inline]
fn equal(a: usize, b: usize) -> usize {
    // a ^ b - 1 borrows only from 0.
    less(a ^ b, 1)
}

/// What a TLS version has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Padding is as short as can be, and of any bytes.
    ssl3: bool,
    /// Records begin with their IV.
    pub explicit_iv: bool,
}

impl Version {
    /// Whether only the last byte of padding counts.
    pub fn is_ssl3(self) -> bool {
        self.ssl3
    }

    /// By number. `None` for what is no version of TLS or DTLS.
    pub fn new(number: u64) -> Option<Version> {
        match number {
            0x0300 => Some(Version { ssl3: true, explicit_iv: false }),
            0x0301 => Some(Version { ssl3: false, explicit_iv: false }),
            // TLS 1.1 and 1.2; DTLS 1.0 as it was before RFC 4347, as it is, and 1.2.
            0x0302 | 0x0303 | 0x0100 | 0xfeff | 0xfefd => {
                Some(Version { ssl3: false, explicit_iv: true })
            }
            _ => None,
        }
    }
}

/// Takes padding and MAC off a decrypted record without its IV: the payload's length. The MAC goes
/// to the start of `mac`; where the padding is bad, `otherwise` does. `None` for a record that
/// anybody can see is none, and for bad padding where there is no MAC to hide it from.
pub fn open(
    version: Version,
    record: &[u8],
    block: usize,
    mac: &mut [u8],
    otherwise: &[u8; MAX_MAC],
) -> Option<usize> {
    let (len, mac_len) = (record.len(), mac.len());
    if mac_len > MAX_MAC || len < mac_len + 1 {
        return None;
    }
    let padding = usize::from(record[len - 1]);
    let mut good = at_least(len, (mac_len + 1).wrapping_add(padding));
    if version.ssl3 {
        good &= at_least(block, padding.wrapping_add(1));
    } else {
        let mut wrong = 0;
        for i in 0..len.min(256) {
            let is_padding = at_least(padding, i);
            wrong |= is_padding & (usize::from(record[len - 1 - i]) ^ padding);
        }
        good &= equal(wrong, 0);
    }
    let end = len.wrapping_sub(good & padding.wrapping_add(1));
    if mac_len == 0 {
        return (black_box(good) != 0).then_some(end);
    }
    let start = end.wrapping_sub(mac_len);
    // The MAC lies somewhere in the last 256 bytes and its own length. Bytes are sorted by their
    // place modulo its length, and then turned so that the first one comes first.
    let from = len.saturating_sub(mac_len + 256);
    let mut turned = [0u8; MAX_MAC];
    let (mut turn, mut place) = (0, 0);
    for (i, byte) in record.iter().enumerate().skip(from) {
        let inside = at_least(i, start) & less(i, end);
        turned[place] |= byte & inside as u8;
        turn |= place & equal(i, start);
        place = if place + 1 == mac_len { 0 } else { place + 1 };
    }
    for bit in 0..usize::BITS - (mac_len - 1).leading_zeros() {
        let by = (1 << bit) % mac_len;
        // Seen through, a compiler makes a branch of it.
        let yes = black_box(0u8.wrapping_sub((turn >> bit & 1) as u8));
        let before = turned;
        for i in 0..mac_len {
            let from = if i + by < mac_len { i + by } else { i + by - mac_len };
            turned[i] = before[i] ^ (before[i] ^ before[from]) & yes;
        }
    }
    let good = black_box(good) as u8;
    for (i, byte) in mac.iter_mut().enumerate() {
        *byte = otherwise[i] ^ (otherwise[i] ^ turned[i]) & good;
    }
    Some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(payload: usize, mac: usize, padding: usize) -> Vec<u8> {
        let mut record: Vec<u8> = (0..payload).map(|i| i as u8 | 0x80).collect();
        record.extend((0..mac).map(|i| i as u8 + 1));
        record.extend(core::iter::repeat_n(padding as u8, padding + 1));
        record
    }

    #[test]
    fn every_padding_and_place() {
        let tls = Version::new(0x303).unwrap();
        for mac_len in [1, 16, 20, 32, 48, 64] {
            for payload in [0, 1, 7, 300] {
                for padding in 0..256 {
                    let mut mac = vec![0; mac_len];
                    let record = record(payload, mac_len, padding);
                    let got = open(tls, &record, 16, &mut mac, &[0xee; 64]);
                    assert_eq!(got, Some(payload));
                    assert!((0..mac_len).all(|i| mac[i] == i as u8 + 1), "{mac_len} {padding}");
                    for bad in [0, padding / 2] {
                        let mut record = record.clone();
                        let last = record.len() - 1;
                        if padding > 0 {
                            record[last - padding + bad] ^= 1;
                            open(tls, &record, 16, &mut mac, &[0xee; 64]);
                            assert!(mac.iter().all(|&b| b == 0xee), "{mac_len} {padding} {bad}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_too_short() {
        let tls = Version::new(0x302).unwrap();
        assert_eq!(open(tls, &[0; 20], 16, &mut [0; 20], &[0; 64]), None);
        let mut mac = [0; 20];
        let mut record = [0; 32];
        record[31] = 200;
        // Padding beyond the record: all of it counts as payload and MAC.
        assert_eq!(open(tls, &record, 16, &mut mac, &[9; 64]), Some(12));
        assert_eq!(mac, [9; 20]);
        // Without a MAC, bad padding is an error at once.
        assert_eq!(open(tls, &record, 16, &mut [], &[0; 64]), None);
        let ssl3 = Version::new(0x300).unwrap();
        record[31] = 11;
        assert_eq!(open(ssl3, &record, 16, &mut mac, &[9; 64]), Some(0));
        record[31] = 16;
        assert_eq!(open(ssl3, &record, 16, &mut mac, &[9; 64]), Some(12));
    }
}
