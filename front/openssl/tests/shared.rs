//! Private RSA keys by the device of the machine: a server in this process, the provider as its client, at once and
//! in jobs.
#![allow(clippy::undocumented_unsafe_blocks, missing_docs)]

mod libcrypto;

use std::time::{Duration, Instant};

use libcrypto::{task::*, *};
use lookaside_server::{Config, FunctionConfig, Server};

const DIGEST: [u8; 32] = [7; 32];

fn answered(server: &Server, op: &str) -> u64 {
    let rows = server.counters().ops;
    rows.iter().filter(|row| row.op == op).map(|row| row.requests).sum()
}

/// The server tells a process when no other has had requests for 10 ms. The keys of this process then stay in it
/// (`front/server/src/gather.rs`). Less than that here, as requests may still be on their way.
const ALONE: Duration = Duration::from_millis(8);

#[test]
fn private_keys_are_the_servers() {
    let cpu =
        lookaside::Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap();
    if cpu.best_batch(lookaside::Op::RsaPrivate) == 1 {
        eprintln!(
            "skipped: this CPU runs no private keys side by side, and so they stay in the process"
        );
        return;
    }
    // Beside much other work thirteen signatures may take too long.
    if !(0..200).any(|_| all_are_the_servers()) {
        eprintln!("skipped: thirteen signatures took longer than {ALONE:?} each time");
    }
}

/// Signs at once and in jobs. Where that was soon enough, all of it was the server's; else false.
fn all_are_the_servers() -> bool {
    let folder = std::env::temp_dir().join(format!("lookaside-provider-{}", std::process::id()));
    let mut config = Config::new(&folder);
    config.engines = Some(1);
    config.functions = vec![FunctionConfig::new("tls")];
    let server = Server::start(&config).unwrap();
    // SAFETY: no other thread of this test reads the environment.
    unsafe { std::env::set_var("LOOKASIDE_DEVICE", server.socket("tls").unwrap()) };
    let lib = Lib::ours(&[("async", "all")]);
    let key = lib.generate("RSA", &[("bits", "2048")]);
    let before = answered(&server, "pke.rsa-private");
    let sign = || {
        let signature = lib.sign(&key, &[], &DIGEST);
        signature.is_some_and(|s| lib.verify(&key, &[], &DIGEST, &s))
    };
    let began = Instant::now();
    for _ in 0..5 {
        assert!(sign(), "{}", errors());
    }
    let at_once = answered(&server, "pke.rsa-private") - before;
    let mut jobs: Vec<Task> = (0..8).map(|_| Task::new(sign)).collect();
    let mut live: Vec<usize> = (0..jobs.len()).collect();
    // Each job's signature is on its way when it has paused for the first time.
    let mut asked = None;
    while !live.is_empty() {
        live.retain(|&i| {
            if let [fd] = jobs[i].fds()[..] {
                wait_readable(fd);
            }
            !jobs[i].go()
        });
        asked.get_or_insert_with(|| began.elapsed());
    }
    let soon = asked.is_some_and(|asked| asked < ALONE);
    assert!(jobs.iter().all(|job| job.result == 1), "{}", errors());
    let in_all = answered(&server, "pke.rsa-private") - before;
    assert!(at_once > 0 && in_all <= 13, "{at_once} at once, {in_all} in all");
    if soon {
        assert_eq!((at_once, in_all), (5, 13), "at once, and with those in jobs");
    }
    assert_eq!(answered(&server, "pke.rsa-public"), 0, "what does not pay stays here");
    drop(jobs);
    // The server goes: the provider has its own CPU device.
    drop(server);
    assert!(sign(), "{}", errors());
    let _ = std::fs::remove_dir_all(folder);
    soon
}
