//! What a session is set up for: the interface's structure, checked, and the sessions of the runtime for it.
#![allow(unsafe_code)]

use lookaside::{Aead, Auth, ChainOrder, Cipher, Hash, Op, Runtime, Secret};

use crate::{
    abi::*,
    refusal::{Refusal, given},
};

use super::plan::{IvRule, Plan, Runner};

/// The cipher of a session.
#[derive(Clone)]
pub struct CipherPart {
    /// Its algorithm.
    pub algorithm: CpaCySymCipherAlgorithm,
    /// Its key.
    pub key: Secret,
    /// Whether it encrypts.
    pub encrypt: bool,
}

/// The hash or MAC of a session.
#[derive(Clone)]
pub struct HashPart {
    /// Its algorithm.
    pub algorithm: CpaCySymHashAlgorithm,
    /// The runtime's name of it; `None` for the MAC of an AEAD.
    pub auth: Option<Auth>,
    /// Its key; of a nested hash the two prefixes, as [`Auth::Nested`] has them.
    pub key: Secret,
    /// The length of the digest.
    pub digest_len: u32,
    /// The length of the associated data.
    pub aad_len: u32,
}

/// What a session is set up for.
#[derive(Clone)]
pub struct Setup {
    /// The operation that callbacks get.
    pub op: CpaCySymOp,
    /// The cipher, but of a hash alone.
    pub cipher: Option<CipherPart>,
    /// The hash, but of a cipher alone.
    pub hash: Option<HashPart>,
    /// Whether the cipher comes first, whatever the direction.
    pub cipher_first: bool,
    /// Whether the digest lies behind what is hashed.
    pub appended: bool,
    /// Whether digests are compared, not made.
    pub verify: bool,
    /// Whether partial packets are possible.
    pub partials: bool,
}

const PRIORITY: &str = "sessionPriority is neither normal nor high";
const OPERATION: &str = "symOperation is neither cipher, hash nor algorithm chaining";
const DIRECTION: &str = "cipherDirection is neither encrypt nor decrypt";
const ORDER: &str = "algChainOrder is neither hash then cipher nor cipher then hash";
const KEY: &str = "a key has a length, and no address";
const PREFIX: &str = "a nested hash has prefixes of at most 255 bytes, each with an address";
const MODE: &str = "hashMode is not one that this hash algorithm has: MACs have AUTH alone";
const LONG_KEY: &str = "a key for HMAC is longer than the hash's block";
const ALONE: &str = "CCM, GCM, GMAC, ChaCha and Poly1305 are for algorithm chaining alone";
const PAIR: &str = "CCM, GCM and GMAC, ChaCha and Poly1305 go with each other alone";
const NO_F8: &str = "AES in F8 mode is not part of this library";
const NO_SHAKE: &str = "SHAKE is not part of this library";
const DIGEST: &str = "digestResultLenInBytes is 0 or longer than the digest";

/// A copy of a key of the caller's.
unsafe fn secret(key: *const Cpa8U, len: Cpa32U, what: &'static str) -> Result<Secret, Refusal> {
    if len == 0 {
        return Ok(Secret::new(&[]));
    }
    if key.is_null() || len > 1 << 16 {
        return Err(Refusal::invalid(what));
    }
    // SAFETY: not null, and as long as the caller says.
    Ok(Secret::new(unsafe { core::slice::from_raw_parts(key, len as usize) }))
}

/// The runtime's cipher for one of the interface's; `None` for AEADs.
///
/// # Errors
/// For what is not there.
pub fn cipher(algorithm: CpaCySymCipherAlgorithm) -> Result<Option<Cipher>, Refusal> {
    Ok(Some(match algorithm {
        CPA_CY_SYM_CIPHER_NULL => Cipher::Null,
        CPA_CY_SYM_CIPHER_ARC4 => Cipher::Arc4,
        CPA_CY_SYM_CIPHER_AES_ECB => Cipher::AesEcb,
        CPA_CY_SYM_CIPHER_AES_CBC => Cipher::AesCbc,
        CPA_CY_SYM_CIPHER_AES_CTR => Cipher::AesCtr,
        CPA_CY_SYM_CIPHER_AES_XTS => Cipher::AesXts,
        CPA_CY_SYM_CIPHER_DES_ECB => Cipher::DesEcb,
        CPA_CY_SYM_CIPHER_DES_CBC => Cipher::DesCbc,
        CPA_CY_SYM_CIPHER_3DES_ECB => Cipher::TripleDesEcb,
        CPA_CY_SYM_CIPHER_3DES_CBC => Cipher::TripleDesCbc,
        CPA_CY_SYM_CIPHER_3DES_CTR => Cipher::TripleDesCtr,
        CPA_CY_SYM_CIPHER_KASUMI_F8 => Cipher::KasumiF8,
        CPA_CY_SYM_CIPHER_SNOW3G_UEA2 => Cipher::Snow3gUea2,
        CPA_CY_SYM_CIPHER_ZUC_EEA3 => Cipher::ZucEea3,
        CPA_CY_SYM_CIPHER_SM4_ECB => Cipher::Sm4Ecb,
        CPA_CY_SYM_CIPHER_SM4_CBC => Cipher::Sm4Cbc,
        CPA_CY_SYM_CIPHER_SM4_CTR => Cipher::Sm4Ctr,
        CPA_CY_SYM_CIPHER_AES_CCM | CPA_CY_SYM_CIPHER_AES_GCM | CPA_CY_SYM_CIPHER_CHACHA => {
            return Ok(None);
        }
        CPA_CY_SYM_CIPHER_AES_F8 => return Err(Refusal::unsupported(NO_F8)),
        _ => return Err(Refusal::invalid("cipherAlgorithm is none of the interface's")),
    }))
}

/// The ciphers of the interface that are there.
pub fn ciphers() -> impl Iterator<Item = CpaCySymCipherAlgorithm> {
    (0..32).map(CpaCySymCipherAlgorithm).filter(|&algorithm| cipher(algorithm).is_ok())
}

/// The hashes of the interface that are there.
pub fn hashes() -> impl Iterator<Item = CpaCySymHashAlgorithm> {
    let is_there =
        |&algorithm: &CpaCySymHashAlgorithm| plain(algorithm).is_some() || mac(algorithm).is_ok();
    (0..32).map(CpaCySymHashAlgorithm).filter(is_there)
}

fn plain(algorithm: CpaCySymHashAlgorithm) -> Option<Hash> {
    Some(match algorithm {
        CPA_CY_SYM_HASH_MD5 => Hash::Md5,
        CPA_CY_SYM_HASH_SHA1 => Hash::Sha1,
        CPA_CY_SYM_HASH_SHA224 => Hash::Sha224,
        CPA_CY_SYM_HASH_SHA256 => Hash::Sha256,
        CPA_CY_SYM_HASH_SHA384 => Hash::Sha384,
        CPA_CY_SYM_HASH_SHA512 => Hash::Sha512,
        CPA_CY_SYM_HASH_SHA3_224 => Hash::Sha3_224,
        CPA_CY_SYM_HASH_SHA3_256 => Hash::Sha3_256,
        CPA_CY_SYM_HASH_SHA3_384 => Hash::Sha3_384,
        CPA_CY_SYM_HASH_SHA3_512 => Hash::Sha3_512,
        CPA_CY_SYM_HASH_SM3 => Hash::Sm3,
        _ => return None,
    })
}

/// What is a MAC by itself; `None` for those of AEADs.
fn mac(algorithm: CpaCySymHashAlgorithm) -> Result<Option<Auth>, Refusal> {
    Ok(Some(match algorithm {
        CPA_CY_SYM_HASH_AES_XCBC => Auth::AesXcbc,
        CPA_CY_SYM_HASH_AES_CMAC => Auth::AesCmac,
        CPA_CY_SYM_HASH_AES_CBC_MAC => Auth::AesCbcMac,
        CPA_CY_SYM_HASH_AES_GMAC => Auth::AesGmac,
        CPA_CY_SYM_HASH_KASUMI_F9 => Auth::KasumiF9,
        CPA_CY_SYM_HASH_SNOW3G_UIA2 => Auth::Snow3gUia2,
        CPA_CY_SYM_HASH_ZUC_EIA3 => Auth::ZucEia3,
        CPA_CY_SYM_HASH_AES_CCM | CPA_CY_SYM_HASH_AES_GCM | CPA_CY_SYM_HASH_POLY => {
            return Ok(None);
        }
        CPA_CY_SYM_HASH_SHAKE_128 | CPA_CY_SYM_HASH_SHAKE_256 => {
            return Err(Refusal::unsupported(NO_SHAKE));
        }
        _ => return Err(Refusal::invalid("hashAlgorithm is none of the interface's")),
    }))
}

impl CipherPart {
    unsafe fn read(data: &CpaCySymCipherSetupData) -> Result<CipherPart, Refusal> {
        let encrypt = direction(data.cipherDirection)?;
        cipher(data.cipherAlgorithm)?;
        // SAFETY: the caller's promise.
        let key = unsafe { secret(data.pCipherKey, data.cipherKeyLenInBytes, KEY) }?;
        // A key for nothing is accepted, and not looked at.
        let key =
            if data.cipherAlgorithm == CPA_CY_SYM_CIPHER_NULL { Secret::new(&[]) } else { key };
        Ok(CipherPart { algorithm: data.cipherAlgorithm, key, encrypt })
    }

    /// The AEAD that it is the cipher of.
    pub fn aead(&self) -> Option<Aead> {
        match self.algorithm {
            CPA_CY_SYM_CIPHER_AES_CCM => Some(Aead::AesCcm),
            CPA_CY_SYM_CIPHER_AES_GCM => Some(Aead::AesGcm),
            CPA_CY_SYM_CIPHER_CHACHA => Some(Aead::ChaCha20Poly1305),
            _ => None,
        }
    }

    /// The runtime's name, where it is no AEAD's.
    pub fn cipher(&self) -> Option<Cipher> {
        cipher(self.algorithm).ok().flatten()
    }

    /// Whether decrypting is encrypting.
    fn is_symmetric(&self) -> bool {
        matches!(
            self.cipher(),
            Some(
                Cipher::Null
                    | Cipher::Arc4
                    | Cipher::AesCtr
                    | Cipher::TripleDesCtr
                    | Cipher::KasumiF8
                    | Cipher::Snow3gUea2
                    | Cipher::ZucEea3
                    | Cipher::Sm4Ctr
            )
        )
    }

    /// The operation of the runtime.
    pub fn op(&self) -> Op {
        if self.encrypt { Op::Encrypt } else { Op::Decrypt }
    }
}

fn direction(direction: CpaCySymCipherDirection) -> Result<bool, Refusal> {
    match direction {
        CPA_CY_SYM_CIPHER_DIRECTION_ENCRYPT => Ok(true),
        CPA_CY_SYM_CIPHER_DIRECTION_DECRYPT => Ok(false),
        _ => Err(Refusal::invalid(DIRECTION)),
    }
}

impl HashPart {
    unsafe fn read(data: &CpaCySymHashSetupData) -> Result<HashPart, Refusal> {
        let (algorithm, mode) = (data.hashAlgorithm, data.hashMode);
        let keyed = &data.authModeSetupData;
        let (auth, key) = match (plain(algorithm), mode) {
            (Some(hash), CPA_CY_SYM_HASH_MODE_PLAIN) => (Some(Auth::Plain(hash)), Secret::new(&[])),
            (Some(hash), CPA_CY_SYM_HASH_MODE_AUTH) => {
                if keyed.authKeyLenInBytes as usize > hash.block_len() {
                    return Err(Refusal::invalid(LONG_KEY));
                }
                // SAFETY: the caller's promise.
                let key = unsafe { secret(keyed.authKey, keyed.authKeyLenInBytes, KEY) }?;
                (Some(Auth::Hmac(hash)), key)
            }
            (Some(inner), CPA_CY_SYM_HASH_MODE_NESTED) => {
                let nested = &data.nestedModeSetupData;
                let outer = plain(nested.outerHashAlgorithm)
                    .ok_or_else(|| Refusal::invalid("outerHashAlgorithm is no hash"))?;
                // SAFETY: the caller's promise.
                let prefixes = unsafe { prefixes(nested) }?;
                (Some(Auth::Nested { inner, outer }), prefixes)
            }
            (None, CPA_CY_SYM_HASH_MODE_AUTH) => {
                let auth = mac(algorithm)?;
                let key = match auth {
                    // An AEAD's key is the cipher's.
                    None | Some(Auth::AesGmac) => Secret::new(&[]),
                    // SAFETY: the caller's promise.
                    Some(_) => unsafe { secret(keyed.authKey, keyed.authKeyLenInBytes, KEY) }?,
                };
                (auth, key)
            }
            (None, _) => {
                mac(algorithm)?;
                return Err(Refusal::invalid(MODE));
            }
            _ => return Err(Refusal::invalid("hashMode is none of the interface's")),
        };
        if !(1..=64).contains(&data.digestResultLenInBytes) {
            return Err(Refusal::invalid(DIGEST));
        }
        Ok(HashPart {
            algorithm,
            auth,
            key,
            digest_len: data.digestResultLenInBytes,
            aad_len: keyed.aadLenInBytes,
        })
    }
}

/// Both prefixes of a nested hash, behind a byte with the length of the inner one.
unsafe fn prefixes(nested: &CpaCySymHashNestedModeSetupData) -> Result<Secret, Refusal> {
    let (inner, outer) = (nested.innerPrefixLenInBytes, nested.outerPrefixLenInBytes);
    if inner > 255 || outer > 255 {
        return Err(Refusal::invalid(PREFIX));
    }
    // SAFETY: the caller's promise.
    let (inner, outer) = unsafe {
        (
            secret(nested.pInnerPrefixData, inner, PREFIX)?,
            secret(nested.pOuterPrefixData, outer, PREFIX)?,
        )
    };
    let mut key = vec![inner.len() as u8];
    key.extend_from_slice(&inner);
    key.extend_from_slice(&outer);
    Ok(key.into())
}

impl Setup {
    /// The interface's structure, checked.
    ///
    /// # Errors
    /// For what it does not allow, and for what is not there.
    ///
    /// # Safety
    /// Null, or as the interface asks for.
    pub unsafe fn read(data: *const CpaCySymSessionSetupData) -> Result<Setup, Refusal> {
        // SAFETY: the caller's promise.
        let data = unsafe { given(data, "no pSessionSetupData") }?;
        if !matches!(data.sessionPriority, CPA_CY_PRIORITY_NORMAL | CPA_CY_PRIORITY_HIGH) {
            return Err(Refusal::invalid(PRIORITY));
        }
        let (has_cipher, has_hash) = match data.symOperation {
            CPA_CY_SYM_OP_CIPHER => (true, false),
            CPA_CY_SYM_OP_HASH => (false, true),
            CPA_CY_SYM_OP_ALGORITHM_CHAINING => (true, true),
            _ => return Err(Refusal::invalid(OPERATION)),
        };
        // SAFETY: the caller's promise.
        let cipher = has_cipher.then(|| unsafe { CipherPart::read(&data.cipherSetupData) });
        // SAFETY: the caller's promise.
        let hash = has_hash.then(|| unsafe { HashPart::read(&data.hashSetupData) });
        let (cipher, hash) = (cipher.transpose()?, hash.transpose()?);
        check_pair(cipher.as_ref(), hash.as_ref())?;
        let is_aead = cipher.as_ref().is_some_and(|c| c.aead().is_some());
        let cipher_first = match data.algChainOrder {
            CPA_CY_SYM_ALG_CHAIN_ORDER_CIPHER_THEN_HASH => true,
            CPA_CY_SYM_ALG_CHAIN_ORDER_HASH_THEN_CIPHER => false,
            _ if is_aead || !(has_cipher && has_hash) => true,
            _ => return Err(Refusal::invalid(ORDER)),
        };
        let mut setup = Setup {
            op: data.symOperation,
            cipher,
            hash,
            cipher_first,
            appended: data.digestIsAppended == CPA_TRUE,
            verify: has_hash && data.verifyDigest == CPA_TRUE,
            partials: data.partialsNotRequired != CPA_TRUE,
        };
        setup.settle();
        Ok(setup)
    }

    /// Of an AEAD, the direction says whether the digest is compared; that of CCM lies behind the text.
    fn settle(&mut self) {
        if let Some(cipher) = &self.cipher
            && let Some(aead) = cipher.aead()
        {
            self.verify = !cipher.encrypt;
            self.appended |= aead == Aead::AesCcm;
        }
    }

    /// The same with other keys, or in another direction.
    ///
    /// # Errors
    /// For what the session does not have.
    ///
    /// # Safety
    /// Pointers as the interface asks for.
    pub unsafe fn updated(&self, update: &CpaCySymSessionUpdateData) -> Result<Setup, Refusal> {
        const ALL: u32 = CPA_CY_SYM_SESUPD_CIPHER_KEY
            | CPA_CY_SYM_SESUPD_CIPHER_DIR
            | CPA_CY_SYM_SESUPD_AUTH_KEY;
        const NO_CIPHER: &str = "the session has no cipher to update";
        const NO_KEY: &str = "the session has no authentication key to update";
        let mut setup = self.clone();
        if update.flags & !ALL != 0 {
            return Err(Refusal::invalid("flags has bits that the interface does not know"));
        }
        if update.flags & CPA_CY_SYM_SESUPD_CIPHER_KEY != 0 {
            let cipher = setup.cipher.as_mut().ok_or_else(|| Refusal::invalid(NO_CIPHER))?;
            // SAFETY: as long as the key was that the session began with.
            cipher.key = unsafe { secret(update.pCipherKey, cipher.key.len() as u32, KEY) }?;
        }
        if update.flags & CPA_CY_SYM_SESUPD_CIPHER_DIR != 0 {
            let cipher = setup.cipher.as_mut().ok_or_else(|| Refusal::invalid(NO_CIPHER))?;
            cipher.encrypt = direction(update.cipherDirection)?;
        }
        if update.flags & CPA_CY_SYM_SESUPD_AUTH_KEY != 0 {
            let hash = setup.hash.as_mut().ok_or_else(|| Refusal::invalid(NO_KEY))?;
            if matches!(
                hash.auth,
                None | Some(Auth::Plain(_) | Auth::Nested { .. } | Auth::AesGmac)
            ) {
                return Err(Refusal::invalid(NO_KEY));
            }
            // SAFETY: as above.
            hash.key = unsafe { secret(update.authKey, hash.key.len() as u32, KEY) }?;
        }
        setup.settle();
        Ok(setup)
    }

    /// The order, as the runtime names it: what sealing does first.
    fn order(&self) -> ChainOrder {
        // What verifies opens, and goes the other way.
        match self.cipher_first != self.verify {
            true => ChainOrder::CipherThenAuth,
            false => ChainOrder::AuthThenCipher,
        }
    }

    /// The sessions of the runtime for whole packets.
    ///
    /// # Errors
    /// For keys and digests whose length the algorithm does not have.
    pub fn plan(&self, runtime: &Runtime) -> Result<Plan, Refusal> {
        let (runner, op) = self.runner(runtime)?;
        let cipher = self.cipher.as_ref();
        let (iv, block, least) = cipher.map_or((IvRule::None, 1, 0), iv_of);
        let auth = self.hash.as_ref().and_then(|h| h.auth);
        let auth_iv = match auth {
            Some(Auth::AesGmac) => IvRule::Gcm,
            Some(Auth::Snow3gUia2 | Auth::ZucEia3) => IvRule::Aad,
            Some(Auth::KasumiF9) => IvRule::F9,
            _ => IvRule::None,
        };
        let is_gmac = auth == Some(Auth::AesGmac);
        Ok(Plan {
            runner,
            op,
            iv: if is_gmac { IvRule::None } else { iv },
            auth_iv,
            has_cipher: cipher.is_some() && !is_gmac,
            has_hash: auth.is_some(),
            is_ccm: iv == IvRule::Ccm,
            block: if is_gmac { 1 } else { block },
            least,
            tag_len: self.hash.as_ref().map_or(0, |h| h.digest_len),
            aad_len: self.hash.as_ref().map_or(0, |h| h.aad_len),
            appended: self.appended,
            verify: self.verify,
        })
    }

    fn runner(&self, runtime: &Runtime) -> Result<(Runner, Op), Refusal> {
        let digest = |hash: &HashPart, auth, key: &[u8]| {
            let session = runtime.digest(auth, key, hash.digest_len as usize)?;
            // Digests are made, and compared by the completion: those that lie elsewhere too.
            Ok::<_, Refusal>((Runner::Digest(session), Op::Digest))
        };
        match (&self.cipher, &self.hash) {
            (Some(cipher), None) => {
                let algorithm = cipher.cipher().ok_or_else(|| Refusal::invalid(ALONE))?;
                Ok((Runner::Cipher(runtime.cipher(algorithm, &cipher.key)?), cipher.op()))
            }
            (None, Some(hash)) => {
                digest(hash, hash.auth.ok_or_else(|| Refusal::invalid(ALONE))?, &hash.key)
            }
            (Some(cipher), Some(hash)) => {
                let tag_len = hash.digest_len as usize;
                if let Some(aead) = cipher.aead() {
                    if let Some(auth) = hash.auth {
                        return digest(hash, auth, &cipher.key);
                    }
                    let op = if cipher.encrypt { Op::Seal } else { Op::Open };
                    return Ok((Runner::Aead(runtime.aead(aead, &cipher.key, tag_len)?), op));
                }
                let (Some(algorithm), Some(auth)) = (cipher.cipher(), hash.auth) else {
                    return Err(Refusal::invalid(PAIR));
                };
                let needs_iv = matches!(auth, Auth::Snow3gUia2 | Auth::ZucEia3 | Auth::KasumiF9);
                // Encrypting what is then compared, and decrypting what is then hashed anew, is neither sealing
                // nor opening.
                let is_usual = cipher.encrypt != self.verify || cipher.is_symmetric();
                if needs_iv || !is_usual {
                    // Checks the keys.
                    runtime.cipher(algorithm, &cipher.key)?;
                    runtime.digest(auth, &hash.key, tag_len)?;
                    return Ok((Runner::InSteps, Op::Encrypt));
                }
                let op = if self.verify { Op::Open } else { Op::Seal };
                let session = runtime.chain(
                    (algorithm, &cipher.key),
                    (auth, &hash.key),
                    tag_len,
                    self.order(),
                )?;
                Ok((Runner::Chain(session), op))
            }
            (None, None) => Err(Refusal::invalid(OPERATION)),
        }
    }
}

/// A cipher's IV, its block, and the least length of a text.
fn iv_of(part: &CipherPart) -> (IvRule, u32, u32) {
    match part.algorithm {
        CPA_CY_SYM_CIPHER_AES_ECB | CPA_CY_SYM_CIPHER_SM4_ECB => (IvRule::None, 16, 0),
        CPA_CY_SYM_CIPHER_AES_CBC | CPA_CY_SYM_CIPHER_SM4_CBC => (IvRule::Bytes(16), 16, 0),
        CPA_CY_SYM_CIPHER_AES_XTS => (IvRule::Bytes(16), 1, 16),
        CPA_CY_SYM_CIPHER_AES_CTR
        | CPA_CY_SYM_CIPHER_SM4_CTR
        | CPA_CY_SYM_CIPHER_SNOW3G_UEA2
        | CPA_CY_SYM_CIPHER_ZUC_EEA3 => (IvRule::Bytes(16), 1, 0),
        CPA_CY_SYM_CIPHER_DES_ECB | CPA_CY_SYM_CIPHER_3DES_ECB => (IvRule::None, 8, 0),
        CPA_CY_SYM_CIPHER_DES_CBC | CPA_CY_SYM_CIPHER_3DES_CBC => (IvRule::Bytes(8), 8, 0),
        CPA_CY_SYM_CIPHER_3DES_CTR | CPA_CY_SYM_CIPHER_KASUMI_F8 => (IvRule::Bytes(8), 1, 0),
        CPA_CY_SYM_CIPHER_AES_CCM => (IvRule::Ccm, 1, 0),
        CPA_CY_SYM_CIPHER_AES_GCM => (IvRule::Gcm, 1, 0),
        CPA_CY_SYM_CIPHER_CHACHA => (IvRule::Bytes(12), 1, 0),
        _ => (IvRule::None, 1, 0),
    }
}

/// AEADs are set up as a cipher and the hash that belongs to it.
fn check_pair(cipher: Option<&CipherPart>, hash: Option<&HashPart>) -> Result<(), Refusal> {
    let of_aead = |hash: &HashPart| matches!(hash.auth, None | Some(Auth::AesGmac));
    match (cipher, hash) {
        (Some(cipher), Some(hash)) => match (cipher.algorithm, hash.algorithm) {
            (CPA_CY_SYM_CIPHER_AES_CCM, CPA_CY_SYM_HASH_AES_CCM)
            | (CPA_CY_SYM_CIPHER_AES_GCM, CPA_CY_SYM_HASH_AES_GCM | CPA_CY_SYM_HASH_AES_GMAC)
            | (CPA_CY_SYM_CIPHER_CHACHA, CPA_CY_SYM_HASH_POLY) => Ok(()),
            _ if cipher.aead().is_some() || of_aead(hash) => Err(Refusal::invalid(PAIR)),
            _ => Ok(()),
        },
        (Some(cipher), None) if cipher.aead().is_some() => Err(Refusal::invalid(ALONE)),
        (None, Some(hash)) if of_aead(hash) => Err(Refusal::invalid(ALONE)),
        _ => Ok(()),
    }
}
