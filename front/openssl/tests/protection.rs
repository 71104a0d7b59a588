//! The settings `verify` and `rsa-blinding`: what does not leave, and that the rest is as before.
#![allow(clippy::undocumented_unsafe_blocks, missing_docs)]

mod libcrypto;

use libcrypto::{task::*, *};
use std::{
    ffi::CStr,
    ptr::{null, null_mut},
};

const DIGEST: [u8; 32] = [7; 32];

/// The parameter with the public key, of an array that `EVP_PKEY_todata` made.
unsafe fn public(params: *mut Param) -> *mut Param {
    let mut param = params;
    unsafe {
        while CStr::from_ptr((*param).key) != c"pub" {
            param = param.add(1);
        }
    }
    param
}

/// The private key of one, the public key of the other: what it signs is not valid.
fn torn(lib: &Lib, algorithm: &str, key: &Key, other: &Key) -> Key {
    unsafe {
        let (mut ours, mut theirs) = (null_mut(), null_mut());
        assert_eq!(EVP_PKEY_todata(key.0, 0x87, &mut ours), 1);
        assert_eq!(EVP_PKEY_todata(other.0, 0x87, &mut theirs), 1);
        let (to, from) = (public(ours), public(theirs));
        assert_eq!((*to).data_size, (*from).data_size);
        (*to).data.cast::<u8>().copy_from((*from).data.cast(), (*from).data_size);
        let name = c(algorithm);
        let made = EVP_PKEY_CTX_new_from_name(lib.0, name.as_ptr(), null());
        assert_eq!(EVP_PKEY_fromdata_init(made), 1, "{}", errors());
        let mut copy = null_mut();
        assert_eq!(EVP_PKEY_fromdata(made, &mut copy, 0x87, ours), 1, "{}", errors());
        EVP_PKEY_CTX_free(made);
        OSSL_PARAM_free(ours);
        OSSL_PARAM_free(theirs);
        Key(copy)
    }
}

#[test]
fn with_verify_a_wrong_signature_is_withheld() {
    for (verify, leaves) in [("no", true), ("yes", false)] {
        let lib = Lib::ours(&[("verify", verify), ("async", "all")]);
        for curve in ["P-256", "P-384", "B-283"] {
            let generate = || lib.generate("EC", &[("group", curve)]);
            let (key, other) = (generate(), generate());
            assert!(lib.sign(&key, &[], &DIGEST).is_some(), "{curve}: {}", errors());
            let torn = torn(&lib, "EC", &key, &other);
            assert_eq!(lib.sign(&torn, &[], &DIGEST).is_some(), leaves, "{curve}");
            assert!(leaves || errors().contains("withheld"));
            // In jobs, side by side, likewise.
            let work = || lib.sign(&torn, &[], &DIGEST).is_some();
            let mut jobs: Vec<Task> = (0..8).map(|_| Task::new(work)).collect();
            run_all(&mut jobs);
            assert!(jobs.iter().all(|job| (job.result == 1) == leaves), "{curve}");
            errors();
        }
    }
}

#[test]
fn with_verify_every_signature_is_verified_once() {
    let count = |verify| {
        let lib = Lib::ours(&[("verify", verify)]);
        let key = lib.generate("EC", &[("group", "P-256")]);
        let before = lib.counter("synchronous");
        for _ in 0..10 {
            assert!(lib.sign(&key, &[], &DIGEST).is_some());
        }
        lib.counter("synchronous") - before
    };
    assert_eq!((count("no"), count("yes")), (10, 20));
}

#[test]
fn blinded_rsa_signs_as_before() {
    let plain = Lib::plain();
    for engines in ["0", "1"] {
        let lib = Lib::ours(&[("rsa-blinding", "yes"), ("engines", engines)]);
        for bits in ["1024", "2048"] {
            let theirs = plain.generate("RSA", &[("bits", bits)]);
            let key = lib.import("RSA", &theirs);
            let expect = plain.sign(&theirs, &[], &DIGEST).unwrap();
            let work = || (0..9).all(|_| lib.sign(&key, &[], &DIGEST) == Some(expect.clone()));
            let mut jobs: Vec<Task> = (0..8).map(|_| Task::new(work)).collect();
            run_all(&mut jobs);
            assert!(jobs.iter().all(|job| job.result == 1), "{bits}: {}", errors());
        }
    }
}
