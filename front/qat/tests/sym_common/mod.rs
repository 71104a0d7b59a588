//! Sessions and requests of tests, through the exported functions.
#![allow(dead_code)]

use std::{
    ffi::c_void,
    ptr,
    sync::{
        Once,
        atomic::{AtomicU32, Ordering},
    },
};

use lookaside_qat::{abi::*, cy::sym::*, discovery::*, sal::*};

pub mod oracle;

/// A small generator of test data (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// An instance that no other test of the process has.
pub fn instance() -> CpaInstanceHandle {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    static ONCE: Once = Once::new();
    // SAFETY: before the library, and thus anything that reads it, is first called.
    ONCE.call_once(|| unsafe { std::env::set_var("LOOKASIDE_QAT_CY_INSTANCES", "32") });
    let mut n = 0;
    // SAFETY: memory of this function's.
    unsafe {
        assert_eq!(cpaCyGetNumInstances(&mut n), CPA_STATUS_SUCCESS);
        let mut all = vec![ptr::null_mut(); n.into()];
        assert_eq!(cpaCyGetInstances(n, all.as_mut_ptr()), CPA_STATUS_SUCCESS);
        let mine = NEXT.fetch_add(1, Ordering::Relaxed) as usize;
        assert!(mine < all.len(), "more tests in a file than instances");
        assert_eq!(cpaCyStartInstance(all[mine]), CPA_STATUS_SUCCESS);
        all[mine]
    }
}

/// What a session is set up for.
#[derive(Clone)]
pub struct Spec {
    pub op: CpaCySymOp,
    pub cipher: CpaCySymCipherAlgorithm,
    pub cipher_key: Vec<u8>,
    pub encrypt: bool,
    pub hash: CpaCySymHashAlgorithm,
    pub mode: CpaCySymHashMode,
    pub hash_key: Vec<u8>,
    pub outer: (CpaCySymHashAlgorithm, Vec<u8>),
    pub digest_len: u32,
    pub aad_len: u32,
    pub cipher_first: bool,
    pub appended: bool,
    pub verify: bool,
}

impl Spec {
    pub fn cipher(cipher: CpaCySymCipherAlgorithm, key: &[u8], encrypt: bool) -> Spec {
        Spec {
            op: CPA_CY_SYM_OP_CIPHER,
            cipher,
            cipher_key: key.to_vec(),
            encrypt,
            hash: CPA_CY_SYM_HASH_NONE,
            mode: CPA_CY_SYM_HASH_MODE_PLAIN,
            hash_key: Vec::new(),
            outer: (CPA_CY_SYM_HASH_NONE, Vec::new()),
            digest_len: 0,
            aad_len: 0,
            cipher_first: true,
            appended: false,
            verify: false,
        }
    }

    pub fn hash(
        hash: CpaCySymHashAlgorithm,
        mode: CpaCySymHashMode,
        key: &[u8],
        digest_len: usize,
    ) -> Spec {
        Spec {
            op: CPA_CY_SYM_OP_HASH,
            hash,
            mode,
            hash_key: key.to_vec(),
            digest_len: digest_len as u32,
            ..Spec::cipher(CPA_CY_SYM_CIPHER_NULL, &[], true)
        }
    }

    pub fn chain(cipher: &Spec, hash: &Spec, cipher_first: bool) -> Spec {
        Spec {
            op: CPA_CY_SYM_OP_ALGORITHM_CHAINING,
            cipher: cipher.cipher,
            cipher_key: cipher.cipher_key.clone(),
            encrypt: cipher.encrypt,
            cipher_first,
            ..hash.clone()
        }
    }

    pub fn data(&self) -> CpaCySymSessionSetupData {
        let pointer = |bytes: &[u8]| bytes.as_ptr().cast_mut();
        CpaCySymSessionSetupData {
            sessionPriority: CPA_CY_PRIORITY_NORMAL,
            symOperation: self.op,
            cipherSetupData: CpaCySymCipherSetupData {
                cipherAlgorithm: self.cipher,
                cipherKeyLenInBytes: self.cipher_key.len() as u32,
                pCipherKey: pointer(&self.cipher_key),
                cipherDirection: match self.encrypt {
                    true => CPA_CY_SYM_CIPHER_DIRECTION_ENCRYPT,
                    false => CPA_CY_SYM_CIPHER_DIRECTION_DECRYPT,
                },
            },
            hashSetupData: CpaCySymHashSetupData {
                hashAlgorithm: self.hash,
                hashMode: self.mode,
                digestResultLenInBytes: self.digest_len,
                authModeSetupData: CpaCySymHashAuthModeSetupData {
                    authKey: pointer(&self.hash_key),
                    authKeyLenInBytes: self.hash_key.len() as u32,
                    aadLenInBytes: self.aad_len,
                },
                nestedModeSetupData: CpaCySymHashNestedModeSetupData {
                    pInnerPrefixData: pointer(&self.hash_key),
                    innerPrefixLenInBytes: self.hash_key.len() as u32,
                    outerHashAlgorithm: self.outer.0,
                    pOuterPrefixData: pointer(&self.outer.1),
                    outerPrefixLenInBytes: self.outer.1.len() as u32,
                },
            },
            algChainOrder: match self.cipher_first {
                true => CPA_CY_SYM_ALG_CHAIN_ORDER_CIPHER_THEN_HASH,
                false => CPA_CY_SYM_ALG_CHAIN_ORDER_HASH_THEN_CIPHER,
            },
            digestIsAppended: flag(self.appended),
            verifyDigest: flag(self.verify),
            partialsNotRequired: CPA_FALSE,
        }
    }
}

pub fn flag(on: bool) -> CpaBoolean {
    if on { CPA_TRUE } else { CPA_FALSE }
}

/// Which functions submit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Path {
    Callback,
    Waiting,
    DataPlane,
}

/// A session, in memory that is misaligned.
pub struct Session {
    pub instance: CpaInstanceHandle,
    pub path: Path,
    op: CpaCySymOp,
    memory: Box<[u8]>,
}

impl Session {
    pub fn try_new(
        instance: CpaInstanceHandle,
        path: Path,
        spec: &Spec,
    ) -> Result<Session, CpaStatus> {
        let (data, mut size) = (spec.data(), 0);
        // SAFETY: memory of this function's, and of the session for as long as it lives.
        unsafe {
            let asked = match path {
                Path::DataPlane => cpaCySymDpSessionCtxGetSize(instance, &data, &mut size),
                _ => cpaCySymSessionCtxGetSize(instance, &data, &mut size),
            };
            assert_eq!(asked, CPA_STATUS_SUCCESS);
            let memory = vec![0; size as usize + 1].into_boxed_slice();
            let session = Session { instance, path, op: spec.op, memory };
            let status = match path {
                Path::DataPlane => {
                    cpaCySymDpRegCbFunc(instance, Some(dp_done));
                    cpaCySymDpInitSession(instance, &data, session.handle())
                }
                Path::Callback => {
                    cpaCySymInitSession(instance, Some(done), &data, session.handle())
                }
                Path::Waiting => cpaCySymInitSession(instance, None, &data, session.handle()),
            };
            if status == CPA_STATUS_SUCCESS { Ok(session) } else { Err(status) }
        }
    }

    /// With a callback, and this set-up in place of the specification's.
    pub fn with_data(
        instance: CpaInstanceHandle,
        spec: &Spec,
        data: &CpaCySymSessionSetupData,
    ) -> Session {
        let memory = vec![0; 65].into_boxed_slice();
        let session = Session { instance, path: Path::Callback, op: spec.op, memory };
        // SAFETY: as above.
        let status = unsafe { cpaCySymInitSession(instance, Some(done), data, session.handle()) };
        assert_eq!(status, CPA_STATUS_SUCCESS);
        session
    }

    pub fn new(instance: CpaInstanceHandle, path: Path, spec: &Spec) -> Session {
        Session::try_new(instance, path, spec).unwrap()
    }

    pub fn handle(&self) -> *mut c_void {
        self.memory.as_ptr().wrapping_add(1).cast_mut().cast()
    }

    pub fn remove(&self) -> CpaStatus {
        // SAFETY: the memory is there.
        unsafe {
            match self.path {
                Path::DataPlane => cpaCySymDpRemoveSession(self.instance, self.handle()),
                _ => cpaCySymRemoveSession(self.instance, self.handle()),
            }
        }
    }
}

/// What a callback has said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    pub status: CpaStatus,
    pub verified: bool,
}

/// A callback's tag: where it says so, how often it came, and what it must get.
#[derive(Default)]
pub struct Tag {
    pub outcome: Option<Outcome>,
    pub count: u32,
    data: usize,
    dst: usize,
    op: i32,
}

impl Tag {
    /// Whether the callback came: it writes by a pointer of its own.
    pub fn is_answered(&self) -> bool {
        // SAFETY: a field of this value.
        unsafe { (&raw const self.count).read_volatile() > 0 }
    }
}

pub unsafe extern "C" fn done(
    tag: *mut c_void,
    status: CpaStatus,
    op: CpaCySymOp,
    data: *mut c_void,
    dst: *mut CpaBufferList,
    verified: CpaBoolean,
) {
    // SAFETY: the tag of a test's request.
    let tag = unsafe { &mut *tag.cast::<Tag>() };
    assert_eq!((tag.data, tag.dst, tag.op), (data.addr(), dst.addr(), op.0));
    tag.outcome = Some(Outcome { status, verified: verified == CPA_TRUE });
    tag.count += 1;
}

pub unsafe extern "C" fn dp_done(
    data: *mut CpaCySymDpOpData,
    status: CpaStatus,
    verified: CpaBoolean,
) {
    // SAFETY: as above.
    let tag = unsafe { &mut *(*data).pCallbackTag.cast::<Tag>() };
    assert_eq!(tag.data, data.addr());
    tag.outcome = Some(Outcome { status, verified: verified == CPA_TRUE });
    tag.count += 1;
}

/// Memory cut into pieces, each of which is an allocation with bytes around that nobody may touch.
pub struct Memory {
    pieces: Vec<(Vec<u8>, usize)>,
    flats: Vec<CpaFlatBuffer>,
    list: Box<CpaBufferList>,
    physical: Vec<u64>,
}

const GUARD: u8 = 0xa5;

impl Memory {
    /// Bytes, cut at these places; misaligned by `shift`.
    pub fn new(bytes: &[u8], cuts: &[usize], shift: usize) -> Memory {
        let mut pieces = Vec::new();
        let mut at = 0;
        for &cut in cuts.iter().chain([&bytes.len()]) {
            let mut piece = vec![GUARD; shift];
            piece.extend_from_slice(&bytes[at..cut]);
            piece.extend([GUARD; 9]);
            pieces.push((piece, shift));
            at = cut;
        }
        let flat = |(piece, shift): &mut (Vec<u8>, usize)| CpaFlatBuffer {
            dataLenInBytes: (piece.len() - *shift - 9) as u32,
            pData: piece.as_mut_ptr().wrapping_add(*shift),
        };
        let mut flats: Vec<_> = pieces.iter_mut().map(flat).collect();
        let list = Box::new(CpaBufferList {
            numBuffers: flats.len() as u32,
            pBuffers: flats.as_mut_ptr(),
            pUserData: ptr::null_mut(),
            pPrivateMetaData: ptr::null_mut(),
        });
        // CpaPhysBufferList: a word, the number of buffers, padding; then 4 + 4 + 8 bytes a buffer.
        let mut physical = vec![0, flats.len() as u64];
        for flat in &flats {
            physical.push(u64::from(flat.dataLenInBytes));
            physical.push(flat.pData.expose_provenance() as u64);
        }
        Memory { pieces, flats, list, physical }
    }

    pub fn list(&self) -> *mut CpaBufferList {
        ptr::from_ref(&*self.list).cast_mut()
    }

    pub fn flat(&self, n: usize) -> CpaFlatBuffer {
        self.flats[n]
    }

    /// Address and length as the data plane has them.
    fn physical(&self) -> (u64, u32) {
        match self.flats[..] {
            [one] => (one.pData.expose_provenance() as u64, one.dataLenInBytes),
            _ => (self.physical.as_ptr().expose_provenance() as u64, CPA_DP_BUFLIST),
        }
    }

    /// What is in it now.
    pub fn bytes(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for ((piece, shift), flat) in self.pieces.iter().zip(&self.flats) {
            // SAFETY: memory of this structure's; written through the pointer alone.
            let whole =
                unsafe { std::slice::from_raw_parts(flat.pData.wrapping_sub(*shift), piece.len()) };
            let end = whole.len() - 9;
            assert!(whole[..*shift].iter().chain(&whole[end..]).all(|b| *b == GUARD));
            all.extend_from_slice(&whole[*shift..end]);
        }
        all
    }
}

/// One request.
pub struct Request {
    pub data: CpaCySymOpData,
    dp: CpaCySymDpOpData,
    pub tag: Tag,
}

impl Request {
    /// A request of a session with no regions.
    pub fn new(session: &Session) -> Box<Request> {
        Box::new(Request {
            data: CpaCySymOpData {
                sessionCtx: session.handle(),
                packetType: CPA_CY_SYM_PACKET_TYPE_FULL,
                pIv: ptr::null_mut(),
                ivLenInBytes: 0,
                cryptoStartSrcOffsetInBytes: 0,
                messageLenToCipherInBytes: 0,
                hashStartSrcOffsetInBytes: 0,
                messageLenToHashInBytes: 0,
                pDigestResult: ptr::null_mut(),
                pAdditionalAuthData: ptr::null_mut(),
            },
            // SAFETY: integers and pointers.
            dp: unsafe { std::mem::zeroed() },
            tag: Tag::default(),
        })
    }

    pub fn cipher(mut self: Box<Self>, offset: usize, len: usize) -> Box<Self> {
        self.data.cryptoStartSrcOffsetInBytes = offset as u32;
        self.data.messageLenToCipherInBytes = len as u32;
        self
    }

    pub fn hash(mut self: Box<Self>, offset: usize, len: usize) -> Box<Self> {
        self.data.hashStartSrcOffsetInBytes = offset as u32;
        self.data.messageLenToHashInBytes = len as u32;
        self
    }

    pub fn iv(mut self: Box<Self>, memory: &mut [u8], len: usize) -> Box<Self> {
        self.data.pIv = if memory.is_empty() { ptr::null_mut() } else { memory.as_mut_ptr() };
        self.data.ivLenInBytes = len as u32;
        self
    }

    pub fn aad(mut self: Box<Self>, memory: &mut [u8]) -> Box<Self> {
        self.data.pAdditionalAuthData =
            if memory.is_empty() { ptr::null_mut() } else { memory.as_mut_ptr() };
        self
    }

    pub fn digest(mut self: Box<Self>, memory: &mut [u8]) -> Box<Self> {
        self.data.pDigestResult = memory.as_mut_ptr();
        self
    }

    pub fn packet(mut self: Box<Self>, kind: CpaCySymPacketType) -> Box<Self> {
        self.data.packetType = kind;
        self
    }

    /// The same for the data plane.
    pub fn dp(&mut self, session: &Session, src: &Memory, dst: &Memory) -> *mut CpaCySymDpOpData {
        let phys = |pointer: *mut u8| pointer.expose_provenance() as u64;
        let (d, (s, s_len), (t, t_len)) = (&self.data, src.physical(), dst.physical());
        self.dp = CpaCySymDpOpData {
            reserved0: 0,
            cryptoStartSrcOffsetInBytes: d.cryptoStartSrcOffsetInBytes,
            messageLenToCipherInBytes: d.messageLenToCipherInBytes,
            iv: phys(d.pIv),
            reserved1: 0,
            hashStartSrcOffsetInBytes: d.hashStartSrcOffsetInBytes,
            messageLenToHashInBytes: d.messageLenToHashInBytes,
            additionalAuthData: phys(d.pAdditionalAuthData),
            digestResult: phys(d.pDigestResult),
            instanceHandle: session.instance,
            sessionCtx: session.handle(),
            ivLenInBytes: d.ivLenInBytes,
            srcBuffer: s,
            srcBufferLen: s_len,
            dstBuffer: t,
            dstBufferLen: t_len,
            thisPhys: 0,
            // One of both is enough.
            pIv: if s_len % 2 == 0 { d.pIv } else { ptr::null_mut() },
            pAdditionalAuthData: ptr::null_mut(),
            pCallbackTag: ptr::from_mut(&mut self.tag).cast(),
        };
        self.tag.data = ptr::from_ref(&self.dp).addr();
        ptr::from_mut(&mut self.dp)
    }

    /// What the callback must get.
    pub fn expect(&mut self, session: &Session, dst: *mut CpaBufferList) {
        self.tag.data = ptr::from_ref(&self.data).addr();
        (self.tag.dst, self.tag.op) = (dst.addr(), session.op.0);
    }

    /// Submits it. Of a session without a callback, it is done then.
    pub fn submit(&mut self, session: &Session, src: &Memory, dst: &Memory) -> CpaStatus {
        self.submit_lists(session, src.list(), dst.list(), (src, dst))
    }

    fn submit_lists(
        &mut self,
        session: &Session,
        src: *mut CpaBufferList,
        dst: *mut CpaBufferList,
        both: (&Memory, &Memory),
    ) -> CpaStatus {
        // SAFETY: memory of the test's, for as long as it waits for the answer.
        unsafe {
            if session.path == Path::DataPlane {
                return cpaCySymDpEnqueueOp(self.dp(session, both.0, both.1), CPA_TRUE);
            }
            self.expect(session, dst);
            let mut verified = CpaBoolean(77);
            let tag = ptr::from_mut(&mut self.tag).cast();
            let status =
                cpaCySymPerformOp(session.instance, tag, &self.data, src, dst, &mut verified);
            if session.path == Path::Waiting && status == CPA_STATUS_SUCCESS {
                self.tag.count += 1;
                self.tag.outcome = Some(Outcome { status, verified: verified == CPA_TRUE });
            }
            status
        }
    }

    /// Submits it and polls until it is answered.
    pub fn run(
        &mut self,
        session: &Session,
        src: &Memory,
        dst: &Memory,
    ) -> Result<Outcome, CpaStatus> {
        match self.submit(session, src, dst) {
            CPA_STATUS_SUCCESS => {}
            refused => return Err(refused),
        }
        self.wait(session);
        assert_eq!(self.tag.count, 1, "called back once");
        Ok(self.tag.outcome.unwrap())
    }

    /// Polls until it is answered. With engines that takes its time.
    pub fn wait(&self, session: &Session) {
        while !self.tag.is_answered() {
            if !poll(session.instance) {
                std::thread::yield_now();
            }
        }
    }
}

/// Polls an instance. Whether something was there.
pub fn poll(instance: CpaInstanceHandle) -> bool {
    // SAFETY: a handle.
    match unsafe { icp_sal_CyPollInstance(instance, 0) } {
        CPA_STATUS_SUCCESS => true,
        CPA_STATUS_RETRY => false,
        other => panic!("poll: {other}"),
    }
}
