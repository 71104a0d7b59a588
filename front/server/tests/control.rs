//! Virtual functions come, change and go while the server runs.

mod common;

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Duration,
};

use common::{Folder, backed, client, compresses};
use lookaside::{Buf, Compression, InstanceConfig, OpError, Service};
use lookaside_server::{Ask, Config, ControlError, FunctionConfig, Listed, Server, ask};
use lookaside_shared::{Policy, Settings, SharedDevice};
use lookaside_shares::{Capacity, Measure};

fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

fn add(folder: &Path, name: &str, pairs: &[(&str, &str)]) -> Result<Vec<Listed>, ControlError> {
    ask(folder, &Ask::Add { name: name.into(), settings: settings(pairs) })
}

fn set(folder: &Path, name: &str, pairs: &[(&str, &str)]) -> Result<Vec<Listed>, ControlError> {
    ask(folder, &Ask::Set { name: name.into(), settings: settings(pairs) })
}

fn names(folder: &Path) -> Vec<String> {
    ask(folder, &Ask::List).unwrap().into_iter().map(|one| one.config.name).collect()
}

/// One engine that does 1,000 RSA operations a second, or 1 Gbit/s of DEFLATE.
fn config(folder: &Folder, functions: Vec<FunctionConfig>) -> Config {
    let capacity = Capacity::new(1).cost(Measure::Rsa, 1e6).cost(Measure::Deflate, 1.0);
    let config = common::config(&folder.0, functions);
    Config { capacity: Some(capacity), engines: Some(1), ..config }
}

fn server(folder: &Folder, functions: Vec<FunctionConfig>) -> Server {
    Server::start(&config(folder, functions)).unwrap()
}

#[test]
fn functions_are_added_changed_and_removed() {
    let folder = Folder::new();
    let server = server(&folder, vec![FunctionConfig::new("a")]);
    let added = add(&folder.0, "b", &[("services", "dc"), ("weight", "3")]).unwrap();
    assert_eq!(added[0].config.services, [Service::Dc]);
    assert_eq!((added[0].config.weight, added[0].connections), (3, 0));
    assert_eq!(names(&folder.0), ["a", "b"]);
    let b = backed(client(&server, "b", Policy::Fail), 0);
    compresses(&b, 1, 50_000).unwrap();
    assert!(ask(&folder.0, &Ask::List).unwrap()[1].connections >= 1);

    // Rates, weight and permissions change, and the client's connection stays as it is.
    let mode = |name: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        server.socket(name).unwrap().metadata().unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode("b"), 0o600);
    let new = [("committed", "0.1 Gbit/s DEFLATE"), ("mode", "660")];
    let changed = set(&folder.0, "b", &new).unwrap();
    assert_eq!((mode("b"), changed[0].config.weight), (0o660, 3), "{changed:?}");
    compresses(&b, 2, 50_000).unwrap();
    assert!(changed[0].connections >= 1);
    set(&folder.0, "b", &[("committed", "none")]).unwrap();
    compresses(&b, 3, 50_000).unwrap();

    // Removed: a client that may not fall back has a typed error, and one that may has its answer.
    let falls_back = backed(client(&server, "b", Policy::Fallback), 0);
    let gone = ask(&folder.0, &Ask::Remove { name: "b".into() }).unwrap();
    assert_eq!(gone[0].config.name, "b");
    assert!(!gone[0].socket.exists());
    assert_eq!(names(&folder.0), ["a"]);
    assert!(SharedDevice::new(Settings::new(&gone[0].socket)).is_err(), "nobody listens");
    assert!(matches!(compresses(&b, 4, 50_000), Err(OpError::Library(_))));
    compresses(&falls_back, 5, 50_000).unwrap();
    drop(server);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0, "no socket is left behind");
}

#[test]
fn what_does_not_fit_is_refused_with_the_figures() {
    let folder = Folder::new();
    let _server = server(&folder, vec![FunctionConfig::new("a")]);
    let refused = |answer: Result<Vec<Listed>, ControlError>| match answer {
        Err(ControlError::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    add(&folder.0, "b", &[("committed", "500 RSA/s")]).unwrap();
    let why = refused(add(&folder.0, "c", &[("committed", "900 RSA/s")]));
    assert_eq!(why, "c: 900 RSA/s are asked for, 441 RSA/s of 1000 RSA/s are available");
    let why = refused(set(&folder.0, "a", &[("committed", "900 RSA/s")]));
    assert!(why.starts_with("a: 900 RSA/s are asked for"), "{why}");
    assert_eq!(names(&folder.0), ["a", "b"]);
    assert_eq!(ask(&folder.0, &Ask::List).unwrap()[0].config, FunctionConfig::new("a"));
    // What others give back may be had.
    set(&folder.0, "b", &[("committed", "10 RSA/s")]).unwrap();
    set(&folder.0, "a", &[("committed", "900 RSA/s")]).unwrap();
    for (answer, why) in [
        (add(&folder.0, "a", &[]), "already"),
        (add(&folder.0, "../x", &[]), "not a name"),
        (add(&folder.0, "d", &[("weight", "0")]), "weight"),
        (add(&folder.0, "d", &[("colour", "red")]), "no setting"),
        (set(&folder.0, "d", &[]), "no virtual function d"),
        (set(&folder.0, "b", &[("peak", "5 RSA/s")]), "less than"),
        (set(&folder.0, "b", &[("services", "dc")]), "needs the service"),
        (ask(&folder.0, &Ask::Remove { name: "d".into() }), "no virtual function d"),
    ] {
        let said = refused(answer);
        assert!(said.contains(why), "{said}");
    }
}

/// The peak of a function changes while a client floods it: the rate is the new one at once, and no request is lost.
#[test]
fn rates_change_under_a_flood() {
    let folder = Folder::new();
    let server = server(&folder, vec![FunctionConfig::new("a"), FunctionConfig::new("b")]);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for name in ["a", "b"] {
            let (server, stop) = (&server, &stop);
            scope.spawn(move || {
                let runtime = backed(client(server, name, Policy::Fail), 0);
                let session = runtime.compression(Compression::default()).unwrap();
                // One ring for all of it: a new one would begin with the new rates.
                let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
                let data = lookaside_testkit::mixed(1, 60_000);
                while !stop.load(Relaxed) {
                    let (src, dst) = (Buf::from(&*data), Buf::zeroed(session.bound(data.len())));
                    instance.push(session.compress(src, dst)).unwrap();
                    assert!(instance.wait(Duration::from_secs(60)));
                    assert!(instance.poll().all(|response| response.result.is_ok()));
                }
            });
        }
        let time = |ms: u64| {
            let before = server.device_time("a").unwrap();
            thread::sleep(Duration::from_millis(ms));
            (server.device_time("a").unwrap() - before).as_secs_f64() * 1000.0 / ms as f64
        };
        // A thousandth of an engine. Its bucket has some milliseconds at first.
        set(&folder.0, "a", &[("peak", "0.001 Gbit/s DEFLATE")]).unwrap();
        thread::sleep(Duration::from_millis(100));
        let held = time(500);
        set(&folder.0, "a", &[("peak", "none")]).unwrap();
        let free = time(500);
        // The file is read again, and neither of them notices.
        let b = FunctionConfig { weight: 5, ..FunctionConfig::new("b") };
        let functions = vec![b, FunctionConfig::new("c"), FunctionConfig::new("a")];
        server.reload(&config(&folder, functions)).unwrap();
        assert!(server.socket("c").is_some_and(|path| path.exists()));
        time(200);
        stop.store(true, Relaxed);
        // A request may be held up in the middle: that counts as its time.
        assert!(held < 0.1, "{held}");
        assert!(free > 2.0 * held, "{free} and {held}");
    });
}
