//! Sessions of the symmetric service: their life, what is refused, rings that are full, threads, counters.

use std::{
    ptr,
    sync::atomic::{AtomicU32, Ordering},
};

use lookaside_qat::{
    abi::*,
    cy::{capabilities::*, sym::*},
    discovery::*,
    sal::*,
};

mod sym_common;
use sym_common::*;

const RIGHT: Outcome = Outcome { status: CPA_STATUS_SUCCESS, verified: true };
const PATHS: [Path; 3] = [Path::Callback, Path::Waiting, Path::DataPlane];

fn cbc(key: u8) -> Spec {
    Spec::cipher(CPA_CY_SYM_CIPHER_AES_CBC, &[key; 16], true)
}

fn sha256() -> Spec {
    Spec::hash(CPA_CY_SYM_HASH_SHA256, CPA_CY_SYM_HASH_MODE_PLAIN, &[], 32)
}

fn encrypted(key: u8, iv: &[u8], text: &[u8]) -> Vec<u8> {
    oracle::openssl("AES-128-CBC", &[key; 16], iv, true, text)
}

#[test]
fn what_is_refused_at_the_start() {
    let instance = instance();
    let auth = CPA_CY_SYM_HASH_MODE_AUTH;
    let plain = CPA_CY_SYM_HASH_MODE_PLAIN;
    let hash = |hash, mode, key: usize, len| Spec::hash(hash, mode, &vec![7; key], len);
    let cipher = |cipher, key: usize| Spec::cipher(cipher, &vec![7; key], true);
    let chain = |c: &Spec, h: &Spec| Spec::chain(c, h, true);
    let gcm = cipher(CPA_CY_SYM_CIPHER_AES_GCM, 16);
    let gcm_tag = hash(CPA_CY_SYM_HASH_AES_GCM, auth, 0, 16);
    let (invalid, unsupported) = (CPA_STATUS_INVALID_PARAM, CPA_STATUS_UNSUPPORTED);
    for (n, (expected, spec)) in [
        (invalid, cipher(CPA_CY_SYM_CIPHER_AES_CBC, 15)),
        (invalid, cipher(CPA_CY_SYM_CIPHER_AES_CBC, 0)),
        (invalid, cipher(CPA_CY_SYM_CIPHER_AES_XTS, 48)),
        (invalid, cipher(CPA_CY_SYM_CIPHER_DES_CBC, 24)),
        (invalid, cipher(CPA_CY_SYM_CIPHER_3DES_CBC, 16)),
        (invalid, cipher(CPA_CY_SYM_CIPHER_ARC4, 257)),
        (invalid, cipher(CPA_CY_SYM_CIPHER_SNOW3G_UEA2, 32)),
        (unsupported, cipher(CPA_CY_SYM_CIPHER_AES_F8, 16)),
        (invalid, cipher(CpaCySymCipherAlgorithm(0), 16)),
        (invalid, cipher(CpaCySymCipherAlgorithm(22), 16)),
        // AEADs are chains, of what belongs together.
        (invalid, gcm.clone()),
        (invalid, cipher(CPA_CY_SYM_CIPHER_CHACHA, 32)),
        (invalid, gcm_tag.clone()),
        (invalid, hash(CPA_CY_SYM_HASH_AES_GMAC, auth, 0, 16)),
        (invalid, hash(CPA_CY_SYM_HASH_POLY, auth, 32, 16)),
        (invalid, chain(&cbc(1), &gcm_tag)),
        (invalid, chain(&gcm, &sha256())),
        (invalid, chain(&gcm, &hash(CPA_CY_SYM_HASH_AES_CCM, auth, 0, 16))),
        (invalid, chain(&gcm, &hash(CPA_CY_SYM_HASH_AES_GCM, plain, 0, 16))),
        (invalid, chain(&gcm, &hash(CPA_CY_SYM_HASH_AES_GCM, auth, 0, 3))),
        (
            invalid,
            chain(&cipher(CPA_CY_SYM_CIPHER_CHACHA, 16), &hash(CPA_CY_SYM_HASH_POLY, auth, 0, 16)),
        ),
        // Lengths of keys and digests.
        (invalid, hash(CPA_CY_SYM_HASH_SHA256, plain, 0, 0)),
        (invalid, hash(CPA_CY_SYM_HASH_SHA256, plain, 0, 33)),
        (invalid, hash(CPA_CY_SYM_HASH_SHA256, auth, 65, 32)),
        (invalid, hash(CPA_CY_SYM_HASH_AES_XCBC, auth, 24, 12)),
        (invalid, hash(CPA_CY_SYM_HASH_AES_CMAC, auth, 16, 17)),
        (invalid, hash(CPA_CY_SYM_HASH_AES_CMAC, plain, 16, 16)),
        (invalid, hash(CPA_CY_SYM_HASH_AES_CMAC, CPA_CY_SYM_HASH_MODE_NESTED, 16, 16)),
        (invalid, hash(CPA_CY_SYM_HASH_SHA256, CpaCySymHashMode(4), 0, 32)),
        (invalid, hash(CPA_CY_SYM_HASH_SHA256, CPA_CY_SYM_HASH_MODE_NESTED, 0, 32)),
        (invalid, hash(CPA_CY_SYM_HASH_NONE, plain, 0, 32)),
        (unsupported, hash(CPA_CY_SYM_HASH_SHAKE_128, plain, 0, 32)),
        (unsupported, chain(&cbc(1), &hash(CPA_CY_SYM_HASH_SHAKE_256, plain, 0, 32))),
        (invalid, Spec { op: CPA_CY_SYM_OP_NONE, ..cbc(1) }),
    ]
    .into_iter()
    .enumerate()
    {
        for path in PATHS {
            let found = Session::try_new(instance, path, &spec).err();
            assert_eq!(found, Some(expected), "{n}");
        }
    }
    type Change = fn(&mut CpaCySymSessionSetupData);
    let changes: [Change; 5] = [
        |data| data.sessionPriority = CpaCyPriority(0),
        |data| data.cipherSetupData.pCipherKey = ptr::null_mut(),
        |data| data.cipherSetupData.cipherDirection = CpaCySymCipherDirection(3),
        |data| data.algChainOrder = CpaCySymAlgChainOrder(3),
        |data| data.hashSetupData.authModeSetupData.authKey = ptr::null_mut(),
    ];
    let spec = chain(&cbc(1), &hash(CPA_CY_SYM_HASH_SHA1, auth, 20, 20));
    for (n, change) in changes.into_iter().enumerate() {
        let (mut data, mut memory) = (spec.data(), [0_u64; 8]);
        change(&mut data);
        // SAFETY: memory of the test's.
        let status =
            unsafe { cpaCySymInitSession(instance, Some(done), &data, memory.as_mut_ptr().cast()) };
        assert_eq!(status, CPA_STATUS_INVALID_PARAM, "{n}");
    }
    let (data, mut memory, mut size) = (spec.data(), [0_u64; 8], 0);
    let place = memory.as_mut_ptr().cast();
    let foreign = ptr::without_provenance_mut(64);
    // SAFETY: null, or memory of the test's.
    unsafe {
        let none = ptr::null();
        for status in [
            cpaCySymInitSession(instance, Some(done), none, place),
            cpaCySymInitSession(instance, Some(done), &data, ptr::null_mut()),
            cpaCySymInitSession(foreign, Some(done), &data, place),
            cpaCySymSessionCtxGetSize(instance, none, &mut size),
            cpaCySymSessionCtxGetSize(instance, &data, ptr::null_mut()),
            cpaCySymSessionCtxGetDynamicSize(foreign, &data, &mut size),
            cpaCySymDpSessionCtxGetSize(instance, none, &mut size),
            cpaCySymDpSessionCtxGetDynamicSize(instance, &data, ptr::null_mut()),
            cpaCySymDpInitSession(instance, none, place),
            cpaCySymRemoveSession(instance, ptr::null_mut()),
            cpaCySymRemoveSession(instance, place),
            cpaCySymDpRemoveSession(instance, place),
            cpaCySymUpdateSession(place, ptr::null()),
            cpaCySymSessionInUse(place, ptr::null_mut()),
            cpaCySymSessionInUse(place, &mut CpaBoolean(0)),
            cpaCySymQueryStats(instance, ptr::null_mut()),
            cpaCySymQueryStats64(foreign, ptr::null_mut()),
            cpaCySymQueryCapabilities(instance, ptr::null_mut()),
            cpaCyQueryCapabilities(instance, ptr::null_mut()),
            cpaCySymDpRegCbFunc(instance, None),
            cpaCySymDpEnqueueOp(ptr::null_mut(), CPA_TRUE),
            cpaCySymDpEnqueueOpBatch(1, ptr::null_mut(), CPA_TRUE),
            cpaCySymDpPerformOpNow(foreign),
        ] {
            assert_eq!(status, CPA_STATUS_INVALID_PARAM);
        }
        assert_eq!(
            cpaCySymSessionCtxGetDynamicSize(instance, &data, &mut size),
            CPA_STATUS_SUCCESS
        );
        assert_eq!(size, 64);
    }
}

#[test]
fn capabilities_are_honest() {
    let instance = instance();
    // SAFETY: integers.
    let (mut sym, mut all): (CpaCySymCapabilitiesInfo, CpaCyCapabilitiesInfo) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: memory of the test's.
    unsafe {
        assert_eq!(cpaCySymQueryCapabilities(instance, &mut sym), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCyQueryCapabilities(instance, &mut all), CPA_STATUS_SUCCESS);
    }
    assert_eq!((all.symSupported, all.symDpSupported), (CPA_TRUE, CPA_TRUE));
    assert_eq!((all.randSupported, all.extAlgchainSupported), (CPA_FALSE, CPA_TRUE));
    assert_eq!(sym.partialPacketSupported, CPA_TRUE);
    let keys = [0, 16, 24, 32, 8];
    let pair = |cipher| match cipher {
        CPA_CY_SYM_CIPHER_AES_GCM => Some(CPA_CY_SYM_HASH_AES_GCM),
        CPA_CY_SYM_CIPHER_AES_CCM => Some(CPA_CY_SYM_HASH_AES_CCM),
        CPA_CY_SYM_CIPHER_CHACHA => Some(CPA_CY_SYM_HASH_POLY),
        _ => None,
    };
    for n in 0..32 {
        let cipher = CpaCySymCipherAlgorithm(n);
        let works = keys.iter().any(|&key| {
            let mut spec = Spec::cipher(cipher, &vec![7; key], true);
            if let Some(hash) = pair(cipher) {
                let hash = Spec::hash(hash, CPA_CY_SYM_HASH_MODE_AUTH, &[], 16);
                spec = Spec::chain(&spec, &hash, true);
            }
            Session::try_new(instance, Path::Callback, &spec).is_ok()
        });
        assert_eq!(sym.ciphers[0] >> n & 1 == 1, works, "cipher {n}");
        let hash = CpaCySymHashAlgorithm(n);
        let gcm = [CPA_CY_SYM_HASH_AES_GCM, CPA_CY_SYM_HASH_AES_GMAC];
        let cipher = match hash {
            _ if gcm.contains(&hash) => Some(CPA_CY_SYM_CIPHER_AES_GCM),
            CPA_CY_SYM_HASH_AES_CCM => Some(CPA_CY_SYM_CIPHER_AES_CCM),
            CPA_CY_SYM_HASH_POLY => Some(CPA_CY_SYM_CIPHER_CHACHA),
            _ => None,
        };
        let works = keys.iter().any(|&key| {
            [CPA_CY_SYM_HASH_MODE_PLAIN, CPA_CY_SYM_HASH_MODE_AUTH].iter().any(|&mode| {
                [4, 16].iter().any(|&len| {
                    let mut spec = Spec::hash(hash, mode, &vec![7; key], len);
                    if let Some(cipher) = cipher {
                        spec = Spec::chain(&Spec::cipher(cipher, &vec![7; key], true), &spec, true);
                    }
                    Session::try_new(instance, Path::Callback, &spec).is_ok()
                })
            })
        });
        assert_eq!(sym.hashes[0] >> n & 1 == 1, works, "hash {n}");
    }
    assert_eq!(sym.ciphers[0], 0x3f_fffe & !(1 << CPA_CY_SYM_CIPHER_AES_F8.0));
    assert_eq!(sym.hashes[0], 0xff_fffe & !(3 << CPA_CY_SYM_HASH_SHAKE_128.0));
}

#[test]
fn requests_that_cannot_be() {
    let instance = instance();
    let memory = Memory::new(&[1; 64], &[], 0);
    let shorter = Memory::new(&[1; 32], &[], 0);
    let scattered = Memory::new(&[1; 32], &[5, 20], 0);
    let gcm = Spec {
        aad_len: 8,
        ..Spec::chain(
            &Spec::cipher(CPA_CY_SYM_CIPHER_AES_GCM, &[1; 16], true),
            &Spec::hash(CPA_CY_SYM_HASH_AES_GCM, CPA_CY_SYM_HASH_MODE_AUTH, &[], 16),
            true,
        )
    };
    let uia2 = Spec {
        aad_len: 16,
        ..Spec::hash(CPA_CY_SYM_HASH_SNOW3G_UIA2, CPA_CY_SYM_HASH_MODE_AUTH, &[1; 16], 4)
    };
    let chain = Spec { appended: true, ..Spec::chain(&cbc(1), &sha256(), true) };
    for path in PATHS {
        let none: &mut [u8] = &mut [];
        let (iv, aad, place) = (&mut [0_u8; 16][..], &mut [0_u8; 20][..], &mut [0_u8; 64][..]);
        let check = |spec: &Spec, change: &mut dyn FnMut(Box<Request>) -> Box<Request>| {
            let session = Session::new(instance, path, spec);
            for (src, dst) in [(&memory, &memory), (&shorter, &memory), (&scattered, &memory)] {
                let mut request = change(Request::new(&session));
                let refused = request.run(&session, src, dst);
                assert_eq!(refused, Err(CPA_STATUS_INVALID_PARAM), "{path:?}");
            }
            assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
        };
        check(&cbc(1), &mut |r| r.cipher(0, 17).iv(iv, 16));
        check(&cbc(1), &mut |r| r.cipher(0, 16).iv(iv, 12));
        check(&cbc(1), &mut |r| r.cipher(0, 16).iv(none, 16));
        check(&cbc(1), &mut |r| r.cipher(0, 80).iv(iv, 16));
        check(&cbc(1), &mut |r| r.cipher(65, 16).iv(iv, 16));
        check(&cbc(1), &mut |r| r.cipher(u32::MAX as usize, 16).iv(iv, 16));
        check(&cbc(1), &mut |r| r.cipher(16, u32::MAX as usize & !15).iv(iv, 16));
        check(&sha256(), &mut |r| r.hash(0, 65).digest(place));
        check(&sha256(), &mut |r| r.hash(0, 16));
        check(&Spec { appended: true, ..sha256() }, &mut |r| r.hash(0, 33 + 32));
        check(&chain, &mut |r| r.cipher(0, 16).hash(0, 65).iv(iv, 16));
        check(&chain, &mut |r| r.cipher(0, 16).hash(0, 64).iv(iv, 16));
        check(&gcm, &mut |r| r.cipher(0, 16).iv(iv, 12).digest(place));
        check(&gcm, &mut |r| r.cipher(0, 16).iv(iv, 11).aad(aad).digest(place));
        check(&gcm, &mut |r| r.cipher(0, 16).iv(none, 12).aad(aad).digest(place));
        check(&gcm, &mut |r| r.cipher(0, 16).iv(iv, 12).aad(aad));
        check(&gcm, &mut |r| r.cipher(0, 65).iv(iv, 12).aad(aad).digest(place));
        check(&uia2, &mut |r| r.hash(0, 16).digest(place));
    }
    let xts = Spec::cipher(CPA_CY_SYM_CIPHER_AES_XTS, &(0..32).collect::<Vec<_>>(), true);
    let session = Session::new(instance, Path::Callback, &xts);
    let mut iv = [0; 16];
    let mut request = Request::new(&session).cipher(0, 15).iv(&mut iv, 16);
    assert_eq!(request.run(&session, &memory, &memory), Err(CPA_STATUS_INVALID_PARAM));
    // Nothing was written by any of them.
    assert_eq!((memory.bytes(), shorter.bytes()), (vec![1; 64], vec![1; 32]));
}

#[test]
fn lists_that_cannot_be() {
    let instance = instance();
    let session = Session::new(instance, Path::Callback, &cbc(1));
    let mut bytes = [0_u8; 64];
    let base = bytes.as_mut_ptr();
    let flat = |at: usize, len| CpaFlatBuffer { dataLenInBytes: len, pData: base.wrapping_add(at) };
    let list = |flats: &mut [CpaFlatBuffer]| CpaBufferList {
        numBuffers: flats.len() as u32,
        pBuffers: flats.as_mut_ptr(),
        pUserData: ptr::null_mut(),
        pPrivateMetaData: ptr::null_mut(),
    };
    let mut iv = [0; 16];
    let perform =
        |src: *const CpaBufferList, dst: *mut CpaBufferList, len: usize, iv: &mut [u8]| {
            let mut request = Request::new(&session).cipher(0, len).iv(iv, 16);
            request.expect(&session, dst);
            let tag = ptr::from_mut(&mut request.tag).cast();
            // SAFETY: memory of the test's, until the poll below.
            let status = unsafe {
                cpaCySymPerformOp(instance, tag, &request.data, src, dst, ptr::null_mut())
            };
            while status == CPA_STATUS_SUCCESS && !request.tag.is_answered() {
                poll(instance);
            }
            status
        };
    let (mut whole, mut null) =
        ([flat(0, 64)], [CpaFlatBuffer { dataLenInBytes: 64, pData: ptr::null_mut() }]);
    let (whole, null) = (&mut list(&mut whole), &mut list(&mut null));
    let no_pieces = &mut CpaBufferList { pBuffers: ptr::null_mut(), ..*whole };
    let invalid = CPA_STATUS_INVALID_PARAM;
    assert_eq!(perform(ptr::null(), whole, 16, &mut iv), invalid);
    assert_eq!(perform(whole, ptr::null_mut(), 16, &mut iv), invalid);
    assert_eq!(perform(null, null, 16, &mut iv), invalid);
    assert_eq!(perform(whole, no_pieces, 16, &mut iv), invalid);
    // Source and destination overlap: by one byte, by all but one, within lists.
    let mut first = [flat(0, 32)];
    for (at, len, expected) in [
        (31, 32, invalid),
        (1, 32, invalid),
        (16, 16, CPA_STATUS_SUCCESS),
        (32, 32, CPA_STATUS_SUCCESS),
    ] {
        let mut second = [flat(at, 32)];
        let (src, dst) = (&list(&mut first), &mut list(&mut second));
        assert_eq!(perform(src, dst, len, &mut iv), expected, "{at}");
        let mut parts = [flat(at, 16), flat((at + 16) % 48, 16)];
        let list = &mut list(&mut parts);
        if expected == invalid {
            assert_eq!(perform(src, list, len, &mut iv), expected, "{at}");
        }
    }
    // The same memory by lists of their own; one longer than the other.
    let (mut first, mut second) = ([flat(0, 64)], [flat(0, 32)]);
    // SAFETY: nobody works on it now.
    unsafe { base.write_bytes(9, 64) };
    let expected = encrypted(1, &iv, &[9; 32]);
    assert_eq!(perform(&list(&mut first), &mut list(&mut second), 32, &mut iv), CPA_STATUS_SUCCESS);
    // SAFETY: as above.
    assert_eq!(unsafe { std::slice::from_raw_parts(base, 32) }, expected);
    // A list without buffers, for nothing.
    let mut none: [CpaFlatBuffer; 0] = [];
    let empty = &mut list(&mut none);
    assert_eq!(perform(empty, empty, 0, &mut iv), CPA_STATUS_SUCCESS);
    assert_eq!(perform(empty, empty, 16, &mut iv), invalid);
    assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
}

/// Digests and associated data may lie anywhere: within the text, and in the other one.
#[test]
fn digests_within_the_buffers() {
    let instance = instance();
    let gcm = Spec {
        aad_len: 8,
        ..Spec::chain(
            &Spec::cipher(CPA_CY_SYM_CIPHER_AES_GCM, &[1; 16], true),
            &Spec::hash(CPA_CY_SYM_HASH_AES_GCM, CPA_CY_SYM_HASH_MODE_AUTH, &[], 16),
            true,
        )
    };
    for path in PATHS {
        let text: Vec<u8> = (0..100).collect();
        // Associated data before the text, the digest at the end, not right behind it.
        let memory = Memory::new(&text, &[], 0);
        let base = memory.flat(0).pData;
        let (sealed, tag) =
            oracle::seal("AES-128-GCM", &[1; 16], &[3; 12], &text[4..12], &text[20..70], 16);
        let session = Session::new(instance, path, &gcm);
        let mut request = Request::new(&session).cipher(20, 50);
        let mut iv = [3; 12];
        request = request.iv(&mut iv, 12);
        request.data.pAdditionalAuthData = base.wrapping_add(4);
        request.data.pDigestResult = base.wrapping_add(80);
        assert_eq!(request.run(&session, &memory, &memory), Ok(RIGHT));
        let found = memory.bytes();
        assert_eq!((&found[20..70], &found[80..96]), (&sealed[..], &tag[..]));
        // Apart, with both in the other text's memory: associated data in the destination, the digest in the
        // source.
        let (src, dst) = (Memory::new(&text, &[], 0), Memory::new(&text, &[], 0));
        let mut request = Request::new(&session).cipher(20, 50).iv(&mut iv, 12);
        request.data.pAdditionalAuthData = dst.flat(0).pData.wrapping_add(4);
        request.data.pDigestResult = src.flat(0).pData.wrapping_add(30);
        assert_eq!(request.run(&session, &src, &dst), Ok(RIGHT));
        assert_eq!((&dst.bytes()[20..70], &src.bytes()[30..46]), (&sealed[..], &tag[..]));
        assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
        // A hash over its own place.
        let session = Session::new(instance, path, &sha256());
        let memory = Memory::new(&text, &[], 0);
        let mut request = Request::new(&session).hash(10, 90);
        request.data.pDigestResult = memory.flat(0).pData.wrapping_add(20);
        assert_eq!(request.run(&session, &memory, &memory), Ok(RIGHT));
        assert_eq!(memory.bytes()[20..52], oracle::digest("SHA256", &text[10..]));
        assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
    }
}

#[test]
fn a_session_in_use_stays() {
    let instance = instance();
    for path in [Path::Callback, Path::DataPlane] {
        let session = Session::new(instance, path, &cbc(2));
        let (memory, mut iv) = (Memory::new(&[5; 16], &[], 0), [0; 16]);
        let mut in_use = CpaBoolean(7);
        let mut ask = || {
            // SAFETY: memory of the test's.
            let status = unsafe { cpaCySymSessionInUse(session.handle(), &mut in_use) };
            assert_eq!(status, CPA_STATUS_SUCCESS);
            in_use == CPA_TRUE
        };
        assert!(!ask());
        let mut request = Request::new(&session).cipher(0, 16).iv(&mut iv, 16);
        assert_eq!(request.submit(&session, &memory, &memory), CPA_STATUS_SUCCESS);
        assert!(ask());
        assert_eq!(session.remove(), CPA_STATUS_RETRY);
        let update = CpaCySymSessionUpdateData {
            flags: CPA_CY_SYM_SESUPD_CIPHER_DIR,
            pCipherKey: ptr::null_mut(),
            cipherDirection: CPA_CY_SYM_CIPHER_DIRECTION_DECRYPT,
            authKey: ptr::null_mut(),
        };
        // SAFETY: as above.
        assert_eq!(unsafe { cpaCySymUpdateSession(session.handle(), &update) }, CPA_STATUS_RETRY);
        while !request.tag.is_answered() {
            poll(instance);
        }
        assert!(!poll(instance));
        assert_eq!(request.tag.outcome, Some(RIGHT));
        assert_eq!(memory.bytes(), encrypted(2, &[0; 16], &[5; 16]));
        assert!(!ask());
        // Not of this kind.
        if path == Path::DataPlane {
            let other = Session::new(instance, Path::Callback, &cbc(2));
            let mut request = Request::new(&other).cipher(0, 16).iv(&mut iv, 16);
            request.data.sessionCtx = session.handle();
            let refused = request.submit(&other, &memory, &memory);
            assert_eq!(refused, CPA_STATUS_INVALID_PARAM);
        }
        assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
        // Removed, then used.
        assert_eq!(session.remove(), CPA_STATUS_INVALID_PARAM);
        let mut request = Request::new(&session).cipher(0, 16).iv(&mut iv, 16);
        let refused = request.submit(&session, &memory, &memory);
        assert_eq!(refused, CPA_STATUS_INVALID_PARAM);
    }
}

#[test]
fn updates() {
    let instance = instance();
    let spec = Spec::chain(
        &cbc(1),
        &Spec::hash(CPA_CY_SYM_HASH_SHA1, CPA_CY_SYM_HASH_MODE_AUTH, &[2; 20], 20),
        true,
    );
    for path in PATHS {
        let session = Session::new(instance, path, &spec);
        let (mut key, mut auth_key) = ([8_u8; 16], [9_u8; 20]);
        let mut update = CpaCySymSessionUpdateData {
            flags: CPA_CY_SYM_SESUPD_CIPHER_KEY | CPA_CY_SYM_SESUPD_AUTH_KEY,
            pCipherKey: key.as_mut_ptr(),
            cipherDirection: CPA_CY_SYM_CIPHER_DIRECTION_DECRYPT,
            authKey: auth_key.as_mut_ptr(),
        };
        // SAFETY: memory of the test's.
        let set = |update: &CpaCySymSessionUpdateData| unsafe {
            cpaCySymUpdateSession(session.handle(), update)
        };
        assert_eq!(set(&update), CPA_STATUS_SUCCESS);
        let (memory, mut iv, mut place) = (Memory::new(&[5; 32], &[], 0), [0; 16], [0; 20]);
        let mut run = || {
            let mut request =
                Request::new(&session).cipher(0, 32).hash(0, 32).iv(&mut iv, 16).digest(&mut place);
            assert_eq!(request.run(&session, &memory, &memory), Ok(RIGHT));
            (memory.bytes(), place)
        };
        let sealed = encrypted(8, &[0; 16], &[5; 32]);
        let tag = oracle::hmac(("SHA1", 64), &auth_key, &sealed);
        assert_eq!(run(), (sealed, tag[..].try_into().unwrap()));
        update.flags = CPA_CY_SYM_SESUPD_CIPHER_DIR;
        assert_eq!(set(&update), CPA_STATUS_SUCCESS);
        let tag = oracle::hmac(("SHA1", 64), &auth_key, &[5; 32]);
        assert_eq!(run(), (vec![5; 32], tag[..].try_into().unwrap()));
        update.flags = CPA_CY_SYM_SESUPD_CIPHER_KEY;
        update.pCipherKey = ptr::null_mut();
        assert_eq!(set(&update), CPA_STATUS_INVALID_PARAM);
        update.flags = 8;
        assert_eq!(set(&update), CPA_STATUS_INVALID_PARAM);
        assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
    }
    let session = Session::new(instance, Path::Callback, &sha256());
    let update = CpaCySymSessionUpdateData {
        flags: CPA_CY_SYM_SESUPD_CIPHER_DIR,
        pCipherKey: ptr::null_mut(),
        cipherDirection: CPA_CY_SYM_CIPHER_DIRECTION_DECRYPT,
        authKey: ptr::null_mut(),
    };
    // SAFETY: as above.
    let status = unsafe { cpaCySymUpdateSession(session.handle(), &update) };
    assert_eq!(status, CPA_STATUS_INVALID_PARAM);
}

#[test]
fn a_full_ring_says_so() {
    let instance = instance();
    for path in [Path::Callback, Path::DataPlane] {
        let session = Session::new(instance, path, &cbc(3));
        let mut iv = [0; 16];
        let memory: Vec<_> = (0..600).map(|n| Memory::new(&[n as u8; 16], &[], 0)).collect();
        let mut requests = Vec::new();
        for memory in &memory {
            let mut request = Request::new(&session).cipher(0, 16).iv(&mut iv, 16);
            match request.submit(&session, memory, memory) {
                CPA_STATUS_SUCCESS => requests.push(request),
                CPA_STATUS_RETRY => break,
                other => panic!("{other}"),
            }
        }
        assert_eq!(requests.len(), 512);
        let (mut most, mut now) = (0, 0);
        // SAFETY: memory of the test's.
        unsafe {
            icp_sal_SymGetInflightRequests(instance, &mut most, &mut now);
            assert_eq!((most, now), (512, 512));
            // A quota. Engines may need their time.
            let mut answered = 0;
            while answered < 12 {
                icp_sal_CyPollInstance(instance, 12 - answered);
                icp_sal_SymGetInflightRequests(instance, &mut most, &mut now);
                answered = 512 - now;
            }
        }
        assert_eq!(requests.iter().filter(|r| r.tag.is_answered()).count(), 12);
        // A batch that does not fit is not begun.
        if path == Path::DataPlane {
            let mut batch: Vec<_> =
                (0..13).map(|_| Request::new(&session).cipher(0, 16).iv(&mut iv, 16)).collect();
            let mut all: Vec<_> =
                batch.iter_mut().map(|r| r.dp(&session, &memory[599], &memory[599])).collect();
            // SAFETY: as above.
            let status = unsafe { cpaCySymDpEnqueueOpBatch(13, all.as_mut_ptr(), CPA_TRUE) };
            assert_eq!(status, CPA_STATUS_RETRY);
        }
        while !requests.iter().all(|r| r.tag.is_answered()) {
            poll(instance);
        }
        for (n, (request, memory)) in requests.iter().zip(&memory).enumerate() {
            assert_eq!((request.tag.outcome, request.tag.count), (Some(RIGHT), 1));
            assert_eq!(memory.bytes(), encrypted(3, &[0; 16], &[n as u8; 16]));
        }
        assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
    }
}

#[test]
fn the_data_plane() {
    let (one, other) = (instance(), instance());
    let spec = cbc(4);
    let data = spec.data();
    let mut place = [0_u64; 8];
    // SAFETY: memory of the test's.
    unsafe {
        // Without a callback nobody would hear of an answer.
        let handle = place.as_mut_ptr().cast();
        assert_eq!(cpaCySymDpInitSession(one, &data, handle), CPA_STATUS_SUCCESS);
        let session = Session::new(other, Path::DataPlane, &cbc(4));
        let (memory, mut iv) = (Memory::new(&[1; 48], &[], 0), [0; 16]);
        let request = || Request::new(&session);
        let mut lonely = request().cipher(0, 16).iv(&mut iv, 16);
        let data = lonely.dp(&session, &memory, &memory);
        ((*data).instanceHandle, (*data).sessionCtx) = (one, handle);
        assert_eq!(cpaCySymDpEnqueueOp(data, CPA_TRUE), CPA_STATUS_FAIL);
        assert_eq!(cpaCySymDpRemoveSession(one, handle), CPA_STATUS_SUCCESS);

        // Those of a batch are of one instance; one that cannot be refuses all.
        let mut batch: Vec<_> =
            (0..3).map(|n| request().cipher(16 * n, 16).iv(&mut iv, 16)).collect();
        let mut all: Vec<_> = batch.iter_mut().map(|r| r.dp(&session, &memory, &memory)).collect();
        cpaCySymDpRegCbFunc(one, Some(dp_done));
        (*all[2]).instanceHandle = one;
        let invalid = CPA_STATUS_INVALID_PARAM;
        assert_eq!(cpaCySymDpEnqueueOpBatch(3, all.as_mut_ptr(), CPA_TRUE), invalid);
        (*all[2]).instanceHandle = other;
        (*all[2]).messageLenToCipherInBytes = 15;
        assert_eq!(cpaCySymDpEnqueueOpBatch(3, all.as_mut_ptr(), CPA_TRUE), invalid);
        assert_eq!(cpaCySymDpEnqueueOpBatch(0, all.as_mut_ptr(), CPA_TRUE), invalid);
        assert!(!poll(other));
        (*all[2]).messageLenToCipherInBytes = 16;
        let done = cpaCySymDpEnqueueOpBatch(3, all.as_mut_ptr(), CPA_FALSE);
        assert_eq!(done, CPA_STATUS_SUCCESS);
        // Its session waits for the bell, which removing it rings.
        assert_eq!(session.remove(), CPA_STATUS_RETRY);
        assert_eq!(cpaCySymDpPerformOpNow(other), CPA_STATUS_SUCCESS);
        while !batch.iter().all(|r| r.tag.is_answered()) {
            icp_sal_CyPollDpInstance(other, 0);
        }
        assert!(batch.iter().all(|r| r.tag.outcome == Some(RIGHT) && r.tag.count == 1));
        let block = encrypted(4, &[0; 16], &[1; 16]);
        assert_eq!(memory.bytes(), block.repeat(3));

        // Null addresses.
        let change: [fn(&mut CpaCySymDpOpData); 4] = [
            |d| d.srcBuffer = 0,
            |d| d.dstBuffer = 0,
            |d| d.sessionCtx = ptr::null_mut(),
            |d| (d.srcBuffer, d.srcBufferLen) = (0, CPA_DP_BUFLIST),
        ];
        for change in change {
            let mut request = request().cipher(0, 16).iv(&mut iv, 16);
            let data = request.dp(&session, &memory, &memory);
            change(&mut *data);
            assert_eq!(cpaCySymDpEnqueueOp(data, CPA_TRUE), invalid);
        }
        assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
    }
}

/// An instance that stops calls back what is in flight, and takes nothing new until it starts.
#[test]
fn a_stopped_instance() {
    let instance = instance();
    let session = Session::new(instance, Path::Callback, &cbc(5));
    let (memory, mut iv) = (Memory::new(&[1; 16], &[], 0), [0; 16]);
    let mut request = Request::new(&session).cipher(0, 16).iv(&mut iv, 16);
    assert_eq!(request.submit(&session, &memory, &memory), CPA_STATUS_SUCCESS);
    // SAFETY: a handle.
    unsafe {
        assert_eq!(cpaCyStopInstance(instance), CPA_STATUS_SUCCESS);
        assert_eq!(request.tag.outcome, Some(RIGHT));
        let mut request = Request::new(&session).cipher(0, 16).iv(&mut iv, 16);
        assert_eq!(request.submit(&session, &memory, &memory), CPA_STATUS_FAIL);
        let refused = Session::try_new(instance, Path::Callback, &cbc(5)).err();
        assert_eq!(refused, Some(CPA_STATUS_FAIL));
        assert_eq!(cpaCyStartInstance(instance), CPA_STATUS_SUCCESS);
        assert_eq!(request.run(&session, &memory, &memory), Ok(RIGHT));
        assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
    }
}

#[test]
fn counters() {
    let instance = instance();
    // SAFETY: integers.
    let (mut long, mut short): (CpaCySymStats64, CpaCySymStats) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    let spec = Spec { verify: true, ..sha256() };
    let session = Session::new(instance, Path::Callback, &spec);
    assert!(Session::try_new(instance, Path::Callback, &Spec { digest_len: 0, ..spec }).is_err());
    let memory = Memory::new(b"abc", &[], 0);
    for n in 0..5 {
        let mut place = oracle::digest("SHA256", b"abc");
        place[0] ^= u8::from(n == 4);
        let mut request = Request::new(&session).hash(0, 3).digest(&mut place);
        assert_eq!(request.run(&session, &memory, &memory).unwrap().verified, n != 4);
    }
    let mut request = Request::new(&session).hash(0, 4).digest(&mut []);
    assert!(request.run(&session, &memory, &memory).is_err());
    assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
    // SAFETY: memory of the test's.
    unsafe {
        assert_eq!(cpaCySymQueryStats64(instance, &mut long), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCySymQueryStats(instance, &mut short), CPA_STATUS_SUCCESS);
    }
    let found = [
        long.numSessionsInitialized,
        long.numSessionsRemoved,
        long.numSessionErrors,
        long.numSymOpRequests,
        long.numSymOpRequestErrors,
        long.numSymOpCompleted,
        long.numSymOpCompletedErrors,
        long.numSymOpVerifyFailures,
    ];
    assert_eq!(found, [1, 1, 1, 5, 1, 5, 0, 1]);
    assert_eq!((short.numSymOpRequests, short.numSymOpVerifyFailures), (5, 1));
}

static TOLD: AtomicU32 = AtomicU32::new(0);

#[test]
fn ten_thousand_sessions() {
    let instance = instance();
    let sessions: Vec<_> = (0..10_000)
        .map(|n: u32| {
            let key = [&n.to_be_bytes()[..], &[7; 12]].concat();
            let spec = Spec::cipher(CPA_CY_SYM_CIPHER_AES_CBC, &key, true);
            (Session::new(instance, Path::Callback, &spec), key)
        })
        .collect();
    let mut iv = [0; 16];
    for group in sessions.chunks(500) {
        let memory: Vec<_> = group.iter().map(|_| Memory::new(&[3; 32], &[], 0)).collect();
        let mut requests: Vec<_> = group
            .iter()
            .zip(&memory)
            .map(|((session, _), memory)| {
                let mut request = Request::new(session).cipher(0, 32).iv(&mut iv, 16);
                let status = request.submit(session, memory, memory);
                assert_eq!(status, CPA_STATUS_SUCCESS);
                request
            })
            .collect();
        while !requests.iter().all(|r| r.tag.is_answered()) {
            poll(instance);
        }
        for ((request, memory), (_, key)) in requests.iter_mut().zip(&memory).zip(group) {
            assert_eq!(request.tag.outcome, Some(RIGHT));
            let expected = oracle::openssl("AES-128-CBC", key, &[0; 16], true, &[3; 32]);
            assert_eq!(memory.bytes(), expected);
        }
    }
    for (session, _) in &sessions {
        assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
    }
}

unsafe extern "C" fn tell(
    tag: *mut std::ffi::c_void,
    status: CpaStatus,
    _op: CpaCySymOp,
    _data: *mut std::ffi::c_void,
    _dst: *mut CpaBufferList,
    verified: CpaBoolean,
) {
    assert_eq!((status, verified), (CPA_STATUS_SUCCESS, CPA_TRUE));
    // SAFETY: a test's counter, which any thread may use.
    let count = unsafe { &*tag.cast::<AtomicU32>() };
    assert_eq!(count.fetch_add(1, Ordering::Relaxed), 0, "called back once");
    TOLD.fetch_add(1, Ordering::Relaxed);
}

/// Two threads submit, and two more poll.
#[test]
fn threads() {
    const EACH: usize = 5_000;
    let instance = instance().expose_provenance();
    let handle = || ptr::with_exposed_provenance_mut::<std::ffi::c_void>(instance);
    std::thread::scope(|scope| {
        for n in 0..2 {
            scope.spawn(move || {
                let spec = cbc(6 + n);
                let (data, mut place) = (spec.data(), [0_u64; 8]);
                let context = place.as_mut_ptr().cast();
                let memory: Vec<_> =
                    (0..EACH).map(|i| Memory::new(&[i as u8; 16], &[], 0)).collect();
                let counts: Vec<_> = (0..EACH).map(|_| AtomicU32::new(0)).collect();
                let mut iv = [0; 16];
                // SAFETY: memory of this thread's, until all are answered.
                unsafe {
                    let status = cpaCySymInitSession(handle(), Some(tell), &data, context);
                    assert_eq!(status, CPA_STATUS_SUCCESS);
                    let op = CpaCySymOpData {
                        sessionCtx: context,
                        packetType: CPA_CY_SYM_PACKET_TYPE_FULL,
                        pIv: iv.as_mut_ptr(),
                        ivLenInBytes: 16,
                        cryptoStartSrcOffsetInBytes: 0,
                        messageLenToCipherInBytes: 16,
                        hashStartSrcOffsetInBytes: 0,
                        messageLenToHashInBytes: 0,
                        pDigestResult: ptr::null_mut(),
                        pAdditionalAuthData: ptr::null_mut(),
                    };
                    for (memory, count) in memory.iter().zip(&counts) {
                        let tag = ptr::from_ref(count).cast_mut().cast();
                        let list = memory.list();
                        let submit =
                            || cpaCySymPerformOp(handle(), tag, &op, list, list, ptr::null_mut());
                        while submit() == CPA_STATUS_RETRY {
                            std::thread::yield_now();
                        }
                    }
                    while cpaCySymRemoveSession(handle(), context) == CPA_STATUS_RETRY {
                        std::thread::yield_now();
                    }
                }
                for (i, (memory, count)) in memory.iter().zip(&counts).enumerate() {
                    assert_eq!(count.load(Ordering::Relaxed), 1);
                    let expected = encrypted(6 + n, &[0; 16], &[i as u8; 16]);
                    assert_eq!(memory.bytes(), expected);
                }
            });
            scope.spawn(move || {
                while (TOLD.load(Ordering::Relaxed) as usize) < 2 * EACH {
                    poll(handle());
                    std::thread::yield_now();
                }
            });
        }
    });
    assert_eq!(TOLD.load(Ordering::Relaxed) as usize, 2 * EACH);
}
