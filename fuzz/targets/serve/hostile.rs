//! The hostile client.

use std::{
    os::fd::{AsFd as _, OwnedFd},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use lookaside::{
    Args, Cipher, Compression, Iv, Memory as _, Op, Packet, Pke, Secret, SessionSpec, SharedMemory,
    Span, Sym, XdhCurve,
};
use lookaside_wire::{
    Area, Bell, Consumer, Entry, MAX_MESSAGE, Piece, Producer, Record, VERSION, WORDS,
    control::{ToClient, ToServer, Token},
    passing, session,
};
use rustix::fs::FallocateFlags;

use crate::{
    echo::{OPS, mine},
    land::{World, scribble, sees_others, write_meanwhile},
};

/// Who it is: all bytes that it writes into an arena are its own, so that those of others are known.
const TENANT: u8 = 2;

/// The most things that one input does, and the most connections that it has: both only cost time.
const STEPS: usize = 300;
const SOCKETS: usize = 8;

/// The bytes of an input. At its end there are zeros.
pub struct Program<'a> {
    bytes: &'a [u8],
    steps: usize,
}

impl<'a> Program<'a> {
    pub fn new(bytes: &'a [u8]) -> Program<'a> {
        Program { bytes, steps: 0 }
    }

    /// What is done next; `None` at the end.
    fn action(&mut self) -> Option<u8> {
        self.steps += 1;
        let (&first, rest) = self.bytes.split_first().filter(|_| self.steps <= STEPS)?;
        self.bytes = rest;
        Some(first)
    }

    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(n.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    fn number(&mut self, n: usize) -> u64 {
        let mut whole = [0; 8];
        let taken = self.take(n);
        whole[..taken.len()].copy_from_slice(taken);
        u64::from_le_bytes(whole)
    }

    /// A word that is small, huge, a bit, or any.
    fn word(&mut self) -> u64 {
        match self.byte() % 4 {
            0 => self.byte().into(),
            1 => u64::MAX - u64::from(self.byte()),
            2 => 1 << (self.byte() % 64),
            _ => self.number(8),
        }
    }

    /// Whether the honest client has a turn after this action.
    pub fn honest(&self) -> bool {
        self.steps.is_multiple_of(2)
    }
}

/// Its end of the memory.
struct Link {
    area: Arc<Area>,
    requests: Producer,
    answers: Consumer,
    client: Bell,
}

struct Socket {
    fd: OwnedFd,
    link: Option<Link>,
}

pub struct Hostile {
    path: PathBuf,
    sockets: Vec<Socket>,
    /// The last one that it was given.
    token: Token,
    buffer: Vec<u8>,
    next: u64,
}

fn spec(n: u8) -> SessionSpec {
    match n % 4 {
        0 => SessionSpec::Mover,
        1 => SessionSpec::Compression(Compression::default()),
        2 => SessionSpec::Pke(Pke::Xdh(XdhCurve::X25519)),
        _ => SessionSpec::Sym(Sym::Cipher { cipher: Cipher::AesCtr, key: Secret::new(&[7; 16]) }),
    }
}

impl Hostile {
    pub fn new(path: &Path) -> Hostile {
        Hostile {
            path: path.into(),
            sockets: Vec::with_capacity(SOCKETS),
            token: Token::default(),
            buffer: vec![0; MAX_MESSAGE],
            next: 0,
        }
    }

    /// The bytes of its own that it has allocated, as far as they matter.
    pub fn bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Does the next thing; `None` at the end.
    pub fn step(&mut self, program: &mut Program<'_>, world: &mut World) -> Option<()> {
        match program.action()? % 20 {
            0 => {
                self.connect();
            }
            1 => self.become_a_client(world),
            2 => self.hello(program),
            3 => self.open(program),
            4 => {
                let number = program.byte().into();
                self.say(program, &ToServer::Close { number });
            }
            5 => {
                let mut token = self.token;
                token[0] ^= u8::from(program.byte() % 8 == 7);
                self.say(program, &ToServer::Ring { token });
            }
            6 => {
                let n = self.pick(program);
                self.hear(n);
            }
            7 => self.garbage(program),
            8 => self.write_word(program, false),
            9 => self.write_word(program, true),
            10 => self.request(program),
            11 => self.spoiled_request(program),
            12 => self.write_arena(program),
            13 => self.take_answers(program),
            14 => {
                let n = self.pick(program);
                let rings = program.byte() % 100;
                if let Some(socket) = self.sockets.get(n) {
                    (0..rings).for_each(|_| passing::ring(&socket.fd));
                }
            }
            15 => {
                let n = self.pick(program);
                if n < self.sockets.len() {
                    self.sockets.swap_remove(n);
                }
            }
            16 => (0..program.byte() % 40).for_each(|_| _ = world.step_function()),
            17 => (0..program.byte() % 40).for_each(|_| _ = world.step_engine()),
            18 => world.advance(1 << (program.byte() % 36)),
            _ => self.change_memory(program),
        }
        Some(())
    }

    fn pick(&self, program: &mut Program<'_>) -> usize {
        usize::from(program.byte()) % self.sockets.len().max(1)
    }

    fn link(&mut self, program: &mut Program<'_>) -> Option<&mut Link> {
        let n = usize::from(program.byte());
        let mut links: Vec<&mut Link> =
            self.sockets.iter_mut().filter_map(|socket| socket.link.as_mut()).collect();
        let n = n % links.len().max(1);
        (n < links.len()).then(|| links.swap_remove(n))
    }

    /// The socket that was made.
    fn connect(&mut self) -> Option<usize> {
        if self.sockets.len() == SOCKETS {
            return None;
        }
        // The server takes sockets from those who wait only when it has a turn; nobody waits for it here.
        let fd = passing::connect(&self.path, Duration::from_millis(1)).ok()?;
        rustix::io::ioctl_fionbio(&fd, true).expect("a socket that does not wait");
        self.sockets.push(Socket { fd, link: None });
        Some(self.sockets.len() - 1)
    }

    fn send(&self, n: usize, message: &ToServer<'_>) {
        if let Some(socket) = self.sockets.get(n) {
            let _ = passing::send(&socket.fd, &message.encode().expect("a message"), &[]);
        }
    }

    fn say(&self, program: &mut Program<'_>, message: &ToServer<'_>) {
        self.send(self.pick(program), message);
    }

    fn hello(&self, program: &mut Program<'_>) {
        let ops = Op::ALL.len() as u32 + u32::from(program.byte() % 8 == 7);
        self.say(program, &ToServer::Hello { version: VERSION, ops });
    }

    fn open(&self, program: &mut Program<'_>) {
        let (number, kind) = (program.byte().into(), program.byte());
        let bytes = match kind {
            0..200 => session::encode(&spec(kind)).expect("a specification").to_vec(),
            _ => {
                let n = program.byte().into();
                program.take(n).to_vec()
            }
        };
        self.say(program, &ToServer::Open { number, spec: &bytes });
    }

    /// All that an honest client does before its first request.
    fn become_a_client(&mut self, world: &mut World) {
        let mut turn = || (0..40).for_each(|_| _ = world.step_function());
        let Some(control) = self.connect() else { return };
        self.send(control, &ToServer::Hello { version: VERSION, ops: Op::ALL.len() as u32 });
        turn();
        self.hear(control);
        for n in 0..OPS.len() as u8 {
            let bytes = session::encode(&spec(n)).expect("a specification");
            self.send(control, &ToServer::Open { number: n.into(), spec: &bytes });
            turn();
            self.hear(control);
        }
        let Some(bell) = self.connect() else { return };
        self.send(bell, &ToServer::Ring { token: self.token });
        turn();
        self.hear(bell);
    }

    /// Takes a message, if there is one.
    fn hear(&mut self, n: usize) {
        let Some(socket) = self.sockets.get_mut(n) else { return };
        let Ok((n, fds)) = passing::receive(&socket.fd, &mut self.buffer) else { return };
        match ToClient::decode(&self.buffer[..n]) {
            Ok(ToClient::Welcome { token, .. }) => self.token = token,
            Ok(ToClient::Ring(shape)) => {
                let [memory] = <[OwnedFd; 1]>::try_from(fds).expect("memory");
                let memory = SharedMemory::map(memory).expect("sealed memory");
                let area = Area::new(memory, shape).expect("memory of this shape");
                socket.link = Some(Link {
                    requests: area.requests_to(),
                    answers: area.answers_from(),
                    client: area.client_bell(),
                    area,
                });
            }
            Ok(ToClient::Opened | ToClient::Refused { .. }) | Err(_) => {}
        }
    }

    /// A message of any bytes, perhaps with a descriptor that nobody wants.
    fn garbage(&self, program: &mut Program<'_>) {
        let n = self.pick(program);
        let (len, many) = (program.byte(), program.byte());
        let mut message = program.take(len.into()).to_vec();
        if many == 255 {
            message.resize(MAX_MESSAGE + 1, 1);
        }
        let Some(socket) = self.sockets.get(n) else { return };
        let fds = [socket.fd.as_fd()];
        let _ = passing::send(&socket.fd, &message, &fds[usize::from(many % 2 == 0)..]);
    }

    /// A word of an index or a record, now or while the device works.
    fn write_word(&mut self, program: &mut Program<'_>, meanwhile: bool) {
        let Some(link) = self.link(program) else { return };
        let depth = link.area.shape().depth as usize;
        let before = link.area.memory().len() - link.area.shape().arena as usize;
        let record = |program: &mut Program<'_>| {
            (usize::from(program.byte()) % depth * WORDS + usize::from(program.byte()) % WORDS) * 8
        };
        let at = match program.byte() % 4 {
            0 => usize::from(program.byte()) % 7 * 128,
            1 => 4096 + record(program),
            2 => 4096 + (before - 4096) / 2 + record(program),
            _ => program.number(2) as usize * 8 % before,
        };
        let word = program.word();
        match meanwhile {
            true => write_meanwhile(&link.area, at, word),
            false => scribble(&link.area, at, word),
        }
    }

    fn piece(program: &mut Program<'_>) -> Piece {
        let (offset, len) = (program.number(2), program.number(2) as u32);
        match offset >> 14 {
            // Within the arena, mostly.
            0 | 1 => Piece { offset: offset & 0xfff, len: len & 0xfff },
            2 => Piece { offset: offset & 0x3fff, len: len & 0x3fff },
            _ => Piece {
                offset: program.word(),
                len: [len, u32::MAX - len, len << 16][usize::from(program.byte() % 3)],
            },
        }
    }

    fn entry(&mut self, program: &mut Program<'_>) -> Entry {
        self.next += 1;
        let op = program.byte();
        let (session, op) = match op {
            0..200 => (u32::from(op % 4), OPS[usize::from(op % 4)]),
            _ => (program.byte().into(), Op::ALL[usize::from(program.byte()) % Op::ALL.len()]),
        };
        let (src, dst) = (Self::piece(program), Self::piece(program));
        let span = |program: &mut Program<'_>| {
            Span::new(program.number(2) as u32, program.number(2) as u32)
        };
        let packet = match program.byte() % 4 {
            0 | 1 => (op == Op::Encrypt).then(Packet::default),
            2 => None,
            _ => Some(Packet {
                iv: Iv::At(span(program)),
                aad: span(program),
                cipher: span(program),
                auth: span(program),
                ..Packet::default()
            }),
        };
        Entry { number: self.next, session, op, args: Args::default(), src, dst, packet }
    }

    fn push(&mut self, program: &mut Program<'_>, record: &Record) {
        let publish = program.byte();
        let n = usize::from(program.byte());
        let sockets: Vec<&mut Socket> =
            self.sockets.iter_mut().filter(|socket| socket.link.is_some()).collect();
        let n = n % sockets.len().max(1);
        let Some(Socket { fd, link: Some(link) }) = sockets.into_iter().nth(n) else { return };
        let _ = link.requests.push(record);
        if publish % 4 != 3 {
            link.requests.publish();
            passing::ring(&*fd);
        }
    }

    /// A record that some client might make, or nearly.
    fn request(&mut self, program: &mut Program<'_>) {
        let entry = self.entry(program);
        if let Ok(record) = entry.encode() {
            self.push(program, &record);
        }
    }

    /// One with a word that is any.
    fn spoiled_request(&mut self, program: &mut Program<'_>) {
        let entry = self.entry(program);
        let Ok(mut record) = entry.encode() else { return };
        record[usize::from(program.byte()) % WORDS] ^= program.word();
        self.push(program, &record);
    }

    /// Sources change at any time.
    fn write_arena(&mut self, program: &mut Program<'_>) {
        let Some(link) = self.link(program) else { return };
        let len = usize::from(program.byte());
        let at = program.number(2) as usize % (link.area.shape().arena as usize - len);
        let byte = mine(TENANT, program.byte().into());
        link.area.write(at..at + len, &vec![byte; len]);
    }

    /// Takes answers, or says that it sleeps.
    fn take_answers(&mut self, program: &mut Program<'_>) {
        let Some(link) = self.link(program) else { return };
        match program.byte() % 8 {
            7 => link.client.announce(),
            n => {
                (0..n).for_each(|_| _ = link.answers.pop());
                link.answers.release();
            }
        }
    }

    /// It has the memory's descriptor: it tries to cut it short, and to free its pages.
    fn change_memory(&mut self, program: &mut Program<'_>) {
        let Some(link) = self.link(program) else { return };
        let Some(fd) = link.area.memory().fd() else { return };
        let (at, len) = (program.number(2), program.number(2));
        if program.byte().is_multiple_of(2) {
            assert!(rustix::fs::ftruncate(fd, at).is_err(), "memory that can be cut short");
        } else {
            let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = rustix::fs::fallocate(fd, how, at, len.max(1));
        }
    }

    /// It has no byte of others.
    pub fn check_memory(&self) {
        for link in self.sockets.iter().filter_map(|socket| socket.link.as_ref()) {
            assert!(!sees_others(&link.area, TENANT), "the hostile client sees others");
        }
    }
}
