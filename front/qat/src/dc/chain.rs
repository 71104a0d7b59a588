//! Compression chained with cryptography, one visit to the runtime for both steps: hash and compress, compress and seal
//! with AES-GCM, open and decompress.
#![allow(unsafe_code)]

mod answer;

use core::ffi::c_void;

use lookaside::{
    Aead, AeadSession, Aside, Auth, Buf, CompressSession, DigestSession, Feed, Hash, Iv, Packet,
    Request, Response, Span,
};

use crate::{
    abi::*,
    buffers::{self, check_apart, length, pieces},
    checksum::Crc64,
    counters::Counter,
    cy::sym::gcm_nonce,
    flights::Flight,
    instance::{QatInstance, Service},
    lock::Lock,
    process::Process,
    refusal::{Refusal, enter, given, wanted},
    ring::Complete,
    session::{self, Kind, Session},
};

use super::{
    codec,
    request::Options,
    session::crc64_of,
    setup::{Setup, Way},
    verify,
};

/// The chains that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chain {
    HashThenCompress,
    CompressThenAead,
    AeadThenDecompress,
}

impl Chain {
    fn new(operation: CpaDcChainOperations) -> Result<Chain, Refusal> {
        match operation {
            CPA_DC_CHAIN_HASH_THEN_COMPRESS => Ok(Chain::HashThenCompress),
            CPA_DC_CHAIN_COMPRESS_THEN_AEAD => Ok(Chain::CompressThenAead),
            CPA_DC_CHAIN_AEAD_THEN_DECOMPRESS => Ok(Chain::AeadThenDecompress),
            CpaDcChainOperations(0..=12) => Err(Refusal::unsupported(
                "only hash then compress, compress then AEAD and AEAD then decompress are there",
            )),
            _ => Err(Refusal::invalid("operation is none of the interface's")),
        }
    }

    fn way(self) -> Way {
        match self {
            Chain::AeadThenDecompress => Way::Decompress,
            _ => Way::Compress,
        }
    }

    /// Refuses set-up data of cryptography that are of another chain.
    fn check(self, cy: &CpaCySymSessionSetupData) -> Result<(), Refusal> {
        let (operation, direction) = match self {
            Chain::HashThenCompress => (CPA_CY_SYM_OP_HASH, None),
            Chain::CompressThenAead => {
                (CPA_CY_SYM_OP_ALGORITHM_CHAINING, Some(CPA_CY_SYM_CIPHER_DIRECTION_ENCRYPT))
            }
            Chain::AeadThenDecompress => {
                (CPA_CY_SYM_OP_ALGORITHM_CHAINING, Some(CPA_CY_SYM_CIPHER_DIRECTION_DECRYPT))
            }
        };
        if cy.symOperation != operation {
            return Err(Refusal::invalid(
                "symOperation of a chain is HASH for a hash, ALGORITHM_CHAINING for an AEAD",
            ));
        }
        if direction.is_some_and(|direction| cy.cipherSetupData.cipherDirection != direction) {
            return Err(Refusal::invalid(
                "cipherDirection is ENCRYPT after compression, DECRYPT before decompression",
            ));
        }
        if direction.is_none() && cy.digestIsAppended != CPA_FALSE {
            return Err(Refusal::unsupported("the digest of hash then compress is not appended"));
        }
        Ok(())
    }

    /// Which of its two steps is the cryptographic one.
    fn crypto_is_first(self) -> bool {
        self != Chain::CompressThenAead
    }
}

/// The chains as bits, for capabilities.
pub const CHAINS: u32 = 1 << CPA_DC_CHAIN_HASH_THEN_COMPRESS.0
    | 1 << CPA_DC_CHAIN_COMPRESS_THEN_AEAD.0
    | 1 << CPA_DC_CHAIN_AEAD_THEN_DECOMPRESS.0;

enum Crypto {
    Hash { session: DigestSession, verify: bool },
    Aead(AeadSession),
}

/// What a session of chains keeps.
pub struct ChainSession {
    chain: Chain,
    setup: Setup,
    codec: &'static CompressSession,
    crypto: Crypto,
    tag_len: usize,
    aad_len: usize,
    appended: bool,
    callback: CpaDcCallbackFn,
    crc64: Lock<Crc64>,
}

impl Kind for ChainSession {
    const MARK: u64 = u64::from_be_bytes(*b"LAqatCha");
    const FOREIGN: &'static str =
        "not a session: it was not begun by cpaDcChainInitSession, or was removed";
}

fn hash(algorithm: CpaCySymHashAlgorithm) -> Result<Hash, Refusal> {
    Ok(match algorithm {
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
        _ => return Err(Refusal::unsupported("a chain hashes with MD5, SHA, SHA-3 or SM3")),
    })
}

/// A key of the caller's.
unsafe fn key<'a>(pointer: *const u8, len: u32) -> Result<&'a [u8], Refusal> {
    match (pointer.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Refusal::invalid("a key has a length, and no address")),
        // SAFETY: the exported function's caller promises it.
        _ => Ok(unsafe { core::slice::from_raw_parts(pointer, len as usize) }),
    }
}

impl ChainSession {
    unsafe fn new(
        process: &Process,
        chain: Chain,
        data: &[CpaDcChainSessionSetupData],
        callback: CpaDcCallbackFn,
    ) -> Result<ChainSession, Refusal> {
        let (cy, dc) = steps(chain, data, |step| step.sessType)?;
        // SAFETY: the exported function's caller promises it; `steps` has checked which of the union there is.
        let (dc, cy) =
            unsafe { (given(dc.u.pDcSetupData, NO_DATA)?, given(cy.u.pCySetupData, NO_DATA)?) };
        let setup = Setup::new(dc)?;
        setup.check(chain.way())?;
        if !setup.spec.format.is_deflate() {
            return Err(Refusal::unsupported("chains are of CPA_DC_DEFLATE alone"));
        }
        if setup.stateful {
            return Err(Refusal::invalid("a chain's session is stateless"));
        }
        chain.check(cy)?;
        let sums = &cy.hashSetupData;
        let auth_key = &sums.authModeSetupData;
        let tag_len = sums.digestResultLenInBytes as usize;
        let runtime = process.runtime();
        let crypto = if chain == Chain::HashThenCompress {
            let hash = hash(sums.hashAlgorithm)?;
            // SAFETY: as above.
            let key = unsafe { key(auth_key.authKey, auth_key.authKeyLenInBytes) }?;
            let session = match sums.hashMode {
                CPA_CY_SYM_HASH_MODE_PLAIN => runtime.digest(Auth::Plain(hash), &[], tag_len)?,
                CPA_CY_SYM_HASH_MODE_AUTH => runtime.digest(Auth::Hmac(hash), key, tag_len)?,
                _ => return Err(Refusal::unsupported("hashMode of a chain is PLAIN or AUTH")),
            };
            Crypto::Hash { session, verify: cy.verifyDigest != CPA_FALSE }
        } else {
            let cipher = &cy.cipherSetupData;
            if cipher.cipherAlgorithm != CPA_CY_SYM_CIPHER_AES_GCM
                || sums.hashAlgorithm != CPA_CY_SYM_HASH_AES_GCM
            {
                return Err(Refusal::unsupported("the AEAD of a chain is AES-GCM"));
            }
            // SAFETY: as above.
            let key = unsafe { key(cipher.pCipherKey, cipher.cipherKeyLenInBytes) }?;
            Crypto::Aead(runtime.aead(Aead::AesGcm, key, tag_len)?)
        };
        Ok(ChainSession {
            chain,
            codec: codec::of(process, &setup.spec)?,
            setup,
            crypto,
            tag_len,
            aad_len: auth_key.aadLenInBytes as usize,
            appended: cy.digestIsAppended != CPA_FALSE,
            callback,
            crc64: Lock::new(Crc64::ECMA),
        })
    }
}

/// The cryptographic step and the one of compression.
fn steps<T: Copy>(
    chain: Chain,
    data: &[T],
    kind: impl Fn(&T) -> CpaDcChainSessionType,
) -> Result<(T, T), Refusal> {
    let [first, second] = data else {
        return Err(Refusal::invalid("a chain has two steps"));
    };
    let (cy, dc) = if chain.crypto_is_first() { (first, second) } else { (second, first) };
    match (kind(cy), kind(dc)) {
        (CPA_DC_CHAIN_SYMMETRIC_CRYPTO, CPA_DC_CHAIN_COMPRESS_DECOMPRESS) => Ok((*cy, *dc)),
        _ => Err(Refusal::invalid("the steps are not in the operation's order")),
    }
}

const NO_DATA: &str = "no data of a step";

/// Where results go: the first form, or the one with more.
#[derive(Clone, Copy)]
enum Results {
    First(*mut CpaDcChainRqResults),
    More(*mut CpaDcChainRqVResults),
}

/// A request in flight.
struct ChainRequest {
    instance: &'static QatInstance,
    session: *const Session<ChainSession>,
    flight: Option<Flight>,
    results: Results,
    tag: *mut c_void,
    verify: bool,
    /// Whether stored blocks replace a compression that is wrong.
    recover: bool,
    /// The verification is to fail.
    fails: bool,
    last: bool,
    /// Where the ciphertext begins.
    offset: usize,
    crcs: bool,
    crc: Option<super::request::Crc>,
    /// Whether what lies between the steps is memory of ours.
    own: bool,
}

// SAFETY: its pointers are the caller's, valid until the answer from any thread, as the interface asks for.
unsafe impl Send for ChainRequest {}

struct Ask {
    src: *mut CpaBufferList,
    dst: *mut CpaBufferList,
    inter: *mut CpaBufferList,
    dc: CpaDcOpData,
    cy: CpaCySymOpData,
    results: Results,
    crcs: bool,
}

impl ChainSession {
    /// The request of both steps.
    unsafe fn request(&self, ask: &Ask) -> Result<Request, Refusal> {
        // SAFETY: the exported function's caller promises all that follows.
        unsafe {
            let (src, dst) = (pieces(ask.src)?, pieces(ask.dst)?);
            check_apart(src, dst)?;
            let inter = if ask.inter.is_null() { &[][..] } else { pieces(ask.inter)? };
            check_apart(src, inter)?;
            check_apart(inter, dst)?;
            let (len, cy) = (length(src), &ask.cy);
            let (src, dst) = (buffers::source(src), buffers::destination(dst));
            let own = ask.inter.is_null();
            let between = |len: usize| match own {
                true => Buf::from(verify::take_spare(len)),
                false => buffers::destination(inter),
            };
            let joined = match &self.crypto {
                Crypto::Hash { session, verify } => {
                    let auth = Span::new(cy.hashStartSrcOffsetInBytes, cy.messageLenToHashInBytes);
                    let packet = Packet { auth, ..Packet::default() };
                    let digest = match verify {
                        true => session.verify(self.aside(packet, cy, false)?, src, Buf::empty()),
                        false => session.digest(packet, src, self.digest(cy)?),
                    };
                    digest.then(Feed::Same, self.compress(ask, Buf::empty(), dst))
                }
                Crypto::Aead(session) if self.chain == Chain::CompressThenAead => {
                    if cy.cryptoStartSrcOffsetInBytes != 0 || cy.messageLenToCipherInBytes != 0 {
                        return Err(Refusal::unsupported(
                            "what is sealed is all that was compressed: offset and length are 0",
                        ));
                    }
                    let packet = Packet {
                        iv: iv(cy)?,
                        cipher: Span::new(0, Packet::REST),
                        tag: Packet::REST,
                        ..Packet::default()
                    };
                    let seal = session.seal(self.aside(packet, cy, true)?, Buf::empty(), dst);
                    let compressed = between(self.codec.bound(len));
                    self.compress(ask, src, compressed).then(Feed::Written, seal)
                }
                Crypto::Aead(session) => {
                    let cipher =
                        Span::new(cy.cryptoStartSrcOffsetInBytes, cy.messageLenToCipherInBytes);
                    let tag = cipher.offset.saturating_add(cipher.len);
                    let packet = Packet { iv: iv(cy)?, cipher, tag, ..Packet::default() };
                    let open = session.open(self.aside(packet, cy, true)?, src, between(len));
                    open.then(Feed::Written, self.codec.decompress(Buf::empty(), dst))
                }
            };
            joined.map_err(|e| Refusal::fail(format!("the steps cannot be chained: {e}")))
        }
    }

    fn compress(&self, ask: &Ask, src: Buf, dst: Buf) -> Request {
        match ask.dc.flushFlag {
            CPA_DC_FLUSH_FINAL => self.codec.compress(src, dst),
            _ => self.codec.compress_piece(src, dst),
        }
    }

    /// Where the digest goes.
    unsafe fn digest(&self, cy: &CpaCySymOpData) -> Result<Buf, Refusal> {
        match cy.pDigestResult.is_null() {
            true => Err(Refusal::invalid("no place for the digest")),
            // SAFETY: the caller's promise: as long as the session says.
            false => Ok(unsafe { Buf::foreign_mut(cy.pDigestResult, self.tag_len) }),
        }
    }

    /// The packet with the associated data, and with its tag where that does not follow the text.
    unsafe fn aside(
        &self,
        packet: Packet,
        cy: &CpaCySymOpData,
        aead: bool,
    ) -> Result<Aside, Refusal> {
        let aad_len = if aead { self.aad_len } else { 0 };
        if aad_len > 0 && cy.pAdditionalAuthData.is_null() {
            return Err(Refusal::invalid("no associated data"));
        }
        // SAFETY: the caller's promise: as long as the session says.
        unsafe {
            let aad = match aad_len {
                0 => Buf::empty(),
                len => Buf::foreign(cy.pAdditionalAuthData, len),
            };
            let tag = if aead && self.appended { Buf::empty() } else { self.digest(cy)? };
            Ok(Aside { packet, aad, tag })
        }
    }
}

/// The nonce, as everywhere in the interface.
unsafe fn iv(cy: &CpaCySymOpData) -> Result<Iv, Refusal> {
    // SAFETY: the caller's promise.
    match unsafe { gcm_nonce(cy.pIv, cy.ivLenInBytes) }? {
        (nonce, true) => Ok(nonce),
        (_, false) => Err(Refusal::unsupported(
            "the first counter block of a chain's AES-GCM ends with a counter of 1",
        )),
    }
}

impl Complete for ChainRequest {
    fn complete(mut self, response: Response) {
        let status = enter("an answer of a chain", || {
            let process = Process::get()?;
            Ok(self.finish(process, response))
        });
        let callback = self.session().and_then(|session| session.callback);
        // The callback may remove the session.
        drop(self.flight.take());
        if let Some(callback) = callback {
            // SAFETY: the program's function, with the tag that it gave.
            unsafe { callback(self.tag, status) };
        }
    }
}

unsafe fn perform(
    handle: CpaInstanceHandle,
    session: CpaDcSessionHandle,
    ask: Ask,
    tag: *mut c_void,
) -> Result<CpaStatus, Refusal> {
    let process = Process::get()?;
    let instance = process.instance(handle, Service::Dc)?;
    // SAFETY: the exported function's caller promises all that follows.
    unsafe {
        instance.check_running()?;
        let session = Session::<ChainSession>::get(session)?;
        let options = Options::new(&ask.dc)?;
        let way = session.chain.way();
        if options.recover && !options.verify && way == Way::Compress {
            return Err(Refusal::invalid("compressAndVerifyAndRecover needs compressAndVerify"));
        }
        if options.skip.is_some() {
            return Err(Refusal::unsupported("a chain leaves nothing out: no CpaDcSkipData"));
        }
        if options.crc.is_some_and(|crc| !crc.wide) {
            return Err(Refusal::unsupported("the integrity CRCs of a chain have 64 bits"));
        }
        if options.recover && session.chain == Chain::CompressThenAead {
            return Err(Refusal::unsupported(
                "compressAndVerifyAndRecover: not before a cipher, which has sealed what was wrong",
            ));
        }
        if options.crc.is_some_and(|crc| crc.check) {
            return Err(Refusal::unsupported("a chain has no verifyHwIntegrityCrcs"));
        }
        let made = session.request(&ask)?;
        let request = ChainRequest {
            instance,
            session,
            flight: Some(session.fly()),
            results: ask.results,
            tag,
            verify: options.verify && way == Way::Compress,
            recover: options.recover,
            fails: options.verify && way == Way::Compress && instance.take_failure(),
            last: options.flush == CPA_DC_FLUSH_FINAL,
            offset: ask.cy.cryptoStartSrcOffsetInBytes as usize,
            crcs: ask.crcs,
            crc: options.crc,
            own: ask.inter.is_null() && session.chain != Chain::HashThenCompress,
        };
        let asked = match way {
            Way::Compress => Counter::DcCompress,
            Way::Decompress => Counter::DcDecompress,
        };
        let status = match session.callback {
            None => request.finish(process, process.call(made)),
            Some(_) => {
                instance.ring.submit(process, true, || made, request)?;
                CPA_STATUS_SUCCESS
            }
        };
        instance.counters.count(asked);
        Ok(status)
    }
}

/// The operation data of both steps, of the first form.
unsafe fn first_form(
    chain: Chain,
    data: *const CpaDcChainOpData,
    number: u8,
) -> Result<(CpaDcOpData, CpaCySymOpData), Refusal> {
    // SAFETY: the exported function's caller promises as many as it says.
    unsafe {
        given(data, NO_DATA)?;
        let data = core::slice::from_raw_parts(data, number.into());
        let (cy, dc) = steps(chain, data, |step| step.opType)?;
        Ok((*given(dc.u.pDcOp, NO_DATA)?, *given(cy.u.pCySymOp, NO_DATA)?))
    }
}

/// The same, of the second form.
unsafe fn second_form(
    chain: Chain,
    data: *const CpaDcChainSubOpData2,
    number: u8,
) -> Result<(CpaDcOpData, CpaCySymOpData), Refusal> {
    // SAFETY: the exported function's caller promises as many as it says.
    unsafe {
        given(data, NO_DATA)?;
        let data = core::slice::from_raw_parts(data, number.into());
        let (cy, dc) = steps(chain, data, |step| step.opType)?;
        let (dc, cy) = (given(dc.u.pDcOp2, NO_DATA)?, given(cy.u.pCySymOp2, NO_DATA)?);
        if dc.appendCRC64 != CPA_FALSE {
            return Err(Refusal::unsupported("appendCRC64 is not there"));
        }
        if cy.deriveCtxData.contextLen != 0 {
            return Err(Refusal::unsupported("keys are not derived: no deriveCtxData"));
        }
        Ok((dc.dcOpData, cy.symOpData))
    }
}

unsafe fn setup_data<'a>(
    data: *const CpaDcChainSessionSetupData,
    number: u8,
) -> Result<&'a [CpaDcChainSessionSetupData], Refusal> {
    // SAFETY: the exported function's caller promises as many as it says.
    unsafe {
        given(data, NO_DATA)?;
        Ok(core::slice::from_raw_parts(data, number.into()))
    }
}

const NO_RESULTS: &str = "no place for the results";

crate::api! {
    fn cpaDcChainGetSessionSize(
        handle: CpaInstanceHandle,
        operation: CpaDcChainOperations,
        number: Cpa8U,
        data: *mut CpaDcChainSessionSetupData,
        size: *mut Cpa32U,
    ) {
        Process::get()?.instance(handle, Service::Dc)?;
        steps(Chain::new(operation)?, setup_data(data, number)?, |step| step.sessType)?;
        *wanted(size, "no place for the size")? = session::SIZE;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcChainInitSession(
        handle: CpaInstanceHandle,
        place: CpaDcSessionHandle,
        operation: CpaDcChainOperations,
        number: Cpa8U,
        data: *mut CpaDcChainSessionSetupData,
        callback: CpaDcCallbackFn,
    ) {
        let process = Process::get()?;
        process.instance(handle, Service::Dc)?;
        let (chain, data) = (Chain::new(operation)?, setup_data(data, number)?);
        Session::begin(place, ChainSession::new(process, chain, data, callback)?)?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcChainSetCrcControlData(
        handle: CpaInstanceHandle,
        place: CpaDcSessionHandle,
        data: *mut CpaCrcControlData,
    ) {
        Process::get()?.instance(handle, Service::Dc)?;
        let session = Session::<ChainSession>::get(place)?;
        *session.crc64.lock() = crc64_of(given(data, "no CRC control data")?);
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcChainResetSession(handle: CpaInstanceHandle, place: CpaDcSessionHandle) {
        Process::get()?.instance(handle, Service::Dc)?;
        // Requests keep nothing for the next one.
        match Session::<ChainSession>::get(place)?.in_flight() {
            0 => Ok(CPA_STATUS_SUCCESS),
            _ => Err(Refusal::RETRY),
        }
    }

    fn cpaDcChainRemoveSession(handle: CpaInstanceHandle, place: CpaDcSessionHandle) {
        Process::get()?.instance(handle, Service::Dc)?;
        Session::<ChainSession>::end(place)?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcChainPerformOp(
        handle: CpaInstanceHandle,
        session: CpaDcSessionHandle,
        src: *mut CpaBufferList,
        dst: *mut CpaBufferList,
        operation: CpaDcChainOperations,
        number: Cpa8U,
        data: *mut CpaDcChainOpData,
        results: *mut CpaDcChainRqResults,
        tag: *mut c_void,
    ) {
        let chain = Chain::new(operation)?;
        if Session::<ChainSession>::get(session)?.chain != chain {
            return Err(Refusal::invalid("the session is of another operation"));
        }
        wanted(results, NO_RESULTS)?;
        let (dc, cy) = first_form(chain, data, number)?;
        let (inter, results) = (core::ptr::null_mut(), Results::First(results));
        perform(handle, session, Ask { src, dst, inter, dc, cy, results, crcs: false }, tag)
    }

    fn cpaDcChainPerformOp2(
        handle: CpaInstanceHandle,
        session: CpaDcSessionHandle,
        src: *mut CpaBufferList,
        dst: *mut CpaBufferList,
        inter: *mut CpaBufferList,
        data: CpaDcChainOpData2,
        results: *mut CpaDcChainRqVResults,
        tag: *mut c_void,
    ) {
        let chain = Chain::new(data.operation)?;
        if Session::<ChainSession>::get(session)?.chain != chain {
            return Err(Refusal::invalid("the session is of another operation"));
        }
        wanted(results, NO_RESULTS)?;
        let (dc, cy) = second_form(chain, data.pChainOpData, data.numOpDatas)?;
        let crcs = data.testIntegrity != CPA_FALSE;
        let results = Results::More(results);
        perform(handle, session, Ask { src, dst, inter, dc, cy, results, crcs }, tag)
    }
}
