//! A virtual function: one thread with its clients and their rings.

use std::{
    cell::RefCell,
    collections::HashMap,
    hash::{BuildHasherDefault, DefaultHasher},
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
    rc::Rc,
    sync::{Arc, atomic::Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use lookaside::{
    Capability, Clock, Instance, InstanceConfig, Monotonic, Op, Runtime, SetupError, Tenant,
};
use lookaside_wire::{
    MAX_MESSAGE, Patience, Shape, VERSION,
    control::{ToClient, ToServer, Token},
    passing, peer, watch,
};
use rustix::{
    event::{
        Timespec,
        epoll::{self, EventData, EventFlags},
    },
    io::Errno,
    rand::{GetRandomFlags, getrandom},
};

use crate::{
    Live, StartError, Stop,
    client::{self, Client, End, Sessions, answer_with},
    config::FunctionConfig,
    counts,
    gather::{self, Gathered, Gathering},
    log::{Level, line},
    ring::Ring,
};

/// What epoll calls the socket that listens, and the wish to stop; connections come after.
const LISTENER: u64 = 0;
const STOP: u64 = 1;
const FIRST: u64 = 1;

/// A connection that has not said what it is for so long makes room for others.
const GREETING: Duration = Duration::from_secs(10);

/// Messages and connections that are dealt with before anything else has a turn.
const TURN: usize = 16;

/// A connection.
enum Peer {
    /// It has not said what it is, since then.
    Fresh(OwnedFd, Instant),
    Client(Client),
    Ring(Box<Ring>),
}

pub(crate) struct Function {
    /// The settings as last looked at.
    config: FunctionConfig,
    live: Arc<Live>,
    shape: Shape,
    runtime: Arc<Runtime>,
    tenant: Tenant,
    /// What executes quick requests on the function's own thread. Rates are kept by the engines' scheduler, so a
    /// function that has some has none.
    own: Option<Instance>,
    capabilities: Vec<Capability>,
    listener: OwnedFd,
    stop: Arc<Stop>,
    epoll: OwnedFd,
    gathering: Arc<Gathering>,
}

impl Function {
    pub(crate) fn new(
        live: Arc<Live>,
        tenant: Tenant,
        runtime: Arc<Runtime>,
        capabilities: Vec<Capability>,
        listener: OwnedFd,
        stop: Arc<Stop>,
        gathering: Arc<Gathering>,
    ) -> Result<Function, StartError> {
        let config = live.config();
        let os = |e| StartError::Os(config.name.clone().into(), e);
        let own = (!config.has_rates()).then(|| own_instance(&runtime)).transpose()?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(os)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN).map_err(os)?;
        let once = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &stop.event, EventData::new_u64(STOP), once).map_err(os)?;
        let shape = Shape::new(config.depth, config.arena).map_err(|_| os(Errno::INVAL))?;
        Ok(Function {
            config,
            live,
            shape,
            runtime,
            tenant,
            own,
            capabilities,
            listener,
            stop,
            epoll,
            gathering,
        })
    }

    /// Looks at the settings again, where they have changed.
    fn look(&mut self) {
        let Some(config) = self.live.changed() else { return };
        self.config = config;
        if self.config.has_rates() {
            self.own = None;
        } else if self.own.is_none() {
            // Without it, the engines have the quick requests too.
            self.own = own_instance(&self.runtime).ok();
        }
    }

    pub(crate) fn serving(self) -> Serving {
        Serving {
            function: self,
            peers: HashMap::default(),
            next: FIRST,
            active: Vec::new(),
            warm: Vec::new(),
            waiting: Vec::new(),
            company: true,
            memory: 0,
            buffer: vec![0; MAX_MESSAGE],
            patience: Patience::new(),
            idle_ns: None,
            turn: 0,
            now_ns: 0,
        }
    }
}

/// What executes quick requests.
fn own_instance(runtime: &Runtime) -> Result<Instance, SetupError> {
    runtime.own_instance(InstanceConfig { depth: 1, ..InstanceConfig::default() })
}

/// What a virtual function does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// There was something: it looks again at once.
    Again,
    /// There was nothing: it looks for a while, before it sleeps.
    Look,
    /// It sleeps until there is an event, or for so long.
    Sleep(Option<Duration>),
    /// It has answered what it had taken, and is over.
    End,
}

/// The names are given here: nobody else chooses which of them collide.
type Peers = HashMap<u64, Peer, BuildHasherDefault<DefaultHasher>>;

pub(crate) struct Serving {
    function: Function,
    peers: Peers,
    /// The name of the next connection.
    next: u64,
    /// Rings that are looked at. The others sleep until epoll names them.
    active: Vec<u64>,
    /// Rings that were active a while ago, and may have something to forget.
    warm: Vec<u64>,
    /// Rings that are not active, and whose requests wait for more.
    waiting: Vec<u64>,
    /// What rings were told.
    company: bool,
    /// Of [`FunctionConfig::memory`], how much is taken.
    memory: u64,
    buffer: Vec<u8>,
    patience: Patience,
    /// Since when there has been nothing.
    idle_ns: Option<u64>,
    /// Turns with something in them.
    turn: u32,
    /// The time of this turn.
    now_ns: u64,
}

/// What of a connection is readable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Socket,
    /// The event of a ring's instance.
    Event,
    /// A client's process, when it has ended.
    Process,
}

/// A part of a connection, in epoll.
fn name_of(id: u64, part: Part) -> EventData {
    EventData::new_u64(id << 2 | part as u64)
}

/// The opposite.
fn part_of(name: u64) -> (u64, Part) {
    let part = match name & 3 {
        0 => Part::Socket,
        1 => Part::Event,
        _ => Part::Process,
    };
    (name >> 2, part)
}

impl Serving {
    /// Serves until it is to stop.
    pub(crate) fn run(mut self) {
        loop {
            match self.step(Monotonic.now_ns()) {
                Next::Again => {}
                Next::Look => thread::yield_now(),
                Next::Sleep(timeout) => _ = self.events(timeout),
                Next::End => return,
            }
        }
    }

    fn stops(&self) -> bool {
        self.function.stop.is_wanted()
    }

    /// One turn, at this time.
    pub(crate) fn step(&mut self, now_ns: u64) -> Next {
        self.now_ns = now_ns;
        self.tell_of_company();
        let stops = self.stops();
        if self.serve(stops) {
            if let Some(since_ns) = self.idle_ns.take() {
                self.patience.found(now_ns.saturating_sub(since_ns));
            }
            self.turn = self.turn.wrapping_add(1);
            if self.turn.is_multiple_of(32) {
                self.events(Some(Duration::ZERO));
                // Where it never comes to rest, batches are judged now and then.
                self.gathered();
            }
            return Next::Again;
        }
        // Behind the requests that have come.
        let gathered = self.gathered();
        if gathered == Gathered::Now {
            return Next::Again;
        }
        let outstanding = |peer: &Peer| matches!(peer, Peer::Ring(ring) if ring.outstanding() > 0);
        if stops && !self.peers.values().any(outstanding) {
            return Next::End;
        }
        let idle_ns = now_ns.saturating_sub(*self.idle_ns.get_or_insert(now_ns));
        if !self.active.is_empty() && idle_ns < self.patience.look_ns() {
            return Next::Look;
        }
        // While it stops nobody takes the requests that are there: they are no reason not to sleep, and what others
        // wait for comes with an event.
        if self.announce() && !stops {
            return Next::Again;
        }
        let quiet_in = match gathered {
            Gathered::In(ns) if !self.waiting.is_empty() => Some(Duration::from_nanos(ns)),
            _ => None,
        };
        Next::Sleep(match self.tidy() {
            _ if stops => Some(Duration::from_millis(50)),
            Some(timeout) => Some(quiet_in.map_or(timeout, |quiet_in| quiet_in.min(timeout))),
            None => quiet_in,
        })
    }

    /// Tells the clients whether requests find others beside them, where that has changed.
    fn tell_of_company(&mut self) {
        let found = self.function.gathering.has_company();
        if std::mem::replace(&mut self.company, found) != found {
            for peer in self.peers.values() {
                if let Peer::Ring(ring) = peer {
                    ring.tell_of_company(found);
                }
            }
        }
    }

    /// Has the rings looked at whose requests wait for no more: [`Gathered::Now`] where there are some.
    fn gathered(&mut self) -> Gathered {
        let mut gathered = self.function.gathering.quiet(self.now_ns);
        let (peers, active) = (&self.peers, &mut self.active);
        self.waiting.retain(|id| {
            let Some(Peer::Ring(ring)) = peers.get(id) else { return false };
            if ring.waits() {
                return true;
            }
            if ring.outstanding() > 0 && !active.contains(id) {
                active.push(*id);
                gathered = Gathered::Now;
            }
            false
        });
        gathered
    }

    /// Looks at each active ring. Returns whether there was something.
    fn serve(&mut self, stops: bool) -> bool {
        let mut moved = false;
        let mut place = 0;
        while let Some(&id) = self.active.get(place) {
            match self.peers.get_mut(&id) {
                Some(Peer::Ring(ring)) => {
                    let own = self.function.own.as_mut();
                    match ring.serve(own, stops, self.now_ns) {
                        Ok(something) => moved |= something,
                        Err(end) => {
                            self.end(id, &end);
                            continue;
                        }
                    }
                }
                _ => {
                    self.active.swap_remove(place);
                    continue;
                }
            }
            place += 1;
        }
        moved
    }

    /// Before sleeping: rings are active no longer, unless there is something. Returns whether there is.
    fn announce(&mut self) -> bool {
        let (peers, warm, waiting) = (&mut self.peers, &mut self.warm, &mut self.waiting);
        self.active.retain(|id| match peers.get_mut(id) {
            Some(Peer::Ring(ring)) => {
                let stays = ring.announce();
                if !stays && ring.waits() && !waiting.contains(id) {
                    waiting.push(*id);
                }
                if !stays && !std::mem::replace(&mut ring.is_warm, true) {
                    warm.push(*id);
                }
                stays
            }
            _ => false,
        });
        !self.active.is_empty()
    }

    /// Forgets what rings had a while ago. Returns when there is more to forget. Of a thousand connections it looks at
    /// those alone that were in use lately.
    fn tidy(&mut self) -> Option<Duration> {
        let now_ns = self.now_ns;
        let (mut memory, mut lively) = (false, false);
        let peers = &mut self.peers;
        self.warm.retain(|id| {
            let Some(Peer::Ring(ring)) = peers.get_mut(id) else { return false };
            let (remembers, is_lively) = (ring.tidy(now_ns), ring.is_lively(now_ns));
            memory |= remembers;
            lively |= is_lively;
            ring.is_warm = remembers || is_lively;
            ring.is_warm
        });
        match (lively, memory) {
            (true, _) => Some(gather::WHILE),
            (false, true) => Some(Duration::from_secs(1)),
            (false, false) => None,
        }
    }

    /// Waits for events, and deals with those of connections. Returns whether there were some.
    pub(crate) fn events(&mut self, timeout: Option<Duration>) -> bool {
        let stops = self.stops();
        let timeout = timeout.map(|time| Timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: time.subsec_nanos().into(),
        });
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); 64];
        let Ok((events, _)) = epoll::wait(&self.function.epoll, &mut events, timeout.as_ref())
        else {
            return false;
        };
        self.function.look();
        for event in events.iter() {
            let (id, part) = match event.data.u64() {
                LISTENER if !stops => {
                    self.accept();
                    continue;
                }
                LISTENER | STOP => continue,
                name => part_of(name),
            };
            let heard = match part {
                Part::Socket => self.hear(id),
                Part::Event => true,
                Part::Process => {
                    self.end(id, &End::Gone);
                    false
                }
            };
            if heard
                && matches!(self.peers.get(&id), Some(Peer::Ring(_)))
                && !self.active.contains(&id)
            {
                self.active.push(id);
            }
        }
        self.function.live.connections.store(self.peers.len(), Relaxed);
        !events.is_empty()
    }

    /// A connection's socket is readable. Returns whether it goes on.
    fn hear(&mut self, id: u64) -> bool {
        for _ in 0..TURN {
            let heard = match self.peers.get_mut(&id) {
                None => return false,
                Some(Peer::Ring(ring)) => ring.wake().map(|()| false),
                Some(Peer::Fresh(socket, _)) => {
                    let message = receive(socket, &mut self.buffer);
                    message.and_then(|n| n.map_or(Ok(false), |n| self.greet(id, n).map(|()| true)))
                }
                Some(Peer::Client(_)) => self.message(id),
            };
            match heard {
                Ok(true) => {}
                Ok(false) => return true,
                Err(end) => {
                    self.end(id, &end);
                    return false;
                }
            }
        }
        true
    }

    /// A message of a client. Returns whether there was one.
    fn message(&mut self, id: u64) -> Result<bool, End> {
        let used: usize = self.peers.values().map(Peer::sessions).sum();
        let Function { config, runtime, .. } = &self.function;
        let Some(Peer::Client(client)) = self.peers.get_mut(&id) else { return Ok(false) };
        let Some(n) = receive(&client.socket, &mut self.buffer)? else { return Ok(false) };
        let room = config.sessions.saturating_sub(used);
        let own = client.sessions.borrow().len();
        let done = client.message(&self.buffer[..n], runtime, &config.services, room);
        let sessions = used - own + client.sessions.borrow().len();
        let counts = &self.function.live.counts;
        counts.sessions.store(sessions as u64, Relaxed);
        if matches!(done, Ok(client::Heard::Refused)) {
            counts::add(&counts.refused, 1);
        }
        // It may have been a key.
        self.buffer[..n].fill(0);
        done.map(|_| true)
    }

    fn accept(&mut self) {
        for _ in 0..TURN {
            let socket = match passing::accept(&self.function.listener) {
                Ok(Some(socket)) => socket,
                Ok(None) => return,
                Err(e) => {
                    let name = &self.function.config.name;
                    let e = std::io::Error::from(e);
                    line(Level::Warning, format_args!("{name}: no connection: {e}"));
                    // Descriptors may be free again later; the socket stays readable.
                    return thread::sleep(Duration::from_millis(10));
                }
            };
            if let Err(why) = self.admit(socket) {
                counts::add(&self.function.live.counts.refused, 1);
                let name = &self.function.config.name;
                line(Level::Warning, format_args!("{name}: a connection is refused: {why}"));
            }
        }
    }

    fn admit(&mut self, socket: OwnedFd) -> Result<(), String> {
        let full = self.peers.len() >= self.function.config.connections && !self.make_room();
        let config = &self.function.config;
        let who = peer(&socket).map_err(|e| e.to_string())?;
        let refuse = |what: &str| {
            let _ = answer_with(&socket, &ToClient::Refused { key: false, what: what.into() });
            Err(format!("{what} (user {}, process {})", who.user, who.process))
        };
        if config.users.as_ref().is_some_and(|users| !users.contains(&who.user)) {
            return refuse("this user may not use it");
        }
        if full {
            return refuse("as many connections as there may be");
        }
        let id = self.next;
        self.next += 1;
        epoll::add(&self.function.epoll, &socket, name_of(id, Part::Socket), EventFlags::IN)
            .map_err(|e| std::io::Error::from(e).to_string())?;
        self.peers.insert(id, Peer::Fresh(socket, Instant::now()));
        Ok(())
    }

    /// Ends a connection that has said nothing for long. Returns whether there was one.
    fn make_room(&mut self) -> bool {
        let silent = |(id, peer): (&u64, &Peer)| match peer {
            Peer::Fresh(_, since) if since.elapsed() >= GREETING => Some(*id),
            _ => None,
        };
        let silent = self.peers.iter().find_map(silent);
        silent.inspect(|id| self.end(*id, &End::Gone)).is_some()
    }

    /// The first message of a connection.
    fn greet(&mut self, id: u64, n: usize) -> Result<(), End> {
        match ToServer::decode(&self.buffer[..n])? {
            ToServer::Hello { version, ops } => {
                if version != VERSION || ops as usize != Op::ALL.len() {
                    let what = "client and server are of different versions".into();
                    self.refuse(id, what);
                    return Err(End::Wrong("another version"));
                }
                self.welcome(id)
            }
            ToServer::Ring { token } => self.open_ring(id, &token),
            _ => Err(End::Wrong("no greeting")),
        }
    }

    fn refuse(&mut self, id: u64, what: String) {
        counts::add(&self.function.live.counts.refused, 1);
        if let Some(Peer::Fresh(socket, _)) = self.peers.get(&id) {
            let _ = answer_with(socket, &ToClient::Refused { key: false, what });
        }
    }

    fn welcome(&mut self, id: u64) -> Result<(), End> {
        let mut token = Token::default();
        if getrandom(&mut token[..], GetRandomFlags::empty()) != Ok(size_of::<Token>()) {
            return Err(End::Wrong("no random numbers for it"));
        }
        let Some(Peer::Fresh(socket, _)) = self.peers.remove(&id) else { return Ok(()) };
        // Its socket does not end with it where children hold that.
        let process = watch(&socket).map_err(|e| match e.raw_os_error() {
            Some(code) if code == Errno::SRCH.raw_os_error() => End::Gone,
            _ => End::Wrong("a process that cannot be watched"),
        })?;
        if let Some(process) = &process {
            let name = name_of(id, Part::Process);
            epoll::add(&self.function.epoll, process, name, EventFlags::IN)
                .map_err(|_| End::Wrong("a process that cannot be watched"))?;
        }
        let sessions: Sessions = Rc::new(RefCell::default());
        let client = Client { socket, token, sessions, _process: process };
        let name = self.function.config.name.clone();
        let capabilities = self.function.capabilities.clone();
        let sent = answer_with(&client.socket, &ToClient::Welcome { token, name, capabilities });
        counts::add(&self.function.live.counts.clients, 1);
        self.peers.insert(id, Peer::Client(client));
        sent
    }

    fn open_ring(&mut self, id: u64, token: &Token) -> Result<(), End> {
        let client = self.peers.iter().find_map(|(id, peer)| match peer {
            Peer::Client(client) if client.token == *token => Some((*id, client.sessions.clone())),
            _ => None,
        });
        // An honest client's too: it was killed after this message, and its end was seen first, or an earlier server
        // had welcomed it.
        let (client, sessions) = client.ok_or(End::Gone)?;
        let shape = self.function.shape;
        if self.memory + Ring::cost(shape) > self.function.config.memory {
            self.refuse(id, "the virtual function's memory is in use".into());
            return Err(End::Wrong("a ring beyond the memory of the virtual function"));
        }
        let Some(Peer::Fresh(socket, _)) = self.peers.remove(&id) else { return Ok(()) };
        let opened = Ring::new(
            client,
            socket,
            sessions,
            shape,
            &self.function.tenant,
            &self.function.gathering,
            &self.function.live,
        );
        let mut ring = opened.map_err(|e| {
            let name = &self.function.config.name;
            line(Level::Warning, format_args!("{name}: no ring: {e}"));
            End::Wrong("a ring that cannot be made")
        })?;
        ring.tell_of_company(self.company);
        let message = ToClient::Ring(shape).encode()?;
        let memory = ring.memory().ok_or(End::Wrong("a ring without memory"))?;
        passing::send(&ring.socket, &message, &[memory]).map_err(|_| End::Gone)?;
        let event = ring.event().map_err(|_| End::Wrong("a ring without event"))?;
        epoll::add(&self.function.epoll, event.as_fd(), name_of(id, Part::Event), EventFlags::IN)
            .map_err(|_| End::Wrong("a ring without event"))?;
        self.memory += Ring::cost(shape);
        let counts = &self.function.live.counts;
        counts::add(&counts.rings, 1);
        counts.memory_bytes.store(self.memory, Relaxed);
        self.peers.insert(id, Peer::Ring(Box::new(ring)));
        self.active.push(id);
        Ok(())
    }

    /// A connection is over, and with a client its rings.
    fn end(&mut self, id: u64, end: &End) {
        let peer = self.peers.remove(&id);
        let name = &self.function.config.name;
        if !matches!(end, End::Gone) {
            counts::add(&self.function.live.counts.cut_off, 1);
        }
        match end {
            End::Gone => {}
            End::Malformed(what) => {
                line(Level::Warning, format_args!("{name}: a client is cut off: {what}"));
            }
            End::Wrong(what) => {
                line(Level::Warning, format_args!("{name}: a client is cut off: it has {what}"));
            }
        }
        match peer {
            Some(Peer::Ring(mut ring)) => {
                // Engines may keep the event for a moment.
                if let Ok(event) = ring.event() {
                    let _ = epoll::delete(&self.function.epoll, event);
                }
                self.memory -= Ring::cost(self.function.shape);
                let counts = &self.function.live.counts;
                counts::take(&counts.rings, 1);
                counts::take(&counts.queue, ring.outstanding() as u64);
                counts.memory_bytes.store(self.memory, Relaxed);
                let client = ring.client;
                drop(ring);
                // Nothing else of who writes garbage is believed, either.
                if !matches!(end, End::Gone) && self.peers.contains_key(&client) {
                    self.end(client, &End::Gone);
                }
            }
            Some(Peer::Client(client)) => {
                let counts = &self.function.live.counts;
                counts::take(&counts.clients, 1);
                counts::take(&counts.sessions, client.sessions.borrow().len() as u64);
                let of_it = |(ring, peer): (&u64, &Peer)| match peer {
                    Peer::Ring(other) if other.client == id => Some(*ring),
                    _ => None,
                };
                let rings: Vec<u64> = self.peers.iter().filter_map(of_it).collect();
                for ring in rings {
                    self.end(ring, &End::Gone);
                }
            }
            Some(Peer::Fresh(..)) | None => {}
        }
    }
}

impl Peer {
    /// How many sessions it has open.
    fn sessions(&self) -> usize {
        match self {
            Peer::Client(client) => client.sessions.borrow().len(),
            _ => 0,
        }
    }
}

/// The length of the next message in `buffer`; `None` where there is none.
fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> Result<Option<usize>, End> {
    match passing::receive(socket, buffer) {
        Ok((0, _)) => Err(End::Gone),
        // Descriptors that nobody asked for are closed.
        Ok((n, _)) => Ok(Some(n)),
        Err(Errno::AGAIN) => Ok(None),
        Err(Errno::MSGSIZE) => Err(End::Wrong("a message that is too long")),
        Err(_) => Err(End::Gone),
    }
}
