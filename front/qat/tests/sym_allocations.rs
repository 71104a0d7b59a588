//! Usual requests allocate nothing, once their memory is there.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use lookaside_qat::abi::*;

mod sym_common;
use sym_common::*;

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator, counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn usual_requests_allocate_nothing() {
    let instance = instance();
    let auth = CPA_CY_SYM_HASH_MODE_AUTH;
    let cbc = Spec::cipher(CPA_CY_SYM_CIPHER_AES_CBC, &[1; 16], true);
    let hmac = Spec::hash(CPA_CY_SYM_HASH_SHA256, auth, &[2; 32], 32);
    let gcm = Spec {
        aad_len: 16,
        ..Spec::chain(
            &Spec::cipher(CPA_CY_SYM_CIPHER_AES_GCM, &[1; 16], true),
            &Spec::hash(CPA_CY_SYM_HASH_AES_GCM, auth, &[], 16),
            true,
        )
    };
    for (spec, iv_len) in [
        (cbc.clone(), 16),
        (hmac.clone(), 0),
        (Spec::chain(&cbc, &hmac, true), 16),
        (Spec { appended: true, ..Spec::chain(&cbc, &hmac, true) }, 16),
        (gcm.clone(), 12),
        (Spec { appended: true, ..gcm }, 12),
    ] {
        for path in [Path::Callback, Path::Waiting, Path::DataPlane] {
            let session = Session::new(instance, path, &spec);
            let (mut iv, mut aad, mut place) = ([0; 16], [0; 16], [0; 32]);
            let memory: Vec<_> = (0..32).map(|_| Memory::new(&[0; 128], &[], 0)).collect();
            let mut requests: Vec<_> = (0..32)
                .map(|_| {
                    Request::new(&session)
                        .cipher(0, 64)
                        .hash(0, 64)
                        .iv(&mut iv, iv_len)
                        .aad(&mut aad)
                        .digest(&mut place)
                })
                .collect();
            let mut run = || {
                let before = COUNT.get();
                for (request, memory) in requests.iter_mut().zip(&memory) {
                    (request.tag.outcome, request.tag.count) = (None, 0);
                    let status = request.submit(&session, memory, memory);
                    assert_eq!(status, CPA_STATUS_SUCCESS);
                }
                requests.iter().for_each(|request| request.wait(&session));
                COUNT.get() - before
            };
            (0..3).for_each(|_| _ = run());
            let what = format!("{:?} {:?} {} {path:?}", spec.cipher, spec.hash, spec.appended);
            assert_eq!(run(), 0, "{what}");
            assert!(requests.iter().all(|r| r.tag.count == 1), "{what}");
            assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
        }
    }
}
