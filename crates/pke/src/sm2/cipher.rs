//! Public-key encryption (GB/T 32918.4).

use lookaside_simd::Cpu;
use zeroize::Zeroizing;

use super::{LEN, POINT_LEN, Parts, Point, xor_derived};
use crate::batch::room;
use crate::ec::group::Group;
use crate::hash::equal;
use crate::library::openssl::sm3;
use crate::weierstrass::named::private_key;
use crate::{Item, OpError};

/// How a ciphertext is written: the point C1 = k G, the digest C3 and the masked message C2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// C1 (65 bytes) || C3 (32) || C2, the order of the edition of 2016.
    Raw,
    /// DER of `SEQUENCE { x INTEGER, y INTEGER, C3 OCTET STRING, C2 OCTET STRING }`
    /// (GB/T 35276), what OpenSSL writes and reads.
    Der,
}

const SHORT: OpError = OpError::BadInput("the source is too short");

impl Form {
    /// The most bytes of a ciphertext of a message of `len` bytes. In [`Form::Der`] a ciphertext
    /// may be shorter, by how the random point falls.
    pub fn most_len(self, len: usize) -> usize {
        let whole = |len: usize| len.saturating_add(header_len(len));
        match self {
            Form::Raw => len.saturating_add(POINT_LEN + LEN),
            Form::Der => whole(whole(len).saturating_add(2 * whole(1 + LEN) + whole(LEN))),
        }
    }
}

/// Encrypts: `src` = point || message (one byte at least), `dst` = ciphertext in the given form.
///
/// [`OpError::DstTooSmall`] without room for [`Form::most_len`]: whether a request is served must not
/// hang on the random point.
///
/// With a random k and (x, y) = k P: C2 is the message xor KDF(x || y), C3 = SM3(x || message || y).
pub fn encrypt(cpu: &Cpu, form: Form, items: &mut [Item<'_>]) {
    let _ = cpu;
    for item in items {
        item.run(|src, dst| {
            let (point, message) = src.split_at_checked(POINT_LEN).ok_or(SHORT)?;
            if message.is_empty() {
                return Err(OpError::BadInput("an empty message"));
            }
            room(dst, form.most_len(message.len()))?;
            encrypt_one(form, point, message, dst)
        });
    }
}

fn encrypt_one(form: Form, point: &[u8], message: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
    let parts = Parts::of()?;
    let mut k = Zeroizing::new([0; LEN]);
    let mut shared: Zeroizing<Point> = Zeroizing::new([0; POINT_LEN]);
    let mut c1: Point = [0; POINT_LEN];
    loop {
        parts.draw(&mut *k, &mut c1)?;
        parts.group.multiply(&*k, point, &mut *shared)?;
        let (x, y) = shared[1..].split_at(LEN);
        let c3 = sm3(&[x, message, y])?;
        let (len, c2) = match form {
            Form::Raw => {
                let dst = room(dst, POINT_LEN + LEN + message.len())?;
                let len = dst.len();
                let (head, c2) = dst.split_at_mut(POINT_LEN + LEN);
                head[..POINT_LEN].copy_from_slice(&c1);
                head[POINT_LEN..].copy_from_slice(&c3);
                (len, c2)
            }
            Form::Der => der_parts(&c1, &c3, message.len(), dst)?,
        };
        c2.copy_from_slice(message);
        if !xor_derived([x, y, &[], &[]], c2)? {
            return Ok(len);
        }
        // The mask is zero throughout, once in 256 messages of a byte: C2 would be the message.
    }
}

/// Decrypts: `src` = private || ciphertext in the given form, `dst` = message.
///
/// [`OpError::AuthFailed`] where C3 does not fit, [`OpError::BadInput`] where C1 is not on the curve.
pub fn decrypt(cpu: &Cpu, form: Form, items: &mut [Item<'_>]) {
    let _ = cpu;
    for item in items {
        item.run(|src, dst| {
            let (private, ciphertext) = src.split_at_checked(LEN).ok_or(SHORT)?;
            let mut c1: Point = [4; POINT_LEN];
            let (c3, c2) = match form {
                Form::Raw => {
                    let (head, rest) = ciphertext.split_at_checked(POINT_LEN).ok_or(SHORT)?;
                    c1.copy_from_slice(head);
                    rest.split_at_checked(LEN).ok_or(SHORT)?
                }
                Form::Der => read_der(ciphertext, &mut c1).ok_or(BAD_DER)?,
            };
            if c2.is_empty() {
                return Err(OpError::BadInput("an empty message"));
            }
            decrypt_one(private, &c1, c3, c2, room(dst, c2.len())?)
        });
    }
}

fn decrypt_one(
    private: &[u8],
    c1: &Point,
    c3: &[u8],
    c2: &[u8],
    message: &mut [u8],
) -> Result<usize, OpError> {
    let parts = Parts::of()?;
    let mut shared: Zeroizing<Point> = Zeroizing::new([0; POINT_LEN]);
    parts.group.multiply(private_key(parts, private)?, c1, &mut *shared)?;
    let (x, y) = shared[1..].split_at(LEN);
    message.copy_from_slice(c2);
    let zero = xor_derived([x, y, &[], &[]], message)?;
    let digest = Zeroizing::new(sm3(&[x, message, y])?);
    if zero || !equal(&*digest, c3) { Err(OpError::AuthFailed) } else { Ok(message.len()) }
}

const BAD_DER: OpError = OpError::BadInput("not the DER of an SM2 ciphertext");

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;

/// Bytes of the header of an element of `len` bytes.
fn header_len(len: usize) -> usize {
    match len {
        0..0x80 => 2,
        _ => 2 + (usize::BITS - len.leading_zeros()).div_ceil(8) as usize,
    }
}

/// Writes the header of an element and returns what is behind it.
fn header(out: &mut [u8], tag: u8, len: usize) -> &mut [u8] {
    let (header, rest) = out.split_at_mut(header_len(len));
    header[0] = tag;
    if let [_, short] = header {
        *short = len as u8;
    } else {
        let octets = header.len() - 2;
        header[1] = 0x80 | octets as u8;
        header[2..].copy_from_slice(&len.to_be_bytes()[size_of::<usize>() - octets..]);
    }
    rest
}

/// A coordinate as the content of an INTEGER: without leading zeros, but for the sign.
fn minimal(coordinate: &[u8]) -> (bool, &[u8]) {
    let zeros = coordinate.iter().take_while(|&&byte| byte == 0).count();
    let digits = &coordinate[zeros.min(coordinate.len() - 1)..];
    (digits[0] >= 0x80, digits)
}

/// Writes all but C2. The length of all, and where C2 goes.
fn der_parts<'a>(
    c1: &Point,
    c3: &[u8; LEN],
    c2_len: usize,
    dst: &'a mut [u8],
) -> Result<(usize, &'a mut [u8]), OpError> {
    let coordinates = [minimal(&c1[1..1 + LEN]), minimal(&c1[1 + LEN..])];
    let element = |len: usize| header_len(len) + len;
    let integers = coordinates.map(|(sign, digits)| element(usize::from(sign) + digits.len()));
    let content = integers[0] + integers[1] + element(LEN) + element(c2_len);
    let all = room(dst, element(content))?;
    let len = all.len();
    let mut rest = header(all, SEQUENCE, content);
    for (sign, digits) in coordinates {
        rest = header(rest, INTEGER, usize::from(sign) + digits.len());
        if sign {
            rest[0] = 0;
            rest = &mut rest[1..];
        }
        let (place, behind) = rest.split_at_mut(digits.len());
        place.copy_from_slice(digits);
        rest = behind;
    }
    let (place, behind) = header(rest, OCTET_STRING, LEN).split_at_mut(LEN);
    place.copy_from_slice(c3);
    Ok((len, header(behind, OCTET_STRING, c2_len)))
}

/// Takes an element of this tag off the front of `input`: its content. Strict DER.
fn element<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (&[first, short], rest) = input.split_first_chunk::<2>()?;
    let (len, rest) = if short < 0x80 {
        (usize::from(short), rest)
    } else {
        let (octets, rest) = rest.split_at_checked(usize::from(short & 0x7f))?;
        if octets.is_empty() || octets.len() > size_of::<usize>() || octets[0] == 0 {
            return None;
        }
        let len = octets.iter().fold(0, |len, &octet| len << 8 | usize::from(octet));
        (len, rest)
    };
    if first != tag || (len < 0x80) != (short < 0x80) {
        return None;
    }
    let (content, rest) = rest.split_at_checked(len)?;
    *input = rest;
    Some(content)
}

/// Reads the coordinates into `c1`, whose first byte is there; returns C3 and C2.
fn read_der<'a>(mut input: &'a [u8], c1: &mut Point) -> Option<(&'a [u8], &'a [u8])> {
    let input = &mut input;
    let content = &mut element(input, SEQUENCE)?;
    for place in c1[1..].chunks_exact_mut(LEN) {
        let integer = element(content, INTEGER)?;
        let digits = match integer {
            [0, high, ..] if *high < 0x80 => return None,
            [0, digits @ ..] if !digits.is_empty() => digits,
            [high, ..] if *high >= 0x80 => return None,
            [] => return None,
            digits => digits,
        };
        let start = LEN.checked_sub(digits.len())?;
        place[..start].fill(0);
        place[start..].copy_from_slice(digits);
    }
    let c3 = element(content, OCTET_STRING)?;
    let c2 = element(content, OCTET_STRING)?;
    (input.is_empty() && content.is_empty() && c3.len() == LEN).then_some((c3, c2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn der_round_trips_at_every_length_of_length() {
        for (x, y) in [(0x00, 0x80), (0x7f, 0x01), (0xff, 0x00)] {
            for len in [1, 10, 40, 127, 128, 255, 256, 300, 65_535, 65_536] {
                let mut c1 = [x; POINT_LEN];
                (c1[0], c1[POINT_LEN - 1]) = (4, y);
                let mut dst = vec![0; len + 117];
                let (written, c2) = der_parts(&c1, &[9; LEN], len, &mut dst).unwrap();
                c2.fill(7);
                assert_eq!(c2.len(), len);
                let mut back = [4; POINT_LEN];
                let (c3, c2) = read_der(&dst[..written], &mut back).unwrap();
                assert!(back == c1 && c3 == [9; LEN] && c2 == vec![7; len], "{x} {y} {len}");
                assert!(read_der(&dst[..written - 1], &mut back).is_none());
                assert!(read_der(&dst[..written + 1], &mut back).is_none());
                assert!(der_parts(&c1, &[9; LEN], len, &mut dst[..written - 1]).is_err());
            }
        }
    }

    #[test]
    fn der_that_is_not_minimal_is_refused() {
        let mut c1 = [1; POINT_LEN];
        c1[0] = 4;
        let mut dst = vec![0; 200];
        let (len, _) = der_parts(&c1, &[9; LEN], 4, &mut dst).unwrap();
        dst.truncate(len);
        let mut back = [4; POINT_LEN];
        assert!(read_der(&dst, &mut back).is_some());
        // The sequence's length in the long form, which it is too short for.
        let mut long = vec![SEQUENCE, 0x81, dst[1]];
        long.extend(&dst[2..]);
        assert!(read_der(&long, &mut back).is_none());
        // A zero in front of x.
        let mut padded = vec![SEQUENCE, dst[1] + 1, INTEGER, 33, 0];
        padded.extend(&dst[4..]);
        assert!(read_der(&padded, &mut back).is_none());
        // A negative x.
        dst[4] |= 0x80;
        assert!(read_der(&dst, &mut back).is_none());
    }
}
