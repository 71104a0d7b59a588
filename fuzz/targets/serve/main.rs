//! A malicious client of `lookaside serve` with the shared memory of its rings in its hands.
//!
//! The input is a program of things that the client does (`hostile.rs`): it connects, greets, opens sessions, asks for
//! rings, writes words of any value into indices and records, also while the device executes a request, publishes, rings,
//! sends garbage, cuts or frees the shared memory, closes, and lets the server, its engine and the clock go on. The server
//! runs on this thread and a virtual clock (`Server::start_stepped`). An honest client of the same virtual function has
//! requests under way all the time.
//!
//! After each input: the honest client has each answer, once, with the right bytes; the hostile one has no byte of it;
//! the server's memory has stayed within what its limits allow; and the virtual function has back what the hostile client
//! had: two more honest clients, who need all that is left of the limits, are served.
//!
//! What cannot happen on one thread is a record that changes between two loads of the server; `tests/garbage.rs` of the
//! server has that.
#![cfg_attr(fuzzing, no_main)]

#[path = "../../../front/server/tests/simulation/echo.rs"]
#[allow(dead_code, reason = "the simulation uses all of it")]
mod echo;
#[path = "../../../front/server/tests/simulation/hand.rs"]
#[allow(dead_code, reason = "the simulation uses all of it")]
mod hand;
mod hostile;
mod land;
mod memory;

use hand::{Did, Hand};
use hostile::Hostile;
use land::World;
use lookaside_fuzz::fuzz_target;
use lookaside_testkit::Rng;

#[global_allocator]
static ALLOCATOR: memory::Counted = memory::Counted;

/// What the server and the clients beside the hostile one may take more at any time than when a client was connected: a
/// copy of each arena, with the buffers of messages and the keys of sessions.
const MOST_BYTES: usize = 400 << 10;

/// Lets everybody go on until these clients have all their answers.
fn finish(world: &mut World, clients: &mut [Hand], rng: &mut Rng) {
    let mut rounds = 0;
    while !clients.iter().all(Hand::is_done) {
        rounds += 1;
        assert!(rounds < 20_000, "an honest client is never answered");
        for client in &mut *clients {
            assert_ne!(client.step(rng), Did::CutOff, "an honest client is cut off");
        }
        world.step();
    }
}

fuzz_target!(|input: &[u8]| {
    let mut rng = Rng::new(1);
    let mut world = World::new();
    let mut honest = [Hand::new(1, world.path(), 0, 2)];
    finish(&mut world, &mut honest, &mut rng);
    honest[0].to_send = 6;

    let before = memory::now();
    let mut hostile = Hostile::new(world.path());
    let mut program = hostile::Program::new(input);
    while hostile.step(&mut program, &mut world).is_some() {
        if program.honest() {
            assert_ne!(honest[0].step(&mut rng), Did::CutOff, "the honest client is cut off");
        }
        let more = memory::now().saturating_sub(before + hostile.bytes());
        assert!(more <= MOST_BYTES, "{more} bytes more");
    }
    finish(&mut world, &mut honest, &mut rng);
    honest[0].check_memory();
    hostile.check_memory();

    drop(hostile);
    world.settle();
    let mut others = [Hand::new(3, world.path(), 0, 2), Hand::new(4, world.path(), 0, 2)];
    finish(&mut world, &mut others, &mut rng);
    honest[0].to_send = 2;
    finish(&mut world, &mut honest, &mut rng);
    others.iter().chain(&honest).for_each(Hand::check_memory);
});
