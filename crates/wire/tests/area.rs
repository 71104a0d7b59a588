//! Rings between two threads that map the same memory twice, and what one end makes of the nonsense of the other.

use std::{sync::Arc, thread, time::Duration};

use lookaside_core::{Memory, SharedMemory};
use lookaside_wire::{Area, Malformed, Shape, WORDS, passing};

/// The same memory, mapped by two sides.
fn both(depth: u32) -> (Arc<Area>, Arc<Area>) {
    let shape = Shape::new(depth, 8192).unwrap();
    let memory = SharedMemory::new(shape.bytes()).unwrap();
    let other = memory.fd().unwrap().try_clone_to_owned().unwrap();
    let other = SharedMemory::map(other).unwrap();
    (Area::new(memory, shape).unwrap(), Area::new(other, shape).unwrap())
}

#[test]
fn records_arrive_in_order_and_nobody_sleeps_through() {
    let (client, server) = both(8);
    let (one, other) = rustix::net::socketpair(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::SEQPACKET,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    const N: u64 = 20_000;
    let sender = thread::spawn(move || {
        let (mut requests, bell) = (client.requests_to(), client.server_bell());
        for n in 0..N {
            while !requests.push(&[n; WORDS]).unwrap() {
                thread::yield_now();
            }
            requests.publish();
            if bell.wants_ring() {
                passing::ring(&one);
            }
        }
        one
    });
    let (mut requests, bell) = (server.requests_from(), server.server_bell());
    let mut next = 0;
    while next < N {
        match requests.pop().unwrap() {
            Some(record) => {
                assert_eq!(record, [next; WORDS]);
                next += 1;
                requests.release();
            }
            None => {
                bell.announce();
                if !requests.looks_ready() {
                    let mut fds =
                        [rustix::event::PollFd::new(&other, rustix::event::PollFlags::IN)];
                    let timeout = Duration::from_secs(60).try_into().unwrap();
                    let woken = rustix::event::poll(&mut fds, Some(&timeout)).unwrap();
                    assert_eq!(woken, 1, "a wake-up was lost");
                }
                bell.stay_awake();
                passing::hear(&other);
            }
        }
    }
    drop(sender.join().unwrap());
    // The last records may have been there before their ring was heard.
    let mut heard = passing::hear(&other);
    while heard == passing::Heard::Ring {
        heard = passing::hear(&other);
    }
    assert_eq!(heard, passing::Heard::End);
}

#[test]
fn indices_beyond_the_ring_are_refused() {
    let (client, server) = both(8);
    let mut requests = client.requests_to();
    for _ in 0..8 {
        assert_eq!(requests.push(&[1; WORDS]), Ok(true));
    }
    assert_eq!(requests.push(&[1; WORDS]), Ok(false));
    assert!(requests.publish());
    assert!(!requests.publish(), "nothing since");
    let mut from = server.requests_from();
    assert!(from.pop().unwrap().is_some());
    // As the other side may: whatever it likes in the word of its index.
    let word = |at: usize, value: u64| {
        // SAFETY: the first page of the memory, aligned.
        unsafe {
            let word = client.memory().base().as_ptr().add(at).cast::<u64>();
            std::ptr::write_volatile(word, value);
        }
    };
    let mut fresh = server.requests_from();
    for tail in [9, u64::MAX, 1 << 63] {
        word(0, tail);
        assert_eq!(fresh.pop(), Err(Malformed::Index));
    }
    word(0, 8);
    assert!(fresh.pop().unwrap().is_some());
    word(128, 99);
    assert_eq!(requests.free(), Err(Malformed::Index));
}

#[test]
fn the_arena_is_bounded() {
    let (client, server) = both(8);
    client.write(8190..8192, &[7, 9]);
    let mut seen = [0; 2];
    server.read(8190..8192, &mut seen);
    assert_eq!(seen, [7, 9]);
    client.clear(8191..8192);
    server.read(8190..8192, &mut seen);
    assert_eq!(seen, [7, 0]);
    for range in [8190..8193, 9000..9002, 1..4] {
        let area = server.clone();
        let read = move || area.read(range, &mut [0; 2]);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).is_err());
    }
    let small = SharedMemory::new(4096).unwrap();
    assert!(Area::new(small, Shape::new(8, 8192).unwrap()).is_err());
}

#[test]
fn pages_are_freed_only_where_the_client_uses_none() {
    use std::os::unix::fs::MetadataExt;
    let (client, server) = both(8);
    let memory = std::fs::File::from(server.memory().fd().unwrap().try_clone_to_owned().unwrap());
    let blocks = || memory.metadata().unwrap().blocks();
    let mut bytes = [0; 8192];
    assert!(client.hold());
    client.write(0..8192, &[7; 8192]);
    let used = blocks();
    server.free_pages();
    client.read(0..8192, &mut bytes);
    assert!(bytes == [7; 8192] && blocks() == used && !client.hold(), "the client has it");
    client.let_go();
    server.free_pages();
    assert_eq!(used - blocks(), 16, "two pages");
    assert!(client.hold(), "it is free again");
    client.read(0..8192, &mut bytes);
    assert_eq!(bytes, [0; 8192]);
}
