//! Forks while other threads are inside the libraries that the CPU device uses, whose locks a child cannot take over.
//!
//! One test in one process of its own, as in `fork.rs`.

mod child;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use child::in_child;
use lookaside::{Buf, Curve, Instance, InstanceConfig, Request, Runtime, SetupError};

/// Executes them on an instance; whether all were.
fn run(instance: &mut Instance, requests: impl IntoIterator<Item = Request>) -> bool {
    let mut good = true;
    for request in requests {
        good &= instance.push(request).is_ok();
    }
    while instance.outstanding() > 0 {
        good &= instance.wait(Duration::from_secs(20));
        good &= instance.poll().all(|response| response.result.is_ok());
    }
    good
}

/// An instance of its own, a key pair and random bytes.
fn all_of_it(runtime: &Runtime) -> Result<bool, SetupError> {
    let mut instance = runtime.instance(InstanceConfig::default())?;
    let (curve, random) = (runtime.ec(Curve::P384)?, runtime.random()?);
    let requests = [curve.generate(Buf::zeroed(3 * 48 + 1)), random.fill(Buf::zeroed(100))];
    Ok(run(&mut instance, requests))
}

/// Ends the threads of the test, however that ends.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_child_never_waits_for_a_thread_that_it_does_not_have() {
    let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap();
    assert_eq!(all_of_it(&runtime), Ok(true));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let _done = Done(&done);
        scope.spawn(|| {
            let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
            let random = runtime.random().unwrap();
            while !done.load(Ordering::Relaxed) {
                assert!(run(&mut instance, [random.fill(Buf::zeroed(16))]));
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert_eq!(all_of_it(&runtime), Ok(true));
            }
        });
        for n in 0..300 {
            let good = in_child(|| all_of_it(&runtime) == Ok(true));
            assert!(good, "fork {n}");
        }
    });
}
