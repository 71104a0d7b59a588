//! Implicit rejection (draft-irtf-cfrg-rsa-guidance): a badly padded ciphertext opens to a message
//! that depends on the key and the ciphertext only, of a length that any message could have. Who
//! sends such ciphertexts learns nothing from the answers (Bleichenbacher's attack).

use zeroize::Zeroizing;

use super::padding::{mask_less, pkcs1_scan, select};
use crate::hash::{Hmac, hmac};
use crate::{Hash, OpError};

/// PRF(key, label, len) of the draft: HMAC-SHA-256 in counter mode. `each` gets its bytes.
fn fill(hmac: &mut Hmac<'_>, label: &[u8], out: &mut [u8], each: impl Fn(&mut u8, u8)) {
    let bits = ((out.len() * 8) as u16).to_be_bytes();
    for (counter, chunk) in (0u16..).zip(out.chunks_mut(32)) {
        let tag = hmac.tag(&[&counter.to_be_bytes(), label, &bits]);
        chunk.iter_mut().zip(&*tag).for_each(|(byte, &drawn)| each(byte, drawn));
    }
}

/// Leaves the message in `block`, or the one that stands for a bad padding, as the block's last
/// bytes, and returns their number. `secret` is SHA-256 of d.
///
/// In constant time up to the number, which tells nothing of the padding.
pub(super) fn message(
    secret: &[u8],
    ciphertext: &[u8],
    block: &mut [u8],
) -> Result<usize, OpError> {
    let key = hmac(Hash::Sha256, secret, |hmac| hmac.tag(&[ciphertext]))?;
    hmac(Hash::Sha256, &key, |hmac| {
        // The last of 128 candidates for a length that is short enough. 0, the message of no bytes,
        // if none is: no more likely than 2^-128.
        let mut candidates = Zeroizing::new([0; 256]);
        fill(hmac, b"length", &mut *candidates, |byte, drawn| *byte = drawn);
        let limit = block.len() - 2 - 8;
        let bits = usize::MAX >> limit.leading_zeros();
        let mut substitute_len = 0;
        for pair in candidates.chunks(2) {
            let candidate = (usize::from(pair[0]) << 8 | usize::from(pair[1])) & bits;
            substitute_len = select(mask_less(candidate, limit), candidate, substitute_len);
        }

        let (good, zero) = pkcs1_scan(block);
        fill(hmac, b"message", block, |byte, drawn| {
            *byte = select(good, (*byte).into(), drawn.into()) as u8;
        });
        select(good, block.len() - zero - 1, substitute_len)
    })
}
