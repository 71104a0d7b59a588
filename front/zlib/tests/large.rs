//! Large input, by the device: joined output, bounded memory, many threads, forks, settings.

mod common;

use std::{
    ffi::{c_int, c_uint},
    process::Command,
    thread,
};

use common::*;
use lookaside_page::{Folder, Reader, State, operation};

/// Whatever the flush and the room, pieces join to one stream, with the right checksum: each two of level, format and room
/// once, or [`all`] of them.
#[test]
fn pieces_join_to_one_stream() {
    let data = [text(2_500_000), noise(700_000), vec![7; 900_000]].concat();
    let ways = [(70_000, FINISH), (5 << 20, FINISH), (1 << 20, SYNC), (33_000, FULL)];
    for (i, level) in [1, 3, 6, 9].into_iter().enumerate() {
        for (j, bits) in [15, 31, -15, -11].into_iter().enumerate() {
            for (k, (room, flush)) in ways.into_iter().enumerate() {
                if !all() && (i + j + k) % 4 != 0 {
                    continue;
                }
                let mut stream = Deflate::new(OURS, shape(level, bits));
                let mut out = Vec::new();
                // Some that wait, then a large call, then a few bytes, then a large one again.
                let (first, rest) = data.split_at(1000);
                let (second, rest) = rest.split_at(1_900_000);
                let (third, rest) = rest.split_at(10);
                stream.feed(first, room, NO_FLUSH, &mut out);
                stream.feed(second, room, if flush == FINISH { NO_FLUSH } else { flush }, &mut out);
                if flush != FINISH {
                    assert_eq!(out[out.len() - 4..], [0, 0, 0xff, 0xff]);
                    assert_eq!(inflate_all(&out, bits, None).1.len(), 1_901_000);
                }
                stream.feed(third, room, NO_FLUSH, &mut out);
                let code = stream.feed(rest, room, flush, &mut out);
                if flush == FINISH {
                    assert_eq!(code, STREAM_END);
                } else {
                    assert_eq!(stream.feed(&[], room, FINISH, &mut out), STREAM_END);
                }
                let (code, got) = inflate_all(&out, bits, None);
                assert!(code == STREAM_END && got == data, "{level} {bits} {room} {flush}");
                assert_eq!(stream.strm.total_in as usize, data.len());
                stream.end();
            }
        }
    }
}

/// A large call in the middle of streams of every kind, and what comes after it: likewise.
#[test]
fn large_calls_in_the_middle() {
    let data = text(3_000_000);
    for (i, level) in [0, 1, 2, 6].into_iter().enumerate() {
        for (j, strategy) in [0, 1, 2, 4].into_iter().enumerate() {
            for (k, between) in [NO_FLUSH, SYNC, PARTIAL, BLOCK].into_iter().enumerate() {
                if !all() && (i + j + k) % 4 != 0 {
                    continue;
                }
                let shape = Shape { level, bits: 31, mem: 8, strategy };
                let mut stream = Deflate::new(OURS, shape);
                let (mut out, mut at) = (Vec::new(), 0);
                for n in [100_000, 700_000, 300, 600_000, 90_000, 1_000_000] {
                    stream.feed(&data[at..at + n], 50_000, between, &mut out);
                    at += n;
                }
                assert_eq!(stream.feed(&data[at..], 50_000, FINISH, &mut out), STREAM_END);
                let (code, got) = inflate_all(&out, 31, None);
                assert!(code == STREAM_END && got == data, "{level} {strategy} {between}");
                stream.end();
            }
        }
    }
}

/// With little room, no more is taken than a window holds.
#[test]
fn little_room_takes_a_bounded_part() {
    let data = vec![b'x'; 40 << 20];
    let mut stream = Deflate::new(OURS, shape(1, 15));
    let call = stream.call(&data, &mut [0; 10], FINISH);
    assert_eq!((call.code, call.made), (OK, 10));
    let engines = thread::available_parallelism().map_or(1, |n| n.get());
    assert!(call.taken <= (9 << 20).max(engines * (3 << 20)), "{}", call.taken);
    assert_eq!(stream.end(), DATA_ERROR);
}

/// Threads with streams of all sizes, side by side.
#[test]
fn many_threads() {
    let data = text(2_000_000);
    thread::scope(|scope| {
        for t in 0..24 {
            let data = &data;
            scope.spawn(move || {
                let mut rng = Rng(t);
                for _ in 0..6 {
                    let len = rng.pick(&[100, 10_000, 200_000, 600_000, 2_000_000]);
                    let level = rng.pick(&[1, 1, 2, 6]);
                    let mut stream = Deflate::new(OURS, shape(level, 15));
                    let mut out = Vec::new();
                    let part = rng.pick(&[1000, 100_000, 2_000_000]);
                    for chunk in data[..len].chunks(part) {
                        stream.feed(chunk, 60_000, NO_FLUSH, &mut out);
                    }
                    assert_eq!(stream.feed(&[], 60_000, FINISH, &mut out), STREAM_END);
                    let mut back = vec![0; len + 1];
                    let (mut room, mut given) = (back.len() as _, out.len() as _);
                    // SAFETY: two slices of these lengths.
                    let code = unsafe {
                        (OURS.uncompress2)(back.as_mut_ptr(), &mut room, out.as_ptr(), &mut given)
                    };
                    assert_eq!((code, room as usize), (OK, len));
                    assert!(back[..len] == data[..len]);
                    stream.end();
                }
            });
        }
    });
}

/// Forbids this process to start threads. Root is above the limit, and is given up.
fn no_threads() -> bool {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain system calls of a process with one thread.
    unsafe {
        libc::setrlimit(libc::RLIMIT_NPROC, &none) == 0
            && (libc::geteuid() != 0 || libc::setuid(65534) == 0)
    }
}

/// A parent that has compressed forks children, which compress, while other threads are at it.
#[test]
fn forks() {
    let data = text(3_000_000);
    let compress = || {
        let mut stream = Deflate::new(OURS, shape(1, 15));
        let mut out = Vec::new();
        let code = stream.feed(&data, 100_000, FINISH, &mut out);
        stream.end();
        (code == STREAM_END).then_some(out)
    };
    let expected = compress().expect("the parent compresses");
    assert!(inflate_all(&expected, 15, None).1 == data);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..6).for_each(|_| drop(compress())));
        }
        let mut children = Vec::new();
        for n in 0..8 {
            // SAFETY: the child allocates (which glibc allows), compresses and leaves without
            // running what belongs to its parent.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // SAFETY: as above. A child that hangs is ended by the alarm.
                unsafe { libc::alarm(60) };
                // Some may have no threads, as HAProxy's workers: they compress themselves.
                let own = n % 2 == 1 && no_threads();
                let good = |out: Vec<u8>| match own {
                    false => out == expected,
                    true => inflate_all(&out, 15, None).1 == data,
                };
                let twice = (0..2).all(|_| compress().is_some_and(good));
                // SAFETY: as above.
                unsafe { libc::_exit(if twice { 0 } else { 1 }) };
            }
            assert!(child > 0);
            children.push(child);
        }
        for child in children {
            let mut status = 0;
            // SAFETY: a child of ours, once.
            unsafe { libc::waitpid(child, &mut status, 0) };
            assert_eq!(status, 0);
        }
    });
}

/// Runs in a process of its own, for the tests below.
#[test]
#[ignore = "a part of other tests"]
fn a_process_that_compresses() {
    let data = text(4_000_000);
    // While a thread starts the device, the others compress themselves, whatever the policy.
    let mut stream = Deflate::new(OURS, shape(1, 15));
    assert_eq!(stream.feed(&data[..600_000], 100_000, FINISH, &mut Vec::new()), STREAM_END);
    stream.end();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut stream = Deflate::new(OURS, shape(1, 15));
                let mut out = Vec::new();
                let mut rest = &data[..];
                loop {
                    let at = out.len();
                    out.resize(at + 100_000, 0);
                    let call = stream.call(rest, &mut out[at..], FINISH);
                    out.truncate(at + call.made);
                    rest = &rest[call.taken..];
                    match call.code {
                        OK => {}
                        STREAM_END => break,
                        // The device is busy, and the policy says so.
                        MEM_ERROR => thread::yield_now(),
                        code => panic!("{code}"),
                    }
                }
                assert!(inflate_all(&out, 15, None).1 == data);
                stream.end();
            });
        }
    });
}

fn process(variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_process_that_compresses", "--ignored"]);
    let out = command.envs(variables.iter().copied()).output().unwrap();
    assert!(out.status.success(), "{variables:?} {out:?}");
    String::from_utf8(out.stderr).unwrap()
}

#[test]
fn policies_and_statistics() {
    for policy in ["wait", "fallback", "fail"] {
        let said = process(&[
            ("LOOKASIDE_POLICY", policy),
            ("LOOKASIDE_ENGINES", "2"),
            ("LOOKASIDE_STATS", "1"),
        ]);
        assert!(said.contains("device cpu, dc.compress (2 engines)"), "{policy}: {said}");
        let own = said.contains("compress, pieces: own thread");
        assert!(!own || policy == "fallback", "{policy}: {said}");
    }
    let said = process(&[("LOOKASIDE_ENGINES", "0"), ("LOOKASIDE_STATS", "1")]);
    assert!(said.contains("own thread") && !said.contains("device cpu"), "{said}");
    assert_eq!(process(&[]), "");
}

/// Runs in a process of its own: compresses, forks twice, once without fork handlers, compresses in two calls,
/// ends without any exit function.
#[test]
#[ignore = "a part of other tests"]
fn processes_that_end_at_once() {
    let data = text(90_000);
    let begun = || {
        let mut stream = Deflate::new(OURS, shape(6, 15));
        stream.feed(&data, 100_000, NO_FLUSH, &mut Vec::new());
        stream
    };
    assert_eq!(begun().feed(&data[..1_000], 100_000, FINISH, &mut Vec::new()), STREAM_END);
    let mut stream = begun();
    // SAFETY: the child uses what is there, and ends.
    let mut children = vec![unsafe { libc::fork() }];
    if children != [0] {
        // SAFETY: as above; no new stack.
        children.push(unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32 });
    }
    let mut out = Vec::new();
    assert_eq!(stream.feed(&data[..1_000], 100_000, FINISH, &mut out), STREAM_END);
    if !children.contains(&0) {
        for child in children {
            // SAFETY: a child of ours, once.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        }
    }
    // SAFETY: no exit functions run: that is what is tested.
    unsafe { libc::_exit(0) };
}

/// As `lookaside run` does it.
#[test]
fn pages_have_those_that_end_at_once() {
    let path = std::env::temp_dir().join(format!("lookaside-pages-{}", std::process::id()));
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "processes_that_end_at_once", "--ignored"]);
    let counters = format!("keep:{}", path.display());
    assert!(command.env("LOOKASIDE_COUNTERS", counters).status().unwrap().success());
    let (found, _) = Reader::default().pages(&Folder::open(&path).unwrap()).unwrap();
    std::fs::remove_dir_all(&path).unwrap();
    assert!(found.len() == 3 && found.iter().all(|page| page.state == State::Ended), "{found:?}");
    let mut contents = found.into_iter().map(|page| page.content.unwrap());
    let mut sum = contents.next().unwrap();
    contents.for_each(|content| sum.add(content));
    // Nothing else has counted.
    let [row] = &sum.calls[..] else { panic!("{sum:?}") };
    assert_eq!((&*row.library, &*row.name), ("zlib", "compress, whole calls"));
    // Also those of the call before.
    let [calls, bytes_in, bytes_out] = row.counts;
    assert_eq!([calls, bytes_in], [4, 4 * 91_000]);
    assert!((80_000..180_000).contains(&bytes_out), "{bytes_out} bytes out");
    assert_eq!(sum.operations, []);
}

/// What engines do is in the page of the process, too.
#[test]
fn a_page_has_what_the_device_did() {
    let path = std::env::temp_dir().join(format!("lookaside-device-{}", std::process::id()));
    process(&[
        ("LOOKASIDE_COUNTERS", &format!("keep:{}", path.display())),
        ("LOOKASIDE_ENGINES", "2"),
        ("LOOKASIDE_POLICY", "wait"),
    ]);
    let (found, _) = Reader::default().pages(&Folder::open(&path).unwrap()).unwrap();
    std::fs::remove_dir_all(&path).unwrap();
    let [page] = &found[..] else { panic!("{found:?}") };
    let content = page.content.as_ref().unwrap();
    let call = content.calls.iter().find(|call| call.name == "compress, pieces: device").unwrap();
    let op = content.operations.iter().find(|row| row.op == "dc.compress").unwrap();
    assert_eq!(op.device, "cpu");
    assert!(op.words[operation::REQUESTS] > 1);
    let bytes = [operation::SRC_BYTES, operation::DST_BYTES].map(|word| op.words[word]);
    assert_eq!(bytes, [call.counts[1], call.counts[2]]);
}

#[test]
fn wrong_settings_are_said_once_and_not_used() {
    let said = process(&[("LOOKASIDE_ENGINES", "many"), ("LOOKASIDE_CONF", "/nowhere/at/all")]);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines[0].contains("/nowhere/at/all"));
    assert!(lines[1].contains("LOOKASIDE_ENGINES=many: expected a number from 0 to 1024"));
}

/// The state comes from the caller's allocator, and goes back there; none is an error.
#[test]
fn the_callers_allocator() {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    static LIVE: AtomicUsize = AtomicUsize::new(0);
    static LEFT: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn take(_: *mut libc::c_void, n: c_uint, size: c_uint) -> *mut libc::c_void {
        if LEFT.load(Relaxed) == 0 {
            return std::ptr::null_mut();
        }
        LEFT.fetch_sub(1, Relaxed);
        LIVE.fetch_add(1, Relaxed);
        // SAFETY: no preconditions.
        unsafe { libc::malloc(n as usize * size as usize) }
    }
    unsafe extern "C" fn give(_: *mut libc::c_void, address: *mut libc::c_void) {
        LIVE.fetch_sub(1, Relaxed);
        // SAFETY: from `take`.
        unsafe { libc::free(address) };
    }
    for left in 0..4 {
        LEFT.store(left, Relaxed);
        let mut streams = [empty(), empty()];
        for strm in &mut streams {
            strm.zalloc = Some(take);
            strm.zfree = Some(give);
        }
        let [one, two] = &mut streams;
        let code = init(OURS, one, shape(6, 15));
        assert_eq!(code, if left == 0 { MEM_ERROR } else { OK });
        if code == OK {
            // SAFETY: a stream of ours, and one to write over.
            let copied = unsafe { (OURS.deflateCopy)(&mut **two, &mut **one) };
            assert_eq!(copied, if left == 1 { MEM_ERROR } else { OK });
            // SAFETY: streams of ours, or with a state that another owns, which is refused.
            unsafe {
                assert_eq!((OURS.deflateEnd)(&mut **one), OK);
                assert_eq!((OURS.deflateEnd)(&mut **one), STREAM_ERROR);
                let code: c_int = (OURS.deflateEnd)(&mut **two);
                assert_eq!(code, if left == 1 { STREAM_ERROR } else { OK });
            }
        }
        assert_eq!(LIVE.load(Relaxed), 0);
    }
}
