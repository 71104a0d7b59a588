//! Chains of compression and cryptography, judged by zlib and OpenSSL.

mod common;

use std::{
    ffi::c_void,
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use common::*;
use lookaside_qat::{
    abi::*,
    dc::{calls::*, chain::*, session::*},
};
use openssl_sys as ssl;

/// A simulated failure is of the whole instance: one test that verifies at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    let mut digest = vec![0; 32];
    // SAFETY: as many bytes as said, and 32 of the digest.
    unsafe { ssl::SHA256(bytes.as_ptr(), bytes.len(), digest.as_mut_ptr()) };
    digest
}

/// AES-256-GCM by OpenSSL: the ciphertext, and the tag.
fn seal(key: &[u8; 32], nonce: &[u8; 12], aad: &[u8], plain: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut out, mut tag, mut len) = (vec![0; plain.len() + 16], vec![0; 16], 0);
    // SAFETY: OpenSSL's own object, and buffers of these lengths.
    unsafe {
        let c = ssl::EVP_CIPHER_CTX_new();
        let gcm = ssl::EVP_aes_256_gcm();
        let none = ptr::null_mut();
        assert_eq!(ssl::EVP_EncryptInit_ex(c, gcm, none, key.as_ptr(), nonce.as_ptr()), 1);
        let n = aad.len() as i32;
        assert_eq!(ssl::EVP_EncryptUpdate(c, ptr::null_mut(), &raw mut len, aad.as_ptr(), n), 1);
        let n = plain.len() as i32;
        assert_eq!(ssl::EVP_EncryptUpdate(c, out.as_mut_ptr(), &raw mut len, plain.as_ptr(), n), 1);
        out.truncate(len as usize);
        assert_eq!(ssl::EVP_EncryptFinal_ex(c, tag.as_mut_ptr(), &raw mut len), 1);
        let get = ssl::EVP_CTRL_GCM_GET_TAG;
        assert_eq!(ssl::EVP_CIPHER_CTX_ctrl(c, get, 16, tag.as_mut_ptr().cast()), 1);
        ssl::EVP_CIPHER_CTX_free(c);
    }
    (out, tag)
}

struct Chain {
    memory: Box<[u64; 9]>,
    dc: CpaDcSessionSetupData,
    cy: CpaCySymSessionSetupData,
    operation: CpaDcChainOperations,
}

impl Chain {
    fn new(
        operation: CpaDcChainOperations,
        dc: CpaDcSessionSetupData,
        cy: CpaCySymSessionSetupData,
        callback: CpaDcCallbackFn,
    ) -> Result<Chain, CpaStatus> {
        let mut chain = Chain { memory: Box::new([0; 9]), dc, cy, operation };
        let mut data = chain.data();
        let (mut size, n, at) = (0, data.len() as u8, data.as_mut_ptr());
        // SAFETY: structures of this function's.
        unsafe {
            let status = cpaDcChainGetSessionSize(DEFAULT, operation, n, at, &raw mut size);
            if status != CPA_STATUS_SUCCESS {
                return Err(status);
            }
            assert!(size <= 72);
            let place = chain.handle();
            match cpaDcChainInitSession(DEFAULT, place, operation, n, at, callback) {
                CPA_STATUS_SUCCESS => Ok(chain),
                status => Err(status),
            }
        }
    }

    fn data(&mut self) -> Vec<CpaDcChainSessionSetupData> {
        let dc = CpaDcChainSessionSetupData {
            sessType: CPA_DC_CHAIN_COMPRESS_DECOMPRESS,
            u: CpaDcChainSessionSetupDataUnion { pDcSetupData: &raw mut self.dc },
        };
        let cy = CpaDcChainSessionSetupData {
            sessType: CPA_DC_CHAIN_SYMMETRIC_CRYPTO,
            u: CpaDcChainSessionSetupDataUnion { pCySetupData: &raw mut self.cy },
        };
        match self.operation {
            CPA_DC_CHAIN_COMPRESS_THEN_AEAD => vec![dc, cy],
            _ => vec![cy, dc],
        }
    }

    fn handle(&mut self) -> *mut c_void {
        self.memory.as_mut_ptr().cast()
    }

    fn perform(
        &mut self,
        src: &mut List,
        dst: &mut List,
        dc: &mut CpaDcOpData,
        cy: &mut CpaCySymOpData,
    ) -> (CpaStatus, CpaDcChainRqResults) {
        let dc = CpaDcChainOpData {
            opType: CPA_DC_CHAIN_COMPRESS_DECOMPRESS,
            u: CpaDcChainOpDataUnion { pDcOp: dc },
        };
        let cy = CpaDcChainOpData {
            opType: CPA_DC_CHAIN_SYMMETRIC_CRYPTO,
            u: CpaDcChainOpDataUnion { pCySymOp: cy },
        };
        let mut data = match self.operation {
            CPA_DC_CHAIN_COMPRESS_THEN_AEAD => [dc, cy],
            _ => [cy, dc],
        };
        let (operation, handle) = (self.operation, self.handle());
        // SAFETY: structures that outlive this call, of synchronous sessions.
        unsafe {
            let mut results: CpaDcChainRqResults = std::mem::zeroed();
            let (s, d, o, r) = (src.get(), dst.get(), data.as_mut_ptr(), &raw mut results);
            let tag = ptr::null_mut();
            let status = cpaDcChainPerformOp(DEFAULT, handle, s, d, operation, 2, o, r, tag);
            (status, results)
        }
    }

    fn perform2(
        &mut self,
        (src, dst, inter): (&mut List, &mut List, Option<&mut List>),
        dc: &mut CpaDcOpData2,
        cy: &mut CpaCySymOpData2,
        tag: *mut c_void,
        results: &mut CpaDcChainRqVResults,
    ) -> CpaStatus {
        let dc = CpaDcChainSubOpData2 {
            opType: CPA_DC_CHAIN_COMPRESS_DECOMPRESS,
            u: CpaDcChainSubOpData2Union { pDcOp2: dc },
        };
        let cy = CpaDcChainSubOpData2 {
            opType: CPA_DC_CHAIN_SYMMETRIC_CRYPTO,
            u: CpaDcChainSubOpData2Union { pCySymOp2: cy },
        };
        let mut data = match self.operation {
            CPA_DC_CHAIN_COMPRESS_THEN_AEAD => [dc, cy],
            _ => [cy, dc],
        };
        let data = CpaDcChainOpData2 {
            testIntegrity: CPA_TRUE,
            operation: self.operation,
            numOpDatas: 2,
            pChainOpData: data.as_mut_ptr(),
        };
        let inter = inter.map_or(ptr::null_mut(), List::get);
        let handle = self.handle();
        // SAFETY: as above; operation data are read when the request is made.
        unsafe {
            let (s, d) = (src.get(), dst.get());
            cpaDcChainPerformOp2(DEFAULT, handle, s, d, inter, data, results, tag)
        }
    }

    fn remove(&mut self) -> CpaStatus {
        let handle = self.handle();
        // SAFETY: memory of a session's size.
        unsafe { cpaDcChainRemoveSession(DEFAULT, handle) }
    }
}

/// A set-up of cryptography with zeros; the pointers are null.
fn nothing() -> CpaCySymSessionSetupData {
    // SAFETY: integers and pointers.
    unsafe { std::mem::zeroed() }
}

fn hash(algorithm: CpaCySymHashAlgorithm, len: u32) -> CpaCySymSessionSetupData {
    let mut cy = nothing();
    cy.symOperation = CPA_CY_SYM_OP_HASH;
    cy.hashSetupData.hashAlgorithm = algorithm;
    cy.hashSetupData.hashMode = CPA_CY_SYM_HASH_MODE_PLAIN;
    cy.hashSetupData.digestResultLenInBytes = len;
    cy
}

fn gcm(
    key: &mut [u8; 32],
    aad: u32,
    appended: bool,
    direction: CpaCySymCipherDirection,
) -> CpaCySymSessionSetupData {
    let mut cy = nothing();
    cy.symOperation = CPA_CY_SYM_OP_ALGORITHM_CHAINING;
    cy.cipherSetupData.cipherAlgorithm = CPA_CY_SYM_CIPHER_AES_GCM;
    cy.cipherSetupData.cipherDirection = direction;
    cy.cipherSetupData.cipherKeyLenInBytes = 32;
    cy.cipherSetupData.pCipherKey = key.as_mut_ptr();
    cy.hashSetupData.hashAlgorithm = CPA_CY_SYM_HASH_AES_GCM;
    cy.hashSetupData.digestResultLenInBytes = 16;
    cy.hashSetupData.authModeSetupData.aadLenInBytes = aad;
    cy.digestIsAppended = if appended { CPA_TRUE } else { CPA_FALSE };
    cy
}

fn cy_op() -> CpaCySymOpData2 {
    // SAFETY: integers and pointers.
    unsafe { std::mem::zeroed() }
}

const SEALS: CpaCySymCipherDirection = CPA_CY_SYM_CIPHER_DIRECTION_ENCRYPT;
const OPENS: CpaCySymCipherDirection = CPA_CY_SYM_CIPHER_DIRECTION_DECRYPT;

#[test]
fn hash_then_compress() {
    let _alone = alone();
    start();
    let input = text(100_000);
    for (flush, split) in [(CPA_DC_FLUSH_FINAL, &[][..]), (CPA_DC_FLUSH_FULL, &[7, 50_000])] {
        let operation = CPA_DC_CHAIN_HASH_THEN_COMPRESS;
        let data = CpaDcSessionSetupData { checksum: CPA_DC_CRC32_ADLER32, ..setup() };
        let mut chain =
            Chain::new(operation, data, hash(CPA_CY_SYM_HASH_SHA256, 32), None).ok().unwrap();
        let mut digest = [0_u8; 32];
        let mut cy = cy_op().symOpData;
        (cy.hashStartSrcOffsetInBytes, cy.messageLenToHashInBytes) = (10, 99_000);
        cy.pDigestResult = digest.as_mut_ptr();
        let mut dc = op(flush);
        dc.compressAndVerify = CPA_TRUE;
        let mut src = List::split(input.clone(), split);
        let mut dst = List::split(vec![0; bound(input.len())], split);
        let (status, r) = chain.perform(&mut src, &mut dst, &mut dc, &mut cy);
        assert_eq!((status, r.dcStatus, r.cyStatus), (CPA_STATUS_SUCCESS, CPA_DC_OK, 0));
        assert_eq!((r.verifyResult, r.consumed), (CPA_TRUE, 100_000));
        assert_eq!((r.crc32, r.adler32), (crc32(&input), adler32(&input)));
        assert_eq!(digest.to_vec(), sha256(&input[10..99_010]));
        let small = dst.first(r.produced);
        let plain = match flush {
            CPA_DC_FLUSH_FINAL => inflate(small, -15, None).unwrap(),
            _ => inflate_pieces(small),
        };
        assert!(plain == input);
        // What is wrong is withheld, or replaced by stored blocks.
        for recovers in [CPA_FALSE, CPA_TRUE] {
            dc.compressAndVerifyAndRecover = recovers;
            // SAFETY: the default instance.
            assert_eq!(unsafe { icp_sal_ns_cnv_simulate_error(DEFAULT) }, CPA_STATUS_SUCCESS);
            let (status, r) = chain.perform(&mut src, &mut dst, &mut dc, &mut cy);
            if recovers == CPA_FALSE {
                assert_eq!((status, r.dcStatus), (CPA_STATUS_FAIL, CPA_DC_VERIFY_ERROR));
                continue;
            }
            assert_eq!((status, r.dcStatus, r.cyStatus), (CPA_STATUS_SUCCESS, CPA_DC_OK, 0));
            assert_eq!((r.consumed, r.crc32, r.adler32), (100_000, crc32(&input), adler32(&input)));
            let stored = dst.first(r.produced);
            assert!(stored.len() > 100_000 && stored[0] >> 1 & 3 == 0);
            let plain = match flush {
                CPA_DC_FLUSH_FINAL => inflate(stored, -15, None).unwrap(),
                _ => inflate_pieces(stored),
            };
            assert!(plain == input);
            // For which there has to be room.
            // SAFETY: as above.
            assert_eq!(unsafe { icp_sal_ns_cnv_simulate_error(DEFAULT) }, CPA_STATUS_SUCCESS);
            let mut little = List::room(100_000);
            let (status, r) = chain.perform(&mut src, &mut little, &mut dc, &mut cy);
            assert_eq!((status, r.dcStatus, r.produced), (CPA_STATUS_FAIL, CPA_DC_OVERFLOW, 0));
        }
        dc.compressAndVerifyAndRecover = CPA_FALSE;
        // Too little room, and a region that is not there.
        let (status, r) = chain.perform(&mut src, &mut List::room(100), &mut dc, &mut cy);
        assert_eq!((status, r.dcStatus), (CPA_STATUS_FAIL, CPA_DC_OVERFLOW));
        cy.messageLenToHashInBytes = 100_000;
        let (status, r) = chain.perform(&mut src, &mut dst, &mut dc, &mut cy);
        assert_eq!((status, r.cyStatus), (CPA_STATUS_FAIL, CPA_STATUS_INVALID_PARAM));
        assert_eq!((r.produced, r.verifyResult), (0, CPA_FALSE));

        // A digest that is compared.
        let verifying =
            CpaCySymSessionSetupData { verifyDigest: CPA_TRUE, ..hash(CPA_CY_SYM_HASH_SHA256, 32) };
        let mut chain = Chain::new(operation, data, verifying, None).ok().unwrap();
        cy.messageLenToHashInBytes = 99_000;
        let (status, r) = chain.perform(&mut src, &mut dst, &mut dc, &mut cy);
        assert_eq!((status, r.verifyResult), (CPA_STATUS_SUCCESS, CPA_TRUE));
        digest[5] ^= 1;
        cy.pDigestResult = digest.as_mut_ptr();
        let (status, r) = chain.perform(&mut src, &mut dst, &mut dc, &mut cy);
        assert_eq!((status, r.verifyResult, r.produced), (CPA_STATUS_FAIL, CPA_FALSE, 0));
        assert_eq!(chain.remove(), CPA_STATUS_SUCCESS);
        assert_eq!(chain.remove(), CPA_STATUS_INVALID_PARAM);
    }
}

#[test]
fn compress_then_seal_and_back() {
    let _alone = alone();
    let (mut key, mut aad) = ([7_u8; 32], *b"twelve bytes");
    let mut nonce = *b"nonce of 12.";
    let input = text(100_000);
    for (own, appended) in [(false, false), (true, false), (false, true)] {
        let there = CPA_DC_CHAIN_COMPRESS_THEN_AEAD;
        let cy = gcm(&mut key, 12, appended, SEALS);
        let called = Called::default();
        let mut chain = Chain::new(there, setup(), cy, Some(note)).ok().unwrap();
        let (mut src, mut inter) = (List::new(input.clone()), List::room(bound(input.len())));
        let mut dst = List::room(bound(input.len()) + 16);
        // SAFETY: integers and pointers.
        let (mut dc, mut r): (CpaDcOpData2, CpaDcChainRqVResults) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        dc.dcOpData = op(CPA_DC_FLUSH_FINAL);
        dc.dcOpData.compressAndVerify = CPA_TRUE;
        let (mut cy, mut tag) = (cy_op(), [0_u8; 16]);
        let sym = &mut cy.symOpData;
        (sym.pIv, sym.ivLenInBytes) = (nonce.as_mut_ptr(), 12);
        (sym.pAdditionalAuthData, sym.pDigestResult) = (aad.as_mut_ptr(), tag.as_mut_ptr());
        let between = if own { None } else { Some(&mut *inter) };
        let buffers = (&mut *src, &mut *dst, between);
        let status = chain.perform2(buffers, &mut dc, &mut cy, called.tag(), &mut r);
        assert_eq!(status, CPA_STATUS_SUCCESS);
        assert_eq!(chain.remove(), CPA_STATUS_RETRY);
        poll_until(DEFAULT, || called.count() == 1);
        let first = r.chainRqResults;
        assert_eq!((r.chainStatus, first.dcStatus, first.cyStatus), (0, CPA_DC_OK, 0));
        assert_eq!((first.consumed, first.crc32), (100_000, crc32(&input)));
        let n = first.produced as usize;
        let small = compressed_as(&input);
        let (sealed, expected) = seal(&key, &nonce, &aad, &small);
        assert_eq!(n, sealed.len());
        assert!(dst.bytes[..n] == sealed);
        assert_eq!(if appended { dst.bytes[n..n + 16].to_vec() } else { tag.to_vec() }, expected);
        assert!(own || inter.bytes[..n] == small);
        let crcs = (r.iDcCrc64, r.oDcCrc64);
        assert!(crcs.0 != 0 && crcs.1 != 0 && crcs.0 != crcs.1);

        // Back, from an offset.
        let back = CPA_DC_CHAIN_AEAD_THEN_DECOMPRESS;
        let mut opened =
            Chain::new(back, setup(), gcm(&mut key, 12, appended, OPENS), None).ok().unwrap();
        let mut packed = [&[0xaa; 5][..], &sealed].concat();
        if appended {
            packed.extend_from_slice(&expected);
        }
        let sym = &mut cy.symOpData;
        (sym.cryptoStartSrcOffsetInBytes, sym.messageLenToCipherInBytes) = (5, n as u32);
        dc.dcOpData.compressAndVerify = CPA_FALSE;
        let none = ptr::null_mut();
        let mut plain = List::room(input.len());
        let buffers = (&mut *List::new(packed.clone()), &mut *plain, None);
        let status = opened.perform2(buffers, &mut dc, &mut cy, none, &mut r);
        assert_eq!((status, r.chainRqResults.verifyResult), (CPA_STATUS_SUCCESS, CPA_TRUE));
        assert_eq!(r.chainRqResults.crc32, crc32(&input));
        assert!(plain.bytes == input);
        assert_eq!((r.oDcCrc64, r.iDcCrc64), crcs);
        // The first counter block in place of the nonce; no other counter, and no other length.
        let mut block = [&nonce[..], &[0, 0, 0, 1]].concat();
        for (counter, len, expected) in [
            (1, 16, CPA_STATUS_SUCCESS),
            (2, 16, CPA_STATUS_UNSUPPORTED),
            (1, 13, CPA_STATUS_INVALID_PARAM),
            (1, 8, CPA_STATUS_INVALID_PARAM),
        ] {
            block[15] = counter;
            (cy.symOpData.pIv, cy.symOpData.ivLenInBytes) = (block.as_mut_ptr(), len);
            let buffers = (&mut *List::new(packed.clone()), &mut *plain, None);
            let status = opened.perform2(buffers, &mut dc, &mut cy, none, &mut r);
            assert_eq!(status, expected);
        }
        (cy.symOpData.pIv, cy.symOpData.ivLenInBytes) = (nonce.as_mut_ptr(), 12);
        // One bit: nothing of it is decompressed.
        packed[9] ^= 1;
        let mut plain = List::room(input.len());
        let buffers = (&mut *List::new(packed), &mut *plain, None);
        let status = opened.perform2(buffers, &mut dc, &mut cy, none, &mut r);
        assert_eq!((status, r.chainRqResults.verifyResult), (CPA_STATUS_FAIL, CPA_FALSE));
        assert_eq!((r.chainRqResults.produced, &plain.bytes[..9]), (0, &[0xee; 9][..]));
        // Refused: all that a chain would not do.
        let mut sealing =
            Chain::new(there, setup(), gcm(&mut key, 12, appended, SEALS), None).ok().unwrap();
        // It still has the offset and the length of above.
        let buffers = (&mut *src, &mut *dst, None);
        let status = sealing.perform2(buffers, &mut dc, &mut cy, none, &mut r);
        assert_eq!(status, CPA_STATUS_UNSUPPORTED);
        let sym = &mut cy.symOpData;
        (sym.cryptoStartSrcOffsetInBytes, sym.messageLenToCipherInBytes) = (0, 0);
        for (recovers, expected) in
            [(CPA_TRUE, CPA_STATUS_UNSUPPORTED), (CPA_FALSE, CPA_STATUS_SUCCESS)]
        {
            dc.dcOpData.compressAndVerify = CPA_TRUE;
            dc.dcOpData.compressAndVerifyAndRecover = recovers;
            let buffers = (&mut *src, &mut *dst, None);
            let status = sealing.perform2(buffers, &mut dc, &mut cy, none, &mut r);
            assert_eq!(status, expected);
        }
        dc.appendCRC64 = CPA_TRUE;
        let buffers = (&mut *src, &mut *plain, None);
        let status = opened.perform2(buffers, &mut dc, &mut cy, none, &mut r);
        assert_eq!(status, CPA_STATUS_UNSUPPORTED);
    }
}

fn compressed_as(input: &[u8]) -> Vec<u8> {
    let mut session = Held::new(&setup(), None);
    let (mut src, mut dst) = (List::new(input.to_vec()), List::room(bound(input.len())));
    let mut r = results();
    assert_eq!(session.compress(&mut src, &mut dst, &mut op(CPA_DC_FLUSH_FINAL), &mut r), 0);
    dst.first(r.produced).to_vec()
}

#[test]
fn other_chains_are_refused() {
    let mut key = [7_u8; 32];
    let sha = || hash(CPA_CY_SYM_HASH_SHA1, 20);
    let begin = |operation, cy| Chain::new(operation, setup(), cy, None).map(|mut c| c.remove());
    assert_eq!(begin(CPA_DC_CHAIN_HASH_THEN_COMPRESS, sha()), Ok(CPA_STATUS_SUCCESS));
    for n in [0, 1, 2, 3, 6, 7, 8, 9, 11, 12] {
        assert_eq!(begin(CpaDcChainOperations(n), sha()), Err(CPA_STATUS_UNSUPPORTED));
    }
    assert_eq!(begin(CpaDcChainOperations(13), sha()), Err(CPA_STATUS_INVALID_PARAM));
    assert_eq!(begin(CPA_DC_CHAIN_COMPRESS_THEN_AEAD, sha()), Err(CPA_STATUS_INVALID_PARAM));
    let mut direction = |direction| gcm(&mut key, 0, false, direction);
    let (seals, opens) = (direction(SEALS), direction(OPENS));
    for (operation, right, wrong) in [
        (CPA_DC_CHAIN_COMPRESS_THEN_AEAD, seals, opens),
        (CPA_DC_CHAIN_AEAD_THEN_DECOMPRESS, opens, seals),
    ] {
        assert_eq!(begin(operation, right), Ok(CPA_STATUS_SUCCESS));
        assert_eq!(begin(operation, wrong), Err(CPA_STATUS_INVALID_PARAM));
        let mut other = right;
        other.symOperation = CPA_CY_SYM_OP_CIPHER;
        assert_eq!(begin(operation, other), Err(CPA_STATUS_INVALID_PARAM));
    }
    let mut appended = sha();
    appended.digestIsAppended = CPA_TRUE;
    assert_eq!(begin(CPA_DC_CHAIN_HASH_THEN_COMPRESS, appended), Err(CPA_STATUS_UNSUPPORTED));
    let gcm = seals;
    assert_eq!(begin(CPA_DC_CHAIN_HASH_THEN_COMPRESS, gcm), Err(CPA_STATUS_INVALID_PARAM));
    let snow = hash(CPA_CY_SYM_HASH_SNOW3G_UIA2, 4);
    assert_eq!(begin(CPA_DC_CHAIN_HASH_THEN_COMPRESS, snow), Err(CPA_STATUS_UNSUPPORTED));
    let stateful = CpaDcSessionSetupData { sessState: CPA_DC_STATEFUL, ..setup() };
    let begun = Chain::new(CPA_DC_CHAIN_HASH_THEN_COMPRESS, stateful, sha(), None);
    assert_eq!(begun.map(|_| ()), Err(CPA_STATUS_INVALID_PARAM));
    // A session of another kind is none, in both directions.
    let mut held = Held::new(&setup(), None);
    let mut chain = Chain::new(CPA_DC_CHAIN_HASH_THEN_COMPRESS, setup(), sha(), None).ok().unwrap();
    let (h, c) = (held.handle(), chain.handle());
    let mut control = CpaCrcControlData {
        polynomial: 1,
        initialValue: 0,
        reflectIn: CPA_FALSE,
        reflectOut: CPA_FALSE,
        xorOut: 0,
    };
    // SAFETY: sessions, and a structure of this function's.
    unsafe {
        assert_eq!(cpaDcChainRemoveSession(DEFAULT, h), CPA_STATUS_INVALID_PARAM);
        assert_eq!(cpaDcRemoveSession(DEFAULT, c), CPA_STATUS_INVALID_PARAM);
        assert_eq!(cpaDcChainResetSession(DEFAULT, c), CPA_STATUS_SUCCESS);
        let set = cpaDcChainSetCrcControlData(DEFAULT, c, &raw mut control);
        assert_eq!(set, CPA_STATUS_SUCCESS);
    }
    assert_eq!(chain.remove(), CPA_STATUS_SUCCESS);
}
