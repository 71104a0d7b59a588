//! A child process that uses a runtime made before the fork.
//!
//! One test in one process of its own: the test harness's other threads must not hold locks (of
//! the allocator, of stderr) that the child needs.

mod child;

use std::time::Duration;

use child::{in_child, in_child_by};
use lookaside::{
    Buf, Capability, Channel, Compression, Device, EngineId, Instance, InstanceConfig, Lost,
    OpError, Prepared, PushError, Runtime, SessionSpec, SetupError, Submitter,
};
use lookaside_cpu::{CpuDevice, cpu};
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

/// The system call alone: no handler runs, as with glibc's `_Fork`.
unsafe fn clone() -> libc::pid_t {
    // SAFETY: the caller's promise. No new stack: as `fork`.
    unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t }
}

/// The CPU device, but only in the process that made it.
struct ParentOnly(CpuDevice, u32);

impl Device for ParentOnly {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn capabilities(&self) -> &[Capability] {
        self.0.capabilities()
    }
    fn prepare(&self, spec: &SessionSpec) -> Result<Prepared, SetupError> {
        self.0.prepare(spec)
    }
    fn open_channel(&self, engine: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        match std::process::id() == self.1 {
            true => self.0.open_channel(engine),
            false => Err(SetupError::Os { what: "channel", errno: libc::ENODEV }),
        }
    }
}

fn a_child_that_can_have_no_engines_gets_errors(engines: usize) {
    let device = ParentOnly(cpu(), std::process::id());
    let runtime = Runtime::builder().device(device).engines(engines).start().unwrap();
    let mover = runtime.mover().unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    for tag in 0..3 {
        instance.push(mover.copy(Buf::zeroed(1), Buf::zeroed(1)).tag(tag)).unwrap();
    }
    assert!(instance.wait_many(3, Duration::from_secs(60)));
    let good = in_child(|| {
        // The parent's responses are there, but they are the parent's.
        let none = instance.free() == 64 && instance.poll().count() == 0;
        let pushed = instance.push(mover.copy(Buf::zeroed(1), Buf::zeroed(1)).tag(9)).is_ok();
        let waited = instance.wait(Duration::from_secs(1));
        let answers: Vec<_> = instance.poll().map(|r| (r.tag, r.result)).collect();
        let called = runtime.handle().call(mover.copy(Buf::zeroed(1), Buf::zeroed(1))).wait();
        drop(instance);
        let lost = Err(OpError::DeviceLost(Lost::Untouched));
        none && pushed && waited && answers == [(9, lost)] && called.result == lost
    });
    assert!(good, "{engines} engines");
}

/// No more threads for this process: as HAProxy's workers, which give up root and forbid themselves
/// processes.
fn forbid_threads() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain system calls in a child that ends by `_exit`. Root is above the limit.
    unsafe {
        assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &none), 0);
        if libc::geteuid() == 0 {
            assert_eq!(libc::setuid(65534), 0);
        }
    }
}

fn a_child_that_can_have_no_threads_executes_its_own_requests() {
    let runtime = Runtime::builder().device(cpu()).engines(2).start().unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    assert!(compress_some(&runtime, &mut instance, 10));
    assert_eq!((runtime.engines(), runtime.engines_refused()), (2, None));
    assert!(in_child(|| {
        forbid_threads();
        let works = compress_some(&runtime, &mut instance, 10);
        let mut fresh = runtime.instance(InstanceConfig::default()).unwrap();
        let refused = Some(SetupError::Os { what: "engine thread", errno: libc::EAGAIN });
        works
            && compress_some(&runtime, &mut fresh, 10)
            && instance.lost().is_none()
            && (runtime.engines(), runtime.engines_refused()) == (0, refused)
            && runtime.counters().engines_missing == 2
    }));
    // A runtime that is started there does the same.
    assert!(in_child(|| {
        forbid_threads();
        let runtime = Runtime::builder().device(cpu()).engines(3).start().unwrap();
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        compress_some(&runtime, &mut instance, 10)
            && runtime.engines() == 0
            && runtime.counters().engines_missing == 3
    }));
}

/// Other threads of the parent sleep: they hold no locks (of the allocator) that only `fork` would
/// wait for.
fn a_child_of_a_raw_clone_works_on() {
    for engines in [0, 2] {
        let runtime = Runtime::builder().device(cpu()).engines(engines).start().unwrap();
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        assert!(compress_some(&runtime, &mut instance, 10));
        let parent = lookaside::fork_generation();
        let good = in_child_by(clone, 20, || {
            let child = lookaside::fork_generation();
            let works = compress_some(&runtime, &mut instance, 10);
            let grandchild_works = in_child_by(clone, 10, || {
                let own = lookaside::fork_generation();
                own != child && own != parent && compress_some(&runtime, &mut instance, 10)
            });
            child != parent && works && grandchild_works
        });
        assert!(good, "{engines} engines");
        assert_eq!(lookaside::fork_generation(), parent);
        assert!(compress_some(&runtime, &mut instance, 10), "{engines} engines");
    }
}

fn halves_of_an_instance_are_closed_in_a_child(engines: usize) {
    let runtime = Runtime::builder().device(cpu()).engines(engines).start().unwrap();
    let mover = runtime.mover().unwrap();
    let copy = |tag| mover.copy(Buf::zeroed(1), Buf::zeroed(1)).tag(tag);
    let mut halves = Some(runtime.instance(InstanceConfig::default()).unwrap().split());
    let push = |submitter: &mut Submitter, tag| submitter.push(copy(tag)).is_ok();
    let (submitter, _) = halves.as_mut().unwrap();
    assert!((0..3).all(|tag| push(submitter, tag)));
    submitter.doorbell();
    assert!(push(submitter, 3));
    let good = in_child(|| {
        let (submitter, poller) = halves.as_mut().unwrap();
        let refused = matches!(submitter.push(copy(9)), Err(PushError::Closed(r)) if r.tag == 9);
        refused
            && (submitter.free(), submitter.doorbell(), poller.outstanding()) == (0, 0, 0)
            && poller.poll().count() == 0
            && poller.is_finished()
            && !poller.wait(Duration::from_secs(600))
            && poller.event_fd().is_err()
            // Joined, they are an instance that works; so does a new one.
            && halves.take().and_then(|(s, p)| p.join(s).ok()).is_some_and(|mut whole| {
                let fresh = runtime.instance(InstanceConfig::default());
                whole.free() == 64
                    && compress_some(&runtime, &mut whole, 10)
                    && fresh.is_ok_and(|mut fresh| compress_some(&runtime, &mut fresh, 5))
            })
    });
    assert!(good, "{engines} engines");
    // Dropping them there ends, and leaves the parent's alone.
    for first in [0, 1] {
        assert!(in_child(|| match (first, halves.take().unwrap()) {
            (0, (submitter, poller)) => {
                drop(submitter);
                drop(poller);
                true
            }
            (_, (submitter, poller)) => {
                drop(poller);
                drop(submitter);
                true
            }
        }));
    }
    let (submitter, mut poller) = halves.unwrap();
    drop(submitter);
    let mut answered = 0;
    while poller.wait(Duration::from_secs(60)) {
        answered += poller.poll().filter(|r| r.result.is_ok()).count();
    }
    assert_eq!((answered, poller.is_finished()), (4, true));
}

#[test]
fn a_child_works_on() {
    for engines in [0, 2] {
        halves_of_an_instance_are_closed_in_a_child(engines);
    }
    a_child_of_a_raw_clone_works_on();
    a_child_that_can_have_no_threads_executes_its_own_requests();
    for engines in [0, 1] {
        a_child_that_can_have_no_engines_gets_errors(engines);
    }

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
