//! Requests of different clients fill one batch.

mod common;

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use common::{Folder, alone, backed, client, config, rsa_key, server, sign, signs};
use lookaside::{InstanceConfig, Op, Runtime};
use lookaside_server::{FunctionConfig, Server};
use lookaside_shared::Policy;

/// Requests and batches of private keys so far.
fn served(server: &Server) -> (u64, u64) {
    let rows = server.counters().ops;
    let row = rows.iter().find(|row| row.op == Op::RsaPrivate.to_string());
    row.map_or((0, 0), |row| (row.requests, row.batches))
}

/// Eight clients sign once each, at one time, over and over: until at most two batches had all of them. A slow machine
/// takes more rounds; where clients share no batch, no round does.
#[test]
fn private_keys_of_eight_clients_share_lanes() {
    const CLIENTS: u64 = 8;
    const ROUNDS: u8 = 200;
    let cpu = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap();
    let best = cpu.best_batch(Op::RsaPrivate) as u64;
    if best == 1 {
        eprintln!("skipped: this CPU runs no private keys side by side");
        return;
    }
    let folder = Folder::new();
    let functions = vec![FunctionConfig::new("one"), FunctionConfig::new("two")];
    let mut settings = config(&folder.0, functions);
    settings.engines = Some(1);
    settings.batch_us = 10_000;
    let server = Server::start(&settings).unwrap();
    let round = Arc::new(Barrier::new(CLIENTS as usize + 1));
    let over = Arc::new(AtomicBool::new(false));
    let key = rsa_key();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|n| {
            // Of two virtual functions.
            let function = if n % 2 == 0 { "one" } else { "two" };
            let runtime = alone(client(&server, function, Policy::Fallback), 0);
            let session = runtime.rsa_private(key.clone()).unwrap();
            let (round, over) = (round.clone(), over.clone());
            thread::spawn(move || {
                let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
                for i in 0.. {
                    round.wait();
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    instance.push(sign(&session, [i; 32])).unwrap();
                    assert!(instance.wait(Duration::from_secs(120)));
                    let response = instance.poll().next().unwrap();
                    assert_eq!(response.result.map(|done| done.produced), Ok(256));
                    round.wait();
                }
            })
        })
        .collect();
    let mut fewest = u64::MAX;
    for _ in 0..ROUNDS {
        let before = served(&server);
        round.wait();
        round.wait();
        let after = served(&server);
        // What was answered may be counted a moment later.
        if after.0 - before.0 == CLIENTS {
            fewest = fewest.min(after.1 - before.1);
        }
        if fewest <= 2 {
            break;
        }
    }
    over.store(true, Ordering::Relaxed);
    round.wait();
    clients.into_iter().for_each(|client| client.join().unwrap());
    assert!(fewest <= 2, "eight requests took {fewest} batches at least");
}

/// Of a device for programs that have one of their own. A lone client's keys stay with it; those of eight meet at the server, however
/// long they have been alone before.
#[test]
fn keys_that_are_alone_stay_and_those_of_many_meet() {
    let cpu = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap();
    if cpu.best_batch(Op::RsaPrivate) == 1 {
        eprintln!("skipped: this CPU runs no private keys side by side");
        return;
    }
    let folder = Folder::new();
    let server = server(&folder);
    let key = rsa_key();
    let runtime = || backed(client(&server, "all", Policy::Fallback).worthwhile(), 0);
    let lone = runtime();
    let session = lone.rsa_private(key.clone()).unwrap();
    let mut instance = lone.instance(InstanceConfig::default()).unwrap();
    for i in 0..600u32 {
        instance.push(sign(&session, [i as u8; 32])).unwrap();
        assert!(instance.wait(Duration::from_secs(120)));
        assert_eq!(instance.poll().next().unwrap().result.map(|done| done.produced), Ok(256));
    }
    let (asked, _) = served(&server);
    assert!((1..200).contains(&asked), "the server had {asked} of 600 requests");
    let waiting = alone(client(&server, "all", Policy::Wait).worthwhile(), 0);
    (0..50).for_each(|i| signs(&waiting, &key, [i; 32]).unwrap());
    assert_eq!(served(&server).0, asked + 50, "with another policy none stays");

    let over = AtomicBool::new(false);
    let met = thread::scope(|scope| {
        for _ in 0..8 {
            let (runtime, key, over) = (runtime(), key.clone(), &over);
            scope.spawn(move || {
                let session = runtime.rsa_private(key).unwrap();
                let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
                while !over.load(Ordering::Relaxed) {
                    instance.push(sign(&session, [7; 32])).unwrap();
                    assert!(instance.wait(Duration::from_secs(120)));
                    assert!(instance.poll().next().unwrap().result.is_ok());
                }
            });
        }
        let began = Instant::now();
        let mut met = false;
        while !met && began.elapsed() < Duration::from_secs(60) {
            let before = served(&server);
            thread::sleep(Duration::from_millis(200));
            let after = served(&server);
            let (requests, batches) = (after.0 - before.0, after.1 - before.1);
            met = requests >= 20 && requests >= 3 * batches;
        }
        over.store(true, Ordering::Relaxed);
        met
    });
    assert!(met, "eight clients do not meet");
}
