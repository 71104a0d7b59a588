//! Requests of different clients fill one batch.

mod common;

use std::{
    sync::{Arc, Barrier},
    thread,
    time::Duration,
};

use common::{Folder, alone, client, config, rsa_key, sign};
use lookaside::{InstanceConfig, Op, Runtime};
use lookaside_server::{FunctionConfig, Server};
use lookaside_shared::Policy;

#[test]
fn private_keys_of_eight_clients_share_lanes() {
    const CLIENTS: u8 = 8;
    const EACH: u64 = 40;
    let cpu = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap();
    let best = cpu.best_batch(Op::RsaPrivate);
    let folder = Folder::new();
    let mut settings = config(&folder.0, vec![FunctionConfig::new("all")]);
    settings.engines = Some(1);
    // Clients that are not there yet are waited for: the machine may be slow.
    settings.batch_us = 5_000;
    let server = Server::start(&settings).unwrap();
    let start = Arc::new(Barrier::new(CLIENTS.into()));
    let key = rsa_key();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|n| {
            let runtime = alone(client(&server, "all", Policy::Fallback), 0);
            let session = runtime.rsa_private(key.clone()).unwrap();
            let start = start.clone();
            thread::spawn(move || {
                let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
                start.wait();
                // One at a time: alone, each batch would have one request.
                for i in 0..EACH {
                    let mut digest = [n; 32];
                    digest[0] = i as u8;
                    instance.push(sign(&session, digest)).unwrap();
                    assert!(instance.wait(Duration::from_secs(120)));
                    let response = instance.poll().next().unwrap();
                    assert_eq!(response.result.map(|done| done.produced), Ok(256));
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    let rows = server.counters().ops;
    let row = rows.iter().find(|row| row.op == Op::RsaPrivate.to_string()).unwrap();
    assert_eq!(row.requests, u64::from(CLIENTS) * EACH);
    if best > 1 {
        let lanes = row.requests as f64 / row.batches as f64;
        eprintln!("{lanes:.1} requests in a batch");
        assert!(lanes > 3.0, "{} requests in {} batches", row.requests, row.batches);
    }
}
