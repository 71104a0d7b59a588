//! Functions called on stacks as small as a coroutine's: 24 KB with an unusable page below, where OpenSSL's
//! asynchronous jobs have 32 KB and no such page.
// Each block calls a function of the interface with what that asks for.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, missing_docs)]

mod common;
mod pke_common;
mod sym_common;

use core::{ffi::c_void, mem::zeroed, ptr};
use std::{
    fs::File,
    os::unix::fs::FileExt,
    thread::{self, ThreadId},
};

use lookaside_qat::{
    abi::*,
    cy::pke::{curves::CURVES, ec::*, prime::*, rsa::*},
    sal::*,
    stack::Registered,
};
use pke_common::{Flat, NONE, both, flat, two};
use sym_common::{Memory, Path, Request, Session, Spec, oracle};

const PAGE: usize = 4096;
const SIZE: usize = 24 << 10;

/// The most that a function may use of its caller's stack, the test's own frames and the system's first look at the
/// thread's stack included.
const BOUND: usize = 8 << 10;

/// Runs a function on a small stack of its own. How many bytes of that it has used.
#[track_caller]
fn on_small_stack(work: impl FnOnce()) -> usize {
    struct Run<'a> {
        work: Option<&'a mut dyn FnMut()>,
        panic: Option<Box<dyn core::any::Any + Send>>,
        own: libc::ucontext_t,
        back: libc::ucontext_t,
    }
    extern "C" fn begin(low: u32, high: u32) {
        let run: *mut Run<'_> =
            ptr::with_exposed_provenance_mut((high as usize) << 32 | low as usize);
        // SAFETY: below; it waits.
        unsafe {
            let work = (*run).work.take().unwrap();
            (*run).panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).err();
        }
    }
    let mut work = Some(work);
    let mut once = || work.take().unwrap()();
    // SAFETY: a mapping of this function's, given to a context that ends before it does.
    unsafe {
        let (kind, all) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, PAGE + SIZE);
        let base = libc::mmap(ptr::null_mut(), all, libc::PROT_NONE, kind, -1, 0);
        assert_ne!(base, libc::MAP_FAILED);
        let stack = base.byte_add(PAGE);
        assert_eq!(libc::mprotect(stack, SIZE, libc::PROT_READ | libc::PROT_WRITE), 0);
        stack.cast::<u8>().write_bytes(0xa5, SIZE);
        let _registered = Registered::new(stack, SIZE);
        let mut run =
            Box::new(Run { work: Some(&mut once), panic: None, own: zeroed(), back: zeroed() });
        let address = (&raw mut *run).expose_provenance();
        libc::getcontext(&mut run.own);
        (run.own.uc_stack.ss_sp, run.own.uc_stack.ss_size) = (stack, SIZE);
        run.own.uc_link = &mut run.back;
        let begin: extern "C" fn() = core::mem::transmute(begin as extern "C" fn(u32, u32));
        libc::makecontext(&mut run.own, begin, 2, address as u32, (address >> 32) as u32);
        let (own, back) = (&raw const run.own, &raw mut run.back);
        assert_eq!(libc::swapcontext(back, own), 0);
        if let Some(panic) = run.panic.take() {
            std::panic::resume_unwind(panic);
        }
        // Not by a pointer: to valgrind what lies below a stack pointer is nobody's.
        let mut bytes = vec![0; SIZE];
        let memory = File::open("/proc/self/mem").unwrap();
        memory.read_exact_at(&mut bytes, stack.addr() as u64).unwrap();
        let used = SIZE - bytes.iter().take_while(|byte| **byte == 0xa5).count();
        libc::munmap(base, all);
        used
    }
}

#[track_caller]
fn small(what: &str, work: impl FnOnce()) {
    let used = on_small_stack(work);
    println!("{what}: {used} bytes");
    assert!(used <= BOUND, "{what}: {used} bytes of the caller's stack");
}

#[test]
fn the_first_call_of_all() {
    // Starts the runtime, or finds it started by another test: in a process of its own when this runs alone.
    small("icp_sal_userStart", common::start);
    small("icp_sal_check_all_devices", || unsafe {
        assert_eq!(icp_sal_check_all_devices(), CPA_STATUS_SUCCESS);
    });
}

/// Every kind of public-key request, with a callback and without, from the set-up of its key on.
#[test]
fn public_keys() {
    let rsa = pke_common::ssl::Rsa::new(2048, &pke_common::ssl::Number::word(65_537));
    let half = rsa.len / 2;
    let parts =
        [&rsa.p, &rsa.q, &rsa.dp, &rsa.dq, &rsa.qinv].map(|part| Flat::new(&part.bytes(half)));
    let [p, q, dp, dq, qinv] = parts.each_ref().map(|part| part.flat);
    let mut key = CpaCyRsaPrivateKey {
        version: CPA_CY_RSA_VERSION_TWO_PRIME,
        privateKeyRepType: CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_2,
        privateKeyRep1: CpaCyRsaPrivateKeyRep1 { modulusN: NONE, privateExponentD: NONE },
        privateKeyRep2: CpaCyRsaPrivateKeyRep2 {
            prime1P: p,
            prime2Q: q,
            exponent1Dp: dp,
            exponent2Dq: dq,
            coefficientQInv: qinv,
        },
    };
    let mut bytes = pke_common::noise(1, rsa.len);
    bytes[0] = 0;
    let wanted = pke_common::ssl::Number::new(&bytes).power(&rsa.d, &rsa.n).bytes(rsa.len);
    let input = Flat::new(&bytes);
    let op = CpaCyRsaDecryptOpData { pRecipientPrivateKey: &mut key, inputData: input.flat };
    small("cpaCyRsaDecrypt", || {
        let answer = both(&[rsa.len], |ask| unsafe {
            cpaCyRsaDecrypt(ask.handle, ask.by(flat), ask.tag, &op, ask.outs[0])
        });
        assert_eq!(answer.only(), wanted);
    });
    // Each curve has kernels of its own.
    for known in CURVES {
        let [k, p, a, b, x, y] =
            [&[1][..], known.p, padded(known.a), known.b, known.g[0], known.g[1]].map(Flat::new);
        let field = match known.binary {
            true => CPA_CY_EC_FIELD_TYPE_BINARY,
            false => CPA_CY_EC_FIELD_TYPE_PRIME,
        };
        let op = CpaCyEcPointMultiplyOpData {
            k: k.flat,
            xg: x.flat,
            yg: y.flat,
            a: a.flat,
            b: b.flat,
            q: p.flat,
            h: NONE,
            fieldType: field,
        };
        let len = known.curve.field_len();
        small(&format!("cpaCyEcPointMultiply, {:?}", known.curve), || {
            let answer = both(&[len; 2], |ask| unsafe {
                let [x, y] = ask.outs[..] else { panic!() };
                cpaCyEcPointMultiply(ask.handle, ask.by(two), ask.tag, &op, ask.valid, x, y)
            });
            let [x, y] = &answer.good()[..] else { panic!() };
            assert!(x.ends_with(known.g[0]) && y.ends_with(known.g[1]));
        });
    }
    let number = Flat::new(&[101]);
    small("cpaCyPrimeTest", || {
        let op = CpaCyPrimeTestOpData {
            primeCandidate: number.flat,
            performGcdTest: CPA_TRUE,
            performFermatTest: CPA_TRUE,
            numMillerRabinRounds: 0,
            millerRabinRandomInput: NONE,
            performLucasTest: CPA_TRUE,
        };
        let mut prime = CPA_FALSE;
        let handle = pke_common::instance();
        let status = unsafe { cpaCyPrimeTest(handle, None, ptr::null_mut(), &op, &mut prime) };
        assert_eq!((status, prime), (CPA_STATUS_SUCCESS, CPA_TRUE));
    });
}

/// The interface has no number of 0 bytes.
fn padded(number: &[u8]) -> &[u8] {
    if number.is_empty() { &[0] } else { number }
}

#[test]
fn symmetric_requests() {
    let instance = sym_common::instance();
    let wanted = oracle::openssl("AES-128-CBC", &[2; 16], &[0; 16], true, &[5; 4096]);
    let wanted = &wanted[..4096];
    for path in [Path::Waiting, Path::Callback, Path::DataPlane] {
        let spec = Spec::cipher(CPA_CY_SYM_CIPHER_AES_CBC, &[2; 16], true);
        let memory = Memory::new(&[5; 4096], &[], 0);
        small("a symmetric session and its request", || {
            let session = Session::new(instance, path, &spec);
            let mut iv = [0; 16];
            let mut request = Request::new(&session).cipher(0, 4096).iv(&mut iv, 16);
            assert!(request.run(&session, &memory, &memory).is_ok());
        });
        assert_eq!(memory.bytes(), wanted);
    }
}

unsafe extern "C" fn compressed(tag: *mut c_void, status: CpaStatus) {
    assert_eq!(status, CPA_STATUS_SUCCESS);
    // SAFETY: the test's.
    unsafe { *tag.cast::<Option<ThreadId>>() = Some(thread::current().id()) };
}

#[test]
fn compression_and_the_thread_of_its_callback() {
    common::start();
    let input = common::text(100_000);
    for level in [1, 6, 9, 12] {
        let data = CpaDcSessionSetupData { compLevel: CpaDcCompLvl(level), ..common::setup() };
        let mut src = common::List::new(input.clone());
        let mut dst = common::List::room(common::bound(input.len()));
        let mut back = common::List::room(input.len());
        let (mut op, mut r) = (common::op(CPA_DC_FLUSH_FINAL), common::results());
        op.compressAndVerify = CPA_TRUE;
        let mut caller: Option<ThreadId> = None;
        let tag: *mut c_void = (&raw mut caller).cast();
        let mut session = None;
        small("a session with a callback, compression and poll", || {
            let session = session.insert(common::Held::new(&data, Some(compressed)));
            let (handle, instance) = (session.handle(), common::DEFAULT);
            unsafe {
                let (src, dst) = (src.get(), dst.get());
                let status = lookaside_qat::dc::calls::cpaDcCompressData2(
                    instance, handle, src, dst, &mut op, &mut r, tag,
                );
                assert_eq!(status, CPA_STATUS_SUCCESS);
                while tag.cast::<Option<ThreadId>>().read_volatile().is_none() {
                    icp_sal_DcPollInstance(instance, 0);
                }
            }
        });
        assert_eq!(caller, Some(thread::current().id()), "callbacks stay on the thread that polls");
        drop(session);
        let mut packed = common::List::new(dst.first(r.produced).to_vec());
        small("a session and decompression", || {
            let mut session = common::Held::new(&data, None);
            assert_eq!(session.decompress(&mut packed, &mut back, &mut op, &mut r), 0);
        });
        assert_eq!(back.first(r.produced), input);
    }
}
