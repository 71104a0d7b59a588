//! The ciphers that are offered, with the names that OpenSSL 3.0's default and legacy providers have.

use core::ffi::{CStr, c_int};

use lookaside::{Aead, Cipher, Hash};

use super::{
    block::Block, cbc_hmac::CbcHmac, ccm::Ccm, chacha20_poly1305::ChaCha20Poly1305, gcm::Gcm,
    null::Null, stream::Stream, xts::Xts,
};
use crate::{
    dispatch::symcipher::Table,
    ffi::{Dispatch, OP_CIPHER},
};

/// What the runtime is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A cipher.
    Cipher(Cipher),
    /// An AEAD.
    Aead(Aead),
    /// TLS records with HMAC and AES-CBC.
    TlsCbc(Hash),
    /// Nothing: the text stays as it is.
    Nothing,
}

/// What OpenSSL's library wants to know of a cipher beside its lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// It authenticates.
    pub aead: bool,
    /// It keeps the IV itself.
    pub custom_iv: bool,
    /// It seals TLS records by fours and eights.
    pub multiblock: bool,
    /// Its keys have parity bits: it makes them itself.
    pub random_key: bool,
}

/// One algorithm.
#[derive(Debug)]
pub struct Spec {
    /// Its place in [`SPECS`].
    pub index: usize,
    /// Its names.
    pub names: &'static CStr,
    /// What it is.
    pub what: &'static CStr,
    /// What the runtime is asked for.
    pub kind: Kind,
    /// The key's length in bytes.
    pub key_len: usize,
    /// The block's length; 1 for ciphers that take any length.
    pub block_len: usize,
    /// The IV's length.
    pub iv_len: usize,
    /// The mode's number (`EVP_CIPH_..._MODE` of `evp.h`).
    pub mode: u32,
    /// What else there is to know.
    pub flags: Flags,
}

impl Spec {
    /// Whether its kernels take more of a stack than a job has: the lanes of DES and SM4 do.
    #[inline]
    pub fn is_deep(&self) -> bool {
        use Cipher::{DesCbc, DesEcb, Sm4Cbc, Sm4Ctr, Sm4Ecb, TripleDesCbc, TripleDesEcb};
        let Kind::Cipher(cipher) = self.kind else { return false };
        let des = matches!(cipher, DesCbc | DesEcb | TripleDesCbc | TripleDesEcb);
        des || matches!(cipher, Sm4Cbc | Sm4Ctr | Sm4Ecb)
    }

    /// The first of its names.
    pub fn name(&self) -> &'static str {
        crate::algorithms::first_name(self.names)
    }
}

// The modes.
const STREAM: u32 = 0;
/// ECB.
pub const ECB: u32 = 1;
/// CBC.
pub const CBC: u32 = 2;
/// Counter mode.
pub const CTR: u32 = 5;
const GCM: u32 = 6;
const CCM: u32 = 7;
const XTS: u32 = 0x1_0001;

const PLAIN: Flags = Flags { aead: false, custom_iv: false, multiblock: false, random_key: false };
const CUSTOM: Flags = Flags { custom_iv: true, ..PLAIN };
const SEALED: Flags = Flags { aead: true, custom_iv: true, ..PLAIN };
const RECORDS: Flags = Flags { aead: true, multiblock: true, ..PLAIN };
const PARITY: Flags = Flags { random_key: true, ..PLAIN };

macro_rules! specs {
    ($($id:ident $names:literal $what:literal $class:ident, $kind:expr,
        $key:literal $block:literal $iv:literal $mode:ident $flags:ident;)*) => {
        #[allow(clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        enum Id { $($id,)* }

        /// The ciphers.
        pub static SPECS: [Spec; [$($names),*].len()] = [$(Spec {
            index: Id::$id as usize,
            names: $names,
            what: $what,
            kind: $kind,
            key_len: $key,
            block_len: $block,
            iv_len: $iv,
            mode: $mode,
            flags: $flags,
        },)*];

        static FUNCTIONS: [&[Dispatch]; SPECS.len()] =
            [$(Table::<$class, { Id::$id as usize }>::FUNCTIONS,)*];
    };
}

use Kind::{Aead as A, Cipher as C, TlsCbc as T};

specs! {
    Null c"NULL" c"No encryption" Null, Kind::Nothing, 0 1 0 STREAM PLAIN;
    Aes256Ecb c"AES-256-ECB:2.16.840.1.101.3.4.1.41" c"AES-256 in ECB mode"
        Block, C(Cipher::AesEcb), 32 16 0 ECB PLAIN;
    Aes192Ecb c"AES-192-ECB:2.16.840.1.101.3.4.1.21" c"AES-192 in ECB mode"
        Block, C(Cipher::AesEcb), 24 16 0 ECB PLAIN;
    Aes128Ecb c"AES-128-ECB:2.16.840.1.101.3.4.1.1" c"AES-128 in ECB mode"
        Block, C(Cipher::AesEcb), 16 16 0 ECB PLAIN;
    Aes256Cbc c"AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42" c"AES-256 in CBC mode"
        Block, C(Cipher::AesCbc), 32 16 16 CBC PLAIN;
    Aes192Cbc c"AES-192-CBC:AES192:2.16.840.1.101.3.4.1.22" c"AES-192 in CBC mode"
        Block, C(Cipher::AesCbc), 24 16 16 CBC PLAIN;
    Aes128Cbc c"AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2" c"AES-128 in CBC mode"
        Block, C(Cipher::AesCbc), 16 16 16 CBC PLAIN;
    Aes256Ctr c"AES-256-CTR" c"AES-256 in counter mode"
        Stream, C(Cipher::AesCtr), 32 1 16 CTR PLAIN;
    Aes192Ctr c"AES-192-CTR" c"AES-192 in counter mode"
        Stream, C(Cipher::AesCtr), 24 1 16 CTR PLAIN;
    Aes128Ctr c"AES-128-CTR" c"AES-128 in counter mode"
        Stream, C(Cipher::AesCtr), 16 1 16 CTR PLAIN;
    Aes256Xts c"AES-256-XTS:1.3.111.2.1619.0.1.2" c"AES-256-XTS"
        Xts, C(Cipher::AesXts), 64 1 16 XTS CUSTOM;
    Aes128Xts c"AES-128-XTS:1.3.111.2.1619.0.1.1" c"AES-128-XTS"
        Xts, C(Cipher::AesXts), 32 1 16 XTS CUSTOM;
    Aes256Gcm c"AES-256-GCM:id-aes256-GCM:2.16.840.1.101.3.4.1.46" c"AES-256-GCM"
        Gcm, A(Aead::AesGcm), 32 1 12 GCM SEALED;
    Aes192Gcm c"AES-192-GCM:id-aes192-GCM:2.16.840.1.101.3.4.1.26" c"AES-192-GCM"
        Gcm, A(Aead::AesGcm), 24 1 12 GCM SEALED;
    Aes128Gcm c"AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6" c"AES-128-GCM"
        Gcm, A(Aead::AesGcm), 16 1 12 GCM SEALED;
    Aes256Ccm c"AES-256-CCM:id-aes256-CCM:2.16.840.1.101.3.4.1.47" c"AES-256-CCM"
        Ccm, A(Aead::AesCcm), 32 1 12 CCM SEALED;
    Aes192Ccm c"AES-192-CCM:id-aes192-CCM:2.16.840.1.101.3.4.1.27" c"AES-192-CCM"
        Ccm, A(Aead::AesCcm), 24 1 12 CCM SEALED;
    Aes128Ccm c"AES-128-CCM:id-aes128-CCM:2.16.840.1.101.3.4.1.7" c"AES-128-CCM"
        Ccm, A(Aead::AesCcm), 16 1 12 CCM SEALED;
    Aes128CbcHmacSha1 c"AES-128-CBC-HMAC-SHA1" c"TLS records with AES-128-CBC and HMAC-SHA-1"
        CbcHmac, T(Hash::Sha1), 16 16 16 CBC RECORDS;
    Aes256CbcHmacSha1 c"AES-256-CBC-HMAC-SHA1" c"TLS records with AES-256-CBC and HMAC-SHA-1"
        CbcHmac, T(Hash::Sha1), 32 16 16 CBC RECORDS;
    Aes128CbcHmacSha256 c"AES-128-CBC-HMAC-SHA256" c"TLS records with AES-128-CBC and HMAC-SHA-256"
        CbcHmac, T(Hash::Sha256), 16 16 16 CBC RECORDS;
    Aes256CbcHmacSha256 c"AES-256-CBC-HMAC-SHA256" c"TLS records with AES-256-CBC and HMAC-SHA-256"
        CbcHmac, T(Hash::Sha256), 32 16 16 CBC RECORDS;
    ChaCha20 c"ChaCha20" c"ChaCha20" Stream, C(Cipher::ChaCha20), 32 1 16 STREAM CUSTOM;
    ChaCha20Poly1305 c"ChaCha20-Poly1305" c"ChaCha20-Poly1305"
        ChaCha20Poly1305, A(Aead::ChaCha20Poly1305), 32 1 12 STREAM SEALED;
    DesEde3Ecb c"DES-EDE3:DES-EDE3-ECB" c"Triple DES in ECB mode"
        Block, C(Cipher::TripleDesEcb), 24 8 0 ECB PARITY;
    DesEde3Cbc c"DES-EDE3-CBC:DES3:1.2.840.113549.3.7" c"Triple DES in CBC mode"
        Block, C(Cipher::TripleDesCbc), 24 8 8 CBC PARITY;
    DesEcb c"DES-ECB:1.3.14.3.2.6" c"DES in ECB mode"
        Block, C(Cipher::DesEcb), 8 8 0 ECB PARITY;
    DesCbc c"DES-CBC:DES:1.3.14.3.2.7" c"DES in CBC mode"
        Block, C(Cipher::DesCbc), 8 8 8 CBC PARITY;
    Rc4 c"RC4:1.2.840.113549.3.4" c"RC4" Stream, C(Cipher::Arc4), 16 1 0 STREAM PLAIN;
    Sm4Ecb c"SM4-ECB:1.2.156.10197.1.104.1" c"SM4 in ECB mode"
        Block, C(Cipher::Sm4Ecb), 16 16 0 ECB PLAIN;
    Sm4Cbc c"SM4-CBC:SM4:1.2.156.10197.1.104.2" c"SM4 in CBC mode"
        Block, C(Cipher::Sm4Cbc), 16 16 16 CBC PLAIN;
    Sm4Ctr c"SM4-CTR:1.2.156.10197.1.104.7" c"SM4 in counter mode"
        Stream, C(Cipher::Sm4Ctr), 16 1 16 CTR PLAIN;
}

/// For [`crate::algorithms`]: the operation and the algorithms with their functions.
pub fn rows() -> impl Iterator<Item = (c_int, &'static Spec, &'static [Dispatch])> {
    SPECS.iter().zip(FUNCTIONS).map(|(spec, functions)| (OP_CIPHER, spec, functions))
}
