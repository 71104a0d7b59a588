//! Written by `make tune`: 2026-11-28, Intel Xeon (family 6, model 85), Cascade Lake.

#[allow(unused_imports, reason = "not every table names all")]
use super::By::{IpsecMb, Own, Single};
use super::{ANY, Algorithm, Class, Row};
use crate::{Aead, Auth, Cipher, Hash};

pub(super) const TABLE: &[Row] = &[
    Row {
        algorithm: Algorithm::Aead(Aead::AesGcm),
        seal: &[Class(128, Own, 1), Class(ANY, IpsecMb, 1)],
        open: &[Class(512, Own, 1), Class(ANY, IpsecMb, 1)],
    },
    Row {
        algorithm: Algorithm::Aead(Aead::AesCcm),
        seal: &[Class(8192, Own, 2), Class(ANY, Own, 1)],
        open: &[Class(8192, Own, 2), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Aead(Aead::ChaCha20Poly1305),
        seal: &[Class(128, Own, 4), Class(512, Own, 3), Class(2048, Own, 2), Class(ANY, Own, 1)],
        open: &[Class(512, Own, 8), Class(2048, Own, 2), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::AesEcb),
        seal: &[Class(ANY, Own, 1)],
        open: &[Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::AesCbc),
        seal: &[Class(32, Own, 6), Class(128, IpsecMb, 6), Class(512, Own, 3), Class(ANY, Own, 2)],
        open: &[Class(2048, IpsecMb, 2), Class(ANY, IpsecMb, 1)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::AesCtr),
        seal: &[Class(ANY, Own, 1)],
        open: &[Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::DesEcb),
        seal: &[Class(32, Own, 6), Class(2048, Own, 2), Class(8192, Own, 1), Class(ANY, Own, 32)],
        open: &[Class(32, Own, 6), Class(8192, Own, 2), Class(ANY, Own, 32)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::DesCbc),
        seal: &[Class(2048, Own, 8), Class(ANY, Own, 6)],
        open: &[Class(32, Own, 4), Class(512, Own, 2), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::TripleDesEcb),
        seal: &[Class(32, Own, 3), Class(128, Own, 1), Class(512, Own, 2), Class(ANY, Own, 1)],
        open: &[Class(32, Own, 3), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::TripleDesCbc),
        seal: &[Class(ANY, Own, 6)],
        open: &[Class(32, Own, 3), Class(512, Own, 2), Class(8192, Own, 1), Class(ANY, Own, 6)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::TripleDesCtr),
        seal: &[Class(32, Own, 4), Class(128, Own, 2), Class(ANY, Own, 1)],
        open: &[Class(32, Own, 3), Class(512, Own, 2), Class(2048, Own, 12), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::ChaCha20),
        seal: &[Class(128, Own, 3), Class(512, Own, 2), Class(ANY, Own, 1)],
        open: &[Class(128, Own, 3), Class(512, Own, 2), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::Arc4),
        seal: &[
            Class(32, Single, 1),
            Class(128, Own, 32),
            Class(512, Own, 16),
            Class(2048, Own, 12),
            Class(8192, Own, 3),
            Class(ANY, Own, 1),
        ],
        open: &[
            Class(32, Single, 1),
            Class(128, Own, 32),
            Class(512, Own, 16),
            Class(2048, Own, 8),
            Class(8192, Own, 3),
            Class(ANY, Own, 1),
        ],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::Sm4Ecb),
        seal: &[
            Class(512, Own, 2),
            Class(2048, Single, 1),
            Class(8192, Own, 8),
            Class(ANY, Single, 1),
        ],
        open: &[Class(512, Own, 2), Class(2048, Own, 16), Class(ANY, Single, 1)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::Sm4Cbc),
        seal: &[Class(32, Own, 2), Class(ANY, Own, 1)],
        open: &[Class(512, Own, 2), Class(2048, Own, 8), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::Sm4Ctr),
        seal: &[
            Class(128, Own, 2),
            Class(512, Own, 24),
            Class(8192, Single, 1),
            Class(ANY, Own, 1),
        ],
        open: &[
            Class(512, Own, 2),
            Class(2048, Own, 4),
            Class(8192, Single, 1),
            Class(ANY, Own, 1),
        ],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::KasumiF8),
        seal: &[Class(32, Own, 1), Class(2048, Own, 2), Class(ANY, Own, 1)],
        open: &[Class(128, Own, 2), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::Snow3gUea2),
        seal: &[
            Class(128, IpsecMb, 8),
            Class(512, IpsecMb, 6),
            Class(2048, IpsecMb, 8),
            Class(ANY, IpsecMb, 6),
        ],
        open: &[
            Class(128, IpsecMb, 8),
            Class(512, IpsecMb, 6),
            Class(2048, IpsecMb, 8),
            Class(8192, IpsecMb, 6),
            Class(ANY, IpsecMb, 4),
        ],
    },
    Row {
        algorithm: Algorithm::Cipher(Cipher::ZucEea3),
        seal: &[Class(128, IpsecMb, 3), Class(ANY, IpsecMb, 2)],
        open: &[Class(32, IpsecMb, 3), Class(ANY, IpsecMb, 2)],
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
        seal: &[Class(ANY, Own, 3)],
        open: &[Class(ANY, Own, 3)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Hmac(Hash::Sha1)),
        seal: &[Class(ANY, Own, 3)],
        open: &[Class(ANY, Own, 3)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Plain(Hash::Sha256)),
        seal: &[Class(ANY, Own, 6)],
        open: &[Class(ANY, Own, 6)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Hmac(Hash::Sha256)),
        seal: &[Class(ANY, Own, 6)],
        open: &[Class(ANY, Own, 6)],
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
        seal: &[Class(128, Own, 2), Class(ANY, Own, 1)],
        open: &[Class(128, Own, 2), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Hmac(Hash::Sha3_256)),
        seal: &[Class(ANY, Own, 1)],
        open: &[Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Plain(Hash::Sha3_512)),
        seal: &[Class(512, Own, 2), Class(ANY, Own, 1)],
        open: &[Class(512, Own, 2), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Hmac(Hash::Sha3_512)),
        seal: &[Class(ANY, Own, 1)],
        open: &[Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Plain(Hash::Sm3)),
        seal: &[Class(32, Own, 2), Class(ANY, Own, 1)],
        open: &[Class(32, Own, 2), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Hmac(Hash::Sm3)),
        seal: &[Class(ANY, Own, 1)],
        open: &[Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::AesXcbc),
        seal: &[Class(32, Own, 4), Class(512, Own, 3), Class(8192, Own, 2), Class(ANY, Own, 1)],
        open: &[Class(32, Own, 4), Class(512, Own, 3), Class(8192, Own, 2), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::AesCbcMac),
        seal: &[
            Class(32, Own, 6),
            Class(128, Own, 4),
            Class(512, Own, 3),
            Class(2048, Own, 2),
            Class(ANY, Own, 1),
        ],
        open: &[
            Class(32, Own, 6),
            Class(128, Own, 4),
            Class(512, Own, 3),
            Class(2048, Own, 2),
            Class(ANY, Own, 1),
        ],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::AesCmac),
        seal: &[Class(32, Own, 3), Class(8192, Own, 2), Class(ANY, Own, 1)],
        open: &[Class(32, Own, 3), Class(8192, Own, 2), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::AesGmac),
        seal: &[Class(512, Own, 1), Class(8192, IpsecMb, 1), Class(ANY, Own, 1)],
        open: &[Class(512, Own, 1), Class(8192, IpsecMb, 1), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Poly1305),
        seal: &[
            Class(128, Single, 1),
            Class(2048, Own, 3),
            Class(8192, Own, 8),
            Class(ANY, Single, 1),
        ],
        open: &[
            Class(128, Single, 1),
            Class(2048, Own, 3),
            Class(8192, Own, 8),
            Class(ANY, Single, 1),
        ],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::KasumiF9),
        seal: &[Class(32, Own, 2), Class(128, Own, 1), Class(512, Own, 2), Class(ANY, Own, 1)],
        open: &[Class(32, Own, 2), Class(128, Own, 1), Class(512, Own, 2), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::Snow3gUia2),
        seal: &[
            Class(32, IpsecMb, 6),
            Class(128, IpsecMb, 3),
            Class(512, IpsecMb, 2),
            Class(ANY, IpsecMb, 1),
        ],
        open: &[
            Class(32, IpsecMb, 6),
            Class(128, IpsecMb, 3),
            Class(512, IpsecMb, 2),
            Class(ANY, IpsecMb, 1),
        ],
    },
    Row {
        algorithm: Algorithm::Auth(Auth::ZucEia3),
        seal: &[Class(8192, IpsecMb, 2), Class(ANY, Single, 1)],
        open: &[Class(8192, IpsecMb, 2), Class(ANY, Single, 1)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCbc, Auth::Hmac(Hash::Md5)),
        seal: &[Class(32, IpsecMb, 2), Class(ANY, Own, 2)],
        open: &[Class(512, IpsecMb, 2), Class(2048, Own, 2), Class(ANY, IpsecMb, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCbc, Auth::Hmac(Hash::Sha1)),
        seal: &[Class(8192, Own, 3), Class(ANY, IpsecMb, 3)],
        open: &[Class(32, IpsecMb, 2), Class(ANY, IpsecMb, 3)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCbc, Auth::Hmac(Hash::Sha256)),
        seal: &[
            Class(32, Own, 6),
            Class(128, IpsecMb, 6),
            Class(8192, Own, 6),
            Class(ANY, IpsecMb, 6),
        ],
        open: &[Class(512, IpsecMb, 6), Class(2048, Own, 6), Class(ANY, IpsecMb, 6)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCbc, Auth::Hmac(Hash::Sha512)),
        seal: &[Class(8192, Own, 2), Class(ANY, IpsecMb, 2)],
        open: &[Class(ANY, IpsecMb, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCtr, Auth::Hmac(Hash::Md5)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCtr, Auth::Hmac(Hash::Sha1)),
        seal: &[Class(ANY, Own, 3)],
        open: &[Class(ANY, Own, 3)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCtr, Auth::Hmac(Hash::Sha256)),
        seal: &[Class(ANY, Own, 6)],
        open: &[Class(ANY, Own, 6)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::AesCtr, Auth::Hmac(Hash::Sha512)),
        seal: &[Class(ANY, Own, 2)],
        open: &[Class(ANY, Own, 2)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::TripleDesCbc, Auth::Hmac(Hash::Md5)),
        seal: &[Class(ANY, Own, 6)],
        open: &[Class(32, Own, 3), Class(8192, Own, 2), Class(ANY, Own, 1)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::TripleDesCbc, Auth::Hmac(Hash::Sha1)),
        seal: &[Class(ANY, Own, 6)],
        open: &[Class(32, Own, 3), Class(128, Own, 2), Class(8192, Own, 3), Class(ANY, Own, 32)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::TripleDesCbc, Auth::Hmac(Hash::Sha256)),
        seal: &[Class(ANY, Own, 6)],
        open: &[Class(32, Own, 6), Class(128, Own, 2), Class(ANY, Own, 6)],
    },
    Row {
        algorithm: Algorithm::Chain(Cipher::TripleDesCbc, Auth::Hmac(Hash::Sha512)),
        seal: &[Class(32, Own, 2), Class(ANY, Own, 6)],
        open: &[Class(ANY, Own, 2)],
    },
];
