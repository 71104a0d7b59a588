//! Not measured: lanes wherever there are some, from two packets on.

#[allow(unused_imports, reason = "not every table names all")]
use super::By::{IpsecMb, Own, Single};
use super::{ANY, Algorithm, Class, Row};
use crate::{Aead, Auth, Cipher, Hash};

pub(super) const TABLE: &[Row] = &[
    Row {
        algorithm: Algorithm::Aead(Aead::AesGcm),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Aead(Aead::AesCcm),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Aead(Aead::ChaCha20Poly1305),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::AesEcb),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::AesCbc),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::AesCtr),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::DesEcb),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::DesCbc),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::TripleDesEcb),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::TripleDesCbc),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::TripleDesCtr),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::ChaCha20),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::Arc4),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::Sm4Ecb),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::Sm4Cbc),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::Sm4Ctr),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::KasumiF8),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::Snow3gUea2),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::ZucEea3),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Plain(Hash::Md5)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Hmac(Hash::Md5)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Plain(Hash::Sha1)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Hmac(Hash::Sha1)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Plain(Hash::Sha256)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Hmac(Hash::Sha256)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Plain(Hash::Sha512)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Hmac(Hash::Sha512)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Plain(Hash::Sha3_256)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Hmac(Hash::Sha3_256)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Plain(Hash::Sha3_512)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Hmac(Hash::Sha3_512)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Plain(Hash::Sm3)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Hmac(Hash::Sm3)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::AesXcbc),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::AesCbcMac),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::AesCmac),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::AesGmac),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Poly1305),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::KasumiF9),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Snow3gUia2),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::ZucEia3),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCbc, Auth::Hmac(Hash::Md5)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCbc, Auth::Hmac(Hash::Sha1)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCbc, Auth::Hmac(Hash::Sha256)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCbc, Auth::Hmac(Hash::Sha512)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCtr, Auth::Hmac(Hash::Md5)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCtr, Auth::Hmac(Hash::Sha1)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCtr, Auth::Hmac(Hash::Sha256)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCtr, Auth::Hmac(Hash::Sha512)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::TripleDesCbc, Auth::Hmac(Hash::Md5)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::TripleDesCbc, Auth::Hmac(Hash::Sha1)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::TripleDesCbc, Auth::Hmac(Hash::Sha256)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::TripleDesCbc, Auth::Hmac(Hash::Sha512)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
];
