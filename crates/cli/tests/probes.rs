//! Tracepoints of the server (docs/tracing.md), as gdb sees them.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use lookaside::{Buf, Compression, InstanceConfig, Runtime};
use lookaside_shared::{Settings, SharedDevice};
use lookaside_testkit::tracing::{Print, live, notes, trace};

const LOOKASIDE: &str = env!("CARGO_BIN_EXE_lookaside");

#[test]
fn a_tracer_finds_the_servers_probes() {
    let notes = notes(Path::new(LOOKASIDE));
    let found = live(&notes);
    for name in ["pushed", "begun", "finished", "polled", "shared_took", "shared_answered"] {
        assert!(found.contains_key(name), "{name}: {notes:?}");
    }
}

/// One request to the server at this socket, when it is there, which is killed before the client has the answer.
fn compress(socket: &Path, over: &AtomicBool) -> Option<()> {
    while !socket.exists() {
        thread::sleep(Duration::from_millis(20));
        if over.load(Relaxed) {
            return None;
        }
    }
    let device = SharedDevice::new(Settings::new(socket)).ok()?;
    let runtime = Runtime::builder().device(device).engines(0).start().ok()?;
    let session = runtime.compression(Compression::default()).ok()?;
    let mut instance = runtime.instance(InstanceConfig::default()).ok()?;
    let dst = Buf::zeroed(session.bound(5000));
    instance.push(session.compress(Buf::zeroed(5000), dst)).ok()?;
    instance.wait(Duration::from_secs(20)).then_some(())
}

#[test]
fn gdb_sees_a_clients_request_within_the_server() {
    let folder = std::env::temp_dir().join(format!("lookaside-probes-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let config = folder.join("serve.conf");
    fs::write(&config, format!("folder = {}\nengines = 1\n[files]\n", folder.display())).unwrap();
    let socket = folder.join("files.sock");
    let over = Arc::new(AtomicBool::new(false));
    let client = {
        let over = over.clone();
        thread::spawn(move || compress(&socket, &over))
    };
    let mut command = Command::new(LOOKASIDE);
    command.env_remove("LOOKASIDE_DEVICE").args(["serve", "--config"]).arg(&config);
    let prints = [
        Print { name: "shared_took", arguments: &["0s", "1", "2", "4s", "5"], then: "continue" },
        Print { name: "pushed", arguments: &["2s", "3"], then: "continue" },
        Print { name: "polled", arguments: &[], then: "continue" },
        Print { name: "shared_answered", arguments: &["0s", "1", "2", "4s", "5"], then: "kill" },
    ];
    let lines = trace(&command, &prints, &folder);
    over.store(true, Relaxed);
    client.join().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let Some(lines) = lines else { return };
    let me = std::process::id();
    let number = lines[0].split(' ').nth(3).unwrap();
    assert_eq!(
        lines,
        [
            format!("shared_took files {me} {number} dc.compress 5000"),
            "pushed dc.compress 5000".into(),
            "polled".into(),
            format!("shared_answered files {me} {number} dc.compress 2"),
        ]
    );
}
