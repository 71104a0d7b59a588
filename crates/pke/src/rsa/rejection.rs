//! Implicit rejection (draft-irtf-cfrg-rsa-guidance): a badly padded ciphertext opens to a message
//! that depends on the key and the ciphertext only, of a length that any message could have. Who
//! sends such ciphertexts learns nothing from the answers (Bleichenbacher's attack).

use zeroize::Zeroizing;

use super::padding::{mask_less, pkcs1_scan, select};
use crate::hash::{Hmac, hmac};
use crate::{Hash, OpError};

/// PRF(key, label, length) of the draft: HMAC-SHA-256 in counter mode.
fn fill(hmac: &mut Hmac, label: &[u8], out: &mut [u8]) {
    let bits = ((out.len() * 8) as u16).to_be_bytes();
    for (counter, chunk) in (0u16..).zip(out.chunks_mut(32)) {
        let block = hmac.tag(&[&counter.to_be_bytes(), label, &bits]);
        chunk.copy_from_slice(&block[..chunk.len()]);
    }
}

/// The message in `block`, or the one that stands for a bad padding: the last bytes of what is
/// returned, which is as long as the block, and their number. `secret` is SHA-256 of d.
///
/// In constant time up to the number, which tells nothing of the padding.
pub(super) fn message(
    secret: &[u8],
    ciphertext: &[u8],
    block: &[u8],
) -> Result<(Zeroizing<Vec<u8>>, usize), OpError> {
    let k = block.len();
    let key = hmac(Hash::Sha256, secret)?.tag(&[ciphertext]);
    let mut hmac = hmac(Hash::Sha256, &key)?;

    // The last of 128 candidates for a length that is short enough. 0, the message of no bytes,
    // if none is: no more likely than 2^-128.
    let mut candidates = Zeroizing::new([0; 256]);
    fill(&mut hmac, b"length", &mut *candidates);
    let limit = k - 2 - 8;
    let bits = usize::MAX >> limit.leading_zeros();
    let mut substitute_len = 0;
    for pair in candidates.chunks(2) {
        let candidate = (usize::from(pair[0]) << 8 | usize::from(pair[1])) & bits;
        substitute_len = select(mask_less(candidate, limit), candidate, substitute_len);
    }
    let mut message = Zeroizing::new(vec![0; k]);
    fill(&mut hmac, b"message", &mut message);

    let (good, zero) = pkcs1_scan(block);
    for (byte, &decrypted) in message.iter_mut().zip(block) {
        *byte = select(good, decrypted.into(), (*byte).into()) as u8;
    }
    Ok((message, select(good, k - zero - 1, substitute_len)))
}
