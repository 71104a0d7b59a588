//! `lookaside top` and `lookaside metrics` over pages that this process and others have made.

mod schema;

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::{
        fd::FromRawFd,
        unix::fs::{DirBuilderExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use lookaside_page::{Bank, Folder, Identity, Page, Shape, operation};
use serde_json::Value;

fn lookaside(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lookaside"));
    command.args(args).env_remove("LOOKASIDE_COUNTERS").env_remove("NO_COLOR");
    command
}

fn good(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("runs");
    assert!(status.success(), "{command:?} {}", String::from_utf8_lossy(&stderr));
    assert_eq!(String::from_utf8_lossy(&stderr), "");
    String::from_utf8(stdout).expect("text")
}

/// A folder with a page of this process, removed at the end.
struct Pages {
    folder: PathBuf,
    page: &'static Page,
    engine: Bank,
}

impl Pages {
    fn new(name: &str) -> Pages {
        let folder = std::env::temp_dir().join(format!("lookaside-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
        let page = Page::make(&Folder::open(&folder).unwrap(), true).unwrap();
        let page: &Page = Box::leak(Box::new(page));
        let engine = page.bank(&Shape::operations([("cpu".into(), "dc.compress".into())])).unwrap();
        for (word, n) in [
            (operation::REQUESTS, 12),
            (operation::BATCHES, 3),
            (operation::SRC_BYTES, 3_000_000),
            (operation::ERRORS, 1),
            (operation::LANES + 3, 3),
            (operation::QUEUE_NS + 12, 12),
            (operation::SERVICE_NS + 20, 12),
            (operation::SERVICE_TOTAL_NS, 7_000_000),
        ] {
            engine[word].store(n, Relaxed);
        }
        let names = ["compress, whole calls"];
        let calls = page.bank(&Shape::calls("zlib", ["calls", "bytes in", "bytes out"], names));
        calls.unwrap()[1].store(4096, Relaxed);
        Pages { folder, page, engine }
    }

    fn path(&self) -> &str {
        self.folder.to_str().unwrap()
    }

    /// A page of a process that has ended: this one's, had it started earlier.
    fn ended(&self, folder: &Path) -> PathBuf {
        let mut bytes = fs::read(self.page.path()).unwrap();
        bytes[32..40].copy_from_slice(&1_u64.to_ne_bytes());
        let path = folder.join(format!("{}-1-0", std::process::id()));
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn top_shows_what_processes_have_counted() {
    let pages = Pages::new("top");
    let ended = pages.ended(&pages.folder);
    for width in [40, 41, 80, 120, 300] {
        let args = ["top", "--once", "--folder", pages.path(), "--width", &width.to_string()];
        let text = good(&mut lookaside(&args));
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
        assert!(text.starts_with("lookaside by requests: 1 process, 12\n"), "{text}");
        assert!(!text.contains('\x1b'), "colours are for terminals: {text}");
        if width == 300 {
            let row = text.lines().find(|line| line.contains("cpu dc.compress")).expect(&text);
            let cells: Vec<_> = row.split_whitespace().rev().take(10).collect();
            assert_eq!(
                cells,
                ["0", "1", "4.0", "1.0ms", "1.0ms", "4.1us", "0", "3.00M", "12", "dc.compress"]
            );
        }
    }
    // Rates: nothing is counted meanwhile, and then something is.
    let rates = ["top", "--once", "--folder", pages.path(), "--interval", "0.5"];
    assert!(good(&mut lookaside(&rates)).starts_with("lookaside by requests: 1 process, 0/s\n"));

    let object = good(&mut lookaside(&["top", "--once", "--json", "--folder", pages.path()]));
    let object: Value = serde_json::from_str(&object).unwrap();
    schema::fits(&object, "top.json", &[]);
    let process = &object["processes"][0];
    assert_eq!(process["pid"], std::process::id());
    assert!(process["program"].as_str().unwrap().starts_with("see-"));
    let row = &process["operations"][0];
    assert_eq!((&row["device"], &row["op"]), (&"cpu".into(), &"dc.compress".into()));
    assert_eq!(
        (&row["requests"], &row["errors"], &row["lanes"]),
        (&12.into(), &1.into(), &4.0.into())
    );
    assert_eq!(row["service_ns"]["p99"], (1 << 20) - 1);
    assert_eq!(process["calls"][0]["bytes_in"], 4096);
    assert_eq!(object["processes"].as_array().unwrap().len(), 1);

    // What killed processes have left goes when it is asked for; also that of a run that has ended.
    assert!(ended.exists());
    let run = pages.folder.join("run-1-1");
    fs::DirBuilder::new().mode(0o700).create(&run).unwrap();
    pages.ended(&run);
    fs::write(run.join("run.qat"), "").unwrap();
    fs::write(pages.folder.join("another"), "").unwrap();
    let text = good(&mut lookaside(&["top", "--once", "--clean", "--folder", pages.path()]));
    assert!(text.ends_with("2 pages of processes that have ended were removed\n"), "{text}");
    assert!(!ended.exists() && !run.exists());
    assert!(pages.folder.join("another").exists() && pages.page.path().exists());

    // What cannot be read is said.
    fs::write(pages.folder.join("1-2-3"), "garbage").unwrap();
    let text = good(&mut lookaside(&["top", "--once", "--folder", pages.path(), "--width", "300"]));
    assert!(text.contains("1-2-3: it ends within its head"), "{text}");
    let out = lookaside(&["top"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("--once"));
}

/// Without `--folder`: the user's own folder, and the runs that are going on in it, whose pages are theirs.
#[test]
fn top_finds_the_processes_of_a_run() {
    let pages = Pages::new("top-run");
    let own = Identity::own();
    let run = pages.folder.join(format!("lookaside/run-{}-{}", own.pid, own.start));
    fs::DirBuilder::new().mode(0o700).recursive(true).create(&run).unwrap();
    fs::copy(pages.page.path(), run.join(pages.page.path().file_name().unwrap())).unwrap();
    let ended = pages.ended(&run);
    let text = good(
        lookaside(&["top", "--once", "--clean", "--json"]).env("XDG_RUNTIME_DIR", &pages.folder),
    );
    let object: Value = serde_json::from_str(&text).unwrap();
    let processes = object["processes"].as_array().unwrap();
    assert!(processes.iter().any(|process| process["pid"] == own.pid), "{text}");
    assert!(ended.exists(), "the run has not taken it yet");
}

/// A process that does not outlive its test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The two ends of a terminal of this size.
fn terminal(columns: u16, lines: u16) -> (fs::File, fs::File) {
    let (mut ours, mut theirs) = (-1, -1);
    let size = libc::winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (null, none) = (std::ptr::null_mut(), std::ptr::null());
    // SAFETY: two places for descriptors, no name, no attributes, a size; each descriptor has one owner.
    unsafe {
        assert_eq!(libc::openpty(&mut ours, &mut theirs, null, none, &size), 0);
        (fs::File::from_raw_fd(ours), fs::File::from_raw_fd(theirs))
    }
}

#[test]
fn top_is_live_on_a_terminal() {
    let pages = Pages::new("top-live");
    let (mut ours, theirs) = terminal(60, 6);
    let mut keys = ours.try_clone().unwrap();
    let modes = || rustix::termios::tcgetattr(&theirs).unwrap();
    let before = modes();
    let mut top = Started(
        lookaside(&["top", "--folder", pages.path(), "--interval", "0.2"])
            .stdin(theirs.try_clone().unwrap())
            .stdout(theirs.try_clone().unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let mut shown = String::new();
    let mut until = |text: &str| {
        let (from, start) = (shown.len(), Instant::now());
        while !shown[from..].contains(text) {
            assert!(start.elapsed() < Duration::from_secs(20), "{text}: {shown:?}");
            let mut part = [0; 4096];
            let n = ours.read(&mut part).unwrap();
            shown += &String::from_utf8_lossy(&part[..n]);
        }
    };
    // Everything so far, then rates; colours, and the other screen.
    until("by requests: 1 process, 12");
    until("by requests: 1 process, 0/s");
    assert_ne!(modes().local_modes, before.local_modes);
    keys.write_all(b"l").unwrap();
    until("by latency: 1 process");
    // An arrow is no key of ours.
    keys.write_all(b"\x1b[A").unwrap();
    rustix::termios::tcsetwinsize(
        &theirs,
        rustix::termios::Winsize { ws_col: 40, ws_row: 4, ws_xpixel: 0, ws_ypixel: 0 },
    )
    .unwrap();
    until("REQ/s    P99\x1b[0m\x1b[K");
    keys.write_all(b"q").unwrap();
    until("\x1b[?1049l");
    assert!(shown.starts_with("\x1b[?1049h\x1b[?25l") && shown.contains("\x1b[7m"), "{shown:?}");
    assert!(top.0.wait().unwrap().success());
    assert_eq!(modes().local_modes, before.local_modes);
    assert_eq!(modes().input_modes, before.input_modes);
}

/// Each line is a comment of a family or a sample of the last one; the samples.
fn samples(text: &str) -> Vec<(String, f64)> {
    let mut family = String::new();
    let mut samples = Vec::new();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.split(' ');
            let kind = words.next().unwrap();
            if kind == "EOF" {
                continue;
            }
            assert!(["HELP", "TYPE", "UNIT"].contains(&kind), "{line}");
            family = words.next().unwrap().to_owned();
            assert!(words.next().is_some(), "{line}");
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        let rest = name.strip_prefix(&*family).unwrap_or_else(|| panic!("{line}: of {family}"));
        assert!(rest.is_empty() || rest.starts_with(['_', '{']), "{line}");
        samples.push((name.to_owned(), value.parse().unwrap_or_else(|e| panic!("{line}: {e}"))));
    }
    samples
}

/// Parsers of others, where they are installed (Debian: python3-prometheus-client).
fn parse(text: &str, module: &str) {
    let program = format!(
        "import sys\ntry:\n import {module} as p\nexcept ImportError: sys.exit(77)\n\
         n = sum(len(f.samples) for f in p.text_string_to_metric_families(sys.stdin.read()))\n\
         assert n > 20, n"
    );
    let python =
        Command::new("/usr/bin/python3").args(["-c", &program]).stdin(Stdio::piped()).spawn();
    let Ok(mut python) = python else { return eprintln!("no python3: not parsed") };
    let _ = python.stdin.take().unwrap().write_all(text.as_bytes());
    match python.wait().unwrap().code() {
        Some(77) => eprintln!("no {module}: not parsed"),
        code => assert_eq!(code, Some(0), "{text}"),
    }
}

#[test]
fn metrics_are_printed_written_and_served() {
    let pages = Pages::new("metrics");
    let open = good(&mut lookaside(&["metrics", "--folder", pages.path()]));
    assert!(open.ends_with("\n# EOF\n"));
    let found = samples(&open);
    let value = |start: &str, label: &str| {
        let is = |(name, _): &&(String, f64)| name.starts_with(start) && name.contains(label);
        found.iter().find(is).unwrap_or_else(|| panic!("{start} {label}: {open}")).1
    };
    assert_eq!(value("lookaside_requests_total{", "op=\"dc.compress\""), 12.0);
    assert_eq!(value("lookaside_service_seconds_bucket{", "le=\"0.000262143\""), 0.0);
    assert_eq!(value("lookaside_service_seconds_bucket{", "le=\"0.001048575\""), 12.0);
    assert_eq!(value("lookaside_service_seconds_sum{", ""), 0.007);
    assert_eq!(value("lookaside_call_src_bytes_total{", "library=\"zlib\""), 4096.0);
    parse(&open, "prometheus_client.openmetrics.parser");

    let file = pages.folder.join("lookaside.prom");
    let write = ["metrics", "--folder", pages.path(), "--textfile", file.to_str().unwrap()];
    fs::write(&file, "the last one").unwrap();
    assert_eq!(good(&mut lookaside(&write)), "");
    let old = fs::read_to_string(&file).unwrap();
    assert_eq!(samples(&old), found);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    let names = fs::read_dir(&pages.folder).unwrap().map(|e| e.unwrap().file_name());
    assert_eq!(names.filter(|name| name.to_str().unwrap().contains("prom")).count(), 1);
    parse(&old, "prometheus_client.parser");
    let nowhere = lookaside(&["metrics", "--textfile", "/nowhere/at/all"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(2));

    let listen = ["metrics", "--folder", pages.path(), "--listen", "0"];
    let mut server = Started(lookaside(&listen).stderr(Stdio::piped()).spawn().unwrap());
    let mut said = Vec::new();
    let mut stderr = server.0.stderr.take().unwrap();
    let mut byte = [0];
    while !said.ends_with(b"\n") && stderr.read(&mut byte).unwrap() == 1 {
        said.push(byte[0]);
    }
    let said = String::from_utf8(said).unwrap();
    let address = said.strip_prefix("lookaside: http://").and_then(|rest| rest.split('/').next());
    let address = address.expect(&said).to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{said}");
    let ask = |request: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        // Who does not read an answer to the end does not stop the server.
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    };
    pages.engine[operation::REQUESTS].store(13, Relaxed);
    let answer =
        ask("GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;version=1.0.0\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text;"));
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    assert!(body.ends_with("# EOF\n") && body.contains("} 13\n"), "{body}");
    let answer = ask("GET /metrics?x=1 HTTP/1.0\r\n\r\n");
    assert!(answer.contains("version=0.0.4") && answer.contains("# TYPE lookaside_requests_total"));
    let answer = ask("HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\n"), "{answer}");
    assert!(ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    assert!(ask(&"x".repeat(20_000)).is_empty() || ask("\r\n\r\n").starts_with("HTTP/1.1 405"));
    // Some that say nothing keep nobody from an answer.
    let silent: Vec<_> = (0..8).map(|_| TcpStream::connect(&address).unwrap()).collect();
    assert!(ask("GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
    drop(silent);
}
