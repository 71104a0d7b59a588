//! What a session of the runtime's is for the card: the structure that its own session is set up with.

use core::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lookaside_core::{Aead, Auth, ChainOrder, Cipher, Hash, Op, Sym};
use lookaside_quickassist::*;

use crate::crypto::Traits;

/// The longest associated data.
pub(crate) const AAD: usize = 240;

/// A session, as this device has prepared it.
pub(crate) struct Plan {
    /// Unique in this process.
    pub(crate) id: u64,
    pub(crate) sym: Sym,
    /// Bytes of a tag; 0 without one.
    pub(crate) tag_len: usize,
    /// Whole blocks of so many bytes.
    pub(crate) block: usize,
}

/// The interface's name of a cipher; its block, or 1.
fn cipher(cipher: Cipher) -> Option<(CpaCySymCipherAlgorithm, usize)> {
    Some(match cipher {
        Cipher::AesEcb => (CPA_CY_SYM_CIPHER_AES_ECB, 16),
        Cipher::AesCbc => (CPA_CY_SYM_CIPHER_AES_CBC, 16),
        Cipher::AesCtr => (CPA_CY_SYM_CIPHER_AES_CTR, 1),
        Cipher::AesXts => (CPA_CY_SYM_CIPHER_AES_XTS, 16),
        Cipher::DesEcb => (CPA_CY_SYM_CIPHER_DES_ECB, 8),
        Cipher::DesCbc => (CPA_CY_SYM_CIPHER_DES_CBC, 8),
        Cipher::TripleDesEcb => (CPA_CY_SYM_CIPHER_3DES_ECB, 8),
        Cipher::TripleDesCbc => (CPA_CY_SYM_CIPHER_3DES_CBC, 8),
        Cipher::Sm4Ecb => (CPA_CY_SYM_CIPHER_SM4_ECB, 16),
        Cipher::Sm4Cbc => (CPA_CY_SYM_CIPHER_SM4_CBC, 16),
        Cipher::Sm4Ctr => (CPA_CY_SYM_CIPHER_SM4_CTR, 1),
        _ => return None,
    })
}

fn hash(hash: Hash) -> Option<CpaCySymHashAlgorithm> {
    Some(match hash {
        Hash::Md5 => CPA_CY_SYM_HASH_MD5,
        Hash::Sha1 => CPA_CY_SYM_HASH_SHA1,
        Hash::Sha224 => CPA_CY_SYM_HASH_SHA224,
        Hash::Sha256 => CPA_CY_SYM_HASH_SHA256,
        Hash::Sha384 => CPA_CY_SYM_HASH_SHA384,
        Hash::Sha512 => CPA_CY_SYM_HASH_SHA512,
        Hash::Sha3_224 => CPA_CY_SYM_HASH_SHA3_224,
        Hash::Sha3_256 => CPA_CY_SYM_HASH_SHA3_256,
        Hash::Sha3_384 => CPA_CY_SYM_HASH_SHA3_384,
        Hash::Sha3_512 => CPA_CY_SYM_HASH_SHA3_512,
        Hash::Sm3 => CPA_CY_SYM_HASH_SM3,
        _ => return None,
    })
}

/// The interface's name of a hash or MAC, and its mode.
fn auth(auth: Auth) -> Option<(CpaCySymHashAlgorithm, CpaCySymHashMode)> {
    Some(match auth {
        Auth::Plain(of) => (hash(of)?, CPA_CY_SYM_HASH_MODE_PLAIN),
        Auth::Hmac(of) => (hash(of)?, CPA_CY_SYM_HASH_MODE_AUTH),
        Auth::AesXcbc => (CPA_CY_SYM_HASH_AES_XCBC, CPA_CY_SYM_HASH_MODE_AUTH),
        Auth::AesCmac => (CPA_CY_SYM_HASH_AES_CMAC, CPA_CY_SYM_HASH_MODE_AUTH),
        _ => return None,
    })
}

/// Whether a key is one that the interface takes: of HMAC, at most a block.
fn fits(auth: Auth, key: usize) -> bool {
    !matches!(auth, Auth::Hmac(hash) if key > hash.block_len())
}

fn aead(aead: Aead) -> (CpaCySymCipherAlgorithm, CpaCySymHashAlgorithm) {
    match aead {
        Aead::AesGcm => (CPA_CY_SYM_CIPHER_AES_GCM, CPA_CY_SYM_HASH_AES_GCM),
        Aead::AesCcm => (CPA_CY_SYM_CIPHER_AES_CCM, CPA_CY_SYM_HASH_AES_CCM),
        Aead::ChaCha20Poly1305 => (CPA_CY_SYM_CIPHER_CHACHA, CPA_CY_SYM_HASH_POLY),
    }
}

/// The operations that a card of these traits has, each with its algorithms.
pub(crate) fn list(traits: Traits) -> Vec<(Op, String)> {
    let ciphers = [
        ("AES-ECB", Cipher::AesEcb),
        ("AES-CBC", Cipher::AesCbc),
        ("AES-CTR", Cipher::AesCtr),
        ("AES-XTS", Cipher::AesXts),
        ("DES-ECB", Cipher::DesEcb),
        ("DES-CBC", Cipher::DesCbc),
        ("DES-EDE3-ECB", Cipher::TripleDesEcb),
        ("DES-EDE3-CBC", Cipher::TripleDesCbc),
        ("SM4-ECB", Cipher::Sm4Ecb),
        ("SM4-CBC", Cipher::Sm4Cbc),
        ("SM4-CTR", Cipher::Sm4Ctr),
    ];
    let ciphers = ciphers
        .into_iter()
        .filter(|(_, of)| cipher(*of).is_some_and(|(algorithm, _)| traits.cipher(algorithm)))
        .map(|(name, _)| name.to_owned());
    let hashes = [
        ("MD5", Hash::Md5),
        ("SHA1", Hash::Sha1),
        ("SHA224", Hash::Sha224),
        ("SHA256", Hash::Sha256),
        ("SHA384", Hash::Sha384),
        ("SHA512", Hash::Sha512),
        ("SHA3-224", Hash::Sha3_224),
        ("SHA3-256", Hash::Sha3_256),
        ("SHA3-384", Hash::Sha3_384),
        ("SHA3-512", Hash::Sha3_512),
        ("SM3", Hash::Sm3),
    ];
    let hashes = hashes.into_iter();
    let hashes = hashes.filter(|(_, of)| hash(*of).is_some_and(|of| traits.hash(of)));
    let macs = [("AES-XCBC-MAC", Auth::AesXcbc), ("AES-CMAC", Auth::AesCmac)];
    let macs = macs.into_iter().filter(|(_, of)| auth(*of).is_some_and(|(h, _)| traits.hash(h)));
    let macs = macs.map(|(name, _)| name.to_owned());
    let aeads = [
        ("AES-GCM", Aead::AesGcm),
        ("AES-CCM", Aead::AesCcm),
        ("ChaCha20-Poly1305", Aead::ChaCha20Poly1305),
    ];
    let has = |of: Aead| {
        let (cipher, hash) = aead(of);
        traits.cipher(cipher) && traits.hash(hash)
    };
    let aeads = aeads.into_iter().filter(|(_, of)| has(*of)).map(|(name, _)| name.to_owned());
    let hashes = hashes.flat_map(|(name, _)| [name.to_owned(), format!("HMAC-{name}")]);
    let ciphers: Vec<String> = ciphers.collect();
    let hashes: Vec<String> = hashes.chain(macs).collect();
    let mut aeads: Vec<String> = aeads.collect();
    if !ciphers.is_empty() && !hashes.is_empty() {
        aeads.push("chains of a cipher and a MAC".to_owned());
    }
    [
        (Op::Encrypt, &ciphers),
        (Op::Decrypt, &ciphers),
        (Op::Digest, &hashes),
        (Op::Verify, &hashes),
        (Op::Seal, &aeads),
        (Op::Open, &aeads),
    ]
    .into_iter()
    .filter(|(_, names)| !names.is_empty())
    .map(|(op, names)| (op, names.join(", ")))
    .collect()
}

impl Plan {
    /// `None` for what a card of these traits does not have.
    pub(crate) fn new(sym: &Sym, traits: Traits) -> Option<Plan> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (tag_len, block) = match sym {
            Sym::Cipher { cipher: of, .. } => {
                let (algorithm, block) = cipher(*of)?;
                (traits.cipher(algorithm)).then_some((0, block))?
            }
            Sym::Auth { auth: of, key, tag_len } if fits(*of, key.len()) => {
                (traits.hash(auth(*of)?.0)).then_some((*tag_len, 1))?
            }
            Sym::Chain { cipher: of, auth: with, auth_key, tag_len, .. }
                if fits(*with, auth_key.len()) =>
            {
                let (algorithm, block) = cipher(*of)?;
                let has = traits.cipher(algorithm) && traits.hash(auth(*with)?.0);
                has.then_some((*tag_len, block))?
            }
            Sym::Aead { aead: of, tag_len, .. } => {
                let (cipher, hash) = aead(*of);
                (traits.cipher(cipher) && traits.hash(hash)).then_some((*tag_len, 1))?
            }
            _ => return None,
        };
        Some(Plan { id: NEXT.fetch_add(1, Relaxed), sym: sym.clone(), tag_len, block })
    }

    /// The operations whose sessions of the card differ: a digest is compared here.
    pub(crate) fn way(op: Op) -> Op {
        if op == Op::Verify { Op::Digest } else { op }
    }

    /// The set-up of a session for this operation. It has pointers to keys of this plan.
    pub(crate) fn setup(&self, op: Op, aad_len: usize) -> CpaCySymSessionSetupData {
        let encrypt = matches!(op, Op::Encrypt | Op::Seal);
        let mut setup = empty();
        setup.cipherSetupData.cipherDirection = match encrypt {
            true => CPA_CY_SYM_CIPHER_DIRECTION_ENCRYPT,
            false => CPA_CY_SYM_CIPHER_DIRECTION_DECRYPT,
        };
        setup.hashSetupData.digestResultLenInBytes = self.tag_len as u32;
        let key_of = |setup: &mut CpaCySymSessionSetupData, key: &[u8]| {
            setup.cipherSetupData.cipherKeyLenInBytes = key.len() as u32;
            setup.cipherSetupData.pCipherKey = key.as_ptr().cast_mut();
        };
        match &self.sym {
            Sym::Cipher { cipher: of, key } => {
                setup.symOperation = CPA_CY_SYM_OP_CIPHER;
                if let Some((algorithm, _)) = cipher(*of) {
                    setup.cipherSetupData.cipherAlgorithm = algorithm;
                }
                key_of(&mut setup, key);
            }
            Sym::Auth { auth: of, key, .. } => {
                setup.symOperation = CPA_CY_SYM_OP_HASH;
                if let Some((algorithm, mode)) = auth(*of) {
                    setup.hashSetupData.hashAlgorithm = algorithm;
                    setup.hashSetupData.hashMode = mode;
                }
                setup.hashSetupData.authModeSetupData.authKey = key.as_ptr().cast_mut();
                setup.hashSetupData.authModeSetupData.authKeyLenInBytes = key.len() as u32;
            }
            Sym::Aead { aead: of, key, .. } => {
                setup.symOperation = CPA_CY_SYM_OP_ALGORITHM_CHAINING;
                let (cipher, hash) = aead(*of);
                setup.cipherSetupData.cipherAlgorithm = cipher;
                setup.hashSetupData.hashAlgorithm = hash;
                setup.hashSetupData.hashMode = CPA_CY_SYM_HASH_MODE_AUTH;
                setup.hashSetupData.authModeSetupData.aadLenInBytes = aad_len as u32;
                key_of(&mut setup, key);
                // CCM authenticates the plaintext, the others the ciphertext.
                setup.algChainOrder = match encrypt != (*of == Aead::AesCcm) {
                    true => CPA_CY_SYM_ALG_CHAIN_ORDER_CIPHER_THEN_HASH,
                    false => CPA_CY_SYM_ALG_CHAIN_ORDER_HASH_THEN_CIPHER,
                };
                setup.verifyDigest = if encrypt { CPA_FALSE } else { CPA_TRUE };
                // That of CCM lies behind the text, whatever is asked for.
                let appended = *of == Aead::AesCcm;
                setup.digestIsAppended = if appended { CPA_TRUE } else { CPA_FALSE };
            }
            Sym::Chain { cipher: of, cipher_key, auth: with, auth_key, order, .. } => {
                setup.symOperation = CPA_CY_SYM_OP_ALGORITHM_CHAINING;
                if let (Some((cipher, _)), Some((hash, mode))) = (cipher(*of), auth(*with)) {
                    setup.cipherSetupData.cipherAlgorithm = cipher;
                    setup.hashSetupData.hashAlgorithm = hash;
                    setup.hashSetupData.hashMode = mode;
                }
                key_of(&mut setup, cipher_key);
                let keyed = &mut setup.hashSetupData.authModeSetupData;
                keyed.authKey = auth_key.as_ptr().cast_mut();
                keyed.authKeyLenInBytes = auth_key.len() as u32;
                // Opening goes the other way.
                setup.algChainOrder = match encrypt == (*order == ChainOrder::CipherThenAuth) {
                    true => CPA_CY_SYM_ALG_CHAIN_ORDER_CIPHER_THEN_HASH,
                    false => CPA_CY_SYM_ALG_CHAIN_ORDER_HASH_THEN_CIPHER,
                };
                setup.verifyDigest = if encrypt { CPA_FALSE } else { CPA_TRUE };
            }
            // None was prepared.
            _ => {}
        }
        setup
    }
}

fn empty() -> CpaCySymSessionSetupData {
    CpaCySymSessionSetupData {
        sessionPriority: CPA_CY_PRIORITY_NORMAL,
        symOperation: CPA_CY_SYM_OP_NONE,
        cipherSetupData: CpaCySymCipherSetupData {
            cipherAlgorithm: CPA_CY_SYM_CIPHER_NULL,
            cipherKeyLenInBytes: 0,
            pCipherKey: ptr::null_mut(),
            cipherDirection: CPA_CY_SYM_CIPHER_DIRECTION_ENCRYPT,
        },
        hashSetupData: CpaCySymHashSetupData {
            hashAlgorithm: CPA_CY_SYM_HASH_NONE,
            hashMode: CPA_CY_SYM_HASH_MODE_PLAIN,
            digestResultLenInBytes: 0,
            authModeSetupData: CpaCySymHashAuthModeSetupData {
                authKey: ptr::null_mut(),
                authKeyLenInBytes: 0,
                aadLenInBytes: 0,
            },
            nestedModeSetupData: CpaCySymHashNestedModeSetupData {
                pInnerPrefixData: ptr::null_mut(),
                innerPrefixLenInBytes: 0,
                outerHashAlgorithm: CPA_CY_SYM_HASH_NONE,
                pOuterPrefixData: ptr::null_mut(),
                outerPrefixLenInBytes: 0,
            },
        },
        algChainOrder: CPA_CY_SYM_ALG_CHAIN_ORDER_CIPHER_THEN_HASH,
        digestIsAppended: CPA_FALSE,
        verifyDigest: CPA_FALSE,
        partialsNotRequired: CPA_TRUE,
    }
}
