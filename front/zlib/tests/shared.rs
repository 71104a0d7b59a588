//! Large input by the device of the machine: a server in this process, our functions as its client; a fork; a server that
//! goes.

mod common;

use common::*;
use lookaside_server::{Config, FunctionConfig, Server};

fn compressed(server: &Server) -> u64 {
    let rows = server.counters().ops;
    rows.iter().filter(|row| row.op == "dc.compress").map(|row| row.requests).sum()
}

/// All of `data` in one stream, which the system's zlib reads.
fn compresses(data: &[u8], level: i32) -> bool {
    let mut stream = Deflate::new(OURS, shape(level, 15));
    let mut out = Vec::new();
    let code = stream.feed(data, 300_000, FINISH, &mut out);
    stream.end();
    code == STREAM_END && inflate_all(&out, 15, None) == (STREAM_END, data.to_vec())
}

#[test]
fn large_calls_are_the_servers() {
    let folder = std::env::temp_dir().join(format!("lookaside-libz-{}", std::process::id()));
    let mut config = Config::new(&folder);
    config.engines = Some(2);
    config.functions = vec![FunctionConfig::new("files")];
    let server = Server::start(&config).unwrap();
    // SAFETY: no other thread reads the environment now.
    unsafe { std::env::set_var("LOOKASIDE_DEVICE", server.socket("files").unwrap()) };
    let data = [text(2_000_000), noise(300_000)].concat();
    assert!(compresses(&data[..100_000], 6));
    assert_eq!(compressed(&server), 0, "what is small stays here");
    let mut before = 0;
    for level in [1, 6, 9] {
        assert!(compresses(&data, level), "level {level}");
        let now = compressed(&server);
        assert!(now > before, "level {level} is compressed by the server");
        before = now;
    }
    // SAFETY: the child allocates, compresses, and leaves without running what is its parent's.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above. A child that hangs is ended by the alarm.
        unsafe {
            libc::alarm(60);
            libc::_exit(i32::from(!compresses(&data, 1)));
        }
    }
    assert!(compresses(&data[1000..], 1));
    let mut status = 0;
    // SAFETY: a child of this process.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child");
    let now = compressed(&server);
    assert!(now >= before + 4, "parent and child: {before} requests before, {now} now");
    // The server goes: the library has a device of its own.
    drop(server);
    assert!(compresses(&data, 1));
    std::fs::remove_dir_all(folder).unwrap();
}
