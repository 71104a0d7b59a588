//! A client by hand: one thing at a time, so that it can end, or misbehave, between any two of them. It takes nothing for
//! granted: each answer is to be one that it waits for, and its memory as it should be then.

use std::{
    ops::Range,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use lookaside::{
    Args, Cipher, Compression, Op, Packet, Pke, Secret, SessionSpec, SharedMemory, Sym, XdhCurve,
};
use lookaside_testkit::Rng;
use lookaside_wire::{
    Answer, Area, Bell, Consumer, Entry, MAX_MESSAGE, Piece, Producer, VERSION,
    control::{ToClient, ToServer, Token},
    passing::{self, Heard},
    session,
};
use rustix::io::Errno;

use super::{
    echo::{OPS, apply, mine, poison},
    land,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Connect,
    Hello,
    Welcome,
    Open(u32),
    Opened(u32),
    ConnectRing,
    AskRing,
    Ring,
    Serve,
    /// Cut off, or the server has gone.
    Over,
}

struct Flight {
    number: u64,
    slot: usize,
    op: Op,
    src: Vec<u8>,
    dst: Range<usize>,
}

/// Its end of the memory.
struct Link {
    area: Arc<Area>,
    requests: Producer,
    answers: Consumer,
    server: Bell,
    client: Bell,
}

pub struct Hand {
    pub tenant: u8,
    path: PathBuf,
    /// How it behaves: this often, of 100 things that it does, one is hostile.
    hostile: u32,
    /// Whether it may take what its function has for all.
    floods: bool,
    stage: Stage,
    control: Option<OwnedFd>,
    bells: Vec<OwnedFd>,
    token: Token,
    link: Option<Link>,
    flights: Vec<Flight>,
    free: Vec<usize>,
    unpublished: bool,
    unrung: bool,
    asleep: bool,
    next: u64,
    /// All that it sends: which of the operations, and how many bytes.
    only: Option<(usize, usize)>,
    /// Requests that it still wants to send.
    pub to_send: u64,
    pub answered: u64,
    /// Things that it has done.
    pub steps: u64,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    Something,
    Nothing,
    /// The server has closed a connection.
    CutOff,
}

fn spec(n: usize) -> SessionSpec {
    match OPS[n] {
        Op::Copy => SessionSpec::Mover,
        Op::Compress => SessionSpec::Compression(Compression::default()),
        Op::XdhDerive => SessionSpec::Pke(Pke::Xdh(XdhCurve::X25519)),
        _ => SessionSpec::Sym(Sym::Cipher { cipher: Cipher::AesCtr, key: Secret::new(&[7; 16]) }),
    }
}

impl Hand {
    pub fn new(tenant: u8, path: &Path, hostile: u32, to_send: u64) -> Hand {
        Hand {
            tenant,
            path: path.into(),
            hostile,
            floods: false,
            stage: Stage::Connect,
            control: None,
            bells: Vec::new(),
            token: Token::default(),
            link: None,
            flights: Vec::new(),
            free: Vec::new(),
            unpublished: false,
            unrung: false,
            asleep: false,
            next: 0,
            only: None,
            to_send,
            answered: 0,
            steps: 0,
        }
    }

    #[must_use]
    pub fn that_floods(mut self) -> Hand {
        self.floods = true;
        self
    }

    /// Sends compressions of so many bytes and nothing else, without an end.
    pub fn flood(tenant: u8, path: &Path, len: usize) -> Hand {
        Hand { only: Some((1, len)), ..Hand::new(tenant, path, 0, u64::MAX) }
    }

    /// Sends derivations of keys and nothing else, so many: requests that gain by others beside them.
    pub fn derives(tenant: u8, path: &Path, to_send: u64) -> Hand {
        Hand { only: Some((2, 64)), ..Hand::new(tenant, path, 0, to_send) }
    }

    pub fn is_honest(&self) -> bool {
        self.hostile == 0
    }

    /// It has all its answers.
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Serve && self.to_send == 0 && self.flights.is_empty()
    }

    fn connect(&self) -> Result<OwnedFd, Did> {
        let socket =
            passing::connect(&self.path, Duration::from_secs(5)).map_err(|_| Did::CutOff)?;
        rustix::io::ioctl_fionbio(&socket, true).unwrap();
        Ok(socket)
    }

    fn receive(socket: Option<&OwnedFd>) -> Result<Option<(ToClient, Vec<OwnedFd>)>, Did> {
        let mut buffer = vec![0; MAX_MESSAGE];
        match passing::receive(socket.unwrap(), &mut buffer) {
            Ok((0, _)) => Err(Did::CutOff),
            Ok((n, fds)) => Ok(Some((ToClient::decode(&buffer[..n]).unwrap(), fds))),
            Err(Errno::AGAIN) => Ok(None),
            Err(_) => Err(Did::CutOff),
        }
    }

    fn say(socket: Option<&OwnedFd>, message: &ToServer<'_>) -> Result<(), Did> {
        let message = message.encode().unwrap();
        passing::send(socket.unwrap(), &message, &[]).map_err(|_| Did::CutOff)
    }

    /// One thing.
    pub fn step(&mut self, rng: &mut Rng) -> Did {
        self.steps += 1;
        let did = self.try_step(rng).unwrap_or_else(|did| did);
        if did == Did::CutOff {
            self.stage = Stage::Over;
            self.check_memory();
        }
        did
    }

    fn try_step(&mut self, rng: &mut Rng) -> Result<Did, Did> {
        use Stage::*;
        self.stage = match self.stage {
            Connect => {
                self.control = Some(self.connect()?);
                Hello
            }
            Hello => {
                let hello = ToServer::Hello { version: VERSION, ops: Op::ALL.len() as u32 };
                Self::say(self.control.as_ref(), &hello)?;
                Welcome
            }
            Welcome => match Self::receive(self.control.as_ref())? {
                None => return Ok(Did::Nothing),
                Some((ToClient::Welcome { token, .. }, _)) => {
                    self.token = token;
                    Open(0)
                }
                Some(other) => return self.refused(&other.0),
            },
            Open(n) => {
                let bytes = session::encode(&spec(n as usize)).unwrap();
                let open = ToServer::Open { number: n, spec: &bytes };
                Self::say(self.control.as_ref(), &open)?;
                Opened(n)
            }
            Opened(n) => match Self::receive(self.control.as_ref())? {
                None => return Ok(Did::Nothing),
                Some((ToClient::Opened, _)) if n + 1 < OPS.len() as u32 => Open(n + 1),
                Some((ToClient::Opened, _)) => ConnectRing,
                Some(other) => return self.refused(&other.0),
            },
            ConnectRing => {
                let bell = self.connect()?;
                self.bells.push(bell);
                AskRing
            }
            AskRing => {
                Self::say(self.bells.last(), &ToServer::Ring { token: self.token })?;
                Ring
            }
            Ring => match Self::receive(self.bells.last())? {
                None => return Ok(Did::Nothing),
                Some((ToClient::Ring(shape), fds)) => {
                    let [memory] = <[OwnedFd; 1]>::try_from(fds).unwrap();
                    let area = Area::new(SharedMemory::map(memory).unwrap(), shape).unwrap();
                    if !self.is_honest() {
                        land::is_hostile(&area);
                    }
                    self.free = (0..shape.depth as usize).collect();
                    self.link = Some(Link {
                        requests: area.requests_to(),
                        answers: area.answers_from(),
                        server: area.server_bell(),
                        client: area.client_bell(),
                        area,
                    });
                    Serve
                }
                Some(other) => return self.refused(&other.0),
            },
            Serve if rng.chance(self.hostile) => {
                self.misbehave(rng)?;
                Serve
            }
            Serve => return self.serve(rng),
            Over => return Ok(Did::Nothing),
        };
        Ok(Did::Something)
    }

    /// Nobody refuses an honest client anything: there is enough.
    fn refused(&self, by: &ToClient) -> Result<Did, Did> {
        assert!(!self.is_honest(), "an honest client is refused: {by:?}");
        Err(Did::CutOff)
    }

    fn serve(&mut self, rng: &mut Rng) -> Result<Did, Did> {
        let Some(link) = &mut self.link else { return Err(Did::CutOff) };
        if self.asleep {
            match passing::hear(&self.bells[0]) {
                Heard::Silence => return Ok(Did::Nothing),
                Heard::Ring => {
                    self.asleep = false;
                    link.client.stay_awake();
                }
                Heard::End => return Err(self.last_answers()),
            }
        } else if self.unrung {
            self.unrung = false;
            if link.server.wants_ring() {
                passing::ring(&self.bells[0]);
            }
        } else if self.unpublished && rng.chance(40) {
            link.requests.publish();
            (self.unpublished, self.unrung) = (false, true);
        } else if self.to_send > 0 && !self.free.is_empty() && rng.chance(60) {
            self.send(rng);
        } else if !self.unpublished {
            if rng.chance(10) && passing::hear(&self.bells[0]) == Heard::End {
                return Err(self.last_answers());
            }
            if !self.take()? {
                if self.flights.is_empty() {
                    return Ok(Did::Nothing);
                }
                if self.to_send == 0 || self.free.is_empty() || rng.chance(20) {
                    // Nothing else to do.
                    let Some(link) = &self.link else { return Err(Did::CutOff) };
                    link.client.announce();
                    self.asleep = !link.answers.looks_ready();
                }
            }
        }
        Ok(Did::Something)
    }

    fn slot_bytes(&self) -> usize {
        let shape = self.link.as_ref().unwrap().area.shape();
        (shape.arena / shape.depth) as usize
    }

    /// Puts a request in. Not shown yet.
    fn send(&mut self, rng: &mut Rng) {
        let slot_bytes = self.slot_bytes();
        let Some(link) = &mut self.link else { return };
        let slot = self.free.swap_remove(rng.below(self.free.len() as u64) as usize);
        let (kind, len) = self.only.unwrap_or_else(|| {
            let kind = rng.below(OPS.len() as u64) as usize;
            (kind, rng.below(slot_bytes as u64 / 2 + 1) as usize)
        });
        // Enough, or more.
        let dst_len = len + rng.below((slot_bytes - slot_bytes / 2 - len) as u64 + 1) as usize;
        let (start, middle) = (slot * slot_bytes, slot * slot_bytes + slot_bytes / 2);
        let src: Vec<u8> = (0..len).map(|_| mine(self.tenant, rng.next_u64())).collect();
        link.area.write(start..start + len, &src);
        link.area.write(middle..middle + dst_len, &vec![poison(self.tenant); dst_len]);
        let op = OPS[kind];
        // Numbers say nothing to the server.
        let number = self.next << 8 | u64::from(self.tenant);
        let entry = Entry {
            number,
            session: kind as u32,
            op,
            args: Args::default(),
            src: Piece { offset: start as u64, len: len as u32 },
            dst: Piece { offset: middle as u64, len: dst_len as u32 },
            packet: (op == Op::Encrypt).then(Packet::default),
        };
        let pushed = link.requests.push(&entry.encode().unwrap());
        if self.hostile > 0 && pushed != Ok(true) {
            return self.free.push(slot);
        }
        assert_eq!(pushed, Ok(true), "each request has a place");
        self.flights.push(Flight { number, slot, op, src, dst: middle..middle + dst_len });
        (self.next, self.to_send) = (self.next + 1, self.to_send - 1);
        self.unpublished = true;
    }

    /// Takes one answer, if there is one.
    fn take(&mut self) -> Result<bool, Did> {
        let Some(link) = &mut self.link else { return Err(Did::CutOff) };
        let popped = link.answers.pop();
        link.answers.release();
        let record = match popped {
            Ok(None) => return Ok(false),
            Ok(Some(record)) => record,
            Err(e) if self.hostile == 0 => panic!("the server's index: {e}"),
            Err(_) => return Ok(false),
        };
        if self.hostile > 0 {
            // It has written over them, or does not know what it has asked for.
            if let Ok(answer) = Answer::decode(&record)
                && let Some(n) = self.flights.iter().position(|one| one.number == answer.number)
            {
                self.free.push(self.flights.swap_remove(n).slot);
            }
            self.check_memory();
            return Ok(true);
        }
        let answer = Answer::decode(&record).expect("an answer");
        let n = self.flights.iter().position(|flight| flight.number == answer.number);
        let n = n.unwrap_or_else(|| panic!("{answer:?}: answered twice, or never asked"));
        let flight = self.flights.swap_remove(n);
        let done = answer.result.expect("a result");
        let mut want = vec![poison(self.tenant); flight.dst.len()];
        let produced = apply(&flight.src, &mut want);
        assert_eq!((done.consumed, done.produced), (flight.src.len(), produced));
        let packet = (flight.op == Op::Encrypt).then_some(produced as u32);
        assert_eq!(answer.packet, packet, "{:?}", flight.op);
        let mut got = vec![0; want.len()];
        link.area.read(flight.dst.clone(), &mut got);
        assert!(got == want, "{:?} of {} has other bytes", flight.op, self.tenant);
        self.free.push(flight.slot);
        self.answered += 1;
        self.check_memory();
        Ok(true)
    }

    /// The server has gone: what it had answered is good.
    fn last_answers(&mut self) -> Did {
        while let Ok(true) = self.take() {}
        Did::CutOff
    }

    /// What lies in its memory is its own.
    pub fn check_memory(&self) {
        if let Some(link) = &self.link {
            assert!(
                !land::sees_others(&link.area, self.tenant),
                "memory of others, in {}",
                self.tenant
            );
        }
    }

    fn misbehave(&mut self, rng: &mut Rng) -> Result<(), Did> {
        let Some(link) = &mut self.link else { return Err(Did::CutOff) };
        let arena = u64::from(link.area.shape().arena);
        match rng.below(if self.floods { 10 } else { 8 }) {
            0 | 1 => land::scribble_somewhere(&link.area, rng),
            2 => {
                // A record with something wrong in it, or not.
                let piece = |rng: &mut Rng| Piece {
                    offset: rng.below(arena + 64),
                    len: rng.below(arena / 2) as u32,
                };
                let kind = rng.below(OPS.len() as u64 + 1) as usize;
                let op = *OPS.get(kind).unwrap_or(&Op::RsaPrivate);
                let entry = Entry {
                    number: rng.next_u64(),
                    session: rng.below(6) as u32,
                    op,
                    args: Args::default(),
                    src: piece(rng),
                    dst: piece(rng),
                    packet: rng.chance(40).then(Packet::default),
                };
                let mut record = entry.encode().unwrap();
                if rng.chance(30) {
                    record[rng.below(16) as usize] ^= 1 << rng.below(64);
                }
                let _ = link.requests.push(&record);
                link.requests.publish();
                passing::ring(&self.bells[0]);
            }
            3 => (0..rng.below(80)).for_each(|_| passing::ring(&self.bells[0])),
            4 => {
                let mut message = vec![0; 1 + rng.below(60) as usize];
                message.fill_with(|| rng.next_u64() as u8);
                message[0] %= 5;
                let _ = passing::send(self.control.as_ref().unwrap(), &message, &[]);
            }
            5 => {
                let at = rng.below(arena / 8) as usize * 8;
                let byte = mine(self.tenant, rng.next_u64());
                link.area.write(at..at + 8, &[byte; 8]);
            }
            6 => {
                let close = ToServer::Close { number: rng.below(6) as u32 };
                Self::say(self.control.as_ref(), &close)?;
            }
            // Half of it goes.
            7 if rng.chance(50) => self.control = None,
            7 => self.bells.clear(),
            8 => {
                let bytes = session::encode(&spec(0)).unwrap();
                let number = rng.next_u64() as u32;
                Self::say(self.control.as_ref(), &ToServer::Open { number, spec: &bytes })?;
            }
            _ => {
                let bell = self.connect()?;
                let token = if rng.chance(80) { self.token } else { [rng.next_u64() as u8; 16] };
                let _ = Self::say(Some(&bell), &ToServer::Ring { token });
                self.bells.push(bell);
            }
        }
        self.check_memory();
        if self.control.is_none() || self.bells.is_empty() {
            return Err(Did::CutOff);
        }
        Ok(())
    }

    /// Dies: the kernel closes what it had, in any order.
    pub fn die(mut self, rng: &mut Rng) {
        self.check_memory();
        if rng.chance(50) {
            self.control = None;
        }
        drop(self);
    }
}
