//! By the device of the machine: a server in this process, and the command as its client.

mod common;

use std::fs;

use common::{Scratch, parcomp, stdout, text};
use lookaside_server::{Config, FunctionConfig, Server};

#[test]
fn the_machines_device_compresses_and_without_it_the_cpu_does() {
    let dir = Scratch::new("shared");
    let mut config = Config::new(dir.path("sockets"));
    config.engines = Some(2);
    config.functions = vec![FunctionConfig::new("files")];
    let server = Server::start(&config).unwrap();
    let socket = server.socket("files").unwrap().to_owned();
    let data = text(700_000);
    dir.file("f", &data);
    let run = |args: &[&str]| {
        let mut command = parcomp();
        command.current_dir(&dir.0).env("LOOKASIDE_DEVICE", &socket).args(args);
        let out = command.output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        (stdout(&out), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    for engines in ["0", "2"] {
        let options = ["--format", "gzip", "--force", "--json", "--engines", engines];
        let (json, said) = run(&[&options[..], &["f", "-o", "f.gz"]].concat());
        assert!(json.contains("\"device\": \"shared\", \"operation\": \"dc.compress\""), "{json}");
        assert!(!json.contains("\"device\": \"cpu\"") && said.is_empty(), "{json} {said}");
        let (json, _) = run(&[&options[..], &["-d", "f.gz", "-o", "g"]].concat());
        assert!(
            json.contains("\"device\": \"shared\", \"operation\": \"dc.decompress\""),
            "{json}"
        );
        assert!(fs::read(dir.path("g")).unwrap() == data);
    }
    let rows = server.counters().ops;
    let served = rows.iter().filter(|row| row.op.starts_with("dc.") && row.requests > 0);
    assert_eq!(served.count(), 2, "the server's own counters");
    drop(server);
    let options = ["--format", "gzip", "--force", "--json", "--engines", "1"];
    let (json, said) = run(&[&options[..], &["f", "-o", "f.gz"]].concat());
    assert!(json.contains("\"device\": \"cpu\", \"operation\": \"dc.compress\""), "{json}");
    assert!(said.contains("no shared device at"), "{said}");
    let (_, said) = run(&["-d", "--force", "f.gz", "-o", "g"]);
    assert!(said.contains("no shared device at"), "{said}");
    assert!(fs::read(dir.path("g")).unwrap() == data);
}
