//! What a symmetric request costs through QuickAssist's functions, beside the same request through the Rust
//! interface: CPU time, in rounds that alternate; medians. `cargo bench -p lookaside-qat --bench sym [-- name]`.
//!
//! Each case submits so many requests and polls until all are answered.

use std::{
    env,
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicUsize, Ordering},
};

use lookaside::{
    Aead, Auth, Buf, Carried, ChainOrder, Cipher, Hash, Instance, InstanceConfig, Packet, Request,
    Runtime, Span,
};
use lookaside_qat::{abi::*, cy::sym::*, discovery::*, sal::*};

const ROUNDS: usize = 41;

fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

static ANSWERS: AtomicUsize = AtomicUsize::new(0);

fn count(status: CpaStatus, verified: CpaBoolean) {
    assert_eq!((status, verified), (CPA_STATUS_SUCCESS, CPA_TRUE));
    ANSWERS.store(ANSWERS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

unsafe extern "C" fn done(
    _tag: *mut c_void,
    status: CpaStatus,
    _op: CpaCySymOp,
    _data: *mut c_void,
    _dst: *mut CpaBufferList,
    verified: CpaBoolean,
) {
    count(status, verified);
}

unsafe extern "C" fn dp_done(
    _data: *mut CpaCySymDpOpData,
    status: CpaStatus,
    verified: CpaBoolean,
) {
    count(status, verified);
}

/// What is measured.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Null,
    Cbc,
    /// Associated data and the tag apart.
    Gcm,
    /// AES-CBC, then HMAC-SHA256; the digest apart or behind the text.
    Chain {
        appended: bool,
    },
    Sha256,
}

const AAD: usize = 8;

impl What {
    fn setup(self, key: &mut [u8; 32]) -> CpaCySymSessionSetupData {
        // SAFETY: integers and null pointers.
        let mut data: CpaCySymSessionSetupData = unsafe { std::mem::zeroed() };
        data.sessionPriority = CPA_CY_PRIORITY_NORMAL;
        data.symOperation = match self {
            What::Null | What::Cbc => CPA_CY_SYM_OP_CIPHER,
            What::Sha256 => CPA_CY_SYM_OP_HASH,
            _ => CPA_CY_SYM_OP_ALGORITHM_CHAINING,
        };
        data.cipherSetupData = CpaCySymCipherSetupData {
            cipherAlgorithm: match self {
                What::Null => CPA_CY_SYM_CIPHER_NULL,
                What::Gcm => CPA_CY_SYM_CIPHER_AES_GCM,
                _ => CPA_CY_SYM_CIPHER_AES_CBC,
            },
            cipherKeyLenInBytes: 16,
            pCipherKey: key.as_mut_ptr(),
            cipherDirection: CPA_CY_SYM_CIPHER_DIRECTION_ENCRYPT,
        };
        let hash = &mut data.hashSetupData;
        hash.hashAlgorithm = match self {
            What::Gcm => CPA_CY_SYM_HASH_AES_GCM,
            _ => CPA_CY_SYM_HASH_SHA256,
        };
        hash.hashMode = match self {
            What::Sha256 => CPA_CY_SYM_HASH_MODE_PLAIN,
            _ => CPA_CY_SYM_HASH_MODE_AUTH,
        };
        hash.digestResultLenInBytes = if self == What::Gcm { 16 } else { 32 };
        hash.authModeSetupData = CpaCySymHashAuthModeSetupData {
            authKey: key.as_mut_ptr(),
            authKeyLenInBytes: 32,
            aadLenInBytes: if self == What::Gcm { AAD as u32 } else { 0 },
        };
        data.algChainOrder = CPA_CY_SYM_ALG_CHAIN_ORDER_CIPHER_THEN_HASH;
        data.digestIsAppended = match self {
            What::Chain { appended: true } => CPA_TRUE,
            _ => CPA_FALSE,
        };
        data
    }
}

/// A packet's memory: associated data, text, digest; and the interface's structures for it.
struct Place {
    bytes: Box<[u8]>,
    aad: Box<[u8; AAD]>,
    iv: Box<[u8; 16]>,
    digest: Box<[u8; 32]>,
    flat: Box<CpaFlatBuffer>,
    list: Box<CpaBufferList>,
    data: Box<CpaCySymOpData>,
    dp: Box<CpaCySymDpOpData>,
}

impl Place {
    fn new(
        instance: CpaInstanceHandle,
        (session, dp_session): (*mut c_void, *mut c_void),
        what: What,
        len: usize,
    ) -> Place {
        let mut bytes = vec![7_u8; len + 32].into_boxed_slice();
        let (mut aad, mut iv) = (Box::new([1; AAD]), Box::new([2; 16]));
        let mut digest = Box::new([0; 32]);
        let mut flat =
            Box::new(CpaFlatBuffer { dataLenInBytes: len as u32 + 32, pData: bytes.as_mut_ptr() });
        let list = Box::new(CpaBufferList {
            numBuffers: 1,
            pBuffers: &raw mut *flat,
            pUserData: ptr::null_mut(),
            pPrivateMetaData: ptr::null_mut(),
        });
        let iv_len = if what == What::Gcm { 12 } else { 16 };
        let data = Box::new(CpaCySymOpData {
            sessionCtx: session,
            packetType: CPA_CY_SYM_PACKET_TYPE_FULL,
            pIv: iv.as_mut_ptr(),
            ivLenInBytes: iv_len,
            cryptoStartSrcOffsetInBytes: 0,
            messageLenToCipherInBytes: len as u32,
            hashStartSrcOffsetInBytes: 0,
            messageLenToHashInBytes: len as u32,
            pDigestResult: digest.as_mut_ptr(),
            pAdditionalAuthData: aad.as_mut_ptr(),
        });
        let phys = |pointer: *mut u8| pointer.expose_provenance() as u64;
        let dp = Box::new(CpaCySymDpOpData {
            reserved0: 0,
            cryptoStartSrcOffsetInBytes: 0,
            messageLenToCipherInBytes: len as u32,
            iv: phys(iv.as_mut_ptr()),
            reserved1: 0,
            hashStartSrcOffsetInBytes: 0,
            messageLenToHashInBytes: len as u32,
            additionalAuthData: phys(aad.as_mut_ptr()),
            digestResult: phys(digest.as_mut_ptr()),
            instanceHandle: instance,
            sessionCtx: dp_session,
            ivLenInBytes: iv_len,
            srcBuffer: phys(bytes.as_mut_ptr()),
            srcBufferLen: len as u32 + 32,
            dstBuffer: phys(bytes.as_mut_ptr()),
            dstBufferLen: len as u32 + 32,
            thisPhys: 0,
            pIv: iv.as_mut_ptr(),
            pAdditionalAuthData: aad.as_mut_ptr(),
            pCallbackTag: ptr::null_mut(),
        });
        Place { bytes, aad, iv, digest, flat, list, data, dp }
    }
}

/// The same through the Rust interface.
struct Rust {
    instance: Instance,
    make: Box<dyn Fn(Box<Carried>, Buf) -> Request>,
    // As a program that minds allocations does.
    #[allow(clippy::vec_box)]
    boxes: Vec<Box<Carried>>,
    packet: Packet,
}

impl Rust {
    fn new(runtime: &Runtime, what: What, key: &[u8; 32], len: usize) -> Rust {
        let config = InstanceConfig { depth: 512, ..InstanceConfig::default() };
        let instance = runtime.instance(config).unwrap();
        let text = Span::new(0, len as u32);
        let mut packet =
            Packet { iv: [2; 16].into(), cipher: text, tag: len as u32, ..Packet::default() };
        let make: Box<dyn Fn(Box<Carried>, Buf) -> Request> = match what {
            What::Null => {
                packet.iv = Default::default();
                let session = runtime.cipher(Cipher::Null, &[]).unwrap();
                Box::new(move |carried, dst| session.encrypt(carried, Buf::empty(), dst))
            }
            What::Cbc => {
                let session = runtime.cipher(Cipher::AesCbc, &key[..16]).unwrap();
                Box::new(move |carried, dst| session.encrypt(carried, Buf::empty(), dst))
            }
            What::Gcm => {
                // The associated data lies behind the text and the tag.
                packet.iv = [2; 12].into();
                packet.aad = Span::new(len as u32 + 16, AAD as u32);
                let session = runtime.aead(Aead::AesGcm, &key[..16], 16).unwrap();
                Box::new(move |carried, dst| session.seal(carried, Buf::empty(), dst))
            }
            What::Chain { .. } => {
                packet.auth = text;
                let session = runtime
                    .chain(
                        (Cipher::AesCbc, &key[..16]),
                        (Auth::Hmac(Hash::Sha256), key),
                        32,
                        ChainOrder::CipherThenAuth,
                    )
                    .unwrap();
                Box::new(move |carried, dst| session.seal(carried, Buf::empty(), dst))
            }
            What::Sha256 => {
                packet = Packet { auth: text, tag: len as u32, ..Packet::default() };
                let session = runtime.digest(Auth::Plain(Hash::Sha256), &[], 32).unwrap();
                Box::new(move |carried, dst| session.digest(carried, Buf::empty(), dst))
            }
        };
        Rust { instance, make, boxes: Vec::new(), packet }
    }

    fn run(&mut self, places: &mut [Place]) {
        let mut answers = 0;
        for place in places.iter_mut() {
            let carried = match self.boxes.pop() {
                Some(mut carried) => {
                    *carried = Carried::Packet(self.packet);
                    carried
                }
                None => self.packet.into(),
            };
            // SAFETY: memory of the bench's, until the answer below.
            let dst = unsafe { Buf::foreign_mut(place.bytes.as_mut_ptr(), place.bytes.len()) };
            self.instance.push((self.make)(carried, dst)).unwrap();
        }
        while answers < places.len() {
            for response in self.instance.poll() {
                response.result.unwrap();
                self.boxes.extend(response.carried);
                answers += 1;
            }
        }
    }
}

fn session(instance: CpaInstanceHandle, what: What, dp: bool, key: &mut [u8; 32]) -> *mut c_void {
    let data = what.setup(key);
    let context = Box::leak(Box::new([0_u64; 8])).as_mut_ptr().cast();
    // SAFETY: memory that stays.
    let status = unsafe {
        match dp {
            true => cpaCySymDpInitSession(instance, &data, context),
            false => cpaCySymInitSession(instance, Some(done), &data, context),
        }
    };
    assert_eq!(status, CPA_STATUS_SUCCESS);
    context
}

/// Submits all, and polls until they are answered.
fn traditional(instance: CpaInstanceHandle, places: &mut [Place]) {
    let before = ANSWERS.load(Ordering::Relaxed);
    for place in places.iter_mut() {
        let list = &raw mut *place.list;
        // SAFETY: memory of the bench's, until the answer below.
        let status = unsafe {
            cpaCySymPerformOp(instance, ptr::null_mut(), &*place.data, list, list, ptr::null_mut())
        };
        assert_eq!(status, CPA_STATUS_SUCCESS);
    }
    while ANSWERS.load(Ordering::Relaxed) - before < places.len() {
        // SAFETY: a handle.
        unsafe { icp_sal_CyPollInstance(instance, 0) };
    }
}

fn data_plane(instance: CpaInstanceHandle, places: &mut [Place]) {
    let before = ANSWERS.load(Ordering::Relaxed);
    let n = places.len();
    for (i, place) in places.iter_mut().enumerate() {
        let now = if i + 1 == n { CPA_TRUE } else { CPA_FALSE };
        // SAFETY: as above.
        let status = unsafe { cpaCySymDpEnqueueOp(&raw mut *place.dp, now) };
        assert_eq!(status, CPA_STATUS_SUCCESS);
    }
    while ANSWERS.load(Ordering::Relaxed) - before < n {
        // SAFETY: a handle.
        unsafe { icp_sal_CyPollDpInstance(instance, 0) };
    }
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() {
    let wanted: Vec<_> = env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let mut instance = ptr::null_mut();
    // SAFETY: memory of this function's.
    unsafe {
        assert_eq!(cpaCyGetInstances(1, &mut instance), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCyStartInstance(instance), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCySymDpRegCbFunc(instance, Some(dp_done)), CPA_STATUS_SUCCESS);
    }
    let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap();
    println!(
        "{:28} {:>5} {:>6} {:>9} {:>9} {:>9}",
        "ns a request", "burst", "bytes", "PerformOp", "data pl.", "Rust"
    );
    for (name, what, len) in [
        ("null", What::Null, 0),
        ("AES-CBC", What::Cbc, 64),
        ("AES-CBC", What::Cbc, 1024),
        ("AES-GCM, tag and AAD apart", What::Gcm, 64),
        ("AES-GCM, tag and AAD apart", What::Gcm, 1024),
        ("CBC-HMAC-SHA256, appended", What::Chain { appended: true }, 64),
        ("CBC-HMAC-SHA256, appended", What::Chain { appended: true }, 1024),
        ("CBC-HMAC-SHA256, apart", What::Chain { appended: false }, 64),
        ("CBC-HMAC-SHA256, apart", What::Chain { appended: false }, 1024),
        ("SHA-256, apart", What::Sha256, 64),
        ("SHA-256, apart", What::Sha256, 1024),
    ] {
        if !wanted.is_empty() && !wanted.iter().any(|w| name.contains(w)) {
            continue;
        }
        let mut key = [0; 32];
        key.iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8);
        let sessions =
            (session(instance, what, false, &mut key), session(instance, what, true, &mut key));
        for burst in [1, 32, 256] {
            let mut places: Vec<_> =
                (0..burst).map(|_| Place::new(instance, sessions, what, len)).collect();
            let mut rust = Rust::new(&runtime, what, &key, len);
            check(instance, &mut rust, &mut places, what, len);
            let times = (20_000 / burst).max(20) / if len > 500 { 4 } else { 1 };
            let mut all = [Vec::new(), Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                let mut round = |which: usize, run: &mut dyn FnMut()| {
                    let start = cpu_ns();
                    for _ in 0..times {
                        run();
                    }
                    let ns = (cpu_ns() - start) as f64 / (times * burst) as f64;
                    all[which].push(ns);
                };
                round(0, &mut || traditional(instance, &mut places));
                round(1, &mut || data_plane(instance, &mut places));
                round(2, &mut || rust.run(&mut places));
            }
            let [a, b, c] = all.map(median);
            println!("{name:28} {burst:>5} {len:>6} {a:>9.0} {b:>9.0} {c:>9.0}");
        }
    }
}

/// All three make the same.
fn check(
    instance: CpaInstanceHandle,
    rust: &mut Rust,
    places: &mut [Place],
    what: What,
    len: usize,
) {
    let mut made = Vec::new();
    for which in 0..3 {
        for place in places.iter_mut() {
            place.bytes.fill(7);
            place.bytes[len..].fill(1);
            place.digest.fill(0);
        }
        match which {
            0 => traditional(instance, places),
            1 => data_plane(instance, places),
            _ => rust.run(places),
        }
        for place in places.iter() {
            let behind = which == 2 || what == What::Chain { appended: true };
            let digest = match what {
                What::Null | What::Cbc => &[][..],
                What::Gcm if behind => &place.bytes[len..len + 16],
                What::Gcm => &place.digest[..16],
                _ if behind => &place.bytes[len..],
                _ => &place.digest[..],
            };
            let _ = (&place.aad, &place.iv, &place.flat);
            made.push((place.bytes[..len].to_vec(), digest.to_vec()));
        }
    }
    assert!(made.iter().all(|one| *one == made[0]), "the same of all");
}
