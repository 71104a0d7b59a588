//! Stopping a ring waits for callbacks, and a panic loses no count.

use std::{
    ffi::c_void,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use lookaside::{Buf, Compression, Request, Response};
use lookaside_qat::{
    dc::codec,
    process::Process,
    refusal::{Refusal, SILENT},
    ring::{Complete, Landed, Ring, drain},
};

fn copy(process: &Process) -> Request {
    process.runtime().mover().unwrap().copy(Buf::from(vec![1_u8]), Buf::zeroed(1))
}

fn process() -> &'static Process {
    let process = Process::get().unwrap();
    SILENT.store(true, Ordering::Relaxed);
    process
}

/// Polls until nothing is in flight: engines take their time. Returns how many answers that were.
fn poll_all(ring: &Ring) -> u32 {
    let mut count = 0;
    while ring.in_flight() > 0 {
        count += ring.poll(process(), 0).unwrap();
        thread::yield_now();
    }
    count
}

fn submit(ring: &Ring, complete: impl Complete) -> Result<(), Refusal> {
    ring.submit(process(), true, || copy(process()), complete)
}

/// Is completed by a function.
struct Calls<F>(F);

impl<F: FnOnce() + Send + 'static> Complete for Calls<F> {
    fn complete(self, _: Response) {
        (self.0)();
    }
}

/// Is landed, and calls a function with a place.
#[derive(Clone, Copy)]
struct Lands(fn(&'static Place), &'static Place);

struct Place {
    ring: Ring,
    calls: AtomicU32,
    seen: AtomicU32,
}

impl Place {
    const fn new() -> Place {
        Place { ring: Ring::new(), calls: AtomicU32::new(0), seen: AtomicU32::new(0) }
    }
}

fn call(landed: &Landed) {
    // SAFETY: of `land` below.
    let lands: &Lands = unsafe { &*landed.words[0].cast() };
    (lands.0)(lands.1);
}

impl Complete for Lands {
    const LANDS: bool = true;

    fn complete(self, _: Response) {}

    fn land(self, _: &mut Response) -> Landed {
        let kept: *mut Lands = Box::leak(Box::new(self));
        let mut words = [std::ptr::null_mut::<c_void>(); 6];
        words[0] = kept.cast();
        Landed { call: |landed| call(landed), words, numbers: [0; 3] }
    }
}

#[test]
fn a_drain_waits_for_callbacks_of_other_threads() {
    static RING: Ring = Ring::new();
    static ENTERED: AtomicBool = AtomicBool::new(false);
    static RETURNED: AtomicBool = AtomicBool::new(false);
    let slow = || {
        ENTERED.store(true, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(100));
        RETURNED.store(true, Ordering::SeqCst);
    };
    submit(&RING, Calls(slow)).unwrap();
    let poller = thread::spawn(|| poll_all(&RING));
    while !ENTERED.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    drain(&[&RING], process()).unwrap();
    assert!(RETURNED.load(Ordering::SeqCst));
    assert_eq!(poller.join().unwrap(), 1);
}

#[test]
fn a_drain_in_a_callback_calls_all_the_others() {
    static PLACE: Place = Place::new();
    let stops = |place: &'static Place| {
        place.ring.close(true);
        drain(&[&place.ring], process()).unwrap();
        place.seen.store(place.calls.load(Ordering::Relaxed), Ordering::Relaxed);
    };
    let counts = |place: &'static Place| {
        place.calls.fetch_add(1, Ordering::Relaxed);
    };
    submit(&PLACE.ring, Lands(stops, &PLACE)).unwrap();
    for _ in 0..40 {
        submit(&PLACE.ring, Lands(counts, &PLACE)).unwrap();
    }
    poll_all(&PLACE.ring);
    assert_eq!(PLACE.seen.load(Ordering::Relaxed), 40);
    assert_eq!(PLACE.calls.load(Ordering::Relaxed), 40);
    let refused = submit(&PLACE.ring, Lands(counts, &PLACE));
    assert_eq!(refused.unwrap_err().status(), -1);
    PLACE.ring.close(false);
    submit(&PLACE.ring, Lands(counts, &PLACE)).unwrap();
    drain(&[&PLACE.ring], process()).unwrap();
    assert_eq!(PLACE.calls.load(Ordering::Relaxed), 41);
}

#[test]
fn callbacks_that_drain_at_once_do_not_wait_for_each_other() {
    static RINGS: [Ring; 2] = [Ring::new(), Ring::new()];
    static INSIDE: AtomicU32 = AtomicU32::new(0);
    static DONE: Mutex<u32> = Mutex::new(0);
    let both = || {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        while INSIDE.load(Ordering::SeqCst) < 2 {
            thread::yield_now();
        }
        drain(&[&RINGS[0], &RINGS[1]], process()).unwrap();
        *DONE.lock().unwrap() += 1;
    };
    for ring in &RINGS {
        submit(ring, Calls(both)).unwrap();
    }
    thread::scope(|scope| {
        for ring in &RINGS {
            scope.spawn(|| poll_all(ring));
        }
    });
    assert_eq!(*DONE.lock().unwrap(), 2);
}

/// Panics where it is landed.
struct Panics(bool);

impl Complete for Panics {
    const LANDS: bool = true;

    fn complete(self, _: Response) {}

    fn land(self, _: &mut Response) -> Landed {
        if self.0 {
            std::panic::resume_unwind(Box::new(()));
        }
        Landed { call: |_| {}, words: [std::ptr::null_mut(); 6], numbers: [0; 3] }
    }
}

#[test]
fn a_panic_loses_one_answer_at_most() {
    static RING: Ring = Ring::new();
    static CALLS: AtomicU32 = AtomicU32::new(0);
    for n in 0..40 {
        submit(&RING, Panics(n % 3 == 0)).unwrap();
        submit(&RING, Calls(|| std::panic::resume_unwind(Box::new(())))).unwrap();
        submit(&RING, Calls(|| _ = CALLS.fetch_add(1, Ordering::Relaxed))).unwrap();
    }
    assert_eq!(poll_all(&RING), 120);
    assert_eq!((RING.in_flight(), CALLS.load(Ordering::Relaxed)), (0, 40));
    drain(&[&RING], process()).unwrap();
}

/// A request that takes a while.
fn long() -> Request {
    let spec = Compression { level: 9, ..Compression::default() };
    let codec = codec::of(process(), &spec).unwrap();
    let text: Vec<u8> =
        (0_u32..1 << 19).flat_map(|n| (n.wrapping_mul(n) % 977).to_le_bytes()).collect();
    let room = text.len() * 2;
    codec.compress(Buf::from(text), Buf::zeroed(room))
}

#[test]
fn who_executes_keeps_nobody_from_submitting_and_polling() {
    static RING: Ring = Ring::new();
    static LONG: AtomicBool = AtomicBool::new(false);
    static BESIDE: AtomicU32 = AtomicU32::new(0);
    let work = || {
        while !LONG.load(Ordering::SeqCst) {
            if RING.poll(process(), 0).unwrap() == 0 && RING.in_flight() == 1 {
                // The other thread executes.
                let beside = || {
                    if !LONG.load(Ordering::SeqCst) {
                        BESIDE.fetch_add(1, Ordering::SeqCst);
                    }
                };
                submit(&RING, Calls(beside)).unwrap();
                RING.poll(process(), 0).unwrap();
            }
            thread::yield_now();
        }
    };
    // A machine that is busy may not let the second thread run while the first one executes.
    for _ in 0..50 {
        LONG.store(false, Ordering::SeqCst);
        let ends = Calls(|| LONG.store(true, Ordering::SeqCst));
        let request = long();
        RING.submit(process(), true, || request, ends).unwrap();
        thread::scope(|scope| {
            scope.spawn(work);
            scope.spawn(work);
        });
        drain(&[&RING], process()).unwrap();
        if BESIDE.load(Ordering::SeqCst) > 0 {
            return;
        }
    }
    panic!("nothing was served beside the long request");
}

#[test]
fn a_child_of_a_callback_leaves_the_rest_to_its_parent() {
    static PLACE: Place = Place::new();
    static BEFORE: AtomicU32 = AtomicU32::new(0);
    let forks = |place: &'static Place| {
        BEFORE.store(place.calls.load(Ordering::Relaxed), Ordering::Relaxed);
        // SAFETY: the child calls nothing but this ring, and ends.
        place.seen.store(unsafe { libc::fork() } as u32, Ordering::Relaxed);
    };
    let counts = |place: &'static Place| {
        place.calls.fetch_add(1, Ordering::Relaxed);
    };
    submit(&PLACE.ring, Lands(forks, &PLACE)).unwrap();
    for _ in 0..3 {
        submit(&PLACE.ring, Lands(counts, &PLACE)).unwrap();
        submit(&PLACE.ring, Calls(move || counts(&PLACE))).unwrap();
    }
    let polled = poll_all(&PLACE.ring);
    let (child, calls) = (PLACE.seen.load(Ordering::Relaxed), PLACE.calls.load(Ordering::Relaxed));
    if child == 0 {
        let right = calls == BEFORE.load(Ordering::Relaxed) && PLACE.ring.in_flight() == 0;
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(!right)) };
    }
    let mut status = 77;
    // SAFETY: the child of this test, and a place of its own.
    assert_eq!(unsafe { libc::waitpid(child as i32, &raw mut status, 0) }, child as i32);
    assert_eq!((status, calls, polled), (0, 6, 7));
}
