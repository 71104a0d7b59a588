//! Private RSA keys by the device of the machine: a server in this process, the provider as its client, at once and
//! in jobs.
#![allow(clippy::undocumented_unsafe_blocks, missing_docs)]

mod libcrypto;

use libcrypto::{task::*, *};
use lookaside_server::{Config, FunctionConfig, Server};

const DIGEST: [u8; 32] = [7; 32];

fn answered(server: &Server, op: &str) -> u64 {
    let rows = server.counters().ops;
    rows.iter().filter(|row| row.op == op).map(|row| row.requests).sum()
}

#[test]
fn private_keys_are_the_servers() {
    let folder = std::env::temp_dir().join(format!("lookaside-provider-{}", std::process::id()));
    let mut config = Config::new(&folder);
    config.engines = Some(1);
    config.functions = vec![FunctionConfig::new("tls")];
    let server = Server::start(&config).unwrap();
    let cpu =
        lookaside::Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap();
    if cpu.best_batch(lookaside::Op::RsaPrivate) == 1 {
        eprintln!(
            "skipped: this CPU runs no private keys side by side, and so they stay in the process"
        );
        return;
    }
    // SAFETY: no other thread of this test reads the environment.
    unsafe { std::env::set_var("LOOKASIDE_DEVICE", server.socket("tls").unwrap()) };
    let lib = Lib::ours(&[("async", "all")]);
    let key = lib.generate("RSA", &[("bits", "2048")]);
    let before = answered(&server, "pke.rsa-private");
    let sign = || {
        let signature = lib.sign(&key, &[], &DIGEST);
        signature.is_some_and(|s| lib.verify(&key, &[], &DIGEST, &s))
    };
    for _ in 0..5 {
        assert!(sign(), "{}", errors());
    }
    assert_eq!(answered(&server, "pke.rsa-private") - before, 5, "at once");
    let mut jobs: Vec<Task> = (0..8).map(|_| Task::new(sign)).collect();
    let mut live: Vec<usize> = (0..jobs.len()).collect();
    while !live.is_empty() {
        live.retain(|&i| {
            if let [fd] = jobs[i].fds()[..] {
                wait_readable(fd);
            }
            !jobs[i].go()
        });
    }
    assert!(jobs.iter().all(|job| job.result == 1), "{}", errors());
    assert_eq!(answered(&server, "pke.rsa-private") - before, 13, "in jobs");
    assert_eq!(answered(&server, "pke.rsa-public"), 0, "what does not pay stays here");
    drop(jobs);
    // The server goes: the provider has its own CPU device.
    drop(server);
    assert!(sign(), "{}", errors());
    let _ = std::fs::remove_dir_all(folder);
}
