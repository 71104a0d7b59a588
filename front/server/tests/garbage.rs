//! A malicious client with the ring in its hands: it is cut off, and costs nobody else anything.

mod common;

use std::os::fd::OwnedFd;
use std::{sync::Arc, time::Duration};

use common::{Folder, backed, client, compresses, rsa_key, scribble, server, settings, signs};
use lookaside::{Args, Compression, Op, SessionSpec, SharedMemory};
use lookaside_server::Server;
use lookaside_shared::Policy;
use lookaside_testkit::Rng;
use lookaside_wire::{
    Area, Entry, MAX_MESSAGE, Piece, Producer, VERSION,
    control::{ToClient, ToServer},
    passing, session,
};

/// Long enough for any machine.
const TIMEOUT: Duration = Duration::from_secs(60);

fn ask(socket: &OwnedFd, message: &ToServer<'_>) -> (ToClient, Vec<OwnedFd>) {
    passing::send(socket, &message.encode().unwrap(), &[]).unwrap();
    let mut buffer = vec![0; MAX_MESSAGE];
    let (n, fds) = passing::receive(socket, &mut buffer).unwrap();
    (ToClient::decode(&buffer[..n]).unwrap(), fds)
}

/// A client by hand, with a session 1 for compression.
struct Hands {
    control: OwnedFd,
    bell: OwnedFd,
    area: Arc<Area>,
    requests: Producer,
}

fn hands(server: &Server) -> Hands {
    let path = settings(server, "all").path;
    let control = passing::connect(&path, TIMEOUT).unwrap();
    let hello = ToServer::Hello { version: VERSION, ops: Op::ALL.len() as u32 };
    let (ToClient::Welcome { token, .. }, _) = ask(&control, &hello) else { panic!("a welcome") };
    let spec = session::encode(&SessionSpec::Compression(Compression::default())).unwrap();
    let (opened, _) = ask(&control, &ToServer::Open { number: 1, spec: &spec });
    assert_eq!(opened, ToClient::Opened);
    let bell = passing::connect(&path, TIMEOUT).unwrap();
    let (ToClient::Ring(shape), fds) = ask(&bell, &ToServer::Ring { token }) else {
        panic!("a ring")
    };
    let [memory] = <[OwnedFd; 1]>::try_from(fds).unwrap();
    let area = Area::new(SharedMemory::map(memory).unwrap(), shape).unwrap();
    Hands { control, bell, requests: area.requests_to(), area }
}

impl Hands {
    fn good(&self) -> Entry {
        Entry {
            number: 7,
            session: 1,
            op: Op::Compress,
            args: Args::default(),
            src: Piece { offset: 0, len: 5000 },
            dst: Piece { offset: 8192, len: 8000 },
            packet: None,
        }
    }

    /// Publishes and wakes.
    fn go(&mut self) {
        self.requests.publish();
        passing::ring(&self.bell);
    }

    /// The server has closed both connections.
    fn is_cut_off(&self) -> bool {
        let closed = |socket: &OwnedFd| {
            let mut buffer = [0; 64];
            loop {
                match passing::receive(socket, &mut buffer) {
                    Ok((0, _)) | Err(rustix::io::Errno::CONNRESET) => return true,
                    // The bell.
                    Ok(_) => {}
                    Err(e) => panic!("{e}"),
                }
            }
        };
        closed(&self.bell) && closed(&self.control)
    }
}

#[test]
fn a_good_request_by_hand_is_answered() {
    let folder = Folder::new();
    let server = server(&folder);
    let mut hands = hands(&server);
    let mut answers = hands.area.answers_from();
    let record = hands.good().encode().unwrap();
    assert!(hands.requests.push(&record).unwrap());
    hands.go();
    let answer = loop {
        match answers.pop().unwrap() {
            Some(record) => break lookaside_wire::Answer::decode(&record).unwrap(),
            None => std::thread::yield_now(),
        }
    };
    assert_eq!((answer.number, answer.result.map(|done| done.consumed)), (7, Ok(5000)));
}

/// An honest client's may come when its end was seen already, or of an earlier server: it is closed, and nobody is blamed.
#[test]
fn a_ring_of_nobody_is_closed() {
    let folder = Folder::new();
    let server = server(&folder);
    let bell = passing::connect(&settings(&server, "all").path, TIMEOUT).unwrap();
    passing::send(&bell, &ToServer::Ring { token: [7; 16] }.encode().unwrap(), &[]).unwrap();
    let answer = passing::receive(&bell, &mut [0; 64]);
    assert!(matches!(answer, Ok((0, _)) | Err(rustix::io::Errno::CONNRESET)), "{answer:?}");
    let stat = lookaside_server::stat(&folder.0).unwrap();
    let held = &stat.functions[0].held;
    assert_eq!((held.cut_off, held.refused), (0, 0));
}

/// Each of these is no request that a client makes.
#[test]
fn wrong_requests_cut_the_client_off() {
    let folder = Folder::new();
    let server = server(&folder);
    let honest = backed(client(&server, "all", Policy::Fallback), 0);
    let key = rsa_key();
    let wrong: [fn(&mut Entry); 8] = [
        |e| e.session = 2,
        |e| e.op = Op::RsaPrivate,
        |e| e.src.offset = u64::MAX,
        |e| e.src.len = u32::MAX,
        |e| e.dst.offset = 4 << 20,
        |e| e.dst = Piece { offset: (4 << 20) - 1, len: 2 },
        |e| e.packet = Some(Default::default()),
        // Twice the arena.
        |e| (e.src.len, e.dst) = (4 << 20, Piece { offset: 0, len: 4 << 20 }),
    ];
    for (n, spoil) in wrong.into_iter().enumerate() {
        let mut hands = hands(&server);
        let mut entry = hands.good();
        spoil(&mut entry);
        let record = entry.encode().unwrap();
        assert!(hands.requests.push(&record).unwrap());
        hands.go();
        assert!(hands.is_cut_off(), "wrong request {n}");
        compresses(&honest, n as u64, 10_000).unwrap();
    }
    signs(&honest, &key, [1; 32]).unwrap();
    assert_eq!(
        common::answered(&honest, "cpu", Op::Compress),
        0,
        "the honest one was never cut off"
    );
}

#[test]
fn random_garbage_in_records_and_indices() {
    let folder = Folder::new();
    let server = server(&folder);
    let honest = backed(client(&server, "all", Policy::Fallback), 0);
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut hands = hands(&server);
        let depth = u64::from(hands.area.shape().depth);
        // Good requests first, so that engines have some.
        for _ in 0..rng.below(4) {
            let record = hands.good().encode().unwrap();
            assert!(hands.requests.push(&record).unwrap());
        }
        hands.go();
        let pages = 4096 + 2 * (depth as usize * 128).next_multiple_of(4096);
        for _ in 0..200 {
            let at = match rng.below(4) {
                0 => [0, 128, 256, 384, 512, 640][rng.below(6) as usize],
                _ => rng.below(pages as u64 / 8) as usize * 8,
            };
            let word = match rng.below(3) {
                0 => rng.next_u64(),
                1 => rng.below(2 * depth),
                _ => 1 << rng.below(64),
            };
            scribble(&hands.area, at, word);
            passing::ring(&hands.bell);
        }
        // It goes, cut off or not.
        drop(hands);
        compresses(&honest, seed, 3_000).unwrap();
    }
    assert_eq!(
        common::answered(&honest, "cpu", Op::Compress),
        0,
        "the honest one was never cut off"
    );
}

#[test]
fn garbage_on_the_socket() {
    let folder = Folder::new();
    let server = server(&folder);
    let honest = backed(client(&server, "all", Policy::Fallback), 0);
    let path = settings(&server, "all").path;
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let socket = match seed % 2 {
            0 => passing::connect(&path, TIMEOUT).unwrap(),
            _ => hands(&server).control,
        };
        for _ in 0..rng.below(4) {
            let mut message = vec![0; rng.below(300) as usize + 1];
            message.fill_with(|| rng.next_u64() as u8);
            message[0] %= 5;
            let _ = passing::send(&socket, &message, &[]);
        }
    }
    compresses(&honest, 1, 50_000).unwrap();
    assert_eq!(common::answered(&honest, "cpu", Op::Compress), 0);
}

/// Sources that change while they are compressed: the server works on its copy.
#[test]
fn changing_sources_do_no_harm() {
    let folder = Folder::new();
    let server = server(&folder);
    let honest = backed(client(&server, "all", Policy::Fallback), 0);
    let mut hands = hands(&server);
    let mut answers = hands.area.answers_from();
    let mut rng = Rng::new(3);
    let (mut sent, mut done) = (0, 0);
    while done < 300 {
        let mut entry = hands.good();
        (entry.src.len, entry.dst.len) = (60_000, 70_000);
        entry.dst.offset = 65_536;
        let record = entry.encode().unwrap();
        // More at once would be more bytes than the arena has.
        while sent - done < 20 {
            assert!(hands.requests.push(&record).unwrap());
            sent += 1;
        }
        hands.go();
        for _ in 0..2000 {
            let at = rng.below(60_000 - 8) as usize;
            hands.area.write(at..at + 8, &rng.next_u64().to_le_bytes());
        }
        while let Some(record) = answers.pop().unwrap() {
            assert!(lookaside_wire::Answer::decode(&record).unwrap().result.is_ok());
            done += 1;
        }
        answers.release();
    }
    compresses(&honest, 1, 50_000).unwrap();
}

/// Records that change while the server reads them: what it checks is what it uses. Each of them may be good or wrong; a
/// server that looked twice would read beyond the arena.
#[test]
fn records_that_change_while_they_are_read_do_no_harm() {
    let folder = Folder::new();
    let server = server(&folder);
    let honest = backed(client(&server, "all", Policy::Fallback), 0);
    for seed in 0..40 {
        let mut hands = hands(&server);
        let depth = hands.area.shape().depth as usize;
        let area = hands.area.clone();
        let record = hands.good().encode().unwrap();
        let over = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let flips = {
            let over = over.clone();
            std::thread::spawn(move || {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    // The lengths of source and destination, and where the source begins.
                    for place in (0..depth).map(|n| 4096 + n * 128) {
                        scribble(&area, place + 24, u64::MAX);
                        scribble(&area, place + 24, record[3]);
                        scribble(&area, place + 16, u64::from(u32::MAX) << (seed % 8));
                        scribble(&area, place + 16, record[2]);
                    }
                }
            })
        };
        let mut answers = hands.area.answers_from();
        for _ in 0..50 {
            while hands.requests.push(&record).unwrap_or(false) {}
            hands.go();
            while let Ok(Some(_)) = answers.pop() {}
            answers.release();
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        flips.join().unwrap();
        drop(hands);
        compresses(&honest, seed, 3_000).unwrap();
    }
    assert_eq!(common::answered(&honest, "cpu", Op::Compress), 0, "the server lives");
}
