//! A thousand connected clients: what the server holds for them, and that it does nothing while they do nothing. The
//! server is a process of its own: this program again.

mod common;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use common::{Folder, alone, config};
use lookaside::{Buf, Compression, Instance, InstanceConfig, Request, Runtime};
use lookaside_server::{FunctionConfig, Server};
use lookaside_shared::{Settings, SharedDevice};

const PLACE: &str = "LOOKASIDE_TEST_PLACE";

const CLIENTS: usize = 1000;

/// A client takes five descriptors at each side.
fn raise_descriptors() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: room for the answer, and a limit that is allowed.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
    }
    limit.rlim_max > 6 * CLIENTS as u64
}

#[test]
fn role() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    raise_descriptors();
    let mut function = FunctionConfig::new("all");
    function.connections = 2 * CLIENTS + 8;
    function.memory = 16 << 30;
    let _server = Server::start(&config(Path::new(&place), vec![function])).unwrap();
    println!("\nat work");
    std::io::stdout().flush().unwrap();
    // Until who started it has gone.
    let _ = std::io::stdin().read(&mut [0]);
}

fn start(place: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "role", "--nocapture"])
        .env(PLACE, place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("at work")), "the server ended early");
    child
}

/// Memory of a process in MB: its own, with the pages of its program; and the areas, wherever they are mapped, as far as
/// they were touched.
fn memory(process: u32) -> (f64, f64) {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let kb = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let mut blocks = 0;
    for fd in fs::read_dir(format!("/proc/{process}/fd")).unwrap() {
        let path = fd.unwrap().path();
        if fs::read_link(&path).is_ok_and(|to| to.to_string_lossy().contains("memfd:lookaside")) {
            use std::os::unix::fs::MetadataExt;
            blocks += fs::metadata(&path).unwrap().blocks();
        }
    }
    let own = kb("RssAnon:") + kb("RssFile:");
    (own as f64 / 1024.0, blocks as f64 / 2048.0)
}

/// CPU time of all threads of a process, and how often they have slept.
fn activity(process: u32) -> (Duration, u64) {
    let (mut ns, mut sleeps) = (0, 0);
    for task in fs::read_dir(format!("/proc/{process}/task")).unwrap() {
        let task = task.unwrap().path();
        let time = fs::read_to_string(task.join("schedstat")).unwrap();
        ns += time.split_whitespace().next().unwrap().parse::<u64>().unwrap();
        let status = fs::read_to_string(task.join("status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("voluntary")).unwrap();
        sleeps += line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap();
    }
    (Duration::from_nanos(ns), sleeps)
}

fn run(instance: &mut Instance, request: Request) {
    instance.push(request).unwrap();
    assert!(instance.wait(Duration::from_secs(120)));
    assert!(instance.poll().next().unwrap().result.is_ok());
}

#[test]
fn a_thousand_clients_take_little_memory_and_no_time() {
    if !raise_descriptors() {
        eprintln!("skipped: this user may not open {} files", 6 * CLIENTS);
        return;
    }
    let folder = Folder::new();
    let mut server = start(&folder.0);
    let path = folder.0.join("all.sock");
    let data = lookaside_testkit::mixed(3, 64 << 10);
    let fresh = memory(server.id());
    let connect = || alone(SharedDevice::new(Settings::new(&path)).unwrap(), 0);
    let runtimes: Vec<Runtime> = (0..CLIENTS).map(|_| connect()).collect();
    let connected = memory(server.id());
    let mut instances: Vec<_> = runtimes
        .iter()
        .map(|runtime| {
            let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
            let session = runtime.mover().unwrap();
            run(&mut instance, session.copy(Buf::zeroed(1000), Buf::zeroed(1000)));
            instance
        })
        .collect();
    let small = memory(server.id());
    for (runtime, instance) in runtimes.iter().zip(&mut instances) {
        let session = runtime.compression(Compression::default()).unwrap();
        for _ in 0..2 {
            let dst = Buf::zeroed(session.bound(data.len()));
            run(instance, session.compress(Buf::from(&*data), dst));
        }
    }
    // What it keeps for copies, and pages of arenas, it keeps for a second or two: it has gone when it sleeps for three.
    let (mut idle, mut asleep) = (Vec::new(), 0);
    while asleep < 3 && idle.len() < 20 {
        let (before, sleeps) = activity(server.id());
        thread::sleep(Duration::from_secs(1));
        let (after, sleeps_after) = activity(server.id());
        let wake_ups = sleeps_after - sleeps;
        idle.push((after - before, wake_ups));
        asleep = if wake_ups == 0 { asleep + 1 } else { 0 };
    }
    let large = memory(server.id());
    for (what, (own, shared)) in [
        ("started", fresh),
        ("1,000 connected", connected),
        ("each with a ring and a copy of 1 KB", small),
        ("each has compressed 64 KB twice", large),
    ] {
        println!("{what:<36} {own:6.1} MB and {shared:6.1} MB shared");
    }
    println!("after {} seconds, three of them without CPU time and wake-ups", idle.len());
    assert!(asleep == 3, "it never sleeps: {idle:?}");
    let total = |(own, shared): (f64, f64)| own + shared;
    assert!(total(small) < 100.0 && total(large) < 100.0, "{small:?} {large:?}");
    drop((instances, runtimes));
    drop(server.stdin.take());
    server.wait().unwrap();
}
