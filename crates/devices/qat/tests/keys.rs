//! What a program keeps for its threads stays as it is beside a card's library, whose copy of the C library numbers its keys
//! from 0 on, as the program's does.

mod common;

use std::{ptr, thread};

use lookaside::{Buf, Hash, RsaPrivate, RsaScheme, Runtime};
use lookaside_cpu::cpu;
use lookaside_qat_card::{QatDevice, Settings};

/// So many keys are the program's, as OpenSSL and others have them.
const KEYS: usize = 40;

fn set(keys: &[libc::pthread_key_t]) {
    for (i, key) in keys.iter().enumerate() {
        // SAFETY: a key of ours; the value is no pointer to anything.
        unsafe { libc::pthread_setspecific(*key, ptr::without_provenance(i + 1)) };
    }
}

fn changed(keys: &[libc::pthread_key_t]) -> Vec<usize> {
    let value = |key: &libc::pthread_key_t| {
        // SAFETY: a key of ours.
        unsafe { libc::pthread_getspecific(*key) }.addr()
    };
    (0..keys.len()).filter(|i| value(&keys[*i]) != i + 1).collect()
}

/// Signs by the card, whose library keeps something for the thread. Returns how many requests the card has answered.
fn sign(runtime: &Runtime, key: &RsaPrivate) -> u64 {
    let scheme = RsaScheme::Pkcs1Sign(Some(Hash::Sha256));
    let request = key.run(scheme, vec![7; 32].into(), Buf::zeroed(256));
    assert!(runtime.handle().call(request).wait().result.is_ok());
    let rows = runtime.counters().ops;
    rows.iter().filter(|row| row.device == "qat").map(|row| row.requests).sum()
}

#[test]
fn values_of_threads_stay() {
    let key = || {
        let mut key = 0;
        // SAFETY: a place for the key; it has no destructor.
        assert_eq!(unsafe { libc::pthread_key_create(&raw mut key, None) }, 0);
        key
    };
    let before: Vec<_> = (0..KEYS / 2).map(|_| key()).collect();
    set(&before);
    let card = QatDevice::new(Settings::new(common::loop_back("keys"))).unwrap();
    let runtime = Runtime::builder().device(card).device(cpu()).engines(0).start().unwrap();
    let rsa = runtime.rsa_private(common::rsa_key(&runtime)).unwrap();
    // Keys that were made for the card's sake are free again.
    let after: Vec<_> = (0..KEYS / 2).map(|_| key()).collect();
    assert!(after.iter().all(|key| *key < 200), "{after:?}");
    set(&after);
    assert_eq!(sign(&runtime, &rsa), 1);
    assert_eq!((changed(&before), changed(&after)), (vec![], vec![]));
    // Threads that set theirs before, and after; and that end.
    for n in 0..4 {
        thread::scope(|scope| {
            scope.spawn(|| {
                set(&before);
                assert_eq!(changed(&after).len(), after.len());
                assert!(sign(&runtime, &rsa) > n);
                set(&after);
                assert!(sign(&runtime, &rsa) > n + 1);
                assert_eq!((changed(&before), changed(&after)), (vec![], vec![]));
            });
        });
    }
}
