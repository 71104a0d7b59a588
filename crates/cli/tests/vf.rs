//! Virtual functions of a server that runs, by the command.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use lookaside::{Buf, Compression, InstanceConfig, Runtime};
use lookaside_shared::{Settings, SharedDevice};
use serde_json::Value;

mod schema;

fn lookaside(args: &[&str]) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_lookaside"));
    c.env_remove("LOOKASIDE_CPU").args(args);
    c
}

/// A folder that goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("lookaside-vf-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server, and the command beside it.
struct Server {
    folder: Folder,
    child: Child,
}

fn is_here(path: &Path) -> bool {
    (0..1000).any(|_| {
        thread::sleep(Duration::from_millis(20));
        path.exists()
    })
}

impl Server {
    /// With this configuration. A 64 KB compression takes a millisecond by its costs.
    fn new(name: &str, functions: &str) -> Server {
        let folder = Folder::new(name);
        let info = lookaside(&["info", "--json"]).output().unwrap();
        let info: Value = serde_json::from_slice(&info.stdout).unwrap();
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        let (cpu, tier) = (word(&info["machine"]["cpu_model"]), word(&info["simd"]["tier"]));
        fs::create_dir_all(folder.file("lookaside")).unwrap();
        let costs = format!(
            "lookaside costs 1\ncpu {cpu}\ntier {tier}\ndc.compress DEFLATE-1 65536 1000000.0\n"
        );
        fs::write(folder.file("lookaside/costs"), costs).unwrap();
        let sockets = folder.file("sockets");
        let text = format!("folder = {}\nengines = 1\n{functions}", sockets.display());
        fs::write(folder.file("conf"), text).unwrap();
        let child = Server::command(&folder, &["serve"]).stderr(Stdio::null()).spawn().unwrap();
        assert!(is_here(&sockets.join("control")), "it listens");
        Server { folder, child }
    }

    fn command(folder: &Folder, args: &[&str]) -> Command {
        let mut c = lookaside(args);
        c.env("XDG_STATE_HOME", &folder.0).arg("--config").arg(folder.file("conf"));
        c
    }

    fn vf(&self, args: &[&str]) -> Output {
        Server::command(&self.folder, &[&["vf"], args].concat()).output().unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        let out = self.vf(&[args, &["--json"]].concat());
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice(&out.stdout).unwrap()
    }

    fn refused(&self, args: &[&str]) -> String {
        let out = self.vf(args);
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(out.stdout.is_empty());
        String::from_utf8(out.stderr).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let list = self.json(&["list"]);
        assert_eq!(list["source"], "server");
        let name = |one: &Value| one["name"].as_str().unwrap().to_owned();
        list["functions"].as_array().unwrap().iter().map(name).collect()
    }

    fn conf(&self) -> String {
        fs::read_to_string(self.folder.file("conf")).unwrap()
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn functions_change_and_are_saved_if_so_asked() {
    let mut server = Server::new("change", "# the first\n[a]\nmode = 660\n");
    let added = server.json(&["add", "b", "services=dc", "committed=0.1 Gbit/s DEFLATE"]);
    assert_eq!((&added["done"], &added["saved"]), (&"added".into(), &false.into()));
    assert_eq!(added["function"]["settings"]["committed"][0], "100 Mbit/s DEFLATE");
    assert!(Path::new(added["function"]["socket"].as_str().unwrap()).exists());
    assert_eq!(server.names(), ["a", "b"]);
    let before = server.conf();
    assert!(!before.contains("[b]"));

    // One engine: 0.52 Gbit/s in all, of which 16 of 17 parts may be promised.
    let why = server.refused(&["add", "c", "committed=0.4 Gbit/s DEFLATE"]);
    assert!(
        why.contains("c: 400 Mbit/s DEFLATE are asked for, 393 Mbit/s DEFLATE of 524 Mbit/s"),
        "{why}"
    );
    let why = server.refused(&["set", "a", "weight=0"]);
    assert!(why.contains("weight"), "{why}");
    assert!(server.refused(&["add", "c", "weight"]).contains("SETTING=VALUE"));
    assert!(server.refused(&["set", "a"]).contains("SETTING"));
    assert!(server.refused(&["rm", "c"]).contains("no virtual function c"));
    assert_eq!(server.names(), ["a", "b"]);

    let changed = server.json(&["set", "a", "weight=7", "--save"]);
    assert_eq!(changed["function"]["settings"]["weight"], 7);
    assert_eq!(server.conf(), before.replace("mode = 660\n", "mode = 660\nweight = 7\n"));
    server.json(&["add", "d", "services=mv rng", "--save"]);
    assert!(server.conf().ends_with("\n[d]\nservices = mv rng\n"), "{}", server.conf());
    // What is not saved is not kept.
    server.signal("-HUP");
    let gone = || server.names() == ["a", "d"];
    assert!((0..500).any(|_| gone() || {
        thread::sleep(Duration::from_millis(20));
        false
    }));
    let removed = server.json(&["rm", "d", "--save"]);
    assert_eq!(removed["done"], "removed");
    assert!(!server.conf().contains("[d]") && server.names() == ["a"]);

    // Without a server the configuration is asked.
    server.signal("-TERM");
    assert!(server.child.wait().unwrap().success());
    let list = server.json(&["list"]);
    assert_eq!(
        (&list["source"], &list["functions"][0]["name"]),
        (&"configuration".into(), &"a".into())
    );
    assert!(server.refused(&["rm", "a"]).contains("no server at"));
    assert_eq!(fs::read_dir(server.folder.file("sockets")).unwrap().count(), 0);
}

/// `lookaside stat`, `lookaside top` and `lookaside metrics --server`: what a client has and was answered.
#[test]
fn what_functions_have_and_were_answered() {
    let server =
        Server::new("stat", "[a]\nservices = dc mv\nweight = 3\npeak = 0.1 Gbit/s DEFLATE\n[b]\n");
    let sockets = server.folder.file("sockets");
    let stat = |more: &[&str]| {
        let args = [&["stat", "--json"], more].concat();
        let out = Server::command(&server.folder, &args).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice::<Value>(&out.stdout).unwrap()
    };
    let before = stat(&[]);
    schema::fits(&before, "stat.json", &[]);
    assert_eq!((&before["engines"], &before["process"]), (&1.into(), &server.child.id().into()));
    assert_eq!(before["functions"][0]["clients"], 0);
    assert_eq!(before["functions"][0]["services"].as_array().unwrap().len(), 2);

    // A client with one session, and 5 compressions.
    let device = SharedDevice::new(Settings::new(sockets.join("a.sock"))).unwrap();
    let runtime = Runtime::builder().device(device).engines(0).start().unwrap();
    let session = runtime.compression(Compression::default()).unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let mut produced = 0;
    for _ in 0..5 {
        let request = session.compress(Buf::from(&[7; 1000][..]), Buf::zeroed(2000));
        instance.push(request).unwrap();
        assert!(instance.wait(Duration::from_secs(60)));
        produced += instance.poll().next().unwrap().result.unwrap().produced;
    }
    let during = stat(&["--interval", "0.2"]);
    schema::fits(&during, "stat.json", &[]);
    let a = &during["functions"][0];
    for (name, value) in [
        ("clients", 1),
        ("rings", 1),
        ("sessions", 1),
        ("queue", 0),
        ("refused", 0),
        ("cut_off", 0),
    ] {
        assert_eq!(a[name], value, "{name}: {a}");
    }
    assert!(a["memory_bytes"].as_u64().unwrap() > 4 << 20, "{a}");
    assert_eq!(
        (&a["settings"]["weight"], &a["settings"]["peak"][0]),
        (&3.into(), &"100 Mbit/s DEFLATE".into())
    );
    let dc = &a["services"][0];
    assert_eq!(dc["service"], "dc");
    for (name, value) in
        [("requests", 5), ("errors", 0), ("src_bytes", 5000), ("dst_bytes", produced)]
    {
        assert_eq!(dc[name], value, "{name}: {dc}");
    }
    assert_eq!((&dc["requests_per_s"], &a["services"][1]["requests"]), (&0.0.into(), &0.into()));
    assert_eq!(during["operations"][0]["op"], "dc.compress");
    assert_eq!(during["operations"][0]["requests"], 5);
    let text = Server::command(&server.folder, &["stat", "--interval", "0.1"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("dc   5 requests, 0 errors, 5000 bytes in"), "{text}");
    assert!(text.contains("0 requests/s") && text.contains("at most 100 Mbit/s DEFLATE"), "{text}");

    let top = |more: &[&str]| {
        let folder = server.folder.file("pages");
        fs::create_dir_all(&folder).unwrap();
        let mut top = lookaside(&["top", "--once", "--folder"]);
        let out = top.arg(&folder).arg("--server").arg(&sockets).args(more).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    let text = top(&["--width", "120"]);
    let rows: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let row = rows.iter().find(|row| row[0] == "a").expect(&text);
    assert_eq!(row[1..5], ["dc", "5", "5.00k", &*produced.to_string()], "{text}");
    assert_eq!(row[5..], ["0", "1", "0", "0", "at", "most", "100", "Mbit/s", "DEFLATE"], "{text}");
    let row = rows.iter().find(|row| row[0] == "b").expect(&text);
    assert_eq!((row[2], &row[9..]), ("0", &["weight", "1"][..]), "{text}");
    for width in ["40", "67"] {
        let text = top(&["--width", width, "--interval", "0.1"]);
        let wide = text.lines().map(|line| line.chars().count()).max();
        assert!(wide <= width.parse().ok(), "{text}");
        assert!(
            text.contains("REQ/s") && text.contains("\na                dc        0"),
            "{text}"
        );
    }
    let json: Value = serde_json::from_str(&top(&["--json"])).unwrap();
    assert_eq!(json["functions"][0], stat(&[])["functions"][0]);

    let metrics = || {
        let folder = server.folder.file("pages");
        fs::create_dir_all(&folder).unwrap();
        let out =
            lookaside(&["metrics", "--folder"]).arg(&folder).arg("--server").arg(&sockets).output();
        String::from_utf8(out.unwrap().stdout).unwrap()
    };
    let text = metrics();
    for line in [
        "lookaside_server_up 1",
        "lookaside_function_clients{function=\"a\"} 1",
        "lookaside_function_requests_total{function=\"a\",service=\"dc\"} 5",
        "lookaside_function_src_bytes_total{function=\"a\",service=\"dc\"} 5000",
        "lookaside_function_weight{function=\"a\"} 3",
        "lookaside_function_promised{function=\"a\",rate=\"peak\",measure=\"DEFLATE\"} 100000000",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}:\n{text}");
    }

    drop((instance, session, runtime));
    let gone = || {
        let a = stat(&[])["functions"][0].clone();
        ["clients", "rings", "sessions", "memory_bytes", "queue"].iter().all(|name| a[*name] == 0)
    };
    assert!((0..500).any(|_| gone() || {
        thread::sleep(Duration::from_millis(20));
        false
    }));
    assert_eq!(stat(&[])["functions"][0]["services"][0]["requests"], 5);
    drop(Server::command(&server.folder, &["vf", "rm", "b"]).output().unwrap());
    assert_eq!(stat(&[])["functions"].as_array().unwrap().len(), 1);
    server.signal("-TERM");
    assert!((0..500).any(|_| metrics().contains("lookaside_server_up 0\n") || {
        thread::sleep(Duration::from_millis(20));
        false
    }));
    assert!(top(&[]).contains("no server at"));
    let json: Value = serde_json::from_str(&top(&["--json"])).unwrap();
    assert_eq!(json["functions"], Value::Null);
    let out = Server::command(&server.folder, &["stat"]).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8(out.stderr).unwrap().contains("no server at"));
}

/// A service manager makes the socket, and starts the server when somebody connects.
#[test]
fn the_first_client_starts_a_server() {
    const MANAGER: &str = "systemd-socket-activate";
    if Command::new(MANAGER).arg("--version").output().is_err() {
        return eprintln!("skipped: {MANAGER} is not here (Debian package systemd)");
    }
    let folder = Folder::new("passed");
    let sockets = folder.file("sockets");
    fs::create_dir_all(&sockets).unwrap();
    let text = format!("folder = {}\nengines = 1\n[a]\nservices = mv\n[b]\n", sockets.display());
    fs::write(folder.file("conf"), text).unwrap();
    let socket = sockets.join("a.sock");
    let child = Command::new(MANAGER)
        .arg("--seqpacket")
        .arg("--listen")
        .arg(&socket)
        .args([env!("CARGO_BIN_EXE_lookaside"), "serve", "--config"])
        .arg(folder.file("conf"))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut server = Server { folder, child };
    assert!(is_here(&socket));
    assert!(!sockets.join("b.sock").exists(), "no server has started");
    // It connects, and waits for the answer.
    let list = server.json(&["list"]);
    let offers = list["functions"][0]["offers"].as_str().unwrap();
    assert!(offers.ends_with("a.sock: mv"), "{list}");
    assert!(is_here(&sockets.join("control")));
    assert_eq!(server.names(), ["a", "b"]);
    server.signal("-TERM");
    assert!(server.child.wait().unwrap().success());
    assert!(socket.exists() && !sockets.join("b.sock").exists(), "its own sockets go with it");
}

/// The kernel says who connects, whatever the permissions of the socket.
#[test]
fn other_users_change_nothing() {
    use std::os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        process::CommandExt as _,
    };

    const NOBODY: u32 = 65_534;
    let server = Server::new("users", "[a]\n");
    let sockets = server.folder.file("sockets");
    let control = sockets.join("control");
    let meta = fs::metadata(&control).unwrap();
    assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    if meta.uid() != 0 {
        return eprintln!("skipped: only root can be another user");
    }
    for (path, mode) in [(&control, 0o666), (&sockets, 0o755), (&server.folder.0, 0o755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = lookaside(&["vf", "rm", "a", "--folder"]);
    let Ok(out) = command.arg(&sockets).uid(NOBODY).current_dir("/").output() else {
        return eprintln!("skipped: another user cannot run the command where it is built");
    };
    let why = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{why}");
    assert!(why.contains("user 65534 may not change virtual functions"), "{why}");
    assert_eq!(server.names(), ["a"]);
}
