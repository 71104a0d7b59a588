//! A server by hand that answers wrongly: the client believes nothing that makes no sense. Each request is answered once,
//! with the right bytes, by the device behind; and a server that has said nonsense is not asked again over that ring.
//!
//! All on one thread: the server has its turn when the client waits for it, and when the test says so.

mod common;

use std::{
    os::fd::{AsFd as _, OwnedFd},
    sync::{Arc, Mutex},
    time::Duration,
};

use common::{Folder, scribble};
use lookaside::{
    Args, Buf, Capability, Carried, Cipher, Clock as _, Done, Instance, InstanceConfig,
    Memory as _, Op, OpError, Packet, Request, Response, Runtime, Secret, Session, SessionSpec,
    SharedMemory, Span, Sym,
};
use lookaside_shared::{Policy, Settings, SharedDevice, World};
use lookaside_testkit::VirtualClock;
use lookaside_wire::{
    Answer, Area, Consumer, Entry, MAX_MESSAGE, Producer, Shape,
    control::{ToClient, ToServer},
    passing::{self, Heard},
};

const LEN: usize = 100;
const ROOM: usize = 120;

/// What the server makes of a byte; the device behind makes it right.
fn served(byte: u8) -> u8 {
    !byte
}

/// The server's end of a ring.
struct Ring {
    bell: OwnedFd,
    area: Arc<Area>,
    requests: Consumer,
    answers: Producer,
}

impl Ring {
    /// The right answer, its bytes in place.
    fn good(&self, entry: &Entry) -> Answer {
        let src = entry.src.within(1 << 20).unwrap();
        let dst = entry.dst.within(1 << 20).unwrap();
        let mut bytes = vec![0; src.len()];
        self.area.read(src, &mut bytes);
        bytes.iter_mut().for_each(|byte| *byte = served(*byte));
        let n = bytes.len().min(dst.len());
        self.area.write(dst.start..dst.start + n, &bytes[..n]);
        let done = Done { consumed: bytes.len(), produced: n, ..Done::default() };
        let packet = entry.packet.map(|_| n as u32);
        Answer { number: entry.number, result: Ok(done), packet }
    }

    fn push(&mut self, answer: &Answer) {
        assert!(self.answers.push(&answer.encode().unwrap()).unwrap());
        self.answers.publish();
    }

    /// One with something wrong in it.
    fn spoiled(&mut self, entry: &Entry, spoil: impl FnOnce(&mut Answer)) {
        let mut answer = self.good(entry);
        spoil(&mut answer);
        self.push(&answer);
    }
}

/// How requests are answered.
type Answering = fn(&mut Ring, &Entry);

fn right(ring: &mut Ring, entry: &Entry) {
    ring.spoiled(entry, |_| ());
}

/// What comes with a ring.
type Memories = fn() -> Vec<OwnedFd>;

fn shape() -> Shape {
    Shape::new(4, 16 << 10).unwrap()
}

fn sealed(bytes: usize) -> OwnedFd {
    SharedMemory::new(bytes).unwrap().fd().unwrap().try_clone_to_owned().unwrap()
}

fn memory() -> Vec<OwnedFd> {
    vec![sealed(shape().bytes())]
}

struct Fake {
    listener: OwnedFd,
    sockets: Vec<OwnedFd>,
    rings: Vec<Ring>,
    answering: Answering,
    /// The message to each question; `None`: none.
    welcome: Option<Vec<u8>>,
    opened: Option<Vec<u8>>,
    ring: Option<Vec<u8>>,
    memories: Memories,
}

/// Operations that it offers.
const OPS: [Op; 3] = [Op::Copy, Op::Compare, Op::Encrypt];

fn welcome() -> ToClient {
    let row = |op| Capability {
        op,
        algorithm: "any".into(),
        served_by: "hand".into(),
        best_batch: 1,
        max_src: usize::MAX,
    };
    ToClient::Welcome { token: [7; 16], name: "f".into(), capabilities: OPS.map(row).into() }
}

fn bytes(message: &ToClient) -> Option<Vec<u8>> {
    Some(message.encode().unwrap().to_vec())
}

impl Fake {
    /// Answers what is asked on sockets.
    fn hear(&mut self) {
        while let Some(socket) = passing::accept(&self.listener).unwrap() {
            self.sockets.push(socket);
        }
        let mut buffer = vec![0; MAX_MESSAGE];
        let mut place = 0;
        while let Some(socket) = self.sockets.get(place) {
            let Ok((n, _)) = passing::receive(socket, &mut buffer) else {
                place += 1;
                continue;
            };
            if n == 0 {
                self.sockets.remove(place);
                continue;
            }
            let (message, fds) = match ToServer::decode(&buffer[..n]).unwrap() {
                ToServer::Hello { .. } => (&self.welcome, Vec::new()),
                ToServer::Open { .. } => (&self.opened, Vec::new()),
                ToServer::Close { .. } => (&None, Vec::new()),
                ToServer::Ring { .. } => (&self.ring, (self.memories)()),
            };
            if let Some(message) = message {
                let borrowed: Vec<_> = fds.iter().map(|fd| fd.as_fd()).collect();
                let _ = passing::send(socket, message, &borrowed);
            }
            if let Some(memory) = fds.into_iter().next()
                && let Ok(memory) = SharedMemory::map(memory)
                && let Ok(area) = Area::new(memory, shape())
            {
                let bell = self.sockets.remove(place);
                let (requests, answers) = (area.requests_from(), area.answers_to());
                self.rings.push(Ring { bell, area, requests, answers });
            }
        }
    }

    /// Answers requests.
    fn serve(&mut self) {
        for ring in &mut self.rings {
            // It may have spoiled the index itself.
            while let Ok(Some(record)) = ring.requests.pop() {
                ring.requests.release();
                (self.answering)(ring, &Entry::decode(&record).unwrap());
            }
        }
    }

    /// Which of the rings the client has closed.
    fn closed(&self) -> Vec<bool> {
        self.rings.iter().map(|ring| passing::hear(&ring.bell) == Heard::End).collect()
    }
}

/// The world of the client: the server has its turn when it is waited for.
struct Turns(Arc<Mutex<Fake>>, VirtualClock);

impl World for Turns {
    fn now_ns(&self) -> u64 {
        self.1.now_ns()
    }

    fn awaits(&self) {
        self.0.lock().unwrap().hear();
    }
}

/// A client and its server.
struct Both {
    fake: Arc<Mutex<Fake>>,
    clock: VirtualClock,
    runtime: Runtime,
    instance: Instance,
    _folder: Folder,
}

/// With a server that does all right, but for what `wrong` changes.
fn both(policy: Policy, wrong: impl FnOnce(&mut Fake)) -> Result<Both, String> {
    let folder = Folder::new();
    let path = folder.0.join("f.sock");
    let mut fake = Fake {
        listener: passing::listen(&path, 0o600).unwrap(),
        sockets: Vec::new(),
        rings: Vec::new(),
        answering: right,
        welcome: bytes(&welcome()),
        opened: bytes(&ToClient::Opened),
        ring: bytes(&ToClient::Ring(shape())),
        memories: memory,
    };
    wrong(&mut fake);
    let (fake, clock) = (Arc::new(Mutex::new(fake)), VirtualClock::new());
    // Of sockets that wait for an answer: nobody else runs here.
    let timeout = Duration::from_millis(20);
    let settings = Settings { policy, timeout, ..Settings::new(&path) };
    let world = Arc::new(Turns(fake.clone(), clock.clone()));
    let device = SharedDevice::within(settings, world).map_err(|refusal| refusal.to_string())?;
    let builder = Runtime::builder().device(device).device(lookaside_cpu::cpu()).engines(0);
    let runtime = builder.clock(Arc::new(clock.clone())).start().unwrap();
    let instance = runtime.instance(InstanceConfig::default()).unwrap();
    Ok(Both { fake, clock, runtime, instance, _folder: folder })
}

fn src(len: usize) -> Vec<u8> {
    (0..len).map(|n| n as u8).collect()
}

impl Both {
    fn session(&self) -> Arc<Session> {
        self.runtime.session(SessionSpec::Mover).unwrap()
    }

    fn copy(&self) -> Request {
        let buffers = (Buf::from(src(LEN)), Buf::from(vec![9; ROOM]));
        Request::new(Op::Copy, self.session(), Args::default(), buffers.0, buffers.1)
    }

    fn encrypt(&self) -> Request {
        let cipher = Sym::Cipher { cipher: Cipher::AesCtr, key: Secret::new(&[7; 16]) };
        let session = self.runtime.session(SessionSpec::Sym(cipher)).unwrap();
        let (from, to) = (Buf::from(src(LEN)), Buf::from(vec![9; ROOM]));
        let mut request = Request::new(Op::Encrypt, session, Args::default(), from, to);
        let iv = lookaside::Iv::Here { bytes: [0; 16], len: 16 };
        let packet = Packet { iv, cipher: Span::new(0, LEN as u32), ..Packet::default() };
        request.carried = Some(Box::new(Carried::Packet(packet)));
        request
    }

    /// What is answered to it, in turns with the server. `None`: nothing, after many turns.
    fn call(&mut self, request: Request) -> Option<Response> {
        self.instance.push(request).expect("room");
        self.instance.doorbell();
        self.turns()
    }

    fn turns(&mut self) -> Option<Response> {
        let mut first = None;
        for _ in 0..30 {
            for response in self.instance.poll() {
                assert!(first.replace(response).is_none(), "answered twice");
            }
            let mut fake = self.fake.lock().unwrap();
            fake.hear();
            fake.serve();
            self.clock.advance(1_000);
        }
        first
    }

    /// A copy, by the server or by the device behind. Returns which.
    fn copies(&mut self) -> bool {
        let request = self.copy();
        let response = self.call(request).expect("an answer");
        let done = response.result.expect("a result");
        assert_eq!((done.consumed, done.produced), (LEN, LEN));
        let dst = response.dst.as_slice().unwrap();
        assert!(dst[LEN..] == [9; ROOM - LEN], "what lies behind is as it was");
        let by_server = dst[..LEN] == src(LEN).into_iter().map(served).collect::<Vec<u8>>();
        assert!(by_server || dst[..LEN] == src(LEN), "other bytes");
        by_server
    }

    fn answer_by(&self, answering: Answering) {
        self.fake.lock().unwrap().answering = answering;
    }

    fn closed(&self) -> Vec<bool> {
        self.fake.lock().unwrap().closed()
    }
}

/// Each of these is no answer that a server gives. (The words of an answer are those of `lookaside_wire::Answer`.)
const WRONG: [(&str, Answering); 11] = [
    ("of a slot that is not there", |r, e| r.spoiled(e, |a| a.number |= 0xffff)),
    ("of the last slot and one", |r, e| r.spoiled(e, |a| a.number += 4)),
    ("of a slot that is free", |r, e| r.spoiled(e, |a| a.number ^= 1)),
    ("of an earlier request", |r, e| r.spoiled(e, |a| a.number ^= 1 << 32)),
    ("more bytes than there is room for", |r, e| produced(r, e, ROOM + 1)),
    ("more bytes than there are", |r, e| produced(r, e, usize::MAX)),
    ("more bytes taken than there were", |r, e| {
        r.spoiled(e, |a| a.result = a.result.map(|done| Done { consumed: ROOM + 1, ..done }));
    }),
    ("a result without a number", |r, e| {
        let mut record = r.good(e).encode().unwrap();
        record[1] = 99;
        assert!(r.answers.push(&record).unwrap());
        r.answers.publish();
    }),
    ("more answers than there is room for", |r, _| scribble(&r.area, 256, 5)),
    ("fewer answers than before", |r, _| scribble(&r.area, 256, u64::MAX)),
    ("a record of zeros", |r, _| scribble(&r.area, 256, 3)),
];

fn produced(ring: &mut Ring, entry: &Entry, n: usize) {
    ring.spoiled(entry, |a| a.result = a.result.map(|done| Done { produced: n, ..done }));
}

#[test]
fn a_right_answer_is_believed() {
    let mut both = both(Policy::Fallback, |_| ()).unwrap();
    for _ in 0..20 {
        assert!(both.copies(), "by the server");
    }
    assert_eq!(both.closed(), [false]);
}

#[test]
fn wrong_answers_are_not_believed() {
    for (what, answering) in WRONG {
        let mut both = both(Policy::Fallback, |_| ()).unwrap();
        // A slot that has been used.
        assert!(both.copies());
        both.answer_by(answering);
        assert!(!both.copies(), "{what}: by the device behind");
        assert_eq!(both.closed(), [true], "{what}");
        // The next ring.
        both.answer_by(right);
        both.clock.advance(1_000_000_000);
        assert!(both.copies(), "{what}: a new ring");
    }
}

#[test]
fn an_answer_is_taken_once() {
    let mut both = both(Policy::Fallback, |_| ()).unwrap();
    both.answer_by(|ring, entry| {
        let answer = ring.good(entry);
        (0..2).for_each(|_| ring.push(&answer));
    });
    assert!(both.copies(), "the first is good");
    assert_eq!(both.closed(), [true]);
    both.answer_by(right);
    assert!(both.copies());
}

#[test]
fn a_server_that_says_that_it_took_what_was_not_there() {
    let mut both = both(Policy::Fallback, |_| ()).unwrap();
    assert!(both.copies());
    scribble(&both.fake.lock().unwrap().rings[0].area, 128, 7);
    assert!(!both.copies());
    assert_eq!(both.closed(), [true]);
}

/// Waited for at most a second.
#[test]
fn a_server_that_keeps_the_arena() {
    let mut both = both(Policy::Fallback, |_| ()).unwrap();
    assert!(both.copies());
    scribble(&both.fake.lock().unwrap().rings[0].area, 768, 2);
    assert!(!both.copies());
    assert_eq!(both.closed(), [true]);
}

#[test]
fn a_server_that_never_answers() {
    let mut both = both(Policy::Fallback, |_| ()).unwrap();
    both.answer_by(|_, _| ());
    let request = both.copy();
    assert!(both.call(request).is_none());
    both.clock.advance(1_000_000_000);
    let response = both.turns().expect("an answer of the device behind");
    assert_eq!(&response.dst.as_slice().unwrap()[..LEN], &*src(LEN));
    assert_eq!(both.closed(), [true]);
}

#[test]
fn policies() {
    let wrong: Answering = |r, e| produced(r, e, ROOM + 1);
    let mut fails = both(Policy::Fail, |fake| fake.answering = wrong).unwrap();
    let request = fails.copy();
    let response = fails.call(request).expect("an answer");
    assert!(matches!(response.result, Err(OpError::Library(_))), "{:?}", response.result);
    assert!(response.dst.as_slice() == Some(&[9; ROOM]), "untouched");

    let mut waits = both(Policy::Wait, |fake| fake.answering = wrong).unwrap();
    let request = waits.copy();
    waits.instance.push(request).expect("room");
    waits.instance.doorbell();
    assert!(waits.instance.poll().next().is_none());
    waits.fake.lock().unwrap().serve();
    assert!(waits.instance.poll().next().is_none(), "it waits for the next server");
    waits.answer_by(right);
    waits.clock.advance(1_000_000_000);
    let response = waits.turns().expect("an answer of the next ring");
    assert_eq!(response.dst.as_slice().unwrap()[5], served(5));
    assert_eq!(waits.closed(), [true, false]);
}

/// Of a packet, lengths that programs take on trust; an answer without one is none.
#[test]
fn wrong_answers_to_packets() {
    let wrong: [Answering; 3] = [
        |r, e| r.spoiled(e, |a| a.packet = Some(ROOM as u32 + 1)),
        |r, e| r.spoiled(e, |a| a.packet = Some(u32::MAX)),
        |r, e| r.spoiled(e, |a| a.packet = None),
    ];
    for (n, answering) in wrong.into_iter().enumerate() {
        let mut both = both(Policy::Fallback, |fake| fake.answering = answering).unwrap();
        let request = both.encrypt();
        let response = both.call(request).expect("an answer");
        assert!(response.result.is_ok(), "{n}");
        assert_eq!(response.packets()[0].result, Ok(LEN as u32), "{n}");
        assert_ne!(response.dst.as_slice().unwrap()[5], served(5), "{n}");
        assert_eq!(both.closed(), [true], "{n}");
    }
}

/// An error is the packet's too; and what was secret does not stay in the arena.
#[test]
fn packets_fail_with_their_requests_and_leave_nothing() {
    for fails in [false, true] {
        let answering: Answering = match fails {
            true => |r, e| r.spoiled(e, |a| a.result = Err(OpError::AuthFailed)),
            false => right,
        };
        let mut both = both(Policy::Fallback, |fake| fake.answering = answering).unwrap();
        let request = both.encrypt();
        let response = both.call(request).expect("an answer");
        let result = response.packets()[0].result;
        match fails {
            true => assert_eq!(result, Err(OpError::AuthFailed)),
            false => {
                assert_eq!(result, Ok(LEN as u32));
                assert_eq!(response.dst.as_slice().unwrap()[5], served(5));
            }
        }
        let area = both.fake.lock().unwrap().rings[0].area.clone();
        let mut arena = vec![0; shape().arena as usize];
        area.read(0..arena.len(), &mut arena);
        assert!(arena.iter().all(|byte| *byte == 0), "bytes of a secret are left");
    }
}

/// A comparison writes nothing, whatever the server says.
#[test]
fn a_comparison_writes_nothing() {
    let mut both = both(Policy::Fallback, |_| ()).unwrap();
    both.answer_by(|r, e| {
        r.spoiled(e, |a| a.result = a.result.map(|done| Done { produced: 10, ..done }));
    });
    let (from, to) = (Buf::from(src(LEN)), Buf::from(vec![9; LEN]));
    let request = Request::new(Op::Compare, both.session(), Args::default(), from, to);
    let response = both.call(request).expect("an answer");
    assert!(response.dst.as_slice() == Some(&[9; LEN]), "{:?}", response.dst.as_slice());
}

#[test]
fn wrong_welcomes() {
    let rows = |n: u32| {
        let mut message = bytes(&ToClient::Welcome {
            token: [7; 16],
            name: "f".into(),
            capabilities: Vec::new(),
        })
        .unwrap();
        let at = message.len() - 4;
        message[at..].copy_from_slice(&n.to_le_bytes());
        Some(message)
    };
    let wrong = [
        None,
        Some(vec![0]),
        Some(vec![99; 40]),
        bytes(&ToClient::Opened),
        bytes(&ToClient::Ring(shape())),
        bytes(&ToClient::Refused { key: false, what: "no".into() }),
        rows(3),
        rows(u32::MAX),
    ];
    for (n, message) in wrong.into_iter().enumerate() {
        let refused = both(Policy::Fallback, |fake| fake.welcome = message);
        assert!(refused.is_err_and(|why| why.contains("no shared device")), "{n}");
    }
}

#[test]
fn wrong_answers_to_sessions() {
    let wrong =
        [None, Some(vec![7]), bytes(&welcome()), bytes(&ToClient::Ring(shape())), Some(Vec::new())];
    for (n, message) in wrong.into_iter().enumerate() {
        let mut both = both(Policy::Fallback, |fake| fake.opened = message).unwrap();
        assert!(!both.copies(), "{n}");
        both.fake.lock().unwrap().opened = bytes(&ToClient::Opened);
        both.clock.advance(1_000_000_000);
        assert!(both.copies(), "{n}: another connection");
    }
}

#[test]
fn wrong_rings() {
    let shaped = |depth: u32, arena: u32| {
        let mut message = vec![1];
        message.extend_from_slice(&depth.to_le_bytes());
        message.extend_from_slice(&arena.to_le_bytes());
        Some(message)
    };
    let good = || bytes(&ToClient::Ring(shape()));
    let unsealed: Memories = || {
        let fd = rustix::fs::memfd_create("unsealed", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&fd, shape().bytes() as u64).unwrap();
        vec![fd]
    };
    let wrong: [(Option<Vec<u8>>, Memories); 10] = [
        (None, memory),
        (bytes(&ToClient::Opened), memory),
        (good(), Vec::new),
        (good(), || vec![sealed(shape().bytes()), sealed(shape().bytes())]),
        (good(), unsealed),
        (good(), || vec![sealed(shape().bytes() - 4096)]),
        (shaped(4, 1 << 20), memory),
        (shaped(0, 16 << 10), memory),
        (shaped(3, 16 << 10), memory),
        (shaped(4, 16 << 10 | 1), memory),
    ];
    for (n, (message, memories)) in wrong.into_iter().enumerate() {
        let mut both = both(Policy::Fallback, |fake| {
            (fake.ring, fake.memories) = (message, memories);
        })
        .unwrap();
        assert!(!both.copies(), "{n}");
    }
}
