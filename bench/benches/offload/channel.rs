//! Two engines beside what a programmer would write instead: a channel to two threads, and one back.
//! Requests of 16 bytes, so that all of it is hand-over.

use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use lookaside::{Instance, InstanceConfig, Mover, Runtime};
use lookaside_bench::{Contender, interleave, median};
use lookaside_cpu::cpu;

const REQUESTS: usize = 200_000;
const DEPTH: usize = 64;
const LEN: usize = 16;

/// What travels: a source, a destination.
type Pair = (Vec<u8>, Vec<u8>);

/// Keeps 64 outstanding, a doorbell for as many as fit.
fn engines(instance: &mut Instance, mover: &Mover, spare: &mut Vec<Pair>) {
    let (mut pushed, mut answered) = (0, 0);
    while answered < REQUESTS {
        while pushed < REQUESTS
            && let Some((src, dst)) = spare.pop()
        {
            instance.push(mover.copy(src.into(), dst.into())).expect("there is room");
            pushed += 1;
        }
        instance.doorbell();
        let found = answered;
        for r in instance.poll() {
            assert_eq!(r.result.map(|done| done.produced), Ok(LEN));
            spare.push((r.src.into_vec(), r.dst.into_vec()));
            answered += 1;
        }
        if answered == found {
            instance.wait(core::time::Duration::from_secs(60));
        }
    }
}

/// The same by channels: fills up, then takes one and what is there beside it.
fn channels(to: &Sender<Pair>, from: &Receiver<Pair>, spare: &mut Vec<Pair>) {
    let (mut pushed, mut answered) = (0, 0);
    while answered < REQUESTS {
        while pushed < REQUESTS
            && let Some(pair) = spare.pop()
        {
            to.send(pair).expect("threads are there");
            pushed += 1;
        }
        let first = from.recv().expect("threads are there");
        for pair in core::iter::once(first).chain(from.try_iter()) {
            assert_eq!(pair.1.len(), LEN);
            spare.push(pair);
            answered += 1;
        }
    }
}

pub fn run(rounds: usize) {
    println!(
        "\nrequests of 16 bytes, two engines beside a channel and two threads; ns per request"
    );
    let runtime = Runtime::builder().device(cpu()).engines(2).start().expect("engines");
    let config = InstanceConfig { depth: DEPTH, ..InstanceConfig::default() };
    let mut instance = runtime.instance(config).expect("an instance");
    let mover = runtime.mover().expect("a mover");
    let pairs = || -> Vec<Pair> { (0..DEPTH).map(|_| (vec![1; LEN], vec![0; LEN])).collect() };
    let (mut ours, mut theirs) = (pairs(), pairs());
    let (to, taken) = bounded::<Pair>(DEPTH);
    let (answer, from) = bounded::<Pair>(DEPTH);
    let threads = [(); 2].map(|()| {
        let (taken, answer) = (taken.clone(), answer.clone());
        thread::spawn(move || {
            for (src, mut dst) in taken {
                dst.copy_from_slice(&src);
                if answer.send((src, dst)).is_err() {
                    return;
                }
            }
        })
    });
    let mut contenders: [Contender<'_>; 2] = [
        Box::new(|| engines(&mut instance, &mover, &mut ours)),
        Box::new(|| channels(&to, &from, &mut theirs)),
    ];
    let t = interleave(rounds, &mut contenders);
    drop(contenders);
    for (what, t) in [("two engines", &t[0]), ("crossbeam-channel, two threads", &t[1])] {
        let per = 1.0 / REQUESTS as f64;
        println!("  {what:<58} wall {:<22} CPU {:.1}", t.wall_text(per), median(&t.cpu) * per);
    }
    drop(to);
    drop(from);
    for thread in threads {
        thread.join().expect("no panic");
    }
}
