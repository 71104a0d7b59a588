//! A child process that uses a runtime made before the fork.
//!
//! One test in one process of its own: the test harness's other threads must not hold locks (of
//! the allocator, of stderr) that the child needs.

use std::time::Duration;

use lookaside::{Buf, Compression, Instance, InstanceConfig, Runtime};
use lookaside_cpu::cpu;
use lookaside_testkit::mixed;

fn compress_some(runtime: &Runtime, instance: &mut Instance, n: usize) -> bool {
    let Ok(session) = runtime.compression(Compression::default()) else { return false };
    let data = mixed(9, 20_000);
    for _ in 0..n {
        let dst = Buf::zeroed(session.bound(data.len()));
        if instance.push(session.compress(Buf::from(&*data), dst)).is_err() {
            return false;
        }
    }
    instance.doorbell();
    let mut good = 0;
    while instance.outstanding() > 0 {
        if !instance.wait(Duration::from_secs(20)) {
            return false;
        }
        good += instance.poll().filter(|r| r.result.is_ok()).count();
    }
    let dst = Buf::zeroed(session.bound(data.len()));
    let called = runtime.handle().call(session.compress(Buf::from(&*data), dst)).wait();
    good == n && called.result.is_ok()
}

/// Runs `f` in a forked child; whether it returned true within a minute.
fn in_child(f: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child calls `f` and `_exit`s; it runs no destructors of the parent's values.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: plain system calls.
            unsafe { libc::alarm(60) };
            let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or(false);
            // SAFETY: as above.
            unsafe { libc::_exit(if good { 0 } else { 1 }) }
        }
        -1 => panic!("fork: {}", std::io::Error::last_os_error()),
        child => {
            let mut status = 0;
            // SAFETY: `status` is valid for writes.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
        }
    }
}

#[test]
fn a_child_works_on() {
    for engines in [0, 2] {
        let runtime = Runtime::builder().device(cpu()).engines(engines).start().unwrap();
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        assert!(compress_some(&runtime, &mut instance, 10));

        // Forked while engines are in the middle of requests.
        let session = runtime.compression(Compression { level: 9, ..Default::default() }).unwrap();
        let data = mixed(5, 1 << 20);
        for tag in 0..20 {
            let dst = Buf::zeroed(session.bound(data.len()));
            instance.push(session.compress(Buf::from(&*data), dst).tag(tag)).unwrap();
        }
        instance.doorbell();
        for _ in 0..5 {
            let good = in_child(|| {
                instance.poll().count() == 0
                    && instance.free() == 64
                    && compress_some(&runtime, &mut instance, 30)
                    && runtime.instance(InstanceConfig::default()).is_ok_and(|mut fresh| {
                        compress_some(&runtime, &mut fresh, 5)
                    })
                    // A grandchild.
                    && in_child(|| {
                        compress_some(&runtime, &mut instance, 10)
                    })
            });
            assert!(good, "{engines} engines");
        }
        // The parent's requests were not touched by any of that.
        let mut answered = 0;
        while instance.wait(Duration::from_secs(60)) {
            answered += instance.poll().filter(|r| r.result.is_ok()).count();
        }
        assert_eq!(answered, 20);
    }
}
