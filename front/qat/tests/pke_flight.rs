//! Many public-key requests in flight: each is answered once and rightly, whoever polls, and whatever keys they have.
// Each block calls a function of the interface with what that asks for.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, missing_docs)]

mod pke_common;

use core::{
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicU32, Ordering},
};
use std::{sync::Mutex, thread};

use lookaside_qat::{
    abi::*,
    cy::pke::{cache::BOUND, ec::*, ln::*, rsa::*, stats::cpaCyRsaQueryStats64},
    sal::*,
};
use pke_common::{
    Flat, NONE, instance, instances, noise, poll, poll_all,
    ssl::{Curve, Number, Rsa},
};

/// One request with all that it needs, at a fixed address.
struct Flight {
    input: Flat,
    out: Flat,
    parts: Vec<Flat>,
    private: CpaCyRsaPrivateKey,
    op: CpaCyRsaDecryptOpData,
    wanted: Vec<u8>,
    answered: AtomicU32,
    status: AtomicU32,
}

unsafe extern "C" fn landed(
    tag: *mut c_void,
    status: CpaStatus,
    op: *mut c_void,
    out: *mut CpaFlatBuffer,
) {
    // SAFETY: the tag is the flight.
    let flight = unsafe { &*tag.cast::<Flight>() };
    assert!(ptr::eq(op.cast(), &flight.op) && ptr::eq(out, &flight.out.flat));
    flight.status.store(status as u32, Ordering::Relaxed);
    flight.answered.fetch_add(1, Ordering::Release);
}

fn key(rsa: &Rsa) -> [Vec<u8>; 5] {
    [&rsa.p, &rsa.q, &rsa.dp, &rsa.dq, &rsa.qinv].map(|part| part.bytes(rsa.len / 2))
}

/// A request with its own copy of a key.
fn flight(rsa: &Rsa, seed: u64) -> Box<Flight> {
    let mut bytes = noise(seed, rsa.len);
    bytes[0] = 0;
    let wanted = Number::new(&bytes).power(&rsa.d, &rsa.n).bytes(rsa.len);
    let parts: Vec<Flat> = key(rsa).iter().map(|part| Flat::new(part)).collect();
    let private = CpaCyRsaPrivateKey {
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
    let input = Flat::new(&bytes);
    let op = CpaCyRsaDecryptOpData { pRecipientPrivateKey: ptr::null_mut(), inputData: input.flat };
    let mut flight = Box::new(Flight {
        input,
        out: Flat::new(&vec![0; rsa.len]),
        parts,
        private,
        op,
        wanted,
        answered: AtomicU32::new(0),
        status: AtomicU32::new(99),
    });
    flight.op.pRecipientPrivateKey = &mut flight.private;
    flight
}

impl Flight {
    fn submit(&mut self, handle: CpaInstanceHandle) -> CpaStatus {
        self.out.bytes.fill(0);
        let tag = ptr::from_mut(self);
        // SAFETY: the flight stays where it is until it has landed.
        unsafe {
            let (op, out) = (&raw const (*tag).op, &raw mut (*tag).out.flat);
            cpaCyRsaDecrypt(handle, Some(landed), tag.cast(), op, out)
        }
    }

    #[track_caller]
    fn check(&self, times: u32) {
        assert_eq!(self.answered.load(Ordering::Acquire), times, "answers");
        assert_eq!(self.status.load(Ordering::Relaxed), CPA_STATUS_SUCCESS as u32);
        assert!(self.out.bytes == self.wanted);
        assert!(!self.input.bytes.is_empty() && self.parts.len() == 5);
    }
}

fn usual(bits: usize) -> Rsa {
    Rsa::new(bits, &Number::word(65_537))
}

#[test]
fn thirty_six_in_flight_are_answered_once_each() {
    let handle = instance();
    let (one, other, long) = (usual(1024), usual(1024), usual(2048));
    let mut flights: Vec<Box<Flight>> =
        (0..36).map(|n| flight([&one, &other, &long][n as usize % 3], n)).collect();
    for round in 1..=3 {
        for flight in &mut flights {
            assert_eq!(flight.submit(handle), CPA_STATUS_SUCCESS);
        }
        let (mut most, mut now) = (0, 0);
        unsafe { icp_sal_AsymGetInflightRequests(handle, &mut most, &mut now) };
        assert_eq!((most, now), (512, 36));
        // A quota holds.
        let mut left = 5;
        while left > 0 {
            unsafe { icp_sal_CyPollInstance(handle, left) };
            unsafe { icp_sal_AsymGetInflightRequests(handle, &mut most, &mut now) };
            left = 5 - (36 - now);
        }
        let answered = |flight: &Flight| flight.answered.load(Ordering::Acquire) == round;
        assert_eq!(flights.iter().filter(|flight| answered(flight)).count(), 5);
        while !flights.iter().all(|flight| answered(flight)) {
            poll(handle);
        }
        assert_eq!(poll(handle), CPA_STATUS_RETRY);
        assert_eq!(unsafe { icp_sal_CyPollSymRing(handle, 0) }, CPA_STATUS_RETRY);
        flights.iter().for_each(|flight| flight.check(round));
    }
}

#[test]
fn a_full_ring_says_retry() {
    let handle = instance();
    let rsa = usual(512);
    let mut flights: Vec<Box<Flight>> = (0..513).map(|n| flight(&rsa, n)).collect();
    let (last, all) = flights.split_last_mut().unwrap();
    for flight in all {
        assert_eq!(flight.submit(handle), CPA_STATUS_SUCCESS);
    }
    assert_eq!(last.submit(handle), CPA_STATUS_RETRY);
    let mut stats: CpaCyRsaStats64 = unsafe { core::mem::zeroed() };
    assert_eq!(unsafe { cpaCyRsaQueryStats64(handle, &mut stats) }, CPA_STATUS_SUCCESS);
    assert_eq!((stats.numRsaDecryptRequests, stats.numRsaDecryptRequestErrors), (512, 0));
    // Engines may need their time.
    while unsafe { icp_sal_CyPollAsymRing(handle, 1) } == CPA_STATUS_RETRY {}
    assert_eq!(last.submit(handle), CPA_STATUS_SUCCESS);
    poll_all(handle);
    flights.iter().for_each(|flight| flight.check(1));
}

/// Something that threads share although it has addresses.
struct Shared<T>(T);

// SAFETY: what callbacks touch of a flight is atomic; the rest is read after it has landed.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

#[test]
fn two_threads_poll_while_two_submit() {
    const COUNT: u32 = 200;
    let rsa = usual(1024);
    let waiting: Vec<Box<Flight>> = (0..COUNT.into()).map(|n| flight(&rsa, n)).collect();
    let shared = Shared((Mutex::new(waiting), Mutex::new(Vec::new()), instance()));
    let done = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let Shared((waiting, landed, handle)) = &shared;
                loop {
                    let Some(mut flight) = waiting.lock().unwrap().pop() else { break };
                    assert_eq!(flight.submit(*handle), CPA_STATUS_SUCCESS);
                    while flight.answered.load(Ordering::Acquire) == 0 {
                        thread::yield_now();
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                    landed.lock().unwrap().push(flight);
                }
            });
            scope.spawn(|| {
                let Shared((_, _, handle)) = &shared;
                while done.load(Ordering::Relaxed) < COUNT {
                    poll(*handle);
                    thread::yield_now();
                }
            });
        }
    });
    let landed = shared.0.1.lock().unwrap();
    assert_eq!(landed.len(), COUNT as usize);
    landed.iter().for_each(|flight| flight.check(1));
}

#[test]
fn a_thousand_keys_go_through_the_cache() {
    let handle = instance();
    // Primes are drawn once and paired: 46 of them make 1035 keys.
    let primes: Vec<Number> = (0..46).map(|_| Number::prime(256)).collect();
    let (e, one) = (Number::word(65_537), Number::word(1));
    let mut keys = Vec::new();
    for (i, p) in primes.iter().enumerate() {
        for q in &primes[..i] {
            let copy = |n: &Number| n.plus(&Number::word(0));
            let (p1, q1) = (p.minus(&one), q.minus(&one));
            let Some(d) = e.inverse(&p1.times(&q1)) else { continue };
            let Some(qinv) = q.inverse(p) else { continue };
            let n = p.times(q);
            let (dp, dq) = (d.modulo(&p1), d.modulo(&q1));
            let (p, q, e) = (copy(p), copy(q), copy(&e));
            keys.push(Rsa { n, e, d, p, q, dp, dq, qinv, len: 64 });
        }
    }
    assert!(keys.len() > 1000 && keys.len() > BOUND);
    let mut flights: Vec<Box<Flight>> =
        keys.iter().enumerate().map(|(n, key)| flight(key, n as u64)).collect();
    for round in 1..=2 {
        for batch in flights.chunks_mut(100) {
            for flight in batch.iter_mut() {
                assert_eq!(flight.submit(handle), CPA_STATUS_SUCCESS);
            }
            poll_all(handle);
        }
        flights.iter().for_each(|flight| flight.check(round));
    }
}

/// What a callback does: it submits again.
unsafe extern "C" fn again(
    tag: *mut c_void,
    status: CpaStatus,
    op: *mut c_void,
    out: *mut CpaFlatBuffer,
) {
    assert_eq!(status, CPA_STATUS_SUCCESS);
    // SAFETY: the tag is a count and the instance.
    let (left, handle) = unsafe { &mut *tag.cast::<(u32, CpaInstanceHandle)>() };
    *left -= 1;
    if *left > 0 {
        // SAFETY: as the first request, which is over.
        let status = unsafe { cpaCyLnModExp(*handle, Some(again), tag, op.cast(), out) };
        assert_eq!(status, CPA_STATUS_SUCCESS);
    }
}

#[test]
fn callbacks_submit_again_and_stopping_drains() {
    let handle = instance();
    let parts = [Flat::new(&[0xf1; 64]), Flat::new(&[3; 64]), Flat::new(&[5])];
    let op = CpaCyLnModExpOpData {
        modulus: parts[0].flat,
        base: parts[1].flat,
        exponent: parts[2].flat,
    };
    let mut out = Flat::new(&[0; 64]);
    let mut state = (10_u32, handle);
    let tag = (&raw mut state).cast();
    let status = unsafe { cpaCyLnModExp(handle, Some(again), tag, &op, &mut out.flat) };
    assert_eq!(status, CPA_STATUS_SUCCESS);
    for left in (0..10).rev() {
        while poll(handle) == CPA_STATUS_RETRY {}
        assert_eq!(state.0, left);
    }
    assert_eq!(poll(handle), CPA_STATUS_RETRY);
    // An instance of its own: stopped with requests in flight.
    let handle = *instances().last().unwrap();
    let rsa = usual(512);
    let mut flights: Vec<Box<Flight>> = (0..20).map(|n| flight(&rsa, n)).collect();
    for flight in &mut flights {
        assert_eq!(flight.submit(handle), CPA_STATUS_SUCCESS);
    }
    unsafe {
        use lookaside_qat::discovery::{cpaCyStartInstance, cpaCyStopInstance};
        assert_eq!(cpaCyStopInstance(handle), CPA_STATUS_SUCCESS);
        flights.iter().for_each(|flight| flight.check(1));
        assert_eq!(flights[0].submit(handle), CPA_STATUS_FAIL);
        assert_eq!(cpaCyStartInstance(handle), CPA_STATUS_SUCCESS);
    }
    assert_eq!(flights[0].submit(handle), CPA_STATUS_SUCCESS);
    poll_all(handle);
    flights[0].check(2);
}

#[test]
fn a_child_has_its_own_requests() {
    let handle = instance();
    let rsa = usual(512);
    let mut flights: Vec<Box<Flight>> = (0..5).map(|n| flight(&rsa, n)).collect();
    for flight in &mut flights[..4] {
        assert_eq!(flight.submit(handle), CPA_STATUS_SUCCESS);
    }
    // SAFETY: the child leaves by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // What the parent has in flight is the parent's; keys are found in the cache.
        let alone = poll(handle) == CPA_STATUS_RETRY;
        let submitted = flights[4].submit(handle) == CPA_STATUS_SUCCESS;
        poll_all(handle);
        let polled = flights[4].answered.load(Ordering::Relaxed) == 1;
        let right = flights[4].out.bytes == flights[4].wanted;
        let others = flights[..4].iter().all(|f| f.answered.load(Ordering::Relaxed) == 0);
        let good = alone && submitted && polled && right && others;
        // SAFETY: nothing is left to be done.
        unsafe { libc::_exit(if good { 0 } else { 1 }) };
    }
    let mut status = -1;
    // SAFETY: a child of this process.
    unsafe { assert_eq!(libc::waitpid(child, &mut status, 0), child) };
    assert_eq!(status, 0, "the child's answer");
    poll_all(handle);
    flights[..4].iter().for_each(|flight| flight.check(1));
    assert_eq!(flights[4].answered.load(Ordering::Relaxed), 0);
}

unsafe extern "C" fn pair_landed(
    tag: *mut c_void,
    status: CpaStatus,
    _: *mut c_void,
    valid: CpaBoolean,
    _: *mut CpaFlatBuffer,
    _: *mut CpaFlatBuffer,
) {
    assert_eq!((status, valid), (CPA_STATUS_SUCCESS, CPA_TRUE));
    // SAFETY: the tag is a count.
    unsafe { *tag.cast::<u32>() += 1 };
}

#[test]
fn different_operations_share_a_ring() {
    let handle = instance();
    let curve = Curve::named("prime256v1");
    let [p, a, b] = curve.parameters().map(|n| Flat::new(&n.bytes(32)));
    let rsa = usual(1024);
    let mut flights: Vec<Box<Flight>> = (0..16).map(|n| flight(&rsa, n)).collect();
    let (_, point) = curve.pair(1);
    let [x, y] = point.each_ref().map(|c| Flat::new(&c.bytes(32)));
    let mut multiples: Vec<_> = (0..16_u64)
        .map(|n| {
            let (k, _) = curve.pair(100 + n);
            let wanted = curve.multiply(&k, Some(point.each_ref())).unwrap();
            let k = Flat::new(&k.bytes(32));
            let op = CpaCyEcPointMultiplyOpData {
                k: k.flat,
                xg: x.flat,
                yg: y.flat,
                a: a.flat,
                b: b.flat,
                q: p.flat,
                h: NONE,
                fieldType: CPA_CY_EC_FIELD_TYPE_PRIME,
            };
            (k, op, Flat::room(32), Flat::room(32), 0_u32, wanted, CPA_FALSE)
        })
        .collect();
    for (flight, it) in flights.iter_mut().zip(&mut multiples) {
        assert_eq!(flight.submit(handle), CPA_STATUS_SUCCESS);
        let (_, op, x, y, count, _, valid) = it;
        let tag = ptr::from_mut(count).cast();
        let status = unsafe {
            cpaCyEcPointMultiply(
                handle,
                Some(pair_landed),
                tag,
                op,
                valid,
                &mut x.flat,
                &mut y.flat,
            )
        };
        assert_eq!(status, CPA_STATUS_SUCCESS);
    }
    poll_all(handle);
    flights.iter().for_each(|flight| flight.check(1));
    for (_, _, x, y, count, wanted, _) in &multiples {
        assert_eq!(*count, 1);
        assert!(x.bytes == wanted[0].bytes(32) && y.bytes == wanted[1].bytes(32));
    }
}
