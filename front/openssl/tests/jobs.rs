//! `ASYNC_JOB`s in loops as programs have them: many at once, abandoned, resumed elsewhere, across
//! `fork`, with full rings and with callbacks.
#![allow(clippy::undocumented_unsafe_blocks, missing_docs)]

mod libcrypto;

use libcrypto::{task::*, *};
use std::{
    ffi::c_int,
    ptr::{self, null_mut},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

const DIGEST: [u8; 32] = [7; 32];

/// `jobs` jobs that each sign `each` times; all fds are waited for between rounds.
fn rounds(lib: &Lib, key: &Key, jobs: usize, each: usize) {
    let signed = AtomicUsize::new(0);
    let mut all: Vec<Task> = (0..jobs)
        .map(|_| {
            Task::new(|| {
                (0..each).all(|_| {
                    let signature = lib.sign(key, &[], &DIGEST);
                    signed.fetch_add(1, Relaxed);
                    signature.is_some_and(|s| lib.verify(key, &[], &DIGEST, &s))
                })
            })
        })
        .collect();
    let mut live: Vec<usize> = (0..jobs).collect();
    let mut passes = 0;
    while !live.is_empty() {
        live.retain(|&i| {
            if let [fd] = all[i].fds()[..] {
                wait_readable(fd);
            }
            !all[i].go()
        });
        passes += 1;
        assert!(passes < 100 * (each + 1), "a job is never done");
    }
    assert!(all.iter().all(|job| job.result == 1), "{}", errors());
    assert_eq!(signed.load(Relaxed), jobs * each);
}

fn lib_and_key(settings: &[(&str, &str)]) -> (Lib, Key) {
    let lib = Lib::ours(settings);
    let key = lib.generate("RSA", &[("bits", "1024")]);
    (lib, key)
}

/// Whether this CPU runs the tests' operation side by side: otherwise no job pauses without
/// engines, and there is nothing to see.
fn side_by_side() -> bool {
    let (lib, key) = lib_and_key(&[("async", "rsa-private")]);
    let mut job = Task::new(|| lib.sign(&key, &[], &DIGEST).is_some());
    let paused = !job.go();
    if paused {
        assert!(job.finish());
    } else {
        eprintln!("SKIPPED: on this CPU, RSA operations run one at a time");
    }
    paused
}

#[test]
fn one_to_forty_jobs() {
    for engines in ["0", "2"] {
        let (lib, key) = lib_and_key(&[("engines", engines)]);
        for jobs in [1, 2, 3, 7, 8, 9, 16, 36, 40] {
            rounds(&lib, &key, jobs, 3);
        }
        assert!(lib.counter("asynchronous") > 100 || engines == "0" && !side_by_side());
    }
}

#[test]
fn batches_fill() {
    if !side_by_side() {
        return;
    }
    let (lib, key) = lib_and_key(&[("async", "rsa-private")]);
    rounds(&lib, &key, 36, 8);
    // 288 signatures in 36 batches at best; the beginning and the end of the loop have partial ones.
    let batches = lib.counter("batches");
    let single = lib.counter("synchronous");
    assert!(batches - single < 50, "{batches} batches, {single} of one");
}

#[test]
fn a_lone_job_stops_pausing() {
    if !side_by_side() {
        return;
    }
    let (lib, key) = lib_and_key(&[("async", "rsa-private")]);
    rounds(&lib, &key, 1, 100);
    let submitted = lib.counter("asynchronous");
    assert!((4..20).contains(&submitted), "{submitted}");
    // And starts again when it is not alone any more.
    rounds(&lib, &key, 8, 100);
    assert!(lib.counter("asynchronous") > 400);
}

#[test]
fn full_rings() {
    for (policy, all_done) in [("wait", true), ("fallback", true), ("fail", false)] {
        let (lib, key) = lib_and_key(&[("policy", policy), ("depth", "4"), ("async", "all")]);
        let mut jobs: Vec<Task> =
            (0..12).map(|_| Task::new(|| lib.sign(&key, &[], &DIGEST).is_some())).collect();
        let mut done = 0;
        let mut live: Vec<usize> = (0..12).collect();
        while !live.is_empty() {
            live.retain(|&i| !jobs[i].go());
        }
        jobs.iter().for_each(|job| done += usize::from(job.result == 1));
        assert_eq!(done == 12, all_done, "{policy}: {done}");
        assert!(done >= 4, "{policy}: {done}");
        if !all_done {
            assert!(errors().contains("request ring full"));
        }
    }
}

#[test]
fn abandoned_jobs() {
    for engines in ["0", "1"] {
        let (lib, key) = lib_and_key(&[("engines", engines), ("async", "rsa-private")]);
        for round in 0..20 {
            // The wait context goes; the fibre stays where it is for ever, as HAProxy leaves it.
            for _ in 0..3 {
                let (lib, key): (&'static Lib, &'static Key) =
                    unsafe { (&*ptr::from_ref(&lib), &*ptr::from_ref(&key)) };
                let mut job = Box::new(Task::new(move || lib.sign(key, &[], &DIGEST).is_some()));
                if !job.go() {
                    unsafe { ASYNC_WAIT_CTX_free(job.wait) };
                    job.wait = null_mut();
                    Box::leak(job);
                }
            }
            let mut job = Task::new(|| lib.sign(&key, &[], &DIGEST).is_some());
            assert!(job.finish(), "round {round}: {}", errors());
        }
    }
}

#[test]
fn abandoned_jobs_leave_room_for_others() {
    // A ring full of what nobody waits for: there is no job whose return would execute it.
    let (lib, key) = lib_and_key(&[("depth", "4"), ("policy", "fail"), ("async", "all")]);
    for _ in 0..4 {
        let (lib, key): (&'static Lib, &'static Key) =
            unsafe { (&*ptr::from_ref(&lib), &*ptr::from_ref(&key)) };
        let mut job = Box::new(Task::new(move || lib.sign(key, &[], &DIGEST).is_some()));
        assert!(!job.go());
        unsafe { ASYNC_WAIT_CTX_free(job.wait) };
        job.wait = null_mut();
        Box::leak(job);
    }
    let mut job = Task::new(|| lib.sign(&key, &[], &DIGEST).is_some());
    assert!(job.finish(), "{}", errors());
}

#[test]
fn finished_operations_take_no_room() {
    // Connections stay long after their handshakes.
    let settings = [("engines", "1"), ("depth", "2"), ("policy", "fail"), ("async", "rsa-private")];
    let (lib, key) = lib_and_key(&settings);
    let work = || lib.sign(&key, &[], &DIGEST).is_some();
    let mut jobs: Vec<Task> = (0..4).map(|_| Task::new(work)).collect();
    assert!(jobs.iter_mut().all(Task::finish), "{}", errors());
}

#[test]
fn several_jobs_of_one_wait_context() {
    for engines in ["0", "1"] {
        let (lib, key) = lib_and_key(&[("engines", engines), ("async", "rsa-private")]);
        let work = || lib.sign(&key, &[], &DIGEST).is_some();
        for _ in 0..10 {
            let mut jobs: Vec<Task> = (0..3).map(|_| Task::new(work)).collect();
            let shared = jobs[0].wait;
            for job in &mut jobs[1..] {
                unsafe { ASYNC_WAIT_CTX_free(core::mem::replace(&mut job.wait, shared)) };
            }
            let paused: Vec<bool> = jobs.iter_mut().map(|job| !job.go()).collect();
            // One after the other: each is told that it may go on, whoever was told before.
            for (job, _) in jobs.iter_mut().zip(paused).filter(|(_, paused)| *paused) {
                let fds = job.fds();
                wait_readable(fds[0]);
                job.finish();
            }
            let results: Vec<c_int> = jobs.iter().map(|job| job.result).collect();
            for job in &mut jobs[1..] {
                job.wait = null_mut();
            }
            assert_eq!(results, [1; 3], "{engines}: {}", errors());
        }
    }
}

#[test]
fn an_abandoned_job_that_is_resumed_gets_an_error() {
    let (lib, key) = lib_and_key(&[("async", "all")]);
    let mut job = Task::new(|| lib.sign(&key, &[], &DIGEST).is_some());
    assert!(!job.go());
    let gone = job.wait;
    unsafe { ASYNC_WAIT_CTX_free(gone) };
    // A wait context that is gone is not one to resume with, but libcrypto keeps a pointer to the old one, and resets
    // its counts: a new one has to lie in its place. Which memory malloc gives first depends on what else was freed.
    let mut others = Vec::new();
    job.wait = loop {
        let wait = unsafe { ASYNC_WAIT_CTX_new() };
        if ptr::eq(wait, gone) {
            break wait;
        }
        others.push(wait);
        assert!(others.len() < 10_000, "the memory of the old one does not come again");
    };
    others.into_iter().for_each(|wait| unsafe { ASYNC_WAIT_CTX_free(wait) });
    assert!(job.go());
    assert_eq!(job.result, 0);
    assert!(errors().contains("abandoned"));
}

#[test]
fn jobs_go_on_in_other_threads() {
    struct Sent<T>(T);
    unsafe impl<T> Send for Sent<T> {}
    // With engines an operation may be done before it pauses, and the job end in the wrong thread:
    // libcrypto returns to the one that started it.
    let (lib, key) = lib_and_key(&[("async", "all")]);
    // Each is paused here, gets its response in another thread, and submits its next request
    // there. It ends here.
    for _ in 0..5 {
        let mut job = Task::new(|| (0..3).all(|_| lib.sign(&key, &[], &DIGEST).is_some()));
        if job.go() {
            continue;
        }
        let sent = Sent(&mut job);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let sent = sent;
                if let [fd] = sent.0.fds()[..] {
                    wait_readable(fd);
                }
                assert!(!sent.0.go(), "it has two more");
            });
        });
        assert!(job.finish(), "{}", errors());
    }
}

#[test]
fn many_threads_with_jobs() {
    for engines in ["0", "2"] {
        let (lib, key) = lib_and_key(&[("engines", engines)]);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| rounds(&lib, &key, 10, 4));
            }
        });
    }
}

#[test]
fn callbacks_instead_of_fds() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn called(_: Ptr) -> c_int {
        CALLS.fetch_add(1, Relaxed);
        1
    }
    for engines in ["0", "1"] {
        let (lib, key) = lib_and_key(&[("engines", engines), ("async", "rsa-private")]);
        let mut job = Task::new(|| lib.sign(&key, &[], &DIGEST).is_some());
        unsafe { ASYNC_WAIT_CTX_set_callback(job.wait, Some(called), null_mut()) };
        CALLS.store(0, Relaxed);
        let mut seen = 0;
        while !job.go() {
            assert!(job.fds().iter().all(|&fd| fd < 0), "a callback, and an fd too");
            let start = std::time::Instant::now();
            while CALLS.load(Relaxed) == seen {
                assert!(start.elapsed().as_secs() < 10, "never called");
                std::thread::yield_now();
            }
            seen = CALLS.load(Relaxed);
        }
        assert_eq!(job.result, 1);
        // An engine may have been quicker than the pause.
        assert!(seen > 0 || engines == "1" || !side_by_side());
    }
}

#[test]
fn abandoned_jobs_with_callbacks() {
    unsafe extern "C" fn called(_: Ptr) -> c_int {
        1
    }
    // With places for four, and none of the jobs ever resumed: those before must leave theirs.
    for engines in ["0", "1"] {
        let settings = [("engines", engines), ("depth", "4"), ("policy", "fail"), ("async", "all")];
        let (lib, key) = lib_and_key(&settings);
        for round in 0..40 {
            let (lib, key): (&'static Lib, &'static Key) =
                unsafe { (&*ptr::from_ref(&lib), &*ptr::from_ref(&key)) };
            let mut job = Box::new(Task::new(move || lib.sign(key, &[], &DIGEST).is_some()));
            unsafe { ASYNC_WAIT_CTX_set_callback(job.wait, Some(called), null_mut()) };
            if job.go() {
                assert!(job.result == 1, "round {round}: {}", errors());
                continue;
            }
            unsafe { ASYNC_WAIT_CTX_free(job.wait) };
            job.wait = null_mut();
            Box::leak(job);
        }
        let mut job = Task::new(|| lib.sign(&key, &[], &DIGEST).is_some());
        assert!(job.finish(), "{}", errors());
    }
}

#[test]
fn all_pauses_on_every_cpu() {
    let (lib, key) = lib_and_key(&[("async", "all")]);
    rounds(&lib, &key, 1, 20);
    // A signature and its verification each, and a lone job goes on pausing.
    assert_eq!(lib.counter("asynchronous"), 40);
}

#[test]
fn pauses_that_are_blocked() {
    for engines in ["0", "1"] {
        let (lib, key) = lib_and_key(&[("engines", engines), ("async", "rsa-private")]);
        let mut job = Task::new(|| unsafe {
            ASYNC_block_pause();
            let good = (0..3).all(|_| lib.sign(&key, &[], &DIGEST).is_some());
            ASYNC_unblock_pause();
            good
        });
        assert!(job.go());
        assert_eq!(job.result, 1, "{}", errors());
    }
}

/// In a process of its own: a child of a process whose other threads hold libcrypto's locks cannot
/// do anything.
#[test]
fn forks() {
    const ALONE: &str = "LOOKASIDE_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let this = std::env::current_exe().unwrap();
        let run = std::process::Command::new(this)
            .args(["--exact", "forks", "--test-threads=1"])
            .env(ALONE, "1")
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
        return;
    }
    // The system call alone runs no fork handlers, as glibc's `_Fork`: no fork waits for what an engine
    // does at that moment, so the engine has to be at rest (`NoFork`).
    let fork = || unsafe { libc::fork() };
    let clone = || unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32 };
    let ways: [(&dyn Fn() -> i32, bool); 2] = [(&fork, true), (&clone, false)];
    for (engines, (make, waits)) in
        ["0", "1"].iter().flat_map(|engines| ways.map(|way| (*engines, way)))
    {
        let (lib, key) = lib_and_key(&[("engines", engines), ("async", "rsa-private")]);
        rounds(&lib, &key, 8, 2);
        let mut paused = Task::new(|| lib.sign(&key, &[], &DIGEST).is_some());
        let finished = paused.go();
        if !waits
            && engines == "1"
            && let [fd] = paused.fds()[..]
        {
            wait_readable(fd);
        }
        match make() {
            0 => {
                let child = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    if !finished {
                        // The parent's: an error here, not a wait for ever.
                        assert!(paused.go());
                        // With an engine the response may have been there before the fork.
                        assert!(paused.result == 0 || engines == "1");
                        errors();
                    }
                    rounds(&lib, &key, 8, 2);
                    assert!(lib.sign(&key, &[], &DIGEST).is_some());
                }));
                unsafe { libc::_exit(i32::from(child.is_err())) };
            }
            child => {
                let mut status = 0;
                let start = std::time::Instant::now();
                while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == 0 {
                    if start.elapsed().as_secs() > 30 {
                        unsafe { libc::kill(child, libc::SIGKILL) };
                        panic!("the child hangs");
                    }
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                assert_eq!(status, 0, "the child failed");
                if !finished {
                    assert!(paused.finish(), "{}", errors());
                }
            }
        }
    }
}

#[test]
fn unloaded_while_a_job_is_paused() {
    if !side_by_side() {
        return;
    }
    let (lib, key) = lib_and_key(&[("async", "rsa-private")]);
    let key: &'static Key = Box::leak(Box::new(key));
    let lib: &'static Lib = Box::leak(Box::new(lib));
    let thread = std::thread::spawn(move || {
        let mut job = Task::new(move || lib.sign(key, &[], &DIGEST).is_some());
        let finished = job.go();
        // The application drops its key and its library; the job holds references of its own.
        unsafe {
            EVP_PKEY_free(key.0);
            OSSL_LIB_CTX_free(lib.0);
        }
        drop(job);
        finished
    });
    assert!(!thread.join().unwrap());
}

#[test]
fn a_decryption_and_a_derivation_pause_too() {
    if !side_by_side() {
        return;
    }
    let lib = Lib::ours(&[]);
    let rsa = lib.generate("RSA", &[("bits", "2048")]);
    let (a, b) = (lib.generate("X25519", &[]), lib.generate("X25519", &[]));
    let secret = lib.derive(&a, &b).unwrap();
    let mut jobs: Vec<Task> = (0..10)
        .map(|_| {
            Task::new(|| {
                lib.derive(&a, &b).is_some_and(|s| s == secret)
                    && lib.sign(&rsa, &[("digest", "SHA256")], &DIGEST).is_some()
                    && lib.try_generate("X25519", &[]).is_some()
            })
        })
        .collect();
    let mut live: Vec<usize> = (0..10).collect();
    while !live.is_empty() {
        live.retain(|&i| !jobs[i].go());
    }
    assert!(jobs.iter().all(|job| job.result == 1), "{}", errors());
    assert!(lib.counter("asynchronous") >= 10);
}
