//! Keys of SSL and TLS, and masks: `cpa_cy_key.h`.
#![allow(unsafe_code)]

use core::ffi::c_void;

use lookaside::{
    Auth, Buf, Hash, Hkdf, HkdfMode, OpError, Packet, Request, Response, Span, TlsPrf,
};

use super::{
    cache::Cache,
    counters::Work,
    number::{Out, Secret, bytes},
    request::{Callback, Caller, Outcome, place, run, written},
};
use crate::{
    abi::*,
    process::Process,
    refusal::{Refusal, given},
};

const NO_OP: &str = "no operation data";
const SECRET: &str = "the secret is missing, or longer than 4096 bytes";
const SEED: &str = "the seed is missing, or longer than 4096 bytes";
const RANDOMS: &str = "the seed is not both random values, 64 bytes";
const LABEL: &str = "the label is missing, or longer than 4096 bytes";
const OUTPUT: &str = "no key is asked for, or there is no output, or it is shorter than the key";
const OPERATION: &str = "an operation that there is not";
const HASH: &str = "a hash function that keys are not derived with here";

/// Both random values of a handshake.
const RANDOMS_LEN: usize = 2 * CPA_CY_KEY_GEN_SSL_TLS_RANDOM_LEN_IN_BYTES as usize;

/// The longest key or mask: 255 digests of 64 bytes.
const LONGEST: u32 = 255 * 64;

/// Bytes that may be none, at an address that may not be null.
unsafe fn perhaps<'a>(flat: &CpaFlatBuffer, what: &'static str) -> Result<&'a [u8], Refusal> {
    match flat.dataLenInBytes == 0 && !flat.pData.is_null() {
        true => Ok(&[]),
        // SAFETY: the exported function's caller promises what the interface asks for.
        false => unsafe { bytes(flat, what) },
    }
}

unsafe fn output(out: *mut CpaFlatBuffer, len: u32) -> Result<Out, Refusal> {
    if len == 0 || len > LONGEST {
        return Err(Refusal::invalid(OUTPUT));
    }
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe { Out::new(out, len as usize, OUTPUT) }
}

/// Writes what a request has derived.
unsafe fn to(out: Out) -> impl FnOnce(Response) -> Outcome + use<> {
    move |response| match written(&response) {
        Ok(key) => {
            // SAFETY: the caller keeps the output until the answer; `output` has seen its length.
            unsafe { out.put_bytes(key) };
            Outcome::Done
        }
        Err(error) => Outcome::of(error),
    }
}

fn prf(process: &'static Process, hash: Hash) -> Result<TlsPrf, Refusal> {
    static KEPT: Cache<TlsPrf> = Cache::new();
    KEPT.get(&[&[hash as u8]], || Ok(process.runtime().tls_prf(hash)?))
}

fn hkdf(process: &'static Process, hash: Hash) -> Result<Hkdf, Refusal> {
    static KEPT: Cache<Hkdf> = Cache::new();
    KEPT.get(&[&[hash as u8]], || Ok(process.runtime().hkdf(hash)?))
}

unsafe fn tls(
    caller: &Caller,
    op: *const CpaCyKeyGenTlsOpData,
    hash: impl FnOnce() -> Result<Hash, Refusal>,
    out: *mut CpaFlatBuffer,
) -> Result<CpaStatus, Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        run(caller, |process| {
            let op = given(op, NO_OP)?;
            let (secret, seed) = (perhaps(&op.secret, SECRET)?, perhaps(&op.seed, SEED)?);
            let label = match op.tlsOp {
                CPA_CY_KEY_TLS_OP_MASTER_SECRET_DERIVE => b"master secret".as_slice(),
                CPA_CY_KEY_TLS_OP_KEY_MATERIAL_DERIVE => b"key expansion",
                CPA_CY_KEY_TLS_OP_CLIENT_FINISHED_DERIVE => b"client finished",
                CPA_CY_KEY_TLS_OP_SERVER_FINISHED_DERIVE => b"server finished",
                CPA_CY_KEY_TLS_OP_USER_DEFINED => perhaps(&op.userLabel, LABEL)?,
                _ => return Err(Refusal::invalid(OPERATION)),
            };
            let randoms = matches!(
                op.tlsOp,
                CPA_CY_KEY_TLS_OP_MASTER_SECRET_DERIVE | CPA_CY_KEY_TLS_OP_KEY_MATERIAL_DERIVE
            );
            if randoms && seed.len() != RANDOMS_LEN {
                return Err(Refusal::invalid(RANDOMS));
            }
            let len = op.generatedKeyLenInBytes;
            let out = output(out, len)?;
            let src = Buf::secret([secret, label, seed].concat());
            let session = prf(process, hash()?)?;
            let request = session.derive(secret.len() as u32, src, place(len as usize));
            Ok((request, to(out)))
        })
    }
}

/// A cipher suite of TLS 1.3: its hash, and the bytes of its key.
fn suite(suite: CpaCyKeyHKDFCipherSuite) -> Option<(Hash, usize)> {
    Some(match suite {
        CPA_CY_HKDF_TLS_AES_128_GCM_SHA256
        | CPA_CY_HKDF_TLS_AES_128_CCM_SHA256
        | CPA_CY_HKDF_TLS_AES_128_CCM_8_SHA256 => (Hash::Sha256, 16),
        CPA_CY_HKDF_TLS_AES_256_GCM_SHA384 => (Hash::Sha384, 32),
        CPA_CY_HKDF_TLS_CHACHA20_POLY1305_SHA256 => (Hash::Sha256, 32),
        _ => return None,
    })
}

/// The operations of one call, and what they need.
struct Schedule {
    process: &'static Process,
    session: Hkdf,
    hash: Hash,
    key_len: usize,
    extracts: bool,
    secret: Secret,
    /// Each is expanded to a digest's length: whole HkdfLabels of RFC 8446, section 7.1, with their sublabels, or an
    /// info.
    infos: Vec<(Secret, u8)>,
}

/// Sublabels, in the order of their results.
const SUBLABELS: [(u32, &[u8]); 4] = [
    (CPA_CY_HKDF_SUBLABEL_KEY, b"key"),
    (CPA_CY_HKDF_SUBLABEL_IV, b"iv"),
    (CPA_CY_HKDF_SUBLABEL_RESUMPTION, b"resumption"),
    (CPA_CY_HKDF_SUBLABEL_FINISHED, b"finished"),
];

impl Schedule {
    unsafe fn new(
        process: &'static Process,
        op: &CpaCyKeyGenHKDFOpData,
        cipher: CpaCyKeyHKDFCipherSuite,
    ) -> Result<(Schedule, Secret), Refusal> {
        let Some((hash, key_len)) = suite(cipher) else {
            return Err(Refusal::invalid("a cipher suite that there is not"));
        };
        let most = hash.len();
        let part = |from: &[u8], len: usize, most: usize, what| match from.get(..len) {
            Some(part) if len <= most => Ok(Secret::new(part.to_vec())),
            _ => Err(Refusal::invalid(what)),
        };
        let (extracts, labels) = match op.hkdfKeyOp {
            CPA_CY_HKDF_KEY_EXTRACT | CPA_CY_HKDF_KEY_EXTRACT_EXPAND => (true, false),
            CPA_CY_HKDF_KEY_EXPAND => (false, false),
            CPA_CY_HKDF_KEY_EXPAND_LABEL => (false, true),
            CPA_CY_HKDF_KEY_EXTRACT_EXPAND_LABEL => (true, true),
            _ => return Err(Refusal::invalid(OPERATION)),
        };
        let most_secret = if extracts { CPA_CY_HKDF_KEY_MAX_SECRET_SZ as usize } else { most };
        let secret = part(&op.secret, op.secretLen.into(), most_secret, "the secret is too long")?;
        let salt = match extracts {
            true => part(&op.seed, op.seedLen.into(), most, "the seed is longer than a digest")?,
            false => Secret::default(),
        };
        let infos = match op.hkdfKeyOp {
            CPA_CY_HKDF_KEY_EXTRACT => Vec::new(),
            _ if labels => {
                let count = usize::from(op.numLabels);
                let Some(labels) = op.label.get(..count).filter(|labels| !labels.is_empty()) else {
                    return Err(Refusal::invalid("no label, or more than four"));
                };
                let label = |label: &CpaCyKeyGenHKDFExpandLabel| {
                    let known = SUBLABELS.iter().fold(0, |all, (flag, _)| all | flag);
                    if u32::from(label.sublabelFlag) & !known != 0 {
                        return Err(Refusal::invalid("a sublabel that there is not"));
                    }
                    let most = CPA_CY_HKDF_KEY_MAX_LABEL_SZ as usize;
                    let text =
                        part(&label.label, label.labelLen.into(), most, "a label is too long")?;
                    Ok((text, label.sublabelFlag))
                };
                labels.iter().map(label).collect::<Result<_, _>>()?
            }
            _ => {
                let most = CPA_CY_HKDF_KEY_MAX_INFO_SZ as usize;
                vec![(part(&op.info, op.infoLen.into(), most, "the info is too long")?, 0)]
            }
        };
        let session = hkdf(process, hash)?;
        Ok((Schedule { process, session, hash, key_len, extracts, secret, infos }, salt))
    }

    /// Bytes of a sublabel's result.
    fn sublabel_len(&self, flag: u32) -> usize {
        match flag {
            CPA_CY_HKDF_SUBLABEL_KEY => self.key_len,
            CPA_CY_HKDF_SUBLABEL_IV => 12,
            _ => self.hash.len(),
        }
    }

    /// The sublabels of a label.
    fn sublabels(flags: u8) -> impl Iterator<Item = (u32, &'static [u8])> {
        SUBLABELS.into_iter().filter(move |(flag, _)| u32::from(flags) & flag != 0)
    }

    /// Bytes of all results.
    fn len(&self) -> usize {
        let digest = self.hash.len();
        let label = |(_, flags): &(Secret, u8)| {
            digest + Self::sublabels(*flags).map(|(flag, _)| self.sublabel_len(flag)).sum::<usize>()
        };
        usize::from(self.extracts) * digest + self.infos.iter().map(label).sum::<usize>()
    }

    fn request(&self, mode: HkdfMode, [key, salt, info]: [&[u8]; 3], len: usize) -> Request {
        let src = Buf::secret([key, salt, info].concat());
        let lens = (key.len() as u32, salt.len() as u32);
        self.session.derive(mode, lens.0, lens.1, src, place(len))
    }

    fn derive(&self, mode: HkdfMode, parts: [&[u8]; 3], len: usize) -> Result<Secret, OpError> {
        let response = self.process.call(self.request(mode, parts, len));
        written(&response).map(|key| Secret::new(key.to_vec()))
    }

    /// What goes through the ring.
    fn first(&self, salt: &[u8]) -> Request {
        let len = self.hash.len();
        match self.infos.first() {
            Some((info, _)) if !self.extracts => {
                self.request(HkdfMode::Expand, [&self.secret, &[], info], len)
            }
            _ => self.request(HkdfMode::Extract, [&self.secret, salt, &[]], len),
        }
    }

    /// All results, the first of which is there.
    fn rest(&self, first: &[u8]) -> Result<Secret, OpError> {
        let mut all = Secret::new(Vec::with_capacity(self.len()));
        let key = if self.extracts { first } else { &self.secret };
        if self.extracts {
            all.extend_from_slice(first);
        }
        for (index, (info, flags)) in self.infos.iter().enumerate() {
            let secret = match index == 0 && !self.extracts {
                true => Secret::new(first.to_vec()),
                false => self.derive(HkdfMode::Expand, [key, &[], info], self.hash.len())?,
            };
            all.extend_from_slice(&secret);
            for (flag, label) in Self::sublabels(*flags) {
                let len = self.sublabel_len(flag);
                let key = self.derive(HkdfMode::ExpandLabel, [&secret, label, &[]], len)?;
                all.extend_from_slice(&key);
            }
        }
        Ok(all)
    }
}

/// A digest, behind its message.
fn digest_request(
    process: &'static Process,
    hash: Hash,
    parts: &[&[u8]],
) -> Result<Request, Refusal> {
    static KEPT: Cache<lookaside::DigestSession> = Cache::new();
    let session = KEPT.get(&[&[hash as u8]], || {
        Ok(process.runtime().digest(Auth::Plain(hash), &[], hash.len())?)
    })?;
    let len = parts.iter().map(|part| part.len()).sum::<usize>();
    // Not grown: what is left behind would be a secret.
    let mut memory = Vec::with_capacity(len + hash.len());
    parts.iter().for_each(|part| memory.extend_from_slice(part));
    memory.resize(len + hash.len(), 0);
    let len = len as u32;
    let packet = Packet { auth: Span::new(0, len), tag: len, ..Packet::default() };
    Ok(session.digest(packet, Buf::empty(), Buf::secret(memory)))
}

/// The digest of a [`digest_request`].
fn digest_of(response: &Response, hash: Hash) -> Result<&[u8], OpError> {
    response.result?;
    let memory = response.dst.as_slice().unwrap_or_default();
    Ok(&memory[memory.len().saturating_sub(hash.len())..])
}

fn digest(process: &'static Process, hash: Hash, parts: &[&[u8]]) -> Result<Secret, OpError> {
    let request = digest_request(process, hash, parts).map_err(|_| OpError::NoMemory)?;
    let response = process.call(request);
    digest_of(&response, hash).map(|digest| Secret::new(digest.to_vec()))
}

unsafe fn mask(
    caller: &Caller,
    op: impl FnOnce() -> Result<(CpaCyKeyGenMgfOpData, Hash), Refusal>,
    out: *mut CpaFlatBuffer,
) -> Result<CpaStatus, Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        run(caller, |process| {
            let (op, hash) = op()?;
            let seed = Secret::new(bytes(&op.seedBuffer, SEED)?.to_vec());
            let len = op.maskLenInBytes;
            let out = output(out, len)?;
            // MGF1 (RFC 8017, B.2.1).
            let request = digest_request(process, hash, &[&seed, &[0; 4]])?;
            let rest = Box::new((seed, len as usize, out));
            Ok((request, move |response: Response| {
                let (seed, len, out) = *rest;
                let whole = || -> Result<Secret, OpError> {
                    let mut mask = Secret::new(Vec::with_capacity(len + hash.len()));
                    mask.extend_from_slice(digest_of(&response, hash)?);
                    for counter in 1_u32.. {
                        if mask.len() >= len {
                            break;
                        }
                        let block = digest(process, hash, &[&seed, &counter.to_be_bytes()])?;
                        mask.extend_from_slice(&block);
                    }
                    Ok(mask)
                };
                match whole() {
                    Ok(mask) => {
                        out.put_bytes(&mask[..len]);
                        Outcome::Done
                    }
                    Err(error) => Outcome::of(error),
                }
            }))
        })
    }
}

/// The label of a block of SSL's keys: A, BB, CCC, and so on; of the caller's, that many bytes of it.
fn ssl_label(own: Option<&[u8]>, block: usize) -> Option<Secret> {
    let len = block + 1;
    match own {
        None => Some(Secret::new(vec![b'A'.checked_add(block as u8)?; len])),
        Some(own) => own
            .get(block * len / 2..)
            .and_then(|rest| rest.get(..len))
            .map(|label| Secret::new(label.to_vec())),
    }
}

unsafe fn ssl(
    caller: &Caller,
    op: *const CpaCyKeyGenSslOpData,
    out: *mut CpaFlatBuffer,
) -> Result<CpaStatus, Refusal> {
    /// Bytes of a block, MD5's.
    const BLOCK: usize = 16;
    /// As many labels as there are letters.
    const MOST: usize = 26 * BLOCK;
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        run(caller, |process| {
            let op = given(op, NO_OP)?;
            let (secret, seed) = (perhaps(&op.secret, SECRET)?, perhaps(&op.seed, SEED)?);
            if seed.len() != RANDOMS_LEN {
                return Err(Refusal::invalid(RANDOMS));
            }
            let own = match op.sslOp {
                CPA_CY_KEY_SSL_OP_MASTER_SECRET_DERIVE | CPA_CY_KEY_SSL_OP_KEY_MATERIAL_DERIVE => {
                    None
                }
                CPA_CY_KEY_SSL_OP_USER_DEFINED => Some(bytes(&op.userLabel, LABEL)?),
                _ => return Err(Refusal::invalid(OPERATION)),
            };
            let len = op.generatedKeyLenInBytes;
            let out = output(out, len)?;
            let len = len as usize;
            if len > MOST {
                return Err(Refusal::invalid(OUTPUT));
            }
            let labels: Option<Vec<Secret>> =
                (0..len.div_ceil(BLOCK)).map(|block| ssl_label(own, block)).collect();
            let Some(labels) = labels else { return Err(Refusal::invalid(LABEL)) };
            let (secret, seed) = (Secret::new(secret.to_vec()), Secret::new(seed.to_vec()));
            // RFC 6101, 6.2.2: MD5(secret, SHA-1(label, secret, seed)) for each label.
            let request = digest_request(process, Hash::Sha1, &[&labels[0], &secret, &seed])?;
            let rest = Box::new((labels, secret, seed, len, out));
            Ok((request, move |response: Response| {
                let (labels, secret, seed, len, out) = *rest;
                let whole = || -> Result<Secret, OpError> {
                    let mut key = Secret::new(Vec::with_capacity(len + BLOCK));
                    for (index, label) in labels.iter().enumerate() {
                        let inner = match index {
                            0 => Secret::new(digest_of(&response, Hash::Sha1)?.to_vec()),
                            _ => digest(process, Hash::Sha1, &[label, &secret, &seed])?,
                        };
                        key.extend_from_slice(&digest(process, Hash::Md5, &[&secret, &inner])?);
                    }
                    Ok(key)
                };
                match whole() {
                    Ok(key) => {
                        out.put_bytes(&key[..len]);
                        Outcome::Done
                    }
                    Err(error) => Outcome::of(error),
                }
            }))
        })
    }
}

/// The hash functions of masks and of TLS 1.2.
fn hash_of(hash: CpaCySymHashAlgorithm) -> Result<Hash, Refusal> {
    Ok(match hash {
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
        _ => return Err(Refusal::invalid(HASH)),
    })
}

crate::api! {
    fn cpaCyKeyGenSsl(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyKeyGenSslOpData,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out));
        ssl(&Caller::new(handle, Work::KeySsl, callback, tag, op), op, out)
    }

    fn cpaCyKeyGenTls(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyKeyGenTlsOpData,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out));
        tls(&Caller::new(handle, Work::KeyTls, callback, tag, op), op, || Ok(Hash::Md5Sha1), out)
    }

    fn cpaCyKeyGenTls2(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyKeyGenTlsOpData,
        hash: CpaCySymHashAlgorithm,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out));
        let caller = Caller::new(handle, Work::KeyTls, callback, tag, op);
        tls(&caller, op, || hash_of(hash), out)
    }

    fn cpaCyKeyGenTls3(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyKeyGenHKDFOpData,
        cipher: CpaCyKeyHKDFCipherSuite,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out));
        let caller = Caller::new(handle, Work::KeyTls, callback, tag, op);
        run(&caller, |process| {
            let (schedule, salt) = Schedule::new(process, given(op, NO_OP)?, cipher)?;
            let out = output(out, schedule.len() as u32)?;
            let request = schedule.first(&salt);
            let schedule = Box::new(schedule);
            Ok((request, move |response: Response| {
                match written(&response).and_then(|first| schedule.rest(first)) {
                    Ok(all) => {
                        out.put_bytes(&all);
                        Outcome::Done
                    }
                    Err(error) => Outcome::of(error),
                }
            }))
        })
    }

    fn cpaCyKeyGenMgf(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyKeyGenMgfOpData,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out));
        let caller = Caller::new(handle, Work::KeyMgf, callback, tag, op);
        mask(&caller, || given(op, NO_OP).map(|op| (*op, Hash::Sha1)), out)
    }

    fn cpaCyKeyGenMgfExt(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyKeyGenMgfOpDataExt,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out));
        let caller = Caller::new(handle, Work::KeyMgf, callback, tag, op);
        let parts = || {
            let op = given(op, NO_OP)?;
            Ok((op.baseOpData, hash_of(op.hashAlgorithm)?))
        };
        mask(&caller, parts, out)
    }
}
