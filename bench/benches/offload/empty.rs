//! What a request costs that does nothing: a copy of 0 bytes.

use core::time::Duration;

use lookaside::{Buf, Instance, InstanceConfig, Mover, Runtime};
use lookaside_bench::{Contender, Times, interleave, median};
use lookaside_cpu::cpu;

const REQUESTS: usize = 300_000;
const DEPTH: usize = 64;
const LONG: Duration = Duration::from_secs(60);

fn request(mover: &Mover) -> lookaside::Request {
    mover.copy(Buf::empty(), Buf::empty())
}

/// Keeps 64 outstanding, one doorbell per `group`, until all are answered.
fn stream(instance: &mut Instance, mover: &Mover, group: usize) {
    let (mut pushed, mut answered) = (0, 0);
    while answered < REQUESTS {
        while pushed < REQUESTS && instance.free() >= group {
            for _ in 0..group {
                instance.push(request(mover)).expect("there is room");
            }
            pushed += group;
            instance.doorbell();
        }
        for r in instance.poll() {
            assert!(r.result.is_ok());
            answered += 1;
        }
    }
}

/// One at a time: push, wait, take.
fn alone(instance: &mut Instance, mover: &Mover, count: usize) {
    for _ in 0..count {
        instance.push(request(mover)).expect("there is room");
        assert!(instance.wait(LONG));
        assert_eq!(instance.poll().count(), 1);
    }
}

pub fn run(rounds: usize) {
    println!("\nempty request (copy of 0 bytes), nanoseconds per request");
    let start = |engines| {
        Runtime::builder().device(cpu()).engines(engines).start().expect("the CPU device starts")
    };
    let (own, one) = (start(0), start(1));
    let config = InstanceConfig { depth: DEPTH, ..InstanceConfig::default() };
    let open = |r: &Runtime| {
        (r.instance(config.clone()).expect("an instance"), r.mover().expect("a mover"))
    };
    let ((mut own, own_mover), (mut one, one_mover)) = (open(&own), open(&one));
    let own_handle = start(0);
    let (handle, handle_mover) = (own_handle.handle(), own_handle.mover().expect("a mover"));
    const ALONE: usize = 20_000;
    let own_cell = std::cell::RefCell::new(&mut own);
    let one_cell = std::cell::RefCell::new(&mut one);
    let mut contenders: [Contender<'_>; 7] = [
        Box::new(|| stream(*own_cell.borrow_mut(), &own_mover, 32)),
        Box::new(|| stream(*one_cell.borrow_mut(), &one_mover, 32)),
        Box::new(|| stream(*own_cell.borrow_mut(), &own_mover, 1)),
        Box::new(|| stream(*one_cell.borrow_mut(), &one_mover, 1)),
        Box::new(|| alone(*own_cell.borrow_mut(), &own_mover, ALONE)),
        Box::new(|| alone(*one_cell.borrow_mut(), &one_mover, ALONE)),
        Box::new(|| {
            for _ in 0..ALONE {
                assert!(handle.call(request(&handle_mover)).wait().result.is_ok());
            }
        }),
    ];
    let t = interleave(rounds, &mut contenders);
    drop(contenders);
    let line = |what: &str, t: &Times, count: usize| {
        let per = 1.0 / count as f64;
        println!("  {what:<58} wall {:<22} CPU {:.1}", t.wall_text(per), median(&t.cpu) * per);
    };
    line("own thread, depth 64, doorbell per 32 (bar: 100)", &t[0], REQUESTS);
    line("engine on another core, depth 64, doorbell per 32 (bar: 300)", &t[1], REQUESTS);
    line("own thread, depth 64, doorbell per request", &t[2], REQUESTS);
    line("engine on another core, depth 64, doorbell per request", &t[3], REQUESTS);
    line("lone round trip, own thread", &t[4], ALONE);
    line("lone round trip, engine on another core", &t[5], ALONE);
    line("lone blocking call of a handle, own thread", &t[6], ALONE);
}
