//! Tracepoints (docs/tracing.md): the notes that tracers find, and a request's life as gdb sees it.

mod common;

use std::path::Path;

use common::{Scratch, parcomp, text};
use lookaside_server::{Config, FunctionConfig, Server};
use lookaside_testkit::tracing::{Print, live, notes, trace};

/// What is looked at of each probe.
const PRINTS: &[(&str, &[&str])] = &[
    ("pushed", &["0", "2s", "3"]),
    ("begun", &["0", "1", "2"]),
    ("finished", &["0", "1", "2", "3"]),
    ("polled", &["0"]),
    ("rerouted", &["0"]),
    ("shared_sent", &["0", "1"]),
    ("shared_received", &["0", "1"]),
    ("shared_declined", &["0"]),
];

/// The names in docs/tracing.md.
fn documented() -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tracing.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut names: Vec<String> = rows.map(str::to_owned).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_tracer_finds_each_probe() {
    let notes = notes(Path::new(env!("CARGO_BIN_EXE_parcomp")));
    let found = live(&notes);
    let of_server = |name: &String| matches!(&**name, "shared_took" | "shared_answered");
    let wanted: Vec<String> = documented().into_iter().filter(|name| !of_server(name)).collect();
    assert!(wanted.len() == 10, "{wanted:?}");
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), wanted, "{notes:?}");
}

/// Compresses a file of one piece under gdb, and compares what it prints with a request's life; `{id}` is one number, and
/// `{number}` another.
fn compress(name: &str, device: Option<&Path>, life: &[&str]) {
    let dir = Scratch::new(name);
    dir.file("f", &text(20_000));
    let mut command = parcomp();
    command.current_dir(&dir.0).args([
        "--format",
        "gzip",
        "--engines",
        "1",
        "-q",
        "f",
        "-o",
        "f.gz",
    ]);
    if let Some(device) = device {
        command.env("LOOKASIDE_DEVICE", device);
    }
    let prints =
        PRINTS.iter().map(|&(name, arguments)| Print { name, arguments, then: "continue" });
    let Some(lines) = trace(&command, &prints.collect::<Vec<_>>(), &dir.0) else { return };
    let id = lines[0].split(' ').nth(1).unwrap();
    let sent = lines.iter().find_map(|line| line.strip_prefix("shared_sent ")?.split(' ').nth(1));
    let wanted = life
        .iter()
        .map(|line| line.replace("{id}", id).replace("{number}", sent.unwrap_or("none")));
    // What the compressor made of it is its own affair, but fewer bytes.
    let seen = lines.iter().map(|line| match line.strip_prefix("finished ") {
        Some(rest) => {
            let words: Vec<&str> = rest.split(' ').collect();
            let bytes: usize = words[3].parse().unwrap();
            assert!((100..20_000).contains(&bytes), "{line}");
            format!("finished {} {} {} fewer", words[0], words[1], words[2])
        }
        None => line.clone(),
    });
    assert_eq!(seen.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
}

#[test]
fn gdb_sees_a_request_from_push_to_poll() {
    compress(
        "probes",
        None,
        &[
            "pushed {id} dc.compress 20000",
            "begun {id} 1 0",
            "finished {id} 2 20000 fewer",
            "polled {id}",
        ],
    );
}

#[test]
fn gdb_sees_a_request_go_to_the_machines_device_and_come_back() {
    let dir = Scratch::new("probes-sockets");
    let mut config = Config::new(&*dir.0);
    config.engines = Some(1);
    config.functions = vec![FunctionConfig::new("files")];
    let server = Server::start(&config).unwrap();
    let socket = server.socket("files").unwrap().to_owned();
    compress(
        "probes-shared",
        Some(&socket),
        &[
            "pushed {id} dc.compress 20000",
            "begun {id} 1 0",
            "shared_sent {id} {number}",
            "shared_received {id} {number}",
            "finished {id} 2 20000 fewer",
            "polled {id}",
        ],
    );
}
