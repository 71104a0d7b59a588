//! The numbers of choices on the wire: the position in a list. A list only grows at its end, or [`VERSION`]
//! changes.
//!
//! [`VERSION`]: crate::VERSION

use lookaside_core::{
    Aead, Arithmetic, BadReason, ChainOrder, Checksum, Cipher, Flush, HkdfMode, Huffman, Op,
    PointStep, Sm2Role, Status,
};

use crate::Malformed;

/// The number of `value` in `list`.
pub(crate) fn of<T: PartialEq>(list: &[T], value: &T) -> Result<u8, Malformed> {
    let place = list.iter().position(|one| one == value);
    place.and_then(|n| u8::try_from(n).ok()).ok_or(Malformed::Unsendable("a choice without number"))
}

/// What has this number in `list`.
pub(crate) fn get<T: Copy>(list: &[T], n: u8, what: &'static str) -> Result<T, Malformed> {
    list.get(usize::from(n)).copied().ok_or(Malformed::Number(what))
}

pub(crate) fn op(n: u8) -> Result<Op, Malformed> {
    get(&Op::ALL, n, "operation")
}

pub(crate) const FLUSHES: [Flush; 4] = [Flush::None, Flush::Sync, Flush::Full, Flush::Finish];
pub(crate) const HUFFMAN: [Huffman; 2] = [Huffman::Dynamic, Huffman::Static];
pub(crate) const CHECKSUMS: [Checksum; 5] =
    [Checksum::None, Checksum::Crc32, Checksum::Adler32, Checksum::Xxh32, Checksum::Xxh64];
pub(crate) const STATUSES: [Status; 3] = [Status::Complete, Status::Overflow, Status::End];
pub(crate) const REASONS: [BadReason; 7] = [
    BadReason::Truncated,
    BadReason::Header,
    BadReason::Block,
    BadReason::Checksum,
    BadReason::Length,
    BadReason::Dictionary,
    BadReason::Window,
];
pub(crate) const HKDF: [HkdfMode; 4] =
    [HkdfMode::ExtractAndExpand, HkdfMode::Extract, HkdfMode::Expand, HkdfMode::ExpandLabel];
pub(crate) const ARITHMETIC: [Arithmetic; 7] = [
    Arithmetic::Add,
    Arithmetic::Subtract,
    Arithmetic::Multiply,
    Arithmetic::Square,
    Arithmetic::Reduce,
    Arithmetic::Invert,
    Arithmetic::Power,
];
pub(crate) const POINT: [PointStep; 5] = [
    PointStep::Multiply,
    PointStep::MultiplyGenerator,
    PointStep::Add,
    PointStep::Double,
    PointStep::Verify,
];
pub(crate) const SM2: [Sm2Role; 2] = [Sm2Role::Initiator, Sm2Role::Responder];
pub(crate) const ORDERS: [ChainOrder; 2] = [ChainOrder::CipherThenAuth, ChainOrder::AuthThenCipher];
pub(crate) const AEADS: [Aead; 3] = [Aead::AesGcm, Aead::AesCcm, Aead::ChaCha20Poly1305];
pub(crate) const CIPHERS: [Cipher; 18] = [
    Cipher::Null,
    Cipher::Arc4,
    Cipher::AesEcb,
    Cipher::AesCbc,
    Cipher::AesCtr,
    Cipher::AesXts,
    Cipher::DesEcb,
    Cipher::DesCbc,
    Cipher::TripleDesEcb,
    Cipher::TripleDesCbc,
    Cipher::TripleDesCtr,
    Cipher::KasumiF8,
    Cipher::Snow3gUea2,
    Cipher::ZucEea3,
    Cipher::ChaCha20,
    Cipher::Sm4Ecb,
    Cipher::Sm4Cbc,
    Cipher::Sm4Ctr,
];
