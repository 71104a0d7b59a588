//! One ring of a client: requests in, answers out.

use std::{
    os::fd::{BorrowedFd, OwnedFd},
    sync::Arc,
    time::Duration,
};

use lookaside::{
    Args, Buf, Carried, Instance, Memory, Op, OpError, Request, Response, Service, SetupError,
    SharedMemory, Tenant, probes,
};
use lookaside_wire::{Answer, Area, Bell, Consumer, Entry, Piece, Producer, Shape, passing, peer};

use crate::{
    Live,
    client::{End, Sessions},
    counts,
    gather::{Gathering, Member},
    pool::Pool,
};

/// The most requests that are taken from one ring before the next one has its turn.
const TURN: usize = 16;

/// A request that the engines have.
#[derive(Clone, Copy)]
struct Flight {
    number: u64,
    op: Op,
    dst: Piece,
    /// Bytes of the server's own for it.
    bytes: usize,
}

pub(crate) struct Ring {
    /// Of which client.
    pub(crate) client: u64,
    /// The client's process, for tracers; 0 where it has no number here.
    process: i32,
    pub(crate) socket: OwnedFd,
    sessions: Sessions,
    live: Arc<Live>,
    area: Arc<Area>,
    requests: Consumer,
    answers: Producer,
    server: Bell,
    bell: Bell,
    instance: Instance,
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
    /// Bytes of the server's own for what the engines have.
    bytes: usize,
    /// Its requests that gain by others beside them, whoever sends those.
    member: Member,
    sources: Pool,
    destinations: Pool,
    used_ns: u64,
    /// The time of this turn.
    now_ns: u64,
    /// It is among those that may have something to forget.
    pub(crate) is_warm: bool,
    /// How far the arena was used since its pages were freed.
    reach: usize,
}

/// Whether requests wait a moment for those of others.
fn gathers(op: Op) -> bool {
    op.service() == Service::Pke
}

/// Whether the server's copies are overwritten at the end.
fn is_secret(op: Op) -> bool {
    matches!(op.service(), Service::Pke | Service::Kdf | Service::Sym | Service::Rng)
}

/// Whether an operation reads its destination, or leaves parts of it as they are.
fn reads_destination(op: Op) -> bool {
    op == Op::Compare || op.service() == Service::Sym
}

/// Whether a request takes less than it takes to wake an engine. One packet may gain by others beside it, so it
/// has to be alone.
fn is_quick(entry: &Entry, alone: bool) -> bool {
    const SMALL: u32 = 16 << 10;
    let small = entry.src.len.max(entry.dst.len) <= SMALL;
    small
        && match entry.op.service() {
            Service::Mv | Service::Rng => true,
            Service::Sym => alone,
            _ => false,
        }
}

/// Executes a request on this thread.
fn here(own: &mut Instance, request: Request) -> Result<Response, End> {
    const BUSY: End = End::Wrong("more requests than its ring is deep");
    let mut response = own.run(request).map_err(|_| BUSY)?;
    while response.is_none() {
        own.wait(Duration::from_millis(10));
        response = own.poll().next();
    }
    response.ok_or(BUSY)
}

impl Ring {
    /// What a ring takes of a virtual function's memory: what is shared, and the copies.
    pub(crate) fn cost(shape: Shape) -> u64 {
        shape.bytes() as u64 + u64::from(shape.arena)
    }

    pub(crate) fn new(
        client: u64,
        socket: OwnedFd,
        sessions: Sessions,
        shape: Shape,
        tenant: &Tenant,
        gathering: &Arc<Gathering>,
        live: &Arc<Live>,
    ) -> Result<Ring, SetupError> {
        let area = Area::new(SharedMemory::new(shape.bytes())?, shape)?;
        let mut instance = tenant.instance()?;
        instance.event_fd()?;
        Ok(Ring {
            client,
            process: peer(&socket).map_or(0, |peer| peer.process),
            socket,
            sessions,
            live: live.clone(),
            requests: area.requests_from(),
            answers: area.answers_to(),
            server: area.server_bell(),
            bell: area.client_bell(),
            area,
            instance,
            flights: vec![None; shape.depth as usize],
            free: (0..shape.depth).rev().collect(),
            bytes: 0,
            member: Member::new(gathering),
            sources: Pool::default(),
            destinations: Pool::default(),
            used_ns: 0,
            now_ns: 0,
            is_warm: false,
            reach: 0,
        })
    }

    /// The memory that it shares with its client.
    pub(crate) fn memory(&self) -> Option<BorrowedFd<'_>> {
        self.area.memory().fd()
    }

    /// Readable when there are answers.
    pub(crate) fn event(&mut self) -> Result<BorrowedFd<'_>, SetupError> {
        self.instance.event_fd()
    }

    /// Whether its requests wait for those of others.
    pub(crate) fn waits(&self) -> bool {
        self.member.waits()
    }

    /// Tells the client whether requests find others beside them.
    pub(crate) fn tell_of_company(&self, found: bool) {
        self.area.set_company(found);
    }

    /// How many requests the engines have.
    pub(crate) fn outstanding(&self) -> usize {
        self.flights.len() - self.free.len()
    }

    /// Takes requests, unless the server stops, and sends answers. Returns whether there was something.
    /// Quick requests are executed by `own`, where the function has such an instance.
    pub(crate) fn serve(
        &mut self,
        own: Option<&mut Instance>,
        stops: bool,
        now_ns: u64,
    ) -> Result<bool, End> {
        self.now_ns = now_ns;
        let took = !stops && self.take(own)?;
        let answered = self.outstanding() > 0 && self.answer()?;
        Ok(took | answered)
    }

    /// Before the server sleeps: asks to be woken. Returns whether there is something to do at once.
    pub(crate) fn announce(&mut self) -> bool {
        self.server.announce();
        self.has_room() && self.requests.looks_ready()
    }

    /// The server is awake, and looks.
    pub(crate) fn wake(&mut self) -> Result<(), End> {
        self.server.stay_awake();
        match passing::hear(&self.socket) {
            passing::Heard::End => Err(End::Gone),
            _ => Ok(()),
        }
    }

    fn has_room(&mut self) -> bool {
        let outstanding = self.outstanding();
        !self.free.is_empty() && self.answers.free().is_ok_and(|free| free > outstanding)
    }

    fn take(&mut self, mut own: Option<&mut Instance>) -> Result<bool, End> {
        let (mut taken, mut answered) = (0, false);
        while taken < TURN && !self.free.is_empty() {
            // Each answer has a place before its request is taken.
            if self.answers.free()? <= self.outstanding() {
                break;
            }
            let Some(record) = self.requests.pop()? else { break };
            let entry = Entry::decode(&record)?;
            let (op, src, dst) = (entry.op, entry.src.len, entry.dst.len);
            probes::shared_took(&self.live.name, self.process, entry.number, op, src, dst);
            taken += 1;
            let alone = taken == 1 && self.outstanding() == 0 && !self.requests.is_ready()?;
            let request = self.begin(&entry)?;
            match &mut own {
                Some(own) if is_quick(&entry, alone) => {
                    let response = here(own, request)?;
                    self.finish(response)?;
                    answered = true;
                }
                _ => {
                    if gathers(entry.op) {
                        self.member.begin(self.now_ns);
                    }
                    if self.instance.push(request).is_err() {
                        return Err(End::Wrong("more requests than its ring is deep"));
                    }
                }
            }
        }
        if taken > 0 {
            self.requests.release();
            self.instance.doorbell();
            self.used_ns = self.now_ns;
        }
        if answered {
            self.show();
        }
        Ok(taken > 0)
    }

    /// A request, with copies of its bytes, and its place among those that are not answered.
    fn begin(&mut self, entry: &Entry) -> Result<Request, End> {
        const OUTSIDE: End = End::Wrong("a buffer outside of the arena");
        let arena = self.area.shape().arena as usize;
        let src = entry.src.within(arena).ok_or(OUTSIDE)?;
        let dst = entry.dst.within(arena).ok_or(OUTSIDE)?;
        let bytes = src.len() + dst.len();
        // Buffers lie beside each other in the arena: together they are no larger.
        if bytes > arena - self.bytes.min(arena) {
            return Err(End::Wrong("buffers of more bytes than the arena has"));
        }
        self.reach = self.reach.max(src.end).max(dst.end);
        let session = self.sessions.borrow().get(&entry.session).cloned();
        let session = session.ok_or(End::Wrong("a session that is not open"))?;
        if !session.ops.contains(&entry.op) {
            return Err(End::Wrong("an operation that the session does not have"));
        }
        let secret = is_secret(entry.op);
        if entry.packet.is_some() && entry.op.service() != Service::Sym {
            return Err(End::Wrong("a packet of another service"));
        }
        let fresh =
            |len: usize, pool: &mut Pool| if secret { vec![0; len] } else { pool.take(len) };
        let mut source = fresh(src.len(), &mut self.sources);
        self.area.read(src, &mut source);
        let mut destination = fresh(dst.len(), &mut self.destinations);
        if reads_destination(entry.op) {
            self.area.read(dst, &mut destination);
        }
        let buf = |bytes| if secret { Buf::secret(bytes) } else { Buf::from(bytes) };
        let Some(slot) = self.free.pop() else { return Err(End::Wrong("too many requests")) };
        let args: Args = entry.args;
        let mut request = Request::new(entry.op, session, args, buf(source), buf(destination));
        request.carried = entry.packet.map(|packet| Box::new(Carried::Packet(packet)));
        self.flights[slot as usize] =
            Some(Flight { number: entry.number, op: entry.op, dst: entry.dst, bytes });
        self.bytes += bytes;
        counts::add(&self.live.counts.queue, 1);
        Ok(request.tag(slot.into()))
    }

    /// Sends the answers that are there.
    fn answer(&mut self) -> Result<bool, End> {
        let mut answered = false;
        loop {
            // What waits for others to fill its batch waits until its time; all else runs now.
            let response = match self.member.waits() {
                true => self.instance.poll_full().next(),
                false => self.instance.poll().next(),
            };
            let Some(response) = response else { break };
            answered = true;
            self.finish(response)?;
        }
        if answered {
            self.used_ns = self.now_ns;
            self.show();
        }
        Ok(answered)
    }

    /// Shows the client the answers that were put in.
    fn show(&mut self) {
        self.answers.publish();
        if self.bell.wants_ring() {
            passing::ring(&self.socket);
        }
    }

    fn finish(&mut self, response: Response) -> Result<(), End> {
        let slot = response.tag as usize;
        let Some(flight) = self.flights.get_mut(slot).and_then(Option::take) else { return Ok(()) };
        self.free.push(slot as u32);
        self.bytes -= flight.bytes;
        counts::take(&self.live.counts.queue, 1);
        let (consumed, produced) =
            response.result.map_or((0, 0), |done| (done.consumed, done.produced));
        let service = flight.op.service();
        self.live.counts.answered(service, response.result.is_err(), consumed, produced);
        if gathers(flight.op) {
            self.member.end(self.now_ns);
        }
        let packet = response.packets().first().and_then(|packet| packet.result.ok());
        let mut answer = Answer { number: flight.number, result: response.result, packet };
        let dst = response.dst.as_slice().unwrap_or_default();
        let written = match answer.result {
            _ if flight.op.service() == Service::Sym => dst.len(),
            Ok(_) if flight.op == Op::Compare => 0,
            Ok(done) => done.produced.min(dst.len()),
            Err(_) => 0,
        };
        if let Some(range) = flight.dst.within(self.area.shape().arena as usize) {
            let range = range.start..range.start + written;
            self.area.write(range, &dst[..written]);
        }
        let record = answer.encode().or_else(|_| {
            answer.result = Err(OpError::Library("an error that has no form on the wire"));
            answer.encode()
        })?;
        if !self.answers.push(&record)? {
            return Err(End::Wrong("answers that it does not take"));
        }
        let (number, result) = (flight.number, &answer.result);
        probes::shared_answered(&self.live.name, self.process, number, flight.op, result);
        if !is_secret(flight.op) {
            let most = self.area.shape().arena as usize / 2;
            self.sources.give_back(response.src.into_vec(), most);
            self.destinations.give_back(response.dst.into_vec(), most);
        }
        Ok(())
    }

    /// Whether others may wait for its next request still.
    pub(crate) fn is_lively(&mut self, now_ns: u64) -> bool {
        self.member.forget(now_ns)
    }

    /// Frees memory that has not been used for a while. Returns whether there is some still.
    pub(crate) fn tidy(&mut self, now_ns: u64) -> bool {
        const WHILE_NS: u64 = 1_000_000_000;
        /// What a page fault for each page costs the next request is more than the memory is worth.
        const LITTLE: usize = 16 << 10;
        if now_ns.saturating_sub(self.used_ns) >= WHILE_NS && self.outstanding() == 0 {
            self.sources.clear();
            self.destinations.clear();
            if self.reach > LITTLE {
                self.area.free_pages();
            }
            self.reach = 0;
        }
        self.reach > LITTLE || !(self.sources.is_empty() && self.destinations.is_empty())
    }
}
