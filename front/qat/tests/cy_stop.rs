//! The last stop ends everything: what is in flight, the program's functions, its keys.
// Each block calls a function of the interface with what that asks for.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, missing_docs)]

mod pke_common;
mod sym_common;

use core::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lookaside_qat::{
    abi::*,
    cy::pke::rsa::{cpaCyRsaDecrypt, private_keys},
    discovery::*,
    process::Process,
    sal::*,
};
use pke_common::{
    Flat, NONE,
    ssl::{Number, Rsa},
};
use sym_common::{Memory, Path, Request, Session, Spec};

/// Stops are of the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Decrypts with a key, and waits.
fn decrypt(handle: CpaInstanceHandle, rsa: &Rsa, callback: CpaCyGenFlatBufCbFunc) -> CpaStatus {
    let parts = [&rsa.p, &rsa.q, &rsa.dp, &rsa.dq, &rsa.qinv];
    let parts = parts.map(|part| Flat::new(&part.bytes(rsa.len / 2)));
    let mut private = CpaCyRsaPrivateKey {
        version: CPA_CY_RSA_VERSION_TWO_PRIME,
        privateKeyRepType: CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_2,
        privateKeyRep1: CpaCyRsaPrivateKeyRep1 { modulusN: NONE, privateExponentD: NONE },
        privateKeyRep2: CpaCyRsaPrivateKeyRep2 {
            prime1P: parts[0].flat,
            prime2Q: parts[1].flat,
            exponent1Dp: parts[2].flat,
            exponent2Dq: parts[3].flat,
            coefficientQInv: parts[4].flat,
        },
    };
    let input = Flat::new(&vec![1; rsa.len - 1]);
    let op = CpaCyRsaDecryptOpData { pRecipientPrivateKey: &mut private, inputData: input.flat };
    // Of asynchronous requests, until the process ends.
    let (out, op) = (Box::leak(Flat::room(rsa.len)), Box::leak(Box::new(op)));
    core::mem::forget((input, parts));
    unsafe { cpaCyRsaDecrypt(handle, callback, ptr::null_mut(), op, &mut out.flat) }
}

unsafe extern "C" fn ignored(
    _: *mut core::ffi::c_void,
    _: CpaStatus,
    _: *mut core::ffi::c_void,
    _: *mut CpaFlatBuffer,
) {
}

#[test]
fn the_last_stop_ends_everything() {
    let _alone = alone();
    let name = c"SSL".as_ptr();
    unsafe {
        assert_eq!(icp_sal_userStart(name), CPA_STATUS_SUCCESS);
        assert_eq!(icp_sal_userStart(name), CPA_STATUS_SUCCESS);
    }
    let handle = sym_common::instance();
    let process = Process::get().ok().unwrap();
    let instance = process.any_instance(handle).ok().unwrap();
    let rsa = Rsa::new(1024, &Number::word(65_537));
    assert_eq!(decrypt(handle, &rsa, None), CPA_STATUS_SUCCESS);
    // With those of other tests.
    let keys = private_keys();
    assert!(keys > 0);
    assert_eq!(decrypt(handle, &rsa, Some(ignored)), CPA_STATUS_SUCCESS);
    let spec = Spec::cipher(CPA_CY_SYM_CIPHER_AES_CBC, &[1; 16], true);
    let session = Session::new(handle, Path::DataPlane, &spec);
    assert!(!instance.dp_callback.load(core::sync::atomic::Ordering::Relaxed).is_null());
    assert_eq!(unsafe { icp_sal_userStop() }, CPA_STATUS_SUCCESS);
    assert_eq!((instance.asym.in_flight(), private_keys()), (1, keys));
    assert_eq!(unsafe { icp_sal_userStop() }, CPA_STATUS_SUCCESS);
    assert_eq!((instance.asym.in_flight(), private_keys()), (0, 0));
    assert!(instance.dp_callback.load(core::sync::atomic::Ordering::Relaxed).is_null());
    assert_eq!(decrypt(handle, &rsa, Some(ignored)), CPA_STATUS_FAIL);
    assert_eq!(private_keys(), 0);
    assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
    // And again.
    assert_eq!(unsafe { icp_sal_userStart(name) }, CPA_STATUS_SUCCESS);
    assert_eq!(decrypt(handle, &rsa, None), CPA_STATUS_SUCCESS);
    assert_eq!(unsafe { icp_sal_userStop() }, CPA_STATUS_SUCCESS);
    assert_eq!(private_keys(), 0);
    assert_eq!(unsafe { icp_sal_userStart(name) }, CPA_STATUS_SUCCESS);
}

#[test]
fn no_ring_starves_another_one() {
    let _alone = alone();
    let handle = sym_common::instance();
    let process = Process::get().ok().unwrap();
    let instance = process.any_instance(handle).ok().unwrap();
    let spec = Spec::cipher(CPA_CY_SYM_CIPHER_AES_CBC, &[1; 16], true);
    let (session, waits) =
        (Session::new(handle, Path::Callback, &spec), Session::new(handle, Path::Waiting, &spec));
    let memory = Memory::new(&[7; 64], &[], 0);
    let mut iv = [2; 16];
    let mut all = Vec::new();
    for _ in 0..process.settings().depth {
        let mut request = Request::new(&session).cipher(0, 64).iv(&mut iv, 16);
        assert_eq!(request.submit(&session, &memory, &memory), CPA_STATUS_SUCCESS);
        all.push(request);
    }
    let mut one_more = Request::new(&session).cipher(0, 64).iv(&mut iv, 16);
    assert_eq!(one_more.submit(&session, &memory, &memory), CPA_STATUS_RETRY);
    // Not a matter of the ring's.
    let mut now = Request::new(&waits).cipher(0, 64).iv(&mut iv, 16);
    assert_eq!(now.submit(&waits, &memory, &memory), CPA_STATUS_SUCCESS);
    let rsa = Rsa::new(1024, &Number::word(65_537));
    let fd = instance.asym.descriptor(process).ok().unwrap();
    assert_eq!(decrypt(handle, &rsa, Some(ignored)), CPA_STATUS_SUCCESS);
    // Engines have answered it, or a poll has something to execute.
    let mut ready = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    assert_eq!(unsafe { libc::poll(&mut ready, 1, 60_000) }, 1);
    assert_eq!(unsafe { icp_sal_CyPollInstance(handle, 4) }, CPA_STATUS_SUCCESS);
    assert_eq!(instance.asym.in_flight(), 0);
    let left = instance.ring.in_flight() as usize;
    match process.settings().engines {
        0 => assert_eq!(left, all.len() - 4),
        // As many as were there.
        _ => assert!((all.len() - 4..=all.len()).contains(&left)),
    }
    assert_eq!(unsafe { cpaCyStopInstance(handle) }, CPA_STATUS_SUCCESS);
    assert_eq!(instance.ring.in_flight(), 0);
    assert_eq!(unsafe { cpaCyStartInstance(handle) }, CPA_STATUS_SUCCESS);
}
