//! Processes that die: clients in the middle of requests, the server in the middle of requests, a fork. Each
//! process of a test is this program again.

mod common;

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use common::{
    Folder, alone, answered, backed, client, compresses, config, rsa_key, server, settings, signs,
};
use lookaside::{Buf, Compression, InstanceConfig, Op, OpError, Runtime};
use lookaside_server::{FunctionConfig, Server};
use lookaside_shared::{Policy, Settings, SharedDevice};

/// What this process is, when another one has started it.
const ROLE: &str = "LOOKASIDE_TEST_ROLE";
const PLACE: &str = "LOOKASIDE_TEST_PLACE";

/// This program again; only the test `role` runs, as what it is told to be.
fn start(role: &str, place: &Path) -> (Child, BufReader<std::process::ChildStdout>) {
    let log = match role {
        "server" => Stdio::from(std::fs::File::create(place.join("log")).unwrap()),
        _ => Stdio::null(),
    };
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "role", "--nocapture"])
        .env(ROLE, role)
        .env(PLACE, place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    // Until it says that it is at work.
    let mut line = String::new();
    while !line.contains("at work") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "{role} ended early");
    }
    (child, out)
}

fn say_at_work() {
    println!("\nat work");
    std::io::stdout().flush().unwrap();
}

#[test]
fn role() {
    let (Ok(role), Some(place)) = (std::env::var(ROLE), std::env::var_os(PLACE)) else { return };
    let place = Path::new(&place);
    match &*role {
        "server" => {
            let function = FunctionConfig::new("all");
            let _server = Server::start(&config(place, vec![function])).unwrap();
            say_at_work();
            // Until it is killed, or who started it has gone.
            let _ = std::io::stdin().read(&mut [0]);
        }
        "flood" => {
            let device = SharedDevice::new(Settings::new(place)).unwrap();
            let runtime = alone(device, 0);
            flood(&runtime, |answers| {
                if answers == 100 {
                    say_at_work();
                }
                true
            });
        }
        "parent" => {
            let device = SharedDevice::new(Settings::new(place)).unwrap();
            let runtime = alone(device, 0);
            // A ring lasts as long as its instance.
            let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
            let mover = runtime.mover().unwrap();
            // The one before may not be gone yet.
            for _ in 0..1000 {
                instance.push(mover.copy(Buf::zeroed(9), Buf::zeroed(9))).unwrap();
                assert!(instance.wait(Duration::from_secs(120)));
                if instance.poll().all(|response| response.result.is_ok()) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            // SAFETY: the child only reads, and ends.
            if unsafe { libc::fork() } != 0 {
                say_at_work();
            }
            // Both until who started them lets go.
            let _ = std::io::stdin().read(&mut [0]);
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(0) };
        }
        other => panic!("no role {other}"),
    }
}

/// Keeps 16 compressions outstanding until told to stop, and has each one's answer.
fn flood(runtime: &Runtime, mut go_on: impl FnMut(u64) -> bool) -> Vec<Result<usize, OpError>> {
    let session = runtime.compression(Compression::default()).unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let data = lookaside_testkit::mixed(5, 60_000);
    let mut answers = Vec::new();
    let mut goes_on = true;
    while goes_on || instance.outstanding() > 0 {
        while goes_on && instance.outstanding() < 16 {
            let dst = Buf::zeroed(session.bound(data.len()));
            instance.push(session.compress(Buf::from(&*data), dst)).unwrap();
        }
        assert!(instance.wait(Duration::from_secs(120)), "each request is answered");
        for response in instance.poll() {
            answers.push(response.result.map(|done| done.consumed));
            goes_on &= go_on(answers.len() as u64);
        }
    }
    answers
}

#[test]
fn killed_clients_cost_nobody_anything() {
    let folder = Folder::new();
    // What is closed may overlap with what is opened: room for five rings. What the dead had has to come back.
    let mut function = FunctionConfig::new("all");
    function.memory = 42 << 20;
    let server = Server::start(&config(&folder.0, vec![function])).unwrap();
    let honest = backed(client(&server, "all", Policy::Fallback), 0);
    let key = rsa_key();
    for round in 0..6 {
        let (mut child, _out) = start("flood", &settings(&server, "all").path);
        compresses(&honest, round, 50_000).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        signs(&honest, &key, [round as u8; 32]).unwrap();
        compresses(&honest, round, 50_000).unwrap();
    }
    assert_eq!(answered(&honest, "cpu", Op::Compress), 0, "the server served the honest one");
}

/// Its children hold its sockets, so those do not end.
#[test]
fn what_a_dead_parent_had_comes_back_while_its_children_live() {
    let folder = Folder::new();
    // Room for one ring.
    let mut function = FunctionConfig::new("all");
    function.memory = 9 << 20;
    let server = Server::start(&config(&folder.0, vec![function])).unwrap();
    let is_served = || {
        let honest = backed(client(&server, "all", Policy::Fallback), 0);
        compresses(&honest, 1, 1000).unwrap();
        answered(&honest, "shared", Op::Compress) > 0
    };
    for _ in 0..3 {
        let (mut parent, _out) = start("parent", &settings(&server, "all").path);
        assert!(!is_served(), "the ring is the parent's");
        // `wait` would close it, and with it end the child.
        let pipe = parent.stdin.take();
        parent.kill().unwrap();
        parent.wait().unwrap();
        let killed = std::time::Instant::now();
        while !is_served() {
            assert!(killed.elapsed() < Duration::from_secs(20), "the dead one's ring is free");
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(pipe);
    }
}

#[test]
fn requests_of_a_killed_server_go_to_the_cpu_and_come_back_to_the_next_server() {
    let folder = Folder::new();
    let (mut child, _out) = start("server", &folder.0);
    let path = folder.0.join("all.sock");
    let runtime = backed(SharedDevice::new(Settings::new(&path)).unwrap(), 1);
    let answers = flood(&runtime, |answers| {
        if answers == 50 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        answers < 200
    });
    assert!(answers.iter().all(|answer| *answer == Ok(60_000)), "{answers:?}");
    assert!(answered(&runtime, "cpu", Op::Compress) > 100);
    // The socket that the dead one has left is no obstacle.
    let (mut next, _out) = start("server", &folder.0);
    let before = answered(&runtime, "shared", Op::Compress);
    for round in 0.. {
        compresses(&runtime, round, 1000).unwrap();
        if answered(&runtime, "shared", Op::Compress) > before {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    next.kill().unwrap();
    next.wait().unwrap();
}

#[test]
fn who_waits_has_all_answers_of_the_next_server() {
    let folder = Folder::new();
    let (child, _out) = start("server", &folder.0);
    let path = folder.0.join("all.sock");
    let device =
        SharedDevice::new(Settings { policy: Policy::Wait, ..Settings::new(&path) }).unwrap();
    let runtime = alone(device, 0);
    let key = rsa_key();
    let mut servers = vec![child];
    let answers = flood(&runtime, |answers| {
        if answers == 50 {
            let mut last = servers.pop().unwrap();
            last.kill().unwrap();
            last.wait().unwrap();
            servers.push(start("server", &folder.0).0);
        }
        answers < 200
    });
    assert!(answers.iter().all(|answer| *answer == Ok(60_000)), "{answers:?}");
    signs(&runtime, &key, [1; 32]).unwrap();
    let mut last = servers.pop().unwrap();
    last.kill().unwrap();
    last.wait().unwrap();
}

#[test]
fn who_wants_an_error_has_one() {
    let folder = Folder::new();
    let (mut child, _out) = start("server", &folder.0);
    let path = folder.0.join("all.sock");
    let device =
        SharedDevice::new(Settings { policy: Policy::Fail, ..Settings::new(&path) }).unwrap();
    let runtime = backed(device, 0);
    compresses(&runtime, 1, 10_000).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(compresses(&runtime, 1, 10_000), Err(OpError::Library(_))));
    assert_eq!(answered(&runtime, "cpu", Op::Compress), 0);
}

#[test]
fn a_server_that_ends_answers_what_it_has_taken_and_leaves_no_file() {
    let folder = Folder::new();
    let mut server = Some(server(&folder));
    let runtime = backed(client(server.as_ref().unwrap(), "all", Policy::Fallback), 1);
    let answers = flood(&runtime, |answers| {
        if answers == 50 {
            server = None;
        }
        answers < 150
    });
    assert!(answers.iter().all(|answer| *answer == Ok(60_000)), "{answers:?}");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
}

/// One client waits for a long request, asleep; another one sends while the server ends, and is not heard.
#[test]
fn a_server_ends_although_a_client_sends_on() {
    let folder = Folder::new();
    let mut function = FunctionConfig::new("all");
    function.arena = 32 << 20;
    let server = Server::start(&config(&folder.0, vec![function])).unwrap();
    let sleeper = alone(client(&server, "all", Policy::Fail), 0);
    let sender = backed(client(&server, "all", Policy::Fallback), 0);
    let data = lookaside_testkit::mixed(9, 8 << 20);
    let spec = Compression { level: 12, ..Compression::new(lookaside::Format::Gzip) };
    let session = sleeper.compression(spec).unwrap();
    let mut instance = sleeper.instance(InstanceConfig::default()).unwrap();
    let dst = Buf::zeroed(session.bound(data.len()));
    instance.push(session.compress(Buf::from(&*data), dst)).unwrap();
    // By then the server sleeps until it is done.
    assert!(!instance.wait(Duration::from_millis(100)), "a long request");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mover = sender.mover().unwrap();
            let mut instance = sender.instance(InstanceConfig::default()).unwrap();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                instance.push(mover.copy(Buf::zeroed(9), Buf::zeroed(9))).unwrap();
                assert!(instance.wait(Duration::from_secs(120)));
                assert!(instance.poll().all(|response| response.result.is_ok()));
            }
        });
        std::thread::sleep(Duration::from_millis(30));
        scope.spawn(move || {
            drop(server);
            let _ = ended.send(());
        });
        let in_time = end.recv_timeout(Duration::from_secs(60));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        if in_time.is_err() {
            eprintln!("the server does not end");
            std::process::abort();
        }
    });
    assert!(instance.wait(Duration::from_secs(120)));
    let answers: Vec<_> =
        instance.poll().map(|response| response.result.map(|d| d.consumed)).collect();
    assert_eq!(answers, [Ok(8 << 20)], "what it had taken is answered");
}

#[test]
fn a_reload_keeps_what_is_the_same() {
    let folder = Folder::new();
    let one = FunctionConfig::new("one");
    let server = Server::start(&config(&folder.0, vec![one.clone()])).unwrap();
    let runtime = backed(client(&server, "one", Policy::Fallback), 0);
    compresses(&runtime, 1, 9_000).unwrap();
    server.reload(&config(&folder.0, vec![one, FunctionConfig::new("two")])).unwrap();
    compresses(&runtime, 1, 9_000).unwrap();
    assert_eq!(answered(&runtime, "shared", Op::Compress), 2, "nothing was closed");
    compresses(&backed(client(&server, "two", Policy::Fallback), 0), 1, 9_000).unwrap();
    server.reload(&config(&folder.0, vec![FunctionConfig::new("two")])).unwrap();
    assert!(server.socket("one").is_none());
    compresses(&runtime, 1, 9_000).unwrap();
    assert_eq!(answered(&runtime, "cpu", Op::Compress), 1, "its function has gone");
}

#[test]
fn a_child_of_a_fork_has_a_connection_of_its_own() {
    let folder = Folder::new();
    let (mut child, _out) = start("server", &folder.0);
    let path = folder.0.join("all.sock");
    let runtime = backed(SharedDevice::new(Settings::new(&path)).unwrap(), 0);
    let key = rsa_key();
    let session = runtime.rsa_private(key.clone()).unwrap();
    signs(&runtime, &key, [1; 32]).unwrap();
    let (wait, go) = std::io::pipe().unwrap();
    // SAFETY: the child only uses what a child may use: a runtime without engines.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        drop(go);
        // Until the parent has sessions that are younger than the fork: the child's have the same numbers.
        let _ = { wait }.read(&mut [0]);
        let well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for n in 0..20 {
                signs(&runtime, &key, [n; 32]).unwrap();
                let old = common::call(&runtime, common::sign(&session, [n; 32]));
                assert_eq!(old.result.map(|done| done.produced), Ok(256));
            }
            assert!(answered(&runtime, "shared", Op::RsaPrivate) >= 40);
            assert_eq!(answered(&runtime, "cpu", Op::RsaPrivate), 0);
        }));
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(well.is_err())) };
    }
    let younger: Vec<_> = (0..5).map(|_| runtime.rsa_private(key.clone()).unwrap()).collect();
    drop(go);
    for n in 0..20 {
        signs(&runtime, &key, [n; 32]).unwrap();
        let own = common::call(&runtime, common::sign(&younger[n as usize % 5], [n; 32]));
        assert_eq!(own.result.map(|done| done.produced), Ok(256));
    }
    assert_eq!(answered(&runtime, "cpu", Op::RsaPrivate), 0);
    let mut status = 0;
    // SAFETY: a child of ours.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert_eq!(status, 0, "the child");
    let log = std::fs::read_to_string(folder.0.join("log")).unwrap();
    assert!(!log.contains("cut off"), "each has a connection of its own: {log}");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The memory of a ring has no name in any file system, and its descriptor is passed to one process.
#[test]
fn no_client_has_memory_of_another() {
    let folder = Folder::new();
    let (child, _out) = start("server", &folder.0);
    let path = folder.0.join("all.sock");
    let (flood, _out) = start("flood", &path);
    let runtime = backed(SharedDevice::new(Settings::new(&path)).unwrap(), 0);
    // A ring lasts as long as its instance.
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let copy = runtime.mover().unwrap().copy(Buf::zeroed(9), Buf::zeroed(9));
    instance.push(copy).unwrap();
    assert!(instance.wait(Duration::from_secs(120)));
    let inodes = |process: u32| -> Vec<String> {
        let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
        let lines = maps.lines().filter(|line| line.contains("memfd:lookaside"));
        lines.filter_map(|line| line.split_whitespace().nth(4).map(str::to_owned)).collect()
    };
    let (ours, theirs) = (inodes(std::process::id()), inodes(flood.id()));
    let servers = inodes(child.id());
    assert!(!ours.is_empty() && theirs.len() == 1, "{ours:?} {theirs:?}");
    assert!(theirs.iter().all(|one| !ours.contains(one) && servers.contains(one)));
    for mut process in [flood, child] {
        process.kill().unwrap();
        process.wait().unwrap();
    }
}
