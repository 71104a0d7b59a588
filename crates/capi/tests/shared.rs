//! The C interface by the device of the machine: a server in this process, C programs as its clients.

mod common;

use std::{fs, process::Command};

use common::{compiler, folder, good, here};
use lookaside_server::{Config, FunctionConfig, Server};

#[test]
fn a_c_program_is_the_servers_client_by_one_variable() {
    let dir = folder("shared");
    let mut config = Config::new(dir.join("sockets"));
    config.engines = Some(2);
    config.functions = vec![FunctionConfig::new("c")];
    let server = Server::start(&config).unwrap();
    let socket = server.socket("c").unwrap().to_owned();
    let exe = dir.join("compress");
    let mut cc = compiler("cc", &dir);
    let source = here().join("examples/compress.c");
    good(cc.arg("-std=c99").arg(&source).arg("-o").arg(&exe).arg("-llookaside"));

    let line = |i: usize| format!("line {i} of {}\n", i * i % 977).into_bytes();
    let data: Vec<u8> = (0..40_000).flat_map(line).collect();
    let (file, packed) = (dir.join("in"), dir.join("out.gz"));
    fs::write(&file, &data).unwrap();
    let run = || {
        let out = good(Command::new(&exe).arg(&file).env("LOOKASIDE_DEVICE", &socket));
        fs::write(&packed, &out.stdout).unwrap();
        assert!(good(Command::new("gunzip").arg("-c").arg(&packed)).stdout == data);
        String::from_utf8_lossy(&out.stderr).into_owned()
    };
    let members = data.len().div_ceil(65_536);
    let said = run();
    assert!(said.starts_with(&format!("shared dc.compress: {members} requests, ")), "{said}");
    assert!(!said.contains("cpu dc."), "{said}");
    let rows = server.counters().ops;
    let served: u64 =
        rows.iter().filter(|row| row.op == "dc.compress").map(|row| row.requests).sum();
    assert_eq!(served, members as u64, "the server's own counters");
    // Every function of the interface does with the server what it does without.
    let all = dir.join("all");
    let mut cc = compiler("cc", &dir);
    let source = here().join("tests/capi_test.c");
    good(
        cc.args(["-std=c99", "-D_XOPEN_SOURCE=600", "-pthread"])
            .arg(&source)
            .arg("-o")
            .arg(&all)
            .arg("-llookaside"),
    );
    good(Command::new(&all).env("LOOKASIDE_DEVICE", &socket));

    drop(server);
    let said = run();
    assert!(said.contains("no shared device at") && said.contains("cpu dc.compress: "), "{said}");
    fs::remove_dir_all(dir).unwrap();
}
