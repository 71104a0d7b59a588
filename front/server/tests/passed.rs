//! Sockets that a service manager has made: they outlive servers, and who connects in between is served by the next one.

mod common;

use std::{os::fd::OwnedFd, sync::mpsc, thread, time::Duration};

use common::{Folder, backed, client, compresses, config};
use lookaside_server::{Ask, FunctionConfig, Server, StartError, ask};
use lookaside_shared::{Policy, Settings, SharedDevice};
use lookaside_wire::passing;

fn listen(folder: &Folder, name: &str) -> OwnedFd {
    passing::listen(&folder.0.join(name), 0o600).unwrap()
}

#[test]
fn a_socket_outlives_its_servers() {
    let folder = Folder::new();
    let (socket, control) = (listen(&folder, "a.sock"), listen(&folder, "control"));
    let passed = || vec![socket.try_clone().unwrap(), control.try_clone().unwrap()];
    let config = config(&folder.0, vec![FunctionConfig::new("a"), FunctionConfig::new("b")]);
    let server = Server::start_with(&config, passed()).unwrap();
    let runtime = backed(client(&server, "a", Policy::Wait), 1);
    compresses(&runtime, 1, 50_000).unwrap();
    compresses(&backed(client(&server, "b", Policy::Fail), 0), 2, 50_000).unwrap();
    drop(server);
    let left = |name: &str| folder.0.join(name).exists();
    assert!(left("a.sock") && left("control") && !left("b.sock"));

    // One who connects now, and one who has been connected, wait for the next server.
    let (done, ended) = mpsc::channel();
    let path = folder.0.join("a.sock");
    let waiting = thread::spawn(move || {
        let settings = Settings { timeout: Duration::from_secs(60), ..Settings::new(path) };
        let device = SharedDevice::new(Settings { policy: Policy::Fail, ..settings }).unwrap();
        compresses(&backed(device, 0), 3, 50_000).unwrap();
        compresses(&runtime, 4, 50_000).unwrap();
        done.send(()).unwrap();
    });
    thread::sleep(Duration::from_millis(100));
    assert!(ended.try_recv().is_err(), "nobody serves");
    let server = Server::start_with(&config, passed()).unwrap();
    ended.recv_timeout(Duration::from_secs(60)).unwrap();
    waiting.join().unwrap();

    // Opened again with another depth, the function keeps its socket; removed, its socket is gone.
    let set =
        |value: &str| Ask::Set { name: "a".into(), settings: vec![("depth".into(), value.into())] };
    ask(&folder.0, &set("8")).unwrap();
    compresses(&backed(client(&server, "a", Policy::Fail), 0), 5, 50_000).unwrap();
    ask(&folder.0, &Ask::Remove { name: "a".into() }).unwrap();
    assert!(!left("a.sock"));
}

#[test]
fn a_socket_of_no_function_is_refused() {
    let folder = Folder::new();
    let config = config(&folder.0, vec![FunctionConfig::new("a")]);
    let refused = |socket| match Server::start_with(&config, vec![socket]) {
        Err(StartError::Passed(path)) => path,
        other => panic!("{:?}", other.err()),
    };
    assert_eq!(refused(listen(&folder, "b.sock")), folder.0.join("b.sock"));
    // A connection, and a socket of another kind, are none that listen for packets.
    let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    assert_eq!(refused(one.into()).as_os_str(), "");
    let stream = std::os::unix::net::UnixListener::bind(folder.0.join("a.sock")).unwrap();
    assert_eq!(refused(stream.into()).as_os_str(), "");
}
